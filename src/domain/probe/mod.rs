//! Looking into single replies: does the answer hang on one document, does planted text come back, do
//! cited documents contain what is said to stand in them.

mod citations;
mod effect;
mod reasons;
mod trace;

pub use citations::{Citation, Citations, Quote, Support, citations};
pub use effect::{Effect, Said, Tried, Verdict, said, verdict};
pub use reasons::{question_texts, reasons};
pub use trace::{EditedRun, PlantedTrace, Stance, Trace, trace};

/// The run that holds the replies of probes. No table counts them: their contexts were not composed.
pub const PROBES: &str = "probe";
