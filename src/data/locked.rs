//! Files that one process at a time may add to: locked by the operating system, so that a killed process leaves no lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// Why a file can't be had.
#[derive(Debug)]
pub(in crate::data) enum LockFault {
    /// Another process has it.
    Held,
    /// It can't be made, opened or locked.
    Io(io::Error),
}

/// Opens a file for reading and adding, or makes it, and locks it. It is never truncated or replaced: a second file
/// under this name would be a second lock.
///
/// # Errors
/// [`LockFault`].
pub(in crate::data) fn open_locked(path: &Path) -> Result<File, LockFault> {
    locked(path, File::try_lock)
}

/// The same together with other processes that add single lines; one that locks it alone keeps them out.
///
/// # Errors
/// [`LockFault`].
pub(in crate::data) fn open_shared(path: &Path) -> Result<File, LockFault> {
    locked(path, File::try_lock_shared)
}

fn locked(path: &Path, lock: fn(&File) -> Result<(), TryLockError>) -> Result<File, LockFault> {
    let file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(path)
        .map_err(LockFault::Io)?;
    match lock(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LockFault::Held),
        Err(TryLockError::Error(error)) => Err(LockFault::Io(error)),
    }
}
