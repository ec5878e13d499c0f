//! How fast an index folder opens, answers by BM25 and gives the text of a hit: `benches/index.sh` builds one and
//! runs this on it.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use medrgb::retrieval::index::{IndexFolder, IndexSet};
use medrgb::retrieval::{Method, RetrievalError, Search};

const ROUNDS: usize = 200;

/// Milliseconds of each round, sorted.
fn timed(
    mut work: impl FnMut(usize) -> Result<(), RetrievalError>,
) -> Result<Vec<f64>, RetrievalError> {
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let started = Instant::now();
        work(round)?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn say(what: &str, times: &[f64]) {
    println!(
        "{what}: median {:.3} ms, 95 % within {:.3} ms, at most {:.3} ms",
        times[ROUNDS / 2],
        times[ROUNDS * 95 / 100],
        times[ROUNDS - 1]
    );
}

fn measure(folder: &Path) -> Result<(), RetrievalError> {
    say("open", &timed(|_| IndexFolder::open(folder).map(drop))?);
    let set = IndexSet::open(&[folder.to_path_buf()])?;
    let documents = set.info().documents;
    // Places spread over the whole store by a step that shares no factor with most counts.
    let place = |round: usize| round.wrapping_mul(7_368_787) % documents.max(1);
    let mut characters = 0;
    let texts = timed(|round| {
        characters += set
            .document(place(round))
            .map_or(0, |text| text.content.len());
        Ok(())
    })?;
    say("text of a hit", &texts);
    let queries: Vec<String> = (0..ROUNDS)
        .filter_map(|round| set.document(place(round * 31 + 7)))
        .map(|text| {
            text.content
                .split(' ')
                .take(12)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let searches = timed(|round| {
        let query = queries.get(round).map_or("heart", String::as_str);
        set.search(query, Method::Bm25, 10).map(drop)
    })?;
    say("BM25, 12 words, 10 hits with their texts", &searches);
    println!("{documents} documents, {characters} characters read");
    Ok(())
}

fn main() {
    // `cargo bench` passes flags of its own harness.
    let folder = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    match folder.map(PathBuf::from) {
        None => eprintln!("SKIPPED: name an index folder; benches/index.sh makes one"),
        Some(folder) => {
            if let Err(error) = measure(&folder) {
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
    }
}
