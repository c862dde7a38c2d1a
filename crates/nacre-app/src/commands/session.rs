//! Conversations: import, list and show them; append to transcripts that Nacre keeps, read them as a model should see
//! them, compact and end them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::call::{
    AppendRequest, CompactRequest, ContextRequest, EndRequest, FlushRequest, ReviewRequest, SessionAnswer,
    SessionRequest, Sessions, SessionsRequest, UndoRequest,
};
use nacre::session::{Draft, TranscriptImport};
use nacre::{Outcome, SessionId, Time};
use serde::Serialize;

use super::input::text_or_stdin;
use crate::args::Session;
use crate::context::Context;
use crate::render::{self, Failure, Paint, Progress, count, line, plain};

pub fn run(context: &Context, args: &Session) -> Result<ExitCode> {
    match args {
        Session::Import { files } => import(context, files),
        Session::List { limit } => list(context, *limit),
        Session::Show { id, from, limit } => {
            show(context, SessionRequest { id: id.clone(), from: *from, limit: *limit })
        }
        Session::Append { id, jsonl: true, .. } => append_lines(context, id),
        Session::Append { id, text, author, message, name, input, .. } => {
            let draft = Draft {
                id: message.clone(),
                role: author.context("a message has an author")?,
                content: text.as_deref().map(text_or_stdin).transpose()?,
                name: name.clone(),
                input: input.as_ref().map(|input| nacre::call::parse(input.as_bytes())).transpose()?,
                timestamp: None,
            };
            context.run_and_show(AppendRequest { id: Some(id.clone()), messages: vec![draft] })
        }
        Session::Context { id, tokens } => {
            context.run_and_show(ContextRequest { id: id.clone(), tokens: *tokens })
        }
        Session::Review { id } => context.run_and_show(ReviewRequest { session: id.clone() }),
        Session::Undo { id } => context.run_and_show(UndoRequest { session: id.clone() }),
        Session::Compact { id } => context.run_and_show(CompactRequest { id: id.clone() }),
        Session::FlushCheck { id, tokens, message } => {
            let message = text_or_stdin(message)?;
            context.run_and_show(FlushRequest { id: Some(id.clone()), tokens: *tokens, message })
        }
        Session::End { id } => context.run_and_show(EndRequest { id: id.clone() }),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Lines that are written, and flushed to disk, together.
const BATCH_LINES: usize = 500;

/// Appends lines of JSON as they come. An invalid line is refused with its number; those before it are written.
fn append_lines(context: &Context, id: &SessionId) -> Result<()> {
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
                    refused = Some(problem.context(format!("line {} is not valid", done.read)));
                }
            }
        }
        if drafts.len() == BATCH_LINES || read == 0 || refused.is_some() {
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
        return render::json(&done);
    }
    let Lines { added, present, tokens, .. } = &done;
    render::out(&format!(
        "{} added, {present} already there, about {tokens} tokens of context",
        count(*added, "message", "messages")
    ))?;
    done.warnings.iter().for_each(|warning| render::note(&plain(warning)));
    if let Some(prompt) = &done.flush {
        render::out(prompt)?;
    }
    Ok(())
}

/// The result of appending lines.
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
        let problem = format!("is not a message: {problem}");
        let (tool, field) = ("session_append".into(), "messages".into());
        nacre::Error::BadArgument { tool, field, problem, nearest: None }.into()
    })
}

fn list(context: &Context, limit: Option<usize>) -> Result<()> {
    let reply = context.run(SessionsRequest { limit })?;
    let (false, Outcome::Done(Sessions { sessions, total })) = (context.global.json, &reply.outcome) else {
        return context.show(&reply);
    };
    if sessions.is_empty() {
        return render::out("There are no sessions; `nacre session import FILE` imports some.");
    }
    let minute = |at: Option<Time>| at.map_or("?".into(), |at| at.to_string()[..16].replace('T', " "));
    let paint = Paint::stdout();
    let lines = |session: &nacre::session::Session| {
        let (started, ended) = (minute(session.started_at), minute(session.ended_at));
        let packed = if session.archived { ", packed" } else { "" };
        let project = session.project.as_ref().map(|name| format!(", project {}", plain(name.as_str())));
        let about = format!(
            "  {}  {}  {started} to {ended}  {}{packed}{}",
            line(&session.id, usize::MAX),
            count(session.messages, "message", "messages"),
            session.format,
            project.unwrap_or_default()
        );
        let title = if session.title.is_empty() { "(no messages)" } else { &session.title };
        format!("{}\n{}\n", paint.bold(&line(title, usize::MAX)), paint.dim(&about))
    };
    render::page(&sessions.iter().map(lines).collect::<String>())?;
    let more = total - i64::try_from(sessions.len()).unwrap_or(0);
    if more > 0 {
        render::note(&format!(
            "{} not shown; `--limit` shows more",
            count(more, "older session", "older sessions")
        ));
    }
    Ok(())
}

fn show(context: &Context, request: SessionRequest) -> Result<()> {
    let reply = context.run(request)?;
    let (false, Outcome::Done(shown)) = (context.global.json, &reply.outcome) else {
        return context.show(&reply);
    };
    let SessionAnswer { session, messages, next, .. } = shown;
    let paint = Paint::stdout();
    let mut text = format!(
        "session {}, {}\n",
        line(&session.id, usize::MAX),
        count(session.messages, "message", "messages")
    );
    for said in messages {
        let author = line(said.author.as_deref().unwrap_or("unknown"), usize::MAX);
        let head = paint.bold(&format!("{}. {author}", said.number));
        let at = paint.dim(&said.at.to_string());
        text.push_str(&format!("\n{head}  {at}\n{}\n", plain(&said.text).trim_end()));
    }
    render::page(&render::flow(&text))?;
    if let Some(next) = next {
        render::note(&format!("more messages follow: `--from {next}`"));
    }
    Ok(())
}

/// Imports transcripts.
pub fn import(context: &Context, files: &[std::path::PathBuf]) -> Result<()> {
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    let mut all = Vec::new();
    for file in files {
        let name =
            file.file_name().map_or_else(|| "session".into(), |name| name.to_string_lossy().into_owned());
        let input = open(file)?;
        let bytes = input.metadata().map_or(0, |found| found.len());
        let bar = Progress::bytes(
            context.global.json,
            &format!("Importing {name}"),
            bytes,
            ("message", "messages"),
        );
        let told = |messages: usize| {
            let so_far = count(messages, "message", "messages");
            bar.reached(messages, &format!("Importing {name}  {so_far}"));
        };
        let done =
            nacre::session::import_transcript(&mut view, BufReader::new(bar.reading(input)), &name, told);
        drop(bar);
        all.push((file.as_path(), done?));
    }
    if context.global.json {
        let files: Vec<_> = all.iter().map(|(_, done)| done).collect();
        render::json(&files)
    } else {
        render::out(&render::flow(&all.iter().map(|(file, done)| say(file, done)).collect::<String>()))
    }
}

fn open(file: &Path) -> Result<File> {
    let shown = file.display();
    super::input::check_regular(file)?;
    File::open(file).map_err(|problem| match problem.kind() {
        std::io::ErrorKind::NotFound => {
            let hint = "give the path of a transcript, such as a JSONL file";
            Failure::not_found("no_file", format!("there is no file `{shown}`"), hint).into()
        }
        _ => anyhow::Error::from(nacre::Error::Io { path: file.to_owned(), source: problem }),
    })
}

fn say(file: &Path, done: &TranscriptImport) -> String {
    let read = &done.read;
    let mut text = format!(
        "{}: {}, {}, {} added, {} already here\n",
        plain(&file.display().to_string()),
        read.format,
        count(read.sessions, "session", "sessions"),
        count(done.added, "message", "messages"),
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
