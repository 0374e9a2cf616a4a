//! HTML as text: what an activity log keeps of an answer, with its paragraphs, lists, code and emphasis as markdown. Only text
//! comes out; tags are never passed on.

/// The text of a piece of HTML.
pub(super) fn text(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    // Links that are open, whether code is shown as it is, and a tag whose content is no text.
    let (mut links, mut code): (Vec<String>, bool) = (Vec::new(), false);
    while let Some(start) = rest.find('<') {
        say(&mut out, &rest[..start], code);
        let is_tag = rest[start + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        if !is_tag {
            out.push('<');
            rest = &rest[start + 1..];
            continue;
        }
        let Some(end) = rest[start..].find('>').map(|at| start + at) else {
            rest = &rest[start..];
            break;
        };
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let closes = tag.starts_with('/');
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "br" => out.push('\n'),
            "p" | "div" | "table" | "blockquote" | "ul" | "ol" => lines(&mut out, 2),
            "tr" => lines(&mut out, 1),
            "td" | "th" if closes => out.push_str(" | "),
            "li" => {
                lines(&mut out, 1);
                if !closes {
                    out.push_str("- ");
                }
            }
            heading @ ("h1" | "h2" | "h3" | "h4" | "h5" | "h6") => {
                lines(&mut out, 2);
                if !closes {
                    let level = heading.bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
                    out.extend(std::iter::repeat_n('#', level));
                    out.push(' ');
                }
            }
            "hr" => {
                lines(&mut out, 2);
                out.push_str("---\n\n");
            }
            "pre" => {
                lines(&mut out, if closes { 1 } else { 2 });
                out.push_str("```\n");
                code = !closes;
            }
            "code" if !code => out.push('`'),
            "b" | "strong" if !code => out.push_str("**"),
            "i" | "em" if !code => out.push('*'),
            "a" if closes => {
                if let Some(address) = links.pop().filter(|address| !address.is_empty()) {
                    out.push_str(&["](", &address, ")"].concat());
                }
            }
            "a" => {
                let address = tag.split_once("href=").map_or("", |(_, value)| value);
                let quote = address.chars().next().filter(|c| matches!(c, '"' | '\''));
                let address =
                    quote.and_then(|quote| address[1..].split(quote).next()).map(entities).unwrap_or_default();
                if !address.is_empty() {
                    out.push('[');
                }
                links.push(address);
            }
            hidden @ ("script" | "style") if !closes => {
                // What stands in it is no text; without an end, all that follows is not.
                let ends = |at: &usize| {
                    rest.as_bytes()
                        .get(at + 2..at + 2 + hidden.len())
                        .is_some_and(|name| name.eq_ignore_ascii_case(hidden.as_bytes()))
                };
                let after = rest.match_indices("</").map(|(at, _)| at).find(ends);
                rest = after.map_or("", |at| &rest[at..]);
            }
            _ => {}
        }
    }
    say(&mut out, rest, code);
    out.trim().to_owned()
}

/// Adds text; white space is one space, but for code.
fn say(out: &mut String, text: &str, code: bool) {
    let text = entities(text);
    if code {
        out.push_str(&text);
        return;
    }
    for c in text.chars() {
        // A non-breaking space stays one.
        if !c.is_whitespace() || c == '\u{a0}' {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with([' ', '\n']) {
            out.push(' ');
        }
    }
}

/// Makes the text end in `count` line ends, unless it is empty.
fn lines(out: &mut String, count: usize) {
    if out.ends_with("- ") {
        return;
    }
    out.truncate(out.trim_end_matches(' ').len());
    if out.is_empty() {
        return;
    }
    let have = out.len() - out.trim_end_matches('\n').len();
    out.extend(std::iter::repeat_n('\n', count.saturating_sub(have)));
}

/// Text with its character references resolved.
pub(super) fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let known = end.and_then(|end| reference(&rest[1..end]).map(|c| (c, end)));
        match known {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(number).filter(|c| *c != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_markdown_or_nothing() {
        for (html, expected) in [
            (
                "<p>Tide at <b>five</b>.</p><p>Bring\n  boots &amp; rope.</p>",
                "Tide at **five**.\n\nBring boots & rope.",
            ),
            ("<ul><li>one</li><li><p>two</p></li></ul>after", "- one\n- two\n\nafter"),
            ("<pre><code>a  <b>\n  &lt;c&gt;</code></pre>", "```\na  \n  <c>\n```"),
            ("<a href=\"https://example.org/?a&amp;b\">here</a>", "[here](https://example.org/?a&b)"),
            ("x<script>alert(1)</script>y<style>z", "xy"),
            ("<h2>Plan</h2>go<br>on", "## Plan\n\ngo\non"),
            ("1 < 2 &#x41;&#66;&bogus; & <i>so</i>", "1 < 2 AB&bogus; & *so*"),
            ("", ""),
            ("<", "<"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }
}
