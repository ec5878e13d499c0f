//! Which files of what the user names are a corpus, and what each of them holds, by name and content.

use std::cmp::Ordering;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::retrieval::RetrievalError;
use crate::retrieval::corpus::{CorpusFile, Format, lines, unreadable};
use crate::source::{self, Line, Lines};

/// Lines that are looked at before a file of lines counts as of no known layout.
const LOOKED_AT: usize = 100;
/// Bytes of an XML file that are looked at.
const HEAD: u64 = 1 << 16;
/// Bytes that a file without content has at most: white space, or the frame of packed nothing.
const LARGEST_EMPTY: u64 = 1 << 10;
/// Folders within folders that are walked into.
const DEEPEST: usize = 16;

/// What was found under the named paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Files, in the order of the paths, within a folder by name with numbers as numbers.
    pub files: Vec<CorpusFile>,
    /// Dataset folders, whose signal documents are a corpus.
    pub datasets: Vec<PathBuf>,
    /// Files of folders that are no part of a corpus, by name.
    pub skipped: Vec<String>,
    /// Files of folders that hold nothing at all, by name.
    pub empty: Vec<String>,
}

/// Finds the files of a corpus under `paths`; `forced` is how all of them are read, else each one's name and
/// content decide.
///
/// # Errors
/// When a path is not there, named twice, holds nothing to read, or a file's layout can't be told.
pub fn find(paths: &[PathBuf], forced: Option<Format>) -> Result<Found, RetrievalError> {
    let mut found = Found::default();
    for path in paths {
        let meta = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        source::refuse_special(path).map_err(|error| unreadable(path, &error))?;
        if !meta.is_dir() {
            let name = shown(path);
            let format = match forced {
                Some(format) => format,
                None => format_of(path, &name)?.ok_or_else(|| unknown(path))?,
            };
            found.files.push(CorpusFile {
                path: path.clone(),
                name,
                format,
            });
        } else if forced.is_none() && is_dataset(path) {
            found.datasets.push(path.clone());
        } else {
            folder(path, forced, &mut found)?;
        }
    }
    refuse_twice(&found)?;
    Ok(found)
}

/// Names with numbers as numbers: `chunk_2` comes before `chunk_10`.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (l, r) = (digits(left), digits(right));
        let order = match (l.is_empty(), r.is_empty()) {
            (false, false) => {
                let (x, y) = (l.trim_start_matches('0'), r.trim_start_matches('0'));
                (left, right) = (&left[l.len()..], &right[r.len()..]);
                x.len().cmp(&y.len()).then_with(|| x.cmp(y))
            }
            _ => match (left.chars().next(), right.chars().next()) {
                (Some(x), Some(y)) => {
                    (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]);
                    x.cmp(&y)
                }
                (None, None) => return a.cmp(b),
                (x, y) => x.is_some().cmp(&y.is_some()),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn digits(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    &text[..end]
}

fn shown(path: &Path) -> String {
    let name = path
        .file_name()
        .or_else(|| path.components().next_back().map(|c| c.as_os_str()));
    name.map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn is_dataset(folder: &Path) -> bool {
    ["qa.jsonl", "qa.parquet"]
        .iter()
        .any(|name| folder.join(name).is_file())
}

fn folder(path: &Path, forced: Option<Format>, found: &mut Found) -> Result<(), RetrievalError> {
    let real = path
        .canonicalize()
        .map_err(|error| unreadable(path, &error))?;
    let top = shown(&real);
    let before = found.files.len();
    for name in ["corpus.jsonl", "corpus.jsonl.gz"] {
        let file = path.join(name);
        if file.is_file() && forced.is_none_or(|format| format == Format::Beir) {
            found.files.push(CorpusFile {
                format: forced.or(format_of(&file, name)?).unwrap_or(Format::Beir),
                path: file,
                name: format!("{top}/{name}"),
            });
            return Ok(());
        }
    }
    let mut files = Vec::new();
    walk(path, &top, 0, &mut files)?;
    files.sort_by(|a, b| natural(&a.1, &b.1));
    for (file, name) in files {
        if kept_in_folders(&name) && is_empty(&file)? {
            found.empty.push(name);
            continue;
        }
        let format = match forced {
            Some(format) => Some(format).filter(|format| suits(&name, *format)),
            None if !kept_in_folders(&name) => None,
            None => format_of(&file, &name)?,
        };
        match format {
            Some(format) => found.files.push(CorpusFile {
                path: file,
                name,
                format,
            }),
            None => found.skipped.push(name),
        }
    }
    match found.files.len() > before {
        true => Ok(()),
        false if !found.empty.is_empty() => Err(RetrievalError(format!(
            "{} holds no file of a corpus but empty ones ({})",
            path.display(),
            found.empty[0]
        ))),
        false => Err(RetrievalError(format!(
            "{} holds no file of a corpus: JSON lines (.jsonl), PubMed XML (.xml), StatPearls (.nxml), plain text (.txt) are expected, each also as .gz",
            path.display()
        ))),
    }
}

fn walk(
    folder: &Path,
    shown: &str,
    depth: usize,
    files: &mut Vec<(PathBuf, String)>,
) -> Result<(), RetrievalError> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if name.starts_with('.') {
            continue;
        }
        let name = format!("{shown}/{name}");
        if path.is_file() {
            files.push((path, name));
        } else if path.is_dir() && depth < DEEPEST {
            walk(&path, &name, depth + 1, files)?;
        }
    }
    Ok(())
}

/// The last extension in lower case, `.gz` aside.
fn extension(name: &str) -> String {
    let name = name.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'))
        .map_or(String::new(), |(_, extension)| extension.to_owned())
}

/// Whether a file of a folder is looked at; a file that the user names always is.
fn kept_in_folders(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    match extension(name).as_str() {
        "jsonl" | "xml" | "nxml" => true,
        "txt" => !base.starts_with("readme") && !base.starts_with("license"),
        "json" => base.starts_with("pubmed_chunk"),
        _ => false,
    }
}

fn suits(name: &str, format: Format) -> bool {
    let extensions: &[&str] = match format {
        Format::MedRag | Format::Beir | Format::Wikipedia => &["jsonl", "json"],
        Format::PubMed | Format::StatPearls => &["xml", "nxml"],
        Format::Text => &["txt", "md", "text"],
        Format::Ncbi => &["json"],
        Format::Dataset => &[],
    };
    extensions.contains(&extension(name).as_str())
}

/// What a file holds; `None` where neither its name nor its content tells.
fn format_of(path: &Path, name: &str) -> Result<Option<Format>, RetrievalError> {
    match extension(name).as_str() {
        "txt" => Ok(Some(Format::Text)),
        "nxml" => Ok(Some(Format::StatPearls)),
        "xml" => xml_format(path),
        "jsonl" => lines_format(path)?.map(Some).ok_or_else(|| unknown(path)),
        _ => by_content(path),
    }
}

/// Whether a file holds not even a byte besides white space in its beginning, packed or not.
fn is_empty(path: &Path) -> Result<bool, RetrievalError> {
    let bytes = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    Ok(bytes.len() <= LARGEST_EMPTY && head(path)?.trim().is_empty())
}

fn unknown(path: &Path) -> RetrievalError {
    if is_empty(path).unwrap_or(false) {
        return RetrievalError(format!(
            "{} is empty; leave it out of the corpus",
            path.display()
        ));
    }
    RetrievalError(format!(
        "what {} holds can't be told from its name and its beginning; say it with --format",
        path.display()
    ))
}

fn head(path: &Path) -> Result<String, RetrievalError> {
    let (reader, _) = source::open(path).map_err(|error| unreadable(path, &error))?;
    let mut bytes = Vec::new();
    reader
        .take(HEAD)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn xml_format(path: &Path) -> Result<Option<Format>, RetrievalError> {
    let head = head(path)?;
    let has = |names: &[&str]| names.iter().any(|name| head.contains(name));
    Ok(match () {
        () if has(&["<Pubmed", "<MedlineCitation"]) => Some(Format::PubMed),
        () if has(&["<book-part", "<article", "<book"]) => Some(Format::StatPearls),
        () => return Err(unknown(path)),
    })
}

fn lines_format(path: &Path) -> Result<Option<Format>, RetrievalError> {
    let failed = |error: std::io::Error| unreadable(path, &error);
    let mut lines = Lines::new(source::open(path).map_err(failed)?.0);
    for _ in 0..LOOKED_AT {
        let Some((_, line)) = lines.next_line().map_err(failed)? else {
            break;
        };
        if let Line::Text(text) = line
            && let Ok(fields) = lines::parse(text)
            && let Some(format) = fields.format()
        {
            return Ok(Some(format));
        }
    }
    Ok(None)
}

/// For files whose names say nothing.
fn by_content(path: &Path) -> Result<Option<Format>, RetrievalError> {
    let head = head(path)?;
    let text = head.trim_start();
    if text.starts_with('<') {
        return xml_format(path);
    }
    if !text.starts_with('{') {
        return Ok(None);
    }
    if let Some(format) = lines_format(path)? {
        return Ok(Some(format));
    }
    // An object of objects: `{"1": {"t": …`.
    let nested = text[1..]
        .trim_start()
        .strip_prefix('"')
        .and_then(|rest| rest.split_once('"'))
        .map(|(_, rest)| rest.trim_start())
        .and_then(|rest| rest.strip_prefix(':'))
        .is_some_and(|rest| rest.trim_start().starts_with('{'));
    Ok(nested.then_some(Format::Ncbi))
}

fn refuse_twice(found: &Found) -> Result<(), RetrievalError> {
    let mut seen = std::collections::HashSet::new();
    for path in found
        .files
        .iter()
        .map(|file| &file.path)
        .chain(&found.datasets)
    {
        let real = path
            .canonicalize()
            .map_err(|error| unreadable(path, &error))?;
        if !seen.insert(real) {
            return Err(RetrievalError(format!(
                "{} is named twice; name each file of the corpus once",
                path.display()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["c_10.a", "c_2.a", "c_02.a", "c", "b9", "c_2"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["b9", "c", "c_2", "c_02.a", "c_2.a", "c_10.a"]);
    }

    #[test]
    fn files_are_known_by_name_and_content() {
        let home = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file(
            "a/chunk_10.jsonl",
            r#"{"id":"1","title":"","content":"x","contents":"x"}"#,
        );
        file(
            "a/chunk_9.jsonl",
            "nonsense\n{\"_id\":\"1\",\"title\":\"\",\"text\":\"x\"}",
        );
        file("a/w.jsonl", r#"{"id":3,"title":"","text":["x"]}"#);
        file("a/p.xml", "<?xml version=\"1.0\"?><PubmedArticleSet/>");
        file("a/s.nxml", "<book-part/>");
        file("a/t.txt", "text");
        file("a/README.txt", "about");
        file("a/pubmed_chunk_0.json", "{\"1\": {\"t\":\"x\"}}");
        file("a/pmids_chunk_0.json", "[\"1\"]");
        file("a/p.xml.md5", "0");
        file("d/qa.jsonl", "");
        let found = find(&[home.path().join("a"), home.path().join("d")], None).unwrap();
        let formats: Vec<(&str, Format)> = found
            .files
            .iter()
            .map(|file| (file.name.as_str(), file.format))
            .collect();
        assert_eq!(
            formats,
            [
                ("a/chunk_9.jsonl", Format::Beir),
                ("a/chunk_10.jsonl", Format::MedRag),
                ("a/p.xml", Format::PubMed),
                ("a/pubmed_chunk_0.json", Format::Ncbi),
                ("a/s.nxml", Format::StatPearls),
                ("a/t.txt", Format::Text),
                ("a/w.jsonl", Format::Wikipedia),
            ]
        );
        assert_eq!(found.datasets, [home.path().join("d")]);
        assert_eq!(found.skipped.len(), 3);
        let only = find(&[home.path().join("a")], Some(Format::Text)).unwrap();
        assert_eq!(only.files.len(), 2);
    }

    #[test]
    fn what_can_not_be_told_is_said() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.jsonl");
        std::fs::write(&path, "{\"name\":1}").unwrap();
        let why = |paths: &[PathBuf]| find(paths, None).unwrap_err().to_string();
        assert!(why(std::slice::from_ref(&path)).contains("--format"));
        std::fs::write(&path, r#"{"_id":"1","text":"x"}"#).unwrap();
        assert!(why(&[path.clone(), path.clone()]).contains("named twice"));
        #[cfg(unix)]
        assert!(why(&["/dev/zero".into()]).contains("a device"));
        assert!(why(&[home.path().join("none")]).contains("can't be read"));
        let empty = tempfile::tempdir().unwrap();
        assert!(why(&[empty.path().to_path_buf()]).contains("holds no file"));
        // A file without anything stops nothing in a folder, and is named by itself.
        std::fs::write(empty.path().join("none.jsonl"), "\n").unwrap();
        assert!(why(&[empty.path().join("none.jsonl")]).contains("is empty"));
        assert!(why(&[empty.path().to_path_buf()]).contains("but empty ones"));
        std::fs::write(empty.path().join("void.xml"), "").unwrap();
        std::fs::write(empty.path().join("x.jsonl"), r#"{"_id":"1","text":"x"}"#).unwrap();
        let found = find(&[empty.path().to_path_buf()], None).unwrap();
        assert_eq!((found.files.len(), found.empty.len()), (1, 2));
    }
}
