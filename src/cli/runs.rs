//! `medrgb runs`.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cli::Failure;
use crate::cli::audit::percent;
use crate::cli::common::{Environment, note, say, say_json, write_out};
use crate::data::output;
use crate::data::recorded::{Exported, export_line, read_exported};
use crate::data::store::{
    RECORD_VERSION, RunGroup, RunLock, RunSummary, Store, StoreError, logbook,
};
use crate::domain::plan::ConditionKey;
use crate::domain::run;
use crate::domain::text::{clean, count, one_line, short};
use crate::engine::models::store_file;
use crate::source::{self, Line, Lines};

/// Problems of an imported file that are written out.
const PROBLEMS_SHOWN: usize = 5;

/// Arguments of `medrgb runs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with stored runs.
#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List all runs, the newest first.
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Show what a run holds and how it was made.
    Show {
        /// Name of the run.
        run: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Remove a run with all its replies.
    Rm {
        /// Name of the run.
        run: String,
        /// Do not ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
    /// Write a run's records into a file, one JSON object per line, with judgements and how the run was made.
    Export {
        /// Name of the run.
        run: String,
        /// The file; it is replaced if it is there.
        #[arg(long, short = 'o', value_name = "FILE")]
        out: PathBuf,
    },
    /// Read records that `export` has written, or replies that could not be stored (`unsaved-….jsonl`).
    Import {
        /// The file.
        file: PathBuf,
        /// Put all records into this run instead of their own.
        #[arg(long, value_name = "NAME", value_parser = super::ask::run_name)]
        run: Option<String>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let path = store_file(&environment.paths);
    match args.action {
        Action::List { json } => list(&path, json),
        Action::Show { run, json } => show(&path, &run, json),
        Action::Rm { run, yes } => remove(&path, &run, yes),
        Action::Export { run, out } => export(&path, &run, &out),
        Action::Import { file, run, json } => import(&path, &file, run.as_deref(), json),
    }
}

/// The store, to read it, without making one where none is.
fn open(path: &Path) -> Result<Option<Store>, Failure> {
    match path.exists() {
        true => Store::open_for_reading(path)
            .map(Some)
            .map_err(Failure::failed),
        false => Ok(None),
    }
}

/// The store, to read it, and a run that it holds.
fn open_run(path: &Path, run: &str) -> Result<(Store, RunSummary), Failure> {
    let store = open(path)?.ok_or_else(|| unknown(path, run, &[]))?;
    let runs = store.runs().map_err(Failure::failed)?;
    match runs.iter().find(|summary| summary.name == run) {
        Some(summary) => Ok((store, summary.clone())),
        None => Err(unknown(path, run, &runs)),
    }
}

pub(super) fn unknown(path: &Path, run: &str, runs: &[RunSummary]) -> Failure {
    let mut names: Vec<&str> = runs.iter().map(|summary| summary.name.as_str()).collect();
    names.sort_by(|a, b| strsim::jaro_winkler(b, run).total_cmp(&strsim::jaro_winkler(a, run)));
    let known = match names.is_empty() {
        true => "it holds no run yet".to_owned(),
        false => format!(
            "it holds \"{}\"",
            names
                .into_iter()
                .take(5)
                .map(short)
                .collect::<Vec<_>>()
                .join("\", \"")
        ),
    };
    Failure::Failed(format!(
        "the store {} has no run \"{run}\"; {known}",
        path.display(),
        run = short(run)
    ))
}

fn list(path: &Path, json: bool) -> Result<(), Failure> {
    let runs = match open(path)? {
        Some(store) => store.runs().map_err(Failure::failed)?,
        None => Vec::new(),
    };
    if json {
        return say_json(&json!({ "store": path, "runs": runs }));
    }
    if runs.is_empty() {
        return say(&format!("no run is stored in {}", path.display()));
    }
    for run in &runs {
        let failures = match run.failures {
            0 => String::new(),
            count => format!(", {count} failed calls"),
        };
        say(&one_line(&format!(
            "{}: {} replies{failures}, {} questions of {}, {}, {}, last {}",
            run.name,
            run.replies,
            run.questions,
            run.datasets.join(", "),
            run.models.join(", "),
            run.scenarios.join(", "),
            run.updated_at.as_deref().unwrap_or(&run.created_at),
        )))?;
    }
    Ok(())
}

/// What is different among a run's groups in one respect, in order of appearance.
fn distinct<T: PartialEq>(groups: &[RunGroup], of: impl Fn(&RunGroup) -> Option<T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in groups.iter().filter_map(of) {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// A condition of a dataset and model, with its records by outcome.
struct Cell<'a> {
    group: &'a RunGroup,
    outcomes: BTreeMap<&'a str, u64>,
    short: u64,
}

fn cells(groups: &[RunGroup]) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for group in groups {
        let same = |other: &RunGroup| {
            ConditionKey::of(&other.condition) == ConditionKey::of(&group.condition)
                && other.dataset_fingerprint == group.dataset_fingerprint
                && other.model_name == group.model_name
                && other.sampling == group.sampling
        };
        let known = cells.iter().position(|cell| same(cell.group));
        let at = known.unwrap_or_else(|| {
            cells.push(Cell {
                group,
                outcomes: BTreeMap::new(),
                short: 0,
            });
            cells.len() - 1
        });
        let cell = &mut cells[at];
        *cell.outcomes.entry(&group.outcome).or_default() += group.records;
        cell.short += group.short;
    }
    let order = |cell: &Cell<'_>| {
        let condition = &cell.group.condition;
        (
            cell.group.dataset.clone(),
            cell.group.model_name.clone(),
            condition.scenario,
            condition.docs,
        )
    };
    let draw = |cell: &Cell<'_>| {
        let condition = &cell.group.condition;
        (
            condition.source.name(),
            condition.mode.to_string(),
            condition.seed,
            cell.group.sampling.to_string(),
        )
    };
    cells.sort_by(|a, b| {
        let by_p = || a.group.condition.p.total_cmp(&b.group.condition.p);
        let by_draw = || draw(a).cmp(&draw(b));
        order(a).cmp(&order(b)).then_with(by_p).then_with(by_draw)
    });
    cells
}

fn show(path: &Path, run: &str, json: bool) -> Result<(), Failure> {
    let (store, summary) = open_run(path, run)?;
    let groups = store.groups_of_run(run).map_err(Failure::failed)?;
    let sweeps = logbook(path, run).map_err(Failure::failed)?;
    let datasets = distinct(&groups, |group| {
        Some((group.dataset.clone(), group.dataset_fingerprint.clone()))
    });
    let models = distinct(&groups, |group| Some(group.model.clone()));
    let reported = distinct(&groups, |group| group.reported_model.clone());
    let sampling = distinct(&groups, |group| Some(group.sampling.clone()));
    let fingerprints = store.system_fingerprints(run).map_err(Failure::failed)?;
    if json {
        let fingerprints: Vec<Value> = fingerprints
            .iter()
            .map(|(said, replies)| json!({"system_fingerprint": said, "replies": replies}))
            .collect();
        let cells: Vec<Value> = cells(&groups).iter().map(cell_json).collect();
        let datasets: Vec<Value> = datasets
            .iter()
            .map(|(name, fingerprint)| json!({"name": name, "fingerprint": fingerprint}))
            .collect();
        return say_json(&json!({
            "run": summary.name, "store": path, "record_version": RECORD_VERSION,
            "created_at": summary.created_at, "updated_at": summary.updated_at,
            "replies": summary.replies, "failures": summary.failures, "questions": summary.questions,
            "datasets": datasets, "models": models, "reported_models": reported,
            "system_fingerprints": fingerprints, "sampling": sampling,
            "reused": reused(&groups), "sweeps": sweeps, "conditions": cells,
        }));
    }
    let mut out = format!(
        "run       {}\nbegun     {}\nlast      {}\nholds     {} replies and {} failed calls about {} questions\n",
        summary.name,
        summary.created_at,
        summary.updated_at.as_deref().unwrap_or("-"),
        summary.replies,
        summary.failures,
        summary.questions,
    );
    for (name, fingerprint) in &datasets {
        let _ = writeln!(out, "dataset   {name}, sha256 {fingerprint}");
    }
    for model in &models {
        let text = |key: &str| model.get(key).and_then(Value::as_str).unwrap_or("-");
        let _ = writeln!(out, "model     {} ({})", text("name"), text("detail"));
    }
    for name in &reported {
        let _ = writeln!(out, "          the server calls it {name}");
    }
    for (said, replies) in &fingerprints {
        let replies = count(usize::try_from(*replies).unwrap_or(usize::MAX), "reply");
        let _ = writeln!(out, "          system fingerprint {said} ({replies})");
    }
    for sampling in &sampling {
        let _ = writeln!(out, "sampling  {sampling}");
    }
    for (run, replies) in reused(&groups) {
        let _ = writeln!(
            out,
            "reused    {} from \"{run}\"",
            count(usize::try_from(replies).unwrap_or(usize::MAX), "reply")
        );
    }
    for sweep in &sweeps {
        let text = |key: &str| sweep.get(key).and_then(Value::as_str).unwrap_or("-");
        let _ = writeln!(
            out,
            "sweep     {} by {} on {}",
            text("started_at"),
            text("program"),
            text("machine")
        );
        let mut facts = Vec::new();
        for key in ["questions", "limit", "sample"] {
            if let Some(number) = sweep.get(key).and_then(Value::as_u64) {
                facts.push(format!("{key} {number}"));
            }
        }
        if let Some(judge) = sweep.get("judge").and_then(Value::as_str) {
            facts.push(format!("judge {judge}"));
        }
        if !facts.is_empty() {
            let _ = writeln!(out, "          {}", facts.join(", "));
        }
    }
    if sweeps.is_empty() {
        let _ = writeln!(
            out,
            "sweep     not known: what is stored does not say which program version and machine made it, with which prompt files and which choice of questions; contexts and prompts stand in every record (`medrgb runs export`)"
        );
    }
    conditions(&mut out, &cells(&groups), datasets.len() > 1);
    write_out(&clean(&out))
}

/// The conditions, under the name of their model (and dataset) where there are several.
fn conditions(out: &mut String, cells: &[Cell<'_>], several_datasets: bool) {
    let mut samplings: Vec<&Value> = cells.iter().map(|cell| &cell.group.sampling).collect();
    samplings.sort_by_key(|sampling| sampling.to_string());
    samplings.dedup();
    let whose = |cell: &Cell<'_>| match several_datasets {
        true => format!("{}, {}", cell.group.model_name, cell.group.dataset),
        false => cell.group.model_name.clone(),
    };
    let several = cells
        .windows(2)
        .any(|pair| whose(&pair[0]) != whose(&pair[1]));
    let mut last = None;
    out.push('\n');
    for cell in cells {
        let of = whose(cell);
        if several && last.as_ref() != Some(&of) {
            let _ = writeln!(out, "{of}");
            last = Some(of);
        }
        let indent = if several { "  " } else { "" };
        let sampling = match samplings.len() {
            0 | 1 => String::new(),
            _ => format!(" {}", cell.group.sampling),
        };
        let _ = writeln!(out, "{indent}{}{sampling}", cell_line(cell));
    }
}

/// Replies that were not asked for in this run, by the run they come from.
fn reused(groups: &[RunGroup]) -> BTreeMap<&str, u64> {
    let mut from: BTreeMap<&str, u64> = BTreeMap::new();
    for group in groups {
        if let Some(run) = &group.reused_from {
            *from.entry(run).or_default() += group.records;
        }
    }
    from
}

fn cell_json(cell: &Cell<'_>) -> Value {
    let RunGroup {
        dataset,
        model_name,
        condition,
        ..
    } = cell.group;
    json!({
        "dataset": dataset, "model": model_name, "condition": condition,
        "records": cell.outcomes.values().sum::<u64>(), "short": cell.short, "outcomes": cell.outcomes,
    })
}

fn cell_line(cell: &Cell<'_>) -> String {
    let condition = &cell.group.condition;
    let outcomes: Vec<String> = cell
        .outcomes
        .iter()
        .map(|(outcome, count)| format!("{count} {outcome}"))
        .collect();
    format!(
        "{:<12} n {:<4} p {:<4} seed {} {} {}: {}",
        condition.scenario.name(),
        condition.docs,
        percent(condition),
        condition.seed,
        condition.mode,
        condition.source.name(),
        outcomes.join(", ")
    )
}

fn remove(path: &Path, run: &str, yes: bool) -> Result<(), Failure> {
    let (_, summary) = open_run(path, run)?;
    let mut lock = RunLock::take(path, run).map_err(Failure::failed)?;
    let records = summary.replies + summary.failures;
    if !yes && !confirmed(run, records)? {
        return Err(Failure::Failed("nothing was removed".to_owned()));
    }
    let store = Store::open(path).map_err(Failure::failed)?;
    let removed = store.remove_run(run).map_err(Failure::failed)?;
    lock.forget().map_err(Failure::failed)?;
    note(&format!(
        "removed the run \"{}\" with {} records",
        clean(run),
        removed.unwrap_or(0)
    ));
    Ok(())
}

/// Asks on a terminal.
fn confirmed(run: &str, records: u64) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage(format!(
            "removing the run \"{run}\" with {records} records can't be undone; say --yes",
            run = short(run)
        )));
    }
    note(&format!(
        "Remove the run \"{}\" with {records} records for good? Type yes:",
        clean(run)
    ));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(Failure::failed)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn export(path: &Path, run: &str, out: &Path) -> Result<(), Failure> {
    output::check(out).map_err(Failure::failed)?;
    let (store, _) = open_run(path, run)?;
    let ids = store.ids_of_run(run).map_err(Failure::failed)?;
    let mut sweeps = logbook(path, run).map_err(Failure::failed)?;
    let (mut written, mut judged) = (0usize, 0usize);
    output::write(out, |file| {
        for id in ids {
            // One by one, so that a large run needs no memory.
            let record = store.get(id).map_err(|error| error.to_string())?;
            if let Some(record) = record {
                let judgements = store.judgements_of_reply(id);
                let exported = Exported {
                    record,
                    judgements: judgements.map_err(|error| error.to_string())?,
                    sweeps: std::mem::take(&mut sweeps),
                };
                judged += exported.judgements.len();
                let line = export_line(&exported)?;
                writeln!(file, "{line}").map_err(|error| output::reason(&error))?;
                written += 1;
            }
        }
        Ok(())
    })
    .map_err(Failure::failed)?;
    let judgements = match judged {
        0 => String::new(),
        judged => format!(" with {}", count(judged, "judgement")),
    };
    note(&format!(
        "wrote {}{judgements} of the run \"{}\" to {}",
        count(written, "record"),
        short(run),
        out.display()
    ));
    Ok(())
}

/// What became of the records of a file.
#[derive(Debug, Default)]
struct Imported {
    records: Vec<Exported>,
    problems: Vec<String>,
}

fn import(path: &Path, file: &Path, run: Option<&str>, json: bool) -> Result<(), Failure> {
    let mut imported = read_records(file, run)?;
    if imported.records.is_empty() {
        return Err(Failure::Failed(match imported.problems.first() {
            Some(first) => format!(
                "{} holds no record that can be read; {first}",
                file.display()
            ),
            None => format!("{} holds no record", file.display()),
        }));
    }
    let store = Store::open(path).map_err(Failure::failed)?;
    let mut runs: Vec<String> = imported
        .records
        .iter()
        .map(|one| one.record.run.clone())
        .collect();
    runs.sort_unstable();
    runs.dedup();
    let mut locks = runs
        .iter()
        .map(|run| RunLock::take(path, run))
        .collect::<Result<Vec<_>, StoreError>>()
        .map_err(Failure::failed)?;
    let (mut taken, mut held) = (Vec::new(), 0);
    let mut lines = HashSet::new();
    let mut sweeps: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for one in std::mem::take(&mut imported.records) {
        if !one.sweeps.is_empty() {
            let of_run = sweeps.entry(one.record.run.clone()).or_default();
            of_run.extend(one.sweeps);
        }
        let line = serde_json::to_string(&one.record).map_err(Failure::failed)?;
        if !lines.insert(Sha256::digest(line)) {
            held += 1;
            continue;
        }
        let known = store.holds(&one.record).map_err(Failure::failed)?;
        held += usize::from(known.is_some());
        taken.push((one.record, known, one.judgements));
    }
    let new = taken.iter().filter(|(_, known, _)| known.is_none()).count();
    let judgements = store.take_in(&taken).map_err(Failure::failed)?;
    for (run, lock) in runs.iter().zip(&mut locks) {
        if let Some(entries) = sweeps.get(run) {
            lock.log_missing(path, run, entries)
                .map_err(Failure::failed)?;
        }
    }
    for problem in imported.problems.iter().take(PROBLEMS_SHOWN) {
        note(&format!("note: {}", clean(problem)));
    }
    if json {
        return say_json(&json!({
            "imported": new, "already_there": held, "unreadable": imported.problems.len(),
            "judgements": judgements,
        }));
    }
    let judged = match judgements {
        0 => String::new(),
        judgements => format!(" with {}", count(judgements, "judgement")),
    };
    say(&format!(
        "{} imported{judged}, {held} already there, {} can't be read",
        count(new, "record"),
        imported.problems.len()
    ))
}

/// Reads a file of records: JSON lines, or one object over several lines. A bad line is left out and said.
fn read_records(path: &Path, run: Option<&str>) -> Result<Imported, Failure> {
    let failed = |error: std::io::Error| {
        Failure::Failed(format!("{} can't be read: {error}", path.display()))
    };
    let mut imported = Imported::default();
    let (reader, _) = source::open(path).map_err(failed)?;
    let mut lines = Lines::new(reader);
    while let Some((number, line)) = lines.next_line().map_err(failed)? {
        let read = match line {
            Line::Bad(why) => Err(why),
            // A reply that was saved beside the store: one object over all lines.
            Line::Text("{") if number == 1 => {
                let (reader, _) = source::open(path).map_err(failed)?;
                let text = source::whole_text(reader).map_err(failed)?;
                take_record(
                    &mut imported,
                    path,
                    number,
                    read_exported(text.as_bytes()),
                    run,
                );
                return Ok(imported);
            }
            Line::Text(text) => read_exported(text.as_bytes()),
        };
        take_record(&mut imported, path, number, read, run);
    }
    Ok(imported)
}

/// Takes a record that was read from a line, under another run's name where one is given.
fn take_record(
    imported: &mut Imported,
    path: &Path,
    number: usize,
    read: Result<Exported, String>,
    run: Option<&str>,
) {
    let read = read.and_then(|mut exported| {
        let record = &mut exported.record;
        if let Some(run) = run {
            run.clone_into(&mut record.run);
        }
        match run::fault(&record.run) {
            None => Ok(exported),
            Some(fault) => Err(format!(
                "\"{}\" can't be the name of a run: {fault} (--run NAME gives all records another)",
                short(&record.run)
            )),
        }
    });
    match read {
        Ok(exported) => imported.records.push(exported),
        Err(why) => imported
            .problems
            .push(format!("{}, line {number}: {why}", path.display())),
    }
}
