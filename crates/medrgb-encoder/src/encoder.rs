//! The public door: open a folder, encode texts.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::backend::{BackendChoice, BackendInfo, Found, candidates};
use crate::config::Config;
use crate::error::EncoderError;
use crate::pooling::{Pooling, Recipe, base_folder, recipe};
use crate::run::{self, Runner};
use crate::tokens::{TokenIds, Tokens};
use crate::weights::{Weights, sha256};

/// Inputs per call to the tokenizer, between which the caller is asked whether to go on.
const TOKENIZE_AT_ONCE: usize = 256;

/// How to open an encoder; everything left out comes from its folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Where to compute.
    pub backend: BackendChoice,
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
    /// Making word pieces.
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
    tokens: Tokens,
    runner: Box<dyn Runner>,
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
    /// With [`BackendChoice::Auto`], a GPU that fails is passed over with a note.
    ///
    /// # Errors
    /// One sentence about the file, setting or device at fault.
    pub fn open(folder: &Path, options: &OpenOptions) -> Result<Self, EncoderError> {
        if !folder.is_dir() {
            return Err(EncoderError::NoFolder(folder.to_path_buf()));
        }
        let config = Config::read(&base_folder(folder)?)?;
        let mut recipe = recipe(folder, &config, options)?;
        let tokens = Tokens::open(&recipe, &config)?;
        let mut weights = Weights::open(&recipe.base)?;
        let path = weights.path().to_path_buf();
        // Hashing takes as long as loading: do both at once.
        let (loaded, hash) = std::thread::scope(|scope| {
            let hash = scope.spawn(|| sha256(&path));
            (
                load(options.backend, &mut weights, &config, &mut recipe),
                hash.join(),
            )
        });
        let (found, runner) = loaded?;
        let weights_sha256 = hash.unwrap_or_else(|_| sha256(&path))?;
        Ok(Self {
            info: info(folder, config, recipe, found.info, weights_sha256),
            tokens,
            runner,
        })
    }

    /// What was opened.
    pub fn info(&self) -> &EncoderInfo {
        &self.info
    }

    /// The word pieces of `inputs`, cut to the token limit, without padding.
    ///
    /// # Errors
    /// If the tokenizer fails or does not belong to the model.
    pub fn tokenize(&self, inputs: &[Input<'_>]) -> Result<Vec<TokenIds>, EncoderError> {
        self.tokens.encode(inputs)
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
        let total = inputs.len();
        let began = Instant::now();
        let mut tokens = Vec::with_capacity(total);
        for some in inputs.chunks(TOKENIZE_AT_ONCE) {
            if progress(Progress { done: 0, total }).is_break() {
                return Err(EncoderError::Cancelled);
            }
            tokens.extend(self.tokens.encode(some)?);
        }
        let tokenize = began.elapsed();
        let data = self.run(&tokens, progress)?;
        let timing = Timing {
            tokenize,
            encode: began.elapsed() - tokenize,
        };
        Ok((
            Embeddings {
                dim: self.info.dim,
                data,
            },
            timing,
        ))
    }

    /// All vectors of `tokens` in order, row-major.
    fn run(
        &self,
        tokens: &[TokenIds],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Vec<f32>, EncoderError> {
        let (dim, total) = (self.info.dim, tokens.len());
        let mut data = vec![0f32; total * dim];
        let mut done = 0;
        self.runner.run(tokens, &mut |which, rows| {
            for (i, row) in which.iter().zip(rows.chunks_exact(dim)) {
                let out = &mut data[i * dim..(i + 1) * dim];
                out.copy_from_slice(row);
                if self.info.normalized {
                    normalize(out);
                }
                done += 1;
            }
            progress(Progress { done, total })
        })?;
        if done == total {
            Ok(data)
        } else {
            Err(EncoderError::Device {
                backend: self.info.backend.backend,
                reason: format!("{done} of {total} vectors came back"),
            })
        }
    }
}

/// Loads onto the first candidate that works; those that do not become notes.
fn load(
    choice: BackendChoice,
    weights: &mut Weights,
    config: &Config,
    recipe: &mut Recipe,
) -> Result<(Found, Box<dyn Runner>), EncoderError> {
    let mut failed = EncoderError::Option("no backend is left to try".to_owned());
    for found in candidates(choice)? {
        match run::load(&found, weights, config, recipe.pooling) {
            Ok(runner) => return Ok((found, runner)),
            Err(error @ EncoderError::Device { .. }) => {
                recipe
                    .notes
                    .push(format!("{error}; another backend was tried"));
                failed = error;
            }
            Err(error) => return Err(error),
        }
    }
    Err(failed)
}

fn info(
    folder: &Path,
    config: Config,
    recipe: Recipe,
    backend: BackendInfo,
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
        backend,
        weights_sha256,
        folder: folder.to_path_buf(),
        notes: recipe.notes,
    }
}

/// Scales `row` to length 1; a row of zeros stays as it is, as in `torch.nn.functional.normalize`.
fn normalize(row: &mut [f32]) {
    let square: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let inverse = (1.0 / square.sqrt().max(1e-12)) as f32;
    row.iter_mut().for_each(|x| *x *= inverse);
}
