//! Drawing tools that know nothing of the benchmark.

pub mod chart;
pub mod diff;
pub mod flow;
pub mod line;
pub mod seek;
pub mod text;
