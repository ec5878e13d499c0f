//! Reports: the paper's tables and figures for stored runs. Pure: askings in, tables and their texts out.
//!
//! [`build`] sorts the askings that count into panels (one measure, one question set, one row per model);
//! a panel is laid out once as a `grid` and written as text, Markdown, LaTeX or HTML; CSV and JSON hold
//! the cells themselves.

use serde::Serialize;

use crate::domain::context::{Mode, Scenario, SourceFilter};

mod build;
mod calibration;
mod cell;
mod chart;
pub mod csv;
mod figures;
mod grid;
pub mod html;
pub mod interval;
mod labels;
pub mod latex;
pub mod markdown;
mod measure;
mod observation;
mod place;
mod plan;
mod published;
mod reliability;
mod remarks;
#[cfg(test)]
mod tests;
pub mod text;
mod tradeoff;

pub use build::{Options, build};
pub use calibration::{Bin, Calibration, Forecast};
pub use cell::{Cell, IntervalKind};
pub use figures::figures;
pub use measure::Measure;
pub use observation::{MEDRGB_DOCUMENTS, Observation, counted};
pub use plan::{table_named, table_names};
pub use published::{Figure, Lookup, Published, PublishedError};
pub use reliability::ID as CALIBRATION;

/// The name under which the paper's figures can be reported like a run.
pub const PAPER: &str = "paper";

/// What is said where figures are not set beside the paper's.
pub const NOT_COMPARABLE: &str = "different documents, not comparable";

/// A report on one or more runs. Rates run from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What it reports on.
    pub title: String,
    /// The runs, in the order asked for.
    pub runs: Vec<RunFacts>,
    /// Where the published figures are from, if any are shown.
    pub published: Option<String>,
    /// With `--against paper`: for each dataset, whether it was set beside the paper, and why not.
    pub comparisons: Vec<Comparison>,
    /// Cautions and how to read the tables, one sentence each.
    pub remarks: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Calibration, for each model, question set and test with probabilities of the options.
    pub calibration: Vec<Calibration>,
    /// Replies by kind, condition by condition.
    pub outcomes: Vec<OutcomeRow>,
    /// How often each repair or oddity was noted, most frequent first.
    pub notes: Vec<NoteRow>,
}

/// What a run holds and what of it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunFacts {
    /// Name of the run.
    pub name: String,
    /// Whether these are published figures, not replies.
    pub published: bool,
    /// Stored askings.
    pub records: usize,
    /// Askings left out because another of the same request counts.
    pub superseded: usize,
    /// Askings left out because their context is short (with `--full-contexts`).
    pub short_left_out: usize,
    /// Askings that count, failed calls among them.
    pub counted: usize,
    /// Different questions among those.
    pub questions: usize,
    /// The models, in order of appearance.
    pub models: Vec<String>,
    /// The datasets, in order of appearance.
    pub datasets: Vec<String>,
    /// The seeds of the contexts, sorted.
    pub seeds: Vec<u64>,
}

/// Whether a dataset can be set beside the paper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Name of the dataset.
    pub dataset: String,
    /// Whether published figures stand beside its cells.
    pub comparable: bool,
    /// The paper's name of the set.
    pub published_set: Option<String>,
    /// Why, or why not.
    pub reason: String,
}

/// A table: panels under one title.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Short name used in files: `table1`, `abstention` …
    pub id: &'static str,
    /// The paper's number, if it is one of the paper's tables.
    pub number: Option<u8>,
    /// One line.
    pub title: &'static str,
    /// What it shows.
    pub caption: &'static str,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// One measure on one question set: a row per model, a column per condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// Name of the dataset, or of the paper's set.
    pub dataset: String,
    /// Which test.
    pub scenario: Scenario,
    /// Documents in the context; `None` where columns differ in it (standard).
    pub docs: Option<usize>,
    /// Where the documents were retrieved; `None` where columns differ in it (standard).
    pub source: Option<SourceFilter>,
    /// How the contexts hang together.
    pub mode: Mode,
    /// What is shown.
    pub measure: Measure,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
}

impl Panel {
    /// The panel's conditions in words, without the measure.
    pub fn subject(&self) -> String {
        let mut parts = vec![self.dataset.clone(), self.scenario.to_string()];
        if let Some(docs) = self.docs {
            parts.push(match docs {
                1 => "1 document".to_owned(),
                docs => format!("{docs} documents"),
            });
        }
        match self.source {
            None | Some(SourceFilter::Any) => {}
            Some(source) => parts.push(source.name().to_owned()),
        }
        if self.mode == Mode::Independent {
            parts.push("independent draws".to_owned());
        }
        parts.join(", ")
    }
}

/// A column of a panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// `p=60`, or the retrieval: `none`, `offline-5`.
    pub label: String,
    /// Documents asked for.
    pub docs: usize,
    /// Per cent of them signal, 0 to 100; `None` in standard.
    pub p: Option<f64>,
    /// Where the documents were retrieved.
    pub source: SourceFilter,
}

/// A row of a panel: a model of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name of the run.
    pub run: String,
    /// Name of the model.
    pub model: String,
    /// Whether these are published figures.
    pub published: bool,
    /// The model, with its run where that is needed to tell rows apart.
    pub label: String,
    /// Position of the model among all of the report: it keeps its colour from panel to panel.
    #[serde(skip)]
    pub series: usize,
    /// One per column; `None` where there is nothing.
    pub cells: Vec<Option<Cell>>,
}

/// The replies of one model under one condition, by kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutcomeRow {
    /// Name of the run.
    pub run: String,
    /// Name of the model.
    pub model: String,
    /// Name of the dataset.
    pub dataset: String,
    /// Which test.
    pub scenario: Scenario,
    /// Documents asked for.
    pub docs: usize,
    /// Per cent of them signal; `None` in standard.
    pub p: Option<f64>,
    /// Where the documents were retrieved.
    pub source: SourceFilter,
    /// How the contexts hang together.
    pub mode: Mode,
    /// Replies by kind, in the order of the kinds.
    pub kinds: std::collections::BTreeMap<&'static str, usize>,
    /// Calls that gave no reply.
    pub failed: usize,
    /// All of them.
    pub total: usize,
}

/// A repair or oddity and how often it was noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteRow {
    /// Name of the run.
    pub run: String,
    /// Name of the model.
    pub model: String,
    /// The note.
    pub note: String,
    /// Replies that have it.
    pub replies: usize,
}

/// A rate as a percentage with one decimal; no sign for what rounds to zero.
fn percent(rate: f64) -> String {
    let text = format!("{:.1}", rate * 100.0);
    if text == "-0.0" {
        "0.0".to_owned()
    } else {
        text
    }
}

/// A difference of rates in percentage points, with its sign.
fn points(difference: f64) -> String {
    let text = percent(difference);
    if text.starts_with('-') || text == "0.0" {
        text
    } else {
        format!("+{text}")
    }
}

/// A number without needless decimals.
fn plain(number: f64) -> String {
    if number.fract() == 0.0 {
        format!("{number:.0}")
    } else {
        let text = format!("{number:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}
