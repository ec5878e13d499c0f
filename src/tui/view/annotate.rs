//! One reply that is being labelled: what the model saw and said, beside the labels.

use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::annotation::{Annotation, Label, Part};
use crate::domain::context::ContextDocument;
use crate::tui::app::App;
use crate::tui::app::annotate::{OpenReply, Queue};
use crate::tui::app::reply::Verdict;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::chrome::{bar, inside, panel, span};
use crate::tui::view::documents::role_mark;
use crate::tui::view::reply::{self, Revealed, outcome_words};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{fit, one_line};
use crate::tui::widgets::text::Rich;

/// From this width on the labels stand beside what is read, else below it.
const BESIDE: u16 = 70;

/// From this width of the rest on, documents and reply stand side by side.
const TWO: u16 = 110;

struct Areas {
    bar: Rect,
    /// What is read; with two panels the reply has one of its own.
    panels: Vec<Rect>,
    labels: Rect,
}

fn areas(app: &App) -> Areas {
    let (width, height) = app.size;
    let bar = Rect::new(0, 0, width, 1.min(height));
    let body = Rect::new(0, 1, width, height.saturating_sub(2));
    if width < BESIDE {
        let wanted = u16::try_from(app.annotate.taxonomy.labels.len()).unwrap_or(u16::MAX);
        let rows = wanted.saturating_add(5).min(body.height * 3 / 5);
        let labels = Rect {
            y: body.y + body.height.saturating_sub(rows),
            height: rows,
            ..body
        };
        let rest = Rect {
            height: body.height - rows,
            ..body
        };
        return Areas {
            bar,
            panels: vec![rest],
            labels,
        };
    }
    let columns = (width / 4).clamp(36, 58);
    let labels = Rect {
        x: width - columns,
        width: columns,
        ..body
    };
    let rest = Rect {
        width: width - columns,
        ..body
    };
    let panels = match rest.width >= TWO {
        true => {
            let half = rest.width / 2;
            let right = Rect {
                x: half,
                width: rest.width - half,
                ..rest
            };
            vec![
                Rect {
                    width: half,
                    ..rest
                },
                right,
            ]
        }
        false => vec![rest],
    };
    Areas {
        bar,
        panels,
        labels,
    }
}

/// The panel that the keys scroll.
pub fn focused(app: &App) -> usize {
    app.annotate.focus.min(areas(app).panels.len() - 1)
}

/// Rows of a panel's content, and rows seen at once.
pub fn extent(app: &App, at: usize) -> (usize, usize) {
    let areas = areas(app);
    match areas.panels.get(at) {
        Some(area) => {
            let inner = inside(*area);
            let flow = content(app, at, areas.panels.len(), inner.width);
            (flow.rows(), usize::from(inner.height))
        }
        None => (0, 0),
    }
}

/// Rows at which the parts of a panel begin.
pub fn anchors(app: &App, at: usize) -> Vec<usize> {
    let areas = areas(app);
    areas.panels.get(at).map_or_else(Vec::new, |area| {
        let flow = content(app, at, areas.panels.len(), inside(*area).width);
        flow.anchors().to_vec()
    })
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let areas = areas(app);
    let theme = &app.theme;
    title(app, areas.bar, buffer);
    let count = areas.panels.len();
    for (at, area) in areas.panels.iter().enumerate() {
        let flow = content(app, at, count, inside(*area).width);
        let name = match (count, at) {
            (1, _) => "Question and reply",
            (_, 0) => "Question and documents",
            _ => "Reply",
        };
        let mut left = vec![span(theme, name, Tone::Title)];
        if app.annotate.raw && (count == 1 || at == 1) {
            left.push(span(theme, "  raw", Tone::Warning));
        }
        let focused = count > 1 && focused(app) == at;
        let next = app.keymap.key(Command::NextDocument);
        let right = match flow.anchors().len() {
            0 | 1 => Vec::new(),
            _ => vec![span(theme, format!("{next} next part"), Tone::Faint)],
        };
        panel(
            app,
            *area,
            buffer,
            focused,
            left,
            right,
            &flow,
            app.annotate.scroll[at],
        );
    }
    labels_panel(app, areas.labels, buffer);
}

fn title(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let annotate = &app.annotate;
    let Some(queue) = &annotate.queue else {
        let left = vec![span(theme, " Annotate", Tone::Title)];
        return bar(app, area, buffer, left, Vec::new());
    };
    let (done, all) = queue.progress();
    let what = match queue.part {
        Part::Annotator => " Annotate  ",
        Part::Adjudicator => " Decide between annotators  ",
    };
    let mut left = vec![
        span(theme, what, Tone::Title),
        span(theme, format!("run {}", one_line(&queue.run)), Tone::Strong),
        span(
            theme,
            format!("  reply {} of {all}", queue.selected + 1),
            Tone::Text,
        ),
        span(theme, format!("  {done} done"), Tone::Faint),
    ];
    if annotate.blind && queue.part == Part::Annotator {
        left.push(span(theme, "  BLIND", Tone::Warning));
    }
    if queue.read_only.is_some() {
        left.push(span(theme, "  READ-ONLY", Tone::Warning));
    }
    let right = vec![span(
        theme,
        format!("as {} ", annotate.annotator),
        Tone::Faint,
    )];
    bar(app, area, buffer, left, right);
}

/// Whether documents and reply stand side by side.
pub fn has_two_panels(app: &App) -> bool {
    areas(app).panels.len() > 1
}

/// The content of panel `at` of `count`.
fn content(app: &App, at: usize, count: usize, width: u16) -> Flow {
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

/// How many planted answers the reply repeats.
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
        "  planted answers repeated: {:.0} of {:.0}",
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

fn labels_panel(app: &App, area: Rect, buffer: &mut Buffer) {
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

/// The outcome of a reply in brief, or that it is hidden.
pub(super) fn outcome(queue: &Queue, at: usize, blind: bool) -> (String, Tone) {
    match queue.items.get(at) {
        Some(item) if !queue.hides(at, blind) => {
            let verdict = Verdict::of_brief(&item.brief);
            let (mark, word) = verdict.words();
            (format!("{mark} {word}"), verdict_tone(verdict))
        }
        _ => ("hidden".to_owned(), Tone::Faint),
    }
}
