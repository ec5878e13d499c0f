//! What lies over a screen: help, palette, problems, prompt, why.

use std::rc::Rc;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};
use unicode_width::UnicodeWidthStr;

use crate::data::dataset::Dataset;
use crate::tui::app::{App, Overlay, Screen};
use crate::tui::command::COMMANDS;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{FRAME_COLUMNS, inside, panel, span};
use crate::tui::view::{choice, palette, screen_area, why};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::fit;
use crate::tui::widgets::text::Rich;

/// Where the overlay lies.
fn area(app: &App) -> Rect {
    let whole = screen_area(app);
    let above_footer = Rect {
        height: whole.height.saturating_sub(1),
        ..whole
    };
    let most = match app.overlay {
        Some(Overlay::Prompt { .. } | Overlay::Why { .. }) => 120,
        _ => 84,
    };
    let width = above_footer.width.min(most);
    if let Some(Overlay::Facets { .. }) = &app.overlay {
        return beside_the_list(app, above_footer);
    }
    let height = match &app.overlay {
        Some(Overlay::Palette { .. }) => above_footer.height.min(18),
        // As high as the list: what one copies should stay in sight.
        Some(Overlay::Pieces { pieces, .. }) => {
            let rows = u16::try_from(pieces.len()).unwrap_or(u16::MAX);
            above_footer.height.min(rows.saturating_add(2))
        }
        Some(Overlay::Runs { .. }) => {
            let rows = choice::rows(app, width.saturating_sub(FRAME_COLUMNS));
            above_footer.height.min(rows.saturating_add(2))
        }
        _ => above_footer.height,
    };
    Rect {
        x: (above_footer.width.saturating_sub(width)) / 2,
        width,
        height,
        ..above_footer
    }
}

/// Where the facets lie: as high as they are, at the right, so that one sees the list get narrower.
fn beside_the_list(app: &App, above_footer: Rect) -> Rect {
    let width = match above_footer.width {
        all @ 72.. => (all * 2 / 5).clamp(36, 60),
        all => all,
    };
    // The title counts the questions.
    let below_title = above_footer.height.saturating_sub(1).max(1);
    let rows = choice::rows(app, width.saturating_sub(FRAME_COLUMNS));
    Rect {
        x: above_footer.width.saturating_sub(width),
        y: above_footer.height.saturating_sub(below_title),
        width,
        height: below_title.min(rows.saturating_add(2)),
    }
}

/// Rows of the overlay's content, and rows seen at once.
pub fn extent(app: &App) -> (usize, usize) {
    let inner = inside(area(app));
    let rows = content(app, inner.width).map_or(0, |(_, flow)| flow.rows());
    (rows, usize::from(inner.height))
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let area = area(app).intersection(buffer.area);
    Clear.render(area, buffer);
    buffer.set_style(area, app.theme.style(Tone::Text));
    match app.overlay {
        Some(Overlay::Palette { .. }) => return palette::draw(app, area, buffer),
        Some(
            Overlay::Runs { .. }
            | Overlay::Facets { .. }
            | Overlay::Pieces { .. }
            | Overlay::Reject { .. },
        ) => {
            return choice::draw(app, area, buffer);
        }
        _ => {}
    }
    let scroll = app.overlay.as_ref().and_then(Overlay::scroll).unwrap_or(0);
    if let Some((title, flow)) = content(app, inside(area).width) {
        let left = vec![span(&app.theme, title, Tone::Title)];
        panel(app, area, buffer, true, left, Vec::new(), &flow, scroll);
    }
}

fn content(app: &App, width: u16) -> Option<(String, Flow)> {
    match app.overlay.as_ref()? {
        Overlay::Help { .. } => Some((
            format!("Keys of the {} screen", app.screen.name()),
            help(app, width),
        )),
        Overlay::Problems { .. } => Some(("What could not be loaded".into(), problems(app, width))),
        Overlay::Prompt { .. } => Some((
            "The prompt, exactly as the model gets it".into(),
            prompt(app, width),
        )),
        Overlay::Why { .. } => Some((
            "Why the scores are what they are".into(),
            why::flow(app, width),
        )),
        Overlay::Palette { .. }
        | Overlay::Runs { .. }
        | Overlay::Facets { .. }
        | Overlay::Reject { .. }
        | Overlay::Pieces { .. } => None,
    }
}

fn help(app: &App, width: u16) -> Flow {
    let theme = &app.theme;
    let mut flow = Flow::new(width);
    let about = match app.screen {
        Screen::Browse => {
            "Choose a question. Its screen shows the documents a model gets with it, asks a model, and scores the reply."
        }
        Screen::Instance => {
            "One question with the documents a model gets: ● signal was retrieved for this question, ○ noise belongs to other questions, ▲ adversarial was edited to support a wrong answer. The model does not see these roles. n is the number of documents, p the per cent of them that are signal (robustness: unedited)."
        }
        Screen::Queue => {
            "The replies of a run, one below the other. Narrow them to what you look for, then open one to label it. ✓ is finished by you, ~ begun. planted: how many planted answers the reply repeats, of those it was shown."
        }
        Screen::Annotate => {
            "Say what went wrong in this reply: a label's key sets and clears it, and every key is saved at once. A reply without a label that you finish is one in which nothing went wrong. Other annotators' labels stay hidden; where they differ from yours is decided on a screen of its own."
        }
        Screen::Find => {
            "Full-text search (BM25, English word stems) over the questions and documents of the open dataset, the reasoning of stored replies, and your own notes. Opening a reasoning or a note goes to its reply."
        }
        Screen::Review => {
            "The items of this benchmark: each sub-question (its answer must be a span of its document) and each adversarial edit (a document changed as little as possible so that it supports a wrong, planted answer). Undecided items come first. ✓ accepted, ± edited, ✗ rejected by you; ! is what the checks find wrong, · what is good to know. Other reviewers' decisions stay hidden."
        }
        Screen::ReviewItem => {
            "Decide about this item: accept it, change it in your editor, or reject it with a reason. Every decision is saved at once and can be undone. The checks are those of `medrgb build`; an item that you change is checked at once, and stays as you want it. `medrgb build review apply` writes the benchmark with what was decided."
        }
        Screen::Build => {
            "Makes a benchmark, or goes on with one: a model writes search topics, an index or the web gives the documents, a model writes a sub-question and an adversarial edit for each. The plan says what would be asked and what it costs; nothing is asked before you start. What was answered is kept in the folder's ledger, so that nothing is asked twice."
        }
        Screen::Retrieval => {
            "Live search over the documents of this dataset, or of the --index that was opened: dense by meaning (encoder and HNSW graph), BM25 by words, hybrid by the ranks of both. ● marks the signal documents of the question you came from. Below each list: how many of them are in its top 10, then nDCG, recall, RR (1 / rank of the first) and AP (average precision) of these ten, each from 0 to 1. Scores are inner products, BM25's, and sums of 1 / (60 + rank). HNSW is compared with a scan of all vectors for this very query. The map lays the query and its hits out by the likeness of their vectors."
        }
        Screen::Sweep => {
            "Runs: plan a sweep (every question under every condition of a grid, asked of one model), watch and pause it, and see the rates of a stored run over p, the share of signal documents, with 95 % intervals and the paper's figures where they can be compared."
        }
        Screen::Compare => {
            "Two stored runs, or two models of one, on the same questions: rates with intervals, their difference, McNemar's test, and the questions that only A, only B, both or neither answered rightly."
        }
        Screen::Probe => {
            "One context changed on purpose: a document swapped for its original, its adversarial version or noise, left out, or moved. Does the answer flip, and what does the reply itself repeat of planted text? Below: where planted text went in the reply on screen, and whether cited documents contain what they are cited for."
        }
        Screen::Talk => {
            "A talk: the steps of a script, with recorded replies played as they came (the caption line says how fast). No model and no network are used. Leave it to look around yourself, and come back to the step where you were."
        }
    };
    flow.say(&app.wraps, about, Tone::Text);
    flow.gap();
    let rows: Vec<_> = COMMANDS
        .iter()
        .filter(|row| row.screens.contains(&app.screen))
        .map(|row| (app.keymap.keys(row.command).join(" "), row))
        .collect();
    let narrow = width < 60;
    let widest = rows.iter().map(|(keys, _)| keys.width()).max().unwrap_or(0);
    let (keys_width, name_width) = if narrow {
        ((widest + 2).min(14), 0)
    } else {
        ((widest + 2).min(24), 19)
    };
    for (keys, row) in rows {
        // Keys that do not fit their column, with a blank after it, have a row of their own.
        let alone = keys.width() >= keys_width;
        if alone {
            flow.line(Line::from(span(theme, keys.clone(), Tone::Key)));
        }
        let beside = if alone { "" } else { keys.as_str() };
        let head = Line::from(vec![
            span(theme, fit(beside, keys_width), Tone::Key),
            span(theme, fit(row.name, name_width), Tone::Faint),
        ]);
        let indent = u16::try_from(keys_width + name_width).unwrap_or(0);
        let rich = Rc::new(Rich::plain(row.help, Tone::Text));
        flow.beside(&app.wraps, head, indent, rich);
    }
    if app.screen == Screen::Annotate {
        flow.gap();
        for label in &app.annotate.taxonomy.labels {
            let head = Line::from(span(theme, format!("{} ", label.key), Tone::Key));
            let text = format!("{}: {}", label.name, label.definition);
            flow.beside(&app.wraps, head, 4, Rc::new(Rich::plain(&text, Tone::Text)));
        }
    }
    flow.gap();
    let config =
        "Every key can be changed: [keys] in config.toml, with the names of the second column.";
    flow.say(&app.wraps, config, Tone::Faint);
    flow
}

fn problems(app: &App, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    if !app.faults.is_empty() {
        let text = "Settings that can't be used; mend them and start again:";
        flow.say(&app.wraps, text, Tone::Text);
        flow.gap();
    }
    for fault in &app.faults {
        flow.say(&app.wraps, fault, Tone::Warning);
        flow.gap();
    }
    let missing = |dataset: &&Arc<Dataset>| app.faults.is_empty() || dataset.trouble().is_some();
    let Some(dataset) = app.data().filter(missing) else {
        return flow;
    };
    let text = format!(
        "Left out: {}; everything else can be used.",
        dataset.trouble().unwrap_or_else(|| "nothing".to_owned())
    );
    flow.say(&app.wraps, &text, Tone::Text);
    flow.gap();
    for problem in &dataset.problems {
        flow.say(&app.wraps, problem, Tone::Warning);
    }
    flow
}

fn prompt(app: &App, width: u16) -> Flow {
    let theme = &app.theme;
    let mut flow = Flow::new(width);
    let composed = app
        .instance
        .as_ref()
        .and_then(|state| state.composed.as_ref().ok());
    if let Some(Ok(prompt)) = composed.map(|composed| &composed.prompt) {
        for (name, text) in [("system", &prompt.system), ("user", &prompt.user)] {
            let letters = text.chars().count();
            let line = format!("── {name} message ── {letters} characters ──");
            flow.line(Line::from(span(theme, line, Tone::Faint)));
            flow.say(&app.wraps, text, Tone::Text);
            flow.gap();
        }
    }
    flow
}
