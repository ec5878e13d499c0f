#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::BoxFuture;

use super::*;
use crate::domain::answer::{Ending, ReplyShape};
use crate::domain::context::{Condition, Context, Mode, Scenario, SourceFilter};
use crate::domain::prompt::Prompt;
use crate::domain::question::{Choice, Question};
use crate::model::{BackendKind, Delta, ModelIdentity, Timing, Usage};

/// What the model of a test does.
enum Act {
    /// These pieces with this pause between them, then complete; stops when cancelled.
    Say(Vec<&'static str>, Duration),
    /// A piece, then nothing for ever, deaf to cancelling.
    Deaf(&'static str),
    /// A piece, then a panic.
    Panic,
    /// Fails.
    Fail,
}

struct Actor {
    identity: ModelIdentity,
    act: Act,
}

impl ChatModel for Actor {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn reply<'a>(
        &'a self,
        _request: &'a ChatRequest,
        cancel: &'a CancellationToken,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        async move {
            match &self.act {
                Act::Say(pieces, pause) => {
                    let mut text = String::new();
                    for piece in pieces {
                        tokio::select! {
                            () = cancel.cancelled() => return Ok(reply(&text, Ending::Interrupted)),
                            () = tokio::time::sleep(*pause) => {}
                        }
                        text += piece;
                        on_delta(Delta::Text((*piece).to_owned()));
                    }
                    Ok(reply(&text, Ending::Complete))
                }
                Act::Deaf(piece) => {
                    on_delta(Delta::Text((*piece).to_owned()));
                    std::future::pending().await
                }
                Act::Panic => {
                    on_delta(Delta::Text("some".into()));
                    panic!("out of luck")
                }
                Act::Fail => Err(ModelError::new(FailureKind::RateLimited, "busy")),
            }
        }
        .boxed()
    }
}

fn reply(text: &str, ending: Ending) -> Reply {
    Reply {
        text: text.to_owned(),
        reasoning: "why".into(),
        ending,
        usage: Usage {
            prompt_tokens: Some(3),
            ..Usage::default()
        },
        timing: Timing {
            first_token_ms: Some(5),
            total_ms: 9,
            timeline: vec![(5, u32::try_from(text.len()).unwrap())],
        },
        option_probabilities: None,
        reported_model: None,
        attempts: 1,
        broke_off: None,
    }
}

fn request(act: Act, store: Option<Store>) -> AskRequest {
    let question = Question {
        id: "q1".into(),
        text: "Are there microbes in milk?".into(),
        options: vec![Choice {
            letter: 'A',
            text: "yes".into(),
        }],
        answer: 'A',
        extra: serde_json::Map::new(),
    };
    let condition = Condition {
        scenario: Scenario::Standard,
        docs: 0,
        ..Condition::default()
    };
    AskRequest {
        instance: Instance {
            context: Context {
                question_id: "q1".into(),
                scenario: Scenario::Standard,
                docs_requested: 0,
                docs: 0,
                p_requested: 0.0,
                p: 0.0,
                seed: 0,
                mode: Mode::Nested,
                source: SourceFilter::Any,
                short: false,
                variant: None,
                documents: vec![],
                sub_questions: vec![],
            },
            prompt: Prompt {
                system: "s".into(),
                user: "u".into(),
            },
            shape: ReplyShape {
                scenario: Scenario::Standard,
                labels: vec![],
                ids: vec![],
                options: vec![('A', "yes".into())],
                sub_questions: vec![],
            },
            question,
            condition,
        },
        dataset: ("set".into(), "f1".into()),
        model: Arc::new(Actor {
            identity: ModelIdentity {
                name: "actor".into(),
                backend: BackendKind::Http,
                detail: "a test".into(),
                caution: None,
                window: None,
                replayed: Vec::new(),
            },
            act,
        }),
        sampling: Sampling::default(),
        run: "ask".into(),
        store,
    }
}

struct Place {
    _dir: tempfile::TempDir,
    store: Store,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("runs.sqlite")).unwrap();
    Place { _dir: dir, store }
}

/// All events of a job; checks that the end comes once and last.
async fn events_of(
    request: AskRequest,
    cancel: CancellationToken,
    capacity: usize,
) -> Vec<AskEvent> {
    let (sender, mut receiver) = mpsc::channel(capacity);
    let job = spawn(request, cancel, sender);
    let mut events = Vec::new();
    let all = async {
        while let Some((id, event)) = receiver.recv().await {
            assert_eq!(id, job);
            events.push(event);
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .expect("every job ends");
    let ends = events
        .iter()
        .filter(|event| matches!(event, AskEvent::Finished(_)))
        .count();
    assert_eq!(ends, 1, "{events:?}");
    assert!(matches!(events.last(), Some(AskEvent::Finished(_))));
    events
}

fn finished(events: &[AskEvent]) -> Result<&ReplyRecord, &String> {
    match events.last() {
        Some(AskEvent::Finished(end)) => end.as_ref().map(Box::as_ref),
        other => panic!("{other:?}"),
    }
}

fn text(events: &[AskEvent]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            AskEvent::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_reply_is_stored_before_the_end_is_told() {
    let place = place();
    let act = Act::Say(
        vec!["{\"answer_choice\"", ": \"A\"}"],
        Duration::from_millis(20),
    );
    let (sender, mut receiver) = mpsc::channel(16);
    spawn(
        request(act, Some(place.store.clone())),
        CancellationToken::new(),
        sender,
    );
    loop {
        let (_, event) = receiver.recv().await.expect("an end");
        if let AskEvent::Finished(end) = event {
            let told = end.unwrap();
            // Looked up at this very moment, through a connection of its own.
            let store = Store::open(place.store.path()).unwrap();
            let stored = store.get(told.id).unwrap().expect("the record is there");
            assert_eq!(stored, *told);
            assert_eq!(stored.raw, "{\"answer_choice\": \"A\"}");
            assert_eq!(stored.reply["ending"], "complete");
            assert!(stored.reply.get("text").is_none());
            assert!(stored.parsed.is_some() && stored.scores.is_some());
            let back = result_of(&stored).unwrap().unwrap();
            assert_eq!(back, reply("{\"answer_choice\": \"A\"}", Ending::Complete));
            assert_eq!(identity_of(&stored).unwrap().name, "actor");
            return;
        }
    }
}

#[tokio::test]
async fn a_flood_of_deltas_is_merged_and_complete() {
    let pieces = vec!["word "; 3_000];
    let act = Act::Say(pieces, Duration::ZERO);
    let events = events_of(request(act, None), CancellationToken::new(), 2).await;
    assert_eq!(text(&events), "word ".repeat(3_000));
    assert_eq!(finished(&events).unwrap().id, 0);
}

#[tokio::test]
async fn at_most_one_text_event_per_batch() {
    let act = Act::Say(vec!["x"; 200], Duration::from_millis(1));
    let started = Instant::now();
    let events = events_of(request(act, None), CancellationToken::new(), 1_000).await;
    let batches = started.elapsed().as_millis() / BATCH.as_millis() + 2;
    assert!((events.len() as u128) <= batches, "{} events", events.len());
    assert_eq!(text(&events).len(), 200);
}

#[tokio::test]
async fn failures_and_panics_are_stored_and_told() {
    let place = place();
    for (act, kind, words) in [
        (Act::Fail, "rate_limited", "busy"),
        (Act::Panic, "local", "out of luck"),
    ] {
        let store = Some(place.store.clone());
        let events = events_of(request(act, store), CancellationToken::new(), 16).await;
        let record = finished(&events).unwrap();
        assert_eq!(record.failure["kind"], kind);
        assert!(record.failure["message"].as_str().unwrap().contains(words));
        assert!(record.parsed.is_none() && record.scores.is_none() && record.raw.is_empty());
        assert_eq!(place.store.get(record.id).unwrap().as_ref(), Some(record));
        assert!(result_of(record).unwrap().is_err());
    }
}

#[tokio::test]
async fn cancelling_keeps_what_came_also_from_a_deaf_model() {
    let place = place();
    for (act, expected) in [
        (
            Act::Say(vec!["tick "; 10_000], Duration::from_millis(5)),
            "tick ",
        ),
        (Act::Deaf("half"), "half"),
    ] {
        let cancel = CancellationToken::new();
        let trigger = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(60)).await;
            trigger.cancel();
        });
        let store = Some(place.store.clone());
        let events = events_of(request(act, store), cancel, 16).await;
        let record = finished(&events).unwrap();
        assert!(record.raw.starts_with(expected), "{}", record.raw);
        assert_eq!(record.reply["ending"], "interrupted");
        assert_eq!(text(&events), record.raw);
    }
}

#[tokio::test]
async fn a_receiver_that_is_gone_stops_the_job() {
    let place = place();
    let cancel = CancellationToken::new();
    let (sender, receiver) = mpsc::channel(4);
    let act = Act::Say(vec!["tick "; 100_000], Duration::from_millis(2));
    spawn(
        request(act, Some(place.store.clone())),
        cancel.clone(),
        sender,
    );
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(receiver);
    for _ in 0..200 {
        if !place.store.replies_of_run("ask").unwrap().is_empty() {
            assert!(cancel.is_cancelled());
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the job goes on without a receiver");
}

#[tokio::test]
async fn text_is_not_lost_when_storing_fails() {
    let place = place();
    let folder = place.store.path().parent().unwrap().to_owned();
    place.store.make_read_only();
    let act = Act::Say(vec!["precious"], Duration::ZERO);
    let store = Some(place.store.clone());
    let events = events_of(request(act, store), CancellationToken::new(), 16).await;
    let why = finished(&events).unwrap_err();
    let file = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("unsaved-")
        })
        .expect("a file with the record");
    assert!(why.contains(&file.display().to_string()), "{why}");
    let saved: ReplyRecord = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(saved.raw, "precious");
    assert_eq!(place.store.unsaved().unwrap().replies, 1);
}
