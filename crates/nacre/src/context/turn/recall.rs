//! Search results for a message, weighed: entries and documents for the contributor `memory`, exchanges and messages of
//! sessions for `continuity`. One search serves both.

use super::relevance::{MemoryTraits, Weight, is_request, log_odds, logistic};
use super::{Offer, TurnBuilder, exchange, lesson, policy, said, topic};
use crate::base::frame::{self, one_line};
use crate::base::ids::ProjectName;
use crate::base::text::cut;
use crate::base::{Result, Time};
use crate::index::alike::{self, likeness};
use crate::index::lookup::{self, Frequencies};
use crate::index::{Scope, reader};
use crate::records::session;
use crate::records::session::own_words;
use crate::search::{self, BestLine, Hit, NewerHit};

/// How many hits are weighed.
const MAX_HITS: usize = 48;
/// How many preferences, instructions and corrections are weighed even if search does not find them. The newest count.
const MAX_BEHAVIORAL: usize = 100;
/// How many lines of each contributor are injected at most.
const MAX_LINES: usize = 3;
/// The most characters of an entry or a paragraph in its line.
const MAX_TEXT_CHARS: usize = 400;
/// A hit is left out if it is worth this much less than the best one.
const MAX_WORTH_GAP: f64 = 2.5;
/// Exchanges of the same session that are fewer than this many exchanges back are still in the agent's context.
const EXCHANGES_IN_CONTEXT: i64 = 12;
/// How many characters of an exchange are shown, by its age: recent ones get more (days, characters).
const CHARS_BY_AGE: [(i64, usize); 3] = [(3, 360), (30, 280), (i64::MAX, 220)];
/// The likeness from which two texts say the same.
const SAME_LIKENESS: f64 = 0.6;

/// How many lines of documents are looked at, best first.
const MAX_DOCUMENT_LINES: usize = 8;
/// The best of them show whether notes help at all.
const BEST_LINES: usize = 5;
/// How many other hits the reader judges, and the least worth of them. What is worth less is not near enough, whatever the reader says.
const MAX_READ_HITS: usize = 8;
const MIN_READ_WORTH: f64 = -4.0;
/// How much the log odds of the reader count beside the other evidence.
const READER_WEIGHT: f64 = 0.5;
/// The reader's doubt takes no more than this away from a memory: what other evidence is sure of stays.
const MIN_READ_ODDS: f64 = -1.0;
const LINE_READER_WEIGHT: f64 = 1.0;

/// One hit, weighed.
pub(crate) struct WeighedHit {
    hit: Hit,
    /// The part of it that fits best.
    best: String,
    weighed: Weight,
    /// The reader's judgement whether it helps, as log odds.
    helps: Option<f64>,
}

impl WeighedHit {
    fn line(&self) -> Option<&BestLine> {
        self.hit.document.as_ref().and_then(|document| document.line.as_ref())
    }
}

/// Offers entries and documents.
pub(super) fn memory(builder: &mut TurnBuilder<'_>) -> Result<Vec<Offer>> {
    offers(builder, |hit| matches!(hit.kind, "entry" | "document"))
}

/// Offers what was said before.
pub(super) fn continuity(builder: &mut TurnBuilder<'_>) -> Result<Vec<Offer>> {
    let mut found = offers(builder, |hit| matches!(hit.kind, "exchange" | "message"))?;
    if builder.view.settings().turn.topics {
        found.extend(topics(builder));
    }
    Ok(found)
}

/// Names the topics of the conversation, and what the user asked to keep in mind.
fn topics(builder: &TurnBuilder<'_>) -> Vec<Offer> {
    const MAX_ANCHORS: usize = 2;
    const MAX_TOPICS: usize = 6;
    let state = &builder.state;
    let hash = |text: &str| exchange::hash(&[text]);
    let anchors = topic::holding(state, builder.caller.now).map(|anchor| {
        let text = format!("The user said: \"{}\" ({})", one_line(&anchor.text), one_line(&anchor.kind));
        Offer::new(text, "an anchor of this session".into(), format!("anchor:{}", hash(&anchor.text)))
    });
    let mut offers: Vec<Offer> = anchors.collect();
    offers.drain(..offers.len().saturating_sub(MAX_ANCHORS));
    let standing = state.topics.iter().filter_map(|topic| {
        let status = topic.standing(state.turn)?.as_str();
        Some(format!("{} ({status})", one_line(&topic.word)))
    });
    let standing = standing.take(MAX_TOPICS).collect::<Vec<_>>().join(", ");
    if !standing.is_empty() {
        let source = format!("topics:{}", hash(&standing));
        offers.push(Offer::new(format!("Topics: {standing}"), "said in the last exchanges".into(), source));
    }
    offers
}

/// Returns the lines of the chosen hits, each behind the newer statement that contradicts it.
fn offers(builder: &mut TurnBuilder<'_>, of: impl Fn(&Hit) -> bool) -> Result<Vec<Offer>> {
    let chosen = chosen(builder, of)?;
    let mut offers: Vec<Offer> = Vec::new();
    for recalled in &chosen {
        let WeighedHit { hit, best, weighed, .. } = recalled;
        let text = match hit.kind {
            "exchange" | "message" => quote(builder, hit)?,
            _ => Some(memory_line(builder, hit, best)),
        };
        let Some(text) = text else { continue };
        let newer_hit = chosen.iter().find(|other| is_newer(&other.hit, hit));
        let mut newer = newer_hit.map(|newer| newer.hit.id.clone());
        if newer.is_none()
            && let Some(line) = builder.newer_line(best, hit.at, false)?
        {
            newer = Some(line.source.clone());
            offers.push(line);
        }
        offers.push(Offer { newer, ..Offer::new(text, reason(weighed), hit.id.clone()) });
    }
    Ok(offers)
}

/// Returns the project of a hit, if the session works in another.
fn other_project<'h>(builder: &TurnBuilder<'_>, hit: &'h Hit) -> Option<&'h str> {
    hit.project.as_ref().filter(|_| hit.project != builder.project).map(ProjectName::as_str)
}

/// Tells whether search named a hit as the newer one of another.
fn is_newer(newer: &Hit, older: &Hit) -> bool {
    older.newer.as_ref().is_some_and(|named| named.id == NewerHit::of(newer).id)
}

fn memory_line(builder: &TurnBuilder<'_>, hit: &Hit, best: &str) -> String {
    let date = builder.caller.calendar().date(hit.at);
    let best = cut(best, MAX_TEXT_CHARS);
    let later = hit.document.as_ref().and_then(|document| document.line.as_ref()).map(|line| &line.later);
    let best = later.into_iter().flatten().fold(best, |text, line| format!("{text}; {}", one_line(line)));
    match (&hit.entry, &hit.document) {
        (Some(entry), _) => {
            let source = frame::source(entry.r#type.as_str(), other_project(builder, hit));
            frame::line(&best, &source, &(date + &frame::stale(&entry.stale)), Some(entry.number))
        }
        (_, Some(document)) => {
            let [from, to] = document.lines;
            frame::line(&best, &format!("{}:{from}-{to}", one_line(&document.path)), &date, None)
        }
        _ => frame::line(&best, hit.kind, &date, None),
    }
}

/// Quotes what was said in a conversation.
fn quote(builder: &TurnBuilder<'_>, hit: &Hit) -> Result<Option<String>> {
    let quote = match hit.kind {
        exchange::KIND => builder.view.read(|db| exchange::of_passage(db, &hit.id))?.and_then(|behind| {
            let room = room(builder.caller.now, behind.row.at);
            of_exchange(builder, &behind.row, room)
        }),
        _ => of_message(builder, hit, room(builder.caller.now, hit.at))?,
    };
    let source = frame::source("conversation", other_project(builder, hit));
    Ok(quote.map(|quote| frame::line(&quote, &source, &builder.caller.calendar().date(hit.at), None)))
}

/// Quotes both sides of an exchange. A question that the user asks again carries no knowledge, so only its answer is
/// quoted.
fn of_exchange(builder: &TurnBuilder<'_>, row: &exchange::Row, room: usize) -> Option<String> {
    if repeats(builder, &row.user) {
        let agent = cut(&one_line(&own_words::unquoted_answer(&row.agent)), room);
        return (!agent.is_empty()).then(|| answered(&agent));
    }
    let agent = cut(&one_line(&own_words::unquoted_answer(&row.agent)), room / 2);
    let user = cut(&one_line(&own_words::text(&row.user)), room - agent.chars().count().min(room / 2));
    match (user.is_empty(), agent.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("You said \"{agent}\"")),
        (false, true) => Some(format!("The user said \"{user}\"")),
        (false, false) => Some(format!("The user said \"{user}\"; you answered \"{agent}\"")),
    }
}

/// Quotes one message. For a question that the user asks again it quotes the answer that followed, if there is one.
fn of_message(builder: &TurnBuilder<'_>, hit: &Hit, room: usize) -> Result<Option<String>> {
    let author = hit.message.as_ref().and_then(|message| message.author.as_deref());
    if author != Some(ASSISTANT) && repeats(builder, &hit.text) {
        let next = builder.view.read(|db| session::next_message(db, &hit.id))?;
        let answer = next.filter(|(author, _)| author.as_deref() == Some(ASSISTANT));
        let text = answer.map(|(_, text)| cut(&one_line(&own_words::unquoted_answer(&text)), room));
        return Ok(text.filter(|text| !text.is_empty()).map(|text| answered(&text)));
    }
    let is_agent = author == Some(ASSISTANT);
    let typed = if is_agent { own_words::unquoted_answer(&hit.text) } else { own_words::text(&hit.text) };
    let text = cut(&one_line(&typed), room);
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(match author {
        Some(ASSISTANT) => format!("You said \"{text}\""),
        Some("user") | None => format!("The user said \"{text}\""),
        Some(name) => format!("{} said \"{text}\"", one_line(name)),
    }))
}

/// The author of an agent's messages.
const ASSISTANT: &str = "assistant";

fn answered(answer: &str) -> String {
    format!("When asked this before, you answered \"{answer}\"")
}

/// Tells whether an earlier message is the question or request of this turn.
fn repeats(builder: &TurnBuilder<'_>, earlier: &str) -> bool {
    let asks = earlier.trim_end().ends_with('?') || is_request(earlier);
    asks && likeness(earlier, &builder.message.prose, builder.message.language()) >= SAME_LIKENESS
}

/// Returns how many characters of an exchange are shown.
fn room(now: Time, at: Time) -> usize {
    let age = now.whole_days_since(at);
    CHARS_BY_AGE.iter().find(|(days, _)| age <= *days).map_or(0, |(_, room)| *room)
}

fn reason(weighed: &Weight) -> String {
    match weighed.shared.is_empty() {
        true => format!("means nearly the same ({:.2})", weighed.similarity),
        false => format!("shares {}; {:.2}", weighed.shared.join(", "), weighed.score),
    }
}

/// Returns the hits that are good enough, without repetitions, the newest first. If one is an old value, the newer one
/// comes with it, whatever its kind.
fn chosen(builder: &mut TurnBuilder<'_>, of: impl Fn(&Hit) -> bool) -> Result<Vec<WeighedHit>> {
    if builder.recalled.is_none() {
        let found = search(builder)?;
        builder.recalled = Some(found);
    }
    let all = builder.recalled.take().unwrap_or_default();
    let best = all.iter().map(|one| one.weighed.worth).fold(f64::MIN, f64::max);
    let is_good = |one: &WeighedHit| {
        let is_near = one.line().is_some() || one.weighed.worth >= best - MAX_WORTH_GAP;
        one.weighed.score >= builder.least && is_near && of(&one.hit)
    };
    let (mut good, mut rest): (Vec<WeighedHit>, Vec<WeighedHit>) = all.into_iter().partition(is_good);
    good.sort_by(|a, b| b.weighed.worth.total_cmp(&a.weighed.worth));
    let language = builder.message.language();
    let mut kept: Vec<WeighedHit> = Vec::new();
    for one in good {
        let contradict = |other: &Hit| is_newer(&one.hit, other) || is_newer(other, &one.hit);
        let same = kept.iter().position(|other| {
            // The same words about another project say something else.
            let projects = other.hit.project.as_ref().zip(one.hit.project.as_ref());
            projects.is_none_or(|(one, other)| one == other)
                && likeness(&other.hit.text, &one.hit.text, language) >= SAME_LIKENESS
                && !contradict(&other.hit)
        });
        match same {
            // Of two that say the same, the newer one counts.
            Some(place) if one.hit.at > kept[place].hit.at => kept[place] = one,
            Some(_) => {}
            None => kept.push(one),
        }
    }
    rest.extend(kept.split_off(MAX_LINES.min(kept.len())));
    while let Some(place) =
        rest.iter().position(|newer| kept.iter().any(|one| is_newer(&newer.hit, &one.hit)))
    {
        kept.push(rest.swap_remove(place));
    }
    builder.recalled = Some(rest);
    kept.sort_by_key(|one| (other_project(builder, &one.hit).is_some(), std::cmp::Reverse(one.hit.at)));
    Ok(kept)
}

fn search(builder: &mut TurnBuilder<'_>) -> Result<Vec<WeighedHit>> {
    if !builder.message.says_something() {
        return Ok(Vec::new());
    }
    let mut scope = vec![Scope::Entries, Scope::Sessions];
    if builder.view.settings().documents.index {
        scope.push(Scope::Memory);
    }
    let now = builder.caller.now;
    let request = search::Request {
        query: builder.message.prose.clone(),
        scope,
        limit: MAX_HITS,
        at: now,
        project: builder.project.clone(),
        unasked: true,
        ..Default::default()
    };
    let found = search::search(&mut builder.view, &request)?;
    let TurnBuilder { view, message, .. } = builder;
    let (all, frequencies) =
        view.read(|db| Ok((lookup::count(db)?, Frequencies::read(db, message.stems())?)))?;
    message.count(all, &frequencies);
    let mut recalled = Vec::new();
    let mut hits = found.hits;
    hits.extend(found.standing);
    // Behavioral entries are short, and may apply although they share no word with the message.
    for hit in builder.view.read(|db| search::behavioral(db, MAX_BEHAVIORAL))? {
        if hits.iter().all(|known| known.id != hit.id) {
            hits.push(hit);
        }
    }
    builder.message.learn_names(hits.iter().map(|hit| hit.text.as_str()));
    for hit in hits {
        let behind = match hit.kind {
            exchange::KIND => builder.view.read(|db| exchange::of_passage(db, &hit.id))?,
            _ => None,
        };
        if is_told(builder, &hit, behind.as_ref()) || !hit.origin.is_injectable() {
            continue;
        }
        let about = MemoryTraits {
            behavioral: hit.entry.as_ref().is_some_and(|entry| entry.behavioral),
            spoken: matches!(hit.kind, "exchange" | "message"),
            gate: false,
        };
        let mut best: Option<(String, Weight)> = None;
        for unit in units(&hit, behind.as_ref().map(|behind| &behind.row)) {
            let weighed = builder.message.weigh(&unit, about, &mut builder.known);
            if best.as_ref().is_none_or(|(_, other)| weighed.worth > other.worth) {
                best = Some((unit, weighed));
            }
        }
        let Some((best, weighed)) = best else { continue };
        recalled.push(WeighedHit { hit, best, weighed, helps: None });
    }
    read_best(builder, &mut recalled);
    let recalled = with_best_lines(builder, recalled);
    for WeighedHit { hit, best, weighed, .. } in &recalled {
        let is_spoken = matches!(hit.kind, "exchange" | "message");
        builder.consider(if is_spoken { "continuity" } else { "memory" }, &hit.id, best, weighed);
    }
    Ok(recalled)
}

/// Lets the reader judge the memories that may be injected: it reads the message and the memory together. Of documents it reads the
/// best lines, which search has chosen.
fn read_best(builder: &TurnBuilder<'_>, recalled: &mut [WeighedHit]) {
    let is_entry = |place: &usize| recalled[*place].hit.kind == "entry";
    let mut order: Vec<usize> = (0..recalled.len()).filter(is_entry).collect();
    order.sort_by(|a, b| recalled[*b].weighed.worth.total_cmp(&recalled[*a].weighed.worth));
    order.retain(|place| recalled[*place].weighed.worth >= MIN_READ_WORTH);
    order.truncate(MAX_READ_HITS);
    let lines = (0..recalled.len()).filter(|place| recalled[*place].line().is_some());
    order.extend(lines.take(MAX_DOCUMENT_LINES));
    let pairs: Vec<(&str, &str)> =
        order.iter().map(|place| (builder.message.prose.as_str(), recalled[*place].best.as_str())).collect();
    for (place, judgement) in order.iter().zip(reader::judge(&pairs)) {
        recalled[*place].helps = Some(f64::from(judgement.helps));
        if recalled[*place].line().is_none() {
            recalled[*place].weighed.add(READER_WEIGHT * f64::from(judgement.helps).max(MIN_READ_ODDS));
        }
    }
}

/// Weighs the lines of documents as a whole, and leaves out those that are older than a better line on the same matter: they
/// are outdated.
fn with_best_lines(builder: &TurnBuilder<'_>, recalled: Vec<WeighedHit>) -> Vec<WeighedHit> {
    let lines = || recalled.iter().filter(|one| one.line().is_some());
    let best = lines().take(BEST_LINES).map(|one| one.weighed.worth).fold(f64::MIN, f64::max);
    let shared = lines().take(BEST_LINES).map(|one| one.weighed.shared.len()).max().unwrap_or(0);
    let need = builder.message.need_of_notes(best.max(-10.0), shared);
    let mut rank = 0u32;
    let language = builder.message.language();
    // The words of the lines that help, each with its time.
    let mut better: Vec<(Option<Time>, Vec<String>)> = Vec::new();
    let mut kept = Vec::new();
    let (lines, mut others): (Vec<WeighedHit>, Vec<WeighedHit>) =
        recalled.into_iter().partition(|one| one.line().is_some());
    others.splice(0..0, lines.into_iter().take(MAX_DOCUMENT_LINES));
    for mut one in others {
        if one.line().is_some() {
            rank += 1;
            if let Some(need) = need {
                one.weighed.score = need;
                // The order of search counts.
                one.weighed.worth = best - f64::from(rank);
            }
            if let Some(helps) = one.helps {
                one.weighed.score = logistic(log_odds(one.weighed.score) + LINE_READER_WEIGHT * helps);
                one.weighed.worth = best - f64::from(rank) + LINE_READER_WEIGHT * helps;
            }
            let helps = one.weighed.score >= builder.least;
            let at = (!one.hit.at.is_undated()).then_some(one.hit.at);
            let words = alike::meaning(&one.best, language);
            let is_outdated = |(newer, others): &(Option<Time>, Vec<String>)| {
                at <= *newer && alike::shared(&words, others) > 0.0
            };
            if helps && better.iter().any(is_outdated) {
                continue;
            }
            if helps {
                better.push((at, words));
            }
        }
        kept.push(one);
    }
    kept
}

/// Tells whether a hit is shown elsewhere or no longer holds: it is still in the agent's context, became a lesson, or was
/// corrected at once.
fn is_told(builder: &TurnBuilder<'_>, hit: &Hit, behind: Option<&exchange::ExchangeContext>) -> bool {
    // Policies have their own contributor.
    if hit.document.as_ref().is_some_and(|document| document.path == policy::FILE) {
        return true;
    }
    let Some(message) = &hit.message else { return false };
    let here = message.session == builder.caller.session.as_str();
    match behind {
        Some(behind) => {
            // An answer that the user corrected at once must not come back. A statement of the user may.
            let asked = is_request(&behind.row.user) || behind.row.user.ends_with('?');
            let corrected = asked && lesson::corrects(&behind.next);
            (here && behind.after < EXCHANGES_IN_CONTEXT)
                || corrected
                || !lesson::detect(&behind.row.user).is_empty()
        }
        None => here || hit.kind == exchange::KIND,
    }
}

/// Returns the parts of a hit that may fit the message: an entry as a whole, the best line of a document, the sentences of a
/// conversation.
fn units(hit: &Hit, row: Option<&exchange::Row>) -> Vec<String> {
    match hit.kind {
        "entry" => vec![hit.text.clone()],
        "document" => {
            let line = hit.document.as_ref().and_then(|document| document.line.as_ref());
            vec![line.map_or_else(|| hit.text.clone(), |line| line.text.clone())]
        }
        _ => {
            let mut sentences = said::sentences(&hit.text);
            // A request of the user is no knowledge. In the agent's words the same form is advice.
            let by_user = |sentence: &str| match (row, &hit.message) {
                (Some(row), _) => row.user.contains(sentence),
                (None, message) => {
                    message.as_ref().is_none_or(|one| one.author.as_deref() != Some(ASSISTANT))
                }
            };
            sentences.retain(|sentence| !(is_request(sentence) && by_user(sentence)));
            let mut units: Vec<String> = sentences.iter().map(|one| (*one).to_owned()).collect();
            units.extend(sentences.windows(2).map(|pair| pair.join(" ")));
            units.extend((sentences.len() > 2).then(|| sentences.join(" ")));
            units
        }
    }
}
