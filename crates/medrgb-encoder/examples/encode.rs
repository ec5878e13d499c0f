//! Encodes JSON lines into a NumPy file: `encode FOLDER IN.jsonl OUT.npy [auto|cuda|wgpu|cpu]`.
//!
//! A line holds `text` (a query), or `title` and `content` (an article). Beside OUT.npy goes
//! OUT.npy.ids, the word pieces of each line as JSON, for comparing tokenizers.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

use medrgb_encoder::{Embeddings, Encoder, Input, OpenOptions};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, input, output, rest @ ..] = arguments.as_slice() else {
        return Err("usage: encode FOLDER IN.jsonl OUT.npy [auto|cuda|wgpu|cpu]".into());
    };
    let backend = rest
        .first()
        .map(|name| name.parse())
        .transpose()?
        .unwrap_or_default();
    let began = std::time::Instant::now();
    let encoder = Encoder::open(
        Path::new(folder),
        &OpenOptions {
            backend,
            ..OpenOptions::default()
        },
    )?;
    let opened = began.elapsed();
    let lines = BufReader::new(File::open(input)?).lines();
    let lines: Vec<Value> = lines
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<Result<_, Box<dyn Error>>>()?;
    let inputs: Vec<Input<'_>> = lines.iter().map(to_input).collect();
    let (embeddings, timing) = encoder.encode(&inputs, &mut |_| ControlFlow::Continue(()))?;
    write_npy(output, &embeddings)?;
    let ids: Vec<Vec<u32>> = encoder
        .tokenize(&inputs)?
        .into_iter()
        .map(|tokens| tokens.ids)
        .collect();
    std::fs::write(format!("{output}.ids"), serde_json::to_string(&ids)?)?;
    let rate = inputs.len() as f64 / timing.encode.as_secs_f64();
    writeln!(
        std::io::stderr(),
        "{}\nopened in {opened:.2?}, tokenized in {:.2?}, encoded in {:.2?}: {rate:.1} texts/s",
        serde_json::to_string_pretty(encoder.info())?,
        timing.tokenize,
        timing.encode,
    )?;
    Ok(())
}

fn to_input(line: &Value) -> Input<'_> {
    let field = |name: &str| line[name].as_str().unwrap_or_default();
    match line.get("text").and_then(Value::as_str) {
        Some(text) => Input::Query(text),
        None => Input::Article {
            title: field("title"),
            content: field("content"),
        },
    }
}

/// NumPy's format, version 1.0: magic, header padded to a multiple of 64, little-endian numbers.
fn write_npy(path: &str, embeddings: &Embeddings) -> std::io::Result<()> {
    let (n, dim) = (embeddings.len(), embeddings.dim);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, {dim}), }}");
    let width = (10 + header.len() + 1).next_multiple_of(64) - 11;
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&(width as u16 + 1).to_le_bytes())?;
    writeln!(file, "{header:width$}")?;
    for number in &embeddings.data {
        file.write_all(&number.to_le_bytes())?;
    }
    file.flush()
}
