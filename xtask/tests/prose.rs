//! The mechanical rules of our prose: short sentences, short paragraphs, and no phrase that readers stumbled over. Links must lead somewhere, too. Markdown goes in;
//! code, tables and the addresses of links are left out. What a rule cannot see is left to the reviewer.

use std::path::{Path, PathBuf};
use std::{fs, io};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The checkout.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// The most words of a sentence.
const SENTENCE: usize = 25;
/// The most words of a paragraph or of an item of a list.
const PARAGRAPH: usize = 90;
/// What to write instead stands behind each phrase.
const BANNED: &[(&str, &str)] = &[
    ("lies in", "is in, is stored in"),
    ("lie in", "are in, are stored in"),
    ("lies beside", "is beside"),
    ("said in words", "say who says what"),
    ("failures in words", "clear errors"),
    ("whoever", "who it is: the caller, the reader"),
    ("refused by name", "say the error's code"),
    ("come to an end", "end, stop"),
    ("shelf", "cache, list"),
    ("wary", "careful, or the budget of retries"),
];
/// Folders and files that keep the rules; `docs` includes `docs/dev`.
const HELD: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "npm/README.md",
    "tests/e2e/README.md",
    "xtask/README.md",
];

/// A paragraph, or an item of a list, with the line on which it begins.
#[derive(Debug)]
struct Paragraph {
    line: usize,
    text: String,
}

/// The prose of a Markdown text.
fn paragraphs(markdown: &str) -> Vec<Paragraph> {
    let mut found = Vec::new();
    let mut text = String::new();
    let mut begin = 0;
    // How many code blocks, tables and headings we are in.
    let mut outside = 0_usize;
    for (event, range) in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS)
        .into_offset_iter()
    {
        let ends = matches!(
            event,
            Event::Start(Tag::Paragraph | Tag::Item | Tag::List(_)) | Event::End(TagEnd::Paragraph | TagEnd::Item)
        );
        if ends && !text.trim().is_empty() {
            let line = markdown[..begin].matches('\n').count() + 1;
            found.push(Paragraph { line, text: std::mem::take(&mut text) });
        }
        match event {
            Event::Start(
                Tag::CodeBlock(_) | Tag::Table(_) | Tag::Heading { .. } | Tag::HtmlBlock | Tag::MetadataBlock(_),
            ) => outside += 1,
            Event::End(
                TagEnd::CodeBlock | TagEnd::Table | TagEnd::Heading(_) | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_),
            ) => outside -= 1,
            _ if outside > 0 => {}
            Event::Text(_) | Event::Code(_) => {
                if text.trim().is_empty() {
                    begin = range.start;
                }
                // Code is one word, and may begin a sentence.
                text.push_str(if let Event::Text(words) = &event { words } else { "Code" });
            }
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    found
}

/// The sentences of a paragraph. A point ends one if a space and no small letter follow.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let ends = text.match_indices(['.', '!', '?']).filter_map(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches([')', '"', '”', '’']);
        let next = rest.trim_start();
        let ends = rest.len() != next.len() && !next.starts_with(char::is_lowercase);
        (ends || rest.is_empty()).then_some(text.len() - rest.len())
    });
    for end in ends.chain([text.len()]) {
        let sentence = text[start..end].trim();
        if !sentence.is_empty() {
            found.push(sentence);
        }
        start = end;
    }
    found
}

fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// What breaks the rules, a line each.
fn faults(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    for Paragraph { line, text } in paragraphs(markdown) {
        let count = words(&text);
        if count > PARAGRAPH {
            found.push(format!("{line}: a paragraph of {count} words: {}", beginning(&text)));
        }
        for sentence in sentences(&text) {
            let count = words(sentence);
            if count > SENTENCE {
                found.push(format!("{line}: a sentence of {count} words: {}", beginning(sentence)));
            }
            if sentence.starts_with("What ") && !sentence.ends_with('?') {
                found.push(format!("{line}: name the thing instead of \"What …\": {}", beginning(sentence)));
            }
        }
        let lower = format!(" {} ", text.to_lowercase());
        for (phrase, instead) in BANNED {
            if lower
                .split(phrase)
                .collect::<Vec<_>>()
                .windows(2)
                .any(|pair| !pair[0].ends_with(char::is_alphanumeric) && !pair[1].starts_with(char::is_alphanumeric))
            {
                found.push(format!("{line}: \"{phrase}\" (rather: {instead}): {}", beginning(&text)));
            }
        }
    }
    found
}

fn beginning(text: &str) -> String {
    text.split_whitespace().take(12).collect::<Vec<_>>().join(" ") + " …"
}

/// The Markdown files at `path`, which is a file or a folder.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        // What others wrote, and copies of what is held elsewhere.
        let left_out = path.ends_with("node_modules") || path.ends_with("docs/site/.source");
        if path.is_dir() && !left_out || path.extension().is_some_and(|it| it == "md") {
            found.extend(files(&path)?);
        }
    }
    found.sort();
    Ok(found)
}

#[test]
fn our_prose_is_plain() {
    let root = Path::new(ROOT);
    let mut report = String::new();
    let mut read = 0;
    for path in HELD.iter().flat_map(|name| files(&root.join(name)).unwrap()) {
        read += 1;
        for fault in faults(&fs::read_to_string(&path).unwrap()) {
            report += &format!("{}:{fault}\n", path.strip_prefix(root).unwrap().display());
        }
    }
    assert!(report.is_empty(), "{read} files, {} faults\n{report}", report.lines().count());
}

/// The addresses of a text that lead to files of the checkout.
fn links(markdown: &str) -> Vec<String> {
    let address = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    };
    let local = |address: &String| !address.contains("://") && !address.starts_with('#');
    Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS)
        .filter_map(address)
        .filter(local)
        .collect()
}

#[test]
fn links_lead_to_files_that_exist() {
    let root = Path::new(ROOT);
    let mut seen = 0;
    for name in
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "npm/README.md", "xtask/README.md"]
    {
        for path in files(&root.join(name)).unwrap() {
            for link in links(&fs::read_to_string(&path).unwrap()) {
                let file = path.parent().unwrap().join(link.split('#').next().unwrap());
                assert!(file.exists(), "{} links to {link}, which does not exist", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen} links were seen");
}

#[test]
fn code_tables_headings_and_addresses_are_no_prose() {
    let text = "# A heading\n\nSee [the docs](https://example.org/a/long/address) and `a b c d`.\n\n```\nlies in\n```\n\n| lies in | b |\n|---|---|\n| c | d |\n";
    let found = paragraphs(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].text, "See the docs and Code.");
    assert_eq!(found[0].line, 3);
}

#[test]
fn items_of_a_list_are_paragraphs() {
    let found: Vec<String> =
        paragraphs("Two:\n\n- one\n- two\n  on two lines\n  - inner\n").into_iter().map(|it| it.text).collect();
    assert_eq!(found, ["Two:", "one", "two on two lines", "inner"]);
}

#[test]
fn sentences_end_at_points_before_a_capital() {
    assert_eq!(
        sentences("Use 1.5 MB, e.g. here. Then stop! (Really?) `x` is 2."),
        ["Use 1.5 MB, e.g. here.", "Then stop!", "(Really?)", "`x` is 2."]
    );
    assert_eq!(sentences("No point at the end"), ["No point at the end"]);
}

#[test]
fn long_sentences_paragraphs_and_banned_phrases_are_found() {
    let long = "word ".repeat(26);
    assert_eq!(faults(&format!("{long}.")).len(), 1);
    assert!(faults(&format!("{}.", "word ".repeat(25))).is_empty());
    assert_eq!(faults(&"A short one. ".repeat(31)).len(), 1, "93 words");
    assert_eq!(faults("The log lies in a file. What was kept is kept. Whoever reads it knows.").len(), 3);
    assert!(faults("She relies in part on it. What is it?").is_empty());
}
