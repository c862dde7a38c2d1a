//! The binary `nacre`: parse, open the home, run, exit. Talking to people and programs happens in this crate;
//! what is memory is in the library.

mod args;
mod clients;
mod commands;
mod context;
mod groups;
mod mcp;
mod minilm;
mod plugin;
mod render;
mod serve;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(problem) if problem.use_stderr() && args::ask_for_hook() => {
            return commands::hook::give_up(&problem.to_string());
        }
        Err(problem) => return render::usage(&problem, args::ask_for_json()),
    };
    let json = cli.global.json;
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => render::error(&error, json),
    }
}
