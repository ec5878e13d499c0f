//! `medrgb runs export`.

use std::io::Write;
use std::path::Path;

use super::open_run;
use crate::cli::Failure;
use crate::cli::common::note;
use crate::data::output;
use crate::data::recorded::{Exported, export_line};
use crate::data::store::logbook;
use crate::domain::text::{count, short};

pub(super) fn export(path: &Path, run: &str, out: &Path) -> Result<(), Failure> {
    output::check(out).map_err(Failure::failed)?;
    let (store, _) = open_run(path, run)?;
    let ids = store.ids_of_run(run).map_err(Failure::failed)?;
    let mut sweeps = logbook(path, run).map_err(Failure::failed)?;
    let (mut written, mut judged) = (0usize, 0usize);
    output::write(out, |file| {
        for id in ids {
            // One by one, so that a large run needs no memory.
            let record = store.get(id).map_err(|error| error.to_string())?;
            if let Some(record) = record {
                let judgements = store.judgements_of_reply(id);
                let exported = Exported {
                    record,
                    judgements: judgements.map_err(|error| error.to_string())?,
                    sweeps: std::mem::take(&mut sweeps),
                };
                judged += exported.judgements.len();
                let line = export_line(&exported)?;
                writeln!(file, "{line}").map_err(|error| output::reason(&error))?;
                written += 1;
            }
        }
        Ok(())
    })
    .map_err(Failure::failed)?;
    let judgements = match judged {
        0 => String::new(),
        judged => format!(" with {}", count(judged, "judgement")),
    };
    note(&format!(
        "wrote {}{judgements} of the run \"{}\" to {}",
        count(written, "record"),
        short(run),
        out.display()
    ));
    Ok(())
}
