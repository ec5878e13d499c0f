//! `medrgb build review import`.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::json;

use super::Set;
use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json};
use crate::cli::rows::read_rows;
use crate::data::dataset::Dataset;
use crate::data::reviews::{ReviewShelf, Reviews, beside, read_row};
use crate::domain::annotation::Hand;
use crate::domain::review::{Act, Change, Decision, Event};
use crate::domain::text::{clean, count};
use crate::engine::models::store_file;

/// Problems that are written out.
const PROBLEMS_SHOWN: usize = 5;

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

#[derive(Default)]
struct Tally {
    imported: usize,
    held: usize,
    kept: usize,
    problems: Vec<String>,
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
    take_in(&reviews, &incoming, args.replace, &mut tally)?;
    for problem in tally.problems.iter().take(PROBLEMS_SHOWN) {
        note(&format!("note: {}", clean(problem)));
    }
    if tally.kept > 0 {
        note(&format!(
            "note: {} differ from what the same person decided here, which was kept; --replace takes the file's",
            count(tally.kept, "decision")
        ));
    }
    let (imported, held, kept) = (tally.imported, tally.held, tally.kept);
    let unreadable = tally.problems.len();
    match args.json {
        true => say_json(&json!({
            "imported": imported, "already_there": held, "kept": kept, "unreadable": unreadable,
        })),
        false => say(&format!(
            "{} imported, {held} already there, {kept} kept as they are here, {unreadable} can't be read",
            count(imported, "decision")
        )),
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

fn take_in(
    reviews: &Reviews,
    incoming: &[Incoming],
    replace: bool,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let mut shelves: HashMap<&str, ReviewShelf> = HashMap::new();
    for row in incoming {
        if !shelves.contains_key(row.dataset.as_str()) {
            let shelf = reviews.of_dataset(&row.dataset).map_err(Failure::failed)?;
            shelves.insert(&row.dataset, shelf);
        }
        let Some(shelf) = shelves.get_mut(row.dataset.as_str()) else {
            continue;
        };
        let book = shelf.books.entry(row.hand.clone()).or_default();
        match book.get(&row.item) {
            Some(held) if held.says_the_same(&row.decision) => tally.held += 1,
            Some(held) if !held.is_blank() && !replace => tally.kept += 1,
            _ => {
                let event = Event {
                    at: String::new(),
                    act: Act::Change {
                        item: row.item.clone(),
                        kind: row.decision.kind,
                        question_id: row.decision.question_id.clone(),
                        doc_id: row.decision.doc_id.clone(),
                        change: Change::Put(Box::new(row.decision.clone())),
                    },
                };
                reviews
                    .add(&row.dataset, &row.hand, &event)
                    .map_err(Failure::failed)?;
                book.apply(&event);
                tally.imported += 1;
            }
        }
    }
    Ok(())
}
