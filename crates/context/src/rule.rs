//! The rules of the ledger: short stable words. Those of compressed code turns are [`compress`](super::compress)'s.

/// A recorded failure: a prompt shows what the model had written, or the mark that the reply was interrupted.
pub const LLM_ERROR: &str = "llm-error";
/// The mark behind a reply that was interrupted.
pub const INTERRUPTED: &str = "interrupted-reply";
/// A large tool result, shown by its beginning.
pub const TOOL_RESULT_PREVIEW: &str = "tool-result-preview";

/// Marked as not to be in prompts.
pub const NOT_IN_CONTEXT: &str = "not-in-context";
/// A call without an id, or with one that another call of the message has.
pub const CALL_ID: &str = "call-id";
/// A result that named no call, and belongs to the first that had none.
pub const RESULT_ID: &str = "result-id";
/// A result that nothing had called for.
pub const ORPHAN_RESULT: &str = "orphan-result";
/// A second result of a call; the first stands.
pub const DUPLICATE_RESULT: &str = "duplicate-result";
/// A result that stood elsewhere than behind its call, in the order of the calls.
pub const MOVED_RESULT: &str = "moved-result";
/// The result of a call that was pending when the user spoke.
pub const CANCELLED_CALL: &str = "cancelled-call";
/// The result of a call that never had one.
pub const ABORTED_CALL: &str = "aborted-call";
/// The result of a call that is still running.
pub const PENDING_CALL: &str = "pending-call";
/// A message in which there is nothing.
pub const EMPTY_MESSAGE: &str = "empty-message";
/// Reasoning that nothing followed.
pub const REASONING_ALONE: &str = "reasoning-alone";

/// Covered by the checkpoint whose summary stands in for it, or in whose place the summary stands.
pub const CHECKPOINT: &str = "checkpoint";
/// Covered by a checkpoint that has no summary.
pub const SLIDING_WINDOW: &str = "sliding-window";

/// A tool result whose content was cleared before, by the program whose session came in.
pub const CLEARED: &str = "cleared";

/// Instructions, always kept.
pub const SYSTEM: &str = "system";
/// Pinned, always kept.
pub const PINNED: &str = "pinned";
/// The newest message of the user, always kept.
pub const NEWEST_USER: &str = "newest-user";
/// The tool group that the model has not answered yet, always kept.
pub const OPEN_TOOL_GROUP: &str = "open-tool-group";
/// The user's message before the first that is kept, so that the prompt does not begin with an answer.
pub const OPENS_TURN: &str = "opens-turn";
/// Among the newest groups that fit.
pub const NEWEST: &str = "newest";
/// Behind the cut of the stable policy.
pub const STABLE: &str = "stable";

/// Older than what the limit of tokens leaves room for.
pub const OVER_MAX_TOKENS: &str = "over-max-tokens";
/// Older than what the limit of messages leaves room for.
pub const OVER_MAX_MESSAGES: &str = "over-max-messages";
/// Older than what the limit of characters leaves room for.
pub const OVER_MAX_CHARS: &str = "over-max-chars";
/// Before the cut of the stable policy, though it would fit.
pub const STABLE_CUT: &str = "stable-cut";
/// Instructions of the history in whose place the frame has its own.
pub const REPLACED_BY_FRAME: &str = "replaced-by-frame";
/// Instructions that were not asked for.
pub const SYSTEM_EXCLUDED: &str = "system-excluded";

/// The frame's system prompt.
pub const SYSTEM_PROMPT: &str = "system-prompt";
/// The frame's persona.
pub const PERSONA: &str = "persona";
/// The frame's mode banner.
pub const MODE_BANNER: &str = "mode-banner";
/// The frame's run directive.
pub const RUN_DIRECTIVE: &str = "run-directive";
/// The frame's brief of the workflow's node.
pub const NODE_BRIEF: &str = "node-brief";
/// The frame's context of the step.
pub const STEP_CONTEXT: &str = "step-context";
/// The frame's memories.
pub const MEMORY: &str = "memory";
/// The tools' schemas.
pub const TOOL_SCHEMAS: &str = "tool-schemas";
/// What the reply begins with: no message, but the provider counts it.
pub const REPLY: &str = "reply";
