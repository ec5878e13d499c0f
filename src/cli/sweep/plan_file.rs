//! `--plan FILE.toml`: the flags of a sweep in a file, so that it can be kept, shared and repeated.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;

use super::Args;
use crate::cli::Failure;
use crate::cli::ask::run_name;
use crate::domain::context::{Mode, Scenario, SourceFilter};
use crate::domain::plain::plain;
use crate::domain::text::line_at;

/// Every key is a flag of `medrgb sweep`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PlanFile {
    dataset: Option<PathBuf>,
    scenario: Vec<Scenario>,
    docs: Vec<usize>,
    p: Vec<f64>,
    seeds: Vec<u64>,
    mode: Option<String>,
    source: Option<String>,
    question: Vec<String>,
    limit: Option<usize>,
    sample: Option<usize>,
    models: Vec<String>,
    base_url: Option<String>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    repeats: Option<u8>,
    concurrency: Option<u16>,
    rpm: Option<u32>,
    tpm: Option<u32>,
    run: Option<String>,
    reuse: bool,
    judge: Option<String>,
    judge_base_url: Option<String>,
}

/// Fills what the flags leave open from the plan file, if one is given.
///
/// # Errors
/// [`Failure::Usage`] for a file that can't be read, an unknown key or a value out of range, with its place.
pub(super) fn fill(mut args: Args) -> Result<Args, Failure> {
    let Some(path) = args.plan.clone() else {
        return Ok(args);
    };
    let file = read(&path)?;
    let wrong =
        |key: &str, why: String| Failure::Usage(format!("{}: {key}: {why}", path.display()));
    for (key, range, value) in [
        ("limit", 1..=u64::MAX, file.limit.map(|n| n as u64)),
        ("sample", 1..=u64::MAX, file.sample.map(|n| n as u64)),
        ("concurrency", 1..=4096, file.concurrency.map(u64::from)),
        ("repeats", 1..=100, file.repeats.map(u64::from)),
        ("rpm", 1..=u64::MAX, file.rpm.map(u64::from)),
        ("tpm", 1..=u64::MAX, file.tpm.map(u64::from)),
        ("max_tokens", 1..=u64::MAX, file.max_tokens.map(u64::from)),
    ] {
        if let Some(value) = value.filter(|value| !range.contains(value)) {
            let upper = match *range.end() {
                u64::MAX => "up".to_owned(),
                end => format!("to {end}"),
            };
            return Err(wrong(
                key,
                format!(
                    "{value} is not a whole number from {} {upper}",
                    range.start()
                ),
            ));
        }
    }
    if let Some(value) = file.temperature
        && !(0.0..=crate::config::HOTTEST).contains(&value)
    {
        let why = format!(
            "{value} is not a number from 0 to {}",
            crate::config::HOTTEST
        );
        return Err(wrong("temperature", why));
    }
    let (grid, chat) = (&mut args.grid, &mut args.chat);
    // A relative folder is meant from where the plan lies.
    let beside = |folder: PathBuf| path.parent().unwrap_or(Path::new("")).join(folder);
    grid.dataset = grid.dataset.take().or_else(|| file.dataset.map(beside));
    fill_list(&mut grid.scenario, file.scenario);
    fill_list(&mut grid.docs, file.docs);
    fill_list(&mut grid.p, file.p);
    fill_list(&mut grid.seeds, file.seeds);
    if !file.question.is_empty() && (file.limit.is_some() || file.sample.is_some()) {
        let why = "these name the questions, so there can be no limit and no sample beside them";
        return Err(wrong("question", why.to_owned()));
    }
    if grid.limit.is_none() && grid.sample.is_none() {
        fill_list(&mut grid.question, file.question);
    }
    if grid.question.is_empty() {
        grid.limit = grid.limit.or(file.limit);
        grid.sample = grid.sample.or(file.sample);
    }
    // The flags of these two have defaults: the file counts where the flag says the default.
    if let Some(name) = file.mode.filter(|_| grid.draw.mode == Mode::default()) {
        grid.draw.mode = Mode::from_str(&name).map_err(|why| wrong("mode", why))?;
    }
    if let Some(name) = file
        .source
        .filter(|_| grid.draw.source == SourceFilter::default())
    {
        grid.draw.source = SourceFilter::from_str(&name).map_err(|why| wrong("source", why))?;
    }
    if chat.model.is_none() && !file.models.is_empty() {
        chat.model = Some(file.models.join(","));
    }
    chat.base_url = chat.base_url.take().or(file.base_url);
    chat.max_tokens = chat.max_tokens.or(file.max_tokens);
    chat.temperature = chat.temperature.or(file.temperature);
    args.repeats = args.repeats.or(file.repeats);
    args.concurrency = args.concurrency.or(file.concurrency);
    args.rpm = args.rpm.or(file.rpm);
    args.tpm = args.tpm.or(file.tpm);
    if args.run.is_none()
        && let Some(name) = file.run
    {
        args.run = Some(run_name(&name).map_err(|why| wrong("run", why))?);
    }
    args.reuse |= file.reuse;
    args.judge = args.judge.take().or(file.judge);
    args.judge_base_url = args.judge_base_url.take().or(file.judge_base_url);
    Ok(args)
}

fn fill_list<T>(flag: &mut Vec<T>, file: Vec<T>) {
    if flag.is_empty() {
        *flag = file;
    }
}

fn read(path: &Path) -> Result<PlanFile, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::Usage(format!(
            "the plan {} can't be read: {error}",
            path.display()
        ))
    })?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_at(&text, span.start));
        let message = plain(error.message()).replace('\n', " ");
        Failure::Usage(format!("{} line {line}: {message}", path.display()))
    })
}
