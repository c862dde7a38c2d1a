//! What a command runs in: the home, the settings, the group, the caller. The clock and the environment are
//! read here.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use etcetera::{AppStrategy, AppStrategyArgs};
use nacre::settings::{Layer, Provider};
use nacre::{
    Answer, Caller, Embedder, Group, GroupName, Home, Installed, Role, SETTINGS_FILE, Secret, SessionId,
    Settings, Time, Zone, http,
};
use serde::Serialize;

use crate::args::Global;
use crate::plugin::Plugins;
use crate::render;

/// Variables in which agents say which conversation this is.
const SESSION_VARIABLES: &[&str] = &["CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID"];

/// Variables that agents set for the commands they run.
const AGENT_VARIABLES: &[&str] = &["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI"];

pub struct Context {
    pub global: Global,
    pub home: Home,
    pub layers: Vec<Layer>,
    pub plugins: Plugins,
}

impl Context {
    pub fn new(global: Global) -> Result<Context> {
        let path = home_path(&global)?;
        let layers = layers(&path, &global.set)?;
        let settings = Settings::from_layers(global.profile.as_deref(), &layers)?;
        let home = with_chat(with_provider(Home::new(path, settings))?)?;
        let plugins = Plugins::new(&home);
        Ok(Context { home: plugins.make_briefs(home, &global.group), layers, plugins, global })
    }

    pub fn now(&self) -> Time {
        self.global.now.unwrap_or_else(now)
    }

    pub fn session(&self) -> SessionId {
        told_session(&self.global).unwrap_or_else(|| SessionId::new(self.now()))
    }

    /// The person at this terminal.
    pub fn caller(&self) -> Caller {
        let (visibility, role, zone) = (self.global.visibility, self.role(), zone());
        Caller { visibility, role, zone, ..Caller::person(self.session(), self.now()) }
    }

    fn role(&self) -> Role {
        self.global.role.map_or(Role::Admin, Into::into)
    }

    pub fn group(&self) -> Result<Group> {
        // A skill reads and writes nothing, by whatever command.
        if self.role() == Role::Skill {
            let (tool, role) = ("nacre".to_owned(), self.role().as_str());
            return Err(nacre::Error::RoleDenied { tool, role }.into());
        }
        open(&self.home, &self.global.group, self.now()).map_err(Into::into)
    }

    /// The group, for what shows or changes all of it: where others read along there is no such thing.
    pub fn whole_group(&self, what: &str) -> Result<Group> {
        match self.global.visibility {
            nacre::Visibility::Private => self.group(),
            nacre::Visibility::Shared => Err(nacre::Error::NeedsPrivate { tool: what.to_owned() }.into()),
        }
    }

    /// Calls a tool as the person at this terminal.
    pub fn call(&self, tool: &str, request: &impl Serialize) -> Result<Answer> {
        let mut group = self.group()?;
        let arguments = serde_json::to_value(request)?;
        Ok(nacre::call_across(&self.home, &mut group, &self.caller(), tool, arguments)?)
    }
}

/// The conversation that flags or the environment name.
pub fn told_session(global: &Global) -> Option<SessionId> {
    let told = || SESSION_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    global.session.clone().or_else(told)
}

/// Tells whether an agent started this, as far as the environment says.
pub fn is_in_agent() -> bool {
    SESSION_VARIABLES.iter().chain(AGENT_VARIABLES).any(|name| std::env::var_os(name).is_some())
}

/// Opens a group and takes in what hooks have put down meanwhile. That this can't be done now keeps nothing from
/// being read: it stays where it is.
pub fn open(home: &Home, name: &GroupName, now: Time) -> nacre::Result<Group> {
    let mut group = home.group(name, now)?;
    if let Err(problem) = nacre::spool::take_in(&mut group, now) {
        render::note(&format!("what hooks have heard is not taken in for now: {problem}"));
    }
    Ok(group)
}

/// Gives a home the model whose vectors are searched beside the built-in ones, if its settings name one. Nothing
/// is read or reached before it is needed.
fn with_provider(home: Home) -> Result<Home> {
    Ok(match embedder(&home)? {
        Some(embedder) => home.with_embedder(embedder),
        None => home,
    })
}

/// The model that the settings of a home name.
pub fn embedder(home: &Home) -> Result<Option<Arc<dyn Embedder>>> {
    let settings = &home.settings().embedding;
    let provider = match settings.provider {
        Provider::Builtin | Provider::None => return Ok(None),
        Provider::Minilm => return Ok(Some(Arc::new(Installed::new(home)))),
        Provider::Openai => http::Provider::OpenAi,
        Provider::AzureOpenai => http::Provider::AzureOpenAi { api_version: settings.api_version.clone() },
    };
    let usual = http::Options::new(provider, &settings.url, &settings.model);
    let options = http::Options {
        dims: if settings.dimensions > 0 { http::Dims::Asked(settings.dimensions) } else { http::Dims::Own },
        key: key("embedding", &settings.key_variable, &settings.key_file)?,
        query_prefix: settings.query_prefix.clone(),
        document_prefix: settings.document_prefix.clone(),
        batch: settings.batch,
        documents: http::Patience { whole: Duration::from_secs(settings.timeout_seconds), ..usual.documents },
        ..usual
    };
    Ok(Some(Arc::new(http::Model::new(options, std::thread::sleep)?)))
}

/// Gives a home the model that makes summaries, if its settings name one. Nothing is reached before it is needed.
fn with_chat(home: Home) -> Result<Home> {
    let settings = &home.settings().llm;
    if settings.url.is_empty() {
        return Ok(home);
    }
    let key = key("llm", &settings.key_variable, &settings.key_file)?;
    let timeout = Duration::from_secs(settings.timeout_seconds);
    let chat = http::Chat::new(&settings.url, &settings.model, key, timeout)?;
    Ok(home.with_chat(Arc::new(chat)))
}

/// The key of a provider: a variable of the environment, or else a file. Many servers on one's own machine need
/// none.
fn key(section: &str, variable: &str, file: &str) -> Result<Option<Secret>> {
    let told = std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
    if let Some(key) = told {
        return Ok(Some(Secret::new(&key)));
    }
    if file.is_empty() {
        return Ok(None);
    }
    let key = std::fs::read_to_string(file)
        .with_context(|| format!("the file of `{section}.key_file`, {file}, can't be read"))?;
    Ok(Some(Secret::new(&key)))
}

pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The person's time zone: what TZ says, or else the machine. Without either it is UTC.
pub fn zone() -> Zone {
    let told = std::env::var("TZ").ok();
    let name = told.as_deref().map(|told| told.trim_start_matches(':'));
    let file = match name {
        None => PathBuf::from("/etc/localtime"),
        Some(name) => PathBuf::from("/usr/share/zoneinfo").join(name),
    };
    let compiled = std::fs::read(file).ok().and_then(|bytes| Zone::compiled(&bytes));
    compiled.or_else(|| Zone::rule(name?)).unwrap_or_default()
}

/// The folder that holds everything.
pub fn home_path(global: &Global) -> Result<PathBuf> {
    match &global.home {
        Some(path) => std::path::absolute(path).context("the home is no path"),
        None => platform_home(),
    }
}

/// The folder that a variable of the environment names.
pub fn folder_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The person's own folder.
pub fn user_folder() -> Result<PathBuf> {
    etcetera::home_dir().context("there is no home directory (HOME is not set)")
}

fn platform_home() -> Result<PathBuf> {
    let names =
        AppStrategyArgs { top_level_domain: "org".into(), author: "nacre".into(), app_name: "nacre".into() };
    let strategy = etcetera::choose_app_strategy(names).context(
        "there is no home directory to put the memory in; give a folder with `--home` or NACRE_HOME",
    )?;
    Ok(strategy.data_dir())
}

/// The layers of settings over the profile: file, environment, flags.
pub fn layers(home: &std::path::Path, flags: &[String]) -> nacre::Result<Vec<Layer>> {
    let mut layers = Vec::new();
    let file = home.join(SETTINGS_FILE);
    match std::fs::read_to_string(&file) {
        Ok(text) => layers.push(Layer::from_toml(file.display().to_string(), &text)?),
        Err(problem)
            if matches!(problem.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
        }
        Err(source) => return Err(nacre::Error::Io { path: file, source }),
    }
    layers.extend(Layer::from_environment(|name| std::env::var(name).ok())?);
    for pair in flags {
        layers.push(Layer::from_pair("`--set`", pair)?);
    }
    Ok(layers)
}
