//! Upkeep: init, status, doctor, audit, export, index, reindex, maintain.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::maintain::{JobSelection, JobStatus};
use nacre::{Caller, GroupName, Note, SyncReport, Zone};
use serde_json::json;

use super::{config, install};
use crate::args::{Audit, Global, Maintain};
use crate::clients::{CLIENTS, Hooks, LastRun, Machine};
use crate::context::{self, Context};
use crate::groups::behind;
use crate::render::{self, Effect, Failure, Paint, Progress, Unit, count, line, plain};

pub fn init(context: &Context, bare: bool) -> Result<ExitCode> {
    context.home.create()?;
    config::keep_profile(context)?;
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    view.create()?;
    let laid = if bare { None } else { Some(nacre::workspace::write_templates(&view)?) };
    let home = context.home.server().map_or_else(|| context.home.path().display().to_string(), str::to_owned);
    let name = context.global.group.as_str();
    if context.global.json {
        let mut answer = json!({ "home": home, "group": name });
        if let Some(laid) = &laid {
            answer["files"] = json!(laid.made);
            answer["kept"] = json!(laid.kept);
        }
        render::json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("The memory of group `{name}` is in {}\n", plain(&home));
    if let Some(laid) = laid.filter(|laid| !laid.made.is_empty()) {
        text.push_str(&format!("\nIts workspace is in {}:\n", plain(&view.folder().display().to_string())));
        for template in nacre::TEMPLATES.iter().filter(|template| laid.made.contains(&template.path)) {
            text.push_str(&format!("  {:<26} {}\n", template.path, template.purpose));
        }
        if !laid.kept.is_empty() {
            text.push_str(&format!("Unchanged: {}\n", laid.kept.join(", ")));
        }
    }
    text.push_str(
        "\nNext:\n  nacre store TEXT   remember something\n  nacre install      connect your agents\n  nacre boot         show what a session starts with",
    );
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub fn status(context: &Context) -> Result<ExitCode> {
    let status = context.enter(|view| nacre::status(view))?;
    if context.global.json {
        render::json(&status)?;
        return Ok(ExitCode::SUCCESS);
    }
    let nacre::Documents { indexed, chunks, skipped } = status.documents;
    let mut documents = format!("{indexed} in {}", count(chunks, "chunk", "chunks"));
    if skipped > 0 {
        documents.push_str(&format!(", {skipped} skipped (`nacre index` says why)"));
    }
    let mut rows = vec![
        (
            "home",
            context.home.server().map_or_else(|| context.home.path().display().to_string(), str::to_owned),
        ),
        ("group", status.group.to_string()),
        ("folder", status.folder.display().to_string()),
        ("profile", nacre::settings::profile_name(&status.profile).to_owned()),
        (
            "memories",
            format!(
                "{} current{}, {} superseded, {} archived",
                status.entries.current,
                size_limit(&status),
                status.entries.superseded,
                status.entries.archived
            ),
        ),
        ("documents", documents),
        (
            "projects",
            format!(
                "{} with {}; {}",
                status.projects,
                count(status.items, "item", "items"),
                count(status.tasks, "task", "tasks")
            ),
        ),
        (
            "graph",
            format!(
                "{}, {}, {}, {}{}",
                count(status.graph.entities, "entity", "entities"),
                count(status.graph.aliases, "alias", "aliases"),
                count(status.graph.facts, "fact", "facts"),
                count(status.graph.relations, "relation", "relations"),
                match status.graph.kept_out {
                    0 => String::new(),
                    skipped => {
                        let lines = count(skipped, "line", "lines");
                        format!("; {lines} skipped (`nacre graph fact skipped`)")
                    }
                }
            ),
        ),
        ("collections", status.collections.to_string()),
        ("passages", status.passages.to_string()),
        ("last write", status.last_write.map_or("never".into(), |time| time.to_string())),
        ("audit rows", status.audit_rows.to_string()),
        (
            "database",
            format!(
                "{:.1} MB, schema {}, SQLite {}",
                megabytes(status.database_bytes),
                status.schema,
                status.sqlite
            ),
        ),
    ];
    if status.pending > 0 {
        rows.push(("approvals", format!("{} (`nacre pending`)", count(status.pending, "change", "changes"))));
    }
    if let Some(nacre::TokenUse { requests, tokens, limit }) = status.tokens {
        let limit = if limit > 0 { format!(" of {limit}") } else { String::new() };
        rows.push((
            "tokens today",
            format!("{tokens}{limit} in {}", count(i64::try_from(requests)?, "request", "requests")),
        ));
    }
    if let Some(distil) = &status.distil {
        let due = count(distil.due, "conversation is due", "conversations are due");
        let problem = distil
            .problem
            .as_ref()
            .map(|problem| format!("; the last attempt failed: {}", line(problem, usize::MAX)));
        rows.push(("distil", format!("{due}{} (`nacre distil`)", problem.unwrap_or_default())));
    }
    if status.conflicts > 0 {
        rows.push(("conflicts", conflicts(&status)));
    }
    for problem in &status.file_problems {
        rows.push(("not read", plain(problem)));
    }
    if status.stale_memories > 0 {
        let memories = count(status.stale_memories, "memory names", "memories name");
        rows.push(("stale", format!("{memories} something that is gone (`nacre stale`)")));
    }
    if !status.infrastructure_seen.is_empty() {
        rows.push(("saw TOOLS.md", status.infrastructure_seen.join(", ")));
    }
    if let Some(embedded) = &status.embedded {
        rows.push(("vectors", vectors(embedded)));
    }
    if status.stale {
        let says = "built by another version or for another language (`nacre index` or a running server rebuilds it)";
        rows.push(("index", says.into()));
    }
    if let Some(renewed) = &status.vectors {
        rows.push(("vectors", rebuilt(renewed)));
    }
    for path in &status.set_aside {
        rows.push(("set aside", format!("{} (damaged; see `nacre doctor`)", path.display())));
    }
    render::out(&render::table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

/// The result of one check.
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub says: String,
}

pub fn doctor(context: &Context) -> Result<ExitCode> {
    let mut checks = examine(context);
    checks.extend(examine_clients(&context.global, context.home.path())?);
    report(context.global.json, &checks)
}

/// Checks what can be checked although the settings can't be used.
pub fn doctor_without_settings(global: &Global, problem: &anyhow::Error) -> Result<ExitCode> {
    let Failure { message, hint, .. } = Failure::of(problem);
    let says = match hint {
        Some(hint) => format!("{message}; {hint}"),
        None => message,
    };
    let mut checks = vec![Check { name: "settings", ok: false, says }];
    checks.extend(examine_clients(global, &context::home_path(global)?)?);
    report(global.json, &checks)
}

/// Says for each client that is on this machine whether it is connected, and when its hooks last ran. A client that is not
/// connected is no failure; settings that can't be read are one, because the client can't read them either.
fn examine_clients(global: &Global, home: &Path) -> Result<Vec<Check>> {
    let Ok(user) = context::user_folder() else { return Ok(Vec::new()) };
    let machine = Machine::this(user, context::folder_in);
    let program = install::running_program(global)?;
    let mut checks = Vec::new();
    for client in CLIENTS {
        let last = LastRun::read(home, client.name);
        let connected = install::is_connected(client, &machine, &program);
        if !connected.as_ref().unwrap_or(&false) && last.is_none() && !client.is_here(&machine) {
            continue;
        }
        if let Err(problem) = &connected {
            let says = format!(
                "{}: {}; fix the file, then run `nacre install {}`",
                client.title, problem, client.name
            );
            checks.push(Check { name: "client", ok: false, says });
            continue;
        }
        let connected = connected.unwrap_or(false);
        let mut says = match (last, client.hooks) {
            (Some(last), _) => {
                let at = context::zone().clock(last.at);
                let problem = last.problem.map(|problem| format!("; that run failed: {problem}"));
                format!("hooks last ran {at} ({}){}", last.event, problem.unwrap_or_default())
            }
            (None, _) if !connected => {
                format!("not connected; `nacre install {}` connects it", client.name)
            }
            (None, Hooks::None) => {
                "connected; it has no hooks, so its agent has to call the tools".to_owned()
            }
            (None, _) => format!("connected, but no hook has run yet. {}", client.next),
        };
        if client.own_memory(&machine).is_some() {
            says.push_str("; its own memory is on too");
        }
        checks.push(Check { name: "client", ok: true, says: format!("{}: {says}", client.title) });
    }
    Ok(checks)
}

/// Says how many conflicts are open, and how to see them.
fn conflicts(status: &nacre::Status) -> String {
    format!("{} (`nacre conflicts`)", count(status.conflicts, "open conflict", "open conflicts"))
}

/// Says how much of the size limit the memories take, from a tenth of it on.
fn size_limit(status: &nacre::Status) -> String {
    match status.entry_limit {
        Some(limit) if status.entry_bytes.saturating_mul(10) >= limit => {
            format!(" ({:.1} of {:.0} MB)", megabytes(status.entry_bytes), megabytes(limit))
        }
        _ => String::new(),
    }
}

/// Checks the data folder and all its groups.
pub fn examine(context: &Context) -> Vec<Check> {
    let mut checks = vec![Check {
        name: "settings",
        ok: true,
        says: format!("profile {}", nacre::settings::profile_name(&context.home.settings().profile)),
    }];
    let home = context.home.path();
    let writable = context.home.create();
    checks.push(Check {
        name: "home",
        ok: writable.is_ok(),
        says: match writable {
            Ok(()) => home.display().to_string(),
            Err(error) => format!("{error}; {}", error.hint().unwrap_or_default()),
        },
    });
    // A shared session is told nothing of other groups.
    let is_private = context.caller().visibility == nacre::Visibility::Private;
    let mut groups = context.home.groups().ok().filter(|_| is_private).unwrap_or_default();
    if !groups.contains(&context.global.group) {
        groups.push(context.global.group.clone());
    }
    for name in &groups {
        if let Err(error) = examine_group(context, name, &mut checks) {
            let says = format!("{name}: {error}; {}", error.hint().unwrap_or_default());
            checks.push(Check { name: "group", ok: false, says });
        }
    }
    checks
}

fn examine_group(context: &Context, name: &GroupName, checks: &mut Vec<Check>) -> nacre::Result<()> {
    let mut group = context.home.group(name, context.now())?;
    let visibility = context.caller().visibility;
    let caller = Caller { visibility, ..Caller::person(context.session(), context.now()) };
    let mut view = group.enter(&caller)?;
    let problems = view.check().unwrap_or_else(|error| vec![error.to_string()]);
    let status = nacre::status(&view);
    let entries = status.as_ref().map_or(0, |status| status.entries.current);
    let says = if problems.is_empty() {
        let vectors = status.as_ref().ok().and_then(|status| status.vectors.as_ref());
        let vectors = vectors.map(|so_far| format!("; vectors: {}", rebuilt(so_far)));
        let vectors = vectors.unwrap_or_default();
        format!(
            "{name}: {}; rows, index and audit log agree{vectors}",
            count(entries, "current memory", "current memories")
        )
    } else {
        format!(
            "{name}: {}; `nacre --group {name} reindex` repairs the index, an export or a backup restores the rest",
            problems.join("; ")
        )
    };
    checks.push(Check { name: "group", ok: problems.is_empty(), says });
    if let Ok(status) = &status
        && status.entry_limit.is_some_and(|limit| status.entry_bytes > limit)
    {
        let says = format!(
            "{name}: the memories take more than `entries.max_size_mb` allows{}; `nacre maintain` archives the ones that rank lowest, `nacre unarchive` brings one back",
            size_limit(status)
        );
        checks.push(Check { name: "size", ok: true, says });
    }
    if let Ok(status) = &status
        && status.conflicts > 0
    {
        checks.push(Check { name: "conflicts", ok: true, says: format!("{name}: {}", conflicts(status)) });
    }
    if let Ok(Some(advice)) = nacre::workspace::look_at_memory_file(&view, 5).map(|found| found.advice()) {
        let says = format!("{name}: {advice} (`nacre file memory`)");
        checks.push(Check { name: "MEMORY.md", ok: true, says });
    }
    for aside in status.iter().flat_map(|status| &status.set_aside) {
        let file = aside.display();
        let says = format!(
            "{file} was damaged; every readable memory of it is saved here. `nacre --group {name} import database {file}` tries \
             again; when nothing is missing, remove the file"
        );
        checks.push(Check { name: "set aside", ok: false, says });
    }
    let collections = nacre::collection::check(&mut view);
    let collections = collections.unwrap_or_else(|error| vec![("?".into(), vec![error.to_string()])]);
    for (collection, problems) in collections {
        let says = if problems.is_empty() { "rows and index agree".into() } else { problems.join("; ") };
        let says = format!("{name}/{collection}: {says}");
        checks.push(Check { name: "collection", ok: problems.is_empty(), says });
    }
    Ok(())
}

/// Shows the results; a failure is an exit code too.
pub fn report(as_json: bool, checks: &[Check]) -> Result<ExitCode> {
    let ok = checks.iter().all(|check| check.ok);
    if as_json {
        let checks: Vec<_> = checks
            .iter()
            .map(|check| json!({ "name": check.name, "ok": check.ok, "says": check.says }))
            .collect();
        render::json(&json!({ "ok": ok, "checks": checks }))?;
    } else {
        let paint = Paint::stdout();
        let mut text = String::new();
        for check in checks {
            let mark = if check.ok { paint.green("ok  ") } else { paint.red("FAIL") };
            text.push_str(&format!("{mark}  {:10} {}\n", check.name, plain(&check.says)));
        }
        render::out(&text)?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How many rows of the log a listing shows.
const AUDIT_ROWS: usize = 20;

pub fn audit(context: &Context, args: &Audit) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let view = group.enter(&caller)?;
    match args {
        Audit::List => {
            let mut lines = Vec::new();
            view.export_audit(|line| lines.push(line.to_owned()))?;
            let newest = lines.iter().rev().take(AUDIT_ROWS);
            let rows: Vec<serde_json::Value> =
                newest.map(|line| serde_json::from_str(line)).collect::<Result<_, _>>()?;
            if context.global.json {
                render::json(&rows)?;
            } else if rows.is_empty() {
                render::note("the log is empty");
            } else {
                let text =
                    |row: &serde_json::Value, key: &str| line(row[key].as_str().unwrap_or_default(), 40);
                let shown = rows.iter().map(|row| {
                    let at = text(row, "at");
                    let minute = at.get(..16).unwrap_or(&at).replace('T', " ");
                    format!(
                        "{minute}  {:18} {:8} {}\n",
                        text(row, "action"),
                        text(row, "actor"),
                        text(row, "outcome")
                    )
                });
                render::page(&shown.collect::<String>())?;
                if lines.len() > rows.len() {
                    render::note(&format!("{} older rows: `nacre audit export`", lines.len() - rows.len()));
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        Audit::Export => {
            let mut lines = String::new();
            view.export_audit(|line| {
                lines.push_str(line);
                lines.push('\n');
            })?;
            if context.global.json {
                let rows: Vec<serde_json::Value> =
                    lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
                render::json(&rows)?;
            } else if !lines.is_empty() {
                render::out(&lines)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Audit::Verify => {
            let verified = view.verify_audit()?;
            if context.global.json {
                render::json(&verified)?;
            } else {
                match &verified.problem {
                    None => render::out(&format!("{}, unbroken", count(verified.rows, "row", "rows")))?,
                    Some(problem) => {
                        render::out(&format!("{}, broken: {problem}", count(verified.rows, "row", "rows")))?
                    }
                }
            }
            Ok(if verified.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

pub fn export(context: &Context, folder: &Path, redacted: bool) -> Result<ExitCode> {
    use nacre::export::Credentials;
    let folder = std::path::absolute(folder)?;
    let bar = Progress::count(context.global.json, "Exporting", ("record", "records"), Effect::Uncounted);
    let credentials = if redacted { Credentials::Mask } else { Credentials::Keep };
    let done = context.enter_whole("export", |view| {
        nacre::export::export_with(view, &folder, credentials, &mut |step| bar.show(step))
    });
    drop(bar);
    let done = done?;
    if context.global.json {
        render::json(&done)?;
    } else {
        render::out(&format!(
            "{} written to {}: {}",
            count(done.entries, "memory", "memories"),
            plain(&done.folder.display().to_string()),
            done.files.join(", ")
        ))?;
        let found = count(done.credentials, "credential", "credentials");
        if redacted && done.credentials > 0 {
            render::note(&format!("{found} masked"));
        } else if done.credentials > 0 {
            render::note(&format!(
                "{found} in the clear; keep the folder to yourself, or export with --redacted to mask them"
            ));
        }
        if done.unreadable > 0 {
            render::note(&format!(
                "{} could not be read in full; `nacre import database FILE` into another group saves what else there is",
                count(done.unreadable, "part of the damaged database", "parts of the damaged database")
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub fn index(context: &Context) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    let progress = |what: &str, unit: Unit| Progress::count(context.global.json, what, unit, Effect::Writes);
    let bar = progress("Indexing documents", ("file", "files"));
    let done = nacre::workspace::sync_with(&mut view, &mut |done, all| bar.done_of(done, all));
    drop(bar);
    let done = done?;
    let bar = progress("Rebuilding vectors", ("vector", "vectors"));
    let renewed = nacre::collection::renew(&mut view, usize::MAX, &mut |so_far| {
        bar.done_of(so_far.made, so_far.all);
        std::thread::sleep(behind::PAUSE);
        ControlFlow::Continue(())
    });
    drop(bar);
    let renewed = renewed.context("documents are indexed, but not all vectors were rebuilt")?;
    let bar = progress("Reading lines of documents", ("part", "parts"));
    let lines = nacre::workspace::embed_lines(&mut view, usize::MAX, &mut |made, all| {
        bar.done_of(made, all);
        std::thread::sleep(behind::PAUSE);
        ControlFlow::Continue(())
    });
    drop(bar);
    lines.context("documents are indexed, but not all lines have vectors")?;
    let bar = progress("Embedding with the second model", ("vector", "vectors"));
    let embedded = nacre::collection::embed(&mut view, usize::MAX, &mut |so_far| {
        bar.done_of(so_far.done, so_far.done + so_far.left);
    });
    drop(bar);
    let embedded = embedded.context("documents are indexed, but the provider did not make all vectors")?;
    if context.global.json {
        let mut answer = serde_json::to_value(&done)?;
        if renewed.all > 0 {
            answer["vectors"] = serde_json::to_value(renewed)?;
        }
        if context.home.embedder().is_some() {
            answer["embedded"] = serde_json::to_value(&embedded)?;
        }
        render::json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !context.home.settings().documents.index {
        render::note("`documents.index` is off: documents are neither indexed nor searched");
    }
    let mut rows = synced_rows(&done);
    if renewed.all > 0 {
        rows.push(("index", rebuilt(&renewed)));
    }
    if context.home.embedder().is_some() {
        rows.push(("vectors", vectors(&embedded)));
    }
    render::out(&render::table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

/// Says how many built-in vectors were rebuilt.
fn rebuilt(renewed: &nacre::ReembeddingProgress) -> String {
    let left = if renewed.left() > 0 { " (`nacre index` or a running server rebuilds the rest)" } else { "" };
    format!("{} of {} rebuilt{left}", renewed.made, renewed.all)
}

/// Says how many vectors the provider has made.
fn vectors(embedded: &nacre::EmbeddingProgress) -> String {
    let nacre::EmbeddingProgress { model, done, refused, left } = embedded;
    let model =
        if model.is_empty() { "a model that is not available (`nacre index` says why)" } else { model };
    let refused = if *refused > 0 { format!(", {refused} refused") } else { String::new() };
    let left = if *left > 0 { format!(", {left} left (`nacre index` makes them)") } else { String::new() };
    format!("{done} by {model}{refused}{left}")
}

/// Says what happened to each document.
pub fn synced_rows(done: &SyncReport) -> Vec<(&'static str, String)> {
    /// More of one kind are counted, not listed; `--json` has them all.
    const MAX_ROWS: usize = 50;
    let paths = |paths: &[String]| paths.to_vec();
    let notes = |notes: &[Note]| notes.iter().map(|note| format!("{} {}", note.path, note.why)).collect();
    let mut rows = Vec::new();
    for (what, which) in [
        ("added", paths(&done.added)),
        ("changed", paths(&done.changed)),
        ("removed", paths(&done.removed)),
        ("repaired", notes(&done.repaired)),
        ("skipped", notes(&done.skipped)),
        ("absent", notes(&done.absent)),
    ] {
        let more = which.len().saturating_sub(MAX_ROWS);
        // A file name may contain anything, even line breaks.
        let shown = which.iter().take(MAX_ROWS).map(|found| line(found, usize::MAX));
        rows.extend(shown.map(|shown| (what, shown)));
        if more > 0 {
            rows.push((what, format!("and {more} more")));
        }
    }
    rows.push(("unchanged", done.unchanged.to_string()));
    if done.kept > 0 {
        rows.push(("kept", format!("{} as last read", done.kept)));
    }
    rows
}

pub fn reindex(context: &Context) -> Result<ExitCode> {
    let unit = ("passage", "passages");
    let bar = Progress::count(context.global.json, "Rebuilding the index", unit, Effect::Uncounted);
    let passages = context.enter(|view| nacre::reindex_with(view, &mut |step| bar.show(step)));
    drop(bar);
    let passages = passages?;
    if context.global.json {
        render::json(&json!({ "passages": passages }))?;
    } else {
        render::out(&format!("{} indexed", count(passages, "passage", "passages")))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub fn maintain(context: &Context, args: &Maintain) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    if args.list {
        let jobs = nacre::maintain::jobs(&view)?;
        if context.global.json {
            render::json(&jobs)?;
        } else {
            render::out(&jobs.iter().map(|job| job_lines(job, &caller.zone)).collect::<String>())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let which = match &args.only {
        Some(name) => JobSelection::Only(name.clone()),
        None if args.all => JobSelection::All,
        None => JobSelection::Due,
    };
    let bar = Progress::count(context.global.json, "Running maintenance", ("job", "jobs"), Effect::Uncounted);
    let ran = nacre::maintain::run_with(&mut view, &which, &mut |step| bar.show(step));
    drop(bar);
    let ran = ran?;
    let is_synced = args.only.is_none() && nacre::sync::is_on(context.home.path(), &context.global.group);
    if is_synced && let Err(problem) = nacre::sync::round(&mut view, &nacre::sync::RoundOptions::default()) {
        render::note(&format!("not synced: {problem}"));
    }
    if context.global.json {
        // The numbers of all jobs, by name.
        let counts = ran
            .iter()
            .flat_map(|ran| &ran.report.counts)
            .map(|(what, count)| (what.to_string(), json!(count)));
        let mut answer: serde_json::Map<String, serde_json::Value> = counts.collect();
        answer.insert("jobs".into(), json!(ran));
        render::json(&answer)?;
    } else if ran.is_empty() {
        render::out("Nothing is due; `nacre maintain --list` says when.")?;
    } else {
        let rows: Vec<_> = ran.iter().map(|ran| (ran.name, ran.report.says.clone())).collect();
        render::out(&render::table(&rows))?;
    }
    Ok(if ran.iter().any(|ran| ran.failed) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Shows a job: when it is due, and what its last run did.
fn job_lines(job: &JobStatus, zone: &Zone) -> String {
    let paint = Paint::stdout();
    let due = if job.due { "due now".to_owned() } else { format!("next {}", zone.clock(job.next)) };
    let last = match (job.ran_at, &job.says) {
        (Some(at), Some(says)) => format!("last {}: {}", zone.clock(at), line(says, usize::MAX)),
        _ => "has not run yet".to_owned(),
    };
    let last = if job.failed { paint.red(&last) } else { paint.dim(&last) };
    format!(
        "{} {:13} {due}  {}\n{:9}{last}\n",
        paint.bold(&format!("{:8}", job.name)),
        job.schedule,
        paint.dim(job.about),
        ""
    )
}
