//! `medrgb build review import`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use super::Set;
use crate::cli::Failure;
use crate::cli::common::{Environment, say, say_json};
use crate::cli::rows::read_rows;
use crate::cli::taking::{self, Standing, Tally};
use crate::data::dataset::Dataset;
use crate::data::reviews::{Reviews, beside, read_row};
use crate::data::store::StoreError;
use crate::domain::annotation::Hand;
use crate::domain::review::{Act, Change, Decision, Event, ReviewBook};
use crate::engine::models::store_file;

/// Arguments of `medrgb build review import`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A file that `medrgb build review export` has written (jsonl, may be packed with gzip)
    file: PathBuf,
    #[command(flatten)]
    set: Set,
    /// Where the same person decided something else about an item here, take the file's word (it can be undone)
    #[arg(long)]
    replace: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A row of the file, ready to be taken in.
struct Incoming {
    dataset: String,
    item: String,
    hand: Hand,
    decision: Decision,
}

impl taking::Incoming for Incoming {
    type Journal = Reviews;
    type Book = ReviewBook;

    fn subject(&self) -> &str {
        &self.dataset
    }

    fn hand(&self) -> &Hand {
        &self.hand
    }

    fn books(reviews: &Reviews, dataset: &str) -> Result<BTreeMap<Hand, ReviewBook>, StoreError> {
        Ok(reviews.of_dataset(dataset)?.books)
    }

    fn standing(&self, book: &ReviewBook) -> Standing {
        match book.get(&self.item) {
            Some(held) if held.says_the_same(&self.decision) => Standing::Held,
            Some(held) if !held.is_blank() => Standing::Differs,
            _ => Standing::New,
        }
    }

    fn put(&self, reviews: &Reviews, book: &mut ReviewBook) -> Result<(), StoreError> {
        let decision = &self.decision;
        let event = Event {
            at: String::new(),
            act: Act::Change {
                item: self.item.clone(),
                kind: decision.kind,
                question_id: decision.question_id.clone(),
                doc_id: decision.doc_id.clone(),
                change: Change::Put(Box::new(decision.clone())),
            },
        };
        reviews.add(&self.dataset, &self.hand, &event)?;
        book.apply(&event);
        Ok(())
    }
}

pub(super) fn run(args: &Args, environment: &Environment) -> Result<(), Failure> {
    let under = match &args.set.dataset {
        Some(folder) => Some(Dataset::open(folder).map_err(Failure::failed)?.name),
        None => None,
    };
    let mut tally = Tally::default();
    let incoming = read_rows(
        &args.file,
        |line| incoming(line, under.as_deref()),
        &mut tally.problems,
    )?;
    if incoming.is_empty() {
        let first = tally.problems.first();
        let why = first.map_or_else(String::new, |first| format!(" that can be read; {first}"));
        return Err(Failure::Failed(format!(
            "{} holds no decision{why}",
            args.file.display()
        )));
    }
    let file = beside(&store_file(&environment.paths));
    let reviews = Reviews::open(&file).map_err(Failure::failed)?;
    tally.take_in(&reviews, &incoming, args.replace)?;
    tally.note_problems();
    tally.note_kept("decision", "decided");
    match args.json {
        true => say_json(&json!({
            "imported": tally.imported, "already_there": tally.held, "kept": tally.kept,
            "unreadable": tally.problems.len(),
        })),
        false => say(&tally.sentence("decision")),
    }
}

fn incoming(line: &str, under: Option<&str>) -> Result<Incoming, String> {
    let row = read_row(line)?;
    let (named, item) = (row.dataset().to_owned(), row.item().to_owned());
    let (hand, decision) = row.parts()?;
    Ok(Incoming {
        dataset: under.map_or(named, str::to_owned),
        item,
        hand,
        decision,
    })
}
