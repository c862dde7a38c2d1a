//! `nacre hook EVENT` (I8): what an agent's program tells us of a conversation, and what we put into it.
//!
//! JSON in, JSON out, in the form that Claude Code, Codex, VS Code and Gemini CLI share. A hook stands between a
//! person and their agent, so it fails open: whatever is wrong with the input, the home or the time it takes, the
//! answer is valid, empty and in time, the exit code is 0, and the reason goes to standard error. What has to be
//! kept is put into the spool, which needs neither database nor settings.

use std::io::{IsTerminal, Read, Seek, SeekFrom};
use std::mem::ManuallyDrop;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use nacre::call::{BootRequest, BriefRequest, has_workspace};
use nacre::settings::{Flush, Inject};
use nacre::spool::{self, Heard, What};
use nacre::{
    Caller, Group, Home, SessionId, Settings, View, cut_injected, mark_injected, mark_request,
    strip_injected, turn,
};
use serde_json::{Value, json};

use crate::args::{Global, Hook, RoleName};
use crate::context::{self, Context};
use crate::plugin::{self, Plugins};
use crate::render;

/// The most characters of an answer: clients put aside what is longer. In UTF-16, which is what they count.
const MOST: usize = 9_000;
/// What of it a brief may take; JSON, a note and escapes take the rest.
const MOST_BRIEF: usize = 8_000;
/// What of it a boot may take: it is made again, and shorter, where escapes take more than usual.
const MOST_BOOT: usize = 8_400;
const LEAST_BOOT: usize = 2_000;

const COMPACTED: &str = "The conversation was just compacted. If it taught you something lasting that is not stored yet, \
    store it now with memory_store. The memories from earlier sessions follow again.";

const CUT: &str = "(More did not fit; search for it.)";

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A conversation starts, or starts over after it was compacted: it gets the brief.
    SessionStart,
    /// The person wrote something: it gets what is remembered about that.
    UserPromptSubmit,
    /// The conversation will be compacted.
    PreCompact,
    /// The agent has answered.
    Stop,
    /// The conversation is over.
    SessionEnd,
}

/// Each event, the names that clients have for it (in lower case, letters only), and how long it may take. Codex gives
/// the end of a session one second.
const EVENTS: &[(Event, &str, &[&str], u64)] = &[
    (Event::SessionStart, "SessionStart", &["sessionstart"], 4_000),
    (
        Event::UserPromptSubmit,
        "UserPromptSubmit",
        &["userpromptsubmit", "userpromptsubmitted", "beforeagent", "beforesubmitprompt"],
        1_500,
    ),
    (Event::PreCompact, "PreCompact", &["precompact", "precompress"], 800),
    (Event::Stop, "Stop", &["stop", "afteragent"], 800),
    (Event::SessionEnd, "SessionEnd", &["sessionend"], 800),
];

/// How long an event of no known name may take until it is read from the input.
const UNTOLD: u64 = 1_500;

pub fn run(global: Global, args: &Hook) -> ExitCode {
    if args.take_in {
        return take_in(global);
    }
    // A skill is told nothing and heard by nobody.
    if matches!(global.role, Some(RoleName::Skill)) {
        return say(&json!({}));
    }
    let told = args.event.clone();
    let patience = told.as_deref().and_then(known).map_or(UNTOLD, |(_, _, patience)| patience);
    let (send, receive) = channel();
    // Left behind where it takes too long: a read that is broken off loses nothing, and a write is whole or not at all.
    std::thread::spawn(move || send.send(answer(global, told.as_deref())));
    match receive.recv_timeout(Duration::from_millis(patience)) {
        Ok(Ok(answer)) => say(&answer),
        Ok(Err(problem)) => give_up(&render::message(&problem)),
        Err(_) => {
            plugin::end_all();
            give_up(&format!("there was no answer within {patience} ms"))
        }
    }
}

/// Answers with nothing, and says why.
pub fn give_up(problem: &str) -> ExitCode {
    render::note(&format!("nacre stays out of this: {}", problem.trim()));
    say(&json!({}))
}

fn say(answer: &Value) -> ExitCode {
    // Nobody is there to be told that nobody reads.
    let _ = render::json(answer);
    ExitCode::SUCCESS
}

/// Returns the event of a name, in any client's spelling, with our own name for it and the time it may take.
fn known(name: &str) -> Option<(Event, &'static str, u64)> {
    let letters: String = name.chars().filter(|c| !matches!(c, '-' | '_')).collect();
    let folded = letters.to_ascii_lowercase();
    let row = EVENTS.iter().find(|(_, _, names, _)| names.contains(&folded.as_str()))?;
    Some((row.0, row.1, row.3))
}

fn answer(global: Global, told: Option<&str>) -> Result<Value> {
    let input = Input::read()?;
    let heard = input.text(&["hook_event_name", "hookEventName"]);
    // The input knows better than the command line: its word is what the client compares the answer with.
    let (event, name) = match (heard.and_then(known), told.and_then(known)) {
        (Some((event, _, _)), _) => (event, heard.unwrap_or_default()),
        (None, Some((event, name, _))) => (event, name),
        (None, None) => {
            bail!("`{}` is no event that it knows", render::line(heard.or(told).unwrap_or(""), 60))
        }
    };
    let text = match event {
        Event::SessionStart => session_start(global, &input)?,
        Event::UserPromptSubmit => prompt(global, &input)?,
        // No client takes words before it compacts. Its agent was asked in time, with a message before; else it is
        // asked after. Either way a new cycle begins.
        Event::PreCompact => {
            let (mut group, caller, _) = open(global, &input)?;
            // Where that can't be noted nothing can be stored either, and nobody is asked.
            let _ = group.enter(&caller).and_then(|mut view| nacre::session::compacts(&mut view));
            String::new()
        }
        Event::Stop => {
            let message = input.message().map(str::to_owned);
            let text = input.text(&["last_assistant_message", "lastAssistantMessage", "prompt_response"]);
            put(&global, &input, What::Answer { message, text: text.unwrap_or_default().to_owned() })?;
            detach(&global)?;
            String::new()
        }
        Event::SessionEnd => {
            put(&global, &input, What::End)?;
            detach(&global)?;
            String::new()
        }
    };
    Ok(if text.is_empty() { json!({}) } else { in_form(name, &text) })
}

/// The answer in the form of the clients. What is too long is cut at the end of a line, for each is one memory, and
/// says so.
fn in_form(name: &str, text: &str) -> Value {
    let whole =
        |text: &str| json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } });
    let size = |value: Value| value.to_string().encode_utf16().count();
    if size(whole(text)) <= MOST {
        return whole(text);
    }
    let mut room = MOST.saturating_sub(size(whole(&mark_injected(CUT))));
    let kept: Vec<&str> = text
        .lines()
        .take_while(|line| {
            // Two of it are quotes, and a line break takes two.
            let cost = size((*line).into());
            let fits = cost <= room;
            room = room.saturating_sub(cost);
            fits
        })
        .collect();
    if kept.is_empty() {
        return json!({});
    }
    whole(&cut_injected(&kept, CUT))
}

fn session_start(global: Global, input: &Input) -> Result<String> {
    let passed_on = global.clone();
    let (mut group, caller, _plugins) = open(global, input)?;
    if spool::waits(&home(&passed_on)?, &passed_on.group) {
        detach(&passed_on)?;
    }
    let gives = |inject: Inject| inject == Inject::Boot;
    let (brief, files) = (gives(group.settings().brief.inject), gives(group.settings().boot.inject));
    if !brief && !files {
        return Ok(String::new());
    }
    // This is what the person has the agent told, whether or not it may ask for it by itself.
    let (visibility, zone) = (caller.visibility, context::zone());
    let person = Caller { visibility, zone, ..Caller::person(caller.session, caller.now) };
    let note = match input.text(&["source"]) {
        Some("compact") if group.settings().session.flush == Flush::Prompt => mark_request(COMPACTED) + "\n",
        _ => String::new(),
    };
    let mut view = group.enter(&person)?;
    let said = if files && has_workspace(&view) {
        boot(&mut view, &note)?
    } else if brief {
        let brief = context::done(nacre::run(&mut view, BriefRequest::default())?)?;
        plugin::note_brief(brief.plugin.as_ref());
        let by_plugin = brief.plugin.is_some_and(|plugin| plugin.problem.is_none());
        if brief.entry_count == 0 && !by_plugin { String::new() } else { brief.markdown }
    } else {
        String::new()
    };
    Ok((note + &said).trim_end().to_owned())
}

/// Makes the boot so that it fits behind the note: what clients count is more than its characters.
fn boot(view: &mut View<'_>, note: &str) -> Result<String> {
    let size = |text: &str| Value::from(format!("{note}{text}")).to_string().encode_utf16().count();
    let most = MOST - in_form("UserPromptSubmitted", " ").to_string().len();
    let mut room = MOST_BOOT - note.len();
    loop {
        let request = BootRequest { max_chars: Some(room), ..BootRequest::default() };
        let boot = context::done(nacre::run(view, request)?)?;
        let size = size(&boot.markdown);
        if size <= most || room < 2 * LEAST_BOOT {
            plugin::note_brief(boot.plugin.as_ref());
            return Ok(boot.markdown);
        }
        room = (room * most / size * 95 / 100).max(LEAST_BOOT);
    }
}

fn prompt(global: Global, input: &Input) -> Result<String> {
    let message = input.message().unwrap_or_default();
    // What a program or a timer says in the person's place is answered, and not learned from.
    let person = matches!(input.text(&["source"]), None | Some("user"));
    let kept = put(&global, input, What::Message(if person { message } else { "" }.to_owned()));
    if let Err(problem) = kept {
        render::note(&format!("this message is not kept: {}", render::message(&problem)));
    }
    let (mut group, caller, plugins) = open(global, input)?;
    let begun = Instant::now();
    let limit = Duration::from_millis(group.settings().turn.time_limit_ms);
    let late = || begun.elapsed() > limit;
    let asked = plugins.ask_turn(group.name(), &caller.session, message, limit);
    let mut view = group.enter(&caller)?;
    let turn = plugin::with_answers(&asked, |plugins| {
        let request = turn::Request { late: &late, plugins, ..turn::Request::new(message) };
        turn::run(&mut view, &request)
    })?;
    for left_out in &turn.left_out {
        render::note(&format!("left out: {left_out}"));
    }
    plugins.end(limit.saturating_sub(begun.elapsed()));
    let said = turn.markdown;
    let marked = strip_injected(&said).trim().is_empty();
    let said = if marked { said } else { mark_injected(&said) };
    Ok(match flush(&mut view, input, message) {
        Some(prompt) => format!("{}\n{said}", mark_request(&prompt)).trim_end().to_owned(),
        None => said,
    })
}

/// What the agent is asked with this message, where its window is nearly full: to store what lasts (S4). A client
/// can't be told so later, for it takes no words before it compacts.
fn flush(view: &mut View<'_>, input: &Input, message: &str) -> Option<String> {
    let tokens = input.text(&["transcript_path", "transcriptPath"]).and_then(last_usage)?;
    let count = nacre::session::Count { tokens: Some(tokens), message, compacts: false };
    let session = &view.caller().session;
    match nacre::session::check_flush(view, session, &count) {
        Ok(flush) => flush.prompt,
        Err(problem) => {
            render::note(&format!("whether memory should be flushed is not known: {problem}"));
            None
        }
    }
}

/// The tokens of the model's last call, its answer included, as a client's transcript tells them: near its end.
fn last_usage(path: &str) -> Option<usize> {
    /// How much of the end is looked at.
    const END: u64 = 256 << 10;
    let mut file = std::fs::File::open(path).ok()?;
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.seek(SeekFrom::Start(metadata.len().saturating_sub(END))).ok()?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end).ok()?;
    let sum = |line: &[u8]| -> Option<usize> {
        let line: Value = serde_json::from_slice(line).ok()?;
        let usage = line.pointer("/message/usage").or_else(|| line.get("usage"))?.as_object()?;
        let counts = usage.iter().filter(|(name, _)| name.ends_with("_tokens"));
        let sum = counts.filter_map(|(_, count)| count.as_u64()).try_fold(0u64, u64::checked_add)?;
        usize::try_from(sum).ok().filter(|sum| *sum > 0)
    };
    end.split(|byte| *byte == b'\n').rev().find_map(sum)
}

/// Opens the group to read from, on this machine alone: no model behind a URL is asked, for the person waits. Nor is it
/// closed, which would bring the log of the database into its file: the process ends, and the next one does that.
fn open(global: Global, input: &Input) -> Result<(ManuallyDrop<Group>, Caller, Plugins)> {
    let context = Context::new(global)?;
    let now = context.now();
    let session = input.session().unwrap_or_else(|| context.session());
    let mut settings = context.home.settings().clone();
    settings.brief.max_chars = settings.brief.max_chars.min(MOST_BRIEF);
    let home = Home::new(context.home.path(), settings);
    let (plugins, name) = (context.plugins, context.global.group.clone());
    let group = ManuallyDrop::new(plugins.make_briefs(home, &name).group(&name, now)?);
    let visibility = context.global.visibility;
    let zone = context::zone();
    Ok((group, Caller { visibility, zone, ..Caller::agent(session, now) }, plugins))
}

fn put(global: &Global, input: &Input, what: What) -> Result<()> {
    let durable = !matches!(what, What::Message(_));
    let at = global.now.unwrap_or_else(context::now);
    let session = input.session().or_else(|| context::told_session(global));
    let (session, visibility) = (session.unwrap_or_else(|| SessionId::new(at)), global.visibility);
    let heard = Heard { session, at, visibility, what };
    let order = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Ok(spool::put(&home(global)?, &global.group, order, durable, &heard)?)
}

/// The home without its settings: what is put into the spool needs none, and they may be broken.
fn home(global: &Global) -> Result<Home> {
    Ok(Home::new(context::home_path(global)?, Settings::default()))
}

/// Has another process take in what was put down, so that nobody waits for it. What it can't do is done by whoever opens
/// the group next.
fn detach(global: &Global) -> Result<()> {
    let mut command = Command::new(std::env::current_exe().context("the program has no path")?);
    command.arg("--home").arg(context::home_path(global)?).args(["--group", global.group.as_str()]);
    if let Some(profile) = &global.profile {
        command.args(["--profile", profile]);
    }
    for pair in &global.set {
        command.args(["--set", pair]);
    }
    command.args(["hook", "--take-in"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A client that ends what it started, group and all, does not end this.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().context("the spool can't be processed now").map(drop)
}

fn take_in(global: Global) -> ExitCode {
    let taken = Context::new(global).and_then(|context| {
        let mut group = context.home.group(&context.global.group, context.now())?;
        Ok(spool::take_in(&mut group, context.now())?)
    });
    match taken {
        Ok(_) => ExitCode::SUCCESS,
        Err(problem) => render::error(&problem, false),
    }
}

/// What a client says about an event. All of it may be missing or something else than it should be.
struct Input(Value);

impl Input {
    fn read() -> Result<Input> {
        let input = std::io::stdin();
        if input.is_terminal() {
            return Ok(Input(json!({})));
        }
        let mut bytes = Vec::new();
        let most = nacre::call::MAX_REQUEST as u64 + 1;
        input.lock().take(most).read_to_end(&mut bytes).context("standard input can't be read")?;
        if bytes.trim_ascii().is_empty() {
            return Ok(Input(json!({})));
        }
        Ok(Input(nacre::call::parse(&bytes)?))
    }

    /// The first of these fields that is text.
    fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(name)?.as_str())
    }

    /// What the person wrote. Gemini CLI puts what hooks said at the start of a session before the first message, escaped, so
    /// that our marks are not known in it.
    fn message(&self) -> Option<&str> {
        let prompt = self.text(&["prompt"])?;
        let told = prompt.strip_prefix("<hook_context>").and_then(|rest| rest.split_once("</hook_context>"));
        Some(told.map_or(prompt, |(_, message)| message.trim_start()))
    }

    fn session(&self) -> Option<SessionId> {
        self.text(&["session_id", "sessionId", "conversation_id"])?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_its_words() {
        for (name, event) in [
            ("SessionStart", Some(Event::SessionStart)),
            ("session-start", Some(Event::SessionStart)),
            ("sessionStart", Some(Event::SessionStart)),
            ("UserPromptSubmit", Some(Event::UserPromptSubmit)),
            ("user_prompt_submit", Some(Event::UserPromptSubmit)),
            ("BeforeAgent", Some(Event::UserPromptSubmit)),
            ("AfterAgent", Some(Event::Stop)),
            ("PreCompress", Some(Event::PreCompact)),
            ("SessionEnd", Some(Event::SessionEnd)),
            ("SubagentStop", None),
            ("", None),
            ("\0", None),
        ] {
            assert_eq!(known(name).map(|(event, _, _)| event), event, "{name}");
        }
    }

    #[test]
    fn what_hooks_said_before_a_message_is_not_the_persons() {
        for (prompt, message) in [
            ("which tea?", "which tea?"),
            ("<hook_context>&lt;!-- nacre:memory --&gt;\n- a\n</hook_context>\n\nwhich tea?", "which tea?"),
            (
                "what does <hook_context>x</hook_context> mean?",
                "what does <hook_context>x</hook_context> mean?",
            ),
            ("<hook_context> has no end", "<hook_context> has no end"),
        ] {
            assert_eq!(Input(json!({ "prompt": prompt })).message(), Some(message), "{prompt}");
        }
    }

    #[test]
    fn an_answer_is_never_too_long() {
        let line = |n: usize| format!("- [fact] \"{}\" \u{1f41a}\n", "x".repeat(n));
        for text in [line(10).repeat(1_000), line(3_000).repeat(4), "\u{1f41a}\n".repeat(8_000)] {
            let answer = in_form("SessionStart", &mark_injected(&text));
            assert!(answer.to_string().encode_utf16().count() <= MOST);
            let said = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
            assert!(said.starts_with("<memory") && said.ends_with(&format!("{CUT}\n</memory>")), "{said}");
            assert_eq!(strip_injected(said), "");
            assert!(said.len() > 2_000, "{said}");
        }
        assert_eq!(in_form("SessionStart", &"x".repeat(10_000)), json!({}), "no line fits");
    }
}
