//! The vectors of one model, as far as they are in memory.

use std::rc::Rc;

use threadkeep_recall::{Block, Filter, Found, Index, Query};

/// The vectors of one model, as far as they are in memory.
#[derive(Clone, Default)]
pub(super) struct Vectors {
    pub model: String,
    /// The marker of the state that they are of; `None` before they were read.
    pub marker: Option<String>,
    pub blocks: Vec<(String, Rc<Block>)>,
    /// The documents of the vectors, for the index that was there then.
    pub lined: Vec<u32>,
    /// How often the index was made anew before that.
    pub made: u64,
}

impl Vectors {
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().map(|(_, block)| &**block)
    }

    /// The marker of the state that they are of.
    pub fn marker(&self) -> Option<&String> {
        self.marker.as_ref()
    }

    /// The state that they are of has another marker.
    pub fn moved(&mut self, marker: &str) {
        self.marker = Some(marker.to_owned());
    }

    /// The documents of `index`, for which they are lined up, nearest to a vector.
    pub fn nearest<'a>(
        &self,
        index: &'a Index,
        vector: &[i8],
        query: &Query,
        filter: &Filter<'_>,
        limit: usize,
    ) -> Vec<Found<'a>> {
        index.nearest(self.blocks(), &self.lined, vector, query, filter, limit)
    }
}
