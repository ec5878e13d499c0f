//! Panics and complaints of GPU libraries, kept off the terminal.

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

/// Like [`catch`], with standard error led into nothing as well: Vulkan drivers write complaints
/// there when they start. For short work only, since nobody else can write there meanwhile.
#[cfg(all(any(feature = "wgpu", feature = "cuda"), unix))]
pub(crate) fn silently<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    use std::os::fd::AsFd;

    // One at a time, else a second caller would save the first one's nothing as the real thing.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null");
    let saved = rustix::io::fcntl_dupfd_cloexec(std::io::stderr().as_fd(), 3);
    let (Ok(nothing), Ok(saved)) = (nothing, saved) else {
        return catch(f);
    };
    // If one fails, standard error is as it was, or lost: there is nothing left to tell it to.
    let _ = rustix::stdio::dup2_stderr(&nothing);
    let value = catch(f);
    let _ = rustix::stdio::dup2_stderr(&saved);
    value
}

/// Like [`catch`]: drivers of other systems write nothing.
#[cfg(all(any(feature = "wgpu", feature = "cuda"), not(unix)))]
pub(crate) fn silently<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch(f)
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
