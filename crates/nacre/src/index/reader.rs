//! The reader: a small transformer that is compiled in and reads two texts together, word by word. It judges whether two
//! statements contradict each other, whether a sentence of a conversation will matter later, and whether a memory helps with
//! a message; and it tells how near in meaning a line is to a question.
//!
//! It needs a few milliseconds for a text, a thousand times as long as the vectors of `embed::builtin`. So it only reads what they
//! and words have found. `training/README.md` describes how it is trained.

use std::sync::LazyLock;

use nacre_encoder::{Encoder, HEADS};

use crate::base::text;

static MODEL: LazyLock<Encoder> = LazyLock::new(|| {
    let file = include_bytes!("../../model/reader.bin");
    Encoder::from_program(file).expect("a test opens the compiled-in model")
});

/// Longer texts are cut, as in training.
const MAX_CHARS: usize = 600;
/// Only if the first reading says this much, the two texts are read in the other order too.
const WORTH_A_SECOND_READING: f32 = 0.2;

/// The judgements of a pair, as logarithms of the odds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judgement {
    /// The second text is a memory that helps with the first one, a message.
    pub(crate) helps: f32,
    /// The second text is a sentence that will matter in weeks; the first one was said before it, or is empty.
    pub(crate) lasts: f32,
}

/// Judges pairs of texts.
pub(crate) fn judge(pairs: &[(&str, &str)]) -> Vec<Judgement> {
    heads(pairs).into_iter().map(|[_, _, _, lasts, helps]| Judgement { helps, lasts }).collect()
}

/// Returns the size of a pair in tokens. The time of a reading grows with it.
pub(crate) fn size(one: &str, other: &str) -> usize {
    MODEL.pair_tokens(&text::cut(one, MAX_CHARS), &text::cut(other, MAX_CHARS)).len()
}

/// Returns how likely it is that two statements cannot both hold, as the logarithm of the odds.
pub(crate) fn contradiction(earlier: &str, later: &str) -> f32 {
    let first = conflict_share(&heads(&[(earlier, later)])[0]);
    if first < WORTH_A_SECOND_READING {
        return log_odds(first);
    }
    let second = conflict_share(&heads(&[(later, earlier)])[0]);
    log_odds(f32::midpoint(first, second))
}

/// Returns a unit vector of each text. Texts of similar meaning have similar vectors.
pub(crate) fn vectors(texts: &[String]) -> Vec<Vec<f32>> {
    let tokens = |text: &String| MODEL.tokens(&text::cut(text, MAX_CHARS), |_| true);
    MODEL.encode(&texts.iter().map(tokens).collect::<Vec<_>>())
}

/// Identifies the model: vectors of two versions can't be compared.
pub(crate) fn version() -> &'static str {
    MODEL.version()
}

/// Returns the number of components of a vector.
pub(crate) fn dims() -> usize {
    MODEL.dims()
}

fn heads(pairs: &[(&str, &str)]) -> Vec<[f32; HEADS]> {
    let tokens = |(one, other): &(&str, &str)| {
        MODEL.pair_tokens(&text::cut(one, MAX_CHARS), &text::cut(other, MAX_CHARS))
    };
    MODEL.judge(&pairs.iter().map(tokens).collect::<Vec<_>>())
}

/// Returns the share of the heads "contradicts" and "updates" beside "neither".
fn conflict_share([neither, contradicts, updates, ..]: &[f32; HEADS]) -> f32 {
    let most = neither.max(*contradicts).max(*updates);
    let [neither, contradicts, updates] = [neither, contradicts, updates].map(|one| (one - most).exp());
    (contradicts + updates) / (neither + contradicts + updates)
}

fn log_odds(share: f32) -> f32 {
    let share = share.clamp(1e-6, 1.0 - 1e-6);
    (share / (1.0 - share)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiled_in_model_is_whole() {
        let file: &'static [u8] = include_bytes!("../../model/reader.bin");
        let model = Encoder::from_bytes(file).unwrap();
        assert_eq!(model.header().shape.judge_layers, 6);
    }

    #[test]
    fn it_reads_what_shares_no_word() {
        let vegan = "I have been vegan since March.";
        let kebab = contradiction(vegan, "Had my lamb kebab with Tom, as every Friday.");
        let bus = contradiction(vegan, "The bus to the office leaves at 7:40.");
        assert!(kebab > bus + 2.0, "{kebab} {bus}");
        let lines = [
            "which seafood should I keep away from",
            "no prawns",
            "the van needs new tyres",
            "choir on Tuesday",
        ];
        let vectors = vectors(&lines.map(String::from));
        let dot = |line: &Vec<f32>| vectors[0].iter().zip(line).map(|(one, other)| one * other).sum::<f32>();
        let near: Vec<f32> = vectors[1..].iter().map(dot).collect();
        assert!(near[0] > near[1] && near[0] > near[2], "{near:?}");
    }

    #[test]
    fn no_text_is_too_odd() {
        for text in ["", "\0", "🦀", &"x ".repeat(10_000), "\u{202e}\u{200d}"] {
            assert!(contradiction(text, text).is_finite());
            assert!(
                judge(&[(text, "a"), ("a", text)])
                    .iter()
                    .all(|one| one.helps.is_finite() && one.lasts.is_finite())
            );
            assert!(vectors(&[text.to_owned()])[0].iter().all(|one| one.is_finite()));
        }
    }
}
