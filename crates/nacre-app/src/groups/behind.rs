//! Background work of a server: it rebuilds built-in vectors of another version's model, has the configured provider embed what
//! this process or another has written, runs maintenance jobs that are due, and syncs the group with other machines.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use nacre::collection::IndexStamps;
use nacre::{Caller, Group, GroupName, Home, Time};

use crate::context::{now, zone};
use crate::render;

/// Passages in one request to the provider. No search waits for it.
const BATCH_PASSAGES: usize = 256;
/// How long to wait if there is nothing to do, and if the provider is down: longer each time, up to the last.
const IDLE_PAUSE: Duration = Duration::from_secs(2);
const DOWN_PAUSE: Duration = Duration::from_secs(15);
const MAX_PAUSE: Duration = Duration::from_secs(600);
/// How long to wait between transactions: longer than others wait before they try to lock again, so that a write waits for one
/// of them at most.
pub const PAUSE: Duration = Duration::from_millis(10);

/// The thread that does the background work.
pub struct BackgroundWork {
    stop: Sender<()>,
    ended: Receiver<()>,
}

impl BackgroundWork {
    /// Starts the thread. Without a provider and without maintenance it ends when nothing is left to do. `clock` is a fixed time,
    /// in tests.
    pub fn begin(home: &Home, name: &GroupName, clock: Option<Time>) -> BackgroundWork {
        let (home, name) = (home.clone(), name.clone());
        let (stop, stopped) = channel();
        let (end, ended) = channel();
        std::thread::spawn(move || {
            work(&home, &name, clock, &Pause(stopped));
            drop(end);
        });
        BackgroundWork { stop, ended }
    }

    /// Ends the thread, so that the server is the last to close the database and leaves one file. It does not wait for a provider,
    /// because vectors are committed batch by batch.
    pub fn end(self) {
        const END_TIMEOUT: Duration = Duration::from_millis(250);
        drop(self.stop);
        let _ = self.ended.recv_timeout(END_TIMEOUT);
    }
}

/// Waits until a time has passed or the thread should end.
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
    let (mut wait, mut open) = (DOWN_PAUSE, None);
    let mut jobs = Jobs::new(home, clock);
    let mut rounds = Rounds::new(home, name, clock);
    loop {
        let next = match make_some(home, name, &mut open, pause) {
            Ok(Some(_)) => {
                wait = DOWN_PAUSE;
                pause.wait(Duration::ZERO)
            }
            Ok(None) if home.embedder().is_none() => {
                let Some(left) = [jobs.left(), rounds.left()].into_iter().flatten().min() else { return };
                // There is nothing else to do until then, so the group is closed.
                open = None;
                pause.wait(left)
            }
            Ok(None) => {
                wait = DOWN_PAUSE;
                pause.wait(IDLE_PAUSE)
            }
            Err(problem) => {
                if wait == DOWN_PAUSE {
                    render::note(&format!("no vectors are made for now: {problem}"));
                }
                let next = pause.wait(wait);
                (wait, open) = ((wait * 2).min(MAX_PAUSE), None);
                next
            }
        };
        if next.is_break() {
            return;
        }
        jobs.run(home, name);
        rounds.run(home, name);
    }
}

/// The rounds with other machines.
struct Rounds {
    clock: Option<Time>,
    every: Duration,
    /// `None`: the group is not synced, or automatic rounds are off.
    next: Option<Instant>,
    /// The last problem, which is told once.
    problem: Option<String>,
}

impl Rounds {
    fn new(home: &Home, name: &GroupName, clock: Option<Time>) -> Rounds {
        let every = Duration::from_secs(home.settings().sync.minutes.saturating_mul(60));
        let is_on = nacre::sync::is_on(home.path(), name) && !every.is_zero();
        Rounds { clock, every, next: is_on.then(Instant::now), problem: None }
    }

    /// Returns the time until the next round; `None`: there is none.
    fn left(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Runs a round, if it is time for one.
    fn run(&mut self, home: &Home, name: &GroupName) {
        if self.left().is_none_or(|left| left > Duration::ZERO) {
            return;
        }
        self.next = Some(Instant::now() + self.every);
        let now = self.clock.unwrap_or_else(now);
        let caller = Caller::nacre(now);
        let round = home.group(name, now).and_then(|mut group| {
            nacre::sync::round(&mut group.enter(&caller)?, &nacre::sync::RoundOptions::default())
        });
        let problem =
            round.err().filter(|problem| problem.code() != "sync_busy").map(|problem| problem.to_string());
        if let Some(problem) = problem.as_ref().filter(|problem| self.problem.as_ref() != Some(problem)) {
            render::note(&format!("not synced for now: {problem}; `nacre sync status` says more"));
        }
        self.problem = problem;
    }
}

/// The maintenance jobs, checked now and then.
struct Jobs {
    clock: Option<Time>,
    every: Duration,
    /// `None`: maintenance is off in the settings.
    next: Option<Instant>,
}

impl Jobs {
    fn new(home: &Home, clock: Option<Time>) -> Jobs {
        let settings = &home.settings().maintain;
        let every = Duration::from_secs(settings.look_seconds);
        Jobs { clock, every, next: settings.behind.then(|| Instant::now() + every) }
    }

    /// Returns the time until the next check; `None`: there is none.
    fn left(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Runs the jobs that are due, if it is time to check. A failure is shown in the list of jobs; if the group can't be opened at
    /// all, calls report that.
    fn run(&mut self, home: &Home, name: &GroupName) {
        if self.left().is_none_or(|left| left > Duration::ZERO) {
            return;
        }
        // A setting of 0 must not keep a processor busy.
        self.next = Some(Instant::now() + self.every.max(Duration::from_secs(1)));
        let now = self.clock.unwrap_or_else(now);
        let caller = Caller { zone: zone(), ..Caller::nacre(now) };
        if let Ok(mut group) = home.group(name, now) {
            let _ = group.enter(&caller).and_then(|mut view| nacre::maintain::run_if_free(&mut view));
        }
    }
}

/// Makes some vectors; `None`: there is nothing to do. `open` has the group, and the writes up to which all vectors are made.
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
    nacre::workspace::embed_lines(&mut view, usize::MAX, &mut |_, _| pause.wait(PAUSE))?;
    let left = nacre::collection::embed(&mut view, BATCH_PASSAGES, &mut |_| {})?.left;
    // The vectors just made count as writes too, so this runs once more.
    *all_made = (left == 0).then_some(written);
    Ok(Some(left))
}
