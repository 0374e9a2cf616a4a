//! JSON as a log has it: [written](write()) quickly, and [scanned](Line) without being read. Each message that is stored or given back comes
//! through here, so this crate is compiled for speed, and those that use it for size. Types are read by serde.

mod line;
mod write;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::Value;

pub use line::{Line, unescaped};
pub use write::{own_text, own_value, to_text, write};

/// Whether at most `levels` lists and objects lie inside one another in `value`.
pub fn within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(list) => levels > 0 && list.iter().all(|value| within(value, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|value| within(value, levels - 1)),
        _ => true,
    }
}

/// The name of a field, borrowed from the text that is parsed where nothing in it is escaped.
#[derive(Debug)]
pub struct Name<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
                words.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
