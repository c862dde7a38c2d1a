//! The intent of a question: words that people use, and the keys and predicates that answer them.
//!
//! Only whole words match: `called` does not ask for a phone. The words are English
//! (`words/english/graph-questions.txt`); in other languages a question is matched by the words of keys and
//! by embedding.

use crate::base::words::{self, List, Section, Table};

static INTENTS: Table = words::GRAPH_QUESTIONS.table("intents");
static ATTRIBUTES: List = words::GRAPH_QUESTIONS.list("attributes");
static SAYS_LITTLE: List = words::GRAPH_QUESTIONS.list("says little");
static ENDS: Section<(&str, [&str; 3])> = words::GRAPH_QUESTIONS.rows("ends", end);

/// Reads a predicate, followed by the words that ask for its subject, its object and either of them.
fn end(row: &'static str) -> (&'static str, [&'static str; 3]) {
    let (predicate, words) = words::pair(row);
    let mut columns = words.split('|');
    (predicate, [(); 3].map(|()| columns.next().unwrap_or_default()))
}

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Returns the words of the keys that a word asks for.
pub(super) fn keys(word: &str) -> Vec<&'static str> {
    let asked = INTENTS.iter().filter(|(asked, _)| has(asked, word));
    asked.flat_map(|(_, keys)| keys.split_ascii_whitespace()).collect()
}

/// Tells whether a word asks for the other end of a relation; `None` if the predicate has no words for its
/// ends. `forward` means that the question names the subject.
pub(super) fn asks_for_end(word: &str, predicate: &str, forward: bool) -> Option<bool> {
    let (_, [subject, object, either]) = ENDS.iter().find(|(known, _)| *known == predicate)?;
    Some(has(if forward { object } else { subject }, word) || has(either, word))
}

/// Tells whether a word asks for a key or an end of a relation, so that it is not a name when written in
/// lower case.
pub(super) fn is_attribute(word: &str) -> bool {
    ATTRIBUTES.has(word) || INTENTS.iter().any(|(asked, _)| has(asked, word)) || names_end(word)
}

/// Tells whether a word asks for an end of a relation.
pub(super) fn names_end(word: &str) -> bool {
    ENDS.iter().any(|(_, lists)| lists.iter().any(|list| has(list, word)))
}

/// Tells whether a word only marks a question, without saying what is asked.
pub(super) fn says_little(word: &str) -> bool {
    SAYS_LITTLE.has(word)
}
