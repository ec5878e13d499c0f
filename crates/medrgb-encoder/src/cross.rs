//! Cross-encoders: how well a text answers a query, read from both at once.

use std::ops::ControlFlow;
use std::path::Path;

use crate::backend::BackendInfo;
use crate::config::{Config, Purpose};
use crate::encoder::{EncoderInfo, Input, OpenOptions, Progress, Timing, info};
use crate::error::EncoderError;
use crate::pipeline::Pipeline;
use crate::pooling::{Pooling, base_folder, recipe};
use crate::tokens::Tokens;
use crate::weights::Weights;

/// A cross-encoder ready to use; can be shared among threads.
///
/// `BertForSequenceClassification` with one output, such as `ncbi/MedCPT-Cross-Encoder`: the state of
/// `[CLS]` of `[CLS] query [SEP] text [SEP]` goes through the pooler (a linear layer and tanh) and a linear
/// layer to one logit. Larger is better; logits are no probabilities.
pub struct CrossEncoder {
    info: EncoderInfo,
    pipeline: Pipeline,
    head: Head,
}

impl std::fmt::Debug for CrossEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrossEncoder")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// A query and a text to be scored together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The question or search phrase.
    pub query: &'a str,
    /// The text; MedCPT's cross-encoder was trained on "title. abstract".
    pub text: &'a str,
}

impl CrossEncoder {
    /// Opens the cross-encoder in `folder`. Pooling and normalisation of `options` have no meaning here.
    ///
    /// # Errors
    /// One sentence about the file, setting or device at fault.
    pub fn open(folder: &Path, options: &OpenOptions) -> Result<Self, EncoderError> {
        if !folder.is_dir() {
            return Err(EncoderError::NoFolder(folder.to_path_buf()));
        }
        let config = Config::read(&base_folder(folder)?, Purpose::Score)?;
        if config.types < 2 {
            return Err(EncoderError::unsupported(
                &folder.join("config.json"),
                "type_vocab_size is 1, but a cross-encoder tells query and text apart by two segments; \
                 use a BERT cross-encoder",
            ));
        }
        let options = OpenOptions {
            pooling: Some(Pooling::Cls),
            normalize: Some(false),
            ..options.clone()
        };
        let mut recipe = recipe(folder, &config, &options)?;
        recipe.pair_input = true;
        let tokens = Tokens::open(&recipe, &config)?;
        let mut weights = Weights::open(&recipe.base)?;
        let head = Head::read(&mut weights, config.hidden)?;
        let opened = Pipeline::open(tokens, &mut weights, &config, &recipe, &options)?;
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
            head,
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

    /// The logit of each pair, in their order. A pair longer than the token limit is cut, the longer part
    /// first.
    ///
    /// `progress` is called on this thread as in [`crate::Encoder::encode`]; when it breaks,
    /// [`EncoderError::Cancelled`] follows soon after.
    ///
    /// # Errors
    /// If the tokenizer or the device fails, or on cancelling.
    pub fn score(
        &self,
        pairs: &[Pair<'_>],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Vec<f32>, Timing), EncoderError> {
        let inputs: Vec<Input<'_>> = pairs
            .iter()
            .map(|pair| Input::Article {
                title: pair.query,
                content: pair.text,
            })
            .collect();
        let mut scores = vec![0f32; pairs.len()];
        let timing = self.pipeline.rows(&inputs, &[], progress, &mut |at, row| {
            scores[at] = self.head.logit(row);
        })?;
        Ok((scores, timing))
    }
}

/// Pooler and classifier; on the processor, since they are a thousandth of a layer's work.
struct Head {
    /// (h, h) by rows of outputs, and (h).
    pooler: (Vec<f32>, Vec<f32>),
    /// (h) and one number.
    classifier: (Vec<f32>, f32),
}

impl Head {
    fn read(weights: &mut Weights, hidden: usize) -> Result<Self, EncoderError> {
        let pooler = weights.read("pooler.dense.weight", &[hidden, hidden])?;
        let pooler_bias = weights.read("pooler.dense.bias", &[hidden])?;
        let classifier = weights.read_head("classifier.weight", &[1, hidden])?;
        let bias = weights.read_head("classifier.bias", &[1])?;
        Ok(Self {
            pooler: (pooler, pooler_bias),
            classifier: (classifier, bias.first().copied().unwrap_or_default()),
        })
    }

    fn logit(&self, state: &[f32]) -> f32 {
        let dot = |a: &[f32]| -> f64 {
            let products = a
                .iter()
                .zip(state)
                .map(|(a, b)| f64::from(*a) * f64::from(*b));
            products.sum()
        };
        let rows = self.pooler.0.chunks_exact(state.len());
        let pooled = rows
            .zip(&self.pooler.1)
            .map(|(row, bias)| (dot(row) + f64::from(*bias)).tanh());
        let logit: f64 = pooled
            .zip(&self.classifier.0)
            .map(|(x, w)| x * f64::from(*w))
            .sum();
        (logit + f64::from(self.classifier.1)) as f32
    }
}
