//! `medrgb build review apply`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Set, reviewed};
use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json};
use crate::data::dataset::Dataset;
use crate::data::import::ImportError;
use crate::domain::annotation::{Part, annotator_name};
use crate::domain::build::Level;
use crate::domain::review::{KindTally, settle};
use crate::domain::text::{count, short};
use crate::engine::review::{Effect, listing, write};

/// Arguments of `medrgb build review apply`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    set: Set,
    /// The folder that is made
    #[arg(long, short = 'o', value_name = "NEW")]
    out: PathBuf,
    /// Put only this person's decisions into effect; without it those on which all agree, and adjudications
    #[arg(long, value_name = "NAME")]
    reviewer: Option<String>,
    /// Leave out what nobody has decided; without it that stays as it is
    #[arg(long)]
    decided_only: bool,
    /// Replace a dataset folder that is there already
    #[arg(long)]
    force: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment) -> Result<(), Failure> {
    let (dataset, shelf) = reviewed(&args.set, environment)?;
    let own = args
        .set
        .dataset
        .as_deref()
        .and_then(|path| path.canonicalize().ok());
    if own.is_some() && own == args.out.canonicalize().ok() {
        return Err(Failure::Usage(
            "--out is the dataset itself, which would be lost; name another folder".to_owned(),
        ));
    }
    let only = match &args.reviewer {
        Some(name) => Some(
            annotator_name(name)
                .ok_or_else(|| Failure::Usage("--reviewer must be a name".to_owned()))?,
        ),
        None => None,
    };
    let settled = settle(&shelf.books, only.as_deref());
    if settled.verdicts.is_empty() && settled.disputed.is_empty() {
        let name = only.as_deref().unwrap_or_default();
        return Err(Failure::Failed(format!(
            "\"{}\" has decided nothing there",
            short(name)
        )));
    }
    let reviewers: Vec<String> = match only {
        Some(name) => vec![name],
        None => {
            let mut names: Vec<String> = shelf
                .books
                .keys()
                .map(|hand| match hand.part {
                    Part::Annotator => hand.annotator.clone(),
                    Part::Adjudicator => format!("{} (decided between reviewers)", hand.annotator),
                })
                .collect();
            names.sort_unstable();
            names
        }
    };
    let effect = Effect {
        settled: &settled,
        reviewers: &reviewers,
        keep_undecided: !args.decided_only,
        force: args.force,
    };
    let (counts, tally) = write(&dataset, &effect, &args.out).map_err(|error| match error {
        ImportError::Usage(why) => Failure::Usage(why),
        other => Failure::failed(other),
    })?;
    // Of the items that are there: decisions on others say nothing about this dataset.
    let known: std::collections::HashSet<String> = listing(&dataset, |_| None)
        .into_iter()
        .map(|(_, found)| found.item.id)
        .collect();
    let disputed = settled
        .disputed
        .iter()
        .filter(|item| known.contains(*item))
        .count();
    let errors = errors(&args.out)?;
    if args.json {
        return say_json(&json!({
            "out": args.out, "counts": counts, "sub_questions": tally.sub_questions, "edits": tally.edits,
            "undecided": tally.undecided(), "undecided_kept": !args.decided_only, "disputed": disputed,
            "reviewers": reviewers, "errors": errors,
        }));
    }
    say(&line("sub-questions", &tally.sub_questions))?;
    say(&line("adversarial edits", &tally.edits))?;
    if tally.undecided() > 0 {
        let what = match args.decided_only {
            true => "left out",
            false => "kept as they are; --decided-only leaves them out",
        };
        note(&format!(
            "{} undecided, {what}",
            count(tally.undecided(), "item")
        ));
    }
    if disputed > 0 {
        note(&format!(
            "of these, reviewers differ on {disputed}; --reviewer NAME takes one of them, A on the review screen decides"
        ));
    }
    if errors > 0 {
        let out = args.out.display();
        note(&format!(
            "the checks find {} in what was written; `medrgb build validate {out}` names all of it",
            count(errors, "error")
        ));
    }
    note(&format!("written to {}", args.out.display()));
    Ok(())
}

/// How many errors the items have that were written: what a person edits or accepts is not bound by the rules.
fn errors(out: &Path) -> Result<usize, Failure> {
    let written = Dataset::open(out).map_err(Failure::failed)?;
    let found = listing(&written, |_| None).into_iter();
    let issues = found.flat_map(|(_, found)| found.issues);
    Ok(issues
        .filter(|issue| issue.kind.level() == Level::Error)
        .count())
}

fn line(what: &str, tally: &KindTally) -> String {
    let fell = match tally.without_sub_question {
        0 => String::new(),
        fell => format!(", {fell} out with their sub-question"),
    };
    format!(
        "{what}: {} accepted, {} edited, {} rejected{fell}, {} undecided",
        tally.accepted, tally.edited, tally.rejected, tally.undecided
    )
}
