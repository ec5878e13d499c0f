//! Sub-questions: what was answered, from which document, and whether planted text was noticed.

use std::rc::Rc;

use ratatui::text::Line;

use crate::domain::passage::Role;
use crate::domain::score::SubScore;
use crate::tui::app::App;
use crate::tui::app::instance::InstanceState;
use crate::tui::app::reply::ReplyState;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::span;
use crate::tui::view::documents::{right_mark, role_mark};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

/// A sub-question's document with its mark, and the columns that take.
fn label(app: &App, reply: &ReplyState, sub: &SubScore) -> (Line<'static>, u16) {
    let role = reply
        .context
        .documents
        .iter()
        .find(|doc| doc.label == sub.label)
        .map_or(Role::Signal, |doc| doc.role);
    let (mark, tone) = role_mark(role);
    let head = Line::from(span(&app.theme, format!("{mark} {}  ", sub.label), tone));
    let columns = u16::try_from(head.width()).unwrap_or(0);
    (head, columns)
}

/// What stands for a part of sub-answer k that is not there.
fn missing(reply: &ReplyState, index: usize, left_out: &'static str) -> &'static str {
    match reply.sub_reached(index) {
        true => left_out,
        false => reply.missing_words(left_out),
    }
}

/// Gold and given answer of a sub-question.
fn answers(
    app: &App,
    state: &InstanceState,
    reply: &ReplyState,
    index: usize,
    sub: &SubScore,
    flow: &mut Flow,
) {
    let given = match &sub.given {
        Some(given) if reply.sub_reached(index) => one_line(given),
        Some(given) => format!("{}…", one_line(given)),
        None => missing(reply, index, "skipped").into(),
    };
    let mut pieces = vec![("given ".to_owned(), Tone::Faint), (given, Tone::Text)];
    if state.gold {
        pieces.push(("   true ".into(), Tone::Faint));
        pieces.push((one_line(&sub.gold), Tone::Good));
        if let Some(planted) = &sub.planted {
            pieces.push(("   planted ".into(), Tone::Faint));
            pieces.push((one_line(planted), Tone::Adversarial));
        }
    }
    let pieces = pieces.iter().map(|(text, tone)| (text.as_str(), *tone));
    flow.text(&app.wraps, Rc::new(Rich::build(pieces)), 2);
}

pub(super) fn integration(
    app: &App,
    state: &InstanceState,
    reply: &ReplyState,
    index: usize,
    sub: &SubScore,
    flow: &mut Flow,
) {
    let (head, columns) = label(app, reply, sub);
    let mut groups = Vec::new();
    if sub.given.is_some() && reply.sub_reached(index) {
        let (mark, tone) = right_mark(sub.exact);
        groups.push(vec![(format!("{mark} exact"), tone)]);
        groups.push(vec![(format!("F1 {:.2}", sub.f1), Tone::Text)]);
        if let Some(judge) = sub.judge {
            groups.push(vec![(format!("judge {judge:.1}"), Tone::Text)]);
        }
        let (mark, tone) = right_mark(sub.attributed);
        let mut document = vec![(format!("{mark} right document"), tone)];
        if let Some(named) = sub.named.as_ref().filter(|_| !sub.attributed) {
            document.push((format!(" ({})", one_line(named)), Tone::Faint));
        }
        groups.push(document);
    }
    flow.groups(&app.wraps, head, columns, &groups);
    answers(app, state, reply, index, sub, flow);
}

pub(super) fn robustness(
    app: &App,
    state: &InstanceState,
    reply: &ReplyState,
    index: usize,
    sub: &SubScore,
    flow: &mut Flow,
) {
    let (head, columns) = label(app, reply, sub);
    let truth = if sub.planted.is_some() {
        "edited"
    } else {
        "original"
    };
    let mut groups = vec![vec![(format!("{truth:<8}"), Tone::Text)]];
    match (sub.verdict, sub.verdict_right) {
        (Some(verdict), right) => {
            let said = if verdict {
                "said correct"
            } else {
                "said wrong"
            };
            let (mark, tone) = right_mark(right == Some(true));
            groups.push(vec![(format!("{said} {mark}"), tone)]);
        }
        (None, _) if reply.sub_reached(index) => {
            groups.push(vec![("no verdict ✗".into(), Tone::Bad)]);
        }
        (None, _) => groups.push(vec![(
            format!("verdict {}", reply.missing_words("missing")),
            Tone::Faint,
        )]),
    }
    if sub.given.is_some() && reply.sub_reached(index) {
        let (text, tone) = if sub.adopted {
            ("✗ planted answer", Tone::Bad)
        } else if sub.exact {
            ("✓ true answer", Tone::Good)
        } else {
            ("other answer", Tone::Warning)
        };
        groups.push(vec![(text.to_owned(), tone)]);
    }
    flow.groups(&app.wraps, head, columns, &groups);
    answers(app, state, reply, index, sub, flow);
}
