//! In which order the files of a folder (or a zip) are read, by their names: manifests first, then as they count.

use threadkeep_core::sort;

/// The order in which to read files of these names: indices into `names`. Manifests come first, then what holds
/// conversations as numbers in names count (`-2` before `-10`), then the rest.
///
/// ```
/// use threadkeep_archive::plan;
/// assert_eq!(plan(&["b/conversations-10.json", "b/conversations-2.json", "b/export_manifest.json"]), [2, 1, 0]);
/// ```
pub fn plan<S: AsRef<str>>(names: &[S]) -> Vec<usize> {
    let key = |(at, name): (usize, &S)| {
        let name = name.as_ref();
        let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let text = [".json", ".jsonl", ".ndjson"].iter().any(|end| file.to_ascii_lowercase().ends_with(end));
        let rank = if file == "export_manifest.json" { 0 } else { 1 + u8::from(!text) };
        (rank, natural(name), at)
    };
    let mut keys: Vec<_> = names.iter().enumerate().map(key).collect();
    sort::sort(&mut keys);
    keys.into_iter().map(|(.., at)| at).collect()
}

/// A name as a sequence that sorts numbers by value: text pieces and, between them, (digits without zeros, their count).
fn natural(name: &str) -> Vec<(String, usize, String)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits_at = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(digits_at);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (digits, tail) = tail.split_at(end);
        let value = digits.trim_start_matches('0');
        key.push((text.to_owned(), value.len(), value.to_owned()));
        rest = tail;
    }
    key
}
