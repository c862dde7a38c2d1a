//! Values that several commands take, and how they are read from the command line.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use nacre::project::{ItemType, Status};
use nacre::{BadId, EntryRef, EntryType, Source, Time, Visibility};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum RoleName {
    Admin,
    Project,
    Skill,
}

impl From<RoleName> for nacre::Role {
    fn from(name: RoleName) -> nacre::Role {
        match name {
            RoleName::Admin => nacre::Role::Admin,
            RoleName::Project => nacre::Role::Project,
            RoleName::Skill => nacre::Role::Skill,
        }
    }
}

/// Text that needs no quotes: all words of the command line that are no option.
#[derive(Debug, Args)]
pub struct Text {
    /// The text, with or without quotes; without it, or with `-`, standard input is read
    #[arg(value_name = "TEXT")]
    pub words: Vec<String>,
}

/// A noun with verbs below it. Without a verb, most nouns list what there is.
#[derive(Debug, Args)]
pub struct Family<T: Subcommand> {
    #[command(subcommand)]
    verb: Option<T>,
}

impl<T: Subcommand> Family<T> {
    /// Returns the verb, if one was given.
    pub fn given(&self) -> Option<&T> {
        self.verb.as_ref()
    }
}

impl<T: Subcommand + Default> Family<T> {
    pub fn verb(self) -> T {
        self.verb.unwrap_or_default()
    }
}

/// A memory, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryName {
    /// `2`, `id:2`, `[id:2]`, `#2` or a whole id.
    Known(EntryRef),
    /// The start of an id.
    Prefix(String),
}

/// The characters of a whole id: `mem-` and a UUID.
const ID_CHARS: usize = 40;

impl FromStr for EntryName {
    type Err = BadId;
    fn from_str(text: &str) -> Result<EntryName, BadId> {
        let inner = text.trim();
        let inner = inner.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(inner);
        let inner = inner.strip_prefix("id:").unwrap_or(inner).to_ascii_lowercase();
        let is_id = |c: char| c.is_ascii_hexdigit() || c == '-';
        match inner.strip_prefix("mem-") {
            Some(rest) if inner.len() < ID_CHARS && !rest.is_empty() && rest.chars().all(is_id) => {
                Ok(EntryName::Prefix(inner))
            }
            _ => inner.parse().map(EntryName::Known),
        }
    }
}

/// Any record, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordName {
    Memory(EntryName),
    Other(String),
}

impl FromStr for RecordName {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<RecordName, std::convert::Infallible> {
        Ok(text.parse().map_or_else(|_| RecordName::Other(text.to_owned()), RecordName::Memory))
    }
}

/// A memory or a file of the workspace, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Memory(EntryName),
    File(String),
}

impl FromStr for Target {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Target, BadId> {
        let path = text.split(':').next().unwrap_or(text);
        if path.to_ascii_lowercase().ends_with(".md") {
            return Ok(Target::File(text.to_owned()));
        }
        text.parse().map(Target::Memory)
    }
}

/// Reads how many are wanted.
pub fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a whole number is expected, such as 20".to_owned())
}

/// Reads the number of a change that waits for approval.
pub fn proposal_number(text: &str) -> Result<i64, String> {
    text.trim_start_matches('#').parse().map_err(|_| {
        "a change has a number, such as 1; `nacre pending` lists the changes that wait".to_owned()
    })
}

/// A time, as a person says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    At(Time),
    /// Milliseconds from now, negative for the past.
    FromNow(i64),
}

impl When {
    pub fn resolve(self, now: Time) -> Time {
        match self {
            When::At(time) => time,
            When::FromNow(millis) => Time::from_millis(now.as_millis().saturating_add(millis)),
        }
    }
}

impl FromStr for When {
    type Err = String;
    fn from_str(text: &str) -> Result<When, String> {
        const HOUR: i64 = 3_600_000;
        const DAY: i64 = 24 * HOUR;
        let word = text.trim().to_ascii_lowercase();
        let from_now = match word.as_str() {
            "now" | "today" => Some(0),
            "yesterday" => Some(-DAY),
            "tomorrow" => Some(DAY),
            word => ago(word).and_then(|(count, unit)| {
                let millis = match unit {
                    "h" | "hour" | "hours" => HOUR,
                    "d" | "day" | "days" => DAY,
                    "w" | "week" | "weeks" => 7 * DAY,
                    _ => return None,
                };
                count.checked_mul(millis)?.checked_neg()
            }),
        };
        from_now.map(When::FromNow).or_else(|| Time::parse(text).map(When::At)).ok_or_else(|| {
            "a time is `yesterday`, `3d` (3 days ago), `12h`, `2w`, `2026-03-01` or `2026-03-01T14:30:00Z`".into()
        })
    }
}

/// Reads `3d`, `3 days` and `3 days ago`.
fn ago(word: &str) -> Option<(i64, &str)> {
    let word = word.strip_suffix("ago").unwrap_or(word).trim();
    let digits = word.find(|c: char| !c.is_ascii_digit())?;
    Some((word[..digits].parse().ok()?, word[digits..].trim()))
}

pub fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).ok_or_else(|| format!("`{text}` is not an ISO 8601 time such as 2026-02-18T14:30:00Z"))
}

pub fn visibility() -> impl TypedValueParser<Value = Visibility> {
    PossibleValuesParser::new(["private", "shared"]).map(|word| match word.as_str() {
        "private" => Visibility::Private,
        _ => Visibility::Shared,
    })
}

pub fn entry_type() -> impl TypedValueParser<Value = EntryType> {
    let words = EntryType::ALL.iter().map(|r#type| r#type.as_str());
    PossibleValuesParser::new(words).map(|word| word.parse().expect("one of the words just given"))
}

pub fn source() -> impl TypedValueParser<Value = Source> {
    let words = Source::ALL.iter().map(|source| source.as_str());
    PossibleValuesParser::new(words).map(|word| word.parse().expect("one of the words just given"))
}

pub fn item_type() -> impl TypedValueParser<Value = ItemType> {
    one_of(ItemType::ALL, ItemType::as_str)
}

pub fn task_status() -> impl TypedValueParser<Value = Status> {
    one_of(Status::ALL, Status::as_str)
}

/// Reads one of these by its name.
fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let find = move |word: String| all.iter().copied().find(|one| name(*one) == word);
    PossibleValuesParser::new(all.iter().map(move |one| name(*one)))
        .map(move |word| find(word).expect("one of the words just given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_named_as_listings_and_people_write_it() {
        for text in ["2", "#2", "id:2", "[id:2]", " [id:2] "] {
            assert_eq!(text.parse().ok(), Some(EntryName::Known(EntryRef::Number(2))), "{text}");
        }
        assert_eq!("mem-01A".parse().ok(), Some(EntryName::Prefix("mem-01a".into())));
        assert_eq!("[id:mem-01a1e3d7-9]".parse().ok(), Some(EntryName::Prefix("mem-01a1e3d7-9".into())));
        let whole = "mem-01a1e3d7-9ccd-7837-878a-8122ca5ffbb6";
        assert!(matches!(whole.parse(), Ok(EntryName::Known(EntryRef::Id(_)))));
        for text in ["", "mem-", "mem-xyz", "heron", "-1", "id:", "2 3"] {
            assert!(text.parse::<EntryName>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_is_said_as_people_say_it() {
        let now = Time::parse("2026-02-18T14:30:00Z").unwrap();
        for (text, expected) in [
            ("now", "2026-02-18T14:30:00Z"),
            ("Yesterday", "2026-02-17T14:30:00Z"),
            ("tomorrow", "2026-02-19T14:30:00Z"),
            ("3d", "2026-02-15T14:30:00Z"),
            ("3 days ago", "2026-02-15T14:30:00Z"),
            ("12h", "2026-02-18T02:30:00Z"),
            ("2w", "2026-02-04T14:30:00Z"),
            ("2026-03-01", "2026-03-01T00:00:00Z"),
        ] {
            assert_eq!(text.parse::<When>().unwrap().resolve(now), Time::parse(expected).unwrap(), "{text}");
        }
        for text in ["", "d", "3", "3x", "soon", "99999999999999999d", "2026-02-30"] {
            assert!(text.parse::<When>().is_err(), "{text}");
        }
    }
}
