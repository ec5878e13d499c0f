//! Groups of screens on which commands work.

use crate::tui::app::Screen;

pub(super) const BROWSE: &[Screen] = &[Screen::Browse];
pub(super) const INSTANCE: &[Screen] = &[Screen::Instance];
pub(super) const RETRIEVAL: &[Screen] = &[Screen::Retrieval];
pub(super) const SWEEP: &[Screen] = &[Screen::Sweep];
pub(super) const COMPARE: &[Screen] = &[Screen::Compare];
pub(super) const PROBE: &[Screen] = &[Screen::Probe];
pub(super) const ANNOTATE: &[Screen] = &[Screen::Annotate];
pub(super) const DECIDED: &[Screen] = &[
    Screen::Queue,
    Screen::Annotate,
    Screen::Review,
    Screen::ReviewItem,
];
pub(super) const LABELS: &[Screen] = &[Screen::Queue, Screen::Annotate];
pub(super) const LISTS: &[Screen] = &[Screen::Browse, Screen::Queue];
pub(super) const NARROWED: &[Screen] = &[Screen::Browse, Screen::Queue, Screen::Review];
pub(super) const NOTED: &[Screen] = &[Screen::Annotate, Screen::ReviewItem];
pub(super) const ITEM: &[Screen] = &[Screen::ReviewItem];
pub(super) const BUILD: &[Screen] = &[Screen::Build];
pub(super) const READING: &[Screen] = &[Screen::Instance, Screen::Annotate, Screen::Compare];
pub(super) const PANELS: &[Screen] = &[
    Screen::Instance,
    Screen::Retrieval,
    Screen::Annotate,
    Screen::Compare,
    Screen::Probe,
    Screen::ReviewItem,
];
pub(super) const ZOOMED: &[Screen] = &[Screen::Instance, Screen::Retrieval];
pub(super) const BELOW: &[Screen] = &[
    Screen::Instance,
    Screen::Retrieval,
    Screen::Queue,
    Screen::Annotate,
    Screen::Find,
    Screen::Sweep,
    Screen::Compare,
    Screen::Probe,
    Screen::Review,
    Screen::ReviewItem,
    Screen::Build,
    Screen::Talk,
];
pub(super) const ALL: &[Screen] = &[
    Screen::Browse,
    Screen::Instance,
    Screen::Retrieval,
    Screen::Sweep,
    Screen::Compare,
    Screen::Probe,
    Screen::Queue,
    Screen::Annotate,
    Screen::Find,
    Screen::Review,
    Screen::ReviewItem,
    Screen::Build,
];
pub(super) const TALK: &[Screen] = &[Screen::Talk];
/// Where recorded replies are played.
pub(super) const PLAYING: &[Screen] = &[Screen::Instance, Screen::Talk];
/// All screens, talks too, whose keys for paging go from step to step.
pub(super) const EVERYWHERE: &[Screen] = &[
    Screen::Browse,
    Screen::Instance,
    Screen::Retrieval,
    Screen::Sweep,
    Screen::Compare,
    Screen::Probe,
    Screen::Queue,
    Screen::Annotate,
    Screen::Find,
    Screen::Review,
    Screen::ReviewItem,
    Screen::Build,
    Screen::Talk,
];
