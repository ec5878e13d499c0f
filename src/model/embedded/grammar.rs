//! Which texts a reply may be: one compact JSON object of the scenario's schema, with the labels and
//! option letters of this very context.
//!
//! A grammar is a chain of segments; a [`Cursor`] walks it byte by byte. The same walk tells which
//! bytes have no alternative (they are read in one go instead of being sampled), where a text may be
//! ended to stay within the token budget, and where the answer's letter is about to be chosen.

use crate::domain::answer::ReplyShape;
use crate::domain::context::Scenario;
use crate::model::schema::JUDGE_SCORES;
use crate::model::{Field, FieldKind, ReplyForm};

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

    /// A walk from the beginning.
    pub fn start(&self) -> Cursor<'_> {
        Cursor {
            grammar: self,
            at: 0,
            offset: 0,
            escaped: false,
            utf8: Utf8::default(),
            prefix: Vec::new(),
            list: ListAt::Open,
            used: Vec::new(),
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

#[derive(Default)]
struct Builder {
    segments: Vec<Segment>,
}

impl Builder {
    fn literal(&mut self, text: &str) {
        if let Some(Segment::Literal(last)) = self.segments.last_mut() {
            last.extend(text.as_bytes());
        } else {
            self.segments
                .push(Segment::Literal(text.as_bytes().to_vec()));
        }
    }

    fn text(&mut self, role: TextRole) {
        self.segments.push(Segment::Text(role));
    }

    fn field(&mut self, kind: &FieldKind) {
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

    fn one_of(&mut self, values: Vec<String>, answer: bool) {
        let values: Vec<Vec<u8>> = values.into_iter().map(String::into_bytes).collect();
        match values.is_empty() {
            // Nothing is offered (a question without options): anything may be said.
            true => self.text(TextRole::SubAnswer),
            false => self.segments.push(Segment::OneOf { values, answer }),
        }
    }

    fn label(&mut self, labels: &[String]) {
        self.one_of(labels.iter().map(|label| escape(label)).collect(), false);
    }

    fn list(&mut self, labels: &[String]) {
        if !labels.is_empty() {
            let labels = labels.iter().map(|label| escape(label).into_bytes());
            self.segments.push(Segment::List(labels.collect()));
        }
    }

    fn sub(&mut self, index: usize, question: &str) {
        let question = escape(question);
        self.literal(&format!(
            "\"sub_{}\":{{\"question\":\"{question}\",",
            index + 1
        ));
    }

    /// Reasoning and answer, wrapped in `main` where the schema wants it.
    fn main(&mut self, shape: &ReplyShape) {
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
fn escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or_default()
        .to_owned()
}

/// Where inside a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListAt {
    /// Before the first label.
    Open,
    /// Behind a comma.
    Comma,
    /// Inside a label.
    Label,
    /// Behind a label's closing quote.
    After,
}

/// A place in a grammar: what has been written so far is the beginning of a reply.
#[derive(Debug, Clone)]
pub struct Cursor<'g> {
    grammar: &'g Grammar,
    at: usize,
    /// Bytes of this segment so far (literals and texts).
    offset: usize,
    /// Behind a backslash.
    escaped: bool,
    utf8: Utf8,
    /// Of a choice or label begun.
    prefix: Vec<u8>,
    list: ListAt,
    /// Labels of this list that are taken.
    used: Vec<usize>,
}

impl<'g> Cursor<'g> {
    /// Whether the reply is complete.
    pub fn is_done(&self) -> bool {
        self.at >= self.grammar.segments.len()
    }

    /// The segment at hand.
    pub fn segment(&self) -> usize {
        self.at
    }

    /// The role of the free text at hand.
    pub fn text_role(&self) -> Option<TextRole> {
        self.grammar.text_role(self.at)
    }

    /// Whether the main answer is about to begin.
    pub fn at_answer(&self) -> bool {
        let here = self.grammar.segments.get(self.at);
        self.prefix.is_empty() && matches!(here, Some(Segment::OneOf { answer: true, .. }))
    }

    /// Whether all of these bytes may come next. Nothing (a control token) may not.
    pub fn accepts(&self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return false;
        }
        let mut next = self.clone();
        bytes.iter().all(|byte| next.push(*byte))
    }

    /// Whether the free text at hand may be ended here.
    pub fn may_close(&self) -> bool {
        self.text_role().is_some() && self.offset > 0 && !self.escaped && self.utf8.is_whole()
    }

    /// What ends the free text at hand: the whole next literal.
    pub fn closing(&self) -> Option<&'g [u8]> {
        match self.grammar.segments.get(self.at + 1) {
            Some(Segment::Literal(bytes)) if self.may_close() => Some(bytes),
            _ => None,
        }
    }

    /// The bytes that must come next because there is no alternative; empty where there is a choice.
    pub fn forced(&self) -> Vec<u8> {
        match self.grammar.segments.get(self.at) {
            Some(Segment::Literal(bytes)) => bytes.get(self.offset..).unwrap_or_default().to_vec(),
            Some(Segment::OneOf { values, .. }) => common(values.iter(), &self.prefix),
            Some(Segment::List(labels)) => match self.list {
                ListAt::Comma => {
                    let mut bytes = b"\"".to_vec();
                    bytes.extend(common(self.free(labels), &[]));
                    bytes
                }
                ListAt::Label => common(self.free(labels), &self.prefix),
                ListAt::Open | ListAt::After => Vec::new(),
            },
            Some(Segment::Text(_)) | None => Vec::new(),
        }
    }

    /// Takes one byte. `false` if it may not come here; the cursor is of no more use then.
    pub fn push(&mut self, byte: u8) -> bool {
        let grammar = self.grammar;
        match grammar.segments.get(self.at) {
            None => false,
            Some(Segment::Literal(bytes)) => {
                let fits = bytes.get(self.offset) == Some(&byte);
                self.offset += 1;
                if self.offset == bytes.len() {
                    self.next_segment();
                }
                fits
            }
            Some(Segment::Text(_)) => self.push_text(byte),
            Some(Segment::OneOf { values, .. }) => self.push_choice(values, byte),
            Some(Segment::List(labels)) => self.push_list(labels, byte),
        }
    }

    fn next_segment(&mut self) {
        self.at += 1;
        self.offset = 0;
        self.escaped = false;
        self.utf8 = Utf8::default();
        self.prefix.clear();
        self.list = ListAt::Open;
        self.used.clear();
    }

    fn push_text(&mut self, byte: u8) -> bool {
        if self.escaped {
            self.escaped = false;
            self.offset += 1;
            return matches!(byte, b'"' | b'\\' | b'n');
        }
        if byte == b'"' && self.may_close() {
            self.next_segment();
            return self.push(byte);
        }
        self.offset += 1;
        match byte {
            b'"' => false,
            b'\\' => {
                self.escaped = true;
                self.utf8.is_whole()
            }
            byte => self.utf8.push(byte),
        }
    }

    fn push_choice(&mut self, values: &[Vec<u8>], byte: u8) -> bool {
        if self.extends(values.iter(), byte) {
            self.prefix.push(byte);
            let whole = values.contains(&self.prefix);
            let longer = values
                .iter()
                .any(|value| value.len() > self.prefix.len() && value.starts_with(&self.prefix));
            if whole && !longer {
                self.next_segment();
            }
            return true;
        }
        // The next literal begins: fine if what stands here is one of the values.
        let whole = values.contains(&self.prefix);
        self.next_segment();
        whole && self.push(byte)
    }

    fn push_list(&mut self, labels: &[Vec<u8>], byte: u8) -> bool {
        match (self.list, byte) {
            (ListAt::Open | ListAt::Comma, b'"') => {
                self.list = ListAt::Label;
                self.prefix.clear();
                true
            }
            (ListAt::After, b',') => {
                self.list = ListAt::Comma;
                true
            }
            (ListAt::Label, byte) => {
                if self.extends(self.free(labels), byte) {
                    self.prefix.push(byte);
                    return true;
                }
                let label = labels.iter().position(|label| *label == self.prefix);
                match label.filter(|index| byte == b'"' && !self.used.contains(index)) {
                    Some(index) => {
                        self.used.push(index);
                        self.list = ListAt::After;
                        if self.used.len() == labels.len() {
                            self.next_segment();
                        }
                        true
                    }
                    None => false,
                }
            }
            (ListAt::Open | ListAt::After, byte) => {
                self.next_segment();
                self.push(byte)
            }
            (ListAt::Comma, _) => false,
        }
    }

    /// Whether one of the values goes on with this byte behind the prefix.
    fn extends<'v>(&self, mut values: impl Iterator<Item = &'v Vec<u8>>, byte: u8) -> bool {
        values.any(|value| {
            value.starts_with(&self.prefix) && value.get(self.prefix.len()) == Some(&byte)
        })
    }

    /// Labels of a list that are not taken yet.
    fn free<'v>(&self, labels: &'v [Vec<u8>]) -> impl Iterator<Item = &'v Vec<u8>> {
        let used = self.used.clone();
        labels
            .iter()
            .enumerate()
            .filter(move |(index, _)| !used.contains(index))
            .map(|(_, label)| label)
    }
}

/// What all values that begin with the prefix have in common behind it.
fn common<'v>(values: impl Iterator<Item = &'v Vec<u8>>, prefix: &[u8]) -> Vec<u8> {
    let mut rests = values.filter_map(|value| value.strip_prefix(prefix));
    let Some(mut shared) = rests.next() else {
        return Vec::new();
    };
    for rest in rests {
        let length = shared.iter().zip(rest).take_while(|(a, b)| a == b).count();
        shared = shared.get(..length).unwrap_or_default();
    }
    shared.to_vec()
}

/// Checks UTF-8 byte by byte (Unicode table 3-7) and refuses control characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Utf8 {
    /// Continuation bytes still to come.
    left: u8,
    /// Range of the next continuation byte.
    low: u8,
    high: u8,
}

impl Default for Utf8 {
    fn default() -> Self {
        Utf8 {
            left: 0,
            low: 0x80,
            high: 0xBF,
        }
    }
}

impl Utf8 {
    fn is_whole(self) -> bool {
        self.left == 0
    }

    fn push(&mut self, byte: u8) -> bool {
        if self.left > 0 {
            let fits = (self.low..=self.high).contains(&byte);
            *self = Utf8 {
                left: self.left - 1,
                ..Utf8::default()
            };
            return fits;
        }
        let (left, low, high) = match byte {
            0x20..=0x7E => return true,
            // U+0080 to U+009F are control characters.
            0xC2 => (1, 0xA0, 0xBF),
            0xC3..=0xDF => (1, 0x80, 0xBF),
            0xE0 => (2, 0xA0, 0xBF),
            0xED => (2, 0x80, 0x9F),
            0xE1..=0xEF => (2, 0x80, 0xBF),
            0xF0 => (3, 0x90, 0xBF),
            0xF1..=0xF3 => (3, 0x80, 0xBF),
            0xF4 => (3, 0x80, 0x8F),
            _ => return false,
        };
        *self = Utf8 { left, low, high };
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn shape(scenario: Scenario) -> ReplyShape {
        ReplyShape {
            scenario,
            labels: ["DOC_1", "DOC_2", "DOC_10"].map(str::to_owned).to_vec(),
            ids: ["a", "b", "c"].map(str::to_owned).to_vec(),
            options: vec![('A', "yes".into()), ('B', "no".into())],
            sub_questions: vec!["How \"much\"?".into(), "α\\β\nγ?".into()],
        }
    }

    #[test]
    fn standard_replies() {
        let grammar = Grammar::new(&shape(Scenario::Standard));
        for good in [
            r#"{"step_by_step_thinking":"Because.","answer_choice":"A"}"#,
            r#"{"step_by_step_thinking":"5 \"mg\" \\ \n — µg 漢","answer_choice":"B"}"#,
        ] {
            assert!(grammar.matches(good), "{good}");
            assert!(serde_json::from_str::<serde_json::Value>(good).is_ok());
        }
        for bad in [
            r#"{"step_by_step_thinking":"Because.","answer_choice":"C"}"#,
            r#"{"step_by_step_thinking":"Because.","answer_choice":"AB"}"#,
            r#"{"step_by_step_thinking":"","answer_choice":"A"}"#,
            r#"{"step_by_step_thinking":"x","answer_choice":"insufficient information"}"#,
            r#"{"step_by_step_thinking":"x","answer_choice":"A"} "#,
            r#"{"step_by_step_thinking": "x","answer_choice":"A"}"#,
            r#"{"step_by_step_thinking":"a\tb","answer_choice":"A"}"#,
            r#"{"step_by_step_thinking":"x","answer_choice":"A""#,
            "{\"step_by_step_thinking\":\"a\nb\",\"answer_choice\":\"A\"}",
            "{\"step_by_step_thinking\":\"a\u{7f}\",\"answer_choice\":\"A\"}",
            "{\"step_by_step_thinking\":\"a\u{9b}\",\"answer_choice\":\"A\"}",
            "Sure! {}",
            "",
        ] {
            assert!(!grammar.matches(bad), "{bad}");
        }
    }

    #[test]
    fn sufficiency_offers_lists_without_repeats_and_the_insufficient_answer() {
        let grammar = Grammar::new(&shape(Scenario::Sufficiency));
        let reply = |relevant: &str, irrelevant: &str, answer: &str| {
            format!(
                r#"{{"relevant_doc_id":[{relevant}],"irrelevant_doc_id":[{irrelevant}],"step_by_step_thinking":"x","answer_choice":"{answer}"}}"#
            )
        };
        assert!(grammar.matches(&reply("", "", "A")));
        assert!(grammar.matches(&reply(r#""DOC_10","DOC_1""#, r#""DOC_2""#, INSUFFICIENT)));
        assert!(grammar.matches(&reply(r#""DOC_1","DOC_2","DOC_10""#, r#""DOC_1""#, "B")));
        assert!(!grammar.matches(&reply(r#""DOC_1","DOC_1""#, "", "A")));
        assert!(!grammar.matches(&reply(r#""DOC_3""#, "", "A")));
        assert!(!grammar.matches(&reply(r#""DOC_1","#, "", "A")));
        assert!(!grammar.matches(&reply(r#","DOC_1""#, "", "A")));
        assert!(!grammar.matches(&reply("", "", "insufficient")));
        let bare = ReplyShape {
            labels: vec![],
            ..shape(Scenario::Sufficiency)
        };
        assert!(Grammar::new(&bare).matches(&reply("", "", "A")));
    }

    #[test]
    fn sub_questions_are_echoed_exactly() {
        let integration = Grammar::new(&shape(Scenario::Integration));
        let good = r#"{"sub_1":{"question":"How \"much\"?","answer":"5 mg","doc_id":"DOC_1"},"sub_2":{"question":"α\\β\nγ?","answer":"no","doc_id":"DOC_10"},"main":{"question":"Q","step_by_step_thinking":"x","answer_choice":"B"}}"#;
        assert!(integration.matches(good));
        assert!(!integration.matches(&good.replace("How", "Who")));
        assert!(!integration.matches(&good.replace("DOC_10", "DOC_11")));
        let robustness = Grammar::new(&shape(Scenario::Robustness));
        let good = r#"{"sub_1":{"question":"How \"much\"?","relevant_doc_id":"DOC_2","factual_correctness":false,"answer":"5 mg"},"sub_2":{"question":"α\\β\nγ?","relevant_doc_id":"DOC_1","factual_correctness":true,"answer":"no"},"main":{"question":"Q","step_by_step_thinking":"x","answer_choice":"B"}}"#;
        assert!(robustness.matches(good));
        assert!(!robustness.matches(&good.replace("false", "maybe")));
        assert!(!robustness.matches(&good.replace(",\"answer\":\"no\"", "")));
    }

    #[test]
    fn judgements_have_a_score_of_the_scale() {
        let grammar = Grammar::of(&ReplyForm::Judgement);
        for score in JUDGE_SCORES {
            assert!(grammar.matches(&format!(r#"{{"reasoning":"x","score":"{score}"}}"#)));
        }
        for score in ["2", "0.", "0.55", "", "1.0"] {
            assert!(!grammar.matches(&format!(r#"{{"reasoning":"x","score":"{score}"}}"#)));
        }
    }

    #[test]
    fn fields_come_in_order_and_in_their_kind() {
        let grammar = Grammar::of(&ReplyForm::Fields(vec![
            Field::new("topics", FieldKind::Texts(2)),
            Field::new(
                "links",
                FieldKind::Labels(vec!["LINK_1".into(), "LINK_2".into()]),
            ),
            Field::new(
                "relevant",
                FieldKind::Choice(vec!["yes".into(), "no".into()]),
            ),
            Field::new("sentence_1", FieldKind::Sentence),
            Field::new("other_edits", FieldKind::Edits),
        ]));
        let good = r#"{"topics":["a","b"],"links":["LINK_2"],"relevant":"no","sentence_1":"x","other_edits":[]}"#;
        assert!(grammar.matches(good));
        assert!(grammar.matches(&good.replace("\"LINK_2\"", "")));
        for bad in [
            good.replace("\"a\",", ""),
            good.replace("LINK_2", "LINK_3"),
            good.replace("\"no\"", "\"maybe\""),
            good.replace("[]}", "[1]}"),
        ] {
            assert!(!grammar.matches(&bad), "{bad}");
        }
        assert!(Grammar::of(&ReplyForm::Fields(Vec::new())).matches("{}"));
    }

    #[test]
    fn what_is_forced_is_told_and_the_answer_is_seen_coming() {
        let grammar = Grammar::new(&shape(Scenario::Standard));
        let mut cursor = grammar.start();
        assert_eq!(cursor.forced(), br#"{"step_by_step_thinking":""#);
        for byte in cursor.forced() {
            assert!(cursor.push(byte));
        }
        assert_eq!(cursor.text_role(), Some(TextRole::Reasoning));
        assert!(cursor.forced().is_empty() && cursor.closing().is_none());
        assert!(cursor.push(b'x') && cursor.may_close());
        assert!(cursor.push(b'\\') && !cursor.may_close() && cursor.push(b'"'));
        let closing = cursor.closing().unwrap().to_vec();
        assert!(closing.iter().all(|byte| cursor.push(*byte)));
        assert!(cursor.at_answer());
        assert!(cursor.accepts(b"A\"") && !cursor.accepts(b"C") && !cursor.accepts(b""));
        assert!(cursor.push(b'B') && !cursor.at_answer());
        assert_eq!(cursor.forced(), b"\"}");
    }

    #[test]
    fn overlong_and_broken_utf8_are_refused() {
        let grammar = Grammar::new(&shape(Scenario::Standard));
        let mut cursor = grammar.start();
        for byte in cursor.forced() {
            cursor.push(byte);
        }
        for bad in [
            &[0xC0, 0xA2][..],
            &[0xE0, 0x80, 0xA2],
            &[0xED, 0xA0, 0x80],
            &[0x80],
            &[0xFF],
        ] {
            assert!(!cursor.accepts(bad), "{bad:?}");
        }
        assert!(cursor.accepts("é".as_bytes()) && cursor.accepts(&[0xE2, 0x82]));
        assert!(!cursor.accepts(&[0xE2, 0x82, b'"']));
        assert!(!cursor.accepts(&[0xE2, b'\\']));
    }

    proptest! {
        /// However bytes are chosen among those allowed, the end is valid JSON.
        #[test]
        fn any_walk_ends_in_json(choices in prop::collection::vec(any::<u8>(), 400), which in 0..4usize) {
            let grammar = Grammar::new(&shape(Scenario::ALL[which]));
            let mut cursor = grammar.start();
            let mut text = Vec::new();
            for choice in choices {
                let forced = cursor.forced();
                let bytes = if forced.is_empty() {
                    let Some(byte) = (0..=255u8).map(|k| k.wrapping_add(choice)).find(|b| cursor.accepts(&[*b])) else { break };
                    vec![byte]
                } else { forced };
                for byte in bytes { prop_assert!(cursor.push(byte)); text.push(byte); }
            }
            while !cursor.is_done() {
                let mut bytes = cursor.closing().map(<[u8]>::to_vec).unwrap_or_else(|| cursor.forced());
                if bytes.is_empty() {
                    bytes = (0..=255u8).rev().find(|b| cursor.accepts(&[*b])).into_iter().collect();
                }
                prop_assert!(!bytes.is_empty());
                for byte in bytes { prop_assert!(cursor.push(byte)); text.push(byte); }
            }
            let text = String::from_utf8(text).unwrap();
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
            prop_assert!(grammar.matches(&text));
        }
    }
}
