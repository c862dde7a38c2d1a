//! Reads documents: determines the subject of each heading, bullet, row and paragraph, and what it states.
//!
//! The nearest heading above that names something is the subject of bullets and rows. Headings such as
//! `Notes` are skipped; headings such as `People` give the category of their items. USER.md is about the
//! user, SOUL.md and IDENTITY.md are about the agent. Changelogs describe the past and are not read. In
//! documents with a date, sections, tagged lines and paragraphs with a leading title are events.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::form::{
    Tag, dashed, day_of, ending_tag, floor, key_and_value, leading_space, leading_tag, title_of, titled,
    whole_sentences, without_number,
};
use super::keys::{ALIASES, COUNTS, KEYS, RELATIONS, VALUES, is_hosting};
use super::words::{first_name, sentences, whole_name};
use super::{Claim, ClaimLine, DEFAULT_IMPORTANCE, Reading, checked, fact, relation, sentence};
use crate::base::Time;
use crate::base::markdown::{self, Block, Text, plain};
use crate::records::graph::guard::{self, From, Refusal};

/// The minimum importance tag of a statement that is kept (logs are pruned by these tags).
const MIN_IMPORTANCE: f64 = 0.4;
/// The minimum number of characters of a section without a tag that is an event.
const MIN_SECTION_CHARS: usize = 50;
/// More words than this are prose, not a value.
const MAX_VALUE_WORDS: usize = 25;
/// The maximum number of values in one bullet's list.
const MAX_LIST_VALUES: usize = 10;

/// Reads a document of the workspace.
pub(crate) fn document(path: &str, text: &str) -> Reading {
    let mut reader = Reader::new(path, text);
    if reader.stem.starts_with("CHANGELOG")
        || matches!(reader.stem, "HISTORY" | "LICENSE" | "NEWS" | "RELEASES")
    {
        return reader.reading;
    }
    markdown::walk(text, |block| reader.block(block));
    reader.close(0);
    reader.use_full_names();
    reader.add_openings();
    once(&mut reader.reading.said);
    reader.reading
}

struct Reader<'a> {
    reading: Reading,
    /// The file's name without its extension.
    stem: &'a str,
    /// The subject of the whole file, whatever its headings say.
    owner: Option<Subject>,
    /// The category of the entity in the title, from the file's name.
    kind: Option<&'static str>,
    /// The date in the file's name, or else in its title.
    date: Option<Cow<'a, str>>,
    outline: Vec<Head<'a>>,
    /// The bullet that deeper ones are about, with its indent.
    item: Option<(usize, Subject)>,
    table: Table<'a>,
    /// Lower-case words that this document uses as a heading, in a first column or as a machine's name.
    known: HashSet<String>,
    /// The full names in this document, by their first word; `None` if two share it.
    full: HashMap<String, Option<String>>,
    /// The opening sentences of sections, with their subject.
    openings: Vec<(Subject, String, usize)>,
    /// Whether only the heading of this section has been read.
    fresh: bool,
    /// Whether the last sentence was about the section's subject.
    follows: bool,
}

/// The subject of a statement; its name has passed the guard.
#[derive(Clone, Debug)]
struct Subject {
    name: String,
    category: Option<&'static str>,
}

/// A heading, with the text collected below it.
struct Head<'a> {
    level: usize,
    title: &'a str,
    line: usize,
    /// The category of its items.
    class: Option<&'static str>,
    /// The entity it names, computed on first use.
    subject: Option<Heading>,
    tag: Option<Tag<'a>>,
    /// The number of characters below it, and the beginning of the text.
    length: usize,
    summary: String,
}

/// The meaning of a heading for the text below it.
enum Heading {
    Names(Subject),
    /// A phrase that is not a name.
    Phrase,
    /// A title that any document may have: the text below continues the subject above.
    General,
}

#[derive(Default)]
enum Table<'a> {
    #[default]
    None,
    /// A row that is a table header if the next row is a rule.
    Head(&'a str),
    Open(Vec<&'a str>),
    /// Rows without a header.
    Loose,
}

impl<'a> Reader<'a> {
    fn new(path: &'a str, text: &str) -> Reader<'a> {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let owner = match stem {
            "USER" => Some("user"),
            "SOUL" | "IDENTITY" => Some("self"),
            _ => None,
        };
        let owner = owner.map(|category| {
            let name =
                own_name(text).filter(|name| guard::entity(name, Some(category), From::Document).is_ok());
            Subject { name: name.unwrap_or_else(|| category.to_owned()), category: Some(category) }
        });
        let folder = path.rsplit(['/', '\\']).nth(1);
        let kind = stem.split(['-', '_']).next().filter(|first| first.len() < stem.len());
        let kind = kind.and_then(guard::class_of).or_else(|| folder.and_then(guard::class_of));
        let date = Time::day_in_name(file).map(|(day, _)| Cow::Borrowed(day));
        Reader {
            reading: Reading::default(),
            stem,
            owner,
            kind,
            date,
            outline: Vec::new(),
            item: None,
            table: Table::None,
            known: HashSet::new(),
            full: HashMap::new(),
            openings: Vec::new(),
            fresh: false,
            follows: false,
        }
    }

    fn block(&mut self, block: Block<'a>) {
        if !matches!(block, Block::Row { .. }) {
            self.table = Table::None;
        }
        let fresh = std::mem::replace(&mut self.fresh, matches!(block, Block::Heading { .. }));
        match block {
            Block::Heading { level, title, line } => self.heading(level, title, line),
            Block::Bullet { indent, text } => self.bullet(indent, &text),
            Block::Paragraph(text) => self.paragraph(&text, fresh),
            Block::Row { text, line } => self.row(text, line),
            Block::Blank => self.fresh = fresh,
            Block::Long { text, line } => {
                let reason = format!("is a line of {} bytes; of such nothing is read", text.len());
                let what = text.chars().take(40).collect::<String>();
                let what = guard::one_line(&what).into_owned();
                self.reading.kept_out.push((line, Refusal { what, reason }));
            }
        }
    }

    fn heading(&mut self, level: usize, title: &'a str, line: usize) {
        self.close(level);
        self.item = None;
        let (title, tag) = ending_tag(title);
        let title = title.trim_end_matches(':');
        if self.date.is_none() && level == 1 && self.outline.is_empty() {
            self.date = day_of(title).map(Cow::Owned);
        }
        self.know(title);
        self.outline.push(Head {
            level,
            title,
            line,
            class: guard::class_of(title),
            subject: None,
            tag,
            length: 0,
            summary: String::new(),
        });
    }

    /// Ends the sections of this level and deeper ones.
    fn close(&mut self, level: usize) {
        while let Some(head) = self.outline.pop_if(|head| head.level >= level) {
            let tagged = head.tag.is_some();
            let section = self.date.is_some()
                && head.level == 2
                && head.length >= MIN_SECTION_CHARS
                && head.class.is_none()
                // A single word is the subject of the section, not an event.
                && head.title.contains(' ');
            if tagged || section {
                let title = plain(head.title);
                self.event(&title, &head.summary, head.tag, head.line);
            }
        }
    }

    /// Adds an event.
    fn event(&mut self, title: &str, summary: &str, tag: Option<Tag<'_>>, line: usize) {
        let importance = tag.map_or(DEFAULT_IMPORTANCE, |tag| tag.importance);
        if importance < MIN_IMPORTANCE {
            return;
        }
        let kind = tag.map_or_else(|| "event".to_owned(), |tag| tag.kind.to_lowercase());
        let category =
            guard::CATEGORIES.iter().find(|known| known.name == kind).map_or("event", |known| known.name);
        let name = without_code(title_of(title));
        // A title without meaning is no event, with a tag or without. Its summary is still found in the
        // document.
        let name = match guard::entity(&name, Some(category), From::Document) {
            Ok(name) => name,
            Err(refusal) if tag.is_some() => return self.reading.kept_out.push((line, refusal)),
            Err(_) => return,
        };
        let mut facts = vec![("kind", kind.as_str())];
        let date = self.date.clone();
        facts.extend(date.as_deref().map(|date| ("day", date)));
        let whole = whole_sentences(summary);
        if !whole.is_empty() {
            facts.push(("summary", whole));
        } else if !summary.is_empty() {
            self.say(fact(&name, "about", summary), line);
        }
        for (key, value) in facts {
            // These keys are reserved; the guard rejects them in text.
            let key = if key == "day" { "date" } else { key };
            self.push(
                Claim::Fact {
                    entity: name.clone(),
                    key: key.into(),
                    value: without_code(&guard::one_line(value)).into_owned(),
                    category: Some(category),
                    importance,
                    permanent: guard::is_permanent(category),
                },
                line,
            );
        }
    }

    fn bullet(&mut self, indent: usize, text: &Text<'a>) {
        let line = text.line(0);
        let full = text.text.as_ref();
        self.gather(full);
        if self.item.as_ref().is_some_and(|(above, _)| indent <= *above) {
            self.item = None;
        }
        // An open to-do is not a fact.
        if full.starts_with("[ ] ") {
            return;
        }
        let skip = if full.starts_with("[x] ") || full.starts_with("[X] ") { 4 } else { 0 };
        let full = &full[skip..];
        if let Some((tag, rest)) = leading_tag(full) {
            if tag.importance >= MIN_IMPORTANCE {
                let words = plain(rest);
                self.event(&words, &words, Some(tag), line);
                self.prose(text, text.text.len() - rest.len()..text.text.len());
            }
            return;
        }
        if self.lists_rules() && self.rule(full, line) {
            return;
        }
        if let Some((key, value)) = key_and_value(full).or_else(|| dashed(full)) {
            let key = plain(key);
            let key = without_code(&key);
            if value.is_empty() {
                self.item = whole_name(&key)
                    .and_then(|name| self.item_subject(&name))
                    .map(|subject| (indent, subject));
            } else {
                self.pair(&key, value, line);
            }
            return;
        }
        let words = plain(full);
        if words.len() <= guard::MAX_NAME
            && let Some(name) = whole_name(&words)
        {
            self.item = self.item_subject(&name).map(|subject| (indent, subject));
            return;
        }
        if self.listed(&words, line) {
            return;
        }
        self.prose(text, skip..text.text.len());
    }

    /// `- latex gloves` under `Allergies`.
    fn listed(&mut self, words: &str, line: usize) -> bool {
        let Some(head) = self.outline.last() else { return false };
        let Some(key) = guard::key(head.title, From::Person).ok().filter(|key| guard::is_multi(key)) else {
            return false;
        };
        // A clause that continues is not part of the value.
        let clause = [", which", ", who", ", but", ", because", " - ", " — ", " – "];
        let end = clause.iter().filter_map(|clause| words.find(clause)).min().unwrap_or(words.len());
        let value = words[..end].trim().trim_end_matches('.');
        if value.contains(['.', ':', ';', '?']) || value.split(' ').count() > 6 {
            return false;
        }
        // The heading is the key; the subject is the heading above it.
        let Some(subject) =
            self.subject().filter(|subject| guard::key(&subject.name, From::Person) != Ok(key.clone()))
        else {
            return false;
        };
        self.values(&subject, &key, value, line);
        true
    }

    fn paragraph(&mut self, text: &Text<'a>, fresh: bool) {
        let full = text.text.as_ref();
        self.gather(full);
        let line = text.line(0);
        if self.lists_rules() && self.rule(full, line) {
            return;
        }
        if let Some((tag, rest)) = leading_tag(full) {
            if tag.importance >= MIN_IMPORTANCE {
                let words = plain(rest);
                self.event(&words, &words, Some(tag), line);
            }
            return;
        }
        if self.lead(text) || self.key_lines(text) {
            return;
        }
        if !self.prose(text, 0..full.len()) && fresh {
            self.opening(&plain(full), line);
        }
    }

    /// `**Well.** The digger found a brick well.`: an event in a log, elsewhere a description.
    fn lead(&mut self, text: &Text<'a>) -> bool {
        let full = text.text.as_ref();
        if !full.starts_with("**") || key_and_value(full).is_some() {
            return false;
        }
        let Some(lead) = titled(full) else { return false };
        let (title, words) = (plain(lead.title), plain(if lead.ends { lead.text } else { full }));
        let line = text.line(0);
        if let Some(date) = &self.date {
            if words.len() < MIN_SECTION_CHARS / 2 {
                return false;
            }
            // Short titles repeat on other days, and may be a person's name.
            let few = title.split(' ').count() < 3;
            let name = if few { format!("{title} ({date})") } else { title.into_owned() };
            self.event(&name, &words, None, line);
            self.prose(text, 0..full.len());
            return true;
        }
        if !lead.ends || title.split(' ').count() > 4 {
            return false;
        }
        let Ok(subject) = checked_subject(&title, None) else { return false };
        let whole = whole_sentences(&words);
        if !whole.is_empty() {
            self.fact_of(&subject, "about", whole, line);
        }
        let above = self.item.replace((0, subject));
        self.follows = true;
        self.prose(text, full.len() - lead.text.len()..full.len());
        self.item = above;
        true
    }

    /// Lines of `**Key**: value`, or only lines of `Key: value`.
    fn key_lines(&mut self, text: &Text<'a>) -> bool {
        let bold = |line: &str| line.starts_with("**") && key_and_value(line).is_some();
        let plain_key = |line: &str| key_and_value(line).is_some_and(|(_, value)| !value.is_empty());
        let full = text.text.as_ref();
        let all = full.contains([':', '.'])
            && text.lines().count() > 1
            && text.lines().all(|(_, line)| plain_key(line));
        let starts: Vec<usize> =
            text.lines().filter(|(_, line)| all || bold(line)).map(|(start, _)| start).collect();
        let Some(first) = starts.first() else { return false };
        self.prose(text, 0..*first);
        let ends = starts[1..].iter().map(|next| next - 1).chain(std::iter::once(full.len()));
        for (start, end) in starts.iter().zip(ends) {
            if let Some((key, value)) =
                key_and_value(full[*start..end].trim_end()).filter(|(_, value)| !value.is_empty())
            {
                let key = plain(key);
                self.pair(&without_code(&key), value, text.line(*start));
            }
        }
        true
    }

    /// Remembers the opening of a section, which may describe its subject without naming it.
    fn opening(&mut self, words: &str, line: usize) {
        const MIN_OPENING_CHARS: usize = 20;
        if self.date.is_some()
            || self.owner.is_some()
            || words.len() < MIN_OPENING_CHARS
            || words.starts_with(['(', '"'])
        {
            return;
        }
        let speaks =
            ["I ", "We ", "You ", "My ", "Our ", "If ", "When ", "See ", "This ", "These ", "No ", "Not "];
        let Some(subject) = self.subject() else { return };
        let here = self.outline.last().is_some_and(|head| matches!(&head.subject, Some(Heading::Names(_))));
        let whole = whole_sentences(words);
        if here
            && self.item.is_none()
            && !whole.is_empty()
            && !speaks.iter().any(|word| words.starts_with(word))
        {
            self.openings.push((subject, whole.to_owned(), line));
        }
    }

    /// Adds the openings of sections as descriptions, but only for subjects that have other statements: any
    /// text may have a title.
    fn add_openings(&mut self) {
        let openings = std::mem::take(&mut self.openings);
        let said: HashSet<&str> = self.reading.said.iter().flat_map(|said| ends(&said.claim)).collect();
        let known: Vec<_> =
            openings.iter().filter(|(subject, ..)| said.contains(subject.name.as_str())).collect();
        for (subject, words, line) in known {
            self.fact_of(subject, "about", words, *line);
        }
    }

    /// Replaces a first name in a relation by the full name, if only one person here has it.
    fn use_full_names(&mut self) {
        let full = &mut self.full;
        // A single word that is the subject of facts is a name by itself.
        for said in &self.reading.said {
            if let Claim::Fact { entity, .. } = &said.claim {
                full.remove(entity);
            }
        }
        let lengthen = |name: &mut String| {
            if let Some(Some(known)) = full.get(name.as_str()) {
                name.clone_from(known);
            }
        };
        for said in &mut self.reading.said {
            if let Claim::Relation { subject, predicate, object } = &mut said.claim
                && sentence::is_between_people(predicate)
            {
                lengthen(subject);
                lengthen(object);
            }
        }
        self.reading.said.retain(
            |said| !matches!(&said.claim, Claim::Relation { subject, object, .. } if subject == object),
        );
    }

    /// Records a heading or the first cell of a row: a lower-case one counts as a name from here on.
    fn know(&mut self, word: &str) {
        let word = word.trim_matches(['`', '*']);
        if let Some(name) = whole_name(word) {
            let first = name.split(' ').next().unwrap_or_default();
            let known = self.full.entry(first.to_owned()).or_insert_with(|| Some(name.clone()));
            // The first word alone is a name too, or another name starts with it.
            if known.as_ref().is_some_and(|known| *known != name || !name.contains(' ')) {
                *known = None;
            }
        }
        if word.len() > 2
            && word.len() <= 40
            && word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
            && checked_subject(word, None).is_ok()
        {
            self.known.insert(word.to_owned());
        }
    }

    /// Tells whether this part lists rules, by the file's name or the heading.
    fn lists_rules(&self) -> bool {
        let file = self.stem.rsplit(['-', '_']).next().unwrap_or_default();
        matches!(file, "policies" | "rules" | "conventions")
            || self.outline.last().is_some_and(|head| {
                let mut words = head.title.split(|c: char| !c.is_alphanumeric());
                head.class == Some("convention")
                    || words.any(|word| matches!(word, "Rules" | "rules" | "Policies" | "policies"))
            })
    }

    /// `**Mail to clients.** Nothing goes out unread.`, with or without a number before it.
    fn rule(&mut self, item: &str, line: usize) -> bool {
        let item = without_number(item);
        let Some(rule) = titled(item).filter(|rule| rule.ends) else { return false };
        let (title, text) = (plain(rule.title), plain(rule.text));
        // A rule may have the title of a section, which alone is not a name.
        let subject = checked_subject(&title, Some("convention"))
            .or_else(|_| checked_subject(&format!("{title} (rule)"), Some("convention")));
        match subject {
            Ok(subject) => self.fact_of(&subject, "rule", whole_sentences(&text), line),
            Err(refusal) => self.reading.kept_out.push((line, refusal)),
        }
        true
    }

    fn item_subject(&self, name: &str) -> Option<Subject> {
        let category = self.outline.last().and_then(|head| head.class);
        checked_subject(name, category).ok()
    }

    /// Adds the statement of `key: value`.
    fn pair(&mut self, key: &str, value: &str, line: usize) {
        // In a list of people, the text before the colon is a person; `Sister: Anna` is still a key.
        let class = self.outline.last().and_then(|head| head.class).filter(|class| has_entities(class));
        let plain_value = link_or_plain(key, value);
        let bare = without_code(plain_value.trim());
        let bare = bare.as_ref();
        if let Some(class) = class
            && self.item.is_none()
            && let Some(name) = whole_name(key)
            && whole_name(bare).is_none()
        {
            let subject = match checked_subject(&name, Some(class)) {
                Ok(subject) => subject,
                Err(refusal) => return self.reading.kept_out.push((line, refusal)),
            };
            self.fact_of(&subject, "about", bare, line);
            let words = plain(value);
            self.sentence(&format!("{} {words}", subject.name), line, false);
            return;
        }
        let Some(subject) = self.subject() else { return };
        // Many words are prose, not a value; the guard reports longer values.
        if bare.len() <= guard::MAX_READ_VALUE && bare.split(' ').count() > MAX_VALUE_WORDS {
            return sentences(bare, |_, sentence, asks| {
                if !asks {
                    self.sentence(sentence, line, false);
                }
            });
        }
        self.values(&subject, key, bare, line);
    }

    /// Adds one value, or several if the key is known to have a list.
    fn values(&mut self, subject: &Subject, key: &str, value: &str, line: usize) {
        let Ok(known) = guard::key(key, From::Person) else { return };
        // A comma is part of a value unless the key has several: `1 Main St, Springfield`.
        let listed =
            guard::is_multi(&known) || ALIASES.has(&known) || matches!(known.as_str(), "depends_on" | "uses");
        // `horse hair, mild; takes a tablet` is prose, not a list.
        let listed = listed && !(value.contains(',') && value.contains(';'));
        let parts = || value.split([',', ';']).map(str::trim).filter(|part| !part.is_empty());
        let values =
            if listed && parts().count() <= MAX_LIST_VALUES { parts().collect() } else { vec![value] };
        for value in values {
            let value = value.strip_prefix("and ").unwrap_or(value).trim_matches('`');
            if ALIASES.has(&known) {
                let owner = subject.category.is_some_and(|category| category == "user" || category == "self");
                if whole_name(value).is_some() || owner {
                    self.say(Claim::Alias { alias: value.into(), entity: subject.name.clone() }, line);
                }
                continue;
            }
            let row = RELATIONS.binary_search_by_key(&&*known, |row| row.0).ok().map(|at| &RELATIONS[at]);
            let Some((_, predicate, of)) = row else {
                self.fact_of(subject, key, value, line);
                continue;
            };
            // `Maintainer: Josie Berg, with help`: the relation, and the rest as a value.
            let whole = whole_name(value).or_else(|| self.machine(value, predicate));
            let name = whole.clone().or_else(|| first_name(value));
            if let Some(name) = name {
                let (from, to) = if *of { (&name, &subject.name) } else { (&subject.name, &name) };
                self.say(relation(from, predicate, to), line);
            }
            if whole.is_none() {
                self.fact_of(subject, key, value, line);
            }
        }
    }

    /// Returns the name of a machine, which may be one word in lower case.
    fn machine(&mut self, value: &str, predicate: &str) -> Option<String> {
        if is_hosting(predicate) {
            self.know(value);
        }
        self.known.get(value).cloned()
    }

    fn fact_of(&mut self, subject: &Subject, key: &str, value: &str, line: usize) {
        let key = guard::key(if key.eq_ignore_ascii_case("what") { "about" } else { key }, From::Document);
        self.keyed(subject, key, value, line);
    }

    fn keyed(&mut self, subject: &Subject, key: Result<String, Refusal>, value: &str, line: usize) {
        let section = self.outline.last().and_then(|head| head.class);
        let category = match section {
            Some(section @ ("preference" | "convention" | "decision")) => Some(section),
            _ => subject.category,
        };
        let entity = subject.name.clone();
        match (key, guard::value(value, From::Document)) {
            (Ok(key), Ok(value)) => self.push(
                Claim::Fact {
                    entity,
                    key,
                    value,
                    category,
                    importance: DEFAULT_IMPORTANCE,
                    permanent: category.is_some_and(guard::is_permanent),
                },
                line,
            ),
            (Err(refusal), _) => self.reading.kept_out.push((line, refusal)),
            (Ok(key), Err(refusal)) => {
                let what = guard::one_line(&format!("{key}: {}", refusal.what)).into_owned();
                self.reading.kept_out.push((line, Refusal { what, reason: refusal.reason }));
            }
        }
    }

    fn row(&mut self, row: &'a str, line: usize) {
        match &self.table {
            Table::None => self.table = Table::Head(row),
            Table::Head(head) if markdown::is_rule(row) => {
                let head = markdown::cells(head).take(20).collect();
                self.table = Table::Open(head);
            }
            Table::Head(_) => self.table = Table::Loose,
            Table::Loose => {}
            Table::Open(head) => {
                let head = head.clone();
                self.cells(&head, row, line);
            }
        }
    }

    fn cells(&mut self, head: &[&str], row: &str, line: usize) {
        let mut cells = markdown::cells(row);
        let Some(first) = cells
            .next()
            .map(|cell| without_code(&plain(cell)).into_owned())
            .filter(|first| !first.is_empty())
        else {
            return;
        };
        let title = plain(head[0]).trim().to_lowercase();
        let second = plain(head.get(1).copied().unwrap_or_default()).trim().to_lowercase();
        if head.len() == 2 && (title.is_empty() || second.is_empty() || KEYS.has(&title)) {
            let value = cells.next().unwrap_or_default();
            if !value.is_empty() {
                self.pair(&first, value, line);
            }
            return;
        }
        if head.len() == 2 && VALUES.contains(&&*second) {
            let value = cells.next().unwrap_or_default();
            // `Gertie, tyres`: the owner, and the key.
            match first.split_once(", ").and_then(|(name, key)| Some((whole_name(name)?, key))) {
                Some((name, key)) => match checked_subject(&name, None) {
                    Ok(subject) => self.fact_of(&subject, key, &without_code(plain(value).trim()), line),
                    Err(refusal) => self.reading.kept_out.push((line, refusal)),
                },
                None if value.is_empty() => {}
                None => self.pair(&first, value, line),
            }
            return;
        }
        if COUNTS.has(&title) {
            return;
        }
        let category = guard::class_of(&title).or_else(|| self.outline.last().and_then(|head| head.class));
        // A row is about its first cell, if that is not a sentence and the other cells tell something about
        // it.
        let telling = |cell: &str| {
            cell.starts_with(|c: char| c.is_ascii_digit() || c == '+') || whole_name(&plain(cell)).is_some()
        };
        let short = first.split(' ').count() <= 5
            && !first.contains(['.', '?', '!', ';', ':', ','])
            && cells.clone().any(telling);
        let Some(name) = whole_name(&first).or_else(|| (category.is_some() || short).then(|| first.clone()))
        else {
            return;
        };
        self.know(&first);
        let subject = match checked_subject(&name, category) {
            Ok(subject) => subject,
            Err(refusal) => return self.reading.kept_out.push((line, refusal)),
        };
        for (key, value) in head[1..].iter().zip(cells).filter(|(_, value)| !value.is_empty()) {
            let key = plain(key);
            let value = link_or_plain(&key, value);
            let value = without_code(value.trim());
            // For a thing, this column is its description; for a person, it may be something they owe.
            if is_someone(subject.category) && key.eq_ignore_ascii_case("what") {
                continue;
            }
            match guard::column(&key, From::Document) {
                Ok(known) if guard::key(&known, From::Document).is_err() => {
                    self.keyed(&subject, Ok(known), &value, line);
                }
                // `—` marks an empty cell.
                _ if !value.contains(char::is_alphanumeric) => {}
                _ => self.values(&subject, &key, &value, line),
            }
        }
    }

    /// Reads the sentences of a part of a text. Returns whether the first states something about an entity
    /// that it names itself.
    fn prose(&mut self, text: &Text<'a>, part: Range<usize>) -> bool {
        let full = text.text.as_ref();
        let from = part.start;
        let mut first = None;
        self.follows = true;
        sentences(&full[part], |start, sentence, asks| {
            let line = text.line(from + start + leading_space(sentence));
            let bare = sentence.trim();
            if asks || bare.is_empty() {
                return;
            }
            // `**Tel.**: 555 0117`, at the end of a paragraph.
            let stated =
                match key_and_value(bare).filter(|(_, value)| bare.starts_with("**") && !value.is_empty()) {
                    Some((key, value)) => {
                        self.pair(&plain(key), value.trim_end_matches('.'), line);
                        true
                    }
                    None => self.sentence(sentence, line, true),
                };
            first = first.or(Some(stated));
        });
        first.unwrap_or_default()
    }

    /// Returns whether the sentence states something about an entity that it names itself.
    fn sentence(&mut self, sentence: &str, line: usize, marked: bool) -> bool {
        if sentence.len() > 1_000 {
            return true;
        }
        let subject = self.subject();
        let living =
            |category: &str| matches!(category, "family" | "friend" | "person" | "pet" | "self" | "user");
        let person = self
            .outline
            .iter()
            .filter_map(|head| head.class)
            .chain(self.kind)
            .any(|class| matches!(class, "person" | "family" | "friend"));
        let section = sentence::Section {
            about: subject.as_ref().map(|subject| subject.name.as_str()),
            living: subject.as_ref().and_then(|subject| subject.category).map(living),
            follows: self.follows,
            person,
            known: &self.known,
        };
        let goes_on = sentence::goes_on(sentence, section);
        let mut found = Vec::new();
        if sentence::may_say(sentence, section) {
            let words = if marked { plain(sentence) } else { sentence.into() };
            sentence::read(&words, section, |claim| found.push(claim));
        }
        self.follows = goes_on;
        let stated = !found.is_empty() && !sentence::is_left_out(sentence);
        for claim in found {
            self.say(claim, line);
        }
        stated
    }

    /// Returns the subject of bullets and rows at this point.
    fn subject(&mut self) -> Option<Subject> {
        if let Some((_, item)) = &self.item {
            return Some(item.clone());
        }
        let (owner, kind, dated) = (&self.owner, self.kind, self.date.is_some());
        for at in (0..self.outline.len()).rev() {
            // A person under `Family` is family, whatever the file is about.
            let above = at.checked_sub(1).and_then(|above| self.outline[above].class);
            let head = &mut self.outline[at];
            if head.class == Some("preference") && owner.is_none() {
                return Some(Subject { name: "user".into(), category: Some("user") });
            }
            if head.class.is_some() || owner.is_some() && above.is_none() {
                continue;
            }
            let kind = above.or(kind.filter(|_| head.level == 1));
            let event = dated && head.level == 2 && head.title.contains(' ');
            let subject = head.subject.get_or_insert_with(|| named(head.title, kind, event));
            match subject {
                Heading::Names(subject) => return Some(subject.clone()),
                // A phrase has a subject, but does not name it.
                Heading::Phrase => return None,
                Heading::General => {}
            }
        }
        owner.clone()
    }

    /// Adds text to the sections that are events.
    fn gather(&mut self, text: &str) {
        let dated = self.date.is_some();
        let Some(head) = self.outline.iter_mut().rfind(|head| head.tag.is_some() || dated && head.level <= 2)
        else {
            return;
        };
        head.length += text.len();
        if head.summary.is_empty() && (head.tag.is_some() || head.level == 2) {
            let text = leading_tag(text).map_or(text, |(_, rest)| rest);
            head.summary = plain(&text[..floor(text, 1_000)]).into_owned();
        }
    }

    fn say(&mut self, claim: Claim, line: usize) {
        match checked(claim, From::Document) {
            Ok(claim) => self.push(claim, line),
            Err(refusal) => self.reading.kept_out.push((line, refusal)),
        }
    }

    fn push(&mut self, claim: Claim, line: usize) {
        self.reading.said.push(ClaimLine { claim, line });
    }
}

/// Returns the entities that a claim is about.
fn ends(claim: &Claim) -> impl Iterator<Item = &str> {
    let (one, other) = match claim {
        Claim::Fact { entity, .. } | Claim::Alias { entity, .. } => (entity, None),
        Claim::Relation { subject, object, .. } => (subject, Some(object)),
    };
    std::iter::once(one.as_str()).chain(other.map(String::as_str))
}

/// Tells whether a category contains people.
fn is_someone(category: Option<&str>) -> bool {
    matches!(category, Some("family" | "friend" | "person" | "self" | "user"))
}

/// Removes duplicate claims, keeping the first.
fn once(said: &mut Vec<ClaimLine>) {
    let mut order: Vec<usize> = (0..said.len()).collect();
    order.sort_by(|a, b| compare(&said[*a].claim, &said[*b].claim).then(a.cmp(b)));
    let mut again = vec![false; said.len()];
    for pair in order.windows(2) {
        again[pair[1]] = compare(&said[pair[0]].claim, &said[pair[1]].claim).is_eq();
    }
    let mut again = again.into_iter();
    said.retain(|_| !again.next().unwrap_or_default());
}

fn compare(one: &Claim, other: &Claim) -> Ordering {
    fn parts(claim: &Claim) -> (u8, &str, &str, &str) {
        match claim {
            Claim::Fact { entity, key, value, .. } => (0, entity, key, value),
            Claim::Relation { subject, predicate, object } => (1, subject, predicate, object),
            Claim::Alias { alias, entity } => (2, alias, entity, ""),
        }
    }
    parts(one).cmp(&parts(other))
}

/// Tells whether the items of such a list are entities.
fn has_entities(class: &str) -> bool {
    !matches!(class, "preference" | "convention" | "decision" | "event")
}

/// Returns what a heading names: `Keystone`, `Home Lab (Oslo)`, or `Project: Keystone`. The title of an event
/// may be a phrase.
fn named(title: &str, kind: Option<&'static str>, event: bool) -> Heading {
    let title = plain(title);
    let title = without_code(&title);
    let title = without_number(title.trim_start_matches(|c: char| !c.is_alphanumeric()).trim());
    let (category, name) = match title.split_once(": ") {
        Some((class, name)) if guard::class_of(class).is_some() => (guard::class_of(class), name),
        _ => (kind, title),
    };
    // `Fixed (unstable)` is as general as `Fixed`.
    let general = name.split_once(" (").is_some_and(|(before, _)| checked_subject(before, category).is_err());
    match checked_subject(name, category) {
        Ok(_) if general => Heading::General,
        Ok(subject) if event || is_name_like(name) => Heading::Names(subject),
        Ok(_) => Heading::Phrase,
        Err(_) => Heading::General,
    }
}

/// Tells whether a title is written like a name: one word, or all words capitalised except short ones.
fn is_name_like(title: &str) -> bool {
    let name = title.split(" (").next().unwrap_or(title);
    let mut words = name.split(' ');
    let count = words.clone().count();
    let large = |word: &str| {
        word.starts_with(|c: char| !c.is_lowercase()) || word.contains(|c: char| c.is_ascii_digit())
    };
    let small =
        |word: &str| matches!(word, "of" | "the" | "and" | "for" | "de" | "van" | "von" | "in" | "on" | "at");
    let plain = !name.contains([',', ':', ';', '?', '!']) && !name.starts_with(|c: char| c.is_ascii_digit());
    plain
        && (count == 1
            || count <= 6
                && name.starts_with(|c: char| !c.is_lowercase())
                && words.all(|word| large(word) || small(word)))
}

fn checked_subject(name: &str, category: Option<&'static str>) -> Result<Subject, Refusal> {
    Ok(Subject { name: guard::entity(name, category, From::Document)?, category })
}

fn without_code(text: &str) -> Cow<'_, str> {
    if text.contains('`') { text.replace('`', "").into() } else { text.into() }
}

/// Returns the name of the person that a file is about: its `name:`, or its title if that is a shorter form
/// of it.
fn own_name(text: &str) -> Option<String> {
    let lines = || text.lines().take(200).filter(|line| line.len() < 200).map(str::trim);
    let given = lines().find_map(|line| {
        let item =
            line.strip_prefix(['-', '*', '+']).filter(|rest| rest.starts_with(' ')).unwrap_or(line).trim();
        let (key, value) = key_and_value(item)?;
        let key = plain(key).to_lowercase();
        let value = plain(value);
        // `(everyone says Fen)`
        let value = value.split(" (").next().unwrap_or(&value).trim();
        let named = matches!(key.trim(), "name" | "full name") && guard::value(value, From::Document).is_ok();
        named.then(|| value.to_owned())
    })?;
    let title = lines().find(|line| !line.is_empty()).map(|line| line.trim_start_matches('#').trim());
    let shorter = title.filter(|title| {
        title.contains(' ') && title.split(' ').all(|word| given.split(' ').any(|other| other == word))
    });
    Some(shorter.map_or(given, str::to_owned))
}

/// Returns a value without markup; if the key asks for an address, the target of a link.
fn link_or_plain<'a>(key: &str, value: &'a str) -> Cow<'a, str> {
    let wants = |word: &str| key.to_lowercase().contains(word);
    if value.starts_with('[')
        && ["url", "link", "site", "repo", "homepage", "page"].into_iter().any(wants)
        && let Some((_, target)) = value.split_once("](")
        && let Some(target) = target.strip_suffix(')')
    {
        return target.into();
    }
    // Placeholders are recognised by their markup.
    if value.starts_with("_(") || value.starts_with("*(") || value.starts_with('[') && value.ends_with(']') {
        return value.into();
    }
    plain(value)
}
