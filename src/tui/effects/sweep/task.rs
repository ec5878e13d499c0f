//! A sweep while it runs: part after part, then the judge.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::data::dataset::Dataset;
use crate::data::store::{RunLock, Store};
use crate::domain::text::count;
use crate::engine::rescore::{JudgeCounts, JudgeRequest, JudgeTrouble, judge_run, rescore};
use crate::engine::sweep::{
    Control, GivenUp, Limits, Pace, PartEnd, Progress, Step, Stopped, ask_part,
};
use crate::model::{ChatModel, FailureKind, Sampling};
use crate::tui::Prices;
use crate::tui::app::Ticket;
use crate::tui::app::plan::SweepRequest;
use crate::tui::app::sweep::{SweepEnd, SweepProgress};
use crate::tui::effects::Job;
use crate::tui::effects::sweep::estimate::estimate_of;
use crate::tui::effects::sweep::{CONCURRENCY, Models, Part, planned};
use crate::tui::message::{Message, SweepEvent};

/// Shortest time between two reports of progress.
const BETWEEN: Duration = Duration::from_millis(100);

/// A sweep while it runs.
pub(super) struct Task<'a> {
    pub(super) job: &'a Job,
    pub(super) ticket: Ticket,
    pub(super) control: &'a Control,
    pub(super) runtime: &'a Handle,
}

impl Task<'_> {
    pub(super) fn send(&self, event: SweepEvent) {
        let ticket = self.ticket;
        self.job.send(Message::Sweep { ticket, event });
    }

    /// Sends what may get lost: a newer report follows.
    fn tell(&self, event: SweepEvent) {
        let ticket = self.ticket;
        let _ = self.job.messages.try_send(Message::Sweep { ticket, event });
    }

    pub(super) fn run(
        &self,
        models: &Models,
        dataset: Arc<Dataset>,
        request: &SweepRequest,
    ) -> Result<SweepEnd, String> {
        let failed = |error: crate::data::store::StoreError| error.to_string();
        let path = self.job.setup.store.as_ref();
        let path = path.ok_or("this session stores nothing, so no sweep can run")?;
        let mut lock = RunLock::take(path, &request.run).map_err(failed)?;
        let store = Store::open(path).map_err(failed)?;
        let last = Mutex::new(Instant::now());
        let tell = |done, total| {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() >= BETWEEN {
                *last = Instant::now();
                self.tell(SweepEvent::Planning(done, total));
            }
        };
        let parts = planned(self.job, models, dataset, request, Some(&store), &tell)?;
        if parts.iter().all(|part| part.plan.instances() == 0) {
            return Err("nothing can be asked: no question has documents for this grid".into());
        }
        let estimate = estimate_of(self.job, &parts, request, Some(&store))?;
        self.send(SweepEvent::Planned(Box::new(estimate)));
        if let Some(judge) = &request.judge {
            // One that can't be had is said now, not after hours of asking.
            self.judge_model(judge)?;
        }
        let (mut end, to_be_judged) = self.ask(&parts, &mut lock, &store)?;
        if let Some(judge) = request.judge.as_ref().filter(|_| to_be_judged) {
            self.judge(judge, request, &store, &mut end);
        }
        Ok(end)
    }

    /// Asks part after part. One that is stopped early ends the sweep, but a model that is given up leaves the others.
    /// Also says whether a judge is to be asked.
    fn ask(
        &self,
        parts: &[Part],
        lock: &mut RunLock,
        store: &Store,
    ) -> Result<(SweepEnd, bool), String> {
        let mut end = SweepEnd::default();
        let (mut given_up, mut passed, mut asked) = (GivenUp::default(), Vec::new(), 0);
        end.progress.total = parts.iter().map(|part| part.plan.todo.len()).sum();
        let (mut unavailable, mut last_failure) = (0, None);
        let mut left: Vec<&Part> = parts.iter().collect();
        while !left.is_empty() {
            let part = left.remove(0);
            if given_up.why(&part.sweep).is_some() {
                passed.push(part);
                continue;
            }
            let before = end.progress.clone();
            let done = self.ask_one(part, lock, store, &before)?;
            let taken_over = done.reused.count();
            end.progress = after(&before, &done.ended.progress, taken_over, part.prices);
            end.replies += done.summary.replies();
            end.missing += done.summary.left();
            end.too_long += done.summary.too_long();
            unavailable += done.summary.unavailable();
            last_failure = done.ended.progress.last_failure.clone().or(last_failure);
            match &done.ended.stopped {
                Some(Stopped::ByUser) => end.by_user = true,
                Some(Stopped::GivenUp(_)) => {
                    given_up.note(&part.sweep, &done.ended);
                    if given_up.leaves(left.iter().map(|part| &part.sweep)) {
                        continue;
                    }
                }
                Some(Stopped::NotStored(why)) => end.trouble = Some(why.clone()),
                None => {
                    asked += 1;
                    continue;
                }
            }
            break;
        }
        left.extend(passed);
        let to_be_judged = asked > 0 && end.trouble.is_none() && !end.by_user;
        if end.trouble.is_none() {
            let several = parts.iter().any(|part| part.sweep.company.len() > 1);
            end.trouble = given_up.sentence(several);
        }
        // What was not begun is missing too.
        let not_begun = left
            .iter()
            .map(|part| part.plan.instances() - part.plan.done() - part.plan.too_long());
        end.missing += not_begun.sum::<usize>();
        end.too_long += left.iter().map(|part| part.plan.too_long()).sum::<usize>();
        end.replies += left.iter().map(|part| part.plan.done()).sum::<usize>();
        if end.replies == 0 && end.trouble.is_none() && !end.by_user {
            let last =
                last_failure.map_or_else(String::new, |why| format!("; the last one: {why}"));
            end.trouble = Some(format!(
                "nothing was measured: none of {unavailable} calls gave a reply{last}"
            ));
        }
        Ok((end, to_be_judged))
    }

    fn ask_one(
        &self,
        part: &Part,
        lock: &mut RunLock,
        store: &Store,
        before: &SweepProgress,
    ) -> Result<PartEnd, String> {
        let (mut last, mut taken_over): (Option<Instant>, usize) = (None, 0);
        let mut on = |step: Step<'_>| match step {
            Step::TakingOver(done, _) => taken_over = done,
            Step::Asking(progress) => {
                let now = Instant::now();
                if last.is_none_or(|last| now.duration_since(last) >= BETWEEN) {
                    last = Some(now);
                    // Of those looked at, what is not left to be asked is taken over.
                    let taken_over = match taken_over {
                        0 => 0,
                        _ => part.plan.todo.len().saturating_sub(progress.total),
                    };
                    let so_far = after(before, progress, taken_over, part.prices);
                    self.tell(SweepEvent::Progress(Box::new(so_far)));
                }
            }
        };
        self.runtime.block_on(ask_part(
            &part.sweep,
            &part.plan,
            lock,
            store,
            self.control,
            &mut on,
        ))
    }

    /// Has the sub-answers of the run judged, scores the run again, and says what came of it.
    fn judge(&self, judge: &str, request: &SweepRequest, store: &Store, end: &mut SweepEnd) {
        match self.judged(judge, request, store) {
            Ok(words) => end.judged = Some(words),
            Err(None) => end.by_user = true,
            Err(Some(why)) => end.trouble = Some(why),
        }
    }

    fn judge_model(&self, judge: &str) -> Result<Arc<dyn ChatModel>, String> {
        let setup = &self.job.setup;
        let model = match judge == setup.model.name {
            true => self.job.model(),
            false => (setup.shelf.open)(judge),
        };
        model.map_err(|error| format!("the judge can't be had: {error}"))
    }

    /// What the judge said in all; an error without words means that the user stopped it.
    fn judged(
        &self,
        judge: &str,
        request: &SweepRequest,
        store: &Store,
    ) -> Result<String, Option<String>> {
        let setup = &self.job.setup;
        let model = self.judge_model(judge).map_err(Some)?;
        let name = model.identity().name.clone();
        let settings = (setup.shelf.settings)(judge);
        let asked = JudgeRequest {
            store: store.clone(),
            run: request.run.clone(),
            model,
            templates: setup.templates.clone(),
            // A judge is asked once, for its likeliest judgement.
            sampling: Sampling {
                temperature: 0.0,
                ..settings.sampling
            },
            concurrency: CONCURRENCY,
            pace: Pace::new(Limits {
                requests_per_minute: settings.per_minute.0,
                tokens_per_minute: settings.per_minute.1,
            }),
            again: false,
        };
        self.tell(SweepEvent::Judging(0, 0));
        let mut last = Instant::now();
        let judged = self
            .runtime
            .block_on(judge_run(asked, self.control, &mut |done, total| {
                if last.elapsed() >= BETWEEN {
                    last = Instant::now();
                    self.tell(SweepEvent::Judging(done, total));
                }
            }));
        judged.map_err(|trouble| match trouble {
            JudgeTrouble::Stopped => None,
            other => Some(other.to_string()),
        })?;
        let scored =
            rescore(store, &request.run, Some(&name)).map_err(|error| Some(error.to_string()))?;
        Ok(scored
            .judges
            .get(&name)
            .map_or_else(|| "there was nothing to judge".to_owned(), judgement_words))
    }
}

/// What a judge said in all.
fn judgement_words(counts: &JudgeCounts) -> String {
    let score = counts
        .score
        .value()
        .map_or("no score".to_owned(), |score| format!("score {score:.3}"));
    let mut text = format!(
        "{score}, {} judged, {} skipped",
        count(counts.judged, "sub-answer"),
        counts.skipped
    );
    for (number, what) in [(counts.invalid, "can't be read"), (counts.failed, "failed")] {
        if number > 0 {
            text += &format!(", {number} {what}");
        }
    }
    text
}

/// The progress of all parts, where one goes on after what came before.
fn after(
    before: &SweepProgress,
    progress: &Progress,
    taken_over: usize,
    prices: Prices,
) -> SweepProgress {
    let now = progress_of(progress);
    let dollars = prices.0.zip(prices.1).map(|(price_in, price_out)| {
        let prompt = now.prompt_tokens as f64 * price_in;
        (prompt + now.completion_tokens as f64 * price_out) / 1e6
    });
    SweepProgress {
        total: before.total,
        finished: before.finished + taken_over + now.finished,
        replies: before.replies + taken_over + now.replies,
        broken: before.broken + now.broken,
        failures: sums(&before.failures, &now.failures),
        last_failure: now.last_failure.or_else(|| before.last_failure.clone()),
        retries: sums(&before.retries, &now.retries),
        prompt_tokens: before.prompt_tokens + now.prompt_tokens,
        completion_tokens: before.completion_tokens + now.completion_tokens,
        unmeasured: before.unmeasured + now.unmeasured,
        waiting: now.waiting,
        // The first part has nothing before it.
        dollars: match before.elapsed.is_zero() {
            true => dollars,
            false => before
                .dollars
                .zip(dollars)
                .map(|(before, now)| before + now),
        },
        in_flight: now.in_flight,
        limit: now.limit,
        elapsed: before.elapsed + now.elapsed,
    }
}

/// Counts by name, added.
fn sums<N: Copy + std::ops::AddAssign>(
    before: &[(String, N)],
    now: &[(String, N)],
) -> Vec<(String, N)> {
    let mut sums = before.to_vec();
    for (name, count) in now {
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += *count,
            None => sums.push((name.clone(), *count)),
        }
    }
    sums
}

fn progress_of(progress: &Progress) -> SweepProgress {
    SweepProgress {
        total: progress.total,
        finished: progress.finished,
        replies: progress.replies,
        broken: progress.broken,
        failures: named(progress.failures.iter()),
        last_failure: progress.last_failure.clone(),
        retries: named(progress.retries.iter()),
        prompt_tokens: progress.prompt_tokens,
        completion_tokens: progress.completion_tokens,
        unmeasured: progress.unmeasured,
        waiting: progress.waits(),
        in_flight: progress.in_flight,
        limit: progress.limit,
        elapsed: progress.elapsed,
        ..SweepProgress::default()
    }
}

/// Counts with the kinds' names.
fn named<'a, N: Copy + 'a>(
    counts: impl Iterator<Item = (&'a FailureKind, &'a N)>,
) -> Vec<(String, N)> {
    let name = |kind: &FailureKind| {
        let name = serde_json::to_value(kind).unwrap_or_default();
        name.as_str().unwrap_or("other").replace('_', " ")
    };
    counts.map(|(kind, count)| (name(kind), *count)).collect()
}
