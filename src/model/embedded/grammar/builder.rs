//! Grammars put together piece by piece.

use crate::domain::answer::ReplyShape;
use crate::domain::context::Scenario;
use crate::model::FieldKind;
use crate::model::embedded::grammar::{INSUFFICIENT, Segment, TextRole};

#[derive(Default)]
pub(super) struct Builder {
    pub(super) segments: Vec<Segment>,
}

impl Builder {
    pub(super) fn literal(&mut self, text: &str) {
        if let Some(Segment::Literal(last)) = self.segments.last_mut() {
            last.extend(text.as_bytes());
        } else {
            self.segments
                .push(Segment::Literal(text.as_bytes().to_vec()));
        }
    }

    pub(super) fn text(&mut self, role: TextRole) {
        self.segments.push(Segment::Text(role));
    }

    pub(super) fn field(&mut self, kind: &FieldKind) {
        let quoted = |build: &mut Builder, role| {
            build.literal("\"");
            build.text(role);
            build.literal("\"");
        };
        match kind {
            FieldKind::Short => quoted(self, TextRole::SubAnswer),
            FieldKind::Sentence => quoted(self, TextRole::Sentence),
            FieldKind::Long => quoted(self, TextRole::Reasoning),
            FieldKind::Texts(count) => {
                self.literal("[");
                for at in 0..*count {
                    self.literal(if at == 0 { "" } else { "," });
                    quoted(self, TextRole::SubAnswer);
                }
                self.literal("]");
            }
            FieldKind::Choice(values) => {
                self.literal("\"");
                self.one_of(values.iter().map(|value| escape(value)).collect(), false);
                self.literal("\"");
            }
            FieldKind::Labels(labels) => {
                self.literal("[");
                self.list(labels);
                self.literal("]");
            }
            FieldKind::Edits => self.literal("[]"),
        }
    }

    pub(super) fn one_of(&mut self, values: Vec<String>, answer: bool) {
        let values: Vec<Vec<u8>> = values.into_iter().map(String::into_bytes).collect();
        match values.is_empty() {
            // Nothing is offered (a question without options): anything may be said.
            true => self.text(TextRole::SubAnswer),
            false => self.segments.push(Segment::OneOf { values, answer }),
        }
    }

    pub(super) fn label(&mut self, labels: &[String]) {
        self.one_of(labels.iter().map(|label| escape(label)).collect(), false);
    }

    pub(super) fn list(&mut self, labels: &[String]) {
        if !labels.is_empty() {
            let labels = labels.iter().map(|label| escape(label).into_bytes());
            self.segments.push(Segment::List(labels.collect()));
        }
    }

    pub(super) fn sub(&mut self, index: usize, question: &str) {
        let question = escape(question);
        self.literal(&format!(
            "\"sub_{}\":{{\"question\":\"{question}\",",
            index + 1
        ));
    }

    /// Reasoning and answer, wrapped in `main` where the schema wants it.
    pub(super) fn main(&mut self, shape: &ReplyShape) {
        let wrapped = matches!(shape.scenario, Scenario::Integration | Scenario::Robustness);
        if wrapped {
            self.literal("\"main\":{\"question\":\"");
            self.text(TextRole::Question);
            self.literal("\",");
        }
        self.literal("\"step_by_step_thinking\":\"");
        self.text(TextRole::Reasoning);
        self.literal("\",\"answer_choice\":\"");
        let mut answers: Vec<String> = shape
            .options
            .iter()
            .map(|(letter, _)| escape(&letter.to_string()))
            .collect();
        if shape.scenario == Scenario::Sufficiency {
            answers.push(INSUFFICIENT.to_owned());
        }
        self.one_of(answers, true);
        self.literal(if wrapped { "\"}}" } else { "\"}" });
    }
}

/// The inside of the JSON string with this text.
pub(super) fn escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or_default()
        .to_owned()
}
