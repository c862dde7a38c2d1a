//! What a command runs in: the home, the settings, the group, the caller. The clock and the environment are
//! read here.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use etcetera::{AppStrategy, AppStrategyArgs};
use nacre::settings::{Layer, Provider};
use nacre::{Answer, Caller, Embedder, Group, Home, Installed, SETTINGS_FILE, SessionId, Settings, Time};
use serde::Serialize;

use crate::args::Global;

/// Variables in which agents say which conversation this is.
const SESSION_VARIABLES: &[&str] = &["CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID"];

pub struct Context {
    pub global: Global,
    pub home: Home,
    pub layers: Vec<Layer>,
}

impl Context {
    pub fn new(global: Global) -> Result<Context> {
        let path = home_path(&global)?;
        let layers = layers(&path, &global.set)?;
        let settings = Settings::from_layers(global.profile.as_deref(), &layers)?;
        Ok(Context { home: with_provider(Home::new(path, settings)), layers, global })
    }

    pub fn now(&self) -> Time {
        self.global.now.unwrap_or_else(now)
    }

    pub fn session(&self) -> SessionId {
        let given = self.global.session.clone();
        let told = || SESSION_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
        given.or_else(told).unwrap_or_else(|| SessionId::new(self.now()))
    }

    /// The person at this terminal.
    pub fn caller(&self) -> Caller {
        Caller::person(self.session(), self.now())
    }

    pub fn group(&self) -> Result<Group> {
        Ok(self.home.group(&self.global.group, self.now())?)
    }

    /// Calls a tool as the person at this terminal.
    pub fn call(&self, tool: &str, request: &impl Serialize) -> Result<Answer> {
        let mut group = self.group()?;
        let arguments = serde_json::to_value(request)?;
        Ok(nacre::call(&mut group, &self.caller(), tool, arguments)?)
    }
}

/// Gives a home the model whose vectors are searched beside the built-in ones, if its settings name one. Nothing
/// is read or reached before it is needed.
fn with_provider(home: Home) -> Home {
    match embedder(&home) {
        Some(embedder) => home.with_embedder(embedder),
        None => home,
    }
}

/// The model that the settings of a home name.
pub fn embedder(home: &Home) -> Option<Arc<dyn Embedder>> {
    match home.settings().embedding.provider {
        Provider::Builtin | Provider::None => None,
        Provider::Minilm => Some(Arc::new(Installed::new(home))),
        Provider::Openai | Provider::AzureOpenai => None,
    }
}

pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The folder that holds everything.
pub fn home_path(global: &Global) -> Result<PathBuf> {
    match &global.home {
        Some(path) => std::path::absolute(path).context("the home is no path"),
        None => platform_home(),
    }
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
fn layers(home: &std::path::Path, flags: &[String]) -> nacre::Result<Vec<Layer>> {
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
