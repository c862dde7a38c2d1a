//! Conversations of other programs: brought in, listed, shown.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::call::{SessionRequest, SessionsRequest};
use nacre::session::Recorded;
use serde_json::Value;

use crate::args::Session;
use crate::context::Context;
use crate::render::{self, Paint, line, plain};

pub fn run(context: &Context, args: &Session) -> Result<ExitCode> {
    match args {
        Session::Import { files } => import(context, files),
        Session::List { limit } => list(context, *limit),
        Session::Show { id, from, limit } => {
            show(context, &SessionRequest { id: id.clone(), from: *from, limit: *limit })
        }
    }
}

fn list(context: &Context, limit: Option<usize>) -> Result<ExitCode> {
    let answer = context.call("session_list", &SessionsRequest { limit })?;
    if context.global.json {
        render::json(&answer.data)?;
        return Ok(ExitCode::SUCCESS);
    }
    let sessions = answer.data["sessions"].as_array().context("a list answers with sessions")?;
    if sessions.is_empty() {
        render::out("There are no sessions; `nacre session import FILE` brings some in.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<(String, String)> = sessions
        .iter()
        .map(|session| {
            let day = |key: &str| {
                session[key].as_str().map_or("?", |at| at.get(..16).unwrap_or(at)).replace('T', " ")
            };
            let about = format!(
                "{:>6} messages  {} to {}  {}",
                session["messages"],
                day("started_at"),
                day("ended_at"),
                session["format"].as_str().unwrap_or_default()
            );
            (line(session["id"].as_str().unwrap_or_default(), usize::MAX), about)
        })
        .collect();
    render::out(&render::table(&rows))?;
    let more = answer.data["total"].as_u64().unwrap_or(0).saturating_sub(sessions.len() as u64);
    if more > 0 {
        render::note(&format!("{more} older ones; `--limit` shows more"));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(context: &Context, request: &SessionRequest) -> Result<ExitCode> {
    let answer = context.call("session_show", request)?;
    if context.global.json {
        render::json(&answer.data)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (data, paint) = (&answer.data, Paint::stdout());
    let word = |value: &Value| line(value.as_str().unwrap_or_default(), usize::MAX);
    let session = &data["session"];
    let mut text = format!("session {}, {} messages\n", word(&session["id"]), session["messages"]);
    for said in data["messages"].as_array().context("a session has messages")? {
        let author = said["author"].as_str().map_or("unknown".into(), |author| line(author, usize::MAX));
        let head = format!("{}. {author}", said["number"]);
        text.push_str(&format!("\n{}  {}\n", paint.bold(&head), paint.dim(&word(&said["at"]))));
        text.push_str(plain(said["text"].as_str().unwrap_or_default()).trim_end());
        text.push('\n');
    }
    render::out(&text)?;
    if let Some(next) = data["next"].as_u64() {
        render::note(&format!("it goes on: `--from {next}`"));
    }
    Ok(ExitCode::SUCCESS)
}

fn import(context: &Context, files: &[std::path::PathBuf]) -> Result<ExitCode> {
    let mut group = context.group()?;
    let mut all = Vec::new();
    for file in files {
        let name =
            file.file_name().map_or_else(|| "session".into(), |name| name.to_string_lossy().into_owned());
        let input = File::open(file).with_context(|| format!("{} can't be opened", file.display()))?;
        let told = |messages: usize| render::progress(&format!("{name}: {messages} messages"));
        let done = group.import_session(&context.caller(), BufReader::new(input), &name, told);
        render::progress("");
        all.push((file.as_path(), done?));
    }
    if context.global.json {
        let files: Vec<_> = all.iter().map(|(_, done)| done).collect();
        render::json(&files)?;
    } else {
        render::out(&all.iter().map(|(file, done)| say(file, done)).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn say(file: &Path, done: &Recorded) -> String {
    let read = &done.read;
    let mut text = format!(
        "{}: {}, {} sessions, {} messages added, {} were here already\n",
        plain(&file.display().to_string()),
        read.format,
        read.sessions,
        done.added,
        done.present
    );
    for (why, count) in read.skipped.iter().chain(&read.mended) {
        text.push_str(&format!("  {count:6}  {why}\n"));
    }
    for note in &read.notes {
        text.push_str(&format!("  {}\n", plain(&note.to_string())));
    }
    text
}
