//! Sample logs of lm-evaluation-harness: `MODEL/samples_TASK_DATE.jsonl`, written with `--log_samples`.
//!
//! A line has `doc_id`, `doc` (the row of the task's data), `target`, `arguments` (what was sent), `resps` and
//! `filtered_resps`. A task that generates has its text in `resps[0][0]`; a multiple-choice task has one entry per
//! option, `[[log-likelihood, is greedy]]`. A task with several filters logs each sample once per filter.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::data::import::detect::detect;
use crate::data::import::entry::{Entry, answer_text, entry, plain_options};
use crate::data::import::mapping::{Mapping, OptionFields, at, names, opened};
use crate::data::import::pubmedqa;
use crate::data::import::replies::GivenReply;
use crate::data::import::rows::json_object;
use crate::data::import::sink::Sink;
use crate::data::import::{ImportError, files};
use crate::domain::question::Question;
use crate::domain::text::count;
use crate::source::Line;

/// Reads every log; each is a run of its own, and with `--out` a set of its own.
pub(super) fn read(sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let found = files(&sink.request.paths, &|name| {
        name.starts_with("samples_") && (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz"))
    })?;
    sink.expect_files(&found);
    for path in &found {
        read_file(sink, path, found.len() > 1)?;
    }
    Ok(())
}

/// `samples_TASK_DATE.jsonl` gives the task, the folder the model (`org__name`).
fn names_of(path: &Path) -> (String, Option<String>) {
    let stem = super::stem(path);
    let task = stem.strip_prefix("samples_").unwrap_or(&stem);
    let task = match task.rsplit_once('_') {
        Some((task, date)) if date.starts_with("20") && date.contains('T') => task,
        _ => task,
    };
    let model = path
        .parent()
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().replace("__", "/"));
    (task.to_owned(), model)
}

fn read_file(sink: &mut Sink<'_>, path: &Path, several: bool) -> Result<(), ImportError> {
    let (task, model) = names_of(path);
    let writes_folder = sink.request.out.is_some();
    if writes_folder {
        sink.begin_set(&task, several)?;
    }
    let name = match &model {
        Some(model) => format!("{}-{task}", model.replace('/', "-")),
        None => task.clone(),
    };
    sink.begin_run(&name, several, &task, model.as_deref())?;
    let mut seen: HashSet<u64> = HashSet::new();
    let (mut filters, mut repeated) = (0_usize, 0_usize);
    let mut lines = sink.lines(path)?;
    while let Some((place, line)) = sink.next_line(&mut lines, path)? {
        let sample = match line {
            Line::Text(text) => json_object(text),
            Line::Bad(why) => Err(why),
        };
        if let Ok(sample) = &sample
            && let Some(id) = sample.get("doc_id").and_then(Value::as_u64)
            && !seen.insert(id)
        {
            filters += 1;
            continue;
        }
        match sample.and_then(|sample| take(sink, &sample, &place, &task)) {
            Ok(taken) => repeated += taken?,
            Err(fault) => sink.bad(&place, &fault),
        }
    }
    if filters > 0 {
        sink.note(&format!(
            "{filters} lines of {} repeat a sample for another filter; each reply is stored once, as it came",
            path.display()
        ));
    }
    if repeated > 0 {
        sink.note(&format!(
            "{} of {} are further repeats of a sample; all are kept, and every repeat counts",
            count(repeated, "reply"),
            path.display()
        ));
    }
    sink.end_run();
    if writes_folder {
        sink.end_set("other")?;
    }
    Ok(())
}

/// Takes one sample with all its repeats; gives how many there are beyond the first. A fault of the sample is the outer
/// error.
fn take(
    sink: &mut Sink<'_>,
    sample: &Map<String, Value>,
    place: &str,
    task: &str,
) -> Result<Result<usize, ImportError>, String> {
    let fallback = match sample.get("doc_id").and_then(Value::as_u64) {
        Some(id) => format!("{task}-{id}"),
        None => return Err("field \"doc_id\" is missing or no number".to_owned()),
    };
    let mut own = question(sample, sink.request.mapping.as_ref(), &fallback)?;
    if let Some(dataset) = sink.request.dataset {
        own = Entry::known(in_dataset(dataset, &own.question)?);
    }
    let given = replies(sample, &own.question)?;
    let further = given.len().saturating_sub(1);
    let mut stored = sink.question(place, &mut own);
    for (k, mut given) in given.into_iter().enumerate() {
        given.repeat(k);
        stored = stored.and_then(|()| sink.reply(&own.question, given));
    }
    Ok(stored.map(|()| further))
}

/// The dataset's question with the same id, or else with the same text.
pub(super) fn in_dataset(
    dataset: &crate::data::dataset::Dataset,
    own: &Question,
) -> Result<Question, String> {
    use crate::domain::text::{collapse, short};
    let by_id = dataset.position(&own.id);
    let by_text = || {
        let text = collapse(&own.text);
        dataset
            .questions
            .iter()
            .position(|question| collapse(&question.text) == text)
    };
    let found = by_id
        .or_else(by_text)
        .and_then(|at| dataset.questions.get(at));
    found.cloned().ok_or_else(|| {
        format!(
            "question \"{}\" is not in the dataset {}, neither by id nor by text",
            short(&own.id),
            dataset.name
        )
    })
}

/// The question of a sample: from the row of the task's data, with the target as the answer.
fn question(
    sample: &Map<String, Value>,
    given: Option<&Mapping>,
    fallback: &str,
) -> Result<Entry, String> {
    let Some(Value::Object(doc)) = sample.get("doc") else {
        return Err("field \"doc\" is missing or no object".to_owned());
    };
    if given.is_none() && doc.contains_key("QUESTION") && doc.contains_key("final_decision") {
        let id = doc
            .get("PMID")
            .or_else(|| doc.get("pubid"))
            .or_else(|| doc.get("id"));
        let id = id
            .and_then(super::entry::scalar_text)
            .unwrap_or_else(|| fallback.to_owned());
        return pubmedqa::entry(&id, &Value::Object(doc.clone()));
    }
    let found = detect(std::slice::from_ref(doc));
    let mapping = given.cloned().unwrap_or_default().complete(found);
    if given.is_some_and(|mapping| mapping.answer.is_some()) {
        return entry(doc, &mapping, fallback);
    }
    // The target is the gold as the harness scored it; positions start at 0 there.
    let mut row = doc.clone();
    let options = options(doc, &mapping, sample)?;
    let target = sample.get("target").ok_or("field \"target\" is missing")?;
    let answer = answer_text(target, &options, Some(0))?;
    row.insert("medrgb options".to_owned(), options);
    row.insert("medrgb answer".to_owned(), Value::String(answer));
    // The row's own fields for options and answer would only repeat them.
    let repeats = |key: &&String| {
        let key = super::mapping::plain(key);
        names::OPTIONS.contains(&key.as_str()) || names::ANSWER.contains(&key.as_str())
    };
    let ignore = mapping.used().into_iter().map(str::to_owned);
    let ignore = ignore.chain(doc.keys().filter(repeats).cloned()).collect();
    let mapping = Mapping {
        options: Some(OptionFields::One("medrgb options".to_owned())),
        answer: Some("medrgb answer".to_owned()),
        fixed_options: None,
        ignore,
        ..mapping
    };
    entry(&row, &mapping, fallback)
}

/// The options of a row, or else the continuations that were scored.
fn options(
    doc: &Map<String, Value>,
    mapping: &Mapping,
    sample: &Map<String, Value>,
) -> Result<Value, String> {
    if let Some(fixed) = &mapping.fixed_options {
        return Ok(fixed.iter().cloned().map(Value::String).collect());
    }
    match &mapping.options {
        Some(OptionFields::One(field)) => {
            if let Some(value) = at(doc, field) {
                return Ok(plain_options(opened(value)));
            }
        }
        Some(OptionFields::Each(fields)) => {
            return Ok(fields
                .iter()
                .filter_map(|field| at(doc, field))
                .cloned()
                .collect());
        }
        None => {}
    }
    let scored: Vec<Value> = requests(sample)
        .into_iter()
        .filter_map(|request| request.get(1)?.as_str().map(|text| json!(text.trim())))
        .collect();
    match scored.len() {
        0 | 1 => Err("no options were found in \"doc\"; name them in a mapping file".to_owned()),
        _ => Ok(Value::Array(scored)),
    }
}

/// The requests that were sent: context and continuation, or prompt and settings.
fn requests(sample: &Map<String, Value>) -> Vec<Vec<Value>> {
    match sample.get("arguments") {
        Some(Value::Object(requests)) => requests
            .values()
            .filter_map(|request| Some(request.as_object()?.values().cloned().collect()))
            .collect(),
        Some(Value::Array(requests)) => requests
            .iter()
            .filter_map(|request| request.as_array().cloned())
            .collect(),
        _ => Vec::new(),
    }
}

/// The replies: the generated texts, one per repeat, or the letter with the highest log-likelihood.
fn replies(sample: &Map<String, Value>, question: &Question) -> Result<Vec<GivenReply>, String> {
    let resps = sample.get("resps").or_else(|| sample.get("filtered_resps"));
    let (first, resps) = match resps.and_then(Value::as_array).map(Vec::as_slice) {
        Some(resps @ [first, ..]) => (first, resps),
        _ => return Err("field \"resps\" is missing or empty".to_owned()),
    };
    let user = requests(sample)
        .into_iter()
        .next()
        .and_then(|request| request.into_iter().next())
        .and_then(|text| text.as_str().map(str::to_owned))
        .unwrap_or_default();
    if let Some(texts) = generated(first) {
        let replies = texts.into_iter().map(|text| GivenReply {
            user: user.clone(),
            ..GivenReply::text(text)
        });
        return Ok(replies.collect());
    }
    let likelihoods: Option<Vec<f64>> = resps.iter().map(likelihood).collect();
    let likelihoods = likelihoods.ok_or("\"resps\" holds neither texts nor log-likelihoods")?;
    if likelihoods.len() != question.options.len() {
        return Err(format!(
            "{} log-likelihoods, but the question has {} options",
            likelihoods.len(),
            question.options.len()
        ));
    }
    let highest = likelihoods
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let best = likelihoods
        .iter()
        .position(|likelihood| *likelihood == highest)
        .ok_or("the log-likelihoods are no numbers")?;
    let chosen = question.options.get(best);
    let chosen = chosen.ok_or("the question has no option for the highest log-likelihood")?;
    let mut reply = GivenReply::text(chosen.letter);
    reply.user = user;
    reply
        .more
        .insert("chosen_by".to_owned(), json!("log-likelihood"));
    // Probability of each option among the options: softmax of the log-likelihoods.
    let weights: Vec<f64> = likelihoods
        .iter()
        .map(|likelihood| (likelihood - highest).exp())
        .collect();
    let sum: f64 = weights.iter().sum();
    let letters = question.options.iter().map(|choice| choice.letter);
    reply.probabilities = Some(
        letters
            .zip(weights.iter().map(|weight| weight / sum))
            .collect(),
    );
    Ok(vec![reply])
}

/// Generated texts: `["text", …]`, one per repeat, or the only one itself.
fn generated(resp: &Value) -> Option<Vec<String>> {
    match resp {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) if !items.is_empty() && likelihood(resp).is_none() => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}

/// A log-likelihood: `[number, is greedy]`, perhaps in a list of repeats, numbers perhaps as texts.
fn likelihood(resp: &Value) -> Option<f64> {
    let items = resp.as_array()?;
    match items.as_slice() {
        [one @ Value::Array(_)] => likelihood(one),
        [number, greedy] => {
            let is_flag = match greedy {
                Value::Bool(_) => true,
                Value::String(text) => matches!(text.as_str(), "True" | "False"),
                Value::Number(_) => true,
                _ => false,
            };
            let number = match number {
                Value::Number(number) => number.as_f64(),
                Value::String(text) => text.parse().ok(),
                _ => None,
            };
            number.filter(|_| is_flag)
        }
        _ => None,
    }
}
