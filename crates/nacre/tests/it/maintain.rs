//! Maintenance: jobs when they are due, once each, whoever looks.

use nacre::maintain::{FinishedJob, JOBS, JobSelection};
use nacre::{Caller, Group, Time, Zone};
use serde_json::json;

use crate::sealed::{Place, is_without_folder};

/// Runs one job now and returns one of its numbers.
pub fn only(group: &mut Group, caller: &Caller, job: &str, count: &str) -> i64 {
    let ran =
        nacre::maintain::run(&mut group.enter(caller).unwrap(), &JobSelection::Only(job.into())).unwrap();
    ran[0].report.counts[count]
}

fn ran(place: &mut Place, at: &str) -> Vec<&'static str> {
    let caller = Caller::person("a-person".parse().unwrap(), Time::parse(at).unwrap());
    let ran = nacre::maintain::run(&mut place.view_of(&caller), &JobSelection::Due).unwrap();
    ran.iter().map(|ran: &FinishedJob| ran.name).collect()
}

#[test]
fn a_missed_job_runs_once() {
    let mut place = Place::new();
    // Where nothing is remembered there is nothing to look after, and nothing is made.
    assert_eq!(ran(&mut place, "2026-01-15T12:00:00Z"), [""; 0]);
    place.store("The staging server is called kestrel");
    for (at, expected) in [
        (
            "2026-01-15T12:00:00Z",
            vec!["decay", "reindex", "purge", "prune", "sessions", "logs", "lines", "conflicts", "stale"],
        ),
        ("2026-01-15T12:00:01Z", vec![]),
        ("2026-01-16T02:59:00Z", vec![]),
        ("2026-01-16T03:00:00Z", vec!["decay"]),
        ("2026-01-16T04:30:00Z", vec!["purge", "prune", "sessions", "logs", "lines", "conflicts", "stale"]),
        // A Sunday passed, and many mornings: once each.
        (
            "2026-01-29T12:00:00Z",
            vec!["decay", "reindex", "purge", "prune", "sessions", "logs", "lines", "conflicts", "stale"],
        ),
        ("2026-01-29T23:00:00Z", vec![]),
        // A clock that goes back is no reason; one that was far ahead is.
        ("2026-01-29T01:00:00Z", vec![]),
        (
            "2026-01-20T12:00:00Z",
            vec!["decay", "reindex", "purge", "prune", "sessions", "logs", "lines", "conflicts", "stale"],
        ),
    ] {
        assert_eq!(ran(&mut place, at), expected, "{at}");
    }
    place.check();
}

#[test]
fn every_job_says_when_it_is_due_and_what_it_did() {
    let mut place = Place::new();
    place.store("The staging server is called kestrel");
    let now = Time::parse("2026-01-15T12:00:00Z").unwrap();
    let caller = Caller::person("a-person".parse().unwrap(), now);
    let before = nacre::maintain::jobs(&place.view_of(&caller)).unwrap();
    assert!(before.iter().all(|job| job.due && job.ran_at.is_none() && job.says.is_none()));
    ran(&mut place, "2026-01-15T12:00:00Z");
    let jobs = nacre::maintain::jobs(&place.view_of(&caller)).unwrap();
    assert_eq!(jobs.len(), JOBS.len());
    for job in &jobs {
        assert!(!job.due && job.ran_at == Some(now) && job.says.is_some() && job.next > now, "{job:?}");
    }
    assert_eq!(jobs[0].schedule, "daily 03:00");
    assert_eq!(jobs[1].schedule, "Sunday 03:30");
    assert_eq!(jobs[0].says.as_deref(), Some("facts faded for 0 days"));
    let unknown =
        nacre::maintain::run(&mut place.view_of(&caller), &JobSelection::Only("dream".into())).unwrap_err();
    assert_eq!(unknown.code(), "no_job");
    let all = nacre::maintain::run(&mut place.view_of(&caller), &JobSelection::All).unwrap();
    assert_eq!(all.len(), JOBS.len(), "what is asked for runs, due or not");
    // A job that did nothing left no row in the audit log.
    assert_eq!(nacre::status(&place.view()).unwrap().audit_rows, 1);
}

#[test]
fn jobs_run_in_the_hours_of_the_person() {
    let tokyo = Zone::rule("JST-9").unwrap();
    let mut place = Place::new();
    place.store("The staging server is called kestrel");
    let mut due = |at: &str, zone: &Zone| {
        let (now, zone) = (Time::parse(at).unwrap(), zone.clone());
        let caller = Caller { zone, ..Caller::person("a-person".parse().unwrap(), now) };
        nacre::maintain::run(&mut place.view_of(&caller), &JobSelection::Due).unwrap().len()
    };
    assert_eq!(due("2026-01-15T12:00:00Z", &tokyo), JOBS.len());
    assert_eq!(due("2026-01-15T17:59:00Z", &tokyo), 0);
    assert_eq!(due("2026-01-15T18:00:00Z", &tokyo), 1, "it is three in the morning there");
}

#[test]
fn collections_are_brought_up_to_date() {
    let mut place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
    let write =
        |name: &str| std::fs::write(folder.path().join(name), "# Herons\n\nThey eat frogs.\n").unwrap();
    write("one.md");
    let caller = Caller::person("a-person".parse().unwrap(), place.caller.now);
    let name = "papers".parse().unwrap();
    nacre::collection::add(&mut place.view_of(&caller), &name, &[folder.path().to_owned()], &mut |_, _| {})
        .unwrap();
    write("two.md");
    assert_eq!(only(&mut place.group, &caller, "reindex", "reindexed"), 1);
    let found = place.call("memory_search", json!({ "query": "frogs", "scope": ["sources"] })).data;
    assert_eq!(found["hits"].as_array().unwrap().len(), 2);
}

#[test]
fn a_job_that_failed_waited_for_its_next_time() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    place.store("The staging server is called kestrel");
    ran(&mut place, "2026-01-15T12:00:00Z");
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("papers");
    #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
    let make = || {
        std::fs::create_dir_all(&source).unwrap();
        std::fs::write(source.join("one.md"), "# Herons\n").unwrap();
    };
    make();
    let caller = Caller::person("a-person".parse().unwrap(), place.caller.now);
    let name = "papers".parse().unwrap();
    nacre::collection::add(&mut place.view_of(&caller), &name, std::slice::from_ref(&source), &mut |_, _| {})
        .unwrap();
    // Its database can't be made.
    let database = place.group.folder().join("collections/papers.db");
    let break_it = || {
        for entry in std::fs::read_dir(database.parent().unwrap()).unwrap().flatten() {
            std::fs::remove_file(entry.path()).unwrap();
        }
        std::fs::create_dir(&database).unwrap();
    };
    ran(&mut place, "2026-01-18T03:29:00Z");
    place.reopen();
    break_it();
    for (at, expected) in [
        ("2026-01-18T03:30:00Z", vec!["reindex"]),
        ("2026-01-18T03:31:00Z", vec![]),
        // After an hour, and not a week later.
        ("2026-01-18T04:29:59Z", vec!["purge", "prune", "sessions"]),
        ("2026-01-18T04:30:00Z", vec!["reindex", "logs", "lines", "conflicts", "stale"]),
        ("2026-01-18T05:00:00Z", vec![]),
    ] {
        assert_eq!(ran(&mut place, at), expected, "{at}");
    }
    let now = Time::parse("2026-01-18T05:00:00Z").unwrap();
    let jobs =
        nacre::maintain::jobs(&place.view_of(&Caller::person("a-person".parse().unwrap(), now))).unwrap();
    assert!(jobs[1].failed && jobs[1].next == Time::parse("2026-01-18T05:30:00Z").unwrap(), "{:?}", jobs[1]);
    std::fs::remove_dir(&database).unwrap();
    assert_eq!(ran(&mut place, "2026-01-18T06:00:00Z"), ["reindex"]);
    assert_eq!(ran(&mut place, "2026-01-18T08:00:00Z"), [""; 0]);
}

#[test]
fn what_nobody_asked_for_was_put_down_to_a_person() {
    let mut place = Place::new();
    place.store("The staging server is called kestrel");
    crate::files::put(&place, "memory/2025-12-01.md", "- [note|i=0.1] small\n");
    nacre::maintain::run_if_free(&mut place.view_of(&Caller::nacre(place.caller.now))).unwrap();
    let mut actors = Vec::new();
    let audit = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        actors.push(format!("{} {}", row["actor"].as_str().unwrap(), row["action"].as_str().unwrap()));
    };
    place.view().export_audit(audit).unwrap();
    assert!(actors.contains(&"nacre retention".to_owned()), "{actors:?}");
    assert!(actors.iter().all(|row| !row.starts_with("person")), "{actors:?}");
}
