//! API keys and tokens in texts: found by how they begin, and replaced by as many characters.

use serde_json::{Map, Value};

/// How a secret begins, and how many characters follow at least.
const PATTERNS: [(&str, usize); 14] = [
    ("sk-", 16),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
];
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "-----END ";

/// Replaces all secrets in the strings and names of a value. Gives how many there were.
pub(super) fn hide(value: &mut Value) -> u32 {
    match value {
        Value::String(text) => hide_in(text),
        Value::Array(list) => list.iter_mut().map(hide).sum(),
        Value::Object(fields) => {
            let mut count = 0;
            let old = std::mem::take(fields);
            *fields = old
                .into_iter()
                .map(|(mut name, mut value)| {
                    count += hide_in(&mut name) + hide(&mut value);
                    (name, value)
                })
                .collect::<Map<String, Value>>();
            count
        }
        _ => 0,
    }
}

/// Replaces the secrets of a text.
fn hide_in(text: &mut String) -> u32 {
    let found = find(text);
    if found.is_empty() {
        return 0;
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in &found {
        out.push_str(&text[at..*start]);
        mask(&text[*start..*end], &mut out);
        at = *end;
    }
    out.push_str(&text[at..]);
    *text = out;
    found.len() as u32
}

/// Writes an `x` for each letter and digit. An escape such as `\n` stays: the text may be JSON.
fn mask(secret: &str, out: &mut String) {
    let mut escaped = false;
    for letter in secret.chars() {
        out.push(if letter.is_alphanumeric() && !escaped { 'x' } else { letter });
        escaped = letter == '\\' && !escaped;
    }
}

/// Where secrets are, in order, without overlaps. What names their kind is not part of them.
fn find(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut before = None;
    while let Some(letter) = text[at..].chars().next() {
        let starts = !before.is_some_and(char::is_alphanumeric);
        match secret_at(&text[at..], starts) {
            Some((skip, length)) => {
                found.push((at + skip, at + skip + length));
                at += skip + length;
                before = Some('x');
            }
            None => {
                at += letter.len_utf8();
                before = Some(letter);
            }
        }
    }
    found
}

/// Whether a secret begins here: how many bytes name its kind, and how many the secret takes.
fn secret_at(rest: &str, starts: bool) -> Option<(usize, usize)> {
    if rest.starts_with(KEY_BEGINS) {
        let line = rest.lines().next()?;
        let kind = line.find("PRIVATE KEY").filter(|at| *at < 40)?;
        let skip = kind + "PRIVATE KEY".len() + rest[kind + "PRIVATE KEY".len()..].find("-----")? + 5;
        let end = rest[skip..].find(KEY_ENDS).unwrap_or(rest.len() - skip);
        return (end > 0).then_some((skip, end));
    }
    if !starts {
        return None;
    }
    let run = |from: usize, more: &str| {
        rest[from..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || more.as_bytes().contains(byte)).count()
    };
    for (begin, least) in PATTERNS {
        if rest.starts_with(begin) {
            let length = run(begin.len(), "-_");
            // A word such as `sk-learning-something` has no digit.
            let dense = rest[begin.len()..begin.len() + length].bytes().any(|byte| byte.is_ascii_digit());
            if length >= least && (dense || !begin.starts_with("sk-")) {
                return Some((begin.len(), length));
            }
        }
    }
    let bearer = rest.get(..7).filter(|word| word.eq_ignore_ascii_case("bearer "))?;
    let length = run(bearer.len(), "-_.~+/=");
    (length >= 16).then_some((bearer.len(), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced_and_nothing_else() {
        let body = "aB3".repeat(14);
        let secrets = [
            format!("sk-{body}"),
            format!("sk-proj-{body}"),
            format!("ghp_{body}"),
            format!("github_pat_{body}"),
            format!("AKIA{}", "A7".repeat(8)),
            format!("AIza{body}"),
            format!("Bearer {body}.{body}"),
            format!("authorization: bearer {body}"),
            format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n-----END RSA PRIVATE KEY-----"),
            format!("-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----"),
            format!("-----BEGIN PRIVATE KEY-----\n{body}"),
        ];
        for secret in &secrets {
            for (before, after) in [("", ""), ("the key is \"", "\" for now"), ("é ", " ü")] {
                let mut text = [before, secret, after].concat();
                let long = text.chars().count();
                assert_eq!(hide_in(&mut text), 1, "{text}");
                assert!(!text.contains(&body[..12]) && text.starts_with(before), "{text}");
                assert_eq!(text.chars().count(), long);
            }
        }
        for plain in [
            "ask-me-anything-you-want-to-know-1234",
            "sk-learn",
            "task_ghp_1",
            "a Bearer of bad news",
            "sk-a-word-without-digits-at-all",
            "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
            "-----BEGIN ",
            "Bearer é",
            "AKIA",
        ] {
            let mut text = plain.to_owned();
            assert_eq!((hide_in(&mut text), text.as_str()), (0, plain));
        }
    }

    #[test]
    fn names_and_nested_strings_are_read_too() {
        let key = format!("ghp_{}", "a1".repeat(15));
        let mut value = serde_json::json!({"a": [{ key.as_str(): 1 }, key, 7], "b": null});
        assert_eq!(hide(&mut value), 2);
        assert!(!value.to_string().contains("a1a1"));
    }
}
