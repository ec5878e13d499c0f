//! Retrieval from end to end: the real encoder on a tiny model, real indexes, real files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use medrgb::engine::search::{SearchCorpus, SearchEvent, SearchQuery, SearchService, SearchSetup};
use medrgb::retrieval::{
    BuildProgress, CorpusDocument, EncoderFolders, Method, RetrievalError, Retriever, Search,
};
use medrgb_encoder::BackendChoice;

use crate::tiny_bert::{self, Tiny};

fn go(_: BuildProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn corpus(count: usize) -> Vec<CorpusDocument> {
    tiny_bert::texts(count)
        .into_iter()
        .enumerate()
        .map(|(number, content)| CorpusDocument {
            id: format!("d{number}"),
            title: String::new(),
            content,
        })
        .collect()
}

fn symmetric(folder: &Path) -> EncoderFolders {
    EncoderFolders {
        name: "tiny".into(),
        query: folder.to_path_buf(),
        article: folder.to_path_buf(),
        stand_in: true,
    }
}

fn build(
    documents: &[CorpusDocument],
    folders: &EncoderFolders,
    cache: Option<&Path>,
    progress: &mut dyn FnMut(BuildProgress) -> ControlFlow<()>,
) -> Result<Arc<Retriever>, RetrievalError> {
    Retriever::build(
        documents.to_vec(),
        Some(folders),
        BackendChoice::Cpu,
        cache,
        progress,
    )
}

#[test]
fn dense_exact_and_hybrid_search_find_a_text_by_itself() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tiny");
    tiny_bert::write(&folder, Tiny::default());
    let documents = corpus(300);
    let retriever = build(&documents, &symmetric(&folder), None, &mut go).unwrap();
    let info = retriever.info();
    let encoder = info.encoder.unwrap();
    assert_eq!((encoder.name.as_str(), encoder.dim), ("tiny", 32));
    assert!(info.notice.unwrap().contains("stands in for MedCPT"));
    assert!(
        info.recall_at_10.unwrap() >= 0.95,
        "{:?}",
        info.recall_at_10
    );
    for position in [0, 17, 299] {
        let text = &documents[position].content;
        for method in [Method::Dense, Method::Exact, Method::Hybrid] {
            let found = retriever.search(text, method, 5).unwrap();
            assert_eq!(found.hits.len(), 5);
            assert_eq!(found.hits[0].position, position, "{method:?}");
            assert!(
                found
                    .hits
                    .windows(2)
                    .all(|two| two[0].score >= two[1].score)
            );
            assert!(found.timing_ms.encode > 0.0);
        }
        let found = retriever.search(text, Method::Exact, 1).unwrap();
        assert!((found.hits[0].score - 1.0).abs() < 1e-4);
        let (query, row) = (
            found.query_embedding.unwrap(),
            retriever.embedding(position).unwrap(),
        );
        assert!(query.iter().zip(row).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}

#[test]
fn a_second_opening_encodes_nothing_and_damage_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    let (folder, cache) = (home.path().join("tiny"), home.path().join("cache"));
    tiny_bert::write(&folder, Tiny::default());
    let folders = symmetric(&folder);
    let documents = corpus(200);
    let stages = |cache: &Path| {
        let mut seen = HashSet::new();
        let retriever = build(&documents, &folders, Some(cache), &mut |progress| {
            seen.insert(progress.stage);
            ControlFlow::Continue(())
        })
        .unwrap();
        (retriever, seen)
    };
    let (first, seen) = stages(&cache);
    assert!(seen.contains("encoding") && seen.contains("adding vectors"));
    let query = "chronic renal failure";
    let expected = first.search(query, Method::Dense, 10).unwrap().hits;
    let (second, seen) = stages(&cache);
    assert!(
        ["encoding", "adding vectors", "measuring recall"]
            .iter()
            .all(|stage| !seen.contains(stage)),
        "{seen:?}"
    );
    assert!(first.info().recall_at_10.is_some());
    assert_eq!(second.info().recall_at_10, first.info().recall_at_10);
    assert_eq!(
        second.search(query, Method::Dense, 10).unwrap().hits,
        expected
    );
    for entry in std::fs::read_dir(&cache).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
    }
    let (third, seen) = stages(&cache);
    assert!(seen.contains("encoding") && seen.contains("measuring recall"));
    assert_eq!(third.notes().len(), 3, "{:?}", third.notes());
    assert_eq!(
        third.search(query, Method::Dense, 10).unwrap().hits,
        expected
    );
    assert!(stages(&cache).0.notes().is_empty());
    // Another encoder of the same shape never gets these vectors.
    let other = home.path().join("other");
    tiny_bert::write(
        &other,
        Tiny {
            seed: 2,
            ..Tiny::default()
        },
    );
    let other = build(&documents, &symmetric(&other), Some(&cache), &mut go).unwrap();
    assert_ne!(other.embedding(0), third.embedding(0));
}

#[test]
fn a_cancelled_encode_goes_on_where_it_stopped() {
    let home = tempfile::tempdir().unwrap();
    let (folder, cache) = (home.path().join("tiny"), home.path().join("cache"));
    tiny_bert::write(&folder, Tiny::default());
    let folders = symmetric(&folder);
    let documents = corpus(500);
    let error = build(&documents, &folders, Some(&cache), &mut |progress| {
        if progress.stage == "encoding" && progress.done >= 100 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .unwrap_err();
    assert!(error.to_string().contains("cancelled"), "{error}");
    let mut first_done = None;
    let resumed = build(&documents, &folders, Some(&cache), &mut |progress| {
        if progress.stage == "encoding" {
            first_done.get_or_insert(progress.done);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    let kept = first_done.unwrap();
    assert!((16..500).contains(&kept), "{kept} documents were kept");
    let whole = build(&documents, &folders, None, &mut go).unwrap();
    for position in 0..documents.len() {
        let (a, b) = (
            resumed.embedding(position).unwrap(),
            whole.embedding(position).unwrap(),
        );
        assert!(
            a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5),
            "{position}"
        );
    }
}

#[test]
fn encoders_that_do_not_belong_together_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, dim| {
        let folder = home.path().join(name);
        tiny_bert::write(
            &folder,
            Tiny {
                dim,
                ..Tiny::default()
            },
        );
        folder
    };
    let article = write("tiny-article", 32);
    let pair = |query| EncoderFolders {
        name: "tiny".into(),
        query,
        article: article.clone(),
        stand_in: false,
    };
    let documents = corpus(20);
    let right = build(&documents, &pair(write("tiny-query", 32)), None, &mut go).unwrap();
    assert_eq!(right.info().notice, None);
    for (wrong, why) in [
        (write("tiny-query-encoder", 16), "dimensions"),
        (write("else-query", 32), "different models"),
    ] {
        let error = build(&documents, &pair(wrong), None, &mut go)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("does not belong") && error.contains(why),
            "{error}"
        );
    }
}

fn service(
    count: usize,
    folder: &Path,
    cache: Option<PathBuf>,
) -> (
    SearchService,
    tokio::sync::mpsc::Receiver<(medrgb::engine::job::JobId, SearchEvent)>,
) {
    let documents = corpus(count);
    let signal_of = (0..count)
        .map(|number| HashSet::from([format!("q{}", number / 10)]))
        .collect();
    let (events, inbox) = tokio::sync::mpsc::channel(256);
    let setup = SearchSetup {
        encoder: Some(symmetric(folder)),
        backend: BackendChoice::Cpu,
        cache,
    };
    let corpus = SearchCorpus {
        documents,
        signal_of,
    };
    (SearchService::start(corpus, setup, events).unwrap(), inbox)
}

#[test]
fn the_service_answers_bm25_first_and_all_lists_when_ready() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tiny");
    tiny_bert::write(&folder, Tiny::default());
    let (service, mut inbox) = service(400, &folder, None);
    let text = tiny_bert::texts(400)[123].clone();
    service.ask(SearchQuery {
        ticket: 1,
        text,
        methods: vec![Method::Dense, Method::Bm25, Method::Hybrid],
        k: 10,
        question_id: Some("q12".into()),
    });
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut ready = 0;
    let mut last: Option<Box<medrgb::engine::search::SearchResults>> = None;
    while ready == 0
        || last
            .as_ref()
            .is_none_or(|results| results.lists[0].1.is_err())
    {
        assert!(Instant::now() < deadline);
        match inbox.blocking_recv().unwrap().1 {
            SearchEvent::Ready(_) => ready += 1,
            SearchEvent::Results(results) => {
                assert_eq!(results.ticket, 1);
                assert!(results.lists[1].1.is_ok());
                last = Some(results);
            }
            SearchEvent::Building(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let results = last.unwrap();
    assert_eq!(ready, 1);
    assert!(results.recall_vs_exact.unwrap() >= 0.9);
    for (list, signal) in results.lists.iter().zip(&results.signal) {
        let hits = &list.1.as_ref().unwrap().hits;
        assert_eq!(hits[0].position, 123, "{:?}", list.0);
        let expected: Vec<bool> = hits.iter().map(|hit| hit.position / 10 == 12).collect();
        assert_eq!(signal, &expected);
    }
}

#[test]
fn a_cancelled_service_build_ends_once_and_bm25_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tiny");
    tiny_bert::write(&folder, Tiny::default());
    let (service, mut inbox) = service(3000, &folder, Some(home.path().join("cache")));
    loop {
        if let SearchEvent::Building(progress) = inbox.blocking_recv().unwrap().1
            && progress.stage == "encoding"
        {
            break;
        }
    }
    service.cancel_build();
    service.ask(SearchQuery {
        ticket: 5,
        text: "renal".into(),
        methods: vec![Method::Bm25],
        k: 3,
        question_id: None,
    });
    let (mut ends, mut answers) = (0, 0);
    while ends == 0 || answers == 0 {
        match inbox.blocking_recv().unwrap().1 {
            SearchEvent::Failed(why) => {
                assert!(why.contains("cancelled"), "{why}");
                ends += 1;
            }
            SearchEvent::Results(results) => {
                assert_eq!(results.lists[0].1.as_ref().unwrap().hits.len(), 3);
                answers += 1;
            }
            SearchEvent::Building(_) => {}
            other => panic!("{other:?}"),
        }
    }
    drop(service);
    while let Some((_, event)) = inbox.blocking_recv() {
        assert!(matches!(event, SearchEvent::Building(_)), "{event:?}");
    }
}

fn shared() -> PathBuf {
    std::env::var_os("MEDRGB_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    )
}

fn json_lines(reader: impl Read) -> Vec<serde_json::Value> {
    BufReader::new(reader)
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

fn string(value: &serde_json::Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// Query → document → gain.
type Judgements = HashMap<String, HashMap<String, f64>>;

fn judgements(path: &Path) -> Judgements {
    let mut all = Judgements::new();
    for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        all.entry(fields[0].into())
            .or_default()
            .insert(fields[1].into(), fields[2].parse().unwrap());
    }
    all
}

/// nDCG@10 with linear gain.
fn ndcg_at_10(ranked: &[&str], gains: &HashMap<String, f64>) -> f64 {
    let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains
            .take(10)
            .enumerate()
            .map(|(index, gain)| gain / (index as f64 + 2.0).log2())
            .sum()
    };
    let mut ideal: Vec<f64> = gains.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let got = discounted(
        &mut ranked
            .iter()
            .map(|id| gains.get(*id).copied().unwrap_or_default()),
    );
    got / discounted(&mut ideal.into_iter())
}

#[test]
fn bm25_on_scifact_is_as_good_as_it_should_be() {
    let folder = shared().join("data/retrieval/scifact");
    if !folder.is_dir() {
        eprintln!("SKIPPED: {} is not there", folder.display());
        return;
    }
    let file = std::fs::File::open(folder.join("corpus.jsonl.gz")).unwrap();
    let documents: Vec<CorpusDocument> = json_lines(flate2::read::GzDecoder::new(file))
        .iter()
        .map(|line| CorpusDocument {
            id: string(line, "_id"),
            title: string(line, "title"),
            content: string(line, "text"),
        })
        .collect();
    assert_eq!(documents.len(), 5183);
    let retriever = Retriever::build_lexical(documents, &mut go).unwrap();
    let gains = judgements(&folder.join("qrels/test.tsv"));
    assert_eq!(gains.len(), 300);
    let queries = json_lines(std::fs::File::open(folder.join("queries.jsonl")).unwrap());
    let scores: Vec<f64> = queries
        .iter()
        .filter_map(|query| {
            let gains = gains.get(&string(query, "_id"))?;
            let text = string(query, "text");
            let hits = retriever.search(&text, Method::Bm25, 10).unwrap().hits;
            let ranked: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
            Some(ndcg_at_10(&ranked, gains))
        })
        .collect();
    assert_eq!(scores.len(), 300);
    let mean = scores.iter().sum::<f64>() / 300.0;
    eprintln!("BM25 on SciFact: nDCG@10 {mean:.4}");
    assert!(mean >= 0.665, "nDCG@10 {mean:.4}");
}
