//! How quickly a store of many replies is listed, summed up and scored again, and what memory that takes:
//! `benches/store.sh` fills one and runs this on it.
//!
//! The records are made from the sample benchmark: real contexts, prompts and readings, with question ids of their own.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::time::Instant;

use medrgb::data::dataset::Dataset;
use medrgb::data::store::{Bulk, ReplyRecord, Store};
use medrgb::domain::answer::{Ending, parse};
use medrgb::domain::context::Condition;
use medrgb::domain::plan::Grid;
use medrgb::domain::prompt::Templates;
use medrgb::domain::score::score;
use medrgb::engine::instance::{Instance, instance};
use medrgb::engine::rescore::rescore;
use serde_json::{Value, json};

const RUN: &str = "many";

/// Why nothing could be measured.
type Trouble = Box<dyn std::error::Error>;

/// A reply with words to read: every seventh can't be read, every fifth finds the information insufficient.
fn raw(number: usize, instance: &Instance) -> String {
    let options = &instance.question.options;
    let letter = options
        .get(number % options.len().max(1))
        .map_or('A', |option| option.letter);
    let thoughts =
        "The documents look at the matter from several sides, and most of them agree. ".repeat(6);
    match number % 35 {
        0 | 7 | 14 | 21 | 28 => thoughts,
        5 | 10 | 15 | 20 | 25 => {
            json!({"step_by_step_thinking": thoughts, "answer_choice": "insufficient information"})
                .to_string()
        }
        _ => {
            let subs: Vec<(String, Value)> = instance
                .shape
                .sub_questions
                .iter()
                .enumerate()
                .map(|(at, question)| {
                    let sub = json!({"question": question, "answer": "some milligrams a day", "doc_id": "DOC_1",
                        "relevant_doc_id": "DOC_1", "factual_correctness": true});
                    (format!("sub_{}", at + 1), sub)
                })
                .collect();
            let mut fields: serde_json::Map<String, Value> = subs.into_iter().collect();
            fields.insert("relevant_doc_id".into(), json!(["DOC_1", "DOC_2"]));
            fields.insert("irrelevant_doc_id".into(), json!(["DOC_3"]));
            fields.insert("step_by_step_thinking".into(), json!(thoughts));
            fields.insert("answer_choice".into(), json!(letter));
            Value::Object(fields).to_string()
        }
    }
}

fn record(
    number: usize,
    dataset: &Dataset,
    instance: Instance,
    condition: Condition,
) -> ReplyRecord {
    let raw = raw(number, &instance);
    let failed = number % 50 == 49;
    let parsed = (!failed).then(|| parse(&raw, &instance.shape, Ending::Complete));
    let scores = parsed
        .as_ref()
        .map(|parsed| score(&instance.question, &instance.context, parsed));
    // 200 pieces, one every five milliseconds.
    let timeline: Vec<(u32, u32)> = (0..200).map(|at| (at * 5, 4)).collect();
    let mut question = instance.question;
    question.id = format!("{}-{}", question.id, number / 300);
    ReplyRecord {
        id: 0,
        run: RUN.into(),
        dataset: dataset.name.clone(),
        dataset_fingerprint: dataset.fingerprint.clone(),
        question,
        condition,
        context: instance.context,
        prompt: instance.prompt,
        model: json!({"name": "bench", "backend": "http", "detail": "m at http://localhost:8000/v1",
            "caution": null, "window": 8192}),
        model_name: "bench".into(),
        sampling: json!({"temperature": 0.0, "max_tokens": 1024}),
        raw: if failed { String::new() } else { raw },
        reply: match failed {
            true => Value::Null,
            false => {
                json!({"reasoning": "", "ending": "complete", "attempts": 1, "reported_model": "m-1",
                "usage": {"prompt_tokens": 1500, "completion_tokens": 200},
                "timing": {"first_token_ms": 5, "total_ms": 1000, "timeline": timeline}})
            }
        },
        failure: match failed {
            true => json!({"kind": "rate_limited", "message": "429", "status": 429, "attempts": 5}),
            false => Value::Null,
        },
        parsed,
        scores,
        created_at: format!(
            "2026-11-30T{:02}:{:02}:{:02}Z",
            number / 3600 % 24,
            number / 60 % 60,
            number % 60
        ),
        request: Some(format!("{number:064x}")),
        origin: None,
    }
}

fn fill(path: &Path, most: usize) -> Result<(), Trouble> {
    let dataset = Dataset::sample()?;
    let templates = Templates::default();
    let conditions = Grid::paper().conditions(false)?.kept;
    let bulk = Bulk::begin(path)?;
    let mut number = 0;
    while number < most {
        for question in &dataset.questions {
            for condition in &conditions {
                let Ok(instance) = instance(&dataset, &templates, &question.id, condition) else {
                    continue;
                };
                if number < most {
                    bulk.insert(&record(number, &dataset, instance, *condition))?;
                    number += 1;
                }
            }
        }
    }
    bulk.commit()?;
    let size = std::fs::metadata(path)?.len();
    println!("{number} records, {:.2} GB", size as f64 / 1e9);
    Ok(())
}

/// The most memory that this process has had, in megabytes.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1e3
}

/// Does something several times and says how long it took.
fn timed<T>(
    what: &str,
    rounds: usize,
    mut work: impl FnMut() -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let mut times = Vec::new();
    loop {
        let started = Instant::now();
        let done = work()?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        if times.len() == rounds {
            times.sort_by(f64::total_cmp);
            let median = times.get(rounds / 2).copied().unwrap_or_default();
            println!(
                "{what}: {median:.1} ms, peak memory so far {:.0} MB",
                peak()
            );
            return Ok(done);
        }
    }
}

fn measure(path: &Path) -> Result<(), Trouble> {
    let store = timed("open the store", 5, || Ok(Store::open(path)?))?;
    let runs = timed("list the runs", 5, || Ok(store.runs()?))?;
    let entries = timed("read the run's list", 5, || Ok(store.entries_of_run(RUN)?))?;
    let found = timed("filter the list by outcome", 5, || {
        let wanted = |entry: &&_| outcome_is(entry, "insufficient");
        Ok(entries.iter().filter(wanted).count())
    })?;
    println!(
        "  {found} of {} records, {} runs",
        entries.len(),
        runs.len()
    );
    drop(entries);
    timed("sum up the run by condition and outcome", 5, || {
        Ok(store.groups_of_run(RUN)?)
    })?;
    timed("read one record", 5, || Ok(store.get(50_000)?))?;
    timed("read what a report needs", 3, || {
        Ok(store.observations(RUN)?.map(|all| all.len()))
    })?;
    let done = timed("score all again, nothing changes", 1, || {
        Ok(rescore(&store, RUN, None)?)
    })?;
    println!("  {} records, {} changed", done.records, done.changed);
    store.rewrite_run(
        RUN,
        || (),
        |(), record| {
            record.scores = None;
            true
        },
    )?;
    let done = timed("score all again, everything changes", 1, || {
        Ok(rescore(&store, RUN, None)?)
    })?;
    println!("  {} records, {} changed", done.records, done.changed);
    Ok(())
}

fn outcome_is(entry: &medrgb::data::store::RunEntry, name: &str) -> bool {
    &*entry.outcome == name
}

fn main() {
    // `cargo bench` passes flags of its own harness.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["fill", path, most] => match most.parse() {
            Ok(most) => fill(Path::new(path), most),
            Err(_) => Err(format!("{most} is no number of records").into()),
        },
        ["measure", path] => measure(Path::new(path)),
        _ => {
            eprintln!("SKIPPED: name what to do; benches/store.sh does it");
            Ok(())
        }
    };
    if let Err(error) = done {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
