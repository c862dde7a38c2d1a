//! Typed ids and checked names. A value of one of these types has been checked; a `&str` has not.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};
use uuid::{NoContext, Timestamp, Uuid};

use crate::base::Time;
use crate::base::redact::Redact;
use crate::base::schema::inline_schema;
use crate::base::sql::column;
use crate::base::text::shorten;

/// A text that is not a valid id of its kind.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum BadId {
    #[error("group name `{given}` is not 1 to 64 of letters, digits, `_` and `-`")]
    GroupName { given: String },
    #[error("collection name `{given}` is not 1 to 64 of letters, digits, `_` and `-`")]
    CollectionName { given: String },
    #[error("project name `{given}` is not 1 to 100 characters on one line")]
    ProjectName { given: String },
    #[error("`{given}` is not a task id such as `TASK-001`")]
    TaskId { given: String },
    #[error("session id `{given}` is not 1 to 128 visible characters without spaces")]
    Session { given: String },
    #[error("`{given}` is neither a memory id (`mem-…`) nor a memory number")]
    Entry { given: String },
}

/// Defines a string type for one kind of id, with the check that every value has passed.
macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $check:expr, $error:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<$name, BadId> {
                let check: fn(&str) -> bool = $check;
                if check(text) { Ok($name(text.to_owned())) } else { Err(BadId::$error { given: shorten(text) }) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }

        inline_schema!($name, { "type": "string" });

        impl Redact for $name {
            fn redact(&mut self) {
                self.0.redact();
            }
        }

        // Values in our own tables were checked when they were written.
        column!($name, $name);
    };
}

id_type! {
    /// The name of a group: 1 to 64 letters, digits, `_` or `-`, so that it is a safe folder name on every
    /// system.
    GroupName,
    is_safe_name,
    GroupName
}

id_type! {
    /// The name of a collection. It is a safe file name, like that of a group.
    CollectionName,
    is_safe_name,
    CollectionName
}

fn is_safe_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

id_type! {
    /// The id of one conversation: 1 to 128 visible characters.
    SessionId,
    |text| (1..=128).contains(&text.chars().count()) && !text.chars().any(|c| c.is_control() || c.is_whitespace()),
    Session
}

id_type! {
    /// The id of an entry: `mem-` and a UUID.
    EntryId,
    |text| text.strip_prefix("mem-").is_some_and(|uuid| uuid.len() == 36 && Uuid::try_parse(uuid).is_ok()),
    Entry
}

id_type! {
    /// The name of a project: 1 to 100 characters on one line.
    ProjectName,
    |text| (1..=100).contains(&text.chars().count()) && !text.chars().any(char::is_control) && text.trim() == text,
    ProjectName
}

/// The id of a task: `TASK-001`. Callers may omit the prefix and the zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub(crate) i64);

impl TaskId {
    /// The highest number that an imported task may have.
    const MAX_NUMBER: i64 = 999_999_999;
}

impl FromStr for TaskId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<TaskId, BadId> {
        let bare = text.trim();
        let is_word = bare.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("task-"));
        let digits = if is_word { &bare[5..] } else { bare };
        let number = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        // After the highest number that a column can hold, no further task could be added.
        let number = number.and_then(|digits| digits.parse().ok());
        let number = number.filter(|number| (1..=TaskId::MAX_NUMBER).contains(number));
        number.map(TaskId).ok_or_else(|| BadId::TaskId { given: shorten(text) })
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TASK-{:03}", self.0)
    }
}

impl Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TaskId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

inline_schema!(TaskId, { "type": "string" });

column!(TaskId, TaskId);

impl EntryId {
    /// Creates an id that sorts by `now` (UUIDv7).
    pub fn new(now: Time) -> EntryId {
        EntryId(format!("mem-{}", uuid_v7(now)))
    }
}

impl SessionId {
    /// Creates an id for a process that was given none.
    pub fn new(now: Time) -> SessionId {
        SessionId(format!("ses-{}", uuid_v7(now)))
    }
}

fn uuid_v7(now: Time) -> Uuid {
    let millis = u64::try_from(now.as_millis()).unwrap_or(0);
    let nanos = u32::try_from(millis % 1000).expect("below 1000") * 1_000_000;
    Uuid::new_v7(Timestamp::from_unix(NoContext, millis / 1000, nanos))
}

/// A reference to an entry: its id, its number, or `[id:N]` and `id:N` as listings show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryRef {
    /// The full id.
    Id(EntryId),
    /// The short number.
    Number(i64),
}

impl FromStr for EntryRef {
    type Err = BadId;
    fn from_str(text: &str) -> Result<EntryRef, BadId> {
        let text = text.trim();
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        let inner = inner.strip_prefix("id:").unwrap_or(inner);
        let number = inner.strip_prefix('#').unwrap_or(inner);
        if !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(number) = number.parse()
        {
            return Ok(EntryRef::Number(number));
        }
        inner.to_ascii_lowercase().parse().map(EntryRef::Id)
    }
}

impl fmt::Display for EntryRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntryRef::Id(id) => id.fmt(f),
            EntryRef::Number(number) => number.fmt(f),
        }
    }
}

impl Serialize for EntryRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EntryRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EntryRef, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum RawRef {
            Number(i64),
            Text(String),
        }
        match RawRef::deserialize(deserializer)? {
            RawRef::Number(number) => Ok(EntryRef::Number(number)),
            RawRef::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

inline_schema!(EntryRef, { "type": ["string", "integer"] });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_names_are_safe_as_folders() {
        for good in ["main", "A-1_b", &"x".repeat(64)] {
            assert!(good.parse::<GroupName>().is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "../x", "a/b", "a b", "é", "a\0", &"x".repeat(65)] {
            assert!(bad.parse::<GroupName>().is_err(), "{bad}");
            assert!(bad.parse::<CollectionName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_entry_is_named_by_id_or_number() {
        let id = EntryId::new(Time::from_millis(1_700_000_000_000));
        for (given, meant) in [
            (id.to_string(), EntryRef::Id(id.clone())),
            (id.to_string().to_uppercase(), EntryRef::Id(id.clone())),
            ("7".into(), EntryRef::Number(7)),
            ("#7".into(), EntryRef::Number(7)),
            (" [id:7] ".into(), EntryRef::Number(7)),
            ("id:7".into(), EntryRef::Number(7)),
        ] {
            assert_eq!(given.parse::<EntryRef>().unwrap(), meant, "{given}");
        }
        for bad in ["", "-7", "seven", "mem-1", "mem-", "[id:]", "99999999999999999999"] {
            assert!(bad.parse::<EntryRef>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_task_is_named_by_id_or_number() {
        for given in ["TASK-007", "task-7", " 7 ", "TASK-0000007"] {
            assert_eq!(given.parse::<TaskId>().unwrap().to_string(), "TASK-007", "{given}");
        }
        assert_eq!("TASK-1234".parse::<TaskId>().unwrap().to_string(), "TASK-1234");
        for bad in ["", "TASK-", "TASK-0", "TASK--1", "-1", "T-1", "TASK-1x", "ÄÄÄ-1", "99999999999999999999"]
        {
            assert!(bad.parse::<TaskId>().is_err(), "{bad}");
        }
        for bad in ["", " x", "a\nb", "a\tb", &"x".repeat(101)] {
            assert!(bad.parse::<ProjectName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn ids_made_later_sort_later() {
        let earlier = EntryId::new(Time::from_millis(1_700_000_000_000));
        let later = EntryId::new(Time::from_millis(1_700_000_000_001));
        assert!(earlier < later);
    }
}
