//! Values as bytes, in the order of their fields and without names: both ends of the wire are the same module, so nothing
//! needs to say what it is. A value in, its bytes appended; bytes in, a value out or `None` where they are none.
//!
//! By hand and not by serde's derived code: a name for every field and a visitor for every type were 60 kB of the page.

use threadkeep_core::{Message, MessageId};

/// What can be written as bytes and read again.
pub trait Pack: Sized {
    /// Appends the value.
    fn pack(&self, out: &mut Vec<u8>);

    /// Takes the value off the front; `None` where the bytes end too early or are none of its.
    fn unpack(from: &mut &[u8]) -> Option<Self>;
}

/// The bytes of a value.
pub fn to_bytes(value: &impl Pack) -> Vec<u8> {
    let mut out = Vec::new();
    value.pack(&mut out);
    out
}

/// The value of these bytes; `None` where they are none, or more than one.
pub fn from_bytes<T: Pack>(mut bytes: &[u8]) -> Option<T> {
    let value = T::unpack(&mut bytes)?;
    bytes.is_empty().then_some(value)
}

/// A number in as many bytes as it needs: seven bits in each, the lowest first, and a mark on all but the last.
fn pack_number(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn unpack_number(from: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (first, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(first & 0x7f).checked_shl(shift)?;
        if *first < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

fn pack_text(text: &str, out: &mut Vec<u8>) {
    pack_number(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn unpack_text<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    let len = usize::try_from(unpack_number(from)?).ok()?;
    let (text, rest) = from.split_at_checked(len)?;
    *from = rest;
    std::str::from_utf8(text).ok()
}

impl Pack for u64 {
    fn pack(&self, out: &mut Vec<u8>) {
        pack_number(*self, out);
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        unpack_number(from)
    }
}

impl Pack for u32 {
    fn pack(&self, out: &mut Vec<u8>) {
        pack_number((*self).into(), out);
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        unpack_number(from)?.try_into().ok()
    }
}

impl Pack for i64 {
    fn pack(&self, out: &mut Vec<u8>) {
        pack_number(*self as u64, out);
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Some(unpack_number(from)? as i64)
    }
}

impl Pack for bool {
    fn pack(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        match unpack_number(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Pack for String {
    fn pack(&self, out: &mut Vec<u8>) {
        pack_text(self, out);
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        unpack_text(from).map(str::to_owned)
    }
}

impl Pack for MessageId {
    fn pack(&self, out: &mut Vec<u8>) {
        pack_text(self.as_str(), out);
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Self::new(unpack_text(from)?).ok()
    }
}

/// A message travels as the JSON text that it is stored as: its reader is in the module for the log's sake.
impl Pack for Message {
    fn pack(&self, out: &mut Vec<u8>) {
        // Writing into memory does not fail.
        pack_text(&serde_json::to_string(self).unwrap_or_default(), out);
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Self::from_json(serde_json::from_str(unpack_text(from)?).ok()?).ok()
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.is_some().pack(out);
        if let Some(value) = self {
            value.pack(out);
        }
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::unpack(from)? { Some(T::unpack(from)?) } else { None })
    }
}

impl<T: Pack, E: Pack> Pack for Result<T, E> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.is_ok().pack(out);
        match self {
            Ok(value) => value.pack(out),
            Err(error) => error.pack(out),
        }
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::unpack(from)? { Ok(T::unpack(from)?) } else { Err(E::unpack(from)?) })
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        pack_number(self.len() as u64, out);
        self.iter().for_each(|value| value.pack(out));
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        // Room is made as values come: a length that lies does no harm.
        let mut values = Self::new();
        for _ in 0..unpack_number(from)? {
            values.push(T::unpack(from)?);
        }
        Some(values)
    }
}

impl<T: Pack> Pack for Box<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        T::pack(self, out);
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        T::unpack(from).map(Self::new)
    }
}

/// Packs a struct field by field: `pack_struct!(Fork { index, count });`
macro_rules! pack_struct {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl Pack for $name {
            fn pack(&self, out: &mut Vec<u8>) {
                $(self.$field.pack(out);)*
            }

            fn unpack(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: Pack::unpack(from)?),* })
            }
        }
    };
}

/// Packs an enum as the number of its variant and the variant's fields, each with a name to hold it by; the field of a
/// tuple variant is called `0`: `pack_enum!(Reply { 0 Done {}, 1 Number { 0: count } });`
macro_rules! pack_enum {
    ($name:ident { $($number:literal $variant:ident { $($field:tt: $held:ident),* $(,)? }),* $(,)? }) => {
        impl Pack for $name {
            fn pack(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field: $held),* } => {
                        out.push($number);
                        $($held.pack(out);)*
                    })*
                }
            }

            fn unpack(from: &mut &[u8]) -> Option<Self> {
                let (number, rest) = from.split_first()?;
                *from = rest;
                Some(match number {
                    $($number => Self::$variant { $($field: Pack::unpack(from)?),* },)*
                    _ => return None,
                })
            }
        }
    };
}

pub(super) use {pack_enum, pack_struct};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(from_bytes(&to_bytes(&number)), Some(number));
            assert_eq!(from_bytes(&to_bytes(&(number as i64).wrapping_neg())), Some((number as i64).wrapping_neg()));
        }
        assert_eq!(from_bytes::<u32>(&to_bytes(&u64::MAX)), None);
        assert_eq!(from_bytes::<u64>(&[0x80; 30]), None);
    }

    #[test]
    fn what_is_cut_short_or_goes_on_is_nothing() {
        let value = vec![Some("abc".to_owned()), None, Some(String::new())];
        let bytes = to_bytes(&value);
        assert_eq!(from_bytes(&bytes), Some(value));
        for end in 0..bytes.len() {
            assert_eq!(from_bytes::<Vec<Option<String>>>(&bytes[..end]), None, "{end}");
        }
        assert_eq!(from_bytes::<Vec<Option<String>>>(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(from_bytes::<String>(&[1, 0xff]), None);
        assert_eq!(from_bytes::<Vec<u64>>(&[0xff, 0xff, 0xff, 0xff, 0x7f]), None);
        assert_eq!(from_bytes::<bool>(&[2]), None);
    }

    #[test]
    fn messages_come_back_with_all_that_they_carry() {
        let json =
            serde_json::json!({"role": "assistant", "content": [{"type": "text", "text": "a"}], "x": {"y": [1, -2.5]}});
        let message = Message::from_json(json).unwrap();
        assert_eq!(from_bytes(&to_bytes(&message)), Some(message));
    }
}
