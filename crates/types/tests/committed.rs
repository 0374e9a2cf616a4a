//! The committed TypeScript is what the Rust types say.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test that cannot go on should stop

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn the_committed_types_are_those_that_are_generated() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(threadkeep_types::FOLDER);
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap())
    };
    let committed: BTreeMap<_, _> = fs::read_dir(&folder).unwrap().map(read).collect();
    let generated = threadkeep_types::files().unwrap();
    for (name, text) in &generated {
        let was = committed.get(name).map_or("", String::as_str);
        let line = text.lines().zip(was.lines()).take_while(|(now, was)| now == was).count() + 1;
        assert!(text == was, "{name} differs from line {line} on: run `cargo xtask types`, and commit what it writes");
    }
    let left: Vec<_> = committed.keys().filter(|name| !generated.contains_key(*name)).collect();
    assert!(left.is_empty(), "nothing generates {left:?}: run `cargo xtask types`");
}
