//! The context of a command: the home, the settings, the group, the caller. The clock and the environment are read here, and only
//! here the program decides whether a person or an agent is acting.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow};
use etcetera::{AppStrategy, AppStrategyArgs};
use nacre::call::{GetAnswer, GetRequest};
use nacre::redact::Redact;
use nacre::settings::{Accept, Layer, Limits, Provider, Write};
use nacre::{
    Actor, Caller, Embedder, EntryId, EntryRef, Group, GroupName, Home, MemoryBudget, Outcome, Reply,
    Request, Role, SETTINGS_FILE, Secret, SessionId, Settings, Time, View, Zone, http,
};
use serde::Serialize;

use crate::args::{EntryName, Global, When};
use crate::database_url;
use crate::minilm;
use crate::plugin::{Plugins, run_once};
use crate::render::{self, Failure};

/// Variables in which agents name the conversation.
const SESSION_VARIABLES: &[&str] = &["CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID"];

/// A variable that an agent sets for the commands it runs.
struct Sign {
    variable: &'static str,
    /// The value it must have, if other values mean something else. Otherwise any value counts.
    value: Option<&'static str>,
    /// The agent's name for people.
    #[cfg_attr(not(test), expect(dead_code, reason = "says where the sign comes from"))]
    client: &'static str,
}

/// Every sign that an agent runs this. Only variables that a client sets for its agent's commands belong here: not
/// settings that people export (`AIDER_MODEL`, `CODEX_HOME`), and not what an editor sets in a person's own terminal
/// (`TERM_PROGRAM`, `CURSOR_TRACE_ID`, `ZED_TERM`). Claude Desktop, Zed and LM Studio set none. docs/approvals.md has the
/// same table.
const SIGNS: &[Sign] = &[
    sign("CLAUDECODE", "Claude Code"),
    sign("CLAUDE_CODE_SESSION_ID", "Claude Code"),
    sign("CLAUDE_CODE_CHILD_SESSION", "Claude Code"),
    sign("CODEX_SANDBOX", "Codex"),
    sign("CODEX_SANDBOX_NETWORK_DISABLED", "Codex"),
    sign("CODEX_THREAD_ID", "Codex"),
    sign("CODEX_SESSION_ID", "Codex"),
    sign("CODEX_CI", "Codex"),
    sign("CURSOR_AGENT", "Cursor"),
    sign("COPILOT_AGENT", "VS Code"),
    sign("COPILOT_CLI", "Copilot CLI"),
    sign("WINDSURF_CASCADE_TERMINAL", "Windsurf"),
    sign("GEMINI_CLI", "Gemini CLI"),
    sign("OPENCODE", "OpenCode"),
    sign("GOOSE_TERMINAL", "Goose"),
    // A person's own command in its terminal interface has `tui-local` there.
    Sign { variable: "OPENCLAW_SHELL", value: Some("exec"), client: "OpenClaw" },
    sign("CLINE_ACTIVE", "Cline"),
    sign("AGENT", "any agent"),
    sign("AI_AGENT", "any agent"),
];

const fn sign(variable: &'static str, client: &'static str) -> Sign {
    Sign { variable, value: None, client }
}

/// Returns who is acting, according to the environment. An agent that removes its signs from the environment passes for the person
/// whose account it has.
fn actor() -> Actor {
    let is_there = |sign: &Sign| match (std::env::var_os(sign.variable), sign.value) {
        (Some(found), Some(value)) => found == value,
        (Some(found), None) => !found.is_empty() && found != "0" && found != "false",
        (None, _) => false,
    };
    if SIGNS.iter().any(is_there) { Actor::Agent } else { Actor::Person }
}

/// The kind of caller that a command requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A person or an agent, within the agent's write policies and limits.
    Anyone,
    /// A person: it does what no write policy covers.
    Person(&'static str),
    /// A person whose terminal is the standard input: it decides in the person's name. Many agents set no sign, but run
    /// their commands without a terminal.
    Terminal(&'static str),
}

pub struct Context {
    pub global: Global,
    pub home: Home,
    pub layers: Vec<Layer>,
    pub plugins: Plugins,
    actor: Actor,
    /// The first policy that flags or the environment tried to loosen for an agent. It is as nacre.toml has it.
    loosened: Option<&'static str>,
}

impl Context {
    pub fn new(global: Global) -> Result<Context> {
        let path = home_path(&global)?;
        let layers = layers(&path, &global.set)?;
        let mut settings = Settings::from_layers(global.profile.as_deref(), &layers)?;
        nacre::settings::retired(&layers).iter().for_each(|warning| render::note(warning));
        let actor = actor();
        let loosened = match actor {
            Actor::Agent => keep_policies(&mut settings, &own_settings(&path)?),
            Actor::Person | Actor::Nacre => None,
        };
        let home = with_distiller(with_chat(with_provider(open_home(&global, settings)?)?)?)?;
        let plugins = Plugins::new(&home);
        let home = plugins.make_briefs(home, &global.group);
        Ok(Context { home, layers, plugins, global, actor, loosened })
    }

    /// Returns the context of a command that repairs settings which can't be read.
    pub fn without_settings(global: Global) -> Result<Context> {
        let home = open_home(&global, Settings::default())?;
        let plugins = Plugins::new(&home);
        Ok(Context { home, layers: Vec::new(), plugins, global, actor: actor(), loosened: None })
    }

    /// Refuses a command that the caller may not run.
    pub fn check(&self, needs: Needs) -> nacre::Result<()> {
        match (needs, self.actor) {
            (Needs::Anyone, _) => Ok(()),
            (Needs::Person(what) | Needs::Terminal(what), Actor::Agent) => {
                Err(nacre::Error::PersonOnly { what })
            }
            (Needs::Terminal(what), _) if !std::io::stdin().is_terminal() => {
                Err(nacre::Error::NeedsTerminal { what })
            }
            (Needs::Person(_) | Needs::Terminal(_), _) => Ok(()),
        }
    }

    /// Refuses flags and an environment that would loosen a policy for an agent.
    pub fn check_policies(&self) -> nacre::Result<()> {
        self.loosened.map_or(Ok(()), |setting| Err(nacre::Error::LoosenedPolicy { setting }))
    }

    pub fn is_agent(&self) -> bool {
        self.actor == Actor::Agent
    }

    /// Tells a person what to do next. An agent gets no hint: the step is not for it.
    pub fn hint(&self, text: &str) {
        if !self.is_agent() {
            render::note(text);
        }
    }

    pub fn now(&self) -> Time {
        self.global.now.unwrap_or_else(now)
    }

    /// Returns the moment that a person means.
    pub fn time(&self, when: Option<When>) -> Option<Time> {
        when.map(|when| when.resolve(self.now()))
    }

    pub fn session(&self) -> SessionId {
        told_session(&self.global).unwrap_or_else(|| SessionId::new(self.now()))
    }

    /// Returns the session that the flag `--session` names; the environment does not count.
    pub fn given_session(&self) -> Option<&SessionId> {
        let session = self.global.session.as_ref()?;
        let told = std::env::var("NACRE_SESSION").ok();
        (told.as_deref() != Some(session.as_str())).then_some(session)
    }

    /// Returns the caller of this command: the person at this terminal, or an agent.
    pub fn caller(&self) -> Caller {
        let (actor, visibility, role, zone) = (self.actor, self.global.visibility, self.role(), zone());
        let project_folder = working_project();
        Caller { actor, visibility, role, zone, project_folder, ..Caller::person(self.session(), self.now()) }
    }

    fn role(&self) -> Role {
        let default = if self.is_agent() { Role::Project } else { Role::Admin };
        self.global.role.map_or(default, Into::into)
    }

    pub fn group(&self) -> Result<Group> {
        // A skill reads and writes nothing, with any command.
        if self.role() == Role::Skill {
            let (tool, role) = ("nacre".to_owned(), self.role().as_str());
            return Err(nacre::Error::RoleDenied { tool, role }.into());
        }
        let name = &self.global.group;
        let is_new = name.as_str() != "main" && !self.home.groups()?.contains(name);
        let group = open(&self.home, name, self.now())?;
        if is_new && !self.global.json {
            self.hint(&format!("created the group `{name}`"));
        }
        Ok(group)
    }

    /// Returns the group for commands that show or change all of it. A shared session has no such group.
    pub fn whole_group(&self, what: &str) -> Result<Group> {
        match self.global.visibility {
            nacre::Visibility::Private => self.group(),
            nacre::Visibility::Shared => Err(nacre::Error::NeedsPrivate { tool: what.to_owned() }.into()),
        }
    }

    /// Refuses to read a group that does not exist while others do: its name is misspelt.
    pub fn check_group(&self) -> Result<()> {
        // For a member of a team, a group without a role does not exist either.
        nacre::team::rights(&self.home, &self.global.group, None)?;
        let groups = self.home.groups()?;
        let name = &self.global.group;
        if groups.is_empty() || groups.contains(name) {
            return Ok(());
        }
        let known = groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let hint = format!("existing groups: {known}; `nacre group add {name}` creates it");
        Err(Failure::not_found("no_group", format!("there is no group `{name}`"), &hint).into())
    }

    /// Returns the memory that a person names.
    pub fn entry(&self, name: &EntryName) -> Result<EntryRef> {
        let prefix = match name {
            EntryName::Known(entry) => return Ok(entry.clone()),
            EntryName::Prefix(prefix) => prefix,
        };
        let mut found = self.enter(|view| entries(view, |entry| entry.id.as_str().starts_with(prefix)))?;
        match (found.pop(), found.as_slice()) {
            (None, _) => Err(nacre::Error::NoEntry { id: prefix.clone() }.into()),
            (Some(entry), []) => Ok(EntryRef::Number(entry.number)),
            (Some(last), others) => {
                let shown =
                    others.iter().take(4).chain([&last]).map(|entry| format!("[id:{}]", entry.number));
                let shown = shown.collect::<Vec<_>>().join(", ");
                Err(Failure {
                    kind: nacre::Kind::Conflict,
                    code: "many_entries",
                    message: format!("`{prefix}` is the start of {} ids", others.len() + 1),
                    hint: Some(format!("give more of it, or the number: {shown}")),
                }
                .into())
            }
        }
    }

    /// Returns a text of the library in the words of the command line.
    pub fn for_people(&self, text: &str) -> String {
        self.with_short_ids(text)
    }

    /// Returns a text in which every long id of a memory is its short one.
    pub fn with_short_ids(&self, text: &str) -> String {
        let mut short = text.to_owned();
        for id in long_ids(text) {
            // `[id:2] mem-…` says it twice.
            short = short.replace(&format!("] {id}"), "]");
            if !short.contains(id.as_str()) {
                continue;
            }
            let request = GetRequest { id: Some(EntryRef::Id(id.clone())), ..GetRequest::default() };
            if let Ok(GetAnswer::Entry(found)) = self.ask(request) {
                let number = format!("[id:{}]", found.entry.number);
                short = short.replace(&format!("`{id}`"), &number).replace(id.as_str(), &number);
            }
        }
        short
    }

    /// Runs a command on the memory as it was at an earlier time: on a copy that is deleted afterwards.
    pub fn as_of<T>(&self, when: Option<When>, run: impl FnOnce(&Context) -> Result<T>) -> Result<T> {
        let Some(at) = self.time(when) else { return run(self) };
        let folder = tempfile::tempdir().context("the folder for temporary files can't be written")?;
        let global = Global { home: Some(folder.path().to_owned()), ..self.global.clone() };
        let home = open_home(&global, self.home.settings().clone())?;
        home.create()?;
        let (name, caller) = (&self.global.group, self.caller());
        let (mut from, mut to) = (self.group()?, home.group(name, self.now())?);
        nacre::past::copy_as_of(&mut from.enter(&caller)?, &mut to.enter(&caller)?, at, &mut |_| {})?;
        drop(to);
        let (plugins, layers) = (Plugins::new(&home), self.layers.clone());
        if !self.global.json {
            self.hint(&format!("the memory as of {at}: deleted records and documents are not part of it"));
        }
        run(&Context { home, layers, plugins, global, actor: self.actor, loosened: self.loosened })
    }

    /// Enters the group as the caller of this command.
    pub fn enter<T>(&self, work: impl FnOnce(&mut View<'_>) -> nacre::Result<T>) -> Result<T> {
        Ok(work(&mut self.group()?.enter(&self.caller())?)?)
    }

    /// Does the same for commands that show or change all of the group.
    pub fn enter_whole<T>(
        &self,
        what: &str,
        work: impl FnOnce(&mut View<'_>) -> nacre::Result<T>,
    ) -> Result<T> {
        Ok(work(&mut self.whole_group(what)?.enter(&self.caller())?)?)
    }

    /// Runs a request as the caller of this command.
    pub fn run<R>(&self, request: R) -> Result<Reply<R::Answer>>
    where
        R: Request,
        R::Answer: Redact,
    {
        self.enter(|view| nacre::run(view, request))
    }

    /// Runs a request and shows the reply.
    pub fn run_and_show<R>(&self, request: R) -> Result<()>
    where
        R: Request,
        R::Answer: Redact,
    {
        self.show(&self.run(request)?)
    }

    /// Runs a request that never waits for approval, such as a read.
    pub fn ask<R>(&self, request: R) -> Result<R::Answer>
    where
        R: Request,
        R::Answer: Redact,
    {
        done(self.run(request)?)
    }

    /// Shows a reply: to a program as JSON, to a person in words.
    pub fn show<A: Serialize>(&self, reply: &Reply<A>) -> Result<()> {
        match self.global.json {
            true => render::json(&serde_json::to_value(&reply.outcome)?),
            false => render::page(&render::flow(&render::plain(&reply.text))),
        }
    }

    /// Returns the answer to render for a person. JSON, and the note of a request that waits, are shown here.
    pub fn to_render<'a, A: Serialize>(&self, reply: &'a Reply<A>) -> Result<Option<&'a A>> {
        match &reply.outcome {
            Outcome::Done(answer) if !self.global.json => Ok(Some(answer)),
            _ => self.show(reply).map(|()| None),
        }
    }
}

/// Returns the memories that fit. A memory has a number, and numbers are never given twice.
fn entries(view: &mut View<'_>, fits: impl Fn(&nacre::Entry) -> bool) -> nacre::Result<Vec<nacre::Entry>> {
    let status = nacre::status(view)?;
    let total = status.entries.current + status.entries.superseded + status.entries.archived;
    // Every deletion is in the audit log, so that no number is beyond this one.
    let last = total + status.audit_rows;
    let mut seen = 0;
    let mut found = Vec::new();
    for number in 1..=last {
        if seen == total {
            break;
        }
        let request = GetRequest { id: Some(EntryRef::Number(number)), ..GetRequest::default() };
        let Ok(Reply { outcome: Outcome::Done(GetAnswer::Entry(entry)), .. }) = nacre::run(view, request)
        else {
            continue;
        };
        seen += 1;
        if fits(&entry.entry) {
            found.push(entry.entry);
        }
    }
    Ok(found)
}

/// Returns the long ids that a text names.
fn long_ids(text: &str) -> Vec<EntryId> {
    let ids = text.match_indices("mem-").filter_map(|(at, _)| text.get(at..at + 40)?.parse().ok());
    ids.collect()
}

/// Returns the answer to a request that never waits for approval.
pub fn done<A>(reply: Reply<A>) -> Result<A> {
    match reply.outcome {
        Outcome::Done(answer) => Ok(answer),
        Outcome::Waits(waiting) => Err(anyhow!(waiting.note)),
    }
}

/// Returns the conversation that flags or the environment name.
pub fn told_session(global: &Global) -> Option<SessionId> {
    let told = || SESSION_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    global.session.clone().or_else(told)
}

/// Returns the settings that agents get with these flags, and the first policy that the flags would loosen compared to
/// nacre.toml.
pub fn settings_for_agents(global: &Global) -> Result<(Settings, Option<&'static str>)> {
    let path = home_path(global)?;
    let layers = layers(&path, &global.set)?;
    let mut settings = Settings::from_layers(global.profile.as_deref(), &layers)?;
    let loosened = keep_policies(&mut settings, &own_settings(&path)?);
    Ok((settings, loosened))
}

/// Returns the same home for a server: the vectors of its groups take no more memory than the settings say.
pub fn with_memory_limit(home: &Home) -> Home {
    home.clone().with_memory(MemoryBudget::new(home.settings().serve.memory_bytes()))
}

/// Returns the settings of the home's own file, without flags and environment.
fn own_settings(home: &Path) -> nacre::Result<Settings> {
    Settings::from_layers(None, &file_layer(home)?.into_iter().collect::<Vec<_>>())
}

/// Gives every write policy and limit that is looser than in `own` its value from there. Returns the first such policy.
/// Limits are not worth a refusal: a profile with tighter policies may have other limits.
fn keep_policies(settings: &mut Settings, own: &Settings) -> Option<&'static str> {
    let mut first = None;
    let Write { entries, log, memory, memories, files, untrusted, elicitation: _, accept } =
        &mut settings.write;
    for (setting, policy, own) in [
        ("write.entries", entries, own.write.entries),
        ("write.log", log, own.write.log),
        ("write.memory", memory, own.write.memory),
        ("write.memories", memories, own.write.memories),
        ("write.files", files, own.write.files),
        ("write.untrusted", untrusted, own.write.untrusted),
    ] {
        if *policy < own {
            *policy = own;
            first = first.or(Some(setting));
        }
    }
    if *accept != own.write.accept && own.write.accept == Accept::Person {
        *accept = Accept::Person;
        first = first.or(Some("write.accept"));
    }
    let Limits { store, supersede, delete, propose, untrusted } = &mut settings.limits;
    for (limit, own) in [
        (store, own.limits.store),
        (supersede, own.limits.supersede),
        (delete, own.limits.delete),
        (propose, own.limits.propose),
        (&mut untrusted.store, own.limits.untrusted.store),
        (&mut untrusted.supersede, own.limits.untrusted.supersede),
        (&mut untrusted.delete, own.limits.untrusted.delete),
        (&mut untrusted.propose, own.limits.untrusted.propose),
    ] {
        // 0 is no limit.
        if own > 0 && (*limit == 0 || *limit > own) {
            *limit = own;
        }
    }
    first
}

/// Opens a group and imports what hooks have left in the spool. If that fails, the group can still be read, and the spool stays.
pub fn open(home: &Home, name: &GroupName, now: Time) -> nacre::Result<Group> {
    let mut group = home.group(name, now)?;
    if let Err(problem) = nacre::spool::take_in(&mut group, now) {
        render::note(&format!("hooks left messages that can't be processed now: {problem}"));
    }
    Ok(group)
}

/// Gives a home the second embedding model, if its settings name one. Nothing is read or contacted before it is needed.
fn with_provider(home: Home) -> Result<Home> {
    Ok(match embedder(&home)? {
        Some(embedder) => home.with_embedder(embedder),
        None => home,
    })
}

/// Returns the model that the settings of a home name.
fn embedder(home: &Home) -> Result<Option<Arc<dyn Embedder>>> {
    let settings = &home.settings().embedding;
    if settings.provider == Provider::Minilm {
        return Ok(Some(Arc::new(minilm::InstalledModel::new(home.path()))));
    }
    let Some(options) = http::Options::from_settings(settings) else { return Ok(None) };
    let key = key("embedding", &settings.key_variable, &settings.key_file)?;
    let options = http::Options { key, ..options };
    Ok(Some(Arc::new(http::Model::new(options, std::thread::sleep)?)))
}

/// Gives a home the model that makes summaries, if its settings name one. Nothing is contacted before it is needed.
fn with_chat(home: Home) -> Result<Home> {
    let settings = &home.settings().llm;
    if settings.url.is_empty() {
        return Ok(home);
    }
    let key = key("llm", &settings.key_variable, &settings.key_file)?;
    let timeout = Duration::from_secs(settings.timeout_seconds);
    let chat = http::Chat::new(&settings.url, &settings.model, key, timeout)?;
    Ok(home.with_chat(Arc::new(chat)))
}

/// Gives a home the program that distils conversations. Only the program that the home's own file names is run: flags and the
/// environment may come from an agent.
fn with_distiller(home: Home) -> Result<Home> {
    let settings = own_settings(home.path())?.distil;
    if settings.command.is_empty() {
        return Ok(home);
    }
    let folder = home.path().to_owned();
    let limit = Duration::from_secs(home.settings().distil.timeout_seconds);
    let run = move |text: &str| run_once(&settings.command, &folder, text, limit);
    Ok(home.with_distiller(Arc::new(run)))
}

/// Returns the key of a provider: an environment variable, or else a file. Many local servers need none.
fn key(section: &str, variable: &str, file: &str) -> Result<Option<Secret>> {
    let told = std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
    if let Some(key) = told {
        return Ok(Some(Secret::new(&key)));
    }
    if file.is_empty() {
        return Ok(None);
    }
    let key = std::fs::read_to_string(file)
        .with_context(|| format!("the file of `{section}.key_file`, {file}, can't be read"))?;
    Ok(Some(Secret::new(&key)))
}

pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Returns the user's time zone: TZ, or else that of the machine, or else UTC.
pub fn zone() -> Zone {
    let told = std::env::var("TZ").ok();
    let name = told.as_deref().map(|told| told.trim_start_matches(':'));
    let file = match name {
        None => PathBuf::from("/etc/localtime"),
        Some(name) => PathBuf::from("/usr/share/zoneinfo").join(name),
    };
    let compiled = std::fs::read(file).ok().and_then(|bytes| Zone::compiled(&bytes));
    compiled.or_else(|| Zone::rule(name?)).unwrap_or_default()
}

/// Returns the home: a folder, or a database server with a folder for what belongs to this machine.
pub fn open_home(global: &Global, settings: Settings) -> Result<Home> {
    let home = Home::new(home_path(global)?, settings);
    match database_url::in_home(global.home.as_deref()) {
        None => Ok(home),
        Some(url) => {
            let password = database_url::password(url, |name| std::env::var(name).ok());
            let home = home.with_server(url, password.as_deref())?;
            let token = std::env::var("NACRE_MEMBER_TOKEN").ok().filter(|token| !token.trim().is_empty());
            Ok(match token {
                Some(token) => home.with_token(Secret::new(&token)),
                None => home,
            })
        }
    }
}

/// Returns the home as another process of this program takes it with `--home`.
pub fn home_argument(global: &Global) -> Result<PathBuf> {
    match database_url::in_home(global.home.as_deref()) {
        Some(url) => Ok(url.into()),
        None => home_path(global),
    }
}

/// Returns the folder of the home: it holds everything, or with a database server what belongs to this machine.
pub fn home_path(global: &Global) -> Result<PathBuf> {
    if let Some(url) = database_url::in_home(global.home.as_deref()) {
        return Ok(platform_home()?.join("servers").join(database_url::folder_name(url)));
    }
    match &global.home {
        Some(path) => std::path::absolute(path).context("the home is not a valid path"),
        None => platform_home(),
    }
}

/// Returns the project that this process works in: the git repository around its working directory. Many clients start
/// servers in a folder that says nothing, so any other folder counts only if a client reports it.
pub fn working_project() -> Option<PathBuf> {
    nacre::project::git_root(&std::env::current_dir().ok()?, user_folder().ok().as_deref())
}

/// Returns the project of a folder that a client reports.
pub fn reported_project(folder: &Path) -> Option<PathBuf> {
    nacre::project::root(folder, user_folder().ok().as_deref()).filter(|_| folder.is_absolute())
}

/// Returns the folder that an environment variable names.
pub fn folder_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Returns the user's home folder.
pub fn user_folder() -> Result<PathBuf> {
    etcetera::home_dir().context("there is no home directory (HOME is not set)")
}

fn platform_home() -> Result<PathBuf> {
    let names =
        AppStrategyArgs { top_level_domain: "org".into(), author: "nacre".into(), app_name: "nacre".into() };
    let strategy = etcetera::choose_app_strategy(names).context(
        "there is no home directory to put the memory in; give a folder with `--home` or NACRE_HOME",
    )?;
    Ok(strategy.data_dir())
}

/// Returns the layers of settings over the profile: file, environment, flags.
pub fn layers(home: &Path, flags: &[String]) -> nacre::Result<Vec<Layer>> {
    let mut layers: Vec<Layer> = file_layer(home)?.into_iter().collect();
    layers.extend(Layer::from_environment(|name| std::env::var(name).ok())?);
    for pair in flags {
        layers.push(Layer::from_pair("`--set`", pair)?);
    }
    let azure = Layer::from_azure(&layers, |name| std::env::var(name).ok())?;
    Ok(azure.into_iter().chain(layers).collect())
}

/// Returns the layer of the home's settings file; `None`: there is no file.
fn file_layer(home: &Path) -> nacre::Result<Option<Layer>> {
    let file = home.join(SETTINGS_FILE);
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(Some(Layer::from_toml(file.display().to_string(), &text)?)),
        Err(problem)
            if matches!(problem.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(source) => Err(nacre::Error::Io { path: file, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_docs_list_every_sign() {
        let page = include_str!("../../../docs/approvals.md");
        let rows: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| `") && line.contains("` | sign of ")).collect();
        let signs: Vec<String> = SIGNS
            .iter()
            .map(|Sign { variable, value, client }| {
                let value = value.map(|value| format!("={value}")).unwrap_or_default();
                format!("| `{variable}{value}` | sign of {client} |")
            })
            .collect();
        assert_eq!(rows, signs);
    }

    #[test]
    fn a_policy_is_only_ever_tightened() {
        let settings = |pairs: &[&str]| {
            let layers: Vec<Layer> =
                pairs.iter().map(|pair| Layer::from_pair("test", pair).unwrap()).collect();
            Settings::from_layers(None, &layers).unwrap()
        };
        for (own, given, loosened) in [
            ("write.files=approve", "write.files=open", Some("write.files")),
            ("write.files=deny", "write.files=approve", Some("write.files")),
            ("write.files=approve", "write.files=deny", None),
            ("write.files=open", "write.files=open", None),
            ("write.accept=person", "write.accept=client", Some("write.accept")),
            ("write.accept=client", "write.accept=person", None),
            ("profile=balanced", "profile=brain", Some("write.memory")),
            ("profile=balanced", "profile=gated", None),
            ("brief.max_entries=5", "brief.max_entries=20", None),
        ] {
            let (own, mut given_settings) = (settings(&[own]), settings(&[given]));
            assert_eq!(keep_policies(&mut given_settings, &own), loosened, "{given}");
            assert_eq!(keep_policies(&mut given_settings, &own), None, "{given} is tightened");
        }
        for (own, given, kept) in [(20, 0, 20), (20, 21, 20), (20, 3, 3), (0, 3, 3), (0, 0, 0)] {
            let limit = |limit: u32| settings(&[&format!("limits.untrusted.delete={limit}")]);
            let mut given_settings = limit(given);
            keep_policies(&mut given_settings, &limit(own));
            assert_eq!(given_settings.limits.untrusted.delete, kept, "{own} {given}");
        }
    }
}
