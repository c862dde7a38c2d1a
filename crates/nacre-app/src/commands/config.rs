//! Settings: list, get, set, unset, edit.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::settings::{self, Layer};
use nacre::{SETTINGS_FILE, Settings};
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item};

use super::editor;
use crate::args::{Command, Config, ConfigVerb};
use crate::context::Context;
use crate::render::{self, Failure, count};

/// Sections that decide what agents may do. Only a person at a terminal changes them.
const GUARDED_SECTIONS: &[&str] = &["write", "limits", "profile", "plugins", "access", "tools"];

/// Tells whether a key decides what agents may do.
pub fn is_guarded(key: &str) -> bool {
    GUARDED_SECTIONS.contains(&key.split('.').next().unwrap_or_default())
}

/// Tells whether a command changes the settings file, and so can repair it.
pub fn repairs(command: &Command) -> bool {
    let (Command::Config(args) | Command::Settings(args)) = command else { return false };
    matches!(args.verb, Some(ConfigVerb::Edit | ConfigVerb::Set { .. } | ConfigVerb::Unset { .. }))
}

type Pairs = Vec<(String, String)>;

/// Runs `nacre config`, or `nacre settings`, which lists everything.
pub fn run(context: &Context, args: &Config, lists_all: bool) -> Result<ExitCode> {
    match &args.verb {
        None => list(context, lists_all),
        Some(ConfigVerb::List { all }) => list(context, *all),
        Some(ConfigVerb::Get { key }) => get(context, key),
        Some(ConfigVerb::Set { key, value, .. }) => set(context, key, value.as_deref()),
        Some(ConfigVerb::Unset { key }) => set(context, key, None),
        Some(ConfigVerb::Edit) => edit(context),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the settings in force.
fn in_force(context: &Context) -> Result<Pairs> {
    Ok(settings::effective(context.global.profile.as_deref(), &context.layers)?)
}

fn list(context: &Context, all: bool) -> Result<()> {
    let pairs = in_force(context)?;
    if context.global.json {
        return render::json(&json(pairs));
    }
    let defaults = settings::effective(None, &[])?;
    let (changed, others): (Pairs, Pairs) = pairs.into_iter().partition(|pair| !defaults.contains(pair));
    let mut text = match changed.len() {
        0 => "No setting is changed.\n".to_owned(),
        _ => format!("Changed settings:\n{}", render::table(&changed)),
    };
    if all {
        text.push_str(&by_section(&others));
    } else {
        let others = count(others.len(), "setting has its default", "settings have their defaults");
        let _ =
            write!(text, "\n{others}: `nacre config list --all`. `nacre config set KEY VALUE` changes one.");
    }
    render::page(&render::flow(&text))
}

/// Writes settings under the names of their sections.
fn by_section(pairs: &[(String, String)]) -> String {
    let section = |pair: &(String, String)| {
        pair.0.split_once('.').map(|(section, _)| section.to_owned()).unwrap_or_default()
    };
    let mut text = String::new();
    for part in pairs.chunk_by(|one, other| section(one) == section(other)) {
        let _ = write!(text, "\n{}", render::table(part));
    }
    text
}

fn json(pairs: Pairs) -> Map<String, Value> {
    let value = |value: String| serde_json::from_str(&value).unwrap_or_else(|_| value.into());
    pairs.into_iter().map(|(key, text)| (key, value(text))).collect()
}

fn get(context: &Context, key: &str) -> Result<()> {
    let section = format!("{key}.");
    let mut found = in_force(context)?;
    found.retain(|(name, _)| name == key || name.starts_with(&section));
    if found.is_empty() {
        return Err(unknown(key));
    }
    match (context.global.json, found.as_slice()) {
        (true, _) => render::json(&json(found)),
        (false, [(name, value)]) if name == key => render::out(value),
        (false, found) => render::out(&render::table(found)),
    }
}

/// Returns the error for a key that does not exist. The library knows which one was meant.
fn unknown(key: &str) -> anyhow::Error {
    let layer = Layer::from_pair("`nacre config`", &format!("{key}=0"));
    match layer.and_then(|layer| Settings::from_layers(None, &[layer])) {
        Err(error @ nacre::Error::UnknownSetting { .. }) => error.into(),
        _ => {
            let hint = "`nacre config list --all` shows every key";
            Failure::not_found("no_setting", format!("there is no setting `{key}`"), hint).into()
        }
    }
}

/// Writes a setting, or removes it from the file.
fn set(context: &Context, key: &str, value: Option<&str>) -> Result<()> {
    let file = context.home.path().join(SETTINGS_FILE);
    // A key or value that does not exist is refused before anything is written.
    match value {
        Some(value) => {
            let layer = Layer::from_pair("`nacre config set`", &format!("{key}={value}"))?;
            Settings::from_layers(None, &[layer])?;
        }
        None if in_force(context)?.iter().any(|(name, _)| name == key) => {}
        None => return Err(unknown(key)),
    }
    context.home.create()?;
    let mut document = read(&file)?;
    let changed = write_key(&mut document, key, value);
    let text = document.to_string();
    Settings::from_layers(None, &[Layer::from_toml(file.display().to_string(), &text)?])?;
    if changed {
        nacre::files::write_atomically(&file, text.as_bytes())?;
    }
    let now = in_force_with(&text, &file, key)?;
    if context.global.json {
        return render::json(&json(vec![(key.to_owned(), now)]));
    }
    let mark = if value.is_none() { " (the default)" } else { "" };
    render::out(&format!("{key} = {now}{mark}"))?;
    let variable = format!("NACRE_{}", key.replace('.', "_").to_uppercase());
    if std::env::var_os(&variable).is_some() {
        render::note(&format!("{variable} in the environment still overrides nacre.toml"));
    }
    Ok(())
}

/// Writes the profile of `--profile` into nacre.toml, unless the file has one already. `nacre init` does so for a person:
/// without it the next command would run with the default profile again.
pub fn keep_profile(context: &Context) -> Result<()> {
    let Some(profile) = context.global.profile.as_deref().filter(|_| !context.is_agent()) else {
        return Ok(());
    };
    let file = context.home.path().join(SETTINGS_FILE);
    let mut document = read(&file)?;
    match document.get("profile").and_then(Item::as_str) {
        None => {
            write_key(&mut document, "profile", Some(profile));
            Ok(nacre::files::write_atomically(&file, document.to_string().as_bytes())?)
        }
        Some(kept) => {
            if settings::profile_name(kept) != settings::profile_name(profile) {
                context.hint(&format!(
                    "nacre.toml keeps profile `{kept}`; `nacre config set profile {profile}` changes it"
                ));
            }
            Ok(())
        }
    }
}

fn read(file: &Path) -> Result<DocumentMut> {
    let text = std::fs::read_to_string(file).map_err(nacre::Error::io(file))?;
    text.parse().with_context(|| format!("{} is not valid TOML", file.display()))
}

/// Returns the value that a settings file gives a key.
fn in_force_with(text: &str, file: &Path, key: &str) -> Result<String> {
    let layer = Layer::from_toml(file.display().to_string(), text)?;
    let found = settings::effective(None, &[layer])?.into_iter().find(|(name, _)| name == key);
    Ok(found.map(|(_, value)| value).unwrap_or_default())
}

/// Writes or removes a key, and tells whether that changed anything.
fn write_key(document: &mut DocumentMut, key: &str, value: Option<&str>) -> bool {
    let mut parts: Vec<&str> = key.split('.').collect();
    let last = parts.pop().unwrap_or_default();
    let mut table = document.as_table_mut();
    for part in parts {
        let entry = table.entry(part).or_insert_with(toml_edit::table);
        let Some(inner) = entry.as_table_mut() else { return false };
        table = inner;
    }
    match value {
        None => table.remove(last).is_some(),
        Some(value) => {
            let parsed = value.parse::<toml_edit::Value>().unwrap_or_else(|_| value.into());
            // A comment after the old value stays.
            let decor = table.get(last).and_then(Item::as_value).map(|old| old.decor().clone());
            let mut parsed = parsed;
            if let Some(decor) = decor {
                *parsed.decor_mut() = decor;
            }
            table.insert(last, Item::Value(parsed));
            true
        }
    }
}

fn edit(context: &Context) -> Result<()> {
    context.home.create()?;
    let file = context.home.path().join(SETTINGS_FILE);
    editor::open(&file)?;
    let text = std::fs::read_to_string(&file).map_err(nacre::Error::io(&file))?;
    let layer = Layer::from_toml(file.display().to_string(), &text);
    layer.and_then(|layer| Settings::from_layers(None, &[layer])).inspect_err(|_| {
        render::note("the file is saved as you left it; `nacre config edit` opens it again");
    })?;
    Ok(())
}
