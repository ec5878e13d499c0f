//! PubMed's XML (baseline and update files): a document per citation, its PMID as id.
//!
//! The text is the abstract, sections as `LABEL: text`. Further abstracts of the same language come after it; those
//! of other languages only where there is no abstract else. A title that is missing is the vernacular one, or empty.
//! A list of deleted citations (`DeleteCitation`) gives a [`Record::Deleted`] for each PMID.

use std::collections::VecDeque;
use std::io::BufRead;

use crate::domain::text::short;
use crate::retrieval::corpus::cut::{self, Cutter};
use crate::retrieval::corpus::markup::{self, Flow, Piece, attribute};
use crate::retrieval::corpus::{Record, Where, checked_id};
use crate::retrieval::{CorpusDocument, RetrievalError};

/// Elements that hold a citation; a `MedlineCitation` may also stand alone (MEDLINE files of before 2017).
const RECORDS: [&str; 4] = [
    "PubmedArticle",
    "PubmedBookArticle",
    "MedlineCitation",
    DELETED,
];
/// The element that lists the PMIDs of citations that are no longer there.
const DELETED: &str = "DeleteCitation";

/// What a running text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Pmid,
    Title,
    BookTitle,
    Vernacular,
    Section,
}

/// One abstract of a citation.
#[derive(Debug, Default)]
struct Abstract {
    /// Language, where it is not that of the citation's abstract.
    language: Option<String>,
    sections: Vec<String>,
}

/// A citation as it is read.
#[derive(Debug, Default)]
struct Citation {
    path: Vec<String>,
    /// What is being read, and how deep the path is there.
    target: Option<(Target, usize)>,
    flow: Flow,
    label: Option<String>,
    pmid: String,
    title: String,
    book_title: String,
    vernacular: String,
    abstracts: Vec<Abstract>,
}

impl Citation {
    fn visit(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Open(name, attributes) => {
                match self.target {
                    Some(_) => self.flow.tag(name, true),
                    None => self.open(name, &attributes),
                }
                self.path.push(name.to_owned());
            }
            Piece::Text(text) if self.target.is_some() => self.flow.push(text),
            Piece::Text(_) => {}
            Piece::Close(name) => {
                self.path.pop();
                match self.target {
                    Some((target, depth)) if depth == self.path.len() => self.end(target),
                    Some(_) => self.flow.tag(name, false),
                    None => {}
                }
            }
        }
    }

    fn open(&mut self, name: &str, attributes: &[(String, String)]) {
        let parent = self.path.last().map_or("", String::as_str);
        let citation = matches!(parent, "MedlineCitation" | "BookDocument");
        let article = matches!(parent, "Article" | "BookDocument");
        let target = match name {
            "PMID" if citation && self.pmid.is_empty() => Target::Pmid,
            "ArticleTitle" if article => Target::Title,
            "BookTitle" if parent == "Book" => Target::BookTitle,
            "VernacularTitle" if article => Target::Vernacular,
            "AbstractText" => {
                self.label = attribute(attributes, "Label").map(str::to_owned);
                Target::Section
            }
            "Abstract" | "OtherAbstract" => {
                let language = attribute(attributes, "Language")
                    .filter(|&language| name == "OtherAbstract" && language != "eng");
                self.abstracts.push(Abstract {
                    language: language.map(str::to_owned),
                    sections: Vec::new(),
                });
                return;
            }
            _ => return,
        };
        self.target = Some((target, self.path.len()));
    }

    fn end(&mut self, target: Target) {
        self.target = None;
        let text = self.flow.take();
        match target {
            Target::Pmid => self.pmid = text,
            Target::Title => self.title = text,
            Target::BookTitle => self.book_title = text,
            Target::Vernacular => self.vernacular = text,
            Target::Section => {
                let text = labelled(self.label.take(), text);
                if let Some(last) = self.abstracts.last_mut().filter(|_| !text.is_empty()) {
                    last.sections.push(text);
                }
            }
        }
    }

    fn document(self) -> Result<CorpusDocument, String> {
        let id = match self.pmid.as_str() {
            "" => return Err("the citation has no PMID".into()),
            pmid => checked_id(pmid)?,
        };
        let title = [self.title, self.vernacular, self.book_title]
            .into_iter()
            .find(|title| !title.is_empty())
            .unwrap_or_default();
        let own = |wanted: bool| -> Vec<String> {
            self.abstracts
                .iter()
                .filter(|part| part.language.is_none() == wanted && !part.sections.is_empty())
                .map(|part| part.sections.join(" "))
                .collect()
        };
        let mut texts = own(true);
        if texts.is_empty() {
            texts = own(false);
        }
        let content = texts.join(" ");
        if title.is_empty() && content.is_empty() {
            return Err(format!(
                "the citation {} has neither title nor abstract",
                short(&id)
            ));
        }
        Ok(CorpusDocument { id, title, content })
    }
}

/// `LABEL: text`; labels that say nothing are left out, as are those that the text begins with already.
fn labelled(label: Option<String>, text: String) -> String {
    let label = label.unwrap_or_default();
    let label = label.trim().trim_end_matches(':');
    let plain = label.is_empty() || matches!(label, "UNLABELLED" | "UNASSIGNED");
    let there = text
        .get(..label.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(label))
        && text[label.len()..].starts_with(':');
    match plain || there || text.is_empty() {
        true => text,
        false => format!("{label}: {text}"),
    }
}

/// The citations of a file.
pub(super) fn read(
    reader: Box<dyn BufRead>,
    place: Where,
) -> impl Iterator<Item = Result<Record, RetrievalError>> {
    let mut cutter = Cutter::new(reader, &RECORDS);
    let mut waiting = VecDeque::new();
    std::iter::from_fn(move || {
        loop {
            if let Some(record) = waiting.pop_front() {
                return Some(Ok(record));
            }
            match cutter.as_mut()?.next_piece() {
                Ok(None) => return None,
                Ok(Some(piece)) => waiting.extend(records(piece, &place)),
                Err(error) => {
                    cutter = None;
                    return Some(Err(place.broken(&error)));
                }
            }
        }
    })
}

/// What a piece holds: a citation, or PMIDs that are deleted.
fn records(piece: cut::Piece, place: &Where) -> Vec<Record> {
    let at = piece.at;
    let bad = |why: String| place.bad(format_args!("byte {at}"), why);
    let deletes = |xml: &String| xml[1..].starts_with(DELETED);
    if let Some(xml) = piece.text.as_ref().ok().filter(|xml| deletes(xml)) {
        return match markup::each_lenient(xml, Deletions::default, Deletions::visit) {
            Ok(found) => found
                .ids
                .into_iter()
                .map(|id| Record::Deleted {
                    id,
                    place: format!("byte {at}"),
                })
                .collect(),
            Err(why) => vec![bad(why)],
        };
    }
    let read = piece
        .text
        .and_then(|xml| markup::each_lenient(&xml, Citation::default, Citation::visit)?.document());
    vec![read.map_or_else(bad, Record::Document)]
}

/// The PMIDs of a list of deleted citations.
#[derive(Debug, Default)]
struct Deletions {
    ids: Vec<String>,
    within: bool,
}

impl Deletions {
    fn visit(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Open(name, _) => self.within = name == "PMID",
            Piece::Close(_) => self.within = false,
            Piece::Text(text) if self.within && !text.trim().is_empty() => {
                self.ids.push(text.trim().to_owned());
            }
            Piece::Text(_) => {}
        }
    }
}
