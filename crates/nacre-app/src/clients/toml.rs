//! The server in `mcp_servers` of a TOML file: Codex. The rest of the file, its comments and its order stay.

use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::program::{Program, SERVER};

pub fn install(text: &str, program: &Program) -> Result<String, String> {
    in_lines(text, |text| {
        let mut document = read(text)?;
        let servers = document.entry("mcp_servers").or_insert_with(|| {
            // No heading of its own: `[mcp_servers.nacre]` is enough.
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let servers = servers.as_table_like_mut().ok_or("`mcp_servers` in it is not a table")?;
        let server = servers.entry(SERVER).or_insert_with(|| Item::Table(Table::new()));
        let server = server.as_table_like_mut().ok_or("`mcp_servers.nacre` in it is not a table")?;
        if server.contains_key("url") {
            return Err("`mcp_servers.nacre` in it is a server at a URL already".into());
        }
        let arguments: Array = program.arguments(&["mcp"]).iter().map(String::as_str).collect();
        for (key, new) in [("command", value(program.path.as_str())), ("args", value(arguments))] {
            let same = server.get(key).is_some_and(|old| old.to_string().trim() == new.to_string().trim());
            if !same {
                server.insert(key, new);
            }
        }
        Ok(document.to_string())
    })
}

pub fn remove(text: &str, before: Option<&str>) -> Result<String, String> {
    let left = in_lines(text, |text| {
        let mut document = read(text)?;
        let before = before.and_then(|before| read(before).ok());
        let earlier = before.as_ref().and_then(|before| before.get("mcp_servers"));
        let Some(servers) = document.get_mut("mcp_servers").and_then(Item::as_table_like_mut) else {
            return Ok(text.to_owned());
        };
        if servers.get(SERVER).is_none_or(|server| server.get("url").is_some()) {
            return Ok(text.to_owned());
        }
        match earlier.and_then(|earlier| earlier.get(SERVER)) {
            Some(earlier) => drop(servers.insert(SERVER, earlier.clone())),
            None => drop(servers.remove(SERVER)),
        }
        if servers.is_empty() && earlier.is_none() {
            document.remove("mcp_servers");
        }
        Ok(document.to_string())
    })?;
    // A last line without a line break got one when something was added after it.
    let ended = before.is_none_or(|before| before.is_empty() || before.ends_with('\n'));
    Ok(if ended { left } else { left.trim_end_matches(['\r', '\n']).to_owned() })
}

/// Changes a text with Windows line endings too: the TOML editor knows only line feeds.
fn in_lines(text: &str, change: impl FnOnce(&str) -> Result<String, String>) -> Result<String, String> {
    let (all, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
    if windows == 0 {
        return change(text);
    }
    if windows < all {
        return Err("some of its lines end in a line feed, others in a carriage return too".into());
    }
    Ok(change(&text.replace("\r\n", "\n"))?.replace('\n', "\r\n"))
}

/// Parses a text; the error says what is wrong, and in which line.
pub fn read(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|problem: toml_edit::TomlError| {
        let line = problem.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        format!("it is not valid TOML: {}{line}", problem.message())
    })
}
