//! What a judge has said so far.

use std::collections::HashMap;

use crate::data::store::{JudgementRecord, Store, StoreError};

/// What became of a judgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    /// 0, 0.5 or 1.
    Score(f64),
    /// The judge's reply can't be read.
    Invalid,
    /// The call gave no reply.
    Failed,
}

/// The judgements of one judge on a run.
#[derive(Debug, Default)]
pub(super) struct Book {
    by_sub: HashMap<(i64, usize), (String, Verdict)>,
}

impl Book {
    pub(super) fn of_run(store: &Store, run: &str, judge: &str) -> Result<Book, StoreError> {
        let mut book = Book::default();
        for judgement in store.judgements_of_run(run, judge)? {
            book.add(judgement);
        }
        Ok(book)
    }

    /// A later judgement takes the place of an earlier one.
    fn add(&mut self, judgement: JudgementRecord) {
        let verdict = match judgement.score {
            Some(score) => Verdict::Score(score),
            None if judgement.failure.is_null() => Verdict::Invalid,
            None => Verdict::Failed,
        };
        self.by_sub
            .insert((judgement.reply, judgement.sub), (judgement.given, verdict));
    }

    /// Answers that need not be judged again.
    pub(super) fn settled(&self) -> usize {
        let settled = |(_, verdict): &&(String, Verdict)| *verdict != Verdict::Failed;
        self.by_sub.values().filter(settled).count()
    }

    /// What was said of this answer; nothing where another one was judged.
    pub(super) fn verdict(&self, reply: i64, sub: usize, given: &str) -> Option<Verdict> {
        let (judged, verdict) = self.by_sub.get(&(reply, sub))?;
        (judged == given).then_some(*verdict)
    }

    /// The score of this answer, if it has one.
    pub(super) fn score(&self, reply: i64, sub: usize, given: &str) -> Option<f64> {
        match self.verdict(reply, sub, given)? {
            Verdict::Score(score) => Some(score),
            Verdict::Invalid | Verdict::Failed => None,
        }
    }
}
