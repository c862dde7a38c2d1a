//! `nacre install CLIENT` (I9): writes the MCP server and the hooks into a client's own settings, for this user.
//!
//! Each client is a list of files with what stands in them for us; a [`Change`] is a file before and after. Nothing but
//! our own part of a file is touched, the file as it was is kept beside it, and `--undo` puts it back: to the byte where
//! nothing else has changed since, else by taking our part out.

mod json;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::diff::Diff;
use serde_json::json;

use crate::args::{Client, Global, Install};
use crate::render::Paint;
use crate::{context, render};
use settings::{Codex, Hooks, Part, Server};

/// What is put behind the name of a file as it was before us.
const BACKUP: &str = ".before-nacre";

/// Has the client run this.
pub struct Program {
    /// The running binary.
    pub path: String,
    /// The flags that were given and that every run should have.
    flags: Vec<String>,
}

/// One file, before and after.
struct Change {
    file: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

pub fn run(global: &Global, args: &Install) -> Result<ExitCode> {
    let program = Program::running(global)?;
    let mut changes = Vec::new();
    // All are looked at before any is written: a file that can't be read leaves the others alone too.
    for (file, part) in parts(args.client)? {
        // Settings may be links into a folder of their own; the link stays.
        let file = fs::canonicalize(&file).unwrap_or(file);
        let before = read(&file)?;
        let after = if args.undo {
            undone(&*part, &program, &file, before.as_deref())
        } else {
            part.install(before.as_deref().unwrap_or_default(), &program).map(Some)
        };
        let after = after.map_err(|problem| unreadable(&file, &problem))?;
        changes.push(Change { file, before, after });
    }
    if !args.dry_run {
        for change in &changes {
            if args.undo { change.undo()? } else { change.write()? }
        }
    }
    show(&changes, global, args)?;
    Ok(ExitCode::SUCCESS)
}

/// The files of a client, and what stands in each for us.
fn parts(client: Client) -> Result<Vec<(PathBuf, Box<dyn Part>)>> {
    Ok(match client {
        Client::ClaudeCode => {
            let told = context::folder_in("CLAUDE_CONFIG_DIR");
            let home = context::user_folder()?;
            vec![
                (
                    told.clone().unwrap_or(home.clone()).join(".claude.json"),
                    Box::new(Server) as Box<dyn Part>,
                ),
                (told.unwrap_or(home.join(".claude")).join("settings.json"), Box::new(Hooks)),
            ]
        }
        Client::Codex => {
            let folder = match context::folder_in("CODEX_HOME") {
                Some(told) => told,
                None => context::user_folder()?.join(".codex"),
            };
            vec![
                (folder.join("config.toml"), Box::new(Codex) as _),
                (folder.join("hooks.json"), Box::new(Hooks)),
            ]
        }
    })
}

impl Program {
    pub fn running(global: &Global) -> Result<Program> {
        let text = |path: PathBuf| {
            path.into_os_string()
                .into_string()
                .ok()
                .context("a path that is not UTF-8 can't be written into settings")
        };
        let mut flags = Vec::new();
        if global.home.is_some() {
            flags.extend(["--home".to_owned(), text(context::home_path(global)?)?]);
        }
        if global.group.as_str() != "main" {
            flags.extend(["--group".to_owned(), global.group.to_string()]);
        }
        if let Some(profile) = &global.profile {
            flags.extend(["--profile".to_owned(), profile.clone()]);
        }
        flags.extend(global.set.iter().flat_map(|pair| ["--set".to_owned(), pair.clone()]));
        let path = std::env::current_exe().context("the running program has no path")?;
        Ok(Program { path: text(path)?, flags })
    }

    /// Its arguments, with what it should do behind the flags.
    pub fn arguments(&self, action: &[&str]) -> Vec<String> {
        self.flags.iter().cloned().chain(action.iter().map(|word| (*word).to_owned())).collect()
    }
}

fn read(file: &Path) -> Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(problem) if problem.kind() == std::io::ErrorKind::InvalidData => {
            Err(unreadable(file, "it is not UTF-8"))
        }
        Err(source) => Err(nacre::Error::Io { path: file.to_owned(), source }.into()),
    }
}

fn unreadable(file: &Path, problem: &str) -> anyhow::Error {
    nacre::Error::ForeignSettings { path: file.to_owned(), problem: problem.to_owned() }.into()
}

/// What is left of a file without us. `None`: there was no file before us.
fn undone(
    part: &dyn Part,
    program: &Program,
    file: &Path,
    now: Option<&str>,
) -> Result<Option<String>, String> {
    let Some(now) = now else { return Ok(None) };
    let backup = fs::read_to_string(backup_of(file)).ok();
    match &backup {
        Some(before) if part.install(before, program).as_deref() == Ok(now) => Ok(backup),
        _ => {
            let left = part.remove(now, backup.as_deref())?;
            Ok((backup.is_some() || !part.is_empty(&left) || left == now).then_some(left))
        }
    }
}

impl Change {
    fn is_none(&self) -> bool {
        self.before == self.after
    }

    fn write(&self) -> Result<()> {
        if self.is_none() {
            return Ok(());
        }
        let folder = self.file.parent().context("settings stand in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("{} can't be made", folder.display()))?;
        let backup = backup_of(&self.file);
        if let Some(before) = &self.before
            && !backup.exists()
        {
            self.put(&backup, before)?;
        }
        self.put(&self.file, self.after.as_deref().unwrap_or_default())
    }

    fn undo(&self) -> Result<()> {
        match &self.after {
            Some(after) if !self.is_none() => self.put(&self.file, after)?,
            Some(_) => return Ok(()),
            None if self.before.is_some() => {
                fs::remove_file(&self.file)
                    .with_context(|| format!("{} can't be removed", self.file.display()))?;
            }
            None => return Ok(()),
        }
        let _ = fs::remove_file(backup_of(&self.file));
        Ok(())
    }

    /// Writes a file aside and renames it into place, readable by whom it was readable before.
    fn put(&self, file: &Path, text: &str) -> Result<()> {
        let folder = file.parent().context("settings stand in a folder")?;
        let put = || -> std::io::Result<()> {
            let mut aside = tempfile::NamedTempFile::new_in(folder)?;
            std::io::Write::write_all(&mut aside, text.as_bytes())?;
            if let Ok(found) = fs::metadata(&self.file) {
                aside.as_file().set_permissions(found.permissions())?;
            }
            aside.as_file().sync_all()?;
            aside.persist(file)?;
            Ok(())
        };
        put().map_err(|source| nacre::Error::Io { path: file.to_owned(), source }.into())
    }
}

fn backup_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(BACKUP);
    name.into()
}

fn show(changes: &[Change], global: &Global, args: &Install) -> Result<()> {
    if global.json {
        let files: Vec<_> = changes
            .iter()
            .map(|change| {
                let backup = backup_of(&change.file);
                let mut shown = json!({ "path": change.file, "changed": !change.is_none() });
                if !args.undo && backup.exists() {
                    shown["backup"] = json!(backup);
                }
                shown
            })
            .collect();
        return render::json(
            &json!({ "client": args.client.name(), "dry_run": args.dry_run, "files": files }),
        );
    }
    let mut text = String::new();
    for change in changes {
        let file = change.file.display();
        if args.dry_run {
            let bytes = |text: &'_ Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
            let (before, after) = (bytes(&change.before), bytes(&change.after));
            let diff = Diff::new(&file.to_string(), before.as_deref(), after.as_deref());
            text.push_str(&render::diff(&diff, Paint::stdout()));
        } else if change.is_none() {
            text.push_str(&format!("{file} is as it should be\n"));
        } else {
            text.push_str(&format!(
                "{file} {}\n",
                if change.after.is_some() { "written" } else { "removed" }
            ));
        }
    }
    if changes.iter().all(Change::is_none) {
        text = format!(
            "{} is {} already; nothing to do\n",
            args.client.name(),
            if args.undo { "without Nacre" } else { "set up" }
        );
    } else if args.dry_run {
        text.push_str("Nothing was written: without --dry-run it is.\n");
    } else if !args.undo {
        text.push_str(args.client.next());
        text.push_str(&format!("`nacre install {} --undo` takes it back.\n", args.client.name()));
    }
    render::out(&render::plain(&text))
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
        }
    }

    /// What the person has to do now.
    fn next(self) -> &'static str {
        match self {
            Client::ClaudeCode => "The next session of Claude Code remembers.\n",
            Client::Codex => {
                "The next session of Codex remembers, once you have trusted the hooks: Codex asks, or type /hooks.\n"
            }
        }
    }
}
