//! Files: dataset folders, prompt folders, saved replies, the run store.

pub mod dataset;
pub mod predictions;
pub mod prompts;
pub mod store;
