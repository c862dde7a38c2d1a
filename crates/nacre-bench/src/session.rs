//! `nacre-bench session`: cost of transcripts, compared with the minimum that any program needs, in the same run.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};
use nacre::session::{Draft, Role, append};
use nacre::{Caller, Home, Settings};
use serde_json::json;

use crate::args::Global;
use crate::clock::percentile;
use crate::context::{nacre_program, now};
use crate::render;

const RUNS: usize = 300;
const READS: usize = 15;

pub fn run(megabytes: usize, global: &Global) -> Result<ExitCode> {
    let program = nacre_program(global)?;
    let folder = tempfile::tempdir()?;
    let home = Home::new(folder.path(), Settings::default());
    let caller = Caller::person("bench".parse()?, now());
    let mut group = home.group(&"main".parse()?, caller.now)?;
    let id = "bench".parse()?;
    let text = |n: usize| {
        format!("Message {n}: we moved the nightly job to half past three, for the backup runs at three.")
    };
    let draft = |n: usize| Draft {
        id: None,
        role: if n.is_multiple_of(2) { Role::User } else { Role::Assistant },
        content: Some(text(n)),
        name: None,
        input: None,
        timestamp: None,
    };
    append(&mut group.enter(&caller)?, &id, &[draft(0)])?;
    let mut bare = OpenOptions::new().append(true).create(true).open(folder.path().join("bare.jsonl"))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for n in 0..RUNS {
        let line = json!({ "id": n, "role": "user", "content": text(n), "timestamp": caller.now })
            .to_string()
            + "\n";
        let began = Instant::now();
        bare.write_all(line.as_bytes())?;
        bare.sync_data()?;
        theirs.push(began.elapsed().as_secs_f64() * 1e3);
        let draft = draft(n);
        let began = Instant::now();
        append(&mut group.enter(&caller)?, &id, &[draft])?;
        ours.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let append = (percentile(&ours, 50), percentile(&theirs, 50));

    // A long transcript that another program wrote: nothing of it is in the database.
    let long = folder.path().join("groups/main/sessions/long.jsonl");
    let mut file = std::io::BufWriter::new(File::create(&long)?);
    let mut written = 0;
    let mut n = 0;
    while written < megabytes << 20 {
        n += 1;
        let line = match n % 4 {
            0 => {
                json!({ "id": format!("m{n}"), "role": "user", "content": text(n), "timestamp": caller.now })
            }
            1 => {
                json!({ "id": format!("m{n}"), "role": "assistant", "content": text(n).repeat(5), "timestamp": caller.now })
            }
            2 => {
                json!({ "id": format!("t{n}"), "role": "tool_call", "name": "read", "input": { "path": "README.md" }, "timestamp": caller.now })
            }
            _ => {
                json!({ "id": format!("t{}", n - 1), "role": "tool_result", "content": text(n).repeat(20), "timestamp": caller.now })
            }
        };
        let line = line.to_string() + "\n";
        written += line.len();
        file.write_all(line.as_bytes())?;
    }
    file.flush()?;
    drop(file);
    drop(group);
    let timed = |command: &mut Command| -> Result<f64> {
        let began = Instant::now();
        let output = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(began.elapsed().as_secs_f64() * 1e3)
    };
    let (mut context, mut cat) = (Vec::new(), Vec::new());
    for _ in 0..READS {
        cat.push(timed(Command::new("cat").arg(&long))?);
        let mut command = Command::new(&program);
        command.arg("--home").arg(folder.path()).args(["--json", "session", "context", "long"]);
        context.push(timed(&mut command)?);
    }
    let read = (percentile(&context, 50), percentile(&cat, 50));
    let report = json!({
        "append_ms": append.0, "bare_append_ms": append.1, "append_ratio": append.0 / append.1,
        "context_ms": read.0, "cat_ms": read.1, "context_ratio": read.0 / read.1, "megabytes": megabytes,
    });
    if global.json {
        render::json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    render::out(&format!(
        "append of one message   {:.3} ms  bare line, waiting for the disk {:.3} ms  ratio {:.2}\n\
         context of {megabytes} MB        {:.1} ms  cat {:.1} ms  ratio {:.2}",
        append.0,
        append.1,
        append.0 / append.1,
        read.0,
        read.1,
        read.0 / read.1
    ))?;
    Ok(ExitCode::SUCCESS)
}
