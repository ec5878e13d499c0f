//! Index folders that a command searches.

use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::common::Environment;
use crate::cli::encoder::{self, Backend};
use crate::model::registry;
use crate::retrieval::index::{EncoderId, IndexSet, Manifest};
use crate::retrieval::{EncoderFolders, Method};

/// Opened index folders, and how they are searched.
#[derive(Debug)]
pub struct Opened {
    /// The folders.
    pub set: IndexSet,
    /// The method that was asked for, else the best that they can.
    pub method: Method,
}

/// Opens index folders for a method; without one dense where all have vectors, else BM25.
///
/// # Errors
/// [`Failure`] when one can't be opened, or the encoder is not here or does not belong.
pub fn open(
    paths: &[PathBuf],
    method: Option<Method>,
    encoder: Option<&str>,
    backend: Option<Backend>,
    environment: &Environment,
) -> Result<Opened, Failure> {
    let set = IndexSet::open(paths).map_err(Failure::failed)?;
    let manifests: Vec<&Manifest> = set.folders().iter().map(|f| f.manifest()).collect();
    let with_vectors = manifests.iter().all(|manifest| manifest.encoder.is_some());
    let method = method.unwrap_or(match with_vectors {
        true => Method::Dense,
        false => Method::Bm25,
    });
    if method == Method::Bm25 {
        return Ok(Opened { set, method });
    }
    set.require_vectors().map_err(Failure::failed)?;
    let folders = match encoder {
        Some(named) => encoder::folders(Some(named), environment)?,
        None => manifests
            .iter()
            .find_map(|manifest| manifest.encoder.as_ref().map(|id| (manifest, id)))
            .map(|(manifest, id)| of_index(manifest, id, environment))
            .transpose()?,
    };
    let folders = match folders {
        Some(folders) => folders,
        // Vectors that came without a word about their encoder.
        None => encoder::folders(None, environment)?
            .ok_or_else(|| Failure::failed(crate::retrieval::NO_ENCODER))?,
    };
    let backend = encoder::backend(backend, environment)?;
    let set = set
        .with_encoder(&folders, backend)
        .map_err(Failure::failed)?;
    Ok(Opened { set, method })
}

/// The encoder that an index names: where it lay at build, or by its name.
fn of_index(
    manifest: &Manifest,
    id: &EncoderId,
    environment: &Environment,
) -> Result<EncoderFolders, Failure> {
    let cache = &environment.paths.cache;
    let there = manifest
        .encoder_folder
        .as_ref()
        .filter(|folder| folder.join("config.json").is_file());
    if let Some(folder) = there {
        return Ok(EncoderFolders {
            name: id.name.clone(),
            query: folder.clone(),
            article: folder.clone(),
            stand_in: id.stand_in,
        });
    }
    registry::encoder_folders(&id.name, cache)
        .map(|found| EncoderFolders {
            name: found.name,
            query: found.query,
            article: found.article,
            stand_in: id.stand_in,
        })
        .ok_or_else(|| {
            Failure::Failed(format!(
                "the encoder {} of the index is not here; give its folder with --encoder, or search with --retriever bm25",
                id.name
            ))
        })
}
