//! Encodes texts by turns, for `benches/encode_peers.py` and `benches/gpu_peers.py`:
//! `encode_turns FOLDER TEXTS.jsonl [THREADS [BACKEND [PRECISION [KERNELS]]]]`, where 0 threads are one per core
//! and KERNELS is the folder for compiled kernels.
//!
//! TEXTS.jsonl holds `title` and `content` per line. Each line of standard input asks for some of them,
//! `{"which": [0, 5], "out": "vectors.f32"}` (`out` may be null); the answer is one line of JSON with the
//! seconds it took, tokenising included. The vectors are written as little-endian `f32`.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use medrgb_encoder::{BackendChoice, Encoder, Input, OpenOptions};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, texts, rest @ ..] = arguments.as_slice() else {
        return Err(
            "usage: encode_turns FOLDER TEXTS.jsonl [THREADS [BACKEND [PRECISION [KERNELS]]]]"
                .into(),
        );
    };
    let options = OpenOptions {
        threads: rest
            .first()
            .map(|n| n.parse())
            .transpose()?
            .filter(|n| *n > 0),
        kernel_cache: rest.get(3).map(Into::into),
        backend: rest
            .get(1)
            .map_or(Ok(BackendChoice::Cpu), |name| name.parse())?,
        precision: rest
            .get(2)
            .map_or(Ok(Default::default()), |name| name.parse())?,
        ..OpenOptions::default()
    };
    let began = Instant::now();
    let encoder = Encoder::open(Path::new(folder), &options)?;
    let opened = began.elapsed().as_secs_f64();
    let texts: Vec<(String, String)> = BufReader::new(File::open(texts)?)
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(&line?)?;
            let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            Ok((field("title"), field("content")))
        })
        .collect::<Result<_, Box<dyn Error>>>()?;
    let mut out = std::io::stdout();
    let ready = json!({"ready": true, "seconds": opened, "backend": encoder.info().backend});
    writeln!(out, "{ready}")?;
    for line in std::io::stdin().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let which = request["which"]
            .as_array()
            .ok_or("expected a list under \"which\"")?;
        let inputs: Vec<Input<'_>> = which
            .iter()
            .filter_map(|index| texts.get(index.as_u64()? as usize))
            .map(|(title, content)| Input::Article { title, content })
            .collect();
        let began = Instant::now();
        let (vectors, _) = encoder.encode(&inputs, &mut |_| ControlFlow::Continue(()))?;
        let seconds = began.elapsed().as_secs_f64();
        if let Some(path) = request["out"].as_str() {
            let bytes: Vec<u8> = vectors.data.iter().flat_map(|x| x.to_le_bytes()).collect();
            std::fs::write(path, bytes)?;
        }
        writeln!(
            out,
            "{}",
            json!({"seconds": seconds, "texts": inputs.len()})
        )?;
    }
    Ok(())
}
