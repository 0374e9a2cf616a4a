//! The threads list without its looks: which transcripts a filter leaves, and in which order. Transcripts in, positions
//! in that list out.

use std::cmp::Reverse;

use crate::format;
use crate::wire::ThreadInfo;

/// The order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The one that changed last comes first.
    #[default]
    Newest,
    /// By title, without regard to case.
    Title,
    /// Most messages first.
    Messages,
    /// Most branches first.
    Branches,
}

impl Sort {
    /// All orders, as a menu lists them.
    pub const ALL: [Self; 4] = [Self::Newest, Self::Title, Self::Messages, Self::Branches];

    /// Its name in a menu.
    pub fn label(self) -> &'static str {
        match self {
            Self::Newest => "Newest",
            Self::Title => "Title",
            Self::Messages => "Most messages",
            Self::Branches => "Most branches",
        }
    }

    /// Its name in storage and markup.
    pub fn key(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Title => "title",
            Self::Messages => "messages",
            Self::Branches => "branches",
        }
    }

    /// The order of that name; the newest first for any other text.
    pub fn of(key: &str) -> Self {
        Self::ALL.into_iter().find(|sort| sort.key() == key).unwrap_or_default()
    }
}

/// What a list shows for a transcript without a title.
pub const UNTITLED: &str = "Untitled";

/// The title to show.
pub fn title(info: &ThreadInfo) -> &str {
    let title = info.title.trim();
    if title.is_empty() { UNTITLED } else { title }
}

/// A mark of a thread in the list: a sign with a short text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Its class in markup.
    pub class: &'static str,
    /// Its sign.
    pub sign: &'static str,
    /// The text beside the sign.
    pub text: String,
    /// What follows the text for screen readers.
    pub noun: &'static str,
    /// What it says when it is pointed at.
    pub title: String,
}

impl Mark {
    fn count(class: &'static str, sign: &'static str, number: u32, one: &str, noun: &'static str) -> Self {
        let title = format::plural(number.into(), one);
        Self { class, sign, text: format::count(number.into()), noun, title }
    }
}

/// The marks of a thread, in the order in which its row shows them.
pub fn marks(info: &ThreadInfo) -> Vec<Mark> {
    let mut marks = vec![Mark::count("messages", "message", info.messages, "message", "messages")];
    if info.branches > 1 {
        marks.push(Mark::count("branches", "map", info.branches, "branch", "branches"));
    }
    marks
}

/// The positions of the transcripts whose title or source has every word of `query` in it (in any case), in order.
/// Equal ones keep their order.
pub fn arrange(all: &[ThreadInfo], query: &str, sort: Sort) -> Vec<usize> {
    let words: Vec<String> = query.split_whitespace().map(format::lower).collect();
    let matches = |info: &ThreadInfo| {
        if words.is_empty() {
            return true;
        }
        let text = format::lower(&format!("{} {}", title(info), format::source(&info.source)));
        words.iter().all(|word| text.contains(word.as_str()))
    };
    // One key for every order, so that sorting is compiled once: what is more, then the title.
    let mut kept: Vec<(Reverse<i64>, String, usize)> = Vec::new();
    for (at, info) in all.iter().enumerate().filter(|(_, info)| matches(info)) {
        let more = match sort {
            Sort::Newest => info.updated_at.unwrap_or(i64::MIN),
            Sort::Title => 0,
            Sort::Messages => info.messages.into(),
            Sort::Branches => (i64::from(info.branches) << 32) | i64::from(info.messages),
        };
        let name = if sort == Sort::Title { format::lower(title(info)) } else { String::new() };
        kept.push((Reverse(more), name, at));
    }
    kept.sort_unstable();
    kept.into_iter().map(|(_, _, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::signs;
    use threadkeep_core::TranscriptId;

    fn some() -> Vec<ThreadInfo> {
        let one = |title: &str, source: &str, updated_at, messages, branches| ThreadInfo {
            id: TranscriptId::new("x").unwrap(),
            title: title.into(),
            source: source.into(),
            updated_at,
            messages,
            branches,
            leaf: None,
        };
        vec![
            one("Ölmalerei", "chatgpt", Some(10), 5, 1),
            one("baking bread", "claude", Some(30), 50, 2),
            one("", "chatgpt", None, 7, 2),
            one("Apples", "", Some(20), 5, 9),
        ]
    }

    #[test]
    fn orders() {
        assert_eq!(arrange(&some(), "", Sort::Newest), [1, 3, 0, 2]);
        assert_eq!(arrange(&some(), "", Sort::Title), [3, 1, 2, 0]);
        assert_eq!(arrange(&some(), "", Sort::Messages), [1, 2, 0, 3]);
        assert_eq!(arrange(&some(), "", Sort::Branches), [3, 1, 2, 0]);
    }

    #[test]
    fn a_thread_is_marked_with_what_it_holds() {
        let marked = |at: usize| marks(&some()[at]).iter().map(|mark| mark.title.clone()).collect::<Vec<_>>();
        assert_eq!(marked(0), ["5 messages"]);
        assert_eq!(marked(1), ["50 messages", "2 branches"]);
        for Mark { sign, .. } in some().iter().flat_map(marks) {
            assert_ne!(signs::path(sign), signs::path("no such sign"), "signs.rs has no {sign}");
        }
    }

    #[test]
    fn filters_by_every_word_in_title_or_source() {
        assert_eq!(arrange(&some(), "ÖL", Sort::Newest), [0]);
        assert_eq!(arrange(&some(), "chatgpt", Sort::Newest), [0, 2]);
        assert_eq!(arrange(&some(), "bread claude", Sort::Newest), [1]);
        assert_eq!(arrange(&some(), "bread chatgpt", Sort::Newest), [] as [usize; 0]);
        assert_eq!(arrange(&some(), "untitled", Sort::Newest), [2]);
    }

    #[test]
    fn names_of_orders_come_back() {
        for sort in Sort::ALL {
            assert_eq!(Sort::of(sort.key()), sort);
        }
        assert_eq!(Sort::of("?"), Sort::Newest);
    }
}
