//! Files: dataset folders, saved replies, the run store.

pub mod dataset;
pub mod predictions;
pub mod store;
