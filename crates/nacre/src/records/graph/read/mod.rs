//! Text to claims (G7): what a document says about something that has a name.
//!
//! Pure, linear in the text, and never wrong about where it read: any text gives a [`Reading`]. It is meant
//! to be right rather than complete, since what is missed is still found as a passage. `base::markdown`
//! walks the lines, `form` knows what one looks like and `keys` what it means, `document` what each is about; `sentence`
//! reads prose. All of it goes through the guard; what is refused is listed.

mod document;
mod form;
mod keys;
mod sentence;
mod words;

#[cfg(test)]
mod tests;

use super::guard::{self, From, Refusal};

pub(crate) use document::document;
pub(crate) use form::{ending_tag, key_and_value, leading_tag};

/// Changes whenever the same text would give other claims: documents read by another version are read anew.
pub(crate) const VERSION: &str = "2";

/// The importance of what says nothing about it.
const USUAL: f64 = 0.5;

/// One thing that a text says. Names, keys and values have passed the guard.
///
/// The user and the agent are the entities of category `user` and `self`; where a text does not name them,
/// they are called `user` and `self` here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Claim {
    Fact {
        entity: String,
        key: String,
        value: String,
        category: Option<&'static str>,
        importance: f64,
        permanent: bool,
    },
    Relation {
        subject: String,
        predicate: String,
        object: String,
    },
    Alias {
        alias: String,
        entity: String,
    },
}

/// A claim and the line it stands on, from 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) claim: Claim,
    pub(crate) line: usize,
}

/// What a document says, and what it says that is not let in, by line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    pub(crate) said: Vec<Said>,
    pub(crate) kept_out: Vec<(usize, Refusal)>,
}

/// A fact as it was read, before the guard.
fn fact(entity: &str, key: &str, value: &str) -> Claim {
    Claim::Fact {
        entity: entity.into(),
        key: key.into(),
        value: value.into(),
        category: None,
        importance: USUAL,
        permanent: false,
    }
}

fn relation(subject: &str, predicate: &str, object: &str) -> Claim {
    Claim::Relation { subject: subject.into(), predicate: predicate.into(), object: object.into() }
}

/// Puts a claim through the guard.
fn checked(claim: Claim, from: From) -> Result<Claim, Refusal> {
    // Who speaks or is spoken of may go by what is no name.
    let end = |name: &str, category: Option<&str>| {
        let category = match name {
            "user" | "self" => Some(name),
            _ => category,
        };
        guard::entity(name, category, from)
    };
    Ok(match claim {
        Claim::Fact { entity, key, value, category, importance, permanent } => Claim::Fact {
            entity: end(&entity, category)?,
            key: guard::key(&key, from)?,
            value: guard::value(&value, from)?,
            permanent: permanent || category.is_some_and(guard::born_permanent),
            category,
            importance,
        },
        Claim::Relation { subject, predicate, object } => {
            let predicate = guard::predicate(&predicate, from)?;
            let (of_subject, of_object) = guard::categories_by(&predicate);
            let (subject, object) = (end(&subject, of_subject)?, end(&object, of_object)?);
            if subject == object {
                return Err(Refusal { what: subject, reason: "is said to be related to itself".into() });
            }
            Claim::Relation { subject, predicate, object }
        }
        Claim::Alias { alias, entity } => {
            let (alias, entity) = (end(&alias, None)?, end(&entity, None)?);
            if alias == entity {
                return Err(Refusal { what: alias, reason: "is said to be another name of itself".into() });
            }
            Claim::Alias { alias, entity }
        }
    })
}
