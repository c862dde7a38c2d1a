//! Imports entries and graph statements within one transaction.

use std::collections::BTreeMap;

use super::step::{Step, claim_kind, is_current, kind_of, steps};
use super::{
    Caller, Counts, EntryState, FactUse, Format, ImportedRecord, Item, NewRow, Part, PastState, Row, hash,
    identity, named, said,
};
use crate::base::ids::{EntryId, EntryRef};
use crate::base::origin::RecordOrigin;
use crate::base::{Error, Result};
use crate::index::{self, Lexicon, Writer};
use crate::records::entry::{self, Edit, Entry, EntryType, Tags};
use crate::records::graph;
use crate::records::tombstone::Tombstones;
use crate::store::Connection;

/// The result of a batch.
#[derive(Default)]
pub(super) struct BatchResult {
    pub(super) kinds: BTreeMap<&'static str, Counts>,
    pub(super) skipped: Vec<(String, String)>,
    pub(super) notes: Vec<(String, String)>,
    /// The ids of the entries and facts that are new or changed.
    pub(super) statements: Vec<String>,
}

impl BatchResult {
    fn count(&mut self, kind: &'static str) -> &mut Counts {
        self.kinds.entry(kind).or_default()
    }

    fn count_entry(&mut self, entry: &EntryId, is_new: bool) {
        let counts = self.count(entry::KIND);
        if is_new {
            counts.added += 1;
            self.statements.push(entry.to_string());
        } else {
            counts.present += 1;
        }
    }
}

/// Imports records within one transaction.
pub(super) struct Importer<'a> {
    pub(super) tx: &'a Connection,
    pub(super) caller: &'a Caller,
    pub(super) format: &'static Format,
    pub(super) group: &'a str,
    pub(super) origin: RecordOrigin,
    pub(super) deleted: Tombstones,
}

impl Importer<'_> {
    pub(super) fn take(&self, lexicon: &mut Lexicon, parts: &[Part], done: &mut BatchResult) -> Result<()> {
        let (mut later, mut ended) = (Vec::new(), Vec::new());
        let mut writer = Writer::new(self.tx, lexicon)?;
        for part in parts {
            let (steps, gone) = steps(self.tx, self.format, part)?;
            for step in steps {
                let kind = step.item.thing.kind();
                match (&step.item.thing, &step.known) {
                    (ImportedRecord::Document { .. }, _) => {}
                    (thing, Some(row))
                        if thing.is_past() && row.hash == step.hash && is_current(self.tx, row)? =>
                    {
                        later.push((part, step));
                    }
                    (_, Some(row)) if row.hash == step.hash && row.key == step.key => {
                        done.count(kind_of(row)).present += 1;
                    }
                    (_, Some(row)) if row.hash.is_empty() => done.count(kind).kept += 1,
                    // Changes and aliases create index writers of their own.
                    (ImportedRecord::Alias { .. } | ImportedRecord::Together { .. }, _)
                    | (ImportedRecord::Entry { .. }, Some(_)) => {
                        later.push((part, step));
                    }
                    _ => self.add(&mut writer, part, &step, done)?,
                }
            }
            for row in gone.iter().filter(|row| row.own) {
                if let Some(kind) = claim_kind(&row.kind) {
                    done.count(kind).ended += 1;
                    ended.push(row.clone());
                }
            }
        }
        writer.finish()?;
        for (part, step) in later {
            match (&step.item.thing, &step.known) {
                (ImportedRecord::Alias { alias, entity }, _) => {
                    let added = graph::name::add_alias(self.tx, &self.origin(step.item), alias, entity);
                    let added = added.map(|(_, new)| (alias.clone(), new.is_some()));
                    self.claimed(part, &step, added, done)?;
                }
                (ImportedRecord::Together { facts, weight }, _) => {
                    self.join(part, &step, facts, *weight, done)?
                }
                (ImportedRecord::Entry { state, .. }, Some(row))
                    if row.hash == step.hash && state.past.is_some() =>
                {
                    self.retire(row, state)?;
                    done.count("entry").changed += 1;
                }
                (ImportedRecord::Entry { .. }, Some(row)) => self.change(part, &step, row, done)?,
                _ => {}
            }
        }
        ended.iter().try_for_each(|row| self.end(row))
    }

    fn add(
        &self,
        writer: &mut Writer<'_>,
        part: &Part,
        step: &Step<'_>,
        done: &mut BatchResult,
    ) -> Result<()> {
        match &step.item.thing {
            ImportedRecord::Entry { .. } => {
                let (entry, new) = match self.store(writer, step.item) {
                    Err(error @ Error::DeletedBefore { .. }) => {
                        done.skipped.push((named(step.item), error.to_string()));
                        return Ok(());
                    }
                    stored => stored?,
                };
                done.count_entry(&entry, new);
                self.know(part, step, entry.as_str(), new)
            }
            ImportedRecord::Fact { entity, key, value, category, use_of } => {
                let FactUse { importance, permanent, .. } = *use_of;
                let draft =
                    graph::fact::Draft { entity, key, value, category: *category, importance, permanent };
                let set = graph::fact::set_with(self.tx, writer, &self.origin(step.item), &draft);
                if let Err(Error::SkippedStatement { .. }) = &set {
                    let words = match key.as_str() {
                        graph::OBSERVATIONS | graph::ENTITY_TYPE => format!("{entity}: {value}"),
                        key => format!("{entity}: {key} = {value}"),
                    };
                    return self.store_as_entry(writer, part, step, &words, done);
                }
                if let Ok(set) = set.as_ref().map_err(drop)
                    && !set.known
                {
                    let FactUse { activation, access_count, last_accessed, .. } = *use_of;
                    graph::activation::carry_over(
                        self.tx,
                        &set.fact.id,
                        activation,
                        access_count,
                        last_accessed,
                    )?;
                }
                self.claimed(part, step, set.map(|set| (set.fact.id, !set.known)), done)
            }
            ImportedRecord::Relation { subject, predicate, object } => {
                let ends = [subject.as_str(), predicate, object];
                let added = graph::relation::add_with(self.tx, writer, &self.origin(step.item), ends);
                self.claimed(part, step, added.map(|added| (added.relation.id, !added.known)), done)
            }
            ImportedRecord::Document { .. }
            | ImportedRecord::Alias { .. }
            | ImportedRecord::Together { .. } => Ok(()),
        }
    }

    /// Stores a statement that the graph rejects as an entry.
    fn store_as_entry(
        &self,
        writer: &mut Writer<'_>,
        part: &Part,
        step: &Step<'_>,
        words: &str,
        done: &mut BatchResult,
    ) -> Result<()> {
        let content = match entry::check_content(words) {
            Ok(content) => content,
            Err(error) => {
                done.skipped.push((named(step.item), error.to_string()));
                return Ok(());
            }
        };
        let item = Item {
            key: String::new(),
            origin: step.item.origin.clone(),
            at: step.item.at,
            private: step.item.private,
            thing: ImportedRecord::Entry {
                r#type: EntryType::Fact,
                content,
                tags: vec![self.format.name.to_owned()],
                state: EntryState::default(),
            },
        };
        let (entry, new) = self.store(writer, &item)?;
        done.count_entry(&entry, new);
        let known = NewRow { kind: "entry", ..self.row(part, step, entry.as_str(), new) };
        identity::put(self.tx, &known)
    }

    /// Stores an entry, or finds the one with the same content. Returns whether it is new.
    fn store(&self, writer: &mut Writer<'_>, item: &Item) -> Result<(EntryId, bool)> {
        let ImportedRecord::Entry { r#type, content, tags, state } = &item.thing else {
            unreachable!("asked before")
        };
        let (superseded_at, archived_at) = match state.past {
            Some(PastState::Superseded(at)) => (Some(at.min(self.caller.now)), None),
            Some(PastState::Archived(at)) => (None, Some(at.min(self.caller.now))),
            None => (None, None),
        };
        self.deleted.check(content)?;
        if let Some(same) = entry::same_content(self.tx, self.caller.visibility, (content, None), None)? {
            return Ok((same.id, false));
        }
        let now = self.caller.now;
        let entry = Entry {
            id: EntryId::new(now),
            number: 0,
            r#type: *r#type,
            content: content.clone(),
            tags: Tags::new(tags),
            behavioral: r#type.behavioral(),
            score: state.score,
            supersedes: None,
            superseded_by: None,
            superseded_at,
            archived_at,
            last_hit_at: state.confirmed_at.map(|at| at.min(now)),
            last_returned_at: None,
            origin: self.origin,
            private: item.private,
            data: None,
            stale: Vec::new(),
            provenance: entry::Provenance {
                session: self.caller.session.clone(),
                group: self.group.to_owned(),
                timestamp: item.at.unwrap_or(now),
                source: entry::Source::Migration,
                narrative_id: None,
                task_id: None,
                project: None,
            },
        };
        Ok((entry::insert_with(self.tx, writer, entry, None)?.id, true))
    }

    /// Updates an entry whose source has changed.
    fn change(&self, part: &Part, step: &Step<'_>, row: &Row, done: &mut BatchResult) -> Result<()> {
        let ImportedRecord::Entry { r#type, content, tags, .. } = &step.item.thing else { return Ok(()) };
        let named_by = row.reference.parse().map(EntryRef::Id);
        let current = named_by.as_ref().ok().and_then(|named| entry::get_current(self.tx, named).ok());
        let untouched = current
            .as_ref()
            .is_some_and(|entry| row.own && said(entry.r#type, &entry.content, entry.private) == row.hash);
        if row.key != step.key {
            identity::drop(self.tx, self.format.name, &row.key)?;
        }
        if !row.own || current.is_none() {
            // The import must not change an entry that existed before it, and a superseded entry is history.
            return index::write(self.tx, |writer| self.add(writer, part, step, done));
        }
        if !untouched {
            done.count("entry").kept += 1;
            done.notes.push((
                named(step.item),
                "was changed here and at its source; the version here is kept".into(),
            ));
            return self.know(part, step, &row.reference, true);
        }
        let group = self.group.parse()?;
        let origin = entry::Origin {
            now: self.caller.now,
            group: &group,
            session: &self.caller.session,
            source: entry::Source::Migration,
            origin: self.origin,
            visibility: self.caller.visibility,
            private: false,
            project: entry::Place::Unknown,
        };
        let edit = Edit {
            content: Some(content.clone()),
            tags: Some(Tags::new(tags)),
            r#type: Some(*r#type),
            private: Some(step.item.private),
            data: None,
        };
        let named_by = named_by.expect("it is current");
        match entry::update(self.tx, &origin, &named_by, edit) {
            Ok(entry) => {
                done.statements.push(entry.id.to_string());
                done.count("entry").changed += 1;
                self.know(part, step, &row.reference, true)
            }
            Err(Error::SameContent { other }) => {
                done.count("entry").present += 1;
                self.know(part, step, other.as_str(), false)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes an entry history that is no longer current at its source.
    fn retire(&self, row: &Row, state: &EntryState) -> Result<()> {
        let Ok(id) = row.reference.parse::<EntryId>() else { return Ok(()) };
        match state.past {
            Some(PastState::Superseded(at)) => {
                entry::supersede_without(self.tx, at.min(self.caller.now), &id)
            }
            Some(PastState::Archived(at)) => entry::archive(self.tx, at.min(self.caller.now), &id),
            None => Ok(()),
        }
    }

    /// Records that two facts were often recalled together at their source.
    fn join(
        &self,
        part: &Part,
        step: &Step<'_>,
        facts: &[String; 2],
        weight: f64,
        done: &mut BatchResult,
    ) -> Result<()> {
        let mut references = Vec::new();
        for key in facts {
            let key = hash(&[&part.hash, graph::fact::KIND, key]);
            references.extend(identity::reference(self.tx, self.format.name, &key)?);
        }
        // A fact that the graph rejected is an entry, which has no such link.
        let [one, other] = &references[..] else {
            done.skipped.push((named(step.item), "a link to a fact that is not in the graph".into()));
            return Ok(());
        };
        graph::activation::join(self.tx, one, other, weight, self.caller.now)?;
        let counts = done.count("link");
        if step.known.is_some() {
            counts.changed += 1
        } else {
            counts.added += 1
        }
        self.know(part, step, &format!("{one} {other}"), true)
    }

    /// Ends a statement that its source no longer makes.
    fn end(&self, row: &Row) -> Result<()> {
        match row.kind.as_str() {
            "fact" => graph::fact::end_by_id(self.tx, &row.reference, self.caller.now)?,
            "relation" => {
                let named = graph::relation::RelationRef::Id(&row.reference);
                match graph::relation::end(self.tx, self.caller.now, &named) {
                    Ok(_) | Err(Error::NoRelation { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            // It may have been removed here.
            _ => drop(graph::name::remove_alias(self.tx, &row.reference)),
        }
        identity::drop(self.tx, self.format.name, &row.key)
    }

    /// Counts a statement and stores its id.
    fn claimed(
        &self,
        part: &Part,
        step: &Step<'_>,
        claimed: Result<(String, bool)>,
        done: &mut BatchResult,
    ) -> Result<()> {
        match claimed {
            Ok((id, new)) => {
                if new && matches!(step.item.thing, ImportedRecord::Fact { .. }) {
                    done.statements.push(id.clone());
                }
                let counts = done.count(step.item.thing.kind());
                if new {
                    counts.added += 1
                } else {
                    counts.present += 1
                }
                self.know(part, step, &id, new)
            }
            Err(Error::SkippedStatement { what, reason }) => {
                done.skipped.push((what, reason));
                Ok(())
            }
            Err(
                error @ (Error::NameTaken { .. }
                | Error::NoEntity { .. }
                | Error::SelfAlias { .. }
                | Error::DeletedBefore { .. }),
            ) => {
                done.skipped.push((named(step.item), error.to_string()));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn origin(&self, item: &Item) -> graph::Origin<'_> {
        graph::Origin {
            now: self.caller.now,
            since: item.at.unwrap_or(self.caller.now),
            source: graph::Source::Import,
            origin: self.origin,
            session: Some(&self.caller.session),
            // A private fact stays private if the source does not mark it.
            private: item.private.then_some(true),
            private_by_default: false,
            visibility: self.caller.visibility,
        }
    }

    fn know(&self, part: &Part, step: &Step<'_>, reference: &str, own: bool) -> Result<()> {
        identity::put(self.tx, &self.row(part, step, reference, own))
    }

    fn row<'r>(&'r self, part: &'r Part, step: &'r Step<'_>, reference: &'r str, own: bool) -> NewRow<'r> {
        NewRow {
            format: self.format.name,
            key: &step.key,
            part: &part.hash,
            kind: step.item.thing.kind(),
            reference,
            own,
            hash: &step.hash,
            origin: &step.item.origin,
            at: step.item.at,
            now: self.caller.now,
        }
    }
}
