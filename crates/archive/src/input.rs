//! A file as the engine has it: a name, a length, and ranges that can be read. The first bytes decide whether it is a zip or
//! text; from then on the bytes go to the right place.

use std::ops::Range;
use std::sync::Arc;

use super::zip::ZipReader;
use super::{Format, Item, Reader};

/// How many bytes are asked for at once.
const CHUNK: u64 = 256 * 1024;

/// Reads one file, zip or text, by asking for ranges of it.
///
/// ```
/// use threadkeep_archive::{Input, Item};
/// let file = br#"[{"role":"user","content":"hi"}]"#;
/// let mut input = Input::new("chat.json", file.len() as u64, None);
/// let mut items = Vec::new();
/// while let Some(range) = input.wants() {
///     let bytes = &file[range.start as usize..range.end as usize];
///     input.supply(bytes, &mut |item| items.push(item));
/// }
/// assert!(matches!(items[0], Item::Conversation(_)));
/// ```
#[derive(Debug)]
pub struct Input {
    name: String,
    len: u64,
    at: u64,
    hint: Option<Format>,
    siblings: Option<Arc<[String]>>,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Unknown,
    Text(Box<Reader>),
    Zip(Box<ZipReader>),
    Done,
}

impl Input {
    /// A file called `name` of `len` bytes. `hint` is what the caller says that it is; without it, the content decides.
    pub fn new(name: &str, len: u64, hint: Option<Format>) -> Self {
        Self { name: name.to_owned(), len, at: 0, hint, siblings: None, inner: Inner::Unknown }
    }

    /// Tells the names of all the files that are imported together, so that a manifest can be held against them.
    #[must_use]
    pub fn among(mut self, names: Arc<[String]>) -> Self {
        self.siblings = Some(names);
        self
    }

    /// The range of the file to be supplied next, never empty but for an empty file; `None` when all is done.
    pub fn wants(&self) -> Option<Range<u64>> {
        match &self.inner {
            Inner::Unknown | Inner::Text(_) => Some(self.at..self.len.min(self.at + CHUNK)),
            Inner::Zip(zip) => zip.wants(),
            Inner::Done => None,
        }
    }

    /// Takes the bytes of the range that [`Input::wants`] gave. Fewer bytes than that (none, say) mean that the file ends
    /// there, whatever its length was said to be.
    pub fn supply(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Item)) {
        if let Inner::Unknown = self.inner {
            self.inner = if ZipReader::is_zip(bytes) {
                let len = if (bytes.len() as u64) < self.len.min(CHUNK) { bytes.len() as u64 } else { self.len };
                Inner::Zip(Box::new(ZipReader::new(&self.name, len, self.hint)))
            } else {
                let mut reader = Reader::new(&self.name, self.hint);
                if let Some(names) = self.siblings.take() {
                    reader = reader.among(names);
                }
                Inner::Text(Box::new(reader))
            };
            if let Inner::Zip(_) = self.inner {
                return; // it asks for what it needs, from the end of the file
            }
        }
        match &mut self.inner {
            Inner::Text(reader) => {
                reader.push(bytes, sink);
                let short = (bytes.len() as u64) < self.len.min(self.at + CHUNK) - self.at;
                self.at += bytes.len() as u64;
                if short || self.at >= self.len {
                    reader.finish(sink);
                    self.inner = Inner::Done;
                }
            }
            Inner::Zip(zip) => {
                zip.supply(bytes, sink);
                if zip.wants().is_none() {
                    self.inner = Inner::Done;
                }
            }
            Inner::Unknown | Inner::Done => {}
        }
    }

    /// How far it is, in bytes of the file: read so far, and in all.
    pub fn progress(&self) -> (u64, u64) {
        match &self.inner {
            Inner::Zip(zip) => zip.progress(),
            Inner::Done => (self.len, self.len),
            _ => (self.at, self.len),
        }
    }
}
