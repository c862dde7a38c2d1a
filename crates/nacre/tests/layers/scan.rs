//! Reads which modules of a crate use which others, from the `use` paths and other paths of its source, and says which of
//! these edges go up a floor or close a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module: its path from the crate's root.
pub type Module = Vec<String>;

/// The modules of a crate, and what they name of each other.
pub struct Crate {
    modules: BTreeSet<Module>,
    /// Re-exports: `(module, name)` to the path of the item.
    exports: BTreeMap<(Module, String), Module>,
    /// Every path that a module names, from the root.
    named: Vec<(Module, Module)>,
}

impl Crate {
    /// Reads all source files below a folder, tests left out.
    pub fn read(source: &Path) -> Crate {
        let texts = texts(source);
        let modules: BTreeSet<Module> = texts.iter().map(|(module, _)| module.clone()).collect();
        let mut found = Crate { modules, exports: BTreeMap::new(), named: Vec::new() };
        for (module, text) in &texts {
            let (uses, rest) = split_uses(text);
            for (is_public, tree) in &uses {
                for path in leaves(tree) {
                    let (path, name) = match path.split_once(" as ") {
                        Some((path, name)) => (path.trim().to_owned(), name.trim().to_owned()),
                        None => (path.clone(), path.rsplit("::").next().unwrap_or_default().to_owned()),
                    };
                    let Some(target) = found.absolute(module, &path) else { continue };
                    if *is_public {
                        found.exports.insert((module.clone(), name), target.clone());
                    }
                    found.named.push((module.clone(), target));
                }
            }
            for path in inner_paths(&rest) {
                found.named.extend(found.absolute(module, &path).map(|target| (module.clone(), target)));
            }
        }
        found
    }

    /// Returns the edges between rooms: modules of at most `depth` names, with the modules below them.
    pub fn edges(&self, depth: usize) -> BTreeSet<(String, String)> {
        let room = |module: &[String]| module[..module.len().min(depth)].join("/");
        let ends = self.named.iter().map(|(from, path)| (room(from), room(&self.resolve(path, 0))));
        ends.filter(|(from, to)| from != to && !from.is_empty() && !to.is_empty()).collect()
    }

    /// A path as a path from the root; `None`: it is not one of this crate.
    fn absolute(&self, module: &[String], path: &str) -> Option<Module> {
        let mut names = path.split("::").map(str::trim).filter(|name| *name != "self").peekable();
        let mut from: Module = match names.peek().copied() {
            Some("crate") => {
                names.next();
                Vec::new()
            }
            Some("super") => module.to_vec(),
            Some(first) if self.modules.contains(&[module, &[first.to_owned()]].concat()) => module.to_vec(),
            _ if path.starts_with("self::") => module.to_vec(),
            _ => return None,
        };
        while names.next_if(|name| *name == "super").is_some() {
            from.pop();
        }
        from.extend(names.map(str::to_owned));
        Some(from)
    }

    /// The module in which what a path names stands.
    fn resolve(&self, path: &[String], depth: usize) -> Module {
        for at in 0..path.len() {
            let (module, name) = (&path[..at], &path[at]);
            if self.modules.contains(&path[..=at]) {
                continue;
            }
            let given = self.exports.get(&(module.to_vec(), name.clone()));
            return match given {
                Some(target) if depth < 8 && target[..] != path[..=at] => {
                    self.resolve(&[&target[..], &path[at + 1..]].concat(), depth + 1)
                }
                _ => module.to_vec(),
            };
        }
        path.to_vec()
    }
}

/// Returns the edges that go from a floor to one above it. Floors are given from the ground up.
pub fn upward(edges: &BTreeSet<(String, String)>, floors: &[&str]) -> BTreeSet<(String, String)> {
    let height = |room: &str| {
        let floor = room.split('/').next().unwrap_or_default();
        floors.iter().position(|known| *known == floor).unwrap_or_else(|| panic!("`{floor}` is on no floor"))
    };
    edges.iter().filter(|(from, to)| height(from) < height(to)).cloned().collect()
}

/// Returns the edges that lie on a circle.
pub fn circular(edges: &BTreeSet<(String, String)>) -> BTreeSet<(String, String)> {
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(room) = next.pop() {
            if room == to {
                return true;
            }
            if seen.insert(room) {
                next.extend(edges.iter().filter(|(from, _)| from == room).map(|(_, to)| to.as_str()));
            }
        }
        false
    };
    edges.iter().filter(|(from, to)| reaches(to, from)).cloned().collect()
}

/// Returns the text of every module below a folder, without tests and comments.
pub fn texts(source: &Path) -> Vec<(Module, String)> {
    let mut texts = Vec::new();
    collect(source, &mut Vec::new(), &mut texts);
    texts
}

fn collect(folder: &Path, at: &mut Module, texts: &mut Vec<(Module, String)>) {
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    for path in found {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            at.push(name);
            collect(&path, at, texts);
            at.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
            let mut module = at.clone();
            if !matches!(name.as_str(), "mod" | "lib" | "main") {
                module.push(name);
            }
            texts.push((module, without_comments(&fs::read_to_string(&path).unwrap())));
        }
    }
}

/// The text up to its tests, without comments.
fn without_comments(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The trees of all `use` statements, with whether others see what they name, and the text that is left.
fn split_uses(text: &str) -> (Vec<(bool, String)>, String) {
    let (mut uses, mut rest, mut open): (_, _, Option<(bool, String)>) = (Vec::new(), String::new(), None);
    for line in text.lines() {
        let (is_public, tree) = match &mut open {
            Some((is_public, tree)) => (*is_public, std::mem::take(tree) + " " + line.trim()),
            None => {
                let bare = line.trim_start();
                let is_public = bare.starts_with("pub");
                let inner = match bare.strip_prefix("pub") {
                    Some(after) => {
                        let after = after.trim_start();
                        after
                            .strip_prefix('(')
                            .and_then(|scope| scope.split_once(')'))
                            .map_or(after, |(_, after)| after)
                    }
                    None => bare,
                };
                match inner.trim_start().strip_prefix("use ") {
                    Some(tree) => (is_public, tree.to_owned()),
                    None => {
                        rest.push_str(line);
                        rest.push('\n');
                        continue;
                    }
                }
            }
        };
        match tree.split_once(';') {
            Some((tree, _)) => {
                uses.push((is_public, tree.to_owned()));
                open = None;
            }
            None => open = Some((is_public, tree)),
        }
    }
    (uses, rest)
}

/// The paths of a `use` tree.
fn leaves(tree: &str) -> Vec<String> {
    let Some((head, inner)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[from..]);
    let paths = parts.into_iter().filter(|part| !part.trim().is_empty()).flat_map(leaves);
    paths.map(|path| format!("{}{path}", head.trim())).collect()
}

/// The paths of at least two names in a text. Which of them are of this crate is for the caller to say.
fn inner_paths(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$');
    let words = text.split(|c| !is_path(c)).map(|word| word.trim_end_matches(':'));
    words.filter(|word| word.contains("::") && !word.starts_with([':', '$'])).map(str::to_owned).collect()
}
