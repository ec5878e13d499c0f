//! A sweep of several models and repeats: the sweeps that it is made of, what a judge will cost after them, and
//! asking one of them.

use std::cell::RefCell;
use std::sync::Arc;

use crate::data::dataset::Dataset;
use crate::data::store::{RunLock, Store};
use crate::domain::context::Condition;
use crate::domain::plan::stratified;
use crate::domain::prompt::Templates;
use crate::domain::question::Question;
use crate::engine::rescore::judged_answers;
use crate::engine::sweep::{
    Control, Ended, Limits, Noted, Pace, Plan, Progress, Reused, Summary, Sweep, drive, reuse,
    summarise,
};
use crate::model::tokens::estimate_prompt;
use crate::model::{ChatModel, Sampling};

/// A model of a sweep, and how it is asked.
pub struct AskedModel {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// Sampling settings of the first repeat.
    pub sampling: Sampling,
    /// What its provider allows per minute.
    pub limits: Limits,
    /// Keeps to them in all sweeps of the model, one after another.
    pub pace: Pace,
}

impl AskedModel {
    /// A model that nothing has been asked of within the last minute.
    pub fn new(model: Arc<dyn ChatModel>, sampling: Sampling, limits: Limits) -> AskedModel {
        AskedModel {
            model,
            sampling,
            limits,
            pace: Pace::new(limits),
        }
    }
}

/// What the sweeps of an order have in common.
pub struct Order {
    /// The dataset.
    pub dataset: Arc<Dataset>,
    /// The prompt templates.
    pub templates: Arc<Templates>,
    /// Name of the run that holds all of them.
    pub run: String,
    /// As in [`Sweep`].
    pub datasets: Vec<String>,
    /// As in [`Sweep`].
    pub noted: Noted,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// Positions of the questions in the dataset, rising.
    pub questions: Vec<usize>,
    /// How often every instance is asked, at least 1.
    pub repeats: u8,
    /// The most calls at a time.
    pub concurrency: usize,
    /// As in [`Sweep`].
    pub only_failed: bool,
    /// As in [`Sweep`].
    pub append: bool,
    /// As in [`Sweep`].
    pub reuse: bool,
}

impl Order {
    /// The sweeps in the order in which they are asked: all repeats of the first model, then those of the next. Each
    /// comes with the position of its model.
    pub fn sweeps(&self, models: &[AskedModel]) -> Vec<(usize, Sweep)> {
        let names = models
            .iter()
            .map(|asked| asked.model.identity().name.clone());
        let company: Vec<String> = names.collect();
        let repeats = u64::from(self.repeats.max(1));
        models
            .iter()
            .enumerate()
            .flat_map(|at| (0..repeats).map(move |repeat| (at, repeat)))
            .map(|((at, asked), repeat)| {
                let sweep = Sweep {
                    run: self.run.clone(),
                    company: company.clone(),
                    datasets: self.datasets.clone(),
                    noted: self.noted.clone(),
                    dataset: Arc::clone(&self.dataset),
                    templates: Arc::clone(&self.templates),
                    model: Arc::clone(&asked.model),
                    sampling: repeated(&asked.sampling, repeat),
                    conditions: self.conditions.clone(),
                    questions: self.questions.clone(),
                    concurrency: self.concurrency,
                    limits: asked.limits,
                    pace: asked.pace.clone(),
                    only_failed: self.only_failed,
                    append: self.append,
                    reuse: self.reuse,
                };
                (at, sweep)
            })
            .collect()
    }
}

/// The sampling of the k-th repeat: the first is that of a sweep without repeats.
fn repeated(sampling: &Sampling, repeat: u64) -> Sampling {
    match repeat {
        0 => sampling.clone(),
        _ => Sampling {
            seed: Some(sampling.seed.unwrap_or(0).wrapping_add(repeat)),
            ..sampling.clone()
        },
    }
}

/// Positions of the questions of a sweep, rising: of the first `limit` a sample of `sample`, drawn by the seed, in
/// which each set and each right answer has its share.
///
/// # Errors
/// A sentence where more are to be drawn than there are.
pub fn chosen_questions(
    dataset: &Dataset,
    limit: Option<usize>,
    sample: Option<usize>,
    seed: u64,
) -> Result<Vec<usize>, String> {
    let all = dataset.questions.len().min(limit.unwrap_or(usize::MAX));
    let Some(sample) = sample else {
        return Ok((0..all).collect());
    };
    if sample > all {
        return Err(format!(
            "a sample of {sample} is asked for, but there are only {all} questions to draw from"
        ));
    }
    let strata: Vec<String> = dataset.questions[..all].iter().map(stratum).collect();
    Ok(stratified(&strata, sample, seed))
}

/// Questions that a sample should hold in the same share as the dataset: of one set, with one right answer.
fn stratum(question: &Question) -> String {
    let set = question.extra.get("dataset").and_then(|set| set.as_str());
    format!("{} {}", set.unwrap_or_default(), question.answer)
}

/// What a judge will be asked at most: a skipped sub-answer needs no call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeEstimate {
    /// The name under which its judgements are stored.
    pub judge: String,
    /// Sub-answers that the run holds a judgement of.
    pub done: usize,
    /// Calls at most.
    pub calls: usize,
    /// Predicted tokens of their prompts.
    pub prompt_tokens: u64,
}

/// What a judge will be asked about the sub-answers of these plans, all of one run.
///
/// # Errors
/// A sentence where the judge's template is broken or the store can't be read.
pub fn estimate_judge<'a>(
    judge: String,
    plans: impl IntoIterator<Item = &'a Plan>,
    templates: &Templates,
    stored: Option<(&Store, &str)>,
) -> Result<JudgeEstimate, String> {
    let frame = templates
        .render_judge("", "", "")
        .map_err(|error| error.to_string())?;
    let (mut all, mut tokens) = (0, 0);
    for plan in plans {
        let (subs, of_subs) = plan.sub_questions();
        all += subs;
        tokens += of_subs + subs as u64 * estimate_prompt(&frame);
    }
    let done = match stored {
        Some((store, run)) => {
            judged_answers(store, run, &judge).map_err(|error| error.to_string())?
        }
        None => 0,
    };
    let calls = all.saturating_sub(done);
    Ok(JudgeEstimate {
        judge,
        done: done.min(all),
        calls,
        // The sub-questions that are done are taken to be as long as the others.
        prompt_tokens: (tokens * calls as u64).checked_div(all as u64).unwrap_or(0),
    })
}

/// How far a sweep of an order is.
#[derive(Debug)]
pub enum Step<'a> {
    /// Places looked at for replies that can be taken over, of all.
    TakingOver(usize, usize),
    /// Asking.
    Asking(&'a Progress),
}

/// What came of a sweep of an order.
#[derive(Debug)]
pub struct PartEnd {
    /// What was taken over.
    pub reused: Reused,
    /// How asking ended.
    pub ended: Ended,
    /// The run's figures after it.
    pub summary: Summary,
}

/// Asks what the plan of a sweep says: takes over what the store holds elsewhere, asks the rest, and reads the figures
/// back. A start that has something to do is written into the run's logbook first.
///
/// # Errors
/// A sentence where the store or the logbook can't be read or written, or a template is broken.
pub async fn ask_part(
    sweep: &Sweep,
    plan: &Plan,
    lock: &mut RunLock,
    store: &Store,
    control: &Control,
    on: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<PartEnd, String> {
    if !plan.todo.is_empty() {
        lock.log(&sweep.log_entry())
            .map_err(|error| error.to_string())?;
    }
    let mut reused = take_over(sweep, &plan.todo, store, on)?;
    let ended = drive(sweep, &reused.to_ask, store, control, &mut |progress| {
        on(Step::Asking(progress));
    })
    .await;
    if ended.stopped.is_none() && !reused.repeats.is_empty() {
        let repeated = take_over(sweep, &reused.repeats, store, on)?;
        reused.add(&repeated);
    }
    Ok(PartEnd {
        reused,
        summary: summarise(sweep, plan, store).map_err(|error| error.to_string())?,
        ended,
    })
}

fn take_over(
    sweep: &Sweep,
    todo: &[crate::engine::survey::Place],
    store: &Store,
    on: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Reused, String> {
    let on = RefCell::new(on);
    reuse(sweep, todo, store, &|done| {
        if sweep.reuse {
            (on.borrow_mut())(Step::TakingOver(done, todo.len()));
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn repeats_count_the_samplers_seed_up() {
        let plain = Sampling::default();
        assert_eq!(repeated(&plain, 0), plain);
        assert_eq!(
            repeated(&plain, 2).seed,
            plain.seed.unwrap_or(0).checked_add(2)
        );
        let last = Sampling {
            seed: Some(u64::MAX),
            ..plain
        };
        assert_eq!(repeated(&last, 1).seed, Some(0));
    }

    #[test]
    fn a_sample_is_drawn_from_the_first_questions_and_never_from_more_than_there_are() {
        let sample = Dataset::sample().unwrap();
        let all = sample.questions.len();
        let chosen = |limit, count| chosen_questions(&sample, limit, count, 0);
        assert_eq!(chosen(None, None).unwrap(), (0..all).collect::<Vec<_>>());
        assert_eq!(chosen(Some(3), None).unwrap(), [0, 1, 2]);
        assert_eq!(chosen(Some(9999), None).unwrap().len(), all);
        let drawn = chosen(Some(16), Some(8)).unwrap();
        assert_eq!(drawn.len(), 8);
        assert!(
            drawn.is_sorted() && drawn.iter().all(|&at| at < 16),
            "{drawn:?}"
        );
        assert_eq!(chosen(Some(16), Some(8)).unwrap(), drawn);
        let why = chosen(Some(4), Some(5)).unwrap_err();
        assert!(why.contains("only 4 questions"), "{why}");
    }
}
