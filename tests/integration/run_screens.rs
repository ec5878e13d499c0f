//! The explorer's screens of runs: sweeps, curves, comparisons, probes; driven by keys, without a terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use medrgb::data::store::{ReplyRecord, RunSummary};
use medrgb::domain::answer::{Ending, Outcome, parse};
use medrgb::domain::compare::{self, answered as pairs_of, compare as compared_runs};
use medrgb::domain::context::{Condition, Scenario};
use medrgb::domain::cost::Cost;
use medrgb::domain::probe::{Effect as Flip, Said, Tried as Told, verdict};
use medrgb::domain::prompt::{Prompt, reply_shape};
use medrgb::domain::report::{Observation, Options, Published, build};
use medrgb::domain::score::{Metric, Ratio, score};
use medrgb::domain::stats::Resampling;
use medrgb::tui::app::compare::Compared;
use medrgb::tui::app::curves::Figures;
use medrgb::tui::app::plan::{Estimate, EstimatedCondition, TimeEstimate};
use medrgb::tui::app::probe::{Probed, Tried};
use medrgb::tui::app::sweep::{Page, SweepEnd, SweepProgress};
use medrgb::tui::app::{Screen, Ticket};
use medrgb::tui::effects::Effect;
use medrgb::tui::message::{Message, ProbeEvent, SweepEvent};
use medrgb::tui::theme::ColorDepth;
use serde_json::json;

use crate::screens::{Stage, answered};

/// Draws a state at the smallest usual and at a large size.
macro_rules! at_both_sizes {
    ($name:ident, $prepare:expr) => {
        #[test]
        fn $name() {
            for (width, height) in [(80, 24), (200, 60)] {
                let mut stage = Stage::open((width, height), ColorDepth::True);
                let prepare: fn(&mut Stage) = $prepare;
                prepare(&mut stage);
                let name = format!("{}_{width}x{height}", stringify!($name));
                insta::assert_snapshot!(name, stage.screen());
            }
        }
    };
}

at_both_sizes!(sweep_runs, |stage| {
    with_runs(stage, "W");
    stage.keys("j");
});
at_both_sizes!(sweep_plan, |stage| {
    planned(stage);
});
at_both_sizes!(sweep_progress, |stage| {
    asking(stage);
});
at_both_sizes!(sweep_ended, |stage| {
    let ticket = asking(stage);
    finish(stage, ticket, Some("no room on the disk"));
    // The dataset's folder is another in every test.
    let running = stage.app.sweep.running.as_mut().unwrap();
    running.command = "medrgb sweep --dataset demo --model embedded --run demo-embedded".into();
});
at_both_sizes!(sweep_curves, |stage| {
    with_curves(stage, true);
});
at_both_sizes!(compare_choose, |stage| {
    with_runs(stage, "C");
    stage.keys("enter j");
});
at_both_sizes!(compare_result, |stage| {
    with_comparison(stage);
});
at_both_sizes!(compare_pair, |stage| {
    with_pair(stage);
});
at_both_sizes!(probe_before, |stage| {
    on_probe(stage);
});
at_both_sizes!(probe_found, |stage| {
    with_findings(stage);
});
at_both_sizes!(probe_found_beside_choices, |stage| {
    with_findings(stage);
    stage.keys("tab tab");
});
at_both_sizes!(probe_reply, |stage| {
    on_probe(stage);
    stage.keys("tab tab");
});
at_both_sizes!(help_on_sweeps, |stage| {
    stage.keys("W ?");
});

/// Two runs of the store.
pub(crate) fn runs() -> Vec<RunSummary> {
    let run = |name: &str, models: &[&str], replies, failures| RunSummary {
        name: name.into(),
        created_at: "2026-03-01T08:00:00.000Z".into(),
        updated_at: Some("2026-03-02T23:59:59.123Z".into()),
        replies,
        failures,
        questions: 8,
        models: models.iter().map(|&model| model.into()).collect(),
        datasets: vec!["demo".into()],
        scenarios: vec!["standard".into(), "sufficiency".into()],
    };
    vec![
        run("night", &["gpt-4o-mini-2024-07-18"], 296, 3),
        run("day", &["llama", "qwen2.5"], 1200, 0),
        run("probe", &["llama"], 7, 0),
    ]
}

pub(crate) fn ticket_of(effects: &[Effect]) -> Ticket {
    let of = |effect: &Effect| match effect {
        Effect::ListRuns { ticket }
        | Effect::EstimateSweep { ticket, .. }
        | Effect::StartSweep { ticket, .. }
        | Effect::LoadCurves { ticket, .. }
        | Effect::Compare { ticket, .. }
        | Effect::LoadPair { ticket, .. } => Some(*ticket),
        Effect::Probe(parts) => Some(parts.ticket),
        _ => None,
    };
    effects.iter().find_map(of).expect("a job")
}

pub(crate) fn with_runs(stage: &mut Stage, keys: &str) {
    let ticket = ticket_of(&stage.keys(keys));
    stage.send(Message::RunList {
        ticket,
        result: Ok(runs()),
    });
}

pub(crate) fn estimate() -> Estimate {
    let cell = |p, done, to_ask| EstimatedCondition {
        condition: Condition {
            scenario: Scenario::Sufficiency,
            p,
            ..Condition::default()
        },
        instances: 4,
        without: 0,
        short: usize::from(p == 100.0) * 2,
        overflow: 0,
        done,
        to_ask,
        tokens: to_ask as u64 * 900,
    };
    Estimate {
        model: "gpt-4o-mini".into(),
        caution: None,
        questions: 4,
        conditions: vec![cell(0.0, 4, 0), cell(60.0, 0, 4), cell(100.0, 0, 4)],
        instances: 12,
        done: 4,
        to_ask: 8,
        tokens: 7200,
        to_reuse: 0,
        too_long: 0,
        reply_tokens: 8 * 1024,
        concurrency: 64,
        cost: Cost::of((8, 7200), 1024, (Some(0.15), Some(0.6))),
        judge: None,
        time: Some(TimeEstimate {
            per_reply: Some(2.5),
            replies: 40,
            seconds: 95.0,
            at_least: false,
        }),
        notes: vec!["the run \"demo-m\" was asked of \"another\"".into()],
    }
}

/// The plan with an estimate.
pub(crate) fn planned(stage: &mut Stage) {
    with_runs(stage, "W");
    let ticket = ticket_of(&stage.keys("enter"));
    stage.send(Message::Estimate {
        ticket,
        result: Ok(Box::new(estimate())),
    });
}

pub(crate) fn progress(finished: usize) -> SweepProgress {
    SweepProgress {
        total: 8,
        finished,
        replies: finished.saturating_sub(2),
        broken: 1,
        failures: vec![("rate limited".into(), 1)],
        last_failure: Some("429: slow down".into()),
        retries: vec![("server".into(), 3)],
        prompt_tokens: 900 * finished as u64,
        completion_tokens: 210 * finished as u64,
        unmeasured: 0,
        waiting: None,
        dollars: Some(finished as f64 * (900.0 * 0.15 + 210.0 * 0.6) / 1e6),
        in_flight: 2,
        limit: 32,
        elapsed: Duration::from_secs(10 * finished as u64),
    }
}

/// A sweep in the middle of its calls.
pub(crate) fn asking(stage: &mut Stage) -> Ticket {
    planned(stage);
    let ticket = ticket_of(&stage.keys("a"));
    let mut event = |event| stage.send(Message::Sweep { ticket, event });
    event(SweepEvent::Planned(Box::new(estimate())));
    for finished in [1, 3, 5] {
        event(SweepEvent::Progress(Box::new(progress(finished))));
    }
    ticket
}

fn finish(stage: &mut Stage, ticket: Ticket, trouble: Option<&str>) -> Vec<Effect> {
    let end = SweepEnd {
        progress: progress(6),
        by_user: trouble.is_none(),
        trouble: trouble.map(str::to_owned),
        replies: 8,
        missing: 4,
        too_long: 0,
        judged: None,
    };
    stage.send(Message::Sweep {
        ticket,
        event: SweepEvent::Finished(Ok(Box::new(end))),
    })
}

/// Askings of two models in sufficiency and standard; more are right where p is high.
pub(crate) fn askings(own_documents: bool) -> Vec<Observation> {
    let mut all = Vec::new();
    let mut id = 0;
    for model in ["gpt-4o-mini-2024-07-18", "qwen2.5"] {
        for (scenario, docs, steps) in [
            (Scenario::Standard, 0, vec![100.0]),
            (Scenario::Standard, 5, vec![100.0]),
            (
                Scenario::Sufficiency,
                5,
                vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0],
            ),
            (Scenario::Sufficiency, 20, vec![0.0, 100.0]),
        ] {
            for p in steps {
                for question in 0..20u32 {
                    id += 1;
                    let right = f64::from(question) * 5.0 < 20.0 + p * 0.7;
                    let one = |is: bool| Ratio {
                        num: f64::from(u8::from(is)),
                        den: 1.0,
                    };
                    let mut counts = BTreeMap::from([(Metric::MainAccuracy, one(right))]);
                    if scenario == Scenario::Sufficiency {
                        counts.insert(Metric::InsufficientRate, one(!right));
                    }
                    all.push(Observation {
                        id,
                        run: "night".into(),
                        dataset: "demo".into(),
                        fingerprint: "f".into(),
                        own_documents,
                        set: Some("bioasq".into()),
                        question: format!("q{question}").into(),
                        model: model.into(),
                        caution: None,
                        settings: "{}".into(),
                        sampling_seed: None,
                        condition: Condition {
                            scenario,
                            docs,
                            p,
                            ..Condition::default()
                        },
                        short: false,
                        outcome: Some(Outcome::Answered),
                        counts,
                        judge: None,
                        forecast: None,
                        notes: Vec::new(),
                    });
                }
            }
        }
    }
    all
}

pub(crate) fn figures(own_documents: bool) -> Figures {
    let paper = Published::embedded().unwrap();
    let options = Options {
        against: true,
        ..Options::new(&paper)
    };
    let report = build(vec![("night".into(), askings(own_documents))], &options);
    Figures { report, paper }
}

/// The curves of a run, at sufficiency.
fn with_curves(stage: &mut Stage, own_documents: bool) {
    with_runs(stage, "W");
    let ticket = ticket_of(&stage.keys("j enter"));
    stage.send(Message::Curves {
        ticket,
        result: Ok(Box::new(figures(own_documents))),
    });
    stage.keys("s");
}

/// Two sides on ten questions, by hand: A right on 0–5, B on 0–3 and 6.
pub(crate) fn compared() -> Compared {
    let side = |right: &[usize], from: i64| -> Vec<compare::Observation> {
        (0..10usize)
            .flat_map(|question| [(question, 20.0), (question, 60.0)])
            .zip(from..)
            .map(|((question, p), id)| compare::Observation {
                id,
                dataset: "f".into(),
                question: format!("q{question}"),
                condition: Condition {
                    p,
                    ..Condition::default()
                },
                asker: "m".into(),
                draw: None,
                shown: 0,
                counts: Some(BTreeMap::from([(
                    Metric::MainAccuracy,
                    Ratio {
                        num: f64::from(u8::from(right.contains(&question))),
                        den: 1.0,
                    },
                )])),
            })
            .collect()
    };
    let a = side(&[0, 1, 2, 3, 4, 5], 1);
    let b = side(&[0, 1, 2, 3, 6], 101);
    let plan = Resampling {
        resamples: 500,
        seed: 0,
    };
    Compared {
        pairs: pairs_of(a.clone(), b.clone()),
        comparison: compared_runs(a, b, &[Metric::MainAccuracy], plan),
        notes: vec!["not paired: 2 only in A".into()],
        cautions: vec!["B: demo model, not a serious score".into()],
    }
}

fn with_comparison(stage: &mut Stage) {
    with_runs(stage, "C");
    let ticket = ticket_of(&stage.keys("enter j enter"));
    stage.send(Message::Compared {
        ticket,
        result: Ok(Box::new(compared())),
    });
}

/// A stored reply to the first question of the fixture.
pub(crate) fn record(stage: &Stage, model: &str, raw: &str) -> Option<ReplyRecord> {
    let dataset = stage.app.data()?;
    let question = dataset.questions.first()?.clone();
    let condition = Condition::default();
    let context =
        medrgb::domain::context::compose(&question, dataset.pools(&question.id), &condition)
            .ok()?;
    let parsed = parse(raw, &reply_shape(&question, &context), Ending::Complete);
    let scores = score(&question, &context, &parsed);
    Some(ReplyRecord {
        id: 1,
        run: "night".into(),
        dataset: "demo".into(),
        dataset_fingerprint: String::new(),
        question,
        condition,
        context,
        prompt: Prompt {
            system: String::new(),
            user: String::new(),
        },
        model: json!({}),
        model_name: model.into(),
        sampling: json!({}),
        raw: raw.into(),
        reply: json!({}),
        failure: json!(null),
        parsed: Some(parsed),
        scores: Some(scores),
        created_at: "2026-01-01T00:00:00Z".into(),
        request: None,
        origin: None,
    })
}

pub(crate) fn with_pair(stage: &mut Stage) {
    with_comparison(stage);
    let ticket = ticket_of(&stage.keys("enter"));
    let right = r#"{"relevant_doc_id": ["DOC_1"], "irrelevant_doc_id": ["DOC_2"], "step_by_step_thinking": "Trials agree that adults recovered earlier.", "answer_choice": "A"}"#;
    let wrong = r#"{"relevant_doc_id": [], "irrelevant_doc_id": [], "step_by_step_thinking": "I doubt it.", "answer_choice": "B"}"#;
    let a = record(stage, "gpt-4o-mini", right).unwrap();
    let b = record(stage, "llama", wrong).unwrap();
    stage.send(Message::Pair {
        ticket,
        result: Ok(Box::new((a, b))),
    });
}

/// The probe screen of a robustness context with a reply that adopts a planted answer.
pub(crate) fn on_probe(stage: &mut Stage) {
    with_planted(stage, |planted| planted.to_owned());
    stage.keys("P");
}

/// A robustness context with a reply whose sub-answer is made from the planted answer.
fn with_planted(stage: &mut Stage, said: impl Fn(&str) -> String) {
    stage.keys("enter s s [");
    let context = stage.app.instance.as_ref().unwrap().context().unwrap();
    let mut subs = context.sub_questions.iter().enumerate();
    let (at, sub) = subs.find(|(_, sub)| sub.planted.is_some()).unwrap();
    let answer = sub.planted.clone().unwrap();
    let raw = json!({
        format!("sub_{}", at + 1): {"question": "?", "relevant_doc_id": "DOC_2", "factual_correctness": true, "answer": said(&answer)},
        "main": {"step_by_step_thinking": format!("DOC_1 says \"recovered {answer} later than\" placebo."), "answer_choice": "B"}
    });
    answered(stage, &raw.to_string());
}

fn with_findings(stage: &mut Stage) -> Ticket {
    on_probe(stage);
    let ticket = ticket_of(&stage.keys("enter"));
    let event = ProbeEvent::Progress(2, 5);
    stage.send(Message::Probe { ticket, event });
    stage.keys("tab");
    stage.send(Message::Probe {
        ticket,
        event: ProbeEvent::Finished(Ok(Box::new(probed()))),
    });
    ticket
}

pub(crate) fn probed() -> Probed {
    let told = |said| Told { said: vec![said] };
    let base = told(Said::Option('B'));
    let change = |name: &str, said: Said| {
        let now = told(said);
        let effect = now.effect(&base, 'A');
        (name.to_owned(), now, effect)
    };
    let changes = [
        change("without DOC_1", Said::Option('B')),
        change("without DOC_2", Said::Option('A')),
        change("without DOC_3", Said::Insufficient),
        change("without DOC_4", Said::Unavailable),
    ];
    let verdict = verdict(&base, 'A', &changes);
    let row = |change: Option<&str>, told: &Told, effect, reasons: &[&str]| Tried {
        change: change.map(str::to_owned),
        said: told.describe(),
        effect,
        reasons: reasons.iter().map(|&reason| reason.into()).collect(),
    };
    let mut tried = vec![row(
        None,
        &base,
        Flip::Same,
        &["DOC_1: planted \"14 days\" adopted: given as the sub-answer"],
    )];
    tried.extend(changes.iter().map(|(name, told, effect)| {
        let reasons: &[&str] = match effect {
            Flip::Unavailable => &["429: slow down"],
            _ => &["1 cited span not in the cited document"],
        };
        row(Some(name), told, *effect, reasons)
    }));
    Probed { tried, verdict }
}

/// A job that failed.
fn why<T>(text: &str) -> Result<T, String> {
    Err(text.to_owned())
}

/// What a job might bring, for tests with random keys: now this, now that.
pub fn answer(stage: &mut Stage, effect: Effect, text: &str) {
    let odd = text.len() % 3 == 1;
    let message = match effect {
        Effect::ListRuns { ticket } => {
            let mut all = runs();
            all[0].name = text.to_owned();
            all[0].models = vec![text.to_owned()];
            let result = if odd { why(text) } else { Ok(all) };
            Message::RunList { ticket, result }
        }
        Effect::EstimateSweep { ticket, .. } => {
            let result = if odd {
                why(text)
            } else {
                Ok(Box::new(estimate()))
            };
            Message::Estimate { ticket, result }
        }
        Effect::StartSweep { ticket, .. } => {
            let event = match text.len() % 4 {
                0 => SweepEvent::Planned(Box::new(estimate())),
                1 => SweepEvent::Planning(1, 2),
                2 => SweepEvent::Progress(Box::new(progress(5))),
                _ => SweepEvent::Finished(why(text)),
            };
            Message::Sweep { ticket, event }
        }
        Effect::StopSweep { ticket, .. } => {
            let end = SweepEnd {
                progress: progress(6),
                by_user: odd,
                trouble: (!odd).then(|| text.to_owned()),
                replies: 0,
                missing: 1,
                too_long: 0,
                judged: None,
            };
            Message::Sweep {
                ticket,
                event: SweepEvent::Finished(Ok(Box::new(end))),
            }
        }
        Effect::LoadCurves { ticket, .. } => Message::Curves {
            ticket,
            result: if odd {
                why(text)
            } else {
                Ok(Box::new(figures(true)))
            },
        },
        Effect::Compare { ticket, .. } => Message::Compared {
            ticket,
            result: if odd {
                why(text)
            } else {
                Ok(Box::new(compared()))
            },
        },
        Effect::LoadPair { ticket, .. } => {
            let pair = record(stage, text, text).zip(record(stage, "b", "{}"));
            let Some(pair) = pair else { return };
            Message::Pair {
                ticket,
                result: if odd { why(text) } else { Ok(Box::new(pair)) },
            }
        }
        Effect::Probe(parts) => Message::Probe {
            ticket: parts.ticket,
            event: ProbeEvent::Finished(if odd {
                why(text)
            } else {
                Ok(Box::new(probed()))
            }),
        },
        _ => return,
    };
    stage.send(message);
}

#[test]
fn two_keys_lead_to_a_sweep_from_anywhere_and_back() {
    for before in ["", "enter", "r", "C", "enter P"] {
        let mut stage = Stage::open((80, 24), ColorDepth::True);
        if !before.is_empty() {
            stage.keys(before);
        }
        if before == "r" {
            stage.app.retrieval.typing = false;
        }
        let screen = stage.app.screen;
        stage.keys("W");
        assert_eq!(stage.app.screen, Screen::Sweep, "after {before:?}");
        stage.keys("q");
        assert_eq!(stage.app.screen, screen, "after {before:?}");
    }
}

#[test]
fn a_store_without_runs_says_what_to_do() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    let ticket = ticket_of(&stage.keys("W"));
    assert!(stage.screen().contains("reading the runs"));
    let result = Ok(Vec::new());
    stage.send(Message::RunList { ticket, result });
    assert!(stage.screen().contains("No run is stored yet"));
    let ticket = ticket_of(&stage.keys("C"));
    let result = Err("the run store is locked".into());
    stage.send(Message::RunList { ticket, result });
    assert!(stage.screen().contains("the run store is locked"));
}

#[test]
fn the_plan_is_estimated_anew_after_each_change_and_mistakes_are_said() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    planned(&mut stage);
    assert!(stage.screen().contains("8 (4 of 12 instances are done)"));
    // Standard off: another request, and the old estimate goes.
    let effects = stage.keys("enter");
    let old = ticket_of(&effects);
    assert!(!stage.screen().contains("4 of 12"));
    let new = ticket_of(&stage.keys("j enter"));
    stage.send(Message::Estimate {
        ticket: old,
        result: Ok(Box::new(estimate())),
    });
    assert!(!stage.screen().contains("4 of 12"), "of an older plan");
    stage.send(Message::Estimate {
        ticket: new,
        result: Ok(Box::new(estimate())),
    });
    assert!(stage.screen().contains("4 of 12"));
    // n is typed.
    stage.keys("j j j enter");
    stage.type_text("x");
    let effects = stage.keys("enter");
    assert!(effects.is_empty());
    let screen = stage.screen();
    assert!(
        screen.contains("n: \"paperx\" is not as expected"),
        "{screen}"
    );
    // With the mistake nothing starts, and the sentence is said again.
    assert!(stage.keys("a").is_empty());
    assert!(stage.app.sweep.running.is_none());
}

#[test]
fn the_run_is_named_after_dataset_and_model_until_the_user_names_it() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    stage.app.sweep.models = vec!["embedded".into(), "served".into()];
    planned(&mut stage);
    assert_eq!(stage.app.sweep.form.run.text(), "demo-embedded");
    stage.keys("j j j j j j j j j j right");
    assert_eq!(stage.app.sweep.form.run.text(), "demo-served");
    stage.keys("j j j j j enter");
    stage.type_text("2");
    stage.keys("enter k k k k k right");
    assert_eq!(stage.app.sweep.form.run.text(), "demo-served2");
}

/// Whether a sweep is stopped: at once, or when the calls under way have finished.
fn stops(effects: &[Effect], wanted: bool) -> bool {
    let is = |effect: &Effect| matches!(effect, Effect::StopSweep { now, .. } if *now == wanted);
    effects.iter().any(is)
}

#[test]
fn a_sweep_is_paused_resumed_and_stopped() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    let ticket = asking(&mut stage);
    let screen = stage.screen();
    assert!(
        screen.contains("9 of 12, 4 of them before") && screen.contains("1 rate limited"),
        "{screen}"
    );
    assert!(stops(&stage.keys("p"), false));
    finish(&mut stage, ticket, None);
    assert!(stage.screen().contains("Paused. p goes on"));
    // Resuming is another job with the same request; what the old one still says is dropped.
    let second = ticket_of(&stage.keys("p"));
    assert_ne!(ticket, second);
    finish(&mut stage, ticket, Some("late"));
    assert!(stage.app.sweep.is_active());
    stage.send(Message::Sweep {
        ticket: second,
        event: SweepEvent::Planned(Box::new(estimate())),
    });
    assert!(stops(&stage.keys("x"), false));
    assert!(stage.screen().contains("x again stops them too"));
    assert!(stops(&stage.keys("x"), true));
    let effects = finish(&mut stage, second, None);
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::ListRuns { .. }))
    );
    let screen = stage.screen();
    assert!(
        screen.contains("4 are missing") && screen.contains("medrgb sweep --"),
        "{screen}"
    );
    // And the same once more.
    assert!(matches!(stage.keys("a")[..], [Effect::StartSweep { .. }]));
}

#[test]
fn keys_ahead_of_the_list_of_runs_lead_to_their_row() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    let ticket = ticket_of(&stage.keys("W"));
    assert!(stage.keys("down down enter").is_empty());
    assert_eq!(stage.app.sweep.page, Page::Runs);
    let effects = stage.send(Message::RunList {
        ticket,
        result: Ok(runs()),
    });
    let day = |effect: &Effect| matches!(effect, Effect::LoadCurves { run, .. } if run == "day");
    assert!(effects.iter().any(day), "{effects:?}");
    // The first row is there at once, and who goes back takes the keys along.
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    stage.keys("W enter");
    assert_eq!(stage.app.sweep.page, Page::Plan);
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    let ticket = ticket_of(&stage.keys("W"));
    stage.keys("down enter esc");
    let effects = stage.send(Message::RunList {
        ticket,
        result: Ok(runs()),
    });
    assert!(effects.is_empty() && stage.app.screen == Screen::Browse);
    // More keys than there are rows choose the last.
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    let ticket = ticket_of(&stage.keys("W"));
    stage.keys("end");
    stage.send(Message::RunList {
        ticket,
        result: Ok(runs()),
    });
    let chosen = stage.app.sweep.run().map(|run| run.name.clone());
    assert_eq!(chosen.as_deref(), Some("probe"));
}

#[test]
fn the_explorer_stays_usable_and_leaving_asks_once() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    let ticket = asking(&mut stage);
    stage.keys("q q");
    assert_eq!(stage.app.screen, Screen::Browse);
    assert!(stage.screen().contains("sweep 9/12"), "{}", stage.screen());
    stage.keys("q");
    assert!(!stage.app.quit);
    assert!(stage.screen().contains("leaving stops it"));
    // Any other key takes it back.
    stage.keys("j ctrl-c");
    assert!(!stage.app.quit);
    let effects = stage.keys("ctrl-c");
    assert!(matches!(
        effects[..],
        [Effect::StopSweep { now: false, .. }]
    ));
    assert!(!stage.app.quit, "the calls under way finish first");
    let screen = stage.screen();
    assert!(
        screen.contains("Leaving when the calls under way have finished"),
        "{screen}"
    );
    // Looking around meanwhile takes nothing back, and the key once more does not wait.
    stage.keys("j ctrl-c");
    assert!(stage.app.quit);
    (stage.app.quit, stage.app.parting) = (false, false);
    finish(&mut stage, ticket, None);
    assert!(stage.screen().contains("W shows it"));
    stage.keys("ctrl-c");
    assert!(stage.app.quit, "without a sweep nothing is asked");
}

#[test]
fn leaving_ends_when_the_calls_under_way_have_finished() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    let ticket = asking(&mut stage);
    stage.keys("ctrl-c ctrl-c");
    assert!(!stage.app.quit);
    finish(&mut stage, ticket, None);
    assert!(stage.app.quit, "what was waited for has come");
}

#[test]
fn curves_step_through_metrics_tests_and_n() {
    let mut stage = Stage::open((200, 60), ColorDepth::True);
    with_curves(&mut stage, true);
    let screen = stage.screen();
    // 20 questions, right where 5·q < 20 + 0.7·p: 4 at p = 0, 18 at p = 100.
    assert!(
        screen.contains("Highest 90.0 % at p=100, lowest 20.0 % at p=0."),
        "{screen}"
    );
    assert!(
        screen.contains("GPT-4o-mini in the paper (dashed)"),
        "{screen}"
    );
    stage.keys("m");
    assert!(
        stage
            .screen()
            .contains("\"insufficient information\" / replies")
    );
    stage.keys("M n");
    let screen = stage.screen();
    assert!(screen.contains("sufficiency, 20 documents"), "{screen}");
    stage.keys("s");
    let screen = stage.screen();
    assert!(screen.contains("standard"), "{screen}");
    stage.keys("o");
    assert_ne!(
        stage.app.sweep.curves.as_ref().unwrap().paper_model(),
        Some("GPT-4o-mini")
    );
}

#[test]
fn the_paper_is_not_put_beside_other_documents() {
    let mut stage = Stage::open((200, 60), ColorDepth::True);
    with_curves(&mut stage, false);
    let screen = stage.screen();
    assert!(
        screen.contains("different documents, not comparable"),
        "{screen}"
    );
    assert!(!screen.contains("(dashed)"), "{screen}");
}

#[test]
fn curves_are_read_without_colour_and_without_braille() {
    let mut stage = Stage::open((80, 24), ColorDepth::None);
    stage.app.braille = false;
    with_curves(&mut stage, true);
    let screen = stage.screen();
    assert!(
        !screen
            .chars()
            .any(|c| ('\u{2800}'..='\u{28ff}').contains(&c))
    );
    insta::assert_snapshot!("sweep_curves_ascii_80x24", screen);
}

#[test]
fn lists_of_a_comparison_add_up_and_narrow() {
    let mut stage = Stage::open((200, 60), ColorDepth::True);
    with_comparison(&mut stage);
    // Two conditions on ten questions: only A on 4 and 5, only B on 6.
    assert_eq!(stage.app.compare.shown.len(), 4);
    let screen = stage.screen();
    assert!(
        screen.contains("only A right 4   only B right 2   both wrong 6   both right 8"),
        "{screen}"
    );
    assert!(
        screen.contains("caution: B: demo model, not a serious score"),
        "{screen}"
    );
    stage.keys("n");
    assert_eq!(stage.app.compare.shown.len(), 2, "one condition");
    assert!(
        stage.screen().contains("only A 2, only B 1"),
        "{}",
        stage.screen()
    );
    stage.keys("s");
    assert_eq!(stage.app.compare.shown.len(), 1);
    stage.keys("s s s");
    assert_eq!(
        stage.app.compare.shown.len(),
        10,
        "all pairs of one condition"
    );
    stage.keys("n n");
    assert_eq!(stage.app.compare.shown.len(), 20);
    // The records of the chosen pair are asked for.
    let effects = stage.keys("enter");
    assert!(
        matches!(
            effects[..],
            [Effect::LoadPair {
                records: (1, 101),
                ..
            }]
        ),
        "{effects:?}"
    );
}

#[test]
fn a_run_of_the_list_is_the_first_side() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    with_runs(&mut stage, "W");
    stage.keys("j C");
    assert_eq!(stage.app.compare.a.as_ref().unwrap().run, "night");
    assert!(
        stage.screen().contains("takes the row as B"),
        "{}",
        stage.screen()
    );
    // Runs of probes can't be compared.
    assert!(!stage.screen().contains("probe "));
}

#[test]
fn a_large_comparison_is_filtered_at_once() {
    let mut stage = Stage::open((200, 60), ColorDepth::True);
    with_comparison(&mut stage);
    let mut large = compared();
    let few = large.pairs.clone();
    large.pairs = few.into_iter().cycle().take(100_000).collect();
    let ticket = Ticket(9_999);
    stage.app.compare.result = medrgb::tui::app::loaded::Loaded::asked(ticket, Duration::ZERO);
    let result = Ok(Box::new(large));
    stage.send(Message::Compared { ticket, result });
    let start = std::time::Instant::now();
    stage.keys("s");
    stage.screen();
    let took = start.elapsed();
    assert_eq!(stage.app.compare.shown.len(), 10_000);
    // Far above what it takes, for a busy machine and a build without optimisation.
    assert!(took < Duration::from_millis(500), "{took:?}");
}

#[test]
fn a_probe_names_what_flips_and_why() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    with_findings(&mut stage);
    let screen = stage.screen();
    assert!(screen.contains("it flips in 2 of 3 changes"), "{screen}");
    assert!(screen.contains("FLIPS to the right answer"), "{screen}");
    assert!(screen.contains("429: slow down"), "{screen}");
    // What was found belongs to its context only.
    stage.keys("q [ P tab");
    assert!(!stage.screen().contains("FLIPS"), "{}", stage.screen());
    stage.keys("q ] P tab");
    assert!(stage.screen().contains("FLIPS"));
}

#[test]
fn a_narrow_screen_shows_what_a_probe_does_and_finds_below_the_choices() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    on_probe(&mut stage);
    assert!(!stage.screen().contains("What it does to the answer"));
    stage.keys("j j j j j j");
    let ticket = ticket_of(&stage.keys("enter"));
    let event = ProbeEvent::Progress(1, 2);
    stage.send(Message::Probe { ticket, event });
    let screen = stage.screen();
    assert!(screen.contains("1 of 2 calls done; x stops it"), "{screen}");
    assert!(
        screen.contains(">    DOC_1 becomes its original"),
        "{screen}"
    );
    let event = ProbeEvent::Finished(Ok(Box::new(probed())));
    stage.send(Message::Probe { ticket, event });
    let screen = stage.screen();
    assert!(screen.contains("it flips in 2 of 3 changes"), "{screen}");
    assert!(
        screen.contains(">    DOC_1 becomes its original"),
        "{screen}"
    );
    // The parts one by one are still there.
    stage.keys("tab");
    assert!(!stage.screen().contains("What to change"));
    stage.keys("tab");
    assert!(!stage.screen().contains("What it does to the answer"));
    // The last row can be reached and is seen.
    stage.keys("tab end");
    assert!(
        stage.screen().contains(">    order 3 4 1 2"),
        "{}",
        stage.screen()
    );
}

#[test]
fn single_changes_and_groups_can_be_tried() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    on_probe(&mut stage);
    let variants = |effects: &[Effect]| match effects {
        [Effect::Probe(parts)] => parts.variants.len(),
        other => panic!("{other:?}"),
    };
    let effects = stage.keys("j enter");
    assert_eq!(variants(&effects), 1);
    // One at a time.
    assert!(stage.keys("enter").is_empty());
    let Effect::Probe(parts) = &effects[0] else {
        panic!("a probe");
    };
    assert!(matches!(stage.keys("x")[..], [Effect::Cancel(ticket)] if ticket == parts.ticket));
    let result = Err("stopped after 1 of 2 calls".to_owned());
    let event = ProbeEvent::Finished(result);
    let ticket = parts.ticket;
    stage.send(Message::Probe { ticket, event });
    assert!(stage.screen().contains("stopped after 1 of 2 calls"));
    assert_eq!(variants(&stage.keys("k enter")), 4, "all four documents");
}

#[test]
fn scores_and_trace_agree_about_a_claim_that_is_only_contained() {
    let mut stage = Stage::open((80, 140), ColorDepth::True);
    with_planted(&mut stage, |planted| format!("They took {planted} then."));
    stage.keys("w");
    let screen = stage.screen().replace('┃', " ");
    let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "the planted answer stands in it, but it is not the planted answer: not counted as adopted",
        "adversarial sub-questions = 0 / 2",
        "sub-answer 1 contains it; \"misinformation adopted\" counts only a sub-answer that is it",
        "Of 2 planted claims: 0 adopted (given as",
        "contained in a longer sub-answer, 1 not in the reply",
    ] {
        assert!(
            screen.to_lowercase().contains(&part.to_lowercase()),
            "{part}: {screen}"
        );
    }
}

#[test]
fn the_reply_on_screen_is_looked_into_without_a_call() {
    let mut stage = Stage::open((200, 60), ColorDepth::True);
    on_probe(&mut stage);
    let screen = stage.screen();
    assert!(
        screen.contains("adopted: given as the sub-answer"),
        "{screen}"
    );
    assert!(
        screen.contains("the reply calls the document correct"),
        "{screen}"
    );
    assert!(screen.contains("Citations"), "{screen}");
    // The page that explains scores has the same, and hides it with the right answers.
    stage.keys("q w");
    stage.keys("end");
    assert!(
        stage.screen().contains("Planted text"),
        "{}",
        stage.screen()
    );
    stage.keys("esc g w end");
    let screen = stage.screen();
    assert!(!screen.contains("given as the sub-answer"), "{screen}");
}
