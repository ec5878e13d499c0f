//! Scoring a stored run again: replies are read and scored by today's rules. No model is called but a
//! judge, and that only by [`judge_run`].

use std::collections::BTreeMap;

use serde::Serialize;

use crate::data::store::{ReplyRecord, Store, StoreError};
use crate::domain::answer::{ParsedReply, parse};
use crate::domain::prompt::reply_shape;
use crate::domain::score::{Metric, Ratio, Scores, score};
use crate::engine::ask::ending_of;
use book::{Book, Verdict};

pub use judge::{JudgeRequest, JudgeTrouble, Judging, judge_run};

mod book;
mod call;
mod judge;
mod shared;
#[cfg(test)]
mod tests;

/// What scoring a run again did.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Rescored {
    /// Records of the run that can be read.
    pub records: usize,
    /// Records whose reply was read and scored.
    pub scored: usize,
    /// Calls that gave no reply; they stay as they are.
    pub failed_calls: usize,
    /// Records that can't be read; they stay as they are.
    pub broken: usize,
    /// Records whose reading or scores are not what was stored.
    pub changed: usize,
    /// Of those the ones with another outcome.
    pub changed_outcome: usize,
    /// Of those the ones with another chosen option.
    pub changed_answer: usize,
    /// Main accuracy by the stored scores: right out of replies.
    pub before: Ratio,
    /// Main accuracy now.
    pub after: Ratio,
    /// What judges said of the sub-answers, by the judge's name.
    pub judges: BTreeMap<String, JudgeCounts>,
}

/// Sub-questions by what a judge said of their answers. They add up to those asked in replies.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct JudgeCounts {
    /// Answers with a score.
    pub judged: usize,
    /// Skipped answers: 0 without a call.
    pub skipped: usize,
    /// Answers whose judgement can't be read: not in the denominator.
    pub invalid: usize,
    /// Answers whose judgement failed: not in the denominator, tried again next time.
    pub failed: usize,
    /// Answers not judged yet: not in the denominator.
    pub pending: usize,
    /// Sum of the scores, out of the judged and the skipped ones.
    pub score: Ratio,
}

/// How many sub-answers of a run a judge has judged, those included whose judgement can't be read.
///
/// # Errors
/// [`StoreError`] when the store can't be read.
pub fn judged_answers(store: &Store, run: &str, judge: &str) -> Result<usize, StoreError> {
    Ok(Book::of_run(store, run, judge)?.settled())
}

/// Reads and scores every reply of a run again, on all cores, and writes what changed back, step by step.
///
/// `judge` puts in the scores that this judge model gave; without it every reply keeps the judge whose
/// scores it has. A judgement counts only as long as the answer that was judged is still the one read.
///
/// # Errors
/// [`StoreError`] when the store can't be read or written; what was written before stays, and scoring again goes on.
pub fn rescore(store: &Store, run: &str, judge: Option<&str>) -> Result<Rescored, StoreError> {
    let names = match judge {
        Some(judge) => vec![judge.to_owned()],
        None => store.judges_of_run(run)?,
    };
    let mut books = BTreeMap::new();
    for name in names {
        let book = Book::of_run(store, run, &name)?;
        books.insert(name, book);
    }
    let (rewritten, parts) = store.rewrite_run(run, Rescored::default, |done, record| {
        rescore_record(record, judge, &books, done)
    })?;
    let mut done = Rescored::default();
    for part in parts {
        done.merge(part);
    }
    done.changed = rewritten.changed;
    done.broken += rewritten.broken;
    Ok(done)
}

impl Rescored {
    /// Adds what was done of another part of the run.
    fn merge(&mut self, part: Rescored) {
        self.records += part.records;
        self.scored += part.scored;
        self.failed_calls += part.failed_calls;
        self.broken += part.broken;
        self.changed += part.changed;
        self.changed_outcome += part.changed_outcome;
        self.changed_answer += part.changed_answer;
        self.before.add(part.before);
        self.after.add(part.after);
        for (judge, counts) in part.judges {
            self.judges.entry(judge).or_default().merge(counts);
        }
    }
}

impl JudgeCounts {
    fn merge(&mut self, part: JudgeCounts) {
        self.judged += part.judged;
        self.skipped += part.skipped;
        self.invalid += part.invalid;
        self.failed += part.failed;
        self.pending += part.pending;
        self.score.add(part.score);
    }
}

/// Brings a record up to date; gives whether anything changed.
fn rescore_record(
    record: &mut ReplyRecord,
    judge: Option<&str>,
    books: &BTreeMap<String, Book>,
    done: &mut Rescored,
) -> bool {
    let Ok(read) = read_again(record) else {
        done.broken += 1;
        return false;
    };
    done.records += 1;
    let Some((parsed, mut scores)) = read else {
        done.failed_calls += 1;
        return false;
    };
    done.scored += 1;
    let kept = record
        .scores
        .as_ref()
        .and_then(|scores| scores.judge.clone());
    if let Some(name) = judge.map(str::to_owned).or(kept)
        && let Some(book) = books.get(&name)
    {
        scores.put_judge(&name, |sub, given| book.score(record.id, sub, given));
        count_judged(
            record.id,
            &scores,
            book,
            done.judges.entry(name).or_default(),
        );
    }
    add_accuracy(&mut done.before, record.scores.as_ref());
    add_accuracy(&mut done.after, Some(&scores));
    note_changes(record, parsed, scores, done)
}

/// The reply of a record as today's rules read and score it; `None` for a call that gave no reply.
///
/// # Errors
/// A sentence for a record whose reply is not what this program writes.
fn read_again(record: &ReplyRecord) -> Result<Option<(ParsedReply, Scores)>, String> {
    // Only the ending is read of what is stored beside the text: the times of all pieces are most of a record.
    let Some(ending) = ending_of(record)? else {
        return Ok(None);
    };
    let shape = reply_shape(&record.question, &record.context);
    let parsed = parse(&record.raw, &shape, ending);
    let scores = score(&record.question, &record.context, &parsed);
    Ok(Some((parsed, scores)))
}

fn add_accuracy(sum: &mut Ratio, scores: Option<&Scores>) {
    if let Some(ratio) = scores.and_then(|scores| scores.counts.get(&Metric::MainAccuracy)) {
        sum.add(*ratio);
    }
}

fn count_judged(reply: i64, scores: &Scores, book: &Book, counts: &mut JudgeCounts) {
    let Some(sum) = scores.counts.get(&Metric::SubJudgeScore) else {
        return;
    };
    counts.score.add(*sum);
    for (k, row) in scores.subs.iter().enumerate() {
        let Some(given) = &row.given else {
            counts.skipped += 1;
            continue;
        };
        match book.verdict(reply, k, given) {
            Some(Verdict::Score(_)) => counts.judged += 1,
            Some(Verdict::Invalid) => counts.invalid += 1,
            Some(Verdict::Failed) => counts.failed += 1,
            None => counts.pending += 1,
        }
    }
}

/// Puts the new reading in where it differs from the stored one.
fn note_changes(
    record: &mut ReplyRecord,
    parsed: ParsedReply,
    scores: Scores,
    done: &mut Rescored,
) -> bool {
    if record.parsed.as_ref() == Some(&parsed) && record.scores.as_ref() == Some(&scores) {
        return false;
    }
    let as_stored = (through_json(&Some(&parsed)), through_json(&Some(&scores)));
    if as_stored == (through_json(&record.parsed), through_json(&record.scores)) {
        return false;
    }
    let before = record.parsed.as_ref();
    done.changed_outcome +=
        usize::from(before.is_none_or(|before| before.outcome != parsed.outcome));
    done.changed_answer += usize::from(before.is_none_or(|before| before.answer != parsed.answer));
    record.parsed = Some(parsed);
    record.scores = Some(scores);
    true
}

/// A value as the store gives it back: JSON may lose the last bit of a number, once.
fn through_json(value: &impl Serialize) -> Option<serde_json::Value> {
    let text = serde_json::to_string(value).ok()?;
    serde_json::from_str(&text).ok()
}
