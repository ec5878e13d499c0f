//! The labels with their keys, the note, and how far one is.

use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::domain::annotation::{Annotation, Label, Part};
use crate::tui::app::App;
use crate::tui::app::annotate::Queue;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{inside, panel, span};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{fit, one_line};
use crate::tui::widgets::text::Rich;

pub(super) fn labels_panel(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let name = match app.annotate.queue.as_ref().map(|queue| queue.part) {
        Some(Part::Adjudicator) => "What is right",
        _ => "What went wrong",
    };
    let mut left = vec![span(theme, name, Tone::Title)];
    let mut right = Vec::new();
    let inner = inside(area);
    // The definitions are shown where there is room for all of them: the note below must stay in sight.
    let mut flow = labels(app, inner.width, true);
    if flow.rows() > usize::from(inner.height) {
        flow = labels(app, inner.width, false);
    }
    if flow.rows() > usize::from(inner.height) {
        let help = app.keymap.key(Command::Help);
        right.push(span(theme, format!("{help} all labels"), Tone::Faint));
        let said = app.annotate.queue.as_ref().map(Queue::said);
        match said {
            Some(said) if said.done => left.push(span(theme, "  ✓", Tone::Good)),
            Some(said) if !said.is_blank() => left.push(span(theme, "  ~", Tone::Warning)),
            _ => {}
        }
    }
    // The note is at the end: while it is written, the end is in sight.
    let scroll = match app.annotate.note.is_some() {
        true => flow.rows().saturating_sub(usize::from(inner.height)),
        false => 0,
    };
    panel(
        app,
        area,
        buffer,
        app.annotate.note.is_some(),
        left,
        right,
        &flow,
        scroll,
    );
}

fn labels(app: &App, width: u16, definitions: bool) -> Flow {
    let mut flow = Flow::new(width);
    let Some(queue) = &app.annotate.queue else {
        return flow;
    };
    let annotation = queue.said();
    let opinions = match queue.part {
        Part::Adjudicator => queue.opinions(),
        Part::Annotator => Vec::new(),
    };
    if !opinions.is_empty() {
        let names: Vec<String> = opinions
            .iter()
            .enumerate()
            .map(|(at, (name, _))| format!("{} {}", at + 1, one_line(name)))
            .collect();
        flow.say(
            &app.wraps,
            &format!("annotators: {}", names.join(", ")),
            Tone::Faint,
        );
    }
    for label in &app.annotate.taxonomy.labels {
        label_row(app, label, &annotation, &opinions, &mut flow);
        if definitions {
            let rich = Rc::new(Rich::plain(&label.definition, Tone::Faint));
            flow.text(&app.wraps, rich, 6);
        }
    }
    let taxonomy = &app.annotate.taxonomy;
    for other in annotation
        .labels
        .iter()
        .filter(|id| taxonomy.label(id).is_none())
    {
        let text = format!("[x]   {} (of another taxonomy)", one_line(other));
        flow.say(&app.wraps, &text, Tone::Warning);
    }
    flow.gap();
    note(app, &annotation, &mut flow);
    state(app, &annotation, &mut flow);
    let explained = app
        .annotate
        .explained
        .as_deref()
        .and_then(|id| taxonomy.label(id));
    // While a note is written, it is the last, and so in sight on the smallest screen.
    let writing = app.annotate.note.is_some();
    if let Some(label) = explained.filter(|_| !definitions && !writing) {
        flow.gap();
        let text = format!("{}: {}", label.name, label.definition);
        flow.say(&app.wraps, &text, Tone::Faint);
    }
    for (name, said) in opinions {
        if !writing && (!said.note.is_empty() || said.unsure) {
            let unsure = if said.unsure { " (unsure)" } else { "" };
            let text = format!("{}{unsure}: {}", one_line(name), one_line(&said.note));
            flow.say(&app.wraps, &text, Tone::Text);
        }
    }
    flow
}

/// A label with its key, whether it is given, and by which annotators.
fn label_row(
    app: &App,
    label: &Label,
    annotation: &Annotation,
    opinions: &[(&str, &Annotation)],
    flow: &mut Flow,
) {
    let theme = &app.theme;
    let given = annotation.labels.contains(&label.id);
    let (mark, tone) = match given {
        true => ("[x]", Tone::Strong),
        false => ("[ ]", Tone::Text),
    };
    let by: Vec<String> = opinions
        .iter()
        .enumerate()
        .filter(|(_, (_, said))| said.labels.contains(&label.id))
        .map(|(at, _)| (at + 1).to_string())
        .collect();
    let by = match by.is_empty() {
        true => String::new(),
        false => format!(" by {}", by.join(" ")),
    };
    // As wide as the panel: what annotators said stays in sight.
    let room = flow.width().saturating_sub(6 + by.chars().count());
    flow.line(Line::from(vec![
        span(theme, format!("{mark} "), tone),
        span(theme, format!("{} ", label.key), Tone::Key),
        span(theme, fit(&label.name, room), tone),
        span(theme, by, Tone::Changed),
    ]));
}

fn note(app: &App, annotation: &Annotation, flow: &mut Flow) {
    let theme = &app.theme;
    if let Some(input) = &app.annotate.note {
        let heading = match app.annotate.not_saved {
            Some(_) => "note, not saved (enter tries again, esc drops it):",
            None => "note (enter keeps it, esc does not):",
        };
        flow.say(&app.wraps, heading, Tone::Key);
        let (before, after) = input.halves();
        let pieces = [
            (before, Tone::Match),
            ("▏", Tone::Key),
            (after, Tone::Match),
        ];
        return flow.text(&app.wraps, Rc::new(Rich::build(pieces)), 0);
    }
    let key = app.keymap.key(Command::LabelNote);
    match annotation.note.is_empty() {
        true => flow.line(Line::from(span(
            theme,
            format!("no note ({key} writes one)"),
            Tone::Faint,
        ))),
        false => {
            let pieces = [
                ("note: ", Tone::Faint),
                (annotation.note.as_str(), Tone::Text),
            ];
            flow.text(&app.wraps, Rc::new(Rich::build(pieces)), 0);
        }
    }
}

/// Sure or not, finished or not, on disk or not.
fn state(app: &App, annotation: &Annotation, flow: &mut Flow) {
    let done = app.keymap.key(Command::Done);
    if annotation.unsure {
        flow.say(&app.wraps, "? you are unsure", Tone::Warning);
    }
    let (text, tone) = match (annotation.done, annotation.is_blank()) {
        (true, _) if annotation.blind => ("✓ finished, blind".to_owned(), Tone::Good),
        (true, _) => ("✓ finished".to_owned(), Tone::Good),
        (false, true) => (
            format!("not begun; {done} without a label: nothing went wrong"),
            Tone::Faint,
        ),
        (false, false) => (format!("~ begun; {done} finishes it"), Tone::Warning),
    };
    flow.say(&app.wraps, &text, tone);
    if app.annotate.pending() > 0 {
        flow.say(&app.wraps, "saving …", Tone::Warning);
    }
    if let Some(problem) = &app.annotate.not_saved {
        flow.say(&app.wraps, &format!("NOT saved: {problem}"), Tone::Bad);
    }
    let queue = app.annotate.queue.as_ref();
    if let Some(problem) = queue.and_then(|queue| queue.read_only.as_ref()) {
        let text = format!("Labels can be read, not given: {problem}");
        flow.say(&app.wraps, &text, Tone::Warning);
    }
}
