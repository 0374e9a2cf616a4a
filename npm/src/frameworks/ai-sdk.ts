// The AI SDK (`ai`, version 6 and 7): chats that keep their branches, a transport that remembers, steps that stay inside a budget.

export { ChatStore, chatStore, type ChatBranch, type ChatInfo, type ChatSaving, type ChatStoreOptions, type Saved, type SaveOptions } from "./ai-sdk/store.js";
export { BranchingTransport, branchingTransport, type BranchingTransportOptions } from "./ai-sdk/transport.js";
export { fromModelMessages, toModelMessages } from "./ai-sdk/model.js";
export { trimSteps, type StepToTrim, type TrimmedStep, type TrimStepsOptions } from "./ai-sdk/trim.js";
