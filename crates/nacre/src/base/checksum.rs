//! CRC-32, the checksum that a zip archive has of each file.

/// Returns the checksum.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
