//! Asking a model until its reply keeps the rules, with the ledger before and behind every call.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::data::clock::now;
use crate::data::ledger::{Entry, EntryKind, SCHEMA};
use crate::domain::answer::Ending;
use crate::domain::build::{Issue, Stage, Tally};
use crate::domain::prompt::{BuildPrompt, Feedback, Prompt};
use crate::engine::ask::{GRACE, panicked, to_value};
use crate::engine::build::patience::{NOT_AGAIN, Patience};
use crate::engine::build::{Build, BuildError};
use crate::model::{ChatRequest, FailureKind, ModelError, Reply, ReplyForm};

/// One thing to ask for.
pub(super) struct Ask<'a> {
    /// The question that it belongs to.
    pub question_id: &'a str,
    /// The item of the question; empty for the question itself.
    pub item: &'a str,
    /// The prompt.
    pub prompt: BuildPrompt<'a>,
    /// The shape of the reply.
    pub form: ReplyForm,
}

/// A reply that was read, with what is not quite right about it.
pub(super) struct Candidate<T> {
    pub value: T,
    /// Rules that it breaks; none of them is a reason to drop it.
    pub left: Vec<Issue>,
}

/// What became of an item.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Made<T> {
    /// It is good.
    Kept {
        value: T,
        /// How often it was asked for again.
        repairs: u32,
        /// What is not quite right about it, in words.
        flaws: String,
    },
    /// No reply kept the rules: why the last one did not.
    Dropped(String),
    /// No reply came; the next run asks again.
    Failed(String),
}

/// What comes of a check by a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing is wrong, or nothing was to be checked.
    Good,
    /// Why the item is not kept.
    Bad(String),
    /// The model gives no verdict that can be read: the item is kept, and this is said of it.
    Unclear(String),
    /// No reply came; the next run asks again.
    Silent(String),
}

/// What becomes of a reply that can be kept by the rules; the inner error is why a check forbids it.
async fn settled<T>(
    candidate: Candidate<T>,
    repairs: u32,
    also: &impl AsyncFn(&T) -> Result<Check, BuildError>,
) -> Result<Result<Made<T>, String>, BuildError> {
    let mut flaws = sentences(&candidate.left);
    match also(&candidate.value).await? {
        Check::Good => {}
        Check::Bad(reason) => return Ok(Err(reason)),
        Check::Silent(why) => {
            return Ok(Ok(Made::Failed(format!("it could not be checked: {why}"))));
        }
        Check::Unclear(said) => {
            let before = if flaws.is_empty() { "" } else { "; " };
            flaws += &format!("{before}{said}");
        }
    }
    Ok(Ok(Made::Kept {
        value: candidate.value,
        repairs,
        flaws,
    }))
}

/// A reply as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Answer {
    text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reasoning: String,
    ending: Ending,
    #[serde(default)]
    usage: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reported_model: Option<String>,
    #[serde(default)]
    attempts: u32,
    /// Set instead of a text where the model will never answer this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// An answer, and its entry of the ledger where it is not written yet.
type Answered = (Answer, Option<Box<Entry>>);

/// Asks for one stage.
pub(super) struct Asker<'a> {
    pub build: &'a Build,
    pub stage: Stage,
    pub cancel: &'a CancellationToken,
    tally: Mutex<Tally>,
    patience: Patience,
}

impl<'a> Asker<'a> {
    pub(super) fn new(build: &'a Build, stage: Stage, cancel: &'a CancellationToken) -> Asker<'a> {
        Asker {
            build,
            stage,
            cancel,
            tally: Mutex::default(),
            patience: Patience::default(),
        }
    }

    pub(super) fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Asks until a reply can be read and nothing is wrong with it, at most once and `repairs` times again; each time
    /// the model is told what was wrong. A reply that only breaks rules that are no reason to drop it is kept if no
    /// better one comes. `also` is asked about everything that is kept: what it finds bad is not.
    ///
    /// # Errors
    /// [`BuildError`] where the user stops it, nothing can be had from the model, or the ledger can't be written.
    pub(super) async fn checked<T>(
        &self,
        ask: &Ask<'_>,
        read: impl Fn(&str) -> Result<Candidate<T>, String>,
        also: impl AsyncFn(&T) -> Result<Check, BuildError>,
    ) -> Result<Made<T>, BuildError> {
        let mut feedback: Option<Feedback> = None;
        let mut flawed: Vec<(u32, Candidate<T>)> = Vec::new();
        let mut why = String::new();
        for attempt in 0..=self.build.parts.settings.repairs {
            let (answer, fresh) = match self.answer(ask, attempt, feedback.as_ref()).await? {
                Ok(answered) => answered,
                Err(failed) => return Ok(Made::Failed(failed)),
            };
            let candidate = readable(&answer).and_then(&read);
            if let Some(mut entry) = fresh {
                entry.outcome = outcome(&candidate);
                self.keep(*entry).await?;
            }
            if let Some(refused) = answer.refused {
                why = refused;
                break;
            }
            why = match candidate {
                Ok(candidate) if candidate.left.is_empty() => {
                    match settled(candidate, attempt, &also).await? {
                        Ok(made) => return Ok(made),
                        Err(reason) => reason,
                    }
                }
                Ok(candidate) => {
                    let said = sentences(&candidate.left);
                    flawed.push((attempt, candidate));
                    said
                }
                Err(reason) => reason,
            };
            feedback = Some(Feedback {
                previous: answer.text,
                problem: why.clone(),
            });
        }
        flawed.sort_by_key(|(attempt, candidate)| (candidate.left.len(), *attempt));
        for (attempt, candidate) in flawed {
            match settled(candidate, attempt, &also).await? {
                Ok(made) => return Ok(made),
                Err(reason) => why = reason,
            }
        }
        Ok(Made::Dropped(why))
    }

    /// The answer to a request: from the ledger, or asked now together with its entry, which is not written yet. The
    /// inner error is why no reply came.
    async fn answer(
        &self,
        ask: &Ask<'_>,
        attempt: u32,
        feedback: Option<&Feedback>,
    ) -> Result<Result<Answered, String>, BuildError> {
        let prompt = self
            .build
            .parts
            .templates
            .render_build(&ask.prompt, feedback)?;
        let request = self.request(ask, prompt);
        let hash = self.hash(ask, attempt, &request)?;
        let known = self.known(&hash);
        if let Some(answer) = known.and_then(|value| serde_json::from_value(value).ok()) {
            self.count(|tally| tally.reused += 1);
            self.patience.known();
            return Ok(Ok((answer, None)));
        }
        if self.cancel.is_cancelled() {
            return Err(BuildError::Stopped);
        }
        let again = self.has_failed(&hash);
        if again && self.patience.is_spent() {
            return Ok(Err(NOT_AGAIN.to_owned()));
        }
        let (started_at, started) = (now(), Instant::now());
        let result = self.call(&request).await?;
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let entry = |answer: Value| Entry {
            kind: EntryKind::Call,
            stage: self.stage.name().to_owned(),
            question_id: ask.question_id.to_owned(),
            item: ask.item.to_owned(),
            attempt,
            hash: hash.clone(),
            request: to_value(&request),
            model: self
                .build
                .model()
                .map_or(Value::Null, |model| to_value(model.identity())),
            answer,
            outcome: String::new(),
            started_at,
            ms,
        };
        match result {
            Ok(answer) => {
                self.patience.answered();
                let entry = entry(to_value(&answer));
                Ok(Ok((answer, Some(Box::new(entry)))))
            }
            Err(error) => {
                self.count(|tally| tally.failed += 1);
                let mut entry = entry(Value::Null);
                entry.outcome = format!("failed: {}", error.message);
                self.keep(entry).await?;
                self.patience.failed(&error, again)?;
                Ok(Err(error.message))
            }
        }
    }

    fn request(&self, ask: &Ask<'_>, prompt: Prompt) -> ChatRequest {
        ChatRequest {
            prompt,
            form: ask.form.clone(),
            sampling: self.build.parts.sampling.clone(),
        }
    }

    /// What a request is found again by: everything that the answer depends on.
    fn hash(
        &self,
        ask: &Ask<'_>,
        attempt: u32,
        request: &ChatRequest,
    ) -> Result<String, BuildError> {
        let model = self.build.model()?.identity();
        Ok(hash_of(&json!([
            SCHEMA,
            self.stage.name(),
            ask.question_id,
            ask.item,
            attempt,
            model.name,
            model.detail,
            request,
        ])))
    }

    /// Whether the first request for this is answered already, and its predicted prompt tokens.
    ///
    /// # Errors
    /// Where a template is broken or there is no model.
    pub(super) fn look(&self, ask: &Ask<'_>) -> Result<(bool, u64), BuildError> {
        let prompt = self.build.parts.templates.render_build(&ask.prompt, None)?;
        let tokens = crate::model::tokens::estimate_prompt(&prompt);
        let hash = self.hash(ask, 0, &self.request(ask, prompt))?;
        Ok((self.known(&hash).is_some(), tokens))
    }

    /// What the ledger has for a request.
    pub(super) fn known(&self, hash: &str) -> Option<Value> {
        let ledger = self
            .build
            .ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        ledger.answer(hash).cloned()
    }

    /// Whether a request of an earlier run got no reply.
    fn has_failed(&self, hash: &str) -> bool {
        let ledger = self
            .build
            .ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        ledger.has_failed(hash)
    }

    /// Writes an entry of the ledger durably.
    ///
    /// # Errors
    /// Where the file can't be written.
    pub(super) async fn keep(&self, entry: Entry) -> Result<(), BuildError> {
        let ledger = Arc::clone(&self.build.ledger);
        let append = move || {
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.append(entry)
        };
        on_thread(append).await?.map_err(BuildError::from)
    }

    /// One call: a reply, or an answer that says that there never will be one.
    async fn call(&self, request: &ChatRequest) -> Result<Result<Answer, ModelError>, BuildError> {
        let model = self.build.model()?;
        let cancel = self.cancel.child_token();
        let limit = self.build.parts.settings.call_timeout;
        self.count(|tally| tally.asked += 1);
        let mut ignore = |_| {};
        let asked = AssertUnwindSafe(async { model.reply(request, &cancel, &mut ignore).await })
            .catch_unwind();
        let overdue = async {
            self.cancel.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        let result = tokio::select! {
            biased;
            ended = asked => ended.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))),
            () = overdue => return Err(BuildError::Stopped),
            () = tokio::time::sleep(limit) => {
                cancel.cancel();
                Err(ModelError::new(
                    FailureKind::Network,
                    format!("no reply came within {} s", limit.as_secs_f64()),
                ))
            }
        };
        if let Ok(reply) = &result {
            self.count(|tally| {
                tally.prompt_tokens += u64::from(reply.usage.prompt_tokens.unwrap_or(0));
                tally.completion_tokens += u64::from(reply.usage.completion_tokens.unwrap_or(0));
            });
        }
        match result {
            Ok(reply) if reply.ending == Ending::Interrupted => match self.cancel.is_cancelled() {
                true => Err(BuildError::Stopped),
                false => Ok(Err(ModelError::new(
                    FailureKind::Network,
                    "the reply broke off",
                ))),
            },
            Ok(reply) => Ok(Ok(Answer::of(reply))),
            Err(_) if self.cancel.is_cancelled() => Err(BuildError::Stopped),
            // The same request would end like this again.
            Err(error)
                if matches!(
                    error.kind,
                    FailureKind::ContentFilter | FailureKind::Overflow
                ) =>
            {
                Ok(Ok(Answer::refused(error.message)))
            }
            Err(error) => Ok(Err(error)),
        }
    }
}

impl Answer {
    fn of(reply: Reply) -> Answer {
        Answer {
            usage: to_value(&reply.usage),
            text: reply.text,
            reasoning: reply.reasoning,
            ending: reply.ending,
            reported_model: reply.reported_model,
            attempts: reply.attempts,
            refused: None,
        }
    }

    fn refused(why: String) -> Answer {
        Answer {
            text: String::new(),
            reasoning: String::new(),
            ending: Ending::Complete,
            usage: Value::Null,
            reported_model: None,
            attempts: 1,
            refused: Some(why),
        }
    }
}

/// The text of a reply that can be read at all.
fn readable(answer: &Answer) -> Result<&str, String> {
    match (&answer.refused, answer.ending) {
        (Some(why), _) => Err(why.clone()),
        (None, Ending::Length) => {
            Err("the reply was cut off at the most tokens of a reply".to_owned())
        }
        (None, _) => Ok(&answer.text),
    }
}

/// What came of a reply, for the ledger.
fn outcome<T>(candidate: &Result<Candidate<T>, String>) -> String {
    match candidate {
        Ok(candidate) if candidate.left.is_empty() => "good".to_owned(),
        Ok(candidate) => format!("usable: {}", sentences(&candidate.left)),
        Err(why) => format!("not usable: {why}"),
    }
}

/// The details of issues as one sentence.
pub(super) fn sentences(issues: &[Issue]) -> String {
    let details: Vec<&str> = issues.iter().map(|issue| issue.detail.as_str()).collect();
    details.join("; ")
}

/// SHA-256 of a JSON value, in hexadecimal.
pub(super) fn hash_of(value: &Value) -> String {
    Sha256::digest(value.to_string().as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Runs `work` where it may wait for the disk or compute.
///
/// # Errors
/// Where it panics.
pub(super) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BuildError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        BuildError::Failed(format!("the program failed: {error}; please report this"))
    })
}
