//! Cuts a stream of bytes into JSON values without parsing them: elements of a top-level array (or of the known array of a
//! wrapping object), lines of JSON Lines, values glued together. It holds one value at a time and never recurses.

use memchr::memchr3;

/// What the splitter hands out, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A value from its first byte to its last.
    Value { bytes: &'a [u8], spot: Spot },
    /// The end of an array whose elements were handed out.
    ArrayEnd,
    /// A value that cannot be complete, with what is held of its beginning.
    Broken { spot: Spot, why: Broken, begins: &'a [u8] },
}

/// Where a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Its index in its array, from 0.
    pub index: Option<u64>,
}

/// Why a value is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// The file ends within it (or within its array).
    End,
    /// The line ends within it.
    Line,
    /// It has more bytes than are held at once.
    Large(u64),
}

/// Arrays of these names in a top-level object may hold conversations.
const WRAPPERS: [&[u8]; 6] = [b"conversations", b"chats", b"data", b"items", b"results", b"sessions"];

pub(super) struct Splitter {
    /// The beginning of the open value, from earlier chunks.
    held: Vec<u8>,
    cap: usize,
    open: Option<Open>,
    depth: u64,
    /// The depth at which values are handed out: 0 at the top, 1 in a top-level array, 2 in a wrapped one.
    base: u64,
    in_string: bool,
    escaped: bool,
    /// After the wrapped array: the rest of the wrapping object is passed over.
    tail: bool,
    /// A newline ends a value.
    lines: bool,
    line: u64,
    index: u64,
    values: u64,
    last: u8,
    wrap: Wrap,
    /// The first key of the first element, if it is a plain word: the others are taken to begin with it, too.
    key: Option<Vec<u8>>,
    /// A string ended as a quote would that begins the next element's first key: the place of the brace before it, and how much of the
    /// key has followed.
    seam: Option<usize>,
    /// Whether a value is a conversation by itself, so that an array of such may be taken apart.
    probe: fn(&[u8]) -> bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    kind: Kind,
    line: u64,
    /// Bytes so far, in earlier chunks.
    size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nested,
    Text,
    /// Numbers, literals and junk.
    Bare,
}

/// The search for a wrapped array in a top-level object; offsets count from the object's first byte.
#[derive(Debug, Clone, Copy, Default)]
struct Wrap {
    key: (u64, u64),
    key_known: bool,
    inside: bool,
    element: Option<u64>,
    over: bool,
}

impl Splitter {
    /// `lines` where the file's name says JSON Lines; otherwise the bytes tell.
    pub fn new(lines: bool, cap: usize, probe: fn(&[u8]) -> bool) -> Self {
        Self {
            held: Vec::new(),
            cap,
            open: None,
            depth: 0,
            base: 0,
            in_string: false,
            escaped: false,
            tail: false,
            lines,
            line: 1,
            index: 0,
            values: 0,
            last: 0,
            wrap: Wrap::default(),
            key: None,
            seam: None,
            probe,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8], out: &mut dyn FnMut(Piece)) {
        let mut cursor = Cursor { chunk, at: 0, from: 0 };
        while cursor.at < chunk.len() {
            if self.in_string { self.string(&mut cursor, out) } else { self.outside(&mut cursor, out) }
        }
        if let Some(open) = &mut self.open {
            let rest = &chunk[cursor.from..];
            open.size += rest.len() as u64;
            if open.size <= self.cap as u64 {
                hold(&mut self.held, rest);
            } else {
                self.held = Vec::new();
            }
        }
    }

    /// The stream ends here.
    pub fn finish(&mut self, out: &mut dyn FnMut(Piece)) {
        match self.open {
            Some(open) if open.kind == Kind::Bare && self.base == 0 => {
                self.emit(&mut Cursor { chunk: &[], at: 0, from: 0 }, out);
            }
            Some(open) => {
                let spot = self.spot(open.line);
                out(Piece::Broken { spot, why: Broken::End, begins: &[] });
            }
            None if self.base > 0 || self.tail => {
                let spot = self.spot(self.line);
                out(Piece::Broken { spot, why: Broken::End, begins: &[] });
            }
            None => {}
        }
        self.open = None;
    }

    fn spot(&self, line: u64) -> Spot {
        Spot { line, index: (self.base > 0).then_some(self.index) }
    }

    fn string(&mut self, cursor: &mut Cursor, out: &mut dyn FnMut(Piece)) {
        if self.escaped {
            self.escaped = false;
            if cursor.byte() != b'\n' {
                cursor.at += 1;
                return;
            }
        }
        let Some(ahead) = memchr3(b'"', b'\\', b'\n', &cursor.chunk[cursor.at..]) else {
            cursor.at = cursor.chunk.len();
            return;
        };
        cursor.at += ahead;
        match cursor.byte() {
            b'\\' => self.escaped = true,
            b'\n' => {
                if self.lines && self.base == 0 {
                    return self.broken_line(cursor, out);
                }
                // Not allowed in JSON, but some writers do it: mending is the parser's.
                self.line += 1;
            }
            _ => {
                self.in_string = false;
                self.last = b'"';
                self.learn(cursor);
                self.seam = self.is_seam(cursor).then_some(0);
                cursor.at += 1;
                match self.open {
                    Some(Open { kind: Kind::Text, .. }) => self.emit(cursor, out),
                    Some(open) if self.depth == 1 && self.base == 0 => {
                        self.wrap.key.1 = open.size + (cursor.at - cursor.from) as u64 - 1;
                        self.wrap.key_known = true;
                    }
                    _ => {}
                }
                return;
            }
        }
        cursor.at += 1;
    }

    /// Keeps the first key of the first element of an array; its last quote is at the cursor.
    fn learn(&mut self, cursor: &mut Cursor) {
        let Some(open) = self.open.filter(|_| self.base > 0 && self.key.is_none()) else { return };
        let end = open.size + (cursor.at - cursor.from) as u64;
        let begins = if end <= LONGEST_KEY { self.slice(cursor, 0, end) } else { &[] };
        let key = begins.strip_prefix(b"{").and_then(|rest| rest.trim_ascii_start().strip_prefix(b"\""));
        let is_word =
            |key: &&[u8]| !key.is_empty() && key.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        self.key = Some(key.filter(is_word).unwrap_or_default().to_vec());
    }

    /// Whether the string that ends at the cursor ends as an element does before which the next one's first quote comes: `},{"`. Then a
    /// quote was lost or came in before, if the first key follows at once, since nothing of JSON follows a string so.
    fn is_seam(&mut self, cursor: &mut Cursor) -> bool {
        let Some(open) = self.open.filter(|_| self.key.as_ref().is_some_and(|key| !key.is_empty())) else {
            return false;
        };
        let end = open.size + (cursor.at - cursor.from) as u64;
        let before = if cursor.at > cursor.from { cursor.chunk.get(cursor.at - 1) } else { self.held.last() };
        if self.base == 0 || before != Some(&b'{') || end > self.cap as u64 {
            return false;
        }
        let ends = self.slice(cursor, end.saturating_sub(SEAM), end);
        let comma = ends.strip_suffix(b"{").and_then(|rest| rest.trim_ascii_end().strip_suffix(b","));
        comma.is_some_and(|rest| rest.trim_ascii_end().ends_with(b"}"))
    }

    /// The byte after `known` bytes of the first key, behind a seam. Once the whole key is there, the open value is broken, and the next
    /// one began with the brace before the key.
    fn cross(&mut self, known: usize, cursor: &mut Cursor, out: &mut dyn FnMut(Piece)) -> bool {
        let (Some(open), Some(key)) = (self.open, self.key.clone()) else { return false };
        self.seam = None;
        if key.get(known) == Some(&cursor.byte()) {
            self.seam = Some(known + 1);
            cursor.at += 1;
            return true;
        }
        let size = open.size + (cursor.at - cursor.from) as u64;
        if known < key.len() || cursor.byte() != b'"' || size > self.cap as u64 {
            return false;
        }
        let spot = self.spot(open.line);
        let begins = [b"{\"", key.as_slice()].concat();
        let bytes = self.slice(cursor, 0, size - begins.len() as u64).trim_ascii_end();
        out(Piece::Value { bytes: bytes.strip_suffix(b",").unwrap_or(bytes), spot });
        self.index += 1;
        self.close();
        self.open = Some(Open { kind: Kind::Nested, line: self.line, size: begins.len() as u64 });
        self.depth = self.base + 1;
        self.in_string = true;
        self.held = begins;
        cursor.from = cursor.at;
        true
    }

    fn outside(&mut self, cursor: &mut Cursor, out: &mut dyn FnMut(Piece)) {
        let byte = cursor.byte();
        if let Some(known) = self.seam
            && self.cross(known, cursor, out)
        {
            return;
        }
        if byte == b'\n' {
            if self.open.is_some() && self.base == 0 && (self.lines || self.is_bare()) {
                return self.newline_ends(cursor, out);
            }
            self.line += 1;
            if self.is_bare() {
                self.emit(cursor, out);
            }
            cursor.at += 1;
            return;
        }
        if matches!(byte, b' ' | b'\t' | b'\r') {
            cursor.at += 1;
            return;
        }
        if self.tail {
            self.pass_tail(byte);
            cursor.at += 1;
            return;
        }
        match self.open {
            None => self.begin(cursor, byte, out),
            Some(open) if open.kind == Kind::Bare => {
                if (self.base > 0 && matches!(byte, b',' | b']')) || (self.base == 0 && matches!(byte, b'{' | b'[')) {
                    self.emit(cursor, out);
                } else {
                    cursor.at += 1;
                }
            }
            Some(open) => self.within(cursor, byte, open, out),
        }
    }

    fn is_bare(&self) -> bool {
        matches!(self.open, Some(Open { kind: Kind::Bare, .. }))
    }

    /// A byte of a nested value, outside strings.
    fn within(&mut self, cursor: &mut Cursor, byte: u8, open: Open, out: &mut dyn FnMut(Piece)) {
        let offset = open.size + (cursor.at - cursor.from) as u64;
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && self.base == 0 {
                    self.wrap.key = (offset + 1, 0);
                    self.wrap.key_known = false;
                }
            }
            b'{' | b'[' => {
                if byte == b'{' && self.base == 0 && open.line < self.line && !matches!(self.last, b'[' | b',' | b':') {
                    // No JSON has an object here: the value before it never ended, and a line begins.
                    self.lines = true;
                    self.broken(open.line, cursor, out);
                    self.close();
                    return;
                }
                if self.base == 0 && !self.lines && !self.wrap.over {
                    if byte == b'[' && self.depth == 1 && self.last == b':' && self.wrap.key_known {
                        let key = self.wrap.key;
                        let small = offset <= self.cap as u64;
                        self.wrap.inside = small && WRAPPERS.contains(&self.slice(cursor, key.0, key.1));
                    } else if self.wrap.inside && self.depth == 2 && self.wrap.element.is_none() {
                        self.wrap.element = Some(offset);
                    }
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth <= self.base {
                    cursor.at += 1;
                    self.last = byte;
                    self.emit(cursor, out);
                    return;
                }
                if self.wrap.inside && self.depth == 2 && self.first_wrapped(cursor, offset + 1, out) {
                    return;
                }
                if self.wrap.inside && self.depth == 1 {
                    self.wrap.inside = false;
                }
            }
            _ => {}
        }
        self.last = byte;
        cursor.at += 1;
        // Most of what stands between strings says nothing of where values end.
        while let Some(byte @ (b':' | b',' | b'a'..=b'z' | b'0'..=b'9')) = cursor.chunk.get(cursor.at) {
            self.last = *byte;
            cursor.at += 1;
        }
    }

    /// The first element of a known array in a top-level object is complete: is it a conversation by itself?
    fn first_wrapped(&mut self, cursor: &mut Cursor, end: u64, out: &mut dyn FnMut(Piece)) -> bool {
        let (Some(start), false) = (self.wrap.element, end > self.cap as u64) else { return false };
        self.wrap.inside = false;
        self.wrap.over = true;
        cursor.at += 1;
        let spot = Spot { line: self.line, index: Some(0) };
        let probe = self.probe;
        let bytes = self.slice(cursor, start, end);
        let is_conversation = probe(bytes);
        if is_conversation {
            out(Piece::Value { bytes, spot });
        }
        self.last = b'}';
        if !is_conversation {
            return true;
        }
        (self.base, self.index) = (2, 1);
        self.key = None;
        self.close();
        cursor.from = cursor.at;
        true
    }

    /// The bytes `start..end` of the open value.
    fn slice<'s, 'c: 's>(&'s mut self, cursor: &mut Cursor<'c>, start: u64, end: u64) -> &'s [u8] {
        let open_size = self.open.map_or(0, |open| open.size);
        if start >= open_size {
            let base = cursor.from as u64;
            return &cursor.chunk[(base + start - open_size) as usize..(base + end - open_size) as usize];
        }
        let here = &cursor.chunk[cursor.from..cursor.at];
        hold(&mut self.held, here);
        if let Some(open) = &mut self.open {
            open.size += here.len() as u64;
        }
        cursor.from = cursor.at;
        &self.held[start as usize..end as usize]
    }

    /// The first byte of something between values.
    fn begin(&mut self, cursor: &mut Cursor, byte: u8, out: &mut dyn FnMut(Piece)) {
        match byte {
            b',' if self.base > 0 => cursor.at += 1,
            b']' if self.base > 0 => {
                cursor.at += 1;
                self.tail = self.base == 2;
                self.depth = self.base - 1;
                self.base = 0;
                self.values += 1;
                out(Piece::ArrayEnd);
            }
            b'[' if self.base == 0 && !self.lines => {
                cursor.at += 1;
                (self.base, self.depth, self.index) = (1, 1, 0);
                self.key = None;
            }
            _ => {
                let kind = match byte {
                    b'{' | b'[' => Kind::Nested,
                    b'"' => Kind::Text,
                    _ => Kind::Bare,
                };
                self.open = Some(Open { kind, line: self.line, size: 0 });
                self.wrap = Wrap { over: byte != b'{' || self.base > 0, ..Wrap::default() };
                self.in_string = kind == Kind::Text;
                self.depth = self.base + u64::from(kind == Kind::Nested);
                self.last = byte;
                cursor.from = cursor.at;
                cursor.at += 1;
            }
        }
    }

    fn pass_tail(&mut self, byte: u8) {
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.tail = self.depth > 0;
            }
            _ => {}
        }
    }

    /// A newline within a top-level value, where lines count.
    fn newline_ends(&mut self, cursor: &mut Cursor, out: &mut dyn FnMut(Piece)) {
        if self.is_bare() {
            self.emit(cursor, out);
            return;
        }
        let first = self.values == 0 && self.held.len() + cursor.at - cursor.from < 64;
        if first {
            let from = cursor.from;
            let so_far: Vec<u8> = [&self.held, &cursor.chunk[from..cursor.at]].concat();
            match so_far.trim_ascii() {
                // Only a pretty-printer leaves a bracket alone on a line: this is not JSON Lines after all.
                b"{" => {
                    self.lines = false;
                    self.line += 1;
                    cursor.at += 1;
                    return;
                }
                b"[" => {
                    self.lines = false;
                    self.close();
                    (self.base, self.depth, self.index) = (1, 1, 0);
                    return;
                }
                _ => {}
            }
        }
        self.broken_line(cursor, out);
    }

    /// Leaves the newline for [`Self::outside`] to count.
    fn broken_line(&mut self, cursor: &mut Cursor, out: &mut dyn FnMut(Piece)) {
        let line = self.open.map_or(self.line, |open| open.line);
        self.broken(line, cursor, out);
        self.close();
        self.values += 1;
        cursor.from = cursor.at;
    }

    fn broken(&mut self, line: u64, cursor: &Cursor, out: &mut dyn FnMut(Piece)) {
        let here = &cursor.chunk[cursor.from..cursor.at];
        hold(&mut self.held, &here[..here.len().min(BEGINNING)]);
        out(Piece::Broken { spot: self.spot(line), why: Broken::Line, begins: &self.held });
    }

    fn close(&mut self) {
        self.open = None;
        self.in_string = false;
        self.escaped = false;
        self.seam = None;
        self.depth = self.base;
        if self.held.capacity() > KEEP {
            self.held = Vec::new();
        }
        self.held.clear();
    }

    /// The open value ends before `cursor.at`.
    fn emit(&mut self, cursor: &mut Cursor, out: &mut dyn FnMut(Piece)) {
        let Some(open) = self.open else { return };
        let here = &cursor.chunk[cursor.from..cursor.at];
        let size = open.size + here.len() as u64;
        let spot = self.spot(open.line);
        if size > self.cap as u64 {
            out(Piece::Broken { spot, why: Broken::Large(size), begins: &[] });
        } else if self.held.is_empty() {
            out(Piece::Value { bytes: here.trim_ascii_end(), spot });
        } else {
            hold(&mut self.held, here);
            out(Piece::Value { bytes: self.held.trim_ascii_end(), spot });
        }
        // What follows on the same line after the first value, or on the next, is a line of its own.
        if self.base == 0 && open.line == self.line && open.kind == Kind::Nested {
            self.lines = true;
        }
        self.index += 1;
        self.values += u64::from(self.base == 0);
        self.close();
        cursor.from = cursor.at;
    }
}

impl std::fmt::Debug for Splitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Splitter").field("line", &self.line).field("index", &self.index).finish_non_exhaustive()
    }
}

/// How much of a broken line is enough to tell what it was.
const BEGINNING: usize = 8192;

/// How far from an element's beginning its first key ends at most.
const LONGEST_KEY: u64 = 256;

/// How many bytes at most there are from the end of an element to the first quote of the next.
const SEAM: u64 = 64;

/// A buffer larger than this is given back after its value.
const KEEP: usize = 1 << 20;

/// Appends, growing by a quarter rather than by doubling: one value can be a good part of all memory.
fn hold(held: &mut Vec<u8>, bytes: &[u8]) {
    let needed = held.len() + bytes.len();
    if needed > held.capacity() {
        held.reserve_exact((needed / 4).max(4096) + bytes.len());
    }
    held.extend_from_slice(bytes);
}

struct Cursor<'a> {
    chunk: &'a [u8],
    at: usize,
    /// Where the open value's bytes begin in this chunk.
    from: usize,
}

impl Cursor<'_> {
    fn byte(&self) -> u8 {
        self.chunk[self.at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, lines: bool, step: usize) -> Vec<String> {
        let mut out = Vec::new();
        let mut splitter = Splitter::new(lines, 1 << 20, |bytes| bytes.starts_with(b"{\"m\""));
        let mut sink = |piece: Piece| {
            out.push(match piece {
                Piece::Value { bytes, spot } => {
                    format!("{}:{:?} {}", spot.line, spot.index, String::from_utf8_lossy(bytes))
                }
                Piece::ArrayEnd => "end".to_owned(),
                Piece::Broken { spot, why, .. } => format!("{}:{:?} broken {why:?}", spot.line, spot.index),
            });
        };
        for chunk in text.as_bytes().chunks(step) {
            splitter.push(chunk, &mut sink);
        }
        splitter.finish(&mut sink);
        out
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(split(text, false, step), expected, "in steps of {step}");
        }
    }

    #[track_caller]
    fn check_lines(text: &str, expected: &[&str]) {
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(split(text, true, step), expected, "in steps of {step}");
        }
    }

    #[test]
    fn a_lost_quote_costs_its_own_element() {
        let list = r#"[{"id":"a","n":[{"x":1},{"x":2}]}, {"id":"b","t":"b: [text]","n":[{"x":1},{"x":2}]},
            {"id":"c","t":"},{\""}]"#;
        let [a, b, c] = [
            r#"1:Some(0) {"id":"a","n":[{"x":1},{"x":2}]}"#,
            r#"1:Some(1) {"id":"b","t":"b: [text]","n":[{"x":1},{"x":2}]}"#,
            r#"2:Some(2) {"id":"c","t":"},{\""}"#,
        ];
        check(list, &[a, b, c, "end"]);
        for lost in [r#"{id":"b""#, r#"{"id:"b""#, r#"{"id":b""#, r#"{"id":"b"#] {
            let broken = b.replace(r#"{"id":"b""#, lost);
            check(&list.replace(r#"{"id":"b""#, lost), &[a, &broken, c, "end"]);
        }
        // In a wrapped array, and a quote too many.
        check(
            r#"{"data":[{"m":1},{"m":"2""},{"m":3}]}"#,
            &[r#"1:Some(0) {"m":1}"#, r#"1:Some(1) {"m":"2""}"#, r#"1:Some(2) {"m":3}"#, "end"],
        );
    }

    #[test]
    fn arrays_give_their_elements() {
        check(
            "[{\"a\":[1,\"]\\\"}\"]} ,\n 5,\"x\", [2], null]",
            &[
                "1:Some(0) {\"a\":[1,\"]\\\"}\"]}",
                "2:Some(1) 5",
                "2:Some(2) \"x\"",
                "2:Some(3) [2]",
                "2:Some(4) null",
                "end",
            ],
        );
        check("[]", &["end"]);
    }

    #[test]
    fn a_plain_object_is_one_value() {
        check("{\n \"a\": {\"conversations\": [1]}\n}\n", &["1:None {\n \"a\": {\"conversations\": [1]}\n}"]);
        check("{\"conversations\":[{\"x\":1}]}", &["1:None {\"conversations\":[{\"x\":1}]}"]);
        check("{\"conversations\":[]}", &["1:None {\"conversations\":[]}"]);
    }

    #[test]
    fn a_wrapped_array_gives_its_elements() {
        check(
            "{\"v\":[{\"m\":0}], \"conversations\" : [\n{\"m\":1},{\"m\":2}\n],\"more\":[{\"m\":3}]}",
            &["2:Some(0) {\"m\":1}", "2:Some(1) {\"m\":2}", "end"],
        );
    }

    #[test]
    fn lines_glued_values_and_blank_lines() {
        check(
            "{\"a\":1}\n\n{\"b\":2}{\"c\":3}\r\n[4]\n",
            &["1:None {\"a\":1}", "3:None {\"b\":2}", "3:None {\"c\":3}", "4:None [4]"],
        );
    }

    #[test]
    fn a_broken_line_costs_only_itself() {
        let expected = ["1:None {\"a\":1}", "2:None broken Line", "3:None broken Line", "4:None {\"d\":4}"];
        check("{\"a\":1}\n{\"b\":\"x\n{\"c\":[\n{\"d\":4}\n", &expected);
        check("{\"a\":1\n{\"b\":2}", &["1:None broken Line", "2:None {\"b\":2}"]);
        check_lines("{\"a\":\n{\"b\":2}\n", &["1:None broken Line", "2:None {\"b\":2}"]);
    }

    #[test]
    fn a_name_that_lies_about_lines() {
        check_lines("[\n{\"a\":1},\n{\"b\":2}\n]", &["2:Some(0) {\"a\":1}", "3:Some(1) {\"b\":2}", "end"]);
        check_lines("{\n\"a\":1\n}", &["1:None {\n\"a\":1\n}"]);
    }

    #[test]
    fn cut_files() {
        check("[{\"a\":1},{\"b\":", &["1:Some(0) {\"a\":1}", "1:Some(1) broken End"]);
        check("[{\"a\":1}", &["1:Some(0) {\"a\":1}", "1:Some(1) broken End"]);
        check("{\"a\":1}\n{\"b", &["1:None {\"a\":1}", "2:None broken End"]);
    }

    #[test]
    fn large_values_are_passed_over_and_the_rest_goes_on() {
        let text = format!("[{{\"a\":\"{}\"}},{{\"b\":1}}]", "x".repeat(100));
        for step in [1, 10, 1000] {
            let mut out = Vec::new();
            let mut splitter = Splitter::new(false, 50, |_| false);
            let mut sink = |piece: Piece| out.push(format!("{piece:?}"));
            text.as_bytes().chunks(step).for_each(|chunk| splitter.push(chunk, &mut sink));
            splitter.finish(&mut sink);
            assert!(out[0].contains("Large(108)"), "{out:?}");
            assert_eq!(out.len(), 3, "{out:?}");
        }
    }

    #[test]
    fn nesting_costs_no_stack() {
        let deep = format!("[{}{},1]", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(split(&deep, false, 4096).len(), 3);
    }
}
