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
    /// It is written as the name of a channel or an account: `#platform`, `@ana`.
    pub(super) tag: bool,
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
        // `#platform`
        match start.len() < chunk.len() && chunk.starts_with('#') {
            true => push(core, false, &mut tokens),
            false => split(core, &mut tokens),
        }
        if chunk.starts_with(['#', '@'])
            && let Some(last) = tokens.last_mut()
        {
            last.tag = true;
        }
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
    // `lr=1e-3`
    if let Some((key, value)) = core.split_once('=').filter(|(key, value)| is_key(key) && !value.is_empty()) {
        split(key.trim_start_matches('-'), tokens);
        if let Some(last) = tokens.last_mut() {
            last.stop = ':';
        }
        return split(value, tokens);
    }
    if let Some(amount) =
        core.strip_prefix(['€', '$', '£']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        let (number, per) = amount.split_once('/').unwrap_or((amount, ""));
        push(number, false, tokens);
        push(&core[..core.len() - amount.len()], true, tokens);
        return push(per, true, tokens);
    }
    let digits =
        core.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b':')).count();
    if digits > 0 && split_number(core.split_at(digits), tokens) {
        return;
    }
    if let Some((word, ending)) = core.split_once(['\'', '’']) {
        return split_apostrophe(word, ending, tokens);
    }
    if !core.contains(['-', '/']) {
        return push(core, false, tokens);
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

/// Splits a number from the unit or ending that is written with it, if there is one.
fn split_number((number, suffix): (&str, &str), tokens: &mut Vec<Token>) -> bool {
    let suffix_lower = suffix.to_lowercase();
    match suffix_lower.as_str() {
        "st" | "nd" | "rd" | "th" | "x" | "×" | "er" | "h00" => push(number, false, tokens),
        "am" | "pm" | "h" | "uhr" | "a.m" | "p.m" => {
            push(number, false, tokens);
            push(suffix, true, tokens);
        }
        unit if is_unit(unit) => {
            push(number, false, tokens);
            push(suffix, true, tokens);
        }
        _ => return false,
    }
    true
}

/// Tells whether a text can be the key of a setting: `lr`, `--max-tokens`.
fn is_key(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.contains(char::is_alphabetic) && text.chars().all(is_part)
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
            // `妈妈的`
            if after.starts_with('的')
                && let Some(last) = tokens.last_mut()
            {
                last.possessive = true;
            }
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
        tag: false,
        possessive: false,
        stop: ' ',
    });
}
