//! Which commands can do something now: the footer names no others.

use crate::domain::context::Scenario;
use crate::domain::passage::Role;
use crate::tui::app::instance::Panel;
use crate::tui::app::retrieval::IndexState;
use crate::tui::app::sweep::Phase;
use crate::tui::app::{App, Screen, build, compare, sweep};
use crate::tui::command::Command;
use crate::tui::view::annotate;
use crate::tui::view::instance::DOCUMENT_PANELS;

/// Whether a command can do something in this state.
pub(super) fn matters(app: &App, command: Command) -> bool {
    let running = app.replies.running.is_some();
    let building = matches!(app.retrieval.index, IndexState::Building { .. });
    let context = app.instance.as_ref().and_then(|state| state.context());
    let replied = context.is_some_and(|context| app.replies.shown(context).is_some());
    let special = matters_in_making(app, command).or_else(|| matters_in_runs(app, command));
    if let Some(matters) = special {
        return matters;
    }
    match command {
        Command::Open if app.screen == Screen::Queue => app
            .annotate
            .queue
            .as_ref()
            .is_some_and(|queue| !queue.shown.is_empty()),
        Command::Open if app.screen == Screen::Find => !app.find.hits.is_empty(),
        Command::Open
        | Command::Filter
        | Command::Retrieval
        | Command::Facets
        | Command::ChooseRun
        | Command::FindText => app.data().is_some(),
        // Only what is stored can be labelled.
        Command::Annotate if app.screen == Screen::Instance => context
            .and_then(|context| app.replies.shown(context))
            .is_some_and(|reply| !reply.running() && reply.origin.is_some()),
        Command::ShowInstance if app.screen == Screen::Annotate => !app.annotate.hidden(),
        Command::Annotate => app.data().is_some(),
        Command::Undo => app
            .annotate
            .queue
            .as_ref()
            .is_some_and(|queue| queue.book.can_undo()),
        Command::Redo => app
            .annotate
            .queue
            .as_ref()
            .is_some_and(|queue| queue.book.can_redo()),
        Command::Adjudicate => app
            .annotate
            .queue
            .as_ref()
            .is_some_and(|queue| queue.others.len() > 1),
        Command::ToggleRaw if app.screen == Screen::Annotate => true,
        Command::FocusNext if app.screen == Screen::Annotate => annotate::has_two_panels(app),
        Command::Ask => !running && context.is_some(),
        Command::Stop => running,
        Command::ToggleRaw => replied,
        Command::NextDiffView => {
            context.is_some_and(|context| context.scenario == Scenario::Robustness)
        }
        Command::NextChange => app
            .instance
            .as_ref()
            .is_some_and(|state| state.count(Role::Adversarial) > 0),
        Command::SearchDocuments => context.is_some_and(|context| !context.documents.is_empty()),
        Command::NextMatch | Command::PreviousMatch => app
            .instance
            .as_ref()
            .is_some_and(|state| state.seek.is_some()),
        Command::NextCited => context
            .and_then(|context| app.replies.shown(context))
            .is_some_and(|reply| reply.cited.iter().any(|times| *times > 0)),
        Command::LockColumns => app.instance.as_ref().is_some_and(|state| {
            let columns = DOCUMENT_PANELS.into_iter().filter_map(Panel::role);
            columns.filter(|role| state.count(*role) > 0).count() > 1
        }),
        Command::TalkFaster | Command::TalkSlower if app.screen == Screen::Instance => {
            app.replays() && running
        }
        Command::Problems => {
            let missing = app.data().is_some_and(|data| !data.problems.is_empty());
            missing || !app.faults.is_empty()
        }
        Command::CancelBuild => building,
        Command::Rebuild => !building && !matches!(app.retrieval.index, IndexState::Ready(_)),
        _ => true,
    }
}

/// As [`matters`], for making and reviewing a benchmark; `None` for other commands and screens.
fn matters_in_making(app: &App, command: Command) -> Option<bool> {
    let reviewing = matches!(app.screen, Screen::Review | Screen::ReviewItem);
    let queue = app.review.queue.as_ref();
    let page = app.build.page;
    Some(match command {
        Command::Open if app.screen == Screen::Review => {
            queue.is_some_and(|queue| !queue.shown.is_empty())
        }
        Command::Facets if reviewing => queue.is_some(),
        Command::Undo if reviewing => queue.is_some_and(|queue| queue.book.can_undo()),
        Command::Redo if reviewing => queue.is_some_and(|queue| queue.book.can_redo()),
        Command::Adjudicate if reviewing => queue.is_some_and(|queue| queue.others.len() > 1),
        Command::FocusNext if app.screen == Screen::ReviewItem => true,
        Command::NextDiffView if app.screen == Screen::ReviewItem => {
            let open = queue.and_then(|queue| queue.open.as_ref());
            open.is_some_and(|open| open.size.is_some())
        }
        // They lead to where one is, or are on every screen and would crowd out what matters there.
        Command::Review => app.data().is_some() && app.screen == Screen::Browse,
        Command::Build => app.screen == Screen::Browse,
        Command::Sweep | Command::Compare
            if reviewing
                || matches!(
                    app.screen,
                    Screen::Build | Screen::Queue | Screen::Annotate | Screen::Retrieval
                ) =>
        {
            false
        }
        Command::BuildChoose | Command::BuildValueBack | Command::BuildValueNext => {
            page == build::Page::Plan
        }
        Command::BuildStart => !app.build.is_active(),
        Command::BuildStop => app.build.is_active(),
        Command::BuildRetry => !app.build.is_active() && app.build.is_incomplete(),
        Command::BuildAgain => page == build::Page::Results && app.build.loss().is_some(),
        _ => return None,
    })
}

/// As [`matters`], for what belongs to one page of a screen; `None` for other commands.
fn matters_in_runs(app: &App, command: Command) -> Option<bool> {
    let sweep = &app.sweep;
    let page = sweep.page;
    let on_sweep = app.screen == Screen::Sweep;
    let phase = sweep.running.as_ref().map(|running| &running.phase);
    let at_rest = matches!(phase, Some(Phase::Paused | Phase::Ended(_)));
    let compare = app.compare.page;
    let curves = sweep.curves.as_ref();
    let drawn =
        page == sweep::Page::Curves && curves.is_some_and(|curves| curves.panel().is_some());
    let compared = app.compare.result.ready().is_some();
    let paired = compare == compare::Page::Pair && app.compare.pair.ready().is_some();
    Some(match command {
        Command::SweepChoose => page != sweep::Page::Curves,
        Command::SweepStart => match page {
            sweep::Page::Plan => !sweep.is_active(),
            sweep::Page::Progress => at_rest,
            _ => false,
        },
        Command::SweepPause => {
            let can = sweep.is_active() || phase == Some(&Phase::Paused);
            page == sweep::Page::Progress && can
        }
        Command::SweepStop => page == sweep::Page::Progress && sweep.is_active(),
        Command::ValueBack | Command::ValueNext => page == sweep::Page::Plan,
        Command::NextMeasure | Command::NextCurveDocs | Command::NextPaper => drawn,
        Command::NextScenario if on_sweep => drawn,
        // They lead to where one is.
        Command::Sweep => !on_sweep,
        Command::Compare => {
            app.screen != Screen::Compare && !(on_sweep && page == sweep::Page::Plan)
        }
        Command::CompareChoose => match compare {
            compare::Page::Choose => sweep.runs.ready().is_some_and(|runs| !runs.is_empty()),
            compare::Page::Result => app.compare.chosen().is_some(),
            compare::Page::Pair => false,
        },
        Command::NextList | Command::NextCondition => compare == compare::Page::Result && compared,
        Command::ToggleRaw if app.screen == Screen::Compare => paired,
        Command::FocusNext if app.screen == Screen::Compare => match compare {
            compare::Page::Choose => false,
            compare::Page::Result => compared,
            compare::Page::Pair => paired,
        },
        Command::ProbeRun => app.probe.asking.is_none(),
        Command::ProbeStop => app.probe.asking.is_some(),
        _ => return None,
    })
}
