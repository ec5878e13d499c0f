//! What comes back from a pager or an editor.

use crate::data::session::NoteDraft;
use crate::domain::annotation::{Act, Change, Part};
use crate::tui::app::{App, Screen};
use crate::tui::editor::{Outside, Program, Purpose};
use crate::tui::effects::Effect;
use crate::tui::update::{annotate, review};

/// A program of the user's has ended.
pub(super) fn on_back(
    app: &mut App,
    purpose: Purpose,
    result: Result<Option<String>, String>,
) -> Vec<Effect> {
    let text = match result {
        Ok(text) => text,
        Err(problem) => {
            app.complain(problem);
            return Vec::new();
        }
    };
    match (purpose, text) {
        (Purpose::Item { item }, text) => review::on_edited(app, &item, text),
        (Purpose::Read, _) => Vec::new(),
        (Purpose::Note { .. }, None) => {
            app.say("the note was left as it is");
            Vec::new()
        }
        (Purpose::Note { run, part, reply }, Some(text)) => {
            keep_note(app, &run, part, &reply, text.trim())
        }
    }
}

/// Opens the note on the reply at hand in the user's editor.
pub(super) fn edit_note(app: &mut App) -> Vec<Effect> {
    let Some((queue, reply)) = app
        .annotate
        .queue
        .as_ref()
        .and_then(|queue| Some((queue, queue.item()?.reply_id()?)))
    else {
        return Vec::new();
    };
    vec![Effect::OpenOutside(Box::new(Outside {
        program: Program::Editor,
        text: app.annotate.note_so_far(),
        file: "note.txt",
        purpose: Purpose::Note {
            run: queue.run.clone(),
            part: queue.part,
            reply: reply.to_owned(),
        },
    }))]
}

/// Keeps the note on the reply that it was written for, whatever is on screen meanwhile.
fn keep_note(app: &mut App, run: &str, part: Part, reply: &str, note: &str) -> Vec<Effect> {
    let queue = app.annotate.queue.as_ref();
    let same = queue.filter(|queue| queue.run == run && queue.part == part);
    let item = same.and_then(|queue| {
        let mut items = queue.items.iter();
        items.find(|item| item.reply_id() == Some(reply))
    });
    let place = app.annotate.draft_of(run, part, reply.to_owned());
    let Some(item) = item else {
        app.annotate.keep_draft(NoteDraft {
            text: note.to_owned(),
            ..place
        });
        app.complain("The note is not saved yet, since its queue is no longer open: it is there when you open its reply");
        return Vec::new();
    };
    let act = Act::Change {
        reply: reply.to_owned(),
        question_id: item.brief.question.id.to_string(),
        change: Change::Note(note.to_owned()),
    };
    app.annotate.keep_draft(place);
    if app.screen == Screen::Annotate {
        app.say("the note is kept");
    }
    annotate::perform(app, act)
}
