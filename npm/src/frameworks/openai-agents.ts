// `threadkeep/openai-agents`: sessions of `@openai/agents` in a keep, a budget for what a session sends, and a compactor that
// stands where OpenAI's would.

export { ThreadkeepSession, type HistoryTransaction, type ThreadkeepSessionOptions } from "./openai-agents/session.js";
export type { PastHistory } from "./openai-agents/place.js";
