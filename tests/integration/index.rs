//! `medrgb index` and `search --index` of the real program: every byte where order is defined, also after kills.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::tiny_bert::{self, Tiny};

pub struct Home(tempfile::TempDir);

impl Home {
    pub fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_medrgb"));
        command
            .current_dir(self.0.path())
            .env("MEDRGB_HOME", self.path("home"))
            .args(args);
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// The JSON object of a command that must succeed.
    pub fn json(&self, args: &[&str]) -> Value {
        let out = self.run(args);
        assert!(out.status.success(), "{args:?}: {out:?}");
        serde_json::from_slice(&out.stdout).unwrap()
    }

    /// What a command says that must fail with exit code 1.
    pub fn failure(&self, args: &[&str]) -> String {
        let out = self.run(args);
        assert_eq!(out.status.code(), Some(1), "{args:?}: {out:?}");
        assert!(out.stdout.is_empty(), "{out:?}");
        String::from_utf8(out.stderr).unwrap()
    }

    /// A BEIR folder of `count` documents.
    pub fn beir(&self, name: &str, count: usize) {
        let lines: Vec<String> = tiny_bert::texts(count)
            .iter()
            .enumerate()
            .map(|(at, text)| {
                json!({"_id": format!("d{at}"), "title": format!("Title {at}"), "text": text})
                    .to_string()
            })
            .collect();
        self.write(&format!("{name}/corpus.jsonl"), &lines.join("\n"));
    }
}

fn ids(found: &Value) -> Vec<String> {
    let hits = found["hits"].as_array().unwrap();
    hits.iter()
        .map(|hit| hit["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The hits without the name of the index that each comes from.
fn hits(found: &Value) -> Vec<Value> {
    let mut hits = found["hits"].as_array().unwrap().clone();
    for hit in &mut hits {
        hit.as_object_mut().unwrap().remove("index");
    }
    hits
}

/// The files whose bytes are defined, with their content.
fn bytes(folder: &Path) -> HashMap<&'static str, Vec<u8>> {
    [
        "documents.bin",
        "offsets.bin",
        "ids.bin",
        "vectors.npy",
        "problems.jsonl",
    ]
    .into_iter()
    .filter_map(|name| Some((name, std::fs::read(folder.join(name)).ok()?)))
    .collect()
}

#[test]
fn a_corpus_is_indexed_and_searched_without_an_encoder() {
    let home = Home::new();
    home.write(
        "set/corpus.jsonl",
        "{\"_id\":\"a\",\"title\":\"Heart\",\"text\":\"Failure of the heart.\"}\nnonsense\n{\"_id\":\"b\",\"title\":\"\",\"text\":\"Renal failure.\"}\n{\"_id\":\"a\",\"text\":\"again\"}\n",
    );
    let build = [
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "none",
        "--out",
        "ix",
        "--json",
    ];
    let built = home.json(&build);
    assert_eq!(built["documents"], 2);
    assert_eq!(built["bad_records"], 2);
    assert_eq!(built["encoder"], Value::Null);
    let file = &built["corpus"][0];
    assert_eq!(file["name"], "set/corpus.jsonl");
    assert_eq!(file["format"], "beir");
    assert_eq!(file["sha256"].as_str().unwrap().len(), 64);
    assert_eq!((&file["documents"], &file["bad"]), (&json!(2), &json!(2)));
    let problems = std::fs::read_to_string(home.path("ix/problems.jsonl")).unwrap();
    assert_eq!(problems.lines().count(), 2);
    assert!(problems.contains("\"line 2\"") && problems.contains("was there before"));
    assert_eq!(home.json(&["index", "info", "ix", "--json"]), built);

    let found = home.json(&["search", "--index", "ix", "failure of hearts", "--json"]);
    assert_eq!(ids(&found), ["a", "b"]);
    assert_eq!(found["hits"][0]["title"], "Heart");
    assert_eq!(found["hits"][0]["content"], "Failure of the heart.");
    assert_eq!(found["retriever"], "bm25");
    assert_eq!(found["index"], json!(["ix"]));
    let message = home.failure(&["search", "--index", "ix", "--retriever", "dense", "heart"]);
    assert!(message.contains("built without an encoder"), "{message}");

    // The same again does nothing; something else is refused.
    let again = home.run(&build);
    assert!(again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("finished already"));
    home.write("other/corpus.jsonl", "{\"_id\":\"z\",\"text\":\"x\"}");
    let message = home.failure(&[
        "index",
        "build",
        "--corpus",
        "other",
        "--encoder",
        "none",
        "--out",
        "ix",
    ]);
    assert!(message.contains("another corpus"), "{message}");
    let message = home.failure(&[
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "none",
        "--out",
        "set",
    ]);
    assert!(message.contains("is no index"), "{message}");
    let message = home.failure(&["search", "--index", "set", "heart"]);
    assert!(message.contains("is no index"), "{message}");
}

#[test]
fn several_indexes_are_searched_as_one() {
    let home = Home::new();
    for (name, id) in [("one", "x"), ("two", "y")] {
        home.write(
            &format!("{name}.jsonl"),
            &format!("{{\"id\":\"{id}1\",\"title\":\"\",\"content\":\"aspirin for {name}\"}}\n{{\"id\":\"{id}2\",\"title\":\"\",\"content\":\"other words\"}}"),
        );
        home.json(&[
            "index",
            "build",
            "--corpus",
            &format!("{name}.jsonl"),
            "--encoder",
            "none",
            "--out",
            name,
            "--json",
        ]);
    }
    let found = home.json(&[
        "search", "--index", "one", "--index", "two", "aspirin", "--json",
    ]);
    assert_eq!(ids(&found), ["x1", "y1"]);
    assert_eq!(found["documents"], 4);
    let found = home.json(&[
        "search", "--index", "two", "--index", "one", "-k", "1", "aspirin", "--json",
    ]);
    assert_eq!(ids(&found), ["y1"]);
}

#[test]
fn vectors_are_built_and_searched_and_a_foreign_encoder_is_refused() {
    let home = Home::new();
    tiny_bert::write(&home.path("tiny"), Tiny::default());
    tiny_bert::write(
        &home.path("foreign"),
        Tiny {
            seed: 2,
            ..Tiny::default()
        },
    );
    home.beir("set", 300);
    let built = home.json(&[
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
    assert_eq!(built["encoder"]["dim"], 32);
    assert_eq!(built["metric"], "inner product");
    assert!(built["recall_at_10"].as_f64().unwrap() >= 0.95, "{built}");
    let text = tiny_bert::texts(300)[123].clone();
    let query = format!("Title 123 {text}");
    for method in ["dense", "exact", "hybrid", "bm25"] {
        let found = home.json(&[
            "search",
            "--index",
            "ix",
            "--retriever",
            method,
            "--backend",
            "cpu",
            "--json",
            &query,
        ]);
        assert_eq!(ids(&found)[0], "d123", "{method}");
        assert_eq!(found["hits"].as_array().unwrap().len(), 10);
    }
    // Exactly what the in-memory index of the same documents gives is another test's matter; here the door.
    let message = home.failure(&[
        "search",
        "--index",
        "ix",
        "--encoder",
        "foreign",
        "--backend",
        "cpu",
        "heart",
    ]);
    assert!(
        message.contains("does not belong to the index"),
        "{message}"
    );
    let message = home.failure(&[
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "foreign",
        "--backend",
        "cpu",
        "--out",
        "ix",
    ]);
    assert!(message.contains("another encoder"), "{message}");
    // A torn file of the index is noticed.
    let vectors = home.path("ix/vectors.npy");
    let whole = std::fs::read(&vectors).unwrap();
    std::fs::write(&vectors, &whole[..whole.len() - 1]).unwrap();
    let message = home.failure(&["search", "--index", "ix", "--backend", "cpu", "heart"]);
    assert!(message.contains("damaged"), "{message}");
}

#[test]
fn graphs_of_less_precision_find_the_same_with_the_same_scores() {
    let home = Home::new();
    tiny_bert::write(&home.path("tiny"), Tiny::default());
    home.beir("set", 300);
    let query = tiny_bert::texts(300)[77].clone();
    let mut lists = Vec::new();
    for graph in ["stored", "half", "int8"] {
        let out = format!("ix-{graph}");
        let build = [
            "index",
            "build",
            "--corpus",
            "set",
            "--encoder",
            "tiny",
            "--backend",
            "cpu",
            "--graph",
            graph,
            "--out",
            &out,
            "--json",
        ];
        let built = home.json(&build);
        assert_eq!(built["graph"], graph);
        assert!(built["recall_at_10"].as_f64().unwrap() >= 0.95, "{built}");
        let found = home.json(&[
            "search",
            "--index",
            &out,
            "--retriever",
            "dense",
            "--backend",
            "cpu",
            "--json",
            &query,
        ]);
        let scores: Vec<f64> = found["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["score"].as_f64().unwrap())
            .collect();
        lists.push((ids(&found), scores));
    }
    assert_eq!(lists[0], lists[1]);
    assert_eq!(lists[0], lists[2]);
    let message = home.failure(&[
        "index",
        "build",
        "--corpus",
        "set",
        "--encoder",
        "tiny",
        "--backend",
        "cpu",
        "--graph",
        "half",
        "--out",
        "ix-int8",
    ]);
    assert!(
        message.contains("another precision of its graph"),
        "{message}"
    );
}

#[test]
fn a_cross_encoder_gives_the_order_of_search_and_of_measures() {
    let home = Home::new();
    tiny_bert::write_cross(&home.path("cross"), 3);
    home.beir("set", 60);
    home.write(
        "set/queries.jsonl",
        "{\"_id\":\"q\",\"text\":\"heart failure\"}\n",
    );
    home.write(
        "set/qrels/test.tsv",
        "query-id\tcorpus-id\tscore\nq\td5\t1\n",
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
    let search = |more: &[&str]| {
        let mut args = vec![
            "search",
            "--index",
            "ix",
            "-k",
            "5",
            "--json",
            "heart failure",
        ];
        args.extend(more);
        home.json(&args)
    };
    let plain = search(&[]);
    let reranked = search(&[
        "--rerank",
        "cross",
        "--rerank-depth",
        "20",
        "--backend",
        "cpu",
    ]);
    assert_eq!(plain["rerank"], Value::Null);
    assert_eq!(reranked["rerank"]["depth"], 20);
    let logits: Vec<f64> = reranked["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["score"].as_f64().unwrap())
        .collect();
    assert_eq!(logits.len(), 5);
    assert!(logits.is_sorted_by(|a, b| a >= b), "{logits:?}");
    assert_ne!(
        ids(&plain),
        ids(&reranked),
        "random weights order otherwise"
    );
    let measure = |more: &[&str]| {
        let mut args = vec![
            "eval-retrieval",
            "--beir",
            "set",
            "--retriever",
            "bm25",
            "--json",
        ];
        args.extend(more);
        home.json(&args)
    };
    let (before, after) = (
        measure(&["--run-file", "before.trec"]),
        measure(&[
            "--run-file",
            "after.trec",
            "--rerank",
            "cross",
            "--rerank-depth",
            "20",
            "--backend",
            "cpu",
        ]),
    );
    assert_eq!(before["rerank"], Value::Null);
    assert_eq!(after["rerank"]["depth"], 20);
    let order = |file: &str| -> Vec<String> {
        let text = std::fs::read_to_string(home.path(file)).unwrap();
        text.lines()
            .map(|line| line.split(' ').nth(2).unwrap().to_owned())
            .collect()
    };
    let (before, after) = (order("before.trec"), order("after.trec"));
    assert_eq!(after[..5], ids(&reranked)[..]);
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list
    };
    assert_eq!(sorted(&before[..20]), sorted(&after[..20]));
    assert_eq!(before[20..], after[20..]);
    let message = home.run(&["search", "--index", "ix", "heart", "--rerank", "nowhere"]);
    assert_eq!(message.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&message.stderr).contains("is not here"),
        "{message:?}"
    );
}

#[test]
fn a_dataset_folder_is_a_corpus() {
    let home = Home::new();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-data");
    let built = home.json(&[
        "index",
        "build",
        "--corpus",
        sample.to_str().unwrap(),
        "--encoder",
        "none",
        "--out",
        "ix",
        "--json",
    ]);
    let documents = built["documents"].as_u64().unwrap();
    assert!(documents > 10, "{built}");
    let query = ["--retriever", "bm25", "--json", "aspirin"];
    let of_index = home.json(&[&["search", "--index", "ix"], &query[..]].concat());
    let of_dataset = home.json(&[&["search"], &query[..]].concat());
    assert_eq!(of_index["documents"], of_dataset["documents"]);
    assert_eq!(hits(&of_index), hits(&of_dataset));
}

/// Starts a build that says nothing.
fn start(home: &Home, args: &[&str]) -> Child {
    home.command(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn killed_builds_go_on_and_give_the_bytes_of_an_undisturbed_one() {
    let home = Home::new();
    tiny_bert::write(&home.path("tiny"), Tiny::default());
    home.beir("set", 3000);
    let args = |out: &'static str| {
        [
            "index",
            "build",
            "--corpus",
            "set",
            "--encoder",
            "tiny",
            "--backend",
            "cpu",
            "--out",
            out,
        ]
    };
    let began = std::time::Instant::now();
    assert!(home.run(&args("whole")).status.success());
    let whole = began.elapsed();
    let (mut kills, mut finished) = (0, 0);
    for turn in 0..10u32 {
        // Ten moments spread over the whole of a build, the later ones of a build that goes on.
        let mut child = start(&home, &args("killed"));
        std::thread::sleep(whole * (turn % 5 + 1) / 8 + Duration::from_millis(u64::from(turn) * 7));
        crate::process::signal(&child, "-KILL");
        match child.wait().unwrap().success() {
            true => finished += 1,
            false => kills += 1,
        }
        if finished > 0 {
            break;
        }
    }
    assert!(kills >= 2, "{kills} builds were killed");
    let out = home.run(&args("killed"));
    assert!(out.status.success(), "{out:?}");
    let (expected, got) = (bytes(&home.path("whole")), bytes(&home.path("killed")));
    assert!(expected.len() >= 4);
    for (name, bytes) in &expected {
        assert!(got.get(name) == Some(bytes), "{name} differs");
    }
    for query in ["heart failure", "renal trial drug", "vaccine"] {
        for method in ["bm25", "exact"] {
            let ask = |index: &str| {
                home.json(&[
                    "search",
                    "--index",
                    index,
                    "--retriever",
                    method,
                    "--backend",
                    "cpu",
                    "--json",
                    query,
                ])
            };
            assert_eq!(hits(&ask("whole")), hits(&ask("killed")));
        }
    }
    for name in ["build.json", "seen.bin", "bm25.parts", "vectors.partial"] {
        assert!(!home.path("killed").join(name).exists(), "{name} stays");
    }
}

#[cfg(unix)]
#[test]
fn one_process_builds_and_ctrl_c_stops_it_cleanly() {
    let home = Home::new();
    tiny_bert::write(&home.path("tiny"), Tiny::default());
    home.beir("set", 6000);
    let args = [
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
    ];
    let mut child = start(&home, &args);
    let started = home.path("ix/vectors.partial");
    crate::process::wait_until(Duration::from_secs(120), || started.exists());
    let message = home.failure(&args);
    assert!(message.contains("another process is building"), "{message}");
    let message = home.failure(&["search", "--index", "ix", "heart"]);
    assert!(message.contains("not finished"), "{message}");
    crate::process::signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let state: Value =
        serde_json::from_slice(&std::fs::read(home.path("ix/build.json")).unwrap()).unwrap();
    assert_eq!(state["read"]["done"], true);
    assert!(home.run(&args).status.success());
}

fn shared() -> PathBuf {
    std::env::var_os("MEDRGB_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    )
}

#[test]
fn scifact_as_a_whole() {
    let folder = shared().join("data/retrieval/scifact");
    if !folder.is_dir() {
        eprintln!("SKIPPED: {} is not there", folder.display());
        return;
    }
    let home = Home::new();
    let built = home.json(&[
        "index",
        "build",
        "--corpus",
        folder.to_str().unwrap(),
        "--encoder",
        "none",
        "--out",
        "ix",
        "--json",
    ]);
    assert_eq!(built["documents"], 5183);
    assert_eq!(built["bad_records"], 0);
    let found = home.json(&[
        "search",
        "--index",
        "ix",
        "--json",
        "0-dimensional biomaterials show inductive properties.",
    ]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 10);
}

#[test]
fn merged_shards_are_the_whole_byte_for_byte() {
    let home = Home::new();
    tiny_bert::write(&home.path("tiny"), Tiny::default());
    home.beir("set", 200);
    // A bad record and an id that comes twice must count the same in every shard.
    let corpus = home.path("set/corpus.jsonl");
    let mut text = std::fs::read_to_string(&corpus).unwrap();
    text.push_str(
        "\nnonsense\n{\"_id\":\"d5\",\"text\":\"twice\"}\n{\"_id\":\"last\",\"text\":\"renal\"}\n",
    );
    std::fs::write(&corpus, text).unwrap();
    let build = |out: &str, more: &[&str]| {
        let args = [
            &[
                "index",
                "build",
                "--corpus",
                "set",
                "--encoder",
                "tiny",
                "--backend",
                "cpu",
                "--out",
                out,
                "--json",
            ],
            more,
        ];
        home.json(&args.concat())
    };
    let whole = build("whole", &[]);
    assert_eq!(
        (&whole["documents"], &whole["bad_records"]),
        (&json!(201), &json!(2))
    );
    for (part, documents) in [("1", 67), ("2", 67), ("3", 67)] {
        let built = build(&format!("part{part}"), &["--shard", &format!("{part}/3")]);
        assert_eq!(built["documents"], documents, "{built}");
        assert_eq!(built["corpus_documents"], 201);
        assert_eq!(
            built["shard"],
            json!({"part": part.parse::<u32>().unwrap(), "of": 3})
        );
    }
    let merge = [
        "index", "merge", "part3", "part1", "part2", "--out", "merged", "--json",
    ];
    let merged = home.json(&merge);
    assert_eq!(merged["shard"], Value::Null);
    assert_eq!(merged["documents"], 201);
    let (whole_bytes, merged_bytes) = (bytes(&home.path("whole")), bytes(&home.path("merged")));
    for name in ["documents.bin", "offsets.bin", "ids.bin", "problems.jsonl"] {
        assert!(whole_bytes[name] == merged_bytes[name], "{name} differs");
    }
    // Vectors are encoded in other company: equal but for rounding.
    assert_eq!(
        whole_bytes["vectors.npy"].len(),
        merged_bytes["vectors.npy"].len()
    );
    for method in ["bm25", "exact"] {
        let ask = |index: &str| {
            home.json(&[
                "search",
                "--index",
                index,
                "--retriever",
                method,
                "--backend",
                "cpu",
                "--json",
                "heart failure renal",
            ])
        };
        let (a, b) = (ask("whole"), ask("merged"));
        assert_eq!(ids(&a), ids(&b), "{method}");
        for (a, b) in a["hits"]
            .as_array()
            .unwrap()
            .iter()
            .zip(b["hits"].as_array().unwrap())
        {
            let score = |hit: &Value| hit["score"].as_f64().unwrap();
            assert!((score(a) - score(b)).abs() < 1e-5);
        }
    }
    for (args, why) in [
        (&["part1", "part2"][..], "shard 3 of 3 is missing"),
        (&["part1", "part2", "part2"], "named twice"),
        (&["whole", "part1"], "whole index"),
        (&["part1", "part2", "none"], "is no index"),
    ] {
        let message = home.failure(&[&["index", "merge", "--out", "bad"], args].concat());
        assert!(message.contains(why), "{message}");
    }
    let bad = home.run(&[
        "index", "build", "--corpus", "set", "--out", "x", "--shard", "4/3",
    ]);
    assert_eq!(bad.status.code(), Some(2));
}

/// The rows of a file of 32-bit vectors that this program wrote.
fn rows(path: &Path, dim: usize) -> Vec<Vec<f32>> {
    let bytes = std::fs::read(path).unwrap();
    let start = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10;
    let numbers: Vec<f32> = bytes[start..]
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().unwrap()))
        .collect();
    numbers.chunks_exact(dim).map(<[f32]>::to_vec).collect()
}

fn write_rows(path: &Path, rows: &[Vec<f32>]) {
    let mut bytes = Vec::new();
    let dim = rows.first().map_or(1, Vec::len);
    medrgb::retrieval::npy::write(&mut bytes, rows.len(), dim, &rows.concat()).unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn precomputed_vectors_come_in_by_ids_and_by_order_and_are_checked() {
    let home = Home::new();
    tiny_bert::write(&home.path("tiny"), Tiny::default());
    home.beir("set", 50);
    let build = |out: &'static str, more: &[&'static str]| -> Vec<&'static str> {
        [
            &[
                "index",
                "build",
                "--corpus",
                "set",
                "--backend",
                "cpu",
                "--out",
                out,
                "--json",
            ],
            more,
        ]
        .concat()
    };
    home.json(&build("whole", &["--encoder", "tiny"]));
    let whole = bytes(&home.path("whole"));
    let mut vectors = rows(&home.path("whole/vectors.npy"), 32);
    assert_eq!(vectors.len(), 50);

    // By order, from an encoder that nobody names.
    let by_order = home.json(&build(
        "order",
        &["--encoder", "none", "--embeddings", "whole/vectors.npy"],
    ));
    assert_eq!(by_order["encoder"]["name"], "unknown");
    assert!(bytes(&home.path("order")) == whole);
    let out = home.run(&[
        "search",
        "--index",
        "order",
        "--encoder",
        "tiny",
        "--backend",
        "cpu",
        "--retriever",
        "dense",
        "heart",
    ]);
    assert!(out.status.success(), "{out:?}");
    assert!(
        String::from_utf8_lossy(&out.stderr).contains("on your word"),
        "{out:?}"
    );

    // By ids, in another order and over two files, the second with a row too many.
    vectors.reverse();
    write_rows(&home.path("v/a.npy"), &vectors[..20]);
    let mut second = vectors[20..].to_vec();
    second.push(vec![1.0; 32]);
    write_rows(&home.path("v/b.npy"), &second);
    let id = |at: usize| format!("d{}", 49 - at);
    home.write(
        "a.txt",
        &(0..20).map(|at| id(at) + "\n").collect::<String>(),
    );
    let mut ids: Vec<String> = (20..50).map(id).collect();
    ids.push("not in the corpus".into());
    home.write("b.json", &json!(ids).to_string());
    let given = [
        "--encoder",
        "tiny",
        "--embeddings",
        "v",
        "--ids",
        "a.txt",
        "b.json",
    ];
    let by_ids = home.json(&build("ids", &given));
    assert_eq!(by_ids["documents"], 50);
    assert!(bytes(&home.path("ids")) == whole);

    write_rows(&home.path("short.npy"), &vectors[..49]);
    write_rows(&home.path("narrow.npy"), &vec![vec![1.0; 8]; 50]);
    let mut broken = vectors.clone();
    broken[7][3] = f32::NAN;
    write_rows(&home.path("nan.npy"), &broken);
    for (out, more, why) in [
        (
            "x1",
            &["--embeddings", "short.npy"][..],
            "49 vectors for 50 documents",
        ),
        (
            "x2",
            &["--embeddings", "v/a.npy", "--ids", "a.txt"],
            "30 of 50 documents have no vector",
        ),
        (
            "x3",
            &["--embeddings", "v/b.npy", "--ids", "a.txt"],
            "lists 20 ids",
        ),
        (
            "x4",
            &["--embeddings", "nan.npy"],
            "vector 7 holds NaN in dimension 3",
        ),
        (
            "x5",
            &["--embeddings", "v", "--ids", "a.txt"],
            "needs its list of ids",
        ),
    ] {
        let message = home.failure(&build(out, &[&["--encoder", "none"], more].concat()));
        assert!(message.contains(why), "{message}");
    }
    let message = home.failure(&build(
        "x6",
        &["--encoder", "tiny", "--embeddings", "narrow.npy"],
    ));
    assert!(message.contains("8 dimensions where 32"), "{message}");

    // Vectors whose inner products are infinite can't be searched, nor such as half precision can't hold be halved.
    broken[7][3] = 1e30;
    write_rows(&home.path("nan.npy"), &broken);
    let again = ["--encoder", "none", "--embeddings", "nan.npy"];
    let message = home.failure(&build("x4", &again));
    assert!(message.contains("vector 7 is so long"), "{message}");
    broken[7][3] = 70_000.0;
    write_rows(&home.path("nan.npy"), &broken);
    let halved = [&again[..], &["--graph", "half"]].concat();
    let message = home.failure(&build("x4", &halved));
    assert!(
        message.contains("vector 7 holds 70000 in dimension 3")
            && message.contains("--graph stored"),
        "{message}"
    );
    // The folder of a refused file takes a better one, and another graph: nothing is read again.
    let built = home.json(&build("x4", &again));
    assert_eq!(built["documents"], 50);
    // A finished index is what it is.
    let message = home.failure(&build(
        "x4",
        &["--encoder", "none", "--embeddings", "v/a.npy"],
    ));
    assert!(message.contains("other embeddings"), "{message}");
    std::fs::write(home.path("a-file"), "").unwrap();
    let message = home.failure(&build("a-file", &again));
    assert!(
        message.contains("is a file, but an index is a folder"),
        "{message}"
    );
}

#[test]
fn an_address_for_searches_and_unknown_encoders_are_refused_with_advice() {
    let home = Home::new();
    let out = home.run(&["index", "push", "--to", "milvus://127.0.0.1:1/x?ef=5"]);
    assert_eq!(out.status.code(), Some(2), "{out:?}");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        said.contains("?ef=5") && said.contains("leave it out"),
        "{said}"
    );
    home.beir("corpus", 3);
    let build = |encoder: &str| {
        home.failure(&[
            "index",
            "build",
            "--corpus",
            "corpus",
            "--out",
            "o",
            "--encoder",
            encoder,
        ])
    };
    let message = build("nosuch");
    assert!(
        message.contains("\"nosuch\"") && message.contains("medcpt") && message.contains("minilm"),
        "{message}"
    );
    assert!(build("corpus").contains("is no encoder"));
    assert!(build("medcpt").contains("models pull medcpt"));
}

#[test]
fn the_layouts_of_ncbi_and_medrag_are_known() {
    let home = Home::new();
    let unit = |at: usize| {
        (0..4)
            .map(|dim| if dim == at { 1.0 } else { 0.0 })
            .collect::<Vec<f32>>()
    };
    home.write("ncbi/pubmed_chunk_0.json", r#"{"11":{"d":"","t":"One","a":"first","m":""},"12":{"d":"","t":"Two","a":"second","m":""}}"#);
    home.write(
        "ncbi/pubmed_chunk_1.json",
        r#"{"13":{"d":"","t":"Three","a":"third","m":""}}"#,
    );
    home.write("ncbi/pmids_chunk_0.json", r#"["12", "11"]"#);
    home.write("ncbi/pmids_chunk_1.json", "[\"13\"]");
    write_rows(&home.path("ncbi/embeds_chunk_0.npy"), &[unit(1), unit(0)]);
    write_rows(&home.path("ncbi/embeds_chunk_1.npy"), &[unit(2)]);
    let built = home.json(&[
        "index",
        "build",
        "--corpus",
        "ncbi",
        "--embeddings",
        "ncbi",
        "--encoder",
        "none",
        "--out",
        "ix",
        "--json",
    ]);
    assert_eq!(built["documents"], 3);
    assert_eq!(
        rows(&home.path("ix/vectors.npy"), 4),
        [unit(0), unit(1), unit(2)]
    );

    let chunk =
        |id: &str| json!({"id": id, "title": "", "content": id, "contents": id}).to_string();
    home.write(
        "chunk/b.jsonl",
        &format!("{}\n{}", chunk("b0"), chunk("b1")),
    );
    home.write("chunk/a.jsonl", &chunk("a0"));
    write_rows(&home.path("embedding/a.npy"), &[unit(3)]);
    write_rows(&home.path("embedding/b.npy"), &[unit(1), unit(2)]);
    for (out, shard, expected) in [
        ("all", "1/1", vec![unit(3), unit(1), unit(2)]),
        ("odd", "2/2", vec![unit(1)]),
    ] {
        home.json(&[
            "index",
            "build",
            "--corpus",
            "chunk",
            "--embeddings",
            "embedding",
            "--encoder",
            "none",
            "--shard",
            shard,
            "--out",
            out,
            "--json",
        ]);
        assert_eq!(rows(&home.path(out).join("vectors.npy"), 4), expected);
    }
    // A record that is left out would shift the rows.
    home.write(
        "chunk/b.jsonl",
        &format!("nonsense\n{}\n{}", chunk("b0"), chunk("b1")),
    );
    let message = home.failure(&[
        "index",
        "build",
        "--corpus",
        "chunk",
        "--embeddings",
        "embedding",
        "--encoder",
        "none",
        "--out",
        "bad",
    ]);
    assert!(message.contains("of which 1 were left out"), "{message}");
}
