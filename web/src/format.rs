//! Figures and times as people read them. Numbers in, short English text out; the clock comes in from outside.

use threadkeep::Format;

/// A count with thin groups: `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 message`, `2 messages`: a count with its noun in the number that fits.
pub fn plural(number: u64, noun: &str) -> String {
    let count = count(number);
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{count} {noun}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        _ if noun.ends_with("ch") => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

/// A size in bytes: `0 B`, `999 B`, `1.2 kB`, `45 MB`. Whole numbers do: printing floats would be 20 kB of the page.
pub fn bytes(number: u64) -> String {
    scaled(number, [" B", " kB", " MB", " GB", " TB"])
}

/// A count where there is little room: `999`, `1.2k`, `45k`.
pub fn short(number: u64) -> String {
    scaled(number, ["", "k", "M", "G", "T"])
}

fn scaled(number: u64, [one, units @ ..]: [&str; 5]) -> String {
    if number < 1000 {
        return format!("{number}{one}");
    }
    let (mut unit, mut scale) = (0, 1000_u64);
    // 999.5 of a unit is already 1.0 of the next.
    while number / 100 >= scale / 1000 * 9995 && unit + 1 < units.len() {
        unit += 1;
        scale *= 1000;
    }
    let tenths = (number / (scale / 100) + 5) / 10;
    match tenths {
        ..100 => format!("{}.{}{}", tenths / 10, tenths % 10, units[unit]),
        _ => format!("{}{}", (number / (scale / 10) + 5) / 10, units[unit]),
    }
}

/// An amount of money in US dollars, from millionths of one: `$1,204.50`, below a cent `$0.0031`. The least that is said is `$0.0001`.
pub fn dollars(micros: u64) -> String {
    match micros {
        0 => "$0".to_owned(),
        1..10_000 => format!("$0.{:04}", (micros.saturating_add(50) / 100).max(1)),
        _ => {
            let cents = micros.saturating_add(5_000) / 10_000;
            format!("${}.{:02}", count(cents / 100), cents % 100)
        }
    }
}

/// How long something took.
pub fn took(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => {
            let tenths = (milliseconds + 50) / 100;
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        _ => format!("{} min", milliseconds / 60_000),
    }
}

/// How long ago `then` was, seen from `now` (both in milliseconds since 1970): `just now`, `5 min ago`, `yesterday`,
/// `3 months ago`. A time to come is `just now`.
pub fn ago(then: i64, now: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds = now.saturating_sub(then) / 1000;
    let several = |number: i64, noun: &str| format!("{number} {noun}{} ago", if number == 1 { "" } else { "s" });
    match seconds {
        ..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ if seconds < 2 * DAY => "yesterday".to_owned(),
        _ if seconds < 14 * DAY => several(seconds / DAY, "day"),
        _ if seconds < 60 * DAY => several(seconds / (7 * DAY), "week"),
        _ if seconds < 730 * DAY => several(seconds / (30 * DAY), "month"),
        _ => several(seconds / (365 * DAY), "year"),
    }
}

/// A time of day on a date, the month counted from 0: `12 Mar 2024, 14:05`.
pub fn moment(year: u32, month: u32, day: u32, hour: u32, minute: u32) -> String {
    let month = month_name(month);
    format!("{day} {} {year}, {hour:02}:{minute:02}", month.get(..3).unwrap_or(month))
}

/// A month of a year, counted from 0: `March 2024`.
pub fn month(year: u32, month: u32) -> String {
    [month_name(month), " ", &year.to_string()].concat()
}

fn month_name(month: u32) -> &'static str {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    MONTHS.get(month as usize).copied().unwrap_or_default()
}

/// A text in small letters. In the browser its own are used: the tables of all letters are 8 kB of the page.
pub fn lower(text: &str) -> String {
    #[cfg(target_arch = "wasm32")]
    return js_sys::JsString::from(text).to_lower_case().into();
    #[cfg(not(target_arch = "wasm32"))]
    text.to_lowercase()
}

/// A text with a capital at its beginning, where that is a plain letter.
pub fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// A title as the name of a file: letters, digits and dashes, at most 60 of them; `thread` where nothing is left.
pub fn file_name(title: &str) -> String {
    let mut name = String::new();
    for letter in lower(title).chars().take(60) {
        if letter.is_alphanumeric() {
            name.push(letter);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { "thread".to_owned() } else { name.to_owned() }
}

/// A turn's name as people read it: `turn 12` for `turn_0012`; other names stay.
pub fn turn(name: &str) -> String {
    match name.strip_prefix("turn_").and_then(|digits| digits.parse::<u32>().ok()) {
        Some(number) => format!("turn {number}"),
        None => name.to_owned(),
    }
}

/// The share of `part` in `whole`, 0 to 100; 0 where the whole is not known.
pub fn percent(part: u64, whole: u64) -> u32 {
    if whole == 0 { 0 } else { (u128::from(part.min(whole)) * 200 / u128::from(whole)).div_ceil(2) as u32 }
}

/// What an archive's source is called on the page: the label of its format.
pub fn source(source: &str) -> &str {
    let name = match source {
        "" => "threadkeep",
        "claude" | "claude.ai" | "claude_ai" => "claude-ai",
        "claude_code" => "claude-code",
        "openai" | "openai_messages" | "messages" => "openai-messages",
        other => other,
    };
    Format::from_name(name).map_or(source, |format| format.label())
}

/// The first `limit` characters of `text` on one line, with `…` where something was cut.
pub fn line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut taken = 0;
    for word in text.split_whitespace() {
        if taken > 0 {
            out.push(' ');
            taken += 1;
        }
        for letter in word.chars() {
            if taken >= limit {
                out.truncate(out.trim_end().len());
                out.push('…');
                return out;
            }
            out.push(letter);
            taken += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_where_there_is_little_room() {
        let all = [0, 999, 1_000, 1_250, 9_949, 12_900, 999_949, 1_200_000];
        assert_eq!(all.map(short), ["0", "999", "1.0k", "1.3k", "9.9k", "13k", "1.0M", "1.2M"]);
    }

    #[test]
    fn sources_have_the_labels_of_their_formats() {
        for format in Format::all() {
            assert_eq!(source(format.name()), format.label());
        }
        for (name, label) in
            [("", "Threadkeep"), ("claude.ai", "Claude"), ("openai", "OpenAI messages"), ("fax", "fax")]
        {
            assert_eq!(source(name), label);
        }
    }

    #[test]
    fn counts_and_nouns() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plural(1, "message"), "1 message");
        assert_eq!(plural(2000, "message"), "2,000 messages");
        assert_eq!(plural(3, "branch"), "3 branches");
        assert_eq!(plural(0, "entry"), "0 entries");
    }

    #[test]
    fn money() {
        let all = [
            (0, "$0"),
            (1, "$0.0001"),
            (3_149, "$0.0031"),
            (9_950, "$0.0100"),
            (10_000, "$0.01"),
            (995_000, "$1.00"),
            (1_204_495_000, "$1,204.50"),
        ];
        for (micros, text) in all {
            assert_eq!(dollars(micros), text);
        }
    }

    #[test]
    fn sizes() {
        for (number, text) in [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9_949, "9.9 kB"), (9_950, "10 kB")] {
            assert_eq!(bytes(number), text);
        }
        assert_eq!(bytes(999_499), "999 kB");
        assert_eq!(bytes(999_500), "1.0 MB");
        assert_eq!(bytes(u64::MAX), "18446744 TB");
    }

    #[test]
    fn times() {
        let at = |seconds: i64| ago(0, seconds * 1000);
        assert_eq!(at(-5), "just now");
        assert_eq!(at(59), "just now");
        assert_eq!(at(60), "1 min ago");
        assert_eq!(at(3600), "1 h ago");
        assert_eq!(at(86_400), "yesterday");
        assert_eq!(at(3 * 86_400), "3 days ago");
        assert_eq!(at(15 * 86_400), "2 weeks ago");
        assert_eq!(at(70 * 86_400), "2 months ago");
        assert_eq!(at(800 * 86_400), "2 years ago");
        assert_eq!(ago(i64::MIN, i64::MAX), ago(0, i64::MAX));
    }

    #[test]
    fn lines() {
        assert_eq!(line("  a\n b  ", 10), "a b");
        assert_eq!(line("abcdef", 3), "abc…");
        assert_eq!(line("ab cd", 3), "ab…");
        assert_eq!(line("日本語", 2), "日本…");
        assert_eq!(line("", 3), "");
    }

    #[test]
    fn moments_and_turns() {
        assert_eq!(moment(2024, 2, 5, 7, 3), "5 Mar 2024, 07:03");
        assert_eq!(turn("turn_0012"), "turn 12");
        assert_eq!(turn("first"), "first");
    }

    #[test]
    fn names_of_files() {
        assert_eq!(file_name("Über: a/b \u{202e}..\\x"), "über-a-b-x");
        assert_eq!(file_name("../.."), "thread");
    }

    #[test]
    fn shares() {
        assert_eq!(percent(1, 0), 0);
        assert_eq!(percent(1, 3), 33);
        assert_eq!(percent(9, 3), 100);
    }
}
