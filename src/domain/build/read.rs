//! Reading what a model writes while a benchmark is made. Every error is a sentence that the model gets to read when
//! it is asked again, and people when the item is dropped.

use serde_json::{Map, Value};

use crate::domain::answer::objects;
use crate::domain::text::{clean, document_key, one_line, short};

/// The most characters of a search topic.
const LONGEST_TOPIC: usize = 200;
/// The most characters of any other text.
const LONGEST_TEXT: usize = 20_000;

/// A sub-question as a model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubDraft {
    /// The sub-question.
    pub question: String,
    /// Its short answer.
    pub answer: String,
}

/// An edit as a model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditDraft {
    /// The wrong answer.
    pub planted: String,
    /// The new sentences, in the order asked for.
    pub sentences: Vec<String>,
    /// Further pieces of the text and what stands in their place.
    pub others: Vec<(String, String)>,
}

/// A page as a model summed it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Whether the page helps with the question.
    pub relevant: bool,
    /// The summary.
    pub text: String,
}

/// The last object with this key.
fn object(raw: &str, key: &str) -> Result<Map<String, Value>, String> {
    let mut found = objects(raw);
    let at = found
        .iter()
        .rposition(|object| object.fields.contains_key(key));
    let Some(at) = at else {
        return Err(match raw.trim() {
            "" => "the reply is empty".to_owned(),
            text => format!(
                "the reply holds no JSON object with the key \"{key}\", it begins \"{}\"",
                short(text)
            ),
        });
    };
    let object = found.swap_remove(at);
    match object.complete {
        true => Ok(object.fields),
        false => Err("the reply breaks off inside its JSON object".to_owned()),
    }
}

/// A text that must be there, cleaned and on one line.
fn text(fields: &Map<String, Value>, key: &str) -> Result<String, String> {
    let text = match fields.get(key) {
        Some(Value::String(text)) => one_line(text),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => return Err(format!("\"{key}\" is no text")),
        None => return Err(format!("the key \"{key}\" is missing")),
    };
    match text.chars().count() {
        0 => Err(format!("\"{key}\" is empty")),
        count if count > LONGEST_TEXT => Err(format!("\"{key}\" has {count} characters")),
        _ => Ok(text),
    }
}

/// At most `most` search topics, the most important first, each once.
///
/// # Errors
/// A sentence where there is none.
pub fn read_topics(raw: &str, most: usize) -> Result<Vec<String>, String> {
    let fields = object(raw, "topics")?;
    let Some(Value::Array(items)) = fields.get("topics") else {
        return Err("\"topics\" is no list".to_owned());
    };
    let mut topics: Vec<String> = Vec::new();
    for item in items {
        let Value::String(topic) = item else { continue };
        let topic: String = one_line(topic).chars().take(LONGEST_TOPIC).collect();
        let is_new = !topics
            .iter()
            .any(|other| document_key(other) == document_key(&topic));
        if topic.chars().any(char::is_alphanumeric) && is_new {
            topics.push(topic);
        }
    }
    topics.truncate(most);
    match topics.is_empty() {
        true => Err("\"topics\" holds no text".to_owned()),
        false => Ok(topics),
    }
}

/// A sub-question and its answer.
///
/// # Errors
/// A sentence where one is missing.
pub fn read_sub_question(raw: &str) -> Result<SubDraft, String> {
    let fields = object(raw, "question")?;
    Ok(SubDraft {
        question: text(&fields, "question")?,
        answer: text(&fields, "answer")?,
    })
}

/// A wrong answer and `count` new sentences.
///
/// # Errors
/// A sentence where one is missing.
pub fn read_edit(raw: &str, count: usize) -> Result<EditDraft, String> {
    let fields = object(raw, "new_answer")?;
    let sentences = (1..=count)
        .map(|number| text(&fields, &format!("sentence_{number}")))
        .collect::<Result<_, _>>()?;
    let others = match fields.get("other_edits") {
        Some(Value::Array(items)) => items.iter().map(other_edit).collect::<Result<_, _>>()?,
        _ => Vec::new(),
    };
    Ok(EditDraft {
        planted: text(&fields, "new_answer")?,
        sentences,
        others,
    })
}

fn other_edit(item: &Value) -> Result<(String, String), String> {
    let Value::Object(fields) = item else {
        return Err("an item of \"other_edits\" is no object".to_owned());
    };
    // The old words are looked up in the document as they are.
    let Some(Value::String(old)) = fields.get("old") else {
        return Err("an item of \"other_edits\" has no text \"old\"".to_owned());
    };
    let Some(Value::String(new)) = fields.get("new") else {
        return Err("an item of \"other_edits\" has no text \"new\"".to_owned());
    };
    Ok((clean(old.trim()), one_line(new)))
}

/// Whether a page is relevant, and its summary.
///
/// # Errors
/// A sentence where that can't be told.
pub fn read_summary(raw: &str) -> Result<Summary, String> {
    let fields = object(raw, "relevant")?;
    let relevant = yes_or_no(&fields, "relevant")?;
    let summary = match relevant {
        true => text(&fields, "summary")?,
        false => String::new(),
    };
    Ok(Summary {
        relevant,
        text: summary,
    })
}

/// The positions of the chosen links among `labels`, the best first, each once.
///
/// # Errors
/// A sentence where none of the labels is named.
pub fn read_links(raw: &str, labels: &[String]) -> Result<Vec<usize>, String> {
    let fields = object(raw, "links")?;
    let Some(Value::Array(items)) = fields.get("links") else {
        return Err("\"links\" is no list".to_owned());
    };
    let mut chosen = Vec::new();
    for item in items {
        let Value::String(label) = item else { continue };
        let named = |known: &String| known.eq_ignore_ascii_case(label.trim());
        if let Some(at) = labels.iter().position(named)
            && !chosen.contains(&at)
        {
            chosen.push(at);
        }
    }
    match chosen.is_empty() && !items.is_empty() {
        true => Err("\"links\" names none of the labels".to_owned()),
        false => Ok(chosen),
    }
}

/// The verdict of a model that checks, and its reason.
///
/// # Errors
/// A sentence where it is neither yes nor no.
pub fn read_verdict(raw: &str) -> Result<(bool, String), String> {
    let fields = object(raw, "verdict")?;
    let reason = text(&fields, "reason").unwrap_or_default();
    Ok((yes_or_no(&fields, "verdict")?, reason))
}

fn yes_or_no(fields: &Map<String, Value>, key: &str) -> Result<bool, String> {
    match fields.get(key) {
        Some(Value::Bool(value)) => Ok(*value),
        Some(Value::String(word)) if word.trim().eq_ignore_ascii_case("yes") => Ok(true),
        Some(Value::String(word)) if word.trim().eq_ignore_ascii_case("no") => Ok(false),
        _ => Err(format!("\"{key}\" is neither \"yes\" nor \"no\"")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn fenced_and_wrapped_replies_are_read() {
        let raw = "Sure!\n```json\n{\"topics\": [\"iron stores\", \"Iron  stores\", \"\", 3, \"ferritin\"],}\n```";
        assert_eq!(read_topics(raw, 5).unwrap(), ["iron stores", "ferritin"]);
        assert_eq!(read_topics(raw, 1).unwrap(), ["iron stores"]);
        let raw =
            "<think>{\"question\":\"no\"}</think>{'sentence':'s','question':'Which?','answer':5}";
        let draft = read_sub_question(raw).unwrap();
        assert_eq!(
            (draft.question.as_str(), draft.answer.as_str()),
            ("Which?", "5")
        );
    }

    #[test]
    fn what_can_t_be_read_says_why() {
        let why = |raw: &str| read_sub_question(raw).unwrap_err();
        assert!(why("I can't help with that.").contains("it begins \"I can't help"));
        assert_eq!(why(" "), "the reply is empty");
        assert_eq!(
            why("{\"question\":\"Which?\"}"),
            "the key \"answer\" is missing"
        );
        assert_eq!(
            why("{\"question\":\"\",\"answer\":\"x\"}"),
            "\"question\" is empty"
        );
        assert!(why("{\"question\":\"Which?\",\"answer\":\"iro").contains("breaks off"));
        assert_eq!(
            read_topics("{\"topics\":\"x\"}", 3).unwrap_err(),
            "\"topics\" is no list"
        );
        assert_eq!(
            read_topics("{\"topics\":[]}", 3).unwrap_err(),
            "\"topics\" holds no text"
        );
    }

    #[test]
    fn edits_need_every_sentence() {
        let raw =
            r#"{"new_answer":"zinc","sentence_1":"Zinc.","other_edits":[{"old":"Fe","new":"Zn"}]}"#;
        let draft = read_edit(raw, 1).unwrap();
        assert_eq!(draft.others, [("Fe".to_owned(), "Zn".to_owned())]);
        assert!(read_edit(raw, 2).unwrap_err().contains("sentence_2"));
        let bad = r#"{"new_answer":"zinc","other_edits":[{"old":"Fe"}]}"#;
        assert!(read_edit(bad, 0).unwrap_err().contains("no text \"new\""));
    }

    #[test]
    fn links_summaries_and_verdicts() {
        let labels = ["LINK_1".to_owned(), "LINK_2".to_owned()];
        let raw = r#"{"links":["link_2","LINK_9","LINK_2","LINK_1"]}"#;
        assert_eq!(read_links(raw, &labels).unwrap(), [1, 0]);
        assert!(read_links(r#"{"links":["LINK_9"]}"#, &labels).is_err());
        assert!(read_links(r#"{"links":[]}"#, &labels).unwrap().is_empty());
        let no = read_summary(r#"{"relevant":"no","summary":""}"#).unwrap();
        assert!(!no.relevant);
        assert!(read_summary(r#"{"relevant":"yes","summary":""}"#).is_err());
        assert!(read_summary(r#"{"relevant":"maybe"}"#).is_err());
        let raw = r#"{"reason":"It names it.","verdict":"Yes"}"#;
        assert_eq!(
            read_verdict(raw).unwrap(),
            (true, "It names it.".to_owned())
        );
    }
}
