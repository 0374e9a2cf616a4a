//! The index finds exactly what a naive scan of the texts finds, whatever was added, merged and removed in which order.

use std::collections::BTreeSet;

use proptest::prelude::*;
use threadkeep_recall::{Builder, Clause, Filter, Index, Language, NewDoc, Picked, Query, Segment, merge, words};

/// A text as terms with positions, by the public analysis.
fn terms(text: &str) -> Vec<(String, u32)> {
    let language = Language::guess(text);
    let mut found = Vec::new();
    words(text, &mut |word| {
        let mut term = String::new();
        language.term(word.text, &mut term);
        found.push((term, word.position));
    });
    found
}

/// Whether a clause holds for a text, told without an index.
fn holds(clause: &Clause, query: &Query, text: &str, languages: u32) -> bool {
    let terms = terms(text);
    let at = |slot: &threadkeep_recall::Slot, term: &str| {
        let begins = || term.starts_with(&slot.folded()) || slot.stems().any(|stem| stem == term);
        query.terms(slot, languages).iter().any(|own| own == term) || slot.prefix && begins()
    };
    let first = &clause.slots[0];
    terms.iter().filter(|(term, _)| at(first, term)).any(|(_, begin)| {
        clause.slots.iter().all(|slot| {
            let wanted = begin + slot.offset - first.offset;
            terms.iter().any(|(term, position)| *position == wanted && at(slot, term))
        })
    })
}

fn matches(query: &Query, text: &str, languages: u32) -> bool {
    let (required, rest): (Vec<_>, Vec<_>) =
        query.clauses.iter().partition(|clause| clause.required || clause.excluded);
    let passed = required.iter().all(|clause| holds(clause, query, text, languages) != clause.excluded);
    let some = required.iter().any(|clause| !clause.excluded)
        || rest.iter().any(|clause| holds(clause, query, text, languages));
    passed && some
}

#[derive(Debug, Clone)]
enum Step {
    Add(Vec<(usize, String)>),
    Remove(usize),
    Merge(usize, usize),
    Reopen,
}

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "run",
        "running",
        "runs",
        "parse_url",
        "parseUrl",
        "url",
        "the",
        "der",
        "die",
        "und",
        "Häuser",
        "haus",
        "café",
        "cafe",
        "東京都",
        "京都",
        "250ms",
        "config",
        "configuration",
        "a/b/c.rs",
        "1,000",
        "nicht",
        "ist",
        "x",
    ]);
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec((0usize..4, text()), 1..5).prop_map(Step::Add),
        1 => (0usize..4).prop_map(Step::Remove),
        2 => (0usize..6, 0usize..6).prop_map(|(a, b)| Step::Merge(a, b)),
        1 => Just(Step::Reopen),
    ]
}

fn query() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "run",
        "running",
        "parseUrl",
        "url",
        "haus",
        "Häuser",
        "cafe",
        "東京",
        "京",
        "都",
        "250ms",
        "ms",
        "conf*",
        "configurati*",
        "\"running url\"",
        "\"parse url\"",
        "\"der haus\"",
        "\"東京都\"",
        "-run",
        "-\"京都\"",
        "b/c.rs",
        "1000",
        "\"a b c\"",
        "und",
        "x*",
    ]);
    prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.join(" "))
}

type Model = Vec<(usize, u64, String)>;

fn build(docs: &[(usize, u64, String)]) -> Segment {
    let mut builder = Builder::default();
    for (owner, seq, text) in docs {
        let owner = format!("t{owner}");
        builder.add(&NewDoc {
            owner: &owner,
            seq: *seq,
            index: 0,
            role: 1,
            kind: 0,
            time: 0,
            before: None,
            text,
            names: &[],
        });
    }
    builder.finish()
}

/// The index after `steps`, and what should be in it.
fn carry_out(steps: &[Step]) -> (Vec<Segment>, Model, u32) {
    let (mut segments, mut model, mut seq): (Vec<Segment>, Model, u64) = (Vec::new(), Vec::new(), 0);
    // Those of all texts that ever were: a query's words are stemmed in each.
    let mut languages = 0;
    for step in steps {
        match step {
            Step::Add(docs) => {
                let docs: Vec<_> =
                    docs.iter().zip(seq..).map(|((owner, text), seq)| (*owner, seq, text.clone())).collect();
                seq += docs.len() as u64;
                docs.iter().for_each(|(.., text)| languages |= 1 << Language::guess(text) as u32);
                segments.push(build(&docs));
                model.extend(docs);
            }
            Step::Remove(owner) => {
                let name = format!("t{owner}");
                let keep =
                    |segment: &Segment, doc: &threadkeep_recall::Doc| segment.owners()[doc.owner as usize] != name;
                segments = segments.iter().map(|segment| merge(&[Picked { segment, keep: &keep }])).collect();
                model.retain(|(other, ..)| other != owner);
            }
            Step::Merge(a, b) if a != b && *a < segments.len() && *b < segments.len() => {
                let keep = |_: &Segment, _: &threadkeep_recall::Doc| true;
                let merged = merge(&[*a, *b].map(|at| Picked { segment: &segments[at], keep: &keep }));
                segments.push(merged);
                segments.swap_remove((*a).max(*b));
                segments.swap_remove((*a).min(*b));
            }
            Step::Merge(..) => {}
            Step::Reopen => {
                segments = segments.iter().map(|segment| Segment::read(segment.bytes().to_vec()).unwrap()).collect();
            }
        }
    }
    (segments, model, languages)
}

fn found(segments: Vec<Segment>, query: &Query) -> Vec<(String, u64, f32)> {
    let index = Index::of(segments);
    let found = index.find(query, &Filter::default(), usize::MAX);
    found.iter().map(|found| (found.owner.to_owned(), found.doc.seq, found.score)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_index_finds_what_a_scan_finds(steps in prop::collection::vec(step(), 1..12), words in query()) {
        let (segments, model, languages) = carry_out(&steps);
        let query = Query::parse(&words);
        let expected: BTreeSet<(String, u64)> =
            model.iter().filter(|(.., text)| matches(&query, text, languages)).map(|(owner, seq, _)| (format!("t{owner}"), *seq)).collect();
        let ranked = found(segments.clone(), &query);
        let got: BTreeSet<(String, u64)> = ranked.iter().map(|(owner, seq, _)| (owner.clone(), *seq)).collect();
        prop_assert_eq!(got, expected, "{}", words);
        // How documents are spread over segments makes no difference, and neither does reopening.
        let reopened = segments.iter().map(|segment| Segment::read(segment.bytes().to_vec()).unwrap()).collect();
        prop_assert_eq!(&found(reopened, &query), &ranked);
        // The languages that a query is stemmed in are those that were ever seen, so only these are compared.
        if model.len() == segments.iter().map(|segment| segment.docs().len()).sum::<usize>() && !steps.iter().any(|step| matches!(step, Step::Remove(_))) {
            prop_assert_eq!(&found(vec![build(&model)], &query), &ranked);
        }
    }

    #[test]
    fn what_was_removed_is_in_no_byte(steps in prop::collection::vec(step(), 0..6)) {
        let marker = "zyxwvut";
        let mut steps = steps;
        steps.push(Step::Add(vec![(9, format!("{marker} run")), (1, "run".to_owned())]));
        steps.push(Step::Remove(9));
        let (segments, ..) = carry_out(&steps);
        for segment in &segments {
            prop_assert!(!String::from_utf8_lossy(segment.bytes()).contains("zyxw"));
        }
    }

    #[test]
    fn any_text_can_be_indexed_and_asked(texts in prop::collection::vec("\\PC{0,60}", 0..6), words in "\\PC{0,30}") {
        let docs: Vec<_> = texts.into_iter().zip(0..).map(|(text, seq)| (0, seq, text)).collect();
        let _ = found(vec![build(&docs)], &Query::parse(&words));
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..400, value: u8) {
        let _ = Segment::read(bytes);
        let sound = build(&[(0, 0, "running the url in 東京都".into()), (1, 1, "run url run".into())]);
        let mut damaged = sound.bytes().to_vec();
        let len = damaged.len();
        damaged[at % len] = value;
        if let Ok(segment) = Segment::read(damaged) {
            for words in ["run*", "\"run url\"", "東京 url"] {
                let _ = found(vec![segment.clone()], &Query::parse(words));
            }
            let keep = |_: &Segment, _: &threadkeep_recall::Doc| true;
            let _ = merge(&[Picked { segment: &segment, keep: &keep }, Picked { segment: &sound, keep: &keep }]);
        }
    }
}
