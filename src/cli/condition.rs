//! Flags that several commands share: the dataset, the question and the condition.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::Failure;
use crate::cli::common::note;
use crate::data::dataset::Dataset;
use crate::domain::context::{Condition, Mode, Scenario, SourceFilter};
use crate::domain::text::{count, short};
use crate::engine::instance::InstanceError;

/// How many problems of a dataset are written out.
const PROBLEMS_SHOWN: usize = 5;

/// The flags that say how documents are drawn.
#[derive(Debug, Clone, clap::Args)]
pub struct DrawArgs {
    /// Seed of the random draws
    #[arg(
        long,
        value_name = "SEED",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// How contexts hang together: prefixes of one order, or a new draw for every scenario, n and p
    #[arg(long, value_name = "MODE", default_value = "nested", ignore_case = true, value_parser = modes())]
    pub mode: Mode,

    /// Which documents may be used, by where they were retrieved
    #[arg(long, value_name = "SOURCE", default_value = "any", ignore_case = true, value_parser = sources())]
    pub source: SourceFilter,
}

/// The flags that say which context is meant.
#[derive(Debug, Clone, clap::Args)]
pub struct ConditionArgs {
    /// Dataset folder, or its qa.jsonl; without it the built-in sample
    #[arg(long, short = 'd', value_name = "FOLDER")]
    pub dataset: Option<PathBuf>,

    /// Id of the question
    #[arg(long, short = 'q', value_name = "ID")]
    pub question: String,

    /// Which test
    #[arg(long, short = 's', value_name = "SCENARIO", default_value = "sufficiency", ignore_case = true, value_parser = scenarios())]
    pub scenario: Scenario,

    /// Documents in the context; 0 only in standard: no retrieval
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value_t = 5,
        allow_negative_numbers = true
    )]
    pub docs: usize,

    /// Per cent of them signal (robustness: factually correct), 0 to 100; standard ignores it
    #[arg(
        long,
        short = 'p',
        value_name = "P",
        default_value_t = 60.0,
        allow_negative_numbers = true
    )]
    pub p: f64,

    /// How documents are drawn.
    #[command(flatten)]
    pub draw: DrawArgs,
}

impl ConditionArgs {
    /// The condition that the flags describe.
    ///
    /// # Errors
    /// [`Failure::Usage`] where it is impossible for every question: `p` out of range, no document where
    /// there must be one, too many of them.
    pub fn condition(&self) -> Result<Condition, Failure> {
        let condition = Condition {
            scenario: self.scenario,
            docs: self.docs,
            p: self.p,
            seed: self.draw.seed,
            mode: self.draw.mode,
            source: self.draw.source,
        };
        condition.check().map_err(Failure::usage)?;
        Ok(condition)
    }

    /// The dataset; what was wrong with its records is noted on standard error.
    ///
    /// # Errors
    /// [`Failure::Failed`] where it can't be opened.
    pub fn open_dataset(&self) -> Result<Dataset, Failure> {
        open_dataset(self.dataset.as_deref())
    }
}

/// Opens a dataset, or the sample; what was wrong with its records is noted on standard error.
///
/// # Errors
/// [`Failure::Failed`] where it can't be opened.
pub fn open_dataset(path: Option<&std::path::Path>) -> Result<Dataset, Failure> {
    let dataset = match path {
        Some(path) => Dataset::open(path),
        None => Dataset::sample(),
    }
    .map_err(Failure::failed)?;
    for problem in dataset.problems.iter().take(PROBLEMS_SHOWN) {
        note(&format!("note: {problem}"));
    }
    if dataset.problems.len() > PROBLEMS_SHOWN {
        let more = dataset.problems.len() - PROBLEMS_SHOWN;
        note(&format!(
            "note: {} of this kind",
            count(more, "more problem")
        ));
    }
    if dataset.left_out > 0 {
        let records = count(dataset.left_out, "record");
        note(&format!("note: {records} left out in all"));
    }
    Ok(dataset)
}

/// The failure for an instance that can't be had; an unknown id comes with ids that look like it.
pub fn instance_failure(error: InstanceError, dataset: &Dataset) -> Failure {
    let InstanceError::UnknownQuestion(id) = error else {
        return Failure::failed(error);
    };
    let wanted = id.to_lowercase();
    let alike = |known: &&str| {
        let known = known.to_lowercase();
        known.contains(&wanted) || (!known.is_empty() && wanted.contains(&known))
    };
    let ids = || {
        dataset
            .questions
            .iter()
            .map(|question| question.id.as_str())
    };
    let mut named: Vec<String> = ids().filter(alike).take(3).map(short).collect();
    if named.is_empty() {
        named = ids().take(3).map(short).collect();
    }
    Failure::Failed(format!(
        "no question of {} has the id \"{}\"; it has {}, such as {}",
        short(&dataset.name),
        short(&id),
        count(dataset.questions.len(), "question"),
        named.join(", ")
    ))
}

/// Reads a value that is one of the given names, so that help and completions list them.
macro_rules! one_of {
    ($values:expr, $kind:ty) => {
        PossibleValuesParser::new($values.map(|value: $kind| value.name()))
            .try_map(|name| name.to_ascii_lowercase().parse::<$kind>())
    };
}

pub(super) fn scenarios() -> impl TypedValueParser<Value = Scenario> {
    one_of!(Scenario::ALL, Scenario)
}

pub(super) fn modes() -> impl TypedValueParser<Value = Mode> {
    one_of!([Mode::Nested, Mode::Independent], Mode)
}

pub(super) fn sources() -> impl TypedValueParser<Value = SourceFilter> {
    one_of!(
        [
            SourceFilter::Offline,
            SourceFilter::Online,
            SourceFilter::Any
        ],
        SourceFilter
    )
}
