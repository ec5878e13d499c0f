//! What is written in a schema is read as it was written, whatever a model puts around it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::tests::shape;
use super::*;

/// What a reply says.
#[derive(Debug, Clone)]
struct Content {
    thinking: String,
    /// A letter, or insufficient information.
    letter: Option<char>,
    /// Document k is relevant, irrelevant, or in neither list.
    lists: [Option<bool>; 4],
    subs: [Option<Sub>; 3],
}

#[derive(Debug, Clone)]
struct Sub {
    question: String,
    answer: String,
    document: usize,
    factual: bool,
}

impl Content {
    fn documents(&self, relevant: bool) -> Vec<usize> {
        (0..4)
            .filter(|&at| self.lists[at] == Some(relevant))
            .collect()
    }

    /// The object of the schema.
    fn object(&self, scenario: Scenario) -> Value {
        let label = |at: usize| format!("DOC_{}", at + 1);
        let labels =
            |relevant| -> Vec<String> { self.documents(relevant).into_iter().map(label).collect() };
        let answer = self
            .letter
            .map_or("insufficient information".to_owned(), String::from);
        let main = json!({"question": "Which?", "step_by_step_thinking": self.thinking, "answer_choice": answer});
        let mut object = Map::new();
        for (k, sub) in self.subs.iter().enumerate() {
            let Some(sub) = sub else { continue };
            let entry = match scenario {
                Scenario::Robustness => {
                    json!({"question": sub.question, "relevant_doc_id": label(sub.document), "factual_correctness": sub.factual, "answer": sub.answer})
                }
                _ => {
                    json!({"question": sub.question, "answer": sub.answer, "doc_id": label(sub.document)})
                }
            };
            object.insert(format!("sub_{}", k + 1), entry);
        }
        object.insert("main".into(), main);
        match scenario {
            Scenario::Standard => {
                json!({"step_by_step_thinking": self.thinking, "answer_choice": answer})
            }
            Scenario::Sufficiency => {
                json!({"relevant_doc_id": labels(true), "irrelevant_doc_id": labels(false), "step_by_step_thinking": self.thinking, "answer_choice": answer})
            }
            Scenario::Integration | Scenario::Robustness => Value::Object(object),
        }
    }
}

/// How a model writes an object.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    Compact,
    Pretty,
    TrailingCommas,
    Python,
    BareKeys,
    Fenced,
    Prose,
    Thought,
    Wrapped,
    Escaped,
    ClosingBraceMissing,
}

const STYLES: [Style; 11] = [
    Style::Compact,
    Style::Pretty,
    Style::TrailingCommas,
    Style::Python,
    Style::BareKeys,
    Style::Fenced,
    Style::Prose,
    Style::Thought,
    Style::Wrapped,
    Style::Escaped,
    Style::ClosingBraceMissing,
];

fn write(value: &Value, style: Style) -> String {
    let pretty = || serde_json::to_string_pretty(value).unwrap();
    match style {
        Style::Compact => value.to_string(),
        Style::Pretty => pretty(),
        Style::TrailingCommas | Style::Python | Style::BareKeys => loosely(value, style),
        Style::Fenced => format!("```json\n{}\n```", pretty()),
        Style::Prose => format!("Here is my reply:\n\n{}\n\nI hope this helps!", pretty()),
        Style::Thought => {
            format!("<think>\nHm, {{\"answer_choice\": \"A\"}}?\n</think>\n\n{value}")
        }
        Style::Wrapped => json!({"response": value}).to_string(),
        Style::Escaped => {
            let text = Value::String(value.to_string()).to_string();
            text[1..text.len() - 1].to_owned()
        }
        Style::ClosingBraceMissing => {
            let text = value.to_string();
            text[..text.len() - 1].to_owned()
        }
    }
}

/// Trailing commas, keys without quotes, or what Python prints of a dictionary.
fn loosely(value: &Value, style: Style) -> String {
    let comma = if style == Style::TrailingCommas {
        ","
    } else {
        ""
    };
    let text = |text: &str| match style {
        Style::Python => python_text(text),
        _ => Value::from(text).to_string(),
    };
    match value {
        Value::String(own) => text(own),
        Value::Bool(flag) if style == Style::Python => {
            if *flag { "True" } else { "False" }.to_owned()
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| loosely(item, style)).collect();
            let comma = if items.is_empty() { "" } else { comma };
            format!("[{}{comma}]", items.join(", "))
        }
        Value::Object(map) => {
            let members: Vec<String> = map
                .iter()
                .map(|(key, value)| {
                    let key = if style == Style::BareKeys {
                        key.clone()
                    } else {
                        text(key)
                    };
                    format!("{key}: {}", loosely(value, style))
                })
                .collect();
            format!("{{{}{comma}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}

/// Python's `repr` of a text.
fn python_text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\u{e9}\u{b5}\u{201c}\u{201d}\n\t\"'\\\\{}\\[\\],:]{0,60}",
        any::<String>(),
        prop::sample::select(vec![
            "The answer is C. \"A\", \"B\": 1".to_owned(),
            "', 'answer_choice': 'C'".to_owned(),
            "```json\n{\"answer_choice\": \"D\"}\n```".to_owned(),
            "<think>A</think>".to_owned(),
            "C:\\new\\u0041".to_owned(),
            "the patient's \"INR\"".to_owned(),
        ]),
    ]
}

fn subs() -> impl Strategy<Value = Option<Sub>> {
    prop::option::of((texts(), texts(), 0..4_usize, any::<bool>()).prop_map(
        |(question, answer, document, factual)| Sub {
            question,
            answer,
            document,
            factual,
        },
    ))
}

fn contents() -> impl Strategy<Value = Content> {
    (
        texts(),
        prop::option::of(prop::sample::select(vec!['A', 'B', 'C', 'D'])),
        prop::array::uniform4(prop::option::of(any::<bool>())),
        prop::array::uniform3(subs()),
    )
        .prop_map(|(thinking, letter, lists, subs)| Content {
            thinking,
            letter,
            lists,
            subs,
        })
}

fn filled(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn comes_back(content: &Content, scenario: Scenario, style: Style) {
    let raw = write(&content.object(scenario), style);
    let reply = parse(&raw, &shape(scenario), Ending::Complete);
    let outcome = match content.letter {
        Some(_) => Outcome::Answered,
        None => Outcome::Insufficient,
    };
    assert_eq!(
        (reply.outcome, reply.answer),
        (outcome, content.letter),
        "{raw}"
    );
    assert_eq!(reply.reasoning.as_ref(), Some(&content.thinking), "{raw}");
    if scenario == Scenario::Sufficiency {
        assert_eq!(reply.relevant, content.documents(true), "{raw}");
        assert_eq!(reply.irrelevant, content.documents(false), "{raw}");
    }
    for (read, sub) in reply.subs.iter().zip(&content.subs) {
        let expected = sub.as_ref().map(|sub| SubAnswer {
            question: filled(&sub.question),
            answer: filled(&sub.answer),
            document: Some(sub.document),
            document_raw: Some(format!("DOC_{}", sub.document + 1)),
            factual: (scenario == Scenario::Robustness).then_some(sub.factual),
        });
        assert_eq!(*read, expected, "{raw}");
    }
    places_are_right(&raw, &reply, content, style);
}

fn places_are_right(raw: &str, reply: &ParsedReply, content: &Content, style: Style) {
    let evidence = reply.evidence.unwrap();
    let answer = content
        .letter
        .map_or("insufficient information".to_owned(), String::from);
    assert_eq!(evidence.span().of(raw), Some(answer.as_str()), "{raw}");
    let reasoning = reply.sources.reasoning.and_then(|span| span.of(raw));
    if matches!(style, Style::Compact | Style::Pretty | Style::Prose) {
        let written = serde_json::to_string(&content.thinking).unwrap();
        assert_eq!(reasoning, Some(&written[1..written.len() - 1]));
    }
    for (place, sub) in reply.sources.subs.iter().zip(&reply.subs) {
        assert_eq!(place.is_some(), sub.is_some());
        let text = place.and_then(|span| span.of(raw)).unwrap_or("{}");
        assert!(text.starts_with('{') && text.ends_with('}'), "{text}");
    }
    for place in [reply.sources.relevant, reply.sources.irrelevant] {
        let text = place.and_then(|span| span.of(raw)).unwrap_or("[]");
        assert!(text.starts_with('[') && text.ends_with(']'), "{text}");
    }
}

#[test]
fn what_looks_like_an_object_inside_an_escaped_one_is_text() {
    // Found by the property below.
    let object = json!({
        "sub_3": {"question": "", "answer": "{““,'", "doc_id": "DOC_1"},
        "main": {"step_by_step_thinking": "', 'answer_choice': 'C'", "answer_choice": "B"},
    });
    let text = serde_json::to_string(&object.to_string()).unwrap();
    let reply = parse(&text, &shape(Scenario::Integration), Ending::Complete);
    assert_eq!(
        (reply.outcome, reply.answer),
        (Outcome::Answered, Some('B'))
    );
    assert_eq!(reply.reasoning.as_deref(), Some("', 'answer_choice': 'C'"));
}

proptest! {
    #[test]
    fn what_is_written_is_read(content in contents(), style in prop::sample::select(STYLES.to_vec())) {
        for scenario in Scenario::ALL {
            comes_back(&content, scenario, style);
        }
    }
}
