//! Times as people read them.

use time::OffsetDateTime;

/// A time to read, to the minute: `2026-05-01 08:00 UTC`. `millis` are milliseconds since 1970; beyond the years ±9999 it says so many
/// milliseconds.
///
/// ```
/// use threadkeep_core::date::readable;
/// assert_eq!(readable(1_777_622_400_000), "2026-05-01 08:00 UTC");
/// assert_eq!(readable(-1), "1969-12-31 23:59 UTC");
/// assert_eq!(readable(3_000_000_000_000_000), "3000000000000000 ms after 1970");
/// ```
pub fn readable(millis: i64) -> String {
    let Ok(utc) = OffsetDateTime::from_unix_timestamp(millis.div_euclid(1000)) else {
        return format!("{millis} ms after 1970");
    };
    let (year, month, day) = utc.to_calendar_date();
    format!("{year:04}-{:02}-{day:02} {:02}:{:02} UTC", u8::from(month), utc.hour(), utc.minute())
}
