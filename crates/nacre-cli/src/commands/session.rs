//! Conversations: those of other programs brought in, listed, shown; transcripts of our own added to, read as a model
//! should see them, summed up, ended.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::SessionId;
use nacre::call::{
    AppendRequest, CompactRequest, ContextRequest, EndRequest, FlushRequest, SessionRequest, SessionsRequest,
};
use nacre::session::{Draft, Recorded};
use serde::Serialize;
use serde_json::Value;

use super::input::text_or_stdin;

use crate::args::Session;
use crate::context::Context;
use crate::render::{self, Paint, Progress, line, plain};

pub fn run(context: &Context, args: &Session) -> Result<ExitCode> {
    match args {
        Session::Import { files } => import(context, files),
        Session::List { limit } => list(context, *limit),
        Session::Show { id, from, limit } => {
            show(context, &SessionRequest { id: id.clone(), from: *from, limit: *limit })
        }
        Session::Append { id, jsonl: true, .. } => append_lines(context, id),
        Session::Append { id, text, author, message, name, input, .. } => {
            let role = author.context("a message has an author")?;
            let content = text.as_deref().map(text_or_stdin).transpose()?;
            let input = input.as_ref().map(|input| nacre::call::parse(input.as_bytes())).transpose()?;
            let (id_of_it, name) = (message.clone(), name.clone());
            let draft = Draft { id: id_of_it, role, content, name, input, timestamp: None };
            append(context, &AppendRequest { id: Some(id.clone()), messages: vec![draft] })
        }
        Session::Context { id, tokens } => {
            said(context, "session_context", &ContextRequest { id: id.clone(), tokens: *tokens })
        }
        Session::Compact { id } => said(context, "session_compact", &CompactRequest { id: id.clone() }),
        Session::FlushCheck { id, tokens, message } => {
            let message = text_or_stdin(message)?;
            said(context, "session_flush", &FlushRequest { id: Some(id.clone()), tokens: *tokens, message })
        }
        Session::End { id } => said(context, "session_end", &EndRequest { id: id.clone() }),
    }
}

/// Calls a tool whose answer in words is what a person wants to read, too.
fn said(context: &Context, tool: &str, request: &impl Serialize) -> Result<ExitCode> {
    let answer = context.call(tool, request)?;
    if context.global.json {
        render::json(&answer.data)?
    } else {
        render::out(&plain(&answer.text))?
    }
    Ok(ExitCode::SUCCESS)
}

fn append(context: &Context, request: &AppendRequest) -> Result<ExitCode> {
    let answer = context.call("session_append", request)?;
    if context.global.json {
        render::json(&answer.data)?;
        return Ok(ExitCode::SUCCESS);
    }
    render::out(&plain(&answer.text))?;
    Ok(ExitCode::SUCCESS)
}

/// How many lines are written at once: as many as wait for the disk together.
const LINES: usize = 500;

/// Adds lines of JSON as they come. One that is none is refused, with its number; those before it are written.
fn append_lines(context: &Context, id: &SessionId) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    let mut done = Lines::default();
    let mut drafts = Vec::new();
    let mut input = std::io::stdin().lock();
    let mut refused = None;
    loop {
        let mut line = Vec::new();
        let most = nacre::call::MAX_REQUEST as u64 + 1;
        let read =
            input.by_ref().take(most).read_until(b'\n', &mut line).context("standard input can't be read")?;
        if read > 0 && !line.trim_ascii().is_empty() {
            done.read += 1;
            match draft(&line) {
                Ok(draft) => drafts.push(draft),
                Err(problem) => {
                    refused = Some(problem.context(format!("line {} can't be taken", done.read)));
                }
            }
        }
        if drafts.len() == LINES || read == 0 || refused.is_some() {
            if !drafts.is_empty() {
                let appended = nacre::session::append(&mut view, id, &std::mem::take(&mut drafts))?;
                (done.added, done.present) = (done.added + appended.added, done.present + appended.present);
                done.tokens = appended.tokens;
                done.warnings.extend(appended.warnings);
                done.flush = appended.flush.and_then(|flush| flush.prompt).or(done.flush);
                done.compacted += usize::from(appended.compacted.is_some());
            }
            if read == 0 || refused.is_some() {
                break;
            }
        }
    }
    if let Some(problem) = refused {
        return Err(problem);
    }
    if context.global.json {
        render::json(&done)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Lines { added, present, tokens, .. } = &done;
    render::out(&format!(
        "{added} messages added, {present} were there already, about {tokens} tokens of context"
    ))?;
    done.warnings.iter().for_each(|warning| render::note(&plain(warning)));
    if let Some(prompt) = &done.flush {
        render::out(prompt)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What became of lines.
#[derive(Default, Serialize)]
struct Lines {
    read: usize,
    added: usize,
    present: usize,
    tokens: i64,
    compacted: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flush: Option<String>,
}

fn draft(line: &[u8]) -> Result<Draft> {
    let value = nacre::call::parse(line)?;
    serde_json::from_value(value).map_err(|problem| {
        let problem = format!("is no message: {problem}");
        let (tool, field) = ("session_append".into(), "messages".into());
        nacre::Error::BadArgument { tool, field, problem, nearest: None }.into()
    })
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
            ) + if session["archived"] == true { ", packed" } else { "" };
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
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    let mut all = Vec::new();
    for file in files {
        let name =
            file.file_name().map_or_else(|| "session".into(), |name| name.to_string_lossy().into_owned());
        let input = File::open(file).with_context(|| format!("{} can't be opened", file.display()))?;
        let bar =
            Progress::bytes(context.global.json, &name, input.metadata().map_or(0, |found| found.len()));
        let told = |messages: usize| bar.say(&format!("{name}: {messages} messages"));
        let done =
            nacre::session::import_transcript(&mut view, BufReader::new(bar.reading(input)), &name, told);
        drop(bar);
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
