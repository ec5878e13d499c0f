//! Being asked to end: by Ctrl-C, and on Unix by SIGTERM and a terminal that hangs up.
//!
//! Times of asking are counted where the signals arrive. A stream of signals, as tokio has it, holds at most one: the
//! second of two that come before the first is looked at would be lost, and with it that somebody wants to leave at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;

/// The exit status of a program that Ctrl-C ended, as shells give it.
const ENDED_BY_SIGNAL: i32 = 130;

/// How often the program was asked to end.
static HEARD: AtomicUsize = AtomicUsize::new(0);

/// The time of asking at which the program ends, whatever it does. Where nothing heeds the signals it is the first.
static LAST: AtomicUsize = AtomicUsize::new(1);

/// What is done at each time of asking but the last, counted from 1.
type React = Box<dyn FnMut(usize) + Send>;

struct Listener {
    number: usize,
    last: usize,
    react: React,
}

/// Who is told, and of how many times of asking they were told.
#[derive(Default)]
struct Listeners {
    told: usize,
    next: usize,
    all: Vec<Listener>,
}

impl Listeners {
    /// Tells what was heard and not told yet.
    fn tell(&mut self) {
        while self.told < HEARD.load(Ordering::SeqCst) {
            self.told += 1;
            for listener in &mut self.all {
                (listener.react)(self.told);
            }
        }
    }

    /// Who needs the most times decides when the program ends.
    fn set_last(&self) {
        let last = self.all.iter().map(|one| one.last).max();
        LAST.store(last.unwrap_or(1), Ordering::SeqCst);
    }
}

fn listeners() -> MutexGuard<'static, Listeners> {
    static LISTENERS: OnceLock<Mutex<Listeners>> = OnceLock::new();
    let all = LISTENERS.get_or_init(Mutex::default);
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that heeds the signals until it is dropped; then they end the program again, as they always do.
#[must_use]
pub(super) struct Heeding {
    number: usize,
}

impl Drop for Heeding {
    fn drop(&mut self) {
        let mut listeners = listeners();
        listeners.all.retain(|one| one.number != self.number);
        listeners.set_last();
    }
}

/// Calls `react` each time the program is asked to end, on a thread of its own; the `last` time ends the program where
/// the signal arrives: files appear whole or not at all, and every reply that was counted is on disk. What was asked
/// before it listened is told at once.
pub(super) fn heed(last: usize, mut react: impl FnMut(usize) + Send + 'static) -> Heeding {
    let mut all = listeners();
    for time in 1..=all.told {
        react(time);
    }
    let number = all.next;
    all.next += 1;
    all.all.push(Listener {
        number,
        last,
        react: Box::new(react),
    });
    all.set_last();
    drop(all);
    static LISTENING: OnceLock<()> = OnceLock::new();
    // Where the system refuses, signals end the program as they always do.
    LISTENING.get_or_init(|| drop(system::listen()));
    Heeding { number }
}

/// Cancels when the program is asked to end; the second time ends it at once.
pub(super) fn cancel_on_signal(cancel: CancellationToken) -> Heeding {
    heed(2, move |_| cancel.cancel())
}

/// A flag that is set when the program is asked to end, so that long work can stop cleanly. The second time ends
/// the program at once: what it waits for may never come. There is one flag for all that asks.
pub(super) fn stop_on_signal() -> Arc<AtomicBool> {
    static FLAG: OnceLock<(Arc<AtomicBool>, Heeding)> = OnceLock::new();
    let (flag, _) = FLAG.get_or_init(|| {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        (stop, heed(2, move |_| flag.store(true, Ordering::Relaxed)))
    });
    Arc::clone(flag)
}

/// Ends the program without waiting for anything.
pub(super) fn end_now() -> ! {
    system::end()
}

/// Whether a terminal that hangs up should end the program; not under `nohup`, which has the signal ignored.
/// Only Linux tells; elsewhere a hang-up ends the program as it always does.
#[cfg(unix)]
fn heeds_hang_up() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is signal 1: the lowest bit.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 0)
}

#[cfg(unix)]
#[allow(unsafe_code)]
mod system {
    use std::io::Read;
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::{ENDED_BY_SIGNAL, HEARD, LAST};

    /// Where a byte wakes the thread that tells.
    static WAKE: AtomicI32 = AtomicI32::new(-1);

    /// Counts the signals from now on, and tells of them on a thread of its own.
    pub(super) fn listen() -> std::io::Result<()> {
        let (mut wakes, wake) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        // It stays open for the life of the process, as the handler does.
        WAKE.store(wake.into_raw_fd(), Ordering::SeqCst);
        let tell = move || {
            let mut woken = [0];
            while wakes.read_exact(&mut woken).is_ok() {
                super::listeners().tell();
            }
        };
        let name = "signals".to_owned();
        std::thread::Builder::new().name(name).spawn(tell)?;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            handle(signal)?;
        }
        match super::heeds_hang_up() {
            true => handle(libc::SIGHUP),
            false => Ok(()),
        }
    }

    fn handle(signal: libc::c_int) -> std::io::Result<()> {
        let handler: extern "C" fn(libc::c_int) = arrived;
        // SAFETY: the structure is plain data that is filled in before it is used; the handler does only what may be done
        // in one.
        let done = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        match done {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// Runs in the middle of whatever the thread did: it counts, and wakes the thread that tells.
    extern "C" fn arrived(_: libc::c_int) {
        let heard = HEARD.fetch_add(1, Ordering::SeqCst) + 1;
        if heard >= LAST.load(Ordering::SeqCst) {
            end();
        }
        // SAFETY: writing to a descriptor is allowed in a handler. A byte for each signal always has room, so that no
        // error is left behind in what the thread did.
        let _ = unsafe { libc::write(WAKE.load(Ordering::SeqCst), [0_u8].as_ptr().cast(), 1) };
    }

    /// Ends the process without handlers and destructors: one of them may wait for what never comes, and a model's thread
    /// may be computing with what they destroy.
    pub(super) fn end() -> ! {
        // SAFETY: this only ends the process; what must be kept is on disk.
        unsafe { libc::_exit(ENDED_BY_SIGNAL) }
    }
}

#[cfg(not(unix))]
mod system {
    use std::sync::atomic::Ordering;

    use super::{ENDED_BY_SIGNAL, HEARD, LAST};

    /// Counts Ctrl-C from now on, on a thread that does nothing else.
    pub(super) fn listen() -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let tell = move || {
            while runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                let heard = HEARD.fetch_add(1, Ordering::SeqCst) + 1;
                if heard >= LAST.load(Ordering::SeqCst) {
                    end();
                }
                super::listeners().tell();
            }
        };
        let name = "signals".to_owned();
        std::thread::Builder::new().name(name).spawn(tell)?;
        Ok(())
    }

    pub(super) fn end() -> ! {
        std::process::exit(ENDED_BY_SIGNAL)
    }
}
