//! Sweeps: asking a model every instance of a grid, into a run of the store.
//!
//! [`plan`] finds out what is to be asked and what the run holds already, [`drive`] asks it, [`summarise`]
//! reads the run's figures back from the store. [`reuse`] takes over what was asked before. An [`Order`] is a sweep of
//! several models and repeats. [`write_batch`] and [`read_batch`] go by the provider's files
//! instead of by calls. A run belongs to one dataset, model and sampling unless the
//! user says otherwise, and to one process at a time (see [`crate::data::store::RunLock`]).

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::data::dataset::Dataset;
use crate::data::store::{RunEntry, Store};
use crate::domain::context::Condition;
use crate::domain::prompt::Templates;
use crate::domain::text::hex;
use crate::engine::ask::AskRequest;
use crate::engine::instance::Instance;
use crate::engine::survey::{Room, Space};
use crate::model::{BackendKind, ChatModel, ChatRequest, Sampling};

pub use batch::{BatchFile, BatchRead, read as read_batch, write as write_batch};
pub(in crate::engine) use drive::STORE_PATIENCE;
pub use drive::{Control, Ended, Progress, Stopped, drive};
pub use given_up::{GivenUp, passed_over};
pub use order::{
    AskedModel, JudgeEstimate, Order, PartEnd, Step, ask_part, chosen_questions, estimate_judge,
};
pub use pace::{Limits, Pace};
pub use plan::{Plan, PlannedCondition, plan};
pub use reuse::{Reused, reuse};
pub use summary::{ConditionSummary, Summary, summarise};
pub use time::{TimeEstimate, estimate_time};
pub use waits::{Away, Locked, Silent, Waiting};

mod ahead;
mod batch;
mod drive;
mod given_up;
mod held;
mod limiter;
mod order;
mod outage;
mod pace;
mod plan;
mod reuse;
mod slot;
mod summary;
mod time;
mod waits;

/// What is asked of whom, and where the replies go.
pub struct Sweep {
    /// The dataset.
    pub dataset: Arc<Dataset>,
    /// The prompt templates.
    pub templates: Arc<Templates>,
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// Sampling settings.
    pub sampling: Sampling,
    /// Name of the run.
    pub run: String,
    /// Names of all models whose replies the run may hold, this one's among them.
    pub company: Vec<String>,
    /// Fingerprints of all datasets whose replies the run may hold, this one's among them.
    pub datasets: Vec<String>,
    /// What else the run's logbook says.
    pub noted: Noted,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// Positions of the questions in the dataset, rising.
    pub questions: Vec<usize>,
    /// The most calls at a time; embedded models get one.
    pub concurrency: usize,
    /// What the provider allows per minute.
    pub limits: Limits,
    /// Keeps to it, together with the other sweeps of this model.
    pub pace: Pace,
    /// Whether only instances are asked whose last call gave no reply.
    pub only_failed: bool,
    /// Whether the run may hold replies of another dataset, model or sampling too.
    pub append: bool,
    /// Whether finished replies to the same requests are taken over from other runs of the store.
    pub reuse: bool,
}

/// What was asked for besides what a sweep itself needs: it goes into the run's logbook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Noted {
    /// The judge of the sub-answers.
    pub judge: Option<String>,
    /// Only the first so many questions.
    pub limit: Option<usize>,
    /// Only so many of these, drawn.
    pub sample: Option<usize>,
}

impl Sweep {
    /// The instances.
    pub fn space(&self) -> Space<'_> {
        Space {
            dataset: &self.dataset,
            templates: &self.templates,
            conditions: &self.conditions,
            questions: &self.questions,
        }
    }

    /// The most calls at a time. An embedded model answers one after another on all cores.
    pub fn ceiling(&self) -> usize {
        match self.model.identity().backend {
            BackendKind::Embedded => 1,
            BackendKind::Http | BackendKind::Replay => self.concurrency.max(1),
        }
    }

    /// What fits the model.
    pub fn room(&self) -> Room {
        Room {
            window: self.model.identity().window,
            max_tokens: self.sampling.max_tokens,
        }
    }

    /// What is asked of the model for an instance.
    fn request(&self, instance: &Instance) -> ChatRequest {
        ChatRequest {
            prompt: instance.prompt.clone(),
            form: instance.shape.clone().into(),
            sampling: self.sampling.clone(),
        }
    }

    /// What asking an instance needs; `model` stands for the sweep's own.
    fn ask_request(
        &self,
        instance: Instance,
        model: Arc<dyn ChatModel>,
        store: Option<Store>,
    ) -> AskRequest {
        AskRequest {
            instance,
            dataset: (self.dataset.name.clone(), self.dataset.fingerprint.clone()),
            model,
            sampling: self.sampling.clone(),
            run: self.run.clone(),
            store,
        }
    }

    /// The sampling settings as records hold them.
    fn sampling_value(&self) -> serde_json::Value {
        // A plain structure, which can always be written.
        serde_json::to_value(&self.sampling).unwrap_or_default()
    }

    /// What the run's logbook says of a start: enough to repeat it.
    pub fn log_entry(&self) -> serde_json::Value {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        json!({
            "started_at": jiff::Timestamp::now().to_string(),
            "program": concat!("medrgb ", env!("CARGO_PKG_VERSION")),
            "machine": format!("{} {}, {cores} cores", std::env::consts::OS, std::env::consts::ARCH),
            "dataset": self.dataset.name,
            "dataset_path": self.dataset.path,
            "dataset_fingerprint": self.dataset.fingerprint,
            "model": self.model.identity(),
            "sampling": self.sampling,
            "questions": self.space().question_count(),
            "question_ids": self.question_ids(),
            "question_ids_sha256": self.questions_fingerprint(),
            "limit": self.noted.limit,
            "sample": self.noted.sample,
            "prompts_sha256": self.templates.fingerprints(),
            "judge": self.noted.judge,
            "concurrency": self.ceiling(),
            "requests_per_minute": self.limits.requests_per_minute,
            "tokens_per_minute": self.limits.tokens_per_minute,
            "only_failed": self.only_failed,
            "append": self.append,
            "reuse": self.reuse,
            "conditions": self.conditions,
        })
    }

    /// Ids of the questions in file order.
    fn question_ids(&self) -> Vec<&str> {
        let questions = self.questions.iter();
        questions
            .filter_map(|&at| Some(self.dataset.questions.get(at)?.id.as_str()))
            .collect()
    }

    /// SHA-256 over the ids of the questions, each with a line end.
    fn questions_fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for id in self.question_ids() {
            hash.update(id.as_bytes());
            hash.update(b"\n");
        }
        hex(&hash.finalize())
    }

    /// Whether a record is of this dataset, model and sampling.
    fn is_ours(&self, entry: &RunEntry, sampling: &serde_json::Value) -> bool {
        *entry.dataset_fingerprint == *self.dataset.fingerprint
            && *entry.model_name == *self.model.identity().name
            && *entry.sampling == *sampling
    }
}
