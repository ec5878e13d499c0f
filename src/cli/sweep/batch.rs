//! `medrgb sweep --batch-out` and `--batch-in`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::planned;
use super::prepare::{Part, Prepared};
use crate::cli::Failure;
use crate::cli::common::{note, say, say_json};
use crate::data::store::{RunLock, Store};
use crate::domain::text::{clean, count};
use crate::engine::sweep::{Ended, PartEnd, Progress, read_batch, summarise, write_batch};

/// Problems that are shown one by one.
const PROBLEMS_SHOWN: usize = 5;

/// Writes the requests of all sweeps.
pub(super) fn write(
    folder: &Path,
    sweeps: Vec<Prepared>,
    store: Option<&Store>,
    json: bool,
) -> Result<(), Failure> {
    let parts = planned(sweeps, store)?;
    let several = parts.len() > 1;
    let mut files = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        // A batch goes to one model with one sampling.
        let folder = match several {
            true => folder.join(format!("part-{:03}", at + 1)),
            false => folder.to_path_buf(),
        };
        let written =
            write_batch(&part.sweep, &part.plan.todo, &folder).map_err(Failure::Failed)?;
        files.extend(written);
    }
    if files.is_empty() {
        return Err(Failure::Failed(
            "there is nothing to ask: the run holds a reply to every instance".to_owned(),
        ));
    }
    if json {
        return say_json(&json!({"files": files}));
    }
    for file in &files {
        say(&format!(
            "{}: {}, {} bytes",
            clean(&file.path.display().to_string()),
            count(file.requests, "request"),
            file.bytes
        ))?;
    }
    note(
        "upload these files as batches; the same command with --batch-in instead of --batch-out stores the answers",
    );
    Ok(())
}

/// Stores the answers; each file may hold answers of all parts.
pub(super) fn read(
    files: &[PathBuf],
    parts: &[Part],
    lock: &mut RunLock,
    store: &Store,
) -> Result<Vec<PartEnd>, Failure> {
    let mut done = Vec::new();
    let mut last_error = None;
    for part in parts {
        lock.log(&part.sweep.log_entry()).map_err(Failure::failed)?;
        let read = read_batch(&part.sweep, &part.plan.all, &part.plan.todo, files, store);
        let read = match read {
            Ok(read) => read,
            // Answers of one part are unknown to the others.
            Err(why) if parts.len() > 1 => {
                last_error = Some(why);
                Default::default()
            }
            Err(why) => return Err(Failure::Failed(why)),
        };
        for problem in read.problems.iter().take(PROBLEMS_SHOWN) {
            note(&format!("note: {}", clean(problem)));
        }
        note(&format!(
            "{}: {} stored, {} failed, {} there already, {} not of this sweep, {} unreadable",
            part.title(),
            count(read.replies + read.broken, "reply"),
            read.failures,
            read.already_there,
            read.unknown,
            read.problem_count
        ));
        let summary = summarise(&part.sweep, &part.plan, store).map_err(Failure::failed)?;
        let finished = read.replies + read.broken + read.failures;
        done.push(PartEnd {
            reused: Default::default(),
            ended: Ended {
                progress: Progress {
                    total: finished,
                    finished,
                    replies: read.replies,
                    broken: read.broken,
                    elapsed: Duration::ZERO,
                    ..Progress::default()
                },
                stopped: None,
            },
            summary,
        });
    }
    match last_error {
        Some(why) if done.iter().all(|one| one.ended.progress.finished == 0) => {
            Err(Failure::Failed(why))
        }
        _ => Ok(done),
    }
}
