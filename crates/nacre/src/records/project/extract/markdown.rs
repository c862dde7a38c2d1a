//! Documents: items from checkboxes, labels before a colon, bullets under known headings, sentences that
//! state a choice or a definition, and whole decision records.

use super::rules::{CHOICE, LABELS, NO_NAME, OPINION, OUTCOMES, SECTIONS, UNDECIDED};
use super::{FoundItem, ItemType, found};
use crate::base::markdown::{Block, Fence, FencePlace, Text, plain, walk};

/// Reads a document.
pub(super) fn read(path: &str, text: &str) -> Vec<FoundItem> {
    // A template says nothing yet.
    if path.to_ascii_lowercase().contains("template") {
        return Vec::new();
    }
    let mut reader = Reader { record: is_record(path).then(Record::default), ..Reader::default() };
    walk(text, |block| reader.block(&block));
    let record = reader.record.as_ref().and_then(Record::finish);
    let mut all = reader.found;
    let notes = admonitions(text);
    if !notes.is_empty() {
        all.extend(notes);
        all.sort_by_key(|one| one.line);
    }
    if let Some(record) = record {
        // A sentence that states the same decision is part of the record.
        all.retain(|one| one.r#type != ItemType::Decision);
        all.push(record);
        all.sort_by_key(|one| one.line);
    }
    all
}

#[derive(Default)]
struct Reader {
    found: Vec<FoundItem>,
    /// The headings above, and the type of the bullets under each.
    sections: Vec<(usize, Option<(ItemType, f64)>)>,
    record: Option<Record>,
}

impl Reader {
    fn block(&mut self, block: &Block<'_>) {
        match block {
            Block::Heading { level, title, line } => self.heading(*level, &plain(title), *line),
            Block::Bullet { text, .. } => {
                let item = self.bullet(text);
                self.found.extend(item);
                if let Some(record) = &mut self.record {
                    record.add(&text.text, text.line(0));
                }
            }
            Block::Paragraph(text) => {
                let item = labelled(&text.text, text.line(0)).or_else(|| sentence(text));
                self.found.extend(item);
                if let Some(record) = &mut self.record {
                    record.add(&text.text, text.line(0));
                }
            }
            Block::Row { .. } | Block::Blank | Block::Long { .. } => {}
        }
    }

    fn heading(&mut self, level: usize, title: &str, line: usize) {
        self.sections.retain(|(above, _)| *above < level);
        let folded = folded(title);
        let section = SECTIONS.iter().find(|(name, _, _)| *name == folded);
        self.sections.push((level, section.map(|(_, r#type, confidence)| (*r#type, *confidence))));
        if let Some(record) = &mut self.record {
            record.heading(level, title, &folded, line);
        }
        // "Decision: use X" may be a heading too.
        self.found.extend(labelled(title, line));
    }

    fn bullet(&self, text: &Text<'_>) -> Option<FoundItem> {
        let (bare, line) = (text.text.trim(), text.line(0));
        if let Some(after) = bare.strip_prefix("[ ]") {
            // A confirmation in a form is not a task.
            let asks = ["I have", "I've", "I am", "I confirm", "I agree", "I understand", "My "];
            let after = plain(after.trim()).into_owned();
            let is_form = asks.iter().any(|form| after.starts_with(form));
            return if is_form { None } else { found(ItemType::Task, None, &after, line, 0.9) };
        }
        // Done, or given up.
        if ["[x]", "[X]", "[-]", "[~]"].iter().any(|mark| bare.starts_with(mark)) || bare.starts_with("~~") {
            return None;
        }
        if let Some(item) = labelled(bare, line) {
            return Some(item);
        }
        match self.section() {
            Some((ItemType::Entity, confidence)) => term(bare, line, confidence),
            Some((r#type, confidence)) => found(r#type, None, &plain(bare), line, confidence),
            None => sentence(text),
        }
    }

    /// Returns the type of bullets here. Only the nearest heading counts, because a section with another
    /// title has another subject.
    fn section(&self) -> Option<(ItemType, f64)> {
        self.sections.last().and_then(|(_, section)| *section)
    }
}

/// Reads notes that are set apart: quotations that begin with a label (`> **Note**: …`, `> [!WARNING]`), and blocks
/// (`:::note`, `!!! warning`). Other quotations are somebody else's words.
fn admonitions(text: &str) -> Vec<FoundItem> {
    const CONFIDENCE: f64 = 0.8;
    let is_label = |word: &str| {
        ["note", "tip", "important", "warning", "caution", "info", "danger", "hint", "attention"]
            .contains(&word.to_lowercase().as_str())
    };
    let mut found = Vec::new();
    let mut fence = Fence::default();
    let mut lines = text.lines().zip(1usize..).peekable();
    while let Some((line, number)) = lines.next() {
        if !matches!(fence.next(line), FencePlace::Outside) {
            continue;
        }
        let bare = line.trim();
        let block = bare.strip_prefix(":::").or_else(|| bare.strip_prefix("!!!")).map(str::trim_start);
        if let Some(first) = bare.strip_prefix('>') {
            let mut quoted = vec![(first.trim(), number)];
            while let Some((next, at)) = lines.next_if(|(next, _)| next.trim_start().starts_with('>')) {
                quoted.push((next.trim_start().trim_start_matches('>').trim(), at));
            }
            let label = quoted[0].0.strip_prefix("[!").and_then(|rest| rest.strip_suffix(']'));
            let skipped = usize::from(label.is_some_and(is_label));
            let body: Vec<&str> = quoted[skipped..].iter().map(|(text, _)| *text).collect();
            let body = body.join(" ");
            let line = quoted.get(skipped).map_or(number, |(_, at)| *at);
            match skipped {
                1 => found.extend(self::found(ItemType::Note, None, &plain(&body), line, CONFIDENCE)),
                _ => found.extend(labelled(&body, line)),
            }
        } else if block.and_then(|block| block.split([' ', '{', '"']).next()).is_some_and(is_label) {
            let is_closed = bare.starts_with(":::");
            let belongs = |next: &&str| match is_closed {
                true => next.trim() != ":::",
                false => next.starts_with([' ', '\t']),
            };
            let mut body = Vec::new();
            let mut line = number + 1;
            while let Some((next, at)) = lines.next_if(|(next, _)| belongs(next)) {
                if body.is_empty() {
                    line = at;
                }
                body.extend(Some(next.trim()).filter(|next| !next.is_empty()));
            }
            found.extend(self::found(ItemType::Note, None, &plain(&body.join(" ")), line, CONFIDENCE));
        }
    }
    found
}

/// Reads `Decision: …`, `**Note**: …`, `TODO(anna): …`, `NOTE — …`.
fn labelled(text: &str, line: usize) -> Option<FoundItem> {
    let text = plain(text);
    let text = text.trim();
    let colon = text.char_indices().take(40).find(|(_, c)| matches!(c, ':' | '—' | '–'));
    let (label, content) = match colon {
        Some((at, c)) => (&text[..at], &text[at + c.len_utf8()..]),
        // In capitals it needs no colon.
        None => {
            let word = text.split_whitespace().next()?;
            let rest = &text[word.len()..];
            (Some(word).filter(|word| matches!(*word, "TODO" | "FIXME"))?, rest)
        }
    };
    // "TODO(anna)" and "Decision (2026-02-01)" are labels with an assignee or a date.
    let (name, aside) = label.split_once('(').map_or((label, ""), |(name, aside)| (name, aside));
    if !aside.is_empty() && !aside.trim_end().ends_with(')') {
        return None;
    }
    let name = folded(name);
    let (_, r#type, confidence) = LABELS.iter().find(|(known, _, _)| *known == name)?;
    // An address or a path is not a sentence.
    if content.starts_with("//") {
        return None;
    }
    found(*r#type, None, content, line, *confidence)
}

/// Reads a glossary line: `**X**: what it is`, `X — what it is`.
fn term(bullet: &str, line: usize, confidence: f64) -> Option<FoundItem> {
    let text = plain(bullet);
    let split = [": ", " — ", " – ", " - "]
        .iter()
        .filter_map(|mark| text.find(mark).map(|at| (at, mark.len())))
        .min();
    let (at, width) = split?;
    let name = text[..at].trim().trim_matches('`');
    let words = name.split_whitespace().count();
    let is_name = (1..=5).contains(&words) && !name.contains(['.', ';']);
    if is_name {
        found(
            ItemType::Entity,
            Some(name),
            &format!("{name}: {}", text[at + width..].trim()),
            line,
            confidence,
        )
    } else {
        None
    }
}

/// Reads a paragraph or bullet by its first sentence.
fn sentence(text: &Text<'_>) -> Option<FoundItem> {
    let whole = plain(text.text.trim());
    let first = super::first_sentence(&whole);
    let line = text.line(0);
    if first.ends_with('?') || whole.starts_with(['"', '“', '‘']) {
        return None;
    }
    // A leading date is the time, not the content.
    let dated =
        whole.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '/' | '.' | ':' | ' '));
    // Its own first sentence: cutting at the other one's byte length could split a character.
    let said = super::first_sentence(dated);
    if CHOICE.is_match(dated) && !UNDECIDED.is_match(first) && !said.contains('?') {
        return found(ItemType::Decision, Some(said), &whole, line, 0.8);
    }
    let name = defined(first)?;
    found(ItemType::Entity, Some(name), &whole, line, 0.7)
}

/// Returns the term that a sentence defines: "X is a Y …".
fn defined(sentence: &str) -> Option<&str> {
    let (at, verb) = [" is a ", " is an ", " is the ", " are the "]
        .iter()
        .filter_map(|verb| sentence.find(verb).map(|at| (at, *verb)))
        .min()?;
    let (subject, rest) = (sentence[..at].trim(), &sentence[at + verb.len()..]);
    let (article, bare) = match subject.strip_prefix("The ").or_else(|| subject.strip_prefix("A ")) {
        Some(bare) => (true, bare),
        None => (false, subject),
    };
    let is_code =
        bare.len() > 2 && bare.starts_with('`') && bare.ends_with('`') && bare.matches('`').count() == 2;
    let words: Vec<&str> = bare.split_whitespace().collect();
    let first = words.first()?.to_lowercase();
    let is_name = |word: &str| word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    // At the start of a sentence any word may be a name; after an article only a capitalised one.
    let named = is_code
        || words.iter().all(|word| is_name(word)) && (!article || words.len() <= 3)
        || !article && words.len() == 1 && is_name(bare);
    if !named || words.len() > 4 || NO_NAME.has(&first) || bare.contains([',', '(', ';', ':', '?']) {
        return None;
    }
    // "Running the tests is a …": an activity, not a thing.
    if !is_code && first.ends_with("ing") && first.len() > 5 {
        return None;
    }
    let kind: Vec<&str> =
        rest.split_whitespace().take(2).map(|word| word.trim_end_matches([',', '.', ';', ':'])).collect();
    let thought = kind.iter().any(|word| OPINION.has(&word.to_lowercase()));
    // It must be a definition: "X is the best" and "X is a mess" are not.
    let says = rest.split_whitespace().count() >= 3;
    let is_best = verb == " is the "
        && kind.first().is_some_and(|word| {
            word.ends_with("est")
                || matches!(*word, "only" | "one" | "same" | "most" | "default" | "first" | "last" | "next")
        });
    if thought || !says || is_best { None } else { Some(bare.trim_matches('`')) }
}

/// Returns a text without case, and without punctuation at its ends.
fn folded(text: &str) -> String {
    // Headings may be numbered, and may start with an emoji.
    let bare = text.trim_start_matches(|c: char| !c.is_alphabetic());
    bare.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '.').trim().to_lowercase()
}

/// Tells whether a file is a decision record, by its path and name.
fn is_record(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let folder = parts.next().unwrap_or_default();
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let is_numbered = digits >= 2 && name[digits..].starts_with(['-', '_', '.']);
    let is_adr = name.strip_prefix("adr").is_some_and(|rest| {
        rest.starts_with(['-', '_']) && rest[1..].starts_with(|c: char| c.is_ascii_digit())
    });
    let in_folder = matches!(folder, "adr" | "adrs" | "decisions" | "decision-records" | "decision-log");
    is_adr || is_numbered && in_folder
}

/// A decision record.
#[derive(Default)]
struct Record {
    title: Option<(String, usize)>,
    /// The part that the current heading starts.
    part: Part,
    status: String,
    outcome: Option<(String, usize)>,
    first: Option<(String, usize)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Other,
    Status,
    Outcome,
}

impl Record {
    fn heading(&mut self, level: usize, title: &str, folded: &str, line: usize) {
        if level == 1 && self.title.is_none() {
            // "ADR-0007: use X", "7. Use X".
            let bare = title.strip_prefix("ADR").or_else(|| title.strip_prefix("Adr")).unwrap_or(title);
            let bare = bare.trim_start_matches(|c: char| !c.is_alphabetic());
            self.title = Some((bare.to_owned(), line));
        }
        self.part = match folded {
            "status" => Part::Status,
            folded if OUTCOMES.contains(&folded) => Part::Outcome,
            _ => Part::Other,
        };
    }

    fn add(&mut self, text: &str, line: usize) {
        let text = plain(text);
        let lower = text.to_lowercase();
        if let Some(status) = lower.strip_prefix("status:") {
            self.status = status.trim().to_owned();
            return;
        }
        let inline = ["decision:", "choice:", "choice.", "decision.", "outcome:"]
            .iter()
            .find(|word| lower.starts_with(**word));
        match self.part {
            Part::Status if self.status.is_empty() => self.status = lower.trim().to_owned(),
            Part::Outcome if self.outcome.is_none() => self.outcome = Some((text.into_owned(), line)),
            _ if inline.is_some() && self.outcome.is_none() => {
                let from = inline.map_or(0, |word| word.len());
                self.outcome = text.get(from..).map(|text| (text.trim().to_owned(), line));
            }
            Part::Other if self.first.is_none() => self.first = Some((text.into_owned(), line)),
            _ => {}
        }
    }

    fn finish(&self) -> Option<FoundItem> {
        let (title, line) = self.title.as_ref()?;
        let over = ["superseded", "deprecated", "rejected", "withdrawn", "obsolete"];
        if over.iter().any(|word| self.status.starts_with(word)) {
            return None;
        }
        let proposed = ["proposed", "draft", "open"].iter().any(|word| self.status.starts_with(word));
        let (content, line, sure) = match (&self.outcome, &self.first) {
            (Some((text, line)), _) => (text, *line, 0.95),
            (None, Some((text, line))) => (text, *line, 0.7),
            (None, None) => (title, *line, 0.6),
        };
        found(ItemType::Decision, Some(title), content, line, if proposed { 0.5 } else { sure })
    }
}
