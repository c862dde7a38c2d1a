//! Lessons: corrections by the user, stored as rows. `context::turn` learns them and decides when to show
//! them.

use serde::{Deserialize, Serialize};

use super::session::exchange;
use crate::base::named::named;
use crate::base::origin::RecordOrigin;
use crate::base::text::cut;
use crate::base::{Result, Time, redact};
use crate::index::{self, Language, alike as words, analyse};
use crate::records::tombstone::Tombstones;
use crate::store::{Connection, Row, ToSql};

/// The maximum length of a lesson.
pub(crate) const MAX_LESSON_CHARS: usize = 300;
/// Two lessons with at least this likeness are the same lesson.
pub(crate) const MIN_SAME_LIKENESS: f64 = 0.5;

named! {
    /// Whether a lesson is injected.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum LessonState {
        /// Learned once. It waits until a person confirms it or it recurs in another session.
        Waiting = "waiting",
        /// Injected where it applies.
        #[default]
        Confirmed = "confirmed",
        /// Out of use with its session.
        Quarantined = "quarantined",
    }
}

/// A lesson that the user taught.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// The number of the lesson.
    pub number: i64,
    /// The user's words.
    pub text: String,
    /// The question or request that came before.
    pub asked: String,
    /// How explicit the correction was, 0 to 1.
    pub weight: f64,
    /// How often the user repeated it.
    pub recurred: i64,
    /// How often it was added to a turn context.
    pub injected: i64,
    /// How often it was shown and the user did not have to repeat it.
    pub kept: i64,
    /// How often it was shown and the user had to repeat it.
    pub broken: i64,
    /// The time at which it was learned.
    pub learned_at: Time,
    /// The session in which it was learned.
    pub session: String,
    /// Whether it is injected.
    #[serde(default)]
    pub state: LessonState,
    /// The origin of the correction.
    #[serde(default = "person")]
    pub origin: RecordOrigin,
    /// Whether it is hidden from shared sessions. Almost all lessons are.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub private: bool,
}

fn yes() -> bool {
    true
}

fn person() -> RecordOrigin {
    RecordOrigin::Person
}

impl Lesson {
    /// Returns how well it works, 0 to 1: the share of outcomes in which the user did not repeat it. A lesson
    /// without outcomes scores 1.
    pub fn effectiveness(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let share = (self.kept + 1) as f64 / (self.kept + self.broken + 1) as f64;
        share
    }

    pub(crate) fn redact(&mut self) {
        self.text = redact::text(&self.text).into_owned();
        self.asked = redact::text(&self.asked).into_owned();
    }
}

pub(crate) fn is_known(db: &Connection, text: &str) -> Result<bool> {
    Ok(alike(db, text, MIN_SAME_LIKENESS, index::language(db)?)?.is_some())
}

/// Inserts a lesson from an export, unless a lesson with the same meaning exists.
pub(crate) fn insert(db: &Connection, lesson: &Lesson) -> Result<bool> {
    let language = index::language(db)?;
    let text = cut(&lesson.text, MAX_LESSON_CHARS);
    if text.trim().is_empty()
        || Tombstones::load(db)?.cover(&text)
        || alike(db, &text, MIN_SAME_LIKENESS, language)?.is_some()
    {
        return Ok(false);
    }
    let asked = cut(&lesson.asked, MAX_LESSON_CHARS);
    let lesson = Lesson { text, asked, weight: lesson.weight.clamp(0.0, 1.0), ..lesson.clone() };
    let sql = format!("{INSERT} ON CONFLICT DO NOTHING RETURNING number");
    Ok(write(db, &sql, &lesson)?.is_some())
}

/// Writes a lesson as several machines together have it. Returns its number.
pub(crate) fn put_replica(db: &Connection, lesson: &Lesson) -> Result<Option<i64>> {
    if lesson.text.trim().is_empty() {
        return Ok(None);
    }
    let sql = format!(
        "{INSERT} ON CONFLICT (folded) DO UPDATE SET text = excluded.text, asked = excluded.asked, weight = excluded.weight,
            recurred = excluded.recurred, injected = excluded.injected, kept = excluded.kept, broken = excluded.broken,
            learned_at = excluded.learned_at, session = excluded.session, private = excluded.private,
            state = excluded.state, origin = excluded.origin RETURNING number"
    );
    write(db, &sql, lesson)
}

const INSERT: &str = "INSERT INTO lessons (text, folded, asked, weight, recurred, injected, kept, broken, learned_at, session, private,
        state, origin)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";

/// Writes a row and returns its number, if there is a new one.
fn write(db: &Connection, sql: &str, lesson: &Lesson) -> Result<Option<i64>> {
    let Lesson { text, asked, weight, recurred, injected, kept, broken, learned_at, .. } = lesson;
    let Lesson { session, private, state, origin, .. } = lesson;
    let (folded, state) = (key(text), state.as_str());
    let fields: [&dyn ToSql; 13] = [
        text, &folded, asked, weight, recurred, injected, kept, broken, learned_at, session, private, &state,
        origin,
    ];
    db.row(sql, fields, |row| row.get(0))
}

/// Returns the hash by which two lessons are the same.
pub(crate) fn key(text: &str) -> String {
    exchange::hash(&[&analyse::fold(text)])
}

/// Deletes a lesson.
pub(crate) fn remove(db: &Connection, number: i64) -> Result<()> {
    db.run("DELETE FROM lessons WHERE number = $1", [number]).map(drop)
}

pub(crate) fn count_injected(db: &Connection, numbers: &[i64]) -> Result<()> {
    for number in numbers {
        db.run("UPDATE lessons SET injected = injected + 1 WHERE number = $1", [number])?;
    }
    Ok(())
}

pub(crate) fn source(number: i64) -> String {
    format!("lesson:{number}")
}

/// Returns the number of the lesson that a line was made from, if it was made from one.
pub(crate) fn number(source: &str) -> Option<i64> {
    source.strip_prefix("lesson:")?.parse().ok()
}

const COLUMNS: &str =
    "number, text, asked, weight, recurred, injected, kept, broken, learned_at, session, private, state,
    origin";

/// Returns all lessons, newest first.
pub(crate) fn all(db: &Connection) -> Result<Vec<Lesson>> {
    db.rows(&format!("SELECT {COLUMNS} FROM lessons ORDER BY number DESC"), (), from_row)
}

pub(crate) fn get(db: &Connection, number: i64) -> Result<Option<Lesson>> {
    db.row(&format!("SELECT {COLUMNS} FROM lessons WHERE number = $1"), [number], from_row)
}

fn from_row(row: &Row<'_>) -> Result<Lesson> {
    Ok(Lesson {
        number: row.get(0)?,
        text: row.get(1)?,
        asked: row.get(2)?,
        weight: row.get(3)?,
        recurred: row.get(4)?,
        injected: row.get(5)?,
        kept: row.get(6)?,
        broken: row.get(7)?,
        learned_at: row.get(8)?,
        session: row.get(9)?,
        private: row.get(10)?,
        state: LessonState::of_name(row.text(11)?).unwrap_or(LessonState::Waiting),
        origin: row.get(12)?,
    })
}

pub(crate) fn alike(db: &Connection, text: &str, least: f64, language: Language) -> Result<Option<i64>> {
    let lessons = all(db)?;
    let found = lessons.iter().map(|lesson| (words::likeness(&lesson.text, text, language), lesson.number));
    Ok(found
        .filter(|(share, _)| *share >= least)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, number)| number))
}
