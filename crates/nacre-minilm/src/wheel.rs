//! Reads single files out of a wheel, which is a zip archive, in memory: nothing is unpacked to disk, and a
//! file's name is only compared.

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

/// A file in an archive.
struct Member<'a> {
    name: &'a [u8],
    flags: u16,
    method: u16,
    crc: u32,
    packed: usize,
    unpacked: usize,
    at: usize,
}

/// The end of the archive, which says where its list stands, without the comment that may follow.
const END: usize = 22;
/// The longest comment.
const COMMENT: usize = 65_535;

/// Tells whether a file begins as an archive does.
pub(super) fn is_one(file: &[u8]) -> bool {
    file.starts_with(b"PK\x03\x04") || file.starts_with(b"PK\x05\x06")
}

/// Returns the contents of the files that stand in one folder of the archive under these names, each with the most
/// bytes it may have. The error says what is wrong, to stand after the archive's name.
pub(super) fn read<const N: usize>(
    archive: &[u8],
    wanted: [(&str, usize); N],
) -> Result<[Vec<u8>; N], String> {
    let members = list(archive)?;
    let folder = folder_of(&members, wanted[0].0)?;
    let mut found = [const { Vec::new() }; N];
    for ((name, limit), found) in wanted.into_iter().zip(&mut found) {
        let path = [folder, name.as_bytes()].concat();
        let member = members.iter().find(|member| member.name == path);
        let member = member.ok_or_else(|| format!("has `{}` without a `{name}` beside it", wanted[0].0))?;
        *found =
            unpack(archive, member, limit).map_err(|problem| format!("has a `{name}` that {problem}"))?;
    }
    Ok(found)
}

/// Returns the folder, with the slash, of the one file of this name.
fn folder_of<'a>(members: &[Member<'a>], name: &str) -> Result<&'a [u8], String> {
    let mut folders = members
        .iter()
        .filter_map(|member| member.name.strip_suffix(name.as_bytes()))
        .filter(|folder| folder.is_empty() || folder.ends_with(b"/"));
    let folder = folders.next().ok_or_else(|| format!("has no file `{name}`"))?;
    if folders.next().is_some() {
        return Err(format!("has more than one file `{name}`"));
    }
    Ok(folder)
}

fn list(archive: &[u8]) -> Result<Vec<Member<'_>>, String> {
    let cut = || "is a damaged archive: its list of files can't be read".to_owned();
    let last = archive.len().checked_sub(END).ok_or_else(cut)?;
    let first = last.saturating_sub(COMMENT);
    let end = (first..=last).rev().find(|at| archive[*at..].starts_with(b"PK\x05\x06")).ok_or_else(cut)?;
    let count = u16_at(archive, end + 10).ok_or_else(cut)?;
    let mut at = u32_at(archive, end + 16).ok_or_else(cut)?;
    let mut members = Vec::new();
    for _ in 0..count {
        let entry = archive.get(at..).filter(|entry| entry.starts_with(b"PK\x01\x02")).ok_or_else(cut)?;
        let field = |at| u16_at(entry, at).ok_or_else(cut);
        let number = |at| u32_at(entry, at).ok_or_else(cut);
        let (name, extra, comment) = (field(28)?, field(30)?, field(32)?);
        members.push(Member {
            name: entry.get(46..46 + usize::from(name)).ok_or_else(cut)?,
            flags: field(8)?,
            method: field(10)?,
            crc: u32::try_from(number(16)?).expect("read from 32 bits"),
            packed: number(20)?,
            unpacked: number(24)?,
            at: number(42)?,
        });
        at += 46 + usize::from(name) + usize::from(extra) + usize::from(comment);
    }
    Ok(members)
}

fn unpack(archive: &[u8], member: &Member<'_>, limit: usize) -> Result<Vec<u8>, String> {
    let cut = || "is cut off".to_owned();
    if member.flags & 1 != 0 {
        return Err("is encrypted".into());
    }
    if member.unpacked > limit {
        return Err(format!("has {} bytes, at most {limit} are read", member.unpacked));
    }
    let local = archive.get(member.at..).filter(|local| local.starts_with(b"PK\x03\x04")).ok_or_else(cut)?;
    let (name, extra) = (u16_at(local, 26).ok_or_else(cut)?, u16_at(local, 28).ok_or_else(cut)?);
    let start = 30 + usize::from(name) + usize::from(extra);
    let packed = local.get(start..).and_then(|data| data.get(..member.packed)).ok_or_else(cut)?;
    let unpacked = match member.method {
        0 => packed.to_vec(),
        8 => {
            decompress_to_vec_with_limit(packed, member.unpacked).map_err(|problem| match problem.status {
                TINFLStatus::HasMoreOutput => {
                    format!("unpacks to more than the {} bytes it says", member.unpacked)
                }
                _ => "can't be unpacked".to_owned(),
            })?
        }
        method => return Err(format!("is packed by method {method}, which is not known")),
    };
    if unpacked.len() != member.unpacked || crc32(&unpacked) != member.crc {
        return Err("is damaged: its checksum is another".into());
    }
    Ok(unpacked)
}

/// Returns the CRC-32 of a member's contents, as RFC 1952 defines it.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| CRC_TABLE[usize::from(byte ^ crc.to_le_bytes()[0])] ^ (crc >> 8))
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256u32 {
        let mut rest = byte;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { 0xedb8_8320 ^ (rest >> 1) } else { rest >> 1 };
            bit += 1;
        }
        table[byte as usize] = rest;
        byte += 1;
    }
    table
};

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}
