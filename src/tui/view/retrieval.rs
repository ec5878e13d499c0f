//! Live search.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::text::count;
use crate::retrieval::{Hit, Method};
use crate::tui::app::App;
use crate::tui::app::retrieval::{BuildState, IndexState, METHODS};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, frame, inside, panel, put, span};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{both_ends, cut, fitting, one_line};

mod map;

/// Rows of one hit: rank and id, then its text.
const HIT_ROWS: usize = 2;

/// From this width on the three lists stand side by side.
const WIDE: u16 = 90;

/// From this size on the map stands beside the document.
const MAP_FROM: (u16, u16) = (110, 9);

struct Layout {
    header: Rect,
    query: Rect,
    status: Rect,
    /// What lies below the status: lists and document, or the map.
    body: Rect,
    lists: Vec<(usize, Rect)>,
    detail: Option<Rect>,
    map: Option<Rect>,
}

fn layout(app: &App) -> Layout {
    let (width, height) = app.size;
    let row = |y: u16, rows: u16| Rect::new(0, y, width, rows.min(height.saturating_sub(y + 1)));
    let status = status_rows(app, width);
    let whole = row(4 + status, height.saturating_sub(5 + status));
    let mut body = whole;
    let mut detail = None;
    if body.height >= 16 && !app.retrieval.zoom {
        let rows = body.height / 3;
        body.height -= rows;
        detail = Some(Rect {
            y: body.bottom(),
            height: rows,
            ..body
        });
    }
    let map = detail
        .as_mut()
        .filter(|_| !app.retrieval.words_only())
        .and_then(beside_document);
    let focus = app.retrieval.focus;
    let alone = app.retrieval.zoom || width < WIDE || app.retrieval.words_only();
    let lists = if alone {
        vec![(focus, body)]
    } else {
        let share = width / 3;
        (0..3u16)
            .map(|index| {
                let x = index * share;
                let list_width = if index == 2 { width - x } else { share };
                let area = Rect {
                    x,
                    width: list_width,
                    ..body
                };
                (usize::from(index), area)
            })
            .collect()
    };
    Layout {
        header: row(0, 1),
        query: row(1, 3),
        status: row(4, status),
        body: whole,
        lists,
        detail,
        map,
    }
}

/// Most rows of the status: one for times, the rest for what must be known about the index.
const MOST_STATUS: usize = 4;

/// Rows of the status, so that what must be known about the index is there to its end.
fn status_rows(app: &App, width: u16) -> u16 {
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

/// Takes the right half of the document's area for the map, where both have room.
fn beside_document(detail: &mut Rect) -> Option<Rect> {
    if detail.width < MAP_FROM.0 || detail.height < MAP_FROM.1 {
        return None;
    }
    let width = detail.width / 2;
    let map = Rect {
        x: detail.x + width,
        width: detail.width - width,
        ..*detail
    };
    detail.width = width;
    Some(map)
}

/// Hits that a list shows at once.
pub fn visible_hits(app: &App) -> usize {
    let layout = layout(app);
    let focused = layout
        .lists
        .iter()
        .find(|(list, _)| *list == app.retrieval.focus);
    focused.map_or(1, |(_, area)| usize::from(inside(*area).height) / HIT_ROWS)
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let layout = layout(app);
    header(app, layout.header, buffer);
    query(app, layout.query, buffer);
    status(app, layout.status, buffer);
    if app.retrieval.map_page {
        return map::page(app, layout.body, buffer);
    }
    for (list, area) in &layout.lists {
        hits(app, *list, *area, buffer);
    }
    if let Some(area) = layout.detail {
        detail(app, area, buffer);
    }
    if let Some(area) = layout.map {
        map::plot(app, area, buffer);
    }
}

/// The title and what the encoder is, each in the longest form that leaves room for the other.
fn header(app: &App, area: Rect, buffer: &mut Buffer) {
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

fn query(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let typing = app.retrieval.typing;
    let edit = app.keymap.key(Command::EditQuery);
    let new = app.keymap.key(Command::NewQuery);
    let right = match (typing, &app.retrieval.kept) {
        (false, _) => format!("{new}: another one; {edit} edits this one"),
        (true, Some(_)) => "up: the query before".to_owned(),
        (true, None) => String::new(),
    };
    let right = vec![span(theme, right, Tone::Faint)];
    frame(
        app,
        area,
        buffer,
        typing,
        vec![span(theme, "Query", Tone::Title)],
        right,
    );
    let inner = inside(area);
    let (before, after) = app.retrieval.query.halves();
    let width = usize::from(inner.width);
    // While typing, the cursor must be in sight: long texts show their end.
    let before = if typing {
        tail(before, width.saturating_sub(2))
    } else {
        before.to_owned()
    };
    let mut spans = vec![span(theme, before, Tone::Text)];
    if typing {
        spans.push(span(theme, "▏", Tone::Key));
    }
    spans.push(span(theme, after.to_owned(), Tone::Text));
    let spans = crate::tui::widgets::line::cut_spans(spans, width);
    put(buffer, inner.x, inner.y, &Line::from(spans), inner.width);
}

/// The last `width` columns of a text.
fn tail(text: &str, width: usize) -> String {
    use unicode_segmentation::UnicodeSegmentation;
    use unicode_width::UnicodeWidthStr;
    let mut used = 0;
    let mut start = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += grapheme.width();
        if used > width {
            break;
        }
        start = at;
    }
    text[start..].to_owned()
}

/// How far the index is, or how long the search took; then what must be known about the encoder.
fn status(app: &App, area: Rect, buffer: &mut Buffer) {
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
        let spans = crate::tui::widgets::line::cut_spans(spans, usize::from(area.width));
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
        let share = format!("HNSW found {:.0} %", recall * 100.0);
        [
            format!("{share} of the exact top hits"),
            format!("{share} of the exact"),
            share,
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

fn method_title(method: Method) -> (&'static str, &'static str) {
    match method {
        Method::Dense => ("Dense (HNSW)", "meaning"),
        Method::Bm25 => ("BM25", "words"),
        Method::Hybrid => ("Hybrid", "both, by rank"),
        Method::Exact => ("Exact", "all vectors"),
    }
}

fn hits(app: &App, list: usize, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let focused = list == app.retrieval.focus && !app.retrieval.typing;
    let Some(method) = METHODS.get(list) else {
        return;
    };
    let (name, about) = method_title(*method);
    let mut left = vec![span(theme, name, Tone::Title)];
    if app.retrieval.words_only() {
        let text = "  the only list: dense and hybrid search need an encoder";
        left.push(span(theme, text, Tone::Faint));
    } else if area.width == app.size.0 && !app.retrieval.zoom {
        let text = format!(
            "  {} of 3, {} next",
            list + 1,
            app.keymap.key(Command::FocusNext)
        );
        left.push(span(theme, text, Tone::Faint));
    }
    frame(
        app,
        area,
        buffer,
        focused,
        left,
        vec![span(theme, about, Tone::Faint)],
    );
    measures(app, list, area, buffer);
    let inner = inside(area);
    let found = match app.retrieval.lists.get(list) {
        Some(Some(Ok(found))) => found,
        Some(Some(Err(problem))) => return note(app, inner, buffer, problem, Tone::Warning),
        _ => {
            let building = matches!(app.retrieval.index, IndexState::Building { .. });
            let text = match method {
                _ if app.retrieval.is_opening() => "the index is being opened …",
                Method::Bm25 if building => "the text index is being built …",
                _ if building => "the documents are being encoded …",
                _ if app.retrieval.searching => "…",
                _ => "",
            };
            return note(app, inner, buffer, text, Tone::Faint);
        }
    };
    if found.hits.is_empty() {
        return note(app, inner, buffer, "nothing found", Tone::Faint);
    }
    let top = app.retrieval.top.get(list).copied().unwrap_or(0);
    let selected = app.retrieval.selected.get(list).copied().unwrap_or(0);
    let mut y = inner.y;
    for (index, hit) in found.hits.iter().enumerate().skip(top) {
        if y + 1 >= inner.bottom() + u16::from(inner.height == 1) {
            break;
        }
        let signal = is_signal(app, list, index);
        let [first, second] = hit_lines(app, hit, signal, usize::from(inner.width));
        put(buffer, inner.x, y, &first, inner.width);
        if y + 1 < inner.bottom() {
            put(buffer, inner.x, y + 1, &second, inner.width);
        }
        if focused && index == selected {
            let whole = Rect::new(inner.x, y, inner.width, 1);
            buffer.set_style(whole, theme.style(Tone::Selection));
            put(
                buffer,
                inner.x.saturating_sub(1),
                y,
                &Line::styled(">", theme.style(Tone::Key)),
                1,
            );
        }
        y += 2;
    }
}

/// How well the list found the question's signal documents, on the lower border.
fn measures(app: &App, list: usize, area: Rect, buffer: &mut Buffer) {
    if area.width < 6 || area.height < 2 {
        return;
    }
    let shown = matches!(app.retrieval.lists.get(list), Some(Some(Ok(_))));
    if app.retrieval.absent && shown {
        let forms = [
            " no figures: the question's documents are not in this index ",
            " its documents: not in this index ",
            " not in this index ",
        ];
        let text = fitting(forms, usize::from(area.width - 4));
        return lower(app, area, text, Tone::Warning, buffer);
    }
    let Some(Some(measures)) = app.retrieval.measures.get(list) else {
        return;
    };
    let (ndcg, recall) = (measures.ndcg, measures.recall);
    let (rank, at) = (measures.reciprocal_rank, measures.at);
    let text = fitting(
        [
            format!(" nDCG@{at} {ndcg:.2}   recall@{at} {recall:.2}   RR@{at} {rank:.2} "),
            format!(" @{at}: nDCG {ndcg:.2}  recall {recall:.2}  RR {rank:.2} "),
            format!(" nDCG@{at} {ndcg:.2} "),
        ],
        usize::from(area.width - 4),
    );
    lower(app, area, text, Tone::Text, buffer);
}

/// A text on the lower border.
fn lower(app: &App, area: Rect, text: String, tone: Tone, buffer: &mut Buffer) {
    let line = Line::from(span(&app.theme, text, tone));
    put(buffer, area.x + 2, area.bottom() - 1, &line, area.width - 4);
}

/// Whether a hit is signal for the question one came from.
fn is_signal(app: &App, list: usize, index: usize) -> bool {
    let marks = app.retrieval.signal.get(list);
    marks.and_then(|marks| marks.get(index)).copied() == Some(true)
}

fn hit_lines(app: &App, hit: &Hit, signal: bool, width: usize) -> [Line<'static>; 2] {
    let theme = &app.theme;
    let (mark, tone) = if signal {
        ("●", Tone::Signal)
    } else {
        (" ", Tone::Text)
    };
    let first = both_ends(
        vec![
            span(theme, format!("{:>3} ", hit.rank), Tone::Faint),
            span(theme, format!("{mark} "), tone),
            span(theme, one_line(&hit.id), tone),
        ],
        vec![span(theme, format!("{:.3}", hit.score), Tone::Strong)],
        width,
    );
    let text = cut(
        &one_line(&format!("{} {}", hit.title, hit.content)),
        width.saturating_sub(6),
    );
    let second = Line::from(vec![Span::raw("      "), span(theme, text, Tone::Faint)]);
    [first, second]
}

fn note(app: &App, area: Rect, buffer: &mut Buffer, text: &str, tone: Tone) {
    let mut flow = Flow::new(area.width);
    flow.say(&app.wraps, text, tone);
    flow.draw(area, buffer, 0, &app.theme);
}

fn detail(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let list = app.retrieval.focus;
    let hit = match app.retrieval.lists.get(list) {
        Some(Some(Ok(found))) => app
            .retrieval
            .selected
            .get(list)
            .and_then(|&selected| found.hits.get(selected)),
        _ => None,
    };
    let mut flow = Flow::new(inside(area).width);
    let mut title = vec![span(theme, "Document", Tone::Title)];
    if let Some(hit) = hit {
        title.push(span(theme, format!("  {}", one_line(&hit.id)), Tone::Faint));
        let selected = app.retrieval.selected.get(list).copied();
        if selected.is_some_and(|selected| is_signal(app, list, selected)) {
            title.push(span(theme, "  ● signal for this question", Tone::Signal));
        }
        if !hit.title.trim().is_empty() {
            flow.say(&app.wraps, hit.title.trim(), Tone::Strong);
        }
        flow.say(&app.wraps, hit.content.trim(), Tone::Text);
    } else {
        let text = "Search hits are shown here in full.";
        flow.say(&app.wraps, text, Tone::Faint);
    }
    panel(app, area, buffer, false, title, Vec::new(), &flow, 0);
}
