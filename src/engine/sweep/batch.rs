//! A sweep by OpenAI's Batch API: requests go out in files, answers come back in files, hours later.
//!
//! The id of a request is made from all that decides it, so that answers find their instances again without
//! a list of what was sent: the same sweep is planned when they come.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::data::output;
use crate::data::store::Store;
use crate::domain::plain::json_reason;
use crate::domain::plan::is_counted_reply;
use crate::domain::text::{hex, short};
use crate::engine::ask::{keep, record};
use crate::engine::instance::Instance;
use crate::engine::survey::Place;
use crate::engine::sweep::Sweep;
use crate::model::{BatchModel, ModelError, Reply};
use crate::source::{self, Line, Lines};

/// Requests and bytes of one file at most: what OpenAI accepts (50,000 and 200 MB), with a margin.
const MOST_REQUESTS: usize = 50_000;
const MOST_BYTES: usize = 190_000_000;

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BatchFile {
    /// Where.
    pub path: PathBuf,
    /// Its requests.
    pub requests: usize,
    /// Its bytes.
    pub bytes: usize,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct BatchRead {
    /// Replies stored that count.
    pub replies: usize,
    /// Replies stored that broke off, or errors saved as replies.
    pub broken: usize,
    /// Failures stored.
    pub failures: usize,
    /// Answers to instances that have a reply already, and failures that the run holds already: not stored again.
    pub already_there: usize,
    /// Answers whose id is none of this sweep.
    pub unknown: usize,
    /// Lines in all.
    pub lines: usize,
    /// Lines that can't be read: one sentence each, the first few.
    pub problems: Vec<String>,
    /// All of them.
    pub problem_count: usize,
}

/// Problems that are kept word for word.
const MOST_PROBLEMS: usize = 20;

/// The model as one that takes batches.
fn batching(sweep: &Sweep) -> Result<&dyn BatchModel, String> {
    sweep.model.batch().ok_or_else(|| {
        format!(
            "the model {} can't be asked in batches; that needs an OpenAI-compatible server (openai:NAME)",
            sweep.model.identity().name
        )
    })
}

/// Writes what is planned as batch files `batch-001.jsonl` … into a folder that holds none yet. Prompts that
/// do not fit the model's window are left out.
///
/// # Errors
/// One sentence: a model without batches, a folder that can't be written or holds batch files already.
pub fn write(sweep: &Sweep, todo: &[Place], folder: &Path) -> Result<Vec<BatchFile>, String> {
    let model = batching(sweep)?;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("the folder {} can't be made: {error}", folder.display()))?;
    let name = |number: usize| folder.join(format!("batch-{number:03}.jsonl"));
    if name(1).exists() {
        return Err(format!(
            "{} is there already; name another folder, so that no batch is sent twice",
            name(1).display()
        ));
    }
    let mut files = Vec::new();
    let mut rest = todo.iter().peekable();
    while rest.peek().is_some() {
        let path = name(files.len() + 1);
        let mut written = (0, 0);
        output::write(&path, |out| {
            written = fill(sweep, model, &mut rest, out)?;
            Ok(())
        })
        .map_err(|error| error.to_string())?;
        let (requests, bytes) = written;
        files.push(BatchFile {
            path,
            requests,
            bytes,
        });
    }
    Ok(files)
}

/// Writes lines until the file is full; gives requests and bytes.
fn fill(
    sweep: &Sweep,
    model: &dyn BatchModel,
    rest: &mut std::iter::Peekable<std::slice::Iter<'_, Place>>,
    out: &mut BufWriter<&File>,
) -> Result<(usize, usize), String> {
    let (mut requests, mut bytes) = (0, 0);
    while let Some(place) = rest.peek() {
        let Some(instance) = composed(sweep, **place)? else {
            rest.next();
            continue;
        };
        let line = model.line(&custom_id(sweep, &instance), &sweep.request(&instance));
        let line = format!("{line}\n");
        let full = requests == MOST_REQUESTS || bytes + line.len() > MOST_BYTES;
        if full && requests > 0 {
            break;
        }
        out.write_all(line.as_bytes())
            .map_err(|error| output::reason(&error))?;
        requests += 1;
        bytes += line.len();
        rest.next();
    }
    Ok((requests, bytes))
}

/// The instance, if its prompt fits the model.
fn composed(sweep: &Sweep, place: Place) -> Result<Option<Instance>, String> {
    let instance = sweep.space().instance(place);
    let instance = instance.map_err(|error| error.to_string())?;
    let fits = |instance: &Instance| {
        let tokens = crate::model::tokens::estimate_prompt(&instance.prompt);
        sweep.room().fits(tokens)
    };
    Ok(instance.filter(fits))
}

/// The id of a request: made from dataset, question, condition, model, sampling and prompt. 39 characters.
fn custom_id(sweep: &Sweep, instance: &Instance) -> String {
    let mut hasher = Sha256::new();
    let condition = serde_json::to_string(&instance.condition).unwrap_or_default();
    let sampling = serde_json::to_string(&sweep.sampling).unwrap_or_default();
    for part in [
        sweep.dataset.fingerprint.as_str(),
        &instance.question.id,
        &condition,
        &sweep.model.identity().name,
        &sampling,
        &instance.prompt.system,
        &instance.prompt.user,
    ] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let digest = hasher.finalize();
    format!("medrgb-1-{}", hex(&digest[..15]))
}

/// Reads output and error files of the provider and stores the replies in the sweep's run. `places` are all
/// instances of the sweep, `todo` those without a reply.
///
/// # Errors
/// One sentence: a file that can't be read, a reply that can't be stored.
pub fn read(
    sweep: &Sweep,
    places: &[Place],
    todo: &[Place],
    files: &[PathBuf],
    store: &Store,
) -> Result<BatchRead, String> {
    let model = batching(sweep)?;
    let mut open: HashSet<Place> = todo.iter().copied().collect();
    let mut by_id: HashMap<String, Place> = HashMap::with_capacity(places.len());
    for place in places {
        if let Some(instance) = composed(sweep, *place)? {
            by_id.insert(custom_id(sweep, &instance), *place);
        }
    }
    let mut found = BatchRead::default();
    let mut failed = Failed::default();
    for path in files {
        let unreadable = |error| format!("{} can't be read: {error}", path.display());
        source::refuse_special(path).map_err(unreadable)?;
        let mut lines = Lines::new(source::open(path).map_err(unreadable)?.0);
        while let Some((number, line)) = lines.next_line().map_err(unreadable)? {
            found.lines += 1;
            let answer: Value = match parsed(line).and_then(as_answer) {
                Ok(answer) => answer,
                Err(why) => {
                    found.problem(format!("{} line {number}: {why}", path.display()));
                    continue;
                }
            };
            if is_request(&answer) {
                return Err(format!(
                    "{} line {number} is a request, not an answer to one: the file is one that --batch-out writes; name the output and error files that the provider made from it",
                    path.display()
                ));
            }
            let id = answer["custom_id"].as_str().unwrap_or_default();
            match by_id.get(id) {
                None => found.unknown += 1,
                Some(place) if !open.contains(place) => found.already_there += 1,
                Some(place) => {
                    let result = model.reply_of_line(&answer);
                    if let Err(error) = &result
                        && failed.holds(sweep, *place, error, store)?
                    {
                        found.already_there += 1;
                    } else if stored(sweep, *place, &result, store, &mut found)? {
                        open.remove(place);
                    }
                }
            }
        }
    }
    if found.lines == 0 {
        let names: Vec<String> = files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(format!(
            "{} holds no line; an output or error file of OpenAI's Batch API is expected",
            names.join(", ")
        ));
    }
    let taken = found.replies + found.broken + found.failures + found.already_there;
    if taken + found.unknown == 0
        && let Some(first) = found.problems.first()
    {
        return Err(format!("no answer can be read; {first}"));
    }
    if found.unknown > 0 && found.replies + found.failures + found.already_there == 0 {
        return Err(format!(
            "none of the {} answers belongs to this sweep: dataset, grid, model, sampling and prompts must be those that the batch was written with (run \"{}\")",
            found.unknown,
            short(&sweep.run)
        ));
    }
    Ok(found)
}

fn parsed(line: Line<'_>) -> Result<Value, String> {
    match line {
        Line::Text(text) => {
            serde_json::from_str(text).map_err(|error| format!("no JSON: {}", json_reason(&error)))
        }
        Line::Bad(why) => Err(why),
    }
}

/// An answer is an object with the id of its request, and a response or an error.
fn as_answer(answer: Value) -> Result<Value, String> {
    let kind = match &answer {
        Value::Object(_) => None,
        Value::Array(_) => Some("an array"),
        _ => Some("a bare value"),
    };
    if let Some(kind) = kind {
        return Err(format!(
            "this is {kind}; an object with \"custom_id\" and \"response\" is expected"
        ));
    }
    match answer["custom_id"].is_string() {
        false => Err(
            "\"custom_id\" is missing or no text, so it is unknown which request this answers"
                .to_owned(),
        ),
        true if answer["response"].is_null()
            && answer["error"].is_null()
            && !is_request(&answer) =>
        {
            Err("it holds neither a response nor an error".to_owned())
        }
        true => Ok(answer),
    }
}

/// Whether a line is what was sent.
fn is_request(line: &Value) -> bool {
    line.get("response").is_none() && (line["body"].is_object() || line["method"].is_string())
}

/// Failures that a run holds, so that the same error file taken in twice adds nothing. Two calls for one instance that
/// failed in the very same way count once, as they do in every figure.
#[derive(Default)]
struct Failed {
    /// Of every instance that an error came for, the failures as they are stored.
    known: HashMap<Place, Vec<Value>>,
}

impl Failed {
    /// Whether the run holds this failure of the instance; it holds it from now on.
    fn holds(
        &mut self,
        sweep: &Sweep,
        place: Place,
        error: &ModelError,
        store: &Store,
    ) -> Result<bool, String> {
        let known = match self.known.entry(place) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let Some(instance) = composed(sweep, place)? else {
                    return Ok(false);
                };
                let asked = (&*instance.question.id, &instance.condition);
                let failures = store.failures_of(&sweep.run, &sweep.dataset.fingerprint, asked);
                let model = &*sweep.model.identity().name;
                let sampling = sweep.sampling_value();
                let failures = failures.map_err(|error| error.to_string())?.into_iter();
                let ours =
                    failures.filter(|one| one.model_name == model && one.sampling == sampling);
                vacant.insert(ours.map(|one| one.failure).collect())
            }
        };
        let failure = serde_json::to_value(error).unwrap_or_default();
        if known.contains(&failure) {
            return Ok(true);
        }
        known.push(failure);
        Ok(false)
    }
}

/// Stores an answer; true where it counts as a reply.
fn stored(
    sweep: &Sweep,
    place: Place,
    result: &Result<Reply, ModelError>,
    store: &Store,
    found: &mut BatchRead,
) -> Result<bool, String> {
    let Some(instance) = composed(sweep, place)? else {
        return Ok(false);
    };
    let request = sweep.ask_request(instance, Arc::clone(&sweep.model), None);
    let record = keep(Some(store), record(&request, result))?;
    let outcome = record.parsed.as_ref().map(|parsed| parsed.outcome);
    match (is_counted_reply(outcome), outcome) {
        (true, _) => found.replies += 1,
        (false, Some(_)) => found.broken += 1,
        (false, None) => found.failures += 1,
    }
    Ok(is_counted_reply(outcome))
}

impl BatchRead {
    fn problem(&mut self, sentence: String) {
        self.problem_count += 1;
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(sentence);
        }
    }
}
