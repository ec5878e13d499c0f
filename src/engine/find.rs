//! Full-text search over everything that is open: questions, documents, the reasoning of stored replies, and
//! the notes of one annotator.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::data::annotations::Annotations;
use crate::data::dataset::Dataset;
use crate::data::store::{Brief, Identify, Store, Which};
use crate::domain::annotation::{Hand, Part};
use crate::domain::excerpt::{TextHit, TextKind, excerpt, searchable};
use crate::retrieval::CorpusDocument;
use crate::retrieval::lexical::Lexical;

/// Bytes of an excerpt.
const EXCERPT: usize = 360;

/// What is searched.
pub struct FindSources<'a> {
    /// The dataset that is open.
    pub dataset: &'a Arc<Dataset>,
    /// Stored replies and notes, where there is a store.
    pub stored: Option<(&'a Store, &'a Annotations)>,
    /// Only replies of this run, and notes on them.
    pub run: Option<&'a str>,
    /// Whose notes: the others' are not shown to anyone who has not finished.
    pub annotator: &'a str,
}

/// Where a text stands. Documents stay in the dataset, so that each is in memory once.
#[derive(Debug)]
enum Place {
    Question(usize),
    /// Position of the question and of the document among its own.
    Document(usize, usize),
    Edited(usize, usize),
    /// A text of its own with what is shown beside it.
    Own(Box<OwnText>),
}

#[derive(Debug)]
struct OwnText {
    kind: TextKind,
    question_id: String,
    title: String,
    text: String,
    reply: (String, String),
}

/// Everything that is open, searchable by its words (BM25).
#[derive(Debug)]
pub struct TextIndex {
    dataset: Arc<Dataset>,
    places: Vec<Place>,
    words: Lexical,
}

impl TextIndex {
    /// Makes the sources searchable; `progress` gets the number of texts done and of all, and may cancel.
    ///
    /// # Errors
    /// One sentence: what can't be read, or that it was cancelled.
    pub fn build(
        sources: &FindSources<'_>,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<TextIndex, String> {
        let dataset = sources.dataset;
        let mut places = of_dataset(dataset);
        if let Some((store, annotations)) = sources.stored {
            places.extend(of_replies(store, annotations, sources)?);
        }
        let total = places.len();
        let _ = progress(0, total);
        let texts: Vec<CorpusDocument> = places
            .iter()
            .map(|place| {
                let (title, content) = texts(dataset, place);
                CorpusDocument {
                    id: String::new(),
                    title,
                    content,
                }
            })
            .collect();
        let words = Lexical::build(&texts, &mut |done| progress(done, total))
            .map_err(|error| error.to_string())?;
        Ok(TextIndex {
            dataset: Arc::clone(dataset),
            places,
            words,
        })
    }

    /// Texts of each kind, in the order of [`TextKind::ALL`].
    pub fn counts(&self) -> [usize; 5] {
        TextKind::ALL.map(|kind| {
            let places = self.places.iter();
            places.filter(|place| kind_of(place) == kind).count()
        })
    }

    /// The `k` texts that fit a query best.
    ///
    /// # Errors
    /// One sentence, where the search fails.
    pub fn search(&self, query: &str, k: usize) -> Result<Vec<TextHit>, String> {
        let found = self
            .words
            .search(query, k)
            .map_err(|error| error.to_string())?;
        let places = found.iter().filter_map(|hit| self.places.get(hit.position));
        Ok(places.map(|place| self.hit(place, query)).collect())
    }

    fn hit(&self, place: &Place, query: &str) -> TextHit {
        let (_, text) = texts(&self.dataset, place);
        let (text, marks) = self.words.marks(&searchable(&text), query);
        let (excerpt, marks) = excerpt(&text, &marks, EXCERPT);
        let question = |at: &usize| self.dataset.questions.get(*at);
        let (question_id, title, reply) = match place {
            Place::Question(at) => (question(at).map(|q| q.id.clone()), String::new(), None),
            Place::Document(at, _) | Place::Edited(at, _) => {
                let (title, _) = texts(&self.dataset, place);
                (question(at).map(|q| q.id.clone()), title, None)
            }
            Place::Own(own) => (
                Some(own.question_id.clone()),
                own.title.clone(),
                Some(own.reply.clone()),
            ),
        };
        TextHit {
            kind: kind_of(place),
            question_id: question_id.unwrap_or_default(),
            title: searchable(&title),
            excerpt,
            marks,
            reply,
        }
    }
}

fn kind_of(place: &Place) -> TextKind {
    match place {
        Place::Question(_) => TextKind::Question,
        Place::Document(..) => TextKind::Document,
        Place::Edited(..) => TextKind::Edited,
        Place::Own(own) => own.kind,
    }
}

fn of_dataset(dataset: &Dataset) -> Vec<Place> {
    let mut places = Vec::new();
    for (at, question) in dataset.questions.iter().enumerate() {
        let pools = dataset.pools(&question.id);
        places.push(Place::Question(at));
        places.extend((0..pools.signal.len()).map(|doc| Place::Document(at, doc)));
        places.extend((0..pools.counterfactuals.len()).map(|doc| Place::Edited(at, doc)));
    }
    places
}

/// Title and text of a place.
fn texts(dataset: &Dataset, place: &Place) -> (String, String) {
    let found = match place {
        Place::Own(own) => return (own.title.clone(), own.text.clone()),
        Place::Question(at) => dataset.questions.get(*at).map(|question| {
            let options = question.options.iter().map(|option| option.text.as_str());
            let lines: Vec<&str> = std::iter::once(question.text.as_str())
                .chain(options)
                .collect();
            (question.id.clone(), lines.join("\n"))
        }),
        Place::Document(at, doc) => dataset.questions.get(*at).and_then(|question| {
            let document = dataset.pools(&question.id).signal.get(*doc)?;
            Some((document.title.clone(), document.content.clone()))
        }),
        Place::Edited(at, doc) => dataset.questions.get(*at).and_then(|question| {
            let version = dataset.pools(&question.id).counterfactuals.get(*doc)?;
            Some((version.original_id.clone(), version.edited_document.clone()))
        }),
    };
    found.unwrap_or_default()
}

/// The reasoning of stored replies about this dataset, and the annotator's notes on them.
fn of_replies(
    store: &Store,
    annotations: &Annotations,
    sources: &FindSources<'_>,
) -> Result<Vec<Place>, String> {
    let which = Which::Dataset(&sources.dataset.fingerprint, sources.run);
    let (briefs, _) = store
        .briefs(which, true, Identify::All)
        .map_err(|error| error.to_string())?;
    let mut places = Vec::new();
    let hand = Hand {
        annotator: sources.annotator.to_owned(),
        part: Part::Annotator,
    };
    let mut books = std::collections::HashMap::new();
    for run in annotations.runs().map_err(|error| error.to_string())? {
        if sources.run.is_none_or(|wanted| wanted == run) {
            let mut shelf = annotations
                .of_run(&run)
                .map_err(|error| error.to_string())?;
            if let Some(book) = shelf.books.remove(&hand) {
                books.insert(run, book);
            }
        }
    }
    for brief in briefs {
        let book = books.get(&*brief.run);
        let said = book.and_then(|book| book.get(brief.reply_id.as_deref()?));
        if let Some(note) = said.map(|said| &said.note).filter(|note| !note.is_empty()) {
            places.push(own(TextKind::Note, &brief, note.clone()));
        }
        if let Some(reasoning) = brief
            .reasoning
            .as_deref()
            .filter(|text| !text.trim().is_empty())
        {
            places.push(own(TextKind::Reasoning, &brief, reasoning.to_owned()));
        }
    }
    Ok(places)
}

fn own(kind: TextKind, brief: &Brief, text: String) -> Place {
    let condition = &brief.condition;
    Place::Own(Box::new(OwnText {
        kind,
        question_id: brief.question.id.to_string(),
        title: format!(
            "{} · {} · n {} p {} %",
            brief.run,
            condition.scenario.name(),
            condition.docs,
            condition.p
        ),
        text,
        reply: (
            brief.run.to_string(),
            brief.reply_id.as_deref().unwrap_or_default().to_owned(),
        ),
    }))
}

#[cfg(test)]
mod tests;
