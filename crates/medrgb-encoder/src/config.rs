//! `config.json`: the sizes of a BERT encoder.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::EncoderError;

/// Sizes above this are taken for damage: they would only end in a failed allocation.
const LARGEST: u64 = 1 << 24;

/// What a model is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Vectors of texts.
    Embed,
    /// Scores of pairs: `BertForSequenceClassification`.
    Score,
}

/// The sizes and settings of a BERT encoder, checked against one another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    /// Width of a token's hidden state.
    pub hidden: usize,
    /// Width inside the feed-forward block.
    pub inner: usize,
    /// Attention heads per layer; divides `hidden`.
    pub heads: usize,
    /// Number of transformer layers.
    pub layers: usize,
    /// Longest sequence in tokens.
    pub positions: usize,
    /// Number of segment ids.
    pub types: usize,
    /// Number of word pieces.
    pub vocab: usize,
    /// Added to the variance in layer normalisation.
    pub eps: f32,
    /// `_name_or_path`: where the model says it comes from.
    pub name: Option<String>,
}

impl Config {
    /// Reads and checks `folder/config.json`.
    pub(crate) fn read(folder: &Path, purpose: Purpose) -> Result<Self, EncoderError> {
        let file = folder.join("config.json");
        if !file.is_file() {
            return Err(EncoderError::Missing {
                folder: folder.to_path_buf(),
                what: "config.json",
            });
        }
        Fields::read(file)?.config(purpose)
    }
}

/// Reads a JSON file that holds one object.
pub(crate) fn read_object(file: &Path) -> Result<Map<String, Value>, EncoderError> {
    let text = std::fs::read(file).map_err(EncoderError::io(file))?;
    match serde_json::from_slice(&text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(EncoderError::invalid(
            file,
            "expected a JSON object; copy the file again",
        )),
        Err(error) => Err(EncoderError::invalid(
            file,
            format!("not valid JSON ({error}); copy the file again"),
        )),
    }
}

/// The raw fields of a `config.json`, with errors that name the file.
struct Fields {
    file: PathBuf,
    map: Map<String, Value>,
}

impl Fields {
    fn read(file: PathBuf) -> Result<Self, EncoderError> {
        let map = read_object(&file)?;
        Ok(Self { file, map })
    }

    fn config(&self, purpose: Purpose) -> Result<Config, EncoderError> {
        self.check_kind(purpose)?;
        let config = Config {
            hidden: self.size("hidden_size")?,
            inner: self.size("intermediate_size")?,
            heads: self.size("num_attention_heads")?,
            layers: self.size("num_hidden_layers")?,
            positions: self.size("max_position_embeddings")?,
            types: self.size("type_vocab_size")?,
            vocab: self.size("vocab_size")?,
            eps: self.eps()?,
            name: self.text("_name_or_path").map(str::to_owned),
        };
        if !config.hidden.is_multiple_of(config.heads) {
            return Err(EncoderError::invalid(
                &self.file,
                format!(
                    "hidden_size {} cannot be divided among {} num_attention_heads; correct the file",
                    config.hidden, config.heads
                ),
            ));
        }
        Ok(config)
    }

    /// Refuses models whose forward pass is not BERT's, and heads that do not serve the purpose.
    fn check_kind(&self, purpose: Purpose) -> Result<(), EncoderError> {
        self.expect("model_type", "bert", true)?;
        self.expect("hidden_act", "gelu", false)?;
        self.expect("position_embedding_type", "absolute", false)?;
        let architectures: Vec<&str> = self
            .map
            .get("architectures")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let classifier = architectures
            .iter()
            .find(|name| name.contains("ForSequenceClassification"));
        match (purpose, classifier) {
            (Purpose::Embed, Some(name)) => Err(EncoderError::unsupported(
                &self.file,
                format!(
                    "{name} is a cross-encoder that scores pairs and gives no embeddings; \
                     use a query or article encoder"
                ),
            )),
            (Purpose::Score, None) if !architectures.is_empty() => Err(EncoderError::unsupported(
                &self.file,
                format!(
                    "{} is no cross-encoder; use a BertForSequenceClassification with one output, \
                     such as MedCPT-Cross-Encoder",
                    architectures.join(", ")
                ),
            )),
            _ => Ok(()),
        }
    }

    fn expect(&self, key: &str, wanted: &str, required: bool) -> Result<(), EncoderError> {
        match self.text(key) {
            Some(found) if found == wanted => Ok(()),
            None if !required => Ok(()),
            None => Err(self.lacks(key)),
            Some(found) => Err(EncoderError::unsupported(
                &self.file,
                format!(
                    "{key} is \"{found}\", but only \"{wanted}\" is supported; use a BERT encoder"
                ),
            )),
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.map.get(key).and_then(Value::as_str)
    }

    fn size(&self, key: &str) -> Result<usize, EncoderError> {
        let value = self.map.get(key).ok_or_else(|| self.lacks(key))?;
        value
            .as_u64()
            .filter(|n| (1..=LARGEST).contains(n))
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| {
                EncoderError::invalid(
                    &self.file,
                    format!("{key} is {value}, expected a whole number from 1 to {LARGEST}; copy the file again"),
                )
            })
    }

    fn eps(&self) -> Result<f32, EncoderError> {
        // transformers' BertConfig leaves it at 1e-12.
        let Some(value) = self.map.get("layer_norm_eps") else {
            return Ok(1e-12);
        };
        value
            .as_f64()
            .filter(|eps| (0.0..1.0).contains(eps))
            .map(|eps| eps as f32)
            .ok_or_else(|| {
                EncoderError::invalid(
                    &self.file,
                    format!("layer_norm_eps is {value}, expected a small number such as 1e-12"),
                )
            })
    }

    fn lacks(&self, key: &str) -> EncoderError {
        EncoderError::invalid(
            &self.file,
            format!("the field {key} is missing; copy config.json from the model again"),
        )
    }
}
