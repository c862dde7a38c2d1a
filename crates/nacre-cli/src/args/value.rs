//! Values that several commands take, and how they are read from the command line.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use nacre::project::{ItemType, Status};
use nacre::{EntryType, Time, Visibility};

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
