//! `medrgb index` and what uses it where something is not as it should be: what is said, and what goes on all the same.

use std::path::Path;

use medrgb::cli::common::Environment;
use medrgb::cli::{search, settings};
use medrgb::retrieval::Method;
use serde_json::json;

use crate::index::Home;
use crate::tiny_bert::{self, Tiny};

/// The settings of a process with these variables.
fn environment(home: &Path, variables: &[(&str, &str)]) -> Environment {
    let env = |name: &str| {
        if name == "MEDRGB_HOME" {
            return Some(home.display().to_string());
        }
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let paths = settings::paths(&env).unwrap();
    let settings = settings::load(&paths, home, &env).unwrap();
    Environment {
        config: settings.config.clone(),
        paths,
        settings,
    }
}

#[test]
fn the_explorer_finds_the_encoder_of_an_index_or_searches_by_words() {
    let home = Home::new();
    tiny_bert::write(&home.path("encoders/tiny"), Tiny::default());
    home.beir("deep/set", 40);
    let mut build = home.command(&[
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "../encoders/tiny",
        "--backend",
        "cpu",
        "--out",
        "ix",
    ]);
    let built = build.current_dir(home.path("deep")).output().unwrap();
    assert!(built.status.success(), "{built:?}");
    // Every build says how good its graph is.
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(said.contains("recall@10"), "{said}");
    let index = [home.path("deep/ix").display().to_string()];

    // From elsewhere: the folder was kept as an absolute path.
    let plain = environment(&home.path("home"), &[("MEDRGB_BACKEND", "cpu")]);
    let opened = search::open_index_for_screen(&index, &plain).unwrap();
    assert_eq!(opened.info().encoder.unwrap().name, "tiny");
    assert_eq!(opened.info().notice, None);

    // The encoder is gone: words are searched, and the reason is one that helps.
    std::fs::rename(home.path("encoders"), home.path("moved")).unwrap();
    let opened = search::open_index_for_screen(&index, &plain).unwrap();
    let notice = opened.info().notice.unwrap();
    assert!(notice.contains("MEDRGB_ENCODER"), "{notice}");
    assert!(
        !opened
            .search("Title 7", Method::Bm25, 3)
            .unwrap()
            .hits
            .is_empty()
    );
    for method in [Method::Dense, Method::Hybrid, Method::Exact] {
        let error = opened.search("Title 7", method, 3).unwrap_err();
        assert_eq!(error.to_string(), notice);
    }

    // What it advises helps, and an encoder that does not belong leaves the words.
    let moved = home.path("moved/tiny").display().to_string();
    let named = environment(&home.path("home"), &[("MEDRGB_ENCODER", &moved)]);
    let opened = search::open_index_for_screen(&index, &named).unwrap();
    assert!(opened.info().encoder.is_some());
    assert!(
        !opened
            .search("Title 7", Method::Dense, 3)
            .unwrap()
            .hits
            .is_empty()
    );
    tiny_bert::write(
        &home.path("foreign"),
        Tiny {
            seed: 2,
            ..Tiny::default()
        },
    );
    let foreign = home.path("foreign").display().to_string();
    let other = environment(&home.path("home"), &[("MEDRGB_ENCODER", &foreign)]);
    let opened = search::open_index_for_screen(&index, &other).unwrap();
    assert!(opened.info().notice.unwrap().contains("does not belong"));
    assert!(
        !opened
            .search("Title 7", Method::Bm25, 3)
            .unwrap()
            .hits
            .is_empty()
    );
}

#[test]
fn figures_do_not_change_with_the_depth_where_equal_scores_meet_the_cut() {
    let home = Home::new();
    let mut lines: Vec<String> = (0..15)
        .map(|at| json!({"_id": format!("t{}", at * 4 % 15), "text": "asthma"}).to_string())
        .collect();
    lines.push(json!({"_id": "better", "text": "asthma asthma"}).to_string());
    home.write("set/corpus.jsonl", &lines.join("\n"));
    home.write("set/queries.jsonl", "{\"_id\":\"q\",\"text\":\"asthma\"}\n");
    home.write(
        "set/qrels/test.tsv",
        "query-id\tcorpus-id\tscore\nq\tt9\t1\nq\tt2\t1\nq\tt11\t1\nq\tbetter\t1\n",
    );
    home.json(&[
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "none",
        "--out",
        "ix",
        "--json",
    ]);
    for index in [&["--index", "ix"][..], &[]] {
        let figures: Vec<_> = ["10", "11", "12", "1000"]
            .map(|depth| {
                let mut args = vec![
                    "eval-retrieval",
                    "--beir",
                    "set",
                    "--retriever",
                    "bm25",
                    "--json",
                    "--depth",
                    depth,
                ];
                args.extend(index);
                let found = home.json(&args);
                assert_eq!(found["queries_cut_in_ties"], 0);
                (
                    found["ndcg@10"].clone(),
                    found["recall@10"].clone(),
                    found["mrr@10"].clone(),
                )
            })
            .to_vec();
        assert!(figures.iter().all(|one| *one == figures[0]), "{figures:?}");
    }
}

#[test]
fn what_can_not_be_built_is_refused_with_what_helps() {
    let home = Home::new();
    tiny_bert::write(&home.path("tiny"), Tiny::default());
    home.beir("set", 30);
    home.write("file", "");
    let said = home.failure(&[
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "none",
        "--out",
        "file",
    ]);
    assert!(
        said.contains("file is a file, but an index is a folder"),
        "{said}"
    );
    let graph = home.run(&[
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "none",
        "--graph",
        "int8",
        "--out",
        "ix",
    ]);
    assert_eq!(graph.status.code(), Some(2), "{graph:?}");
    assert!(String::from_utf8_lossy(&graph.stderr).contains("--graph is about"));
    let said = home.failure(&[
        "encode",
        "--encoder",
        "tiny",
        "--kind",
        "query",
        "--input",
        ".",
        "--out",
        "x.npy",
    ]);
    assert!(
        said.contains(". is a folder; name a file of lines"),
        "{said}"
    );

    // Shards whose graphs compare different numbers are merged by what is said, not by chance.
    for (part, graph) in [("1/2", "stored"), ("2/2", "half")] {
        let out = format!("part-{}", &part[..1]);
        home.json(&[
            "index",
            "build",
            "--corpus",
            "set",
            "--encoder",
            "tiny",
            "--backend",
            "cpu",
            "--shard",
            part,
            "--graph",
            graph,
            "--out",
            &out,
            "--json",
        ]);
    }
    let said = home.failure(&["index", "merge", "part-1", "part-2", "--out", "merged"]);
    assert!(said.contains("(stored and half); say by --graph"), "{said}");
    let merged = home.json(&[
        "index", "merge", "part-1", "part-2", "--graph", "int8", "--out", "merged", "--json",
    ]);
    assert_eq!(
        (&merged["documents"], &merged["graph"]),
        (&json!(30), &json!("int8"))
    );
}

#[test]
fn broken_and_repeated_vectors_are_refused_before_the_corpus_is_read() {
    let home = Home::new();
    tiny_bert::write(&home.path("tiny"), Tiny::default());
    home.beir("set", 30);
    home.json(&[
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "tiny",
        "--backend",
        "cpu",
        "--out",
        "ix",
        "--json",
    ]);
    let whole = std::fs::read(home.path("ix/vectors.npy")).unwrap();
    let with = |name: &str, value: f32| {
        let mut bytes = whole.clone();
        let at = bytes.len() - 4 * 40;
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        std::fs::write(home.path(name), bytes).unwrap();
    };
    with("nan.npy", f32::NAN);
    with("large.npy", 70_000.0);
    let import = |files: &[&str], more: &[&str]| {
        let mut args = vec![
            "index",
            "build",
            "--corpus",
            "set",
            "--encoder",
            "none",
            "--out",
            "in",
        ];
        args.extend(more);
        args.push("--embeddings");
        args.extend(files);
        let said = home.failure(&args);
        assert!(
            !home.path("in/documents.bin").exists(),
            "the corpus was read: {said}"
        );
        said
    };
    let said = import(&["nan.npy"], &[]);
    assert!(said.contains("nan.npy: vector 28 holds NaN"), "{said}");
    let said = import(&["large.npy"], &["--graph", "half"]);
    assert!(said.contains("large.npy: vector 28 holds 70000"), "{said}");
    let said = import(&["ix/vectors.npy", "ix/vectors.npy"], &[]);
    assert!(said.contains("vectors of the same documents"), "{said}");
    // The refused ones block nothing.
    let built = home.json(&[
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "none",
        "--out",
        "in",
        "--json",
        "--embeddings",
        "ix/vectors.npy",
    ]);
    assert_eq!(built["documents"], 30);
}
