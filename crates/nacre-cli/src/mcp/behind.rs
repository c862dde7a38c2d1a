//! What a server does behind its calls: built-in vectors of another version's model made anew, and vectors by the
//! provider of the settings, for what was written meanwhile by this process or another.

use std::thread::sleep;
use std::time::Duration;

use nacre::{Group, GroupName, Home, Written};

use crate::context::now;
use crate::render;

/// How many passages the provider is asked about at a time; a search waits for none of it.
const AT_ONCE: usize = 256;
/// How long to wait where all is done, and where the provider is down: longer each time, up to the last.
const IDLE: Duration = Duration::from_secs(2);
const DOWN: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(600);

/// Waits longer than others wait before they ask for the lock again, so that a write never has to wait for more
/// than one of many transactions.
pub fn let_others_write() {
    const PAUSE: Duration = Duration::from_millis(10);
    sleep(PAUSE);
}

/// Begins. It ends with the process, for what is made is committed batch by batch; without a provider it ends when
/// nothing is left to do.
pub fn begin(home: &Home, name: &GroupName) {
    let (home, name) = (home.clone(), name.clone());
    std::thread::spawn(move || {
        let (mut wait, mut open) = (DOWN, None);
        loop {
            match make_some(&home, &name, &mut open) {
                Ok(Some(_)) => wait = DOWN,
                Ok(None) if home.embedder().is_none() => return,
                Ok(None) => {
                    wait = DOWN;
                    sleep(IDLE);
                }
                Err(problem) => {
                    if wait == DOWN {
                        render::note(&format!("vectors are not made for now: {problem}"));
                    }
                    sleep(wait);
                    (wait, open) = ((wait * 2).min(LONGEST), None);
                }
            }
        }
    });
}

/// Makes some vectors; `None`: there is nothing to do. `open` has the group, and the writes up to which all are
/// made.
fn make_some(
    home: &Home,
    name: &GroupName,
    open: &mut Option<(Group, Option<Written>)>,
) -> nacre::Result<Option<i64>> {
    let (group, all_made) = match open {
        Some(open) => open,
        none => none.insert((home.group(name, now())?, None)),
    };
    let written = group.written(now())?;
    if all_made.as_ref() == Some(&written) {
        return Ok(None);
    }
    group.renew(now(), usize::MAX, &mut |_| let_others_write())?;
    let left = group.embed(now(), AT_ONCE, &mut |_| {})?.left;
    // What was just made counts as written too, so this is seen to once more.
    *all_made = (left == 0).then_some(written);
    Ok(Some(left))
}
