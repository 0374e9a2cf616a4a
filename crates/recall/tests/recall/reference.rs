//! With all features off except stems and stop words, the ranking is that of an independent BM25.

use std::collections::HashMap;

use proptest::prelude::*;
use threadkeep_recall::{Builder, Filter, Index, Language, NewDoc, Query, Tuning};

/// BM25 as the books have it, in double precision, over English stems.
fn reference(texts: &[String], query: &str) -> Vec<f64> {
    let terms = |text: &str| -> Vec<String> {
        let stem = |word: &str| {
            let mut term = String::new();
            Language::English.term(word, &mut term);
            term
        };
        text.split(' ').filter(|word| !word.is_empty()).map(stem).collect()
    };
    let docs: Vec<Vec<String>> = texts.iter().map(|text| terms(text)).collect();
    let (count, mean) = (docs.len() as f64, docs.iter().map(Vec::len).sum::<usize>() as f64 / docs.len() as f64);
    let mut asked: Vec<&str> = query.split(' ').filter(|word| !Language::English.is_stop_word(word)).collect();
    asked.sort_unstable();
    asked.dedup();
    let mut scores = vec![0.0; docs.len()];
    for term in asked.into_iter().flat_map(terms) {
        let often: Vec<f64> = docs.iter().map(|doc| doc.iter().filter(|word| **word == term).count() as f64).collect();
        let having = often.iter().filter(|often| **often > 0.0).count() as f64;
        let weight = (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
        for ((score, often), doc) in scores.iter_mut().zip(often).zip(&docs) {
            *score += weight * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * doc.len() as f64 / mean));
        }
    }
    scores
}

proptest! {
    #[test]
    fn with_all_features_off_scores_are_those_of_bm25(
        texts in prop::collection::vec(prop::collection::vec("kettles?|tea|pots?|boil(ed|ing)?|the|and|garden|rain(s|ed)?", 1..30), 1..20),
        query in prop::collection::vec("kettle|tea|pot|boil|garden|rain|where|the", 1..5),
    ) {
        let texts: Vec<String> = texts.iter().map(|words| words.join(" ")).collect();
        let query = format!("{} tea", query.join(" "));
        let mut builder = Builder::default();
        for (seq, text) in (0u64..).zip(&texts) {
            let before = seq.checked_sub(1).map(|seq| (seq, 0));
            builder.add(&NewDoc { owner: "t", seq, index: 0, role: 1 + (seq % 2) as u8, kind: 0, time: 0, before, text, names: &[] });
        }
        let index = Index::tuned(vec![builder.finish().into()], Tuning::plain());
        let found: HashMap<u64, f32> =
            index.find(&Query::parse(&query), &Filter::default(), usize::MAX).iter().map(|found| (found.doc.seq, found.score)).collect();
        for (seq, expected) in (0u64..).zip(reference(&texts, &query)) {
            let got = f64::from(found.get(&seq).copied().unwrap_or_default());
            prop_assert!((got - expected).abs() <= 1e-4 * expected.max(1.0), "{}: {} instead of {}", seq, got, expected);
        }
    }
}
