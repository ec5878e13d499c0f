//! State of annotating: the queue of a run's replies, and the reply that is being labelled.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use unicode_width::UnicodeWidthStr;

use crate::data::annotations::Shelf;
use crate::data::store::{Brief, ReplyRecord};
use crate::domain::annotation::{
    Act, Annotation, Book, Change, Event, Hand, Moved, Part, Taxonomy, disputed,
};
use crate::tui::app::facet::{Case, Facets, case_of};
use crate::tui::app::input::Input;
use crate::tui::app::reply::ReplyState;
use crate::tui::app::{Screen, Ticket};
use crate::tui::theme::Tone;
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

/// A run as the list of runs shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its name.
    pub name: String,
    /// Replies.
    pub replies: u64,
    /// Different questions.
    pub questions: u64,
    /// Models and scenarios, in words.
    pub about: String,
    /// Replies that the annotator has finished.
    pub done: usize,
}

/// What a run is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunUse {
    /// To label its replies.
    Annotate,
    /// To show its outcomes in the list of questions.
    Outcomes,
}

/// The list of runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RunList {
    /// Not asked for, or being read.
    #[default]
    Loading,
    /// Could not be read: one sentence.
    Failed(String),
    /// Read; the newest first.
    Ready(Vec<RunRow>),
}

/// What opening a queue read from disk.
#[derive(Debug, Clone)]
pub struct QueueParts {
    /// The run.
    pub run: String,
    /// Its replies.
    pub briefs: Vec<Brief>,
    /// Records and acts that can't be read.
    pub broken: usize,
    /// What everybody said.
    pub shelf: Shelf,
    /// The facets chosen the last time, as JSON.
    pub choice: Option<String>,
}

/// A reply of the queue.
#[derive(Debug, Clone)]
pub struct Item {
    /// The reply in brief.
    pub brief: Brief,
    /// Its question's id on one line, cleaned.
    pub id: String,
    /// Its question on one line, cleaned.
    pub question: String,
    /// Its values for the facets.
    pub cases: [Case; 1],
}

/// The reply on screen, ready to be drawn.
#[derive(Debug)]
pub struct OpenReply {
    /// The reply with question, context, what was read, scores.
    pub state: Box<ReplyState>,
    /// The question's text.
    pub question: Rc<Rich>,
    /// Title and text per document, in context order.
    pub documents: Vec<(String, Rc<Rich>)>,
}

impl OpenReply {
    /// A stored reply.
    pub fn of(record: &ReplyRecord) -> OpenReply {
        OpenReply {
            state: Box::new(ReplyState::stored(record)),
            question: Rc::new(Rich::plain(record.question.text.trim(), Tone::Strong)),
            documents: record
                .context
                .documents
                .iter()
                .map(|document| {
                    let text = Rich::plain(document.content.trim(), Tone::Text);
                    (one_line(&document.title), Rc::new(text))
                })
                .collect(),
        }
    }
}

/// The replies of a run, as one person goes through them.
#[derive(Debug)]
pub struct Queue {
    /// The run.
    pub run: String,
    /// Annotating, or deciding between annotators.
    pub part: Part,
    /// What the person said, in this part.
    pub book: Book,
    /// What all annotators said: shown only to who decides between them.
    pub others: Vec<(String, Book)>,
    /// The replies in stored order; when deciding, those on which annotators differ.
    pub items: Vec<Item>,
    /// Records and acts that can't be read.
    pub broken: usize,
    /// What the queue is narrowed to.
    pub facets: Facets,
    /// Positions of the items that pass.
    pub shown: Vec<usize>,
    /// Which of `shown` is chosen.
    pub selected: usize,
    /// First visible row.
    pub top: usize,
    /// The reply on screen with the position of its item, or why it can't be read.
    pub open: Option<(usize, Result<OpenReply, String>)>,
    /// The job that reads the reply.
    pub reading: Option<Ticket>,
    /// Acts that are not on disk yet.
    pub pending: usize,
    /// Items whose gold answer and roles were seen before they were done.
    pub seen: HashSet<usize>,
    /// Columns of the longest id.
    pub widest_id: usize,
    /// Shown replies that are done.
    done: usize,
}

impl Queue {
    /// A queue as it is opened: it stands at the first reply that is not done.
    pub fn new(parts: QueueParts, hand: &Hand) -> Queue {
        let QueueParts {
            run,
            briefs,
            broken,
            mut shelf,
            choice,
        } = parts;
        let book = shelf.books.remove(hand).unwrap_or_default();
        let annotators = shelf.books.into_iter();
        let mut others: Vec<(String, Book)> = annotators
            .filter(|(other, _)| other.part == Part::Annotator)
            .map(|(other, book)| (other.annotator, book))
            .collect();
        if hand.part == Part::Annotator {
            others.push((hand.annotator.clone(), book.clone()));
            others.sort_by(|a, b| a.0.cmp(&b.0));
        }
        let in_question = |brief: &Brief| {
            let said: Vec<&Annotation> = said_by(&others, &brief.reply_id)
                .map(|(_, annotation)| annotation)
                .collect();
            hand.part == Part::Annotator || disputed(said)
        };
        let items: Vec<Item> = briefs
            .into_iter()
            .filter(in_question)
            .map(|brief| Item {
                id: one_line(&brief.question_id),
                question: one_line(&brief.question),
                cases: [case_of(&brief, book.get(&brief.reply_id))],
                brief,
            })
            .collect();
        let mut queue = Queue {
            run,
            part: hand.part,
            book,
            others,
            items,
            broken,
            facets: choice.as_deref().map(Facets::from_json).unwrap_or_default(),
            shown: Vec::new(),
            selected: 0,
            top: 0,
            open: None,
            reading: None,
            pending: 0,
            seen: HashSet::new(),
            widest_id: 0,
            done: 0,
        };
        queue.widest_id = queue
            .items
            .iter()
            .map(|item| item.id.width())
            .max()
            .unwrap_or(0);
        queue.narrow();
        queue.selected = queue.next_undone(0).unwrap_or(0);
        queue
    }

    /// Applies the facets; the chosen reply stays chosen where it still passes.
    pub fn narrow(&mut self) {
        for item in &mut self.items {
            item.cases = [case_of(&item.brief, self.book.get(&item.brief.reply_id))];
        }
        let chosen = self.current();
        let passes = |(at, item): (usize, &Item)| self.facets.admit(&item.cases).then_some(at);
        self.shown = self.items.iter().enumerate().filter_map(passes).collect();
        let still = chosen.and_then(|at| self.shown.iter().position(|shown| *shown == at));
        self.selected = still.unwrap_or(0);
        self.count_done();
    }

    /// Counts once per change: a run may have more replies than a frame has time for.
    fn count_done(&mut self) {
        let items = self.shown.iter().filter_map(|at| self.items.get(*at));
        let done = items.filter(|item| self.book.is_done(&item.brief.reply_id));
        self.done = done.count();
    }

    /// Position of the chosen reply among the items.
    pub fn current(&self) -> Option<usize> {
        self.shown.get(self.selected).copied()
    }

    /// The chosen reply.
    pub fn item(&self) -> Option<&Item> {
        self.items.get(self.current()?)
    }

    /// Chooses the reply with this id, if it is shown.
    pub fn choose(&mut self, reply_id: &str) -> bool {
        let row = self.shown.iter().position(|at| {
            let item = self.items.get(*at);
            item.is_some_and(|item| item.brief.reply_id == reply_id)
        });
        if let Some(row) = row {
            self.selected = row;
        }
        row.is_some()
    }

    /// Row of the first shown reply from `row` on that is not done.
    pub fn next_undone(&self, row: usize) -> Option<usize> {
        let later = self.shown.iter().enumerate().skip(row);
        let undone = |at: usize| {
            let item = self.items.get(at);
            item.is_some_and(|item| !self.book.is_done(&item.brief.reply_id))
        };
        later
            .filter(|(_, at)| undone(**at))
            .map(|(row, _)| row)
            .next()
    }

    /// Shown replies that are done, and all that are shown.
    pub fn progress(&self) -> (usize, usize) {
        (self.done, self.shown.len())
    }

    /// What the person said of the chosen reply. Who decides begins with the labels on which all agree.
    pub fn said(&self) -> Annotation {
        let Some(item) = self.item() else {
            return Annotation::default();
        };
        if let Some(annotation) = self.book.get(&item.brief.reply_id) {
            return annotation.clone();
        }
        let labels = match self.part {
            Part::Annotator => BTreeSet::new(),
            Part::Adjudicator => common(&self.others, &item.brief.reply_id),
        };
        Annotation {
            labels,
            ..Annotation::default()
        }
    }

    /// What annotators who have finished said of a reply, with their names.
    pub fn opinions(&self) -> Vec<(&str, &Annotation)> {
        match self.item() {
            Some(item) => said_by(&self.others, &item.brief.reply_id).collect(),
            None => Vec::new(),
        }
    }

    /// Takes in an act of the person on this queue.
    pub fn apply(&mut self, event: &Event) -> Option<Moved> {
        let moved = self.book.apply(event);
        self.count_done();
        moved
    }

    /// Whether gold answer and roles of an item are hidden.
    pub fn hides(&self, at: usize, blind: bool) -> bool {
        let item = self.items.get(at);
        blind
            && self.part == Part::Annotator
            && item.is_some_and(|item| !self.book.is_done(&item.brief.reply_id))
    }

    /// The acts that give the chosen reply these labels.
    pub fn change(&self, change: Change) -> Option<Act> {
        let item = self.item()?;
        Some(Act::Change {
            reply: item.brief.reply_id.clone(),
            question_id: item.brief.question_id.clone(),
            change,
        })
    }
}

/// What annotators who have finished said of a reply.
fn said_by<'a>(
    others: &'a [(String, Book)],
    reply: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Annotation)> {
    others.iter().filter_map(move |(name, book)| {
        let annotation = book.get(reply).filter(|annotation| annotation.done)?;
        Some((name.as_str(), annotation))
    })
}

/// The labels that all who have finished gave.
fn common(others: &[(String, Book)], reply: &str) -> BTreeSet<String> {
    said_by(others, reply)
        .map(|(_, annotation)| annotation.labels.clone())
        .reduce(|a, b| a.intersection(&b).cloned().collect())
        .unwrap_or_default()
}

/// State of annotating.
#[derive(Debug)]
pub struct Annotate {
    /// Who annotates.
    pub annotator: String,
    /// The labels.
    pub taxonomy: Taxonomy,
    /// Whether gold answers and roles are hidden until a reply is done.
    pub blind: bool,
    /// The runs.
    pub runs: RunList,
    /// The queue that is open.
    pub queue: Option<Queue>,
    /// The job that opens a queue, its run, and the reply that it shall stand at.
    pub opening: Option<(Ticket, String, Option<String>)>,
    /// Why a queue can't be opened: one sentence.
    pub problem: Option<String>,
    /// The note that is being written.
    pub note: Option<Input>,
    /// Rows scrolled: of what is read (question and documents, or all), of the reply.
    pub scroll: [usize; 2],
    /// Which of the two the keys scroll.
    pub focus: usize,
    /// Whether the reply is shown as received.
    pub raw: bool,
    /// Where one came from.
    pub from: Screen,
    /// The label whose definition is shown.
    pub explained: Option<String>,
}

impl Default for Annotate {
    fn default() -> Self {
        Annotate {
            annotator: "me".to_owned(),
            taxonomy: Taxonomy::default(),
            blind: false,
            runs: RunList::default(),
            queue: None,
            opening: None,
            problem: None,
            note: None,
            scroll: [0; 2],
            focus: 0,
            raw: false,
            from: Screen::Queue,
            explained: None,
        }
    }
}

impl Annotate {
    /// The person in a part.
    pub fn hand(&self, part: Part) -> Hand {
        Hand {
            annotator: self.annotator.clone(),
            part,
        }
    }

    /// Acts that are not on disk yet.
    pub fn pending(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.pending)
    }

    /// Whether gold answer and roles of the reply on screen are hidden.
    pub fn hidden(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| {
            let at = queue.current();
            at.is_some_and(|at| queue.hides(at, self.blind))
        })
    }
}
