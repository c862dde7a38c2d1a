//! Access tokens for HTTP: their group, role and visibility. The file holds only hashes; a token is shown once, when it is
//! created.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::RwLock;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use nacre::{GroupName, Home, Kind, Role, Visibility};
use serde::{Deserialize, Serialize};

use crate::args::Token as Args;
use crate::context::Context;
use crate::render::{self, Failure};

/// The prefix of tokens, by which leaked ones are recognized.
const PREFIX: &str = "nacre_";
const FILE: &str = "tokens.json";

/// One token, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub name: String,
    /// BLAKE3 of the token.
    pub hash: String,
    /// Only this group; absent: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    pub role: String,
    pub visibility: Visibility,
    /// Whether it belongs to a person, who may approve and has no limits.
    #[serde(default)]
    pub person: bool,
    /// Whether its sessions are untrusted: they process text of strangers and have smaller limits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    pub made_at: nacre::Time,
}

impl Token {
    pub fn role(&self) -> Role {
        match self.role.as_str() {
            "admin" => Role::Admin,
            "project" => Role::Project,
            _ => Role::Skill,
        }
    }
}

/// The tokens of a home, reloaded when the file changes.
pub struct Tokens {
    file: PathBuf,
    known: RwLock<(Option<SystemTime>, Vec<Token>)>,
}

impl Tokens {
    /// Opens the file. If there are no tokens, a first one is created for the user and returned, but not for an agent.
    pub fn open(context: &Context) -> Result<(Tokens, Option<String>)> {
        let home = &context.home;
        let file = home.path().join(FILE);
        let _held = hold(home)?;
        let mut all = read(&file)?;
        let first = if all.is_empty() && !file.exists() && !context.is_agent() {
            let (secret, token) = made(Token {
                name: "first".into(),
                hash: String::new(),
                group: None,
                role: Role::Admin.as_str().into(),
                visibility: Visibility::Private,
                person: true,
                untrusted: false,
                made_at: crate::context::now(),
            })?;
            all.push(token);
            write(&file, &all)?;
            Some(secret)
        } else {
            None
        };
        let known = RwLock::new((changed(&file), all));
        Ok((Tokens { file, known }, first))
    }

    pub fn is_empty(&self) -> bool {
        self.known.read().map_or(true, |known| known.1.is_empty())
    }

    /// Finds a token. It compares hashes in constant time.
    pub fn find(&self, secret: &str) -> Option<Token> {
        self.follow();
        let given = blake3::hash(secret.as_bytes());
        let known = self.known.read().ok()?;
        let mut found = None;
        for token in &known.1 {
            // Through all of them, so that its place in the file can't be timed either.
            if blake3::Hash::from_hex(&token.hash).is_ok_and(|hash| hash == given) {
                found = Some(token.clone());
            }
        }
        found
    }

    /// Returns every token.
    pub fn all(&self) -> Vec<Token> {
        self.follow();
        self.known.read().map_or_else(|_| Vec::new(), |known| known.1.clone())
    }

    fn follow(&self) {
        let now = changed(&self.file);
        if self.known.read().is_ok_and(|known| known.0 == now) {
            return;
        }
        if let (Ok(mut known), Ok(all)) = (self.known.write(), read(&self.file)) {
            *known = (now, all);
        }
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|found| found.modified()).ok()
}

fn read(file: &Path) -> Result<Vec<Token>> {
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| {
            format!("{} can't be read; remove it to start with a new token", file.display())
        }),
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(problem) => Err(problem).with_context(|| format!("{} can't be read", file.display())),
    }
}

fn write(file: &Path, all: &[Token]) -> Result<()> {
    write_private(file, &serde_json::to_vec_pretty(all)?)
}

/// Writes a file that only its owner can read, whole or not at all.
pub fn write_private(file: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write as _;
    let folder = file.parent().context("a file is in a folder")?;
    // Created with mode 0600.
    let mut aside = tempfile::NamedTempFile::new_in(folder)?;
    aside.write_all(bytes)?;
    aside.as_file().sync_all()?;
    aside.persist(file).with_context(|| format!("{} can't be written", file.display()))?;
    Ok(())
}

/// Returns a new secret of 256 bits.
pub fn secret() -> Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|problem| anyhow::anyhow!("no random numbers are available: {problem}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns a new token.
pub fn new_token() -> Result<String> {
    Ok(format!("{PREFIX}{}", secret()?))
}

/// Creates the secret of a token, which stores only the hash.
fn made(token: Token) -> Result<(String, Token)> {
    let secret = new_token()?;
    let hash = blake3::hash(secret.as_bytes()).to_hex().to_string();
    Ok((secret, Token { hash, ..token }))
}

/// Locks the tokens until it is dropped, so that two concurrent changes are both kept.
fn hold(home: &Home) -> Result<std::fs::File> {
    home.create()?;
    let file = home.path().join("tokens.lock");
    let lock =
        std::fs::File::create(&file).with_context(|| format!("{} can't be created", file.display()))?;
    lock.lock()?;
    Ok(lock)
}

/// `nacre token …`
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let file = context.home.path().join(FILE);
    let _held = hold(&context.home)?;
    let mut all = read(&file)?;
    match args {
        Args::Add { name, any_group, role, private, person, untrusted } => {
            if all.iter().any(|token| token.name == *name) {
                let message = format!("there is a token `{name}` already");
                let hint = Some(format!("`nacre token remove {name}` revokes it"));
                return Err(Failure { kind: Kind::Conflict, code: "token_exists", message, hint }.into());
            }
            let group = (!any_group).then(|| context.global.group.clone());
            let (secret, token) = made(Token {
                name: name.clone(),
                hash: String::new(),
                group,
                role: Role::from(*role).as_str().into(),
                visibility: if *private { Visibility::Private } else { Visibility::Shared },
                person: *person,
                untrusted: *untrusted,
                made_at: context.now(),
            })?;
            all.push(token);
            write(&file, &all)?;
            if context.global.json {
                render::json(&serde_json::json!({ "name": name, "token": secret }))?;
            } else {
                render::out(&format!("{secret}\n"))?;
                render::note("it is shown only now; send it as `Authorization: Bearer …`");
            }
        }
        Args::List => {
            if context.global.json {
                render::json(&all)?;
            } else if all.is_empty() {
                render::note("there are no tokens; `nacre serve` creates the first one");
            }
            for token in all.iter().filter(|_| !context.global.json) {
                let group = token.group.as_ref().map_or("any group".into(), |group| format!("group {group}"));
                let person = if token.person { ", a person" } else { "" };
                let untrusted = if token.untrusted { ", untrusted" } else { "" };
                render::out(&format!(
                    "{}: {group}, {}, {}{person}{untrusted}, made {}\n",
                    render::plain(&token.name),
                    token.role,
                    token.visibility.as_str(),
                    token.made_at
                ))?;
            }
        }
        Args::Remove { name } => {
            let before = all.len();
            all.retain(|token| token.name != *name);
            if all.len() == before {
                let message = format!("there is no token `{name}`");
                return Err(Failure::not_found("no_token", message, "`nacre token list` shows them").into());
            }
            write(&file, &all)?;
            render::note(&format!("`{name}` is revoked"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
