//! The encoder's inner loops, compiled for several kinds of processors. The only file of this crate with `unsafe`: it loads vectors
//! from slices of known length, and calls functions compiled for newer processors. Each has a portable twin, and a test checks that
//! both give the same bits.
//!
//! Weights have 4 bits and activations 8, so a product is a sum of whole numbers, which is the same in any order. Every 32 weights have a scale, and so have every 32 activations.
#![allow(unsafe_code)]

use crate::float::{self, LANES, ROUND};

/// The number of weights, or activations, that share a scale.
pub(crate) const GROUP: usize = 32;

/// Bytes of a block: 32 weights of each of 16 outputs, with the 16 scales (f16) before them.
///
/// The weights are in four lines of 64 bytes. The low halves of line `i` are the weights `8i` to `8i + 3` of the 16 outputs, four
/// after four, the high halves `8i + 4` to `8i + 7`. 8 is added to each, so that none is negative.
pub(crate) const BLOCK: usize = 2 * LANES + GROUP * LANES / 2;

/// The offset of a stored 4-bit weight.
pub(crate) const MIDDLE: u8 = 8;

/// Outputs of a block.
pub(crate) const OUTPUTS: usize = LANES;

/// A matrix of 4-bit weights: for every 16 outputs, a block for every 32 inputs.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub(super) blocks: &'a [[u8; BLOCK]],
    /// A number for each output that is added to it.
    pub(super) bias: &'a [f32],
}

/// Rows of activations in 8 bits.
#[derive(Default)]
pub(crate) struct RoundedRows {
    /// Between -127 and 127, in two's complement.
    codes: Vec<[u8; GROUP]>,
    scales: Vec<f32>,
    /// The correction for the weights' offset in a product with the codes: -8 times their sum.
    middles: Vec<i32>,
    /// Groups of a row.
    groups: usize,
}

/// A kind of processor whose instructions this machine has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Processor(Kind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Vnni,
}

impl Processor {
    /// Returns the fastest kind for this processor.
    pub(crate) fn here() -> Processor {
        *Processor::all().last().expect("the portable one is always there")
    }

    /// Returns all kinds that this processor supports, the fastest last.
    pub(super) fn all() -> &'static [Processor] {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            static ALL: [Processor; 3] =
                [Processor(Kind::Portable), Processor(Kind::Avx2), Processor(Kind::Vnni)];
            let avx2 = has!("avx2") && has!("f16c");
            let vnni = avx2 && has!("avx512f") && has!("avx512bw") && has!("avx512vnni");
            &ALL[..1 + usize::from(avx2) + usize::from(vnni)]
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            &[Processor(Kind::Portable)]
        }
    }
}

/// Defines a method of `Processor` from a function that is compiled for each kind.
macro_rules! compiled {
    ($(#[$doc:meta])* $name:ident = $portable:path, $vnni:path, $avx2:path, ($($argument:ident: $type:ty),*)) => {
        impl Processor {
            $(#[$doc])*
            pub(crate) fn $name(self, $($argument: $type),*) {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,f16c")]
                    fn vnni($($argument: $type),*) {
                        $vnni($($argument),*);
                    }
                    #[target_feature(enable = "avx2,f16c")]
                    fn avx2($($argument: $type),*) {
                        $avx2($($argument),*);
                    }
                    match self.0 {
                        Kind::Portable => {}
                        // SAFETY: `Processor::all` returns these only if the processor has the instructions.
                        Kind::Vnni => return unsafe { vnni($($argument),*) },
                        Kind::Avx2 => return unsafe { avx2($($argument),*) },
                    }
                }
                $portable($($argument),*);
            }
        }
    };
    ($(#[$doc:meta])* $name:ident = $portable:path, ($($argument:ident: $type:ty),*)) => {
        compiled! { $(#[$doc])* $name = $portable, $portable, $portable, ($($argument: $type),*) }
    };
}

compiled! {
    /// See [`float::add_and_norm`].
    add_and_norm = float::add_and_norm, (rows: &mut [f32], added: &[f32], gain: &[f32], bias: &[f32])
}
compiled! {
    /// See [`float::gelu`].
    gelu = float::gelu, (values: &mut [f32])
}
compiled! {
    /// See [`float::attend`].
    attend = float::attend, (rows: &[f32], dims: usize, room: &mut Vec<f32>, out: &mut [f32])
}
compiled! {
    /// See [`float::multiply_plain`].
    multiply_plain = float::multiply_plain, (rows: &[f32], weights: &[f32], inputs: usize, out: &mut [f32])
}
compiled! {
    /// Rounds rows of `width` activations to 8 bits.
    round = round, (rows: &[f32], width: usize, rounded: &mut RoundedRows)
}
compiled! {
    /// Multiplies every row by a matrix and adds its bias: `out` gets a row of outputs for each.
    multiply = multiply, x86::multiply_vnni, x86::multiply_avx2, (rows: &RoundedRows, matrix: Matrix<'_>, out: &mut [f32])
}

#[inline(always)]
fn round(rows: &[f32], width: usize, rounded: &mut RoundedRows) {
    let (groups, _) = rows.as_chunks::<GROUP>();
    rounded.groups = width / GROUP;
    rounded.codes.resize(groups.len(), [0; GROUP]);
    rounded.scales.resize(groups.len(), 0.0);
    rounded.middles.resize(groups.len(), 0);
    let places = rounded.codes.iter_mut().zip(&mut rounded.scales).zip(&mut rounded.middles);
    for (values, ((codes, scale), middle)) in groups.iter().zip(places) {
        let mut largest = [0.0; LANES];
        for half in values.as_chunks::<LANES>().0 {
            for (largest, value) in largest.iter_mut().zip(half) {
                let value = value.abs();
                *largest = if value > *largest { value } else { *largest };
            }
        }
        // A group that is too small to divide by becomes zeros.
        let mut most = f32::MIN_POSITIVE;
        for largest in largest {
            most = if largest > most { largest } else { most };
        }
        let largest = most.min(f32::MAX);
        *scale = largest / 127.0;
        let inverse = 127.0 / largest;
        let mut sum = 0;
        for (code, value) in codes.iter_mut().zip(values) {
            // The largest may be slightly above; a value that is not a number has to become one.
            let near = value * inverse;
            let near = if near < 127.0 { near } else { 127.0 };
            let near = if near > -127.0 { near } else { -127.0 };
            #[expect(clippy::cast_possible_truncation, reason = "within -127 and 127")]
            let whole = ((near + ROUND).to_bits().cast_signed() - ROUND.to_bits().cast_signed()) as i8;
            *code = whole.cast_unsigned();
            sum += i32::from(whole);
        }
        *middle = -i32::from(MIDDLE) * sum;
    }
}

/// Rows that are multiplied together, so that unpacking a block pays off.
const BATCH_ROWS: usize = 16;

/// The unpacked weights of a block: for each of the 16 outputs, those of the 32 inputs, without the offset.
type Weights = [[i16; GROUP]; OUTPUTS];

#[inline(always)]
fn multiply(rows: &RoundedRows, matrix: Matrix<'_>, out: &mut [f32]) {
    let (groups, width) = (rows.groups, matrix.bias.len());
    let count = rows.codes.len() / groups;
    for (output, blocks) in matrix.blocks.chunks_exact(groups).enumerate() {
        let bias =
            *matrix.bias[output * OUTPUTS..].first_chunk::<OUTPUTS>().expect("a number for each output");
        for first in (0..count).step_by(BATCH_ROWS) {
            let together = BATCH_ROWS.min(count - first);
            let mut sums = [bias; BATCH_ROWS];
            for (group, block) in blocks.iter().enumerate() {
                let (scales, weights) = unpack(block);
                for (row, sums) in (first..first + together).zip(&mut sums) {
                    let at = row * groups + group;
                    let mut codes = [0; GROUP];
                    for (code, byte) in codes.iter_mut().zip(&rows.codes[at]) {
                        *code = i16::from(byte.cast_signed());
                    }
                    let scale = rows.scales[at];
                    for ((sum, weights), weights_scale) in sums.iter_mut().zip(&weights).zip(&scales) {
                        #[expect(clippy::cast_precision_loss, reason = "below 2^16")]
                        let dot = dot(weights, &codes) as f32;
                        *sum += dot * (weights_scale * scale);
                    }
                }
            }
            for (row, sums) in (first..first + together).zip(&sums) {
                out[row * width + output * OUTPUTS..][..OUTPUTS].copy_from_slice(sums);
            }
        }
    }
}

/// Returns the sum of products. It is a separate function because the compiler would otherwise vectorize over the outputs instead
/// of the inputs, which is five times slower.
#[inline(never)]
fn dot(weights: &[i16; GROUP], codes: &[i16; GROUP]) -> i32 {
    weights.iter().zip(codes).map(|(weight, code)| i32::from(*weight) * i32::from(*code)).sum()
}

/// Returns a block's scales and weights.
#[inline(always)]
fn unpack(block: &[u8; BLOCK]) -> ([f32; OUTPUTS], Weights) {
    let (halves, lines) = block.split_at(2 * OUTPUTS);
    let (mut scales, mut weights) = ([0.0; OUTPUTS], [[0; GROUP]; OUTPUTS]);
    for (scale, half) in scales.iter_mut().zip(halves.as_chunks().0) {
        *scale = from_f16(u16::from_le_bytes(*half));
    }
    for (number, line) in lines.chunks_exact(4 * OUTPUTS).enumerate() {
        for (weights, four) in weights.iter_mut().zip(line.as_chunks::<4>().0) {
            for (input, byte) in four.iter().enumerate() {
                weights[8 * number + input] = i16::from(byte & 15) - i16::from(MIDDLE);
                weights[8 * number + 4 + input] = i16::from(byte >> 4) - i16::from(MIDDLE);
            }
        }
    }
    (scales, weights)
}

/// Converts an f16 to an f32.
#[inline(always)]
pub(crate) fn from_f16(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let rest = u32::from(half & 0x7fff) << 13;
    // The exponent's bias changes from that of five bits to that of eight. Infinity stays infinite, and subnormal numbers are
    // normalized by multiplying.
    let magnitude = if rest >= 0x0f80_0000 {
        rest + 0x7000_0000
    } else {
        (f32::from_bits(rest) * f32::from_bits(0x7780_0000)).to_bits()
    };
    f32::from_bits(sign | magnitude)
}

/// Converts an f32 to the nearest f16; it must not be too large for one.
pub(crate) fn to_f16(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16) & 0x8000;
    let shrunk = value.abs() * f32::from_bits(0x0780_0000);
    let bits = shrunk.to_bits();
    // Half of the cut-off part is added, minus one bit if that would round an even number up.
    let rounded = (bits + 0x0fff + ((bits >> 13) & 1)) >> 13;
    #[expect(clippy::cast_possible_truncation, reason = "cut to 15 bits and the sign")]
    let half = (sign | rounded.min(0x7c00)) as u16;
    half
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{BLOCK, GROUP, MIDDLE, Matrix, OUTPUTS, RoundedRows};

    /// Rows multiplied together: their sums and the eight vectors of weights fill the registers.
    const BATCH_ROWS_VNNI: usize = 8;
    const BATCH_ROWS_AVX2: usize = 4;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn multiply_vnni(rows: &RoundedRows, matrix: Matrix<'_>, out: &mut [f32]) {
        let count = rows.codes.len() / rows.groups;
        for (output, blocks) in matrix.blocks.chunks_exact(rows.groups).enumerate() {
            let mut row = 0;
            while row < count {
                row += match count - row {
                    BATCH_ROWS_VNNI.. => some_vnni::<BATCH_ROWS_VNNI>(rows, matrix, blocks, output, row, out),
                    4.. => some_vnni::<4>(rows, matrix, blocks, output, row, out),
                    2.. => some_vnni::<2>(rows, matrix, blocks, output, row, out),
                    _ => some_vnni::<1>(rows, matrix, blocks, output, row, out),
                };
            }
        }
    }

    /// Multiplies `ROWS` rows from `row` on by the blocks of one output; returns `ROWS`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn some_vnni<const ROWS: usize>(
        rows: &RoundedRows,
        matrix: Matrix<'_>,
        blocks: &[[u8; BLOCK]],
        output: usize,
        row: usize,
        out: &mut [f32],
    ) -> usize {
        let bias = &matrix.bias[output * OUTPUTS..][..OUTPUTS];
        let low = _mm512_set1_epi8(15);
        let groups = rows.groups;
        let (codes, scales, middles) = (
            &rows.codes[row * groups..][..ROWS * groups],
            &rows.scales[row * groups..][..ROWS * groups],
            &rows.middles[row * groups..][..ROWS * groups],
        );
        // SAFETY: 16 numbers of 4 bytes are read from a slice of 16.
        let mut sums = [unsafe { _mm512_loadu_ps(bias.as_ptr()) }; ROWS];
        for (group, block) in blocks.iter().enumerate() {
            let mut weights = [low; 8];
            for line in 0..4 {
                // SAFETY: the four lines of 64 bytes follow the scales, up to the end of the block.
                let both = unsafe { _mm512_loadu_si512(block.as_ptr().add(2 * OUTPUTS + 64 * line).cast()) };
                weights[2 * line] = _mm512_and_si512(both, low);
                weights[2 * line + 1] = _mm512_and_si512(_mm512_srli_epi16::<4>(both), low);
            }
            // SAFETY: the block begins with 16 scales of 2 bytes.
            let scale = _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(block.as_ptr().cast()) });
            for (next, sum) in sums.iter_mut().enumerate() {
                let at = next * groups + group;
                let mut dots = _mm512_set1_epi32(middles[at]);
                let (fours, _) = codes[at].as_chunks::<4>();
                for (weights, four) in weights.iter().zip(fours) {
                    let four = _mm512_set1_epi32(i32::from_le_bytes(*four));
                    dots = _mm512_dpbusd_epi32(dots, *weights, four);
                }
                let scale = _mm512_mul_ps(scale, _mm512_set1_ps(scales[at]));
                *sum = _mm512_add_ps(*sum, _mm512_mul_ps(_mm512_cvtepi32_ps(dots), scale));
            }
        }
        for (next, sum) in sums.iter().enumerate() {
            let out = &mut out[(row + next) * matrix.bias.len() + output * OUTPUTS..][..OUTPUTS];
            // SAFETY: 16 numbers of 4 bytes are written to a slice of 16.
            unsafe { _mm512_storeu_ps(out.as_mut_ptr(), *sum) };
        }
        ROWS
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    pub(super) fn multiply_avx2(rows: &RoundedRows, matrix: Matrix<'_>, out: &mut [f32]) {
        let count = rows.codes.len() / rows.groups;
        for (output, blocks) in matrix.blocks.chunks_exact(rows.groups).enumerate() {
            let mut row = 0;
            while row < count {
                row += match count - row {
                    BATCH_ROWS_AVX2.. => some_avx2::<BATCH_ROWS_AVX2>(rows, matrix, blocks, output, row, out),
                    2.. => some_avx2::<2>(rows, matrix, blocks, output, row, out),
                    _ => some_avx2::<1>(rows, matrix, blocks, output, row, out),
                };
            }
        }
    }

    /// Multiplies `ROWS` rows from `row` on by the blocks of one output, eight lanes at a time; returns `ROWS`.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn some_avx2<const ROWS: usize>(
        rows: &RoundedRows,
        matrix: Matrix<'_>,
        blocks: &[[u8; BLOCK]],
        output: usize,
        row: usize,
        out: &mut [f32],
    ) -> usize {
        const HALF: usize = OUTPUTS / 2;
        // A sum of 32 products fits 16 bits, so it is widened only once a group.
        const { assert!(GROUP / 2 * (2 * MIDDLE as usize - 1) * 127 <= i16::MAX.unsigned_abs() as usize) };
        let (low, ones) = (_mm256_set1_epi8(15), _mm256_set1_epi16(1));
        let groups = rows.groups;
        let (codes, scales, middles) = (
            &rows.codes[row * groups..][..ROWS * groups],
            &rows.scales[row * groups..][..ROWS * groups],
            &rows.middles[row * groups..][..ROWS * groups],
        );
        for half in 0..2 {
            let first = output * OUTPUTS + half * HALF;
            let bias = &matrix.bias[first..][..HALF];
            // SAFETY: 8 numbers of 4 bytes are read from a slice of 8.
            let mut sums = [unsafe { _mm256_loadu_ps(bias.as_ptr()) }; ROWS];
            for (group, block) in blocks.iter().enumerate() {
                let mut weights = [low; 8];
                for line in 0..4 {
                    let at = 2 * OUTPUTS + 64 * line + 32 * half;
                    // SAFETY: the four lines of 64 bytes follow the scales, up to the end of the block.
                    let both = unsafe { _mm256_loadu_si256(block.as_ptr().add(at).cast()) };
                    weights[2 * line] = _mm256_and_si256(both, low);
                    weights[2 * line + 1] = _mm256_and_si256(_mm256_srli_epi16::<4>(both), low);
                }
                // SAFETY: the block begins with 16 scales of 2 bytes.
                let scale =
                    _mm256_cvtph_ps(unsafe { _mm_loadu_si128(block.as_ptr().add(2 * HALF * half).cast()) });
                for (next, sum) in sums.iter_mut().enumerate() {
                    let at = next * groups + group;
                    let mut dots = _mm256_setzero_si256();
                    let (fours, _) = codes[at].as_chunks::<4>();
                    for (weights, four) in weights.iter().zip(fours) {
                        let four = _mm256_set1_epi32(i32::from_le_bytes(*four));
                        dots = _mm256_add_epi16(dots, _mm256_maddubs_epi16(*weights, four));
                    }
                    let dots =
                        _mm256_add_epi32(_mm256_madd_epi16(dots, ones), _mm256_set1_epi32(middles[at]));
                    let scale = _mm256_mul_ps(scale, _mm256_set1_ps(scales[at]));
                    *sum = _mm256_add_ps(*sum, _mm256_mul_ps(_mm256_cvtepi32_ps(dots), scale));
                }
            }
            for (next, sum) in sums.iter().enumerate() {
                let out = &mut out[(row + next) * matrix.bias.len() + first..][..HALF];
                // SAFETY: 8 numbers of 4 bytes are written to a slice of 8.
                unsafe { _mm256_storeu_ps(out.as_mut_ptr(), *sum) };
            }
        }
        ROWS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without order, the same every time.
    fn noise(seed: u32) -> impl FnMut() -> u32 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "24 bits")]
    fn floats(seed: u32, count: usize) -> Vec<f32> {
        let mut next = noise(seed);
        (0..count).map(|_| next() as f32 / 2f32.powi(22) - 2.0).collect()
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    /// Runs the same on every kind of processor that this one is, and returns what came out of the portable.
    fn same_everywhere(run: impl Fn(Processor) -> Vec<f32>) -> Vec<f32> {
        let portable = run(Processor(Kind::Portable));
        for &processor in Processor::all() {
            assert_eq!(bits(&run(processor)), bits(&portable), "{processor:?}");
        }
        portable
    }

    #[test]
    fn every_processor_path_gives_the_same() {
        let (dims, inner) = (64, 96);
        let mut next = noise(1);
        let blocks: Vec<[u8; BLOCK]> = (0..inner / OUTPUTS * dims / GROUP)
            .map(|_| {
                std::array::from_fn(|at| match at {
                    // Scales of every size, without end and not a number among them too.
                    at if at < 2 * OUTPUTS && at % 2 == 1 => next().to_le_bytes()[0] & 0xbf,
                    _ => next().to_le_bytes()[0],
                })
            })
            .collect();
        let bias = floats(2, inner);
        for tokens in 1..=27 {
            let values = floats(3, tokens * dims);
            same_everywhere(|processor| {
                let (mut rounded, mut out) = (RoundedRows::default(), vec![0.0; tokens * inner]);
                processor.round(&values, dims, &mut rounded);
                processor.multiply(&rounded, Matrix { blocks: &blocks, bias: &bias }, &mut out);
                processor.gelu(&mut out);
                out
            });
            let rows = floats(4, tokens * 3 * dims);
            same_everywhere(|processor| {
                let mut out = vec![0.0; tokens * dims];
                processor.attend(&rows, dims, &mut Vec::new(), &mut out);
                processor.add_and_norm(&mut out, &values, &bias[..dims], &bias[..dims]);
                out
            });
            same_everywhere(|processor| {
                let mut out = vec![0.0; tokens * 3];
                processor.multiply_plain(&values, &rows[..3 * dims], dims, &mut out);
                out
            });
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        for (byte, value) in [(0xff, 127.0), (0xff, -127.0), (0x00, 127.0), (0x00, -127.0), (0x88, 127.0)] {
            let mut block = [byte; BLOCK];
            block[..2 * OUTPUTS].copy_from_slice(&[to_f16(1.0).to_le_bytes(); OUTPUTS].concat());
            let weight = f32::from(byte & 15) - 8.0;
            let found = same_everywhere(|processor| {
                let (mut rounded, mut out) = (RoundedRows::default(), vec![0.0; OUTPUTS]);
                processor.round(&[value; GROUP], GROUP, &mut rounded);
                processor.multiply(&rounded, Matrix { blocks: &[block], bias: &[0.0; OUTPUTS] }, &mut out);
                out
            });
            assert_eq!(found, [32.0 * weight * value; OUTPUTS]);
        }
    }

    #[test]
    fn a_product_is_that_of_the_weights() {
        let (dims, outputs, mut next) = (96, 32, noise(5));
        let blocks: Vec<[u8; BLOCK]> = (0..outputs / OUTPUTS * dims / GROUP)
            .map(|_| {
                let mut block: [u8; BLOCK] = std::array::from_fn(|_| next().to_le_bytes()[0]);
                block[..2 * OUTPUTS].copy_from_slice(&[to_f16(0.25).to_le_bytes(); OUTPUTS].concat());
                block
            })
            .collect();
        // Whole numbers up to 127 are kept as they are.
        let row: Vec<f32> =
            (0..dims)
                .map(|at| {
                    if at % GROUP == 0 { 127.0 } else { f32::from(next().to_le_bytes()[0].cast_signed() / 2) }
                })
                .collect();
        let (mut rounded, mut out) = (RoundedRows::default(), vec![0.0; outputs]);
        Processor::here().round(&row, dims, &mut rounded);
        Processor::here().multiply(&rounded, Matrix { blocks: &blocks, bias: &[0.5; 32] }, &mut out);
        for (output, found) in out.iter().enumerate() {
            let products = row.iter().enumerate().map(|(input, value)| {
                let block = &blocks[output / OUTPUTS * dims / GROUP + input / GROUP];
                let input = input % GROUP;
                let byte = block[2 * OUTPUTS + input / 8 * 64 + output % OUTPUTS * 4 + input % 4];
                let weight = if input % 8 < 4 { byte & 15 } else { byte >> 4 };
                (f32::from(weight) - 8.0) * 0.25 * value
            });
            assert_eq!(*found, products.sum::<f32>() + 0.5, "{output}");
        }
    }

    #[test]
    fn the_largest_of_a_group_is_kept() {
        let mut next = noise(6);
        for _ in 0..1000 {
            #[expect(clippy::cast_precision_loss, reason = "24 bits")]
            let values: [f32; GROUP] = std::array::from_fn(|_| next() as f32 / 1e6 - 8.0);
            let mut rounded = RoundedRows::default();
            Processor::here().round(&values, GROUP, &mut rounded);
            for (code, value) in rounded.codes[0].iter().zip(values) {
                let back = f32::from(code.cast_signed()) * rounded.scales[0];
                assert!((back - value).abs() < 0.501 * rounded.scales[0], "{value} became {back}");
            }
        }
    }

    #[test]
    fn what_is_not_a_number_is_rounded_to_one() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-45, 0.0] {
            let mut rounded = RoundedRows::default();
            Processor::here().round(&[value; GROUP], GROUP, &mut rounded);
            assert!(rounded.codes[0].iter().all(|code| *code != 0x80), "{value}");
            assert!(rounded.scales[0].is_finite());
        }
    }

    #[test]
    fn halves_are_read_and_written() {
        for half in 0..=u16::MAX {
            let value = from_f16(half);
            let exponent = (half >> 10) & 31;
            if exponent == 31 {
                assert!(!value.is_finite(), "{half:04x}");
                continue;
            }
            let fraction = f64::from(half & 1023) / 1024.0;
            let right = match exponent {
                0 => fraction * 2f64.powi(-14),
                _ => (1.0 + fraction) * 2f64.powi(i32::from(exponent) - 15),
            };
            assert_eq!(f64::from(value.abs()), right, "{half:04x}");
            assert_eq!(to_f16(value), half);
        }
        for (value, half) in
            [(1.0 + 2f32.powi(-11), 0x3c00), (1.0 + 3.0 * 2f32.powi(-11), 0x3c02), (1e9, 0x7c00)]
        {
            assert_eq!(to_f16(value), half, "{value}");
        }
    }
}
