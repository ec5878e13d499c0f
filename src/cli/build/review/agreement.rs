//! `medrgb build review agreement`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{Set, reviewed};
use crate::cli::Failure;
use crate::cli::common::{Environment, say_json, write_out};
use crate::data::reviews::ReviewShelf;
use crate::domain::annotation::Part;
use crate::domain::review::{Agreed, ItemKind, KindAgreement, agree};
use crate::domain::stats::Agreement;
use crate::domain::text::{clean, count, short};

/// Arguments of `medrgb build review agreement`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    set: Set,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment) -> Result<(), Failure> {
    let (dataset, shelf) = reviewed(&args.set, environment)?;
    let agreed = agree(&shelf.reviewers()).ok_or_else(|| {
        Failure::Failed(format!(
            "agreement needs two reviewers, but \"{}\" has one; open the explorer with --annotator NAME, or bring in another's with `medrgb build review import FILE`",
            short(&dataset.name)
        ))
    })?;
    let adjudicated = adjudicated(&shelf);
    match args.json {
        true => say_json(&object(&dataset.name, &agreed, adjudicated)),
        false => write_out(&clean(&text(&dataset.name, &agreed, adjudicated))),
    }
}

/// Items on which somebody decided between reviewers.
fn adjudicated(shelf: &ReviewShelf) -> usize {
    let books = shelf.books.iter();
    books
        .filter(|(hand, _)| hand.part == Part::Adjudicator)
        .flat_map(|(_, book)| book.decisions())
        .filter(|(_, decision)| decision.verdict.is_some())
        .count()
}

fn name(kind: Option<ItemKind>) -> &'static str {
    kind.map_or("all", ItemKind::name)
}

/// Why there is no kappa.
fn undefined(found: Option<Agreement>) -> Option<&'static str> {
    match found {
        None => Some("no item was decided by all"),
        Some(Agreement { kappa: None, .. }) => {
            Some("everybody gave one and the same verdict throughout")
        }
        Some(_) => None,
    }
}

fn numbers(found: Option<Agreement>) -> Value {
    json!({
        "kappa": found.and_then(|found| found.kappa),
        "observed": found.map(|found| found.observed),
        "chance": found.map(|found| found.chance),
        "undefined": undefined(found),
    })
}

fn object(dataset: &str, agreed: &Agreed, adjudicated: usize) -> Value {
    let kinds: Vec<Value> = agreed
        .kinds
        .iter()
        .map(|one| {
            let given: Map<String, Value> = agreed
                .reviewers
                .iter()
                .zip(&one.given)
                .map(|(name, [accepted, edited, rejected])| {
                    let counts =
                        json!({"accepted": accepted, "edited": edited, "rejected": rejected});
                    (name.clone(), counts)
                })
                .collect();
            json!({
                "items_of": name(one.kind), "items": one.items, "same": one.same, "given": given,
                "verdict": numbers(one.verdicts), "kept": numbers(one.kept),
            })
        })
        .collect();
    let pairs: Vec<Value> = agreed
        .pairs
        .iter()
        .map(|((one, other), items, found)| {
            json!({"reviewers": [one, other], "items": items, "verdict": numbers(*found)})
        })
        .collect();
    json!({
        "dataset": dataset,
        "method": method(agreed),
        "reviewers": agreed.reviewers,
        "decided": agreed.decided,
        "adjudicated": adjudicated,
        "agreement": kinds,
        "pairs": pairs,
    })
}

fn method(agreed: &Agreed) -> &'static str {
    match agreed.reviewers.len() {
        2 => "cohen",
        _ => "fleiss",
    }
}

fn text(dataset: &str, agreed: &Agreed, adjudicated: usize) -> String {
    let both = agreed.kinds.first();
    let (items, same) = both.map_or((0, 0), |both| (both.items, both.same));
    let mut out = format!(
        "{}: {}; {} decided by all, the same verdict on {same} of them, {adjudicated} adjudicated\n",
        short(dataset),
        agreed.reviewers.join(", "),
        count(items, "item"),
    );
    let _ = writeln!(
        out,
        "{:<14} {:>6} {:>7} {:>9} {:>9}  accepted/edited/rejected by each",
        "items of", "items", "same", "verdict", "in or out"
    );
    for one in &agreed.kinds {
        let _ = writeln!(out, "{}", row(one));
    }
    let method = match method(agreed) {
        "cohen" => "Cohen's kappa",
        _ => "Fleiss' kappa",
    };
    let _ = writeln!(
        out,
        "{method} over the items that all decided: of the verdict (accepted, edited, rejected), and of in or out."
    );
    for ((one, other), items, found) in &agreed.pairs {
        let _ = writeln!(
            out,
            "{one} and {other}, Cohen's, {}: {}",
            count(*items, "item"),
            kappa(*found)
        );
    }
    out
}

fn kappa(found: Option<Agreement>) -> String {
    let kappa = found.and_then(|found| found.kappa);
    kappa.map_or_else(|| "-".to_owned(), |kappa| format!("{kappa:.3}"))
}

fn row(one: &KindAgreement) -> String {
    let same = match one.items {
        0 => "-".to_owned(),
        items => format!("{:.0} %", 100.0 * one.same as f64 / items as f64),
    };
    let given: Vec<String> = one
        .given
        .iter()
        .map(|[accepted, edited, rejected]| format!("{accepted}/{edited}/{rejected}"))
        .collect();
    let why = undefined(one.verdicts).map_or_else(String::new, |why| format!("  ({why})"));
    format!(
        "{:<14} {:>6} {same:>7} {:>9} {:>9}  {}{why}",
        name(one.kind).replace('_', "-"),
        one.items,
        kappa(one.verdicts),
        kappa(one.kept),
        given.join(" ")
    )
}
