//! Text to tokens: words, numbers, identifiers and addresses, with the punctuation that follows each.

use super::lexicon::is_han;
use super::value::is_unit;

/// One word of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) lower: String,
    /// Set once the language is known.
    pub(super) stem: String,
    pub(super) capital: bool,
    /// It opens a sentence, where a capital says nothing.
    pub(super) opens: bool,
    /// It is part of the same written word as the token before it, as in `billing-service`.
    pub(super) joined: bool,
    /// It names an owner: `Anna's`.
    pub(super) possessive: bool,
    /// The punctuation after it; `→` for an arrow, a space for none.
    pub(super) stop: char,
}

/// Splits a text into tokens.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 4);
    for chunk in text.split_whitespace() {
        if let Some(stop) = sign(chunk) {
            if let Some(last) = tokens.last_mut().filter(|last| last.stop == ' ' || stop == '→') {
                last.stop = stop;
            }
            continue;
        }
        let start =
            chunk.trim_start_matches(['(', '[', '"', '\'', '“', '‘', '«', '*', '_', '`', '„', '#', '¿', '¡']);
        let core = start.trim_end_matches(|c: char| {
            !c.is_alphanumeric() && !matches!(c, '+' | '#' | '%' | '€' | '$' | '£' | '/' | '°')
        });
        if core.is_empty() {
            continue;
        }
        let before = tokens.len();
        split(core, &mut tokens);
        if tokens.len() > before
            && let Some(last) = tokens.last_mut()
        {
            let after = &start[core.len()..];
            last.stop = stop_of(after, core);
            // `my parents' house`
            let is_quoted = start.len() < chunk.len();
            last.possessive |= core.ends_with('s') && after.starts_with(['\'', '’']) && !is_quoted;
        }
    }
    let mut opens = true;
    for token in &mut tokens {
        token.opens = opens;
        opens = matches!(token.stop, '.' | '!' | '?' | ';');
    }
    tokens
}

/// Reads single signs between words.
fn sign(chunk: &str) -> Option<char> {
    match chunk {
        "→" | "->" | "=>" | "-->" | "⇒" | "➔" => Some('→'),
        "=" | ":" | "：" => Some(':'),
        "-" | "–" | "—" | "--" | "|" | "*" | "•" => Some('–'),
        _ => None,
    }
}

/// Returns the punctuation that counts most in what follows a word.
fn stop_of(after: &str, core: &str) -> char {
    // `30. September`, `Mr. Berg`, `K. Meyer`
    const TITLES: [&str; 8] = ["Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Hr", "Fr"];
    let is_number = core.len() <= 2 && core.bytes().all(|byte| byte.is_ascii_digit());
    let is_initial = core.len() == 1 && core.starts_with(char::is_uppercase);
    let is_abbreviated = is_number || is_initial || TITLES.contains(&core);
    let found = after.chars().map(|c| match c {
        '？' => '?',
        '。' => '.',
        '，' | '、' => ',',
        '：' => ':',
        '；' => ';',
        c => c,
    });
    found.filter(|c| "?!.;:,".contains(*c)).find(|c| !(is_abbreviated && *c == '.')).unwrap_or(' ')
}

/// Splits a chunk without spaces: contractions, compounds, numbers with their units, Chinese characters.
fn split(core: &str, tokens: &mut Vec<Token>) {
    if core.contains(is_han) {
        return split_han(core, tokens);
    }
    if is_atomic(core) {
        return push(core, false, tokens);
    }
    if let Some(number) =
        core.strip_prefix(['€', '$', '£']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        push(number, false, tokens);
        return push(&core[..core.len() - number.len()], true, tokens);
    }
    let digits =
        core.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b':')).count();
    let (number, suffix) = core.split_at(digits);
    let suffix_lower = suffix.to_lowercase();
    match suffix_lower.as_str() {
        "st" | "nd" | "rd" | "th" | "x" | "×" | "er" | "h00" if digits > 0 => {
            return push(number, false, tokens);
        }
        "am" | "pm" | "h" | "uhr" | "a.m" | "p.m" if digits > 0 => {
            push(number, false, tokens);
            return push(suffix, true, tokens);
        }
        unit if digits > 0 && is_unit(unit) => {
            push(number, false, tokens);
            return push(suffix, true, tokens);
        }
        _ => {}
    }
    let core = &core.replace('’', "'");
    if let Some((word, ending)) = core.split_once('\'') {
        return split_apostrophe(word, ending, tokens);
    }
    let parts: Vec<&str> = core.split(['-', '/']).collect();
    let is_compound =
        parts.len() > 1 && parts.iter().all(|part| !part.is_empty() && part.chars().all(char::is_alphabetic));
    if !is_compound {
        return push(core, false, tokens);
    }
    for (at, part) in parts.iter().enumerate() {
        push(part, at > 0, tokens);
    }
}

fn split_apostrophe(word: &str, ending: &str, tokens: &mut Vec<Token>) {
    let lower = word.to_lowercase();
    let full = match ending.to_lowercase().as_str() {
        "t" if lower.ends_with('n') => {
            let base = match lower.as_str() {
                "won" => "will",
                "shan" => "shall",
                "can" => "can",
                _ => &word[..word.len() - 1],
            };
            push(base, false, tokens);
            return push("not", true, tokens);
        }
        "s" if matches!(lower.as_str(), "it" | "he" | "she" | "that" | "there" | "what" | "who") => "is",
        "s" | "" => "",
        "m" => "am",
        "re" => "are",
        "ve" => "have",
        "ll" => "will",
        "d" => "would",
        // `l'hôpital`, `s'appelle`
        _ => {
            push(word, false, tokens);
            return push(ending, false, tokens);
        }
    };
    push(word, false, tokens);
    if !full.is_empty() {
        push(full, true, tokens);
    } else if let Some(last) = tokens.last_mut() {
        last.possessive = true;
    }
}

fn split_han(core: &str, tokens: &mut Vec<Token>) {
    let mut rest = core;
    while let Some(first) = rest.chars().next() {
        let end = if is_han(first) { first.len_utf8() } else { rest.find(is_han).unwrap_or(rest.len()) };
        let (piece, after) = rest.split_at(end);
        if is_han(first) {
            push(piece, false, tokens);
        } else if let Some(stop) =
            piece.chars().next().filter(|c| matches!(c, '，' | '。' | '：' | '；' | '、'))
        {
            if let Some(last) = tokens.last_mut() {
                last.stop = if stop == '：' {
                    ':'
                } else if matches!(stop, '。' | '；') {
                    '.'
                } else {
                    ','
                };
            }
            let piece = &piece[stop.len_utf8()..];
            if !piece.is_empty() {
                split(piece, tokens);
            }
        } else {
            split(piece.trim_matches(|c: char| !c.is_alphanumeric()), tokens);
        }
        rest = after;
    }
}

/// Tells whether a chunk is one thing: an address, a path, a number with separators.
fn is_atomic(core: &str) -> bool {
    core.contains('@')
        || core.contains("://")
        || core.starts_with(['/', '~', '+'])
        || core.matches('/').count() > 1
        || core.bytes().any(|byte| byte.is_ascii_digit())
            && core.bytes().all(|byte| byte.is_ascii_digit() || b".,:/-+".contains(&byte))
}

fn push(text: &str, joined: bool, tokens: &mut Vec<Token>) {
    if text.is_empty() {
        return;
    }
    tokens.push(Token {
        text: text.to_owned(),
        lower: text.to_lowercase(),
        stem: String::new(),
        capital: text.starts_with(char::is_uppercase),
        opens: false,
        joined,
        possessive: false,
        stop: ' ',
    });
}
