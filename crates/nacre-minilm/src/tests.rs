//! A tiny model of the same format, compared with a plain implementation; and invalid files of every kind.

use std::collections::BTreeMap;
use std::path::Path;

use nacre::Embedder;
use proptest::prelude::*;
use serde_json::json;

use crate::encoder::{Header, Shape, seal};
use crate::install::{FIRST, path};
use crate::safetensors::Safetensors;
use crate::{MiniLm, Weights, install, open, pack, remove, status, wheel};

const TINY: Shape = Shape { dims: 64, layers: 2, inner: 128, places: 40, tokens: 48 };

/// Pseudorandom numbers, the same every time.
struct Noise(u32);

impl Noise {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % limit
    }

    #[expect(clippy::cast_precision_loss, reason = "24 bits")]
    fn float(&mut self) -> f32 {
        self.below(1 << 24) as f32 / 2f32.powi(23) - 1.0
    }

    /// Weights that fit into 4 bits: whole steps of a group's scale, the largest of them -8.
    #[expect(clippy::cast_precision_loss, reason = "4 bits")]
    fn steps(&mut self, count: usize) -> Vec<f32> {
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
type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

fn tensors(shape: Shape, mut weights: impl FnMut(&mut Noise, usize) -> Vec<f32>) -> Tensors {
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
    add("embeddings.position_embeddings.weight".into(), &[pack::PUBLISHED_PLACES, dims]);
    add("embeddings.token_type_embeddings.weight".into(), &[2, dims]);
    let mut both = |name: String, sizes: &[usize]| {
        add(format!("{name}.weight"), sizes);
        add(format!("{name}.bias"), &sizes[..1]);
    };
    both("embeddings.LayerNorm".into(), &[dims]);
    for layer in 0..shape.layers {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        for part in ["query", "key", "value"] {
            both(name(&format!("attention.self.{part}")), &[dims, dims]);
        }
        both(name("attention.output.dense"), &[dims, dims]);
        both(name("attention.output.LayerNorm"), &[dims]);
        both(name("intermediate.dense"), &[inner, dims]);
        both(name("output.dense"), &[dims, inner]);
        both(name("output.LayerNorm"), &[dims]);
    }
    tensors
}

fn safetensors(tensors: &Tensors) -> Vec<u8> {
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

fn vocabulary() -> String {
    let marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "dog", "the", "##s", "."];
    let more = (marks.len()..TINY.tokens).map(|number| format!("w{number}"));
    marks.map(String::from).into_iter().chain(more).map(|name| name + "\n").collect()
}

fn packed(tensors: &Tensors) -> Vec<u8> {
    pack_tiny(&safetensors(tensors), &vocabulary()).unwrap()
}

fn pack_tiny(weights: &[u8], vocabulary: &str) -> Result<Vec<u8>, String> {
    pack::pack(&Safetensors::read(weights)?, vocabulary, &TEXTS.join("\n"), TINY, [7; 32])
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
    let model = MiniLm::from_bytes(tiny().into()).unwrap();
    assert_eq!((model.dims(), model.header().shape), (64, TINY));
    assert!(model.version().starts_with("minilm-1-"));
    let alone: Vec<Vec<f32>> = TEXTS.map(|text| model.embed_query(text, &mut |_| 1.0).unwrap()).into();
    for (text, vector) in TEXTS.iter().zip(&alone) {
        let right = plain(&tensors, TINY, &model.tokens(text, |_| true));
        let likeness = cosine(vector, &right);
        assert!(likeness > 0.9995, "{text:?}: {likeness}");
    }
    // A batch gives the same vectors to the last bit, whatever else is in it.
    let many: Vec<&str> = TEXTS.iter().copied().cycle().take(100).collect();
    for (vector, right) in model.embed_documents(&many).unwrap().iter().zip(alone.iter().cycle()) {
        assert_eq!(vector, right);
    }
    // A word of weight 0 is left out.
    let without = model.embed_query("the dogs zebra", &mut |word| f32::from(word != "zebra")).unwrap();
    assert_eq!(without, model.embed_query("the dogs", &mut |_| 1.0).unwrap());
}

#[test]
fn rounding_keeps_what_the_model_says() {
    let tensors = tensors(TINY, |noise, count| (0..count).map(|_| 0.2 * noise.float()).collect());
    let model = MiniLm::from_bytes(packed(&tensors).into()).unwrap();
    for text in TEXTS {
        let tokens = model.tokens(text, |_| true);
        let likeness =
            cosine(&model.encode(std::slice::from_ref(&tokens))[0], &plain(&tensors, TINY, &tokens));
        assert!(likeness > 0.98, "{text:?}: {likeness}");
    }
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
        let problem = MiniLm::from_bytes(file.into()).err().unwrap_or_default();
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

/// An archive of files: name, contents, and whether it is compressed.
fn archive(files: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let (mut archive, mut list) = (Vec::new(), Vec::new());
    for (name, contents, pack) in files {
        let data = if *pack { miniz_oxide::deflate::compress_to_vec(contents, 6) } else { contents.to_vec() };
        let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
        let mut head = Vec::new();
        head.extend([20, 0, 0, 0, if *pack { 8 } else { 0 }, 0, 0, 0, 0, 0]);
        let mut crc = flate2::Crc::new();
        crc.update(contents);
        head.extend(crc.sum().to_le_bytes());
        head.extend([number(data.len()), number(contents.len())].concat());
        head.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        head.extend([0, 0]);
        list.extend(
            [&b"PK\x01\x02\x14\0"[..], &head, &[0; 10], &number(archive.len()), name.as_bytes()].concat(),
        );
        archive.extend([&b"PK\x03\x04"[..], &head, name.as_bytes(), &data].concat());
    }
    let (at, count) = (archive.len(), u16::try_from(files.len()).unwrap().to_le_bytes());
    let [at, length] = [at, list.len()].map(|number| u32::try_from(number).unwrap().to_le_bytes());
    [&archive[..], &list, b"PK\x05\x06\0\0\0\0", &count, &count, &length, &at, &[0; 2]].concat()
}

const WANTED: [(&str, usize); 2] = [("model.safetensors", 5000), ("vocab.txt", 1000)];

#[test]
fn files_are_read_out_of_a_wheel() {
    let zeros = [0; 4000];
    let wheel = archive(&[
        ("pack/__init__.py", b"pass", false),
        ("pack/model/model.safetensors", &zeros, true),
        ("../../evil.txt", b"evil", false),
        ("vocab.txt", b"another", true),
        ("pack/model/vocab.txt", b"[CLS]\n", false),
    ]);
    assert!(nacre::zip::begins(&wheel));
    assert_eq!(wheel::read(&wheel, WANTED).unwrap(), [zeros.to_vec(), b"[CLS]\n".to_vec()]);
    let commented = [&wheel[..wheel.len() - 2], &9u16.to_le_bytes(), b"a comment"].concat();
    assert!(wheel::read(&commented, WANTED).is_ok());
}

#[test]
fn a_hostile_wheel_is_refused() {
    let check = |archive: &[u8], says: &str| {
        let problem = wheel::read(archive, WANTED);
        assert!(problem.as_ref().is_err_and(|problem| problem.contains(says)), "{problem:?} / {says}");
    };
    const WEIGHTS: &str = "a/model.safetensors";
    let vocabulary = ("a/vocab.txt", &b"x"[..], false);
    check(b"", "list of files");
    check(b"PK\x03\x04", "list of files");
    check(&archive(&[]), "no file `model.safetensors`");
    check(&archive(&[vocabulary]), "no file `model.safetensors`");
    check(&archive(&[("amodel.safetensors", b"x", false)]), "no file `model.safetensors`");
    check(&archive(&[(WEIGHTS, b"x", false)]), "without a `vocab.txt`");
    check(
        &archive(&[(WEIGHTS, b"x", false), ("b/model.safetensors", b"y", false), vocabulary]),
        "more than one",
    );
    // A zip bomb: by its declared size, and by its actual size.
    check(&archive(&[(WEIGHTS, &[0; 100_000], true), vocabulary]), "the limit is 5000");
    let mut bomb = archive(&[(WEIGHTS, &[0; 100_000], true), vocabulary]);
    let length = 100_000u32.to_le_bytes();
    let places: Vec<usize> = (0..bomb.len() - 4).filter(|at| bomb[*at..].starts_with(&length)).collect();
    places.iter().for_each(|at| bomb[*at..at + 4].copy_from_slice(&4000u32.to_le_bytes()));
    check(&bomb, "longer than its header says");
    let good = archive(&[(WEIGHTS, &[7; 4000], true), vocabulary]);
    let at = |what: &[u8]| (0..good.len()).find(|at| good[*at..].starts_with(what)).unwrap();
    let list = at(b"PK\x01\x02");
    let with = |at: usize, bytes: &[u8]| {
        let mut archive = good.clone();
        archive[at..at + bytes.len()].copy_from_slice(bytes);
        archive
    };
    check(&with(list + 8, &[1]), "encrypted");
    check(&with(list + 10, &[99]), "method 99");
    check(&with(list + 16, &[0, 0, 0, 0]), "checksum");
    check(&with(list + 20, &[0xff; 4]), "truncated");
    check(&with(list + 42, &[0xff; 4]), "truncated");
    check(&with(list + 28, &[0xff; 2]), "list of files");
    check(&with(good.len() - 6, &[0xff; 4]), "more than 4 GiB");
    check(&with(good.len() - 12, &[0xff; 2]), "more than 4 GiB");
}

/// Installs from this path into a new home. It must be refused with these words and leave nothing.
#[track_caller]
fn refused(path: &Path, says: &str) {
    let folder = tempfile::tempdir().unwrap();
    let error = install(folder.path(), path, Weights::Published).unwrap_err();
    assert!(error.to_string().contains(says), "{error} / {says}");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "{path:?} left something");
    assert!(!status(folder.path()).installed);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files to be refused need not be whole")]
fn what_is_not_the_model_is_not_installed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    refused(&at("nothing"), "nothing");
    refused(folder.path(), "has no `model.safetensors`");
    std::fs::write(at("noise"), [7; 3000]).unwrap();
    refused(&at("noise"), "does not begin");
    std::fs::write(at("tiny.bin"), tiny()).unwrap();
    refused(&at("tiny.bin"), "not have the shape");
    std::fs::write(at("model.safetensors"), safetensors(&tensors(TINY, Noise::steps))).unwrap();
    refused(folder.path(), "has neither `vocab.txt` nor `tokenizer.json`");
    std::fs::write(at("tokenizer.json"), r#"{"model":{"vocab":{"a":0,"b":2}}}"#).unwrap();
    refused(folder.path(), "no WordPiece vocabulary");
    std::fs::write(at("tokenizer.json"), r#"{"model":{"vocab":{"a":1,"b":0}}}"#).unwrap();
    refused(folder.path(), "in shape [48, 64]");
    std::fs::write(at("vocab.txt"), [0xff]).unwrap();
    refused(folder.path(), "not UTF-8");
    // The right shape, but other numbers: all zeros.
    let (tokens, dims) = (Shape::MINILM.tokens, Shape::MINILM.dims);
    let end = 4 * tokens * dims;
    let header =
        json!({ FIRST: { "dtype": "F32", "shape": [tokens, dims], "data_offsets": [0, end] } }).to_string();
    let mut zeros = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    zeros.resize(zeros.len() + end, 0);
    std::fs::write(at("model.safetensors"), zeros).unwrap();
    std::fs::write(at("vocab.txt"), "x\n").unwrap();
    refused(folder.path(), "SHA-256");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a damaged file is what is wanted")]
fn an_installed_model_is_listed_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let model = status(home);
    assert_eq!((model.name, model.installed, model.dims), ("minilm", false, 384));
    assert_eq!(open(home).err().unwrap().code(), "model_not_installed");
    assert_eq!(remove(home).unwrap_err().code(), "no_model");

    std::fs::create_dir_all(path(home).parent().unwrap()).unwrap();
    let file = tiny();
    std::fs::write(path(home), &file).unwrap();
    let model = status(home);
    assert_eq!((model.installed, model.published, model.bytes), (true, false, file.len()));
    assert_eq!(open(home).unwrap().version(), model.version.as_deref().unwrap());

    std::fs::write(path(home), &file[..5000]).unwrap();
    let model = status(home);
    assert!(!model.installed && model.problem.as_ref().unwrap().contains("install it again"));
    assert_eq!(open(home).err().unwrap().code(), "bad_model");
    remove(home).unwrap();
    assert!(!path(home).exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_are_too_odd(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        cut in any::<prop::sample::Index>(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
    ) {
        let _ = wheel::read(&bytes, WANTED);
        let _ = wheel::read(&[b"PK\x05\x06", &bytes[..]].concat(), WANTED);
        let _ = Safetensors::read(&bytes).and_then(|read| read.tensor(FIRST, &[1]));
        let _ = MiniLm::from_bytes([b"NACREMLM\x01\0\0\0", &bytes[..]].concat().into());
        let flip = |mut file: Vec<u8>| {
            file.truncate(cut.index(file.len()).max(file.len() / 2));
            for (at, byte) in &flips {
                let at = at.index(file.len());
                file[at] = *byte;
            }
            file
        };
        let good = archive(&[("a/model.safetensors", &[7; 4000], true), ("a/vocab.txt", b"x", false)]);
        let _ = wheel::read(&flip(good), WANTED);
    }
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
        if let Ok(model) = MiniLm::from_bytes(file.into()) {
            for vector in model.embed_documents(&TEXTS).unwrap() {
                prop_assert!(vector.iter().all(|value| value.is_finite()));
            }
        }
    }
}
