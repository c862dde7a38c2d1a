//! Documents: what each heading, bullet, row and paragraph is about, and what it says of it.
//!
//! The nearest heading above that names something is what bullets and rows are about; headings such as
//! `Notes` are passed over, headings such as `People` say what kind of thing their items are. USER.md is about
//! the user, SOUL.md and IDENTITY.md about the agent; of changelogs, which say what was, nothing is read. In
//! documents whose name has a date, sections and tagged lines are events.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::markdown::{self, Block, Text, plain};
use super::words::{sentences, whole_name};
use super::{Claim, Reading, Said, USUAL, checked, fact, relation, sentence};
use crate::Time;
use crate::graph::guard::{self, From, Refusal};

/// What is tagged with less is not kept (origin of the tags: logs are pruned by it).
const LEAST_IMPORTANCE: f64 = 0.4;
/// The characters of an event's name.
const TITLE: usize = 80;
/// The characters that a section without a tag has at least, to be an event.
const SECTION: usize = 50;
/// More words than this are prose, not a value.
const MANY_WORDS: usize = 25;
/// The most values in one bullet's list.
const LIST: usize = 10;

/// Keys that give other names.
const ALIASES: &[&str] = &[
    "aka",
    "alias",
    "aliases",
    "also_known_as",
    "called",
    "goes_by",
    "nickname",
    "nicknames",
    "what_to_call_them",
];

/// Keys that give a relation, where their value is a name. With `of`, the value is who does it: the owner
/// owns.
const RELATIONS: &[(&str, &str, bool)] = &[
    ("aunt", "aunt_of", true),
    ("author", "wrote", true),
    ("boss", "boss_of", true),
    ("boyfriend", "boyfriend_of", true),
    ("brother", "brother_of", true),
    ("cat", "cat_of", true),
    ("company", "works_at", false),
    ("cousin", "cousin_of", true),
    ("dad", "father_of", true),
    ("daughter", "daughter_of", true),
    ("dependencies", "depends_on", false),
    ("depends_on", "depends_on", false),
    ("dog", "dog_of", true),
    ("employer", "works_at", false),
    ("father", "father_of", true),
    ("friend", "friend_of", true),
    ("friends", "friend_of", true),
    ("girlfriend", "girlfriend_of", true),
    ("grandfather", "grandfather_of", true),
    ("grandmother", "grandmother_of", true),
    ("host", "runs_on", false),
    ("hosted_on", "runs_on", false),
    ("husband", "husband_of", true),
    ("lead", "leads", true),
    ("lives_in", "lives_in", false),
    ("maintainer", "maintains", true),
    ("maintainers", "maintains", true),
    ("manager", "manager_of", true),
    ("married_to", "married_to", false),
    ("member_of", "member_of", false),
    ("members", "member_of", true),
    ("mom", "mother_of", true),
    ("mother", "mother_of", true),
    ("mum", "mother_of", true),
    ("nephew", "nephew_of", true),
    ("niece", "niece_of", true),
    ("owned_by", "owns", true),
    ("owner", "owns", true),
    ("owns", "owns", false),
    ("part_of", "part_of", false),
    ("partner", "partner_of", true),
    ("reports_to", "reports_to", false),
    ("runs_on", "runs_on", false),
    ("sister", "sister_of", true),
    ("son", "son_of", true),
    ("spouse", "married_to", true),
    ("uncle", "uncle_of", true),
    ("uses", "uses", false),
    ("wife", "wife_of", true),
    ("works_at", "works_at", false),
    ("works_for", "works_at", false),
];

/// First columns and second columns of tables that list keys and values.
const KEYS: &[&str] =
    &["attribute", "detail", "field", "key", "parameter", "property", "setting", "variable"];

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
    once(&mut reader.reading.said);
    reader.reading
}

struct Reader<'a> {
    reading: Reading,
    /// The file's name without its ending.
    stem: &'a str,
    /// What the whole file is about, whatever its headings say.
    owner: Option<Subject>,
    /// The category of what the title names, by the file's name.
    kind: Option<&'static str>,
    /// As in the file's name.
    date: Option<&'a str>,
    outline: Vec<Head<'a>>,
    /// The bullet that deeper ones are about, by its indent.
    item: Option<(usize, Subject)>,
    table: Table<'a>,
}

/// What something is said of; its name has passed the guard.
#[derive(Clone, Debug)]
struct Subject {
    name: String,
    category: Option<&'static str>,
}

/// A heading, with what is gathered below it.
struct Head<'a> {
    level: usize,
    title: &'a str,
    line: usize,
    /// What its items are.
    class: Option<&'static str>,
    /// What it names, found out when it is first asked for.
    subject: Option<Heading>,
    tag: Option<Tag<'a>>,
    /// The characters below it, and the beginning of them.
    length: usize,
    summary: String,
}

/// What a heading says of what is below it.
enum Heading {
    Names(Subject),
    /// A phrase that is no name.
    Phrase,
    /// A title that any document may have: below it, it goes on about the same.
    General,
}

/// `[decision|i=0.9]`
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tag<'a> {
    kind: &'a str,
    importance: f64,
}

#[derive(Default)]
enum Table<'a> {
    #[default]
    None,
    /// A row that is the head of a table if the next is a rule.
    Head(&'a str),
    Open(Vec<&'a str>),
    /// Rows without a head.
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
        let date = Time::day_in_name(file).map(|(day, _)| day);
        Reader {
            reading: Reading::default(),
            stem,
            owner,
            kind,
            date,
            outline: Vec::new(),
            item: None,
            table: Table::None,
        }
    }

    fn block(&mut self, block: Block<'a>) {
        if !matches!(block, Block::Row { .. }) {
            self.table = Table::None;
        }
        match block {
            Block::Heading { level, title, line } => self.heading(level, title, line),
            Block::Bullet { indent, text } => self.bullet(indent, &text),
            Block::Paragraph(text) => {
                self.gather(&text.text);
                self.prose(&text, 0);
            }
            Block::Row { text, line } => self.row(text, line),
            Block::Blank => {}
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
                && head.length >= SECTION
                && head.class.is_none()
                // One word is what the section is about, not what happened.
                && head.title.contains(' ');
            if tagged || section {
                let title = plain(head.title);
                self.event(&title, &head.summary, head.tag, head.line);
            }
        }
    }

    /// Says that something happened.
    fn event(&mut self, title: &str, summary: &str, tag: Option<Tag<'_>>, line: usize) {
        let importance = tag.map_or(USUAL, |tag| tag.importance);
        if importance < LEAST_IMPORTANCE {
            return;
        }
        let kind = tag.map_or_else(|| "event".to_owned(), |tag| tag.kind.to_lowercase());
        let category =
            guard::CATEGORIES.iter().find(|known| known.name == kind).map_or("event", |known| known.name);
        let name = without_code(title_of(title));
        // A title that says nothing is no event, with a tag or without. Its summary stands in the document.
        let name = match guard::entity(&name, Some(category), From::Document) {
            Ok(name) => name,
            Err(refusal) if tag.is_some() => return self.reading.kept_out.push((line, refusal)),
            Err(_) => return,
        };
        let mut facts = vec![("kind", kind.as_str())];
        facts.extend(self.date.map(|date| ("day", date)));
        let whole = whole_sentences(summary);
        if !whole.is_empty() {
            facts.push(("summary", whole));
        } else if !summary.is_empty() {
            self.say(fact(&name, "about", summary), line);
        }
        for (key, value) in facts {
            // These keys are ours; the guard keeps them out of what others write.
            let key = if key == "day" { "date" } else { key };
            self.push(
                Claim::Fact {
                    entity: name.clone(),
                    key: key.into(),
                    value: without_code(&guard::one_line(value)).into_owned(),
                    category: Some(category),
                    importance,
                    permanent: guard::born_permanent(category),
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
        // What is still to be done does not hold.
        if full.starts_with("[ ] ") {
            return;
        }
        let skip = if full.starts_with("[x] ") || full.starts_with("[X] ") { 4 } else { 0 };
        let full = &full[skip..];
        if let Some((tag, rest)) = leading_tag(full) {
            if tag.importance >= LEAST_IMPORTANCE {
                let words = plain(rest);
                self.event(&words, &words, Some(tag), line);
                self.prose(text, text.text.len() - rest.len());
            }
            return;
        }
        if let Some((title, rule)) = bold_sentence(full).filter(|_| self.lists_rules()) {
            return self.rule(title, rule, line);
        }
        if let Some((key, value)) = key_and_value(full) {
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
        self.prose(text, skip);
    }

    /// Tells whether what stands here are rules, by the file's name or the heading.
    fn lists_rules(&self) -> bool {
        let file = self.stem.rsplit(['-', '_']).next().unwrap_or_default();
        matches!(file, "policies" | "rules" | "conventions")
            || self.outline.last().is_some_and(|head| head.class == Some("convention"))
    }

    /// `**Mail to clients.** Nothing goes out unread.`
    fn rule(&mut self, title: &str, rule: &str, line: usize) {
        let (title, rule) = (plain(title), plain(rule));
        match checked_subject(&title, Some("convention")) {
            Ok(subject) => self.fact_of(&subject, "rule", whole_sentences(&rule), line),
            Err(refusal) => self.reading.kept_out.push((line, refusal)),
        }
    }

    fn item_subject(&self, name: &str) -> Option<Subject> {
        let category = self.outline.last().and_then(|head| head.class);
        checked_subject(name, category).ok()
    }

    /// Says what `key: value` says.
    fn pair(&mut self, key: &str, value: &str, line: usize) {
        // In a list of people, what stands before the colon is who; `Sister: Anna` is still a key.
        let class = self.outline.last().and_then(|head| head.class).filter(|class| is_things(class));
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
        // What takes many words is told, not stated; the guard lists what is longer still.
        if bare.len() <= guard::MAX_READ_VALUE && bare.split(' ').count() > MANY_WORDS {
            return sentences(bare, |_, sentence, asks| {
                if !asks {
                    self.sentence(sentence, line, false);
                }
            });
        }
        self.values(&subject, key, bare, line);
    }

    /// Says one value, or those of a list where the key is known to have several.
    fn values(&mut self, subject: &Subject, key: &str, value: &str, line: usize) {
        let Ok(known) = guard::key(key, From::Person) else { return };
        // A comma is part of a value where nothing says that there are several: `1 Main St, Springfield`.
        let listed = guard::is_multi(&known)
            || ALIASES.contains(&&*known)
            || matches!(known.as_str(), "depends_on" | "uses");
        let parts = || value.split([',', ';']).map(str::trim).filter(|part| !part.is_empty());
        let values = if listed && parts().count() <= LIST { parts().collect() } else { vec![value] };
        for value in values {
            let value = value.strip_prefix("and ").unwrap_or(value).trim_matches('`');
            if ALIASES.contains(&&*known) {
                let owner = subject.category.is_some_and(|category| category == "user" || category == "self");
                if whole_name(value).is_some() || owner {
                    self.say(Claim::Alias { alias: value.into(), entity: subject.name.clone() }, line);
                }
                continue;
            }
            let row = RELATIONS.binary_search_by_key(&&*known, |row| row.0).ok().map(|at| &RELATIONS[at]);
            match (row, row.and_then(|_| whole_name(value))) {
                (Some((_, predicate, true)), Some(name)) => {
                    self.say(relation(&name, predicate, &subject.name), line);
                }
                (Some((_, predicate, false)), Some(name)) => {
                    self.say(relation(&subject.name, predicate, &name), line);
                }
                _ => self.fact_of(subject, key, value, line),
            }
        }
    }

    fn fact_of(&mut self, subject: &Subject, key: &str, value: &str, line: usize) {
        let section = self.outline.last().and_then(|head| head.class);
        let category = match section {
            Some(section @ ("preference" | "convention" | "decision")) => Some(section),
            _ => subject.category,
        };
        let entity = subject.name.clone();
        match (guard::key(key, From::Document), guard::value(value, From::Document)) {
            (Ok(key), Ok(value)) => self.push(
                Claim::Fact {
                    entity,
                    key,
                    value,
                    category,
                    importance: USUAL,
                    permanent: category.is_some_and(guard::born_permanent),
                },
                line,
            ),
            (Err(refusal), _) | (_, Err(refusal)) => {
                let what = guard::one_line(&format!("{}: {}", key.trim(), refusal.what)).into_owned();
                let what = if refusal.what == key.trim() { refusal.what } else { what };
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
        if head.len() == 2 && (title.is_empty() || KEYS.contains(&&*title)) {
            let value = cells.next().unwrap_or_default();
            if !value.is_empty() {
                self.pair(&first, value, line);
            }
            return;
        }
        let category = guard::class_of(&title).or_else(|| self.outline.last().and_then(|head| head.class));
        let Some(name) = whole_name(&first).or_else(|| category.is_some().then_some(first)) else { return };
        let subject = match checked_subject(&name, category) {
            Ok(subject) => subject,
            Err(refusal) => return self.reading.kept_out.push((line, refusal)),
        };
        for (key, value) in head[1..].iter().zip(cells).filter(|(_, value)| !value.is_empty()) {
            let key = plain(key);
            let value = link_or_plain(&key, value);
            self.values(&subject, &key, &without_code(value.trim()), line);
        }
    }

    /// Reads the sentences of a text, from a byte of it on.
    fn prose(&mut self, text: &Text<'a>, from: usize) {
        let full = text.text.as_ref();
        sentences(&full[from..], |start, sentence, asks| {
            if !asks {
                self.sentence(sentence, text.line(from + start + leading_space(sentence)), true);
            }
        });
    }

    fn sentence(&mut self, sentence: &str, line: usize, marked: bool) {
        if sentence.len() > 1_000 || !sentence::may_say(sentence) {
            return;
        }
        let words = if marked { plain(sentence) } else { sentence.into() };
        let subject = self.subject();
        let person = self
            .outline
            .iter()
            .filter_map(|head| head.class)
            .chain(self.kind)
            .any(|class| matches!(class, "person" | "family" | "friend"));
        let mut found = Vec::new();
        sentence::read(&words, subject.as_ref().map(|subject| subject.name.as_str()), person, |claim| {
            found.push(claim);
        });
        for claim in found {
            self.say(claim, line);
        }
    }

    /// What bullets and rows here are about.
    fn subject(&mut self) -> Option<Subject> {
        if let Some((_, item)) = &self.item {
            return Some(item.clone());
        }
        let (owner, kind, dated) = (&self.owner, self.kind, self.date.is_some());
        for at in (0..self.outline.len()).rev() {
            // Who stands under `Family` is family, whatever the file is about.
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
                // A phrase is about something, but it does not say of what.
                Heading::Phrase => return None,
                Heading::General => {}
            }
        }
        owner.clone()
    }

    /// Adds to the sections that are events.
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
        self.reading.said.push(Said { claim, line });
    }
}

/// Keeps the first of those that say the same.
fn once(said: &mut Vec<Said>) {
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

/// Whether the items of such a list are entities of their own.
fn is_things(class: &str) -> bool {
    !matches!(class, "preference" | "convention" | "decision" | "event")
}

/// What a heading names: `Keystone`, `Home Lab (Oslo)`, or `Project: Keystone`. That of an event may be a
/// phrase.
fn named(title: &str, kind: Option<&'static str>, event: bool) -> Heading {
    let title = plain(title);
    let title = without_code(&title);
    let title = title.trim_start_matches(|c: char| !c.is_alphanumeric()).trim();
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

/// Whether a title is written like a name: one word, or all of them large but the small ones between.
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

/// The `name:` of a file about one person.
fn own_name(text: &str) -> Option<String> {
    text.lines().take(200).filter(|line| line.len() < 200).find_map(|line| {
        let item = line.trim_start().strip_prefix(['-', '*', '+'])?.trim();
        let (key, value) = key_and_value(item)?;
        let key = plain(key).to_lowercase();
        let value = plain(value);
        let value = value.trim();
        let named = matches!(key.trim(), "name" | "full name") && guard::value(value, From::Document).is_ok();
        named.then(|| value.to_owned())
    })
}

/// Splits `key: value`, `**Key**: value`, `**Key:** value` and `**Key** - value`.
fn key_and_value(item: &str) -> Option<(&str, &str)> {
    if let Some(bold) = item.strip_prefix("**").or_else(|| item.strip_prefix("__")) {
        let end = bold.find(&item[..2])?;
        let (key, rest) = (&bold[..end], bold[end + 2..].trim_start());
        let inner = key.trim_end().strip_suffix(':');
        let outer = rest.strip_prefix(':').or_else(|| {
            let dash = ["- ", "– ", "— "].iter().find_map(|dash| rest.strip_prefix(dash));
            dash.filter(|_| bold[end + 2..].starts_with(' '))
        });
        let value = outer.or(inner.map(|_| rest))?;
        let key = inner.unwrap_or(key).trim();
        return is_key(key, 5).then_some((key, value.trim()));
    }
    let colon = item.as_bytes().iter().take(80).position(|byte| *byte == b':')?;
    let (key, value) = (&item[..colon], &item[colon + 1..]);
    (value.is_empty() || value.starts_with([' ', '\t'])).then_some(())?;
    is_key(key, 3).then_some((key, value.trim()))
}

/// `**A title.** And what it says.`
fn bold_sentence(item: &str) -> Option<(&str, &str)> {
    let bold = item.strip_prefix("**")?;
    let end = bold.find("**")?;
    let (title, rest) = (bold[..end].trim().strip_suffix('.')?, bold[end + 2..].trim());
    (!title.is_empty() && !rest.is_empty()).then_some((title, rest))
}

/// Whether some words can be a key, not the beginning of a sentence.
fn is_key(key: &str, most: usize) -> bool {
    key.starts_with(|c: char| c.is_alphanumeric() || c == '`')
        && key.len() <= 60
        && key.split_whitespace().count() <= most
        && !key.contains([',', '.', '!', '?', '[', '"', '=', '/'])
        && !key.split(' ').any(|word| CLAUSES.contains(&word))
}

/// Words that make a key a sentence.
#[rustfmt::skip]
const CLAUSES: &[&str] = &[
    "It", "That", "This", "We", "You", "are", "can", "do", "does", "has", "have", "is", "it", "must", "not", "should",
    "that", "this", "was", "we", "were", "will", "you",
];

/// A value without marks; where the key asks for an address, the one that a link goes to.
fn link_or_plain<'a>(key: &str, value: &'a str) -> Cow<'a, str> {
    let wants = |word: &str| key.to_lowercase().contains(word);
    if value.starts_with('[')
        && ["url", "link", "site", "repo", "homepage", "page"].into_iter().any(wants)
        && let Some((_, target)) = value.split_once("](")
        && let Some(target) = target.strip_suffix(')')
    {
        return target.into();
    }
    // Left to be filled in is told by its marks.
    if value.starts_with("_(") || value.starts_with("*(") || value.starts_with('[') && value.ends_with(']') {
        return value.into();
    }
    plain(value)
}

/// The tag that a line begins with, and what follows.
fn leading_tag(text: &str) -> Option<(Tag<'_>, &str)> {
    let inside = text.strip_prefix('[')?;
    let end = inside.find(']').filter(|end| *end <= 60)?;
    Some((tag(&inside[..end])?, inside[end + 1..].trim_start()))
}

/// A title without the tag that it ends in.
fn ending_tag(title: &str) -> (&str, Option<Tag<'_>>) {
    let read = || {
        let inside = title.strip_suffix(']')?;
        let start = inside.rfind('[')?;
        Some((title[..start].trim_end(), tag(&inside[start + 1..])?))
    };
    read().map_or((title, None), |(title, tag)| (title, Some(tag)))
}

/// `decision|i=0.9`, with `i=1` and `i=.9` too.
fn tag(inside: &str) -> Option<Tag<'_>> {
    let (kind, importance) = inside.split_once('|')?;
    let number =
        importance.trim().strip_prefix("i=").or_else(|| importance.trim().strip_prefix("I="))?.trim();
    let shape =
        !number.is_empty() && number.len() <= 10 && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let importance: f64 = number.parse().ok().filter(|_| shape)?;
    let kind = kind.trim();
    let word = !kind.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    word.then_some(Tag { kind, importance: importance.min(1.0) })
}

/// The beginning of a text that can name an event: its first sentence, or as many words as fit.
fn title_of(text: &str) -> &str {
    let mut first = text;
    let mut found = false;
    sentences(&text[..floor(text, 4 * TITLE)], |start, sentence, _| {
        if !found && !sentence.trim().is_empty() {
            first = &text[start..start + sentence.len()];
            found = true;
        }
    });
    let first = first.trim();
    let Some((end, _)) = first.char_indices().nth(TITLE) else { return first };
    let cut = first[..end].rfind(' ').filter(|cut| *cut > 0).unwrap_or(end);
    first[..cut].trim_end_matches([',', ':', '-', ' ', '('])
}

/// As many whole sentences from the start as a value may have.
fn whole_sentences(text: &str) -> &str {
    let most = text.char_indices().nth(guard::MAX_READ_VALUE).map_or(text.len(), |(at, _)| at);
    let mut end = 0;
    sentences(text, |start, sentence, _| {
        // With the sign that ends it.
        let after = (start + sentence.len() + 1).min(text.len());
        let after = if text.is_char_boundary(after) { after } else { start + sentence.len() };
        if after <= most && (end == 0 && start == 0 || end > 0) && end <= start {
            end = after;
        }
    });
    text[..end].trim()
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The last character boundary at or before a byte.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_relations_are_sorted_and_known() {
        assert!(RELATIONS.is_sorted_by(|a, b| a.0 < b.0));
        for (key, predicate, _) in RELATIONS {
            assert!(guard::inverse(predicate).is_some(), "{key}: {predicate}");
        }
    }
}
