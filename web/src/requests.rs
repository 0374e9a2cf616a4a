//! What the list of requests says: figures of one and of all. Plain data in, text out.

use std::collections::HashMap;

use threadkeep_core::MessageId;

use crate::format;
use crate::wire::{Asked, Used};

/// What stands below an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foot {
    /// What its requests took and cost.
    pub words: String,
    /// The id of the last of them.
    pub request: String,
}

/// What stands below the answers of a branch, by their nodes. An agent's answer is in the node of its question; that of an imported session
/// is the next one.
pub fn feet(all: &[Asked], branch: &[&MessageId]) -> HashMap<MessageId, Foot> {
    let places: HashMap<&MessageId, usize> = branch.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let mut answers: HashMap<&MessageId, Vec<&Asked>> = HashMap::new();
    for asked in all.iter().filter(|asked| !asked.summary && asked.usage.is_some()) {
        let after = usize::from(asked.program.is_some());
        let answer = places.get(&asked.node).and_then(|at| branch.get(at + after));
        if let Some(answer) = answer {
            answers.entry(*answer).or_default().push(asked);
        }
    }
    let foot = |(answer, asked): (&MessageId, Vec<&Asked>)| {
        let last = asked.last()?;
        let words = match asked[..] {
            [one] => {
                let cost = one.micros.map(|micros| format!(", {}", format::dollars(micros)));
                figures(one) + &cost.unwrap_or_default()
            }
            _ => total(asked.iter().copied()),
        };
        let took = last.took.map(|took| {
            let began = asked.first().map_or(last.sent_at, |first| first.sent_at);
            // From the first request to the end of the last, with the tools between them.
            format!(", {}", format::took(took.saturating_add(last.sent_at.abs_diff(began))))
        });
        let words = words + &took.unwrap_or_default();
        let cut = if is_cut(last) { ", cut at its limit" } else { "" };
        Some((answer.clone(), Foot { words: words + cut, request: last.id.clone() }))
    };
    answers.into_iter().filter_map(foot).collect()
}

/// Whether the answer was as long as it may be, and is not whole.
fn is_cut(asked: &Asked) -> bool {
    matches!(asked.outcome.as_deref(), Some("length" | "max_tokens" | "MAX_TOKENS" | "max_output_tokens"))
}

/// What went in and out: `1,204 tokens in, 800 of them from the cache, 220 out`. Before the provider has said, what was counted here.
pub fn figures(asked: &Asked) -> String {
    match asked.usage {
        Some(Used { input, cached: 0, output }) => {
            format!("{} in, {} out", format::plural(input, "token"), format::count(output))
        }
        Some(Used { input, cached, output }) => format!(
            "{} in, {} of them from the cache, {} out",
            format::plural(input, "token"),
            format::count(cached),
            format::count(output)
        ),
        None => format!("about {} in", format::plural(asked.tokens, "token")),
    }
}

/// What is worth saying of a request beside its figures: who sent it, for what, how it ended. A usual end is not.
pub fn facts(asked: &Asked) -> Vec<String> {
    let sender = asked.program.as_deref().map(|program| format!("sent by {}", format::source(program)));
    let purpose = asked.summary.then(|| "for a summary".to_owned());
    let end = match asked.outcome.as_deref() {
        Some("stop" | "end_turn" | "completed" | "STOP") => None,
        Some("tool-calls" | "tool_use" | "toolUse") => Some("called tools".to_owned()),
        _ if is_cut(asked) => Some("cut at its limit".to_owned()),
        Some("filtered") => Some("refused by a filter".to_owned()),
        Some("cancelled") => Some("stopped".to_owned()),
        Some(other) => Some(other.to_owned()),
        None if asked.program.is_none() => Some("no answer yet".to_owned()),
        None => None,
    };
    let took = asked.took.map(format::took);
    sender.into_iter().chain(purpose).chain(end).chain(took).collect()
}

/// The sum of all: `12 requests, 45,000 tokens in, 80% of them from the cache, 3,000 out, $0.12`.
pub fn total<'a>(all: impl Iterator<Item = &'a Asked> + Clone) -> String {
    let mut sum = Used::default();
    for usage in all.clone().filter_map(|asked| asked.usage) {
        sum.input += usage.input;
        sum.cached += usage.cached;
        sum.output += usage.output;
    }
    let count = all.clone().count();
    let mut words = format::plural(count as u64, "request");
    if sum.input > 0 {
        words.push_str(&format!(", {} in", format::plural(sum.input, "token")));
        if sum.cached > 0 {
            words.push_str(&format!(", {}% of them from the cache", format::percent(sum.cached, sum.input)));
        }
        words.push_str(&format!(", {} out", format::count(sum.output)));
    }
    let priced: Vec<u64> = all.filter_map(|asked| asked.micros).collect();
    if !priced.is_empty() {
        words.push_str(&format!(", {}", format::dollars(priced.iter().sum())));
        let unknown = count - priced.len();
        if unknown > 0 {
            words.push_str(&format!(" without {} of unknown price", format::count(unknown as u64)));
        }
    }
    words
}

/// Whether a compaction lies between two requests: the newer one has a summary that the older had not.
pub fn is_compacted(older: &Asked, newer: &Asked) -> bool {
    newer.known && newer.checkpoint.is_some() && newer.checkpoint != older.checkpoint
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(usage: Option<(u64, u64, u64)>, micros: Option<u64>) -> Asked {
        Asked {
            id: "t:1".into(),
            node: MessageId::new("n").unwrap(),
            sent_at: 0,
            model: "m".into(),
            program: None,
            summary: false,
            tokens: 1_190,
            usage: usage.map(|(input, cached, output)| Used { input, cached, output }),
            micros,
            outcome: Some("stop".into()),
            took: None,
            checkpoint: None,
            known: true,
        }
    }

    #[test]
    fn figures_are_the_providers_where_it_has_said() {
        assert_eq!(figures(&asked(None, None)), "about 1,190 tokens in");
        assert_eq!(figures(&asked(Some((1_204, 0, 220)), None)), "1,204 tokens in, 220 out");
        assert_eq!(
            figures(&asked(Some((1_204, 800, 220)), None)),
            "1,204 tokens in, 800 of them from the cache, 220 out"
        );
    }

    #[test]
    fn a_usual_end_is_not_said_and_any_other_is() {
        assert!(facts(&asked(None, None)).is_empty());
        let told = Asked { program: Some("claude-code".into()), outcome: Some("tool_use".into()), ..asked(None, None) };
        assert_eq!(facts(&told), ["sent by Claude Code", "called tools"]);
        let open = Asked { outcome: None, summary: true, ..asked(None, None) };
        assert_eq!(facts(&open), ["for a summary", "no answer yet"]);
        let failed = Asked { outcome: Some("rate-limited".into()), ..asked(None, None) };
        assert_eq!(facts(&failed), ["rate-limited"]);
    }

    #[test]
    fn the_sum_names_what_has_no_price() {
        assert_eq!(total([].iter()), "0 requests");
        assert_eq!(total([asked(None, None)].iter()), "1 request");
        let all = [asked(Some((1_000, 0, 10)), Some(3_100)), asked(Some((3_000, 2_000, 20)), None)];
        assert_eq!(
            total(all.iter()),
            "2 requests, 4,000 tokens in, 50% of them from the cache, 30 out, $0.0031 without 1 of unknown price"
        );
    }

    #[test]
    fn an_answer_that_was_cut_says_so() {
        let node = MessageId::new("n").unwrap();
        for outcome in ["length", "max_tokens"] {
            let cut = Asked { outcome: Some(outcome.into()), ..asked(Some((5, 0, 6)), None) };
            assert_eq!(facts(&cut), ["cut at its limit"]);
            assert_eq!(feet(&[cut], &[&node])[&node].words, "5 tokens in, 6 out, cut at its limit");
        }
    }

    #[test]
    fn each_answer_has_what_its_requests_took() {
        let [a, b, c] = ["a", "b", "c"].map(|id| MessageId::new(id).unwrap());
        let at = |node: &MessageId, asked: Asked| Asked { node: node.clone(), ..asked };
        let one = at(&a, asked(Some((1_000, 0, 10)), Some(3_100)));
        let open = at(&b, asked(None, None));
        let summary = at(&b, Asked { summary: true, ..asked(Some((9, 0, 9)), None) });
        let told = Asked { program: Some("pi".into()), id: "t:n2".into(), ..at(&b, asked(Some((5, 0, 6)), None)) };
        let feet = feet(&[one.clone(), one, open, summary, told], &[&a, &b, &c]);
        assert_eq!(feet[&a].words, "2 requests, 2,000 tokens in, 20 out, $0.0062");
        assert!(!feet.contains_key(&b), "what is open or for a summary is no answer");
        assert_eq!(feet[&c], Foot { words: "5 tokens in, 6 out".into(), request: "t:n2".into() });
    }

    #[test]
    fn an_answer_took_from_its_first_request_to_the_end_of_the_last() {
        let node = MessageId::new("n").unwrap();
        let one = Asked { took: Some(3_210), ..asked(Some((5, 0, 6)), None) };
        assert_eq!(facts(&one), ["3.2 s"]);
        assert_eq!(feet(std::slice::from_ref(&one), &[&node])[&node].words, "5 tokens in, 6 out, 3.2 s");
        let last = Asked { sent_at: 20_000, took: Some(5_000), ..one.clone() };
        assert_eq!(feet(&[one, last], &[&node])[&node].words, "2 requests, 10 tokens in, 12 out, 25.0 s");
    }

    #[test]
    fn a_compaction_lies_where_the_summary_is_another() {
        let with = |checkpoint: Option<&str>| Asked { checkpoint: checkpoint.map(Into::into), ..asked(None, None) };
        assert!(!is_compacted(&with(None), &with(None)));
        assert!(is_compacted(&with(None), &with(Some("a"))));
        assert!(!is_compacted(&with(Some("a")), &with(Some("a"))));
        assert!(is_compacted(&with(Some("a")), &with(Some("b"))));
        assert!(!is_compacted(&with(Some("a")), &with(None)), "an older branch has none");
        assert!(!is_compacted(&with(None), &Asked { known: false, ..with(Some("a")) }));
    }
}
