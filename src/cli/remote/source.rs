//! What `medrgb index push` writes: documents with their vectors.

use std::sync::Arc;

use super::{PushArgs, no_encoder};
use crate::cli::Failure;
use crate::cli::common::Environment;
use crate::cli::encoder;
use crate::cli::search;
use crate::data::dataset::Dataset;
use crate::retrieval::encoders::Pair;
use crate::retrieval::exact::Vectors;
use crate::retrieval::index::IndexFolder;
use crate::retrieval::remote::shape::Row;
use crate::retrieval::remote::standing::SourceId;
use crate::retrieval::{DAMAGED, EncoderSummary, RetrievalError, Retriever, Search};

/// What is written: documents with their vectors.
pub(super) enum Source {
    Dataset(Arc<Retriever>),
    Folder(Box<IndexFolder>, Vectors),
}

impl Source {
    /// Opens what the arguments name. Where vectors are there already, `belongs` is asked about the encoder before it
    /// encodes a whole dataset; only then is it opened for that.
    pub(super) fn open(
        args: &PushArgs,
        environment: &Environment,
        belongs: Option<impl Fn(&EncoderSummary) -> Result<(), RetrievalError>>,
    ) -> Result<Source, Failure> {
        if let Some(path) = &args.index {
            let folder = IndexFolder::open(path).map_err(Failure::failed)?;
            let vectors = folder.vectors().map_err(Failure::failed)?;
            return Ok(Source::Folder(Box::new(folder), vectors));
        }
        let dataset = match &args.dataset {
            Some(path) => Dataset::open(path),
            None => Dataset::sample(),
        }
        .map_err(Failure::failed)?;
        let folders = encoder::folders(args.encoder.as_deref(), environment)?
            .ok_or_else(|| no_encoder("filled"))?;
        if let Some(belongs) = belongs {
            let backend = encoder::backend(args.backend, environment)?;
            let pair = Pair::open(&folders, backend).map_err(Failure::failed)?;
            belongs(&pair.summary(&folders)).map_err(Failure::failed)?;
        }
        let documents = search::documents(&dataset);
        search::build(documents, Some(&folders), args.backend, environment).map(Source::Dataset)
    }

    /// What made the vectors.
    pub(super) fn encoder(&self) -> Result<EncoderSummary, Failure> {
        match self {
            Source::Dataset(retriever) => {
                let encoder = retriever.info().encoder;
                encoder.ok_or_else(|| no_encoder("filled"))
            }
            Source::Folder(folder, _) => match &folder.manifest().encoder {
                Some(id) if !id.weights_sha256.is_empty() => Ok(EncoderSummary {
                    name: id.name.clone(),
                    dim: id.dim,
                    backend: String::new(),
                    stand_in: id.stand_in,
                    weights_sha256: id.weights_sha256.clone(),
                }),
                _ => Err(Failure::Failed(
                    "the index does not say which encoder made its vectors, so a remote index could not check queries against it: build it with --encoder".into(),
                )),
            },
        }
    }

    /// Documents and encoder, by which a push that was stopped is known again.
    pub(super) fn id(&self) -> Result<SourceId, Failure> {
        match self {
            Source::Dataset(retriever) => {
                let encoder = self.encoder()?;
                let documents = retriever.documents().iter();
                let texts = documents.flat_map(|document| {
                    [&document.id, &document.title, &document.content].map(String::as_bytes)
                });
                let first = [encoder.weights_sha256.as_bytes()];
                Ok(SourceId::of(first.into_iter().chain(texts)))
            }
            Source::Folder(folder, _) => {
                let manifest = serde_json::to_vec(folder.manifest()).map_err(Failure::failed)?;
                Ok(SourceId::of([manifest.as_slice()]))
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Source::Dataset(retriever) => retriever.documents().len(),
            Source::Folder(folder, _) => folder.store().len(),
        }
    }

    pub(super) fn row(&self, position: usize) -> Result<Row, RetrievalError> {
        self.row_at(position).ok_or_else(|| {
            RetrievalError(format!(
                "document {} or its vector can't be read; {DAMAGED}",
                position + 1
            ))
        })
    }

    fn row_at(&self, position: usize) -> Option<Row> {
        match self {
            Source::Dataset(retriever) => {
                let document = retriever.documents().get(position)?;
                Some(Row {
                    id: document.id.clone(),
                    title: document.title.clone(),
                    content: document.content.clone(),
                    vector: retriever.embedding(position)?.to_vec(),
                })
            }
            Source::Folder(folder, vectors) => {
                let text = folder.store().get(position)?;
                Some(Row {
                    id: text.id.to_owned(),
                    title: text.title.to_owned(),
                    content: text.content.to_owned(),
                    vector: vectors.row(position)?.into_owned(),
                })
            }
        }
    }
}
