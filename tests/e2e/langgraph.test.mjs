// The whole suite with which LangGraph's authors check checkpoint savers, in Chromium: on keeps in IndexedDB.
import { test } from "node:test";
import { runSuite } from "../../npm/test/langgraph/run.mjs";
import { program } from "./support/browser.mjs";

test("LangGraph's own suite, all of it, on IndexedDB in Chromium", { timeout: 300_000 }, () => runSuite("indexeddb", { THREADKEEP_BROWSER: program() }));
