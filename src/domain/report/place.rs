//! Where askings stand in a report: question sets, series (models of runs) and conditions.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::context::{Mode, Scenario, SourceFilter};
use crate::domain::report::observation::Percent;
use crate::domain::report::{Observation, PAPER, Published};

/// A question set: the files of one dataset, or a set of the paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set {
    /// Name of the dataset.
    pub(super) name: String,
    /// SHA-256 of its files; empty for a set that only the paper has figures of.
    pub(super) fingerprint: Arc<str>,
    /// Whether it declares MedRGB's own documents.
    pub(super) own_documents: bool,
    /// The paper's set that it corresponds to.
    pub(super) published: Option<String>,
}

/// A row of every panel: a model of a run with its settings, or a model of the paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Series {
    /// Name of the run.
    pub(super) run: Arc<str>,
    /// Name of the model.
    pub(super) model: Arc<str>,
    /// Settings, as stored.
    pub(super) settings: Arc<str>,
    /// Whether these are published figures.
    pub(super) is_paper: bool,
    /// What to call it.
    pub(super) label: String,
}

/// The condition of a cell, in the order in which cells are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) set: usize,
    pub(super) scenario: Scenario,
    mode: u8,
    source: u8,
    pub(super) docs: usize,
    pub(super) p: Percent,
    pub(super) series: usize,
}

const SOURCES: [SourceFilter; 3] = [
    SourceFilter::Any,
    SourceFilter::Offline,
    SourceFilter::Online,
];

impl Place {
    /// The place of a condition. Without documents, where they come from plays no part.
    pub(super) fn new(
        (set, series): (usize, usize),
        scenario: Scenario,
        mode: Mode,
        docs: usize,
        source: SourceFilter,
        p: Percent,
    ) -> Place {
        let source = if docs == 0 { SourceFilter::Any } else { source };
        Place {
            set,
            scenario,
            mode: u8::from(mode == Mode::Independent),
            docs,
            source: SOURCES
                .iter()
                .position(|known| *known == source)
                .unwrap_or_default() as u8,
            p,
            series,
        }
    }

    /// The same condition in another row.
    pub(super) fn in_series(&self, series: usize) -> Place {
        Place { series, ..*self }
    }

    pub(super) fn mode(&self) -> Mode {
        match self.mode {
            0 => Mode::Nested,
            _ => Mode::Independent,
        }
    }

    pub(super) fn source(&self) -> SourceFilter {
        SOURCES
            .get(usize::from(self.source))
            .copied()
            .unwrap_or_default()
    }
}

/// Sets and series of a report, in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) sets: Vec<Set>,
    pub(super) series: Vec<Series>,
}

impl Places {
    /// The place of an asking.
    pub(super) fn of(&mut self, asking: &Observation, paper: &Published) -> Place {
        let set = self.set_of(asking, paper);
        let series = self.series_of(&asking.run, &asking.model, &asking.settings, false);
        let condition = &asking.condition;
        Place::new(
            (set, series),
            condition.scenario,
            condition.mode,
            condition.docs,
            condition.source,
            Percent::of(condition),
        )
    }

    fn set_of(&mut self, asking: &Observation, paper: &Published) -> usize {
        // A dataset may hold questions of several of the paper's sets; each question says of which.
        let published = asking.own_documents.then(|| {
            let named = asking.set.as_deref();
            named
                .and_then(|name| paper.dataset_named(name))
                .or_else(|| paper.dataset_named(&asking.dataset))
                .map(str::to_owned)
        });
        let published = published.flatten();
        let known = self.sets.iter().position(|set| {
            set.fingerprint == asking.fingerprint
                && set.name == *asking.dataset
                && set.own_documents == asking.own_documents
                && set.published == published
        });
        known.unwrap_or_else(|| {
            self.sets.push(Set {
                name: asking.dataset.to_string(),
                fingerprint: asking.fingerprint.clone(),
                own_documents: asking.own_documents,
                published,
            });
            self.sets.len() - 1
        })
    }

    fn series_of(
        &mut self,
        run: &Arc<str>,
        model: &Arc<str>,
        settings: &Arc<str>,
        is_paper: bool,
    ) -> usize {
        let known = self.series.iter().position(|series| {
            series.run == *run
                && series.model == *model
                && series.settings == *settings
                && series.is_paper == is_paper
        });
        known.unwrap_or_else(|| {
            self.series.push(Series {
                run: run.clone(),
                model: model.clone(),
                settings: settings.clone(),
                is_paper,
                label: String::new(),
            });
            self.series.len() - 1
        })
    }

    /// The places of the paper's figures: in every set that corresponds to the paper's, in every mode
    /// that it was run in, or in a set of its own.
    pub(super) fn of_paper(
        &mut self,
        paper: &Published,
        taken: &BTreeMap<Place, Vec<usize>>,
    ) -> Vec<(Place, usize)> {
        for name in paper.datasets() {
            let has = |set: &Set| set.published.as_deref() == Some(name);
            if !self.sets.iter().any(has) {
                self.sets.push(Set {
                    name: name.to_owned(),
                    fingerprint: Arc::from(""),
                    own_documents: true,
                    published: Some(name.to_owned()),
                });
            }
        }
        let run: Arc<str> = Arc::from(PAPER);
        let none: Arc<str> = Arc::from("");
        let mut found = Vec::new();
        for (at, figure) in paper.figures.iter().enumerate() {
            let series = self.series_of(&run, &Arc::from(figure.model.as_str()), &none, true);
            let sets: Vec<usize> = (0..self.sets.len())
                .filter(|set| self.sets[*set].published.as_deref() == Some(&*figure.dataset))
                .collect();
            for set in sets {
                let mut modes: Vec<Mode> = taken
                    .keys()
                    .filter(|place| place.set == set && place.scenario == figure.scenario)
                    .map(Place::mode)
                    .collect();
                modes.dedup();
                if modes.is_empty() {
                    modes.push(Mode::Nested);
                }
                let p = figure.p.map_or(Percent::NONE, Percent::new);
                found.extend(modes.into_iter().map(|mode| {
                    let place = Place::new(
                        (set, series),
                        figure.scenario,
                        mode,
                        figure.docs,
                        figure.source,
                        p,
                    );
                    (place, at)
                }));
            }
        }
        found
    }

    /// Gives every series a name of its own: the model, its run where there are several, and a number
    /// where one run has the model with several settings.
    pub(super) fn name_series(&mut self) {
        let several_runs = self
            .series
            .iter()
            .any(|series| series.run != self.series[0].run);
        let twins = |at: usize, series: &[Series]| {
            let same = |other: &Series| {
                (&other.run, &other.model) == (&series[at].run, &series[at].model)
                    && other.is_paper == series[at].is_paper
            };
            let before = series[..at].iter().filter(|other| same(other)).count();
            (before, series.iter().filter(|other| same(other)).count())
        };
        for at in 0..self.series.len() {
            let (before, all) = twins(at, &self.series);
            let series = &mut self.series[at];
            series.label = series.model.to_string();
            if all > 1 {
                series.label.push_str(&format!(" #{}", before + 1));
            }
            if several_runs {
                series.label.push_str(&format!(" ({})", series.run));
            }
        }
    }

    /// What to call a set: the paper's name where it corresponds, with the beginning of the fingerprint
    /// where two sets would have one name.
    pub(super) fn set_label(&self, at: usize) -> String {
        let name = |set: &Set| set.published.clone().unwrap_or_else(|| set.name.clone());
        let Some(set) = self.sets.get(at) else {
            return String::new();
        };
        let same = self
            .sets
            .iter()
            .filter(|other| name(other) == name(set))
            .count();
        match same > 1 {
            true => {
                let short: String = set.fingerprint.chars().take(8).collect();
                format!("{} ({short})", name(set))
            }
            false => name(set),
        }
    }

    /// The sets in the order in which they are shown: the paper's in its order, then the others as they
    /// appeared.
    pub(super) fn set_order(&self, paper: &Published) -> Vec<usize> {
        let known = paper.datasets();
        let mut order: Vec<usize> = (0..self.sets.len()).collect();
        order.sort_by_key(|at| {
            let published = self.sets[*at].published.as_deref();
            published
                .and_then(|name| known.iter().position(|known| *known == name))
                .unwrap_or(known.len())
        });
        order
    }
}
