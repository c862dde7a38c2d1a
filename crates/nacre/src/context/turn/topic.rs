//! Topics and anchors: the subjects of a conversation, and statements to keep in mind.

use crate::base::text::cut;
use serde::{Deserialize, Serialize};

use super::state::State;
use crate::base::Time;
use crate::base::words::{self, List};
use crate::index::embed::builtin;
use crate::index::{Language, analyse};
use crate::records::session::exchange::Row;
use crate::records::session::own_words;
use crate::records::session::said;

/// How many exchanges a topic lasts after its last mention.
const WINDOW_EXCHANGES: u32 = 6;
/// In how many exchanges of the window a topic must be mentioned to be fixated.
const FIXATED_EXCHANGES: usize = 4;
/// How many topics are tracked.
const MAX_TOPICS: usize = 12;
/// How many anchors are kept.
const MAX_ANCHORS: usize = 15;
/// How long an anchor is kept.
const ANCHOR_MS: i64 = 2 * 3_600_000;
/// The most characters of an anchor.
const ANCHOR_CHARS: usize = 200;

/// One topic of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// The word.
    pub word: String,
    pub(crate) stem: String,
    /// The exchanges that mentioned it, within the window.
    pub(crate) turns: Vec<u32>,
}

/// The status of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TopicStatus {
    /// Mentioned lately.
    Active,
    /// Mentioned all the time.
    Fixated,
    /// Not mentioned in the last half of the window.
    Fading,
}

impl TopicStatus {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            TopicStatus::Active => "active",
            TopicStatus::Fixated => "fixated",
            TopicStatus::Fading => "fading",
        }
    }
}

impl Topic {
    /// Returns the status of the topic after this many exchanges; `None`: it is no topic any more, or not yet.
    pub fn standing(&self, turn: u32) -> Option<TopicStatus> {
        let last = *self.turns.last()?;
        let ago = turn.saturating_sub(last);
        let within =
            self.turns.iter().filter(|mentioned| turn.saturating_sub(**mentioned) < WINDOW_EXCHANGES).count();
        if ago >= WINDOW_EXCHANGES || self.turns.len() < 2 {
            return None;
        }
        Some(match () {
            () if ago >= WINDOW_EXCHANGES / 2 => TopicStatus::Fading,
            () if within >= FIXATED_EXCHANGES => TopicStatus::Fixated,
            () => TopicStatus::Active,
        })
    }
}

/// A statement to keep in mind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// `identity` or `contradiction`.
    pub kind: String,
    /// The user's words.
    pub text: String,
    /// The time.
    pub at: Time,
}

static ANCHORED: [(&str, List); 2] = [
    ("identity", words::CONVERSATION.list("identity")),
    ("contradiction", words::CONVERSATION.list("contradiction")),
];

/// Updates the state with an exchange.
pub(super) fn follow(state: &mut State, row: &Row, language: Language) {
    mention(state, row, language);
    let now = row.at;
    state.anchors.retain(|anchor| now.as_millis() - anchor.at.as_millis() < ANCHOR_MS);
    for sentence in said::sentences(&own_words::text(&row.user)) {
        let words = said::words(sentence);
        let kind =
            ANCHORED.iter().find(|(_, phrases)| phrases.iter().any(|phrase| said::says(&words, phrase)));
        if let Some((kind, _)) = kind
            && state.anchors.iter().all(|known| known.text != sentence)
        {
            let text = cut(sentence, ANCHOR_CHARS);
            state.anchors.push(Anchor { kind: (*kind).to_owned(), text, at: now });
        }
    }
    let over = state.anchors.len().saturating_sub(MAX_ANCHORS);
    state.anchors.drain(..over);
}

/// Returns the anchors that are still valid.
pub(super) fn holding(state: &State, now: Time) -> impl Iterator<Item = &Anchor> {
    state.anchors.iter().filter(move |anchor| now.as_millis() - anchor.at.as_millis() < ANCHOR_MS)
}

/// Records the topics of an exchange: the rare words of both sides, in prose.
fn mention(state: &mut State, row: &Row, language: Language) {
    const MIN_RARITY: f32 = 0.4;
    let turn = state.turn;
    for side in [&row.user, &row.agent] {
        for word in said::prose(side).split_whitespace() {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let letters = bare.chars().filter(|c| c.is_alphabetic()).count();
            let Some(stem) = analyse::words(bare, language).pop() else { continue };
            if letters < 4 || language.is_common(&stem) || builtin::rarity(bare) < MIN_RARITY {
                continue;
            }
            match state.topics.iter_mut().find(|topic| topic.stem == stem) {
                Some(topic) if topic.turns.last() != Some(&turn) => topic.turns.push(turn),
                Some(_) => {}
                // A word that only the agent used is not yet a topic.
                None if std::ptr::eq(side, &row.user) => {
                    state.topics.push(Topic { word: bare.to_lowercase(), stem, turns: vec![turn] });
                }
                None => {}
            }
        }
    }
    state.topics.retain(|topic| topic.turns.last().is_some_and(|last| turn - last < WINDOW_EXCHANGES));
    for topic in &mut state.topics {
        topic.turns.retain(|mentioned| turn - mentioned < 2 * WINDOW_EXCHANGES);
    }
    // The most mentioned topics, then the newest, are kept.
    state.topics.sort_by_key(|topic| std::cmp::Reverse((topic.turns.len(), topic.turns.last().copied())));
    state.topics.truncate(MAX_TOPICS * 4);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(lines: &[&str]) -> State {
        let mut state = State::default();
        for (n, line) in lines.iter().enumerate() {
            state.turn += 1;
            let row = Row {
                id: n.to_string(),
                session: "s".into(),
                user: (*line).into(),
                agent: "I see.".into(),
                at: Time::from_millis(i64::try_from(n).unwrap() * 60_000),
                searchable: true,
                private: false,
                project: None,
                origin: crate::base::origin::RecordOrigin::Agent,
            };
            follow(&mut state, &row, Language::default());
        }
        state
    }

    fn standing(state: &State, word: &str) -> Option<TopicStatus> {
        state.topics.iter().find(|topic| topic.word == word).and_then(|topic| topic.standing(state.turn))
    }

    #[test]
    fn a_topic_can_be_active_fixated_and_fading() {
        let mut lines = vec!["the migration is late", "how is the migration"];
        assert_eq!(standing(&talk(&lines), "migration"), Some(TopicStatus::Active));
        lines.extend(["this migration again", "migration migration"]);
        assert_eq!(standing(&talk(&lines), "migration"), Some(TopicStatus::Fixated));
        lines.extend(["lunch now", "the weather is fine", "birds sing"]);
        assert_eq!(standing(&talk(&lines), "migration"), Some(TopicStatus::Fading));
        lines.extend(["trees", "clouds", "rain"]);
        assert_eq!(standing(&talk(&lines), "migration"), None, "dropped");
    }

    #[test]
    fn a_word_said_once_is_no_topic() {
        assert_eq!(standing(&talk(&["the migration is late"]), "migration"), None);
    }

    #[test]
    fn an_anchor_is_more_than_a_but() {
        for (line, kind) in [
            ("I like it, but it is late. However, fine.", None),
            ("I am a nurse, by the way", Some("identity")),
            ("Earlier you said the opposite", Some("contradiction")),
            ("I changed my mind about the colour", Some("contradiction")),
            ("I am tired", None),
        ] {
            let state = talk(&[line]);
            assert_eq!(state.anchors.first().map(|anchor| anchor.kind.as_str()), kind, "{line}");
        }
    }

    #[test]
    fn anchors_are_few_and_expire() {
        let lines: Vec<String> = (0..40).map(|n| format!("call me number {n}")).collect();
        let state = talk(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(state.anchors.len(), MAX_ANCHORS);
        assert_eq!(holding(&state, Time::from_millis(41 * 60_000)).count(), MAX_ANCHORS);
        assert_eq!(holding(&state, Time::from_millis(41 * 60_000 + ANCHOR_MS)).count(), 0);
    }
}
