//! What class a character is of, as the split patterns ask: by ASCII byte from a constant table, by code point from tables
//! that come with the vocabulary (so that Unicode's version is the reference's, and the code stays small).

/// In an o200k word's first half: `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
pub(crate) const UPPER: u8 = 1;
/// In an o200k word's second half: `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
pub(crate) const LOWER: u8 = 2;
/// `\p{N}`.
pub(crate) const NUMBER: u8 = 4;
/// `\s`.
pub(crate) const SPACE: u8 = 8;
/// `\p{L}`.
pub(crate) const LETTER: u8 = 16;

const BLOCK: usize = 128;
const BLOCKS: usize = 0x11_0000 / BLOCK;

/// The classes of all code points: equal blocks of 128 are there once.
pub(crate) struct Classes {
    /// For each block of code points its place among the distinct ones.
    places: Box<[u8; BLOCKS]>,
    blocks: Vec<[u8; BLOCK]>,
}

impl Classes {
    /// Reads the tables; `None` when they are not whole.
    pub(crate) fn read(tables: &[u8]) -> Option<Self> {
        let (places, blocks) = tables.split_at_checked(BLOCKS)?;
        let places: Box<[u8; BLOCKS]> = places.to_vec().into_boxed_slice().try_into().ok()?;
        let (blocks, rest) = blocks.as_chunks::<BLOCK>();
        let whole = rest.is_empty() && places.iter().all(|place| usize::from(*place) < blocks.len());
        whole.then(|| Self { places, blocks: blocks.to_vec() })
    }

    /// The class of a code point; 0 for what is none.
    #[inline]
    pub(crate) fn of(&self, code: u32) -> u8 {
        let code = code as usize;
        let place = self.places.get(code / BLOCK).copied().unwrap_or_default();
        self.blocks.get(usize::from(place)).map_or(0, |block| block[code % BLOCK])
    }

    /// The class and the length of the character at `at`; zeros at the end. What is no UTF-8 has length 1 at least.
    #[inline]
    pub(crate) fn at(&self, text: &[u8], at: usize) -> (u8, usize) {
        let Some(&first) = text.get(at) else { return (0, 0) };
        let more = |offset: usize| u32::from(text.get(at + offset).copied().unwrap_or_default()) & 0x3F;
        let first = u32::from(first);
        let (code, length) = match first {
            0..0xE0 if first < 0xC0 => (first, 1),
            0..0xE0 => ((first & 0x1F) << 6 | more(1), 2),
            0xE0..0xF0 => ((first & 0xF) << 12 | more(1) << 6 | more(2), 3),
            _ => ((first & 7) << 18 | more(1) << 12 | more(2) << 6 | more(3), 4),
        };
        (self.of(code), length.min(text.len() - at))
    }
}

/// What an ASCII byte is, in the order that branches like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ascii {
    /// Neither letter, digit nor white space.
    Other,
    Letter,
    Digit,
    /// Space, tab, vertical tab, form feed.
    Blank,
    /// Line feed, carriage return.
    Newline,
    /// Part of a character beyond ASCII.
    Beyond,
    /// Behind the end of the text.
    End,
}

static ASCII: [Ascii; 256] = {
    let mut table = [Ascii::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'A'..=b'Z' | b'a'..=b'z' => Ascii::Letter,
            b'0'..=b'9' => Ascii::Digit,
            b'\n' | b'\r' => Ascii::Newline,
            b' ' | b'\t' | 0x0B | 0x0C => Ascii::Blank,
            0x80.. => Ascii::Beyond,
            _ => Ascii::Other,
        };
        byte += 1;
    }
    table
};

/// What the byte at `at` is.
#[inline(always)]
pub(crate) fn ascii(text: &[u8], at: usize) -> Ascii {
    match text.get(at) {
        Some(&byte) => ASCII[usize::from(byte)],
        None => Ascii::End,
    }
}
