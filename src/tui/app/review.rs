//! State of reviewing: the items of a dataset, as one person goes through them, and the item that is on screen.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use unicode_width::UnicodeWidthStr;

use crate::data::dataset::Dataset;
use crate::data::reviews::ReviewShelf;
use crate::domain::annotation::{Hand, Part};
use crate::domain::build::{EditSize, Level};
use crate::domain::mention::Placed;
use crate::domain::passage::Document;
use crate::domain::question::Question;
use crate::domain::review::{
    Content, Decision, Event, Found, ItemKind, Moved, ReviewBook, Verdict, disputed, findings,
};
use crate::tui::app::facet::{Case, Facets, case_of_item};
use crate::tui::app::input::Input;
use crate::tui::app::{Screen, Ticket};
use crate::tui::theme::Tone;
use crate::tui::widgets::diff::{DiffView, compare};
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

/// What opening a review has read from disk.
#[derive(Debug)]
pub struct ReviewParts {
    /// The dataset.
    pub dataset: Arc<Dataset>,
    /// Its items: position of the question, what the checks find.
    pub listing: Vec<(usize, Found)>,
    /// What everybody decided.
    pub shelf: ReviewShelf,
    /// What the queue was narrowed to the last time, as JSON.
    pub choice: Option<String>,
}

/// An item of the queue.
#[derive(Debug, Clone)]
pub struct ReviewItem {
    /// Position of its question.
    pub question: usize,
    /// The item and what the checks find in it now.
    pub found: Found,
    /// Its question's id on one line, cleaned.
    pub id: String,
    /// Its sub-question or planted answer on one line, cleaned.
    pub text: String,
    /// Its values for the facets.
    pub cases: [Case; 1],
}

/// The item on screen, ready to be drawn.
#[derive(Debug)]
pub struct OpenItem {
    /// Its position among the items.
    pub at: usize,
    /// The document's title.
    pub title: String,
    /// The text in each view: with the answer marked, or the difference of the edit in its three views.
    pub texts: [Rc<Rich>; 3],
    /// Words that the edit puts in and takes out, and the share of words that it changes.
    pub size: Option<(usize, usize, f64)>,
}

/// The items of a dataset, as one person goes through them.
#[derive(Debug)]
pub struct ReviewQueue {
    /// The dataset.
    pub dataset: Arc<Dataset>,
    /// Reviewing, or deciding between reviewers.
    pub part: Part,
    /// What the person decided, in this part.
    pub book: ReviewBook,
    /// What all reviewers decided: shown only to who decides between them.
    pub others: Vec<(String, ReviewBook)>,
    /// The items in the order of the dataset; when deciding, those on which reviewers differ.
    pub items: Vec<ReviewItem>,
    /// Acts that can't be read.
    pub broken: usize,
    /// What the queue is narrowed to.
    pub facets: Facets,
    /// Positions of the items that pass, the undecided first.
    pub shown: Vec<usize>,
    /// Which of `shown` is chosen.
    pub selected: usize,
    /// First visible row.
    pub top: usize,
    /// The item on screen.
    pub open: Option<OpenItem>,
    /// Acts that are not on disk yet.
    pub pending: usize,
    /// Columns of the longest id.
    pub widest_id: usize,
    /// Positions of the items of each question.
    by_question: HashMap<usize, Vec<usize>>,
    /// Shown items that are decided.
    decided: usize,
}

impl ReviewQueue {
    /// A queue as it is opened: it stands at the first item that is not decided.
    pub fn new(parts: ReviewParts, hand: &Hand) -> ReviewQueue {
        let ReviewParts {
            dataset,
            listing,
            mut shelf,
            choice,
        } = parts;
        let book = shelf.books.remove(hand).unwrap_or_default();
        let rest = shelf.books.into_iter();
        let mut others: Vec<(String, ReviewBook)> = rest
            .filter(|(other, _)| other.part == Part::Annotator)
            .map(|(other, book)| (other.annotator, book))
            .collect();
        if hand.part == Part::Annotator {
            others.push((hand.annotator.clone(), book.clone()));
            others.sort_by(|a, b| a.0.cmp(&b.0));
        }
        let in_question = |found: &Found| {
            let said = others
                .iter()
                .filter_map(|(_, book)| book.get(&found.item.id));
            hand.part == Part::Annotator || disputed(said)
        };
        let items: Vec<ReviewItem> = listing
            .into_iter()
            .filter(|(_, found)| in_question(found))
            .map(|(question, found)| item_of(question, found, &book))
            .collect();
        let mut by_question: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, item) in items.iter().enumerate() {
            by_question.entry(item.question).or_default().push(at);
        }
        let widest_id = items.iter().map(|item| item.id.width()).max().unwrap_or(0);
        let mut queue = ReviewQueue {
            dataset,
            part: hand.part,
            book,
            others,
            items,
            broken: shelf.broken,
            facets: choice.as_deref().map(Facets::from_json).unwrap_or_default(),
            shown: Vec::new(),
            selected: 0,
            top: 0,
            open: None,
            pending: 0,
            widest_id,
            by_question,
            decided: 0,
        };
        queue.narrow();
        queue.selected = queue.next_undecided(0).unwrap_or(0);
        queue
    }

    /// Applies the facets and puts the undecided first; the chosen item stays chosen where it still passes.
    pub fn narrow(&mut self) {
        let chosen = self.current();
        let passes =
            |(at, item): (usize, &ReviewItem)| self.facets.admit(&item.cases).then_some(at);
        let mut shown: Vec<usize> = self.items.iter().enumerate().filter_map(passes).collect();
        shown.sort_by_key(|at| (self.is_decided(*at), *at));
        self.shown = shown;
        let still = chosen.and_then(|at| self.shown.iter().position(|shown| *shown == at));
        self.selected = still.unwrap_or(0);
        self.count_decided();
    }

    /// Counts once per change: a dataset may have more items than a frame has time for.
    fn count_decided(&mut self) {
        let decided = self.shown.iter().filter(|at| self.is_decided(**at));
        self.decided = decided.count();
    }

    fn is_decided(&self, at: usize) -> bool {
        let item = self.items.get(at);
        item.is_some_and(|item| self.book.verdict(&item.found.item.id).is_some())
    }

    /// Position of the chosen item.
    pub fn current(&self) -> Option<usize> {
        self.shown.get(self.selected).copied()
    }

    /// The chosen item.
    pub fn item(&self) -> Option<&ReviewItem> {
        self.items.get(self.current()?)
    }

    /// The question of an item.
    pub fn question(&self, item: &ReviewItem) -> Option<&Question> {
        self.dataset.questions.get(item.question)
    }

    /// The document of an item.
    pub fn document(&self, item: &ReviewItem) -> Option<&Document> {
        let pools = self.dataset.pools(&item.found.item.question_id);
        let wanted = &item.found.item.doc_id;
        pools.signal.iter().find(|document| document.id == *wanted)
    }

    /// What the person decided about an item.
    pub fn decision(&self, item: &ReviewItem) -> Decision {
        let own = self.book.get(&item.found.item.id);
        own.cloned()
            .unwrap_or_else(|| Decision::blank(&item.found.item))
    }

    /// What an item says now: as edited, where it was edited.
    pub fn content<'a>(&'a self, item: &'a ReviewItem) -> &'a Content {
        let own = &item.found.item.content;
        let verdict = self.book.verdict(&item.found.item.id);
        verdict
            .and_then(|verdict| verdict.content(own))
            .unwrap_or(own)
    }

    /// Sub-question and true answer of an item's document as they are now; `None` where it has none.
    pub fn truth(&self, item: &ReviewItem) -> Option<(String, String)> {
        let wanted = &item.found.item;
        let pools = self.dataset.pools(&wanted.question_id);
        let question = self.question(item)?;
        let items = crate::domain::review::items(question, &pools);
        let subs = items
            .iter()
            .filter(|one| one.kind() == ItemKind::SubQuestion && one.doc_id == wanted.doc_id);
        let now = subs.filter_map(|sub| match self.book.verdict(&sub.id) {
            Some(verdict) => verdict.content(&sub.content).cloned(),
            None => Some(sub.content.clone()),
        });
        now.map(|content| {
            let (question, answer) = content.texts();
            (question.to_owned(), answer.to_owned())
        })
        .next()
    }

    /// Chooses the item with this id, if it is shown.
    pub fn choose(&mut self, id: &str) -> bool {
        let row = self.shown.iter().position(|at| {
            let item = self.items.get(*at);
            item.is_some_and(|item| item.found.item.id == id)
        });
        if let Some(row) = row {
            self.selected = row;
        }
        row.is_some()
    }

    /// Chooses the first item of a question that is shown.
    pub fn choose_question(&mut self, question_id: &str) -> bool {
        let row = self.shown.iter().position(|at| {
            let item = self.items.get(*at);
            item.is_some_and(|item| item.found.item.question_id == question_id)
        });
        if let Some(row) = row {
            self.selected = row;
        }
        row.is_some()
    }

    /// Row of the first shown item from `row` on that is not decided.
    pub fn next_undecided(&self, row: usize) -> Option<usize> {
        let later = self.shown.iter().enumerate().skip(row);
        later
            .filter(|(_, at)| !self.is_decided(**at))
            .map(|(row, _)| row)
            .next()
    }

    /// Shown items that are decided, and all that are shown.
    pub fn progress(&self) -> (usize, usize) {
        (self.decided, self.shown.len())
    }

    /// What reviewers decided about the chosen item, with their names; notes without a verdict too.
    pub fn opinions(&self) -> Vec<(&str, &Decision)> {
        let Some(item) = self.item() else {
            return Vec::new();
        };
        let all = self.others.iter();
        all.filter_map(|(name, book)| Some((name.as_str(), book.get(&item.found.item.id)?)))
            .filter(|(_, decision)| !decision.is_blank())
            .collect()
    }

    /// Takes in an act of the person on this queue: the checks look at the question's items again.
    pub fn apply(&mut self, event: &Event) -> Option<Moved> {
        let moved = self.book.apply(event)?;
        if let Some(at) = self.dataset.position(&moved.question_id) {
            self.look_again(at);
        }
        self.count_decided();
        Some(moved)
    }

    /// Has the checks look at the items of a question.
    fn look_again(&mut self, question: usize) {
        let dataset = Arc::clone(&self.dataset);
        let Some(asked) = dataset.questions.get(question) else {
            return;
        };
        let pools = dataset.pools(&asked.id);
        let found = findings(asked, &pools, |item| self.book.verdict(&item.id));
        let mut fresh: HashMap<String, Found> = HashMap::new();
        for one in found {
            fresh.entry(one.item.id.clone()).or_insert(one);
        }
        for at in self.by_question.get(&question).into_iter().flatten() {
            if let Some(item) = self.items.get_mut(*at)
                && let Some(found) = fresh.remove(&item.found.item.id)
            {
                *item = item_of(question, found, &self.book);
            }
        }
    }

    /// Makes the chosen item ready to be drawn; `marks` writes out what else colours show.
    pub fn prepare(&mut self, marks: bool) {
        let Some((at, item)) = self.current().zip(self.item()) else {
            self.open = None;
            return;
        };
        let document = self.document(item);
        let (title, original) =
            document.map_or(("", ""), |one| (one.title.as_str(), one.content.as_str()));
        let content = self.content(item);
        let (texts, size) = match content {
            Content::SubQuestion { answer, .. } => {
                let rich = Rc::new(marked(original, answer, marks));
                ([rich.clone(), rich.clone(), rich], None)
            }
            Content::Edit { text, .. } => {
                let diff = compare(original, text);
                let (inserted, deleted) = diff.changed;
                let ratio = EditSize::of(original, text).ratio();
                let views = [DiffView::Both, DiffView::Inserted, DiffView::Deleted];
                (
                    views.map(|view| diff.rich(view, marks)),
                    Some((inserted, deleted, ratio)),
                )
            }
        };
        self.open = Some(OpenItem {
            at,
            title: one_line(title),
            texts,
            size,
        });
    }
}

fn item_of(question: usize, found: Found, book: &ReviewBook) -> ReviewItem {
    let own = &found.item.content;
    let verdict = book.verdict(&found.item.id);
    let now = verdict
        .and_then(|verdict| verdict.content(own))
        .unwrap_or(own);
    ReviewItem {
        question,
        id: one_line(&found.item.question_id),
        text: one_line(now.texts().0),
        cases: [case_of_item(&found, verdict)],
        found,
    }
}

/// A document with the places of an answer marked.
fn marked(text: &str, answer: &str, marks: bool) -> Rich {
    let (open, close) = if marks { ("»", "«") } else { ("", "") };
    let mut pieces: Vec<(&str, Tone)> = Vec::new();
    let mut from = 0;
    for place in Placed::new(text).places(answer) {
        // Places of a phrase may overlap: "a b a" in "a b a b a".
        if place.start < from {
            continue;
        }
        pieces.extend([
            (text.get(from..place.start).unwrap_or_default(), Tone::Text),
            (open, Tone::Match),
            (text.get(place.clone()).unwrap_or_default(), Tone::Match),
            (close, Tone::Match),
        ]);
        from = place.end;
    }
    pieces.push((text.get(from..).unwrap_or_default(), Tone::Text));
    Rich::build(pieces)
}

/// The worst of what the checks find in an item.
pub fn worst(found: &Found) -> Option<Level> {
    found.issues.iter().map(|issue| issue.kind.level()).min()
}

/// Mark and tone of a verdict.
pub fn verdict_mark(verdict: Option<&Verdict>) -> (&'static str, Tone) {
    match verdict {
        None => (" ", Tone::Faint),
        Some(Verdict::Accepted) => ("✓", Tone::Good),
        Some(Verdict::Edited(_)) => ("±", Tone::Changed),
        Some(Verdict::Rejected { .. }) => ("✗", Tone::Bad),
    }
}

/// Where a queue that is being opened shall stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StandAt {
    /// At the first undecided item.
    First,
    /// At an item, on the screen on which it was.
    Item(String),
    /// At the first item of a question.
    Question(String),
}

/// State of reviewing.
#[derive(Debug)]
pub struct ReviewState {
    /// The queue that is open.
    pub queue: Option<ReviewQueue>,
    /// The job that opens a queue, whose, and where it shall stand.
    pub opening: Option<(Ticket, Part, StandAt)>,
    /// Why a queue can't be opened: one sentence.
    pub problem: Option<String>,
    /// The note that is being written.
    pub note: Option<Input>,
    /// The item whose edited text could not be read, with that text.
    pub draft: Option<(String, String)>,
    /// Which words of an edit are shown.
    pub diff: DiffView,
    /// Rows scrolled: of the document, of what stands beside it.
    pub scroll: [usize; 2],
    /// Which of the two the keys scroll.
    pub focus: usize,
    /// Where one came from.
    pub from: Screen,
}

impl Default for ReviewState {
    fn default() -> Self {
        ReviewState {
            queue: None,
            opening: None,
            problem: None,
            note: None,
            draft: None,
            diff: DiffView::default(),
            scroll: [0; 2],
            focus: 0,
            from: Screen::Browse,
        }
    }
}

impl ReviewState {
    /// Acts that are not on disk yet.
    pub fn pending(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_an_answer_is_marked_once() {
        let text = "Iron, then iron again; ironclad is no iron.";
        let rich = marked(text, "iron", true);
        assert_eq!(
            rich.text(),
            "»Iron«, then »iron« again; ironclad is no »iron«."
        );
        assert_eq!(marked(text, "zinc", true).text(), text);
        let twice = marked("a b a b a", "a b a", true);
        assert_eq!(twice.text(), "»a b a« b a");
    }
}
