//! What is read while a reply is labelled: the question, what the model saw, what it said.

use std::rc::Rc;

use ratatui::text::{Line, Span};

use crate::domain::context::ContextDocument;
use crate::tui::app::App;
use crate::tui::app::annotate::OpenReply;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::chrome::span;
use crate::tui::view::documents::role_mark;
use crate::tui::view::reply::{self, Revealed, outcome_words};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

/// The content of panel `at` of `count`.
pub(super) fn content(app: &App, at: usize, count: usize, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let Some(queue) = &app.annotate.queue else {
        flow.say(&app.wraps, "Reading the reply …", Tone::Faint);
        return flow;
    };
    let open = match &queue.open {
        Some((of, Ok(open))) if Some(*of) == queue.current() => open,
        Some((of, Err(problem))) if Some(*of) == queue.current() => {
            let back = app.keymap.key(Command::Back);
            flow.say(&app.wraps, "This reply can't be shown.", Tone::Bad);
            flow.say(&app.wraps, problem, Tone::Text);
            flow.say(
                &app.wraps,
                &format!("{back} goes back to the queue."),
                Tone::Faint,
            );
            return flow;
        }
        _ => {
            flow.say(&app.wraps, "Reading the reply …", Tone::Faint);
            return flow;
        }
    };
    let hidden = app.annotate.hidden();
    match (count, at) {
        (1, _) => {
            question(app, open, hidden, &mut flow);
            flow.gap();
            heading(app, "reply", &mut flow);
            said(app, open, hidden, &mut flow);
            flow.gap();
            documents(app, open, hidden, &mut flow);
        }
        (_, 0) => {
            question(app, open, hidden, &mut flow);
            flow.gap();
            documents(app, open, hidden, &mut flow);
        }
        _ => said(app, open, hidden, &mut flow),
    }
    flow
}

/// A line that begins a part.
fn heading(app: &App, name: &str, flow: &mut Flow) {
    flow.anchor();
    let rest = flow.width().saturating_sub(name.chars().count() + 4);
    let line = format!("── {name} {}", "─".repeat(rest));
    flow.line(Line::from(span(&app.theme, line, Tone::Faint)));
}

fn question(app: &App, open: &OpenReply, hidden: bool, flow: &mut Flow) {
    let theme = &app.theme;
    let context = &open.state.context;
    flow.anchor();
    let condition = format!(
        "{}  {}  n {}  p {:.0} %",
        one_line(&open.state.question.id),
        context.scenario.name(),
        context.docs,
        context.p
    );
    flow.line(Line::from(span(theme, condition, Tone::Faint)));
    flow.text(&app.wraps, open.question.clone(), 0);
    for option in &open.state.question.options {
        let gold = !hidden && option.letter == open.state.question.answer;
        let mark = if gold { "  (gold)" } else { "" };
        let text = format!("{}  {}{mark}", option.letter, one_line(&option.text));
        let tone = if gold { Tone::Good } else { Tone::Text };
        flow.say(&app.wraps, &text, tone);
    }
    if hidden {
        let done = app.keymap.key(Command::Done);
        let text = format!("Gold answer and roles are hidden until you finish ({done}).");
        flow.say(&app.wraps, &text, Tone::Warning);
    }
}

fn said(app: &App, open: &OpenReply, hidden: bool, flow: &mut Flow) {
    let theme = &app.theme;
    let reply = &open.state;
    let mut spans = vec![span(theme, one_line(&reply.model), Tone::Faint)];
    if let Some(verdict) = reply.verdict().filter(|_| !hidden) {
        let (mark, word) = verdict.words();
        spans.push(span(
            theme,
            format!("  {mark} {word}"),
            verdict_tone(verdict),
        ));
        spans.extend(adopted(app, open));
    } else if let Some(parsed) = &reply.parsed {
        spans.push(span(
            theme,
            format!("  {}", outcome_words(parsed.outcome)),
            Tone::Text,
        ));
    }
    flow.line(Line::from(spans));
    if app.annotate.raw {
        return reply::raw(app, reply, flow);
    }
    let shown = Revealed {
        gold: !hidden,
        roles: !hidden,
    };
    reply::parts(app, shown, reply, flow);
}

/// How many planted answers the reply adopts.
fn adopted(app: &App, open: &OpenReply) -> Option<Span<'static>> {
    use crate::domain::score::Metric;
    let scores = open.state.scores.as_ref()?;
    let ratio = scores.counts.get(&Metric::MisinformationAdopted)?;
    let tone = if ratio.num > 0.0 {
        Tone::Adversarial
    } else {
        Tone::Faint
    };
    let text = format!(
        "  planted answers adopted: {:.0} of {:.0}",
        ratio.num, ratio.den
    );
    (ratio.den > 0.0).then(|| span(&app.theme, text, tone))
}

fn documents(app: &App, open: &OpenReply, hidden: bool, flow: &mut Flow) {
    let context = &open.state.context;
    if context.documents.is_empty() {
        heading(app, "no documents", flow);
    }
    for (document, (title, text)) in context.documents.iter().zip(&open.documents) {
        document_heading(app, document, hidden, flow);
        if !title.is_empty() {
            flow.say(&app.wraps, title, Tone::Strong);
        }
        flow.text(&app.wraps, text.clone(), 0);
        let subs = context.sub_questions.iter();
        for sub in subs.filter(|sub| sub.label == document.label) {
            let mut pieces = vec![
                ("sub-question: ".to_owned(), Tone::Faint),
                (one_line(&sub.question), Tone::Text),
            ];
            if !hidden {
                pieces.push(("\ntrue answer: ".to_owned(), Tone::Faint));
                pieces.push((one_line(&sub.answer), Tone::Good));
                if let Some(planted) = &sub.planted {
                    pieces.push(("   planted: ".to_owned(), Tone::Faint));
                    pieces.push((one_line(planted), Tone::Adversarial));
                }
            }
            let pieces = pieces.iter().map(|(text, tone)| (text.as_str(), *tone));
            flow.text(&app.wraps, Rc::new(Rich::build(pieces)), 2);
        }
        flow.gap();
    }
}

/// Label and role of a document; while they are hidden, nothing that gives the role away.
fn document_heading(app: &App, document: &ContextDocument, hidden: bool, flow: &mut Flow) {
    if hidden {
        return heading(app, &document.label, flow);
    }
    let theme = &app.theme;
    let (mark, tone) = role_mark(document.role);
    let role = match document.role {
        crate::domain::passage::Role::Signal => "signal",
        crate::domain::passage::Role::Noise => "noise",
        crate::domain::passage::Role::Adversarial => "adversarial",
    };
    flow.anchor();
    flow.line(Line::from(vec![
        span(theme, format!("── {mark} {} {role}", document.label), tone),
        span(theme, format!("  {}", one_line(&document.id)), Tone::Faint),
    ]));
}
