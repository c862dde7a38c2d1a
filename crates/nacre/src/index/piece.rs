//! Pieces: what of a passage gets a vector of its own. One vector for a page of text says nothing.
//!
//! A passage means what its best piece means, so pieces are cut where what is said changes: at sentence ends,
//! short where people talk (a remark is what they are asked for), longer in pages (documents and what an
//! assistant writes). The condition of an instruction is a piece too: "when I ask about deadlines" says what
//! it is for, the words before it say what to do then.

use std::sync::LazyLock;

use regex::Regex;

use super::Passage;

/// Changes whenever the same passage would give other pieces.
pub(crate) const VERSION: &str = "2";

/// How many words a piece has at most, where people talk and in pages. A longer sentence is a piece of its own.
const WORDS: usize = 25;
const WORDS_OF_PAGES: usize = 60;

/// Returns the pieces of a passage.
pub(crate) fn of(passage: &Passage) -> Vec<&str> {
    let page = passage.kind == "chunk" || passage.author.as_deref() == Some("assistant");
    let mut pieces = cut(&passage.text, if page { WORDS_OF_PAGES } else { WORDS });
    pieces.extend(if page { None } else { condition(&passage.text) });
    pieces
}

fn cut(text: &str, most: usize) -> Vec<&str> {
    let (mut pieces, mut start, mut from, mut words) = (Vec::new(), 0, 0, 0);
    for to in sentence_ends(text) {
        let more =
            text[from..to].split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
        if words > 0 && words + more > most {
            pieces.push(text[start..from].trim());
            (start, words) = (from, 0);
        }
        words += more;
        from = to;
    }
    pieces.push(text[start..].trim());
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Where sentences and lines end, the end of the text included.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> {
    let mut ended = false;
    let ends = text.char_indices().filter(move |(_, c)| {
        let end = *c == '\n' || (ended && c.is_whitespace());
        ended = matches!(c, '.' | '!' | '?' | '。' | '！' | '？');
        end
    });
    ends.map(|(at, _)| at).chain([text.len()])
}

/// What an instruction is for, where it says so. English; in another language the whole text speaks for it.
fn condition(text: &str) -> Option<&str> {
    static WHEN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i-u)\bwhen(?:ever)? i (?:ask|request|mention|bring up|talk)(?: (?:you )?(?:for|about|of|to))?\b",
        )
        .expect("a constant pattern")
    });
    let rest = &text[WHEN.find(text)?.end()..];
    let condition = rest[..sentence_ends(rest).next().unwrap_or(rest.len())].trim();
    condition.contains(char::is_alphanumeric).then_some(condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_sentence_ends() {
        let text = "One two three. Four five!\nSix seven eight nine ten. Eleven?";
        assert_eq!(cut(text, 5), ["One two three. Four five!", "Six seven eight nine ten.", "Eleven?"]);
        assert_eq!(cut(text, 60), [text]);
        assert_eq!(cut(" \n ", 5), [""; 0]);
    }

    #[test]
    fn a_condition_is_a_piece() {
        for (text, expected) in [
            ("Always format dates in full when I ask about deadlines.", Some("deadlines.")),
            ("Whenever I mention my sister, be kind. She is ill.", Some("my sister, be kind.")),
            ("When I ask for code give tests too", Some("code give tests too")),
            ("I was ten when I talked to her", None),
            ("when I ask.", None),
        ] {
            assert_eq!(condition(text), expected, "{text}");
        }
    }
}
