// `threadkeep/claude-agent-sdk`: a keep as the session store of the Claude Agent SDK.

export { KeepSessionStore, sessionStore, type SessionStoreOptions } from "./claude-agent-sdk/store.js";
export type { SessionTranscript } from "./claude-agent-sdk/mirror.js";
