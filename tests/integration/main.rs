//! One binary for all tests that need more than one module.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod import_rule;
mod pty;
mod screens;
