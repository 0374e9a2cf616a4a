//! Which part of a long list is worth building: sums of heights, guessed at first and corrected when they have been
//! measured. Pixels in, ranges and offsets out; it knows no document and no scroll bar.

use std::ops::Range;

/// The rows of a list of `count` equal rows that lie within `viewport` below `scroll`, and `margin` rows either side.
pub fn fixed(count: usize, row: f64, scroll: f64, viewport: f64, margin: usize) -> Range<usize> {
    if count == 0 || row <= 0.0 {
        return 0..0;
    }
    let first = ((scroll.max(0.0) / row) as usize).min(count - 1);
    let last = (((scroll + viewport).max(0.0) / row) as usize).min(count - 1);
    first.saturating_sub(margin)..(last + 1 + margin).min(count)
}

/// The heights of blocks that lie one below the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heights {
    heights: Vec<f64>,
    measured: Vec<bool>,
    /// The top of each block, and after them the total.
    tops: Vec<f64>,
}

impl Heights {
    /// Blocks whose heights are guesses.
    pub fn new(guesses: Vec<f64>) -> Self {
        let mut heights = Self { measured: vec![false; guesses.len()], heights: guesses, tops: Vec::new() };
        heights.sum();
        heights
    }

    fn sum(&mut self) {
        self.tops.clear();
        self.tops.push(0.0);
        let mut top = 0.0;
        for height in &self.heights {
            top += height;
            self.tops.push(top);
        }
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.heights.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.heights.is_empty()
    }

    /// Notes what some blocks really measure. Says whether anything moved by half a pixel or more.
    pub fn measure(&mut self, found: impl IntoIterator<Item = (usize, f64)>) -> bool {
        let mut moved = false;
        for (at, height) in found {
            let Some(old) = self.heights.get_mut(at) else { continue };
            moved |= (*old - height).abs() >= 0.5;
            *old = height;
            self.measured[at] = true;
        }
        if moved {
            self.sum();
        }
        moved
    }

    /// The measured height of a block; `None` while it is a guess.
    pub fn measured(&self, at: usize) -> Option<f64> {
        (*self.measured.get(at)?).then(|| self.heights[at])
    }

    /// The height of a block, measured or guessed; 0 where there is none.
    pub fn height(&self, at: usize) -> f64 {
        self.heights.get(at).copied().unwrap_or_default()
    }

    /// Where a block begins; the total for the one after the last.
    pub fn top(&self, at: usize) -> f64 {
        self.tops.get(at).or(self.tops.last()).copied().unwrap_or_default()
    }

    /// The height of all.
    pub fn total(&self) -> f64 {
        self.top(self.len())
    }

    /// The block at `y`; the first above all, the last below all.
    pub fn at(&self, y: f64) -> usize {
        self.tops.partition_point(|top| *top <= y).saturating_sub(1).min(self.len().saturating_sub(1))
    }

    /// The blocks within `viewport` below `scroll`, and within `margin` pixels either side.
    pub fn visible(&self, scroll: f64, viewport: f64, margin: f64) -> Range<usize> {
        if self.is_empty() {
            return 0..0;
        }
        self.at(scroll - margin)..self.at(scroll + viewport + margin) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows() {
        assert_eq!(fixed(0, 10.0, 0.0, 100.0, 2), 0..0);
        assert_eq!(fixed(1000, 10.0, 0.0, 100.0, 2), 0..13);
        assert_eq!(fixed(1000, 10.0, 505.0, 100.0, 2), 48..63);
        assert_eq!(fixed(1000, 10.0, 1e9, 100.0, 2), 997..1000);
        assert_eq!(fixed(3, 10.0, -50.0, 100.0, 2), 0..3);
    }

    #[test]
    fn guesses_are_corrected() {
        let mut heights = Heights::new(vec![100.0; 10]);
        assert_eq!(heights.visible(250.0, 100.0, 0.0), 2..4);
        assert!(heights.measure([(0, 300.0), (99, 5.0)]));
        assert!(!heights.measure([(0, 300.2)]));
        assert_eq!(heights.total(), 1200.0);
        assert_eq!(heights.top(1), 300.0);
        assert_eq!(heights.measured(0), Some(300.2));
        assert_eq!(heights.measured(1), None);
        assert_eq!(heights.visible(250.0, 100.0, 0.0), 0..2);
    }

    #[test]
    fn every_place_has_a_block() {
        let heights = Heights::new(vec![10.0, 20.0, 30.0]);
        for (y, at) in [(-5.0, 0), (0.0, 0), (9.9, 0), (10.0, 1), (30.0, 2), (1e9, 2)] {
            assert_eq!(heights.at(y), at, "{y}");
        }
        assert_eq!(Heights::default().visible(0.0, 10.0, 10.0), 0..0);
    }
}
