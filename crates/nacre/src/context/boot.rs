//! The startup context: files of the workspace in the order of the settings, the brief, open tasks and the list of skills.
//!
//! It never fails because of a file. A missing or empty file leaves nothing for the model; one that can't be read leaves
//! one line. File contents are redacted, can't close the tag around them, and say how to read what was left out.

use crate::base::frame;
use crate::base::text::{decode, lossy};
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::caller::Caller;
use crate::base::caller::{Visibility, is_marked, is_private};
use crate::base::frame::{one_line, without_marks};
use crate::base::markdown::front_matter;
use crate::base::redact::{self, redact};
use crate::base::text::tokens;
use crate::base::{Error, Result, Time};
use crate::context::brief::{Brief, MadeBy};
use crate::context::turn::harmless;
use crate::group::View;
use crate::records::project::task;
use crate::records::workspace::{FilePath, daily, memory_file, template};
use crate::store::walk;

/// The names that the lists of `boot` may contain besides files.
pub(crate) const PARTS: &[&str] = &["project", "yesterday", "today", "brief", "tasks", "skills"];

/// A file that would get fewer characters is only named.
const MIN_FILE_CHARS: usize = 240;
/// The most bytes of a skill that are read for its description.
const SKILL_HEAD_BYTES: u64 = 8 << 10;
/// The most tokens of a skill's name.
const SKILL_NAME_TOKENS: usize = 16;
/// The most tokens of the description of a skill or a task.
const DESCRIPTION_TOKENS: usize = 80;
/// The most skills that are read.
const MAX_SKILLS: usize = 200;

/// The startup context, as text and as data.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Boot {
    /// The text for the agent.
    pub markdown: String,
    /// Its parts, in order.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub parts: Vec<Part>,
    /// How many characters it has.
    pub chars: usize,
    /// About how many tokens it costs.
    pub tokens: usize,
    /// When it was made.
    pub generated_at: Time,
    /// The plugin that made the brief, or failed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<MadeBy>,
}

/// One part of the startup context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Part {
    /// The file, or `brief` or `skills`.
    pub path: String,
    /// How many of its characters are included.
    pub chars: usize,
    /// Whether some were left out.
    pub cut: bool,
    /// Whether there is nothing to show.
    pub missing: bool,
    /// Whether it is hidden from shared sessions. They learn nothing else about it.
    pub private: bool,
    /// A remark, such as why it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

redact! {
    Boot { markdown, parts, plugin / chars, tokens, generated_at }
    Part { path, note / chars, cut, missing, private }
}

/// The name of a project, which is part of the name of its file.
#[derive(Clone, Debug)]
pub(crate) struct Project(FilePath);

impl Project {
    pub(crate) fn new(name: &str) -> Option<Project> {
        let path = format!("memory/project-{name}.md").parse().ok();
        path.filter(|_| !name.is_empty() && name.len() <= 64 && !name.contains('/')).map(Project)
    }
}

/// Makes the startup context of at most `total` characters. The caller makes the brief, because it is the answer of another
/// tool.
pub(crate) fn boot(
    view: &View<'_>,
    caller: &Caller,
    project: Option<&Project>,
    total: usize,
    brief: Option<Brief>,
) -> Boot {
    let settings = &view.settings().boot;
    let order = if project.is_some() { &settings.project } else { &settings.main };
    let mut pieces = Vec::new();
    for part in order {
        match part.as_str() {
            "brief" => pieces.extend(brief.as_ref().map(of_brief)),
            "skills" => pieces.extend(skills(view, caller.visibility, total / 6)),
            "tasks" => pieces.extend(tasks(view, total / 6)),
            part => files_of(view, caller, part, project, &mut pieces),
        }
    }
    fit(&mut pieces, settings.file_chars, total);
    let markdown = clamp(render(&pieces, Show::Whole), total);
    let parts: Vec<Part> = pieces.into_iter().map(|piece| piece.part).collect();
    let (chars, tokens) = (markdown.chars().count(), tokens(&markdown));
    let plugin = brief.and_then(|brief| brief.plugin);
    Boot { markdown, parts, chars, tokens, generated_at: caller.now, plugin }
}

/// Returns MEMORY.md as a model gets it with the context of a session: tagged, so that it is not learned again.
pub(crate) fn long_term(view: &View<'_>, caller: &Caller) -> Option<String> {
    if !view.settings().session.with_memory {
        return None;
    }
    let path = memory_file::PATH.parse().expect("a file of the workspace");
    let most = view.settings().memory_file.max_chars;
    one_file(view, caller, &path, most).map(|text| frame::mark_injected(&text))
}

/// Returns the part of one file that a session may see, of at most `most` characters; `None`: there is nothing to show.
fn one_file(view: &View<'_>, caller: &Caller, path: &FilePath, most: usize) -> Option<String> {
    let mut pieces = [file(view, caller, path)];
    fit(&mut pieces, most, usize::MAX);
    let [Piece { body, .. }] = pieces;
    if let Body::Text(text, _) = body { Some(text) } else { None }
}

/// Tells whether the workspace has a file that somebody wrote: one that differs from the template of `nacre init`.
pub(crate) fn has_own(view: &View<'_>, caller: &Caller) -> bool {
    let order = &view.settings().boot.main;
    order.iter().any(|part| match part.as_str() {
        "brief" | "tasks" => false,
        "skills" => skill_paths(view).iter().any(|path| is_own(view, caller.visibility, path)),
        part => paths_of(caller, part, None).iter().any(|path| is_own(view, caller.visibility, path)),
    })
}

/// Tells whether the startup context of the workspace has anything to show.
pub(crate) fn has_any(view: &View<'_>, caller: &Caller) -> bool {
    let total = view.settings().boot.total_chars;
    boot(view, caller, None, total, None).parts.iter().any(|part| part.chars > 0)
}

fn is_own(view: &View<'_>, visibility: Visibility, path: &FilePath) -> bool {
    if visibility == Visibility::Shared && is_private(&view.settings().visibility.private, path.as_str()) {
        return false;
    }
    read(view, path).is_ok_and(|(text, _)| {
        !text.trim().is_empty()
            && !template::is_untouched(view.settings(), path.as_str(), &text)
            && (visibility == Visibility::Private || !is_marked(&text))
    })
}

/// Returns the files of one part.
pub(crate) fn paths_of(caller: &Caller, part: &str, project: Option<&Project>) -> Vec<FilePath> {
    let day = caller.zone.day(caller.now);
    match part {
        "today" => daily::all_paths_of_day(day).collect(),
        "yesterday" => daily::all_paths_of_day(day.before()).collect(),
        "project" => project.map(|project| project.0.clone()).into_iter().collect(),
        file => file.parse().into_iter().collect(),
    }
}

fn files_of(
    view: &View<'_>,
    caller: &Caller,
    part: &str,
    project: Option<&Project>,
    pieces: &mut Vec<Piece>,
) {
    let paths = paths_of(caller, part, project);
    let mut found: Vec<Piece> = paths.iter().map(|path| file(view, caller, path)).collect();
    // If one of two possible places has the file, the other is not mentioned.
    if found.iter().any(|piece| !piece.is_absent()) {
        found.retain(|piece| !piece.is_absent());
    } else {
        // Of a log that is missing, the place where it would be written is named.
        let folder = daily::folder(view);
        let place = paths.iter().position(|path| path.as_str().starts_with(&format!("{folder}/")));
        found = found.into_iter().nth(place.unwrap_or(0)).into_iter().collect();
    }
    pieces.append(&mut found);
}

/// One part before it is rendered.
struct Piece {
    part: Part,
    body: Body,
}

enum Body {
    /// The text of a file, which may be cut, and how many characters it has.
    Text(String, usize),
    /// A list that already fits.
    List(String),
    /// The brief, with its own tags.
    Brief(String),
    /// There is nothing to show, for this reason. The model gets no line about it.
    Absent(String),
    /// The file can't be read, for this reason.
    Unreadable(String),
    /// There is no room: it is named with all others of its kind.
    Unfit(usize),
    /// The session may not know about it.
    Hidden,
}

impl Piece {
    fn new(path: &str, body: Body) -> Piece {
        Piece { part: Part { path: path.to_owned(), ..Part::default() }, body }
    }

    /// Tells whether there is no such file. A file that can't be read exists.
    fn is_absent(&self) -> bool {
        matches!(&self.body, Body::Absent(why) if why == ABSENT)
    }
}

const ABSENT: &str = "does not exist";

/// Reads a file as text, with a note about repairs, or says why it can't be read.
fn read(view: &View<'_>, path: &FilePath) -> Result<(String, Option<String>), String> {
    let bytes = match view.files().read(path, walk::MAX_DOCUMENT_BYTES + 1) {
        Ok(Some(bytes)) if bytes.len() as u64 <= walk::MAX_DOCUMENT_BYTES => bytes,
        Ok(Some(_)) => return Err(walk::too_large()),
        Ok(None) => return Err(ABSENT.into()),
        Err(Error::BadPath { problem, .. }) => return Err(problem.into()),
        Err(Error::Io { source, .. }) => return Err(format!("can't be read: {source}")),
        Err(other) => return Err(other.to_string()),
    };
    decode(&bytes)
}

/// Tells whether a session may know that a file exists.
pub(crate) fn is_shown(view: &View<'_>, visibility: Visibility, path: &FilePath) -> bool {
    let Ok(Some(head)) = view.files().read(path, SKILL_HEAD_BYTES) else { return false };
    is_head_shown(view, visibility, path, &head)
}

/// Does the same by the beginning of the file. If that is all front matter, the part that was not read may say `private`.
fn is_head_shown(view: &View<'_>, visibility: Visibility, path: &FilePath, head: &[u8]) -> bool {
    let text = lossy(head);
    let all_front = front_matter(&text).is_some_and(|front| front.body.is_none());
    let cut = all_front && head.len() as u64 >= SKILL_HEAD_BYTES;
    visibility == Visibility::Private
        || !cut && visibility.sees_file(&view.settings().visibility.private, path.as_str(), head)
}

/// Reads a file for a session, redacted; `None`: it does not exist for this session.
pub(crate) fn shown(
    view: &View<'_>,
    visibility: Visibility,
    path: &FilePath,
) -> Option<Result<String, String>> {
    match file_text(view, visibility, path) {
        Err(MissingFile::Hidden) => None,
        Err(MissingFile::Why(why)) if why == ABSENT => None,
        Err(MissingFile::Why(why)) => Some(Err(why)),
        Ok((text, _, _)) => Some(Ok(redact::document(&text).into_owned())),
    }
}

enum MissingFile {
    Hidden,
    Why(String),
}

/// Returns the text of a file, whether it is private, and a note about repairs.
fn file_text(
    view: &View<'_>,
    visibility: Visibility,
    path: &FilePath,
) -> Result<(String, bool, Option<String>), MissingFile> {
    let named = is_private(&view.settings().visibility.private, path.as_str());
    // The file is not opened: the time it takes would reveal whether it exists.
    if named && visibility == Visibility::Shared {
        return Err(MissingFile::Hidden);
    }
    let (text, note) = read(view, path).map_err(MissingFile::Why)?;
    let private = named || is_marked(&text);
    if private && visibility == Visibility::Shared {
        return Err(MissingFile::Why(ABSENT.into()));
    }
    Ok((text, private, note))
}

fn file(view: &View<'_>, caller: &Caller, path: &FilePath) -> Piece {
    let name = path.as_str();
    let (text, private, note) = match file_text(view, caller.visibility, path) {
        Ok(found) => found,
        Err(MissingFile::Hidden) => {
            let mut piece = Piece::new(name, Body::Hidden);
            piece.part.private = true;
            return piece;
        }
        Err(MissingFile::Why(why)) if why == ABSENT => return Piece::new(name, Body::Absent(why)),
        Err(MissingFile::Why(why)) => return Piece::new(name, Body::Unreadable(why)),
    };
    let body = if text.trim().is_empty() {
        Body::Absent("is empty".into())
    } else if template::is_empty_form(name, &text) {
        Body::Absent("is a template that is not filled in".into())
    } else {
        // Redacted before it is cut: half a credential would not be recognised.
        let text = template::without_hints(name, &text);
        let text = redact::document(without_marks(&text).trim_end()).into_owned();
        let chars = text.chars().count();
        Body::Text(text, chars)
    };
    // The advice to prune a long file, for the session that can do it.
    let advice = memory_file::advice_for_text(view, name, &text);
    let advice = advice.as_deref().and_then(|advice| advice.strip_prefix(name));
    let advice = advice.map(|advice| advice.trim().trim_end_matches('.').to_owned());
    let mut piece = Piece::new(name, body);
    piece.part.private = private;
    piece.part.note = note.into_iter().chain(advice).reduce(|note, advice| format!("{note}; {advice}"));
    piece
}

fn of_brief(brief: &Brief) -> Piece {
    let nothing =
        brief.entry_count == 0 && brief.plugin.as_ref().is_none_or(|plugin| plugin.problem.is_some());
    if nothing {
        return Piece::new("brief", Body::Absent("is empty: no memories are stored yet".into()));
    }
    let left_out = brief.plugin.is_none() && brief.brief_count < brief.entry_count;
    let mut piece = Piece::new("brief", Body::Brief(brief.markdown.clone()));
    piece.part.cut = left_out;
    piece
}

/// Returns the files that describe skills, by name.
fn skill_paths(view: &View<'_>) -> Vec<FilePath> {
    let names = view.files().names("skills");
    let mut paths: Vec<FilePath> =
        names.filter_map(|(name, _)| format!("skills/{name}/SKILL.md").parse().ok()).collect();
    paths.sort();
    paths
}

/// Lists the skills: the name of each and when to use it, from its front matter.
fn skills(view: &View<'_>, visibility: Visibility, most: usize) -> Option<Piece> {
    let can_read = view.settings().tools.offer.iter().any(|tool| tool == "memory_get");
    let head = match can_read {
        true => "## Skills\n\nRead a skill with memory_get before you use it.\n",
        false => "## Skills\n\nRead the file of a skill before you use it.\n",
    };
    let mut lines = Vec::new();
    let paths = skill_paths(view);
    for path in paths.iter().take(MAX_SKILLS) {
        let Ok(Some(head)) = view.files().read(path, SKILL_HEAD_BYTES) else { continue };
        let Ok((text, _)) = decode(&head) else { continue };
        if !is_head_shown(view, visibility, path, &head) {
            continue;
        }
        let folder = path.names().nth(1).unwrap_or_default();
        let (name, about) = name_and_description(&text);
        let name = harmless(name.as_deref().unwrap_or(folder), SKILL_NAME_TOKENS);
        let about = harmless(about.as_deref().unwrap_or_default(), DESCRIPTION_TOKENS);
        let about = if about.is_empty() { "no description".into() } else { about };
        lines.push(format!("- {name} ({}): {about}\n", one_line(path.as_str())));
    }
    let mut text = head.to_owned();
    let mut room = most.saturating_sub(head.len() + 40);
    let fits = |line: &&String| {
        let cost = line.chars().count();
        let fits = cost <= room;
        room = room.saturating_sub(cost);
        fits
    };
    let shown: Vec<&String> = lines.iter().take_while(fits).collect();
    let left = lines.len() - shown.len() + paths.len().saturating_sub(MAX_SKILLS);
    shown.iter().for_each(|line| text.push_str(line));
    if left > 0 {
        let _ = writeln!(text, "({left} more in skills/.)");
    }
    let mut piece = Piece::new("skills", Body::List(text.trim_end().to_owned()));
    piece.part.cut = left > 0;
    (!lines.is_empty()).then_some(piece)
}

/// Lists the open tasks, started ones first, as far as there is room. Lists nothing if the database can't be read.
fn tasks(view: &View<'_>, most: usize) -> Option<Piece> {
    const HEAD: &str = "## Tasks\n\n";
    let all = view.read(|db| task::list(db, &task::Filter::default())).ok()?;
    let open: Vec<_> = all.into_iter().filter(|task| task.status.is_open()).collect();
    let (mut text, mut left) = (HEAD.to_owned(), open.len());
    for task in &open {
        let blocked = if task.blocked_by.is_empty() { "" } else { ", blocked" };
        let about = harmless(&redact::text(&task.description), DESCRIPTION_TOKENS);
        let line = format!(
            "- [{}] {}{blocked}, priority {}: {about}\n",
            task.id,
            task.status.as_str(),
            task.priority
        );
        if text.chars().count() + line.chars().count() + 40 > most {
            break;
        }
        text.push_str(&line);
        left -= 1;
    }
    if left > 0 {
        let _ = writeln!(text, "({left} more.)");
    }
    let mut piece = Piece::new("tasks", Body::List(text.trim_end().to_owned()));
    piece.part.cut = left > 0;
    (!open.is_empty()).then_some(piece)
}

/// Returns `name` and `description` of a front matter. A value may be quoted, or continue in indented lines.
fn name_and_description(text: &str) -> (Option<String>, Option<String>) {
    let Some(front) = front_matter(text) else { return (None, None) };
    let front: Vec<&str> = front.fields.lines().map(str::trim_end).collect();
    let value = |wanted: &str| {
        let at = front.iter().position(|line| line.split_once(':').is_some_and(|(key, _)| key == wanted))?;
        let first = front[at].split_once(':')?.1.trim();
        let first = if matches!(first, ">" | "|" | ">-" | "|-" | ">+" | "|+") { "" } else { first };
        let more = front[at + 1..].iter().take_while(|line| line.starts_with([' ', '\t']) || line.is_empty());
        let whole = std::iter::once(first).chain(more.map(|line| line.trim())).collect::<Vec<_>>().join(" ");
        let whole = whole.trim();
        let quoted = ['"', '\''].iter().find_map(|quote| whole.strip_prefix(*quote)?.strip_suffix(*quote));
        Some(quoted.unwrap_or(whole).to_owned()).filter(|value| !value.is_empty())
    };
    (value("name"), value("description"))
}

/// Cuts each text to the limit of one file and, if all together are too long, the longest ones further. If that would leave
/// too little of each, the last ones are only named.
fn fit(pieces: &mut [Piece], file_chars: usize, total: usize) {
    let level = loop {
        // The size of everything except the texts.
        let frame = render(pieces, Show::Frame).chars().count() + 1;
        let sizes = pieces.iter().filter_map(|piece| match piece.body {
            Body::Text(_, chars) => Some(chars.min(file_chars)),
            _ => None,
        });
        let level = level(sizes.collect(), total.saturating_sub(frame)).min(file_chars);
        let longer = |piece: &Piece| matches!(piece.body, Body::Text(_, chars) if chars > level);
        if level >= MIN_FILE_CHARS || !pieces.iter().any(longer) {
            break level;
        }
        let last = pieces.iter_mut().rev().find(|piece| matches!(piece.body, Body::Text(..)));
        let last = last.expect("one of them is too long");
        let Body::Text(_, chars) = last.body else { unreachable!("just looked at") };
        last.body = Body::Unfit(chars);
    };
    for Piece { part, body } in pieces {
        match body {
            Body::Text(text, chars) if *chars > level => {
                *text = cut(&part.path, text, *chars, level);
                (part.chars, part.cut) = (text.chars().count(), true);
            }
            Body::Text(_, chars) => part.chars = *chars,
            Body::List(text) | Body::Brief(text) => part.chars = text.chars().count(),
            Body::Unfit(_) => part.cut = true,
            Body::Absent(why) | Body::Unreadable(why) => {
                (part.missing, part.note) = (true, Some(why.clone()));
            }
            Body::Hidden => {}
        }
    }
}

/// Returns the most characters that each text can have so that all fit. Long texts are cut before short ones.
fn level(mut sizes: Vec<usize>, mut room: usize) -> usize {
    sizes.sort_unstable();
    let all = sizes.len();
    for (place, size) in sizes.into_iter().enumerate() {
        let share = room / (all - place);
        if size > share {
            return share;
        }
        room -= size;
    }
    usize::MAX
}

/// Cuts a text in its middle to `most` characters and says there what is left out. Of the part that stays, 75 of 99 come
/// from its start and 24 from its end.
fn cut(path: &str, text: &str, all: usize, most: usize) -> String {
    let marker = |left: usize, from: usize, to: usize| {
        let path = one_line(path);
        format!(
            "\n[… {left} of {all} characters are left out here, lines {from} to {to}: read them with memory_get, or \
            `nacre get {path}:{from}-{to}` …]\n"
        )
    };
    let lines = text.matches('\n').count() + 1;
    let room = most.saturating_sub(marker(all, lines, lines).chars().count());
    let head = room * 75 / 99;
    let byte = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (mut end, mut start) = (byte(head), byte(all - (room - head)));
    // Cut between lines if one ends nearby.
    if let Some(line) = text[..end].rfind('\n').filter(|at| *at >= end / 4 * 3) {
        end = line + 1;
    }
    if let Some(line) = text[start..].find('\n').filter(|at| *at <= (text.len() - start) / 4) {
        start += line + 1;
    }
    let line_at = |at: usize| 1 + text[..at].matches('\n').count();
    let from = line_at(end);
    let to = if text[..start].ends_with('\n') { line_at(start) - 1 } else { line_at(start) };
    let left = text[end..start].chars().count();
    format!("{}{}{}", text[..end].trim_end(), marker(left, from, to.max(from)), &text[start..])
}

/// The extent of a rendering.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Whole,
    /// Everything except the texts, to measure what that costs.
    Frame,
}

/// Renders the parts: files, tasks and skills in blocks of their own, the brief in its block.
fn render(pieces: &[Piece], show: Show) -> String {
    let mut blocks: Vec<String> = Vec::new();
    let mut text = String::new();
    let close = |text: &mut String, blocks: &mut Vec<String>| {
        if !text.trim().is_empty() {
            blocks.push(format!("{}\n{}\n{}", frame::OPEN_FILES, text.trim_end(), frame::CLOSE));
        }
        text.clear();
    };
    for Piece { part, body } in pieces {
        let path = one_line(&part.path);
        if let (Some(note), Body::Text(..)) = (&part.note, body) {
            let _ = writeln!(text, "({path} {}.)", one_line(note));
        }
        let _ = match body {
            Body::Text(body, _) => {
                let body = if show == Show::Whole { body } else { "" };
                writeln!(text, "<!-- nacre:file {path} -->\n{}\n", body.trim_start_matches('\n'))
            }
            Body::List(body) => writeln!(text, "{body}\n"),
            Body::Unreadable(why) => writeln!(text, "({path} {}.)", one_line(why)),
            Body::Brief(body) => {
                close(&mut text, &mut blocks);
                blocks.push(body.clone());
                Ok(())
            }
            Body::Absent(_) | Body::Unfit(_) | Body::Hidden => Ok(()),
        };
    }
    let unfit: Vec<String> = pieces
        .iter()
        .filter_map(|Piece { part, body }| match body {
            Body::Unfit(chars) => Some(format!("{} ({chars} characters)", one_line(&part.path))),
            _ => None,
        })
        .collect();
    if !unfit.is_empty() {
        let _ = writeln!(
            text,
            "(There was no room for {}: read it with memory_get, or `nacre get PATH`.)",
            unfit.join(", ")
        );
    }
    close(&mut text, &mut blocks);
    if blocks.is_empty() {
        blocks.push(frame::mark_injected(frame::EMPTY_NOTE));
    }
    blocks.join("\n")
}

/// Enforces the limit if names and markers alone are too long.
fn clamp(text: String, total: usize) -> String {
    const CUT_NOTE: &str = "(More did not fit.)";
    if text.chars().count() <= total {
        return text;
    }
    // A text that is cut outside of a block gets a new one.
    let room = total.saturating_sub(frame::mark_injected(CUT_NOTE).chars().count() + 1);
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let line = text[..end].rfind('\n').unwrap_or(0);
    frame::cut_injected(&text[..line].lines().collect::<Vec<_>>(), CUT_NOTE)
}
