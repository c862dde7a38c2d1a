//! Word lists: the vocabulary that rules match against, kept as data in `words/` rather than in code.
//!
//! A file is a row of sections. `[name]` starts one, and `[name] sorted` promises that its entries are in byte
//! order, which makes lookups a binary search. The entries of a list are separated by commas and line ends; in
//! a table every line is one row, `key = value`. A line that starts with `# ` is a comment.
//!
//! Each list is a static of the module that uses it. It is parsed on first use, so a process pays only for the
//! lists it asks for.

use std::ops::Deref;
use std::sync::OnceLock;

/// A file of word lists, compiled into the library.
pub(crate) struct File {
    path: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($($name:ident = $path:literal,)*) => {
        $(pub(crate) static $name: File =
            File { path: $path, text: include_str!(concat!("../../words/", $path)) };)*
        #[cfg(test)]
        static FILES: &[(&str, &File)] = &[$((stringify!($name), &$name)),*];
    };
}

files! {
    CLAIMS_CHINESE = "chinese/claims.txt",
    CLAIMS_ENGLISH = "english/claims.txt",
    CLAIMS_FRENCH = "french/claims.txt",
    CLAIMS_GERMAN = "german/claims.txt",
    CLAIMS_SPANISH = "spanish/claims.txt",
    COMMON = "english/common.txt",
    CONVERSATION = "english/conversation.txt",
    CREDENTIALS = "credentials.txt",
    DATES = "english/dates.txt",
    DATES_OTHER = "dates.txt",
    DISTIL = "english/distil.txt",
    EXTRACT = "english/extract.txt",
    FUNCTION_WORDS = "languages.txt",
    GRAPH_KEYS = "english/graph-keys.txt",
    GRAPH_NAMES = "english/graph-names.txt",
    GRAPH_QUESTIONS = "english/graph-questions.txt",
    GRAPH_SENTENCES = "english/graph-sentences.txt",
    LESSONS = "english/lessons.txt",
    LESSONS_OTHER = "lessons.txt",
    MARKS = "english/marks.txt",
    MARKS_OTHER = "marks.txt",
    MESSAGES = "english/messages.txt",
    MESSAGES_OTHER = "messages.txt",
    NAMES = "names.txt",
    PREDICATES = "predicates.txt",
    SEARCH = "english/search.txt",
    SUMMARY = "english/summary.txt",
    UNITS = "units.txt",
}

impl File {
    /// Returns the list of words or phrases in a section.
    pub(crate) const fn list(&'static self, section: &'static str) -> List {
        self.entries(section, |word| word)
    }

    /// Returns the list in a section, with each entry converted by `read`.
    pub(crate) const fn entries<T>(
        &'static self,
        section: &'static str,
        read: fn(&'static str) -> T,
    ) -> Section<T> {
        Section { file: self, name: section, separator: Some(','), read, parsed: OnceLock::new() }
    }

    /// Returns the table of pairs in a section.
    pub(crate) const fn table(&'static self, section: &'static str) -> Table {
        self.rows(section, pair)
    }

    /// Returns the table in a section, with each row converted by `read`.
    pub(crate) const fn rows<T>(
        &'static self,
        section: &'static str,
        read: fn(&'static str) -> T,
    ) -> Section<T> {
        Section { file: self, name: section, separator: None, read, parsed: OnceLock::new() }
    }
}

/// Splits a row into its key and its value.
pub(crate) fn pair(row: &'static str) -> (&'static str, &'static str) {
    let (key, value) = row.split_once('=').expect("a row is `key = value`");
    (key.trim_end(), value.trim_start())
}

/// One section of a file, parsed on first use. Its entries keep the order of the file.
pub(crate) struct Section<T: 'static> {
    file: &'static File,
    name: &'static str,
    /// The separator between the entries of a line. Without one, each line is an entry.
    separator: Option<char>,
    read: fn(&'static str) -> T,
    parsed: OnceLock<ParsedSection<T>>,
}

struct ParsedSection<T> {
    entries: Vec<T>,
    sorted: bool,
}

/// A list of words or phrases.
pub(crate) type List = Section<&'static str>;
/// A list of pairs.
pub(crate) type Table = Section<(&'static str, &'static str)>;

impl<T> Section<T> {
    fn parsed(&self) -> &ParsedSection<T> {
        self.parsed.get_or_init(|| {
            let File { path, text } = self.file;
            let mut sections = sections(text).skip_while(|(name, ..)| *name != self.name);
            let (_, mark, body) =
                sections.next().unwrap_or_else(|| panic!("`{path}` has no `{}`", self.name));
            let mut entries = Vec::with_capacity(body.len() / 8);
            for line in body.split('\n').filter(|line| !line.starts_with("# ")) {
                let found = line.split(|c| Some(c) == self.separator).map(str::trim_ascii);
                entries.extend(found.filter(|entry| !entry.is_empty()).map(self.read));
            }
            ParsedSection { entries, sorted: mark == "sorted" }
        })
    }
}

/// Tells whether words begin with a phrase. `*` is any one word, and `n'*` any with this beginning.
pub(crate) fn begins(words: &[impl AsRef<str>], phrase: &str) -> bool {
    let wanted = phrase.split(' ');
    let fits = |word: &str, wanted: &str| match wanted.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => word == wanted,
    };
    words.len() >= wanted.clone().count()
        && words.iter().zip(wanted).all(|(word, wanted)| fits(word.as_ref(), wanted))
}

/// Splits a file into its sections: the name of each, the flag after the name, and the content.
fn sections(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let starts = move || text.match_indices('[').map(|(at, _)| at).filter(|at| text[..*at].ends_with('\n'));
    let ends = starts().skip(1).chain([text.len()]);
    starts().zip(ends).map(move |(start, end)| {
        let (heading, body) = text[start + 1..end].split_once('\n').expect("a heading has a line");
        let (name, mark) = heading.split_once(']').expect("a heading ends with `]`");
        (name, mark.trim(), body)
    })
}

impl<T> Deref for Section<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.parsed().entries
    }
}

impl List {
    /// Tells whether the list has a word.
    pub(crate) fn has(&self, word: &str) -> bool {
        let ParsedSection { entries, sorted } = self.parsed();
        if *sorted { entries.binary_search(&word).is_ok() } else { entries.contains(&word) }
    }
}

impl Table {
    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'static str> {
        let ParsedSection { entries, sorted } = self.parsed();
        let at = match sorted {
            true => entries.binary_search_by_key(&key, |(known, _)| *known).ok(),
            false => entries.iter().position(|(known, _)| *known == key),
        };
        at.map(|at| entries[at].1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use regex::Regex;

    use super::*;

    fn files_under(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(files_under(&path, ending));
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
        found
    }

    #[test]
    fn every_file_is_compiled_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("words");
        for path in files_under(&folder, "txt") {
            assert!(FILES.iter().any(|(_, file)| folder.join(file.path) == path), "{}", path.display());
        }
    }

    #[test]
    fn entries_are_unique_and_sorted_where_the_heading_says_so() {
        for (_, file) in FILES {
            let mut names = HashSet::new();
            for (name, mark, _) in sections(file.text) {
                assert!(names.insert(name), "{}: [{name}] twice", file.path);
                assert!(matches!(mark, "" | "sorted"), "{}: [{name}] {mark}", file.path);
                let rows = file.rows(name, |row| row);
                let is_table = rows.iter().all(|row| row.contains(" = "));
                let keys: Vec<&str> = if is_table {
                    file.table(name).iter().map(|(key, _)| *key).collect()
                } else {
                    file.list(name).to_vec()
                };
                assert!(!keys.is_empty(), "{}: [{name}] is empty", file.path);
                let mut seen = HashSet::new();
                let twice = keys.iter().find(|key| !seen.insert(**key));
                assert_eq!(twice, None, "{}: [{name}]", file.path);
                let unsorted = keys.windows(2).find(|pair| pair[0] > pair[1]);
                assert!(mark.is_empty() || unsorted.is_none(), "{}: [{name}] {unsorted:?}", file.path);
            }
        }
    }

    #[test]
    fn every_section_is_used_and_every_use_has_a_section() {
        let used = Regex::new(r#"words::([A-Z_]+)\s*\.(?:list|entries|table|rows)\(\s*"([^"]+)""#).unwrap();
        let mut uses = HashSet::new();
        for path in files_under(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "rs") {
            let source = std::fs::read_to_string(path).unwrap();
            uses.extend(used.captures_iter(&source).map(|found| (found[1].to_owned(), found[2].to_owned())));
        }
        let sections: HashSet<(String, String)> = FILES
            .iter()
            .flat_map(|(id, file)| sections(file.text).map(|(name, ..)| ((*id).to_owned(), name.to_owned())))
            .collect();
        assert_eq!(sections.difference(&uses).next(), None, "no code uses this section");
        assert_eq!(uses.difference(&sections).next(), None, "no file has this section");
    }
}
