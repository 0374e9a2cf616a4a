// The whole suite with which LangGraph's authors check checkpoint savers, under Node: on a keep in memory and on one that is durable.
import { test } from "node:test";
import { runSuite } from "./langgraph/run.mjs";

for (const storage of ["memory", "file"]) test(`LangGraph's own suite, all of it, on a keep in ${storage}`, { timeout: 300_000 }, () => runSuite(storage));
