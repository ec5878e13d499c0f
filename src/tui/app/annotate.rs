//! State of annotating: the queue of a run's replies, and the reply that is being labelled.

use std::collections::VecDeque;

use crossterm::event::KeyEvent;

use crate::data::annotations::Shelf;
use crate::data::session::{MOST_DRAFTED, NoteDraft};
use crate::data::store::Brief;
use crate::domain::annotation::{Act, Annotation, Change, Event, Hand, Part, Taxonomy};
use crate::tui::app::input::Input;
use crate::tui::app::{Screen, Ticket};

mod queue;
mod row;

pub use queue::Queue;
pub use row::{Asked, Item, OpenReply, ReplyPlace};

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
    /// Acts of this person on this run that are stored.
    pub acts: usize,
    /// Why nothing can be written, where that is so: one sentence.
    pub read_only: Option<String>,
}

/// What an act was made of, so that it is stored rightly where the same person labels in another window too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Base {
    /// What the person saw of the reply.
    pub before: Annotation,
    /// Acts of the person on the run that were known, those on their way to the disk among them.
    pub acts: usize,
}

/// How an act came to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// As it was given.
    AsGiven,
    /// Joined with what the same person did in another window meanwhile.
    BesideAnother,
}

/// An act on its way to the disk.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The run.
    pub run: String,
    /// The part in which it was done.
    pub part: Part,
    /// What was done.
    pub event: Event,
}

/// Whether two notes are the same person's on the same reply.
fn same_place(a: &NoteDraft, b: &NoteDraft) -> bool {
    (&a.annotator, &a.run, &a.part, &a.reply) == (&b.annotator, &b.run, &b.part, &b.reply)
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
    pub opening: Option<(Ticket, String, Option<ReplyPlace>)>,
    /// Why a queue can't be opened: one sentence.
    pub problem: Option<String>,
    /// The note that is being written.
    pub note: Option<Input>,
    /// The reply that it is written for.
    pub note_of: Option<NoteDraft>,
    /// Notes that were written and are not saved.
    pub drafts: Vec<NoteDraft>,
    /// Acts on their way to the disk, the oldest first.
    pub sent: VecDeque<Sent>,
    /// Why the last act was not saved, until one is.
    pub not_saved: Option<String>,
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
    /// Keys for a reply that is being read: labels name it by an id that is made of its texts.
    pub early: Vec<KeyEvent>,
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
            note_of: None,
            drafts: Vec::new(),
            sent: VecDeque::new(),
            not_saved: None,
            scroll: [0; 2],
            focus: 0,
            raw: false,
            from: Screen::Queue,
            explained: None,
            early: Vec::new(),
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
        self.sent.len()
    }

    /// An empty note on the reply at hand.
    pub fn blank_draft(&self) -> Option<NoteDraft> {
        let queue = self.queue.as_ref()?;
        let reply = queue.item()?.reply_id()?.to_owned();
        Some(self.draft_of(&queue.run, queue.part, reply))
    }

    /// An empty note on a reply.
    pub fn draft_of(&self, run: &str, part: Part, reply: String) -> NoteDraft {
        NoteDraft {
            annotator: self.annotator.clone(),
            run: run.to_owned(),
            part: part.name().to_owned(),
            reply,
            text: String::new(),
        }
    }

    /// Keeps a note that is not saved, in the place of an older one on the same reply; an empty one takes that away.
    pub fn keep_draft(&mut self, draft: NoteDraft) {
        self.drafts.retain(|one| !same_place(one, &draft));
        if !draft.text.is_empty() {
            self.drafts.push(draft);
        }
    }

    /// The unsaved note on the reply at hand.
    pub fn draft(&self) -> Option<&NoteDraft> {
        let here = self.blank_draft()?;
        self.drafts.iter().find(|one| same_place(one, &here))
    }

    /// The note on the reply at hand as it was last written, saved or not.
    pub fn note_so_far(&self) -> String {
        let said = || self.queue.as_ref().map(|queue| queue.said().note);
        let draft = self.draft().map(|draft| draft.text.clone());
        draft.or_else(said).unwrap_or_default()
    }

    /// Every note that would be lost now: those that were not saved, those on their way to the disk, and the one that is
    /// being written. What goes beyond the room of a session is left out.
    pub fn unsaved(&self) -> Vec<NoteDraft> {
        let mut all = self.drafts.clone();
        let mut put = |draft: NoteDraft| {
            all.retain(|one| !same_place(one, &draft));
            if !draft.text.is_empty() {
                all.push(draft);
            }
        };
        for sent in &self.sent {
            if let Act::Change { reply, change, .. } = &sent.event.act
                && let Change::Note(text) = change
            {
                let place = self.draft_of(&sent.run, sent.part, reply.clone());
                put(NoteDraft {
                    text: text.clone(),
                    ..place
                });
            }
        }
        if let (Some(note), Some(of)) = (&self.note, &self.note_of) {
            put(NoteDraft {
                text: note.text().to_owned(),
                ..of.clone()
            });
        }
        let mut room = MOST_DRAFTED;
        all.retain(|draft| {
            let fits = draft.text.len() <= room;
            room -= if fits { draft.text.len() } else { 0 };
            fits
        });
        all
    }

    /// Whether gold answer and roles of the reply on screen are hidden.
    pub fn hidden(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| {
            let at = queue.current();
            at.is_some_and(|at| queue.hides(at, self.blind))
        })
    }
}
