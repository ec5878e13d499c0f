//! How `medrgb sweep` shows its plan and its figures.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::judge::Estimate;
use super::prepare::{Part, Prices};
use super::progress;
use super::totals::Totals;
use crate::cli::audit::{draw_words, percent};
use crate::domain::cost::Cost;
use crate::domain::text::{clean, count, short};
use crate::engine::sweep::{PartEnd, Reused, Stopped, Summary};

/// The plan of all parts for reading.
pub(super) fn plan(parts: &[Part], totals: &Totals, judge: Option<&Estimate>) -> String {
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        let new = |of: fn(&Part) -> String| {
            let before = &parts[..at];
            !before.iter().any(|other| of(other) == of(part))
        };
        // What a part has in common with one before it is not said again.
        if new(about) {
            let _ = writeln!(out, "{}", about(part));
            if let Some(caution) = &part.sweep.model.identity().caution {
                let _ = writeln!(out, "caution: {caution}");
            }
        }
    }
    out.push_str(&heading());
    for part in parts {
        if parts.len() > 1 {
            let _ = writeln!(out, "{}", part.title());
        }
        rows(part, &mut out);
        if parts.len() > 1 {
            let _ = writeln!(
                out,
                "  {}",
                sums(part.plan.conditions.len(), &Sums::of(part))
            );
        }
    }
    let cost = totals.cost_usd_to_ask;
    let all = Sums {
        instances: totals.instances,
        done: totals.done,
        to_reuse: totals.to_reuse,
        to_ask: totals.to_ask,
        tokens: totals.prompt_tokens_to_ask,
        cost,
    };
    let factors = [
        (totals.datasets, "dataset"),
        (totals.models, "model"),
        (totals.repeats, "repeat"),
        (totals.seeds, "seed"),
    ];
    let factors: Vec<String> = factors
        .into_iter()
        .filter(|(number, _)| *number > 1)
        .map(|(number, what)| count(number, what))
        .collect();
    let over = match factors.is_empty() {
        true => String::new(),
        false => format!("over {}: ", factors.join(", ")),
    };
    let _ = writeln!(out, "\n{over}{}", sums(totals.conditions, &all));
    findings(totals, &mut out);
    if let Some(judge) = judge {
        out.push_str(&judge.words());
        let _ = writeln!(
            out,
            "with the judge: at most {}{}",
            count(totals.calls_with_judge_at_most, "call"),
            totals
                .cost_usd_with_judge
                .words()
                .replace(" for them", " for the prompts")
        );
    }
    let _ = writeln!(out, "time: {}\n", totals.time_words());
    clean(&out)
}

/// What is asked of whom, for the head of a plan.
fn about(part: &Part) -> String {
    let sweep = &part.sweep;
    format!(
        "run \"{}\": {} questions of {}, model {}, temperature {}, replies of at most {} tokens, at most {} calls at a time",
        sweep.run,
        sweep.space().question_count(),
        sweep.dataset.name,
        sweep.model.identity().name,
        sweep.sampling.temperature,
        sweep.sampling.max_tokens,
        sweep.ceiling(),
    )
}

fn heading() -> String {
    format!(
        "\n{:<12} {:<11} {:>4} {:>4} {:>9} {:>7} {:>6} {:>8} {:>6} {:>6} {:>12}\n",
        "scenario",
        "draw",
        "n",
        "p",
        "instances",
        "without",
        "short",
        "overflow",
        "done",
        "to ask",
        "tokens"
    )
}

fn rows(part: &Part, out: &mut String) {
    for planned in &part.plan.conditions {
        let counts = &planned.counts;
        let _ = writeln!(
            out,
            "{:<12} {:<11} {:>4} {:>4} {:>9} {:>7} {:>6} {:>8} {:>6} {:>6} {:>12}",
            counts.condition.scenario.name(),
            draw_words(&counts.condition),
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
}

/// What a sum says of a part, or of all.
struct Sums {
    instances: usize,
    done: usize,
    to_reuse: usize,
    to_ask: usize,
    tokens: u64,
    cost: Cost,
}

impl Sums {
    fn of(part: &Part) -> Sums {
        Sums {
            instances: part.plan.instances(),
            done: part.plan.done(),
            to_reuse: part.plan.to_reuse(),
            to_ask: part.plan.to_ask(),
            tokens: part.plan.tokens_to_ask(),
            cost: part.cost(),
        }
    }
}

fn sums(conditions: usize, sums: &Sums) -> String {
    let reuse = match sums.to_reuse {
        0 => String::new(),
        count => format!("{count} to take over from other runs, "),
    };
    format!(
        "{}, {}: {} done, {reuse}{} to ask with about {} prompt tokens{}",
        count(conditions, "condition"),
        count(sums.instances, "instance"),
        sums.done,
        sums.to_ask,
        sums.tokens,
        sums.cost.words()
    )
}

/// What an audit would find first: what is short, missing or too long.
fn findings(totals: &Totals, out: &mut String) {
    for (number, what) in [
        (
            totals.without,
            "have nothing to compose from (without) and are left out",
        ),
        (
            totals.short,
            "get fewer documents than asked for (short); --full-contexts of report leaves them out",
        ),
        (
            totals.too_long,
            "do not fit the model's window (overflow): no call is made for them, and they cost nothing",
        ),
    ] {
        if number > 0 {
            let _ = writeln!(out, "{} {what}", count(number, "instance"));
        }
    }
    if totals.without + totals.short + totals.too_long > 0 {
        out.push_str("`medrgb audit` with the same grid says more about the documents\n");
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
        "{:<12} {:<11} {:>4} {:>4} {:>7} {:>9} {:>17} {:>12} {:>10} {:>11} {:>7} {:>8} {:>6}\n",
        "scenario",
        "draw",
        "n",
        "p",
        "replies",
        "accuracy",
        "95 % interval",
        "insufficient",
        "unreadable",
        "unavailable",
        "missing",
        "overflow",
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
            "{:<12} {:<11} {:>4} {:>4} {:>7} {:>9} {:>17} {:>12} {:>10} {:>11} {:>7} {:>8} {:>6}",
            row.condition.scenario.name(),
            draw_words(&row.condition),
            row.condition.docs,
            percent(&row.condition),
            row.n,
            accuracy,
            interval,
            row.insufficient,
            row.unreadable,
            row.unavailable,
            row.missing - row.too_long,
            row.too_long,
            row.short,
        );
    }
    out
}

/// The object of `sweep --json`: the plan, what happened, and the figures by condition.
pub(super) fn json(plan: Value, done: &PartEnd, prices: Prices) -> Value {
    let (ended, summary) = (&done.ended, &done.summary);
    let progress = &ended.progress;
    let stopped = ended.stopped.as_ref().map(|stopped| match stopped {
        Stopped::ByUser => json!({"why": "user"}),
        Stopped::GivenUp(message) => json!({"why": "failures", "message": message}),
        Stopped::NotStored(message) => json!({"why": "store", "message": message}),
    });
    let cost = progress::cost(prices, progress);
    let (at_least, cost) = match progress.unmeasured {
        0 => (None, cost),
        _ => (cost, None),
    };
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
            "cost_usd_at_least": at_least,
            "replies_without_usage": progress.unmeasured,
        },
        "seconds": progress.elapsed.as_secs_f64(),
        "most_in_flight": progress.most_in_flight,
        "stopped": stopped,
        "n": summary.replies(),
        "missing": summary.missing(),
        "too_long": summary.too_long(),
        "last_failure": progress.last_failure,
        "unavailable": summary.unavailable(),
        "conditions": summary.conditions,
        "plan": plan,
    })
}
