//! Extracts claims from text: statements of a document about something that has a name.
//!
//! It is pure, linear in the text, and always reports correct lines: any text gives a [`Reading`]. It prefers
//! precision over recall, because missed statements are still found as passages. `base::markdown` walks the
//! lines, `form` parses a single line, `keys` knows the meaning of keys, `document` determines the subject,
//! and `sentence` reads prose. Every claim passes the guard; refused ones are listed.

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

/// Changes whenever the same text would give other claims: documents read by another version are read again.
pub(crate) const VERSION: &str = "2";

/// The importance of a statement without a tag.
const DEFAULT_IMPORTANCE: f64 = 0.5;

/// One statement of a text. Names, keys and values have passed the guard.
///
/// The user and the agent are the entities of category `user` and `self`; if a text does not name them, they
/// are called `user` and `self` here.
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

/// A claim and its line, from 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClaimLine {
    pub(crate) claim: Claim,
    pub(crate) line: usize,
}

/// The claims of a document, and the refused ones, by line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    pub(crate) said: Vec<ClaimLine>,
    pub(crate) kept_out: Vec<(usize, Refusal)>,
}

/// A fact as it was read, before the guard.
fn fact(entity: &str, key: &str, value: &str) -> Claim {
    Claim::Fact {
        entity: entity.into(),
        key: key.into(),
        value: value.into(),
        category: None,
        importance: DEFAULT_IMPORTANCE,
        permanent: false,
    }
}

fn relation(subject: &str, predicate: &str, object: &str) -> Claim {
    Claim::Relation { subject: subject.into(), predicate: predicate.into(), object: object.into() }
}

/// Passes a claim through the guard.
fn checked(claim: Claim, from: From) -> Result<Claim, Refusal> {
    // The user and the agent may go by words that are not names.
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
            permanent: permanent || category.is_some_and(guard::is_permanent),
            category,
            importance,
        },
        Claim::Relation { subject, predicate, object } => {
            let predicate = guard::predicate(&predicate, from)?;
            let (of_subject, of_object) = guard::categories_by(&predicate);
            let (subject, object) = (end(&subject, of_subject)?, end(&object, of_object)?);
            if subject == object {
                return Err(Refusal { what: subject, reason: "is related to itself".into() });
            }
            Claim::Relation { subject, predicate, object }
        }
        Claim::Alias { alias, entity } => {
            let (alias, entity) = (end(&alias, None)?, end(&entity, None)?);
            if alias == entity {
                return Err(Refusal { what: alias, reason: "is an alias of itself".into() });
            }
            Claim::Alias { alias, entity }
        }
    })
}
