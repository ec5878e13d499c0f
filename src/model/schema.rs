//! The JSON schema of a reply, made per instance with its own labels and option letters.

use serde_json::{Value, json};

use crate::domain::answer::ReplyShape;
use crate::domain::context::Scenario;
use crate::model::ReplyForm;

/// The answer that says the documents do not suffice.
const INSUFFICIENT: &str = "insufficient information";

/// The scores that a judge may give, as texts: some servers take no numbers as choices.
pub const JUDGE_SCORES: [&str; 3] = ["0", "0.5", "1"];

/// The JSON schema of the reply: every property required, nothing else allowed, keys in the order in
/// which the prompt asks for them.
pub fn reply_schema(form: &ReplyForm) -> Value {
    match form {
        ReplyForm::Instance(shape) => instance_schema(shape),
        ReplyForm::Judgement => object(vec![
            ("reasoning", text()),
            ("score", json!({"type": "string", "enum": JUDGE_SCORES})),
        ]),
        ReplyForm::Fields(fields) => object(
            fields
                .iter()
                .map(|field| (field.name.clone(), field.schema()))
                .collect(),
        ),
    }
}

fn instance_schema(shape: &ReplyShape) -> Value {
    match shape.scenario {
        Scenario::Standard => object(vec![
            ("step_by_step_thinking", text()),
            ("answer_choice", choice(shape)),
        ]),
        Scenario::Sufficiency => object(vec![
            ("relevant_doc_id", list(label(shape))),
            ("irrelevant_doc_id", list(label(shape))),
            ("step_by_step_thinking", text()),
            ("answer_choice", choice(shape)),
        ]),
        Scenario::Integration => with_subs(
            shape,
            &object(vec![
                ("question", text()),
                ("answer", text()),
                ("doc_id", label(shape)),
            ]),
        ),
        Scenario::Robustness => with_subs(
            shape,
            &object(vec![
                ("question", text()),
                ("relevant_doc_id", label(shape)),
                ("factual_correctness", json!({"type": "boolean"})),
                ("answer", text()),
            ]),
        ),
    }
}

/// `sub_1` … `sub_m`, then `main`.
fn with_subs(shape: &ReplyShape, sub: &Value) -> Value {
    let mut properties: Vec<(String, Value)> = (1..=shape.sub_questions.len())
        .map(|number| (format!("sub_{number}"), sub.clone()))
        .collect();
    let main = object(vec![
        ("question", text()),
        ("step_by_step_thinking", text()),
        ("answer_choice", choice(shape)),
    ]);
    properties.push(("main".to_owned(), main));
    object(properties)
}

fn object<K: Into<String>>(properties: Vec<(K, Value)>) -> Value {
    let properties: serde_json::Map<String, Value> = properties
        .into_iter()
        .map(|(key, value)| (key.into(), value))
        .collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
    })
}

fn text() -> Value {
    json!({"type": "string"})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// One of the context's labels; any text where the context has no document.
fn label(shape: &ReplyShape) -> Value {
    if shape.labels.is_empty() {
        return text();
    }
    json!({"type": "string", "enum": shape.labels})
}

/// One of the option letters; in sufficiency also that the information does not suffice.
fn choice(shape: &ReplyShape) -> Value {
    let mut allowed: Vec<String> = shape
        .options
        .iter()
        .map(|(letter, _)| letter.to_string())
        .collect();
    if shape.scenario == Scenario::Sufficiency {
        allowed.push(INSUFFICIENT.to_owned());
    }
    json!({"type": "string", "enum": allowed})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::model::{Field, FieldKind};

    fn shape(scenario: Scenario) -> ReplyShape {
        ReplyShape {
            scenario,
            labels: vec!["DOC_1".into(), "DOC_2".into()],
            ids: vec!["a".into(), "b".into()],
            options: vec![('A', "yes".into()), ('B', "no".into())],
            sub_questions: vec!["q1".into(), "q2".into()],
        }
    }

    fn keys(schema: &Value) -> Vec<&str> {
        schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect()
    }

    #[test]
    fn keys_are_those_of_the_reference_in_order() {
        assert_eq!(
            keys(&instance_schema(&shape(Scenario::Standard))),
            ["step_by_step_thinking", "answer_choice"]
        );
        let sufficiency = instance_schema(&shape(Scenario::Sufficiency));
        assert_eq!(
            keys(&sufficiency),
            [
                "relevant_doc_id",
                "irrelevant_doc_id",
                "step_by_step_thinking",
                "answer_choice"
            ]
        );
        assert_eq!(
            sufficiency["properties"]["answer_choice"]["enum"],
            json!(["A", "B", "insufficient information"])
        );
        assert_eq!(
            sufficiency["properties"]["relevant_doc_id"]["items"]["enum"],
            json!(["DOC_1", "DOC_2"])
        );
        let robustness = instance_schema(&shape(Scenario::Robustness));
        assert_eq!(keys(&robustness), ["sub_1", "sub_2", "main"]);
        assert_eq!(
            keys(&robustness["properties"]["sub_2"]),
            [
                "question",
                "relevant_doc_id",
                "factual_correctness",
                "answer"
            ]
        );
        assert_eq!(
            keys(&instance_schema(&shape(Scenario::Integration))["properties"]["sub_1"]),
            ["question", "answer", "doc_id"]
        );
    }

    #[test]
    fn a_judge_reasons_before_it_scores() {
        let schema = reply_schema(&ReplyForm::Judgement);
        assert_eq!(keys(&schema), ["reasoning", "score"]);
        assert_eq!(
            schema["properties"]["score"]["enum"],
            json!(["0", "0.5", "1"])
        );
    }

    #[test]
    fn every_object_is_closed_and_complete() {
        fn check(schema: &Value) {
            if schema["type"] == "object" {
                assert_eq!(schema["additionalProperties"], false);
                assert_eq!(
                    schema["required"].as_array().unwrap().len(),
                    schema["properties"].as_object().unwrap().len()
                );
                for property in schema["properties"].as_object().unwrap().values() {
                    check(property);
                }
            }
        }
        check(&reply_schema(&ReplyForm::Judgement));
        check(&reply_schema(&ReplyForm::Fields(vec![
            Field::new("new_answer", FieldKind::Short),
            Field::new("other_edits", FieldKind::Edits),
        ])));
        for scenario in Scenario::ALL {
            check(&reply_schema(&shape(scenario).into()));
        }
    }

    #[test]
    fn no_empty_enumerations_without_documents() {
        let mut bare = shape(Scenario::Sufficiency);
        bare.labels.clear();
        assert!(!instance_schema(&bare).to_string().contains("\"enum\":[]"));
    }
}
