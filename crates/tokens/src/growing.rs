//! Counting a text while it grows, as a model's answer does: what cannot change any more is counted once.

use crate::Bpe;

/// The count of a text that comes in bits. It is the whole text's count at every step; only what follows the last place at
/// which the text can safely be cut (usually the last word) is counted again. That is little in any text that people or models
/// write; only a text without any such place, a million times the same letter say, is counted from the start each time.
///
/// ```
/// use threadkeep_tokens::{Bpe, Encoding, Growing};
/// let bpe = Bpe::embedded(Encoding::O200k);
/// let mut growing = Growing::new();
/// assert_eq!(growing.push(&bpe, "The answer is to"), 4);
/// assert_eq!(growing.push(&bpe, "morrow."), 5);
/// assert_eq!(growing.count(), bpe.count("The answer is tomorrow."));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Growing {
    /// The count of all that lies before `tail`.
    settled: u32,
    /// What may still be split otherwise when more comes.
    tail: String,
    tail_count: u32,
}

impl Growing {
    /// An empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends to the text, and returns the count of all of it. Use one vocabulary from the first step to the last.
    pub fn push(&mut self, bpe: &Bpe, more: &str) -> u32 {
        self.tail.push_str(more);
        let cut = bpe.last_cut(&self.tail);
        if cut > 0 {
            let (before, after) = self.tail.split_at(cut);
            self.settled = self.settled.saturating_add(bpe.count(before));
            self.tail = after.to_owned();
        }
        self.tail_count = bpe.count(&self.tail);
        self.count()
    }

    /// The count of the text so far.
    pub fn count(&self) -> u32 {
        self.settled.saturating_add(self.tail_count)
    }
}
