//! Values and their kinds: dates, times, amounts, addresses. Two of one kind are equal, different or not comparable.

use std::ops::Range;

use super::lexicon::Meaning;
use super::statement::Meanings;
use super::token::Token;
use crate::base::words::{self, Table};

/// One value in a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Value {
    pub(super) fn places(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// The kind of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Date(Date),
    Weekday(u8),
    Time(Clock),
    /// How often, as the seconds in between.
    Every(u32),
    Number(Number),
    /// A phone number, its digits only.
    Phone(String),
    /// Compared as it is: an IP address, e-mail address, link or path, with its class.
    Address(&'static str, String),
}

/// A date of which not every part is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: Option<u16>,
    pub(super) month: Option<u8>,
    pub(super) day: Option<u8>,
}

/// A time of day in minutes, and whether it says which half of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    minutes: u16,
    sure: bool,
}

/// A number with what it counts or labels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    value: f64,
    /// As it is written, so that version 3.10 is not 3.1.
    text: String,
    /// The dimension of its unit; the value is in its base unit.
    dimension: Option<&'static str>,
    /// The words after it: the things that it counts.
    pub(super) nouns: Vec<String>,
    /// The word before it: `rack 4`, `Debian 12`.
    pub(super) label: Option<String>,
}

/// How two values relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Same,
    Different,
    NotComparable,
}

impl Kind {
    /// Compares two values.
    pub(super) fn relation(&self, other: &Kind) -> Relation {
        let of = |same: bool| if same { Relation::Same } else { Relation::Different };
        match (self, other) {
            (Kind::Date(one), Kind::Date(other)) => one.relation(*other),
            (Kind::Weekday(one), Kind::Weekday(other)) => of(one == other),
            (Kind::Every(one), Kind::Every(other)) => of(one == other),
            (Kind::Time(one), Kind::Time(other)) => of(one.is_same(*other)),
            (Kind::Number(one), Kind::Number(other)) => one.relation(other),
            (Kind::Phone(one), Kind::Phone(other)) => of(one.ends_with(other.trim_start_matches('0'))),
            (Kind::Address(class, one), Kind::Address(other_class, other)) if class == other_class => {
                of(one == other)
            }
            // `10.0.0.1` and `http://10.0.0.2/admin`
            (Kind::Address("link", link), Kind::Address(class, host))
            | (Kind::Address(class, host), Kind::Address("link", link))
                if address_class(host_of(link)) == Some(class) =>
            {
                of(host_of(link) == host_of(host))
            }
            _ => Relation::NotComparable,
        }
    }

    /// Tells whether a value is a number without a word that tells what it counts.
    pub(super) fn is_bare(&self) -> bool {
        let is_bare =
            |number: &Number| number.dimension.is_none() && number.nouns.is_empty() && number.label.is_none();
        matches!(self, Kind::Number(number) if is_bare(number))
    }

    /// Returns the attributes that a unit can measure.
    pub(super) fn measures(&self) -> &'static [&'static str] {
        let Kind::Number(Number { dimension: Some(dimension), .. }) = self else { return &[] };
        match *dimension {
            "temperature" | "temperature-f" => &["temperature"],
            "mass" => &["weight"],
            "speed" => &["speed"],
            "power" => &["power"],
            "length" => &["height", "width", "length", "depth", "distance", "diameter", "size"],
            "area" => &["size"],
            "time" => &["duration", "timeout", "interval", "retention"],
            "data" => &["storage", "ram", "size"],
            money if money.starts_with("money") => &["cost", "salary", "budget"],
            _ => &[],
        }
    }

    /// Tells whether a value of this kind says by itself what it is: nothing else looks like it.
    pub(super) fn is_telling(&self) -> bool {
        match self {
            Kind::Address(class, _) => *class != "ratio",
            other => matches!(other, Kind::Phone(_)),
        }
    }
}

impl Date {
    fn relation(self, other: Date) -> Relation {
        let differ = |one: Option<u16>, other: Option<u16>| one.zip(other).map(|(one, other)| one != other);
        let wide = |part: Option<u8>| part.map(u16::from);
        let parts = [
            differ(self.year, other.year),
            differ(wide(self.month), wide(other.month)),
            differ(wide(self.day), wide(other.day)),
        ];
        if parts.iter().all(Option::is_none) {
            Relation::NotComparable
        } else if parts.contains(&Some(true)) {
            Relation::Different
        } else {
            Relation::Same
        }
    }
}

impl Clock {
    fn is_same(self, other: Clock) -> bool {
        const HALF_DAY: u16 = 12 * 60;
        if self.sure && other.sure {
            return self.minutes == other.minutes;
        }
        self.minutes % HALF_DAY == other.minutes % HALF_DAY
    }
}

impl Number {
    /// Tells whether nothing says what it counts.
    pub(super) fn is_plain(&self) -> bool {
        self.dimension.is_none() && self.nouns.is_empty()
    }

    pub(super) fn is_duration(&self) -> bool {
        self.dimension == Some("time")
    }

    /// Compares two numbers without the words around them.
    pub(super) fn bare_relation(&self, other: &Number) -> Relation {
        let bare = |number: &Number| Number { label: None, nouns: Vec::new(), ..number.clone() };
        bare(self).relation(&bare(other))
    }

    fn relation(&self, other: &Number) -> Relation {
        let comparable = match (self.dimension, other.dimension) {
            (Some(one), Some(other_dimension)) => {
                let apart = |nouns: &[String], others: &[String]| {
                    !nouns.is_empty() && !others.is_empty() && !nouns.iter().any(|noun| others.contains(noun))
                };
                one == other_dimension && !apart(&self.nouns, &other.nouns)
            }
            (None, None) => {
                // `apple trees` are not `pear trees`.
                let covers = |nouns: &[String], others: &[String]| {
                    !nouns.is_empty() && nouns.iter().all(|noun| others.contains(noun))
                };
                let counts = covers(&self.nouns, &other.nouns) || covers(&other.nouns, &self.nouns);
                let is_attribute = |label: &str| label.starts_with('@');
                let labels = match (&self.label, &other.label) {
                    (Some(one), Some(other)) => one == other || is_attribute(one) && is_attribute(other),
                    (Some(one), None) | (None, Some(one)) => is_attribute(one),
                    (None, None) => self.nouns.is_empty() && other.nouns.is_empty(),
                };
                counts || labels
            }
            _ => false,
        };
        if !comparable {
            return Relation::NotComparable;
        }
        let labelled = self.label.is_some() && self.dimension.is_none();
        let same = (self.value - other.value).abs() < 1e-9 * self.value.abs().max(1.0);
        if same && !(labelled && self.text.contains('.') && self.text != other.text) {
            Relation::Same
        } else {
            Relation::Different
        }
    }
}

static UNITS: Table = words::UNITS.table("units");

/// Returns the dimension of a unit and its size in the base unit.
fn unit(lower: &str) -> Option<(&'static str, f64)> {
    let (name, _) = UNITS.iter().find(|(_, spellings)| spellings.split(", ").any(|known| known == lower))?;
    let (dimension, size) = name.split_once(' ').expect("a unit has a dimension and a size");
    Some((dimension, size.parse().expect("the size of a unit")))
}

pub(super) fn is_unit(lower: &str) -> bool {
    unit(lower).is_some()
}

/// Finds the values in a row of tokens. `meanings` has the meanings that begin at each token.
pub(super) fn values(tokens: &[Token], meanings: &Meanings) -> Vec<Value> {
    let reader = Reader { tokens, meanings };
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match reader.value(at) {
            Some((kind, end)) => {
                found.push(Value { kind, start: at, end });
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

struct Reader<'a> {
    tokens: &'a [Token],
    meanings: &'a Meanings,
}

impl Reader<'_> {
    fn value(&self, at: usize) -> Option<(Kind, usize)> {
        None.or_else(|| self.address(at))
            .or_else(|| self.phone(at))
            .or_else(|| self.date(at))
            .or_else(|| self.time(at))
            .or_else(|| self.frequency(at))
            .or_else(|| self.number(at))
    }

    fn frequency(&self, at: usize) -> Option<(Kind, usize)> {
        // `every three months`
        if matches!(self.text(at), "every" | "alle" | "cada")
            && let Some((Kind::Number(number), end)) =
                self.tokens.get(at + 1).and_then(|_| self.number(at + 1))
            && number.dimension == Some("time")
        {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole seconds")]
            return Some((Kind::Every(number.value as u32), end));
        }
        let seconds = self.meaning(at, |meaning| match meaning {
            Meaning::Every(seconds) => Some(seconds),
            _ => None,
        })?;
        Some((Kind::Every(seconds), self.end_of(at, |meaning| matches!(meaning, Meaning::Every(_)))))
    }

    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    fn meaning<T>(&self, at: usize, read: impl Fn(Meaning) -> Option<T>) -> Option<T> {
        self.meanings.get(at).iter().filter(|found| !found.hidden).find_map(|found| read(found.meaning))
    }

    fn is(&self, at: usize, meaning: Meaning) -> bool {
        self.meanings.get(at).iter().any(|found| found.meaning == meaning)
    }

    fn address(&self, at: usize) -> Option<(Kind, usize)> {
        let token = &self.tokens[at];
        let text = token.lower.as_str();
        let class = address_class(text)?;
        Some((Kind::Address(class, text.trim_end_matches('/').to_owned()), at + 1))
    }

    fn phone(&self, at: usize) -> Option<(Kind, usize)> {
        let first = self.text(at);
        let is_group = |text: &str| {
            text.bytes().any(|byte| byte.is_ascii_digit())
                && text.bytes().all(|byte| byte.is_ascii_digit() || b"-/+".contains(&byte))
        };
        let starts = first.starts_with(['+', '0']) || first.contains('-') && first.len() > 7;
        if !is_group(first) || !starts || iso_date(first).is_some() {
            return None;
        }
        let mut end = at + 1;
        while self.tokens[end - 1].stop == ' ' && is_group(self.text(end)) {
            end += 1;
        }
        let groups = self.tokens[at..end].iter().flat_map(|token| token.text.chars());
        let digits: String = groups.filter(char::is_ascii_digit).collect();
        (digits.len() >= 7).then_some((Kind::Phone(digits), end))
    }

    fn date(&self, at: usize) -> Option<(Kind, usize)> {
        if let Some(date) = iso_date(self.text(at)) {
            return Some((Kind::Date(date), at + 1));
        }
        if let Some(day) = self.meaning(at, |meaning| match meaning {
            Meaning::Weekday(day) => Some(day),
            _ => None,
        }) {
            return Some((
                Kind::Weekday(day),
                self.end_of(at, |meaning| matches!(meaning, Meaning::Weekday(_))),
            ));
        }
        let mut date = Date::default();
        let mut end = at;
        if let Some(day) = self.day(at) {
            let is_month_sign = self.text(at + 1) == "月";
            if is_month_sign {
                date.month = Some(day).filter(|month| *month <= 12);
                date.day = self.day(at + 2);
                end = at
                    + 2
                    + usize::from(date.day.is_some())
                    + usize::from(matches!(self.text(at + 3), "日" | "号"));
                return date.month.map(|_| (Kind::Date(date), end));
            }
            let gap = usize::from(self.is(at + 1, Meaning::Genitive));
            if let Some(month) = self.month(at + 1 + gap) {
                date.day = Some(day);
                date.month = Some(month);
                end = at + 2 + gap;
            }
        } else if let Some(month) = self.month(at) {
            date.month = Some(month);
            end = at + 1;
            let after = end + usize::from(self.text(end) == "the");
            if let Some(day) = self.day(after) {
                date.day = Some(day);
                end = after + 1;
            }
        }
        // `of` in `the spring of 2020` and `de` in `junio de 2025`.
        let gap = usize::from(end > at && self.is(end, Meaning::Genitive));
        if let Some(year) = self.year(end + gap, end > at) {
            date.year = Some(year);
            end += gap + 1;
        }
        (end > at).then_some((Kind::Date(date), end))
    }

    fn day(&self, at: usize) -> Option<u8> {
        self.text(at).parse().ok().filter(|day| (1..=31).contains(day))
    }

    /// `may` is a month only where it is written with a capital or beside a number.
    fn month(&self, at: usize) -> Option<u8> {
        let token = self.tokens.get(at)?;
        let month = self.meaning(at, |meaning| match meaning {
            Meaning::Month(month) => Some(month),
            _ => None,
        })?;
        let beside = self.day(at + 1).is_some() || at > 0 && self.day(at - 1).is_some();
        let ambiguous = matches!(token.lower.as_str(), "may" | "march" | "mar" | "sun" | "sat");
        (!ambiguous || beside || token.capital && !token.opens).then_some(month)
    }

    fn year(&self, at: usize, after_month: bool) -> Option<u16> {
        let text = self.text(at);
        let year = text.parse().ok().filter(|year| text.len() == 4 && (1900..2100).contains(year))?;
        let after = |meaning: Meaning| at > 0 && self.is(at - 1, meaning);
        let counts = self.noun(at + 1).is_some() && self.tokens[at].stop == ' ';
        let placed = after(Meaning::Preposition)
            || after(Meaning::Auxiliary)
            || at == 0
            || self.tokens[at - 1].stop == ':';
        let named = at > 0 && self.tokens[at - 1].capital && self.tokens[at - 1].stop == ' ';
        (after_month || (placed || after(Meaning::Genitive)) && !counts || named).then_some(year)
    }

    fn time(&self, at: usize) -> Option<(Kind, usize)> {
        const NOON: u16 = 12 * 60;
        if self.is(at, Meaning::Noon) {
            return Some((Kind::Time(Clock { minutes: NOON, sure: true }), at + 1));
        }
        if self.is(at, Meaning::Midnight) {
            return Some((Kind::Time(Clock { minutes: 0, sure: true }), at + 1));
        }
        let text = self.text(at);
        let (hours, minutes) = text.split_once([':', '.']).unwrap_or((text, "0"));
        let hour: u16 = hours.parse().ok().filter(|hour| *hour <= 24)?;
        let minute: u16 = minutes.parse().ok().filter(|minute| *minute < 60)?;
        let half = |at: usize| match () {
            () if self.is(at, Meaning::Am) => Some(0),
            () if self.is(at, Meaning::Pm) => Some(NOON),
            () => None,
        };
        let hour_sign = matches!(
            self.tokens.get(at + 1).map(|next| next.lower.as_str()),
            Some("uhr" | "h" | "点" | "o'clock" | "oclock")
        );
        let before = at.checked_sub(1).and_then(half).filter(|_| hour_sign);
        let after = half(at + 1).or_else(|| hour_sign.then(|| half(at + 2)).flatten());
        let colon = text.contains(':') && minutes.len() == 2;
        let bare_hour = !text.contains('.')
            && at > 0
            && matches!(self.tokens[at - 1].lower.as_str(), "at" | "um" | "las")
            && (self.tokens[at].stop != ' '
                || self.noun(at + 1).is_none() && !is_unit(&self.text(at + 1).to_lowercase()));
        if !(colon || hour_sign || before.or(after).is_some() || bare_hour) {
            return None;
        }
        let half_day = before.or(after).filter(|_| hour <= 12);
        let minutes = (hour % if half_day.is_some() { 12 } else { 25 }) * 60 + minute + half_day.unwrap_or(0);
        let mut end = at + 1 + usize::from(hour_sign);
        if after.is_some() {
            end = self.end_of(end, |meaning| matches!(meaning, Meaning::Am | Meaning::Pm));
        }
        let sure = half_day.is_some() || hour > 12 || hour == 0 || hours.starts_with('0');
        Some((Kind::Time(Clock { minutes, sure }), end))
    }

    fn number(&self, at: usize) -> Option<(Kind, usize)> {
        let text = self.text(at);
        let word = || {
            self.meaning(at, |meaning| match meaning {
                Meaning::Number(number) => Some(number),
                _ => None,
            })
        };
        let in_phrase =
            self.meanings.get(at).iter().any(|found| {
                matches!(found.meaning, Meaning::Attribute(..)) && !found.gap && found.end > at + 1
            });
        let mut value = match parse(text) {
            None if in_phrase => return None,
            Some(value) => value,
            None if text.len() > 1 || text.starts_with(super::lexicon::is_han) => word()?,
            None => return None,
        };
        let mut end = at + 1;
        if text.ends_with(['k', 'K']) {
            value *= 1000.0;
        }
        // `1 050 €`
        let is_group = |at: usize| self.text(at).len() == 3 && is_digits(self.text(at));
        while (1..=3).contains(&text.len())
            && is_digits(text)
            && self.tokens[end - 1].stop == ' '
            && is_group(end)
            && (is_group(end + 1) || self.tokens.get(end + 1).is_some_and(|next| is_unit(&next.lower)))
            && let Some(group) = parse(self.text(end))
        {
            value = value * 1000.0 + group;
            end += 1;
        }
        // `18 thousand`
        if let Some(times) = self.meaning(end, |meaning| match meaning {
            Meaning::Number(number) if number >= 1000.0 => Some(number),
            _ => None,
        }) {
            value *= times;
            end += 1;
        }
        let follows = self.tokens[end - 1].stop == ' ';
        let next = self.tokens.get(end).filter(|_| follows);
        let mut number =
            Number { value, text: text.to_owned(), dimension: None, nouns: Vec::new(), label: None };
        // `14 in the app`: as a word of its own, `in` is a unit only at the end.
        let is_measure = |next: &&Token| {
            next.lower != "in" || next.joined || next.stop != ' ' || self.tokens.len() == end + 1
        };
        if let Some((dimension, size)) = next.filter(is_measure).and_then(|next| unit(&next.lower)) {
            number.dimension = Some(dimension);
            number.value *= size;
            let of = end + 1 + usize::from(self.is(end + 1, Meaning::Genitive));
            if of > end + 1 {
                number.nouns = (of..of + 2).map_while(|at| self.noun(at)).collect();
            }
            return Some((Kind::Number(number), end + 1));
        }
        if let Some(before) = at.checked_sub(1).filter(|before| self.tokens[*before].stop == ' ') {
            let attribute = self.meaning(before, |meaning| match meaning {
                Meaning::Attribute(name, _) => Some(format!("@{name}")),
                _ => None,
            });
            number.label = attribute.filter(|_| self.noun(before).is_some()).or_else(|| self.noun(before));
            // `in run 12`
            let is_noun = before > 0
                && self.is(before, Meaning::Verb)
                && (self.is(before - 1, Meaning::Preposition) || self.is(before - 1, Meaning::Genitive));
            if is_noun {
                number.label = Some(self.tokens[before].stem.clone());
            }
        }
        let value_end = end;
        // `12k of the budget` counts a part of it.
        let end = end + usize::from(follows && self.is(end, Meaning::Genitive));
        let end = end + usize::from(end > at + 1 && self.text(end) == "the");
        if follows {
            number.nouns = (end..end + 2).map_while(|at| self.noun(at)).collect();
        }
        Some((Kind::Number(number), value_end))
    }

    /// Returns the stem of a token that is a word with content.
    fn noun(&self, at: usize) -> Option<String> {
        let token = self.tokens.get(at)?;
        let is_word = token.text.starts_with(char::is_alphabetic);
        let empty = self.meanings.get(at).iter().any(|found| {
            matches!(
                found.meaning,
                Meaning::Filler
                    | Meaning::Speaker
                    | Meaning::Auxiliary
                    | Meaning::Verb
                    | Meaning::Preposition
                    | Meaning::Genitive
                    | Meaning::Cue(_)
                    | Meaning::Month(_)
                    | Meaning::Weekday(_)
            ) && !matches!(found.meaning, Meaning::Cue(super::lexicon::Cue::Many))
        });
        let contrast = self.meaning(at, |meaning| match meaning {
            Meaning::Contrast(class, member) => Some(format!("{class} #{member}")),
            _ => None,
        });
        (is_word && !empty).then(|| contrast.unwrap_or_else(|| token.stem.clone()))
    }

    fn end_of(&self, at: usize, wanted: impl Fn(Meaning) -> bool) -> usize {
        let found = self.meanings.get(at).iter().find(|found| !found.hidden && wanted(found.meaning));
        found.map_or(at + 1, |found| found.end)
    }
}

/// Endings of file names, which are no domains: `train.yaml`, `Node.js`.
const FILE_ENDINGS: [&str; 32] = [
    "cfg", "conf", "cpp", "css", "csv", "docx", "env", "go", "html", "ini", "java", "js", "json", "jsonl",
    "lock", "log", "md", "pdf", "png", "py", "rb", "rs", "sh", "sql", "toml", "ts", "tsx", "txt", "xlsx",
    "xml", "yaml", "yml",
];

/// Returns the class of an address in lower case.
fn address_class(text: &str) -> Option<&'static str> {
    let is_ip = text.split(':').next().is_some_and(|host| {
        host.split('.').count() == 4 && host.split('.').all(|part| part.parse::<u8>().is_ok())
    });
    let domain = |text: &str| {
        let last = text.rsplit('.').next().unwrap_or_default();
        text.contains('.')
            && !FILE_ENDINGS.contains(&last)
            && (2..=8).contains(&last.len())
            && last.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    Some(if is_ip {
        "ip"
    } else if text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && domain(host)) {
        "email"
    } else if text.contains("://") || text.starts_with("www.") {
        "link"
    } else if text.starts_with(['/', '~']) && text.len() > 1 {
        "path"
    } else if domain(text) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte)) {
        "host"
    } else if text.split_once('/').is_some_and(|(one, other)| is_digits(one) && is_digits(other)) {
        "ratio"
    } else {
        return None;
    })
}

/// Returns the host of a link or address, without scheme, port and path.
fn host_of(link: &str) -> &str {
    let rest = link.split_once("://").map_or(link, |(_, rest)| rest);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    rest.split(['/', ':']).next().unwrap_or(rest)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads `1,000`, `2.5`, `3,5`, `18.000,50` and `2.8.1`; the last by its parts, since only equality counts.
fn parse(text: &str) -> Option<f64> {
    if let Some(positive) = text.strip_prefix(['-', '−']) {
        return parse(positive).map(|value| -value);
    }
    let text = text.strip_suffix(['k', 'K']).unwrap_or(text);
    // `3e-4`
    if text.starts_with(|c: char| c.is_ascii_digit())
        && text.contains(['e', 'E'])
        && text.bytes().all(|byte| byte.is_ascii_digit() || b".-+eE".contains(&byte))
    {
        return text.parse().ok();
    }
    if !text.starts_with(|c: char| c.is_ascii_digit())
        || !text.bytes().all(|b| b.is_ascii_digit() || b",.".contains(&b))
    {
        return None;
    }
    let groups = |separator: char| {
        let mut parts = text.split(separator).skip(1).peekable();
        parts.peek().is_some() && parts.all(|part| part.len() == 3)
    };
    if text.contains(',') && groups(',') && !text.contains('.') {
        return text.replace(',', "").parse().ok();
    }
    if text.matches('.').count() > 1 {
        let parts = text.split('.').map(|part| part.parse::<f64>().unwrap_or(0.0));
        return Some(parts.fold(0.0, |sum, part| sum * 1000.0 + part));
    }
    text.replace(',', ".").parse().ok()
}

/// Reads `2025-03-28` and `28.03.2025`.
fn iso_date(text: &str) -> Option<Date> {
    let parts: Vec<&str> = text.split(['-', '.', '/']).collect();
    let [first, month, last] = parts[..] else { return None };
    let (year, day) = if first.len() == 4 { (first, last) } else { (last, first) };
    let month = month.parse().ok().filter(|month| (1..=12).contains(month))?;
    let day = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let year = (year.len() == 4).then(|| year.parse().ok()).flatten()?;
    Some(Date { year: Some(year), month: Some(month), day: Some(day) })
}
