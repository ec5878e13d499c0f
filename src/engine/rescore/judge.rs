//! Asking a judge model about the sub-answers of a stored run.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use tokio_util::sync::CancellationToken;

use super::book::{Book, Verdict};
use super::read_again;
use crate::data::clock::now;
use crate::data::store::{JudgementRecord, ReplyRecord, Store, StoreError};
use crate::domain::answer::{Ending, read_judgement};
use crate::domain::prompt::{Prompt, PromptError, Templates};
use crate::engine::ask::{GRACE, panicked, to_value};
use crate::model::{ChatModel, ChatRequest, FailureKind, ModelError, Reply, ReplyForm, Sampling};

/// After so many failed calls in a row the judge is given up.
const FAILURES_IN_A_ROW: usize = 10;

/// What judging a run needs.
pub struct JudgeRequest {
    /// Where the run is.
    pub store: Store,
    /// Its name.
    pub run: String,
    /// The judge.
    pub model: Arc<dyn ChatModel>,
    /// The prompt.
    pub templates: Templates,
    /// Sampling settings.
    pub sampling: Sampling,
    /// Most calls at the same time, at least 1.
    pub concurrency: usize,
    /// Judge again what this judge has judged already.
    pub again: bool,
}

/// Why judging stopped early. What had been judged by then is stored.
#[derive(Debug, thiserror::Error)]
pub enum JudgeTrouble {
    /// The store can't be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The judge's template is broken.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The user stopped it.
    #[error("stopped; what has been judged is stored, and the same command goes on from there")]
    Stopped,
    /// The model can't be used, or fails again and again.
    #[error(
        "the judge gave no judgement: {0}; what has been judged is stored, and the same command goes on from there"
    )]
    GivenUp(String),
    /// The program failed.
    #[error("the program failed while it judged: {0}; please report this")]
    Program(String),
}

/// An answer to judge.
#[derive(Debug, Clone)]
struct Task {
    reply: i64,
    sub: usize,
    given: String,
    prompt: Prompt,
}

/// Has the judge model judge every sub-answer of a run that it has not judged yet, and stores each
/// judgement at once. Gives the number of judgements made. `on_progress` gets how many are done and how
/// many there are to do.
///
/// Skipped answers are no task: they score 0 without a call. Exact matches are judged like all others.
/// Judgements that failed before are tried again; one that could not be read is not, since the same
/// prompt at temperature 0 gives the same reply.
///
/// # Errors
/// [`JudgeTrouble`].
pub async fn judge_run(
    request: JudgeRequest,
    cancel: &CancellationToken,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<usize, JudgeTrouble> {
    let request = Arc::new(request);
    let book = Arc::new(on_thread(&request, open_book).await??);
    let total = {
        let book = Arc::clone(&book);
        on_thread(&request, move |request| count_tasks(request, &book)).await??
    };
    let mut run = Progress::new(total);
    let mut after = 0;
    loop {
        let book = Arc::clone(&book);
        let page = on_thread(&request, move |request| tasks_after(request, &book, after)).await??;
        let Some((tasks, last)) = page else {
            return Ok(run.done);
        };
        after = last;
        judge_page(&request, tasks, cancel, &mut run, on_progress).await?;
    }
}

/// How far a run of the judge is.
struct Progress {
    done: usize,
    total: usize,
    failures_in_a_row: usize,
}

impl Progress {
    fn new(total: usize) -> Progress {
        Progress {
            done: 0,
            total,
            failures_in_a_row: 0,
        }
    }

    /// Notes a judgement; gives why the judge is of no use, if so.
    fn note(&mut self, result: &Result<Reply, ModelError>) -> Option<String> {
        self.done += 1;
        let Err(error) = result else {
            self.failures_in_a_row = 0;
            return None;
        };
        self.failures_in_a_row += 1;
        if matches!(error.kind, FailureKind::Auth | FailureKind::Quota) {
            return Some(error.message.clone());
        }
        (self.failures_in_a_row >= FAILURES_IN_A_ROW).then(|| {
            format!(
                "{FAILURES_IN_A_ROW} calls in a row failed, the last one: {}",
                error.message
            )
        })
    }
}

async fn judge_page(
    request: &Arc<JudgeRequest>,
    tasks: Vec<Task>,
    cancel: &CancellationToken,
    run: &mut Progress,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<(), JudgeTrouble> {
    let mut calls = stream::iter(tasks)
        .map(|task| async move {
            let result = call(request, &task.prompt, cancel).await;
            (task, result)
        })
        .buffer_unordered(request.concurrency.max(1));
    loop {
        if cancel.is_cancelled() {
            return Err(JudgeTrouble::Stopped);
        }
        let Some((task, result)) = calls.next().await else {
            return Ok(());
        };
        // A judgement that is there is kept, also when the user has just stopped it.
        if result.is_err() && cancel.is_cancelled() {
            return Err(JudgeTrouble::Stopped);
        }
        let judgement = judgement(request, task, &result);
        on_thread(request, move |request| {
            request.store.insert_judgement(&judgement)
        })
        .await??;
        let trouble = run.note(&result);
        on_progress(run.done, run.total);
        if let Some(why) = trouble {
            return Err(JudgeTrouble::GivenUp(why));
        }
    }
}

/// Asks the judge once; a panic of the model, a reply that broke off and a model that does not stop when
/// it is told to become failures.
async fn call(
    request: &JudgeRequest,
    prompt: &Prompt,
    cancel: &CancellationToken,
) -> Result<Reply, ModelError> {
    let chat = ChatRequest {
        prompt: prompt.clone(),
        form: ReplyForm::Judgement,
        sampling: request.sampling.clone(),
    };
    let mut ignore = |_| {};
    let asked = AssertUnwindSafe(async { request.model.reply(&chat, cancel, &mut ignore).await })
        .catch_unwind();
    let overdue = async {
        cancel.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let result = tokio::select! {
        biased;
        ended = asked => ended.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))),
        () = overdue => Err(ModelError::new(FailureKind::Cancelled, "stopped")),
    };
    match result {
        Ok(reply) if reply.ending == Ending::Interrupted => Err(ModelError::new(
            FailureKind::Network,
            "the judgement broke off",
        )),
        result => result,
    }
}

fn judgement(
    request: &JudgeRequest,
    task: Task,
    result: &Result<Reply, ModelError>,
) -> JudgementRecord {
    let raw = result.as_ref().map(|reply| reply.text.clone());
    let raw = raw.unwrap_or_default();
    JudgementRecord {
        reply: task.reply,
        sub: task.sub,
        judge: request.model.identity().name.clone(),
        given: task.given,
        score: read_judgement(&raw),
        raw,
        failure: result.as_ref().err().map(to_value).unwrap_or_default(),
        created_at: now(),
    }
}

/// Runs `work` where it may wait for the disk.
async fn on_thread<T: Send + 'static>(
    request: &Arc<JudgeRequest>,
    work: impl FnOnce(&JudgeRequest) -> T + Send + 'static,
) -> Result<T, JudgeTrouble> {
    let request = Arc::clone(request);
    tokio::task::spawn_blocking(move || work(&request))
        .await
        .map_err(|error| JudgeTrouble::Program(error.to_string()))
}

fn open_book(request: &JudgeRequest) -> Result<Book, StoreError> {
    match request.again {
        true => Ok(Book::default()),
        false => Book::of_run(&request.store, &request.run, &request.model.identity().name),
    }
}

fn count_tasks(request: &JudgeRequest, book: &Book) -> Result<usize, JudgeTrouble> {
    let (mut count, mut after) = (0, 0);
    while let Some((tasks, last)) = tasks_after(request, book, after)? {
        count += tasks.len();
        after = last;
    }
    Ok(count)
}

/// What is to be judged in the next records behind the row `after`, and the row of the last of them.
fn tasks_after(
    request: &JudgeRequest,
    book: &Book,
    after: i64,
) -> Result<Option<(Vec<Task>, i64)>, JudgeTrouble> {
    let page = request.store.page_of_run(&request.run, after)?;
    let Some(last) = page.last else {
        return Ok(None);
    };
    let mut tasks = Vec::new();
    for record in &page.records {
        add_tasks(record, request, book, &mut tasks)?;
    }
    Ok(Some((tasks, last)))
}

fn add_tasks(
    record: &ReplyRecord,
    request: &JudgeRequest,
    book: &Book,
    tasks: &mut Vec<Task>,
) -> Result<(), JudgeTrouble> {
    // A record that can't be read is counted when the run is scored.
    let Ok(Some((_, scores))) = read_again(record) else {
        return Ok(());
    };
    if !scores.outcome.is_reply() {
        return Ok(());
    }
    for (sub, row) in scores.subs.into_iter().enumerate() {
        let Some(given) = row.given else { continue };
        let verdict = book.verdict(record.id, sub, &given);
        if matches!(verdict, Some(Verdict::Score(_) | Verdict::Invalid)) {
            continue;
        }
        let prompt = request
            .templates
            .render_judge(&row.question, &row.gold, &given)?;
        tasks.push(Task {
            reply: record.id,
            sub,
            given,
            prompt,
        });
    }
    Ok(())
}
