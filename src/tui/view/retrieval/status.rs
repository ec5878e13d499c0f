//! The lines above the lists: what is searched and with what, how far the index is, how long the search took.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::retrieval::{BuildState, IndexState};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, put, span};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{cut, cut_spans, fitting, one_line};

/// Most rows of the status: one for times, the rest for what must be known about the index.
const MOST_STATUS: usize = 4;

/// Rows of the status, so that what must be known about the index is there to its end.
pub(super) fn status_rows(app: &App, width: u16) -> u16 {
    let rows = match notice(app, width) {
        Some(notice) => (1 + notice.rows()).clamp(2, MOST_STATUS),
        None => 2,
    };
    u16::try_from(rows).unwrap_or(2)
}

/// What must be known about a ready index.
fn notice(app: &App, width: u16) -> Option<Flow> {
    let IndexState::Ready(info) = &app.retrieval.index else {
        return None;
    };
    let mut flow = Flow::new(width.saturating_sub(2));
    flow.say(&app.wraps, &one_line(info.notice.as_ref()?), Tone::Warning);
    Some(flow)
}

/// The title and what the encoder is, each in the longest form that leaves room for the other.
pub(super) fn header(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let name = app
        .data()
        .map_or_else(String::new, |data| one_line(&data.name));
    let brand = span(theme, " MedRGB  ", Tone::Title);
    let named = span(theme, format!("{}  ", cut(&name, 32)), Tone::Text);
    let title = span(theme, "Retrieval", Tone::Strong);
    let size = match &app.retrieval.index {
        IndexState::Ready(info) => format!("  {}", count(info.documents, "document")),
        _ => String::new(),
    };
    let size = span(theme, size, Tone::Faint);
    let lefts = [
        vec![brand.clone(), named, title.clone(), size],
        vec![brand, title.clone()],
        vec![Span::raw(" "), title],
    ];
    let (rights, tone) = encoder_forms(app);
    let width = |left: &[Span<'_>]| left.iter().map(Span::width).sum::<usize>();
    let all = usize::from(area.width);
    // The title shrinks to two words before the encoder loses its name.
    let pairs = [(0, 0), (0, 1), (0, 2), (1, 2), (1, 3), (2, 3)];
    let fits = |&(left, right): &(usize, usize)| width(&lefts[left]) + rights[right].width() < all;
    let (left, right) = pairs.into_iter().find(fits).unwrap_or((2, 3));
    let room = all.saturating_sub(width(&lefts[left]) + 1);
    let right = span(theme, cut(&rights[right], room), tone);
    bar(app, area, buffer, lefts[left].clone(), vec![right]);
}

/// What is known of the encoder, in ever fewer words.
fn encoder_forms(app: &App) -> ([String; 4], Tone) {
    let same = |text: &str, tone| ([text; 4].map(str::to_owned), tone);
    match &app.retrieval.index {
        IndexState::Ready(info) => match &info.encoder {
            Some(encoder) => {
                let (forms, tone) = encoder_words(&encoder.name, encoder.stand_in);
                let [long, short, name] = forms;
                let more = format!("{} dimensions · {}", encoder.dim, encoder.backend);
                let forms = [
                    format!("{long} · {more} "),
                    format!("{long} "),
                    format!("{short} "),
                    format!("{name} "),
                ];
                (forms, tone)
            }
            None => same("no encoder: BM25 only ", Tone::Warning),
        },
        IndexState::Building { encoder, .. } => match encoder {
            Some(encoder) => {
                let (forms, tone) = encoder_words(&encoder.name, encoder.stand_in);
                let [long, short, name] = forms.map(|form| format!("{form} "));
                ([long.clone(), long, short, name], tone)
            }
            None => same("building the index … ", Tone::Warning),
        },
        IndexState::Failed(_) => same("no index ", Tone::Bad),
        IndexState::None => same("", Tone::Text),
    }
}

/// An encoder's name, and that it is a stand-in where it is one, in ever fewer words.
fn encoder_words(name: &str, stand_in: bool) -> ([String; 3], Tone) {
    let name = one_line(name);
    if stand_in {
        let forms = [
            format!("encoder {name} (stand-in for MedCPT)"),
            format!("{name} (stand-in)"),
            format!("{name} (stand-in)"),
        ];
        return (forms, Tone::Warning);
    }
    let forms = [format!("encoder {name}"), name.clone(), name];
    (forms, Tone::Text)
}

/// How far the index is, or how long the search took; then what must be known about the encoder.
pub(super) fn status(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let mut lines: Vec<Vec<Span<'static>>> = Vec::new();
    match &app.retrieval.index {
        IndexState::Building { progress, .. } => {
            let cancel = app.keymap.key(Command::CancelBuild);
            let text = building(app, progress.as_ref(), usize::from(area.width), &cancel);
            lines.push(vec![span(theme, text, Tone::Key)]);
            if app.sharing_processor() {
                let text = fitting(
                    [
                        " a reply is being written too: both share the processor and are slower for it",
                        " a reply is written too: slower for both",
                    ],
                    usize::from(area.width),
                );
                lines.push(vec![span(theme, text, Tone::Warning)]);
            }
        }
        IndexState::Failed(problem) => {
            let build = app.keymap.key(Command::Rebuild);
            let text = format!(" {}   {build} tries again", one_line(problem));
            lines.push(vec![span(theme, text, Tone::Bad)]);
        }
        IndexState::None => {
            let build = app.keymap.key(Command::Rebuild);
            let text = format!(" No index yet; {build} builds one from this dataset's documents.");
            lines.push(vec![span(theme, text, Tone::Faint)]);
        }
        IndexState::Ready(_) => {
            lines.push(timing(app, usize::from(area.width)));
            if let Some(notice) = notice(app, area.width) {
                let below = Rect {
                    x: area.x + 1.min(area.width),
                    y: area.y + 1.min(area.height),
                    width: area.width.saturating_sub(2),
                    height: area.height.saturating_sub(1),
                };
                notice.draw(below, buffer, 0, theme);
                // The rest of the status is full.
                lines.push(Vec::new());
            }
        }
    }
    if lines.len() < 2
        && let Some(note) = &app.retrieval.note
    {
        let text = format!(" {}", one_line(note));
        lines.push(vec![span(theme, text, Tone::Warning)]);
    }
    if lines.len() < 2 && app.retrieval.searching {
        lines.push(vec![span(theme, " searching …", Tone::Faint)]);
    }
    let lines = (area.top()..area.bottom()).zip(lines);
    for (y, spans) in lines.filter(|(_, spans)| !spans.is_empty()) {
        let spans = cut_spans(spans, usize::from(area.width));
        put(buffer, area.x, y, &Line::from(spans), area.width);
    }
}

/// How far the building is, how fast it goes and how long it will take, as much of it as fits.
fn building(app: &App, progress: Option<&BuildState>, width: usize, cancel: &str) -> String {
    let Some(build) = progress else {
        return format!(" preparing …   {cancel} cancels");
    };
    let stage = one_line(&build.stage);
    if build.total == 0 {
        return format!(" {stage} …   {cancel} cancels");
    }
    let far = format!(" {stage}: {} of {}", build.done, build.total);
    let rate = build.rate().map_or_else(String::new, |rate| {
        let digits = usize::from(rate < 10.0);
        format!("   {rate:.digits$} per second")
    });
    let left = build
        .left(app.now)
        .filter(|_| build.done < build.total)
        .map_or_else(String::new, |left| {
            format!("   about {} left", in_words(left))
        });
    fitting(
        [
            format!("{far}{rate}{left}   {cancel} cancels"),
            format!("{far}{left}   {cancel} cancels"),
            format!("{far}   {cancel} cancels"),
        ],
        width,
    )
}

/// A time to wait, in the unit that matters.
fn in_words(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..90 => format!("{} s", seconds.max(1)),
        seconds @ 90..5400 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

/// Times and recall of the last search, as much of it as fits; the recall is in every form.
fn timing(app: &App, width: usize) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let found = |list: usize| match app.retrieval.lists.get(list) {
        Some(Some(Ok(found))) => Some(found.timing_ms),
        _ => None,
    };
    let dense = found(0).map(|timing| {
        let (tokenise, encode, search) = (timing.tokenize, timing.encode, timing.search);
        let all = tokenise + encode + search;
        [
            format!(
                "dense: tokenise {tokenise:.1} ms, encode {encode:.1} ms, search {search:.2} ms"
            ),
            format!("dense {all:.1} ms (encode {encode:.1})"),
            format!("dense {all:.1} ms"),
        ]
    });
    let words = found(1)
        .map(|timing| [2, 2, 1].map(|digits| format!("BM25 {:.digits$} ms", timing.search)));
    let recall = app.retrieval.recall.map(|recall| {
        let share = format!("{:.0} %", recall * 100.0);
        [
            format!("HNSW found {share} of what a scan of all vectors finds"),
            format!("HNSW found {share} of exact hits"),
            format!("HNSW recall {share}"),
        ]
    });
    let parts = [dense, words, recall];
    let form = |level: usize| {
        let texts: Vec<&str> = parts
            .iter()
            .flatten()
            .map(|part| part[level].as_str())
            .collect();
        format!(" {}", texts.join("   "))
    };
    vec![span(
        theme,
        fitting([form(0), form(1), form(2)], width),
        Tone::Faint,
    )]
}
