// `threadkeep/langgraph`: LangGraph's checkpointer and long-term store on a keep, and a hook that trims a graph's messages to a budget.

export { ThreadkeepSaver, type ChannelHistory, type SaverOptions } from "./langgraph/saver.js";
export { ThreadkeepStore, type StoreOptions } from "./langgraph/store.js";
export { contextHook, type ContextHookOptions } from "./langgraph/hook.js";
export type { PromptOptions, TrimReport } from "./shared/langchain/prompt.js";
