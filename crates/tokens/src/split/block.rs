//! Many pieces of o200k_base at once, in ASCII: 64 bytes become masks with a bit for each byte ("is a letter", "is a digit"), and the
//! pattern becomes arithmetic on masks that finds all borders and hardly ever takes a decision, where one piece after the
//! other has the processor guess several times a piece. What it cannot be certain of it leaves to the other ways: the piece at
//! the end of the 64 bytes, what is around other characters, and what seldom occurs and would take many words.

use super::contraction_after_mark;
use crate::table::window;

/// The rounds of [`planes`]: how far apart two words are that exchange bits, by how much the bits move, and which they are.
const SWAPS: [(usize, u32, u64); 6] = [
    (4, 32, 0x0000_0000_FFFF_FFFF),
    (2, 16, 0x0000_FFFF_0000_FFFF),
    (1, 8, 0x00FF_00FF_00FF_00FF),
    (4, 4, 0x0F0F_0F0F_0F0F_0F0F),
    (2, 2, 0x3333_3333_3333_3333),
    (1, 1, 0x5555_5555_5555_5555),
];

/// From 64 bytes, eight in a word, to the eight bits of each: the first word has the lowest bit of all bytes, in their order.
#[inline(always)]
fn planes(mut words: [u64; 8]) -> [u64; 8] {
    // Two matrices are turned over, by halves, then quarters, then eighths: of words and bytes (the first word then has
    // every eighth byte), and within each place of a byte of words and bits.
    for (apart, shift, mask) in SWAPS {
        for low in (0..8).filter(|low| low & apart == 0) {
            let swapped = ((words[low] >> shift) ^ words[low + apart]) & mask;
            words[low + apart] ^= swapped;
            words[low] ^= swapped << shift;
        }
    }
    words
}

#[inline(always)]
fn read(text: &[u8], at: usize) -> [u64; 8] {
    match text.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
        Some(block) => {
            let (words, _) = block.as_chunks::<8>();
            std::array::from_fn(|word| u64::from_le_bytes(words[word]))
        }
        None => read_end(text, at),
    }
}

#[inline(never)]
fn read_end(text: &[u8], at: usize) -> [u64; 8] {
    std::array::from_fn(|word| window(text, at + 8 * word))
}

/// The ends of the piece that begins at `at` and of those behind it: bit `n` says that one ends (and the next one begins) at
/// `at + n`. None is left out between two that are there; there are none when nothing is certain.
#[inline(always)]
pub(crate) fn ends_o200k(text: &[u8], at: usize) -> u64 {
    if window(text, at) & super::HIGH_BITS != 0 { 0 } else { ends(text, at) }
}

#[inline(never)]
fn ends(text: &[u8], at: usize) -> u64 {
    let [b0, b1, b2, b3, b4, b5, b6, b7] = planes(read(text, at));
    // How many bytes are there before the text's end and before the first that is not ASCII.
    let known = (b7.trailing_zeros() as usize).min(text.len() - at);

    // Columns of the ASCII table (sixteen characters each), and in them:
    let (control, signs, figures) = (!b6 & !b5 & !b4, !b6 & b5 & !b4, !b6 & b5 & b4);
    let letter = b6 & (b0 | b1 | b2 | b3 | b4) & !(b4 & b3 & (b2 | b1 & b0));
    let (capital, small) = (letter & !b5, letter & b5);
    let digit = figures & !(b3 & (b2 | b1));
    let newline = control & b3 & (!b2 & b1 & !b0 | b2 & !b1 & b0);
    let space = signs & !(b3 | b2 | b1 | b0);
    let blank = space | control & b3 & (b0 | b1 | b2) & !(b2 & b1) & !newline;
    let (slash, apostrophe) = (signs & b3 & b2 & b1 & b0, signs & !b3 & b2 & b1 & b0);
    let white = blank | newline;
    let other = !(letter | digit | white);
    // A mask shifted to the left by one asks for the byte before, to the right for the one behind.

    // Newlines and slashes behind punctuation belong to it. The sum carries a bit from the first newline through all of them.
    let lines = newline | slash;
    let first_line = newline & other << 1;
    let tail = lines & (!first_line.wrapping_add(lines) | first_line);
    let (white, other) = (white & !tail, other & !tail);

    // Punctuation takes a space before it along. A single one before a letter, or any blank, is the beginning of a word.
    let punctuation = other & !((other | space) << 1);
    let word = letter & !((letter | blank | punctuation) << 1) | capital & small << 1;
    // Digits by threes.
    let mut digits = digit & !(digit << 1);
    let mut number = digits;
    while digits != 0 {
        digits = digits << 3 & digit & digit << 1 & digit << 2;
        number |= digits;
    }
    // White space: where it begins, behind its last newline, and its last blank.
    let behind_newline = blank & (newline & !tail) << 1;
    let last_blank = blank & !((blank | newline) >> 1);
    let mut borders = punctuation | word | number | white & !(white << 1) | behind_newline | last_blank;

    // What decides about a border are two bytes behind it at most, except in white space, whose end has to be known.
    let white_ends = 64 - (up_to(known) & !(blank | newline)).leading_zeros() as usize;
    let mut certain = up_to(white_ends.min(known.saturating_sub(2)));
    // A newline behind the blanks behind a newline: what seemed to be the last one is not. (A carry again.)
    if behind_newline.wrapping_add(blank) & newline & up_to(known) != 0 {
        certain &= (behind_newline & behind_newline.wrapping_neg()).wrapping_sub(1);
    }
    let mut contractions = apostrophe & letter << 1 & letter >> 1 & certain;
    while contractions != 0 {
        let mark = contractions.trailing_zeros();
        contractions &= contractions - 1;
        let length = contraction_after_mark(text, at + mark as usize) - (at + mark as usize);
        if length > 0 {
            // None of it is a beginning, and a letter behind it is.
            borders &= !(up_to(length) << mark);
            let behind = 1_u64.checked_shl(mark + length as u32).unwrap_or(0);
            borders |= letter & behind;
            contractions &= !behind;
        }
    }
    borders & certain & !1
}

/// A mask of the first `number` bytes.
#[inline(always)]
fn up_to(number: usize) -> u64 {
    if number >= 64 { u64::MAX } else { (1 << number) - 1 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Bpe, Encoding};

    #[test]
    fn planes_turn_bytes_into_bits() {
        let text: Vec<u8> = (0..64).map(|at| (at * 37 + 11) as u8).collect();
        for (bit, plane) in planes(read(&text, 0)).into_iter().enumerate() {
            for (at, byte) in text.iter().enumerate() {
                assert_eq!(plane >> at & 1, u64::from(byte >> bit & 1), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn most_of_a_block_is_certain() {
        let text = b"fn main() {\n    let it's = 12345; // don't\n\n    call(it's, OneTwo)\n}\n";
        assert!(ends_o200k(text, 0).ilog2() >= 56);
        assert_eq!(ends_o200k("é plus".as_bytes(), 0), 0);
        assert_eq!(ends_o200k(&[b' '; 100], 0), 0);
        assert_eq!(ends_o200k(b"a", 0), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 500 } else { 20_000 }))]

        #[test]
        fn borders_are_those_of_one_piece_after_the_other(
            text in prop_oneof![
                "[aAsT' \\n/.]{1,150}",
                "[a-zA-Z0-9 '\\t\\r\\n/.,;_\\-]{1,150}",
                "([a-z]{1,9}|[A-Z][a-z]{0,5}|'(s|LL|re|d|x)|[0-9]{1,8}|[ \\n\\t]{1,4}|[!-/:-@]{1,3}|é|\u{2003}|ſ|[ ]{1,70}){1,60}",
            ],
        ) {
            thread_local!(static BPE: Bpe = Bpe::embedded(Encoding::O200k));
            let bytes = text.as_bytes();
            let mut at = 0;
            while at < bytes.len() {
                let (mut ends, start) = (ends_o200k(bytes, at), at);
                while ends != 0 {
                    let end = start + ends.trailing_zeros() as usize;
                    let expected = BPE.with(|bpe| super::super::next_o200k(&bpe.classes, bytes, at));
                    prop_assert_eq!(expected, end, "from {} in {:?}", at, text);
                    at = end;
                    ends &= ends - 1;
                }
                at = BPE.with(|bpe| super::super::next_o200k(&bpe.classes, bytes, at));
            }
        }
    }
}
