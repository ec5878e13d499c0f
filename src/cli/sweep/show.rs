//! How `medrgb sweep` shows its plan and its figures.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::cli::audit::percent;
use crate::config::ModelConfig;
use crate::domain::cost::Cost;
use crate::domain::text::{clean, count, short};
use crate::engine::sweep::{PartEnd, Plan, Reused, Stopped, Summary, Sweep};

/// The plan for reading.
pub(super) fn plan(sweep: &Sweep, plan: &Plan, cost: Cost) -> String {
    let identity = sweep.model.identity();
    let mut out = format!(
        "run \"{}\": {} questions of {}, model {}, temperature {}, replies of at most {} tokens, at most {} calls at a time\n",
        sweep.run,
        sweep.space().question_count(),
        sweep.dataset.name,
        identity.name,
        sweep.sampling.temperature,
        sweep.sampling.max_tokens,
        sweep.ceiling(),
    );
    if let Some(caution) = &identity.caution {
        let _ = writeln!(out, "caution: {caution}");
    }
    let _ = writeln!(
        out,
        "\n{:<12} {:>4} {:>4} {:>9} {:>7} {:>6} {:>8} {:>6} {:>6} {:>12}",
        "scenario",
        "n",
        "p",
        "instances",
        "without",
        "short",
        "overflow",
        "done",
        "to ask",
        "tokens"
    );
    for planned in &plan.conditions {
        let counts = &planned.counts;
        let _ = writeln!(
            out,
            "{:<12} {:>4} {:>4} {:>9} {:>7} {:>6} {:>8} {:>6} {:>6} {:>12}",
            counts.condition.scenario.name(),
            counts.condition.docs,
            percent(&counts.condition),
            counts.instances,
            counts.nothing_to_use,
            counts.short,
            counts.overflow,
            planned.done,
            planned.to_ask,
            planned.tokens_to_ask,
        );
    }
    let _ = writeln!(
        out,
        "\n{} conditions, {} instances: {} done, {}{} to ask with about {} prompt tokens{}\n",
        plan.conditions.len(),
        plan.instances(),
        plan.done(),
        to_reuse(plan),
        plan.to_ask(),
        plan.tokens_to_ask(),
        cost.words()
    );
    clean(&out)
}

/// How many replies will be taken over, where any will.
fn to_reuse(plan: &Plan) -> String {
    match plan.to_reuse() {
        0 => String::new(),
        count => format!("{count} to take over from other runs, "),
    }
}

/// What was taken over, in one sentence.
pub(super) fn reused(reused: &Reused) -> String {
    let runs: Vec<String> = reused
        .from
        .iter()
        .map(|(run, replies)| format!("{replies} from \"{}\"", short(run)))
        .collect();
    format!(
        "{} taken over without a call: {}",
        count(reused.count(), "reply"),
        runs.join(", ")
    )
}

/// The figures for reading.
pub(super) fn summary(summary: &Summary) -> String {
    let mut out = format!(
        "{:<12} {:>4} {:>4} {:>6} {:>9} {:>17} {:>12} {:>10} {:>11} {:>7} {:>6}\n",
        "scenario",
        "n",
        "p",
        "replies",
        "accuracy",
        "95 % interval",
        "insufficient",
        "unreadable",
        "unavailable",
        "missing",
        "short"
    );
    for row in &summary.conditions {
        let percents = |rate: f64| format!("{:.1} %", rate * 100.0);
        let accuracy = row.accuracy.map_or("-".to_owned(), percents);
        let interval = row.interval.map_or("-".to_owned(), |(low, high)| {
            format!("{:.1} to {:.1} %", low * 100.0, high * 100.0)
        });
        let _ = writeln!(
            out,
            "{:<12} {:>4} {:>4} {:>7} {:>9} {:>16} {:>12} {:>10} {:>11} {:>7} {:>6}",
            row.condition.scenario.name(),
            row.condition.docs,
            percent(&row.condition),
            row.n,
            accuracy,
            interval,
            row.insufficient,
            row.unreadable,
            row.unavailable,
            row.missing,
            row.short,
        );
    }
    out
}

/// The object of `sweep --json`: the plan, what happened, and the figures by condition.
pub(super) fn json(plan: Value, done: &PartEnd, price: Option<&ModelConfig>) -> Value {
    let (ended, summary) = (&done.ended, &done.summary);
    let progress = &ended.progress;
    let stopped = ended.stopped.as_ref().map(|stopped| match stopped {
        Stopped::ByUser => json!({"why": "user"}),
        Stopped::GivenUp(message) => json!({"why": "failures", "message": message}),
        Stopped::NotStored(message) => json!({"why": "store", "message": message}),
    });
    let cost = price.and_then(|model| {
        let prompt = progress.prompt_tokens as f64 * model.price_in?;
        Some((prompt + progress.completion_tokens as f64 * model.price_out?) / 1e6)
    });
    json!({
        "run": plan["run"],
        "reused": done.reused.count(),
        "reused_from": done.reused.from,
        "asked": progress.finished,
        "replies": progress.replies,
        "broken": progress.broken,
        "failures": progress.failures,
        "retries": progress.retries,
        "usage": {
            "prompt_tokens": progress.prompt_tokens,
            "completion_tokens": progress.completion_tokens,
            "cost_usd": cost,
        },
        "seconds": progress.elapsed.as_secs_f64(),
        "most_in_flight": progress.most_in_flight,
        "stopped": stopped,
        "n": summary.replies(),
        "missing": summary.missing(),
        "unavailable": summary.unavailable(),
        "conditions": summary.conditions,
        "plan": plan,
    })
}
