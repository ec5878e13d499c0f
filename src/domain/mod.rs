//! Pure values and rules of the benchmark: no files, no clock, no network, no terminal.

pub mod annotation;
pub mod answer;
pub mod build;
pub mod compare;
pub mod context;
pub mod cost;
pub mod definition;
pub mod excerpt;
pub mod history;
pub mod mention;
pub mod normalize;
pub mod pace;
pub mod passage;
pub mod plain;
pub mod plan;
pub mod probe;
pub mod prompt;
pub mod quality;
pub mod question;
pub mod ranking;
pub mod report;
pub mod review;
pub mod score;
pub mod stats;
pub mod text;
