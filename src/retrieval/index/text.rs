//! The BM25 stage: parts of the corpus indexed on all cores, then merged into one segment. A part that is done
//! stays done; the others begin anew after a kill.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::retrieval::index::store::Store;
use crate::retrieval::mapped::write_reason;
use crate::retrieval::retriever::staged;
use crate::retrieval::{DAMAGED, Progress, RetrievalError, lexical};

/// The folder of the BM25 index.
pub(super) const FOLDER: &str = "bm25";
const PARTS: &str = "bm25.parts";
/// Documents of a part: some 100 MB of memory while it is indexed.
const PART: usize = 1 << 17;
/// Parts at a time at most, which bounds memory.
const MOST_THREADS: usize = 8;

/// Indexes all documents of the store.
///
/// # Errors
/// When indexing fails, the disk can't be written, or `progress` breaks.
pub(super) fn build(
    folder: &Path,
    store: &Store,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    build_in_parts(folder, store, PART, progress)
}

fn build_in_parts(
    folder: &Path,
    store: &Store,
    part: usize,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    let parts = folder.join(PARTS);
    clear(&folder.join(FOLDER))?;
    std::fs::create_dir_all(&parts).map_err(|error| failed(&parts, &error))?;
    let jobs = Jobs {
        parts: &parts,
        store,
        part,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
    };
    jobs.run(&mut staged("indexing text", store.len(), progress))?;
    let all: Vec<PathBuf> = (0..jobs.count()).map(|number| jobs.place(number)).collect();
    let target = folder.join(FOLDER);
    if let [one] = all.as_slice() {
        return std::fs::rename(one, &target).map_err(|error| failed(&target, &error));
    }
    let partial = partial(&target);
    clear(&partial)?;
    if staged("merging text", store.len(), progress)(0).is_break() {
        return Err(RetrievalError::cancelled());
    }
    lexical::merge_folders(&all, &partial)?;
    std::fs::rename(&partial, &target).map_err(|error| failed(&target, &error))
}

/// Removes what only building needed.
pub(super) fn clean_up(folder: &Path) -> Result<(), RetrievalError> {
    clear(&folder.join(PARTS))
}

fn failed(path: &Path, error: &std::io::Error) -> RetrievalError {
    RetrievalError(format!(
        "{} can't be written: {}",
        path.display(),
        write_reason(error)
    ))
}

fn partial(path: &Path) -> PathBuf {
    path.with_extension("partial")
}

fn clear(folder: &Path) -> Result<(), RetrievalError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(folder, &error)),
        _ => Ok(()),
    }
}

struct Jobs<'a> {
    parts: &'a Path,
    store: &'a Store,
    /// Documents of a part.
    part: usize,
    next: AtomicUsize,
    /// Documents that are indexed.
    done: AtomicUsize,
    stop: AtomicBool,
}

impl Jobs<'_> {
    fn count(&self) -> usize {
        self.store.len().div_ceil(self.part).max(1)
    }

    fn place(&self, number: usize) -> PathBuf {
        self.parts.join(format!("{number:05}"))
    }

    fn run(&self, say: &mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<(), RetrievalError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(MOST_THREADS).min(self.count());
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| self.work())).collect();
            let mut stopped = false;
            while !workers.iter().all(|worker| worker.is_finished()) {
                std::thread::sleep(Duration::from_millis(10));
                if !stopped && say(self.done.load(Ordering::Relaxed)).is_break() {
                    stopped = true;
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            for worker in workers {
                worker.join().map_err(|_| {
                    RetrievalError("the BM25 index failed: a thread panicked".into())
                })??;
            }
            match stopped {
                true => Err(RetrievalError::cancelled()),
                false => Ok(()),
            }
        })
    }

    /// Takes parts until none is left.
    fn work(&self) -> Result<(), RetrievalError> {
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count() {
                break;
            }
            if let Err(error) = self.index(number) {
                self.stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    }

    fn index(&self, number: usize) -> Result<(), RetrievalError> {
        let place = self.place(number);
        let start = number * self.part;
        let end = (start + self.part).min(self.store.len());
        if place.is_dir() {
            self.done.fetch_add(end - start, Ordering::Relaxed);
            return Ok(());
        }
        let partial = partial(&place);
        clear(&partial)?;
        let mut damaged = None;
        let texts = (start..end).map_while(|position| {
            let text = self.store.get(position);
            if text.is_none() {
                damaged = Some(position);
            }
            text.map(|text| (text.title, text.content))
        });
        let mut counted = 0;
        lexical::write_folder(&partial, texts, &mut |done| {
            self.done.fetch_add(done - counted, Ordering::Relaxed);
            counted = done;
            match self.stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        if let Some(position) = damaged {
            return Err(RetrievalError(format!(
                "document {} of the store can't be read; {DAMAGED}",
                position + 1
            )));
        }
        self.done
            .fetch_add(end - start - counted, Ordering::Relaxed);
        std::fs::rename(&partial, &place).map_err(|error| failed(&place, &error))
    }
}
