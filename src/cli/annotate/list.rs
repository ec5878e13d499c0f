//! `medrgb annotate list`.

use serde_json::{Value, json};

use crate::cli::Failure;
use crate::cli::annotate::{open, shelves};
use crate::cli::common::{Environment, say, say_json};
use crate::data::annotations::Shelf;
use crate::domain::annotation::{Book, Hand, Part};
use crate::domain::text::{one_line, short};

pub(super) fn run(json: bool, environment: &Environment) -> Result<(), Failure> {
    let none = match open(environment)? {
        Some(annotations) => annotations.runs().map_err(Failure::failed)?.is_empty(),
        None => true,
    };
    if none {
        return match json {
            true => say_json(&json!({ "runs": [] })),
            false => say(
                "nothing has been annotated yet; open the explorer with `medrgb`, press l and choose a run",
            ),
        };
    }
    let shelves = shelves(&[], environment)?;
    if json {
        let runs: Vec<Value> = shelves
            .iter()
            .map(|(run, shelf)| of_run(run, shelf))
            .collect();
        return say_json(&json!({ "runs": runs }));
    }
    for (run, shelf) in &shelves {
        for (hand, book) in &shelf.books {
            say(&line(run, hand, book))?;
        }
    }
    Ok(())
}

/// Finished, begun, unsure.
fn counts(book: &Book) -> (usize, usize, usize) {
    let all = || book.annotations().map(|(_, annotation)| annotation);
    let done = all().filter(|annotation| annotation.done).count();
    let unsure = all().filter(|annotation| annotation.unsure).count();
    (done, all().count() - done, unsure)
}

fn line(run: &str, hand: &Hand, book: &Book) -> String {
    let (done, begun, unsure) = counts(book);
    let what = match hand.part {
        Part::Annotator => "annotated",
        Part::Adjudicator => "adjudicated",
    };
    one_line(&format!(
        "{}: {done} {what} by {}, {begun} begun, {unsure} unsure",
        short(run),
        hand.annotator
    ))
}

fn of_run(run: &str, shelf: &Shelf) -> Value {
    let hands: Vec<Value> = shelf
        .books
        .iter()
        .map(|(hand, book)| {
            let (done, begun, unsure) = counts(book);
            json!({
                "annotator": hand.annotator, "kind": hand.part.name(),
                "done": done, "begun": begun, "unsure": unsure,
            })
        })
        .collect();
    json!({ "run": run, "annotators": hands })
}
