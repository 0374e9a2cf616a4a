//! The split patterns over any text, part by part in the order of the pattern, by the classes of code points.

use super::{contraction, run_of};
use crate::classes::{Classes, LETTER, LOWER, NUMBER, SPACE, UPPER};

/// Where the piece of o200k_base that begins at `at` ends.
#[inline(never)]
pub(super) fn next_o200k(classes: &Classes, text: &[u8], at: usize) -> usize {
    let (class, length) = classes.at(text, at);
    let prefixed = (class & (LETTER | NUMBER) == 0 && !is_newline(text, at)).then_some(at + length);
    let starts = || prefixed.into_iter().chain([at]);
    let word = starts().find_map(|start| small_word(classes, text, start));
    let word = word.or_else(|| {
        // `U+L*`, where nothing that is in L can follow: the part before would have matched.
        starts().find_map(|start| Some(while_class(classes, text, start, UPPER)).filter(|end| *end > start))
    });
    if let Some(end) = word {
        return contraction(text, end);
    }
    if let Some(end) = number(classes, text, at) {
        return end;
    }
    if let Some(end) = symbols(classes, text, at) {
        return run_of(text, end, |byte| matches!(byte, b'\n' | b'\r' | b'/'));
    }
    let white = White::at(classes, text, at);
    white.newline.or(white.last_of_text).unwrap_or(white.rest)
}

/// Where the piece of cl100k_base that begins at `at` ends.
#[inline(never)]
pub(super) fn next_cl100k(classes: &Classes, text: &[u8], at: usize) -> usize {
    let contracted = contraction(text, at);
    if contracted > at {
        return contracted;
    }
    let (class, length) = classes.at(text, at);
    let prefix = class & (LETTER | NUMBER) == 0 && !is_newline(text, at);
    let start = if prefix { at + length } else { at };
    let end = while_class(classes, text, start, LETTER);
    if end > start {
        return end;
    }
    if let Some(end) = number(classes, text, at) {
        return end;
    }
    if let Some(end) = symbols(classes, text, at) {
        return run_of(text, end, |byte| matches!(byte, b'\n' | b'\r'));
    }
    let white = White::at(classes, text, at);
    white.last_of_text.or(white.newline).unwrap_or(white.rest)
}

fn is_newline(text: &[u8], at: usize) -> bool {
    matches!(text.get(at), Some(b'\n' | b'\r'))
}

/// Where the characters end that have one of `wanted`.
#[inline]
fn while_class(classes: &Classes, text: &[u8], mut at: usize, wanted: u8) -> usize {
    loop {
        let (class, length) = classes.at(text, at);
        if class & wanted == 0 {
            return at;
        }
        at += length;
    }
}

/// `U*L+`: when nothing in L follows the longest `U*`, that run gives back up to the last character that is in both.
#[inline]
fn small_word(classes: &Classes, text: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut last_in_both) = (start, None);
    loop {
        let (class, length) = classes.at(text, at);
        if class & UPPER == 0 {
            let follows = class & LOWER != 0;
            return if follows { Some(while_class(classes, text, at, LOWER)) } else { last_in_both };
        }
        at += length;
        if class & LOWER != 0 {
            last_in_both = Some(at);
        }
    }
}

/// `\p{N}{1,3}`
fn number(classes: &Classes, text: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    for _ in 0..3 {
        let (class, length) = classes.at(text, end);
        if class & NUMBER == 0 {
            break;
        }
        end += length;
    }
    (end > at).then_some(end)
}

/// ` ?[^\s\p{L}\p{N}]+`
fn symbols(classes: &Classes, text: &[u8], at: usize) -> Option<usize> {
    let start = if text.get(at) == Some(&b' ') { at + 1 } else { at };
    let mut end = start;
    loop {
        let (class, length) = classes.at(text, end);
        if length == 0 || class & (SPACE | LETTER | NUMBER) != 0 {
            return (end > start).then_some(end);
        }
        end += length;
    }
}

/// A run of white space, as the last parts of the patterns see it.
struct White {
    /// Where its last newline ends.
    newline: Option<usize>,
    /// Its end, when that is the text's.
    last_of_text: Option<usize>,
    /// Its last character's beginning, or its end when it has but one.
    rest: usize,
}

impl White {
    fn at(classes: &Classes, text: &[u8], at: usize) -> Self {
        let (mut end, mut last, mut newline) = (at, at, None);
        loop {
            let (class, length) = classes.at(text, end);
            if class & SPACE == 0 {
                break;
            }
            (last, end) = (end, end + length);
            if is_newline(text, last) {
                newline = Some(end);
            }
        }
        // What is no UTF-8 may end up here without being white: it is a piece by itself.
        let end = end.max(at + 1);
        let rest = if last > at { last } else { end };
        Self { newline, last_of_text: (end == text.len()).then_some(end), rest }
    }
}
