//! Vector arithmetic: exact cosines of a query with every vector, and the sum of a text's token vectors. The
//! only file of this crate with `unsafe`, which calls the same code compiled for newer processors. The
//! portable version is next to it, and a test compares the two.
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
    take: impl FnMut(u32, f32),
) {
    cosines_portable(records, query, take);
}

#[inline(always)]
fn cosines_portable<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    query: &(f32, [i8; DIMS]),
    mut take: impl FnMut(u32, f32),
) {
    let wide: [i16; DIMS] = query.1.map(i16::from);
    for record in records {
        let (head, components) = record.split_at(8);
        let passage = u32::from_le_bytes(head[..4].try_into().expect("four bytes"));
        let scale = f32::from_le_bytes(head[4..].try_into().expect("four bytes"));
        let mut sum = 0i32;
        for (component, weight) in components.iter().zip(&wide) {
            sum += i32::from(i16::from(component.cast_signed()) * weight);
        }
        #[expect(clippy::cast_precision_loss, reason = "below 2^24")]
        take(passage, sum as f32 * scale * query.0);
    }
}

/// Passes `(place, shared)` to `take` for every sketch, in order: the number of signs it shares with the
/// query's sketch.
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
        // SAFETY: the processor supports the features that the function is compiled for.
        return unsafe { best_avx2(row, query) };
    }
    best_portable(row, query)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn best_avx2(row: &[u8], query: &(f32, Vec<i8>)) -> Option<f32> {
    best_portable(row, query)
}

#[inline(always)]
fn best_portable(row: &[u8], (query_scale, query): &(f32, Vec<i8>)) -> Option<f32> {
    let size = 4 + query.len();
    if row.is_empty() || !row.len().is_multiple_of(size) {
        return None;
    }
    let cosine = |record: &[u8]| {
        let (scale, components) = record.split_at(4);
        let scale = f32::from_le_bytes(scale.try_into().expect("four bytes"));
        let mut sum = 0i32;
        for (component, weight) in components.iter().zip(query) {
            sum += i32::from(i16::from(component.cast_signed()) * i16::from(*weight));
        }
        #[expect(clippy::cast_precision_loss, reason = "some thousand products of bytes")]
        let cosine = sum as f32 * scale * query_scale;
        cosine
    };
    row.chunks_exact(size).map(cosine).reduce(f32::max)
}

/// A row of the model, and its weight.
pub(crate) type Weighted<'a> = (f32, &'a [u8; DIMS]);

/// Adds up rows of the model in order, each multiplied by its weight.
pub(crate) fn sum<'a>(rows: impl Iterator<Item = Weighted<'a>>) -> [f32; DIMS] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor supports the features that the function is compiled for.
        return unsafe { sum_avx2(rows) };
    }
    sum_portable(rows)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2<'a>(rows: impl Iterator<Item = Weighted<'a>>) -> [f32; DIMS] {
    sum_portable(rows)
}

#[inline(always)]
fn sum_portable<'a>(rows: impl Iterator<Item = Weighted<'a>>) -> [f32; DIMS] {
    let mut sums = [0.0; DIMS];
    for (weight, row) in rows {
        for (sum, component) in sums.iter_mut().zip(row) {
            *sum += weight * f32::from(component.cast_signed());
        }
    }
    sums
}

#[cfg(test)]
mod tests {
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
            // The same vector twice, each with its scale.
            let row = [&record[4..], &record[4..]].concat();
            assert_eq!(best(&row, &query).map(f32::to_bits), best_portable(&row, &query).map(f32::to_bits));
            assert!(best(&row, &query).is_some() && best(&row[1..], &query).is_none());
        }
        let rows: Vec<(f32, [u8; DIMS])> =
            (0..50).map(|_| (f32::from(next()) / 7.0, std::array::from_fn(|_| next()))).collect();
        let rows = || rows.iter().map(|(weight, row)| (*weight, row));
        assert_eq!(sum(rows()).map(f32::to_bits), sum_portable(rows()).map(f32::to_bits));
    }
}
