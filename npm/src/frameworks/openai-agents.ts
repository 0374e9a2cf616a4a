// `threadkeep/openai-agents`: sessions of `@openai/agents` in a keep, a budget for what a session sends, and a compactor that
// stands where OpenAI's would.

export { ThreadkeepSession, type HistoryTransaction, type ThreadkeepSessionOptions } from "./openai-agents/session.js";
export type { PastHistory } from "./openai-agents/position.js";
export { budgetInput, type BudgetInputOptions } from "./openai-agents/input.js";
export {
  CompactingSession,
  compactAbove,
  compactionClient,
  type CompactedResponse,
  type CompactingSessionOptions,
  type CompactionClient,
  type CompactionClientOptions,
  type SessionCompactOptions,
} from "./openai-agents/compaction.js";
