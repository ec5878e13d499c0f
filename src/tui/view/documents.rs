//! The document columns.

use std::rc::Rc;

use ratatui::text::{Line, Span};

use crate::domain::context::Scenario;
use crate::domain::passage::{Role, Source};
use crate::domain::score::Labelled;
use crate::domain::text::count;
use crate::tui::app::instance::{Composed, InstanceState, Panel, Seek};
use crate::tui::app::reply::ReplyState;
use crate::tui::app::{App, Screen};
use crate::tui::command::Command;
use crate::tui::theme::{Theme, Tone};
use crate::tui::view::chrome::span;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{both_ends, cut, cut_spans, fitting, one_line};
use crate::tui::widgets::text::Rich;

/// What the frame keeps of a title's width: corners, blanks, and the gap between the two ends.
const TITLE_MARGIN: usize = 10;

/// Mark and tone of a role.
pub(super) fn role_mark(role: Role) -> (&'static str, Tone) {
    match role {
        Role::Signal => ("●", Tone::Signal),
        Role::Noise => ("○", Tone::Noise),
        Role::Adversarial => ("▲", Tone::Adversarial),
    }
}

/// Mark and title of a column.
pub(super) fn role_words(state: &InstanceState, panel: Panel) -> (&'static str, &'static str) {
    match panel.role() {
        Some(Role::Noise) => ("○", "Noise"),
        Some(Role::Adversarial) => ("▲", "Adversarial"),
        _ if state.condition.scenario == Scenario::Robustness => ("●", "Signal (original)"),
        _ => ("●", "Signal"),
    }
}

/// The titles of a column of `width` columns; `within` is the document whose head is above what is in sight, `found` the
/// number of places with what is looked for.
pub(super) fn titles(
    app: &App,
    state: &InstanceState,
    panel: Panel,
    (width, within): (u16, Option<&str>),
    found: usize,
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let theme = &app.theme;
    let role = panel.role().unwrap_or(Role::Signal);
    let (mark, name) = role_words(state, panel);
    let (_, tone) = role_mark(role);
    if state.composed.is_err() {
        return (vec![span(theme, "Documents", Tone::Title)], Vec::new());
    }
    let count = state.count(role);
    let mut left = vec![span(theme, format!("{mark} {name} {count}"), tone)];
    if let Some(label) = within {
        left.push(span(theme, format!("  within {label}"), Tone::Text));
    }
    if state.locked {
        left.push(span(theme, "  locked", Tone::Key));
    }
    let sought = state.seek.as_ref().is_some_and(Seek::has_words);
    let right = match role {
        _ if sought => vec![span(theme, matches(found), Tone::Match)],
        Role::Adversarial if count > 0 => {
            let used: usize = left.iter().map(Span::width).sum();
            let room = usize::from(width).saturating_sub(used + TITLE_MARGIN);
            vec![span(theme, edited_hint(app, state, room), Tone::Faint)]
        }
        Role::Signal if count > 0 => vec![span(theme, "retrieved for this question", Tone::Faint)],
        Role::Noise if count > 0 => vec![span(theme, "of other questions", Tone::Faint)],
        _ => Vec::new(),
    };
    (left, right)
}

fn matches(found: usize) -> String {
    match found {
        1 => "1 match".to_owned(),
        found => format!("{found} matches"),
    }
}

/// How edited documents are shown, and the key to the next edited words, as much as fits.
fn edited_hint(app: &App, state: &InstanceState, room: usize) -> String {
    let shown = state.diff.describe();
    let key = app.keymap.key(Command::NextChange);
    let forms = match app.screen {
        // In a talk there is no such key.
        Screen::Talk => [format!("shown: {shown}"), shown.to_owned(), String::new()],
        _ => [
            format!("shown: {shown}; {key}: next change"),
            format!("{key}: next change"),
            shown.to_owned(),
        ],
    };
    fitting(forms, room)
}

/// The documents of one role, one below the other.
pub(super) fn flow(app: &App, state: &InstanceState, panel: Panel, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let role = panel.role().unwrap_or(Role::Signal);
    let composed = match &state.composed {
        Ok(composed) => composed,
        Err(problem) => {
            impossible(app, state, problem, &mut flow);
            return flow;
        }
    };
    if state.count(role) == 0 {
        empty(app, state, role, &mut flow);
        return flow;
    }
    flow.seek(state.seek.as_ref().and_then(|seek| seek.sought(panel)));
    let reply = app.replies.shown(&composed.context);
    for index in 0..composed.docs.len() {
        if composed.context.documents[index].role == role {
            flow.anchor();
            document(app, state, composed, index, reply, &mut flow);
            flow.gap();
        }
    }
    flow
}

/// Why there is no context, and the ways out.
fn impossible(app: &App, state: &InstanceState, problem: &str, flow: &mut Flow) {
    let key = |command| app.keymap.key(command);
    flow.say(
        &app.wraps,
        "There is no context under this condition.",
        Tone::Bad,
    );
    flow.gap();
    flow.say(&app.wraps, problem, Tone::Text);
    flow.gap();
    let ways = match state.condition.scenario {
        Scenario::Integration => format!(
            "{} raises p, {} adds documents, {} goes to the next scenario.",
            key(Command::MoreSignal),
            key(Command::MoreDocs),
            key(Command::NextScenario)
        ),
        _ => format!(
            "{} goes to the next scenario, {} to the next question; {} changes which sources may be used.",
            key(Command::NextScenario),
            key(Command::NextQuestion),
            key(Command::NextSource)
        ),
    };
    flow.say(&app.wraps, &ways, Tone::Faint);
}

/// The columns without documents in a line, with what would fill them, as much as fits.
pub(super) fn absent(app: &App, state: &InstanceState, width: usize) -> Line<'static> {
    let roles = [
        (Panel::Signal, Role::Signal),
        (Panel::Noise, Role::Noise),
        (Panel::Adversarial, Role::Adversarial),
    ];
    let empty = roles
        .into_iter()
        .filter(|(_, role)| state.count(*role) == 0);
    let empty: Vec<_> = empty
        .map(|(panel, role)| (role, role_words(state, panel)))
        .collect();
    let line = |words: &dyn Fn(Role) -> String| {
        let mut spans = vec![Span::raw(" ")];
        for &(role, (mark, name)) in &empty {
            spans.push(span(
                &app.theme,
                format!(" {mark} {name} 0"),
                role_mark(role).1,
            ));
            spans.push(span(&app.theme, format!(": {} ", words(role)), Tone::Faint));
        }
        Line::from(spans)
    };
    let long = line(&|role| why_empty(app, state, role));
    if long.width() <= width {
        return long;
    }
    let short = line(&|role| match (role, state.condition.scenario) {
        (Role::Adversarial, Scenario::Robustness) | (Role::Signal, _) => "at this p".to_owned(),
        (Role::Noise, Scenario::Sufficiency | Scenario::Integration) => "at this p".to_owned(),
        _ => "in this scenario".to_owned(),
    });
    Line::from(cut_spans(short.spans, width))
}

/// Why a column is empty.
fn empty(app: &App, state: &InstanceState, role: Role, flow: &mut Flow) {
    flow.say(&app.wraps, &why_empty(app, state, role), Tone::Faint);
}

/// As [`empty`], in a sentence.
fn why_empty(app: &App, state: &InstanceState, role: Role) -> String {
    let key = |command| app.keymap.key(command);
    match (role, state.condition.scenario) {
        (Role::Signal, Scenario::Standard) if state.condition.docs == 0 => format!(
            "No documents: the model answers from what it knows. {} adds some.",
            key(Command::MoreDocs)
        ),
        (Role::Signal, Scenario::Robustness) => {
            format!(
                "none at this p: {} brings originals back",
                key(Command::MoreSignal)
            )
        }
        (Role::Signal, _) => format!("none at this p: {} adds some", key(Command::MoreSignal)),
        (Role::Noise, Scenario::Sufficiency | Scenario::Integration) => {
            format!("none at this p: {} adds some", key(Command::LessSignal))
        }
        (Role::Noise, Scenario::Standard) => {
            format!(
                "none in this scenario; {}: sufficiency mixes noise in",
                key(Command::NextScenario)
            )
        }
        (Role::Noise, Scenario::Robustness) => "none in robustness".to_owned(),
        (Role::Adversarial, Scenario::Robustness) => {
            format!(
                "none at this p: {} edits more of them",
                key(Command::LessSignal)
            )
        }
        (Role::Adversarial, _) => {
            format!(
                "none in this scenario; {}: robustness shows edited documents",
                key(Command::NextScenario)
            )
        }
    }
}

fn document(
    app: &App,
    state: &InstanceState,
    composed: &Composed,
    index: usize,
    reply: Option<&ReplyState>,
    flow: &mut Flow,
) {
    let theme = &app.theme;
    let (Some(doc), Some(view)) = (
        composed.context.documents.get(index),
        composed.docs.get(index),
    ) else {
        return;
    };
    let (mark, tone) = role_mark(doc.role);
    let mut left = vec![
        span(theme, format!("{mark} {}", doc.label), tone),
        span(theme, format!("  {}", view.id), Tone::Faint),
    ];
    if let Some(source) = doc.source {
        let source = match source {
            Source::Offline => "offline",
            Source::Online => "online",
        };
        left.push(span(theme, format!(" · {source}"), Tone::Faint));
    }
    let right = badges(theme, view.fresh, index, reply);
    flow.line(both_ends(left, right, flow.width()));
    if let Some(from) = &view.from {
        let text = cut(&format!("from: “{from}”"), flow.width());
        flow.line(Line::from(span(theme, text, Tone::Faint)));
    }
    if !view.title.is_empty() {
        flow.say(&app.wraps, &view.title, Tone::Strong);
    }
    match &view.diff {
        Some(diff) => {
            flow.changed_text(&app.wraps, diff.view(state.diff).clone());
            let (inserted, deleted) = diff.words;
            let words = match (inserted, deleted) {
                (0, 0) => "the edit changes no word".to_owned(),
                _ => format!("edited: {} in, {deleted} out", count(inserted, "word")),
            };
            flow.line(Line::from(span(theme, words, Tone::Faint)));
        }
        None => flow.text(&app.wraps, view.text.clone(), 0),
    }
    if let Some(sub) = view
        .sub
        .and_then(|at| composed.context.sub_questions.get(at))
    {
        let mut pieces = vec![
            ("sub-question: ".to_owned(), Tone::Faint),
            (one_line(&sub.question), Tone::Text),
        ];
        if state.gold {
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
}

/// What the reply made of a document, and whether it is new in the context.
fn badges(
    theme: &Theme,
    fresh: bool,
    index: usize,
    reply: Option<&ReplyState>,
) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    if let Some(reply) = reply {
        let cited = reply.cited.get(index).copied().unwrap_or(0);
        if cited > 0 {
            spans.push(span(theme, format!("cited ×{cited} "), Tone::Faint));
        }
        let judged = reply
            .scores
            .as_ref()
            .and_then(|scores| scores.documents.get(index));
        if let Some(judged) = judged {
            let (word, known) = match judged.said {
                Labelled::Relevant => ("said relevant", true),
                Labelled::Irrelevant => ("said irrelevant", true),
                Labelled::Both => ("said both", true),
                Labelled::Neither => ("", false),
            };
            if known {
                let (mark, tone) = right_mark(judged.right);
                spans.push(span(theme, format!("{word} {mark}"), tone));
            }
        }
    }
    if fresh {
        spans.push(span(theme, " +new", Tone::Changed));
    }
    spans
}

/// Mark and tone of right and wrong.
pub(super) fn right_mark(right: bool) -> (&'static str, Tone) {
    if right {
        ("✓", Tone::Good)
    } else {
        ("✗", Tone::Bad)
    }
}
