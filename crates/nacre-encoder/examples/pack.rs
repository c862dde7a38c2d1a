//! Writes a model file: `pack WEIGHTS VOCABULARY SAMPLE LAYERS JUDGE_LAYERS FILE`. `training/README.md` says what it is given.
#![expect(clippy::disallowed_methods, reason = "a tool that reads and writes files")]

use nacre_encoder::{Encoder, Safetensors, Shape, pack};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [weights, vocabulary, sample, layers, judge_layers, file] = arguments.as_slice() else {
        return Err("pack WEIGHTS VOCABULARY SAMPLE LAYERS JUDGE_LAYERS FILE".into());
    };
    let weights = std::fs::read(weights)?;
    let [vocabulary, sample] = [vocabulary, sample].map(std::fs::read_to_string);
    let (layers, judge_layers) = (layers.parse()?, judge_layers.parse()?);
    let shape = Shape { layers, judge_layers, ..Shape::MINILM };
    let source = blake3::hash(&weights).into();
    let packed = pack(&Safetensors::read(&weights)?, &vocabulary?, &sample?, shape, source)?;
    std::fs::write(file, &packed)?;
    Encoder::from_bytes(packed)?;
    Ok(())
}
