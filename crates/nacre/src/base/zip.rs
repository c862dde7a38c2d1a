//! Reads files from a zip archive as a stream: nothing is unpacked to disk, and only a window of each file is
//! in memory.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

/// The size of the end record, which locates the central directory, without the comment that may follow.
const END_RECORD_BYTES: u64 = 22;
const MAX_COMMENT_BYTES: u64 = 65_535;
/// The maximum size of the central directory, and of one file, in bytes.
const MAX_DIRECTORY_BYTES: u64 = 64 << 20;
const MAX_FILE_BYTES: u64 = 4 << 30;
/// The maximum compression ratio. No text compresses further; an archive that claims more is a zip bomb.
const MAX_RATIO: u64 = 200;
const RATIO_CHECK_BYTES: u64 = 64 << 20;

/// An archive and the files in it.
pub struct Archive<'a> {
    source: Source<'a>,
    size: u64,
    members: Vec<Member>,
}

enum Source<'a> {
    File(File),
    Bytes(&'a [u8]),
}

trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

impl<'a> Source<'a> {
    fn open(&self) -> io::Result<Box<dyn ReadSeek + 'a>> {
        Ok(match self {
            Source::File(file) => Box::new(file.try_clone()?),
            Source::Bytes(bytes) => Box::new(Cursor::new(*bytes)),
        })
    }
}

struct Member {
    name: String,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    unpacked: u64,
    at: u64,
}

/// Tells whether a file starts with a zip signature.
pub fn is_one(path: &Path) -> bool {
    let mut head = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && begins(&head)
}

/// Tells whether bytes start with a zip signature.
pub fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

impl<'a> Archive<'a> {
    /// Opens an archive; the error says what is wrong with it.
    pub fn open(path: &Path) -> Result<Archive<'a>, String> {
        Archive::list(Source::File(File::open(path).map_err(|problem| format!("can't be read: {problem}"))?))
    }

    /// Reads an archive that is in memory.
    pub fn of(bytes: &'a [u8]) -> Result<Archive<'a>, String> {
        Archive::list(Source::Bytes(bytes))
    }

    fn list(source: Source<'a>) -> Result<Archive<'a>, String> {
        let cut = || "is a damaged archive: its list of files can't be read".to_owned();
        let mut file = source.open().map_err(|_| cut())?;
        let size = file.seek(SeekFrom::End(0)).map_err(|_| cut())?;
        let tail = size.min(END_RECORD_BYTES + MAX_COMMENT_BYTES);
        let tail = bytes_at(&mut file, size - tail, tail).ok_or_else(cut)?;
        let end = (0..=tail.len().saturating_sub(22)).rev().find(|at| tail[*at..].starts_with(b"PK\x05\x06"));
        let end = &tail[end.ok_or_else(cut)?..];
        let count = u16_at(end, 10).ok_or_else(cut)?;
        let (length, start) = (u32_at(end, 12).ok_or_else(cut)?, u32_at(end, 16).ok_or_else(cut)?);
        if start == u32::MAX || count == u16::MAX {
            return Err("is an archive of more than 4 GiB; unpack it and pass its folder".to_owned());
        }
        if u64::from(length) > MAX_DIRECTORY_BYTES {
            return Err("has a list of files that is too long".to_owned());
        }
        let list = bytes_at(&mut file, u64::from(start), u64::from(length)).ok_or_else(cut)?;
        let mut members = Vec::new();
        let mut at = 0;
        for _ in 0..count {
            let entry = list.get(at..).filter(|entry| entry.starts_with(b"PK\x01\x02")).ok_or_else(cut)?;
            let field = |at| u16_at(entry, at).ok_or_else(cut);
            let number = |at| u32_at(entry, at).ok_or_else(cut);
            let (name, extra, comment) =
                (usize::from(field(28)?), usize::from(field(30)?), usize::from(field(32)?));
            members.push(Member {
                name: String::from_utf8_lossy(entry.get(46..46 + name).ok_or_else(cut)?).into_owned(),
                flags: field(8)?,
                method: field(10)?,
                crc: number(16)?,
                packed: number(20)?.into(),
                unpacked: number(24)?.into(),
                at: number(42)?.into(),
            });
            at += 46 + name + extra + comment;
        }
        drop(file);
        Ok(Archive { source, size, members })
    }

    /// Returns the names of the files. They are only compared, never used as paths.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// Reads a file of the archive; the error says why it can't be read.
    pub fn read(&self, name: &str) -> Result<MemberReader<'a>, String> {
        let member = self.members.iter().find(|member| member.name == name).ok_or("does not exist")?;
        let too_large = member.unpacked > MAX_FILE_BYTES;
        if member.flags & 1 != 0 {
            return Err("is encrypted".to_owned());
        }
        if too_large || member.unpacked > RATIO_CHECK_BYTES && member.unpacked / MAX_RATIO > member.packed {
            return Err(format!(
                "would unpack from {1} to {0} bytes, which is not allowed",
                member.unpacked, member.packed
            ));
        }
        let cut = || "is truncated".to_owned();
        let mut file = self.source.open().map_err(|problem| problem.to_string())?;
        let local = bytes_at(&mut file, member.at, 30).ok_or_else(cut)?;
        if !local.starts_with(b"PK\x03\x04") {
            return Err(cut());
        }
        let (name, extra) = (u16_at(&local, 26).ok_or_else(cut)?, u16_at(&local, 28).ok_or_else(cut)?);
        let start = member.at + 30 + u64::from(name) + u64::from(extra);
        if start + member.packed > self.size {
            return Err(cut());
        }
        file.seek(SeekFrom::Start(start)).map_err(|_| cut())?;
        let packed = BufReader::with_capacity(1 << 16, file.take(member.packed));
        let input: Box<dyn Read + 'a> = match member.method {
            0 => Box::new(packed),
            8 => Box::new(DeflateDecoder::new(packed)),
            method => return Err(format!("uses the unknown compression method {method}")),
        };
        Ok(MemberReader { input, left: member.unpacked, crc: Crc::new(), expected: member.crc })
    }
}

/// The content of a file in an archive. Reading fails if the content does not match its header.
pub struct MemberReader<'a> {
    input: Box<dyn Read + 'a>,
    left: u64,
    crc: Crc,
    expected: u32,
}

impl MemberReader<'_> {
    /// Returns the number of bytes left, according to the archive.
    pub fn left(&self) -> u64 {
        self.left
    }
}

impl Read for MemberReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let damaged = |why: &str| io::Error::other(format!("the archive is damaged here: {why}"));
        if out.is_empty() {
            return Ok(0);
        }
        // Reading one more byte shows whether the content is longer than its header says.
        let mut more = [0];
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let out = if room == 0 { &mut more } else { &mut out[..room] };
        let written = self.input.read(out).map_err(|problem| match problem.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                damaged("it can't be unpacked")
            }
            _ => problem,
        })?;
        match (room, written) {
            (0, 0) if self.crc.sum() == self.expected => return Ok(0),
            (0, 0) => return Err(damaged("its checksum is wrong")),
            (0, _) => return Err(damaged("it is longer than its header says")),
            (_, 0) => return Err(damaged("it is shorter than its header says")),
            _ => {}
        }
        self.crc.update(&out[..written]);
        self.left -= written as u64;
        Ok(written)
    }
}

fn bytes_at(file: &mut dyn ReadSeek, at: u64, length: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(at)).ok()?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length).then_some(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crc32(bytes: &[u8]) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum()
    }

    /// Builds an archive of one file with the given header values.
    fn archive(packed: &[u8], method: u16, crc: u32, unpacked: u32) -> Vec<u8> {
        let name = b"folder/conversations.json";
        let mut bytes = Vec::new();
        let sizes = |bytes: &mut Vec<u8>| {
            bytes.extend(crc.to_le_bytes());
            bytes.extend(u32::try_from(packed.len()).unwrap().to_le_bytes());
            bytes.extend(unpacked.to_le_bytes());
            bytes.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            bytes.extend(0u16.to_le_bytes());
        };
        bytes.extend(b"PK\x03\x04\x14\0\0\0");
        bytes.extend(method.to_le_bytes());
        bytes.extend([0; 4]);
        sizes(&mut bytes);
        bytes.extend(name);
        bytes.extend(packed);
        let list = bytes.len();
        bytes.extend(b"PK\x01\x02\x14\0\x14\0\0\0");
        bytes.extend(method.to_le_bytes());
        bytes.extend([0; 4]);
        sizes(&mut bytes);
        bytes.extend([0; 14]);
        bytes.extend(name);
        let end = bytes.len();
        bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        bytes.extend(u32::try_from(end - list).unwrap().to_le_bytes());
        bytes.extend(u32::try_from(list).unwrap().to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zip");
        crate::base::files::write_atomically(&path, bytes).unwrap();
        let archive = Archive::open(&path)?;
        let name = archive.names().next().ok_or("is empty")?.to_owned();
        let mut content = Vec::new();
        archive.read(&name)?.read_to_end(&mut content).map_err(|problem| problem.to_string())?;
        Ok(content)
    }

    #[test]
    fn what_was_packed_comes_out_again_or_not_at_all() {
        let text: Vec<u8> = (0..300_000u32).flat_map(|number| number.to_string().into_bytes()).collect();
        let packed = miniz_oxide::deflate::compress_to_vec(&text, 6);
        let (crc, size) = (crc32(&text), u32::try_from(text.len()).unwrap());
        assert_eq!(read(&archive(&packed, 8, crc, size)).unwrap(), text);
        assert_eq!(read(&archive(&text, 0, crc, size)).unwrap(), text);
        let good = archive(&packed, 8, crc, size);
        for (bytes, problem) in [
            (archive(&packed, 8, crc ^ 1, size), "the archive is damaged here: its checksum is wrong"),
            (
                archive(&packed, 8, crc, size + 1),
                "the archive is damaged here: it is shorter than its header says",
            ),
            (
                archive(&packed, 8, crc, size - 1),
                "the archive is damaged here: it is longer than its header says",
            ),
            (archive(&packed[..1000], 8, crc, size), "the archive is damaged here: it can't be unpacked"),
            (archive(&text[..9], 8, crc, size), "the archive is damaged here: it can't be unpacked"),
            (archive(&packed, 99, crc, size), "uses the unknown compression method 99"),
            (
                archive(&packed[..100], 8, crc, 3 << 30),
                "would unpack from 100 to 3221225472 bytes, which is not allowed",
            ),
            (good[..good.len() - 30].to_vec(), "is a damaged archive: its list of files can't be read"),
            (Vec::new(), "is a damaged archive: its list of files can't be read"),
            (b"PK\x05\x06".to_vec(), "is a damaged archive: its list of files can't be read"),
        ] {
            assert_eq!(read(&bytes).unwrap_err(), problem);
        }
    }
}
