//! Imports a seed file for the graph that a person wrote, as TOML or JSON. Importing it twice has no further
//! effect.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fact::{self, Draft};
use super::{Origin, Source, name, relation};
use crate::base::caller::Visibility;
use crate::base::ids::SessionId;
use crate::base::origin::RecordOrigin;
use crate::base::{Error, Result, Time};
use crate::index::{Lexicon, Writer};
use crate::store::Connection;

/// The content of a seed file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seed {
    /// Categories in addition to the built-in ones.
    #[serde(default)]
    categories: Vec<String>,
    /// Keys whose values do not replace each other.
    #[serde(default)]
    multi: Vec<String>,
    #[serde(default)]
    fact: Vec<SeedFact>,
    #[serde(default)]
    relation: Vec<SeedRelation>,
    #[serde(default)]
    alias: Vec<SeedAlias>,
    #[serde(default)]
    distinct: Vec<SeedPair>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedFact {
    entity: String,
    key: String,
    value: String,
    category: Option<String>,
    importance: Option<f64>,
    permanent: Option<bool>,
    since: Option<Time>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedRelation {
    subject: String,
    predicate: String,
    object: String,
    since: Option<Time>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedAlias {
    alias: String,
    entity: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedPair {
    a: String,
    b: String,
}

/// The result of importing a seed file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SeedReport {
    /// Facts, relations and aliases that are new.
    pub added: usize,
    /// Those that existed already.
    pub known: usize,
    /// Statements that were rejected, and why.
    pub kept_out: Vec<String>,
}

/// Parses a seed file.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Seed> {
    let bad = |problem: String| Error::BadSeed { path: path.to_owned(), problem };
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text).map_err(|problem| bad(problem.to_string())),
        false => toml::from_str(text).map_err(|problem| bad(problem.to_string().trim_end().to_owned())),
    }
}

/// Imports a seed file. A rejected statement is reported and does not stop the rest.
pub(crate) fn import(db: &Connection, now: Time, session: &SessionId, seed: &Seed) -> Result<SeedReport> {
    let mut seeded = SeedReport::default();
    let origin = |since: Option<Time>| Origin {
        now,
        since: since.unwrap_or(now),
        source: Source::Person,
        origin: RecordOrigin::Person,
        session: Some(session),
        private: None,
        private_by_default: false,
        visibility: Visibility::Private,
    };
    for category in &seed.categories {
        fact::add_category(db, category)?;
    }
    for key in &seed.multi {
        fact::set_multi(db, now, key, true)?;
    }
    let mut lexicon = Lexicon::default();
    let mut writer = Writer::new(db, &mut lexicon)?;
    for given in &seed.fact {
        let draft = Draft {
            entity: &given.entity,
            key: &given.key,
            value: &given.value,
            category: given.category.as_deref(),
            importance: given.importance,
            permanent: given.permanent,
        };
        let set = fact::set_with(db, &mut writer, &origin(given.since), &draft).map(|set| set.known);
        seeded.count(set, || format!("{}.{}", given.entity, given.key))?;
    }
    for SeedRelation { subject, predicate, object, since } in &seed.relation {
        let ends = [subject.as_str(), predicate, object];
        let added = relation::add_with(db, &mut writer, &origin(*since), ends).map(|added| added.known);
        seeded.count(added, || format!("{subject} {predicate} {object}"))?;
    }
    writer.finish()?;
    for SeedAlias { alias, entity } in &seed.alias {
        let added = name::add_alias(db, &origin(None), alias, entity).map(|(_, row)| row.is_none());
        seeded.count(added, || format!("{alias} = {entity}"))?;
    }
    for SeedPair { a, b } in &seed.distinct {
        let apart = name::mark_distinct(db, a, b).map(|_| true);
        seeded.count(apart, || format!("{a} / {b}"))?;
    }
    Ok(seeded)
}

impl SeedReport {
    fn count(&mut self, known: Result<bool>, what: impl FnOnce() -> String) -> Result<()> {
        match known {
            Ok(true) => self.known += 1,
            Ok(false) => self.added += 1,
            Err(
                error @ (Error::SkippedStatement { .. }
                | Error::NameTaken { .. }
                | Error::NoEntity { .. }
                | Error::SelfAlias { .. }),
            ) => self.kept_out.push(format!("{}: {error}", what())),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
