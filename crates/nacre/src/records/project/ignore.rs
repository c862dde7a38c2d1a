//! The rules of a project's `.gitignore` files, as Git interprets them. The crate `ignore` does the matching;
//! its walker is not used, because it neither counts skipped files nor limits the depth.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The maximum number of bytes read of a `.gitignore` file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The rules that apply in a folder: its own, followed by those of the folders above.
#[derive(Debug)]
pub(super) struct Rules {
    folder: PathBuf,
    own: Gitignore,
    above: Option<Rc<Rules>>,
}

impl Rules {
    fn none() -> Rules {
        Rules { folder: PathBuf::new(), own: Gitignore::empty(), above: None }
    }

    /// Reads the rules of the folder where a walk starts, and of its parents within the repository.
    pub(super) fn at_root(folder: &Path) -> Rc<Rules> {
        let none = Rc::new(Rules::none());
        let within_repository = folder.ancestors().position(|above| above.join(".git").exists()).unwrap_or(0);
        let above: Vec<&Path> = folder.ancestors().take(within_repository + 1).collect();
        above.into_iter().rev().fold(none, |rules, folder| Rules::within(&rules, folder))
    }

    /// Reads the rules of a folder, if it has any, which take precedence over those above it.
    pub(super) fn within(above: &Rc<Rules>, folder: &Path) -> Rc<Rules> {
        let file = folder.join(".gitignore");
        let is_file =
            fs::symlink_metadata(&file).is_ok_and(|stat| stat.is_file() && stat.len() <= MAX_FILE_BYTES);
        let bytes = if is_file { fs::read(&file).unwrap_or_default() } else { Vec::new() };
        Rules::read(above, folder, &String::from_utf8_lossy(&bytes))
    }

    fn read(above: &Rc<Rules>, folder: &Path, text: &str) -> Rc<Rules> {
        let mut rules = GitignoreBuilder::new(folder);
        // Git ignores a pattern that it can't parse.
        rules.allow_unclosed_class(false);
        for line in text.trim_start_matches('\u{feff}').lines() {
            let _ = rules.add_line(None, &without_alternatives(line));
        }
        match rules.build() {
            Ok(own) if !own.is_empty() => {
                Rc::new(Rules { folder: folder.to_owned(), own, above: Some(above.clone()) })
            }
            _ => above.clone(),
        }
    }

    /// Tells whether a file or folder is ignored.
    pub(super) fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        // Rules apply only below their folder.
        let rule = path.starts_with(&self.folder).then(|| self.own.matched(path, is_folder));
        match rule.filter(|rule| !rule.is_none()) {
            Some(rule) => rule.is_ignore(),
            None => self.above.as_ref().is_some_and(|above| above.leave_out(path, is_folder)),
        }
    }
}

/// Escapes braces, which are alternatives for the crate and literal for Git.
fn without_alternatives(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    let mut after_backslash = false;
    for c in line.chars() {
        if matches!(c, '{' | '}') && !after_backslash {
            escaped.push('\\');
        }
        escaped.push(c);
        after_backslash = c == '\\' && !after_backslash;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(rules, path, ignored)`; a path that ends in `/` is a folder. Verified with `git check-ignore`.
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
        ("{a,b}.txt", "a.txt", false),
        ("{a,b}.txt", "{a,b}.txt", true),
        ("\\{a}", "{a}", true),
        ("[{]a", "{a", true),
    ];

    fn leaves_out(text: &str, path: &str) -> bool {
        let root = Path::new("/project");
        let bare = path.strip_suffix('/');
        Rules::read(&Rc::new(Rules::none()), root, text)
            .leave_out(&root.join(bare.unwrap_or(path)), bare.is_some())
    }

    #[test]
    fn rules_are_read_as_git_reads_them() {
        for (text, path, expected) in CASES {
            assert_eq!(leaves_out(text, path), *expected, "{text:?} {path:?}");
        }
    }

    #[test]
    fn rules_further_down_come_first_and_speak_of_what_is_below() {
        let root = Path::new("/project");
        let above = Rules::read(&Rc::new(Rules::none()), root, "*.md\n/top");
        let below = Rules::read(&above, &root.join("docs"), "!*.md\n/top");
        for (path, expected) in [("docs/a.md", false), ("docs/top", true), ("top", true), ("a.md", true)] {
            assert_eq!(below.leave_out(&root.join(path), false), expected, "{path}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        assert!(!leaves_out(&"*a".repeat(200), &"a".repeat(199)));
        let pattern = ["**/a"; 50].join("/");
        assert!(leaves_out(&pattern, &["a"; 300].join("/")));
        assert!(!leaves_out(&pattern, &["b"; 300].join("/")));
    }
}
