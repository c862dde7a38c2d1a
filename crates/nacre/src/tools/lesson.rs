//! Tools for lessons: one stores a lesson that is given on purpose; a person lists all and decides about those that wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Call, ToolResult};
use super::tool::Request;
use crate::base::Calendar;
use crate::base::frame::one_line;
use crate::context::turn::{self, Lesson, LessonState};
use crate::records::lesson;

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
pub struct LessonAnswer {
    /// Its text.
    pub text: String,
    /// Whether it was already known.
    pub known: bool,
}

impl Request for LessonRequest {
    type Answer = LessonAnswer;
    const NAME: &str = "lesson_add";

    fn run(self, call: &mut Call<'_>) -> ToolResult<LessonAnswer> {
        let caller = call.caller;
        call.write(|write| {
            let learned = turn::teach(write.db, &self.text, caller)?;
            match &learned {
                Some(text) => write.record(&"lesson", "chars", text.chars().count()),
                None => write.unchanged(),
            }
            Ok(LessonAnswer { known: learned.is_none(), text: learned.unwrap_or(self.text) })
        })
    }

    fn say(answer: &LessonAnswer, _: &Calendar) -> String {
        if answer.known { "This lesson was already known.".into() } else { "Learned.".into() }
    }
}

/// List the lessons, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LessonsRequest {}

/// The lessons of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Lessons {
    /// Newest first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub lessons: Vec<Lesson>,
}

impl Request for LessonsRequest {
    type Answer = Lessons;
    const NAME: &str = "lesson_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Lessons> {
        Ok(Lessons { lessons: turn::lessons(call.view())? })
    }

    fn say(answer: &Lessons, _: &Calendar) -> String {
        let state = |lesson: &Lesson| match lesson.state {
            LessonState::Confirmed => String::new(),
            other => format!(" ({})", other.as_str()),
        };
        let line = |one: &Lesson| format!("{} {}{}", one.number, one_line(&one.text), state(one));
        answer.lessons.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// A person's decision about a lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "verbs")]
pub enum LessonDecision {
    Confirm,
    Remove,
}

/// Confirm a lesson that waits, so that it is injected from now on, or remove a lesson.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LessonDecideRequest {
    /// The number of the lesson.
    #[schemars(range(min = 1))]
    pub number: i64,
    /// The decision.
    pub decision: LessonDecision,
}

/// A lesson that a person decided about.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LessonDecideAnswer {
    /// The number of the lesson.
    pub number: i64,
    /// Its text.
    pub text: String,
    /// Whether it is injected from now on.
    pub confirmed: bool,
}

impl Request for LessonDecideRequest {
    type Answer = LessonDecideAnswer;
    const NAME: &str = "lesson_decide";

    fn run(self, call: &mut Call<'_>) -> ToolResult<LessonDecideAnswer> {
        let confirmed = self.decision == LessonDecision::Confirm;
        let decided = match self.decision {
            LessonDecision::Confirm => turn::confirm(call.view(), self.number)?,
            LessonDecision::Remove => turn::forget(call.view(), self.number)?,
        };
        call.view().tell_write("lesson", &lesson::source(self.number), 0);
        Ok(LessonDecideAnswer { number: decided.number, text: decided.text, confirmed })
    }

    fn say(answer: &LessonDecideAnswer, _: &Calendar) -> String {
        let word = if answer.confirmed { "Confirmed" } else { "Removed" };
        format!("{word}: {}", one_line(&answer.text))
    }
}
