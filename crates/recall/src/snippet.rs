//! The stretch of a text that shows why it was found.

use std::collections::HashMap;

use crate::language::Language;
use crate::query::Query;
use crate::words::{border, words};
use threadkeep_core::sort;

/// A stretch of a text, and what in it was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Snippet {
    /// The stretch of it that shows why it was found.
    #[cfg_attr(feature = "ts", ts(rename = "snippet"))]
    pub text: String,
    /// What to mark in it: ranges from (in) and to (out), ascending, apart. Rust has places of bytes, JavaScript of UTF-16 units.
    pub highlights: Vec<(usize, usize)>,
}

/// The stretch of `text`, of at most about `length` bytes in any script, that has the most of `query`.
///
/// ```
/// use threadkeep_recall::{Query, snippet};
/// let found = snippet("First pack. Then board the train.", &Query::parse("boarding trains"), 20);
/// assert_eq!(found.text, "…board the train.");
/// let marked: Vec<&str> = found.highlights.iter().map(|(from, to)| &found.text[*from..*to]).collect();
/// assert_eq!(marked, ["board", "train"]);
/// ```
pub fn snippet(text: &str, query: &Query, length: usize) -> Snippet {
    let (marks, (start, end)) = found(text, query, length);
    one_line(text, start, end, &marks)
}

/// Where the stretch that [`snippet`] shows is in the text: from (in) and to (out), in bytes.
pub fn stretch(text: &str, query: &Query, length: usize) -> (usize, usize) {
    found(text, query, length).1
}

/// A stretch that was looked for: from, to, and the number of its clause.
type Marked = (usize, usize, usize);

/// What of a text was looked for, and where the best stretch is.
fn found(text: &str, query: &Query, length: usize) -> (Vec<Marked>, (usize, usize)) {
    let language = Language::guess(text);
    let wanted = Wanted::of(query, language);
    let mut marks: Vec<Marked> = Vec::new();
    let mut term = String::new();
    words(text, &mut |word| {
        term.clear();
        language.term(word.text, &mut term);
        if let Some(clause) = wanted.clause(&term) {
            match marks.last_mut() {
                // Parts of one word, or pairs that overlap.
                Some(last) if word.start <= last.1 => last.1 = last.1.max(word.end),
                _ => marks.push((word.start, word.end, clause)),
            }
        }
    });
    // The stretch from one mark on that has the most different clauses, then the most marks; the first of the best.
    let mut best = (0, 0, 0);
    for (at, mark) in marks.iter().enumerate() {
        let inside = marks[at..].iter().take_while(|other| other.1 <= mark.0 + length);
        let mut clauses: Vec<usize> = inside.clone().map(|mark| mark.2).collect();
        sort::sort(&mut clauses);
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
            // A run without spaces that was all looked for is one mark, however long it is.
            let last = last.max(first.1).min(first.0 + length);
            let room = length - (last - first.0);
            (first.0.saturating_sub(room / 3), last + room - room / 3)
        }
        None => (0, length),
    };
    let best = cut(text, from, to.min(text.len()), &marks);
    (marks, best)
}

/// What a query looks for in a text of one language: for each term the first clause that has it.
struct Wanted {
    terms: HashMap<String, usize>,
    /// What words begin with, and the stems that longer beginnings mean.
    begins: HashMap<String, usize>,
    stems: HashMap<String, usize>,
}

impl Wanted {
    fn of(query: &Query, language: Language) -> Self {
        let mut wanted = Self { terms: HashMap::new(), begins: HashMap::new(), stems: HashMap::new() };
        for (number, clause) in query.clauses.iter().enumerate().filter(|(_, clause)| !clause.excluded) {
            for slot in &clause.slots {
                for term in query.terms(slot, 1 << language as u32) {
                    wanted.terms.entry(term).or_insert(number);
                }
                if slot.prefix {
                    for stem in slot.stems() {
                        wanted.stems.entry(stem).or_insert(number);
                    }
                    wanted.begins.entry(slot.folded()).or_insert(number);
                }
            }
        }
        wanted
    }

    /// The first clause that looks for a term; one that has it itself comes before one that has its beginning.
    fn clause(&self, term: &str) -> Option<usize> {
        if let Some(own) = self.terms.get(term) {
            return Some(*own);
        }
        if self.begins.is_empty() {
            return None;
        }
        let ends = term.char_indices().map(|(at, _)| at).chain([term.len()]);
        let begun = ends.filter_map(|end| self.begins.get(&term[..end]));
        begun.chain(self.stems.get(term)).min().copied()
    }
}

/// The text from about `from` to about `to`, at borders of words.
fn cut(text: &str, from: usize, to: usize, marks: &[Marked]) -> (usize, usize) {
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
    (start, start + trimmed.trim_end().len())
}

/// A stretch of a text in one line.
fn one_line(text: &str, start: usize, end: usize, marks: &[Marked]) -> Snippet {
    let mut snippet = Snippet::default();
    if start > 0 {
        snippet.text.push('…');
    }
    // Of a mark that the stretch cuts, what is in it is marked.
    let inside = marks.iter().map(|mark| (mark.0.max(start), mark.1.min(end))).filter(|mark| mark.0 < mark.1);
    let mut marks = inside.peekable();
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
    fn a_snippet_of_a_script_without_spaces_is_as_short_as_others() {
        for (text, asked) in
            [("我喜欢喝茶", "我喜欢喝茶"), ("東京都", "東京都東"), ("좋아해요", "좋아해요좋"), ("x1", "x1x1")]
        {
            let text = text.repeat(1000);
            let found = snippet(&text, &Query::parse(asked), 200);
            assert!(found.text.len() <= 200 + 2 * '…'.len_utf8(), "{} bytes of {asked}", found.text.len());
            let marked = found.highlights.iter().map(|(from, to)| to - from).sum::<usize>();
            assert!(text.starts_with('x') || marked > 100, "{marked} bytes are marked of {asked}");
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
