//! Looking into single replies: does the answer hang on one document, does planted text come back, do
//! cited documents contain what is said to stand in them.

mod citations;
mod effect;
mod facts;
mod found;
mod reasons;
mod sums;
mod trace;

pub use citations::{Citation, Citations, Quote, Support, citations};
pub use effect::{Effect, ORDERS, Said, Tried, Verdict, said, verdict};
pub use facts::{Around, Fact, Weight, facts_of_citation, facts_of_claim, facts_of_quote};
pub use found::{Found, Share};
pub use reasons::{question_texts, reasons};
pub use sums::{Audited, Traced};
pub use trace::{EditedRun, GivenAt, PlantedTrace, Stance, Trace, trace};

/// The run that holds the replies of probes. No table counts them: their contexts were not composed.
pub const PROBES: &str = "probe";
