//! Plugins: programs in the home's settings that add lines to the turn context or make the brief.
//!
//! One thread talks to a plugin; another waits for the answer up to the time limit, then kills the plugin with everything it
//! started. A plugin is started with its first request, and kept for the next requests of the same process. If it fails, its
//! contribution is left out and the reason is reported; after three failures in a row it is not asked again.

mod once;
mod process;
mod talk;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nacre::settings::{Hook, Plugin as Settings};
use nacre::turn::{self, BriefPlugin, PluginLine};
use nacre::{GroupName, Home, MadeBy, SETTINGS_FILE, SessionId};
use serde_json::json;

use crate::render;

pub use once::run_once;
pub use process::end_all;
use process::{Process, lock};
pub use talk::About;
use talk::{Question, Running, Trouble};

/// After this many failures in a row, this process does not ask a plugin again.
const MOST_FAILURES: u32 = 3;
/// How long a plugin may take to end when it is told to.
const END_TIMEOUT: Duration = Duration::from_millis(100);

/// The enabled plugins of a home.
pub struct Plugins {
    all: Vec<Arc<Plugin>>,
}

/// One enabled plugin.
pub struct Plugin {
    pub name: String,
    pub settings: Settings,
    home: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// It runs and waits for the next request.
    running: Option<Running>,
    failures: u32,
}

/// A request to a plugin.
pub struct PluginRequest {
    pub plugin: Arc<Plugin>,
    begun: Instant,
    until: Instant,
    /// The pending answer, or the reason why it could not be asked.
    to_come: Result<(Arc<Process>, Receiver<PluginOutcome>), String>,
    answered: Cell<bool>,
}

type PluginOutcome = (Running, Result<Vec<PluginLine>, Trouble>);

/// A plugin's answer: its introduction and its lines.
pub struct PluginAnswer {
    pub about: About,
    pub said: Vec<PluginLine>,
    pub took: Duration,
}

impl Plugins {
    /// Reads the plugins from a home's settings. None is started yet.
    pub fn new(home: &Home) -> Plugins {
        let enabled = home.settings().plugins.iter().filter(|(_, settings)| settings.enabled);
        let all = enabled.map(|(name, settings)| {
            let (name, settings, home) = (name.clone(), settings.clone(), home.path().to_owned());
            Arc::new(Plugin { name, settings, home, state: Mutex::default() })
        });
        Plugins { all: all.collect() }
    }

    /// Lets the plugin that claims it make the brief of a home.
    pub fn make_briefs(&self, home: Home, group: &GroupName) -> Home {
        let Some(plugin) = self.at(Hook::MemoryBrief).next().cloned() else { return home };
        // If it is late, our own brief still has to be ready in time.
        let most = Duration::from_millis(home.settings().brief.time_limit_ms / 2);
        let (name, settings, group) = (plugin.name.clone(), home.settings().clone(), group.clone());
        let make = move |session: &SessionId| {
            let question = brief_question(&settings, &group, session);
            let answered = plugin.ask(Some(question), plugin.limit().min(most)).answer()?;
            match answered.about.claims(Hook::MemoryBrief) {
                true => Ok(answered.said),
                false => Err("does not claim `memory_brief`, which its settings give it".into()),
            }
        };
        home.with_brief_plugin(BriefPlugin { name, make: Arc::new(make) })
    }

    /// Sends a request to all plugins for the turn context, and returns at once.
    pub fn ask_turn(
        &self,
        group: &GroupName,
        session: &SessionId,
        message: &str,
        limit: Duration,
    ) -> Vec<PluginRequest> {
        let heard = turn::heard(message);
        let ask = |plugin: &Arc<Plugin>| {
            plugin.ask(Some(turn_question(plugin, group, session, &heard)), plugin.limit().min(limit))
        };
        self.at(Hook::Turn).map(ask).collect()
    }

    fn at(&self, hook: Hook) -> impl Iterator<Item = &Arc<Plugin>> {
        self.all.iter().filter(move |plugin| plugin.settings.hooks.contains(&hook))
    }

    pub fn named(&self, name: &str) -> Option<&Arc<Plugin>> {
        self.all.iter().find(|plugin| plugin.name == name)
    }

    /// Ends the running plugins: it tells them to, and kills them after a moment.
    pub fn end(&self, moment: Duration) {
        let until = Instant::now() + moment.min(END_TIMEOUT);
        let running: Vec<_> =
            self.all.iter().filter_map(|plugin| lock(&plugin.state).running.take()).collect();
        let ending = running.into_iter().map(|running| {
            std::thread::spawn(move || running.end(until.saturating_duration_since(Instant::now())))
        });
        ending.collect::<Vec<_>>().into_iter().for_each(|ending| drop(ending.join()));
    }
}

impl Drop for Plugins {
    fn drop(&mut self) {
        self.end(END_TIMEOUT);
    }
}

/// Runs a turn with the answers of the plugins.
pub fn with_answers<T>(asked: &[PluginRequest], turn: impl FnOnce(&[turn::Plugin<'_>]) -> T) -> T {
    let take = |asked: &PluginRequest| asked.answer().map(|answered| answered.said);
    let answers: Vec<_> = asked.iter().map(|asked| move || take(asked)).collect();
    let plugins = asked.iter().zip(&answers).map(|(asked, answer)| {
        let (name, tokens) = (asked.plugin.name.clone(), asked.plugin.settings.tokens);
        turn::Plugin { name, tokens, answer }
    });
    turn(&plugins.collect::<Vec<_>>())
}

/// Reports that a plugin failed to make the brief.
pub fn note_brief(plugin: Option<&MadeBy>) {
    if let Some(MadeBy { name, problem: Some(problem) }) = plugin {
        render::note(&format!("left out: plugin {name}: {problem}"));
    }
}

/// The request about a turn.
pub fn turn_question(plugin: &Plugin, group: &GroupName, session: &SessionId, heard: &str) -> Question {
    let told = json!({
        "group": group,
        "session": session,
        "folder": folder(),
        "message": heard,
        "budget_tokens": plugin.settings.tokens,
    });
    Question { hook: Hook::Turn, told }
}

/// The request to make the brief.
pub fn brief_question(settings: &nacre::Settings, group: &GroupName, session: &SessionId) -> Question {
    let most = settings.brief.max_chars / 4;
    let told = json!({ "group": group, "session": session, "folder": folder(), "budget_tokens": most });
    Question { hook: Hook::MemoryBrief, told }
}

/// Returns the current folder.
fn folder() -> Option<String> {
    std::env::current_dir().ok()?.into_os_string().into_string().ok()
}

impl Plugin {
    pub fn limit(&self) -> Duration {
        Duration::from_millis(self.settings.time_limit_ms)
    }

    /// Sends a request and returns at once: starts the plugin if it does not run, and hands the conversation to a thread. Without
    /// a request it only introduces itself.
    pub fn ask(self: &Arc<Plugin>, question: Option<Question>, limit: Duration) -> PluginRequest {
        let begun = Instant::now();
        let to_come = self.running().map(|mut running| {
            let process = running.process.clone();
            let (send, receive) = channel();
            std::thread::spawn(move || {
                let heard = running.converse(question);
                // If nobody waits any more, the thread that waited has handled it.
                let _ = send.send((running, heard));
            });
            (process, receive)
        });
        PluginRequest {
            plugin: self.clone(),
            begun,
            until: begun + limit,
            to_come,
            answered: Cell::new(false),
        }
    }

    /// Returns the running process, or starts one.
    fn running(&self) -> Result<Running, String> {
        let mut state = lock(&self.state);
        if state.failures >= MOST_FAILURES {
            return Err(format!("is not asked again: it failed {MOST_FAILURES} times in a row"));
        }
        if let Some(running) = state.running.take() {
            return Ok(running);
        }
        let started = distrust(&self.home, &self.settings.command).map_or(Ok(()), Err).and_then(|()| {
            process::start(&self.settings.command, &self.home)
                .map_err(|problem| format!("does not start: `{}`: {problem}", self.settings.command[0]))
        });
        match started {
            Ok((process, input, output)) => Ok(Running { process, input, output, about: None, asked: 0 }),
            Err(problem) => {
                state.failures += 1;
                Err(problem)
            }
        }
    }
}

impl PluginRequest {
    /// Waits for the answer up to the time limit.
    pub fn answer(&self) -> Result<PluginAnswer, String> {
        let (process, to_come) = self.to_come.as_ref().map_err(Clone::clone)?;
        self.answered.set(true);
        let heard = to_come.recv_timeout(self.until.saturating_duration_since(Instant::now()));
        let took = self.begun.elapsed();
        let problem = match heard {
            Ok((running, Ok(said))) => {
                let about = running.about.clone().unwrap_or_default();
                let mut state = lock(&self.plugin.state);
                (state.running, state.failures) = (Some(running), 0);
                return Ok(PluginAnswer { about, said, took });
            }
            Ok((running, Err(trouble))) => {
                // Its output is kept; the pipes are closed.
                let status = process.end();
                drop(running);
                let what = match (trouble, status.and_then(|status| status.code())) {
                    (Trouble::Nonsense(problem), _) => problem,
                    (Trouble::Gone, Some(code)) => format!("ended with exit code {code}"),
                    (Trouble::Gone, None) => "closed its output".into(),
                };
                let errors = process.errors();
                match errors.lines().last() {
                    Some(last) => format!("{what}; end of its standard error: {}", render::line(last, 200)),
                    None => what,
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                process.end();
                format!("gave no answer within {} ms", self.until.duration_since(self.begun).as_millis())
            }
            Err(RecvTimeoutError::Disconnected) => {
                process.end();
                "was stopped".into()
            }
        };
        lock(&self.plugin.state).failures += 1;
        Err(problem)
    }

    /// Returns the end of its standard error.
    pub fn errors(&self) -> String {
        self.to_come.as_ref().map(|(process, _)| process.errors()).unwrap_or_default()
    }
}

impl Drop for PluginRequest {
    fn drop(&mut self) {
        // Nobody waits for the answer, and nothing else would end the process.
        if let (Ok((process, _)), false) = (&self.to_come, self.answered.get()) {
            process.end();
        }
    }
}

/// Returns the reason not to start a program from the settings: another user could have put it there.
#[cfg(unix)]
fn distrust(home: &Path, command: &[String]) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    // The arguments may name scripts.
    let named = command.iter().map(|part| home.join(part));
    [home.to_owned(), home.join(SETTINGS_FILE)].into_iter().chain(named).find_map(|path| {
        // A missing file is reported when it is needed.
        let about = path.metadata().ok()?;
        let others = !matches!(about.uid(), owner if owner == me || owner == 0) || about.mode() & 0o002 != 0;
        others.then(|| format!("is not trusted: `{}` can be changed by others", path.display()))
    })
}

#[cfg(not(unix))]
fn distrust(_: &Path, _: &[String]) -> Option<String> {
    None
}
