//! What holds for every transcript, every budget and both policies.

use proptest::prelude::*;
use threadkeep_context::tokens::{Estimate, cost};
use threadkeep_context::{
    Action, Budget, Context, Fit, FrameOptions, Line, Mode, Only, Options, Plan, Policy, Prepared, Preparing, Preview,
    Previews, Selection, System, TrimOptions, build, items, opens_with_user, prepare, rule, trim_messages,
};
use threadkeep_core::{Content, Message, Role};
use threadkeep_provider::Provider;

use crate::common::{check_rendered, check_sums};
use crate::transcripts::{Choices, transcript, unpaired};

/// How many transcripts each property is tried on: `THREADKEEP_CASES`, or a few hundred.
pub(crate) fn cases() -> u32 {
    std::env::var("THREADKEEP_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

fn limit(choice: u8, all: u64) -> Option<u64> {
    match choice {
        0 => None,
        1 => Some(0),
        choice => Some(all.saturating_add(20) * u64::from(choice) / 255),
    }
}

/// Options from bytes, with limits in proportion to the history.
pub(crate) fn options(history: &[Message], choices: [u8; 6]) -> Options {
    let all: u64 = history.iter().map(|m| u64::from(cost(m, Provider::default(), &Estimate).total())).sum();
    Options {
        provider: Provider::ALL[usize::from(choices[4]) % 5],
        budget: Budget {
            max_tokens: limit(choices[0], all),
            max_messages: limit(choices[1], history.len() as u64),
            max_chars: limit(choices[2], all * 4),
            ..Budget::default()
        },
        policy: if choices[3] < 128 { Policy::Newest } else { Policy::Stable },
        pins: (0..usize::from(choices[5]) % 3).map(|at| at * 7 % history.len().max(1)).collect(),
        previews: [Previews::Never, Previews::Over(Preview::default()), Previews::WhenNeeded]
            [usize::from(choices[3]) % 3],
        live: choices[4] >= 128,
        // All are named, so the compiler asks for a new one.
        frame: FrameOptions::default(),
        compress: None,
        selection: Selection {
            tool_results: true, // See `select.rs`: what is left out depends on what comes later.
            collapsed: choices[2].is_multiple_of(2),
            only: Only { mode: (choices[1].is_multiple_of(2)).then_some(Mode::Run), ..Only::default() },
        },
        system: System::default(),
    }
}

fn speaks(message: &Message) -> bool {
    let says = match &message.content {
        Content::Absent | Content::Null => false,
        Content::Text(text) => !text.trim().is_empty(),
        Content::Parts(parts) => parts.iter().any(|part| !part.kind().ends_with("tool_result")),
    };
    message.role == Role::User && message.include_in_context && says
}

fn newest_user(history: &[Message]) -> Option<usize> {
    history.iter().rposition(speaks)
}

pub(crate) fn kept(context: &Context) -> Vec<usize> {
    let in_prompt = context.ledger.iter().filter(|line| line.tokens_after > 0);
    in_prompt.filter(|line| line.tokens_before > 0).map(|line| line.index).collect()
}

pub(crate) fn check(history: &[Message], options: &Options, context: &Context) {
    check_sums(context);
    let messages = || context.messages.iter().map(|message| &**message);
    if let Some(wrong) = unpaired(messages()) {
        panic!("{wrong}\n{options:?}\n{:#?}", messages().map(Message::to_json).collect::<Vec<_>>());
    }
    check_rendered(context, options.provider);
    let held = options.budget.limits().hold(context.figures);
    assert_eq!(held, !context.over_budget, "over its budget without saying so, or the reverse");
    let kept = kept(context);
    if let Some(newest) = newest_user(history) {
        assert!(
            kept.contains(&newest),
            "the newest user message {newest} is gone: {kept:?} {} {:?}",
            history[newest].to_json(),
            context.ledger.iter().filter(|l| l.index == newest).collect::<Vec<_>>()
        );
    }
    for pin in options.pins.iter().filter(|pin| history.get(**pin).is_some()) {
        let lost = context.ledger.iter().any(|line| line.index == *pin && line.action == Action::Dropped);
        assert!(!lost || !history[*pin].include_in_context, "the pinned message {pin} is gone");
    }
    for (at, message) in history.iter().enumerate().filter(|(_, message)| message.include_in_context) {
        let instructs = matches!(message.role, Role::System | Role::Developer);
        let dropped = context.ledger.iter().any(|line| line.index == at && line.action == Action::Dropped);
        assert!(!(instructs || message.pinned) || !dropped, "message {at} must stay");
    }
    assert!(history.iter().enumerate().all(|(at, message)| message.include_in_context || !kept.contains(&at)));
    let before = context.ledger.iter().filter(|line| line.tokens_before > 0).count();
    assert_eq!(before, history.len(), "the ledger has not one line for each message");
    check_opening(history, options, context);
}

/// Where a provider or the policy asks for it, what is kept begins with a user's message, if one came before it.
fn check_opening(history: &[Message], options: &Options, context: &Context) {
    if !opens_with_user(options.provider) && options.policy == Policy::Newest {
        return;
    }
    let told = |message: &Message| !matches!(message.role, Role::System | Role::Developer);
    let Some(at) = context.messages.iter().position(|message| told(message)) else { return };
    let first = &context.messages[at];
    // There is no frame here, so the prompt's messages are the ledger's lines with tokens, in order.
    let place = context.ledger.iter().filter(|line| line.tokens_after > 0).nth(at).unwrap().index;
    let plain = |message: &Message| speaks(message) && !matches!(message.content, Content::Parts(_));
    let before = history[..place].iter().any(plain);
    assert!(first.role == Role::User || !before, "begins with {}\n{:?}", first.to_json(), context.ledger);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_context_is_sound(bytes in bytes(), choices: [u8; 6]) {
        let history = transcript(&mut Choices::new(&bytes));
        let options = options(&history, choices);
        let items = items(&history);
        let context = build(&items, &options, &Estimate);
        check(&history, &options, &context);
        let again = build(&items, &options, &Estimate);
        prop_assert_eq!(&again.messages, &context.messages);
        prop_assert_eq!(again.ledger, context.ledger);
    }

    #[test]
    fn a_bigger_budget_keeps_a_superset_under_newest(bytes in bytes(), choices: [u8; 6], more in 0u64..200) {
        let history = transcript(&mut Choices::new(&bytes));
        let mut options = options(&history, choices);
        options.policy = Policy::Newest;
        if options.previews == Previews::WhenNeeded {
            options.previews = Previews::Never;
        }
        let items = items(&history);
        let small = kept(&build(&items, &options, &Estimate));
        let budget = &mut options.budget;
        for limit in [&mut budget.max_tokens, &mut budget.max_messages, &mut budget.max_chars] {
            *limit = limit.map(|limit| limit + more);
        }
        let large = kept(&build(&items, &options, &Estimate));
        prop_assert!(small.iter().all(|index| large.contains(index)), "{small:?} is not in {large:?}");
    }

    // A result that fits whole takes the room of older messages, beside which its preview would have fitted. So what is newer than
    // every preview only grows. What must stay is apart: whole, it takes the room of newer messages as well.
    #[test]
    fn a_bigger_budget_keeps_whole_what_was_newer_than_every_preview(bytes in bytes(), choices: [u8; 6], more in 0u64..2000) {
        let mut history = transcript(&mut Choices::new(&bytes));
        history.iter_mut().for_each(|message| message.pinned = false);
        let mut options = options(&history, choices);
        (options.policy, options.previews) = (Policy::Newest, Previews::WhenNeeded);
        options.pins.clear();
        let items = items(&history);
        let previewed = |context: &Context| -> Vec<usize> {
            let lines = context.ledger.iter().enumerate();
            lines.filter(|(_, line)| line.action == Action::Previewed).map(|(place, _)| place).collect()
        };
        let small = build(&items, &options, &Estimate);
        // The newest question and an open group of tools must stay as well: the least that is kept must have no long result.
        let mut least = options.clone();
        least.budget.max_tokens = Some(1);
        let long_result = |line: &Line| history.get(line.index).is_some_and(|it| it.role == Role::Tool && it.text().len() > 1_000);
        if build(&items, &least, &Estimate).ledger.iter().any(|line| line.tokens_after > 0 && long_result(line)) {
            return Ok(());
        }
        let since = previewed(&small).last().map_or(0, |place| place + 1);
        let newer: Vec<Line> = small.ledger.iter().skip(since).filter(|line| line.tokens_after > 0).cloned().collect();
        let budget = &mut options.budget;
        for limit in [&mut budget.max_tokens, &mut budget.max_messages, &mut budget.max_chars] {
            *limit = limit.map(|limit| limit + more);
        }
        let large = build(&items, &options, &Estimate);
        for line in newer.iter().filter(|line| line.tokens_before > 0) {
            let now = large.ledger.iter().find(|now| now.index == line.index && now.tokens_before > 0);
            prop_assert_eq!(now.map(|now| now.tokens_after), Some(line.tokens_after), "{:?}", line);
        }
    }

    #[test]
    fn what_grows_is_what_was_made_at_once(bytes in bytes(), cut: u8, choices: [u8; 6]) {
        let history = transcript(&mut Choices::new(&bytes));
        let options = options(&history, choices);
        let items = items(&history);
        prop_assert!(options.preparing().grows());
        let whole = prepare(&items, &options, &Estimate);
        let mut grown = Prepared::new(&items[..items.len() * usize::from(cut) / 256], options.preparing(), &Estimate);
        grown.extend(&items, &Estimate);
        let plan = options.plan(&Default::default());
        let (a, b) = (whole.fit(&plan), grown.fit(&plan));
        prop_assert_eq!(&a, &b);
        let marks = |prepared: &Prepared, fit: &Fit| prepared.marks(fit).collect::<Vec<_>>();
        prop_assert_eq!(marks(&whole, &a), marks(&grown, &b));
    }

    #[test]
    fn known_counts_are_used(bytes in bytes(), choices: [u8; 6]) {
        let history = transcript(&mut Choices::new(&bytes));
        let options = options(&history, choices);
        let mut items = items(&history);
        let counted = build(&items, &options, &Estimate);
        let prepared = Prepared::new(&items, options.preparing(), &Estimate);
        for (item, known) in items.iter_mut().zip(prepared.stored_costs()) {
            prop_assert_eq!(known, cost(item.message, options.provider, &Estimate));
            item.cost = Some(known);
        }
        let known = build(&items, &options, &Estimate);
        prop_assert_eq!(counted.ledger, known.ledger);
    }

    #[test]
    fn strict_trimming_is_never_over_its_budget(bytes in bytes(), choices: [u8; 6]) {
        let history = transcript(&mut Choices::new(&bytes));
        let Options { provider, budget, policy, pins, .. } = options(&history, choices);
        let options = TrimOptions { provider, budget, policy, pins, strict: true, ..TrimOptions::default() };
        let context = trim_messages(&history, &options, &Estimate);
        check_sums(&context);
        prop_assert!(!context.over_budget);
        prop_assert!(budget.limits().hold(context.figures));
        prop_assert_eq!(unpaired(context.messages.iter().map(|message| &**message)), None);
    }

    #[test]
    fn zero_is_zero(bytes in bytes(), which in 0usize..3, stable: bool) {
        let history = transcript(&mut Choices::new(&bytes));
        let mut budget = Budget::default();
        *[&mut budget.max_tokens, &mut budget.max_messages, &mut budget.max_chars][which] = Some(0);
        let policy = if stable { Policy::Stable } else { Policy::Newest };
        let strict = TrimOptions { budget, policy, strict: true, ..TrimOptions::default() };
        let trimmed = trim_messages(&history, &strict, &Estimate);
        // Messages without characters fit into none.
        prop_assert!(which == 2 || trimmed.messages.is_empty());
        let context = build(&items(&history), &Options { budget, policy, ..Options::default() }, &Estimate);
        let must = [rule::SYSTEM, rule::NEWEST_USER, rule::PINNED, rule::OPEN_TOOL_GROUP, rule::OPENS_TURN];
        if which < 2 {
            prop_assert_eq!(context.over_budget, which == 0 || !context.messages.is_empty());
            for line in context.ledger.iter().filter(|line| line.tokens_after > 0 && line.action == Action::Kept) {
                prop_assert!(must.contains(&line.rule) || line.rule == rule::LLM_ERROR, "{line:?}");
            }
        }
    }

    #[test]
    fn the_smallest_budget_of_a_message_is_the_smallest(bytes in prop::collection::vec(any::<u8>(), 0..90), choices: [u8; 6], which: u8) {
        let history = transcript(&mut Choices::new(&bytes));
        prop_assume!(!history.is_empty());
        let options = options(&history, choices);
        let prepared = Prepared::new(&items(&history), options.preparing(), &Estimate);
        let plan = options.plan(&Default::default());
        let index = usize::from(which) % history.len();
        let survives = |tokens: u64| {
            let budget = Budget { max_tokens: Some(tokens), ..plan.budget };
            let fit = prepared.fit(&Plan { budget, ..plan.clone() });
            !fit.over_budget && prepared.kept(&fit).any(|kept| kept == index)
        };
        let all = prepared.figures().tokens;
        match prepared.smallest_budget(&plan, index) {
            Some(tokens) => {
                prop_assert!(survives(tokens));
                prop_assert!((0..tokens).all(|tokens| !survives(tokens)));
            }
            None => prop_assert!((0..=all + 10).all(|tokens| !survives(tokens))),
        }
    }

    #[test]
    fn what_the_next_tokens_push_out_is_gone_when_they_come(bytes in bytes(), choices: [u8; 6], next in 1u64..100) {
        let history = transcript(&mut Choices::new(&bytes));
        let options = options(&history, choices);
        let prepared = Prepared::new(&items(&history), Preparing::default(), &Estimate);
        let plan = options.plan(&Default::default());
        let fit = prepared.fit(&plan);
        let now: Vec<usize> = prepared.kept(&fit).collect();
        let out = prepared.pushed_out(&plan, next);
        prop_assert!(out.iter().all(|index| now.contains(index)));
        if let (Some(tokens), Policy::Newest) = (options.budget.max_tokens, options.policy) {
            // Room that is taken is room that is not there.
            let budget = Budget { max_tokens: Some(tokens.saturating_sub(next)), ..options.budget };
            let fit = prepared.fit(&Plan { budget, ..plan });
            let then: Vec<usize> = prepared.kept(&fit).collect();
            let expected: Vec<usize> = now.into_iter().filter(|index| !then.contains(index)).collect();
            prop_assert!(tokens < next || out == expected, "{out:?} {expected:?}");
        }
    }

    #[test]
    fn a_history_that_is_trimmed_again_stays_as_it_is(bytes in bytes(), choices: [u8; 6]) {
        let history = transcript(&mut Choices::new(&bytes));
        let options = options(&history, choices);
        let once = build(&items(&history), &Options { budget: Budget::default(), ..options.clone() }, &Estimate);
        let messages: Vec<Message> = once.messages.iter().map(|message| message.clone().into_owned()).collect();
        let twice = build(&items(&messages), &Options { budget: Budget::default(), ..options }, &Estimate);
        let found: Vec<Message> = twice.messages.iter().map(|message| message.clone().into_owned()).collect();
        prop_assert_eq!(found, messages);
    }

    // Without previews: in place of a result that takes more than a third of the room the stable policy always shows its preview, so
    // that it can keep more messages with fewer tokens.
    #[test]
    fn stable_keeps_two_thirds_of_what_fits(bytes in bytes(), share in 0u64..110) {
        let history = transcript(&mut Choices::new(&bytes));
        let preparing = Preparing { previews: Previews::Never, ..Preparing::default() };
        let prepared = Prepared::new(&items(&history), preparing, &Estimate);
        let limit = prepared.figures().tokens * share / 100;
        let plan = Plan { budget: Budget::tokens(limit), opens_with_user: true, ..Plan::default() };
        let newest = prepared.fit(&plan);
        let stable = prepared.fit(&Plan { policy: Policy::Stable, ..plan });
        prop_assert_eq!(newest.over_budget, stable.over_budget);
        let all: Vec<usize> = prepared.kept(&newest).collect();
        prop_assert!(prepared.kept(&stable).all(|index| all.contains(&index)));
        // The user's message that came along with what was cut goes with it.
        let along = prepared.marks(&newest).filter(|mark| mark.rule == rule::OPENS_TURN);
        let along: u64 = along.map(|mark| u64::from(mark.tokens_after)).sum();
        prop_assert!(stable.figures.tokens + along + limit / 3 + 1 >= newest.figures.tokens, "{stable:?} {newest:?}");
    }
}
