//! Waiting before a request is sent again.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// How long to wait before the next try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// How often a request is sent at most; from 1.
    pub tries: u32,
    /// The wait before the second try, in milliseconds; it doubles from try to try.
    pub first_ms: u32,
    /// The longest wait of our own, in milliseconds.
    pub most_ms: u32,
    /// The longest wait that a server may ask for, in milliseconds: one that asks for more has failed.
    pub patience_ms: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { tries: 4, first_ms: 500, most_ms: 16_000, patience_ms: 60_000 }
    }
}

impl Backoff {
    /// How long to wait in milliseconds before try number `next` (from 2): what the server `asked` for in milliseconds, or else our
    /// own, between half and all of it as `random` (0 to 1) says, so that many who failed together do not come back together. `None`
    /// when it is not to be tried again.
    pub fn wait(&self, next: u32, asked: Option<u64>, random: f64) -> Option<u32> {
        if next > self.tries {
            return None;
        }
        let spread = 0.5 + random.clamp(0.0, 1.0) / 2.0;
        match asked {
            Some(asked) => u32::try_from(asked).ok().filter(|asked| *asked <= self.patience_ms),
            None => {
                let doubled = f64::from(self.first_ms) * 2f64.powi(i32::try_from(next.saturating_sub(2)).unwrap_or(30));
                Some((doubled.min(f64::from(self.most_ms)) * spread) as u32)
            }
        }
    }
}

/// How long a server asked to wait, in milliseconds: by `retry-after-ms`, or `retry-after` in seconds or as a date. `now` is in
/// milliseconds since 1970.
pub(super) fn asked(headers: &[(String, String)], now: i64) -> Option<u64> {
    let header = |name: &str| {
        let found = headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    };
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    if let Some(time) = header("retry-after-ms").and_then(number) {
        return Some(time as u64);
    }
    let after = header("retry-after")?;
    match number(after) {
        Some(seconds) => Some((seconds * 1000.0) as u64),
        None => http_date(after).map(|date| u64::try_from(date.saturating_sub(now)).unwrap_or(0)),
    }
}

/// Reads a date as HTTP writes it (`Sun, 06 Nov 1994 08:49:37 GMT`), in milliseconds since 1970.
///
/// ```
/// assert_eq!(threadkeep_provider::http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000));
/// assert_eq!(threadkeep_provider::http_date("tomorrow"), None);
/// ```
pub fn http_date(text: &str) -> Option<i64> {
    let date = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    Some(date.unix_timestamp() * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_asks_for_counts() {
        let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        assert_eq!(asked(&header("Retry-After", "2"), 0), Some(2000));
        assert_eq!(asked(&header("retry-after", "0.5"), 0), Some(500));
        assert_eq!(asked(&header("retry-after-ms", "120.7"), 0), Some(120));
        assert_eq!(asked(&header("retry-after", "Thu, 01 Jan 1970 00:00:09 GMT"), 4000), Some(5000));
        assert_eq!(asked(&header("retry-after", "Thu, 01 Jan 1970 00:00:09 GMT"), 40_000), Some(0));
        for bad in ["-1", "NaN", "soon", "", "Thu, 99 Jan 1970 00:00:09 GMT", "inf"] {
            assert_eq!(asked(&header("retry-after", bad), 0), None, "{bad}");
        }
        let both = [header("retry-after", "9"), header("retry-after-ms", "10")].concat();
        assert_eq!(asked(&both, 0), Some(10));
    }

    #[test]
    fn waits_double_up_to_a_limit_and_end() {
        let backoff = Backoff { tries: 9, ..Backoff::default() };
        let waits: Vec<_> = (2..=10).map(|next| backoff.wait(next, None, 1.0)).collect();
        let expected = [500, 1000, 2000, 4000, 8000, 16_000, 16_000, 16_000].map(Some);
        assert_eq!(waits[..8], expected);
        assert_eq!(waits[8], None);
        assert_eq!(backoff.wait(2, None, 0.0), Some(250));
        assert_eq!(backoff.wait(2, Some(3000), 0.0), Some(3000));
        assert_eq!(backoff.wait(2, Some(60_001), 0.0), None);
        assert_eq!(backoff.wait(2, Some(u64::MAX), 0.0), None);
        assert_eq!(Backoff::default().wait(5, Some(1), 0.0), None);
    }

    #[test]
    fn dates() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000_000));
        assert_eq!(http_date("Sun, 22 Nov 2026 11:25:59 GMT"), Some(1_795_346_759_000));
        assert_eq!(http_date("Sun, 22 Nov 2026 11:25:59 CET"), None);
    }
}
