//! `medrgb annotate import`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json};
use crate::cli::rows::read_rows;
use crate::data::annotations::{Annotations, Shelf, beside, read_row};
use crate::data::store::{Store, Which};
use crate::domain::annotation::{Act, Annotation, Change, Event, Hand};
use crate::domain::run;
use crate::domain::text::{clean, count, short};
use crate::engine::models::store_file;

/// Problems that are written out.
const PROBLEMS_SHOWN: usize = 5;

/// Arguments of `medrgb annotate import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file that `medrgb annotate export` has written (jsonl, may be packed with gzip)
    pub file: PathBuf,
    /// Put all of them under this run, where it has another name here
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Where the same person says something else of a reply here, take the file's word (it can be undone)
    #[arg(long)]
    pub replace: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A row of the file, ready to be taken in.
struct Incoming {
    run: String,
    reply: String,
    hand: Hand,
    annotation: Annotation,
}

#[derive(Default)]
struct Tally {
    imported: usize,
    held: usize,
    kept: usize,
    orphans: usize,
    problems: Vec<String>,
}

pub(super) fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let mut tally = Tally::default();
    let incoming = read_rows(
        &args.file,
        |line| incoming(line, args.run.as_deref()),
        &mut tally.problems,
    )?;
    if incoming.is_empty() {
        return Err(Failure::Failed(match tally.problems.first() {
            Some(first) => format!(
                "{} holds no annotation that can be read; {first}",
                args.file.display()
            ),
            None => format!("{} holds no annotation", args.file.display()),
        }));
    }
    let store_file = store_file(&environment.paths);
    let annotations = Annotations::open(&beside(&store_file)).map_err(Failure::failed)?;
    take_in(&annotations, &incoming, args.replace, &mut tally)?;
    tally.orphans = orphans(&store_file, &incoming)?;
    for problem in tally.problems.iter().take(PROBLEMS_SHOWN) {
        note(&format!("note: {}", clean(problem)));
    }
    if tally.orphans > 0 {
        note(&format!(
            "note: the store holds no reply for {}; import its run too (`medrgb runs import`)",
            count(tally.orphans, "annotation")
        ));
    }
    if tally.kept > 0 {
        note(&format!(
            "note: {} differ from what the same person says here, which was kept; --replace takes the file's",
            count(tally.kept, "annotation")
        ));
    }
    let Tally {
        imported,
        held,
        kept,
        orphans,
        problems,
    } = tally;
    if args.json {
        return say_json(&json!({
            "imported": imported, "already_there": held, "kept": kept,
            "without_reply": orphans, "unreadable": problems.len(),
        }));
    }
    say(&format!(
        "{} imported, {held} already there, {kept} kept as they are here, {} can't be read",
        count(imported, "annotation"),
        problems.len()
    ))
}

fn incoming(line: &str, run: Option<&str>) -> Result<Incoming, String> {
    let row = read_row(line)?;
    let (named, reply) = (row.run.clone(), row.reply_id.clone());
    let (hand, annotation) = row.parts()?;
    let run = run.map_or(named, str::to_owned);
    if let Some(fault) = run::fault(&run) {
        return Err(format!(
            "\"{}\" can't be the name of a run: {fault} (--run RUN puts all of them under another)",
            short(&run)
        ));
    }
    Ok(Incoming {
        run,
        reply,
        hand,
        annotation,
    })
}

fn take_in(
    annotations: &Annotations,
    incoming: &[Incoming],
    replace: bool,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let mut shelves: HashMap<&str, Shelf> = HashMap::new();
    for row in incoming {
        if !shelves.contains_key(row.run.as_str()) {
            let shelf = annotations.of_run(&row.run).map_err(Failure::failed)?;
            shelves.insert(&row.run, shelf);
        }
        let Some(shelf) = shelves.get_mut(row.run.as_str()) else {
            continue;
        };
        let book = shelf.books.entry(row.hand.clone()).or_default();
        match book.get(&row.reply) {
            Some(held) if *held == row.annotation => tally.held += 1,
            Some(held) if !held.is_blank() && !replace => tally.kept += 1,
            _ => {
                let event = Event {
                    at: String::new(),
                    taxonomy: row.annotation.taxonomy.clone(),
                    act: Act::Change {
                        reply: row.reply.clone(),
                        question_id: row.annotation.question_id.clone(),
                        change: Change::Put(Box::new(row.annotation.clone())),
                    },
                };
                annotations
                    .add(&row.run, &row.hand, &event)
                    .map_err(Failure::failed)?;
                book.apply(&event);
                tally.imported += 1;
            }
        }
    }
    Ok(())
}

/// Annotations whose reply the store does not hold.
fn orphans(store_file: &Path, incoming: &[Incoming]) -> Result<usize, Failure> {
    if !store_file.exists() {
        return Ok(incoming.len());
    }
    let store = Store::open_for_reading(store_file).map_err(Failure::failed)?;
    let mut runs: Vec<&str> = incoming.iter().map(|row| row.run.as_str()).collect();
    runs.sort_unstable();
    runs.dedup();
    let mut orphans = 0;
    for run in runs {
        let (briefs, _) = store
            .briefs(Which::Run(run), false)
            .map_err(Failure::failed)?;
        let known: std::collections::HashSet<&str> =
            briefs.iter().map(|brief| brief.reply_id.as_str()).collect();
        orphans += incoming
            .iter()
            .filter(|row| row.run == run && !known.contains(row.reply.as_str()))
            .count();
    }
    Ok(orphans)
}
