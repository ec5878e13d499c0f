//! `medrgb import`.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say_json, write_out};
use crate::cli::progress::Line;
use crate::cli::signals::stop_on_signal;
use crate::data::dataset::Dataset;
use crate::data::import::{self, ImportError, Kind, Mapping, Report, Request};
use crate::engine::models::store_file;

/// Arguments of `medrgb import`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Kinds:
  medrgb      MedRGB's Parquet files from Hugging Face → dataset folders
              MedLFQA has no options and is left out; without the kind only files named as published
              (bioasq-00000-of-00001.parquet) are taken for them, since figures then stand beside the paper's
  reference   folder of MedRGB's reference code, and its *_predictions.json → dataset folder, run
              a list of {\"question_id\", \"p_sig\", \"response\", \"noise_doc_ids\"} in a file that begins with its
              scenario, such as sufficiency_n5_p60_predictions.json: scenario, n, p and model are taken from name and
              records
  mirage      MIRAGE's benchmark.json[.gz] → dataset folders; with predictions → runs
              JSON lines {\"id\", \"response\"} in SET.MODEL.cot.jsonl, or folders SET/cot/MODEL/test_ID.json:
              set and model are taken from the path
  rgb         RGB's files with counterfactuals (en_fact.json) → dataset folder
              files without \"fakeanswer\" give no wrong option, so their questions are left out
  pubmedqa    PubMedQA's ori_pqal.json → dataset folder
  lm-eval     samples_*.jsonl of lm-evaluation-harness → run
  inspect     Inspect's JSON logs → run
  promptfoo   promptfoo's results as JSON or JSON lines → run
  jsonl, csv, parquet
              rows with a question each → dataset folder; with a reply each → run
  run         a run that medrgb exported as JSON lines → run
Without a kind the content decides, and what was taken is said.

A mapping file (TOML) says which field is what, where names do not tell:
  question_id = \"qid\"
  question = \"stem\"
  options = \"choices\"                 # or one field each: [\"opa\", \"opb\", \"opc\"]
  fixed_options = [\"yes\", \"no\"]        # instead of options: the same for every row
  answer = \"gold\"                     # letter, text, or position
  answer_start = 0                    # where positions start
  response = \"output\"                 # a model's reply: the rows become a run
  ignore = [\"notes\"]
  [[documents]]
  field = \"ctxs\"
  content = \"text\"                    # also: id, title, source = \"offline\" or \"online\"
  [sub_questions]
  field = \"subs\"                      # also: doc_id, question, answer
  [counterfactuals]
  field = \"edits\"                     # also: original_id, new_answer, edited_document
Paths such as doc.question reach into objects.

Examples:
  medrgb import data/bioasq-00000-of-00001.parquet --out bioasq
  medrgb import mirage benchmark.json.gz --set mmlu --out mmlu
  medrgb import mirage benchmark.json.gz mmlu.gpt-3.5.cot.jsonl --model gpt-3.5
  medrgb import csv questions.csv --mapping fields.toml --out mine")]
pub struct Args {
    /// What the files are (see --help), then files and folders; the kind may be left out
    #[arg(value_name = "KIND|PATH", required = true)]
    pub what: Vec<String>,
    /// Dataset folder to write [default: the set's name, where questions are imported]
    #[arg(long, short = 'o', value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Replace a dataset folder that is there already
    #[arg(long)]
    pub force: bool,
    /// TOML file that says which field is what
    #[arg(long, value_name = "FILE")]
    pub mapping: Option<PathBuf>,
    /// The one set of several (mmlu, medqa …)
    #[arg(long, value_name = "NAME")]
    pub set: Option<String>,
    /// Dataset folder whose questions the replies answer
    #[arg(long, short = 'd', value_name = "FOLDER")]
    pub dataset: Option<PathBuf>,
    /// Name of the run that replies are stored under; of several files of replies each becomes a run NAME-FILE, but those of `reference` are the conditions of one
    #[arg(long, value_name = "NAME", value_parser = super::ask::run_name)]
    pub run: Option<String>,
    /// Name of the model, where the files do not say it or say it wrongly
    #[arg(long, short = 'm', value_name = "NAME")]
    pub model: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence; then nothing has been written.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let (kind, paths) = split(&args.what)?;
    let mapping = args
        .mapping
        .as_deref()
        .map(Mapping::read)
        .transpose()
        .map_err(failure)?;
    let dataset = args
        .dataset
        .as_deref()
        .map(Dataset::open)
        .transpose()
        .map_err(Failure::failed)?;
    let request = Request {
        kind,
        paths,
        out: args.out,
        force: args.force,
        mapping,
        set: args.set,
        run: args.run,
        model: args.model,
        dataset: dataset.as_ref(),
        store: store_file(&environment.paths),
    };
    let stop = stop_on_signal();
    let line = Line::new();
    let report = import::import(&request, &mut |at| {
        if stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        line.at("importing, KiB", kib(at.done), kib(at.total))
    });
    drop(line);
    let report = report.map_err(failure)?;
    match args.json {
        true => say_json(&report),
        false => {
            note(&spoken(&report));
            write_out(&results(&report))
        }
    }
}

fn kib(bytes: u64) -> usize {
    usize::try_from(bytes / 1024).unwrap_or(usize::MAX)
}

/// The kind, where the first word is one and not a file, and the paths.
fn split(what: &[String]) -> Result<(Option<Kind>, Vec<PathBuf>), Failure> {
    let paths = |words: &[String]| words.iter().map(PathBuf::from).collect();
    let Some((first, rest)) = what.split_first() else {
        return Err(Failure::Usage("a file or folder is expected".to_owned()));
    };
    match first.parse::<Kind>() {
        Ok(kind) if !rest.is_empty() => Ok((Some(kind), paths(rest))),
        Ok(kind) if !PathBuf::from(first).exists() => Err(Failure::Usage(format!(
            "a file or folder is expected after \"{kind}\""
        ))),
        _ if rest.is_empty() || PathBuf::from(first).exists() => Ok((None, paths(what))),
        Ok(_) => Ok((None, paths(what))),
        // No kind has a dot or a slash in its name: this is a file that is missing, which the import says.
        Err(_) if first.contains(['.', '/', '\\']) => Ok((None, paths(what))),
        Err(why) => Err(Failure::Usage(format!(
            "{why}; and there is no file of that name"
        ))),
    }
}

fn failure(error: ImportError) -> Failure {
    match error {
        ImportError::Usage(text) => Failure::Usage(text),
        ImportError::Failed(text) | ImportError::Broken(text) => Failure::Failed(text),
        ImportError::Stopped => Failure::Failed(error.to_string()),
    }
}

/// What was taken for what, and what was wrong: for standard error.
fn spoken(report: &Report) -> String {
    let mut out = String::new();
    if report.guessed {
        let _ = writeln!(out, "taken for {} by its content", report.kind);
    }
    for (what, field) in &report.mapped {
        let _ = writeln!(out, "{what} ← {field}");
    }
    if !report.kept.is_empty() {
        let _ = writeln!(
            out,
            "not mapped, kept with the question: {}",
            report.kept.join(", ")
        );
    }
    if !report.not_mapped.is_empty() {
        let _ = writeln!(
            out,
            "not mapped, left out: {}",
            report.not_mapped.join(", ")
        );
    }
    for problem in &report.problems {
        let _ = writeln!(out, "{problem}");
    }
    if report.bad > 0 {
        let listed = report.problems.len();
        let more = match report.bad > listed {
            true => format!(" (the first {listed} are listed)"),
            false => String::new(),
        };
        let _ = writeln!(
            out,
            "left out, bad records and bad parts of records: {}{more}",
            report.bad
        );
    }
    for text in &report.notes {
        let _ = writeln!(out, "note: {text}");
    }
    crate::domain::text::clean(out.trim_end())
}

/// What there is now: for standard output.
fn results(report: &Report) -> String {
    let mut out = String::new();
    for set in &report.sets {
        let counts = set.counts;
        let _ = writeln!(
            out,
            "{}: {} questions, {} documents, {} sub-questions, {} adversarial versions",
            set.folder.display(),
            counts.questions,
            counts.documents,
            counts.sub_questions,
            counts.counterfactuals
        );
    }
    for run in &report.runs {
        let _ = writeln!(
            out,
            "run \"{}\": {} replies and {} failed calls of {} on {}",
            run.name,
            run.replies,
            run.failures,
            run.models.join(", "),
            run.dataset
        );
    }
    crate::domain::text::clean(&out)
}
