//! Gzip (RFC 1952) around the deflate that is in the tree already: what `zcat` reads.
//!
//! A file is packed as one member after another, a megabyte of it each, which is one file to every reader; so
//! packing takes no more memory for a long one.

use std::io::{Error, ErrorKind, Result, Write};

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

use crate::base::checksum::crc32;

/// How much goes into one member.
pub(crate) const MEMBER: usize = 1 << 20;
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// More than this is not unpacked: a small file may pretend to be a huge one.
const MOST: usize = 4 << 30;

/// Writes one member.
pub(crate) fn pack(plain: &[u8], mut to: impl Write) -> Result<()> {
    to.write_all(&HEAD)?;
    to.write_all(&compress_to_vec(plain, 6))?;
    to.write_all(&crc32(plain).to_le_bytes())?;
    #[expect(clippy::cast_possible_truncation, reason = "RFC 1952: modulo 2^32")]
    to.write_all(&(plain.len() as u32).to_le_bytes())
}

/// Reads all members.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let bad = |what: &str| Error::new(ErrorKind::InvalidData, format!("is no gzip that we wrote: {what}"));
    let mut plain = Vec::new();
    let mut rest = packed;
    while !rest.is_empty() {
        // Members of others may have a name and more in their head.
        let head = rest.get(..10).ok_or_else(|| bad("cut in its head"))?;
        if head[..3] != HEAD[..3] || head[3] & !0x1f != 0 {
            return Err(bad("another head"));
        }
        rest = behind_head(&rest[10..], head[3]).ok_or_else(|| bad("cut in its head"))?;
        let start = plain.len();
        let mut state = InflateState::new_boxed(DataFormat::Raw);
        let mut block = vec![0; 1 << 16];
        loop {
            let done = inflate(&mut state, rest, &mut block, MZFlush::None);
            rest = &rest[done.bytes_consumed..];
            plain.extend_from_slice(&block[..done.bytes_written]);
            match done.status {
                Ok(MZStatus::StreamEnd) => break,
                Ok(_) if done.bytes_consumed + done.bytes_written > 0 && plain.len() <= MOST => {}
                _ => return Err(bad("cut or changed")),
            }
        }
        let tail = rest.get(..8).ok_or_else(|| bad("cut at its end"))?;
        let word = |at: usize| u32::from_le_bytes([tail[at], tail[at + 1], tail[at + 2], tail[at + 3]]);
        #[expect(clippy::cast_possible_truncation, reason = "RFC 1952: modulo 2^32")]
        let length = (plain.len() - start) as u32;
        if word(0) != crc32(&plain[start..]) || word(4) != length {
            return Err(bad("its sum is wrong"));
        }
        rest = &rest[8..];
    }
    Ok(plain)
}

fn behind_head(mut rest: &[u8], flags: u8) -> Option<&[u8]> {
    if flags & 4 != 0 {
        let extra = usize::from(u16::from_le_bytes([*rest.first()?, *rest.get(1)?]));
        rest = rest.get(2 + extra..)?;
    }
    for name in [8, 16] {
        if flags & name != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & 2 != 0 { rest.get(2..) } else { Some(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        for plain in [b"".to_vec(), b"hello\n".to_vec(), b"abc def ".repeat(400_000)] {
            let mut packed = Vec::new();
            plain.chunks(MEMBER).for_each(|part| pack(part, &mut packed).unwrap());
            assert_eq!(unpack(&packed).unwrap(), plain);
            for cut in [1, 5, packed.len() / 2, packed.len().saturating_sub(1)] {
                if (1..packed.len()).contains(&cut) {
                    assert!(unpack(&packed[..cut]).is_err(), "{cut} of {}", packed.len());
                }
            }
        }
        // As gzip(1) writes it, with the name of the file in its head.
        let other = [
            31, 139, 8, 8, 0, 0, 0, 0, 0, 3, b'x', 0, 203, 72, 205, 201, 201, 231, 2, 0, 32, 48, 58, 54, 6,
            0, 0, 0,
        ];
        assert_eq!(unpack(&other).unwrap(), b"hello\n");
    }

    #[test]
    fn bytes_of_any_kind_are_no_panic() {
        let mut packed = Vec::new();
        pack(b"some text, some more text, and text again", &mut packed).unwrap();
        for at in 0..packed.len() {
            for change in [1, 0x80, 0xff] {
                let mut other = packed.clone();
                other[at] ^= change;
                if let Ok(plain) = unpack(&other) {
                    assert_eq!(plain, b"some text, some more text, and text again", "byte {at}");
                }
            }
        }
    }
}
