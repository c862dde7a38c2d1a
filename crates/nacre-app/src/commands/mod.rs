//! One file per family of commands: build a request, call, render.

mod admin;
mod care;
mod changes;
mod checkout;
mod checkpoint;
mod collection;
mod config;
mod conflict;
mod demo;
mod distil;
mod editor;
mod entry;
mod erase;
mod events;
mod graph;
mod group;
pub mod hook;
mod import;
mod input;
mod install;
mod log;
pub mod memory_tool;
mod model;
mod overview;
mod plugin;
mod project;
mod proposal;
mod self_check;
mod service;
mod session;
mod stale;
mod sync;
mod team;
mod tools;
mod turn;
mod workspace;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::CommandFactory;
use clap::error::ErrorKind;
use nacre::call::{
    DemoteRequest, ReinforceRequest, SearchRequest, ShareRequest, TraceRequest, UnarchiveRequest,
};

use crate::args::{self, Cli, Command, ConfigVerb, Proposal, Target};
use crate::context::{Context, Needs};
use crate::render::Failure;
use crate::{mcp, render, serve};

/// Runs a command.
pub fn run(cli: Cli) -> Result<ExitCode> {
    let Some(command) = cli.command.map(Command::canonical) else {
        return overview::run(&Context::new(cli.global)?);
    };
    // These need no home and read no settings.
    match &command {
        Command::Help { words } => return help(words, cli.global.json),
        Command::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "nacre", &mut script);
            render::out(&String::from_utf8(script)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            render::out(&String::from_utf8(page)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Settings(args) | Command::Config(args) if args.defaults => {
            render::out(nacre::settings::DEFAULTS)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Demo => return demo::run(cli.global.json),
        Command::Hook(args) => return Ok(hook::run(cli.global, args)),
        Command::Install(args) => return install::run(&cli.global, &args.clients, args.rules, args.undo),
        Command::Uninstall(args) => return install::run(&cli.global, args, false, true),
        Command::Bench { .. } => return Ok(bench(cli.global.json || args::ask_for_json())),
        _ => {}
    }
    let mut context = match Context::new(cli.global.clone()) {
        Err(problem) if matches!(command, Command::Doctor) => {
            return care::doctor_without_settings(&cli.global, &problem);
        }
        Err(_) if config::repairs(&command) => Context::without_settings(cli.global)?,
        context => context?,
    };
    context.check(needs(&command))?;
    match (&command, context.check_policies()) {
        // A client starts it and shows its agent no error: it serves with the policies of nacre.toml instead.
        (Command::Mcp(_), Err(loosened)) => render::note(&format!("{loosened}; nacre.toml applies")),
        (_, checked) => checked?,
    }
    // A profile limits the tools that agents see over MCP and with `call`. Commands are there for everyone with a shell.
    if context.is_agent() && !matches!(command, Command::Call(_) | Command::Mcp(_) | Command::MemoryTool) {
        context.home = context.home.with_all_tools();
    }
    // A command or flag that names a compatibility API enables it.
    match &command {
        Command::Serve(args) | Command::Ui(args) => {
            let apis: Vec<&str> = args.compat.iter().map(|api| api.as_str()).collect();
            context.home = context.home.with_compat(&apis);
        }
        Command::MemoryTool => context.home = context.home.with_compat(&["memory-tool"]),
        Command::Mcp(args::Mcp { tools: Some(args::ToolSet::MemoryServer), .. }) => {
            context.home = context.home.with_compat(&["memory-server"]).with_compat_alone();
        }
        _ => {}
    }
    if looks_into_group(&command) {
        context.check_group()?;
    }
    let is_plain = matches!(command, Command::Call(_) | Command::MemoryTool);
    let done = dispatch(&context, command);
    if is_plain { done } else { done.map_err(|error| for_people(&context, error)) }
}

/// Tells whether a command only reads what a group holds.
fn looks_into_group(command: &Command) -> bool {
    use Command::{Audit, Changes, Export, Graph, Grep, History, Items, Pending, Search, Show};
    matches!(
        command,
        Search(_)
            | Grep(_)
            | Show(_)
            | History(_)
            | Changes(_)
            | Graph(_)
            | Items(_)
            | Pending(_)
            | Export(_)
            | Audit(_)
    )
}

/// Returns an error in the words of the command line: short ids, and no names of tools.
fn for_people(context: &Context, error: anyhow::Error) -> anyhow::Error {
    let mut failure = Failure::of(&error);
    match error.downcast_ref::<nacre::Error>() {
        Some(nacre::Error::BadArgument { field, problem, .. }) => {
            failure.message = format!("{} {problem}", argument(field));
        }
        Some(nacre::Error::NoEntry { .. }) => failure.hint = Some(known_memories(context)),
        _ if !failure.message.contains("mem-") => return error,
        _ => {}
    }
    failure.message = context.with_short_ids(&failure.message);
    failure.hint = failure.hint.map(|hint| context.with_short_ids(&hint));
    failure.into()
}

/// Says which memories there are to name.
fn known_memories(context: &Context) -> String {
    let newest = context.ask(SearchRequest { limit: Some(1), ..SearchRequest::default() });
    let newest = newest.ok().and_then(|found| Some(found.hits.first()?.entry.as_ref()?.number));
    match newest {
        Some(number) => format!(
            "the newest memory is [id:{number}]; `nacre search` lists them, and the start of an id (`mem-…`) works too"
        ),
        None => "this group has no memories yet; `nacre store` adds one".to_owned(),
    }
}

/// Returns what a person calls the argument of a tool.
fn argument(field: &str) -> String {
    match field {
        "content" | "description" | "message" => "the text".into(),
        "query" => "the query".into(),
        field if field.starts_with('-') || field.chars().all(char::is_uppercase) => format!("`{field}`"),
        field => format!("`--{}`", field.replace('_', "-")),
    }
}

/// Shows the help of all commands or of one.
fn help(words: &[String], as_json: bool) -> Result<ExitCode> {
    if words == ["all"] {
        render::page(&render::flow(&args::help_of_all()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown = args::help_of(words).context("`--help` is never a command")?;
    Ok(render::usage(&shown, as_json))
}

fn dispatch(context: &Context, command: Command) -> Result<ExitCode> {
    match command {
        Command::Init(args) => care::init(context, args.bare),
        Command::Store(args) => entry::store(context, args),
        Command::Search(args) => context.as_of(args.as_of, |context| entry::search(context, args)),
        Command::Grep(args) => entry::grep(context, args),
        Command::Show(args) => match args.id {
            Target::Memory(id) => context.as_of(args.as_of, |context| entry::show(context, &id, args.reveal)),
            Target::File(path) => proposal::get(context, &args::Get { path }),
        },
        Command::History(args) => entry::history(context, &args.id),
        Command::Changes(args) => changes::run(context, &args),
        Command::Update(args) => entry::update(context, &args),
        Command::Unarchive(args) => entry::run(context, UnarchiveRequest { id: context.entry(&args.id)? }),
        Command::Reinforce(args) => entry::run(context, ReinforceRequest { id: context.entry(&args.id)? }),
        Command::Demote(args) => entry::run(context, DemoteRequest { id: context.entry(&args.id)? }),
        Command::Conflicts(args) => conflict::run(context, args.verb()),
        Command::Stale(args) => stale::run(context, &args.verb()),
        Command::Delete(args) => erase::delete(context, &args),
        Command::Forget(args) => erase::forget(context, &args),
        Command::Trace(args) => entry::run(context, TraceRequest { id: args.id }),
        Command::Share(args) => entry::run(context, ShareRequest { ids: args.ids, undo: args.undo }),
        Command::Quarantine(args) => erase::quarantine(context, args),
        Command::Get(args) => proposal::get(context, &args),
        Command::Propose(args) => proposal::propose(context, &args),
        Command::Pending(args) => proposal::pending(context, &args),
        Command::Approve(args) => proposal::approve(context, &args),
        Command::Deny(args) => proposal::deny(context, &args),
        Command::Revert(args) => proposal::revert(context, args.id),
        Command::Proposal(Proposal::Show(args)) => proposal::show(context, args.id),
        Command::Brief(args) => context.as_of(args.as_of, |context| entry::brief(context, &args)),
        Command::Boot(args) => workspace::boot(context, args),
        Command::Log(args) => log::log(context, &args),
        Command::Memory(args) => log::memory(context, &args),
        Command::Promote(args) => log::promote(context, &args),
        Command::Policy(_) => log::policies(context),
        Command::Turn(args) => turn::run(context, &args),
        Command::Lesson(args) => turn::lesson(context, &args.verb()),
        Command::Mcp(args) => mcp::serve(context, &args),
        Command::MemoryTool => memory_tool::run(context),
        Command::Serve(args) => serve::serve(context, &args, |_| {}),
        Command::Ui(args) => serve::ui(context, &args),
        Command::Token(args) => serve::token::run(context, &args.verb()),
        Command::Call(args) => tools::call(context, &args),
        Command::Status => care::status(context),
        Command::Doctor => care::doctor(context),
        Command::SelfCheck => self_check::run(context),
        Command::Service(args) => service::run(context, &args.verb()),
        Command::Settings(args) => config::run(context, &args, true),
        Command::Config(args) => config::run(context, &args, false),
        Command::Group(args) => group::run(context, &args.verb()),
        Command::Audit(args) => care::audit(context, &args.verb()),
        Command::Events(args) => events::run(context, &args),
        Command::Admin(args) => admin::run(context, &args),
        Command::Team(args) => team::run(context, &args.verb()),
        Command::Checkout(args) => checkout::run(context, &args),
        Command::Move(args) => admin::relocate(context, &args),
        Command::Export(args) => care::export(context, &args.folder, args.redacted),
        Command::Import(args) => import::import(context, &args),
        Command::Session(args) => session::run(context, &args.verb()),
        Command::Distil(args) => distil::run(context, &args),
        Command::Collection(args) => collection::run(context, args.verb()),
        Command::Checkpoint(args) => checkpoint::run(context, args.verb()),
        Command::Handover(args) => tools::handover(context, args),
        Command::Model(args) => model::run(context, &args.verb()),
        Command::Plugin(args) => plugin::run(context, &args.verb()),
        Command::Graph(args) => graph::graph(context, &args),
        Command::Fact(args) => graph::fact(context, args.verb()),
        Command::Relation(args) => graph::relation(context, args.verb()),
        Command::Alias(args) => graph::alias(context, args.verb()),
        Command::Entity(args) => graph::entity(context, args.verb()),
        Command::Index => care::index(context),
        Command::Reindex => care::reindex(context),
        Command::Sync(args) => sync::run(context, args),
        Command::Maintain(args) => care::maintain(context, &args),
        Command::Extract(args) => project::extract(context, &args),
        Command::Items(args) => project::items(context, args),
        Command::Task(args) => project::task(context, args.verb()),
        Command::Demo
        | Command::Help { .. }
        | Command::File(_)
        | Command::Hook(_)
        | Command::Install(_)
        | Command::Uninstall(_)
        | Command::Bench { .. }
        | Command::Completions(_)
        | Command::Man => {
            unreachable!("run above")
        }
    }
}

/// Returns who may run a command. A new one that writes, and does so neither through `call` nor as a proposal, needs a
/// person: no policy covers it.
fn needs(command: &Command) -> Needs {
    match command {
        Command::Approve(_) => Needs::Terminal("approve"),
        Command::Deny(_) => Needs::Terminal("deny"),
        Command::Revert(_) => Needs::Terminal("revert"),
        Command::Call(args) if args.tool.as_deref() == Some("proposal_decide") => {
            Needs::Terminal("decide about a proposal")
        }
        Command::Token(args) => match args.given() {
            Some(args::Token::Add { person: true, .. }) => Needs::Terminal("create a person's token"),
            Some(args::Token::Add { .. }) => Needs::Person("create a token"),
            _ => Needs::Anyone,
        },
        Command::Update(args::Update { id: Target::File(_), .. }) => Needs::Terminal("edit a file"),
        Command::Show(args::Show { reveal: true, .. }) => Needs::Terminal("see a credential"),
        Command::Forget(_) => Needs::Person("forget a matter"),
        Command::Ui(_) => Needs::Person("open the dashboard"),
        Command::Service(args) if matches!(args.given(), Some(args::Service::Install(_))) => {
            Needs::Person("install the service")
        }
        Command::Import(_) => Needs::Person("import"),
        Command::Distil(_) => Needs::Person("distil conversations"),
        Command::Admin(_) => Needs::Person("prepare a database"),
        Command::Move(_) => Needs::Person("copy a group into another home"),
        Command::Checkout(_) => Needs::Person("keep a working copy"),
        Command::Team(args) => match args.given() {
            Some(args::Team::Token { person: true, .. }) => Needs::Terminal("create a person's token"),
            Some(args::Team::List) | None => Needs::Anyone,
            Some(_) => Needs::Person("manage the members of a team"),
        },
        Command::Session(args) if matches!(args.given(), Some(args::Session::Import { .. })) => {
            Needs::Person("import")
        }
        Command::Task(args) if matches!(args.given(), Some(args::Task::Import { .. })) => {
            Needs::Person("import")
        }
        Command::Fact(args) if matches!(args.given(), Some(args::Fact::Seed { .. })) => {
            Needs::Person("import")
        }
        Command::Collection(args) => match args.given() {
            Some(args::Collection::Add { .. } | args::Collection::Remove { .. }) => {
                Needs::Person("add or remove a collection")
            }
            _ => Needs::Anyone,
        },
        Command::Group(args) => match args.given() {
            Some(args::GroupVerb::Add { .. }) => Needs::Person("add a group"),
            Some(args::GroupVerb::Remove { .. }) => Needs::Person("remove a group"),
            _ => Needs::Anyone,
        },
        Command::Config(args) | Command::Settings(args) => match &args.verb {
            Some(ConfigVerb::Set { key, .. } | ConfigVerb::Unset { key }) if config::is_guarded(key) => {
                Needs::Terminal("change what agents may do")
            }
            Some(ConfigVerb::Set { .. } | ConfigVerb::Unset { .. }) => Needs::Person("change a setting"),
            Some(ConfigVerb::Edit) => Needs::Terminal("edit the settings"),
            _ => Needs::Anyone,
        },
        Command::Extract(args::Extract { folder: Some(_), .. }) => Needs::Person("choose a project's folder"),
        Command::Extract(args::Extract { forget: true, .. }) => Needs::Person("remove a project"),
        Command::Extract(args::Extract { by: Some(_), .. } | args::Extract { again: true, .. }) => {
            Needs::Person("choose who reads documents")
        }
        Command::Checkpoint(args) => match args.given() {
            Some(args::Checkpoint::Restore { yes: true, .. }) => Needs::Person("restore a checkpoint"),
            Some(args::Checkpoint::Remove { .. }) => Needs::Person("remove a checkpoint"),
            _ => Needs::Anyone,
        },
        Command::Conflicts(args) if matches!(args.given(), Some(args::Conflict::Find)) => {
            Needs::Person("compare everything that is stored")
        }
        Command::Stale(args) if matches!(args.given(), Some(args::Stale::Keep { .. })) => {
            Needs::Person("keep a stale memory")
        }
        Command::Sync(args) => match &args.verb {
            Some(args::SyncVerb::Invite { .. } | args::SyncVerb::Init { .. }) => {
                Needs::Person("invite a machine")
            }
            Some(args::SyncVerb::Rotate | args::SyncVerb::Remove { .. }) => Needs::Person("replace the key"),
            Some(args::SyncVerb::Join { .. } | args::SyncVerb::Leave) => {
                Needs::Person("change what is synced")
            }
            None if args.allow_deletions => Needs::Person("send many deletions"),
            _ => Needs::Anyone,
        },
        Command::Lesson(args) => match args.given() {
            Some(args::Lesson::Remove { .. }) => Needs::Person("remove a lesson"),
            Some(args::Lesson::Confirm { .. }) => Needs::Terminal("confirm a lesson"),
            _ => Needs::Anyone,
        },
        _ => Needs::Anyone,
    }
}

/// Says where the benchmarks are.
fn bench(as_json: bool) -> ExitCode {
    let message = "the benchmarks are a program of their own: in the repository, run `cargo run --release -p nacre-bench -- NAME`\n";
    render::usage(&clap::Error::raw(ErrorKind::InvalidSubcommand, message), as_json)
}
