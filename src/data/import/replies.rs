//! Replies of other people's programs as records of the run store, read and scored like our own.

use serde_json::{Map, Value, json};

use crate::data::store::ReplyRecord;
use crate::domain::answer::{Ending, parse};
use crate::domain::context::{Condition, Context, NoisePool, Pools, Scenario, compose};
use crate::domain::prompt::{Prompt, reply_shape};
use crate::domain::question::Question;
use crate::domain::score::score;

/// What is said beside every score of a reply whose context is not known.
const UNKNOWN_CONTEXT: &str =
    "imported: what the model was shown is not known, so this counts as standard without documents";

/// What is said where only the condition is known.
const UNKNOWN_DOCUMENTS: &str = "imported: the condition is known, but not the documents that the model was shown, so only the main answer is scored";

/// What is said where it is known.
const IMPORTED: &str = "imported from another program's file";

/// A reply as another program saved it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GivenReply {
    /// The text, or why there is none.
    pub(super) text: Result<String, Failed>,
    /// The model, where the file names it.
    pub(super) model: Option<String>,
    /// The system message, where it was saved.
    pub(super) system: String,
    /// The user message, where it was saved.
    pub(super) user: String,
    /// How the reply ended.
    pub(super) ending: Ending,
    /// The provider's separate reasoning text.
    pub(super) reasoning: String,
    /// Tokens of prompt and reply.
    pub(super) usage: [Option<u64>; 2],
    /// Milliseconds of the call.
    pub(super) total_ms: u64,
    /// Probability per option, where the file has log-likelihoods.
    pub(super) probabilities: Option<Vec<(char, f64)>>,
    /// When it was asked: RFC 3339.
    pub(super) created_at: Option<String>,
    /// Under which condition and with which context it was asked, where the file tells; a context without
    /// documents, see [`without_documents`], where it tells the condition only.
    pub(super) setting: Option<Box<(Condition, Context)>>,
    /// Sampling settings as the file says them; `{"seed": k}` tells the k-th repeat of a request from the first.
    pub(super) sampling: Value,
    /// What else the file says, kept with the record.
    pub(super) more: Map<String, Value>,
}

/// A call that gave no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    /// A kind of failure as the models' room names them.
    pub(super) kind: &'static str,
    /// What happened.
    pub(super) message: String,
}

impl Failed {
    /// A failure of which only the message is known; the kind is guessed from usual words in it.
    pub(super) fn of_message(message: &str) -> Failed {
        let lower = message.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let kind = if has(&["rate limit", "429", "too many requests"]) {
            "rate_limited"
        } else if has(&["quota", "billing", "credit"]) {
            "quota"
        } else if has(&["api key", "401", "403", "unauthorized", "authentication"]) {
            "auth"
        } else if has(&["content filter", "content_filter", "content policy"]) {
            "content_filter"
        } else if has(&["context length", "context window", "maximum context"]) {
            "overflow"
        } else if has(&["timeout", "timed out", "connection", "network"]) {
            "network"
        } else {
            "server"
        };
        Failed {
            kind,
            message: without_keys(message),
        }
    }
}

/// A provider's message without what looks like a key in it, or follows `Bearer`.
fn without_keys(message: &str) -> String {
    let mut after_bearer = false;
    message
        .split_inclusive(char::is_whitespace)
        .map(|word| {
            let starts = ["sk-", "key-", "hf_", "xai-", "AIza"];
            let secret = after_bearer || starts.iter().any(|start| word.contains(start));
            after_bearer = word.trim().ends_with("Bearer");
            match secret && word.trim().len() > 8 {
                true => "[key removed] ",
                false => word,
            }
        })
        .collect()
}

impl GivenReply {
    /// A complete reply of which only the text is known.
    pub(super) fn text(text: impl Into<String>) -> GivenReply {
        GivenReply {
            text: Ok(text.into()),
            model: None,
            system: String::new(),
            user: String::new(),
            ending: Ending::Complete,
            reasoning: String::new(),
            usage: [None; 2],
            total_ms: 0,
            probabilities: None,
            created_at: None,
            setting: None,
            sampling: Value::Null,
            more: Map::new(),
        }
    }
}

/// How much is known of what the model was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Condition and documents.
    Whole,
    /// The condition only.
    Condition,
    /// Nothing.
    Nothing,
}

impl Known {
    /// What is said beside every score.
    fn caution(self) -> &'static str {
        match self {
            Known::Whole => IMPORTED,
            Known::Condition => UNKNOWN_DOCUMENTS,
            Known::Nothing => UNKNOWN_CONTEXT,
        }
    }
}

impl GivenReply {
    /// Says that it is the k-th repeat of its request, from 0 on: reports count all of them.
    pub(super) fn repeat(&mut self, k: usize) {
        if k > 0 {
            self.sampling = json!({ "seed": k });
        }
    }

    /// How much is known of what the model was shown.
    pub(super) fn known(&self) -> Known {
        match self.setting.as_deref() {
            None => Known::Nothing,
            Some((condition, context)) => {
                let shown = condition.docs > 0 || condition.scenario != Scenario::Standard;
                match shown && context.documents.is_empty() {
                    true => Known::Condition,
                    false => Known::Whole,
                }
            }
        }
    }
}

/// The run that replies go into.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// Its name in the store.
    pub(super) name: String,
    /// Name and fingerprint of the dataset.
    pub(super) dataset: (String, String),
    /// The model where the replies don't name one.
    pub(super) model: String,
    /// What was imported: kind and file.
    pub(super) origin: String,
    /// When it was imported: RFC 3339.
    pub(super) imported_at: String,
}

/// The record of a reply: read and scored as one of our own.
pub(super) fn record(run: &Run, question: &Question, given: GivenReply) -> ReplyRecord {
    let caution = given.known().caution();
    let (condition, context) = match given.setting.clone() {
        Some(setting) => *setting,
        None => unknown(question),
    };
    let shape = reply_shape(question, &context);
    let parsed = given
        .text
        .as_ref()
        .ok()
        .map(|text| parse(text, &shape, given.ending));
    let scores = parsed
        .as_ref()
        .map(|parsed| score(question, &context, parsed));
    let model_name = given.model.clone().unwrap_or_else(|| run.model.clone());
    ReplyRecord {
        id: 0,
        run: run.name.clone(),
        dataset: run.dataset.0.clone(),
        dataset_fingerprint: run.dataset.1.clone(),
        question: question.clone(),
        condition,
        context,
        prompt: Prompt {
            system: given.system.clone(),
            user: given.user.clone(),
        },
        model: json!({
            "name": model_name,
            "backend": "replay",
            "detail": run.origin,
            "caution": caution,
            "window": null,
        }),
        model_name,
        sampling: given.sampling.clone(),
        raw: given.text.clone().unwrap_or_default(),
        reply: match &given.text {
            Ok(_) => reply_json(&given),
            Err(_) => Value::Null,
        },
        failure: match &given.text {
            Ok(_) => Value::Null,
            Err(failed) => {
                json!({"kind": failed.kind, "message": failed.message, "status": null, "attempts": 1})
            }
        },
        parsed,
        scores,
        created_at: given.created_at.unwrap_or_else(|| run.imported_at.clone()),
        request: None,
        origin: None,
    }
}

/// Everything of a reply but its text, in the form of our own, with what the other program's file said.
fn reply_json(given: &GivenReply) -> Value {
    let mut imported = given.more.clone();
    imported.insert(
        "context".to_owned(),
        Value::from(match given.known() {
            Known::Whole => "known",
            Known::Condition => "documents unknown",
            Known::Nothing => "unknown",
        }),
    );
    imported.insert(
        "prompt_known".to_owned(),
        Value::Bool(!given.user.is_empty()),
    );
    let tokens = |at: usize| given.usage[at].and_then(|count| u32::try_from(count).ok());
    let mut reply = json!({
        "reasoning": given.reasoning,
        "ending": given.ending,
        "usage": {"prompt_tokens": tokens(0), "completion_tokens": tokens(1)},
        "timing": {"first_token_ms": null, "total_ms": given.total_ms, "timeline": []},
        "reported_model": given.model,
        "attempts": 1,
        "imported": imported,
    });
    if let (Some(probabilities), Some(fields)) = (&given.probabilities, reply.as_object_mut()) {
        fields.insert("option_probabilities".to_owned(), json!(probabilities));
    }
    reply
}

/// The instance that stands for an unknown context: standard, without documents.
fn unknown(question: &Question) -> (Condition, Context) {
    let condition = Condition {
        scenario: Scenario::Standard,
        docs: 0,
        p: 100.0,
        ..Condition::default()
    };
    let noise = NoisePool::default();
    let pools = Pools {
        signal: &[],
        sub_questions: &[],
        counterfactuals: &[],
        noise: &noise,
    };
    let context = compose(question, pools, &condition)
        .unwrap_or_else(|_| without_documents(&question.id, &condition));
    (condition, context)
}

/// The context of a condition of which the documents are not known: as many as asked for, none of them listed.
pub(super) fn without_documents(question_id: &str, condition: &Condition) -> Context {
    Context {
        question_id: question_id.to_owned(),
        scenario: condition.scenario,
        docs_requested: condition.docs,
        docs: condition.docs,
        p_requested: condition.p,
        p: condition.p,
        seed: condition.seed,
        mode: condition.mode,
        source: condition.source,
        short: false,
        variant: None,
        documents: Vec::new(),
        sub_questions: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn keys_in_messages_are_removed() {
        let failed = Failed::of_message("429 rate limit for sk-abcdefghijklmnop in region x");
        assert_eq!(failed.kind, "rate_limited");
        assert_eq!(
            failed.message,
            "429 rate limit for [key removed] in region x"
        );
    }
}
