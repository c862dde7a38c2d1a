//! Conversations of other programs, brought in.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::session::Recorded;

use crate::args::Session;
use crate::context::Context;
use crate::render::{self, plain};

pub fn run(context: &Context, args: &Session) -> Result<ExitCode> {
    match args {
        Session::Import { files } => import(context, files),
    }
}

fn import(context: &Context, files: &[std::path::PathBuf]) -> Result<ExitCode> {
    let mut group = context.group()?;
    let mut all = Vec::new();
    for file in files {
        let name =
            file.file_name().map_or_else(|| "session".into(), |name| name.to_string_lossy().into_owned());
        let input = File::open(file).with_context(|| format!("{} can't be opened", file.display()))?;
        let told = |messages: usize| render::progress(&format!("{name}: {messages} messages"));
        let done = group.import_session(&context.caller(), BufReader::new(input), &name, told);
        render::progress("");
        all.push((file.as_path(), done?));
    }
    if context.global.json {
        let files: Vec<_> = all.iter().map(|(_, done)| done).collect();
        render::json(&files)?;
    } else {
        render::out(&all.iter().map(|(file, done)| say(file, done)).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn say(file: &Path, done: &Recorded) -> String {
    let read = &done.read;
    let mut text = format!(
        "{}: {}, {} sessions, {} messages added, {} were here already\n",
        plain(&file.display().to_string()),
        read.format,
        read.sessions,
        done.added,
        done.present
    );
    for (why, count) in read.skipped.iter().chain(&read.mended) {
        text.push_str(&format!("  {count:6}  {why}\n"));
    }
    for note in &read.notes {
        text.push_str(&format!("  {}\n", plain(&note.to_string())));
    }
    text
}
