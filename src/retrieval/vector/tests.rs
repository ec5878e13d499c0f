//! Tests of HNSW.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

fn go(_: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Vectors around cluster centres, lengths between 4 and 12, as unnormalised encoders give them.
fn clustered(seed: u64, rows: usize, dim: usize) -> Vectors {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut unit = move || f64::from(random.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0;
    let clusters = (rows / 40).max(1);
    let centres: Vec<f64> = (0..clusters * dim).map(|_| unit()).collect();
    let mut data = Vec::with_capacity(rows * dim);
    for row in 0..rows {
        let centre = &centres[(row % clusters) * dim..][..dim];
        let length = 8.0 + 4.0 * unit();
        data.extend(
            centre
                .iter()
                .map(|c| ((c + 0.4 * unit()) * length / (dim as f64).sqrt()) as f32),
        );
    }
    Vectors::new(dim, data).unwrap()
}

fn sample(vectors: &Vectors) -> Vec<&[f32]> {
    (0..vectors.len())
        .step_by(vectors.len() / 50)
        .filter_map(|position| vectors.full_row(position))
        .collect()
}

fn with(precision: GraphPrecision) -> HnswOptions {
    HnswOptions {
        precision,
        ..HnswOptions::default()
    }
}

#[test]
fn recall_is_high_on_clustered_vectors() {
    for (rows, precision) in [
        (2000, GraphPrecision::Stored),
        (2000, GraphPrecision::Half),
        (2000, GraphPrecision::Int8),
        (6000, GraphPrecision::Stored),
    ] {
        let vectors = clustered(7, rows, 96);
        let hnsw = Hnsw::build(&vectors, with(precision), &mut go).unwrap();
        assert_eq!(hnsw.len(), rows);
        let recall = hnsw
            .recall(&vectors, &sample(&vectors), 10)
            .unwrap()
            .unwrap();
        assert!(
            recall >= 0.95,
            "recall@10 {recall} ({rows} rows, {precision:?})"
        );
    }
}

#[test]
fn a_graph_that_finds_too_little_is_searched_more_thoroughly() {
    // No vector is near another, which is as hard as it gets.
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let data = (0..4000 * 128)
        .map(|_| random.next_u32() as f32 / u32::MAX as f32 - 0.5)
        .collect();
    let vectors = Vectors::new(128, data).unwrap();
    let options = HnswOptions {
        connectivity: 4,
        expansion_search: 2,
        ..HnswOptions::default()
    };
    let mut hnsw = Hnsw::build(&vectors, options, &mut go).unwrap();
    let queries = sample(&vectors);
    let before = hnsw.recall(&vectors, &queries, 10).unwrap().unwrap();
    assert!(before < GOOD_RECALL, "{before}");
    let after = hnsw.tune(&vectors, &queries).unwrap().unwrap();
    let candidates = hnsw.expansion_search();
    assert!(
        after >= GOOD_RECALL && candidates > 2,
        "{after} with {candidates}"
    );
    assert_eq!(hnsw.recall(&vectors, &queries, 10).unwrap(), Some(after));
    // A graph that finds enough stays as it is.
    hnsw.tune(&vectors, &queries).unwrap();
    assert_eq!(hnsw.expansion_search(), candidates);
}

#[test]
fn vectors_kept_in_half_precision_are_searched_as_they_are() {
    let full = clustered(7, 1500, 96);
    let half = full.to_half().unwrap();
    for precision in [
        GraphPrecision::Stored,
        GraphPrecision::Half,
        GraphPrecision::Int8,
    ] {
        let hnsw = Hnsw::build(&half, with(precision), &mut go).unwrap();
        let recall = hnsw.recall(&half, &sample(&full), 10).unwrap().unwrap();
        assert!(recall >= 0.95, "{recall} {precision:?}");
    }
}

#[test]
fn scores_are_inner_products() {
    let vectors = clustered(3, 500, 32);
    let hnsw = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
    let query = vectors.full_row(11).unwrap();
    let truth = exact::top_k(&vectors, query, 5);
    for (hit, wanted) in hnsw.search(query, 5).unwrap().iter().zip(&truth) {
        assert!((hit.score - wanted.score).abs() <= 1e-4 * wanted.score.abs());
    }
    assert_eq!(hnsw.search_rescored(&vectors, query, 5).unwrap(), truth);
}

#[test]
fn small_graphs_are_the_same_every_time() {
    let vectors = clustered(5, 1500, 48);
    let first = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
    let second = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
    for query in sample(&vectors) {
        assert_eq!(
            first.search(query, 20).unwrap(),
            second.search(query, 20).unwrap()
        );
    }
}

/// Options that build the same graph every time, and one of each precision.
fn settled() -> [HnswOptions; 3] {
    [
        GraphPrecision::Stored,
        GraphPrecision::Half,
        GraphPrecision::Int8,
    ]
    .map(|precision| HnswOptions {
        threads: Some(1),
        ..with(precision)
    })
}

#[test]
fn a_saved_graph_answers_as_before_loaded_and_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let vectors = clustered(9, 800, 24);
    for options in settled() {
        let hnsw = Hnsw::build(&vectors, options, &mut go).unwrap();
        hnsw.save(&path, &vectors).unwrap();
        let bytes = hnsw.to_bytes().unwrap();
        for again in [
            Hnsw::load(&path, &vectors, options).unwrap(),
            Hnsw::view(&path, &vectors, options).unwrap(),
            Hnsw::from_bytes(&bytes, &vectors, options).unwrap(),
        ] {
            for query in sample(&vectors) {
                let expected = hnsw.search(query, 10).unwrap();
                assert_eq!(again.search(query, 10).unwrap(), expected);
            }
        }
    }
    assert!(Hnsw::from_bytes(b"not a graph", &vectors, HnswOptions::default()).is_err());
    assert!(Hnsw::from_bytes(&[], &vectors, HnswOptions::default()).is_err());
}

#[test]
fn a_graph_of_something_else_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let vectors = clustered(9, 300, 24);
    let options = HnswOptions::default();
    let hnsw = Hnsw::build(&vectors, options, &mut go).unwrap();
    hnsw.save(&path, &vectors).unwrap();
    let m = HnswOptions {
        connectivity: 8,
        ..options
    };
    for (vectors, options, part) in [
        (&clustered(9, 301, 24), options, "300 vectors"),
        (&clustered(9, 300, 32), options, "24 dimensions"),
        (&clustered(8, 300, 24), options, "other vectors"),
        (&vectors.to_half().unwrap(), options, "other vectors"),
        (&vectors, with(GraphPrecision::Int8), "Int8"),
        (&vectors, m, "M 8"),
    ] {
        let message = Hnsw::view(&path, vectors, options).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
        assert!(message.contains("build it again"), "{message}");
    }
    assert!(Hnsw::load(&folder.path().join("none"), &vectors, options).is_err());
}

#[test]
fn cut_and_damaged_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let vectors = clustered(9, 60, 8);
    for options in settled() {
        let hnsw = Hnsw::build(&vectors, options, &mut go).unwrap();
        hnsw.save(&path, &vectors).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(Hnsw::view(&path, &vectors, options).is_err(), "{length}");
            assert!(Hnsw::load(&path, &vectors, options).is_err(), "{length}");
        }
        let mut noticed = 0;
        for at in (0..whole.len()).step_by(13) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            noticed += usize::from(Hnsw::load(&path, &vectors, options).is_err());
            // Looked at, it must not crash, whatever it finds.
            if let Ok(hnsw) = Hnsw::view(&path, &vectors, options) {
                hnsw.search(&[1.0; 8], 5).unwrap();
            }
        }
        let tried = whole.len().div_ceil(13);
        // What lies between the copy and the graph is never read.
        assert!(noticed + 5 >= tried, "{noticed} of {tried}");
    }
}

#[test]
fn no_damage_to_the_links_gets_past_their_test_and_crashes() {
    let vectors = clustered(9, 200, 8);
    let options = settled()[0];
    let whole = Hnsw::build(&vectors, options, &mut go)
        .unwrap()
        .to_bytes()
        .unwrap();
    links::check(&whole, 200).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).step_by(17) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x80;
        match Hnsw::from_bytes(&damaged, &vectors, options) {
            Err(_) => refused += 1,
            Ok(hnsw) => assert!(hnsw.search(&[1.0; 8], 5).unwrap().len() <= 5),
        }
    }
    // Unused room for links may hold anything, but the links do not.
    assert!(
        refused > whole.len() / 17 / 4,
        "{refused} of {}",
        whole.len()
    );
    for length in (0..whole.len()).step_by(31) {
        assert!(links::check(&whole[..length], 200).is_err(), "{length}");
    }
    assert!(links::check(&whole, 201).is_err());
}

/// Builds with checkpoints every 100 rows and stops at the given number of rows.
fn stopped(
    path: &Path,
    vectors: &Vectors,
    options: HnswOptions,
    stop: usize,
) -> Result<Hnsw, RetrievalError> {
    Hnsw::build_in_steps(path, vectors, options, 100, &mut |added| {
        if added >= stop {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
}

#[test]
fn a_stopped_build_goes_on_and_gives_the_same_bytes() {
    let vectors = clustered(4, 900, 32);
    for options in settled() {
        let folder = tempfile::tempdir().unwrap();
        let [whole, resumed] = ["whole", "resumed"].map(|name| folder.path().join(name));
        stopped(&whole, &vectors, options, usize::MAX).unwrap();
        for stop in [128, 384, 640] {
            assert!(stopped(&resumed, &vectors, options, stop).is_err());
            assert!(part_of(&resumed).exists() && !resumed.exists());
        }
        stopped(&resumed, &vectors, options, usize::MAX).unwrap();
        assert_eq!(
            std::fs::read(&whole).unwrap(),
            std::fs::read(&resumed).unwrap()
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        // The finished file is loaded: nothing is added.
        stopped(&resumed, &vectors, options, 0).unwrap();
    }
}

#[test]
fn many_threads_go_on_where_they_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let vectors = clustered(4, 3000, 64);
    let options = HnswOptions {
        threads: Some(3),
        ..HnswOptions::default()
    };
    assert!(stopped(&path, &vectors, options, 1).is_err());
    let mut first = None;
    let hnsw = Hnsw::build_in_steps(&path, &vectors, options, 100, &mut |added| {
        first.get_or_insert(added);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(first.unwrap() > 0, "it began anew");
    assert_eq!(hnsw.len(), 3000);
    let recall = hnsw.recall(&vectors, &sample(&vectors), 10).unwrap();
    assert!(recall.unwrap() >= 0.95, "{recall:?}");
    for position in [0, 1500, 2999] {
        let query = vectors.full_row(position).unwrap();
        assert_eq!(
            hnsw.search(query, 1).unwrap()[0].position,
            exact::top_k(&vectors, query, 1)[0].position
        );
    }
}

#[test]
fn a_checkpoint_of_something_else_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let options = settled()[0];
    let (vectors, others) = (clustered(4, 900, 32), clustered(5, 900, 32));
    assert!(stopped(&path, &others, options, 512).is_err());
    stopped(&path, &vectors, options, usize::MAX).unwrap();
    let alone = folder.path().join("alone");
    stopped(&alone, &vectors, options, usize::MAX).unwrap();
    assert_eq!(
        std::fs::read(&path).unwrap(),
        std::fs::read(&alone).unwrap()
    );
    std::fs::write(part_of(&path), "rubbish").unwrap();
    std::fs::remove_file(&path).unwrap();
    stopped(&path, &vectors, options, usize::MAX).unwrap();
    assert_eq!(
        std::fs::read(&path).unwrap(),
        std::fs::read(&alone).unwrap()
    );
}

#[test]
fn more_threads_than_reserved_may_search() {
    let vectors = clustered(1, 600, 16);
    let built = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
    let bytes = built.to_bytes().unwrap();
    let loaded = Hnsw::from_bytes(&bytes, &vectors, HnswOptions::default()).unwrap();
    for hnsw in [&built, &loaded] {
        let query = vectors.full_row(3).unwrap();
        let expected = hnsw.search(query, 10).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 * graph::SEARCH_THREADS {
                scope.spawn(|| {
                    for _ in 0..50 {
                        assert_eq!(hnsw.search(query, 10).unwrap(), expected);
                    }
                });
            }
        });
    }
}

#[test]
fn edges_are_errors_or_empty_never_a_crash() {
    let none = Vectors::new(8, vec![]).unwrap();
    let hnsw = Hnsw::build(&none, HnswOptions::default(), &mut go).unwrap();
    assert!(hnsw.search(&[0.0; 8], 5).unwrap().is_empty());
    assert_eq!(hnsw.recall(&none, &[], 10).unwrap(), None);
    let message = hnsw.search(&[0.0; 7], 5).unwrap_err().to_string();
    assert!(message.contains("7 dimensions"), "{message}");
    let one = Vectors::new(2, vec![1.0, 2.0]).unwrap();
    let hnsw = Hnsw::build(&one, HnswOptions::default(), &mut go).unwrap();
    assert_eq!(hnsw.search(&[1.0, 1.0], usize::MAX).unwrap().len(), 1);
}

#[test]
fn building_can_be_cancelled() {
    for rows in [1000, ONE_THREAD_BELOW + 4000] {
        let vectors = clustered(2, rows, 64);
        let error = Hnsw::build(&vectors, HnswOptions::default(), &mut |_| {
            ControlFlow::Break(())
        });
        assert!(error.is_err(), "{rows} rows");
    }
}
