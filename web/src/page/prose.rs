//! Markdown as elements: the tree of [`crate::markdown`] in, elements out. Every word goes in as text.

use web_sys::Element;

use super::dom::{Build as _, button, el, sign, text};
use crate::markdown::{self, Align, Block, Inline};

/// Fills `into` with markdown. With `breaks`, a single line break is one.
pub fn fill(into: &Element, source: &str, breaks: bool) {
    blocks(into, &markdown::parse(source, breaks));
}

fn blocks(into: &Element, list: &[Block]) {
    for one in list {
        let _ = into.append_child(&block(one));
    }
}

fn block(block: &Block) -> Element {
    match block {
        // The page's own headings end at level 3.
        Block::Heading(level, content) => {
            let tag = ["h4", "h4", "h5", "h6"][usize::from((*level).min(4)) - 1];
            inlines(el(tag).class(&format!("level-{level}")), content)
        }
        Block::Paragraph(content) => inlines(el("p"), content),
        Block::Code { language, text } => code(language, text),
        Block::Quote(inner) => {
            let quote = el("blockquote");
            blocks(&quote, inner);
            quote
        }
        Block::List { start, items } => {
            let list = match start {
                None => el("ul"),
                Some(1) => el("ol"),
                Some(first) => el("ol").attr("start", &first.to_string()),
            };
            if items.iter().any(|item| item.done.is_some()) {
                list.set_class_name("tasks");
            }
            for item in items {
                let entry = el("li");
                if let Some(done) = item.done {
                    let label = if done { "done" } else { "to do" };
                    let mark = el("span").class(if done { "task done" } else { "task" }).attr("role", "img");
                    let mark = mark.attr("aria-label", label);
                    let mark = if done { mark.child(sign("check")) } else { mark };
                    let _ = entry.append_child(&mark);
                }
                // A lone paragraph needs no element of its own.
                match &item.blocks[..] {
                    [Block::Paragraph(content), rest @ ..] => {
                        let entry = inlines(entry.clone(), content);
                        blocks(&entry, rest);
                    }
                    all => blocks(&entry, all),
                }
                let _ = list.append_child(&entry);
            }
            list
        }
        Block::Table { align, head, rows } => {
            let row = |cells: &[Vec<Inline>], tag: &str| {
                let line = el("tr");
                for (at, cell) in cells.iter().enumerate() {
                    let class = match align.get(at) {
                        Some(Align::Center) => "center",
                        Some(Align::End) => "end",
                        _ => "",
                    };
                    let mut made = el(tag);
                    if !class.is_empty() {
                        made = made.class(class);
                    }
                    if tag == "th" {
                        made = made.attr("scope", "col");
                    }
                    let _ = line.append_child(&inlines(made, cell));
                }
                line
            };
            let body = el("tbody");
            for cells in rows {
                let _ = body.append_child(&row(cells, "td"));
            }
            let table = el("table").child(el("thead").child(row(head, "th"))).child(body);
            el("div")
                .class("table")
                .attr("tabindex", "0")
                .attr("role", "group")
                .attr("aria-label", "Table")
                .child(table)
        }
        Block::Rule => el("hr"),
        Block::Html(text) => el("pre").class("raw").text(text),
    }
}

/// A block of code with its language and a button that copies it.
pub fn code(language: &str, text: &str) -> Element {
    let language = if language.is_empty() { "text" } else { language };
    let bar = el("div")
        .class("code-bar")
        .child(el("span").class("code-language").text(language))
        .child(button("code", "Copy this code", "quiet small").child(sign("copy")).child(el("span").text("Copy")));
    let pre = el("pre").attr("tabindex", "0").attr("dir", "ltr").child(el("code").text(text));
    el("div").class("code").child(bar).child(pre)
}

fn inlines(into: Element, content: &[Inline]) -> Element {
    for one in content {
        let made = match one {
            Inline::Text(words) => text(words),
            Inline::Code(words) => el("code").attr("dir", "ltr").text(words).into(),
            Inline::Emphasis(inner) => inlines(el("em"), inner).into(),
            Inline::Strong(inner) => inlines(el("strong"), inner).into(),
            Inline::Strike(inner) => inlines(el("s"), inner).into(),
            Inline::Link { url, content } => {
                let link = el("a").attr("href", url).attr("target", "_blank").attr("rel", "noopener noreferrer");
                inlines(link, content).into()
            }
            Inline::DeadLink { url, content } => {
                inlines(el("span").class("dead-link").attr("title", url), content).into()
            }
            Inline::Picture { url, alt } => {
                el("img").attr("src", url).attr("alt", alt).attr("loading", "lazy").class("picture").into()
            }
            Inline::Break => el("br").into(),
        };
        let _ = into.append_child(&made);
    }
    into
}
