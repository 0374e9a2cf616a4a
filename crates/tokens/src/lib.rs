//! Exact token counts for OpenAI's vocabularies o200k_base and cl100k_base.
//!
//! Goes in: a vocabulary (a [merge list](Bpe::load), or with the feature `vocabulary` the embedded one) and text. Comes out: how many
//! tokens the text takes, or which; equal to the reference tokenizer on any text, with what spells a special token taken
//! as the letters it is. Left to others: fetching and unpacking the vocabulary, and what a message costs around its text.
//!
//! How it works: text is cut into pieces as the vocabulary's split pattern says (`split`, by hand, 64 ASCII
//! characters at a time). Most pieces are a token; that is one look into a table by length (`pieces`, `vocabulary`). Other short ones
//! are merged as the encoding is defined (`queue`), longer ones encoded by taking the longest token that fits and going back
//! where two neighbours could not stand side by side (`encode`). That method is due to the crate `bpe` of GitHub's rust-gems
//! (MIT); it takes linear time, whatever the text.

mod classes;
mod encode;
mod encoding;
mod growing;
mod lengths;
mod merges;
mod pieces;
mod queue;
mod split;
mod table;
mod vocabulary;

use std::sync::{Mutex, PoisonError, TryLockError};

pub use encoding::Encoding;
pub use growing::Growing;
pub use vocabulary::{LoadError, checksum};

use classes::Classes;
use pieces::Pieces;
use vocabulary::Vocabulary;

/// A vocabulary, ready to count. Loading takes some 25 ms and 13 MB (in wasm): load once and share it.
///
/// ```
/// use threadkeep_tokens::{Bpe, Encoding};
/// let bpe = Bpe::embedded(Encoding::O200k);
/// assert_eq!(bpe.count("hello world"), 2);
/// assert_eq!(bpe.encode("hello world"), [24912, 2375]);
/// assert_eq!(bpe.count("<|endoftext|>"), 7);
/// ```
pub struct Bpe {
    encoding: Encoding,
    classes: Classes,
    vocabulary: Vocabulary,
    /// What was learned from earlier texts. A second thread that counts at the same time does without.
    memory: Mutex<Pieces>,
}

impl Bpe {
    /// Reads a vocabulary: the asset `o200k_base.gz` or `cl100k_base.gz`, unpacked.
    ///
    /// # Errors
    /// [`LoadError`] when the bytes are not exactly those of that encoding's asset.
    pub fn load(encoding: Encoding, asset: &[u8]) -> Result<Self, LoadError> {
        let (vocabulary, classes) = vocabulary::read(encoding, asset)?;
        Ok(Self { encoding, classes, vocabulary, memory: Mutex::new(Pieces::new()) })
    }

    /// The vocabulary that is part of the binary, with the feature `vocabulary`.
    #[cfg(feature = "vocabulary")]
    pub fn embedded(encoding: Encoding) -> Self {
        let packed: &[u8] = match encoding {
            Encoding::O200k => include_bytes!("../vocabulary/o200k_base.gz"),
            Encoding::Cl100k => include_bytes!("../vocabulary/cl100k_base.gz"),
        };
        // The asset was made by our own command: ten bytes of header without optional fields, then the stream.
        let asset = miniz_oxide::inflate::decompress_to_vec(packed.get(10..).unwrap_or_default());
        let loaded = asset.map_err(|_| LoadError::Damaged).and_then(|asset| Self::load(encoding, &asset));
        match loaded {
            Ok(bpe) => bpe,
            // Not input but part of this crate, and every test reads it.
            Err(error) => unreachable!("the embedded vocabulary: {error}"),
        }
    }

    /// Which vocabulary this is.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// How many tokens `text` takes as plain text (a text of 4 GiB or more may count as `u32::MAX`).
    pub fn count(&self, text: &str) -> u32 {
        self.count_bytes(text.as_bytes())
    }

    /// As [`Bpe::count`], for UTF-8 that the caller vouches for. Bytes that are no UTF-8 give some count.
    pub fn count_bytes(&self, text: &[u8]) -> u32 {
        let count = self.with_memory(|memory| match self.encoding {
            Encoding::O200k => memory.count(
                &self.vocabulary,
                text,
                |at| split::ends_o200k(text, at),
                |at| split::next_o200k(&self.classes, text, at),
            ),
            Encoding::Cl100k => {
                memory.count(&self.vocabulary, text, |_| 0, |at| split::next_cl100k(&self.classes, text, at))
            }
        });
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The ranks of the tokens that `text` takes as plain text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let text = text.as_bytes();
        let next = match self.encoding {
            Encoding::O200k => split::next_o200k,
            Encoding::Cl100k => split::next_cl100k,
        };
        self.with_memory(|memory| {
            let (mut at, mut ranks) = (0, Vec::new());
            while at < text.len() {
                let end = next(&self.classes, text, at);
                match self.vocabulary.find(text, at, end) {
                    Some(token) => ranks.push(token),
                    None => ranks.extend_from_slice(memory.scratch().encode(&self.vocabulary, text, at, end)),
                }
                at = end;
            }
            ranks
        })
    }

    /// The greatest place at which `text` can be cut so that the counts of both sides add up to the count of the whole,
    /// whatever is appended later; 0 where none is found.
    fn last_cut(&self, text: &str) -> usize {
        split::last_cut(&self.classes, text)
    }

    fn with_memory<T>(&self, work: impl FnOnce(&mut Pieces) -> T) -> T {
        match self.memory.try_lock() {
            Ok(mut memory) => work(&mut memory),
            Err(TryLockError::WouldBlock) => work(&mut Pieces::new()),
            // A panic while it was held cannot have happened in our code; the memory is made anew.
            Err(TryLockError::Poisoned(poisoned)) => {
                let mut memory = PoisonError::into_inner(poisoned);
                *memory = Pieces::new();
                work(&mut memory)
            }
        }
    }
}

impl std::fmt::Debug for Bpe {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Bpe").field(&self.encoding).finish()
    }
}
