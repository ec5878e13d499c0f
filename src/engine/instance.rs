//! An instance: a question under a condition, with its context, prompt and reply shape.

use crate::data::dataset::Dataset;
use crate::domain::answer::ReplyShape;
use crate::domain::context::{Condition, Context, compose};
use crate::domain::prompt::{Prompt, Templates, reply_shape};
use crate::domain::question::Question;
use crate::domain::text::short;

/// A question under a condition, ready to be shown and asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The question.
    pub question: Question,
    /// What was asked for.
    pub condition: Condition,
    /// What the model will see, with roles.
    pub context: Context,
    /// The messages.
    pub prompt: Prompt,
    /// The shape of the reply.
    pub shape: ReplyShape,
}

/// Why there is no instance.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InstanceError {
    /// No such question.
    #[error("no question has the id \"{id}\"; the explorer lists the ids of a dataset", id = short(.0))]
    UnknownQuestion(String),
    /// The condition is impossible for this question.
    #[error(transparent)]
    Compose(#[from] crate::domain::context::ComposeError),
    /// A prompt template is broken.
    #[error(transparent)]
    Prompt(#[from] crate::domain::prompt::PromptError),
}

/// Composes the instance of a question under a condition.
///
/// # Errors
/// [`InstanceError`]: unknown question, impossible condition, broken template.
pub fn instance(
    dataset: &Dataset,
    templates: &Templates,
    question_id: &str,
    condition: &Condition,
) -> Result<Instance, InstanceError> {
    let position = dataset
        .position(question_id)
        .ok_or_else(|| InstanceError::UnknownQuestion(question_id.to_owned()))?;
    let question = dataset.questions[position].clone();
    let context = compose(&question, dataset.pools(question_id), condition)?;
    let prompt = templates.render(&question, &context)?;
    let shape = reply_shape(&question, &context);
    Ok(Instance {
        question,
        condition: *condition,
        context,
        prompt,
        shape,
    })
}
