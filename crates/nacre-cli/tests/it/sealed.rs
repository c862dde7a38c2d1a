//! A sealed place to run the real binary in: a home of its own, an empty environment, a fixed clock. And the least MCP client that serves.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The moment at which everything happens.
pub const NOW: &str = "2026-02-18T14:30:00Z";

/// Longer than any answer takes on the slowest machine: a server that is silent fails the test instead of stopping it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a home in it, both gone when dropped.
pub struct Sealed {
    folder: TempDir,
    home: PathBuf,
}

/// Output and status of a finished process.
#[derive(Debug)]
pub struct Output {
    /// The exit code; -1 where a signal ended it.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Returns the one JSON value that it answered with.
    #[track_caller]
    pub fn json(self) -> Value {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("not one JSON value: {self:?}"))
    }

    /// Returns the exit code and the error of what had to fail, with `--json`.
    #[track_caller]
    pub fn error(self) -> (i32, Value) {
        assert!(self.status > 0, "it did not fail: {self:?}");
        let mut answer: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|_| panic!("the error is not one JSON value: {self:?}"));
        (self.status, answer["error"].take())
    }
}

impl Sealed {
    pub fn new() -> Sealed {
        let folder = TempDir::new().unwrap();
        Sealed { home: folder.path().join("home"), folder }
    }

    /// A home in a place that is somebody else's to remove.
    pub fn at(home: &Path) -> Sealed {
        Sealed { home: home.to_owned(), ..Sealed::new() }
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the path of something beside the home, for an argument.
    pub fn beside(&self, name: &str) -> String {
        self.folder.path().join(name).into_os_string().into_string().unwrap()
    }

    /// Returns the database of a group.
    pub fn database(&self, group: &str) -> PathBuf {
        self.home.join("groups").join(group).join("memory.db")
    }

    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_nacre"), args)
    }

    /// A command of another program, in the same sealed place.
    pub fn command_of<A: AsRef<OsStr>>(&self, program: &str, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("NACRE_HOME", &self.home)
            .env("NACRE_NOW", NOW)
            .env("TZ", "UTC")
            // The context of a turn must not depend on how busy the machine is.
            .env("NACRE_TURN_TIME_LIMIT_MS", "60000")
            .current_dir(&self.folder);
        command.args(args);
        command
    }

    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.run_with(args, b"")
    }

    /// Runs with `input` on standard input.
    pub fn run_with<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, input: &[u8]) -> Output {
        Process::run_with(&mut self.command(args), input)
    }

    /// Runs as a person does, whose terminal is the standard input.
    pub fn run_at_terminal<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        Process::start_at_terminal(&mut self.command(args)).finish()
    }

    /// Runs and returns the one JSON value that it answers with.
    #[track_caller]
    pub fn json<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Value {
        self.run(["--json"].into_iter().chain(args)).json()
    }

    #[track_caller]
    pub fn json_at_terminal<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Value {
        self.run_at_terminal(["--json"].into_iter().chain(args)).json()
    }

    /// Runs what has to fail, and returns the exit code and the error.
    #[track_caller]
    pub fn error<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> (i32, Value) {
        self.error_with(args, b"")
    }

    #[track_caller]
    pub fn error_with<'a>(&self, args: impl IntoIterator<Item = &'a str>, input: &[u8]) -> (i32, Value) {
        self.run_with(["--json"].into_iter().chain(args), input).error()
    }

    /// Everything the group holds, in the form that loses nothing.
    #[track_caller]
    pub fn records(&self, group: &str) -> String {
        let folder = self.beside("records");
        self.json(["export", &folder, "--group", group]);
        std::fs::read_to_string(Path::new(&folder).join("nacre.json")).unwrap()
    }

    /// Starts a server and opens the conversation.
    #[track_caller]
    pub fn mcp(&self) -> Mcp {
        // The limits of a session are for agents, not for a test that stores all day.
        let mut server = Mcp::start(&mut self.command(["mcp", "--set", "limits.store=0"]));
        server.open().expect("the server opens the conversation");
        server
    }
}

/// Every file under a folder, whatever its name.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// A process that one thread may kill while another reads its answer.
pub type Victim = Arc<Mutex<Child>>;

/// A process under way.
pub struct Process {
    pub victim: Victim,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// The other end of its terminal, which is one as long as this is open.
    _terminal: Option<OwnedFd>,
}

impl Process {
    pub fn start(command: &mut Command) -> Process {
        Process::spawn(command.stdin(Stdio::piped()), None)
    }

    /// Runs a command with `input` on standard input.
    pub fn run_with(command: &mut Command, input: &[u8]) -> Output {
        let mut process = Process::start(command);
        // One that has read enough of too much is gone before the end of it.
        let _ = process.input.take().unwrap().write_all(input);
        process.finish()
    }

    /// Starts it with a terminal as its standard input.
    pub fn start_at_terminal(command: &mut Command) -> Process {
        let (terminal, input) = terminal();
        Process::spawn(command.stdin(input), Some(terminal))
    }

    fn spawn(command: &mut Command, terminal: Option<OwnedFd>) -> Process {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Process { victim: Arc::new(Mutex::new(child)), input, output, _terminal: terminal }
    }

    /// Reads what it says until it ends. Errors are few lines, so that reading them afterwards can't block it.
    pub fn finish(mut self) -> Output {
        drop(self.input.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.output.read_to_end(&mut stdout).unwrap();
        let mut errors = self.victim.lock().unwrap().stderr.take().unwrap();
        errors.read_to_end(&mut stderr).unwrap();
        let status = self.victim.lock().unwrap().wait().unwrap();
        let text = |bytes| String::from_utf8(bytes).expect("the program speaks UTF-8");
        Output { status: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
    }
}

/// A terminal: the end that shows it, and the end for a program.
fn terminal() -> (OwnedFd, OwnedFd) {
    use rustix::fs::{Mode, OFlags, open};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let program = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (terminal, program)
}

/// Runs a command with a terminal as its standard input, at which these lines are typed.
pub fn at_terminal_typing(command: &mut Command, typed: &str) -> Output {
    let (terminal, input) = terminal();
    let mut terminal = std::fs::File::from(terminal);
    terminal.write_all(typed.as_bytes()).unwrap();
    Process::spawn(command.stdin(input), Some(terminal.into())).finish()
}

/// Runs a command at a terminal with this many columns and rows, and types a line. Returns the exit code and the output.
pub fn at_terminal(command: &mut Command, size: (u16, u16), typed: &str) -> (i32, String) {
    use rustix::termios::{Winsize, tcsetwinsize};
    let (terminal, program) = terminal();
    let size = Winsize { ws_col: size.0, ws_row: size.1, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    let other = || program.try_clone().unwrap();
    let mut child = command.stdin(other()).stdout(other()).stderr(other()).spawn().unwrap();
    // The command and this process hold the program's end, which has to close for the reading to end.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(program);
    let mut terminal = std::fs::File::from(terminal);
    terminal.write_all(typed.as_bytes()).unwrap();
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..read]);
    }
    let status = child.wait().unwrap().code().unwrap_or(-1);
    (status, String::from_utf8(shown).unwrap().replace("\r\n", "\n"))
}

/// Runs a command with a terminal as its standard error, and returns what that has shown.
pub fn shown_at_terminal(command: &mut Command) -> String {
    let (terminal, errors) = terminal();
    let shown = std::thread::spawn(move || {
        let mut shown = Vec::new();
        let mut buffer = [0; 4096];
        let mut terminal = std::fs::File::from(terminal);
        // A terminal that nobody writes to any more can't be read.
        while let Ok(read @ 1..) = terminal.read(&mut buffer) {
            shown.extend_from_slice(&buffer[..read]);
        }
        shown
    });
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).status().unwrap();
    // The command holds the program's end of the terminal.
    command.stderr(Stdio::null());
    assert!(status.success());
    String::from_utf8(shown.join().unwrap()).unwrap()
}

/// A server over standard input and output, and a client of few words.
pub struct Mcp {
    pub victim: Victim,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
}

impl Mcp {
    pub fn start(command: &mut Command) -> Mcp {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            // A line without its end is an answer that was not given.
            while output.read_line(&mut line).is_ok() && line.ends_with('\n') {
                if send.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Mcp { victim: Arc::new(Mutex::new(child)), input, lines, asked: 0 }
    }

    /// Opens the conversation; `None`: the server has gone.
    pub fn open(&mut self) -> Option<Value> {
        let client = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let answer = self.ask("initialize", &hello)?;
        self.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string().into_bytes(),
        )?;
        Some(answer)
    }

    /// Sends one line of anything.
    pub fn send(&mut self, line: &[u8]) -> Option<()> {
        let input = self.input.as_mut()?;
        input.write_all(line).and_then(|()| input.write_all(b"\n")).ok()
    }

    /// Returns the next line of the server; `None`: it has gone.
    #[track_caller]
    pub fn next(&mut self) -> Option<Value> {
        use std::sync::mpsc::RecvTimeoutError;
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the server is silent"),
        }
    }

    #[track_caller]
    pub fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.asked += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.send(request.to_string().as_bytes())?;
        let answer = self.next()?;
        assert_eq!(answer["id"], self.asked, "{answer}");
        Some(answer)
    }

    /// Calls a tool and returns its result, an error included; `None`: the server has gone.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let mut answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        assert!(answer["result"].is_object(), "{answer}");
        Some(answer["result"].take())
    }

    /// Calls a tool that has to work, and returns its data.
    #[track_caller]
    pub fn data(&mut self, tool: &str, arguments: &Value) -> Value {
        let mut result = self.call(tool, arguments).expect("the server is there");
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].take()
    }

    /// Ends the input, as a client does that is done, and returns the exit code.
    pub fn close(mut self) -> i32 {
        drop(self.input.take());
        self.victim.lock().unwrap().wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let mut child = self.victim.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}
