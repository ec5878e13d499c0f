//! Where one was in a dataset: a small JSON file per dataset in the state folder, so that the explorer comes back
//! there. It holds names and places, no text of documents or replies; of notes those alone that are not saved yet.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::data::output;
use crate::domain::context::Condition;
use crate::domain::text::hex;

/// The form of the file. A change that older programs would misread raises it.
pub const VERSION: u32 = 1;

/// The largest file that is read, in bytes: more than all notes that it may hold, escaped, and a thousand times what the
/// rest needs.
const LARGEST: u64 = 16 << 20;

/// The most bytes of unsaved notes in the file.
pub const MOST_DRAFTED: usize = 4 << 20;

/// Where one was. Names are those of the explorer; one that is unknown stands for the usual.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Form of the file.
    pub version: u32,
    /// The screen.
    pub screen: String,
    /// The question chosen in the list.
    pub chosen: Option<String>,
    /// What was typed to filter the list.
    pub filter: String,
    /// What the list is narrowed to: facet → values.
    pub facets: BTreeMap<String, BTreeSet<String>>,
    /// The run whose outcomes the list shows.
    pub run: Option<String>,
    /// The question that is open.
    pub open: Option<OpenQuestion>,
    /// The queue that is annotated.
    pub queue: Option<QueuePlace>,
    /// The item that is reviewed.
    pub review: Option<ReviewPlace>,
    /// Whether one annotates blind.
    pub blind: bool,
    /// Who annotates.
    pub annotator: Option<String>,
    /// Where others were who labelled or reviewed here, by their names.
    pub others: BTreeMap<String, PersonPlace>,
    /// The query of live search.
    pub query: String,
    /// The words looked for in texts.
    pub words: String,
    /// The run whose curves were shown.
    pub curves: Option<String>,
    /// Run and model of both sides of a comparison.
    pub compared: Option<[(String, String); 2]>,
    /// Notes that were written and are not saved.
    pub drafts: Vec<NoteDraft>,
}

/// A note that was written and is not saved: the program ended before, or the disk took it not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NoteDraft {
    /// Who writes it.
    pub annotator: String,
    /// The run.
    pub run: String,
    /// Annotating or deciding: the part's name.
    pub part: String,
    /// The reply.
    pub reply: String,
    /// What was written.
    pub text: String,
}

/// The question on the instance screen.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenQuestion {
    /// Its id.
    pub question: String,
    /// What was asked for.
    pub condition: Condition,
    /// The focused panel.
    pub panel: String,
    /// Rows scrolled per panel, as on the screen of that time.
    pub scroll: Vec<usize>,
    /// Whether right answers were shown.
    pub gold: Option<bool>,
    /// Whether the reply was shown as received.
    pub raw: bool,
    /// Whether the panel filled the screen.
    pub zoom: bool,
    /// How adversarial documents were shown.
    pub diff: String,
}

/// Where another person was.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PersonPlace {
    /// In a queue.
    pub queue: Option<QueuePlace>,
    /// In the review.
    pub review: Option<ReviewPlace>,
}

/// A place in a queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct QueuePlace {
    /// The run.
    pub run: String,
    /// Annotating or deciding: the part's name.
    pub part: String,
    /// The reply.
    pub reply: Option<String>,
    /// Its row in the run store.
    pub row: Option<i64>,
    /// Its question.
    pub question: Option<String>,
}

/// A place in the review of a dataset.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewPlace {
    /// Reviewing or deciding: the part's name.
    pub part: String,
    /// The item.
    pub item: Option<String>,
    /// How an edit was shown.
    pub diff: String,
}

/// The file for a dataset: of its folder's name, and a hash of `place`, which tells folders of one name apart.
pub fn file(state: &Path, name: &str, place: &str) -> PathBuf {
    let kept = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(32).map(kept).collect();
    let hash = hex(&Sha256::digest(place.as_bytes())[..8]);
    state.join("sessions").join(format!("{name}-{hash}.json"))
}

/// Reads where one was; `None` where nothing is remembered.
///
/// # Errors
/// One sentence: the file is damaged, or a newer program wrote it.
pub fn read(path: &Path) -> Result<Option<Session>, String> {
    let failed = |why: String| {
        format!(
            "Where you were can't be read from {}: {why}; starting afresh",
            path.display()
        )
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error.to_string())),
    };
    let mut text = String::new();
    let read = file.take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > LARGEST {
        return Err(failed(format!("it is larger than {} kB", LARGEST >> 10)));
    }
    let stamp: Stamp =
        serde_json::from_str(&text).map_err(|error| failed(format!("it is damaged ({error})")))?;
    match stamp.version {
        VERSION => {}
        0 => return Err(failed("it is damaged (it has no version)".to_owned())),
        newer => {
            return Err(failed(format!(
                "a newer medrgb wrote it (form {newer}, this one knows {VERSION})"
            )));
        }
    }
    let session: Session =
        serde_json::from_str(&text).map_err(|error| failed(format!("it is damaged ({error})")))?;
    Ok(Some(session.sound()))
}

/// Writes where one is, whole or not at all.
///
/// # Errors
/// One sentence.
pub fn write(path: &Path, session: &Session) -> Result<(), String> {
    let failed = |why: String| format!("Where you are can't be remembered: {why}");
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| failed(format!("{}: {error}", folder.display())))?;
    }
    let text = serde_json::to_string_pretty(session).map_err(|error| failed(error.to_string()))?;
    output::write_text(path, &text).map_err(|error| failed(error.to_string()))
}

/// What every form of the file has.
#[derive(Deserialize)]
struct Stamp {
    #[serde(default)]
    version: u32,
}

impl Session {
    /// Without an open question whose condition no context has: somebody wrote it by hand.
    fn sound(mut self) -> Session {
        let numbers = |open: &OpenQuestion| (0.0..=100.0).contains(&open.condition.p);
        self.open = self.open.filter(|open| {
            numbers(open) && open.condition.docs <= crate::domain::context::MAX_DOCS
        });
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn session() -> Session {
        Session {
            version: VERSION,
            screen: "instance".into(),
            filter: "zinc \u{1b}".into(),
            facets: [("outcome".into(), ["wrong".into()].into())].into(),
            open: Some(OpenQuestion {
                question: "q1".into(),
                scroll: vec![1, 2],
                ..OpenQuestion::default()
            }),
            compared: Some([("a".into(), "m".into()), ("b".into(), "m".into())]),
            ..Session::default()
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "my set/…", "/data/my set");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, &session()).unwrap();
        assert_eq!(read(&path).unwrap(), Some(session()));
        assert!(path.ends_with("sessions") || path.parent().unwrap().ends_with("sessions"));
        assert_ne!(path, file(folder.path(), "my set/…", "/elsewhere/my set"));
        assert!(std::fs::metadata(&path).unwrap().len() < 2000);
    }

    #[test]
    fn damage_and_newer_forms_are_one_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.json");
        let why = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err()
        };
        for (text, expected) in [
            (&b"{\"version\": 1"[..], "it is damaged"),
            (b"", "it is damaged"),
            (b"[]", "it is damaged"),
            (b"{}", "it has no version"),
            (b"{\"version\": 1, \"filter\": 7}", "it is damaged"),
            (
                b"{\"version\": 9, \"filter\": 7}",
                "a newer medrgb wrote it (form 9",
            ),
            (b"\xff\xfe", "valid UTF-8"),
        ] {
            let why = why(text);
            assert!(why.contains(expected), "{why}");
            assert!(
                why.contains("s.json") && why.ends_with("starting afresh"),
                "{why}"
            );
        }
        let huge = vec![b' '; (LARGEST + 9) as usize];
        assert!(why(&huge).contains("larger than"));
        assert!(read(folder.path()).is_err(), "a folder is no file");
    }

    #[test]
    fn unknown_fields_and_impossible_conditions_do_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.json");
        let text = r#"{"version": 1, "colour": "red", "open": {"question": "q", "condition":
            {"scenario":"standard","docs":5,"p":1e9,"seed":0,"mode":"nested","source":"any"}}}"#;
        std::fs::write(&path, text).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().open, None);
    }
}
