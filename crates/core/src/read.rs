//! Reading requests and options: plain types with serde's derived readers. Goes in: the JSON text that a caller wrote. Comes out: the
//! type, or a [`BadRequest`], which names the option with its path and says what it must be.
//!
//! A set of requests is an enum. Its variants are the methods, their fields the parameters: see [`request`] and [`methods`].

mod path;

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{Error as NoReader, MapAccessDeserializer, StrDeserializer};
use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde::ser::{Serialize, Serializer};
use serde_json::error::Category;
use serde_json::value::RawValue;

use self::path::{Again, add};
use threadkeep_json::Name;

/// Why a request cannot be carried out: the argument, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRequest {
    /// The parameter or option, such as `options.budget.maxTokens`. It is empty for the request as a whole.
    pub argument: String,
    /// What is wrong, in words that follow the argument's name.
    pub why: String,
}

impl fmt::Display for BadRequest {
    fn fmt(&self, words: &mut fmt::Formatter) -> fmt::Result {
        if self.argument.is_empty() {
            return words.write_str(&self.why);
        }
        write!(words, "{} {}", self.argument, self.why)
    }
}

impl std::error::Error for BadRequest {}

/// A [`BadRequest`], as the result of a check.
///
/// # Errors
/// Always.
pub fn bad<T>(argument: impl Into<String>, why: impl Into<String>) -> Result<T, BadRequest> {
    Err(BadRequest { argument: argument.into(), why: why.into() })
}

/// Reads options: JSON text of an object, or `null` for none. Errors call the object `name`.
///
/// ```
/// use serde::Deserialize;
/// use threadkeep_core::read::options;
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Options {
///     limit: Option<u32>,
/// }
/// assert_eq!(options::<Options>(r#"{"limit": 0}"#, "options")?.limit, Some(0));
/// let error = options::<Options>(r#"{"limit": -1}"#, "options").err().unwrap();
/// assert_eq!(error.to_string(), "options.limit must be a whole number from 0 to 4294967295");
/// # Ok::<(), threadkeep_core::read::BadRequest>(())
/// ```
///
/// # Errors
/// [`BadRequest`] names the first option that is not known, or is not what it must be.
pub fn options<T: DeserializeOwned>(text: &str, name: &str) -> Result<T, BadRequest> {
    let text = if text.trim() == "null" { "{}" } else { text };
    let read = |text: &str| whole(text, |json| Object::deserialize(json).map(|Object(options)| options));
    read(text).map_err(|error| explained(name, text, &error, &|text| read(text).err()))
}

/// Reads a request: the name of a method, which is a variant of the enum `T`, and JSON text of its parameters.
///
/// # Errors
/// [`BadRequest`] for a method that is not known, and for a parameter that is missing, not known, or not what it must be.
pub fn request<T: DeserializeOwned>(method: &str, params: &str) -> Result<T, BadRequest> {
    if !methods::<T>().contains(&method) {
        return bad("method", format!("{method:?} is not known"));
    }
    let read = |text: &str| whole(text, |json| json.deserialize_map(Call(method, PhantomData)));
    read(params).map_err(|error| explained("", params, &error, &|text| read(text).err()))
}

/// The methods of a set of requests, in the order of the enum's variants.
pub fn methods<'t, T: Deserialize<'t>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // It reads nothing: it is told the names and gives up.
    let _ = T::deserialize(Names(&mut names));
    names
}

type Json<'t> = serde_json::Deserializer<serde_json::de::StrRead<'t>>;

/// Reads the whole of a text, with the reader that stored records have too.
fn whole<'t, T>(
    text: &'t str,
    how: impl FnOnce(&mut Json<'t>) -> Result<T, serde_json::Error>,
) -> Result<T, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = how(&mut json)?;
    json.end().map(|()| read)
}

/// The error of a parser or of a derived reader, in our words. `again` reads another text.
fn explained(name: &str, text: &str, error: &serde_json::Error, again: Again<'_>) -> BadRequest {
    let mut argument = name.to_owned();
    if error.classify() != Category::Data {
        // A text that is no JSON has no options. Deep nesting ends here too: beyond 128 levels the parser gives up.
        let what = if name.is_empty() { "the parameters cannot be read: " } else { "cannot be read: " };
        return BadRequest { argument, why: [what, &error.to_string()].concat() };
    }
    let words = &*path::said(error);
    path::to_culprit(text, words, again, &mut argument);
    let why = if let Some(rest) = words.strip_prefix("missing field `") {
        add(&mut argument, rest.trim_end_matches('`'));
        "is missing".to_owned()
    } else if let Some(rest) = words.strip_prefix("duplicate field `") {
        add(&mut argument, rest.trim_end_matches('`'));
        "is there twice".to_owned()
    } else if let Some(rest) = words.strip_prefix("unknown field `") {
        add(&mut argument, rest.split_once('`').map_or(rest, |(name, _)| name));
        match words.rsplit_once(", expected ") {
            Some((_, known)) => {
                let known = known.strip_prefix("one of ").unwrap_or(known).replace("` or `", ", ").replace('`', "");
                ["is not known here; there are: ", &known].concat()
            }
            None => "is not known here".to_owned(),
        }
    } else {
        match words.rsplit_once(", expected ") {
            Some((_, expected)) if words.starts_with("invalid ") => ["must be ", in_words(expected)].concat(),
            _ => words.to_owned(),
        }
    };
    BadRequest { argument, why }
}

/// What a derived reader expected, for those who do not write Rust.
fn in_words(expected: &str) -> &str {
    match expected {
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 on",
        "i8" => "a whole number from -127 to 127",
        "i64" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        _ if expected.starts_with("struct ") => "an object",
        other => other,
    }
}

/// Fields whose names are read in one way, whatever the type: so that the readers of names are compiled once, and not for each type.
struct Keyed<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Keyed<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Some(Name(name)) = self.0.next_key()? else { return Ok(None) };
        let name: StrDeserializer<'_, A::Error> = (*name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

/// A value that is read without a path to its parts: by the reader that the type has elsewhere, which is not compiled again. For any
/// JSON.
#[derive(Debug)]
pub struct Plain<T>(
    /// The value.
    pub T,
);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Plain<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::from_str(raw(deserializer)?) {
            Ok(value) => Ok(Self(value)),
            Err(error) => Err(D::Error::custom(format_args!("cannot be read: {error}"))),
        }
    }
}

/// The JSON text of a value.
///
/// # Errors
/// The parser's.
pub fn raw<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'de str, D::Error> {
    <&RawValue>::deserialize(deserializer).map(RawValue::get)
}

/// The fields of an object. Derived readers of a struct take lists too; this takes none.
#[derive(Debug)]
pub struct Object<T>(
    /// What the fields make.
    pub T,
);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
                words.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(Keyed(map))).map(Object)
            }
        }
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// For `deserialize_with`: an object, or `null` for none.
///
/// # Errors
/// It is something else, or a field of it is wrong.
pub fn maybe_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::<Object<T>>::deserialize(deserializer).map(|object| object.map(|Object(fields)| fields))
}

/// For `deserialize_with`: an object, or `null` for the default.
///
/// # Errors
/// It is something else, or a field of it is wrong.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    maybe_object(deserializer).map(Option::unwrap_or_default)
}

/// An option that is `false`, or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off<T> {
    /// `false`.
    Off,
    /// The object.
    On(T),
}

impl<T: Serialize> Serialize for Off<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::On(object) => object.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Off<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Off<T>;

            fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
                words.write_str("false or an object")
            }

            fn visit_bool<E: Error>(self, on: bool) -> Result<Self::Value, E> {
                if on { Err(E::invalid_value(Unexpected::Bool(on), &self)) } else { Ok(Off::Off) }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(Keyed(map))).map(Off::On)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// For `deserialize_with`: a value, or `null` for the default.
///
/// # Errors
/// The value's.
pub fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// For `deserialize_with`: a whole number that JavaScript can write, or `null` for none.
///
/// # Errors
/// It is something else.
pub fn maybe_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let found = Option::<u64>::deserialize(deserializer)?;
    match found {
        Some(number) if number >= 1 << 53 => {
            Err(D::Error::invalid_value(Unexpected::Unsigned(number), &"a whole number from 0 to 9007199254740991"))
        }
        found => Ok(found),
    }
}

/// For `deserialize_with`: a whole number from 1 on, or `null` for none.
///
/// # Errors
/// It is something else.
pub fn maybe_above_0<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de> + Default + PartialEq,
{
    let found = Option::<T>::deserialize(deserializer)?;
    if found.as_ref().is_some_and(|number| *number == T::default()) {
        return Err(D::Error::invalid_value(Unexpected::Unsigned(0), &"a whole number from 1 on"));
    }
    Ok(found)
}

/// Reads a name that `from_name` knows; `expected` lists them all.
///
/// # Errors
/// It is another name, or no text.
pub fn name<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    from_name: fn(&str) -> Option<T>,
    expected: &'static str,
) -> Result<T, D::Error> {
    struct Known<T>(fn(&str) -> Option<T>, &'static str);
    impl<T> Visitor<'_> for Known<T> {
        type Value = T;

        fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
            words.write_str(self.1)
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
            self.0(name).ok_or_else(|| E::invalid_value(Unexpected::Str(name), &self))
        }
    }
    deserializer.deserialize_str(Known(from_name, expected))
}

/// Lets serde read a type by its names: the type, the function that finds a name, and the words that list the names in errors.
#[macro_export]
macro_rules! read_by_name {
    ($type:ty, $from_name:expr, $expected:expr) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read::name(deserializer, $from_name, $expected)
            }
        }
    };
}

/// Writes a type by its `name()`.
#[macro_export]
macro_rules! write_by_name {
    ($type:ty) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

/// The call of a method: an object of its parameters.
struct Call<'a, T>(&'a str, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Call<'_, T> {
    type Value = T;

    fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
        words.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(Variant { method: self.0, params: MapAccessDeserializer::new(Keyed(map)) })
    }
}

/// A method and its parameters, which serde takes for an enum's variant and its fields.
struct Variant<'a, D> {
    method: &'a str,
    params: D,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Variant<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, D: Deserializer<'de>> EnumAccess<'de> for Variant<'_, D> {
    type Error = D::Error;
    type Variant = Params<D>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Params<D>), D::Error> {
        let method: StrDeserializer<'_, D::Error> = self.method.into_deserializer();
        Ok((seed.deserialize(method)?, Params(self.params)))
    }
}

struct Params<D>(D);

impl<'de, D: Deserializer<'de>> VariantAccess<'de> for Params<D> {
    type Error = D::Error;

    fn unit_variant(self) -> Result<(), D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        Nothing::deserialize(self.0).map(|Nothing {}| ())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, D::Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct("params", fields, visitor)
    }
}

/// Hears an enum's names, and reads nothing.
struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = NoReader;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoReader> {
        Err(NoReader::custom("no value"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NoReader> {
        *self.0 = names;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
    enum Requests {
        Roots,
        Node { node_id: String, depth: Option<u32> },
        Find(Find),
        Pair { list: Vec<u32>, point: (u32, u32), name: Even },
    }

    /// A value with a rule of its own.
    #[derive(Debug, PartialEq)]
    struct Even;

    impl<'de> Deserialize<'de> for Even {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let Plain(value) = Plain::<Value>::deserialize(deserializer)?;
            if value == 0 || value["even"] == true {
                Ok(Self)
            } else {
                Err(D::Error::custom("must be 0 or { even: true }"))
            }
        }
    }

    #[derive(Debug, PartialEq, Default, serde::Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    struct Find {
        #[serde(deserialize_with = "object")]
        limits: Limits,
        #[serde(deserialize_with = "or_default")]
        tags: Vec<String>,
        since: Option<i64>,
        anything: Option<Value>,
        kind: Option<Kind>,
        preview: Option<Off<Limits>>,
    }

    #[derive(Debug, PartialEq, Default, serde::Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    struct Limits {
        #[serde(deserialize_with = "maybe_whole")]
        max_tokens: Option<u64>,
        all: Option<bool>,
    }

    #[derive(Debug, PartialEq)]
    struct Kind;

    read_by_name!(Kind, |name| (name == "only").then_some(Kind), "only");

    #[test]
    fn a_method_and_its_parameters_are_a_variant_and_its_fields() {
        assert_eq!(methods::<Requests>(), ["roots", "node", "find", "pair"]);
        assert_eq!(request("roots", "{}"), Ok(Requests::Roots));
        let node = Requests::Node { node_id: "a".into(), depth: Some(0) };
        assert_eq!(request("node", r#"{"depth": 0, "nodeId": "a"}"#), Ok(node));
        let all = r#"{"limits": {"maxTokens": 9007199254740991}, "tags": null, "since": -5, "anything": [1.50, 1e300], "kind": "only"}"#;
        let Ok(Requests::Find(find)) = request("find", all) else { panic!("it is not read") };
        assert_eq!((find.limits.max_tokens, find.since, find.kind), (Some((1 << 53) - 1), Some(-5), Some(Kind)));
        assert_eq!(find.anything, Some(serde_json::from_str("[1.50, 1e300]").unwrap()));
        assert_eq!(options::<Find>("null", "options"), Ok(Find::default()));
        let preview = |text| options::<Find>(text, "options").unwrap().preview;
        assert_eq!(preview(r#"{"preview": false}"#), Some(Off::Off));
        assert_eq!(preview(r#"{"preview": {}}"#), Some(Off::On(Limits::default())));
        assert_eq!(preview(r#"{"preview": null}"#), None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_path() {
        for (method, params, said) in [
            ("frobnicate", "{}", "method \"frobnicate\" is not known"),
            ("node", "[]", "must be an object"),
            ("node", "3", "must be an object"),
            ("node", "{", "the parameters cannot be read: EOF"),
            ("node", r#"{"nodeId": "a"} {}"#, "the parameters cannot be read: trailing characters"),
            ("node", "{}", "nodeId is missing"),
            ("node", r#"{"nodeId": null}"#, "nodeId must be a string"),
            ("node", r#"{"nodeId": "a", "nodeId": "b"}"#, "nodeId is there twice"),
            ("node", r#"{"nodeId": "a", "root": 1}"#, "root is not known here; there are: nodeId, depth"),
            ("node", r#"{"nodeId": "a", "depth": -1}"#, "depth must be a whole number from 0 to 4294967295"),
            ("node", r#"{"nodeId": "a", "depth": 4294967296}"#, "depth must be a whole number from 0 to 4294967295"),
            ("node", r#"{"nodeId": "a", "depth": 1.5}"#, "depth must be a whole number from 0 to 4294967295"),
            ("roots", r#"{"a": 1}"#, "a is not known here"),
            ("pair", r#"{"list": [1]}"#, "point is missing"),
            ("pair", r#"{"list": [1], "point": [1]}"#, "point must be a tuple of size 2"),
            ("pair", r#"{"list": [1, 2, -3], "point": [1, 2]}"#, "list[2] must be a whole number"),
            ("pair", r#"{"list": [], "point": [1, 2]}"#, "name is missing"),
            (
                "pair",
                r#"{"list": [], "point": [1, 2], "name": {"odd": 1, "even": 3}}"#,
                "name must be 0 or { even: true }",
            ),
            ("find", r#"{"limits": []}"#, "limits must be an object"),
            ("find", r#"{"limits": 3}"#, "limits must be an object"),
            ("find", r#"{"limits": {"max": 1}}"#, "limits.max is not known here; there are: maxTokens, all"),
            (
                "find",
                r#"{"limits": {"maxTokens": 9007199254740992}}"#,
                "limits.maxTokens must be a whole number from 0 to 9007199254740991",
            ),
            ("find", r#"{"limits": {"all": 1}}"#, "limits.all must be true or false"),
            ("find", r#"{"tags": "a"}"#, "tags must be a list"),
            ("find", r#"{"tags": ["a", ", expected b", 3]}"#, "tags[2] must be a string"),
            ("find", r#"{"since": 1e3}"#, "since must be a whole number"),
            ("find", r#"{"preview": true}"#, "preview must be false or an object"),
            ("find", r#"{"preview": []}"#, "preview must be false or an object"),
            ("find", r#"{"preview": 3}"#, "preview must be false or an object"),
            ("find", r#"{"preview": 3.5}"#, "preview must "),
            ("find", r#"{"preview": {"all": 3}}"#, "preview.all must be true or false"),
            ("find", r#"{"kind": "many"}"#, "kind must be only"),
            ("find", r#"{"kind": 3}"#, "kind must be only"),
        ] {
            let words = request::<Requests>(method, params).unwrap_err().to_string();
            assert!(words.starts_with(said), "{method} {params}: {words}");
        }
        let words = |value: Value| options::<Find>(&value.to_string(), "options").unwrap_err().to_string();
        assert_eq!(words(json!([])), "options must be an object");
        assert_eq!(words(json!({"limits": {"all": []}})), "options.limits.all must be true or false");
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = format!(r#"{{"anything": {}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        assert!(request::<Requests>("find", &deep).unwrap_err().why.contains("recursion"));
    }
}
