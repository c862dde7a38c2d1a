//! Maintenance: a table of jobs, each with the time of day or week at which it is due.
//!
//! No process has to run at that time. A missed job runs once, at the next check: by `nacre maintain` from cron, or by a
//! server in the background. Any number of processes may check at once. They take turns by a file lock, which ends with its
//! process. Under the lock a job is claimed in one transaction; a claim found there belongs to a process that was killed.
//! The work of a job and its record are one transaction (`Group::write_job`), or repeating the work changes nothing. So a
//! kill at any moment loses nothing and repeats nothing. A failed job is retried after an hour, not only when it is next due.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use jiff::civil::{Date, Weekday};
use jiff::{Timestamp, ToSpan};

use serde::Serialize;

use crate::base::caller::Caller;
use crate::base::progress::{Progress, Unit};
use crate::base::{Error, Result, Settings, Time, Zone};
use crate::group::View;
use crate::records::collection;
use crate::records::collection::Reading;
use crate::records::{entry, erase, graph, workspace};
use crate::store::audit;
use crate::store::{Connection, Lock, Wait};
use crate::tools::conflict::{self, ComparedStatements};

/// One job.
pub struct Job {
    /// Its name.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    schedule: Schedule,
    run: fn(&mut View<'_>) -> Result<Report>,
}

/// Every job, in the order in which due jobs run. A new job is one row here.
pub static JOBS: [Job; 9] = [
    Job { name: "decay", about: "let unused facts fade", schedule: Schedule::daily(3, 0), run: decay },
    Job {
        name: "reindex",
        about: "update collections from their sources",
        schedule: Schedule::weekly(Weekday::Sunday, 3, 30),
        run: reindex,
    },
    Job {
        name: "purge",
        about: "archive memories that were superseded long ago, and delete them a week later",
        schedule: Schedule::daily(3, 45),
        run: purge,
    },
    Job {
        name: "prune",
        about: "archive the lowest-ranked memories while all of them exceed the size limit",
        schedule: Schedule::daily(4, 0),
        run: prune,
    },
    Job {
        name: "sessions",
        about: "pack transcripts of sessions that ended long ago",
        schedule: Schedule::daily(4, 15),
        run: sessions,
    },
    Job {
        name: "logs",
        about: "move expired lines of daily logs to the archive",
        schedule: Schedule::daily(4, 30),
        run: logs,
    },
    Job {
        name: "lines",
        about: "make vectors of lines of documents that have none",
        schedule: Schedule::daily(4, 30),
        run: lines,
    },
    Job {
        name: "conflicts",
        about: "compare new lines of documents with what is remembered",
        schedule: Schedule::daily(4, 30),
        run: conflicts,
    },
    Job {
        name: "stale",
        about: "compare memories that name files, flags, versions, commands and branches with their repository",
        schedule: Schedule::daily(4, 30),
        run: stale,
    },
];

/// When a job is due, in the person's time zone.
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

    /// Returns the last and the next moment at which it is due.
    fn around(self, now: Time, zone: &Zone) -> (Time, Time) {
        let today = Timestamp::from_millisecond(now.as_millis())
            .map_or(Date::constant(1970, 1, 1), |now| zone.rules().to_datetime(now).date());
        let mut moments = Vec::new();
        // Eight days in each direction contain at least one of each.
        for day in -8..=8 {
            let Ok(date) = today.checked_add(day.days()) else { continue };
            if self.weekday.is_some_and(|weekday| weekday != date.weekday()) {
                continue;
            }
            // An hour that daylight saving skips counts as the next one.
            if let Ok(moment) = zone.rules().to_zoned(date.at(self.hour, self.minute, 0, 0)) {
                moments.push(Time::from_millis(moment.timestamp().as_millisecond()));
            }
        }
        let last = moments.iter().rev().find(|moment| **moment <= now).copied().unwrap_or(now);
        let next = moments.iter().find(|moment| **moment > now).copied().unwrap_or(now.plus_days(1));
        (last, next)
    }

    /// Reads `04:00`, `Sunday 03:30`, or the cron lines `0 4 * * *` and `30 3 * * 0`.
    fn parse(text: &str) -> Option<Schedule> {
        const DAYS: [(&str, Weekday); 7] = [
            ("sunday", Weekday::Sunday),
            ("monday", Weekday::Monday),
            ("tuesday", Weekday::Tuesday),
            ("wednesday", Weekday::Wednesday),
            ("thursday", Weekday::Thursday),
            ("friday", Weekday::Friday),
            ("saturday", Weekday::Saturday),
        ];
        let day = |name: &str| {
            let name = name.to_ascii_lowercase();
            let by_name =
                DAYS.iter().find(|(day, _)| *day == name || (name.len() == 3 && day.starts_with(&name)));
            by_name.or_else(|| DAYS.get(name.parse::<usize>().ok()? % 7).filter(|_| name.len() == 1))
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let (weekday, hour, minute) = match words[..] {
            [time] => (None, time.split_once(':')?.0, time.split_once(':')?.1),
            [weekday, time] => (Some(day(weekday)?.1), time.split_once(':')?.0, time.split_once(':')?.1),
            [minute, hour, "*", "*", "*"] => (None, hour, minute),
            [minute, hour, "*", "*", weekday] => (Some(day(weekday)?.1), hour, minute),
            _ => return None,
        };
        let number = |text: &str, most: i8| text.parse().ok().filter(|number| (0..=most).contains(number));
        Some(Schedule { weekday, hour: number(hour, 23)?, minute: number(minute, 59)? })
    }

    fn in_words(self) -> String {
        let Schedule { weekday, hour, minute } = self;
        match weekday {
            Some(weekday) => format!("{weekday:?} {hour:02}:{minute:02}"),
            None => format!("daily {hour:02}:{minute:02}"),
        }
    }
}

/// Tells whether a text names when a job is due.
pub(super) fn is_schedule(text: &str) -> bool {
    Schedule::parse(text).is_some()
}

impl Job {
    /// Returns when it is due: by the settings, which are checked, or else as the table says.
    fn schedule(&self, settings: &Settings) -> Schedule {
        settings.maintain.at.get(self.name).and_then(|at| Schedule::parse(at)).unwrap_or(self.schedule)
    }
}

/// The report of a job.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// In one line.
    pub says: String,
    /// Whether part of the work failed.
    #[serde(skip)]
    pub failed: bool,
    /// The counts.
    pub counts: BTreeMap<&'static str, i64>,
}

impl Report {
    fn new(says: String, what: &'static str, count: i64) -> Report {
        Report { says, failed: false, counts: BTreeMap::from([(what, count)]) }
    }
}

/// The selection of jobs to run.
#[derive(Clone, Debug)]
pub enum JobSelection {
    /// Due jobs.
    Due,
    /// All of them, now.
    All,
    /// This one, now.
    Only(String),
}

/// A finished job.
#[derive(Clone, Debug, Serialize)]
pub struct FinishedJob {
    /// The job.
    pub name: &'static str,
    /// Its report, or why it failed.
    #[serde(flatten)]
    pub report: Report,
    /// Whether it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// The status of a job.
#[derive(Clone, Debug, Serialize)]
pub struct JobStatus {
    /// The job.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// When it is due, in words.
    pub schedule: String,
    /// Whether it is due now.
    pub due: bool,
    /// When it is next due, if not now.
    pub next: Time,
    /// When it last ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran_at: Option<Time>,
    /// Whether the last run failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The report of the last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
}

/// The process that runs a job, and the moment of the schedule that it serves.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    name: &'static str,
    token: String,
    due: Time,
    at: Time,
    /// Whether the transaction of the work has recorded the job as done.
    served: bool,
}

/// Runs jobs one after the other, and waits for another process that runs some. A failed job is reported, and the others run.
pub fn run(view: &mut View<'_>, which: &JobSelection) -> Result<Vec<FinishedJob>> {
    run_with(view, which, &mut |_| {})
}

/// Runs jobs like [`run`], and reports each one to `progress`.
pub fn run_with(
    view: &mut View<'_>,
    which: &JobSelection,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<FinishedJob>> {
    let jobs: Vec<&Job> = match which {
        JobSelection::Only(name) => vec![job(name)?],
        JobSelection::Due | JobSelection::All => JOBS.iter().collect(),
    };
    // Transcripts alone are enough: a lost database is restored from them.
    if !view.is_on_disk() && view.files().transcripts().next().is_none() {
        return Ok(Vec::new());
    }
    // A check without due jobs creates no file and waits for no process.
    if matches!(which, JobSelection::Due) && !is_job_due(view)? {
        return Ok(Vec::new());
    }
    let _lock = lock(view)?;
    run_all(view, &jobs, matches!(which, JobSelection::Due), progress)
}

/// Runs due jobs, unless another process runs some.
pub fn run_if_free(view: &mut View<'_>) -> Result<Vec<FinishedJob>> {
    if !view.is_on_disk() || !is_job_due(view)? {
        return Ok(Vec::new());
    }
    let Some(_lock) = try_lock(view)? else { return Ok(Vec::new()) };
    let jobs: Vec<&Job> = JOBS.iter().collect();
    run_all(view, &jobs, true, &mut |_| {})
}

/// Returns the status of every job.
pub fn jobs(view: &View<'_>) -> Result<Vec<JobStatus>> {
    let caller = view.caller();
    let settings = view.settings();
    view.read_all(|db| JOBS.iter().map(|job| shown(db, job, job.schedule(settings), caller)).collect())
}

fn is_job_due(view: &View<'_>) -> Result<bool> {
    Ok(jobs(view)?.iter().any(|job| job.due))
}

/// Writes the work of a job and its record in one transaction, for work that must not be repeated.
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

/// The record of a job in the database.
#[derive(Default)]
struct JobRecord {
    due: Option<Time>,
    ran_at: Option<Time>,
    failed: bool,
    says: Option<String>,
}

fn known(db: &Connection, name: &str) -> Result<JobRecord> {
    let sql = "SELECT due, ran_at, failed, says FROM jobs WHERE name = $1";
    let found = db.row(sql, [name], |row| {
        Ok(JobRecord { due: row.get(0)?, ran_at: row.get(1)?, failed: row.get(2)?, says: row.get(3)? })
    });
    Ok(found?.unwrap_or_default())
}

impl JobRecord {
    /// Tells whether a job that was scheduled at this moment is due. A job that never ran is due, and so is one whose last run
    /// is further in the future than a change of the time zone can explain.
    fn is_due(&self, last: Time, now: Time) -> bool {
        self.is_left(last, now) && self.again().is_none_or(|again| again <= now || again > now.plus_days(1))
    }

    /// Tells whether it is pending.
    fn is_left(&self, last: Time, now: Time) -> bool {
        self.due.is_none_or(|served| last > served || served > now.plus_days(1))
    }

    /// Returns when a failed job is retried.
    fn again(&self) -> Option<Time> {
        let at = self.ran_at.filter(|_| self.failed)?;
        Some(Time::from_millis(at.as_millis().saturating_add(RETRY_MS)))
    }
}

fn shown(db: &Connection, job: &Job, schedule: Schedule, caller: &Caller) -> Result<JobStatus> {
    let known = known(db, job.name)?;
    let (last, next) = schedule.around(caller.now, &caller.zone);
    Ok(JobStatus {
        name: job.name,
        about: job.about,
        schedule: schedule.in_words(),
        due: known.is_due(last, caller.now),
        next: known.again().filter(|_| known.is_left(last, caller.now)).map_or(next, |again| again.min(next)),
        ran_at: known.ran_at,
        failed: known.failed,
        says: known.says,
    })
}

/// Runs jobs while their lock is held.
fn run_all(
    view: &mut View<'_>,
    jobs: &[&Job],
    only_due: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<FinishedJob>> {
    let caller = view.caller();
    let mut all = Vec::new();
    for (done, job) in jobs.iter().enumerate() {
        progress(Progress { unit: Unit::Jobs, done, total: Some(jobs.len()) });
        let (last, _) = job.schedule(view.settings()).around(caller.now, &caller.zone);
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
        all.push(FinishedJob { name: job.name, failed: report.failed, report });
    }
    Ok(all)
}

/// Claims a job in one transaction, if it is due. An existing claim belongs to a dead process, because this one has the lock.
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

/// Records a job as done or failed; a failed one stays pending. If another process took the claim, nothing is recorded.
fn finish(tx: &Connection, claim: &Claim, report: &Report) -> Result<()> {
    let failed = report.failed;
    let sql = "UPDATE jobs SET due = CASE WHEN $5 THEN due ELSE $3 END, claim = NULL, claimed_at = NULL, ran_at = $4,
            failed = $5, says = $6
        WHERE name = $1 AND claim = $2";
    tx.run(sql, (claim.name, &claim.token, claim.due, claim.at, failed, &report.says)).map(drop)
}

/// How long after a failure a job is retried: an hour.
const RETRY_MS: i64 = 60 * 60 * 1000;

const LOCK_FILE: &str = "maintain.lock";

/// Waits until no other process runs jobs. The lock ends with the file handle, and so with the process.
fn lock(view: &View<'_>) -> Result<Option<Lock>> {
    view.lock(LOCK_FILE, Wait::Yes)
}

/// Takes the lock without waiting; `None`: another process has it.
fn try_lock(view: &View<'_>) -> Result<Option<Lock>> {
    view.lock(LOCK_FILE, Wait::No)
}

/// Compares lines of documents. What was compared is noted, so a repeated run compares nothing twice.
fn conflicts(view: &mut View<'_>) -> Result<Report> {
    let ComparedStatements { compared, contradicting, .. } = conflict::of_new_lines(view)?;
    let says =
        format!("{compared} lines of documents compared, {contradicting} contradict another statement");
    Ok(Report::new(says, "contradicting", i64::try_from(contradicting).unwrap_or(0)))
}

/// Compares memories with the repositories of their projects. A repeated run finds the same.
fn stale(view: &mut View<'_>) -> Result<Report> {
    let done = crate::records::stale::check(view)?;
    let says = format!(
        "{} memories compared with their repository, {} name something that is gone",
        done.checked, done.stale
    );
    Ok(Report::new(says, "stale", i64::try_from(done.stale).unwrap_or(0)))
}

/// Makes vectors of lines. A repeated run makes those that are missing.
fn lines(view: &mut View<'_>) -> Result<Report> {
    let made = workspace::embed_lines(view, usize::MAX, &mut |_, _| ControlFlow::Continue(()))?;
    Ok(Report::new(format!("{made} parts of documents got vectors of their lines"), "lines", made))
}

/// Archives log lines. A repeated run moves nothing twice.
fn logs(view: &mut View<'_>) -> Result<Report> {
    let lines = crate::records::workspace::daily::retire(view)?.lines;
    Ok(Report::new(
        format!("{lines} lines of daily logs archived"),
        "retired",
        i64::try_from(lines).unwrap_or(0),
    ))
}

/// Packs transcripts. A repeated run packs nothing twice.
fn sessions(view: &mut View<'_>) -> Result<Report> {
    let done = crate::records::session::retain(view)?;
    let left: String = done.failed.iter().map(|why| format!("; {why}")).collect();
    let says = format!("{} transcripts packed{left}", done.packed);
    let report = Report::new(says, "sessions", i64::try_from(done.packed).unwrap_or(0));
    Ok(Report { failed: !done.failed.is_empty(), ..report })
}

/// Fades facts. It counts days itself, so a repeated run has no effect.
fn decay(view: &mut View<'_>) -> Result<Report> {
    let caller = view.caller();
    write_job(view, |tx| {
        let days = graph::activation::decay(tx, caller.now)?;
        Ok(Report::new(format!("facts faded for {days} days"), "decayed_days", days))
    })
}

/// Updates collections. Unchanged files are not read again, and each collection has its own lock.
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
    let says = format!("{} collections checked, {changed} documents changed{}", names.len(), failed.concat());
    let report = Report::new(says, "reindexed", i64::try_from(changed).unwrap_or(i64::MAX));
    Ok(Report { failed: !failed.is_empty(), ..report })
}

/// Purges superseded entries. A repeated run has no effect.
fn purge(view: &mut View<'_>) -> Result<Report> {
    let purged = i64::try_from(erase::purge(view)?).unwrap_or(i64::MAX);
    Ok(Report::new(format!("{purged} superseded memories purged"), "purged", purged))
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
        Ok(Report::new(format!("{archived} memories archived"), "archived", archived))
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
    fn a_schedule_is_read_as_people_and_cron_write_it() {
        for (text, words) in [
            ("04:00", Some("daily 04:00")),
            ("Sunday 03:30", Some("Sunday 03:30")),
            ("wed 23:59", Some("Wednesday 23:59")),
            ("0 4 * * *", Some("daily 04:00")),
            ("30 3 * * 0", Some("Sunday 03:30")),
            ("30 3 * * 7", Some("Sunday 03:30")),
            ("24:00", None),
            ("4", None),
            ("*/5 * * * *", None),
            ("0 4 1 * *", None),
            ("someday 03:30", None),
            ("", None),
        ] {
            assert_eq!(Schedule::parse(text).map(Schedule::in_words).as_deref(), words, "{text}");
        }
        let defaults = Settings::default();
        for job in &JOBS {
            assert_eq!(job.schedule(&defaults).in_words(), job.schedule.in_words(), "{}", job.name);
        }
    }

    #[test]
    fn names_are_their_own() {
        for (place, job) in JOBS.iter().enumerate() {
            assert!(JOBS[..place].iter().all(|other| other.name != job.name), "{}", job.name);
        }
    }
}
