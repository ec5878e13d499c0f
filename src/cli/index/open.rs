//! Index folders that a command searches.

use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::common::{Environment, note};
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

/// Opens index folders for a method; without one dense where all have vectors and their encoder is here, else BM25
/// (where the encoder is what is missing, that is said).
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
    let asked = method.is_some();
    let method = method.unwrap_or(match with_vectors {
        true => Method::Dense,
        false => Method::Bm25,
    });
    if method == Method::Bm25 {
        return Ok(Opened { set, method });
    }
    set.require_vectors().map_err(Failure::failed)?;
    let folders = match encoder_of(&set, encoder, environment) {
        Err(Failure::Failed(why)) if !asked && encoder.is_none() => {
            note(&why);
            return Ok(Opened {
                set,
                method: Method::Bm25,
            });
        }
        found => found?,
    };
    let backend = encoder::backend(backend, environment)?;
    let set = set
        .with_encoder(&folders, backend)
        .map_err(Failure::failed)?;
    Ok(Opened { set, method })
}

/// Opens index folders for a screen, which shows what can be had: where vectors can't be searched, BM25 alone, and why.
///
/// # Errors
/// [`Failure`] when one can't be opened for BM25.
pub fn open_for_screen(paths: &[PathBuf], environment: &Environment) -> Result<IndexSet, Failure> {
    let set = IndexSet::open(paths).map_err(Failure::failed)?;
    let with_encoder = |set: IndexSet| -> Result<IndexSet, Failure> {
        set.require_vectors().map_err(Failure::failed)?;
        let folders = encoder_of(&set, None, environment)?;
        let backend = encoder::backend(None, environment)?;
        set.with_encoder(&folders, backend).map_err(Failure::failed)
    };
    match with_encoder(set) {
        Ok(set) => Ok(set),
        // Opening again takes milliseconds.
        Err(why) => {
            let set = IndexSet::open(paths).map_err(Failure::failed)?;
            Ok(set.for_words_only(why.to_string()))
        }
    }
}

/// The encoder of the flag, else the one that an index names, else, for vectors of an unknown encoder, that of the
/// settings.
fn encoder_of(
    set: &IndexSet,
    flag: Option<&str>,
    environment: &Environment,
) -> Result<EncoderFolders, Failure> {
    let named = match flag {
        Some(_) => encoder::folders(flag, environment)?,
        None => set
            .folders()
            .iter()
            .map(|folder| folder.manifest())
            .find_map(|manifest| Some((manifest, manifest.encoder.as_ref()?)))
            .filter(|(_, id)| !id.query.is_empty())
            .map(|(manifest, id)| of_index(manifest, id, environment))
            .transpose()?,
    };
    match named {
        Some(folders) => Ok(folders),
        None => encoder::folders(None, environment)?
            .ok_or_else(|| Failure::failed(crate::retrieval::NO_ENCODER)),
    }
}

/// The encoder that an index names: where it lay at build, by its name, or the one that is set.
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
    if let Some(found) = registry::encoder_folders(&id.name, cache) {
        return Ok(EncoderFolders {
            name: found.name,
            query: found.query,
            article: found.article,
            stand_in: id.stand_in,
        });
    }
    // One that the user has set is tried; whether it belongs, the hashes decide.
    let set = &environment.config.retrieval.encoder;
    if set != "auto"
        && let Some(found) = encoder::folders(None, environment)?
    {
        return Ok(EncoderFolders {
            stand_in: id.stand_in,
            ..found
        });
    }
    Err(Failure::Failed(format!(
        "the encoder {} of the index is not here, so only BM25 (--retriever bm25) can search it; say where its folder is with MEDRGB_ENCODER, in the configuration (retrieval.encoder), or with --encoder",
        id.name
    )))
}
