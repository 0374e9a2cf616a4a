//! A reader of Lisp forms as PTC-Lisp and Clojure write them.
//!
//! Goes in: any text. Comes out: its forms as one flat list in reading order, in which each form says where the next one
//! beside it is; so forms nested to any depth are read and walked in loops, without recursion. Reading never fails: it
//! ends before the first top-level form that is not closed as it was opened. What forms mean is left to `definitions`.

/// What a form is, as far as it can be told without running it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `( … )`
    List,
    /// `[ … ]`
    Vector,
    /// `{ … }`
    Map,
    /// `#{ … }`
    Set,
    /// `#( … )`
    Lambda,
    /// `"…"`
    Text,
    /// A symbol, keyword, number or character, or a regular expression `#"…"`.
    Atom,
    /// A quote or another mark before a form, or a tag (`#inst`) with its form; the form is inside.
    Marked,
    /// `^meta form`, both inside.
    Meta,
    /// `#_ form`, the form inside: a comment.
    Discarded,
}

/// One form of a text. The forms inside it follow it in the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<'a> {
    pub shape: Shape,
    /// The source of a text (between its quotes, escapes as written) and of an atom other than a regular expression; else `""`.
    pub source: &'a str,
    /// The index of the first form behind this one and all that is inside it.
    pub after: usize,
}

/// A form that is still open: it ends at a bracket, or with the last of so many forms.
struct Open {
    index: usize,
    ends: Ends,
}

enum Ends {
    At(u8),
    In(u8),
}

/// The forms of `text`.
pub(super) fn read(text: &str) -> Vec<Form<'_>> {
    let bytes = text.as_bytes();
    let (mut forms, mut open): (Vec<Form<'_>>, Vec<Open>) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        // How long the beginning of the form is, and what it opens.
        let (length, shape, ends) = match (byte, next) {
            (byte, _) if is_space(byte) => {
                at += 1;
                continue;
            }
            (b';', _) | (b'#', b'!') => {
                at = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |line| at + line);
                continue;
            }
            (b')' | b']' | b'}', _) => {
                // Marks that wait for a form end here without it.
                while let Some(mark) = open.pop_if(|last| matches!(last.ends, Ends::In(_))) {
                    forms[mark.index].after = forms.len();
                }
                let Some(closed) = open.pop_if(|last| matches!(last.ends, Ends::At(closer) if closer == byte)) else {
                    break;
                };
                forms[closed.index].after = forms.len();
                at += 1;
                finished(&mut forms, &mut open);
                continue;
            }
            (b'(', _) => (1, Shape::List, Ends::At(b')')),
            (b'[', _) => (1, Shape::Vector, Ends::At(b']')),
            (b'{', _) => (1, Shape::Map, Ends::At(b'}')),
            (b'#', b'{') => (2, Shape::Set, Ends::At(b'}')),
            (b'#', b'(') => (2, Shape::Lambda, Ends::At(b')')),
            (b'#', b'_') => (2, Shape::Discarded, Ends::In(1)),
            (b'#', b'^') => (2, Shape::Meta, Ends::In(2)),
            (b'^', _) => (1, Shape::Meta, Ends::In(2)),
            (b'\'' | b'`' | b'~' | b'@', _) => (1, Shape::Marked, Ends::In(1)),
            (b'#', b'\'') => (2, Shape::Marked, Ends::In(1)),
            (b'"', _) | (b'#', b'"') => {
                let start = at + if byte == b'"' { 1 } else { 2 };
                let Some(length) = text_length(&bytes[start..]) else { break };
                let source = &text[start..start + length];
                let (shape, source) = if byte == b'"' { (Shape::Text, source) } else { (Shape::Atom, "") };
                forms.push(Form { shape, source, after: forms.len() + 1 });
                at = start + length + 1;
                finished(&mut forms, &mut open);
                continue;
            }
            // `##Inf` is a number; any other `#` tags the form that comes after the next one.
            (b'#', next) if next != b'#' => (1, Shape::Marked, Ends::In(2)),
            _ => {
                let length = atom_length(&text[at..]);
                forms.push(Form { shape: Shape::Atom, source: &text[at..at + length], after: forms.len() + 1 });
                at += length;
                finished(&mut forms, &mut open);
                continue;
            }
        };
        open.push(Open { index: forms.len(), ends });
        forms.push(Form { shape, source: "", after: 0 });
        at += length;
    }
    if let Some(first) = open.first() {
        forms.truncate(first.index);
    }
    forms
}

/// The forms beside each other in `forms[from..to]`, without those that are discarded.
pub(super) fn siblings(forms: &[Form<'_>], from: usize, to: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = from;
    while at < to {
        if forms[at].shape != Shape::Discarded {
            found.push(at);
        }
        at = forms[at].after;
    }
    found
}

/// A form is complete: marks that waited for it are too, unless it was discarded.
fn finished(forms: &mut [Form<'_>], open: &mut Vec<Open>) {
    while let Some(Open { ends: Ends::In(left), index }) = open.last_mut() {
        *left -= 1;
        if *left > 0 {
            break;
        }
        forms[*index].after = forms.len();
        let discarded = forms[*index].shape == Shape::Discarded;
        open.pop();
        if discarded {
            break;
        }
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b',' || byte == 0x0b
}

/// How many bytes precede the quote that ends a text; `None` when it does not end.
fn text_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// How many bytes the atom at the beginning of `text` has, at least one character.
fn atom_length(text: &str) -> usize {
    // Whatever follows a backslash is a character, brackets and quotes included.
    let certain = if text.starts_with('\\') { 2 } else { 1 };
    let least = text.char_indices().nth(certain).map_or(text.len(), |(at, _)| at);
    let ends = |byte: u8| is_space(byte) || b"()[]{}\";@^`~\\".contains(&byte);
    text[least..].bytes().position(ends).map_or(text.len(), |length| least + length)
}
