//! What a collection holds: the fields of a document, their limits, and hits as they come back.

use serde::Serialize;

use crate::retrieval::RetrievalError;
use crate::retrieval::remote::record::{Precision, Record};
use crate::retrieval::remote::standing::Standing;
use crate::retrieval::remote::values::{pair, take_texts, take_vectors};
use crate::retrieval::remote::wire::{self, data_type};

/// Bytes of an id at most.
pub const LONGEST_ID: usize = 512;
/// Bytes of a title or a text at most: Milvus's limit of a text field.
pub const LONGEST_TEXT: usize = 65_535;
pub(super) const ID: &str = "id";
pub(super) const TITLE: &str = "title";
pub(super) const CONTENT: &str = "content";
pub(super) const VECTOR: &str = "vector";

/// One document with its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Unique.
    pub id: String,
    /// May be empty.
    pub title: String,
    /// The text.
    pub content: String,
    /// As many numbers as the collection has dimensions.
    pub vector: Vec<f32>,
}

/// A found document.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its text, perhaps cut.
    pub content: String,
    /// Inner product with the query.
    pub score: f32,
    /// Its vector.
    pub vector: Vec<f32>,
}

/// What a collection is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    /// Documents.
    pub documents: usize,
    /// Whether it is in the memory of the machines that search it.
    pub loaded: bool,
    /// Dimensions.
    pub dim: usize,
    /// How scores are computed: `IP` is the inner product.
    pub metric: String,
    /// Milvus's name of the index.
    pub index_type: String,
    /// Its parameters as Milvus says them.
    pub index_params: String,
    /// How vectors are kept.
    pub precision: Precision,
    /// Shards.
    pub shards: i32,
    /// The encoder that made the vectors.
    pub encoder: String,
    /// Hash of its weights.
    pub weights_sha256: String,
    /// The program that made the collection.
    pub tool: String,
    /// Pushes that were stopped before their end.
    pub unfinished: Vec<Standing>,
}

pub(super) fn fields(record: &Record) -> Vec<wire::FieldSchema> {
    let text = |name: &str, most: usize| wire::FieldSchema {
        name: name.into(),
        is_primary_key: name == ID,
        data_type: data_type::VARCHAR,
        type_params: vec![pair("max_length", most)],
    };
    let vector = wire::FieldSchema {
        name: VECTOR.into(),
        is_primary_key: false,
        data_type: match record.precision {
            Precision::Float32 => data_type::FLOAT_VECTOR,
            Precision::Float16 => data_type::FLOAT16_VECTOR,
        },
        type_params: vec![pair("dim", record.dim)],
    };
    vec![
        text(ID, LONGEST_ID),
        text(TITLE, LONGEST_TEXT),
        text(CONTENT, LONGEST_TEXT),
        vector,
    ]
}

/// Servers that list each parameter of the index by itself.
pub(super) fn one_by_one(params: &[wire::KeyValue]) -> String {
    let others: Vec<String> = params
        .iter()
        .filter(|pair| !matches!(pair.key.as_str(), "metric_type" | "index_type"))
        .map(|pair| format!("{}={}", pair.key, pair.value))
        .collect();
    others.join(", ")
}

pub(super) fn near(mut data: wire::SearchedData, dim: usize) -> Result<Vec<Near>, RetrievalError> {
    let ids = data
        .ids
        .and_then(|ids| ids.strings)
        .unwrap_or_default()
        .data;
    // Without hits a server may leave the columns out.
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = ids.len();
    let titles = take_texts(&mut data.fields, TITLE, rows)?;
    let contents = take_texts(&mut data.fields, CONTENT, rows)?;
    let vectors = take_vectors(&mut data.fields, VECTOR, rows, dim)?;
    if data.scores.len() != rows {
        return Err(RetrievalError(format!(
            "the Milvus server's answer has {rows} ids but {} scores",
            data.scores.len()
        )));
    }
    let texts = titles.into_iter().zip(contents);
    let numbers = data.scores.into_iter().zip(vectors);
    Ok(ids
        .into_iter()
        .zip(texts)
        .zip(numbers)
        .map(|((id, (title, content)), (score, vector))| Near {
            id,
            title,
            content,
            score,
            vector,
        })
        .collect())
}
