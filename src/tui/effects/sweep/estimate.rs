//! What a sweep would ask: the figures that the command's plan has too.

use std::sync::Arc;

use crate::data::dataset::Dataset;
use crate::data::store::Store;
use crate::domain::context::Condition;
use crate::domain::cost::Cost;
use crate::engine::sweep::{estimate_judge, estimate_time};
use crate::tui::app::plan::{Estimate, EstimatedCondition, JudgePlan, SweepRequest, TimeEstimate};
use crate::tui::effects::Job;
use crate::tui::effects::sweep::{Models, Part, planned};

/// What a sweep would ask.
///
/// # Errors
/// One sentence.
pub(super) fn estimated(
    job: &Job,
    models: &Models,
    dataset: Arc<Dataset>,
    request: &SweepRequest,
) -> Result<Estimate, String> {
    let store = job.reading()?;
    let parts = planned(job, models, dataset, request, store.as_ref(), &|_, _| {})?;
    let mut estimate = estimate_of(job, &parts, request, store.as_ref())?;
    let sweeps = parts.iter().map(|part| (&part.sweep, &part.plan));
    estimate.time = estimate_time(store.as_ref(), sweeps).map(|time| TimeEstimate {
        per_reply: time.per_reply,
        replies: time.replies,
        seconds: time.seconds,
        at_least: time.at_least,
    });
    Ok(estimate)
}

/// What planned sweeps will ask, without the time.
///
/// # Errors
/// One sentence about the judge.
pub(super) fn estimate_of(
    job: &Job,
    parts: &[Part],
    request: &SweepRequest,
    store: Option<&Store>,
) -> Result<Estimate, String> {
    let mut estimate = Estimate {
        judge: judge_plan(job, parts, request, store)?,
        ..Estimate::default()
    };
    let (mut models, mut cautions) = (Vec::new(), Vec::new());
    for part in parts {
        let identity = part.sweep.model.identity();
        add_new(&mut models, [identity.name.clone()]);
        add_new(&mut cautions, identity.caution.clone());
        add_new(&mut estimate.notes, part.plan.notes.clone());
        add_part(&mut estimate, part);
    }
    estimate.model = models.join(", ");
    estimate.caution = (!cautions.is_empty()).then(|| cautions.join("; "));
    let left_out = request.conditions.left_out.iter();
    add_new(
        &mut estimate.notes,
        left_out.map(|(cell, why)| format!("{}: {why}", words(cell))),
    );
    Ok(estimate)
}

/// Adds texts that are not there yet.
fn add_new(texts: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for text in more {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
}

/// Adds what one sweep will ask. A price that is not known makes the sum unknown.
fn add_part(sum: &mut Estimate, part: &Part) {
    let (sweep, plan) = (&part.sweep, &part.plan);
    let (to_ask, tokens) = (plan.to_ask(), plan.tokens_to_ask());
    let max_tokens = sweep.sampling.max_tokens;
    let cost = Cost::of((to_ask, tokens), max_tokens, part.prices);
    sum.cost = match sum.conditions.is_empty() {
        true => cost,
        false => sum.cost.and(cost),
    };
    for planned in &plan.conditions {
        let row = row_of(&mut sum.conditions, planned.counts.condition);
        row.instances += planned.counts.instances;
        row.without += planned.counts.nothing_to_use;
        row.short += planned.counts.short;
        row.overflow += planned.counts.overflow;
        row.done += planned.done;
        row.to_ask += planned.to_ask;
        row.tokens += planned.tokens_to_ask;
    }
    sum.questions = sweep.space().question_count();
    sum.instances += plan.instances();
    sum.done += plan.done();
    sum.to_reuse += plan.to_reuse();
    sum.to_ask += to_ask;
    sum.too_long += plan.too_long();
    sum.tokens += tokens;
    sum.reply_tokens += u64::from(max_tokens) * to_ask as u64;
    sum.concurrency = sum.concurrency.max(sweep.ceiling());
}

/// The row of a condition, which holds all seeds.
fn row_of(rows: &mut Vec<EstimatedCondition>, condition: Condition) -> &mut EstimatedCondition {
    let seedless = |condition: Condition| Condition {
        seed: 0,
        ..condition
    };
    let wanted = seedless(condition);
    let known = rows.iter().position(|row| row.condition == wanted);
    let at = known.unwrap_or_else(|| {
        rows.push(EstimatedCondition::none(wanted));
        rows.len() - 1
    });
    &mut rows[at]
}

/// What the judge of the request will be asked; the judge is not opened for that.
fn judge_plan(
    job: &Job,
    parts: &[Part],
    request: &SweepRequest,
    store: Option<&Store>,
) -> Result<Option<JudgePlan>, String> {
    let Some(judge) = &request.judge else {
        return Ok(None);
    };
    let shelf = &job.setup.shelf;
    let name = (shelf.judge_name)(judge).map_err(|why| format!("judge: {why}"))?;
    let found = estimate_judge(
        name,
        parts.iter().map(|part| &part.plan),
        &job.setup.templates,
        store.map(|store| (store, request.run.as_str())),
    )?;
    let settings = (shelf.settings)(judge);
    Ok(Some(JudgePlan {
        cost: Cost::of(
            (found.calls, found.prompt_tokens),
            settings.sampling.max_tokens,
            settings.prices,
        ),
        name: found.judge,
        done: found.done,
        calls: found.calls,
        tokens: found.prompt_tokens,
    }))
}

fn words(cell: &Condition) -> String {
    format!(
        "{} with n = {}, p = {} % is left out",
        cell.scenario, cell.docs, cell.p
    )
}
