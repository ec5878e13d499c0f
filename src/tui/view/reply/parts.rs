//! A reply folded into its parts, or as it was received.

use std::rc::Rc;

use ratatui::text::Line;

use crate::domain::answer::{Outcome, ParsedReply, SubAnswer};
use crate::domain::context::Scenario;
use crate::domain::passage::Role;
use crate::tui::app::App;
use crate::tui::app::reply::{ReplyState, Verdict};
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::chrome::span;
use crate::tui::view::documents::role_mark;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

/// Width of the names of the parts.
const NAME: u16 = 12;

pub(in crate::tui::view) fn raw(app: &App, reply: &ReplyState, flow: &mut Flow) {
    match &reply.highlighted {
        Some(rich) if !reply.running() => flow.text(&app.wraps, rich.clone(), 0),
        _ => {
            let rich = Rc::new(Rich::plain(&reply.raw, Tone::Text));
            flow.live(&app.wraps, "raw", rich, 0);
        }
    }
}

/// A named part: the name at the left, wrapped text beside it.
pub(in crate::tui::view) fn part(
    app: &App,
    flow: &mut Flow,
    name: &str,
    pieces: &[(String, Tone)],
) {
    let pieces = pieces.iter().map(|(text, tone)| (text.as_str(), *tone));
    if flow.width() < 40 {
        // Too narrow for two columns: the name leads the text.
        let name = format!("{name}: ");
        let all = [(name.as_str(), Tone::Faint)].into_iter().chain(pieces);
        return flow.text(&app.wraps, Rc::new(Rich::build(all)), 0);
    }
    let head = Line::from(span(&app.theme, name.to_owned(), Tone::Faint));
    flow.beside(&app.wraps, head, NAME, Rc::new(Rich::build(pieces)));
}

/// A long text under its name.
fn long(app: &App, flow: &mut Flow, slot: &'static str, name: &str, text: &str, tone: Tone) {
    flow.line(Line::from(span(&app.theme, name.to_owned(), Tone::Faint)));
    let rich = Rc::new(Rich::plain(text.trim(), tone));
    flow.live(&app.wraps, slot, rich, 2);
}

/// What may be seen beside a reply.
#[derive(Debug, Clone, Copy)]
pub(in crate::tui::view) struct Revealed {
    /// Whether the answer is right, and which is.
    pub(in crate::tui::view) gold: bool,
    /// The roles of documents.
    pub(in crate::tui::view) roles: bool,
}

/// A document's label, with the mark of its role where that may be seen.
fn labelled(label: &str, role: Role, shown: Revealed) -> (String, Tone) {
    let (mark, tone) = role_mark(role);
    match shown.roles {
        true => (format!("{label}{mark}"), tone),
        false => (label.to_owned(), Tone::Text),
    }
}

/// The reply folded into its parts.
pub(in crate::tui::view) fn parts(app: &App, shown: Revealed, reply: &ReplyState, flow: &mut Flow) {
    if !reply.reasoning.trim().is_empty() {
        long(
            app,
            flow,
            "provider",
            "the model's reasoning field",
            &reply.reasoning,
            Tone::Faint,
        );
    }
    let Some(parsed) = &reply.parsed else {
        if !reply.raw.is_empty() {
            raw(app, reply, flow);
        }
        return;
    };
    if let Some(hidden) = parsed
        .hidden
        .as_deref()
        .filter(|text| !text.trim().is_empty())
    {
        long(
            app,
            flow,
            "hidden",
            "thinking aloud (<think>)",
            hidden,
            Tone::Faint,
        );
    }
    if reply.context.scenario == Scenario::Sufficiency {
        labels(app, reply, shown, true, &parsed.relevant, flow);
        labels(app, reply, shown, false, &parsed.irrelevant, flow);
    }
    for (index, sub) in parsed.subs.iter().enumerate() {
        if let Some(sub) = sub {
            sub_answer(app, reply, shown, (index, sub), flow);
        }
    }
    if let Some(text) = parsed
        .reasoning
        .as_deref()
        .filter(|text| !text.trim().is_empty())
    {
        long(app, flow, "thinking", "thinking", text, Tone::Text);
    }
    answer(app, shown, reply, parsed, flow);
    let nothing_read = parsed.reasoning.is_none()
        && parsed.relevant.is_empty()
        && parsed.irrelevant.is_empty()
        && parsed.subs.iter().all(Option::is_none)
        && parsed.answer.is_none();
    if nothing_read && !reply.raw.trim().is_empty() {
        flow.line(Line::from(span(&app.theme, "as received", Tone::Faint)));
        raw(app, reply, flow);
    }
}

fn labels(
    app: &App,
    reply: &ReplyState,
    shown: Revealed,
    relevant: bool,
    positions: &[usize],
    flow: &mut Flow,
) {
    let name = if relevant { "relevant" } else { "irrelevant" };
    if positions.is_empty() && !reply.list_closed(relevant) {
        if !reply.running() {
            part(app, flow, name, &[("not reached".into(), Tone::Faint)]);
        }
        return;
    }
    let mut pieces = Vec::new();
    for doc in positions
        .iter()
        .filter_map(|&at| reply.context.documents.get(at))
    {
        let (label, tone) = labelled(&doc.label, doc.role, shown);
        pieces.push((format!("{label}  "), tone));
    }
    if pieces.is_empty() {
        pieces.push(("none".into(), Tone::Faint));
    }
    part(app, flow, name, &pieces);
}

fn sub_answer(
    app: &App,
    reply: &ReplyState,
    shown: Revealed,
    (index, sub): (usize, &SubAnswer),
    flow: &mut Flow,
) {
    let mut pieces = Vec::new();
    if let Some(answer) = &sub.answer {
        let cut = if reply.sub_reached(index) { "" } else { "…" };
        pieces.push((format!("{}{cut}", one_line(answer)), Tone::Strong));
    }
    let named = sub.document.and_then(|at| reply.context.documents.get(at));
    match (named, &sub.document_raw) {
        (Some(doc), _) => {
            let (label, tone) = labelled(&doc.label, doc.role, shown);
            pieces.push((format!("  from {label}"), tone));
        }
        (None, Some(raw)) => {
            pieces.push((format!("  from {} (unknown)", one_line(raw)), Tone::Warning))
        }
        (None, None) => {}
    }
    match sub.factual {
        Some(true) => pieces.push(("  calls it correct".into(), Tone::Faint)),
        Some(false) => pieces.push(("  calls it wrong".into(), Tone::Faint)),
        None => {}
    }
    part(app, flow, &format!("sub {}", index + 1), &pieces);
}

fn answer(app: &App, shown: Revealed, reply: &ReplyState, parsed: &ParsedReply, flow: &mut Flow) {
    let ended = !reply.running();
    let mut pieces = Vec::new();
    match (parsed.outcome, parsed.answer) {
        (Outcome::Answered, Some(letter)) => {
            let text = reply.question.option(letter).unwrap_or_default();
            pieces.push((format!("{letter}  {}", one_line(text)), Tone::Strong));
        }
        (Outcome::Insufficient, _) => {
            pieces.push(("insufficient information".into(), Tone::Strong));
        }
        (outcome, _) if ended => {
            pieces.push((outcome_words(outcome).into(), Tone::Warning));
        }
        _ => return,
    }
    if let Some(verdict) = reply.verdict().filter(|_| shown.gold) {
        let (mark, word) = verdict.words();
        pieces.push((format!("   {mark} {word}"), verdict_tone(verdict)));
        if verdict != Verdict::Right {
            let gold = reply.question.answer;
            let text = format!(
                "   (gold: {gold}  {})",
                one_line(reply.question.gold_text())
            );
            pieces.push((text, Tone::Faint));
        }
    }
    part(app, flow, "answer", &pieces);
    if !reply.probabilities.is_empty() {
        let odds: Vec<String> = reply
            .probabilities
            .iter()
            .map(|(letter, p)| format!("{letter} {:.0} %", p * 100.0))
            .collect();
        // They are taken where the answer's letter is written, whatever came of it in the end.
        let what = if parsed.answer.is_some() {
            "   (the model's own probabilities of the options)"
        } else {
            "   (the model's own probabilities of the options; this reply chose none)"
        };
        let pieces = [(odds.join("   "), Tone::Text), (what.into(), Tone::Faint)];
        part(app, flow, "own odds", &pieces);
    }
    if ended {
        for note in &parsed.notes {
            part(app, flow, "note", &[(one_line(note), Tone::Faint)]);
        }
    }
}

/// An outcome in words.
pub(in crate::tui::view) fn outcome_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Insufficient => "insufficient information",
        Outcome::Refused => "declined to answer",
        Outcome::SeveralOptions => "names several options",
        Outcome::NotOffered => "names an option that is not offered",
        Outcome::Unreadable => "no answer can be read from this reply",
        Outcome::Truncated => "cut off by the token limit before an answer",
        Outcome::Interrupted => "broke off before an answer",
        Outcome::ProviderError => "an error message instead of a reply",
        Outcome::Empty => "an empty reply",
    }
}
