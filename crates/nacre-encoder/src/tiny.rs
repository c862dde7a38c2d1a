//! A tiny model for tests: weights of random numbers, and a vocabulary of 48 tokens.

use std::collections::BTreeMap;

use serde_json::json;

use nacre_encoder::Shape;

pub(crate) const TINY: Shape =
    Shape { dims: 64, layers: 2, judge_layers: 0, inner: 128, places: 40, tokens: 48 };

/// Pseudorandom numbers, the same every time.
pub(crate) struct Noise(u32);

impl Noise {
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % limit
    }

    #[expect(clippy::cast_precision_loss, reason = "24 bits")]
    pub(crate) fn float(&mut self) -> f32 {
        self.below(1 << 24) as f32 / 2f32.powi(23) - 1.0
    }

    /// Weights that fit into 4 bits: whole steps of a group's scale, the largest of them -8.
    #[expect(clippy::cast_precision_loss, reason = "4 bits")]
    pub(crate) fn steps(&mut self, count: usize) -> Vec<f32> {
        let mut weights = Vec::new();
        for _ in 0..count / 32 {
            let scale = 2f32.powi(-5 - self.below(2) as i32);
            let largest = self.below(32);
            weights.extend((0..32).map(|at| {
                let step = if at == largest { -8.0 } else { self.below(15) as f32 - 7.0 };
                step * scale
            }));
        }
        weights
    }
}

/// The tensors of a model by name, with their shapes.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

pub(crate) fn tensors(shape: Shape, mut weights: impl FnMut(&mut Noise, usize) -> Vec<f32>) -> Tensors {
    let (dims, inner) = (shape.dims, shape.inner);
    let mut noise = Noise(11);
    let mut tensors = Tensors::new();
    let mut add = |name: String, sizes: &[usize]| {
        let count: usize = sizes.iter().product();
        let values = match sizes {
            [_] if name.ends_with("LayerNorm.weight") => {
                (0..count).map(|_| 1.0 + 0.3 * noise.float()).collect()
            }
            [_] => (0..count).map(|_| 0.2 * noise.float()).collect(),
            _ => weights(&mut noise, count),
        };
        tensors.insert(name, (sizes.to_vec(), values));
    };
    add("embeddings.word_embeddings.weight".into(), &[shape.tokens, dims]);
    add("embeddings.position_embeddings.weight".into(), &[512, dims]);
    add("embeddings.token_type_embeddings.weight".into(), &[2, dims]);
    let mut both = |name: String, sizes: &[usize]| {
        add(format!("{name}.weight"), sizes);
        add(format!("{name}.bias"), &sizes[..1]);
    };
    both("embeddings.LayerNorm".into(), &[dims]);
    let layers = (0..shape.layers).map(|layer| format!("encoder.layer.{layer}"));
    let judge = (0..shape.judge_layers).map(|layer| format!("judge.layer.{layer}"));
    for layer in layers.chain(judge) {
        let name = |part: &str| format!("{layer}.{part}");
        for part in ["query", "key", "value"] {
            both(name(&format!("attention.self.{part}")), &[dims, dims]);
        }
        both(name("attention.output.dense"), &[dims, dims]);
        both(name("attention.output.LayerNorm"), &[dims]);
        both(name("intermediate.dense"), &[inner, dims]);
        both(name("output.dense"), &[dims, inner]);
        both(name("output.LayerNorm"), &[dims]);
    }
    if shape.judge_layers > 0 {
        both("judge.heads".into(), &[nacre_encoder::HEADS, dims]);
    }
    tensors
}

pub(crate) fn safetensors(tensors: &Tensors) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    header.insert("__metadata__".into(), json!({ "format": "pt" }));
    for (name, (shape, values)) in tensors {
        let start = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header.insert(
            name.clone(),
            json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()] }),
        );
    }
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}

pub(crate) fn vocabulary() -> String {
    let marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "dog", "the", "##s", "."];
    let more = (marks.len()..TINY.tokens).map(|number| format!("w{number}"));
    marks.map(String::from).into_iter().chain(more).map(|name| name + "\n").collect()
}
