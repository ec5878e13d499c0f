//! What a collection says about itself: which encoder made its vectors, and how they are kept.

use serde::{Deserialize, Serialize};

use crate::domain::text::short;
use crate::retrieval::remote::address::LARGEST_EF;
use crate::retrieval::remote::values::{pair, value_of};
use crate::retrieval::remote::wire;
use crate::retrieval::{EncoderSummary, RetrievalError};

/// The property of the collection that holds the record. Milvus keeps properties that it does not know.
const PROPERTY: &str = "medrgb.index";
/// The newest layout that this program reads.
const FORMAT: u32 = 1;

/// How the numbers of vectors are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 4 bytes.
    Float32,
    /// 2 bytes: half the memory, scores exact to about three digits.
    Float16,
}

/// Kept in the collection itself, so that every machine that searches it can check its encoder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Layout of this record.
    pub format: u32,
    /// The encoder's name.
    pub encoder: String,
    /// Hash of the weights that encoded the documents.
    pub weights_sha256: String,
    /// Whether the encoder stood in for MedCPT when it made the vectors; collections of older programs don't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<bool>,
    /// Dimensions.
    pub dim: usize,
    /// How vectors are kept.
    pub precision: Precision,
    /// The index over them.
    pub index: IndexKind,
    /// The program that made the collection.
    pub tool: String,
}

impl Record {
    /// A record of vectors that this encoder made.
    pub fn new(encoder: &EncoderSummary, precision: Precision, index: IndexKind) -> Record {
        Record {
            format: FORMAT,
            encoder: encoder.name.clone(),
            weights_sha256: encoder.weights_sha256.clone(),
            stand_in: Some(encoder.stand_in),
            dim: encoder.dim,
            precision,
            index,
            tool: concat!("medrgb ", env!("CARGO_PKG_VERSION")).into(),
        }
    }

    /// The record as JSON, for the description, and as a property.
    ///
    /// # Errors
    /// Never in practice; a record is plain data.
    pub(super) fn written(&self) -> Result<(String, wire::KeyValue), RetrievalError> {
        let json = serde_json::to_string(self).map_err(|error| {
            RetrievalError(format!("the collection's record can't be written: {error}"))
        })?;
        let property = pair(PROPERTY, &json);
        Ok((json, property))
    }

    /// Reads the record from a collection's properties, else from its description.
    ///
    /// # Errors
    /// When there is none, it is of a newer program, or it is damaged.
    pub(super) fn read(
        properties: &[wire::KeyValue],
        description: &str,
        place: &str,
    ) -> Result<Record, RetrievalError> {
        let json = value_of(properties, PROPERTY).unwrap_or(description);
        let record: Record = serde_json::from_str(json).map_err(|_| {
            RetrievalError(format!(
                "{place} does not say which encoder made its vectors, so it can't be searched or added to: it was not made by `medrgb index push`, or its record was changed"
            ))
        })?;
        if record.format > FORMAT {
            return Err(RetrievalError(format!(
                "{place} was made by a newer program ({}): update medrgb",
                short(&record.tool)
            )));
        }
        Ok(record)
    }

    /// Refuses an encoder that did not make these vectors.
    ///
    /// # Errors
    /// One sentence that names both encoders.
    pub fn belongs(&self, encoder: &EncoderSummary, place: &str) -> Result<(), RetrievalError> {
        let why = if encoder.dim != self.dim {
            format!(
                "its vectors have {} dimensions, not {}",
                encoder.dim, self.dim
            )
        } else if encoder.weights_sha256 != self.weights_sha256 {
            format!(
                "its weights are others (hash {}, not {})",
                beginning(&encoder.weights_sha256),
                beginning(&self.weights_sha256)
            )
        } else {
            return Ok(());
        };
        Err(RetrievalError(format!(
            "the encoder {} does not belong to {place}, whose vectors are of {}: {why}; give the encoder that made the index with --encoder, MEDRGB_ENCODER, or retrieval.encoder in the configuration",
            short(&encoder.name),
            short(&self.encoder)
        )))
    }
}

/// The beginning of a hash, enough to tell two apart.
fn beginning(hash: &str) -> String {
    short(&hash.chars().take(12).collect::<String>())
}

/// The index over the vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexKind {
    /// A graph in memory.
    Hnsw {
        /// Neighbours of a vector in the graph.
        m: usize,
        /// Candidates while building.
        ef_construction: usize,
    },
    /// A graph on disk (clusters only): memory for about a tenth of the vectors.
    Diskann,
    /// A scan of all vectors.
    Flat,
}

impl IndexKind {
    /// Milvus's name.
    pub fn name(self) -> &'static str {
        match self {
            IndexKind::Hnsw { .. } => "HNSW",
            IndexKind::Diskann => "DISKANN",
            IndexKind::Flat => "FLAT",
        }
    }

    /// Milvus's parameters for building.
    pub(super) fn build_params(self) -> serde_json::Value {
        match self {
            IndexKind::Hnsw { m, ef_construction } => {
                serde_json::json!({"M": m, "efConstruction": ef_construction})
            }
            IndexKind::Diskann | IndexKind::Flat => serde_json::json!({}),
        }
    }

    /// Candidates of a search for `k` hits where the address names none: eight for every hit, so that long lists are
    /// as complete as short ones, and never so few that vectors of unequal lengths, the hardest for inner products,
    /// are missed. The numbers stay within what Milvus takes: 32,768 for a graph in memory; on disk 200 for up to 20
    /// hits and ten for every hit of more.
    pub(super) fn candidates(self, k: usize) -> usize {
        let least = match self {
            IndexKind::Diskann => 128,
            IndexKind::Hnsw { .. } | IndexKind::Flat => 256,
        };
        k.saturating_mul(8).clamp(least, LARGEST_EF).max(k)
    }

    /// Milvus's parameters for a search that looks at `ef` candidates.
    pub(super) fn search_params(self, ef: usize) -> serde_json::Value {
        match self {
            IndexKind::Hnsw { .. } => serde_json::json!({"ef": ef}),
            IndexKind::Diskann => serde_json::json!({"search_list": ef}),
            IndexKind::Flat => serde_json::json!({}),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn candidates_grow_with_the_hits_within_the_limits_of_milvus() {
        let memory = IndexKind::Hnsw {
            m: 16,
            ef_construction: 200,
        };
        let asked = |kind: IndexKind| [1, 10, 32, 33, 100, 16_384].map(|k| kind.candidates(k));
        assert_eq!(asked(memory), [256, 256, 256, 264, 800, 32_768]);
        assert_eq!(asked(IndexKind::Diskann), [128, 128, 256, 264, 800, 32_768]);
        for k in 1..=16_384 {
            let disk = IndexKind::Diskann.candidates(k);
            let most = if k > 20 { 10 * k } else { 200 };
            assert!((k..=most).contains(&disk), "{k}: {disk}");
            assert!((k..=LARGEST_EF).contains(&memory.candidates(k)), "{k}");
        }
    }

    fn encoder(hash: &str, dim: usize) -> EncoderSummary {
        EncoderSummary {
            name: "tiny".into(),
            dim,
            backend: "CPU".into(),
            stand_in: false,
            weights_sha256: hash.into(),
        }
    }

    #[test]
    fn a_record_is_read_from_either_place() {
        let record = Record::new(&encoder("ab", 8), Precision::Float16, IndexKind::Diskann);
        let (json, property) = record.written().unwrap();
        assert_eq!(Record::read(&[property], "", "c").unwrap(), record);
        assert_eq!(Record::read(&[pair("a", "b")], &json, "c").unwrap(), record);
    }

    #[test]
    fn foreign_and_newer_collections_are_refused() {
        for description in ["", "somebody's vectors", "{\"format\":1}"] {
            let message = Record::read(&[], description, "c").unwrap_err().to_string();
            assert!(message.contains("medrgb index push"), "{message}");
        }
        let mut record = Record::new(&encoder("ab", 8), Precision::Float32, IndexKind::Flat);
        record.format = FORMAT + 1;
        let (_, property) = record.written().unwrap();
        let message = Record::read(&[property], "", "c").unwrap_err().to_string();
        assert!(message.contains("newer"), "{message}");
    }

    #[test]
    fn only_the_encoder_that_made_the_vectors_belongs() {
        let record = Record::new(&encoder("ab", 8), Precision::Float32, IndexKind::Flat);
        record.belongs(&encoder("ab", 8), "c").unwrap();
        let message = record
            .belongs(&encoder("cd", 8), "c")
            .unwrap_err()
            .to_string();
        assert!(message.contains("hash cd, not ab"), "{message}");
        let message = record
            .belongs(&encoder("ab", 9), "c")
            .unwrap_err()
            .to_string();
        assert!(message.contains("9 dimensions, not 8"), "{message}");
    }
}
