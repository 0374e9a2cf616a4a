//! Real transcripts, where they are at hand: sound at fifty budgets each, all five providers.

use threadkeep_core::context::{Budget, Context, FrameOptions, Item, Options, Policy, items, opens_with_user, prepare};
use threadkeep_core::tokens::Estimate;
use threadkeep_core::{Message, Provider, Role};

use crate::common::{check_rendered, check_sums};
use crate::readers::all;
use crate::transcripts::unpaired;

fn check(name: &str, history: &[Message], items: &[Item], options: &Options, context: &Context) {
    check_sums(context);
    check_rendered(context, options.provider);
    let messages = || context.messages.iter().map(|message| &**message);
    if let Some(wrong) = unpaired(messages()) {
        panic!("{name}: {wrong} at {:?}", options.budget);
    }
    assert_eq!(options.budget.limits().hold(context.figures), !context.over_budget, "{name}");
    let spoken = |message: &Message| message.role == Role::User && message.include_in_context;
    if let Some(newest) = history.iter().rposition(spoken) {
        let line = context.ledger.iter().find(|line| line.index == newest && line.tokens_before > 0).unwrap();
        assert!(line.tokens_after > 0, "{name}: the newest user message is gone: {line:?}");
    }
    if opens_with_user(options.provider) && history.iter().find(|m| m.role != Role::System).is_some_and(spoken) {
        let first = messages().find(|message| !matches!(message.role, Role::System | Role::Developer));
        assert_eq!(first.map(|message| &message.role), Some(&Role::User), "{name}");
    }
    let counted = context.ledger.iter().filter(|line| line.tokens_before > 0).count();
    assert_eq!(counted, items.len(), "{name}: not a line for each message");
}

#[test]
fn every_transcript_is_sound_at_fifty_budgets() {
    let transcripts = all();
    for (name, history) in &transcripts {
        let items = items(history);
        for (place, provider) in Provider::ALL.into_iter().enumerate() {
            let mut options = Options { provider, ..Options::default() };
            options.frame = FrameOptions { system_prompt: (place == 1).then(|| "Help.".into()), ..Default::default() };
            let frame = threadkeep_core::context::Frame::new(&options.frame, provider, &Estimate);
            let prepared = prepare(&items, &options, &Estimate);
            let whole = prepared.figures();
            // Every provider sees all fifty of the decisions, and builds each fifth prompt.
            for step in 0..50 {
                options.budget = Budget::default();
                match step % 3 {
                    0 => options.budget.max_tokens = Some(whole.tokens * step / 48),
                    1 => options.budget.max_messages = Some(whole.messages * step / 48),
                    _ => options.budget.max_chars = Some(whole.chars * step / 48),
                }
                options.policy = if step % 2 == 0 { Policy::Newest } else { Policy::Stable };
                let fit = prepared.fit(&options.plan(&frame));
                assert_eq!(options.budget.limits().hold(fit.figures), !fit.over_budget, "{name}");
                if step as usize % 5 == place || history.len() < 20 {
                    check(name, history, &items, &options, &prepared.context(&items, &fit, &frame));
                }
            }
        }
    }
    println!("{} transcripts, {} messages", transcripts.len(), transcripts.iter().map(|(_, h)| h.len()).sum::<usize>());
}
