//! Wheels and homes: what is installed, and what is refused.

use std::path::Path;

use nacre_encoder::{Safetensors, Shape};
use proptest::prelude::*;
use serde_json::json;

use crate::install::{FIRST, path};
use crate::tiny::{Noise, TINY, safetensors, tensors, vocabulary};
use crate::{MiniLm, Weights, install, open, remove, status, wheel};

/// A tiny model.
fn tiny() -> Vec<u8> {
    let weights = safetensors(&tensors(TINY, Noise::steps));
    nacre_encoder::pack(&Safetensors::read(&weights).unwrap(), &vocabulary(), "dog\nthe dogs", TINY, [7; 32])
        .unwrap()
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
        let _ = MiniLm::from_bytes([b"NACREMLM\x01\0\0\0", &bytes[..]].concat());
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
