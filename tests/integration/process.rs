//! Waiting for a running program, and signals to it.

use std::time::{Duration, Instant};

/// Waits until `done` says so; longer than `patience` is a failure.
pub fn wait_until(patience: Duration, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < patience, "it takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal, such as `-INT`.
#[cfg(unix)]
pub fn signal(child: &std::process::Child, name: &str) {
    let status = std::process::Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}
