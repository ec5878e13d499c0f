//! Use cases that join the rooms below: composing an instance, asking a model, searching.

pub mod ask;
pub mod instance;
pub mod job;
pub mod models;
pub mod search;
