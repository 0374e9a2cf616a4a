//! The marks of messages: runs of equal ones as the engine sends them, found again by a message's place in the chain.

use std::ops::Range;

use threadkeep_core::MessageId;

use super::rules;
use crate::format;
use crate::wire::{Fitted, Stretch};

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is in the prompt as it is.
    Kept,
    /// It is in the prompt because it was pinned.
    Pinned,
    /// A code turn, shown as what it defined and printed.
    Compressed,
    /// Shown by its beginning.
    Previewed,
    /// Changed, since the provider's protocol needs it.
    Repaired,
    /// A summary stands for it.
    Summarised,
    /// It is not in the prompt.
    Dropped,
}

impl Mark {
    /// All of them, in the order of the legend.
    pub const ALL: [Self; 7] =
        [Self::Kept, Self::Pinned, Self::Compressed, Self::Previewed, Self::Repaired, Self::Summarised, Self::Dropped];

    /// Its name in markup and, with a capital, in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Pinned => "pinned",
            Self::Compressed => "compressed",
            Self::Previewed => "previewed",
            Self::Repaired => "repaired",
            Self::Summarised => "summarised",
            Self::Dropped => "dropped",
        }
    }
}

/// What is to be seen of the messages of a row, or of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The mark to show: of those in the prompt the most telling, else dropped.
    pub mark: Mark,
    /// It in a word or three: `Kept`, `2 of 5 kept`.
    pub name: String,
    /// Why, in plain words.
    pub why: String,
    /// Whether one of them would soon be pushed out.
    pub leaving: bool,
}

/// The marks of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Marks {
    /// The chain's end.
    pub leaf: MessageId,
    rules: Vec<String>,
    /// The place after each run, its mark and its rule.
    runs: Vec<(u32, Mark, u32)>,
    leaving: Vec<Stretch>,
}

impl Marks {
    /// Those of an answer.
    pub fn new(fitted: &Fitted) -> Self {
        let mut end = 0;
        let run = |run: &crate::wire::Run| {
            end += run.count;
            (end, Mark::ALL.get(run.mark as usize).copied().unwrap_or(Mark::Kept), run.rule)
        };
        let runs = fitted.runs.iter().map(run).collect();
        Self { leaf: fitted.leaf.clone(), rules: fitted.rules.clone(), runs, leaving: fitted.leaving.clone() }
    }

    /// How many messages there are.
    pub fn len(&self) -> u32 {
        self.runs.last().map_or(0, |run| run.0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages have each mark, in the order of [`Mark::ALL`].
    pub fn counts(&self) -> [u32; 7] {
        let (mut counts, mut start) = ([0; 7], 0);
        for (end, mark, _) in &self.runs {
            counts[*mark as usize] += end - start;
            start = *end;
        }
        counts
    }

    /// The first message after the instructions that is in the prompt, if one before it is not.
    pub fn cut(&self) -> Option<u32> {
        let dropped = self.runs.iter().rposition(|run| matches!(run.1, Mark::Dropped | Mark::Summarised))?;
        self.runs.get(dropped + 1).map(|_| self.runs[dropped].0)
    }

    /// What is to be seen of the messages at these places; `None` where there is none.
    pub fn of(&self, places: Range<u32>) -> Option<Marked> {
        let from = self.runs.partition_point(|run| run.0 <= places.start);
        let mut parts: Vec<(u32, Mark, u32)> = Vec::new();
        let mut at = places.start;
        for (end, mark, rule) in &self.runs[from..] {
            if at >= places.end {
                break;
            }
            let count = (*end).min(places.end) - at;
            at += count;
            match parts.iter_mut().find(|part| (part.1, part.2) == (*mark, *rule)) {
                Some(part) => part.0 += count,
                None => parts.push((count, *mark, *rule)),
            }
        }
        let all = at - places.start;
        let first = parts.first()?;
        // A change says more than that it is there.
        let kept = parts.iter().filter(|part| part.1 != Mark::Dropped).max_by_key(|part| part.1 as u32);
        let mark = kept.map_or(Mark::Dropped, |part| part.1);
        let stay: u32 = parts.iter().filter(|part| part.1 != Mark::Dropped).map(|part| part.0).sum();
        let name = if stay == 0 || stay == all {
            format::capital(mark.name())
        } else {
            [&stay.to_string(), " of ", &all.to_string(), " kept"].concat()
        };
        let rule = |part: &(u32, Mark, u32)| rules::words(self.rules.get(part.2 as usize).map_or("", String::as_str));
        let why = if parts.len() == 1 {
            rule(first)
        } else {
            let part = |part: &(u32, Mark, u32)| [&part.0.to_string(), " ", part.1.name(), ": ", &rule(part)].concat();
            parts.iter().map(part).collect::<Vec<_>>().join("; ")
        };
        // They are few, since what leaves is a stretch of the chain; in the order of the prompt, not of the chain.
        let meets = |stretch: &Stretch| stretch.start < places.end && places.start < stretch.start + stretch.count;
        let leaving = self.leaving.iter().any(meets);
        Some(Marked { mark, name, why, leaving })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Run;

    fn marks() -> Marks {
        let run = |count, mark: Mark, rule| Run { count, mark: mark as u32, rule };
        Marks::new(&Fitted {
            leaf: MessageId::new("leaf").unwrap(),
            rules: vec!["system".into(), "over-max-tokens".into(), "newest".into(), "tool-result-preview".into()],
            runs: vec![
                run(1, Mark::Kept, 0),
                run(4, Mark::Dropped, 1),
                run(2, Mark::Kept, 2),
                run(1, Mark::Previewed, 3),
                run(1, Mark::Kept, 2),
            ],
            leaving: vec![Stretch { start: 5, count: 2 }],
            ..Fitted::default()
        })
    }

    #[test]
    fn runs_are_found_by_place() {
        let marks = marks();
        assert_eq!(marks.len(), 9);
        assert_eq!(marks.counts(), [4, 0, 0, 1, 0, 0, 4]);
        let names: Vec<&str> = (0..9).map(|at| marks.of(at..at + 1).unwrap().mark.name()).collect();
        assert_eq!(names, ["kept", "dropped", "dropped", "dropped", "dropped", "kept", "kept", "previewed", "kept"]);
        assert_eq!(marks.of(9..10), None);
        assert_eq!(marks.of(3..3), None);
        assert_eq!(marks.of(0..1).unwrap().why, "instructions always stay");
    }

    #[test]
    fn several_messages_are_summed_up() {
        let marks = marks();
        let mixed = marks.of(4..8).unwrap();
        assert_eq!((mixed.mark, mixed.name.as_str()), (Mark::Previewed, "3 of 4 kept"));
        assert!(mixed.why.starts_with("1 dropped: older than"), "{}", mixed.why);
        assert_eq!(marks.of(1..5).unwrap().name, "Dropped");
        // The kept ones around the preview are one part.
        assert_eq!(marks.of(5..9).unwrap().why.matches(';').count(), 1);
    }

    #[test]
    fn what_would_leave_is_marked() {
        let marks = marks();
        let leaving: Vec<bool> = (0..9).map(|at| marks.of(at..at + 1).unwrap().leaving).collect();
        assert_eq!(leaving, [false, false, false, false, false, true, true, false, false]);
        assert!(marks.of(0..9).unwrap().leaving);
    }

    #[test]
    fn the_cut_is_after_the_last_that_is_dropped() {
        assert_eq!(marks().cut(), Some(5));
        assert_eq!(Marks { runs: vec![(3, Mark::Kept, 0)], ..marks() }.cut(), None);
        assert_eq!(Marks { runs: vec![(3, Mark::Dropped, 0)], ..marks() }.cut(), None);
    }
}
