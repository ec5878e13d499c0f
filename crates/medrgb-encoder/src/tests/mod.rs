//! The whole crate against a second, plain implementation, on tiny random models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod folder;
mod reference;

mod cross;
mod errors;
mod parity;
mod pytorch;
mod tokenizer;

use std::ops::ControlFlow;

use crate::{BackendChoice, Encoder, Input, OpenOptions};

/// Texts of many lengths, in no order of length.
pub(crate) const TEXTS: &[&str] = &[
    "does aspirin reduce fever ?",
    "aspirin",
    "a trial of aspirin and statin in patients with heart failure and fever , does statin reduce risk ?",
    "",
    "heart failure",
    "the risk of fever in patients with heart failure : a trial",
    "Aspirin REDUCES fever — naïve patients unknownword 心",
    "fever fever fever fever fever fever fever fever fever fever fever fever fever fever fever fever fever \
     fever fever fever fever fever fever fever fever fever fever fever fever fever fever fever fever fever",
];

/// Options for the processor.
pub(crate) fn cpu() -> OpenOptions {
    OpenOptions {
        backend: BackendChoice::Cpu,
        ..OpenOptions::default()
    }
}

/// Encodes without being interrupted, one vector per input.
pub(crate) fn encode(encoder: &Encoder, inputs: &[Input<'_>]) -> Vec<Vec<f32>> {
    let (embeddings, _) = encoder
        .encode(inputs, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    embeddings.rows().map(<[f32]>::to_vec).collect()
}
