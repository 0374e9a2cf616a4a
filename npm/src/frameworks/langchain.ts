// `threadkeep/langchain`: LangChain's chat history on a keep, and its messages in Threadkeep's form and back.

export { ThreadkeepChatMessageHistory, type HistoryOptions } from "./langchain/history.js";
export { fromLangChain, toLangChain } from "./langchain/messages.js";
export { trimLangChain, type TrimmedLangChain } from "./langchain/trim.js";
