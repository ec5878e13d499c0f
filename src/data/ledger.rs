//! The ledger of a build: every question to a model, an index or the web, and what came back, one JSON object a line.
//!
//! Lines are only added, each is on disk before its answer counts, and an answer is found again by the hash of its
//! request. So a build that was killed goes on with what it has, and nothing is asked twice.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::data::locked::{LockFault, open_locked};
use crate::domain::plain::json_reason;
use crate::source::LONGEST_LINE;

/// The file's name.
pub const FILE_NAME: &str = "ledger.jsonl";

/// Version of the lines; a newer one is refused.
pub const SCHEMA: u64 = 1;

/// What the first line says.
const KIND: &str = "medrgb build";

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A call of a model.
    Call,
    /// A search of an index.
    Search,
    /// A search of the web.
    WebSearch,
    /// Earlier answers of a stage for a question count no longer.
    Restart,
    /// A question as it is from here on; the request holds it, the hash is that of its content.
    Question,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// The stage, such as `subqa`.
    pub stage: String,
    /// The question that it is for.
    pub question_id: String,
    /// What of the question: a document's id, a topic, an address.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub item: String,
    /// 0 for the first time it was asked, 1 for the first repair.
    #[serde(default)]
    pub attempt: u32,
    /// SHA-256 of the request; empty for a restart.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// What was asked.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub request: Value,
    /// Which model was asked.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub model: Value,
    /// What came back; null where nothing did.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub answer: Value,
    /// What came of it, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// When it began.
    pub started_at: String,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub ms: u64,
}

/// A ledger that can't be used: which file and line, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LedgerError(pub String);

/// Calls of a model so far, and how long they took together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    /// Calls that were answered.
    pub calls: u64,
    /// Their milliseconds.
    pub ms: u64,
}

/// An open ledger; no other process can open it.
#[derive(Debug)]
pub struct Ledger {
    /// `None` where it is only looked at.
    file: Option<File>,
    path: PathBuf,
    answers: HashMap<String, Kept>,
    /// Requests that got no reply, by hash.
    failed: HashMap<String, Asked>,
    /// Question ids and the hashes of their contents.
    questions: HashMap<String, String>,
    pace: BTreeMap<String, Pace>,
}

#[derive(Debug)]
struct Kept {
    asked: Asked,
    answer: Value,
}

/// What a request was for.
#[derive(Debug)]
struct Asked {
    stage: String,
    question_id: String,
}

impl Asked {
    fn is_of(&self, stage: &str, question_id: &str) -> bool {
        self.stage == stage && self.question_id == question_id
    }
}

impl Ledger {
    /// Opens the ledger of a folder, or begins one. A last line that a kill has cut off never counted and is removed.
    ///
    /// # Errors
    /// [`LedgerError`] where another process has it open, the file can't be read or written, a line is no entry, or a
    /// newer version wrote it.
    pub fn open(folder: &Path) -> Result<Ledger, LedgerError> {
        let path = folder.join(FILE_NAME);
        let failed = |error: std::io::Error| {
            LedgerError(format!(
                "the ledger {} can't be used: {error}",
                path.display()
            ))
        };
        let file = open_locked(&path).map_err(|fault| match fault {
            LockFault::Held => LedgerError(format!(
                "another process builds in {}; wait for its end, or name another folder with --out",
                folder.display()
            )),
            LockFault::Io(error) => failed(error),
        })?;
        let mut ledger = Ledger::empty(path.clone());
        let whole = ledger.read(&file)?;
        file.set_len(whole).map_err(failed)?;
        ledger.file = Some(file);
        if whole == 0 {
            ledger.write(&[json!({"ledger": KIND, "schema": SCHEMA})])?;
        }
        Ok(ledger)
    }

    /// Looks at a ledger without opening it for writing: for plans. A folder without one has an empty one.
    ///
    /// # Errors
    /// As [`Ledger::open`], but for the lock.
    pub fn look(folder: &Path) -> Result<Ledger, LedgerError> {
        let path = folder.join(FILE_NAME);
        let mut ledger = Ledger::empty(path);
        match File::open(&ledger.path) {
            Ok(file) => drop(ledger.read(&file)?),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let path = ledger.path.display();
                return Err(LedgerError(format!("{path} can't be read: {error}")));
            }
        }
        Ok(ledger)
    }

    fn empty(path: PathBuf) -> Ledger {
        Ledger {
            file: None,
            path,
            answers: HashMap::new(),
            failed: HashMap::new(),
            questions: HashMap::new(),
            pace: BTreeMap::new(),
        }
    }

    /// Reads all whole lines; gives where the last of them ends.
    fn read(&mut self, file: &File) -> Result<u64, LedgerError> {
        let shown = self.path.display().to_string();
        let unreadable =
            |error: std::io::Error| LedgerError(format!("{shown} can't be read: {error}"));
        let mut file = file;
        file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let mut reader = BufReader::new(file);
        let (mut whole, mut number, mut line) = (0, 0, Vec::new());
        loop {
            line.clear();
            let limited = &mut reader.by_ref().take(LONGEST_LINE);
            let read = limited.read_until(b'\n', &mut line).map_err(unreadable)?;
            number += 1;
            if read as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
                return Err(LedgerError(format!(
                    "{shown}, line {number} is longer than {LONGEST_LINE} bytes; delete this one line, and what it answered is asked again"
                )));
            }
            if !line.ends_with(b"\n") {
                return Ok(whole);
            }
            self.take_line(number, &line).map_err(|why| {
                let remedy = match number {
                    1 => "move the file away to begin anew",
                    _ => "delete this one line, and what it answered is asked again",
                };
                LedgerError(format!("{shown}, line {number}: {why}; {remedy}"))
            })?;
            whole += read as u64;
        }
    }

    fn take_line(&mut self, number: usize, line: &[u8]) -> Result<(), String> {
        if number == 1 {
            return head(line);
        }
        let entry: Entry = serde_json::from_slice(line).map_err(|error| json_reason(&error))?;
        self.remember(entry);
        Ok(())
    }

    fn remember(&mut self, entry: Entry) {
        if entry.kind == EntryKind::Question {
            self.questions.insert(entry.question_id, entry.hash);
            return;
        }
        if entry.kind == EntryKind::Restart {
            return self.forget(&entry.stage, &entry.question_id);
        }
        let asked = Asked {
            stage: entry.stage,
            question_id: entry.question_id,
        };
        if entry.answer.is_null() {
            self.failed.insert(entry.hash, asked);
            return;
        }
        if let Some(name) = entry.model.get("name").and_then(Value::as_str) {
            let pace = self.pace.entry(name.to_owned()).or_default();
            pace.calls += 1;
            pace.ms += entry.ms;
        }
        let kept = Kept {
            asked,
            answer: entry.answer,
        };
        self.failed.remove(&entry.hash);
        self.answers.insert(entry.hash, kept);
    }

    /// Lets the answers of a stage for a question count no longer, in memory alone: for plans.
    pub fn forget(&mut self, stage: &str, question_id: &str) {
        self.answers
            .retain(|_, kept| !kept.asked.is_of(stage, question_id));
        self.failed
            .retain(|_, asked| !asked.is_of(stage, question_id));
    }

    /// What came back for the request with this hash, if something did.
    pub fn answer(&self, hash: &str) -> Option<&Value> {
        self.answers.get(hash).map(|kept| &kept.answer)
    }

    /// Whether the request with this hash was made and nothing came back.
    pub fn has_failed(&self, hash: &str) -> bool {
        self.failed.contains_key(hash)
    }

    /// The hash of a question's content, as it was worked on last.
    pub fn question(&self, id: &str) -> Option<&str> {
        self.questions.get(id).map(String::as_str)
    }

    /// How long calls of a model have taken so far.
    pub fn pace(&self, model: &str) -> Pace {
        self.pace.get(model).copied().unwrap_or_default()
    }

    /// Adds an entry durably; from then on its answer counts.
    ///
    /// # Errors
    /// [`LedgerError`] where the file can't be written; then the entry does not count.
    pub fn append(&mut self, entry: Entry) -> Result<(), LedgerError> {
        self.append_all(vec![entry])
    }

    /// Adds entries durably, all or none.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn append_all(&mut self, entries: Vec<Entry>) -> Result<(), LedgerError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.write(&entries)?;
        entries.into_iter().for_each(|entry| self.remember(entry));
        Ok(())
    }

    fn write<T: Serialize>(&mut self, lines: &[T]) -> Result<(), LedgerError> {
        let failed =
            |why: String| LedgerError(format!("{} can't be written: {why}", self.path.display()));
        let Some(file) = self.file.as_mut() else {
            return Err(failed("it was opened for reading only".to_owned()));
        };
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, line).map_err(|error| failed(error.to_string()))?;
            bytes.push(b'\n');
        }
        let end = file.metadata().map(|meta| meta.len());
        let written = file.write_all(&bytes).and_then(|()| file.sync_data());
        written.map_err(|error| {
            // Half a line would spoil the next one.
            if let Ok(end) = end {
                let _ = file.set_len(end);
            }
            failed(error.to_string())
        })
    }
}

/// Checks the first line.
fn head(line: &[u8]) -> Result<(), String> {
    let head: Value = serde_json::from_slice(line).map_err(|error| json_reason(&error))?;
    if head.get("ledger").and_then(Value::as_str) != Some(KIND) {
        return Err("this is no ledger of `medrgb build`".to_owned());
    }
    match head.get("schema").and_then(Value::as_u64) {
        Some(SCHEMA) => Ok(()),
        Some(newer) if newer > SCHEMA => Err(format!(
            "a newer medrgb wrote this (schema {newer}, known is {SCHEMA}); use that one"
        )),
        _ => Err(format!("the schema is unknown; expected {SCHEMA}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn entry(stage: &str, question: &str, hash: &str) -> Entry {
        Entry {
            kind: EntryKind::Call,
            stage: stage.into(),
            question_id: question.into(),
            item: String::new(),
            attempt: 0,
            hash: hash.into(),
            request: json!({"prompt": "x"}),
            model: json!({"name": "m"}),
            answer: json!({"text": hash}),
            outcome: "used".into(),
            started_at: "2026-01-01T00:00:00Z".into(),
            ms: 10,
        }
    }

    fn restart(stage: &str, question: &str) -> Entry {
        Entry {
            kind: EntryKind::Restart,
            hash: String::new(),
            answer: Value::Null,
            ..entry(stage, question, "")
        }
    }

    #[test]
    fn answers_are_found_again_and_a_cut_line_is_no_entry() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        ledger.append(entry("topics", "q1", "a")).unwrap();
        let failed = Entry {
            answer: Value::Null,
            ..entry("topics", "q2", "b")
        };
        ledger.append(failed).unwrap();
        assert!(
            Ledger::open(dir.path())
                .unwrap_err()
                .0
                .contains("another process")
        );
        drop(ledger);
        let path = dir.path().join(FILE_NAME);
        let whole = std::fs::read(&path).unwrap();
        let mut cut = whole.clone();
        cut.extend_from_slice(b"{\"kind\":\"call\",\"sta");
        std::fs::write(&path, cut).unwrap();
        assert_eq!(
            Ledger::look(dir.path()).unwrap().answer("a"),
            Some(&json!({"text": "a"}))
        );
        let mut ledger = Ledger::open(dir.path()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        assert_eq!(ledger.answer("a"), Some(&json!({"text": "a"})));
        assert_eq!(ledger.answer("b"), None);
        assert!(ledger.has_failed("b") && !ledger.has_failed("a"));
        assert_eq!(ledger.pace("m"), Pace { calls: 1, ms: 10 });
        ledger.append(restart("topics", "q2")).unwrap();
        assert!(!ledger.has_failed("b"), "begun anew");
        ledger.append(restart("retrieve", "q1")).unwrap();
        assert!(ledger.answer("a").is_some());
        ledger.append(restart("topics", "q1")).unwrap();
        assert!(ledger.answer("a").is_none());
        drop(ledger);
        assert!(Ledger::open(dir.path()).unwrap().answer("a").is_none());
    }

    #[test]
    fn a_question_is_known_by_what_it_was_last() {
        let dir = tempfile::tempdir().unwrap();
        let question = |id: &str, hash: &str| Entry {
            kind: EntryKind::Question,
            answer: Value::Null,
            ..entry("questions", id, hash)
        };
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let all = vec![
            question("q1", "a"),
            question("q2", "b"),
            question("q1", "c"),
        ];
        ledger.append_all(all).unwrap();
        ledger.append(restart("questions", "q1")).unwrap();
        drop(ledger);
        let ledger = Ledger::look(dir.path()).unwrap();
        assert_eq!(ledger.question("q1"), Some("c"));
        assert_eq!(ledger.question("q2"), Some("b"));
        assert_eq!(ledger.question("q3"), None);
        assert_eq!(ledger.answer("a"), None);
    }

    #[test]
    fn what_is_no_ledger_is_refused_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Ledger::look(dir.path()).unwrap().answer("a").is_none());
        let why = |text: &str| {
            std::fs::write(dir.path().join(FILE_NAME), text).unwrap();
            Ledger::open(dir.path()).unwrap_err().0
        };
        assert!(why("{\"ledger\":\"medrgb build\",\"schema\":2}\n").contains("newer medrgb"));
        assert!(why("{\"ledger\":\"medrgb build\"}\n").contains("schema is unknown"));
        assert!(why("{\"a\":1}\n").contains("line 1: this is no ledger"));
        let head = "{\"ledger\":\"medrgb build\",\"schema\":1}\n";
        let why = why(&format!("{head}nonsense\n"));
        assert!(why.contains("line 2"), "{why}");
        assert!(why.contains("delete this one line"), "{why}");
    }
}
