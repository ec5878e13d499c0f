//! `medrgb annotate agreement`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::cli::Failure;
use crate::cli::annotate::{TaxonomyFlag, shelves, taxonomy};
use crate::cli::common::{Environment, say_json, write_out};
use crate::data::annotations::Shelf;
use crate::domain::annotation::{Agreed, LabelAgreement, Part, Taxonomy, agree};
use crate::domain::stats::Agreement;
use crate::domain::text::{clean, count, short};

/// Arguments of `medrgb annotate agreement`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the run (several may be given); without it all that have annotations
    #[arg(long, value_name = "RUN")]
    pub run: Vec<String>,
    /// Where the labels' names come from.
    #[command(flatten)]
    pub taxonomy: TaxonomyFlag,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let taxonomy = taxonomy(args.taxonomy.taxonomy.as_deref(), &environment.config)?;
    let shelves = shelves(&args.run, environment)?;
    let mut measured = Vec::new();
    let mut alone = Vec::new();
    for (run, shelf) in &shelves {
        match agree(&shelf.annotators(), &taxonomy) {
            Some(agreed) => measured.push((run, agreed, adjudicated(shelf))),
            None => alone.push(run),
        }
    }
    if measured.is_empty() {
        let names: Vec<String> = alone
            .iter()
            .take(5)
            .map(|run| format!("\"{}\"", short(run)))
            .collect();
        return Err(Failure::Failed(format!(
            "agreement needs two annotators, but {} has one; open the explorer with --annotator NAME, or bring in another's with `medrgb annotate import FILE`",
            names.join(", ")
        )));
    }
    if args.json {
        let runs: Vec<Value> = measured
            .iter()
            .map(|(run, agreed, adjudicated)| of_run(run, agreed, *adjudicated, &taxonomy))
            .collect();
        return say_json(
            &json!({ "taxonomy": taxonomy.stamp(), "runs": runs, "one_annotator": alone }),
        );
    }
    let mut out = String::new();
    for (run, agreed, adjudicated) in &measured {
        text(&mut out, run, agreed, *adjudicated, &taxonomy);
    }
    for run in alone {
        let _ = writeln!(out, "{}: one annotator only", short(run));
    }
    write_out(&clean(&out))
}

/// Replies whose labels somebody decided on.
fn adjudicated(shelf: &Shelf) -> usize {
    let books = shelf
        .books
        .iter()
        .filter(|(hand, _)| hand.part == Part::Adjudicator);
    books
        .flat_map(|(_, book)| book.annotations())
        .filter(|(_, annotation)| annotation.done)
        .count()
}

/// The method that gave the kappas.
fn method(agreed: &Agreed) -> &'static str {
    match agreed.annotators.len() {
        2 => "cohen",
        _ => "fleiss",
    }
}

/// Why there is no kappa.
fn undefined(label: &LabelAgreement) -> Option<&'static str> {
    match label.agreement {
        None => Some("no reply was finished by all"),
        Some(Agreement { kappa: None, .. }) if label.given.iter().all(|given| *given == 0) => {
            Some("nobody gave it")
        }
        Some(Agreement { kappa: None, .. }) => Some("everybody gave it to every reply"),
        Some(_) => None,
    }
}

fn of_run(run: &str, agreed: &Agreed, adjudicated: usize, taxonomy: &Taxonomy) -> Value {
    let numbers = |found: Option<Agreement>| {
        json!({
            "kappa": found.and_then(|found| found.kappa),
            "observed": found.map(|found| found.observed),
            "chance": found.map(|found| found.chance),
        })
    };
    let labels: Vec<Value> = agreed
        .labels
        .iter()
        .map(|label| {
            let given: serde_json::Map<String, Value> = agreed
                .annotators
                .iter()
                .zip(&label.given)
                .map(|(name, given)| (name.clone(), json!(given)))
                .collect();
            let mut value = numbers(label.agreement);
            if let Some(fields) = value.as_object_mut() {
                fields.shift_insert(0, "label".to_owned(), json!(label.label));
                fields.insert("name".to_owned(), json!(taxonomy.name_of(&label.label)));
                fields.insert("given".to_owned(), json!(given));
                fields.insert("same".to_owned(), json!(label.same));
                fields.insert("undefined".to_owned(), json!(undefined(label)));
            }
            value
        })
        .collect();
    let pairs: Vec<Value> = agreed
        .pairs
        .iter()
        .map(|pair| {
            let kappas: serde_json::Map<String, Value> = pair
                .labels
                .iter()
                .map(|(label, found)| (label.clone(), json!(found.and_then(|found| found.kappa))))
                .collect();
            json!({
                "annotators": [pair.annotators.0, pair.annotators.1], "items": pair.items, "kappa": kappas,
            })
        })
        .collect();
    json!({
        "run": run, "method": method(agreed), "annotators": agreed.annotators,
        "finished": agreed.finished, "items": agreed.items, "same_labels": agreed.same,
        "adjudicated": adjudicated, "labels": labels, "pairs": pairs,
    })
}

fn text(out: &mut String, run: &str, agreed: &Agreed, adjudicated: usize, taxonomy: &Taxonomy) {
    let names = agreed.annotators.join(", ");
    let _ = writeln!(
        out,
        "{}: {names}; {} finished by all, the same labels on {} of them, {adjudicated} adjudicated",
        short(run),
        count(agreed.items, "reply"),
        agreed.same
    );
    let method = match method(agreed) {
        "cohen" => "Cohen's kappa",
        _ => "Fleiss' kappa",
    };
    let _ = writeln!(
        out,
        "{}  {:>7}  {:>6}  given by each",
        pad("label", 28),
        "kappa",
        "same"
    );
    for label in &agreed.labels {
        let given: Vec<String> = label.given.iter().map(usize::to_string).collect();
        let name = pad(taxonomy.name_of(&label.label), 28);
        let same = match agreed.items {
            0 => "-".to_owned(),
            items => format!("{:.0} %", 100.0 * label.same as f64 / items as f64),
        };
        let kappa = label.agreement.and_then(|found| found.kappa);
        let kappa = kappa.map_or_else(|| "-".to_owned(), |kappa| format!("{kappa:.3}"));
        let why = undefined(label)
            .map(|why| format!("  ({why})"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "{name}  {kappa:>7}  {same:>6}  {}{why}",
            given.join(" ")
        );
    }
    let _ = writeln!(
        out,
        "{method} of \"given or not\", per label, over the replies that all finished."
    );
    for pair in &agreed.pairs {
        let kappas: Vec<String> = pair
            .labels
            .iter()
            .filter_map(|(label, found)| {
                Some(format!(
                    "{} {:.3}",
                    taxonomy.name_of(label),
                    (*found)?.kappa?
                ))
            })
            .collect();
        let _ = writeln!(
            out,
            "{} and {}, Cohen's, {}: {}",
            pair.annotators.0,
            pair.annotators.1,
            count(pair.items, "reply"),
            match kappas.is_empty() {
                true => "no label with a kappa".to_owned(),
                false => kappas.join(", "),
            }
        );
    }
    out.push('\n');
}

/// A name in a column.
fn pad(name: &str, width: usize) -> String {
    let shown: String = name.chars().take(width).collect();
    format!("{shown:<width$}")
}
