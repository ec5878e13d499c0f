//! Options in the shapes that files give them, and which of them is the right answer.

use serde_json::{Map, Value};

use super::required;
use crate::data::dataset::record::kind;
use crate::data::import::mapping::{Mapping, OptionFields, at, key_of, opened};

/// The options as an object or list that the dataset's own reader takes.
pub(super) fn options_of(row: &Map<String, Value>, mapping: &Mapping) -> Result<Value, String> {
    if let Some(fixed) = &mapping.fixed_options {
        return Ok(fixed.iter().cloned().map(Value::String).collect());
    }
    match &mapping.options {
        Some(OptionFields::Each(fields)) => Ok(fields
            .iter()
            .map_while(|field| at(row, field).filter(|value| !value.is_null()))
            .cloned()
            .collect()),
        Some(OptionFields::One(field)) => {
            let value = required(row, Some(field), "options")?;
            Ok(plain_options(opened(value)))
        }
        None => Err(
            "there are no options; open questions can't be scored as multiple choice (a mapping file may give fixed_options)"
                .to_owned(),
        ),
    }
}

/// Takes the usual shapes of options apart: `{"text": [], "label": []}`, `[{"key", "value"}]`.
pub(in crate::data::import) fn plain_options(value: Value) -> Value {
    let texts_of = |object: &Map<String, Value>, key: &str| object.get(key)?.as_array().cloned();
    if let Value::Object(object) = &value
        && let (Some(texts), Some(labels)) = (texts_of(object, "text"), texts_of(object, "label"))
    {
        let letters = labels
            .iter()
            .all(|label| label.as_str().is_some_and(is_letter));
        return match letters && labels.len() == texts.len() {
            true => labels
                .iter()
                .filter_map(|label| label.as_str().map(str::to_owned))
                .zip(texts)
                .collect::<Map<_, _>>()
                .into(),
            false => Value::Array(texts),
        };
    }
    let Value::Array(items) = &value else {
        return value;
    };
    let pairs: Option<Vec<(String, Value)>> = items
        .iter()
        .map(|item| {
            let item = item.as_object()?;
            let key = key_of(item, &["key", "label", "letter", "id"])?;
            let text = key_of(item, &["value", "text", "option", "content"])?;
            Some((
                item.get(&key)?.as_str()?.to_owned(),
                item.get(&text)?.clone(),
            ))
        })
        .collect();
    match pairs {
        Some(pairs) if !pairs.is_empty() && pairs.iter().all(|(key, _)| is_letter(key)) => {
            pairs.into_iter().collect::<Map<_, _>>().into()
        }
        Some(pairs) if !pairs.is_empty() => pairs.into_iter().map(|(_, text)| text).collect(),
        _ => value,
    }
}

fn is_letter(text: &str) -> bool {
    let text = text.trim();
    text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// The answer of a row as a letter or an option's text.
pub(super) fn answer_of(
    row: &Map<String, Value>,
    mapping: &Mapping,
    options: &Value,
) -> Result<Value, String> {
    let value = required(row, mapping.answer.as_deref(), "right answer")?;
    answer_text(value, options, mapping.answer_start).map(Value::String)
}

/// An answer as a letter or an option's text: a number is a position, counted from `start`.
///
/// # Errors
/// For a position whose start is not known or beyond the options, and for what is no answer at all.
pub(in crate::data::import) fn answer_text(
    value: &Value,
    options: &Value,
    start: Option<u8>,
) -> Result<String, String> {
    let position = match value {
        Value::String(text) => {
            let digits = text.trim().parse::<usize>().ok();
            match digits.filter(|_| !is_option(text, options)) {
                Some(position) => position,
                None => return Ok(text.clone()),
            }
        }
        Value::Bool(flag) => return Ok(if *flag { "yes" } else { "no" }.to_owned()),
        Value::Number(number) => {
            let whole = number
                .as_u64()
                .and_then(|number| usize::try_from(number).ok());
            whole.ok_or_else(|| format!("the answer {number} is no position of an option"))?
        }
        Value::Array(items) => match items.as_slice() {
            [one] => return answer_text(one, options, start),
            several => {
                return Err(format!(
                    "the answer is a list of {} values, but one letter or text is expected",
                    several.len()
                ));
            }
        },
        other => {
            return Err(format!(
                "the answer is {}, but a letter or text is expected",
                kind(other)
            ));
        }
    };
    let Some(start) = start else {
        return Err(format!(
            "the answer is the number {position}; say in a mapping file where counting starts (answer_start = 0 or 1)"
        ));
    };
    let letters: Vec<String> = match options {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(items) => ('A'..='Z').take(items.len()).map(String::from).collect(),
        _ => Vec::new(),
    };
    position
        .checked_sub(usize::from(start))
        .and_then(|at| letters.get(at).cloned())
        .ok_or_else(|| {
            format!(
                "the answer is position {position}, but there are {} options",
                letters.len()
            )
        })
}

fn is_option(text: &str, options: &Value) -> bool {
    let same = |option: &Value| {
        option
            .as_str()
            .is_some_and(|option| option.trim() == text.trim())
    };
    match options {
        Value::Object(fields) => fields.values().any(same),
        Value::Array(items) => items.iter().any(same),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::super::tests::read;
    use super::*;

    #[test]
    fn answers_may_be_letters_texts_or_positions() {
        let row = |answer: Value| json!({"id": "q", "question": "Q?", "choices": ["red", "blue"], "answer": answer});
        let from = |start| Mapping {
            answer_start: start,
            ..Mapping::default()
        };
        for (answer, start, letter) in [
            (json!("B"), None, 'B'),
            (json!("red"), None, 'A'),
            (json!(1), Some(0), 'B'),
            (json!("1"), Some(1), 'A'),
            (json!(["blue"]), None, 'B'),
        ] {
            assert_eq!(
                read(row(answer), from(start)).unwrap().question.answer,
                letter
            );
        }
        for (answer, start, part) in [
            (json!(1), None, "answer_start"),
            (json!(2), Some(0), "2 options"),
            (json!(0), Some(1), "2 options"),
            (json!("green"), None, "none of the options"),
            (json!({}), None, "an object"),
        ] {
            let error = read(row(answer.clone()), from(start));
            // An object is not taken for the answer field at all.
            let error = error.unwrap_err();
            assert!(
                error.contains(part) || error.contains("no field was found"),
                "{answer}: {error}"
            );
        }
    }

    #[test]
    fn options_come_in_many_shapes() {
        for options in [
            json!({"A": "x", "B": "y"}),
            json!(["x", "y"]),
            json!("[\"x\", \"y\"]"),
            json!({"text": ["x", "y"], "label": ["A", "B"]}),
            json!({"text": ["x", "y"], "label": ["1", "2"]}),
            json!([{"key": "A", "value": "x"}, {"key": "B", "value": "y"}]),
        ] {
            let entry = read(
                json!({"question": "Q?", "options": options, "answer": "y"}),
                Mapping::default(),
            )
            .unwrap();
            assert_eq!(
                (entry.question.answer, entry.question.gold_text()),
                ('B', "y")
            );
            assert_eq!(entry.question.id, "row-1");
        }
    }
}
