//! What is said of compactions and epochs, without its looks: names in words, and a step's lines put together to what one
//! reads. Answers of the engine in, stretches and short English text out.

use threadkeep::epochs::{Fate, StepLine};

use crate::format::{count, plural};
use crate::wire::{Card, Said};

/// The strategies, in the engine's order: the name in records, in words, and what it does.
pub const STRATEGIES: [(&str, &str, &str); 3] = [
    (
        "sliding-window",
        "Sliding window",
        "What is old leaves prompts, and no new summary stands in for it. What a summary said before stays.",
    ),
    ("summarize", "Summarise", "One summary stands in for all that is old. The summary before it is summarised along."),
    (
        "hierarchical",
        "Hierarchical",
        "Summaries in levels: what was summarised lately stays word for word, and what is older is summarised again and again.",
    ),
];

/// The name of the browser's own summariser, as checkpoints keep it.
pub const BROWSER: &str = "chrome";

/// The place of a strategy in [`STRATEGIES`].
pub fn strategy(name: &str) -> Option<usize> {
    STRATEGIES.iter().position(|(known, ..)| *known == name)
}

/// How a checkpoint was made, in words: `Summarise, built in`.
pub fn made_by(card: &Card) -> String {
    let strategy = strategy(&card.strategy).map_or(card.strategy.as_str(), |at| STRATEGIES[at].1);
    match card.summariser.as_str() {
        // Nobody is asked in a sliding window.
        "" | "sliding-window" => strategy.to_owned(),
        "extractive" => [strategy, ", built in"].concat(),
        BROWSER => [strategy, ", by the browser"].concat(),
        other => [strategy, ", by ", other].concat(),
    }
}

/// What is known of an epoch: how its checkpoint was made, and what it covers. `end` is how many messages the branch has.
pub fn covered(card: Option<&Card>, end: u32) -> String {
    match card {
        Some(card) => format!(
            "{}. It covers the first {}; its prompts have what follows as it is.",
            made_by(card),
            plural(card.messages.into(), "message")
        ),
        None => format!("All {} as they are.", plural(end.into(), "message")),
    }
}

/// Says how many messages left, came in or stayed. The first epoch has no prompt before it.
pub fn moved(fate: Fate, messages: u64, first: bool) -> String {
    let verb = match fate {
        Fate::Left => "left",
        Fate::Came => "came in",
        Fate::Stayed if first && messages == 1 => "is in the prompt",
        Fate::Stayed if first => "are in the prompt",
        Fate::Stayed => "stayed",
    };
    format!("{} {verb}", plural(messages, "message"))
}

/// Says how many messages no prompt has.
pub fn absent(messages: u32, first: bool) -> String {
    let verb = if messages == 1 { "is" } else { "are" };
    let place = if first { "not in the prompt" } else { "in neither prompt" };
    format!("{} {verb} {place}", plural(messages.into(), "message"))
}

/// Says how many statements two summaries share. `both` has a flag for each statement of the summary that came in or left.
pub fn compared(both: &[bool], came: bool, other: bool) -> String {
    let kept = both.iter().filter(|both| **both).count();
    match (came, other) {
        (true, false) => String::new(),
        (true, true) => {
            format!("{} from the summary before, {} new", count(kept as u64), count((both.len() - kept) as u64))
        }
        (false, _) => {
            format!("{} of {} are in the new one", count(kept as u64), plural(both.len() as u64, "statement"))
        }
    }
}

/// Lines in a row that have the same fate. A summary is a stretch of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch<'a> {
    /// What became of them.
    pub fate: Fate,
    /// They.
    pub lines: &'a [StepLine],
    /// Their tokens, on the side where they are.
    pub tokens: u64,
}

impl Stretch<'_> {
    /// Whether it is a summary.
    pub fn is_summary(&self) -> bool {
        self.lines.iter().any(|line| line.summary)
    }
}

/// The stretches of a step's lines, in order.
pub fn stretches(lines: &[StepLine]) -> Vec<Stretch<'_>> {
    let same = |a: &StepLine, b: &StepLine| a.fate == b.fate && !a.summary && !b.summary;
    lines
        .chunk_by(same)
        .map(|lines| {
            let fate = lines.first().map_or(Fate::Stayed, |line| line.fate);
            let cost = |line: &StepLine| u64::from(if fate == Fate::Left { line.before } else { line.after });
            Stretch { fate, lines, tokens: lines.iter().map(cost).sum() }
        })
        .collect()
}

/// The tokens of all lines with that fate.
pub fn tokens(lines: &[StepLine], fate: Fate) -> u64 {
    stretches(lines).iter().filter(|stretch| stretch.fate == fate).map(|stretch| stretch.tokens).sum()
}

/// Which statements of a summary the other one has, word for word.
pub fn shared(statements: &[Said], other: &[Said]) -> Vec<bool> {
    statements.iter().map(|said| other.iter().any(|one| one.text.trim() == said.text.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_core::checkpoint::Strategy;

    fn line(fate: Fate, summary: bool) -> StepLine {
        let (before, after) = match fate {
            Fate::Stayed => (3, 3),
            Fate::Left => (10, 0),
            Fate::Came => (0, 7),
        };
        let (role, words) = ("user".to_owned(), String::new());
        StepLine { fate, place: 0, node: None, role, words, summary, before, after }
    }

    #[test]
    fn lines_of_one_fate_are_one_stretch_and_summaries_stand_alone() {
        use Fate::*;
        let lines = [
            line(Stayed, false),
            line(Left, true),
            line(Came, true),
            line(Left, false),
            line(Left, false),
            line(Stayed, false),
        ];
        let found: Vec<_> =
            stretches(&lines).iter().map(|one| (one.fate, one.lines.len(), one.tokens, one.is_summary())).collect();
        assert_eq!(
            found,
            [
                (Stayed, 1, 3, false),
                (Left, 1, 10, true),
                (Came, 1, 7, true),
                (Left, 2, 20, false),
                (Stayed, 1, 3, false)
            ]
        );
        assert_eq!(tokens(&lines, Left), 30);
        assert!(stretches(&[]).is_empty());
    }

    #[test]
    fn strategies_are_the_engines() {
        for (strategy, (name, ..)) in Strategy::ALL.iter().zip(STRATEGIES) {
            assert_eq!(strategy.name(), name);
        }
        assert_eq!(strategy("hierarchical"), Some(2));
        assert_eq!(strategy("other"), None);
    }

    #[test]
    fn what_both_say() {
        let said = |text: &str| Said { text: text.to_owned(), sources: Vec::new() };
        assert_eq!(shared(&[said("a"), said("b ")], &[said("b"), said("c")]), [false, true]);
    }

    #[test]
    fn what_became_of_messages_in_words() {
        assert_eq!(moved(Fate::Left, 2, false), "2 messages left");
        assert_eq!(moved(Fate::Stayed, 1, true), "1 message is in the prompt");
        assert_eq!(moved(Fate::Stayed, 3, true), "3 messages are in the prompt");
        assert_eq!(absent(1, false), "1 message is in neither prompt");
        assert_eq!(absent(4, true), "4 messages are not in the prompt");
        assert_eq!(covered(None, 7), "All 7 messages as they are.");
    }

    #[test]
    fn what_two_summaries_share_in_words() {
        let both = [true, false, false];
        assert_eq!(compared(&both, true, false), "");
        assert_eq!(compared(&both, true, true), "1 from the summary before, 2 new");
        assert_eq!(compared(&both, false, true), "1 of 3 statements are in the new one");
    }
}
