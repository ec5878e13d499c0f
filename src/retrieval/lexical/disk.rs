//! BM25 indexes in folders: written part by part, merged into one segment, opened without reading them.
//!
//! One segment whose documents are in corpus order: equal scores then come in that order, and a document's number
//! is its position. Parts of one corpus merged give the scores of an index that was built at once.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::indexer::merge_filtered_segments;
use tantivy::{Index, ReloadPolicy, TantivyDocument, TantivyError};

use crate::retrieval::guarded::guarded;
use crate::retrieval::lexical::{Lexical, WRITER_MEMORY, analyser, entry, schema, tokenizers};
use crate::retrieval::mapped::{as_the_mask_says, reason, write_reason_in};
use crate::retrieval::{DAMAGED, RetrievalError};

/// Writes an index of documents (title and text) into a folder that is made or empty. `progress` gets the number
/// of indexed documents and may cancel; what is there then is no index.
///
/// # Errors
/// When tantivy or the file system fails, or `progress` breaks.
pub fn write_folder<'a>(
    folder: &Path,
    documents: impl Iterator<Item = (&'a str, &'a str)>,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<(), RetrievalError> {
    let (schema, field) = schema();
    let mut writer = Index::builder()
        .schema(schema)
        .tokenizers(tokenizers(analyser()?))
        .single_segment_index_writer::<TantivyDocument>(directory(folder)?, WRITER_MEMORY)
        .map_err(|error| not_written(folder, error))?;
    for (number, (title, content)) in documents.enumerate() {
        writer
            .add_document(entry(field, title, content))
            .map_err(|error| not_written(folder, error))?;
        if number % 256 == 255 && progress(number + 1).is_break() {
            return Err(RetrievalError::cancelled());
        }
    }
    writer
        .finalize()
        .map_err(|error| not_written(folder, error))?;
    as_the_mask_says(folder).map_err(|error| not_written(folder, error))
}

/// Merges the indexes of several folders, in this order, into one segment in an empty folder.
///
/// # Errors
/// When one can't be read, or tantivy or the file system fails.
pub fn merge_folders(parts: &[PathBuf], folder: &Path) -> Result<(), RetrievalError> {
    let mut segments = Vec::with_capacity(parts.len());
    let mut settings = None;
    for part in parts {
        let index = read(part, || Index::open_in_dir(part))?;
        segments.extend(read(part, || index.searchable_segments())?);
        settings = Some(index.settings().clone());
    }
    let whole = segments.iter().map(|_| None).collect();
    merge_filtered_segments(
        &segments,
        settings.unwrap_or_default(),
        whole,
        directory(folder)?,
    )
    .map_err(|error| not_written(folder, error))?;
    as_the_mask_says(folder).map_err(|error| not_written(folder, error))
}

fn not_written(folder: &Path, error: impl std::fmt::Display) -> RetrievalError {
    RetrievalError(format!(
        "the BM25 index {} can't be written: {}",
        folder.display(),
        write_reason_in(&error.to_string())
    ))
}

fn directory(folder: &Path) -> Result<MmapDirectory, RetrievalError> {
    std::fs::create_dir_all(folder).map_err(|error| not_written(folder, error))?;
    MmapDirectory::open(folder).map_err(|error| not_written(folder, error))
}

impl Lexical {
    /// Opens the index of a folder.
    ///
    /// # Errors
    /// When it is not there or damaged.
    pub fn open(folder: &Path) -> Result<Lexical, RetrievalError> {
        let analyser = analyser()?;
        let (_, field) = schema();
        let searcher = read(folder, || {
            let mut index = Index::open(ReadOnly(MmapDirectory::open(folder)?))?;
            index.set_tokenizers(tokenizers(analyser.clone()));
            let reader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .try_into()?;
            Ok(reader.searcher())
        })?;
        Ok(Lexical {
            searcher: Some(searcher),
            folder: Some(folder.to_path_buf()),
            analyser,
            field,
        })
    }
}

/// Why an index can't be read, and what to do: what may not be read need not be built again.
fn why(folder: &Path, error: &TantivyError) -> RetrievalError {
    let named = |path: &Path| folder.join(path).display().to_string();
    let damaged = |what: String| RetrievalError(format!("{what}; {DAMAGED}"));
    match error {
        TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(path)) => {
            damaged(format!("{} is missing", named(path)))
        }
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath })
            if may_not_be_read(io_error) =>
        {
            let (path, why) = (named(filepath), reason(io_error));
            RetrievalError(format!("{path} can't be read: {why}"))
        }
        TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. })
        | TantivyError::IoError(io_error)
            if may_not_be_read(io_error) =>
        {
            let (path, why) = (folder.display(), reason(io_error));
            RetrievalError(format!("{path} can't be read: {why}"))
        }
        TantivyError::OpenReadError(OpenReadError::IoError { filepath, .. }) => {
            damaged(format!("{} is cut off or changed", named(filepath)))
        }
        TantivyError::OpenDirectoryError(_) => {
            damaged(format!("the folder {} is missing", folder.display()))
        }
        TantivyError::OpenReadError(OpenReadError::IncompatibleIndex(_))
        | TantivyError::IncompatibleIndex(_) => RetrievalError(format!(
            "the BM25 index {} was written by another version of this program: remove the folder that it lies in and build the index anew by `medrgb index build`",
            folder.display()
        )),
        _ => changed(folder),
    }
}

/// What is said where it can't be told which file it is.
fn changed(folder: &Path) -> RetrievalError {
    RetrievalError(format!(
        "a file of the BM25 index {} is cut off or changed; {DAMAGED}",
        folder.display()
    ))
}

/// Reads an index of a folder by tantivy, which gives an error or panics where a file is not as it was written; both
/// become one sentence.
pub(super) fn read<T>(
    folder: &Path,
    work: impl FnOnce() -> tantivy::Result<T>,
) -> Result<T, RetrievalError> {
    match guarded(work) {
        Some(done) => done.map_err(|error| why(folder, &error)),
        None => Err(changed(folder)),
    }
}

fn may_not_be_read(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// A finished index, which nobody changes: no locks are taken, so that it opens where nothing can be written.
#[derive(Debug, Clone)]
struct ReadOnly(MmapDirectory);

fn refused() -> Arc<io::Error> {
    Arc::new(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Directory for ReadOnly {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.0.atomic_read(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError {
            io_error: refused(),
            filepath: path.to_path_buf(),
        })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::IoError {
            io_error: refused(),
            filepath: path.to_path_buf(),
        })
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::retrieval::CorpusDocument;

    fn go(_: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn merged_parts_answer_like_an_index_built_at_once() {
        let words = [
            "heart", "renal", "failure", "trial", "aspirin", "lung", "dose",
        ];
        let documents: Vec<CorpusDocument> = (0..700usize)
            .map(|n| CorpusDocument {
                id: n.to_string(),
                title: words[n % 7].into(),
                content: (0..n % 23)
                    .map(|i| format!("{} ", words[(n * i + i) % 7]))
                    .collect(),
            })
            .collect();
        let whole = Lexical::build(&documents, &mut go).unwrap();
        let home = tempfile::tempdir().unwrap();
        let parts: Vec<PathBuf> = documents
            .chunks(150)
            .enumerate()
            .map(|(number, chunk)| {
                let folder = home.path().join(number.to_string());
                let texts = chunk.iter().map(|d| (d.title.as_str(), d.content.as_str()));
                write_folder(&folder, texts, &mut go).unwrap();
                folder
            })
            .collect();
        let merged = home.path().join("merged");
        merge_folders(&parts, &merged).unwrap();
        let merged = Lexical::open(&merged).unwrap();
        assert_eq!(merged.len(), 700);
        for query in [
            "heart",
            "renal failure trial",
            "aspirin aspirin dose",
            "none",
        ] {
            assert_eq!(
                merged.search(query, 50).unwrap(),
                whole.search(query, 50).unwrap()
            );
        }
    }

    fn one_document(folder: &Path) {
        write_folder(folder, [("heart", "failure")].into_iter(), &mut go).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn an_index_is_for_all_and_opens_where_nothing_can_be_written() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("bm25");
        one_document(&folder);
        let plain = home.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        let mut locks = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), mode(&plain), "{}", path.display());
            if path
                .extension()
                .is_some_and(|extension| extension == "lock")
            {
                std::fs::remove_file(&path).unwrap();
                locks += 1;
            }
        }
        let opened = Lexical::open(&folder).unwrap();
        assert_eq!(opened.search("heart", 3).unwrap().len(), 1);
        let left = std::fs::read_dir(&folder).unwrap().count();
        one_document(&home.path().join("other"));
        let all = std::fs::read_dir(home.path().join("other"))
            .unwrap()
            .count();
        assert_eq!(left + locks, all, "opening made a file");
    }

    #[test]
    fn damage_is_said_in_words_for_every_file() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("bm25");
        one_document(&folder);
        let names: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_none_or(|e| e != "lock"))
            .collect();
        assert!(names.len() > 4);
        for path in names {
            let whole = std::fs::read(&path).unwrap();
            for damaged in [
                Vec::new(),
                whole[..whole.len() / 2].to_vec(),
                vec![7; whole.len()],
            ] {
                std::fs::write(&path, &damaged).unwrap();
                let result = Lexical::open(&folder);
                let Err(error) = result else {
                    continue;
                };
                let message = error.to_string();
                assert!(message.contains("build it anew"), "{message}");
                for debug in ["Error", "Some(", "\\\"", "FileDoes", "{", "IoError"] {
                    assert!(!message.contains(debug), "{}: {message}", path.display());
                }
            }
            std::fs::write(&path, whole).unwrap();
        }
        assert!(Lexical::open(&folder).is_ok());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "term")
            {
                std::fs::remove_file(path).unwrap();
            }
        }
        let message = Lexical::open(&folder).unwrap_err().to_string();
        assert!(message.contains("is missing"), "{message}");
    }

    /// Every file overwritten at many places: what is met only by a search is said as plainly as what is met when
    /// the index is opened.
    #[test]
    fn damage_met_by_a_search_is_said_in_words() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("bm25");
        let texts: Vec<String> = (0..400)
            .map(|at| format!("heart failure {} trial {}", at % 7, at % 31))
            .collect();
        let entries = texts.iter().map(|text| ("heart", text.as_str()));
        write_folder(&folder, entries, &mut go).unwrap();
        let mut met = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let whole = std::fs::read(&path).unwrap();
            let step = (whole.len() / 40).max(1);
            for at in (0..whole.len()).step_by(step) {
                for value in [0x00, 0x7f, 0xff] {
                    let mut damaged = whole.clone();
                    let end = (at + 9).min(whole.len());
                    damaged[at..end].fill(value);
                    // A new file: the old one may still be mapped.
                    std::fs::remove_file(&path).unwrap();
                    std::fs::write(&path, &damaged).unwrap();
                    let searched = Lexical::open(&folder)
                        .and_then(|index| index.search("heart trial 3 failure", 300));
                    if let Err(error) = searched {
                        let said = error.to_string();
                        met += 1;
                        assert!(
                            said.contains("build it anew") || said.contains("build the index anew"),
                            "{}: {said}",
                            path.display()
                        );
                        for debug in ["Error", "Some(", "{", "called `", "unwrap"] {
                            assert!(!said.contains(debug), "{}: {said}", path.display());
                        }
                    }
                }
            }
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, &whole).unwrap();
        }
        assert!(met > 20, "only {met} damages were met");
        let found = Lexical::open(&folder)
            .unwrap()
            .search("heart", 500)
            .unwrap();
        assert_eq!(found.len(), 400);
    }

    #[test]
    fn what_is_no_index_is_said() {
        let home = tempfile::tempdir().unwrap();
        let message = Lexical::open(home.path()).unwrap_err().to_string();
        assert!(message.contains("build it anew"), "{message}");
        let texts = std::iter::repeat_n(("", "x"), 1000);
        let stopped = write_folder(&home.path().join("a"), texts, &mut |_| {
            ControlFlow::Break(())
        });
        assert!(stopped.is_err());
    }
}
