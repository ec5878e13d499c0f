//! Prompts: templates filled with a question and its context.

use serde::{Deserialize, Serialize};

use crate::domain::answer::ReplyShape;
use crate::domain::context::{Context, Scenario};
use crate::domain::question::Question;

/// The two messages a model gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The system message.
    pub system: String,
    /// The user message.
    pub user: String,
}

/// Template texts per scenario (minijinja), ours or the user's.
#[derive(Debug, Clone)]
pub struct Templates {
    pub(crate) sources: std::collections::BTreeMap<String, String>,
}

/// A template that does not parse or names an unknown variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("prompt template {name}: {detail}")]
pub struct PromptError {
    /// File name of the template.
    pub name: String,
    /// What is wrong, with its line.
    pub detail: String,
}

impl Default for Templates {
    /// The built-in templates of `assets/prompts`.
    fn default() -> Self {
        Templates {
            sources: std::collections::BTreeMap::new(),
        }
    }
}

impl Templates {
    /// Renders the prompt for a context.
    ///
    /// # Errors
    /// [`PromptError`] where a user's template is broken.
    pub fn render(&self, question: &Question, context: &Context) -> Result<Prompt, PromptError> {
        let _ = (question, context);
        Err(PromptError {
            name: Scenario::Standard.name().into(),
            detail: String::new(),
        })
    }
}

/// The shape of the reply that the prompt for this context asks for.
pub fn reply_shape(question: &Question, context: &Context) -> ReplyShape {
    ReplyShape {
        scenario: context.scenario,
        labels: context
            .documents
            .iter()
            .map(|doc| doc.label.clone())
            .collect(),
        ids: context.documents.iter().map(|doc| doc.id.clone()).collect(),
        options: question
            .options
            .iter()
            .map(|choice| (choice.letter, choice.text.clone()))
            .collect(),
        sub_questions: context
            .sub_questions
            .iter()
            .map(|sub| sub.question.clone())
            .collect(),
    }
}
