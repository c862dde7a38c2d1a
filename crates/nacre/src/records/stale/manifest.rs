//! Reads what the manifests of a repository declare: versions, commands, and the programs it builds.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;
use toml::Table;

use super::mention::Runner;

/// The declarations of all manifests of a repository.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    versions: HashMap<String, Versions>,
    commands: HashSet<(Runner, String)>,
    /// The programs that it builds.
    programs: HashSet<String>,
    /// The packages of its own.
    packages: HashSet<String>,
}

/// The versions of one package.
#[derive(Debug, Default)]
struct Versions {
    /// As a manifest asks for it.
    stated: BTreeSet<String>,
    /// As a lock file fixes it.
    locked: BTreeSet<String>,
}

/// Tells whether a file is read for its declarations.
pub(super) fn is_manifest(name: &str) -> bool {
    READERS.iter().any(|(known, _)| *known == name) || is_requirements(name)
}

fn is_requirements(name: &str) -> bool {
    name.starts_with("requirements") && name.ends_with(".txt")
}

type Reader = fn(&mut Manifests, &str);

/// The manifests that are understood.
const READERS: &[(&str, Reader)] = &[
    ("Cargo.toml", Manifests::cargo),
    ("Cargo.lock", Manifests::cargo_lock),
    ("config.toml", Manifests::cargo_config),
    ("package.json", Manifests::node),
    ("pyproject.toml", Manifests::python),
    ("go.mod", Manifests::go),
    ("justfile", Manifests::just),
    ("Justfile", Manifests::just),
    (".justfile", Manifests::just),
    ("Makefile", Manifests::make),
    ("GNUmakefile", Manifests::make),
    ("makefile", Manifests::make),
    ("Taskfile.yml", Manifests::taskfile),
    ("Taskfile.yaml", Manifests::taskfile),
    ("rust-toolchain", |all, text| all.state("rust", text.trim())),
    ("rust-toolchain.toml", Manifests::toolchain),
    (".nvmrc", |all, text| all.state("node", text.trim())),
    (".node-version", |all, text| all.state("node", text.trim())),
    (".python-version", |all, text| all.state("python", text.trim())),
];

impl Manifests {
    /// Adds what a file declares. A file that can't be read declares nothing.
    pub(super) fn add(&mut self, name: &str, text: &str) {
        match READERS.iter().find(|(known, _)| *known == name) {
            Some((_, read)) => read(self, text),
            None => self.requirements(text),
        }
    }

    /// Tells whether a package has this version. A shorter version, such as `0.38`, includes the longer ones.
    pub(super) fn has_version(&self, package: &str, version: &str) -> bool {
        let Some(Versions { stated, locked }) = self.versions.get(&key(package)) else { return false };
        let is_in = |declared: &String| starts(declared, version);
        // A longer version than the manifest states is known only from a lock file.
        let is_of = |declared: &String| locked.is_empty() && starts(version, declared);
        stated.iter().chain(locked).any(is_in) || stated.iter().any(is_of)
    }

    /// Returns the version that a package has, if there is only one.
    pub(super) fn version(&self, package: &str) -> Option<&str> {
        let Versions { stated, locked } = self.versions.get(&key(package))?;
        let mut all = if stated.is_empty() { locked } else { stated }.iter();
        all.next().filter(|_| all.next().is_none()).map(String::as_str)
    }

    pub(super) fn has_command(&self, runner: Runner, name: &str) -> bool {
        self.commands.contains(&(runner, name.to_owned()))
    }

    pub(super) fn has_package(&self, name: &str) -> bool {
        self.packages.contains(name) || self.programs.contains(name)
    }

    pub(super) fn has_program(&self, name: &str) -> bool {
        self.programs.contains(name) || self.packages.contains(name)
    }

    fn state(&mut self, package: &str, requirement: &str) {
        if let Some(version) = least(requirement) {
            self.versions.entry(key(package)).or_default().stated.insert(version);
        }
    }

    fn lock(&mut self, package: &str, version: &str) {
        self.versions.entry(key(package)).or_default().locked.insert(version.to_owned());
    }

    fn run_by(&mut self, runner: Runner, name: &str) {
        self.commands.insert((runner, name.to_owned()));
    }

    fn cargo(&mut self, text: &str) {
        let Ok(manifest) = text.parse::<Table>() else { return };
        let table = |of: &Table, name: &str| of.get(name).and_then(|value| value.as_table()).cloned();
        let text_of =
            |of: &Table, name: &str| of.get(name).and_then(|value| value.as_str()).map(str::to_owned);
        let package = table(&manifest, "package").unwrap_or_default();
        let shared = table(&manifest, "workspace").unwrap_or_default();
        let shared_package = table(&shared, "package").unwrap_or_default();
        if let Some(name) = text_of(&package, "name") {
            text_of(&package, "version").iter().for_each(|version| self.state(&name, version));
            self.packages.insert(name);
        }
        for bin in manifest.get("bin").and_then(|bins| bins.as_array()).into_iter().flatten() {
            self.programs.extend(bin.as_table().and_then(|bin| text_of(bin, "name")));
        }
        for of in [&package, &shared_package] {
            text_of(of, "rust-version").iter().for_each(|version| {
                ["rust", "msrv", "rustc", "rust-version"].iter().for_each(|name| self.state(name, version));
            });
        }
        let targets = table(&manifest, "target").unwrap_or_default();
        let targets: Vec<Table> =
            targets.into_iter().filter_map(|(_, value)| value.as_table().cloned()).collect();
        for of in [&manifest, &shared].into_iter().chain(&targets) {
            for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
                for (name, value) in table(of, kind).unwrap_or_default() {
                    let version = value.as_str().map(str::to_owned);
                    let version =
                        version.or_else(|| value.as_table().and_then(|value| text_of(value, "version")));
                    version.iter().for_each(|version| self.state(&name, version));
                }
            }
        }
    }

    fn cargo_lock(&mut self, text: &str) {
        // One package after the other, each with its name before its version.
        let mut name = None;
        for line in text.lines() {
            if let Some(value) = quoted(line, "name = ") {
                name = Some(value);
            } else if let Some((name, version)) = name.zip(quoted(line, "version = ")) {
                self.lock(name, version);
            }
        }
    }

    fn cargo_config(&mut self, text: &str) {
        let Ok(config) = text.parse::<Table>() else { return };
        for name in
            config.get("alias").and_then(|alias| alias.as_table()).into_iter().flatten().map(|(name, _)| name)
        {
            self.run_by(Runner::Cargo, name);
        }
    }

    fn toolchain(&mut self, text: &str) {
        if let Some(channel) = text.lines().find_map(|line| quoted(line.trim(), "channel = ")) {
            self.state("rust", channel);
        }
    }

    fn node(&mut self, text: &str) {
        let Ok(manifest) = serde_json::from_str::<Value>(text) else { return };
        let named = |field: &str| manifest[field].as_object().into_iter().flatten();
        for kind in ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "engines"]
        {
            for (name, version) in named(kind) {
                self.state(name, version.as_str().unwrap_or_default());
            }
        }
        for (name, _) in named("scripts") {
            self.run_by(Runner::Script, name);
        }
        self.programs.extend(named("bin").map(|(name, _)| name.clone()));
        if let Some(name) = manifest["name"].as_str() {
            self.state(name, manifest["version"].as_str().unwrap_or_default());
            self.packages.insert(name.to_owned());
            if manifest["bin"].is_string() {
                self.programs.insert(name.to_owned());
            }
        }
    }

    fn python(&mut self, text: &str) {
        let Ok(manifest) = text.parse::<Table>() else { return };
        let project = manifest.get("project").and_then(|value| value.as_table());
        let poetry =
            manifest.get("tool").and_then(|tool| tool.get("poetry")).and_then(|value| value.as_table());
        for of in [project, poetry].into_iter().flatten() {
            let text_of = |name: &str| of.get(name).and_then(|value| value.as_str());
            if let Some(name) = text_of("name") {
                self.state(name, text_of("version").unwrap_or_default());
                self.packages.insert(name.to_owned());
            }
            self.state("python", text_of("requires-python").unwrap_or_default());
            let scripts = of.get("scripts").and_then(|scripts| scripts.as_table());
            self.programs.extend(scripts.into_iter().flatten().map(|(name, _)| name.clone()));
            match of.get("dependencies") {
                Some(toml::Value::Array(list)) => {
                    list.iter().filter_map(|one| one.as_str()).for_each(|line| self.requirement(line));
                }
                Some(toml::Value::Table(table)) => {
                    for (name, value) in table {
                        self.state(name, value.as_str().unwrap_or_default());
                    }
                }
                _ => {}
            }
        }
    }

    fn requirements(&mut self, text: &str) {
        text.lines().for_each(|line| self.requirement(line));
    }

    /// Reads a line such as `flask[async]>=2.3,<3`.
    fn requirement(&mut self, line: &str) {
        let end = line.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let rest = rest.split_once(']').map_or(rest, |(_, rest)| rest);
        if !name.is_empty() {
            self.state(name, rest.split(';').next().unwrap_or_default());
        }
    }

    fn go(&mut self, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "require").collect();
            if let [name, version, ..] = words[..] {
                self.state(name, version);
                // People say the last part of a module's path.
                self.state(name.rsplit('/').next().unwrap_or(name), version);
            }
        }
    }

    fn just(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '['])) {
            let line = line.trim_start_matches('@');
            let words = line.strip_prefix("alias ").unwrap_or(line);
            let end = words.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(0);
            let is_alias = line.starts_with("alias ") && line.contains(":=");
            let is_recipe = words.contains(':') && !words.contains(":=");
            if end > 0 && (is_alias || is_recipe) {
                self.run_by(Runner::Just, &words[..end]);
            }
        }
    }

    fn make(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '.'])) {
            let Some((targets, rest)) = line.split_once(':') else { continue };
            if !rest.starts_with('=') && !targets.contains('=') {
                targets.split_whitespace().for_each(|target| self.run_by(Runner::Make, target));
            }
        }
    }

    /// Reads the names under `tasks:`, which are indented once.
    fn taskfile(&mut self, text: &str) {
        let mut tasks = text.lines().skip_while(|line| line.trim_end() != "tasks:").skip(1).peekable();
        let depth = |line: &str| line.len() - line.trim_start().len();
        let Some(first) = tasks.peek().map(|line| depth(line)).filter(|depth| *depth > 0) else { return };
        for line in tasks.take_while(|line| line.trim().is_empty() || depth(line) >= first) {
            if let Some(name) = line.trim_end().strip_suffix(':').filter(|_| depth(line) == first) {
                self.run_by(Runner::Task, name.trim().trim_matches(['"', '\'']));
            }
        }
    }
}

fn quoted<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.strip_prefix(before)?.strip_prefix('"')?.split('"').next()
}

/// Folds the name of a package, as package managers do.
fn key(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// Returns the least version that a requirement allows, such as `1.2` for `>=1.2,<2`.
fn least(requirement: &str) -> Option<String> {
    let start = requirement.find(|c: char| c.is_ascii_digit())?;
    let version: String = requirement[start..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || ".-+".contains(*c))
        .collect();
    let version = version.trim_end_matches(['.', '-', '+']).trim_end_matches(".x");
    (!version.is_empty()).then(|| version.to_owned())
}

/// Tells whether a version begins with the numbers of another.
fn starts(version: &str, other: &str) -> bool {
    version.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Manifests {
        let mut all = Manifests::default();
        files.iter().for_each(|(name, text)| all.add(name, text));
        all
    }

    #[test]
    fn versions_are_declared_in_many_forms() {
        let all = read(&[
            (
                "Cargo.toml",
                "[package]\nname = \"heron\"\nversion = \"0.4.1\"\nrust-version = \"1.85\"\n\
                 [dependencies]\nserde = { version = \"1\", features = [] }\n\
                 [target.'cfg(unix)'.dependencies]\nrustix = \"1.1\"\n[workspace.dependencies]\ntokio = \"0.38\"\n",
            ),
            ("Cargo.lock", "[[package]]\nname = \"serde\"\nversion = \"1.0.219\"\n"),
            (
                "package.json",
                r#"{ "devDependencies": { "vite": "^5.4.0" }, "engines": { "node": ">=20.1" } }"#,
            ),
            (
                "pyproject.toml",
                "[project]\nname = \"o\"\ndependencies = [\"flask[async]>=2.3,<3\", \"six\"]\n",
            ),
            ("requirements-dev.txt", "pytest==8.2.1  # tests\n-r x.txt\n"),
            ("go.mod", "module x\ngo 1.22\nrequire github.com/spf13/cobra v1.8.0\n"),
        ]);
        for (name, version, expected) in [
            ("heron", "0.4.1", true),
            ("heron", "0.4", true),
            ("heron", "0.5", false),
            ("msrv", "1.85", true),
            ("serde", "1.0.219", true),
            ("serde", "1.0.200", false),
            ("rustix", "1.1", true),
            ("tokio", "0.38", true),
            ("tokio", "0.38.1", true),
            ("tokio", "0.3", false),
            ("vite", "5.4", true),
            ("node", "20.1", true),
            ("flask", "2.3", true),
            ("pytest", "8.2.1", true),
            ("cobra", "1.8.0", true),
            ("go", "1.22", true),
            ("unknown", "1.0", false),
        ] {
            assert_eq!(all.has_version(name, version), expected, "{name} {version}");
        }
        assert_eq!(all.version("tokio"), Some("0.38"));
    }

    #[test]
    fn commands_are_declared_in_many_forms() {
        let all = read(&[
            (
                "justfile",
                "set shell := [\"sh\"]\nversion := \"1\"\n# check: no\ncheck *args: build\n    make x\n@quick:\nalias q := quick\n",
            ),
            ("Makefile", "CC := gcc\nall test: x.o\n\techo a: b\n.PHONY: all\n"),
            ("package.json", r#"{ "scripts": { "build:web": "x" }, "bin": { "otter": "a.js" } }"#),
            ("config.toml", "[alias]\nxtask = \"run\"\n"),
            (
                "Taskfile.yml",
                "version: '3'\ntasks:\n  lint:\n    cmds:\n      - x\n  \"a b\":\nother:\n  no:\n",
            ),
        ]);
        for (runner, name, expected) in [
            (Runner::Just, "check", true),
            (Runner::Just, "quick", true),
            (Runner::Just, "q", true),
            (Runner::Just, "version", false),
            (Runner::Just, "set", false),
            (Runner::Make, "test", true),
            (Runner::Make, "CC", false),
            (Runner::Make, "echo", false),
            (Runner::Script, "build:web", true),
            (Runner::Cargo, "xtask", true),
            (Runner::Task, "lint", true),
            (Runner::Task, "cmds", false),
            (Runner::Task, "no", false),
        ] {
            assert_eq!(all.has_command(runner, name), expected, "{runner:?} {name}");
        }
        assert!(all.has_program("otter"));
    }

    #[test]
    fn a_broken_manifest_declares_nothing_and_stops_nothing() {
        for (name, _) in READERS {
            for text in ["", "{", "[[[", "\u{0}", "a = ", ":", "tasks:", "require"] {
                read(&[(name, text)]);
            }
        }
    }
}
