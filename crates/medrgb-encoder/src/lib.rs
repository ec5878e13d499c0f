//! Text encoders of the BERT family: a Hugging Face folder in, embeddings out.
//!
//! [`Encoder::open`] reads a folder and picks a device; [`Encoder::encode`] turns texts into rows of
//! `f32`. [`CrossEncoder`] scores pairs of query and text. The map, floor by floor:
//!
//! - `error`, `config` (config.json), `pooling` (sentence-transformers files): what a folder says;
//! - `weights` (safetensors and PyTorch files), `tokens` (word pieces): what a folder holds;
//! - `batch`, `kernels` (the one folder with `unsafe`), `ops`, `model`: the forward pass;
//! - `backend` (probing), `run` (CPU workers, GPU loop), `pipeline` (texts through tokenizer and model);
//! - `encoder`, `cross`: the public doors.
//!
//! No burn type leaves this crate, so that a change elsewhere never compiles burn's generics again.

mod backend;
mod batch;
mod config;
mod cross;
mod encoder;
mod error;
mod kernels;
mod model;
mod ops;
mod pipeline;
mod pooling;
#[cfg(any(feature = "wgpu", feature = "cuda", test))]
mod quiet;
mod run;
mod tokens;
mod weights;

#[cfg(test)]
mod tests;

pub use backend::{Backend, BackendChoice, BackendInfo, Precision, Probe, probe};
pub use cross::{CrossEncoder, Pair};
pub use encoder::{Embeddings, Encoder, EncoderInfo, Input, OpenOptions, Progress, Timing};
pub use error::EncoderError;
pub use pooling::Pooling;
pub use tokens::TokenIds;
