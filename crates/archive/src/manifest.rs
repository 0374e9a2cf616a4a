//! `export_manifest.json` of a ChatGPT export: which files it consists of. Held against the files that are there, it tells what
//! is missing.

use serde_json::Value;

use super::Code;
use super::raw::Fields;
use super::report::{Report, short};

/// Reports what the manifest names and what is not among `names`; without names, only what it is.
pub(super) fn read(fields: &Fields, names: Option<&[String]>, report: &mut Report) {
    report.skip("", Code::NotAConversation, "the list of the export's files; the conversations are in those");
    let Some(names) = names else { return };
    let is_there = |file: &str| {
        names.iter().any(|name| {
            let name = name.replace('\\', "/");
            name == file || name.strip_suffix(file).is_some_and(|front| front.ends_with('/'))
        })
    };
    let mut conversations = Vec::new();
    let mut others = Vec::new();
    if let Some(logical) = fields.object("logical_files") {
        for (logical_name, entry) in &logical.0 {
            let files = serde_json::from_str::<Value>(entry.get()).ok();
            let files = files.as_ref().and_then(|entry| entry.get("files").or(Some(entry))).and_then(Value::as_array);
            let files = files.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
            if logical_name.starts_with("conversations") {
                conversations.extend(files);
            } else if !fields.has("export_files") {
                others.extend(files); // else they are listed there too
            }
        }
    }
    for entry in fields.array("export_files").unwrap_or_default() {
        let entry = serde_json::from_str::<Value>(entry.get()).unwrap_or_default();
        let Some(path) = entry.get("path").or(Some(&entry)).and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        let file = path.rsplit('/').next().unwrap_or(&path);
        if file.starts_with("conversations") && file.ends_with(".json") {
            conversations.push(path);
        } else {
            others.push(path);
        }
    }
    // More than a real export has: a manifest that goes on is not worth the time.
    conversations.truncate(10_000);
    others.truncate(10_000);
    let repeated = |files: &[String], at: usize| files[..at].contains(&files[at]);
    for (at, file) in conversations.iter().enumerate() {
        if is_there(file) || repeated(&conversations, at) {
            continue;
        }
        let reason = "the manifest names this file of conversations, but it is not among the files given; add it and import again";
        report.skip(&short(file), Code::MissingFile, reason);
    }
    let missing = others.iter().filter(|file| !is_there(file)).count();
    if missing > 0 {
        let reason = format!(
            "files that hold no conversations (images, say) are named but not among the files given: {missing}"
        );
        report.skip("", Code::MissingFile, reason);
    }
}
