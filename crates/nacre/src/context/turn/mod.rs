//! A turn: the lines that an agent should know before it answers one message, and the lessons of the answer.
//!
//! [`run`] asks the contributors of one table, by priority, each within its own share of the tokens, and stops when the
//! caller says that time is up. A contributor that fails or is late is left out and named; a turn never fails for it. Most
//! turns need nothing, so most blocks are empty. An injected line has passed `relevance`, was not injected a few turns ago,
//! and has a reason. All lines are inside tags by which Nacre recognises its own text, so that they are never searched,
//! archived or learned.
//!
//! [`archive`] records one exchange after it ended: for continuity, for lessons, for the signals of stability.

mod archive;
pub(crate) mod graph;
mod lesson;
pub(crate) mod plugin;
mod policy;
mod recall;
mod relevance;
mod speech;
mod stability;
mod state;
mod topic;

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::base::caller::{Actor, Caller, Role};
use crate::base::frame::{self, CLOSE, OPEN, OPEN_GUIDANCE, one_line};
use crate::base::ids::{ProjectName, SessionId};
use crate::base::redact;
use crate::base::settings::Dialect;
use crate::base::text::cut;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::entry;
use crate::records::lesson as rows;
use crate::records::project;
pub(crate) use crate::records::session::{exchange, said};
use crate::records::workspace::memory_file::{self, LineUse};
use crate::records::workspace::seen;
use crate::search::{self, NewerStatement};
use crate::store::Connection;
use crate::store::event::payload;

use recall::WeighedHit;
use relevance::{AnalysedMemories, Message};

pub use crate::base::text::tokens;
pub use crate::group::{BriefPlugin, MakeBrief, PluginLine};
pub use crate::records::lesson::{Lesson, LessonState};
pub use crate::records::session::exchange::Exchange;
pub use archive::ArchiveReport;
pub use lesson::Proposal;
pub(crate) use lesson::directs;
pub use plugin::{Plugin, harmless, heard};
pub use policy::{Policies, Policy, Problem};
pub use relevance::Evidence;
pub use stability::{Alignment, Principle};
pub use state::State;
pub use topic::{Anchor, Topic, TopicStatus};

/// A message, and how to answer it.
pub struct Request<'a> {
    /// The message as it came. Injected text in it is removed.
    pub message: String,
    /// The agent's last tool calls, oldest first, if the host knows them.
    pub tools: Vec<ToolUse>,
    /// Tells whether time is up. Called before each contributor, because the library has no clock.
    pub late: &'a dyn Fn() -> bool,
    /// Plugins that already received the message. Their lines come last.
    pub plugins: &'a [Plugin<'a>],
    /// Also return the candidates and the evidence for each.
    pub explain: bool,
}

impl Request<'_> {
    /// Returns a request about a message, without tool calls, plugins or a deadline.
    pub fn new(message: impl Into<String>) -> Request<'static> {
        Request { message: message.into(), tools: Vec::new(), late: &|| false, plugins: &[], explain: false }
    }
}

/// One tool call of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// Its arguments, in any form that is equal for equal arguments.
    pub input: String,
    /// Its result; empty if that is not known.
    pub output: String,
}

/// The text to inject before a message.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Turn {
    /// The text, inside tags; empty if nothing is needed.
    pub markdown: String,
    /// About how many tokens it has.
    pub tokens: usize,
    /// Its parts, in order.
    pub blocks: Vec<Block>,
    /// Contributors that failed or were too late, and why.
    pub left_out: Vec<String>,
    /// The candidates, best first, if the request asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub considered: Vec<Candidate>,
}

/// The lines of one contributor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Block {
    pub contributor: String,
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Line {
    /// The text that the agent reads.
    pub text: String,
    /// About how many tokens it has.
    pub tokens: usize,
    /// Why it is there.
    pub reason: String,
    /// Its origin: the id of an entry, an exchange, a lesson or a policy.
    pub source: String,
}

/// A candidate: something remembered that was weighed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Candidate {
    /// The contributor that weighed it.
    pub contributor: &'static str,
    /// Its id.
    pub source: String,
    /// Its text.
    pub text: String,
    /// How likely it helps, 0 to 1.
    pub score: f64,
    /// The evidence for and against it.
    pub evidence: Vec<Evidence>,
}

/// A line that a contributor offers.
pub(crate) struct Offer {
    text: String,
    reason: String,
    source: String,
    /// The source of the newer line that contradicts it. Without that one it is not injected.
    newer: Option<String>,
}

impl Offer {
    pub(crate) fn new(text: String, reason: String, source: String) -> Offer {
        Offer { text, reason, source, newer: None }
    }
}

/// A turn in progress: the state that contributors use.
pub(crate) struct TurnBuilder<'a> {
    pub(crate) view: View<'a>,
    pub(crate) caller: &'a Caller,
    pub(crate) message: Message,
    pub(crate) tools: &'a [ToolUse],
    pub(crate) state: State,
    /// The project in which the session works.
    pub(crate) project: Option<ProjectName>,
    pub(crate) known: AnalysedMemories,
    /// The score from which a candidate is injected.
    pub(crate) least: f64,
    /// The sources of the lines that are chosen so far.
    chosen: Vec<String>,
    /// Search results, weighed. One search serves two contributors.
    recalled: Option<Vec<WeighedHit>>,
    considered: Vec<Candidate>,
}

/// One contributor.
struct Contributor {
    name: &'static str,
    /// The tag that opens the block of its lines.
    open: &'static str,
    /// NanoClaw's heading of its lines.
    heading: &'static str,
    /// The largest share of all tokens that it may use, in percent.
    share: usize,
    /// The share that earlier contributors must leave for it, in percent.
    reserved: usize,
    run: fn(&mut TurnBuilder<'_>) -> Result<Vec<Offer>>,
}

/// All contributors, by priority. Plugins come last.
static CONTRIBUTORS: [Contributor; 6] = [
    Contributor {
        name: "graph",
        open: OPEN,
        heading: "[GRAPH MEMORY]",
        share: 40,
        reserved: 0,
        run: graph::offer,
    },
    Contributor {
        name: "memory",
        open: OPEN,
        heading: "[MEMORY]",
        share: 60,
        reserved: 0,
        run: recall::memory,
    },
    Contributor {
        name: "continuity",
        open: OPEN,
        heading: "[CONTINUITY CONTEXT]",
        share: 60,
        reserved: 0,
        run: recall::continuity,
    },
    Contributor {
        name: "stability",
        open: OPEN_GUIDANCE,
        heading: "[STABILITY CONTEXT]",
        share: 30,
        reserved: 0,
        run: stability::offer,
    },
    Contributor {
        name: "lessons",
        open: OPEN,
        heading: "[GROWTH VECTORS]",
        share: 40,
        reserved: 22,
        run: lesson::offer,
    },
    Contributor {
        name: "policies",
        open: OPEN_GUIDANCE,
        heading: "[GATING POLICIES]",
        share: 40,
        reserved: 25,
        run: policy::offer,
    },
];

/// The name that turns plugins on.
const PLUGINS: &str = "plugins";

/// Returns every name that `turn.contributors` may have.
pub(crate) fn contributors() -> impl Iterator<Item = &'static str> {
    CONTRIBUTORS.iter().map(|contributor| contributor.name).chain([PLUGINS])
}

/// Returns the text to inject before a message. It fails only if the caller is not allowed to ask. Problems with the memory
/// are named in the answer, and the turn goes on without it.
pub fn run(view: &mut View<'_>, request: &Request<'_>) -> Result<Turn> {
    let caller = view.caller();
    allow(caller)?;
    let settings = view.settings().turn.clone();
    let prose = said::prose(&request.message);
    let mut turn = Turn::default();
    if settings.contributors.is_empty() || settings.tokens == 0 {
        return Ok(turn);
    }
    let message = Message::new(&prose, view.settings().search.language());
    let before =
        |db: &Connection| Ok((state::load(db, &caller.session)?, project::current::of_caller(db, caller)?));
    let (state, project) = match view.read(before) {
        Ok(before) => before,
        Err(error) => {
            turn.left_out.push(format!("all: {error}"));
            return Ok(turn);
        }
    };
    let mut builder = TurnBuilder {
        view: view.lend(),
        caller,
        message,
        tools: &request.tools,
        state,
        project,
        known: AnalysedMemories::default(),
        least: settings.least,
        chosen: Vec::new(),
        recalled: None,
        considered: Vec::new(),
    };
    let calendar = caller.calendar();
    let has_headings = builder.view.settings().dialect == Dialect::Nanoclaw;
    let mut budget = Budget { left: settings.tokens, opened: Vec::new() };
    let on = |name: &str| settings.contributors.iter().any(|wanted| wanted == name);
    for (place, contributor) in
        CONTRIBUTORS.iter().enumerate().filter(|(_, contributor)| on(contributor.name))
    {
        if (request.late)() {
            turn.left_out.push(format!("{}: too late", contributor.name));
            continue;
        }
        let offers = match (contributor.run)(&mut builder) {
            Ok(offers) => offers,
            Err(error) => {
                turn.left_out.push(format!("{}: {error}", contributor.name));
                continue;
            }
        };
        let part = |percent: usize| settings.tokens * percent / 100;
        let behind = CONTRIBUTORS[place + 1..].iter().filter(|later| on(later.name));
        let reserved: usize = behind.map(|later| part(later.reserved)).sum();
        let heading = if has_headings { tokens(contributor.heading) + 1 } else { 0 };
        let room =
            part(contributor.share).min(budget.room(contributor.open).saturating_sub(reserved + heading));
        let block = builder.choose(contributor.name, offers, room, settings.repeat_turns);
        budget.left = budget.left.saturating_sub(block.as_ref().map_or(0, |_| heading));
        budget.spend(contributor.open, block.as_ref());
        turn.blocks.extend(block);
    }
    for plugin in request.plugins.iter().filter(|_| on(PLUGINS)) {
        let name = format!("plugin {}", one_line(&plugin.name));
        match (plugin.answer)() {
            Ok(said) => {
                let room = budget.room(OPEN).min(plugin.tokens);
                let name_of_line = one_line(&plugin.name);
                let offers =
                    plugin::offers(&name_of_line, &said, room.saturating_sub(1), &calendar, caller.now);
                let block = builder.choose(&name, offers, room, settings.repeat_turns);
                budget.spend(OPEN, block.as_ref());
                turn.blocks.extend(block);
            }
            Err(problem) => turn.left_out.push(format!("{name}: {}", one_line(&redact::text(&problem)))),
        }
    }
    let TurnBuilder { mut view, state, mut considered, .. } = builder;
    if request.explain {
        considered.sort_by(|a, b| b.score.total_cmp(&a.score));
        considered.truncate(100);
        turn.considered = considered;
        turn.considered.iter_mut().for_each(|one| one.text = redact::text(&one.text).into_owned());
    }
    turn.markdown = render(&turn.blocks, has_headings);
    turn.tokens = tokens(&turn.markdown);
    if !turn.blocks.is_empty()
        && let Err(error) = remember(&mut view, state, &turn)
    {
        turn.left_out.push(format!("injected lines could not be recorded: {error}"));
    }
    tell(&view, &turn);
    Ok(turn)
}

/// Records one exchange, a message with its answer, after it ended. Recording it twice has no further effect.
pub fn archive(view: &mut View<'_>, exchange: &Exchange) -> Result<ArchiveReport> {
    allow(view.caller())?;
    archive::archive(view, exchange)
}

/// Returns the state of a session: its topics, anchors and signals.
pub fn state(view: &View<'_>) -> Result<State> {
    allow(view.caller())?;
    view.read(|db| state::load(db, &view.caller().session))
}

/// Returns the sources of the lines that were injected into a session lately, each with its time, oldest first.
pub(crate) fn injected(db: &Connection, session: &SessionId) -> Result<Vec<(Time, String)>> {
    let state = state::load(db, session)?;
    Ok(state.injected.into_iter().map(|(_, source, at)| (at, source)).collect())
}

/// Returns all lessons, newest first.
pub fn lessons(view: &View<'_>) -> Result<Vec<Lesson>> {
    allow(view.caller())?;
    let mut lessons = view.read(rows::all)?;
    lessons.iter_mut().for_each(Lesson::redact);
    Ok(lessons)
}

/// Returns the lessons that have worked, each with the line that it would add to SOUL.md. Nothing is written: a person
/// decides.
pub fn proposals(view: &View<'_>) -> Result<Vec<Proposal>> {
    Ok(lessons(view)?.iter().filter_map(|lesson| lesson.proposal(view.now())).collect())
}

/// Returns the gating policies, and the lines that are almost one.
pub fn policies(view: &View<'_>) -> Result<Policies> {
    allow(view.caller())?;
    Ok(policy::look(view))
}

/// Tells for each text whether a lesson already says it.
pub(crate) fn known_lessons<'t>(
    db: &Connection,
    texts: impl IntoIterator<Item = &'t str>,
) -> Result<Vec<bool>> {
    texts.into_iter().map(|text| rows::is_known(db, text)).collect()
}

/// Stores a lesson that was given on purpose; `None`: it is already known.
pub(crate) fn teach(db: &Connection, text: &str, caller: &Caller) -> Result<Option<String>> {
    lesson::teach(db, text, caller)
}

/// Confirms a lesson that waits. Only a person can.
pub fn confirm(view: &mut View<'_>, number: i64) -> Result<Lesson> {
    match view.caller().actor {
        Actor::Person => lesson::confirm(view, number),
        Actor::Agent | Actor::Nacre => Err(Error::PersonOnly { what: "confirm a lesson" }),
    }
}

/// Deletes a lesson.
pub fn forget(view: &mut View<'_>, number: i64) -> Result<Lesson> {
    allow(view.caller())?;
    lesson::forget(view, number)
}

/// Refuses skills: they receive the context they need by handover.
fn allow(caller: &Caller) -> Result<()> {
    match caller.role {
        Role::Admin | Role::Project => Ok(()),
        Role::Skill => Err(Error::RoleDenied { tool: "turn".into(), role: caller.role.as_str() }),
    }
}

impl TurnBuilder<'_> {
    /// Chooses from the offers of a contributor: those that fit and were not injected lately. An old value is never
    /// injected without the newer one.
    fn choose(
        &mut self,
        name: &str,
        offers: Vec<Offer>,
        mut room: usize,
        repeat_turns: u32,
    ) -> Option<Block> {
        let mut lines = Vec::new();
        for Offer { text, reason, source, newer } in offers {
            let text = redact::text(&text).into_owned();
            let cost = tokens(&text) + 1;
            let is_known = self.chosen.contains(&source) || self.state.was_injected(&source, repeat_turns);
            if cost > room || is_known || newer.is_some_and(|newer| !self.chosen.contains(&newer)) {
                continue;
            }
            room -= cost;
            self.chosen.push(source.clone());
            lines.push(Line { tokens: tokens(&text), text, reason, source });
        }
        (!lines.is_empty()).then(|| Block { contributor: name.to_owned(), lines })
    }

    /// Returns the line of a newer memory, fact or dated document line that contradicts a statement.
    fn newer_line(&self, statement: &str, at: Time, is_fact: bool) -> Result<Option<Offer>> {
        let found = self.view.read(|db| search::newer(db, statement, at, is_fact))?;
        let Some(NewerStatement { kind, reference, statement: newer }) = found else { return Ok(None) };
        let date = self.caller.calendar().date(newer.at);
        let entry = self.view.read(|db| entry::get_all(db, [reference.as_str()]))?.pop();
        let text = match entry {
            Some(entry) => frame::line(&newer.text, entry.r#type.as_str(), &date, Some(entry.number)),
            None if kind == "chunk" => frame::line(&newer.text, &one_line(&newer.id), &date, None),
            None => frame::line(&newer.text, &kind, &date, None),
        };
        let source = if kind == "chunk" { newer.id } else { reference };
        Ok(Some(Offer::new(text, format!("newer than \"{}\"", cut(&one_line(statement), 80)), source)))
    }

    /// Records a candidate.
    pub(crate) fn consider(
        &mut self,
        contributor: &'static str,
        source: &str,
        text: &str,
        weighed: &relevance::Weight,
    ) {
        let evidence = weighed.parts.clone();
        self.considered.push(Candidate {
            contributor,
            source: source.to_owned(),
            text: text.to_owned(),
            score: weighed.score,
            evidence,
        });
    }
}

/// The tokens that are left for lines.
struct Budget {
    left: usize,
    /// The blocks whose tags are paid for.
    opened: Vec<&'static str>,
}

impl Budget {
    /// Returns how many tokens the lines of a block may have.
    fn room(&self, open: &'static str) -> usize {
        self.left.saturating_sub(self.tags(open))
    }

    fn spend(&mut self, open: &'static str, block: Option<&Block>) {
        let Some(block) = block else { return };
        let lines = block.lines.iter().map(|line| line.tokens + 1).sum::<usize>();
        self.left = self.left.saturating_sub(self.tags(open) + lines);
        self.opened.push(open);
    }

    fn tags(&self, open: &str) -> usize {
        if self.opened.contains(&open) { 0 } else { tokens(&enclose(open, "")) + 1 }
    }
}

/// Puts the lines into one block for each opening tag.
fn render(blocks: &[Block], has_headings: bool) -> String {
    let of = |block: &Block| CONTRIBUTORS.iter().find(|contributor| contributor.name == block.contributor);
    let open = |block: &Block| of(block).map_or(OPEN, |contributor| contributor.open);
    let mut texts = Vec::new();
    for tag in [OPEN, OPEN_GUIDANCE] {
        let mut text = String::new();
        for block in blocks.iter().filter(|block| open(block) == tag) {
            if let Some(contributor) = of(block).filter(|_| has_headings) {
                let _ = writeln!(text, "{}", contributor.heading);
            }
            for line in &block.lines {
                let _ = writeln!(text, "{}", line.text);
            }
        }
        if !text.is_empty() {
            texts.push(enclose(tag, &text));
        }
    }
    texts.join("\n")
}

fn enclose(open: &str, text: &str) -> String {
    format!("{open}\n{text}{CLOSE}")
}

/// Records the injected lines, so that they are not injected again at once. Losing this record costs nothing, so it has no
/// audit row.
fn remember(view: &mut View<'_>, mut state: State, turn: &Turn) -> Result<()> {
    let caller = view.caller();
    let lines = || turn.blocks.iter().flat_map(|block| &block.lines);
    state.note_injected(lines().map(|line| line.source.clone()), caller.now);
    let shown: Vec<i64> = lines().filter_map(|line| rows::number(&line.source)).collect();
    state.lessons.extend(&shown);
    view.note_returned(lines().filter_map(|line| line.source.parse().ok()));
    let used: Vec<_> = lines().map(|line| (memory_file::lines_of(view, &line.source), &line.text)).collect();
    let uses = used.iter().flat_map(|(at, words)| at.iter().map(|lines| LineUse { lines: *lines, words }));
    memory_file::note_used(view, &uses.collect::<Vec<_>>());
    // A line of a document counts as read by the session: `TOOLS.md#L1-L3`.
    let paths: Vec<String> =
        lines().filter_map(|line| line.source.rsplit_once('#')).map(|(path, _)| path.to_owned()).collect();
    seen::note(view, paths.iter().map(String::as_str));
    view.write(|tx| {
        rows::count_injected(tx, &shown)?;
        state::save(tx, caller, &state)
    })
}

fn tell(view: &View<'_>, turn: &Turn) {
    let lines: usize = turn.blocks.iter().map(|block| block.lines.len()).sum();
    let mut data = payload([
        ("type", "turn".into()),
        ("path", "turn".into()),
        ("size", turn.markdown.chars().count().into()),
        ("tokens", turn.tokens.into()),
        ("lines", lines.into()),
    ]);
    if !turn.left_out.is_empty() {
        // Names only: a problem may quote the memory.
        let names: Vec<Value> =
            turn.left_out.iter().map(|one| json!(one.split(':').next().unwrap_or_default())).collect();
        data.insert("left_out".into(), names.into());
    }
    view.tell("memory:read", data);
}
