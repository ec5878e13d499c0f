//! Panics of GPU libraries, turned into errors without a word on the terminal.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many [`catch`] calls are under way.
static WATCHED: AtomicUsize = AtomicUsize::new(0);
static HOOK: Once = Once::new();

/// Runs `f`; a panic becomes its message.
///
/// Drivers are started on threads of their own, whose panics would be printed into the user's
/// screen: while `f` runs no panic of any thread is printed. The hook that was there before stays in
/// force at all other times.
pub(crate) fn catch<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if WATCHED.load(Ordering::SeqCst) == 0 {
                previous(info);
            }
        }));
    });
    WATCHED.fetch_add(1, Ordering::SeqCst);
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    WATCHED.fetch_sub(1, Ordering::SeqCst);
    result.map_err(|payload| message(payload.as_ref()))
}

/// The first line of a panic's message.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("it stopped without saying why");
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::catch;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(catch(|| 3), Ok(3));
        let failed: Result<(), _> =
            catch(|| std::panic::panic_any("no such device\nmore".to_owned()));
        assert_eq!(failed, Err("no such device".to_owned()));
    }
}
