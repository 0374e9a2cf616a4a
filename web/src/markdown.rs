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
        *content = std::mem::take(content)
            .into_iter()
            .flat_map(|inline| match inline {
                Inline::Text(text) if text.contains("://") => addresses(&text),
                other => vec![other],
            })
            .collect();
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
mod tests {
    use super::*;

    fn text(text: &str) -> Inline {
        Inline::Text(text.into())
    }

    #[test]
    fn blocks() {
        let found = parse("# A *b*\n\nx\ny\n\n```rust,ignore\nlet a = 1;\n\n```\n\n---\n> q", false);
        assert_eq!(
            found,
            [
                Block::Heading(1, vec![text("A "), Inline::Emphasis(vec![text("b")])]),
                Block::Paragraph(vec![text("x y")]),
                Block::Code { language: "rust".into(), text: "let a = 1;\n".into() },
                Block::Rule,
                Block::Quote(vec![Block::Paragraph(vec![text("q")])]),
            ]
        );
        assert_eq!(parse("x\ny", true), [Block::Paragraph(vec![text("x"), Inline::Break, text("y")])]);
    }

    #[test]
    fn lists_tight_loose_and_tasks() {
        let item = |done, blocks| Item { done, blocks };
        let line = |words: &str| Block::Paragraph(vec![text(words)]);
        assert_eq!(
            parse("3. a\n4. b\n   - c", false),
            [Block::List {
                start: Some(3),
                items: vec![
                    item(None, vec![line("a")]),
                    item(None, vec![line("b"), Block::List { start: None, items: vec![item(None, vec![line("c")])] }]),
                ],
            }]
        );
        assert_eq!(
            parse("- [x] a **b**\n- [ ] c", false),
            [Block::List {
                start: None,
                items: vec![
                    item(Some(true), vec![Block::Paragraph(vec![text("a "), Inline::Strong(vec![text("b")])])]),
                    item(Some(false), vec![line("c")]),
                ],
            }]
        );
    }

    #[test]
    fn tables() {
        let found = parse("| a | b |\n|:-:|--:|\n| 1<br>2 | `x` |", false);
        assert_eq!(
            found,
            [Block::Table {
                align: vec![Align::Center, Align::End],
                head: vec![vec![text("a")], vec![text("b")]],
                rows: vec![vec![vec![text("1"), Inline::Break, text("2")], vec![Inline::Code("x".into())]]],
            }]
        );
    }

    #[test]
    fn raw_html_is_text() {
        assert_eq!(parse("<script>alert(1)</script>\n", false), [Block::Html("<script>alert(1)</script>".into())]);
        assert_eq!(
            parse("a <img src=x onerror=alert(1)> b", false),
            [Block::Paragraph(vec![text("a <img src=x onerror=alert(1)> b")])]
        );
    }

    #[test]
    fn only_harmless_addresses_are_links() {
        for url in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "java\u{1}script:alert(1)",
            " \tjavascript:x",
            "data:text/html,<script>",
            "vbscript:x",
            "file:///etc/passwd",
            "//example.org",
            "relative",
            "#here",
            "http:alert(1)",
            "blob:https://x/y",
        ] {
            assert_eq!(safe_link(url), None, "{url}");
        }
        for url in ["http://a.b", "HTTPS://a.b/c?d#e", "mailto:a@b.c"] {
            assert_eq!(safe_link(url).as_deref(), Some(url));
        }
        let found = parse("[x](javascript:alert(1)) ![p](https://t.example/p.png) ![q](x.png)", false);
        let Block::Paragraph(line) = &found[0] else { panic!() };
        assert!(matches!(&line[0], Inline::DeadLink { .. }));
        assert!(
            matches!(&line[2], Inline::Link { url, content } if url.ends_with("p.png") && plain(content) == "Image: p")
        );
        assert!(matches!(&line[4], Inline::DeadLink { .. }));
    }

    #[test]
    fn only_raster_images_in_the_text_are_shown() {
        assert!(safe_picture("data:image/png;base64,iVBORw0KGgo=").is_some());
        for url in
            ["data:image/svg+xml;base64,AAAA", "data:image/png,xx", "data:image/png;base64,\"x", "https://a/b.png"]
        {
            assert_eq!(safe_picture(url), None, "{url}");
        }
    }

    #[test]
    fn bare_addresses_become_links() {
        let urls = |words: &str| -> Vec<String> {
            let links = addresses(words).into_iter();
            links.filter_map(|inline| if let Inline::Link { url, .. } = inline { Some(url) } else { None }).collect()
        };
        assert_eq!(urls("see https://a.b/c_d(e), and (http://x.y)."), ["https://a.b/c_d(e)", "http://x.y"]);
        assert_eq!(urls("xhttps://a.b https:// httpx http"), [] as [String; 0]);
        for words in ["a https://a.b c", "https://a.b", "no link", ""] {
            assert_eq!(plain(&addresses(words)), words);
        }
        let Block::Paragraph(line) = &parse("a_b https://x.y/a_b_c **https://z.w**", false)[0] else { panic!() };
        assert!(matches!(&line[1], Inline::Link { url, .. } if url == "https://x.y/a_b_c"), "{line:?}");
    }

    #[test]
    fn formulas_keep_their_brackets() {
        let Block::Paragraph(line) = &parse("so \\(x+1\\) and \\[y\\]", false)[0] else { panic!() };
        assert_eq!(plain(line), "so \\(x+1\\) and \\[y\\]");
    }

    #[test]
    fn deep_nesting_is_bounded_and_keeps_its_text() {
        fn depth(blocks: &[Block]) -> usize {
            let inner = |block: &Block| match block {
                Block::Quote(blocks) => 1 + depth(blocks),
                Block::List { items, .. } => 1 + items.iter().map(|item| depth(&item.blocks)).max().unwrap_or(0),
                _ => 1,
            };
            blocks.iter().map(inner).max().unwrap_or(0)
        }
        for deep in [">".repeat(10_000) + " x", "- ".repeat(10_000) + "x", "*a ".repeat(5_000), "[".repeat(10_000)] {
            let found = parse(&deep, false);
            assert!(depth(&found) <= DEEPEST + 1);
            assert!(!found.is_empty());
        }
        let found = format!("{:?}", parse(&(">".repeat(500) + " needle"), false));
        assert!(found.contains("needle"));
    }

    #[test]
    fn any_text_is_read() {
        for odd in ["", "\u{0}", "|\n|-\n", "```", "- [x]", "[a]: javascript:x\n[a]", "<", "![", "~~a", "\u{202e}abc"] {
            parse(odd, true);
        }
    }
}
