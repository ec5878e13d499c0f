//! The reply as it arrives: folded into its parts, or raw.

use std::rc::Rc;

use ratatui::text::Line;

use crate::domain::answer::Ending;
use crate::domain::context::{Context, Scenario};
use crate::tui::app::instance::InstanceState;
use crate::tui::app::reply::{Phase, ReplyState, Whose, caution};
use crate::tui::app::{App, ModelState, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::span;
use crate::tui::view::documents::role_mark;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

mod parts;
mod title;

pub(super) use parts::{Revealed, outcome_words, part, parts, raw};
pub(super) use title::{titles, whose_words};

fn shown<'a>(app: &'a App, state: &InstanceState) -> Option<&'a ReplyState> {
    app.replies.shown(state.context()?)
}

pub(super) fn flow(app: &App, state: &InstanceState, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    match shown(app, state) {
        None => invitation(app, state, &mut flow),
        Some(reply) => {
            origin(app, reply, &mut flow);
            if state.raw {
                raw(app, reply, &mut flow);
            } else {
                let shown = Revealed {
                    gold: state.gold,
                    roles: true,
                };
                parts(app, shown, reply, &mut flow);
            }
            status(app, reply, &mut flow);
        }
    }
    flow
}

/// A stored reply apart from the question's screen: with the answer, the documents' roles, its parts or its raw
/// text.
pub(super) fn finished(app: &App, reply: &ReplyState, as_received: bool, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    origin(app, reply, &mut flow);
    if as_received {
        let plain = || Rc::new(Rich::plain(&reply.raw, Tone::Text));
        flow.text(
            &app.wraps,
            reply.highlighted.clone().unwrap_or_else(plain),
            0,
        );
        return flow;
    }
    let documents: Vec<(String, Tone)> = reply
        .context
        .documents
        .iter()
        .map(|document| {
            let (mark, tone) = role_mark(document.role);
            (format!("{}{mark}  ", document.label), tone)
        })
        .collect();
    if !documents.is_empty() {
        part(app, &mut flow, "documents", &documents);
    }
    let shown = Revealed {
        gold: true,
        roles: true,
    };
    parts(app, shown, reply, &mut flow);
    if let Some(parsed) = &reply.parsed {
        part(
            app,
            &mut flow,
            "outcome",
            &[(outcome_words(parsed.outcome).to_owned(), Tone::Faint)],
        );
    }
    if let Phase::Failed(message) = &reply.phase {
        flow.say(&app.wraps, &format!("No reply came: {message}"), Tone::Bad);
    }
    flow
}

fn invitation(app: &App, state: &InstanceState, flow: &mut Flow) {
    let ask = app.keymap.key(Command::Ask);
    if state.composed.is_err() {
        return flow.say(&app.wraps, "There is no context to ask about.", Tone::Faint);
    }
    if let ModelState::Failed(problem) = &app.model {
        flow.say(&app.wraps, problem, Tone::Bad);
        flow.gap();
        let text = format!("{ask} tries again.");
        return flow.say(&app.wraps, &text, Tone::Faint);
    }
    let model = match &app.model {
        ModelState::Ready(identity) => identity.name.as_str(),
        _ => app.settings.model.as_str(),
    };
    // The keys of a talk are others.
    if app.screen == Screen::Talk {
        return flow.say(&app.wraps, "No reply yet.", Tone::Faint);
    }
    let text = format!(
        "No reply for exactly this context yet. {ask} asks {}.",
        one_line(model)
    );
    flow.say(&app.wraps, &text, Tone::Text);
    if let Some(text) = stored_conditions(app, state) {
        flow.say(&app.wraps, &text, Tone::Faint);
    }
    if let Some(running) = &app.replies.running {
        flow.gap();
        let stop = app.keymap.key(Command::Stop);
        let text = format!(
            "The model is answering {} under another condition; {stop} stops it.",
            one_line(&running.question.id)
        );
        flow.say(&app.wraps, &text, Tone::Warning);
    }
    if let ModelState::Ready(identity) = &app.model
        && let Some(caution) = caution(identity)
    {
        flow.gap();
        flow.say(&app.wraps, &format!("Caution: {caution}"), Tone::Warning);
    }
    if let Some(problem) = &app.store_problem {
        flow.gap();
        let text = format!("New replies are kept in memory only: {problem}");
        flow.say(&app.wraps, &text, Tone::Warning);
    }
}

/// Most conditions named in one go.
const NAMED: usize = 8;

/// Under which conditions there are replies to the question on screen.
fn stored_conditions(app: &App, state: &InstanceState) -> Option<String> {
    let mut known: Vec<String> = Vec::new();
    for reply in app.replies.to(&state.question.id) {
        let words = condition_words(&reply.context);
        if !known.contains(&words) {
            known.push(words);
        }
    }
    known.sort();
    let more = known.len().saturating_sub(NAMED);
    known.truncate(NAMED);
    let more = if more > 0 {
        format!(", and {more} more")
    } else {
        String::new()
    };
    (!known.is_empty()).then(|| format!("There are replies under: {}{more}.", known.join("; ")))
}

/// A condition in a few words; what is as usual is left out.
fn condition_words(context: &Context) -> String {
    let mut words = format!("{} n {}", context.scenario, context.docs_requested);
    if context.scenario != Scenario::Standard {
        words += &format!(" p {}", context.p_requested);
    }
    if context.seed != 0 {
        words += &format!(" seed {}", context.seed);
    }
    words
}

/// Where the reply comes from, as far as it is not a plain live one.
fn origin(app: &App, reply: &ReplyState, flow: &mut Flow) {
    if let Some(at) = &reply.stored_at {
        let text = format!("stored reply of {}", short_time(&one_line(at)));
        flow.line(Line::from(span(&app.theme, text, Tone::Faint)));
    }
    if app.screen == Screen::Instance {
        other_models(app, reply, flow);
    }
    // While it runs, the header of its screen has the model with its caution.
    let headed = reply.running() && app.screen == Screen::Instance;
    if let Some(caution) = reply.caution.as_ref().filter(|_| !headed) {
        flow.say(&app.wraps, caution, Tone::Warning);
    }
    if let Some(later) = app.replies.failed_since(&reply.context) {
        let what = match &later.phase {
            Phase::Failed(message) => format!("brought no reply ({message})"),
            _ => "was stopped before an answer".to_owned(),
        };
        let text = match app.replies.whose(reply) {
            Whose::Another => format!("The chosen model's own last try {what}."),
            _ => format!("A later try {what}; this is the newest reply that counts."),
        };
        flow.say(&app.wraps, &text, Tone::Warning);
    }
}

/// That the reply is not the chosen model's and how to get one of it; that there are replies of other models, and the
/// way to them.
fn other_models(app: &App, reply: &ReplyState, flow: &mut Flow) {
    let models = app.replies.models(&reply.context);
    let compare = app.keymap.key(Command::Compare);
    if app.replies.whose(reply) == Whose::Another {
        let ask = app.keymap.key(Command::Ask);
        let chosen = match &app.model {
            ModelState::Ready(identity) => one_line(&identity.name),
            _ => one_line(&app.settings.model),
        };
        let text = format!(
            "The chosen model, {chosen}, has no stored reply to exactly these documents; {ask} asks it."
        );
        flow.say(&app.wraps, &text, Tone::Warning);
    }
    if models > 1 {
        let text = format!(
            "{models} models have replies to exactly these documents; {compare} puts two stored runs side by side."
        );
        flow.say(&app.wraps, &text, Tone::Faint);
    }
}

/// A time as it is stored (RFC 3339, UTC, with milliseconds) to the minute; any other text as it is.
pub(super) fn short_time(stored: &str) -> String {
    match (stored.split_once('T'), stored.ends_with('Z')) {
        (Some((date, time)), true) if date.len() == 10 => match time.get(..5) {
            Some(minute) => format!("{date} {minute} UTC"),
            None => stored.to_owned(),
        },
        _ => stored.to_owned(),
    }
}

/// What is going on, at the end of the panel.
fn status(app: &App, reply: &ReplyState, flow: &mut Flow) {
    let ask = app.keymap.key(Command::Ask);
    match &reply.phase {
        Phase::Running => {
            let waited = app.now.saturating_sub(reply.started);
            let seconds = reply.recorded_so_far().unwrap_or(waited).as_secs();
            let what = if reply.stopping {
                "stopping"
            } else if !reply.status.is_empty() {
                reply.status.as_str()
            } else {
                "writing"
            };
            let text = format!("▌ {what} … {seconds} s");
            flow.say(&app.wraps, &text, Tone::Key);
            if app.replays() && app.screen == Screen::Instance {
                let key = |command| app.keymap.key(command);
                let text = format!(
                    "a recording, played ×{}: {} plays it faster, {} slower",
                    app.speed,
                    key(Command::TalkFaster),
                    key(Command::TalkSlower)
                );
                flow.say(&app.wraps, &text, Tone::Faint);
            }
            if app.sharing_processor() {
                let screen = app.keymap.key(Command::Retrieval);
                let text = format!(
                    "Documents are being encoded too ({screen} shows how far): both share the processor and are slower for it."
                );
                flow.say(&app.wraps, &text, Tone::Warning);
            }
        }
        Phase::Failed(message) => {
            flow.say(&app.wraps, &format!("No reply: {message}"), Tone::Bad);
            flow.say(&app.wraps, &format!("{ask} asks again."), Tone::Faint);
        }
        Phase::Done => match reply.ending {
            Ending::Length => flow.say(
                &app.wraps,
                "Cut off by the token limit (max_tokens).",
                Tone::Warning,
            ),
            Ending::Interrupted => {
                let text = format!("Stopped before the end; what came is kept. {ask} asks again.");
                flow.say(&app.wraps, &text, Tone::Warning);
            }
            _ => {}
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_time_is_shown_to_the_minute() {
        assert_eq!(
            short_time("2026-11-30T05:20:01.796Z"),
            "2026-11-30 05:20 UTC"
        );
        assert_eq!(
            short_time("2026-11-30T05:20:01+02:00"),
            "2026-11-30T05:20:01+02:00"
        );
        assert_eq!(short_time("yesterdayT"), "yesterdayT");
    }
}
