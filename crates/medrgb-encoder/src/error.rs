//! What can go wrong, each as one sentence that says where and what to do.

use std::path::{Path, PathBuf};

use crate::backend::Backend;

/// Why an encoder could not be opened or could not encode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncoderError {
    /// The folder does not exist or is not a folder.
    #[error("{}: no such folder; give the folder that holds an encoder's config.json", .0.display())]
    NoFolder(PathBuf),

    /// A file that the folder must have is not there.
    #[error("{}: missing {what}; copy the whole model folder again", folder.display())]
    Missing {
        /// The encoder's folder.
        folder: PathBuf,
        /// The file or files looked for.
        what: &'static str,
    },

    /// The system refused to read a file.
    #[error("{}: cannot be read: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },

    /// A file is there but damaged, incomplete or at odds with another one.
    #[error("{}: {problem}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// What was expected, what was found, what to do.
        problem: String,
    },

    /// The folder is sound, but asks for something that this crate does not do.
    #[error("{}: {problem}", file.display())]
    Unsupported {
        /// The file that asks for it.
        file: PathBuf,
        /// What it asks for and what is supported instead.
        problem: String,
    },

    /// A setting given by the caller makes no sense for this encoder.
    #[error("{0}")]
    Option(String),

    /// A text could not be turned into word pieces.
    #[error("the tokenizer failed: {0}")]
    Tokenize(String),

    /// The backend asked for by name is not available.
    #[error("the {backend} backend is not available: {reason}")]
    Unavailable {
        /// The backend asked for.
        backend: Backend,
        /// Why not, as [`crate::probe`] says it.
        reason: String,
    },

    /// The device failed while computing.
    #[error("the {backend} backend failed while encoding: {reason}")]
    Device {
        /// The backend in use.
        backend: Backend,
        /// What it said.
        reason: String,
    },

    /// The progress callback asked to stop.
    #[error("encoding was cancelled")]
    Cancelled,
}

impl EncoderError {
    /// A closure that names `file` in an input/output error.
    pub(crate) fn io(file: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            file: file.to_path_buf(),
            source,
        }
    }

    /// A damaged or inconsistent `file`.
    pub(crate) fn invalid(file: &Path, problem: impl Into<String>) -> Self {
        Self::Invalid {
            file: file.to_path_buf(),
            problem: problem.into(),
        }
    }

    /// A sound `file` that asks for something not supported.
    pub(crate) fn unsupported(file: &Path, problem: impl Into<String>) -> Self {
        Self::Unsupported {
            file: file.to_path_buf(),
            problem: problem.into(),
        }
    }
}
