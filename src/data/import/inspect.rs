//! Inspect's logs as JSON (`.json`; an `.eval` file becomes one with `inspect log convert --to json`).
//!
//! One object with `version`, `status`, `eval` (task, model, dataset, created) and `samples`; a sample has `id`,
//! `epoch`, `input`, `choices`, `target`, `output`, `scores`, `metadata`, `error`.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::data::export::inspect::OWN_METADATA;
use crate::data::import::detect::detect;
use crate::data::import::entry::{
    Entry, answer_text, entry, is_changed, plain_options, scalar_text,
};
use crate::data::import::lm_eval::in_dataset;
use crate::data::import::mapping::{Mapping, OptionFields, opened};
use crate::data::import::replies::{Failed, GivenReply};
use crate::data::import::sink::Sink;
use crate::data::import::walk::{Step, walk};
use crate::data::import::{ImportError, files, stem};
use crate::domain::answer::Ending;
use crate::domain::question::Question;
use crate::domain::text::clean;

/// Reads every log; each is a run of its own, and with `--out` a set of its own.
pub(super) fn read(sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let found = files(&sink.request.paths, &|name| name.ends_with(".json"))?;
    sink.expect_files(&found);
    for path in &found {
        if path
            .extension()
            .is_some_and(|extension| extension == "eval")
        {
            return Err(ImportError::Usage(format!(
                "{} is Inspect's packed form; write it as JSON first: inspect log convert --to json --output-dir FOLDER {}",
                path.display(),
                path.display()
            )));
        }
        read_file(sink, path, found.len() > 1)?;
    }
    Ok(())
}

/// What the head of a log says.
#[derive(Default)]
struct Head {
    task: Option<String>,
    model: Option<String>,
    created: Option<String>,
}

fn read_file(sink: &mut Sink<'_>, path: &Path, several: bool) -> Result<(), ImportError> {
    let writes_folder = sink.request.out.is_some();
    let mut head = Head::default();
    let mut begun = false;
    let reader = sink.open(path)?;
    let walked = walk(
        reader,
        &|trail| match trail {
            [] => Step::Into,
            [key] if key == "samples" => Step::Into,
            [key] if key == "eval" => Step::Take,
            [key, _] if key == "samples" => Step::Take,
            _ => Step::Skip,
        },
        &mut |trail, value| {
            let sample = match trail {
                [key] if key == "eval" => {
                    head = head_of(&value);
                    return Ok(());
                }
                [_, sample] => sample,
                // Not a log, or one without samples.
                _ => return Ok(()),
            };
            if !begun {
                begin(sink, path, &head, several, writes_folder)?;
                begun = true;
            }
            sink.look()?;
            let number = sample.parse::<usize>().map_or(0, |at| at + 1);
            let place = format!("{}, sample {number}", path.display());
            match take(sink, &value, &place, &head) {
                Ok(taken) => taken,
                Err(fault) => {
                    sink.bad(&place, &fault);
                    Ok(())
                }
            }
        },
    );
    walked.or_else(|error| sink.broken(path, error))?;
    if begun {
        sink.end_run();
        if writes_folder {
            sink.end_set("other")?;
        }
    }
    Ok(())
}

fn begin(
    sink: &mut Sink<'_>,
    path: &Path,
    head: &Head,
    several: bool,
    writes_folder: bool,
) -> Result<(), ImportError> {
    let set = head.task.clone().unwrap_or_else(|| stem(path));
    if writes_folder {
        sink.begin_set(&set, several)?;
    }
    sink.begin_run(&stem(path), several, &set, head.model.as_deref())
}

fn head_of(value: &Value) -> Head {
    let text = |field: &str| value[field].as_str().map(str::to_owned);
    let task = text("task").map(|task| task.rsplit('/').next().unwrap_or(&task).to_owned());
    Head {
        task,
        model: text("model"),
        created: text("created").and_then(|created| time(&created)),
    }
}

/// A time in RFC 3339 as this program writes it.
fn time(text: &str) -> Option<String> {
    text.parse::<jiff::Timestamp>()
        .ok()
        .map(|time| time.to_string())
}

/// Takes one sample; a fault of the sample is the outer error.
fn take(
    sink: &mut Sink<'_>,
    value: &Value,
    place: &str,
    head: &Head,
) -> Result<Result<(), ImportError>, String> {
    let Value::Object(sample) = value else {
        return Err("expected an object".to_owned());
    };
    let mut given = reply(sample, head)?;
    if let Some((own, setting)) = own_export(sample)? {
        given.setting = setting;
        // Epochs of our own logs count conditions too; repeats have their seeds.
        given.sampling = sample
            .get("metadata")
            .map(|metadata| metadata[OWN_METADATA]["sampling"].clone())
            .filter(Value::is_object)
            .unwrap_or_default();
        return Ok(take_question(sink, place, own, given));
    }
    let mut own = question(sample, sink.request.mapping.as_ref(), sink.request.dataset)?;
    if let Some(dataset) = sink.request.dataset {
        own = Entry::known(in_dataset(dataset, &own.question)?);
    }
    Ok(take_question(sink, place, own, given))
}

fn take_question(
    sink: &mut Sink<'_>,
    place: &str,
    mut own: Entry,
    given: GivenReply,
) -> Result<(), ImportError> {
    sink.question(place, &mut own)?;
    sink.reply(&own.question, given)
}

/// Condition and context.
type Setting = Option<
    Box<(
        crate::domain::context::Condition,
        crate::domain::context::Context,
    )>,
>;

/// Question, condition and context of a sample that this program exported.
fn own_export(sample: &Map<String, Value>) -> Result<Option<(Entry, Setting)>, String> {
    let Some(own) = sample
        .get("metadata")
        .and_then(|metadata| metadata.get(OWN_METADATA))
    else {
        return Ok(None);
    };
    let unreadable =
        |error: serde_json::Error| format!("its metadata of medrgb can't be read ({error})");
    let mut question: Question =
        serde_json::from_value(own["question"].clone()).map_err(unreadable)?;
    // It was clean when it was exported, but others may have written into the file since.
    let cleaned = is_changed([own["question"].get("text"), own["question"].get("options")]);
    question.text = clean(&question.text);
    for option in &mut question.options {
        option.text = clean(&option.text);
    }
    let condition = serde_json::from_value(own["condition"].clone()).map_err(unreadable)?;
    let context = serde_json::from_value(own["context"].clone()).map_err(unreadable)?;
    let known = own["context_known"].as_bool().unwrap_or(true);
    Ok(Some((
        Entry::read(question, cleaned),
        known.then(|| Box::new((condition, context))),
    )))
}

/// The question of a sample: its input and choices; a mapping may point into the sample instead.
fn question(
    sample: &Map<String, Value>,
    given: Option<&Mapping>,
    dataset: Option<&crate::data::dataset::Dataset>,
) -> Result<Entry, String> {
    let id = sample
        .get("id")
        .and_then(scalar_text)
        .ok_or("field \"id\" is missing or no text")?;
    if let Some(at) = dataset.and_then(|dataset| dataset.position(&id))
        && let Some(question) = dataset.and_then(|dataset| dataset.questions.get(at))
    {
        return Ok(Entry::known(question.clone()));
    }
    let mut row: Map<String, Value> = match sample.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => Map::new(),
    };
    let found = detect(std::slice::from_ref(&row));
    let options = match sample.get("choices") {
        Some(choices @ Value::Array(items)) if items.len() > 1 => plain_options(choices.clone()),
        _ => match &found.options {
            Some(OptionFields::One(field)) => {
                plain_options(opened(row.get(field).unwrap_or(&Value::Null)))
            }
            _ if given.is_some() => Value::Null,
            _ => {
                return Err(
                    "it has no choices, and its metadata no options; name the dataset with --dataset, or give a mapping"
                        .to_owned(),
                );
            }
        },
    };
    for (key, value) in sample {
        row.entry(key.clone()).or_insert_with(|| value.clone());
    }
    row.insert("medrgb question".to_owned(), json!(input_text(sample)));
    row.insert("medrgb options".to_owned(), options.clone());
    let is_mapped = given.is_some_and(|mapping| mapping.answer.is_some());
    if !is_mapped {
        let target = sample.get("target").filter(|target| !target.is_null());
        let target = target.ok_or("field \"target\" is missing; it holds the right answer")?;
        let answer = answer_text(target, &options, None)
            .map_err(|why| format!("field \"target\": {why}"))?;
        row.insert("medrgb answer".to_owned(), json!(answer));
    }
    let own = Mapping {
        question: Some("medrgb question".to_owned()),
        options: Some(OptionFields::One("medrgb options".to_owned())),
        answer: Some("medrgb answer".to_owned()),
        question_id: Some("id".to_owned()),
        ..Mapping::default()
    };
    let repeated = match &found.options {
        Some(OptionFields::One(field)) => vec![field.clone()],
        _ => Vec::new(),
    };
    let mut mapping = given.cloned().unwrap_or_default().complete(own);
    mapping.ignore.extend(repeated);
    let mut entry = entry(&row, &mapping, &id)?;
    let metadata = sample.get("metadata").and_then(Value::as_object);
    entry
        .question
        .extra
        .retain(|key, _| metadata.is_some_and(|metadata| metadata.contains_key(key)));
    Ok(entry)
}

/// The question's text: the input, or the text of its last user message.
fn input_text(sample: &Map<String, Value>) -> String {
    match sample.get("input") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(messages)) => last_of(messages, "user"),
        _ => String::new(),
    }
}

fn last_of(messages: &[Value], role: &str) -> String {
    let message = messages
        .iter()
        .rev()
        .find(|message| message["role"] == role);
    message
        .map(|message| content_text(&message["content"]))
        .unwrap_or_default()
}

/// The text of a message: as it is, or the parts of type text put together.
fn content_text(content: &Value) -> String {
    parts(content, "text", "text")
}

fn parts(content: &Value, kind: &str, field: &str) -> String {
    match content {
        Value::String(text) if kind == "text" => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter(|part| part["type"] == kind)
            .filter_map(|part| part[field].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// The reply of a sample.
fn reply(sample: &Map<String, Value>, head: &Head) -> Result<GivenReply, String> {
    let output = sample.get("output").unwrap_or(&Value::Null);
    let choice = &output["choices"][0];
    let content = &choice["message"]["content"];
    let failure = error_of(sample, output);
    let mut reply = match (content.is_null(), failure) {
        (_, Some(message)) => GivenReply {
            text: Err(Failed::of_message(&message)),
            ..GivenReply::text("")
        },
        (false, None) => GivenReply::text(content_text(content)),
        (true, None) => match output["completion"].as_str() {
            Some(text) => GivenReply::text(text),
            None => return Err("it has no output; the run was perhaps stopped".to_owned()),
        },
    };
    reply.reasoning = parts(content, "reasoning", "reasoning");
    reply.ending = match choice["stop_reason"].as_str() {
        Some("max_tokens" | "model_length") => Ending::Length,
        _ => Ending::Complete,
    };
    let model = output["model"].as_str().filter(|model| !model.is_empty());
    reply.model = head.model.clone().or(model.map(str::to_owned));
    reply.usage = ["input_tokens", "output_tokens"].map(|field| output["usage"][field].as_u64());
    if let Some(seconds) = output["time"]
        .as_f64()
        .filter(|seconds| (0.0..1e9).contains(seconds))
    {
        reply.total_ms = (seconds * 1000.0) as u64;
    }
    if let Some(Value::Array(messages)) = sample.get("messages") {
        let user = messages.iter().find(|message| message["role"] == "user");
        reply.user = user
            .map(|message| content_text(&message["content"]))
            .unwrap_or_default();
        let system = messages.iter().find(|message| message["role"] == "system");
        reply.system = system
            .map(|message| content_text(&message["content"]))
            .unwrap_or_default();
    }
    reply.created_at = sample
        .get("completed_at")
        .and_then(Value::as_str)
        .and_then(time)
        .or_else(|| head.created.clone());
    if let Some(epoch) = sample
        .get("epoch")
        .and_then(Value::as_u64)
        .filter(|epoch| *epoch > 1)
    {
        reply.more.insert("epoch".to_owned(), json!(epoch));
        reply.repeat(usize::try_from(epoch - 1).unwrap_or(usize::MAX));
    }
    Ok(reply)
}

fn error_of(sample: &Map<String, Value>, output: &Value) -> Option<String> {
    let own = sample
        .get("error")
        .and_then(|error| error["message"].as_str());
    own.or_else(|| output["error"].as_str()).map(str::to_owned)
}
