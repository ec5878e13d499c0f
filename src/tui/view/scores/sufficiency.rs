//! Sufficiency: the label of every document against its role.

use ratatui::text::Line;

use crate::domain::passage::Role;
use crate::domain::score::{Labelled, Scores};
use crate::tui::app::App;
use crate::tui::app::reply::ReplyState;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::span;
use crate::tui::view::documents::{right_mark, role_mark};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::fit;

fn said_words(reply: &ReplyState, said: Labelled) -> &'static str {
    match said {
        Labelled::Relevant => "said signal",
        Labelled::Irrelevant => "said noise",
        Labelled::Both => "said both",
        Labelled::Neither if reply.document_reached(said) => "not labelled",
        Labelled::Neither if reply.running() => "not yet labelled",
        Labelled::Neither => "not reached",
    }
}

pub(super) fn sufficiency(app: &App, reply: &ReplyState, scores: &Scores, flow: &mut Flow) {
    let theme = &app.theme;
    // Rows: signal, noise; columns: relevant, irrelevant, both or neither.
    let mut table = [[0usize; 3]; 2];
    for doc in &scores.documents {
        let (mark, tone) = role_mark(doc.role);
        let role = if doc.role == Role::Noise {
            "noise"
        } else {
            "signal"
        };
        let column = match doc.said {
            Labelled::Relevant => 0,
            Labelled::Irrelevant => 1,
            Labelled::Both | Labelled::Neither => 2,
        };
        let reached = reply.document_reached(doc.said);
        table[usize::from(doc.role == Role::Noise)][column] += usize::from(reached);
        let (right, right_tone) = if reached {
            right_mark(doc.right)
        } else {
            ("·", Tone::Faint)
        };
        let said = said_words(reply, doc.said);
        let head = Line::from(span(theme, fit(&doc.label, 8), Tone::Text));
        // Columns one below the other where there is room for the widest row.
        let groups = if flow.width() < 36 {
            vec![
                vec![(format!("{mark} {role}"), tone)],
                vec![
                    (format!("{said} "), Tone::Text),
                    (right.to_owned(), right_tone),
                ],
            ]
        } else {
            vec![vec![
                (format!("{mark} {role:<8}"), tone),
                (fit(said, 17), Tone::Text),
                (right.to_owned(), right_tone),
            ]]
        };
        flow.groups(&app.wraps, head, 8, &groups);
    }
    flow.gap();
    confusion(app, &table, flow);
    flow.gap();
}

/// How often documents of each role were called what: a table, or a sentence per role where it is too wide.
/// Rows: signal, noise; columns: relevant, irrelevant, both or neither.
fn confusion(app: &App, table: &[[usize; 3]; 2], flow: &mut Flow) {
    let theme = &app.theme;
    let heading = "called    relevant  irrelevant  unlabelled";
    let tabular = flow.width() >= heading.len();
    if tabular {
        flow.line(Line::from(span(theme, heading, Tone::Faint)));
    }
    let names = [("● signal", Tone::Signal), ("○ noise", Tone::Noise)];
    for ((name, tone), [relevant, irrelevant, neither]) in names.into_iter().zip(table) {
        let head = span(theme, fit(name, 10), tone);
        if tabular {
            let numbers = format!("{relevant:>8}  {irrelevant:>10}  {neither:>10}");
            let numbers = span(theme, numbers, Tone::Text);
            flow.line(Line::from(vec![head, numbers]));
        } else {
            let groups: Vec<_> = [
                format!("{relevant} called relevant"),
                format!("{irrelevant} irrelevant"),
                format!("{neither} unlabelled"),
            ]
            .map(|text| vec![(text, Tone::Text)])
            .into();
            flow.groups(&app.wraps, Line::from(head), 10, &groups);
        }
    }
}
