//! How hidden states become one vector: sentence-transformers files, MedCPT's convention, or a default.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::config::{Config, read_object};
use crate::encoder::OpenOptions;
use crate::error::EncoderError;

/// Which hidden states of the last layer make the embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The state of the first token, `[CLS]`.
    Cls,
    /// The mean over the states of all tokens, special ones included.
    Mean,
}

/// What a folder and the caller's options together say about inputs and outputs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recipe {
    /// Where config.json, weights and tokenizer are.
    pub base: PathBuf,
    /// A name to show.
    pub name: String,
    /// `medcpt`, `sentence-transformers` or `bert`.
    pub family: &'static str,
    pub pooling: Pooling,
    pub normalized: bool,
    /// Longest input in tokens, special ones included.
    pub max_tokens: usize,
    /// Articles go in as (title, content) pairs.
    pub pair_input: bool,
    /// What a reader should know about choices made here.
    pub notes: Vec<String>,
}

/// The smallest token limit that leaves room for a pair and its special tokens.
const FEWEST_TOKENS: usize = 8;

/// The folder in which config.json, weights and tokenizer lie: `folder` itself, or the path of the
/// Transformer module for older sentence-transformers layouts.
pub(crate) fn base_folder(folder: &Path) -> Result<PathBuf, EncoderError> {
    let path = modules(folder)?
        .into_iter()
        .flatten()
        .find(|module| module.kind == "Transformer")
        .map(|module| module.path)
        .unwrap_or_default();
    Ok(if path.is_empty() {
        folder.to_path_buf()
    } else {
        folder.join(path)
    })
}

/// Works out the recipe of the encoder in `folder` whose config is `config`.
pub(crate) fn recipe(
    folder: &Path,
    config: &Config,
    options: &OpenOptions,
) -> Result<Recipe, EncoderError> {
    let base = base_folder(folder)?;
    let medcpt = is_medcpt(folder, config);
    let mut notes = Vec::new();
    let found = match sentence_transformers(folder, options)? {
        Some(found) => Some(found),
        None => {
            if !medcpt && options.pooling.is_none() {
                notes.push(
                    "the folder does not say how to pool: the mean over tokens is used, not normalised"
                        .to_owned(),
                );
            }
            None
        }
    };
    let family = match (medcpt, &found) {
        (true, _) => "medcpt",
        (false, Some(_)) => "sentence-transformers",
        (false, None) => "bert",
    };
    let default = if medcpt { Pooling::Cls } else { Pooling::Mean };
    let (pooling, normalized) = found.unwrap_or((default, false));
    Ok(Recipe {
        name: display_name(folder),
        family,
        pooling: options.pooling.unwrap_or(pooling),
        normalized: options.normalize.unwrap_or(normalized),
        max_tokens: max_tokens(&base, config, options, &mut notes)?,
        pair_input: medcpt && config.types >= 2,
        base,
        notes,
    })
}

/// One entry of `modules.json`.
struct Module {
    /// The last part of its Python type, such as `Pooling`.
    kind: String,
    path: String,
}

/// The entries of `modules.json`, or `None` without that file.
fn modules(folder: &Path) -> Result<Option<Vec<Module>>, EncoderError> {
    let file = folder.join("modules.json");
    if !file.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::read(&file).map_err(EncoderError::io(&file))?;
    let broken = || {
        EncoderError::invalid(
            &file,
            "expected a JSON list of modules, each with type and path; copy the file again",
        )
    };
    let list: Vec<Value> = serde_json::from_slice(&bytes).map_err(|_| broken())?;
    list.iter()
        .map(|entry| {
            let kind = entry["type"].as_str()?.rsplit('.').next()?.to_owned();
            let path = entry["path"].as_str()?.to_owned();
            Some(Module { kind, path })
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(broken)
        .map(Some)
}

/// Pooling and normalisation from sentence-transformers files, or `None` if the folder has none.
fn sentence_transformers(
    folder: &Path,
    options: &OpenOptions,
) -> Result<Option<(Pooling, bool)>, EncoderError> {
    let Some(modules) = modules(folder)? else {
        let file = folder.join("1_Pooling").join("config.json");
        return if file.is_file() {
            Ok(Some((read_pooling(&file, options)?, false)))
        } else {
            Ok(None)
        };
    };
    let mut pooling = None;
    let mut normalized = false;
    for module in &modules {
        match module.kind.as_str() {
            "Transformer" => {}
            "Normalize" => normalized = true,
            "Pooling" => {
                let file = folder.join(&module.path).join("config.json");
                pooling = Some(read_pooling(&file, options)?);
            }
            other => {
                return Err(EncoderError::unsupported(
                    &folder.join("modules.json"),
                    format!(
                        "the module {other} is not supported, only Transformer, Pooling and Normalize are; use another encoder"
                    ),
                ));
            }
        }
    }
    Ok(pooling.map(|pooling| (pooling, normalized)))
}

/// Reads a pooling module's config; the caller's choice makes an unsupported one harmless.
fn read_pooling(file: &Path, options: &OpenOptions) -> Result<Pooling, EncoderError> {
    if let Some(pooling) = options.pooling {
        return Ok(pooling);
    }
    let map = read_object(file)?;
    let on: Vec<&str> = match map.get("pooling_mode").and_then(Value::as_str) {
        Some(mode) => vec![mode],
        None => map
            .iter()
            .filter(|(key, value)| key.starts_with("pooling_mode_") && **value == Value::Bool(true))
            .map(|(key, _)| key.trim_start_matches("pooling_mode_"))
            .collect(),
    };
    match on.as_slice() {
        ["cls" | "cls_token"] => Ok(Pooling::Cls),
        ["mean" | "mean_tokens"] => Ok(Pooling::Mean),
        other => Err(EncoderError::unsupported(
            file,
            format!(
                "pooling by [{}] is not supported, only cls and mean are; choose one of them in the settings",
                other.join(", ")
            ),
        )),
    }
}

/// The token limit: the caller's, else the folder's, never more than the model has positions for.
fn max_tokens(
    base: &Path,
    config: &Config,
    options: &OpenOptions,
    notes: &mut Vec<String>,
) -> Result<usize, EncoderError> {
    let wanted = match options.max_tokens {
        Some(n) => Some(n),
        None => folder_limit(base)?,
    };
    let limit = wanted.unwrap_or(config.positions).min(config.positions);
    if options.max_tokens.is_some_and(|n| n > limit) {
        notes.push(format!(
            "the model has positions for {limit} tokens: the limit is {limit}"
        ));
    }
    if limit < FEWEST_TOKENS {
        return Err(EncoderError::Option(format!(
            "a limit of {limit} tokens is too small; give at least {FEWEST_TOKENS}"
        )));
    }
    Ok(limit)
}

/// `max_seq_length` of sentence_bert_config.json, else `model_max_length` of tokenizer_config.json.
fn folder_limit(base: &Path) -> Result<Option<usize>, EncoderError> {
    for (name, key) in [
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ] {
        let file = base.join(name);
        if file.is_file() {
            // A huge number stands for "no limit" in tokenizer_config.json and is not a u64.
            let limit = read_object(&file)?.get(key).and_then(Value::as_u64);
            if let Some(limit) = limit {
                return Ok(Some(usize::try_from(limit).unwrap_or(usize::MAX)));
            }
        }
    }
    Ok(None)
}

/// MedCPT by its own word (`_name_or_path`) or by the name of a folder above the files.
fn is_medcpt(folder: &Path, config: &Config) -> bool {
    let named = |text: &str| text.to_ascii_lowercase().contains("medcpt");
    config.name.as_deref().is_some_and(named)
        || hub_name(folder).as_deref().is_some_and(named)
        || last_part(folder).as_deref().is_some_and(named)
}

/// `owner/name` for a folder in a hub cache (`models--owner--name/snapshots/HASH`).
fn hub_name(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    folder
        .ancestors()
        .take(3)
        .filter_map(|part| part.file_name()?.to_str()?.strip_prefix("models--"))
        .map(|name| name.replace("--", "/"))
        .next()
}

fn last_part(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    Some(folder.file_name()?.to_string_lossy().into_owned())
}

fn display_name(folder: &Path) -> String {
    hub_name(folder)
        .or_else(|| last_part(folder))
        .unwrap_or_else(|| folder.display().to_string())
}
