//! Lessons: corrections of the user, stored with the request they were about, and injected again where they apply.
//!
//! A lesson is learned from a sentence that tells the agent how to behave. Ordinary talk has the same words ("don't worry",
//! "you should see this film", "no problem"), so a sentence counts only in a form that addresses the agent, and only if the
//! whole message is the person's own (`speech`). The outcome shows how well a lesson works: whether the user had to repeat
//! it after it was injected. A calmer conversation afterwards is no evidence, because conversations always calm down.

use crate::base::text::cut;
use crate::store::Connection;
use serde::Serialize;

use super::relevance::{MemoryTraits, is_request};
use super::state::State;
use super::{Offer, TurnBuilder, said, speech};
use crate::base::caller::Caller;
use crate::base::frame::{self, is_injected, one_line};
use crate::base::origin::RecordOrigin;
use crate::base::words::{self, List, begins};
use crate::base::{Calendar, Error, Result, Time};
use crate::group::View;
use crate::index::embed::foreign;
use crate::index::{self, analyse};
use crate::records::lesson::{
    self as rows, Lesson, LessonState, MAX_LESSON_CHARS, MIN_SAME_LIKENESS, alike, get, is_known, source,
};
use crate::records::session::exchange;
use crate::records::tombstone::{self, Tombstones};
use crate::store::audit;

/// How many lessons are stored.
const MAX_LESSONS: usize = 200;
/// How many lessons a turn gets at most.
const MAX_LINES: usize = 2;
/// A longer name of a session is not shown with its lessons.
const MAX_SESSION_CHARS: usize = 40;
/// The likeness from which a message repeats a lesson, so that the lesson was not followed.
const REPEATED_LIKENESS: f64 = 0.34;
/// The smallest factor of a lesson's effectiveness, so that a new lesson counts.
const MIN_EFFECTIVENESS: f64 = 0.6;
/// The share of a message that a lesson must cover if they have only one word in common.
const MIN_COVERED: f64 = 0.7;
/// When a lesson may become a principle: its age, how often it was injected, and how effective it was.
const RIPE_DAYS: i64 = 30;
const RIPE_INJECTED: i64 = 5;
const RIPE_EFFECTIVENESS: f64 = 0.8;
/// A lesson that was injected this often and hardly ever followed is no longer injected.
const SPENT_INJECTED: i64 = 10;
const SPENT_EFFECTIVENESS: f64 = 0.2;

/// A lesson that may become a principle. A person decides; nothing is written by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposal {
    /// The lesson.
    pub lesson: i64,
    /// The file it would go to.
    pub path: &'static str,
    /// The line it would add.
    pub line: String,
    /// The evidence for it.
    pub because: String,
}

impl Lesson {
    /// Returns the factor of its score.
    fn counts(&self) -> f64 {
        MIN_EFFECTIVENESS.max(self.effectiveness())
    }

    /// Returns its line in a block, with the session that taught it.
    fn line(&self, calendar: &Calendar) -> String {
        // Clients choose the names of sessions. A name that could be read as more than a name is left out.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        let session = Some(self.session.as_str())
            .filter(|name| (1..=MAX_SESSION_CHARS).contains(&name.len()) && name.chars().all(plain));
        let session = session.map(|name| format!(", session {name}")).unwrap_or_default();
        frame::line(&self.text, &format!("lesson{session}"), &calendar.date(self.learned_at), None)
    }

    fn is_spent(&self) -> bool {
        self.injected >= SPENT_INJECTED && self.effectiveness() <= SPENT_EFFECTIVENESS
    }

    pub(super) fn proposal(&self, now: Time) -> Option<Proposal> {
        let days = now.whole_days_since(self.learned_at);
        let ripe = self.state == LessonState::Confirmed
            && days >= RIPE_DAYS
            && self.injected >= RIPE_INJECTED
            && self.effectiveness() > RIPE_EFFECTIVENESS;
        ripe.then(|| Proposal {
            lesson: self.number,
            path: "SOUL.md",
            line: format!("- **Lesson {}**: {}", self.number, one_line(&self.text)),
            because: format!(
                "learned {days} days ago, injected {} times, followed {} times, broken {} times",
                self.injected, self.kept, self.broken
            ),
        })
    }
}

pub(super) fn offer(builder: &mut TurnBuilder<'_>) -> Result<Vec<Offer>> {
    if !builder.message.says_something() {
        return Ok(Vec::new());
    }
    let lessons = builder.view.read(rows::all)?;
    let calendar = builder.caller.calendar();
    let about = MemoryTraits { behavioral: true, ..MemoryTraits::default() };
    let mut offers = Vec::new();
    // Lessons of shared sessions stay with shared sessions, because anybody may have taught them.
    let here = builder.caller.visibility.is_private();
    let counts = |lesson: &Lesson| {
        lesson.private == here && lesson.state == LessonState::Confirmed && !lesson.is_spent()
    };
    for lesson in lessons.into_iter().filter(counts) {
        // A lesson applies if the request is the same as then, or if the lesson itself names it.
        let texts = [lesson.text.clone(), format!("{} {}", lesson.asked, lesson.text)];
        let weighed = texts.map(|text| builder.message.weigh(&text, about, &mut builder.known));
        let best = weighed.into_iter().max_by(|a, b| a.score.total_cmp(&b.score)).expect("two texts");
        let source = source(lesson.number);
        builder.consider("lessons", &source, &lesson.text, &best);
        let score = best.score * lesson.counts();
        // One common word is too little: `summarise this` is not `summarise the incident`.
        let applies = best.shared.len() > 1 || best.covered >= MIN_COVERED;
        if applies && best.score >= builder.least && score >= builder.least * MIN_EFFECTIVENESS {
            let text = lesson.line(&calendar);
            let reason = match lesson.recurred {
                0 => format!("the user said so about a similar request; {:.2}", best.score),
                times => format!("the user has said so {} times; {:.2}", times + 1, best.score),
            };
            offers.push((score, Offer::new(text, reason, source)));
        }
    }
    offers.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(offers.into_iter().take(MAX_LINES).map(|(_, offer)| offer).collect())
}

/// A lesson before it is stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) weight: f64,
}

/// Finds the lessons of a message. Only a correction that the person typed teaches; see `speech`.
pub(super) fn taught(user: &str) -> Vec<Draft> {
    let mut wrong = false;
    let is_foreign = foreign::is_foreign(user);
    let opening = speech::opening(user, |sentence| {
        let words = said::words(sentence);
        let reacts = |word: &String| LEADING.has(word) || REACTIONS.has(word) || OTHER_LEADING.has(word);
        wrong |= is_correction(&words);
        let directive = if is_foreign { foreign_directive(&words) } else { directive(&words, wrong) };
        let corrects = is_correction(&words) || is_too(&words) || directive.is_some();
        !sentence.ends_with('?') && (corrects || words.iter().all(reacts))
    });
    detect(&opening.join("\n"))
}

/// Finds the sentences of a text that tell the agent how to behave, regardless of the author. Questions do not count.
pub(crate) fn detect(user: &str) -> Vec<Draft> {
    let prose = said::prose(user);
    let sentences: Vec<&str> = said::sentences(&prose);
    let corrects = corrections(&prose) > 0;
    let is_foreign = foreign::is_foreign(&prose);
    let mut drafts: Vec<Draft> = Vec::new();
    let mut reaction = None;
    for sentence in sentences.iter().filter(|sentence| !sentence.ends_with('?')) {
        let words = said::words(sentence);
        let directive = if is_foreign { foreign_directive(&words) } else { directive(&words, corrects) };
        if let Some(weight) = directive {
            drafts.push(Draft { text: cut(&tidy(sentence, is_foreign), MAX_LESSON_CHARS), weight });
        } else if is_too(&words) {
            reaction = reaction.or(Some(sentence));
        }
    }
    // "That's too long." alone is a lesson; before "keep it to five points" it is the reason.
    if drafts.is_empty()
        && let Some(sentence) = reaction
    {
        drafts.push(Draft { text: cut(&tidy(sentence, is_foreign), MAX_LESSON_CHARS), weight: 0.6 });
    }
    drafts.truncate(3);
    drafts
}

/// Returns a sentence in another language than English that tells the agent how to behave.
pub(crate) fn directs(sentence: &str) -> Option<String> {
    let directive = foreign_directive(&said::words(sentence));
    directive.filter(|_| !sentence.ends_with('?')).map(|_| tidy(sentence, true))
}

/// Tells whether a message corrects the previous answer.
pub(super) fn corrects(user: &str) -> bool {
    !detect(user).is_empty() || corrections(&said::prose(user)) > 0
}

static LEADING: List = words::LESSONS.list("leading");
static REACTIONS: List = words::LESSONS.list("reactions");
static ORDINARY_DONT: List = words::LESSONS.list("after don't");
static ORDINARY_ALWAYS: List = words::LESSONS.list("after always");
static ORDINARY_SHOULD: List = words::LESSONS.list("after should");
static ABOUT_ANSWERS: List = words::LESSONS.list("about answers");
static OTHERS: List = words::LESSONS.list("others");
static MANNER: List = words::LESSONS.list("manner");
static SPECIFIC: List = words::LESSONS.list("specific");
static MORE_OR_LESS: List = words::LESSONS.list("more or less");
static ANSWERS: List = words::LESSONS.list("form of answers");

/// Tells whether a sentence forbids a form of answers: "No emojis please". A bare "no comments" is an answer.
fn forbids(words: &[String]) -> bool {
    matches!(words, [no, form, ..] if no == "no" && ANSWERS.has(form) && form != "comments" && words.len() <= 4)
}

/// Returns how clearly a sentence tells the agent how to behave; `None`: it does not.
fn directive(words: &[String], corrects: bool) -> Option<f64> {
    if forbids(words) {
        return Some(0.8);
    }
    // "That's not what I meant, use British spelling."
    let after_wrong = WRONG.iter().find_map(|phrase| {
        let place = said::place(words, phrase).filter(|place| *place <= 1)?;
        words.get(place + phrase.split(' ').count()..)
    });
    if let Some([verb, what, _, ..]) = after_wrong
        && MANNER.has(verb)
        && !SPECIFIC.has(what)
    {
        return Some(0.8);
    }
    let start = words.iter().position(|word| !LEADING.has(word))?;
    let polite = words[..start].iter().any(|word| word == "please");
    let words = &words[start..];
    let at = |place: usize| words.get(place).map_or("", String::as_str);
    // Two words are only a reaction.
    if words.len() < 3 {
        return None;
    }
    let (first, second) = (at(0), at(1));
    match first {
        "stop" if second.ends_with("ing") => return Some(1.0),
        "don't" | "dont" if !ORDINARY_DONT.has(second) => return Some(0.9),
        "do" if second == "not" && !ORDINARY_DONT.has(at(2)) => return Some(0.9),
        "avoid" if second.ends_with("ing") => return Some(0.8),
        "always" | "never" if !ORDINARY_ALWAYS.has(second) => {
            return Some(if polite { 0.7 } else { 0.8 });
        }
        _ => {}
    }
    for (phrase, length) in
        [("next time", 2), ("from now on", 3), ("in future", 2), ("in the future", 3), ("going forward", 2)]
    {
        if said::says(&words[..length.min(words.len())], phrase) && !OTHERS.has(at(length)) {
            return Some(0.8);
        }
        // At the end of the sentence: "keep it short from now on".
        if length < words.len() && said::says(&words[words.len() - length..], phrase) && !OTHERS.has(first) {
            return Some(0.8);
        }
    }
    // "I told you not to push on Fridays."
    let told = ["told you not to", "asked you not to", "told you never to"];
    if let Some(place) = told.iter().find_map(|phrase| said::place(words, phrase))
        && place <= 2
        && matches!(first, "i" | "i've")
        && !ORDINARY_DONT.has(at(place + 4))
    {
        return Some(1.0);
    }
    // "Use tabs, not spaces." What `the` and `this` name belongs to this request alone.
    let instead = words.iter().skip(2).any(|word| word == "not") || said::says(words, "instead of");
    if MANNER.has(first) && !SPECIFIC.has(second) && (instead || said::says(words, "rather than")) {
        return Some(0.7);
    }
    // "Shorter answers please".
    if MORE_OR_LESS.has(first) && ANSWERS.has(second) && words.len() <= 6 {
        return Some(0.7);
    }
    let you = words.iter().position(|word| word == "you");
    if let Some(you) = you.filter(|you| *you <= 1) {
        let (verb, mut next) = (at(you + 1), you + 2);
        let needs = verb == "need" && at(next) == "to";
        if needs {
            next += 1;
        }
        // "You should have asked before deleting."
        if verb == "should" && at(next) == "have" && at(next + 1).ends_with("ed") && words.len() > next + 2 {
            return Some(0.8);
        }
        let standing = matches!(at(next), "always" | "never") || said::says(words, "every time");
        if (matches!(verb, "should" | "must" | "shouldn't" | "mustn't") || needs)
            && (standing || corrects && !ORDINARY_SHOULD.has(at(next)))
        {
            return Some(0.8);
        }
    }
    let prefers = ["i prefer", "i'd prefer", "i would prefer", "i'd rather", "i would rather"]
        .iter()
        .any(|phrase| said::says(words, phrase));
    if prefers && words.iter().any(|word| ABOUT_ANSWERS.has(word)) {
        return Some(0.7);
    }
    None
}

static OTHER_LEADING: List = words::LESSONS_OTHER.list("leading");
static OTHER_DIRECTIVES: List = words::LESSONS_OTHER.list("directives");
static OTHER_IMPERATIVES: List = words::LESSONS_OTHER.list("imperatives");
static OTHER_IMPERATIVE_WORDS: List = words::LESSONS_OTHER.list("imperative words");
static OTHER_STANDING: List = words::LESSONS_OTHER.list("standing");
static OTHER_ORDINARY: List = words::LESSONS_OTHER.list("ordinary");
static OTHER_PREFERS: List = words::LESSONS_OTHER.list("prefers");
static OTHER_ABOUT_ANSWERS: List = words::LESSONS_OTHER.list("about answers");

/// Returns how clearly a sentence in German, Spanish or French tells the agent how to behave.
fn foreign_directive(words: &[String]) -> Option<f64> {
    let mut words = words;
    while let Some(phrase) = OTHER_LEADING.iter().find(|phrase| begins(words, phrase)) {
        words = &words[phrase.split(' ').count()..];
    }
    // "No, no uses emojis."
    if begins(words, "no no") {
        words = &words[1..];
    }
    let any = |phrases: &List| phrases.iter().any(|phrase| begins(words, phrase));
    if words.len() < 3 || any(&OTHER_ORDINARY) {
        return None;
    }
    let orders =
        OTHER_IMPERATIVES.has(&words[0]) && words.iter().any(|word| OTHER_IMPERATIVE_WORDS.has(word));
    let length = |phrase: &str| phrase.split(' ').count();
    let stands = OTHER_STANDING.iter().any(|phrase| {
        words.len() > length(phrase) + 1 && begins(&words[words.len() - length(phrase)..], phrase)
    });
    if any(&OTHER_DIRECTIVES) || orders || stands {
        return Some(0.8);
    }
    (any(&OTHER_PREFERS) && words.iter().any(|word| OTHER_ABOUT_ANSWERS.has(word))).then_some(0.7)
}

pub(super) static WRONG: List = words::LESSONS.list("wrong");
static OTHER_WRONG: List = words::LESSONS_OTHER.list("wrong");

/// Tells whether a sentence says that something was wrong.
pub(crate) fn is_correction(words: &[String]) -> bool {
    WRONG.iter().chain(OTHER_WRONG.iter()).any(|phrase| said::says(words, phrase))
}

/// Returns how many sentences say that something was wrong.
pub(super) fn corrections(prose: &str) -> usize {
    said::sentences(prose).iter().filter(|sentence| is_correction(&said::words(sentence))).count()
}

fn is_too(words: &[String]) -> bool {
    static TOO: List = words::LESSONS.list("too");
    static OF: List = words::LESSONS.list("too what");
    static OTHER_TOO: List = words::LESSONS_OTHER.list("too");
    static OTHER_OF: List = words::LESSONS_OTHER.list("too what");
    let too = words.windows(2).any(|pair| pair[0] == "too" && TOO.has(&pair[1]));
    let other_too = OTHER_TOO.iter().any(|phrase| said::says(words, phrase));
    words.len() <= 10
        && (too && words.iter().any(|word| OF.has(word))
            || other_too && words.iter().any(|word| OTHER_OF.has(word)))
}

/// Returns the sentence without its introductory words.
fn tidy(sentence: &str, is_foreign: bool) -> String {
    // "No" before a Spanish verb is no introduction.
    let leading = if is_foreign { &OTHER_LEADING } else { &LEADING };
    let mut rest = sentence.trim();
    while !forbids(&said::words(rest)) {
        let begins = |phrase: &&&str| {
            let start = rest.get(..phrase.len()).is_some_and(|start| start.to_lowercase() == ***phrase);
            start && !rest[phrase.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '\'')
        };
        let Some(phrase) = leading.iter().find(begins).filter(|phrase| phrase.len() < rest.len()) else {
            break;
        };
        rest = rest[phrase.len()..].trim_start_matches(|c: char| !c.is_alphanumeric());
    }
    let mut chars = rest.chars();
    chars.next().map(|first| first.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

/// Stores lessons; a known lesson is counted once more. One that was learned from a correction waits until it recurs in
/// another session or a person confirms it. Returns the texts that are new.
pub(super) fn learn(
    db: &Connection,
    drafts: &[Draft],
    asked: &str,
    caller: &Caller,
    at: Time,
    state: LessonState,
) -> Result<Vec<String>> {
    let language = index::language(db)?;
    let deleted = Tombstones::load(db)?;
    let mut learned = Vec::new();
    for draft in drafts.iter().filter(|draft| !deleted.cover(&draft.text)) {
        if let Some(same) = alike(db, &draft.text, MIN_SAME_LIKENESS, language)? {
            let sql = "UPDATE lessons SET recurred = recurred + 1,
                state = CASE WHEN state = 'waiting' AND (session <> $2 OR $3 = 'confirmed') THEN 'confirmed' ELSE state END
                WHERE number = $1";
            db.run(sql, (same, &caller.session, state.as_str()))?;
            continue;
        }
        let folded = exchange::hash(&[&analyse::fold(&draft.text)]);
        let sql =
            "INSERT INTO lessons (text, folded, asked, weight, learned_at, session, private, state, origin)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
        // A statement before the correction says nothing about when the lesson applies.
        let asked = said::prose(asked);
        let asked = if is_request(&asked) || asked.ends_with('?') {
            cut(&asked, MAX_LESSON_CHARS)
        } else {
            String::new()
        };
        let (session, private) = (&caller.session, caller.visibility.is_private());
        // Whoever typed a correction is the person, also where their client's hook reports it.
        let origin = match caller.untrusted {
            true => RecordOrigin::Untrusted,
            false => RecordOrigin::Person,
        };
        db.run(
            sql,
            (&draft.text, folded, asked, draft.weight, at, session, private, state.as_str(), origin),
        )?;
        learned.push(draft.text.clone());
    }
    // The oldest lessons without any effect are dropped first.
    let sql = "DELETE FROM lessons WHERE number IN
        (SELECT number FROM lessons ORDER BY recurred + kept DESC, number DESC LIMIT 9223372036854775807 OFFSET $1)";
    db.run(sql, [MAX_LESSONS])?;
    Ok(learned)
}

/// Stores a lesson that was given on purpose; `None`: it is already known.
pub(super) fn teach(db: &Connection, text: &str, caller: &Caller) -> Result<Option<String>> {
    let injected = is_injected(text);
    let text = cut(&one_line(text), MAX_LESSON_CHARS);
    if injected || text.is_empty() {
        return Err(Error::Injected);
    }
    if is_known(db, &text)? {
        return Ok(None);
    }
    let state = if caller.untrusted { LessonState::Waiting } else { LessonState::Confirmed };
    learn(db, &[Draft { text: text.clone(), weight: 1.0 }], "", caller, caller.now, state)?;
    Ok(Some(text))
}

/// Records whether the agent followed the lessons that were injected before its last answer. It did not if this message
/// repeats them.
pub(super) fn judge(db: &Connection, state: &mut State, user: &str, drafts: &[Draft]) -> Result<()> {
    let language = index::language(db)?;
    let corrects = corrections(user) > 0;
    for number in std::mem::take(&mut state.awaiting) {
        let Some(lesson) = get(db, number)? else { continue };
        let said_again =
            |text: &str| index::alike::likeness(&lesson.text, text, language) >= REPEATED_LIKENESS;
        let broken = drafts.iter().any(|draft| said_again(&draft.text)) || (corrects && said_again(user));
        let sql = if broken {
            "UPDATE lessons SET broken = broken + 1 WHERE number = $1"
        } else {
            "UPDATE lessons SET kept = kept + 1 WHERE number = $1"
        };
        db.run(sql, [number])?;
    }
    state.awaiting = std::mem::take(&mut state.lessons);
    Ok(())
}

/// Confirms a lesson that waits. It is injected from now on.
pub(super) fn confirm(view: &mut View<'_>, number: i64) -> Result<Lesson> {
    let caller = view.caller();
    view.read(|db| get(db, number))?.ok_or(Error::NoLesson { number })?;
    let mut lesson = view.write(|tx| {
        tx.run("UPDATE lessons SET state = 'confirmed' WHERE number = $1", [number])?;
        audit::Row::new("lesson_confirm").id(&source(number)).append(tx, caller)?;
        get(tx, number)?.ok_or(Error::NoLesson { number })
    })?;
    lesson.redact();
    Ok(lesson)
}

pub(super) fn forget(view: &mut View<'_>, number: i64) -> Result<Lesson> {
    let caller = view.caller();
    // A lesson that the session may not see does not exist for it.
    view.read(|db| get(db, number))?.ok_or(Error::NoLesson { number })?;
    let mut lesson = view.write(|tx| {
        let lesson = get(tx, number)?.ok_or(Error::NoLesson { number })?;
        tx.run("DELETE FROM lessons WHERE number = $1", [number])?;
        tombstone::bury(tx, caller.now, &lesson.text)?;
        audit::Row::new("lesson_forget").id(&source(number)).append(tx, caller)?;
        Ok(lesson)
    })?;
    lesson.redact();
    Ok(lesson)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_teach() {
        for (message, lesson) in [
            ("Don't mock the database in tests.", "Don't mock the database in tests."),
            ("No, please don't use emojis here", "Don't use emojis here"),
            ("No emojis please.", "No emojis please."),
            (
                "That's not what I meant, use British spelling",
                "That's not what I meant, use British spelling",
            ),
            ("You should have asked before deleting.", "You should have asked before deleting."),
            (
                "That's too long. Next time keep summaries to five bullet points.",
                "Next time keep summaries to five bullet points.",
            ),
            (
                "Stop commenting on formatting, the linter does that.",
                "Stop commenting on formatting, the linter does that.",
            ),
            ("That's wrong. You should check the price first.", "You should check the price first."),
            (
                "You should always check the calendar before suggesting a train.",
                "You should always check the calendar before suggesting a train.",
            ),
            ("Please never use the formal De.", "Never use the formal De."),
            ("Keep it to one line from now on.", "Keep it to one line from now on."),
            ("I'd rather you asked before deleting files.", "I'd rather you asked before deleting files."),
            ("I prefer short answers.", "I prefer short answers."),
            ("Your answer is too long", "Your answer is too long"),
            ("Do not touch the lock file.", "Do not touch the lock file."),
            ("Use tabs, not spaces.", "Use tabs, not spaces."),
            ("Write dates as 2026-11-16 instead of 11/16.", "Write dates as 2026-11-16 instead of 11/16."),
            ("Shorter answers please", "Shorter answers please"),
            ("Fewer comments in the code, please.", "Fewer comments in the code, please."),
            ("I told you not to push on Fridays.", "I told you not to push on Fridays."),
            ("I already asked you not to reformat my files", "I already asked you not to reformat my files"),
        ] {
            assert_eq!(
                detect(message).iter().map(|draft| draft.text.as_str()).collect::<Vec<_>>(),
                [lesson],
                "{message}"
            );
        }
    }

    #[test]
    fn corrections_in_german_spanish_and_french_teach() {
        for (message, lesson) in [
            (
                "Nein, bitte verwende keine Emojis in den Antworten.",
                "Verwende keine Emojis in den Antworten.",
            ),
            ("Antworte ab jetzt immer auf Deutsch, bitte.", "Antworte ab jetzt immer auf Deutsch, bitte."),
            (
                "Das ist falsch. In Zukunft zuerst den Kalender prüfen.",
                "In Zukunft zuerst den Kalender prüfen.",
            ),
            ("Hör auf, die Formatierung zu kommentieren.", "Hör auf, die Formatierung zu kommentieren."),
            (
                "Ich bevorzuge kurze Antworten ohne Einleitung.",
                "Ich bevorzuge kurze Antworten ohne Einleitung.",
            ),
            ("Die Antwort ist zu lang.", "Die Antwort ist zu lang."),
            ("No, no uses emojis en las respuestas.", "No, no uses emojis en las respuestas."),
            (
                "Por favor, nunca borres los archivos sin preguntar.",
                "Nunca borres los archivos sin preguntar.",
            ),
            (
                "Eso está mal. La próxima vez revisa primero el calendario.",
                "La próxima vez revisa primero el calendario.",
            ),
            (
                "Prefiero respuestas cortas y sin introducción.",
                "Prefiero respuestas cortas y sin introducción.",
            ),
            ("N'utilise pas d'emojis dans les réponses.", "N'utilise pas d'emojis dans les réponses."),
            (
                "Non, ne mets jamais de commentaires dans le code.",
                "Ne mets jamais de commentaires dans le code.",
            ),
            (
                "C'est faux. Désormais, vérifie d'abord le calendrier.",
                "Désormais, vérifie d'abord le calendrier.",
            ),
            (
                "Je préfère des réponses courtes, s'il te plaît.",
                "Je préfère des réponses courtes, s'il te plaît.",
            ),
        ] {
            let found: Vec<_> = detect(message).into_iter().map(|draft| draft.text).collect();
            assert_eq!(found, [lesson], "{message}");
        }
    }

    #[test]
    fn ordinary_talk_in_german_spanish_and_french_teaches_nothing() {
        for message in [
            "Ich bin immer noch müde und gehe jetzt nach Hause.",
            "Immer noch nicht fertig, leider.",
            "In Zukunft will die Firma wachsen.",
            "Das ist nie passiert, glaube mir.",
            "Ich bevorzuge Tee am Morgen.",
            "Der Film war viel zu lang für die Kinder.",
            "Keine Ahnung, was das ist.",
            "No sé qué hacer con el perro.",
            "Nunca he estado en Madrid.",
            "¿Por qué no usas el tren?",
            "No te preocupes por la cena.",
            "Prefiero el té por la mañana.",
            "Je ne sais pas où est le chien.",
            "Ne t'inquiète pas pour le dîner.",
            "Toujours pas de nouvelles de la banque.",
            "Je préfère le thé le matin.",
            "N'est-ce pas une belle journée ?",
        ] {
            assert_eq!(detect(message), [], "{message}");
        }
    }

    #[test]
    fn ordinary_talk_teaches_nothing() {
        for message in [
            "good",
            "yes",
            "no",
            "No problem!",
            "yes, that is good",
            "Don't worry about it.",
            "Don't mention it",
            "No comments.",
            "You should have seen this film.",
            "You should have been there.",
            "Don't you think so?",
            "I don't know.",
            "You should see this film, it is great.",
            "You should visit Bergen in spring.",
            "Never mind, I found it.",
            "Always a pleasure.",
            "Next time I am in Oslo I will visit you.",
            "In future the company wants to grow.",
            "Why don't you like it?",
            "I prefer tea.",
            "I'd rather go to bed now.",
            "The film was too long.",
            "It was a long day.",
            "My boss said don't touch it.",
            "We should always have Paris.",
            "I never said that",
            "Thanks, that was not bad at all",
            "He told me to stop smoking.",
            "I told you not to worry.",
            "Use the new figures, not the old ones.",
            "Put my name first, not hers.",
            "No answers yet from the dentist.",
            "Shorter days again.",
            "More tests please",
            "She asked you not to call her.",
        ] {
            assert_eq!(detect(message), [], "{message}");
        }
    }

    fn lesson(kept: i64, broken: i64, injected: i64) -> Lesson {
        Lesson {
            number: 1,
            text: "Never use emojis".into(),
            asked: String::new(),
            weight: 1.0,
            recurred: 0,
            injected,
            kept,
            broken,
            learned_at: Time::default(),
            session: "s".into(),
            state: LessonState::Confirmed,
            origin: RecordOrigin::Person,
            private: true,
        }
    }

    #[test]
    fn a_lesson_counts_from_the_first_day() {
        assert!((lesson(0, 0, 0).counts() - 1.0).abs() < 1e-9);
        assert!(lesson(0, 9, 9).counts() >= MIN_EFFECTIVENESS);
        assert!(!lesson(0, 9, 9).is_spent() && lesson(0, 10, 10).is_spent());
    }

    #[test]
    fn only_what_has_proved_itself_is_proposed() {
        for (kept, broken, injected, days, proposed) in [
            (5, 0, 5, 30, true),
            (5, 0, 5, 29, false),
            (4, 0, 4, 300, false),
            (5, 2, 7, 300, false),
            (20, 2, 22, 300, true),
        ] {
            let found = lesson(kept, broken, injected).proposal(Time::default().plus_days(days));
            assert_eq!(found.is_some(), proposed, "{kept} {broken} {injected} {days}");
        }
    }
}
