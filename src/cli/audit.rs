//! `medrgb audit`.

use std::fmt::Write as _;
use std::time::Instant;

use serde_json::json;

use crate::cli::Failure;
use crate::cli::common::{Environment, say_json, templates, variable, write_out};
use crate::cli::grid::{Chosen, GridArgs};
use crate::cli::progress::Line;
use crate::config::ModelConfig;
use crate::domain::context::{Condition, Mode, SourceFilter};
use crate::domain::cost::Cost;
use crate::domain::prompt::Templates;
use crate::domain::text::{clean, one_line};
use crate::engine::audit::{Audit, AuditedCondition, Finding, FindingKind, audit};
use crate::engine::survey::{Room, Space};
use crate::model::select::{Selected, resolve, sampling};

mod quality;

/// Examples of each finding that the text form shows.
const EXAMPLES_SHOWN: usize = 3;

/// Arguments of `medrgb audit`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  medrgb audit --dataset FOLDER
      the paper's grid: instances, shortfalls, predicted tokens, and what is odd about the documents
  medrgb audit --dataset FOLDER --scenario robustness --docs 5,10 --model gpt-4o-mini --json
      one JSON object, with the model's window and, where the config has its prices, the predicted cost

  medrgb audit --dataset FOLDER --quality --encoder auto
      also whether the set can be gamed: answer positions, lengths, words in common, what BM25 and an encoder find

No model is called. Findings are no failure: the exit code is 0.")]
pub struct Args {
    /// Which contexts.
    #[command(flatten)]
    pub grid: GridArgs,

    /// The model whose window and prices count; as for ask
    #[arg(long, short = 'm', value_name = "MODEL")]
    pub model: Option<String>,

    /// Also report whether the set can be gamed: by position, length, words in common, or plain retrieval
    #[arg(long)]
    pub quality: bool,

    /// With --quality: an encoder that is tried too, a name, a folder or auto
    #[arg(long, value_name = "NAME|FOLDER", requires = "quality")]
    pub encoder: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let room = room(&args, environment)?;
    let templates = templates(environment.config.prompts.as_ref())?;
    let all = args.grid.chosen(1)?;
    let several = all.len() > 1;
    let mut objects = Vec::new();
    for (at, chosen) in all.iter().enumerate() {
        let found = look_at(chosen, &args, room, &templates, environment)?;
        match args.json {
            true => objects.push(found.json(chosen)?),
            false if several && at > 0 => write_out(&format!("\n{}", found.text(chosen)))?,
            false => write_out(&found.text(chosen))?,
        }
    }
    match (args.json, several) {
        (false, _) => Ok(()),
        (true, false) => say_json(&objects.pop()),
        (true, true) => say_json(&json!({"datasets": objects})),
    }
}

/// What was found about one dataset.
struct Found {
    audit: Audit,
    cost: Cost,
    quality: Option<crate::engine::quality::Quality>,
    /// How long it took.
    seconds: f64,
}

fn look_at(
    chosen: &Chosen,
    args: &Args,
    room: Room,
    templates: &Templates,
    environment: &Environment,
) -> Result<Found, Failure> {
    let Chosen {
        dataset,
        questions,
        conditions,
    } = chosen;
    let space = Space {
        dataset,
        templates,
        conditions: &conditions.kept,
        questions,
    };
    let started = Instant::now();
    let line = Line::new();
    let total = space.question_count();
    let audit = audit(&space, room, &|done| {
        let _ = line.at("auditing", done, total);
    })
    .map_err(Failure::failed)?;
    drop(line);
    let price = args
        .model
        .as_ref()
        .and_then(|name| environment.config.models.get(name));
    let quality = match args.quality {
        true => Some(quality::of(
            dataset,
            questions,
            args.encoder.as_deref(),
            environment,
        )?),
        false => None,
    };
    Ok(Found {
        cost: Cost::of(totals(&audit), room.max_tokens, prices(price)),
        audit,
        quality,
        seconds: started.elapsed().as_secs_f64(),
    })
}

impl Found {
    fn json(&self, chosen: &Chosen) -> Result<serde_json::Value, Failure> {
        let mut value = serde_json::to_value(&self.audit).map_err(Failure::failed)?;
        if let Some(fields) = value.as_object_mut() {
            let dataset = &chosen.dataset;
            let (instances, tokens) = totals(&self.audit);
            fields.insert("dataset".into(), json!(dataset.name));
            fields.insert("dataset_fingerprint".into(), json!(dataset.fingerprint));
            fields.insert("records_left_out".into(), json!(dataset.left_out));
            fields.insert("left_out".into(), left_out(&chosen.conditions.left_out));
            fields.insert("instances".into(), json!(instances));
            fields.insert("prompt_tokens".into(), json!(tokens));
            fields.insert("cost_usd".into(), json!(self.cost));
            fields.insert("seconds".into(), json!(self.seconds));
            if let Some(quality) = &self.quality {
                fields.insert("quality".into(), json!(quality));
            }
        }
        Ok(value)
    }

    fn text(&self, chosen: &Chosen) -> String {
        let mut out = format!(
            "{}: {} questions, {} signal documents, {} adversarial versions\n\n",
            clean(&chosen.dataset.name),
            self.audit.questions,
            self.audit.signal_documents,
            self.audit.counterfactuals
        );
        write_conditions(&mut out, &self.audit, self.cost);
        write_findings(&mut out, &self.audit);
        if let Some(quality) = &self.quality {
            out.push_str(&quality::text(quality));
        }
        out
    }
}

/// Window and reply tokens of the model that is named, if any.
fn room(args: &Args, environment: &Environment) -> Result<Room, Failure> {
    let config = &environment.config;
    let Some(name) = &args.model else {
        return Ok(Room {
            window: None,
            max_tokens: config.max_tokens,
        });
    };
    let window = match resolve(name, None, config, &variable).map_err(Failure::failed)? {
        Selected::Http(settings) => settings.window,
        Selected::Embedded(spec) => spec.window,
        Selected::Replay(_) => None,
    };
    Ok(Room {
        window,
        max_tokens: sampling(name, config).max_tokens,
    })
}

/// Instances and predicted prompt tokens of all conditions.
fn totals(audit: &Audit) -> (usize, u64) {
    let counts = || audit.conditions.iter().map(|audited| &audited.counts);
    (
        counts().map(|counts| counts.instances).sum(),
        counts().map(|counts| counts.prompt_tokens).sum(),
    )
}

/// The cells of a grid that are left out, as JSON.
pub(super) fn left_out(
    cells: &[(Condition, crate::domain::context::ComposeError)],
) -> serde_json::Value {
    cells
        .iter()
        .map(|(cell, why)| {
            json!({"scenario": cell.scenario, "docs": cell.docs, "p": cell.p, "why": why.to_string()})
        })
        .collect()
}

/// Dollars per million prompt and reply tokens, as far as the config has them.
pub(super) fn prices(model: Option<&ModelConfig>) -> (Option<f64>, Option<f64>) {
    model.map_or((None, None), |model| (model.price_in, model.price_out))
}

fn write_conditions(out: &mut String, audit: &Audit, cost: Cost) {
    let _ = writeln!(
        out,
        "{:<12} {:<11} {:>4} {:>4} {:>9} {:>7} {:>7} {:>8} {:>12} {:>8} {:>7} {:>9} {:>9}",
        "scenario",
        "draw",
        "n",
        "p",
        "instances",
        "without",
        "short",
        "overflow",
        "tokens",
        "longest",
        "noise",
        "with gold",
        "with sub"
    );
    for AuditedCondition {
        counts,
        noise_documents,
        noise_with_gold_option,
        noise_with_sub_answer,
    } in &audit.conditions
    {
        let _ = writeln!(
            out,
            "{:<12} {:<11} {:>4} {:>4} {:>9} {:>7} {:>7} {:>8} {:>12} {:>8} {:>7} {:>9} {:>9}",
            counts.condition.scenario.name(),
            draw_words(&counts.condition),
            counts.condition.docs,
            percent(&counts.condition),
            counts.instances,
            counts.nothing_to_use,
            counts.short,
            counts.overflow,
            counts.prompt_tokens,
            counts.largest_prompt,
            noise_documents,
            noise_with_gold_option,
            noise_with_sub_answer,
        );
    }
    let (instances, tokens) = totals(audit);
    let _ = writeln!(
        out,
        "\n{instances} instances with about {tokens} prompt tokens{}",
        cost.words()
    );
    out.push_str(
        "without: questions that have nothing to compose from; short: fewer documents than asked for;\n\
         overflow: too long for the model's window (--model); with gold, with sub: noise documents that contain\n\
         the right option's text, or the true answer to a sub-question of their context\n",
    );
}

/// How the contexts of a condition are drawn, in short: source, the first letters of the mode where it is not the
/// usual one, and the seed where it is not 0.
pub(super) fn draw_words(condition: &Condition) -> String {
    let mut words = match condition.source {
        SourceFilter::Any => "any".to_owned(),
        other => other.name().to_owned(),
    };
    if condition.mode == Mode::Independent {
        words += " ind";
    }
    if condition.seed != 0 {
        words += &format!(" s{}", condition.seed);
    }
    words
}

/// p of a condition; standard has none.
pub(super) fn percent(condition: &Condition) -> String {
    match condition.scenario {
        crate::domain::context::Scenario::Standard => "-".to_owned(),
        _ => condition.p.to_string(),
    }
}

fn write_findings(out: &mut String, audit: &Audit) {
    out.push('\n');
    for kind in FindingKind::ALL {
        let count = audit.found.get(&kind).copied().unwrap_or(0);
        let _ = writeln!(out, "{:>7}  {}", count, kind.words());
        let examples = audit.findings.iter().filter(|found| found.kind == kind);
        for found in examples.take(EXAMPLES_SHOWN) {
            let _ = writeln!(out, "         {}", example(found));
        }
    }
}

fn example(found: &Finding) -> String {
    let mut text = format!("question {}", found.question_id);
    if !found.document.is_empty() {
        let _ = write!(text, ", document {}", found.document);
    }
    if !found.detail.is_empty() {
        let _ = write!(text, ": {}", found.detail);
    }
    one_line(&text)
}
