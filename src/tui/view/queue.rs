//! The queue: the replies of a run, waiting to be labelled.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::annotation::Part;
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::annotate::Queue;
use crate::tui::app::facet::Facets;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::annotate::outcome;
use crate::tui::view::chrome::{bar, frame, inside, put, span};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{fit, one_line};

fn body(app: &App) -> Rect {
    let (width, height) = app.size;
    Rect::new(0, 1, width, height.saturating_sub(2))
}

/// Where the rows of the list are; the first row inside the frame names the columns.
fn list_area(app: &App) -> Rect {
    let inner = inside(body(app));
    Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    }
}

/// Rows that the list shows.
pub fn visible_rows(app: &App) -> usize {
    usize::from(list_area(app).height)
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let (width, height) = app.size;
    title(app, Rect::new(0, 0, width, 1.min(height)), buffer);
    let theme = &app.theme;
    let area = body(app);
    let mut left = vec![span(theme, "Replies", Tone::Title)];
    if let Some(queue) = &app.annotate.queue
        && !queue.facets.is_empty()
    {
        let narrowing = queue.narrowing();
        if !narrowing.is_empty() {
            let words = words(app, &narrowing);
            left.push(span(theme, format!("  only: {words}"), Tone::Match));
        }
        if narrowing != queue.facets {
            let text = "  (outcomes narrow nothing while blind)";
            left.push(span(theme, text, Tone::Warning));
        }
    }
    frame(app, area, buffer, true, left, Vec::new());
    match &app.annotate.queue {
        Some(queue) if app.annotate.opening.is_none() && !queue.shown.is_empty() => {
            rows(app, queue, buffer);
        }
        _ => empty(app, buffer),
    }
}

/// What the queue is narrowed to, in words.
fn words(app: &App, facets: &Facets) -> String {
    let taxonomy = &app.annotate.taxonomy;
    one_line(&facets.words(|label| taxonomy.name_of(label).to_owned()))
}

fn title(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let annotate = &app.annotate;
    let mut left = vec![span(theme, " Queue  ", Tone::Title)];
    if let Some(queue) = &annotate.queue {
        let (done, all) = queue.progress();
        left.push(span(
            theme,
            format!("run {}", one_line(&queue.run)),
            Tone::Strong,
        ));
        let (what, tone) = match (queue.part, done == all && all > 0) {
            (_, true) => (format!("  all {all} done"), Tone::Good),
            (Part::Annotator, false) => (format!("  {done} of {all} done"), Tone::Text),
            (Part::Adjudicator, false) => (
                format!("  decide between annotators: {done} of {all} decided"),
                Tone::Text,
            ),
        };
        left.push(span(theme, what, tone));
        if annotate.blind && queue.part == Part::Annotator {
            left.push(span(theme, "  BLIND", Tone::Warning));
        }
        if queue.read_only.is_some() {
            left.push(span(theme, "  READ-ONLY", Tone::Warning));
        }
        if queue.broken > 0 {
            let text = format!("  {} can't be read", count(queue.broken, "record"));
            left.push(span(theme, text, Tone::Warning));
        }
    }
    let right = vec![span(
        theme,
        format!("as {} ", annotate.annotator),
        Tone::Faint,
    )];
    bar(app, area, buffer, left, right);
}

/// Why there are no rows, and the way on.
fn empty(app: &App, buffer: &mut Buffer) {
    let key = |command| app.keymap.key(command);
    let area = list_area(app);
    let mut flow = Flow::new(area.width);
    let annotate = &app.annotate;
    if let Some((_, run, _)) = &annotate.opening {
        let text = format!("Reading the replies of {} …", one_line(run));
        flow.say(&app.wraps, &text, Tone::Text);
    } else if let Some(problem) = &annotate.problem {
        flow.say(&app.wraps, "The queue can't be opened.", Tone::Bad);
        flow.say(&app.wraps, problem, Tone::Text);
        let text = format!("{} chooses another run.", key(Command::ChooseRun));
        flow.say(&app.wraps, &text, Tone::Faint);
    } else {
        let text = match &annotate.queue {
            Some(queue) if !queue.items.is_empty() => format!(
                "No reply is like that. {} changes what the queue is narrowed to.",
                key(Command::Facets)
            ),
            _ => format!(
                "This run has no replies. {} chooses another.",
                key(Command::ChooseRun)
            ),
        };
        flow.say(&app.wraps, &text, Tone::Warning);
    }
    flow.draw(area, buffer, 0, &app.theme);
}

/// From this width on the rows name the scenario too.
const WIDE: usize = 96;

/// Widths of the columns; the question takes the rest.
struct Columns {
    outcome: usize,
    planted: usize,
    condition: usize,
    id: usize,
    question: usize,
    labels: usize,
}

fn columns(app: &App, queue: &Queue, width: usize) -> Columns {
    let longest = queue.widest_id;
    let outcome = 12;
    let planted = if width >= 70 { 9 } else { 0 };
    let condition = match width {
        WIDE.. => 23,
        70.. => 12,
        _ => 0,
    };
    let id = longest.clamp(2, if width >= 110 { 24 } else { 18 });
    // Only what was said takes room.
    let said = queue
        .book
        .annotations()
        .map(|(reply, _)| labels_of(app, queue, reply));
    let longest = said.map(|labels| labels.width()).max().unwrap_or(0);
    let labels = match (longest, width >= 60) {
        (0, _) | (_, false) => 0,
        _ => (longest + 2).max(13).min(width / 4),
    };
    let used = 2 + outcome + planted + condition + id + labels + 4;
    Columns {
        outcome,
        planted,
        condition,
        id,
        question: width.saturating_sub(used),
        labels,
    }
}

fn rows(app: &App, queue: &Queue, buffer: &mut Buffer) {
    let theme = &app.theme;
    let area = list_area(app);
    let columns = columns(app, queue, usize::from(area.width));
    let heading = [
        fit("", 2),
        fit("outcome", columns.outcome),
        fit("planted", columns.planted),
        fit(
            if columns.condition < 23 {
                "n, p"
            } else {
                "scenario"
            },
            columns.condition,
        ),
        fit("id", columns.id + 2),
        fit("question", columns.question),
        fit("  your labels", columns.labels),
    ]
    .concat();
    let line = Line::from(span(theme, heading, Tone::Faint));
    put(buffer, area.x, area.y.saturating_sub(1), &line, area.width);
    let shown = queue.shown.iter().enumerate().skip(queue.top);
    for (y, (row, at)) in (area.top()..area.bottom()).zip(shown) {
        put(
            buffer,
            area.x,
            y,
            &line_of(app, queue, *at, &columns),
            area.width,
        );
        if row == queue.selected {
            let whole = Rect::new(area.x.saturating_sub(1), y, area.width + 2, 1);
            buffer.set_style(whole, theme.style(Tone::Selection));
            let arrow = Line::styled(">", theme.style(Tone::Key));
            put(buffer, area.x.saturating_sub(1), y, &arrow, 1);
        }
    }
    let border = Rect {
        y: area.y,
        height: area.height,
        ..body(app)
    };
    let style = theme.style(Tone::BorderFocused);
    scroll_bar(border, buffer, queue.top, queue.shown.len(), style);
}

fn line_of(app: &App, queue: &Queue, at: usize, columns: &Columns) -> Line<'static> {
    let theme = &app.theme;
    let Some(item) = queue.items.get(at) else {
        return Line::default();
    };
    let reply = item.reply_id().unwrap_or_default();
    let said = queue.book.get(reply);
    let (mark, tone) = match said {
        Some(said) if said.done => ("✓ ", Tone::Good),
        Some(said) if !said.is_blank() => ("~ ", Tone::Warning),
        _ => ("  ", Tone::Faint),
    };
    let hidden = queue.hides(at, app.annotate.blind);
    let (outcome, outcome_tone) = outcome(queue, at, app.annotate.blind);
    let (adopted, planted) = item.brief.adopted;
    let (planted, planted_tone) = match (hidden, planted) {
        (true, _) => (String::new(), Tone::Faint),
        (_, 0) => ("-".to_owned(), Tone::Faint),
        (_, all) if adopted > 0 => (format!("▲ {adopted} of {all}"), Tone::Adversarial),
        (_, all) => (format!("  0 of {all}"), Tone::Faint),
    };
    let condition = &item.brief.condition;
    let draw = format!("n {} p {}", condition.docs, condition.p);
    let scenario = match columns.condition {
        // Where there is no room for both, the same question under other conditions is told apart by n and p.
        ..23 => draw,
        _ => format!("{} {draw}", condition.scenario.name()),
    };
    let labels = labels_of(app, queue, reply);
    Line::from(vec![
        span(theme, mark, tone),
        span(theme, fit(&outcome, columns.outcome), outcome_tone),
        span(theme, fit(&planted, columns.planted), planted_tone),
        span(theme, fit(&scenario, columns.condition), Tone::Faint),
        span(theme, fit(&item.asked.id, columns.id), Tone::Faint),
        Span::raw("  "),
        span(theme, fit(&item.asked.text, columns.question), Tone::Text),
        Span::raw("  "),
        span(
            theme,
            fit(&labels, columns.labels.saturating_sub(2)),
            Tone::Strong,
        ),
    ])
}

/// The labels of a reply by name, and whether the person is unsure.
fn labels_of(app: &App, queue: &Queue, reply_id: &str) -> String {
    let Some(said) = queue.book.get(reply_id) else {
        return String::new();
    };
    let names = said
        .labels
        .iter()
        .map(|id| app.annotate.taxonomy.name_of(id));
    let names: Vec<&str> = names.collect();
    let unsure = if said.unsure { "? " } else { "" };
    one_line(&format!("{unsure}{}", names.join(", ")))
}
