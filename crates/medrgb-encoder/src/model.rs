//! BERT (Devlin et al. 2019) on any burn backend: embeddings, post-norm transformer layers, pooling.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use burn_tensor::backend::Backend;
use burn_tensor::{Tensor, TensorData};

use crate::batch::Batch;
use crate::config::Config;
use crate::error::EncoderError;
use crate::ops::{Attention, Matrix, Ops};
use crate::pooling::Pooling;
use crate::weights::Weights;

/// `x W + b`.
pub(crate) struct Linear<B: Backend> {
    /// (inputs, outputs): the transpose of how PyTorch stores it.
    pub weight: Matrix<B>,
    /// (outputs).
    pub bias: Tensor<B, 1>,
}

/// Layer normalisation.
pub(crate) struct Norm<B: Backend> {
    pub weight: Tensor<B, 1>,
    pub bias: Tensor<B, 1>,
    pub eps: f32,
}

/// The embedding tables, one row per word piece, segment and position.
pub(crate) struct Tables<B: Backend> {
    pub words: Matrix<B>,
    pub types: Matrix<B>,
    pub positions: Matrix<B>,
    pub norm: Norm<B>,
}

struct Layer<B: Backend> {
    queries: Linear<B>,
    /// Keys and values in one product: (h, 2h).
    keys_values: Linear<B>,
    mixed: Linear<B>,
    mixed_norm: Norm<B>,
    inner: Linear<B>,
    outer: Linear<B>,
    outer_norm: Norm<B>,
}

/// A loaded encoder on one device of backend `B`, computing with the steps `O`.
pub(crate) struct Bert<B: Backend, O: Ops<B>> {
    device: B::Device,
    tables: Tables<B>,
    layers: Vec<Layer<B>>,
    heads: usize,
    pooling: Pooling,
    steps: PhantomData<O>,
}

impl<B: Backend, O: Ops<B>> Bert<B, O> {
    /// Reads all weights onto `device`.
    pub(crate) fn load(
        weights: &mut Weights,
        config: &Config,
        pooling: Pooling,
        device: B::Device,
    ) -> Result<Self, EncoderError> {
        let mut loader = Loader::<B> {
            weights,
            config,
            device: &device,
        };
        let tables = loader.tables()?;
        let layers = (0..config.layers)
            .map(|at| loader.layer(at))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            device,
            tables,
            layers,
            heads: config.heads,
            pooling,
            steps: PhantomData,
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
            };
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let mixed = layer.attend::<O>(x, &attention);
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            x = layer.feed_forward::<O>(mixed);
        }
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

impl<B: Backend> Layer<B> {
    fn attend<O: Ops<B>>(&self, x: Matrix<B>, attention: &Attention<'_, B>) -> Matrix<B> {
        let keys_values = O::linear(x.clone(), &self.keys_values);
        let x = if attention.first_only {
            O::first_rows(x, attention.batch)
        } else {
            x
        };
        let queries = O::linear(x.clone(), &self.queries);
        let mixed = O::attention(queries, keys_values, attention);
        O::linear_add_norm(mixed, &self.mixed, x, &self.mixed_norm)
    }

    fn feed_forward<O: Ops<B>>(&self, x: Matrix<B>) -> Matrix<B> {
        let inner = O::linear_gelu(x.clone(), &self.inner);
        O::linear_add_norm(inner, &self.outer, x, &self.outer_norm)
    }
}

/// Reads tensors by the names that transformers' `BertModel` gives them.
struct Loader<'a, B: Backend> {
    weights: &'a mut Weights,
    config: &'a Config,
    device: &'a B::Device,
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

    fn layer(&mut self, at: usize) -> Result<Layer<B>, EncoderError> {
        let Config { hidden, inner, .. } = *self.config;
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let attention = |part: &str| name(&format!("attention.{part}"));
        let keys = [attention("self.key"), attention("self.value")];
        Ok(Layer {
            queries: self.linear(&[attention("self.query")], hidden, hidden)?,
            keys_values: self.linear(&keys, hidden, hidden)?,
            mixed: self.linear(&[attention("output.dense")], hidden, hidden)?,
            mixed_norm: self.norm(&attention("output.LayerNorm"))?,
            inner: self.linear(&[name("intermediate.dense")], hidden, inner)?,
            outer: self.linear(&[name("output.dense")], inner, hidden)?,
            outer_norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    fn table(&mut self, name: &str, rows: usize) -> Result<Matrix<B>, EncoderError> {
        let shape = [rows, self.config.hidden];
        let data = TensorData::new(self.weights.read(name, &shape)?, shape);
        Ok(Tensor::from_data(data, self.device))
    }

    /// Layers with the same input side by side: each `name` takes `outputs` columns.
    fn linear(
        &mut self,
        names: &[String],
        inputs: usize,
        outputs: usize,
    ) -> Result<Linear<B>, EncoderError> {
        let columns = outputs * names.len();
        let mut weight = vec![0f32; inputs * columns];
        let mut bias = Vec::with_capacity(columns);
        for (at, name) in names.iter().enumerate() {
            let part = self
                .weights
                .read(&format!("{name}.weight"), &[outputs, inputs])?;
            transpose_into(&part, inputs, &mut weight[at * outputs..], columns);
            bias.extend(self.weights.read(&format!("{name}.bias"), &[outputs])?);
        }
        Ok(Linear {
            weight: Tensor::from_data(TensorData::new(weight, [inputs, columns]), self.device),
            bias: self.vector(bias),
        })
    }

    fn norm(&mut self, name: &str) -> Result<Norm<B>, EncoderError> {
        let shape = [self.config.hidden];
        let weight = self.weights.read(&format!("{name}.weight"), &shape)?;
        let bias = self.weights.read(&format!("{name}.bias"), &shape)?;
        Ok(Norm {
            weight: self.vector(weight),
            bias: self.vector(bias),
            eps: self.config.eps,
        })
    }

    fn vector(&self, numbers: Vec<f32>) -> Tensor<B, 1> {
        let n = numbers.len();
        Tensor::from_data(TensorData::new(numbers, [n]), self.device)
    }
}

/// Writes the transpose of `from` (o, inputs) to the first o columns of `to` (inputs, columns).
fn transpose_into(from: &[f32], inputs: usize, to: &mut [f32], columns: usize) {
    // In blocks, so that both sides stay within the cache.
    const BLOCK: usize = 32;
    let outputs = from.len() / inputs;
    for o in (0..outputs).step_by(BLOCK) {
        for i in 0..inputs {
            for o in o..(o + BLOCK).min(outputs) {
                to[i * columns + o] = from[o * inputs + i];
            }
        }
    }
}
