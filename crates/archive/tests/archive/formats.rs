//! Every format has a fixture, and what is read of it is kept as text. So a new format needs no test of its own.

use std::fmt::Write as _;
use std::path::Path;

use threadkeep_archive::Format;

use crate::common::{fixture, fixtures, format_of, golden, outline, read, tree};

#[test]
fn every_format_has_a_fixture() {
    let have: Vec<Format> = fixtures().iter().map(|name| format_of(name)).collect();
    // Our own format has its tests in `own.rs`, and a memory's files are a folder with tests in `memory.rs`.
    for format in Format::all().filter(|format| !matches!(format, Format::Threadkeep | Format::Memory)) {
        assert!(
            have.contains(&format),
            "put a file into crates/archive/fixtures whose name begins with {}",
            format.name()
        );
    }
}

#[test]
fn every_fixture_is_read_as_before() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outlines");
    for name in fixtures() {
        let outcome = read(&name, &fixture(&name));
        let mut text = String::new();
        for conversation in &outcome.conversations {
            writeln!(text, "{}", conversation.transcript).unwrap();
            text += &outline(&tree(conversation));
            text.push('\n');
        }
        text += &outcome.remarks();
        golden(&folder.join(format!("{name}.txt")), &text);
    }
}

#[test]
fn the_docs_list_every_format() {
    let mut text = String::from(
        "# Archive formats\n\nThreadkeep imports these formats. It finds the format from the content of a file.\n\n\
         | program or data | `format` | a file is |\n|---|---|---|\n",
    );
    for format in Format::all() {
        writeln!(text, "| {} | `{}` | {} |", format.label(), format.name(), format.title()).unwrap();
    }
    golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md"), &text);
}
