//! Which texts a reply may be: one compact JSON object of the scenario's schema, with the labels and
//! option letters of this very context.
//!
//! A grammar is a chain of segments; a [`Cursor`] walks it byte by byte. The same walk tells which
//! bytes have no alternative (they are read in one go instead of being sampled), where a text may be
//! ended to stay within the token budget, and where the answer's letter is about to be chosen.

use crate::domain::answer::ReplyShape;
use crate::domain::context::Scenario;
use crate::model::embedded::grammar::builder::{Builder, escape};
use crate::model::schema::JUDGE_SCORES;
use crate::model::{Field, ReplyForm};

mod builder;
mod cursor;
#[cfg(test)]
mod tests;
mod utf8;

pub use cursor::Cursor;

/// The answer offered in sufficiency beside the options.
pub const INSUFFICIENT: &str = "insufficient information";

/// A piece of the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// Exactly these bytes.
    Literal(Vec<u8>),
    /// The inside of a JSON string; ends before the quote that begins the next literal.
    Text(TextRole),
    /// One of these; `answer` marks the main answer.
    OneOf { values: Vec<Vec<u8>>, answer: bool },
    /// Quoted labels separated by commas, each at most once, in any order, perhaps none; ends before
    /// the bracket that begins the next literal.
    List(Vec<Vec<u8>>),
}

/// What a free text is, which decides how long it may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// `step_by_step_thinking` or a judge's `reasoning`: gets what is left of the budget.
    Reasoning,
    /// The short answer to a sub-question, or another text of a few words.
    SubAnswer,
    /// A sentence or two.
    Sentence,
    /// The main question repeated.
    Question,
}

/// All texts that are replies of one form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    segments: Vec<Segment>,
}

impl Grammar {
    /// The grammar of replies of this form.
    pub fn of(form: &ReplyForm) -> Grammar {
        match form {
            ReplyForm::Instance(shape) => Grammar::new(shape),
            ReplyForm::Judgement => Grammar::judgement(),
            ReplyForm::Fields(fields) => Grammar::fields(fields),
        }
    }

    fn fields(fields: &[Field]) -> Grammar {
        let mut build = Builder::default();
        for (at, field) in fields.iter().enumerate() {
            let before = if at == 0 { "{" } else { "," };
            build.literal(&format!("{before}\"{}\":", escape(&field.name)));
            build.field(&field.kind);
        }
        build.literal(if fields.is_empty() { "{}" } else { "}" });
        Grammar {
            segments: build.segments,
        }
    }

    fn judgement() -> Grammar {
        let mut build = Builder::default();
        build.literal("{\"reasoning\":\"");
        build.text(TextRole::Reasoning);
        build.literal("\",\"score\":\"");
        build.one_of(JUDGE_SCORES.map(str::to_owned).to_vec(), false);
        build.literal("\"}");
        Grammar {
            segments: build.segments,
        }
    }

    /// The grammar of replies of this shape.
    pub fn new(shape: &ReplyShape) -> Grammar {
        let mut build = Builder::default();
        build.literal("{");
        match shape.scenario {
            Scenario::Standard => {}
            Scenario::Sufficiency => {
                build.literal("\"relevant_doc_id\":[");
                build.list(&shape.labels);
                build.literal("],\"irrelevant_doc_id\":[");
                build.list(&shape.labels);
                build.literal("],");
            }
            Scenario::Integration => {
                for (index, question) in shape.sub_questions.iter().enumerate() {
                    build.sub(index, question);
                    build.literal("\"answer\":\"");
                    build.text(TextRole::SubAnswer);
                    build.literal("\",\"doc_id\":\"");
                    build.label(&shape.labels);
                    build.literal("\"},");
                }
            }
            Scenario::Robustness => {
                for (index, question) in shape.sub_questions.iter().enumerate() {
                    build.sub(index, question);
                    build.literal("\"relevant_doc_id\":\"");
                    build.label(&shape.labels);
                    build.literal("\",\"factual_correctness\":");
                    build.one_of(["true", "false"].map(str::to_owned).to_vec(), false);
                    build.literal(",\"answer\":\"");
                    build.text(TextRole::SubAnswer);
                    build.literal("\"},");
                }
            }
        }
        build.main(shape);
        Grammar {
            segments: build.segments,
        }
    }

    /// Whether a whole text is a reply of this shape.
    pub fn matches(&self, text: &str) -> bool {
        let mut cursor = self.start();
        text.bytes().all(|byte| cursor.push(byte)) && cursor.is_done()
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether there is nothing to write; never so for a shape.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The least that a segment needs: bytes of a literal or of the longest choice, nothing for the rest.
    pub fn least(&self, segment: usize) -> &[u8] {
        match self.segments.get(segment) {
            Some(Segment::Literal(bytes)) => bytes,
            Some(Segment::OneOf { values, .. }) => values
                .iter()
                .max_by_key(|value| value.len())
                .map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// The role of a segment that is a free text.
    pub fn text_role(&self, segment: usize) -> Option<TextRole> {
        match self.segments.get(segment) {
            Some(Segment::Text(role)) => Some(*role),
            _ => None,
        }
    }
}
