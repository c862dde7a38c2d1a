//! What the graph does not know: a question that names somebody and asks for what no fact says. Where no document says
//! it either, silence is the answer.

use super::question::{Asked, Question};
use super::{name, recall};
use crate::index::embed::builtin;
use crate::index::{Language, analyse};

/// From which nearness of meaning a line may answer that shares too few words with what is asked.
const NEAR: f32 = 0.5;
/// Shorter lines mean too little to be compared.
const WORDS: usize = 4;

/// A question about somebody of whom the graph does not know what is asked.
#[derive(Clone, Debug)]
pub(crate) struct Unknown {
    /// Folded names: any of one who is known, every word of one who is not.
    names: Vec<String>,
    is_stranger: bool,
    asked: Vec<Asked>,
}

impl Unknown {
    /// Returns whom and what a question is about, where silence may be the answer to it: it names somebody, by these
    /// names, and asks for something that people and things have.
    pub(super) fn of(question: &Question, names: Vec<String>) -> Option<Unknown> {
        let attributes = |asked: &[Asked]| asked.iter().filter(|asked| asked.is_attribute()).count();
        if let Some(mention) = question.named.first() {
            let all = question.asked.len();
            let of = attributes(&question.asked);
            let asks = all > 0 && if mention.is_sure() { of * 2 >= all } else { of == all };
            return asks.then(|| Unknown { names, is_stranger: false, asked: question.asked.clone() });
        }
        let (strangers, asked): (Vec<Asked>, Vec<Asked>) =
            question.asked.iter().cloned().partition(|asked| question.strangers.contains(asked));
        let names = strangers.into_iter().map(|stranger| stranger.word).collect::<Vec<_>>();
        let asks = !names.is_empty() && !asked.is_empty() && attributes(&asked) * 2 >= asked.len();
        asks.then_some(Unknown { names, is_stranger: true, asked })
    }

    /// Tells whether a passage may answer after all: under one heading it speaks of whom is named, and of most of what
    /// is asked, or of something near to it.
    pub(crate) fn is_answered_by(&self, title: &str, text: &str, language: Language) -> bool {
        sections(title, text).iter().any(|section| self.is_in(section, language))
    }

    fn is_in(&self, section: &str, language: Language) -> bool {
        let (words, stems) = (name::words(section), analyse::words(section, language));
        let named = match self.is_stranger {
            true => self.names.iter().all(|name| recall::says(&words, name)),
            false => self.names.iter().any(|name| recall::says(&words, name)),
        };
        let covered = self.asked.iter().filter(|asked| asked.is_in(&words, &stems)).count();
        named && (covered * 2 > self.asked.len() || self.is_near(section))
    }

    fn is_near(&self, section: &str) -> bool {
        // One word means too little to be near to anything.
        if self.asked.len() < 2 {
            return false;
        }
        let asked = self.asked.iter().map(|asked| asked.word.as_str()).collect::<Vec<_>>().join(" ");
        let wanted = builtin::embed_weighted(&asked, |_| 1.0);
        let lines = section.lines().filter(|line| line.split_whitespace().count() >= WORDS);
        lines.map(|line| builtin::embed_weighted(line, |_| 1.0)).any(|line| line.dot(&wanted) >= NEAR)
    }
}

/// A text cut before each of its headings; what describes it belongs to what stands before the first.
fn sections(title: &str, text: &str) -> Vec<String> {
    let mut sections = vec![format!("{title}\n")];
    let lines: Vec<&str> = text.lines().collect();
    for (place, line) in lines.iter().enumerate() {
        let below = lines.get(place + 1).unwrap_or(&"");
        let underlined = below.len() >= 3
            && (below.bytes().all(|byte| byte == b'=') || below.bytes().all(|byte| byte == b'-'))
            && !line.trim().is_empty();
        if line.starts_with('#') || underlined {
            sections.push(String::new());
        }
        let section = sections.last_mut().expect("there is a first");
        section.push_str(line);
        section.push('\n');
    }
    sections
}
