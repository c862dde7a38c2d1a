//! Tokens: who may come in over HTTP, to which group, with which role, seeing what. The file has their hashes alone; a token
//! is shown once, when it is made.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::RwLock;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use nacre::{GroupName, Home, Role, Visibility};
use serde::{Deserialize, Serialize};

use crate::args::{RoleName, Token as Args};
use crate::context::Context;
use crate::render;

/// What tokens begin with, so that they are known where they should not stand.
const PREFIX: &str = "nacre_";
const FILE: &str = "tokens.json";

/// One token, as it is kept.
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
    /// Whether a person stands behind it, who may approve and has no limits.
    #[serde(default)]
    pub person: bool,
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

/// The tokens of a home, followed as the file changes.
pub struct Tokens {
    file: PathBuf,
    known: RwLock<(Option<SystemTime>, Vec<Token>)>,
}

impl Tokens {
    /// Opens them. Where there are none a first one is made, for the person, and returned.
    pub fn open(home: &Home) -> Result<(Tokens, Option<String>)> {
        let file = home.path().join(FILE);
        let mut all = read(&file)?;
        let first = if all.is_empty() && !file.exists() {
            let (secret, token) =
                make("first", None, Role::Admin, Visibility::Private, true, crate::context::now())?;
            all.push(token);
            home.create()?;
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

    /// Finds a token. What is compared are hashes, in a time that does not depend on where they differ.
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
            format!("{} can't be read; take it away to begin with a new token", file.display())
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
    let folder = file.parent().context("a file stands in a folder")?;
    // Made with mode 0600.
    let mut aside = tempfile::NamedTempFile::new_in(folder)?;
    aside.write_all(bytes)?;
    aside.as_file().sync_all()?;
    aside.persist(file).with_context(|| format!("{} can't be written", file.display()))?;
    Ok(())
}

/// A new secret of 256 bits.
pub fn secret() -> Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|problem| anyhow::anyhow!("there is no randomness: {problem}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn make(
    name: &str,
    group: Option<GroupName>,
    role: Role,
    visibility: Visibility,
    person: bool,
    now: nacre::Time,
) -> Result<(String, Token)> {
    let secret = format!("{PREFIX}{}", secret()?);
    let hash = blake3::hash(secret.as_bytes()).to_hex().to_string();
    let role = role.as_str().to_owned();
    Ok((secret, Token { name: name.to_owned(), hash, group, role, visibility, person, made_at: now }))
}

/// `nacre token …`
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let file = context.home.path().join(FILE);
    let mut all = read(&file)?;
    match args {
        Args::Add { name, any_group, role, private, person } => {
            if all.iter().any(|token| token.name == *name) {
                bail!("there is a token `{name}` already; `nacre token remove {name}` takes it away");
            }
            let group = (!any_group).then(|| context.global.group.clone());
            let role = match role {
                RoleName::Admin => Role::Admin,
                RoleName::Project => Role::Project,
                RoleName::Skill => Role::Skill,
            };
            let visibility = if *private { Visibility::Private } else { Visibility::Shared };
            let (secret, token) = make(name, group, role, visibility, *person, context.now())?;
            all.push(token);
            context.home.create()?;
            write(&file, &all)?;
            if context.global.json {
                render::json(&serde_json::json!({ "name": name, "token": secret }))?;
            } else {
                render::out(&format!("{secret}\n"))?;
                render::note("it is shown only now; give it as `Authorization: Bearer …`");
            }
        }
        Args::List => {
            if context.global.json {
                render::json(&all)?;
            } else if all.is_empty() {
                render::note("there are none; `nacre serve` makes a first one");
            }
            for token in all.iter().filter(|_| !context.global.json) {
                let group = token.group.as_ref().map_or("any group".into(), |group| format!("group {group}"));
                let person = if token.person { ", a person" } else { "" };
                render::out(&format!(
                    "{}: {group}, {}, {}{person}, made {}\n",
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
                bail!("there is no token `{name}`; `nacre token list` shows them");
            }
            write(&file, &all)?;
            render::note(&format!("`{name}` is no longer let in"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
