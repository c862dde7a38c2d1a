//! Metrics of a ranked answer against the expected hits.

use crate::words::Words;

/// The metrics, in the order of [`Row`]. *any*: one of the right hits is among the first k; *fraction*: the share of the right
/// hits that is.
pub const NAMES: [&str; 8] =
    ["any@1", "any@5", "any@10", "fraction@1", "fraction@5", "fraction@10", "NDCG@10", "MRR"];

/// The metrics of one question.
pub type Row = [f64; NAMES.len()];

/// Scores one answer.
#[expect(clippy::cast_precision_loss, reason = "places and counts are small")]
pub fn measure(ranked: &[&str], right: &[&str]) -> Row {
    let place = |name: &&&str| ranked.iter().position(|found| found == *name);
    let places: Vec<usize> = right.iter().filter_map(|name| place(&name)).collect();
    let within = |k: usize| places.iter().filter(|place| **place < k).count();
    let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let ideal: f64 = (0..right.len().min(10)).map(gain).sum();
    let found: f64 = places.iter().filter(|place| **place < 10).map(|place| gain(*place)).sum();
    let any = |k: usize| f64::from(u8::from(within(k) > 0));
    let fraction = |k: usize| within(k) as f64 / right.len() as f64;
    let first = places.iter().min().map_or(0.0, |place| 1.0 / (*place as f64 + 1.0));
    [any(1), any(5), any(10), fraction(1), fraction(5), fraction(10), found / ideal, first]
}

/// Returns the mean of rows.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub fn mean<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Row {
    let (mut sum, mut count) = ([0.0; NAMES.len()], 0usize);
    for row in rows {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        count += 1;
    }
    sum.map(|sum| sum / count.max(1) as f64)
}

/// Returns by how much the first is better than the second, question by question, and the 95 % interval of a paired bootstrap. If
/// the interval contains 0, no difference is shown.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub fn better(first: &[Row], second: &[Row]) -> [Row; 3] {
    const DRAWS: usize = 2_000;
    let by: Vec<Row> =
        first.iter().zip(second).map(|(a, b)| std::array::from_fn(|at| a[at] - b[at])).collect();
    if by.is_empty() {
        return [[0.0; NAMES.len()]; 3];
    }
    let mut chance = Words::default();
    let mut draw = || &by[usize::try_from(chance.next() >> 33).unwrap_or(0) % by.len()];
    let draws: Vec<Row> = (0..DRAWS)
        .map(|_| {
            let mut sum = [0.0; NAMES.len()];
            (0..by.len()).for_each(|_| sum.iter_mut().zip(draw()).for_each(|(sum, value)| *sum += value));
            sum.map(|sum| sum / by.len() as f64)
        })
        .collect();
    let end = |at: usize, share: usize| {
        let mut values: Vec<f64> = draws.iter().map(|row| row[at]).collect();
        values.sort_by(f64::total_cmp);
        values[DRAWS * share / 1000]
    };
    [mean(&by), std::array::from_fn(|at| end(at, 25)), std::array::from_fn(|at| end(at, 975))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_an_interval() {
        let rows = |value: &dyn Fn(usize) -> f64| (0..200).map(|n| [value(n); 8]).collect::<Vec<Row>>();
        // Better in one of ten questions, of 200: about 0.1, plus or minus two standard errors of 0.021.
        let [by, low, high] = better(&rows(&|n| f64::from(u8::from(n % 10 == 0))), &rows(&|_| 0.0));
        assert!(
            (by[0] - 0.1).abs() < 1e-9 && (0.05..0.07).contains(&low[0]) && (0.13..0.15).contains(&high[0])
        );
        // Equal answers: no difference, however much the questions vary.
        let [by, low, high] = better(&rows(&|n| n as f64), &rows(&|n| n as f64));
        assert_eq!((by[0], low[0], high[0]), (0.0, 0.0, 0.0));
        assert_eq!(better(&[], &[])[0], [0.0; 8]);
    }

    #[test]
    fn measures_are_what_their_names_say() {
        let row = measure(&["x", "a", "y", "b"], &["a", "b", "c"]);
        assert_eq!(row[..6], [0.0, 1.0, 1.0, 0.0, 2.0 / 3.0, 2.0 / 3.0]);
        let (gain, ideal) = (1.0 / 3f64.log2() + 1.0 / 5f64.log2(), 1.0 + 1.0 / 3f64.log2() + 0.5);
        assert!((row[6] - gain / ideal).abs() < 1e-12);
        assert!((row[7] - 0.5).abs() < 1e-12);
        assert_eq!(measure(&[], &["a"]), [0.0; 8]);
    }
}
