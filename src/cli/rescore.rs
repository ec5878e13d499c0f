//! `medrgb rescore`: a stored run scored again.

use std::fmt::Write as _;

use serde_json::json;

use crate::cli::Failure;
use crate::cli::chat::runtime;
use crate::cli::common::{Environment, note, say_json, templates, write_out};
use crate::cli::progress::Line;
use crate::cli::stopping::stop_on_signals;
use crate::data::store::{RunLock, Store};
use crate::domain::score::Ratio;
use crate::domain::text::{clean, one_line};
use crate::engine::models::{judge_name, open_model, run_to_change, store_file};
use crate::engine::rescore::{JudgeCounts, JudgeRequest, Judging, Rescored, judge_run, rescore};
use crate::engine::sweep::{Control, Limits, Pace};
use crate::model::Sampling;
use crate::model::select::sampling;

/// Arguments of `medrgb rescore`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  medrgb rescore --run night
      reads and scores every stored reply by the rules of this version; no model is called
  OPENAI_API_KEY=… medrgb rescore --run night --judge openai:gpt-4o
      also has a judge model score the sub-answers 0, 0.5 or 1; goes on where it stopped

What is stopped halfway is finished by the same command. A skipped sub-answer is judged 0 without a call.
Answers with the same question, gold and text are judged by one call.
Judgements that fail or can't be read are counted and left out of the score. The judge's prompt is
judge.j2 of your prompts folder, where there is one.")]
pub struct Args {
    /// Name of the run
    #[arg(long, value_name = "RUN")]
    pub run: String,

    /// Judge model: a name of the config, openai:MODEL or embedded[:NAME|:FILE.gguf]
    #[arg(long, value_name = "MODEL")]
    pub judge: Option<String>,

    /// Address of the judge's OpenAI-compatible server
    #[arg(long, value_name = "URL", requires = "judge")]
    pub base_url: Option<String>,

    /// Most judgements at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64), requires = "judge")]
    pub concurrency: u16,

    /// The most judgements started per minute, further attempts included; the config's for the judge if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "judge")]
    pub rpm: Option<u32>,

    /// The most tokens of judgements started per minute; the config's for the judge if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "judge")]
    pub tpm: Option<u32>,

    /// Judge again what this judge has judged already
    #[arg(long, requires = "judge")]
    pub judge_again: bool,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let path = store_file(&environment.paths);
    let store = run_to_change(&path, &args.run).map_err(Failure::failed)?;
    let _lock = RunLock::take(&path, &args.run).map_err(Failure::failed)?;
    let (judgements, judge) = match &args.judge {
        Some(name) => {
            let (made, judge) = judged(name, &args, &store, environment)?;
            (Some(made), Some(judge))
        }
        None => (None, None),
    };
    let done = rescore(&store, &args.run, judge.as_deref()).map_err(Failure::failed)?;
    match args.json {
        true => say_json(&as_json(&args.run, &done, judgements))?,
        false => write_out(&as_text(&args.run, &done, judgements))?,
    }
    if done.scored == 0 {
        return Err(Failure::Failed(format!(
            "the run \"{}\" holds no reply that can be scored",
            args.run
        )));
    }
    judge
        .and_then(|judge| trouble(&judge, &done))
        .map_or(Ok(()), |why| Err(Failure::Failed(why)))
}

/// What is wrong with a judge that judged nothing; `None` where it gave a score, and where there was nothing to judge.
fn trouble(judge: &str, done: &Rescored) -> Option<String> {
    let counts = done.judges.get(judge)?;
    let vain = counts.invalid + counts.failed;
    if counts.judged > 0 || vain == 0 {
        return None;
    }
    Some(format!(
        "the judge {} gave no judgement that can be read: {} of {vain} can't be read, {} failed; look at the raw ones, or name another judge",
        one_line(judge),
        counts.invalid,
        counts.failed
    ))
}

/// Asks the judge; gives what it did and its name.
fn judged(
    name: &str,
    args: &Args,
    store: &Store,
    environment: &Environment,
) -> Result<(Judging, String), Failure> {
    let request = judge_request(name, args, environment, store.clone())?;
    let model = request.model.identity().clone();
    if let Some(caution) = &model.caution {
        note(&format!(
            "caution: the judge {}: {}",
            clean(&model.name),
            clean(caution)
        ));
    }
    Ok((ask_judge(request)?, model.name))
}

/// What a judge did as a stage of a sweep.
pub(super) struct Judged {
    /// The object of `--json`.
    pub(super) object: serde_json::Value,
    /// What is wrong where nothing was judged.
    pub(super) trouble: Option<String>,
}

/// The judge as a stage of a sweep: asks it, and scores the run again; what changed is noted on standard error.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub(super) fn judge(
    args: &Args,
    name: &str,
    store: &Store,
    environment: &Environment,
) -> Result<Judged, Failure> {
    let (made, judge) = judged(name, args, store, environment)?;
    let done = rescore(store, &args.run, Some(&judge)).map_err(Failure::failed)?;
    if !args.json {
        note(as_text(&args.run, &done, Some(made)).trim_end());
    }
    Ok(Judged {
        object: as_json(&args.run, &done, Some(made)),
        trouble: trouble(&judge, &done),
    })
}

fn judge_request(
    name: &str,
    args: &Args,
    environment: &Environment,
    store: Store,
) -> Result<JudgeRequest, Failure> {
    let config = &environment.config;
    let templates = templates(config.prompts.as_ref())?;
    let base_url = args.base_url.as_deref();
    judge_name(name, base_url, config).map_err(Failure::failed)?;
    let model = open_model(name, base_url, config, &environment.paths).map_err(Failure::failed)?;
    // A limit for the sweep before it holds for its judge too, but never more than the judge's own.
    let own = config.models.get(name);
    let lower = |flag: Option<u32>, own: Option<u32>| flag.into_iter().chain(own).min();
    let pace = Pace::new(Limits {
        requests_per_minute: lower(args.rpm, own.and_then(|model| model.rpm)),
        tokens_per_minute: lower(args.tpm, own.and_then(|model| model.tpm)),
    });
    Ok(JudgeRequest {
        store,
        run: args.run.clone(),
        model,
        templates,
        // A judge is asked once, for its likeliest judgement.
        sampling: Sampling {
            temperature: 0.0,
            ..sampling(name, config)
        },
        concurrency: usize::from(args.concurrency),
        pace,
        again: args.judge_again,
    })
}

/// Gives what the judge did.
fn ask_judge(request: JudgeRequest) -> Result<Judging, Failure> {
    let runtime = runtime()?;
    let (control, patience) = (Control::default(), request.model.patience());
    let line = Line::new();
    runtime
        .block_on(async {
            let _signals = stop_on_signals(control.clone(), patience);
            judge_run(request, &control, &mut |done, total| {
                let _ = line.at("judging", done, total);
            })
            .await
        })
        .map_err(Failure::failed)
}

fn as_json(run: &str, done: &Rescored, judgements: Option<Judging>) -> serde_json::Value {
    let rate = |ratio: Ratio| json!({"rate": ratio.value(), "num": ratio.num, "den": ratio.den});
    let judges: serde_json::Map<String, serde_json::Value> = done
        .judges
        .iter()
        .map(|(name, counts)| {
            let value = json!({
                "sub_judge_score": counts.score.value(),
                "num": counts.score.num,
                "den": counts.score.den,
                "judged": counts.judged,
                "skipped": counts.skipped,
                "invalid": counts.invalid,
                "failed": counts.failed,
                "pending": counts.pending,
            });
            (name.clone(), value)
        })
        .collect();
    json!({
        "run": run,
        "records": done.records,
        "scored": done.scored,
        "failed_calls": done.failed_calls,
        "broken": done.broken,
        "changed": done.changed,
        "changed_outcome": done.changed_outcome,
        "changed_answer": done.changed_answer,
        "main_accuracy": {"before": rate(done.before), "after": rate(done.after)},
        "judgements_made": judgements.map(|done| done.made),
        "judgements_shared": judgements.map(|done| done.shared),
        "judges": judges,
    })
}

fn as_text(run: &str, done: &Rescored, judgements: Option<Judging>) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "{name:<10}{text}");
    };
    row("run", one_line(run));
    row(
        "scored",
        format!("{} of {} records", done.scored, done.records),
    );
    if done.failed_calls > 0 {
        let calls = done.failed_calls;
        row(
            "",
            format!("{calls} calls gave no reply and stay as they are"),
        );
    }
    if done.broken > 0 {
        let broken = done.broken;
        row(
            "",
            format!("{broken} records can't be read and stay as they are"),
        );
    }
    row("changed", changes(done));
    row(
        "accuracy",
        format!("{} -> {}", share(done.before), share(done.after)),
    );
    for (name, counts) in &done.judges {
        row("judge", one_line(name));
        row("", judge_line(counts));
        row("", judge_counts(counts));
    }
    if let Some(Judging { made, shared }) = judgements {
        let alike = match shared {
            0 => String::new(),
            shared => format!(
                ", {shared} of them without a call of their own: question, gold and answer were those of another"
            ),
        };
        row("", format!("{made} judgements were made now{alike}"));
    }
    out
}

fn changes(done: &Rescored) -> String {
    match done.changed {
        0 => "nothing".to_owned(),
        changed => format!(
            "{changed} records: {} with another outcome, {} with another answer",
            done.changed_outcome, done.changed_answer
        ),
    }
}

/// `72.50 % (58 of 80)`.
fn share(ratio: Ratio) -> String {
    match ratio.value() {
        Some(value) => format!("{:.2} % ({} of {})", value * 100.0, ratio.num, ratio.den),
        None => "none".to_owned(),
    }
}

fn judge_line(counts: &JudgeCounts) -> String {
    match counts.score.value() {
        Some(score) => format!(
            "sub_judge_score {score:.3} ({} of {})",
            counts.score.num, counts.score.den
        ),
        None => "no sub-answer has a score".to_owned(),
    }
}

fn judge_counts(counts: &JudgeCounts) -> String {
    let mut text = format!("{} judged, {} skipped", counts.judged, counts.skipped);
    let left_out = [
        (counts.invalid, "can't be read"),
        (counts.failed, "failed"),
        (counts.pending, "to be judged"),
    ];
    let left_out: Vec<String> = left_out
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !left_out.is_empty() {
        text += &format!("; left out: {}", left_out.join(", "));
    }
    text
}
