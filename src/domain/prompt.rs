//! Prompts: templates filled with a question and its context.

use std::collections::BTreeMap;
use std::error::Error as _;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use serde::{Deserialize, Serialize};

use crate::domain::answer::ReplyShape;
use crate::domain::context::Context;
use crate::domain::question::Question;
use crate::domain::text::collapse;

mod build;
mod delimiter;
mod probe;
#[cfg(test)]
mod tests;

pub use build::{BuildPrompt, Feedback, LinkText};

/// The two messages a model gets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The system message.
    pub system: String,
    /// The user message.
    pub user: String,
}

macro_rules! template {
    ($name:literal) => {
        ($name, include_str!(concat!("../../assets/prompts/", $name)))
    };
}

/// Names and texts of the built-in templates: a system and a user message per scenario, three parts that
/// they include, the message to a judge, and those with which a benchmark is made.
pub const BUILT_IN: [(&str, &str); 21] = [
    template!("documents.j2"),
    template!("question.j2"),
    template!("sub_questions.j2"),
    template!("standard.system.j2"),
    template!("standard.user.j2"),
    template!("sufficiency.system.j2"),
    template!("sufficiency.user.j2"),
    template!("integration.system.j2"),
    template!("integration.user.j2"),
    template!("robustness.system.j2"),
    template!("robustness.user.j2"),
    template!("judge.j2"),
    template!("build.system.j2"),
    template!("build.feedback.j2"),
    template!("build.topics.j2"),
    template!("build.links.j2"),
    template!("build.summary.j2"),
    template!("build.sub_question.j2"),
    template!("build.adversarial.j2"),
    template!("build.alone.j2"),
    template!("build.contradicts.j2"),
];

/// The template of a judge's prompt.
const JUDGE: &str = "judge.j2";

/// What a template may name; anything else is an error.
const VARIABLES: &str =
    "scenario, tag, question, options, letters, documents, labels and sub_questions";

/// What the judge's template may name.
const JUDGE_VARIABLES: &str = "tag, question, gold and answer";

/// Template texts per scenario (minijinja), ours or the user's.
///
/// A template sees `scenario`, `tag` (the name of the tag around a document, one that occurs in no text),
/// `question`, `options` (`letter`, `text`), `letters`, `documents` (`label`, `title`, `content`), `labels`
/// and `sub_questions` (`key`, `question`). No id and no role is among them. The judge's template sees
/// `tag`, the sub-`question`, its true answer (`gold`) and the `answer` to be judged.
#[derive(Debug, Clone)]
pub struct Templates {
    environment: Environment<'static>,
    /// What errors put before a template's name: the folder of the user's templates and a slash.
    overridden: BTreeMap<String, String>,
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
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        let mut syntax = SyntaxConfig::builder();
        syntax.trim_blocks(true).lstrip_blocks(true);
        if let Ok(syntax) = syntax.build() {
            environment.set_syntax(syntax);
        }
        // Errors then know the piece of source they are about.
        environment.set_debug(true);
        for (name, source) in BUILT_IN {
            // A built-in template that does not parse fails the tests; here its absence shows on rendering.
            let _ = environment.add_template(name, source);
        }
        Templates {
            environment,
            overridden: BTreeMap::new(),
        }
    }
}

impl Templates {
    /// The built-in templates, some replaced: file name → text. Each is tried out on every scenario, so
    /// that a broken one is found now and not in the middle of a run.
    ///
    /// # Errors
    /// [`PromptError`] for a name that is not one of [`BUILT_IN`], a syntax error or an unknown variable.
    pub fn with_overrides(overrides: BTreeMap<String, String>) -> Result<Templates, PromptError> {
        Templates::with_overrides_from("", overrides)
    }

    /// As [`Templates::with_overrides`]; errors then name the files with this text before their name, such
    /// as `prompts/`.
    ///
    /// # Errors
    /// As [`Templates::with_overrides`].
    pub fn with_overrides_from(
        before_name: &str,
        overrides: BTreeMap<String, String>,
    ) -> Result<Templates, PromptError> {
        let mut templates = Templates::default();
        for (name, source) in overrides {
            let shown = format!("{before_name}{name}");
            if !BUILT_IN.iter().any(|(known, _)| *known == name) {
                return Err(PromptError {
                    name: shown,
                    detail: format!("no template has this name; expected one of {}", known()),
                });
            }
            templates.overridden.insert(name.clone(), shown);
            templates
                .environment
                .add_template_owned(name.clone(), source)
                .map_err(|error| templates.explain(&name, &error))?;
        }
        for (question, context) in probe::instances() {
            templates.render(&question, &context)?;
        }
        templates.render_judge("What?", "That.", "This.")?;
        templates.try_build(&probe::question())?;
        Ok(templates)
    }

    /// Renders the prompt for a context.
    ///
    /// # Errors
    /// [`PromptError`] where a user's template is broken.
    pub fn render(&self, question: &Question, context: &Context) -> Result<Prompt, PromptError> {
        let values = values(question, context);
        let scenario = context.scenario;
        Ok(Prompt {
            system: self.message(&format!("{scenario}.system.j2"), &values)?,
            user: self.message(&format!("{scenario}.user.j2"), &values)?,
        })
    }

    /// Renders the prompt that asks a judge model to compare an answer with the true one (`gold`). It has
    /// no system message.
    ///
    /// # Errors
    /// [`PromptError`] where a user's template is broken.
    pub fn render_judge(
        &self,
        question: &str,
        gold: &str,
        answer: &str,
    ) -> Result<Prompt, PromptError> {
        let values = context! {
            tag => delimiter::answer_tag([question, gold, answer].into_iter()),
            question => collapse(question),
            gold => gold.trim(),
            answer => answer.trim(),
        };
        Ok(Prompt {
            system: String::new(),
            user: self.message(JUDGE, &values)?,
        })
    }

    fn message(&self, name: &str, values: &Value) -> Result<String, PromptError> {
        self.environment
            .get_template(name)
            .and_then(|template| template.render(values))
            .map(|text| text.trim().to_owned())
            .map_err(|error| self.explain(name, &error))
    }

    /// File, line and reason of the innermost error (an included template's, where it is at fault).
    fn explain(&self, name: &str, error: &minijinja::Error) -> PromptError {
        let mut inner = error;
        while let Some(next) = inner
            .source()
            .and_then(|source| source.downcast_ref::<minijinja::Error>())
        {
            inner = next;
        }
        let name = inner.name().unwrap_or(name);
        let line = inner.line().unwrap_or(1);
        let mut detail = format!("line {line}: {}", inner.kind());
        if let Some(more) = inner.detail() {
            detail.push_str(&format!(": {more}"));
        }
        let piece = inner
            .template_source()
            .zip(inner.range())
            .and_then(|(source, range)| source.get(range));
        if let Some(piece) = piece.map(collapse)
            && !detail.contains(&piece)
        {
            detail.push_str(&format!(" at `{piece}`"));
        }
        if inner.kind() == minijinja::ErrorKind::UndefinedError {
            let known = match name {
                JUDGE => JUDGE_VARIABLES,
                name if name.starts_with(build::PREFIX) => build::VARIABLES,
                _ => VARIABLES,
            };
            detail.push_str(&format!("; templates know {known}"));
        }
        PromptError {
            name: self
                .overridden
                .get(name)
                .cloned()
                .unwrap_or_else(|| name.to_owned()),
            detail,
        }
    }
}

/// The names of all templates, for messages.
fn known() -> String {
    BUILT_IN.map(|(name, _)| name).join(", ")
}

/// What a template sees: of a document only label, title and text.
fn values(question: &Question, context: &Context) -> Value {
    let options: Vec<Value> = question
        .options
        .iter()
        .map(|option| context! { letter => option.letter, text => collapse(&option.text) })
        .collect();
    let letters: Vec<char> = question.options.iter().map(|o| o.letter).collect();
    let documents: Vec<Value> = context
        .documents
        .iter()
        .map(|document| {
            context! {
                label => document.label.as_str(),
                title => collapse(&document.title),
                content => document.content.trim(),
            }
        })
        .collect();
    let labels: Vec<Value> = context
        .documents
        .iter()
        .map(|d| d.label.as_str().into())
        .collect();
    let sub_questions: Vec<Value> = context
        .sub_questions
        .iter()
        .enumerate()
        .map(|(at, sub)| {
            context! { key => format!("sub_{}", at + 1), question => collapse(&sub.question) }
        })
        .collect();
    context! {
        scenario => context.scenario.name(),
        tag => delimiter::tag(question, context),
        question => question.text.trim(),
        options,
        letters,
        documents,
        labels,
        sub_questions,
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
