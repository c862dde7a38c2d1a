//! What a server does behind its calls: vectors by the provider of the settings, for what was written meanwhile
//! by this process or another.

use std::time::Duration;

use nacre::{Group, GroupName, Home};

use crate::context::now;
use crate::render;

/// How many passages are taken at a time; a search waits for none of it.
const AT_ONCE: usize = 256;
/// How long to wait where all is done, and where the provider is down: longer each time, up to the last.
const IDLE: Duration = Duration::from_secs(2);
const DOWN: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(600);

/// Begins, if there is a provider. It ends with the process: what is made is committed batch by batch.
pub fn embed(home: &Home, name: &GroupName) {
    if home.embedder().is_none() {
        return;
    }
    let (home, name) = (home.clone(), name.clone());
    std::thread::spawn(move || {
        let (mut wait, mut open) = (DOWN, None);
        loop {
            match make_some(&home, &name, &mut open) {
                Ok(Some(_)) => wait = DOWN,
                Ok(None) => {
                    wait = DOWN;
                    std::thread::sleep(IDLE);
                }
                Err(problem) => {
                    if wait == DOWN {
                        render::note(&format!("vectors of the provider are not made for now: {problem}"));
                    }
                    std::thread::sleep(wait);
                    (wait, open) = ((wait * 2).min(LONGEST), None);
                }
            }
        }
    });
}

/// Makes some vectors; `None`: there is nothing to do. `open` has the group, and the number of the write up to
/// which all are made.
fn make_some(
    home: &Home,
    name: &GroupName,
    open: &mut Option<(Group, Option<i64>)>,
) -> nacre::Result<Option<i64>> {
    let (group, all_made) = match open {
        Some(open) => open,
        none => none.insert((home.group(name, now())?, None)),
    };
    let written = group.written(now())?;
    if *all_made == Some(written) {
        return Ok(None);
    }
    let left = group.embed(now(), AT_ONCE, &mut |_| {})?.left;
    // What was just made counts as written too, so this is seen to once more.
    *all_made = (left == 0).then_some(written);
    Ok(Some(left))
}
