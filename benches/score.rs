//! How long it takes to read 6,960 saved replies under each definition: `cargo bench --bench score`.
//!
//! Needs the MIRAGE replies: `MEDRGB_SHARED` names the folder that holds `data/mirage`. The files are read
//! beforehand; what is timed is the reading of the replies. `benches/score.sh` times the whole program.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::expect_used)]

use std::collections::HashMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use medrgb::data::predictions::{read_predictions, read_questions};
use medrgb::domain::answer::ReplyShape;
use medrgb::domain::definition::{Definition, read, standard_shape};

const ROUNDS: usize = 15;

fn main() {
    let Some(shared) = std::env::var_os("MEDRGB_SHARED").map(PathBuf::from) else {
        eprintln!("SKIPPED: set MEDRGB_SHARED to the folder that holds data/mirage");
        return;
    };
    let replies = replies(&shared.join("data/mirage"));
    let bytes: usize = replies
        .iter()
        .filter_map(|(_, reply)| Some(reply.as_ref()?.len()))
        .sum();
    println!("{} replies, {:.1} MB", replies.len(), bytes as f64 / 1e6);
    for definition in [Definition::Mirage, Definition::Strict, Definition::Paper] {
        let mut times: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                for (shape, reply) in &replies {
                    black_box(read(definition, reply.as_deref(), shape));
                }
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        let median = times[ROUNDS / 2].as_secs_f64();
        println!(
            "{:<8} median {:>7.1} ms (fastest {:>7.1}, slowest {:>7.1}), {:>6.0} MB/s, {:>5.1} µs a reply",
            definition.name(),
            median * 1e3,
            times[0].as_secs_f64() * 1e3,
            times[ROUNDS - 1].as_secs_f64() * 1e3,
            bytes as f64 / 1e6 / median,
            median * 1e6 / replies.len() as f64,
        );
    }
}

fn replies(folder: &Path) -> Vec<(ReplyShape, Option<String>)> {
    let mut replies = Vec::new();
    for set in ["mmlu", "medqa", "pubmedqa", "bioasq"] {
        let questions = read_questions(&folder.join("benchmark.json.gz"), Some(set))
            .expect("the questions can be read");
        let shapes: HashMap<&str, ReplyShape> = questions
            .iter()
            .map(|question| (question.id.as_str(), standard_shape(question)))
            .collect();
        for run in ["cot", "medrag32"] {
            let file = folder.join(format!("predictions/{set}.gpt-3.5.{run}.jsonl"));
            read_predictions(&file, &mut |_, prediction| {
                let shape = shapes.get(prediction.id.as_str()).ok_or("unknown id")?;
                replies.push((shape.clone(), prediction.response));
                Ok(())
            })
            .expect("the replies can be read");
        }
    }
    replies
}
