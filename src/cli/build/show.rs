//! How `medrgb build` shows its plan, its stages and its checks.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::config::ModelConfig;
use crate::domain::build::{IssueKind, Level, Loss, Predicted, StagePlan, by_reason, closing};
use crate::domain::text::{clean, count, one_line, shortened};
use crate::engine::build::{Build, Done, Validation};

/// Reasons and issues that the text form shows of each kind.
const SHOWN: usize = 5;
/// The most characters of a reason.
const LONGEST_REASON: usize = 220;

/// Dollars per million prompt and reply tokens, as far as they are known.
fn prices(price: Option<&ModelConfig>) -> (Option<f64>, Option<f64>) {
    price.map_or((None, None), |price| (price.price_in, price.price_out))
}

/// The object of `--plan --json`.
pub(super) fn plan_json(build: &Build, plans: &[StagePlan], price: Option<&ModelConfig>) -> Value {
    let all = Predicted::of(plans);
    json!({
        "out": build.parts.folder.path(),
        "questions": build.parts.questions.len(),
        "worked_on": build.work.len(),
        "changed_questions": build.outdated.ids,
        "not_given": build.not_given,
        "model": build.parts.model.as_ref().map(|model| model.identity().name.clone()),
        "stages": plans,
        "settings": build.parts.settings,
        "calls": all.calls,
        "prompt_tokens": all.prompt_tokens,
        "reply_tokens": all.reply_tokens,
        "cost_usd": all.dollars(prices(price)),
        "seconds": all.seconds,
    })
}

/// The plan for reading.
pub(super) fn plan(build: &Build, plans: &[StagePlan], price: Option<&ModelConfig>) -> String {
    let model = build
        .parts
        .model
        .as_ref()
        .map(|model| model.identity().name.clone());
    let mut out = format!(
        "{} of {}, model {}, into {}\n\n{:<15} {:>8} {:>9} {:>8} {:>8} {:>12} {:>12}\n",
        count(build.work.len(), "question"),
        build.parts.questions.len(),
        model.as_deref().unwrap_or("none"),
        one_line(&build.parts.folder.path().display().to_string()),
        "stage",
        "items",
        "answered",
        "calls",
        "at most",
        "prompt",
        "reply"
    );
    for plan in plans {
        let mark = if plan.guessed { "about " } else { "" };
        let _ = writeln!(
            out,
            "{:<15} {:>8} {:>9} {:>8} {:>8} {:>12} {:>12}",
            plan.stage,
            format!("{mark}{}", plan.items),
            plan.answered,
            plan.calls,
            plan.calls_at_most,
            plan.prompt_tokens,
            plan.reply_tokens,
        );
    }
    let all = Predicted::of(plans);
    let (calls, prompt, reply) = (all.calls, all.prompt_tokens, all.reply_tokens);
    let cost = match all.dollars(prices(price)) {
        Some(cost) => format!("about ${cost:.2}"),
        None => "no price is known (price_in and price_out of the model's settings)".to_owned(),
    };
    let time = match all.seconds {
        Some(seconds) => format!("about {}", duration(seconds)),
        None => "unknown before the first calls of this model".to_owned(),
    };
    let _ = writeln!(
        out,
        "\n{calls} calls with about {prompt} prompt and {reply} reply tokens\ncost: {cost}\ntime: {time}\n\
         answered: the ledger has it already; at most: if every reply had to be repaired to the last"
    );
    clean(&out)
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// A stage as JSON.
pub(super) fn stage_json(done: &Done) -> Value {
    let report = &done.report;
    let nothings = report.nothings();
    let later: Vec<Value> = done
        .later
        .iter()
        .map(|one| json!({"stage": one.stage.name(), "gone": one.gone, "due": one.due}))
        .collect();
    let list = |losses: Vec<(&str, &Loss)>| -> Vec<Value> {
        losses
            .into_iter()
            .map(|(id, loss)| json!({"question_id": id, "item": loss.item, "reason": loss.reason}))
            .collect()
    };
    json!({
        "stage": done.stage.name(),
        "questions": report.questions.len(),
        "made": report.made(),
        "repaired": report.repaired(),
        "dropped": list(report.losses(|one| &one.dropped).collect()),
        "failed": list(report.losses(|one| &one.failed).collect()),
        "flawed": list(report.losses(|one| &one.flawed).collect()),
        "skipped": list(report.losses(|one| &one.skipped).collect()),
        "stayed": list(report.losses(|one| &one.stayed).collect()),
        "nothing": list(nothings.iter().map(|(id, loss)| (*id, loss)).collect()),
        "later": later,
        "calls": done.tally,
    })
}

/// A stage for reading: what was asked for, what became of it, and what was lost for which reasons.
pub(super) fn stage(done: &Done) -> String {
    let report = &done.report;
    let mut out = format!(
        "{:<15} {}; {}, {} from the ledger\n",
        done.stage.name(),
        closing::outcome(done.stage, report),
        count(done.tally.asked, "call"),
        done.tally.reused,
    );
    let nothings = report.nothings();
    let pages = ("page not read", "pages not read");
    for (words, losses) in [
        (
            ("dropped", "dropped"),
            report.losses(|one| &one.dropped).collect(),
        ),
        (
            ("no reply", "no reply"),
            report.losses(|one| &one.failed).collect(),
        ),
        (
            ("kept with a flaw", "kept with a flaw"),
            report.losses(|one| &one.flawed).collect(),
        ),
        (
            ("from before", "from before"),
            report.losses(|one| &one.stayed).collect(),
        ),
        (pages, report.losses(|one| &one.skipped).collect::<Vec<_>>()),
        (
            (
                "question with nothing to make",
                "questions with nothing to make",
            ),
            nothings.iter().map(|(id, loss)| (*id, loss)).collect(),
        ),
    ] {
        write_losses(&mut out, words, losses.into_iter());
    }
    for later in &done.later {
        let _ = writeln!(
            out,
            "    {}",
            closing::of_later(later.stage, later.gone, later.due)
        );
    }
    out
}

/// Losses of one kind, one line for each reason, with the first item that was lost for it.
fn write_losses<'a>(
    out: &mut String,
    (one, several): (&str, &str),
    losses: impl Iterator<Item = (&'a str, &'a Loss)>,
) {
    let groups = by_reason(losses);
    for (_, losses) in groups.iter().take(SHOWN) {
        let Some((id, loss)) = losses.first() else {
            continue;
        };
        let item = match loss.item.is_empty() {
            true => String::new(),
            false => format!(", {}", loss.item),
        };
        let such = match losses.len() {
            1 => "",
            _ => "such as ",
        };
        let what = if losses.len() == 1 { one } else { several };
        let text = format!(
            "{} {what}: {such}question {id}{item}: {}",
            losses.len(),
            loss.reason
        );
        let _ = writeln!(out, "    {}", shortened(&one_line(&text), LONGEST_REASON));
    }
    let more: usize = groups.iter().skip(SHOWN).map(|(_, all)| all.len()).sum();
    if more > 0 {
        let what = if more == 1 { one } else { several };
        let _ = writeln!(out, "    {more} {what} for other reasons, see report.json");
    }
}

/// What the checks found, for reading.
pub(super) fn validation(name: &str, found: &Validation) -> String {
    let mut out = format!(
        "{}: {}, {}, {}, {}: {}, {}, {}\n",
        clean(name),
        count(found.questions, "question"),
        count(found.documents, "document"),
        count(found.sub_questions, "sub-question"),
        count(found.counterfactuals, "adversarial version"),
        count(found.errors, "error"),
        count(found.warnings, "warning"),
        count(found.notices, "notice"),
    );
    if let Some(ratio) = found.edit_ratio {
        let _ = writeln!(
            out,
            "edits change {:.1} % of the words on average, {:.1} % at most",
            ratio.mean * 100.0,
            ratio.largest * 100.0
        );
    }
    for kind in IssueKind::ALL {
        let Some(number) = found.kinds.get(&kind) else {
            continue;
        };
        let level = match kind.level() {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Notice => "notice",
        };
        let _ = writeln!(out, "\n{level:<8} {number:>5}  {}", kind.words());
        for issue in found
            .issues
            .iter()
            .filter(|issue| issue.kind == kind)
            .take(SHOWN)
        {
            let place = match (issue.question_id.as_str(), issue.document.as_str()) {
                ("", _) => String::new(),
                (question, "") => format!("question {question}: "),
                (question, document) => format!("question {question}, {document}: "),
            };
            let text = one_line(&format!("{place}{}", issue.detail));
            let _ = writeln!(out, "                {}", shortened(&text, LONGEST_REASON));
        }
    }
    out
}
