//! The tables of extraction: languages and their comments, tags, labels, sections, phrases.

use std::sync::LazyLock;

use regex::Regex;

use super::ItemType;
use crate::base::words::{self, List, Section};

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub(in crate::records::project) enum Language {
    Markdown,
    Code(&'static Marks),
}

/// The comment and string syntax of a language.
#[derive(Debug)]
pub(in crate::records::project) struct Marks {
    /// Starts of line comments.
    pub(super) line: &'static [&'static str],
    /// Starts and ends of block comments.
    pub(super) block: &'static [(&'static str, &'static str)],
    /// Quotes of strings on one line; strings over several lines are in `text`.
    pub(super) quotes: &'static [char],
    /// Starts and ends of strings over several lines.
    pub(super) text: &'static [(&'static str, &'static str)],
}

const C: Marks = Marks { line: &["//"], block: &[("/*", "*/")], quotes: &['"', '\''], text: &[] };
const SCRIPT: Marks =
    Marks { line: &["//"], block: &[("/*", "*/")], quotes: &['"', '\''], text: &[("`", "`")] };
// A single quote may start a lifetime, so only double quotes are strings.
const RUST: Marks = Marks { line: &["//"], block: &[("/*", "*/")], quotes: &[], text: &[("\"", "\"")] };
const PHP: Marks = Marks { line: &["//", "#"], block: &[("/*", "*/")], quotes: &['"', '\''], text: &[] };
const PYTHON: Marks =
    Marks { line: &["#"], block: &[], quotes: &['"', '\''], text: &[("\"\"\"", "\"\"\""), ("'''", "'''")] };
const HASH: Marks = Marks { line: &["#"], block: &[], quotes: &['"', '\''], text: &[] };
const SQL: Marks = Marks { line: &["--"], block: &[("/*", "*/")], quotes: &['\'', '"'], text: &[] };
const LUA: Marks = Marks { line: &["--"], block: &[("--[[", "]]")], quotes: &['"', '\''], text: &[] };
const HASKELL: Marks = Marks { line: &["--"], block: &[("{-", "-}")], quotes: &['"'], text: &[] };
const LISP: Marks = Marks { line: &[";"], block: &[("#|", "|#")], quotes: &[], text: &[("\"", "\"")] };
const PERCENT: Marks = Marks { line: &["%"], block: &[], quotes: &['"'], text: &[] };
const MARKUP: Marks = Marks { line: &[], block: &[("<!--", "-->")], quotes: &[], text: &[] };
const CSS: Marks = Marks { line: &[], block: &[("/*", "*/")], quotes: &['"', '\''], text: &[] };
const ML: Marks = Marks { line: &[], block: &[("(*", "*)")], quotes: &['"'], text: &[] };

/// The languages by file extension. A file without an extension is matched by its whole name.
pub(super) const LANGUAGES: &[(&[&str], Language)] = &[
    (&["md", "markdown", "mdx"], Language::Markdown),
    (&["rs"], Language::Code(&RUST)),
    (
        &[
            "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "m", "mm", "cs", "java", "kt", "kts", "scala",
            "swift", "dart", "groovy", "gradle", "proto", "zig", "v", "sv", "glsl", "cu", "d", "sol",
        ],
        Language::Code(&C),
    ),
    (&["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "go", "vue", "svelte"], Language::Code(&SCRIPT)),
    (&["scss", "less"], Language::Code(&C)),
    (&["css"], Language::Code(&CSS)),
    (&["php"], Language::Code(&PHP)),
    (&["py", "pyi", "pyx"], Language::Code(&PYTHON)),
    (
        &[
            "sh",
            "bash",
            "zsh",
            "fish",
            "rb",
            "pl",
            "pm",
            "r",
            "jl",
            "toml",
            "yaml",
            "yml",
            "tf",
            "hcl",
            "nix",
            "cmake",
            "mk",
            "makefile",
            "dockerfile",
            "justfile",
            "gemfile",
            "rakefile",
            "ps1",
            "ex",
            "exs",
            "cr",
        ],
        Language::Code(&HASH),
    ),
    (&["sql"], Language::Code(&SQL)),
    (&["lua"], Language::Code(&LUA)),
    (&["hs", "elm"], Language::Code(&HASKELL)),
    (&["lisp", "el", "clj", "cljs", "scm"], Language::Code(&LISP)),
    (&["tex", "erl"], Language::Code(&PERCENT)),
    (&["html", "htm", "xml", "svg"], Language::Code(&MARKUP)),
    (&["ml", "mli"], Language::Code(&ML)),
];

pub(super) static GENERATED_FILES: List = words::NAMES.list("generated files");
pub(super) static TAGS: Section<Rule> = words::EXTRACT.rows("tags", rule);
pub(super) static LABELS: Section<Rule> = words::EXTRACT.rows("labels", rule);
pub(super) static SECTIONS: Section<Rule> = words::EXTRACT.rows("sections", rule);
pub(super) static PLACEHOLDERS: List = words::EXTRACT.list("nothing");
pub(super) static NO_NAME: List = words::EXTRACT.list("no name");
pub(super) static OPINION: List = words::EXTRACT.list("opinion");

/// The words at the start of an item, its type and its confidence.
pub(super) type Rule = (&'static str, ItemType, f64);

fn rule(row: &'static str) -> Rule {
    let (words, meaning) = words::pair(row);
    let (name, confidence) = meaning.split_once(' ').expect("a type and a confidence");
    let known = ItemType::ALL.iter().find(|known| known.as_str() == name);
    (words, *known.expect("the name of a type"), confidence.parse().expect("a number"))
}

/// Headings in a decision record under which the decision itself is stated. Folded, whole.
pub(super) const OUTCOMES: &[&str] =
    &["decision", "decision outcome", "outcome", "choice", "resolution", "what we decided"];

/// Matches a sentence that states a choice. Negations and questions are excluded before.
pub(super) static CHOICE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:
            (?:so\ |therefore,?\ |in\ the\ end,?\ |after\ [^,.]{1,60},\ |for\ this\ reason,?\ )?
            (?:we|the\ team)\ (?:have\ |had\ )?(?:finally\ |therefore\ |deliberately\ )?
                (?:chose\b|chosen\b|decided\ (?:to|on|against|that|in\ favou?r\ of)\b|picked\b|settled\ on\b|opted\ (?:for|to)\b|went\ with\b|agreed\ (?:to|on|that)\b)
            | (?:we)\ (?:will\ |are\ going\ to\ )?use\ [^.]{1,60}\ (?:instead\ of|rather\ than|over)\ [^.]{1,60}
            | (?:chose|picked|adopted|rejected|dropped)\ [^.]{1,60}\ (?:over|instead\ of|in\ favou?r\ of|because|for)\ \S
            | [`A-Z0-9][^.]{0,60}\ (?:was|were)\ (?:chosen|selected|picked|adopted|rejected|dropped)\ (?:over|instead|because|in\ favou?r|as|since|due)\b
            | it\ was\ (?:decided|agreed)\ (?:to|that)\b
        )",
    )
    .expect("a constant pattern")
});

/// Matches a revoked choice.
pub(super) static UNDECIDED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i-u)\b(?:not|never|haven't|hasn't|yet to|if|whether|unless|before|until|once|when|could|might|may) (?:we |you |they |been )?(?:have |has )?(?:yet )?(?:decide|decided|choose|chose|chosen|pick|picked|agree|agreed)\b|\bnot (?:yet )?(?:been )?(?:decided|chosen)\b",
    )
    .expect("a constant pattern")
});
