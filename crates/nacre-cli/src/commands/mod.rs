//! One file a family of commands: build a request, call, render.

mod care;
mod checkpoint;
mod collection;
mod demo;
mod entry;
mod events;
mod graph;
pub mod hook;
mod import;
mod input;
mod install;
mod log;
pub mod memory_tool;
mod model;
mod plugin;
mod project;
mod proposal;
mod self_check;
mod service;
mod session;
mod tools;
mod turn;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;
use clap::error::ErrorKind;
use nacre::call::{DeleteRequest, DemoteRequest, ReinforceRequest};

use crate::args::{self, Cli, Command, Proposal};
use crate::context::{Context, Needs};
use crate::{mcp, render, serve};

/// Runs a command.
pub fn run(cli: Cli) -> Result<ExitCode> {
    // These need no home and read no settings.
    match &cli.command {
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
        Command::Settings(args) if args.defaults => {
            render::out(nacre::settings::DEFAULTS)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Demo => return demo::run(),
        Command::Hook(args) => return Ok(hook::run(cli.global, args)),
        Command::Install(args) => return install::run(&cli.global, &args.clients, args.undo),
        Command::Uninstall(args) => return install::run(&cli.global, args, true),
        Command::Bench { .. } => return Ok(bench(cli.global.json || args::ask_for_json())),
        _ => {}
    }
    let mut context = Context::new(cli.global)?;
    context.check(needs(&cli.command))?;
    match (&cli.command, context.check_policies()) {
        // A client starts it and shows its agent no error: it serves with the policies of nacre.toml instead.
        (Command::Mcp(_), Err(loosened)) => render::note(&format!("{loosened}; nacre.toml applies")),
        (_, checked) => checked?,
    }
    // A profile limits the tools that agents see over MCP and with `call`. Commands are there for everyone with a shell.
    if context.is_agent() && !matches!(cli.command, Command::Call(_) | Command::Mcp(_) | Command::MemoryTool)
    {
        context.home = context.home.with_all_tools();
    }
    // A command or flag that names a compatibility API enables it.
    match &cli.command {
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
    match cli.command {
        Command::Init(args) => care::init(&context, args.bare),
        Command::Store(args) => entry::store(&context, args),
        Command::Search(args) => entry::search(&context, args),
        Command::Show(args) => entry::show(&context, args.id),
        Command::History(args) => entry::history(&context, args.id),
        Command::Update(args) => entry::update(&context, args),
        Command::Reinforce(args) => entry::run(&context, ReinforceRequest { id: args.id }),
        Command::Demote(args) => entry::run(&context, DemoteRequest { id: args.id }),
        Command::Delete(args) => entry::run(&context, DeleteRequest { id: args.id }),
        Command::Get(args) => proposal::get(&context, &args),
        Command::Propose(args) => proposal::propose(&context, &args),
        Command::Pending(args) => proposal::pending(&context, &args),
        Command::Approve(args) => proposal::approve(&context, &args),
        Command::Deny(args) => proposal::deny(&context, &args),
        Command::Revert(args) => proposal::revert(&context, args.id),
        Command::Proposal(Proposal::Show(args)) => proposal::show(&context, args.id),
        Command::Brief(args) => entry::brief(&context, &args),
        Command::Boot(args) => workspace::boot(&context, args),
        Command::Log(args) => log::log(&context, &args),
        Command::Memory(args) => log::memory(&context, &args),
        Command::Promote(args) => log::promote(&context, &args),
        Command::Policy(args::Policy::List) => log::policies(&context),
        Command::Turn(args) => turn::run(&context, &args),
        Command::Lesson(args) => turn::lesson(&context, &args),
        Command::Mcp(args) => mcp::serve(&context, &args),
        Command::MemoryTool => memory_tool::run(&context),
        Command::Serve(args) => serve::serve(&context, &args, |_| {}),
        Command::Ui(args) => serve::ui(&context, &args),
        Command::Token(args) => serve::token::run(&context, &args),
        Command::Call(args) => tools::call(&context, &args),
        Command::Status => care::status(&context),
        Command::Doctor => care::doctor(&context),
        Command::SelfCheck => self_check::run(&context),
        Command::Service(args) => service::run(&context, &args),
        Command::Settings(_) => care::settings(&context),
        Command::Audit(args) => care::audit(&context, &args),
        Command::Events(args) => events::run(&context, &args),
        Command::Export(args) => care::export(&context, &args.folder),
        Command::Import(args) => import::import(&context, &args),
        Command::Session(args) => session::run(&context, &args),
        Command::Collection(args) => collection::run(&context, args),
        Command::Checkpoint(args) => checkpoint::run(&context, args),
        Command::Handover(args) => tools::handover(&context, args),
        Command::Model(args) => model::run(&context, &args),
        Command::Plugin(args) => plugin::run(&context, &args),
        Command::Graph(args) => graph::graph(&context, &args),
        Command::Fact(args) => graph::fact(&context, args),
        Command::Relation(args) => graph::relation(&context, args),
        Command::Alias(args) => graph::alias(&context, args),
        Command::Entity(args) => graph::entity(&context, args),
        Command::Index => care::index(&context),
        Command::Reindex => care::reindex(&context),
        Command::Maintain(args) => care::maintain(&context, &args),
        Command::Extract(args) => project::extract(&context, &args),
        Command::Items(args) => project::items(&context, args),
        Command::Task(args) => project::task(&context, args),
        Command::Demo
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
        Command::Token(args::Token::Add { person: true, .. }) => Needs::Terminal("make a person's token"),
        Command::Token(args::Token::Add { .. }) => Needs::Person("make a token"),
        Command::Ui(_) => Needs::Person("open the page"),
        Command::Service(args::Service::Install(_)) => Needs::Person("install the service"),
        Command::Import(_)
        | Command::Session(args::Session::Import { .. })
        | Command::Task(args::Task::Import { .. })
        | Command::Fact(args::Fact::Seed { .. }) => Needs::Person("import"),
        Command::Collection(args::Collection::Add { .. } | args::Collection::Drop { .. }) => {
            Needs::Person("add or drop a collection")
        }
        Command::Extract(args::Extract { folder: Some(_), .. }) => Needs::Person("name a project's folder"),
        Command::Extract(args::Extract { forget: true, .. }) => Needs::Person("forget a project"),
        Command::Checkpoint(args::Checkpoint::Restore { yes: true, .. }) => {
            Needs::Person("restore a checkpoint")
        }
        Command::Checkpoint(args::Checkpoint::Drop { .. }) => Needs::Person("drop a checkpoint"),
        Command::Lesson(args::Lesson::Forget { .. }) => Needs::Person("forget a lesson"),
        _ => Needs::Anyone,
    }
}

/// Says where the benchmarks are.
fn bench(as_json: bool) -> ExitCode {
    let message = "the benchmarks are a program of their own: in the repository, run `cargo run --release -p nacre-bench -- NAME`\n";
    render::usage(&clap::Error::raw(ErrorKind::InvalidSubcommand, message), as_json)
}
