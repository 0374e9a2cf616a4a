//! Times as archives write them, in milliseconds since 1970 (UTC): epoch seconds or milliseconds, or RFC 3339.

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The time that a value writes; `None` for anything else, or a time outside of ±95,000 years.
pub(super) fn millis(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => epoch(&number.to_string()),
        Value::String(text) => rfc3339(text.trim()).or_else(|| epoch(text.trim())).or_else(|| written(text.trim())),
        _ => None,
    }
}

/// [`millis`] of raw JSON.
pub(super) fn raw_millis(raw: &str) -> Option<i64> {
    if raw.starts_with(['"', '{', '[', 't', 'f', 'n']) {
        return serde_json::from_str(raw).ok().as_ref().and_then(millis);
    }
    epoch(raw)
}

/// A number of seconds, milliseconds or microseconds, by its size: 10^11 seconds would lie past the year 5000, and so would
/// 10^14 milliseconds. Read from its digits, so that no rounding of floats comes in.
fn epoch(number: &str) -> Option<i64> {
    let (negative, number) = number.strip_prefix('-').map_or((false, number), |number| (true, number));
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() {
        return None;
    }
    // The number is `value` times ten to the power of `scale`. Nineteen digits are what a u64 holds.
    let mut scale = exponent.parse::<i32>().ok()?.clamp(-1000, 1000);
    let mut value = 0u64;
    let mut held = 0;
    for (digit, after_point) in
        whole.bytes().map(|digit| (digit, false)).chain(fraction.bytes().map(|digit| (digit, true)))
    {
        if !digit.is_ascii_digit() {
            return None;
        }
        if held < 19 {
            value = value * 10 + u64::from(digit - b'0');
            held += i32::from(value > 0);
            scale -= i32::from(after_point);
        } else {
            scale = scale.saturating_add(i32::from(!after_point));
        }
    }
    let size = held.saturating_add(scale);
    let scale = match () {
        () if value == 0 => return Some(0),
        () if size <= 11 => scale + 3,
        () if size <= 14 => scale,
        () => scale - 3,
    };
    let power = 10u64.checked_pow(scale.unsigned_abs());
    let millis = match power {
        Some(power) if scale >= 0 => value.checked_mul(power)?,
        Some(power) => value / power + u64::from(value % power >= power.div_ceil(2)),
        None if scale > 0 => return None,
        None => 0,
    };
    let millis = i64::try_from(millis).ok().filter(|millis| *millis < 3_000_000_000_000_000)?;
    Some(if negative { -millis } else { millis })
}

/// A date and a time of day, with `T` or a space between them; without a zone it is UTC. A leap second counts as the end of the second
/// before it.
fn rfc3339(text: &str) -> Option<i64> {
    let read = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    let time = read(text).or_else(|| read(&[text, "Z"].concat()))?;
    i64::try_from(time.unix_timestamp_nanos().div_euclid(1_000_000)).ok()
}

/// Times as SillyTavern writes them: `June 19, 2023 2:20pm`, and `2024-7-4 @14h 05m 30s 120ms`. They are taken as UTC, since
/// they do not name their zone.
fn written(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let numbers: Vec<i64> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty() && digits.len() < 5)
        .filter_map(|digits| digits.parse().ok())
        .collect();
    let parts: [i64; 7] = if text.contains('@') {
        match numbers.as_slice() {
            [year, month, day, hour, minute, second, millis] => [*year, *month, *day, *hour, *minute, *second, *millis],
            [year, month, day, hour, minute, second] => [*year, *month, *day, *hour, *minute, *second, 0],
            _ => return None,
        }
    } else {
        let name = text.get(..3)?.to_ascii_lowercase();
        let month = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
        let [day, year, hour, minute] = numbers.as_slice() else { return None };
        let afternoon = text.to_ascii_lowercase().ends_with("pm");
        [*year, month, *day, hour % 12 + if afternoon { 12 } else { 0 }, *minute, 0, 0]
    };
    let [year, month, day, hour, minute, second, millis] = parts;
    let whole = rfc3339(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))?;
    Some(whole + millis.min(999))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn forms_of_time() {
        for (value, expected) in [
            (json!(1750000000.5), Some(1750000000500)),
            (json!(1750000000500i64), Some(1750000000500)),
            (json!("2024-12-01T10:00:00Z"), Some(1733047200000)),
            (json!("2026-08-14T06:36:35.268000+00:00"), Some(1786689395268)),
            (json!("2024-12-01T12:00:00+02:00"), Some(1733047200000)),
            (json!("2024-12-01 10:00:00"), Some(1733047200000)),
            (json!("1733047200"), Some(1733047200000)),
            (json!("soon"), None),
            (json!(null), None),
            (json!([1]), None),
            (json!(-1.5), Some(-1500)),
            (json!(1.75e9), Some(1750000000000)),
            (json!(1697059383.6005), Some(1697059383601)),
            (json!(1750000000123456u64), Some(1750000000123)),
            (json!("1750000000.000499999999999999"), Some(1750000000000)),
            (json!("0e99"), Some(0)),
            (json!("-0.0004"), Some(0)),
            (json!("1e-30"), Some(0)),
            (json!("1x"), None),
            (json!("1.5.5"), None),
            (json!("-"), None),
            (json!("1e"), None),
            (json!("1e99999999999"), None),
            (json!("1969-12-31T23:59:59.9999Z"), Some(-1)),
            (json!("2016-12-31T23:59:60Z"), Some(1483228799999)),
            (json!("2024-02-30T10:00:00Z"), None),
            (json!("2024-12-01T24:00:00Z"), None),
            (json!("2024-12-01T10:00:00.Z"), None),
            (json!("2024-12-01T10:00:00+0200"), None),
            (json!("2024-12-01"), None),
            (json!("June 19, 2023 2:20pm"), Some(1687184400000)),
            (json!("December 1, 2024 12:00am"), Some(1733011200000)),
            (json!("2024-12-1 @10h 0m 0s 7ms"), Some(1733047200007)),
            (json!("June 19"), None),
            (json!("2024-13-1 @10h 0m 0s 7ms"), None),
            (json!("日本語"), None),
            (json!("２０24-12-01T10:00:00Z"), None),
        ] {
            assert_eq!(millis(&value), expected, "{value}");
        }
        assert_eq!(millis(&json!("1e400")), None);
        assert_eq!(millis(&json!(1e300)), None);
    }
}
