//! The threads list without its looks: which transcripts a filter leaves, and in which order. Transcripts in, positions
//! in that list out.

use std::cmp::Reverse;
use std::collections::BTreeSet;

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

/// A kind of threads, which the list can show alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// The source; any where it is empty.
    pub source: String,
    /// The model, one of those that answered; any where it is empty.
    pub model: String,
    /// Whether there must be branches.
    pub branched: bool,
    /// Whether there must be images.
    pub pictured: bool,
}

impl Filter {
    fn leaves(&self, words: &[String], info: &ThreadInfo) -> bool {
        let kind = (self.source.is_empty() || self.source == info.source)
            && (self.model.is_empty() || info.models.contains(&self.model))
            && (!self.branched || info.branches > 1)
            && (!self.pictured || info.images > 0);
        if !kind || words.is_empty() {
            return kind;
        }
        let text = format::lower(&format!("{} {}", title(info), format::source(&info.source)));
        words.iter().all(|word| text.contains(word.as_str()))
    }
}

/// The positions of the transcripts of a kind that have all words of `query` in title or source, in any case, in order. Equal ones keep their
/// order.
pub fn arrange(all: &[ThreadInfo], query: &str, filter: &Filter, sort: Sort) -> Vec<usize> {
    let words: Vec<String> = query.split_whitespace().map(format::lower).collect();
    // One key for every order, so that sorting is compiled once: what is more, then the title.
    let mut kept: Vec<(Reverse<i64>, String, usize)> = Vec::new();
    for (at, info) in all.iter().enumerate().filter(|(_, info)| filter.leaves(&words, info)) {
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

/// The kinds of archives that the threads come from, each once.
pub fn sources(all: &[ThreadInfo]) -> Vec<String> {
    each_once(all.iter().map(|info| &info.source))
}

/// The models that answered in the threads, each once.
pub fn models(all: &[ThreadInfo]) -> Vec<String> {
    each_once(all.iter().flat_map(|info| &info.models))
}

fn each_once<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let names: BTreeSet<&String> = names.filter(|name| !name.is_empty()).collect();
    names.into_iter().cloned().collect()
}

/// Dates as the reader's clock has them.
pub trait Calendar {
    /// When the day of a time began.
    fn day(&self, time: i64) -> i64;
    /// When the month of a time began, its year, and its place in the year, from 0.
    fn month(&self, time: i64) -> (i64, u32, u32);
}

/// A heading in the list, above the row `at`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The row below it.
    pub at: usize,
    /// What it says.
    pub words: String,
}

/// The headings above rows whose times are `times`, the newest first: days of late, then months.
pub fn headings(times: impl IntoIterator<Item = Option<i64>>, now: i64, calendar: &impl Calendar) -> Vec<Heading> {
    const DAY: i64 = 86_400_000;
    let today = calendar.day(now);
    let late =
        [(today, "Today"), (calendar.day(today - 1), "Yesterday"), (calendar.day(today - 6 * DAY), "Last 7 days")];
    let mut headings: Vec<Heading> = Vec::new();
    // From when on the last heading holds; nothing is older than no time.
    let mut from = None;
    for (at, time) in times.into_iter().enumerate() {
        let time = time.unwrap_or(i64::MIN);
        if from.is_some_and(|from| time >= from) {
            continue;
        }
        let (begins, words) = match late.into_iter().find(|(begins, _)| time >= *begins) {
            Some((begins, words)) => (begins, words.to_owned()),
            None if time == i64::MIN => (i64::MIN, "No date".to_owned()),
            None => {
                let (begins, year, month) = calendar.month(time);
                (begins, format::month(year, month))
            }
        };
        from = Some(begins);
        headings.push(Heading { at, words });
    }
    headings
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
            models: if messages == 5 { vec!["gpt-4o".into(), title.into()] } else { Vec::new() },
            images: u32::from(source == "claude"),
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
        let ordered = |sort| arrange(&some(), "", &Filter::default(), sort);
        assert_eq!(ordered(Sort::Newest), [1, 3, 0, 2]);
        assert_eq!(ordered(Sort::Title), [3, 1, 2, 0]);
        assert_eq!(ordered(Sort::Messages), [1, 2, 0, 3]);
        assert_eq!(ordered(Sort::Branches), [3, 1, 2, 0]);
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
        let words = |query| arrange(&some(), query, &Filter::default(), Sort::Newest);
        assert_eq!(words("ÖL"), [0]);
        assert_eq!(words("chatgpt"), [0, 2]);
        assert_eq!(words("bread claude"), [1]);
        assert_eq!(words("bread chatgpt"), [] as [usize; 0]);
        assert_eq!(words("untitled"), [2]);
    }

    #[test]
    fn filters_by_source_model_branches_and_images() {
        let filtered = |filter: Filter| arrange(&some(), "", &filter, Sort::Newest);
        let branched = || Filter { branched: true, ..Filter::default() };
        assert_eq!(filtered(Filter { source: "chatgpt".into(), ..Filter::default() }), [0, 2]);
        assert_eq!(filtered(Filter { source: "chat".into(), ..Filter::default() }), [] as [usize; 0]);
        assert_eq!(filtered(Filter { model: "gpt-4o".into(), ..Filter::default() }), [3, 0]);
        assert_eq!(filtered(Filter { model: "gpt-4o".into(), ..branched() }), [3]);
        assert_eq!(filtered(Filter { pictured: true, ..Filter::default() }), [1]);
        assert_eq!(filtered(branched()), [1, 3, 2]);
        assert_eq!(arrange(&some(), "apples", &branched(), Sort::Newest), [3]);
        assert_eq!((sources(&some()), models(&some()).len()), (vec!["chatgpt".into(), "claude".into()], 3));
    }

    /// A calendar whose months all have thirty days.
    struct Even;

    const DAY: i64 = 86_400_000;

    impl Calendar for Even {
        fn day(&self, time: i64) -> i64 {
            time.div_euclid(DAY) * DAY
        }

        fn month(&self, time: i64) -> (i64, u32, u32) {
            let month = time.div_euclid(30 * DAY);
            (month * 30 * DAY, 2_000 + (month / 12) as u32, (month % 12) as u32)
        }
    }

    fn said(times: &[Option<i64>], now: i64) -> Vec<(usize, String)> {
        headings(times.iter().copied(), now, &Even).into_iter().map(|Heading { at, words }| (at, words)).collect()
    }

    #[test]
    fn threads_stand_below_days_of_late_and_months() {
        let now = 400 * DAY + 5;
        let times =
            [now, now - 4, now - 6, now - 3 * DAY, now - 6 * DAY, now - 8 * DAY, now - 40 * DAY, now - 390 * DAY];
        let mut times = times.map(Some).to_vec();
        times.push(None);
        let found = said(&times, now);
        let found: Vec<_> = found.iter().map(|(at, words)| (*at, words.as_str())).collect();
        let expected = [
            (0, "Today"),
            (2, "Yesterday"),
            (3, "Last 7 days"),
            (5, "February 2001"),
            (6, "January 2001"),
            (7, "January 2000"),
            (8, "No date"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn times_ahead_of_the_clock_are_of_today() {
        assert_eq!(said(&[Some(i64::MAX), Some(50 * DAY)], 40 * DAY), [(0, "Today".to_owned())]);
        assert_eq!(said(&[], 0), []);
        assert_eq!(said(&[None], 0), [(0, "No date".to_owned())]);
    }

    #[test]
    fn names_of_orders_come_back() {
        for sort in Sort::ALL {
            assert_eq!(Sort::of(sort.key()), sort);
        }
        assert_eq!(Sort::of("?"), Sort::Newest);
    }
}
