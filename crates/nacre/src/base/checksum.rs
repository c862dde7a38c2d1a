//! CRC-32, the sum that zip and gzip have of what they packed (RFC 1952).

/// Returns the sum.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = Crc32::default();
    sum.add(bytes);
    sum.sum()
}

/// A sum that is made piece by piece.
#[derive(Default)]
pub(crate) struct Crc32(u32);

impl Crc32 {
    pub(crate) fn sum(&self) -> u32 {
        self.0
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0 = !bytes
            .iter()
            .fold(!self.0, |crc, byte| TABLE[usize::from(byte ^ crc.to_le_bytes()[0])] ^ (crc >> 8));
    }
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256u32 {
        let (mut rest, mut bit) = (byte, 0);
        while bit < 8 {
            rest = if rest & 1 == 1 { 0xedb8_8320 ^ (rest >> 1) } else { rest >> 1 };
            bit += 1;
        }
        table[byte as usize] = rest;
        byte += 1;
    }
    table
};
