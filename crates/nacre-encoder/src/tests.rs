//! A tiny model of the same format, compared with a plain implementation; and invalid files of every kind.

use proptest::prelude::*;
use serde_json::json;

use crate::encoder::{Header, seal};
use crate::tiny::{Noise, TINY, Tensors, safetensors, tensors, vocabulary};
use crate::{Encoder, HEADS, Safetensors, Shape, pack};

const FIRST: &str = "embeddings.word_embeddings.weight";

fn packed(tensors: &Tensors) -> Vec<u8> {
    pack_tiny(&safetensors(tensors), &vocabulary()).unwrap()
}

fn pack_tiny(weights: &[u8], vocabulary: &str) -> Result<Vec<u8>, String> {
    pack(&Safetensors::read(weights)?, vocabulary, &TEXTS.join("\n"), TINY, [7; 32])
}

/// A tiny model, made once.
fn tiny() -> Vec<u8> {
    static FILE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    FILE.get_or_init(|| packed(&tensors(TINY, Noise::steps))).clone()
}

/// The forward pass as in the papers, one number after the other.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn plain(tensors: &Tensors, shape: Shape, tokens: &[u32]) -> Vec<f64> {
    let get = |name: &str| tensors[name].1.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
    let linear = |rows: &[Vec<f64>], name: &str| {
        let (weights, bias) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
        let output = |row: &Vec<f64>, output: usize| {
            let weights = &weights[output * row.len()..][..row.len()];
            bias[output] + row.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>()
        };
        rows.iter().map(|row| (0..bias.len()).map(|at| output(row, at)).collect()).collect::<Vec<Vec<f64>>>()
    };
    let add_and_norm = |rows: &mut Vec<Vec<f64>>, added: &[Vec<f64>], name: &str| {
        let (gain, bias) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
        for (row, added) in rows.iter_mut().zip(added) {
            row.iter_mut().zip(added).for_each(|(value, added)| *value += added);
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let spread =
                (row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / row.len() as f64).sqrt();
            row.iter_mut()
                .zip(gain.iter().zip(&bias))
                .for_each(|(v, (gain, bias))| *v = (*v - mean) / spread * gain + bias);
        }
    };
    let row = |name: &str, at: usize| get(name)[at * shape.dims..][..shape.dims].to_vec();
    let mut rows: Vec<_> =
        tokens.iter().map(|t| row("embeddings.word_embeddings.weight", *t as usize)).collect();
    let kind = row("embeddings.token_type_embeddings.weight", 0);
    let place =
        |at| row("embeddings.position_embeddings.weight", at).iter().zip(&kind).map(|(p, k)| p + k).collect();
    let places: Vec<Vec<f64>> = (0..tokens.len()).map(place).collect();
    add_and_norm(&mut rows, &places, "embeddings.LayerNorm");
    for layer in 0..shape.layers {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let [query, key, value] =
            ["query", "key", "value"].map(|part| linear(&rows, &name(&format!("attention.self.{part}"))));
        let mut seen = vec![vec![0.0; shape.dims]; rows.len()];
        for head in (0..shape.dims).step_by(32) {
            for (query, seen) in query.iter().zip(&mut seen) {
                let score = |key: &Vec<f64>| {
                    (0..32).map(|at| query[head + at] * key[head + at]).sum::<f64>() / 32f64.sqrt()
                };
                let shares: Vec<f64> = key.iter().map(|key| score(key).exp()).collect();
                let all: f64 = shares.iter().sum();
                for (share, value) in shares.iter().zip(&value) {
                    (0..32).for_each(|at| seen[head + at] += share / all * value[head + at]);
                }
            }
        }
        add_and_norm(
            &mut rows,
            &linear(&seen, &name("attention.output.dense")),
            &name("attention.output.LayerNorm"),
        );
        let mut wide = linear(&rows, &name("intermediate.dense"));
        wide.iter_mut().flatten().for_each(|x| *x *= normal_share(*x));
        add_and_norm(&mut rows, &linear(&wide, &name("output.dense")), &name("output.LayerNorm"));
    }
    let mut vector = vec![0.0; shape.dims];
    rows.iter().for_each(|row| vector.iter_mut().zip(row).for_each(|(sum, value)| *sum += value));
    let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    vector.iter().map(|value| value / length).collect()
}

/// The normal distribution function, by adding up small steps.
fn normal_share(x: f64) -> f64 {
    let steps = 2_000;
    let width = x / f64::from(steps);
    let density = |at: f64| (-at * at / 2.0).exp() / std::f64::consts::TAU.sqrt();
    0.5 + (0..steps).map(|step| density((f64::from(step) + 0.5) * width) * width).sum::<f64>()
}

fn vector(model: &Encoder, text: &str) -> Vec<f32> {
    model.encode(&[model.tokens(text, |_| true)]).remove(0)
}

fn cosine(left: &[f32], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| f64::from(*left) * right).sum()
}

const TEXTS: [&str; 5] = [
    "",
    "dog",
    "the dogs w9 w10 w11.",
    "w20 w21 w22 the w23 w24 dog dog zebra",
    "the w40 w41 w42 w43 w44 w45 w46 w47 . w8 w9",
];

#[test]
fn the_encoder_agrees_with_a_plain_one() {
    let tensors = tensors(TINY, Noise::steps);
    let model = Encoder::from_bytes(tiny()).unwrap();
    assert_eq!((model.dims(), model.header().shape), (64, TINY));
    assert!(model.version().starts_with("minilm-1-"));
    let alone: Vec<Vec<f32>> = TEXTS.map(|text| vector(&model, text)).into();
    for (text, vector) in TEXTS.iter().zip(&alone) {
        let right = plain(&tensors, TINY, &model.tokens(text, |_| true));
        let likeness = cosine(vector, &right);
        assert!(likeness > 0.9995, "{text:?}: {likeness}");
    }
    // A batch gives the same vectors to the last bit, whatever else is in it.
    let many: Vec<&str> = TEXTS.iter().copied().cycle().take(100).collect();
    let many: Vec<_> = many.iter().map(|text| model.tokens(text, |_| true)).collect();
    for (vector, right) in model.encode(&many).iter().zip(alone.iter().cycle()) {
        assert_eq!(vector, right);
    }
    // A word of weight 0 is left out.
    assert_eq!(model.tokens("the dogs zebra", |word| word != "zebra"), model.tokens("the dogs", |_| true));
}

#[test]
fn rounding_keeps_what_the_model_says() {
    let tensors = tensors(TINY, |noise, count| (0..count).map(|_| 0.2 * noise.float()).collect());
    let model = Encoder::from_bytes(packed(&tensors)).unwrap();
    for text in TEXTS {
        let tokens = model.tokens(text, |_| true);
        let likeness =
            cosine(&model.encode(std::slice::from_ref(&tokens))[0], &plain(&tensors, TINY, &tokens));
        assert!(likeness > 0.98, "{text:?}: {likeness}");
    }
}

#[test]
fn a_pair_is_judged_by_the_second_stack() {
    let shape = Shape { judge_layers: 1, ..TINY };
    let weights = safetensors(&tensors(shape, Noise::steps));
    let read = Safetensors::read(&weights).unwrap();
    let file = pack(&read, &vocabulary(), "dog\nthe dogs\tw9 dog", shape, [7; 32]).unwrap();
    assert_eq!(file.len(), tiny().len() + shape.file_bytes(0) - TINY.file_bytes(0));
    let model = Encoder::from_bytes(file).unwrap();
    assert_eq!(vector(&model, "the dogs"), vector(&Encoder::from_bytes(tiny()).unwrap(), "the dogs"));
    let pair = model.pair_tokens("the dog", "dogs");
    assert_eq!(pair.len(), 1 + 2 + 1 + 2 + 1);
    let [one, other]: [[f32; HEADS]; 2] =
        model.judge(&[pair, model.pair_tokens("dogs", "the dog")]).try_into().unwrap();
    assert!(one.iter().all(|value| value.is_finite()) && one != other);
}

#[test]
fn the_file_is_as_long_as_its_header_says() {
    let file = tiny();
    let header = Header::read(&file).unwrap();
    assert_eq!(header.source, [7; 32]);
    assert_eq!(TINY.file_bytes(header.names), file.len());
    // The real model's vocabulary has 201 KB.
    assert!((12_500_000..13_500_000).contains(&Shape::MINILM.file_bytes(200_986)));
}

#[test]
fn a_damaged_file_is_refused() {
    let file = tiny();
    let check = |file: Vec<u8>, says: &str| {
        let problem = Encoder::from_bytes(file).err().unwrap_or_default();
        assert!(problem.contains(says), "{problem} / {says}");
    };
    check(vec![], "does not begin");
    check(b"NACREMLM".to_vec(), "within its header");
    check(file[..100].to_vec(), "within its header");
    check(file[..file.len() - 1].to_vec(), "its header needs");
    check([&file[..], b"x"].concat(), "its header needs");
    let with = |at: usize, bytes: &[u8]| {
        let mut file = file.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    check(with(8, &2u32.to_le_bytes()), "format 2");
    for number in 1..7 {
        check(with(8 + 4 * number, &u32::MAX.to_le_bytes()), "impossible shape");
        check(
            with(8 + 4 * number, &0u32.to_le_bytes()),
            if number == 6 { "header needs" } else { "impossible shape" },
        );
    }
    check(with(5000, &[file[5000] ^ 1]), "checksum");
    check(with(50, &[0]), "checksum");
    // Tokens without a row, and no special tokens, with a correct checksum.
    let names = Header::read(&file).unwrap().names;
    let order = file.len() - names - 4 * TINY.tokens;
    let mut lost = with(order + 4 * 20, &9999u32.to_le_bytes());
    seal(&mut lost);
    check(lost, "no row");
    let mut unmarked = with(file.len() - names, &vec![b'x'; names]);
    seal(&mut unmarked);
    check(unmarked, "[CLS]");
}

#[test]
fn weights_of_another_form_are_refused() {
    let all = tensors(TINY, Noise::steps);
    let check = |change: &dyn Fn(&mut Tensors), says: &str| {
        let mut tensors = all.clone();
        change(&mut tensors);
        let problem = pack_tiny(&safetensors(&tensors), &vocabulary());
        assert!(problem.as_ref().is_err_and(|problem| problem.contains(says)), "{problem:?} / {says}");
    };
    check(
        &|tensors| drop(tensors.remove("encoder.layer.1.output.dense.bias")),
        "no tensor `encoder.layer.1.output.dense.bias`",
    );
    check(&|tensors| tensors.get_mut(FIRST).unwrap().0 = vec![47, 64], "in shape [47, 64]");
    check(&|tensors| tensors.get_mut(FIRST).unwrap().1.truncate(99), "bytes for");
    check(&|tensors| tensors.get_mut(FIRST).unwrap().1[5] = f32::NAN, "can't be weights");
    check(&|tensors| tensors.get_mut(FIRST).unwrap().1[5] = 1e30, "can't be weights");
    let header = |header: &str, length: u64| [&length.to_le_bytes()[..], header.as_bytes()].concat();
    let huge =
        json!({ FIRST: { "dtype": "F32", "shape": [48, 64], "data_offsets": [0, u64::MAX] } }).to_string();
    let turned = json!({ FIRST: { "dtype": "F32", "shape": [48, 64], "data_offsets": [9, 3] } }).to_string();
    let halves = json!({ FIRST: { "dtype": "F16", "shape": [48, 64], "data_offsets": [0, 0] } }).to_string();
    for (file, says) in [
        (vec![], "too short"),
        (header("{}", u64::MAX), "longer than the file"),
        (header("{}", 3), "longer than the file"),
        (header("{]", 2), "not a JSON object"),
        (header("[]", 2), "not a JSON object"),
        (header("{}", 2), "no tensor"),
        (header(&"[".repeat(5000), 5000), "not a JSON object"),
        (header(&huge, huge.len() as u64), "ends before"),
        (header(&turned, turned.len() as u64), "ends before"),
        (header(&halves, halves.len() as u64), "only F32"),
    ] {
        let problem = Safetensors::read(&file).and_then(|read| read.tensor(FIRST, &[48, 64]));
        assert!(problem.as_ref().is_err_and(|problem| problem.contains(says)), "{problem:?} / {says}");
    }
    let names = |names: &str| pack_tiny(&safetensors(&all), names).unwrap_err();
    assert!(names("[CLS]\n[SEP]\n[UNK]\n").contains("3 tokens"));
    assert!(names(&"x\n".repeat(48)).contains("[CLS]"));
    assert!(names(&format!("{}\n", "x".repeat(100)).repeat(48)).contains("too long"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever a complete file contains, its vectors consist of numbers.
    #[test]
    fn no_weights_are_too_odd(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2000),
    ) {
        let mut file = tiny();
        for (at, byte) in &flips {
            let at = Header::BYTES + at.index(file.len() - Header::BYTES);
            file[at] = *byte;
        }
        seal(&mut file);
        if let Ok(model) = Encoder::from_bytes(file) {
            for text in TEXTS {
                prop_assert!(vector(&model, text).iter().all(|value| value.is_finite()));
            }
        }
    }
}
