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
    merge(&shards, &merged, None, &mut |_| {
        let to = home.path().join(format!("snapshot{}", taken.len()));
        copy(&merged, &to);
        taken.push(to);
        ControlFlow::Continue(())
    })
    .unwrap();
    let expected = content(&whole);
    assert!(content(&merged) == expected);
    for folder in taken {
        merge(&shards, &folder, None, &mut go).unwrap();
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

/// Builds BM25 over these files, in this order.
fn built_from(home: &Path, files: &[(&str, &str)]) -> Result<(PathBuf, Built), RetrievalError> {
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| home.join(name)).collect();
    for (path, (_, text)) in paths.iter().zip(files) {
        std::fs::write(path, text).unwrap();
    }
    let mut found = corpus::find(&paths, None)?;
    corpus::newest_first(&mut found.files);
    let inputs: Vec<Input> = found.files.into_iter().map(Input::File).collect();
    let out = home.join(format!("index-{}", files[0].0));
    let built = build(&bm25_build(&out, &inputs, Shard::WHOLE), &mut go)?;
    Ok((out, built))
}

#[test]
fn deleted_citations_are_left_out_where_the_newest_file_is_named_first() {
    let citation = |pmid: u32, title: &str| {
        format!(
            "<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><ArticleTitle>{title}</ArticleTitle></Article></MedlineCitation></PubmedArticle>"
        )
    };
    let set = |body: String| format!("<PubmedArticleSet>{body}</PubmedArticleSet>");
    let old = set(citation(1, "first") + &citation(2, "gone") + &citation(3, "third"));
    let new = set(citation(1, "revised")
        + "<DeleteCitation><PMID Version=\"1\">2</PMID><PMID Version=\"1\">9</PMID></DeleteCitation>");
    for (files, ids, title, bad, said) in [
        (
            [("new.xml", &*new), ("old.xml", &*old)],
            vec!["1", "3"],
            "revised",
            2,
            "is deleted by a file",
        ),
        (
            [("old.xml", &*old), ("new.xml", &*new)],
            vec!["1", "2", "3"],
            "first",
            2,
            "before and stays",
        ),
        // PubMed's own names say which is newer.
        (
            [("pubmed26n0009.xml", &*old), ("pubmed26n0010.xml", &*new)],
            vec!["1", "3"],
            "revised",
            2,
            "is deleted by a file",
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let (out, built) = built_from(home.path(), &files).unwrap();
        let set = IndexSet::open(std::slice::from_ref(&out)).unwrap();
        let texts: Vec<Text<'_>> = (0..set.folders()[0].store().len())
            .map(|at| set.document(at).unwrap())
            .collect();
        assert_eq!(texts.iter().map(|text| text.id).collect::<Vec<_>>(), ids);
        assert_eq!(texts[0].title, title);
        assert_eq!(built.manifest.bad_records, bad);
        let problems = std::fs::read_to_string(out.join(PROBLEMS)).unwrap();
        assert!(problems.contains(said), "{problems}");
    }
}

/// The texts of a finished index.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let index = IndexFolder::open(folder).unwrap();
    (0..index.store().len())
        .map(|at| index.store().get(at).unwrap())
        .map(|text| (text.id.to_owned(), text.title.to_owned()))
        .collect()
}

#[test]
fn within_a_file_the_last_version_of_a_citation_and_its_deletion_count() {
    let citation = |pmid: u32, title: &str| {
        format!(
            "<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><ArticleTitle>{title}</ArticleTitle></Article></MedlineCitation></PubmedArticle>"
        )
    };
    let delete =
        |pmid: u32| format!("<DeleteCitation><PMID Version=\"1\">{pmid}</PMID></DeleteCitation>");
    let set = |parts: &[String]| format!("<PubmedArticleSet>{}</PubmedArticleSet>", parts.concat());
    let one = set(&[
        citation(9, "nine 1"),
        delete(9),
        citation(10, "ten"),
        citation(9, "nine 2"),
        citation(11, "eleven"),
        citation(12, "twelve 1"),
        citation(12, "twelve 2"),
        citation(12, "twelve 3"),
        delete(11),
    ]);
    // What one file deletes stays deleted in files after it; what it deletes and has again does not matter there.
    let older = set(&[
        citation(11, "older"),
        citation(9, "nine 0"),
        citation(8, "eight"),
    ]);
    let home = tempfile::tempdir().unwrap();
    let (out, built) =
        built_from(home.path(), &[("one.xml", &*one), ("older.xml", &*older)]).unwrap();
    let pair = |id: &str, title: &str| (id.to_owned(), title.to_owned());
    assert_eq!(
        texts(&out),
        [
            pair("10", "ten"),
            pair("9", "nine 2"),
            pair("12", "twelve 3"),
            pair("8", "eight")
        ]
    );
    // nine 1, eleven, twelve 1 and 2; of the older file eleven and nine.
    assert_eq!(built.manifest.bad_records, 6);
    let problems = std::fs::read_to_string(out.join(PROBLEMS)).unwrap();
    for part in [
        "\\\"9\\\" is deleted further down",
        "\\\"12\\\" is there again in a later version",
        "\\\"11\\\" is deleted further down",
        "\\\"11\\\" is deleted by a file",
        "\\\"9\\\" was there before",
    ] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
    // Wherever reading is stopped, it goes on to the same.
    let found = corpus::find(&[home.path().join("one.xml")], None).unwrap();
    let inputs: Vec<Input> = found.files.into_iter().map(Input::File).collect();
    let whole = home.path().join("whole");
    build(&bm25_build(&whole, &inputs, Shard::WHOLE), &mut go).unwrap();
    for patience in 0..4 {
        let halted = home.path().join(format!("halted{patience}"));
        let mut calls = 0;
        let first = build(&bm25_build(&halted, &inputs, Shard::WHOLE), &mut |_| {
            calls += 1;
            match calls > patience {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        // Looking for versions and reading each ask once; what comes later may be done before it asks.
        assert!(first.is_err() || patience > 1, "{patience}");
        build(&bm25_build(&halted, &inputs, Shard::WHOLE), &mut go).unwrap();
        assert_eq!(texts(&halted), texts(&whole));
    }
}

#[test]
fn files_of_zeros_missing_files_and_no_text_are_damage() {
    let home = tempfile::tempdir().unwrap();
    let (out, _) = built_from(home.path(), &[("one.txt", "heart failure")]).unwrap();
    let said = || {
        let set = match IndexSet::open(std::slice::from_ref(&out)) {
            Ok(set) => set,
            Err(error) => return error.to_string(),
        };
        match set.search("heart", Method::Bm25, 9) {
            Ok(found) => format!("{:?}", found.hits),
            Err(error) => error.to_string(),
        }
    };
    assert!(said().contains("heart failure"), "{}", said());
    for name in [store::DOCUMENTS, store::OFFSETS, store::IDS, MANIFEST] {
        let path = out.join(name);
        let whole = std::fs::read(&path).unwrap();
        let mut swaps = vec![vec![0xff; whole.len()]];
        if name != MANIFEST {
            swaps.push(vec![0; whole.len()]);
        }
        for swap in swaps {
            // A new file: the old one may still be mapped.
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, swap).unwrap();
            let said = said();
            assert!(said.contains("the index is damaged"), "{name}: {said}");
            assert!(!said.contains("fetch it again"), "{name}: {said}");
        }
        std::fs::remove_file(&path).unwrap();
        if name != MANIFEST {
            let said = said();
            assert!(
                said.contains("is missing; the index is damaged"),
                "{name}: {said}"
            );
        }
        std::fs::write(&path, whole).unwrap();
    }
    // Only the text of a document is lost, its id is there.
    let (long, _) = built_from(home.path(), &[("two.txt", &"heart failure ".repeat(9))]).unwrap();
    let path = long.join(store::DOCUMENTS);
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 40..].fill(0);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let set = IndexSet::open(&[long]).unwrap();
    let error = set.search("heart", Method::Bm25, 9).unwrap_err();
    assert!(
        error.to_string().contains("the index is damaged"),
        "{error}"
    );
}

#[test]
fn a_shard_without_documents_says_what_helps_and_a_folder_without_any_is_free() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("c.jsonl"),
        "{\"_id\":\"a\",\"text\":\"heart\"}\n{\"_id\":\"b\",\"text\":\"lung\"}\n",
    )
    .unwrap();
    let found = corpus::find(&[home.path().join("c.jsonl")], None).unwrap();
    let inputs: Vec<Input> = found.files.into_iter().map(Input::File).collect();
    let out = home.path().join("part3");
    for _ in 0..2 {
        let error = build(
            &bm25_build(&out, &inputs, Shard { part: 3, of: 3 }),
            &mut go,
        );
        let said = error.unwrap_err().to_string();
        assert!(said.contains("in at most 2 parts"), "{said}");
    }
    let said = merge(&[out], &home.path().join("merged"), None, &mut go)
        .unwrap_err()
        .to_string();
    assert!(said.contains("in at most 2 parts"), "{said}");

    // A corpus in which nothing can be read leaves a folder that takes another one.
    std::fs::write(home.path().join("bad.jsonl"), "nonsense\n").unwrap();
    let bad = Input::File(CorpusFile {
        path: home.path().join("bad.jsonl"),
        name: "bad.jsonl".into(),
        format: Format::Beir,
    });
    let out = home.path().join("again");
    let said = build(&bm25_build(&out, &[bad], Shard::WHOLE), &mut go)
        .unwrap_err()
        .to_string();
    assert!(said.contains("1 record could not be read"), "{said}");
    assert!(out.join(PROBLEMS).is_file());
    let built = build(&bm25_build(&out, &inputs, Shard::WHOLE), &mut go).unwrap();
    assert_eq!(built.manifest.documents, 2);
    assert_eq!(std::fs::read(out.join(PROBLEMS)).unwrap(), b"");
}

#[test]
fn files_that_hold_nothing_of_their_format_are_not_called_empty() {
    let home = tempfile::tempdir().unwrap();
    let none = built_from(
        home.path(),
        &[("a.xml", "<PubmedArticleSet>\n\n</PubmedArticleSet>")],
    );
    let message = none.unwrap_err().to_string();
    assert!(
        message.contains("nothing in a.xml can be read as pubmed"),
        "{message}"
    );
    let message = built_from(home.path(), &[("b.txt", "")])
        .unwrap_err()
        .to_string();
    assert!(message.contains("are empty"), "{message}");
}

#[test]
fn hits_say_their_index_and_an_index_is_named_once() {
    let home = tempfile::tempdir().unwrap();
    let (one, _) = built_from(home.path(), &[("one.txt", "heart failure")]).unwrap();
    let (two, _) = built_from(home.path(), &[("two.txt", "heart rate")]).unwrap();
    let set = IndexSet::open(&[one.clone(), two.clone()]).unwrap();
    let found = set.search("heart", Method::Bm25, 9).unwrap();
    let mut origins: Vec<String> = found
        .hits
        .iter()
        .filter_map(|hit| set.origin(hit))
        .collect();
    origins.sort();
    assert_eq!(
        origins,
        [one.display().to_string(), two.display().to_string()]
    );
    for hit in &found.hits {
        let place = if hit.id.starts_with("one") {
            &one
        } else {
            &two
        };
        assert_eq!(set.origin(hit), Some(place.display().to_string()));
    }
    assert_eq!(set.holds_any(&["two_0"].into()), Some(true));
    assert_eq!(set.holds_any(&["three_0"].into()), Some(false));
    let twice = IndexSet::open(&[one.clone(), two, home.path().join("./index-one.txt")]);
    assert!(twice.unwrap_err().to_string().contains("named twice"));
}
