//! Which encoder and backend a command uses.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use medrgb_encoder::BackendChoice;

use crate::cli::Failure;
use crate::cli::common::Environment;
use crate::domain::text::short;
use crate::model::registry::{self, Purpose};
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
    match flag {
        Some(backend) => Ok(backend.into()),
        None => environment
            .config
            .retrieval
            .backend
            .parse()
            .map_err(Failure::usage),
    }
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
    resolve(wanted, &environment.paths.cache)
}

/// The folder of a cross-encoder.
///
/// # Errors
/// When what is named is no cross-encoder that is here.
pub fn cross_encoder(wanted: &str, environment: &Environment) -> Result<PathBuf, Failure> {
    resolve_cross(wanted, &environment.paths.cache)
}

fn resolve_cross(wanted: &str, cache: &Path) -> Result<PathBuf, Failure> {
    if let Some(folder) = registry::cross_encoder_folder(wanted, cache) {
        return Ok(folder);
    }
    let purpose = registry::find(wanted).map(|entry| entry.purpose);
    Err(Failure::Failed(match purpose {
        Some(Purpose::CrossEncoder) => format!(
            "the cross-encoder {wanted} is not here; fetch it with `medrgb models pull {wanted}`, or give the folder that holds its config.json"
        ),
        Some(other) => format!(
            "{wanted} is no cross-encoder but a model for {}; name {}, or the folder that holds a cross-encoder's config.json",
            other.name(),
            registry::MEDCPT_CROSS
        ),
        None => format!(
            "the cross-encoder \"{}\" is not here: give the folder that holds its config.json, or fetch one with `medrgb models pull {}`",
            short(wanted),
            registry::MEDCPT_CROSS
        ),
    }))
}

/// What the registry finds on this machine; `auto` may find nothing.
fn resolve(wanted: &str, cache: &Path) -> Result<Option<EncoderFolders>, Failure> {
    match registry::encoder_folders(wanted, cache) {
        Some(found) => Ok(Some(EncoderFolders {
            name: found.name,
            query: found.query,
            article: found.article,
            // Who asks for it by name wants this one and not MedCPT.
            stand_in: found.caution.is_some() && wanted == "auto",
        })),
        None if wanted == "auto" => Ok(None),
        None if registry::find(wanted).is_some_and(|entry| entry.purpose != Purpose::Encoder) => {
            Err(Failure::Failed(format!(
                "{wanted} is a model of another kind and no encoder; name an encoder (`medrgb models list` says which there are), or the folder that holds its config.json"
            )))
        }
        None => Err(Failure::Failed(not_here(wanted))),
    }
}

/// What is wrong with an encoder's name or folder, and what to do.
fn not_here(wanted: &str) -> String {
    let shown = short(wanted);
    if registry::is_encoder(wanted) {
        return format!(
            "the encoder {shown} is not here: fetch it with `medrgb models pull {shown}`, or give the folder that holds its config.json"
        );
    }
    if Path::new(wanted).is_dir() {
        return format!(
            "the folder {shown} is no encoder: it holds neither a config.json nor folders query and article that hold one each"
        );
    }
    format!(
        "no encoder is called \"{shown}\", and no folder is: name {}, auto (MedCPT, else its stand-in), or the folder that holds an encoder's config.json",
        registry::encoder_names().join(", ")
    )
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
        std::fs::write(path.join("config.json"), "{}").unwrap();
        let found = resolve(path.to_str().unwrap(), folder.path())
            .unwrap()
            .unwrap();
        assert_eq!(found.name, "my-encoder");
        assert_eq!(found.query, found.article);
        let message = resolve("no-such", folder.path()).unwrap_err().to_string();
        assert!(message.contains("name medcpt, minilm-l6"), "{message}");
        let message = resolve("medcpt", folder.path()).unwrap_err().to_string();
        assert!(message.contains("models pull medcpt"), "{message}");
        let message = resolve(registry::DEFAULT_CHAT, folder.path())
            .unwrap_err()
            .to_string();
        assert!(message.contains("and no encoder"), "{message}");
    }

    #[test]
    fn a_cross_encoder_is_a_folder_or_says_how_to_get_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.json"), "{}").unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(resolve_cross(path, folder.path()).unwrap(), folder.path());
        for (wanted, part) in [
            ("no-such", "models pull medcpt-cross"),
            (registry::MEDCPT_CROSS, "models pull medcpt-cross"),
            (registry::STAND_IN_ENCODER, "is no cross-encoder"),
        ] {
            let message = resolve_cross(wanted, folder.path())
                .unwrap_err()
                .to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
