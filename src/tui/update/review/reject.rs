//! Rejecting an item: the question why.

use crossterm::event::{KeyCode, KeyEvent};

use super::item::{change, next_undecided};
use crate::domain::review::{Change, Reason, Verdict};
use crate::tui::app::input::Input;
use crate::tui::app::{App, Overlay};
use crate::tui::effects::Effect;

/// Asks why the item is rejected.
pub(super) fn reject(app: &mut App) {
    let Some(queue) = &app.review.queue else {
        return;
    };
    let Some(item) = queue.item() else { return };
    let reasons = Reason::of(item.found.item.kind());
    let now = queue.book.verdict(&item.found.item.id);
    let (reason, words) = match now {
        Some(Verdict::Rejected { reason, words }) => (Some(*reason), words.clone()),
        // What the checks find is the first guess.
        _ => {
            let found = item.found.issues.first();
            (found.map(|issue| Reason::Check(issue.kind)), String::new())
        }
    };
    let selected = reason
        .and_then(|reason| reasons.iter().position(|one| *one == reason))
        .unwrap_or(0);
    app.overlay = Some(Overlay::Reject {
        reasons,
        selected,
        words: Input::new(&words),
        typing: false,
    });
}

/// Keys while it is asked why an item is rejected.
pub(in crate::tui::update) fn on_reject_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Reject {
        reasons,
        selected,
        words,
        typing,
    }) = &mut app.overlay
    else {
        return Vec::new();
    };
    let last = reasons.len().saturating_sub(1);
    if *typing {
        match key.code {
            KeyCode::Esc => *typing = false,
            KeyCode::Enter => return rejected(app),
            _ => {
                words.key(key);
            }
        }
        return Vec::new();
    }
    match key.code {
        KeyCode::Esc | KeyCode::Char('q') => app.overlay = None,
        KeyCode::Up | KeyCode::Char('k') => *selected = selected.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => *selected = (*selected + 1).min(last),
        KeyCode::Home => *selected = 0,
        KeyCode::End => *selected = last,
        KeyCode::Char('n') => *typing = true,
        KeyCode::Enter => {
            let other = reasons.get(*selected) == Some(&Reason::Other);
            if other && words.text().trim().is_empty() {
                *typing = true;
                return Vec::new();
            }
            return rejected(app);
        }
        _ => {}
    }
    Vec::new()
}

/// Rejects the item for the chosen reason and goes on.
fn rejected(app: &mut App) -> Vec<Effect> {
    let Some(Overlay::Reject {
        reasons,
        selected,
        words,
        ..
    }) = &app.overlay
    else {
        return Vec::new();
    };
    let Some(reason) = reasons.get(*selected).copied() else {
        return Vec::new();
    };
    let words = words.text().trim().to_owned();
    if reason == Reason::Other && words.is_empty() {
        app.complain("Say the reason in your own words, or choose one of the list with esc");
        return Vec::new();
    }
    app.overlay = None;
    let effects = change(
        app,
        Change::Verdict(Some(Verdict::Rejected { reason, words })),
    );
    next_undecided(app);
    effects
}
