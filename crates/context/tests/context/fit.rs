//! Fit: limits, what always stays, and what a budget comes to.

use threadkeep_context::tokens::Estimate;
use threadkeep_context::{
    Action, Budget, Limits, Options, Plan, Policy, Prepared, Preparing, System, TrimOptions, items, rule, trim_messages,
};
use threadkeep_core::{Message, Role};
use threadkeep_provider::Provider;

use crate::common::{Letters, check, context, history, rules, shown};

fn budget(budget: Budget) -> Options {
    Options { budget, ..Options::default() }
}

fn messages(limit: u64) -> Options {
    budget(Budget { max_messages: Some(limit), ..Budget::default() })
}

const TALK: &str = "s rules\nu one\na two\nu three\na four\nu five";

#[test]
fn the_latest_user_message_is_kept() {
    let ledger = check("u old\nu new\na (c1)\nt c1 result", &messages(1), "u new\na (c1)\nt c1 result");
    assert_eq!(rules(&ledger, Action::Dropped), [(0, rule::OVER_MAX_MESSAGES)]);
    let kept = rules(&ledger, Action::Kept);
    assert_eq!(kept, [(1, rule::NEWEST_USER), (2, rule::OPEN_TOOL_GROUP), (3, rule::OPEN_TOOL_GROUP)]);
}

#[test]
fn older_messages_are_trimmed_first() {
    check(TALK, &messages(6), TALK);
    check(TALK, &messages(4), "s rules\nu three\na four\nu five");
    check(TALK, &messages(3), "s rules\na four\nu five");
    check(TALK, &messages(2), "s rules\nu five");
}

#[test]
fn the_trimmed_are_the_oldest_up_to_the_first_that_does_not_fit() {
    // The long answer does not fit; what is before it would, but a hole in a conversation misleads.
    let tokens = budget(Budget::tokens(20));
    let ledger = check("u a\na a very long answer\nu b\na c\nu d", &tokens, "u b\na c\nu d");
    assert_eq!(rules(&ledger, Action::Dropped), [(0, rule::OVER_MAX_TOKENS), (1, rule::OVER_MAX_TOKENS)]);
}

#[test]
fn limits_hold_together_and_the_ledger_names_the_one_that_fired() {
    let both = budget(Budget { max_messages: Some(5), max_chars: Some(15), ..Budget::default() });
    let ledger = check(TALK, &both, "s rules\na four\nu five");
    let out = [(1, rule::OVER_MAX_MESSAGES), (2, rule::OVER_MAX_CHARS), (3, rule::OVER_MAX_CHARS)];
    assert_eq!(rules(&ledger, Action::Dropped), out);
}

#[test]
fn characters_are_utf_16_units() {
    let history = [Message::user("🙂")];
    for (limit, over) in [(1, true), (2, false)] {
        let options = budget(Budget { max_chars: Some(limit), ..Budget::default() });
        assert_eq!(context(&items(&history), &options).over_budget, over);
    }
}

#[test]
fn over_budget_is_said_with_the_figures() {
    let history = history("s rules\nu hello");
    let context = context(&items(&history), &budget(Budget::tokens(10)));
    assert!(context.over_budget);
    assert_eq!(context.figures.tokens, 4 + 5 + 4 + 5 + 3);
    assert_eq!(context.limits.tokens, Some(10));
    assert_eq!(context.messages.len(), 2);
}

#[test]
fn zero_is_a_limit() {
    for zero in [
        Budget::tokens(0),
        Budget { max_messages: Some(0), ..Budget::default() },
        Budget { max_chars: Some(0), ..Budget::default() },
    ] {
        let history = history("u one\na two\nu three");
        let context = context(&items(&history), &budget(zero));
        assert!(context.over_budget);
        assert_eq!(shown(context.messages.iter().map(|m| &**m)), "u three\n");
        let nothing = trim_messages(&[], &TrimOptions { budget: zero, ..TrimOptions::default() }, &Letters);
        assert!(!nothing.over_budget);
    }
}

#[test]
fn input_budget_is_context_minus_output_minus_margin() {
    let window = Budget {
        max_context_tokens: Some(200_000),
        max_output_tokens: Some(8_192),
        safety_margin: Some(1_000),
        ..Budget::default()
    };
    assert_eq!(window.limits(), Limits { tokens: Some(190_808), ..Limits::default() });
    assert_eq!(Budget { max_output_tokens: None, ..window }.limits().tokens, Some(199_000));
    assert_eq!(Budget { max_tokens: Some(5), ..window }.limits().tokens, Some(5));
    assert_eq!(
        Budget { max_output_tokens: Some(9), safety_margin: Some(9), ..Budget::default() }.limits().tokens,
        None
    );
    let exact = Budget { max_output_tokens: Some(199_000), ..window }.limits();
    assert_eq!((exact.tokens, exact.underflow), (Some(0), false));
    let under = Budget { max_output_tokens: Some(199_001), ..window };
    assert!(under.limits().underflow);
    let none = context(&[], &budget(under));
    assert!(none.over_budget);
    assert_eq!(none.warnings.len(), 1);
}

#[test]
fn peers_pins_keep_their_whole_group() {
    let given = "u one\na (c1 c2)\nt c1 x\n* t c2 y\nu two\na three\nu four";
    let ledger = check(given, &messages(4), "a (c1 c2)\nt c1 x\nt c2 y\nu four");
    assert_eq!(rules(&ledger, Action::Pinned).len(), 3);
    let options = Options { pins: vec![0, 99], ..messages(2) };
    check("u one\na two\nu three", &options, "u one\nu three");
}

#[test]
fn peers_instructions_are_never_lost() {
    check("s rules\nu one\na two\ns more rules\nu three", &messages(1), "s rules\ns more rules\nu three");
    check("developer d\nu one\nu two", &messages(1), "d d\nu two");
}

#[test]
fn providers_that_need_it_get_the_users_message_that_opens() {
    let given = "s rules\nu task\na one (c1)\nt c1 x\na two\nu next\na last";
    let options = Options { provider: Provider::Anthropic, ..messages(5) };
    let ledger = check(given, &options, "s rules\nu task\na two\nu next\na last");
    assert!(ledger.iter().any(|line| (line.index, line.rule) == (1, rule::OPENS_TURN)));
    check(given, &Options { provider: Provider::OpenAiChat, ..messages(4) }, "s rules\na two\nu next\na last");
    check(given, &Options { provider: Provider::Gemini, ..messages(4) }, "s rules\nu next\na last");
    // A pinned answer has its question before it, too.
    let options = Options { provider: Provider::Gemini, pins: vec![4], ..messages(1) };
    check(given, &options, "s rules\nu task\na two\nu next");
}

#[test]
fn get_recent_takes_the_newest_and_nothing_for_nothing() {
    let history = history(TALK);
    let recent = |limit: u64, system: System| {
        let budget = Budget { max_messages: Some(limit), ..Budget::default() };
        let options = TrimOptions { budget, strict: true, system, ..TrimOptions::default() };
        let context = trim_messages(&history, &options, &Letters);
        assert!(!context.over_budget);
        shown(context.messages.iter().map(|message| &**message))
    };
    assert_eq!(recent(0, System::Kept), "");
    assert_eq!(recent(1, System::Kept), "s rules\n");
    assert_eq!(recent(1, System::Excluded), "u five\n");
    assert_eq!(recent(3, System::Excluded), "u three\na four\nu five\n");
    assert_eq!(recent(9, System::Excluded), "u one\na two\nu three\na four\nu five\n");
}

#[test]
fn trimming_walks_back_and_ends_at_the_first_that_does_not_fit() {
    // Four characters a token, four tokens a message, from the newest backwards, until one does not fit.
    let history: Vec<Message> = (0..20).map(|at| Message::user(format!("message {at:04}"))).collect();
    let budget = Budget::tokens(7 * 5 + 6);
    let options = TrimOptions { budget, strict: true, ..TrimOptions::default() };
    let trimmed = trim_messages(&history, &options, &Estimate);
    assert_eq!(trimmed.messages.len(), 5);
    assert_eq!(trimmed.figures.tokens, 35);
    assert_eq!(trimmed.messages[0].text(), "message 0015");
    // It ends at the first that does not fit, though an older one would.
    let uneven: Vec<Message> = [4, 400, 8, 4].iter().map(|length| Message::user("x".repeat(*length))).collect();
    for (budget, kept) in [(0, 0), (4, 0), (5, 1), (10, 1), (11, 2), (114, 2), (115, 3), (119, 3), (120, 4)] {
        let options = TrimOptions { budget: Budget::tokens(budget), strict: true, ..TrimOptions::default() };
        assert_eq!(trim_messages(&uneven, &options, &Estimate).messages.len(), kept, "{budget}");
    }
}

#[test]
fn nothing_is_copied_that_stays_as_it_is() {
    let history = history(TALK);
    let trimmed = trim_messages(&history, &TrimOptions::default(), &Letters);
    assert!(trimmed.messages.iter().zip(&history).all(|(found, given)| std::ptr::eq(&**found, given)));
}

fn long() -> Vec<Message> {
    let mut history = vec![Message::system("be brief"), Message::user("do it all")];
    for at in 0..300 {
        let mut call = Message::assistant("");
        call.tool_calls.push(threadkeep_core::ToolCall::function(format!("c{at}"), "look", "{}"));
        history.push(call);
        history.push(Message::tool(format!("c{at}"), "x".repeat(50 + at * 37 % 400)));
        if at % 40 == 39 {
            history.push(Message::user(format!("and {at}")));
        }
    }
    history
}

#[test]
fn stable_begins_alike_from_request_to_request() {
    let history = long();
    let options = |policy| Options { budget: Budget::tokens(4_000), policy, ..Options::default() };
    let mut shared = [0, 0];
    let mut kept = [0, 0];
    for (at, policy) in [Policy::Newest, Policy::Stable].into_iter().enumerate() {
        let mut last = None;
        for end in (2..=history.len()).filter(|end| *end == history.len() || history[*end].role != Role::Tool) {
            let context = context(&items(&history[..end]), &options(policy));
            assert!(!context.over_budget);
            kept[at] += context.figures.tokens;
            if let Some(last) = &last {
                shared[at] += threadkeep_context::shared_tokens(last, &context);
            }
            last = Some(context);
        }
    }
    assert!(shared[1] >= shared[0] * 2, "{shared:?}");
    assert!(kept[1] * 10 >= kept[0] * 8, "{kept:?}");
}

#[test]
fn stable_says_what_it_cut() {
    let history = long();
    let options = Options { budget: Budget::tokens(4_000), policy: Policy::Stable, ..Options::default() };
    let context = context(&items(&history), &options);
    let of = |rule: &str| context.ledger.iter().filter(|line| line.rule == rule).count();
    assert!(of(rule::STABLE) > 0 && of(rule::OVER_MAX_TOKENS) > 0, "{:?}", context.ledger);
    assert_eq!(of(rule::NEWEST), 0);
}

#[test]
fn a_decision_on_ten_thousand_messages_counts_nothing() {
    /// Counts how often it is asked.
    struct Asked(std::cell::Cell<u32>);
    impl threadkeep_context::tokens::Counter for Asked {
        fn count(&self, text: &str) -> u32 {
            self.0.set(self.0.get() + 1);
            Estimate.count(text)
        }
    }
    let history: Vec<Message> = (0..17).flat_map(|_| long()).take(10_000).collect();
    let counter = Asked(0.into());
    let prepared = Prepared::new(&items(&history), Preparing::default(), &counter);
    let asked = counter.0.get();
    assert!(asked >= 10_000);
    for tokens in (0..200_000).step_by(500) {
        let plan = Plan { budget: Budget::tokens(tokens), policy: Policy::Stable, ..Plan::default() };
        let fit = prepared.fit(&plan);
        assert!(fit.over_budget || fit.figures.tokens <= tokens);
    }
    assert_eq!(counter.0.get(), asked);
}

#[test]
fn peers_each_message_is_counted_once() {
    struct Asked(std::cell::Cell<u32>);
    impl threadkeep_context::tokens::Counter for Asked {
        fn count(&self, text: &str) -> u32 {
            self.0.set(self.0.get() + 1);
            Estimate.count(text)
        }
    }
    let history: Vec<Message> = (0..400).map(|at| Message::user(format!("message {at}"))).collect();
    let counter = Asked(0.into());
    let options = TrimOptions { budget: Budget::tokens(1_000), ..TrimOptions::default() };
    let trimmed = trim_messages(&history, &options, &counter);
    assert!(trimmed.figures.tokens <= 1_000 && trimmed.figures.tokens > 900);
    assert_eq!(counter.0.get(), 400);
}
