//! Markup as the page's views are written: elements, attributes and words, with `{}` wherever something comes in from the
//! program. A text in, [`Token`]s out; [`slots`] checks the text while the program is compiled, so reading it needs no
//! errors. As text it is a third of the code that would make the same elements call by call.
//!
//! An element ends with its closing tag or `/>`; values stand in double quotes; a line break and the blanks around it are
//! nothing beside a tag and one blank between words.

/// One step of a markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// An element begins; what follows is its attributes, then what is in it.
    Open(&'a str),
    /// An attribute with its value; empty where it has none.
    Attribute(&'a str, &'a str),
    /// An attribute whose value is the next slot.
    AttributeSlot(&'a str),
    /// A stretch of words on one line.
    Words(&'a str),
    /// The next slot.
    Slot,
    /// The innermost element ends.
    Close,
}

/// Reads a markup from front to back.
#[derive(Debug, Clone)]
pub struct Tokens<'a> {
    rest: &'a str,
    in_tag: bool,
}

impl<'a> Tokens<'a> {
    /// The tokens of a markup that [`slots`] has passed.
    pub fn new(markup: &'a str) -> Self {
        Self { rest: markup, in_tag: false }
    }

    /// Takes what comes before the first of `ends`.
    fn until(&mut self, ends: &[u8]) -> &'a str {
        let end = self.rest.bytes().position(|byte| ends.contains(&byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn skip(&mut self, what: &str) -> bool {
        let rest = self.rest.strip_prefix(what);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if self.in_tag {
            self.rest = self.rest.trim_start();
            if self.skip("/>") {
                self.in_tag = false;
                return Some(Token::Close);
            }
            if !self.skip(">") {
                let name = self.until(b"=/> \n");
                return Some(if self.skip("={}") {
                    Token::AttributeSlot(name)
                } else if self.skip("=\"") {
                    let value = self.until(b"\"");
                    self.skip("\"");
                    Token::Attribute(name, value)
                } else {
                    Token::Attribute(name, "")
                });
            }
            self.in_tag = false;
        }
        if self.rest.is_empty() {
            None
        } else if self.skip("{}") {
            Some(Token::Slot)
        } else if self.skip("</") {
            self.until(b">");
            self.skip(">");
            Some(Token::Close)
        } else if self.skip("<") {
            self.in_tag = true;
            Some(Token::Open(self.until(b"/> \n")))
        } else {
            let bytes = self.rest.as_bytes();
            let ends = |at: &usize| bytes[*at] == b'<' || bytes[*at..].starts_with(b"{}");
            let end = (0..bytes.len()).find(ends).unwrap_or(bytes.len());
            let (words, rest) = self.rest.split_at(end);
            self.rest = rest;
            Some(Token::Words(words))
        }
    }
}

/// The words of a [`Token::Words`]: a line break with the blanks around it is one blank between words, and nothing beside a
/// tag or a slot.
pub fn words(raw: &str) -> String {
    let mut out = String::new();
    for (at, line) in raw.split('\n').enumerate() {
        let line = if at > 0 { line.trim_start() } else { line };
        if at > 0 && !out.is_empty() && !line.is_empty() {
            out.push(' ');
        }
        out.push_str(line);
    }
    out
}

/// How many slots a markup has. Evaluated while the program is compiled, where a panic is an error at the markup's place.
///
/// # Panics
/// For elements that do not end, or end under another name, or nest more than 32 deep.
pub const fn slots(markup: &str) -> usize {
    let text = markup.as_bytes();
    // Where the name of each open element begins.
    let mut open = [0; 32];
    let (mut at, mut depth, mut slots, mut in_tag) = (0, 0, 0, false);
    while at < text.len() {
        let next = if at + 1 < text.len() { text[at + 1] } else { 0 };
        match text[at] {
            b'{' if next == b'}' => {
                slots += 1;
                at += 2;
            }
            b'<' if next == b'/' => {
                assert!(!in_tag && depth > 0, "a closing tag without its element");
                depth -= 1;
                let mut letter = 0;
                while text[at + 2 + letter] != b'>' {
                    assert!(text[open[depth] + letter] == text[at + 2 + letter], "a closing tag of another name");
                    letter += 1;
                }
                assert!(matches!(text[open[depth] + letter], b' ' | b'\n' | b'>'), "a closing tag of another name");
                at += 3 + letter;
            }
            b'<' => {
                assert!(!in_tag, "a tag in a tag");
                open[depth] = at + 1;
                depth += 1;
                in_tag = true;
                at += 1;
            }
            b'/' if in_tag && next == b'>' => {
                depth -= 1;
                in_tag = false;
                at += 2;
            }
            b'>' if in_tag => {
                in_tag = false;
                at += 1;
            }
            b'"' if in_tag => {
                at += 1;
                while text[at] != b'"' {
                    at += 1;
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    assert!(depth == 0 && !in_tag, "an element without its end");
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(markup: &str) -> Vec<Token<'_>> {
        assert!(slots(markup) < 9);
        Tokens::new(markup).collect()
    }

    #[test]
    fn elements_attributes_words_and_slots() {
        use Token::*;
        assert_eq!(
            read("<p class=\"a b\" hidden title={}>One {}<img alt=\"\"/></p>\n"),
            [
                Open("p"),
                Attribute("class", "a b"),
                Attribute("hidden", ""),
                AttributeSlot("title"),
                Words("One "),
                Slot,
                Open("img"),
                Attribute("alt", ""),
                Close,
                Close,
                Words("\n")
            ]
        );
        assert_eq!(
            read("<a\n  href=\"x/>y\"\n>{ […] }</a>"),
            [Open("a"), Attribute("href", "x/>y"), Words("{ […] }"), Close]
        );
        assert_eq!(read(""), []);
    }

    #[test]
    fn line_breaks_are_blanks_between_words() {
        assert_eq!(words("\n   One\n   two\n  "), "One two");
        assert_eq!(words("One "), "One ");
        assert_eq!(words(" "), " ");
        assert_eq!(words("\n  \n"), "");
    }

    #[test]
    fn slots_are_counted_and_mistakes_found() {
        assert_eq!(slots("<a b={}>{}</a>{}"), 3);
        for wrong in ["<a>", "</a>", "<a></b>", "<a></ab>", "<ab></a>", "<a", "<a b=\"", "<a <b/>/>"] {
            assert!(std::panic::catch_unwind(|| slots(wrong)).is_err(), "{wrong}");
        }
    }
}
