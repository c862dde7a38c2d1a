//! Time: UTC milliseconds inside, ISO 8601 outside.
//!
//! The binary reads the clock and passes the time in, so that a test never waits.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::base::schema::inline_schema;
use crate::base::sql::column;

const DAY_MS: i64 = 86_400_000;

/// A moment in UTC, to the millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(i64);

impl Time {
    /// The time of a statement that has none, such as a line of a document without a date. It is older than
    /// every other time.
    pub const UNDATED: Time = Time(0);

    /// Tells whether it is no real time.
    pub fn is_undated(&self) -> bool {
        *self == Time::UNDATED
    }

    /// Returns the moment `millis` after 1970-01-01T00:00:00Z, clamped to the years that ISO 8601 can
    /// express.
    pub fn from_millis(millis: i64) -> Time {
        // One second inside the limits, because milliseconds at the limits do not round-trip.
        Time(millis.clamp(Timestamp::MIN.as_millisecond() + 1_000, Timestamp::MAX.as_millisecond() - 1_000))
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads an ISO 8601 moment, or a date alone (its midnight in UTC).
    pub fn parse(text: &str) -> Option<Time> {
        let text = text.trim();
        // Without an offset it is read as UTC.
        let forms = [text.to_owned(), format!("{text}Z"), format!("{text}T00:00:00Z")];
        let moment = forms.iter().find_map(|form| form.parse::<Timestamp>().ok());
        moment.map(|moment| Time(moment.as_millisecond()))
    }

    /// Returns the date in a file name, as in `2026-02-18` and `2026-02-18-notes`.
    pub(crate) fn in_name(name: &str) -> Option<Time> {
        Time::day_in_name(name).map(|(_, time)| time)
    }

    /// Returns the date in a file name, also as it is written there.
    pub(crate) fn day_in_name(name: &str) -> Option<(&str, Time)> {
        let is_digit = |at: Option<&u8>| at.is_some_and(u8::is_ascii_digit);
        let bytes = name.as_bytes();
        (0..bytes.len().saturating_sub(9)).find_map(|at| {
            let day = name.get(at..at + 10)?;
            let shape = day.bytes().enumerate().all(|(n, byte)| match n {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
            let alone =
                !is_digit(at.checked_sub(1).and_then(|at| bytes.get(at))) && !is_digit(bytes.get(at + 10));
            if shape && alone { Some((day, Time::parse(day)?)) } else { None }
        })
    }

    /// Returns its date the way people write it: `18 February 2026`.
    pub(crate) fn day_in_words(self) -> String {
        let moment = Timestamp::from_millisecond(self.0).map(|moment| moment.to_zoned(TimeZone::UTC));
        moment.map(|moment| moment.strftime("%-d %B %Y").to_string()).unwrap_or_default()
    }

    /// Returns this moment shifted by `days`, which may be negative.
    pub fn plus_days(self, days: i64) -> Time {
        Time::from_millis(self.0.saturating_add(days.saturating_mul(DAY_MS)))
    }

    /// Returns the days from `earlier` to this moment, never negative, even if the clock was set back.
    pub fn days_since(self, earlier: Time) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a day is far coarser than the loss")]
        let days = self.0.saturating_sub(earlier.0).max(0) as f64 / DAY_MS as f64;
        days
    }

    /// Returns the whole days from `earlier` to this moment.
    pub fn whole_days_since(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0).max(0) / DAY_MS
    }
}

/// A person's time zone. The binary reads it, like the clock.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// Reads a compiled time zone file (TZif).
    pub fn compiled(bytes: &[u8]) -> Option<Zone> {
        TimeZone::tzif("local", bytes).ok().map(Zone)
    }

    /// Reads a POSIX time zone rule, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
    pub fn rule(text: &str) -> Option<Zone> {
        TimeZone::posix(text).ok().map(Zone)
    }

    /// Returns the local date at a moment.
    pub fn day(&self, at: Time) -> Day {
        let moment = Timestamp::from_millisecond(at.0).expect("kept in range by from_millis");
        Day(self.0.to_datetime(moment).date())
    }

    /// Returns the local date and time at a moment.
    pub fn clock(&self, at: Time) -> String {
        let moment = Timestamp::from_millisecond(at.0).expect("kept in range by from_millis");
        self.0.to_datetime(moment).strftime("%Y-%m-%d %H:%M").to_string()
    }

    pub(crate) fn rules(&self) -> &TimeZone {
        &self.0
    }
}

/// The day it is for a caller: dates are shown relative to it.
#[derive(Clone, Debug)]
pub struct Calendar {
    zone: Zone,
    today: Day,
}

impl Calendar {
    /// Returns the calendar of a caller at a moment.
    pub fn new(zone: &Zone, now: Time) -> Calendar {
        Calendar { zone: zone.clone(), today: zone.day(now) }
    }

    /// Returns the date of a moment as people write it: `today`, `yesterday`, `16 Nov`, or `16 Nov 2025` in another year.
    pub fn date(&self, at: Time) -> String {
        if at.is_undated() {
            return "undated".to_owned();
        }
        let day = self.zone.day(at);
        match self.today.days_since(day) {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            _ if day.0.year() == self.today.0.year() => day.0.strftime("%-d %b").to_string(),
            _ => day.0.strftime("%-d %b %Y").to_string(),
        }
    }
}

impl Default for Zone {
    /// UTC.
    fn default() -> Zone {
        Zone(TimeZone::UTC)
    }
}

/// A calendar date, without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(Date);

impl Day {
    /// Reads `2026-02-18`.
    pub fn parse(text: &str) -> Option<Day> {
        let shape = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        text.parse().ok().filter(|_| shape).map(Day)
    }

    /// Returns the days from `earlier` to this one; negative if `earlier` is the later one.
    pub fn days_since(self, earlier: Day) -> i64 {
        i64::from((self.0 - earlier.0).get_days())
    }

    /// Returns the day before.
    pub fn before(self) -> Day {
        Day(self.0.yesterday().unwrap_or(self.0))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = Timestamp::from_millisecond(self.0).expect("kept in range by from_millis");
        write!(f, "{moment:.3}")
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        Time::parse(&text).ok_or_else(|| de::Error::custom(format!("`{text}` is not an ISO 8601 time")))
    }
}

inline_schema!(Time, { "type": "string" });

column!(Time, Time::from_millis);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_iso_8601() {
        for (text, shown) in [
            ("2026-02-18T14:30:00Z", "2026-02-18T14:30:00.000Z"),
            ("2026-02-18T15:30:00.25+01:00", "2026-02-18T14:30:00.250Z"),
            ("2026-02-18", "2026-02-18T00:00:00.000Z"),
        ] {
            assert_eq!(Time::parse(text).map(|time| time.to_string()).as_deref(), Some(shown), "{text}");
        }
        for text in ["", "yesterday", "2026-02-30", "2026-02-18T25:00:00Z"] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }

    #[test]
    fn extremes_are_shown_and_never_panic() {
        for millis in [i64::MIN, i64::MAX, 0] {
            assert!(Time::from_millis(millis).plus_days(i64::MAX).to_string().ends_with('Z'));
        }
    }

    #[test]
    fn days_begin_where_the_person_is() {
        for (zone, at, today, yesterday) in [
            ("UTC0", "2026-03-01T00:30:00Z", "2026-03-01", "2026-02-28"),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-02-28T23:30:00Z", "2026-03-01", "2026-02-28"),
            ("PST8PDT,M3.2.0,M11.1.0", "2026-03-01T07:59:00Z", "2026-02-28", "2026-02-27"),
            // The day on which the clock goes forward has 23 hours.
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T21:59:00Z", "2026-03-29", "2026-03-28"),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T22:00:00Z", "2026-03-30", "2026-03-29"),
        ] {
            let day = Zone::rule(zone).unwrap().day(Time::parse(at).unwrap());
            assert_eq!(
                (day.to_string().as_str(), day.before().to_string().as_str()),
                (today, yesterday),
                "{zone} {at}"
            );
        }
        for end in [i64::MIN, i64::MAX] {
            assert!(!Zone::default().day(Time::from_millis(end)).before().to_string().is_empty());
        }
        assert!(Zone::rule("nowhere").is_none() && Zone::compiled(b"TZif").is_none());
    }

    #[test]
    fn dates_are_relative_to_the_day_of_the_caller() {
        let berlin = Zone::rule("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let calendar = Calendar::new(&berlin, Time::parse("2026-11-16T12:00:00Z").unwrap());
        for (at, date) in [
            ("2026-11-16T00:30:00Z", "today"),
            ("2026-11-15T23:30:00Z", "today"),
            ("2026-11-15T22:30:00Z", "yesterday"),
            ("2026-11-17T09:00:00Z", "17 Nov"),
            ("2026-03-02T09:00:00Z", "2 Mar"),
            ("2025-11-16T09:00:00Z", "16 Nov 2025"),
        ] {
            assert_eq!(calendar.date(Time::parse(at).unwrap()), date, "{at}");
        }
        for end in [i64::MIN, i64::MAX] {
            assert!(!calendar.date(Time::from_millis(end)).is_empty());
        }
    }

    #[test]
    fn a_name_has_a_day_or_none() {
        for (name, day) in [
            ("2026-02-18", Some("2026-02-18")),
            ("notes-2026-02-18b", Some("2026-02-18")),
            ("x2026-02-182026-02-19", None),
            ("2026-02-30", None),
            ("é2026-02-1é", None),
            ("topics", None),
        ] {
            assert_eq!(Time::in_name(name), day.and_then(Time::parse), "{name}");
        }
    }
}
