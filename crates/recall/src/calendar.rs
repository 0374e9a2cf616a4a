//! Days since 1970 as dates and back, by the Gregorian calendar.

/// Seconds of a day.
pub const DAY: i64 = 86_400;

/// The day of a date, from 1970-01-01 on; a month before the first or after the last is one of the years around.
pub fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = (year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
    // March is the first month of the year, so that the leap day is its last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day
        - 1
        - 719_468
}

/// The first day of a month.
pub fn month_start(year: i64, month: i64) -> i64 {
    day_of(year, month, 1)
}

/// How many days a month has.
pub fn days_in(year: i64, month: i64) -> i64 {
    month_start(year, month + 1) - month_start(year, month)
}

/// The year, month and day of a day.
pub fn date_of(day: i64) -> (i64, i64, i64) {
    // The estimate is at most one year off.
    let mut year = 1970 + day.div_euclid(366) - 1;
    while day_of(year + 1, 1, 1) <= day {
        year += 1;
    }
    let mut month = 1;
    while day_of(year, month + 1, 1) <= day {
        month += 1;
    }
    (year, month, day - day_of(year, month, 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (day, date) in [(0, (1970, 1, 1)), (-1, (1969, 12, 31)), (19_782, (2024, 2, 29)), (19_783, (2024, 3, 1))] {
            assert_eq!(date_of(day), date);
            assert_eq!(day_of(date.0, date.1, date.2), day);
        }
        assert_eq!((days_in(2024, 2), days_in(2100, 2), days_in(2023, 12)), (29, 28, 31));
    }
}
