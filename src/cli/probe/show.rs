//! How `medrgb probe` shows what it found: as JSON, and as text for reading.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Finding;
use crate::domain::answer::Outcome;
use crate::domain::context::Change;
use crate::domain::probe::{
    Around, Audited, Citations, Fact, ORDERS, Trace, Traced, facts_of_citation, facts_of_claim,
    facts_of_quote, reasons,
};
use crate::domain::text::{count, one_line, shortened};
use crate::engine::instance::Instance;
use crate::engine::probe::{Asked, Probed};

/// Columns of an answer at least: most fit.
const SAID: usize = 24;

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
            let title = match document.title.trim() {
                "" => shortened(&document.content, 400),
                title => title.to_owned(),
            };
            let title = one_line(&title);
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
        let said = self
            .all()
            .map(|one| one.tried.describe().chars().count())
            .max()
            .unwrap_or(0)
            .max(SAID);
        let mut reasoned = false;
        for one in self.all() {
            let effect = match one.name {
                None => "",
                Some(_) => one.effect.describe(),
            };
            let _ = writeln!(
                out,
                "{:<width$}  {:<said$}  {effect}",
                name(one),
                one.tried.describe()
            );
            // What does not flip needs no reason.
            let reasons = match one.effect.needs_reason() || one.name.is_none() {
                true => self.reasons(one),
                false => Vec::new(),
            };
            reasoned |= !reasons.is_empty();
            for reason in &reasons {
                let _ = writeln!(out, "{:width$}    {}", "", one_line(reason));
            }
        }
        let _ = writeln!(out, "\n{}", self.probed.verdict.sentence);
        let mut changes = self.probed.variants.iter().map(|one| &one.change);
        if changes.any(|change| matches!(change, Some(Change::Reorder { .. }))) {
            let _ = writeln!(out, "{ORDERS}");
        }
        if reasoned && self.probed.base.records.len() > 1 {
            let text = "What stands below an answer is from the first of its replies that gives the most frequent answer.";
            let _ = writeln!(out, "{text}");
        }
        out
    }

    fn all(&self) -> impl Iterator<Item = &Asked> {
        std::iter::once(&self.probed.base).chain(&self.probed.variants)
    }

    /// What the reply itself says about why: planted claims it repeats, documents it calls wrong.
    fn reasons(&self, one: &Asked) -> Vec<String> {
        // Of several replies one that says what most of them say.
        let usual = one.tried.most_frequent();
        let mut both = one.records.iter().zip(&one.tried.said);
        let typical = both.find(|(_, said)| Some(**said) == usual);
        let Some(record) = typical.map(|(record, _)| record).or(one.records.first()) else {
            return Vec::new();
        };
        let Some(parsed) = &record.parsed else {
            return record.failure["message"]
                .as_str()
                .map(str::to_owned)
                .into_iter()
                .collect();
        };
        let contexts = (&one.context, &self.probed.base.context);
        reasons(&record.question, contexts, parsed, self.original)
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
        None => "nothing was measured: no change gave a steady answer".to_owned(),
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
                "variant": one.record.context.variant,
                "model": one.record.model_name,
                "outcome": one.record.parsed.as_ref().map(|parsed| parsed.outcome),
                "other_dataset": one.other_dataset,
                "trace": one.trace,
                "citations": one.citations,
            })
        })
        .collect();
    let (traced, audited) = sums(findings);
    json!({ "replies": replies, "stances": traced, "support": audited })
}

/// The sums of what was looked for; the other is `None`.
fn sums(findings: &[Finding]) -> (Option<Traced>, Option<Audited>) {
    let traces = || findings.iter().filter_map(|one| one.trace.as_ref());
    match traces().next() {
        Some(_) => (Some(Traced::of(traces())), None),
        None => {
            let audits = findings.iter().filter_map(|one| one.citations.as_ref());
            (None, Some(Audited::of(audits)))
        }
    }
}

/// The text of `trace` and `citations`: each reply, then the sums where there are several.
pub(super) fn findings_text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for one in findings {
        write_finding(&mut out, one);
        out.push('\n');
    }
    if findings.len() > 1 {
        let said = match sums(findings) {
            (Some(traced), _) => traced.sentence(),
            (_, Some(audited)) => audited.sentence(),
            _ => return out,
        };
        let said = said.replacen("Of ", "of ", 1);
        let _ = writeln!(out, "In all {}: {said}", count(findings.len(), "reply"));
    }
    out
}

fn write_finding(out: &mut String, one: &Finding) {
    let record = &one.record;
    let variant = record.context.variant.as_deref().unwrap_or_default();
    let partial = record
        .parsed
        .as_ref()
        .is_some_and(|parsed| matches!(parsed.outcome, Outcome::Interrupted | Outcome::Truncated));
    let _ = writeln!(
        out,
        "{}  {} n={} p={}{}{}  {}{}",
        one_line(&record.question.id),
        record.condition.scenario,
        record.condition.docs,
        record.condition.p,
        if variant.is_empty() { "" } else { "  " },
        one_line(variant),
        one_line(&record.model_name),
        if partial {
            "  (ends before its answer)"
        } else {
            ""
        },
    );
    let parsed = record.parsed.as_ref();
    let reasoning = parsed.and_then(|parsed| parsed.reasoning.as_deref());
    if let Some(trace) = &one.trace {
        write_trace(out, trace, reasoning.unwrap_or_default());
    }
    if let Some(audit) = &one.citations {
        write_citations(out, audit);
    }
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
        for fact in facts_of_claim(trace, one, reasoning) {
            write_fact(out, &fact);
        }
    }
    let _ = writeln!(out, "  {}", Traced::of([trace]).sentence());
}

fn write_fact(out: &mut String, fact: &Fact) {
    let words = match &fact.words {
        Some(Around {
            before,
            words,
            after,
        }) => format!(": {before}>{words}<{after}"),
        None => String::new(),
    };
    let _ = writeln!(out, "      {}{words}", fact.text);
}

fn write_citations(out: &mut String, audit: &Citations) {
    for (at, one) in audit.sub_answers.iter().enumerate() {
        let (cites, fact) = facts_of_citation(one);
        let _ = writeln!(out, "  {}. {cites}: {}", at + 1, fact.text);
    }
    for quote in &audit.quotes {
        let (cites, fact) = facts_of_quote(quote);
        let _ = writeln!(out, "  quoted {cites}: {}", fact.text);
    }
    let _ = writeln!(out, "  {}", Audited::of([audit]).sentence());
}
