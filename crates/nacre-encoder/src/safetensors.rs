//! Reads published weights: `model.safetensors`, with a JSON header that gives the place of each tensor.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Size limit of the header in bytes; MiniLM's has 11 KB.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// A file of tensors.
pub struct Safetensors<'a> {
    tensors: BTreeMap<String, Value>,
    data: &'a [u8],
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl<'a> Safetensors<'a> {
    /// Reads the header. The error completes a sentence that begins with the file's name.
    pub fn read(file: &'a [u8]) -> Result<Safetensors<'a>, String> {
        let (length, rest) = file.split_first_chunk().ok_or("is too short for weights")?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > MAX_HEADER_BYTES.min(rest.len()) {
            return Err("is not safetensors: its header is longer than the file or than 1 MiB".into());
        }
        let (header, data) = rest.split_at(length);
        let tensors = serde_json::from_slice(header).map_err(|problem| {
            format!("is not safetensors: its header is not a JSON object of tensors: {problem}")
        })?;
        Ok(Safetensors { tensors, data })
    }

    /// Returns the numbers of a tensor, which must have this shape.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self.tensors.get(name).ok_or_else(|| format!("has no tensor `{name}`"))?;
        let tensor = Tensor::deserialize(tensor)
            .map_err(|problem| format!("has an invalid description of tensor `{name}`: {problem}"))?;
        if tensor.shape != shape {
            return Err(format!("has `{name}` in shape {:?}, all-MiniLM-L6-v2 has {shape:?}", tensor.shape));
        }
        if tensor.dtype != "F32" {
            return Err(format!("has `{name}` as {}, only F32 is supported", tensor.dtype));
        }
        let [start, end] = tensor.data_offsets;
        let bytes = self.data.get(start..end).ok_or_else(|| format!("ends before the end of `{name}`"))?;
        if bytes.len() != 4 * shape.iter().product::<usize>() {
            return Err(format!("has {} bytes for `{name}` of shape {shape:?}", bytes.len()));
        }
        let values: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        // Weights of a working model are below 100.
        if !values.iter().all(|value| value.abs() < 10_000.0) {
            return Err(format!("has numbers in `{name}` that can't be weights"));
        }
        Ok(values)
    }
}
