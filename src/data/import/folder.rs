//! Writing dataset folders: one question at a time into a hidden neighbour, which becomes the folder at the end.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::data::dataset::{COUNTERFACTUALS, QUESTIONS, SIGNAL, SUB_QUESTIONS};
use crate::data::import::ImportError;
use crate::data::import::entry::Entry;
use crate::data::import::workshop::{self, Workshop};
use crate::data::output;
use crate::domain::passage::{Counterfactual, Document, SubQuestion};
use crate::domain::question::Question;

/// What says where a dataset folder came from.
pub const MANIFEST: &str = "manifest.json";

/// How much of what a dataset folder holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Questions.
    pub questions: usize,
    /// Signal documents, over all questions.
    pub documents: usize,
    /// Sub-questions.
    pub sub_questions: usize,
    /// Adversarial versions.
    pub counterfactuals: usize,
}

fn write_error(path: &Path, error: impl std::fmt::Display) -> ImportError {
    ImportError::Failed(format!("{} can't be written: {error}", path.display()))
}

/// The folder to come: everything is written beside it, and appears under its name as a whole or not at all.
#[derive(Debug)]
pub(super) struct Output {
    target: PathBuf,
    workshop: Workshop,
    force: bool,
}

impl Output {
    /// Prepares a folder of this name.
    ///
    /// # Errors
    /// Where there is such a folder already (unless `force` says that it may be replaced and it holds a
    /// dataset and nothing else), or its parent can't be written.
    pub(super) fn begin(target: &Path, force: bool) -> Result<Output, ImportError> {
        check_target(target, force)?;
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(|error| write_error(parent, error))?;
        workshop::clear(parent);
        let workshop = Workshop::begin(parent, target).map_err(|error| {
            // The folder is there by now: where nothing can be found in it, nothing can be made.
            match error.kind() {
                io::ErrorKind::NotFound => write_error(
                    target,
                    "no folder can be made there; name another with --out",
                ),
                _ => write_error(parent, output::reason(&error)),
            }
        })?;
        let output = Output {
            target: target.to_path_buf(),
            workshop,
            force,
        };
        // A folder of its own: that of `tempfile` can be read by its owner only.
        fs::create_dir(output.root()).map_err(|error| write_error(target, error))?;
        Ok(output)
    }

    fn root(&self) -> PathBuf {
        self.workshop.path().join("new")
    }

    /// Begins a dataset folder: the whole output, or one of several in it.
    pub(super) fn set(&self, name: Option<&str>) -> Result<FolderWriter, ImportError> {
        let folder = match name {
            Some(name) => self.root().join(name),
            None => self.root(),
        };
        let shown = name.map_or_else(|| self.target.clone(), |name| self.target.join(name));
        FolderWriter::begin(folder, shown)
    }

    /// Puts the finished folder in its place.
    pub(super) fn finish(self) -> Result<(), ImportError> {
        check_target(&self.target, self.force)?;
        let old = self.workshop.path().join(workshop::OLD);
        if self.target.exists() {
            fs::rename(&self.target, &old).map_err(|error| write_error(&self.target, error))?;
        }
        fs::rename(self.root(), &self.target).map_err(|error| {
            // The old one goes back; where that fails too, the message says all there is to say.
            let _ = fs::rename(&old, &self.target);
            write_error(&self.target, error)
        })
    }
}

/// Refuses to replace anything but a dataset folder, and that only where it is wanted.
fn check_target(target: &Path, force: bool) -> Result<(), ImportError> {
    let shown = target.display();
    let Ok(kind) = fs::symlink_metadata(target) else {
        return Ok(());
    };
    if !kind.is_dir() {
        return Err(ImportError::Failed(format!(
            "{shown} exists and is no folder; name another with --out"
        )));
    }
    let is_empty = fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    if is_empty {
        return Ok(());
    }
    if !force {
        return Err(ImportError::Failed(format!(
            "{shown} exists already; name another folder with --out, or replace it with --force"
        )));
    }
    let sets = match is_dataset(target) {
        true => vec![target.to_path_buf()],
        false => datasets_in(target).unwrap_or_default(),
    };
    if sets.is_empty() {
        return Err(ImportError::Failed(format!(
            "{shown} is no dataset folder, so it is not replaced; name another folder with --out"
        )));
    }
    match sets.iter().find_map(|set| foreign(set)) {
        None => Ok(()),
        Some(lost) => Err(ImportError::Failed(format!(
            "{} would be lost with the folder, so it is not replaced; move it away, or name another folder with --out",
            lost.display()
        ))),
    }
}

/// Something in a dataset folder that is no file of a dataset, such as the ledger of a build.
fn foreign(set: &Path) -> Option<PathBuf> {
    const OWN: [&str; 5] = [QUESTIONS, SIGNAL, SUB_QUESTIONS, COUNTERFACTUALS, MANIFEST];
    let mut others: Vec<PathBuf> = fs::read_dir(set)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| !OWN.iter().any(|own| entry.file_name() == *own))
        .map(|entry| entry.path())
        .collect();
    others.sort_unstable();
    others.into_iter().next()
}

fn is_dataset(folder: &Path) -> bool {
    folder.join(QUESTIONS).is_file() && folder.join(SIGNAL).is_file()
}

/// The dataset folders in a folder; `None` where it holds something else too.
fn datasets_in(folder: &Path) -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries
        .map(|entry| Some(entry.path()).filter(|path| is_dataset(path)))
        .collect()
}

/// One dataset folder in the making.
#[derive(Debug)]
pub(super) struct FolderWriter {
    folder: PathBuf,
    shown: PathBuf,
    questions: BufWriter<File>,
    signal: MapFile,
    sub_questions: Option<MapFile>,
    counterfactuals: Option<MapFile>,
    /// Hash of an id → hash of its question's content: 16 bytes a question, however long the ids are. Two ids
    /// with the same hash would only give one of them a new name without need.
    seen: HashMap<u64, u64>,
    /// What hangs on the questions of replies, held back until the end: every record may show other documents of its
    /// question. As much memory as the folder takes when it is opened.
    held: Vec<(String, Parts)>,
    /// Positions in `held`.
    held_at: HashMap<String, usize>,
    counts: Counts,
}

/// What hangs on a question.
#[derive(Debug, Default)]
struct Parts {
    documents: Vec<Document>,
    sub_questions: Vec<SubQuestion>,
    counterfactuals: Vec<Counterfactual>,
}

impl Parts {
    /// Takes what another record of the same question has beyond these.
    fn add(&mut self, entry: &mut Entry) {
        for document in std::mem::take(&mut entry.documents) {
            if !self.documents.iter().any(|known| known.id == document.id) {
                self.documents.push(document);
            }
        }
        for sub in std::mem::take(&mut entry.sub_questions) {
            let same = |known: &SubQuestion| {
                (&known.doc_id, &known.question) == (&sub.doc_id, &sub.question)
            };
            if !self.sub_questions.iter().any(same) {
                self.sub_questions.push(sub);
            }
        }
        for version in std::mem::take(&mut entry.counterfactuals) {
            let same = |known: &Counterfactual| known.original_id == version.original_id;
            if !self.counterfactuals.iter().any(same) {
                self.counterfactuals.push(version);
            }
        }
    }
}

/// What became of a question that was handed to the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// It is in the folder.
    New,
    /// It is in the folder under a new id, since another question has its own.
    Renamed,
    /// The very same question is there already.
    Repeated,
}

impl FolderWriter {
    fn begin(folder: PathBuf, shown: PathBuf) -> Result<FolderWriter, ImportError> {
        fs::create_dir_all(&folder).map_err(|error| write_error(&shown, error))?;
        let file =
            File::create(folder.join(QUESTIONS)).map_err(|error| write_error(&shown, error))?;
        Ok(FolderWriter {
            questions: BufWriter::new(file),
            signal: MapFile::create(&folder.join(SIGNAL))?,
            sub_questions: None,
            counterfactuals: None,
            seen: HashMap::new(),
            held: Vec::new(),
            held_at: HashMap::new(),
            counts: Counts::default(),
            folder,
            shown,
        })
    }

    /// The folder's name once it is finished.
    pub(super) fn shown(&self) -> &Path {
        &self.shown
    }

    /// Where it is being written.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes what has been held back, and gives how much there is in all.
    ///
    /// # Errors
    /// Where it can't be written.
    pub(super) fn count_all(&mut self) -> Result<Counts, ImportError> {
        self.release()
            .map_err(|error| write_error(&self.shown, error))?;
        Ok(self.counts)
    }

    /// Adds a question with its parts; an id that another question has gets a number at its end. With `collect` the
    /// parts of the same question's further records are added to those of the first.
    pub(super) fn add(&mut self, entry: &mut Entry, collect: bool) -> Result<Written, ImportError> {
        let content = hash(&(
            &entry.question.text,
            format!("{:?}", entry.question.options),
            entry.question.answer,
        ));
        let mut written = Written::New;
        let own = entry.question.id.clone();
        for number in 2_usize.. {
            match self.seen.get(&hash(&entry.question.id)) {
                None => break,
                Some(other) if *other == content => {
                    if collect {
                        self.hold(entry);
                    }
                    return Ok(Written::Repeated);
                }
                Some(_) => {
                    entry.question.id = format!("{own}-{number}");
                    written = Written::Renamed;
                }
            }
        }
        self.seen.insert(hash(&entry.question.id), content);
        self.write_question(&entry.question)
            .map_err(|error| write_error(&self.shown, error))?;
        match collect {
            true => self.hold(entry),
            false => {
                let parts = Parts {
                    documents: std::mem::take(&mut entry.documents),
                    sub_questions: std::mem::take(&mut entry.sub_questions),
                    counterfactuals: std::mem::take(&mut entry.counterfactuals),
                };
                self.write_parts(&entry.question.id, &parts)
                    .map_err(|error| write_error(&self.shown, error))?;
            }
        }
        Ok(written)
    }

    /// Keeps the parts of a record for the end.
    fn hold(&mut self, entry: &mut Entry) {
        let at = match self.held_at.get(&entry.question.id) {
            Some(at) => *at,
            None => {
                let id = entry.question.id.clone();
                self.held.push((id.clone(), Parts::default()));
                self.held_at.insert(id, self.held.len() - 1);
                self.held.len() - 1
            }
        };
        if let Some((_, parts)) = self.held.get_mut(at) {
            parts.add(entry);
        }
    }

    /// Writes what was held back.
    fn release(&mut self) -> std::io::Result<()> {
        for (id, parts) in std::mem::take(&mut self.held) {
            self.write_parts(&id, &parts)?;
        }
        Ok(())
    }

    fn write_question(&mut self, question: &Question) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.questions, &line_of(question))?;
        self.questions.write_all(b"\n")?;
        self.counts.questions += 1;
        Ok(())
    }

    fn write_parts(&mut self, id: &str, parts: &Parts) -> std::io::Result<()> {
        self.counts.documents += parts.documents.len();
        self.counts.sub_questions += parts.sub_questions.len();
        self.counts.counterfactuals += parts.counterfactuals.len();
        if !parts.documents.is_empty() {
            self.signal.add(id, &parts.documents)?;
        }
        if !parts.sub_questions.is_empty() {
            let path = self.folder.join(SUB_QUESTIONS);
            open(&mut self.sub_questions, &path)?.add(id, &parts.sub_questions)?;
        }
        if !parts.counterfactuals.is_empty() {
            let path = self.folder.join(COUNTERFACTUALS);
            open(&mut self.counterfactuals, &path)?.add(id, &parts.counterfactuals)?;
        }
        Ok(())
    }

    /// Ends the files and writes the manifest; without any question nothing of the folder is kept. Gives the
    /// fingerprint of the dataset.
    pub(super) fn finish(
        self,
        manifest: Map<String, Value>,
    ) -> Result<Option<String>, ImportError> {
        let shown = self.shown.clone();
        let failed = |error: std::io::Error| write_error(&shown, error);
        if self.counts.questions == 0 {
            fs::remove_dir_all(&self.folder).map_err(failed)?;
            return Ok(None);
        }
        let folder = self.folder.clone();
        self.end(manifest).map_err(failed)?;
        let fingerprint = crate::data::dataset::fingerprint_of(&folder).map_err(failed)?;
        Ok(Some(fingerprint))
    }

    fn end(self, mut manifest: Map<String, Value>) -> std::io::Result<()> {
        self.questions.into_inner()?.sync_all()?;
        self.signal.end()?;
        for file in [self.sub_questions, self.counterfactuals]
            .into_iter()
            .flatten()
        {
            file.end()?;
        }
        manifest.insert("counts".to_owned(), json!(self.counts));
        let mut text = serde_json::to_vec_pretty(&manifest)?;
        text.push(b'\n');
        fs::write(self.folder.join(MANIFEST), text)
    }
}

/// A question as a line of `qa.jsonl`.
pub(in crate::data) fn line_of(question: &Question) -> Value {
    let options: Map<String, Value> = question
        .options
        .iter()
        .map(|choice| {
            (
                choice.letter.to_string(),
                Value::String(choice.text.clone()),
            )
        })
        .collect();
    let mut line = Map::new();
    line.insert("question_id".to_owned(), json!(question.id));
    line.insert("question".to_owned(), json!(question.text));
    line.insert("options".to_owned(), Value::Object(options));
    line.insert("answer".to_owned(), json!(question.answer));
    for (key, value) in &question.extra {
        line.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(line)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn open<'a>(file: &'a mut Option<MapFile>, path: &Path) -> std::io::Result<&'a mut MapFile> {
    match file {
        Some(file) => Ok(file),
        None => Ok(file.insert(MapFile::new(path)?)),
    }
}

/// A JSON object of question ids and lists, written entry by entry.
#[derive(Debug)]
struct MapFile {
    out: BufWriter<File>,
    is_empty: bool,
}

impl MapFile {
    fn create(path: &Path) -> Result<MapFile, ImportError> {
        MapFile::new(path).map_err(|error| write_error(path, error))
    }

    fn new(path: &Path) -> std::io::Result<MapFile> {
        let mut out = BufWriter::new(File::create(path)?);
        out.write_all(b"{")?;
        Ok(MapFile {
            out,
            is_empty: true,
        })
    }

    fn add(&mut self, id: &str, records: &impl Serialize) -> std::io::Result<()> {
        self.out.write_all(match self.is_empty {
            true => b"\n",
            false => b",\n",
        })?;
        self.is_empty = false;
        serde_json::to_writer(&mut self.out, id)?;
        self.out.write_all(b": ")?;
        serde_json::to_writer(&mut self.out, records)?;
        Ok(())
    }

    fn end(mut self) -> std::io::Result<()> {
        self.out.write_all(b"\n}\n")?;
        self.out.into_inner()?.sync_all()
    }
}
