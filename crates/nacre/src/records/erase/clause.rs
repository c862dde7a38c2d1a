//! The rest of a memory of which one matter is forgotten: the sentences and clauses that do not contain it. Nothing stays of a
//! sentence that is about the matter, or that only makes sense beside the one that goes.

/// Words between two clauses of a sentence.
const JOINTS: &[&str] =
    &[", and ", " and ", ", but ", " but ", ", while ", " while ", " und ", " aber ", " y ", " et "];
/// Words that refer to something before them.
const PRONOUNS: &[&str] = &[
    "he", "she", "they", "it", "his", "her", "their", "its", "this", "that", "these", "those", "er", "sie",
    "ihr", "él", "ella", "il", "elle", "there", "both",
];
/// Words after which a name follows.
const NAMING: &[&str] = &["called", "named", "name", "nicknamed", "heißt", "namens", "llama", "appelle"];
/// Words before a noun.
const DETERMINERS: &[&str] = &[
    "the", "a", "an", "my", "our", "your", "his", "her", "their", "its", "this", "that", "every", "each",
    "der", "die", "das", "mein", "meine", "unser", "unsere", "el", "la", "mi", "le", "mon", "ma",
];
/// Verbs that do not end like one.
const VERBS: &[&str] = &[
    "is", "are", "was", "were", "am", "be", "will", "would", "can", "could", "may", "must", "should", "have",
    "had", "did", "do", "went", "left", "got", "ist", "hat", "war", "es", "tiene", "est",
];
/// The fewest words of a statement.
const MIN_WORDS: usize = 3;

/// Returns what stays of a text; `None` if the whole text goes.
pub(super) fn without(text: &str, is_in: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut has_gone = false;
    let mut follows_gone = false;
    for sentence in sentences(text) {
        // A sentence about "it" goes with the one before it.
        if follows_gone && first_word(sentence).is_some_and(|word| PRONOUNS.contains(&word.as_str())) {
            continue;
        }
        follows_gone = false;
        if !is_in(sentence) {
            kept.push(sentence.trim().to_owned());
            continue;
        }
        (has_gone, follows_gone) = (true, true);
        let parts = sentence
            .split(';')
            .map(|part| if is_in(part) { clauses(part, is_in) } else { Some(part.into()) });
        let parts: Vec<String> =
            parts.flatten().map(|part| part.trim().trim_end_matches('.').to_owned()).collect();
        let parts: Vec<String> = parts.into_iter().filter(|part| word_count(part) >= MIN_WORDS).collect();
        let depends = parts
            .first()
            .and_then(|part| first_word(part))
            .is_some_and(|word| PRONOUNS.contains(&word.as_str()));
        if !parts.is_empty() && !depends {
            kept.push(format!("{}.", capital(&parts.join("; "))));
        }
    }
    let kept = kept.join(" ");
    (has_gone && word_count(&kept) >= MIN_WORDS && !is_in(&kept)).then_some(kept)
}

/// Returns what stays of a sentence of several clauses.
fn clauses(sentence: &str, is_in: &dyn Fn(&str) -> bool) -> Option<String> {
    let segments = segments(sentence);
    let (_, first) = segments[0];
    let subject = subject(first)?;
    if segments.len() < 2 || is_in(subject) {
        return None;
    }
    let kept: Vec<(&str, &str)> = segments.iter().copied().filter(|(_, segment)| !is_in(segment)).collect();
    // The matter is in none alone: it goes over the joint.
    if kept.len() == segments.len() {
        return None;
    }
    let (&(_, lead), rest) = kept.split_first()?;
    let mut text = if lead == first {
        lead.trim().to_owned()
    } else if NAMING.iter().any(|word| words(first).iter().any(|one| one == word)) || !begins_with_verb(lead)
    {
        return None;
    } else {
        format!("{} {}", subject.trim(), lead.trim())
    };
    for (joint, segment) in rest {
        text.push_str(joint);
        text.push_str(segment.trim());
    }
    Some(text)
}

/// Splits a sentence at the words that join clauses. Each part comes with the joint before it.
fn segments(sentence: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let (mut start, mut joint) = (0, "");
    while let Some((at, next)) = JOINTS
        .iter()
        .filter_map(|next| Some((start + sentence[start..].find(next)?, *next)))
        .min_by_key(|(at, next)| (*at, std::cmp::Reverse(next.len())))
    {
        found.push((joint, &sentence[start..at]));
        (start, joint) = (at + next.len(), next);
    }
    found.push((joint, &sentence[start..]));
    found
}

/// Returns the words before the verb of a clause.
fn subject(clause: &str) -> Option<&str> {
    let mut before: Option<&str> = None;
    for word in clause.split_whitespace() {
        let is_noun = before.is_none_or(|before| DETERMINERS.contains(&before.to_lowercase().as_str()));
        if !is_noun && is_verb(word) {
            let start = word.as_ptr() as usize - clause.as_ptr() as usize;
            return Some(&clause[..start]);
        }
        before = Some(word);
    }
    None
}

fn begins_with_verb(clause: &str) -> bool {
    clause.split_whitespace().next().is_some_and(is_verb) && word_count(clause) >= 2
}

fn is_verb(word: &str) -> bool {
    let word = word.to_lowercase();
    let ends = |end: &str| word.len() > end.len() + 1 && word.ends_with(end);
    VERBS.contains(&word.as_str())
        || ((ends("s") && !ends("ss") && !ends("'s") && !ends("’s")) || ends("ed"))
            && word.chars().all(char::is_alphabetic)
}

/// Splits a text into its sentences.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let after = text[end..].trim_start();
        let is_end = match c {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                // "Dr. Frei", "e.g. this"
                let word = text[start..at].rsplit(char::is_whitespace).next().unwrap_or_default();
                let is_short = c == '.' && word.len() <= 3 && word.chars().all(char::is_alphabetic);
                text[end..].starts_with(char::is_whitespace)
                    && after.starts_with(|c: char| !c.is_lowercase())
                    && !is_short
            }
            _ => false,
        };
        if is_end {
            found.push(&text[start..end]);
            start = end;
        }
    }
    found.push(&text[start..]);
    found.retain(|sentence| !sentence.trim().is_empty());
    found
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn word_count(text: &str) -> usize {
    words(text).len()
}

fn first_word(text: &str) -> Option<String> {
    words(text).into_iter().next()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_memory_was_lost_with_one_clause() {
        for (text, gone, kept) in [
            (
                "The user lives in Bern and works at Helvetia Labs.",
                "helvetia",
                Some("The user lives in Bern."),
            ),
            (
                "The user lives in Bern and works at Helvetia Labs.",
                "bern",
                Some("The user works at Helvetia Labs."),
            ),
            (
                "The user has a cat called Miro and a boat called Siren.",
                "siren",
                Some("The user has a cat called Miro."),
            ),
            (
                "The server has 64 GB of memory; its admin is Urs Frei.",
                "urs frei",
                Some("The server has 64 GB of memory."),
            ),
            (
                "The user plays chess. The user was treated for asthma.",
                "asthma",
                Some("The user plays chess."),
            ),
            (
                "Ann likes tea, but hates milk and drinks water daily",
                "milk",
                Some("Ann likes tea and drinks water daily."),
            ),
            ("The bus leaves at noon and returns at six.", "noon", Some("The bus returns at six.")),
            (
                "Dr. Frei is the dentist. The office opens at seven.",
                "dentist",
                Some("The office opens at seven."),
            ),
            // About the matter, or only understood beside it.
            ("Frank works at Notion and lives in Paris.", "frank", None),
            ("Frank works at Notion. He lives in Paris.", "frank", None),
            ("The server is slow; its admin is Urs Frei.", "slow", None),
            ("The dog is called Plumbus and is three years old.", "plumbus", None),
            ("The user works with Anna and Bert on the bridge.", "anna", None),
            ("The record ACC-7781 is paid and belongs to the harbour.", "acc-7781", None),
            ("The door code is 4418.", "4418", None),
            ("The user likes salt and pepper.", "salt and pepper", None),
        ] {
            let is_in = |part: &str| part.to_lowercase().contains(gone);
            assert_eq!(without(text, &is_in).as_deref(), kept, "{gone} in {text}");
        }
    }
}
