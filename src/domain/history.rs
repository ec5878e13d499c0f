//! States by key, changed one at a time; changes can be taken back and made again. What people say is kept as a list
//! of acts that is only added to, and undo and redo are acts too, so that they work across restarts.

use std::collections::BTreeMap;

/// A change: what it was about, and the state before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step<S> {
    key: String,
    before: Option<S>,
    after: S,
}

/// The states that changes have come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History<S> {
    states: BTreeMap<String, S>,
    done: Vec<Step<S>>,
    undone: Vec<Step<S>>,
}

impl<S> Default for History<S> {
    fn default() -> Self {
        History {
            states: BTreeMap::new(),
            done: Vec::new(),
            undone: Vec::new(),
        }
    }
}

impl<S: Clone> History<S> {
    /// Gives a key a state; what was taken back before can no longer be made again.
    pub fn set(&mut self, key: &str, after: S) {
        let before = self.states.insert(key.to_owned(), after.clone());
        self.done.push(Step {
            key: key.to_owned(),
            before,
            after,
        });
        self.undone.clear();
    }

    /// Takes back the last change that was not taken back; `touch` marks the state that is there then. Gives the key
    /// and the state that was taken back; `None` where there is nothing to take back.
    pub fn undo(&mut self, touch: impl FnOnce(&mut S)) -> Option<(String, S)> {
        let step = self.done.pop()?;
        match step.before.clone() {
            Some(mut before) => {
                touch(&mut before);
                self.states.insert(step.key.clone(), before);
            }
            None => {
                self.states.remove(&step.key);
            }
        }
        let told = (step.key.clone(), step.after.clone());
        self.undone.push(step);
        Some(told)
    }

    /// Makes the last change again that was taken back; otherwise as [`History::undo`].
    pub fn redo(&mut self, touch: impl FnOnce(&mut S)) -> Option<(String, S)> {
        let step = self.undone.pop()?;
        let mut after = step.after.clone();
        touch(&mut after);
        self.states.insert(step.key.clone(), after);
        let told = (step.key.clone(), step.after.clone());
        self.done.push(step);
        Some(told)
    }
}

impl<S> History<S> {
    /// The state of a key.
    pub fn get(&self, key: &str) -> Option<&S> {
        self.states.get(key)
    }

    /// All states by key.
    pub fn states(&self) -> impl Iterator<Item = (&str, &S)> {
        self.states.iter().map(|(key, state)| (key.as_str(), state))
    }

    /// Whether there is a change to take back.
    pub fn can_undo(&self) -> bool {
        !self.done.is_empty()
    }

    /// Whether there is a change to make again.
    pub fn can_redo(&self) -> bool {
        !self.undone.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_taken_back_and_made_again_in_order() {
        let mut history: History<u32> = History::default();
        assert_eq!(history.undo(|_| ()), None);
        history.set("a", 1);
        history.set("b", 2);
        history.set("a", 3);
        assert_eq!(history.undo(|state| *state += 100), Some(("a".into(), 3)));
        assert_eq!(history.get("a"), Some(&101), "touched");
        assert_eq!(history.undo(|_| ()), Some(("b".into(), 2)));
        assert_eq!(history.get("b"), None);
        assert_eq!(history.redo(|_| ()), Some(("b".into(), 2)));
        history.set("c", 4);
        assert!(
            !history.can_redo(),
            "a new change ends what could be redone"
        );
        let states: Vec<(&str, u32)> = history.states().map(|(k, s)| (k, *s)).collect();
        assert_eq!(states, [("a", 101), ("b", 2), ("c", 4)]);
    }
}
