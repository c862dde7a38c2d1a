//! Parts of the package: a report for support, a unit that keeps the server running, the manual and completions.

use serde_json::Value;

use crate::sealed::Sealed;

#[test]
fn self_check_tries_everything_and_tells_nothing_of_what_is_remembered() {
    let sealed = Sealed::new();
    assert_eq!(sealed.run(["store", "The vault is behind the painting"]).status, 0);
    let done = sealed.run(["self-check", "--json"]);
    assert_eq!(done.status, 0, "{done:?}");
    assert!(!done.stdout.contains("painting"));
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in ["program", "memory", "meaning", "agents", "server", "home", "group"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    // The report and the exit code show problems of the home.
    let file = sealed.database("main");
    std::fs::write(&file, b"this is no database, however long it may be").unwrap();
    let done = sealed.run(["self-check"]);
    assert_ne!(done.status, 0, "{done:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_service_is_one_file_and_goes_without_a_trace() {
    let sealed = Sealed::new();
    let user = sealed.beside("user");
    let run = |args: &[&str]| {
        let output = sealed.command(args).env("HOME", &user).env("XDG_RUNTIME_DIR", &user).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let unit = format!("{user}/.config/systemd/user/nacre.service");
    let (_, shown, _) = run(&["service", "install", "--dry-run", "--listen", "127.0.0.1:7718"]);
    assert!(shown.contains(r#""serve" "--listen" "127.0.0.1:7718""#), "{shown}");
    assert!(!std::fs::exists(&unit).unwrap());
    let (code, _, told) = run(&["service", "install"]);
    assert_eq!(code, Some(0), "{told}");
    // The token is shown to the person; the server finds it made and shows it to no log.
    assert!(told.contains("nacre_"), "{told}");
    assert!(std::fs::read_to_string(&unit).unwrap().contains("ExecStart="));
    let (_, _, again) = run(&["service", "install"]);
    assert!(!again.contains("nacre_"), "{again}");
    let (_, status, _) = run(&["service", "status", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&status).unwrap()["installed"], true);
    assert_eq!(run(&["service", "uninstall"]).0, Some(0));
    assert!(!std::fs::exists(&unit).unwrap());
    assert_eq!(run(&["service", "uninstall"]).0, Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn a_service_that_runs_is_started_anew_for_another_unit() {
    use std::os::unix::fs::PermissionsExt as _;
    let sealed = Sealed::new();
    let (user, tools) = (sealed.beside("user"), sealed.beside("tools"));
    std::fs::create_dir(&tools).unwrap();
    let (program, log) = (format!("{tools}/systemctl"), format!("{tools}/log"));
    std::fs::write(&program, format!("#!/bin/sh\necho \"$2\" >> '{log}'\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for port in ["7718", "7719"] {
        let listen = format!("127.0.0.1:{port}");
        let mut command = sealed.command(["service", "install", "--listen", &listen]);
        let output = command.env("HOME", &user).env("PATH", &tools).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let done = std::fs::read_to_string(&log).unwrap();
    let expected = ["daemon-reload", "enable", "disable", "daemon-reload", "enable"];
    assert_eq!(done.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_manual_and_completions_know_the_commands() {
    let sealed = Sealed::new();
    for args in [&["man"][..], &["completions", "bash"], &["completions", "zsh"], &["completions", "fish"]] {
        let done = sealed.run(args);
        assert_eq!(done.status, 0, "{args:?}");
        for command in ["store", "install", "serve", "self"] {
            assert!(done.stdout.contains(command), "{command} in {args:?}");
        }
    }
}
