//! The program `nacre`: parse, open the home, run, exit. This crate talks to people and programs; the memory is in the library.
//!
//! The modules are listed from the ground up: each uses those above it in the list. `crates/nacre-cli/tests/it/layers.rs` checks this.

// Output, the optional model, the agents that `nacre install` sets up.
mod clients;
mod minilm;
mod render;

// The URL of a home on a database server.
mod database_url;

// Flags, and the programs that add to the context.
mod args;
mod plugin;

// The home, the settings and the caller of one command; reads the environment and the clock.
mod context;

// Shared by both servers: callers, open groups, background work.
mod groups;

// The tools over MCP.
mod mcp;

// HTTP: REST, MCP, events, the dashboard.
mod serve;

// The commands a person types; they start everything above.
mod commands;

use std::process::ExitCode;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(problem) if problem.use_stderr() && args::ask_for_hook() => {
            return commands::hook::give_up(&problem.to_string());
        }
        Err(problem) => return render::usage(&problem, args::ask_for_json()),
    };
    render::set_color(cli.global.color);
    nacre::on_long_wait(render::long_wait);
    let json = cli.global.json;
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => render::error(&error, json),
    }
}
