//! `nacre admin` and `nacre move`: a database server for a team, and the way there and back.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use nacre::{ServerReport, Settings};
use serde_json::json;

use crate::args::{Admin, Global, Move};
use crate::context::{self, Context};
use crate::render::{self, Effect, Failure, Progress, count};

pub fn run(context: &Context, verb: &Admin) -> Result<ExitCode> {
    match verb {
        Admin::InitDatabase { url, sql } => init_database(context, url.as_deref(), *sql),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn init_database(context: &Context, url: Option<&str>, sql: bool) -> Result<()> {
    let home = match url {
        Some(url) => {
            let global = Global { home: Some(PathBuf::from(url)), ..context.global.clone() };
            &context::open_home(&global, Settings::default())?
        }
        None => &context.home,
    };
    let (Some(server), Some(report)) = (home.server(), home.initialise_server()?) else {
        let hint = "`nacre admin init-database postgres://OWNER@HOST/DATABASE`";
        return Err(Failure::invalid("no_database", "no database was given".into(), hint).into());
    };
    let ServerReport { before, version, statements } = report;
    if context.global.json {
        return render::json(&json!({ "server": server, "before": before, "version": version }));
    }
    if sql {
        return render::out(&statements.join(";\n"));
    }
    let done = match before {
        0 => format!("Created the schema `nacre`, version {version}, and the role `nacre_app` in {server}."),
        before if before == version => {
            format!("The schema `nacre` of {server} has version {version} already.")
        }
        before => format!("Brought the schema `nacre` of {server} from version {before} to {version}."),
    };
    render::out(&format!(
        "{done}\nEverybody who uses it needs a user of the database with this role, for example:\n\
         \x20 CREATE ROLE petra LOGIN PASSWORD '…';\n\
         \x20 GRANT nacre_app TO petra;\n\
         Servers that check the tokens of members, and people who manage members with `nacre team`, need this one too:\n\
         \x20 GRANT nacre_admin TO operator;\n\
         Then, on their machine: NACRE_HOME={}",
        server.replacen("://", "://petra@", 1)
    ))
}

/// Copies the group of this command into another home.
pub fn relocate(context: &Context, args: &Move) -> Result<ExitCode> {
    let global = Global { home: Some(args.to.clone()), ..context.global.clone() };
    let home = context::open_home(&global, context.home.settings().clone())?;
    home.create()?;
    let (name, caller) = (&context.global.group, context.caller());
    let mut from = context.group()?;
    let mut to = home.group(name, context.now())?;
    let bar = Progress::count(context.global.json, "Copying", ("record", "records"), Effect::Writes);
    let done =
        nacre::copy_group(&mut from.enter(&caller)?, &mut to.enter(&caller)?, &mut |step| bar.show(step));
    drop(bar);
    let done = done?;
    if context.global.json {
        render::json(&done)?;
        return Ok(ExitCode::SUCCESS);
    }
    let place = home.server().map_or_else(|| home.path().display().to_string(), str::to_owned);
    let entries = done.rows.get("entries").copied().unwrap_or(0);
    let mut text = format!(
        "Copied group `{name}` to {place}: {}, {} and {}. Row counts and the audit chain match; the source is unchanged.",
        count(entries, "memory", "memories"),
        count(done.files, "file", "files"),
        count(done.transcripts, "transcript", "transcripts"),
    );
    for collection in &done.collections {
        text.push_str(&format!(
            "\n`nacre collection reindex {collection}` indexes a collection again there."
        ));
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}
