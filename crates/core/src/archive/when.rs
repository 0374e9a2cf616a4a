//! Times as archives write them, in milliseconds since 1970 (UTC): epoch seconds or milliseconds, or RFC 3339.

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Numbers above this are milliseconds (as seconds they would lie past the year 5000), those above its thousandfold are
/// microseconds.
const SECONDS: f64 = 1e11;

/// The time that a value writes; `None` for anything else, or a time outside of ±100,000 years.
pub(super) fn millis(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_f64().and_then(epoch),
        Value::String(text) => rfc3339(text).or_else(|| serde_json::from_str(text.trim()).ok().and_then(epoch)),
        _ => None,
    }
}

fn epoch(number: f64) -> Option<i64> {
    let size = number.abs();
    let millis = if size < SECONDS {
        number * 1e3
    } else if size < SECONDS * 1e3 {
        number
    } else {
        number / 1e3
    };
    // Within the bound, a float turns into an integer exactly.
    (millis.is_finite() && millis.abs() < 3e15).then_some(millis.round() as i64)
}

fn rfc3339(text: &str) -> Option<i64> {
    let text = text.trim();
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    let date = parse(text).or_else(|| {
        let text = text.replacen(' ', "T", 1);
        parse(&text).or_else(|| parse(&format!("{text}Z")))
    })?;
    Some(date.unix_timestamp() * 1000 + i64::from(date.millisecond()))
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
        ] {
            assert_eq!(millis(&value), expected, "{value}");
        }
        assert_eq!(millis(&json!("1e400")), None);
        assert_eq!(millis(&json!(1e300)), None);
    }
}
