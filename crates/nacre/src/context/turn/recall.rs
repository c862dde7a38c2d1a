//! What search finds for a message, weighed: entries and documents for `memory`, exchanges and messages of
//! sessions for `continuity` (T3). One search serves both.

use super::relevance::{About, Weighed, is_request};
use super::{Offer, Turning, exchange, lesson, policy, said};
use crate::base::frame::one_line;
use crate::base::text::cut;
use crate::base::{Result, Time};
use crate::index::alike::likeness;
use crate::index::{Scope, lookup};
use crate::search::{self, Hit};

/// How many hits are weighed.
const HITS: usize = 24;
/// How many preferences, instructions and corrections are weighed whatever search finds, the newest.
const BEHAVIORAL: usize = 100;
/// How many lines of each kind are put in at most.
const LINES: usize = 3;
/// What is worth so much less than the best is left out beside it.
const BESIDE: f64 = 2.5;
/// Exchanges of this very session that are not this far back are still before the agent's eyes.
const IN_SIGHT: i64 = 12;
/// How much of an exchange is shown: what is recent gets more (days, characters).
const TIERS: [(i64, usize); 3] = [(3, 360), (30, 280), (i64::MAX, 220)];
/// Of what two texts share, from when on they say the same.
const SAME: f64 = 0.6;

/// One hit, weighed.
pub(crate) struct Recalled {
    hit: Hit,
    /// The part of it that fits best.
    best: String,
    weighed: Weighed,
}

/// Entries and documents.
pub(super) fn memory(turning: &mut Turning<'_>) -> Result<Vec<Offer>> {
    let chosen = chosen(turning, |hit| matches!(hit.kind, "entry" | "document"))?;
    let now = turning.caller.now;
    let offer = |recalled: &Recalled| {
        let Recalled { hit, best, weighed } = recalled;
        let age = now.whole_days_since(hit.at);
        let (text, source) = match (&hit.entry, &hit.document) {
            (Some(entry), _) => (
                format!(
                    "- [{}] {} ({age}d ago) [id:{}]",
                    entry.r#type,
                    one_line(&cut(best, 400)),
                    entry.number
                ),
                hit.id.clone(),
            ),
            (_, Some(document)) => {
                let [from, to] = document.lines;
                let path = one_line(&document.path);
                (format!("- [{path}:{from}-{to}] {}", one_line(&cut(best, 400))), hit.id.clone())
            }
            _ => (format!("- {}", one_line(best)), hit.id.clone()),
        };
        Offer { text, reason: reason(weighed), source }
    };
    Ok(chosen.iter().map(offer).collect())
}

/// What was said before.
pub(super) fn continuity(turning: &mut Turning<'_>) -> Result<Vec<Offer>> {
    let chosen = chosen(turning, |hit| matches!(hit.kind, "exchange" | "message"))?;
    let now = turning.caller.now;
    let mut offers = Vec::new();
    for Recalled { hit, weighed, .. } in &chosen {
        let text = match hit.kind {
            exchange::KIND => match turning.view.read(|db| exchange::of_passage(db, &hit.id))? {
                Some(behind) => both(&behind.row, now),
                None => continue,
            },
            _ => single(hit, now),
        };
        offers.push(Offer { text, reason: reason(weighed), source: hit.id.clone() });
    }
    Ok(offers)
}

/// Both sides of an exchange on one line, in the words of who took part.
fn both(row: &exchange::Row, now: Time) -> String {
    let age = now.whole_days_since(row.at);
    let room = room(age);
    let agent = cut(&one_line(&row.agent), room / 2);
    let user = cut(&one_line(&row.user), room - agent.chars().count().min(room / 2));
    match (user.is_empty(), agent.is_empty()) {
        (true, _) => format!("- You said ({age}d ago): \"{agent}\""),
        (_, true) => format!("- The user said ({age}d ago): \"{user}\""),
        _ => format!("- The user said ({age}d ago): \"{user}\" You said: \"{agent}\""),
    }
}

fn single(hit: &Hit, now: Time) -> String {
    let age = now.whole_days_since(hit.at);
    let text = cut(&one_line(&hit.text), room(age));
    let author = hit.message.as_ref().and_then(|message| message.author.as_deref());
    match author {
        Some("assistant") => format!("- You said ({age}d ago): \"{text}\""),
        Some("user") | None => format!("- The user said ({age}d ago): \"{text}\""),
        Some(name) => format!("- {} said ({age}d ago): \"{text}\"", one_line(name)),
    }
}

fn room(age: i64) -> usize {
    TIERS.iter().find(|(days, _)| age <= *days).map_or(0, |(_, room)| *room)
}

fn reason(weighed: &Weighed) -> String {
    match weighed.shared.is_empty() {
        true => format!("means nearly the same ({:.2})", weighed.similarity),
        false => format!("shares {}; {:.2}", weighed.shared.join(", "), weighed.score),
    }
}

/// What is good enough, none of it said twice, the oldest first so that what corrects comes last.
fn chosen(turning: &mut Turning<'_>, of: impl Fn(&Hit) -> bool) -> Result<Vec<Recalled>> {
    if turning.recalled.is_none() {
        let found = search(turning)?;
        turning.recalled = Some(found);
    }
    let all = turning.recalled.take().unwrap_or_default();
    let best = all.iter().map(|one| one.weighed.worth).fold(f64::MIN, f64::max);
    let (mine, rest): (Vec<Recalled>, Vec<Recalled>) = all.into_iter().partition(|one| of(&one.hit));
    turning.recalled = Some(rest);
    let mut good: Vec<Recalled> = mine
        .into_iter()
        .filter(|one| one.weighed.score >= turning.least && one.weighed.worth >= best - BESIDE)
        .collect();
    good.sort_by(|a, b| b.weighed.worth.total_cmp(&a.weighed.worth));
    let language = turning.message.language();
    let mut kept: Vec<Recalled> = Vec::new();
    for one in good {
        let same = kept.iter().position(|other| likeness(&other.hit.text, &one.hit.text, language) >= SAME);
        match same {
            // Of two that say the same the newer one holds.
            Some(place) if one.hit.at > kept[place].hit.at => kept[place] = one,
            Some(_) => {}
            None => kept.push(one),
        }
    }
    kept.truncate(LINES);
    kept.sort_by_key(|one| one.hit.at);
    Ok(kept)
}

fn search(turning: &mut Turning<'_>) -> Result<Vec<Recalled>> {
    if !turning.message.says_something() {
        return Ok(Vec::new());
    }
    let mut scope = vec![Scope::Entries, Scope::Sessions];
    if turning.view.settings().documents.index {
        scope.push(Scope::Memory);
    }
    let now = turning.caller.now;
    let request = search::Request {
        query: turning.message.prose.clone(),
        scope,
        limit: HITS,
        at: now,
        ..Default::default()
    };
    let found = search::search(&mut turning.view, &request)?;
    let Turning { view, message, .. } = turning;
    view.read(|db| message.count(lookup::count(db)?, |word| lookup::df(db, word)))?;
    let mut recalled = Vec::new();
    let mut hits = found.hits;
    hits.extend(found.standing);
    // What steers the agent is short, and must be seen where no word says so.
    for hit in turning.view.read(|db| search::behavioral(db, BEHAVIORAL))? {
        if hits.iter().all(|known| known.id != hit.id) {
            hits.push(hit);
        }
    }
    turning.message.learn_names(hits.iter().map(|hit| hit.text.as_str()));
    for hit in hits {
        let behind = match hit.kind {
            exchange::KIND => turning.view.read(|db| exchange::of_passage(db, &hit.id))?,
            _ => None,
        };
        if is_told(turning, &hit, behind.as_ref()) {
            continue;
        }
        let about = About {
            behavioral: hit.entry.as_ref().is_some_and(|entry| entry.behavioral),
            spoken: matches!(hit.kind, "exchange" | "message"),
            gate: false,
        };
        let mut best: Option<(String, Weighed)> = None;
        for unit in units(&hit, behind.as_ref().map(|behind| &behind.row)) {
            let weighed = turning.message.weigh(&unit, about, &mut turning.known);
            if best.as_ref().is_none_or(|(_, other)| weighed.worth > other.worth) {
                best = Some((unit, weighed));
            }
        }
        let Some((best, weighed)) = best else { continue };
        let contributor = if about.spoken { "continuity" } else { "memory" };
        turning.consider(contributor, &hit.id, &best, &weighed);
        recalled.push(Recalled { hit, best, weighed });
    }
    Ok(recalled)
}

/// Tells whether something is told elsewhere or no more: said a moment ago in this very session, a lesson by
/// now, or corrected at once.
fn is_told(turning: &Turning<'_>, hit: &Hit, behind: Option<&exchange::ExchangeContext>) -> bool {
    // Policies have a contributor of their own.
    if hit.document.as_ref().is_some_and(|document| document.path == policy::FILE) {
        return true;
    }
    let Some(message) = &hit.message else { return false };
    let here = message.session == turning.caller.session.as_str();
    match behind {
        Some(behind) => {
            // An answer that was corrected at once must not come back; what the user only told was not meant.
            let asked = is_request(&behind.row.user) || behind.row.user.ends_with('?');
            let corrected = asked && lesson::corrects(&behind.next);
            (here && behind.after < IN_SIGHT) || corrected || !lesson::detect(&behind.row.user).is_empty()
        }
        None => here || hit.kind == exchange::KIND,
    }
}

/// The parts of a hit that may fit: all of it; where it is long, its sentences; of a document, its
/// paragraphs.
fn units(hit: &Hit, row: Option<&exchange::Row>) -> Vec<String> {
    match hit.kind {
        "entry" => vec![hit.text.clone()],
        "document" => {
            let mut units = Vec::new();
            let mut heading = "";
            for part in hit.text.split("\n\n").map(str::trim).filter(|part| !part.is_empty()) {
                if part.starts_with('#') && !part.contains('\n') {
                    heading = part.trim_start_matches('#').trim();
                } else {
                    units.push(if heading.is_empty() {
                        part.to_owned()
                    } else {
                        format!("{heading}: {part}")
                    });
                }
            }
            units
        }
        _ => {
            let mut sentences = said::sentences(&hit.text);
            // What the user asked to be done; what the agent says in that form is advice.
            let by_user = |sentence: &str| match (row, &hit.message) {
                (Some(row), _) => row.user.contains(sentence),
                (None, message) => {
                    message.as_ref().is_none_or(|one| one.author.as_deref() != Some("assistant"))
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
