//! The log of one device, as files that any tool may copy.
//!
//! A device is the only writer of its log. The records are numbered from 1 and form a hash chain. A *segment* holds some of them
//! in a row, sealed and signed; once written it never changes. The texts are apart, in a *pack* beside each segment: the chain has
//! only the hash of the sealed text, so a device can remove a deleted text from its packs, and the chain still verifies.
//!
//! The reader trusts no file name, no order and no completeness: files may be half copied, duplicated, renamed, missing or not
//! ours. Each bad file is refused with its reason, and only an unbroken chain is handed on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::clock::Stamp;
use super::seal::{DeviceId, DeviceKey, MemoryId, MemoryKey, PUBLIC_LEN, SIGNATURE_LEN, hex, is_signed};
use crate::base::Result;

/// The format that this program writes. It reads no newer one.
pub(super) const FORMAT: u16 = 1;

/// The most records that a segment has.
pub(super) const MAX_RECORDS: usize = 4096;

const SEGMENT_MAGIC: &[u8; 8] = b"nacreseg";
const PACK_MAGIC: &[u8; 8] = b"nacrepak";
/// The start of every file: magic, format, memory, public key, first number.
const HEADER_LEN: usize = 8 + 2 + 16 + PUBLIC_LEN + 8;
/// The length that marks a removed text.
const REMOVED: u32 = u32::MAX;

/// A hash of the chain. The one before the first record is all zero.
pub(super) type Hash = [u8; 32];
/// The hash before the first record.
pub(super) const START: Hash = [0; 32];

/// One operation of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// When it happened.
    pub(super) at: Stamp,
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) op: Op,
}

/// A change of a record of the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Op {
    /// It was written: the hash of its sealed text, in hexadecimal digits.
    Put(String),
    /// It was deleted for good: keyed hashes of the texts that it had.
    Delete(Vec<String>),
}

/// Why a file is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not a file of a log.
    NotALog,
    /// Its end is missing.
    Truncated,
    /// A newer program wrote it.
    Newer(u16),
    /// It belongs to another memory.
    Foreign,
    /// It was sealed with a key that was replaced.
    OldKey,
    /// Some of it was changed.
    Damaged,
    /// It is in the folder of another device.
    Misplaced,
}

impl Refusal {
    /// Says what is wrong, after the name of the file.
    pub(super) fn explain(self) -> String {
        match self {
            Refusal::NotALog => "is not a file of a sync log".into(),
            Refusal::Truncated => "is incomplete; it may still be copied".into(),
            Refusal::Newer(format) => {
                format!(
                    "has format {format}, and this program reads up to {FORMAT}; update `nacre` on this machine"
                )
            }
            Refusal::Foreign => "belongs to another memory".into(),
            Refusal::OldKey => "was sealed with a key that was replaced".into(),
            Refusal::Damaged => "is damaged: its signature does not match".into(),
            Refusal::Misplaced => "is in the folder of another device".into(),
        }
    }
}

/// Some records of a log, in a row.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) device: DeviceId,
    /// The number of the first record.
    pub(super) first: u64,
    /// The hash of the chain before it.
    before: Hash,
    records: Vec<Record>,
    /// The hash of the chain after each record.
    hashes: Vec<Hash>,
}

impl Segment {
    /// Returns the bytes of a segment, and the hash of the chain after it.
    pub(super) fn write(
        memory: &MemoryKey,
        device: &DeviceKey,
        first: u64,
        before: &Hash,
        records: &[Record],
    ) -> Result<(Vec<u8>, Hash)> {
        let mut body = Vec::new();
        let mut hash = *before;
        for (number, record) in (first..).zip(records) {
            let line = serde_json::to_vec(record)?;
            hash = next_hash(&hash, number, &line);
            body.extend_from_slice(&u32::try_from(line.len()).expect("a short line").to_le_bytes());
            body.extend_from_slice(&line);
        }
        let mut bytes = header(SEGMENT_MAGIC, memory, device, first);
        bytes.extend_from_slice(before);
        let sealed = memory.seal(&body, &bytes)?;
        bytes.extend_from_slice(&u32::try_from(sealed.len()).expect("a segment is small").to_le_bytes());
        bytes.extend_from_slice(&sealed);
        sign(&mut bytes, device);
        Ok((bytes, hash))
    }

    /// Reads a segment.
    pub(super) fn read(bytes: &[u8], memory: &MemoryKey) -> Result<Segment, Refusal> {
        let Header { public, first, rest } = open_header(bytes, SEGMENT_MAGIC, memory)?;
        let (before, rest) = rest.split_first_chunk::<32>().ok_or(Refusal::Truncated)?;
        let (sealed, rest) = take_sized(rest)?;
        check_end(bytes, rest, public)?;
        let aad = &bytes[..HEADER_LEN + before.len()];
        let body = memory.open(sealed, aad).ok_or(Refusal::Damaged)?;
        let (mut records, mut hashes, mut hash, mut left) = (Vec::new(), Vec::new(), *before, &body[..]);
        while !left.is_empty() {
            let (line, after) = take_sized(left).map_err(|_| Refusal::Damaged)?;
            let number = first.checked_add(records.len() as u64).ok_or(Refusal::Damaged)?;
            hash = next_hash(&hash, number, line);
            // A signed record that this program can't read was written by a newer one.
            records.push(serde_json::from_slice(line).map_err(|_| Refusal::Newer(FORMAT + 1))?);
            hashes.push(hash);
            left = after;
        }
        if records.is_empty() || records.len() > MAX_RECORDS || first == 0 {
            return Err(Refusal::Damaged);
        }
        Ok(Segment { device: DeviceId::of(public), first, before: *before, records, hashes })
    }

    /// Returns the number of the last record.
    pub(super) fn last(&self) -> u64 {
        self.first + self.records.len() as u64 - 1
    }

    fn place(&self, number: u64) -> Option<usize> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (place < self.records.len()).then_some(place)
    }

    /// Returns the hash of the chain after a record, if it is in this segment or just before it.
    pub(super) fn hash_after(&self, number: u64) -> Option<Hash> {
        if number + 1 == self.first {
            return Some(self.before);
        }
        self.place(number).map(|place| self.hashes[place])
    }

    /// Returns the hash of the chain after the last record.
    pub(super) fn end_hash(&self) -> Hash {
        *self.hashes.last().expect("it has a record")
    }

    /// Returns the numbers and records.
    pub(super) fn records(&self) -> impl Iterator<Item = (u64, &Record)> {
        (self.first..).zip(&self.records)
    }
}

/// The sealed texts of the records of a segment.
#[derive(Clone, Debug)]
pub(super) struct Pack {
    pub(super) device: DeviceId,
    /// The number of the first record.
    pub(super) first: u64,
    /// How often texts were removed from it.
    pub(super) revision: u32,
    /// The text of each record; `None`: it has none, or it was removed.
    pub(super) slots: Vec<Option<Vec<u8>>>,
}

impl Pack {
    /// Returns the bytes of a pack.
    pub(super) fn write(
        memory: &MemoryKey,
        device: &DeviceKey,
        first: u64,
        revision: u32,
        slots: &[Option<Vec<u8>>],
    ) -> Vec<u8> {
        let mut bytes = header(PACK_MAGIC, memory, device, first);
        bytes.extend_from_slice(&revision.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(slots.len()).expect("a pack is small").to_le_bytes());
        for slot in slots {
            match slot {
                Some(sealed) => {
                    let length = u32::try_from(sealed.len()).expect("a text is small");
                    bytes.extend_from_slice(&length.to_le_bytes());
                    bytes.extend_from_slice(sealed);
                }
                None => bytes.extend_from_slice(&REMOVED.to_le_bytes()),
            }
        }
        sign(&mut bytes, device);
        bytes
    }

    /// Reads a pack.
    pub(super) fn read(bytes: &[u8], memory: &MemoryKey) -> Result<Pack, Refusal> {
        let Header { public, first, rest } = open_header(bytes, PACK_MAGIC, memory)?;
        let (revision, rest) = take_number(rest)?;
        let (count, mut rest) = take_number(rest)?;
        let mut slots = Vec::new();
        for _ in 0..count {
            let (length, after) = take_number(rest)?;
            if length == REMOVED {
                slots.push(None);
                rest = after;
                continue;
            }
            let (sealed, after) = after.split_at_checked(length as usize).ok_or(Refusal::Truncated)?;
            slots.push(Some(sealed.to_vec()));
            rest = after;
        }
        check_end(bytes, rest, public)?;
        Ok(Pack { device: DeviceId::of(public), first, revision, slots })
    }
}

impl Pack {
    /// Returns the text of a record; `None` if it has none that can be read.
    pub(super) fn text(&self, memory: &MemoryKey, number: u64) -> Option<Vec<u8>> {
        let sealed = self.slots.get(usize::try_from(number.checked_sub(self.first)?).ok()?)?.as_ref()?;
        memory.open(sealed, text_context(&self.device, number).as_bytes())
    }
}

/// The part that anybody can check of a file of a log, without the key of its memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) memory: MemoryId,
    pub(super) device: DeviceId,
    /// How often texts were removed from it; `None`: it is a segment, which never changes.
    pub(super) revision: Option<u32>,
}

impl Envelope {
    /// Reads the envelope of a file, and checks that the device that it names signed all of it.
    pub(super) fn read(bytes: &[u8]) -> Result<Envelope, Refusal> {
        let is_pack = bytes.starts_with(PACK_MAGIC);
        if !is_pack && !bytes.starts_with(SEGMENT_MAGIC) {
            return Err(Refusal::NotALog);
        }
        let (memory, after) =
            bytes.get(10..).ok_or(Refusal::Truncated)?.split_first_chunk().ok_or(Refusal::Truncated)?;
        let (public, _) = after.split_first_chunk::<PUBLIC_LEN>().ok_or(Refusal::Truncated)?;
        let signed = bytes.len().checked_sub(SIGNATURE_LEN).filter(|length| *length >= HEADER_LEN + 4);
        let (signed, end) = bytes.split_at(signed.ok_or(Refusal::Truncated)?);
        if !is_signed(public, blake3::hash(signed).as_bytes(), end) {
            return Err(Refusal::Damaged);
        }
        let revision = signed[HEADER_LEN..].first_chunk().map(|number| u32::from_le_bytes(*number));
        Ok(Envelope { memory: *memory, device: DeviceId::of(public), revision: revision.filter(|_| is_pack) })
    }
}

/// Seals the text of a record.
pub(super) fn seal_text(memory: &MemoryKey, device: &DeviceId, number: u64, text: &[u8]) -> Result<Vec<u8>> {
    memory.seal(text, text_context(device, number).as_bytes())
}

/// Returns the hash by which the chain names a sealed text.
pub(super) fn text_hash(sealed: &[u8]) -> String {
    hex(blake3::hash(sealed).as_bytes())
}

fn text_context(device: &DeviceId, number: u64) -> String {
    format!("{device} {number}")
}

/// How far a log was read: the number of a record, and the hash of the chain after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) number: u64,
    pub(super) hash: Hash,
}

impl Position {
    /// The position before the first record.
    pub(super) const START: Position = Position { number: 0, hash: START };
}

/// A record that was read, with its text; `None` if it has none, or if it was removed.
#[derive(Clone, Debug)]
pub(super) struct ReadRecord<T> {
    pub(super) number: u64,
    pub(super) record: Record,
    pub(super) text: Option<T>,
}

/// Why reading a log stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// These records are not here yet.
    Missing { from: u64, to: u64 },
    /// The text of this record is not here yet.
    MissingText { number: u64 },
    /// The text of this record is not the one that the chain names.
    WrongText { number: u64 },
    /// The text of this record has a form that only a newer program knows.
    Unreadable { number: u64 },
    /// There are two logs: a device was copied, or restored from a backup.
    Forked { number: u64 },
}

/// The part of a log that could be read.
#[derive(Debug)]
pub(super) struct ReadLog<T> {
    pub(super) records: Vec<ReadRecord<T>>,
    pub(super) end: Position,
    pub(super) stop: Option<Stop>,
}

/// Reads the log of one device from `from` on, out of whatever segments and packs of it there are, in any order. It stops at a
/// text that `parse` does not accept.
pub(super) fn read_log<T>(
    memory: &MemoryKey,
    device: &DeviceId,
    segments: &[Segment],
    packs: &[Pack],
    from: Position,
    parse: impl Fn(Vec<u8>) -> Option<T>,
) -> ReadLog<T> {
    let files = Files {
        memory,
        device,
        segments: by_first(segments, |segment| (&segment.device == device).then_some(segment.first)),
        packs: by_first(packs, |pack| (&pack.device == device).then_some(pack.first)),
    };
    let mut log = ReadLog { records: Vec::new(), end: from, stop: None };
    loop {
        match files.next(log.end) {
            Ok(Some((ReadRecord { number, record, text }, hash))) => {
                let is_put = text.is_some();
                let text = text.and_then(&parse);
                if is_put && text.is_none() {
                    log.stop = Some(Stop::Unreadable { number });
                    return log;
                }
                log.end = Position { number, hash };
                log.records.push(ReadRecord { number, record, text });
            }
            Ok(None) => return log,
            Err(stop) => {
                log.stop = Some(stop);
                return log;
            }
        }
    }
}

/// A record as it was sealed, and the hash of the chain after it.
type NextRecord = (ReadRecord<Vec<u8>>, Hash);

/// Files by the number of their first record.
type ByFirst<'f, T> = BTreeMap<u64, Vec<&'f T>>;

fn by_first<T>(files: &[T], first: impl Fn(&T) -> Option<u64>) -> ByFirst<'_, T> {
    let mut sorted: ByFirst<'_, T> = BTreeMap::new();
    for file in files {
        if let Some(first) = first(file) {
            sorted.entry(first).or_default().push(file);
        }
    }
    sorted
}

/// The files of one log.
struct Files<'f> {
    memory: &'f MemoryKey,
    device: &'f DeviceId,
    segments: ByFirst<'f, Segment>,
    packs: ByFirst<'f, Pack>,
}

impl Files<'_> {
    /// Returns the record after a position, and the hash of the chain after it; `None` at the end of the log.
    fn next(&self, end: Position) -> Result<Option<NextRecord>, Stop> {
        let number = end.number + 1;
        // No file has more records than this, so only the last few can have this one.
        let near = number.saturating_sub(MAX_RECORDS as u64)..=number;
        let mut next: Option<(&Record, Hash)> = None;
        for segment in self.segments.range(near.clone()).flat_map(|(_, files)| files) {
            let Some(place) = segment.place(number) else { continue };
            if segment.hash_after(end.number) != Some(end.hash)
                || next.is_some_and(|(_, hash)| hash != segment.hashes[place])
            {
                return Err(Stop::Forked { number });
            }
            next = Some((&segment.records[place], segment.hashes[place]));
        }
        let Some((record, hash)) = next else {
            let later = self.segments.range(number..).next();
            return later.map_or(Ok(None), |(later, _)| Err(Stop::Missing { from: number, to: later - 1 }));
        };
        let text = match &record.op {
            Op::Delete(_) => None,
            Op::Put(named) => {
                let slots = self.packs.range(near).flat_map(|(_, files)| files).filter_map(|pack| {
                    let place = usize::try_from(number - pack.first).ok()?;
                    Some((pack.revision, pack.slots.get(place)?))
                });
                // The newest revision counts: what was removed stays removed, even where an old copy turns up.
                match slots.max_by_key(|(revision, _)| *revision) {
                    None => return Err(Stop::MissingText { number }),
                    Some((_, None)) => None,
                    Some((_, Some(sealed))) if text_hash(sealed) == *named => {
                        let text = self.memory.open(sealed, text_context(self.device, number).as_bytes());
                        Some(text.ok_or(Stop::WrongText { number })?)
                    }
                    Some(_) => return Err(Stop::WrongText { number }),
                }
            }
        };
        Ok(Some((ReadRecord { number, record: record.clone(), text }, hash)))
    }
}

fn next_hash(before: &Hash, number: u64, line: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(&number.to_le_bytes()).update(line);
    *hasher.finalize().as_bytes()
}

fn header(magic: &[u8; 8], memory: &MemoryKey, device: &DeviceKey, first: u64) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(memory.id());
    bytes.extend_from_slice(device.public());
    bytes.extend_from_slice(&first.to_le_bytes());
    bytes
}

struct Header<'b> {
    public: &'b [u8; PUBLIC_LEN],
    first: u64,
    rest: &'b [u8],
}

fn open_header<'b>(bytes: &'b [u8], magic: &[u8; 8], memory: &MemoryKey) -> Result<Header<'b>, Refusal> {
    let start = &bytes[..bytes.len().min(magic.len())];
    if !magic.starts_with(start) {
        return Err(Refusal::NotALog);
    }
    let rest = bytes.get(magic.len()..).ok_or(Refusal::Truncated)?;
    let (format, rest) = rest.split_first_chunk::<2>().ok_or(Refusal::Truncated)?;
    let format = u16::from_le_bytes(*format);
    if format > FORMAT {
        return Err(Refusal::Newer(format));
    }
    let (id, rest) = rest.split_first_chunk::<16>().ok_or(Refusal::Truncated)?;
    if id != memory.id() {
        return Err(if memory.had_id(id) { Refusal::OldKey } else { Refusal::Foreign });
    }
    let (public, rest) = rest.split_first_chunk::<PUBLIC_LEN>().ok_or(Refusal::Truncated)?;
    let (first, rest) = rest.split_first_chunk::<8>().ok_or(Refusal::Truncated)?;
    Ok(Header { public, first: u64::from_le_bytes(*first), rest })
}

fn sign(bytes: &mut Vec<u8>, device: &DeviceKey) {
    let signature = device.sign(blake3::hash(bytes).as_bytes());
    bytes.extend_from_slice(&signature);
}

/// Checks that a file ends with the signature of its device over all the rest.
fn check_end(bytes: &[u8], end: &[u8], public: &[u8; PUBLIC_LEN]) -> Result<(), Refusal> {
    if end.len() < SIGNATURE_LEN {
        return Err(Refusal::Truncated);
    }
    let signed = &bytes[..bytes.len() - end.len()];
    let is_whole = end.len() == SIGNATURE_LEN && is_signed(public, blake3::hash(signed).as_bytes(), end);
    if is_whole { Ok(()) } else { Err(Refusal::Damaged) }
}

fn take_number(bytes: &[u8]) -> Result<(u32, &[u8]), Refusal> {
    let (number, rest) = bytes.split_first_chunk::<4>().ok_or(Refusal::Truncated)?;
    Ok((u32::from_le_bytes(*number), rest))
}

fn take_sized(bytes: &[u8]) -> Result<(&[u8], &[u8]), Refusal> {
    let (length, rest) = take_number(bytes)?;
    rest.split_at_checked(length as usize).ok_or(Refusal::Truncated)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::seal::{NONCE_LEN, TAG_LEN};
    use super::*;

    /// The bytes that sealing adds to a text.
    const SEAL_LEN: usize = NONCE_LEN + TAG_LEN;

    struct Writer {
        memory: MemoryKey,
        device: DeviceKey,
    }

    impl Writer {
        fn new() -> Writer {
            Writer { memory: MemoryKey::generate().unwrap(), device: DeviceKey::generate().unwrap() }
        }

        fn record(&self, number: u64) -> (Record, Vec<u8>) {
            let text = format!("text {number}");
            let sealed = seal_text(&self.memory, self.device.id(), number, text.as_bytes()).unwrap();
            let at = Stamp::new(number << 16, self.device.id());
            let op = Op::Put(text_hash(&sealed));
            (Record { at, kind: "entry".into(), id: format!("mem-{number}"), op }, sealed)
        }

        /// The files of a log of `count` records, `size` to a segment.
        fn files(&self, count: u64, size: u64) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
            let (mut segments, mut packs, mut hash, mut first) = (Vec::new(), Vec::new(), START, 1);
            while first <= count {
                let numbers = first..=(first + size - 1).min(count);
                let (records, texts): (Vec<Record>, Vec<Vec<u8>>) =
                    numbers.map(|number| self.record(number)).unzip();
                let (bytes, after) =
                    Segment::write(&self.memory, &self.device, first, &hash, &records).unwrap();
                segments.push(bytes);
                let slots: Vec<Option<Vec<u8>>> = texts.into_iter().map(Some).collect();
                packs.push(Pack::write(&self.memory, &self.device, first, 0, &slots));
                hash = after;
                first += size;
            }
            (segments, packs)
        }

        fn read(&self, segments: &[Vec<u8>], packs: &[Vec<u8>]) -> ReadLog<Vec<u8>> {
            let segments: Vec<Segment> =
                segments.iter().filter_map(|bytes| Segment::read(bytes, &self.memory).ok()).collect();
            let packs: Vec<Pack> =
                packs.iter().filter_map(|bytes| Pack::read(bytes, &self.memory).ok()).collect();
            read_log(&self.memory, self.device.id(), &segments, &packs, Position::START, Some)
        }
    }

    #[test]
    fn a_log_is_read_as_it_was_written() {
        let writer = Writer::new();
        let (segments, packs) = writer.files(10, 4);
        let log = writer.read(&segments, &packs);
        assert_eq!((log.records.len(), log.end.number, log.stop), (10, 10, None));
        for read in &log.records {
            assert_eq!(read.text.as_deref().unwrap(), format!("text {}", read.number).as_bytes());
        }
    }

    #[test]
    fn no_flipped_bit_is_taken_for_a_log() {
        let writer = Writer::new();
        let (segments, packs) = writer.files(2, 2);
        for place in 0..segments[0].len() {
            for bit in 0..8 {
                let mut bytes = segments[0].clone();
                bytes[place] ^= 1 << bit;
                assert!(Segment::read(&bytes, &writer.memory).is_err(), "byte {place}");
            }
        }
        for place in 0..packs[0].len() {
            let mut bytes = packs[0].clone();
            bytes[place] ^= 1;
            assert!(Pack::read(&bytes, &writer.memory).is_err(), "byte {place}");
        }
    }

    #[test]
    fn a_half_copied_file_is_incomplete() {
        let writer = Writer::new();
        let (segments, packs) = writer.files(2, 2);
        for length in 0..segments[0].len() {
            assert_eq!(
                Segment::read(&segments[0][..length], &writer.memory).unwrap_err(),
                Refusal::Truncated
            );
        }
        for length in 0..packs[0].len() {
            assert_eq!(Pack::read(&packs[0][..length], &writer.memory).unwrap_err(), Refusal::Truncated);
        }
    }

    #[test]
    fn each_bad_file_is_named_for_what_it_is() {
        let (writer, stranger) = (Writer::new(), Writer::new());
        let (segments, packs) = writer.files(2, 2);
        let refused = |bytes: &[u8]| Segment::read(bytes, &writer.memory).unwrap_err();
        assert_eq!(refused(b"# Notes"), Refusal::NotALog);
        assert_eq!(refused(&packs[0]), Refusal::NotALog);
        assert_eq!(refused(&stranger.files(1, 1).0[0]), Refusal::Foreign);
        let mut newer = segments[0].clone();
        newer[8] = 9;
        assert_eq!(refused(&newer), Refusal::Newer(9));
        let mut longer = segments[0].clone();
        longer.push(0);
        assert_eq!(refused(&longer), Refusal::Damaged);
    }

    #[test]
    fn a_server_without_the_key_checks_who_wrote_a_file() {
        let writer = Writer::new();
        let (segments, packs) = writer.files(2, 2);
        let envelope =
            |revision| Envelope { memory: *writer.memory.id(), device: writer.device.id().clone(), revision };
        assert_eq!(Envelope::read(&segments[0]).unwrap(), envelope(None));
        assert_eq!(Envelope::read(&packs[0]).unwrap(), envelope(Some(0)));
        assert_eq!(Envelope::read(b"# Notes"), Err(Refusal::NotALog));
        for bytes in [&segments[0], &packs[0]] {
            for length in 0..bytes.len() {
                assert!(Envelope::read(&bytes[..length]).is_err(), "{length}");
            }
            for place in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[place] ^= 1;
                assert!(Envelope::read(&flipped).is_err(), "{place}");
            }
        }
    }

    #[test]
    fn a_removed_text_leaves_a_chain_that_verifies() {
        let writer = Writer::new();
        let (segments, packs) = writer.files(4, 4);
        let mut pack = Pack::read(&packs[0], &writer.memory).unwrap();
        pack.slots[1] = None;
        let newer = Pack::write(&writer.memory, &writer.device, 1, 1, &pack.slots);
        assert!(newer.len() < packs[0].len() - SEAL_LEN);
        for packs in
            [vec![newer.clone()], vec![packs[0].clone(), newer.clone()], vec![newer, packs[0].clone()]]
        {
            let log = writer.read(&segments, &packs);
            assert_eq!((log.end.number, log.stop), (4, None));
            let texts: Vec<bool> = log.records.iter().map(|read| read.text.is_some()).collect();
            assert_eq!(texts, [true, false, true, true]);
        }
    }

    #[test]
    fn a_copied_device_is_noticed_where_the_logs_part() {
        let writer = Writer::new();
        let (mut segments, mut packs) = writer.files(4, 2);
        // The same device goes on from record 2 a second time.
        let second = Segment::read(&segments[0], &writer.memory).unwrap();
        let (record, text) = writer.record(3);
        let other = Record { id: "mem-other".into(), ..record };
        let before = second.hash_after(2).unwrap();
        segments.push(Segment::write(&writer.memory, &writer.device, 3, &before, &[other]).unwrap().0);
        packs.push(Pack::write(&writer.memory, &writer.device, 3, 0, &[Some(text)]));
        let log = writer.read(&segments, &packs);
        assert_eq!((log.end.number, log.stop), (2, Some(Stop::Forked { number: 3 })));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn any_order_and_any_loss_gives_an_unbroken_start(
            count in 1u64..12, size in 1u64..5,
            lost in proptest::collection::vec(any::<bool>(), 24),
            cut in proptest::collection::vec(any::<u16>(), 24),
            seed in any::<u64>(),
        ) {
            let writer = Writer::new();
            let (segments, packs) = writer.files(count, size);
            let whole = segments.len();
            let mut arrived: Vec<(usize, Vec<u8>)> = Vec::new();
            for (place, bytes) in segments.iter().chain(&packs).enumerate() {
                if lost[place % lost.len()] {
                    // Half a copy arrives, under whatever name.
                    let length = cut[place % cut.len()] as usize % bytes.len();
                    arrived.push((place, bytes[..length].to_vec()));
                } else {
                    arrived.push((place, bytes.clone()));
                    arrived.push((place, bytes.clone()));
                }
            }
            arrived.sort_by_key(|(place, bytes)| blake3::hash(format!("{seed} {place} {}", bytes.len()).as_bytes()).to_hex().to_string());
            let (first, second): (Vec<_>, Vec<_>) = arrived.into_iter().partition(|(place, _)| *place < whole);
            let files = |part: Vec<(usize, Vec<u8>)>| part.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>();
            let log = writer.read(&files(first), &files(second));
            for (number, read) in (1..).zip(&log.records) {
                prop_assert_eq!(read.number, number);
                prop_assert_eq!(read.text.clone().unwrap(), format!("text {number}").into_bytes());
            }
            let is_here = |place: usize| !lost[place % lost.len()];
            let complete = (0..whole).take_while(|place| is_here(*place) && is_here(whole + place)).count();
            prop_assert_eq!(log.end.number, (complete as u64 * size).min(count));
            prop_assert!(log.end.number == count || log.stop.is_some() || complete == 0 || !is_here(complete));
        }

        #[test]
        fn arbitrary_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400), magic in any::<bool>()) {
            let writer = Writer::new();
            let mut file = if magic { header(SEGMENT_MAGIC, &writer.memory, &writer.device, 1) } else { Vec::new() };
            file.extend_from_slice(&bytes);
            prop_assert!(Segment::read(&file, &writer.memory).is_err());
            prop_assert!(Pack::read(&file, &writer.memory).is_err());
        }
    }
}
