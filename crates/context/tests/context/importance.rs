//! Importance: which messages a budget drops first, where messages say how important they are.

use proptest::prelude::*;
use serde_json::json;
use threadkeep_context::tokens::Estimate;
use threadkeep_context::{Action, Budget, Context, Options, Plan, Policy, Prepared, build, items, rule};
use threadkeep_core::Message;
use threadkeep_core::message::ToolCall;

use crate::properties::{bytes, cases, check as check_sound, kept, options};
use crate::transcripts::{Choices, transcript};

fn weighed(mut message: Message, importance: f64) -> Message {
    message.extra.insert("importance".to_owned(), json!(importance));
    message
}

/// The importance that a message counts with, in hundredths.
fn importance(message: &Message) -> u32 {
    message.extra.get("importance").map_or(50, |said| (said.as_f64().unwrap() * 100.0).round() as u32)
}

/// Gives some messages an importance: one byte each, in turn.
fn weigh(history: Vec<Message>, weights: &[u8]) -> Vec<Message> {
    let weights = weights.iter().cycle();
    let give = |(message, weight): (Message, &u8)| match weight {
        0..128 => message,
        weight => weighed(message, f64::from(weight - 128) / 127.0),
    };
    history.into_iter().zip(weights).map(give).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_context_with_importances_is_sound(
        bytes in bytes(), choices: [u8; 6], weights in prop::collection::vec(any::<u8>(), 1..12),
    ) {
        let history = weigh(transcript(&mut Choices::new(&bytes)), &weights);
        let options = options(&history, choices);
        let context = build(&items(&history), &options, &Estimate);
        check_sound(&history, &options, &context);
        let again = build(&items(&history), &options, &Estimate);
        prop_assert_eq!(again.ledger, context.ledger);
    }

    #[test]
    fn of_two_equal_messages_the_more_important_one_is_kept(
        weights in prop::collection::vec(any::<u8>(), 2..40), share in 0u64..100,
    ) {
        let said = (0..weights.len()).map(|at| Message::assistant(format!("message {at:04}"))).collect();
        let mut history = weigh(said, &weights);
        history.push(Message::user("What was important?"));
        let all = build(&items(&history), &Options::default(), &Estimate).figures.tokens;
        let options = Options { budget: Budget::tokens(all * share / 100), ..Options::default() };
        let context = build(&items(&history), &options, &Estimate);
        let kept = kept(&context);
        for at in 0..weights.len() {
            for other in (0..weights.len()).filter(|_| !kept.contains(&at)) {
                let less = importance(&history[other]) < importance(&history[at]);
                let older = importance(&history[other]) == importance(&history[at]) && other < at;
                prop_assert!(!(kept.contains(&other) && (less || older)), "{at} is dropped and {other} is kept: {kept:?}");
            }
        }
    }

    #[test]
    fn the_usual_importance_changes_nothing(bytes in bytes(), choices: [u8; 6]) {
        let plain = transcript(&mut Choices::new(&bytes));
        let usual: Vec<Message> = plain.iter().map(|message| weighed(message.clone(), 0.5)).collect();
        let options = options(&plain, choices);
        let (a, b) = (build(&items(&plain), &options, &Estimate), build(&items(&usual), &options, &Estimate));
        prop_assert_eq!(a.ledger, b.ledger);
    }

    #[test]
    fn importances_of_a_history_that_grew_are_those_of_one_that_came_at_once(
        bytes in bytes(), cut: u8, choices: [u8; 6], weights in prop::collection::vec(any::<u8>(), 1..12),
    ) {
        let history = weigh(transcript(&mut Choices::new(&bytes)), &weights);
        let options = options(&history, choices);
        let items = items(&history);
        let whole = Prepared::new(&items, options.preparing(), &Estimate);
        let mut grown = Prepared::new(&items[..items.len() * usize::from(cut) / 255], options.preparing(), &Estimate);
        grown.extend(&items, &Estimate);
        let plan = Plan { budget: options.budget, policy: options.policy, ..Plan::default() };
        prop_assert_eq!(whole.fit(&plan), grown.fit(&plan));
    }
}

fn rules(context: &Context) -> Vec<(usize, &'static str)> {
    context.ledger.iter().map(|line| (line.index, line.rule)).collect()
}

#[test]
fn the_least_important_go_first_and_pins_and_the_newest_input_stay() {
    let mut history: Vec<Message> = (0..6).map(|at| Message::assistant(format!("message {at:04}"))).collect();
    history[0] = weighed(history[0].clone(), 0.9);
    history[1].pinned = true;
    history[1] = weighed(history[1].clone(), 0.0);
    history[4] = weighed(history[4].clone(), 0.1);
    history.push(weighed(Message::user("And now?"), 0.0));
    let options = |messages| Options {
        budget: Budget { max_messages: Some(messages), ..Budget::default() },
        ..Options::default()
    };
    let of = |messages| rules(&build(&items(&history), &options(messages), &Estimate));
    let (old, few) = ("over-max-messages", rule::LESS_IMPORTANT);
    let (new, kept) = (rule::NEWEST, rule::IMPORTANT);
    let last = (6, rule::NEWEST_USER);
    assert_eq!(of(4)[..7], [(0, kept), (1, "pinned"), (2, old), (3, old), (4, few), (5, new), last]);
    assert_eq!(of(3)[..7], [(0, kept), (1, "pinned"), (2, old), (3, old), (4, old), (5, few), last]);
    assert_eq!(of(2)[..7], [(0, old), (1, "pinned"), (2, old), (3, old), (4, old), (5, old), last]);
}

#[test]
fn a_call_and_its_result_go_or_stay_together_by_the_more_important_of_them() {
    let call = || {
        let mut message = Message::assistant("");
        message.tool_calls = vec![ToolCall::function("c1", "f", "{}")];
        message
    };
    let answer = |importance| weighed(Message::tool("c1", "what came of it"), importance);
    let talk = |at| Message::assistant(format!("talk {at}"));
    for (importance, kept_calls) in [(0.9, 2), (0.1, 0)] {
        let history = [call(), answer(importance), talk(1), talk(2), Message::user("And?")];
        let budget = Budget { max_messages: Some(4), ..Budget::default() };
        let context = build(&items(&history), &Options { budget, ..Options::default() }, &Estimate);
        let calls = kept(&context).iter().filter(|index| **index < 2).count();
        assert_eq!(calls, kept_calls, "{:?}", rules(&context));
    }
}

#[test]
fn the_stable_policy_stays_stable_with_importances() {
    let mut said: Vec<Message> = Vec::new();
    let (mut same, mut steps, mut before) = (0, 0, Vec::new());
    for turn in 0..300_usize {
        said.push(Message::user(format!("question {turn:04}")));
        let options = Options { budget: Budget::tokens(600), policy: Policy::Stable, ..Options::default() };
        let context = build(&items(&said), &options, &Estimate);
        assert!(!context.over_budget);
        let prompt: Vec<usize> = kept(&context);
        if context.ledger.iter().any(|line| line.action == Action::Dropped) {
            steps += 1;
            same += usize::from(prompt.starts_with(&before));
            // An important message stays long after the usual ones of its time have left.
            let early = turn.saturating_sub(60) / 10 * 20 + 7;
            assert!(turn < 70 || prompt.contains(&early) && !prompt.contains(&(early + 2)), "{early}: {prompt:?}");
            assert!(prompt.iter().all(|at| importance(&said[*at]) >= 50), "{prompt:?}");
        }
        before = prompt;
        let answer = Message::assistant(format!("answer {turn:04}"));
        said.push(match turn % 10 {
            3 => weighed(answer, 0.9),
            5 => weighed(answer, 0.1),
            _ => answer,
        });
    }
    assert!(same * 10 >= steps * 8, "{same} of {steps} prompts begin as the one before");
}
