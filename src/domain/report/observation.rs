//! One asking, reduced to what a report needs, and which askings count.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::domain::answer::Outcome;
use crate::domain::context::{Condition, Mode, Scenario, SourceFilter};
use crate::domain::plan;
use crate::domain::report::calibration::Forecast;
use crate::domain::score::{Metric, Ratio};

/// The value of the field `documents` (of a question, or of a dataset's manifest) that declares MedRGB's
/// own documents.
pub const MEDRGB_DOCUMENTS: &str = "medrgb";

/// One asking of a model, with its scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Rises with time: the newest has the highest.
    pub id: i64,
    /// Name of the run.
    pub run: Arc<str>,
    /// Name of the dataset.
    pub dataset: Arc<str>,
    /// SHA-256 of the dataset's files.
    pub fingerprint: Arc<str>,
    /// Whether the dataset declares that its documents are MedRGB's own.
    pub own_documents: bool,
    /// The set that the question says it is from, such as `bioasq`.
    pub set: Option<Arc<str>>,
    /// The question's id, unique in its dataset.
    pub question: Arc<str>,
    /// Name of the model.
    pub model: Arc<str>,
    /// A caution to show beside the model's scores.
    pub caution: Option<Arc<str>>,
    /// How the model is reached and its sampling but for the seed: rows of a report are told apart by it.
    pub settings: Arc<str>,
    /// Seed of the sampler, where one was set.
    pub sampling_seed: Option<u64>,
    /// What was asked for.
    pub condition: Condition,
    /// Whether the context had fewer documents than asked for.
    pub short: bool,
    /// What became of the reply; `None` for a call that gave none.
    pub outcome: Option<Outcome>,
    /// The reply's scores; empty for what is not a reply.
    pub counts: BTreeMap<Metric, Ratio>,
    /// The model that judged the reply's sub-answers, where one did.
    pub judge: Option<Arc<str>>,
    /// Repairs and oddities of the reply.
    pub notes: Vec<String>,
    /// What the model's probabilities of the options said, where they are known and it chose one.
    pub forecast: Option<Forecast>,
}

impl Observation {
    /// Whether a reply came that counts in rates.
    pub fn is_available(&self) -> bool {
        self.outcome.is_some_and(Outcome::is_reply)
    }
}

/// What makes two askings the same request.
#[derive(PartialEq, Eq, Hash)]
struct Request {
    run: Arc<str>,
    dataset: Arc<str>,
    fingerprint: Arc<str>,
    question: Arc<str>,
    model: Arc<str>,
    settings: Arc<str>,
    sampling_seed: Option<u64>,
    scenario: Scenario,
    docs: usize,
    p: Percent,
    seed: u64,
    mode: Mode,
    source: SourceFilter,
}

impl Request {
    fn of(asking: &Observation) -> Request {
        let condition = &asking.condition;
        Request {
            run: asking.run.clone(),
            dataset: asking.dataset.clone(),
            fingerprint: asking.fingerprint.clone(),
            question: asking.question.clone(),
            model: asking.model.clone(),
            settings: asking.settings.clone(),
            sampling_seed: asking.sampling_seed,
            scenario: condition.scenario,
            docs: condition.docs,
            p: Percent::of(condition),
            seed: condition.seed,
            mode: condition.mode,
            source: condition.source,
        }
    }
}

/// The askings that count, in their order, and how many were left out because another of the same
/// request stands for them.
///
/// A request is a question under a condition (scenario, n, p, seed, mode, source) put to a model with its
/// settings, within a run. It has one counted asking: the newest that brought a reply, or the newest where
/// none did, so that asking again after a failure mends a run and a failure never displaces a reply.
pub fn counted(askings: Vec<Observation>) -> (Vec<Observation>, usize) {
    let all = askings.len();
    let requests = askings
        .iter()
        .map(|asking| (Request::of(asking), asking.is_available()));
    let chosen: HashSet<usize> = plan::counted(requests).into_iter().collect();
    let kept: Vec<Observation> = askings
        .into_iter()
        .enumerate()
        .filter(|(at, _)| chosen.contains(at))
        .map(|(_, asking)| asking)
        .collect();
    let left_out = all - kept.len();
    (kept, left_out)
}

/// Per cent in thousandths, so that conditions can be compared and sorted; standard ignores p.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Percent(Option<u32>);

impl Percent {
    /// Where p plays no part.
    pub(super) const NONE: Percent = Percent(None);

    /// Of a condition.
    pub(super) fn of(condition: &Condition) -> Percent {
        match condition.scenario {
            Scenario::Standard => Percent::NONE,
            _ => Percent::new(condition.p),
        }
    }

    /// Of a number from 0 to 100; others are held at the ends.
    pub(super) fn new(p: f64) -> Percent {
        // At most 100,000.
        Percent(Some((p.clamp(0.0, 100.0) * 1000.0).round() as u32))
    }

    /// 0 to 100; `None` where p plays no part.
    pub(super) fn value(self) -> Option<f64> {
        self.0.map(|thousandths| f64::from(thousandths) / 1000.0)
    }
}
