//! The baseline: BM25 over stemmed words without stop words (k1 1.2, b 0.75), nothing else. It shares no code with the ranking of the crate:
//! with all features off, that has the same figures.

use std::collections::HashMap;

use threadkeep_recall::{Language, words};

use crate::questions::{Set, terms};

pub struct Plain {
    docs: Vec<HashMap<String, f64>>,
    lengths: Vec<f64>,
    counts: HashMap<String, f64>,
}

impl Plain {
    pub fn of(set: &Set) -> Self {
        let mut plain = Self { docs: Vec::new(), lengths: Vec::new(), counts: HashMap::new() };
        for said in &set.messages {
            let terms = terms(&said.text);
            plain.lengths.push(terms.len() as f64);
            let mut doc = HashMap::new();
            terms.into_iter().for_each(|term| *doc.entry(term).or_insert(0.0) += 1.0);
            doc.keys().for_each(|term| *plain.counts.entry(term.clone()).or_insert(0.0) += 1.0);
            plain.docs.push(doc);
        }
        plain
    }

    pub fn find(&self, question: &str, limit: usize) -> Vec<usize> {
        let (k1, b) = (1.2, 0.75);
        let count = self.docs.len() as f64;
        let mean = self.lengths.iter().sum::<f64>() / count;
        let mut asked = asked(question);
        asked.sort_unstable();
        asked.dedup();
        let score = |at: usize| -> f64 {
            let weigh = |term: &String| {
                let often = self.docs[at].get(term)?;
                let having = self.counts[term];
                let weight = (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
                Some(weight * often * (k1 + 1.0) / (often + k1 * (1.0 - b + b * self.lengths[at] / mean)))
            };
            asked.iter().filter_map(weigh).sum()
        };
        let mut ranked: Vec<(f64, usize)> = (0..self.docs.len()).map(|at| (score(at), at)).collect();
        ranked.retain(|(score, _)| *score > 0.0);
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().take(limit).map(|(_, at)| at).collect()
    }
}

/// The terms of a question without small words, or all if it has no others.
fn asked(question: &str) -> Vec<String> {
    let mut left = String::new();
    words(question, &mut |word| {
        if !Language::English.is_stop_word(word.text) {
            left.push_str(word.text);
            left.push(' ');
        }
    });
    terms(if left.is_empty() { question } else { &left })
}
