//! Text as words. Goes in: any text. Comes out: words in lower case with their places in the text and their positions among
//! the words. Runs of letters and digits are words; `camelCase` and `250ms` are their parts and the whole; what has no spaces
//! between words (Chinese, Japanese, Korean, Thai, …) comes as pairs of characters.

/// Words longer than this many bytes (keys, encoded data) count as a position but are not indexed.
const LONGEST: usize = 64;
/// Identifiers of more parts than this stay whole.
const PARTS: usize = 8;

/// A word in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word in lower case.
    pub text: &'a str,
    /// Its place among the words, from 0. A whole and its first part share one.
    pub position: u32,
    /// The byte where it begins in the text.
    pub start: usize,
    /// The byte where it ends.
    pub end: usize,
    /// Whether it is one or two characters of a script without spaces; never stemmed.
    pub pair: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Lower,
    Upper,
    Digit,
    Pair,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '\0'..='\u{7f}' => Class::Other,
        '\u{300}'..='\u{36f}' => Class::Lower,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3130}'..='\u{318f}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}' => {
            if c.is_alphanumeric() || !('\u{3040}'..='\u{30ff}').contains(&c) && c.is_alphabetic() {
                Class::Pair
            } else {
                Class::Other
            }
        }
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_numeric() => Class::Digit,
        _ if c.is_alphabetic() => Class::Lower,
        _ => Class::Other,
    }
}

/// Hands the words of `text` to `take`, in order.
///
/// ```
/// use threadkeep_recall::words;
/// let mut found = Vec::new();
/// words("Don't call getUser, 東京都!", &mut |word| found.push((word.text.to_owned(), word.position)));
/// let found: Vec<_> = found.iter().map(|(word, at)| (word.as_str(), *at)).collect();
/// assert_eq!(found, [("don", 0), ("call", 1), ("get", 2), ("getuser", 2), ("user", 3), ("東京", 4), ("京都", 5), ("都", 6)]);
/// ```
pub fn words(text: &str, take: &mut dyn FnMut(Word<'_>)) {
    let mut splitter = Splitter { text, position: 0, buffer: String::new(), take };
    let mut at = 0;
    while let Some(first) = text.as_bytes().get(at) {
        // Nearly all there is in most texts: a word in plain letters, or what lies between words.
        if first.is_ascii_alphabetic()
            && let Some(end) = plain(text.as_bytes(), at)
        {
            at = splitter.plain(at, end);
            continue;
        }
        let Some(c) = text[at..].chars().next() else { break };
        at = match class(c) {
            Class::Other => at + c.len_utf8(),
            Class::Pair => splitter.pairs(at),
            _ => splitter.word(at),
        };
    }
}

/// Where the word that begins with an ASCII letter at `start` ends, if it is nothing but that letter and small ones, and no
/// other reading of it is possible.
fn plain(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = &bytes[start + 1..];
    let more = rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    let plain = rest.get(more).is_none_or(|next| next.is_ascii() && !next.is_ascii_alphanumeric());
    plain.then_some(start + 1 + more)
}

struct Splitter<'a, 'b> {
    text: &'a str,
    position: u32,
    buffer: String,
    take: &'b mut dyn FnMut(Word<'_>),
}

impl Splitter<'_, '_> {
    fn give(&mut self, start: usize, end: usize, position: u32, pair: bool) {
        self.buffer.clear();
        for c in self.text[start..end].chars() {
            match c {
                'A'..='Z' => self.buffer.push(c.to_ascii_lowercase()),
                '\0'..='\u{7f}' => {
                    // The commas of 1,000,000.
                    if c != ',' {
                        self.buffer.push(c);
                    }
                }
                _ => self.buffer.extend(c.to_lowercase()),
            }
        }
        if self.buffer.len() <= LONGEST {
            (self.take)(Word { text: &self.buffer, position, start, end, pair });
        }
    }

    /// A word that [`plain`] found.
    fn plain(&mut self, start: usize, end: usize) -> usize {
        let position = self.position;
        self.position += 1;
        if end - start <= LONGEST {
            self.buffer.clear();
            self.buffer.push_str(&self.text[start..end]);
            self.buffer.make_ascii_lowercase();
            (self.take)(Word { text: &self.buffer, position, start, end, pair: false });
        }
        if self.text.as_bytes().get(end) == Some(&b'\'') { self.suffix(start, end) } else { end }
    }

    /// A run of a script without spaces, from `start`: its pairs, and its last character alone.
    fn pairs(&mut self, start: usize) -> usize {
        let mut before = start;
        let mut chars = self.text[start..].char_indices().skip(1);
        let end = loop {
            let Some((offset, c)) = chars.next() else { break self.text.len() };
            let at = start + offset;
            if class(c) != Class::Pair {
                break at;
            }
            self.give(before, at + c.len_utf8(), self.position, true);
            self.position += 1;
            before = at;
        };
        self.give(before, end, self.position, true);
        self.position += 1;
        end
    }

    /// A run of letters and digits from `start`.
    fn word(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        // Where parts of an identifier begin, and which of these borders lie between letters and digits.
        let mut borders = [0; PARTS];
        let (mut count, mut mixed, mut digits_only) = (0, 0, true);
        let mut mixed_at = 0;
        let (mut last, mut last_at) = (Class::Other, start);
        let mut end = self.text.len();
        for (offset, c) in self.text[start..].char_indices() {
            let at = start + offset;
            let now = class(c);
            if c == ',' && digits_only && thousands(&bytes[at + 1..]) {
                continue;
            }
            if matches!(now, Class::Other | Class::Pair) {
                end = at;
                break;
            }
            digits_only &= now == Class::Digit;
            let border = match (last, now) {
                (Class::Lower | Class::Digit, Class::Upper) => Some(at),
                (Class::Upper, Class::Lower)
                    if last_at > start && !matches!(borders[..count.min(PARTS)].last(), Some(b) if *b == last_at) =>
                {
                    // HTTPServer is HTTP and Server, but IDs is one.
                    let more = self.text[at + c.len_utf8()..].chars().next().is_some_and(|c| class(c) == Class::Lower);
                    more.then_some(last_at)
                }
                (Class::Lower | Class::Upper, Class::Digit) | (Class::Digit, Class::Lower) => {
                    mixed += 1;
                    mixed_at = at;
                    None
                }
                _ => None,
            };
            if let Some(border) = border {
                if count < PARTS {
                    borders[count] = border;
                }
                count += 1;
            }
            (last, last_at) = (now, at);
        }
        if mixed == 1 && count < PARTS {
            borders[count] = mixed_at;
            count += 1;
            let place = borders[..count - 1].partition_point(|border| *border < mixed_at);
            borders[place..count].rotate_right(1);
        }
        if count == 0 || count >= PARTS {
            self.give(start, end, self.position, false);
            self.position += 1;
        } else {
            let mut from = start;
            for part in 0..=count {
                let to = borders.get(part).copied().filter(|_| part < count).unwrap_or(end);
                self.give(from, to, self.position, false);
                if part == 0 {
                    self.give(start, end, self.position, false);
                }
                self.position += 1;
                from = to;
            }
        }
        self.suffix(start, end)
    }

    /// What `'s`, `n't` and the like leave behind an apostrophe is no word.
    fn suffix(&self, start: usize, end: usize) -> usize {
        let mut rest = self.text[end..].char_indices();
        if !matches!(rest.next(), Some((_, '\'' | '’'))) || self.text[start..end].chars().nth(1).is_none() {
            return end;
        }
        let mut letters = 0;
        for (offset, c) in rest {
            match class(c) {
                Class::Lower | Class::Upper => letters += 1,
                Class::Other if letters > 0 => return end + offset,
                _ => return end,
            }
            if letters > 2 {
                return end;
            }
        }
        self.text.len()
    }
}

/// The last border between characters that is not behind `at`.
pub(crate) fn border(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Whether exactly three digits follow.
fn thousands(bytes: &[u8]) -> bool {
    bytes.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count() == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let mut found = Vec::new();
        words(text, &mut |word| {
            assert!(text.get(word.start..word.end).is_some());
            found.push(format!("{}@{}", word.text, word.position));
        });
        found.join(" ")
    }

    #[test]
    fn identifiers_are_split_and_whole() {
        assert_eq!(of("parse_url src/a-b.rs"), "parse@0 url@1 src@2 a@3 b@4 rs@5");
        assert_eq!(of("HTTPServer"), "http@0 httpserver@0 server@1");
        assert_eq!(of("getHTTPServer"), "get@0 gethttpserver@0 http@1 server@2");
        assert_eq!(of("IDs URLs"), "ids@0 urls@1");
        assert_eq!(of("250ms gpt4 a1b2c3"), "250@0 250ms@0 ms@1 gpt@2 gpt4@2 4@3 a1b2c3@4");
    }

    #[test]
    fn numbers_and_apostrophes() {
        assert_eq!(of("1,000,000 of 1,00 3.14"), "1000000@0 of@1 1@2 00@3 3@4 14@5");
        assert_eq!(of("user's l'homme O'Neill don't'"), "user@0 l@1 homme@2 o@3 neill@4 don@5");
    }

    #[test]
    fn scripts_without_spaces_come_in_pairs() {
        assert_eq!(of("東京 a猫b 가나다"), "東京@0 京@1 a@2 猫@3 b@4 가나@5 나다@6 다@7");
        assert_eq!(of("ｶﾞ、テスト。"), "ｶﾞ@0 ﾞ@1 テス@2 スト@3 ト@4");
    }

    #[test]
    fn long_words_only_count() {
        assert_eq!(of(&format!("a {} b", "x".repeat(65))), "a@0 b@2");
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_words(text in "\\PC*|[A-Za-z0-9,'’ éß東ア]{0,80}") {
            let mut last = 0;
            words(&text, &mut |word| {
                assert!(word.position >= last && word.start < word.end);
                last = word.position;
            });
        }
    }
}
