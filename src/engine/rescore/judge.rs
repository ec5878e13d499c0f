//! Asking a judge model about the sub-answers of a stored run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, StreamExt};

use super::book::{Book, Verdict};
use super::call::{call, stopped};
use super::read_again;
use super::shared::{Key, Shared};
use crate::data::clock::now;
use crate::data::store::{JudgementRecord, ReplyRecord, Store, StoreError};
use crate::domain::answer::read_judgement;
use crate::domain::prompt::{Prompt, PromptError, Templates};
use crate::domain::text::short;
use crate::engine::ask::to_value;
use crate::engine::sweep::{Control, Pace, STORE_PATIENCE};
use crate::model::{ChatModel, FailureKind, ModelError, Reply, Sampling};

/// After so many failed calls in a row the judge is given up.
const FAILURES_IN_A_ROW: usize = 10;

/// First judgements of which none can be read, after which asking on is useless.
const MOST_UNREADABLE: usize = 30;

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
    /// The limits per minute that calls keep to.
    pub pace: Pace,
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

/// What a judge did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Judging {
    /// Judgements stored.
    pub made: usize,
    /// Of those the ones that came of another answer's call: question, gold and answer were the same.
    pub shared: usize,
}

/// An answer to judge.
#[derive(Debug, Clone)]
struct Task {
    reply: i64,
    sub: usize,
    given: String,
    prompt: Prompt,
}

/// Answers that one call judges: their requests are the same.
type Alike = (Key, Vec<Task>);

/// Has the judge model judge every sub-answer of a run that it has not judged yet, and stores each
/// judgement at once. `on_progress` gets how many are done and how many there are to do.
///
/// Requests that are alike are asked once, those included that were judged in an earlier start (unless the request
/// says again).
///
/// Skipped answers are no task: they score 0 without a call. Exact matches are judged like all others.
/// Judgements that failed before are tried again; one that could not be read is not, since the same
/// prompt at temperature 0 gives the same reply. Stopped, it lets the calls under way finish and stores what they bring,
/// unless it is to end now.
///
/// # Errors
/// [`JudgeTrouble`].
pub async fn judge_run(
    request: JudgeRequest,
    control: &Control,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<Judging, JudgeTrouble> {
    request.store.wait_up_to(STORE_PATIENCE);
    let request = Arc::new(request);
    let book = Arc::new(on_thread(&request, open_book).await??);
    let (total, shared) = {
        let book = Arc::clone(&book);
        on_thread(&request, move |request| count_tasks(request, &book)).await??
    };
    let shared = Arc::new(Mutex::new(shared));
    let mut run = Progress::new(total);
    let mut after = 0;
    loop {
        let book = Arc::clone(&book);
        let page = on_thread(&request, move |request| {
            tasks_after(request, &book, after, &mut |_, _, _| {})
        });
        let Some((tasks, last)) = page.await?? else {
            return Ok(Judging {
                made: run.done,
                shared: run.shared,
            });
        };
        if control.stop.is_cancelled() {
            return Err(JudgeTrouble::Stopped);
        }
        after = last;
        let known = Arc::clone(&shared);
        let told = on_thread(&request, move |request| tell_known(request, tasks, &known));
        let (told, groups) = told.await??;
        if told > 0 {
            run.share(told);
            on_progress(run.done, run.total);
        }
        judge_page(&request, groups, &shared, control, &mut run, on_progress).await?;
    }
}

/// How far a run of the judge is.
struct Progress {
    done: usize,
    total: usize,
    /// Judgements that came of another answer's call.
    shared: usize,
    failures_in_a_row: usize,
    /// Judgements that could not be read, while none could.
    unreadable: usize,
    /// Whether any judgement could be read.
    useful: bool,
}

impl Progress {
    fn new(total: usize) -> Progress {
        Progress {
            done: 0,
            total,
            shared: 0,
            failures_in_a_row: 0,
            unreadable: 0,
            useful: false,
        }
    }

    /// Notes judgements that needed no call of their own.
    fn share(&mut self, answers: usize) {
        self.done += answers;
        self.shared += answers;
    }

    /// Notes a call; gives why the judge is of no use, if so.
    fn note(&mut self, result: &Result<Reply, ModelError>) -> Option<String> {
        self.done += 1;
        let error = match result {
            Ok(reply) => {
                self.failures_in_a_row = 0;
                return self.read(&reply.text);
            }
            Err(error) => error,
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

impl Progress {
    /// Notes what a judge said; gives why it is of no use, if nothing of what it says can be read.
    fn read(&mut self, text: &str) -> Option<String> {
        self.useful |= read_judgement(text).is_some();
        self.unreadable += usize::from(!self.useful);
        (!self.useful && self.unreadable >= MOST_UNREADABLE).then(|| {
            format!(
                "none of its first {MOST_UNREADABLE} judgements can be read, the last one is \"{}\"; name another judge, or change judge.j2",
                short(text)
            )
        })
    }
}

async fn judge_page(
    request: &Arc<JudgeRequest>,
    groups: Vec<Alike>,
    shared: &Mutex<Shared>,
    control: &Control,
    run: &mut Progress,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<(), JudgeTrouble> {
    let mut calls = stream::iter(groups)
        .map(|(key, tasks)| async move {
            let result = match tasks.first() {
                Some(task) => call(request, &task.prompt, control).await,
                None => Err(stopped()),
            };
            (key, tasks, result)
        })
        .buffer_unordered(request.concurrency.max(1));
    // Calls that did not begin, or were given up, since no new ones are wanted.
    let mut cut_short = false;
    loop {
        if control.now.is_cancelled() {
            return Err(JudgeTrouble::Stopped);
        }
        let Some((key, tasks, result)) = calls.next().await else {
            return match cut_short {
                true => Err(JudgeTrouble::Stopped),
                false => Ok(()),
            };
        };
        // A judgement that is there is kept, also when the user has just stopped it.
        if result.is_err() && control.now.is_cancelled() {
            return Err(JudgeTrouble::Stopped);
        }
        if is_given_up(&result) && control.stop.is_cancelled() {
            cut_short = true;
            continue;
        }
        if let Some(first) = tasks.first().filter(|_| result.is_ok()) {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.put(key, first.reply, first.sub);
        }
        let answers = tasks.len();
        let judgements: Vec<JudgementRecord> = tasks
            .into_iter()
            .map(|task| judgement(request, task, &result))
            .collect();
        on_thread(request, move |request| {
            let mut all = judgements.iter();
            all.try_for_each(|one| request.store.insert_judgement(one))
        })
        .await??;
        let trouble = run.note(&result);
        run.share(answers.saturating_sub(1));
        on_progress(run.done, run.total);
        if let Some(why) = trouble {
            return Err(JudgeTrouble::GivenUp(why));
        }
    }
}

fn is_given_up(result: &Result<Reply, ModelError>) -> bool {
    matches!(result, Err(error) if error.kind == FailureKind::Cancelled)
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

/// How many answers are to be judged, and which requests have been answered already.
fn count_tasks(request: &JudgeRequest, book: &Book) -> Result<(usize, Shared), JudgeTrouble> {
    let (mut count, mut after) = (0, 0);
    let mut shared = Shared::default();
    let mut settled = |prompt: &Prompt, reply, sub| shared.put(Shared::key(prompt), reply, sub);
    while let Some((tasks, last)) = tasks_after(request, book, after, &mut settled)? {
        count += tasks.len();
        after = last;
    }
    Ok((count, shared))
}

/// Stores the judgements of requests that have been answered for other answers; gives how many these are, and the
/// others, those that are alike together.
fn tell_known(
    request: &JudgeRequest,
    tasks: Vec<Task>,
    shared: &Mutex<Shared>,
) -> Result<(usize, Vec<Alike>), JudgeTrouble> {
    let judge = &request.model.identity().name;
    let shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let mut told = 0;
    let mut groups: Vec<Alike> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for task in tasks {
        let key = Shared::key(&task.prompt);
        if let Some(known) = shared.find(&key, &request.store, judge)? {
            request.store.insert_judgement(&JudgementRecord {
                reply: task.reply,
                sub: task.sub,
                given: task.given,
                created_at: now(),
                ..known
            })?;
            told += 1;
            continue;
        }
        let at = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, alike)) => alike.push(task),
            None => groups.push((key, vec![task])),
        }
    }
    Ok((told, groups))
}

/// What is told of an answer whose judgement stands: its request, reply and sub-question.
type OnSettled<'a> = dyn FnMut(&Prompt, i64, usize) + 'a;

/// What is to be judged in the next records behind the row `after`, and the row of the last of them.
fn tasks_after(
    request: &JudgeRequest,
    book: &Book,
    after: i64,
    settled: &mut OnSettled<'_>,
) -> Result<Option<(Vec<Task>, i64)>, JudgeTrouble> {
    let page = request.store.page_of_run(&request.run, after)?;
    let Some(last) = page.last else {
        return Ok(None);
    };
    let mut tasks = Vec::new();
    for record in &page.records {
        add_tasks(record, request, book, &mut tasks, settled)?;
    }
    Ok(Some((tasks, last)))
}

fn add_tasks(
    record: &ReplyRecord,
    request: &JudgeRequest,
    book: &Book,
    tasks: &mut Vec<Task>,
    settled: &mut OnSettled<'_>,
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
        let prompt = request
            .templates
            .render_judge(&row.question, &row.gold, &given)?;
        if matches!(verdict, Some(Verdict::Score(_) | Verdict::Invalid)) {
            settled(&prompt, record.id, sub);
            continue;
        }
        tasks.push(Task {
            reply: record.id,
            sub,
            given,
            prompt,
        });
    }
    Ok(())
}
