//! A question to terms (E11): URLs out, everything that is not a letter or digit out, common words out where
//! others are left.
//!
//! The terms are made by the analyser that made the index. They are letters and digits only and stand in
//! quotes, so that no input can mean anything to the full-text engine.

use crate::index::analyse;

/// More terms than this add work, not meaning.
const MOST_TERMS: usize = 64;

/// A cleaned question.
pub(crate) struct Query {
    pub(crate) terms: Vec<Term>,
}

/// A term, and the word of the question that it stands for.
#[derive(Debug, PartialEq)]
pub(crate) struct Term {
    pub(crate) term: String,
    pub(crate) shown: String,
}

impl Query {
    /// Cleans a question.
    pub(crate) fn new(text: &str) -> Query {
        let mut terms: Vec<Term> = Vec::new();
        for word in text.split_whitespace().map(without_url) {
            for term in analyse::words(word) {
                if terms.iter().all(|known| known.term != term) {
                    let shown = word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
                    terms.push(Term { term, shown });
                }
            }
        }
        if terms.iter().any(|term| !analyse::is_common(&term.term)) {
            terms.retain(|term| !analyse::is_common(&term.term));
        }
        terms.truncate(MOST_TERMS);
        Query { terms }
    }

    /// Tells whether nothing is left to search for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the expression for the full-text engine: any of the terms. One character of a script without
    /// spaces finds the pairs that begin with it.
    pub(crate) fn expression(&self) -> String {
        let quoted = |term: &Term| {
            let alone = term.term.chars().nth(1).is_none();
            format!("\"{}\"{}", term.term, if alone { " *" } else { "" })
        };
        self.terms.iter().map(quoted).collect::<Vec<_>>().join(" OR ")
    }
}

/// Returns a word without the URL that it is or ends in.
fn without_url(word: &str) -> &str {
    let scheme = word
        .find("://")
        .map(|at| word[..at].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |sign| sign + 1));
    let bare = word.get(..4).filter(|start| start.eq_ignore_ascii_case("www.")).map(|_| 0);
    &word[..scheme.or(bare).unwrap_or(word.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expression: &str) {
        assert_eq!(Query::new(text).expression(), expression, "{text}");
    }

    #[test]
    fn questions_are_cleaned() {
        check("what is the user's dog called?", r#""user" OR "dog" OR "call""#);
        check("see https://example.org/a?b=c and www.example.org now", r#""see" OR "now""#);
        check("well-known", r#""well" OR "known" OR "wellknown""#);
        check("who am I", r#""who" OR "am""#);
        check("a b c", "");
    }

    #[test]
    fn operators_mean_nothing() {
        check(r#"NEAR("a b", 2) AND text: ^x* -y + (z"#, r#""near" OR "text""#);
        check("\"\"\"", "");
        check("' OR 1=1 --", "\"or\"");
        check("日本", "\"日本\" OR \"本\" *");
    }
}
