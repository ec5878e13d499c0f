//! BM25 indexes in folders: written part by part, merged into one segment, opened without reading them.
//!
//! One segment whose documents are in corpus order: equal scores then come in that order, and a document's number
//! is its position. Parts of one corpus merged give the scores of an index that was built at once.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tantivy::directory::MmapDirectory;
use tantivy::indexer::merge_filtered_segments;
use tantivy::{Index, TantivyDocument};

use crate::retrieval::RetrievalError;
use crate::retrieval::lexical::{
    Lexical, WRITER_MEMORY, analyser, broken, entry, schema, searcher, tokenizers,
};

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
        .map_err(broken)?;
    for (number, (title, content)) in documents.enumerate() {
        writer
            .add_document(entry(field, title, content))
            .map_err(broken)?;
        if number % 256 == 255 && progress(number + 1).is_break() {
            return Err(RetrievalError::cancelled());
        }
    }
    writer.finalize().map_err(broken)?;
    Ok(())
}

/// Merges the indexes of several folders, in this order, into one segment in an empty folder.
///
/// # Errors
/// When one can't be read, or tantivy or the file system fails.
pub fn merge_folders(parts: &[PathBuf], folder: &Path) -> Result<(), RetrievalError> {
    let mut segments = Vec::with_capacity(parts.len());
    let mut settings = None;
    for part in parts {
        let index = Index::open_in_dir(part).map_err(broken)?;
        segments.extend(index.searchable_segments().map_err(broken)?);
        settings = Some(index.settings().clone());
    }
    let whole = segments.iter().map(|_| None).collect();
    merge_filtered_segments(
        &segments,
        settings.unwrap_or_default(),
        whole,
        directory(folder)?,
    )
    .map_err(broken)?;
    Ok(())
}

fn directory(folder: &Path) -> Result<MmapDirectory, RetrievalError> {
    std::fs::create_dir_all(folder).map_err(broken)?;
    MmapDirectory::open(folder).map_err(broken)
}

impl Lexical {
    /// Opens the index of a folder.
    ///
    /// # Errors
    /// When it is not there or damaged.
    pub fn open(folder: &Path) -> Result<Lexical, RetrievalError> {
        let failed = |error: tantivy::TantivyError| {
            RetrievalError(format!(
                "the BM25 index {} can't be opened: {error}; build it again",
                folder.display()
            ))
        };
        let analyser = analyser()?;
        let mut index = Index::open_in_dir(folder).map_err(failed)?;
        index.set_tokenizers(tokenizers(analyser.clone()));
        let (_, field) = schema();
        Ok(Lexical {
            searcher: Some(searcher(&index)?),
            analyser,
            field,
        })
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

    #[test]
    fn what_is_no_index_is_said() {
        let home = tempfile::tempdir().unwrap();
        let message = Lexical::open(home.path()).unwrap_err().to_string();
        assert!(message.contains("build it again"), "{message}");
        let texts = std::iter::repeat_n(("", "x"), 1000);
        let stopped = write_folder(&home.path().join("a"), texts, &mut |_| {
            ControlFlow::Break(())
        });
        assert!(stopped.is_err());
    }
}
