//! Articles of StatPearls (and other books of the NCBI Bookshelf, or articles of PMC) in JATS XML: passages by
//! section, titled "Article -- Section -- Subsection" as MedRAG does.
//!
//! The paragraphs of a section are joined up to the size of a chunk; a longer paragraph is cut like plain text.
//! References are left out.

use std::collections::VecDeque;
use std::io::{BufRead, Read};

use crate::retrieval::corpus::markup::{self, Flow, Piece};
use crate::retrieval::corpus::plain::{self, CHUNK};
use crate::retrieval::corpus::{Record, Where};
use crate::retrieval::{CorpusDocument, RetrievalError};

/// The longest file, in bytes; an article is parsed as a whole.
const LONGEST: u64 = 64 << 20;
/// The longest title of an article or a section, in characters; what goes beyond is cut.
const LONGEST_TITLE: usize = 500;
/// What holds no running text of the article.
const SKIPPED: [&str; 5] = ["ref-list", "back", "tex-math", "graphic", "object-id"];
/// What a paragraph ends at.
const BLOCKS: [&str; 9] = [
    "p",
    "list-item",
    "title",
    "label",
    "caption",
    "tr",
    "disp-quote",
    "def",
    "term",
];
/// Between the titles of article, section and subsection.
const BETWEEN: &str = " -- ";

/// A section that is open.
#[derive(Debug, Default)]
struct Section {
    title: String,
    paragraphs: Vec<String>,
}

/// An article as it is read.
#[derive(Debug, Default)]
struct Article {
    path: Vec<String>,
    title: String,
    sections: Vec<Section>,
    flow: Flow,
    /// How deep the path is where something is skipped, or where a title is read.
    skipped_at: Option<usize>,
    title_at: Option<usize>,
    in_body: bool,
    /// Title and text of each passage.
    passages: Vec<(String, String)>,
}

impl Article {
    fn visit(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Open(name, _) => {
                if self.skipped_at.is_none() {
                    self.open(name);
                }
                self.path.push(name.to_owned());
            }
            Piece::Text(text) => {
                if self.skipped_at.is_none() && (self.in_body || self.title_at.is_some()) {
                    self.flow.push(text);
                }
            }
            Piece::Close(name) => {
                self.path.pop();
                match self.skipped_at {
                    Some(depth) if depth == self.path.len() => self.skipped_at = None,
                    Some(_) => {}
                    None => self.close(name),
                }
            }
        }
    }

    fn open(&mut self, name: &str) {
        let parent = self.path.last().map_or("", String::as_str);
        match name {
            _ if SKIPPED.contains(&name) => self.skipped_at = Some(self.path.len()),
            "body" => {
                self.in_body = true;
                self.sections = vec![Section::default()];
                self.flow.take();
            }
            "title" | "article-title" if parent == "title-group" && !self.in_body => {
                self.flow.take();
                self.title_at = Some(self.path.len());
            }
            "sec" if self.in_body => {
                self.end_paragraph();
                self.end_passage();
                self.sections.push(Section::default());
            }
            "title" if parent == "sec" && self.in_body => {
                self.end_paragraph();
                self.title_at = Some(self.path.len());
            }
            _ if BLOCKS.contains(&name) && self.in_body && self.title_at.is_none() => {
                self.end_paragraph();
            }
            _ => self.flow.tag(name, true),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            _ if self.title_at == Some(self.path.len()) => {
                self.title_at = None;
                let title = shortened(self.flow.take());
                match self.sections.last_mut() {
                    Some(section) if self.in_body => section.title = title,
                    _ if self.title.is_empty() => self.title = title,
                    _ => {}
                }
            }
            "sec" | "body" if self.in_body => {
                self.end_paragraph();
                self.end_passage();
                self.sections.pop();
                self.in_body = name != "body";
            }
            _ if BLOCKS.contains(&name) && self.in_body && self.title_at.is_none() => {
                self.end_paragraph();
            }
            _ => self.flow.tag(name, false),
        }
    }

    fn end_paragraph(&mut self) {
        let text = self.flow.take();
        if let Some(section) = self.sections.last_mut().filter(|_| !text.is_empty()) {
            section.paragraphs.push(text);
        }
    }

    /// Makes passages of the paragraphs that the innermost section has so far.
    fn end_passage(&mut self) {
        let Some(section) = self.sections.last_mut() else {
            return;
        };
        let paragraphs = std::mem::take(&mut section.paragraphs);
        // Titles are joined for passages alone: sections may lie deep in each other.
        if paragraphs.is_empty() {
            return;
        }
        let title = std::iter::once(&self.title)
            .chain(self.sections.iter().map(|section| &section.title))
            .filter(|title| !title.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(BETWEEN);
        let texts = packed(paragraphs);
        self.passages
            .extend(texts.into_iter().map(|text| (title.clone(), text)));
    }
}

/// At most [`LONGEST_TITLE`] characters: every passage of a section repeats its title.
fn shortened(title: String) -> String {
    match title.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", &title[..end]),
        None => title,
    }
}

/// Joins paragraphs up to the size of a chunk, and cuts longer ones.
fn packed(paragraphs: Vec<String>) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut room = 0usize;
    for paragraph in paragraphs {
        let length = paragraph.chars().count();
        if length > CHUNK {
            texts.extend(plain::cut(&paragraph));
            room = 0;
            continue;
        }
        match texts.last_mut().filter(|_| length < room) {
            Some(last) => {
                last.push(' ');
                last.push_str(&paragraph);
                room -= length + 1;
            }
            None => {
                texts.push(paragraph);
                room = CHUNK - length;
            }
        }
    }
    texts
}

fn passages(xml: &str) -> Result<Vec<(String, String)>, String> {
    let article = markup::each_lenient(xml, Article::default, Article::visit)?;
    match article.passages.is_empty() {
        true => Err("no text was found; an article with <body> is expected".into()),
        false => Ok(article.passages),
    }
}

fn whole(mut reader: Box<dyn BufRead>) -> std::io::Result<Result<String, String>> {
    let mut bytes = Vec::new();
    reader.by_ref().take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Ok(Err(format!("the article is longer than {LONGEST} bytes")));
    }
    Ok(String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        format!("a byte that is not UTF-8, at byte {at}")
    }))
}

/// The passages of a file: ids are its name with a number from 0.
pub(super) fn read(
    reader: Box<dyn BufRead>,
    place: Where,
) -> impl Iterator<Item = Result<Record, RetrievalError>> {
    let mut reader = Some(reader);
    let mut waiting = VecDeque::new();
    let mut number = 0;
    std::iter::from_fn(move || {
        if let Some(reader) = reader.take() {
            match whole(reader).map(|text| text.and_then(|text| passages(&text))) {
                Err(error) => return Some(Err(place.broken(&error))),
                Ok(Err(why)) => return Some(Ok(place.bad("as a whole", why))),
                Ok(Ok(found)) => waiting.extend(found),
            }
        }
        let (title, content) = waiting.pop_front()?;
        let id = format!("{}_{number}", place.stem());
        number += 1;
        Some(Ok(Record::Document(CorpusDocument { id, title, content })))
    })
}
