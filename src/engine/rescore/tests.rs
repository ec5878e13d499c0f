#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::sync::Mutex;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::domain::answer::{Ending, Outcome};
use crate::domain::context::{
    Condition, Context, ContextDocument, ContextSubQuestion, Mode, Scenario, SourceFilter,
};
use crate::domain::passage::Role;
use crate::domain::prompt::{Prompt, Templates};
use crate::domain::question::{Choice, Question};
use crate::engine::sweep::Control;
use crate::model::replay::{Pace, Recorded, Recording, ReplayModel};
use crate::model::{
    BackendKind, ChatModel, ChatRequest, Delta, FailureKind, Hold, ModelError, ModelIdentity,
    Reply, ReplyForm, Sampling,
};

mod stopping;

/// A reply to an integration instance with the sub-questions "dose?" (5 mg), "where?" (aorta), "who?" (men).
fn record(question: &str, raw: &str) -> ReplyRecord {
    let option = |letter, text: &str| Choice {
        letter,
        text: text.into(),
    };
    let subs = [("dose?", "5 mg"), ("where?", "aorta"), ("who?", "men")];
    let documents = (1..=3).map(|k| ContextDocument {
        label: format!("DOC_{k}"),
        id: format!("d{k}"),
        role: Role::Signal,
        original_id: None,
        source: None,
        title: String::new(),
        content: "Text.".into(),
        from_question: None,
    });
    let sub_questions = subs
        .iter()
        .enumerate()
        .map(|(at, (text, gold))| ContextSubQuestion {
            question: (*text).into(),
            answer: (*gold).into(),
            label: format!("DOC_{}", at + 1),
            planted: None,
        });
    let condition = Condition {
        scenario: Scenario::Integration,
        docs: 3,
        p: 100.0,
        ..Condition::default()
    };
    let reply = Reply {
        ending: Ending::Complete,
        ..Reply::nothing()
    };
    ReplyRecord {
        id: 0,
        run: "night".into(),
        dataset: "set".into(),
        dataset_fingerprint: "f".into(),
        question: Question {
            id: question.into(),
            text: "Which?".into(),
            options: vec![option('A', "this"), option('B', "that")],
            answer: 'A',
            extra: serde_json::Map::new(),
        },
        condition,
        context: Context {
            question_id: question.into(),
            scenario: Scenario::Integration,
            docs_requested: 3,
            docs: 3,
            p_requested: 100.0,
            p: 100.0,
            seed: 0,
            mode: Mode::Nested,
            source: SourceFilter::Any,
            short: false,
            variant: None,
            documents: documents.collect(),
            sub_questions: sub_questions.collect(),
        },
        prompt: Prompt {
            system: String::new(),
            user: "u".into(),
        },
        model: json!({}),
        model_name: "m".into(),
        sampling: json!({}),
        raw: raw.into(),
        reply: crate::engine::ask::to_value(&reply),
        failure: serde_json::Value::Null,
        parsed: None,
        scores: None,
        created_at: "2026-11-29T10:00:00Z".into(),
        request: None,
        origin: None,
    }
}

fn raw(answers: [&str; 3], choice: &str) -> String {
    let subs: String = answers
        .iter()
        .enumerate()
        .filter(|(_, answer)| !answer.is_empty())
        .map(|(at, answer)| {
            format!(
                "\"sub_{}\": {{\"answer\": \"{answer}\", \"doc_id\": \"DOC_1\"}}, ",
                at + 1
            )
        })
        .collect();
    format!(
        "{{{subs}\"main\": {{\"step_by_step_thinking\": \"x\", \"answer_choice\": \"{choice}\"}}}}"
    )
}

fn failed(question: &str) -> ReplyRecord {
    ReplyRecord {
        raw: String::new(),
        reply: serde_json::Value::Null,
        failure: crate::engine::ask::to_value(&ModelError::new(FailureKind::Quota, "none left")),
        ..record(question, "")
    }
}

struct Place {
    _dir: tempfile::TempDir,
    store: Store,
}

/// A run as an older program stored it, without readings and scores: q1 right with one answer skipped, q2
/// wrong with two skipped, q3 failed.
fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("runs.sqlite")).unwrap();
    for record in [
        record("q1", &raw(["5mg", "", "women"], "A")),
        record("q2", &raw(["", "the aorta", ""], "B")),
        failed("q3"),
    ] {
        store.insert(&record).unwrap();
    }
    Place { _dir: dir, store }
}

/// A judge that knows what to say to an answer, and counts its calls.
struct Judge {
    identity: ModelIdentity,
    says: HashMap<&'static str, Result<&'static str, FailureKind>>,
    calls: Mutex<Vec<String>>,
}

impl Judge {
    fn new(says: &[(&'static str, Result<&'static str, FailureKind>)]) -> Arc<Judge> {
        Arc::new(Judge {
            identity: ModelIdentity {
                name: "gpt".into(),
                backend: BackendKind::Http,
                detail: String::new(),
                caution: None,
                window: None,
                replayed: Vec::new(),
            },
            says: says.iter().copied().collect(),
            calls: Mutex::default(),
        })
    }

    fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

impl ChatModel for Judge {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn reply<'a>(
        &'a self,
        request: &'a ChatRequest,
        _cancel: &'a CancellationToken,
        _on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        assert_eq!(request.form, ReplyForm::Judgement);
        let prompt = request.prompt.user.clone();
        let found = self.says.iter().find(|(answer, _)| {
            // "5mg*" stands for all answers that begin so.
            match answer.strip_suffix('*') {
                Some(start) => prompt.contains(&format!("<answer>\n{start}")),
                None => prompt.contains(&format!("<answer>\n{answer}\n</answer>\n\nReply")),
            }
        });
        let said = *found.expect("an answer to judge").1;
        self.calls.lock().unwrap().push(prompt);
        async move {
            tokio::task::yield_now().await;
            match said {
                Ok("panic") => panic!("out of luck"),
                Ok(text) => Ok(Reply {
                    text: text.into(),
                    ending: Ending::Complete,
                    ..Reply::nothing()
                }),
                Err(kind) => Err(ModelError::new(kind, "no use")),
            }
        }
        .boxed()
    }
}

fn request(store: &Store, model: Arc<dyn ChatModel>) -> JudgeRequest {
    JudgeRequest {
        store: store.clone(),
        run: "night".into(),
        model,
        templates: Templates::default(),
        sampling: Sampling::default(),
        concurrency: 3,
        pace: crate::engine::sweep::Pace::default(),
        again: false,
    }
}

async fn judge(request: JudgeRequest) -> Result<usize, JudgeTrouble> {
    let judging = judge_run(request, &Control::default(), &mut |_, _| {}).await?;
    Ok(judging.made)
}

const HALF: &str = r#"{"reasoning": "close", "score": "0.5"}"#;
const FULL: &str = r#"{"reasoning": "same", "score": "1"}"#;

#[test]
fn old_records_are_read_and_scored_and_new_ones_left_alone() {
    let Place { _dir, store } = place();
    let done = rescore(&store, "night", None).unwrap();
    assert_eq!((done.records, done.scored, done.failed_calls), (3, 2, 1));
    assert_eq!((done.changed, done.changed_outcome), (2, 2));
    assert_eq!(done.before, Ratio::default());
    assert_eq!(done.after, Ratio { num: 1.0, den: 2.0 });
    let records = store.replies_of_run("night").unwrap();
    let parsed = records[1].parsed.as_ref().unwrap();
    assert_eq!(
        (parsed.outcome, parsed.answer),
        (Outcome::Answered, Some('B'))
    );
    let scores = records[1].scores.as_ref().unwrap();
    assert_eq!(
        scores.counts[&Metric::SubExactMatch],
        Ratio { num: 1.0, den: 3.0 }
    );
    assert_eq!(records[2].parsed, None);
    // Nothing is left to do.
    let again = rescore(&store, "night", None).unwrap();
    assert_eq!((again.changed, again.scored), (0, 2));
    assert_eq!(again.before, again.after);
}

#[test]
fn wrong_stored_readings_are_put_right() {
    let Place { _dir, store } = place();
    rescore(&store, "night", None).unwrap();
    store
        .rewrite_run(
            "night",
            || (),
            |(), record| {
                let Some(parsed) = record.parsed.as_mut() else {
                    return false;
                };
                parsed.answer = Some('B');
                let scores = record.scores.as_mut().unwrap();
                scores
                    .counts
                    .insert(Metric::MainAccuracy, Ratio { num: 0.0, den: 1.0 });
                true
            },
        )
        .unwrap();
    let done = rescore(&store, "night", None).unwrap();
    // q2's answer was B anyway, and its accuracy 0 of 1.
    assert_eq!(
        (done.changed, done.changed_outcome, done.changed_answer),
        (1, 0, 1)
    );
    assert_eq!(done.before, Ratio { num: 0.0, den: 2.0 });
    assert_eq!(done.after, Ratio { num: 1.0, den: 2.0 });
}

#[tokio::test]
async fn only_given_answers_are_judged_and_once() {
    let Place { _dir, store } = place();
    let model = Judge::new(&[
        ("5mg", Ok(HALF)),
        ("women", Ok("no idea")),
        ("the aorta", Ok(FULL)),
    ]);
    let mut seen = Vec::new();
    let made = judge_run(
        request(&store, model.clone()),
        &Control::default(),
        &mut |done, total| seen.push((done, total)),
    )
    .await
    .unwrap();
    assert_eq!((made.made, made.shared, model.calls()), (3, 0, 3));
    assert_eq!(seen, [(1, 3), (2, 3), (3, 3)]);
    let done = rescore(&store, "night", Some("gpt")).unwrap();
    // Of six sub-questions two are judged (0.5 and 1), three skipped (0), one can't be read.
    let counts = done.judges["gpt"];
    assert_eq!(
        counts,
        JudgeCounts {
            judged: 2,
            skipped: 3,
            invalid: 1,
            failed: 0,
            pending: 0,
            score: Ratio { num: 1.5, den: 5.0 },
        }
    );
    let scores = store.replies_of_run("night").unwrap()[0].scores.clone();
    let scores = scores.unwrap();
    assert_eq!(scores.judge.as_deref(), Some("gpt"));
    assert_eq!(
        scores.counts[&Metric::SubJudgeScore],
        Ratio { num: 0.5, den: 2.0 }
    );
    // Nothing is asked twice, also what could not be read; unless it is asked for.
    assert_eq!(judge(request(&store, model.clone())).await.unwrap(), 0);
    let mut again = request(&store, model.clone());
    again.again = true;
    assert_eq!(judge(again).await.unwrap(), 3);
    // Without --judge the stored judge is kept.
    let done = rescore(&store, "night", None).unwrap();
    assert_eq!((done.changed, done.judges["gpt"]), (0, counts));
}

#[tokio::test]
async fn failures_and_panics_are_counted_and_tried_again() {
    let Place { _dir, store } = place();
    let model = Judge::new(&[
        ("5mg", Err(FailureKind::Server)),
        ("women", Ok("panic")),
        ("the aorta", Ok(FULL)),
    ]);
    assert_eq!(judge(request(&store, model)).await.unwrap(), 3);
    let counts = rescore(&store, "night", Some("gpt")).unwrap().judges["gpt"];
    assert_eq!((counts.judged, counts.failed, counts.skipped), (1, 2, 3));
    assert_eq!(counts.score, Ratio { num: 1.0, den: 4.0 });
    let model = Judge::new(&[("5mg", Ok(HALF)), ("women", Ok(HALF))]);
    assert_eq!(judge(request(&store, model)).await.unwrap(), 2);
    let counts = rescore(&store, "night", Some("gpt")).unwrap().judges["gpt"];
    assert_eq!((counts.judged, counts.failed), (3, 0));
}

#[tokio::test]
async fn a_useless_judge_is_given_up() {
    let Place { _dir, store } = place();
    let model = Judge::new(&[
        ("5mg", Err(FailureKind::Auth)),
        ("women", Err(FailureKind::Auth)),
        ("the aorta", Err(FailureKind::Auth)),
    ]);
    let mut one = request(&store, model.clone());
    one.concurrency = 1;
    let trouble = judge(one).await.unwrap_err();
    assert!(
        matches!(&trouble, JudgeTrouble::GivenUp(why) if why == "no use"),
        "{trouble}"
    );
    assert_eq!(model.calls(), 1);

    for number in 0..12 {
        let answer = format!("5mg {number}");
        let record = record(&format!("more{number}"), &raw([&answer, "", ""], "A"));
        store.insert(&record).unwrap();
    }
    let model = Judge::new(&[
        ("5mg*", Err(FailureKind::Server)),
        ("women", Err(FailureKind::Server)),
        ("the aorta", Err(FailureKind::Server)),
    ]);
    let mut one = request(&store, model.clone());
    one.concurrency = 1;
    let trouble = judge(one).await.unwrap_err().to_string();
    assert!(trouble.contains("10 calls in a row failed"), "{trouble}");
    assert_eq!(model.calls(), 10);
}

#[tokio::test]
async fn a_judge_that_says_nothing_readable_is_given_up() {
    let Place { _dir, store } = place();
    for number in 0..40 {
        let answer = format!("5mg {number}");
        let record = record(&format!("more{number}"), &raw([&answer, "", ""], "A"));
        store.insert(&record).unwrap();
    }
    let babble = |first: &'static str| {
        Judge::new(&[
            ("5mg*", Ok("well, well")),
            ("women", Ok(first)),
            ("the aorta", Ok("well")),
        ])
    };
    let model = babble("hm");
    let mut one = request(&store, model.clone());
    one.concurrency = 1;
    let trouble = judge(one).await.unwrap_err().to_string();
    assert!(
        trouble.contains("none of its first 30 judgements can be read"),
        "{trouble}"
    );
    assert_eq!(model.calls(), 30);
    // One that is of use now and then is asked to the end.
    let model = babble(FULL);
    let mut one = request(&store, model.clone());
    (one.concurrency, one.again) = (1, true);
    judge(one).await.unwrap();
    assert_eq!(model.calls(), 43);
}

#[tokio::test]
async fn answers_that_are_alike_are_judged_by_one_call_also_in_a_later_start() {
    let Place { _dir, store } = place();
    for question in ["q4", "q5"] {
        let twin = record(question, &raw(["5mg", "", ""], "A"));
        store.insert(&twin).unwrap();
    }
    let model = Judge::new(&[
        ("5mg", Ok(HALF)),
        ("women", Ok("no idea")),
        ("the aorta", Ok(FULL)),
    ]);
    let run =
        |request| async move { judge_run(request, &Control::default(), &mut |_, _| {}).await };
    let first = run(request(&store, model.clone())).await.unwrap();
    assert_eq!((first.made, first.shared, model.calls()), (5, 2, 3));
    // What came later asks nothing that was asked before, whether it could be read or not.
    store
        .insert(&record("q6", &raw(["5mg", "", "women"], "A")))
        .unwrap();
    let second = run(request(&store, model.clone())).await.unwrap();
    assert_eq!((second.made, second.shared, model.calls()), (2, 2, 3));
    let raws: Vec<String> = store
        .judgements_of_run("night", "gpt")
        .unwrap()
        .into_iter()
        .filter(|one| one.given == "5mg")
        .map(|one| one.raw)
        .collect();
    assert_eq!(raws, [HALF; 4]);
    let mut again = request(&store, model.clone());
    again.again = true;
    let third = run(again).await.unwrap();
    assert_eq!((third.made, third.shared, model.calls()), (7, 4, 6));
}

#[tokio::test]
async fn the_judge_keeps_to_the_limits_per_minute() {
    let Place { _dir, store } = place();
    let model = Judge::new(&[
        ("5mg", Ok(FULL)),
        ("women", Ok(FULL)),
        ("the aorta", Ok(FULL)),
    ]);
    let mut limited = request(&store, model.clone());
    limited.pace = crate::engine::sweep::Pace::new(crate::engine::sweep::Limits {
        requests_per_minute: Some(1),
        tokens_per_minute: None,
    });
    // The second call may start a minute later: long before that the user has had enough, and need not wait for it.
    let cancel = Control::default();
    let enough = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        cancel.stop.cancel();
    };
    let begun = std::time::Instant::now();
    let mut ignore = |_, _| {};
    let judging = judge_run(limited, &cancel, &mut ignore);
    let (stopped, ()) = tokio::join!(judging, enough);
    assert!(matches!(stopped, Err(JudgeTrouble::Stopped)));
    assert_eq!(model.calls(), 1);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

#[tokio::test]
async fn a_recorded_judge_plays_its_judgements() {
    let Place { _dir, store } = place();
    let recorded = |question: &str, gold: &str, answer: &str, text: &str| Recorded {
        prompt: Templates::default()
            .render_judge(question, gold, answer)
            .unwrap(),
        result: Ok(Reply {
            text: text.into(),
            ending: Ending::Complete,
            ..Reply::nothing()
        }),
    };
    let recording = Recording {
        run: "judged".into(),
        models: vec!["gpt".into()],
        date: "2026-11-29".into(),
        caution: None,
        replies: vec![
            recorded("dose?", "5 mg", "5mg", FULL),
            recorded("where?", "aorta", "the aorta", FULL),
        ],
    };
    let model = Arc::new(ReplayModel::new(recording, Pace::new(f64::INFINITY)).unwrap());
    assert_eq!(judge(request(&store, model)).await.unwrap(), 3);
    let counts = rescore(&store, "night", Some("replay:judged"))
        .unwrap()
        .judges["replay:judged"];
    // "women" was not recorded.
    assert_eq!((counts.judged, counts.failed), (2, 1));
}

#[tokio::test]
async fn a_judgement_of_another_answer_does_not_count() {
    let Place { _dir, store } = place();
    let model = Judge::new(&[
        ("5mg", Ok(FULL)),
        ("women", Ok(FULL)),
        ("the aorta", Ok(FULL)),
    ]);
    judge(request(&store, model)).await.unwrap();
    let mut judgements = store.judgements_of_run("night", "gpt").unwrap();
    let mut about_dose = judgements.remove(0);
    about_dose.given = "what an older reading gave".into();
    store.insert_judgement(&about_dose).unwrap();
    let counts = rescore(&store, "night", Some("gpt")).unwrap().judges["gpt"];
    assert_eq!((counts.judged, counts.pending), (2, 1));
}
