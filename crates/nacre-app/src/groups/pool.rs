//! A pool of open groups, so that a call does not have to open one: a few handles of each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nacre::{Caller, Group, GroupName, Home, Time, View};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::behind::BackgroundWork;
use super::watch::{self, MAX_UNCHECKED};
use super::who::Requester;
use crate::context;

/// The number of groups that are kept open.
const MAX_OPEN_GROUPS: usize = 16;

/// How long after a call what was written is copied into the database file.
const FLUSH_AFTER: Duration = Duration::from_millis(1_200);

pub struct Pool {
    home: Home,
    /// A fixed time, in tests.
    clock: Option<Time>,
    /// The largest number of handles of a group.
    handles: usize,
    groups: Mutex<HashMap<GroupName, Open>>,
    flush: Flush,
}

/// The copying of what was written last into a database file. It is set while one waits.
#[derive(Clone, Default)]
pub struct Flush(Arc<AtomicBool>);

impl Flush {
    /// Runs work on a blocking thread when no call has followed for a moment.
    pub fn later(&self, work: impl FnOnce() + Send + 'static) {
        if self.0.swap(true, Ordering::SeqCst) {
            return;
        }
        let waits = self.0.clone();
        tokio::spawn(async move {
            tokio::time::sleep(FLUSH_AFTER).await;
            waits.store(false, Ordering::SeqCst);
            let _ = tokio::task::spawn_blocking(work).await;
        });
    }
}

/// The state of one open group.
struct Open {
    idle: Vec<Group>,
    /// Calls wait here for a handle, in order: more handles than cores are no faster, and each has its own vectors in memory.
    turns: Arc<Semaphore>,
    /// Set when a document may have changed. All handles share it, because what one reads is there for all.
    changed: Arc<AtomicBool>,
    looked: Instant,
    watcher: Option<watch::Watcher>,
    behind: Option<BackgroundWork>,
    used: Instant,
}

impl Pool {
    pub fn new(home: Home, clock: Option<Time>) -> Arc<Pool> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        // One more than cores: a write waits for the disk.
        let handles = (cores + 1).clamp(3, 16);
        let pool = Arc::new(Pool { home, clock, handles, groups: Mutex::default(), flush: Flush::default() });
        let own = Arc::downgrade(&pool);
        pool.home.memory().reclaim_with(move |bytes| {
            if let Some(pool) = own.upgrade() {
                pool.release(bytes);
            }
        });
        pool
    }

    pub fn now(&self) -> Time {
        self.clock.unwrap_or_else(context::now)
    }

    /// Runs work on a group on a blocking thread.
    pub async fn ask<T: Send + 'static>(
        self: &Arc<Pool>,
        who: Requester,
        work: impl FnOnce(&mut View<'_>) -> nacre::Result<T> + Send + 'static,
    ) -> nacre::Result<T> {
        let (own, turn) = (self.clone(), self.turn(&who.group).await);
        let call = move || {
            let _turn = turn;
            own.with(&who.group, who.caller.now, |group| work(&mut group.enter(&who.caller)?))
        };
        let answer = blocking(&self.home, call).await;
        let own = self.clone();
        self.flush.later(move || own.flush());
        answer
    }

    fn flush(&self) {
        let names: Vec<GroupName> = self.lock().keys().cloned().collect();
        for name in names {
            let idle =
                self.lock().get_mut(&name).map(|open| std::mem::take(&mut open.idle)).unwrap_or_default();
            for mut group in idle {
                group.flush();
                self.give_back(&name, group);
            }
        }
    }

    /// Waits for a handle of a group.
    async fn turn(&self, name: &GroupName) -> OwnedSemaphorePermit {
        let turns = self.known(name);
        turns.acquire_owned().await.expect("never closed")
    }

    fn known(&self, name: &GroupName) -> Arc<Semaphore> {
        let mut groups = self.lock();
        if !groups.contains_key(name) && groups.len() >= MAX_OPEN_GROUPS {
            let oldest = groups.iter().min_by_key(|(_, open)| open.used).map(|(name, _)| name.clone());
            oldest.and_then(|name| groups.remove(&name));
        }
        let open = groups.entry(name.clone()).or_insert_with(|| Open {
            idle: Vec::new(),
            turns: Arc::new(Semaphore::new(self.handles)),
            changed: Arc::new(AtomicBool::new(true)),
            looked: Instant::now(),
            watcher: None,
            behind: None,
            used: Instant::now(),
        });
        open.turns.clone()
    }

    /// Runs `work` on a handle of a group. Blocks. The caller has waited for its turn.
    fn with<T>(
        &self,
        name: &GroupName,
        now: Time,
        work: impl FnOnce(&mut Group) -> nacre::Result<T>,
    ) -> nacre::Result<T> {
        let mut group = match self.take(name) {
            Some(group) => group,
            None => self.open(name, now)?,
        };
        let answer = work(&mut group);
        // A handle that panicked is not reused: it may be in an inconsistent state.
        self.give_back(name, group);
        answer
    }

    fn take(&self, name: &GroupName) -> Option<Group> {
        let mut groups = self.lock();
        let open = groups.get_mut(name)?;
        open.used = Instant::now();
        // A watcher may have missed something.
        if open.looked.elapsed() >= MAX_UNCHECKED {
            open.looked = Instant::now();
            open.changed.store(true, Ordering::SeqCst);
        }
        // One that has vectors in memory need not read them.
        let best = (0..open.idle.len()).max_by_key(|place| open.idle[*place].vector_bytes())?;
        Some(open.idle.swap_remove(best))
    }

    /// Releases the vectors of handles that are not in use, if that frees this many bytes: further handles of any group first, then
    /// those of the groups that were used longest ago. Handles stay open, because they may have something to write.
    fn release(&self, bytes: usize) {
        let mut groups = self.lock();
        let mut idle = Vec::new();
        for (name, open) in groups.iter_mut() {
            open.idle.sort_by_key(Group::vector_bytes);
            let last = open.idle.len().saturating_sub(1);
            for (place, group) in std::mem::take(&mut open.idle).into_iter().enumerate() {
                idle.push(((place == last, open.used), name.clone(), group));
            }
        }
        idle.sort_by_key(|(order, ..)| *order);
        let mut freed = 0;
        let is_needed = |(.., group): &&(_, _, Group)| {
            let is_needed = freed < bytes;
            freed += if is_needed { group.vector_bytes() } else { 0 };
            is_needed
        };
        let count = idle.iter().take_while(is_needed).count();
        let kept = idle.split_off(if freed < bytes { 0 } else { count });
        for (_, name, group) in kept {
            groups.entry(name).and_modify(|open| open.idle.push(group));
        }
        drop(groups);
        for (_, name, mut group) in idle {
            group.release_vectors();
            self.give_back(&name, group);
        }
    }

    fn open(&self, name: &GroupName, now: Time) -> nacre::Result<Group> {
        let mut group = context::open(&self.home, name, now)?;
        let mut groups = self.lock();
        let Some(open) = groups.get_mut(name) else { return Ok(group) };
        let is_there = group.settings().documents.index && !group.is_on_server() && group.folder().is_dir();
        if is_there && open.watcher.is_none() {
            open.watcher = watch::watch(group.folder(), open.changed.clone()).ok();
        }
        open.behind.get_or_insert_with(|| BackgroundWork::begin(&self.home, name, self.clock));
        if open.watcher.is_some() {
            group.sync_when(open.changed.clone());
        }
        Ok(group)
    }

    fn give_back(&self, name: &GroupName, group: Group) {
        if let Some(open) = self.lock().get_mut(name)
            && open.idle.len() < self.handles
        {
            open.idle.push(group);
        }
    }

    /// Closes everything, and writes what searches have left to note.
    pub fn close(&self, now: Time) {
        for (_, mut open) in self.lock().drain() {
            if let Some(behind) = open.behind.take() {
                behind.end();
            }
            for mut group in open.idle {
                let _ = group.enter(&Caller::nacre(now)).and_then(|mut view| view.settle());
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<GroupName, Open>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a call on a blocking thread. A panic becomes an error like any other.
pub async fn blocking<T: Send + 'static>(
    home: &Home,
    call: impl FnOnce() -> nacre::Result<T> + Send + 'static,
) -> nacre::Result<T> {
    tokio::task::spawn_blocking(call).await.unwrap_or_else(|panic| {
        let source = std::io::Error::other(format!("the call failed: {panic}"));
        Err(nacre::Error::Io { path: home.path().to_owned(), source })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use nacre::{MemoryBudget, Settings};
    use serde_json::json;

    use super::*;

    const PASSAGES: usize = 4_400;
    /// The bytes of a vector. These passages have one each.
    const VECTOR_BYTES: usize = 264;
    const GROUPS: [&str; 3] = ["one", "two", "three"];

    fn now() -> Time {
        Time::parse("2026-01-15T12:00:00Z").unwrap()
    }

    /// Fills three groups, each with one passage about a volcano.
    fn filled(folder: &std::path::Path) {
        let home = Home::new(folder, Settings::default());
        for name in GROUPS {
            let mut group = home.group(&name.parse().unwrap(), now()).unwrap();
            let caller = Caller::nacre(now());
            let mut view = group.enter(&caller).unwrap();
            let talk: String = (0..PASSAGES)
                .map(|number| {
                    let what = if number == 2_222 { "volcano" } else { "harbour" };
                    let text = format!("The {what} of {name} was painted for day {number}");
                    format!(
                        "{}\n",
                        json!({ "id": number.to_string(), "session": "s", "role": "user", "text": text })
                    )
                })
                .collect();
            nacre::session::import_transcript(&mut view, talk.as_bytes(), "talk", |_| {}).unwrap();
        }
    }

    /// A pool whose memory fits this many of the groups.
    fn pool(folder: &std::path::Path, groups: usize) -> Arc<Pool> {
        let budget = MemoryBudget::new(groups * PASSAGES * VECTOR_BYTES * 5 / 4);
        Pool::new(Home::new(folder, Settings::default()).with_memory(budget), Some(now()))
    }

    /// Searches a group. Returns whether everything was compared.
    async fn ask(pool: &Arc<Pool>, name: &str) -> bool {
        let who = Requester { caller: Caller::nacre(now()), group: name.parse().unwrap() };
        let arguments = json!({ "query": "Which volcano was painted?", "scope": ["sessions"] });
        let found = pool.ask(who, |view| nacre::call(view, "memory_search", arguments)).await.unwrap().data;
        let text = found["hits"][0]["text"].as_str().unwrap();
        assert!(text.contains(&format!("volcano of {name}")), "{found}");
        !found["missing"].to_string().contains("serve.memory")
    }

    #[tokio::test]
    async fn groups_in_turn_did_not_free_the_memory_of_those_before() {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        let pool = pool(folder.path(), 1);
        for _ in 0..2 {
            for name in GROUPS {
                // The first search of a handle keeps nothing, the second does.
                for _ in 0..2 {
                    assert!(ask(&pool, name).await, "{name}");
                    assert!(pool.home.memory().used() <= pool.home.memory().limit());
                }
            }
        }
        assert_eq!(pool.home.memory().searches_beyond(), 0);
        pool.close(now());
        assert_eq!(pool.home.memory().used(), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn parallel_calls_used_more_memory_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        let pool = pool(folder.path(), 2);
        let most = Arc::new(AtomicUsize::new(0));
        let calls = (0..8).map(|number| {
            let (pool, most) = (pool.clone(), most.clone());
            tokio::spawn(async move {
                let mut complete = 0;
                for round in 0..6 {
                    complete += usize::from(ask(&pool, GROUPS[(number + round) % 3]).await);
                    most.fetch_max(pool.home.memory().used(), Ordering::SeqCst);
                }
                complete
            })
        });
        let mut complete = 0;
        for call in calls.collect::<Vec<_>>() {
            complete += call.await.unwrap();
        }
        let budget = pool.home.memory();
        assert!((1..=budget.limit()).contains(&most.load(Ordering::SeqCst)), "{most:?}");
        assert_eq!(complete as u64 + budget.searches_beyond(), 8 * 6);
        // A group is complete again once nobody else needs the memory.
        assert!(ask(&pool, GROUPS[0]).await);
        pool.close(now());
        assert_eq!(pool.home.memory().used(), 0);
    }
}
