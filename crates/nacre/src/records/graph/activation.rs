//! Activation: facts that are recalled often rank higher, and others fade.
//!
//! The group collects the effects of recalls until its next write, because a read must not cost a write. Text
//! that Nacre injected itself is not counted, and a repeated question counts once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::{fact, relation};
use crate::base::{Result, Time};
use crate::store::Connection;

/// The maximum activation of a fact.
const MAX_ACTIVATION: f64 = 5.0;
/// The share of activation that is left after a day.
const DAILY_RETENTION: f64 = 0.95;
/// How many linked facts are looked at.
const MAX_LINKED_FACTS: usize = 800;
/// The maximum strength of a link.
const MAX_LINK_STRENGTH: f64 = 20.0;
/// How many facts of one answer are linked to each other.
const MAX_WIRED_FACTS: usize = 8;

/// The number of current facts in each tier.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Tiers {
    pub hot: i64,
    pub warm: i64,
    pub cool: i64,
}

pub(crate) fn tiers(db: &Connection) -> Result<Tiers> {
    let sql =
        "SELECT count(*) FILTER (WHERE activation > 2), count(*) FILTER (WHERE activation BETWEEN 1 AND 2),
        count(*) FILTER (WHERE activation < 1) FROM facts WHERE until IS NULL";
    db.one(sql, (), |row| Ok(Tiers { hot: row.get(0)?, warm: row.get(1)?, cool: row.get(2)? }))
}

/// Returns the name of the tier for an activation.
pub(super) fn tier(activation: f64) -> &'static str {
    match activation {
        hot if hot > 2.0 => "hot",
        warm if warm >= 1.0 => "warm",
        _ => "cool",
    }
}

/// Records that these facts and relations were recalled together: each gains `bump`.
pub(crate) fn note(db: &Connection, references: &[String], at: Time, bump: f64) -> Result<()> {
    for reference in references {
        for (kind, table) in [(fact::KIND, "facts"), (relation::KIND, "relations")] {
            if let Some(id) = super::number(kind, reference) {
                let sql = format!(
                    "UPDATE {table} SET access_count = access_count + 1, last_accessed = $2,
                        activation = CASE WHEN activation + $3 < {MAX_ACTIVATION} THEN activation + $3 ELSE {MAX_ACTIVATION} END
                    WHERE id = $1"
                );
                db.run(&sql, (id, at, bump))?;
            }
        }
    }
    let together = &references[..references.len().min(MAX_WIRED_FACTS)];
    let sql = format!(
        "INSERT INTO recalled_together (one, other, weight, at) VALUES ($1, $2, 1, $3)
         ON CONFLICT (one, other) DO UPDATE SET at = excluded.at, weight =
            CASE WHEN recalled_together.weight + 1 < {MAX_LINK_STRENGTH} THEN recalled_together.weight + 1 ELSE {MAX_LINK_STRENGTH} END"
    );
    for one in together {
        for other in together.iter().filter(|other| *other != one) {
            db.run(&sql, (one, other, at))?;
        }
    }
    Ok(())
}

/// Returns facts and relations that were often recalled together with these and are not among them, strongest
/// first. It returns more than are needed, because some may no longer be current.
pub(super) fn linked(db: &Connection, references: &[String], strength: f64) -> Result<Vec<String>> {
    let sql = "SELECT other, weight FROM recalled_together WHERE one = $1 AND weight >= $2 ORDER BY other";
    let mut weights: BTreeMap<String, f64> = BTreeMap::new();
    for one in references {
        db.each(sql, (one, strength), |row| {
            let other: String = row.get(0)?;
            if !references.contains(&other) {
                *weights.entry(other).or_default() += row.get::<f64>(1)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let mut strongest: Vec<(String, f64)> = weights.into_iter().collect();
    strongest.sort_by(|one, other| other.1.total_cmp(&one.1));
    Ok(strongest.into_iter().take(MAX_LINKED_FACTS).map(|(other, _)| other).collect())
}

/// Sets how much a fact was used in another program.
pub(crate) fn carry_over(
    db: &Connection,
    reference: &str,
    activation: Option<f64>,
    access_count: Option<i64>,
    last_accessed: Option<Time>,
) -> Result<()> {
    let Some(id) = super::number(fact::KIND, reference) else { return Ok(()) };
    let sql =
        "UPDATE facts SET activation = coalesce($2, activation), access_count = coalesce($3, access_count),
        last_accessed = coalesce($4, last_accessed) WHERE id = $1";
    let activation = activation.map(|given| given.clamp(0.0, MAX_ACTIVATION));
    db.run(sql, (id, activation, access_count.map(|count| count.max(0)), last_accessed)).map(drop)
}

/// Links two facts that another program recalled together. The stronger of two links counts.
pub(crate) fn join(db: &Connection, one: &str, other: &str, weight: f64, at: Time) -> Result<()> {
    let weight = weight.clamp(0.0, MAX_LINK_STRENGTH);
    let sql = "INSERT INTO recalled_together (one, other, weight, at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (one, other) DO UPDATE SET at = excluded.at, weight = CASE
            WHEN recalled_together.weight < excluded.weight THEN excluded.weight ELSE recalled_together.weight END";
    // Every pair is stored in both directions.
    for (one, other) in [(one, other), (other, one)].into_iter().filter(|(one, other)| one != other) {
        db.run(sql, (one, other, weight, at))?;
    }
    Ok(())
}

/// Deletes the links of a removed fact or relation.
pub(super) fn forget(db: &Connection, reference: &str) -> Result<()> {
    // Every pair is stored in both directions, so that no lookup needs the other end.
    for sql in [
        "DELETE FROM recalled_together WHERE other = $1 AND one IN (SELECT other FROM recalled_together WHERE one = $1)",
        "DELETE FROM recalled_together WHERE one = $1",
    ] {
        db.run(sql, [reference])?;
    }
    Ok(())
}

/// Decays the activation of everything that is not permanent, once for every day since the last call, however
/// often it is called. Returns the number of days.
pub(crate) fn decay(db: &Connection, now: Time) -> Result<i64> {
    let today = now.as_millis().div_euclid(86_400_000);
    let sql = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'decayed_on'";
    let last: Option<i64> = db.row(sql, (), |row| row.get(0))?;
    // The first call starts the count. If the clock was set back, nothing decays until it has caught up.
    let days = last.map_or(0, |last| (today - last).max(0));
    if last.is_none_or(|last| today > last) {
        let sql = "INSERT INTO meta (key, value) VALUES ('decayed_on', $1)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        db.run(sql, [today.to_string()])?;
    }
    if days > 0 {
        let kept = DAILY_RETENTION.powf(days as f64);
        db.run(
            "UPDATE facts SET activation = activation * $1 WHERE NOT permanent AND activation > 0.01",
            [kept],
        )?;
        db.run("UPDATE relations SET activation = activation * $1 WHERE activation > 0.01", [kept])?;
    }
    Ok(days)
}
