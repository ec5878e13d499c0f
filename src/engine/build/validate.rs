//! Checking a dataset by the rules of making one; no model is needed.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::data::dataset::Dataset;
use crate::domain::build::{EditSize, Issue, IssueKind, Level, near_duplicates};
use crate::domain::context::Pools;
use crate::domain::mention::{Searchable, is_telling};
use crate::domain::question::Question;
use crate::domain::review::{Content, Found as Looked, findings};
use crate::domain::text::{short, text_key};

/// Issues of a kind that are kept with their place; all are counted.
const EXAMPLES: usize = 200;

/// An issue and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundIssue {
    /// What.
    pub kind: IssueKind,
    /// How bad.
    pub level: Level,
    /// The question.
    pub question_id: String,
    /// The document; empty where it is about the question or a file.
    pub document: String,
    /// One sentence.
    pub detail: String,
}

/// How much edits change.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct EditRatios {
    /// The mean share of changed words.
    pub mean: f64,
    /// The largest.
    pub largest: f64,
}

/// What is wrong with a dataset.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Validation {
    /// Questions.
    pub questions: usize,
    /// Their signal documents (one that is signal for two questions counts twice).
    pub documents: usize,
    /// Their sub-questions.
    pub sub_questions: usize,
    /// Their adversarial versions.
    pub counterfactuals: usize,
    /// Issues that make items measure something else.
    pub errors: usize,
    /// Issues that should be looked at.
    pub warnings: usize,
    /// What is good to know.
    pub notices: usize,
    /// How often each kind was found; kinds that were not found are left out.
    pub kinds: BTreeMap<IssueKind, usize>,
    /// How much the edits change; null without adversarial versions.
    pub edit_ratio: Option<EditRatios>,
    /// The issues, the worst kinds first, at most 200 of a kind.
    pub issues: Vec<FoundIssue>,
}

/// Checks every question of a dataset.
pub fn validate(dataset: &Dataset) -> Validation {
    let mut found = Found::default();
    for problem in &dataset.problems {
        found.add(
            "",
            "",
            Issue {
                kind: IssueKind::UnreadableRecord,
                detail: problem.clone(),
            },
        );
    }
    let mut ratios = Vec::new();
    let mut asked: HashMap<u128, &str> = HashMap::new();
    for question in &dataset.questions {
        let first = *asked.entry(question.key()).or_insert(&question.id);
        if first != question.id {
            let detail = format!("{} asks the same and has the same options", short(first));
            found.say(question, "", IssueKind::RepeatedQuestion, detail);
        }
        let pools = dataset.pools(&question.id);
        found.sums.documents += pools.signal.len();
        found.sums.sub_questions += pools.sub_questions.len();
        found.sums.counterfactuals += pools.counterfactuals.len();
        documents(question, &pools, &mut found);
        items(question, &pools, &mut found, &mut ratios);
    }
    near(dataset, &mut found);
    found.sums.questions = dataset.questions.len();
    found.sums.edit_ratio = (!ratios.is_empty()).then(|| EditRatios {
        mean: ratios.iter().sum::<f64>() / ratios.len() as f64,
        largest: ratios.iter().copied().fold(0.0, f64::max),
    });
    found.finish()
}

/// Issues so far.
#[derive(Default)]
struct Found {
    sums: Validation,
    issues: BTreeMap<IssueKind, Vec<FoundIssue>>,
}

impl Found {
    fn add(&mut self, question_id: &str, document: &str, issue: Issue) {
        let level = issue.kind.level();
        match level {
            Level::Error => self.sums.errors += 1,
            Level::Warning => self.sums.warnings += 1,
            Level::Notice => self.sums.notices += 1,
        }
        *self.sums.kinds.entry(issue.kind).or_default() += 1;
        let examples = self.issues.entry(issue.kind).or_default();
        if examples.len() < EXAMPLES {
            examples.push(FoundIssue {
                kind: issue.kind,
                level,
                question_id: question_id.to_owned(),
                document: document.to_owned(),
                detail: issue.detail,
            });
        }
    }

    fn say(&mut self, question: &Question, document: &str, kind: IssueKind, detail: String) {
        self.add(&question.id, document, Issue { kind, detail });
    }

    fn finish(mut self) -> Validation {
        for kind in IssueKind::ALL {
            self.sums
                .issues
                .extend(self.issues.remove(&kind).unwrap_or_default());
        }
        self.sums
    }
}

fn documents(question: &Question, pools: &Pools<'_>, found: &mut Found) {
    if pools.signal.is_empty() {
        let detail = "the question has no signal document".to_owned();
        found.say(question, "", IssueKind::WithoutDocuments, detail);
    }
    let gold = question.gold_text();
    let tells = !question.is_yes_no_maybe() && is_telling(gold);
    let wanted = Searchable::new(gold);
    let mut texts: HashMap<u128, &str> = HashMap::new();
    for document in pools.signal {
        if let Some(first) = texts.insert(text_key(&document.content), &document.id) {
            let detail = format!("it has the text of {}", short(first));
            found.say(question, &document.id, IssueKind::RepeatedDocument, detail);
        }
        if tells && Searchable::new(&document.content).mentions(&wanted) {
            let detail = format!("it states the right option \"{}\"", short(gold));
            found.say(question, &document.id, IssueKind::StatesRightOption, detail);
        }
    }
}

/// What is wrong with the sub-questions and adversarial versions of a question, and how much the versions change.
fn items(question: &Question, pools: &Pools<'_>, found: &mut Found, ratios: &mut Vec<f64>) {
    for Looked { item, issues } in findings(question, pools, |_| None) {
        for issue in issues {
            found.add(&question.id, &item.doc_id, issue);
        }
        let original = pools.signal.iter().find(|one| one.id == item.doc_id);
        if let (Content::Edit { text, .. }, Some(original)) = (&item.content, original) {
            ratios.push(EditSize::of(&original.content, text).ratio());
        }
    }
}

/// Documents that are nearly the same but not signal for the same questions: each would be noise for the other's.
fn near(dataset: &Dataset, found: &mut Found) {
    let documents = dataset.documents();
    let texts: Vec<&str> = documents
        .iter()
        .map(|(document, _)| document.content.as_str())
        .collect();
    for pair in near_duplicates(&texts) {
        let ((first, owners), (second, others)) = (&documents[pair.first], &documents[pair.second]);
        let together = owners.len() == others.len() && owners.iter().all(|id| others.contains(id));
        if together {
            continue;
        }
        let detail = format!(
            "{:.0} % of its wording stands in {} of question {} too",
            pair.overlap * 100.0,
            short(&first.id),
            owners.first().map(|id| short(id)).unwrap_or_default()
        );
        let question = others.first().copied().unwrap_or_default();
        found.add(
            question,
            &second.id,
            Issue {
                kind: IssueKind::NearDuplicateNoise,
                detail,
            },
        );
    }
}
