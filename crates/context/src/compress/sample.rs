//! Samples: what a summary shows of a value, so that a model knows what it can do with it.
//!
//! Goes in: a JSON value. Comes out: a type word and a short piece of the value on one line. One rule for all values:
//!
//! - A value has a **type word**: `string`, `integer`, `float`, `boolean`, `nil`, `list[n]` or `map[n]` with the number of
//!   its entries.
//! - A **text** shows its first line, up to 32 characters; `...` stands for the rest. Inside a list or a map a text of more
//!   than 16 characters or one line is `"..."`.
//! - A **list** shows its first item, for the others are mostly like it. Inside another value a list shows up to three
//!   places, as does a **map** anywhere; of more than three, the first two and `...`.
//! - Two levels of lists and maps show their entries, if that takes no more than 120 characters, otherwise one level does;
//!   what lies deeper shows its type word. Keys show up to 32 characters.
//! - `nil`, an empty list and an empty map have no sample: the type says it all.
//!
//! | value | shown as |
//! |---|---|
//! | `"Customer Review Summary for Electronics"` | `string, sample: "Customer Review Summary for Elec..."` |
//! | `[{"name": "Alice", "email": "alice@example.com"}, …]` | `list[5], sample: %{name: "Alice", email: "..."}` |
//! | `{"name": "Laptop", "price": 1200, "stock": 3, "tags": []}` | `map[4], sample: %{name: "Laptop", price: 1200, ...}` |
//! | `{"user": {"id": 7, "roles": ["a", "b", {}, "d"]}}` | `map[1], sample: %{user: %{id: 7, roles: list[4]}}` |
//! | `[["a", 1.5], …]` | `list[9], sample: ["a", 1.5]` |
//! | `42` | `integer, sample: 42` |
//! | `[]` | `list[0]` |

use serde_json::Value;

/// The longest text on its own, and the longest key, in characters.
const TEXT: usize = 32;
/// The longest text inside a list or a map, in characters.
const INNER_TEXT: usize = 16;
/// How many entries a list or a map shows at most.
const PLACES: usize = 3;
/// The longest sample of two levels, in bytes.
const TWO_LEVELS: usize = 120;

/// The type word of a value.
pub(super) fn type_of(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(number) if number.is_f64() => "float".to_owned(),
        Value::Number(_) => "integer".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => counted("list", items.len()),
        Value::Object(fields) => counted("map", fields.len()),
    }
}

/// The sample of a value; `None` where the type word says it all.
pub(super) fn sample_of(value: &Value) -> Option<String> {
    let shown = match value {
        Value::Null => return None,
        Value::Object(fields) if fields.is_empty() => return None,
        Value::Array(items) => items.first()?,
        other => other,
    };
    let mut sample = String::new();
    if let Value::String(text) = shown {
        let text = text.trim_start_matches(['\n', '\r']);
        quote_cut(text, text.find(['\n', '\r']).unwrap_or(text.len()), &mut sample);
        return Some(sample);
    }
    write(shown, 2, &mut sample);
    if sample.len() > TWO_LEVELS {
        sample.clear();
        write(shown, 1, &mut sample);
    }
    Some(sample)
}

/// `text` in double quotes, on one line: quotes and backslashes are escaped, control characters become spaces.
pub(super) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        if matches!(char, '"' | '\\') {
            out.push('\\');
        }
        out.push(if char.is_control() { ' ' } else { char });
    }
    out.push('"');
}

/// Writes a value with the entries of so many `levels` of lists and maps.
fn write(value: &Value, levels: u8, out: &mut String) {
    match value {
        Value::Null => out.push_str("nil"),
        Value::String(text) if text.chars().count() > INNER_TEXT || text.contains(['\n', '\r']) => {
            out.push_str("\"...\"")
        }
        Value::String(text) => quote(text, out),
        Value::Array(items) if levels > 0 => {
            out.push('[');
            places(items.len(), out, &mut |index, out| write(&items[index], levels - 1, out));
            out.push(']');
        }
        Value::Object(fields) if levels > 0 => {
            out.push_str("%{");
            let mut fields_left = fields.iter();
            places(fields.len(), out, &mut |_, out| {
                if let Some((name, value)) = fields_left.next() {
                    key(name, out);
                    out.push_str(": ");
                    write(value, levels - 1, out);
                }
            });
            out.push('}');
        }
        Value::Array(_) | Value::Object(_) => out.push_str(&type_of(value)),
        Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

/// Writes `count` entries with commas: all of up to three, otherwise the first two and `...`.
fn places(count: usize, out: &mut String, entry: &mut dyn FnMut(usize, &mut String)) {
    for index in 0..count.min(PLACES) {
        if index > 0 {
            out.push_str(", ");
        }
        if index + 1 == PLACES && count > PLACES {
            out.push_str("...");
        } else {
            entry(index, out);
        }
    }
}

/// A key as it is where it reads as one word, otherwise in quotes.
fn key(name: &str, out: &mut String) {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-?!*/.".contains(&byte);
    if !name.is_empty() && name.bytes().all(word) && name.len() <= TEXT {
        out.push_str(name);
    } else {
        quote_cut(name, name.len(), out);
    }
}

/// Quotes the first `end` bytes of `text`, up to 32 characters of them, and `...` if that is not all.
fn quote_cut(text: &str, end: usize, out: &mut String) {
    let cut = text[..end].char_indices().nth(TEXT).map_or(end, |(at, _)| at);
    quote(&text[..cut], out);
    if cut < text.len() {
        out.insert_str(out.len() - 1, "...");
    }
}

fn counted(word: &str, count: usize) -> String {
    format!("{word}[{count}]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(value: Value, expected: &str) {
        let sample = sample_of(&value).map_or_else(String::new, |sample| format!(", sample: {sample}"));
        assert_eq!(type_of(&value) + &sample, expected);
    }

    #[test]
    fn type_words() {
        check(json!(null), "nil");
        check(json!(true), "boolean, sample: true");
        check(json!(42), "integer, sample: 42");
        check(json!(u64::MAX), "integer, sample: 18446744073709551615");
        check(json!(1.0), "float, sample: 1.0");
        check(json!("hi"), r#"string, sample: "hi""#);
        check(json!([]), "list[0]");
        check(json!({}), "map[0]");
        check(json!([null]), "list[1], sample: nil");
    }

    #[test]
    fn texts_are_cut_at_32_characters_or_the_end_of_the_line() {
        check(
            json!("Customer Review Summary for Electronics"),
            r#"string, sample: "Customer Review Summary for Elec...""#,
        );
        check(
            json!("Warehouse Inventory Report:\nLaptop - 23 units"),
            r#"string, sample: "Warehouse Inventory Report:...""#,
        );
        check(json!("\n\nfirst"), r#"string, sample: "first""#);
        check(json!("line\n"), r#"string, sample: "line...""#);
        check(json!("ü".repeat(32)), &format!(r#"string, sample: "{}""#, "ü".repeat(32)));
        check(json!("ü".repeat(33)), &format!(r#"string, sample: "{}...""#, "ü".repeat(32)));
        check(json!("say \"a\\b\"\t."), r#"string, sample: "say \"a\\b\" .""#);
        check(json!(["a text of more than sixteen"]), r#"list[1], sample: "a text of more than sixteen""#);
    }

    #[test]
    fn lists_show_their_first_item() {
        check(
            json!([{"name": "Alice", "email": "alice@example.com"}, 2, 3, 4, 5]),
            r#"list[5], sample: %{name: "Alice", email: "..."}"#,
        );
        check(json!([["a", 1.5]]), r#"list[1], sample: ["a", 1.5]"#);
        check(json!([[], {}]), "list[2], sample: []");
    }

    #[test]
    fn maps_show_three_places() {
        check(
            json!({"name": "Laptop", "price": 1200, "category": "Electronics"}),
            r#"map[3], sample: %{name: "Laptop", price: 1200, category: "Electronics"}"#,
        );
        check(
            json!({"name": "Laptop", "price": 1200, "stock": 3, "tags": []}),
            r#"map[4], sample: %{name: "Laptop", price: 1200, ...}"#,
        );
        check(
            json!({"first-name": 1, "two words": 2, "": null}),
            r#"map[3], sample: %{first-name: 1, "two words": 2, "": nil}"#,
        );
        let long = "k".repeat(40);
        check(json!({long: 1}), &format!(r#"map[1], sample: %{{"{}...": 1}}"#, "k".repeat(32)));
    }

    #[test]
    fn two_levels_if_they_are_short() {
        check(
            json!({"user": {"id": 7, "roles": ["a", "b", {}, "d"]}}),
            "map[1], sample: %{user: %{id: 7, roles: list[4]}}",
        );
        check(json!({"at": [1, 2, 3, 4]}), "map[1], sample: %{at: [1, 2, ...]}");
        let inner = json!({"a name of some length": "0123456789", "b name of some length": "0123456789"});
        check(json!({"x": inner, "y": inner, "z": [1]}), "map[3], sample: %{x: map[2], y: map[2], z: list[1]}");
    }
}
