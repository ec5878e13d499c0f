//! Use cases that join the rooms below: composing an instance, asking a model one or many of them,
//! auditing, scoring and comparing runs, searching.

pub mod ask;
pub mod audit;
pub mod build;
pub mod compare;
pub mod evaluate;
pub mod find;
pub mod instance;
pub mod job;
pub mod models;
pub mod probe;
pub mod quality;
pub mod rescore;
pub mod review;
pub mod search;
pub mod survey;
pub mod sweep;
