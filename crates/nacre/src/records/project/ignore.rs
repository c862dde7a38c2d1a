//! What a project does not want looked at: the rules of its `.gitignore` files, as Git reads them.
//!
//! Written here rather than taken from a crate: the one at hand brings a walker with threads, a globbing engine and
//! ten crates for a hundred lines of matching. Its answers were compared with those of `git check-ignore`.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// More of a file of rules is not read.
const LONGEST: u64 = 1 << 20;

/// The rules that hold in a folder: its own, and behind them those of the folders above.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The last that fits decides.
    rules: Vec<Rule>,
    base: Base,
    above: Option<Rc<Rules>>,
}

/// The folder that rules are relative to.
#[derive(Debug)]
enum Base {
    /// The way to it from where the walk began; empty or ending in `/`.
    Below(String),
    /// The way from it to where the walk began, ending in `/`.
    Above(String),
}

impl Default for Base {
    fn default() -> Base {
        Base::Below(String::new())
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Rule {
    /// What fits is looked at after all.
    keeps: bool,
    folders_only: bool,
    /// Counted from the folder of the file; else it fits a name anywhere below.
    anchored: bool,
    segments: Vec<String>,
}

impl Rules {
    /// Reads the rules of the folder where a walk begins, and of those above it as far as the repository goes.
    pub(super) fn at_root(folder: &Path) -> Rc<Rules> {
        let mut rules = Rc::new(Rules::default());
        let Some(repository) = folder.ancestors().find(|above| above.join(".git").exists()) else {
            return Rules::within(&rules, folder, "");
        };
        let Ok(below) = folder.strip_prefix(repository) else { return Rules::within(&rules, folder, "") };
        let mut at = repository.to_owned();
        for part in below.components() {
            let from_here = folder.strip_prefix(&at).unwrap_or(below).to_string_lossy().replace('\\', "/");
            rules = Rules::read(&rules, &at, Base::Above(format!("{from_here}/")));
            at.push(part);
        }
        Rules::within(&rules, folder, "")
    }

    /// Reads the rules of a folder, if it has any, before those that hold above it.
    pub(super) fn within(above: &Rc<Rules>, folder: &Path, base: &str) -> Rc<Rules> {
        let base = if base.is_empty() { String::new() } else { format!("{base}/") };
        Rules::read(above, folder, Base::Below(base))
    }

    fn read(above: &Rc<Rules>, folder: &Path, base: Base) -> Rc<Rules> {
        let file = folder.join(".gitignore");
        let is_file = fs::symlink_metadata(&file).is_ok_and(|stat| stat.is_file() && stat.len() <= LONGEST);
        let bytes = if is_file { fs::read(&file).unwrap_or_default() } else { Vec::new() };
        let rules: Vec<Rule> = String::from_utf8_lossy(&bytes).lines().filter_map(parse).collect();
        if rules.is_empty() {
            return above.clone();
        }
        Rc::new(Rules { rules, base, above: Some(above.clone()) })
    }

    /// Tells whether a file or folder, named from where the walk began, is to be left out.
    pub(super) fn leave_out(&self, path: &str, is_folder: bool) -> bool {
        let below: Option<Cow<'_, str>> = match &self.base {
            Base::Below(way) => path.strip_prefix(way.as_str()).map(Cow::Borrowed),
            Base::Above(way) => Some(Cow::Owned(format!("{way}{path}"))),
        };
        if let Some(below) = below
            && let Some(rule) = self.rules.iter().rev().find(|rule| rule.fits(&below, is_folder))
        {
            return !rule.keeps;
        }
        self.above.as_ref().is_some_and(|above| above.leave_out(path, is_folder))
    }
}

impl Rule {
    fn fits(&self, path: &str, is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        if self.anchored {
            let path: Vec<&str> = path.split('/').collect();
            return fits_path(&self.segments, &path);
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        fits_name(self.segments[0].as_bytes(), name.as_bytes())
    }
}

/// Reads one line; `None`: it is no rule.
fn parse(line: &str) -> Option<Rule> {
    let mut line = line;
    // Spaces at the end count only where they are escaped.
    while let Some(shorter) = line.strip_suffix([' ', '\t', '\r']) {
        if shorter.ends_with('\\') && line.ends_with(' ') {
            break;
        }
        line = shorter;
    }
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (keeps, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let (folders_only, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
    let anchored = line.contains('/');
    let bare = line.strip_prefix('/').unwrap_or(line);
    if bare.is_empty() {
        return None;
    }
    let segments = bare.split('/').map(str::to_owned).collect();
    Some(Rule { keeps, folders_only, anchored, segments })
}

/// Matches a path, part by part. `**` stands for any number of folders; at the end, for something below.
fn fits_path(pattern: &[String], path: &[&str]) -> bool {
    // `reach[n]`: the parts of the pattern so far may fit the first n of the path.
    let mut reach = vec![false; path.len() + 1];
    reach[0] = true;
    for (place, part) in pattern.iter().enumerate() {
        let mut next = vec![false; path.len() + 1];
        if part == "**" {
            let least = usize::from(place + 1 == pattern.len());
            if let Some(first) = reach.iter().position(|reached| *reached) {
                next[(first + least).min(path.len() + 1)..].fill(true);
            }
        } else {
            for (at, name) in path.iter().enumerate().filter(|(at, _)| reach[*at]) {
                next[at + 1] |= fits_name(part.as_bytes(), name.as_bytes());
            }
        }
        reach = next;
    }
    reach[path.len()]
}

/// Matches one name: `*`, `?`, `[a-z]` and `\` mean what they do in a shell.
fn fits_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on after a star, if what follows it does not fit here.
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            None if n == name.len() => return true,
            Some(_) if n < name.len() => fits_one(&pattern[p..], name, n),
            _ => None,
        };
        match (step, star) {
            (Some((taken, read)), _) => (p, n) = (p + taken, n + read),
            (None, Some((after, from))) if from < name.len() => {
                star = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            (None, _) => return false,
        }
    }
}

/// Matches one character. Returns how much of the pattern and of the name it took.
fn fits_one(pattern: &[u8], name: &[u8], at: usize) -> Option<(usize, usize)> {
    let byte = name[at];
    match pattern[0] {
        b'?' => Some((1, width(name, at))),
        b'\\' => (pattern.get(1) == Some(&byte)).then_some((2, 1)),
        b'[' => {
            let not = matches!(pattern.get(1), Some(b'!' | b'^'));
            let start = if not { 2 } else { 1 };
            // A bracket that comes first is meant.
            let end = start + 1 + pattern.get(start + 1..)?.iter().position(|byte| *byte == b']')?;
            let inner = &pattern[start..end];
            let mut found = false;
            let mut i = 0;
            while i < inner.len() {
                if inner.get(i + 1) == Some(&b'-') && i + 2 < inner.len() {
                    found |= (inner[i]..=inner[i + 2]).contains(&byte);
                    i += 3;
                } else {
                    found |= inner[i] == byte;
                    i += 1;
                }
            }
            (found != not).then_some((end + 1, if not { width(name, at) } else { 1 }))
        }
        other => (other == byte).then_some((1, 1)),
    }
}

/// The bytes of the character that begins here.
fn width(name: &[u8], at: usize) -> usize {
    1 + name[at + 1..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(rules, path, left out)`; a path that ends in `/` is a folder. Compared with `git check-ignore`.
    const CASES: &[(&str, &str, bool)] = &[
        ("target", "target/", true),
        ("target", "deep/down/target/", true),
        ("target/", "target", false),
        ("target/", "a/target/", true),
        ("/target", "target", true),
        ("/target", "a/target", false),
        ("a/b", "a/b", true),
        ("a/b", "x/a/b", false),
        ("*.log", "a/x.log", true),
        ("*.log", "x.logs", false),
        ("*.log\n!keep.log", "keep.log", false),
        ("!keep.log\n*.log", "keep.log", true),
        ("doc/*.txt", "doc/x.txt", true),
        ("doc/*.txt", "doc/a/x.txt", false),
        ("**/logs", "a/b/logs/", true),
        ("**/logs", "logs/", true),
        ("logs/**", "logs/a/b", true),
        ("logs/**", "logs/", false),
        ("a/**/b", "a/b", true),
        ("a/**/b", "a/x/y/b", true),
        ("a/**/b", "ab", false),
        ("file[0-9].c", "file7.c", true),
        ("file[!0-9].c", "file7.c", false),
        ("file?", "file1", true),
        ("file?", "file", false),
        ("\\!x", "!x", true),
        ("\\#x", "#x", true),
        ("# x", "# x", false),
        ("x   ", "x", true),
        ("x\\ ", "x ", true),
        ("[", "[", false),
        ("*", "a/b", true),
        ("a*b*c", "aXbYc", true),
        ("a*b*c", "aXcYb", false),
        ("", "x", false),
        ("/", "x/", false),
    ];

    #[test]
    fn rules_are_read_as_git_reads_them() {
        for (text, path, expected) in CASES {
            let rules = Rules { rules: text.lines().filter_map(parse).collect(), ..Rules::default() };
            let bare = path.strip_suffix('/');
            assert_eq!(rules.leave_out(bare.unwrap_or(path), bare.is_some()), *expected, "{text:?} {path:?}");
        }
    }

    #[test]
    fn rules_further_down_come_first_and_speak_of_what_is_below() {
        let line = |text: &str| text.lines().filter_map(parse).collect::<Vec<_>>();
        let above = Rc::new(Rules { rules: line("*.md\n/top"), ..Rules::default() });
        let below =
            Rules { rules: line("!*.md\n/top"), base: Base::Below("docs/".into()), above: Some(above) };
        for (path, expected) in [("docs/a.md", false), ("docs/top", true), ("top", true), ("a.md", true)] {
            assert_eq!(below.leave_out(path, false), expected, "{path}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let stars = "*a".repeat(200);
        assert!(!fits_name(stars.as_bytes(), "a".repeat(199).as_bytes()));
        let pattern: Vec<String> = ["**", "a"].repeat(50).iter().map(ToString::to_string).collect();
        let path = vec!["a"; 300];
        assert!(fits_path(&pattern, &path));
        assert!(!fits_path(&pattern, &["b"; 300]));
    }
}
