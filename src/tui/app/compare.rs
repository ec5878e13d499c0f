//! State of the compare screen: two models of stored runs, pair by pair.

use std::collections::BTreeMap;

use crate::data::store::RunSummary;
use crate::domain::compare::{Answered, Comparison, Side};
use crate::domain::context::Condition;
use crate::domain::probe::PROBES;
use crate::tui::app::Screen;
use crate::tui::app::loaded::Loaded;
use crate::tui::app::reply::ReplyState;

/// One side of a comparison: what a run holds of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contender {
    /// Name of the run.
    pub run: String,
    /// Name of the model.
    pub model: String,
}

/// Every model of every run that can be compared: probes can't, since their contexts were changed by hand.
pub fn contenders(runs: &[RunSummary]) -> Vec<Contender> {
    let comparable = runs.iter().filter(|run| run.name != PROBES);
    let of_run = |run: &RunSummary| {
        let run_name = run.name.clone();
        let models = run.models.clone().into_iter();
        models.map(move |model| Contender {
            run: run_name.clone(),
            model,
        })
    };
    comparable.flat_map(of_run).collect()
}

/// What the compare screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// The choice of the two sides.
    #[default]
    Choose,
    /// Figures and lists.
    Result,
    /// One pair, side by side.
    Pair,
}

/// A comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The figures.
    pub comparison: Comparison,
    /// The pairs one by one.
    pub pairs: Vec<Answered>,
    /// What should be known about it.
    pub notes: Vec<String>,
    /// What must be known of a side's model before any figure is read.
    pub cautions: Vec<String>,
}

impl Compared {
    /// Pairs by who is right.
    pub fn counts(&self) -> BTreeMap<Side, usize> {
        let mut counts: BTreeMap<Side, usize> = Side::ALL.map(|side| (side, 0)).into();
        for pair in &self.pairs {
            *counts.entry(pair.side).or_default() += 1;
        }
        counts
    }
}

/// The compare screen.
#[derive(Debug, Default)]
pub struct CompareState {
    /// What is shown.
    pub page: Page,
    /// Chosen row of the contenders.
    pub selected: usize,
    /// First visible row.
    pub top: usize,
    /// The first side.
    pub a: Option<Contender>,
    /// The second side.
    pub b: Option<Contender>,
    /// What came of it.
    pub result: Loaded<Box<Compared>>,
    /// Which list; `None` shows all pairs.
    pub side: Option<Side>,
    /// Which condition of the comparison; `None` shows all.
    pub condition: Option<usize>,
    /// Positions of the pairs that are shown.
    pub shown: Vec<usize>,
    /// Chosen row of the list.
    pub row: usize,
    /// First visible row of the list.
    pub row_top: usize,
    /// Rows scrolled in the figures.
    pub scroll: usize,
    /// Both replies of the chosen pair.
    pub pair: Loaded<Box<(ReplyState, ReplyState)>>,
    /// Rows scrolled in each.
    pub pair_scroll: [usize; 2],
    /// Which of both keys go to.
    pub focus: usize,
    /// Whether replies are shown as received.
    pub raw: bool,
    /// Where back leads.
    pub from: Option<Screen>,
}

impl CompareState {
    /// The chosen pair.
    pub fn chosen(&self) -> Option<&Answered> {
        let compared = self.result.ready()?;
        compared.pairs.get(*self.shown.get(self.row)?)
    }

    /// Applies the choice of list and condition.
    pub fn refilter(&mut self) {
        let Some(compared) = self.result.ready() else {
            self.shown.clear();
            return;
        };
        let cell = self
            .condition
            .and_then(|at| compared.comparison.conditions.get(at))
            .map(|one| one.cell);
        let pairs = compared.pairs.iter().enumerate();
        self.shown = pairs
            .filter(|(_, pair)| self.side.is_none_or(|side| side == pair.side))
            .filter(|(_, pair)| cell.is_none_or(|cell| cell.holds(&pair.condition)))
            .map(|(at, _)| at)
            .collect();
        self.row = 0;
        self.row_top = 0;
    }

    /// Whether something is waited for.
    pub fn is_busy(&self) -> bool {
        self.result.is_loading() || self.pair.is_loading()
    }
}

/// A condition in a few words.
pub fn words(condition: &Condition) -> String {
    use crate::domain::context::Scenario;
    match condition.scenario {
        Scenario::Standard => format!("standard n={}", condition.docs),
        scenario => format!("{} n={} p={}", scenario.name(), condition.docs, condition.p),
    }
}
