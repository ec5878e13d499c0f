//! From askings to tables.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::domain::answer::Outcome;
use crate::domain::context::{Mode, Scenario, SourceFilter};
use crate::domain::report::calibration::{Calibration, Forecast, calibration};
use crate::domain::report::cell::{Cell, cell};
use crate::domain::report::observation::{Observation, counted};
use crate::domain::report::place::{Place, Places, Series};
use crate::domain::report::plan::{PLANS, Plan};
use crate::domain::report::{
    Column, Comparison, Lookup, Measure, NOT_COMPARABLE, NoteRow, OutcomeRow, PAPER, Panel,
    Published, Report, Row, RunFacts, Table, remarks,
};
use crate::domain::score::Metric;

/// What a report is made of besides the askings.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// The paper's figures.
    pub paper: &'a Published,
    /// Puts the published figure and the difference beside each cell that has one.
    pub against: bool,
    /// Leaves askings with short contexts out.
    pub full_contexts: bool,
    /// Models whose names don't tell which of the paper's they are: own name, published name.
    pub same_models: &'a [(String, String)],
}

impl<'a> Options<'a> {
    /// A report without a comparison, on all contexts.
    pub fn new(paper: &'a Published) -> Options<'a> {
        Options {
            paper,
            against: false,
            full_contexts: false,
            same_models: &[],
        }
    }
}

/// Builds a report on runs: names with their askings. [`PAPER`] without askings stands for the published
/// figures.
pub fn build(runs: Vec<(String, Vec<Observation>)>, options: &Options<'_>) -> Report {
    let mut facts = Vec::new();
    let mut askings = Vec::new();
    let has_paper = runs
        .iter()
        .any(|(name, stored)| name == PAPER && stored.is_empty());
    for (name, stored) in runs {
        let (fact, mut kept) = if name == PAPER && stored.is_empty() {
            (paper_facts(options.paper), Vec::new())
        } else {
            run_facts(name, stored, options.full_contexts)
        };
        facts.push(fact);
        askings.append(&mut kept);
    }
    let sorted = Sorted::of(&askings, has_paper, options);
    let comparisons = match options.against || has_paper {
        true => sorted.comparisons(options),
        false => Vec::new(),
    };
    let shows_published = has_paper || comparisons.iter().any(|one| one.comparable);
    let names: Vec<&str> = facts.iter().map(|fact| fact.name.as_str()).collect();
    let mut report = Report {
        title: format!("MedRGB report: {}", names.join(", ")),
        published: shows_published
            .then(|| format!("{} ({})", options.paper.source, options.paper.licence)),
        runs: facts,
        comparisons,
        remarks: Vec::new(),
        tables: PLANS
            .iter()
            .filter_map(|plan| sorted.table(plan, options))
            .collect(),
        calibration: sorted.calibration(),
        outcomes: sorted.outcomes(),
        notes: sorted.notes(),
    };
    report.remarks = remarks::remarks(&report, &askings, &sorted.places.series, options);
    report
}

fn paper_facts(paper: &Published) -> RunFacts {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    RunFacts {
        name: PAPER.to_owned(),
        published: true,
        records: 0,
        superseded: 0,
        short_left_out: 0,
        counted: 0,
        questions: 0,
        models: owned(paper.models()),
        datasets: owned(paper.datasets()),
        seeds: Vec::new(),
    }
}

/// What of a run counts, and the askings that do.
fn run_facts(
    name: String,
    stored: Vec<Observation>,
    full_contexts: bool,
) -> (RunFacts, Vec<Observation>) {
    let records = stored.len();
    let (mut kept, superseded) = counted(stored);
    let all = kept.len();
    if full_contexts {
        kept.retain(|asking| !asking.short);
    }
    let mut models: Vec<String> = Vec::new();
    let mut datasets: Vec<String> = Vec::new();
    let mut questions = HashSet::new();
    let mut seeds = BTreeSet::new();
    for asking in &kept {
        for (names, name) in [
            (&mut models, &asking.model),
            (&mut datasets, &asking.dataset),
        ] {
            if !names.iter().any(|known| *known == **name) {
                names.push(name.to_string());
            }
        }
        questions.insert((asking.fingerprint.clone(), asking.question.clone()));
        seeds.insert(asking.condition.seed);
    }
    let facts = RunFacts {
        name,
        published: false,
        records,
        superseded,
        short_left_out: all - kept.len(),
        counted: kept.len(),
        questions: questions.len(),
        models,
        datasets,
        seeds: seeds.into_iter().collect(),
    };
    (facts, kept)
}

/// What shares a panel: set, scenario, mode, and outside standard documents and source too.
type PanelKey = (Scenario, Mode, Option<usize>, Option<SourceFilter>);

/// Askings and published figures, each in its place.
struct Sorted<'a> {
    askings: &'a [Observation],
    places: Places,
    groups: BTreeMap<Place, Vec<usize>>,
    figures: BTreeMap<Place, Vec<usize>>,
    set_order: Vec<usize>,
}

impl<'a> Sorted<'a> {
    fn of(askings: &'a [Observation], has_paper: bool, options: &Options<'_>) -> Sorted<'a> {
        let mut places = Places::default();
        let mut groups: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
        for (at, asking) in askings.iter().enumerate() {
            let place = places.of(asking, options.paper);
            groups.entry(place).or_default().push(at);
        }
        let mut figures: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
        if has_paper {
            for (place, figure) in places.of_paper(options.paper, &groups) {
                figures.entry(place).or_default().push(figure);
            }
        }
        places.name_series();
        Sorted {
            askings,
            set_order: places.set_order(options.paper),
            places,
            groups,
            figures,
        }
    }

    fn members(&self, group: &[usize]) -> Vec<&'a Observation> {
        group
            .iter()
            .filter_map(|at| self.askings.get(*at))
            .collect()
    }

    /// A filled table, or `None` where there is nothing for it.
    fn table(&self, plan: &Plan, options: &Options<'_>) -> Option<Table> {
        let mut panels = Vec::new();
        for (scenario, measures) in plan.measures {
            for key in self.panel_keys(*scenario) {
                for measure in *measures {
                    let sets = self.set_order.iter();
                    panels.extend(sets.filter_map(|set| self.panel(*set, key, *measure, options)));
                }
            }
        }
        (!panels.is_empty()).then_some(Table {
            id: plan.id,
            number: plan.number,
            title: plan.title,
            caption: plan.caption,
            panels,
        })
    }

    fn panel_keys(&self, scenario: Scenario) -> Vec<PanelKey> {
        let mut keys: Vec<PanelKey> = Vec::new();
        let places = self.groups.keys().chain(self.figures.keys());
        for place in places.filter(|place| place.scenario == scenario) {
            let key = panel_key(place);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys.sort_by_key(|(_, mode, docs, source)| {
            let source = source.map(SourceFilter::name);
            (*mode == Mode::Independent, *docs, source)
        });
        keys
    }

    fn panel(
        &self,
        set: usize,
        key: PanelKey,
        measure: Measure,
        options: &Options<'_>,
    ) -> Option<Panel> {
        let inside = |place: &&Place| place.set == set && panel_key(place) == key;
        let mut columns: Vec<Place> = Vec::new();
        let mut rows: Vec<usize> = Vec::new();
        for place in self.groups.keys().chain(self.figures.keys()).filter(inside) {
            let column = place.in_series(0);
            if !columns.contains(&column) {
                columns.push(column);
            }
            if !rows.contains(&place.series) {
                rows.push(place.series);
            }
        }
        columns.sort();
        rows.sort_unstable();
        let rows: Vec<Row> = rows
            .into_iter()
            .filter_map(|series| self.row(series, &columns, measure, options))
            .collect();
        let (scenario, mode, docs, source) = key;
        (!rows.is_empty()).then(|| Panel {
            dataset: self.places.set_label(set),
            scenario,
            docs,
            source,
            mode,
            measure,
            columns: columns.iter().map(column).collect(),
            rows,
        })
    }

    /// A row, or `None` where the measure applies to nothing in it.
    fn row(
        &self,
        at: usize,
        columns: &[Place],
        measure: Measure,
        options: &Options<'_>,
    ) -> Option<Row> {
        let series = self.places.series.get(at)?;
        let cells: Vec<Option<Cell>> = columns
            .iter()
            .map(|place| {
                let place = place.in_series(at);
                self.cell(series, &place, measure, options)
            })
            .collect();
        let shows =
            |cell: &Cell| cell.value.is_some() || measure == Measure::Of(Metric::MainAccuracy);
        cells.iter().flatten().any(shows).then(|| Row {
            run: series.run.to_string(),
            model: series.model.to_string(),
            published: series.is_paper,
            label: series.label.clone(),
            series: at,
            cells,
        })
    }

    fn cell(
        &self,
        series: &Series,
        place: &Place,
        measure: Measure,
        options: &Options<'_>,
    ) -> Option<Cell> {
        if series.is_paper {
            let figures = self.figures.get(place)?;
            let wanted = |figure: &&usize| {
                let figure = options.paper.figures.get(**figure);
                figure.is_some_and(|figure| Measure::Of(figure.metric) == measure)
            };
            let found = figures.iter().find(wanted)?;
            return Some(Cell::published(options.paper.figures.get(*found)?.value));
        }
        let members = self.members(self.groups.get(place)?);
        let mut cell = cell(measure, &members)?;
        if options.against
            && let Some(published) = self.published(series, place, measure, options)
        {
            cell.compare(published);
        }
        Some(cell)
    }

    /// The paper's figure for a cell, where set, model and condition correspond.
    fn published(
        &self,
        series: &Series,
        place: &Place,
        measure: Measure,
        options: &Options<'_>,
    ) -> Option<f64> {
        let Measure::Of(metric) = measure else {
            return None;
        };
        options.paper.value(&Lookup {
            scenario: place.scenario,
            metric,
            dataset: self.places.sets.get(place.set)?.published.as_deref()?,
            model: published_model(&series.model, options)?,
            docs: place.docs,
            p: place.p.value().unwrap_or_default(),
            source: place.source(),
        })
    }

    fn comparisons(&self, options: &Options<'_>) -> Vec<Comparison> {
        let has_own = |set: &usize| self.groups.keys().any(|place| place.set == *set);
        let order = self.set_order.iter().copied().filter(has_own);
        order
            .filter_map(|at| {
                let set = self.places.sets.get(at)?;
                let reason = match (&set.published, set.own_documents) {
                    (Some(name), _) => {
                        format!("it declares MedRGB's own documents and is the paper's {name}")
                    }
                    (None, true) => format!(
                        "it declares MedRGB's own documents, but neither its name nor its questions say which of the paper's sets it is ({})",
                        options.paper.datasets().join(", ")
                    ),
                    (None, false) => format!(
                        "{NOT_COMPARABLE}: it does not declare MedRGB's own documents"
                    ),
                };
                Some(Comparison {
                    dataset: set.name.clone(),
                    comparable: set.published.is_some(),
                    published_set: set.published.clone(),
                    reason,
                })
            })
            .collect()
    }

    fn calibration(&self) -> Vec<Calibration> {
        let mut pooled: BTreeMap<(usize, Scenario, usize), Vec<Forecast>> = BTreeMap::new();
        for (place, group) in &self.groups {
            let forecasts = self.members(group).into_iter().filter_map(|asking| {
                let chose = asking.outcome == Some(Outcome::Answered);
                asking.forecast.filter(|_| chose)
            });
            pooled
                .entry((place.set, place.scenario, place.series))
                .or_default()
                .extend(forecasts);
        }
        let rows = pooled
            .into_iter()
            .filter_map(|((set, scenario, at), forecasts)| {
                let series = self.places.series.get(at)?;
                Some(Calibration {
                    run: series.run.to_string(),
                    model: series.model.to_string(),
                    label: series.label.clone(),
                    series: at,
                    dataset: self.places.set_label(set),
                    scenario,
                    ..calibration(&forecasts)?
                })
            });
        rows.collect()
    }

    fn outcomes(&self) -> Vec<OutcomeRow> {
        let rows = self.groups.iter().filter_map(|(place, group)| {
            let series = self.places.series.get(place.series)?;
            let mut kinds: BTreeMap<Outcome, usize> = BTreeMap::new();
            let mut failed = 0;
            for asking in self.members(group) {
                match asking.outcome {
                    Some(outcome) => *kinds.entry(outcome).or_default() += 1,
                    None => failed += 1,
                }
            }
            Some(OutcomeRow {
                run: series.run.to_string(),
                model: series.label.clone(),
                dataset: self.places.set_label(place.set),
                scenario: place.scenario,
                docs: place.docs,
                p: place.p.value(),
                source: place.source(),
                mode: place.mode(),
                kinds: kinds
                    .into_iter()
                    .map(|(outcome, count)| (outcome.name(), count))
                    .collect(),
                failed,
                total: group.len(),
            })
        });
        rows.collect()
    }

    fn notes(&self) -> Vec<NoteRow> {
        let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for (place, group) in &self.groups {
            for asking in self.members(group) {
                let different: BTreeSet<&str> = asking.notes.iter().map(String::as_str).collect();
                for note in different {
                    *counts.entry((place.series, note)).or_default() += 1;
                }
            }
        }
        let mut rows: Vec<NoteRow> = counts
            .into_iter()
            .filter_map(|((series, note), replies)| {
                let series = self.places.series.get(series)?;
                Some(NoteRow {
                    run: series.run.to_string(),
                    model: series.label.clone(),
                    note: note.to_owned(),
                    replies,
                })
            })
            .collect();
        // Stable: equal counts stay sorted by series and note.
        rows.sort_by_key(|row| std::cmp::Reverse(row.replies));
        rows
    }
}

/// The paper's name of a model: as the user says, or as its name tells.
pub(super) fn published_model<'a>(model: &str, options: &'a Options<'_>) -> Option<&'a str> {
    let said = options.same_models.iter().find(|(own, _)| own == model);
    match said {
        Some((_, published)) => Some(published.as_str()),
        None => options.paper.model_named(model),
    }
}

fn panel_key(place: &Place) -> PanelKey {
    let standard = place.scenario == Scenario::Standard;
    (
        place.scenario,
        place.mode(),
        (!standard).then_some(place.docs),
        (!standard).then_some(place.source()),
    )
}

fn column(place: &Place) -> Column {
    let label = match place.p.value() {
        Some(p) => format!("p={}", super::plain(p)),
        None if place.docs == 0 => "none".to_owned(),
        None => format!("{}-{}", place.source().name(), place.docs),
    };
    Column {
        label,
        docs: place.docs,
        p: place.p.value(),
        source: place.source(),
    }
}
