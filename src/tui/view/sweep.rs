//! The sweep screen: runs, plan, progress, curves.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::data::store::RunSummary;
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::loaded::Loaded;
use crate::tui::app::sweep::Page;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, frame, inside, panel, put, span};
use crate::tui::view::reply::short_time;
use crate::tui::view::{curves, plan, progress};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{cut, fit, one_line};

pub use curves::words_extent;
pub use plan::extent as plan_extent;

/// From this width on things stand side by side.
pub(super) const WIDE: u16 = 110;

/// What lies between the title and the footer.
pub(super) fn body(app: &App) -> Rect {
    let (width, height) = app.size;
    Rect::new(0, 1, width, height.saturating_sub(2))
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    title(app, buffer);
    match app.sweep.page {
        Page::Runs => runs(app, buffer),
        Page::Plan => plan::draw(app, body(app), buffer),
        Page::Progress => progress::draw(app, body(app), buffer),
        Page::Curves => curves::draw(app, body(app), buffer),
    }
}

/// The pages with the present one marked, and what runs.
fn title(app: &App, buffer: &mut Buffer) {
    let theme = &app.theme;
    let narrow = app.size.0 < 70;
    let mut left = vec![span(theme, " MedRGB  ", Tone::Title)];
    if !narrow {
        left.push(span(theme, "Sweep  ", Tone::Strong));
    }
    let sweep = &app.sweep;
    for (page, name, there) in [
        (Page::Runs, "runs", true),
        (Page::Plan, "plan", true),
        (Page::Progress, "progress", sweep.running.is_some()),
        (Page::Curves, "curves", sweep.curves.is_some()),
    ] {
        if page == sweep.page {
            left.push(span(theme, format!("[{name}] "), Tone::Key));
        } else if there {
            left.push(span(theme, format!(" {name}  "), Tone::Faint));
        }
    }
    let mut right = Vec::new();
    if let Some(running) = sweep.running.as_ref().filter(|running| running.is_active()) {
        right.push(span(theme, format!("{} ", running.brief()), Tone::Warning));
    } else if let Some(dataset) = app.data() {
        let name = cut(&one_line(&dataset.name), 30);
        right.push(span(theme, format!("{name} "), Tone::Faint));
    }
    bar(app, Rect::new(0, 0, app.size.0, 1), buffer, left, right);
}

fn areas(app: &App) -> (Rect, Option<Rect>) {
    let body = body(app);
    if body.width < WIDE {
        return (body, None);
    }
    let width = body.width * 3 / 5;
    let list = Rect { width, ..body };
    let preview = Rect {
        x: width,
        width: body.width - width,
        ..body
    };
    (list, Some(preview))
}

/// Where the rows of the list are: below the names of the columns.
fn rows_area(app: &App) -> Rect {
    let inner = inside(areas(app).0);
    Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    }
}

/// Rows that the list of runs shows.
pub fn visible_runs(app: &App) -> usize {
    usize::from(rows_area(app).height)
}

fn runs(app: &App, buffer: &mut Buffer) {
    let theme = &app.theme;
    let (list, beside) = areas(app);
    let left = vec![span(theme, "Stored runs", Tone::Title)];
    let right = match app.sweep.runs.ready() {
        Some(runs) => vec![span(theme, count(runs.len(), "run"), Tone::Faint)],
        None => Vec::new(),
    };
    frame(app, list, buffer, true, left, right);
    let rows = rows_area(app);
    let inner = inside(list);
    let columns = Columns::of(usize::from(inner.width));
    put(
        buffer,
        inner.x,
        inner.y,
        &Line::from(span(theme, columns.heading(), Tone::Faint)),
        inner.width,
    );
    let all = app.sweep.rows();
    for (y, row) in (rows.top()..rows.bottom()).zip(app.sweep.top..all) {
        let line = match row.checked_sub(1) {
            None => Line::from(span(theme, new_words(app), Tone::Key)),
            Some(at) => match app.sweep.runs.ready().and_then(|runs| runs.get(at)) {
                Some(run) => columns.line(app, run),
                None => Line::default(),
            },
        };
        put(buffer, rows.x, y, &line, rows.width);
        if row == app.sweep.selected {
            select(app, rows, y, buffer);
        }
    }
    state(app, rows, buffer);
    let border = Rect {
        y: rows.y,
        height: rows.height,
        ..list
    };
    let style = theme.style(Tone::BorderFocused);
    scroll_bar(border, buffer, app.sweep.top, all, style);
    if let Some(area) = beside {
        preview(app, area, buffer);
    }
}

/// Marks the chosen row of a list, in words and in colour.
pub(super) fn select(app: &App, rows: Rect, y: u16, buffer: &mut Buffer) {
    let x = rows.x.saturating_sub(1);
    let whole = Rect::new(x, y, rows.width + 2, 1).intersection(buffer.area);
    buffer.set_style(whole, app.theme.style(Tone::Selection));
    let mark = Line::styled(">", app.theme.style(Tone::Key));
    put(buffer, x, y, &mark, 1);
}

fn new_words(app: &App) -> String {
    match app.data() {
        Some(dataset) => format!("+ plan a new sweep of {}", one_line(&dataset.name)),
        None => "+ plan a new sweep (once the dataset is open)".to_owned(),
    }
}

/// Below the rows: what is being read, or that there is nothing.
fn state(app: &App, rows: Rect, buffer: &mut Buffer) {
    let used = u16::try_from(app.sweep.rows()).unwrap_or(u16::MAX);
    let (text, tone) = match &app.sweep.runs {
        Loaded::Loading { .. } | Loaded::Nothing => ("reading the runs …".to_owned(), Tone::Faint),
        Loaded::Failed(why) => (
            format!(
                "The runs can't be read: {}. {} tries again.",
                one_line(why).trim_end_matches('.'),
                app.keymap.key(Command::Sweep)
            ),
            Tone::Bad,
        ),
        Loaded::Ready(runs) if runs.is_empty() => (
            "No run is stored yet. A sweep makes one, and so does asking on a question's screen."
                .to_owned(),
            Tone::Faint,
        ),
        Loaded::Ready(_) => return,
    };
    let place = Rect {
        y: rows.y.saturating_add(used + 1),
        height: rows.height.saturating_sub(used + 1),
        ..rows
    };
    let mut flow = Flow::new(place.width);
    flow.say(&app.wraps, &text, tone);
    flow.draw(place, buffer, 0, &app.theme);
}

/// Widths of the columns; the model takes the rest.
struct Columns {
    name: usize,
    model: usize,
    when: usize,
}

impl Columns {
    const COUNTS: usize = 16;

    fn of(width: usize) -> Columns {
        let when = if width < 70 { 0 } else { 18 };
        let rest = width.saturating_sub(Columns::COUNTS + when + 2);
        let name = (rest / 2).min(34);
        Columns {
            name,
            model: rest.saturating_sub(name),
            when,
        }
    }

    fn heading(&self) -> String {
        let when = if self.when > 0 { "  last reply" } else { "" };
        format!(
            "{}  {}{:>9}{:>7}{when}",
            fit("run", self.name),
            fit("model", self.model),
            "replies",
            "failed"
        )
    }

    fn line(&self, app: &App, run: &RunSummary) -> Line<'static> {
        let theme = &app.theme;
        let models = one_line(&run.models.join(", "));
        let failed = if run.failures > 0 {
            Tone::Warning
        } else {
            Tone::Faint
        };
        let mut spans = vec![
            span(theme, fit(&one_line(&run.name), self.name), Tone::Strong),
            Span::raw("  "),
            span(theme, fit(&models, self.model), Tone::Text),
            span(theme, format!("{:>9}", run.replies), Tone::Text),
            span(theme, format!("{:>7}", run.failures), failed),
        ];
        if self.when > 0 {
            let when = run.updated_at.as_ref().unwrap_or(&run.created_at);
            let when = short_time(&one_line(when));
            let when = when.trim_end_matches(" UTC").to_owned();
            spans.push(span(theme, format!("  {}", cut(&when, 16)), Tone::Faint));
        }
        Line::from(spans)
    }
}

/// What the chosen row is.
fn preview(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let mut flow = Flow::new(inside(area).width);
    let open = app.keymap.key(Command::SweepChoose);
    let title = match app.sweep.run() {
        None => {
            let text = "A sweep asks a model every question of this dataset under every condition of a grid: scenarios, numbers of documents n, shares p of signal. Replies are stored one by one, so that it can be stopped and go on at any time.";
            flow.say(&app.wraps, text, Tone::Text);
            flow.gap();
            let text = format!(
                "{open} opens the plan: what would be asked, of whom, and what it costs. Nothing is asked before you start it."
            );
            flow.say(&app.wraps, &text, Tone::Faint);
            "New sweep".to_owned()
        }
        Some(run) => {
            facts(app, run, &mut flow);
            flow.gap();
            let compare = app.keymap.key(Command::Compare);
            let text = format!(
                "{open} draws its curves over p, beside the paper's. {compare} compares it with another run."
            );
            flow.say(&app.wraps, &text, Tone::Faint);
            one_line(&run.name)
        }
    };
    let left = vec![span(theme, title, Tone::Title)];
    panel(app, area, buffer, false, left, Vec::new(), &flow, 0);
}

fn facts(app: &App, run: &RunSummary, flow: &mut Flow) {
    let time = |at: &String| short_time(&one_line(at));
    let rows = [
        ("replies", run.replies.to_string()),
        ("failed calls", run.failures.to_string()),
        ("questions", run.questions.to_string()),
        ("models", run.models.join(", ")),
        ("datasets", run.datasets.join(", ")),
        ("scenarios", run.scenarios.join(", ")),
        ("begun", time(&run.created_at)),
        (
            "last reply",
            run.updated_at.as_ref().map_or("-".to_owned(), time),
        ),
    ];
    for (name, value) in rows {
        fact(app, flow, name, &value, Tone::Text);
    }
}

/// A name and its value, which wraps beside it.
pub(super) fn fact(app: &App, flow: &mut Flow, name: &str, value: &str, tone: Tone) {
    let head = Line::from(span(&app.theme, name.to_owned(), Tone::Faint));
    let rich = crate::tui::widgets::text::Rich::plain(&one_line(value), tone);
    flow.beside(&app.wraps, head, 14, std::rc::Rc::new(rich));
}

/// A whole number with commas between its thousands.
pub(super) fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Seconds since something was asked for, for what takes its time.
pub(super) fn waiting(app: &App, what: &str, since: std::time::Duration) -> String {
    match app.now.saturating_sub(since).as_secs() {
        0 => format!("{what} …"),
        seconds => format!("{what} … {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let all: Vec<String> = [0u64, 999, 1000, 135_720].map(grouped).into();
        assert_eq!(all, ["0", "999", "1,000", "135,720"]);
    }
}
