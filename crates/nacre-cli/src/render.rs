//! Tables for people, JSON for programs, error and hint lines. The only place that writes to the terminal.
#![allow(clippy::print_stderr, reason = "this is where errors are shown")]

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Error, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nacre::diff::{Diff, Mark};
use nacre::{Kind, Time};
use serde::Serialize;
use serde_json::json;

/// Writes to standard output. That the reader has gone is no failure: `nacre search | head` ends quietly.
pub fn out(text: &str) -> Result<()> {
    offer(text).map(drop)
}

/// Writes to standard output, and tells whether anyone is there to read it.
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

/// Shows an error: what went wrong, and what to do.
pub fn error(error: &Error, as_json: bool) -> ExitCode {
    let known = error.downcast_ref::<nacre::Error>();
    let kind = known.map_or(Kind::Internal, nacre::Error::kind);
    let hint = known.and_then(nacre::Error::hint);
    let message = message(error);
    if as_json {
        let code = known.map_or("internal", nacre::Error::code);
        let mut value = json!({ "code": code, "kind": kind.as_str(), "message": message });
        if let Some(hint) = &hint {
            value["hint"] = hint.as_str().into();
        }
        let _ = json(&json!({ "error": value }));
    }
    let paint = Paint::stderr();
    eprintln!("{} {}", paint.red("error:"), plain(&message));
    if let Some(hint) = hint {
        eprintln!("{} {}", paint.cyan("hint:"), plain(&hint));
    }
    exit_code(kind)
}

/// What went wrong and why, each said once: some errors say their cause themselves.
pub fn message(error: &Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.ends_with(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// Shows what clap has to say: help and version are answers, the rest are errors.
pub fn usage(problem: &clap::Error, as_json: bool) -> ExitCode {
    if !problem.use_stderr() {
        let _ = problem.print();
        return ExitCode::SUCCESS;
    }
    if as_json {
        // Its first paragraph says what is wrong; the rest is how the command is used.
        let text = problem.to_string();
        let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect::<Vec<_>>();
        let message = lines.join(" ");
        let message = message.trim_start_matches("error: ");
        let hint = "`nacre --help` shows the commands, `nacre COMMAND --help` what one takes";
        let kind = Kind::Invalid.as_str();
        let _ =
            json(&json!({ "error": { "code": "usage", "kind": kind, "message": message, "hint": hint } }));
    }
    let _ = problem.print();
    exit_code(Kind::Invalid)
}

/// A line about the call, beside its answer.
pub fn note(text: &str) {
    eprintln!("{} {}", Paint::stderr().cyan("note:"), plain(text));
}

/// Asks the person yes or no; `None`: nobody is there.
pub fn ask(question: &str) -> Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    eprint!("{} [y/N] ", plain(question));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
}

/// A progress bar on standard error. Nothing is drawn with `--json`, or where standard error is not a terminal. The bar is
/// cleared when this is dropped.
pub struct Progress(ProgressBar);

impl Progress {
    const WITH_TOTAL: &str =
        "[{bar:16}] {percent}% {human_pos}/{human_len} {prefix}, {per_sec:1}, {eta} left  {wide_msg}";
    const BYTES: &str =
        "[{bar:16}] {percent}% {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left  {wide_msg}";
    const WITHOUT_TOTAL: &str = "{spinner} {human_pos} {prefix}, {per_sec:1}, {elapsed}  {wide_msg}";
    const WITHOUT_COUNT: &str = "{spinner} {wide_msg} {elapsed}";

    fn new(as_json: bool, what: &str, total: Option<u64>, template: &str) -> Progress {
        let target = if as_json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template(template).expect("a test draws every template");
        let bar = ProgressBar::with_draw_target(total, target)
            .with_style(style.progress_chars("=> "))
            .with_message(line(what, 60));
        if total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Progress(bar)
    }

    /// Counts what is done; the total is shown once it is known.
    pub fn count(as_json: bool, what: &str, unit: &'static str) -> Progress {
        let progress = Progress::new(as_json, what, None, Progress::WITHOUT_TOTAL);
        progress.0.set_prefix(unit);
        progress
    }

    /// Counts the bytes that are read of a file of this size.
    pub fn bytes(as_json: bool, what: &str, total: u64) -> Progress {
        Progress::new(as_json, what, Some(total), Progress::BYTES)
    }

    /// Work whose steps can't be counted.
    pub fn busy(as_json: bool, what: &str) -> Progress {
        Progress::new(as_json, what, None, Progress::WITHOUT_COUNT)
    }

    pub fn done(&self, done: impl TryInto<u64>) {
        self.0.set_position(done.try_into().unwrap_or(0));
    }

    pub fn done_of(&self, done: impl TryInto<u64>, total: impl TryInto<u64>) {
        if self.0.length().is_none() {
            let style =
                ProgressStyle::with_template(Progress::WITH_TOTAL).expect("a test draws every template");
            self.0.disable_steady_tick();
            self.0.set_style(style.progress_chars("=> "));
        }
        self.0.set_length(total.try_into().unwrap_or(0));
        self.done(done);
    }

    pub fn say(&self, what: &str) {
        self.0.set_message(line(what, 60));
    }

    /// Moves the bar by what is read.
    pub fn reading<R: io::Read>(&self, input: R) -> impl io::Read {
        self.0.wrap_read(input)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The exit code of a failure.
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

/// Colours, where a person is looking.
#[derive(Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    pub fn stdout() -> Paint {
        Paint(io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none())
    }
    pub fn stderr() -> Paint {
        Paint(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
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

/// A difference, with the words that differ set off where a person is looking.
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

/// Memory is hostile: nothing in it may steer the terminal, or show text in another order than it has.
pub fn plain(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// The text on one line, cut to `width` characters.
pub fn line(text: &str, width: usize) -> String {
    let text = plain(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if text.chars().count() <= width {
        text
    } else {
        text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    }
}

/// How long ago, in the fewest characters.
pub fn age(now: Time, then: Time) -> String {
    match now.whole_days_since(then) {
        0 => "today".into(),
        days => format!("{days}d ago"),
    }
}

/// Columns set out under each other.
pub fn table<N: AsRef<str>>(rows: &[(N, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{:width$}  {}\n", name.as_ref(), plain(value))).collect()
}

/// The width to write in.
pub fn width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn every_template_can_be_drawn() {
        let _ = (Progress::bytes(true, "a", 1), Progress::busy(true, "a"));
        Progress::count(true, "a", "files").done_of(1, 2);
    }
}
