//! Where words are: finds the message that a sentence has most in common with. Goes in: the material, then sentences of
//! anybody. Comes out: places.

use super::cues::Cues;
use super::words::words;
use crate::summary::Material;
use threadkeep_core::sort;

/// Which words are in which messages and carried statements.
pub(crate) struct Places {
    /// Stem and place, sorted, each once. Carried statements come behind the messages.
    words: Vec<(u32, u32)>,
    cues: Cues,
}

impl Places {
    /// Of all messages and carried statements.
    pub fn of(material: &Material) -> Self {
        let cues = Cues::new();
        let mut found = Vec::new();
        let mut add = |text: &str, place: usize| {
            words(text, &mut |word| {
                if !cues.is_stop(&word) {
                    found.push((word.stem, place as u32));
                }
            });
        };
        for (place, piece) in material.pieces.iter().enumerate() {
            add(&piece.message.text(), place);
        }
        for (at, statement) in material.carried.iter().enumerate() {
            add(&statement.text, material.pieces.len() + at);
        }
        sort::sort(&mut found);
        found.dedup();
        Self { words: found, cues }
    }

    /// The place that shares most with a text, words in few places counting more; `None` where none shares `least` words.
    pub fn nearest(&self, text: &str, least: u32) -> Option<usize> {
        let mut votes: Vec<(u32, u32)> = Vec::new();
        words(text, &mut |word| {
            let from = self.words.partition_point(|known| known.0 < word.stem);
            let here = self.words[from..].iter().take_while(|known| known.0 == word.stem);
            let count = here.clone().count() as u32;
            // A word that is everywhere tells nothing, and would take long.
            if (1..64).contains(&count) && !self.cues.is_stop(&word) {
                votes.extend(here.map(|(_, place)| (*place, 1024 / count)));
            }
        });
        sort::sort(&mut votes);
        let mut best: Option<(u32, u32)> = None;
        for of_one in votes.chunk_by(|a, b| a.0 == b.0) {
            let sum = of_one.iter().map(|(_, vote)| vote).sum();
            if of_one.len() >= least as usize && best.is_none_or(|(most, _)| sum > most) {
                best = Some((sum, of_one[0].0));
            }
        }
        best.map(|(_, place)| place as usize)
    }
}
