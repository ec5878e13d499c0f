//! `medrgb compose`.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json, templates};
use crate::cli::condition::{ConditionArgs, instance_failure};
use crate::data::dataset::Dataset;
use crate::domain::context::{Condition, Context, ContextDocument};
use crate::domain::passage::Role;
use crate::domain::prompt::{Prompt, Templates};
use crate::domain::text::collapse;
use crate::engine::instance::{Instance, InstanceError, instance};

/// The value of `--question` that means every question.
const ALL: &str = "all";

/// Arguments of `medrgb compose`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  medrgb compose --question ID --scenario robustness --docs 5 --p 60
      the documents with their roles, the sub-questions and the prompt, as text
  medrgb compose --dataset FOLDER --question ID --scenario standard --docs 0 --json
      the prompt without retrieval, as one JSON object
  medrgb compose --dataset FOLDER --question all --scenario sufficiency --docs 5 --p 20 --json
      one JSON line per question; how many have nothing for the scenario is noted on standard error")]
pub struct Args {
    /// Which context; with --question all every question of the dataset.
    #[command(flatten)]
    pub condition: ConditionArgs,

    /// Folder with prompt templates that replace the built-in ones one by one
    #[arg(long, value_name = "FOLDER")]
    pub prompts: Option<PathBuf>,

    /// Print one JSON object (JSON lines with --question all)
    #[arg(long)]
    pub json: bool,
}

/// A context and its prompt as `compose --json` prints them and `ask --json` includes them.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Composed<'a> {
    /// What the model sees, with roles.
    #[serde(flatten)]
    pub context: &'a Context,
    /// The messages.
    pub prompt: &'a Prompt,
}

impl<'a> Composed<'a> {
    /// The context and prompt of an instance.
    pub fn new(instance: &'a Instance) -> Composed<'a> {
        Composed {
            context: &instance.context,
            prompt: &instance.prompt,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let condition = args.condition.condition()?;
    let folder = args
        .prompts
        .as_ref()
        .or(environment.config.prompts.as_ref());
    let templates = templates(folder)?;
    let dataset = args.condition.open_dataset()?;
    let id = args.condition.question.as_str();
    if id == ALL && dataset.position(ALL).is_none() {
        return run_all(&dataset, &templates, &condition, args.json);
    }
    let instance = instance(&dataset, &templates, id, &condition)
        .map_err(|error| instance_failure(error, &dataset))?;
    show(&instance, args.json)
}

/// Composes every question; those that have nothing for the scenario are noted.
fn run_all(
    dataset: &Dataset,
    templates: &Templates,
    condition: &Condition,
    json: bool,
) -> Result<(), Failure> {
    let mut missing: Vec<String> = Vec::new();
    for question in &dataset.questions {
        match instance(dataset, templates, &question.id, condition) {
            Ok(instance) => show(&instance, json)?,
            Err(InstanceError::Compose(error)) => missing.push(error.to_string()),
            Err(error) => return Err(Failure::failed(error)),
        }
    }
    let Some(first) = missing.first() else {
        return Ok(());
    };
    let (count, all) = (missing.len(), dataset.questions.len());
    let said = format!("{count} of {all} questions have no such context; the first: {first}");
    match count == all {
        true => Err(Failure::Failed(said)),
        false => {
            note(&format!("note: {said}"));
            Ok(())
        }
    }
}

fn show(instance: &Instance, json: bool) -> Result<(), Failure> {
    match json {
        true => say_json(&Composed::new(instance)),
        false => say(&as_text(instance)),
    }
}

/// The context in a form for reading.
pub fn as_text(instance: &Instance) -> String {
    let context = &instance.context;
    let mut out = format!(
        "Question {}   {}   n {} of {}   p {} of {} %   seed {}   {}   source {}{}\n",
        context.question_id,
        context.scenario,
        context.docs,
        context.docs_requested,
        number(context.p),
        number(context.p_requested),
        context.seed,
        context.mode,
        context.source.name(),
        if context.short { "   SHORT" } else { "" },
    );
    let gold = instance.question.answer;
    let _ = writeln!(
        out,
        "Right answer {gold}. {}",
        instance.question.gold_text()
    );
    if !context.documents.is_empty() {
        out.push_str("\nDocuments\n");
    }
    for document in &context.documents {
        let _ = writeln!(out, "{}", document_line(document));
    }
    if !context.sub_questions.is_empty() {
        out.push_str("\nSub-questions\n");
    }
    for (at, sub) in context.sub_questions.iter().enumerate() {
        let planted = sub
            .planted
            .as_ref()
            .map_or_else(String::new, |planted| format!("   planted: {planted}"));
        let _ = writeln!(
            out,
            "sub_{} ({}) {}\n      answer: {}{planted}",
            at + 1,
            sub.label,
            sub.question,
            sub.answer
        );
    }
    let Prompt { system, user } = &instance.prompt;
    let _ = write!(
        out,
        "\n--- system message\n{system}\n\n--- user message\n{user}"
    );
    out
}

fn document_line(document: &ContextDocument) -> String {
    let role = match document.role {
        Role::Signal => "signal",
        Role::Noise => "noise",
        Role::Adversarial => "adversarial",
    };
    let mut line = format!("{:<7} {role:<12} {}", document.label, document.id);
    if let Some(question) = &document.from_question {
        let _ = write!(line, "   from question {question}");
    }
    if !document.title.is_empty() {
        let _ = write!(line, "   {}", collapse(&document.title));
    }
    line
}

/// At most one decimal, and none where it is 0.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
