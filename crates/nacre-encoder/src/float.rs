//! The encoder's floating-point operations: layer norm, GELU, attention; and a plain product, to make the model file.
//!
//! Sums are `LANES` partial sums in a fixed order, and nothing is fused, so that the compiler can use any vector instructions and
//! the result is the same to the last bit. `kernel` compiles these functions for newer processors. Therefore all of them are
//! inlined and none uses closures, which would be compiled separately, for old processors.

/// The number of partial sums.
pub(super) const LANES: usize = 16;

/// Components of an attention head.
pub(super) const HEAD: usize = 32;

/// Attention queries that are processed together, so that their sums do not wait for each other.
const BATCH_QUERIES: usize = 4;

/// Adds `rows` to `added` and normalizes each row to mean 0 and standard deviation 1, times `gain`, plus `bias`.
#[inline(always)]
pub(super) fn add_and_norm(rows: &mut [f32], added: &[f32], gain: &[f32], bias: &[f32]) {
    let width = gain.len();
    for (row, added) in rows.chunks_exact_mut(width).zip(added.chunks_exact(width)) {
        for (value, added) in row.iter_mut().zip(added) {
            *value += added;
        }
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let count = width as f32;
        let mean = sum(row) / count;
        let mut squares = [0.0; LANES];
        for chunk in row.as_chunks::<LANES>().0 {
            for (square, value) in squares.iter_mut().zip(chunk) {
                *square += (value - mean) * (value - mean);
            }
        }
        let spread = (sum(&squares) / count + 1e-12).sqrt();
        for ((value, gain), bias) in row.iter_mut().zip(gain).zip(bias) {
            *value = (*value - mean) / spread * gain + bias;
        }
    }
}

/// Replaces every value by its GELU, `x Φ(x)`, within 3e-7 of the exact one.
#[inline(always)]
pub(super) fn gelu(values: &mut [f32]) {
    for value in values {
        // Abramowitz and Stegun 7.1.26: the share of a normal distribution beyond |x|.
        let x = *value;
        let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
        let t = 1.0 / (1.0 + 0.327_591_1 * z);
        let series =
            ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6) * t;
        let beyond = 0.5 * series * exp(-z * z);
        *value = if x < 0.0 { x * beyond } else { x - x * beyond };
    }
}

/// Attention among the tokens of one text. `rows` has the query, the key and the value of each token, `dims` components each;
/// `out` gets the weighted values.
#[inline(always)]
pub(super) fn attend(rows: &[f32], dims: usize, room: &mut Vec<f32>, out: &mut [f32]) {
    let tokens = out.len() / dims;
    let wide = tokens.next_multiple_of(LANES);
    room.clear();
    room.resize((HEAD + BATCH_QUERIES) * wide, 0.0);
    let (keys, scores) = room.split_at_mut(HEAD * wide);
    #[expect(clippy::cast_precision_loss, reason = "it is 32")]
    let scale = 1.0 / (HEAD as f32).sqrt();
    for head in (0..dims).step_by(HEAD) {
        // The keys are transposed, so that neighbours in memory are the same component of many tokens.
        for (token, row) in rows.chunks_exact(3 * dims).enumerate() {
            for (component, key) in row[dims + head..][..HEAD].iter().enumerate() {
                keys[component * wide + token] = *key;
            }
        }
        for first in (0..tokens).step_by(BATCH_QUERIES) {
            // Past the end, the last one is computed again.
            let mut asking = [first; BATCH_QUERIES];
            let mut queries = [&rows[..HEAD]; BATCH_QUERIES];
            for (next, (asking, query)) in asking.iter_mut().zip(&mut queries).enumerate() {
                *asking = (first + next).min(tokens - 1);
                *query = &rows[*asking * 3 * dims + head..][..HEAD];
            }
            for at in (0..wide).step_by(LANES) {
                let mut sums = [[0.0; LANES]; BATCH_QUERIES];
                for component in 0..HEAD {
                    let keys = &keys[component * wide + at..][..LANES];
                    for (sums, query) in sums.iter_mut().zip(&queries) {
                        let query = query[component];
                        for (sum, key) in sums.iter_mut().zip(keys) {
                            *sum += query * key;
                        }
                    }
                }
                for (scores, sums) in scores.chunks_exact_mut(wide).zip(&sums) {
                    scores[at..][..LANES].copy_from_slice(sums);
                }
            }
            let mut shares = [0.0; BATCH_QUERIES];
            for (share, scores) in shares.iter_mut().zip(scores.chunks_exact_mut(wide)) {
                *share = 1.0 / soften(scores, tokens, scale);
            }
            let mut seen = [[0.0; HEAD]; BATCH_QUERIES];
            for (token, row) in rows.chunks_exact(3 * dims).enumerate() {
                let values = &row[2 * dims + head..][..HEAD];
                for (seen, scores) in seen.iter_mut().zip(scores.chunks_exact(wide)) {
                    let score = scores[token];
                    for (seen, value) in seen.iter_mut().zip(values) {
                        *seen += score * value;
                    }
                }
            }
            for ((token, seen), share) in asking.into_iter().zip(&seen).zip(shares) {
                for (out, seen) in out[token * dims + head..][..HEAD].iter_mut().zip(seen) {
                    *out = seen * share;
                }
            }
        }
    }
}

/// Multiplies every row by a matrix of f32 weights with a row for each output: `out` gets a row of outputs for each. The number of
/// inputs is a multiple of `LANES`.
#[inline(always)]
pub(super) fn multiply_plain(rows: &[f32], weights: &[f32], inputs: usize, out: &mut [f32]) {
    let outputs = weights.len() / inputs;
    let count = rows.len() / inputs;
    for first in (0..count).step_by(BATCH_QUERIES) {
        // Past the end, the last one is computed again.
        let mut together = [first; BATCH_QUERIES];
        let mut rows_here = [&rows[..inputs]; BATCH_QUERIES];
        for (next, (row, here)) in together.iter_mut().zip(&mut rows_here).enumerate() {
            *row = (first + next).min(count - 1);
            *here = &rows[*row * inputs..][..inputs];
        }
        for (output, weights) in weights.chunks_exact(inputs).enumerate() {
            let mut sums = [[0.0; LANES]; BATCH_QUERIES];
            for at in (0..inputs).step_by(LANES) {
                let weights = &weights[at..][..LANES];
                for (sums, row) in sums.iter_mut().zip(&rows_here) {
                    let row = &row[at..][..LANES];
                    for ((sum, value), weight) in sums.iter_mut().zip(row).zip(weights) {
                        *sum += value * weight;
                    }
                }
            }
            for (row, sums) in together.into_iter().zip(&sums) {
                out[row * outputs + output] = sum(sums);
            }
        }
    }
}

/// Replaces the first scores by their exponentials, and returns the sum, by which they still have to be divided.
#[inline(always)]
fn soften(scores: &mut [f32], tokens: usize, scale: f32) -> f32 {
    // The values after the tokens belong to no text.
    scores[tokens..].fill(f32::MIN);
    let mut largest = [f32::MIN; LANES];
    for chunk in scores.chunks_exact(LANES) {
        for (largest, score) in largest.iter_mut().zip(chunk) {
            *largest = if *score > *largest { *score } else { *largest };
        }
    }
    let largest = largest.into_iter().fold(f32::MIN, f32::max);
    for score in scores.iter_mut() {
        *score = exp((*score - largest) * scale);
    }
    scores[tokens..].fill(0.0);
    sum(scores)
}

/// Returns the sum of values, whose number is a multiple of `LANES`.
#[inline(always)]
fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    for chunk in values.as_chunks::<LANES>().0 {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    // By halves, as vector registers are added up.
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Added to a number and subtracted again, it leaves the nearest whole number, which is also in the low bits of the sum.
pub(crate) const ROUND: f32 = 12_582_912.0;

/// Returns e to the power of a number of at most 88, within 2e-7. Numbers below -87 count as -87.
#[inline(always)]
#[expect(clippy::excessive_precision, reason = "the two together are ln 2 with more digits than one holds")]
fn exp(x: f32) -> f32 {
    let x = if x > -87.0 { x } else { -87.0 };
    // e^x is 2^n e^r, with n whole and r small.
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * 0.693_359_375) + n * 2.121_944_4e-4;
    let series = 1.0 / 720.0;
    let series = series * r + 1.0 / 120.0;
    let series = series * r + 1.0 / 24.0;
    let series = series * r + 1.0 / 6.0;
    let series = series * r + 0.5;
    let series = series * r + 1.0;
    let series = series * r + 1.0;
    series * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_right() {
        for step in -8_700..=8_800i16 {
            let x = f32::from(step) / 100.0;
            let (found, right) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((found / right - 1.0).abs() < 3e-7, "{x}: {found} {right}");
        }
        assert!(exp(-1e30) < 1e-37 && exp(f32::MIN) < 1e-37 && exp(f32::NAN) < 1e-37);
    }

    #[test]
    fn gelu_is_right() {
        for (x, right) in [
            (0.0, 0.0),
            (1.0, 0.841_344_7),
            (-1.0, -0.158_655_25),
            (0.25, 0.149_676_58),
            (3.0, 2.995_950_3),
            (-3.0, -0.004_049_693),
            (12.0, 12.0),
            (-12.0, 0.0),
        ] {
            let mut values = [x];
            gelu(&mut values);
            assert!((values[0] - right).abs() < 1e-6, "{x}: {} {right}", values[0]);
        }
    }
}
