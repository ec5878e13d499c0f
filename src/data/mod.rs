//! Files: dataset folders, prompt folders, saved replies, the run store; other people's files in and out.

pub mod annotations;
pub mod beir;
pub mod built;
pub mod clock;
pub mod csv_file;
pub mod dataset;
pub mod export;
pub mod import;
mod journal;
pub mod ledger;
mod locked;
pub mod output;
pub mod parquet_file;
pub mod predictions;
pub mod prompts;
mod reading;
pub mod recorded;
mod reply_fields;
pub mod reviews;
pub mod session;
pub mod store;
pub mod talk;
