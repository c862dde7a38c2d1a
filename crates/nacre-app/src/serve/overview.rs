//! `/v1/overview`: data that no tool returns and the dashboard shows: version, groups, clients, maintenance jobs, settings,
//! and the activity of agents by day.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use nacre::maintain::{self, JobStatus};
use nacre::{GroupName, Time};
use serde::{Deserialize, Serialize};

use super::reply::{failed, refuse};
use super::state::{Setting, State};
use crate::clients::{CLIENTS, Hooks, LastRun, Machine, Program};
use crate::context;
use crate::groups::who::{PAGE_SESSION, Principal, Requester};

/// How many days of activity are returned.
const ACTIVITY_DAYS: i64 = 30;
/// Tools whose answers are startup contexts.
const STARTUP_TOOLS: &[&str] = &["memory_boot", "memory_brief"];
/// Characters of one token, about: the telemetry file has only sizes.
const CHARS_PER_TOKEN: u64 = 4;

#[derive(Serialize)]
struct Overview {
    version: &'static str,
    group: GroupName,
    /// The groups that the caller can open.
    groups: Vec<GroupName>,
    clients: Vec<ClientStatus>,
    jobs: Vec<JobStatus>,
    settings: Vec<Setting>,
    activity: Vec<Day>,
}

/// A client that is on this machine or has run a hook.
#[derive(Serialize)]
struct ClientStatus {
    name: &'static str,
    title: &'static str,
    connected: bool,
    /// Whether it runs hooks. Otherwise its agent has to call the tools.
    hooks: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<LastRun>,
}

/// The activity of one day, without the dashboard's own.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Day {
    day: String,
    /// Tokens of startup contexts and briefs.
    startup_tokens: u64,
    /// Tokens added before user messages.
    turn_tokens: u64,
    /// How many messages got them.
    turns: u64,
    searches: u64,
    writes: u64,
    /// Tokens that the answers of tools gave to agents, without startup contexts.
    answer_tokens: u64,
    /// How many answers that were.
    answers: u64,
}

/// Returns every setting, with credentials masked.
pub fn settings(context: &context::Context) -> nacre::Result<Vec<Setting>> {
    let defaults = nacre::settings::effective(None, &[])?;
    let pairs = nacre::settings::effective(context.global.profile.as_deref(), &context.layers)?;
    let setting = |pair: (String, String)| Setting {
        changed: !defaults.contains(&pair),
        key: pair.0,
        value: nacre::redact::text(&pair.1).into_owned(),
    };
    Ok(pairs.into_iter().map(setting).collect())
}

/// Returns the overview of a group. Only people may see it.
pub async fn show(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Response {
    if !principal.person {
        return refuse(StatusCode::FORBIDDEN, "role_denied", "the overview is for people only", None);
    }
    let (caller, group) = match principal.caller(&headers, state.now()) {
        Ok(known) => known,
        Err(error) => return failed(&error),
    };
    let own = state.clone();
    let work = move |view: &mut nacre::View<'_>| {
        let home = own.home.path();
        let group = view.name().clone();
        let groups = match &principal.group {
            Some(only) => vec![only.clone()],
            None => {
                let mut groups = nacre::team::groups(&own.home, principal.member.as_deref())?;
                groups.extend((!groups.contains(&group)).then(|| group.clone()));
                groups
            }
        };
        Ok(Overview {
            version: env!("CARGO_PKG_VERSION"),
            groups,
            clients: clients(home),
            jobs: maintain::jobs(view)?,
            settings: own.settings.clone(),
            activity: activity(home, &group, view.caller().now),
            group,
        })
    };
    match state.pool.ask(Requester { caller, group }, work).await {
        Ok(overview) => Json(overview).into_response(),
        Err(error) => failed(&error),
    }
}

/// Returns the clients that are on this machine, or whose hooks have run.
fn clients(home: &Path) -> Vec<ClientStatus> {
    let Ok(user) = context::user_folder() else { return Vec::new() };
    let machine = Machine::this(user, context::folder_in);
    let path = std::env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let program = Program { path, flags: Vec::new() };
    let shown = CLIENTS.iter().map(|client| ClientStatus {
        name: client.name,
        title: client.title,
        connected: client.is_connected(&machine, &program),
        hooks: client.hooks != Hooks::None,
        last_run: LastRun::read(home, client.name),
    });
    let is_here = |shown: &ClientStatus| {
        shown.connected || shown.last_run.is_some() || {
            crate::clients::Client::named(shown.name).is_some_and(|client| client.is_here(&machine))
        }
    };
    shown.filter(is_here).collect()
}

/// The fields of an event that are counted.
#[derive(Deserialize)]
struct EventLine {
    event: String,
    at: Time,
    group: String,
    session: String,
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    size: i64,
    #[serde(default)]
    tokens: u64,
    #[serde(default)]
    tool: String,
    /// Whether a session started with it.
    #[serde(default)]
    startup: bool,
}

/// Returns what agents read, searched and wrote by day, oldest first, from the telemetry file. A file that is missing or
/// damaged counts as empty.
fn activity(home: &Path, group: &GroupName, now: Time) -> Vec<Day> {
    let file = home.join(nacre::event::FILE);
    let zone = context::zone();
    let mut days: BTreeMap<String, Day> = BTreeMap::new();
    for ago in 0..ACTIVITY_DAYS {
        let day = zone.day(now.plus_days(-ago)).to_string();
        days.insert(day.clone(), Day { day, ..Day::default() });
    }
    for path in [file.with_extension("1.jsonl"), file] {
        let Ok(file) = std::fs::File::open(path) else { continue };
        for line in BufReader::new(file).lines().map_while(Result::ok) {
            let Ok(event) = serde_json::from_str::<EventLine>(&line) else { continue };
            if event.group != group.as_str() || event.session == PAGE_SESSION {
                continue;
            }
            if let Some(day) = days.get_mut(&zone.day(event.at).to_string()) {
                day.count(&event);
            }
        }
    }
    days.into_values().collect()
}

impl Day {
    fn count(&mut self, event: &EventLine) {
        match (event.event.as_str(), event.r#type.as_str()) {
            ("memory:read", "turn") => {
                self.turn_tokens += event.tokens;
                self.turns += u64::from(event.tokens > 0);
            }
            // A file that an agent reads with a tool is part of that tool's answer.
            ("memory:read", "brief" | "file" | "skills" | "tasks")
                if event.startup || event.r#type != "file" =>
            {
                self.startup_tokens += u64::try_from(event.size).unwrap_or(0) / CHARS_PER_TOKEN;
            }
            ("memory:answer", _) if !STARTUP_TOOLS.contains(&event.tool.as_str()) => {
                self.answer_tokens += event.tokens;
                self.answers += 1;
            }
            ("memory:search", _) => self.searches += 1,
            ("memory:write", _) => self.writes += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_counts_agents_and_leaves_the_dashboard_out() {
        let home = tempfile::tempdir().unwrap();
        let line = |event: &str, session: &str, rest: &str| {
            format!(
                r#"{{"event":"{event}","at":"2026-02-18T12:00:00Z","group":"main","session":"{session}"{rest}}}"#
            )
        };
        let lines = [
            line("memory:read", "s1", r#","type":"brief","path":"brief","size":400"#),
            line("memory:read", "s1", r#","type":"turn","path":"turn","size":90,"tokens":21"#),
            line("memory:read", "s1", r#","type":"turn","path":"turn","size":0,"tokens":0"#),
            line("memory:search", "s1", r#","query":5,"results":2"#),
            line("memory:answer", "s1", r#","tool":"memory_search","tokens":40"#),
            line("memory:answer", "s1", r#","tool":"memory_boot","tokens":900"#),
            line("memory:read", "s1", r#","type":"file","path":"MEMORY.md","size":800"#),
            line("memory:read", "s1", r#","type":"file","path":"MEMORY.md","size":80,"startup":true"#),
            line("memory:search", PAGE_SESSION, r#","query":5,"results":2"#),
            line("memory:write", "s1", r#","type":"entry","size":-3"#),
            line("memory:write", "s1", "").replace("main", "other"),
            "not JSON".to_owned(),
        ];
        std::fs::write(home.path().join(nacre::event::FILE), lines.join("\n")).unwrap();
        let now = serde_json::from_str(r#""2026-02-19T12:00:00Z""#).unwrap();
        let days = activity(home.path(), &"main".parse().unwrap(), now);
        assert_eq!(days.len(), 30);
        let counted = Day {
            day: days[28].day.clone(),
            startup_tokens: 120,
            turn_tokens: 21,
            turns: 1,
            searches: 1,
            writes: 1,
            answer_tokens: 40,
            answers: 1,
        };
        assert_eq!(days[28], counted);
        assert_eq!(days[29].searches, 0);
    }
}
