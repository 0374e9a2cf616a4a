//! Sorts that take little code.
//!
//! The standard library's sort is compiled anew for each type and order, about 5 KB each time. Here one sort of numbers serves
//! them all: it sorts the items' places, and then moves the items there. It is for lists of which a call sorts few.

use std::cmp::Ordering;

/// Sorts a list; equal items keep their order.
///
/// ```
/// use threadkeep_core::sort;
///
/// let mut names = ["Zoe", "Ann", "Max"];
/// sort::sort(&mut names);
/// assert_eq!(names, ["Ann", "Max", "Zoe"]);
/// ```
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, T::cmp);
}

/// Sorts a list by a key of its items; those with equal keys keep their order.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// Sorts a list by a comparison of its items; those that compare as equal keep their order.
pub fn sort_by<T>(list: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut places = sorted_places(list.len(), &mut |a, b| compare(&list[a], &list[b]));
    arrange(&mut places, &mut |a, b| list.swap(a, b));
}

/// The places of a list's items, in the order of the sorted list.
fn sorted_places(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    places.sort_by(|a, b| compare(*a, *b));
    places
}

/// Moves each item to its place, one circle of items that take each other's places after the other.
fn arrange(places: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..places.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut places[at], at);
            if from == start {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library_does(list in prop::collection::vec((0u8..20, any::<u16>()), 0..200)) {
            let (mut ours, mut theirs) = (list.clone(), list);
            sort_by_key(&mut ours, |item| item.0);
            theirs.sort_by_key(|item| item.0);
            prop_assert_eq!(&ours, &theirs);
            sort(&mut ours);
            theirs.sort();
            prop_assert_eq!(ours, theirs);
        }
    }
}
