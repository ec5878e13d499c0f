//! How `medrgb probe` shows what it found: as JSON, and as text for reading.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Finding;
use crate::domain::probe::{Citation, Citations, Quote, Stance, Support, Trace, reasons};
use crate::domain::text::{clean, count, one_line, shortened};
use crate::engine::instance::Instance;
use crate::engine::probe::{Asked, Probed};

/// Characters of reasoning that are shown around a place.
const AROUND: usize = 40;

/// A probe with all that is said about it.
pub(super) struct Shown<'a> {
    pub(super) place: &'a Instance,
    pub(super) probed: &'a Probed,
    /// The original text of a document by its id.
    pub(super) original: &'a dyn Fn(&str) -> Option<String>,
}

impl Shown<'_> {
    /// The object of `--json`.
    pub(super) fn json(&self) -> Value {
        json!({
            "question_id": self.place.question.id,
            "gold": self.place.question.answer,
            "condition": self.place.condition,
            "base": self.one_json(&self.probed.base),
            "variants": self.probed.variants.iter().map(|one| self.one_json(one)).collect::<Vec<_>>(),
            "verdict": self.probed.verdict,
        })
    }

    fn one_json(&self, one: &Asked) -> Value {
        json!({
            "change": one.name,
            "effect": one.effect,
            "said": one.tried.said,
            "documents": one.context.documents.iter().map(|document| json!({
                "label": document.label, "id": document.id, "role": document.role,
            })).collect::<Vec<_>>(),
            "why": self.reasons(one),
            "ids": one.records.iter().map(|record| record.id).collect::<Vec<_>>(),
        })
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        let question = &self.place.question;
        let mut out = format!("{}: {}\n", one_line(&question.id), one_line(&question.text));
        let context = &self.probed.base.context;
        for document in &context.documents {
            let title = one_line(&document.title);
            let role = format!("{:?}", document.role).to_lowercase();
            let _ = writeln!(
                out,
                "  {:<7}{role:<12}{}",
                document.label,
                shortened(&title, 56)
            );
        }
        let _ = writeln!(out);
        let width = self
            .all()
            .map(|one| name(one).chars().count())
            .max()
            .unwrap_or(0)
            .min(44);
        for one in self.all() {
            let effect = match one.name {
                None => "",
                Some(_) => one.effect.describe(),
            };
            let _ = writeln!(
                out,
                "{:<width$}  {:<26}{effect}",
                name(one),
                one.tried.describe()
            );
            let flips = one.effect.is_flip();
            for reason in self
                .reasons(one)
                .iter()
                .filter(|_| flips || one.name.is_none())
            {
                let _ = writeln!(out, "{:width$}    {}", "", one_line(reason));
            }
        }
        let _ = writeln!(out, "\n{}", self.probed.verdict.sentence);
        out
    }

    fn all(&self) -> impl Iterator<Item = &Asked> {
        std::iter::once(&self.probed.base).chain(&self.probed.variants)
    }

    /// What the reply itself says about why: planted claims it repeats, documents it calls wrong.
    fn reasons(&self, one: &Asked) -> Vec<String> {
        let Some(record) = one.records.first() else {
            return Vec::new();
        };
        let Some(parsed) = &record.parsed else {
            return record.failure["message"]
                .as_str()
                .map(str::to_owned)
                .into_iter()
                .collect();
        };
        reasons(&record.question, &one.context, parsed, self.original)
    }
}

/// Why nothing can be said.
pub(super) fn nothing(probed: &Probed) -> String {
    let failure = probed.base.records.iter().chain(
        probed
            .variants
            .iter()
            .flat_map(|variant| variant.records.iter()),
    );
    let message = failure
        .filter_map(|record| record.failure["message"].as_str())
        .next_back();
    match message {
        Some(message) => format!("nothing was measured: {message}"),
        None => "nothing was measured: no change gave a steady reply".to_owned(),
    }
}

fn name(one: &Asked) -> String {
    one.name.clone().unwrap_or_else(|| "as composed".to_owned())
}

/// The object of `trace --json` and `citations --json`.
pub(super) fn findings_json(findings: &[Finding]) -> Value {
    let replies: Vec<Value> = findings
        .iter()
        .map(|one| {
            json!({
                "id": one.record.id,
                "run": one.record.run,
                "question_id": one.record.question.id,
                "condition": one.record.condition,
                "model": one.record.model_name,
                "trace": one.trace,
                "citations": one.citations,
            })
        })
        .collect();
    let stances: Value = [
        Stance::Adopted,
        Stance::Repeated,
        Stance::Flagged,
        Stance::Absent,
    ]
    .iter()
    .map(|stance| (key(stance), json!(total_of(findings, *stance))))
    .collect::<serde_json::Map<_, _>>()
    .into();
    let supports: Value = SUPPORTS
        .iter()
        .map(|support| (key(support), json!(support_of(findings, *support))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let traced = findings.iter().any(|one| one.trace.is_some());
    json!({
        "replies": replies,
        "stances": if traced { stances } else { Value::Null },
        "support": if traced { Value::Null } else { supports },
    })
}

const SUPPORTS: [Support; 5] = [
    Support::Supported,
    Support::Elsewhere,
    Support::NotCited,
    Support::Nowhere,
    Support::Uncheckable,
];

fn key(value: &impl serde::Serialize) -> String {
    let name = json!(value);
    name.as_str().unwrap_or_default().to_owned()
}

fn total_of(findings: &[Finding], stance: Stance) -> usize {
    let traces = findings.iter().filter_map(|one| one.trace.as_ref());
    traces.map(|trace| trace.count(stance)).sum()
}

fn support_of(findings: &[Finding], support: Support) -> usize {
    let audits = findings.iter().filter_map(|one| one.citations.as_ref());
    audits.map(|audit| audit.count(support)).sum()
}

/// The text of `trace` and `citations`: each reply, then the sums where there are several.
pub(super) fn findings_text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for one in findings {
        let record = &one.record;
        let _ = writeln!(
            out,
            "{}  {} n={} p={}  {}",
            one_line(&record.question.id),
            record.condition.scenario,
            record.condition.docs,
            record.condition.p,
            one_line(&record.model_name)
        );
        let reasoning = record
            .parsed
            .as_ref()
            .and_then(|parsed| parsed.reasoning.as_deref())
            .unwrap_or_default();
        if let Some(trace) = &one.trace {
            write_trace(&mut out, trace, reasoning);
        }
        if let Some(audit) = &one.citations {
            write_citations(&mut out, audit);
        }
        out.push('\n');
    }
    if findings.len() > 1 {
        let _ = writeln!(
            out,
            "In all {}: {}.",
            count(findings.len(), "reply"),
            sums(findings)
        );
    }
    out
}

fn sums(findings: &[Finding]) -> String {
    let traced = findings.iter().any(|one| one.trace.is_some());
    let parts: Vec<String> = match traced {
        true => [
            Stance::Adopted,
            Stance::Repeated,
            Stance::Flagged,
            Stance::Absent,
        ]
        .iter()
        .map(|stance| format!("{} {}", total_of(findings, *stance), key(stance)))
        .collect(),
        false => SUPPORTS
            .iter()
            .map(|support| {
                let name = key(support).replace('_', " ");
                format!("{} {name}", support_of(findings, *support))
            })
            .collect(),
    };
    parts.join(", ")
}

fn write_trace(out: &mut String, trace: &Trace, reasoning: &str) {
    for one in &trace.planted {
        let planted = one.planted.as_deref().unwrap_or("(no planted answer)");
        let truth = one.truth.as_deref().unwrap_or("?");
        let _ = writeln!(
            out,
            "  {}: planted \"{}\" (true: \"{}\"): {}",
            one.label,
            one_line(planted),
            one_line(truth),
            one.stance.describe()
        );
        for at in &one.sub_answers {
            let _ = writeln!(out, "      sub-answer {} gives it", at + 1);
        }
        let runs = one.edited_runs.iter().map(|run| &run.at);
        for at in one.in_reasoning.iter().chain(runs) {
            let _ = writeln!(
                out,
                "      reasoning: {}",
                excerpt(reasoning, at.start, at.end)
            );
        }
    }
    let _ = writeln!(out, "  {}", trace.sentence());
}

fn write_citations(out: &mut String, audit: &Citations) {
    for (at, one) in audit.sub_answers.iter().enumerate() {
        write_citation(out, at + 1, one);
    }
    for quote in &audit.quotes {
        write_quote(out, quote);
    }
    let _ = writeln!(out, "  {}", audit.sentence());
}

fn write_citation(out: &mut String, number: usize, one: &Citation) {
    let given = one.answer.as_deref().unwrap_or("(skipped)");
    let cited = match (&one.cited, &one.unknown_name) {
        (Some(label), _) => label.clone(),
        (None, Some(name)) => format!("\"{}\" (no such document)", shortened(&one_line(name), 24)),
        (None, None) => "nothing".to_owned(),
    };
    let right = match one.cited.as_deref() == Some(one.expected.as_str()) {
        true => String::new(),
        false => format!(", asked about {}", one.expected),
    };
    let _ = writeln!(
        out,
        "  {number}. \"{}\" cites {cited}{right}: {}{}",
        shortened(&one_line(given), 48),
        one.support.describe(),
        among(&one.contained_in, one.support)
    );
}

fn write_quote(out: &mut String, quote: &Quote) {
    let cited = match quote.cited.is_empty() {
        true => "nothing".to_owned(),
        false => quote.cited.join(", "),
    };
    let _ = writeln!(
        out,
        "  quoted \"{}\" cites {cited}: {}{}",
        shortened(&one_line(&quote.text), 48),
        quote.support.describe(),
        among(&quote.contained_in, quote.support)
    );
}

/// Where a span really stands, if that is news.
fn among(labels: &[String], support: Support) -> String {
    match support {
        Support::Elsewhere | Support::NotCited => format!(" ({})", labels.join(", ")),
        _ => String::new(),
    }
}

/// A place of a text with what is around it, in one line.
fn excerpt(text: &str, start: usize, end: usize) -> String {
    let before: String = text[..start].chars().rev().take(AROUND).collect();
    let before: String = before.chars().rev().collect();
    let after: String = text[end..].chars().take(AROUND).collect();
    let dots = |cut: bool| if cut { "…" } else { "" };
    format!(
        "{}{}>{}<{}{}",
        dots(before.len() < start),
        plain_edges(&before),
        one_line(&text[start..end]),
        plain_edges(&after),
        dots(after.len() < text.len() - end)
    )
}

/// On one line without control characters; spaces at the ends stay.
fn plain_edges(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}
