//! Where readers hand their questions and replies to.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::data::clock::now;
use crate::data::dataset::Dataset;
use crate::data::import::entry::Entry;
use crate::data::import::folder::{FolderWriter, Output, Written};
use crate::data::import::mapping::Mapping;
use crate::data::import::replies::{GivenReply, Known, Run, record};
use crate::data::import::{
    ImportError, Kind, PROBLEMS_LISTED, Progress, Report, Request, RunReport, SetReport, kinds,
    stem,
};
use crate::data::store::{Bulk, ReplyRecord};
use crate::domain::question::Question;
use crate::domain::run;
use crate::domain::text::{count, hex, short};
use crate::source::{self, Line, Lines, Position};

/// How many records pass between two looks at the clock and the keyboard.
const RECORDS_PER_LOOK: usize = 32;

/// Takes what readers find: writes folders, stores runs, counts problems.
pub(super) struct Sink<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) kind: Kind,
    watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    output: Option<Output>,
    folder: Option<(String, FolderWriter)>,
    run: Option<(Run, RunReport)>,
    store: Option<Bulk>,
    /// Runs whose dataset is the folder that is being written.
    unsettled: Vec<usize>,
    report: Report,
    kept: BTreeSet<String>,
    dropped: BTreeSet<String>,
    bytes: Bytes,
    records: usize,
    /// Questions or replies taken; nothing at all is a failure.
    taken: usize,
    /// Documents of contexts that are no signal documents of their question.
    other_roles: usize,
    /// Replies of which not even the condition is known.
    no_condition: usize,
    /// Replies of which the condition is known, but not the documents.
    no_documents: usize,
    /// Questions whose text is not byte for byte that of the file.
    cleaned: usize,
}

/// What has been read, over all files.
#[derive(Default)]
struct Bytes {
    total: u64,
    before: u64,
    current: u64,
    position: Position,
}

impl<'a> Sink<'a> {
    pub(super) fn new(
        request: &'a Request<'a>,
        kind: Kind,
        watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Sink<'a> {
        Sink {
            request,
            kind,
            watch,
            output: None,
            folder: None,
            run: None,
            store: None,
            unsettled: Vec::new(),
            report: Report {
                kind,
                guessed: request.kind.is_none(),
                sets: Vec::new(),
                runs: Vec::new(),
                mapped: BTreeMap::new(),
                kept: Vec::new(),
                not_mapped: Vec::new(),
                bad: 0,
                problems: Vec::new(),
                notes: Vec::new(),
            },
            kept: BTreeSet::new(),
            dropped: BTreeSet::new(),
            bytes: Bytes::default(),
            records: 0,
            taken: 0,
            other_roles: 0,
            no_condition: 0,
            no_documents: 0,
            cleaned: 0,
        }
    }

    /// Says which files will be read, for the progress.
    pub(super) fn expect_files(&mut self, files: &[PathBuf]) {
        let size = |file: &PathBuf| std::fs::metadata(file).map_or(0, |meta| meta.len());
        self.bytes.total += files.iter().map(size).sum::<u64>();
    }

    /// Opens a file; gzip is unpacked.
    pub(super) fn open(&mut self, path: &Path) -> Result<Box<dyn BufRead>, ImportError> {
        let opened = source::open(path).map_err(|error| {
            ImportError::Failed(format!("{} {}", path.display(), source::why(&error)))
        });
        let (reader, position) = opened?;
        self.begin_file(path, position);
        Ok(reader)
    }

    /// Opens a file to be read line by line.
    pub(super) fn lines(&mut self, path: &Path) -> Result<Lines, ImportError> {
        Ok(Lines::new(self.open(path)?))
    }

    /// The next line of a file with its place in words; `None` at the end.
    pub(super) fn next_line<'l>(
        &mut self,
        lines: &'l mut Lines,
        path: &Path,
    ) -> Result<Option<(String, Line<'l>)>, ImportError> {
        let next = lines.next_line().map_err(|error| {
            ImportError::Failed(format!("{} {}", path.display(), source::why(&error)))
        })?;
        let Some((number, line)) = next else {
            return Ok(None);
        };
        self.look()?;
        Ok(Some((format!("{}, line {number}", path.display()), line)))
    }

    /// Says that the file opened last will be opened again from its beginning.
    pub(super) fn will_reopen(&mut self) {
        self.bytes.current = 0;
        self.bytes.position = Position::default();
    }

    /// Counts a file that is read in another way.
    pub(super) fn begin_file(&mut self, path: &Path, position: Position) {
        self.bytes.before += self.bytes.current;
        self.bytes.current = std::fs::metadata(path).map_or(0, |meta| meta.len());
        self.bytes.position = position;
    }

    /// Says how far it is; stops where the user wants to. Called for every record.
    pub(super) fn look(&mut self) -> Result<(), ImportError> {
        self.records += 1;
        match self.records % RECORDS_PER_LOOK == 1 {
            true => self.look_now(),
            false => Ok(()),
        }
    }

    fn look_now(&mut self) -> Result<(), ImportError> {
        let progress = Progress {
            done: self.bytes.before + self.bytes.position.bytes(),
            total: self.bytes.total,
        };
        match (self.watch)(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ImportError::Stopped),
        }
    }

    /// Counts a bad record and lists it among the first.
    pub(super) fn bad(&mut self, place: &str, fault: &str) {
        self.report.bad += 1;
        if self.report.problems.len() < PROBLEMS_LISTED {
            let end = match fault.ends_with("left out") {
                true => "",
                false => "; left out",
            };
            self.report.problems.push(format!("{place}: {fault}{end}"));
        }
    }

    /// Takes a document that breaks off or is broken in its middle as one bad record: what came before it is
    /// kept. Other errors stay errors.
    pub(super) fn broken(&mut self, path: &Path, error: ImportError) -> Result<(), ImportError> {
        match error {
            ImportError::Broken(why) => {
                self.bad(&path.display().to_string(), &why);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Says something once.
    pub(super) fn note(&mut self, text: &str) {
        if !self.report.notes.iter().any(|note| note == text) {
            self.report.notes.push(text.to_owned());
        }
    }

    /// Keeps for the report which field was taken for what.
    pub(super) fn mapped(&mut self, mapping: &Mapping) {
        for (what, field) in mapping.said() {
            let said = self.report.mapped.entry(what.to_owned()).or_default();
            if said.is_empty() {
                *said = field;
            } else if !said.split(", ").any(|known| known == field) {
                said.push_str(", ");
                said.push_str(&field);
            }
        }
    }

    /// Keeps for the report that a field was not mapped.
    pub(super) fn unmapped(&mut self, field: &str, kept: bool) {
        let list = match kept {
            true => &mut self.kept,
            false => &mut self.dropped,
        };
        if !list.contains(field) {
            list.insert(field.to_owned());
        }
    }

    /// Begins a dataset folder called `name`, in a folder of sets where there are `several`.
    pub(super) fn begin_set(&mut self, name: &str, several: bool) -> Result<(), ImportError> {
        let name = folder_name(name);
        if self.output.is_none() {
            let target = match (&self.request.out, several) {
                (Some(out), _) => out.clone(),
                (None, false) => PathBuf::from(&name),
                (None, true) => PathBuf::from(self.kind.name()),
            };
            self.output = Some(Output::begin(&target, self.request.force)?);
        }
        let name = match several {
            true => self.free_name(&name),
            false => name,
        };
        let Some(output) = &self.output else {
            return Ok(());
        };
        let folder = output.set(several.then_some(name.as_str()))?;
        self.folder = Some((name, folder));
        Ok(())
    }

    /// A name that no other set of this import has.
    fn free_name(&mut self, name: &str) -> String {
        let taken = |name: &str| self.report.sets.iter().any(|set| set.name == name);
        if !taken(name) {
            return name.to_owned();
        }
        let free = (2_usize..)
            .map(|number| format!("{name}-{number}"))
            .find(|free| !taken(free))
            .unwrap_or_default();
        self.note(&format!(
            "there are two sets \"{name}\"; the second is called \"{free}\"",
            name = short(name),
            free = short(&free)
        ));
        free
    }

    /// Takes a question into the dataset folder that is open; without one it is counted only.
    pub(super) fn question(&mut self, place: &str, entry: &mut Entry) -> Result<(), ImportError> {
        for fault in std::mem::take(&mut entry.faults) {
            self.bad(
                &format!("{place}, question \"{}\"", short(&entry.question.id)),
                &fault,
            );
        }
        self.cleaned += usize::from(entry.cleaned);
        let Some((_, folder)) = &mut self.folder else {
            return Ok(());
        };
        self.other_roles += entry.other_roles;
        let own = entry.question.id.clone();
        unique_documents(entry);
        match folder.add(entry, self.run.is_some())? {
            Written::New => {}
            Written::Renamed => {
                let note = format!(
                    "{place}: another question has the id \"{own}\"; this one is called \"{}\"",
                    short(&entry.question.id),
                    own = short(&own)
                );
                self.renamed(&note);
            }
            Written::Repeated if self.run.is_some() => {}
            Written::Repeated => self.bad(
                place,
                &format!(
                    "the same question \"{own}\" stands there already",
                    own = short(&own)
                ),
            ),
        }
        self.taken += 1;
        Ok(())
    }

    /// New names are said like problems, but are none.
    fn renamed(&mut self, text: &str) {
        if self.report.problems.len() < PROBLEMS_LISTED {
            self.report.problems.push(text.to_owned());
        }
    }

    /// Ends the dataset folder; `documents` says whose documents it holds.
    pub(super) fn end_set(&mut self, documents: &str) -> Result<(), ImportError> {
        let Some((name, mut folder)) = self.folder.take() else {
            return Ok(());
        };
        let (counts, shown) = (folder.count_all()?, folder.shown().to_path_buf());
        let manifest = self.manifest(&name, documents);
        let Some(fingerprint) = folder.finish(manifest)? else {
            self.note(&format!(
                "the set {name} holds no question that can be read; it is left out"
            ));
            return Ok(());
        };
        let dataset = crate::data::dataset::name_of(&shown);
        for at in std::mem::take(&mut self.unsettled) {
            if let (Some(store), Some(run)) = (&self.store, self.report.runs.get_mut(at)) {
                store.set_dataset(&run.name, &dataset, &fingerprint)?;
                run.dataset.clone_from(&dataset);
            }
        }
        self.report.sets.push(SetReport {
            name,
            folder: shown,
            counts,
        });
        Ok(())
    }

    fn manifest(&self, name: &str, documents: &str) -> Map<String, Value> {
        let files: Vec<String> = self
            .request
            .paths
            .iter()
            .map(|path| {
                path.file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        let mut manifest = Map::new();
        manifest.insert("documents".to_owned(), json!(documents));
        manifest.insert("name".to_owned(), json!(name));
        manifest.insert(
            "imported".to_owned(),
            json!({
                "kind": self.kind.name(),
                "files": files,
                "at": now(),
                "program": concat!("medrgb ", env!("CARGO_PKG_VERSION")),
            }),
        );
        if !self.report.mapped.is_empty() {
            manifest.insert("mapped".to_owned(), json!(self.report.mapped));
        }
        manifest
    }

    /// Puts the finished folders in their place.
    pub(super) fn place_folders(&mut self) -> Result<(), ImportError> {
        match self.output.take() {
            Some(output) if !self.report.sets.is_empty() => output.finish(),
            _ => Ok(()),
        }
    }

    /// Where the folder that is open is being written.
    pub(super) fn open_folder(&self) -> Option<PathBuf> {
        self.folder
            .as_ref()
            .map(|(_, folder)| folder.folder().to_path_buf())
    }

    /// Begins a run on a dataset that is in memory.
    pub(super) fn begin_run_on(
        &mut self,
        name: &str,
        dataset: &Dataset,
    ) -> Result<(), ImportError> {
        self.begin_run(name, false, &dataset.name, None)?;
        if let Some((run, report)) = &mut self.run {
            report.dataset.clone_from(&dataset.name);
            run.dataset = (dataset.name.clone(), dataset.fingerprint.clone());
        }
        Ok(())
    }

    /// The name under which the folder written last will be opened.
    pub(super) fn last_set(&self) -> Option<String> {
        self.report
            .sets
            .last()
            .map(|set| crate::data::dataset::name_of(&set.folder))
    }

    /// Begins a run under its own name (or that of `--run`).
    pub(super) fn begin_run_as(&mut self, name: &str, several: bool) -> Result<(), ImportError> {
        let name = match (&self.request.run, several) {
            (Some(run), false) => run.clone(),
            (Some(run), true) => format!("{run}-{name}"),
            (None, _) => name.to_owned(),
        };
        self.begin_named_run(name, "imported", None)
    }

    /// Begins a run for the replies to `set`; `name` tells it from others of the same import, `model` is the
    /// one where replies don't name it. Without a dataset given or written, the set's name stands for it.
    pub(super) fn begin_run(
        &mut self,
        name: &str,
        several: bool,
        set: &str,
        model: Option<&str>,
    ) -> Result<(), ImportError> {
        let name = match (&self.request.run, several) {
            (Some(run), false) => run.clone(),
            (Some(run), true) => format!("{run}-{name}"),
            (None, _) => format!("{}-{name}", self.kind.name()),
        };
        self.begin_named_run(name, set, model)
    }

    fn begin_named_run(
        &mut self,
        name: String,
        set: &str,
        model: Option<&str>,
    ) -> Result<(), ImportError> {
        if let Some(fault) = run::fault(&name) {
            return Err(ImportError::Usage(format!(
                "\"{name}\" can't be the name of a run: {fault}; name another with --run",
                name = short(&name)
            )));
        }
        let store = match &self.store {
            Some(store) => store,
            None => self.store.insert(Bulk::begin(&self.request.store)?),
        };
        if store.has_run(&name)? {
            return Err(ImportError::Failed(format!(
                "there is a run \"{name}\" already; name another with --run",
                name = short(&name)
            )));
        }
        let dataset = match self.request.dataset {
            Some(dataset) => (dataset.name.clone(), dataset.fingerprint.clone()),
            None => (set.to_owned(), fingerprint_of_name(self.kind, set)),
        };
        if self.request.dataset.is_none() && self.folder.is_some() {
            self.unsettled.push(self.report.runs.len());
        }
        let model = self
            .request
            .model
            .as_deref()
            .or(model)
            .unwrap_or("unknown model");
        let files: Vec<String> = self.request.paths.iter().map(|path| stem(path)).collect();
        let run = Run {
            name: name.clone(),
            dataset: dataset.clone(),
            model: model.to_owned(),
            origin: format!("imported from {} ({})", self.kind.name(), files.join(", ")),
            imported_at: now(),
        };
        let report = RunReport {
            name,
            dataset: dataset.0,
            replies: 0,
            failures: 0,
            contexts_known: 0,
            models: Vec::new(),
        };
        self.run = Some((run, report));
        Ok(())
    }

    /// Stores a reply in the run that is open.
    pub(super) fn reply(
        &mut self,
        question: &Question,
        mut given: GivenReply,
    ) -> Result<(), ImportError> {
        if let Some(model) = &self.request.model {
            given.model = Some(model.clone());
        }
        let known = given.known();
        let Some((run, _)) = &self.run else {
            return Ok(());
        };
        let unknown = match known {
            Known::Whole => None,
            Known::Condition => Some(&mut self.no_documents),
            Known::Nothing => Some(&mut self.no_condition),
        };
        if let Some(count) = unknown.filter(|_| given.text.is_ok()) {
            *count += 1;
        }
        let record = record(run, question, given);
        self.store_record(&record, known == Known::Whole)
    }

    /// Stores a record as it is in the run that is open.
    pub(super) fn store_record(
        &mut self,
        record: &ReplyRecord,
        known: bool,
    ) -> Result<(), ImportError> {
        let (Some(store), Some((_, report))) = (&self.store, &mut self.run) else {
            return Ok(());
        };
        store.insert(record)?;
        match record.parsed.is_some() {
            true => report.replies += 1,
            false => report.failures += 1,
        }
        report.contexts_known += usize::from(known);
        if let Err(at) = report.models.binary_search(&record.model_name) {
            report.models.insert(at, record.model_name.clone());
        }
        self.taken += 1;
        Ok(())
    }

    /// Ends the run.
    pub(super) fn end_run(&mut self) {
        let Some((_, report)) = self.run.take() else {
            return;
        };
        if report.replies + report.failures == 0 {
            self.note(&format!(
                "the run \"{}\" got no reply, so it is not stored",
                report.name
            ));
            self.unsettled.retain(|at| *at != self.report.runs.len());
            return;
        }
        self.report.runs.push(report);
    }

    /// The name of the run that is open.
    pub(super) fn run_name(&self) -> Option<&str> {
        self.run.as_ref().map(|(run, _)| run.name.as_str())
    }

    /// Puts everything in its place and gives the report.
    pub(super) fn finish(mut self) -> Result<Report, ImportError> {
        if self.taken == 0 {
            return Err(self.nothing());
        }
        // The last chance to stop: from here on it happens.
        self.look_now()?;
        self.place_folders()?;
        if let Some(store) = self.store.take() {
            store.commit()?;
        }
        if self.no_condition > 0 {
            self.note(
                "what the model was shown is not known for replies of other programs: they are stored as standard without documents, and say so",
            );
        }
        if self.no_documents > 0 {
            let text = format!(
                "of {} the condition is known, but not the documents that were shown: only the main answer is scored",
                count(self.no_documents, "reply")
            );
            self.note(&text);
        }
        if self.other_roles > 0 {
            let text = format!(
                "{} of contexts are noise, adversarial or another question's, so they are not among the signal documents that were written",
                count(self.other_roles, "document")
            );
            self.note(&text);
        }
        if self.cleaned > 0 {
            let text = format!(
                "in {} tabs became spaces, or characters that steer a terminal were taken out of text or options",
                count(self.cleaned, "question")
            );
            self.note(&text);
        }
        self.report.kept = self.kept.into_iter().collect();
        self.report.not_mapped = self.dropped.into_iter().collect();
        Ok(self.report)
    }

    fn nothing(&self) -> ImportError {
        let why = match (self.report.problems.first(), self.report.bad) {
            (None, _) if !self.report.notes.is_empty() => self.report.notes.join("; "),
            (None, _) => format!(
                "no record was found; is it really {}? {}",
                self.kind,
                kinds()
            ),
            (Some(first), 1) => first.clone(),
            (Some(first), bad) => format!("{bad} bad records, the first: {first}"),
        };
        ImportError::Failed(format!("nothing could be imported: {why}"))
    }
}

/// A set's name as the name of a folder.
fn folder_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(
            |c| match c.is_alphanumeric() || matches!(c, '-' | '_' | '.') {
                true => c,
                false => '-',
            },
        )
        .collect();
    match plain.trim_matches('.').is_empty() {
        true => "import".to_owned(),
        false => plain.trim_start_matches('.').to_owned(),
    }
}

/// Stands for a dataset of which only the name is known: SHA-256 of kind and name, so that runs on the same
/// set are found to belong together.
fn fingerprint_of_name(kind: Kind, set: &str) -> String {
    hex(&Sha256::digest(format!("import {kind} {set}").as_bytes()))
}

/// Gives documents of a question that share an id different ones; the very same document stays once.
fn unique_documents(entry: &mut Entry) {
    let mut kept: Vec<crate::domain::passage::Document> = Vec::with_capacity(entry.documents.len());
    for mut document in std::mem::take(&mut entry.documents) {
        let same = |other: &crate::domain::passage::Document| other.id == document.id;
        if let Some(first) = kept.iter().find(|other| same(other)) {
            if first.content == document.content {
                continue;
            }
            let free = (2_usize..)
                .map(|number| format!("{}-{number}", document.id))
                .find(|id| !kept.iter().any(|other| other.id == *id));
            document.id = free.unwrap_or_default();
        }
        kept.push(document);
    }
    entry.documents = kept;
}
