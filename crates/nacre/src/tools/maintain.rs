//! Maintenance (SPEC I6): a table of jobs, each with the time of day or week at which it is due.
//!
//! Nobody has to be there at that time: a job that was missed runs once, when somebody next looks, be it `nacre
//! maintain` from cron or a server behind its calls. Any number of processes may look at once. They take turns by a
//! file's lock, which dies with its process; under it a job is claimed in one transaction, and a claim that is found
//! there is of one that was killed. What a job does and that it was done are one transaction (`Group::write_job`),
//! or doing it again changes nothing: so a kill at any moment loses nothing and does nothing twice. One that failed is
//! tried again after an hour, and not only when it is next due.

use std::collections::BTreeMap;
use std::fs::File;

use jiff::civil::{Date, Weekday};
use jiff::{Timestamp, ToSpan};

use serde::Serialize;

use crate::base::caller::Caller;
use crate::base::{Error, Result, Time, Zone, files};
use crate::group::View;
use crate::records::collection;
use crate::records::collection::Reading;
use crate::records::{entry, erase, graph};
use crate::store::Connection;
use crate::store::audit;

/// One job.
pub struct Job {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    schedule: Schedule,
    run: fn(&mut View<'_>) -> Result<Report>,
}

/// Every job there is, in the order in which those that are due run. To add one is a line here.
pub static JOBS: [Job; 6] = [
    Job {
        name: "decay",
        about: "let facts fade that nobody recalls",
        schedule: Schedule::daily(3, 0),
        run: decay,
    },
    Job {
        name: "reindex",
        about: "bring collections up to date with their sources",
        schedule: Schedule::weekly(Weekday::Sunday, 3, 30),
        run: reindex,
    },
    Job {
        name: "purge",
        about: "archive entries that were superseded long ago, and delete them a week later",
        schedule: Schedule::daily(3, 45),
        run: purge,
    },
    Job {
        name: "prune",
        about: "archive the lowest-ranked entries while all of them exceed the size limit",
        schedule: Schedule::daily(4, 0),
        run: prune,
    },
    Job {
        name: "sessions",
        about: "pack transcripts that have been over for long",
        schedule: Schedule::daily(4, 15),
        run: sessions,
    },
    Job {
        name: "logs",
        about: "move lines of daily logs to the archive when their time is over",
        schedule: Schedule::daily(4, 30),
        run: logs,
    },
];

/// When a job is due, in the time zone of the person.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    /// `None`: every day.
    weekday: Option<Weekday>,
    hour: i8,
    minute: i8,
}

impl Schedule {
    const fn daily(hour: i8, minute: i8) -> Schedule {
        Schedule { weekday: None, hour, minute }
    }

    const fn weekly(weekday: Weekday, hour: i8, minute: i8) -> Schedule {
        Schedule { weekday: Some(weekday), hour, minute }
    }

    /// Returns the last moment at which it was due, and the next.
    fn around(self, now: Time, zone: &Zone) -> (Time, Time) {
        let today = Timestamp::from_millisecond(now.as_millis())
            .map_or(Date::constant(1970, 1, 1), |now| zone.rules().to_datetime(now).date());
        let mut moments = Vec::new();
        // A week and a day either side has at least one of each.
        for day in -8..=8 {
            let Ok(date) = today.checked_add(day.days()) else { continue };
            if self.weekday.is_some_and(|weekday| weekday != date.weekday()) {
                continue;
            }
            // An hour that a change of the clocks leaves out is the one after it.
            if let Ok(moment) = zone.rules().to_zoned(date.at(self.hour, self.minute, 0, 0)) {
                moments.push(Time::from_millis(moment.timestamp().as_millisecond()));
            }
        }
        let last = moments.iter().rev().find(|moment| **moment <= now).copied().unwrap_or(now);
        let next = moments.iter().find(|moment| **moment > now).copied().unwrap_or(now.plus_days(1));
        (last, next)
    }

    fn in_words(self) -> String {
        let Schedule { weekday, hour, minute } = self;
        match weekday {
            Some(weekday) => format!("{weekday:?} {hour:02}:{minute:02}"),
            None => format!("daily {hour:02}:{minute:02}"),
        }
    }
}

/// What a job did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// In a line.
    pub says: String,
    /// Whether some of it could not be done.
    #[serde(skip)]
    pub failed: bool,
    /// In numbers.
    pub counts: BTreeMap<&'static str, i64>,
}

impl Report {
    fn new(says: String, what: &'static str, count: i64) -> Report {
        Report { says, failed: false, counts: BTreeMap::from([(what, count)]) }
    }
}

/// Which jobs to run.
#[derive(Clone, Debug)]
pub enum Which {
    /// Those that are due.
    Due,
    /// All of them, now.
    All,
    /// This one, now.
    Only(String),
}

/// A job that was run.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// The job.
    pub name: &'static str,
    /// What it did, or why it could not.
    #[serde(flatten)]
    pub report: Report,
    /// It failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// A job and how it stands.
#[derive(Clone, Debug, Serialize)]
pub struct JobShown {
    /// The job.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// When it is due, in words.
    pub schedule: String,
    /// Whether it is due now.
    pub due: bool,
    /// When it is due next, if not now.
    pub next: Time,
    /// When it last ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran_at: Option<Time>,
    /// The last run failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// What the last run did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
}

/// Who is at a job, and which moment of its schedule that serves.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    name: &'static str,
    token: String,
    due: Time,
    at: Time,
    /// The job has said in the transaction of its work that it is done.
    served: bool,
}

/// Runs jobs, one after the other, waiting for another process that is at it. One that fails is named and keeps no
/// other from running.
pub fn run(view: &mut View<'_>, which: &Which) -> Result<Vec<Ran>> {
    let jobs: Vec<&Job> = match which {
        Which::Only(name) => vec![job(name)?],
        Which::Due | Which::All => JOBS.iter().collect(),
    };
    // Transcripts alone are enough: a database that was lost is filled from them.
    if !view.is_on_disk() && view.files().transcripts().next().is_none() {
        return Ok(Vec::new());
    }
    // A look that finds nothing makes no file and waits for nobody.
    if matches!(which, Which::Due) && !is_job_due(view)? {
        return Ok(Vec::new());
    }
    let _lock = lock(view)?;
    run_all(view, &jobs, matches!(which, Which::Due))
}

/// Runs what is due, unless another process is at it.
pub fn run_if_free(view: &mut View<'_>) -> Result<Vec<Ran>> {
    if !view.is_on_disk() || !is_job_due(view)? {
        return Ok(Vec::new());
    }
    let Some(_lock) = try_lock(view)? else { return Ok(Vec::new()) };
    let jobs: Vec<&Job> = JOBS.iter().collect();
    run_all(view, &jobs, true)
}

/// Tells of every job when it is due and what it last did.
pub fn jobs(view: &View<'_>) -> Result<Vec<JobShown>> {
    let caller = view.caller();
    view.read_all(|db| JOBS.iter().map(|job| shown(db, job, caller)).collect())
}

fn is_job_due(view: &View<'_>) -> Result<bool> {
    Ok(jobs(view)?.iter().any(|job| job.due))
}

/// The one write of a job: what it does and that it was done are one transaction. For what would not be the same
/// done twice.
fn write_job(view: &mut View<'_>, work: impl FnOnce(&Connection) -> Result<Report>) -> Result<Report> {
    let claim = view.state::<Option<Claim>>().clone();
    let report = view.write(|tx| {
        let report = work(tx)?;
        if let Some(claim) = &claim {
            finish(tx, claim, &report)?;
        }
        Ok(report)
    })?;
    if let Some(claim) = view.state::<Option<Claim>>() {
        claim.served = true;
    }
    Ok(report)
}

fn job(name: &str) -> Result<&'static Job> {
    JOBS.iter().find(|job| job.name == name).ok_or_else(|| {
        let known = JOBS.iter().map(|job| job.name).collect::<Vec<_>>().join(", ");
        Error::NoJob { given: crate::base::text::shorten(name), known }
    })
}

/// What the database knows of a job.
#[derive(Default)]
struct Known {
    due: Option<Time>,
    ran_at: Option<Time>,
    failed: bool,
    says: Option<String>,
}

fn known(db: &Connection, name: &str) -> Result<Known> {
    let sql = "SELECT due, ran_at, failed, says FROM jobs WHERE name = $1";
    let found = db.row(sql, [name], |row| {
        Ok(Known { due: row.get(0)?, ran_at: row.get(1)?, failed: row.get(2)?, says: row.get(3)? })
    });
    Ok(found?.unwrap_or_default())
}

impl Known {
    /// Tells whether a job is due that was last due at this moment. One that never ran is; and one that ran in what
    /// the clock now says is the future, by more than a zone or an hour can explain.
    fn is_due(&self, last: Time, now: Time) -> bool {
        self.is_left(last, now) && self.again().is_none_or(|again| again <= now || again > now.plus_days(1))
    }

    /// Tells whether it is still to be done.
    fn is_left(&self, last: Time, now: Time) -> bool {
        self.due.is_none_or(|served| last > served || served > now.plus_days(1))
    }

    /// When one that failed is tried again.
    fn again(&self) -> Option<Time> {
        let at = self.ran_at.filter(|_| self.failed)?;
        Some(Time::from_millis(at.as_millis().saturating_add(AGAIN)))
    }
}

fn shown(db: &Connection, job: &Job, caller: &Caller) -> Result<JobShown> {
    let known = known(db, job.name)?;
    let (last, next) = job.schedule.around(caller.now, &caller.zone);
    Ok(JobShown {
        name: job.name,
        about: job.about,
        schedule: job.schedule.in_words(),
        due: known.is_due(last, caller.now),
        next: known.again().filter(|_| known.is_left(last, caller.now)).map_or(next, |again| again.min(next)),
        ran_at: known.ran_at,
        failed: known.failed,
        says: known.says,
    })
}

/// Runs jobs while their lock is held.
fn run_all(view: &mut View<'_>, jobs: &[&Job], only_due: bool) -> Result<Vec<Ran>> {
    let caller = view.caller();
    let mut all = Vec::new();
    for job in jobs {
        let (last, _) = job.schedule.around(caller.now, &caller.zone);
        let Some(claim) = claim(view, job, last, only_due)? else { continue };
        *view.state() = Some(claim.clone());
        let done = (job.run)(view);
        let served = view.state::<Option<Claim>>().take().is_some_and(|claim| claim.served);
        let report = done.unwrap_or_else(|error| Report {
            says: format!("failed: {error}"),
            failed: true,
            ..Report::default()
        });
        if !served {
            view.write(|tx| finish(tx, &claim, &report))?;
        }
        all.push(Ran { name: job.name, failed: report.failed, report });
    }
    Ok(all)
}

/// Claims a job in one transaction, if it is due. A claim that is found is of a process that is dead: the lock is ours.
fn claim(view: &mut View<'_>, job: &Job, last: Time, only_due: bool) -> Result<Option<Claim>> {
    let caller = view.caller();
    let now = caller.now;
    if only_due && !view.read_all(|db| Ok(known(db, job.name)?.is_due(last, now)))? {
        return Ok(None);
    }
    view.write(|tx| {
        if only_due && !known(tx, job.name)?.is_due(last, now) {
            return Ok(None);
        }
        let token = format!("{}/{}", caller.session, std::process::id());
        let sql = "INSERT INTO jobs (name, claim, claimed_at) VALUES ($1, $2, $3)
            ON CONFLICT (name) DO UPDATE SET claim = excluded.claim, claimed_at = excluded.claimed_at";
        tx.run(sql, (job.name, &token, now))?;
        Ok(Some(Claim { name: job.name, token, due: last, at: now, served: false }))
    })
}

/// Says that a job is done, or that it failed: then it still is to be done. One whose claim was taken meanwhile says
/// nothing.
fn finish(tx: &Connection, claim: &Claim, report: &Report) -> Result<()> {
    let failed = report.failed;
    let sql = "UPDATE jobs SET due = CASE WHEN $5 THEN due ELSE $3 END, claim = NULL, claimed_at = NULL, ran_at = $4,
            failed = $5, says = $6
        WHERE name = $1 AND claim = $2";
    tx.run(sql, (claim.name, &claim.token, claim.due, claim.at, failed, &report.says)).map(drop)
}

/// After how many milliseconds a job that failed is tried again: an hour.
const AGAIN: i64 = 60 * 60 * 1000;

const LOCK: &str = "maintain.lock";

/// Waits until no other process is at the jobs. The lock goes with the file, and so with the process.
fn lock(view: &View<'_>) -> Result<File> {
    let path = view.folder().join(LOCK);
    let file = files::append_private(&path).map_err(Error::io(&path))?;
    file.lock().map_err(Error::io(&path))?;
    Ok(file)
}

/// The same without waiting; `None`: another is at it.
fn try_lock(view: &View<'_>) -> Result<Option<File>> {
    let path = view.folder().join(LOCK);
    let file = files::append_private(&path).map_err(Error::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(problem)) => Err(Error::io(&path)(problem)),
    }
}

/// W4. What has moved has moved.
fn logs(view: &mut View<'_>) -> Result<Report> {
    let lines = crate::records::workspace::daily::retire(view)?.lines;
    Ok(Report::new(
        format!("{lines} lines of daily logs archived"),
        "retired",
        i64::try_from(lines).unwrap_or(0),
    ))
}

/// S6. What is packed is packed.
fn sessions(view: &mut View<'_>) -> Result<Report> {
    let done = crate::records::session::retain(view)?;
    let left: String = done.failed.iter().map(|why| format!("; {why}")).collect();
    let says = format!("{} transcripts packed{left}", done.packed);
    let report = Report::new(says, "sessions", i64::try_from(done.packed).unwrap_or(0));
    Ok(Report { failed: !done.failed.is_empty(), ..report })
}

/// G6. Counts days by itself, so that twice is once.
fn decay(view: &mut View<'_>) -> Result<Report> {
    let caller = view.caller();
    write_job(view, |tx| {
        let days = graph::activation::decay(tx, caller.now)?;
        Ok(Report::new(format!("facts faded for {days} days"), "decayed_days", days))
    })
}

/// Q7. What is as it was is not read again, and each collection has a lock of its own.
fn reindex(view: &mut View<'_>) -> Result<Report> {
    let names = collection::names(view)?;
    let (mut changed, mut failed) = (0, Vec::new());
    for name in &names {
        match collection::reindex(view, name, Reading::Changes, &mut |_, _| {}) {
            Ok(done) => {
                changed += done.synced.added.len() + done.synced.changed.len() + done.synced.removed.len()
            }
            Err(error) => failed.push(format!("; `{name}` failed: {error}")),
        }
    }
    let says =
        format!("{} collections looked at, {changed} documents changed{}", names.len(), failed.concat());
    let report = Report::new(says, "reindexed", i64::try_from(changed).unwrap_or(i64::MAX));
    Ok(Report { failed: !failed.is_empty(), ..report })
}

/// E8. What is gone is gone.
fn purge(view: &mut View<'_>) -> Result<Report> {
    let purged = i64::try_from(erase::purge(view)?).unwrap_or(i64::MAX);
    Ok(Report::new(format!("{purged} superseded entries purged"), "purged", purged))
}

/// Archives entries down to the size limit. A second run archives more only while they are over it.
fn prune(view: &mut View<'_>) -> Result<Report> {
    let caller = view.caller();
    let settings = view.settings().clone();
    write_job(view, |tx| {
        let ids = match settings.entries.max_bytes() {
            Some(limit) => {
                let percent = settings.entries.prune_percent;
                entry::archive_lowest(tx, caller.now, limit, percent, &settings.rank)?
            }
            None => Vec::new(),
        };
        if !ids.is_empty() {
            ids.iter().fold(audit::Row::new("archive"), audit::Row::id).append(tx, caller)?;
        }
        let archived = i64::try_from(ids.len()).unwrap_or(i64::MAX);
        Ok(Report::new(format!("{archived} entries archived"), "archived", archived))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_knows_its_moments_in_any_zone() {
        let time = |text: &str| Time::parse(text).unwrap();
        let berlin = Zone::rule("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let utc = Zone::default();
        let (daily, weekly) = (Schedule::daily(3, 0), Schedule::weekly(Weekday::Sunday, 3, 30));
        for (schedule, zone, now, last, next) in [
            (daily, &utc, "2026-02-18T14:30:00Z", "2026-02-18T03:00:00Z", "2026-02-19T03:00:00Z"),
            (daily, &utc, "2026-02-18T03:00:00Z", "2026-02-18T03:00:00Z", "2026-02-19T03:00:00Z"),
            (daily, &utc, "2026-02-18T02:59:59Z", "2026-02-17T03:00:00Z", "2026-02-18T03:00:00Z"),
            (daily, &berlin, "2026-02-18T02:30:00Z", "2026-02-18T02:00:00Z", "2026-02-19T02:00:00Z"),
            // The night in which 02:00 is 03:00, and the one in which 03:00 is 02:00 again.
            (daily, &berlin, "2026-03-29T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T01:00:00Z"),
            (daily, &berlin, "2026-10-25T12:00:00Z", "2026-10-25T02:00:00Z", "2026-10-26T02:00:00Z"),
            (weekly, &utc, "2026-02-18T14:30:00Z", "2026-02-15T03:30:00Z", "2026-02-22T03:30:00Z"),
            (weekly, &utc, "2026-02-15T03:29:00Z", "2026-02-08T03:30:00Z", "2026-02-15T03:30:00Z"),
        ] {
            assert_eq!(schedule.around(time(now), zone), (time(last), time(next)), "{now}");
        }
        for extreme in [i64::MIN, i64::MAX] {
            daily.around(Time::from_millis(extreme), &utc);
        }
    }

    #[test]
    fn names_are_their_own() {
        for (place, job) in JOBS.iter().enumerate() {
            assert!(JOBS[..place].iter().all(|other| other.name != job.name), "{}", job.name);
        }
    }
}
