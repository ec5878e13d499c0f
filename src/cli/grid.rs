//! Flags that say which grid of contexts is meant.

use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::common::note;
use crate::cli::condition::{DrawArgs, scenarios};
use crate::domain::context::{ComposeError, Scenario};
use crate::domain::plan::{Conditions, Grid};

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

    /// Only the first so many questions, in file order
    #[arg(long, value_name = "N", value_parser = limit)]
    pub limit: Option<usize>,

    /// How documents are drawn.
    #[command(flatten)]
    pub draw: DrawArgs,
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
            seed: self.draw.seed,
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

    /// How many questions are meant.
    pub fn questions(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }
}
