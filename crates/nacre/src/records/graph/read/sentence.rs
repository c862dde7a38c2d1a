//! Sentences that make one statement about a named entity: `X runs on Y`, `X's Y is Z`, `X is the Y of Z`.
//!
//! A sentence is read from its first word: a name, an optional `now`, a verb of the table, and its object.
//! Negations, suppositions, questions and the distant past yield nothing; of a change, only the new state is
//! read. In a section about an entity, its name may be omitted: `Owner of Acme.`, `His wife is Dora.` The
//! words are in `words/english/graph-sentences.txt`.

use std::collections::HashSet;

use super::keys::is_hosting;
use super::words::{Name, Word, Words, bare, is_capital, is_possessive, name};
use super::{Claim, relation};
use crate::base::words::{self, List};
use crate::records::graph::guard;

/// The words of a verb or a phrase.
type Phrase = Vec<&'static str>;

/// The meaning of a verb.
struct Verb {
    words: Phrase,
    predicate: &'static str,
    /// The object is the agent: `is owned by`.
    swapped: bool,
    /// An object that is not a name is kept as a value with the predicate as key.
    literal: bool,
}

fn phrase(words: &'static str) -> Phrase {
    words.split(' ').collect()
}

fn phrases(row: &'static str) -> (Phrase, Phrase) {
    let (one, other) = words::pair(row);
    (phrase(one), phrase(other))
}

fn verb(row: &'static str) -> Verb {
    let (words, meaning) = words::pair(row);
    let (predicate, how) = meaning.split_once(' ').unwrap_or((meaning, ""));
    Verb { words: phrase(words), predicate, swapped: how == "swapped", literal: how == "literal" }
}

static VERBS: words::Section<Verb> = words::GRAPH_SENTENCES.rows("verbs", verb);
static NAMINGS: words::Section<Phrase> = words::GRAPH_SENTENCES.entries("namings", phrase);
static ADVERBS: List = words::GRAPH_SENTENCES.list("adverbs");
static DOUBTS: List = words::GRAPH_SENTENCES.list("doubts");
static ENDS: List = words::GRAPH_SENTENCES.list("clause ends");
static STARTERS: List = words::GRAPH_SENTENCES.list("starters");
static EMPTY_NOUNS: List = words::GRAPH_SENTENCES.list("empty nouns");
static PERSONS: List = words::GRAPH_SENTENCES.list("persons");
static PLAIN: List = words::GRAPH_SENTENCES.list("plain keys");
static TOGETHER: words::Section<(Phrase, Phrase)> = words::GRAPH_SENTENCES.rows("together", phrases);
static CONTACTS: List = words::GRAPH_SENTENCES.list("contacts");
static ROLES: List = words::GRAPH_SENTENCES.list("roles");

/// Verbs for a move, before `to`, or before `from` and `to`.
const MOVES: &[&str] = &["moved", "migrated", "switched", "relocated"];
/// Homes: the person one rents them from is the landlord.
const HOMES: &[&str] = &["apartment", "flat", "home", "house", "place", "room", "studio"];

/// The section that contains a sentence.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) about: Option<&'a str>,
    /// Whether its subject is a living being, if that is known.
    pub(super) living: Option<bool>,
    /// Whether the previous sentence was about it too, so that a pronoun refers to it.
    pub(super) follows: bool,
    /// Whether it is about people.
    pub(super) person: bool,
    /// Lower-case words that are names here.
    pub(super) known: &'a HashSet<String>,
}

/// Tells whether a sentence continues the section's subject.
pub(super) fn goes_on(sentence: &str, section: Section<'_>) -> bool {
    let Some(about) = section.about else { return false };
    let first = first_of(sentence);
    let own = about.split(' ').next().unwrap_or(about);
    section.follows && matches!(first, "He" | "Her" | "His" | "It" | "Its" | "She")
        || bare(first) == own
        || leaves_out(first)
}

/// Tells whether a sentence omits its subject.
pub(super) fn is_left_out(sentence: &str) -> bool {
    let first = first_of(sentence);
    is_possessive(first) || leaves_out(first)
}

fn first_of(sentence: &str) -> &str {
    let start = sentence.trim_start().trim_start_matches(['*', '_', '`']);
    let end = start.find(char::is_whitespace).unwrap_or(start.len());
    start[..end].trim_end_matches(|c: char| !c.is_alphanumeric())
}

/// Tells whether a first word implies an omitted subject: `Owns`, `Based`, `Owner`, `Mobile`.
fn leaves_out(first: &str) -> bool {
    if !first.starts_with(char::is_uppercase) {
        return false;
    }
    let lower = first.to_lowercase();
    let lower = lower.as_str();
    VERBS.iter().any(|verb| match verb.words.as_slice() {
        ["is", next, ..] => *next == lower && next.len() > 2,
        ["was", ..] => false,
        [next, ..] => *next == lower && lower.ends_with('s'),
        [] => false,
    }) || CONTACTS.has(lower)
        || is_role(lower)
}

/// Tells whether a predicate connects people: `mother_of`, `mentor_of`.
pub(super) fn is_between_people(predicate: &str) -> bool {
    predicate.strip_suffix("_of").is_some_and(|noun| PERSONS.has(noun))
}

fn is_role(noun: &str) -> bool {
    PERSONS.has(noun) || ROLES.has(noun)
}

/// Reads the claims of one sentence.
pub(super) fn read(sentence: &str, section: Section<'_>, mut say: impl FnMut(Claim)) {
    let about = section.about;
    let Some(mut words) = Words::of(sentence) else { return };
    words.know(|word| about == Some(word) || section.known.contains(word));
    words.mark_apposed(|noun| guard::class_of(noun).is_some());
    let words = words.all();
    also_known(words, &mut say);
    // `The Keystone API`: the article is not part of the name.
    let words = match words {
        [article, next, ..] if article.text == "The" && is_capital(next.text) => &words[1..],
        all => all,
    };
    let Some(first) = words.first() else { return };
    if let Some(key) = words.iter().position(|word| word.text == "changed").filter(|at| *at > 0)
        && let Some(owner) = about
        && first.text.len() > 1
        && key <= 3
        && !words[0].code
        && name(words, 4, false).is_none_or(|name| name.words == key && !name.possessive)
    {
        // `Port changed from 3000 to 4100`, under the heading of its subject.
        if is_doubted(words) {
            return;
        }
        changed(owner, &words[..key], &words[key + 1..], &mut say);
        return;
    }
    if first.open {
        return;
    }
    if let Some(owner) = about
        && !is_doubted(words)
        && left_out(owner, words, section, &mut say)
    {
        return;
    }
    if together(words, section.person, &mut say) || STARTERS.has(first.text) {
        return;
    }
    let Some(subject) = name(words, 4, true).filter(|_| !is_doubted(words)) else { return };
    let rest = &words[subject.words..];
    if subject.possessive {
        possession(&subject, rest, &mut say);
    } else if words[subject.words - 1].stop == '\0' {
        verbs(&subject, rest, section.person, &mut say);
    }
}

/// Reads sentences whose subject is that of the section, as a pronoun or omitted.
fn left_out(owner: &str, words: &[Word<'_>], section: Section<'_>, say: &mut impl FnMut(Claim)) -> bool {
    let first = words[0];
    let thing = section.living == Some(false);
    let subject = Name { text: owner.to_owned(), words: 0, possessive: false, thing };
    let meant = section.follows
        && match first.text {
            "He" | "Her" | "His" | "She" => section.living != Some(false),
            "It" | "Its" => section.living != Some(true),
            _ => false,
        };
    match first.text {
        "He" | "It" | "She" if meant => {
            verbs(&subject, &words[1..], section.person, say);
            return true;
        }
        "Her" | "His" | "Its" if meant => {
            possession(&subject, &words[1..], say);
            return true;
        }
        _ => {}
    }
    // `Isla's godmother.`
    if let Some(whose) = name(words, 3, false).filter(|whose| whose.possessive && whose.text != owner)
        && let Some(noun) = words.get(whose.words)
        && PERSONS.has(noun.text)
        && (noun.stop != '\0' || words.len() == whose.words + 1)
    {
        say(relation(owner, &format!("{}_of", noun.text), &whose.text));
        return true;
    }
    if first.code || !leaves_out(first.text) {
        return false;
    }
    let lower = first.text.to_lowercase();
    let mut spoken: Vec<Word<'_>> = Vec::with_capacity(words.len() + 1);
    spoken.push(Word { text: "is", ..Word::default() });
    spoken.push(Word { text: &lower, ..first });
    spoken.extend_from_slice(&words[1..]);
    if CONTACTS.has(&lower) {
        contacts(owner, &spoken[1..], say);
    } else if is_role(&lower) {
        role(&subject, &spoken[1..], say);
    } else if VERBS.iter().any(|verb| begins(&spoken, &verb.words)) {
        verbs(&subject, &spoken, section.person, say);
    } else {
        verbs(&subject, &spoken[1..], section.person, say);
    }
    true
}

/// `Anna and Ben report to Cleo`, `Two helpers, Anna and Ben, report to Cleo`.
fn together(words: &[Word<'_>], person: bool, say: &mut impl FnMut(Claim)) -> bool {
    let Some((at, (several, verb))) = (3..words.len()).find_map(|at| {
        let found = TOGETHER.iter().find(|(several, _)| begins(&words[at..], several))?;
        Some((at, found))
    }) else {
        return false;
    };
    // The names before the verb: all of them, or those between commas.
    let comma = words[..at - 1].iter().take(5).position(|word| word.stop == ',');
    let between = comma.filter(|_| words[at - 1].stop == ',').map(|comma| comma + 1);
    let who = [Some(0), between].into_iter().flatten().find_map(|from| {
        let first = words.get(from)?;
        let one = name(&words[from..at], 3, false)?;
        let and = words[from + one.words..at].first().filter(|word| word.text == "and")?;
        let other = name(&words[from + one.words + 1..at], 3, false)?;
        let whole = from + one.words + 1 + other.words == at && and.stop == '\0';
        let named = !one.possessive && !other.possessive;
        (whole && named && !STARTERS.has(first.text)).then_some([one, other])
    });
    let Some(who) = who.filter(|_| !is_doubted(words)) else { return false };
    let mut rest: Vec<Word<'_>> = verb.iter().map(|text| Word { text, ..Word::default() }).collect();
    rest.extend_from_slice(&words[at + several.len()..]);
    for subject in &who {
        verbs(subject, &rest, person, say);
    }
    true
}

/// `Mobile 555 0231, e-mail anna@acme.example`
fn contacts(owner: &str, words: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    for at in 0..words.len() {
        let starts = at == 0 || words[at - 1].stop == ',';
        if !starts || !CONTACTS.has(words[at].text) {
            continue;
        }
        let after = &words[at + 1..];
        let number = |word: &&Word<'_>| {
            word.text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'(' | b')'))
        };
        let stop = after.iter().position(|word| word.stop != '\0').map_or(after.len(), |at| at + 1);
        let count = after[..stop].iter().take_while(number).count();
        let digits =
            || after[..count].iter().flat_map(|word| word.text.bytes()).filter(u8::is_ascii_digit).count();
        let value = match after.first() {
            Some(address) if address.text.contains('@') => address.text.to_owned(),
            _ if count > 0 && digits() >= 4 => joined_by(&after[..count], ' '),
            _ => continue,
        };
        say(super::fact(owner, words[at].text, &value));
    }
}

fn is_doubted(words: &[Word<'_>]) -> bool {
    words.iter().any(|word| DOUBTS.has(word.text) || word.text.ends_with("n’t"))
}

/// Tells whether a sentence contains a word that some pattern needs, and starts with a possible name or, in a
/// section with a subject, with a word that omits it. Most sentences do not.
pub(super) fn may_say(sentence: &str, section: Section<'_>) -> bool {
    may_begin(sentence.trim_start(), section.known) && has_cue(sentence)
        || sentence.contains("changed ")
        || sentence.contains(" and ") && TOGETHER.iter().any(|(several, _)| is_in(sentence, several[0]))
        || sentence.contains('(')
            && ["(aka", "(AKA", "(a.k.a", "(also "].iter().any(|cue| sentence.contains(cue))
        || section.about.is_some() && (goes_on(sentence, section) || is_possessive(first_of(sentence)))
}

/// Tells whether a sentence contains a word with spaces around it.
fn is_in(sentence: &str, word: &str) -> bool {
    sentence
        .match_indices(word)
        .any(|(at, _)| sentence[..at].ends_with(' ') && sentence[at + word.len()..].starts_with(' '))
}

/// Tells whether a first word may start a name.
fn may_begin(sentence: &str, known: &HashSet<String>) -> bool {
    let end = sentence.find(' ').unwrap_or(sentence.len());
    let first = &sentence[..end];
    let Some(initial) = first.bytes().next() else { return false };
    match initial {
        b'a'..=b'z' => first.bytes().any(|byte| !byte.is_ascii_lowercase()) || known.contains(first),
        b'A'..=b'Z' => first == "The" || !STARTERS.has(first),
        _ => true,
    }
}

static CUES: List = words::GRAPH_SENTENCES.list("cues");

fn has_cue(sentence: &str) -> bool {
    // A relative of a named person may precede any verb: `Anna's brother Ben came.`
    let whose = |word: &str| PERSONS.has(word);
    let mut owned = false;
    sentence.split([' ', '(']).any(|word| {
        let after = std::mem::replace(&mut owned, is_possessive(word));
        match word.as_bytes().first() {
            Some(b'a'..=b'w') => CUES.has(word) || after && whose(word),
            _ => false,
        }
    })
}

/// Reads `X (aka Y)` and `X (also known as Y)` anywhere in a sentence.
fn also_known(words: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    let Some(at) =
        words.iter().position(|word| word.open && matches!(word.text, "AKA" | "a.k.a" | "aka" | "also"))
    else {
        return;
    };
    let skip = match words[at].text {
        "also" if words.get(at + 1).is_some_and(|word| word.text == "known") => 3,
        "also" if words.get(at + 1).is_some_and(|word| word.text == "called") => 2,
        "also" => return,
        _ => 1,
    };
    // The name before it: the longest run of up to four words that ends there.
    let before = (at.saturating_sub(4)..at).find_map(|from| {
        let name = name(&words[from..at], 4, true)?;
        let starts = from == 0 && STARTERS.has(words[from].text);
        (name.words == at - from && !name.possessive && !starts).then_some(name)
    });
    let after = words.get(at + skip..).and_then(|rest| name(rest, 4, true));
    if let (Some(before), Some(after)) = (before, after)
        && words[at + skip + after.words - 1].stop == ')'
    {
        say(Claim::Alias { alias: after.text, entity: before.text });
    }
}

/// `X's Y is Z`, `X's Y is now Z`, `X's Y changed from A to Z`.
fn possession(owner: &Name, rest: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    // `Anna's brother Ben came.`
    if let [noun, after @ ..] = rest
        && PERSONS.has(noun.text)
        && noun.stop == '\0'
        && let Some(person) = name(after, 3, false).filter(|person| !person.possessive && !person.thing)
    {
        return say(relation(&person.text, &format!("{}_of", noun.text), &owner.text));
    }
    let Some(at) = rest.iter().take(4).position(|word| matches!(word.text, "is" | "changed" | "moved"))
    else {
        return;
    };
    let key = &rest[..at];
    let plain = |word: &Word<'_>| {
        word.stop == '\0'
            && !word.open
            && (word.code || word.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
    };
    if key.is_empty() || !key.iter().all(plain) {
        return;
    }
    if rest[at].text != "is" {
        return changed(&owner.text, key, &rest[at + 1..], say);
    }
    let mut words = &rest[at + 1..];
    while words.first().is_some_and(|word| ADVERBS.has(word.text)) {
        words = &words[1..];
    }
    let noun = key[key.len() - 1].text;
    let called = words.first().is_some_and(|word| matches!(word.text, "called" | "named"));
    if PERSONS.has(noun) {
        let words = if called { &words[1..] } else { words };
        if let Some(person) = name(words, 4, false)
            && is_end(words, person.words)
            && !person.possessive
        {
            say(relation(&person.text, &format!("{}_of", joined(key)), &owner.text));
        }
        return;
    }
    value(&owner.text, key, words, say);
}

/// `Y changed from A to Z`: Z.
fn changed(owner: &str, key: &[Word<'_>], rest: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    if let Some(to) = rest.iter().position(|word| word.text == "to") {
        value(owner, key, &rest[to + 1..], say);
    }
}

/// Adds a fact if its value is meaningful: a number, a name, an address, or a word if the key usually has
/// words.
fn value(owner: &str, key: &[Word<'_>], words: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    let end = words
        .iter()
        .position(|word| matches!(word.stop, ',' | ':' | ')' | '-' | '—' | '–'))
        .map_or(words.len(), |at| at + 1);
    let joins = |word: &&Word<'_>| {
        matches!(word.text, "because" | "but" | "since" | "so" | "when" | "which" | "while" | "after")
    };
    let words = &words[..words[..end].iter().position(|word| joins(&word)).unwrap_or(end)];
    let words = match words {
        [article, rest @ ..] if matches!(article.text, "a" | "an" | "the" | "at" | "on" | "in") => rest,
        all => all,
    };
    if words.is_empty() || words.len() > 8 {
        return;
    }
    let telling = |word: &Word<'_>| {
        word.code || word.text.contains(|c: char| c.is_numeric() || c.is_uppercase() || c == '@')
    };
    let usual = key.iter().any(|word| PLAIN.has(word.text));
    if !(words.iter().any(telling) || usual && words.len() <= 4) {
        return;
    }
    say(super::fact(owner, &joined(key), &joined_by(words, ' ')));
}

/// `X runs on Y` and the other verbs.
fn verbs(subject: &Name, rest: &[Word<'_>], person: bool, say: &mut impl FnMut(Claim)) {
    let mut rest = rest;
    if begins(rest, &["is", "the"]) || begins(rest, &["is", "a"]) {
        let known = VERBS.iter().any(|verb| begins(rest, &verb.words));
        if !known {
            return role(subject, &rest[2..], say);
        }
    }
    if let Some(naming) = NAMINGS.iter().find(|naming| begins(rest, naming)) {
        if let Some(other) = name(&rest[naming.len()..], 4, true)
            && is_end(&rest[naming.len()..], other.words)
        {
            say(Claim::Alias { alias: other.text, entity: subject.text.clone() });
        }
        return;
    }
    while rest.first().is_some_and(|word| ADVERBS.has(word.text) && word.stop == '\0') {
        rest = &rest[1..];
    }
    // `is now hosted on`
    if let [is, adverb, ..] = rest
        && is.text == "is"
        && ADVERBS.has(adverb.text)
    {
        let without: Vec<Word<'_>> = std::iter::once(*is).chain(rest[2..].iter().copied()).collect();
        return verbs(subject, &without, person, say);
    }
    if let [moved, direction, after @ ..] = rest
        && MOVES.contains(&moved.text)
    {
        let after = match direction.text {
            "to" => after,
            "from" => match after.iter().position(|word| word.text == "to") {
                Some(to) => &after[to + 1..],
                None => return,
            },
            _ => return,
        };
        for object in names(after, true) {
            // The sentence does not say what kind of thing moved: people move to a place, services to a host.
            let predicate = match (object.thing || moved.text == "migrated", person && !subject.thing) {
                (true, false) => "runs_on",
                (false, true) if moved.text != "switched" => "lives_in",
                _ if moved.text == "switched" => "uses",
                _ => "moved_to",
            };
            say(relation(&subject.text, predicate, &object.text));
        }
        return;
    }
    // `runs on nas-01 and needs Redis`
    if let Some(and) = rest.iter().position(|word| word.text == "and")
        && VERBS.iter().any(|verb| begins(&rest[and + 1..], &verb.words))
    {
        verbs(subject, &rest[..and], person, say);
        return verbs(subject, &rest[and + 1..], person, say);
    }
    if rest.first().is_some_and(|word| word.text == "rents") {
        return rents(subject, &rest[1..], say);
    }
    let Some(verb) = VERBS.iter().find(|verb| begins(rest, &verb.words)) else { return };
    // `Authentication uses Argon2`: an abstract noun does not identify an entity.
    if subject.words == 1 && !subject.thing && is_abstract(&subject.text) {
        return;
    }
    let after = &rest[verb.words.len()..];
    if matches!(verb.predicate, "runs_on" | "port") {
        let number = match after {
            [port, number, ..] if port.text == "port" => Some(number.text),
            [number, ..] if verb.predicate == "port" => Some(number.text),
            _ => None,
        };
        if let Some(number) = number.filter(|number| (1..=5).contains(&number.len()))
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return say(super::fact(&subject.text, "port", number));
        }
        if verb.predicate == "port" {
            return;
        }
    }
    // Ordinary words have hyphens too: `uses non-blocking calls`.
    let objects = names(after, matches!(verb.predicate, "depends_on" | "part_of" | "runs_on"));
    // Machines often have lower-case names: `Marlin runs on bittern.`
    if objects.is_empty()
        && is_hosting(verb.predicate)
        && let [machine, ..] = after
        && is_end(after, 1)
        && may_be_machine(machine)
    {
        return say(relation(&subject.text, verb.predicate, machine.text));
    }
    for object in &objects {
        let (from, to) = if verb.swapped { (object, subject) } else { (subject, object) };
        say(relation(&from.text, verb.predicate, &to.text));
    }
    if objects.is_empty() && verb.literal {
        let end = after.iter().position(|word| word.stop != '\0').map_or(after.len(), |at| at + 1);
        let end = after[..end].iter().position(|word| ENDS.has(word.text)).unwrap_or(end);
        let words = match &after[..end] {
            [article, rest @ ..] if verb.predicate == "job" && matches!(article.text, "a" | "an" | "the") => {
                rest
            }
            all => all,
        };
        if (1..=5).contains(&words.len()) && !words[0].open {
            say(super::fact(&subject.text, verb.predicate, &joined_by(words, ' ')));
        }
    }
}

/// Tells whether a word after `runs on` may be the name of a machine, not its power source.
fn may_be_machine(word: &Word<'_>) -> bool {
    static NO_MACHINES: List = words::GRAPH_SENTENCES.list("no machines");
    word.text.len() >= 3
        && !word.open
        && word.text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && !NO_MACHINES.has(word.text)
}

/// `X rents the house from Y`.
fn rents(subject: &Name, rest: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    let Some(from) = rest.iter().take(6).position(|word| word.text == "from") else { return };
    let home = rest[..from].iter().any(|word| HOMES.contains(&word.text));
    let owners = names(&rest[from + 1..], false);
    let [owner] = owners.as_slice() else { return };
    say(match home {
        true => relation(&owner.text, "landlord_of", &subject.text),
        false => relation(&subject.text, "rented_from", &owner.text),
    });
}

/// `X is the Y of Z`.
fn role(subject: &Name, rest: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    let Some(of) = rest.iter().take(4).position(|word| word.text == "of").filter(|of| *of > 0) else {
        return;
    };
    let (noun, after) = (&rest[..of], &rest[of + 1..]);
    let plain = |word: &Word<'_>| word.stop == '\0' && !word.open && !word.code;
    if !noun.iter().all(plain) || EMPTY_NOUNS.has(noun[of - 1].text) {
        return;
    }
    let after = match after {
        [article, rest @ ..] if article.text == "the" => rest,
        all => all,
    };
    if let Some(whole) = name(after, 4, true)
        && is_end(after, whole.words)
        && !whole.possessive
    {
        say(relation(&subject.text, &format!("{}_of", joined(noun)), &whole.text));
    }
}

/// Returns the objects of a verb: one name, or several joined by commas and `and`; none if anything else
/// occurs among them. With `hyphenated`, a word with a hyphen counts as a name.
fn names(words: &[Word<'_>], hyphenated: bool) -> Vec<Name> {
    let mut names = Vec::new();
    let mut at = 0;
    loop {
        if words.get(at).is_some_and(|word| matches!(word.text, "the" | "a" | "an" | "our" | "both")) {
            at += 1;
        }
        let Some(next) = name(&words[at.min(words.len())..], 5, hyphenated).filter(|next| !next.possessive)
        else {
            // `uses Docker and a few scripts`: the names before it are kept.
            return names;
        };
        let last = at + next.words - 1;
        let stop = words[last].stop;
        let listed =
            stop == ',' || stop == '\0' && words.get(last + 1).is_some_and(|word| word.text == "and");
        if !is_end(words, at + next.words) {
            return if names.is_empty() { Vec::new() } else { names };
        }
        names.push(next);
        at = last + 1;
        if words.get(at).is_some_and(|word| word.text == "and") {
            at += 1;
        }
        if !listed || at >= words.len() || names.len() >= 10 {
            return names;
        }
    }
}

/// Tells whether the statement ends after `count` words, or another clause follows.
fn is_end(words: &[Word<'_>], count: usize) -> bool {
    let Some(last) = count.checked_sub(1).and_then(|last| words.get(last)) else { return false };
    let next = words.get(count);
    last.stop != '\0' && last.stop != '/' || next.is_none_or(|next| next.open || ENDS.has(next.text))
}

fn is_abstract(word: &str) -> bool {
    ["tion", "tions", "ment", "ments", "ing", "ness", "ity", "sis", "ance", "ence"]
        .iter()
        .any(|end| word.ends_with(end))
}

fn begins(words: &[Word<'_>], phrase: &[&str]) -> bool {
    words.len() >= phrase.len()
        && words.iter().zip(phrase).all(|(word, wanted)| word.text == *wanted)
        && words[..phrase.len()].iter().all(|word| word.stop == '\0' && !word.open)
}

fn joined(words: &[Word<'_>]) -> String {
    joined_by(words, '_').to_lowercase()
}

fn joined_by(words: &[Word<'_>], between: char) -> String {
    let mut text = String::with_capacity(32);
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            text.push(between);
        }
        text.push_str(word.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_its_cue() {
        let verbs = VERBS.iter().map(|verb| verb.words[0]);
        for first in verbs.chain(MOVES.iter().copied()).chain(NAMINGS.iter().map(|naming| naming[0])) {
            assert!(CUES.has(first), "{first}");
        }
    }
}
