//! The path to the value that a derived reader did not take. The reader itself does not know it. So the JSON text is read again with fewer
//! parts: the error is that of the first part with which it comes, and so on inside of that part. The number of readings grows with the
//! logarithm of the number of parts, and a text that is right is read once.
//!
//! The alternative, a reader around the reader that notes the path (`serde_path_to_error`), compiles all types once more: 50 KB gzipped.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use threadkeep_json::Name;

/// Reads a text as before, and gives its error.
pub(super) type Again<'a> = &'a dyn Fn(&str) -> Option<serde_json::Error>;

/// What an error says, without the place in the text.
pub(super) fn said(error: &serde_json::Error) -> String {
    let mut words = error.to_string();
    if error.line() > 0
        && let Some(end) = words.rfind(" at line ")
    {
        words.truncate(end);
    }
    words
}

/// Values of which most readers take one.
const ANY: [&str; 4] = ["null", "false", "0", "\"a\""];

/// Adds the path to the value of which `words` is said.
pub(super) fn to_culprit(text: &str, words: &str, again: Again<'_>, argument: &mut String) {
    let error = |parts: &[&str]| again(&parts.concat()).map(|error| said(&error));
    let fails = |parts: &[&str]| error(parts).is_some_and(|said| said == words);
    // A field is missing in an object: the innermost one.
    let missing = words.starts_with("missing field");
    let of_parts = missing || words.starts_with("invalid length");
    let (mut before, mut after) = (String::new(), String::new());
    let mut object = argument.len();
    let mut rest = text.trim();
    while let Ok(parts) = parts(rest) {
        if rest.starts_with('{') {
            object = argument.len();
        }
        let (open, close) = rest.split_at(1);
        let close = &close[close.len().saturating_sub(1)..];
        let first = |count: usize| parts[..count].iter().map(|part| &*part.text).collect::<Vec<_>>().join(",");
        let with = |count: usize| fails(&[&before, open, &first(count), close, &after]);
        if with(0) || !with(parts.len()) {
            break;
        }
        let (mut without, mut has) = (0, parts.len());
        while has - without > 1 {
            let half = without.midpoint(has);
            if with(half) { has = half } else { without = half }
        }
        let culprit = &parts[has - 1];
        let comma = if has > 1 { "," } else { "" };
        let begun = [&before, open, &first(has - 1), comma, &culprit.name].concat();
        after.insert_str(0, close);
        let other = |value| error(&[&begun, value, &after]);
        let same = |value| other(value).is_some_and(|said| said == words);
        // The whole is wrong, whatever this part is: its name is, say, or another part is missing.
        let whole = match culprit.value.as_bytes().first() {
            Some(b'[') if of_parts => same("[]"),
            Some(b'{') if of_parts => same("null"),
            _ if of_parts => true,
            _ => culprit.key.is_some() && culprit.value != "null" && ANY.iter().all(|value| same(value)),
        };
        if whole {
            break;
        }
        match &culprit.key {
            Some(key) => add(argument, key),
            None => argument.extend(["[", &(has - 1).to_string(), "]"]),
        }
        // A value with rules of its own, which also say what is wrong with any other value: they mean all of it.
        if is_rule(words) && other("false").is_some_and(|said| is_rule(&said)) {
            return;
        }
        (before, rest) = (begun, culprit.value);
    }
    if missing {
        argument.truncate(object);
    }
}

/// Whether an error is not one of the derived readers.
fn is_rule(words: &str) -> bool {
    !["invalid ", "missing ", "unknown ", "duplicate "].iter().any(|begin| words.starts_with(begin))
}

/// Adds the name of a field to the path of its object.
pub(super) fn add(argument: &mut String, key: &str) {
    if !argument.is_empty() {
        argument.push('.');
    }
    argument.push_str(key);
}

/// A part of a list or an object.
struct Part<'t> {
    key: Option<String>,
    /// What stands before the value: the key as JSON with its colon, or nothing.
    name: String,
    value: &'t str,
    /// Name and value.
    text: String,
}

impl<'t> Part<'t> {
    fn new((key, value): (Option<String>, &'t str)) -> Result<Self, serde_json::Error> {
        let name = match &key {
            Some(key) => serde_json::to_string(key)? + ":",
            None => String::new(),
        };
        Ok(Self { key, text: [&*name, value].concat(), name, value })
    }
}

/// The parts of a list or an object. The error is any, for what is neither.
fn parts(text: &str) -> Result<Vec<Part<'_>>, serde_json::Error> {
    let fields = if text.starts_with('[') {
        let values: Vec<&RawValue> = serde_json::from_str(text)?;
        values.into_iter().map(|value| (None, value.get())).collect()
    } else {
        serde_json::from_str::<Fields>(text)?.0
    };
    fields.into_iter().map(Part::new).collect()
}

/// The fields of an object, as many as there are of one name.
struct Fields<'t>(Vec<(Option<String>, &'t str)>);

impl<'de: 't, 't> Deserialize<'de> for Fields<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Fields<'de>;

            fn expecting(&self, words: &mut std::fmt::Formatter) -> std::fmt::Result {
                words.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    fields.push((Some(name.into_owned()), map.next_value::<&RawValue>()?.get()));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(All)
    }
}
