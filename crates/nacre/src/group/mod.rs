//! One open group: its database and its folder, the handle that all else takes. A handle can't reach another
//! group.

mod plugin;
mod services;
mod view;

use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::caller::Caller;
use crate::base::ids::{CollectionName, EntryId, GroupName};
use crate::base::{Result, Settings, Time};
use crate::index::Schema;
use crate::index::database::{Database, Owner};
use crate::store::Connection;
use crate::store::event::{Event, Events};

pub use plugin::{BriefPlugin, MakeBrief, Said};
pub(crate) use services::Services;
pub use view::View;

/// The database's name in the group's folder.
const FILE: &str = "memory.db";

/// One open group. What it holds is read and written through a [`View`].
pub struct Group {
    folder: PathBuf,
    settings: Arc<Settings>,
    records: &'static Records,
    memory: Database,
    /// Those of its collections that were asked for.
    collections: BTreeMap<CollectionName, Database>,
    events: Events,
    services: Services,
    kept: Kept,
}

/// What a handle keeps between two calls.
#[derive(Default)]
struct Kept {
    pending: Pending,
    /// What the floors above keep, by type.
    state: Vec<Box<dyn Any + Send>>,
}

/// The records that a group holds, as far as its handle must know them. The floor above fills this table in.
pub(crate) struct Records {
    pub(crate) schema: Schema,
    /// Writes what reads have left to be noted.
    pub(crate) settle: fn(&Connection, &Pending) -> Result<()>,
    /// Runs when a database was opened or replaced.
    pub(crate) opened: fn(&mut View<'_>) -> Result<()>,
}

/// What reads leave to be noted. It goes into the database with the next write, because a read costs no write.
#[derive(Default)]
pub(crate) struct Pending {
    /// Entries that agents were shown.
    pub(crate) returned: BTreeMap<EntryId, Time>,
    /// Lines of MEMORY.md that were used, by hash.
    pub(crate) used_lines: BTreeMap<String, Time>,
    /// Entries and facts that came together in one answer.
    pub(crate) recalled: Vec<Recalled>,
    /// The questions of the last minute.
    asked: Vec<(String, Time)>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.returned.is_empty() && self.recalled.is_empty() && self.used_lines.is_empty()
    }

    /// Forgets what was written. Questions stay: the same one within a minute counts once.
    fn written(&mut self) {
        self.returned.clear();
        self.used_lines.clear();
        self.recalled.clear();
    }
}

/// Entries, and facts and relations, that came together in one answer, best first.
pub(crate) struct Recalled {
    pub(crate) entries: Vec<EntryId>,
    pub(crate) graph: Vec<String>,
    pub(crate) at: Time,
}

impl Group {
    /// Opens a group. One that nobody has written to is empty, and nothing is made for it.
    pub(crate) fn open(
        home: &Path,
        name: GroupName,
        settings: Arc<Settings>,
        services: Services,
        records: &'static Records,
        now: Time,
    ) -> Result<Group> {
        let folder = home.join("groups").join(name.as_str());
        let events = Events::new(home, &settings.telemetry);
        let owner = Owner { group: name, collection: None };
        let memory = Database::open(folder.join(FILE), owner, &records.schema, &settings, now)?;
        let (collections, kept) = (BTreeMap::new(), Kept::default());
        let mut group = Group { folder, settings, records, memory, collections, events, services, kept };
        group.opened(now)?;
        Ok(group)
    }

    /// Enters the group as whoever asks: from here on everything that is read or written is theirs.
    pub fn enter<'g>(&'g mut self, caller: &'g Caller) -> Result<View<'g>> {
        self.refresh(caller.now)?;
        Ok(View::new(self, caller))
    }

    /// Returns the group's name.
    pub fn name(&self) -> &GroupName {
        &self.memory.owner().group
    }

    /// Returns the folder of the group.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Returns the programs and models of others that it may use.
    pub(crate) fn services(&self) -> &Services {
        &self.services
    }

    /// Returns how the tables of its databases came to be, and the owners of their passages.
    pub(crate) fn schema(&self) -> &'static Schema {
        &self.records.schema
    }

    /// Has `listener` hear of every event of this handle, after commit.
    pub fn listen(&mut self, listener: impl Fn(&Event) + Send + 'static) {
        self.events.listen(Box::new(listener));
    }

    /// Has searches look at the documents only when `changed` was set since the last look. For whoever watches
    /// the folder; without this every search looks.
    pub fn sync_when(&mut self, changed: Arc<AtomicBool>) {
        self.services.changed = Some(changed);
    }

    fn look_again(&self) {
        if let Some(changed) = &self.services.changed {
            changed.store(true, Ordering::SeqCst);
        }
    }

    /// Sees to it that the handle stands on the file that is there now: another process may have made it,
    /// moved it or put one in its place.
    fn refresh(&mut self, now: Time) -> Result<()> {
        if self.memory.refresh(now)? {
            self.look_again();
            self.opened(now)?;
        }
        Ok(())
    }

    fn opened(&mut self, now: Time) -> Result<()> {
        let nacre = Caller::nacre(now);
        (self.records.opened)(&mut View::new(self, &nacre))
    }
}
