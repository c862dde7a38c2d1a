//! `nacre hook EVENT`: receives the events of a client's conversation, and answers with the context to inject.
//!
//! JSON in, JSON out, in the form that Claude Code, Codex, VS Code and Gemini CLI share; Cursor and Windsurf have forms of
//! their own. The user waits for a hook, so it fails open: whatever is wrong with the input, the home or the time it takes,
//! the answer is valid, empty and in time, the exit code is 0, and the reason goes to standard error. Messages go into the
//! spool, which needs neither database nor settings.

use std::io::{IsTerminal, Read, Seek, SeekFrom};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use nacre::call::{BootRequest, BriefRequest, has_workspace};
use nacre::settings::{DistilMoment, Flush, Inject};
use nacre::spool::{self, EventKind, SpooledEvent};
use nacre::{
    Caller, Group, Home, SessionId, Settings, View, cut_injected, mark_injected, mark_request,
    strip_injected, turn,
};
use serde_json::{Value, json};

use crate::args::{Global, Hook, RoleName};
use crate::clients::{Client, Hooks, LastRun, Machine};
use crate::context::{self, Context};
use crate::plugin::{self, Plugins};
use crate::render;

/// The longest answer, in UTF-16 code units as clients count them: they move a longer one into a file.
const MAX_ANSWER_CHARS: usize = 9_000;
/// The longest brief; JSON, a note and escapes take the rest of the answer.
const MAX_BRIEF_CHARS: usize = 8_000;
/// The longest startup context. It is made again, and shorter, if escapes take more room than usual.
const MAX_BOOT_CHARS: usize = 8_400;
const MIN_BOOT_CHARS: usize = 2_000;

const CUT_NOTE: &str = "(More did not fit; search for it.)";

/// An event of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A conversation starts, or starts over after it was compacted: it gets the startup context.
    SessionStart,
    /// The user wrote a message: it gets the turn context.
    UserPromptSubmit,
    /// The conversation will be compacted.
    PreCompact,
    /// The agent has answered.
    Stop,
    /// The conversation is over.
    SessionEnd,
}

/// Each event, its names in the clients (in lower case, letters only), and its time limit in milliseconds. Codex gives the end
/// of a session one second.
const EVENTS: &[(Event, &str, &[&str], u64)] = &[
    (Event::SessionStart, "SessionStart", &["sessionstart"], 4_000),
    (
        Event::UserPromptSubmit,
        "UserPromptSubmit",
        &["userpromptsubmit", "userpromptsubmitted", "beforeagent", "beforesubmitprompt", "preuserprompt"],
        1_500,
    ),
    (Event::PreCompact, "PreCompact", &["precompact", "precompress"], 800),
    (Event::Stop, "Stop", &["stop", "afteragent", "afteragentresponse", "postcascaderesponse"], 800),
    (Event::SessionEnd, "SessionEnd", &["sessionend"], 800),
];

/// The time limit of an event whose name is only in the input, in milliseconds.
const UNNAMED_LIMIT_MS: u64 = 1_500;

/// The client and the event of a run, once they are known.
type Run = (Option<&'static Client>, &'static str);

pub fn run(global: Global, args: &Hook) -> ExitCode {
    if args.take_in {
        return take_in(global);
    }
    // A skill gets nothing, and nothing of it is archived.
    if matches!(global.role, Some(RoleName::Skill)) {
        return say(&json!({}));
    }
    let named = args.event.clone();
    let client = args.client;
    let limit = named.as_deref().and_then(known).map_or(UNNAMED_LIMIT_MS, |(_, _, limit)| limit);
    let home = context::home_path(&global);
    let at = global.now.unwrap_or_else(context::now);
    let (send, receive) = channel();
    let run: Arc<OnceLock<Run>> = Arc::default();
    let known_run = Arc::clone(&run);
    // Abandoned if it takes too long: an interrupted read loses nothing, and a write is whole or not at all.
    std::thread::spawn(move || send.send(answer(global, named.as_deref(), client, &known_run)));
    let (answer, problem) = match receive.recv_timeout(Duration::from_millis(limit)) {
        Ok(Ok(answer)) => (answer, None),
        Ok(Err(problem)) => (json!({}), Some(render::message(&problem))),
        Err(_) => {
            plugin::end_all();
            (json!({}), Some(format!("there was no answer within {limit} ms")))
        }
    };
    let code = match &problem {
        // Cursor holds a message back unless it is told to go on.
        Some(problem) if client.is_some_and(|client| client.name == "cursor") => {
            explain(problem);
            say(&Form::CursorPrompt.empty())
        }
        Some(problem) => give_up(problem),
        None => say(&answer),
    };
    // After the answer, so that nobody waits for it. If it can't be recorded, `nacre doctor` knows less.
    if let (Ok(home), Some((Some(client), event))) = (home, run.get()) {
        let _ = LastRun { event: (*event).to_owned(), at, problem }.write(&home, client.name);
    }
    code
}

/// Answers with nothing, and gives the reason on standard error.
pub fn give_up(problem: &str) -> ExitCode {
    explain(problem);
    say(&json!({}))
}

fn explain(problem: &str) {
    render::note(&format!("nacre adds nothing: {}", problem.trim()));
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

fn answer(
    global: Global,
    named: Option<&str>,
    client: Option<&'static Client>,
    run: &OnceLock<Run>,
) -> Result<Value> {
    let input = Input::read()?;
    let in_input = input.text(&["hook_event_name", "hookEventName", "agent_action_name"]);
    // The input takes precedence over the command line: the client compares the answer with its own name for the event.
    let (event, name, own_name) = match (in_input.and_then(known), named.and_then(known)) {
        (Some((event, own_name, _)), _) => (event, in_input.unwrap_or_default(), own_name),
        (None, Some((event, name, _))) => (event, name, name),
        (None, None) => {
            bail!("`{}` is not a known event", render::line(in_input.or(named).unwrap_or(""), 60))
        }
    };
    let detected = client.or_else(|| detect(&input, in_input));
    let _ = run.set((detected, own_name));
    // A client that also runs another client's hooks would get everything twice.
    if client.is_none() && detected.is_some_and(has_own_hooks) {
        return Ok(json!({}));
    }
    let client = detected;
    if event == Event::UserPromptSubmit && client.is_some_and(|client| client.hooks == Hooks::Archive) {
        put(&global, &input, EventKind::Message(input.message().unwrap_or_default().to_owned()))?;
        return Ok(json!({}));
    }
    let text = match event {
        Event::SessionStart => session_start(global, &input)?,
        Event::UserPromptSubmit => prompt(global, &input)?,
        // No client accepts context before it compacts. The agent was asked to store in time, with an earlier message, or is
        // asked afterwards. Either way a new cycle begins.
        Event::PreCompact => {
            let passed_on = global.clone();
            let (mut group, caller, _) = open(global, &input)?;
            // If this can't be recorded, nothing could be stored either.
            let _ = group.enter(&caller).and_then(|mut view| nacre::session::compacts(&mut view));
            if group.settings().distil.at.contains(&DistilMoment::Compact) {
                put(&passed_on, &input, EventKind::Compact)?;
                detach(&passed_on)?;
            }
            String::new()
        }
        Event::Stop => {
            let message = input.message().map(str::to_owned);
            let text = input.answer().unwrap_or_default().to_owned();
            put(&global, &input, EventKind::Answer { message, text })?;
            detach(&global)?;
            String::new()
        }
        Event::SessionEnd => {
            let transcript = input.text(&["transcript_path", "transcriptPath"]).map(PathBuf::from);
            let transcript = transcript.filter(|path| path.is_absolute());
            let ended = transcript.map_or(EventKind::End, |transcript| EventKind::Ended { transcript });
            put(&global, &input, ended)?;
            detach(&global)?;
            String::new()
        }
    };
    let form = match (client.map(|client| client.name), event) {
        (Some("cursor"), Event::UserPromptSubmit) => Form::CursorPrompt,
        (Some("cursor"), _) => Form::Cursor,
        _ => Form::Claude(name),
    };
    Ok(in_form(form, &text))
}

/// The form of an answer.
#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    /// Of Claude Code and most others: with the client's name for the event.
    Claude(&'a str),
    Cursor,
    /// Of Cursor, before a message, which the answer can hold back.
    CursorPrompt,
}

impl Form<'_> {
    fn empty(self) -> Value {
        match self {
            Form::Claude(_) | Form::Cursor => json!({}),
            Form::CursorPrompt => json!({ "continue": true }),
        }
    }

    fn with(self, text: &str) -> Value {
        match self {
            Form::Claude(name) => {
                json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } })
            }
            Form::Cursor => json!({ "additional_context": text }),
            Form::CursorPrompt => json!({ "continue": true, "additional_context": text }),
        }
    }
}

/// Returns the client that runs this hook, as far as the input and the environment show it. `nacre install` writes the name
/// only into files that no other client reads: VS Code and Cursor read Claude Code's, and Claude Code's plugin also runs in
/// Codex.
fn detect(input: &Input, event: Option<&str>) -> Option<&'static Client> {
    let has = |variable: &str| std::env::var_os(variable).is_some();
    let transcript = input.text(&["transcript_path", "transcriptPath"]).unwrap_or_default();
    let is_gemini = matches!(event, Some("BeforeAgent" | "AfterAgent" | "PreCompress"));
    let name = if has("CURSOR_VERSION") || input.text(&["cursor_version"]).is_some() {
        "cursor"
    } else if input.text(&["trajectory_id"]).is_some() {
        "windsurf"
    } else if is_gemini || has("GEMINI_SESSION_ID") || transcript.contains("/.gemini/") {
        "gemini-cli"
    } else if input.text(&["turn_id"]).is_some() || transcript.contains("/rollout-") {
        "codex"
    } else if input.text(&["hookEventName"]).is_some() {
        "vscode"
    } else if has("CLAUDE_CODE_ENTRYPOINT") || has("CLAUDE_PROJECT_DIR") || transcript.contains("/.claude/") {
        "claude-code"
    } else {
        return None;
    };
    Client::named(name)
}

fn has_own_hooks(client: &Client) -> bool {
    let user = context::user_folder();
    user.is_ok_and(|user| client.has_own_hooks(&Machine::this(user, context::folder_in)))
}

/// Returns the answer in the client's form. Text that is too long is cut at the end of a line, since each line is one memory,
/// and says so.
fn in_form(form: Form<'_>, text: &str) -> Value {
    if text.is_empty() {
        return form.empty();
    }
    let whole = |text: &str| form.with(text);
    let size = |value: Value| value.to_string().encode_utf16().count();
    if size(whole(text)) <= MAX_ANSWER_CHARS {
        return whole(text);
    }
    let mut room = MAX_ANSWER_CHARS.saturating_sub(size(whole(&mark_injected(CUT_NOTE))));
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
        return form.empty();
    }
    whole(&cut_injected(&kept, CUT_NOTE))
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
    // The user's settings decide what the agent is given, whether or not it may ask for it by itself.
    let Caller { visibility, zone, project_folder, session, now, .. } = caller;
    let person = Caller { visibility, zone, project_folder, ..Caller::person(session, now) };
    let note = match input.text(&["source"]) {
        Some("compact") if group.settings().session.flush == Flush::Prompt => {
            group.settings().store_tools().map(|tools| compacted(&tools)).unwrap_or_default()
        }
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

/// Asks the agent, after a compaction, to store what it still knows.
fn compacted(tools: &str) -> String {
    let request = format!(
        "The conversation was just compacted. If it taught you something lasting that is not stored yet, store it now \
         with {tools}. The memories from earlier sessions follow again."
    );
    mark_request(&request) + "\n"
}

/// Makes a startup context that fits after the note. Escapes count too, so it may take several attempts.
fn boot(view: &mut View<'_>, note: &str) -> Result<String> {
    let size = |text: &str| Value::from(format!("{note}{text}")).to_string().encode_utf16().count();
    let most = MAX_ANSWER_CHARS - in_form(Form::Claude("UserPromptSubmitted"), " ").to_string().len();
    let mut room = MAX_BOOT_CHARS - note.len();
    loop {
        let request = BootRequest { max_chars: Some(room), ..BootRequest::default() };
        let boot = context::done(nacre::run(view, request)?)?;
        let size = size(&boot.markdown);
        if size <= most || room < 2 * MIN_BOOT_CHARS {
            plugin::note_brief(boot.plugin.as_ref());
            return Ok(boot.markdown);
        }
        room = (room * most / size * 95 / 100).max(MIN_BOOT_CHARS);
    }
}

fn prompt(global: Global, input: &Input) -> Result<String> {
    let message = input.message().unwrap_or_default();
    // A message from a program or a timer gets context, but nothing is learned from it.
    let person = matches!(input.text(&["source"]), None | Some("user"));
    let kept = put(&global, input, EventKind::Message(if person { message } else { "" }.to_owned()));
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
    let asked = if person { nacre::distil::request(view.settings(), message) } else { None };
    Ok(match flush(&mut view, input, message).or(asked) {
        Some(prompt) => format!("{}\n{said}", mark_request(&prompt)).trim_end().to_owned(),
        None => said,
    })
}

/// Returns the request to store what should last, if the context window is nearly full. It has to come with a message: no
/// client accepts context right before it compacts.
fn flush(view: &mut View<'_>, input: &Input, message: &str) -> Option<String> {
    let tokens = input.text(&["transcript_path", "transcriptPath"]).and_then(last_usage)?;
    let count = nacre::session::Count { tokens: Some(tokens), message, compacts: false };
    let session = &view.caller().session;
    match nacre::session::check_flush(view, session, &count) {
        Ok(flush) => flush.prompt,
        Err(problem) => {
            render::note(&format!("the fill level of the context window is unknown: {problem}"));
            None
        }
    }
}

/// Returns the tokens of the model's last call, its answer included, from the end of a client's transcript.
fn last_usage(path: &str) -> Option<usize> {
    /// How much of the end is read.
    const TAIL_BYTES: u64 = 256 << 10;
    let mut file = std::fs::File::open(path).ok()?;
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.seek(SeekFrom::Start(metadata.len().saturating_sub(TAIL_BYTES))).ok()?;
    let mut end = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut end).ok()?;
    let sum = |line: &[u8]| -> Option<usize> {
        let line: Value = serde_json::from_slice(line).ok()?;
        let usage = line.pointer("/message/usage").or_else(|| line.get("usage"))?.as_object()?;
        let counts = usage.iter().filter(|(name, _)| name.ends_with("_tokens"));
        let sum = counts.filter_map(|(_, count)| count.as_u64()).try_fold(0u64, u64::checked_add)?;
        usize::try_from(sum).ok().filter(|sum| *sum > 0)
    };
    end.split(|byte| *byte == b'\n').rev().find_map(sum)
}

/// Opens the group for reading, without network access, because the user waits. It is never closed, since that would
/// checkpoint the database's log: the process ends, and the next one does it.
fn open(global: Global, input: &Input) -> Result<(ManuallyDrop<Group>, Caller, Plugins)> {
    let context = Context::new(global)?;
    let now = context.now();
    let session = input.session().unwrap_or_else(|| context.session());
    let mut settings = context.home.settings().clone();
    settings.brief.max_chars = settings.brief.max_chars.min(MAX_BRIEF_CHARS);
    let home = context.home.with_settings(settings);
    let (plugins, name) = (context.plugins, context.global.group.clone());
    let group = ManuallyDrop::new(plugins.make_briefs(home, &name).group(&name, now)?);
    let (visibility, zone, project_folder) = (context.global.visibility, context::zone(), input.project());
    Ok((group, Caller { visibility, zone, project_folder, ..Caller::agent(session, now) }, plugins))
}

fn put(global: &Global, input: &Input, what: EventKind) -> Result<()> {
    let durable = !matches!(what, EventKind::Message(_));
    let at = global.now.unwrap_or_else(context::now);
    let session = input.session().or_else(|| context::told_session(global));
    let (session, visibility) = (session.unwrap_or_else(|| SessionId::new(at)), global.visibility);
    let heard = SpooledEvent { session, at, visibility, folder: input.project(), what };
    let order = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Ok(spool::put(&home(global)?, &global.group, order, durable, &heard)?)
}

/// Returns the home without its settings: the spool needs none, and they may be broken.
fn home(global: &Global) -> Result<Home> {
    Ok(Home::new(context::home_path(global)?, Settings::default()))
}

/// Starts another process that imports the spool, so that nobody waits for it. If it fails, the next process that opens the
/// group does it.
fn detach(global: &Global) -> Result<()> {
    let mut command = Command::new(std::env::current_exe().context("the program has no path")?);
    command.arg("--home").arg(context::home_argument(global)?).args(["--group", global.group.as_str()]);
    if let Some(profile) = &global.profile {
        command.args(["--profile", profile]);
    }
    for pair in &global.set {
        command.args(["--set", pair]);
    }
    command.args(["hook", "--take-in"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A client that kills its process group must not kill this.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().context("the spool can't be processed now").map(drop)
}

fn take_in(global: Global) -> ExitCode {
    let taken = Context::new(global).and_then(|context| {
        let mut group = context.home.group(&context.global.group, context.now())?;
        spool::take_in(&mut group, context.now())?;
        let nacre = Caller { zone: context::zone(), ..Caller::nacre(context.now()) };
        let (_, problem) = nacre::distil::run_due(&mut group.enter(&nacre)?)?;
        problem.map_or(Ok(()), |problem| Err(problem.into()))
    });
    match taken {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => render::error(&problem, false),
    }
}

/// The client's JSON about an event. Any field may be missing or malformed.
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

    /// Returns the first of these fields that is text.
    fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(name)?.as_str())
    }

    /// Returns the user's message. Gemini CLI prepends the context of the session's start to the first message, escaped, so
    /// that our marks are not recognized in it.
    fn message(&self) -> Option<&str> {
        let prompt = self.text(&["prompt"]).or_else(|| self.0.pointer("/tool_info/user_prompt")?.as_str())?;
        let told = prompt.strip_prefix("<hook_context>").and_then(|rest| rest.split_once("</hook_context>"));
        Some(told.map_or(prompt, |(_, message)| message.trim_start()))
    }

    /// Returns the agent's answer.
    fn answer(&self) -> Option<&str> {
        let names = ["last_assistant_message", "lastAssistantMessage", "prompt_response", "text"];
        self.text(&names).or_else(|| self.0.pointer("/tool_info/response")?.as_str())
    }

    /// Returns the folder of the project: the working directory that the client reports, or else the hook's own. Cursor
    /// reports the folders of its workspace, the first of which counts.
    fn project(&self) -> Option<PathBuf> {
        let reported = self.text(&["cwd"]).or_else(|| self.0.pointer("/workspace_roots/0")?.as_str());
        reported.map_or_else(context::working_project, |folder| context::reported_project(Path::new(folder)))
    }

    /// Returns the session. Cursor's events have a conversation, and its session's start has the same id as a session.
    fn session(&self) -> Option<SessionId> {
        self.text(&["session_id", "sessionId", "conversation_id", "trajectory_id"])?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clients_event_names_are_known() {
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
            ("beforeSubmitPrompt", Some(Event::UserPromptSubmit)),
            ("afterAgentResponse", Some(Event::Stop)),
            ("pre_user_prompt", Some(Event::UserPromptSubmit)),
            ("post_cascade_response", Some(Event::Stop)),
            ("SubagentStop", None),
            ("", None),
            ("\0", None),
        ] {
            assert_eq!(known(name).map(|(event, _, _)| event), event, "{name}");
        }
    }

    #[test]
    fn context_that_the_client_prepends_is_not_the_users_message() {
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
            let answer = in_form(Form::Claude("SessionStart"), &mark_injected(&text));
            assert!(answer.to_string().encode_utf16().count() <= MAX_ANSWER_CHARS);
            let said = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
            assert!(
                said.starts_with("<memory") && said.ends_with(&format!("{CUT_NOTE}\n</memory>")),
                "{said}"
            );
            assert_eq!(strip_injected(said), "");
            assert!(said.len() > 2_000, "{said}");
        }
        assert_eq!(in_form(Form::Claude("SessionStart"), &"x".repeat(10_000)), json!({}), "no line fits");
    }
}
