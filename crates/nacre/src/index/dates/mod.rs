//! The times that a question names, absolute or relative to the time of asking, as intervals of days since
//! 1970.

mod other;

use jiff::civil::{Date, date};

use crate::base::Time;
use crate::base::text::says;
use crate::base::words::{self, List};
use crate::index::embed::foreign;

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
/// An interval, in days since 1970.
type Days = (f64, f64);

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DateUnit {
    Day,
    Week,
    Weekend,
    Month,
    Year,
}

impl DateUnit {
    fn named(name: &str) -> Option<DateUnit> {
        Some(match name {
            "day" => DateUnit::Day,
            "week" => DateUnit::Week,
            "weekend" => DateUnit::Weekend,
            "month" => DateUnit::Month,
            "year" => DateUnit::Year,
            _ => return None,
        })
    }

    /// Returns its length in days, and the typical error in days when people count in it.
    fn length(self) -> (f64, f64) {
        match self {
            DateUnit::Day => (1.0, 0.6),
            DateUnit::Week | DateUnit::Weekend => (7.0, 2.0),
            DateUnit::Month => (30.4, 8.0),
            DateUnit::Year => (365.25, 60.0),
        }
    }

    /// Returns the number of days that the last one may be back.
    fn reach(self) -> f64 {
        match self {
            DateUnit::Day => 2.0,
            DateUnit::Week => 8.0,
            DateUnit::Weekend => 9.0,
            DateUnit::Month => 33.0,
            DateUnit::Year => 366.0,
        }
    }
}

/// The time of asking, in days since 1970.
#[derive(Clone, Copy)]
struct Now(f64);

impl Now {
    fn new(at: Time) -> Now {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a few centuries")]
        let now = at.as_millis() as f64 / 86_400_000.0;
        Now(now)
    }

    /// This many units ago.
    fn ago(self, count: f64, unit: DateUnit) -> Days {
        let (days, slack) = unit.length();
        let center = self.0 - count * days;
        (center - slack, center + slack)
    }

    /// Within the last `count` units.
    fn past(self, count: f64, unit: DateUnit) -> Days {
        (self.0 - count * unit.length().0 - 1.0, self.0)
    }

    fn last(self, unit: DateUnit) -> Days {
        (self.0 - unit.reach(), self.0 - 0.5)
    }

    fn this(self, unit: DateUnit) -> Days {
        (self.0 - unit.reach(), self.0)
    }

    /// The last one of this weekday, from 0 for Monday.
    fn last_weekday(self, weekday: i8) -> Days {
        #[expect(clippy::cast_possible_truncation, reason = "a day of a few centuries")]
        let today = (self.0.floor() as i64 + EPOCH_WEEKDAY).rem_euclid(7);
        let back = (today + 7 - i64::from(weekday)).rem_euclid(7);
        let back = if back == 0 { 7 } else { back };
        #[expect(clippy::cast_precision_loss, reason = "at most 7")]
        let start = self.0.floor() - back as f64;
        (start, start + 1.0)
    }

    /// Today, yesterday or the day before.
    fn near(self, days: u8) -> Days {
        let center = self.0 - f64::from(days);
        if days == 0 { (self.0 - 1.0, self.0) } else { (center - 0.5, center + 0.5) }
    }
}

/// The weekday of the first day of 1970, from 0 for Monday.
const EPOCH_WEEKDAY: i64 = 3;

/// Returns the times named in a lower-case question asked at `at`. A date without a year may be in any of
/// `years`.
pub(crate) fn named(lower: &str, at: Time, years: &[i16]) -> Vec<Days> {
    let now = (at != Time::default()).then(|| Now::new(at));
    if foreign::is_foreign(lower) {
        let found = other::named(lower, now, years);
        if !found.is_empty() {
            return found;
        }
    }
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    absolute(&words, years, &mut found);
    if let Some(now) = now {
        relative(&words, lower, now, &mut found);
    }
    found
}

/// Returns the day of a moment, with its fraction.
pub(crate) fn day_of(minute: i32) -> f64 {
    f64::from(minute) / 1440.0
}

fn absolute(words: &[&str], years: &[i16], found: &mut Vec<Days>) {
    let mut index = 0;
    while index < words.len() {
        let at = |offset: usize| words.get(index + offset).copied().unwrap_or("");
        let mut taken = 1;
        if let Some(day) = iso(at(0), at(1), at(2)) {
            found.push(days_of(day));
            taken = 3;
        } else if let Some(month) = month(at(0)) {
            let day = ordinal(at(1));
            let with_year = year(at(if day.is_some() { 2 } else { 1 }));
            match (day, with_year) {
                (Some(day), Some(year)) => found.extend(whole_day(year, month, day)),
                (Some(day), None) => found.extend(day_in_years(years, month, day)),
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
                    Some(year) => found.extend(whole_day(year, month, day)),
                    None => found.extend(day_in_years(years, month, day)),
                }
                taken = 2 + gap + usize::from(with_year.is_some());
            }
        } else if matches!(at(0), "in" | "during" | "of")
            && let Some(days) = year(at(1)).and_then(whole_year)
        {
            found.push(days);
            taken = 2;
        }
        index += taken;
    }
}

fn relative(words: &[&str], lower: &str, now: Now, found: &mut Vec<Days>) {
    for index in 0..words.len() {
        let word = |offset: usize| words.get(index + offset).copied().unwrap_or("");
        if let Some(count) = number(word(0)) {
            let gap = usize::from(word(1) == "of");
            if let Some(unit) = unit(word(1 + gap)) {
                if word(2 + gap) == "ago" {
                    found.push(now.ago(count, unit));
                } else if index > 0 && matches!(words[index - 1], "past" | "last" | "previous") {
                    found.push(now.past(count, unit));
                }
            }
        }
        if matches!(word(0), "last" | "past" | "previous" | "this") {
            let period = DateUnit::named(word(1)).filter(|unit| *unit != DateUnit::Day);
            found.extend(period.map(|unit| if word(0) == "this" { now.this(unit) } else { now.last(unit) }));
            let weekday = WEEKDAYS.iter().position(|name| *name == word(1));
            found.extend(weekday.and_then(|day| i8::try_from(day).ok()).map(|day| now.last_weekday(day)));
        }
    }
    for (word, days) in [("yesterday", 1), ("today", 0)] {
        if says(lower, word) {
            found.push(now.near(days));
        }
    }
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

fn unit(word: &str) -> Option<DateUnit> {
    let singular = word.strip_suffix('s').unwrap_or(word);
    DateUnit::named(singular).filter(|unit| *unit != DateUnit::Weekend)
}

fn valid(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

fn whole_day(year: i16, month: i8, day: i8) -> Option<Days> {
    valid(year, month, day).map(days_of)
}

fn days_of(day: Date) -> Days {
    let start = day_number(day);
    (start, start + 1.0)
}

/// Returns a day in each of these years.
fn day_in_years(years: &[i16], month: i8, day: i8) -> Vec<Days> {
    years.iter().filter_map(|year| whole_day(*year, month, day)).collect()
}

fn whole_year(year: i16) -> Option<Days> {
    Some((day_number(valid(year, 1, 1)?), day_number(valid(year + 1, 1, 1)?)))
}

fn whole_month(year: i16, month: i8) -> Option<Days> {
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

    fn found(text: &str) -> Vec<Days> {
        named(text, Time::parse("2023-05-30T12:00:00Z").unwrap(), &[2023])
    }

    fn is_right(text: &str, expected: &[(&str, f64)]) -> bool {
        let is_same = |((from, to), (day, length)): (&Days, &(&str, f64))| {
            let start = Now::new(Time::parse(day).unwrap()).0;
            (from - start).abs() < 1e-6 && (to - from - length).abs() < 1e-6
        };
        let found = found(text);
        found.len() == expected.len() && found.iter().zip(expected).all(is_same)
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, f64)]) {
        assert!(is_right(text, expected), "{text}: {:?}", found(text));
    }

    #[test]
    fn times_are_found_in_every_language() {
        let mut wrong = Vec::new();
        for (text, day, length) in [
            ("was ist am 8. mai 2023 passiert?", "2023-05-08", 1.0),
            ("was habe ich vor zwei wochen gekauft?", "2023-05-14T12:00:00Z", 4.0),
            ("wen habe ich gestern getroffen?", "2023-05-29", 1.0),
            ("was haben wir letzten freitag beschlossen?", "2023-05-26", 1.0),
            ("was haben wir im februar gemacht?", "2023-02-01", 28.0),
            ("was ist am 08.05.2023 passiert?", "2023-05-08", 1.0),
            ("¿qué compré hace dos semanas?", "2023-05-14T12:00:00Z", 4.0),
            ("¿qué pasó el 8 de mayo de 2023?", "2023-05-08", 1.0),
            ("¿a quién vi el viernes pasado?", "2023-05-26", 1.0),
            ("¿qué hicimos la semana pasada?", "2023-05-22T12:00:00Z", 7.5),
            ("qu'est-ce que j'ai acheté il y a deux semaines ?", "2023-05-14T12:00:00Z", 4.0),
            ("qui ai-je rencontré avant-hier ?", "2023-05-28", 1.0),
            ("que s'est-il passé en août 2022 ?", "2022-08-01", 31.0),
            ("o que comprei há duas semanas?", "2023-05-14T12:00:00Z", 4.0),
            ("o que fizemos no mês passado?", "2023-04-27T12:00:00Z", 32.5),
            ("che cosa ho comprato due settimane fa?", "2023-05-14T12:00:00Z", 4.0),
            ("wat heb ik twee weken geleden gekocht?", "2023-05-14T12:00:00Z", 4.0),
            ("co kupiłem dla mamy dwa tygodnie temu?", "2023-05-14T12:00:00Z", 4.0),
            ("что я купил две недели назад?", "2023-05-14T12:00:00Z", 4.0),
            ("что случилось 8 мая 2023 года?", "2023-05-08", 1.0),
            ("что было в 2022 году?", "2022-01-01", 365.0),
            ("iki hafta önce ne aldım?", "2023-05-14T12:00:00Z", 4.0),
            ("dün kiminle görüştüm?", "2023-05-29", 1.0),
            ("我两周前买了什么？", "2023-05-14T12:00:00Z", 4.0),
            ("2023年5月8日发生了什么？", "2023-05-08", 1.0),
            ("上周五我们决定了什么？", "2023-05-26", 1.0),
            ("我昨天见了谁？", "2023-05-29", 1.0),
            ("2週間前に何を買いましたか？", "2023-05-14T12:00:00Z", 4.0),
            ("先週の金曜日に何を決めましたか？", "2023-05-26", 1.0),
            ("二月に何がありましたか？", "2023-02-01", 28.0),
            ("2주 전에 무엇을 샀나요?", "2023-05-14T12:00:00Z", 4.0),
            ("지난 금요일에 무엇을 결정했나요?", "2023-05-26", 1.0),
            ("2023년 5월 8일에 무슨 일이 있었나요?", "2023-05-08", 1.0),
        ] {
            if !is_right(text, &[(day, length)]) {
                wrong.push((text, found(text)));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        check("wie heißt der hund von meiner schwester?", &[]);
        check("wie viele der 2000 häuser sind neu?", &[]);
        check("什么是数据库？", &[]);
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
