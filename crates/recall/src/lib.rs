//! Full-text search over messages, without I/O. Goes in: texts with where they lie; a query. Comes out: immutable segments
//! of an inverted index as bytes, and the documents that a query finds, best first. Where segments are stored, and what is
//! not in them yet, is the engine's business.
//!
//! A text becomes **words** ([`words`]), words become **terms** ([`Language::term`]): lower case, stemmed, without accents.
//! A [`Builder`] makes a [`Segment`] of documents, [`merge`] makes one of several and leaves out what was deleted, an
//! [`Index`] answers a [`Query`] over all of them by BM25. Whoever has vectors of the documents puts them beside it ([`Block`]) and
//! joins both rankings ([`fuse`]).

mod bits;
mod build;
mod calendar;
mod clause;
mod close;
mod context;
mod find;
mod fold;
mod forms;
mod index;
mod language;
mod merge;
mod query;
mod rank;
mod segment;
mod small;
mod snippet;
mod table;
mod times;
mod tuning;
mod vectors;
mod why;
mod words;

pub use build::{Builder, NewDoc};
pub use context::NONE as NO_DOC;
pub use find::{Filter, Found};
pub use index::Index;
pub use language::Language;
pub use merge::{Picked, merge};
pub use query::{Clause, MOST_WORDS, Query, Slot};
pub use segment::{ASSISTANT, Damaged, Doc, Owner, Segment, USER};
pub use snippet::{Snippet, snippet, stretch};
pub use tuning::Tuning;
pub use vectors::{Block, LONGEST_VECTOR, fuse};
pub use why::Why;
pub use words::{Word, words};
