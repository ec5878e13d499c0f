//! A dataset folder in memory.
//!
//! `qa.jsonl` and `signal_docs.json` must be there; `subqa_pairs.json` and `counterfactual_docs.json` may be.
//! Each of them may be a Parquet file with the same columns instead (`qa.parquet` and so on).
//! A bad record is left out and listed; only a file that can't be read as a whole is an error.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::data::dataset::files::Content;
use crate::domain::context::{NoisePool, Pools};
use crate::domain::passage::{Counterfactual, Document, Source, SubQuestion};
use crate::domain::question::Question;
use crate::domain::text::{count, hex};

mod columns;
mod files;
mod manifest;
mod maps;
pub(in crate::data) mod questions;
pub(in crate::data) mod record;
#[cfg(test)]
mod tests;

pub use files::folder_name as name_of;
pub use manifest::MANIFEST;
pub use questions::read_questions;

/// The question file.
pub const QUESTIONS: &str = "qa.jsonl";
/// The documents of each question.
pub const SIGNAL: &str = "signal_docs.json";
/// Sub-questions and their answers; optional.
pub const SUB_QUESTIONS: &str = "subqa_pairs.json";
/// Adversarial versions; optional.
pub const COUNTERFACTUALS: &str = "counterfactual_docs.json";

/// A benchmark set: questions and what belongs to them.
#[derive(Debug, Default)]
pub struct Dataset {
    /// Folder name, for titles and the store.
    pub name: String,
    /// Where it was read from; empty for the embedded sample.
    pub path: PathBuf,
    /// Questions in file order; ids are unique.
    pub questions: Vec<Question>,
    /// What was wrong with single records, one clear sentence each; those records are left out.
    pub problems: Vec<String>,
    /// How many records were left out in all; one problem can stand for many.
    pub left_out: usize,
    /// SHA-256 over the files' contents, for run manifests and caches.
    pub fingerprint: String,
    positions: HashMap<String, usize>,
    sub_questions: HashMap<String, Vec<SubQuestion>>,
    counterfactuals: HashMap<String, Vec<Counterfactual>>,
    /// Holds the signal documents too, so that each is in memory once.
    noise: NoisePool,
}

/// A dataset that can't be opened: what, where, what was expected, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DatasetError(pub String);

impl Dataset {
    /// Reads a dataset folder, or the folder of the given `qa.jsonl`. Bad records are left out and listed
    /// in `problems`.
    ///
    /// # Errors
    /// When the folder, `qa.jsonl` or `signal_docs.json` is missing, a file is broken as a whole (with
    /// file, line and column), or no question can be read.
    pub fn open(path: &Path) -> Result<Dataset, DatasetError> {
        let questions = files::question_file(path)?;
        let folder = questions.parent().unwrap_or(Path::new("")).to_path_buf();
        let contents = [
            Some(Content::read(&questions)?),
            Some(files::required(&folder, SIGNAL)?),
            files::optional(&folder, SUB_QUESTIONS)?,
            files::optional(&folder, COUNTERFACTUALS)?,
        ];
        let mut dataset = Dataset::from_contents(files::folder_name(&folder), folder, contents)?;
        manifest::declare(&mut dataset);
        Ok(dataset)
    }

    /// The sample benchmark that is built into the program.
    ///
    /// # Errors
    /// Never, as long as the embedded files are sound; a test sees to that.
    pub fn sample() -> Result<Dataset, DatasetError> {
        macro_rules! embedded {
            ($name:literal) => {
                Some(Content::embedded(
                    concat!("sample-data/", $name),
                    include_str!(concat!("../../../sample-data/", $name)),
                ))
            };
        }
        let contents = [
            embedded!("qa.jsonl"),
            embedded!("signal_docs.json"),
            embedded!("subqa_pairs.json"),
            embedded!("counterfactual_docs.json"),
        ];
        Dataset::from_contents("sample".into(), PathBuf::new(), contents)
    }

    /// Reads the four files in the order questions, signal documents, sub-questions, adversarial versions.
    fn from_contents(
        name: String,
        path: PathBuf,
        contents: [Option<Content<'_>>; 4],
    ) -> Result<Dataset, DatasetError> {
        let fingerprint = fingerprint(&contents);
        let mut problems = Problems::default();
        let [questions, signal, sub_questions, counterfactuals] = contents;
        let questions = match &questions {
            Some(content) => questions::parse(content, &mut problems)?,
            None => Vec::new(),
        };
        let positions: HashMap<String, usize> = questions
            .iter()
            .enumerate()
            .map(|(at, question)| (question.id.clone(), at))
            .collect();
        let mut reader = maps::Reader::new(&positions, &mut problems);
        let groups = reader.documents(signal.as_ref())?;
        let known: HashMap<&str, HashSet<&str>> = groups
            .iter()
            .map(|(id, documents)| {
                let ids = documents.iter().map(|d| d.id.as_str()).collect();
                (id.as_str(), ids)
            })
            .collect();
        let sub_questions = reader.sub_questions(sub_questions.as_ref(), &known)?;
        let counterfactuals = reader.counterfactuals(counterfactuals.as_ref(), &known)?;
        let mut noise = NoisePool::build(groups);
        for version in counterfactuals.values().flatten() {
            noise.remember(&version.edited_document);
        }
        Ok(Dataset {
            name,
            path,
            questions,
            left_out: problems.records,
            problems: problems.sentences(),
            fingerprint,
            positions,
            sub_questions,
            counterfactuals,
            noise,
        })
    }

    /// How much could not be read, in words: "22 records", or "1 problem" where no record was left out;
    /// `None` where all is well.
    pub fn trouble(&self) -> Option<String> {
        match (self.left_out, self.problems.len()) {
            (0, 0) => None,
            (0, problems) => Some(count(problems, "problem")),
            (records, _) => Some(count(records, "record")),
        }
    }

    /// Position of the question with this id.
    pub fn position(&self, question_id: &str) -> Option<usize> {
        self.positions.get(question_id).copied()
    }

    /// What composition may draw from for a question.
    pub fn pools(&self, question_id: &str) -> Pools<'_> {
        Pools {
            signal: self.noise.signal(question_id),
            sub_questions: self
                .sub_questions
                .get(question_id)
                .map_or(&[], Vec::as_slice),
            counterfactuals: self
                .counterfactuals
                .get(question_id)
                .map_or(&[], Vec::as_slice),
            noise: &self.noise,
        }
    }

    /// Whether some signal documents were retrieved offline and some online.
    pub fn has_both_sources(&self) -> bool {
        let holds = |source: Source| {
            self.noise
                .questions()
                .flat_map(|question_id| self.noise.signal(question_id))
                .any(|document| document.source == Some(source))
        };
        holds(Source::Offline) && holds(Source::Online)
    }

    /// Every signal document once (by id), with the ids of the questions it is signal for, in file order:
    /// the corpus of live retrieval.
    pub fn documents(&self) -> Vec<(&Document, Vec<&str>)> {
        let mut found: Vec<(&Document, Vec<&str>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for question_id in self.noise.questions() {
            for document in self.noise.signal(question_id) {
                let place = *places.entry(&document.id).or_insert_with(|| {
                    found.push((document, Vec::new()));
                    found.len() - 1
                });
                if let Some((_, questions)) = found.get_mut(place) {
                    questions.push(question_id);
                }
            }
        }
        found
    }
}

/// What was wrong while a dataset was read.
#[derive(Debug, Default)]
struct Problems {
    /// One sentence each.
    said: Vec<String>,
    /// Records left out.
    records: usize,
    /// Questions that can't be read, where the id is known: the place of their sentence, and how many records of other
    /// files belong to them.
    lost: HashMap<String, (usize, usize)>,
}

impl Problems {
    /// Adds a problem for which so many records are left out.
    fn add(&mut self, records: usize, said: String) {
        self.records += records;
        self.said.push(said);
    }

    /// Adds a question that can't be read.
    fn add_question(&mut self, id: Option<String>, said: String) {
        if let Some(id) = id {
            self.lost.entry(id).or_insert((self.said.len(), 0));
        }
        self.add(1, said);
    }

    /// Takes records that belong to a question that can't be read: its own sentence says so in the end. False where
    /// nothing is known of the question.
    fn goes_with_lost(&mut self, question_id: &str, records: usize) -> bool {
        let Some((_, with)) = self.lost.get_mut(question_id) else {
            return false;
        };
        *with += records;
        self.records += records;
        true
    }

    /// The sentences, those of questions with what is lost with them.
    fn sentences(mut self) -> Vec<String> {
        for (at, with) in self.lost.into_values().filter(|(_, with)| *with > 0) {
            if let Some(said) = self.said.get_mut(at) {
                *said += &format!(" with its {} in other files", count(with, "record"));
            }
        }
        self.said
    }
}

/// SHA-256 over name, length and bytes of each file, in hexadecimal.
fn fingerprint(contents: &[Option<Content<'_>>; 4]) -> String {
    let names = [QUESTIONS, SIGNAL, SUB_QUESTIONS, COUNTERFACTUALS];
    let mut hash = Sha256::new();
    for (name, content) in names.iter().zip(contents) {
        if let Some(content) = content {
            hash.update(name.as_bytes());
            hash.update((content.bytes.len() as u64).to_le_bytes());
            hash.update(&content.bytes);
        }
    }
    hex(&hash.finalize())
}

/// The fingerprint of the JSON files in a dataset folder, as [`Dataset::open`] gives it, without holding
/// them in memory.
///
/// # Errors
/// When a file can't be read.
pub(in crate::data) fn fingerprint_of(folder: &Path) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    for name in [QUESTIONS, SIGNAL, SUB_QUESTIONS, COUNTERFACTUALS] {
        let path = folder.join(name);
        if !path.is_file() {
            continue;
        }
        let mut file = std::fs::File::open(&path)?;
        hash.update(name.as_bytes());
        hash.update(file.metadata()?.len().to_le_bytes());
        let mut buffer = vec![0; 1 << 16];
        loop {
            match std::io::Read::read(&mut file, &mut buffer)? {
                0 => break,
                count => hash.update(&buffer[..count]),
            }
        }
    }
    Ok(hex(&hash.finalize()))
}
