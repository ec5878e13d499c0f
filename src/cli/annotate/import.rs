//! `medrgb annotate import`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::Failure;
use crate::cli::annotate::{TaxonomyFlag, taxonomy};
use crate::cli::common::{Environment, note, say, say_json};
use crate::cli::rows::read_rows;
use crate::cli::taking::{self, Standing, Tally};
use crate::data::annotations::{Annotations, beside, read_row};
use crate::data::store::{Identify, Store, StoreError, Which};
use crate::domain::annotation::{Act, Annotation, Book, Change, Event, Hand, Label, Taxonomy};
use crate::domain::nearest::hint;
use crate::domain::run;
use crate::domain::text::{count, short, visible};
use crate::engine::models::store_file;

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
    /// The taxonomy with which labels are checked that were given with it.
    #[command(flatten)]
    pub taxonomy: TaxonomyFlag,
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

impl taking::Incoming for Incoming {
    type Journal = Annotations;
    type Book = Book;

    fn subject(&self) -> &str {
        &self.run
    }

    fn hand(&self) -> &Hand {
        &self.hand
    }

    fn books(annotations: &Annotations, run: &str) -> Result<BTreeMap<Hand, Book>, StoreError> {
        Ok(annotations.of_run(run)?.books)
    }

    fn standing(&self, book: &Book) -> Standing {
        match book.get(&self.reply) {
            Some(held) if *held == self.annotation => Standing::Held,
            Some(held) if !held.is_blank() => Standing::Differs,
            _ => Standing::New,
        }
    }

    fn put(&self, annotations: &Annotations, book: &mut Book) -> Result<(), StoreError> {
        let event = Event {
            at: String::new(),
            taxonomy: self.annotation.taxonomy.clone(),
            act: Act::Change {
                reply: self.reply.clone(),
                question_id: self.annotation.question_id.clone(),
                change: Change::Put(Box::new(self.annotation.clone())),
            },
        };
        annotations.add(&self.run, &self.hand, &event)?;
        book.apply(&event);
        Ok(())
    }
}

pub(super) fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let mut tally = Tally::default();
    let taxonomies = [
        taxonomy(args.taxonomy.taxonomy.as_deref(), &environment.config)?,
        Taxonomy::default(),
    ];
    let incoming = read_rows(
        &args.file,
        |line| incoming(line, args.run.as_deref(), &taxonomies),
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
    tally.take_in(&annotations, &incoming, args.replace)?;
    let orphans = orphans(&store_file, &incoming)?;
    tally.note_problems();
    if orphans > 0 {
        note(&format!(
            "note: the store holds no reply for {}; import its run too (`medrgb runs import`)",
            count(orphans, "annotation")
        ));
    }
    tally.note_kept("annotation", "says");
    if args.json {
        return say_json(&json!({
            "imported": tally.imported, "already_there": tally.held, "kept": tally.kept,
            "without_reply": orphans, "unreadable": tally.problems.len(),
        }));
    }
    say(&tally.sentence("annotation"))
}

fn incoming(line: &str, run: Option<&str>, taxonomies: &[Taxonomy]) -> Result<Incoming, String> {
    let row = read_row(line)?;
    let (named, reply) = (row.run.clone(), row.reply_id.clone());
    let (hand, annotation) = row.parts()?;
    known_labels(&annotation, taxonomies)?;
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

/// Checks labels against the taxonomy that the row names, where it is at hand; of another only their form is known.
fn known_labels(annotation: &Annotation, taxonomies: &[Taxonomy]) -> Result<(), String> {
    let mut known = taxonomies.iter();
    let Some(taxonomy) = known.find(|one| one.stamp() == annotation.taxonomy) else {
        let wrong = annotation.labels.iter().find(|id| !Label::is_id(id));
        return match wrong {
            Some(id) => Err(format!(
                "the label \"{}\" is none; labels are lower-case letters, digits and _, such as missed_evidence",
                visible(id)
            )),
            None => Ok(()),
        };
    };
    let mut labels = annotation.labels.iter();
    match labels.find(|id| taxonomy.label(id).is_none()) {
        Some(id) => {
            let valid: Vec<&str> = taxonomy.labels.iter().map(|one| one.id.as_str()).collect();
            Err(format!(
                "the taxonomy {} has no label \"{}\"; {}",
                short(&annotation.taxonomy),
                visible(id),
                hint(id, &valid)
            ))
        }
        None => Ok(()),
    }
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
            .briefs(Which::Run(run), false, Identify::All)
            .map_err(Failure::failed)?;
        let ids = briefs.iter().filter_map(|brief| brief.reply_id.as_deref());
        let known: std::collections::HashSet<&str> = ids.collect();
        orphans += incoming
            .iter()
            .filter(|row| row.run == run && !known.contains(row.reply.as_str()))
            .count();
    }
    Ok(orphans)
}
