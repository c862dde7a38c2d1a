//! The brief: a summary of the most useful entries, for the start of a session.
//!
//! Entries that were reinforced, that are recent and that belong to the current project come first. Rules and facts have
//! half of the room each, and one session gives a few lines before the others have theirs, so that neither can push the
//! rest out. Room that is left is filled with what follows.

use std::collections::HashMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::frame::{self, BriefWords, CLOSE, EMPTY_NOTE, OPEN, one_line};
use crate::base::ids::{EntryId, EntryRef, ProjectName};
use crate::base::redact::redact;
use crate::base::{Calendar, Result, Time, settings};
use crate::context::turn;
use crate::index::{self, Language, alike};
use crate::records::claim::{Statement, compare};
use crate::records::conflict;
use crate::records::entry::{self, Entry, EntryType, Outline, Provenance, Tags};
use crate::store::Connection;

/// No line of an entry has fewer characters.
const MIN_LINE_CHARS: usize = "- x (fact, 1 May, id:1)".len();
/// A session gives one in this many lines of each section before the other sessions have theirs, but at least the second
/// number.
const SESSION_SHARE: (usize, usize) = (10, 3);
/// The change of the logarithm of an entry's weight if it belongs to the current project, and its opposite if it belongs
/// to another. It equals 65 days of age, or a bit less than one reinforcement.
const PROJECT_BONUS: f64 = 0.5;
/// Two entries that share this part of all their words say the same, if neither contradicts the other.
const SAME_WORDS: f64 = 0.85;
/// Two entries that share less than this part of their words are not compared for contradictions.
const MIN_SHARED_WORDS: f64 = 0.25;

/// The brief as text and as data.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Brief {
    /// The text to put before the agent.
    pub markdown: String,
    /// The entries in it.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub entries: Vec<BriefEntry>,
    /// When it was made.
    pub generated_at: Time,
    /// How many current entries there are.
    pub entry_count: usize,
    /// How many of them are in this brief.
    pub brief_count: usize,
    /// The plugin that made the brief, or failed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<MadeBy>,
}

/// The plugin that makes the brief. Its lines are not entries.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MadeBy {
    /// Its name.
    pub name: String,
    /// Why it failed. Nacre then made the brief itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One entry of a brief.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BriefEntry {
    pub id: EntryId,
    pub number: i64,
    pub r#type: EntryType,
    /// On one line.
    pub content: String,
    pub behavioral: bool,
    pub tags: Tags,
    pub age_days: i64,
    /// The project in which it was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectName>,
    /// The things that it names and the repository of its project no longer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Its date in the line.
    #[serde(skip)]
    pub(crate) date: String,
    #[serde(skip)]
    pub(crate) at: Time,
    /// Whether the session works in another project.
    #[serde(skip)]
    pub(crate) is_foreign: bool,
}

redact! {
    Brief { markdown, entries, plugin / generated_at, entry_count, brief_count }
    MadeBy { name, problem }
    BriefEntry { id, content, tags, project, stale, provenance / number, r#type, behavioral, age_days, date, at, is_foreign }
}

/// The rules by which entries are chosen for a session.
pub(crate) struct Rules<'a> {
    pub(crate) limits: &'a settings::Brief,
    pub(crate) rank: &'a settings::Rank,
    /// The project in which the session works.
    pub(crate) project: Option<ProjectName>,
    pub(crate) calendar: Calendar,
    pub(crate) now: Time,
    pub(crate) include_provenance: bool,
    pub(crate) words: &'static BriefWords,
}

/// Makes the brief from current entries within the limits.
///
/// An entry that does not fit is skipped in favour of a shorter one after it. The last line says how many were left out.
pub(crate) fn make(db: &Connection, rules: &Rules<'_>) -> Result<Brief> {
    let mut outlines = entry::outlines(db)?;
    outlines.retain(|outline| outline.origin.is_injectable());
    let outlines = in_order(outlines, rules);
    let entry_count = outlines.len();
    let mut choice = Choice::new(db, rules)?;
    let rest = choice.take(outlines, Shares::Half)?;
    choice.take(rest, Shares::All)?;
    choice.add_newer()?;
    let Choice { repeated, entries, .. } = choice;
    let missing = entry_count.saturating_sub(entries.len() + repeated);
    let entries = newer_first(entries, index::language(db)?);
    let markdown = render(&entries, missing, rules.words);
    let brief_count = entries.len();
    Ok(Brief { markdown, brief_count, entries, generated_at: rules.now, entry_count, plugin: None })
}

/// Sorts entries by their weight for this session. A session with many entries in one section gives a few in turn with the
/// others.
fn in_order(outlines: Vec<Outline>, rules: &Rules<'_>) -> Vec<Outline> {
    let weight = |outline: &Outline| {
        let project = match (&outline.project, &rules.project) {
            (Some(its), Some(current)) if its == current => PROJECT_BONUS,
            (Some(_), Some(_)) => -PROJECT_BONUS,
            _ => 0.0,
        };
        let standing = outline.standing;
        standing.log_reinforcement(rules.rank) + standing.log_recency(rules.rank, rules.now) + project
    };
    let mut weighed: Vec<(f64, Outline)> =
        outlines.into_iter().map(|outline| (weight(&outline), outline)).collect();
    weighed.sort_by(|(left, one), (right, other)| {
        right.total_cmp(left).then(other.at.cmp(&one.at)).then(other.number.cmp(&one.number))
    });
    let at_once = (rules.limits.max_entries / SESSION_SHARE.0).max(SESSION_SHARE.1);
    let mut seen: HashMap<(String, bool), usize> = HashMap::new();
    let mut by_turn: Vec<(usize, Outline)> = Vec::new();
    for (_, outline) in weighed {
        let count = seen.entry((outline.session.clone(), outline.behavioral)).or_default();
        by_turn.push((*count / at_once, outline));
        *count += 1;
    }
    by_turn.sort_by_key(|(turn, _)| *turn);
    by_turn.into_iter().map(|(_, outline)| outline).collect()
}

/// How much of the room each section may take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shares {
    Half,
    All,
}

/// The entries that were chosen so far.
struct Choice<'a> {
    db: &'a Connection,
    rules: &'a Rules<'a>,
    language: Language,
    entries: Vec<BriefEntry>,
    /// The words of each.
    words: Vec<Vec<String>>,
    /// The characters of each section, facts first.
    used: [usize; 2],
    /// The characters of both.
    room: usize,
    /// How many say the same as one that was chosen, or instruct without a right to.
    repeated: usize,
}

impl Choice<'_> {
    fn new<'a>(db: &'a Connection, rules: &'a Rules<'a>) -> Result<Choice<'a>> {
        let BriefWords { heading, behavioral, facts, .. } = rules.words;
        let fixed = [OPEN, heading, behavioral, facts, &left_out(usize::MAX), CLOSE];
        let fixed_chars: usize = fixed.iter().map(|line| line.chars().count() + 1).sum();
        Ok(Choice {
            db,
            rules,
            language: index::language(db)?,
            entries: Vec::new(),
            words: Vec::new(),
            used: [0; 2],
            room: rules.limits.max_chars.saturating_sub(fixed_chars),
            repeated: 0,
        })
    }

    /// Takes entries in this order as far as they fit. Returns those for which only their section had no room.
    fn take(&mut self, outlines: Vec<Outline>, shares: Shares) -> Result<Vec<Outline>> {
        let max_entries = self.rules.limits.max_entries;
        let mut rest = Vec::new();
        for outline in outlines {
            let left = self.room - self.used[0] - self.used[1];
            if self.entries.len() == max_entries || left <= MIN_LINE_CHARS {
                break;
            }
            let section = usize::from(outline.behavioral);
            let count = self.entries.iter().filter(|entry| entry.behavioral == outline.behavioral).count();
            let (most_entries, most_chars) = match shares {
                // If the number is odd, there is one rule more.
                Shares::Half => ((max_entries + section) / 2, self.room / 2),
                Shares::All => (max_entries, self.room),
            };
            if count >= most_entries || self.used[section] + MIN_LINE_CHARS > most_chars {
                rest.push(outline);
                continue;
            }
            let entry = entry::get(self.db, &EntryRef::Number(outline.number))?;
            let words = words(&entry.content, self.language);
            if self.is_repeated(&entry, &words) {
                self.repeated += 1;
                continue;
            }
            let entry = BriefEntry::new(entry, self.rules);
            let cost = entry.line(self.rules.words).chars().count() + 1;
            if self.used[section] + cost > most_chars {
                rest.push(outline);
            } else if cost <= left {
                self.used[section] += cost;
                self.entries.push(entry);
                self.words.push(words);
            }
        }
        Ok(rest)
    }

    /// Adds the newer one of two entries that contradict each other if only the older one was chosen, in its place if
    /// both do not fit. If the newer one does not fit either, neither is shown.
    fn add_newer(&mut self) -> Result<()> {
        let mut pairs = conflict::open_between_entries(self.db)?;
        // A stranger's newer statement never joins one that is trusted.
        let is_own = |entry: Entry| entry.origin.is_injectable();
        pairs.retain(|(_, newer)| {
            newer.parse().is_ok_and(|newer| entry::get(self.db, &newer).is_ok_and(is_own))
        });
        let is_chosen =
            |entries: &[BriefEntry], id: &str| entries.iter().any(|entry| entry.id.as_str() == id);
        // A newer one may itself be the older one of another pair.
        for _ in 0..pairs.len() {
            let is_alone = |(older, newer): &&(String, String)| {
                is_chosen(&self.entries, older) && !is_chosen(&self.entries, newer)
            };
            let Some((older, newer)) = pairs.iter().find(is_alone) else { break };
            let newer = BriefEntry::new(entry::get(self.db, &newer.parse()?)?, self.rules);
            let section = usize::from(newer.behavioral);
            let cost = newer.line(self.rules.words).chars().count() + 1;
            let is_room = |choice: &Choice<'_>| {
                choice.used[0] + choice.used[1] + cost <= choice.room
                    && choice.entries.len() < choice.rules.limits.max_entries
            };
            if !is_room(self) {
                let at = self.entries.iter().position(|entry| entry.id.as_str() == older);
                let removed = self.entries.remove(at.expect("the older one was chosen"));
                self.used[usize::from(removed.behavioral)] -=
                    removed.line(self.rules.words).chars().count() + 1;
            }
            if is_room(self) {
                self.used[section] += cost;
                self.entries.push(newer);
            }
        }
        Ok(())
    }

    /// Tells whether a chosen entry says the same in nearly the same words. A number or a negation that only one has is no
    /// detail.
    fn is_repeated(&self, entry: &Entry, words: &[String]) -> bool {
        self.entries.iter().zip(&self.words).any(|(chosen, known)| {
            chosen.behavioral == entry.behavioral
                && alike::shared(known, words) >= SAME_WORDS
                && !differs_in_number(known, words)
                && !is_opposed(&chosen.content, &entry.content)
        })
    }
}

/// Returns the distinct words of a text, sorted.
fn words(text: &str, language: Language) -> Vec<String> {
    let mut words = index::analyse::words(text, language);
    words.sort();
    words.dedup();
    words
}

fn differs_in_number(left: &[String], right: &[String]) -> bool {
    let has_digit = |word: &&String| word.bytes().any(|byte| byte.is_ascii_digit());
    let only = |here: &[String], there: &[String]| {
        here.iter().filter(has_digit).any(|word| there.binary_search(word).is_err())
    };
    only(left, right) || only(right, left)
}

/// Tells whether two statements in nearly the same words may say different things.
fn is_opposed(left: &str, right: &str) -> bool {
    let [left, right] = [left, right].map(|text| Statement::read(text, None));
    left.is_negated() != right.is_negated()
        || compare(&left, &right).is_some()
        || compare(&right, &left).is_some()
}

fn conflicts(earlier: &str, later: &str) -> bool {
    compare(&Statement::read(earlier, None), &Statement::read(later, None)).is_some()
}

/// Sorts the chosen entries: rules before facts, and of two that contradict each other the newer one first.
fn newer_first(mut entries: Vec<BriefEntry>, language: Language) -> Vec<BriefEntry> {
    entries.sort_by_key(|entry| !entry.behavioral);
    let words: Vec<Vec<String>> =
        entries.iter().map(|entry| alike::meaning(&entry.content, language)).collect();
    let mut order: Vec<usize> = (0..entries.len()).collect();
    for old in 0..entries.len() {
        for new in old + 1..entries.len() {
            let [older, newer] = [&entries[old], &entries[new]];
            if older.behavioral == newer.behavioral
                && older.at < newer.at
                && alike::shared(&words[old], &words[new]) >= MIN_SHARED_WORDS
                && conflicts(&older.content, &newer.content)
            {
                let place = |wanted: usize| order.iter().position(|index| *index == wanted);
                if let (Some(first), Some(second)) = (place(old), place(new))
                    && first < second
                {
                    order.remove(second);
                    order.insert(first, new);
                }
            }
        }
    }
    let mut entries: Vec<Option<BriefEntry>> = entries.into_iter().map(Some).collect();
    order.into_iter().filter_map(|index| entries[index].take()).collect()
}

/// Makes the brief from the lines of a plugin, made harmless, as far as they fit.
pub(crate) fn of_plugin(
    db: &Connection,
    name: &str,
    lines: &[turn::PluginLine],
    limits: &settings::Brief,
    calendar: &Calendar,
    now: Time,
) -> Result<Brief> {
    let mut text = format!("{OPEN}\n");
    let mut room = limits.max_chars.saturating_sub(text.chars().count() + CLOSE.len());
    for one in lines.iter().take(limits.max_entries) {
        let said = turn::harmless(&one.text, limits.max_chars);
        let line = turn::plugin::line(&said, name, calendar, now) + "\n";
        let cost = line.chars().count();
        if !said.is_empty() && cost <= room {
            room -= cost;
            text.push_str(&line);
        }
    }
    let entry_count = entry::walk_behavioral_first(db, |_| false)?;
    let plugin = Some(MadeBy { name: name.to_owned(), problem: None });
    let markdown = text + CLOSE;
    Ok(Brief { markdown, entries: Vec::new(), generated_at: now, entry_count, brief_count: 0, plugin })
}

impl Brief {
    /// Adds a last line for the agent.
    pub(crate) fn add_note(&mut self, note: &str) {
        let body = self.markdown.trim_end_matches(CLOSE);
        self.markdown = format!("{body}({note})\n{CLOSE}");
    }

    /// Notes that a plugin failed to make this brief. The agent is told that it failed, and a person why.
    pub(crate) fn in_place_of(&mut self, name: &str, problem: &str) {
        self.add_note(&format!("The plugin `{name}` failed to make this summary."));
        self.plugin = Some(MadeBy { name: name.to_owned(), problem: Some(one_line(problem)) });
    }
}

impl BriefEntry {
    fn new(entry: Entry, rules: &Rules<'_>) -> BriefEntry {
        let at = entry.provenance.timestamp;
        BriefEntry {
            content: one_line(&entry.content),
            age_days: rules.now.whole_days_since(at),
            at,
            date: rules.calendar.date(at) + &frame::stale(&entry.stale),
            stale: entry.stale,
            is_foreign: entry.provenance.project.is_some() && entry.provenance.project != rules.project,
            project: entry.provenance.project.clone(),
            provenance: rules.include_provenance.then_some(entry.provenance),
            id: entry.id,
            number: entry.number,
            r#type: entry.r#type,
            behavioral: entry.behavioral,
            tags: entry.tags,
        }
    }

    fn line(&self, words: &BriefWords) -> String {
        let project = self.project.as_ref().filter(|_| self.is_foreign);
        let mut source = frame::source(self.r#type.as_str(), project.map(ProjectName::as_str));
        if let Some(Provenance { source: by, session, .. }) = &self.provenance {
            let _ = write!(source, ", by {} in session {}", by.as_str(), one_line(session.as_str()));
        }
        match words.is_by_age {
            false => frame::line(&self.content, &source, &self.date, Some(self.number)),
            true => {
                let (rest, age) = (source.split_once(',').map_or("", |(_, rest)| rest), self.age_days);
                let rest = if rest.is_empty() { String::new() } else { format!(",{rest}") };
                format!(
                    "- [{}] {} ({age}d ago{rest}) [id:{}]",
                    self.r#type,
                    one_line(&self.content),
                    self.number
                )
            }
        }
    }
}

fn render(entries: &[BriefEntry], missing: usize, words: &BriefWords) -> String {
    let mut text = format!("{OPEN}\n");
    if !words.heading.is_empty() {
        let _ = writeln!(text, "{}", words.heading);
    }
    if entries.is_empty() && missing == 0 {
        let _ = writeln!(text, "{EMPTY_NOTE}");
    }
    for (behavioral, heading) in [(true, words.behavioral), (false, words.facts)] {
        let mut section = entries.iter().filter(|entry| entry.behavioral == behavioral).peekable();
        if section.peek().is_some() {
            let _ = writeln!(text, "{heading}");
            for entry in section {
                let _ = writeln!(text, "{}", entry.line(words));
            }
        }
    }
    if missing > 0 {
        let _ = writeln!(text, "{}", left_out(missing));
    }
    text + CLOSE
}

fn left_out(missing: usize) -> String {
    format!("({missing} more did not fit; search for them.)")
}
