//! Which field of a row is what: from a mapping file (TOML), or found by name and content.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::data::import::ImportError;
use crate::source::{LARGEST_PLAN, small_text};

/// Which field of a row is what. A field may be named by a path such as `doc.question` or `choices.0`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mapping {
    /// The question's id; without it rows are numbered.
    pub question_id: Option<String>,
    /// The question's text.
    pub question: Option<String>,
    /// The options: one field (an object, a list, or either as JSON text), or one field per option.
    pub options: Option<OptionFields>,
    /// The same options for every row, such as `["yes", "no", "maybe"]`.
    pub fixed_options: Option<Vec<String>>,
    /// The right answer: a letter, an option's text, or a position (then `answer_start` is needed).
    pub answer: Option<String>,
    /// Where counting starts when the answer is a position: 0 or 1.
    pub answer_start: Option<u8>,
    /// Fields that hold the question's documents.
    pub documents: Vec<DocumentFields>,
    /// The field that holds sub-questions.
    pub sub_questions: Option<SubQuestionFields>,
    /// The field that holds adversarial versions of documents.
    pub counterfactuals: Option<CounterfactualFields>,
    /// A model's reply: makes the rows replies of a run.
    pub response: Option<String>,
    /// The model's name, where each row has it.
    pub model: Option<String>,
    /// What the model was asked, where each row has it.
    pub prompt: Option<String>,
    /// Fields that are left out.
    pub ignore: Vec<String>,
}

/// `options`: one field or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum OptionFields {
    /// One field with all options.
    One(String),
    /// One field per option, in the order A, B, ….
    Each(Vec<String>),
}

/// A field with a list of documents: objects with these keys, or plain texts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentFields {
    /// The field.
    pub field: String,
    /// Key of the id; without it documents are numbered.
    #[serde(default)]
    pub id: Option<String>,
    /// Key of the title.
    #[serde(default)]
    pub title: Option<String>,
    /// Key of the text.
    #[serde(default)]
    pub content: Option<String>,
    /// `offline` or `online` for all of them.
    #[serde(default)]
    pub source: Option<String>,
}

/// A field with a list of sub-questions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubQuestionFields {
    /// The field.
    pub field: String,
    /// Key of the document's id; without it the k-th belongs to the k-th document.
    #[serde(default)]
    pub doc_id: Option<String>,
    /// Key of the sub-question.
    #[serde(default)]
    pub question: Option<String>,
    /// Key of its answer.
    #[serde(default)]
    pub answer: Option<String>,
}

/// A field with a list of adversarial versions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterfactualFields {
    /// The field.
    pub field: String,
    /// Key of the original document's id; without it the k-th belongs to the k-th document.
    #[serde(default)]
    pub original_id: Option<String>,
    /// Key of the planted answer.
    #[serde(default)]
    pub new_answer: Option<String>,
    /// Key of the edited text.
    #[serde(default)]
    pub edited_document: Option<String>,
}

/// Names under which fields are known, best first; compared without case, spaces, `-` and `_`.
pub(super) mod names {
    pub const QUESTION_ID: [&str; 9] = [
        "questionid",
        "qid",
        "id",
        "uid",
        "pmid",
        "docid",
        "index",
        "idx",
        "sampleid",
    ];
    pub const QUESTION: [&str; 8] = [
        "question",
        "query",
        "stem",
        "questiontext",
        "sent1",
        "prompt",
        "input",
        "q",
    ];
    pub const OPTIONS: [&str; 6] = [
        "options",
        "choices",
        "answeroptions",
        "candidates",
        "answerchoices",
        "mcqoptions",
    ];
    pub const ANSWER: [&str; 16] = [
        "answer",
        "answeridx",
        "answerkey",
        "answerletter",
        "correctanswer",
        "correctoption",
        "gold",
        "label",
        "target",
        "finaldecision",
        "groundtruth",
        "correct",
        "cop",
        "expected",
        "answerindex",
        "reference",
    ];
    pub const RESPONSE: [&str; 7] = [
        "response",
        "reply",
        "completion",
        "prediction",
        "modeloutput",
        "generation",
        "output",
    ];
    pub const MODEL: [&str; 3] = ["model", "modelname", "modelid"];
    pub const PROMPT: [&str; 3] = ["userprompt", "fullprompt", "promptsent"];
    pub const DOCUMENT_ID: [&str; 7] = [
        "id",
        "docid",
        "documentid",
        "pmid",
        "snippetid",
        "passageid",
        "originalid",
    ];
    pub const TITLE: [&str; 3] = ["title", "heading", "label"];
    pub const CONTENT: [&str; 9] = [
        "content", "contents", "text", "passage", "snippet", "document", "abstract", "body",
        "summary",
    ];
    pub const SUB_DOCUMENT: [&str; 5] = ["docid", "documentid", "relevantdocid", "sourceid", "id"];
    pub const SUB_QUESTION: [&str; 4] = ["question", "subquestion", "subq", "query"];
    pub const SUB_ANSWER: [&str; 5] = [
        "answer",
        "subanswer",
        "correctanswer",
        "groundtruth",
        "gold",
    ];
    pub const ORIGINAL: [&str; 6] = [
        "originalid",
        "originaldocid",
        "docid",
        "documentid",
        "sourceid",
        "id",
    ];
    pub const NEW_ANSWER: [&str; 7] = [
        "newanswer",
        "wronganswer",
        "incorrectanswer",
        "counterfactualanswer",
        "adversarialanswer",
        "fakeanswer",
        "plantedanswer",
    ];
    pub const EDITED: [&str; 9] = [
        "editeddocument",
        "editedcontent",
        "newdocument",
        "editeddoc",
        "counterfactualdocument",
        "edited",
        "adversarialdocument",
        "newcontent",
        "editedtext",
    ];
}

/// A name without case, spaces, `-` and `_`.
pub(super) fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' ' | '.'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// The key of an object that has one of these names, the best first.
pub(super) fn key_of(fields: &Map<String, Value>, known: &[&str]) -> Option<String> {
    known.iter().find_map(|name| {
        fields
            .iter()
            .find(|(key, value)| !value.is_null() && plain(key) == *name)
            .map(|(key, _)| key.clone())
    })
}

impl Mapping {
    /// Reads a mapping file.
    ///
    /// # Errors
    /// [`ImportError::Failed`] where it can't be read, [`ImportError::Usage`] where it says something that is not
    /// known, with the place.
    pub fn read(path: &Path) -> Result<Mapping, ImportError> {
        let text = small_text(path, LARGEST_PLAN)
            .map_err(|error| ImportError::Failed(format!("the mapping {error}")))?;
        let mapping: Mapping = toml::from_str(&text).map_err(|error| {
            let why = error.message().replace('\n', " ");
            let line = error.span().map_or(1, |span| {
                1 + text[..span.start.min(text.len())].matches('\n').count()
            });
            ImportError::Usage(format!(
                "the mapping {}, line {line}: {why}",
                path.display()
            ))
        })?;
        if mapping.answer_start.is_some_and(|start| start > 1) {
            return Err(ImportError::Usage(format!(
                "the mapping {}: answer_start is 0 or 1",
                path.display()
            )));
        }
        Ok(mapping)
    }

    /// Takes over from `found` what this mapping does not say.
    pub(super) fn complete(self, found: Mapping) -> Mapping {
        let has_options = self.options.is_some() || self.fixed_options.is_some();
        Mapping {
            question_id: self.question_id.or(found.question_id),
            question: self.question.or(found.question),
            options: match has_options {
                true => self.options,
                false => found.options,
            },
            fixed_options: self.fixed_options,
            answer: self.answer.or(found.answer),
            answer_start: self.answer_start,
            documents: match self.documents.is_empty() {
                true => found.documents,
                false => self.documents,
            },
            sub_questions: self.sub_questions.or(found.sub_questions),
            counterfactuals: self.counterfactuals.or(found.counterfactuals),
            response: self.response.or(found.response),
            model: self.model.or(found.model),
            prompt: self.prompt.or(found.prompt),
            ignore: self.ignore,
        }
    }

    /// Every mapped field with what it is, for people: `(what, field)`.
    pub fn said(&self) -> Vec<(&'static str, String)> {
        let mut said = Vec::new();
        let mut say = |what: &'static str, field: &Option<String>| {
            if let Some(field) = field {
                said.push((what, field.clone()));
            }
        };
        say("question_id", &self.question_id);
        say("question", &self.question);
        match (&self.options, &self.fixed_options) {
            (Some(OptionFields::One(field)), _) => say("options", &Some(field.clone())),
            (Some(OptionFields::Each(fields)), _) => say("options", &Some(fields.join(", "))),
            (None, Some(fixed)) => say(
                "options",
                &Some(format!("the same for all: {}", fixed.join(", "))),
            ),
            (None, None) => {}
        }
        say("answer", &self.answer);
        for documents in &self.documents {
            let source = documents.source.as_deref().unwrap_or_default();
            let what = match source {
                "offline" => "documents (offline)",
                "online" => "documents (online)",
                _ => "documents",
            };
            say(what, &Some(documents.field.clone()));
        }
        say(
            "sub_questions",
            &self.sub_questions.as_ref().map(|sub| sub.field.clone()),
        );
        say(
            "counterfactuals",
            &self.counterfactuals.as_ref().map(|sub| sub.field.clone()),
        );
        say("response", &self.response);
        say("model", &self.model);
        say("prompt", &self.prompt);
        said
    }

    /// The top-level fields that this mapping uses or leaves out on purpose.
    pub(super) fn used(&self) -> Vec<&str> {
        let mut used: Vec<&str> = [
            &self.question_id,
            &self.question,
            &self.answer,
            &self.response,
            &self.model,
            &self.prompt,
        ]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
        match &self.options {
            Some(OptionFields::One(field)) => used.push(field),
            Some(OptionFields::Each(fields)) => used.extend(fields.iter().map(String::as_str)),
            None => {}
        }
        used.extend(
            self.documents
                .iter()
                .map(|documents| documents.field.as_str()),
        );
        used.extend(self.sub_questions.iter().map(|sub| sub.field.as_str()));
        used.extend(self.counterfactuals.iter().map(|sub| sub.field.as_str()));
        used.extend(self.ignore.iter().map(String::as_str));
        used
    }
}

/// The value at a path: the field of that very name, else field by field along the dots.
pub(super) fn at<'a>(row: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = row.get(path) {
        return Some(value);
    }
    let (first, rest) = path.split_once('.')?;
    rest.split('.')
        .try_fold(row.get(first)?, |value, key| match value {
            Value::Object(fields) => fields.get(key),
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        })
}

/// The value itself, or what a JSON text holds.
pub(super) fn opened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            serde_json::from_str(text).unwrap_or_else(|_| value.clone())
        }
        other => other.clone(),
    }
}
