//! Writing JSON. Goes in: a value that serde can walk. Comes out: the very bytes that `serde_json` writes. Messages take half the time, since
//! a text is looked through eight bytes at once for what must be escaped, and the rest is copied as a whole. What is written here is all that
//! is stored and all that is answered; fractions are left to `serde_json`.

use serde::ser::{self, Error as _, Serialize, Serializer};
use serde_json::Error;

/// Appends the JSON of `value` to `out`.
///
/// ```
/// let mut out = String::from("data: ");
/// threadkeep_json::write(&["a \"word\"", "\n"], &mut out)?;
/// assert_eq!(out, r#"data: ["a \"word\"","\n"]"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// A map has keys that are no texts; `value` itself fails. What was written until then is in `out`.
pub fn write(value: &(impl Serialize + ?Sized), out: &mut String) -> Result<(), Error> {
    value.serialize(Writer { out, raw: false })
}

/// The JSON of `value`.
///
/// # Errors
/// Those of [`write()`].
pub fn to_text(value: &(impl Serialize + ?Sized)) -> Result<String, Error> {
    let mut out = String::with_capacity(128);
    write(value, &mut out)?;
    Ok(out)
}

/// The JSON of a value of ours, whose maps have string keys: other keys are all that writing JSON can fail on.
pub fn own_text(value: &(impl Serialize + ?Sized)) -> String {
    to_text(value).unwrap_or_default()
}

/// The same as a JSON value.
pub fn own_value(value: &(impl Serialize + ?Sized)) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Appends a text as a JSON string.
fn text(out: &mut String, text: &str) {
    let mut rest = text;
    out.reserve(rest.len() + 2);
    out.push('"');
    while let Some(at) = escaped(rest.as_bytes()) {
        // What must be escaped is one byte long.
        let (before, after) = rest.split_at(at);
        let (byte, after) = after.split_at(1);
        out.push_str(before);
        escape(out, byte.as_bytes()[0]);
        rest = after;
    }
    out.push_str(rest);
    out.push('"');
}

/// Where the first byte is that cannot stand in a JSON string: a quote, a backslash, or one below U+0020.
pub(crate) fn escaped(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    // Without a branch for each byte, so that the compiler looks at 16 of them at once. `^ 2` takes a quote to 0x20, and what is below 0x20
    // stays below it.
    let clean =
        |block: &[u8; 64]| !block.iter().fold(false, |found, byte| found | (*byte ^ 2 < 0x21) | (*byte == b'\\'));
    let (blocks, _) = bytes.as_chunks::<64>();
    let passed = blocks.iter().take_while(|block| clean(block)).count() * 64;
    let bytes = &bytes[passed..];
    let (eights, _) = bytes.as_chunks::<8>();
    for (at, eight) in eights.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        // A byte's high bit is set where a subtraction borrows from it: Mycroft's way of finding a zero byte. It may be wrong only above
        // a byte for which it is right.
        let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
        let found = below(eight, 0x20) | below(eight ^ (ONES * 0x22), 1) | below(eight ^ (ONES * 0x5c), 1);
        let found = found & (ONES << 7);
        if found != 0 {
            return Some(passed + at * 8 + (found.trailing_zeros() / 8) as usize);
        }
    }
    let done = eights.len() * 8;
    bytes[done..].iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')).map(|at| passed + done + at)
}

fn escape(out: &mut String, byte: u8) {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    let (short, long) = match byte {
        b'"' | b'\\' => (char::from(byte), None),
        b'\n' => ('n', None),
        b'\t' => ('t', None),
        b'\r' => ('r', None),
        0x08 => ('b', None),
        0x0c => ('f', None),
        _ => ('u', Some([digit(byte >> 4), digit(byte & 15)])),
    };
    out.push('\\');
    out.push(short);
    if let Some(digits) = long {
        out.push_str("00");
        out.extend(digits);
    }
}

struct Writer<'a> {
    out: &'a mut String,
    /// A text is JSON already.
    raw: bool,
}

/// A list or an object whose items are being written.
struct Items<'a> {
    out: &'a mut String,
    first: bool,
    raw: bool,
    close: &'static str,
}

impl<'a> Writer<'a> {
    fn put(self, json: &str) -> Result<(), Error> {
        self.out.push_str(json);
        Ok(())
    }

    fn open(self, open: char, close: &'static str) -> Result<Items<'a>, Error> {
        self.out.push(open);
        Ok(Items { out: self.out, first: true, raw: false, close })
    }

    fn open_variant(self, variant: &str, open: char, close: &'static str) -> Result<Items<'a>, Error> {
        self.out.push('{');
        text(self.out, variant);
        self.out.push(':');
        self.open(open, close)
    }
}

impl Items<'_> {
    /// Parts an item from the one before it.
    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.comma();
        value.serialize(Writer { out: self.out, raw: false })
    }

    fn named(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        if self.raw {
            return value.serialize(Writer { out: self.out, raw: true });
        }
        self.comma();
        text(self.out, name);
        self.out.push(':');
        value.serialize(Writer { out: self.out, raw: false })
    }

    fn close(self) -> Result<(), Error> {
        self.out.push_str(self.close);
        Ok(())
    }
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Items<'a>;
    type SerializeStructVariant = Items<'a>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.put(if value { "true" } else { "false" })
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.put(itoa::Buffer::new().format(value))
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.put(itoa::Buffer::new().format(value))
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.put(&serde_json::to_string(&value)?)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.put(&serde_json::to_string(&value)?)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        if self.raw {
            return self.put(value);
        }
        text(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.put("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut object = self.open('{', "}")?;
        object.named(variant, value)?;
        object.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>, Error> {
        self.open('[', "]")
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>, Error> {
        self.open('[', "]")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a>, Error> {
        self.open('[', "]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a>, Error> {
        self.open_variant(variant, '[', "]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Items<'a>, Error> {
        self.open('{', "}")
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Items<'a>, Error> {
        // So `serde_json` says that it has a number with all its digits, or a text that is JSON already: as the one field of such a struct.
        if name.starts_with("$serde_json::private::") {
            return Ok(Items { out: self.out, first: true, raw: true, close: "" });
        }
        self.open('{', "}")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a>, Error> {
        self.open_variant(variant, '{', "}}")
    }
}

/// The traits of lists, whose one method has another name in each.
macro_rules! list {
    ($($trait:ident $method:ident),*) => {$(
        impl ser::$trait for Items<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}

list!(SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field, SerializeTupleVariant serialize_field);

/// The traits of objects whose keys are known.
macro_rules! object {
    ($($trait:ident),*) => {$(
        impl ser::$trait for Items<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.named(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}

object!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.comma();
        let start = self.out.len();
        key.serialize(Writer { out: self.out, raw: false })?;
        if self.out[start..].starts_with('"') { Ok(()) } else { Err(Error::custom("a key must be a text")) }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.out.push(':');
        value.serialize(Writer { out: self.out, raw: false })
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;

    fn same(value: &impl Serialize) {
        assert_eq!(to_text(value).unwrap(), serde_json::to_string(value).unwrap());
    }

    #[derive(serde::Serialize)]
    enum Shape {
        Unit,
        Newtype(u8),
        Tuple(i8, char),
        Struct { a: Option<f32>, b: () },
    }

    #[derive(serde::Serialize)]
    struct Unit;

    #[test]
    fn every_shape_is_written_as_serde_json_writes_it() {
        same(&[Shape::Unit, Shape::Newtype(7), Shape::Tuple(-1, '"'), Shape::Struct { a: Some(0.1), b: () }]);
        same(&(Unit, 1u16, -2i16, u32::MAX, i32::MIN, u64::MAX, i64::MIN, [(); 0], f64::NAN, 1e300, true, None::<u8>));
        same(&BTreeMap::from([("a", vec![1u8]), ("\n", vec![])]));
        same(&serde_json::from_str::<Box<RawValue>>(r#"{ "as": "it \n came" }"#).unwrap());
        same(
            &serde_json::from_str::<Value>(r#"{"long":0.1000000000000000055511151231257827,"no":[],"none":{}}"#)
                .unwrap(),
        );
        assert!(to_text(&BTreeMap::from([(1, 2)])).is_err());
    }

    #[test]
    fn what_must_be_escaped_is_found_at_every_place_of_a_word() {
        for byte in 0..=0x7f_u8 {
            for before in (0..17).chain(56..73) {
                for after in 0..9 {
                    same(&format!("{}{}{}\u{80}é", "~".repeat(before), char::from(byte), "\u{7f}".repeat(after)));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_writes_it(text in "(.|[\\x00-\\x22\\\\]){0,40}", more in any::<String>()) {
            same(&json!({ text: [more] }));
        }
    }
}
