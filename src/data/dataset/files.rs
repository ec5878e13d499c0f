//! Finding and reading the files of a dataset folder.

use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::data::dataset::{DatasetError, QUESTIONS, SIGNAL, columns};

/// The largest file that is read into memory.
const LARGEST_FILE: u64 = 2 << 30;

/// How many near misses an error lists.
const LISTED: usize = 5;

/// A file's bytes and the name under which errors speak of it.
#[derive(Debug)]
pub(super) struct Content<'a> {
    /// The path as shown.
    pub(super) name: String,
    /// Everything in the file.
    pub(super) bytes: Cow<'a, [u8]>,
}

impl<'a> Content<'a> {
    /// A text that is built into the program.
    pub(super) fn embedded(name: &str, text: &'a str) -> Content<'a> {
        Content {
            name: name.to_owned(),
            bytes: Cow::Borrowed(text.as_bytes()),
        }
    }

    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Content<'static>, DatasetError> {
        let name = path.display().to_string();
        let failed = |error| DatasetError(format!("{name} can't be read: {error}"));
        let size = fs::metadata(path).map_err(failed)?.len();
        if size > LARGEST_FILE {
            return Err(DatasetError(format!(
                "{name} has {size} bytes, but at most {LARGEST_FILE} are read; split the dataset"
            )));
        }
        let bytes = match is_parquet(path) {
            true => columns::as_json(path).map_err(DatasetError)?,
            false => fs::read(path).map_err(failed)?,
        };
        Ok(Content {
            name,
            bytes: Cow::Owned(bytes),
        })
    }

    /// The bytes after a byte-order mark.
    ///
    /// # Errors
    /// For UTF-16, which the mark gives away.
    pub(super) fn body(&self) -> Result<&[u8], DatasetError> {
        let bytes = self.bytes.as_ref();
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(DatasetError(format!(
                "{} is UTF-16, but UTF-8 is expected; save it as UTF-8",
                self.name
            )));
        }
        Ok(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
    }

    /// The whole text.
    ///
    /// # Errors
    /// Names the line and column of the first byte that is not UTF-8.
    pub(super) fn text(&self) -> Result<&str, DatasetError> {
        let body = self.body()?;
        std::str::from_utf8(body).map_err(|error| {
            let before = &body[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
            let start = before.iter().rposition(|&byte| byte == b'\n');
            let column = before.len() - start.map_or(0, |at| at + 1) + 1;
            DatasetError(format!(
                "{}, line {line}, column {column}: a byte that is not UTF-8; save the file as UTF-8",
                self.name
            ))
        })
    }
}

/// The question file of a dataset folder, or the path itself where it is a `.jsonl` file.
pub(super) fn question_file(path: &Path) -> Result<PathBuf, DatasetError> {
    let shown = path.display();
    let kind = match fs::metadata(path) {
        Ok(kind) => kind,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(DatasetError(format!(
                "{shown} does not exist; expected a dataset folder with {QUESTIONS} and {SIGNAL}"
            )));
        }
        Err(error) => return Err(DatasetError(format!("{shown} can't be opened: {error}"))),
    };
    if kind.is_file() {
        return match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("jsonl") => Ok(path.to_path_buf()),
            _ if path.ends_with(parquet_name(QUESTIONS)) => Ok(path.to_path_buf()),
            _ => Err(DatasetError(format!(
                "{shown} is not a dataset; give the folder that holds {QUESTIONS} and {SIGNAL}, or its {QUESTIONS}"
            ))),
        };
    }
    if !kind.is_dir() {
        return Err(DatasetError(format!(
            "{shown} is neither a folder nor a regular file; give the dataset folder that holds {QUESTIONS} and {SIGNAL}"
        )));
    }
    refuse_irregular(path, QUESTIONS)?;
    if let Some(questions) = present(path, QUESTIONS) {
        return Ok(questions);
    }
    if let Err(error) = fs::read_dir(path) {
        return Err(DatasetError(format!(
            "the folder {shown} can't be read: {error}"
        )));
    }
    Err(DatasetError(format!(
        "{shown} has no {QUESTIONS}; expected a dataset folder with {QUESTIONS} and {SIGNAL}{}",
        near_misses(path)
    )))
}

/// What else is there that the user may have meant.
fn near_misses(folder: &Path) -> String {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    entries.sort();
    let list = |paths: Vec<&PathBuf>| {
        let more = paths.len().saturating_sub(LISTED);
        let mut shown: Vec<String> = paths
            .iter()
            .take(LISTED)
            .map(|path| path.display().to_string())
            .collect();
        if more > 0 {
            shown.push(format!("{more} more"));
        }
        shown.join(", ")
    };
    let datasets: Vec<&PathBuf> = entries
        .iter()
        .filter(|entry| present(entry, QUESTIONS).is_some())
        .collect();
    if !datasets.is_empty() {
        return format!("; did you mean {}?", list(datasets));
    }
    let files: Vec<&PathBuf> = entries
        .iter()
        .filter(|entry| {
            let extension = entry.extension().unwrap_or_default();
            extension == "json" || extension == "jsonl"
        })
        .collect();
    match files.is_empty() {
        true => "; it has no JSON file at all".to_owned(),
        false => format!("; it has {}", list(files)),
    }
}

/// A file that a dataset must have.
pub(super) fn required(folder: &Path, name: &str) -> Result<Content<'static>, DatasetError> {
    optional(folder, name)?.ok_or_else(|| {
        DatasetError(format!(
            "{} is missing; it holds the documents of each question of {QUESTIONS}",
            folder.join(name).display()
        ))
    })
}

/// A file that a dataset may have.
pub(super) fn optional(
    folder: &Path,
    name: &str,
) -> Result<Option<Content<'static>>, DatasetError> {
    refuse_irregular(folder, name)?;
    match present(folder, name) {
        Some(path) => Content::read(&path).map(Some),
        None => Ok(None),
    }
}

/// A folder, a pipe or a device under the name of a file of the dataset is not passed over.
fn refuse_irregular(folder: &Path, name: &str) -> Result<(), DatasetError> {
    for path in [folder.join(name), folder.join(parquet_name(name))] {
        let what = match fs::metadata(&path) {
            Ok(kind) if kind.is_dir() => "a folder",
            Ok(kind) if !kind.is_file() => "a pipe or a device",
            // What can't be looked at says why when it is read; what is not there is missing.
            _ => continue,
        };
        return Err(DatasetError(format!(
            "{} is not a regular file but {what}; put the file of the dataset in its place",
            path.display()
        )));
    }
    Ok(())
}

/// The file of this name in the folder, or its Parquet form; the former where both are there.
fn present(folder: &Path, name: &str) -> Option<PathBuf> {
    [name.to_owned(), parquet_name(name)]
        .into_iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

fn parquet_name(name: &str) -> String {
    let stem = name.split('.').next().unwrap_or(name);
    format!("{stem}.parquet")
}

fn is_parquet(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}

/// The folder's own name, also for `.` and the like.
pub fn folder_name(folder: &Path) -> String {
    let here = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let full = fs::canonicalize(here).unwrap_or_else(|_| here.to_path_buf());
    full.file_name()
        .map_or_else(|| "dataset".into(), |name| name.to_string_lossy().into())
}
