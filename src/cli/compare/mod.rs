//! `medrgb compare`: two stored runs on the same questions.

use crate::cli::Failure;
use crate::cli::common::{Environment, say_json, write_out};
use crate::cli::progress::Line;
use crate::domain::compare::{Comparison, compare_watched};
use crate::domain::report::PAPER;
use crate::domain::score::Metric;
use crate::domain::stats::Resampling;
use crate::domain::text::short;
use crate::engine::compare::{Aligned, RunView, align};
use crate::engine::models::{run_to_read, store_file};

mod show;

/// Arguments of `medrgb compare`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Replies are paired by dataset, question and condition (seed included); only pairs available in both
runs count, and what is left out is said. Where two datasets differ as wholes, questions with the same id, text,
options and right answer are paired all the same, and that is said. Of several replies to one request the newest counts, as in
`medrgb report`. Where a run asked several models, each is paired with itself in the other run; name
the two with --model-a and --model-b to compare different ones. Scores are taken as stored: after an update of the program
bring both runs to the same rules with `medrgb rescore --run RUN`.

Examples:
  medrgb compare night day
      the headline metrics per condition and over all of them
  medrgb compare night day --metric main_accuracy,noise_recall --json
  medrgb compare night day --metric all")]
pub struct Args {
    /// Name of the first run
    #[arg(value_name = "A")]
    pub a: String,

    /// Name of the second run; differences are B minus A
    #[arg(value_name = "B")]
    pub b: String,

    /// Of the first run only what this model was asked
    #[arg(long, value_name = "MODEL")]
    pub model_a: Option<String>,

    /// Of the second run only what this model was asked
    #[arg(long, value_name = "MODEL")]
    pub model_b: Option<String>,

    /// Metrics by name, or all; without it those of the benchmark's tables
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    pub metric: Vec<String>,

    /// Resamples of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub resamples: u32,

    /// Seed of the bootstrap
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A run and its name.
struct Side {
    name: String,
    view: RunView,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence; also where there is nothing to compare.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let metrics = metrics(&args.metric)?;
    let plan = Resampling {
        resamples: args.resamples as usize,
        seed: args.seed,
    };
    let line = Line::new();
    let mut a = open(args.a, args.model_a.as_deref(), environment, &line)?;
    let mut b = open(args.b, args.model_b.as_deref(), environment, &line)?;
    let aligned = align(&mut a.view, &b.view);
    let observations = (
        std::mem::take(&mut a.view.observations),
        std::mem::take(&mut b.view.observations),
    );
    let records = (observations.0.len(), observations.1.len());
    let comparison = compare_watched(
        observations.0,
        observations.1,
        &metrics,
        plan,
        &mut |done, total| {
            let _ = line.at("comparing, metrics", done, total);
        },
    );
    drop(line);
    refuse_nothing(&a, &b, &comparison, aligned, &metrics)?;
    let shown = show::Shown {
        a: &a,
        b: &b,
        records,
        comparison: &comparison,
        aligned,
        plan,
    };
    match args.json {
        true => say_json(&shown.json()),
        false => write_out(&shown.text()),
    }
}

fn open(
    name: String,
    model: Option<&str>,
    environment: &Environment,
    line: &Line,
) -> Result<Side, Failure> {
    if name == PAPER {
        return Err(Failure::Usage(
            "the paper published rates, not replies, so nothing can be paired; `medrgb report --run RUN --against paper` puts its figures beside a run's"
                .to_owned(),
        ));
    }
    let store = run_to_read(&store_file(&environment.paths), &name).map_err(Failure::failed)?;
    let view = RunView::of_run_watched(&store, &name, model, &mut |read| {
        line.count("reading records", read);
    })
    .map_err(Failure::failed)?;
    match model {
        Some(model) if view.models.is_empty() && !view.other_models.is_empty() => {
            let others: Vec<String> = view.other_models.iter().map(|name| short(name)).collect();
            Err(Failure::Failed(format!(
                "the run \"{run}\" has no replies of the model \"{model}\"; it has those of {others}",
                run = short(&name),
                model = short(model),
                others = others.join(", ")
            )))
        }
        _ => Ok(Side { name, view }),
    }
}

/// The metrics asked for, in the order of the definitions.
fn metrics(names: &[String]) -> Result<Vec<Metric>, Failure> {
    if names.is_empty() {
        return Ok(Metric::HEADLINE.to_vec());
    }
    if names.iter().any(|name| name == "all") {
        return Ok(Metric::ALL.to_vec());
    }
    let mut metrics = names
        .iter()
        .map(|name| name.trim().parse::<Metric>())
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failure::Usage)?;
    metrics.sort_unstable();
    metrics.dedup();
    Ok(metrics)
}

fn refuse_nothing(
    a: &Side,
    b: &Side,
    comparison: &Comparison,
    aligned: Aligned,
    metrics: &[Metric],
) -> Result<(), Failure> {
    let (first, second) = (&a.name, &b.name);
    if comparison.pairs == 0 {
        return Err(Failure::Failed(format!(
            "the runs \"{first}\" and \"{second}\" hold no replies to the same question under the same condition, so there is nothing to compare ({}{})",
            show::left_out(&comparison.left_out),
            match aligned.different {
                0 => String::new(),
                different => format!(
                    "; {} the same id in both, but another text, other options or another right answer: ask or import both runs on the same dataset",
                    match different {
                        1 => "1 question has".to_owned(),
                        _ => format!("{different} questions have"),
                    }
                ),
            },
            first = short(first),
            second = short(second)
        )));
    }
    if comparison.pooled.is_empty() {
        let names: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
        return Err(Failure::Failed(format!(
            "no pair of the runs \"{first}\" and \"{second}\" has {} on both sides; --metric all compares what there is",
            names.join(" or "),
            first = short(first),
            second = short(second)
        )));
    }
    Ok(())
}
