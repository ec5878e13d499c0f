//! Composing a context.
//!
//! Per (seed, question) there is one random order of the question's own documents, one of the noise and
//! one of the slots. Every scenario, `n` and `p` takes prefixes of them: the slot of rank `k` holds own
//! document `k` while `k < s`, else noise `n − 1 − k`. So both own documents and noise are prefixes of
//! their orders, and a slot keeps its document until `s` reaches its rank.

use std::collections::{HashMap, HashSet};

use crate::domain::context::change::Piece;
use crate::domain::context::pool::Drawn;
use crate::domain::context::stream::{Purpose, Streams};
use crate::domain::context::{
    ComposeError, Condition, Context, ContextDocument, ContextSubQuestion, Pools, Scenario,
    signal_count,
};
use crate::domain::passage::{Counterfactual, Document, Role, SubQuestion};
use crate::domain::question::Question;

/// Composes the context of a question: a pure function of its arguments.
///
/// Sub-questions are asked in context order.
///
/// # Errors
/// [`ComposeError`] when the condition is impossible or the pools have nothing for it.
pub fn compose(
    question: &Question,
    pools: Pools<'_>,
    condition: &Condition,
) -> Result<Context, ComposeError> {
    condition.check()?;
    let streams = Streams::new(&question.id, condition);
    let own = Own::read(pools);
    let order = own.order(&streams, condition);
    let slots = match condition.scenario {
        Scenario::Robustness => adversarial_slots(&order, &streams, condition),
        _ => mixed_slots(&own, &order, &streams, pools, condition),
    };
    let context = assemble(&question.id, &slots, condition);
    match missing(&context, &order) {
        Some(need) => Err(ComposeError::NothingToUse {
            question_id: question.id.clone(),
            scenario: condition.scenario,
            need,
        }),
        None => Ok(context),
    }
}

/// What could stand in a context instead of one of its documents: the next in the orders it was drawn from.
pub(super) struct Spare {
    /// A signal document of the question with its sub-question.
    pub(super) signal: Option<Piece>,
    /// Noise.
    pub(super) noise: Option<Piece>,
}

/// The spare documents of a context that was composed under `condition`.
pub(super) fn spare(
    question: &Question,
    pools: Pools<'_>,
    condition: &Condition,
    context: &Context,
) -> Spare {
    let streams = Streams::new(&question.id, condition);
    let own = Own::read(pools);
    let shown = |id: &str| context.documents.iter().any(|document| document.id == id);
    let order = own.order(&streams, condition);
    let signal = order
        .into_iter()
        .find(|own| !shown(&own.document.id))
        .map(|&own| piece(&Slot::Signal(own)));
    // One more than the context can hold: one at least is not in it.
    let noise = draw_noise(
        &own,
        &streams,
        pools,
        condition,
        context.documents.len() + 1,
    )
    .into_iter()
    .find(|(document, _)| !shown(&document.id))
    .map(|drawn| piece(&Slot::Noise(drawn)));
    Spare { signal, noise }
}

fn piece(slot: &Slot<'_>) -> Piece {
    Piece {
        document: self::shown(slot, String::new()),
        sub: asked(slot, ""),
    }
}

/// What is missing where a context would be empty or ask nothing.
fn missing(context: &Context, own: &[&OwnDocument<'_>]) -> Option<&'static str> {
    match context.scenario {
        Scenario::Standard if context.docs_requested > 0 && context.docs == 0 => {
            Some("it has no signal document that passes the source filter")
        }
        Scenario::Integration if own.is_empty() => {
            Some("it has no signal document that passes the source filter")
        }
        Scenario::Sufficiency if context.docs == 0 => {
            Some("neither a signal document nor noise passes the source filter")
        }
        Scenario::Robustness if context.docs == 0 => {
            Some("none of its documents has both a sub-question and an adversarial version")
        }
        _ => None,
    }
}

/// One of the question's own documents and what hangs on it.
#[derive(Debug, Clone, Copy)]
struct OwnDocument<'a> {
    document: &'a Document,
    text: u128,
    sub_question: Option<&'a SubQuestion>,
    /// The adversarial version and the key of its text.
    adversarial: Option<(&'a Counterfactual, u128)>,
}

impl OwnDocument<'_> {
    fn eligible(&self) -> bool {
        self.sub_question.is_some() && self.adversarial.is_some()
    }

    /// Which of two documents with the same text stays: the one that more scenarios can use.
    fn usefulness(&self) -> (bool, bool) {
        (self.eligible(), self.sub_question.is_some())
    }
}

/// All of the question's own documents.
struct Own<'a> {
    /// Sorted by id; ids are unique.
    documents: Vec<OwnDocument<'a>>,
}

impl<'a> Own<'a> {
    /// Joins documents with their first sub-question and first adversarial version.
    fn read(pools: Pools<'a>) -> Own<'a> {
        let mut sub_questions: HashMap<&str, &SubQuestion> = HashMap::new();
        for sub in pools.sub_questions {
            sub_questions.entry(&sub.doc_id).or_insert(sub);
        }
        let mut adversarial: HashMap<&str, &Counterfactual> = HashMap::new();
        for version in pools.counterfactuals {
            adversarial.entry(&version.original_id).or_insert(version);
        }
        let mut documents: Vec<OwnDocument<'a>> = pools
            .signal
            .iter()
            .map(|document| OwnDocument {
                document,
                text: pools.noise.key(&document.content),
                sub_question: sub_questions.get(document.id.as_str()).copied(),
                adversarial: adversarial
                    .get(document.id.as_str())
                    .map(|&version| (version, pools.noise.key(&version.edited_document))),
            })
            .collect();
        // A stable sort: of documents with the same id the first in file order stays.
        documents.sort_by(|a, b| a.document.id.cmp(&b.document.id));
        documents.dedup_by(|b, a| a.document.id == b.document.id);
        Own { documents }
    }

    /// The usable documents in random order: source filter, one per text, and in robustness only eligible
    /// ones. Filtering comes after shuffling, so every filter and scenario sees the same order.
    fn order(&self, streams: &Streams, condition: &Condition) -> Vec<&OwnDocument<'a>> {
        let total = self.documents.len();
        let usable = self.usable(condition);
        streams
            .open(Purpose::Signal)
            .order(total, total)
            .into_iter()
            .filter(|at| usable.contains(at))
            .map(|at| &self.documents[at])
            .collect()
    }

    /// Positions of documents that may be used, each text once.
    fn usable(&self, condition: &Condition) -> HashSet<usize> {
        let robustness = condition.scenario == Scenario::Robustness;
        let mut positions: Vec<usize> = (0..self.documents.len())
            .filter(|&at| {
                let own = &self.documents[at];
                condition.source.admits(own.document.source) && (!robustness || own.eligible())
            })
            .collect();
        // Stable: among equally useful ones the smallest id comes first.
        positions.sort_by_key(|&at| std::cmp::Reverse(self.documents[at].usefulness()));
        let mut seen: HashSet<u128> = HashSet::new();
        positions.retain(|&at| {
            let own = &self.documents[at];
            // In robustness either form may come to stand in the context, so neither may be known.
            let edited = own.adversarial.map(|(_, key)| key).filter(|_| robustness);
            if seen.contains(&own.text) || edited.is_some_and(|key| seen.contains(&key)) {
                return false;
            }
            seen.insert(own.text);
            seen.extend(edited);
            true
        });
        positions.into_iter().collect()
    }
}

/// What stands in a slot.
enum Slot<'a> {
    Signal(OwnDocument<'a>),
    Adversarial(OwnDocument<'a>, &'a Counterfactual),
    Noise(Drawn<'a>),
}

/// The rank of each of `count` slots, by position: slots are ranked by a random key each, so that fewer
/// slots keep their order among each other.
fn ranks(streams: &Streams, count: usize) -> Vec<usize> {
    let mut stream = streams.open(Purpose::Slots);
    let mut keyed: Vec<(u64, usize)> = (0..count).map(|slot| (stream.next(), slot)).collect();
    keyed.sort_unstable();
    let mut ranks = vec![0; count];
    for (rank, (_, slot)) in keyed.into_iter().enumerate() {
        ranks[slot] = rank;
    }
    ranks
}

/// Standard, sufficiency and integration: signal by rank, then noise; slots that find nothing are left out.
fn mixed_slots<'a>(
    own: &Own<'a>,
    order: &[&OwnDocument<'a>],
    streams: &Streams,
    pools: Pools<'a>,
    condition: &Condition,
) -> Vec<Slot<'a>> {
    let docs = condition.docs;
    let signal = match condition.scenario {
        Scenario::Standard => docs,
        _ => signal_count(docs, condition.p),
    };
    let noise = draw_noise(own, streams, pools, condition, docs - signal);
    ranks(streams, docs)
        .into_iter()
        .filter_map(|rank| {
            if rank < signal {
                order.get(rank).map(|&&own| Slot::Signal(own))
            } else {
                noise.get(docs - 1 - rank).map(|&drawn| Slot::Noise(drawn))
            }
        })
        .collect()
}

/// The first `count` documents of the noise order (fewer where the pool is too small). The question's own
/// documents never count as noise, neither by id nor by the text of the document or its adversarial version,
/// whether they pass the source filter or not.
fn draw_noise<'a>(
    own: &Own<'a>,
    streams: &Streams,
    pools: Pools<'a>,
    condition: &Condition,
    count: usize,
) -> Vec<Drawn<'a>> {
    if count == 0 {
        return Vec::new();
    }
    let ids = own.documents.iter().map(|own| own.document.id.as_str());
    let originals = own.documents.iter().map(|own| own.text);
    let edited = pools
        .counterfactuals
        .iter()
        .map(|version| pools.noise.key(&version.edited_document));
    let excluded = pools
        .noise
        .excluded(condition.source, ids, originals.chain(edited));
    let total = pools.noise.candidates(condition.source) - excluded.len();
    streams
        .open(Purpose::Noise)
        .order(total, count)
        .into_iter()
        .filter_map(|at| {
            pools
                .noise
                .candidate(condition.source, skip_excluded(at, &excluded))
        })
        .collect()
}

/// The position of the `at`-th candidate that is not excluded (`excluded` is sorted).
fn skip_excluded(at: usize, excluded: &[usize]) -> usize {
    let mut position = at;
    for &gap in excluded {
        if gap > position {
            break;
        }
        position += 1;
    }
    position
}

/// Robustness: the first `m` eligible documents, original up to their share, adversarial from there on.
fn adversarial_slots<'a>(
    order: &[&OwnDocument<'a>],
    streams: &Streams,
    condition: &Condition,
) -> Vec<Slot<'a>> {
    let docs = condition.docs.min(order.len());
    let original = signal_count(docs, condition.p);
    ranks(streams, docs)
        .into_iter()
        .filter_map(|rank| {
            let own = **order.get(rank)?;
            let (version, _) = own.adversarial?;
            Some(if rank < original {
                Slot::Signal(own)
            } else {
                Slot::Adversarial(own, version)
            })
        })
        .collect()
}

/// Labels the documents in order and puts the sub-questions beside them.
fn assemble(question_id: &str, slots: &[Slot<'_>], condition: &Condition) -> Context {
    let documents: Vec<ContextDocument> = slots
        .iter()
        .enumerate()
        .map(|(at, slot)| shown(slot, format!("DOC_{}", at + 1)))
        .collect();
    let sub_questions = match condition.scenario {
        Scenario::Integration | Scenario::Robustness => slots
            .iter()
            .zip(&documents)
            .filter_map(|(slot, document)| asked(slot, &document.label))
            .collect(),
        Scenario::Standard | Scenario::Sufficiency => Vec::new(),
    };
    let docs = documents.len();
    let signal = documents
        .iter()
        .filter(|document| document.role == Role::Signal)
        .count();
    Context {
        question_id: question_id.to_owned(),
        scenario: condition.scenario,
        docs_requested: condition.docs,
        docs,
        p_requested: condition.p + 0.0,
        p: match docs {
            0 => 0.0,
            _ => 100.0 * signal as f64 / docs as f64,
        },
        seed: condition.seed,
        mode: condition.mode,
        source: condition.source,
        short: docs < condition.docs,
        variant: None,
        documents,
        sub_questions,
    }
}

fn shown(slot: &Slot<'_>, label: String) -> ContextDocument {
    let (document, role) = match slot {
        Slot::Signal(own) => (own.document, Role::Signal),
        Slot::Adversarial(own, _) => (own.document, Role::Adversarial),
        Slot::Noise((document, _)) => (*document, Role::Noise),
    };
    ContextDocument {
        label,
        id: document.id.clone(),
        role,
        original_id: (role == Role::Adversarial).then(|| document.id.clone()),
        source: document.source,
        title: document.title.clone(),
        content: match slot {
            Slot::Adversarial(_, version) => version.edited_document.clone(),
            _ => document.content.clone(),
        },
        from_question: match slot {
            Slot::Noise((_, question_id)) => Some((*question_id).to_owned()),
            _ => None,
        },
    }
}

fn asked(slot: &Slot<'_>, label: &str) -> Option<ContextSubQuestion> {
    let (own, planted) = match slot {
        Slot::Signal(own) => (own, None),
        Slot::Adversarial(own, version) => (own, Some(version.new_answer.clone())),
        Slot::Noise(_) => return None,
    };
    own.sub_question.map(|sub| ContextSubQuestion {
        question: sub.question.clone(),
        answer: sub.answer.clone(),
        label: label.to_owned(),
        planted,
    })
}
