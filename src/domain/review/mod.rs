//! What people decide about the items of a benchmark: each sub-question and each adversarial edit is accepted, edited
//! or rejected with a reason.

use sha2::{Digest, Sha256};

use crate::domain::build::IssueKind;
use crate::domain::context::Pools;
use crate::domain::passage::{Counterfactual, Document, SubQuestion};
use crate::domain::question::Question;
use crate::domain::text::hex;

mod agreement;
mod apply;
mod book;
mod findings;
mod form;
mod settle;

pub use agreement::{Agreed, KindAgreement, agree};
pub use apply::{Applied, KindTally, Tally, apply};
pub use book::{Act, Change, Decision, Event, Moved, ReviewBook};
pub use findings::{Found, findings};
pub use form::{LONGEST_FORM, form_of, read_form};
pub use settle::{Settled, disputed, settle};

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemKind {
    /// A sub-question of a document, with its answer.
    SubQuestion,
    /// An adversarial version of a document.
    Edit,
}

impl ItemKind {
    /// Both.
    pub const ALL: [ItemKind; 2] = [ItemKind::SubQuestion, ItemKind::Edit];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            ItemKind::SubQuestion => "sub_question",
            ItemKind::Edit => "edit",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<ItemKind> {
        ItemKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The noun for people.
    pub fn noun(self) -> &'static str {
        match self {
            ItemKind::SubQuestion => "sub-question",
            ItemKind::Edit => "adversarial edit",
        }
    }
}

/// What an item says: what it holds in the dataset, or what a person has made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Of a sub-question.
    SubQuestion {
        /// The sub-question.
        question: String,
        /// Its short answer, a span of the document.
        answer: String,
    },
    /// Of an adversarial version.
    Edit {
        /// The planted answer.
        planted: String,
        /// The edited text.
        text: String,
    },
}

impl Content {
    /// Of which kind.
    pub fn kind(&self) -> ItemKind {
        match self {
            Content::SubQuestion { .. } => ItemKind::SubQuestion,
            Content::Edit { .. } => ItemKind::Edit,
        }
    }

    /// Its two texts: question and answer, planted answer and text.
    pub fn texts(&self) -> (&str, &str) {
        match self {
            Content::SubQuestion { question, answer } => (question, answer),
            Content::Edit { planted, text } => (planted, text),
        }
    }
}

/// An item of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What tells it from all others, also in a copy of the dataset: 24 hexadecimal digits of a hash over its content
    /// and that of its document. An item that is made anew is another one.
    pub id: String,
    /// The question that its document is signal for.
    pub question_id: String,
    /// Its document.
    pub doc_id: String,
    /// Position among the question's sub-questions or adversarial versions.
    pub at: usize,
    /// What it says in the dataset.
    pub content: Content,
}

impl Item {
    /// What it is.
    pub fn kind(&self) -> ItemKind {
        self.content.kind()
    }
}

/// The items of a question: document by document, its sub-questions before its adversarial versions.
pub fn items(question: &Question, pools: &Pools<'_>) -> Vec<Item> {
    let mut found = Vec::new();
    for document in pools.signal {
        let item = |at: usize, content: Content| Item {
            id: id(&question.id, document, &content),
            question_id: question.id.clone(),
            doc_id: document.id.clone(),
            at,
            content,
        };
        let subs = pools.sub_questions.iter().enumerate();
        let of_it = subs.filter(|(_, sub)| sub.doc_id == document.id);
        found.extend(of_it.map(|(at, sub)| item(at, content_of_sub(sub))));
        let versions = pools.counterfactuals.iter().enumerate();
        let of_it = versions.filter(|(_, version)| version.original_id == document.id);
        found.extend(of_it.map(|(at, version)| item(at, content_of_version(version))));
    }
    found
}

fn content_of_sub(sub: &SubQuestion) -> Content {
    Content::SubQuestion {
        question: sub.question.clone(),
        answer: sub.answer.clone(),
    }
}

fn content_of_version(version: &Counterfactual) -> Content {
    Content::Edit {
        planted: version.new_answer.clone(),
        text: version.edited_document.clone(),
    }
}

fn id(question_id: &str, document: &Document, content: &Content) -> String {
    let (one, other) = content.texts();
    let mut hash = Sha256::new();
    for part in [
        content.kind().name(),
        question_id,
        &document.id,
        &document.content,
        one,
        other,
    ] {
        // The length keeps two parts from reading like two others.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize()[..12])
}

/// Why an item is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// What the checks look for too.
    Check(IssueKind),
    /// What it says of medicine is wrong, where it should be right.
    Wrong,
    /// More than one answer is right.
    Ambiguous,
    /// It does not belong to the question.
    OffTopic,
    /// It reads as nobody would write it.
    Unnatural,
    /// The edit is implausible: nobody would believe it.
    Implausible,
    /// In the person's own words.
    Other,
}

/// The kinds of checks that a person may name for a sub-question.
const SUB_CHECKS: [IssueKind; 7] = [
    IssueKind::AnswerNotInDocument,
    IssueKind::AnswerSaysNothing,
    IssueKind::QuestionNotAlone,
    IssueKind::LongAnswer,
    IssueKind::QuestionGivesAnswer,
    IssueKind::AnswerInTitle,
    IssueKind::RepeatedSubQuestion,
];

/// The same for an adversarial version.
const EDIT_CHECKS: [IssueKind; 9] = [
    IssueKind::Unchanged,
    IssueKind::PlantedMissing,
    IssueKind::TrueAnswerLeft,
    IssueKind::PlantedIsTrue,
    IssueKind::PlantedOverlapsTrue,
    IssueKind::LeakedMarker,
    IssueKind::LargeEdit,
    IssueKind::LengthChanged,
    IssueKind::WithoutSubQuestion,
];

impl Reason {
    /// The reasons that fit a kind of item, what people find first.
    pub fn of(kind: ItemKind) -> Vec<Reason> {
        let own: &[Reason] = match kind {
            ItemKind::SubQuestion => &[
                Reason::Wrong,
                Reason::Ambiguous,
                Reason::OffTopic,
                Reason::Unnatural,
            ],
            ItemKind::Edit => &[Reason::Wrong, Reason::Implausible, Reason::Unnatural],
        };
        let checks: &[IssueKind] = match kind {
            ItemKind::SubQuestion => &SUB_CHECKS,
            ItemKind::Edit => &EDIT_CHECKS,
        };
        let checks = checks.iter().map(|check| Reason::Check(*check));
        own.iter()
            .copied()
            .chain(checks)
            .chain([Reason::Other])
            .collect()
    }

    /// The name in files.
    pub fn name(self) -> String {
        match self {
            Reason::Check(kind) => kind.name(),
            Reason::Wrong => "wrong".to_owned(),
            Reason::Ambiguous => "ambiguous".to_owned(),
            Reason::OffTopic => "off_topic".to_owned(),
            Reason::Unnatural => "unnatural".to_owned(),
            Reason::Implausible => "implausible".to_owned(),
            Reason::Other => "other".to_owned(),
        }
    }

    /// The reason with this name.
    pub fn named(name: &str) -> Option<Reason> {
        ItemKind::ALL
            .into_iter()
            .flat_map(Reason::of)
            .find(|reason| reason.name() == name)
    }

    /// What it means, for people.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Check(kind) => kind.single(),
            Reason::Wrong => "medically wrong where it should be right",
            Reason::Ambiguous => "more than one answer is right",
            Reason::OffTopic => "does not belong to the question",
            Reason::Unnatural => "reads as nobody would write it",
            Reason::Implausible => "implausible: nobody would believe it",
            Reason::Other => "another reason, in your own words",
        }
    }
}

/// What a person decides about an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is good as it is.
    Accepted,
    /// It is good like this.
    Edited(Content),
    /// It can't be used.
    Rejected {
        /// Why.
        reason: Reason,
        /// More about it; may be empty.
        words: String,
    },
}

impl Verdict {
    /// The names in files and counts, in the order in which they are shown.
    pub const NAMES: [&'static str; 3] = ["accepted", "edited", "rejected"];

    /// Its place in [`Verdict::NAMES`].
    pub fn place(&self) -> usize {
        match self {
            Verdict::Accepted => 0,
            Verdict::Edited(_) => 1,
            Verdict::Rejected { .. } => 2,
        }
    }

    /// The name in files.
    pub fn name(&self) -> &'static str {
        Verdict::NAMES[self.place()]
    }

    /// What an item says by this verdict: itself, what was made of it, or nothing.
    pub fn content<'a>(&'a self, own: &'a Content) -> Option<&'a Content> {
        match self {
            Verdict::Accepted => Some(own),
            Verdict::Edited(content) => Some(content),
            Verdict::Rejected { .. } => None,
        }
    }

    /// Whether two people decide alike: the same verdict, and where they edited the same text.
    pub fn is_like(&self, other: &Verdict) -> bool {
        match (self, other) {
            (Verdict::Edited(one), Verdict::Edited(two)) => one == two,
            _ => self.place() == other.place(),
        }
    }
}

#[cfg(test)]
pub(in crate::domain::review) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::context::NoisePool;
    use crate::domain::question::Choice;
    use serde_json::Map;

    /// A question with two documents; made up.
    pub struct Small {
        pub question: Question,
        pub noise: NoisePool,
        pub subs: Vec<SubQuestion>,
        pub versions: Vec<Counterfactual>,
    }

    pub fn small() -> Small {
        let option = |letter, text: &str| Choice {
            letter,
            text: text.into(),
        };
        let question = Question {
            id: "q".into(),
            text: "Which organ stores iron?".into(),
            options: vec![option('A', "liver"), option('B', "heart")],
            answer: 'A',
            extra: Map::new(),
        };
        let document = |id: &str, content: &str| Document {
            id: id.into(),
            title: "Stores".into(),
            content: content.into(),
            source: None,
            extra: Map::new(),
        };
        let documents = vec![
            document(
                "d1",
                "Most of the iron of mammals lies in the liver of the animal, and little is lost on the way.",
            ),
            document(
                "d2",
                "Hepatocytes keep ferritin for years, while the bone marrow takes what is needed for new cells.",
            ),
        ];
        let sub = |doc: &str, question: &str, answer: &str| SubQuestion {
            doc_id: doc.into(),
            question: question.into(),
            answer: answer.into(),
            extra: Map::new(),
        };
        let version = |doc: &str, planted: &str, text: &str| Counterfactual {
            original_id: doc.into(),
            new_answer: planted.into(),
            edited_document: text.into(),
            extra: Map::from_iter([("edit_ratio".to_owned(), 0.5.into())]),
        };
        Small {
            question,
            noise: NoisePool::build(vec![("q".into(), documents)]),
            subs: vec![
                sub("d1", "In which organ do mammals keep most iron?", "liver"),
                sub(
                    "d2",
                    "Which protein do hepatocytes keep for years?",
                    "ferritin",
                ),
            ],
            versions: vec![
                version(
                    "d1",
                    "spleen",
                    "Most of the iron of mammals lies in the spleen of the animal, and little is lost on the way.",
                ),
                version(
                    "d2",
                    "albumin",
                    "Hepatocytes keep albumin for years, while the bone marrow takes what is needed for new cells.",
                ),
            ],
        }
    }

    impl Small {
        pub fn pools(&self) -> Pools<'_> {
            Pools {
                signal: self.noise.signal("q"),
                sub_questions: &self.subs,
                counterfactuals: &self.versions,
                noise: &self.noise,
            }
        }

        pub fn items(&self) -> Vec<Item> {
            items(&self.question, &self.pools())
        }
    }

    #[test]
    fn items_come_document_by_document_and_are_known_by_all_that_they_are() {
        let small = small();
        let found = small.items();
        let order: Vec<(&str, ItemKind)> = found
            .iter()
            .map(|item| (item.doc_id.as_str(), item.kind()))
            .collect();
        assert_eq!(
            order,
            [
                ("d1", ItemKind::SubQuestion),
                ("d1", ItemKind::Edit),
                ("d2", ItemKind::SubQuestion),
                ("d2", ItemKind::Edit)
            ]
        );
        // Stored decisions name items by it: another hash would orphan them.
        assert_eq!(found[0].id.len(), 24);
        let mut other = super::tests::small();
        other.subs[0].answer = "the liver".into();
        other.versions[1].edited_document += " ";
        let changed = other.items();
        let same: Vec<bool> = found
            .iter()
            .zip(&changed)
            .map(|(a, b)| a.id == b.id)
            .collect();
        assert_eq!(same, [false, true, true, false]);
    }

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        for kind in ItemKind::ALL {
            let reasons = Reason::of(kind);
            for reason in &reasons {
                assert_eq!(Reason::named(&reason.name()), Some(*reason));
                assert!(!reason.words().is_empty());
            }
            assert_eq!(reasons.last(), Some(&Reason::Other));
        }
        assert_eq!(Reason::named("nonsense"), None);
    }
}
