//! `medrgb annotate export`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::cli::Failure;
use crate::cli::annotate::shelves;
use crate::cli::common::{Environment, note};
use crate::cli::rows::RowsOut;
use crate::data::annotations::{
    AnnotationRow, ExportRow, Shelf, facts, reply_id, write_csv, write_jsonl,
};
use crate::data::export::Format;
use crate::data::store::Store;
use crate::domain::text::{count, short};
use crate::engine::models::store_file;

/// Arguments of `medrgb annotate export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the run (several may be given); without it all that have annotations
    #[arg(long, value_name = "RUN")]
    pub run: Vec<String>,
    /// Only what this person said
    #[arg(long, value_name = "NAME")]
    pub annotator: Option<String>,
    /// Leave out what was begun but not finished
    #[arg(long)]
    pub done: bool,
    /// Where it goes.
    #[command(flatten)]
    pub out: RowsOut,
}

pub(super) fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let format = args.out.format();
    args.out.check()?;
    let shelves = shelves(&args.run, environment)?;
    let mut rows = Vec::new();
    for (run, shelf) in &shelves {
        rows.extend(of_run(run, shelf, &args));
    }
    if rows.is_empty() {
        return Err(Failure::Failed(match &args.annotator {
            Some(name) => format!("\"{}\" has annotated nothing there", short(name)),
            None => "there is no annotation to export".to_owned(),
        }));
    }
    let orphans = join(&mut rows, environment)?;
    // In the order of the run, the annotators of a reply side by side.
    rows.sort_by_cached_key(|row| {
        let record = row.reply.get("record").and_then(Value::as_i64);
        let own = &row.annotation;
        (
            own.run.clone(),
            record.unwrap_or(i64::MAX),
            own.reply_id.clone(),
            own.kind != "annotation",
            own.annotator.clone(),
        )
    });
    if orphans > 0 {
        note(&format!(
            "note: the store no longer holds the replies of {}; they are written without them",
            count(orphans, "annotation")
        ));
    }
    write(&args, format, &rows, orphans)
}

fn of_run(run: &str, shelf: &Shelf, args: &Args) -> Vec<ExportRow> {
    let hands = shelf.books.iter().filter(|(hand, _)| {
        args.annotator
            .as_ref()
            .is_none_or(|name| *name == hand.annotator)
    });
    hands
        .flat_map(|(hand, book)| {
            book.annotations()
                .map(move |(reply, one)| (hand, reply, one))
        })
        .filter(|(_, _, annotation)| annotation.done || !args.done)
        .map(|(hand, reply, annotation)| ExportRow {
            annotation: AnnotationRow::new(run, reply, hand, annotation),
            reply: Map::new(),
        })
        .collect()
}

/// Puts what the store knows of the replies into the rows, and says how many it does not hold.
fn join(rows: &mut [ExportRow], environment: &Environment) -> Result<usize, Failure> {
    let file = store_file(&environment.paths);
    let mut known: HashMap<String, Map<String, Value>> = HashMap::new();
    if file.exists() {
        let store = Store::open_for_reading(&file).map_err(Failure::failed)?;
        let wanted: HashSet<&str> = rows
            .iter()
            .map(|row| row.annotation.reply_id.as_str())
            .collect();
        let runs: HashSet<&str> = rows.iter().map(|row| row.annotation.run.as_str()).collect();
        for run in runs {
            let mut after = 0;
            loop {
                let page = store.page_of_run(run, after).map_err(Failure::failed)?;
                for record in &page.records {
                    let id = reply_id(record);
                    if wanted.contains(id.as_str()) {
                        known.insert(id, facts(record));
                    }
                }
                let Some(last) = page.last else { break };
                after = last;
            }
        }
    }
    let mut orphans = 0;
    for row in rows {
        match known.get(&row.annotation.reply_id) {
            Some(facts) => row.reply.clone_from(facts),
            None => orphans += 1,
        }
    }
    Ok(orphans)
}

fn write(args: &Args, format: Format, rows: &[ExportRow], orphans: usize) -> Result<(), Failure> {
    let mut text = Vec::new();
    match format {
        Format::Csv => write_csv(rows, &mut text),
        _ => write_jsonl(rows, &mut text),
    }
    .map_err(Failure::failed)?;
    args.out.write(
        format,
        &text,
        &count(rows.len(), "annotation"),
        json!({"annotations": rows.len(), "without_reply": orphans}),
    )
}
