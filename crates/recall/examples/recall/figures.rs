//! What is measured: of each question the share of its evidence among the first 1, 5, 10 and 20, and one over the rank of the first.

use threadkeep_recall::{Filter, Language, Query, Tuning};

use crate::bootstrap;
use crate::meaning;
use crate::plain::Plain;
use crate::questions::Set;

/// Recall at 1, 5, 10 and 20, and the reciprocal rank, each from 0 to 1.
pub type Figures = [f64; 5];
/// How many of [`Figures`] are at 10.
pub const AT_10: usize = 2;

/// A way to search.
#[derive(Clone, Copy)]
pub enum Way {
    /// The independent BM25.
    Plain,
    /// Ours by these figures; with stop words kept or forms not joined for comparison.
    Ours { tuning: Tuning, stop_words: bool, forms: bool },
    /// By the vectors of `THREADKEEP_VECTORS`, with ours joined or alone.
    Meaning { words: bool },
}

/// All ways that are printed, with their names: the baseline, ours with nothing on, ours without each feature, ours, and with vectors
/// where there are some.
pub fn ways() -> Vec<(&'static str, Way)> {
    let all = Tuning::default();
    let ours = |tuning| Way::Ours { tuning, stop_words: false, forms: true };
    let mut ways = vec![
        ("plain BM25 (reference)", Way::Plain),
        ("ours, all features off", Way::Ours { tuning: Tuning::plain(), stop_words: false, forms: false }),
        ("without: stop words left out", Way::Ours { tuning: all, stop_words: true, forms: true }),
        ("without: irregular forms", Way::Ours { tuning: all, stop_words: false, forms: false }),
        ("without: words of neighbours", ours(Tuning { near: [0.0; 4], answer: 0, ..all })),
        ("without: own words on top", ours(Tuning { own: 0.0, ..all })),
        ("without: sessions", ours(Tuning { session: 0.0, ..all })),
        ("without: closeness", ours(Tuning { closeness: 0.0, ..all })),
        ("without: the user's weight", ours(Tuning { user: 1.0, ..all })),
        ("without: times", ours(Tuning { time: 0.0, ..all })),
        (OURS, ours(all)),
    ];
    if meaning::vectors().is_some() {
        ways.push(("ours with vectors", Way::Meaning { words: true }));
        ways.push(("vectors alone", Way::Meaning { words: false }));
    }
    ways
}

/// The name of the way that the engine takes.
pub const OURS: &str = "ours";

/// The figures of each question of a set.
pub fn measure(set: &Set, way: Way) -> Vec<Figures> {
    match way {
        Way::Plain => {
            let plain = Plain::of(set);
            set.questions.iter().map(|question| of(&plain.find(&question.text, 20), &question.evidence)).collect()
        }
        Way::Meaning { words } => {
            let ask = meaning::searcher(set);
            set.questions.iter().map(|question| of(&ask(&question.text, words), &question.evidence)).collect()
        }
        Way::Ours { tuning, stop_words, forms } => {
            let index = set.index(tuning);
            let ask = |text: &str| -> Vec<usize> {
                let mut query = Query::parse(text);
                if stop_words {
                    query = with_stop_words(text);
                }
                // The reference knows no identifiers that are looked for as a whole.
                if tuning == Tuning::plain() {
                    query.clauses.retain(|clause| clause.slots.len() == 1);
                }
                query.clauses.iter_mut().flat_map(|clause| &mut clause.slots).for_each(|slot| slot.forms &= forms);
                let found = index.find(&query, &Filter::default(), 20);
                found.iter().map(|found| found.doc.seq as usize).collect()
            };
            set.questions.iter().map(|question| of(&ask(&question.text), &question.evidence)).collect()
        }
    }
}

/// A query that looks for all of its words: the small ones are asked alone, where none is left out.
fn with_stop_words(text: &str) -> Query {
    let mut query = Query::parse(text);
    for word in text.split_whitespace().map(str::to_lowercase) {
        if Language::English.is_stop_word(word.trim_matches(|c: char| !c.is_alphanumeric())) {
            let small = Query::parse(&word).clauses.into_iter().filter(|clause| !query.clauses.contains(clause));
            let small: Vec<_> = small.collect();
            query.clauses.extend(small);
        }
    }
    query
}

fn of(found: &[usize], evidence: &[usize]) -> Figures {
    let share = |k: usize| {
        let hit = evidence.iter().filter(|at| found[..found.len().min(k)].contains(at)).count();
        hit as f64 / evidence.len() as f64
    };
    let first = found.iter().position(|at| evidence.contains(at)).map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
    [share(1), share(5), share(10), share(20), first]
}

fn column(all: &[Figures], at: usize) -> Vec<f64> {
    all.iter().map(|figures| figures[at]).collect()
}

/// The mean of one figure in percent.
pub fn mean(all: &[Figures], at: usize) -> f64 {
    bootstrap::mean(&column(all, at))
}

/// The interval of one figure, as [`bootstrap::interval`] has it.
pub fn interval(all: &[Figures], at: usize) -> (f64, f64) {
    bootstrap::interval(&column(all, at))
}
