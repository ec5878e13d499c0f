//! Integration tests: one module per subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod ask;
mod compose;
mod import_rule;
mod pty;
mod screens;
mod http;
mod score;
mod sse_server;
