//! Texts that take other tokenizers minutes. How long they take us is measured by `cargo xtask bench tokens`; here they
//! are only counted, against what can be known of them. (With a method that is not linear, this test would not end.)

use crate::{PAIRS, check};

const MEGABYTE: usize = 1 << 20;

#[test]
fn a_megabyte_of_one_character() {
    for character in ['a', ' ', '\n', '-', '0', '.', 'é', '字', '😀', '\u{301}', '\''] {
        // The reference itself can do some ten thousand of them.
        let some: String = std::iter::repeat_n(character, 16_384).collect();
        check(&some);
        let many: String = std::iter::repeat_n(character, MEGABYTE / character.len_utf8()).collect();
        for pair in PAIRS.iter() {
            let (few, all) = (pair.ours.count(&some) as usize, pair.ours.count(&many) as usize);
            let expected = few * many.len() / some.len();
            assert!(all.abs_diff(expected) <= expected / 50, "{character:?}: {all}, and {expected} by the part");
        }
    }
}

#[test]
fn a_megabyte_of_random_letters() {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    let text: String = (0..MEGABYTE).map(|_| letter()).collect();
    check(&text[..5000]);
    for pair in PAIRS.iter() {
        let tokens = pair.ours.encode(&text);
        assert_eq!(tokens.len(), pair.ours.count(&text) as usize);
        let bytes: Vec<u8> = tokens.chunks(1000).flat_map(|ranks| pair.theirs.decode_bytes(ranks).unwrap()).collect();
        assert!(bytes == text.as_bytes(), "the tokens are another text");
    }
}
