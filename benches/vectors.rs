//! Vector search, timed on request: `benches/vectors.sh` runs it beside its peers in Python.
//!
//! usage: vectors VECTORS.npy QUERIES.npy
//!
//! Reads a command a line and answers each with a line: what was measured, as words and numbers.
//!
//! - `flat THREADS COUNT`: seconds of an exact scan (k = 10) for the first COUNT queries at once;
//!   `flat16` over rows in half precision
//! - `build KIND THREADS`: seconds to build a graph (M 16, ef 128) of KIND `f32`, `f16` or `i8`
//! - `query KIND THREADS EF`: seconds to search it for all queries (k = 10, rescored), and recall@10
//! - `open KIND`: milliseconds to save it, to load it and to open it in its file, and the file's bytes
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use medrgb::retrieval::exact::{self, Scored, Vectors};
use medrgb::retrieval::npy;
use medrgb::retrieval::vector::{GraphPrecision, Hnsw, HnswOptions};

const K: usize = 10;

/// Answers commands until the input ends.
pub fn main() {
    let files: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let [vectors, queries] = files.as_slice() else {
        eprintln!("SKIPPED: give VECTORS.npy and QUERIES.npy; benches/vectors.sh makes them");
        return;
    };
    let open = |path: &String| {
        let vectors = npy::open(Path::new(path)).expect("the file can be opened");
        vectors.loaded().expect("the numbers are finite")
    };
    let mut bench = Bench::new(open(vectors), open(queries));
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("the input can be read");
        println!("{}", bench.answer(&line));
        std::io::stdout()
            .flush()
            .expect("the output can be written");
    }
}

struct Bench {
    vectors: Vectors,
    half: Vectors,
    queries: Vec<Vec<f32>>,
    truth: Vec<Vec<Scored>>,
    graphs: HashMap<String, Hnsw>,
}

impl Bench {
    fn new(vectors: Vectors, queries: Vectors) -> Bench {
        let queries: Vec<Vec<f32>> = queries.rows().map(|row| row.into_owned()).collect();
        let views: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
        let truth = exact::top_k_many(&vectors, &views, K);
        let half = vectors.to_half().expect("the numbers fit");
        Bench {
            vectors,
            half,
            queries,
            truth,
            graphs: HashMap::new(),
        }
    }

    fn answer(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| -> usize { words[at].parse().expect("a number") };
        match words[0] {
            "flat" => self.flat(&self.vectors, number(1), number(2)),
            "flat16" => self.flat(&self.half, number(1), number(2)),
            "build" => self.build(words[1], number(2)),
            "query" => self.query(words[1], number(2), number(3)),
            "open" => self.open(words[1]),
            other => panic!("no command {other}"),
        }
    }

    fn flat(&self, vectors: &Vectors, threads: usize, count: usize) -> String {
        let queries: Vec<&[f32]> = self.queries[..count].iter().map(Vec::as_slice).collect();
        let start = Instant::now();
        let found = exact::top_k_with(vectors, &queries, K, threads);
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(found.len(), count);
        format!("{seconds}")
    }

    fn build(&mut self, kind: &str, threads: usize) -> String {
        self.graphs.clear();
        let start = Instant::now();
        let graph = Hnsw::build(&self.vectors, options(kind, threads), &mut |_| {
            ControlFlow::Continue(())
        })
        .expect("it can be built");
        let seconds = start.elapsed().as_secs_f64();
        self.graphs.insert(kind.to_owned(), graph);
        format!("{seconds}")
    }

    fn query(&mut self, kind: &str, threads: usize, ef: usize) -> String {
        let graph = self.graphs.get_mut(kind).expect("it is built");
        graph.set_expansion_search(ef);
        let (graph, vectors) = (&*graph, &self.vectors);
        let share = self.queries.len().div_ceil(threads);
        let start = Instant::now();
        let found: Vec<Vec<Scored>> = std::thread::scope(|scope| {
            let workers: Vec<_> = self
                .queries
                .chunks(share)
                .map(|part| {
                    scope.spawn(move || {
                        part.iter()
                            .map(|query| graph.search_rescored(vectors, query, K))
                            .collect::<Result<Vec<_>, _>>()
                            .expect("it can be searched")
                    })
                })
                .collect();
            (workers.into_iter())
                .flat_map(|worker| worker.join().expect("no panic"))
                .collect()
        });
        let seconds = start.elapsed().as_secs_f64();
        let recall = (found.iter().zip(&self.truth))
            .filter_map(|(found, truth)| exact::recall(found, truth))
            .sum::<f64>()
            / self.truth.len() as f64;
        format!("{seconds} {recall}")
    }

    fn open(&self, kind: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("graph");
        let graph = &self.graphs[kind];
        let how = options(kind, 1);
        let milliseconds = |work: &mut dyn FnMut()| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        };
        let save = milliseconds(&mut || graph.save(&path, &self.vectors).expect("it can be saved"));
        let load = milliseconds(&mut || {
            Hnsw::load(&path, &self.vectors, how).expect("it can be loaded");
        });
        let view = milliseconds(&mut || {
            Hnsw::view(&path, &self.vectors, how).expect("it can be opened");
        });
        let bytes = std::fs::metadata(&path).expect("it is there").len();
        format!("{save} {load} {view} {bytes}")
    }
}

fn options(kind: &str, threads: usize) -> HnswOptions {
    HnswOptions {
        precision: match kind {
            "f32" => GraphPrecision::Stored,
            "f16" => GraphPrecision::Half,
            "i8" => GraphPrecision::Int8,
            other => panic!("no kind {other}"),
        },
        threads: Some(threads),
        ..HnswOptions::default()
    }
}
