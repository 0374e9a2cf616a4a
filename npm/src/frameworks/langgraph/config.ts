// What LangGraph's configs say of a thread.

import type { RunnableConfig } from "@langchain/core/runnables";
import { badArgument } from "../../errors.js";

/** The thread that a config names; `undefined` where it names none. */
export function threadOf(config: RunnableConfig): string | undefined {
  const thread = config.configurable?.["thread_id"] as unknown;
  if (thread === undefined || thread === null) return undefined;
  if (typeof thread !== "string" || thread === "") throw badArgument("config.configurable.thread_id", "must be a non-empty string");
  return thread;
}

/** The thread that a config must name. */
export function needThread(config: RunnableConfig): string {
  const thread = threadOf(config);
  if (thread === undefined)
    throw badArgument("config.configurable.thread_id", 'is missing: name the thread, as in graph.invoke(input, { configurable: { thread_id: "1" } })');
  return thread;
}

/** The namespace that a config names: that of the graph itself without one. */
export function namespaceOf(config: RunnableConfig): string {
  const ns = (config.configurable?.["checkpoint_ns"] ?? "") as unknown;
  if (typeof ns !== "string") throw badArgument("config.configurable.checkpoint_ns", "must be a string");
  return ns;
}
