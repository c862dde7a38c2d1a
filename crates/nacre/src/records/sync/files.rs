//! Documents: each version names the versions that it was made from, so that the edits of two machines merge line by line.
//!
//! The record of a document has its newest version, which says which edits of which machine it has. Of two versions, the one with
//! all edits of the other wins, and of two with the same edits the later one. If neither has all, their lines are merged against
//! the last version that both were made from. Where the edits overlap, the later text stays and the earlier one becomes a
//! proposal. An edit beats a deletion that did not know of it. Several machines may merge the same edits in another order: none of
//! their versions has an edit that the others lack, so nothing is merged again, and all keep the latest.
//!
//! In `sync_records`, `text` is the key of the newest version and `row_hash` that of the file as it was last seen on this machine.
//! They differ while the newest version still has to be written.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::clock::{Document, Stamp};
use super::fold::{self, FEW_DELETIONS, Fold};
use super::seal::DeviceId;
use crate::base::caller::Visibility;
use crate::base::diff;
use crate::base::{Error, FilePath, Result};
use crate::group::View;
use crate::records::workspace::change::{self, MAX_FILE_BYTES};
use crate::records::workspace::{self, document_hash, proposal, template};
use crate::store::{Connection, Replacement};

/// The kind of a document.
pub(super) const FILE: &str = "file";
/// The field with the newest version.
const VERSION: &str = "version";
const PATH: &str = "path";
/// How many earlier versions a version names.
const MAX_EARLIER: usize = 128;
const KEY_CHARS: usize = 20;

/// One version of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Version {
    /// The start of the hash of its text; empty if the document was deleted.
    key: String,
    /// `None`: the document was deleted.
    text: Option<String>,
    device: DeviceId,
    /// The keys of the versions that it was made from, newest first.
    earlier: Vec<String>,
    /// The newest of them that another device wrote: key and text. Edits of another machine mostly start there.
    base: Option<(String, String)>,
    /// The time of the last edit of each device that it has. An earlier program wrote none.
    #[serde(default)]
    edits: BTreeMap<DeviceId, u64>,
}

impl Version {
    fn new(text: Option<String>, parents: &[&Version], device: &DeviceId) -> Version {
        let mut known = BTreeSet::new();
        let keys = parents.iter().map(|one| &one.key).chain(parents.iter().flat_map(|one| &one.earlier));
        let earlier = keys.filter(|key| known.insert(*key)).take(MAX_EARLIER).cloned().collect();
        let foreign = parents.iter().find(|one| one.device != *device);
        let base = foreign.and_then(|one| Some((one.key.clone(), one.text.clone()?)));
        let base = base.or_else(|| parents.iter().find_map(|one| one.base.clone()));
        let mut edits: BTreeMap<DeviceId, u64> = BTreeMap::new();
        for (editor, time) in parents.iter().flat_map(|one| &one.edits) {
            let last = edits.entry(editor.clone()).or_default();
            *last = (*last).max(*time);
        }
        Version { key: key(text.as_deref()), text, device: device.clone(), earlier, base, edits }
    }

    fn of(document: &Document) -> Option<(&Stamp, Version)> {
        let (stamp, value) = document.field(VERSION)?;
        let mut version = Version::deserialize(value).ok()?;
        if version.edits.is_empty() {
            version.edits.insert(version.device.clone(), stamp.time());
        }
        Some((stamp, version))
    }

    /// Tells whether it has all edits of another version.
    fn covers(&self, other: &Version) -> bool {
        other.edits.iter().all(|(device, time)| self.edits.get(device).is_some_and(|known| known >= time))
    }

    fn is_made_from(&self, other: &Version) -> bool {
        self.earlier.contains(&other.key)
    }

    fn text_of(&self, key: &str) -> Option<&str> {
        let (base, text) = self.base.as_ref()?;
        (base == key).then_some(text)
    }
}

/// Returns the start of the hash of a text; empty if there is none.
fn key(text: Option<&str>) -> String {
    text.map(|text| document_hash(text.as_bytes())[..KEY_CHARS].to_owned()).unwrap_or_default()
}

/// Returns the key of the newest version of a document.
pub(super) fn newest_key(document: &Document) -> Option<String> {
    Version::of(document).map(|(_, version)| version.key)
}

/// Tells whether two records have the same version of a document.
pub(super) fn is_same_version(one: &Document, other: &Document) -> bool {
    one.field(VERSION) == other.field(VERSION)
}

/// Returns when the newest version was made, if the text that it merges against has lines that it does not have: they are kept
/// until every machine has read it.
fn kept_base(document: &Document) -> Option<&Stamp> {
    let (stamp, version) = Version::of(document)?;
    let (_, base) = version.base?;
    let lines: BTreeSet<&str> = version.text.as_deref().unwrap_or_default().lines().collect();
    base.lines().any(|line| !lines.contains(line)).then_some(stamp)
}

/// The start of the keys under which versions with such a text are noted: the number of the record in the log of this device, and
/// when the version was made.
const BASE: &str = "base ";

/// Says that the log of this device may have versions of documents that newer ones took the place of.
const OLD_VERSIONS: &str = "old versions";

/// Notes a version that is about to be written to the log of this device.
pub(super) fn note_put(db: &Connection, id: &str, number: u64, document: &Document) -> Result<()> {
    let key = format!("{BASE}{id}");
    match kept_base(document) {
        Some(stamp) => fold::set_state(db, &key, &format!("{number} {}", String::from(stamp.clone())))?,
        None => fold::remove_state(db, &key)?,
    }
    note_old_versions(db)
}

/// Notes that a version of a document was replaced.
pub(super) fn note_old_versions(db: &Connection) -> Result<()> {
    fold::set_state(db, OLD_VERSIONS, "1")
}

/// Notes that the log of this device has none but the newest versions.
pub(super) fn forget_old_versions(db: &Connection) -> Result<()> {
    fold::remove_state(db, OLD_VERSIONS)
}

/// Returns the newest versions of all documents, if some have changed.
pub(super) fn newest_versions(db: &Connection) -> Result<Option<BTreeMap<String, Document>>> {
    if fold::state(db, OLD_VERSIONS)?.is_none() {
        return Ok(None);
    }
    let sql = "SELECT id, document FROM sync_records WHERE kind = 'file'";
    let rows: Vec<(String, String)> = db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.into_iter()
        .map(|(id, document)| Ok((id, serde_json::from_str(&document)?)))
        .collect::<Result<_>>()
        .map(Some)
}

/// Returns the documents with a text that is only kept for merging, and the number of the record that every machine has to read
/// before it can go.
pub(super) fn kept_bases(db: &Connection) -> Result<Vec<(String, u64, String)>> {
    let sql = "SELECT key, value FROM sync_state WHERE key >= $1 AND key < 'base!'";
    let rows: Vec<(String, String)> = db.rows(sql, [BASE], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let parse = |(key, value): (String, String)| {
        let (number, stamp) = value.split_once(' ')?;
        Some((key[BASE.len()..].to_owned(), number.parse().ok()?, stamp.to_owned()))
    };
    Ok(rows.into_iter().filter_map(parse).collect())
}

/// Forgets what was noted of the log of this device: it starts again.
pub(super) fn forget_numbers(db: &Connection) -> Result<()> {
    db.run("DELETE FROM sync_state WHERE key >= $1 AND key < 'base!'", [BASE]).map(drop)
}

/// How two versions of a document go together.
#[derive(Debug, PartialEq)]
enum Merge {
    /// The later one has the earlier one in it.
    Later,
    /// Both together have this text.
    Text(Option<String>),
    /// They change the same lines.
    Overlap,
}

fn merge(earlier: &Version, later: &Version) -> Merge {
    if earlier.key == later.key || later.is_made_from(earlier) {
        return Merge::Later;
    }
    if earlier.is_made_from(later) {
        // A machine that was restored from a backup has an old text with a new time.
        return Merge::Text(earlier.text.clone());
    }
    let (Some(one), Some(other)) = (&earlier.text, &later.text) else {
        return Merge::Text(earlier.text.clone().or_else(|| later.text.clone()));
    };
    let mut common = later.earlier.iter().filter(|key| earlier.earlier.contains(key));
    let base = common.find_map(|key| later.text_of(key).or_else(|| earlier.text_of(key)));
    let base = match base {
        Some(base) => base.as_bytes().to_vec(),
        None => diff::common(one.as_bytes(), other.as_bytes()),
    };
    match diff::merge(&base, one.as_bytes(), other.as_bytes()).map(String::from_utf8) {
        Some(Ok(text)) => Merge::Text(Some(text)),
        _ => Merge::Overlap,
    }
}

/// A document of this machine that changed since the last round.
pub(super) struct LocalFile {
    path: FilePath,
    /// `None`: it was deleted.
    text: Option<String>,
}

/// Returns the documents that changed since the last round. Empty forms that `nacre init` wrote do not count, nor do files that
/// are not text.
pub(super) fn changed(view: &View<'_>) -> Result<Vec<LocalFile>> {
    if !view.is_on_disk() {
        return Ok(Vec::new());
    }
    let (edited, gone) = view.read_all(|db| {
        let edited = "SELECT documents.path, row_hash FROM documents
            LEFT JOIN sync_records ON kind = 'file' AND local = documents.path
            WHERE documents.hash <> '' AND row_hash IS DISTINCT FROM substr(documents.hash, 1, $1)
            ORDER BY documents.path";
        let length = i64::try_from(KEY_CHARS).expect("a small number");
        let edited =
            db.rows(edited, [length], |row| Ok((row.get::<String>(0)?, row.get::<Option<String>>(1)?)))?;
        let gone = "SELECT local FROM sync_records WHERE kind = 'file' AND local <> '' AND row_hash <> ''
            AND local NOT IN (SELECT path FROM documents) ORDER BY local";
        Ok((edited, db.rows(gone, (), |row| row.get::<String>(0))?))
    })?;
    let settings = view.settings();
    let mut found = Vec::new();
    for (path, known) in edited {
        let Ok(path) = path.parse::<FilePath>() else { continue };
        let Some(bytes) = view.files().read(&path, MAX_FILE_BYTES + 1)? else { continue };
        let hides = || !Visibility::Shared.sees_file(&settings.visibility.private, path.as_str(), &bytes);
        if bytes.len() as u64 > MAX_FILE_BYTES || known.is_none() && !settings.sync.private && hides() {
            continue;
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if known.is_none() && template::is_untouched(settings, path.as_str(), &text) {
            continue;
        }
        found.push(LocalFile { path, text: Some(text) });
    }
    for path in gone {
        let Ok(path) = path.parse::<FilePath>() else { continue };
        if view.files().read(&path, 0)?.is_none() {
            found.push(LocalFile { path, text: None });
        }
    }
    Ok(found)
}

/// Tells whether a newer version of a document still has to be written to its file.
pub(super) fn is_waiting(db: &Connection) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sync_records WHERE kind = 'file' AND text <> row_hash)";
    db.one(sql, (), |row| row.get(0))
}

impl Fold<'_> {
    /// Turns the documents that changed here into versions.
    pub(super) fn capture_files(&mut self, files: &[LocalFile], allow_deletions: bool) -> Result<()> {
        let gone = files.iter().filter(|file| file.text.is_none()).count();
        let sql = "SELECT count(*) FROM sync_records WHERE kind = 'file' AND local <> '' AND row_hash <> ''";
        let known: usize = self.db.one(sql, (), |row| row.get(0))?;
        if !allow_deletions && gone > FEW_DELETIONS && gone * 2 > known {
            return Err(Error::ManyDeletions { count: gone, total: known });
        }
        files.iter().try_for_each(|file| self.capture_file(file))
    }

    fn capture_file(&mut self, LocalFile { path, text }: &LocalFile) -> Result<()> {
        let id = self.memory.hash(&[FILE, path.as_str()]);
        let mut document = fold::document(self.db, FILE, &id)?.unwrap_or_default();
        let (seen, text) = (key(text.as_deref()), text.clone());
        let sql = "SELECT row_hash FROM sync_records WHERE kind = 'file' AND id = $1";
        let before: Option<String> = self.db.row(sql, [&id], |row| row.get(0))?;
        let mut version = match Version::of(&document) {
            None if text.is_none() => return Ok(()),
            None => Version::new(text, &[], self.device),
            Some((_, newest)) if newest.key == seen => return note_seen(self.db, &id, path, &seen),
            Some((_, newest)) if before.as_ref() == Some(&newest.key) => {
                Version::new(text, &[&newest], self.device)
            }
            // It was edited here before a newer version of another machine could be written.
            Some((_, newest)) => {
                let own =
                    Version { earlier: before.into_iter().collect(), ..Version::new(text, &[], self.device) };
                let text =
                    self.merged_text(path.as_str(), &newest, &own)?.unwrap_or_else(|| own.text.clone());
                Version::new(text, &[&own, &newest], self.device)
            }
        };
        let stamp = Stamp::new(self.clock.tick(self.now), self.device);
        version.edits.insert(self.device.clone(), stamp.time());
        document.set(PATH, stamp.clone(), json!(path.as_str()));
        document.set(VERSION, stamp.clone(), serde_json::to_value(&version)?);
        fold::save(self.db, self.memory, FILE, &id, path.as_str(), &seen, &document)?;
        self.put(stamp, FILE, id, &document)
    }

    /// Forgets texts that are only kept for merging, once every machine has read the log of this device up to `agreed`.
    pub(super) fn forget_bases(&mut self, agreed: u64) -> Result<()> {
        for (id, number, made_at) in kept_bases(self.db)? {
            if number > agreed {
                continue;
            }
            let Some(mut document) = fold::document(self.db, FILE, &id)? else { continue };
            let version =
                Version::of(&document).filter(|(stamp, _)| String::from((*stamp).clone()) == made_at);
            let Some((_, version)) = version else {
                // The machine that wrote the version after it does this for that one.
                fold::remove_state(self.db, &format!("{BASE}{id}"))?;
                continue;
            };
            let version = Version { base: None, ..version };
            let stamp = Stamp::new(self.clock.tick(self.now), self.device);
            document.set(VERSION, stamp.clone(), serde_json::to_value(&version)?);
            let sql = "UPDATE sync_records SET document = $2 WHERE kind = 'file' AND id = $1";
            self.db.run(sql, (&id, serde_json::to_string(&document)?))?;
            self.put(stamp, FILE, id, &document)?;
        }
        Ok(())
    }

    /// Returns the text of two versions together; `None`: the later one is all of it. Where they overlap, the earlier one becomes
    /// a proposal.
    fn merged_text(
        &mut self,
        path: &str,
        earlier: &Version,
        later: &Version,
    ) -> Result<Option<Option<String>>> {
        match merge(earlier, later) {
            Merge::Later => Ok(None),
            Merge::Text(text) => Ok(Some(text)),
            Merge::Overlap => {
                let text = |version: &Version| version.text.clone().unwrap_or_default();
                let change = (path, &*text(later), &*text(earlier));
                self.report.proposals += usize::from(proposal::propose_merge(self.db, self.now, change)?);
                Ok(Some(later.text.clone()))
            }
        }
    }

    /// Merges the versions of a document that two devices have. Returns whether that gave a new version. Every device that merges
    /// the same two versions gets the same one.
    pub(super) fn merge_versions(
        &mut self,
        merged: &mut Document,
        one: &Document,
        other: &Document,
    ) -> Result<bool> {
        let (Some(one), Some(other)) = (Version::of(one), Version::of(other)) else { return Ok(false) };
        match (one.1.covers(&other.1), other.1.covers(&one.1)) {
            (false, false) => {}
            // The later one is there already.
            (true, true) => return Ok(false),
            (is_first, _) => {
                let (stamp, version) = if is_first { one } else { other };
                merged.set(VERSION, stamp.clone(), serde_json::to_value(&version)?);
                return Ok(false);
            }
        }
        let order = |version: &(&Stamp, Version)| (version.0.clone(), version.1.key.clone());
        let [(_, earlier), (at, later)] =
            if order(&one) <= order(&other) { [one, other] } else { [other, one] };
        let path = merged.field(PATH).and_then(|(_, path)| path.as_str()).unwrap_or_default().to_owned();
        let text = self.merged_text(&path, &earlier, &later)?.unwrap_or_else(|| later.text.clone());
        let version = Version::new(text, &[&later, &earlier], &later.device);
        let stamp = at.next();
        self.clock.observe(stamp.time());
        merged.set(VERSION, stamp, serde_json::to_value(&version)?);
        Ok(true)
    }
}

/// Notes what the file of a document has.
fn note_seen(db: &Connection, id: &str, path: &FilePath, seen: &str) -> Result<()> {
    let sql = "UPDATE sync_records SET local = $2, row_hash = $3 WHERE kind = 'file' AND id = $1";
    db.run(sql, (id, path.as_str(), seen)).map(drop)
}

/// Writes newer versions of documents to their files. A file that was edited meanwhile is left for the next round, which merges
/// it. Returns how many it wrote.
pub(super) fn write(view: &mut View<'_>) -> Result<usize> {
    let waiting = view.read_all(|db| {
        let sql = "SELECT id, row_hash, document FROM sync_records WHERE kind = 'file' AND text <> row_hash ORDER BY id";
        db.rows(sql, (), |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?, row.get::<String>(2)?)))
    })?;
    if waiting.is_empty() {
        return Ok(0);
    }
    let settings = view.settings().clone();
    let mut held = change::lock(view)?;
    let mut written = 0;
    for (id, before, document) in waiting {
        let document: Document = serde_json::from_str(&document)?;
        let (Some((_, version)), Some((_, path))) = (Version::of(&document), document.field(PATH)) else {
            continue;
        };
        // A path that leads out of the workspace is nobody's document.
        let Some(Ok(path)) = path.as_str().map(str::parse::<FilePath>) else { continue };
        let here = held.files().read(&path, MAX_FILE_BYTES + 1)?;
        let text = here.as_deref().map(String::from_utf8_lossy);
        let is_form = before.is_empty()
            && text.as_deref().is_some_and(|text| template::is_untouched(&settings, path.as_str(), text));
        let seen = key(text.as_deref());
        if seen != version.key {
            let after = version.text.as_deref().map(str::as_bytes);
            if seen != before && !is_form
                || held.files().replace(&path, here.as_deref(), after)? != Replacement::Done
            {
                continue;
            }
            crate::store::crash::point("document written");
            if after.is_none() {
                held.files().remove_empty_folders(&path);
            }
            written += 1;
        }
        held.view.write(|tx| note_seen(tx, &id, &path, &version.key))?;
    }
    held.view.look_again();
    drop(held);
    if written > 0 {
        workspace::sync(view)?;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str, parents: &[&Version], device: u8) -> Version {
        Version::new(Some(text.to_owned()), parents, &DeviceId::of(&[device]))
    }

    fn text(text: &str) -> Merge {
        Merge::Text(Some(text.to_owned()))
    }

    #[test]
    fn edits_of_two_machines_merge_by_the_line() {
        let base = version("a\nb\nc\n", &[], 1);
        let one = version("A\nb\nc\n", &[&base], 1);
        let other = version("a\nb\nc\nd\n", &[&base], 2);
        assert_eq!(merge(&one, &other), text("A\nb\nc\nd\n"));
        assert_eq!(merge(&base, &other), Merge::Later);
        assert_eq!(merge(&other, &base), text("a\nb\nc\nd\n"), "an old text with a new time");
        let overlap = version("X\nb\nc\n", &[&base], 2);
        assert_eq!(merge(&one, &overlap), Merge::Overlap);
    }

    #[test]
    fn a_long_chain_of_edits_still_has_the_text_to_merge_against() {
        let base = version("a\nb\nc\n", &[], 1);
        let mut other = base.clone();
        for step in 0..9 {
            other = version(&format!("a\nb\nc {step}\n"), &[&other], 2);
        }
        let one = version("a\nc\n", &[&base], 1);
        assert_eq!(merge(&one, &other), Merge::Overlap);
        let one = version("A\nb\nc\n", &[&base], 1);
        assert_eq!(merge(&one, &other), text("A\nb\nc 8\n"));
    }

    #[test]
    fn two_logs_of_one_day_have_the_lines_of_both() {
        let one = version("# Monday\n\n- wrote\n", &[], 1);
        let other = version("# Monday\n\n- read\n", &[], 2);
        assert_eq!(merge(&one, &other), text("# Monday\n\n- wrote\n- read\n"));
    }

    #[test]
    fn an_edit_beats_a_deletion_that_did_not_know_of_it() {
        let base = version("a\n", &[], 1);
        let gone = Version::new(None, &[&base], &DeviceId::of(&[1]));
        let edited = version("a\nb\n", &[&base], 2);
        assert_eq!(merge(&gone, &edited), text("a\nb\n"));
        assert_eq!(merge(&edited, &gone), text("a\nb\n"));
        assert_eq!(merge(&base, &gone), Merge::Later);
    }
}
