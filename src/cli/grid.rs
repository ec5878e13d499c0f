//! Flags that say which grid of contexts is meant.

use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::common::note;
use crate::cli::condition::{DrawArgs, scenarios};
use crate::data::dataset::Dataset;
use crate::domain::context::{ComposeError, Scenario};
use crate::domain::plan::{Conditions, Grid};
use crate::domain::text::short;
use crate::engine::sweep::chosen_questions;

/// The flags of a grid.
#[derive(Debug, Clone, clap::Args)]
pub struct GridArgs {
    /// Dataset folder, or its qa.jsonl; without it the built-in sample
    #[arg(long, short = 'd', value_name = "FOLDER")]
    pub dataset: Option<PathBuf>,

    /// Which tests, with commas between them; all four if left out
    #[arg(long, short = 's', value_name = "SCENARIO,…", value_delimiter = ',', ignore_case = true, value_parser = scenarios())]
    pub scenario: Vec<Scenario>,

    /// Documents per context, with commas between them; if left out as in the paper
    #[arg(
        long,
        short = 'n',
        value_name = "N,…",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub docs: Vec<usize>,

    /// Per cent of them signal (robustness: factually correct); if left out 0 to 100 by 20
    #[arg(
        long,
        short = 'p',
        value_name = "P,…",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub p: Vec<f64>,

    /// Only these questions, by id, with commas between them
    #[arg(
        long,
        short = 'q',
        value_name = "ID,…",
        value_delimiter = ',',
        conflicts_with_all = ["limit", "sample"]
    )]
    pub question: Vec<String>,

    /// Only the first so many questions, in file order
    #[arg(long, value_name = "N", value_parser = limit)]
    pub limit: Option<usize>,

    /// So many questions, drawn by --seed; each set and each right answer gets its share
    #[arg(long, value_name = "N", value_parser = limit)]
    pub sample: Option<usize>,

    /// Several seeds instead of --seed, with commas between them: every context is drawn anew for each
    #[arg(
        long,
        value_name = "SEED,…",
        value_delimiter = ',',
        conflicts_with = "seed"
    )]
    pub seeds: Vec<u64>,

    /// How documents are drawn.
    #[command(flatten)]
    pub draw: DrawArgs,
}

fn named(ids: &[String], dataset: &Dataset) -> Result<Vec<usize>, Failure> {
    let mut positions = Vec::with_capacity(ids.len());
    for id in ids {
        positions.push(dataset.position(id).ok_or_else(|| {
            Failure::Usage(format!(
                "--question: there is no question \"{}\" in {}",
                short(id),
                dataset.name
            ))
        })?);
    }
    positions.sort_unstable();
    positions.dedup();
    Ok(positions)
}

fn limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a whole number from 1 is expected".to_owned()),
        Ok(limit) => Ok(limit),
    }
}

impl GridArgs {
    /// The conditions; cells that are left out are noted on standard error.
    ///
    /// # Errors
    /// [`Failure::Usage`] where a value is out of range or nothing is left.
    pub fn conditions(&self) -> Result<Conditions, Failure> {
        let grid = Grid {
            scenarios: match self.scenario.is_empty() {
                true => Scenario::ALL.to_vec(),
                false => self.scenario.clone(),
            },
            docs: (!self.docs.is_empty()).then(|| self.docs.clone()),
            p: (!self.p.is_empty()).then(|| self.p.clone()),
            seeds: match self.seeds.is_empty() {
                true => vec![self.draw.seed],
                false => self.seeds.clone(),
            },
            mode: self.draw.mode,
            source: self.draw.source,
        };
        let conditions = grid.conditions().map_err(Failure::usage)?;
        let mut said = Vec::new();
        for (cell, why) in &conditions.left_out {
            let p = match why {
                ComposeError::NoDocs(_) => String::new(),
                _ => format!(" and p = {} %", cell.p),
            };
            let line = format!(
                "note: {} with n = {}{p} is left out: {why}",
                cell.scenario, cell.docs
            );
            if !said.contains(&line) {
                note(&line);
                said.push(line);
            }
        }
        Ok(conditions)
    }

    /// Positions of the questions that are meant, rising: those that are named, else of the first `--limit` a
    /// sample of `--sample`.
    ///
    /// # Errors
    /// [`Failure::Usage`] where an id is unknown, or more are to be drawn than there are.
    pub fn questions(&self, dataset: &Dataset) -> Result<Vec<usize>, Failure> {
        if !self.question.is_empty() {
            return named(&self.question, dataset);
        }
        chosen_questions(dataset, self.limit, self.sample, self.draw.seed)
            .map_err(|why| Failure::Usage(format!("--sample: {why}")))
    }
}
