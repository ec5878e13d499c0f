//! Scores JSON lines with a cross-encoder: `score FOLDER PAIRS.jsonl [auto|cuda|wgpu|cpu]`.
//!
//! A line holds `query` and `text`; one logit per line goes to standard output.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;

use medrgb_encoder::{CrossEncoder, OpenOptions, Pair};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, pairs, rest @ ..] = arguments.as_slice() else {
        return Err("usage: score FOLDER PAIRS.jsonl [auto|cuda|wgpu|cpu]".into());
    };
    let options = OpenOptions {
        backend: rest
            .first()
            .map(|name| name.parse())
            .transpose()?
            .unwrap_or_default(),
        ..OpenOptions::default()
    };
    let cross = CrossEncoder::open(Path::new(folder), &options)?;
    let lines: Vec<Value> = BufReader::new(File::open(pairs)?)
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<Result<_, Box<dyn Error>>>()?;
    let pairs: Vec<Pair<'_>> = lines
        .iter()
        .map(|line| Pair {
            query: line["query"].as_str().unwrap_or_default(),
            text: line["text"].as_str().unwrap_or_default(),
        })
        .collect();
    let (logits, timing) = cross.score(&pairs, &mut |_| ControlFlow::Continue(()))?;
    let mut out = std::io::stdout().lock();
    for logit in logits {
        writeln!(out, "{logit}")?;
    }
    let rate = pairs.len() as f64 / timing.encode.as_secs_f64();
    writeln!(std::io::stderr(), "{rate:.2} pairs/s")?;
    Ok(())
}
