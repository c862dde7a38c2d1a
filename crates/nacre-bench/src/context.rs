//! The clock, environment and folders that the benchmarks read, and the `nacre` program that they measure.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use etcetera::{AppStrategy as _, AppStrategyArgs};
use nacre::settings::{Layer, Provider};
use nacre::{Embedder, Home, Secret, Time, http};
use nacre_minilm::InstalledModel;

use crate::args::Global;

/// Returns the `nacre` program to measure: the one that was named, or else the one next to this program.
pub fn nacre_program(global: &Global) -> Result<PathBuf> {
    let program = match &global.nacre {
        Some(path) => std::path::absolute(path)?,
        None => std::env::current_exe()?.with_file_name(format!("nacre{}", std::env::consts::EXE_SUFFIX)),
    };
    let release = if cfg!(debug_assertions) { "" } else { " --release" };
    ensure!(
        program.is_file(),
        "there is no program at {}; build it with `cargo build{release} -p nacre-cli` or name another with `--nacre PATH`",
        program.display()
    );
    Ok(program)
}

pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Returns the user's home, which holds the installed model. It is read, never written.
pub fn home_path(global: &Global) -> Result<PathBuf> {
    if let Some(path) = &global.home {
        return Ok(std::path::absolute(path)?);
    }
    let names =
        AppStrategyArgs { top_level_domain: "org".into(), author: "nacre".into(), app_name: "nacre".into() };
    let strategy = etcetera::choose_app_strategy(names).context("there is no home directory")?;
    Ok(strategy.data_dir())
}

/// Returns the settings from the environment and `--set`.
pub fn layers(global: &Global) -> nacre::Result<Vec<Layer>> {
    let mut layers = Layer::from_environment(|name| std::env::var(name).ok())?;
    for pair in &global.set {
        layers.push(Layer::from_pair("`--set`", pair)?);
    }
    Ok(layers)
}

/// Returns the model that the settings of a home name, unless it is the built-in one.
pub fn embedder(home: &Home) -> Result<Option<Arc<dyn Embedder>>> {
    let settings = &home.settings().embedding;
    if settings.provider == Provider::Minilm {
        return Ok(Some(Arc::new(InstalledModel::new(home.path()))));
    }
    let Some(options) = http::Options::from_settings(settings) else { return Ok(None) };
    let key = match std::env::var(&settings.key_variable).ok().filter(|key| !key.trim().is_empty()) {
        None if settings.key_file.is_empty() => None,
        None => Some(Secret::new(&std::fs::read_to_string(&settings.key_file)?)),
        Some(key) => Some(Secret::new(&key)),
    };
    let options = http::Options { key, ..options };
    Ok(Some(Arc::new(http::Model::new(options, std::thread::sleep)?)))
}
