//! Messages: what people say of themselves in a conversation, in the few ways that leave no doubt.
//!
//! Nearly no message says such a thing, so the text is looked through once for `I` and `my` before words
//! that a pattern begins with; nothing else is done where there are none.

use super::sentence::{begins, is_end, joined_by, names};
use super::words::{Name, Word, Words, bare, is_capital, name};
use super::{Claim, USUAL, checked, relation};
use crate::records::graph::guard::{self, From};

/// Longer messages are pasted text, in which `I` is somebody else.
const LONGEST: usize = 2_000;

/// What people have: the word, its plural, and what one is to them.
const HAVE: &[(&str, &str, &str)] = &[
    ("aunt", "aunts", "aunt_of"),
    ("boss", "", "boss_of"),
    ("boyfriend", "", "boyfriend_of"),
    ("brother", "brothers", "brother_of"),
    ("cat", "cats", "cat_of"),
    ("child", "children", "child_of"),
    ("colleague", "colleagues", "colleague_of"),
    ("cousin", "cousins", "cousin_of"),
    ("coworker", "coworkers", "colleague_of"),
    ("dad", "", "father_of"),
    ("daughter", "daughters", "daughter_of"),
    ("dog", "dogs", "dog_of"),
    ("father", "", "father_of"),
    ("fiance", "", "fiance_of"),
    ("fiancee", "", "fiance_of"),
    ("fiancé", "", "fiance_of"),
    ("fiancée", "", "fiance_of"),
    ("friend", "friends", "friend_of"),
    ("girlfriend", "", "girlfriend_of"),
    ("grandma", "", "grandmother_of"),
    ("grandmother", "", "grandmother_of"),
    ("grandfather", "", "grandfather_of"),
    ("grandpa", "", "grandfather_of"),
    ("granddaughter", "granddaughters", "granddaughter_of"),
    ("grandson", "grandsons", "grandson_of"),
    ("guinea", "", "pet_of"),
    ("hamster", "hamsters", "pet_of"),
    ("husband", "", "husband_of"),
    ("kid", "kids", "child_of"),
    ("kitten", "kittens", "cat_of"),
    ("kitty", "kitties", "cat_of"),
    ("manager", "", "manager_of"),
    ("mom", "", "mother_of"),
    ("mother", "", "mother_of"),
    ("mum", "", "mother_of"),
    ("neighbor", "neighbors", "neighbor_of"),
    ("neighbour", "neighbours", "neighbor_of"),
    ("nephew", "nephews", "nephew_of"),
    ("niece", "nieces", "niece_of"),
    ("parrot", "parrots", "pet_of"),
    ("partner", "", "partner_of"),
    ("pet", "pets", "pet_of"),
    ("pup", "pups", "dog_of"),
    ("puppy", "puppies", "dog_of"),
    ("rabbit", "rabbits", "pet_of"),
    ("roommate", "roommates", "roommate_of"),
    ("sister", "sisters", "sister_of"),
    ("son", "sons", "son_of"),
    ("turtle", "turtles", "pet_of"),
    ("uncle", "uncles", "uncle_of"),
    ("wife", "", "wife_of"),
];

/// What may stand between `my` and whom.
#[rustfmt::skip]
const KINDS: &[&str] = &[
    "amazing", "baby", "beloved", "best", "big", "close", "dear", "elder", "eldest", "four", "good", "little",
    "lovely", "new", "old", "older", "oldest", "other", "three", "twin", "two", "younger", "youngest",
];

/// What a pattern says of what follows it.
enum Says {
    /// A relation to a name.
    To(&'static str),
    /// A fact of a few words, without its article.
    Words(&'static str),
    /// A relation to a name, or a day as a fact.
    Born(&'static str),
}

/// After `I`; `I'm` and `I am` are one, and so are `I've` and `I have`.
const SELF: &[(&[&str], Says)] = &[
    (&["work", "at"], Says::To("works_at")),
    (&["work", "for"], Says::To("works_at")),
    (&["work", "as"], Says::Words("job")),
    (&["am", "working", "at"], Says::To("works_at")),
    (&["am", "working", "for"], Says::To("works_at")),
    (&["am", "working", "as"], Says::Words("job")),
    (&["have", "been", "working", "at"], Says::To("works_at")),
    (&["have", "been", "working", "for"], Says::To("works_at")),
    (&["have", "been", "working", "as"], Says::Words("job")),
    (&["live", "in"], Says::To("lives_in")),
    (&["am", "living", "in"], Says::To("lives_in")),
    (&["have", "been", "living", "in"], Says::To("lives_in")),
    (&["moved", "to"], Says::To("lives_in")),
    (&["have", "moved", "to"], Says::To("lives_in")),
    (&["am", "from"], Says::To("comes_from")),
    (&["come", "from"], Says::To("comes_from")),
    (&["grew", "up", "in"], Says::To("comes_from")),
    (&["am", "allergic", "to"], Says::Words("allergic_to")),
    (&["am", "married", "to"], Says::To("married_to")),
    (&["am", "engaged", "to"], Says::To("engaged_to")),
    (&["was", "born", "in"], Says::Born("born_in")),
    (&["was", "born", "on"], Says::Born("birthday")),
];

/// Words that may stand between `I` and its verb.
const ADVERBS: &[&str] = &["actually", "also", "currently", "just", "now", "originally", "recently", "still"];

/// Words before `I` that make it somebody's wish or somebody else's words.
#[rustfmt::skip]
const DOUBTS: &[&str] = &[
    "although", "dreamed", "dreamt", "guess", "hope", "if", "imagine", "imagined", "maybe", "perhaps",
    "pretend", "said", "say", "says", "should", "suppose", "unless", "until", "what", "when", "whenever",
    "where", "wish", "would",
];

/// Reads what the author of a message says of themselves.
pub(crate) fn message(author: &str, text: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    if text.len() > LONGEST {
        return claims;
    }
    for (at, first) in cues(text) {
        let mut say = |claim: Claim| {
            if let Ok(claim) = checked(claim, From::Conversation)
                && !claims.contains(&claim)
            {
                claims.push(claim);
            }
        };
        let (before, after) = around(text, at);
        let asks = text[at + after.len()..].starts_with('?');
        // Inside quotation marks somebody else speaks.
        if before.bytes().filter(|byte| *byte == b'"').count() % 2 == 1
            || before.rfind('“') > before.rfind('”')
        {
            continue;
        }
        let words = Words::beginning(&after[first.len()..]);
        let words = words.all();
        if first.eq_ignore_ascii_case("my") {
            mine(author, before, words, asks, &mut say);
        } else if !asks && !is_doubted(before) {
            own(author, words, first, &mut say);
        }
    }
    claims
}

/// Finds `I`, `I'm`, `I’m`, `I've` and `my` where what follows can begin a pattern.
fn cues(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(here) = next_first_person(bytes, at) {
            at = here + 1;
            let length = match &bytes[here..] {
                [b'I', b' ', ..] => 1,
                [b'm' | b'M', b'y', b' ', ..] => 2,
                [b'I', b'\'', b'm', b' ', ..] => 3,
                [b'I', b'\'', b'v', b'e', b' ', ..] => 4,
                [b'I', 0xe2, 0x80, 0x99, b'm', b' ', ..] => 5,
                [b'I', 0xe2, 0x80, 0x99, b'v', b'e', b' ', ..] => 6,
                _ => continue,
            };
            let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'\'' | b'-' | b'_');
            if here > 0 && inside(bytes[here - 1]) {
                continue;
            }
            let rest = &text[here + length + 1..];
            if if length == 2 { begins_mine(rest) } else { begins_own(rest) } {
                return Some((here, &text[here..here + length]));
            }
        }
        None
    })
}

/// Finds the next `I` or `my` before a space or an apostrophe. Looks at 32 bytes at a time.
fn next_first_person(bytes: &[u8], from: usize) -> Option<usize> {
    const STEP: usize = 32;
    let is_first_person = |one: u8, two: u8, three: u8| {
        (one == b'I') & ((two == b' ') | (two == b'\'') | (two == 0xe2))
            | (one | 0x20 == b'm') & (two == b'y') & (three == b' ')
    };
    let mut at = from;
    while let Some(window) = bytes[at..].first_chunk::<{ STEP + 2 }>() {
        let any =
            (0..STEP).fold(false, |any, n| any | is_first_person(window[n], window[n + 1], window[n + 2]));
        if any {
            break;
        }
        at += STEP;
    }
    let rest = &bytes[at..];
    (0..rest.len().saturating_sub(2))
        .find(|n| is_first_person(rest[*n], rest[n + 1], rest[n + 2]))
        .map(|n| at + n)
}

/// Whether a pattern of `I` can begin so.
fn begins_own(rest: &str) -> bool {
    let mut rest = rest;
    while let Some(after) = ADVERBS.iter().find_map(|adverb| rest.strip_prefix(adverb)?.strip_prefix(' ')) {
        rest = after;
    }
    STARTS.iter().any(|start| rest.starts_with(start))
}

/// How what follows `I`, `I'm` and `I've` begins, where a pattern does.
#[rustfmt::skip]
const STARTS: &[&str] = &[
    "allergic to", "am ", "been living in", "been working", "come from", "engaged to", "from ", "got ", "grew up in",
    "have a ", "have an ", "have been", "have five ", "have four ", "have got", "have moved", "have one ",
    "have three ", "have two ", "live in", "living in", "married to", "moved to", "originally", "was born", "work as",
    "work at", "work for", "working as", "working at", "working for",
];

/// Whether a pattern of `my` can begin so.
fn begins_mine(rest: &str) -> bool {
    let end = rest.bytes().take(16).position(|byte| !byte.is_ascii_lowercase() && byte < 0x80);
    let Some(next) = rest.get(..end.unwrap_or(0)) else { return false };
    let after = &rest[next.len()..];
    if have(next).is_some() {
        // A name, or what announces one.
        return match after.as_bytes() {
            [b' ', next, ..] if next.is_ascii_uppercase() || !next.is_ascii() => true,
            [b',' | b':' | b'-', ..] => true,
            _ => [
                " is called",
                " is named",
                " are called",
                " are named",
                " called",
                " named",
                "'s name",
                "’s name",
                " -",
            ]
            .iter()
            .any(|begin| after.starts_with(begin)),
        };
    }
    matches!(next, "name" | "birthday") && after.starts_with(" is ")
        || matches!(next, "favourite" | "favorite")
        || KINDS.contains(&next)
}

/// What a word for someone is, and whether it is a plural.
fn have(word: &str) -> Option<(&'static str, bool)> {
    HAVE.iter().find_map(|(one, many, predicate)| {
        (*one == word)
            .then_some((*predicate, false))
            .or_else(|| (*many == word).then_some((*predicate, true)))
    })
}

/// The sentence around a byte: what stands before it, and what from it on.
fn around(text: &str, at: usize) -> (&str, &str) {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | ';' | '\n');
    let start = text[..at].rfind(ends).map_or(0, |end| end + 1);
    let mut end = text.len();
    let rest = &text[at..];
    for (offset, c) in rest.char_indices().filter(|(_, c)| ends(*c)) {
        let after = rest[offset + 1..].chars().next();
        // `J. K. Rowling`
        let initial =
            matches!(rest.as_bytes()[..offset], [.., b' ' | b'.', last] if last.is_ascii_uppercase());
        if c != '.' || after.is_none_or(char::is_whitespace) && !initial {
            end = at + offset;
            break;
        }
    }
    (&text[start..at], &text[at..end])
}

fn is_doubted(before: &str) -> bool {
    let mut words = before.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| DOUBTS.binary_search(&&*word.to_lowercase()).is_ok())
}

/// `I …`
fn own(author: &str, words: &[Word<'_>], first: &str, say: &mut impl FnMut(Claim)) {
    let mut words = after_adverbs(words);
    let mut form = if first.ends_with('m') {
        "am"
    } else if first.ends_with("ve") {
        "have"
    } else {
        ""
    };
    if form.is_empty()
        && let [word, rest @ ..] = words
        && matches!(word.text, "am" | "have")
    {
        form = word.text;
        words = after_adverbs(rest);
    }
    for (phrase, says) in SELF {
        let (of, phrase) = match phrase {
            [of @ ("am" | "have"), rest @ ..] => (*of, rest),
            all => ("", *all),
        };
        if of == form && begins(words, phrase) {
            return says_of(author, says, &words[phrase.len()..], say);
        }
    }
    if begins(words, &["got"]) {
        words = &words[1..];
        form = "have";
    }
    if form == "have" {
        having(author, words, say);
    }
}

fn after_adverbs<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let count = words.iter().take_while(|word| ADVERBS.contains(&word.text) && word.stop == '\0').count();
    &words[count..]
}

fn says_of(author: &str, says: &Says, after: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    match says {
        Says::To(predicate) => {
            if let Some(object) = names(after, false).first().filter(|object| is_proper(object)) {
                say(relation(author, predicate, &object.text));
            }
        }
        Says::Words(key) => {
            for words in listed(after, *key == "allergic_to") {
                say(lasting(author, key, &joined_by(words, ' '), None));
            }
        }
        Says::Born(key) => {
            let day = day(after);
            if let Some(day) = day {
                say(lasting(author, if *key == "birthday" { key } else { "born" }, &day, None));
            } else if *key == "born_in"
                && let Some(place) = names(after, false).first()
            {
                say(relation(author, key, &place.text));
            }
        }
    }
}

/// `my …`
fn mine(author: &str, before: &str, words: &[Word<'_>], asks: bool, say: &mut impl FnMut(Claim)) {
    let told = !asks && !is_doubted(before);
    match words {
        [word, is, rest @ ..] if word.text == "name" && is.text == "is" && told => {
            if let Some(name) =
                name(rest, 3, false).filter(|name| is_end(rest, name.words) && is_proper(name))
            {
                say(lasting(author, "name", &name.text, None));
            }
        }
        [word, is, rest @ ..] if word.text == "birthday" && is.text == "is" && told => {
            let rest = if begins(rest, &["on"]) { &rest[1..] } else { rest };
            if let Some(day) = day(rest) {
                say(lasting(author, "birthday", &day, None));
            }
        }
        [word, rest @ ..] if matches!(word.text, "favourite" | "favorite") && told => {
            favourite(author, rest, say)
        }
        _ => relative(author, words, say),
    }
}

/// `my favourite X is Y`
fn favourite(author: &str, words: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    let Some(is) = words.iter().take(4).position(|word| word.text == "is").filter(|is| *is > 0) else {
        return;
    };
    let plain = |word: &Word<'_>| {
        word.stop == '\0'
            && !word.open
            && !matches!(word.text, "ever" | "far" | "now" | "right" | "so")
            && word.text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    if !words[..is].iter().all(plain)
        || matches!(words[0].text, "memory" | "moment" | "one" | "part" | "place" | "thing" | "time" | "way")
    {
        return;
    }
    let rest = &words[is + 1..];
    let rest = match rest {
        [adverb, rest @ ..] if matches!(adverb.text, "definitely" | "still" | "always") => rest,
        // One of many is no favourite.
        [article, ..] if matches!(article.text, "a" | "an") => return,
        all => all,
    };
    for value in listed(rest, false) {
        let key = format!("favorite_{}", joined_by(&words[..is], '_'));
        say(lasting(author, &key, &joined_by(value, ' '), Some("preference")));
    }
}

/// `my sister Anna`, `my dog is called Rex`, `my cats Tom and Kit`
fn relative(author: &str, words: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    let kinds =
        words.iter().take(3).take_while(|word| KINDS.contains(&word.text) && word.stop == '\0').count();
    let Some((whom, rest)) = words[kinds..].split_first() else { return };
    // `my dog's name is Rex`
    if let Some((predicate, false)) = have(bare(whom.text)).filter(|_| bare(whom.text) != whom.text) {
        if begins(rest, &["name", "is"]) {
            one(author, predicate, &rest[2..], true, say);
        }
        return;
    }
    let Some((predicate, many)) = have(whom.text) else { return };
    if whom.stop == '\0' {
        for phrase in CALLED {
            if begins(rest, phrase) {
                return if many {
                    several(author, predicate, &rest[phrase.len()..], say);
                } else {
                    one(author, predicate, &rest[phrase.len()..], true, say);
                };
            }
        }
        if many { several(author, predicate, rest, say) } else { one(author, predicate, rest, false, say) }
    } else if many && matches!(whom.stop, ',' | ':' | '-' | '—') {
        several(author, predicate, rest, say);
    } else if whom.stop == ',' {
        // `my sister, Anna, called`: between commas, or it may be who is spoken to.
        let between =
            name(rest, 3, false).filter(|name| rest[name.words - 1].stop == ',' && !name.possessive);
        if between.is_some_and(|name| rest.get(name.words).is_some_and(|next| GOES_ON.contains(&next.text))) {
            one(author, predicate, rest, true, say);
        }
    }
}

/// What goes on about whoever was named between commas.
const GOES_ON: &[&str] = &["and", "came", "got", "has", "is", "loves", "moved", "was", "who", "works"];

const CALLED: &[&[&str]] =
    &[&["is", "called"], &["is", "named"], &["are", "called"], &["are", "named"], &["called"], &["named"]];

/// `I have a dog named Rex`, `I have two cats, Tom and Kit`
fn having(author: &str, words: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    let number = |word: &Word<'_>| {
        word.stop == '\0'
            && matches!(
                word.text,
                "a" | "an" | "one" | "two" | "three" | "four" | "five" | "2" | "3" | "4" | "5"
            )
    };
    let Some((_, rest)) = words.split_first().filter(|(first, _)| number(first)) else { return };
    let skip = rest.iter().take(3).take_while(|word| word.stop == '\0' && have(word.text).is_none()).count();
    let Some((whom, rest)) = rest[skip..].split_first() else { return };
    let Some((predicate, many)) = have(whom.text) else { return };
    let called = CALLED.iter().find(|phrase| whom.stop == '\0' && begins(rest, phrase));
    match called {
        Some(phrase) if many => several(author, predicate, &rest[phrase.len()..], say),
        Some(phrase) => one(author, predicate, &rest[phrase.len()..], true, say),
        None if many && matches!(whom.stop, ',' | ':' | '-' | '—') => several(author, predicate, rest, say),
        None => {}
    }
}

/// One name; where it was not announced, it has to be followed by something that goes on about it.
fn one(author: &str, predicate: &str, words: &[Word<'_>], called: bool, say: &mut impl FnMut(Claim)) {
    let Some(found) = name(words, 3, false) else { return };
    let fits = !words[0].open && !words[0].code && !found.thing && is_proper(&found);
    if fits && (called || !found.possessive || found.words == 1) {
        say(relation(&found.text, predicate, author));
    }
}

/// Two or more names, joined by commas and `and`.
fn several(author: &str, predicate: &str, words: &[Word<'_>], say: &mut impl FnMut(Claim)) {
    let mut found = Vec::new();
    let mut rest = words;
    let mut last = false;
    while let Some(next) = name(rest, 2, false).filter(|next| !next.thing && is_proper(next) && !rest[0].open)
    {
        let stop = rest[next.words - 1].stop;
        rest = &rest[next.words..];
        let ends = next.possessive || !matches!(stop, '\0' | ',');
        found.push(next.text);
        let and = rest.first().is_some_and(|word| matches!(word.text, "and" | "&"));
        if last || ends || !and && stop != ',' {
            break;
        }
        last = and;
        rest = &rest[usize::from(and)..];
    }
    if last && found.len() >= 2 {
        for name in found {
            say(relation(&name, predicate, author));
        }
    }
}

/// Whether a name is not just a word that is written large: `I`, `OK`, `LOL`.
fn is_proper(name: &Name) -> bool {
    let first = name.text.split(' ').next().unwrap_or_default();
    is_capital(first)
        && !matches!(
            first,
            "OK" | "LOL"
                | "OMG"
                | "BTW"
                | "I"
                | "Haha"
                | "Yes"
                | "No"
                | "Thanks"
                | "And"
                | "But"
                | "So"
                | "Your"
                | "My"
                | "The"
        )
}

/// A day: with a month or a number.
fn day(words: &[Word<'_>]) -> Option<String> {
    let end = words.iter().position(|word| word.stop != '\0').map_or(words.len(), |at| at + 1);
    // `March 3, 1990`
    let end = if words
        .get(end)
        .is_some_and(|word| word.text.len() == 4 && word.text.bytes().all(|byte| byte.is_ascii_digit()))
    {
        end + 1
    } else {
        end
    };
    let of_day = |word: &Word<'_>| {
        word.text.starts_with(|c: char| c.is_ascii_digit())
            || guard::is_day(word.text)
            || matches!(word.text, "of" | "the")
    };
    let count = words[..end].iter().take_while(|word| of_day(word)).count();
    let words = &words[..count];
    let telling = words.iter().any(|word| word.text.starts_with(|c: char| c.is_ascii_digit()));
    (telling && count <= 5).then(|| joined_by(words, ' '))
}

/// What is said in a few words, up to the end of the clause; several where it is a list.
fn listed<'w, 'a>(words: &'w [Word<'a>], many: bool) -> Vec<&'w [Word<'a>]> {
    let mut parts = Vec::new();
    let mut rest = words;
    loop {
        let rest_now = match rest {
            [article, more @ ..] if article.stop == '\0' && matches!(article.text, "a" | "an" | "the") => {
                more
            }
            all => all,
        };
        let stop = rest_now.iter().position(|word| word.stop != '\0').map_or(rest_now.len(), |at| at + 1);
        let clause = rest_now[..stop].iter().position(|word| CLAUSES.contains(&word.text)).unwrap_or(stop);
        let part = &rest_now[..clause];
        if part.is_empty()
            || part.len() > 5
            || part.iter().any(|word| VAGUE.contains(&word.text) || word.open)
        {
            break;
        }
        parts.push(part);
        let goes_on =
            part[part.len() - 1].stop == ',' || rest_now.get(clause).is_some_and(|word| word.text == "and");
        let from =
            if rest_now.get(clause).is_some_and(|word| word.text == "and") { clause + 1 } else { clause };
        if !many || !goes_on || from >= rest_now.len() || parts.len() >= 5 || rest_now[from].text == "I" {
            break;
        }
        rest = &rest_now[from..];
    }
    parts
}

#[rustfmt::skip]
const CLAUSES: &[&str] = &[
    "and", "as", "at", "because", "but", "by", "for", "from", "if", "in", "now", "or", "right", "since", "so",
    "that", "though", "too", "when", "where", "which", "while", "who", "with",
];

/// Words that mean something only where they were said.
#[rustfmt::skip]
const VAGUE: &[&str] = &[
    "I", "actually", "all", "any", "anything", "being", "both", "certain", "definitely", "he", "her", "him",
    "his", "how", "it", "its", "me", "my", "not", "one", "ones", "our", "probably", "same", "seeing", "she",
    "some", "something", "that", "their", "them", "there", "these", "they", "this", "those", "to", "us", "we",
    "what", "when", "you", "your",
];

fn lasting(entity: &str, key: &str, value: &str, category: Option<&'static str>) -> Claim {
    Claim::Fact {
        entity: entity.into(),
        key: key.into(),
        value: value.into(),
        category,
        importance: USUAL,
        permanent: true,
    }
}
