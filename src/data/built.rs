//! The folder that `medrgb build` makes: a dataset folder with what it was made from.
//!
//! | file | holds |
//! |---|---|
//! | `qa.jsonl`, `signal_docs.json`, `subqa_pairs.json`, `counterfactual_docs.json` | the dataset |
//! | `topics.json` | search topics by question |
//! | `report.json` | what was dropped or failed in each stage, and why |
//! | `manifest.json` | models, prompts, indexes, settings, hashes of the files |
//! | `set-aside.jsonl` | records that went, since what they rest on has changed |
//! | `ledger.jsonl`, `pages/` | what was asked and answered; fetched web pages |
//!
//! Every stage writes its files as a whole, in the order of the questions.

use std::collections::HashMap;
use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::data::dataset::{
    COUNTERFACTUALS, Dataset, MANIFEST, QUESTIONS, SIGNAL, SUB_QUESTIONS, read_questions,
};
use crate::data::import::line_of;
use crate::data::ledger;
use crate::data::output;
use crate::domain::build::Stage;
use crate::domain::plain::json_reason;
use crate::domain::question::Question;

/// Search topics by question.
pub const TOPICS: &str = "topics.json";
/// What was dropped or failed.
pub const REPORT: &str = "report.json";
/// Records that went, since what they rest on has changed: one JSON object a line.
pub const ASIDE: &str = "set-aside.jsonl";
/// What the manifest says of where the documents come from.
pub const MADE: &str = "medrgb build";
/// Fetched web pages.
pub const PAGES: &str = "pages";

/// The files that the manifest has hashes of.
const HASHED: [&str; 6] = [
    QUESTIONS,
    TOPICS,
    SIGNAL,
    SUB_QUESTIONS,
    COUNTERFACTUALS,
    REPORT,
];

/// A file or folder that can't be used: one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BuiltError(pub String);

fn error(path: &Path, what: &str, why: impl std::fmt::Display) -> BuiltError {
    BuiltError(format!("{} can't be {what}: {why}", path.display()))
}

/// An error of the file system without its number.
fn plain(why: &std::io::Error) -> String {
    match why.kind() {
        ErrorKind::PermissionDenied => "you have no right to read there".to_owned(),
        kind => kind.to_string(),
    }
}

/// The folder of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltFolder {
    path: PathBuf,
}

impl BuiltFolder {
    /// Makes the folder, or takes the one of an earlier build.
    ///
    /// # Errors
    /// Where something stands there that no build made, or the folder can't be made.
    pub fn open(path: &Path) -> Result<BuiltFolder, BuiltError> {
        let folder = BuiltFolder::look(path)?;
        fs::create_dir_all(path).map_err(|why| {
            // Such as under /proc: the folder above is there.
            let above = path.parent().is_some_and(Path::is_dir);
            let why = match above && why.kind() == ErrorKind::NotFound {
                true => "no folder can be made there".to_owned(),
                false => output::reason(&why),
            };
            error(path, "made", why)
        })?;
        Ok(folder)
    }

    /// As [`BuiltFolder::open`], but makes nothing.
    ///
    /// # Errors
    /// As [`BuiltFolder::open`].
    pub fn look(path: &Path) -> Result<BuiltFolder, BuiltError> {
        let folder = BuiltFolder {
            path: path.to_path_buf(),
        };
        let begun = path.join(ledger::FILE_NAME).is_file() || is_made(path);
        let entries = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(why) if why.kind() == ErrorKind::NotFound => false,
            Err(why) if why.kind() == ErrorKind::NotADirectory => {
                let why = "a file stands there, not a folder; name a folder with --out";
                return Err(error(path, "used", why));
            }
            Err(why) => return Err(error(path, "used", plain(&why))),
        };
        match entries && !begun {
            true => Err(BuiltError(format!(
                "{} holds files that `medrgb build` did not make; name a new folder with --out",
                path.display()
            ))),
            false => Ok(folder),
        }
    }

    /// Removes what a kill left half written. Only for whoever holds the ledger: nobody else writes here then.
    pub fn clear_unfinished(&self) {
        for folder in [self.path.clone(), self.file(PAGES)] {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            for entry in entries {
                let name = entry.file_name();
                if name.to_string_lossy().starts_with(output::UNFINISHED) {
                    // One that can't be removed does no harm.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The questions; `None` before any stage has run.
    ///
    /// # Errors
    /// Where the file can't be read.
    pub fn questions(&self) -> Result<Option<Vec<Question>>, BuiltError> {
        let path = self.file(QUESTIONS);
        if !path.is_file() {
            return Ok(None);
        }
        let (questions, problems) = read_questions(&path).map_err(|why| BuiltError(why.0))?;
        match problems.first() {
            Some(first) => Err(BuiltError(first.clone())),
            None => Ok(Some(questions)),
        }
    }

    /// The dataset; `None` before documents were retrieved.
    ///
    /// # Errors
    /// Where a file can't be read.
    pub fn dataset(&self) -> Result<Option<Dataset>, BuiltError> {
        match self.file(SIGNAL).is_file() {
            true => Dataset::open(&self.path)
                .map(Some)
                .map_err(|why| BuiltError(why.0)),
            false => Ok(None),
        }
    }

    /// The search topics by question; `None` before the first stage.
    ///
    /// # Errors
    /// Where the file can't be read.
    pub fn topics(&self) -> Result<Option<HashMap<String, Vec<String>>>, BuiltError> {
        self.read(TOPICS)
    }

    /// The report of the stages so far.
    ///
    /// # Errors
    /// Where the file can't be read.
    pub fn report(&self) -> Result<Map<String, Value>, BuiltError> {
        Ok(self.read(REPORT)?.unwrap_or_default())
    }

    /// The manifest so far.
    ///
    /// # Errors
    /// Where the file can't be read.
    pub fn manifest(&self) -> Result<Map<String, Value>, BuiltError> {
        Ok(self.read(MANIFEST)?.unwrap_or_default())
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, BuiltError> {
        let path = self.file(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(error(&path, "read", why)),
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|why| {
            let place = format!("line {}: {}", why.line(), json_reason(&why));
            error(&path, "read", format!("{place}; {}", remedy(name)))
        })
    }

    /// Writes the questions.
    ///
    /// # Errors
    /// Where the file can't be written.
    pub fn write_questions(&self, questions: &[Question]) -> Result<(), BuiltError> {
        self.write(QUESTIONS, |out| {
            for question in questions {
                serde_json::to_writer(&mut *out, &line_of(question))
                    .map_err(|why| why.to_string())?;
                out.write_all(b"\n").map_err(|why| output::reason(&why))?;
            }
            Ok(())
        })
    }

    /// A file of question ids and lists as it stands there; empty where there is none.
    ///
    /// # Errors
    /// Where the file can't be read.
    pub fn lists(&self, name: &str) -> Result<Map<String, Value>, BuiltError> {
        Ok(self.read(name)?.unwrap_or_default())
    }

    /// Writes a file of question ids and lists, a line each.
    ///
    /// # Errors
    /// Where the file can't be written.
    pub fn write_lists(&self, name: &str, lists: &Map<String, Value>) -> Result<(), BuiltError> {
        self.write(name, |out| {
            let mut before = "{\n";
            for (id, list) in lists {
                let key = serde_json::to_string(id).map_err(|why| why.to_string())?;
                write!(out, "{before}{key}: ").map_err(|why| output::reason(&why))?;
                serde_json::to_writer(&mut *out, list).map_err(|why| why.to_string())?;
                before = ",\n";
            }
            let end = if before == "{\n" { "{}\n" } else { "\n}\n" };
            out.write_all(end.as_bytes())
                .map_err(|why| output::reason(&why))
        })
    }

    /// Writes a JSON object for reading.
    ///
    /// # Errors
    /// Where the file can't be written.
    pub fn write_object(&self, name: &str, object: &Map<String, Value>) -> Result<(), BuiltError> {
        self.write(name, |out| {
            serde_json::to_writer_pretty(&mut *out, object).map_err(|why| why.to_string())?;
            out.write_all(b"\n").map_err(|why| output::reason(&why))
        })
    }

    /// Adds lines to the file of what went, durably.
    ///
    /// # Errors
    /// Where the file can't be written.
    pub fn set_aside(&self, records: &[Value]) -> Result<(), BuiltError> {
        if records.is_empty() {
            return Ok(());
        }
        let path = self.file(ASIDE);
        let failed = |why: std::io::Error| error(&path, "written", output::reason(&why));
        let mut file = fs::OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)
            .map_err(failed)?;
        let mut lines = String::new();
        if !ends_whole(&mut file).map_err(failed)? {
            lines.push('\n');
        }
        for record in records {
            lines += &record.to_string();
            lines.push('\n');
        }
        let written = file.write_all(lines.as_bytes());
        written.and_then(|()| file.sync_data()).map_err(failed)
    }

    fn write(
        &self,
        name: &str,
        write: impl FnOnce(&mut std::io::BufWriter<&fs::File>) -> Result<(), String>,
    ) -> Result<(), BuiltError> {
        output::write(&self.file(name), write).map_err(|why| BuiltError(why.0))
    }

    /// The hashes of the files that are there, by name.
    ///
    /// # Errors
    /// Where one can't be read.
    pub fn hashes(&self) -> Result<Map<String, Value>, BuiltError> {
        let mut hashes = Map::new();
        for name in HASHED {
            let path = self.file(name);
            if !path.is_file() {
                continue;
            }
            let bytes = fs::read(&path).map_err(|why| error(&path, "read", why))?;
            let hash: String = Sha256::digest(&bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            hashes.insert(name.to_owned(), json!(hash));
        }
        Ok(hashes)
    }
}

/// What to do about a file that can't be read: no stage goes on with it, but all that was paid for stands in the ledger.
fn remedy(name: &str) -> String {
    let stage = match name {
        TOPICS => Stage::Topics,
        SIGNAL => Stage::Retrieve,
        SUB_QUESTIONS => Stage::SubQuestions,
        COUNTERFACTUALS => Stage::Adversarial,
        _ => return "delete it, and every stage that is run writes its part anew".to_owned(),
    };
    format!(
        "delete it, and run its stage (`medrgb build {}`) and those after it again: the ledger gives the answers back",
        stage.name()
    )
}

/// Whether a manifest says that a build made its folder: the ledger may have been moved away.
fn is_made(folder: &Path) -> bool {
    let text = fs::read(folder.join(MANIFEST)).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
    manifest["documents"] == MADE
}

/// Whether a file is empty or ends with a whole line: a kill may have cut the last one.
fn ends_whole(file: &mut fs::File) -> std::io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::question::Choice;

    #[test]
    fn lists_are_written_whole_and_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("set");
        let folder = BuiltFolder::open(&path).unwrap();
        assert_eq!(folder.topics().unwrap(), None);
        let lists = Map::from_iter([
            ("q \"1\"".to_owned(), json!(["a", "b"])),
            ("q2".to_owned(), json!(["c"])),
        ]);
        folder.write_lists(TOPICS, &lists).unwrap();
        let topics = folder.topics().unwrap().unwrap();
        assert_eq!(topics.len(), 2);
        assert_eq!(topics["q \"1\""], ["a", "b"]);
        assert_eq!(folder.lists(TOPICS).unwrap(), lists);
        folder.write_lists(TOPICS, &Map::new()).unwrap();
        assert!(folder.topics().unwrap().unwrap().is_empty());
        fs::write(path.join(TOPICS), "{\n]").unwrap();
        let why = folder.topics().unwrap_err().0;
        assert!(why.contains("topics.json can't be read: line 2"), "{why}");
    }

    #[test]
    fn questions_come_back_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let folder = BuiltFolder::open(dir.path()).unwrap();
        assert!(folder.questions().unwrap().is_none());
        let option = |letter, text: &str| Choice {
            letter,
            text: text.into(),
        };
        let question = Question {
            id: "q".into(),
            text: "Which?".into(),
            options: vec![option('A', "this"), option('B', "that")],
            answer: 'B',
            extra: Map::from_iter([("dataset".to_owned(), json!("x"))]),
        };
        folder
            .write_questions(std::slice::from_ref(&question))
            .unwrap();
        assert_eq!(folder.questions().unwrap().unwrap(), [question]);
        assert!(folder.dataset().unwrap().is_none());
        fs::write(dir.path().join(".writing-abc"), "{").unwrap();
        folder.clear_unfinished();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(folder.hashes().unwrap().len(), 1);
    }

    #[test]
    fn what_goes_is_set_aside_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let folder = BuiltFolder::open(dir.path()).unwrap();
        folder.set_aside(&[]).unwrap();
        assert!(!dir.path().join(ASIDE).exists());
        folder.set_aside(&[json!({"a": 1})]).unwrap();
        let cut = fs::read_to_string(dir.path().join(ASIDE)).unwrap() + "{\"b\":";
        fs::write(dir.path().join(ASIDE), cut).unwrap();
        folder
            .set_aside(&[json!({"c": 3}), json!({"d": 4})])
            .unwrap();
        let text = fs::read_to_string(dir.path().join(ASIDE)).unwrap();
        assert_eq!(text, "{\"a\":1}\n{\"b\":\n{\"c\":3}\n{\"d\":4}\n");
    }

    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(QUESTIONS), "").unwrap();
        let why = BuiltFolder::open(dir.path()).unwrap_err().0;
        assert!(why.contains("did not make"), "{why}");
        fs::write(dir.path().join(ledger::FILE_NAME), "").unwrap();
        assert!(BuiltFolder::open(dir.path()).is_ok());
        // Without its ledger a build goes on too; what was reviewed stays as it is.
        fs::remove_file(dir.path().join(ledger::FILE_NAME)).unwrap();
        for (made_by, open) in [(MADE, true), ("medrgb build review", false)] {
            let manifest = json!({"documents": made_by}).to_string();
            fs::write(dir.path().join(MANIFEST), manifest).unwrap();
            assert_eq!(BuiltFolder::open(dir.path()).is_ok(), open, "{made_by}");
        }
    }
}
