//! A list that grows at its end and is cheap to copy: copies share all full chunks. A ledger keeps such a copy of the entries
//! of a history that goes on growing.

use std::sync::Arc;

const CHUNK: usize = 256;

#[derive(Debug, Clone)]
pub(super) struct Chunked<T> {
    /// All but the last have [`CHUNK`] items.
    chunks: Vec<Arc<Vec<T>>>,
    length: usize,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), length: 0 }
    }
}

impl<T: Clone> Chunked<T> {
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    pub fn push(&mut self, item: T) {
        if self.length.is_multiple_of(CHUNK) {
            self.chunks.push(Arc::new(Vec::with_capacity(CHUNK)));
        }
        if let Some(last) = self.chunks.last_mut() {
            Arc::make_mut(last).push(item);
            self.length += 1;
        }
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        Arc::make_mut(self.chunks.get_mut(index / CHUNK)?).get_mut(index % CHUNK)
    }

    pub fn truncate(&mut self, length: usize) {
        if length >= self.length {
            return;
        }
        self.chunks.truncate(length.div_ceil(CHUNK));
        if let Some(last) = self.chunks.last_mut().filter(|_| !length.is_multiple_of(CHUNK)) {
            Arc::make_mut(last).truncate(length % CHUNK);
        }
        self.length = length;
    }

    /// The items from `start` to before `end`.
    pub fn range(&self, start: usize, end: usize) -> impl DoubleEndedIterator<Item = &T> {
        (start..end.min(self.length)).filter_map(|index| self.get(index))
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_and_shrinks_as_a_list_does_and_copies_stay_as_they_were() {
        let (mut list, mut plain) = (Chunked::default(), Vec::new());
        for round in 0..40_usize {
            for item in 0..(round * 37) % 301 {
                list.push(item);
                plain.push(item);
            }
            let copy = (list.clone(), plain.clone());
            let length = plain.len() * (round % 5 + 3) / 8;
            list.truncate(length);
            plain.truncate(length);
            if let Some(item) = list.get_mut(length / 2) {
                *item += 1;
                plain[length / 2] += 1;
            }
            assert_eq!(list.len(), plain.len());
            assert!(list.iter().eq(&plain) && list.range(3, 900).eq(plain.iter().skip(3).take(897)));
            assert!(copy.0.iter().eq(&copy.1));
        }
    }
}
