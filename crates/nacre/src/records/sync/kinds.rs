//! The kinds of records that travel, as one table: how their rows are read, written and deleted.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::clock::Values;
use crate::base::ids::{EntryId, EntryRef, TaskId};
use crate::base::{Error, Result, Time};
use crate::index;
use crate::records::conflict::{self, StatementRef};
use crate::records::graph::replica::{self, ReplicaRow};
use crate::records::lesson::{self, Lesson};
use crate::records::project::replica::{self as tasks, ReplicaTask};
use crate::records::project::task;
use crate::records::session::exchange;
use crate::records::tombstone::{self, TombstoneReplica};
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::records::workspace::proposal::replica::{self as proposals, ReplicaProposal};
use crate::records::{entry, erase};
use crate::store::Connection;

/// One kind of record.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Returns all rows.
    pub(super) read: fn(&Connection) -> Result<Vec<LocalRow>>,
    /// Writes rows, and notes where each was written.
    pub(super) write: fn(&Connection, Time, &mut [Change]) -> Result<()>,
    /// Deletes a row for good. Returns what it was, so that it can be removed from checkpoints too.
    pub(super) erase: fn(&Connection, &str) -> Result<Vec<DeletedRecord>>,
    /// Whether a deleted id stays deleted if a row has it again. Other kinds are named by what they say, and may be said again.
    pub(super) has_own_ids: bool,
}

/// A row of this machine.
pub(super) struct LocalRow {
    /// Its name here.
    pub(super) local: String,
    /// Its name on every machine.
    pub(super) key: Vec<String>,
    pub(super) values: Values,
}

/// A row to be written.
pub(super) struct Change {
    pub(super) id: String,
    /// The row that it has here; `None` if there is none.
    pub(super) local: Option<String>,
    pub(super) values: Values,
}

/// The kinds, in the order in which they are written.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "entity",
        read: |db| graph_rows(replica::entities(db)?),
        write: |db, _, changes| {
            index::write(db, |writer| {
                each(changes, |change| replica::put_entity(db, writer, &change.values.fields))
            })
        },
        erase: |db, local| replica::erase_entity(db, number(local)).map(|()| Vec::new()),
        has_own_ids: false,
    },
    Kind {
        name: "alias",
        read: |db| graph_rows(replica::aliases(db)?),
        write: |db, now, changes| each(changes, |change| replica::put_alias(db, &change.values.fields, now)),
        erase: |db, local| replica::erase_alias(db, number(local)).map(|()| Vec::new()),
        has_own_ids: false,
    },
    Kind {
        name: "distinct",
        read: |db| graph_rows(replica::distinct(db)?),
        write: |db, now, changes| {
            each(changes, |change| replica::put_distinct(db, &change.values.fields, now))
        },
        erase: |db, local| replica::erase_distinct(db, number(local)).map(|()| Vec::new()),
        has_own_ids: false,
    },
    // Before the facts: rules decide which of them end.
    Kind {
        name: "rule",
        read: read_rules,
        write: write_rules,
        erase: |db, local| {
            let (about, name) = local.split_once(' ').unwrap_or_default();
            replica::set_rule(db, about, name, false).map(|_| Vec::new())
        },
        has_own_ids: false,
    },
    Kind {
        name: "fact",
        read: |db| graph_rows(replica::facts(db)?),
        write: |db, _, changes| {
            index::write(db, |writer| {
                each(changes, |change| {
                    replica::put_fact(db, writer, change.local.as_deref().map(number), &change.values.fields)
                })?;
                let written: Vec<i64> =
                    changes.iter().filter_map(|change| change.local.as_deref().map(number)).collect();
                replica::settle_facts(db, writer, &written)
            })
        },
        erase: |db, local| erase_from_graph(db, "fact", local),
        has_own_ids: false,
    },
    Kind {
        name: "relation",
        read: |db| graph_rows(replica::relations(db)?),
        write: |db, _, changes| {
            index::write(db, |writer| {
                each(changes, |change| {
                    replica::put_relation(
                        db,
                        writer,
                        change.local.as_deref().map(number),
                        &change.values.fields,
                    )
                })
            })
        },
        erase: |db, local| erase_from_graph(db, "relation", local),
        has_own_ids: false,
    },
    Kind { name: ENTRY, read: read_entries, write: write_entries, erase: erase_entry, has_own_ids: true },
    Kind {
        name: "kept_pair",
        read: read_kept_pairs,
        write: |db, now, changes| each(changes, |change| put_kept_pair(db, now, &change.values)),
        erase: |db, local| conflict::settle(db, number(local), None).map(|()| Vec::new()),
        has_own_ids: false,
    },
    Kind {
        name: "proposal",
        read: read_proposals,
        write: |db, _, changes| {
            each(changes, |change| {
                proposals::put(db, change.local.as_deref().map(number), &change.values.fields)
            })
        },
        erase: |db, local| {
            proposals::remove(db, number(local))?;
            Ok(vec![DeletedRecord::of(format!("proposal:{local}"))])
        },
        has_own_ids: false,
    },
    Kind {
        name: "lesson",
        read: read_lessons,
        write: |db, _, changes| each(changes, |change| lesson::put_replica(db, &to_lesson(&change.values)?)),
        erase: |db, local| {
            lesson::remove(db, number(local))?;
            Ok(vec![DeletedRecord::of(format!("lesson:{local}"))])
        },
        has_own_ids: false,
    },
    Kind {
        name: "exchange",
        read: read_exchanges,
        write: write_exchanges,
        erase: |db, local| Ok(exchange::remove(db, local)?.map(DeletedRecord::of).into_iter().collect()),
        has_own_ids: false,
    },
    Kind {
        name: "task",
        read: |db| Ok(task_rows(tasks::tasks(db)?)),
        write: |db, _, changes| {
            each(changes, |change| {
                let history = change.values.sets.get(CHANGES).cloned().unwrap_or_default();
                tasks::put_task(db, change.local.as_deref().map(number), &change.values.fields, &history)
            })
        },
        erase: erase_task,
        has_own_ids: false,
    },
    Kind {
        name: BLOCK,
        read: |db| Ok(task_rows(tasks::blocks(db)?)),
        write: |db, _, changes| {
            for change in changes {
                change.local = tasks::put_block(db, &change.values.fields)?;
            }
            Ok(())
        },
        erase: |db, local| tasks::erase_block(db, local).map(|()| Vec::new()),
        has_own_ids: false,
    },
    Kind {
        name: "tombstone",
        read: read_tombstones,
        write: write_tombstones,
        erase: |db, local| tombstone::remove(db, local).map(|()| Vec::new()),
        has_own_ids: false,
    },
];

/// The kind of a dependency between two tasks. It waits for the later one of them.
pub(super) const BLOCK: &str = "block";
/// The set of the changes of a task's status.
const CHANGES: &str = "changes";

/// The kind of an entry.
pub(super) const ENTRY: &str = "entry";

/// Returns the kind with this name. A newer program may know more.
pub(super) fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

fn number(local: &str) -> i64 {
    local.parse().unwrap_or(0)
}

fn graph_rows(rows: Vec<ReplicaRow>) -> Result<Vec<LocalRow>> {
    let row = |ReplicaRow { number, key, fields }| LocalRow {
        local: number.to_string(),
        key,
        values: Values { fields, ..Values::default() },
    };
    Ok(rows.into_iter().map(row).collect())
}

/// Writes each row, and notes its number.
fn each(changes: &mut [Change], mut write: impl FnMut(&Change) -> Result<Option<i64>>) -> Result<()> {
    for change in changes {
        change.local = write(change)?.map(|number| number.to_string());
    }
    Ok(())
}

fn read_rules(db: &Connection) -> Result<Vec<LocalRow>> {
    let row = |(about, name): (&str, String)| {
        let fields = [("about".to_owned(), json!(about)), ("name".to_owned(), json!(name))].into();
        let values = Values { fields, ..Values::default() };
        LocalRow { local: format!("{about} {name}"), key: vec![about.to_owned(), name], values }
    };
    Ok(replica::rules(db)?.into_iter().map(row).collect())
}

fn write_rules(db: &Connection, _: Time, changes: &mut [Change]) -> Result<()> {
    for change in changes {
        let (Some(about), Some(name)) = (change.values.text("about"), change.values.text("name")) else {
            continue;
        };
        let is_rule = !name.is_empty() && replica::set_rule(db, about, name, true)?;
        change.local = is_rule.then(|| format!("{about} {name}"));
    }
    Ok(())
}

fn read_kept_pairs(db: &Connection) -> Result<Vec<LocalRow>> {
    let row = |(number, [one, other]): (i64, [StatementRef; 2])| {
        let key = vec![one.reference, one.hash, other.reference, other.hash];
        let names = ["one", "one_hash", "other", "other_hash"].map(str::to_owned);
        let fields = names.into_iter().zip(key.iter().map(|part| json!(part))).collect();
        LocalRow { local: number.to_string(), key, values: Values { fields, ..Values::default() } }
    };
    Ok(conflict::kept_pairs(db)?.into_iter().map(row).collect())
}

fn put_kept_pair(db: &Connection, now: Time, values: &Values) -> Result<Option<i64>> {
    let side = |reference: &str, hash: &str| {
        let (reference, hash) = (values.text(reference)?.to_owned(), values.text(hash)?.to_owned());
        Some(StatementRef { reference, hash })
    };
    match (side("one", "one_hash"), side("other", "other_hash")) {
        (Some(one), Some(other)) => conflict::keep_pair(db, now, &[one, other]),
        _ => Ok(None),
    }
}

fn read_proposals(db: &Connection) -> Result<Vec<LocalRow>> {
    let row = |ReplicaProposal { number, key, fields }| LocalRow {
        local: number.to_string(),
        key,
        values: Values { fields, ..Values::default() },
    };
    Ok(proposals::all(db)?.into_iter().map(row).collect())
}

fn read_entries(db: &Connection) -> Result<Vec<LocalRow>> {
    let row = |replica: entry::ReplicaEntry| -> Result<LocalRow> {
        let history =
            replica.versions.iter().map(|(key, version)| Ok((key.clone(), serde_json::to_value(version)?)));
        let history: BTreeMap<String, Value> = history.collect::<Result<_>>()?;
        let id = replica.entry.id.to_string();
        Ok(LocalRow {
            local: id.clone(),
            key: vec![id],
            values: Values {
                fields: entry::to_fields(&replica.entry),
                counters: [("score".to_owned(), replica.entry.score)].into(),
                sets: if history.is_empty() {
                    BTreeMap::new()
                } else {
                    [(HISTORY.to_owned(), history)].into()
                },
            },
        })
    };
    entry::replicas(db)?.into_iter().map(row).collect()
}

/// The set of an entry's earlier texts.
pub(super) const HISTORY: &str = "history";

fn write_entries(db: &Connection, now: Time, changes: &mut [Change]) -> Result<()> {
    let mut written: Vec<EntryId> = Vec::new();
    entry::release_texts(db, changes.iter().map(|change| change.id.as_str()))?;
    index::write(db, |writer| {
        for change in &mut *changes {
            let score = change.values.counters.get("score").copied().unwrap_or(0);
            let Some(mut entry) = entry::from_fields(&change.id, &change.values.fields, score) else {
                change.local = None;
                continue;
            };
            // Its successor may have been deleted on another machine at the same time.
            let sql = "SELECT EXISTS (SELECT 1 FROM sync_tombstones WHERE kind = 'entry' AND id = $1)";
            if let Some(by) = &entry.superseded_by
                && db.one(sql, [by], |row| row.get(0))?
            {
                (entry.superseded_by, entry.superseded_at) = (None, None);
            }
            let history = change.values.sets.get(HISTORY).into_iter().flatten();
            let history = history.filter_map(|(key, version)| {
                Some((key.clone(), serde_json::from_value(version.clone()).ok()?))
            });
            written.push(entry.id.clone());
            entry::put_replica(db, writer, entry, &history.collect())?;
            change.local = Some(change.id.clone());
        }
        Ok(())
    })?;
    entry::settle_replicas(db, now, &written)
}

fn erase_entry(db: &Connection, local: &str) -> Result<Vec<DeletedRecord>> {
    match erase::entry(db, &EntryRef::Id(local.parse()?)) {
        Err(Error::NoEntry { .. }) => Ok(Vec::new()),
        erased => {
            let texts = erased?.texts;
            Ok(vec![DeletedRecord { reference: local.to_owned(), texts }])
        }
    }
}

fn erase_from_graph(db: &Connection, kind: &str, local: &str) -> Result<Vec<DeletedRecord>> {
    index::write(db, |writer| replica::erase_row(db, writer, kind, number(local)))?;
    Ok(vec![DeletedRecord::of(format!("{kind}-{local}"))])
}

fn task_rows(rows: Vec<ReplicaTask>) -> Vec<LocalRow> {
    let row = |ReplicaTask { local, key, fields, changes }| {
        let sets = if changes.is_empty() { BTreeMap::new() } else { [(CHANGES.to_owned(), changes)].into() };
        LocalRow { local, key, values: Values { fields, counters: BTreeMap::new(), sets } }
    };
    rows.into_iter().map(row).collect()
}

fn erase_task(db: &Connection, local: &str) -> Result<Vec<DeletedRecord>> {
    match task::remove(db, TaskId(number(local))) {
        Err(Error::NoTask { .. }) => Ok(Vec::new()),
        removed => Ok(vec![DeletedRecord::of(removed?.id.to_string())]),
    }
}

fn read_tombstones(db: &Connection) -> Result<Vec<LocalRow>> {
    let row = |tombstone: TombstoneReplica| -> Result<LocalRow> {
        let key = tombstone.key.clone();
        let Value::Object(fields) = serde_json::to_value(tombstone)? else { unreachable!("it is a struct") };
        let values = Values { fields: fields.into_iter().collect(), ..Values::default() };
        Ok(LocalRow { local: key.clone(), key: vec![key], values })
    };
    tombstone::replicas(db)?.into_iter().map(row).collect()
}

fn write_tombstones(db: &Connection, _: Time, changes: &mut [Change]) -> Result<()> {
    for change in changes {
        let fields = serde_json::Map::from_iter(change.values.fields.clone());
        let Ok(tombstone) = serde_json::from_value::<TombstoneReplica>(Value::Object(fields)) else {
            continue;
        };
        tombstone::put_replica(db, &tombstone)?;
        change.local = Some(tombstone.key);
    }
    Ok(())
}

fn read_lessons(db: &Connection) -> Result<Vec<LocalRow>> {
    let row = |lesson: Lesson| LocalRow {
        local: lesson.number.to_string(),
        key: vec![lesson::key(&lesson.text)],
        values: Values {
            fields: [
                ("text", json!(lesson.text)),
                ("asked", json!(lesson.asked)),
                ("weight", json!(lesson.weight)),
                ("learned_at", json!(lesson.learned_at)),
                ("session", json!(lesson.session)),
                ("private", json!(lesson.private)),
                ("state", json!(lesson.state)),
                ("origin", json!(lesson.origin)),
            ]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
            counters: [
                ("recurred", lesson.recurred),
                ("injected", lesson.injected),
                ("kept", lesson.kept),
                ("broken", lesson.broken),
            ]
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect(),
            sets: BTreeMap::new(),
        },
    };
    Ok(lesson::all(db)?.into_iter().map(row).collect())
}

fn to_lesson(values: &Values) -> Result<Lesson> {
    let mut fields = serde_json::Map::from_iter(values.fields.clone());
    for name in ["number", "recurred", "injected", "kept", "broken"] {
        fields.insert(name.to_owned(), json!(values.counters.get(name).copied().unwrap_or(0)));
    }
    Ok(serde_json::from_value(Value::Object(fields))?)
}

fn read_exchanges(db: &Connection) -> Result<Vec<LocalRow>> {
    let row = |row: exchange::Row| -> Result<LocalRow> {
        let Value::Object(mut fields) = serde_json::to_value(&row)? else { unreachable!("it is a struct") };
        // Whether a search finds it depends on the transcripts that this machine has.
        fields.remove("searchable");
        fields.remove("id");
        Ok(LocalRow {
            local: row.id.clone(),
            key: vec![row.id],
            values: Values { fields: fields.into_iter().collect(), ..Values::default() },
        })
    };
    exchange::all(db)?.into_iter().map(row).collect()
}

fn write_exchanges(db: &Connection, _: Time, changes: &mut [Change]) -> Result<()> {
    for change in changes {
        let mut fields = serde_json::Map::from_iter(change.values.fields.clone());
        fields.insert("id".into(), json!(change.id));
        fields.insert("searchable".into(), json!(true));
        let Ok(row) = serde_json::from_value::<exchange::Row>(Value::Object(fields)) else { continue };
        change.local = exchange::put_replica(db, &row)?;
    }
    Ok(())
}
