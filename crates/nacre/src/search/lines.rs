//! Lines of documents. A chunk is the place where an answer is; the line, bullet, table row or sentence is the answer.
//!
//! The best chunks are split into lines, and each line is scored by itself: how much of the question it covers by equal
//! and similar words, in its text or in the headings, the file name, the outer bullet and the column names above it; how
//! near its meaning is, and for the best lines how near the reader finds it; whether it has the kind of value that is asked for. A line that shares a rare word with a good
//! line gains from it: the second step of a question in two steps, or what was logged later. A hit shows the best line
//! with the lines around it, and the later lines of logs on the same matter.
//!
//! The weights are the same for four memories of different people; each was found on the other three. Within wide
//! ranges they change little.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a few thousand words, scores in f32"
)]

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::LazyLock;

use regex::Regex;

use super::hit::{self, BestLine, ChunkExtent, Contender};
use super::question::Question;
use super::request::Request;
use super::score::Scorer;
use crate::base::text::says;
use crate::base::words::{self, List};
use crate::base::{Result, Time};
use crate::index::analyse;
use crate::index::embed::builtin::{self, Vector};
use crate::index::embed::foreign;
use crate::index::lines::LineVector;
use crate::records::note;
use crate::records::note::line::{self, MAX_LINE_CHARS, NoteLine, Unit};

/// How many chunks are split.
const MAX_CHUNKS: usize = 64;
/// The chunks of this many lines that the reader finds nearest are split too.
const NEAREST_LINES: usize = 24;
/// How many later lines a hit shows.
const MAX_LATER_LINES: usize = 2;

/// The weights of the parts of a line's score.
const COVERAGE_WEIGHT: f32 = 5.0;
const MEANING_WEIGHT: f32 = 0.8;
const CHUNK_MEANING_WEIGHT: f32 = 0.4;
const ADDRESS_WEIGHT: f32 = 4.5;
const MOMENT: f32 = 2.8;
const NUMBER: f32 = 3.4;
const LOG_WEIGHT: f32 = 0.5;
const LINK_WEIGHT: f32 = 0.43;
const LATER_LINK_WEIGHT: f32 = 0.3;
const READER_WEIGHT: f32 = 5.0;
/// How many lines without a stored vector the reader compares with the question.
const READ_LINES: usize = 20;
/// How many lines the reader's vectors put in order for a question: with more of them, a line with other words of the same meaning
/// passes the one that has the words, more often wrongly than rightly. A message compares all.
const COMPARED_LINES: usize = 32;

/// The weight of a question's word that the line does not have itself, but its headings or a neighbour have, or of which
/// it has a similar one.
const HEADING_WORD_WEIGHT: f32 = 0.9;
const NEIGHBOUR_WORD_WEIGHT: f32 = 0.5;
const SIMILAR_WORD_WEIGHT: f32 = 0.8;
const SIMILAR_HEADING_WORD_WEIGHT: f32 = 0.7;
/// Words below this similarity are unrelated; above the second one they are as good as equal.
const MAX_UNRELATED_SIMILARITY: f32 = 0.3;
const MIN_EQUAL_SIMILARITY: f32 = 0.75;

/// A line that has no word of the question is found if similar words cover this share of it.
const MIN_COVERED: f32 = 0.25;

/// The mean and the spread of the cosine between a line and a question. Both hardly differ between memories.
const USUAL_COSINE: (f32, f32) = (0.07, 0.085);

/// Lines from which links are followed, and the place of the line whose score counts as no link.
const LINKING_LINES: usize = 10;
const FLOOR_PLACE: usize = 40;
/// A word in more lines than this links none of them; a later line may share words that are a little more common.
const MAX_LINK_LINES: usize = 10;
const MAX_LATER_SHARED_LINES: usize = 20;
/// The rarity of shared words, as the sum of their weights, that makes a full link, and the least of a later line.
const FULL_LINK: f32 = 6.0;
const MIN_LATER_LINK: f32 = 3.0;
/// The share of a link that a line without the value that is asked for gets.
const LINK_WITHOUT_VALUE: f32 = 0.3;

/// How far below the looked-up word's line the other lines stay.
const LOOKUP_MARGIN: f32 = 0.1;

/// The worth of one point of a line's score, in the scale of the ranking.
const LINE_SCORE_SCALE: f32 = 0.5;

/// Loads the best of the scored chunks, and those with the lines that the reader finds nearest to the question.
pub(super) fn candidates(
    scorer: &Scorer<'_>,
    scored: &mut [(u32, f32)],
    request: &Request,
    reading: Option<&LineVector>,
) -> Result<Vec<Contender>> {
    let mut chunks = hit::load(scorer, scored, MAX_CHUNKS, request, ChunkExtent::Whole)?;
    if scored.len() <= MAX_CHUNKS {
        return Ok(chunks);
    }
    let nearest = reading.map(|reading| scorer.nearest_lines(reading, NEAREST_LINES));
    let nearest = nearest.transpose()?.unwrap_or_default();
    let known: HashSet<u32> = chunks.iter().map(|chunk| chunk.passage).collect();
    let mut more: Vec<(u32, f32)> =
        scored.iter().filter(|(id, _)| nearest.contains(id) && !known.contains(id)).copied().collect();
    chunks.extend(hit::load(scorer, &mut more, NEAREST_LINES, request, ChunkExtent::Whole)?);
    Ok(chunks)
}

/// Returns the best lines of the chunks, best first, at most `wanted`. The best line is worth as much as the best chunk, so
/// that documents keep their place among other hits.
pub(super) fn best(
    scorer: &Scorer<'_>,
    chunks: &[Contender],
    wanted: usize,
    reading: Option<&LineVector>,
) -> Vec<Contender> {
    let Some(anchor) = chunks.iter().map(|chunk| chunk.worth).reduce(f64::max) else { return Vec::new() };
    let question = scorer.question();
    let asked = WantedValues::of(question);
    let chunks: Vec<Chunk<'_>> = chunks.iter().map(Chunk::new).collect();
    let mut lexicon = WordTable::default();
    let mut lines = split(&chunks, &mut lexicon, scorer, reading);
    lexicon.finish(question, &lines);
    for place in 0..lines.len() {
        lines[place].own =
            lexicon.evidence(&lines, place, asked, scorer, chunks[lines[place].chunk].contender);
    }
    let order = sorted(&lines, |line| line.own.score);
    let links = lexicon.links(&lines, &order, asked);
    // A line that has every word of the question itself is not outranked by links. A question of one word, such as an
    // identifier, looks that word up: no similar line outranks it either.
    let whole = lines.iter().filter(|line| line.own.is_whole).map(|line| line.own.score).reduce(f32::max);
    let is_lookup = question.is_one_word();
    for (line, link) in lines.iter_mut().zip(links) {
        line.score = line.own.score + link;
        if let Some(whole) = whole.filter(|_| !line.own.is_whole) {
            line.score =
                line.score.min(if is_lookup { whole - LOOKUP_MARGIN } else { whole.max(line.own.score) });
        }
        if link > 0.0 {
            line.own.found = LineMatch::Itself;
        }
    }
    if let Some(reading) = reading {
        read_best(&mut lines, reading, if question.is_message { usize::MAX } else { COMPARED_LINES });
    }
    let order = if question.is_message { fused(&lines) } else { sorted(&lines, |line| line.score) };
    let scores: Vec<f32> =
        sorted(&lines, |line| line.score).iter().map(|place| lines[*place].score).collect();
    for (place, score) in order.iter().zip(scores) {
        lines[*place].score = score;
    }
    let Some(most) = order.first().map(|place| lines[*place].score) else { return Vec::new() };
    let mut shown: Vec<Vec<bool>> = chunks.iter().map(|chunk| vec![false; chunk.units.len()]).collect();
    let mut attached = HashSet::new();
    let mut hits = Vec::new();
    for place in order {
        let line = &lines[place];
        if hits.len() == wanted {
            break;
        }
        let is_hit = match line.own.found {
            // A turn judges each line by itself.
            _ if question.is_message => true,
            LineMatch::Not => false,
            LineMatch::ByTitle => !shown[line.chunk].contains(&true),
            LineMatch::Itself => true,
        };
        // A turn weighs each line by itself, also those around a line that is shown.
        let is_shown = !question.is_message && (shown[line.chunk][line.unit] || attached.contains(&place));
        if !is_hit || is_shown {
            continue;
        }
        let mut later = lexicon.later(&lines, place, asked);
        later.retain(|one| !shown[lines[*one].chunk][lines[*one].unit] && attached.insert(*one));
        let worth = anchor + f64::from(LINE_SCORE_SCALE * (line.score - most));
        let around = if question.is_message {
            [line.unit; 2]
        } else {
            chunks[line.chunk].window(line.unit, &shown[line.chunk])
        };
        shown[line.chunk][around[0]..=around[1]].fill(true);
        hits.push(chunks[line.chunk].hit(line, &later, &lines, worth, around));
    }
    hits
}

/// Adds how near the reader finds the best lines to the question, compared with the farthest of them. Stored vectors of lines are
/// compared; of the lines without one, the best are read. The others stay below. The reader knows English: a line in another
/// language counts like the usual one.
fn read_best(lines: &mut [Line<'_>], question: &LineVector, most: usize) {
    let without = |line: &Line<'_>| line.nearness.is_none() && line.readable.is_some();
    let mut unread = sorted(lines, |line| line.score);
    unread.retain(|place| without(&lines[*place]));
    unread.truncate(READ_LINES);
    let texts: Vec<String> = unread.iter().filter_map(|place| lines[*place].readable.clone()).collect();
    for (place, vector) in unread.into_iter().zip(LineVector::of(&texts)) {
        lines[place].nearness = Some(vector.cosine(question));
    }
    let mut compared = sorted(lines, |line| line.score);
    compared.truncate(most);
    let read = || compared.iter().filter_map(|place| lines[*place].nearness);
    let least = read().fold(f32::MAX, f32::min);
    let usual = read().map(|near| near - least).sum::<f32>() / read().count().max(1) as f32;
    for place in compared {
        let line = &mut lines[place];
        line.score += READER_WEIGHT
            * match line.nearness {
                Some(near) => near - least,
                None if line.readable.is_none() => usual,
                None => 0.0,
            };
    }
}

/// Returns the reader's vector of a question; `None` if it can't compare it with lines: it knows English, and a word that is
/// looked up has no meaning to compare.
pub(super) fn reading(question: &Question) -> Option<LineVector> {
    if question.is_one_word() || foreign::is_foreign(&question.text) {
        return None;
    }
    LineVector::of(std::slice::from_ref(&question.text)).pop()
}

/// The kinds of values that a question asks for.
#[derive(Clone, Copy, Default)]
struct WantedValues {
    phone: bool,
    mail: bool,
    moment: bool,
    number: bool,
}

impl WantedValues {
    fn of(question: &Question) -> WantedValues {
        static PHONE: List = words::SEARCH.list("asks phone");
        static MAIL: List = words::SEARCH.list("asks mail");
        static MOMENT: List = words::SEARCH.list("asks moment");
        static NUMBER: List = words::SEARCH.list("asks number");
        static SENDS: List = words::SEARCH.list("sends");
        let lower = question.text.to_lowercase().replace('’', "'");
        let asks = |phrases: &List| phrases.iter().any(|phrase| says(&lower, phrase));
        let (phone, mail) = match question.is_message {
            // Whoever wants an e-mail written asks for no address. The number of a text message is a phone number.
            true => (asks(&PHONE) || (asks(&SENDS) && says(&lower, "number")), says(&lower, "address")),
            false => (asks(&PHONE), asks(&MAIL)),
        };
        // Whoever asks for a phone number asks for no other number.
        WantedValues { phone, mail, moment: asks(&MOMENT), number: asks(&NUMBER) && !phone && !mail }
    }

    fn is_any(self) -> bool {
        self.phone || self.mail || self.moment || self.number
    }

    /// Returns the weight of the values of a line.
    fn weight(self, values: Values) -> f32 {
        let part = |asked: bool, has: bool, weight: f32| if asked && has { weight } else { 0.0 };
        part(self.phone, values.phone, ADDRESS_WEIGHT).max(part(self.mail, values.mail, ADDRESS_WEIGHT))
            + part(self.moment, values.moment, MOMENT)
            + part(self.number, values.number, NUMBER)
    }
}

/// The kinds of values that a line has.
#[derive(Clone, Copy, Default)]
struct Values {
    phone: bool,
    mail: bool,
    moment: bool,
    number: bool,
}

impl Values {
    fn of(text: &str) -> Values {
        static MOMENT: LazyLock<Regex> = LazyLock::new(|| {
            let month = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";
            let weekday = "(?:mon|tues?|wed(?:nes)?|thur?s?|fri|sat(?:ur)?|sun)(?:days?)?";
            let length = r"\d+ ?(?:h|hrs?|hours?|mins?|minutes?|days?|yrs?|years?|wks?|weeks?|months?|mo)";
            Regex::new(&format!(
                r"(?i)\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{month})|(?:{month}) \d{{1,4}}|\d{{1,2}}/\d{{1,4}}|\d{{4}}-\d\d|(?:19|20)\d\d|{weekday}|\d{{1,2}}[:.]\d\d|\d{{1,2}} ?[ap]m|{length}|\d{{1,2}}(?:st|nd|rd|th))\b"
            ))
            .expect("a constant pattern")
        });
        Values {
            phone: has_phone(text),
            mail: text.split_whitespace().any(|word| {
                word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
            }),
            moment: MOMENT.is_match(text),
            number: text.contains(|c: char| c.is_ascii_digit()),
        }
    }
}

/// Tells whether a text has a number of at least nine digits, grouped as people write phone numbers.
fn has_phone(text: &str) -> bool {
    let (mut digits, mut gap) = (0, 0);
    text.chars().any(|c| {
        if c.is_ascii_digit() {
            (digits, gap) = (digits + 1, 0);
        } else if matches!(c, ' ' | '-' | '(' | ')' | '/' | '+') && gap < 2 {
            gap += 1;
        } else {
            (digits, gap) = (0, 0);
        }
        digits >= 9
    })
}

/// A chunk and its units, in the order of the text.
struct Chunk<'c> {
    contender: &'c Contender,
    units: Vec<Unit<'c>>,
    /// The first line of the chunk in its document, from 1.
    first: i64,
}

/// A line that may answer.
struct Line<'c> {
    chunk: usize,
    unit: usize,
    text: &'c str,
    /// The headings above it.
    headings: Option<Rc<str>>,
    section: usize,
    at: Time,
    values: Values,
    /// The places of its words in the table, and of the words above it.
    words: Vec<u32>,
    above: Vec<u32>,
    /// The distinct stems of both, sorted.
    stems: Vec<u32>,
    vector: Vector,
    /// The text that the reader compares with the question; `None` if it is in another language.
    readable: Option<String>,
    /// The cosine of the reader's vectors of the line and of the question, if the line has one.
    nearness: Option<f32>,
    own: Evidence,
    score: f32,
}

/// The evidence for a line, without its links to other lines.
#[derive(Clone, Copy, Default)]
struct Evidence {
    score: f32,
    /// The share of the question that it covers.
    covered: f32,
    /// Whether it has every word of the question itself.
    is_whole: bool,
    cosine: f32,
    /// The terms of the question that it has, one bit each.
    matched: u64,
    found: LineMatch,
}

/// How a line is found.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum LineMatch {
    #[default]
    Not,
    /// Only its chunk, or what is above it, has a word of the question. Many lines are found that way, so that one line
    /// of the chunk is enough.
    ByTitle,
    Itself,
}

impl<'c> Chunk<'c> {
    fn new(contender: &'c Contender) -> Chunk<'c> {
        let first = contender.hit.document.as_ref().map_or(1, |document| document.lines[0]);
        Chunk { contender, units: line::units(&contender.text), first }
    }

    fn lines(&self) -> Vec<NoteLine<'c>> {
        let Contender { hit, title, text, .. } = self.contender;
        let path = hit.document.as_ref().map_or("", |document| &document.path);
        line::lines(&self.units, path, title, text, hit.at)
    }

    /// Returns the hit of a line: the units around it, and later lines.
    fn hit(
        &self,
        line: &Line<'_>,
        later: &[usize],
        lines: &[Line<'_>],
        worth: f64,
        [from, to]: [usize; 2],
    ) -> Contender {
        let whole = &self.contender.text;
        let start = self.units[from].text.as_ptr() as usize - whole.as_ptr() as usize;
        let end = self.units[to].text.as_ptr() as usize - whole.as_ptr() as usize + self.units[to].text.len();
        let mut text = whole[start..end].trim().to_owned();
        let has_heading = self.units[from..=to].iter().any(|unit| unit.is_heading);
        let headings = line.headings.as_ref().map(|headings| format!("{headings}: ")).unwrap_or_default();
        if !has_heading {
            text.insert_str(0, &headings);
        }
        let is_later = |place: &usize| {
            let Line { at, text, .. } = &lines[*place];
            format!("later ({}): {}", at.day_in_words(), text.trim())
        };
        let later: Vec<String> = later.iter().map(is_later).collect();
        for line in &later {
            text.push('\n');
            text.push_str(line);
        }
        let mut hit = self.contender.hit.clone();
        if let Some(document) = &mut hit.document {
            document.line = Some(BestLine { text: format!("{headings}{}", line.text.trim()), later });
            document.lines = [self.first + self.units[from].line, self.first + self.units[to].line];
            hit.id = format!("{}#L{}-L{}", document.path, document.lines[0], document.lines[1]);
        }
        hit.text = text;
        hit.at = line.at;
        hit.relevance = f64::from(line.own.covered.max(line.own.cosine).clamp(0.0, 1.0));
        let mut contender = Contender {
            hit,
            text: line.text.to_owned(),
            title: line.headings.as_deref().unwrap_or_default().to_owned(),
            matched: line.own.matched,
            passage: self.contender.passage,
            worth: self.contender.worth,
            place: None,
            replaced: {
                let number = self.first + self.units[line.unit].line;
                self.contender.replaced.iter().copied().filter(|(line, _)| *line == number).collect()
            },
        };
        contender.change("line", worth - self.contender.worth);
        contender
    }

    /// Returns the first and the last unit to show around one. A short chunk is shown whole.
    fn window(&self, unit: usize, shown: &[bool]) -> [usize; 2] {
        let chars = |unit: usize| self.units[unit].text.chars().count() + 1;
        let last = self.units.len() - 1;
        if self.contender.text.trim().chars().count() <= MAX_LINE_CHARS {
            return [0, last];
        }
        let [mut from, mut to] = [unit, unit];
        let mut room = MAX_LINE_CHARS.saturating_sub(chars(unit));
        loop {
            let mut grown = false;
            if to < last && !self.units[to + 1].is_heading && !shown[to + 1] && chars(to + 1) <= room {
                to += 1;
                room -= chars(to);
                grown = true;
            }
            let is_open = from > 0 && !self.units[from].is_heading;
            if is_open && !shown[from - 1] && chars(from - 1) <= room {
                from -= 1;
                room -= chars(from);
                grown = true;
            }
            if !grown {
                return [from, to];
            }
        }
    }
}

/// Splits chunks into lines. A line that two chunks have is taken from the better one.
fn split<'c>(
    chunks: &[Chunk<'c>],
    table: &mut WordTable,
    scorer: &Scorer<'_>,
    reading: Option<&LineVector>,
) -> Vec<Line<'c>> {
    let question = scorer.question();
    let mut known: HashSet<(&str, i64, &str)> = HashSet::new();
    let mut lines = Vec::new();
    for (place, chunk) in chunks.iter().enumerate() {
        let path = chunk.contender.hit.document.as_ref().map_or("", |document| document.path.as_str());
        let name = note::subject(path);
        let found = chunk.lines();
        let nearness =
            reading.and_then(|reading| scorer.line_cosines(chunk.contender.passage, found.len(), reading));
        for (number, line) in found.into_iter().enumerate() {
            let NoteLine { unit, text, line: at_line, headings, section, above, at } = &line;
            if !known.insert((path, chunk.first + at_line, text)) {
                continue;
            }
            let title = [name.as_str(), headings.as_deref().unwrap_or_default(), above.as_str()].join(" ");
            let words = table.add(text, question);
            let above = table.add(&title, question);
            let mut stems: Vec<u32> = words
                .iter()
                .chain(&above)
                .flat_map(|word| table.words[*word as usize].stems.clone())
                .collect();
            stems.sort_unstable();
            stems.dedup();
            lines.push(Line {
                chunk: place,
                unit: *unit,
                text,
                section: *section,
                at: *at,
                values: Values::of(text),
                words,
                above,
                stems,
                vector: builtin::embed_weighted(&format!("{title} {text}"), |_| 1.0),
                readable: line.readable(),
                nearness: nearness.as_ref().and_then(|nearness| nearness[number]),
                headings: line.headings,
                own: Evidence::default(),
                score: 0.0,
            });
        }
    }
    lines
}

/// The distinct words of all lines.
#[derive(Default)]
struct WordTable {
    places: HashMap<String, u32>,
    words: Vec<Word>,
    stems: HashMap<String, u32>,
    /// The lines that have a stem, by its place. Empty for stems that link nothing.
    lines: Vec<Vec<u32>>,
    /// Whether a stem may link two lines.
    may_link: Vec<bool>,
    /// The weight of each stem, and of each term of the question.
    weights: Vec<f32>,
    terms: Vec<f32>,
    asked: HashSet<u32>,
    question: Option<Vector>,
}

struct Word {
    stems: Vec<u32>,
    /// How well it matches each term of the question, 0 to 1.
    matches: Vec<f32>,
    /// The terms that it is equal to, one bit each.
    bits: u64,
}

impl WordTable {
    /// Adds the words of a text, and returns their places.
    fn add(&mut self, text: &str, question: &Question) -> Vec<u32> {
        let mut places = Vec::new();
        let lower = text.to_lowercase().replace('’', "'");
        for word in lower.split(|c: char| !c.is_alphanumeric() && c != '\'') {
            let word = word.trim_matches('\'');
            let word = word.strip_suffix("'s").unwrap_or(word);
            if word.is_empty() {
                continue;
            }
            let place = match self.places.get(word) {
                Some(place) => *place,
                None => self.add_word(word, question),
            };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    fn add_word(&mut self, word: &str, question: &Question) -> u32 {
        let analysed = analyse::words(word, question.language);
        let bits = question.bits(&analysed);
        let can_link = |stem: &str| {
            stem.chars().nth(2).is_some()
                && !stem.starts_with(|c: char| c.is_ascii_digit())
                && !question.language.is_common(stem)
        };
        let mut stems = Vec::new();
        for stem in analysed {
            let next = self.lines.len() as u32;
            let place = *self.stems.entry(stem.clone()).or_insert(next);
            if place == next {
                self.lines.push(Vec::new());
                self.may_link.push(can_link(&stem));
            }
            stems.push(place);
        }
        let place = self.words.len() as u32;
        self.places.insert(word.to_owned(), place);
        self.words.push(Word { stems, matches: Vec::new(), bits });
        place
    }

    /// Counts the lines of each stem, and compares each word with the terms of the question.
    fn finish(&mut self, question: &Question, lines: &[Line<'_>]) {
        for (place, line) in (0u32..).zip(lines) {
            line.stems.iter().for_each(|stem| self.lines[*stem as usize].push(place));
        }
        let all = lines.len();
        self.weights = self.lines.iter().map(|with| rarity(all, with.len())).collect();
        let weight_of =
            |stem: &str| self.stems.get(stem).map_or(rarity(all, 0), |place| self.weights[*place as usize]);
        self.terms = question
            .terms
            .iter()
            .map(|term| weight_of(&term.term) * (0.35 + 0.65 * builtin::rarity(&term.shown.to_lowercase())))
            .collect();
        self.asked = question.terms.iter().filter_map(|term| self.stems.get(&term.term).copied()).collect();
        self.question = Some(builtin::embed_weighted(&question.text, |word| {
            let stems = analyse::words(word, question.language);
            if question.is_name(word) {
                0.0
            } else {
                stems.first().map_or(0.3, |stem| weight_of(stem)).max(0.1).sqrt()
            }
        }));
        let terms: Vec<Vector> =
            question.terms.iter().map(|term| builtin::embed_weighted(&term.shown, |_| 1.0)).collect();
        for (text, place) in &self.places {
            let vector = builtin::embed_weighted(text, |_| 1.0);
            let word = &mut self.words[*place as usize];
            let compare = |(index, term): (usize, &Vector)| match word.bits & (1 << (index % 64)) {
                0 => {
                    SIMILAR_WORD_WEIGHT
                        * ((dot(&vector, term) - MAX_UNRELATED_SIMILARITY)
                            / (MIN_EQUAL_SIMILARITY - MAX_UNRELATED_SIMILARITY))
                            .clamp(0.0, 1.0)
                }
                _ => 1.0,
            };
            word.matches = terms.iter().enumerate().map(compare).collect();
        }
    }

    /// Returns how well the best of some words matches a term.
    fn best(&self, words: &[u32], term: usize) -> f32 {
        words.iter().map(|word| self.words[*word as usize].matches[term]).fold(0.0, f32::max)
    }

    fn bits(&self, line: &Line<'_>) -> u64 {
        line.words.iter().fold(0, |bits, word| bits | self.words[*word as usize].bits)
    }

    /// Scores a line by itself.
    fn evidence(
        &self,
        lines: &[Line<'_>],
        place: usize,
        asked: WantedValues,
        scorer: &Scorer<'_>,
        chunk: &Contender,
    ) -> Evidence {
        let line = &lines[place];
        let is_beside = |other: &&Line<'_>| other.chunk == line.chunk && other.section == line.section;
        let beside =
            [place.checked_sub(1), Some(place + 1)].into_iter().flatten().filter_map(|one| lines.get(one));
        let beside = beside.filter(is_beside).fold(0, |bits, other| bits | self.bits(other));
        let above = line.above.iter().fold(0, |bits, word| bits | self.words[*word as usize].bits);
        let (mut covered, mut own) = (0.0, 0.0);
        for (term, weight) in self.terms.iter().enumerate() {
            let bit = 1 << (term % 64);
            let by_title = if above & bit != 0 {
                HEADING_WORD_WEIGHT
            } else {
                SIMILAR_HEADING_WORD_WEIGHT / SIMILAR_WORD_WEIGHT * self.best(&line.above, term)
            };
            let by_neighbour = if beside & bit != 0 { NEIGHBOUR_WORD_WEIGHT } else { 0.0 };
            let by_itself = self.best(&line.words, term);
            own += weight * by_itself;
            covered += weight * by_itself.max(by_title).max(by_neighbour);
        }
        let all = self.terms.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        let covered = covered / all;
        let cosine = self.question.as_ref().map_or(0.0, |question| dot(question, &line.vector));
        let (mean, spread) = USUAL_COSINE;
        let recalled = scorer.recalled_line(chunk.passage, chunk_line(line, chunk));
        let score = COVERAGE_WEIGHT * covered
            + MEANING_WEIGHT * (cosine - mean) / spread
            + CHUNK_MEANING_WEIGHT * (scorer.similarity(chunk.passage) - mean) / spread
            + asked.weight(line.values)
            + if line.at.is_undated() { 0.0 } else { LOG_WEIGHT }
            + scorer.line_parts(chunk.passage) / LINE_SCORE_SCALE
            + recalled / LINE_SCORE_SCALE;
        let is_similar = scorer.is_similar(cosine) || own / all >= MIN_COVERED;
        let found = match self.bits(line) | beside {
            0 if is_similar || recalled > 0.0 => LineMatch::Itself,
            0 if above != 0 || scorer.matched[chunk.passage as usize] != 0 => LineMatch::ByTitle,
            0 => LineMatch::Not,
            _ => LineMatch::Itself,
        };
        let is_whole = own >= all * 0.999;
        Evidence { score, covered, is_whole, cosine, matched: self.bits(line) | above, found }
    }

    /// Returns what each line gains from links to better lines.
    fn links(&self, lines: &[Line<'_>], order: &[usize], asked: WantedValues) -> Vec<f32> {
        let mut gains = vec![(0.0f32, 0.0f32); lines.len()];
        let floor = order.get(FLOOR_PLACE).or(order.last()).map_or(0.0, |place| lines[*place].own.score);
        let found = order.iter().copied().filter(|place| lines[*place].own.found != LineMatch::Not);
        for place in found.take(LINKING_LINES) {
            let from = &lines[place];
            for (other, shared) in self.shared(from, MAX_LINK_LINES, &self.asked) {
                let line = &lines[other];
                if other == place {
                    continue;
                }
                let has_value = !asked.is_any() || asked.weight(line.values) > 0.0;
                let full = (shared / FULL_LINK).min(1.0) * (from.own.score - floor);
                let link = if has_value { full } else { LINK_WITHOUT_VALUE * full };
                gains[other].0 = gains[other].0.max(link);
                if has_value && is_later(line, from) {
                    gains[other].1 = gains[other].1.max(link);
                }
            }
        }
        gains.into_iter().map(|(link, later)| LINK_WEIGHT * link + LATER_LINK_WEIGHT * later).collect()
    }

    /// Returns the later lines of logs that share rare words with a line, the nearest first.
    fn later(&self, lines: &[Line<'_>], place: usize, asked: WantedValues) -> Vec<usize> {
        let line = &lines[place];
        let follows = |other: &Line<'_>| {
            is_later(other, line)
                && (!asked.is_any() || asked.weight(other.values) > 0.0)
                && (!line.values.number || other.values.number)
        };
        let mut found: Vec<(usize, f32)> = self
            .shared(line, MAX_LATER_SHARED_LINES, &HashSet::new())
            .into_iter()
            .filter(|(other, shared)| *shared >= MIN_LATER_LINK && follows(&lines[*other]))
            .map(|(other, shared)| (other, shared + 0.3 * lines[other].score))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.into_iter().take(MAX_LATER_LINES).map(|(other, _)| other).collect()
    }

    /// Returns the other lines that share stems with a line, each with the weight of these stems.
    fn shared(&self, line: &Line<'_>, most: usize, without: &HashSet<u32>) -> HashMap<usize, f32> {
        let mut shared = HashMap::new();
        let rare = line.stems.iter().filter(|stem| {
            let with = self.lines[**stem as usize].len();
            self.may_link[**stem as usize] && with <= most && !without.contains(stem)
        });
        for stem in rare {
            for other in &self.lines[*stem as usize] {
                *shared.entry(*other as usize).or_insert(0.0) += self.weights[*stem as usize];
            }
        }
        shared
    }
}

/// Tells whether a line of a log is later than another line. A line without a date is the oldest.
fn is_later(line: &Line<'_>, than: &Line<'_>) -> bool {
    !line.at.is_undated() && (than.at.is_undated() || line.at > than.at)
}

/// Returns the number of a line in its document, from 1.
fn chunk_line(line: &Line<'_>, chunk: &Contender) -> i64 {
    let start = line.text.as_ptr() as usize - chunk.text.as_ptr() as usize;
    let before = chunk.text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
    chunk.hit.document.as_ref().map_or(1, |document| document.lines[0]) + before as i64
}

/// Returns the order for a message, which seldom has the words of the line that it needs: the place by all evidence and the
/// place by nearness count alike. Each line gets the score of its new place.
fn fused(lines: &[Line<'_>]) -> Vec<usize> {
    /// The larger, the less the first places count.
    const FLATNESS: f32 = 5.0;
    let mut shares = vec![0.0; lines.len()];
    let by_score = sorted(lines, |line| line.score);
    let by_nearness = sorted(lines, |line| line.nearness.unwrap_or(f32::MIN));
    for order in [by_score, by_nearness] {
        for (rank, place) in order.into_iter().enumerate() {
            shares[place] += 1.0 / (FLATNESS + rank as f32);
        }
    }
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|one, other| shares[*other].total_cmp(&shares[*one]));
    order
}

fn sorted(lines: &[Line<'_>], score: impl Fn(&Line<'_>) -> f32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|a, b| score(&lines[*b]).total_cmp(&score(&lines[*a])));
    order
}

/// Returns the weight of a word that this many of all lines have.
fn rarity(all: usize, with: usize) -> f32 {
    let (all, with) = (all as f32, with as f32);
    (1.0 + (all - with + 0.5).max(0.5) / (with + 0.5)).ln()
}

/// Returns the cosine of two vectors, eight components at a time, which the compiler turns into vector instructions.
fn dot(one: &Vector, other: &Vector) -> f32 {
    let pairs = one.0.as_chunks::<8>().0.iter().zip(other.0.as_chunks::<8>().0);
    let eight = pairs.fold([0.0f32; 8], |mut sum, (one, other)| {
        sum.iter_mut().zip(one.iter().zip(other)).for_each(|(sum, (one, other))| *sum += one * other);
        sum
    });
    eight.into_iter().sum()
}
