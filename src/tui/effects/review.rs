//! Reading what there is to review, and writing what is decided.

use std::path::Path;
use std::sync::Arc;

use crate::data::dataset::Dataset;
use crate::data::reviews::{Reviews, beside};
use crate::domain::annotation::Hand;
use crate::domain::review::Event;
use crate::engine::review::listing;
use crate::tui::Setup;
use crate::tui::app::Ticket;
use crate::tui::app::review::ReviewParts;
use crate::tui::effects::desk::{Task, in_words, open_once};
use crate::tui::message::Message;

/// What the thread is asked to do.
pub(super) enum ReviewTask {
    /// Read a dataset's decisions, and have the checks look at its items.
    Queue {
        ticket: Ticket,
        dataset: Arc<Dataset>,
        hand: Hand,
    },
    /// Write an act.
    Write {
        dataset: String,
        hand: Hand,
        event: Event,
    },
    /// Remember what a queue is narrowed to.
    Keep {
        dataset: String,
        hand: Hand,
        choice: String,
    },
}

impl Task for ReviewTask {
    type Files = Option<Reviews>;

    const NAME: &'static str = "review decisions";

    fn perform(self, files: &mut Option<Reviews>, setup: &Setup) -> Option<Message> {
        let reviews = reviews(files, setup.store.as_deref());
        Some(match self {
            ReviewTask::Queue {
                ticket,
                dataset,
                hand,
            } => Message::Review {
                ticket,
                part: hand.part,
                result: reviews
                    .and_then(|reviews| parts(reviews, dataset, &hand))
                    .map(Box::new),
            },
            ReviewTask::Write {
                dataset,
                hand,
                event,
            } => Message::Reviewed(
                reviews
                    .and_then(|reviews| in_words(reviews.add(&dataset, &hand, &event)))
                    .map(drop),
            ),
            ReviewTask::Keep {
                dataset,
                hand,
                choice,
            } => {
                let kept = reviews
                    .and_then(|reviews| in_words(reviews.set_queue(&dataset, &hand, &choice)));
                Message::Complaint(kept.err()?)
            }
        })
    }

    fn outline(&self) -> ReviewTask {
        match self {
            ReviewTask::Queue {
                ticket,
                dataset,
                hand,
            } => ReviewTask::Queue {
                ticket: *ticket,
                dataset: Arc::clone(dataset),
                hand: hand.clone(),
            },
            ReviewTask::Write { hand, event, .. } => ReviewTask::Write {
                dataset: String::new(),
                hand: hand.clone(),
                event: event.clone(),
            },
            ReviewTask::Keep { hand, .. } => ReviewTask::Keep {
                dataset: String::new(),
                hand: hand.clone(),
                choice: String::new(),
            },
        }
    }

    fn failed(self, why: String) -> Message {
        match self {
            ReviewTask::Queue { ticket, hand, .. } => Message::Review {
                ticket,
                part: hand.part,
                result: Err(why),
            },
            ReviewTask::Write { .. } => Message::Reviewed(Err(why)),
            ReviewTask::Keep { .. } => Message::Complaint(why),
        }
    }
}

fn reviews<'a>(slot: &'a mut Option<Reviews>, store: Option<&Path>) -> Result<&'a Reviews, String> {
    let store = store.ok_or("this session stores nothing, so nothing can be reviewed")?;
    open_once(slot, || in_words(Reviews::open(&beside(store))))
}

fn parts(reviews: &Reviews, dataset: Arc<Dataset>, hand: &Hand) -> Result<ReviewParts, String> {
    let shelf = in_words(reviews.of_dataset(&dataset.name))?;
    let choice = in_words(reviews.queue(&dataset.name, hand))?;
    let book = shelf.books.get(hand);
    let listing = listing(&dataset, |item| book?.verdict(&item.id));
    Ok(ReviewParts {
        listing,
        shelf,
        choice,
        dataset,
    })
}
