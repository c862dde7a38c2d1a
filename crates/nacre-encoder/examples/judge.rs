//! Judges pairs of texts: `judge MODEL < PAIRS`, a pair on each line with a tab between, and prints the heads of each.
#![expect(clippy::print_stdout, reason = "a tool for training")]

use std::io::BufRead;

use nacre_encoder::Encoder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Encoder::from_bytes(std::fs::read(std::env::args().nth(1).ok_or("judge MODEL")?)?)?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (one, other) = line.split_once('\t').unwrap_or(("", &line));
        let heads = model.judge(&[model.pair_tokens(one, other)])[0];
        println!("{}", heads.map(|head| format!("{head:.3}")).join("\t"));
    }
    Ok(())
}
