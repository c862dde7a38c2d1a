//! The times that a question in another language than English names.
//!
//! The words of all languages are one table (`words/dates.txt`), and the rules do not depend on their order more than the languages
//! do: "vor zwei Wochen", "due settimane fa", "il y a deux semaines", "два дня назад", "3日前".

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{DateUnit, Days, Now, day_in_years, whole_day, whole_month, whole_year};
use crate::base::words::{self, List, Table};
use crate::index::analyse::fold_marks;

static MONTHS: Table = words::DATES_OTHER.table("months");
static WEEKDAYS: Table = words::DATES_OTHER.table("weekdays");
static NUMBERS: Table = words::DATES_OTHER.table("numbers");
static UNITS: Table = words::DATES_OTHER.table("units");
static AGO: Table = words::DATES_OTHER.table("ago");
static LAST: Table = words::DATES_OTHER.table("last");
static NEAR: Table = words::DATES_OTHER.table("near");
static MONTH_SIGN: List = words::DATES_OTHER.list("month sign");
static DAY_SIGN: List = words::DATES_OTHER.list("day sign");
static BETWEEN: List = words::DATES_OTHER.list("between");
static BEFORE_YEAR: List = words::DATES_OTHER.list("before a year");

/// The meanings of a word in a date. A word may have several: "일" is one, a day, and the sign after the number of a day.
#[derive(Clone, Copy, Default)]
struct Meaning {
    number: Option<u16>,
    month: Option<i8>,
    weekday: Option<i8>,
    unit: Option<DateUnit>,
    /// A day or a period with a name of its own.
    near: Option<&'static str>,
    is_ago: bool,
    is_last: bool,
    is_this: bool,
    is_month_sign: bool,
    is_day_sign: bool,
    is_between: bool,
    is_before_year: bool,
}

/// Returns the times named in a lower-case question.
pub(super) fn named(lower: &str, now: Option<Now>, years: &[i16]) -> Vec<Days> {
    let words = read(&fold_marks(lower));
    let (mut found, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let rest = Words(&words[at..]);
        let relative = now.and_then(|now| rest.relative(now));
        let (days, taken) = match relative {
            Some((days, taken)) => (vec![days], taken),
            None => rest.absolute(years).unwrap_or((Vec::new(), 1)),
        };
        found.extend(days);
        at += taken;
    }
    found
}

/// The words of a question from some place on.
struct Words<'w>(&'w [Meaning]);

impl Words<'_> {
    fn at(&self, place: usize) -> Meaning {
        self.0.get(place).copied().unwrap_or_default()
    }

    /// Returns the date that the words begin with, and the number of its words. A date without a year may be in any of `years`.
    fn absolute(&self, years: &[i16]) -> Option<(Vec<Days>, usize)> {
        let one = |days: Option<Days>, taken: usize| Some((days.into_iter().collect(), taken));
        // The year first: `2023年5月8日`, `2023-05-08`.
        if let Some(year) = self.year(0) {
            let next = 1 + usize::from(self.at(1).unit == Some(DateUnit::Year));
            if let Some((month, after)) = self.month(next) {
                return match self.day(after) {
                    Some((day, end)) => one(whole_day(year, month, day), end),
                    None => one(whole_month(year, month), after),
                };
            }
            if let (Some(month), Some((day, end))) = (self.at(1).number, self.day(2)) {
                return one(whole_day(year, i8::try_from(month).ok()?, day), end);
            }
            return (next == 2).then(|| one(whole_year(year), 2)).flatten();
        }
        if (self.at(0).is_before_year || self.at(0).unit == Some(DateUnit::Year))
            && let Some(year) = self.year(1)
            && self.month(2).is_none()
        {
            return one(whole_year(year), 2);
        }
        // The month, with a day after it or before it.
        if let Some((month, after)) = self.month(0) {
            return Some(match (self.day(after), self.year(after)) {
                (Some((day, end)), _) => match self.year(end) {
                    Some(year) => (whole_day(year, month, day).into_iter().collect(), end + 1),
                    None => (day_in_years(years, month, day), end),
                },
                (None, Some(year)) => (whole_month(year, month).into_iter().collect(), after + 1),
                (None, None) => (years.iter().filter_map(|year| whole_month(*year, month)).collect(), after),
            });
        }
        let (day, after) = self.day(0)?;
        if let Some((month, end)) = self.month(after) {
            return match self.year(end) {
                Some(year) => one(whole_day(year, month, day), end + 1),
                None => Some((day_in_years(years, month, day), end)),
            };
        }
        // `8.5.2023`
        let (month, year) = (i8::try_from(self.at(1).number?).ok()?, self.year(2)?);
        one(whole_day(year, month, day), 3)
    }

    /// Returns the time relative to now that the words begin with, and the number of its words.
    fn relative(&self, now: Now) -> Option<(Days, usize)> {
        let [first, second, third] = [0, 1, 2].map(|place| self.at(place));
        match first.near {
            Some("year") => return Some((now.last(DateUnit::Year), 1)),
            Some("now") => return Some((now.this(DateUnit::Year), 1)),
            Some("lastmonth") => return Some((now.last(DateUnit::Month), 1)),
            Some(days) => return Some((now.near(days.parse().ok()?), 1)),
            None => {}
        }
        let count = |word: Meaning| word.number.map(f64::from);
        match (count(first), second.unit, third.is_ago, third.is_last) {
            (Some(count), Some(unit), true, _) => return Some((now.ago(count, unit), 3)),
            (Some(count), Some(unit), _, true) => return Some((now.past(count, unit), 3)),
            _ => {}
        }
        match (count(second), third.unit, first.is_ago, first.is_last) {
            (Some(count), Some(unit), true, _) => return Some((now.ago(count, unit), 3)),
            (Some(count), Some(unit), _, true) => return Some((now.past(count, unit), 3)),
            _ => {}
        }
        if let (Some(count), true, Some(unit)) = (count(first), second.is_last, third.unit) {
            return Some((now.past(count, unit), 3));
        }
        // `先週の金曜日`, `el viernes de la semana pasada`
        let is_week = |word: Meaning| word.unit == Some(DateUnit::Week);
        match (
            first.is_last && is_week(second),
            third.weekday,
            is_week(second) && third.is_last,
            first.weekday,
        ) {
            (true, Some(weekday), ..) | (_, _, true, Some(weekday)) => {
                return Some((now.last_weekday(weekday), 3));
            }
            _ => {}
        }
        let unit = |word: Meaning| word.unit.or(word.is_month_sign.then_some(DateUnit::Month));
        match (first, second) {
            _ if first.is_last && second.weekday.is_some() => Some((now.last_weekday(second.weekday?), 2)),
            _ if second.is_last && first.weekday.is_some() => Some((now.last_weekday(first.weekday?), 2)),
            _ if first.is_last && unit(second).is_some() => Some((now.last(unit(second)?), 2)),
            _ if second.is_last && first.unit.is_some() => Some((now.last(first.unit?), 2)),
            _ if first.is_this && unit(second).is_some() => Some((now.this(unit(second)?), 2)),
            _ => None,
        }
    }

    /// Returns the month at a place, and the place after it.
    fn month(&self, place: usize) -> Option<(i8, usize)> {
        let word = self.at(place);
        if self.at(place + 1).is_month_sign && !self.at(place + 2).is_ago {
            return Some((
                i8::try_from(word.number?).ok().filter(|month| (1..=12).contains(month))?,
                place + 2,
            ));
        }
        Some((word.month?, place + 1))
    }

    /// Returns the day of a month at a place, and the place after it.
    fn day(&self, place: usize) -> Option<(i8, usize)> {
        let day = i8::try_from(self.at(place).number?).ok().filter(|day| (1..=31).contains(day))?;
        let sign = usize::from(self.at(place + 1).is_day_sign);
        Some((day, place + 1 + sign))
    }

    fn year(&self, place: usize) -> Option<i16> {
        let number = self.at(place).number?;
        i16::try_from(number).ok().filter(|year| (1900..2200).contains(year))
    }
}

/// Returns the meanings of the words of a text in order, without those between the parts of a date.
fn read(text: &str) -> Vec<Meaning> {
    let (mut found, mut rest, mut before) = (Vec::new(), text, ' ');
    while let Some(first) = rest.chars().next() {
        let starts = !before.is_alphanumeric()
            || is_spaceless(before)
            || before.is_ascii_digit() && is_spaceless(first);
        let (length, meaning) = match first {
            _ if !first.is_alphanumeric() => (first.len_utf8(), None),
            _ if !starts => (first.len_utf8(), None),
            '0'..='9' => {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let is_word = rest[digits..].starts_with(|c: char| c.is_alphabetic() && !is_spaceless(c));
                let number = rest[..digits].parse().ok().filter(|_| !is_word && digits <= 4);
                (digits, Some(Meaning { number, ..Meaning::default() }))
            }
            _ => match longest(rest) {
                Some((length, meaning)) => (length, Some(meaning)),
                None => (first.len_utf8(), Some(Meaning::default())),
            },
        };
        found.extend(meaning.filter(|meaning| !meaning.is_between));
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    found
}

/// Returns the longest known word that a text begins with.
fn longest(text: &str) -> Option<(usize, Meaning)> {
    const MAX_CHARS: usize = 16;
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(MAX_CHARS);
    let whole = |end: &usize| {
        text[..*end].ends_with(is_spaceless) || !text[*end..].starts_with(char::is_alphanumeric)
    };
    let known = ends.filter(whole).filter_map(|end| Some((end, *MEANINGS.get(&text[..end])?)));
    known.max_by_key(|(end, _)| *end)
}

static MEANINGS: LazyLock<HashMap<String, Meaning>> = LazyLock::new(|| {
    let mut all: HashMap<String, Meaning> = HashMap::new();
    let mut add = |words: &str, set: &dyn Fn(&mut Meaning)| {
        for word in words.split(',').map(str::trim) {
            set(all.entry(fold_marks(word)).or_default());
        }
    };
    for (key, words) in NUMBERS.iter() {
        add(words, &|word| word.number = key.parse().ok());
    }
    for (key, words) in MONTHS.iter() {
        add(words, &|word| word.month = key.parse().ok());
    }
    for (key, words) in WEEKDAYS.iter() {
        add(words, &|word| word.weekday = key.parse().ok());
    }
    for (key, words) in UNITS.iter() {
        add(words, &|word| word.unit = DateUnit::named(key));
    }
    for (key, words) in NEAR.iter() {
        add(words, &|word| word.near = Some(*key));
    }
    for (_, words) in AGO.iter() {
        add(words, &|word| word.is_ago = true);
    }
    for (key, words) in LAST.iter() {
        add(words, &|word| if *key == "last" { word.is_last = true } else { word.is_this = true });
    }
    for word in MONTH_SIGN.iter() {
        add(word, &|word| word.is_month_sign = true);
    }
    for word in DAY_SIGN.iter() {
        add(word, &|word| word.is_day_sign = true);
    }
    for word in BETWEEN.iter() {
        add(word, &|word| word.is_between = true);
    }
    for word in BEFORE_YEAR.iter() {
        add(word, &|word| word.is_before_year = true);
    }
    all
});

/// Tells whether a character belongs to a script in which words are not separated, or have endings that are not.
fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}
