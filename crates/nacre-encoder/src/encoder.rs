//! A small transformer that reads words in order, in 4-bit weights, on the processor.
//!
//! A model has one or two stacks of layers over the same tokens: the first one gives vectors, the second one judges pairs
//! of texts. The file is read once, and the weights are used in place. `pack` makes it from the published weights. Little-endian: the
//! header ([`Header`]), then
//!
//! - a row for each token: its components, two in a byte, the first in the low half, 8 added to each; then an
//!   f16 scale for every 32;
//! - a row for each place in a text, f16;
//! - gain and bias of the first norm, f32;
//! - for each layer, four matrices, each followed by its bias (f32): query, key and value as one; the output of attention, with
//!   gain and bias of a norm (f32); the wide one; the narrow one, with a norm. `kernel` describes the format of a matrix. The
//!   layers that judge come after those that give vectors;
//! - if it judges: a row of f32 for each of the [`HEADS`], then their biases;
//! - the vocabulary: where each name begins, u32, and where the last one ends; the tokens in the order of
//!   their names, u32; the names.

use std::borrow::Cow;
use std::ops::Range;

use crate::float::HEAD;
use crate::kernel::{BLOCK, GROUP, MIDDLE, Matrix, OUTPUTS, Processor, RoundedRows, from_f16};
use crate::vocabulary::{Marks, Vocabulary};

/// The dimensions of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Components of a vector.
    pub dims: usize,
    /// Layers that give vectors.
    pub layers: usize,
    /// Layers that judge.
    pub judge_layers: usize,
    /// Outputs of a layer's wide matrix.
    pub inner: usize,
    /// Tokens of the longest text.
    pub places: usize,
    /// Tokens of the vocabulary.
    pub tokens: usize,
}

impl Shape {
    /// The shape of all-MiniLM-L6-v2, which was trained on texts of 256 tokens.
    pub const MINILM: Shape =
        Shape { dims: 384, layers: 6, judge_layers: 0, inner: 1536, places: 256, tokens: 30_522 };

    /// Tells whether the code can run a model of this shape: whole groups and heads, and plausible sizes.
    fn runs(&self) -> bool {
        let whole = |number: usize, most: usize| number > 0 && number.is_multiple_of(GROUP) && number <= most;
        whole(self.dims, 1024)
            && self.dims.is_multiple_of(HEAD)
            && whole(self.inner, 4096)
            && (1..=24).contains(&self.layers)
            && self.judge_layers <= 24
            && (3..=512).contains(&self.places)
            && (4..=100_000).contains(&self.tokens)
    }

    /// Bytes of a token's row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.dims / 2 + self.dims / GROUP * 2
    }

    /// Bytes of a matrix.
    pub(crate) fn matrix_bytes(inputs: usize, outputs: usize) -> usize {
        inputs / GROUP * (outputs / OUTPUTS) * BLOCK
    }

    /// Bytes of what the judging layers end in.
    fn head_bytes(&self) -> usize {
        if self.judge_layers == 0 { 0 } else { 4 * HEADS * (self.dims + 1) }
    }

    /// Bytes of the whole file, with `names` bytes for the vocabulary's names.
    pub(crate) fn file_bytes(&self, names: usize) -> usize {
        let Shape { dims, layers, judge_layers, inner, places, tokens } = *self;
        let layer = Shape::matrix_bytes(dims, 3 * dims)
            + Shape::matrix_bytes(dims, dims)
            + Shape::matrix_bytes(dims, inner)
            + Shape::matrix_bytes(inner, dims)
            + 4 * (3 * dims + 3 * dims + inner + 3 * dims);
        Header::BYTES
            + tokens * self.row_bytes()
            + 2 * places * dims
            + 4 * 2 * dims
            + (layers + judge_layers) * layer
            + self.head_bytes()
            + 4 * (tokens + 1)
            + 4 * tokens
            + names
    }
}

/// The header before the weights: `NACREMLM`; eight u32 (version of the format; components, layers, outputs, places and tokens of [`Shape`]; bytes of the
/// names, layers that judge); SHA-256 of the published file that it was made from; BLAKE3 of everything that follows and of the header up to
/// there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// The dimensions of the model.
    pub shape: Shape,
    /// Bytes of the vocabulary's names.
    pub names: usize,
    /// SHA-256 of the weights as they were published.
    pub source: [u8; 32],
}

impl Header {
    pub(crate) const BYTES: usize = CHECKSUM.end;

    /// Returns the header as in the file, without the checksum.
    pub(crate) fn write(&self) -> Vec<u8> {
        let Shape { dims, layers, judge_layers, inner, places, tokens } = self.shape;
        let numbers = [FORMAT, dims, layers, inner, places, tokens, self.names, judge_layers];
        let mut bytes = MAGIC.to_vec();
        for number in numbers {
            bytes.extend(u32::try_from(number).expect("checked to be small").to_le_bytes());
        }
        bytes.extend(self.source);
        bytes.resize(Header::BYTES, 0);
        bytes
    }

    /// Reads the header of a whole file, whose length must match it.
    pub fn read(file: &[u8]) -> Result<Header, String> {
        let not_ours = || "does not begin like a model file of Nacre".to_owned();
        let rest = file.strip_prefix(MAGIC).ok_or_else(not_ours)?;
        let header = rest.get(..Header::BYTES - MAGIC.len()).ok_or("ends within its header")?;
        let (numbers, rest) = header.split_at(32);
        let number = |at: usize| numbers.as_chunks().0.get(at).map_or(0, |n| u32::from_le_bytes(*n) as usize);
        if number(0) != FORMAT {
            return Err(format!("has format {}, this program reads format {FORMAT}", number(0)));
        }
        let [dims, layers, inner, places, tokens, names, judge_layers] = [1, 2, 3, 4, 5, 6, 7].map(number);
        let shape = Shape { dims, layers, judge_layers, inner, places, tokens };
        if !shape.runs() || names > 16 * tokens {
            return Err(format!("has an impossible shape: {shape:?}"));
        }
        let expected = shape.file_bytes(names);
        if file.len() != expected {
            return Err(format!("has {} bytes, its header needs {expected}", file.len()));
        }
        let source = rest[..32].try_into().expect("32 bytes");
        Ok(Header { shape, names, source })
    }
}

const MAGIC: &[u8] = b"NACREMLM";
/// The version of the file format.
const FORMAT: usize = 1;
/// The place of the checksum.
const CHECKSUM: Range<usize> = 96..128;

/// Writes the checksum into a file.
pub(crate) fn seal(file: &mut [u8]) {
    let sum = checksum(file);
    file[CHECKSUM].copy_from_slice(&sum);
}

/// Returns the checksum of a file with a whole header.
fn checksum(file: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&file[..CHECKSUM.start]);
    hasher.update(&file[CHECKSUM.end..]);
    hasher.finalize().into()
}

/// Tokens in a batch: enough to load the weights rarely, few enough that the activations stay in the cache.
const BATCH_TOKENS: usize = 192;

/// Tokens of the longest pair of texts.
pub(crate) const MAX_PAIR_TOKENS: usize = 128;

/// How many judgements a pair of texts gets.
pub const HEADS: usize = 5;

/// The loaded model.
pub struct Encoder {
    file: Cow<'static, [u8]>,
    header: Header,
    version: String,
    marks: Marks,
    rows: Range<usize>,
    places: Range<usize>,
    norm: Norm,
    layers: Vec<Layer>,
    judge: Vec<Layer>,
    /// A row for each head, and its bias.
    heads: Vec<f32>,
    biases: Vec<f32>,
    starts: Range<usize>,
    order: Range<usize>,
    names: Range<usize>,
    processor: Processor,
}

struct Layer {
    query_key_value: Linear,
    attended: Linear,
    attended_norm: Norm,
    wide: Linear,
    narrow: Linear,
    narrow_norm: Norm,
}

/// The place of a matrix in the file, and its bias.
struct Linear {
    blocks: Range<usize>,
    bias: Vec<f32>,
}

struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
}

impl Encoder {
    /// Opens a file as the model. The error completes a sentence that begins with the file's name.
    pub fn from_bytes(file: impl Into<Cow<'static, [u8]>>) -> Result<Encoder, String> {
        let file = file.into();
        Header::read(&file)?;
        if checksum(&file) != file[CHECKSUM] {
            return Err("is damaged: its checksum does not match".into());
        }
        Encoder::from_whole(file)
    }

    /// Opens a file that is compiled into the program. Its checksum is not computed, so that nothing of it is read before it is
    /// needed.
    pub fn from_program(file: &'static [u8]) -> Result<Encoder, String> {
        Encoder::from_whole(file.into())
    }

    fn from_whole(file: Cow<'static, [u8]>) -> Result<Encoder, String> {
        let header = Header::read(&file)?;
        let Shape { dims, inner, places, tokens, .. } = header.shape;
        let mut sections = Sections { file: &file, at: Header::BYTES };
        let rows = sections.take(tokens * header.shape.row_bytes());
        let places = sections.take(2 * places * dims);
        let norm = sections.norm(dims);
        let mut stack = |layers| (0..layers).map(|_| sections.layer(dims, inner)).collect();
        let (layers, judge) = (stack(header.shape.layers), stack(header.shape.judge_layers));
        let heads = if header.shape.judge_layers == 0 { 0 } else { HEADS };
        let (heads, biases) = (sections.floats(heads * dims), sections.floats(heads));
        let [starts, order, names] =
            [4 * (tokens + 1), 4 * tokens, header.names].map(|bytes| sections.take(bytes));
        let sum = blake3::Hash::from_bytes(file[CHECKSUM].try_into().expect("32 bytes")).to_hex();
        let vocabulary = Vocabulary {
            starts: file[starts.clone()].as_chunks().0,
            order: file[order.clone()].as_chunks().0,
            names: &file[names.clone()],
        };
        let marks = vocabulary.marks().ok_or("has a vocabulary without `[CLS]`, `[SEP]` and `[UNK]`")?;
        let largest = [marks.begin, marks.end, marks.unknown].into_iter().max();
        let known = |token: u32| (token as usize) < tokens;
        if !vocabulary.order.iter().all(|token| known(u32::from_le_bytes(*token)))
            || !largest.is_some_and(known)
        {
            return Err("has a vocabulary that names tokens it has no row for".into());
        }
        Ok(Encoder {
            version: format!("minilm-{CODE_VERSION}-{}", &sum[..8]),
            marks,
            rows,
            places,
            norm,
            layers,
            judge,
            heads,
            biases,
            starts,
            order,
            names,
            processor: Processor::here(),
            header,
            file,
        })
    }

    /// Returns the header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Identifies the model and the code that runs it: vectors of two versions can't be compared.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the tokens of a text, without the words that `keep` rejects.
    pub fn tokens(&self, text: &str, keep: impl FnMut(&str) -> bool) -> Vec<u32> {
        self.vocabulary().tokens(text, self.marks, self.header.shape.places, keep)
    }

    /// Returns the tokens of two texts, one after the other, each cut to half of a pair's tokens.
    pub fn pair_tokens(&self, one: &str, other: &str) -> Vec<u32> {
        let longest = self.header.shape.places.min(MAX_PAIR_TOKENS) / 2;
        let half = |text| self.vocabulary().tokens(text, self.marks, longest, |_| true);
        let mut tokens = half(one);
        tokens.extend(&half(other)[1..]);
        tokens
    }

    fn vocabulary(&self) -> Vocabulary<'_> {
        Vocabulary {
            starts: self.file[self.starts.clone()].as_chunks().0,
            order: self.file[self.order.clone()].as_chunks().0,
            names: &self.file[self.names.clone()],
        }
    }

    /// Returns the unit vector of each text, given as tokens.
    pub fn encode(&self, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let mut vectors = self.means(&self.layers, texts);
        vectors.iter_mut().for_each(|vector| normalise(vector));
        vectors
    }

    /// Returns the judgements of each pair, given as tokens: numbers without a bound, of which more is more certain.
    pub fn judge(&self, pairs: &[Vec<u32>]) -> Vec<[f32; HEADS]> {
        let judgement = |mean: &Vec<f32>| {
            std::array::from_fn(|head| {
                let row = &self.heads[head * self.dims()..][..self.dims()];
                self.biases[head] + row.iter().zip(mean).map(|(weight, value)| weight * value).sum::<f32>()
            })
        };
        self.means(&self.judge, pairs).iter().map(judgement).collect()
    }

    /// Returns the number of components of a vector.
    pub fn dims(&self) -> usize {
        self.header.shape.dims
    }

    /// Returns the mean of the last layer's rows of each text.
    fn means(&self, layers: &[Layer], texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let mut tokens = 0;
            let fit = rest.iter().take_while(|text| {
                tokens += text.len();
                tokens <= BATCH_TOKENS
            });
            let (now, later) = rest.split_at(fit.count().max(1));
            self.encode_together(layers, now, &mut vectors);
            rest = later;
        }
        vectors
    }

    fn encode_together(&self, layers: &[Layer], texts: &[Vec<u32>], vectors: &mut Vec<Vec<f32>>) {
        let Shape { dims, inner, .. } = self.header.shape;
        let tokens: usize = texts.iter().map(Vec::len).sum();
        let processor = self.processor;
        let [mut rows, mut seen, mut added] = [0; 3].map(|_| vec![0.0; tokens * dims]);
        let mut asked = vec![0.0; tokens * 3 * dims];
        let mut wide = vec![0.0; tokens * inner];
        let (mut rounded, mut room) = (RoundedRows::default(), Vec::new());

        let places = texts.iter().flat_map(|text| text.iter().enumerate());
        for ((place, token), (row, added)) in
            places.zip(rows.chunks_exact_mut(dims).zip(added.chunks_exact_mut(dims)))
        {
            self.token(*token as usize, row);
            self.place(place, added);
        }
        processor.add_and_norm(&mut rows, &added, &self.norm.gain, &self.norm.bias);
        for layer in layers {
            processor.round(&rows, dims, &mut rounded);
            processor.multiply(&rounded, self.matrix(&layer.query_key_value), &mut asked);
            let (mut asked, mut out) = (&asked[..], &mut seen[..]);
            for text in texts {
                let (asked_here, asked_later) = asked.split_at(text.len() * 3 * dims);
                let (out_here, out_later) = out.split_at_mut(text.len() * dims);
                processor.attend(asked_here, dims, &mut room, out_here);
                (asked, out) = (asked_later, out_later);
            }
            processor.round(&seen, dims, &mut rounded);
            processor.multiply(&rounded, self.matrix(&layer.attended), &mut added);
            let norm = &layer.attended_norm;
            processor.add_and_norm(&mut rows, &added, &norm.gain, &norm.bias);

            processor.round(&rows, dims, &mut rounded);
            processor.multiply(&rounded, self.matrix(&layer.wide), &mut wide);
            processor.gelu(&mut wide);
            processor.round(&wide, inner, &mut rounded);
            processor.multiply(&rounded, self.matrix(&layer.narrow), &mut added);
            let norm = &layer.narrow_norm;
            processor.add_and_norm(&mut rows, &added, &norm.gain, &norm.bias);
        }
        let mut rows = rows.chunks_exact(dims);
        for text in texts {
            let mut vector = vec![0.0; dims];
            for row in rows.by_ref().take(text.len()) {
                vector.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
            let tokens = text.len() as f32;
            vector.iter_mut().for_each(|value| *value /= tokens);
            vectors.push(vector);
        }
    }

    /// Reads the row of a token.
    fn token(&self, token: usize, row: &mut [f32]) {
        let bytes = self.header.shape.row_bytes();
        let (codes, scales) = self.file[self.rows.clone()][token * bytes..][..bytes].split_at(row.len() / 2);
        let (scales, _) = scales.as_chunks();
        for ((values, codes), scale) in
            row.chunks_exact_mut(GROUP).zip(codes.chunks_exact(GROUP / 2)).zip(scales)
        {
            let scale = from_f16(u16::from_le_bytes(*scale));
            for (two, code) in values.chunks_exact_mut(2).zip(codes) {
                two[0] = scale * (f32::from(code & 15) - f32::from(MIDDLE));
                two[1] = scale * (f32::from(code >> 4) - f32::from(MIDDLE));
            }
        }
    }

    /// Reads the row of a position.
    fn place(&self, place: usize, row: &mut [f32]) {
        let halves = self.file[self.places.clone()].as_chunks().0;
        for (value, half) in row.iter_mut().zip(&halves[place * self.dims()..]) {
            *value = from_f16(u16::from_le_bytes(*half));
        }
    }

    fn matrix<'a>(&'a self, linear: &'a Linear) -> Matrix<'a> {
        Matrix { blocks: self.file[linear.blocks.clone()].as_chunks().0, bias: &linear.bias }
    }
}

/// Incremented with every change to the code that changes a vector.
const CODE_VERSION: u32 = 1;

/// Normalizes a vector to length 1. A vector of length 0 or with values that are not numbers becomes zero.
fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    let scale = if length.is_normal() { 1.0 / length } else { 0.0 };
    for value in vector {
        *value = if value.is_finite() { *value * scale } else { 0.0 };
    }
}

/// An iterator over the sections of a file that is long enough.
struct Sections<'a> {
    file: &'a [u8],
    at: usize,
}

impl Sections<'_> {
    fn take(&mut self, bytes: usize) -> Range<usize> {
        let start = self.at;
        self.at += bytes;
        start..self.at
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        let range = self.take(4 * count);
        self.file[range].as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    fn layer(&mut self, dims: usize, inner: usize) -> Layer {
        Layer {
            query_key_value: self.linear(dims, 3 * dims),
            attended: self.linear(dims, dims),
            attended_norm: self.norm(dims),
            wide: self.linear(dims, inner),
            narrow: self.linear(inner, dims),
            narrow_norm: self.norm(dims),
        }
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> Linear {
        Linear { blocks: self.take(Shape::matrix_bytes(inputs, outputs)), bias: self.floats(outputs) }
    }

    fn norm(&mut self, dims: usize) -> Norm {
        Norm { gain: self.floats(dims), bias: self.floats(dims) }
    }
}
