//! Frames: a stream of bytes, cut where its server meant it to be cut. Goes in: bytes in pieces of any size. Comes out: events of
//! a server-sent stream, or JSON objects one after the other (NDJSON, a list of them, or one whole answer), whichever it is.

use memchr::memchr2;

/// The longest frame, in bytes. What is longer is no answer of a model.
const LONGEST: usize = 64 << 20;

/// One event or one object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The event's name; empty where it has none.
    pub name: String,
    /// Its data, or the object's text.
    pub data: String,
}

/// Cuts a stream into frames. The same bytes give the same frames, wherever they were cut in transit.
///
/// ```
/// use threadkeep_provider::Frames;
/// let mut frames = Frames::default();
/// let mut found = frames.push(b"event: ping\r\nda");
/// found.extend(frames.push(b"ta: {}\r\n\r"));
/// found.extend(frames.push(b"\ndata: [DONE]"));
/// found.extend(frames.finish());
/// assert_eq!((found[0].name.as_str(), found[0].data.as_str(), found[1].data.as_str()), ("ping", "{}", "[DONE]"));
/// ```
#[derive(Debug, Default)]
pub struct Frames {
    mode: Mode,
    /// What is held until the kind of stream is clear: a byte order mark and white space at most.
    start: Vec<u8>,
    /// The line or object under way.
    part: Vec<u8>,
    events: Events,
    objects: Objects,
    /// How many bytes of frames came, without the line under way.
    taken: u64,
    /// A frame was longer than any may be; nothing is read after it.
    too_long: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Mode {
    #[default]
    Unknown,
    Events,
    Objects,
}

#[derive(Debug, Default)]
struct Events {
    /// The last byte was a carriage return: a line feed behind it belongs to it.
    after_return: bool,
    frame: Frame,
    has_data: bool,
}

#[derive(Debug, Default)]
struct Objects {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last byte that is no white space, outside strings.
    last: u8,
}

impl Frames {
    /// Takes more of the stream and gives the frames that are complete with it.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let mut found = Vec::new();
        if self.mode != Mode::Unknown {
            self.read(bytes, &mut found);
            return found;
        }
        self.start.extend_from_slice(bytes);
        let mark = [0xef, 0xbb, 0xbf];
        if self.start.len() < mark.len() && mark.starts_with(&self.start) {
            return found;
        }
        let rest = self.start.strip_prefix(&mark).unwrap_or(&self.start);
        let Some(first) = rest.iter().find(|byte| !byte.is_ascii_whitespace()) else { return found };
        self.mode = if matches!(first, b'{' | b'[') { Mode::Objects } else { Mode::Events };
        let rest = rest.to_vec();
        self.start = Vec::new();
        self.read(&rest, &mut found);
        found
    }

    /// The stream is over: gives what was left without an end.
    pub fn finish(&mut self) -> Vec<Frame> {
        let mut found = Vec::new();
        match self.mode {
            Mode::Unknown => {}
            Mode::Events => {
                if !self.part.is_empty() {
                    self.line(&mut found);
                }
                self.dispatch(&mut found);
            }
            Mode::Objects => self.object(&mut found),
        }
        found
    }

    /// Whether a frame was too long to be one.
    pub fn is_too_long(&self) -> bool {
        self.too_long
    }

    /// How many bytes of frames came so far. Comments, empty lines and white space, which only keep a connection open, are not counted.
    pub fn taken(&self) -> u64 {
        let comment = self.mode == Mode::Events && self.part.first() == Some(&b':');
        self.taken + if comment { 0 } else { self.part.len() as u64 }
    }

    fn read(&mut self, bytes: &[u8], found: &mut Vec<Frame>) {
        if self.too_long {
            return;
        }
        match self.mode {
            Mode::Objects => self.objects(bytes, found),
            _ => self.lines(bytes, found),
        }
        let data = if self.events.has_data { self.events.frame.data.len() } else { 0 };
        if self.part.len() + data > LONGEST {
            self.too_long = true;
            self.part = Vec::new();
        }
    }

    fn lines(&mut self, mut bytes: &[u8], found: &mut Vec<Frame>) {
        if self.events.after_return && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            self.events.after_return = false;
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            self.part.extend_from_slice(&bytes[..end]);
            self.line(found);
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_return {
                self.events.after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        self.part.extend_from_slice(bytes);
    }

    /// Takes the line under way, which is complete.
    fn line(&mut self, found: &mut Vec<Frame>) {
        let line = std::mem::take(&mut self.part);
        if line.is_empty() {
            self.dispatch(found);
            return;
        }
        if line[0] == b':' {
            return;
        }
        self.taken += line.len() as u64;
        let line = String::from_utf8_lossy(&line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let events = &mut self.events;
        match name {
            // Older llama.cpp sends errors in a field of their own.
            "data" | "error" => {
                if events.has_data {
                    events.frame.data.push('\n');
                }
                events.has_data = true;
                events.frame.data.push_str(value);
                if name == "error" {
                    name.clone_into(&mut events.frame.name);
                }
            }
            "event" => value.clone_into(&mut events.frame.name),
            _ => {}
        }
    }

    fn dispatch(&mut self, found: &mut Vec<Frame>) {
        let frame = std::mem::take(&mut self.events.frame);
        if std::mem::take(&mut self.events.has_data) {
            found.push(frame);
        }
    }

    fn objects(&mut self, bytes: &[u8], found: &mut Vec<Frame>) {
        for &byte in bytes {
            let state = &mut self.objects;
            if state.depth == 0 {
                match byte {
                    b'{' => {
                        self.object(found);
                        (self.objects.depth, self.objects.last) = (1, byte);
                        self.part.push(byte);
                    }
                    // Between objects: white space, and the brackets and commas of a list.
                    b'[' | b']' | b',' => {}
                    byte if byte.is_ascii_whitespace() => {
                        if byte == b'\n' {
                            self.object(found);
                        }
                    }
                    // Something else: handed on as it is, for whoever reads JSON to refuse.
                    byte => self.part.push(byte),
                }
                continue;
            }
            // What no JSON has: an object behind something else, a line end in a string. It was cut; the next one begins.
            let cut = match byte {
                b'{' => !state.in_string && !matches!(state.last, b'[' | b',' | b':'),
                b'\n' => state.in_string,
                _ => false,
            };
            if cut {
                self.object(found);
                if byte == b'{' {
                    (self.objects.depth, self.objects.last) = (1, byte);
                    self.part.push(byte);
                }
                continue;
            }
            if !state.in_string && !byte.is_ascii_whitespace() {
                state.last = byte;
            }
            match byte {
                _ if state.escaped => state.escaped = false,
                b'\\' if state.in_string => state.escaped = true,
                b'"' => state.in_string = !state.in_string,
                b'{' | b'[' if !state.in_string => state.depth += 1,
                b'}' | b']' if !state.in_string => state.depth -= 1,
                _ => {}
            }
            let over = state.depth == 0;
            self.part.push(byte);
            if over {
                self.object(found);
            }
        }
    }

    /// Gives the object under way, if there is one.
    fn object(&mut self, found: &mut Vec<Frame>) {
        if !self.part.is_empty() {
            self.taken += self.part.len() as u64;
            let data = String::from_utf8_lossy(&std::mem::take(&mut self.part)).into_owned();
            found.push(Frame { name: String::new(), data });
        }
        self.objects = Objects::default();
    }
}
