//! Times as people read them.

/// A time to read, to the minute: `2026-05-01 08:00 UTC`.
pub fn readable(millis: i64) -> String {
    let minutes = millis.div_euclid(60_000);
    let (days, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
    // Years that begin in March, in cycles of 400.
    let since = days + 719_468;
    let (cycle, day) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + cycle * 400 + next;
    format!("{year:04}-{month:02}-{date:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A day of every week of 9,999 years, at all times of day, as a library for dates has it.
    #[test]
    fn times_to_read_are_those_of_the_calendar() {
        use time::{Date, Duration};
        let mut date = Date::from_calendar_date(1, time::Month::January, 1).unwrap();
        let mut seconds = 0;
        while date.year() < 9999 {
            seconds = (seconds + 6_007) % 86_400;
            let utc = date.midnight().assume_utc() + Duration::seconds(seconds);
            let millis = utc.unix_timestamp() * 1000 + 250;
            let (year, month, day) = (utc.year(), u8::from(utc.month()), utc.day());
            let shown = format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", utc.hour(), utc.minute());
            assert_eq!(readable(millis), shown);
            date += Duration::days(7);
        }
    }
}
