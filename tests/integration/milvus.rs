//! The remote store against a real server.

mod push;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use medrgb::engine::job::JobId;
use medrgb::engine::search::{
    SearchCorpus, SearchEvent, SearchQuery, SearchResults, SearchService,
};
use medrgb::retrieval::exact::{self, Vectors};
use medrgb::retrieval::remote::push::{Push, Pushed, Source};
use medrgb::retrieval::remote::record::{IndexKind, Precision, Record};
use medrgb::retrieval::remote::shape::{LONGEST_TEXT, Row};
use medrgb::retrieval::remote::standing::SourceId;
use medrgb::retrieval::remote::{Address, Collection, Remote};
use medrgb::retrieval::{CorpusDocument, EncoderFolders, EncoderSummary, Method, Search};
use medrgb_encoder::BackendChoice;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::Value;

use crate::milvus_server::{Server, free_port};
use crate::process::wait_until;
use crate::tiny_bert::{self, Tiny};

fn record(dim: usize, precision: Precision) -> Record {
    let encoder = EncoderSummary {
        name: "random".into(),
        dim,
        backend: "none".into(),
        stand_in: false,
        weights_sha256: "00".into(),
    };
    Record::new(&encoder, precision, HNSW)
}

fn collection(url: &str) -> Collection {
    Collection::new(&Address::parse(url).unwrap(), None).unwrap()
}

const HNSW: IndexKind = IndexKind::Hnsw {
    m: 16,
    ef_construction: 200,
};

fn create(collection: &Collection, record: &Record) {
    collection.create(record, None).unwrap();
}

/// Vectors of numbers between −1 and 1.
fn random_vectors(count: usize, dim: usize, seed: u64) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count * dim)
        .map(|_| random.next_u32() as f32 / u32::MAX as f32 * 2.0 - 1.0)
        .collect()
}

fn rows(vectors: &Vectors, text: &str) -> Vec<Row> {
    vectors
        .rows()
        .enumerate()
        .map(|(number, vector)| Row {
            id: format!("d{number}"),
            title: format!("title {number}"),
            content: format!("{text} {number}"),
            vector: vector.to_vec(),
        })
        .collect()
}

fn write(collection: &Collection, record: &Record, rows: &[Row]) -> Pushed {
    let mut all = |_| ControlFlow::Continue(());
    write_until(collection, record, rows, &mut all).unwrap()
}

/// Rows as a source that is known again by its first id and text.
fn write_until(
    collection: &Collection,
    record: &Record,
    rows: &[Row],
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Pushed, String> {
    let first = [rows[0].id.as_bytes(), rows[0].content.as_bytes()];
    let source = Source {
        id: SourceId::of(first),
        count: rows.len(),
        row: &|at| Ok(rows[at].clone()),
    };
    let push = Push::begin(collection, record, &source).map_err(|error| error.to_string())?;
    push.run(progress).map_err(|error| error.to_string())
}

fn load(collection: &Collection) {
    collection
        .load(1, &mut |_| ControlFlow::Continue(()))
        .unwrap();
}

#[test]
fn two_thousand_vectors_give_the_top_ten_of_the_exact_scan() {
    let Some(server) = Server::start() else {
        return;
    };
    let (dim, count) = (768, 2000);
    let vectors = Vectors::new(dim, random_vectors(count, dim, 1)).unwrap();
    let collection = collection(&server.url("random"));
    assert_eq!(collection.record().unwrap(), None);
    let record = record(dim, Precision::Float32);
    create(&collection, &record);
    assert_eq!(collection.record().unwrap(), Some(record.clone()));
    let pushed = write(&collection, &record, &rows(&vectors, "text"));
    assert_eq!((pushed.written, pushed.refused, pushed.cut), (count, 0, 0));
    load(&collection);
    assert_eq!(collection.count().unwrap(), count);

    let queries = random_vectors(30, dim, 2);
    let mut found = 0;
    for query in queries.chunks_exact(dim) {
        let exact = exact::top_k(&vectors, query, 10);
        let near = collection.search(query, 10, &record).unwrap();
        assert_eq!(near.len(), 10);
        for (near, exact) in near.iter().zip(&exact) {
            let expected = format!("d{}", exact.position);
            found += usize::from(near.id == expected);
            assert!(
                (near.score - exact.score).abs() < 1e-2,
                "{} {}",
                near.score,
                exact.score
            );
            let row: usize = near.id[1..].parse().unwrap();
            assert_eq!(near.content, format!("text {row}"));
            assert_eq!(near.vector, vectors.row(row).unwrap().to_vec());
        }
    }
    assert_eq!(
        found, 300,
        "of 300 hits so many are at the rank of the exact scan"
    );

    // Written again, nothing is doubled, and the texts are the new ones.
    write(&collection, &record, &rows(&vectors, "newer"));
    assert_eq!(collection.count().unwrap(), count);
    let near = collection.search(&queries[..dim], 3, &record).unwrap();
    assert!(near.iter().all(|near| near.content.starts_with("newer ")));

    let facts = collection.facts().unwrap().unwrap();
    assert_eq!((facts.documents, facts.dim), (count, dim));
    assert_eq!(
        (facts.metric.as_str(), facts.index_type.as_str()),
        ("IP", "HNSW")
    );
    assert!(facts.index_params.contains("200"), "{}", facts.index_params);
    assert_eq!(facts.encoder, "random");

    assert!(collection.drop_collection().unwrap());
    assert!(!collection.drop_collection().unwrap());
    assert_eq!(collection.record().unwrap(), None);
}

#[test]
fn hostile_ids_and_texts_come_back_as_they_are_and_bad_rows_fail_alone() {
    let Some(server) = Server::start() else {
        return;
    };
    let collection = collection(&server.url("hostile"));
    let record = record(4, Precision::Float32);
    create(&collection, &record);
    let ids = [
        "\" or id != \"",
        "'); drop collection hostile; --",
        "id in [\"a\"] || true",
        "back\\slash\\\"",
        "line\nbreak\ttab\r",
        "\u{1b}[31mred\u{7}",
        "nul\u{0}nul",
        "Ünïcödé 漢字 🧬 \u{202e}turned",
        "{}%s$0$meta",
        " ",
    ];
    let mut rows: Vec<Row> = ids
        .iter()
        .enumerate()
        .map(|(number, id)| Row {
            id: (*id).into(),
            title: format!("title of {id}"),
            content: format!("content of {id}"),
            vector: vec![1.0, number as f32, 0.5, -1.0],
        })
        .collect();
    let odd = |id: &str, vector: Vec<f32>| Row {
        id: id.into(),
        title: String::new(),
        content: String::new(),
        vector,
    };
    rows.push(odd("", vec![0.0; 4]));
    rows.push(odd(&"x".repeat(513), vec![0.0; 4]));
    rows.push(odd("short", vec![0.0; 3]));
    rows.push(odd("nan", vec![0.0, f32::NAN, 0.0, 0.0]));
    let mut long = odd("long", vec![-100.0, 0.0, 0.0, 0.0]);
    long.content = "é".repeat(LONGEST_TEXT);
    rows.push(long);
    let pushed = write(&collection, &record, &rows);
    assert_eq!(
        (pushed.written, pushed.refused, pushed.cut),
        (ids.len() + 1, 4, 1)
    );
    assert_eq!(pushed.reasons.len(), 4);
    load(&collection);
    assert_eq!(collection.count().unwrap(), ids.len() + 1);
    let near = collection
        .search(&[0.0, 1.0, 0.0, 0.0], 50, &record)
        .unwrap();
    assert_eq!(near.len(), ids.len() + 1);
    // Servers read no control characters in expressions.
    let plain: Vec<&str> = ids
        .into_iter()
        .filter(|id| !id.chars().any(char::is_control))
        .collect();
    assert_eq!(collection.count_of(&plain).unwrap(), plain.len());
    assert!(plain.len() < ids.len());
    for id in plain {
        assert_eq!(collection.count_of(&[id]).unwrap(), 1, "{id:?}");
        assert_eq!(collection.count_of(&[&format!("{id}x")]).unwrap(), 0);
    }
    for (number, id) in ids.iter().enumerate() {
        // The scores are the numbers, largest first.
        let at = near.iter().find(|near| near.id == *id);
        let near = at.unwrap_or_else(|| panic!("{id:?} is lost"));
        assert_eq!(near.content, format!("content of {id}"));
        assert_eq!(near.title, format!("title of {id}"));
        assert_eq!(near.score, number as f32);
    }
}

#[test]
fn what_a_server_refuses_is_said_in_its_words() {
    let Some(server) = Server::start() else {
        return;
    };
    // milvus-lite has no half precision; a cluster has.
    let collection = collection(&server.url("halves"));
    let error = collection
        .create(&record(4, Precision::Float16), None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("can't be made") && error.contains("Float16Vector"),
        "{error}"
    );
    assert_eq!(collection.record().unwrap(), None);
    let record = record(4, Precision::Float32);
    let error = collection
        .search(&[0.0; 4], 3, &record)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("can't be searched") && error.contains("halves"),
        "{error}"
    );
    let error = collection
        .search(&[0.0; 3], 3, &record)
        .unwrap_err()
        .to_string();
    assert!(error.contains("3 dimensions"), "{error}");
}

fn tiny(home: &std::path::Path, name: &str, seed: u64) -> EncoderFolders {
    let folder = home.join(name);
    tiny_bert::write(
        &folder,
        Tiny {
            seed,
            ..Tiny::default()
        },
    );
    EncoderFolders {
        name: name.into(),
        query: folder.clone(),
        article: folder,
        stand_in: false,
    }
}

fn medrgb(home: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_medrgb"))
        .env("MEDRGB_HOME", home)
        .env("MEDRGB_ENCODER", home.join("tiny"))
        .env("MEDRGB_BACKEND", "cpu")
        .env("MILVUS_TOKEN", "root:geheim-geheim")
        .args(arguments)
        .output()
        .unwrap()
}

fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refusal(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !said.contains("geheim") && !said.contains("panicked"),
        "{said}"
    );
    said
}

#[test]
fn the_program_pushes_tells_searches_and_drops() {
    let Some(server) = Server::start() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    tiny(home, "tiny", 1);
    tiny(home, "other", 2);
    let url = server.url("sample");
    let pushed = json_of(&medrgb(home, &["index", "push", "--to", &url, "--json"]));
    let documents = pushed["documents"].as_u64().unwrap();
    assert!(documents > 20, "{pushed}");
    assert_eq!(pushed["created"], true);
    assert_eq!(pushed["written"], documents);
    let again = json_of(&medrgb(home, &["index", "push", "--to", &url, "--json"]));
    assert_eq!(
        (&again["created"], &again["documents"]),
        (&Value::Bool(false), &documents.into())
    );

    let info = json_of(&medrgb(home, &["index", "info", &url, "--json"]));
    assert_eq!(
        (&info["documents"], &info["dim"]),
        (&documents.into(), &32.into())
    );
    assert_eq!(
        (info["metric"].as_str(), info["encoder"].as_str()),
        (Some("IP"), Some("tiny"))
    );
    assert_eq!(info["weights_sha256"].as_str().unwrap().len(), 64);

    // The same hits with the same scores as the scan of all vectors in memory.
    let query = "renal failure and statin therapy";
    let remote = json_of(&medrgb(
        home,
        &["search", "--index", &url, "-k", "5", "--json", query],
    ));
    let local = json_of(&medrgb(
        home,
        &["search", "--retriever", "exact", "-k", "5", "--json", query],
    ));
    assert_eq!(remote["hits"].as_array().unwrap().len(), 5);
    for (remote, local) in remote["hits"]
        .as_array()
        .unwrap()
        .iter()
        .zip(local["hits"].as_array().unwrap())
    {
        assert_eq!(
            (&remote["id"], &remote["content"]),
            (&local["id"], &local["content"])
        );
        let difference = remote["score"].as_f64().unwrap() - local["score"].as_f64().unwrap();
        assert!(difference.abs() < 1e-4);
    }
    assert_eq!(remote["index"][0], url.as_str());
    assert!(remote["timing_ms"]["search"].as_f64().unwrap() > 0.0);

    an_index_folder_is_pushed_as_it_is(&server, home, documents, &local);

    let other = home.join("other");
    let other = other.to_str().unwrap();
    for arguments in [
        vec!["search", "--index", &url, "--encoder", other, query],
        vec!["index", "push", "--to", &url, "--encoder", other],
    ] {
        let said = refusal(&medrgb(home, &arguments), 1);
        assert!(said.contains("does not belong"), "{said}");
    }
    let said = refusal(
        &medrgb(
            home,
            &["search", "--index", &url, "--retriever", "bm25", query],
        ),
        1,
    );
    assert!(said.contains("searched by its vectors"), "{said}");

    a_collection_is_measured_like_a_folder(home, &url, query, &local);
    what_milvus_lite_does_not_do_is_refused(&server, home);

    let dropped = json_of(&medrgb(home, &["index", "drop", &url, "--json"]));
    assert_eq!(dropped["dropped"], true);
    for arguments in [
        vec!["index", "drop", &url],
        vec!["index", "info", &url],
        vec!["search", "--index", &url, query],
    ] {
        let said = refusal(&medrgb(home, &arguments), 1);
        assert!(said.contains("does not exist"), "{said}");
    }
}

/// Its vectors and texts go to the server without an encoder being asked anything; the hits are the same.
/// `local` is what the exact scan found for the query: its first hit is what the judgements want.
fn a_collection_is_measured_like_a_folder(
    home: &std::path::Path,
    url: &str,
    query: &str,
    local: &Value,
) {
    let write = |name: &str, text: String| {
        let path = home.join("judged").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let first = local["hits"][0]["id"].as_str().unwrap();
    write(
        "queries.jsonl",
        serde_json::json!({"_id": "q", "text": query}).to_string(),
    );
    write(
        "qrels/test.tsv",
        format!("query-id\tcorpus-id\tscore\nq\t{first}\t1\n"),
    );
    let judged = home.join("judged");
    let judged = judged.to_str().unwrap();
    let measure = |more: &[&str]| {
        let mut arguments = vec!["eval-retrieval", "--beir", judged, "--index", url];
        arguments.extend(more);
        medrgb(home, &arguments)
    };
    let figures = json_of(&measure(&["--retriever", "dense", "--json"]));
    assert_eq!(
        (&figures["ndcg@10"], &figures["queries"]),
        (&1.0.into(), &1.into())
    );
    assert_eq!(figures["encoder"]["name"], "tiny");
    let said = refusal(&measure(&["--retriever", "bm25"]), 2);
    assert!(said.contains("use --retriever dense"), "{said}");
    let said = refusal(&measure(&["--retriever", "dense", "--depth", "16384"]), 2);
    assert!(said.contains("smaller --depth"), "{said}");
    write(
        "qrels/test.tsv",
        "query-id\tcorpus-id\tscore\nq\telsewhere\t1\n".to_owned(),
    );
    let said = refusal(&measure(&["--retriever", "dense"]), 1);
    assert!(said.contains("nothing can be measured"), "{said}");
}

fn what_milvus_lite_does_not_do_is_refused(server: &Server, home: &std::path::Path) {
    let url = server.url("on_disk");
    for (flags, named) in [
        (&["--index-type", "diskann"][..], "--index-type diskann"),
        (&["--replicas", "2"], "--replicas"),
    ] {
        let mut arguments = vec!["index", "push", "--to", &url];
        arguments.extend(flags);
        let said = refusal(&medrgb(home, &arguments), 1);
        assert!(said.contains("is a milvus-lite"), "{said}");
        assert!(said.contains(named), "{said}");
    }
    let said = refusal(&medrgb(home, &["index", "info", &url]), 1);
    assert!(said.contains("does not exist"), "{said}");
}

fn an_index_folder_is_pushed_as_it_is(
    server: &Server,
    home: &std::path::Path,
    documents: u64,
    expected: &Value,
) {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/sample-data");
    let folder = home.join("ix");
    let folder = folder.to_str().unwrap();
    json_of(&medrgb(
        home,
        &[
            "index", "build", "--corpus", sample, "--out", folder, "--json",
        ],
    ));
    let url = server.url("from_index");
    let pushed = json_of(&medrgb(
        home,
        &["index", "push", "--index", folder, "--to", &url, "--json"],
    ));
    assert_eq!(
        (&pushed["documents"], &pushed["created"]),
        (&documents.into(), &Value::Bool(true))
    );
    let query = "renal failure and statin therapy";
    let found = json_of(&medrgb(
        home,
        &["search", "--index", &url, "-k", "5", "--json", query],
    ));
    let ids = |found: &Value| -> Vec<String> {
        let hits = found["hits"].as_array().unwrap();
        hits.iter()
            .map(|hit| hit["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&found), ids(expected));
    json_of(&medrgb(home, &["index", "drop", &url, "--json"]));
}

#[test]
fn a_server_that_is_not_there_and_wrong_addresses_are_said_at_once() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    tiny(home, "tiny", 1);
    let url = format!("milvus://127.0.0.1:{}/c", free_port());
    for arguments in [
        vec!["index", "info", &url],
        vec!["index", "drop", &url],
        vec!["index", "push", "--to", &url],
        vec!["search", "--index", &url, "heart"],
    ] {
        let started = Instant::now();
        let said = refusal(&medrgb(home, &arguments), 1);
        assert!(
            said.contains("can't be reached") && said.contains("is it running"),
            "{said}"
        );
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    let said = refusal(
        &medrgb(home, &["index", "info", "milvus://me:secret-word@h/c"]),
        2,
    );
    assert!(
        said.contains("MILVUS_TOKEN") && !said.contains("secret-word"),
        "{said}"
    );
    // A server of another kind answers something that is no gRPC.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("milvus://{}/c", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 256]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let said = refusal(&medrgb(home, &["index", "info", &url]), 1);
    assert_eq!(said.trim().lines().count(), 1, "{said}");
}

/// A collection of 300 texts by the tiny encoder, opened for searching.
fn opened(server: &Server, home: &std::path::Path) -> Arc<Remote> {
    let folders = tiny(home, "tiny", 1);
    let encoder =
        medrgb::retrieval::encoders::open(&folders.query, BackendChoice::Cpu, None).unwrap();
    let texts = tiny_bert::texts(300);
    let inputs: Vec<_> = texts
        .iter()
        .map(|text| medrgb_encoder::Input::Article {
            title: "",
            content: text,
        })
        .collect();
    let (embeddings, _) = encoder
        .encode(&inputs, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let summary = EncoderSummary {
        name: "tiny".into(),
        dim: 32,
        backend: "CPU".into(),
        stand_in: false,
        weights_sha256: encoder.info().weights_sha256.clone(),
    };
    let record = Record::new(&summary, Precision::Float32, HNSW);
    let url = server.url("texts");
    let collection = collection(&url);
    create(&collection, &record);
    let vectors = Vectors::new(32, embeddings.data).unwrap();
    write(&collection, &record, &rows(&vectors, "text"));
    load(&collection);
    let address = Address::parse(&url).unwrap();
    Remote::open(&address, None, &folders, BackendChoice::Cpu).unwrap()
}

#[test]
fn a_server_killed_while_searching_is_said_and_found_again() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let remote = opened(&server, home.path());
    let found = remote.search("renal failure", Method::Dense, 10).unwrap();
    assert_eq!(found.hits.len(), 10);
    let there = found.hits[3].id.as_str();
    assert_eq!(remote.holds_any(&["elsewhere", there].into()), Some(true));
    assert_eq!(remote.holds_any(&["elsewhere"].into()), Some(false));
    let vectors = remote.embeddings(&found.hits);
    assert!(
        vectors
            .iter()
            .all(|vector| vector.as_ref().is_some_and(|v| v.len() == 32))
    );

    let (service, mut inbox) = service(&remote);
    let answer = ask(&service, &mut inbox, 1);
    let hits = answer.lists[0].1.as_ref().unwrap().hits.len();
    assert_eq!((hits, answer.map.unwrap().points.len()), (10, 10));
    // The first of ten hits is one of two signal documents.
    let measures = answer.measures[0].unwrap();
    let expected = (0.5, 1.0, 10);
    assert_eq!(
        (measures.recall, measures.reciprocal_rank, measures.at),
        expected
    );
    let said = answer.lists[1].1.as_ref().unwrap_err();
    assert!(said.contains("searched by its vectors"), "{said}");

    // Searches run one after another while the server dies.
    let searching = std::thread::spawn({
        let remote = Arc::clone(&remote);
        move || {
            let deadline = Instant::now() + Duration::from_secs(60);
            while Instant::now() < deadline {
                let started = Instant::now();
                if let Err(error) = remote.search("heart disease", Method::Dense, 10) {
                    return (error.to_string(), started.elapsed());
                }
            }
            panic!("the server's end was not noticed");
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    let (said, took) = searching.join().unwrap();
    assert!(
        said.contains("can't be searched") && said.contains("127.0.0.1"),
        "{said}"
    );
    assert!(took < Duration::from_secs(10), "{took:?}: {said}");

    server.restart();
    wait_until(Duration::from_secs(30), || {
        remote
            .search("heart disease", Method::Dense, 10)
            .is_ok_and(|found| found.hits.len() == 10)
    });
    let answer = ask(&service, &mut inbox, 3);
    assert_eq!(answer.lists[0].1.as_ref().unwrap().hits.len(), 10);
}

/// The service behind the explorer's screen, over a remote index; two of its documents are signal for q.
fn service(remote: &Arc<Remote>) -> (SearchService, Inbox) {
    let document = |id: &str| CorpusDocument {
        id: id.into(),
        title: String::new(),
        content: String::new(),
    };
    let found = remote.search("heart disease", Method::Dense, 1).unwrap();
    let corpus = SearchCorpus {
        documents: vec![document(&found.hits[0].id), document("elsewhere")],
        signal_of: vec![HashSet::from(["q".to_owned()]); 2],
    };
    let (events, mut inbox) = tokio::sync::mpsc::channel(64);
    let index: Arc<dyn Search> = remote.clone();
    let service =
        SearchService::open(&corpus, Arc::new(move || Ok(index.clone())), events).unwrap();
    loop {
        match inbox.blocking_recv().unwrap().1 {
            SearchEvent::Ready(info) => {
                assert_eq!(info.documents, 300);
                return (service, inbox);
            }
            SearchEvent::Building(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

type Inbox = tokio::sync::mpsc::Receiver<(JobId, SearchEvent)>;

fn ask(service: &SearchService, inbox: &mut Inbox, ticket: u64) -> Box<SearchResults> {
    service.ask(SearchQuery {
        ticket,
        text: "heart disease".into(),
        methods: vec![Method::Dense, Method::Bm25, Method::Hybrid],
        k: 10,
        question_id: Some("q".into()),
    });
    loop {
        match inbox.blocking_recv().unwrap().1 {
            SearchEvent::Results(results) if results.ticket == ticket => return results,
            _ => {}
        }
    }
}

#[cfg(unix)]
#[test]
fn a_server_that_hangs_is_given_up_after_seconds() {
    let Some(server) = Server::start() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let remote = opened(&server, home.path());
    server.signal("-STOP");
    let started = Instant::now();
    let said = remote
        .search("heart disease", Method::Dense, 10)
        .unwrap_err()
        .to_string();
    server.signal("-CONT");
    assert!(started.elapsed() < Duration::from_secs(20), "{said}");
    assert!(
        said.contains("did not answer") || said.contains("broke"),
        "{said}"
    );
    wait_until(Duration::from_secs(30), || {
        remote.search("heart disease", Method::Dense, 10).is_ok()
    });
}
