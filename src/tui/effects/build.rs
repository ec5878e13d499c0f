//! Builds of the explorer: what one would ask, and running one, by the engine that the command uses.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::data::built::{ASIDE, PAGES};
use crate::domain::build::closing::{nothing_kept, of_changed};
use crate::domain::build::{Held, Predicted, Stage};
use crate::engine::build::web::{Engine, Web, WebSettings};
use crate::engine::build::{
    Build, BuildError, IndexSource, Parts, Progress, asks_model, folder_of, plan, prepare, run,
};
use crate::tui::app::Ticket;
use crate::tui::app::build::{BuildEnd, BuildPlan, BuildProgress, BuildRequest, StageEnd};
use crate::tui::effects::Job;
use crate::tui::effects::sweep::{Models, open};
use crate::tui::message::{BuildEvent, Message};
use crate::tui::{ModelSettings, Prices};

/// Shortest time between two reports of progress.
const BETWEEN: Duration = Duration::from_millis(100);

/// The build that runs.
#[derive(Default)]
pub(super) struct Builds {
    running: Option<(Ticket, CancellationToken)>,
}

impl Builds {
    /// Starts a build on a thread of its own. It ends with exactly one `Finished`.
    pub(super) fn start(
        &mut self,
        job: Job,
        models: Arc<Models>,
        runtime: Handle,
        ticket: Ticket,
        request: BuildRequest,
    ) {
        let cancel = CancellationToken::new();
        self.running = Some((ticket, cancel.clone()));
        let messages = job.messages.clone();
        let spawned = std::thread::Builder::new()
            .name("build".into())
            .spawn(move || {
                let task = Task {
                    job: &job,
                    ticket,
                    cancel: &cancel,
                    runtime: &runtime,
                };
                let work = || task.run(&models, &request);
                let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                    Err("the build failed unexpectedly; the log says more".into())
                });
                task.send(BuildEvent::Finished(result));
            });
        if let Err(error) = spawned {
            let why = format!("the system gives no thread: {error}");
            let event = BuildEvent::Finished(Err(why));
            let _ = messages.try_send(Message::Build { ticket, event });
        }
    }

    /// Stops it: no new calls, and those under way are let go.
    pub(super) fn stop(&self, ticket: Ticket) {
        if let Some((running, cancel)) = &self.running
            && *running == ticket
        {
            cancel.cancel();
        }
    }

    /// Stops whatever runs.
    pub(super) fn shut_down(&mut self) {
        if let Some((_, cancel)) = self.running.take() {
            cancel.cancel();
        }
    }
}

/// What the folder of a build holds.
pub(super) fn held(folder: &Path) -> Result<Held, String> {
    crate::engine::build::held(folder).map_err(|error| error.to_string())
}

/// What a build would ask.
pub(super) fn planned(
    job: &Job,
    models: &Models,
    request: &BuildRequest,
) -> Result<BuildPlan, String> {
    let (build, prices) = ready(job, models, request, true)?;
    let stages = plan(&build, &request.stages).map_err(|error| error.to_string())?;
    let identity = build.parts.model.as_ref().map(|model| model.identity());
    Ok(BuildPlan {
        model: identity.map(|identity| identity.name.clone()),
        caution: identity.and_then(|identity| identity.caution.clone()),
        questions: (build.work.len(), build.parts.questions.len()),
        changed: match &build.outdated {
            none if none.ids.is_empty() => String::new(),
            some => of_changed(some.ids.len(), &some.gone, ASIDE),
        },
        all: Predicted::of(&stages),
        stages,
        prices,
    })
}

/// Everything that a build needs; with `look` nothing is made or locked.
fn ready(
    job: &Job,
    models: &Models,
    request: &BuildRequest,
    look: bool,
) -> Result<(Build, Prices), String> {
    let failed = |error: BuildError| error.to_string();
    let folder = folder_of(&request.out, look).map_err(failed)?;
    let kept = folder.questions().map_err(|error| error.to_string())?;
    let given = request.given.clone().filter(|_| kept.is_none());
    let questions = kept.or_else(|| given.as_ref().map(|given| given.questions.clone()));
    let questions = questions.ok_or("there are no questions in this folder yet")?;
    let searches = request.stages.contains(&Stage::Retrieve);
    let web = match searches && !request.web.is_empty() {
        true => Some(Arc::new(web(request, folder.path())?)),
        false => None,
    };
    let index = match searches && !request.indexes.is_empty() {
        true => {
            let (search, method) = (job.setup.indexes)(&request.indexes)?;
            Some(IndexSource {
                search,
                method,
                names: request.indexes.clone(),
            })
        }
        false => None,
    };
    let ModelSettings {
        sampling, prices, ..
    } = (job.setup.shelf.settings)(&request.model);
    let model = match asks_model(&request.stages, web.is_some()) {
        true => open(job, models, std::slice::from_ref(&request.model))?.pop(),
        false => None,
    };
    let parts = Parts {
        folder,
        questions,
        given,
        templates: job.setup.templates.clone(),
        settings: request.settings,
        sampling,
        model,
        index,
        web,
    };
    let build = prepare(parts, &request.stages, &request.scope, look);
    Ok((build.map_err(failed)?, prices))
}

/// The web search that is asked for: Google's, or a SearXNG instance at an address.
fn web(request: &BuildRequest, folder: &Path) -> Result<Web, String> {
    let name = &request.web;
    let engine = match name.eq_ignore_ascii_case("google") {
        true => Engine::google(|name| std::env::var(name).ok())?,
        false => Engine::searxng(name).map_err(|why| format!("web {why}"))?,
    };
    let settings = WebSettings {
        private: request.private.clone(),
        ..WebSettings::of(engine)
    };
    Web::new(settings, &folder.join(PAGES))
}

/// A build while it runs.
struct Task<'a> {
    job: &'a Job,
    ticket: Ticket,
    cancel: &'a CancellationToken,
    runtime: &'a Handle,
}

impl Task<'_> {
    fn send(&self, event: BuildEvent) {
        let ticket = self.ticket;
        self.job.send(Message::Build { ticket, event });
    }

    fn run(&self, models: &Models, request: &BuildRequest) -> Result<BuildEnd, String> {
        let (build, _) = ready(self.job, models, request, false)?;
        let mut trouble = None;
        for (at, &stage) in request.stages.iter().enumerate() {
            if self.cancel.is_cancelled() {
                return Ok(stopped());
            }
            match self.stage(&build, stage) {
                Ok(end) => {
                    if end.report.fresh() == 0 {
                        let rest = request.stages.get(at + 1..).unwrap_or(&[]);
                        trouble = Some(nothing_kept(stage, &end.report, rest));
                    }
                    self.send(BuildEvent::Stage(Box::new(end)));
                    if trouble.is_some() {
                        break;
                    }
                }
                Err(BuildError::Stopped) => return Ok(stopped()),
                Err(error) => {
                    trouble = Some(error.to_string());
                    break;
                }
            }
        }
        Ok(BuildEnd {
            by_user: false,
            trouble,
        })
    }

    fn stage(&self, build: &Build, stage: Stage) -> Result<StageEnd, BuildError> {
        let began = Instant::now();
        let mut last: Option<Instant> = None;
        let mut tell = |at: Progress| {
            let now = Instant::now();
            let due = last.is_none_or(|last| now.duration_since(last) >= BETWEEN);
            if !due && at.done < at.total {
                return;
            }
            last = Some(now);
            let event = BuildEvent::Progress(BuildProgress {
                stage,
                done: at.done,
                total: at.total,
                tally: at.tally,
                elapsed: began.elapsed(),
            });
            let ticket = self.ticket;
            // What gets lost is followed by a newer one.
            let _ = self.job.messages.try_send(Message::Build { ticket, event });
        };
        let done = self
            .runtime
            .block_on(run(build, stage, self.cancel, &mut tell))?;
        Ok(StageEnd {
            stage,
            report: done.report,
            tally: done.tally,
        })
    }
}

fn stopped() -> BuildEnd {
    BuildEnd {
        by_user: true,
        trouble: None,
    }
}
