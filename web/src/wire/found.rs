//! What the page asks of the search, and what it shows of the answer.

use serde::{Deserialize, Serialize};
use threadkeep_core::{MessageId, TranscriptId};

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Find {
    /// Words, `"phrases"`, `begin*`, `-without`.
    pub query: String,
    /// Who must have said it; empty for everybody.
    pub role: String,
    /// The kind of archive that it must come from; empty for all.
    pub source: String,
}

/// Something that was found: a message, or what is remembered of some.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The id of a checkpoint, an episode or a fact; none for a message.
    pub id: Option<String>,
    /// Its thread; none for what is remembered apart from any.
    pub transcript: Option<TranscriptId>,
    /// The end of a branch that holds it.
    pub leaf: Option<MessageId>,
    /// Its node; the anchor of a summary.
    pub node: Option<MessageId>,
    /// Who says it; for anything but a message, what it is: [`SUMMARY`], [`EPISODE`] or [`FACT`].
    pub role: String,
    /// When, in milliseconds since 1970, where that is known.
    pub created_at: Option<i64>,
    /// The stretch that shows why it was found: what was looked for is every second text, from the second on.
    pub snippet: Vec<String>,
    /// Why it was found, in words.
    pub why: String,
}

/// How many words of each sort a line names.
const NAMED: usize = 6;

/// Why something was found, in one line: `Has smells, sour · near it bread · of that time`.
pub fn reason(words: &[String], context: &[String], time: bool) -> String {
    let named = |what: &str, words: &[String]| {
        let more = if words.len() > NAMED { "…" } else { "" };
        let some = words.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        (!words.is_empty()).then(|| [what, &some, more].concat())
    };
    let time = time.then(|| "of that time".to_owned());
    let all: Vec<String> = [named("Has ", words), named("near it ", context), time].into_iter().flatten().collect();
    all.join(" · ")
}

/// What stands in prompts for older messages.
pub const SUMMARY: &str = "summary";
/// What happened, as it is remembered.
pub const EPISODE: &str = "episode";
/// What holds, as it is remembered.
pub const FACT: &str = "fact";

/// What was found so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Found {
    /// The hits: messages, best first, then all else, best first.
    pub hits: Vec<Hit>,
    /// How many messages were looked at.
    pub indexed: u64,
    /// How many there are. As long as more are to be looked at, asking again goes on with them.
    pub messages: u64,
}

/// Cuts a text at the ends of its highlights (ranges of bytes, ascending, apart), so that every second piece is one.
pub fn cut(text: &str, highlights: &[(usize, usize)]) -> Vec<String> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    for (from, to) in highlights {
        // What does not fit the text is not marked.
        if let (Some(before), Some(marked)) = (text.get(at..*from), text.get(*from..*to)) {
            pieces.extend([before.to_owned(), marked.to_owned()]);
            at = *to;
        }
    }
    pieces.extend(text.get(at..).map(str::to_owned));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{from_bytes, to_bytes};

    #[test]
    fn highlights_are_every_second_piece() {
        assert_eq!(cut("…the über fox", &[(3, 6), (7, 12)]), ["…", "the", " ", "über", " fox"]);
        assert_eq!(cut("fox", &[(0, 3)]), ["", "fox", ""]);
        assert_eq!(cut("fox", &[]), ["fox"]);
        assert_eq!(cut("ü", &[(0, 1), (5, 9)]), ["ü"], "no range of this text");
    }

    #[test]
    fn the_reason_names_words_neighbours_and_time() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            reason(&words("smells sour"), &words("bread"), true),
            "Has smells, sour · near it bread · of that time"
        );
        assert_eq!(reason(&words("a b c d e f g"), &[], false), "Has a, b, c, d, e, f…");
        assert_eq!(reason(&[], &[], false), "");
    }

    #[test]
    fn what_was_found_is_heard() {
        let id = MessageId::new("m").unwrap();
        let hit = Hit {
            id: None,
            transcript: Some(id.clone()),
            leaf: Some(id.clone()),
            node: Some(id),
            role: "user".into(),
            created_at: Some(-3),
            snippet: cut("a fox", &[(2, 5)]),
            why: "Has fox".into(),
        };
        let fact =
            Hit { id: Some("f".into()), transcript: None, leaf: None, node: None, role: FACT.into(), ..hit.clone() };
        let found = Found { hits: vec![hit, fact], indexed: 7, messages: 1 << 40 };
        assert_eq!(from_bytes(&to_bytes(&found)), Some(found));
        let find = Find { query: "fox".into(), role: "tool".into(), source: String::new() };
        assert_eq!(from_bytes(&to_bytes(&find)), Some(find));
    }
}
