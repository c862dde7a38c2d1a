//! `nacre service`: runs `nacre serve` for this user as a systemd or launchd service. It writes one file, which `--dry-run` shows.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::install::running_program;
use crate::args::{Service, ServiceInstall};
use crate::context::{self, Context};
use crate::render;
use crate::serve::{Running, token::Tokens};

/// The service manager of this system.
struct Keeper {
    /// The file that describes our service.
    file: PathBuf,
    /// Returns its contents.
    unit: fn(&[String]) -> String,
    /// The commands that load the file and start the server, and those that stop it.
    start: Vec<Vec<String>>,
    stop: Vec<Vec<String>>,
}

pub fn run(context: &Context, args: &Service) -> Result<ExitCode> {
    let keeper = keeper()?;
    match args {
        Service::Install(args) => install(context, &keeper, args),
        Service::Uninstall => uninstall(context, &keeper),
        Service::Status => status(context, &keeper),
    }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn keeper() -> Result<Keeper> {
    let home = context::user_folder()?;
    if cfg!(target_os = "macos") {
        let file = home.join("Library/LaunchAgents").join(format!("{LABEL}.plist"));
        let domain = format!("gui/{}", user_id());
        let start =
            vec![["launchctl", "bootstrap", &domain, &file.to_string_lossy()].map(str::to_owned).to_vec()];
        let stop = vec![words(&format!("launchctl bootout {domain}/{LABEL}"))];
        return Ok(Keeper { file, unit: plist, start, stop });
    }
    if cfg!(target_os = "linux") {
        let config = context::folder_in("XDG_CONFIG_HOME").unwrap_or(home.join(".config"));
        return Ok(Keeper {
            file: config.join("systemd/user/nacre.service"),
            unit: systemd,
            start: ["systemctl --user daemon-reload", "systemctl --user enable --now nacre.service"]
                .map(words)
                .into(),
            stop: ["systemctl --user disable --now nacre.service"].map(words).into(),
        });
    }
    bail!(
        "there is no way yet to keep `nacre serve` running on this system; start it with your own startup scripts"
    )
}

const LABEL: &str = "nacre.serve";

#[cfg(unix)]
fn user_id() -> u32 {
    rustix::process::getuid().as_raw()
}
#[cfg(not(unix))]
fn user_id() -> u32 {
    0
}

fn install(context: &Context, keeper: &Keeper, args: &ServiceInstall) -> Result<ExitCode> {
    let program = running_program(&context.global)?;
    let mut action = vec!["serve"];
    let listen = args.listen.map(|address| address.to_string());
    if let Some(listen) = &listen {
        action.extend(["--listen", listen]);
    }
    let mut command = vec![program.path.clone()];
    command.extend(program.arguments(&action));
    let unit = (keeper.unit)(&command);
    if args.dry_run {
        render::out(&format!("# {}\n{unit}", render::plain(&keeper.file.display().to_string())))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Created here and shown to the user: a server would write it to a log.
    let (_, first) = Tokens::open(context)?;
    let folder = keeper.file.parent().context("the file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("{} can't be created", folder.display()))?;
    // A running server is not restarted for another unit; the commands below report its state.
    if keeper.file.exists() {
        done(&keeper.stop);
    }
    fs::write(&keeper.file, unit).with_context(|| format!("{} can't be written", keeper.file.display()))?;
    let left = done(&keeper.start);
    if context.global.json {
        let answer = json!({ "file": keeper.file, "started": left.is_empty(), "token": first });
        render::json(&answer)?;
    } else {
        let mut text = format!("{} is written.\n", render::plain(&keeper.file.display().to_string()));
        match left.as_slice() {
            [] => text.push_str(
                "The server is running, and starts whenever you log in. `nacre ui` opens the dashboard.\n",
            ),
            left => text.push_str(&format!("It could not be started from here; run:\n{}\n", shown(left))),
        }
        text.push_str("`nacre service uninstall` undoes this.");
        render::out(&text)?;
        if let Some(first) = first {
            render::note(&format!("a first token, shown only now: {first}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn uninstall(context: &Context, keeper: &Keeper) -> Result<ExitCode> {
    let there = keeper.file.exists();
    let left = if there { done(&keeper.stop) } else { Vec::new() };
    if there {
        fs::remove_file(&keeper.file)
            .with_context(|| format!("{} can't be removed", keeper.file.display()))?;
    }
    if context.global.json {
        render::json(&json!({ "file": keeper.file, "removed": there }))?;
    } else if !there {
        render::out("The service is not installed.")?;
    } else if left.is_empty() {
        render::out("The server is stopped and will not be started again. The memory stays.")?;
    } else {
        render::out(&format!("It will not be started again; to stop it now, run:\n{}", shown(&left)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn status(context: &Context, keeper: &Keeper) -> Result<ExitCode> {
    let (installed, running) = (keeper.file.exists(), Running::find(&context.home).map(|(url, _)| url));
    if context.global.json {
        render::json(&json!({ "installed": installed, "file": keeper.file, "url": running }))?;
    } else {
        let file = render::plain(&keeper.file.display().to_string());
        render::out(&match installed {
            true => format!("The service is set up by {file}"),
            false => "The service is not set up; `nacre service install` does it".into(),
        })?;
        render::out(&match running {
            Some(url) => format!("A server runs at {url}"),
            None => "No server runs for this home".into(),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs commands until one fails to start, and returns those that are left to the user.
fn done(commands: &[Vec<String>]) -> Vec<&[String]> {
    let works = |command: &&Vec<String>| {
        let mut run = Command::new(&command[0]);
        run.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        run.status().is_ok_and(|status| status.success())
    };
    let worked = commands.iter().take_while(works).count();
    commands[worked..].iter().map(Vec::as_slice).collect()
}

fn shown(commands: &[&[String]]) -> String {
    commands.iter().map(|command| format!("  {}", command.join(" "))).collect::<Vec<_>>().join("\n")
}

/// Returns the unit for a user's systemd. Output goes to its journal; files of the server are for this user only.
fn systemd(command: &[String]) -> String {
    let quoted = |word: &String| {
        let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
        let word = word.replace('\n', "\\n");
        format!("\"{word}\"")
    };
    let command = command.iter().map(quoted).collect::<Vec<_>>().join(" ");
    format!(
        "[Unit]\nDescription=Nacre, the memory of AI agents\n\n\
         [Service]\nExecStart={command}\nRestart=on-failure\nRestartSec=2\nUMask=0077\nNoNewPrivileges=yes\n\n\
         [Install]\nWantedBy=default.target\n"
    )
}

/// Returns the agent for a user's launchd.
fn plist(command: &[String]) -> String {
    let escaped = |word: &String| {
        let word = word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("    <string>{word}</string>\n")
    };
    let command: String = command.iter().map(escaped).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>{LABEL}</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n{command}  </array>\n\
         \x20 <key>RunAtLoad</key>\n  <true/>\n\
         \x20 <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
         \x20 <key>Umask</key>\n  <integer>63</integer>\n</dict>\n</plist>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_what_they_are_in_units() {
        let command =
            ["/opt/my \"tools\"/nacre", "--home", "/a b/100%/$HOME\\x<&>", "l\nm"].map(str::to_owned);
        let unit = systemd(&command);
        let line = r#"ExecStart="/opt/my \"tools\"/nacre" "--home" "/a b/100%%/$$HOME\\x<&>" "l\nm""#;
        assert!(unit.lines().any(|found| found == line), "{unit}");
        let list = plist(&command);
        assert!(list.contains("<string>/a b/100%/$HOME\\x&lt;&amp;&gt;</string>"), "{list}");
    }
}
