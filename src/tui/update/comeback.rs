//! Coming back to where one was the last time, and remembering where one is.

use crate::data::session::{OpenQuestion, QueuePlace, Session};
use crate::domain::annotation::Part;
use crate::domain::text::short;
use crate::tui::app::annotate::ReplyPlace;
use crate::tui::app::comeback::{diff_named, others, own, panel_named, place, screen_named};
use crate::tui::app::compare::Contender;
use crate::tui::app::facet::Facets;
use crate::tui::app::input::Input;
use crate::tui::app::instance::Panel;
use crate::tui::app::review::StandAt;
use crate::tui::app::{App, Screen, compare as compared};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{browse, compare, find, instance, probe, queue, retrieval, review, sweep};

/// What was remembered has been read.
pub(super) fn on_read(app: &mut App, result: Result<Option<Box<Session>>, String>) {
    match result {
        Ok(session) => app.comeback.before = session.map(|session| *session),
        Err(problem) => app.complain(problem),
    }
}

/// Goes where one was, now that the dataset is there.
pub(super) fn settle(app: &mut App) -> Vec<Effect> {
    app.comeback.settled = true;
    let Some(before) = app.comeback.before.take() else {
        return Vec::new();
    };
    app.annotate.drafts.clone_from(&before.drafts);
    let fresh = place(app);
    let complaint = app.notice.take();
    annotator(app, &before);
    app.comeback.others = others(&before, &app.annotate.annotator);
    let mut effects = list(app, &before);
    let lost = match &before.open {
        Some(open) => question(app, open, &mut effects),
        None => None,
    };
    effects.extend(screen(app, &before));
    app.comeback.stored = Some(before.clone());
    let moved = place(app) != fresh || before.queue.is_some();
    if let Some(lost) = lost {
        app.complain(lost);
    } else if complaint.is_some() {
        app.notice = complaint;
    } else if moved {
        let key = app.keymap.key(Command::Fresh);
        let text = format!("came back to {}; {key} starts afresh", words(app));
        app.say(text);
    }
    effects
}

/// Where one has come back to, in a few words.
fn words(app: &App) -> String {
    let of_question = || {
        let state = app.instance.as_ref()?;
        let id = short(&state.question.id);
        Some(format!("{id}, {}", compared::words(&state.condition)))
    };
    let instance = || of_question().unwrap_or_else(|| "the question".to_owned());
    let narrowed = !app.browse.filter.text().is_empty() || !app.browse.facets.is_empty();
    let annotator = || format!("labelling as {}", app.annotate.annotator);
    match app.screen {
        Screen::Browse if narrowed => format!(
            "the narrowed list, {} of {}",
            app.browse.shown.len(),
            app.browse.entries.len()
        ),
        Screen::Browse | Screen::Talk => "the list".to_owned(),
        Screen::Instance => instance(),
        Screen::Probe => format!("the probes of {}", instance()),
        Screen::Retrieval => "the search of documents".to_owned(),
        Screen::Sweep => "the runs".to_owned(),
        Screen::Compare => "the comparison".to_owned(),
        Screen::Find => "the search of texts".to_owned(),
        Screen::Queue | Screen::Annotate => annotator(),
        Screen::Review | Screen::ReviewItem => "the review".to_owned(),
        Screen::Build => "the build".to_owned(),
    }
}

fn annotator(app: &mut App, before: &Session) {
    let remembered = before.annotator.as_deref();
    let name = remembered.and_then(crate::domain::annotation::annotator_name);
    if let Some(name) = name.filter(|_| !app.comeback.annotator_named) {
        app.annotate.annotator = name;
    }
    app.annotate.blind = before.blind;
}

/// The list of questions as it was: filter, facets, run and choice.
fn list(app: &mut App, before: &Session) -> Vec<Effect> {
    app.browse.filter = Input::new(&before.filter);
    let facets = serde_json::to_string(&before.facets).unwrap_or_default();
    app.browse.facets = Facets::from_json(&facets);
    app.browse.refilter();
    let chosen = before.chosen.as_ref();
    let position = chosen.and_then(|id| app.data()?.position(id));
    // Facets of stored replies let nothing pass until these are read; then the choice is made again.
    app.browse.wanted = position;
    if let Some(index) = position {
        app.browse.choose(index);
    }
    browse::keep_visible(app);
    match (&before.run, app.browse.facets.is_empty()) {
        (Some(run), _) => browse::show_run(app, Some(run.clone())),
        (None, false) => browse::load_cases(app),
        (None, true) => Vec::new(),
    }
}

/// Opens the question that was open; a sentence where it is gone.
fn question(app: &mut App, open: &OpenQuestion, effects: &mut Vec<Effect>) -> Option<String> {
    let position = app
        .data()
        .and_then(|dataset| dataset.position(&open.question));
    let Some(index) = position else {
        return Some(format!(
            "You were at the question \"{}\", but this dataset no longer has it",
            short(&open.question)
        ));
    };
    let screen = app.screen;
    effects.extend(instance::open_under(app, index, open.condition));
    app.screen = screen;
    if let Some(state) = &mut app.instance {
        state.gold = open.gold.unwrap_or(true);
        state.raw = open.raw;
        state.zoom = open.zoom;
        state.diff = diff_named(&open.diff);
        if let Some(panel) = panel_named(&open.panel)
            && panel.role().is_none_or(|role| state.count(role) > 0)
        {
            state.focus = panel;
        }
        for (at, row) in state.scroll.iter_mut().zip(&open.scroll) {
            *at = *row;
        }
        state.moved = state.scroll[Panel::Adversarial.index()] > 0;
    }
    instance::clamp(app);
    None
}

/// Opens the screen that was shown, as far as what it needs is there.
fn screen(app: &mut App, before: &Session) -> Vec<Effect> {
    let below = match &app.instance {
        Some(_) => Screen::Instance,
        None => Screen::Browse,
    };
    let wanted = screen_named(&before.screen);
    match wanted {
        Screen::Browse | Screen::Talk => app.screen = Screen::Browse,
        _ => app.screen = below,
    }
    match (wanted, &before.queue) {
        (Screen::Retrieval, _) => searching(app, &before.query),
        (Screen::Probe, _) => probe::open(app),
        (Screen::Find, _) => finding(app, &before.words),
        (Screen::Sweep, _) => {
            app.screen = Screen::Browse;
            let mut effects = sweep::open(app);
            if let Some(run) = &before.curves {
                effects.extend(sweep::curves(app, run.clone()));
            }
            effects
        }
        (Screen::Compare, _) => {
            app.screen = Screen::Browse;
            let mut effects = compare::open(app);
            if let Some(sides) = before.compared.clone() {
                let [a, b] = sides.map(|(run, model)| Contender { run, model });
                effects.extend(compare::between(app, a, b));
            }
            effects
        }
        (Screen::Queue | Screen::Annotate, Some(place)) => labelling(app, wanted, place, before),
        (Screen::Queue | Screen::Annotate, None) => {
            app.screen = Screen::Browse;
            Vec::new()
        }
        (Screen::Review | Screen::ReviewItem, _) => reviewing(app, wanted, before),
        _ => Vec::new(),
    }
}

fn searching(app: &mut App, query: &str) -> Vec<Effect> {
    let effects = retrieval::open(app);
    if query.is_empty() || app.retrieval.query.text() == query {
        return effects;
    }
    app.retrieval.query = Input::new(query);
    let mut effects: Vec<Effect> = effects
        .into_iter()
        .filter(|effect| !matches!(effect, Effect::Search { .. }))
        .collect();
    effects.extend(retrieval::search(app));
    effects
}

fn finding(app: &mut App, words: &str) -> Vec<Effect> {
    let effects = find::open(app);
    app.find.input = Input::new(words);
    effects
}

/// Opens the queue where this annotator was; for somebody new at its beginning, and not in the decisions between others.
fn labelling(app: &mut App, wanted: Screen, last: &QueuePlace, before: &Session) -> Vec<Effect> {
    let place = own(before, &app.annotate.annotator).queue;
    let place = place.unwrap_or_else(|| QueuePlace {
        run: last.run.clone(),
        ..QueuePlace::default()
    });
    let part = Part::named(&place.part).unwrap_or_default();
    app.annotate.from = Screen::Queue;
    let at = ReplyPlace {
        reply: place.reply,
        row: place.row,
        question: place.question,
    };
    let at = (at != ReplyPlace::default()).then_some(at);
    app.screen = match &at {
        Some(_) => wanted,
        None => Screen::Queue,
    };
    queue::begin(app, place.run, part, at)
}

/// Opens the review where this reviewer was; for somebody new at its beginning, and not in the decisions between others.
fn reviewing(app: &mut App, wanted: Screen, before: &Session) -> Vec<Effect> {
    let place = own(before, &app.annotate.annotator).review;
    let place = place.unwrap_or_default();
    app.review.diff = diff_named(&place.diff);
    app.review.from = app.screen;
    app.screen = match &place.item {
        Some(_) => wanted,
        None => Screen::Review,
    };
    let part = Part::named(&place.part).unwrap_or_default();
    let at = place.item.map_or(StandAt::First, StandAt::Item);
    review::begin(app, part, at)
}

/// As if the program were started for the first time; what is stored of replies and labels stays.
pub(super) fn afresh(app: &mut App) -> Vec<Effect> {
    app.overlay = None;
    app.screen = Screen::Browse;
    app.instance = None;
    app.browse.filter = Input::default();
    app.browse.facets = Facets::default();
    app.browse.wanted = None;
    app.annotate.blind = false;
    app.annotate.from = Screen::Queue;
    let effects = match app.browse.run {
        Some(_) => browse::show_run(app, None),
        None => Vec::new(),
    };
    app.browse.refilter();
    app.browse.selected = 0;
    browse::keep_visible(app);
    app.say("started afresh: no filter, no open question");
    effects
}

/// Stores where one is, if that has changed.
pub(super) fn keep(app: &mut App) -> Vec<Effect> {
    let comeback = &app.comeback;
    // Before the dataset is there one is nowhere.
    if !comeback.on || !comeback.settled || app.talk.is_some() {
        return Vec::new();
    }
    let place = place(app);
    if app.comeback.stored.as_ref() == Some(&place) {
        return Vec::new();
    }
    app.comeback.stored = Some(place.clone());
    vec![Effect::KeepSession(Box::new(place))]
}
