//! State of the probe screen: one context changed on purpose, and what that does to the answer.

use std::sync::Arc;

use crate::data::dataset::Dataset;
use crate::domain::context::{Context, Variant, left_out, reorders, swaps};
use crate::domain::probe::{Citations, Effect, Trace, Verdict, citations, question_texts, trace};
use crate::domain::text::count;
use crate::tui::app::Ticket;
use crate::tui::app::instance::InstanceState;
use crate::tui::app::reply::ReplyState;

/// Orders that are tried: the reverse first.
const ORDERS: usize = 5;

/// Something that can be tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// What is tried.
    pub title: String,
    /// Whether it is one change of the group above it.
    pub single: bool,
    /// The changed contexts.
    pub variants: Vec<Variant>,
}

/// The replies to one context.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// What was changed; `None` for the composed context.
    pub change: Option<String>,
    /// What was said.
    pub said: String,
    /// What the change did.
    pub effect: Effect,
    /// What the reply itself says about why.
    pub reasons: Vec<String>,
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq)]
pub struct Probed {
    /// The composed context, then the changed ones.
    pub tried: Vec<Tried>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A probe that is being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    /// Its job.
    pub ticket: Ticket,
    /// What is tried.
    pub title: String,
    /// Calls done and calls in all.
    pub calls: (usize, usize),
    /// Stop was asked for.
    pub stopping: bool,
}

/// What was found in the reply on screen, without a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// Where planted text went.
    pub trace: Trace,
    /// What the citations are worth.
    pub citations: Citations,
}

impl Audit {
    /// Looks at a reply; the dataset gives the original texts. `None` before it can be read.
    pub fn of(reply: &ReplyState, dataset: &Dataset) -> Option<Audit> {
        let parsed = reply.parsed.as_ref()?;
        let pools = dataset.pools(&reply.question.id);
        let original = |id: &str| {
            let document = pools.signal.iter().find(|document| document.id == id)?;
            Some(document.content.clone())
        };
        let questions = question_texts(&reply.question);
        Some(Audit {
            trace: trace(&reply.context, parsed, &original, &questions),
            citations: citations(&reply.context, parsed),
        })
    }
}

/// The parts of the screen that keys go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// What can be tried.
    #[default]
    Choices,
    /// What was found.
    Findings,
    /// The reply on screen.
    Reply,
}

impl Part {
    /// All of them in the order of Tab.
    pub const ALL: [Part; 3] = [Part::Choices, Part::Findings, Part::Reply];
}

/// The probe screen.
#[derive(Debug, Default)]
pub struct ProbeState {
    /// The context that is changed.
    pub context: Option<Context>,
    /// What can be tried.
    pub choices: Vec<Choice>,
    /// Chosen row.
    pub selected: usize,
    /// First visible row.
    pub top: usize,
    /// Which part keys go to.
    pub focus: Part,
    /// The probe that is being asked.
    pub asking: Option<Asking>,
    /// What the last one found: title, and what came of it.
    pub found: Option<(String, Result<Probed, String>)>,
    /// The context that `found` belongs to.
    pub found_of: Option<Context>,
    /// Rows scrolled in the findings and in the audit.
    pub scroll: [usize; 2],
}

impl ProbeState {
    /// Makes the choices for the instance on screen.
    pub fn open(&mut self, state: &InstanceState, dataset: &Arc<Dataset>) {
        let Some(context) = state.context() else {
            return;
        };
        if self.context.as_ref() != Some(context) {
            self.selected = 0;
            self.top = 0;
            self.scroll = [0; 2];
        }
        self.focus = Part::Choices;
        self.choices = choices(state, dataset, context);
        self.context = Some(context.clone());
    }
}

impl ProbeState {
    /// What was found about the context at hand.
    pub fn found_here(&self) -> Option<&(String, Result<Probed, String>)> {
        self.found
            .as_ref()
            .filter(|_| self.found_of == self.context)
    }
}

/// Everything that can be tried with a context: groups, each followed by its single changes.
fn choices(state: &InstanceState, dataset: &Dataset, context: &Context) -> Vec<Choice> {
    let pools = dataset.pools(&state.question.id);
    let swaps = swaps(
        &state.question,
        pools,
        &state.condition,
        context,
        None,
        None,
    );
    let groups = [
        ("leave each document out in turn", left_out(context)),
        ("swap each document", swaps),
        (
            "reorder the documents",
            reorders(context, &state.condition, ORDERS),
        ),
    ];
    let mut choices = Vec::new();
    for (title, variants) in groups {
        if variants.is_empty() {
            continue;
        }
        let singles: Vec<Choice> = variants
            .iter()
            .map(|variant| Choice {
                title: variant.context.variant.clone().unwrap_or_default(),
                single: true,
                variants: vec![variant.clone()],
            })
            .collect();
        choices.push(Choice {
            title: format!("{title} ({})", count(variants.len(), "change")),
            single: false,
            variants,
        });
        choices.extend(singles);
    }
    choices
}
