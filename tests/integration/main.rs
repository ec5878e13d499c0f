//! Integration tests: one module per subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod annotate;
mod ask;
mod batch;
mod build;
mod build_again;
mod build_faults;
mod build_screen;
mod build_web;
mod chosen_model;
mod columns;
mod comeback;
mod compare;
mod compose;
mod embedded;
mod encode;
mod endurance;
mod first_look;
mod gallery;
mod hostile;
mod http;
mod import;
mod import_rule;
mod index;
mod index_faults;
mod look;
mod messages;
mod milvus;
mod milvus_server;
mod models;
mod outside;
mod probe;
mod process;
mod pty;
mod pty_look;
mod pty_runs;
mod read_only;
mod report;
mod retrieval;
mod review;
mod run_screens;
mod runs;
mod score;
mod screens;
mod settings;
mod sse_server;
mod sweep;
mod sweep_grid;
mod sweep_stops;
mod talk;
mod tiny_bert;
mod tiny_gguf;
