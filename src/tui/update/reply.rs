//! Asking, stopping, and what comes back.

use std::ops::Range;
use std::rc::Rc;

use crate::data::store::ReplyRecord;
use crate::tui::app::instance::Panel;
use crate::tui::app::reply::{LastReply, Phase, ReplyState, Verdict, caution};
use crate::tui::app::{App, ModelState, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::{AskParts, Effect};
use crate::tui::message::ReplyEvent;
use crate::tui::theme::Tone;
use crate::tui::view;
use crate::tui::widgets::text::Rich;

/// Asks the model the instance on screen.
pub(super) fn ask(app: &mut App) -> Vec<Effect> {
    let (Some(dataset), Some(state)) = (app.data().cloned(), &app.instance) else {
        return Vec::new();
    };
    if let Some(running) = &app.replies.running {
        let stop = app.keymap.key(Command::Stop);
        let text = format!(
            "The model is still answering {}; {stop} stops it",
            running.question.id
        );
        app.complain(text);
        return Vec::new();
    }
    let composed = match &state.composed {
        Ok(composed) => composed.clone(),
        Err(problem) => {
            let text = format!("There is nothing to ask: {problem}");
            app.complain(text);
            return Vec::new();
        }
    };
    let prompt = match composed.prompt {
        Ok(prompt) => prompt,
        Err(problem) => {
            app.complain(format!("There is no prompt: {problem}"));
            return Vec::new();
        }
    };
    let (question, condition) = (state.question.clone(), state.condition);
    let ticket = app.ticket();
    let model = match &app.model {
        ModelState::Ready(identity) => identity.name.clone(),
        _ => app.settings.model.clone(),
    };
    if matches!(app.model, ModelState::Failed(_)) {
        app.model = ModelState::Opening;
    }
    let mut reply = ReplyState::asked(
        ticket,
        question.clone(),
        composed.context.clone(),
        composed.shape.clone(),
        &model,
        app.now,
    );
    if let ModelState::Ready(identity) = &app.model {
        reply.caution = caution(identity);
    }
    app.replies.running = Some(reply);
    // On a small screen the reply has a page of its own: asking must be seen to do something.
    let hidden = !view::instance::shows(app, Panel::Reply);
    if let Some(state) = &mut app.instance {
        state.follow = true;
        if hidden {
            state.focus = Panel::Reply;
        }
    }
    vec![Effect::Ask(Box::new(AskParts {
        ticket,
        dataset,
        question,
        condition,
        context: composed.context,
        prompt,
        shape: composed.shape,
    }))]
}

/// Stops the running reply, on whichever question it runs.
pub(super) fn stop(app: &mut App) -> Vec<Effect> {
    match &mut app.replies.running {
        Some(reply) => {
            reply.stopping = true;
            vec![Effect::Cancel(reply.ticket)]
        }
        None => {
            app.say("no reply is running");
            Vec::new()
        }
    }
}

pub(super) fn on_event(app: &mut App, ticket: Ticket, event: ReplyEvent) -> Vec<Effect> {
    let now = app.now;
    let Some(reply) = app
        .replies
        .running
        .as_mut()
        .filter(|reply| reply.ticket == ticket)
    else {
        return Vec::new();
    };
    match event {
        ReplyEvent::Status(status) => {
            reply.status = crate::tui::widgets::line::one_line(&status);
            Vec::new()
        }
        ReplyEvent::Recording(timing) => {
            reply.recording = Some(timing);
            Vec::new()
        }
        ReplyEvent::Restart => {
            reply.restart();
            Vec::new()
        }
        ReplyEvent::Reasoning(text) => {
            reply.add_reasoning(&text, now);
            Vec::new()
        }
        ReplyEvent::Text(text) => {
            reply.add_text(&text, now);
            Vec::new()
        }
        ReplyEvent::Finished(result) => {
            finish(app, result);
            Vec::new()
        }
    }
}

fn finish(app: &mut App, result: Result<Box<ReplyRecord>, String>) {
    let elsewhere = {
        let Some(reply) = &mut app.replies.running else {
            return;
        };
        match result {
            Ok(record) => {
                reply.finish(&record);
                app.browse.cases_stale = true;
                app.find.stale = true;
                let outcomes = &mut app.browse.outcomes;
                let earlier = outcomes.get(&record.question.id).copied();
                let last = LastReply::after(earlier, Verdict::of(&record));
                outcomes.insert(record.question.id.clone(), last);
            }
            Err(message) => reply.fail(message),
        }
        let shown = app.instance.as_ref().and_then(|state| state.context());
        (shown != Some(&reply.context)).then(|| match (&reply.phase, reply.verdict()) {
            (Phase::Failed(message), _) => format!("{}: {message}", reply.question.id),
            (_, Some(verdict)) => {
                format!("{} was answered: {}", reply.question.id, verdict.words().1)
            }
            (_, None) => format!("{} was answered", reply.question.id),
        })
    };
    if let Some(text) = elsewhere {
        app.say(text);
    }
    app.replies.settle();
}

pub(super) fn on_stored(app: &mut App, question_id: String, records: &[ReplyRecord]) {
    let open = app.instance.as_ref().map(|state| &state.question.id);
    if open == Some(&question_id) {
        let replies = records.iter().map(ReplyState::stored).collect();
        app.replies.stored = Some((question_id, replies));
    }
}

/// The finished replies that are on screen as they were received.
fn raw_on_screen(app: &mut App) -> Vec<&mut ReplyState> {
    let shown: Vec<&mut ReplyState> = match app.screen {
        Screen::Instance => {
            let state = app.instance.as_ref().filter(|state| state.raw);
            let context = state.and_then(|state| state.context());
            match context {
                Some(context) => app.replies.shown_mut(context).into_iter().collect(),
                None => Vec::new(),
            }
        }
        Screen::Annotate if app.annotate.raw => {
            let open = app
                .annotate
                .queue
                .as_mut()
                .and_then(|queue| queue.open.as_mut());
            let reply = open.and_then(|(_, opened)| opened.as_mut().ok());
            reply.map(|open| &mut *open.state).into_iter().collect()
        }
        Screen::Compare if app.compare.raw => match app.compare.pair.ready_mut() {
            Some(pair) => vec![&mut pair.0, &mut pair.1],
            None => Vec::new(),
        },
        _ => Vec::new(),
    };
    let finished = |reply: &&mut ReplyState| !reply.running() && !reply.raw.is_empty();
    shown.into_iter().filter(finished).collect()
}

/// Asks for the syntax colours of raw replies on screen, once for each.
pub(super) fn highlight(app: &mut App) -> Vec<Effect> {
    let ask = |reply: &mut ReplyState| {
        let asked = std::mem::replace(&mut reply.colours_asked, true);
        (!asked).then(|| Effect::Highlight(reply.raw.clone()))
    };
    raw_on_screen(app).into_iter().filter_map(ask).collect()
}

pub(super) fn on_highlighted(app: &mut App, raw: &str, pieces: &[(String, Tone)]) {
    for reply in raw_on_screen(app) {
        if reply.raw == raw {
            let evidence = reply.parsed.as_ref().and_then(|parsed| parsed.evidence);
            let marked = evidence.map_or(0..0, |evidence| evidence.start..evidence.end);
            reply.highlighted = Some(Rc::new(Rich::build(mark(pieces, marked))));
        }
    }
}

/// The pieces with the words that decided the answer (a byte range of them all) marked.
fn mark(pieces: &[(String, Tone)], words: Range<usize>) -> Vec<(&str, Tone)> {
    let mut marked = Vec::with_capacity(pieces.len() + 2);
    let mut at = 0;
    for (text, tone) in pieces {
        let cut = |place: usize| place.saturating_sub(at).min(text.len());
        let (from, to) = (cut(words.start), cut(words.end));
        let parts = (text.get(..from), text.get(from..to), text.get(to..));
        match parts {
            (Some(before), Some(inside), Some(after)) => {
                marked.extend([(before, *tone), (inside, Tone::Match), (after, *tone)]);
            }
            // Not at whole characters: the range belongs to another text.
            _ => marked.push((text.as_str(), *tone)),
        }
        at += text.len();
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_decided_are_marked() {
        let pieces = [
            ("\"answer\": ".to_owned(), Tone::JsonKey),
            ("\"é B\"".to_owned(), Tone::JsonString),
        ];
        let marked = |range| -> Vec<(&str, Tone)> {
            let all = mark(&pieces, range);
            all.into_iter()
                .filter(|(text, _)| !text.is_empty())
                .collect()
        };
        assert_eq!(
            marked(11..15),
            [
                ("\"answer\": ", Tone::JsonKey),
                ("\"", Tone::JsonString),
                ("é B", Tone::Match),
                ("\"", Tone::JsonString),
            ]
        );
        assert_eq!(marked(0..0).len(), 2);
        assert_eq!(marked(12..13).len(), 2, "inside a character: left alone");
    }
}
