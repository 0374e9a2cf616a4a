//! Words: a text's words as hashes, in any script. Goes in: a text. Comes out: for each word a hash of its letters (what
//! cues are found by), a hash of its stem (what rarity is counted by) and what kind of word it is. Scripts that put no
//! spaces between words give overlapping pairs of characters.

/// One word of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// The hash of its letters, lower case.
    pub hash: u32,
    /// The hash of its stem; equal to `hash` where nothing was cut off.
    pub stem: u32,
    /// Where it lies in the text, in bytes.
    pub at: (usize, usize),
    /// What it is like: the bits below.
    pub like: u8,
}

/// It holds a digit.
pub(super) const DIGIT: u8 = 1;
/// Its first letter is upper case.
pub(super) const CAPITAL: u8 = 2;
/// It is built like an identifier: an underscore, or upper case within.
pub(super) const CODE: u8 = 4;
/// It is a pair of characters of a script without spaces.
pub(super) const PAIR: u8 = 8;

/// Calls `each` with every word of `text`, in order.
pub(super) fn words(text: &str, each: &mut dyn FnMut(Word)) {
    let mut lower = String::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, first)) = rest.next() {
        if spaceless(first) {
            let next = rest.peek().map(|(_, next)| *next).filter(|next| spaceless(*next));
            let end = start + first.len_utf8() + next.map_or(0, char::len_utf8);
            // The last character of a run was in a pair already, unless the run is one character long.
            if next.is_some() || !text[..start].chars().next_back().is_some_and(spaceless) {
                let hash = hash(&text[start..end]);
                each(Word { hash, stem: hash, at: (start, end), like: PAIR });
            }
            continue;
        }
        if !first.is_alphanumeric() && first != '_' {
            continue;
        }
        lower.clear();
        push_lower(&mut lower, first);
        let (mut end, mut last) = (start + first.len_utf8(), first);
        let mut like = if first.is_uppercase() { CAPITAL } else { 0 };
        if first.is_numeric() {
            like |= DIGIT;
        }
        while let Some((at, next)) = rest.peek().copied() {
            if spaceless(next) {
                break;
            }
            if next.is_alphanumeric() || next == '_' {
                if next.is_numeric() {
                    like |= DIGIT;
                } else if next == '_' || (next.is_uppercase() && last.is_lowercase()) {
                    like |= CODE;
                }
                push_lower(&mut lower, next);
            } else {
                // Between two letters an apostrophe, and between two digits what numbers and dates are written with.
                let after = text[at + next.len_utf8()..].chars().next();
                let digits = last.is_numeric() && after.is_some_and(char::is_numeric);
                let letters = last.is_alphabetic() && after.is_some_and(char::is_alphabetic);
                match next {
                    '.' | ',' | ':' | '/' | '-' if digits => lower.push(next),
                    '\'' | '\u{2019}' if letters => lower.push('\''),
                    _ => break,
                }
            }
            end = at + next.len_utf8();
            last = next;
            rest.next();
        }
        let whole = hash(&lower);
        let stem = if like & DIGIT == 0 { hash(stem(&lower)) } else { whole };
        each(Word { hash: whole, stem, at: (start, end), like });
    }
}

/// The hash that a word has; FNV-1a.
pub(super) fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn push_lower(lower: &mut String, letter: char) {
    if letter.is_ascii() {
        lower.push(letter.to_ascii_lowercase());
    } else {
        lower.extend(letter.to_lowercase());
    }
}

/// The word without the commonest English endings: enough to see that two forms are one word.
fn stem(word: &str) -> &str {
    let word = word.strip_suffix("'s").unwrap_or(word);
    if word.len() < 5 || !word.is_ascii() {
        return word;
    }
    let cut = ["ing", "ed", "es", "ly", "s", "e"].iter().find_map(|ending| word.strip_suffix(ending));
    cut.filter(|stem| stem.len() >= 3 && !(word.ends_with("ss") && stem.ends_with('s'))).unwrap_or(word)
}

/// Whether a character belongs to a script that is written without spaces.
fn spaceless(letter: char) -> bool {
    matches!(letter,
        '\u{0E01}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17D3}' | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        words(text, &mut |word| found.push(&text[word.at.0..word.at.1]));
        found
    }

    #[test]
    fn words_numbers_and_pairs_are_told_apart() {
        assert_eq!(
            list("Don't use v5.3.0 on 2024-03-15, user_name!"),
            ["Don't", "use", "v5.3.0", "on", "2024-03-15", "user_name"]
        );
        assert_eq!(list("我喜欢茶 ok 茶"), ["我喜", "喜欢", "欢茶", "ok", "茶"]);
        assert_eq!(list("10:30. 1,200-"), ["10:30", "1,200"]);
        assert!(list(" … —").is_empty());
    }

    #[test]
    fn forms_of_one_word_have_one_stem() {
        let stems = |text: &str| {
            let mut found = Vec::new();
            words(text, &mut |word| found.push(word.stem));
            found
        };
        assert_eq!(stems("test tests tested testing Test's"), [stems("test")[0]; 5]);
        assert_ne!(stems("pass")[0], stems("pas")[0]);
    }
}
