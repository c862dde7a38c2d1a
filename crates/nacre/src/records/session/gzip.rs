//! Packs transcripts as gzip files, which `zcat` can read.
//!
//! A file is a sequence of gzip members, each with one megabyte of text, so that packing a long transcript
//! needs little memory. Every gzip reader treats the members as one file.

use std::io::{Error, ErrorKind, Read as _, Result, Write};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

/// The amount of text in one member.
pub(crate) const MEMBER_BYTES: usize = 1 << 20;
/// The maximum unpacked size. A small file can unpack to a huge one.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;

/// Writes one member.
pub(crate) fn pack(plain: &[u8], to: impl Write) -> Result<()> {
    let mut encoder = GzEncoder::new(to, Compression::new(6));
    encoder.write_all(plain)?;
    encoder.finish()?.flush()
}

/// Unpacks all members.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let bad =
        |problem: &str| Error::new(ErrorKind::InvalidData, format!("is not a valid gzip file: {problem}"));
    let mut plain = Vec::new();
    // A transcript without lines has no member.
    if packed.is_empty() {
        return Ok(plain);
    }
    let mut members = MultiGzDecoder::new(packed).take(MAX_UNPACKED_BYTES + 1);
    members.read_to_end(&mut plain).map_err(|problem| bad(&problem.to_string()))?;
    if plain.len() as u64 > MAX_UNPACKED_BYTES {
        return Err(bad("it unpacks to more than 4 GiB"));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_files_unpack_to_the_original() {
        for plain in [b"".to_vec(), b"hello\n".to_vec(), b"abc def ".repeat(400_000)] {
            let mut packed = Vec::new();
            plain.chunks(MEMBER_BYTES).for_each(|part| pack(part, &mut packed).unwrap());
            assert_eq!(unpack(&packed).unwrap(), plain);
            for cut in [1, 5, packed.len() / 2, packed.len().saturating_sub(1)] {
                if (1..packed.len()).contains(&cut) {
                    assert!(unpack(&packed[..cut]).is_err(), "{cut} of {}", packed.len());
                }
            }
        }
        // As gzip(1) writes it, with a file name in its header.
        let other = [
            31, 139, 8, 8, 0, 0, 0, 0, 0, 3, b'x', 0, 203, 72, 205, 201, 201, 231, 2, 0, 32, 48, 58, 54, 6,
            0, 0, 0,
        ];
        assert_eq!(unpack(&other).unwrap(), b"hello\n");
    }

    /// Two members as an earlier version of Nacre wrote them, without a crate.
    #[test]
    fn files_of_the_earlier_packer_are_read() {
        let packed = [
            31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 133, 200, 49, 9, 0, 0, 8, 4, 192, 221, 24, 31, 195, 62, 130,
            131, 224, 242, 131, 240, 216, 221, 8, 174, 39, 48, 134, 112, 100, 84, 53, 214, 244, 194, 1, 155,
            40, 116, 3, 51, 0, 0, 0, 31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 171, 86, 42, 73, 173, 40, 81, 178,
            82, 42, 207, 47, 202, 73, 81, 170, 229, 2, 0, 157, 62, 7, 242, 17, 0, 0, 0,
        ];
        let plain = "{\"text\":\"hello\"}\n".repeat(3) + "{\"text\":\"world\"}\n";
        assert_eq!(unpack(&packed).unwrap(), plain.as_bytes());
        // Data after the last member is an error.
        assert!(unpack(&[&packed[..], b"more"].concat()).is_err());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic() {
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
