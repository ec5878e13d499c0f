//! A folder with prompt templates of the user's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::domain::prompt::{BUILT_IN, PromptError, Templates};
use crate::source::{LARGEST_PLAN, small_text};

/// The user's templates can't be used: what, where, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptFolderError {
    /// The folder or a file in it can't be read, or the folder holds no template.
    #[error("{0}")]
    Folder(String),
    /// A template is broken.
    #[error(transparent)]
    Template(#[from] PromptError),
}

/// The built-in templates, each replaced by the folder's file of the same name where there is one.
///
/// # Errors
/// [`PromptFolderError`]: no folder, no template in it, one with an unknown name, or a broken one.
pub fn open(folder: &Path) -> Result<Templates, PromptFolderError> {
    let shown = folder.display();
    let unreadable = |what: &dyn std::fmt::Display, error: std::io::Error| {
        PromptFolderError::Folder(format!("{what} can't be read: {error}"))
    };
    let entries = fs::read_dir(folder)
        .map_err(|error| unreadable(&format_args!("prompt folder {shown}"), error))?;
    let mut overrides = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(&shown, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(".j2") {
            continue;
        }
        let text = small_text(&path, LARGEST_PLAN)
            .map_err(|error| PromptFolderError::Folder(error.to_string()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        overrides.insert(name.into_owned(), text.replace("\r\n", "\n"));
    }
    if overrides.is_empty() {
        let names = BUILT_IN.map(|(name, _)| name).join(", ");
        return Err(PromptFolderError::Folder(format!(
            "prompt folder {shown} has no template; expected one or more of {names}"
        )));
    }
    let before_name = folder.join("").display().to_string();
    Ok(Templates::with_overrides_from(&before_name, overrides)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_folder_replaces_templates_and_says_what_is_wrong_with_them() {
        let folder = tempfile::tempdir().unwrap();
        let message = |folder: &Path| open(folder).unwrap_err().to_string();
        assert!(message(folder.path()).contains("has no template"));
        assert!(message(&folder.path().join("none")).contains("can't be read"));
        let file = folder.path().join("standard.user.j2");
        fs::write(&file, "\u{feff}Q:\r\n{{ question }}").unwrap();
        open(folder.path()).unwrap();
        fs::write(&file, "Q:\n{{ nothing }}").unwrap();
        let said = message(folder.path());
        assert!(
            said.contains(&format!("{}: line 2", file.display())),
            "{said}"
        );
        fs::write(&file, [0xff]).unwrap();
        let said = message(folder.path());
        assert!(
            said.contains("standard.user.j2, line 1: this is not UTF-8"),
            "{said}"
        );
    }
}
