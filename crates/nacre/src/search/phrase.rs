//! Phrases in a question.

/// Tells whether a text contains a phrase as whole words.
pub(super) fn says(lower: &str, phrase: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    lower.match_indices(phrase).any(|(at, found)| {
        is_edge(lower[..at].chars().next_back()) && is_edge(lower[at + found.len()..].chars().next())
    })
}
