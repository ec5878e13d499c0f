//! Keys of the facets, over the list of questions or the queue.

use std::slice::from_ref;

use crossterm::event::{KeyCode, KeyEvent};

use crate::domain::annotation::Hand;
use crate::tui::app::facet::{FacetValue, Facets};
use crate::tui::app::{App, Overlay, Screen};
use crate::tui::effects::Effect;
use crate::tui::update::{browse, queue, review};

/// Opens the facets of the screen's list.
pub(super) fn open(app: &mut App) -> Vec<Effect> {
    let effects = match app.screen {
        Screen::Browse => browse::load_cases(app),
        _ => Vec::new(),
    };
    let values = values(app);
    app.overlay = Some(Overlay::Facets {
        selected: 0,
        values,
    });
    effects
}

/// Counts anew after what they count has changed.
pub(super) fn recount(app: &mut App) {
    if !matches!(app.overlay, Some(Overlay::Facets { .. })) {
        return;
    }
    let fresh = values(app);
    if let Some(Overlay::Facets { selected, values }) = &mut app.overlay {
        // The chosen value stays under the cursor.
        let here = values
            .get(*selected)
            .map(|value| (value.kind, value.value.clone()));
        let found = here.and_then(|(kind, name)| {
            fresh
                .iter()
                .position(|value| value.kind == kind && value.value == name)
        });
        *selected = found.unwrap_or(0);
        *values = fresh;
    }
}

fn values(app: &App) -> Vec<FacetValue> {
    match (app.screen, &app.annotate.queue) {
        (Screen::Queue, Some(queue)) => {
            let kinds = queue.kinds();
            let rows = kinds.iter().map(|(case, rows)| (from_ref(case), *rows));
            let mut values = queue.narrowing().values(rows);
            values.retain(|one| !(queue.hides_outcomes() && one.kind.tells_outcomes()));
            values
        }
        (Screen::Queue, None) => Vec::new(),
        (Screen::Review, _) => app.review.queue.as_ref().map_or_else(Vec::new, |queue| {
            let rows = queue.items.iter().map(|item| (item.cases.as_slice(), 1));
            queue.facets.values(rows)
        }),
        _ => {
            let rows = app.browse.cases.iter().map(|cases| (cases.as_slice(), 1));
            app.browse.facets.values(rows)
        }
    }
}

fn facets(app: &mut App) -> Option<&mut Facets> {
    match app.screen {
        Screen::Queue => app.annotate.queue.as_mut().map(|queue| &mut queue.facets),
        Screen::Review => app.review.queue.as_mut().map(|queue| &mut queue.facets),
        _ => Some(&mut app.browse.facets),
    }
}

pub(super) fn on_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Facets { selected, values }) = &mut app.overlay else {
        return Vec::new();
    };
    let last = values.len().saturating_sub(1);
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => *selected = selected.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => *selected = (*selected + 1).min(last),
        KeyCode::Home => *selected = 0,
        KeyCode::End => *selected = last,
        KeyCode::Char(' ') | KeyCode::Enter => {
            let chosen = values
                .get(*selected)
                .map(|value| (value.kind, value.value.clone()));
            if let (Some((kind, value)), Some(facets)) = (chosen, facets(app)) {
                facets.toggle(kind, &value);
            }
            return changed(app);
        }
        KeyCode::Char('c') | KeyCode::Backspace => {
            if let Some(facets) = facets(app) {
                facets.clear();
            }
            return changed(app);
        }
        KeyCode::Esc | KeyCode::Char('q' | 'f') => app.overlay = None,
        _ => {}
    }
    Vec::new()
}

fn changed(app: &mut App) -> Vec<Effect> {
    let mut effects = Vec::new();
    match app.screen {
        Screen::Queue => {
            queue::settle(app);
            if let Some(queue) = &mut app.annotate.queue {
                if let Some(row) = queue.next_undone(0) {
                    queue.selected = row;
                }
                effects.push(Effect::KeepQueue {
                    run: queue.run.clone(),
                    hand: Hand {
                        annotator: app.annotate.annotator.clone(),
                        part: queue.part,
                    },
                    choice: queue.facets.to_json(),
                });
            }
            queue::settle(app);
        }
        Screen::Review => effects.extend(review::narrowed(app)),
        _ => {
            app.browse.refilter();
            browse::keep_visible(app);
        }
    }
    recount(app);
    effects
}
