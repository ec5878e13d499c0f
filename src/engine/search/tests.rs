#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use std::time::{Duration, Instant};

fn corpus() -> SearchCorpus {
    let texts = ["heart failure therapy", "renal failure", "heart rate"];
    SearchCorpus {
        documents: texts
            .iter()
            .enumerate()
            .map(|(i, text)| CorpusDocument {
                id: format!("d{i}"),
                title: String::new(),
                content: (*text).into(),
            })
            .collect(),
        signal_of: ["q1", "q1", "q2"]
            .map(|id| HashSet::from([id.to_owned()]))
            .into(),
    }
}

fn query(ticket: u64, text: &str, methods: &[Method]) -> SearchQuery {
    SearchQuery {
        ticket,
        text: text.into(),
        methods: methods.into(),
        k: 10,
        question_id: Some("q2".into()),
    }
}

fn start(
    corpus: SearchCorpus,
    encoder: Option<EncoderFolders>,
) -> (SearchService, mpsc::Receiver<(JobId, SearchEvent)>) {
    let (events, inbox) = mpsc::channel(64);
    let setup = SearchSetup {
        encoder,
        backend: BackendChoice::Cpu,
        cache: None,
    };
    (SearchService::start(corpus, setup, events).unwrap(), inbox)
}

/// The next event that is no progress.
fn next(inbox: &mut mpsc::Receiver<(JobId, SearchEvent)>) -> Option<(JobId, SearchEvent)> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match inbox.try_recv() {
            Ok((_, SearchEvent::Building(_))) => {}
            Ok(event) => return Some(event),
            Err(mpsc::error::TryRecvError::Disconnected) => return None,
            Err(mpsc::error::TryRecvError::Empty) => {
                assert!(Instant::now() < deadline, "no event came");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

#[test]
fn the_build_ends_once_queries_are_answered_and_dropping_ends_the_threads() {
    let (service, mut inbox) = start(corpus(), None);
    let (job, event) = next(&mut inbox).unwrap();
    assert_eq!(job, service.job());
    assert!(
        matches!(&event, SearchEvent::Ready(info) if info.documents == 3),
        "{event:?}"
    );
    service.ask(query(7, "heart", &[Method::Bm25, Method::Dense]));
    let (_, event) = next(&mut inbox).unwrap();
    let SearchEvent::Results(results) = event else {
        panic!("{event:?}")
    };
    assert_eq!((results.ticket, results.query.as_str()), (7, "heart"));
    assert_eq!(results.lists.len(), 2);
    let ids: Vec<&str> = results.lists[0]
        .1
        .as_ref()
        .unwrap()
        .hits
        .iter()
        .map(|hit| hit.id.as_str())
        .collect();
    assert_eq!(ids, ["d2", "d0"]);
    assert_eq!(results.signal, [vec![true, false], vec![]]);
    // One of one signal document, at rank 1.
    let measures = results.measures[0].unwrap();
    assert_eq!(
        (measures.ndcg, measures.recall, measures.reciprocal_rank),
        (1.0, 1.0, 1.0)
    );
    assert_eq!((measures.at, results.measures[1]), (10, None));
    assert_eq!(results.map, None, "without an encoder there are no vectors");
    assert!(
        results.lists[1]
            .1
            .as_ref()
            .unwrap_err()
            .contains("models pull")
    );
    drop(service);
    assert_eq!(next(&mut inbox), None);
}

#[test]
fn the_newest_query_is_answered_last_and_none_after_it() {
    let (service, mut inbox) = start(corpus(), None);
    for ticket in 0..500 {
        service.ask(query(ticket, "failure", &[Method::Bm25]));
    }
    let (mut tickets, mut ends) = (Vec::new(), 0);
    while ends == 0 || tickets.last() != Some(&499) {
        match next(&mut inbox).unwrap().1 {
            SearchEvent::Results(results) => tickets.push(results.ticket),
            SearchEvent::Ready(_) => ends += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(tickets.is_sorted());
    drop(service);
    assert_eq!(next(&mut inbox), None);
}

#[test]
fn an_encoder_that_is_not_there_fails_the_build_and_leaves_bm25() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none");
    let folders = EncoderFolders {
        name: "none".into(),
        query: missing.clone(),
        article: missing,
        stand_in: false,
    };
    let (service, mut inbox) = start(corpus(), Some(folders));
    let (_, event) = next(&mut inbox).unwrap();
    assert!(
        matches!(&event, SearchEvent::Failed(why) if why.contains("encoder")),
        "{event:?}"
    );
    service.ask(query(1, "renal", &[Method::Bm25, Method::Hybrid]));
    let (_, event) = next(&mut inbox).unwrap();
    let SearchEvent::Results(results) = event else {
        panic!("{event:?}")
    };
    assert_eq!(results.lists[0].1.as_ref().unwrap().hits.len(), 1);
    assert!(results.lists[1].1.as_ref().unwrap_err().contains("encoder"));
}

#[test]
fn a_corpus_that_can_not_be_indexed_answers_with_the_reason() {
    let mut corpus = corpus();
    corpus.documents[2].id = "d0".into();
    let (service, mut inbox) = start(corpus, None);
    assert!(matches!(
        next(&mut inbox),
        Some((_, SearchEvent::Failed(_)))
    ));
    service.ask(query(1, "renal", &[Method::Bm25]));
    let Some((_, SearchEvent::Results(results))) = next(&mut inbox) else {
        panic!("no results")
    };
    assert!(results.lists[0].1.as_ref().unwrap_err().contains("same id"));
}

#[test]
fn an_index_that_can_not_be_opened_fails_once_and_answers_with_the_reason() {
    let (events, mut inbox) = mpsc::channel(64);
    let open: OpenIndex = Arc::new(|| Err("the server is away".into()));
    let service = SearchService::open(&corpus(), open, events).unwrap();
    let (_, event) = next(&mut inbox).unwrap();
    assert_eq!(event, SearchEvent::Failed("the server is away".into()));
    service.ask(query(1, "renal", &[Method::Dense]));
    let Some((_, SearchEvent::Results(results))) = next(&mut inbox) else {
        panic!("no results")
    };
    let why = results.lists[0].1.as_ref().unwrap_err();
    assert_eq!(
        (why.as_str(), results.measures[0]),
        ("the server is away", None)
    );
    drop(service);
    assert_eq!(next(&mut inbox), None);
}
