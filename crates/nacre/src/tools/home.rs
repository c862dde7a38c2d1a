//! The home: the folder that holds everything.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::Settings;
use crate::base::caller::Caller;
use crate::base::ids::GroupName;
use crate::base::member::MemberRole;
use crate::base::secret::Secret;
use crate::base::{Error, Result, Time, files};
use crate::group::{BriefPlugin, Group, RunDistiller, Services};
use crate::index::MemoryBudget;
use crate::index::embed::{Embedder, http};
use crate::records::export;
use crate::records::schema::RECORDS;
use crate::store::{Server, ServerReport, initialise_server};
use crate::tools::TOOLS;

/// The settings file's name in the home.
pub const SETTINGS_FILE: &str = "nacre.toml";

/// A home and its settings.
#[derive(Clone)]
pub struct Home {
    path: PathBuf,
    /// The server with the groups; `None`: they are in the folder.
    pub(super) server: Option<Server>,
    settings: Arc<Settings>,
    services: Services,
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Home {
    /// Uses a folder as the home. Nothing is read or created until a group is opened.
    pub fn new(path: impl Into<PathBuf>, settings: Settings) -> Home {
        let (settings, services) = (Arc::new(settings), Services::default());
        Home { path: path.into(), server: None, settings, services }
    }

    /// Uses a PostgreSQL database for the groups, and the folder for what belongs to this machine. Nothing is
    /// connected until a group is opened.
    pub fn with_server(mut self, url: &str, password: Option<&str>) -> Result<Home> {
        self.server = Some(Server::new(url, password)?);
        Ok(self)
    }

    /// Acts for the member of a team with this token, if the groups are on a server.
    pub fn with_token(mut self, token: Secret) -> Home {
        self.server = self.server.map(|server| server.with_token(token));
        self
    }

    /// Returns the same home with other settings, and without models and plugins.
    pub fn with_settings(&self, settings: Settings) -> Home {
        let (path, server) = (self.path.clone(), self.server.clone());
        let services = Services { memory: self.services.memory.clone(), ..Services::default() };
        Home { path, server, settings: Arc::new(settings), services }
    }

    /// Returns the address of the server without user and password, if there is one.
    pub fn server(&self) -> Option<&str> {
        self.server.as_ref().map(Server::name)
    }

    /// Creates the schema of Nacre in the database of the server, or brings it to this version. Returns `None` if
    /// the groups are in a folder.
    pub fn initialise_server(&self) -> Result<Option<ServerReport>> {
        self.server.as_ref().map(initialise_server).transpose()
    }

    /// Deletes a group permanently, with everything it remembers.
    pub fn remove_group(&self, name: &GroupName) -> Result<()> {
        if let Some(server) = &self.server {
            server.rights(name, None)?.need(MemberRole::Admin)?;
            server.remove(name)?;
        }
        let folder = self.path.join("groups").join(name.as_str());
        match fs::remove_dir_all(&folder) {
            Err(problem) if self.server.is_some() && problem.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(Error::io(&folder)),
        }
    }

    /// Adds a model whose vectors are searched together with the built-in ones, as far as they have been computed
    /// ([`embed`](crate::records::collection::embed)).
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Home {
        self.services.embedder = Some(embedder);
        self
    }

    /// Enables these compatibility APIs as well.
    pub fn with_compat(mut self, apis: &[&str]) -> Home {
        let enabled = &mut Arc::make_mut(&mut self.settings).tools.compat;
        enabled.extend(apis.iter().map(|api| (*api).to_owned()));
        enabled.sort();
        enabled.dedup();
        self
    }

    /// Offers agents only the tools of the enabled compatibility APIs.
    pub fn with_compat_alone(mut self) -> Home {
        Arc::make_mut(&mut self.settings).tools.offer.clear();
        self
    }

    /// Returns a home whose agents are offered every tool that is not restricted to people.
    pub fn with_all_tools(mut self) -> Home {
        let all = TOOLS.iter().filter(|tool| !tool.people).map(|tool| tool.name.to_owned());
        Arc::make_mut(&mut self.settings).tools.offer = all.collect();
        self
    }

    /// Uses this model for summaries. If it fails, the built-in method is used.
    pub fn with_chat(mut self, chat: Arc<http::Chat>) -> Home {
        self.services.chat = Some(chat);
        self
    }

    /// Uses this program to take memories out of conversations, where the settings or a person ask for that.
    pub fn with_distiller(mut self, run: Arc<RunDistiller>) -> Home {
        self.services.distiller = Some(run);
        self
    }

    /// Uses a plugin for the brief.
    pub fn with_brief_plugin(mut self, plugin: BriefPlugin) -> Home {
        self.services.brief_plugin = Some(plugin);
        self
    }

    /// Limits the memory that the vectors of all its groups take together.
    pub fn with_memory(mut self, budget: MemoryBudget) -> Home {
        self.services.memory = Arc::new(budget);
        self
    }

    /// Returns the memory that the vectors of all its groups take together.
    pub fn memory(&self) -> &MemoryBudget {
        &self.services.memory
    }

    /// Returns the model that is used together with the built-in one.
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.services.embedder.as_ref()
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Creates the folder and the commented settings file if they do not exist.
    pub fn create(&self) -> Result<()> {
        files::create_folder(&self.path)?;
        let file = self.path.join(SETTINGS_FILE);
        if !file.exists() {
            files::write_atomically(&file, crate::tools::settings::commented_defaults().as_bytes())?;
        }
        Ok(())
    }

    /// Opens a group of this home. If its database is damaged, it is moved away and everything that can be read of it is saved
    /// in a new one. This call fails nevertheless, so that somebody hears of it.
    pub fn group(&self, name: &GroupName, now: Time) -> Result<Group> {
        let opened = self.open(name, now);
        if let Err(Error::SetAside { aside, .. }) = &opened {
            // If it fails, the file is still there, and the error says what to do with it.
            let _ = self.save_readable(name, aside, now);
        }
        opened
    }

    fn save_readable(&self, name: &GroupName, damaged: &Path, now: Time) -> Result<()> {
        let (mut group, caller) = (self.open(name, now)?, Caller::nacre(now));
        export::import_database(&mut group.enter(&caller)?, damaged).map(drop)
    }

    fn open(&self, name: &GroupName, now: Time) -> Result<Group> {
        let (settings, services) = (self.settings.clone(), self.services.clone());
        let place = (self.path.as_path(), self.server.as_ref());
        Group::open(place, name.clone(), settings, services, &RECORDS, now)
    }

    /// Returns the names of the existing groups.
    pub fn groups(&self) -> Result<Vec<GroupName>> {
        if let Some(server) = &self.server {
            return Ok(server.groups()?.iter().filter_map(|name| name.parse().ok()).collect());
        }
        let found = fs::read_dir(self.path.join("groups")).into_iter().flatten().flatten();
        let mut names: Vec<GroupName> =
            found.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok())).collect();
        names.sort();
        Ok(names)
    }
}
