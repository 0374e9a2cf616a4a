//! The stretch of a text that shows why it was found.

use crate::language::Language;
use crate::query::Query;
use crate::words::{border, words};

/// A stretch of a text, and what in it was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// The stretch, with `…` where the text goes on.
    pub text: String,
    /// Ranges of bytes in [`Snippet::text`], ascending, apart.
    pub highlights: Vec<(usize, usize)>,
}

/// The stretch of `text`, of about `length` bytes, that has the most of `query`.
///
/// ```
/// use threadkeep_recall::{Query, snippet};
/// let found = snippet("First pack. Then board the train.", &Query::parse("boarding trains"), 20);
/// assert_eq!(found.text, "…board the train.");
/// let marked: Vec<&str> = found.highlights.iter().map(|(from, to)| &found.text[*from..*to]).collect();
/// assert_eq!(marked, ["board", "train"]);
/// ```
pub fn snippet(text: &str, query: &Query, length: usize) -> Snippet {
    let language = Language::guess(text);
    // What each clause's words mean: terms, and beginnings.
    let mut wanted: Vec<(String, usize)> = Vec::new();
    let mut begins = Vec::new();
    for (number, clause) in query.clauses.iter().enumerate().filter(|(_, clause)| !clause.excluded) {
        for slot in &clause.slots {
            wanted.extend(query.terms(slot, 1 << language as u32).into_iter().map(|term| (term, number)));
            if slot.prefix {
                begins.push((slot, number));
            }
        }
    }
    let mut marks: Vec<(usize, usize, usize)> = Vec::new();
    let mut term = String::new();
    words(text, &mut |word| {
        term.clear();
        language.term(word.text, &mut term);
        let own = wanted.iter().find(|(own, _)| *own == term).map(|(_, clause)| clause);
        let begun = || begins.iter().find(|(slot, _)| slot.begins(&term)).map(|(_, clause)| clause);
        if let Some(clause) = own.or_else(begun) {
            match marks.last_mut() {
                // Parts of one word, or pairs that overlap.
                Some(last) if word.start <= last.1 => last.1 = last.1.max(word.end),
                _ => marks.push((word.start, word.end, *clause)),
            }
        }
    });
    // The stretch from one mark on that has the most different clauses, then the most marks; the first of the best.
    let mut best = (0, 0, 0);
    for (at, mark) in marks.iter().enumerate() {
        let inside = marks[at..].iter().take_while(|other| other.1 <= mark.0 + length);
        let mut clauses: Vec<usize> = inside.clone().map(|mark| mark.2).collect();
        clauses.sort_unstable();
        clauses.dedup();
        let rank = (clauses.len(), inside.count());
        if rank > (best.0, best.1) {
            best = (rank.0, rank.1, at);
        }
    }
    let (from, to) = match marks.get(best.2) {
        Some(first) => {
            let last = marks[best.2..]
                .iter()
                .take_while(|other| other.1 <= first.0 + length)
                .last()
                .map_or(first.1, |last| last.1);
            let room = length.saturating_sub(last.max(first.1) - first.0);
            (first.0.saturating_sub(room / 3), last.max(first.1) + room - room / 3)
        }
        None => (0, length),
    };
    cut(text, from, to.min(text.len()), &marks)
}

/// The text from about `from` to about `to`, at borders of words, in one line.
fn cut(text: &str, from: usize, to: usize, marks: &[(usize, usize, usize)]) -> Snippet {
    let space = |at: usize| text[at..].starts_with(char::is_whitespace);
    let start = border(text, from);
    // To the next word's beginning, if it is near.
    let near = text[start..].char_indices().take(24).find(|(_, c)| c.is_whitespace()).map(|(offset, _)| start + offset);
    let limit = marks.iter().map(|mark| mark.0).find(|mark| *mark >= start).unwrap_or(to);
    let start = if start == 0 || space(start) { start } else { near.filter(|near| *near < limit).unwrap_or(start) };
    let end = border(text, to.max(start));
    let last = marks.iter().map(|mark| mark.1).filter(|mark| *mark <= end).max().unwrap_or(start);
    let near = text[..end].char_indices().rev().take(24).find(|(_, c)| c.is_whitespace()).map(|(at, _)| at);
    let end = if end == text.len() || space(end) {
        end
    } else {
        near.filter(|near| *near >= last && *near > start).unwrap_or(end)
    };
    let trimmed = text[start..end].trim_start();
    let start = end - trimmed.len();
    let end = start + trimmed.trim_end().len();
    let mut snippet = Snippet::default();
    if start > 0 {
        snippet.text.push('…');
    }
    let mut marks = marks.iter().filter(|mark| mark.0 >= start && mark.1 <= end).peekable();
    let (mut blank, mut opened) = (false, 0);
    for (offset, c) in text[start..end].char_indices() {
        let at = start + offset;
        if c.is_whitespace() || c.is_control() {
            blank = true;
        } else {
            if std::mem::take(&mut blank) {
                snippet.text.push(' ');
            }
            if marks.peek().is_some_and(|mark| mark.0 == at) {
                opened = snippet.text.len();
            }
            snippet.text.push(c);
        }
        if marks.next_if(|mark| mark.1 <= at + c.len_utf8()).is_some() {
            snippet.highlights.push((opened, snippet.text.len()));
        }
    }
    if end < text.trim_end().len() {
        snippet.text.push('…');
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_text_has_a_snippet(text in "\\PC{0,300}|[a-d东京é \n]{0,200}", query in "\\PC{0,20}|[a-d东京 \"*-]{0,12}", length in 0usize..80) {
            let found = snippet(&text, &Query::parse(&query), length);
            let mut last = 0;
            for (from, to) in found.highlights {
                assert!(last <= from && from < to, "{from} {to}");
                assert!(found.text.get(from..to).is_some());
                last = to;
            }
        }
    }

    #[test]
    fn the_best_stretch_is_shown() {
        let text = format!("{} the quick brown fox {}", "word ".repeat(100), "tail ".repeat(100));
        let found = snippet(&text, &Query::parse("quick foxes word"), 60);
        assert!(found.text.contains("quick brown fox"), "{}", found.text);
        assert!(found.text.starts_with('…') && found.text.ends_with('…'));
    }
}
