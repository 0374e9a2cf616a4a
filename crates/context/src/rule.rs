//! The rules of the ledger: short stable words, each with what it says to people. The page shows the latter.

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $const:ident = $rule:literal, $words:literal;)+) => {
        $($(#[doc = $doc])+ pub const $const: &str = $rule;)+

        /// Every rule that a ledger may name.
        pub const ALL: &[&str] = &[$($rule),+];

        /// Why a message is in the prompt as it is, or is not in it; `None` for no rule of these.
        ///
        /// ```
        /// use threadkeep_context::rule;
        /// assert_eq!(rule::words(rule::PINNED), Some("pinned, so it always stays"));
        /// ```
        pub fn words(rule: &str) -> Option<&'static str> {
            match rule {
                $($rule => Some($words),)+
                _ => None,
            }
        }
    };
}

rules! {
    /// A recorded failure: a prompt shows what the model had written, or the mark that the reply was interrupted.
    LLM_ERROR = "llm-error", "a reply that was interrupted: the prompt has what was written of it";
    /// The mark behind a reply that was interrupted.
    INTERRUPTED = "interrupted-reply", "the mark that the reply before was interrupted";
    /// A large tool result, shown by its beginning.
    TOOL_RESULT_PREVIEW = "tool-result-preview", "a large tool result, shown by its beginning and the path of the whole";
    /// Marked as not to be in prompts.
    NOT_IN_CONTEXT = "not-in-context", "marked as not to be in prompts";
    /// Of another mode, run or workflow than the prompt was asked for.
    FILTERED = "filtered", "of another mode, run or workflow than this prompt";
    /// An event that people see collapsed.
    COLLAPSED = "collapsed", "an event that people see collapsed";
    /// A tool result that was not asked for: its path stands in its place.
    RESULT_LEFT_OUT = "result-left-out", "tool results were not asked for: the prompt has the path of the whole";
    /// A call without an id, or with one that another call of the message has.
    CALL_ID = "call-id", "a tool call had no id of its own, and was given one";
    /// A result that named no call, and belongs to the first that had none.
    RESULT_ID = "result-id", "a result that named no call belongs to the first that had none";
    /// A result that nothing had called for.
    ORPHAN_RESULT = "orphan-result", "a result that nothing had called for";
    /// A second result of a call; the first stands.
    DUPLICATE_RESULT = "duplicate-result", "a second result of the same call; the first stands";
    /// A result that stood elsewhere than behind its call, in the order of the calls.
    MOVED_RESULT = "moved-result", "a result that was moved to its call";
    /// The result of a call that was pending when the user spoke.
    CANCELLED_CALL = "cancelled-call", "the user spoke while this call was pending, so it counts as cancelled";
    /// The result of a call that never had one.
    ABORTED_CALL = "aborted-call", "a call that never had a result";
    /// The result of a call that is still running.
    PENDING_CALL = "pending-call", "a call that is still running";
    /// A message in which there is nothing.
    EMPTY_MESSAGE = "empty-message", "there is nothing in it";
    /// Reasoning that nothing followed.
    REASONING_ALONE = "reasoning-alone", "reasoning that nothing followed";
    /// Covered by the checkpoint whose summary stands in for it, or in whose place the summary stands.
    CHECKPOINT = "checkpoint", "compacted: the summary stands in for it";
    /// Covered by a checkpoint that has no summary.
    SLIDING_WINDOW = "sliding-window", "compacted: nothing stands in for it";
    /// A tool result whose content was cleared before, by the program whose session came in.
    CLEARED = "cleared", "a tool result that was cleared before the session came in: only the call is left";
    /// Instructions, always kept.
    SYSTEM = "system", "instructions always stay";
    /// Pinned, always kept.
    PINNED = "pinned", "pinned, so it always stays";
    /// The newest message of the user, always kept.
    NEWEST_USER = "newest-user", "the newest user message always stays";
    /// The tool group that the model has not answered yet, always kept.
    OPEN_TOOL_GROUP = "open-tool-group", "the model has not answered these tool calls yet, so they stay";
    /// The user's message before the first that is kept, so that the prompt does not begin with an answer.
    OPENS_TURN = "opens-turn", "the user message that opens what is kept";
    /// Among the newest groups that fit.
    NEWEST = "newest", "among the newest that fit";
    /// Behind the cut of the stable policy.
    STABLE = "stable", "behind the cut of the stable policy";
    /// Older than the cut of the policy, and kept for its importance.
    IMPORTANT = "important", "more important than what the budget dropped";
    /// Dropped although it is newer than the cut of the policy.
    LESS_IMPORTANT = "less-important", "less important than what the budget kept";
    /// Older than what the limit of tokens leaves room for.
    OVER_MAX_TOKENS = "over-max-tokens", "older than what the token budget leaves room for";
    /// Older than what the limit of messages leaves room for.
    OVER_MAX_MESSAGES = "over-max-messages", "older than what the limit of messages leaves room for";
    /// Older than what the limit of characters leaves room for.
    OVER_MAX_CHARS = "over-max-chars", "older than what the limit of characters leaves room for";
    /// Before the cut of the stable policy, though it would fit.
    STABLE_CUT = "stable-cut", "before the cut of the stable policy, though it would fit";
    /// Instructions of the history in whose place the frame has its own.
    REPLACED_BY_FRAME = "replaced-by-frame", "the frame's system prompt stands in its place";
    /// Instructions that were not asked for.
    SYSTEM_EXCLUDED = "system-excluded", "instructions were not asked for";
    /// The frame's system prompt.
    SYSTEM_PROMPT = "system-prompt", "the system prompt";
    /// The frame's persona.
    PERSONA = "persona", "the persona";
    /// The frame's mode banner.
    MODE_BANNER = "mode-banner", "the banner of the mode";
    /// The frame's run directive.
    RUN_DIRECTIVE = "run-directive", "the directive of the run";
    /// The frame's brief of the workflow's node.
    NODE_BRIEF = "node-brief", "the brief of the workflow's node";
    /// The frame's context of the step.
    STEP_CONTEXT = "step-context", "the context of the step";
    /// The frame's memories.
    MEMORY = "memory", "what is remembered";
    /// Left out, and quoted with what is remembered.
    QUOTED = "quoted", "not in the prompt as it is, but quoted there: it fits what the user asks";
    /// The tools' schemas.
    TOOL_SCHEMAS = "tool-schemas", "the schemas of the tools";
    /// What the reply begins with: no message, but the provider counts it.
    REPLY = "reply", "what the reply begins with: the provider counts it";
    /// A code turn that became what it defined and printed.
    COMPRESSED_TURN = "compressed-turn", "a code turn, shown as what it defined and printed";
    /// What a compressed turn printed, in a message of its own.
    MOVED_OUTPUT = "moved-output", "what the code turn before it printed is in that turn's summary";
}
