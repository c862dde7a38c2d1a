//! The tool that teaches: a lesson said on purpose, not one heard in a correction (T5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, Ran};
use super::tool::Request;
use crate::base::Time;
use crate::context::turn;

/// Learn how to behave from what the user said.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LessonRequest {
    /// The lesson, as one sentence.
    #[schemars(length(min = 1, max = 2000))]
    pub text: String,
}

/// What became of a lesson.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LessonLearned {
    /// What was learned.
    pub text: String,
    /// Whether it was known already.
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

    fn say(answer: &LessonLearned, _: Time) -> String {
        if answer.known { "It was known already.".into() } else { "Learned.".into() }
    }
}
