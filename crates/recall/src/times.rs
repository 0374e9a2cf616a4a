//! Times in questions: `8 May 2023`, `in March`, `last week`, `two months ago`. Each becomes a range of seconds since 1970, in UTC.
//!
//! Dates are read in the nine languages of [`Language`](crate::Language), and as `2023-05-08`, `8.5.2023`, `5/8/2023` and `2023年5月8日`.
//! Relative times are read in English. They, and dates without a year, need the time of the question. A time without a date (`before we
//! moved`) is none.

use crate::calendar::{DAY, date_of, day_of, days_in, month_start};

/// Names of the months, each row one month; the longest ones by what they begin with.
const MONTHS: [&str; 12] = [
    "january jan januar janvier enero gennaio janeiro januari январь января январе",
    "february feb februar février fevrier febrero febbraio fevereiro februari февраль февраля феврале",
    "march mar märz marz mars marzo março marco maart март марта марте",
    "april apr avril abril aprile апрель апреля апреле",
    "may mai mayo maggio maio mei maj май мая мае",
    "june jun juni juin junio giugno junho июнь июня июне",
    "july jul juli juillet julio luglio julho июль июля июле",
    "august aug août aout agosto augustus augusti август августа августе",
    "september sep sept septembre septiembre settembre setembro сентябрь сентября сентябре",
    "october oct oktober octobre octubre ottobre outubro октябрь октября октябре",
    "november nov novembre noviembre novembro ноябрь ноября ноябре",
    "december dec dezember décembre decembre diciembre dicembre dezembro декабрь декабря декабре",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const NUMBERS: &str = "one two three four five six seven eight nine ten eleven twelve";
/// What stands before a month or a year that is one: `may` alone is no month.
const BEFORE: &str =
    " in of during since until by last this early late mid im en au de del nel em år în в год year jahr año ano anno ";
/// What may stand between a day, a month and a year.
const BETWEEN: &str = " of the de del di den st nd rd th er ";

/// The ranges of seconds, from (in) and to (out), that a question names. `now` is when it is asked, in seconds.
pub(crate) fn times(text: &str, now: Option<i64>) -> Vec<(i64, i64)> {
    let mut pieces: Vec<(String, char)> = Vec::new();
    let mut gap = ' ';
    let mut digits = None;
    for c in text.chars() {
        if !c.is_alphanumeric() {
            (gap, digits) = (c, None);
            continue;
        }
        let same = digits == Some(c.is_ascii_digit());
        match pieces.last_mut().filter(|_| same) {
            Some((piece, _)) => piece.extend(c.to_lowercase()),
            None => pieces.push((c.to_lowercase().collect(), if digits.is_some() { '\0' } else { gap })),
        }
        digits = Some(c.is_ascii_digit());
    }
    // Questions are short; a long text is no question.
    pieces.truncate(64);
    let read = Reading { pieces, today: now.map(|now| now.div_euclid(DAY)) };
    let mut found: Vec<(i64, i64)> = (0..read.pieces.len()).filter_map(|at| read.range(at)).collect();
    found.dedup();
    // The date says more than the year in it.
    let all = found.clone();
    found.retain(|(from, to)| !all.iter().any(|other| other != &(*from, *to) && other.0 >= *from && other.1 <= *to));
    found.into_iter().map(|(from, to)| (from * DAY, to * DAY)).collect()
}

struct Reading {
    /// Runs of letters and of digits in lower case, each with the character before it: a zero where there is none between two runs.
    pieces: Vec<(String, char)>,
    /// The day of the question.
    today: Option<i64>,
}

impl Reading {
    fn piece(&self, at: usize) -> &str {
        self.pieces.get(at).map_or("", |(piece, _)| piece)
    }

    fn number(&self, at: usize, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
        let piece = self.piece(at);
        digits.contains(&piece.len()).then(|| piece.parse().ok()).flatten()
    }

    fn year(&self, at: usize) -> Option<i64> {
        self.number(at, 4..=4).filter(|year| (1900..=2100).contains(year))
    }

    /// The days, from and to, that what begins at a piece names.
    fn range(&self, at: usize) -> Option<(i64, i64)> {
        self.month(at).or_else(|| self.figures(at)).or_else(|| self.bare_year(at)).or_else(|| self.relative(at))
    }

    /// `8 May 2023`, `May 8, 2023`, `May 2023`; without a year the last one before the question.
    fn month(&self, at: usize) -> Option<(i64, i64)> {
        let name = self.piece(at);
        let month = 1 + MONTHS.iter().position(|row| row.split(' ').any(|known| known == name))? as i64;
        let is_between = |at: usize| BETWEEN.split(' ').any(|word| !word.is_empty() && word == self.piece(at));
        let mut back = at;
        while back > 0 && is_between(back - 1) {
            back -= 1;
        }
        let mut day = back.checked_sub(1).and_then(|back| self.number(back, 1..=2));
        let mut next = at + 1;
        if day.is_none() {
            day = self.number(next, 1..=2);
            next += usize::from(day.is_some());
        }
        while is_between(next) {
            next += 1;
        }
        let (year, day) = (self.year(next), day.filter(|day| (1..=31).contains(day)));
        let said = at > 0 && BEFORE.split(' ').any(|word| !word.is_empty() && word == self.piece(at - 1));
        if year.is_none() && day.is_none() && !said {
            return None;
        }
        let year = year.or_else(|| {
            let today = self.today?;
            let year = date_of(today).0;
            Some(if day_of(year, month, day.unwrap_or(1)) > today { year - 1 } else { year })
        })?;
        Some(one(year, month, day))
    }

    /// `2023-05-08`, `8.5.2023`, `5/8/2023`, `2023年5月8日`, `2023年5月`.
    fn figures(&self, at: usize) -> Option<(i64, i64)> {
        let gap = self.pieces.get(at + 1)?.1;
        if let Some(year) = self.year(at) {
            if self.piece(at + 1) == "年" {
                let month = self.number(at + 2, 1..=2).filter(|_| self.piece(at + 3).starts_with('月'))?;
                let day = self.number(at + 4, 1..=2).filter(|_| self.piece(at + 5).starts_with('日'));
                return valid(year, month, day);
            }
            let month = self.number(at + 1, 2..=2).filter(|_| gap == '-' || gap == '/')?;
            return valid(year, month, self.number(at + 2, 2..=2));
        }
        let (first, second) = (self.number(at, 1..=2)?, self.number(at + 1, 1..=2)?);
        let year = self.year(at + 2).filter(|_| self.pieces[at + 2].1 == gap)?;
        match gap {
            '.' | '-' => valid(year, second, Some(first)),
            '/' if first > 12 => valid(year, second, Some(first)),
            '/' => valid(year, first, Some(second)),
            _ => None,
        }
    }

    /// `in 2023`, `2023年`.
    fn bare_year(&self, at: usize) -> Option<(i64, i64)> {
        let year = self.year(at)?;
        let said = at > 0 && BEFORE.split(' ').any(|word| !word.is_empty() && word == self.piece(at - 1));
        (said || self.piece(at + 1).starts_with('年')).then(|| (day_of(year, 1, 1), day_of(year + 1, 1, 1)))
    }

    /// `yesterday`, `last week`, `two months ago`, `on Monday`.
    fn relative(&self, at: usize) -> Option<(i64, i64)> {
        let today = self.today?;
        let (word, last) = (self.piece(at), if at > 0 { self.piece(at - 1) } else { "" });
        let (back, past) = (i64::from(last != "this"), matches!(last, "last" | "past" | "previous"));
        // 1970-01-01 was a Thursday.
        let weekday = (today + 3).rem_euclid(7);
        match word {
            "today" | "tonight" => return Some((today, today + 1)),
            "yesterday" => return Some((today - 1, today)),
            "night" if past => return Some((today - 1, today)),
            "week" if past || back == 0 => return Some((today - weekday - 7 * back, today - weekday - 7 * back + 7)),
            "weekend" if past || back == 0 => {
                return Some((today - weekday - 7 * back + 5, today - weekday - 7 * back + 7));
            }
            "month" if past || back == 0 => {
                let (year, month, _) = date_of(today);
                return Some((month_start(year, month - back), month_start(year, month - back + 1)));
            }
            "year" if past || back == 0 => {
                let year = date_of(today).0 - back;
                return Some((day_of(year, 1, 1), day_of(year + 1, 1, 1)));
            }
            "ago" => return self.ago(at, today),
            _ => {}
        }
        let day = WEEKDAYS.iter().position(|name| *name == word)? as i64;
        if !past && last != "on" && back != 0 {
            return None;
        }
        // The last one before today.
        let passed = (weekday - day - 1).rem_euclid(7) + 1;
        Some((today - passed, today - passed + 1))
    }

    /// `two months ago`, with the month around.
    fn ago(&self, at: usize, today: i64) -> Option<(i64, i64)> {
        let unit = self.piece(at.checked_sub(1)?);
        let number = self.piece(at.checked_sub(2)?);
        let count = match number {
            "a" | "an" => 1,
            _ => NUMBERS
                .split(' ')
                .position(|name| name == number)
                .map(|at| at as i64 + 1)
                .or_else(|| self.number(at - 2, 1..=3))?,
        };
        let (days, around) = match unit.trim_end_matches('s') {
            "day" => (1, 0),
            "week" => (7, 3),
            "month" => (30, 15),
            "year" => (365, 182),
            _ => return None,
        };
        let middle = today - days * count;
        Some((middle - around, middle + around + 1))
    }
}

fn valid(year: i64, month: i64, day: Option<i64>) -> Option<(i64, i64)> {
    let fits = (1..=12).contains(&month) && day.is_none_or(|day| (1..=31).contains(&day));
    fits.then(|| one(year, month, day))
}

/// A day, or a month.
fn one(year: i64, month: i64, day: Option<i64>) -> (i64, i64) {
    match day {
        Some(day) => (day_of(year, month, day), day_of(year, month, day) + 1),
        None => (day_of(year, month, 1), day_of(year, month, 1) + days_in(year, month)),
    }
}

/// How near a time is to those that a query names: 1 within one, a half as far from it as it is long (two days at least).
pub(crate) fn nearness(times: &[(i64, i64)], time: i64) -> f32 {
    let near = |(from, to): &(i64, i64)| {
        let far = (from - time).max(time - (to - 1)).max(0) as f32 / (to - from).max(2 * DAY) as f32;
        1.0 / (1.0 + far * far)
    };
    times.iter().filter(|_| time != 0).map(near).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Wednesday.
    const NOW: &str = "2024-05-15";

    fn day(text: &str) -> i64 {
        let mut parts = text.split('-').map(|part| part.parse().unwrap());
        let mut next = || parts.next().unwrap();
        day_of(next(), next(), next())
    }

    fn read(text: &str) -> String {
        let now = day(NOW) * DAY + 43_200;
        let say = |seconds: i64| {
            let (year, month, day) = date_of(seconds.div_euclid(DAY));
            format!("{year}-{month:02}-{day:02}")
        };
        let found = times(text, Some(now));
        found.iter().map(|(from, to)| format!("{}..{}", say(*from), say(*to))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dates_are_read_in_nine_languages() {
        for text in [
            "on May 8, 2023?",
            "the 8th of May 2023",
            "am 8. Mai 2023",
            "le 8 mai 2023",
            "el 8 de mayo de 2023",
            "l'8 maggio 2023",
            "em 8 de maio de 2023",
            "op 8 mei 2023",
            "den 8 maj 2023",
            "8 мая 2023",
            "2023-05-08",
            "8.5.2023",
            "5/8/2023",
            "2023年5月8日に何を",
        ] {
            assert_eq!(read(text), "2023-05-08..2023-05-09", "{text}");
        }
        for text in ["in May 2023", "im Mai 2023", "en mayo de 2023", "в мае 2023", "2023年5月"] {
            assert_eq!(read(text), "2023-05-01..2023-06-01", "{text}");
        }
        assert_eq!(read("what happened in 2022"), "2022-01-01..2023-01-01");
    }

    #[test]
    fn relative_times_count_from_the_question() {
        for (text, expected) in [
            ("what did I say yesterday", "2024-05-14..2024-05-15"),
            ("last week", "2024-05-06..2024-05-13"),
            ("last weekend", "2024-05-11..2024-05-13"),
            ("this month", "2024-05-01..2024-06-01"),
            ("last month", "2024-04-01..2024-05-01"),
            ("last year", "2023-01-01..2024-01-01"),
            ("two days ago", "2024-05-13..2024-05-14"),
            ("3 weeks ago", "2024-04-21..2024-04-28"),
            ("on Monday", "2024-05-13..2024-05-14"),
            ("last Wednesday", "2024-05-08..2024-05-09"),
            ("in June", "2023-06-01..2023-07-01"),
            ("since March", "2024-03-01..2024-04-01"),
            ("on May 20th", "2023-05-20..2023-05-21"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert!(times("last week, in June, on Monday", None).is_empty(), "nothing tells when that is");
    }

    #[test]
    fn what_names_no_date_is_no_time() {
        for text in
            ["before we moved", "may I march", "the 2023 model has 5 doors", "a week of rain", "room 12", "1.2.3", ""]
        {
            assert_eq!(read(text), "", "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_read(text in "\\PC{0,40}|[0-9./年月日 maylstwekago-]{0,40}", now: i32) {
            for (from, to) in times(&text, Some(now.into())) {
                assert!(from < to);
            }
        }
    }
}
