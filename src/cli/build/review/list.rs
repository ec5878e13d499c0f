//! `medrgb build review list`.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Set, open, shelf};
use crate::cli::Failure;
use crate::cli::common::{Environment, say, say_json};
use crate::cli::condition::open_dataset;
use crate::data::reviews::ReviewShelf;
use crate::domain::annotation::{Hand, Part};
use crate::domain::review::{ReviewBook, Verdict};
use crate::domain::text::{one_line, short};
use crate::engine::review::listing;

/// Arguments of `medrgb build review list`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    set: Set,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment) -> Result<(), Failure> {
    // The items of a dataset that is named: those decided that it still holds, and how many there are.
    let (name, known) = match &args.set.dataset {
        None => (None, None),
        Some(folder) => {
            let dataset = open_dataset(Some(folder))?;
            let items = listing(&dataset, |_| None).into_iter();
            let items: HashSet<String> = items.map(|(_, found)| found.item.id).collect();
            (Some(dataset.name), Some(items))
        }
    };
    let reviews = open(environment)?;
    let mut names = match &reviews {
        Some(reviews) => reviews.datasets().map_err(Failure::failed)?,
        None => Vec::new(),
    };
    if let Some(name) = &name {
        names.retain(|other| other == name);
    }
    let mut sets = Vec::new();
    for name in names {
        if let Some(reviews) = &reviews {
            sets.push((name.clone(), shelf(reviews, &name)?));
        }
    }
    if args.json {
        let sets: Vec<Value> = sets
            .iter()
            .map(|(name, shelf)| of_set(name, shelf, known.as_ref()))
            .collect();
        return say_json(&json!({ "datasets": sets }));
    }
    if sets.is_empty() {
        return say(
            "nothing has been decided yet; open a benchmark with `medrgb FOLDER` and press E",
        );
    }
    for (name, shelf) in &sets {
        for (hand, book) in &shelf.books {
            say(&line(name, hand, book, known.as_ref()))?;
        }
    }
    Ok(())
}

/// How often each verdict was given to items that are known.
fn counts(book: &ReviewBook, known: Option<&HashSet<String>>) -> [usize; 3] {
    let mut counts = [0; Verdict::NAMES.len()];
    for (item, decision) in book.decisions() {
        if known.is_none_or(|known| known.contains(item))
            && let Some(verdict) = &decision.verdict
        {
            counts[verdict.place()] += 1;
        }
    }
    counts
}

fn line(name: &str, hand: &Hand, book: &ReviewBook, known: Option<&HashSet<String>>) -> String {
    let [accepted, edited, rejected] = counts(book, known);
    let decided = accepted + edited + rejected;
    let of = known.map_or_else(String::new, |known| format!(" of {}", known.len()));
    let what = match hand.part {
        Part::Annotator => "decided",
        Part::Adjudicator => "adjudicated",
    };
    one_line(&format!(
        "{}: {decided}{of} {what} by {}: {accepted} accepted, {edited} edited, {rejected} rejected",
        short(name),
        hand.annotator
    ))
}

fn of_set(name: &str, shelf: &ReviewShelf, known: Option<&HashSet<String>>) -> Value {
    let hands: Vec<Value> = shelf
        .books
        .iter()
        .map(|(hand, book)| {
            let [accepted, edited, rejected] = counts(book, known);
            let decided = accepted + edited + rejected;
            json!({
                "reviewer": hand.annotator,
                "kind": match hand.part { Part::Annotator => "review", Part::Adjudicator => "adjudication" },
                "accepted": accepted, "edited": edited, "rejected": rejected,
                "undecided": known.map(|known| known.len().saturating_sub(decided)),
            })
        })
        .collect();
    json!({ "dataset": name, "items": known.map(HashSet::len), "reviewers": hands })
}
