// `threadkeep/langchain`: LangChain's chat history on a keep, and its messages in Threadkeep's form and back.

export { ThreadkeepChatMessageHistory, type HistoryOptions } from "./langchain/history.js";
export { fromLangChain, toLangChain } from "./shared/langchain/messages.js";
export { trimLangChain, type TrimmedLangChain } from "./shared/langchain/trim.js";
export { contextMiddleware, type ContextMiddleware, type ModelCall } from "./langchain/middleware.js";
export type { PromptOptions, TrimReport } from "./shared/langchain/prompt.js";
