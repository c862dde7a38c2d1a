//! What a server does behind its calls: built-in vectors of another version's model made anew, vectors by the
//! provider of the settings, for what was written meanwhile by this process or another, and what maintenance is due.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use nacre::collection::IndexStamps;
use nacre::{Caller, Group, GroupName, Home, Time};

use crate::context::{now, zone};
use crate::render;

/// How many passages the provider is asked about at a time; a search waits for none of it.
const AT_ONCE: usize = 256;
/// How long to wait where all is done, and where the provider is down: longer each time, up to the last.
const IDLE: Duration = Duration::from_secs(2);
const DOWN: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(600);
/// How long to wait between two of many transactions: longer than others wait before they ask for the lock
/// again, so that a write has to wait for one of them at most.
pub const PAUSE: Duration = Duration::from_millis(10);

/// What is done behind the calls, in a thread.
pub struct Behind {
    stop: Sender<()>,
    ended: Receiver<()>,
}

impl Behind {
    /// Begins. Without a provider and without maintenance it ends when nothing is left to do. `clock` is a fixed time,
    /// in tests.
    pub fn begin(home: &Home, name: &GroupName, clock: Option<Time>) -> Behind {
        let (home, name) = (home.clone(), name.clone());
        let (stop, stopped) = channel();
        let (end, ended) = channel();
        std::thread::spawn(move || {
            work(&home, &name, clock, &Pause(stopped));
            drop(end);
        });
        Behind { stop, ended }
    }

    /// Ends it, so that the server is the last to close the database and leaves it in one file. A provider is
    /// not waited for, for what is made is committed batch by batch.
    pub fn end(self) {
        const PATIENCE: Duration = Duration::from_millis(250);
        drop(self.stop);
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}

/// Waits, or hears that it should end.
struct Pause(Receiver<()>);

impl Pause {
    fn wait(&self, time: Duration) -> ControlFlow<()> {
        use std::sync::mpsc::RecvTimeoutError::Timeout;
        if self.0.recv_timeout(time) == Err(Timeout) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

fn work(home: &Home, name: &GroupName, clock: Option<Time>, pause: &Pause) {
    let (mut wait, mut open) = (DOWN, None);
    let mut jobs = Jobs::new(home, clock);
    loop {
        let next = match make_some(home, name, &mut open, pause) {
            Ok(Some(_)) => {
                wait = DOWN;
                pause.wait(Duration::ZERO)
            }
            Ok(None) if home.embedder().is_none() => {
                let Some(left) = jobs.left() else { return };
                // Nothing else is to be done until then, so nothing is kept open.
                open = None;
                pause.wait(left)
            }
            Ok(None) => {
                wait = DOWN;
                pause.wait(IDLE)
            }
            Err(problem) => {
                if wait == DOWN {
                    render::note(&format!("vectors are not made for now: {problem}"));
                }
                let next = pause.wait(wait);
                (wait, open) = ((wait * 2).min(LONGEST), None);
                next
            }
        };
        if next.is_break() {
            return;
        }
        jobs.run(home, name);
    }
}

/// The jobs of maintenance, looked at now and then.
struct Jobs {
    clock: Option<Time>,
    every: Duration,
    /// `None`: the settings do not want it.
    next: Option<Instant>,
}

impl Jobs {
    fn new(home: &Home, clock: Option<Time>) -> Jobs {
        let settings = &home.settings().maintain;
        let every = Duration::from_secs(settings.look_seconds);
        Jobs { clock, every, next: settings.behind.then(|| Instant::now() + every) }
    }

    /// How long until the next look; `None`: there is none.
    fn left(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Runs what is due, if it is time to look. What fails is in the list of jobs; that nothing can be done at all is
    /// for the calls to say.
    fn run(&mut self, home: &Home, name: &GroupName) {
        if self.left().is_none_or(|left| left > Duration::ZERO) {
            return;
        }
        // A setting of nothing is not to keep a processor busy.
        self.next = Some(Instant::now() + self.every.max(Duration::from_secs(1)));
        let now = self.clock.unwrap_or_else(now);
        let caller = Caller { zone: zone(), ..Caller::nacre(now) };
        if let Ok(mut group) = home.group(name, now) {
            let _ = group.enter(&caller).and_then(|mut view| nacre::maintain::run_if_free(&mut view));
        }
    }
}

/// Makes some vectors; `None`: there is nothing to do. `open` has the group, and the writes up to which all
/// are made.
fn make_some(
    home: &Home,
    name: &GroupName,
    open: &mut Option<(Group, Option<IndexStamps>)>,
    pause: &Pause,
) -> nacre::Result<Option<i64>> {
    let (group, all_made) = match open {
        Some(open) => open,
        none => none.insert((home.group(name, now())?, None)),
    };
    let caller = Caller::nacre(now());
    let mut view = group.enter(&caller)?;
    let written = nacre::collection::index_stamps(&mut view)?;
    if all_made.as_ref() == Some(&written) {
        return Ok(None);
    }
    nacre::collection::renew(&mut view, usize::MAX, &mut |_| pause.wait(PAUSE))?;
    let left = nacre::collection::embed(&mut view, AT_ONCE, &mut |_| {})?.left;
    // What was just made counts as written too, so this is seen to once more.
    *all_made = (left == 0).then_some(written);
    Ok(Some(left))
}
