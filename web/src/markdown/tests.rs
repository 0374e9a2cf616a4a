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
    for url in ["data:image/svg+xml;base64,AAAA", "data:image/png,xx", "data:image/png;base64,\"x", "https://a/b.png"] {
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
