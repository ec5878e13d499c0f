//! Contexts changed on purpose: one document swapped, left out, or all in another order.
//!
//! A changed context says so in [`Context::variant`], so that its reply is never taken for one to the
//! composed context.

use crate::domain::context::compose::{Spare, spare};
use crate::domain::context::stream::{Purpose, Streams};
use crate::domain::context::{
    Condition, Context, ContextDocument, ContextSubQuestion, Pools, Scenario,
};
use crate::domain::passage::Role;
use crate::domain::question::Question;

/// What was changed in a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The document at this position (0-based) gave way to another version of it or to another document.
    Swap {
        /// Where.
        position: usize,
        /// What stood there.
        from: Role,
        /// What stands there now.
        to: Role,
    },
    /// The document at this position was left out.
    LeaveOut {
        /// Where.
        position: usize,
    },
    /// The documents stand in another order: for each place the position it had before.
    Reorder {
        /// A permutation of the positions.
        order: Vec<usize>,
    },
}

/// A changed context.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// What was changed.
    pub change: Change,
    /// The context as it is now.
    pub context: Context,
}

/// Every swap that is possible: each document (or the one labelled `label`) against its original, its
/// adversarial version, and noise; noise against the next signal document of the question. `to` keeps only
/// swaps to that role.
pub fn swaps(
    question: &Question,
    pools: Pools<'_>,
    condition: &Condition,
    context: &Context,
    label: Option<&str>,
    to: Option<Role>,
) -> Vec<Variant> {
    let spare = spare(question, pools, condition, context);
    let mut variants = Vec::new();
    for (position, document) in context.documents.iter().enumerate() {
        if label.is_some_and(|label| label != document.label) {
            continue;
        }
        for role in [Role::Signal, Role::Adversarial, Role::Noise] {
            if role == document.role || to.is_some_and(|to| to != role) {
                continue;
            }
            if let Some(new) = replacement(context, position, role, pools, &spare) {
                variants.push(swapped(context, position, new));
            }
        }
    }
    variants
}

/// What can stand at `position` in another role.
fn replacement(
    context: &Context,
    position: usize,
    role: Role,
    pools: Pools<'_>,
    spare: &Spare,
) -> Option<Piece> {
    let old = context.documents.get(position)?;
    match (old.role, role) {
        (Role::Noise, Role::Signal) => spare.signal.clone(),
        (Role::Noise, _) => None,
        (_, Role::Noise) => spare.noise.clone(),
        _ => Piece::of(pools, &old.id, role),
    }
}

fn swapped(context: &Context, position: usize, new: Piece) -> Variant {
    let mut pieces = pieces(context);
    let change = Change::Swap {
        position,
        from: context.documents[position].role,
        to: new.document.role,
    };
    pieces[position] = new;
    variant(context, change, pieces)
}

/// Each document left out in turn. A context of one document has no such variant, nor is one made that would
/// ask nothing (integration and robustness without a sub-question).
pub fn left_out(context: &Context) -> Vec<Variant> {
    (0..context.documents.len())
        .filter_map(|position| {
            let mut pieces = pieces(context);
            pieces.remove(position);
            let asks = context.sub_questions.is_empty() || pieces.iter().any(|p| p.sub.is_some());
            (!pieces.is_empty() && asks)
                .then(|| variant(context, Change::LeaveOut { position }, pieces))
        })
        .collect()
}

/// `count` other orders, each once: the reverse first, then random ones from the condition's seed. Fewer
/// where there are not so many.
pub fn reorders(context: &Context, condition: &Condition, count: usize) -> Vec<Variant> {
    let total = context.documents.len();
    let identity: Vec<usize> = (0..total).collect();
    let mut orders: Vec<Vec<usize>> = Vec::new();
    let mut stream = Streams::new(&context.question_id, condition).open(Purpose::Probe);
    let reversed: Vec<usize> = identity.iter().rev().copied().collect();
    // A bound on the draws: of three documents there are only five other orders.
    let drawn = (0..count.saturating_mul(4)).map(|_| stream.order(total, total));
    for order in std::iter::once(reversed).chain(drawn) {
        if orders.len() == count {
            break;
        }
        if order != identity && !orders.contains(&order) {
            orders.push(order);
        }
    }
    orders
        .into_iter()
        .map(|order| {
            let all = pieces(context);
            let pieces = order.iter().map(|&at| all[at].clone()).collect();
            variant(context, Change::Reorder { order }, pieces)
        })
        .collect()
}

/// A document with its sub-question.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) document: ContextDocument,
    pub(super) sub: Option<ContextSubQuestion>,
}

impl Piece {
    /// The question's own document with this id, as its original or its adversarial version.
    fn of(pools: Pools<'_>, id: &str, role: Role) -> Option<Piece> {
        let original = pools.signal.iter().find(|document| document.id == id)?;
        let version = pools
            .counterfactuals
            .iter()
            .find(|version| version.original_id == id);
        let version = match role {
            Role::Adversarial => Some(version?),
            _ => None,
        };
        let sub = pools.sub_questions.iter().find(|sub| sub.doc_id == id);
        Some(Piece {
            document: ContextDocument {
                label: String::new(),
                id: original.id.clone(),
                role,
                original_id: version.map(|version| version.original_id.clone()),
                source: original.source,
                title: original.title.clone(),
                content: version.map_or_else(
                    || original.content.clone(),
                    |version| version.edited_document.clone(),
                ),
                from_question: None,
            },
            sub: sub.map(|sub| ContextSubQuestion {
                question: sub.question.clone(),
                answer: sub.answer.clone(),
                label: String::new(),
                planted: version.map(|version| version.new_answer.clone()),
            }),
        })
    }
}

fn pieces(context: &Context) -> Vec<Piece> {
    let sub_of = |label: &str| {
        let mut subs = context.sub_questions.iter();
        subs.find(|sub| sub.label == label).cloned()
    };
    context
        .documents
        .iter()
        .map(|document| Piece {
            document: document.clone(),
            sub: sub_of(&document.label),
        })
        .collect()
}

/// Puts pieces together: labels count up anew, sub-questions follow their documents.
fn variant(context: &Context, change: Change, pieces: Vec<Piece>) -> Variant {
    let asks = matches!(
        context.scenario,
        Scenario::Integration | Scenario::Robustness
    );
    let mut changed = Context {
        variant: Some(change.describe(context)),
        documents: Vec::with_capacity(pieces.len()),
        sub_questions: Vec::new(),
        docs: pieces.len(),
        short: pieces.len() < context.docs_requested,
        ..context.clone()
    };
    for (at, piece) in pieces.into_iter().enumerate() {
        let label = format!("DOC_{}", at + 1);
        let sub = piece.sub.filter(|_| asks);
        changed
            .sub_questions
            .extend(sub.map(|sub| ContextSubQuestion {
                label: label.clone(),
                ..sub
            }));
        changed.documents.push(ContextDocument {
            label,
            ..piece.document
        });
    }
    let signal = changed
        .documents
        .iter()
        .filter(|document| document.role == Role::Signal)
        .count();
    changed.p = match changed.docs {
        0 => 0.0,
        docs => 100.0 * signal as f64 / docs as f64,
    };
    Variant {
        change,
        context: changed,
    }
}

impl Change {
    /// The change in a few words; labels are those of the context before it.
    pub fn describe(&self, before: &Context) -> String {
        let label = |position: &usize| {
            let document = before.documents.get(*position);
            document.map_or("?", |document| document.label.as_str())
        };
        match self {
            Change::Swap { position, from, to } => {
                let to = match (from, to) {
                    (Role::Adversarial, Role::Signal) => "its original",
                    (_, Role::Adversarial) => "its adversarial version",
                    (_, Role::Noise) => "noise",
                    (_, Role::Signal) => "a signal document",
                };
                format!("{} becomes {to}", label(position))
            }
            Change::LeaveOut { position } => format!("without {}", label(position)),
            Change::Reorder { order } => {
                let labels: Vec<&str> = order
                    .iter()
                    .map(|at| label(at).trim_start_matches("DOC_"))
                    .collect();
                format!("order {}", labels.join(" "))
            }
        }
    }
}
