//! Stability: whether a conversation drifts, whether the agent repeats itself, follows the principles of SOUL.md, and claims
//! to remember something that memory does not confirm.
//!
//! Every signal is graded and names its evidence. If all is well, nothing is injected.

use crate::base::text::cut;
use serde::{Deserialize, Serialize};

use super::relevance::{AnalysedMemories, MemoryTraits, Message};
use super::state::State;
use super::{Offer, ToolUse, TurnBuilder, lesson, said, topic};
use crate::base::Result;
use crate::base::caller::Visibility;
use crate::base::frame::one_line;
use crate::base::settings::Stability;
use crate::base::words::{self, List};
use crate::group::View;
use crate::index::alike::likeness;
use crate::index::embed::builtin;
use crate::index::{Language, Scope, analyse};
use crate::records::session::exchange::Row;
use crate::records::workspace;
use crate::search;

/// The share of the last entropy that is kept in the next exchange.
const ENTROPY_DECAY: f64 = 0.5;
/// How many exchanges are kept.
const HISTORY_EXCHANGES: usize = 5;
/// How many of the last tool calls are checked.
const MAX_CALLS: usize = 20;
/// How many equal calls are a loop.
const LOOP_CALLS: usize = 3;
/// The likeness from which one text repeats another.
const REPEAT_LIKENESS: f64 = 0.75;
/// The most bytes of SOUL.md that are read.
const MAX_SOUL_BYTES: u64 = 64 << 10;

/// A recent answer, to detect repetitions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentAnswer {
    pub(crate) user: String,
    pub(crate) agent: String,
}

/// A principle of SOUL.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Principle {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// How well the agent follows one principle, by the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alignment {
    /// The principle.
    pub principle: String,
    /// How often the user praised it, or an answer did what it asks.
    pub kept: u32,
    /// How often the user complained, or an answer did what it forbids.
    pub strained: u32,
    /// The latest evidence.
    pub because: String,
    /// The exchange in which it was last violated.
    pub(crate) at: u32,
}

pub(super) fn offer(builder: &mut TurnBuilder<'_>) -> Result<Vec<Offer>> {
    let mut offers = Vec::new();
    let mut add = |text: String, reason: &str, source: String| {
        offers.push(Offer::new(format!("- {text}"), reason.to_owned(), source));
    };
    for found in loops(builder.tools) {
        let times = found.times;
        add(
            format!(
                "You have called {} {times} times with the same arguments and the same result: try something else.",
                one_line(&found.tool)
            ),
            "a loop of tool calls",
            // One more call does not make it another loop.
            format!("loop:{}", found.hash),
        );
    }
    let state = &builder.state;
    for doubt in &state.doubts {
        add(
            one_line(doubt),
            "a claim that memory does not confirm",
            format!("doubt:{}", crate::records::session::exchange::hash(&[doubt])),
        );
    }
    for strained in state.alignment.iter().filter(|one| one.at == state.turn && one.strained > one.kept) {
        add(
            format!(
                "Principle strained: {} ({})",
                one_line(&strained.principle),
                one_line(&strained.because)
            ),
            "a principle of SOUL.md",
            format!("principle:{}:{}", strained.principle, strained.at),
        );
    }
    let drift = state.drift();
    let settings = &builder.view.settings().turn;
    if drift >= settings.drift {
        let label = if drift >= 1.0 { "high" } else { "rising" };
        add(
            format!(
                "Entropy {drift:.1} ({label}): {}. Restate the goal before going on.",
                one_line(&state.signals.join(", "))
            ),
            "the signals of the last exchanges",
            format!("entropy:{}", state.turn),
        );
        for anchor in
            topic::holding(state, builder.caller.now).filter(|anchor| anchor.kind == "contradiction").take(1)
        {
            add(
                format!("The user said: \"{}\"", one_line(&anchor.text)),
                "an anchor of this session",
                format!("anchor:{}", crate::records::session::exchange::hash(&[&anchor.text])),
            );
        }
    } else if settings.stability == Stability::Always {
        let now = builder.caller.now;
        let mut add = |text: String, reason: &str, source: &str| {
            offers.push(Offer::new(text, reason.to_owned(), format!("{source}:{now}")));
        };
        add(format!("Entropy: {drift:.1} (stable)"), "the signals of the last exchanges", "stable");
        let principles = principles(&builder.view, builder.caller.visibility);
        let names: Vec<String> = principles.iter().map(|one| one_line(&one.name).to_lowercase()).collect();
        if !names.is_empty() {
            add(format!("Principles: {}", names.join(", ")), "the principles of SOUL.md", "principles");
        }
    }
    Ok(offers)
}

/// A repeated call.
#[derive(Debug, PartialEq, Eq)]
struct Loop {
    tool: String,
    times: usize,
    hash: String,
}

/// Finds loops among the last calls: the same tool with the same arguments and, if known, the same result. Calls before one
/// that changes something do not count, because the same call may then have another result.
fn loops(tools: &[ToolUse]) -> Vec<Loop> {
    let recent = &tools[tools.len().saturating_sub(MAX_CALLS)..];
    let since = recent.iter().rposition(changes).map_or(0, |at| at + 1);
    let changed = recent.iter().rposition(changes).map(|at| &recent[at]);
    let mut found: Vec<Loop> = Vec::new();
    let mut seen: Vec<(&ToolUse, usize)> = Vec::new();
    for call in &recent[since..] {
        match seen.iter_mut().find(|(known, _)| same(known, call)) {
            Some((_, times)) => *times += 1,
            None => seen.push((call, 1)),
        }
    }
    // Repeating the same change is a loop too.
    if let Some(last) = changed {
        seen.push((last, recent.iter().filter(|call| same(call, last)).count()));
    }
    for (call, times) in seen.into_iter().filter(|(_, times)| *times >= LOOP_CALLS) {
        let hash = crate::records::session::exchange::hash(&[&call.name, &call.input]);
        found.push(Loop { tool: call.name.clone(), times, hash });
    }
    found
}

fn same(one: &ToolUse, other: &ToolUse) -> bool {
    let known = !one.output.is_empty() && !other.output.is_empty();
    one.name == other.name && one.input == other.input && (!known || one.output == other.output)
}

fn changes(call: &ToolUse) -> bool {
    static WORDS: List = words::CONVERSATION.list("changing tools");
    let name = call.name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Updates the state with an exchange: its signals, and how well the principles were followed.
pub(super) fn follow(
    state: &mut State,
    row: &Row,
    principles: &[Principle],
    doubts: Vec<String>,
    language: Language,
) {
    let (score, signals) = signals(state, row, doubts.len(), language);
    let entropy = (score + ENTROPY_DECAY * state.drift()).min(2.0);
    state.entropy.push((entropy * 100.0).round() / 100.0);
    let over = state.entropy.len().saturating_sub(HISTORY_EXCHANGES);
    state.entropy.drain(..over);
    state.signals = signals;
    state.doubts = doubts;
    align(state, row, principles, language);
    let short = |text: &str| cut(&said::prose(text), 400);
    state.answered.push(RecentAnswer { user: short(&row.user), agent: short(&row.agent) });
    let over = state.answered.len().saturating_sub(HISTORY_EXCHANGES - 1);
    state.answered.drain(..over);
}

/// Returns the signals of an exchange: a graded sum, and its parts in words.
fn signals(state: &State, row: &Row, doubts: usize, language: Language) -> (f64, Vec<String>) {
    let prose = said::prose(&row.user);
    let words = said::words(&prose);
    let corrections = lesson::corrections(&prose) + usize::from(!lesson::detect(&row.user).is_empty());
    let frustration = frustration(&words, &prose);
    let repeats = |one: &str, other: &str| {
        said::words(one).len() > 3 && likeness(one, other, language) >= REPEAT_LIKENESS
    };
    let asked_again = state.answered.iter().filter(|before| repeats(&prose, &before.user)).count();
    let agent = said::prose(&row.agent);
    let answered_again = state.answered.iter().filter(|before| repeats(&agent, &before.agent)).count();
    let mut score = 0.0;
    let mut said = Vec::new();
    for (count, first, each, most, what) in [
        (corrections, 0.25, 0.15, 0.55, "the user corrected you"),
        (frustration, 0.3, 0.15, 0.6, "the user is frustrated"),
        (asked_again, 0.2, 0.15, 0.5, "the user had to ask again"),
        (answered_again, 0.25, 0.2, 0.65, "you gave the same answer again"),
        (doubts, 0.2, 0.1, 0.4, "you claimed something that memory does not confirm"),
    ] {
        if count > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a few")]
            let more = (count - 1) as f64;
            score += f64::min(first + each * more, most);
            said.push(what.to_owned());
        }
    }
    (score, said)
}

static FRUSTRATED: List = words::CONVERSATION.list("frustrated");
static FRUSTRATED_PHRASES: List = words::CONVERSATION.list("frustrated phrases");
static PRAISE: List = words::CONVERSATION.list("praise");

/// Counts the signs of frustration in a message. A negated word does not count.
fn frustration(words: &[String], prose: &str) -> usize {
    static DENIES: List = words::CONVERSATION.list("denials");
    // "Sick of" and "fed up" count; "sick" and "fed" alone do not.
    let meant = |place: usize| match words[place].as_str() {
        "sick" => words.get(place + 1).is_some_and(|next| next == "of"),
        "fed" => words.get(place + 1).is_some_and(|next| next == "up"),
        "waste" => words.get(place + 1).is_some_and(|next| next == "of"),
        _ => true,
    };
    let denied = |place: usize| words[place.saturating_sub(2)..place].iter().any(|word| DENIES.has(word));
    let by_word = (0..words.len())
        .filter(|place| FRUSTRATED.has(&words[*place]) && meant(*place) && !denied(*place))
        .count();
    let by_phrase = FRUSTRATED_PHRASES.iter().filter(|phrase| said::says(words, phrase)).count();
    let shouted = prose.split_whitespace().filter(|word| {
        word.chars().filter(|c| c.is_uppercase()).count() > 3
            && word.chars().all(|c| !c.is_lowercase() && !c.is_ascii_digit() && c != '_')
    });
    by_word
        + by_phrase
        + usize::from(shouted.count() >= 3)
        + usize::from(prose.contains("!!") || prose.contains("?!"))
}

/// Reads the principles: bullets with a name in bold, or a name and a colon, under a heading with the word principles,
/// truths, values or code.
pub(super) fn principles(view: &View<'_>, visibility: Visibility) -> Vec<Principle> {
    parse(&workspace::text(view, visibility, "SOUL.md", MAX_SOUL_BYTES))
}

fn parse(text: &str) -> Vec<Principle> {
    let mut within = false;
    let mut principles = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(heading) = line.strip_prefix('#') {
            let words = said::words(heading);
            within =
                words.iter().any(|word| matches!(word.as_str(), "principles" | "truths" | "values" | "code"));
            continue;
        }
        let Some(bullet) = line.strip_prefix(['-', '*', '+']).map(str::trim).filter(|_| within) else {
            continue;
        };
        let (name, rest) = match bullet.strip_prefix("**").and_then(|bold| bold.split_once("**")) {
            Some(found) => found,
            None => match bullet.split_once(':') {
                Some(found) => found,
                None => continue,
            },
        };
        let name = name.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let text = rest.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned();
        if !name.is_empty() && name.chars().count() <= 60 {
            principles.push(Principle { name, text });
        }
    }
    principles.truncate(20);
    principles
}

/// Records how well an exchange follows the principles: the user's remarks about the answers, and sentences of the answer
/// that a principle literally forbids.
fn align(state: &mut State, row: &Row, principles: &[Principle], language: Language) {
    const MIN_SIMILARITY: f32 = 0.5;
    const MIN_LIKENESS: f64 = 0.4;
    state.alignment.retain(|one| principles.iter().any(|principle| principle.name == one.principle));
    let user = said::prose(&row.user);
    for principle in principles {
        // A principle may have several statements. A remark is about one of them.
        let clauses = [principle.name.as_str()].into_iter().chain(principle.text.split([',', ';', '.', ':']));
        let clauses: Vec<&str> = clauses.filter(|clause| clause.contains(char::is_alphabetic)).collect();
        let of = |sentence: &str| {
            let meant = builtin::embed_weighted(sentence, |_| 1.0);
            clauses.iter().any(|clause| {
                meant.dot(&builtin::embed_weighted(clause, |_| 1.0)) >= MIN_SIMILARITY
                    || likeness(sentence, clause, language) >= MIN_LIKENESS
            })
        };
        let mut seen: Vec<(bool, String)> = Vec::new();
        for sentence in said::sentences(&user) {
            let words = said::words(sentence);
            let complains = lesson::is_correction(&words) || !lesson::detect(sentence).is_empty();
            let praises = is_praise(&words);
            if (complains || praises) && of(sentence) {
                seen.push((praises && !complains, format!("the user said \"{}\"", cut(sentence, 100))));
            }
        }
        if let Some(forbidden) = forbidden(principle, &said::prose(&row.agent), language) {
            seen.push((false, format!("you wrote \"{}\"", cut(&forbidden, 100))));
        }
        for (kept, because) in seen {
            let at = match state.alignment.iter().position(|one| one.principle == principle.name) {
                Some(at) => at,
                None => {
                    let (principle, because) = (principle.name.clone(), String::new());
                    state.alignment.push(Alignment { principle, kept: 0, strained: 0, because, at: 0 });
                    state.alignment.len() - 1
                }
            };
            let one = &mut state.alignment[at];
            if kept {
                one.kept += 1;
            } else {
                one.strained += 1;
                one.at = state.turn;
            }
            one.because = because;
        }
    }
}

fn is_praise(words: &[String]) -> bool {
    PRAISE.iter().any(|phrase| said::says(words, phrase))
}

/// Returns the sentence of an answer that has all words that a principle forbids: "never use emojis", "no small talk".
fn forbidden(principle: &Principle, agent: &str, language: Language) -> Option<String> {
    for clause in principle.text.split([',', ';', '.', ':']) {
        let words = said::words(clause);
        let Some(start) =
            words.iter().position(|word| matches!(word.as_str(), "never" | "no" | "don't" | "avoid"))
        else {
            continue;
        };
        let rest = words[start + 1..].join(" ");
        let mut wanted = analyse::words(&rest, language);
        wanted.retain(|word| !language.is_common(word) && !matches!(word.as_str(), "say" | "use" | "write"));
        wanted.dedup();
        // A single common word would match everywhere.
        if wanted.is_empty() || (wanted.len() == 1 && wanted.iter().all(|word| builtin::rarity(word) < 0.6)) {
            continue;
        }
        let has = |sentence: &&&str| {
            let said = analyse::words(sentence, language);
            wanted.iter().all(|word| said.contains(word))
        };
        if let Some(found) = said::sentences(agent).iter().find(has) {
            return Some((*found).to_owned());
        }
    }
    None
}

static CLAIMS: List = words::CONVERSATION.list("claims");

/// Finds claims of an answer that memory does not confirm, or that belong to another day.
pub(super) fn doubts(view: &mut View<'_>, row: &Row) -> Result<Vec<String>> {
    const MIN_CONFIRMATION: f64 = 0.5;
    const MAX_DOUBTS: usize = 2;
    let agent = said::prose(&row.agent);
    let language = view.settings().search.language();
    let mut doubts = Vec::new();
    for sentence in said::sentences(&agent) {
        let lower = sentence.to_lowercase().replace('’', "'");
        if doubts.len() >= MAX_DOUBTS || sentence.ends_with('?') {
            continue;
        }
        let Some(claim) = CLAIMS.iter().find_map(|phrase| lower.split_once(phrase).map(|(_, rest)| rest))
        else {
            continue;
        };
        let message = Message::new(claim, language);
        // There is too little to search for: neither rare words, nor names and numbers.
        let of_claim = sentence.get(sentence.len().saturating_sub(claim.len())..).unwrap_or(claim);
        let is_named = |word: &&str| word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
        if message.rare_words() < 2 && of_claim.split_whitespace().filter(is_named).count() < 2 {
            continue;
        }
        let mut known = AnalysedMemories::default();
        let mut borne = |text: &str| message.weigh(text, MemoryTraits::default(), &mut known).covered;
        // The user's words in this message, and earlier exchanges of this session, confirm a claim.
        if borne(&row.user) >= MIN_CONFIRMATION {
            continue;
        }
        let request = search::Request {
            query: claim.to_owned(),
            scope: vec![Scope::Entries, Scope::Memory, Scope::Sessions],
            include_superseded: true,
            include_archived: true,
            limit: 10,
            at: row.at,
            ..Default::default()
        };
        let found = search::search(view, &request)?;
        let bearing: Vec<_> = found.hits.iter().filter(|hit| borne(&hit.text) >= MIN_CONFIRMATION).collect();
        let claimed = cut(sentence, 140);
        if bearing.is_empty() {
            doubts.push(format!(
                "You said \"{claimed}\" and nothing remembered says so: check before you rely on it."
            ));
            continue;
        }
        let days = search::named_days(&lower, row.at, &[]);
        #[expect(clippy::cast_precision_loss, reason = "days")]
        let day = |hit: &&&search::Hit| hit.at.as_millis() as f64 / 86_400_000.0;
        let fits =
            |hit: &&&search::Hit| days.iter().any(|(from, to)| (from - 3.0..=to + 3.0).contains(&day(hit)));
        // Only conversations have a day of their own.
        let spoken: Vec<_> = bearing.iter().filter(|hit| hit.message.is_some()).collect();
        if !days.is_empty() && !spoken.is_empty() && spoken.len() == bearing.len() && !spoken.iter().any(fits)
        {
            let when = spoken[0].at.day_in_words();
            doubts.push(format!("You said \"{claimed}\", but that was on {when}."));
        }
    }
    Ok(doubts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phrase_can_match() {
        // Phrases with a capital were once searched in lower-case text, and never found.
        let tables = [&FRUSTRATED, &FRUSTRATED_PHRASES, &PRAISE, &CLAIMS, &lesson::WRONG];
        for phrase in tables.into_iter().flat_map(|list| list.iter()) {
            let spoken = said::words(&format!("Well, {}!", phrase.to_uppercase()));
            assert!(said::says(&spoken, phrase), "{phrase}");
        }
    }

    #[test]
    fn frustration_is_counted_and_denials_are_not() {
        for (text, count) in [
            ("This is frustrating.", 1),
            ("Annoying and useless!!", 3),
            ("I am not frustrated", 0),
            ("I am fed up, sick of it", 2),
            ("I fed the sick bird", 0),
            ("WHY DOES THIS NEVER WORK", 1),
            ("The HTTP API returns JSON", 0),
            ("It still doesn't work", 1),
        ] {
            assert_eq!(frustration(&said::words(text), text), count, "{text}");
        }
    }

    #[test]
    fn principles_are_read_as_people_write_them() {
        for (text, names) in [
            (
                "# Soul\n## Core Truths\n- **Be brief.** Short answers.\n- **Be kind**: always\n",
                vec!["Be brief", "Be kind"],
            ),
            (
                "## Values\n* Honesty: say so\n* just a bullet\n## Boundaries\n- **Not this**: x",
                vec!["Honesty"],
            ),
            ("- **No heading**: x", vec![]),
        ] {
            let found: Vec<String> = parse(text).into_iter().map(|principle| principle.name).collect();
            assert_eq!(found, names, "{text}");
        }
    }

    #[test]
    fn what_a_principle_forbids_is_seen() {
        let principle =
            Principle { name: "Plain".into(), text: "clear words, never use marketing superlatives".into() };
        let seen = |agent: &str| forbidden(&principle, agent, Language::default());
        assert_eq!(
            seen("It works. The marketing superlatives are in."),
            Some("The marketing superlatives are in.".into())
        );
        assert_eq!(seen("The marketing team called."), None);
    }
}
