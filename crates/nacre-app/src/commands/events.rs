//! `nacre events`: the events of all processes of this home, from the telemetry file.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use crate::args::Events;
use crate::context::Context;
use crate::render;

pub fn run(context: &Context, args: &Events) -> Result<ExitCode> {
    let path = context.home.path().join(nacre::event::FILE);
    let mut position = 0;
    if !args.follow {
        let lines = std::fs::read_to_string(&path).unwrap_or_default();
        if context.global.json {
            let events: Vec<serde_json::Value> =
                lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            render::json(&events)?;
        } else if lines.is_empty() {
            render::note("no events yet (or `telemetry.events` is off)");
        } else {
            render::out(&lines)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        if let Ok(mut file) = File::open(&path) {
            // A shorter file is a new one: it was rotated.
            if file.metadata()?.len() < position {
                position = 0;
            }
            file.seek(std::io::SeekFrom::Start(position))?;
            let mut reader = BufReader::new(file);
            let mut line = String::new();
            while reader.read_line(&mut line)? > 0 && line.ends_with('\n') {
                position += line.len() as u64;
                if !render::offer(&line)? {
                    return Ok(ExitCode::SUCCESS);
                }
                line.clear();
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
