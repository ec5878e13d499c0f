//! Flags that say which grid of contexts is meant.

use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::common::note;
use crate::cli::condition::{modes, open_dataset, scenarios, sources};
use crate::data::dataset::Dataset;
use crate::domain::context::{ComposeError, Mode, Scenario, SourceFilter};
use crate::domain::plan::{Conditions, Grid, check_size};
use crate::domain::text::short;
use crate::engine::sweep::chosen_questions;

/// The flags of a grid.
#[derive(Debug, Clone, clap::Args)]
pub struct GridArgs {
    /// Dataset folder, or its qa.jsonl; several times for several; without it the built-in sample
    #[arg(long, short = 'd', value_name = "FOLDER")]
    pub dataset: Vec<PathBuf>,

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

    /// Seed of the random draws, and of --sample
    #[arg(
        long,
        value_name = "SEED",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// How contexts hang together: prefixes of one order (nested, if left out), or a new draw for every scenario,
    /// n and p (independent); both with a comma between them
    #[arg(long, value_name = "MODE,…", value_delimiter = ',', ignore_case = true, value_parser = modes())]
    pub mode: Vec<Mode>,

    /// Which documents may be used, by where they were retrieved, with commas between them: every context is there
    /// once for each. If left out any; and where --docs is left out too and the dataset has both, standard has its 5
    /// and 20 documents offline and online, as in the paper (39 conditions instead of 37)
    #[arg(long, value_name = "SOURCE,…", value_delimiter = ',', ignore_case = true, value_parser = sources())]
    pub source: Vec<SourceFilter>,
}

/// A dataset of a grid, with what is looked at of it.
pub struct Chosen {
    /// The dataset.
    pub dataset: Dataset,
    /// Positions of its questions, rising.
    pub questions: Vec<usize>,
    /// Its conditions.
    pub conditions: Conditions,
}

/// Positions of the named questions that the dataset has, rising.
fn named(ids: &[String], dataset: &Dataset) -> Vec<usize> {
    let mut positions: Vec<usize> = ids.iter().filter_map(|id| dataset.position(id)).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

fn limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a whole number from 1 is expected".to_owned()),
        Ok(limit) => Ok(limit),
    }
}

impl GridArgs {
    /// The grid that the flags describe.
    fn grid(&self) -> Grid {
        Grid {
            scenarios: match self.scenario.is_empty() {
                true => Scenario::ALL.to_vec(),
                false => self.scenario.clone(),
            },
            docs: (!self.docs.is_empty()).then(|| self.docs.clone()),
            p: (!self.p.is_empty()).then(|| self.p.clone()),
            seeds: match self.seeds.is_empty() {
                true => vec![self.seed],
                false => self.seeds.clone(),
            },
            modes: match self.mode.is_empty() {
                true => vec![Mode::default()],
                false => self.mode.clone(),
            },
            sources: (!self.source.is_empty()).then(|| self.source.clone()),
        }
    }

    /// The datasets with their questions and conditions; cells that are left out are noted on standard error. `times`
    /// is how often every instance will be asked (models and repeats).
    ///
    /// # Errors
    /// [`Failure`] where a value is out of range, nothing is left, the grid is too large to be planned, a question is
    /// unknown or a dataset can't be opened.
    pub fn chosen(&self, times: usize) -> Result<Vec<Chosen>, Failure> {
        let grid = self.grid();
        check_size(&[grid.most_conditions(), times]).map_err(Failure::Usage)?;
        // Values that are wrong for every dataset are said before one is opened.
        grid.conditions(false).map_err(Failure::usage)?;
        let datasets = self.open()?;
        self.know_the_questions(&datasets)?;
        let mut said = Vec::new();
        let mut instances = 0;
        let mut chosen = Vec::with_capacity(datasets.len());
        for dataset in datasets {
            let conditions = grid
                .conditions(dataset.has_both_sources())
                .map_err(Failure::usage)?;
            say_left_out(&conditions, &mut said);
            let questions = self.questions(&dataset)?;
            instances += conditions.kept.len().saturating_mul(questions.len());
            check_size(&[instances, times]).map_err(Failure::Usage)?;
            chosen.push(Chosen {
                dataset,
                questions,
                conditions,
            });
        }
        Ok(chosen)
    }

    /// The datasets, each once.
    fn open(&self) -> Result<Vec<Dataset>, Failure> {
        if self.dataset.is_empty() {
            return Ok(vec![open_dataset(None)?]);
        }
        let mut datasets: Vec<Dataset> = Vec::with_capacity(self.dataset.len());
        for path in &self.dataset {
            let dataset = open_dataset(Some(path))?;
            if datasets
                .iter()
                .all(|other| other.fingerprint != dataset.fingerprint)
            {
                datasets.push(dataset);
            }
        }
        Ok(datasets)
    }

    /// Every question that is named must be one of some dataset.
    fn know_the_questions(&self, datasets: &[Dataset]) -> Result<(), Failure> {
        let unknown = |id: &&String| datasets.iter().all(|one| one.position(id).is_none());
        let Some(id) = self.question.iter().find(unknown) else {
            return Ok(());
        };
        let names: Vec<&str> = datasets.iter().map(|one| one.name.as_str()).collect();
        Err(Failure::Usage(format!(
            "--question: there is no question \"{}\" in {}",
            short(id),
            names.join(", ")
        )))
    }

    /// Positions of the questions that are meant, rising: those that are named, else of the first `--limit` a
    /// sample of `--sample`.
    fn questions(&self, dataset: &Dataset) -> Result<Vec<usize>, Failure> {
        if !self.question.is_empty() {
            return Ok(named(&self.question, dataset));
        }
        chosen_questions(dataset, self.limit, self.sample, self.seed).map_err(|why| {
            Failure::Usage(match self.dataset.len() {
                0 | 1 => format!("--sample: {why}"),
                _ => format!("--sample: {}: {why}", short(&dataset.name)),
            })
        })
    }
}

/// Says which cells are left out, each once.
fn say_left_out(conditions: &Conditions, said: &mut Vec<String>) {
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
}
