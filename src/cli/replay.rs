//! `medrgb replay`: plays a recorded run.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::cli::Failure;
use crate::cli::ask::{Screen, show};
use crate::cli::chat::runtime;
use crate::cli::common::{Environment, say, say_json};
use crate::cli::signals::cancel_on_signal;
use crate::data::store::ReplyRecord;
use crate::domain::plan::{ConditionKey, counted, is_counted_reply};
use crate::domain::prompt::reply_shape;
use crate::domain::text::{count, one_line, short};
use crate::engine::ask::{AskRequest, ask};
use crate::engine::instance::Instance;
use crate::engine::models::{recording, run_to_read, store_file};
use crate::model::replay::{Pace, ReplayModel};
use crate::model::{ChatModel, Sampling};

/// Arguments of `medrgb replay`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Every reply comes as it came when it was recorded, with its real timing, then its scores. No model and no
network are used, nothing is stored. Of several replies to one request the newest is played. In the
explorer the same is `medrgb --model replay:RUN`.

Examples:
  medrgb replay --run night --question ID
  medrgb replay --run night --speed 4
  medrgb replay --run night --json")]
pub struct Args {
    /// The run
    #[arg(long, value_name = "RUN")]
    pub run: String,
    /// Only replies to this question
    #[arg(long, short = 'q', value_name = "ID")]
    pub question: Option<String>,
    /// 1 is real time, 2 twice as fast
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// Print one JSON object, at once
    #[arg(long)]
    pub json: bool,
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed > 0.0 => Ok(speed),
        _ => Err("a number above 0 is expected (1 is real time)".to_owned()),
    }
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let path: PathBuf = store_file(&environment.paths);
    let store = run_to_read(&path, &args.run).map_err(Failure::failed)?;
    let records = store.replies_of_run(&args.run).map_err(Failure::failed)?;
    let recording = recording(&args.run, &records).map_err(Failure::Failed)?;
    let playable = playable(records, args.question.as_deref());
    if playable.is_empty() {
        return Err(Failure::Failed(match &args.question {
            Some(id) => format!(
                "the run \"{}\" holds no reply to the question \"{}\"",
                short(&args.run),
                short(id)
            ),
            None => format!("the run \"{}\" holds no reply to play", short(&args.run)),
        }));
    }
    let speed = match args.json {
        true => f64::INFINITY,
        false => args.speed,
    };
    let model: Arc<dyn ChatModel> =
        Arc::new(ReplayModel::new(recording, Pace::new(speed)).map_err(Failure::failed)?);
    if args.json {
        let replies: Vec<_> = playable
            .iter()
            .map(|record| show::json(record, None))
            .collect();
        return say_json(&json!({
            "run": args.run,
            "detail": model.identity().detail,
            "replies": replies,
        }));
    }
    say(&format!(
        "{}: {}",
        one_line(&model.identity().detail),
        count(playable.len(), "recorded reply")
    ))?;
    play(&model, &playable)
}

/// The replies that count, in stored order.
fn playable(records: Vec<ReplyRecord>, question: Option<&str>) -> Vec<ReplyRecord> {
    let requests = records.iter().map(|record| {
        let request = (
            record.dataset_fingerprint.clone(),
            record.question.id.clone(),
            ConditionKey::of(&record.condition),
            record.model_name.clone(),
            record.context.variant.clone(),
            record.sampling.to_string(),
        );
        let outcome = record.parsed.as_ref().map(|parsed| parsed.outcome);
        (request, is_counted_reply(outcome))
    });
    let chosen = counted(requests);
    let mut records: Vec<Option<ReplyRecord>> = records.into_iter().map(Some).collect();
    chosen
        .into_iter()
        .filter_map(|at| records[at].take())
        .filter(|record| record.parsed.is_some())
        .filter(|record| question.is_none_or(|id| record.question.id == id))
        .collect()
}

fn play(model: &Arc<dyn ChatModel>, records: &[ReplyRecord]) -> Result<(), Failure> {
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    for record in records {
        say(&format!("\n{}", title(record)))?;
        let mut screen = Screen::new(false, cancel.clone());
        let played = runtime.block_on(async {
            let _signals = cancel_on_signal(cancel.clone());
            ask(request(model, record), &cancel, &mut |event| {
                screen.take(event);
                Ok(())
            })
            .await
        });
        screen.finish()?;
        let played = played.map_err(Failure::Failed)?;
        if cancel.is_cancelled() {
            return Err(Failure::Failed("stopped".to_owned()));
        }
        say(&show::text(&played, model.identity(), Some(0.0)))?;
    }
    Ok(())
}

fn title(record: &ReplyRecord) -> String {
    let condition = &record.condition;
    let variant = match &record.context.variant {
        Some(variant) => format!(", {}", one_line(variant)),
        None => String::new(),
    };
    format!(
        "{}  {} n={} p={}{variant}\n{}",
        one_line(&record.question.id),
        condition.scenario,
        condition.docs,
        condition.p,
        one_line(&record.question.text)
    )
}

/// The recorded instance, asked of the recording.
fn request(model: &Arc<dyn ChatModel>, record: &ReplyRecord) -> AskRequest {
    AskRequest {
        instance: Instance {
            question: record.question.clone(),
            condition: record.condition,
            context: record.context.clone(),
            prompt: record.prompt.clone(),
            shape: reply_shape(&record.question, &record.context),
        },
        dataset: (record.dataset.clone(), record.dataset_fingerprint.clone()),
        model: Arc::clone(model),
        sampling: Sampling::default(),
        run: record.run.clone(),
        store: None,
    }
}
