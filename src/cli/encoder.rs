//! Which encoder and backend a command uses.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use medrgb_encoder::BackendChoice;

use crate::cli::Failure;
use crate::cli::common::Environment;
use crate::retrieval::EncoderFolders;

/// `--backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The first that works: CUDA, wgpu, CPU
    Auto,
    /// An NVIDIA GPU
    Cuda,
    /// A GPU through Vulkan, Metal or DX12
    Wgpu,
    /// The processor
    Cpu,
}

impl From<Backend> for BackendChoice {
    fn from(backend: Backend) -> BackendChoice {
        match backend {
            Backend::Auto => BackendChoice::Auto,
            Backend::Cuda => BackendChoice::Cuda,
            Backend::Wgpu => BackendChoice::Wgpu,
            Backend::Cpu => BackendChoice::Cpu,
        }
    }
}

/// The backend of the flag, else of the settings.
///
/// # Errors
/// When the settings name no backend.
pub fn backend(flag: Option<Backend>, environment: &Environment) -> Result<BackendChoice, Failure> {
    let configured = &environment.config.retrieval.backend;
    let chosen = match flag {
        Some(backend) => backend,
        None => Backend::from_str(configured, true).map_err(|_| {
            Failure::Usage(format!(
                "the setting retrieval.backend is \"{configured}\"; it must be auto, cuda, wgpu or cpu"
            ))
        })?,
    };
    Ok(chosen.into())
}

/// The encoder of the flag, else of the settings; `None` where `auto` finds none.
///
/// # Errors
/// When what is named is no encoder that is here.
pub fn folders(
    flag: Option<&str>,
    environment: &Environment,
) -> Result<Option<EncoderFolders>, Failure> {
    let wanted = flag.unwrap_or(&environment.config.retrieval.encoder);
    resolve(wanted)
}

/// A folder is a symmetric encoder. `auto` is the encoder that has been fetched, if any.
fn resolve(wanted: &str) -> Result<Option<EncoderFolders>, Failure> {
    if wanted == "auto" {
        return Ok(None);
    }
    let folder = Path::new(wanted);
    if folder.is_dir() {
        return Ok(Some(symmetric(folder)));
    }
    Err(Failure::Failed(format!(
        "the encoder \"{wanted}\" is not here: give the folder that holds its config.json, or fetch one with `medrgb models pull auto-encoder`"
    )))
}

fn symmetric(folder: &Path) -> EncoderFolders {
    let real = folder
        .canonicalize()
        .unwrap_or_else(|_| PathBuf::from(folder));
    let name = real.file_name().map_or_else(
        || folder.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    EncoderFolders {
        name,
        query: folder.to_path_buf(),
        article: folder.to_path_buf(),
        stand_in: false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_folder_is_an_encoder_and_a_name_that_is_not_here_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my-encoder");
        std::fs::create_dir(&path).unwrap();
        let found = resolve(path.to_str().unwrap()).unwrap().unwrap();
        assert_eq!(found.name, "my-encoder");
        assert_eq!(found.query, found.article);
        assert!(resolve("auto").unwrap().is_none());
        let message = resolve("no-such").unwrap_err().to_string();
        assert!(message.contains("models pull"), "{message}");
    }
}
