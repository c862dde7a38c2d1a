//! The arithmetic of vectors: exact dot products of a query with every other vector, and the sum of a text's tokens. The
//! only file of this crate with `unsafe`: AVX2 instructions, written out so that they do not depend on what a compiler
//! vectorises when it builds for size. Each has a portable twin, and a test compares the two.
#![allow(unsafe_code)]

/// The dimensions of a vector of the built-in model.
pub(crate) const DIMS: usize = 256;

/// The bytes of a packed vector: its passage, its scale, one byte per component.
pub(crate) const VECTOR_BYTES: usize = 8 + DIMS;

/// A quantised vector: one scale, one byte per component.
pub(crate) type Quantised = (f32, [i8; DIMS]);

/// The signs of a vector's components.
pub(super) type Signs = [u64; DIMS / 64];

/// A vector as it is packed: passage, scale, components.
pub(crate) type Record = [u8; VECTOR_BYTES];

/// Returns the passage of a vector; 0 if the passage was deleted.
pub(crate) fn owner(record: &Record) -> u32 {
    let [a, b, c, d, ..] = *record;
    u32::from_le_bytes([a, b, c, d])
}

/// Passes `(passage, cosine)` to `take` for every vector, in order. `query` is quantised with `scale`.
pub(crate) fn cosines<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    query: &(f32, [i8; DIMS]),
    take: impl FnMut(u32, f32),
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor supports the features that the function is compiled for.
        return unsafe { cosines_avx2(records, query, take) };
    }
    cosines_portable(records, query, take);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn cosines_avx2<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    query: &(f32, [i8; DIMS]),
    mut take: impl FnMut(u32, f32),
) {
    let weights = query.1.map(i16::from);
    for record in records {
        let components = record.last_chunk().expect("a record ends with its components");
        let (passage, cosine) = cosine(record, query.0, dot_record_avx2(components, &weights));
        take(passage, cosine);
    }
}

fn cosines_portable<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    query: &(f32, [i8; DIMS]),
    mut take: impl FnMut(u32, f32),
) {
    let weights = query.1.map(i16::from);
    for record in records {
        let (passage, cosine) = cosine(record, query.0, dot(&record[8..], &weights));
        take(passage, cosine);
    }
}

/// Returns the passage of a record, and its cosine with a query whose dot product with it is known.
#[inline(always)]
fn cosine(record: &Record, query_scale: f32, dot: i32) -> (u32, f32) {
    let scale = f32::from_le_bytes(record[4..8].try_into().expect("four bytes"));
    #[expect(clippy::cast_precision_loss, reason = "below 2^24")]
    (owner(record), dot as f32 * scale * query_scale)
}

/// Multiplies the bytes of a vector with the weights of another and adds the products up.
fn dot(components: &[u8], weights: &[i16]) -> i32 {
    components
        .iter()
        .zip(weights)
        .map(|(component, weight)| i32::from(i16::from(component.cast_signed()) * weight))
        .sum()
}

/// The same, sixteen products at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_avx2(components: &[u8], weights: &[i16]) -> i32 {
    use std::arch::x86_64::*;
    let (bytes, last_bytes) = components.as_chunks::<16>();
    let (words, last_words) = weights.as_chunks::<16>();
    let mut sums = _mm256_setzero_si256();
    for (bytes, words) in bytes.iter().zip(words) {
        // SAFETY: sixteen bytes and sixteen words are read, as long as the arrays are.
        let (bytes, words) =
            unsafe { (_mm_loadu_si128(bytes.as_ptr().cast()), _mm256_loadu_si256(words.as_ptr().cast())) };
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), words));
    }
    let mut eight = [0i32; 8];
    // SAFETY: eight sums of four bytes are written, as long as the array is.
    unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), sums) };
    eight.iter().sum::<i32>() + dot(last_bytes, last_words)
}

/// The same for a vector of the built-in model, thirty-two products at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn dot_record_avx2(components: &[u8; DIMS], weights: &[i16; DIMS]) -> i32 {
    use std::arch::x86_64::*;
    let mut even = _mm256_setzero_si256();
    let mut odd = _mm256_setzero_si256();
    let mut at = 0;
    while at < DIMS {
        // SAFETY: `at` is a multiple of thirty-two below the length of both arrays, of which thirty-two are read.
        let (bytes, words) = unsafe { (components.as_ptr().add(at), weights.as_ptr().add(at)) };
        // SAFETY: as above.
        unsafe {
            let first = _mm256_cvtepi8_epi16(_mm_loadu_si128(bytes.cast()));
            let last = _mm256_cvtepi8_epi16(_mm_loadu_si128(bytes.add(16).cast()));
            even = _mm256_add_epi32(even, _mm256_madd_epi16(first, _mm256_loadu_si256(words.cast())));
            odd = _mm256_add_epi32(odd, _mm256_madd_epi16(last, _mm256_loadu_si256(words.add(16).cast())));
        }
        at += 32;
    }
    let eight = _mm256_add_epi32(even, odd);
    let four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
    let two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<1>(two)))
}

/// Returns the signs of a vector's components, one bit each.
pub(super) fn signs(components: &[u8; DIMS]) -> Signs {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor supports the features that the function is compiled for.
        return unsafe { signs_avx2(components) };
    }
    signs_portable(components)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn signs_avx2(components: &[u8; DIMS]) -> Signs {
    use std::arch::x86_64::*;
    let half = |bytes: &[u8; 32]| {
        // SAFETY: thirty-two bytes are read, as long as the array is.
        let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
        u64::from(_mm256_movemask_epi8(bytes).cast_unsigned())
    };
    let halves = components.as_chunks::<32>().0;
    std::array::from_fn(|at| half(&halves[2 * at]) | half(&halves[2 * at + 1]) << 32)
}

fn signs_portable(components: &[u8; DIMS]) -> Signs {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    // Gathers the highest bits of eight bytes.
    const GATHER: u64 = 0x0002_0408_1020_4081;
    let mut signs = Signs::default();
    for (signs, components) in signs.iter_mut().zip(components.as_chunks::<64>().0) {
        for (at, eight) in components.as_chunks::<8>().0.iter().enumerate() {
            let bits = (u64::from_le_bytes(*eight) & HIGH_BITS).wrapping_mul(GATHER) >> 56;
            *signs |= bits << (8 * at);
        }
    }
    signs
}

/// Gives `(place, shared)` for every sketch, in order: how many signs it shares with the query's.
pub(super) fn shared_signs(sketches: &[Signs], query: &Signs, take: impl FnMut(usize, u16)) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor supports the features that the function is compiled for.
        return unsafe { shared_signs_avx2(sketches, query, take) };
    }
    shared_signs_portable(sketches, query, take);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn shared_signs_avx2(sketches: &[Signs], query: &Signs, take: impl FnMut(usize, u16)) {
    shared_signs_portable(sketches, query, take);
}

#[inline(always)]
fn shared_signs_portable(sketches: &[Signs], query: &Signs, mut take: impl FnMut(usize, u16)) {
    for (place, sketch) in sketches.iter().enumerate() {
        let mut shared = 0;
        for (left, right) in sketch.iter().zip(query) {
            shared += (!(left ^ right)).count_ones();
        }
        #[expect(clippy::cast_possible_truncation, reason = "as many as a vector has components at most")]
        take(place, shared as u16);
    }
}

/// Returns the best cosine of a passage's concatenated vectors (a scale, one byte per component) with the
/// query. Returns `None` if there are none, or if they have another number of components.
pub(crate) fn best(row: &[u8], query: &(f32, Vec<i8>)) -> Option<f32> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        return best_by(row, query, |components, weights| unsafe { dot_avx2(components, weights) });
    }
    best_by(row, query, dot)
}

fn best_by(
    row: &[u8],
    (query_scale, query): &(f32, Vec<i8>),
    dot: impl Fn(&[u8], &[i16]) -> i32,
) -> Option<f32> {
    let size = 4 + query.len();
    if row.is_empty() || !row.len().is_multiple_of(size) {
        return None;
    }
    let weights: Vec<i16> = query.iter().copied().map(i16::from).collect();
    let cosine = |record: &[u8]| {
        let (scale, components) = record.split_at(4);
        let scale = f32::from_le_bytes(scale.try_into().expect("four bytes"));
        #[expect(clippy::cast_precision_loss, reason = "some thousand products of bytes")]
        let cosine = dot(components, &weights) as f32 * scale * query_scale;
        cosine
    };
    row.chunks_exact(size).map(cosine).reduce(f32::max)
}

/// Passes the cosine of each of a row's concatenated vectors (a scale, one byte per component) with a query to `take`, in
/// order.
pub(crate) fn each_cosine(row: &[u8], scale: f32, weights: &[i16], take: impl FnMut(usize, f32)) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        return each_by(row, scale, weights, |one, other| unsafe { dot_avx2(one, other) }, take);
    }
    each_by(row, scale, weights, dot, take);
}

fn each_by(
    row: &[u8],
    query_scale: f32,
    weights: &[i16],
    dot: impl Fn(&[u8], &[i16]) -> i32,
    mut take: impl FnMut(usize, f32),
) {
    for (place, record) in row.chunks_exact(4 + weights.len()).enumerate() {
        let (scale, components) = record.split_at(4);
        let scale = f32::from_le_bytes(scale.try_into().expect("four bytes"));
        #[expect(clippy::cast_precision_loss, reason = "some thousand products of bytes")]
        take(place, dot(components, weights) as f32 * scale * query_scale);
    }
}

/// A row of the model, and its weight.
pub(crate) type Weighted<'a> = (f32, &'a [u8; DIMS]);

/// Adds up rows of the model in order, each multiplied by its weight.
pub(crate) fn sum<'a>(rows: impl Iterator<Item = Weighted<'a>> + Clone) -> [f32; DIMS] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor supports the features that the function is compiled for.
        return unsafe { sum_avx2(&rows) };
    }
    sum_portable(rows)
}

/// Adds up sixty-four components of all rows before the next ones, so that the sums stay in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2<'a>(rows: &(impl Iterator<Item = Weighted<'a>> + Clone)) -> [f32; DIMS] {
    use std::arch::x86_64::*;
    // Eight components, multiplied by the weight and added to their sums. A product is rounded before it is added, as in the
    // portable twin. A macro, because a function is not always inlined when the crate is built for size.
    macro_rules! add {
        ($sums:ident, $weight:ident, $bytes:ident, $at:literal) => {
            // SAFETY: eight of sixty-four bytes are read, of which `at` is the first and at most the 57th.
            let eight = unsafe { _mm_loadl_epi64($bytes.as_ptr().add($at).cast()) };
            let wide = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
            $sums = _mm256_add_ps($sums, _mm256_mul_ps($weight, wide));
        };
    }
    let mut all = [0.0; DIMS];
    for (part, place) in all.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let zero = _mm256_setzero_ps();
        let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
        let (mut e, mut f, mut g, mut h) = (zero, zero, zero, zero);
        for (weight, row) in rows.clone() {
            let weight = _mm256_set1_ps(weight);
            let bytes = &row.as_chunks::<64>().0[part];
            add!(a, weight, bytes, 0);
            add!(b, weight, bytes, 8);
            add!(c, weight, bytes, 16);
            add!(d, weight, bytes, 24);
            add!(e, weight, bytes, 32);
            add!(f, weight, bytes, 40);
            add!(g, weight, bytes, 48);
            add!(h, weight, bytes, 56);
        }
        for (eight, sums) in place.as_chunks_mut::<8>().0.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            // SAFETY: eight sums are written, as long as the array is.
            unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), sums) };
        }
    }
    all
}

fn sum_portable<'a>(rows: impl Iterator<Item = Weighted<'a>>) -> [f32; DIMS] {
    let mut sums = [0.0; DIMS];
    for (weight, row) in rows {
        for (sum, component) in sums.iter_mut().zip(row) {
            *sum += weight * f32::from(component.cast_signed());
        }
    }
    sums
}

/// Quantises a vector: returns its scale and integer components.
pub(crate) fn quantise(vector: &[f32; DIMS]) -> Quantised {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor supports the features that the functions are compiled for.
        return unsafe {
            quantise_by(vector, |one| largest_avx2(one), |one, scale| rounded_avx2(one, scale))
        };
    }
    quantise_by(vector, largest, rounded)
}

#[inline(always)]
fn quantise_by(
    vector: &[f32; DIMS],
    largest: impl Fn(&[f32; DIMS]) -> f32,
    rounded: impl Fn(&[f32; DIMS], f32) -> [i8; DIMS],
) -> Quantised {
    let largest = largest(vector);
    if largest == 0.0 {
        return (0.0, [0; DIMS]);
    }
    let scale = largest / 127.0;
    (scale, rounded(vector, scale))
}

/// Returns the largest absolute value of a component.
fn largest(vector: &[f32; DIMS]) -> f32 {
    vector.iter().fold(0.0, |largest, one| largest.max(one.abs()))
}

/// The same, eight at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn largest_avx2(vector: &[f32; DIMS]) -> f32 {
    use std::arch::x86_64::*;
    let sign = _mm256_set1_ps(-0.0);
    let mut largest = _mm256_setzero_ps();
    for components in vector.as_chunks::<8>().0 {
        // SAFETY: eight components are read, as long as the array is.
        let components = unsafe { _mm256_loadu_ps(components.as_ptr()) };
        largest = _mm256_max_ps(largest, _mm256_andnot_ps(sign, components));
    }
    let mut eight = [0.0f32; 8];
    // SAFETY: eight components are written, as long as the array is.
    unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), largest) };
    eight.into_iter().fold(0.0, f32::max)
}

/// Divides by the scale and rounds. The quotients are between -127 and 127 by the choice of scale.
fn rounded(vector: &[f32; DIMS], scale: f32) -> [i8; DIMS] {
    let mut whole = [0; DIMS];
    whole.iter_mut().zip(vector).for_each(|(whole, component)| *whole = nearest(component / scale));
    whole
}

/// The same, thirty-two components at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rounded_avx2(vector: &[f32; DIMS], scale: f32) -> [i8; DIMS] {
    use std::arch::x86_64::*;
    let half = _mm256_set1_ps(0.5);
    let minus_half = _mm256_set1_ps(-0.5);
    // Eight components as `nearest` rounds them. A comparison that holds is -1.
    macro_rules! eight {
        ($components:ident, $at:literal, $scale:ident) => {{
            // SAFETY: eight of thirty-two components are read, of which `at` is the first and at most the 25th.
            let number = unsafe { _mm256_loadu_ps($components.as_ptr().add($at)) };
            let number = _mm256_div_ps(number, $scale);
            let whole = _mm256_cvttps_epi32(number);
            let rest = _mm256_sub_ps(number, _mm256_cvtepi32_ps(whole));
            let up = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(rest, half));
            let down = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LE_OQ>(rest, minus_half));
            _mm256_add_epi32(_mm256_sub_epi32(whole, up), down)
        }};
    }
    let mut whole = [0; DIMS];
    let scale = _mm256_set1_ps(scale);
    // Packing interleaves the halves of the registers; this is their order.
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (whole, components) in whole.as_chunks_mut::<32>().0.iter_mut().zip(vector.as_chunks::<32>().0) {
        let first = _mm256_packs_epi32(eight!(components, 0, scale), eight!(components, 8, scale));
        let last = _mm256_packs_epi32(eight!(components, 16, scale), eight!(components, 24, scale));
        let packed = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(first, last), order);
        // SAFETY: thirty-two bytes are written, as long as the array is.
        unsafe { _mm256_storeu_si256(whole.as_mut_ptr().cast(), packed) };
    }
    whole
}

/// Rounds as `f32::round` does. On older processors that is a function call for each component.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "within -127 and 127 by the choice of scale"
)]
fn nearest(number: f32) -> i8 {
    let whole = number as i32;
    let rest = number - whole as f32;
    (whole + i32::from(rest >= 0.5) - i32::from(rest <= -0.5)) as i8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_processor_path_gives_the_same() {
        let mut seed = 7u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_le_bytes()[3]
        };
        let records: Vec<Record> = (0..500u32)
            .map(|id| {
                let mut record = [0; VECTOR_BYTES];
                record[..4].copy_from_slice(&id.to_le_bytes());
                record[4..8].copy_from_slice(&0.01f32.to_le_bytes());
                record[8..].iter_mut().for_each(|byte| *byte = next());
                record
            })
            .collect();
        let query = (0.02, std::array::from_fn(|_| next().cast_signed()));
        let (mut quick, mut portable) = (Vec::new(), Vec::new());
        cosines(&records, &query, |passage, cosine| quick.push((passage, cosine.to_bits())));
        cosines_portable(&records, &query, |passage, cosine| portable.push((passage, cosine.to_bits())));
        assert_eq!(quick, portable);
        let sketches: Vec<Signs> = (0..500)
            .map(|_| std::array::from_fn(|_| u64::from_le_bytes(std::array::from_fn(|_| next()))))
            .collect();
        let (mut quick, mut portable) = (Vec::new(), Vec::new());
        shared_signs(&sketches, &sketches[7], |place, shared| quick.push((place, shared)));
        shared_signs_portable(&sketches, &sketches[7], |place, shared| portable.push((place, shared)));
        assert_eq!((&quick, quick[7].1), (&portable, 256));
        let query = (0.02, query.1.to_vec());
        for record in &records {
            let components = record[8..].try_into().unwrap();
            assert_eq!(signs(components), signs_portable(components));
            // The same vector twice, each with its scale.
            let row = [&record[4..], &record[4..]].concat();
            assert_eq!(best(&row, &query).map(f32::to_bits), best_by(&row, &query, dot).map(f32::to_bits));
            assert!(best(&row, &query).is_some() && best(&row[1..], &query).is_none());
        }
        let rows: Vec<(f32, [u8; DIMS])> =
            (0..50).map(|_| (f32::from(next()) / 7.0, std::array::from_fn(|_| next()))).collect();
        let rows = || rows.iter().map(|(weight, row)| (*weight, row));
        let sums = sum(rows());
        assert_eq!(sums.map(f32::to_bits), sum_portable(rows()).map(f32::to_bits));
        for scale in [1.0, 0.3, 1e-3] {
            let mut vector = sums.map(|component| component * scale);
            // Halves are rounded away from zero on both sides.
            let largest = vector.iter().fold(0.0f32, |largest, one| largest.max(one.abs()));
            for (place, half) in [-0.5f32, 0.5, 1.5, -1.5, 2.5, -2.5, 126.5, -126.5].iter().enumerate() {
                vector[place] = half * (largest / 127.0);
            }
            assert_eq!(quantise(&vector), quantise_by(&vector, self::largest, rounded));
        }
    }

    proptest! {
        #[test]
        fn the_nearest_is_that_of_the_library(number in -126.9f32..126.9) {
            for number in [number, number.trunc() + 0.5, (number.trunc() + 0.5).next_down(), number.trunc()] {
                prop_assert_eq!(f32::from(nearest(number)), number.round());
            }
        }
    }
}
