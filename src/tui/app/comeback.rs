//! Where one is, in a form that can be stored, and the state of storing it.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::session::{OpenQuestion, PersonPlace, QueuePlace, ReviewPlace, Session, VERSION};
use crate::tui::app::annotate::Item;
use crate::tui::app::instance::{InstanceState, Panel};
use crate::tui::app::review::StandAt;
use crate::tui::app::sweep::Page;
use crate::tui::app::{App, Screen, compare};
use crate::tui::widgets::diff::DiffView;

/// What is remembered from one start of the program to the next.
#[derive(Debug, Default)]
pub struct Comeback {
    /// Whether it is: not in talks and demos, which belong to nobody.
    pub on: bool,
    /// Where one was the last time, until the dataset is there.
    pub before: Option<Session>,
    /// The annotator was named for this start, or in the settings: what is remembered does not count.
    pub annotator_named: bool,
    /// One has come back, so that where one is may be stored.
    pub settled: bool,
    /// What was stored last.
    pub stored: Option<Session>,
    /// Where others were, by their names.
    pub others: BTreeMap<String, PersonPlace>,
}

/// The most people whose places are kept.
const MOST_PEOPLE: usize = 100;

/// The places of all people but `who`, as the last session left them.
pub fn others(before: &Session, who: &str) -> BTreeMap<String, PersonPlace> {
    let mut all = before.others.clone();
    if let Some(last) = &before.annotator {
        let place = PersonPlace {
            queue: before.queue.clone(),
            review: before.review.clone(),
        };
        match place == PersonPlace::default() {
            true => all.remove(last),
            false => all.insert(last.clone(), place),
        };
    }
    all.remove(who);
    all.into_iter().take(MOST_PEOPLE).collect()
}

/// Where `who` was, whoever was here last.
pub fn own(before: &Session, who: &str) -> PersonPlace {
    match before.annotator.as_deref() == Some(who) {
        true => PersonPlace {
            queue: before.queue.clone(),
            review: before.review.clone(),
        },
        false => before.others.get(who).cloned().unwrap_or_default(),
    }
}

/// The names of panels in the file, in the order of [`Panel::ALL`].
const PANELS: [&str; 6] = [
    "question",
    "signal",
    "noise",
    "adversarial",
    "reply",
    "scores",
];

/// The names of the views of a difference in the file.
const DIFFS: [(&str, DiffView); 3] = [
    ("both", DiffView::Both),
    ("edited", DiffView::Inserted),
    ("original", DiffView::Deleted),
];

/// All screens that one can come back to.
const SCREENS: [Screen; 11] = [
    Screen::Browse,
    Screen::Instance,
    Screen::Retrieval,
    Screen::Sweep,
    Screen::Compare,
    Screen::Probe,
    Screen::Queue,
    Screen::Annotate,
    Screen::Review,
    Screen::ReviewItem,
    Screen::Find,
];

/// The screen with this name; the list of questions for any other.
pub fn screen_named(name: &str) -> Screen {
    let found = SCREENS.into_iter().find(|screen| screen.name() == name);
    found.unwrap_or(Screen::Browse)
}

/// The panel with this name.
pub fn panel_named(name: &str) -> Option<Panel> {
    let at = PANELS.iter().position(|panel| *panel == name)?;
    Panel::ALL.get(at).copied()
}

/// The view of a difference with this name; the usual one for any other.
pub fn diff_named(name: &str) -> DiffView {
    let found = DIFFS.into_iter().find(|(of, _)| *of == name);
    found.map_or_else(DiffView::default, |(_, view)| view)
}

/// Where one is.
pub fn place(app: &App) -> Session {
    let browse = &app.browse;
    let question = |at: usize| Some(app.data()?.questions.get(at)?.id.clone());
    let facets: BTreeMap<String, BTreeSet<String>> =
        serde_json::from_str(&browse.facets.to_json()).unwrap_or_default();
    let compared = match (app.compare.page, &app.compare.a, &app.compare.b) {
        (compare::Page::Choose, ..) => None,
        (_, Some(a), Some(b)) => Some([a, b].map(|side| (side.run.clone(), side.model.clone()))),
        _ => None,
    };
    let curves = app.sweep.curves.as_ref();
    Session {
        version: VERSION,
        screen: app.screen.name().to_owned(),
        chosen: browse.current().and_then(question),
        filter: browse.filter.text().to_owned(),
        facets,
        run: browse.run.clone(),
        open: app.instance.as_ref().map(open),
        queue: queue(app),
        review: review(app),
        blind: app.annotate.blind,
        annotator: Some(app.annotate.annotator.clone()),
        others: app.comeback.others.clone(),
        query: app.retrieval.query.text().to_owned(),
        words: app.find.input.text().to_owned(),
        curves: curves
            .filter(|_| app.sweep.page == Page::Curves)
            .map(|curves| curves.run.clone()),
        compared,
        drafts: app.annotate.unsaved(),
    }
}

/// The name of a view of a difference.
fn name_of(view: DiffView) -> String {
    let found = DIFFS.into_iter().find(|(_, one)| *one == view);
    found.map_or("", |(name, _)| name).to_owned()
}

fn open(state: &InstanceState) -> OpenQuestion {
    OpenQuestion {
        question: state.question.id.clone(),
        condition: state.condition,
        panel: PANELS[state.focus.index()].to_owned(),
        scroll: state.scroll.to_vec(),
        gold: Some(state.gold),
        raw: state.raw,
        zoom: state.zoom,
        diff: name_of(state.diff),
    }
}

/// The place in a queue, where one is in one.
fn queue(app: &App) -> Option<QueuePlace> {
    if !matches!(app.screen, Screen::Queue | Screen::Annotate) {
        return None;
    }
    let queue = app.annotate.queue.as_ref()?;
    let at = queue.item().map(Item::place).unwrap_or_default();
    Some(QueuePlace {
        run: queue.run.clone(),
        part: queue.part.name().to_owned(),
        reply: at.reply,
        row: at.row,
        question: at.question,
    })
}

/// The place in the review, where one is in it; while it is opened that where it shall stand.
fn review(app: &App) -> Option<ReviewPlace> {
    if !matches!(app.screen, Screen::Review | Screen::ReviewItem) {
        return None;
    }
    let state = &app.review;
    let queue = state.queue.as_ref();
    let (part, item) = match (&state.opening, queue) {
        (Some((_, part, StandAt::Item(id))), _) => (*part, Some(id.clone())),
        (Some((_, part, _)), _) => (*part, None),
        (None, Some(queue)) => {
            let item = queue.item().map(|item| item.found.item.id.clone());
            (queue.part, item)
        }
        (None, None) => return None,
    };
    Some(ReviewPlace {
        part: part.name().to_owned(),
        item,
        diff: name_of(state.diff),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_comes_back_to_a_place_of_their_own() {
        let at = |part: &str| {
            Some(ReviewPlace {
                part: part.to_owned(),
                ..ReviewPlace::default()
            })
        };
        let of = |who: &str, review: Option<ReviewPlace>| Session {
            annotator: Some(who.to_owned()),
            review,
            ..Session::default()
        };
        let ben = of("ben", at("adjudicator"));
        assert_eq!(own(&ben, "ida"), PersonPlace::default());
        assert_eq!(own(&ben, "ben").review, at("adjudicator"));
        let mut ida = of("ida", at("annotator"));
        ida.others = others(&ben, "ida");
        assert_eq!(own(&ida, "ben").review, at("adjudicator"));
        assert_eq!(others(&ida, "ben").len(), 1);
    }

    #[test]
    fn names_lead_back() {
        for screen in SCREENS {
            assert_eq!(screen_named(screen.name()), screen);
        }
        assert_eq!(screen_named("talk"), Screen::Browse);
        for panel in Panel::ALL {
            assert_eq!(panel_named(PANELS[panel.index()]), Some(panel));
        }
        for (name, view) in DIFFS {
            assert_eq!(diff_named(name), view);
        }
        assert_eq!((panel_named("?"), diff_named("?")), (None, DiffView::Both));
    }
}
