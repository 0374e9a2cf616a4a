//! Objects and arrays of raw JSON: the outer layer is read, what lies inside stays text until it is wanted. So one node is in
//! memory as values at a time, and damage inside one costs only that one.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The fields of an object, in their order, repeated names included. A value is raw text unless something else is asked for.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a, V = &'a RawValue>(pub Vec<(Cow<'a, str>, V)>);

impl<'a> Fields<'a> {
    /// Reads the outer layer of an object.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The raw text of a field; of a repeated one, the last. `null` is none.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.raw(name).filter(|raw| *raw != "null")
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, raw)| raw.get())
    }

    /// Whether there is such a field, be it `null`.
    pub fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// A field that is a string.
    pub fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(Cow::into_owned)
    }

    /// A field that is a string, borrowed where it can be.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let raw = self.get(name).filter(|raw| raw.starts_with('"'))?;
        serde_json::from_str(raw).ok().map(|Key(text)| text)
    }

    /// A field as a value; `None` where it is missing, null or nested too deeply.
    pub fn value(&self, name: &str) -> Option<Value> {
        self.get(name).and_then(|raw| super::clean::value(raw).ok())
    }

    /// A field that is an object, its outer layer.
    pub fn object(&self, name: &str) -> Option<Fields<'a>> {
        self.get(name).filter(|raw| raw.starts_with('{')).and_then(|raw| Self::parse(raw).ok())
    }

    /// A field that is an array, its outer layer.
    pub fn array(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        self.get(name).and_then(array)
    }

    /// The first element of an array field, if that is an object.
    pub fn first_of(&self, name: &str) -> Option<Fields<'a>> {
        let raw = self.get(name)?;
        if !raw.starts_with('[') {
            return None;
        }
        let First(first) = serde_json::from_str(raw).ok()?;
        Self::parse(first?.get()).ok()
    }
}

/// The elements of an array; `None` where it is none.
pub(super) fn array(raw: &str) -> Option<Vec<&RawValue>> {
    if raw.starts_with('[') { serde_json::from_str(raw).ok() } else { None }
}

impl<V> Default for Fields<'_, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Fields<'a, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Outer<'a, V>(PhantomData<Fields<'a, V>>);
        impl<'de: 'a, 'a, V: Deserialize<'de>> Visitor<'de> for Outer<'a, V> {
            type Value = Fields<'a, V>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    fields.push((key, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Outer(PhantomData))
    }
}

/// A key, or another string, that borrows where it can.
pub(super) struct Key<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Text<'a> {
            type Value = Key<'a>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text(PhantomData))
    }
}

/// The first element of an array; the others are only passed over.
struct First<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for First<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Outer<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Outer<'a> {
            type Value = First<'a>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let first = seq.next_element()?;
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }
        deserializer.deserialize_seq(Outer(PhantomData))
    }
}

/// Whether raw JSON is the string `text`.
pub(super) fn is_string(raw: &str, text: &str) -> bool {
    raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) == Some(text)
        || raw.contains('\\') && serde_json::from_str::<Key>(raw).is_ok_and(|Key(said)| said == text)
}

/// The string in a field of a value.
pub(super) fn text_of<'v>(map: &'v Map<String, Value>, name: &str) -> Option<&'v str> {
    map.get(name).and_then(Value::as_str)
}

/// Whether a value says nothing: null, false, `""`, `[]` or `{}`.
pub(super) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(_) => false,
    }
}
