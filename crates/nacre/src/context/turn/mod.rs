//! Each turn (SPEC T): what an agent should know before it answers one message, and what is learned from the
//! answer.
//!
//! [`run`] asks the contributors of one table, by priority, each within its own share of the tokens, and
//! stops when the caller says that it is late. What fails or comes too late is left out and named; a turn
//! never fails for it. Most turns need nothing, so most blocks are empty: what is put in has passed
//! `relevance`, is not what was put in a few turns ago, and says why it is there. All of it stands between
//! the marks by which our own text is known again, so that it is never searched, archived or learned (T6).
//!
//! [`archive`] takes in one exchange once it is over: for continuity, for lessons, for the signals of
//! stability.

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

use crate::base::caller::{Caller, Role};
use crate::base::frame::one_line;
use crate::base::frame::{CLOSE, OPEN, heading};
use crate::base::redact;
use crate::base::{Error, Result};
use crate::group::View;
use crate::records::lesson as rows;
pub(crate) use crate::records::session::{exchange, said};
use crate::records::workspace::memory_file::{self, LineUse};
use crate::records::workspace::seen;
use crate::store::Connection;
use crate::store::event::payload;

use recall::Recalled;
use relevance::{Known, Message};

pub use crate::base::text::tokens;
pub use crate::group::{BriefPlugin, MakeBrief, PluginLine};
pub use crate::records::lesson::Lesson;
pub use crate::records::session::exchange::Exchange;
pub use archive::Archived;
pub use lesson::Proposal;
pub use plugin::{Plugin, harmless, heard};
pub use policy::{Policies, Policy, Problem};
pub use relevance::Evidence;
pub use stability::{Alignment, Principle};
pub use state::State;
pub use topic::{Anchor, Standing, Topic};

/// What a turn is asked for.
pub struct Request<'a> {
    /// The message, as it came; what we put before it is taken out.
    pub message: String,
    /// The agent's last tool calls, oldest first, as far as the host knows them.
    pub tools: Vec<ToolUse>,
    /// Tells whether time is up. Asked before each contributor: the library has no clock.
    pub late: &'a dyn Fn() -> bool,
    /// Programs of others that add lines and were asked already; they come last.
    pub plugins: &'a [Plugin<'a>],
    /// Also say what was considered, and what spoke for it.
    pub explain: bool,
}

impl Request<'_> {
    /// Returns a request about a message, without anything beside it and without a deadline.
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
    /// Its arguments, in any form that is the same for the same arguments.
    pub input: String,
    /// What came back; empty where that is not known.
    pub output: String,
}

/// What to put before the message.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Turn {
    /// The text, between marks; empty where nothing is needed.
    pub markdown: String,
    /// About how many tokens it has.
    pub tokens: usize,
    /// What it is made of, in order.
    pub blocks: Vec<Block>,
    /// Contributors that failed or were too late, and why.
    pub left_out: Vec<String>,
    /// What was considered, best first, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub considered: Vec<Considered>,
}

/// The lines of one contributor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the words of SPEC T1")]
pub struct Block {
    pub contributor: String,
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Line {
    /// What the agent reads.
    pub text: String,
    /// About how many tokens it has.
    pub tokens: usize,
    /// Why it is there.
    pub reason: String,
    /// What it is made from: the id of an entry, an exchange, a lesson, a policy.
    pub source: String,
}

/// Something that was remembered and looked at.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Considered {
    /// The contributor that looked at it.
    pub contributor: &'static str,
    /// What it is.
    pub source: String,
    /// Its text.
    pub text: String,
    /// 0 to 1: how likely it helps.
    pub score: f64,
    /// What spoke for and against.
    pub evidence: Vec<Evidence>,
}

/// A line that a contributor offers.
pub(crate) struct Offer {
    text: String,
    reason: String,
    source: String,
}

/// A turn under way: what contributors may use.
pub(crate) struct Turning<'a> {
    pub(crate) view: View<'a>,
    pub(crate) caller: &'a Caller,
    pub(crate) message: Message,
    pub(crate) tools: &'a [ToolUse],
    pub(crate) state: State,
    pub(crate) known: Known,
    /// From which score on something is put in.
    pub(crate) least: f64,
    /// What search found, weighed; asked once, for two contributors.
    recalled: Option<Vec<Recalled>>,
    considered: Vec<Considered>,
}

/// One contributor.
struct Contributor {
    name: &'static str,
    /// What stands above its lines.
    heading: &'static str,
    /// The share of all tokens that it may use at most, in percent.
    share: usize,
    /// The share that the contributors before it must leave, in percent.
    reserved: usize,
    run: fn(&mut Turning<'_>) -> Result<Vec<Offer>>,
}

/// All of them, by priority (T1): 5, 8, 10, 15, 20, 25. Programs of others come behind.
static CONTRIBUTORS: [Contributor; 6] = [
    Contributor { name: "graph", heading: heading::GRAPH, share: 40, reserved: 0, run: graph::offer },
    Contributor { name: "memory", heading: heading::MEMORY, share: 60, reserved: 0, run: recall::memory },
    Contributor {
        name: "continuity",
        heading: heading::CONTINUITY,
        share: 60,
        reserved: 0,
        run: recall::continuity,
    },
    Contributor {
        name: "stability",
        heading: heading::STABILITY,
        share: 30,
        reserved: 0,
        run: stability::offer,
    },
    Contributor { name: "lessons", heading: heading::LESSONS, share: 40, reserved: 22, run: lesson::offer },
    Contributor { name: "policies", heading: heading::POLICIES, share: 40, reserved: 25, run: policy::offer },
];

/// The name under which programs of others are turned on.
const PLUGINS: &str = "plugins";

/// Every name that `turn.contributors` may have.
pub(crate) fn contributors() -> impl Iterator<Item = &'static str> {
    CONTRIBUTORS.iter().map(|contributor| contributor.name).chain([PLUGINS])
}

/// Returns what to put before a message (T1). An error only where the caller may not ask: what is wrong with
/// the memory is named in the answer, and the turn goes on without.
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
    let state = match view.read(|db| state::load(db, &caller.session)) {
        Ok(state) => state,
        Err(error) => {
            turn.left_out.push(format!("all: {error}"));
            return Ok(turn);
        }
    };
    let mut turning = Turning {
        view: view.lend(),
        caller,
        message,
        tools: &request.tools,
        state,
        known: Known::default(),
        least: settings.least,
        recalled: None,
        considered: Vec::new(),
    };
    // What the marks take is spent first.
    let mut left = settings.tokens.saturating_sub(tokens(&frame("")));
    let on = |name: &str| settings.contributors.iter().any(|wanted| wanted == name);
    for (place, contributor) in
        CONTRIBUTORS.iter().enumerate().filter(|(_, contributor)| on(contributor.name))
    {
        if (request.late)() {
            turn.left_out.push(format!("{}: too late", contributor.name));
            continue;
        }
        let offers = match (contributor.run)(&mut turning) {
            Ok(offers) => offers,
            Err(error) => {
                turn.left_out.push(format!("{}: {error}", contributor.name));
                continue;
            }
        };
        let part = |percent: usize| settings.tokens * percent / 100;
        let behind = CONTRIBUTORS[place + 1..].iter().filter(|later| on(later.name));
        let reserved: usize = behind.map(|later| part(later.reserved)).sum();
        let room = part(contributor.share).min(left.saturating_sub(reserved));
        let block =
            turning.choose(contributor.name, contributor.heading, offers, room, settings.repeat_turns);
        left -= block.as_ref().map_or(0, |block| spent(contributor.heading, block));
        turn.blocks.extend(block);
    }
    for plugin in request.plugins.iter().filter(|_| on(PLUGINS)) {
        let name = format!("plugin {}", one_line(&plugin.name));
        match (plugin.answer)() {
            Ok(said) => {
                let heading = plugin_heading(&plugin.name);
                let room = left.min(plugin.tokens);
                let offers = plugin::offers(&plugin.name, &said, room.saturating_sub(tokens(&heading) + 2));
                let block = turning.choose(&name, &heading, offers, room, settings.repeat_turns);
                left -= block.as_ref().map_or(0, |block| spent(&heading, block));
                turn.blocks.extend(block);
            }
            Err(problem) => turn.left_out.push(format!("{name}: {}", one_line(&redact::text(&problem)))),
        }
    }
    let Turning { mut view, state, mut considered, .. } = turning;
    if request.explain {
        considered.sort_by(|a, b| b.score.total_cmp(&a.score));
        considered.truncate(100);
        turn.considered = considered;
        turn.considered.iter_mut().for_each(|one| one.text = redact::text(&one.text).into_owned());
    }
    turn.markdown = render(&turn.blocks);
    turn.tokens = tokens(&turn.markdown);
    if !turn.blocks.is_empty()
        && let Err(error) = remember(&mut view, state, &turn)
    {
        turn.left_out.push(format!("what was injected could not be noted: {error}"));
    }
    tell(&view, &turn);
    Ok(turn)
}

/// Takes in one exchange: a message with its answer, once it is over (T3, T5). Twice is the same as once.
pub fn archive(view: &mut View<'_>, exchange: &Exchange) -> Result<Archived> {
    allow(view.caller())?;
    archive::archive(view, exchange)
}

/// Returns where a session stands: its topics, anchors and signals.
pub fn state(view: &View<'_>) -> Result<State> {
    allow(view.caller())?;
    view.read(|db| state::load(db, &view.caller().session))
}

/// Returns the lessons that were learned, newest first.
pub fn lessons(view: &View<'_>) -> Result<Vec<Lesson>> {
    allow(view.caller())?;
    let mut lessons = view.read(rows::all)?;
    lessons.iter_mut().for_each(Lesson::redact);
    Ok(lessons)
}

/// Returns the lessons that have proved themselves, each with the line that it would add to SOUL.md. Nothing
/// is written: a person decides.
pub fn proposals(view: &View<'_>) -> Result<Vec<Proposal>> {
    Ok(lessons(view)?.iter().filter_map(|lesson| lesson.proposal(view.now())).collect())
}

/// Returns the gating policies, and what is almost one (W8).
pub fn policies(view: &View<'_>) -> Result<Policies> {
    allow(view.caller())?;
    Ok(policy::look(view))
}

/// Tells of each text whether a lesson says it already.
pub(crate) fn known_lessons<'t>(
    db: &Connection,
    texts: impl IntoIterator<Item = &'t str>,
) -> Result<Vec<bool>> {
    texts.into_iter().map(|text| rows::is_known(db, text)).collect()
}

/// Learns what was said on purpose; `None`: it was known.
pub(crate) fn teach(db: &Connection, text: &str, caller: &Caller) -> Result<Option<String>> {
    lesson::teach(db, text, caller)
}

/// Forgets a lesson.
pub fn forget(view: &mut View<'_>, number: i64) -> Result<Lesson> {
    allow(view.caller())?;
    lesson::forget(view, number)
}

/// A skill gets what it needs handed over (A1).
fn allow(caller: &Caller) -> Result<()> {
    match caller.role {
        Role::Admin | Role::Project => Ok(()),
        Role::Skill => Err(Error::RoleDenied { tool: "turn".into(), role: caller.role.as_str() }),
    }
}

impl Turning<'_> {
    /// Chooses from what a contributor offers: what was not put in lately, as far as it fits.
    fn choose(
        &mut self,
        name: &str,
        heading: &str,
        offers: Vec<Offer>,
        room: usize,
        repeat_turns: u32,
    ) -> Option<Block> {
        let mut room = room.saturating_sub(tokens(heading) + 1);
        let mut lines = Vec::new();
        for Offer { text, reason, source } in offers {
            let text = redact::text(&text).into_owned();
            let cost = tokens(&text) + 1;
            if cost > room || self.state.was_injected(&source, repeat_turns) {
                continue;
            }
            room -= cost;
            lines.push(Line { tokens: tokens(&text), text, reason, source });
        }
        (!lines.is_empty()).then(|| Block { contributor: name.to_owned(), lines })
    }

    /// Notes that something was looked at.
    pub(crate) fn consider(
        &mut self,
        contributor: &'static str,
        source: &str,
        text: &str,
        weighed: &relevance::Weighed,
    ) {
        let evidence = weighed.parts.clone();
        self.considered.push(Considered {
            contributor,
            source: source.to_owned(),
            text: text.to_owned(),
            score: weighed.score,
            evidence,
        });
    }
}

fn plugin_heading(name: &str) -> String {
    format!("{} {}]", heading::PLUGIN, one_line(name))
}

fn spent(heading: &str, block: &Block) -> usize {
    tokens(heading) + 1 + block.lines.iter().map(|line| line.tokens + 1).sum::<usize>()
}

fn render(blocks: &[Block]) -> String {
    if blocks.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for block in blocks {
        let own = CONTRIBUTORS.iter().find(|contributor| contributor.name == block.contributor);
        let heading = own.map_or_else(
            || plugin_heading(block.contributor.strip_prefix("plugin ").unwrap_or_default()),
            |contributor| contributor.heading.to_owned(),
        );
        let _ = writeln!(text, "{heading}");
        for line in &block.lines {
            let _ = writeln!(text, "{}", line.text);
        }
    }
    frame(&text)
}

fn frame(text: &str) -> String {
    format!("{OPEN}\n{text}{CLOSE}")
}

/// Notes what was put in, so that it is not put in again at once. What costs nothing if it is lost needs no
/// audit row.
fn remember(view: &mut View<'_>, mut state: State, turn: &Turn) -> Result<()> {
    let caller = view.caller();
    let lines = || turn.blocks.iter().flat_map(|block| &block.lines);
    state.note_injected(lines().map(|line| line.source.clone()));
    let shown: Vec<i64> = lines().filter_map(|line| rows::number(&line.source)).collect();
    state.lessons.extend(&shown);
    view.note_returned(lines().filter_map(|line| line.source.parse().ok()));
    let used: Vec<_> = lines().map(|line| (memory_file::lines_of(view, &line.source), &line.text)).collect();
    let uses = used.iter().flat_map(|(at, words)| at.iter().map(|lines| LineUse { lines: *lines, words }));
    memory_file::note_used(view, &uses.collect::<Vec<_>>());
    // What is put in of a document is read by the session (W10): `TOOLS.md#L1-L3`.
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
        // Names only: what went wrong may have words of the memory in it.
        let names: Vec<Value> =
            turn.left_out.iter().map(|one| json!(one.split(':').next().unwrap_or_default())).collect();
        data.insert("left_out".into(), names.into());
    }
    view.tell("memory:read", data);
}
