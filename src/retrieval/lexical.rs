//! BM25 over title and text (the only file that names tantivy types).
//!
//! Terms: words as Unicode letters and digits, NFC, accents folded, lower case, English stop words (Lucene's
//! list) removed, English Snowball stems. Constants are tantivy's: k1 1.2, b 0.75. Words of more than
//! 100 bytes are not indexed.

mod disk;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

pub use disk::{merge_folders, write_folder};
use tantivy::collector::TopDocs;
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer,
    StopWordFilter, TextAnalyzer, TokenizerManager,
};
use tantivy::{Index, ReloadPolicy, Searcher, TantivyDocument, Term};
use unicode_normalization::UnicodeNormalization;

use crate::retrieval::exact::Scored;
use crate::retrieval::{CorpusDocument, RetrievalError};

const ANALYSER: &str = "medrgb_english";
/// Distinct terms of a query that count; a pasted book stays a query that ends.
const MOST_TERMS: usize = 1024;
const WRITER_MEMORY: usize = 64 << 20;

/// A BM25 index in memory or in a folder. Positions are those of the documents it was built from.
pub struct Lexical {
    /// `None` for an empty corpus.
    searcher: Option<Searcher>,
    /// Where it lies; `None` in memory.
    folder: Option<PathBuf>,
    analyser: TextAnalyzer,
    field: Field,
}

impl std::fmt::Debug for Lexical {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lexical")
            .field("documents", &self.len())
            .finish()
    }
}

fn broken(error: impl std::fmt::Display) -> RetrievalError {
    RetrievalError(format!("the BM25 index failed: {error}"))
}

fn analyser() -> Result<TextAnalyzer, RetrievalError> {
    let stop_words = StopWordFilter::new(Language::English)
        .ok_or_else(|| broken("it was built without English stop words"))?;
    Ok(TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(100))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .filter(stop_words)
        .filter(Stemmer::new(Language::English))
        .build())
}

/// Composed characters: a combining accent would cut a word in two.
fn composed(text: &str) -> Cow<'_, str> {
    match text.is_ascii() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.nfc().collect()),
    }
}

/// The one field of the index.
fn schema() -> (Schema, Field) {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(ANALYSER)
        .set_index_option(IndexRecordOption::WithFreqs);
    let field = schema.add_text_field(
        "text",
        TextOptions::default().set_indexing_options(indexing),
    );
    (schema.build(), field)
}

fn tokenizers(analyser: TextAnalyzer) -> TokenizerManager {
    let tokenizers = TokenizerManager::new();
    tokenizers.register(ANALYSER, analyser);
    tokenizers
}

fn entry(field: Field, title: &str, content: &str) -> TantivyDocument {
    let mut entry = TantivyDocument::default();
    entry.add_text(field, composed(title));
    entry.add_text(field, composed(content));
    entry
}

/// A searcher of what is in the index now.
fn searcher(index: &Index) -> Result<Searcher, RetrievalError> {
    let reader = index
        .reader_builder()
        .reload_policy(ReloadPolicy::Manual)
        .try_into()
        .map_err(broken)?;
    Ok(reader.searcher())
}

impl Lexical {
    /// Indexes documents in their order, in one segment, so that equal scores come in that order.
    /// `progress` gets the number of indexed documents and may cancel.
    ///
    /// # Errors
    /// When tantivy fails or `progress` breaks.
    pub fn build(
        documents: &[CorpusDocument],
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Lexical, RetrievalError> {
        let analyser = analyser()?;
        let (schema, field) = schema();
        if documents.is_empty() {
            return Ok(Lexical {
                searcher: None,
                folder: None,
                analyser,
                field,
            });
        }
        let mut writer = Index::builder()
            .schema(schema)
            .tokenizers(tokenizers(analyser.clone()))
            .single_segment_index_writer::<TantivyDocument>(RamDirectory::create(), WRITER_MEMORY)
            .map_err(broken)?;
        for (position, document) in documents.iter().enumerate() {
            writer
                .add_document(entry(field, &document.title, &document.content))
                .map_err(broken)?;
            if position % 256 == 255 && progress(position + 1).is_break() {
                return Err(RetrievalError::cancelled());
            }
        }
        let index = writer.finalize().map_err(broken)?;
        Ok(Lexical {
            searcher: Some(searcher(&index)?),
            folder: None,
            analyser,
            field,
        })
    }

    /// Documents in the index.
    pub fn len(&self) -> usize {
        self.searcher
            .as_ref()
            .map_or(0, |searcher| searcher.num_docs() as usize)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The terms that a text is searched by.
    pub fn terms(&self, text: &str) -> Vec<String> {
        let text = composed(text);
        let mut analyser = self.analyser.clone();
        let mut stream = analyser.token_stream(&text);
        let mut terms = Vec::new();
        while stream.advance() {
            terms.push(stream.token().text.clone());
        }
        terms
    }

    /// A text in the form in which it is searched, and the byte ranges of its words that a query names.
    pub fn marks(&self, text: &str, query: &str) -> (String, Vec<Range<usize>>) {
        let wanted: HashSet<String> = self.terms(query).into_iter().collect();
        let text = composed(text).into_owned();
        let mut analyser = self.analyser.clone();
        let mut stream = analyser.token_stream(&text);
        let mut marks = Vec::new();
        while stream.advance() {
            let token = stream.token();
            if wanted.contains(&token.text) {
                marks.push(token.offset_from..token.offset_to);
            }
        }
        drop(stream);
        (text, marks)
    }

    /// The `k` best documents that hold a term of the query; equal scores in order of position. Every text
    /// is a valid query: nothing in it is syntax. A term that the query repeats weighs as often.
    ///
    /// # Errors
    /// When tantivy fails, or a file of the folder is damaged.
    pub fn search(&self, query: &str, k: usize) -> Result<Vec<Scored>, RetrievalError> {
        let Some(searcher) = &self.searcher else {
            return Ok(Vec::new());
        };
        let k = k.min(self.len());
        let clauses = self.clauses(query);
        if k == 0 || clauses.is_empty() {
            return Ok(Vec::new());
        }
        let query = BooleanQuery::new(clauses);
        let search = || searcher.search(&query, &TopDocs::with_limit(k).order_by_score());
        let found = match &self.folder {
            Some(folder) => disk::read(folder, search)?,
            None => search().map_err(broken)?,
        };
        Ok(found
            .into_iter()
            .map(|(score, address)| Scored {
                position: address.doc_id as usize,
                score,
            })
            .collect())
    }

    fn clauses(&self, query: &str) -> Vec<(Occur, Box<dyn Query>)> {
        let mut order: Vec<String> = Vec::new();
        let mut counts: HashMap<String, u16> = HashMap::new();
        for term in self.terms(query) {
            if let Some(count) = counts.get_mut(&term) {
                *count = count.saturating_add(1);
            } else if order.len() < MOST_TERMS {
                counts.insert(term.clone(), 1);
                order.push(term);
            }
        }
        order
            .into_iter()
            .map(|term| {
                let count = counts.get(&term).copied().unwrap_or(1);
                let term = Term::from_field_text(self.field, &term);
                let query = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
                let weighted: Box<dyn Query> = if count == 1 {
                    query
                } else {
                    Box::new(BoostQuery::new(query, f32::from(count)))
                };
                (Occur::Should, weighted)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn index(texts: &[(&str, &str)]) -> Lexical {
        let documents: Vec<CorpusDocument> = texts
            .iter()
            .enumerate()
            .map(|(position, (title, content))| CorpusDocument {
                id: position.to_string(),
                title: (*title).into(),
                content: (*content).into(),
            })
            .collect();
        Lexical::build(&documents, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    fn positions(index: &Lexical, query: &str) -> Vec<usize> {
        let found = index.search(query, 10).unwrap();
        found.into_iter().map(|hit| hit.position).collect()
    }

    #[test]
    fn scores_are_the_formula_s() {
        let index = index(&[
            ("", "aspirin aspirin fever"),
            ("", "fever pain relief drug"),
            ("", "pain relief drug trial cohort"),
        ]);
        let found = index.search("aspirin", 10).unwrap();
        assert_eq!(found.len(), 1);
        // One of three documents: idf = ln(1 + (3 − 1 + 0.5) / (1 + 0.5)); twice in 3 of 4 words on average.
        let idf = (1.0f64 + 2.5 / 1.5).ln();
        let expected = idf * 2.2 * 2.0 / (2.0 + 1.2 * (0.25 + 0.75 * 3.0 / 4.0));
        assert!((f64::from(found[0].score) - expected).abs() < 1e-5);
    }

    #[test]
    fn rarer_words_and_shorter_texts_rank_higher() {
        let index = index(&[
            ("", "patients with fever"),
            ("", "patients with sarcoidosis"),
            (
                "",
                "patients with fever and a cough and more words about nothing",
            ),
            ("", "other text"),
        ]);
        assert_eq!(positions(&index, "patients sarcoidosis")[0], 1);
        assert_eq!(positions(&index, "fever"), [0, 2]);
        assert_eq!(positions(&index, "patients patients fever")[0], 0);
    }

    #[test]
    fn titles_count_stems_match_accents_fold_stop_words_do_not() {
        let index = index(&[
            ("Sjögren syndrome", "a disease of glands"),
            ("", "inhibitors of the receptor"),
        ]);
        assert_eq!(positions(&index, "SJOGREN"), [0]);
        assert_eq!(positions(&index, "Sjo\u{308}gren's"), [0]);
        assert_eq!(positions(&index, "inhibitor receptors"), [1]);
        assert!(positions(&index, "of the a and").is_empty());
    }

    #[test]
    fn the_words_of_a_query_are_marked_in_a_text() {
        let index = index(&[("", "x")]);
        let (text, marks) = index.marks(
            "The Sjo\u{308}gren inhibitors inhibited.",
            "INHIBITOR sjogren the",
        );
        let words: Vec<&str> = marks.iter().map(|mark| &text[mark.clone()]).collect();
        // Not "inhibited", whose stem is another.
        assert_eq!(words, ["Sjögren", "inhibitors"]);
        assert!(index.marks("", "x").1.is_empty());
    }

    #[test]
    fn equal_documents_come_in_order() {
        let texts = vec![("", "the same words"); 40];
        let index = index(&texts);
        let found = index.search("same words", 15).unwrap();
        let expected: Vec<usize> = (0..15).collect();
        assert_eq!(
            found.iter().map(|hit| hit.position).collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn syntax_is_text_and_extremes_are_fine() {
        let index = index(&[("", "IL-2 AND (tumor)"), ("", "")]);
        assert_eq!(positions(&index, "AND (tumor"), [0]);
        assert_eq!(positions(&index, "\"tumor\" +il:2 -x* ^~ [a TO b]"), [0]);
        let long: String = (0..20_000).map(|i| format!("w{i} ")).collect();
        assert!(positions(&index, &long).is_empty());
        assert!(index.search("tumor", 0).unwrap().is_empty());
        assert_eq!(index.search("tumor", usize::MAX).unwrap().len(), 1);
        let empty = Lexical::build(&[], &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(empty.search("tumor", 5).unwrap().is_empty());
    }

    #[test]
    fn building_can_be_cancelled() {
        let documents: Vec<CorpusDocument> = (0..1000)
            .map(|i| CorpusDocument {
                id: i.to_string(),
                title: String::new(),
                content: "x".into(),
            })
            .collect();
        assert!(Lexical::build(&documents, &mut |_| ControlFlow::Break(())).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_query(query in ".{0,80}") {
            let index = index(&[("a title", "some content here"), ("", "other")]);
            prop_assert!(index.search(&query, 3).unwrap().len() <= 2);
        }
    }
}
