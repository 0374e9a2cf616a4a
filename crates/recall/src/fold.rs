//! Letters without their accents, so that a search finds `café` by `cafe`.

/// U+00C0 to U+024F and U+1E00 to U+1EFF: the letter that remains, `.` where it is not one letter of ASCII.
const LATIN: &[u8] = b"aaaaaa.ceeeeiiii.nooooo.ouuuuy..aaaaaa.ceeeeiiii.nooooo.ouuuuy.yaaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkk.llllllllllnnnnnn...oooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs................................oo.............uu............................aaiioouuuuuuuuuu.aaaa....ggkkoooo..j...gg..nnaa....aaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy............................";
const MORE: &[u8] = b"aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwy.s....aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......";
const GREEK: [(char, char); 10] = [
    ('ά', 'α'),
    ('έ', 'ε'),
    ('ή', 'η'),
    ('ί', 'ι'),
    ('ό', 'ο'),
    ('ύ', 'υ'),
    ('ώ', 'ω'),
    ('ς', 'σ'),
    ('ϊ', 'ι'),
    ('ϋ', 'υ'),
];

/// Appends a lower-case letter without its accent; a combining mark vanishes.
pub fn fold(letter: char, out: &mut String) {
    let code = letter as usize;
    let entry = match code {
        0xc0..=0x24f => LATIN.get(code - 0xc0),
        0x1e00..=0x1eff => MORE.get(code - 0x1e00),
        _ => None,
    };
    match (letter, entry) {
        (_, Some(plain)) if *plain != b'.' => out.push(char::from(*plain)),
        ('æ', _) => out.push_str("ae"),
        ('œ', _) => out.push_str("oe"),
        ('ß', _) => out.push_str("ss"),
        ('þ', _) => out.push_str("th"),
        ('ð', _) => out.push('d'),
        ('\u{300}'..='\u{36f}', _) => {}
        ('ё', _) => out.push('е'),
        // Full-width letters and digits.
        ('\u{ff10}'..='\u{ff5e}', _) => out.extend(char::from_u32(letter as u32 - 0xfee0)),
        _ => out.push(GREEK.iter().find(|(accented, _)| *accented == letter).map_or(letter, |(_, plain)| *plain)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_go() {
        let folded = |text: &str| {
            let mut out = String::new();
            text.chars().for_each(|letter| fold(letter, &mut out));
            out
        };
        assert_eq!(folded("crème brûlée"), "creme brulee");
        assert_eq!(folded("cafe\u{301}"), "cafe");
        assert_eq!(folded("straße œuvre łódź øre đ"), "strasse oeuvre lodz ore d");
        assert_eq!(folded("tiếng việt"), "tieng viet");
        assert_eq!(folded("ёлка άλφα ２４ｈ"), "елка αλφα 24h");
        assert_eq!((LATIN.len(), MORE.len()), (0x190, 0x100));
    }
}
