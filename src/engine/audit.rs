//! The audit of a benchmark before any model is called: what its contexts and documents are really like.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::data::dataset::Dataset;
use crate::domain::context::ContextDocument;
use crate::domain::mention::{Searchable, is_telling};
use crate::domain::normalize::same;
use crate::domain::passage::{Counterfactual, Document, Role};
use crate::domain::question::Question;
use crate::domain::text::text_key;
use crate::engine::instance::{Instance, InstanceError};
use crate::engine::survey::{ConditionCounts, Place, Room, Space};

/// Findings of a kind that are kept as examples; all are counted.
pub const EXAMPLES: usize = 100;

/// What an audit looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Two questions with the same text and options.
    DuplicateQuestion,
    /// A document that stands twice among a question's signal documents, by id or by text.
    RepeatedSignalDocument,
    /// One id for different texts.
    OneIdForTwoTexts,
    /// A signal document of one question that is signal for another one too (never its noise).
    SharedSignalDocument,
    /// A context that holds the same document or text twice.
    RepeatedInContext,
    /// A noise document that contains the text of the right option (not in yes/no/maybe sets).
    NoiseWithGoldOption,
    /// A noise document that contains the true answer to a sub-question asked in the same context.
    NoiseWithSubAnswer,
    /// An adversarial version that is the same text as its original.
    CounterfactualUnchanged,
    /// An adversarial version that still contains the true answer.
    CounterfactualWithTrueAnswer,
    /// An adversarial version that does not contain the planted answer.
    CounterfactualWithoutPlanted,
    /// A planted answer that equals the true one.
    PlantedEqualsTrue,
    /// An adversarial version of a document without a sub-question: no scenario can use it.
    CounterfactualWithoutSubQuestion,
}

impl FindingKind {
    /// All kinds in the order in which they are shown.
    pub const ALL: [FindingKind; 12] = [
        FindingKind::DuplicateQuestion,
        FindingKind::RepeatedSignalDocument,
        FindingKind::OneIdForTwoTexts,
        FindingKind::SharedSignalDocument,
        FindingKind::RepeatedInContext,
        FindingKind::NoiseWithGoldOption,
        FindingKind::NoiseWithSubAnswer,
        FindingKind::CounterfactualUnchanged,
        FindingKind::CounterfactualWithTrueAnswer,
        FindingKind::CounterfactualWithoutPlanted,
        FindingKind::PlantedEqualsTrue,
        FindingKind::CounterfactualWithoutSubQuestion,
    ];

    /// What it means, for people.
    pub fn words(self) -> &'static str {
        match self {
            FindingKind::DuplicateQuestion => "questions that repeat another one",
            FindingKind::RepeatedSignalDocument => "signal documents twice at one question",
            FindingKind::OneIdForTwoTexts => "ids that stand for different texts",
            FindingKind::SharedSignalDocument => "signal documents of several questions",
            FindingKind::RepeatedInContext => "documents twice in one context",
            FindingKind::NoiseWithGoldOption => "noise with the right option's text",
            FindingKind::NoiseWithSubAnswer => "noise with a true sub-answer",
            FindingKind::CounterfactualUnchanged => "adversarial versions that change nothing",
            FindingKind::CounterfactualWithTrueAnswer => {
                "adversarial versions with the true answer"
            }
            FindingKind::CounterfactualWithoutPlanted => {
                "adversarial versions without the planted answer"
            }
            FindingKind::PlantedEqualsTrue => "planted answers that are the true ones",
            FindingKind::CounterfactualWithoutSubQuestion => {
                "adversarial versions without a sub-question"
            }
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was found.
    pub kind: FindingKind,
    /// Where.
    pub question_id: String,
    /// The document's id; empty where it is about the question.
    pub document: String,
    /// The phrase, or the other place.
    pub detail: String,
}

/// An audited condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedCondition {
    /// Instances, shortfalls, predicted tokens.
    #[serde(flatten)]
    pub counts: ConditionCounts,
    /// Noise documents in all contexts.
    pub noise_documents: usize,
    /// Of these, those that contain the right option's text.
    pub noise_with_gold_option: usize,
    /// Of these, those that contain the true answer to a sub-question of the context.
    pub noise_with_sub_answer: usize,
}

/// What an audit has found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// Questions looked at.
    pub questions: usize,
    /// Their signal documents (one that is signal for two questions counts twice).
    pub signal_documents: usize,
    /// Their adversarial versions.
    pub counterfactuals: usize,
    /// The conditions.
    pub conditions: Vec<AuditedCondition>,
    /// How often each kind was found; kinds that can't occur here are there with 0. A noise document counts
    /// once per question, in however many contexts it stands.
    pub found: BTreeMap<FindingKind, usize>,
    /// The first of each kind, at most [`EXAMPLES`].
    pub findings: Vec<Finding>,
}

/// Audits the contexts of a space and what they are made from. `progress` gets the number of questions done.
///
/// # Errors
/// As [`Space::instance`].
pub fn audit(
    space: &Space<'_>,
    room: Room,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Audit, InstanceError> {
    let start = || ContextAudit::new(space);
    let parts = space.walk(
        start,
        |part, place, instance| part.add(place, instance, room),
        progress,
    )?;
    let mut findings = Findings::default();
    let mut conditions: Vec<AuditedCondition> =
        space.conditions.iter().map(|c| blank(*c)).collect();
    let questions: Vec<&Question> = space
        .questions
        .iter()
        .map(|at| &space.dataset.questions[*at])
        .collect();
    documents(space.dataset, &questions, &mut findings);
    for part in parts {
        for (sum, counted) in conditions.iter_mut().zip(&part.conditions) {
            sum.counts.merge(&counted.counts);
            sum.noise_documents += counted.noise_documents;
            sum.noise_with_gold_option += counted.noise_with_gold_option;
            sum.noise_with_sub_answer += counted.noise_with_sub_answer;
        }
        findings.merge(part.findings);
    }
    let pools = || questions.iter().map(|q| space.dataset.pools(&q.id));
    Ok(Audit {
        questions: questions.len(),
        signal_documents: pools().map(|pools| pools.signal.len()).sum(),
        counterfactuals: pools().map(|pools| pools.counterfactuals.len()).sum(),
        conditions,
        found: FindingKind::ALL
            .into_iter()
            .map(|kind| (kind, findings.counts.get(&kind).copied().unwrap_or(0)))
            .collect(),
        findings: findings.in_order(),
    })
}

fn blank(condition: crate::domain::context::Condition) -> AuditedCondition {
    AuditedCondition {
        counts: ConditionCounts::new(condition),
        noise_documents: 0,
        noise_with_gold_option: 0,
        noise_with_sub_answer: 0,
    }
}

/// Counts of findings, and the first of each kind.
#[derive(Debug, Default)]
struct Findings {
    counts: BTreeMap<FindingKind, usize>,
    examples: BTreeMap<FindingKind, Vec<Finding>>,
}

impl Findings {
    fn add(&mut self, kind: FindingKind, question_id: &str, document: &str, detail: &str) {
        *self.counts.entry(kind).or_default() += 1;
        let examples = self.examples.entry(kind).or_default();
        if examples.len() < EXAMPLES {
            examples.push(Finding {
                kind,
                question_id: question_id.to_owned(),
                document: document.to_owned(),
                detail: detail.to_owned(),
            });
        }
    }

    fn merge(&mut self, other: Findings) {
        for (kind, count) in other.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        for (kind, more) in other.examples {
            let examples = self.examples.entry(kind).or_default();
            examples.extend(more);
            examples.truncate(EXAMPLES);
        }
    }

    fn in_order(self) -> Vec<Finding> {
        self.examples.into_values().flatten().collect()
    }
}

/// The audit of a part of the contexts, question by question.
struct ContextAudit<'a> {
    questions: &'a [Question],
    conditions: Vec<AuditedCondition>,
    findings: Findings,
    /// Documents in the form for searching, by id: noise comes again and again.
    texts: HashMap<String, Searchable>,
    /// What is known of the question at hand.
    question: Option<usize>,
    gold: Option<Searchable>,
    with_gold: HashMap<String, bool>,
    /// By document and answer.
    with_answer: HashMap<(String, String), bool>,
}

impl<'a> ContextAudit<'a> {
    fn new(space: &Space<'a>) -> ContextAudit<'a> {
        ContextAudit {
            questions: &space.dataset.questions,
            conditions: space.conditions.iter().map(|c| blank(*c)).collect(),
            findings: Findings::default(),
            texts: HashMap::new(),
            question: None,
            gold: None,
            with_gold: HashMap::new(),
            with_answer: HashMap::new(),
        }
    }

    fn add(&mut self, place: Place, instance: Option<&Instance>, room: Room) {
        if self.question != Some(place.question) {
            self.turn_to(place.question);
        }
        self.conditions[place.condition].counts.add(instance, room);
        let Some(instance) = instance else { return };
        self.repeats(instance);
        let mut noise = (0, 0, 0);
        for document in &instance.context.documents {
            if document.role == Role::Noise {
                noise.0 += 1;
                noise.1 += usize::from(self.has_gold(instance, document));
                noise.2 += usize::from(self.has_answer(instance, document));
            }
        }
        let sum = &mut self.conditions[place.condition];
        sum.noise_documents += noise.0;
        sum.noise_with_gold_option += noise.1;
        sum.noise_with_sub_answer += noise.2;
    }

    fn turn_to(&mut self, position: usize) {
        let question = &self.questions[position];
        self.question = Some(position);
        self.gold = (!question.is_yes_no_maybe()).then(|| Searchable::new(question.gold_text()));
        self.with_gold.clear();
        self.with_answer.clear();
    }

    /// A document that stands twice in one context would be a fault of composing.
    fn repeats(&mut self, instance: &Instance) {
        let mut ids = HashSet::new();
        let mut texts = HashSet::new();
        for document in &instance.context.documents {
            let is_new = ids.insert(&document.id) && texts.insert(&document.content);
            if !is_new {
                self.findings.add(
                    FindingKind::RepeatedInContext,
                    &instance.question.id,
                    &document.id,
                    &document.label,
                );
            }
        }
    }

    fn has_gold(&mut self, instance: &Instance, document: &ContextDocument) -> bool {
        let Some(gold) = &self.gold else { return false };
        if let Some(known) = self.with_gold.get(&document.id) {
            return *known;
        }
        let text = searchable(&mut self.texts, document);
        let found = text.mentions(gold);
        if found {
            self.findings.add(
                FindingKind::NoiseWithGoldOption,
                &instance.question.id,
                &document.id,
                instance.question.gold_text(),
            );
        }
        self.with_gold.insert(document.id.clone(), found);
        found
    }

    fn has_answer(&mut self, instance: &Instance, document: &ContextDocument) -> bool {
        let mut any = false;
        for sub in &instance.context.sub_questions {
            if !is_telling(&sub.answer) {
                continue;
            }
            let key = (document.id.clone(), sub.answer.clone());
            let found = match self.with_answer.get(&key) {
                Some(known) => *known,
                None => {
                    let text = searchable(&mut self.texts, document);
                    let found = text.mentions(&Searchable::new(&sub.answer));
                    if found {
                        self.findings.add(
                            FindingKind::NoiseWithSubAnswer,
                            &instance.question.id,
                            &document.id,
                            &sub.answer,
                        );
                    }
                    self.with_answer.insert(key, found);
                    found
                }
            };
            any |= found;
        }
        any
    }
}

/// The form for searching, made once per document.
fn searchable<'t>(
    texts: &'t mut HashMap<String, Searchable>,
    document: &ContextDocument,
) -> &'t Searchable {
    texts
        .entry(document.id.clone())
        .or_insert_with(|| Searchable::new(&document.content))
}

/// What is odd about questions, signal documents and adversarial versions themselves.
fn documents(dataset: &Dataset, questions: &[&Question], findings: &mut Findings) {
    let mut asked: HashMap<u128, &str> = HashMap::new();
    let mut text_of_id: HashMap<&str, u128> = HashMap::new();
    let mut owner_of_text: HashMap<u128, &str> = HashMap::new();
    for question in questions {
        let id = question.id.as_str();
        let first = asked.entry(question.key()).or_insert(id);
        if *first != id {
            findings.add(FindingKind::DuplicateQuestion, id, "", first);
        }
        let pools = dataset.pools(id);
        let mut ids = HashSet::new();
        let mut texts = HashSet::new();
        for document in pools.signal {
            let key = text_key(&document.content);
            if !ids.insert(document.id.as_str()) || !texts.insert(key) {
                findings.add(FindingKind::RepeatedSignalDocument, id, &document.id, "");
                continue;
            }
            if *text_of_id.entry(&document.id).or_insert(key) != key {
                findings.add(FindingKind::OneIdForTwoTexts, id, &document.id, "");
            }
            let owner = owner_of_text.entry(key).or_insert(id);
            if *owner != id {
                findings.add(FindingKind::SharedSignalDocument, id, &document.id, owner);
            }
        }
        for version in pools.counterfactuals {
            let original = pools.signal.iter().find(|d| d.id == version.original_id);
            let answer = pools
                .sub_questions
                .iter()
                .find(|sub| sub.doc_id == version.original_id)
                .map(|sub| sub.answer.as_str());
            counterfactual(id, version, original, answer, findings);
        }
    }
}

fn counterfactual(
    question_id: &str,
    version: &Counterfactual,
    original: Option<&Document>,
    answer: Option<&str>,
    findings: &mut Findings,
) {
    let mut add =
        |kind, detail: &str| findings.add(kind, question_id, &version.original_id, detail);
    let edited = Searchable::new(&version.edited_document);
    if original.is_some_and(|original| Searchable::new(&original.content) == edited) {
        add(FindingKind::CounterfactualUnchanged, "");
    }
    let planted = version.new_answer.as_str();
    if is_telling(planted) && !edited.mentions(&Searchable::new(planted)) {
        add(FindingKind::CounterfactualWithoutPlanted, planted);
    }
    match answer {
        None => add(FindingKind::CounterfactualWithoutSubQuestion, ""),
        Some(answer) if same(planted, answer) => add(FindingKind::PlantedEqualsTrue, answer),
        Some(answer) if is_telling(answer) && edited.mentions(&Searchable::new(answer)) => {
            add(FindingKind::CounterfactualWithTrueAnswer, answer);
        }
        Some(_) => {}
    }
}
