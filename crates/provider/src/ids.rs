//! Ids and names in the form that each provider takes. The same id always becomes the same text, so a prompt that grows keeps
//! its beginning.

use super::Provider;

/// FNV-1a with 64 bits: for telling apart, not for security.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// How long a call's id may be, in characters. Where a provider documents no limit, OpenAI's longer one is kept to.
const fn id_limit(provider: Provider) -> usize {
    match provider {
        Provider::OpenAiChat => 40,
        _ => 64,
    }
}

/// How long a tool's name may be, in characters.
pub(super) const fn name_limit(provider: Provider) -> usize {
    match provider {
        Provider::OpenAiChat | Provider::OpenAiResponses => 64,
        _ => 128,
    }
}

/// A call's id for the provider: as it is where every character is a letter, a digit, `_` or `-` and it is short enough;
/// otherwise with `_` for the characters that are not, and a hash that keeps different ids different.
pub(super) fn id(id: &str, provider: Provider) -> String {
    let limit = id_limit(provider);
    if id.len() <= limit && !id.is_empty() && id.bytes().all(is_plain) { id.to_owned() } else { hashed(id, limit) }
}

/// `text` in plain characters and at most `limit` of them, with a hash of the whole at its end.
fn hashed(text: &str, limit: usize) -> String {
    let mut made: String = text.chars().map(plain).take(limit - 17).collect();
    made.push('_');
    push_hex(&mut made, hash(text));
    made
}

/// The `n`th other form of an id that is taken.
pub(super) fn another(id: &str, n: usize, provider: Provider) -> String {
    let suffix = n.to_string();
    let mut made: String = id.chars().take(id_limit(provider) - 1 - suffix.len()).collect();
    made.push('_');
    made.push_str(&suffix);
    made
}

fn push_hex(text: &mut String, number: u64) {
    for shift in (0..16).rev() {
        let digit = (number >> (shift * 4)) as u32 & 15;
        text.extend(char::from_digit(digit, 16));
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn plain(char: char) -> char {
    if char.is_ascii_alphanumeric() || char == '_' || char == '-' { char } else { '_' }
}

/// A tool's name for the provider; `None` where it can stay as it is. OpenAI and Anthropic take letters, digits, `_` and `-`;
/// Gemini also `.` and `:`, but begins with a letter or `_`; Ollama takes everything.
pub(super) fn name(name: &str, provider: Provider) -> Option<String> {
    if name.is_empty() {
        return Some("unknown".to_owned());
    }
    let limit = name_limit(provider);
    let fits = match provider {
        Provider::Ollama => true,
        Provider::Gemini => {
            let taken = |byte: u8| is_plain(byte) || byte == b'.' || byte == b':';
            let first = name.as_bytes()[0];
            name.len() <= limit && name.bytes().all(taken) && (first.is_ascii_alphabetic() || first == b'_')
        }
        _ => name.len() <= limit && name.bytes().all(is_plain),
    };
    if fits {
        return None;
    }
    let first = if provider == Provider::Gemini { "_" } else { "" };
    let mut made: String = first.chars().chain(name.chars().map(plain)).collect();
    if made.len() > limit {
        made = hashed(&made, limit);
    }
    Some(made)
}

/// An id for a call that came without one, or with another's.
pub(crate) fn made_id(seed: &str, at: usize) -> String {
    let mut id = String::from("call_");
    let hash = hash(&[seed, ".", &at.to_string()].concat());
    for shift in (0..16).rev() {
        id.extend(char::from_digit((hash >> (shift * 4)) as u32 & 15, 16));
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_or_get_a_hash() {
        assert_eq!(id("toolu_01-x", Provider::Anthropic), "toolu_01-x");
        assert_eq!(id("call:1", Provider::Anthropic), format!("call_1_{:016x}", hash("call:1")));
        assert_ne!(id("call:1", Provider::Anthropic), id("call.1", Provider::Anthropic));
        let long = "x".repeat(41);
        assert_eq!(id(&long, Provider::OpenAiChat).len(), 40);
        assert_eq!(id(&long, Provider::OpenAiResponses), long);
        assert_eq!(id("", Provider::Gemini).len(), 17);
        assert_eq!(another("abc", 2, Provider::Gemini), "abc_2");
    }

    #[test]
    fn names_stay_or_get_plain() {
        assert_eq!(name("read_file", Provider::Anthropic), None);
        assert_eq!(name("browser.open", Provider::Anthropic).as_deref(), Some("browser_open"));
        assert_eq!(name("browser.open", Provider::Gemini), None);
        assert_eq!(name("1st", Provider::Gemini).as_deref(), Some("_1st"));
        assert_eq!(name("", Provider::Ollama).as_deref(), Some("unknown"));
        assert_eq!(name(&"n".repeat(65), Provider::OpenAiChat).map(|name| name.len()), Some(64));
    }
}
