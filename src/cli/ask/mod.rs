//! `medrgb ask`.

use std::io::IsTerminal;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::cli::Failure;
use crate::cli::chat::{ModelArgs, runtime};
use crate::cli::common::{Environment, note, say, say_json, templates, write_out};
use crate::cli::condition::{ConditionArgs, instance_failure};
use crate::cli::signals::cancel_on_signal;
use crate::data::store::{ReplyRecord, RunLock, Store};
use crate::domain::run;
use crate::domain::text::{clean, one_line};
use crate::engine::ask::{AskEvent, AskRequest, ask};
use crate::engine::instance::instance;
use crate::engine::models::store_file;
use crate::model::{BackendKind, ChatModel};

pub(super) mod show;

/// Arguments of `medrgb ask`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  medrgb ask --question ID --scenario sufficiency --docs 5 --p 60
      asks the model of the config, or the embedded one, about the built-in sample
  OPENAI_API_KEY=… medrgb ask --dataset FOLDER --question ID --model openai:gpt-4o-mini --json
      one JSON object with context, reply, scores, usage and timing
  medrgb ask --question ID --model openai:MODEL --base-url http://localhost:8000/v1
      a server of your own

Ctrl-C stops; what has come is stored and marked as interrupted.")]
pub struct Args {
    /// Which instance is asked.
    #[command(flatten)]
    pub condition: ConditionArgs,

    /// Which model is asked, and how.
    #[command(flatten)]
    pub chat: ModelArgs,

    /// Name of the run that the reply is stored under
    #[arg(long, value_name = "NAME", default_value = "ask", value_parser = run_name)]
    pub run: String,

    /// Store nothing
    #[arg(long)]
    pub no_store: bool,

    /// Print one JSON object at the end and nothing else
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run_name(text: &str) -> Result<String, String> {
    run::named(text).map_err(str::to_owned)
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let request = request(&args, environment)?;
    // A run that a sweep holds takes no other replies meanwhile.
    let _lock = match &request.store {
        Some(store) => Some(RunLock::share(store.path(), &request.run).map_err(Failure::failed)?),
        None => None,
    };
    let model = Arc::clone(&request.model);
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    let mut screen = Screen::new(args.json, cancel.clone());
    let record = runtime.block_on(async {
        let _signals = cancel_on_signal(cancel.clone());
        ask(request, &cancel, &mut |event| {
            screen.take(event);
            Ok(())
        })
        .await
    });
    screen.finish()?;
    let record = record.map_err(Failure::Failed)?;
    let cost = show::cost(&record, args.chat.name(environment), environment);
    match args.json {
        true => say_json(&show::json(&record, cost))?,
        false => say(&show::text(&record, model.identity(), cost))?,
    }
    if !args.json {
        say_where(&args, environment, &record);
    }
    verdict(&record, cancel.is_cancelled())
}

/// Everything that asking needs; fails before any model is called.
fn request(args: &Args, environment: &Environment) -> Result<AskRequest, Failure> {
    let config = &environment.config;
    let condition = args.condition.condition()?;
    let templates = templates(config.prompts.as_ref())?;
    let dataset = args.condition.open_dataset()?;
    let instance = instance(&dataset, &templates, &args.condition.question, &condition)
        .map_err(|error| instance_failure(error, &dataset))?;
    let model = args.chat.open(environment)?;
    let store = match args.no_store || is_replay(model.as_ref()) {
        true => None,
        false => Some(open_store(environment)?),
    };
    Ok(AskRequest {
        instance,
        dataset: (dataset.name.clone(), dataset.fingerprint.clone()),
        model,
        sampling: args.chat.sampling(environment),
        run: args.run.clone(),
        store,
    })
}

/// A replayed reply is in the store already.
fn is_replay(model: &dyn ChatModel) -> bool {
    model.identity().backend == BackendKind::Replay
}

/// The store of replies; without one a reply can still be had.
fn open_store(environment: &Environment) -> Result<Store, Failure> {
    Store::open(&store_file(&environment.paths)).map_err(|error| {
        Failure::Failed(format!(
            "{error}; --no-store asks without storing the reply"
        ))
    })
}

/// Writes what comes: the reply's text to standard output, the rest to standard error.
pub(super) struct Screen {
    json: bool,
    /// Whether progress may be written: only where a person looks on.
    progress: bool,
    cancel: CancellationToken,
    thinking: bool,
    written: bool,
    line_open: bool,
    trouble: Option<Failure>,
}

impl Screen {
    pub(super) fn new(json: bool, cancel: CancellationToken) -> Screen {
        Screen {
            json,
            progress: std::io::stderr().is_terminal(),
            cancel,
            thinking: false,
            written: false,
            line_open: false,
            trouble: None,
        }
    }

    pub(super) fn take(&mut self, event: AskEvent) {
        match event {
            AskEvent::Text(text) if !self.json => self.write(&clean(&text)),
            AskEvent::Status(status) if self.progress && !self.written => {
                note(&one_line(&status));
            }
            AskEvent::Reasoning(_) if self.progress && !self.thinking => {
                self.thinking = true;
                note("the model is thinking");
            }
            AskEvent::Restart => {
                if self.line_open {
                    self.write("\n");
                }
                self.thinking = false;
                self.written = false;
                note("the attempt broke off; what follows is a new reply from its beginning");
            }
            _ => {}
        }
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() || self.trouble.is_some() {
            return;
        }
        self.written = true;
        self.line_open = !text.ends_with('\n');
        if let Err(failure) = write_out(text) {
            // Nobody reads on: stop the model, store what has come.
            self.cancel.cancel();
            self.trouble = Some(failure);
        }
    }

    /// Ends the reply's last line.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if self.line_open {
            self.write("\n");
        }
        self.trouble.map_or(Ok(()), Err)
    }
}

fn say_where(args: &Args, environment: &Environment, record: &ReplyRecord) {
    match (args.no_store, record.id) {
        (true, _) => note("not stored (--no-store)"),
        (false, 0) => note("not stored: a replay is no new reply"),
        (false, _) => note(&format!(
            "stored as record {} of the run \"{}\" in {}",
            record.id,
            record.run,
            store_file(&environment.paths).display()
        )),
    }
}

/// Done where something could be measured.
fn verdict(record: &ReplyRecord, cancelled: bool) -> Result<(), Failure> {
    if let Some(why) = record.failure.get("message").and_then(|text| text.as_str()) {
        return Err(Failure::Failed(why.to_owned()));
    }
    if cancelled {
        return Err(Failure::Failed(
            "stopped; the reply is not complete".to_owned(),
        ));
    }
    match record
        .parsed
        .as_ref()
        .is_some_and(|parsed| parsed.outcome.is_reply())
    {
        true => Ok(()),
        false => Err(Failure::Failed(
            "the reply broke off before an answer, so there is nothing to score; try again"
                .to_owned(),
        )),
    }
}
