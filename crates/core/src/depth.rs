//! Depth: how many user and assistant messages lead up to a message, system prompts and tool results not counted.
//! Outgoing replies carry it as the text `[depth:N] ` before their first string, where a page can read and hide it.

/// Puts the prefix before the first of a reply's strings; an empty list becomes `["[depth:N]"]`.
///
/// ```
/// let mut strings = vec!["Hello".to_owned(), "tail".to_owned()];
/// threadkeep_core::depth::write(&mut strings, 4);
/// assert_eq!(strings, ["[depth:4] Hello", "tail"]);
///
/// let mut none = Vec::new();
/// threadkeep_core::depth::write(&mut none, 4);
/// assert_eq!(none, ["[depth:4]"]);
/// ```
pub fn write(strings: &mut Vec<String>, depth: u32) {
    match strings.first_mut() {
        Some(first) => first.insert_str(0, &format!("[depth:{depth}] ")),
        None => strings.push(format!("[depth:{depth}]")),
    }
}

/// Reads the prefix: the depth, and the text without it. Text that has none comes back whole with `None`; so does a
/// number that no `u32` holds, a sign, or anything but digits between the colon and the bracket.
///
/// ```
/// use threadkeep_core::depth::parse;
/// assert_eq!(parse("[depth:12] hi"), (Some(12), "hi"));
/// assert_eq!(parse("[depth:12]"), (Some(12), ""));
/// assert_eq!(parse("[depth:+1] hi"), (None, "[depth:+1] hi"));
/// assert_eq!(parse("say [depth:1] hi"), (None, "say [depth:1] hi"));
/// ```
pub fn parse(text: &str) -> (Option<u32>, &str) {
    let read = || {
        let (digits, rest) = text.strip_prefix("[depth:")?.split_once(']')?;
        let digits_only = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let depth = digits_only.then(|| digits.parse().ok())??;
        match rest.strip_prefix(' ') {
            Some(rest) => Some((depth, rest)),
            None if rest.is_empty() => Some((depth, rest)),
            None => None,
        }
    };
    read().map_or((None, text), |(depth, rest)| (Some(depth), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(text in "\\PC*", depth: u32) {
            let mut strings = vec![text.clone()];
            write(&mut strings, depth);
            prop_assert_eq!(parse(&strings[0]), (Some(depth), text.as_str()));
        }

        #[test]
        fn any_text_is_read_without_panic(text in "\\PC*|\\[depth:\\PC*") {
            let (depth, rest) = parse(&text);
            if depth.is_none() { prop_assert_eq!(rest, text.as_str()); }
        }
    }
}
