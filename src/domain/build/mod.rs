//! Rules of making a benchmark: what a good sub-question, a good adversarial version and a good set of documents are.
//!
//! `build` asks a model again where a rule is broken, `build validate` applies the same rules to any dataset.

mod alike;
mod alone;
mod checks;
pub mod closing;
mod edit;
mod markers;
mod near;
mod read;
mod report;
pub mod settings;
mod stage;

use serde::{Deserialize, Serialize};

pub use alike::alike;
pub use alone::{content_words, why_not_alone};
pub use checks::{adversarial, sub_question};
pub use edit::{EditSize, apply, sentences, stating};
pub use markers::leaked;
pub use near::{Similar, near_duplicates};
pub use read::{
    EditDraft, SubDraft, Summary, read_edit, read_links, read_sub_question, read_summary,
    read_topics, read_verdict,
};
pub use report::{Loss, QuestionReport, Reason, StageReport, by_reason};
pub use settings::{Private, Scope, Settings};
pub use stage::{Held, Predicted, Stage, StagePlan, Tally};

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The item measures something else than it should: `build` drops it.
    Error,
    /// The item can be used, but should be looked at: `build` asks again, and keeps it if it stays so.
    Warning,
    /// Good to know.
    Notice,
}

/// What can be wrong with an item of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueKind {
    /// A record of the files that can't be read.
    UnreadableRecord,
    /// A sub-answer that is no span of its document.
    AnswerNotInDocument,
    /// A sub-answer such as "yes", which can't be found in a text.
    AnswerSaysNothing,
    /// A sub-question that can't be understood without the main question or the document.
    QuestionNotAlone,
    /// An adversarial version with the same text as its original.
    Unchanged,
    /// An adversarial version that does not contain the planted answer.
    PlantedMissing,
    /// An adversarial version that still contains the true answer.
    TrueAnswerLeft,
    /// A planted answer that means the same as the true one.
    PlantedIsTrue,
    /// A word that gives the adversarial version away, such as "counterfactual".
    LeakedMarker,
    /// A sub-answer of more than [`MOST_ANSWER_WORDS`] words.
    LongAnswer,
    /// A sub-question that contains its own answer.
    QuestionGivesAnswer,
    /// A title, which an adversarial version keeps, that states the true answer.
    AnswerInTitle,
    /// Two documents of a question with the same sub-question.
    RepeatedSubQuestion,
    /// A planted answer that is a part of the true one, so that they need not contradict.
    PlantedOverlapsTrue,
    /// An edit that changes more than [`MOST_CHANGED`] of the words.
    LargeEdit,
    /// An adversarial version that is much shorter or longer than its original.
    LengthChanged,
    /// An adversarial version of a document without a sub-question: no scenario can use it.
    WithoutSubQuestion,
    /// A question with the text and the options of another one.
    RepeatedQuestion,
    /// The same text twice among the documents of a question.
    RepeatedDocument,
    /// Nearly the same text at two questions: as noise it would be signal.
    NearDuplicateNoise,
    /// A question without any document.
    WithoutDocuments,
    /// A planted answer that stands in the original document too.
    PlantedStoodBefore,
    /// A signal document that states the right option's text.
    StatesRightOption,
}

/// The most words of a short answer.
pub const MOST_ANSWER_WORDS: usize = 12;
/// The largest share of words that a small edit changes, see [`EditSize::ratio`].
pub const MOST_CHANGED: f64 = 0.25;
/// How much longer or shorter an edited text may be: a share of the original's characters.
pub const MOST_LENGTH_CHANGE: f64 = 0.2;

impl IssueKind {
    /// All kinds, the worst first.
    pub const ALL: [IssueKind; 23] = [
        IssueKind::UnreadableRecord,
        IssueKind::AnswerNotInDocument,
        IssueKind::AnswerSaysNothing,
        IssueKind::QuestionNotAlone,
        IssueKind::Unchanged,
        IssueKind::PlantedMissing,
        IssueKind::TrueAnswerLeft,
        IssueKind::PlantedIsTrue,
        IssueKind::LeakedMarker,
        IssueKind::LongAnswer,
        IssueKind::QuestionGivesAnswer,
        IssueKind::AnswerInTitle,
        IssueKind::RepeatedSubQuestion,
        IssueKind::PlantedOverlapsTrue,
        IssueKind::LargeEdit,
        IssueKind::LengthChanged,
        IssueKind::WithoutSubQuestion,
        IssueKind::RepeatedQuestion,
        IssueKind::RepeatedDocument,
        IssueKind::NearDuplicateNoise,
        IssueKind::WithoutDocuments,
        IssueKind::PlantedStoodBefore,
        IssueKind::StatesRightOption,
    ];

    /// How bad it is.
    pub fn level(self) -> Level {
        match self {
            IssueKind::UnreadableRecord
            | IssueKind::AnswerNotInDocument
            | IssueKind::AnswerSaysNothing
            | IssueKind::QuestionNotAlone
            | IssueKind::Unchanged
            | IssueKind::PlantedMissing
            | IssueKind::TrueAnswerLeft
            | IssueKind::PlantedIsTrue
            | IssueKind::LeakedMarker => Level::Error,
            IssueKind::PlantedStoodBefore | IssueKind::StatesRightOption => Level::Notice,
            _ => Level::Warning,
        }
    }

    /// The name in files.
    pub fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => String::new(),
        }
    }

    /// What it means of one item, for people.
    pub fn single(self) -> &'static str {
        match self {
            IssueKind::UnreadableRecord => "the record can't be read",
            IssueKind::AnswerNotInDocument => "the answer does not stand in the document",
            IssueKind::AnswerSaysNothing => "the answer is a word such as \"yes\"",
            IssueKind::QuestionNotAlone => "the question can't be understood alone",
            IssueKind::Unchanged => "nothing is changed",
            IssueKind::PlantedMissing => "the planted answer does not stand in the text",
            IssueKind::TrueAnswerLeft => "the true answer still stands in the text",
            IssueKind::PlantedIsTrue => "the planted answer means the true one",
            IssueKind::LeakedMarker => "the text gives itself away",
            IssueKind::LongAnswer => "the answer is too long",
            IssueKind::QuestionGivesAnswer => "the question contains its answer",
            IssueKind::AnswerInTitle => "the title states the true answer",
            IssueKind::RepeatedSubQuestion => "another document is asked the same",
            IssueKind::PlantedOverlapsTrue => "the planted answer is part of the true one",
            IssueKind::LargeEdit => "too much is changed",
            IssueKind::LengthChanged => "the length is another",
            IssueKind::WithoutSubQuestion => "its document has no sub-question",
            IssueKind::RepeatedQuestion => "another question asks the same",
            IssueKind::RepeatedDocument => "the document stands there twice",
            IssueKind::NearDuplicateNoise => "nearly the same text stands at another question",
            IssueKind::WithoutDocuments => "the question has no documents",
            IssueKind::PlantedStoodBefore => "the planted answer stands in the original too",
            IssueKind::StatesRightOption => "the document states the right option",
        }
    }

    /// What it means, for people.
    pub fn words(self) -> &'static str {
        match self {
            IssueKind::UnreadableRecord => "records that can't be read",
            IssueKind::AnswerNotInDocument => "sub-answers that do not stand in their document",
            IssueKind::AnswerSaysNothing => "sub-answers such as \"yes\"",
            IssueKind::QuestionNotAlone => "sub-questions that can't be understood alone",
            IssueKind::Unchanged => "adversarial versions that change nothing",
            IssueKind::PlantedMissing => "adversarial versions without the planted answer",
            IssueKind::TrueAnswerLeft => "adversarial versions with the true answer",
            IssueKind::PlantedIsTrue => "planted answers that mean the true one",
            IssueKind::LeakedMarker => "adversarial versions that give themselves away",
            IssueKind::LongAnswer => "sub-answers of more than 12 words",
            IssueKind::QuestionGivesAnswer => "sub-questions that contain their answer",
            IssueKind::AnswerInTitle => {
                "titles that state the true answer beside an adversarial text"
            }
            IssueKind::RepeatedSubQuestion => "sub-questions asked twice at one question",
            IssueKind::PlantedOverlapsTrue => "planted answers that are part of the true one",
            IssueKind::LargeEdit => "adversarial versions with more than a quarter changed",
            IssueKind::LengthChanged => "adversarial versions of another length",
            IssueKind::WithoutSubQuestion => "adversarial versions without a sub-question",
            IssueKind::RepeatedQuestion => "questions that repeat another one",
            IssueKind::RepeatedDocument => "documents twice at one question",
            IssueKind::NearDuplicateNoise => {
                "documents nearly the same at two questions (bad noise)"
            }
            IssueKind::WithoutDocuments => "questions without documents",
            IssueKind::PlantedStoodBefore => "planted answers that stand in the original too",
            IssueKind::StatesRightOption => "signal documents that state the right option",
        }
    }
}

/// Something that is wrong with an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// What.
    pub kind: IssueKind,
    /// One sentence with the words in question, for people and for the model that is asked again.
    pub detail: String,
}

impl Issue {
    fn new(kind: IssueKind, detail: impl Into<String>) -> Issue {
        Issue {
            kind,
            detail: detail.into(),
        }
    }
}
