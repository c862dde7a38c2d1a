//! Rounds a matrix to 4 bits with the least change of its outputs, in the manner of GPTQ: inputs are rounded one after the other,
//! and the inputs that are not rounded yet compensate for the loss, as far as they are correlated on sample texts.
//!
//! Compared with plain rounding, the vectors lose a third as much.

use crate::float::ROUND;
use crate::kernel::{GROUP, MIDDLE, Processor, from_f16, to_f16};

/// 32 weights in 4 bits.
#[derive(Clone, Copy)]
pub(super) struct Group {
    /// As f16.
    pub(super) scale: u16,
    /// 0 to 15, where 8 means 0.
    pub(super) codes: [u8; GROUP],
}

/// Inputs that compensate for each other. More would gain little, and the cost grows with the cube.
const SPAN: usize = 384;

/// The share of the mean square that is added to every square, so that the fit does not rely too much on few texts.
const DAMP: f64 = 0.05;

/// Statistics of a matrix's inputs that rounding needs.
pub(super) struct InputStatistics {
    spans: Vec<Span>,
    means: Vec<f32>,
}

/// For some inputs, row by row: the weight of an input's loss (its own component), and by how much the others change to compensate.
/// It is the triangle U where UᵀU is the inverse of the inputs' products.
struct Span {
    size: usize,
    rows: Vec<f32>,
}

impl InputStatistics {
    /// Computes the statistics of rows of `width` inputs.
    pub(super) fn of(rows: &[f32], width: usize) -> InputStatistics {
        let count = rows.len() / width;
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let share = 1.0 / count as f32;
        let mut means = vec![0.0; width];
        for row in rows.chunks_exact(width) {
            means.iter_mut().zip(row).for_each(|(mean, value)| *mean += value * share);
        }
        let spans = (0..width)
            .step_by(SPAN)
            .map(|first| {
                let size = SPAN.min(width - first);
                // A row for each input, padded to the length that the product needs.
                let long = count.next_multiple_of(GROUP);
                let mut turned = vec![0.0; size * long];
                for (at, row) in rows.chunks_exact(width).enumerate() {
                    for (input, value) in row[first..][..size].iter().enumerate() {
                        turned[input * long + at] = *value;
                    }
                }
                let mut products = vec![0.0; size * size];
                Processor::here().multiply_plain(&turned, &turned, long, &mut products);
                Span { size, rows: inverse_root(&products, size) }
            })
            .collect();
        InputStatistics { spans, means }
    }
}

/// Returns the upper triangle U where UᵀU is the inverse of a damped matrix of products.
fn inverse_root(products: &[f32], size: usize) -> Vec<f32> {
    let diagonal: f64 = (0..size).map(|at| f64::from(products[at * size + at])).sum();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let added = (DAMP * diagonal / size as f64).max(1e-9);
    let dot = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(l, r)| l * r).sum::<f64>();
    // The products are R Rᵀ, with R an upper triangle, from the last column on.
    let mut root = vec![0.0; size * size];
    for column in (0..size).rev() {
        for row in (0..=column).rev() {
            let (right, left) =
                (&root[column * size + column + 1..][..size - column - 1], &root[row * size + column + 1..]);
            let rest = f64::from(products[row * size + column]) - dot(left, right);
            root[row * size + column] = if row == column {
                (rest + added).max(added).sqrt()
            } else {
                rest / root[column * size + column]
            };
        }
    }
    // U is the inverse of R; it is computed transposed, a row for each of its columns.
    let mut turned = vec![0.0; size * size];
    for column in 0..size {
        turned[column * size + column] = 1.0 / root[column * size + column];
        for row in (0..column).rev() {
            let sum = dot(&root[row * size + row + 1..][..column - row], &turned[column * size + row + 1..]);
            turned[column * size + row] = -sum / root[row * size + row];
        }
    }
    let mut rows = vec![0.0; size * size];
    for row in 0..size {
        for column in row..size {
            #[expect(clippy::cast_possible_truncation, reason = "more is not needed from here on")]
            let value = turned[column * size + row] as f32;
            rows[row * size + column] = value;
        }
    }
    rows
}

/// Rounds the weights of one output. Also returns the correction of its bias that keeps the mean of its output.
pub(super) fn row(weights: &[f32], given: &InputStatistics) -> (Vec<Group>, f32) {
    let mut groups = Vec::with_capacity(weights.len() / GROUP);
    let mut left = weights.to_vec();
    for (span, left) in given.spans.iter().zip(left.chunks_mut(SPAN)) {
        for first in (0..span.size).step_by(GROUP) {
            let weigh = std::array::from_fn(|at| {
                let own = span.rows[(first + at) * (span.size + 1)];
                1.0 / (own * own)
            });
            let scale = best_scale(left[first..].first_chunk().expect("whole groups"), &weigh);
            let step = from_f16(scale);
            let mut codes = [MIDDLE; GROUP];
            for (input, code) in (first..).zip(&mut codes) {
                let [rounded] = nearest(&[left[input]], step);
                *code = as_code(rounded);
                let others = &span.rows[input * span.size + input..][..span.size - input];
                let lost = (left[input] - rounded * step) / others[0];
                left[input] = rounded * step;
                for (weight, other) in left[input..].iter_mut().zip(others).skip(1) {
                    *weight -= lost * other;
                }
            }
            groups.push(Group { scale, codes });
        }
    }
    let lost = weights.iter().zip(&left).map(|(weight, rounded)| weight - rounded);
    let shift = lost.zip(&given.means).map(|(lost, mean)| lost * mean).sum();
    (groups, shift)
}

/// Rounds 32 weights that all count the same.
pub(super) fn plain(weights: &[f32; GROUP]) -> Group {
    let scale = best_scale(weights, &[1.0; GROUP]);
    Group { scale, codes: nearest(weights, from_f16(scale)).map(as_code) }
}

/// Returns the f16 scale with the least rounding loss. The largest weight is mapped to different steps, on both sides, and the best
/// scale for the resulting codes is computed.
fn best_scale(weights: &[f32; GROUP], weigh: &[f32; GROUP]) -> u16 {
    let largest =
        weights.iter().fold(0.0, |largest: f32, w| if w.abs() > largest.abs() { *w } else { largest });
    let mut best = (f32::INFINITY, 0);
    for steps in STEPS {
        let codes = nearest(weights, largest / steps);
        let (mut with_codes, mut of_codes) = (0.0, 0.0);
        for ((weight, code), weigh) in weights.iter().zip(codes).zip(weigh) {
            with_codes += weigh * weight * code;
            of_codes += weigh * code * code;
        }
        let scale = to_f16(if of_codes > 0.0 { with_codes / of_codes } else { 0.0 });
        let step = from_f16(scale);
        let codes = nearest(weights, step);
        let mut lost = 0.0;
        for ((weight, code), weigh) in weights.iter().zip(codes).zip(weigh) {
            let off = weight - step * code;
            lost += weigh * off * off;
        }
        if lost < best.0 {
            best = (lost, scale);
        }
    }
    best.1
}

/// The numbers of steps that are tried for the largest weight.
const STEPS: [f32; 16] =
    [-9.0, -8.5, -8.0, -7.5, -7.0, -6.5, -6.0, -5.5, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0];

/// Returns the nearest whole numbers of steps, within 4 bits.
fn nearest<const N: usize>(weights: &[f32; N], step: f32) -> [f32; N] {
    let inverse = if step == 0.0 { 0.0 } else { 1.0 / step };
    let middle = f32::from(MIDDLE);
    weights.map(|weight| (weight * inverse).clamp(-middle, middle - 1.0) + ROUND - ROUND)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 and 15")]
fn as_code(rounded: f32) -> u8 {
    (rounded + f32::from(MIDDLE)) as u8
}
