//! Files that another program has already fetched into a Hugging Face hub cache: used where they lie.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::model::fetch::checksum::sha256_file;
use crate::model::registry::{ModelEntry, WantedFile};

/// The hub caches of this machine, most specific first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HubCaches {
    /// Folders that hold `models--ORG--NAME`.
    pub roots: Vec<PathBuf>,
}

/// A file that was hashed before, so that it need not be hashed at every start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Checked {
    path: PathBuf,
    bytes: u64,
    modified_s: u64,
    sha256: String,
}

/// Why a snapshot in a hub cache is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// There is none, or files are missing.
    Absent,
    /// A file is not what it should be.
    Wrong(String),
}

impl HubCaches {
    /// `HF_HUB_CACHE`, else `HF_HOME/hub`, else `hub` under `XDG_CACHE_HOME/huggingface` or `~/.cache/huggingface`.
    pub fn from_environment() -> Self {
        let folder = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let root = folder("HF_HUB_CACHE")
            .or_else(|| folder("HF_HOME").map(|home| home.join("hub")))
            .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub")))
            .or_else(|| folder("HOME").map(|home| home.join(".cache/huggingface/hub")));
        HubCaches {
            roots: root.into_iter().collect(),
        }
    }

    /// The file (chat models) or folder of a complete snapshot whose sizes and pinned hashes are right.
    pub fn snapshot(&self, entry: &ModelEntry) -> Option<PathBuf> {
        self.check(entry, None, &CancellationToken::new()).ok()
    }

    /// As [`snapshot`](Self::snapshot), saying why not. What was hashed is remembered in the file `memo`.
    ///
    /// # Errors
    /// [`Unusable`] with the reason.
    pub fn check(
        &self,
        entry: &ModelEntry,
        memo: Option<&Path>,
        cancel: &CancellationToken,
    ) -> Result<PathBuf, Unusable> {
        let repository = entry.hub.ok_or(Unusable::Absent)?;
        let name = format!("models--{}", repository.replace('/', "--"));
        let mut reason = Unusable::Absent;
        for snapshot in self
            .roots
            .iter()
            .flat_map(|root| snapshots(&root.join(&name)))
        {
            match check_snapshot(entry, &snapshot, memo, cancel) {
                Ok(()) => return Ok(entry.target(&snapshot)),
                Err(Unusable::Absent) => {}
                Err(wrong) => reason = wrong,
            }
        }
        Err(reason)
    }
}

/// Snapshot folders of a cached repository: that of `refs/main` first.
fn snapshots(repository: &Path) -> Vec<PathBuf> {
    let folder = repository.join("snapshots");
    let main = std::fs::read_to_string(repository.join("refs/main"))
        .ok()
        .map(|revision| folder.join(revision.trim()));
    let mut all: Vec<PathBuf> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    all.sort();
    all.sort_by_key(|path| Some(path) != main.as_ref());
    all
}

fn check_snapshot(
    entry: &ModelEntry,
    folder: &Path,
    memo: Option<&Path>,
    cancel: &CancellationToken,
) -> Result<(), Unusable> {
    let mut remembered: Vec<Checked> = memo
        .and_then(|path| std::fs::read(path).ok())
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let before = remembered.len();
    for file in entry.files {
        let Some(path) = file.present(folder) else {
            if file.required {
                return Err(Unusable::Absent);
            }
            continue;
        };
        check_file(file, &path, &mut remembered, cancel)?;
    }
    if let Some(memo) = memo.filter(|_| remembered.len() != before) {
        // Losing this memory only costs hashing again.
        let _ = memo.parent().map(std::fs::create_dir_all);
        let _ = serde_json::to_vec(&remembered).map(|bytes| std::fs::write(memo, bytes));
    }
    Ok(())
}

/// Compares a file with its pinned hash, or with the hash that the cache names its blob by.
fn check_file(
    file: &WantedFile,
    path: &Path,
    remembered: &mut Vec<Checked>,
    cancel: &CancellationToken,
) -> Result<(), Unusable> {
    let unreadable =
        |error: std::io::Error| Unusable::Wrong(format!("{}: {error}", path.display()));
    let real = path.canonicalize().map_err(unreadable)?;
    let meta = real.metadata().map_err(unreadable)?;
    let Some(expected) = file.sha256.map(str::to_owned).or_else(|| blob_hash(&real)) else {
        return Ok(());
    };
    let modified_s = meta
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |age| age.as_secs());
    let known = remembered.iter().find(|checked| {
        checked.path == real && checked.bytes == meta.len() && checked.modified_s == modified_s
    });
    let actual = match known {
        Some(checked) => checked.sha256.clone(),
        None => sha256_file(&real, cancel, &mut |_| {})
            .map_err(unreadable)?
            .ok_or(Unusable::Absent)?,
    };
    if actual != expected {
        return Err(Unusable::Wrong(format!(
            "{} has SHA-256 {actual}, but {expected} was expected",
            path.display()
        )));
    }
    if known.is_none() {
        remembered.retain(|checked| checked.path != real);
        remembered.push(Checked {
            path: real,
            bytes: meta.len(),
            modified_s,
            sha256: actual,
        });
    }
    Ok(())
}

/// The hub names the blob of a large file by its SHA-256.
fn blob_hash(real: &Path) -> Option<String> {
    let name = real.file_name()?.to_str()?;
    (name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::model::registry::{Purpose, find};

    #[test]
    fn a_snapshot_is_used_where_it_lies_and_a_changed_file_is_not() {
        const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        const FILES: &[WantedFile] = &[WantedFile {
            names: &["m.gguf"],
            required: true,
            bytes: Some(3),
            sha256: Some(ABC),
        }];
        let entry = ModelEntry {
            name: "m",
            purpose: Purpose::Chat,
            files: FILES,
            hub: Some("org/m"),
            wheels: None,
            caution: None,
            about: "",
        };
        let dir = tempfile::tempdir().unwrap();
        let caches = HubCaches {
            roots: vec![dir.path().to_owned()],
        };
        assert_eq!(caches.snapshot(&entry), None);
        let snapshot = dir.path().join("models--org--m/snapshots/1234");
        std::fs::create_dir_all(&snapshot).unwrap();
        std::fs::write(snapshot.join("m.gguf"), "abc").unwrap();
        assert_eq!(caches.snapshot(&entry), Some(snapshot.join("m.gguf")));
        std::fs::write(snapshot.join("m.gguf"), "abd").unwrap();
        let memo = dir.path().join("memo.json");
        let never = CancellationToken::new();
        let Err(Unusable::Wrong(text)) = caches.check(&entry, Some(&memo), &never) else {
            panic!("a wrong file was accepted");
        };
        assert!(text.contains(ABC) && text.contains("m.gguf"), "{text}");
        assert!(find("medcpt-query").is_some_and(|entry| caches.snapshot(entry).is_none()));
    }
}
