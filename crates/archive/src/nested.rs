//! Trees that are written as objects within objects, each with a list of its children: taken apart into a flat list, from the
//! text and without recursion, so that a conversation of any depth is read, and each byte is looked at once or twice.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::report::Report;
use super::{clean, unreadable};

/// An object of the tree, without its children.
#[derive(Debug)]
pub(super) struct Nested<'a> {
    /// The object that holds it, as an index into the list; `None` at the top.
    pub parent: Option<usize>,
    fields: Vec<(Cow<'a, str>, &'a str)>,
}

impl Nested<'_> {
    /// Its fields as values; what cannot be read is reported and left out.
    pub fn map(&self, place: &str, report: &mut Report) -> Map<String, Value> {
        let mut map = Map::new();
        for (name, raw) in &self.fields {
            match clean::value(raw) {
                Ok(value) => drop(map.insert(name.clone().into_owned(), value)),
                Err(error) => {
                    let (code, reason) = unreadable(&error);
                    report.warn(place, code, format!("its field `{name}` {reason} and is left out"));
                }
            }
        }
        map
    }
}

/// Takes apart an object, or a list of objects, whose children lie in the field `children`. The text must be JSON. The second
/// number counts what was no object where one belongs.
pub(super) fn flatten<'a>(text: &'a str, children: &str) -> (Vec<Nested<'a>>, u64) {
    let bytes = text.as_bytes();
    let (mut nodes, mut strays): (Vec<Nested>, u64) = (Vec::new(), 0);
    // The objects that are open, and whether the innermost thing that is open is a list of them.
    let (mut open, mut in_list): (Vec<usize>, bool) = (Vec::new(), true);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' if in_list => {
                nodes.push(Nested { parent: open.last().copied(), fields: Vec::new() });
                open.push(nodes.len() - 1);
                in_list = false;
                at += 1;
            }
            b'[' if in_list && nodes.is_empty() && at == 0 => at += 1,
            b'}' => {
                open.pop();
                in_list = true;
                at += 1;
            }
            b']' => {
                in_list = false;
                at += 1;
            }
            b' ' | b'\t' | b'\r' | b'\n' | b',' => at += 1,
            b'"' if !in_list => {
                let end = string_end(bytes, at);
                let name = &text[at..end];
                let inner = name.get(1..name.len().saturating_sub(1)).unwrap_or_default();
                let name: Cow<str> = if inner.contains('\\') {
                    Cow::Owned(serde_json::from_str(name).unwrap_or_else(|_| inner.to_owned()))
                } else {
                    Cow::Borrowed(inner)
                };
                at = end;
                while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n' | b':')) {
                    at += 1;
                }
                if name == children && bytes.get(at) == Some(&b'[') {
                    in_list = true;
                    at += 1;
                    continue;
                }
                let end = value_end(bytes, at);
                if let Some(node) = open.last() {
                    nodes[*node].fields.push((name, &text[at..end]));
                }
                at = end;
            }
            _ => {
                strays += 1;
                at = value_end(bytes, at).max(at + 1);
            }
        }
    }
    (nodes, strays)
}

/// The end of the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(ahead) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += ahead;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// The end of the value that begins at `at`.
fn value_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0u64;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_within_objects() {
        let text = r#"[ {"id":"a","x":{"kids":[1]},"kids":[{"id":"b, }]","kids":[]},5,{"kids":[{"id":"\"c"}],"id":"d"}]} , {"id":"e"}]"#;
        let (nodes, strays) = flatten(text, "kids");
        let id = |node: &Nested| node.fields.iter().find(|(name, _)| name == "id").unwrap().1.to_owned();
        let found: Vec<_> = nodes.iter().map(|node| (id(node), node.parent)).collect();
        let expected =
            [("\"a\"", None), ("\"b, }]\"", Some(0)), ("\"d\"", Some(0)), ("\"\\\"c\"", Some(2)), ("\"e\"", None)];
        assert_eq!(found, expected.map(|(id, parent)| (id.to_owned(), parent)));
        assert_eq!((strays, nodes[0].fields.len()), (1, 2));
        assert_eq!(flatten(r#"{"id":1,"kids":[{"id":2}]}"#, "kids").0.len(), 2);
    }

    #[test]
    fn text_that_is_no_json_ends() {
        for text in ["{", "[", "{\"a", "{\"a\":", "{\"kids\":[", "]]]}}}", "{\"a\\", ":::", "{\"kids\":[[[{]"] {
            let _ = flatten(text, "kids");
        }
    }
}
