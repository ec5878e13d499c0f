//! Work of a library that may fail by a panic where its files are damaged: the panic becomes a value, and nothing
//! of it is printed.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread does such work now.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs `work` on this thread; `None` where it panicked. What panics on other threads is printed as ever.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                before(info);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    done.ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn a_panic_becomes_nothing_and_the_guard_ends_with_it() {
        assert_eq!(guarded(|| 3), Some(3));
        assert_eq!(guarded(|| -> u8 { panic!("damaged") }), None);
        assert!(!GUARDED.get());
        assert_eq!(
            guarded(|| guarded(|| 1).is_some() && GUARDED.get()),
            Some(true)
        );
    }
}
