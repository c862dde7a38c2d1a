//! Interprets a question to the graph: whom it names, and what it asks about them.

use std::ops::ControlFlow;

use super::name::{self, Entity};
use super::{EntityId, guard, intent};
use crate::base::Result;
use crate::base::text::is_one_edit;
use crate::index::{Language, analyse};
use crate::store::Connection;

/// The maximum number of words that are analysed.
const MAX_QUESTION_WORDS: usize = 64;
/// The maximum length of a name, in words.
const MAX_NAME_WORDS: usize = 8;

/// The person asking: "my" refers to the user if the user asks, and to the agent if the agent asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speaker {
    /// The person.
    #[default]
    User,
    /// The agent, about itself.
    Agent,
}

/// An interpreted question.
pub(super) struct Question {
    /// The entities it names, in its own words.
    pub(super) named: Vec<Mention>,
    /// The words that say what is asked.
    pub(super) asked: Vec<QuestionWord>,
    /// Words that look like a name but are unknown.
    pub(super) strangers: Vec<QuestionWord>,
}

/// A named entity.
pub(super) struct Mention {
    pub(super) entity: Entity,
    /// The words that name it.
    pub(super) by: String,
    /// Named by `my` or `you`.
    pub(super) speaks: bool,
    /// Whether it may be an ordinary word: a lower-case word that is a name only because of a heading.
    pub(super) by_chance: bool,
    /// Words that an answer about the speaker must have: `mother` in `where does my mother live`.
    pub(super) needs: Vec<String>,
}

impl Mention {
    /// Tells whether the mention is unambiguous.
    pub(super) fn is_sure(&self) -> bool {
        !self.speaks && !self.by_chance
    }
}

/// A word that says what is asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QuestionWord {
    /// The word as written, folded.
    pub(super) word: String,
    pub(super) stem: String,
    /// The words of keys that it asks for.
    pub(super) keys: Vec<&'static str>,
}

impl QuestionWord {
    /// Tells whether it asks for an attribute of people or things.
    pub(super) fn is_attribute(&self) -> bool {
        intent::is_attribute(&self.word)
    }

    /// Tells whether a text with these words and stems contains what is asked.
    pub(super) fn is_in(&self, words: &[String], stems: &[String]) -> bool {
        stems.contains(&self.stem) || self.keys.iter().any(|key| words.iter().any(|word| word == key))
    }
}

/// A word of the question.
struct Token {
    word: String,
    /// The analyser's form; empty for a single letter.
    stem: String,
    capital: bool,
    /// Starts a sentence, so that its capital letter means nothing.
    first: bool,
    possessive: bool,
    /// Part of a recognised name.
    taken: bool,
}

impl Question {
    pub(super) fn new(db: &Connection, text: &str, speaker: Speaker, language: Language) -> Result<Question> {
        let mut tokens = tokens(text, language);
        join_phrases(&mut tokens, language);
        let mut named = mentions(db, &mut tokens, language)?;
        if named.is_empty() {
            named.extend(by_first_name(db, &mut tokens, language)?);
        }
        if named.is_empty() {
            named.extend(misspelt(db, &mut tokens)?);
        }
        // `Could you tell me of Orsolya` asks about Orsolya.
        let stranger = |token: &Token| {
            !token.taken && (token.capital && !token.first || token.possessive) && !guard::is_day(&token.word)
        };
        let meant =
            |token: &Token| stranger(token) && !language.is_common(&token.stem) && token.word.len() > 1;
        if named.is_empty() && !tokens.iter().any(meant) {
            named.extend(speaking(db, &tokens, speaker)?);
        }
        let says_nothing = |token: &Token| {
            token.stem.is_empty() || language.is_common(&token.stem) && !intent::names_end(&token.word)
        };
        let (mut asked, mut little): (Vec<QuestionWord>, Vec<QuestionWord>) = Default::default();
        let mut strangers = Vec::new();
        // Whether the previous word was never used before.
        let mut beside = false;
        for token in &tokens {
            if token.taken || says_nothing(token) {
                beside = false;
                continue;
            }
            let word = QuestionWord {
                word: token.word.clone(),
                stem: token.stem.clone(),
                keys: intent::keys(&token.word),
            };
            let unheard = !word.is_attribute() && is_new_word(db, &token.stem)?;
            let named = (token.capital && !token.first || token.possessive) && !guard::is_day(&token.word)
                || unheard
                || beside && !word.is_attribute();
            beside = unheard;
            if named && !strangers.contains(&word) {
                strangers.push(word.clone());
            }
            let list = if intent::says_little(&token.word) { &mut little } else { &mut asked };
            if !list.contains(&word) {
                list.push(word);
            }
        }
        // In `e-mail address`, the word `address` adds nothing.
        if asked.iter().any(|asked| matches!(asked.word.as_str(), "mail" | "email" | "ip" | "web" | "mac")) {
            asked.retain(|asked| asked.word != "address");
        }
        // `her number` asks for something; in `phone number` the word adds nothing.
        if asked.is_empty() {
            asked = little.into_iter().filter(QuestionWord::is_attribute).collect();
        }
        Ok(Question { named, asked, strangers })
    }
}

fn tokens(text: &str, language: Language) -> Vec<Token> {
    let apostrophe = |c: char| matches!(c, '\'' | '’' | '‘' | '`' | 'ʼ');
    let mut tokens = Vec::new();
    let mut first = true;
    for (run, ends) in runs(text) {
        let trimmed = run.trim_matches(apostrophe);
        let Some(word) = name::words(trimmed).into_iter().next() else {
            first |= ends;
            continue;
        };
        let lower = trimmed.to_lowercase();
        let possessive = lower.strip_suffix('s').is_some_and(|rest| rest.ends_with(apostrophe))
            || run.ends_with(apostrophe) && lower.ends_with('s');
        let stem = analyse::words(&word, language).pop().unwrap_or_default();
        let capital = trimmed.chars().next().is_some_and(char::is_uppercase);
        // `who's` and `it's` are not possessives.
        let possessive = possessive && !language.is_common(&stem);
        tokens.push(Token { word, stem, capital, first, possessive, taken: false });
        first = ends;
        if tokens.len() == MAX_QUESTION_WORDS {
            break;
        }
    }
    tokens
}

/// Removes polite phrases, so that their words are not taken for names, and joins two-word verbs.
fn join_phrases(tokens: &mut [Token], language: Language) {
    const POLITE: &[(&[&str], &[&str])] = &[
        (&["tell", "show", "give", "remind", "send", "get", "let"], &["me", "us"]),
        (&["could", "can", "would", "will", "do", "did", "if"], &["you"]),
        (&["i", "we"], &["forgot", "forget", "need", "want", "wonder", "think", "guess"]),
    ];
    for place in 1..tokens.len() {
        let [before, here] = [place - 1, place].map(|place| tokens[place].word.clone());
        let pair = |(first, second): &(&[&str], &[&str])| {
            first.contains(&before.as_str()) && second.contains(&here.as_str())
        };
        if POLITE.iter().any(pair) {
            tokens[place - 1].taken = true;
            tokens[place].taken = true;
        } else if matches!(before.as_str(), "look" | "looks" | "looked" | "looking") && here == "after" {
            tokens[place].taken = true;
            tokens[place - 1].word = "maintains".into();
            tokens[place - 1].stem = analyse::words("maintains", language).pop().unwrap_or_default();
        }
    }
}

/// Returns the runs of letters, digits and apostrophes, with the trailing symbols of a name (`C++`), each
/// with whether it ends a sentence.
fn runs(text: &str) -> Vec<(&str, bool)> {
    let within = |c: char| analyse::is_word(c) || matches!(c, '\'' | '’' | '‘' | '`' | 'ʼ');
    let mut runs = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(within) {
        rest = &rest[start..];
        let end = rest.find(|c: char| !within(c)).unwrap_or(rest.len());
        let signs = rest[end..].find(|c: char| !name::is_sign(c)).unwrap_or(rest.len() - end);
        // A symbol between two words separates them.
        let end = if rest[end + signs..].starts_with(within) { end } else { end + signs };
        let (run, after) = rest.split_at(end);
        let gap = after.find(within).map_or(after, |next| &after[..next]);
        runs.push((run, gap.contains(['.', '?', '!', '\n', ':'])));
        rest = after;
    }
    runs
}

/// Tells whether no indexed text contains a word, nor one that differs in a letter.
fn is_new_word(db: &Connection, stem: &str) -> Result<bool> {
    if db.row("SELECT 1 FROM terms WHERE term = $1", [stem], |_| Ok(()))?.is_some() {
        return Ok(false);
    }
    let start: String = stem.chars().take(2).collect();
    let sql = "SELECT term FROM terms WHERE term >= $1 AND term < $2 ORDER BY term LIMIT 5000";
    let mut near = false;
    db.each(sql, (&start, name::after(&start)), |row| {
        near = is_one_edit(row.text(0)?, stem);
        Ok(if near { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(!near)
}

/// Finds the names in the question, the longest first at each position.
fn mentions(db: &Connection, tokens: &mut [Token], language: Language) -> Result<Vec<Mention>> {
    let mut named: Vec<Mention> = Vec::new();
    let mut place = 0;
    while place < tokens.len() {
        // A word that can't start a name need not be looked up.
        let first = &tokens[place];
        let whose = matches!(first.word.as_str(), "my" | "our" | "your" | "his" | "her" | "their");
        let common = language.is_common(&first.stem) && !whose && (!first.capital || first.first);
        // `Hemi's landlord` is not the entity with the alias `landlord`.
        let of_another = place > 0 && tokens[place - 1].possessive && intent::is_attribute(&first.word);
        if first.taken || of_another || common && tokens.len() > 1 {
            place += 1;
            continue;
        }
        let mut longest = 1;
        if let Some((length, entity, read)) = name_at(db, place, &tokens[place..], language)? {
            let words = &mut tokens[place..place + length];
            let by = words.iter().map(|token| token.word.as_str()).collect::<Vec<_>>().join(" ");
            words.iter_mut().for_each(|token| token.taken = true);
            let written = words[0].possessive || words[0].capital && !words[0].first;
            let by_chance = read && length == 1 && !written;
            longest = longest.max(length);
            if named.iter().all(|mention| mention.entity.id != entity.id) {
                named.push(Mention { entity, by, speaks: false, by_chance, needs: Vec::new() });
            }
        }
        place += longest;
    }
    Ok(named)
}

/// Returns the longest name that starts with the first of these words, and its number of words. If it is the
/// title of an event that starts with another name, returns that name: `heron's disk` asks for the disk of
/// heron rather than for a past event.
fn name_at(
    db: &Connection,
    before: usize,
    tokens: &[Token],
    language: Language,
) -> Result<Option<(usize, Entity, bool)>> {
    let first = &tokens[0];
    // One query finds the word alone and every name that starts with it and the next word.
    let sql = "SELECT folded, names.name, roots.id, roots.name, roots.category, names.source FROM names
        JOIN entities ON entities.id = names.entity JOIN entities AS roots ON roots.id = entities.root
        WHERE folded = $1 OR folded = $2 OR (folded > $2 || ' ' AND folded < $2 || '!') LIMIT 1000";
    let pair = tokens.get(1).map(|next| format!("{} {}", first.word, next.word));
    let mut best: Option<(usize, Entity, bool)> = None;
    db.each(sql, (&first.word, pair), |row| {
        let folded = row.text(0)?;
        let length = folded.split(' ').count();
        let read = row.text(5)? == "document";
        let whole = before == 0 && length == tokens.len();
        let is_title = |category: &str| category == "event" && !whole;
        let titled = is_title(row.text(4)?);
        let better = |(longest, known, _): &(usize, Entity, bool)| match (is_title(&known.category), titled) {
            (true, false) => true,
            (false, true) => false,
            _ => length > *longest,
        };
        let fits = length <= tokens.len().min(MAX_NAME_WORDS)
            && best.as_ref().is_none_or(better)
            && folded.split(' ').zip(tokens).all(|(part, token)| part == token.word);
        if !fits {
            return Ok(ControlFlow::Continue(()));
        }
        // A common word is a name only if it is written as one.
        let name = row.text(1)?;
        let common = length == 1
            && (language.is_common(&first.stem)
                || first.word.chars().count() < 2
                // A heading `Mail` must not turn every mail into a name, but a person did say that Papa is
                // somebody.
                || read && intent::is_attribute(&first.word));
        let written = first.capital && !first.first && name.starts_with(char::is_uppercase);
        if !common || written || tokens.len() + before <= 1 {
            let entity = Entity { id: row.get(2)?, name: row.get(3)?, category: row.get(4)? };
            best = Some((length, entity, read));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(best)
}

/// Returns the entity that "my" and "you" refer to.
fn speaking(db: &Connection, tokens: &[Token], speaker: Speaker) -> Result<Option<Mention>> {
    let (me, you) = match speaker {
        Speaker::User => ("user", "self"),
        Speaker::Agent => ("self", "user"),
    };
    for (words, category) in [
        (&["your", "yours", "yourself"][..], you),
        (&["my", "mine", "i", "me", "myself", "our", "we", "im", "am"][..], me),
        (&["you"][..], you),
    ] {
        let said = tokens.iter().find(|token| !token.taken && words.contains(&token.word.as_str()));
        let Some(by) = said.map(|token| token.word.clone()) else { continue };
        if let Some(entity) = name::speaking(db, category)? {
            let needs = needs(tokens, &by);
            return Ok(Some(Mention { entity, by, speaks: true, by_chance: false, needs }));
        }
    }
    Ok(None)
}

/// Returns the words that an answer about the speaker must have. `my mother` is somebody else, and what `I` do with a thing is no
/// attribute of mine: `Who do I call about the boiler?`
fn needs(tokens: &[Token], by: &str) -> Vec<String> {
    let mut after = tokens.iter().skip_while(|token| token.word != by).skip(1);
    if matches!(by, "my" | "our" | "your") {
        let owned = after.next().filter(|token| intent::names_end(&token.word));
        return owned.into_iter().map(|token| token.word.clone()).collect();
    }
    // The first word after `I` is the verb.
    let things = after.skip(1).filter(|token| !intent::is_attribute(&token.word));
    things.map(|token| token.word.clone()).collect()
}

/// Returns the person with a first name, if it is unique. In lower case only if the question has few other
/// words: `dana mobile`.
fn by_first_name(db: &Connection, tokens: &mut [Token], language: Language) -> Result<Option<Mention>> {
    const MAX_TERSE_WORDS: usize = 3;
    let terse = tokens.len() <= MAX_TERSE_WORDS;
    let may_be = |token: &&mut Token| {
        let written = token.capital && !token.first || token.possessive || terse;
        written
            && token.word.len() > 2
            && !language.is_common(&token.stem)
            && !intent::is_attribute(&token.word)
    };
    for token in tokens.iter_mut().filter(may_be) {
        let sql = "SELECT DISTINCT roots.id, roots.name, roots.category FROM names
            JOIN entities ON entities.id = names.entity JOIN entities AS roots ON roots.id = entities.root
            WHERE folded > $1 || ' ' AND folded < $1 || '!'
                AND roots.category IN ('', 'person', 'family', 'friend', 'pet', 'user') LIMIT 20";
        let mut found = db.rows(sql, [&token.word], name::from_row)?;
        // `Anna Berg`, not `Anna sends the report on Mondays`.
        let is_persons = |name: &str| {
            let words = name.split_whitespace();
            words.clone().count() <= 3 && words.clone().all(|word| word.starts_with(char::is_uppercase))
        };
        found.retain(|entity| is_persons(&entity.name));
        if let [_] = found[..] {
            token.taken = true;
            let by = token.word.clone();
            return Ok(found.pop().map(|entity| Mention {
                entity,
                by,
                speaks: false,
                by_chance: false,
                needs: Vec::new(),
            }));
        }
    }
    Ok(None)
}

/// Returns the entity whose name is misspelt by one letter, or in the plural.
fn misspelt(db: &Connection, tokens: &mut [Token]) -> Result<Option<Mention>> {
    let near = |token: &&mut Token| token.word.chars().count() >= 5 && (token.capital || token.possessive);
    for token in tokens.iter_mut().filter(near) {
        let start: String = token.word.chars().take(2).collect();
        let sql = "SELECT folded FROM names WHERE folded >= $1 AND folded < $2 ORDER BY folded LIMIT 500";
        let names: Vec<String> = db.rows(sql, (&start, name::after(&start)), |row| row.get(0))?;
        let close = names.iter().find(|name| {
            name.strip_suffix('s') == Some(&token.word)
                || token.word.strip_suffix('s') == Some(name)
                // A sentence's first word is capitalised whether or not it is a name.
                || (!token.first || token.possessive) && is_one_edit(name, &token.word)
        });
        if let Some(entity) = close.map(|name| name::find(db, name)).transpose()?.flatten() {
            token.taken = true;
            return Ok(Some(Mention {
                entity,
                by: token.word.clone(),
                speaks: false,
                by_chance: false,
                needs: Vec::new(),
            }));
        }
    }
    Ok(None)
}

impl Question {
    /// Returns the ids of the named entities.
    pub(super) fn ids(&self) -> Vec<EntityId> {
        self.named.iter().map(|mention| mention.entity.id).collect()
    }
}
