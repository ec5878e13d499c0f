//! `medrgb runs import`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cli::Failure;
use crate::cli::common::{note, say, say_json};
use crate::data::recorded::{Exported, read_exported};
use crate::data::store::{RunLock, Store, StoreError};
use crate::domain::run;
use crate::domain::text::{clean, count, short};
use crate::source::{self, Line, Lines};

/// Problems of an imported file that are written out.
const PROBLEMS_SHOWN: usize = 5;

/// What became of the records of a file.
#[derive(Debug, Default)]
struct Imported {
    records: Vec<Exported>,
    problems: Vec<String>,
}

pub(super) fn import(
    path: &Path,
    file: &Path,
    run: Option<&str>,
    json: bool,
) -> Result<(), Failure> {
    let mut imported = read_records(file, run)?;
    if imported.records.is_empty() {
        return Err(Failure::Failed(match imported.problems.first() {
            Some(first) => format!(
                "{} holds no record that can be read; {first}",
                file.display()
            ),
            None => format!("{} holds no record", file.display()),
        }));
    }
    let store = Store::open(path).map_err(Failure::failed)?;
    let mut runs: Vec<String> = imported
        .records
        .iter()
        .map(|one| one.record.run.clone())
        .collect();
    runs.sort_unstable();
    runs.dedup();
    let mut locks = runs
        .iter()
        .map(|run| RunLock::take(path, run))
        .collect::<Result<Vec<_>, StoreError>>()
        .map_err(Failure::failed)?;
    let (mut taken, mut held) = (Vec::new(), 0);
    let mut lines = HashSet::new();
    let mut sweeps: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for one in std::mem::take(&mut imported.records) {
        if !one.sweeps.is_empty() {
            let of_run = sweeps.entry(one.record.run.clone()).or_default();
            of_run.extend(one.sweeps);
        }
        let line = serde_json::to_string(&one.record).map_err(Failure::failed)?;
        if !lines.insert(Sha256::digest(line)) {
            held += 1;
            continue;
        }
        let known = store.holds(&one.record).map_err(Failure::failed)?;
        held += usize::from(known.is_some());
        taken.push((one.record, known, one.judgements));
    }
    let new = taken.iter().filter(|(_, known, _)| known.is_none()).count();
    let judgements = store.take_in(&taken).map_err(Failure::failed)?;
    for (run, lock) in runs.iter().zip(&mut locks) {
        if let Some(entries) = sweeps.get(run) {
            lock.log_missing(path, run, entries)
                .map_err(Failure::failed)?;
        }
    }
    for problem in imported.problems.iter().take(PROBLEMS_SHOWN) {
        note(&format!("note: {}", clean(problem)));
    }
    if json {
        return say_json(&json!({
            "imported": new, "already_there": held, "unreadable": imported.problems.len(),
            "judgements": judgements,
        }));
    }
    let judged = match judgements {
        0 => String::new(),
        judgements => format!(" with {}", count(judgements, "judgement")),
    };
    say(&format!(
        "{} imported{judged}, {held} already there, {} can't be read",
        count(new, "record"),
        imported.problems.len()
    ))
}

/// Reads a file of records: JSON lines, or one object over several lines. A bad line is left out and said.
fn read_records(path: &Path, run: Option<&str>) -> Result<Imported, Failure> {
    let failed = |error: std::io::Error| {
        Failure::Failed(format!("{} can't be read: {error}", path.display()))
    };
    let mut imported = Imported::default();
    let (reader, _) = source::open(path).map_err(failed)?;
    let mut lines = Lines::new(reader);
    while let Some((number, line)) = lines.next_line().map_err(failed)? {
        let read = match line {
            Line::Bad(why) => Err(why),
            // A reply that was saved beside the store: one object over all lines.
            Line::Text("{") if number == 1 => {
                let (reader, _) = source::open(path).map_err(failed)?;
                let text = source::whole_text(reader).map_err(failed)?;
                take_record(
                    &mut imported,
                    path,
                    number,
                    read_exported(text.as_bytes()),
                    run,
                );
                return Ok(imported);
            }
            Line::Text(text) => read_exported(text.as_bytes()),
        };
        take_record(&mut imported, path, number, read, run);
    }
    Ok(imported)
}

/// Takes a record that was read from a line, under another run's name where one is given.
fn take_record(
    imported: &mut Imported,
    path: &Path,
    number: usize,
    read: Result<Exported, String>,
    run: Option<&str>,
) {
    let read = read.and_then(|mut exported| {
        let record = &mut exported.record;
        if let Some(run) = run {
            run.clone_into(&mut record.run);
        }
        match run::fault(&record.run) {
            None => Ok(exported),
            Some(fault) => Err(format!(
                "\"{}\" can't be the name of a run: {fault} (--run NAME gives all records another)",
                short(&record.run)
            )),
        }
    });
    match read {
        Ok(exported) => imported.records.push(exported),
        Err(why) => imported
            .problems
            .push(format!("{}, line {number}: {why}", path.display())),
    }
}
