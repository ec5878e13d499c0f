//! A build that is killed at any of the moments at which it reports progress goes on to the same bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::state::{STATE, State};
use super::*;
use crate::retrieval::corpus;
use crate::retrieval::vector::GraphPrecision;
use crate::retrieval::{BuildProgress, Method, Search};

const WORDS: [&str; 9] = [
    "heart", "renal", "failure", "trial", "aspirin", "lung", "dose", "the", "fever",
];

/// A corpus of two files with bad records and an id that comes twice.
fn inputs(home: &Path) -> Vec<Input> {
    let text = |at: usize| -> String {
        (0..at % 37)
            .map(|i| format!("{} ", WORDS[(at * i + i) % 9]))
            .collect()
    };
    let mut lines: Vec<String> = (0..300)
        .map(|at| {
            format!(
                "{{\"_id\":\"d{at}\",\"title\":\"{}\",\"text\":\"{}\"}}",
                WORDS[at % 9],
                text(at)
            )
        })
        .collect();
    lines.insert(70, "nonsense".into());
    lines.insert(130, "{\"_id\":\"d5\",\"text\":\"twice\"}".into());
    std::fs::write(home.join("a.jsonl"), lines.join("\n")).unwrap();
    std::fs::write(
        home.join("book.txt"),
        "A textbook of medicine. ".repeat(400),
    )
    .unwrap();
    let found = corpus::find(&[home.join("a.jsonl"), home.join("book.txt")], None).unwrap();
    found.files.into_iter().map(Input::File).collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    // A merge in the background may take files away meanwhile, as it may before a kill.
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let target = to.join(entry.file_name());
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        match kind.is_dir() {
            true => copy(&entry.path(), &target),
            false => match std::fs::copy(entry.path(), target) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                copied => drop(copied.unwrap()),
            },
        }
    }
}

fn go(_: BuildProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn bm25_build<'a>(out: &'a Path, inputs: &[Input], shard: Shard) -> Build<'a> {
    Build {
        out,
        inputs: inputs.to_vec(),
        vectors: BuildVectors::None,
        shard,
        graph: GraphPrecision::Stored,
    }
}

/// Ids with their scores, one list per query.
type Hits = Vec<Vec<(String, f32)>>;

/// Texts, offsets, ids and bad records of a finished index, and the hits of some queries.
fn content(folder: &Path) -> (Vec<Vec<u8>>, Hits) {
    let files = [store::DOCUMENTS, store::OFFSETS, store::IDS, PROBLEMS]
        .map(|name| std::fs::read(folder.join(name)).unwrap());
    let set = IndexSet::open(&[folder.to_path_buf()]).unwrap();
    let hits = ["heart failure", "textbook", "renal aspirin dose"]
        .iter()
        .map(|query| {
            let found = set.search(query, Method::Bm25, 50).unwrap();
            found
                .hits
                .into_iter()
                .map(|hit| (hit.id, hit.score))
                .collect()
        })
        .collect();
    (files.into(), hits)
}

#[test]
fn a_build_killed_at_any_moment_goes_on_to_the_same() {
    let home = tempfile::tempdir().unwrap();
    let inputs = inputs(home.path());
    let (whole, snapshots) = (home.path().join("whole"), home.path().join("snapshots"));
    let mut taken: Vec<PathBuf> = Vec::new();
    let built = build(&bm25_build(&whole, &inputs, Shard::WHOLE), &mut |_| {
        // What is on disk now is what a kill now would leave.
        let to = snapshots.join(taken.len().to_string());
        copy(&whole, &to);
        taken.push(to);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(built.manifest.documents > 305, "{built:?}");
    assert_eq!(built.manifest.bad_records, 2);
    let expected = content(&whole);
    assert!(taken.len() >= 6, "{} snapshots", taken.len());
    for folder in taken {
        build(&bm25_build(&folder, &inputs, Shard::WHOLE), &mut go).unwrap();
        assert!(content(&folder) == expected, "{}", folder.display());
        assert!(!folder.join(STATE).exists());
    }
}

#[test]
fn a_build_that_is_stopped_again_and_again_ends_the_same() {
    let home = tempfile::tempdir().unwrap();
    let inputs = inputs(home.path());
    let (whole, halting) = (home.path().join("whole"), home.path().join("halting"));
    build(&bm25_build(&whole, &inputs, Shard::WHOLE), &mut go).unwrap();
    let mut stops = 0;
    for patience in 1.. {
        let mut calls = 0;
        let result = build(&bm25_build(&halting, &inputs, Shard::WHOLE), &mut |_| {
            calls += 1;
            match calls >= patience {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        match result {
            Ok(_) => break,
            Err(error) => assert!(error.to_string().contains("goes on"), "{error}"),
        }
        stops += 1;
    }
    assert!(stops >= 3, "{stops} stops");
    assert!(content(&halting) == content(&whole));
}

#[test]
fn a_merge_killed_at_any_moment_goes_on_to_the_whole() {
    let home = tempfile::tempdir().unwrap();
    let inputs = inputs(home.path());
    let whole = home.path().join("whole");
    build(&bm25_build(&whole, &inputs, Shard::WHOLE), &mut go).unwrap();
    let shards: Vec<PathBuf> = (1..=4)
        .map(|part| {
            let out = home.path().join(format!("part{part}"));
            build(&bm25_build(&out, &inputs, Shard { part, of: 4 }), &mut go).unwrap();
            out
        })
        .collect();
    let merged = home.path().join("merged");
    let mut taken: Vec<PathBuf> = Vec::new();
    merge(&shards, &merged, &mut |_| {
        let to = home.path().join(format!("snapshot{}", taken.len()));
        copy(&merged, &to);
        taken.push(to);
        ControlFlow::Continue(())
    })
    .unwrap();
    let expected = content(&whole);
    assert!(content(&merged) == expected);
    for folder in taken {
        merge(&shards, &folder, &mut go).unwrap();
        assert!(content(&folder) == expected, "{}", folder.display());
    }
}

/// Vectors that depend on a text and on the texts it is encoded with, as real ones do in their last bits.
fn encode(
    texts: &[(&str, &str)],
    tell: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Vec<f32>, RetrievalError> {
    if tell(0).is_break() {
        return Err(RetrievalError::cancelled());
    }
    let company: usize = texts.iter().map(|(_, content)| content.len()).sum();
    Ok(texts
        .iter()
        .flat_map(|(title, content)| [title.len() as f32, content.len() as f32, company as f32])
        .collect())
}

#[test]
fn vectors_do_not_depend_on_where_encoding_was_killed() {
    let home = tempfile::tempdir().unwrap();
    let inputs = inputs(home.path());
    let base = home.path().join("base");
    let built = build(&bm25_build(&base, &inputs, Shard::WHOLE), &mut go).unwrap();
    let manifest = built.manifest;
    let store = Store::open(&base, manifest.documents, manifest.text_bytes).unwrap();
    let mut request = manifest.request;
    request.step = 16;
    let run = |folder: &Path, state: &mut State, progress: &mut crate::retrieval::Progress<'_>| {
        vectors::encode(folder, &store, 3, state, &mut encode, progress)
    };
    let expected = {
        let whole = home.path().join("whole");
        std::fs::create_dir(&whole).unwrap();
        run(&whole, &mut State::new(request.clone()), &mut go).unwrap();
        std::fs::read(whole.join(vectors::VECTORS)).unwrap()
    };
    for patience in [1, 3, 8, 20, 33] {
        let folder = home.path().join(format!("stopped{patience}"));
        std::fs::create_dir(&folder).unwrap();
        let mut state = State::new(request.clone());
        let mut calls = 0;
        let stopped = run(&folder, &mut state, &mut |_| {
            calls += 1;
            match calls > patience {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        assert!(stopped.is_err(), "{patience}");
        let mut state: State = state::read(&folder, STATE).unwrap().unwrap();
        let mut seen = Vec::new();
        run(&folder, &mut state, &mut |at| {
            seen.push(at.done);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(seen.last(), Some(&manifest.documents));
        let got = std::fs::read(folder.join(vectors::VECTORS)).unwrap();
        assert!(got == expected, "stopped after {patience} calls");
    }
}
