//! Makes the model file that `encoder` describes from published weights: 4 bits a weight, with a scale for
//! every 32. While the layers are written, sample texts run through them, so that `round` knows the inputs of each matrix.
//!
//! Only sums, products and roundings in a fixed order are used, so that the same weights give the same file
//! everywhere.

use crate::encoder::{HEADS, Header, MAX_PAIR_TOKENS, Shape, seal};
use crate::kernel::{BLOCK, OUTPUTS, Processor, to_f16};
use crate::round::{self, Group, InputStatistics};
use crate::safetensors::Safetensors;
use crate::vocabulary::Vocabulary;

/// Typical texts of a memory, one per line. The rounding is fitted to them.
pub const SAMPLE: &str = include_str!("sample.txt");

/// Positions of the published weights; the model was trained on fewer.
pub(super) const PUBLISHED_PLACES: usize = 512;

/// Returns the model file, fitted to the lines of `sample`. The error says what is wrong with the weights or the
/// vocabulary.
pub fn pack(
    weights: &Safetensors<'_>,
    vocabulary: &str,
    sample: &str,
    shape: Shape,
    source: [u8; 32],
) -> Result<Vec<u8>, String> {
    let Shape { dims, .. } = shape;
    let names: Vec<&str> = vocabulary.lines().collect();
    if names.len() != shape.tokens {
        return Err(format!("has a vocabulary of {} tokens, its weights have {}", names.len(), shape.tokens));
    }
    let names = Names::new(&names);
    if names.names.len() > 16 * shape.tokens {
        return Err("has a vocabulary whose names are too long".into());
    }
    let vocabulary = Vocabulary { starts: &names.starts, order: &names.order, names: &names.names };
    let marks = vocabulary.marks().ok_or("has a vocabulary without `[CLS]`, `[SEP]` and `[UNK]`")?;
    // Each line alone, and ten together for later positions in a text. A line with a tab is a pair.
    let lines: Vec<&str> = sample.lines().filter(|line| !line.contains('\t')).collect();
    let read = |text: &str, longest| vocabulary.tokens(text, marks, longest, |_| true);
    let texts: Vec<Vec<u32>> =
        lines.chunks(1).chain(lines.chunks(10)).map(|lines| read(&lines.join(" "), shape.places)).collect();
    let pair = |(one, other): (&str, &str)| {
        [read(one, MAX_PAIR_TOKENS / 2), read(other, MAX_PAIR_TOKENS / 2).split_off(1)].concat()
    };
    let pairs: Vec<Vec<u32>> = sample.lines().filter_map(|line| line.split_once('\t')).map(pair).collect();

    let mut file = Header { shape, names: names.names.len(), source }.write();
    file.reserve(shape.file_bytes(names.names.len()));
    let rows = weights.tensor("embeddings.word_embeddings.weight", &[shape.tokens, dims])?;
    rows.chunks_exact(dims).for_each(|row| write_row(&mut file, row));
    // Only the first text type is used, so its row is added to every position's.
    let kinds = weights.tensor("embeddings.token_type_embeddings.weight", &[2, dims])?;
    let mut places = weights.tensor("embeddings.position_embeddings.weight", &[PUBLISHED_PLACES, dims])?;
    places.truncate(shape.places * dims);
    for place in places.chunks_exact_mut(dims) {
        place.iter_mut().zip(&kinds).for_each(|(value, kind)| *value += kind);
    }
    file.extend(places.iter().flat_map(|value| to_f16(*value).to_le_bytes()));

    let first = norm(weights, "embeddings.LayerNorm", dims)?;
    first.iter().for_each(|values| write_floats(&mut file, values));
    for (stack, layers, texts) in [("encoder", shape.layers, texts), ("judge", shape.judge_layers, pairs)] {
        let mut sample = Sample::new(&texts, &rows, &places, dims);
        sample.add_and_norm(&first);
        for layer in 0..layers {
            write_layer(&mut file, weights, &format!("{stack}.layer.{layer}"), shape, &mut sample)?;
        }
    }
    if shape.judge_layers > 0 {
        write_floats(&mut file, &weights.tensor("judge.heads.weight", &[HEADS, dims])?);
        write_floats(&mut file, &weights.tensor("judge.heads.bias", &[HEADS])?);
    }
    file.extend(names.starts.iter().chain(&names.order).flatten());
    file.extend(&names.names);
    seal(&mut file);
    Ok(file)
}

/// Writes a layer, and passes the sample through it.
fn write_layer(
    file: &mut Vec<u8>,
    weights: &Safetensors<'_>,
    layer: &str,
    Shape { dims, inner, .. }: Shape,
    sample: &mut Sample,
) -> Result<(), String> {
    let name = |part: &str| format!("{layer}.{part}");
    let parts = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
    let given = std::mem::take(&mut sample.rows);
    let asked = pass(file, &linear(weights, &parts, dims, dims)?, &given);
    let seen = sample.attend(&asked, dims);
    sample.added = pass(file, &linear(weights, &[name("attention.output.dense")], dims, dims)?, &seen);
    sample.rows = given;
    sample.norm(file, &norm(weights, &name("attention.output.LayerNorm"), dims)?);
    let mut wide = pass(file, &linear(weights, &[name("intermediate.dense")], dims, inner)?, &sample.rows);
    Processor::here().gelu(&mut wide);
    sample.added = pass(file, &linear(weights, &[name("output.dense")], inner, dims)?, &wide);
    sample.norm(file, &norm(weights, &name("output.LayerNorm"), dims)?);
    Ok(())
}

/// The sample texts on their way through the layers.
struct Sample {
    /// Tokens of each text.
    lengths: Vec<usize>,
    /// The activations of every token, and the residual to add.
    rows: Vec<f32>,
    added: Vec<f32>,
}

impl Sample {
    fn new(texts: &[Vec<u32>], tokens: &[f32], places: &[f32], dims: usize) -> Sample {
        let at = |rows: &[f32], row: usize| rows[row * dims..][..dims].to_vec();
        Sample {
            lengths: texts.iter().map(Vec::len).collect(),
            rows: texts.iter().flatten().flat_map(|token| at(tokens, *token as usize)).collect(),
            added: texts
                .iter()
                .flat_map(|text| (0..text.len()).flat_map(|place| at(places, place)))
                .collect(),
        }
    }

    /// Writes a norm and applies it.
    fn norm(&mut self, file: &mut Vec<u8>, norm: &[Vec<f32>; 2]) {
        norm.iter().for_each(|values| write_floats(file, values));
        self.add_and_norm(norm);
    }

    fn add_and_norm(&mut self, [gain, bias]: &[Vec<f32>; 2]) {
        Processor::here().add_and_norm(&mut self.rows, &self.added, gain, bias);
    }

    fn attend(&self, asked: &[f32], dims: usize) -> Vec<f32> {
        let mut seen = vec![0.0; asked.len() / 3];
        let (mut at, mut room) = (0, Vec::new());
        for length in &self.lengths {
            let (asked, seen) = (&asked[3 * at * dims..], &mut seen[at * dims..]);
            Processor::here().attend(
                &asked[..3 * length * dims],
                dims,
                &mut room,
                &mut seen[..length * dims],
            );
            at += length;
        }
        seen
    }
}

/// A matrix, a row for each output, and its bias.
struct Linear {
    weights: Vec<f32>,
    bias: Vec<f32>,
}

/// Reads several matrices as one.
fn linear(
    weights: &Safetensors<'_>,
    names: &[String],
    inputs: usize,
    outputs: usize,
) -> Result<Linear, String> {
    let mut linear = Linear { weights: Vec::new(), bias: Vec::new() };
    for name in names {
        linear.weights.extend(weights.tensor(&format!("{name}.weight"), &[outputs, inputs])?);
        linear.bias.extend(weights.tensor(&format!("{name}.bias"), &[outputs])?);
    }
    Ok(linear)
}

fn norm(weights: &Safetensors<'_>, name: &str, dims: usize) -> Result<[Vec<f32>; 2], String> {
    let part = |part| weights.tensor(&format!("{name}.{part}"), &[dims]);
    Ok([part("weight")?, part("bias")?])
}

/// Writes a matrix with its bias, and returns its outputs for these rows before rounding.
fn pass(file: &mut Vec<u8>, linear: &Linear, rows: &[f32]) -> Vec<f32> {
    let (outputs, inputs) = (linear.bias.len(), linear.weights.len() / linear.bias.len());
    let given = InputStatistics::of(rows, inputs);
    let rounded: Vec<(Vec<Group>, f32)> =
        linear.weights.chunks_exact(inputs).map(|row| round::row(row, &given)).collect();
    for lanes in rounded.as_chunks::<OUTPUTS>().0 {
        for group in 0..lanes[0].0.len() {
            file.extend(block(&std::array::from_fn(|lane| lanes[lane].0[group])));
        }
    }
    let bias: Vec<f32> = linear.bias.iter().zip(&rounded).map(|(bias, (_, shift))| bias + shift).collect();
    write_floats(file, &bias);
    let mut out = vec![0.0; rows.len() / inputs * outputs];
    Processor::here().multiply_plain(rows, &linear.weights, inputs, &mut out);
    for row in out.chunks_exact_mut(outputs) {
        row.iter_mut().zip(&linear.bias).for_each(|(out, bias)| *out += bias);
    }
    out
}

/// Returns a block in the order that `kernel::BLOCK` describes.
fn block(groups: &[Group; OUTPUTS]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let (scales, lines) = block.split_at_mut(2 * OUTPUTS);
    for (place, group) in scales.as_chunks_mut().0.iter_mut().zip(groups) {
        *place = group.scale.to_le_bytes();
    }
    for (number, line) in lines.as_chunks_mut::<{ 4 * OUTPUTS }>().0.iter_mut().enumerate() {
        for (at, byte) in line.iter_mut().enumerate() {
            let (codes, input) = (&groups[at / 4].codes, 8 * number + at % 4);
            *byte = codes[input] | codes[input + 4] << 4;
        }
    }
    block
}

fn write_row(file: &mut Vec<u8>, row: &[f32]) {
    let groups: Vec<Group> = row.as_chunks().0.iter().map(round::plain).collect();
    for group in &groups {
        file.extend(group.codes.as_chunks().0.iter().map(|[first, second]| first | second << 4));
    }
    file.extend(groups.iter().flat_map(|group| group.scale.to_le_bytes()));
}

fn write_floats(file: &mut Vec<u8>, values: &[f32]) {
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

/// A vocabulary as the file has it.
struct Names {
    starts: Vec<[u8; 4]>,
    order: Vec<[u8; 4]>,
    names: Vec<u8>,
}

impl Names {
    fn new(names: &[&str]) -> Names {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
        let mut end = 0;
        let ends = names.iter().map(|name| {
            end += name.len();
            number(end)
        });
        let starts = std::iter::once(number(0)).chain(ends).collect();
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|token| names[*token].as_bytes());
        Names { starts, order: order.into_iter().map(number).collect(), names: names.concat().into() }
    }
}
