//! Markdown as a tree that a page can build elements from. Text in, [`Block`]s out. Raw HTML becomes text, a link is kept
//! only where its scheme is on the allow-list, an image becomes a link, and nesting is bounded, so that whatever a
//! message says, nothing in it can run, load or overflow the stack.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A block of text.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading, 1 to 6.
    Heading(u8, Vec<Inline>),
    /// A paragraph.
    Paragraph(Vec<Inline>),
    /// Code: its language (often empty) and its text.
    Code {
        /// The first word after the fence.
        language: String,
        /// What is in it, without the last line break.
        text: String,
    },
    /// A quotation.
    Quote(Vec<Block>),
    /// A list, numbered from `start` or with bullets.
    List {
        /// The first number.
        start: Option<u64>,
        /// Its items.
        items: Vec<Item>,
    },
    /// A table.
    Table {
        /// How each column is aligned.
        align: Vec<Align>,
        /// The header row.
        head: Vec<Vec<Inline>>,
        /// The other rows.
        rows: Vec<Vec<Vec<Inline>>>,
    },
    /// A line across.
    Rule,
    /// Raw HTML, to be shown as it is written.
    Html(String),
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// For a task: whether it is done.
    pub done: Option<bool>,
    /// What it says.
    pub blocks: Vec<Block>,
}

/// How a column of a table is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// As the text's direction has it.
    Start,
    /// In the middle.
    Center,
    /// At the end.
    End,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Inline {
    /// Text.
    Text(String),
    /// Code.
    Code(String),
    /// Emphasis.
    Emphasis(Vec<Inline>),
    /// Strong emphasis.
    Strong(Vec<Inline>),
    /// Struck out.
    Strike(Vec<Inline>),
    /// A link whose address is on the allow-list.
    Link {
        /// Where it leads.
        url: String,
        /// What it says.
        content: Vec<Inline>,
    },
    /// What was written as a link to somewhere a page should not lead.
    DeadLink {
        /// The address, to be shown and not followed.
        url: String,
        /// What it says.
        content: Vec<Inline>,
    },
    /// An image that lies in the text itself (`data:`), in a harmless format.
    Picture {
        /// Its `data:` address.
        url: String,
        /// What it shows.
        alt: String,
    },
    /// A line break.
    Break,
}

/// How deep blocks and emphasis may nest; what is deeper continues at this depth.
const DEEPEST: usize = 24;

/// The address, where it is one that a page may lead to: `http`, `https` or `mailto`.
pub fn safe_link(url: &str) -> Option<String> {
    let url: String = url.trim().chars().filter(|c| !c.is_control()).collect();
    let (scheme, rest) = url.split_once(':')?;
    let known = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) && rest.starts_with("//");
    (known || scheme.eq_ignore_ascii_case("mailto")).then_some(url)
}

/// The address, where it holds a raster image itself.
pub fn safe_picture(url: &str) -> Option<String> {
    let url = url.trim();
    let kinds = ["png", "jpeg", "gif", "webp"];
    let fits = |kind: &&str| url.strip_prefix("data:image/").and_then(|rest| rest.strip_prefix(*kind));
    let data = kinds.iter().find_map(fits)?.strip_prefix(";base64,")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    data.bytes().all(plain).then(|| url.to_owned())
}

/// Something that is open while events come in.
enum Open {
    Blocks(Holder, Vec<Block>),
    Inlines(Span, Vec<Inline>),
    Code { language: String, text: String },
    Html(String),
    Table { align: Vec<Align>, head: Vec<Vec<Inline>>, rows: Vec<Vec<Vec<Inline>>>, row: Vec<Vec<Inline>> },
    List { start: Option<u64>, items: Vec<Item> },
}

enum Holder {
    Document,
    Quote,
    Item { done: Option<bool> },
}

enum Span {
    Paragraph,
    Heading(u8),
    Cell,
    Emphasis,
    Strong,
    Strike,
    Link(String),
    Image(String),
    /// Text that stands in an item without a paragraph of its own.
    Loose,
}

/// Reads `text`. With `breaks`, a single line break is one, as people type them.
pub fn parse(text: &str, breaks: bool) -> Vec<Block> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder = Builder { open: vec![Open::Blocks(Holder::Document, Vec::new())], skipped: 0, breaks, text };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        builder.take(event, range);
    }
    builder.finish()
}

struct Builder<'a> {
    open: Vec<Open>,
    /// Containers that were too deep to open and whose ends must be passed over.
    skipped: usize,
    breaks: bool,
    text: &'a str,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, range: std::ops::Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, range.start),
            Event::Code(text) => self.inline(Inline::Code(text.into_string())),
            Event::Html(text) => match self.open.last_mut() {
                Some(Open::Html(all)) => all.push_str(&text),
                _ => self.block(Block::Html(text.trim_end().to_owned())),
            },
            Event::InlineHtml(text) => {
                let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
                match bare.to_ascii_lowercase().as_str() {
                    "<br>" | "<br/>" => self.inline(Inline::Break),
                    _ => self.inline(Inline::Text(text.into_string())),
                }
            }
            Event::SoftBreak if self.breaks => self.inline(Inline::Break),
            Event::SoftBreak => self.inline(Inline::Text(" ".to_owned())),
            Event::HardBreak => self.inline(Inline::Break),
            Event::Rule => self.block(Block::Rule),
            Event::TaskListMarker(checked) => {
                let items = self.open.iter_mut().rev();
                if let Some(done) = items.into_iter().find_map(|open| match open {
                    Open::Blocks(Holder::Item { done }, _) => Some(done),
                    _ => None,
                }) {
                    *done = Some(checked);
                }
            }
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.inline(Inline::Text(text.into_string()));
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let nests = matches!(
            tag,
            Tag::BlockQuote(_)
                | Tag::List(_)
                | Tag::Item
                | Tag::Emphasis
                | Tag::Strong
                | Tag::Strikethrough
                | Tag::Link { .. }
                | Tag::Image { .. }
        );
        // Only ever skip from the inside out: what is opened within something skipped is skipped too, if it nests.
        if nests && (self.skipped > 0 || self.open.len() >= DEEPEST) {
            self.skipped += 1;
            return;
        }
        let inline =
            matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. });
        if inline {
            self.loosen();
        } else {
            self.close_loose();
        }
        let open = match tag {
            Tag::Paragraph => Open::Inlines(Span::Paragraph, Vec::new()),
            Tag::Heading { level, .. } => Open::Inlines(Span::Heading(level_of(level)), Vec::new()),
            Tag::BlockQuote(_) => Open::Blocks(Holder::Quote, Vec::new()),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                Open::Code { language: language.to_owned(), text: String::new() }
            }
            Tag::HtmlBlock => Open::Html(String::new()),
            Tag::List(start) => Open::List { start, items: Vec::new() },
            Tag::Item => Open::Blocks(Holder::Item { done: None }, Vec::new()),
            Tag::Table(align) => Open::Table {
                align: align.into_iter().map(align_of).collect(),
                head: Vec::new(),
                rows: Vec::new(),
                row: Vec::new(),
            },
            Tag::TableHead | Tag::TableRow => return,
            Tag::TableCell => Open::Inlines(Span::Cell, Vec::new()),
            Tag::Emphasis => Open::Inlines(Span::Emphasis, Vec::new()),
            Tag::Strong => Open::Inlines(Span::Strong, Vec::new()),
            Tag::Strikethrough => Open::Inlines(Span::Strike, Vec::new()),
            Tag::Link { dest_url, .. } => Open::Inlines(Span::Link(dest_url.into_string()), Vec::new()),
            Tag::Image { dest_url, .. } => Open::Inlines(Span::Image(dest_url.into_string()), Vec::new()),
            // None of these is switched on; their content would still come through as text.
            _ => return,
        };
        self.open.push(open);
    }

    fn end(&mut self, tag: TagEnd) {
        let nests = matches!(
            tag,
            TagEnd::BlockQuote(_)
                | TagEnd::List(_)
                | TagEnd::Item
                | TagEnd::Emphasis
                | TagEnd::Strong
                | TagEnd::Strikethrough
                | TagEnd::Link
                | TagEnd::Image
        );
        if nests && self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        match tag {
            TagEnd::TableHead => {
                if let Some(Open::Table { head, row, .. }) = self.open.last_mut() {
                    *head = std::mem::take(row);
                }
                return;
            }
            TagEnd::TableRow => {
                if let Some(Open::Table { rows, row, .. }) = self.open.last_mut() {
                    rows.push(std::mem::take(row));
                }
                return;
            }
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::TableCell
            | TagEnd::Table => {}
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => {}
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => self.close_loose(),
            _ => return,
        }
        self.close();
    }

    /// Opens a run of inlines where text comes without a paragraph, as in the items of a tight list.
    fn loosen(&mut self) {
        if matches!(self.open.last(), Some(Open::Blocks(..))) {
            self.open.push(Open::Inlines(Span::Loose, Vec::new()));
        }
    }

    fn close_loose(&mut self) {
        if matches!(self.open.last(), Some(Open::Inlines(Span::Loose, _))) {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.open.len() < 2 {
            return;
        }
        match self.open.pop() {
            Some(Open::Inlines(span, content)) => self.close_span(span, content),
            Some(Open::Code { language, mut text }) => {
                if text.ends_with('\n') {
                    text.pop();
                }
                self.block(Block::Code { language, text });
            }
            Some(Open::Html(text)) => self.block(Block::Html(text.trim_end().to_owned())),
            Some(Open::Table { align, head, rows, .. }) => self.block(Block::Table { align, head, rows }),
            Some(Open::List { start, items }) => self.block(Block::List { start, items }),
            Some(Open::Blocks(Holder::Quote, blocks)) => self.block(Block::Quote(blocks)),
            Some(Open::Blocks(Holder::Item { done }, blocks)) => match self.open.last_mut() {
                Some(Open::List { items, .. }) => items.push(Item { done, blocks }),
                _ => blocks.into_iter().for_each(|block| self.block(block)),
            },
            Some(Open::Blocks(Holder::Document, _)) | None => {}
        }
    }

    fn close_span(&mut self, span: Span, content: Vec<Inline>) {
        match span {
            Span::Paragraph | Span::Loose => self.block(Block::Paragraph(content)),
            Span::Heading(level) => self.block(Block::Heading(level, content)),
            Span::Cell => match self.open.last_mut() {
                Some(Open::Table { row, .. }) => row.push(content),
                _ => self.block(Block::Paragraph(content)),
            },
            Span::Emphasis => self.inline(Inline::Emphasis(content)),
            Span::Strong => self.inline(Inline::Strong(content)),
            Span::Strike => self.inline(Inline::Strike(content)),
            Span::Link(url) => self.inline(match safe_link(&url) {
                Some(url) => Inline::Link { url, content },
                None => Inline::DeadLink { url, content },
            }),
            Span::Image(url) => {
                let alt = plain(&content);
                self.inline(match (safe_picture(&url), safe_link(&url)) {
                    (Some(url), _) => Inline::Picture { url, alt },
                    (None, Some(url)) => Inline::Link { url, content: vec![Inline::Text(image_words(&alt))] },
                    (None, None) => Inline::DeadLink { url, content: vec![Inline::Text(image_words(&alt))] },
                });
            }
        }
    }

    fn text(&mut self, text: &str, start: usize) {
        match self.open.last_mut() {
            Some(Open::Code { text: all, .. } | Open::Html(all)) => all.push_str(text),
            _ => {
                // A backslash before a bracket is how models write formulas: keep it in sight.
                let escaped = self.text.as_bytes().get(start.wrapping_sub(1)) == Some(&b'\\')
                    && text.starts_with(['(', ')', '[', ']']);
                if escaped {
                    self.inline(Inline::Text(format!("\\{text}")));
                } else {
                    self.inline(Inline::Text(text.to_owned()));
                }
            }
        }
    }

    fn inline(&mut self, inline: Inline) {
        self.loosen();
        match self.open.last_mut() {
            Some(Open::Inlines(_, content)) => match (content.last_mut(), inline) {
                // The parser cuts text at every special letter; put it together again, or no bare address is whole.
                (Some(Inline::Text(before)), Inline::Text(more)) => before.push_str(&more),
                (_, inline) => content.push(inline),
            },
            _ => self.block(Block::Paragraph(vec![inline])),
        }
    }

    fn block(&mut self, block: Block) {
        self.close_loose();
        for open in self.open.iter_mut().rev() {
            if let Open::Blocks(_, blocks) = open {
                blocks.push(block);
                return;
            }
        }
    }

    fn finish(mut self) -> Vec<Block> {
        while self.open.len() > 1 {
            self.close();
        }
        let mut blocks = match self.open.pop() {
            Some(Open::Blocks(_, blocks)) => blocks,
            _ => Vec::new(),
        };
        blocks.iter_mut().for_each(link_block);
        blocks
    }
}

fn level_of(level: HeadingLevel) -> u8 {
    level as u8
}

fn align_of(align: Alignment) -> Align {
    match align {
        Alignment::None | Alignment::Left => Align::Start,
        Alignment::Center => Align::Center,
        Alignment::Right => Align::End,
    }
}

fn image_words(alt: &str) -> String {
    if alt.trim().is_empty() { "Image".to_owned() } else { format!("Image: {}", alt.trim()) }
}

/// The text of inlines, without their form.
pub fn plain(inlines: &[Inline]) -> String {
    inlines
        .iter()
        .map(|inline| match inline {
            Inline::Text(text) | Inline::Code(text) => text.clone(),
            Inline::Emphasis(content) | Inline::Strong(content) | Inline::Strike(content) => plain(content),
            Inline::Link { content, .. } | Inline::DeadLink { content, .. } => plain(content),
            Inline::Picture { alt, .. } => alt.clone(),
            Inline::Break => "\n".to_owned(),
        })
        .collect()
}

fn link_block(block: &mut Block) {
    match block {
        Block::Heading(_, content) | Block::Paragraph(content) => link_inlines(content),
        Block::Quote(blocks) => blocks.iter_mut().for_each(link_block),
        Block::List { items, .. } => items.iter_mut().flat_map(|item| &mut item.blocks).for_each(link_block),
        Block::Table { head, rows, .. } => {
            head.iter_mut().chain(rows.iter_mut().flatten()).for_each(link_inlines);
        }
        Block::Code { .. } | Block::Rule | Block::Html(_) => {}
    }
}

fn link_inlines(content: &mut Vec<Inline>) {
    let bare = |inline: &Inline| matches!(inline, Inline::Text(text) if text.contains("://"));
    if content.iter().any(bare) {
        for inline in std::mem::take(content) {
            match inline {
                Inline::Text(text) => content.extend(addresses(&text)),
                other => content.push(other),
            }
        }
    }
    for inline in content {
        if let Inline::Emphasis(inner) | Inline::Strong(inner) | Inline::Strike(inner) = inline {
            link_inlines(inner);
        }
    }
}

/// Plain text with the `http` and `https` addresses in it as links.
pub fn addresses(text: &str) -> Vec<Inline> {
    let mut out = Vec::new();
    let (mut kept, mut from) = (0, 0);
    while let Some(found) = text[from..].find("http") {
        let start = from + found;
        let rest = &text[start..];
        let begins = text[..start].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        if !begins || !(rest.starts_with("http://") || rest.starts_with("https://")) {
            from = start + 4;
            continue;
        }
        let stop = |c: char| c.is_whitespace() || c.is_control() || "<>\"'`|\\^{}".contains(c);
        let mut address = &rest[..rest.find(stop).unwrap_or(rest.len())];
        // Punctuation at the end belongs to the sentence; a bracket does unless it was opened in the address.
        while let Some(last) = address.chars().next_back() {
            let closes = |open: char| address.matches(open).count() < address.matches(last).count();
            let drop = match last {
                '.' | ',' | ';' | ':' | '!' | '?' | '*' | '_' => true,
                ')' => closes('('),
                ']' => closes('['),
                _ => false,
            };
            if !drop {
                break;
            }
            address = &address[..address.len() - last.len_utf8()];
        }
        from = start + address.len().max(4);
        if address.split_once("://").is_some_and(|(_, host)| !host.is_empty()) {
            if kept < start {
                out.push(Inline::Text(text[kept..start].to_owned()));
            }
            kept = start + address.len();
            out.push(Inline::Link { url: address.to_owned(), content: vec![Inline::Text(address.to_owned())] });
        }
    }
    if kept < text.len() {
        out.push(Inline::Text(text[kept..].to_owned()));
    }
    out
}

#[cfg(test)]
mod tests;
