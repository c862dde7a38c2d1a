//! Interprets a question: the terms to look for, the author and times it names, and the kind of answer it
//! wants.
//!
//! The analyser of the index also makes the terms. They consist of letters and digits and are quoted, so that
//! no input has a special meaning to the full-text engine. The patterns are English; a question in another
//! language is searched by its terms, their English translations and its vector.

use std::collections::{HashMap, HashSet};

use crate::base::Time;
use crate::base::text::says;
use crate::base::words::{self, List};
use crate::index::dates;
use crate::index::embed::{builtin, foreign};
use crate::index::{Language, analyse, flag};

/// More terms than this add work, not meaning: of a long text the rarest and most repeated ones are searched.
const MAX_TERMS: usize = 64;

/// The most English words that a part of a word in another language is searched by.
const MAX_TRANSLATIONS: usize = 4;
/// A word that counts less is too common in its language to matter in a question.
const MIN_WEIGHT: f32 = 0.2;

/// A question and what it asks for.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) language: Language,
    pub(crate) terms: Vec<Term>,
    pub(crate) mode: Mode,
    /// The flags of an answer of the requested kind: a time, a number, a name.
    pub(crate) wants: Vec<u16>,
    /// Whether it asks for advice, so that preferences matter.
    pub(crate) advice: bool,
    /// The times it names, as days since 1970.
    pub(crate) days: Vec<(f64, f64)>,
    /// The author it names, if it names exactly one.
    pub(crate) author: Option<u32>,
    /// Whether it is a message to an agent, which may ask for anything, and not a query.
    pub(crate) is_message: bool,
    /// The words of authors' names: they say who, not what.
    names: HashSet<String>,
}

/// A term, and the word of the question that it was made from.
#[derive(Debug, PartialEq)]
pub(crate) struct Term {
    pub(crate) term: String,
    pub(crate) shown: String,
    /// How much it counts: 1, less for a translation and for a common word of another language.
    pub(crate) weight: f32,
}

/// Whose words are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The user's words or deeds.
    User,
    /// The assistant's words ("you recommended", "remind me").
    Assistant,
    /// All of it ("summarise").
    Summary,
    /// Anyone's: keywords, or words to find as they were written.
    Keywords,
}

impl Question {
    /// Interprets a question asked at a moment, given the authors of the memory.
    pub(crate) fn new(
        text: &str,
        language: Language,
        authors: &[(u32, String)],
        at: Time,
        years: &[i16],
    ) -> Question {
        let lower = text.to_lowercase().replace('’', "'");
        let names = authors.iter().flat_map(|(_, name)| spoken(&name.to_lowercase())).collect();
        let mut question = Question {
            text: text.to_owned(),
            language,
            terms: Vec::new(),
            mode: mode(&lower),
            wants: wants(&lower),
            advice: asks_advice(&lower),
            days: dates::named(&lower, at, years),
            author: only_author(&lower, authors),
            is_message: false,
            names,
        };
        question.terms = question.terms_of(text);
        question
    }

    /// Makes it a message to an agent. Unless it asks, the times that it names are those of its matter ("can he come on
    /// Monday"), and the words that say what to write or arrange match passages about anything.
    pub(crate) fn into_message(mut self) -> Question {
        self.is_message = true;
        if self.mode != Mode::Assistant && !self.text.contains(['?', '？', '؟']) {
            self.days.clear();
        }
        let is_act = |term: &Term| ACTS.has(&term.shown.to_lowercase());
        if !self.terms.iter().all(is_act) {
            self.terms.retain(|term| !is_act(term));
        }
        self
    }

    /// Tells whether a word is part of an author's name.
    pub(crate) fn is_name(&self, word: &str) -> bool {
        self.names.contains(word)
    }

    /// Tells whether it is a single word, such as an identifier, which may have several terms.
    pub(crate) fn is_one_word(&self) -> bool {
        self.text.split_whitespace().nth(1).is_none()
    }

    /// Returns its terms that a list of analysed words contains, one bit each.
    pub(crate) fn bits(&self, words: &[String]) -> u64 {
        let terms = self.terms.iter().enumerate().filter(|(_, term)| words.contains(&term.term));
        terms.fold(0, |bits, (index, _)| bits | 1 << (index % 64))
    }

    fn terms_of(&self, text: &str) -> Vec<Term> {
        let is_foreign = foreign::is_foreign(text);
        let mut terms: Vec<Term> = Vec::new();
        let mut times: HashMap<String, u16> = HashMap::new();
        for word in text.split_whitespace().map(without_url) {
            let shown = word.trim_matches(|c: char| !c.is_alphanumeric());
            for term in analyse::words(word, self.language) {
                let times = times.entry(term.clone()).or_default();
                *times = times.saturating_add(1);
                if *times == 1 {
                    let weight =
                        if is_foreign { foreign::weight(shown).min(foreign::weight(&term)) } else { 1.0 };
                    terms.push(Term { term, shown: shown.to_owned(), weight });
                }
            }
        }
        // Words that say little are dropped as long as others are left: common words, names of speakers,
        // words that only ask.
        let bare = |shown: &str| {
            let shown = shown.to_lowercase().replace('’', "'");
            shown.strip_suffix("'s").unwrap_or(&shown).to_owned()
        };
        let mut drop = |least: usize, goes: &dyn Fn(&Term) -> bool| {
            if terms.iter().filter(|term| !goes(term)).count() >= least {
                terms.retain(|term| !goes(term));
            }
        };
        drop(1, &|term| self.language.is_common(&term.term));
        drop(1, &|term| self.names.contains(&bare(&term.shown)));
        drop(2, &|term| ASKING.contains(&bare(&term.shown).as_str()));
        drop(1, &|term| term.weight < MIN_WEIGHT);
        if is_foreign {
            let own = terms.len();
            self.add_translations(&mut terms);
            // A long sentence without spaces has many pairs of characters: they leave room for the best translations.
            if own > MAX_TERMS / 2 {
                let mut translations = terms.split_off(own);
                translations.sort_by(|one, other| other.weight.total_cmp(&one.weight));
                terms.truncate(MAX_TERMS / 2);
                terms.append(&mut translations);
            }
        } else if terms.len() > MAX_TERMS {
            let salience = |term: &Term| {
                // Numbers and identifiers of a pasted log are rare, and seldom its matter.
                let share = if term.term.contains(|c: char| c.is_ascii_digit()) { 0.4 } else { 1.0 };
                let repeated = 1.0 + f32::from(times.get(&term.term).copied().unwrap_or(1)).ln();
                share * builtin::rarity(&bare(&term.shown)) * repeated
            };
            terms.sort_by(|one, other| salience(other).total_cmp(&salience(one)));
        }
        terms.truncate(MAX_TERMS);
        terms
    }

    /// Adds the English translations of the words of a question in another language.
    fn add_translations(&self, terms: &mut Vec<Term>) {
        let mut shown: Vec<String> = terms.iter().map(|term| term.shown.clone()).collect();
        shown.dedup();
        for word in shown {
            foreign::translate(&word, MAX_TRANSLATIONS, |english, weight| {
                for term in analyse::words(english, self.language) {
                    match terms.iter_mut().find(|known| known.term == term) {
                        Some(known) => known.weight = known.weight.max(weight),
                        None if self.language.is_common(&term) || weight < MIN_WEIGHT / 4.0 => {}
                        None => terms.push(Term { term, shown: word.clone(), weight }),
                    }
                }
            });
            foreign::spell(&word, |term| {
                if terms.iter().all(|known| known.term != term) {
                    terms.push(Term { term, shown: word.clone(), weight: 1.0 });
                }
            });
        }
    }
}

impl Term {
    /// Returns the FTS5 expression. A single character of a script without spaces finds the pairs that begin
    /// with it.
    pub(crate) fn expression(&self) -> String {
        format!("\"{}\"{}", self.term, if self.is_prefix() { " *" } else { "" })
    }

    pub(crate) fn is_prefix(&self) -> bool {
        self.term.chars().nth(1).is_none()
    }
}

static ASKING: List = words::SEARCH.list("asking");
static ACTS: List = words::SEARCH.list("acts");

/// Splits lower-case text into words; an apostrophe belongs to its word.
fn spoken(lower: &str) -> Vec<String> {
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn mode(lower: &str) -> Mode {
    let words = &spoken(lower);
    static SAID: List = words::SEARCH.list("you said");
    static SAY: List = words::SEARCH.list("did you say");
    const FILLERS: &[&str] = &["had", "have", "also", "just", "once", "previously", "originally"];
    const OF_YOURS: &[&str] = &["recommend", "suggest", "advice", "answer", "list", "plan"];
    let at = |index: usize| words.get(index).map_or("", String::as_str);
    for index in 0..words.len() {
        let rest = || words[index + 1..].iter().map(String::as_str);
        let asked = match at(index) {
            "you" | "you'd" | "you've" => {
                rest().find(|word| !FILLERS.contains(word)).is_some_and(|word| SAID.contains(&word))
            }
            "did" => at(index + 1) == "you" && SAY.contains(&at(index + 2)),
            "remind" => at(index + 1) == "me",
            "our" => {
                matches!(at(index + 1), "previous" | "last" | "earlier" | "past")
                    && ["conversation", "chat", "discussion"]
                        .iter()
                        .any(|word| at(index + 2).starts_with(word))
            }
            "we" => {
                matches!((at(index + 1), at(index + 2)), ("discussed" | "outlined", _) | ("talked", "about"))
            }
            "your" => OF_YOURS.iter().any(|word| at(index + 1).starts_with(word)),
            _ => false,
        };
        if asked {
            return Mode::Assistant;
        }
    }
    let summary = |index: usize| {
        at(index).starts_with("summar")
            || matches!(at(index), "overview" | "recap")
            || (at(index) == "everything" && at(index + 1) == "we")
    };
    // Nobody's words are asked for by text that asks nothing and speaks of nobody.
    static SPOKEN: List = words::SEARCH.list("spoken");
    match () {
        () if (0..words.len()).any(summary) => Mode::Summary,
        () if lower.contains(['?', '？', '؟']) => Mode::User,
        () if words.iter().any(|word| SPOKEN.contains(&word.as_str())) => Mode::User,
        () => Mode::Keywords,
    }
}

fn wants(lower: &str) -> Vec<u16> {
    static KINDS: [(u16, List); 4] = [
        (flag::TIME, words::SEARCH.list("wants time")),
        (flag::NUMBER, words::SEARCH.list("wants number")),
        (flag::NAME, words::SEARCH.list("wants place")),
        (flag::NAME, words::SEARCH.list("wants person")),
    ];
    KINDS
        .iter()
        .filter(|(_, phrases)| phrases.iter().any(|phrase| says(lower, phrase)))
        .map(|(flag, _)| *flag)
        .collect()
}

fn asks_advice(lower: &str) -> bool {
    static PHRASES: List = words::SEARCH.list("advice");
    PHRASES.iter().any(|phrase| says(lower, phrase))
}

fn only_author(lower: &str, authors: &[(u32, String)]) -> Option<u32> {
    let mut named =
        authors.iter().filter(|(_, name)| says(lower, &name.to_lowercase())).map(|(hash, _)| *hash);
    let first = named.next()?;
    named.all(|other| other == first).then_some(first)
}

/// Returns a word without the URL that it is or ends in.
fn without_url(word: &str) -> &str {
    let scheme =
        word.find("://").map(|at| word[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len());
    let bare = word.get(..4).filter(|start| start.eq_ignore_ascii_case("www.")).map(|_| 0);
    &word[..scheme.or(bare).unwrap_or(word.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Question {
        Question::new(text, Language::default(), &[], Time::default(), &[])
    }

    #[track_caller]
    fn check(text: &str, expression: &str) {
        let terms: Vec<String> = plain(text).terms.iter().map(Term::expression).collect();
        assert_eq!(terms.join(" "), expression, "{text}");
    }

    #[test]
    fn questions_are_cleaned() {
        check("what is the user's dog called?", r#""user" "dog" "call""#);
        check("see https://example.org/a?b=c and www.example.org soon", r#""see" "soon""#);
        // A quotation mark of several bytes directly before a URL panicked.
        check("heron “https://example.org” «ftp://b» nest", r#""heron" "nest""#);
        check("well-known", r#""well" "known" "wellknown""#);
        check("who am I", r#""who" "am""#);
        check("a b c", "");
        check("can you recommend a good hotel in Lisbon", r#""hotel" "lisbon""#);
        check("any advice", r#""advic""#);
    }

    #[test]
    fn a_question_in_another_language_has_english_terms() {
        let question = plain("Wo hat der Hund heute geschlafen?");
        let find = |term: &str| question.terms.iter().find(|found| found.term == term);
        assert_eq!(find("hund").map(|term| term.weight > 0.5), Some(true));
        assert_eq!(find("dog").map(|term| (term.shown.as_str(), term.weight < 1.0)), Some(("Hund", true)));
        assert_eq!((find("der"), find("hat")), (None, None), "too common");
        assert!(plain("what is the user's dog called?").terms.iter().all(|term| term.weight == 1.0));
    }

    #[test]
    fn the_matter_of_a_long_text_is_searched() {
        let filler: String = (0..400).map(|n| format!("row {n} ok, value x{n:04} done; ")).collect();
        let question =
            plain(&format!("{filler} Please look at the invoice of Hollis Roofing. {filler} roofing?"));
        assert!(question.terms.len() <= MAX_TERMS);
        for term in ["invoic", "holli", "roof"] {
            assert!(question.terms.iter().any(|found| found.term == term), "{term}");
        }
    }

    #[test]
    fn a_long_question_without_spaces_keeps_its_translations() {
        let text = "我们公司在去年十二月的时候决定把所有的服务器从旧的数据中心搬到新的数据中心，因为旧的数据中心的电力供应经常出现问题，而且空调也坏了，你还记得政府的通知吗？";
        let terms = plain(text).terms;
        assert!(terms.len() <= MAX_TERMS);
        assert!(
            terms.iter().any(|term| term.term == "govern"),
            "{:?}",
            terms.iter().map(|term| &term.term).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_name_in_another_script_is_found_as_it_is_spelt() {
        let terms = plain("Где живёт Ксюшенко?").terms;
        assert!(terms.iter().any(|term| term.term == "ksyushenko"), "its Latin spelling is a term");
    }

    #[test]
    fn operators_mean_nothing() {
        check(r#"NEAR("a b", 2) AND text: ^x* -y + (z"#, r#""near" "text""#);
        check("\"\"\"", "");
        check("' OR 1=1 --", "\"or\"");
        check("日本", "\"日本\" \"本\" * \"japan\"");
    }

    #[test]
    fn whose_words_are_asked_for() {
        for (text, expected) in [
            ("Which hotel did I book?", Mode::User),
            ("Can you help me plan a trip?", Mode::User),
            ("What was the book you recommended?", Mode::Assistant),
            ("you had previously suggested a recipe", Mode::Assistant),
            ("Remind me of the dose", Mode::Assistant),
            ("In our last conversation, what was the name?", Mode::Assistant),
            ("Give me a summary of the project", Mode::Summary),
            ("Where my keys are", Mode::User),
            ("port 7070", Mode::Keywords),
            ("The heron service listens on port 7070.", Mode::Keywords),
        ] {
            assert_eq!(plain(text).mode, expected, "{text}");
        }
    }

    #[test]
    fn an_author_is_named_alone_or_not_at_all() {
        let authors = [(1, "Ana".to_owned()), (2, "Ben".to_owned())];
        for (text, author, terms) in [
            ("What did Ana paint?", Some(1), vec!["paint"]),
            ("What did Ana's sister paint?", Some(1), vec!["sister", "paint"]),
            ("What did Ana and Ben paint?", None, vec!["paint"]),
            ("Who has bananas?", None, vec!["banana"]),
        ] {
            let question = Question::new(text, Language::default(), &authors, Time::default(), &[]);
            assert_eq!(question.author, author, "{text}");
            assert_eq!(
                question.terms.iter().map(|term| term.term.as_str()).collect::<Vec<_>>(),
                terms,
                "{text}"
            );
        }
    }
}
