//! The one error of the library: what went wrong, in fields; its code, its kind, and what to do now.
//!
//! Front ends map only the [`Kind`]: to an exit code, an HTTP status, an MCP error. [`Error::row`] is the
//! table that holds code, kind and hint of every variant.

use std::path::{Path, PathBuf};

use crate::base::ids::{self, BadId, EntryId, TaskId};

/// A result of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure an [`Error`] is: the only thing a front end needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request itself is wrong; the same request will fail again.
    Invalid,
    /// What the request names is not there.
    NotFound,
    /// The request does not fit the present state.
    Conflict,
    /// The caller may not do this.
    Denied,
    /// A limit is used up.
    Limit,
    /// The store can't serve this now.
    Unavailable,
    /// A failure of ours.
    Internal,
}

impl Kind {
    /// Returns the kind's stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Invalid => "invalid",
            Kind::NotFound => "not_found",
            Kind::Conflict => "conflict",
            Kind::Denied => "denied",
            Kind::Limit => "limit",
            Kind::Unavailable => "unavailable",
            Kind::Internal => "internal",
        }
    }
}

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum Error {
    #[error(transparent)]
    BadId(#[from] BadId),
    #[error("this token is not for group `{group}`")]
    ForeignGroup { group: crate::base::ids::GroupName },
    #[error("the path `{given}` {problem}")]
    BadPath { given: String, problem: &'static str },
    #[error("`{path}` has changed meanwhile")]
    FileChanged { path: String },
    #[error("`{path}` is larger than {limit} bytes")]
    FileTooLarge { path: String, limit: u64 },
    #[error("an agent may not write {what}: `{setting}` is \"deny\"")]
    WriteDenied { what: String, setting: &'static str },
    #[error("the write waits for a person")]
    Waits,
    #[error("only a person can {what}")]
    PersonOnly { what: &'static str },
    #[error("only a person at a terminal can {what}")]
    NeedsTerminal { what: &'static str },
    #[error("a flag, a profile or the environment can't loosen `{setting}` for an agent")]
    LoosenedPolicy { setting: &'static str },
    #[error("there is no proposal {number}")]
    NoProposal { number: i64 },
    #[error("proposal {number} is {state} already")]
    AlreadyDecided { number: i64, state: String },
    #[error("proposal {number} can't be applied: `{path}` has changed since")]
    ProposalConflict { number: i64, path: String },
    #[error("proposal {number} can't be undone: it is a {state} {kind}")]
    NotReverted { number: i64, state: &'static str, kind: &'static str },
    #[error("{limit} proposals of this session wait already")]
    TooManyProposals { limit: u32 },
    #[error("`{path}` would stay as it is")]
    NothingToChange { path: String },
    #[error("`{path}` is private, and others read along in this session")]
    HiddenFile { path: String },
    #[error("`{tool}` acts on everything that is remembered, which a shared session does not see")]
    NeedsPrivate { tool: String },
    #[error("group `{group}` can't be read from here")]
    GroupDenied { group: String },
    #[error("there is no checkpoint `{given}`, or more than one")]
    NoCheckpoint { given: String },
    #[error("the checkpoint `{}` {problem}", path.display())]
    BadCheckpoint { path: PathBuf, problem: String },
    #[error("there is no tool `{given}`")]
    UnknownTool { given: String, nearest: Option<&'static str> },
    #[error("`{field}` of `{tool}` {problem}")]
    BadArgument { tool: String, field: String, problem: String, nearest: Option<String> },
    #[error("the request is not JSON: {problem}")]
    NotJson { problem: String },
    #[error("{what} is not UTF-8 at byte {at}")]
    NotUtf8 { what: &'static str, at: usize },
    #[error("the request has {size} bytes, at most {limit} are read")]
    RequestTooLarge { size: usize, limit: usize },
    #[error("the request is nested deeper than {limit} levels")]
    RequestTooDeep { limit: usize },
    #[error("content is empty")]
    EmptyContent,
    #[error("content has {length} characters, at most {limit} fit one entry")]
    ContentTooLong { length: usize, limit: usize },
    #[error("content is text that Nacre itself put into the conversation")]
    Injected,
    #[error("unknown setting `{key}` in {origin}")]
    UnknownSetting { key: String, origin: String, nearest: Option<String> },
    #[error("setting `{key}` in {origin} {problem}")]
    BadSetting { key: String, origin: String, problem: String },
    #[error("{origin} is not valid TOML: {problem}")]
    BadSettingsFile { origin: String, problem: String },
    #[error("`{}` is left as it is: {problem}", path.display())]
    ForeignSettings { path: PathBuf, problem: String, by_hand: String },
    #[error("plugins `{one}` and `{other}` would both make the brief")]
    TwoBriefs { one: String, other: String },
    #[error("there is no plugin `{given}` in the settings")]
    NoPlugin { given: String, nearest: Option<String> },
    #[error("plugin `{name}` is not enabled")]
    PluginOff { name: String },
    #[error("plugin `{name}` {problem}")]
    PluginFailed { name: String, problem: String },
    #[error("there is no profile `{given}`")]
    UnknownProfile { given: String, known: String },
    #[error("`{}` is not an export of Nacre: {problem}", path.display())]
    BadImport { path: PathBuf, problem: String },
    #[error("`{}` can't be imported as {format}: it {problem}", path.display())]
    ForeignSource { format: &'static str, path: PathBuf, problem: String },
    #[error("`{name}` was imported before from `{other}`, which is another source")]
    SourceTaken { name: String, other: String },
    #[error("`{name}` is no transcript: {problem}")]
    BadTranscript { name: String, problem: String },
    #[error("`{}` {problem}", path.display())]
    BadModel { path: PathBuf, problem: String },
    #[error("`{}` is not the all-MiniLM-L6-v2 that was published: {what} has SHA-256 {found}", path.display())]
    StrangeModel { path: PathBuf, what: &'static str, found: String },
    #[error("there is no model `{given}` to remove")]
    NoModel { given: String },
    #[error("the model `{name}` is not installed")]
    NotInstalled { name: &'static str },
    #[error("the model `{name}` is not part of this build: the Cargo feature `{name}` is off")]
    NotBuilt { name: &'static str },
    #[error("there is no entry `{id}` in this group")]
    NoEntry { id: String },
    #[error("`{what}` {reason}")]
    KeptOut { what: String, reason: String },
    #[error("nobody and nothing called `{given}` is known in this group")]
    NoEntity { given: String, nearest: Option<String> },
    #[error("Entity with name {name} not found")]
    NoNode { name: String },
    #[error("there is no fact `{given}` in this group")]
    NoFact { given: String, known: String },
    #[error("there is no relation `{given}` that holds in this group")]
    NoRelation { given: String },
    #[error("`{alias}` and `{entity}` are one already")]
    SelfAlias { alias: String, entity: String },
    #[error("`{name}` is {} `{entity}` already", if *alias { "an alias of" } else { "the name of" })]
    NameTaken { name: String, entity: String, alias: bool },
    #[error("`{name}` is the entity's own name, not an alias")]
    OwnName { name: String },
    #[error("`{one}` and `{other}` were said never to be the same")]
    NeverSame { one: String, other: String },
    #[error("`{name}` was not merged into another entity")]
    NotMerged { name: String },
    #[error("`{}` is no seed of the graph: {problem}", path.display())]
    BadSeed { path: PathBuf, problem: String },
    #[error("there is no lesson {number}")]
    NoLesson { number: i64 },
    #[error("there is no collection `{given}` in this group")]
    NoCollection { given: String, known: String },
    #[error("there is no session `{given}` in this group")]
    NoSession { given: String, nearest: Option<String> },
    #[error("`{given}` is the beginning of {count} sessions")]
    ManySessions { given: String, count: usize, some: String },
    #[error("session `{given}` has no transcript of its own in this group")]
    NoTranscript { given: String },
    #[error("session id `{given}` makes a file name of {length} bytes, at most {limit} fit")]
    LongSession { given: String, length: usize, limit: usize },
    #[error("message `{id}` of session `{session}` says something else already")]
    MessageTaken { id: String, session: String },
    #[error("`{}` stayed locked by another process for too long", path.display())]
    TranscriptBusy { path: PathBuf },
    #[error("compaction is turned off")]
    CompactionOff,
    #[error("the source `{}` {problem}", path.display())]
    BadSource { path: PathBuf, problem: String },
    #[error("the source `{}` {problem}", path.display())]
    AbsentSource { path: PathBuf, problem: String },
    #[error("there is no project `{given}` in this group")]
    NoProject { given: String, known: String },
    #[error("project `{name}` is another folder: `{folder}`")]
    ProjectTaken { name: String, folder: String },
    #[error("the folder is project `{name}` already")]
    ProjectKnown { name: String },
    #[error("there is no {} in this group", tasks(given))]
    NoTask { given: Vec<TaskId> },
    #[error("there is no milestone `{given}` with tasks that are not archived")]
    NoMilestone { given: String, known: String },
    #[error("{id} can't be blocked by itself")]
    SelfBlocked { id: TaskId },
    #[error("{} would wait for each other: {}", tasks(&cycle[1..]), cycle.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → "))]
    BlockCycle { cycle: Vec<TaskId> },
    #[error("{id} is blocked by {}", tasks(by))]
    Blocked { id: TaskId, by: Vec<TaskId> },
    #[error("{id} is {status}")]
    TaskStatus { id: TaskId, status: &'static str },
    #[error("milestone `{milestone}` has open tasks: {}", tasks(open))]
    MilestoneOpen { milestone: String, open: Vec<TaskId> },
    #[error("{problem}")]
    BadTask { problem: String },
    #[error("`{}` has no tasks that can be taken in: {problem}", path.display())]
    BadTasks { path: PathBuf, problem: String },
    #[error("there is no job `{given}`")]
    NoJob { given: String, known: String },
    #[error("entry `{id}` is already superseded by `{by}`")]
    AlreadySuperseded { id: EntryId, by: String },
    #[error("entry `{id}` is archived")]
    Archived { id: EntryId },
    #[error("entry `{other}` already says exactly this")]
    SameContent { other: EntryId },
    #[error("role `{role}` may not use `{tool}`")]
    RoleDenied { tool: String, role: &'static str },
    #[error("`{tool}` is for people, not for agents")]
    PeopleOnly { tool: String },
    #[error("`{tool}` is not offered by profile `{profile}`")]
    NotOffered { tool: String, profile: String },
    #[error("this session has used its {limit} {action} calls")]
    SessionLimit { action: &'static str, limit: u32 },
    #[error("`{section}.{field}` {problem}")]
    BadProvider { section: &'static str, field: &'static str, problem: String },
    #[error("`{host}` does not let us in ({status}){said}")]
    ProviderDenied { host: String, status: u16, said: String },
    #[error("`{host}` has no model `{model}` at this URL (404){said}")]
    UnknownModel { host: String, model: String, said: String },
    #[error("`{host}` refuses what was sent ({status}){said}")]
    ProviderRefused { host: String, status: u16, said: String },
    #[error("`{host}` has too much to do (429){said}")]
    ProviderBusy { host: String, wait: Option<u64>, said: String },
    #[error("`{host}` {problem}")]
    ProviderDown { host: String, problem: String },
    #[error("the answer of `{host}` {problem}")]
    ProviderAnswer { host: String, problem: String },
    #[error("`{host}` gives vectors of {found} components, not of {expected}")]
    ProviderDims { host: String, found: usize, expected: usize },
    #[error("the database stayed busy for too long")]
    Busy,
    #[error("the disk that holds `{}` is full", path.display())]
    DiskFull { path: PathBuf },
    #[error("`{}` can't be written", path.display())]
    ReadOnly { path: PathBuf },
    #[error("the database `{}` is damaged", path.display())]
    Damaged { path: PathBuf },
    #[error("the database `{}` was damaged and is now set aside as `{}`", path.display(), aside.display())]
    SetAside { path: PathBuf, aside: PathBuf },
    #[error("the database `{}` has schema {found}, this program knows up to {known}", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("`{}` {problem}", path.display())]
    NotOurs { path: PathBuf, problem: String },
    #[error("`{}`: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the database refused: {0}")]
    Database(Box<dyn std::error::Error + Send + Sync>),
    #[error("an answer could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
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

    /// The table: code, kind, hint.
    fn row(&self) -> (&'static str, Kind, String) {
        use Error::*;
        use Kind::*;
        match self {
            BadId(ids::BadId::GroupName { .. }) => {
                ("bad_group_name", Invalid, "choose a name such as `main` or `work-2`".into())
            }
            BadId(ids::BadId::CollectionName { .. }) => {
                ("bad_collection_name", Invalid, "choose a name such as `papers` or `books-2`".into())
            }
            BadId(ids::BadId::ProjectName { .. }) => {
                ("bad_project_name", Invalid, "give one with `--project`, such as `api`".into())
            }
            BadId(ids::BadId::TaskId { .. }) => ("bad_task_id", Invalid, "`nacre task list` shows them".into()),
            NoProject { known, .. } => {
                let hint = match known.as_str() {
                    "" => "it has none; `nacre extract DIR` makes one".into(),
                    known => format!("there is: {known}"),
                };
                ("no_project", NotFound, hint)
            }
            ProjectTaken { .. } => {
                ("project_taken", Conflict, "choose another name with `--project`, or `--forget` the old one".into())
            }
            ProjectKnown { name } => {
                ("project_known", Conflict, format!("leave `--project` out, or `--forget --project {name}` first"))
            }
            NoTask { .. } => ("no_task", NotFound, "`nacre task list` shows them".into()),
            NoMilestone { known, .. } => {
                let hint = match known.as_str() {
                    "" => "`nacre task add TEXT --milestone M` makes one".into(),
                    known => format!("there is: {known}"),
                };
                ("no_milestone", NotFound, hint)
            }
            SelfBlocked { .. } => ("self_blocked", Conflict, String::new()),
            BlockCycle { .. } => {
                ("block_cycle", Conflict, "`nacre task unblock` takes one of these away first".into())
            }
            Blocked { id, .. } => {
                ("blocked", Conflict, format!("finish these first, or `nacre task unblock {id}`"))
            }
            TaskStatus { id, status: "archived" } => {
                ("task_status", Conflict, format!("{id} stays as it is; add a new task"))
            }
            TaskStatus { id, .. } => ("task_status", Conflict, format!("`nacre task reopen {id}` opens it again")),
            MilestoneOpen { .. } => ("milestone_open", Conflict, "finish or cancel these first".into()),
            BadTask { .. } => ("bad_task", Invalid, String::new()),
            BadTasks { .. } => {
                ("bad_tasks", Invalid, "docs/projects.md shows what such a file looks like".into())
            }
            NoJob { known, .. } => ("no_job", NotFound, format!("the jobs are {known}")),
            ForeignGroup { .. } => (
                "foreign_group",
                Denied,
                "leave `Nacre-Group` out, or ask with a token of that group".into(),
            ),
            BadId(ids::BadId::Session { .. }) => ("bad_session", Invalid, "leave it out and one is made".into()),
            BadId(ids::BadId::Entry { .. }) => {
                ("bad_id", Invalid, "`nacre search` and `nacre brief` show ids and numbers".into())
            }
            BadPath { .. } => (
                "bad_path",
                Invalid,
                "name a Markdown file within the workspace, such as `MEMORY.md` or `memory/topics/work.md`".into(),
            ),
            FileChanged { .. } => (
                "file_changed",
                Conflict,
                "nothing was written; look at the file and propose the change anew".into(),
            ),
            NeedsPrivate { .. } => {
                ("needs_private", Denied, "ask for it in a session of the person's own".into())
            }
            GroupDenied { .. } => (
                "group_denied",
                Denied,
                "a project reads its own group and the one that `access.admin_group` names".into(),
            ),
            NoCheckpoint { .. } => {
                ("no_checkpoint", NotFound, "`nacre checkpoint list` shows them with their whole names".into())
            }
            BadCheckpoint { .. } => (
                "bad_checkpoint",
                Conflict,
                "nothing was changed; restore another, and `nacre checkpoint drop` takes this one away".into(),
            ),
            FileTooLarge { .. } => ("file_too_large", Invalid, "split it into several files".into()),
            WriteDenied { setting, .. } => {
                ("write_denied", Denied, format!("a person can: `{setting}` in nacre.toml says what agents may do"))
            }
            Waits => ("waits", Denied, "`nacre pending` shows what waits".into()),
            PersonOnly { .. } => (
                "person_only",
                Denied,
                "ask the person to do it in a terminal of their own or on the page (`nacre ui`)".into(),
            ),
            NeedsTerminal { .. } => (
                "needs_terminal",
                Denied,
                "run it in a terminal, with standard input not redirected; a program uses HTTP with a person's token".into(),
            ),
            LoosenedPolicy { setting } => {
                ("loosened_policy", Denied, format!("only a person changes `{setting}`, in nacre.toml"))
            }
            NoProposal { .. } => ("no_proposal", NotFound, "`nacre pending` shows what waits".into()),
            AlreadyDecided { number, .. } => {
                ("already_decided", Conflict, format!("`nacre proposal show {number}` shows what became of it"))
            }
            ProposalConflict { number, .. } => (
                "proposal_conflict",
                Conflict,
                format!(
                    "nothing was written; `nacre proposal show {number}` shows both changes, `nacre approve {number} --rebase` \
                     joins them where they are apart, `nacre deny {number}` drops it"
                ),
            ),
            NotReverted { kind, .. } => (
                "not_reverted",
                Conflict,
                match *kind {
                    "call" => "memories have a history of their own: `nacre history ID`",
                    _ => "only what was approved can be undone",
                }
                .into(),
            ),
            TooManyProposals { .. } => (
                "too_many_proposals",
                Limit,
                "a person decides about them: `nacre pending`; `limits.propose` in nacre.toml raises the limit".into(),
            ),
            NothingToChange { .. } => ("nothing_to_change", Conflict, "it says that already".into()),
            HiddenFile { .. } => ("hidden_file", Denied, "ask for it in a private session".into()),
            UnknownTool { nearest, .. } => ("unknown_tool", Invalid, did_you_mean(*nearest)),
            BadArgument { nearest, .. } => ("bad_argument", Invalid, did_you_mean(nearest.as_deref())),
            NotJson { .. } => ("not_json", Invalid, String::new()),
            NotUtf8 { .. } => {
                ("not_utf8", Invalid, "convert it first, for example with `iconv -t UTF-8`".into())
            }
            RequestTooLarge { .. } => ("request_too_large", Invalid, "send less in one call".into()),
            RequestTooDeep { .. } => ("request_too_deep", Invalid, String::new()),
            EmptyContent => ("empty_content", Invalid, "say in a sentence what should be remembered".into()),
            ContentTooLong { .. } => (
                "content_too_long",
                Invalid,
                "store the insight rather than the text, or several entries".into(),
            ),
            Injected => ("injected", Invalid, "it is remembered already; store only what is new".into()),
            UnknownSetting { nearest, .. } => {
                let hint = match nearest {
                    Some(_) => did_you_mean(nearest.as_deref()),
                    None => "`nacre settings` lists every key".into(),
                };
                ("unknown_setting", Invalid, hint)
            }
            BadSetting { .. } => {
                ("bad_setting", Invalid, "`nacre settings --defaults` shows the file with comments".into())
            }
            BadSettingsFile { .. } => {
                ("bad_settings_file", Invalid, "`nacre settings --defaults` shows a valid one".into())
            }
            ForeignSettings { by_hand, .. } => (
                "foreign_settings",
                Invalid,
                format!("nothing was written; mend the file and try again, or by hand {by_hand}"),
            ),
            TwoBriefs { other, .. } => (
                "two_briefs",
                Conflict,
                format!(
                    "take `memory_brief` out of the `hooks` of one, or say `enabled = false` under `[plugins.{other}]`"
                ),
            ),
            NoPlugin { nearest, .. } => {
                let hint = match nearest {
                    Some(_) => did_you_mean(nearest.as_deref()),
                    None => "`nacre plugin list` shows those there are".into(),
                };
                ("no_plugin", NotFound, hint)
            }
            PluginOff { name } => (
                "plugin_off",
                Denied,
                format!("say `enabled = true` under `[plugins.{name}]` in nacre.toml if you trust the program"),
            ),
            PluginFailed { .. } => (
                "plugin_failed",
                Unavailable,
                "run its `command` by hand: it reads and writes JSON lines, as docs/plugins.md has them".into(),
            ),
            UnknownProfile { known, .. } => ("unknown_profile", Invalid, format!("the profiles are {known}")),
            BadImport { .. } => ("bad_import", Invalid, "give the folder that `nacre export` wrote".into()),
            ForeignSource { .. } => ("foreign_source", Invalid, "`nacre import --list` says what each format reads".into()),
            SourceTaken { .. } => {
                ("source_taken", Conflict, "give this one another name: `--as NAME`".into())
            }
            BadTranscript { .. } => (
                "bad_transcript",
                Invalid,
                "known are JSONL, Claude Code and Codex sessions, and ChatGPT and Claude exports".into(),
            ),
            BadModel { .. } => (
                "bad_model",
                Invalid,
                "give a folder or wheel with `model.safetensors` and `vocab.txt` of all-MiniLM-L6-v2, or the `minilm.bin` \
                 of another home"
                    .into(),
            ),
            StrangeModel { .. } => (
                "strange_model",
                Denied,
                "get it again from where it was published, or say `--trust` if you know what it is".into(),
            ),
            NoModel { .. } => ("no_model", NotFound, "`nacre model list` shows what is installed".into()),
            NotInstalled { .. } => (
                "model_not_installed",
                NotFound,
                "`nacre model install PATH` takes a folder, a wheel or a file".into(),
            ),
            NotBuilt { .. } => (
                "model_not_built",
                Unavailable,
                "use a build of `nacre-cli` with its default features, or set `embedding.provider` to `builtin`".into(),
            ),
            NoEntry { .. } => (
                "no_entry",
                NotFound,
                "`nacre search` finds entries; ids of other groups do not count".into(),
            ),
            KeptOut { .. } => ("kept_out", Invalid, String::new()),
            NoNode { .. } => ("no_node", NotFound, String::new()),
            NoEntity { nearest, .. } => {
                let hint = match nearest {
                    Some(_) => did_you_mean(nearest.as_deref()),
                    None => "`nacre entity list` shows who and what is known".into(),
                };
                ("no_entity", NotFound, hint)
            }
            NoFact { known, .. } => {
                let hint = match known.as_str() {
                    "" => "`nacre fact list` shows them".into(),
                    known => format!("it has {known}"),
                };
                ("no_fact", NotFound, hint)
            }
            NoRelation { .. } => ("no_relation", NotFound, "`nacre relation list` shows them".into()),
            SelfAlias { .. } => ("self_alias", Conflict, "there is nothing to do".into()),
            NameTaken { alias: true, .. } => {
                ("name_taken", Conflict, "one name means one entity; `nacre alias remove` frees it".into())
            }
            NameTaken { name, entity, .. } => (
                "name_taken",
                Conflict,
                format!("if both are the same, `nacre entity merge` joins `{name}` and `{entity}`"),
            ),
            OwnName { .. } => ("own_name", Conflict, "`nacre fact remove` forgets an entity's facts".into()),
            NeverSame { .. } => ("never_same", Conflict, "`nacre entity distinct` said so".into()),
            NotMerged { .. } => ("not_merged", NotFound, "`nacre entity list` shows who is who".into()),
            BadSeed { .. } => ("bad_seed", Invalid, "`nacre fact seed --help` shows what one looks like".into()),
            NoCollection { known, .. } => {
                let hint = match known.as_str() {
                    "" => "it has none; `nacre collection add NAME FOLDER` makes one".into(),
                    known => format!("there is: {known}"),
                };
                ("no_collection", NotFound, hint)
            }
            NoLesson { .. } => ("no_lesson", NotFound, "`nacre lesson list` shows the lessons there are".into()),
            NoSession { nearest, .. } => {
                let hint = match nearest {
                    Some(_) => did_you_mean(nearest.as_deref()),
                    None => "`nacre session list` shows them".into(),
                };
                ("no_session", NotFound, hint)
            }
            ManySessions { some, .. } => ("many_sessions", Conflict, format!("give more of it: {some}")),
            NoTranscript { .. } => (
                "no_transcript",
                NotFound,
                "`nacre session append` begins one; what was imported is shown by `nacre session show`".into(),
            ),
            LongSession { .. } => ("long_session", Invalid, "choose a shorter id, of plain letters".into()),
            MessageTaken { .. } => {
                ("message_taken", Conflict, "give it another id, or none and one is made".into())
            }
            TranscriptBusy { .. } => {
                ("transcript_busy", Unavailable, "try again; the lock goes with the process that holds it".into())
            }
            CompactionOff => {
                ("compaction_off", Denied, "set `session.compact` to `overlay` or `rewrite`".into())
            }
            BadSource { .. } => {
                ("bad_source", Invalid, "give folders with Markdown or plain text, or single files".into())
            }
            AbsentSource { .. } => (
                "absent_source",
                Unavailable,
                "bring it back; without `--anew` what was read of it is kept".into(),
            ),
            AlreadySuperseded { by, .. } => {
                ("already_superseded", Conflict, format!("use the newer one, `{by}`"))
            }
            Archived { .. } => ("archived", Conflict, "store it again to bring it back".into()),
            SameContent { other } => (
                "same_content",
                Conflict,
                format!("supersede or delete one of them; see `nacre show {other}`"),
            ),
            RoleDenied { .. } => {
                ("role_denied", Denied, "ask for it in a session with role `admin` or `project`".into())
            }
            PeopleOnly { .. } => {
                ("people_only", Denied, "ask the person to do it, at the page or the command line".into())
            }
            NotOffered { .. } => {
                ("not_offered", Denied, "name the tool in `tools.offer` or choose another profile".into())
            }
            SessionLimit { action, .. } => (
                "session_limit",
                Limit,
                format!(
                    "a new session starts anew, a person at the command line has no limit, and `limits.{action}` in nacre.toml \
                     raises it"
                ),
            ),
            BadProvider { section: "llm", .. } => (
                "bad_provider",
                Invalid,
                "an example: `llm.url = \"http://localhost:11434/v1\"`, `llm.model = \"qwen3\"`".into(),
            ),
            BadProvider { .. } => (
                "bad_provider",
                Invalid,
                "an example: `embedding.url = \"http://localhost:11434/v1\"`, `embedding.model = \"nomic-embed-text\"`".into(),
            ),
            ProviderDenied { .. } => (
                "provider_denied",
                Denied,
                "check the key that `embedding.key_variable` or `embedding.key_file` names".into(),
            ),
            UnknownModel { .. } => (
                "unknown_model",
                NotFound,
                "check `embedding.url` and `embedding.model`; a local server must have the model first (`ollama pull`)".into(),
            ),
            ProviderRefused { .. } => (
                "provider_refused",
                Invalid,
                "check `embedding.model` and `embedding.dimensions`; a text may also be too long for the model".into(),
            ),
            ProviderBusy { wait, .. } => {
                let hint = match wait {
                    Some(seconds) => format!("it asks to wait {seconds} seconds; its quota may be used up"),
                    None => "try again later; its quota may be used up".into(),
                };
                ("provider_busy", Limit, hint)
            }
            ProviderDown { .. } => {
                ("provider_down", Unavailable, "check that it runs and that `embedding.url` is right".into())
            }
            ProviderAnswer { .. } => (
                "provider_answer",
                Unavailable,
                "check that what `embedding.url` names speaks the embeddings API of OpenAI".into(),
            ),
            ProviderDims { found, .. } => (
                "provider_dims",
                Conflict,
                format!("set `embedding.dimensions` to {found}, or give back the model that went by this name before"),
            ),
            Busy => ("busy", Unavailable, "another process holds a long write; try again".into()),
            DiskFull { .. } => ("disk_full", Unavailable, "make room; nothing was changed".into()),
            ReadOnly { .. } => (
                "read_only",
                Unavailable,
                "check the owner and mode of the folder, or choose another with `--home`".into(),
            ),
            Damaged { .. } => {
                ("damaged", Unavailable, "`nacre doctor` says what is left and how to restore it".into())
            }
            SetAside { aside, .. } => (
                "set_aside",
                Unavailable,
                format!(
                    "restore the last export with `nacre import nacre DIR`, or save what can still be read with \
                     `nacre import database {}`; the next call starts an empty database",
                    aside.display()
                ),
            ),
            Newer { .. } => (
                "newer_database",
                Unavailable,
                "use the newer `nacre` that made it; nothing was changed".into(),
            ),
            NotOurs { .. } => {
                ("not_ours", Unavailable, "nothing was changed; move it away or choose another home".into())
            }
            Io { .. } => ("io", Unavailable, String::new()),
            Database(_) => ("sqlite", Internal, "`nacre doctor` checks the database".into()),
            Json(_) => ("json", Internal, String::new()),
        }
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

fn tasks(ids: &[TaskId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("did you mean `{nearest}`?")).unwrap_or_default()
}
