//! Words that are looked for inside the shown documents.

use std::rc::Rc;

use crate::tui::app::input::Input;
use crate::tui::app::instance::{InstanceState, Panel};
use crate::tui::widgets::seek::{Needle, Sought};

/// What is looked for, and where one stands.
#[derive(Debug, Clone)]
pub struct Seek {
    /// The words.
    pub input: Input,
    /// Whether keys go to them.
    pub typing: bool,
    /// The place where one is: the column, and which of its places.
    pub at: Option<(Panel, usize)>,
    /// Where one was before.
    pub from: Place,
    /// As they are compared; `None` for no words.
    needle: Option<Rc<Needle>>,
}

/// What of the screen is in sight.
#[derive(Debug, Clone)]
pub struct Place {
    focus: Panel,
    scroll: [usize; 6],
    moved: bool,
}

impl Place {
    /// Where one is.
    pub fn of(state: &InstanceState) -> Place {
        Place {
            focus: state.focus,
            scroll: state.scroll,
            moved: state.moved,
        }
    }

    /// Goes back there.
    pub fn restore(&self, state: &mut InstanceState) {
        state.focus = self.focus;
        state.scroll = self.scroll;
        state.moved = self.moved;
    }
}

impl Seek {
    /// An empty line that is typed on.
    pub fn begin(state: &InstanceState) -> Seek {
        Seek {
            input: Input::default(),
            typing: true,
            at: None,
            from: Place::of(state),
            needle: None,
        }
    }

    /// The words have changed.
    pub fn renew(&mut self) {
        self.needle = Needle::new(self.input.text()).map(Rc::new);
        self.at = None;
    }

    /// What is to be marked in a column.
    pub fn sought(&self, panel: Panel) -> Option<Sought> {
        let needle = Rc::clone(self.needle.as_ref()?);
        let here = self.at.filter(|(column, _)| *column == panel);
        Some(Sought {
            needle,
            current: here.map(|(_, nth)| nth),
        })
    }

    /// Whether there are words.
    pub fn has_words(&self) -> bool {
        self.needle.is_some()
    }
}
