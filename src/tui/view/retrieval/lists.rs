//! The lists of hits, and how well each found what it should.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::ranking::MeasuresAt;
use crate::retrieval::{Hit, Method};
use crate::tui::app::App;
use crate::tui::app::retrieval::{IndexState, METHODS};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, put, span};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{both_ends, cut, fitting, one_line};

pub(super) fn method_title(method: Method) -> (&'static str, &'static str) {
    match method {
        Method::Dense => ("Dense (HNSW)", "meaning"),
        Method::Bm25 => ("BM25", "words"),
        Method::Hybrid => ("Hybrid", "both, by rank"),
        Method::Exact => ("Exact", "all vectors"),
    }
}

pub(super) fn hits(app: &App, list: usize, area: Rect, buffer: &mut Buffer) {
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
    let text = fitting(figures(measures), usize::from(area.width - 4));
    lower(app, area, text, Tone::Text, buffer);
}

/// Counts and measures of the first ranks, in ever fewer words. The mark is that of the documents they are about.
fn figures(measures: &MeasuresAt) -> [String; 5] {
    let MeasuresAt {
        ndcg,
        recall,
        reciprocal_rank: rank,
        average_precision: precision,
        found,
        relevant,
        at,
    } = measures;
    let each = format!(
        "nDCG@{at} {ndcg:.2}   recall@{at} {recall:.2}   RR@{at} {rank:.2}   AP@{at} {precision:.2}"
    );
    let share = format!("● {found} of {relevant}");
    [
        format!(" {share} signal documents in the top {at}   {each} "),
        format!(" {share} found   {each} "),
        format!(
            " {share}  @{at}: nDCG {ndcg:.2}  recall {recall:.2}  RR {rank:.2}  AP {precision:.2} "
        ),
        format!(" {share}   nDCG@{at} {ndcg:.2} "),
        format!(" nDCG@{at} {ndcg:.2} "),
    ]
}

/// A text on the lower border.
fn lower(app: &App, area: Rect, text: String, tone: Tone, buffer: &mut Buffer) {
    let line = Line::from(span(&app.theme, text, tone));
    put(buffer, area.x + 2, area.bottom() - 1, &line, area.width - 4);
}

/// Whether a hit is signal for the question one came from.
pub(super) fn is_signal(app: &App, list: usize, index: usize) -> bool {
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

pub(super) fn note(app: &App, area: Rect, buffer: &mut Buffer, text: &str, tone: Tone) {
    let mut flow = Flow::new(area.width);
    flow.say(&app.wraps, text, tone);
    flow.draw(area, buffer, 0, &app.theme);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn figures_name_the_measures_of_the_first_ranks_in_what_room_there_is() {
        // Two of four relevant ones, at ranks 1 and 3: AP = (1 + 2/3) / 4.
        let mut marks = vec![true, false, true];
        marks.resize(20, false);
        // Below the ranks that count.
        marks[15] = true;
        let measures = MeasuresAt::new(&marks, 4, 10).unwrap();
        assert_eq!((measures.found, measures.relevant), (2, 4));
        let forms = figures(&measures);
        let widths: Vec<usize> = forms.iter().map(|form| form.width()).collect();
        assert!(widths.is_sorted_by(|a, b| a > b), "{widths:?}");
        for part in ["recall@10 0.50", "RR@10 1.00", "AP@10 0.42", "2 of 4"] {
            assert!(forms[1].contains(part), "{}", forms[1]);
        }
        // A list that has the width of a small terminal, and the narrowest of three side by side.
        assert_eq!(fitting(forms.clone(), 76), forms[1]);
        assert_eq!(fitting(forms.clone(), 26), forms[3]);
    }
}
