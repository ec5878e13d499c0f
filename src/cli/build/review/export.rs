//! `medrgb build review export`.

use serde_json::json;

use super::{Set, reviewed};
use crate::cli::Failure;
use crate::cli::common::{Environment, note};
use crate::cli::rows::RowsOut;
use crate::data::export::Format;
use crate::data::reviews::{write_csv, write_jsonl};
use crate::domain::text::{count, short};
use crate::engine::review::rows;

/// Arguments of `medrgb build review export`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    set: Set,
    /// Only what this person decided
    #[arg(long, value_name = "NAME")]
    reviewer: Option<String>,
    #[command(flatten)]
    out: RowsOut,
}

pub(super) fn run(args: &Args, environment: &Environment) -> Result<(), Failure> {
    let format = args.out.format();
    args.out.check()?;
    let (dataset, shelf) = reviewed(&args.set, environment)?;
    let (rows, gone) = rows(&dataset, &shelf, args.reviewer.as_deref());
    if rows.is_empty() {
        let name = args.reviewer.as_deref().unwrap_or_default();
        return Err(Failure::Failed(format!(
            "\"{}\" has decided nothing there",
            short(name)
        )));
    }
    if gone > 0 {
        note(&format!(
            "note: the dataset no longer holds the items of {}; they are written without them",
            count(gone, "decision")
        ));
    }
    let mut text = Vec::new();
    match format {
        Format::Csv => write_csv(&rows, &mut text),
        _ => write_jsonl(&rows, &mut text),
    }
    .map_err(Failure::failed)?;
    args.out.write(
        format,
        &text,
        &count(rows.len(), "decision"),
        json!({"decisions": rows.len(), "without_item": gone}),
    )
}
