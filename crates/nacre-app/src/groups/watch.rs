//! Watches the documents of a group, so that a long-running server reads the files only when one may have changed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nacre::Group;
use notify_debouncer_full::notify::{Config, Error, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{
    DebounceEventResult, DebouncedEvent, Debouncer, RecommendedCache, new_debouncer_opt,
};

use crate::render;

/// How long a file has to be left alone before it counts as changed.
const DEBOUNCE: Duration = Duration::from_millis(1_500);
/// After this time the files are checked in any case: a watcher may have missed something.
pub const MAX_UNCHECKED: Duration = Duration::from_secs(30);

pub type Watcher = Debouncer<RecommendedWatcher, RecommendedCache>;

/// The watch over a group's folder.
#[derive(Default)]
pub enum Watch {
    /// There is no folder to watch yet.
    #[default]
    NotYet,
    /// Watching.
    On { changed: Arc<AtomicBool>, looked: Instant, _watcher: Watcher },
    /// Watching failed: every search checks the files.
    Failed,
}

impl Watch {
    /// Called before each call: starts the watch when there is a folder, and has the files checked from time to time.
    pub fn keep(&mut self, group: &mut Group) {
        match self {
            Watch::NotYet
                if group.settings().documents.index && !group.is_on_server() && group.folder().is_dir() =>
            {
                let changed = Arc::new(AtomicBool::new(true));
                *self = match watch(group.folder(), changed.clone()) {
                    Ok(watcher) => {
                        group.sync_when(changed.clone());
                        Watch::On { changed, looked: Instant::now(), _watcher: watcher }
                    }
                    Err(problem) => {
                        say(&problem);
                        Watch::Failed
                    }
                };
            }
            Watch::On { changed, looked, .. } if looked.elapsed() >= MAX_UNCHECKED => {
                *looked = Instant::now();
                changed.store(true, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}

pub fn watch(folder: &Path, changed: Arc<AtomicBool>) -> Result<Watcher, Error> {
    let (root, mut said) = (folder.to_owned(), false);
    let heard = move |heard: DebounceEventResult| match heard {
        Ok(events) if events.iter().any(|event| concerns(&root, event)) => {
            changed.store(true, Ordering::SeqCst);
        }
        Ok(_) => {}
        Err(problems) => {
            changed.store(true, Ordering::SeqCst);
            if let Some(problem) = problems.first().filter(|_| !std::mem::replace(&mut said, true)) {
                say(problem);
            }
        }
    };
    // Links lead out of the folder.
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = new_debouncer_opt(DEBOUNCE, None, heard, RecommendedCache::new(), config)?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(watcher)
}

/// Tells whether an event may be about a document, and not about a database or a file outside the workspace.
fn concerns(root: &Path, event: &DebouncedEvent) -> bool {
    let apart = |path: &Path| {
        let below = path.strip_prefix(root).unwrap_or(path);
        let mut names = below.iter().map(|name| name.to_string_lossy());
        let ours = |name: &str| name.starts_with("memory.db") || name == "sessions";
        // Databases of collections, with their logs and locks.
        let of_collection = below.starts_with("collections")
            && names.clone().next_back().is_some_and(|name| !name.ends_with(".md"));
        names.clone().next().is_some_and(|first| ours(&first))
            || of_collection
            || names.any(|name| name.starts_with('.'))
    };
    event.need_rescan() || !event.kind.is_access() && !event.paths.iter().all(|path| apart(path))
}

fn say(problem: &Error) {
    render::note(&format!("the documents can't be watched, so every search checks them: {problem}"));
}
