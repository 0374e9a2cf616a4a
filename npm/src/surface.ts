// What the package exports, whichever entry leads here: `index` knows where its files lie, `slim` is told.

export { Threadkeep } from "./threadkeep.js";
export type { Chain } from "./handles/chain.js";
export type { Mailbox } from "./handles/mailbox.js";
export type { Memory } from "./handles/memory.js";
export type { MessageStore } from "./handles/message-store.js";
export type { Place } from "./handles/place.js";
export type { Requests, SentRequest } from "./handles/requests.js";
export type { SearchIndex } from "./handles/search-index.js";
export type { Settings } from "./handles/settings.js";
export type { Thread } from "./handles/thread.js";
export type { Transcript } from "./handles/transcript.js";
export { Export } from "./export.js";
export { INGEST_ORDER, Kernel, type Extension, type KernelOptions, type Processor, type RequestPackage } from "./kernel.js";
export { init, type InitOptions, type InitSource, type PartFile } from "./runtime.js";
export { Agent, createAgent } from "./agent.js";
export type { NextRequest } from "./agent.js";
export { Turn } from "./turn.js";
export { connect, type ConnectedModel } from "./connect.js";
export { forAiSdk, type AiSdkMessage, type AiSdkRequest, type AiSdkUserPart } from "./model/aisdk.js";
export { mailText } from "./mail.js";
export { chromeModel, chromeSummarizer, type ChromeModel, type ChromeModelOptions, type ChromeSummarizer, type ChromeSummarizerOptions } from "./chrome.js";
export { compressHistory, countTokens, render, replayCase, validate } from "./prompts.js";
export { trimMessages } from "./trim.js";
export { loadVocabulary, type VocabularyName } from "./vocabulary.js";
export type { Embed, EmbedOptions, EmbedProgress } from "./embed.js";
export { readDepth, writeDepth, type DepthText } from "./depth.js";
export { recordKey, recordParts, recordRange } from "./record-keys.js";
export { ThreadkeepError, type ErrorDetails, type ThreadkeepErrorCode } from "./errors.js";
export { VERSION } from "./version.js";
export { searchTool, type Searchable, type SearchTool } from "./tool.js";
export type { ChangeListener } from "./events.js";
export type * from "./generated/agent.js";
export type * from "./generated/archive.js";
export type * from "./generated/compaction.js";
export type * from "./generated/context.js";
export type * from "./generated/events.js";
export type * from "./generated/journal.js";
export type * from "./generated/mail.js";
export type * from "./generated/memory.js";
export type * from "./generated/node.js";
export type * from "./generated/provider.js";
export type * from "./generated/request.js";
export type * from "./generated/search.js";
export type * from "./generated/what-if.js";
export type * from "./message.js";
export type * from "./payload.js";
export type * from "./model/model.js";
export type * from "./stores/adapter.js";
export { tool } from "./agent/options.js";
export type { AgentCompactionOptions, HybridKeep, ToolCallInfo, AgentTool, AgentOptions, SendOptions } from "./agent/options.js";
export type { StandardResult, StandardSchema } from "./agent/schema.js";
export type { SummaryRequest, Summarize, CompactOptions, ResponseUsage } from "./compaction.js";
export type { Heard, ChangeEvent } from "./events.js";
export type { MemoryFilter } from "./handles/memory.js";
export type { RawTrace, SnapshotOptions } from "./kernel.js";
export type { NodeInfo } from "./lost.js";
export type { MailText, OutgoingMail, FollowOptions } from "./mail.js";
export type {
  ChainSearchOptions,
  ContextSettings,
  ExportFormat,
  ExportOptions,
  ForkOptions,
  ImportOptions,
  MessageRange,
  OpenOptions,
  SearchOptions,
  StorageOptions,
} from "./options.js";
export type { TraceTurn, Messages } from "./prompts.js";
export type { RecordScan, Records } from "./records.js";
export type { SearchHits } from "./search.js";
export type { BlobLike, ImportBytes, NamedData, ImportData } from "./sources.js";
export type { Trimmed } from "./trim.js";
export type { TurnResult } from "./turn.js";
