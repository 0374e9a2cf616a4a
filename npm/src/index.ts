// Threadkeep: conversation memory for LLM agents. Importing this runs nothing; `Threadkeep.open` or `init` begin.

export { Threadkeep } from "./threadkeep.js";
export { Export } from "./export.js";
export { INGEST_ORDER, Kernel, type Extension, type KernelOptions, type Processor, type RequestPackage } from "./kernel.js";
export { init, type InitOptions, type InitSource, type PartFile } from "./runtime.js";
export { chromeSummarizer, type ChromeSummarizer, type ChromeSummarizerOptions } from "./chrome.js";
export { compressHistory, countTokens, render, validate } from "./prompts.js";
export { trimMessages } from "./trim.js";
export { loadVocabulary, type VocabularyName } from "./vocabulary.js";
export type { Embed, EmbedOptions, EmbedProgress } from "./embed.js";
export { readDepth, writeDepth, type DepthText } from "./depth.js";
export { ThreadkeepError, type ErrorDetails, type ThreadkeepErrorCode } from "./errors.js";
export { VERSION } from "./version.js";
export type { SearchTool } from "./tool.js";
export type { ChangeListener } from "./events.js";
export type { InboundMessage, OpenOptions, RecentOptions, SearchOptions } from "./options.js";
export type * from "./types/archive.js";
export type * from "./types/compaction.js";
export type * from "./types/context.js";
export type * from "./types/events.js";
export type * from "./types/memory.js";
export type * from "./types/message.js";
export type * from "./types/node.js";
export type * from "./types/search.js";
export type * from "./types/store.js";
