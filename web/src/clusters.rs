//! Characters with more marks than a browser can lay out. It takes time that grows with the square of the marks on one character:
//! 10,000 take half a second, 100,000 most of a minute. Text in, text that can be drawn out; what is stored and copied stays as it is.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

/// The most code points of one character that are drawn. No script needs half as many.
pub const MOST: usize = 32;

/// What stands between the parts of a character that is drawn in parts: the sign for a base that is not there.
const NO_BASE: char = '\u{25cc}';

/// The characters of a text that are too long, with their places in it; none in almost every text.
fn too_long(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // Below U+0300 nothing joins what stands before it.
    let plain = text.bytes().all(|byte| byte < 0xcc);
    let text = if plain { "" } else { text };
    // As many bytes are needed for so many code points.
    text.grapheme_indices(true).filter(|(_, cluster)| cluster.len() > MOST && cluster.chars().nth(MOST).is_some())
}

/// Whether something is left out when the text is drawn.
pub fn is_cut(text: &str) -> bool {
    too_long(text).next().is_some()
}

/// The text as it is drawn: a character that is too long ends with an ellipsis.
pub fn drawn(text: &str) -> Cow<'_, str> {
    replaced(text, |cluster, into| {
        into.extend(cluster.chars().take(MOST));
        into.push('…');
    })
}

/// The text with all its marks: a character that is too long is drawn in parts.
pub fn spread(text: &str) -> Cow<'_, str> {
    replaced(text, |cluster, into| {
        for (at, one) in cluster.chars().enumerate() {
            if at > 0 && at % (MOST - 1) == 0 {
                into.push(NO_BASE);
            }
            into.push(one);
        }
    })
}

/// What can be drawn of `text` behind `before`, the last of what was drawn: nothing more of a character that is too long already.
pub fn continued<'a>(before: &str, text: &'a str) -> Cow<'a, str> {
    let Some(last) = before.graphemes(true).next_back().filter(|_| text.bytes().any(|byte| byte >= 0xcc)) else {
        return drawn(text);
    };
    let whole = [last, text].concat();
    let first = whole.graphemes(true).next().unwrap_or_default();
    let rest = &text[first.len().saturating_sub(last.len()).min(text.len())..];
    let room = MOST.saturating_sub(last.chars().count());
    let joined: String = first[last.len().min(first.len())..].chars().take(room).collect();
    Cow::Owned([&joined, &*drawn(rest)].concat())
}

fn replaced<'a>(text: &'a str, mut replace: impl FnMut(&str, &mut String)) -> Cow<'a, str> {
    let mut made = String::new();
    let mut end = 0;
    for (at, cluster) in too_long(text) {
        made.push_str(&text[end..at]);
        replace(cluster, &mut made);
        end = at + cluster.len();
    }
    if end == 0 {
        return Cow::Borrowed(text);
    }
    made.push_str(&text[end..]);
    Cow::Owned(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = "\u{301}";

    #[test]
    fn a_character_with_thousands_of_marks_is_cut_and_can_be_spread() {
        for marks in [MOST, 10_000, 100_000] {
            let text = ["say a", &MARK.repeat(marks), "b"].concat();
            assert!(is_cut(&text));
            assert_eq!(drawn(&text), ["say a", &MARK.repeat(MOST - 1), "…b"].concat());
            let spread = spread(&text);
            assert!(!is_cut(&spread), "it can be drawn");
            assert_eq!(spread.replace(NO_BASE, ""), text, "nothing is missing");
        }
    }

    #[test]
    fn text_that_people_write_is_drawn_as_it_is() {
        let family = "👩🏽‍❤️‍💋‍👨🏿 ";
        for text in ["", "plain", "naïve façade", "日本語のテキスト", "नमस्ते", "z̷͖̄ä̶̟́l̴̰̈́g̷̱͐o̸̗͛", family]
        {
            assert!(!is_cut(text) && matches!(drawn(text), Cow::Borrowed(_)), "{text}");
            assert_eq!(continued("é", text), text);
        }
        let marks = MARK.repeat(MOST - 1);
        assert!(!is_cut(&["a", &marks].concat()));
    }

    #[test]
    fn marks_that_come_one_by_one_are_cut_as_well() {
        let mut text = String::from("a");
        for _ in 0..1_000 {
            let more = continued(&text, MARK).into_owned();
            text.push_str(&more);
        }
        assert_eq!(text.chars().count(), MOST);
        assert_eq!(continued(&text, "\u{301}b"), "b");
        assert_eq!(continued("", "\u{301}b"), "\u{301}b");
    }
}
