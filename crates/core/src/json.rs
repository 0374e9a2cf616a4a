//! Reading and [writing](write()) JSON. Objects are read field by field. Goes in: a [`Value`]. Comes out: typed fields, or [`Wrong`], which names the one that
//! is not as it must be. What the fields mean is left to the types. Requests and options are read elsewhere: see [`read`](crate::read).
//!
//! The three types of which a log has thousands (entries, nodes, messages) read their fields as the parser meets them,
//! which takes a third of the time: see [`Name`].

mod write;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::{Map, Value};

use crate::MessageId;

pub use write::{to_text, write};

/// Why a value is not what is read from it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` must be {expected}")]
pub struct Wrong {
    /// The field.
    pub field: String,
    /// What it must be, such as `a string`.
    pub expected: String,
}

/// Why `field` is wrong.
pub fn wrong(field: &str, expected: &str) -> Wrong {
    Wrong { field: field.to_owned(), expected: expected.to_owned() }
}

/// The fields of an object that have not been taken yet. `null` counts as left out.
///
/// ```
/// use threadkeep_core::json::Object;
/// let mut fields = Object::of(serde_json::json!({"id": "m1", "size": 7}), "node")?;
/// assert_eq!(fields.text("id")?, "m1");
/// assert_eq!(fields.count("size")?, 7);
/// assert!(fields.text("gone").is_err());
/// # Ok::<(), threadkeep_core::json::Wrong>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object(Map<String, Value>);

impl Object {
    /// The fields of `value`, which is called `name`.
    ///
    /// # Errors
    /// It is no object.
    pub fn of(value: Value, name: &str) -> Result<Self, Wrong> {
        match value {
            Value::Object(map) => Ok(Self(map)),
            _ => Err(wrong(name, "an object")),
        }
    }

    /// Takes a field; [`Value::Null`] where there is none.
    pub fn take(&mut self, name: &str) -> Value {
        self.0.get_mut(name).map(Value::take).unwrap_or_default()
    }

    /// Takes the first field that there is, with its name.
    pub fn first(self) -> Option<(String, Value)> {
        self.0.into_iter().next()
    }

    /// The fields that are left, but for those of these names.
    pub fn rest(self, but: &[&str]) -> Map<String, Value> {
        self.0.into_iter().filter(|(name, _)| !but.contains(&name.as_str())).collect()
    }

    /// Takes a string, if it is there.
    ///
    /// # Errors
    /// It is something else.
    pub fn maybe_text(&mut self, name: &str) -> Result<Option<String>, Wrong> {
        match self.take(name) {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            _ => Err(wrong(name, "a string")),
        }
    }

    /// Takes a string.
    ///
    /// # Errors
    /// It is missing, or something else.
    pub fn text(&mut self, name: &str) -> Result<String, Wrong> {
        self.maybe_text(name)?.ok_or_else(|| wrong(name, "a string"))
    }

    /// Takes an id, if it is there.
    ///
    /// # Errors
    /// It is something else, or no id.
    pub fn maybe_id(&mut self, name: &str) -> Result<Option<MessageId>, Wrong> {
        match self.take(name) {
            Value::Null => Ok(None),
            value => id(&value, name).map(Some),
        }
    }

    /// Takes an id.
    ///
    /// # Errors
    /// It is missing, something else, or no id.
    pub fn id(&mut self, name: &str) -> Result<MessageId, Wrong> {
        id(&self.take(name), name)
    }

    /// Takes a time in milliseconds, if it is there.
    ///
    /// # Errors
    /// It is something else.
    pub fn maybe_time(&mut self, name: &str) -> Result<Option<i64>, Wrong> {
        match self.take(name) {
            Value::Null => Ok(None),
            value => value.as_i64().map(Some).ok_or_else(|| wrong(name, "a whole number")),
        }
    }

    /// Takes a whole number from 0 on, if it is there.
    ///
    /// # Errors
    /// It is something else.
    pub fn maybe_count(&mut self, name: &str) -> Result<Option<u64>, Wrong> {
        match self.take(name) {
            Value::Null => Ok(None),
            value => value.as_u64().map(Some).ok_or_else(|| wrong(name, "a whole number from 0 on")),
        }
    }

    /// Takes a whole number from 0 on.
    ///
    /// # Errors
    /// It is missing, or something else.
    pub fn count(&mut self, name: &str) -> Result<u64, Wrong> {
        self.maybe_count(name)?.ok_or_else(|| wrong(name, "a whole number from 0 on"))
    }

    /// Takes a number of 32 bits, if it is there.
    ///
    /// # Errors
    /// It is something else.
    pub fn maybe_small(&mut self, name: &str) -> Result<Option<u32>, Wrong> {
        match self.maybe_count(name)?.map(u32::try_from) {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) => Err(wrong(name, "a whole number from 0 to 4294967295")),
        }
    }

    /// Takes a number of 32 bits.
    ///
    /// # Errors
    /// It is missing, or something else.
    pub fn small(&mut self, name: &str) -> Result<u32, Wrong> {
        self.maybe_small(name)?.ok_or_else(|| wrong(name, "a whole number from 0 on"))
    }

    /// Takes a flag; one that is missing is `false`.
    ///
    /// # Errors
    /// It is something else.
    pub fn flag(&mut self, name: &str) -> Result<bool, Wrong> {
        match self.take(name) {
            Value::Null => Ok(false),
            Value::Bool(flag) => Ok(flag),
            _ => Err(wrong(name, "true or false")),
        }
    }

    /// Takes a list; one that is missing is empty.
    ///
    /// # Errors
    /// It is something else.
    pub fn list(&mut self, name: &str) -> Result<Vec<Value>, Wrong> {
        match self.take(name) {
            Value::Null => Ok(Vec::new()),
            Value::Array(list) => Ok(list),
            _ => Err(wrong(name, "a list")),
        }
    }

    /// Takes a list of ids; one that is missing is empty.
    ///
    /// # Errors
    /// It is something else, or one in it is no id.
    pub fn ids(&mut self, name: &str) -> Result<Vec<MessageId>, Wrong> {
        let mut ids = Vec::new();
        for value in self.list(name)? {
            ids.push(id(&value, name)?);
        }
        Ok(ids)
    }

    /// Takes an object; one that is missing is empty.
    ///
    /// # Errors
    /// It is something else.
    pub fn map(&mut self, name: &str) -> Result<Map<String, Value>, Wrong> {
        match self.take(name) {
            Value::Null => Ok(Map::new()),
            Value::Object(map) => Ok(map),
            _ => Err(wrong(name, "an object")),
        }
    }

    /// Takes an object, to be read in turn; one that is missing is empty.
    ///
    /// # Errors
    /// It is something else.
    pub fn object(&mut self, name: &str) -> Result<Self, Wrong> {
        self.map(name).map(Self)
    }
}

fn id(value: &Value, name: &str) -> Result<MessageId, Wrong> {
    let text = value.as_str().ok_or_else(|| wrong(name, "a string"))?;
    MessageId::new(text).map_err(|error| wrong(name, &format!("an id: {error}")))
}

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

/// Makes `$type` readable by serde: the whole value is parsed, and `$read`, a function of it, makes the type.
#[macro_export]
macro_rules! read_by_hand {
    ($type:ty, $read:expr) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <::serde_json::Value as ::serde::Deserialize>::deserialize(deserializer)?;
                $read(value).map_err(<D::Error as ::serde::de::Error>::custom)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object() -> Object {
        Object::of(json!({"text": "a", "id": "m", "n": 5, "minus": -5, "big": 5_000_000_000u64, "yes": true, "null": null, "list": [1], "ids": ["a"], "map": {"a": 1}, "empty": ""}), "it")
            .unwrap()
    }

    #[test]
    fn fields_are_taken_once() {
        let mut fields = object();
        assert_eq!(fields.text("text").unwrap(), "a");
        assert_eq!(fields.maybe_text("text").unwrap(), None);
        assert_eq!(fields.id("id").unwrap().as_str(), "m");
        assert_eq!(fields.small("n").unwrap(), 5);
        assert_eq!(fields.maybe_time("minus").unwrap(), Some(-5));
        assert_eq!(fields.count("big").unwrap(), 5_000_000_000);
        assert!(fields.flag("yes").unwrap() && !fields.flag("no").unwrap());
        assert_eq!(fields.maybe_text("null").unwrap(), None);
        assert_eq!(fields.list("list").unwrap(), [json!(1)]);
        assert_eq!(fields.ids("ids").unwrap().len(), 1);
        assert_eq!(fields.map("map").unwrap().len(), 1);
        assert!(fields.ids("nothing").unwrap().is_empty() && fields.map("nothing").unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |result: Result<(), Wrong>, field: &str, expected: &str| {
            let words = result.unwrap_err().to_string();
            assert!(words.contains(&format!("`{field}`")) && words.contains(expected), "{words}");
        };
        let mut fields = object();
        check(fields.text("gone").map(drop), "gone", "a string");
        check(fields.text("n").map(drop), "n", "a string");
        check(fields.id("empty").map(drop), "empty", "an id: an id must not be empty");
        check(fields.count("minus").map(drop), "minus", "from 0");
        check(fields.small("big").map(drop), "big", "4294967295");
        check(fields.flag("map").map(drop), "map", "true or false");
        check(fields.ids("list").map(drop), "list", "a string");
        check(Object::of(json!([]), "it").map(drop), "it", "an object");
    }
}
