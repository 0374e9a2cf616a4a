//! Text that is pushed: cuts it into values, tells what format they are, and hands each to that format's parser.

mod chatgpt;
mod claude;
mod codex;
pub(super) mod gemini;
mod librechat;
mod oasst;
mod openai;
mod openwebui;
mod pi;
mod sharegpt;
mod sillytavern;

use std::sync::Arc;

use self::chatgpt::Outer;
use super::digest::{Sum, digest};
use super::format::{Kind, detect};
use super::raw::Fields;
use super::report::{Counts, Report, short};
use super::split::{Broken, Piece, Splitter, Spot};
use super::{Code, Format, Item, agent, clean, list, manifest, own, sniff, unreadable};

/// The largest value that is held, in bytes: a longer one is left out.
const CAP: usize = 256 << 20;

/// Reads one file of text (JSON or JSON Lines) from pieces of any size. How the bytes are cut changes nothing.
#[derive(Debug)]
pub struct Reader {
    first: Option<Vec<u8>>,
    splitter: Splitter,
    body: Body,
}

impl Reader {
    /// A file called `name` (for the report, and for whether it is JSON Lines). The content decides what it is; `hint`, what
    /// the caller says that it is, counts where the content does not tell.
    pub fn new(name: &str, hint: Option<Format>) -> Self {
        let lower = name.to_ascii_lowercase();
        let lines = lower.ends_with(".jsonl") || lower.ends_with(".ndjson");
        Self {
            first: Some(Vec::new()),
            splitter: Splitter::new(lines, CAP, is_conversation),
            body: Body::new(name, hint),
        }
    }

    /// Tells the names of all the files that are imported together, so that a manifest can be held against them.
    #[must_use]
    pub fn among(mut self, names: Arc<[String]>) -> Self {
        self.body.siblings = Some(names);
        self
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Item)) {
        if let Some(first) = &mut self.first {
            let take = bytes.len().min(sniff::ENOUGH.saturating_sub(first.len()));
            first.extend_from_slice(&bytes[..take]);
            if first.len() >= sniff::ENOUGH {
                self.begin(sink);
            }
            return self.pass(&bytes[take..], sink);
        }
        self.pass(bytes, sink);
    }

    /// The first bytes are there: is it text at all?
    fn begin(&mut self, sink: &mut dyn FnMut(Item)) {
        let first = self.first.take().unwrap_or_default();
        match sniff::sniff(&first, &self.body.name) {
            sniff::Sniffed::Text(skip) => self.pass(&first[skip..], sink),
            sniff::Sniffed::Not(code, reason) => {
                self.body.report(sink, |_, report| report.skip("", code, reason));
                self.body.closed = true;
            }
        }
    }

    /// Whether the rest of the file will change nothing.
    pub(super) fn is_closed(&self) -> bool {
        self.body.closed
    }

    fn pass(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Item)) {
        if self.first.is_none() && !self.body.closed {
            let body = &mut self.body;
            self.splitter.push(bytes, &mut |piece| body.piece(piece, sink));
        }
    }

    /// Says that the rest of the file cannot be had, which whoever says it reports: what came before is handed out.
    pub(super) fn abandon(&mut self, sink: &mut dyn FnMut(Item)) {
        if self.first.is_none() && !self.body.closed {
            self.body.gathered(sink);
        }
        self.body.report(sink, |_, report| report.close());
        self.body.closed = true;
    }

    /// Says that the file ends here. Further pushes do nothing.
    pub fn finish(&mut self, sink: &mut dyn FnMut(Item)) {
        if self.first.is_some() {
            self.begin(sink);
        }
        if !self.body.closed {
            let body = &mut self.body;
            self.splitter.finish(&mut |piece| body.piece(piece, sink));
            self.body.finish(sink);
        }
        self.body.report(sink, |_, report| report.close());
        self.body.closed = true;
    }
}

/// Whether an element of a wrapped array is a conversation by itself, and not, say, a turn of one.
fn is_conversation(bytes: &[u8]) -> bool {
    let clean = clean::clean(bytes);
    let kind = Fields::parse(&clean.text).map(|fields| detect(&fields));
    matches!(kind, Ok(Kind::Of(_) | Kind::Other(_)))
}

/// What follows the splitter: one file's format, and what its parsers remember.
#[derive(Debug)]
struct Body {
    name: String,
    hint: Option<Format>,
    siblings: Option<Arc<[String]>>,
    counts: Counts,
    /// What the file has turned out to be.
    format: Option<Format>,
    /// Members that are no conversations and values that are not known are mentioned once a file.
    mentioned: bool,
    closed: bool,
    /// Whether anything has been said of the file.
    spoken: bool,
    /// A bare list of messages that is still coming.
    messages: Option<(openai::Messages, u64)>,
    known: list::Known,
    gathering: Gathering,
    /// The format whose lines make one conversation: whatever follows belongs to it.
    lines: Option<Format>,
}

/// The parsers that gather lines until the file ends.
#[derive(Debug, Default)]
struct Gathering {
    own: own::Reading,
    agent: agent::Part,
    claude_code: claude::code::Lines,
    codex: codex::Lines,
    gemini_cli: gemini::cli::Lines,
    pi: pi::Lines,
    sillytavern: sillytavern::Lines,
}

impl Gathering {
    /// The file ends: each hands out what its lines make.
    fn finish(&mut self, report: &mut Report) {
        // All are named, so the compiler says if one is forgotten.
        let Self { own, agent, claude_code, codex, gemini_cli, pi, sillytavern } = self;
        own.finish(report);
        agent.finish(report);
        claude_code.finish(report);
        codex.finish(report);
        gemini_cli.finish(report);
        pi.finish(report);
        sillytavern.finish(report);
    }
}

impl Body {
    fn new(name: &str, hint: Option<Format>) -> Self {
        Self {
            name: name.to_owned(),
            hint,
            siblings: None,
            counts: Counts::default(),
            format: None,
            mentioned: false,
            closed: false,
            spoken: false,
            messages: None,
            known: list::Known::default(),
            gathering: Gathering::default(),
            lines: None,
        }
    }

    /// Lets `speak` write to the report.
    fn report(&mut self, sink: &mut dyn FnMut(Item), speak: impl FnOnce(&mut Self, &mut Report)) {
        let (name, mut counts) = (std::mem::take(&mut self.name), std::mem::take(&mut self.counts));
        let mut spoken = self.spoken;
        let mut note = |item: Item| {
            spoken = true;
            sink(item);
        };
        speak(self, &mut Report { file: &name, counts: &mut counts, sink: &mut note });
        (self.name, self.counts, self.spoken) = (name, counts, spoken);
    }

    fn piece(&mut self, piece: Piece, sink: &mut dyn FnMut(Item)) {
        if self.closed {
            return;
        }
        self.report(sink, |body, report| match piece {
            Piece::Value { bytes, spot } => body.value(bytes, spot, report),
            Piece::ArrayEnd => body.end_messages(report),
            Piece::Broken { spot, why, begins } => body.broken(spot, why, begins, report),
        });
    }

    fn value(&mut self, bytes: &[u8], spot: Spot, report: &mut Report) {
        let cleaned = clean::clean(bytes);
        let mut place = place(spot);
        match self.read(&cleaned.text, bytes, &mut place, report) {
            Ok(()) => {}
            Err(error) => match clean::mend_json(&cleaned.text) {
                Some(mended) => match self.read(&mended, bytes, &mut place, report) {
                    Ok(()) => report.warn(&place, Code::BadJson, "it is not quite valid JSON; it comes in mended"),
                    Err(error) => self.bad(&place, bytes, &error, report),
                },
                None => self.bad(&place, bytes, &error, report),
            },
        }
        if let Some(mended) = cleaned.mended {
            report.warn(&place, Code::BadText, mended);
        }
    }

    /// A line could not be read, which may have held what others follow.
    fn lost(&mut self, bytes: &[u8]) {
        self.gathering.own.unreadable(bytes);
        (self.gathering.claude_code.damaged, self.gathering.pi.damaged) = (true, true);
    }

    fn bad(&mut self, place: &str, bytes: &[u8], error: &serde_json::Error, report: &mut Report) {
        let (code, reason) = unreadable(error);
        self.lost(bytes);
        report.skip(place, code, format!("this {reason}"));
    }

    /// Reads one value. An error means that its outer layer is no JSON.
    fn read(
        &mut self,
        text: &str,
        bytes: &[u8],
        place: &mut String,
        report: &mut Report,
    ) -> Result<(), serde_json::Error> {
        if !text.starts_with('{') {
            return self.no_object(text, bytes, place, report);
        }
        let Outer { fields, mapping } = Outer::parse(text)?;
        if self.format == Some(Format::Threadkeep) {
            self.gathering.own.line(&fields, bytes, place, report);
            return Ok(());
        }
        if let Some(format) = self.lines {
            self.conversation(format, &fields, mapping, bytes, place, report);
            return Ok(());
        }
        let kind = match detect(&fields) {
            Kind::Unknown => {
                self.hint.or(self.format.filter(|format| *format == Format::ClaudeCode)).map_or(Kind::Unknown, Kind::Of)
            }
            kind => kind,
        };
        match kind {
            Kind::Manifest => manifest::read(&fields, self.siblings.as_deref(), report),
            Kind::Other(what) => {
                if !std::mem::replace(&mut self.mentioned, true) {
                    report.skip("", Code::NotAConversation, what);
                }
            }
            // A message within a file of another format is a piece of a damaged line.
            Kind::Message if self.format.is_some_and(|format| format != Format::OpenAiMessages) => {
                self.unknown(place, report);
            }
            Kind::Message => {
                let raw = serde_json::from_str(text)?;
                let (messages, sum) = self.messages.get_or_insert_default();
                *sum = Sum(*sum).with(bytes).0;
                messages.add(raw, "", report);
            }
            Kind::Of(format) => self.conversation(format, &fields, mapping, bytes, place, report),
            Kind::Unknown => self.unknown(place, report),
        }
        Ok(())
    }

    fn conversation(
        &mut self,
        format: Format,
        fields: &Fields,
        mapping: Option<chatgpt::Mapping>,
        bytes: &[u8],
        place: &mut String,
        report: &mut Report,
    ) {
        self.format = Some(format);
        if let Some(title) = fields.string("title").or_else(|| fields.string("name")) {
            let title = format!("\"{}\"", short(&title));
            *place = if place.is_empty() { title } else { format!("{place} {title}") };
        }
        let digest = match format {
            // Without an id of its own, a conversation of these is called after its digest.
            Format::OpenWebUi | Format::GeminiCli => digest(bytes),
            _ => Sum::default().with(bytes).0,
        };
        let made = match format {
            Format::ChatGpt => chatgpt::read(fields, mapping, place, digest, report),
            Format::ClaudeAi => claude::ai::read(fields, place, digest, report),
            Format::ClaudeCode => {
                self.gathering.claude_code.line(fields, bytes, place, report);
                None
            }
            Format::OpenAiMessages => openai::read(fields, place, digest, &mut self.known, report),
            Format::Threadkeep => {
                self.gathering.own.line(fields, bytes, place, report);
                None
            }
            Format::ShareGpt => sharegpt::read(fields, place, digest, &mut self.known, report),
            Format::Oasst => oasst::read(fields, place, digest, report),
            Format::LibreChat => librechat::read(fields, place, digest, report),
            Format::OpenWebUi => openwebui::read(fields, place, digest, report),
            Format::GeminiActivity => gemini::activity::read(fields, place, digest, report),
            Format::AiStudio => gemini::studio::read(fields, place, digest, &mut self.known, report),
            Format::GeminiCli if fields.has("messages") && self.lines.is_none() => {
                gemini::cli::read(fields, place, digest, report)
            }
            Format::GeminiCli => {
                self.lines = Some(format);
                self.gathering.gemini_cli.line(fields, bytes, place, report);
                None
            }
            Format::ChatbotUi => {
                sharegpt::chatbot_ui(fields, place, &mut self.known, report);
                None
            }
            Format::Memory => {
                self.gathering.agent.line(fields, bytes, place, report);
                None
            }
            Format::Codex => {
                self.lines = Some(format);
                self.gathering.codex.line(fields, bytes, place, report);
                None
            }
            Format::Pi => {
                self.lines = Some(format);
                self.gathering.pi.line(fields, bytes, place, report);
                None
            }
            Format::SillyTavern => {
                self.lines = Some(format);
                self.gathering.sillytavern.line(fields, bytes, place, report);
                None
            }
        };
        if let Some(conversation) = made {
            report.conversation(conversation);
        }
    }

    /// A value that is no object: a list of messages, or nothing that is known.
    fn no_object(
        &mut self,
        text: &str,
        bytes: &[u8],
        place: &str,
        report: &mut Report,
    ) -> Result<(), serde_json::Error> {
        let list: Vec<&serde_json::value::RawValue> =
            if text.starts_with('[') { serde_json::from_str(text)? } else { vec![] };
        // A list within a file of another format is a piece of a damaged line.
        let may_be = self.format.is_none_or(|format| format == Format::OpenAiMessages);
        let is_message = |raw: &str| Fields::parse(raw).is_ok_and(|fields| detect(&fields) == Kind::Message);
        if may_be && list.first().is_some_and(|first| is_message(first.get())) {
            let mut messages = openai::Messages::default();
            list.iter().for_each(|raw| messages.add(raw, place, report));
            self.format = Some(Format::OpenAiMessages);
            if let Some(made) = messages.conversation(place, Sum::default().with(bytes).0, &mut self.known, report) {
                report.conversation(made);
            }
            return Ok(());
        }
        let _: &serde_json::value::RawValue = serde_json::from_str(text)?;
        if self.format.is_some() || self.messages.is_some() {
            report.skip(place, Code::BadShape, "an object was expected here");
        } else {
            self.unknown(place, report);
        }
        Ok(())
    }

    fn unknown(&mut self, place: &str, report: &mut Report) {
        match self.format {
            Some(format) => {
                let reason = format!("this has nothing of {}, which the rest of the file is", format.title());
                report.skip(place, Code::BadShape, reason);
            }
            None if self.messages.is_some() => report.skip(place, Code::BadShape, "this is no chat message"),
            None => {
                if !std::mem::replace(&mut self.mentioned, true) {
                    let known: Vec<&str> = Format::all().map(Format::title).collect();
                    let reason = format!("this is nothing that can be imported; expected: {}", known.join(", "));
                    report.skip("", Code::UnknownFormat, reason);
                }
            }
        }
    }

    fn broken(&mut self, spot: Spot, why: Broken, begins: &[u8], report: &mut Report) {
        let place = place(spot);
        self.lost(begins);
        match why {
            Broken::End => {
                report.skip(
                    &place,
                    Code::Truncated,
                    "the file ends here, in the middle; what came before is not affected",
                );
            }
            Broken::Line => report.skip(&place, Code::BadJson, "the line is not complete JSON"),
            Broken::Large(size) => {
                let reason = format!("it has {} MB, more than the {} MB that one may have", size >> 20, CAP >> 20);
                report.skip(&place, Code::TooLarge, reason);
            }
        }
    }

    fn end_messages(&mut self, report: &mut Report) {
        if let Some((messages, sum)) = self.messages.take()
            && let Some(made) = messages.conversation("", sum, &mut self.known, report)
        {
            report.conversation(made);
        }
    }

    /// Hands out what parsers have gathered.
    fn gathered(&mut self, sink: &mut dyn FnMut(Item)) {
        self.report(sink, |body, report| {
            body.end_messages(report);
            body.gathering.finish(report);
        });
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Item)) {
        self.gathered(sink);
        if !self.spoken {
            self.report(sink, |_, report| report.skip("", Code::Empty, "the file holds no conversations"));
        }
    }
}

/// Where a value lies, in words; nothing for what begins on the first line.
fn place(spot: Spot) -> String {
    match spot {
        Spot { index: Some(index), .. } => format!("conversation {}", index + 1),
        Spot { line: 1, .. } => String::new(),
        Spot { line, .. } => format!("line {line}"),
    }
}
