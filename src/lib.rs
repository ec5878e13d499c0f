//! MedRGB Explorer: the library behind the `medrgb` program.
//!
//! The rooms, floor by floor; a room imports only from the floors below it
//! (a test enforces this):
//!
//! * floor 0: [`config`] typed settings; [`domain`] pure values and rules; [`source`] opening text files of any size
//! * floor 1: [`data`] files and the run store; [`retrieval`] encoder, vector and
//!   lexical search; [`model`] language models
//! * floor 2: [`engine`] the use cases that join them: ask, search, jobs
//! * floor 3: [`tui`] the explorer; [`cli`] the commands
//! * floor 4: [`explore`] opens the explorer with the settings of the command line
#![forbid(unsafe_op_in_unsafe_fn)]

pub mod cli;
pub mod config;
pub mod data;
pub mod domain;
pub mod engine;
pub mod explore;
pub mod model;
pub mod retrieval;
pub mod source;
pub mod tui;
