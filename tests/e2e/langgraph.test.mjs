// LangGraph in Chromium, on IndexedDB: the whole suite with which its authors check checkpoint savers, and a graph of ours.
import { test } from "node:test";
import { runSpec, runSuite } from "../../npm/test/langgraph/run.mjs";
import { program } from "./support/browser.mjs";

test("LangGraph's own suite, all of it, on IndexedDB in Chromium", { timeout: 300_000 }, () => runSuite("indexeddb", { THREADKEEP_BROWSER: program() }));

test("a graph that is paused, closed, resumed and forked in Chromium", { timeout: 300_000 }, () => {
  runSpec("graph.spec.mjs", 2, { THREADKEEP_BROWSER: program() });
});
