//! The tool for lessons: one that is given on purpose, not one learned from a correction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, Ran};
use super::tool::Request;
use crate::base::Calendar;
use crate::context::turn;

/// Store a lesson: a rule for your behavior that the user gave.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LessonRequest {
    /// The lesson, as one sentence.
    #[schemars(length(min = 1, max = 2000))]
    pub text: String,
}

/// The result of storing a lesson.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LessonLearned {
    /// Its text.
    pub text: String,
    /// Whether it was already known.
    pub known: bool,
}

impl Request for LessonRequest {
    type Answer = LessonLearned;
    const NAME: &str = "lesson_add";

    fn run(self, call: &mut Call<'_>) -> Ran<LessonLearned> {
        let caller = call.caller;
        call.write(|write| {
            let learned = turn::teach(write.db, &self.text, caller)?;
            match &learned {
                Some(text) => write.record(&"lesson", "chars", text.chars().count()),
                None => write.unchanged(),
            }
            Ok(LessonLearned { known: learned.is_none(), text: learned.unwrap_or(self.text) })
        })
    }

    fn say(answer: &LessonLearned, _: &Calendar) -> String {
        if answer.known { "This lesson was already known.".into() } else { "Learned.".into() }
    }
}
