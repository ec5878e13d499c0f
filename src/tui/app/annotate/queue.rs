//! The replies of a run, as one person goes through them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::slice::from_ref;

use unicode_width::UnicodeWidthStr;

use super::row::{Item, OpenReply, ReplyPlace, shown_question};
use super::{Base, QueueParts};
use crate::data::store::Brief;
use crate::domain::annotation::{
    Act, Annotation, Book, Change, Event, Hand, Moved, Part, disputed,
};
use crate::tui::app::Ticket;
use crate::tui::app::facet::{Case, Cases, Facets};

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
    /// Acts of the person that are stored or on their way there.
    pub acts: usize,
    /// Why nothing can be written, where that is so.
    pub read_only: Option<String>,
    /// Outcomes are hidden until a reply is done: what the queue is narrowed to must not tell them either.
    pub blind: bool,
    /// Items whose gold answer and roles were seen before they were done.
    pub seen: HashSet<usize>,
    /// Columns of the longest id.
    pub widest_id: usize,
    /// The values for the facets, those that are alike once.
    cases: Cases,
    /// Shown replies that are done.
    done: usize,
}

impl Queue {
    /// A queue as it is opened: it stands at the first reply that is not done.
    pub fn new(parts: QueueParts, hand: &Hand, blind: bool) -> Queue {
        let QueueParts {
            run,
            briefs,
            broken,
            mut shelf,
            choice,
            acts,
            read_only,
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
            let id = brief.reply_id.as_deref().unwrap_or_default();
            let said = said_by(&others, id).map(|(_, annotation)| annotation);
            let said: Vec<&Annotation> = said.collect();
            hand.part == Part::Annotator || disputed(said)
        };
        let (mut cases, mut asked) = (Cases::default(), HashMap::new());
        let items: Vec<Item> = briefs
            .into_iter()
            .filter(in_question)
            .map(|brief| Item {
                asked: shown_question(&mut asked, &brief),
                case: cases.of(&brief, said_of(&book, &brief)),
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
            acts,
            read_only,
            blind,
            seen: HashSet::new(),
            widest_id: asked.values().map(|one| one.id.width()).max().unwrap_or(0),
            cases,
            done: 0,
        };
        queue.narrow();
        queue.selected = queue.next_undone(0).unwrap_or(0);
        queue
    }

    /// Applies the facets; the chosen reply stays chosen where it still passes.
    pub fn narrow(&mut self) {
        // Nothing was said of the others.
        for item in self
            .items
            .iter_mut()
            .filter(|item| item.reply_id().is_some())
        {
            let said = said_of(&self.book, &item.brief);
            item.case = self.cases.of(&item.brief, said);
        }
        let chosen = self.current();
        let facets = self.narrowing();
        let passes = |(at, item): (usize, &Item)| facets.admit(from_ref(&item.case)).then_some(at);
        self.shown = self.items.iter().enumerate().filter_map(passes).collect();
        let still = chosen.and_then(|at| self.shown.iter().position(|shown| *shown == at));
        self.selected = still.unwrap_or(0);
        self.count_done();
    }

    /// The facets that count: who is blind must not be told outcomes by what a list leaves out.
    pub fn narrowing(&self) -> Facets {
        match self.hides_outcomes() {
            true => self.facets.without_outcomes(),
            false => self.facets.clone(),
        }
    }

    /// Whether outcomes of replies that are not done are hidden.
    pub fn hides_outcomes(&self) -> bool {
        self.blind && self.part == Part::Annotator
    }

    /// Counts once per change: a run may have more replies than a frame has time for.
    fn count_done(&mut self) {
        let items = self.shown.iter().filter_map(|at| self.items.get(*at));
        let done = items.filter(|item| self.is_done(item));
        self.done = done.count();
    }

    /// Whether the person has finished with a reply.
    pub fn is_done(&self, item: &Item) -> bool {
        item.reply_id().is_some_and(|id| self.book.is_done(id))
    }

    /// The different values for the facets, with how many replies have them.
    pub fn kinds(&self) -> Vec<(Rc<Case>, usize)> {
        let mut counts: HashMap<*const Case, (Rc<Case>, usize)> = HashMap::new();
        for item in &self.items {
            let known = counts.entry(Rc::as_ptr(&item.case));
            known.or_insert_with(|| (item.case.clone(), 0)).1 += 1;
        }
        counts.into_values().collect()
    }

    /// Gives a reply its id: it is made of texts that are read when the reply is opened.
    pub fn identify(&mut self, at: usize, reply_id: String) {
        if let Some(item) = self.items.get_mut(at) {
            item.brief.reply_id = Some(reply_id.into_boxed_str());
            item.case = self.cases.of(&item.brief, said_of(&self.book, &item.brief));
        }
    }

    /// Takes over what was found out about the same replies before the queue was read anew.
    pub fn follow(&mut self, old: Queue) {
        self.seen = old.seen;
        let known = old.items.into_iter();
        let mut known: HashMap<i64, Box<str>> = known
            .filter_map(|item| Some((item.brief.id, item.brief.reply_id?)))
            .collect();
        for item in &mut self.items {
            if item.brief.reply_id.is_none() {
                item.brief.reply_id = known.remove(&item.brief.id);
            }
        }
        self.narrow();
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
            item.is_some_and(|item| item.reply_id() == Some(reply_id))
        });
        if let Some(row) = row {
            self.selected = row;
        }
        row.is_some()
    }

    /// Chooses a reply that was there before, if it is shown.
    pub fn stand_at(&mut self, place: &ReplyPlace) -> bool {
        if let Some(reply) = &place.reply
            && self.choose(reply)
        {
            return true;
        }
        let is_it = |item: &Item| {
            let same = match (item.reply_id(), &place.reply) {
                (Some(id), Some(wanted)) => id == wanted,
                _ => place.question.as_deref() == Some(&*item.brief.question.id),
            };
            same && Some(item.brief.id) == place.row
        };
        let row = self
            .shown
            .iter()
            .position(|at| self.items.get(*at).is_some_and(is_it));
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
            item.is_some_and(|item| !self.is_done(item))
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
        let Some(reply) = self.item().and_then(Item::reply_id) else {
            return Annotation::default();
        };
        if let Some(annotation) = self.book.get(reply) {
            return annotation.clone();
        }
        let labels = match self.part {
            Part::Annotator => BTreeSet::new(),
            Part::Adjudicator => common(&self.others, reply),
        };
        Annotation {
            labels,
            ..Annotation::default()
        }
    }

    /// What annotators who have finished said of a reply, with their names.
    pub fn opinions(&self) -> Vec<(&str, &Annotation)> {
        match self.item().and_then(Item::reply_id) {
            Some(reply) => said_by(&self.others, reply).collect(),
            None => Vec::new(),
        }
    }

    /// Takes in an act of the person on this queue.
    pub fn apply(&mut self, event: &Event) -> Option<Moved> {
        let moved = self.book.apply(event);
        self.acts += usize::from(moved.is_some());
        self.count_done();
        moved
    }

    /// What an act on a reply is made of, before it is applied.
    pub fn base(&self, act: &Act) -> Base {
        let before = match act {
            Act::Change { reply, .. } => self.book.get(reply).cloned(),
            Act::Undo | Act::Redo => None,
        };
        Base {
            before: before.unwrap_or_default(),
            acts: self.acts,
        }
    }

    /// Whether gold answer and roles of an item are hidden.
    pub fn hides(&self, at: usize, blind: bool) -> bool {
        let item = self.items.get(at);
        blind && self.part == Part::Annotator && item.is_some_and(|item| !self.is_done(item))
    }

    /// The act that changes what is said of the chosen reply; `None` before it was read.
    pub fn change(&self, change: Change) -> Option<Act> {
        let item = self.item()?;
        Some(Act::Change {
            reply: item.reply_id()?.to_owned(),
            question_id: item.brief.question.id.to_string(),
            change,
        })
    }
}

/// What was said of a reply.
fn said_of<'a>(book: &'a Book, brief: &Brief) -> Option<&'a Annotation> {
    book.get(brief.reply_id.as_deref()?)
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
