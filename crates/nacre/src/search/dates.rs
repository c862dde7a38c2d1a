//! The times that a question names, absolute or relative to the time of asking, as intervals of days since
//! 1970.

use jiff::civil::{Date, Weekday, date};
use jiff::tz::TimeZone;

use super::phrase::says;
use crate::base::Time;
use crate::base::words::{self, List};

static MONTHS: List = words::DATES.list("months");
static WEEKDAYS: List = words::DATES.list("weekdays");
const NUMBERS: &[(&str, f64)] = &[
    ("a", 1.0),
    ("an", 1.0),
    ("one", 1.0),
    ("two", 2.0),
    ("couple", 2.0),
    ("three", 3.0),
    ("few", 3.0),
    ("four", 4.0),
    ("several", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
];
/// A unit: its name, its length in days, and the typical error in days when people count in it.
const UNITS: &[(&str, f64, f64)] =
    &[("day", 1.0, 0.6), ("week", 7.0, 2.0), ("month", 30.4, 8.0), ("year", 365.25, 60.0)];

/// Returns the times named in a lower-case question asked at `at`. A date without a year may be in any of
/// `years`.
pub(crate) fn named(lower: &str, at: Time, years: &[i16]) -> Vec<(f64, f64)> {
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    absolute(&words, years, &mut found);
    if at != Time::default() {
        relative(&words, lower, at, &mut found);
    }
    found
}

/// Returns the day of a moment, with its fraction.
pub(super) fn day_of(minute: i32) -> f64 {
    f64::from(minute) / 1440.0
}

fn absolute(words: &[&str], years: &[i16], found: &mut Vec<(f64, f64)>) {
    let mut index = 0;
    while index < words.len() {
        let at = |offset: usize| words.get(index + offset).copied().unwrap_or("");
        let mut taken = 1;
        if let Some(year) = iso(at(0), at(1), at(2)) {
            found.push(whole_day(year));
            taken = 3;
        } else if let Some(month) = month(at(0)) {
            let day = ordinal(at(1));
            let with_year = year(at(if day.is_some() { 2 } else { 1 }));
            match (day, with_year) {
                (Some(day), Some(year)) => found.extend(valid(year, month, day).map(whole_day)),
                (Some(day), None) => {
                    found.extend(years.iter().filter_map(|year| valid(*year, month, day)).map(whole_day))
                }
                (None, Some(year)) => found.extend(whole_month(year, month)),
                // `may` and `march` are common words too: a month alone counts only after a preposition.
                (None, None) if index > 0 && is_before_month(words[index - 1]) => {
                    found.extend(years.iter().filter_map(|year| whole_month(*year, month)));
                }
                (None, None) => {}
            }
            taken += usize::from(day.is_some()) + usize::from(with_year.is_some());
        } else if let Some(day) = ordinal(at(0)) {
            let gap = usize::from(at(1) == "of");
            if let Some(month) = month(at(1 + gap)) {
                let with_year = year(at(2 + gap));
                match with_year {
                    Some(year) => found.extend(valid(year, month, day).map(whole_day)),
                    None => {
                        found.extend(years.iter().filter_map(|year| valid(*year, month, day)).map(whole_day))
                    }
                }
                taken = 2 + gap + usize::from(with_year.is_some());
            }
        } else if matches!(at(0), "in" | "during" | "of")
            && let Some(year) = year(at(1))
            && let (Some(first), Some(next)) = (valid(year, 1, 1), valid(year + 1, 1, 1))
        {
            found.push((day_number(first), day_number(next)));
            taken = 2;
        }
        index += taken;
    }
}

fn relative(words: &[&str], lower: &str, at: Time, found: &mut Vec<(f64, f64)>) {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a few centuries")]
    let now = at.as_millis() as f64 / 86_400_000.0;
    for index in 0..words.len() {
        let word = |offset: usize| words.get(index + offset).copied().unwrap_or("");
        if let Some(count) = number(word(0)) {
            let gap = usize::from(word(1) == "of");
            if let Some((days, slack)) = unit(word(1 + gap)) {
                if word(2 + gap) == "ago" {
                    let center = now - count * days;
                    found.push((center - slack, center + slack));
                } else if index > 0 && matches!(words[index - 1], "past" | "last" | "previous") {
                    found.push((now - count * days - 1.0, now));
                }
            }
        }
        if matches!(word(0), "last" | "past" | "previous" | "this") {
            let width = match word(1) {
                "week" => 8.0,
                "weekend" => 9.0,
                "month" => 33.0,
                "year" => 366.0,
                _ => 0.0,
            };
            if width > 0.0 {
                found.push((now - width, if word(0) == "this" { now } else { now - 0.5 }));
            }
            if let Some(weekday) = WEEKDAYS.iter().position(|name| *name == word(1)) {
                let today = jiff::Timestamp::from_millisecond(at.as_millis())
                    .map_or(0, |now| weekday_number(now.to_zoned(TimeZone::UTC).weekday()));
                let back = (today + 7 - i32::try_from(weekday).unwrap_or(0)) % 7;
                let start = now.floor() - f64::from(if back == 0 { 7 } else { back });
                found.push((start, start + 1.0));
            }
        }
    }
    if says(lower, "yesterday") {
        found.push((now - 1.5, now - 0.5));
    }
    if says(lower, "today") {
        found.push((now - 1.0, now));
    }
}

fn weekday_number(weekday: Weekday) -> i32 {
    i32::from(weekday.to_monday_zero_offset())
}

fn is_before_month(word: &str) -> bool {
    const BEFORE: &[&str] = &[
        "in", "during", "of", "since", "by", "until", "before", "after", "last", "this", "early", "late",
        "mid",
    ];
    BEFORE.contains(&word)
}

fn month(word: &str) -> Option<i8> {
    let word = if word == "sept" { "september" } else { word };
    let whole = |name: &&str| **name == *word || (word.len() == 3 && name.starts_with(word));
    MONTHS.iter().position(whole).and_then(|index| i8::try_from(index + 1).ok())
}

fn ordinal(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    digits.parse().ok().filter(|day| (1..=31).contains(day) && digits.len() <= 2)
}

fn year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| (1900..2200).contains(year) && word.len() == 4)
}

fn iso(first: &str, second: &str, third: &str) -> Option<Date> {
    let (month, day) = (second.parse().ok()?, third.parse().ok()?);
    if second.len() == 2 && third.len() == 2 { valid(year(first)?, month, day) } else { None }
}

fn number(word: &str) -> Option<f64> {
    let spelled = NUMBERS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    spelled.or_else(|| word.parse::<u16>().ok().map(f64::from))
}

fn unit(word: &str) -> Option<(f64, f64)> {
    let singular = word.strip_suffix('s').unwrap_or(word);
    UNITS.iter().find(|(name, _, _)| *name == singular).map(|(_, days, slack)| (*days, *slack))
}

fn valid(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

fn whole_day(day: Date) -> (f64, f64) {
    let start = day_number(day);
    (start, start + 1.0)
}

fn whole_month(year: i16, month: i8) -> Option<(f64, f64)> {
    let next = if month == 12 { valid(year + 1, 1, 1) } else { valid(year, month + 1, 1) };
    Some((day_number(valid(year, month, 1)?), day_number(next?)))
}

fn day_number(day: Date) -> f64 {
    let since = day.duration_since(date(1970, 1, 1));
    #[expect(clippy::cast_precision_loss, reason = "hours of a few centuries")]
    let days = since.as_hours() as f64 / 24.0;
    days
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, f64)]) {
        let at = Time::parse("2023-05-30T12:00:00Z").unwrap();
        let found = named(text, at, &[2023]);
        assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
        for ((from, to), (day, length)) in found.iter().zip(expected) {
            #[expect(clippy::cast_precision_loss)]
            let start = Time::parse(day).unwrap().as_millis() as f64 / 86_400_000.0;
            assert!(
                (from - start).abs() < 1e-6 && (to - from - length).abs() < 1e-6,
                "{text}: {from} {to}, not {start}"
            );
        }
    }

    #[test]
    fn times_are_found() {
        check("what happened on may 8, 2023?", &[("2023-05-08", 1.0)]);
        check("on the 8th of may 2023", &[("2023-05-08", 1.0)]);
        check("on 2023-05-08", &[("2023-05-08", 1.0)]);
        check("in june 2022", &[("2022-06-01", 30.0)]);
        check("in february", &[("2023-02-01", 28.0)]);
        check("on march 3", &[("2023-03-03", 1.0)]);
        check("in 2022", &[("2022-01-01", 365.0)]);
        check("two weeks ago", &[("2023-05-14T12:00:00Z", 4.0)]);
        check("yesterday", &[("2023-05-29", 1.0)]);
        check("last friday", &[("2023-05-26", 1.0)]);
        check("you may march 40 times", &[]);
        check("february 30", &[]);
        check("what is the dog called?", &[]);
    }
}
