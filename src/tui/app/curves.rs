//! State of the curves of a run: which panel of its report is shown, and the paper's figures beside it.

use std::rc::Rc;

use crate::domain::context::Scenario;
use crate::domain::report::{Lookup, Measure, Panel, Published, Report};
use crate::tui::app::loaded::Loaded;

/// The report on a run, and the paper's figures.
#[derive(Debug)]
pub struct Figures {
    /// The report.
    pub report: Report,
    /// The paper's figures.
    pub paper: Published,
}

/// The curves of a run.
#[derive(Debug)]
pub struct Curves {
    /// Name of the run.
    pub run: String,
    /// What is drawn.
    pub figures: Loaded<Rc<Figures>>,
    /// Which of [`Figures::subjects`].
    pub subject: usize,
    /// Which measure; the subject's first where it does not have it.
    pub measure: Option<Measure>,
    /// Which of the paper's models; `None` shows none.
    pub paper: Option<usize>,
    /// Rows scrolled in the words.
    pub scroll: usize,
}

impl Curves {
    /// Nothing drawn yet.
    pub fn new(run: String) -> Curves {
        Curves {
            run,
            figures: Loaded::Nothing,
            subject: 0,
            measure: None,
            paper: None,
            scroll: 0,
        }
    }

    /// The panel that is shown.
    pub fn panel(&self) -> Option<&Panel> {
        let figures = self.figures.ready()?;
        let subject = *figures.subjects().get(self.subject)?;
        let panels = figures.panels_of(subject);
        let wanted = panels
            .iter()
            .find(|panel| Some(panel.measure) == self.measure);
        wanted.or_else(|| panels.first()).copied()
    }

    /// The name of the paper's model that is shown.
    pub fn paper_model(&self) -> Option<&str> {
        let figures = self.figures.ready()?;
        figures.paper.models().get(self.paper?).copied()
    }

    /// Goes to the next subject for which `fits` holds against the present one.
    fn step_subject(&mut self, forward: bool, fits: impl Fn(&Panel, &Panel) -> bool) -> bool {
        let Some(figures) = self.figures.ready().cloned() else {
            return false;
        };
        let subjects = figures.subjects();
        let Some(here) = subjects.get(self.subject) else {
            return false;
        };
        let (at, count) = (self.subject, subjects.len());
        let mut order = (1..count).map(|by| match forward {
            true => (at + by) % count,
            false => (at + count - by) % count,
        });
        let next = order.find(|&next| fits(here, subjects[next]));
        if let Some(next) = next {
            self.subject = next;
            self.scroll = 0;
        }
        next.is_some()
    }

    /// The next or previous test; false where there is no other.
    pub fn step_scenario(&mut self, forward: bool) -> bool {
        self.step_subject(forward, |here, other| here.scenario != other.scenario)
    }

    /// The next or previous n (or source, draw, dataset) of the test; false where there is no other.
    pub fn step_docs(&mut self, forward: bool) -> bool {
        self.step_subject(forward, |here, other| here.scenario == other.scenario)
    }

    /// The next or previous measure of the subject.
    pub fn step_measure(&mut self, forward: bool) {
        let (Some(figures), Some(shown)) = (self.figures.ready(), self.panel()) else {
            return;
        };
        let panels = figures.panels_of(shown);
        let count = panels.len().max(1);
        let here = panels
            .iter()
            .position(|panel| panel.measure == shown.measure);
        let at = here.unwrap_or(0);
        let next = match forward {
            true => (at + 1) % count,
            false => (at + count - 1) % count,
        };
        self.measure = panels.get(next).map(|panel| panel.measure);
        self.scroll = 0;
    }

    /// The next of the paper's models; after the last none, then the first.
    pub fn step_paper(&mut self, forward: bool) {
        let count = self
            .figures
            .ready()
            .map_or(0, |figures| figures.paper.models().len());
        self.paper = match (self.paper, forward) {
            (None, true) => (count > 0).then_some(0),
            (None, false) => count.checked_sub(1),
            (Some(at), true) => Some(at + 1).filter(|&next| next < count),
            (Some(at), false) => at.checked_sub(1),
        };
    }
}

impl Figures {
    /// One panel for each subject (set, test, n, source, draw): tests in their order.
    pub fn subjects(&self) -> Vec<&Panel> {
        let mut subjects: Vec<&Panel> = Vec::new();
        for panel in self.panels() {
            if !subjects.iter().any(|known| is_same_subject(known, panel)) {
                subjects.push(panel);
            }
        }
        let order = |panel: &&Panel| {
            let at = Scenario::ALL.iter().position(|s| *s == panel.scenario);
            (at, panel.docs)
        };
        subjects.sort_by_key(order);
        subjects
    }

    /// All panels of a measure.
    pub fn with_measure(&self, measure: Measure) -> impl Iterator<Item = &Panel> {
        self.panels().filter(move |panel| panel.measure == measure)
    }

    /// The panels of a subject, each measure once.
    pub fn panels_of(&self, subject: &Panel) -> Vec<&Panel> {
        let mut panels: Vec<&Panel> = Vec::new();
        for panel in self
            .panels()
            .filter(|panel| is_same_subject(panel, subject))
        {
            if !panels.iter().any(|known| known.measure == panel.measure) {
                panels.push(panel);
            }
        }
        panels
    }

    fn panels(&self) -> impl Iterator<Item = &Panel> {
        self.report.tables.iter().flat_map(|table| &table.panels)
    }

    /// The paper's figures of a model for a panel, one per column.
    ///
    /// # Errors
    /// One sentence: why they do not stand beside it.
    pub fn published(&self, panel: &Panel, model: &str) -> Result<Vec<Option<f64>>, String> {
        let comparison = self.report.comparisons.iter().find(|one| {
            let name = one.published_set.as_deref().unwrap_or(&one.dataset);
            let rest = panel.dataset.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
        });
        let set = match comparison {
            Some(one) if one.comparable => one.published_set.as_deref().unwrap_or(&one.dataset),
            Some(one) => return Err(one.reason.clone()),
            None => return Err(crate::domain::report::NOT_COMPARABLE.to_owned()),
        };
        let Measure::Of(metric) = panel.measure else {
            return Err("the paper does not give this measure".to_owned());
        };
        let values: Vec<Option<f64>> = panel
            .columns
            .iter()
            .map(|column| {
                self.paper.value(&Lookup {
                    scenario: panel.scenario,
                    metric,
                    dataset: set,
                    model,
                    docs: column.docs,
                    p: column.p.unwrap_or_default(),
                    source: column.source,
                })
            })
            .collect();
        match values.iter().any(Option::is_some) {
            true => Ok(values),
            false => Err(format!(
                "the paper has no figures of {model} for this measure and n, or not for these sources"
            )),
        }
    }
}

fn is_same_subject(a: &Panel, b: &Panel) -> bool {
    (a.scenario, a.docs, a.source, a.mode) == (b.scenario, b.docs, b.source, b.mode)
        && a.dataset == b.dataset
}
