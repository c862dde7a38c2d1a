//! `nacre-bench stale`: how many renames and deletions in a repository the staleness watch finds, and how many marks are wrong.
//!
//! Two measurements for each repository, both in a clone. *Planted*: memories about real files, folders, flags, versions,
//! commands and branches; half of these things are renamed, deleted or changed, the others and a set of decoys are not.
//! *History*: memories about the files of an older commit, and about lines of its documents that name files; the clone then
//! moves to the newest commit, and Git tells which files are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use nacre::call::StoreRequest;
use nacre::{Caller, Group, Home, Outcome, Settings};
use regex::Regex;
use serde::Serialize;

use crate::args::Global;
use crate::clock::{self, cpu};
use crate::context::now;
use crate::render;

/// How many things of each kind are planted at most.
const MAX_FILES: usize = 120;
const MAX_OTHERS: usize = 30;
/// How many files of an older commit become memories, and how many lines of documents.
const MAX_OLD_FILES: usize = 400;
const MAX_OLD_LINES: usize = 400;

/// How people and agents name a thing.
const SENTENCES: &[&str] = &[
    "The parser lives in {}.",
    "`{}` holds the entry point",
    "Look at {}, it explains the retry logic",
    "We decided that {} owns this",
    "Fixed the overflow in {} (see the issue)",
    "{}: keep it in sync with the docs",
    "Don't touch \"{}\" without a review",
    "Die Logik steht in {}, nicht woanders",
    "逻辑在 {} 里",
    "Remember: {}",
    "See [the source]({}) for details",
    "The user prefers that changes go to `{}` first",
];

/// Sentences that name nothing of the repository.
const DECOYS: &[&str] = &[
    "We plan to add src/planned/server.rs with --planned-flag",
    "ripgrep keeps its flags in crates/core/flags/defs.rs",
    "The build writes target/debug/program and dist/app.js",
    "Either/or: 3/4 of the users read README.rst, e.g. Ana",
    "See https://example.org/src/lib.rs and ~/notes/todo.md",
    "git supports --no-pager and --porcelain",
    "tokio 0.0.1 was slower than async-std 9.9.9",
    "The branch of the bank closes at 17:00",
    "Just check the box and make sure it works",
    "npm install takes a minute; cargo build takes two",
];

/// The result for one repository.
#[derive(Serialize)]
struct Measurement {
    repository: String,
    planted: Counts,
    kinds: BTreeMap<&'static str, Counts>,
    history: Counts,
    older_by_commits: usize,
    check_ms: f64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    /// Memories whose thing is gone, and how many of them are marked.
    gone: usize,
    found: usize,
    /// Memories whose things are there, and how many of them are marked.
    kept: usize,
    wrong: usize,
}

impl Counts {
    fn count(&mut self, is_gone: bool, is_marked: bool) {
        if is_gone {
            self.gone += 1;
            self.found += usize::from(is_marked);
        } else {
            self.kept += 1;
            self.wrong += usize::from(is_marked);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    fn rates(&self) -> (f64, f64) {
        (self.found as f64 / self.gone.max(1) as f64, self.wrong as f64 / self.kept.max(1) as f64)
    }
}

pub fn run(repositories: &[PathBuf], commits: usize, list: bool, global: &Global) -> Result<ExitCode> {
    let mut all = Vec::new();
    for repository in repositories {
        all.push(measure(repository, commits, list)?);
    }
    if global.json {
        render::json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("Staleness watch ({}), goals: found .90, wrong under .02\n", clock::kind());
    for Measurement { repository, planted, kinds, history, older_by_commits, check_ms } in &all {
        let _ = writeln!(text, "{repository}: one check takes {check_ms:.0} ms");
        let planted =
            [("planted", planted)].into_iter().chain(kinds.iter().map(|(kind, counts)| (*kind, counts)));
        for (name, counts) in planted.chain([("history", history)]) {
            let (found, wrong) = counts.rates();
            let Counts { gone, found: hits, kept, wrong: marks } = counts;
            let _ = writeln!(
                text,
                "  {name:9} found {found:.3} ({hits} of {gone}), wrong {wrong:.3} ({marks} of {kept})"
            );
        }
        let _ = writeln!(text, "  (history: {older_by_commits} commits)");
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs Git and returns its output.
fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let own = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "core.quotePath=false"];
    let done = Command::new("git")
        .current_dir(folder)
        .args(own)
        .args(arguments)
        .output()
        .context("Git is not installed")?;
    ensure!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// A memory about the clone of a repository.
struct Desk {
    group: Group,
    caller: Caller,
    clone: PathBuf,
    _folder: tempfile::TempDir,
}

impl Desk {
    fn new(repository: &Path) -> Result<Desk> {
        let folder = tempfile::tempdir()?;
        let clone = folder.path().join("clone");
        let from = repository.to_str().context("the path is not UTF-8")?;
        git(
            folder.path(),
            &["clone", "--quiet", "--no-hardlinks", from, clone.to_str().context("not UTF-8")?],
        )?;
        let clone = fs::canonicalize(clone)?;
        let group =
            Home::new(folder.path().join("home"), Settings::default()).group(&"main".parse()?, now())?;
        let caller =
            Caller { project_folder: Some(clone.clone()), ..Caller::person("bench".parse()?, now()) };
        Ok(Desk { group, caller, clone, _folder: folder })
    }

    fn store(&mut self, content: String) -> Result<String> {
        let request = StoreRequest { content, ..StoreRequest::default() };
        match nacre::run(&mut self.group.enter(&self.caller)?, request)?.outcome {
            Outcome::Done(stored) => Ok(stored.id.to_string()),
            Outcome::Waits(_) => anyhow::bail!("a memory waits for approval"),
        }
    }

    fn check(&mut self) -> Result<()> {
        self.caller.now = self.caller.now.plus_days(1);
        nacre::stale::check(&mut self.group.enter(&self.caller)?)?;
        Ok(())
    }

    /// The memories that are marked, with what they name.
    fn marked(&mut self) -> Result<BTreeMap<String, Vec<String>>> {
        let found = nacre::stale::list(&self.group.enter(&self.caller)?)?;
        let names =
            |things: &[nacre::stale::GoneThing]| things.iter().map(|thing| thing.name.clone()).collect();
        Ok(found.iter().map(|one| (one.entry.id.to_string(), names(&one.things))).collect())
    }

    fn commit(&self) -> Result<()> {
        git(&self.clone, &["add", "--all"])?;
        git(&self.clone, &["commit", "--quiet", "--allow-empty", "--message=planted"]).map(drop)
    }

    fn files(&self) -> Result<Vec<String>> {
        Ok(git(&self.clone, &["ls-files"])?.lines().map(str::to_owned).collect())
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.clone.join(path)).unwrap_or_default()
    }

    fn change(&self, path: &str, change: impl Fn(&str) -> String) -> Result<()> {
        let text = self.text(path);
        Ok(nacre::files::write_atomically(&self.clone.join(path), change(&text).as_bytes())?)
    }
}

/// A thing of the repository, and how it is taken away.
struct PlantedThing {
    kind: &'static str,
    name: String,
    plant: Plant,
}

enum Plant {
    Rename(String),
    Delete(String),
    /// Another text in a file.
    Replace {
        path: String,
        from: String,
        to: String,
    },
    /// A branch.
    DeleteBranch(String),
}

fn measure(repository: &Path, commits: usize, list: bool) -> Result<Measurement> {
    let mut desk = Desk::new(repository)?;
    let things = things(&desk)?;
    let mut stored = Vec::new();
    for (place, thing) in things.iter().enumerate() {
        let sentence = match thing.kind {
            "branch" => "The work is on the branch `{}`",
            "command" => "Always run `{}` before a commit",
            "version" => "We stay on {} for now",
            _ => SENTENCES[place % SENTENCES.len()],
        };
        // Every other one is taken away.
        stored
            .push((desk.store(format!("{} #{place}", sentence.replace("{}", &thing.name)))?, place % 2 == 0));
    }
    let mut decoys = Vec::new();
    for decoy in DECOYS {
        decoys.push(desk.store((*decoy).to_owned())?);
    }
    let check_ms = cpu(|| desk.check())?;
    let before = desk.marked()?;
    ensure!(before.is_empty(), "marked before anything was planted: {before:?}");
    for (thing, (_, planted)) in things.iter().zip(&stored) {
        if *planted {
            plant(&desk, thing)?;
        }
    }
    desk.commit()?;
    desk.check()?;
    let marked = desk.marked()?;
    let (mut all, mut kinds) = (Counts::default(), BTreeMap::<&'static str, Counts>::new());
    for (thing, (id, planted)) in things.iter().zip(&stored) {
        let is_marked = marked.contains_key(id);
        all.count(*planted, is_marked);
        kinds.entry(thing.kind).or_default().count(*planted, is_marked);
        if list && *planted != is_marked {
            render::progress(&format!(
                "{} {}: planted {planted}, marked {is_marked}",
                thing.kind, thing.name
            ));
        }
    }
    for id in &decoys {
        all.count(false, marked.contains_key(id));
        kinds.entry("decoy").or_default().count(false, marked.contains_key(id));
    }
    let (history, older_by_commits) = history(repository, commits, list)?;
    let repository =
        repository.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Measurement { repository, planted: all, kinds, history, older_by_commits, check_ms })
}

/// Collects real things of a repository, spread over all of it.
fn things(desk: &Desk) -> Result<Vec<PlantedThing>> {
    let files = desk.files()?;
    let mut things = Vec::new();
    // A submodule is a folder.
    let is_text = |path: &&String| {
        path.contains('/') && !path.ends_with("Cargo.toml") && desk.clone.join(path.as_str()).is_file()
    };
    let candidates: Vec<&String> = files.iter().filter(is_text).collect();
    for (place, path) in spread(&candidates, MAX_FILES).enumerate() {
        let (folder, name) = path.rsplit_once('/').context("it has a folder")?;
        let plant = match place / 2 % 3 {
            0 => Plant::Delete(path.to_string()),
            1 => Plant::Rename(format!("{folder}/renamed_{place}_{name}")),
            _ => Plant::Rename(format!("moved_{place}/{name}")),
        };
        things.push(PlantedThing { kind: "path", name: path.to_string(), plant });
    }
    let tail = things.len();
    things.extend(flags(desk, &files)?);
    things.extend(commands(desk, &files)?);
    things.extend(versions(desk, &files)?);
    for number in 0..MAX_OTHERS {
        let name = format!("feature/work-{number}");
        git(&desk.clone, &["branch", &name])?;
        things.push(PlantedThing { kind: "branch", name: name.clone(), plant: Plant::DeleteBranch(name) });
    }
    // The files in which other things are planted stay where they are.
    let used: BTreeSet<String> = things[tail..]
        .iter()
        .filter_map(|thing| match &thing.plant {
            Plant::Replace { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect();
    things.retain(|thing| thing.kind != "path" || !used.contains(&thing.name));
    Ok(things)
}

/// Takes at most `most` elements of a list, from all parts of it.
fn spread<T: Copy>(list: &[T], most: usize) -> impl Iterator<Item = T> + use<'_, T> {
    let step = list.len().div_ceil(most).max(1);
    list.iter().copied().step_by(step)
}

/// Finds flags that one line of a parser defines.
fn flags(desk: &Desk, files: &[String]) -> Result<Vec<PlantedThing>> {
    let field =
        Regex::new(r"#\[arg\([^\]]*\blong\b[^\]]*\)\]\s*(?:pub(?:\([^)]*\))?\s+)?([a-z][a-z0-9_]*)\s*:")?;
    let literal = Regex::new(r#"\.long\("([a-z][a-z0-9-]+)"\)|long = "([a-z][a-z0-9-]+)""#)?;
    let mut found: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for path in files.iter().filter(|path| path.ends_with(".rs") && !path.contains("test")) {
        let text = desk.text(path);
        for capture in field.captures_iter(&text).filter(|capture| !capture[0].contains("long =")) {
            let name = capture[1].to_owned();
            let places = found.entry(format!("--{}", name.replace('_', "-"))).or_default();
            places.push((path.clone(), capture[0].to_owned()));
        }
        for capture in literal.captures_iter(&text) {
            let name = capture.get(1).or(capture.get(2)).context("it has one")?.as_str();
            found.entry(format!("--{name}")).or_default().push((path.clone(), capture[0].to_owned()));
        }
    }
    let single: Vec<(String, String, String)> = found
        .into_iter()
        .filter(|(_, places)| places.len() == 1)
        .filter_map(|(flag, mut places)| places.pop().map(|(path, text)| (flag, path, text)))
        .filter(|(flag, ..)| flag.len() > 5)
        .collect();
    let of = |(flag, path, from): &(String, String, String)| {
        let to = match from.strip_suffix(':') {
            Some(field) => format!("{}_planted:", field.trim_end()),
            None => from.replacen('"', "\"planted-", 1),
        };
        PlantedThing {
            kind: "flag",
            name: flag.clone(),
            plant: Plant::Replace { path: path.clone(), from: from.clone(), to },
        }
    };
    let single: Vec<&(String, String, String)> = single.iter().collect();
    Ok(spread(&single, MAX_OTHERS).map(of).collect())
}

/// Finds recipes, targets and scripts.
fn commands(desk: &Desk, files: &[String]) -> Result<Vec<PlantedThing>> {
    let recipe = Regex::new(r"(?m)^([a-z][a-z0-9-]+)(?: [^:=\n]*)?:(?:[^=]|$)")?;
    let script = Regex::new(r#"(?s)"scripts"\s*:\s*\{([^}]*)\}"#)?;
    let name = Regex::new(r#""([a-z][a-z0-9:-]+)"\s*:"#)?;
    let mut found = Vec::new();
    for path in files {
        let (text, file) = (desk.text(path), path.rsplit('/').next().unwrap_or(path));
        let program = match file {
            "justfile" => "just",
            "Makefile" => "make",
            "package.json" => "npm run",
            _ => continue,
        };
        let names: Vec<String> = match file {
            "package.json" => script
                .captures_iter(&text)
                .flat_map(|scripts| {
                    name.captures_iter(scripts.get(1).map_or("", |inner| inner.as_str()))
                        .map(|one| one[1].to_owned())
                        .collect::<Vec<_>>()
                })
                .collect(),
            _ => recipe.captures_iter(&text).map(|one| one[1].to_owned()).collect(),
        };
        for one in names {
            let (from, to) = match program {
                "npm run" => (format!("\"{one}\""), format!("\"planted-{one}\"")),
                _ => (format!("\n{one}"), format!("\nplanted-{one}")),
            };
            if text.matches(&from).count() == 1 {
                let plant = Plant::Replace { path: path.clone(), from, to };
                found.push(PlantedThing { kind: "command", name: format!("{program} {one}"), plant });
            }
        }
    }
    found.truncate(MAX_OTHERS);
    Ok(found)
}

/// Finds versions of dependencies that one manifest states.
fn versions(desk: &Desk, files: &[String]) -> Result<Vec<PlantedThing>> {
    let line = Regex::new(r#"(?m)^([a-z][a-z0-9_-]+) = (?:\{ *version = )?"([0-9]+\.[0-9]+(?:\.[0-9]+)?)""#)?;
    let mut found: BTreeMap<String, Vec<(String, String, String)>> = BTreeMap::new();
    for path in files.iter().filter(|path| path.rsplit('/').next() == Some("Cargo.toml")) {
        for capture in line.captures_iter(&desk.text(path)) {
            if !["version", "rust-version", "edition"].contains(&&capture[1]) {
                let place = (path.clone(), capture[0].to_owned(), capture[2].to_owned());
                found.entry(capture[1].to_owned()).or_default().push(place);
            }
        }
    }
    let single = found.into_iter().filter(|(_, places)| places.len() == 1);
    let of = |(name, mut places): (String, Vec<(String, String, String)>)| {
        let (path, from, version) = places.pop()?;
        let to = from.replace(&version, "99.1");
        Some(PlantedThing {
            kind: "version",
            name: format!("{name} {version}"),
            plant: Plant::Replace { path, from, to },
        })
    };
    Ok(single.filter_map(of).take(MAX_OTHERS).collect())
}

fn plant(desk: &Desk, thing: &PlantedThing) -> Result<()> {
    match &thing.plant {
        Plant::Delete(path) => fs::remove_file(desk.clone.join(path))?,
        Plant::Rename(to) => {
            let to = desk.clone.join(to);
            fs::create_dir_all(to.parent().context("it has a folder")?)?;
            fs::rename(desk.clone.join(&thing.name), to)?;
        }
        Plant::Replace { path, from, to } => {
            desk.change(path, |text| text.replacen(from.as_str(), to, 1))?;
            if let Some((name, _)) = thing.name.split_once(' ').filter(|_| thing.kind == "version") {
                lock(desk, name)?;
            }
        }
        Plant::DeleteBranch(name) => {
            drop(git(&desk.clone, &["branch", "--quiet", "--delete", "--force", name])?)
        }
    }
    Ok(())
}

/// Changes the version of a package in the lock file, as Cargo would.
fn lock(desk: &Desk, name: &str) -> Result<()> {
    if desk.text("Cargo.lock").is_empty() {
        return Ok(());
    }
    let entry = Regex::new(&format!("name = \"{}\"\nversion = \"[^\"]*\"", regex::escape(name)))?;
    desk.change("Cargo.lock", |text| {
        entry.replace_all(text, format!("name = \"{name}\"\nversion = \"99.1.0\"")).into_owned()
    })
}

/// Follows the real history of a repository: from an older commit to the newest.
fn history(repository: &Path, commits: usize, list: bool) -> Result<(Counts, usize)> {
    let mut desk = Desk::new(repository)?;
    let total: usize =
        git(&desk.clone, &["rev-list", "--first-parent", "--count", "HEAD"])?.trim().parse()?;
    let back = commits.min(total.saturating_sub(1));
    let newest = git(&desk.clone, &["rev-parse", "HEAD"])?.trim().to_owned();
    let old = git(
        &desk.clone,
        &["rev-list", "--first-parent", "--max-count=1", &format!("--skip={back}"), "HEAD"],
    )?;
    git(&desk.clone, &["checkout", "--quiet", old.trim()])?;
    let before: Vec<String> = desk.files()?;
    let mut memories: Vec<(String, Vec<String>)> = Vec::new();
    let with_folder: Vec<&String> = before.iter().filter(|path| path.contains('/')).collect();
    for (place, path) in spread(&with_folder, MAX_OLD_FILES).enumerate() {
        let text = SENTENCES[place % SENTENCES.len()].replace("{}", path);
        memories.push((desk.store(format!("{text} ({place})"))?, vec![path.clone()]));
    }
    // Lines that people wrote, with the tracked files that they name by their whole path.
    let token = Regex::new(r"[\w.@+/-]+/[\w.@+-]+\.\w+")?;
    let tracked: BTreeSet<&str> = before.iter().map(String::as_str).collect();
    let mut lines = BTreeSet::new();
    for path in before.iter().filter(|path| path.ends_with(".md")) {
        for line in desk.text(path).lines().filter(|line| line.len() < 1_500) {
            let named: Vec<String> = token
                .find_iter(line)
                .map(|found| found.as_str().trim_start_matches("./").to_owned())
                .filter(|found| tracked.contains(found.as_str()))
                .collect();
            if !named.is_empty() && lines.len() < MAX_OLD_LINES && lines.insert(line.trim().to_owned()) {
                memories.push((desk.store(line.trim().to_owned())?, named));
            }
        }
    }
    desk.check()?;
    git(&desk.clone, &["checkout", "--quiet", &newest])?;
    desk.check()?;
    let after: BTreeSet<String> = desk.files()?.into_iter().collect();
    let marked = desk.marked()?;
    let mut counts = Counts::default();
    let mut seen = BTreeSet::new();
    for (id, paths) in &memories {
        if !seen.insert(id) {
            continue;
        }
        let gone = paths.iter().any(|path| !after.contains(path));
        // A mark for another thing that the line names is neither right nor wrong about these files.
        let about = |path: &&String| !gone || !after.contains(*path);
        let names = |path: &String, name: &String| path == name || path.ends_with(&format!("/{name}"));
        let is_marked = marked.get(id).is_some_and(|marks| {
            paths.iter().filter(about).any(|path| marks.iter().any(|name| names(path, name)))
        });
        counts.count(gone, is_marked);
        if list && gone != is_marked {
            render::progress(&format!("history {paths:?}: gone {gone}, marked {is_marked}"));
        }
    }
    Ok((counts, back))
}
