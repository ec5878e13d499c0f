//! Keys and jobs of making a benchmark.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent};

use crate::domain::build::{Held, Stage};
use crate::domain::pace::Rate;
use crate::domain::text::{count, short};
use crate::tui::app::build::{
    ALL, BuildEnd, BuildPlan, BuildRequest, Field, Page, Phase, Running, folder_beside,
};
use crate::tui::app::loaded::Loaded;
use crate::tui::app::{App, DatasetState, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::message::BuildEvent;
use crate::tui::update::{choose, distance, scrolled};
use crate::tui::view;

/// Opens the screen: on the build that runs, else on the plan.
pub(super) fn open(app: &mut App) -> Vec<Effect> {
    if app.screen == Screen::Build {
        return Vec::new();
    }
    app.build.from = Some(app.screen);
    app.screen = Screen::Build;
    app.build.page = match app.build.is_active() {
        true => Page::Results,
        false => Page::Plan,
    };
    if !app.build.filled {
        fill(app);
    }
    look(app)
}

/// Fills the form from what is open.
fn fill(app: &mut App) {
    let model = app.settings.model.clone();
    app.build.form.put(Field::Model, &model);
    let out = match &app.dataset {
        DatasetState::Loading => return,
        // A folder that holds no documents yet can't be opened as a dataset, but a build may have begun there.
        DatasetState::Failed(_) => app.settings.dataset.clone(),
        DatasetState::Ready(dataset) => match dataset.path.as_os_str().is_empty() {
            true => folder_beside(dataset),
            false => dataset.path.display().to_string(),
        },
    };
    app.build.form.put(Field::Out, &out);
    app.build.filled = true;
}

/// Looks at the folder of the form.
fn look(app: &mut App) -> Vec<Effect> {
    let folder = PathBuf::from(app.build.form.text(Field::Out).text().trim());
    if folder.as_os_str().is_empty() {
        return Vec::new();
    }
    let ticket = app.ticket();
    app.build.held = Loaded::asked(ticket, app.now);
    app.build.looked_at = Some(folder.clone());
    vec![Effect::LookAtBuild { ticket, folder }]
}

pub(super) fn on_looked(
    app: &mut App,
    ticket: Ticket,
    result: Result<Box<Held>, String>,
) -> Vec<Effect> {
    let foreign = result.is_err();
    if !app.build.held.take(ticket, result.map(|held| *held)) {
        return Vec::new();
    }
    // The open dataset is no build's folder: a build of it goes beside it.
    let own = app
        .data()
        .filter(|dataset| app.build.looked_at.as_ref() == Some(&dataset.path));
    if let (true, Some(dataset)) = (foreign, own.cloned()) {
        app.build.form.put(Field::Out, &folder_beside(&dataset));
        return look(app);
    }
    if let Some(held) = app.build.held.ready().cloned() {
        remember(app, &held);
    }
    app.build.list();
    keep_visible(app);
    match app.build.is_active() {
        true => Vec::new(),
        false => plan(app),
    }
}

/// A build that goes on does so with what it was begun with: otherwise everything would be asked anew.
fn remember(app: &mut App, held: &Held) {
    let is_open = app.data().is_some();
    let form = &mut app.build.form;
    for (field, value) in [
        (Field::Topics, held.topics),
        (Field::PerTopic, held.per_topic),
        (Field::Pages, held.pages),
        (Field::Repairs, held.repairs.map(|number| number as usize)),
    ] {
        if let Some(value) = value {
            form.put(field, &value.to_string());
        }
    }
    if let Some(checks) = held.model_checks {
        form.checks = checks;
    }
    if !held.indexes.is_empty() && form.text(Field::Index).text().is_empty() {
        form.put(Field::Index, &held.indexes.join(", "));
    }
    // What is through and complete need not be looked at again; documents that came with the questions need no search.
    let wanted = |at: usize| match &held.stages[at] {
        Some(report) => report.failed() + report.due() > 0,
        None if held.begun => at > 1 || !held.documents,
        None => at > 1 || !is_open,
    };
    let stages = std::array::from_fn(wanted);
    form.stages = match stages {
        [false, false, false, false] => [false, false, true, true],
        some => some,
    };
}

/// Has the plan made anew.
fn plan(app: &mut App) -> Vec<Effect> {
    app.build.scroll = 0;
    match request(app) {
        Ok(request) => {
            let ticket = app.ticket();
            app.build.plan = Loaded::asked(ticket, app.now);
            let request = Box::new(request);
            vec![Effect::PlanBuild { ticket, request }]
        }
        Err(why) => {
            app.build.plan = Loaded::Failed(why);
            Vec::new()
        }
    }
}

/// What the form asks for.
fn request(app: &App) -> Result<BuildRequest, String> {
    let held = match &app.build.held {
        Loaded::Ready(held) => held,
        Loaded::Failed(why) => return Err(why.clone()),
        _ => return Err("the folder is being looked at".to_owned()),
    };
    if !held.begun && app.data().is_none() {
        return Err(
            "there are no questions: open a dataset folder with questions and documents, or begin with `medrgb build topics --questions FILE --out DIR`"
                .to_owned(),
        );
    }
    app.build.form.request(app.data(), held.begun)
}

pub(super) fn on_planned(app: &mut App, ticket: Ticket, result: Result<Box<BuildPlan>, String>) {
    app.build.plan.take(ticket, result.map(|plan| *plan));
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    match command {
        Command::BuildChoose if app.build.page == Page::Plan => return chosen(app),
        Command::BuildStart => return start(app),
        Command::BuildStop => return stop(app),
        Command::BuildRetry => return retry(app),
        Command::BuildAgain => return again(app),
        Command::BuildPage => {
            app.build.page = match app.build.page {
                Page::Plan => Page::Results,
                Page::Results => Page::Plan,
            };
            keep_visible(app);
            return Vec::new();
        }
        Command::BuildValueNext | Command::BuildValueBack if app.build.page == Page::Plan => {
            return step(app, command == Command::BuildValueNext);
        }
        Command::Back => {
            app.screen = match app.build.from {
                Some(Screen::Build) | None => Screen::Browse,
                Some(from) => from,
            };
            return Vec::new();
        }
        _ => {}
    }
    match app.build.page {
        Page::Plan => move_in_form(app, command),
        Page::Results => {
            let visible = view::build::visible_rows(app);
            if let Some(by) = distance(command, visible) {
                let build = &mut app.build;
                let length = build.rows.len();
                choose(&mut build.selected, &mut build.top, by, length, visible);
            }
        }
    }
    Vec::new()
}

fn move_in_form(app: &mut App, command: Command) {
    match command {
        Command::PageUp | Command::PageDown => {
            let (rows, height) = view::build::plan_extent(app);
            let by = distance(command, height).unwrap_or(0);
            app.build.scroll = scrolled(app.build.scroll, by, rows, height);
        }
        _ => {
            if let Some(by) = distance(command, Field::ALL.len()) {
                let last = Field::ALL.len() - 1;
                let form = &mut app.build.form;
                form.selected = form.selected.saturating_add_signed(by).min(last);
            }
        }
    }
}

/// Enter: turns the chosen field on or off, or edits it.
fn chosen(app: &mut App) -> Vec<Effect> {
    let form = &mut app.build.form;
    let field = form.field();
    if form.toggle(field) {
        return plan(app);
    }
    form.typing = true;
    Vec::new()
}

fn step(app: &mut App, forward: bool) -> Vec<Effect> {
    let models = app.sweep.models.clone();
    if !app.build.form.step(forward, &models) {
        let key = app.keymap.key(Command::BuildChoose);
        app.say(format!("this field has no usual values; {key} edits it"));
        return Vec::new();
    }
    plan(app)
}

/// Keys while a field is edited.
pub(super) fn on_typing(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let form = &mut app.build.form;
    match key.code {
        KeyCode::Enter | KeyCode::Esc => {
            form.typing = false;
            match form.field() {
                Field::Out => look(app),
                _ => plan(app),
            }
        }
        _ => {
            if let Some(input) = form.chosen_text() {
                input.key(key);
            }
            Vec::new()
        }
    }
}

pub(super) fn paste(app: &mut App, text: &str) {
    if let Some(input) = app.build.form.chosen_text() {
        input.paste(text);
    }
}

/// Starts the planned stages, or goes on with the build that has ended.
fn start(app: &mut App) -> Vec<Effect> {
    if app.build.is_active() {
        app.say("a build is running; it must end or be stopped before another starts");
        return Vec::new();
    }
    let request = match resumed(app) {
        Some(request) => Ok(request),
        None => request(app),
    };
    match request {
        Ok(request) => begin(app, request),
        Err(why) => {
            app.complain(why);
            Vec::new()
        }
    }
}

/// What goes on where the build on screen was stopped or failed. What was to be made anew has been begun anew by then,
/// unless it never got so far.
fn resumed(app: &App) -> Option<BuildRequest> {
    let running = app.build.running.as_ref()?;
    let unfinished = match &running.phase {
        Phase::Ended(Ok(end)) => end.by_user || end.trouble.is_some(),
        Phase::Ended(Err(_)) => true,
        _ => false,
    };
    let mut request = running.request.clone();
    request.scope.again &= matches!(running.phase, Phase::Ended(Err(_)));
    (unfinished && app.build.page == Page::Results).then_some(request)
}

fn begin(app: &mut App, request: BuildRequest) -> Vec<Effect> {
    let ticket = app.ticket();
    app.build.running = Some(Running::new(ticket, request.clone()));
    app.build.page = Page::Results;
    // What the plan says is done would be out of date soon.
    app.build.plan = Loaded::Nothing;
    keep_visible(app);
    vec![Effect::StartBuild {
        ticket,
        request: Box::new(request),
    }]
}

fn stop(app: &mut App) -> Vec<Effect> {
    let Some(running) = app
        .build
        .running
        .as_mut()
        .filter(|running| running.is_active())
    else {
        app.say("no build is running");
        return Vec::new();
    };
    running.phase = Phase::Stopping;
    vec![Effect::Cancel(running.ticket)]
}

/// Asks again for all that got no reply and makes what is to be made, in the stages where that is so.
fn retry(app: &mut App) -> Vec<Effect> {
    let (stages, questions) = app.build.failures();
    if stages.is_empty() {
        app.say("there is nothing to ask again: everything got a reply, and nothing is to be made");
        return Vec::new();
    }
    let asked = count(questions.len(), "question");
    special(
        app,
        stages,
        questions,
        false,
        &format!("asking again for {asked}"),
    )
}

/// Makes the chosen question of the stage anew.
fn again(app: &mut App) -> Vec<Effect> {
    if app.build.page != Page::Results {
        return Vec::new();
    }
    let Some((stage, question)) = app.build.loss() else {
        app.say("choose an item of the list: its question is made anew in that stage");
        return Vec::new();
    };
    let question = question.to_owned();
    let said = format!("making {} of {} anew", stage.words(), short(&question));
    special(app, vec![stage], vec![question], true, &said)
}

/// Runs some stages for some questions.
fn special(
    app: &mut App,
    stages: Vec<Stage>,
    only: Vec<String>,
    again: bool,
    said: &str,
) -> Vec<Effect> {
    if app.build.is_active() {
        app.say("a build is running; it must end or be stopped before another starts");
        return Vec::new();
    }
    let mut form = app.build.form.clone();
    form.stages = Stage::ALL.map(|stage| stages.contains(&stage));
    // The ids may hold commas: they do not go through the field.
    form.put(Field::Only, ALL);
    form.put(Field::Limit, ALL);
    form.again = false;
    let request = form.request(app.data(), true);
    match request {
        Ok(mut request) => {
            request.scope.only = only;
            request.scope.again = again;
            let effects = begin(app, request);
            app.say(said);
            effects
        }
        Err(why) => {
            app.complain(why);
            Vec::new()
        }
    }
}

pub(super) fn on_event(app: &mut App, ticket: Ticket, event: BuildEvent) -> Vec<Effect> {
    let running = app.build.running.as_mut();
    let Some(running) = running.filter(|running| running.ticket == ticket) else {
        return Vec::new();
    };
    match event {
        BuildEvent::Progress(at) => {
            if running.phase == Phase::Opening {
                running.phase = Phase::Running;
            }
            if running
                .progress
                .is_none_or(|before| before.stage != at.stage)
            {
                running.rate = Rate::default();
            }
            running.rate.note(at.elapsed, at.done);
            running.progress = Some(at);
            Vec::new()
        }
        BuildEvent::Stage(end) => {
            running.progress = None;
            running.ended.push((*end).clone());
            app.build.take_in(&end);
            keep_visible(app);
            Vec::new()
        }
        BuildEvent::Finished(result) => finished(app, result),
    }
}

fn finished(app: &mut App, result: Result<BuildEnd, String>) -> Vec<Effect> {
    let Some(running) = &mut app.build.running else {
        return Vec::new();
    };
    running.phase = Phase::Ended(result);
    running.progress = None;
    let out = running.request.out.clone();
    let wrote = !running.ended.is_empty();
    let brief = running.brief();
    if app.screen != Screen::Build {
        let key = app.keymap.key(Command::Build);
        app.say(format!("{brief}; {key} shows it"));
    }
    let mut effects = look(app);
    let own = match &app.dataset {
        DatasetState::Ready(dataset) => dataset.path == out,
        DatasetState::Failed(_) => app.settings.dataset == out.display().to_string(),
        DatasetState::Loading => false,
    };
    // What is open has other documents now.
    if wrote && own {
        effects.push(Effect::ReloadDataset);
    }
    effects
}

pub(super) fn keep_visible(app: &mut App) {
    let visible = view::build::visible_rows(app);
    let build = &mut app.build;
    let length = build.rows.len();
    choose(&mut build.selected, &mut build.top, 0, length, visible);
    let (rows, height) = view::build::plan_extent(app);
    app.build.scroll = app.build.scroll.min(rows.saturating_sub(height));
}
