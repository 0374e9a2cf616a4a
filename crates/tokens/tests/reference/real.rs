//! Real conversations, where the folder with them is there.

use std::path::{Path, PathBuf};

use crate::check;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn real_texts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(folder) = root.ancestors().map(|it| it.join("shared/data")).find(|it| it.is_dir()) else {
        eprintln!("skipped: there is no folder shared/data beside the checkout");
        return;
    };
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        // A beginning of each, as it is and with its escapes undone, so that there is plain text too.
        let end = (0..=text.len().min(20_000)).rev().find(|end| text.is_char_boundary(*end)).unwrap();
        let text = &text[..end];
        check(text);
        check(&text.replace("\\n", "\n").replace("\\\"", "\""));
    }
}
