//! Tables for people, JSON for programs, error and hint lines. The only place that writes to the terminal.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, Once, OnceLock};
use std::time::Duration;

use anyhow::{Error, Result};
use clap::ValueEnum;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use nacre::diff::{Diff, Mark};
use nacre::{Kind, Time};
use serde::Serialize;
use serde_json::json;

/// Writes to standard output. A closed pipe is not an error: `nacre search | head` ends quietly.
pub fn out(text: &str) -> Result<()> {
    offer(text).map(drop)
}

/// Writes to standard output, and tells whether the reader is still there.
pub fn offer(text: &str) -> Result<bool> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| if text.ends_with('\n') { Ok(()) } else { stdout.write_all(b"\n") });
    match written.and_then(|()| stdout.flush()) {
        Err(problem) if problem.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => Ok(written.map(|()| true)?),
    }
}

/// Writes one JSON value.
pub fn json(value: &impl Serialize) -> Result<()> {
    out(&serde_json::to_string(value)?)
}

/// Shows an error and its hint.
pub fn error(error: &Error, as_json: bool) -> ExitCode {
    let Failure { kind, code, message, hint } = Failure::of(error);
    if as_json {
        let mut value = json!({ "code": code, "kind": kind.as_str(), "message": message });
        if let Some(hint) = &hint {
            value["hint"] = hint.as_str().into();
        }
        let _ = json(&json!({ "error": value }));
    }
    let paint = Paint::stderr();
    say(&format!("{} {}\n", paint.red("error:"), plain(&message)));
    if let Some(hint) = hint {
        say(&format!("{} {}\n", paint.cyan("hint:"), plain(&hint)));
    }
    exit_code(kind)
}

/// Writes to standard error. A closed pipe changes neither the answer nor the exit code.
fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// A failure as the command line reports it.
#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: Kind,
    pub code: &'static str,
    pub message: String,
    pub hint: Option<String>,
}

impl Failure {
    pub fn not_found(code: &'static str, message: String, hint: &str) -> Failure {
        Failure { kind: Kind::NotFound, code, message, hint: Some(hint.to_owned()) }
    }

    pub fn invalid(code: &'static str, message: String, hint: &str) -> Failure {
        Failure { kind: Kind::Invalid, code, message, hint: Some(hint.to_owned()) }
    }

    /// Returns any error in this form.
    pub fn of(error: &Error) -> Failure {
        let message = message(error);
        if let Some(failure) = error.downcast_ref::<Failure>() {
            return Failure { message, ..failure.clone() };
        }
        let known = error.downcast_ref::<nacre::Error>();
        Failure {
            kind: known.map_or(Kind::Internal, nacre::Error::kind),
            code: known.map_or("internal", nacre::Error::code),
            message,
            hint: known.and_then(nacre::Error::hint),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Returns the message of an error with its causes, each once: some errors name their cause themselves.
pub fn message(error: &Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.ends_with(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// Shows a message of clap: help and version are answers, the rest are errors.
pub fn usage(problem: &clap::Error, as_json: bool) -> ExitCode {
    let text = |paint: Paint| match paint.0 {
        true => problem.render().ansi().to_string(),
        false => problem.render().to_string(),
    };
    if !problem.use_stderr() {
        let _ = page(&text(Paint::stdout()));
        return ExitCode::SUCCESS;
    }
    if as_json {
        // Its first paragraph is the error; the rest is the usage.
        let text = problem.to_string();
        let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect::<Vec<_>>();
        let message = lines.join(" ");
        let message = message.trim_start_matches("error: ");
        let hint = "`nacre --help` shows the commands, `nacre COMMAND --help` the options of one";
        let kind = Kind::Invalid.as_str();
        let _ =
            json(&json!({ "error": { "code": "usage", "kind": kind, "message": message, "hint": hint } }));
    }
    say(&text(Paint::stderr()));
    exit_code(Kind::Invalid)
}

/// Writes a note about the call to standard error.
pub fn note(text: &str) {
    say(&format!("{} {}\n", Paint::stderr().cyan("note:"), plain(text)));
}

/// Says why nothing happens yet.
pub fn long_wait() {
    note("waiting for another process that uses this memory");
}

/// Asks the user yes or no; `None`: there is no terminal.
pub fn ask(question: &str) -> Result<Option<bool>> {
    ask_with(question, false)
}

/// Asks the user; an empty answer is the default.
pub fn ask_with(question: &str, default: bool) -> Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    say(&format!("{} {} ", plain(question), if default { "[Y/n]" } else { "[y/N]" }));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(Some(match answer.trim().to_lowercase().as_str() {
        // The end of the input is not an answer.
        "" => default && !answer.is_empty(),
        answer => matches!(answer, "y" | "yes"),
    }))
}

/// A progress line on standard error. Nothing is drawn with `--json`, or if standard error is not a terminal. The line is
/// cleared when this is dropped. Ctrl-C ends the program with one sentence about what is stored by then.
pub struct Progress(ProgressBar);

/// The name of one step of the work, in singular and plural.
pub type Unit = (&'static str, &'static str);

/// The effect of work that is stopped midway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Finished steps are stored.
    Writes,
    /// A dry run.
    Reads,
    /// Steps that are not counted.
    Uncounted,
}

impl Progress {
    const WITH_TOTAL: &str = "{msg}  {human_pos} / {human_len} {prefix}  {percent}%  {per_sec:1}  {eta} left";
    const BYTES: &str = "{msg}  {bytes} / {total_bytes}  {percent}%  {bytes_per_sec}  {eta} left";
    const WITHOUT_TOTAL: &str = "{spinner} {msg}  {human_pos} {prefix}  {per_sec:1}  {elapsed}";
    const WITHOUT_COUNT: &str = "{spinner} {msg}  {elapsed}";

    fn new(as_json: bool, what: &str, total: Option<u64>, template: &str, effect: Effect) -> Progress {
        let target = if as_json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template(template).expect("a test draws every template");
        let bar = ProgressBar::with_draw_target(total, target).with_style(style).with_message(line(what, 40));
        if let Ok(mut reached) = PROGRESS.lock() {
            *reached = ProgressState { steps: 0, unit: ("", ""), effect };
        }
        say_when_stopped();
        if total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Progress(bar)
    }

    /// Counts steps; the total is shown once it is known.
    pub fn count(as_json: bool, what: &str, unit: Unit, effect: Effect) -> Progress {
        let progress = Progress::new(as_json, what, None, Progress::WITHOUT_TOTAL, effect);
        progress.set_unit(unit);
        progress
    }

    /// Counts the bytes that are read of a file of this size, and names its steps.
    pub fn bytes(as_json: bool, what: &str, total: u64, unit: Unit) -> Progress {
        let progress = Progress::new(as_json, what, Some(total), Progress::BYTES, Effect::Writes);
        progress.set_unit(unit);
        progress
    }

    /// Shows work whose steps can't be counted.
    pub fn busy(as_json: bool, what: &str) -> Progress {
        Progress::new(as_json, what, None, Progress::WITHOUT_COUNT, Effect::Uncounted)
    }

    /// Begins to count something else.
    pub fn set_unit(&self, unit: Unit) {
        self.0.set_prefix(unit.1);
        if let Ok(mut reached) = PROGRESS.lock() {
            reached.unit = unit;
        }
    }

    pub fn done(&self, done: impl TryInto<u64>) {
        let done = done.try_into().unwrap_or(0);
        reach(done);
        self.0.set_position(done);
    }

    pub fn done_of(&self, done: impl TryInto<u64>, total: impl TryInto<u64>) {
        if self.0.length().is_none() {
            let style =
                ProgressStyle::with_template(Progress::WITH_TOTAL).expect("a test draws every template");
            self.0.disable_steady_tick();
            self.0.set_style(style);
        }
        self.0.set_length(total.try_into().unwrap_or(0));
        self.done(done);
    }

    /// Shows a step of the library.
    pub fn show(&self, step: nacre::Progress) {
        let unit = match step.unit {
            nacre::Unit::Notes => ("note", "notes"),
            nacre::Unit::Items => ("item", "items"),
            nacre::Unit::Files => ("file", "files"),
            nacre::Unit::Sections => ("section", "sections"),
            nacre::Unit::Documents => ("indexed document", "indexed documents"),
            nacre::Unit::Passages => ("passage", "passages"),
            nacre::Unit::Records => ("record", "records"),
            nacre::Unit::Jobs => ("job", "jobs"),
        };
        if self.0.prefix() != unit.1 {
            // The rate and the time left are those of the new unit.
            self.0.reset();
            self.set_unit(unit);
        }
        match step.total {
            Some(total) => self.done_of(step.done, total),
            None => self.done(step.done),
        }
    }

    /// Sets the number of steps where the line counts bytes.
    pub fn reached(&self, steps: usize, what: &str) {
        reach(steps as u64);
        self.0.set_message(line(what, 60));
    }

    /// Moves the line by the bytes that are read.
    pub fn reading<R: io::Read>(&self, input: R) -> impl io::Read {
        self.0.wrap_read(input)
    }
}

/// How far the running work is.
struct ProgressState {
    steps: u64,
    unit: Unit,
    effect: Effect,
}

static PROGRESS: Mutex<ProgressState> =
    Mutex::new(ProgressState { steps: 0, unit: ("", ""), effect: Effect::Uncounted });

fn reach(steps: u64) {
    if let Ok(mut reached) = PROGRESS.lock() {
        reached.steps = steps;
    }
}

impl ProgressState {
    fn sentence(&self) -> String {
        let ProgressState { steps, unit: (one, many), effect } = self;
        match (effect, steps) {
            (Effect::Reads, _) => "Stopped. It was a dry run: nothing was written.".to_owned(),
            (Effect::Uncounted, _) => "Stopped. Finished work is kept; run it again to go on.".to_owned(),
            (Effect::Writes, 0) => "Stopped. Nothing is in yet; run it again to go on.".to_owned(),
            (Effect::Writes, 1) => format!("Stopped. 1 {one} is in; run it again to go on."),
            (Effect::Writes, steps) => {
                format!("Stopped. {} {many} are in; run it again to go on.", HumanCount(*steps))
            }
        }
    }
}

/// Ends the program with a sentence on Ctrl-C. Finished work is kept: everything that shows progress writes in transactions.
fn say_when_stopped() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            if runtime.block_on(tokio::signal::ctrl_c()).is_err() {
                return;
            }
            let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
            let sentence =
                PROGRESS.lock().map_or_else(|_| "Stopped.".to_owned(), |reached| reached.sentence());
            say(&format!("{clear}{sentence}\n"));
            // As a shell reports a program that Ctrl-C ended.
            std::process::exit(130);
        });
    });
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Returns the exit code of a failure.
pub fn exit_code(kind: Kind) -> ExitCode {
    ExitCode::from(match kind {
        Kind::Internal => 1,
        Kind::Invalid => 2,
        Kind::NotFound => 3,
        Kind::Conflict => 4,
        Kind::Denied => 5,
        Kind::Limit => 6,
        Kind::Unavailable => 7,
    })
}

/// When colors are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    // On a terminal, if NO_COLOR is not set. Doc comments here would make every help text three times as long.
    #[default]
    Auto,
    Always,
    Never,
}

static COLOR: OnceLock<ColorChoice> = OnceLock::new();

/// Sets when colors are used, once for the whole program.
pub fn set_color(choice: ColorChoice) {
    let _ = COLOR.set(choice);
}

/// Colors, if the output is a terminal.
#[derive(Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    pub fn stdout() -> Paint {
        Paint::on(io::stdout().is_terminal())
    }
    pub fn stderr() -> Paint {
        Paint::on(io::stderr().is_terminal())
    }
    fn on(is_terminal: bool) -> Paint {
        Paint(match COLOR.get().copied().unwrap_or_default() {
            ColorChoice::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none(),
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        })
    }
    fn with(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    pub fn red(self, text: &str) -> String {
        self.with("31", text)
    }
    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }
    pub fn reverse(self, text: &str) -> String {
        self.with("7", text)
    }
    pub fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }
}

/// Renders a diff, with the changed words highlighted on a terminal.
pub fn diff(diff: &Diff, paint: Paint) -> String {
    let mut text = String::new();
    diff.each(|line, shown| {
        let Some(line) = line else {
            text.push_str(&if shown.starts_with("@@") { paint.cyan(shown) } else { paint.bold(shown) });
            text.push('\n');
            return;
        };
        let colour = |part: &str| match line.mark {
            Mark::Same => part.to_owned(),
            Mark::Out => paint.red(part),
            Mark::In => paint.green(part),
        };
        text.push_str(&colour(&line.mark.sign().to_string()));
        let mut at = 0;
        for part in &line.parts {
            text.push_str(&colour(&line.text[at..part.start]));
            text.push_str(&colour(&paint.reverse(&line.text[part.clone()])));
            at = part.end;
        }
        text.push_str(&colour(&line.text[at..]));
        text.push('\n');
    });
    text
}

/// Makes stored text safe to print: nothing in it may control the terminal or change the direction of text.
pub fn plain(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.to_owned();
    }
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// Returns the text on one line, cut to `width` characters.
pub fn line(text: &str, width: usize) -> String {
    let text = plain(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if text.chars().count() <= width {
        text
    } else {
        text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    }
}

/// Returns the age in a few characters.
pub fn age(now: Time, then: Time) -> String {
    match now.whole_days_since(then) {
        _ if then.is_undated() => "undated".into(),
        0 => "today".into(),
        days => format!("{days}d ago"),
    }
}

/// Returns a number with the singular or plural of its noun.
pub fn count(number: impl TryInto<i64>, one: &str, many: &str) -> String {
    let number = number.try_into().unwrap_or(i64::MAX);
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Renders two columns. On a terminal, long values wrap at words and stay in their column.
pub fn table<N: AsRef<str>>(rows: &[(N, String)]) -> String {
    let column = rows.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0);
    let row = |(name, value): &(N, String)| {
        let value = plain(value);
        let value = match width() {
            Some(width) => wrap(&value, width.saturating_sub(column + 2), column + 2),
            None => value,
        };
        format!("{:column$}  {value}\n", name.as_ref())
    };
    rows.iter().map(row).collect()
}

/// Returns the width in columns: COLUMNS, or that of the terminal. `None`: there is no terminal, and lines are not wrapped.
pub fn width() -> Option<usize> {
    static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        told.or_else(|| size().map(|(columns, _)| columns)).filter(|columns| *columns > 0)
    })
}

/// Returns the columns and rows of the terminal on standard output.
#[cfg(unix)]
fn size() -> Option<(usize, usize)> {
    let stdout = io::stdout();
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    Some((usize::from(size.ws_col), usize::from(size.ws_row)))
}
#[cfg(not(unix))]
fn size() -> Option<(usize, usize)> {
    None
}

/// Text is never wrapped to fewer columns.
const MIN_COLUMNS: usize = 20;

/// Breaks lines at words so that each has at most `width` characters. Lines after the first begin with `indent` spaces.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let width = width.max(MIN_COLUMNS);
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.chars().count() <= width {
            lines.push(line.to_owned());
            continue;
        }
        let mut current = String::new();
        let mut length = 0;
        for word in line.split(' ') {
            let chars = word.chars().count();
            if length > 0 && length + 1 + chars > width {
                lines.push(std::mem::take(&mut current));
                length = 0;
            } else if length > 0 || !current.is_empty() {
                current.push(' ');
                length += 1;
            }
            current.push_str(word);
            length += chars;
        }
        lines.push(current);
    }
    lines.join(&format!("\n{:indent$}", ""))
}

/// Breaks the lines of a text that are longer than the terminal is wide. The rest of a line is indented as its beginning.
pub fn flow(text: &str) -> String {
    let Some((width, _)) = size().filter(|(columns, _)| *columns > 0) else { return text.to_owned() };
    let flowed = text.lines().map(|line| {
        let start = line.trim_start_matches(' ');
        let indent = line.len() - start.len();
        format!("{:indent$}{}\n", "", wrap(start, width.saturating_sub(indent), indent))
    });
    flowed.collect()
}

/// Writes to standard output, through a pager if it is a terminal and the text is longer than the screen.
pub fn page(text: &str) -> Result<()> {
    let rows = if io::stdout().is_terminal() { size().map_or(0, |(_, rows)| rows) } else { 0 };
    if rows == 0 || text.lines().count() < rows || !paged(text) {
        return out(text);
    }
    Ok(())
}

/// Shows a text in the pager; `false`: there is none.
fn paged(text: &str) -> bool {
    let told = ["NACRE_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
    let pager = told.unwrap_or_else(|| "less -FRX".into());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next().filter(|program| *program != "cat") else { return false };
    let started = Command::new(program).args(words).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = started else { return false };
    if let Some(mut input) = child.stdin.take() {
        // The user may quit the pager early.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok()
}

#[cfg(test)]
mod tests {
    use super::{Effect, Progress, ProgressState, count, wrap};

    #[test]
    fn lines_break_at_words() {
        for (text, width, indent, expected) in [
            ("short", 20, 4, "short"),
            ("the quick brown fox jumps over the dog", 20, 2, "the quick brown fox\n  jumps over the dog"),
            ("one\ntwo", 20, 1, "one\n two"),
            (
                "a https://example.com/a-very-long-address b",
                20,
                0,
                "a\nhttps://example.com/a-very-long-address\nb",
            ),
            ("", 20, 0, ""),
        ] {
            assert_eq!(wrap(text, width, indent), expected, "{text}");
        }
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(count(1, "session", "sessions"), "1 session");
        assert_eq!(count(0_usize, "entity", "entities"), "0 entities");
    }

    #[test]
    fn every_template_can_be_drawn() {
        let files = ("file", "files");
        let _ = (Progress::bytes(true, "a", 1, files), Progress::busy(true, "a"));
        Progress::count(true, "a", files, Effect::Writes).done_of(1, 2);
    }

    #[test]
    fn a_stopped_command_says_what_is_stored() {
        for (effect, steps, expected) in [
            (Effect::Writes, 0, "Stopped. Nothing is in yet; run it again to go on."),
            (Effect::Writes, 1, "Stopped. 1 note is in; run it again to go on."),
            (Effect::Writes, 1_927, "Stopped. 1,927 notes are in; run it again to go on."),
            (Effect::Reads, 1_927, "Stopped. It was a dry run: nothing was written."),
            (Effect::Uncounted, 0, "Stopped. Finished work is kept; run it again to go on."),
        ] {
            assert_eq!(ProgressState { steps, unit: ("note", "notes"), effect }.sentence(), expected);
        }
    }
}
