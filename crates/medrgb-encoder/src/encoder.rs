//! The public door: open a folder, encode texts.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::backend::{BackendChoice, BackendInfo, Precision};
use crate::config::{Config, Purpose};
use crate::error::EncoderError;
use crate::pipeline::Pipeline;
use crate::pooling::{Pooling, Recipe, base_folder, recipe};
use crate::tokens::{TokenIds, Tokens};
use crate::weights::Weights;

/// How to open an encoder; everything left out comes from its folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Where to compute.
    pub backend: BackendChoice,
    /// How numbers are kept on a GPU; the processor always computes in `f32`.
    pub precision: Precision,
    /// Folder for the kernels that CUDA compiles at its first use, so that later starts take seconds
    /// instead of minutes. The first folder given in a process counts.
    pub kernel_cache: Option<PathBuf>,
    /// Threads on the processor; without it one per core.
    pub threads: Option<usize>,
    /// Longest input in tokens, special ones included.
    pub max_tokens: Option<usize>,
    /// How to make one vector of many.
    pub pooling: Option<Pooling>,
    /// Whether to scale vectors to length 1.
    pub normalize: Option<bool>,
}

/// A text to encode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<'a> {
    /// A question or search phrase.
    Query(&'a str),
    /// A document: a pair for encoders with pair input, else both joined by a space.
    Article {
        /// May be empty.
        title: &'a str,
        /// May be empty.
        content: &'a str,
    },
}

impl Input<'_> {
    /// Its length in bytes, a measure of its length in tokens.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Query(text) => text.len(),
            Self::Article { title, content } => title.len() + content.len(),
        }
    }
}

/// What was opened, for people and for manifests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EncoderInfo {
    /// The model's name: `owner/name` in a hub cache, else the folder's.
    pub name: String,
    /// `medcpt`, `sentence-transformers` or `bert` (a folder that says nothing about pooling).
    pub family: String,
    /// Numbers per vector.
    pub dim: usize,
    /// Transformer layers.
    pub layers: usize,
    /// Attention heads per layer.
    pub heads: usize,
    /// How hidden states become one vector.
    pub pooling: Pooling,
    /// Whether vectors have length 1.
    pub normalized: bool,
    /// Longest input in tokens, special ones included; longer ones are cut.
    pub max_tokens: usize,
    /// Whether title and content go in as a pair.
    pub pair_input: bool,
    /// Where it computes.
    pub backend: BackendInfo,
    /// SHA-256 of the weights file, in hexadecimal.
    pub weights_sha256: String,
    /// The folder it was opened from.
    pub folder: PathBuf,
    /// Choices made while opening that a reader should know of.
    pub notes: Vec<String>,
}

/// Vectors, one per input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Embeddings {
    /// Numbers per vector.
    pub dim: usize,
    /// All vectors one after the other: (n, dim).
    pub data: Vec<f32>,
}

impl Embeddings {
    /// The vectors in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.data.chunks_exact(self.dim.max(1))
    }

    /// The vector of input `i`.
    ///
    /// # Panics
    /// Like slice indexing, if there is no such input.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.dim..(i + 1) * self.dim]
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.data.len() / self.dim.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
}

/// Where the time went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Making word pieces, as far as it was waited for.
    pub tokenize: Duration,
    /// Computing vectors.
    pub encode: Duration,
}

/// How far an encoding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Inputs finished.
    pub done: usize,
    /// Inputs in all.
    pub total: usize,
}

/// An encoder ready to use; can be shared among threads.
pub struct Encoder {
    info: EncoderInfo,
    pipeline: Pipeline,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

impl Encoder {
    /// Opens the encoder in `folder`.
    ///
    /// With [`BackendChoice::Auto`] and a GPU the encoder can be used at once: the GPU gets ready in the
    /// background, and until then a few texts at a time are encoded on the processor. A GPU that fails is
    /// passed over.
    ///
    /// # Errors
    /// One sentence about the file, setting or device at fault.
    pub fn open(folder: &Path, options: &OpenOptions) -> Result<Self, EncoderError> {
        if !folder.is_dir() {
            return Err(EncoderError::NoFolder(folder.to_path_buf()));
        }
        let config = Config::read(&base_folder(folder)?, Purpose::Embed)?;
        let recipe = recipe(folder, &config, options)?;
        let tokens = Tokens::open(&recipe, &config)?;
        let mut weights = Weights::open(&recipe.base)?;
        let opened = Pipeline::open(tokens, &mut weights, &config, &recipe, options)?;
        Ok(Self {
            info: info(
                folder,
                config,
                recipe,
                opened.notes,
                &opened.pipeline,
                opened.sha256,
            ),
            pipeline: opened.pipeline,
        })
    }

    /// What was opened; the backend is the one at the time of opening.
    pub fn info(&self) -> &EncoderInfo {
        &self.info
    }

    /// Where it computes now: the processor until a GPU chosen by itself is ready.
    pub fn backend(&self) -> BackendInfo {
        self.pipeline.backend()
    }

    /// The word pieces of `inputs`, cut to the token limit, without padding.
    ///
    /// # Errors
    /// If the tokenizer fails or does not belong to the model.
    pub fn tokenize(&self, inputs: &[Input<'_>]) -> Result<Vec<TokenIds>, EncoderError> {
        self.pipeline.tokens.encode(inputs)
    }

    /// The vectors of `inputs`, in their order.
    ///
    /// `progress` is called on this thread, on the CPU at least every 50 ms and on GPUs after each
    /// batch; when it breaks, [`EncoderError::Cancelled`] follows soon after.
    ///
    /// # Errors
    /// If the tokenizer or the device fails, or on cancelling.
    pub fn encode(
        &self,
        inputs: &[Input<'_>],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Embeddings, Timing), EncoderError> {
        let dim = self.info.dim;
        let mut data = vec![0f32; inputs.len() * dim];
        let timing = self.encode_rest(inputs, &[], progress, &mut |at, row| {
            data[at * dim..(at + 1) * dim].copy_from_slice(row);
        })?;
        Ok((Embeddings { dim, data }, timing))
    }

    /// The vectors of those `inputs` that `known` does not mark, handed to `take` with the index of their input as
    /// soon as they are there; what came before a stop is whole. On the processor they have the bits that
    /// [`Encoder::encode`] gives for all `inputs`, whatever is marked. `take` may also get a marked one again.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn encode_rest(
        &self,
        inputs: &[Input<'_>],
        known: &[bool],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        take: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<Timing, EncoderError> {
        let mut vector = Vec::with_capacity(self.info.dim);
        self.pipeline.rows(inputs, known, progress, &mut |at, row| {
            vector.clear();
            vector.extend_from_slice(row);
            if self.info.normalized {
                normalize(&mut vector);
            }
            take(at, &vector);
        })
    }
}

/// What was opened, put together.
pub(crate) fn info(
    folder: &Path,
    config: Config,
    recipe: Recipe,
    notes: Vec<String>,
    pipeline: &Pipeline,
    weights_sha256: String,
) -> EncoderInfo {
    EncoderInfo {
        name: recipe.name,
        family: recipe.family.to_owned(),
        dim: config.hidden,
        layers: config.layers,
        heads: config.heads,
        pooling: recipe.pooling,
        normalized: recipe.normalized,
        max_tokens: recipe.max_tokens,
        pair_input: recipe.pair_input,
        backend: pipeline.backend(),
        weights_sha256,
        folder: folder.to_path_buf(),
        notes: recipe.notes.into_iter().chain(notes).collect(),
    }
}

/// Scales `row` to length 1; a row of zeros stays as it is, as in `torch.nn.functional.normalize`.
fn normalize(row: &mut [f32]) {
    let square: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let inverse = (1.0 / square.sqrt().max(1e-12)) as f32;
    row.iter_mut().for_each(|x| *x *= inverse);
}
