//! Reading queues and writing what is said of replies.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::data::annotations::{Annotations, Shelf, beside};
use crate::data::store::{Brief, Identify, Store, Which};
use crate::domain::annotation::{Act, Event, Hand, Part};
use crate::tui::Setup;
use crate::tui::app::Ticket;
use crate::tui::app::annotate::{Base, Kept, QueueParts, RunRow};
use crate::tui::app::browse::StoredCases;
use crate::tui::effects::desk::{Task, in_words, open_once};
use crate::tui::message::Message;
use crate::tui::widgets::line::one_line;

/// What the thread is asked to do.
pub(super) enum QueueTask {
    /// List the runs.
    Runs { annotator: String },
    /// Read a run's replies and what was said of them.
    Queue {
        ticket: Ticket,
        run: String,
        hand: Hand,
        /// A question whose replies are wanted by their ids.
        about: Option<String>,
    },
    /// Read one stored reply.
    Reply { ticket: Ticket, id: i64 },
    /// Write an act.
    Write {
        run: String,
        hand: Hand,
        event: Event,
        base: Box<Base>,
    },
    /// Remember what a queue is narrowed to.
    Keep {
        run: String,
        hand: Hand,
        choice: String,
    },
    /// Read what lists of questions need of a dataset's stored replies.
    Cases {
        ticket: Ticket,
        fingerprint: String,
        run: Option<String>,
        annotator: String,
    },
}

impl Task for QueueTask {
    type Files = Files;

    const NAME: &'static str = "annotations";

    fn perform(self, files: &mut Files, setup: &Setup) -> Option<Message> {
        files.perform(setup, self)
    }

    fn outline(&self) -> QueueTask {
        match self {
            QueueTask::Runs { .. } => QueueTask::Runs {
                annotator: String::new(),
            },
            QueueTask::Queue { ticket, hand, .. } => QueueTask::Queue {
                ticket: *ticket,
                run: String::new(),
                hand: hand.clone(),
                about: None,
            },
            QueueTask::Reply { ticket, id } => QueueTask::Reply {
                ticket: *ticket,
                id: *id,
            },
            QueueTask::Write { hand, event, .. } => QueueTask::Write {
                run: String::new(),
                hand: hand.clone(),
                event: event.clone(),
                base: Box::default(),
            },
            QueueTask::Keep { hand, .. } => QueueTask::Keep {
                run: String::new(),
                hand: hand.clone(),
                choice: String::new(),
            },
            QueueTask::Cases { ticket, .. } => QueueTask::Cases {
                ticket: *ticket,
                fingerprint: String::new(),
                run: None,
                annotator: String::new(),
            },
        }
    }

    fn failed(self, why: String) -> Message {
        match self {
            QueueTask::Runs { .. } => Message::Runs(Err(why)),
            QueueTask::Queue { ticket, hand, .. } => Message::Queue {
                ticket,
                part: hand.part,
                result: Err(why),
            },
            QueueTask::Reply { ticket, .. } => Message::QueueReply {
                ticket,
                result: Err(why),
            },
            QueueTask::Write { .. } => Message::Annotated(Err(why)),
            QueueTask::Keep { .. } => Message::Complaint(why),
            QueueTask::Cases { ticket, .. } => Message::Cases {
                ticket,
                result: Err(why),
            },
        }
    }
}

/// The files, opened at first use.
#[derive(Default)]
pub(super) struct Files {
    annotations: Option<Annotations>,
    /// The annotations where they can't be written.
    readable: Option<Annotations>,
    store: Option<Store>,
}

/// Annotations to be read: none where there is no file and none can be made.
struct Readable<'a> {
    annotations: Option<&'a Annotations>,
    /// Why they can't be written, where that is so.
    read_only: Option<String>,
}

const ELSEWHERE: &str = "the same person has labelled in another window meanwhile, so that another change than yours would be taken back; all of it is shown now: try again";

const NO_STORE: &str = "replies are kept in memory only, so there is nothing to annotate";

impl Files {
    fn perform(&mut self, setup: &Setup, task: QueueTask) -> Option<Message> {
        let path = setup.store.as_deref();
        Some(match task {
            QueueTask::Runs { annotator } => Message::Runs(self.runs(path, &annotator)),
            QueueTask::Queue {
                ticket,
                run,
                hand,
                about,
            } => Message::Queue {
                ticket,
                part: hand.part,
                result: self.queue(path, &run, &hand, about).map(Box::new),
            },
            QueueTask::Reply { ticket, id } => Message::QueueReply {
                ticket,
                result: self.store(path).and_then(|store| {
                    let found = store.get(id).map_err(|error| error.to_string())?;
                    Ok(found.map(Box::new))
                }),
            },
            QueueTask::Write {
                run,
                hand,
                event,
                base,
            } => Message::Annotated(self.write(path, &run, &hand, event, &base)),
            QueueTask::Keep { run, hand, choice } => {
                let kept = self
                    .annotations(path)
                    .and_then(|annotations| in_words(annotations.set_queue(&run, &hand, &choice)));
                Message::Complaint(kept.err()?)
            }
            QueueTask::Cases {
                ticket,
                fingerprint,
                run,
                annotator,
            } => Message::Cases {
                ticket,
                result: self.cases(path, &fingerprint, run.as_deref(), annotator),
            },
        })
    }

    fn annotations(&mut self, store: Option<&Path>) -> Result<&Annotations, String> {
        let path = beside(store.ok_or(NO_STORE)?);
        open_once(&mut self.annotations, || in_words(Annotations::open(&path)))
    }

    fn readable(&mut self, store: Option<&Path>) -> Result<Readable<'_>, String> {
        let problem = self.annotations(store).err();
        let path = beside(store.ok_or(NO_STORE)?);
        let annotations = match &problem {
            None => self.annotations.as_ref(),
            Some(_) if !path.exists() => None,
            Some(problem) => {
                let open = || Annotations::open_for_reading(&path).map_err(|_| problem.clone());
                Some(open_once(&mut self.readable, open)?)
            }
        };
        Ok(Readable {
            annotations,
            read_only: problem,
        })
    }

    /// It is only read here, so that it may lie where nothing can be written.
    fn store(&mut self, path: Option<&Path>) -> Result<&Store, String> {
        let path = path.ok_or(NO_STORE)?;
        open_once(&mut self.store, || {
            let opened = Store::open(path);
            in_words(opened.or_else(|error| Store::open_for_reading(path).map_err(|_| error)))
        })
    }

    /// Writes an act, joined with what the same person has done in another window.
    fn write(
        &mut self,
        path: Option<&Path>,
        run: &str,
        hand: &Hand,
        mut event: Event,
        base: &Base,
    ) -> Result<Kept, String> {
        let annotations = self.annotations(path)?;
        let alone = in_words(annotations.acts(run, hand))? <= base.acts;
        if !alone {
            let mut books = in_words(annotations.of_run(run))?.books;
            let book = books.remove(hand).unwrap_or_default();
            event.act = match event.act {
                Act::Change {
                    reply,
                    question_id,
                    change,
                } => {
                    let now = book.get(&reply).cloned().unwrap_or_default();
                    Act::Change {
                        change: change.onto(&base.before, &now),
                        reply,
                        question_id,
                    }
                }
                Act::Undo | Act::Redo => return Err(ELSEWHERE.to_owned()),
            };
        }
        in_words(annotations.add(run, hand, &event))?;
        Ok(match alone {
            true => Kept::AsGiven,
            false => Kept::BesideAnother,
        })
    }

    fn runs(&mut self, path: Option<&Path>, annotator: &str) -> Result<Vec<RunRow>, String> {
        let summaries = in_words(self.store(path)?.runs())?;
        let annotations = self.readable(path)?.annotations;
        let annotated = match annotations {
            Some(annotations) => in_words(annotations.runs())?,
            None => Vec::new(),
        };
        let hand = Hand {
            annotator: annotator.to_owned(),
            part: Part::Annotator,
        };
        let mut runs = Vec::new();
        for run in summaries.into_iter().filter(|run| run.replies > 0) {
            let held = annotations.filter(|_| annotated.contains(&run.name));
            // A history that can't be read is said when its queue is opened.
            let shelf = held.and_then(|annotations| annotations.of_run(&run.name).ok());
            let done = shelf.and_then(|shelf| {
                let annotations = shelf.books.get(&hand)?.annotations();
                Some(annotations.filter(|(_, one)| one.done).count())
            });
            let about = format!("{} · {}", run.models.join(", "), run.scenarios.join(", "));
            runs.push(RunRow {
                about: one_line(&about),
                replies: run.replies,
                questions: run.questions,
                done: done.unwrap_or(0),
                name: run.name,
            });
        }
        Ok(runs)
    }

    fn queue(
        &mut self,
        path: Option<&Path>,
        run: &str,
        hand: &Hand,
        about: Option<String>,
    ) -> Result<QueueParts, String> {
        let Readable {
            annotations,
            read_only,
        } = self.readable(path)?;
        // Counted first: what another window adds in between is found when something is written.
        let (acts, shelf, choice) = match annotations {
            Some(annotations) => (
                in_words(annotations.acts(run, hand))?,
                in_words(annotations.of_run(run))?,
                in_words(annotations.queue(run, hand))?,
            ),
            None => (0, Shelf::default(), None),
        };
        let books = shelf.books.values();
        let said = books.flat_map(|book| book.annotations().map(|(reply, _)| reply));
        let about = shelf.questions.iter().cloned().chain(about).collect();
        let (briefs, broken) = self.identified(path, Which::Run(run), &about, said)?;
        Ok(QueueParts {
            run: run.to_owned(),
            briefs,
            broken: broken + shelf.broken,
            choice,
            shelf,
            acts,
            read_only,
        })
    }

    fn cases(
        &mut self,
        path: Option<&Path>,
        fingerprint: &str,
        run: Option<&str>,
        annotator: String,
    ) -> Result<StoredCases, String> {
        let hand = Hand {
            annotator,
            part: Part::Annotator,
        };
        let (mut books, mut about) = (HashMap::new(), HashSet::new());
        if let Some(annotations) = self.readable(path)?.annotations {
            for name in in_words(annotations.runs())? {
                if run.is_some_and(|run| run != name) {
                    continue;
                }
                let mut shelf = in_words(annotations.of_run(&name))?;
                about.extend(shelf.questions);
                if let Some(book) = shelf.books.remove(&hand) {
                    books.insert(name, book);
                }
            }
        }
        let which = Which::Dataset(fingerprint, run);
        let briefs = in_words(
            self.store(path)?
                .briefs(which, false, Identify::About(&about)),
        )?;
        Ok(StoredCases {
            briefs: briefs.0,
            books,
        })
    }

    /// The replies in brief, with the ids of those to the questions that acts are `about`. An act from a file may name
    /// another question than its reply's: where a reply of which something is `said` is not among them, all get their ids.
    fn identified<'a>(
        &mut self,
        path: Option<&Path>,
        which: Which<'_>,
        about: &HashSet<String>,
        mut said: impl Iterator<Item = &'a str>,
    ) -> Result<(Vec<Brief>, usize), String> {
        let store = self.store(path)?;
        let read = in_words(store.briefs(which, false, Identify::About(about)))?;
        let ids = read.0.iter().filter_map(|brief| brief.reply_id.as_deref());
        let ids: HashSet<&str> = ids.collect();
        if said.all(|reply| ids.contains(reply)) {
            return Ok(read);
        }
        drop(ids);
        drop(read);
        in_words(store.briefs(which, false, Identify::All))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::annotation::{Annotation, Change};

    fn me() -> Hand {
        Hand {
            annotator: "me".into(),
            part: Part::Annotator,
        }
    }

    fn event(act: Act) -> Event {
        Event {
            at: String::new(),
            taxonomy: "t".into(),
            act,
        }
    }

    fn labels(of: &[&str]) -> BTreeSet<String> {
        of.iter().map(|id| (*id).to_owned()).collect()
    }

    fn give(of: &[&str]) -> Event {
        event(Act::Change {
            reply: "r".into(),
            question_id: "q".into(),
            change: Change::Labels(labels(of)),
        })
    }

    /// Two windows of one person, each of which knows its own keys alone.
    #[test]
    fn two_windows_of_one_person_keep_the_labels_of_both() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("runs.sqlite");
        let (mut one, mut other) = (Files::default(), Files::default());
        let base = |before: &[&str], acts: usize| Base {
            before: Annotation {
                labels: labels(before),
                ..Annotation::default()
            },
            acts,
        };
        let blank = base(&[], 0);
        let write = |files: &mut Files, event: Event, base: &Base| {
            files.write(Some(&store), "night", &me(), event, base)
        };
        assert_eq!(write(&mut one, give(&["a"]), &blank), Ok(Kept::AsGiven));
        let alone = base(&["a"], 1);
        assert_eq!(
            write(&mut one, give(&["a", "c"]), &alone),
            Ok(Kept::AsGiven)
        );
        assert_eq!(
            write(&mut other, give(&["b"]), &blank),
            Ok(Kept::BesideAnother)
        );
        let said = |files: &mut Files| {
            let shelf = files.annotations(Some(&store)).unwrap().of_run("night");
            shelf.unwrap().books[&me()].get("r").unwrap().labels.clone()
        };
        assert_eq!(said(&mut one), labels(&["a", "b", "c"]));
        // What would be taken back is not what this window shows.
        let refused = write(&mut one, event(Act::Undo), &base(&["a", "c"], 2));
        assert!(refused.is_err_and(|why| why.contains("another window")));
        assert_eq!(
            write(&mut one, event(Act::Undo), &base(&["a", "b", "c"], 3)),
            Ok(Kept::AsGiven)
        );
        assert_eq!(said(&mut other), labels(&["a", "c"]));
    }

    /// An act from a file may name another question than its reply's.
    #[test]
    fn what_was_said_finds_its_reply_whatever_question_it_names() {
        use crate::data::annotations::reply_id;
        use crate::data::store::tests::record;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.sqlite");
        let store = Store::open(&path).unwrap();
        for question in ["q1", "q2"] {
            store.insert(&record("night", question)).unwrap();
        }
        let second = reply_id(&store.replies_of_run("night").unwrap()[1]);
        let mut files = Files::default();
        let known = |files: &mut Files| {
            let parts = files.queue(Some(&path), "night", &me(), None).unwrap();
            let briefs = parts.briefs.into_iter();
            briefs.map(|brief| brief.reply_id).collect::<Vec<_>>()
        };
        assert_eq!(known(&mut files), [None, None], "nothing was said");
        let about = files.queue(Some(&path), "night", &me(), Some("q2".into()));
        assert_eq!(about.unwrap().briefs[1].reply_id.as_deref(), Some(&*second));
        let act = |question: &str| {
            event(Act::Change {
                reply: second.clone(),
                question_id: question.to_owned(),
                change: Change::Labels(labels(&["a"])),
            })
        };
        let base = Base::default();
        files
            .write(Some(&path), "night", &me(), act("elsewhere"), &base)
            .unwrap();
        assert_eq!(known(&mut files)[1].as_deref(), Some(&*second));
    }

    #[test]
    fn where_no_file_can_be_made_there_is_nothing_to_read() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("file");
        std::fs::write(&blocked, "").unwrap();
        let mut files = Files::default();
        let store = blocked.join("runs.sqlite");
        let found = files.readable(Some(&store)).unwrap();
        assert!(found.annotations.is_none() && found.read_only.is_some());
    }
}
