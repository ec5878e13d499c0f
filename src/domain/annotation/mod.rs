//! What people find in replies: a taxonomy of failures, annotations as a history of changes, and how far
//! annotators agree.

use sha2::{Digest, Sha256};

use crate::domain::context::Condition;

mod agreement;
mod book;
mod taxonomy;

pub use agreement::{Agreed, LabelAgreement, Overlap, agree, disputed};
pub use book::{Act, Annotation, Book, Change, Event, Moved};
pub use taxonomy::{Label, MOST_LABELS, Taxonomy};

/// In which part somebody decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Part {
    /// As one of several annotators, who do not see each other's labels.
    #[default]
    Annotator,
    /// As the one who decides where annotators differ, and sees what each of them said.
    Adjudicator,
}

impl Part {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Part::Annotator => "annotation",
            Part::Adjudicator => "adjudication",
        }
    }

    /// The part with this name.
    pub fn named(name: &str) -> Option<Part> {
        [Part::Annotator, Part::Adjudicator]
            .into_iter()
            .find(|part| part.name() == name)
    }
}

/// Whose annotations: a person in a part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hand {
    /// The person's name.
    pub annotator: String,
    /// What the person does.
    pub part: Part,
}

/// What tells a reply from all others, also in the stores of other machines, where row ids and the names of runs
/// may differ.
#[derive(Debug, Clone, Copy)]
pub struct ReplyMarks<'a> {
    /// SHA-256 of the dataset's files.
    pub dataset_fingerprint: &'a str,
    /// The question.
    pub question_id: &'a str,
    /// What was asked for.
    pub condition: &'a Condition,
    /// What was changed in the context by hand.
    pub variant: Option<&'a str>,
    /// Name of the model.
    pub model: &'a str,
    /// When it was stored.
    pub created_at: &'a str,
    /// The reply as received.
    pub raw: &'a str,
}

impl ReplyMarks<'_> {
    /// The reply's id: 24 hexadecimal digits of a hash over all marks.
    pub fn id(&self) -> String {
        let c = self.condition;
        let condition = format!(
            "{} {} {} {} {} {}",
            c.scenario.name(),
            c.docs,
            c.p,
            c.seed,
            c.mode.name(),
            c.source.name()
        );
        let mut hash = Sha256::new();
        for part in [
            self.dataset_fingerprint,
            self.question_id,
            &condition,
            self.variant.unwrap_or_default(),
            self.model,
            self.created_at,
            self.raw,
        ] {
            // The length keeps two parts from reading like two others.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let digest = hash.finalize();
        digest[..12]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// The most bytes of a note, however it comes: typed, from an editor, from a file of annotations.
pub const LONGEST_NOTE: usize = 1 << 20;

/// The longest name of an annotator, in characters.
const LONGEST_NAME: usize = 60;

/// A person's name as it is stored: on one line, without what could drive a terminal, at most 60 characters;
/// `None` where nothing is left.
pub fn annotator_name(text: &str) -> Option<String> {
    use crate::domain::text::one_line;
    let name: String = one_line(text).chars().take(LONGEST_NAME).collect();
    let name = name.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// A person's name from a file: [`annotator_name`], but one that is too long is refused, since two may begin alike.
///
/// # Errors
/// Half a sentence, to follow the name of the field.
pub fn given_name(text: &str) -> Result<String, String> {
    let length = text.chars().count();
    if length > LONGEST_NAME {
        return Err(format!(
            "has {length} characters; at most {LONGEST_NAME} are expected"
        ));
    }
    annotator_name(text).ok_or_else(|| "is empty".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_mark_counts_and_ids_never_change() {
        let condition = Condition::default();
        let marks = ReplyMarks {
            dataset_fingerprint: "f",
            question_id: "q",
            condition: &condition,
            variant: None,
            model: "m",
            created_at: "2026-11-30T10:00:00Z",
            raw: "reply",
        };
        let id = marks.id();
        assert_eq!(id.len(), 24);
        let other = Condition {
            seed: 1,
            ..condition
        };
        for changed in [
            ReplyMarks {
                question_id: "qr",
                raw: "eply",
                ..marks
            },
            ReplyMarks {
                condition: &other,
                ..marks
            },
            ReplyMarks {
                variant: Some("swap"),
                ..marks
            },
            ReplyMarks {
                created_at: "2026-11-30T10:00:01Z",
                ..marks
            },
        ] {
            assert_ne!(changed.id(), id);
        }
        // Stored annotations name replies by it: another hash would orphan them.
        assert_eq!(id, "773d87aa454449d1b8e079b1");
    }

    #[test]
    fn names_are_one_line_without_control_characters() {
        assert_eq!(annotator_name(" Ana\u{1b}[31m\nB. ").unwrap(), "Ana B.");
        assert_eq!(annotator_name("\u{7} \n"), None);
        assert_eq!(annotator_name(&"x".repeat(99)).unwrap().len(), 60);
    }
}
