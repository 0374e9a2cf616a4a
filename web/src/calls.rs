//! What a tool call says on one line: the argument that a person looks for. The arguments as a model wrote them in, text out.

use serde_json::{Map, Value};

use crate::format;

/// The most characters of a line.
const MOST: usize = 120;

/// Arguments that say most of a call, the best first.
const TELLING: [&str; 18] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "pattern",
    "query",
    "q",
    "url",
    "skill",
    "plan",
    "title",
    "description",
    "prompt",
    "question",
    "fact",
    "text",
];

/// The telling argument of a call; `None` where it has none.
pub fn line(arguments: &str) -> Option<String> {
    let arguments: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    let telling = TELLING.iter().find_map(|name| Some((*name, words(arguments.get(*name)?)?)));
    let (name, words) = match telling {
        Some((name, words)) => (name, words),
        // The only one needs no name.
        None if arguments.len() == 1 => ("", words(arguments.values().next()?)?),
        None => return None,
    };
    let is_place = matches!(name, "file_path" | "filePath" | "path" | "notebook_path");
    Some(format::line(if is_place { end(&words) } else { &words }, MOST))
}

/// A value as people read it. A command may be a list of words, as a shell gets it.
fn words(value: &Value) -> Option<String> {
    let found = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Array(all) => {
            let all: Vec<&str> = all.iter().map(Value::as_str).collect::<Option<_>>()?;
            match all[..] {
                ["sh" | "bash" | "zsh" | "/bin/sh" | "/bin/bash", "-c" | "-lc", command] => command.to_owned(),
                _ => all.join(" "),
            }
        }
        _ => return None,
    };
    (!found.is_empty()).then_some(found)
}

/// The end of a long path: the file's name says more than the folders above it.
fn end(path: &str) -> &str {
    const LONG: usize = 60;
    const PARTS: usize = 3;
    if path.len() <= LONG {
        return path;
    }
    let at = path.rmatch_indices('/').nth(PARTS - 1).map_or(0, |(at, _)| at + 1);
    &path[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_what_a_person_looks_for() {
        let said = |arguments: &str| line(arguments).unwrap_or_default();
        assert_eq!(
            said(r#"{"description": "Show the state", "command": "git status\n--short"}"#),
            "git status --short"
        );
        assert_eq!(said(r#"{"command": ["bash", "-lc", "ls -la"], "workdir": "/x"}"#), "ls -la");
        assert_eq!(said(r#"{"command": ["cargo", "test"]}"#), "cargo test");
        assert_eq!(said(r#"{"old_string": "a", "file_path": "/a/b.rs"}"#), "/a/b.rs");
        let deep = format!(r#"{{"file_path": "/home/{}/crates/keep/src/lib.rs"}}"#, "x/".repeat(40));
        assert_eq!(said(&deep), "keep/src/lib.rs");
        assert_eq!(said(r#"{"city": "Bergen"}"#), "Bergen");
        assert_eq!(said(r#"{"number": 7}"#), "7");
        assert_eq!(said(&format!(r#"{{"query": "{}"}}"#, "ä".repeat(500))).chars().count(), MOST + 1);
    }

    #[test]
    fn what_says_nothing_by_itself_stays_as_it_is() {
        for arguments in
            ["", "{}", "not JSON", "[1]", r#"{"a": 1, "b": 2}"#, r#"{"todos": [{}]}"#, r#"{"query": "  "}"#]
        {
            assert_eq!(line(arguments), None, "{arguments}");
        }
    }
}
