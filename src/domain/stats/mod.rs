//! Statistics of rates: intervals, paired tests, and what a comparison could have detected.

mod bootstrap;
mod holm;
mod kappa;
mod mcnemar;
mod power;
mod wilson;

pub use bootstrap::{ClusterPair, PairedSpread, Resampling, Spread, paired, pooled};
pub use holm::holm;
pub use kappa::{Agreement, cohen, fleiss};
pub use mcnemar::mcnemar_exact;
pub use power::{detectable_difference, detectable_from_error};
pub use wilson::wilson;

/// The two-sided 95 % quantile of the standard normal distribution, `scipy.stats.norm.ppf(0.975)`.
const Z_975: f64 = 1.959_963_984_540_054;
/// Its 80 % quantile, `scipy.stats.norm.ppf(0.8)`.
const Z_800: f64 = 0.841_621_233_572_914_3;
