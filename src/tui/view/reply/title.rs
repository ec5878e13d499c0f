//! The titles of a reply's panel: whose it is, its answer, its speed and size.

use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

use super::shown;
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::instance::InstanceState;
use crate::tui::app::reply::{ReplyState, Whose};
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::chrome::span;
use crate::tui::widgets::line::{cut, fitting, one_line};

/// What the frame keeps of a title's width: corners, blanks, and the gap between the two ends.
const TITLE_MARGIN: usize = 10;

/// The same where the name is what must be seen.
const LEAST_OF_ANOTHER: usize = 10;

/// What stands before the name of a model that is not known to be the chosen one.
const NAMED_AS: &str = "Stored reply of ";

/// What the frame itself takes of a title's width.
const TITLE_FRAME: usize = 6;

/// Fewer columns than this of a model's name say nothing.
const LEAST_NAME: usize = 14;

pub(in crate::tui::view) fn titles(
    app: &App,
    state: &InstanceState,
    width: usize,
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let theme = &app.theme;
    let mut left = vec![span(theme, "Reply", Tone::Title)];
    let Some(reply) = shown(app, state) else {
        return (left, Vec::new());
    };
    let mut answer = short_answer(app, state, reply);
    if state.raw {
        answer.push(span(theme, "  raw", Tone::Warning));
    }
    let room = width.saturating_sub(TITLE_FRAME);
    let taken: usize = answer.iter().map(Span::width).sum();
    let mut whose = whose_words(app, reply, room.saturating_sub(taken));
    let named = !whose.is_empty();
    if named && !whose.contains(NAMED_AS) {
        // Whose it is must be known; the answer stands below and beside it too.
        answer.clear();
        whose = whose_words(app, reply, room);
    }
    if named {
        left = vec![span(theme, whose, Tone::Warning)];
    }
    left.extend(answer);
    let mut facts = facts(app, reply);
    let used: usize = left.iter().map(Span::width).sum();
    let room = width.saturating_sub(used + TITLE_MARGIN);
    // The last facts are the least needed, and the model's name stands in the header too; whose reply this is says
    // more than any of them.
    let least = usize::from(!named);
    while facts.len() > least && facts.join(" · ").width() > room {
        facts.pop();
    }
    let facts = facts.join(" · ");
    let room = room.saturating_sub(facts.width() + 2);
    if room >= LEAST_NAME && !named {
        let model = cut(&one_line(&reply.model), room);
        left.push(span(theme, format!("  {model}"), Tone::Faint));
    }
    (left, vec![span(theme, facts, Tone::Faint)])
}

/// Whose a stored reply is that is not known to be the chosen model's, in at most `width` columns; the name is cut
/// before what is said of it.
pub(in crate::tui::view) fn whose_words(app: &App, reply: &ReplyState, width: usize) -> String {
    let name = one_line(&reply.model);
    let not_chosen = match app.replies.whose(reply) {
        Whose::Chosen => return String::new(),
        Whose::Another => ", not of the chosen model",
        Whose::Unknown => "",
    };
    let room = width.saturating_sub(NAMED_AS.width() + not_chosen.width());
    let short = cut(&name, room.max(LEAST_OF_ANOTHER));
    let choices = [
        format!("{NAMED_AS}{name}{not_chosen}"),
        format!("{NAMED_AS}{short}{not_chosen}"),
        format!("Stored reply{}", not_chosen.trim_start_matches(',')),
    ];
    fitting(choices, width)
}

/// The answer and whether it is right, for the title.
fn short_answer(app: &App, state: &InstanceState, reply: &ReplyState) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let mut spans = Vec::new();
    if let Some(letter) = reply.parsed.as_ref().and_then(|parsed| parsed.answer) {
        spans.push(span(theme, format!("  {letter}"), Tone::Strong));
    }
    if let Some(verdict) = reply.verdict().filter(|_| state.gold) {
        let (mark, word) = verdict.words();
        spans.push(span(
            theme,
            format!("  {mark} {word}"),
            verdict_tone(verdict),
        ));
    }
    spans
}

/// Speed, size and times of a reply, the most needed first.
fn facts(app: &App, reply: &ReplyState) -> Vec<String> {
    let mut facts = Vec::new();
    let speed = app.playing_speed();
    let at_another_speed = (speed - 1.0).abs() > f64::EPSILON;
    if reply.running() && app.replays() && at_another_speed {
        facts.push(format!("×{speed}"));
        if reply.recording.is_none() {
            // Times measured while it plays are those of the playing.
            let (tokens, _) = reply.tokens();
            facts.push(format!("≈{}", count(tokens, "token")));
            return facts;
        }
    }
    if let Some(rate) = reply.rate(app.now) {
        facts.push(format!("{rate:.0} tok/s"));
    }
    let (tokens, estimated) = reply.tokens();
    if tokens > 0 {
        let about = if estimated { "≈" } else { "" };
        facts.push(format!("{about}{}", count(tokens, "token")));
    }
    if let Some(first) = reply.first_token {
        facts.push(format!("first token {:.1} s", first.as_secs_f64()));
    }
    if let Some(total) = reply.total {
        facts.push(format!("{:.1} s", total.as_secs_f64()));
    }
    if let Some(cached) = reply.usage.cached_tokens.filter(|count| *count > 0) {
        facts.push(format!("{cached} cached"));
    }
    facts
}
