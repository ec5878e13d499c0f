//! The hidden folder in which an import writes, beside its target. A killed import leaves it behind; the next one
//! in the same place clears it away.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the folders begin.
const PREFIX: &str = ".medrgb-import-";

/// Where a dataset that is being replaced lies until the new one is in its place.
pub(super) const OLD: &str = "old";

/// The file that is locked while the import lives. It holds the target's name.
const LOCK: &str = "lock";

/// From which age on a folder without a lock is left over: it comes from a version that did not lock, or from a
/// process that was killed within the moment before it locked.
const LEFT_OVER: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder of one import; gone when it is dropped.
#[derive(Debug)]
pub(super) struct Workshop {
    /// Held open: the system lets the lock go when the process ends, however it ends.
    _lock: File,
    folder: tempfile::TempDir,
}

impl Workshop {
    /// A new folder in `parent` for a dataset that will be called `target`.
    pub(super) fn begin(parent: &Path, target: &Path) -> io::Result<Workshop> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let mut lock = File::create(folder.path().join(LOCK))?;
        // Where the file system knows no locks the folder is cleared away like one without.
        let _ = lock.try_lock();
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        lock.write_all(name.as_bytes())?;
        Ok(Workshop {
            _lock: lock,
            folder,
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Clears away what killed imports have left in `parent`. What can't be removed stays: it harms nothing.
pub(super) fn clear(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_ours && is_folder {
            clear_one(parent, &entry.path());
        }
    }
}

fn clear_one(parent: &Path, folder: &Path) {
    let lock = OpenOptions::new()
        .read(true)
        .write(true)
        .open(folder.join(LOCK));
    let name = match lock {
        Ok(mut lock) => {
            if lock.try_lock().is_err() {
                // Its process lives.
                return;
            }
            let mut name = String::new();
            let _ = (&mut lock).take(4096).read_to_string(&mut name);
            name
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_old(folder) => String::new(),
        Err(_) => return,
    };
    if bring_back(parent, folder, &name) {
        let _ = fs::remove_dir_all(folder);
    }
}

fn is_old(folder: &Path) -> bool {
    fs::metadata(folder)
        .and_then(|meta| meta.modified())
        .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > LEFT_OVER))
}

/// An import that was killed between its two last steps has put the replaced dataset aside and nothing in its
/// place: it goes back. Gives whether nothing is in the folder any more that is nowhere else.
fn bring_back(parent: &Path, folder: &Path, name: &str) -> bool {
    let old = folder.join(OLD);
    if !old.exists() {
        return true;
    }
    let Some(target) = plain_name(name).map(|name| parent.join(name)) else {
        return false;
    };
    match target.exists() {
        true => true,
        false => fs::rename(&old, &target).is_ok(),
    }
}

/// A name that stays in its folder.
fn plain_name(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    let is_plain = path.file_name().is_some_and(|own| own == path.as_os_str());
    is_plain.then_some(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn left_over(parent: &Path, name: &str, target: Option<&str>) -> PathBuf {
        let folder = parent.join(format!("{PREFIX}{name}"));
        fs::create_dir_all(folder.join("new")).unwrap();
        fs::write(folder.join("new/qa.jsonl"), "{}").unwrap();
        if let Some(target) = target {
            fs::write(folder.join(LOCK), target).unwrap();
        }
        folder
    }

    #[test]
    fn what_a_killed_import_left_is_cleared_and_a_living_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let parent = dir.path();
        let living = Workshop::begin(parent, Path::new("x/set")).unwrap();
        let dead = left_over(parent, "dead", Some("set"));
        let young = left_over(parent, "young", None);
        let other = parent.join(".medrgb-other");
        fs::create_dir(&other).unwrap();
        clear(parent);
        assert!(!dead.exists());
        assert!(living.path().exists() && young.exists() && other.exists());

        let path = living.path().to_path_buf();
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn an_old_folder_without_a_lock_is_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let folder = left_over(dir.path(), "old", None);
        let time = std::time::SystemTime::now() - LEFT_OVER - Duration::from_secs(60);
        File::open(&folder).unwrap().set_modified(time).unwrap();
        clear(dir.path());
        assert!(!folder.exists());
    }

    #[test]
    fn a_dataset_that_was_put_aside_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let parent = dir.path();
        for (name, target, is_there, cleared) in [
            ("a", "set-a", false, true),
            ("b", "set-b", true, true),
            // No name, or one that leads elsewhere: the only copy stays where it is.
            ("c", "", false, false),
            ("d", "../set-d", false, false),
        ] {
            let folder = left_over(parent, name, Some(target));
            fs::create_dir(folder.join(OLD)).unwrap();
            fs::write(folder.join(OLD).join("qa.jsonl"), "old").unwrap();
            if is_there {
                fs::create_dir(parent.join(target)).unwrap();
                fs::write(parent.join(target).join("qa.jsonl"), "new").unwrap();
            }
            clear(parent);
            assert_eq!(!folder.exists(), cleared, "{name}");
            if cleared {
                let text = fs::read_to_string(parent.join(target).join("qa.jsonl")).unwrap();
                assert_eq!(text, if is_there { "new" } else { "old" });
            }
        }
    }
}
