//! BERT (Devlin et al. 2019) on any burn backend: embeddings, post-norm transformer layers, pooling.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use burn_tensor::backend::Backend;
use burn_tensor::{FloatDType, Tensor, TensorData};

use crate::batch::Batch;
use crate::config::Config;
use crate::error::EncoderError;
use crate::ops::{Attention, Half, Matrix, Ops, Stored};
use crate::pooling::Pooling;
use crate::weights::Weights;

/// Layer normalisation.
pub(crate) struct Norm<B: Backend> {
    pub weight: Tensor<B, 1>,
    pub bias: Tensor<B, 1>,
    pub eps: f32,
    /// What the result is kept in; weight and bias are in `f32`.
    #[cfg_attr(not(any(feature = "wgpu", feature = "cuda", test)), allow(dead_code))]
    pub half: Half,
}

/// The embedding tables, one row per word piece, segment and position.
pub(crate) struct Tables<B: Backend> {
    pub words: Matrix<B>,
    pub types: Matrix<B>,
    pub positions: Matrix<B>,
    pub norm: Norm<B>,
}

struct Layer<B: Backend, O: Ops<B>> {
    /// Queries, keys and values.
    projections: O::Linear,
    mixed: O::Linear,
    mixed_norm: Norm<B>,
    inner: O::Linear,
    outer: O::Linear,
    outer_norm: Norm<B>,
}

/// Where they are among a layer's projections.
const QUERIES: Range<usize> = 0..1;
const KEYS_VALUES: Range<usize> = 1..3;
const ALL: Range<usize> = 0..3;

/// A loaded encoder on one device of backend `B`, computing with the steps `O`.
pub(crate) struct Bert<B: Backend, O: Ops<B>> {
    device: B::Device,
    tables: Tables<B>,
    layers: Vec<Layer<B, O>>,
    heads: usize,
    pooling: Pooling,
    half: Half,
}

impl<B: Backend, O: Ops<B>> Bert<B, O> {
    /// Reads all weights onto `device`.
    pub(crate) fn load(
        weights: &mut Weights,
        config: &Config,
        pooling: Pooling,
        device: B::Device,
        half: Half,
    ) -> Result<Self, EncoderError> {
        let mut loader = Loader::<B> {
            weights,
            config,
            half,
            device: &device,
        };
        let tables = loader.tables()?;
        let layers = (0..config.layers)
            .map(|at| loader.layer::<O>(at))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            device,
            tables,
            layers,
            heads: config.heads,
            pooling,
            half,
        })
    }

    /// One pooled row per sequence of `batch`, row-major, or `None` once `stop` is set.
    ///
    /// `stop` is looked at between the halves of layers, so that a processor core is free again
    /// within a tenth of a second.
    pub(crate) fn forward(
        &self,
        batch: &Batch,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<f32>>, String> {
        let mask = O::mask(batch, &self.device);
        let mut x = O::embed(&self.tables, batch, &self.device);
        for (at, layer) in self.layers.iter().enumerate() {
            // What comes after the last layer's keys and values matters only for the rows pooled.
            let first_only = self.pooling == Pooling::Cls && at + 1 == self.layers.len();
            let attention = Attention {
                heads: self.heads,
                batch,
                mask: mask.clone(),
                first_only,
                half: self.half,
            };
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let mixed = layer.attend(x, &attention);
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            x = layer.feed_forward(mixed);
        }
        let x = match self.half {
            Some(_) => x.cast(FloatDType::F32),
            None => x,
        };
        let pooled = match self.pooling {
            Pooling::Cls => x,
            Pooling::Mean => O::mean_rows(x, batch),
        };
        let data = pooled.try_into_data().map_err(|error| error.to_string())?;
        data.into_vec()
            .map(Some)
            .map_err(|error| format!("{error:?}"))
    }
}

impl<B: Backend, O: Ops<B>> Layer<B, O> {
    fn attend(&self, x: Matrix<B>, attention: &Attention<'_, B>) -> Matrix<B> {
        if !attention.first_only {
            let projected = O::linear(x.clone(), &self.projections, ALL);
            let mixed = O::attention(None, projected, attention);
            return O::linear_add_norm(mixed, &self.mixed, x, &self.mixed_norm);
        }
        let keys_values = O::linear(x.clone(), &self.projections, KEYS_VALUES);
        let x = O::first_rows(x, attention.batch);
        let queries = O::linear(x.clone(), &self.projections, QUERIES);
        let mixed = O::attention(Some(queries), keys_values, attention);
        O::linear_add_norm(mixed, &self.mixed, x, &self.mixed_norm)
    }

    fn feed_forward(&self, x: Matrix<B>) -> Matrix<B> {
        let inner = O::linear_gelu(x.clone(), &self.inner);
        O::linear_add_norm(inner, &self.outer, x, &self.outer_norm)
    }
}

/// Reads tensors by the names that transformers' `BertModel` gives them.
struct Loader<'a, B: Backend> {
    weights: &'a mut Weights,
    config: &'a Config,
    device: &'a B::Device,
    half: Half,
}

impl<B: Backend> Loader<'_, B> {
    fn tables(&mut self) -> Result<Tables<B>, EncoderError> {
        let Config {
            vocab,
            types,
            positions,
            ..
        } = *self.config;
        Ok(Tables {
            words: self.table("embeddings.word_embeddings.weight", vocab)?,
            types: self.table("embeddings.token_type_embeddings.weight", types)?,
            positions: self.table("embeddings.position_embeddings.weight", positions)?,
            norm: self.norm("embeddings.LayerNorm")?,
        })
    }

    fn layer<O: Ops<B>>(&mut self, at: usize) -> Result<Layer<B, O>, EncoderError> {
        let Config { hidden, inner, .. } = *self.config;
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let attention = |part: &str| name(&format!("attention.{part}"));
        let projections = ["self.query", "self.key", "self.value"].map(attention);
        Ok(Layer {
            projections: self.linear::<O>(&projections, hidden, hidden)?,
            mixed: self.linear::<O>(&[attention("output.dense")], hidden, hidden)?,
            mixed_norm: self.norm(&attention("output.LayerNorm"))?,
            inner: self.linear::<O>(&[name("intermediate.dense")], hidden, inner)?,
            outer: self.linear::<O>(&[name("output.dense")], inner, hidden)?,
            outer_norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    fn table(&mut self, name: &str, rows: usize) -> Result<Matrix<B>, EncoderError> {
        let shape = [rows, self.config.hidden];
        let data = TensorData::new(self.weights.read(name, &shape)?, shape);
        Ok(Tensor::from_data(data, self.device))
    }

    /// Layers with the same input side by side.
    fn linear<O: Ops<B>>(
        &mut self,
        names: &[String],
        inputs: usize,
        outputs: usize,
    ) -> Result<O::Linear, EncoderError> {
        let layers = names
            .iter()
            .map(|name| self.stored(name, inputs, outputs))
            .collect::<Result<_, _>>()?;
        Ok(O::load(inputs, layers, self.device, self.half))
    }

    fn stored(
        &mut self,
        name: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<Stored, EncoderError> {
        let weight = self
            .weights
            .read(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = self.weights.read(&format!("{name}.bias"), &[outputs])?;
        Ok((weight, bias))
    }

    fn norm(&mut self, name: &str) -> Result<Norm<B>, EncoderError> {
        let shape = [self.config.hidden];
        let weight = self.weights.read(&format!("{name}.weight"), &shape)?;
        let bias = self.weights.read(&format!("{name}.bias"), &shape)?;
        Ok(Norm {
            weight: self.vector(weight),
            bias: self.vector(bias),
            eps: self.config.eps,
            half: self.half,
        })
    }

    fn vector(&self, numbers: Vec<f32>) -> Tensor<B, 1> {
        let n = numbers.len();
        Tensor::from_data(TensorData::new(numbers, [n]), self.device)
    }
}
