//! The tables that extraction goes by: languages and their comments, tags, labels, sections, phrases.

use std::sync::LazyLock;

use regex::Regex;

use super::ItemType::{self, Claim, Decision, Entity, Note, Task};

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub(in crate::records::project) enum Language {
    Markdown,
    Code(&'static Marks),
}

/// How a language writes comments and strings.
#[derive(Debug)]
pub(in crate::records::project) struct Marks {
    /// What begins a comment that ends with its line.
    pub(super) line: &'static [&'static str],
    /// What begins and ends one that does not.
    pub(super) block: &'static [(&'static str, &'static str)],
    /// What begins and ends a string; one that is longer than a line is among the blocks of `text`.
    pub(super) quotes: &'static [char],
    /// What begins and ends a string of several lines.
    pub(super) text: &'static [(&'static str, &'static str)],
}

const C: Marks = Marks { line: &["//"], block: &[("/*", "*/")], quotes: &['"', '\''], text: &[] };
const SCRIPT: Marks =
    Marks { line: &["//"], block: &[("/*", "*/")], quotes: &['"', '\''], text: &[("`", "`")] };
// A quote may also begin a lifetime, so only the double ones are strings.
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

/// The languages, by how the names of their files end. A file without an ending goes by its whole name.
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

/// Endings of files that a program made.
pub(super) const MADE: &[&str] = &[
    ".min.js",
    ".min.css",
    ".bundle.js",
    ".pb.go",
    "_pb2.py",
    ".g.dart",
    ".lock",
    "-lock.json",
    "-lock.yaml",
    ".svg",
];

/// What a comment may begin with, in capitals.
pub(super) const TAGS: &[(&str, ItemType, f64)] = &[
    ("TODO", Task, 0.9),
    ("FIXME", Task, 0.9),
    ("BUG", Task, 0.8),
    ("XXX", Task, 0.7),
    ("HACK", Note, 0.8),
    ("WORKAROUND", Note, 0.8),
    ("NOTE", Note, 0.8),
    ("WARNING", Note, 0.8),
    ("IMPORTANT", Note, 0.8),
    ("NB", Note, 0.7),
    ("PERF", Note, 0.7),
    ("DECISION", Decision, 0.9),
    ("SAFETY", Claim, 0.9),
    ("INVARIANT", Claim, 0.9),
    ("ASSUMPTION", Claim, 0.8),
    ("PANICS", Claim, 0.7),
];

/// What a paragraph or bullet may begin with, before a colon. Folded.
pub(super) const LABELS: &[(&str, ItemType, f64)] = &[
    ("decision", Decision, 0.9),
    ("decided", Decision, 0.9),
    ("we decided", Decision, 0.9),
    ("resolution", Decision, 0.7),
    ("todo", Task, 0.9),
    ("fixme", Task, 0.9),
    ("action", Task, 0.8),
    ("action item", Task, 0.9),
    ("next step", Task, 0.8),
    ("follow-up", Task, 0.8),
    ("claim", Claim, 0.9),
    ("assumption", Claim, 0.9),
    ("invariant", Claim, 0.9),
    ("constraint", Claim, 0.8),
    ("requirement", Claim, 0.8),
    ("finding", Claim, 0.8),
    ("lesson", Claim, 0.8),
    ("lesson learned", Claim, 0.8),
    ("root cause", Claim, 0.8),
    ("definition", Entity, 0.8),
    ("note", Note, 0.8),
    ("nb", Note, 0.8),
    ("n.b.", Note, 0.8),
    ("warning", Note, 0.8),
    ("caution", Note, 0.8),
    ("important", Note, 0.8),
    ("caveat", Note, 0.8),
    ("gotcha", Note, 0.8),
    ("known issue", Note, 0.8),
    ("limitation", Note, 0.8),
];

/// Headings whose bullets are all of one type. Folded, whole.
pub(super) const SECTIONS: &[(&str, ItemType, f64)] = &[
    ("decisions", Decision, 0.85),
    ("key decisions", Decision, 0.85),
    ("decision log", Decision, 0.85),
    ("decisions made", Decision, 0.85),
    ("design decisions", Decision, 0.8),
    ("architecture decisions", Decision, 0.8),
    ("architectural decisions", Decision, 0.8),
    ("todo", Task, 0.8),
    ("todos", Task, 0.8),
    ("to do", Task, 0.8),
    ("to-do", Task, 0.8),
    ("action items", Task, 0.85),
    ("next steps", Task, 0.7),
    ("open tasks", Task, 0.85),
    ("follow-ups", Task, 0.75),
    ("remaining work", Task, 0.75),
    ("invariants", Claim, 0.85),
    ("assumptions", Claim, 0.85),
    ("constraints", Claim, 0.75),
    ("guarantees", Claim, 0.75),
    ("lessons learned", Claim, 0.75),
    ("key findings", Claim, 0.75),
    ("glossary", Entity, 0.9),
    ("terminology", Entity, 0.85),
    ("definitions", Entity, 0.85),
    ("terms", Entity, 0.75),
    ("caveats", Note, 0.75),
    ("gotchas", Note, 0.75),
    ("known issues", Note, 0.75),
    ("limitations", Note, 0.7),
    ("known limitations", Note, 0.75),
];

/// Headings of a record of a decision under which the decision itself stands. Folded, whole.
pub(super) const OUTCOMES: &[&str] =
    &["decision", "decision outcome", "outcome", "choice", "resolution", "what we decided"];

/// What stands where nothing has been written yet.
pub(super) const NOTHING: &[&str] = &[
    "none",
    "none yet",
    "n/a",
    "not applicable",
    "to be done",
    "to be decided",
    "to be determined",
    "nothing yet",
    "lorem ipsum",
];

/// First words that name nothing: what they stand for is elsewhere.
pub(super) const NO_NAME: &[&str] = &[
    "a",
    "all",
    "an",
    "and",
    "another",
    "any",
    "anything",
    "as",
    "at",
    "because",
    "below",
    "both",
    "but",
    "by",
    "each",
    "either",
    "every",
    "everything",
    "first",
    "for",
    "from",
    "he",
    "hence",
    "her",
    "here",
    "his",
    "how",
    "however",
    "i",
    "if",
    "in",
    "it",
    "its",
    "last",
    "like",
    "most",
    "much",
    "my",
    "neither",
    "next",
    "no",
    "nobody",
    "none",
    "not",
    "nothing",
    "now",
    "of",
    "on",
    "one",
    "only",
    "or",
    "our",
    "same",
    "second",
    "she",
    "since",
    "so",
    "some",
    "something",
    "such",
    "that",
    "their",
    "then",
    "there",
    "therefore",
    "these",
    "they",
    "this",
    "those",
    "though",
    "thus",
    "to",
    "today",
    "unless",
    "until",
    "we",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "why",
    "with",
    "yet",
    "you",
    "your",
    "let",
    "note",
    "example",
    "part",
    "step",
    "option",
];

/// What follows "is a" and says what someone thinks of a thing, not what it is.
pub(super) const OPINION: &[&str] = &[
    "bad",
    "better",
    "big",
    "bit",
    "breaking",
    "bug",
    "challenge",
    "common",
    "few",
    "good",
    "great",
    "hard",
    "huge",
    "known",
    "little",
    "long",
    "lot",
    "matter",
    "mess",
    "mistake",
    "much",
    "must",
    "nice",
    "no-brainer",
    "no-op",
    "pain",
    "pity",
    "possible",
    "potential",
    "priority",
    "problem",
    "question",
    "real",
    "requirement",
    "shame",
    "sign",
    "significant",
    "terrible",
    "thing",
    "tricky",
    "typo",
    "valid",
    "very",
    "waste",
    "way",
    "wip",
    "work-in-progress",
];

/// Says in a sentence that something was chosen. What was not, and what is asked, is told apart before.
pub(super) static CHOSEN: LazyLock<Regex> = LazyLock::new(|| {
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

/// Takes a choice back.
pub(super) static UNDECIDED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i-u)\b(?:not|never|haven't|hasn't|yet to|if|whether|unless|before|until|once|when|could|might|may) (?:we |you |they |been )?(?:have |has )?(?:yet )?(?:decide|decided|choose|chose|chosen|pick|picked|agree|agreed)\b|\bnot (?:yet )?(?:been )?(?:decided|chosen)\b",
    )
    .expect("a constant pattern")
});
