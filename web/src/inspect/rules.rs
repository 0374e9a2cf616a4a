//! The ledger's rules in plain words.

/// Why a message is in the prompt as it is, or is not in it; a rule that is not known here is said by its name.
pub fn words(rule: &str) -> String {
    let known = match rule {
        "system" => "instructions always stay",
        "pinned" => "pinned, so it always stays",
        "newest-user" => "the newest user message always stays",
        "open-tool-group" => "the model has not answered these tool calls yet, so they stay",
        "opens-turn" => "the user message that opens what is kept",
        "newest" => "among the newest that fit",
        "stable" => "behind the cut of the stable policy",
        "over-max-tokens" => "older than what the token budget leaves room for",
        "over-max-messages" => "older than what the limit of messages leaves room for",
        "over-max-chars" => "older than what the limit of characters leaves room for",
        "stable-cut" => "before the cut of the stable policy, though it would fit",
        "checkpoint" => "compacted: the summary stands in for it",
        "sliding-window" => "compacted: nothing stands in for it",
        "cleared" => "a tool result that was cleared before the session came in: only the call is left",
        "not-in-context" => "marked as not to be in prompts",
        "code-turn" | "compressed-turn" => "a code turn, shown as what it defined and printed",
        "moved-output" => "what the code turn before it printed is in that turn's summary",
        "llm-error" => "a reply that was interrupted: the prompt has what was written of it",
        "interrupted-reply" => "the mark that the reply before was interrupted",
        "tool-result-preview" => "a large tool result, shown by its beginning and the path of the whole",
        "call-id" => "a tool call had no id of its own, and was given one",
        "result-id" => "a result that named no call belongs to the first that had none",
        "orphan-result" => "a result that nothing had called for",
        "duplicate-result" => "a second result of the same call; the first stands",
        "moved-result" => "a result that was moved to its call",
        "cancelled-call" => "the user spoke while this call was pending, so it counts as cancelled",
        "aborted-call" => "a call that never had a result",
        "pending-call" => "a call that is still running",
        "empty-message" => "there is nothing in it",
        "reasoning-alone" => "reasoning that nothing followed",
        _ => return rule.replace('-', " "),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_context::rule;

    #[test]
    // Those of a frame of one's own are not among them: the inspector has none.
    fn every_rule_of_a_history_has_words() {
        let rules = [
            rule::LLM_ERROR,
            rule::INTERRUPTED,
            rule::TOOL_RESULT_PREVIEW,
            rule::NOT_IN_CONTEXT,
            rule::CALL_ID,
            rule::RESULT_ID,
            rule::ORPHAN_RESULT,
            rule::DUPLICATE_RESULT,
            rule::MOVED_RESULT,
            rule::CANCELLED_CALL,
            rule::ABORTED_CALL,
            rule::PENDING_CALL,
            rule::EMPTY_MESSAGE,
            rule::REASONING_ALONE,
            rule::SYSTEM,
            rule::PINNED,
            rule::NEWEST_USER,
            rule::OPEN_TOOL_GROUP,
            rule::OPENS_TURN,
            rule::NEWEST,
            rule::STABLE,
            rule::OVER_MAX_TOKENS,
            rule::OVER_MAX_MESSAGES,
            rule::OVER_MAX_CHARS,
            rule::STABLE_CUT,
            rule::CHECKPOINT,
            rule::SLIDING_WINDOW,
            rule::CLEARED,
        ];
        for rule in rules {
            assert_ne!(words(rule), rule.replace('-', " "), "{rule}");
        }
        assert_eq!(words("some-new-rule"), "some new rule");
    }
}
