//! `medrgb runs show`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::open_run;
use crate::cli::Failure;
use crate::cli::audit::percent;
use crate::cli::common::{say_json, write_out};
use crate::data::store::{RECORD_VERSION, RunGroup, logbook};
use crate::domain::plan::ConditionKey;
use crate::domain::text::{clean, count};

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

pub(super) fn show(path: &Path, run: &str, json: bool) -> Result<(), Failure> {
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
