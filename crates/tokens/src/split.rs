//! The split patterns, by hand: where the piece that begins at a place ends. Plain ASCII goes a quick way: in o200k_base many pieces
//! at once ([`block`]), elsewhere one after the other, eight letters at a time. As soon as a character beyond ASCII could have
//! a say, the slow way ([`unicode`]) decides by classes of code points.
//!
//! The pattern of o200k_base, where `U` is `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, `L` is `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` and `C` is
//! `(?i:'s|'t|'re|'ve|'m|'ll|'d)`:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?U*L+C?|[^\r\n\p{L}\p{N}]?U+L*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```
//!
//! That of cl100k_base, in the reference's newer form, whose fifth part takes white space at the very end whole:
//!
//! ```text
//! C|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]|\s+(?!\S)|\s
//! ```

mod block;
mod unicode;

pub(crate) use block::ends_o200k;

use crate::classes::{Ascii, Classes, LETTER, LOWER, NUMBER, SPACE, UPPER, ascii};
use crate::table::window;

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const ONES: u64 = 0x0101_0101_0101_0101;

/// The top bit of each byte of the window that lies in `from..=to`, both ASCII.
#[inline(always)]
fn within(window: u64, from: u8, to: u8) -> u64 {
    let low = window & !HIGH_BITS;
    // No byte carries into the next: 0x7F + 0x7F is less than 0x100.
    let reaches = low + ONES * u64::from(0x80 - from);
    let exceeds = low + ONES * u64::from(0x7F - to);
    reaches & !exceeds & !window & HIGH_BITS
}

/// Where the bytes end that `marks` puts its mark on, beginning at `at`.
#[inline(always)]
fn run(text: &[u8], mut at: usize, marks: impl Fn(u64) -> u64) -> usize {
    loop {
        let others = !marks(window(text, at)) & HIGH_BITS;
        if others != 0 {
            return at + (others.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
}

/// Where capitals and then small letters end, all ASCII, beginning at `at`.
#[inline(always)]
fn word(text: &[u8], at: usize) -> usize {
    let capital = |window| within(window, b'A', b'Z');
    let small = |window| within(window, b'a', b'z');
    // Most words end within one window: at the first byte that is not small, from the first on that is no capital.
    let window = window(text, at);
    let others = !capital(window) & HIGH_BITS;
    let from_first = !(others & others.wrapping_neg()).wrapping_sub(1);
    let ends = !small(window) & HIGH_BITS & from_first;
    if others != 0 && ends != 0 {
        return at + (ends.trailing_zeros() / 8) as usize;
    }
    run(text, run(text, at, capital), small)
}

/// Where a contraction at `at` (`'s`, `'LL`) ends; `at` when there is none.
#[inline(always)]
fn contraction(text: &[u8], at: usize) -> usize {
    if text.get(at) == Some(&b'\'') { contraction_after_mark(text, at) } else { at }
}

#[inline(never)]
fn contraction_after_mark(text: &[u8], at: usize) -> usize {
    let lower = |offset: usize| text.get(at + offset).map_or(0, |byte| byte | 0x20);
    match (lower(1), lower(2)) {
        (b's' | b't' | b'm' | b'd', _) => at + 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => at + 3,
        // The long s is a small s to a pattern that ignores case.
        _ if text.get(at + 1..at + 3) == Some("ſ".as_bytes()) => at + 3,
        _ => at,
    }
}

/// Where the piece of o200k_base that begins at `at` ends; `at` must be inside of the text.
#[inline(always)]
pub(crate) fn next_o200k(classes: &Classes, text: &[u8], at: usize) -> usize {
    let start = match begin(text, at) {
        Begin::Word(start) => start,
        Begin::Punctuation(start) => {
            return match punctuation(text, start) {
                Some(end) => run_of(text, end, |byte| matches!(byte, b'\n' | b'\r' | b'/')),
                None => unicode::next_o200k(classes, text, at),
            };
        }
        Begin::Digits => return digits(text, at).unwrap_or_else(|| unicode::next_o200k(classes, text, at)),
        Begin::Space => return white_o200k(text, at).unwrap_or_else(|| unicode::next_o200k(classes, text, at)),
        Begin::Beyond => return unicode::next_o200k(classes, text, at),
    };
    let end = word(text, start);
    match text.get(end) {
        Some(0x80..) => unicode::next_o200k(classes, text, at),
        Some(b'\'') => contraction_after_mark(text, end),
        _ => end,
    }
}

/// Where the piece of cl100k_base that begins at `at` ends; `at` must be inside of the text.
#[inline(always)]
pub(crate) fn next_cl100k(classes: &Classes, text: &[u8], at: usize) -> usize {
    let contracted = contraction(text, at);
    if contracted != at {
        return contracted;
    }
    let start = match begin(text, at) {
        Begin::Word(start) => start,
        Begin::Punctuation(start) => {
            return match punctuation(text, start) {
                Some(end) => run_of(text, end, |byte| matches!(byte, b'\n' | b'\r')),
                None => unicode::next_cl100k(classes, text, at),
            };
        }
        Begin::Digits => return digits(text, at).unwrap_or_else(|| unicode::next_cl100k(classes, text, at)),
        Begin::Space => return white_cl100k(text, at).unwrap_or_else(|| unicode::next_cl100k(classes, text, at)),
        Begin::Beyond => return unicode::next_cl100k(classes, text, at),
    };
    // Setting the bit that tells small from capital maps no other ASCII byte onto a letter.
    let end = run(text, start, |window| within(window | (ONES * 0x20), b'a', b'z'));
    if text.get(end).is_some_and(|byte| *byte >= 0x80) { unicode::next_cl100k(classes, text, at) } else { end }
}

/// What a piece begins with, as far as ASCII tells.
enum Begin {
    /// A word; its first letter is there.
    Word(usize),
    /// Neither letters, digits nor white space, from there on.
    Punctuation(usize),
    Digits,
    Space,
    /// Something that only classes of code points decide.
    Beyond,
}

#[inline(always)]
fn begin(text: &[u8], at: usize) -> Begin {
    let kind = ascii(text, at);
    match kind {
        Ascii::Letter => Begin::Word(at),
        Ascii::Digit => Begin::Digits,
        Ascii::Newline => Begin::Space,
        Ascii::Beyond | Ascii::End => Begin::Beyond,
        Ascii::Blank | Ascii::Other => match ascii(text, at + 1) {
            Ascii::Letter => Begin::Word(at + 1),
            Ascii::Beyond => Begin::Beyond,
            _ if kind == Ascii::Other => Begin::Punctuation(at),
            Ascii::Other if text.get(at) == Some(&b' ') => Begin::Punctuation(at + 1),
            _ => Begin::Space,
        },
    }
}

#[inline(always)]
fn run_of(text: &[u8], mut at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    while text.get(at).is_some_and(|byte| belongs(*byte)) {
        at += 1;
    }
    at
}

/// The end of a run of punctuation; `None` when a character beyond ASCII follows.
#[inline(always)]
fn punctuation(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match ascii(text, at) {
            Ascii::Other => at += 1,
            Ascii::Beyond => return None,
            _ => return Some(at),
        }
    }
}

/// The end of up to three digits; `None` when a character beyond ASCII might be the next.
#[inline(always)]
fn digits(text: &[u8], at: usize) -> Option<usize> {
    for end in at + 1..at + 3 {
        match ascii(text, end) {
            Ascii::Digit => {}
            Ascii::Beyond => return None,
            _ => return Some(end),
        }
    }
    Some(at + 3)
}

/// A run of ASCII white space: where it ends, and where its last newline does (0 without one). `None` when a character
/// beyond ASCII follows.
#[inline(always)]
fn white(text: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut newline = 0;
    loop {
        match ascii(text, at) {
            Ascii::Blank => at += 1,
            Ascii::Newline => {
                at += 1;
                newline = at;
            }
            Ascii::Beyond => return None,
            _ => return Some((at, newline)),
        }
    }
}

/// What white space is a piece: all up to its last newline, or all of it at the end of the text, or all but the last
/// character, which goes with what follows; or just the one.
#[inline(never)]
fn white_o200k(text: &[u8], at: usize) -> Option<usize> {
    let (end, newline) = white(text, at)?;
    Some(if newline > 0 {
        newline
    } else if end == text.len() || end - at == 1 {
        end
    } else {
        end - 1
    })
}

/// As [`white_o200k`], but the end of the text comes first.
#[inline(never)]
fn white_cl100k(text: &[u8], at: usize) -> Option<usize> {
    let (end, newline) = white(text, at)?;
    Some(if end == text.len() || (newline == 0 && end - at == 1) {
        end
    } else if newline > 0 {
        newline
    } else {
        end - 1
    })
}

/// The last place at which the text can be cut without a change to its pieces, whatever is appended; 0 where none is found.
///
/// Three kinds of border are certain, in both patterns: before white space other than a newline that follows something else
/// than white space (no piece holds white space behind another character, newlines aside, and none looks ahead past one);
/// between a letter or number and a character that is none, nor a mark, nor an apostrophe (which may begin a
/// contraction); and between a letter and a number, whichever comes first.
pub(crate) fn last_cut(classes: &Classes, text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut later = None;
    for (at, character) in text.char_indices().rev() {
        let class = classes.at(bytes, at).0;
        if let Some((place, next, next_class)) = later
            && is_border(class, next, next_class)
        {
            return place;
        }
        later = Some((at, character, class));
    }
    0
}

fn is_border(before: u8, next: char, next_class: u8) -> bool {
    let white = next_class & SPACE != 0 && !matches!(next, '\n' | '\r');
    let plain = next_class & (LETTER | UPPER | LOWER | NUMBER | SPACE) == 0 && next != '\'';
    let other =
        (before & LETTER != 0 && next_class & NUMBER != 0) || (before & NUMBER != 0 && next_class & LETTER != 0);
    (white && before & SPACE == 0) || (plain && before & (LETTER | NUMBER) != 0) || other
}
