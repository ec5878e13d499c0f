//! Probes: one instance asked again with its context changed on purpose.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::data::dataset::Dataset;
use crate::data::store::{ReplyRecord, Store};
use crate::domain::context::{Change, Context, Variant};
use crate::domain::probe::{Effect, Tried, Verdict, said, verdict};
use crate::domain::prompt::{PromptError, Templates, reply_shape};
use crate::engine::ask::{AskRequest, ask};
use crate::engine::instance::Instance;
use crate::engine::sweep::Control;
use crate::model::{BackendKind, ChatModel, Sampling};

pub use crate::domain::probe::PROBES;

/// Calls at a time, where the model can answer several at once.
const AT_ONCE: usize = 8;

/// What a probe needs.
pub struct ProbeRequest {
    /// The instance as it is composed.
    pub instance: Instance,
    /// The changed contexts.
    pub variants: Vec<Variant>,
    /// The prompt templates.
    pub templates: Arc<Templates>,
    /// Dataset name and fingerprint for the records.
    pub dataset: (String, String),
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// Sampling settings; further askings of one context count the seed up.
    pub sampling: Sampling,
    /// How often each context is asked.
    pub repeats: usize,
    /// Where replies are stored.
    pub store: Option<Store>,
}

/// The replies to one context.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What was changed in a few words; `None` for the composed context.
    pub name: Option<String>,
    /// The change; `None` for the composed context.
    pub change: Option<Change>,
    /// The context.
    pub context: Context,
    /// The records, in the order of askings.
    pub records: Vec<ReplyRecord>,
    /// What they said.
    pub tried: Tried,
    /// What the change did; `Same` for the composed context.
    pub effect: Effect,
}

/// What a probe found.
#[derive(Debug, Clone)]
pub struct Probed {
    /// The composed context.
    pub base: Asked,
    /// The changed ones, in their order.
    pub variants: Vec<Asked>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Asks the composed context and all changed ones. `progress` gets calls done and calls in all. Stopped, it lets the calls
/// under way finish and keeps their replies, unless it is to end now.
///
/// # Errors
/// One sentence: a template that can't be rendered, a reply that can't be stored, stopped by the user.
pub async fn probe(
    request: &ProbeRequest,
    control: &Control,
    progress: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<Probed, String> {
    let mut instances = vec![request.instance.clone()];
    for variant in &request.variants {
        let instance = changed(&request.instance, variant, &request.templates);
        instances.push(instance.map_err(|error| error.to_string())?);
    }
    let mut records = ask_all(request, &instances, control, progress)
        .await?
        .into_iter();
    let gold = request.instance.question.answer;
    let mut base = asked(None, instances[0].context.clone(), records.next());
    base.effect = Effect::Same;
    let variants: Vec<Asked> = request
        .variants
        .iter()
        .zip(records)
        .map(|(variant, records)| {
            let mut one = asked(
                Some(&variant.change),
                variant.context.clone(),
                Some(records),
            );
            one.effect = one.tried.effect(&base.tried, gold);
            one
        })
        .collect();
    let changes: Vec<(String, Tried, Effect)> = variants
        .iter()
        .map(|one| {
            let name = one.name.clone().unwrap_or_default();
            (name, one.tried.clone(), one.effect)
        })
        .collect();
    let verdict = verdict(&base.tried, gold, &changes);
    Ok(Probed {
        base,
        variants,
        verdict,
    })
}

/// The instance with a changed context.
fn changed(
    base: &Instance,
    variant: &Variant,
    templates: &Templates,
) -> Result<Instance, PromptError> {
    Ok(Instance {
        prompt: templates.render(&base.question, &variant.context)?,
        shape: reply_shape(&base.question, &variant.context),
        context: variant.context.clone(),
        question: base.question.clone(),
        condition: base.condition,
    })
}

fn asked(change: Option<&Change>, context: Context, records: Option<Vec<ReplyRecord>>) -> Asked {
    let records = records.unwrap_or_default();
    Asked {
        name: context.variant.clone(),
        change: change.cloned(),
        context,
        tried: Tried {
            said: records
                .iter()
                .map(|record| said(record.parsed.as_ref()))
                .collect(),
        },
        records,
        effect: Effect::Unavailable,
    }
}

/// Asks every instance `repeats` times; the records come in the order of the instances and askings.
async fn ask_all(
    request: &ProbeRequest,
    instances: &[Instance],
    control: &Control,
    progress: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<Vec<Vec<ReplyRecord>>, String> {
    let at_once = match request.model.identity().backend {
        BackendKind::Embedded => 1,
        BackendKind::Http | BackendKind::Replay => AT_ONCE,
    };
    let permits = Arc::new(Semaphore::new(at_once));
    let mut tasks = JoinSet::new();
    let total = instances.len() * request.repeats;
    for (at, instance) in instances.iter().enumerate() {
        for repeat in 0..request.repeats {
            let call = call(request, instance, repeat);
            let (permits, control) = (Arc::clone(&permits), control.clone());
            tasks.spawn(async move {
                // The semaphore is never closed.
                let _permit = permits.acquire_owned().await.ok();
                if control.stop.is_cancelled() {
                    return Ok(None);
                }
                let record = ask(call, &control.now, &mut |_| Ok(())).await?;
                Ok(Some((at, repeat, record)))
            });
        }
    }
    let mut slots: Vec<Vec<Option<ReplyRecord>>> = instances
        .iter()
        .map(|_| vec![None; request.repeats])
        .collect();
    let mut done = 0;
    progress(done, total);
    while let Some(ended) = tasks.join_next().await {
        let ended: Result<_, String> =
            ended.map_err(|error| format!("the program failed while it asked ({error})"))?;
        let Some((at, repeat, record)) = ended? else {
            continue;
        };
        slots[at][repeat] = Some(*record);
        done += 1;
        progress(done, total);
    }
    if done < total || control.now.is_cancelled() {
        return Err(format!(
            "stopped after {done} of {total} calls; their replies are in the run \"{PROBES}\""
        ));
    }
    Ok(slots
        .into_iter()
        .map(|records| records.into_iter().flatten().collect())
        .collect())
}

fn call(request: &ProbeRequest, instance: &Instance, repeat: usize) -> AskRequest {
    let mut sampling = request.sampling.clone();
    if repeat > 0 {
        sampling.seed = Some(sampling.seed.unwrap_or(0).wrapping_add(repeat as u64));
    }
    AskRequest {
        instance: instance.clone(),
        dataset: request.dataset.clone(),
        model: Arc::clone(&request.model),
        sampling,
        run: PROBES.to_owned(),
        store: request.store.clone(),
    }
}

/// The text of an original document of the dataset by its id, for tracing; of the question's own documents.
pub fn original_text(dataset: &Dataset, question_id: &str, id: &str) -> Option<String> {
    let pools = dataset.pools(question_id);
    let document = pools.signal.iter().find(|document| document.id == id)?;
    Some(document.content.clone())
}
