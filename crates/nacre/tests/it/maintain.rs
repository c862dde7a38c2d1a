//! Maintenance (SPEC I6): jobs when they are due, once each, whoever looks.

use nacre::maintain::{JOBS, Ran, Which};
use nacre::{Caller, Group, Time, TimeZone};
use serde_json::json;

use crate::sealed::Place;

/// Runs one job now and returns one of its numbers.
pub fn only(group: &mut Group, caller: &Caller, job: &str, count: &str) -> i64 {
    let ran = group.maintain(caller, &TimeZone::UTC, &Which::Only(job.into())).unwrap();
    ran[0].report.counts[count]
}
