//! A reply in the queue, and the one on screen.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::data::store::{Brief, BriefQuestion, ReplyRecord};
use crate::tui::app::facet::Case;
use crate::tui::app::reply::ReplyState;
use crate::tui::theme::Tone;
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

/// A question as the rows of its replies show it.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its id on one line, cleaned.
    pub id: String,
    /// Its text on one line, cleaned.
    pub text: String,
}

/// A reply of the queue. There may be a hundred thousand, so that what several have in common is shared.
#[derive(Debug, Clone)]
pub struct Item {
    /// The reply in brief. It has no id as long as nobody has said anything of it and it was not opened.
    pub brief: Brief,
    /// Its question.
    pub asked: Rc<Asked>,
    /// Its values for the facets.
    pub case: Rc<Case>,
}

impl Item {
    /// The id by which annotations name it, where it is known.
    pub fn reply_id(&self) -> Option<&str> {
        self.brief.reply_id.as_deref()
    }

    /// How the reply is found again when the queue is read anew.
    pub fn place(&self) -> ReplyPlace {
        ReplyPlace {
            reply: self.brief.reply_id.as_deref().map(str::to_owned),
            row: Some(self.brief.id),
            question: Some(self.brief.question.id.to_string()),
        }
    }
}

/// The reply that a queue shall stand at: by its id, or by its row in the store and its question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplyPlace {
    /// Its id, where it is known.
    pub reply: Option<String>,
    /// Its row in the store, where it is known.
    pub row: Option<i64>,
    /// Its question, where it is known.
    pub question: Option<String>,
}

/// The reply on screen, ready to be drawn.
#[derive(Debug)]
pub struct OpenReply {
    /// The reply with question, context, what was read, scores.
    pub state: Box<ReplyState>,
    /// The question's text.
    pub question: Rc<Rich>,
    /// Title and text per document, in context order.
    pub documents: Vec<(String, Rc<Rich>)>,
}

impl OpenReply {
    /// A stored reply.
    pub fn of(record: &ReplyRecord) -> OpenReply {
        OpenReply {
            state: Box::new(ReplyState::stored(record)),
            question: Rc::new(Rich::plain(record.question.text.trim(), Tone::Strong)),
            documents: record
                .context
                .documents
                .iter()
                .map(|document| {
                    let text = Rich::plain(document.content.trim(), Tone::Text);
                    (one_line(&document.title), Rc::new(text))
                })
                .collect(),
        }
    }
}

/// A reply's question as it is shown, cleaned once for all replies to it.
pub(super) fn shown_question(
    known: &mut HashMap<*const BriefQuestion, Rc<Asked>>,
    brief: &Brief,
) -> Rc<Asked> {
    let question = &brief.question;
    let asked = known.entry(Arc::as_ptr(question)).or_insert_with(|| {
        Rc::new(Asked {
            id: one_line(&question.id),
            text: one_line(&question.text),
        })
    });
    asked.clone()
}
