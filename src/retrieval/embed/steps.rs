//! Vectors of the records of a file, encoded in steps that are kept on disk until their file is written.
//!
//! Which records a step holds depends on the records alone, never on time: a run that was stopped or killed gives the
//! bytes of an undisturbed one.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use medrgb_encoder::{Backend, Encoder, EncoderError, Input, Precision};

use crate::domain::text::count;
use crate::retrieval::RetrievalError;
use crate::retrieval::checkpoint::Checkpoint;
use crate::retrieval::encoders::fingerprint;
use crate::retrieval::sealed::{self, Hasher, Key};

/// How much goes through the encoder at a time. Every step starts the tokenizer's threads anew: bounded by the number
/// of records alone, steps of short ones would do little else.
#[derive(Debug, Clone, Copy)]
struct StepSize {
    /// Bytes of text; a longer record is a step of its own.
    bytes: usize,
    /// Records.
    records: usize,
}

/// On the processor: some 256 abstracts, which take seconds with a small encoder and minutes with a large one.
const STEP_CPU: StepSize = StepSize {
    bytes: 384 << 10,
    records: 4096,
};

/// On a GPU.
const STEP_GPU: StepSize = StepSize {
    bytes: 6 << 20,
    records: 32_768,
};

/// How often the vectors of a step that goes on are made durable: what a kill costs at most, besides the batches that
/// are being computed. A stop keeps all that are there.
const SAVE: Duration = Duration::from_secs(5);

/// The vectors of all records.
#[derive(Debug)]
pub struct Encoded {
    /// Row after row, in the order of the records.
    pub data: Vec<f32>,
    /// Records that an earlier run had encoded.
    pub before: usize,
    kept: Option<Checkpoint>,
}

impl Encoded {
    /// The vectors are in a file now: what was kept of them is removed.
    pub fn written(self) {
        if let Some(kept) = self.kept {
            kept.remove();
        }
    }
}

/// Encodes records, or goes on encoding them; what is done is kept under `folder`. What can't be kept is said in
/// `notes` and fails nothing. `progress` gets the number of records that are done and may stop.
///
/// # Errors
/// When the encoder fails or `progress` breaks; the sentence then says what is kept.
pub fn encode(
    encoder: &Encoder,
    precision: Precision,
    records: &[Input<'_>],
    folder: &Path,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    notes: &mut Vec<String>,
) -> Result<Encoded, RetrievalError> {
    let backend = encoder.backend();
    let step = match backend.backend {
        Backend::Cpu => STEP_CPU,
        _ => STEP_GPU,
    };
    let made_by = format!(
        "{} {precision:?} {} {}",
        backend.description, step.bytes, step.records
    );
    let key = key_of(&fingerprint(encoder.info()), &made_by, records);
    let mut run = |step: &Step<'_>, tell: &mut Tell<'_>| {
        let inputs: Vec<Input<'_>> = step.positions.iter().map(|&at| records[at]).collect();
        // The encoder hands rows over and then asks whether to go on: there they are counted and kept.
        let fresh = RefCell::new(Fresh::default());
        encoder
            .encode_rest(
                &inputs,
                step.known,
                &mut |_| tell(&mut fresh.borrow_mut()),
                &mut |at, row| fresh.borrow_mut().add(step.positions[at], row),
            )
            .map(drop)
    };
    let lengths: Vec<usize> = records.iter().map(length).collect();
    let place = folder.join(format!("{}.part", sealed::short(&key)));
    let plan = Plan {
        lengths: &lengths,
        dim: encoder.info().dim,
        step,
    };
    plan.encode(&place, &key, &mut run, progress, notes)
}

fn texts<'a>(record: &'a Input<'_>) -> (&'static str, &'a str, &'a str) {
    match record {
        Input::Query(text) => ("text", text, ""),
        Input::Article { title, content } => ("pair", title, content),
    }
}

fn length(record: &Input<'_>) -> usize {
    let (_, first, second) = texts(record);
    first.len() + second.len()
}

/// Hash of all that decides the vectors and their last bits.
fn key_of(encoder: &Key, made_by: &str, records: &[Input<'_>]) -> Key {
    let mut hasher = Hasher::new();
    hasher.part(b"encode 1");
    hasher.part(encoder);
    hasher.part(made_by.as_bytes());
    for record in records {
        let (kind, first, second) = texts(record);
        for part in [kind, first, second] {
            hasher.part(part.as_bytes());
        }
    }
    hasher.finish()
}

/// Records that go through the encoder together.
struct Step<'a> {
    positions: &'a [usize],
    /// Which of them have their vectors.
    known: &'a [bool],
}

/// Vectors that have come since the last question.
#[derive(Debug, Default)]
struct Fresh {
    positions: Vec<usize>,
    data: Vec<f32>,
}

impl Fresh {
    fn add(&mut self, position: usize, row: &[f32]) {
        self.positions.push(position);
        self.data.extend_from_slice(row);
    }
}

/// Gets the vectors that have come, which it takes out, and may stop.
type Tell<'a> = dyn FnMut(&mut Fresh) -> ControlFlow<()> + 'a;

/// Encodes the records of a step that are not known.
type Run<'a> = dyn FnMut(&Step<'_>, &mut Tell<'_>) -> Result<(), EncoderError> + 'a;

struct Plan<'a> {
    /// Bytes of each record.
    lengths: &'a [usize],
    dim: usize,
    step: StepSize,
}

impl Plan<'_> {
    fn encode(
        &self,
        place: &Path,
        key: &Key,
        run: &mut Run<'_>,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
        notes: &mut Vec<String>,
    ) -> Result<Encoded, RetrievalError> {
        let rows = self.lengths.len();
        let mut gathered = Gathered {
            dim: self.dim,
            data: vec![0.0; rows * self.dim],
            done: vec![false; rows],
            finished: 0,
            waiting: Fresh::default(),
            saved: Instant::now(),
            kept: None,
            notes,
        };
        match Checkpoint::open(place, key, self.dim, rows) {
            Ok((checkpoint, kept)) => {
                gathered.put(&kept.positions, &kept.data);
                gathered.kept = Some(checkpoint);
            }
            Err(error) => gathered.notes.push(not_kept(&error)),
        }
        let before = gathered.finished;
        let order = self.order();
        let mut left = order.as_slice();
        while let Some((positions, later)) = self.next_step(left) {
            left = later;
            self.step(positions, run, progress, &mut gathered)?;
        }
        gathered.save();
        Ok(Encoded {
            data: gathered.data,
            before,
            kept: gathered.kept,
        })
    }

    /// Encodes what is missing of a step.
    fn step(
        &self,
        positions: &[usize],
        run: &mut Run<'_>,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), RetrievalError> {
        let known: Vec<bool> = positions.iter().map(|&at| gathered.done[at]).collect();
        if !known.contains(&false) {
            return Ok(());
        }
        if progress(gathered.finished).is_break() {
            return Err(self.stopped(gathered));
        }
        let step = Step {
            positions,
            known: &known,
        };
        let mut broken = None;
        let result = run(&step, &mut |fresh| {
            if let Err(error) = gathered.take(std::mem::take(fresh)) {
                broken = Some(error);
                return ControlFlow::Break(());
            }
            progress(gathered.finished)
        });
        match (broken, result) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => self.refuse_missing(positions, &gathered.done),
            (None, Err(EncoderError::Cancelled)) => Err(self.stopped(gathered)),
            (None, Err(error)) => {
                gathered.save();
                Err(RetrievalError(format!("encoding failed: {error}")))
            }
        }
    }

    fn refuse_missing(&self, positions: &[usize], done: &[bool]) -> Result<(), RetrievalError> {
        let missing = positions.iter().filter(|&&at| !done[at]).count();
        match missing {
            0 => Ok(()),
            _ => Err(RetrievalError(format!(
                "the encoder gave no vector for {} of {}",
                missing,
                count(positions.len(), "record")
            ))),
        }
    }

    /// Longest first, so that records of a step are of about one length and the speed only gets better.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.lengths.len()).collect();
        order.sort_by_key(|&at| (std::cmp::Reverse(self.lengths[at]), at));
        order
    }

    /// The records of the next step and those behind it; `None` where none are left.
    fn next_step<'a>(&self, left: &'a [usize]) -> Option<(&'a [usize], &'a [usize])> {
        let mut bytes = 0usize;
        let fits = |&&at: &&usize| {
            bytes = bytes.saturating_add(self.lengths[at]);
            bytes <= self.step.bytes
        };
        let count = left.iter().take(self.step.records).take_while(fits).count();
        (!left.is_empty()).then(|| left.split_at(count.max(1)))
    }

    fn stopped(&self, gathered: &mut Gathered<'_>) -> RetrievalError {
        gathered.save();
        let all = count(self.lengths.len(), "record");
        let finished = gathered.finished;
        RetrievalError(match gathered.kept.is_some() && finished > 0 {
            true => format!(
                "stopped; {finished} of {all} are encoded and kept, the same command goes on from there"
            ),
            false => format!("stopped; none of {all} is kept, the same command starts anew"),
        })
    }
}

/// What is encoded so far, and where it is kept.
struct Gathered<'a> {
    dim: usize,
    /// Row after row, in the order of the records.
    data: Vec<f32>,
    done: Vec<bool>,
    /// Records that are done.
    finished: usize,
    /// What is not yet on disk.
    waiting: Fresh,
    saved: Instant,
    kept: Option<Checkpoint>,
    notes: &'a mut Vec<String>,
}

impl Gathered<'_> {
    fn put(&mut self, positions: &[usize], vectors: &[f32]) {
        let rows = vectors.chunks_exact(self.dim.max(1));
        for (&at, row) in positions.iter().zip(rows) {
            self.data[at * self.dim..][..self.dim].copy_from_slice(row);
            self.finished += usize::from(!std::mem::replace(&mut self.done[at], true));
        }
    }

    /// Takes vectors in, and makes them durable now and then.
    fn take(&mut self, fresh: Fresh) -> Result<(), RetrievalError> {
        check(&fresh, self.dim)?;
        self.put(&fresh.positions, &fresh.data);
        self.waiting.positions.extend(fresh.positions);
        self.waiting.data.extend(fresh.data);
        if self.saved.elapsed() > SAVE {
            self.save();
        }
        Ok(())
    }

    /// Makes all that is there durable; what can't be kept is said once and fails nothing.
    fn save(&mut self) {
        self.saved = Instant::now();
        let waiting = std::mem::take(&mut self.waiting);
        if let Some(open) = &mut self.kept
            && !waiting.positions.is_empty()
            && let Err(error) = open.append(&waiting.positions, &waiting.data)
        {
            self.notes.push(not_kept(&error));
            self.kept = None;
        }
    }
}

fn check(fresh: &Fresh, dim: usize) -> Result<(), RetrievalError> {
    if fresh.data.len() != fresh.positions.len() * dim {
        return Err(RetrievalError(format!(
            "the encoder gave {} numbers for {} of {dim} dimensions",
            fresh.data.len(),
            count(fresh.positions.len(), "record")
        )));
    }
    match fresh.data.iter().position(|number| !number.is_finite()) {
        Some(at) => Err(RetrievalError(format!(
            "the encoder gave {} for record {}: its weights or the backend are broken; try --backend cpu",
            fresh.data[at],
            fresh.positions[at / dim] + 1
        ))),
        None => Ok(()),
    }
}

fn not_kept(error: &std::io::Error) -> String {
    format!("what is encoded can't be kept ({error}); a stopped run will start anew")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LENGTHS: [usize; 10] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3];

    const SMALL: StepSize = StepSize {
        bytes: 15,
        records: 3,
    };

    /// Encodes position p of a step as (p, how many records the step holds), two records at a time, and stops at so
    /// many records. Gives what came of it and the positions that were encoded.
    fn run(place: &Path, stop_at: usize) -> (Result<Encoded, RetrievalError>, Vec<Vec<usize>>) {
        let plan = Plan {
            lengths: &LENGTHS,
            dim: 2,
            step: SMALL,
        };
        let mut batches = Vec::new();
        let mut notes = Vec::new();
        let result = plan.encode(
            place,
            &[1; 32],
            &mut |step, tell| {
                let marked = step.positions.iter().zip(step.known);
                let all: Vec<(usize, bool)> = marked.map(|(&at, &known)| (at, known)).collect();
                for batch in all.chunks(2).filter(|batch| batch.iter().any(|one| !one.1)) {
                    let mut fresh = Fresh::default();
                    for &(at, _) in batch {
                        fresh.add(at, &[at as f32, step.positions.len() as f32]);
                    }
                    batches.push(fresh.positions.clone());
                    if tell(&mut fresh).is_break() {
                        return Err(EncoderError::Cancelled);
                    }
                }
                Ok(())
            },
            &mut |done| match done >= stop_at {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            },
            &mut notes,
        );
        assert_eq!(notes, Vec::<String>::new());
        (result, batches)
    }

    #[test]
    fn a_stopped_run_keeps_its_batches_and_gives_the_same_bytes_wherever_it_stops() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, all) = run(&folder.path().join("whole"), 99);
        let whole = whole.unwrap();
        assert_eq!(whole.before, 0);
        // Longest first; 9 + 6 bytes, 5 + 5 + 4, three records, the rest; two at a time.
        let expected: [&[usize]; 6] = [&[5, 7], &[4, 8], &[2], &[0, 9], &[6], &[1, 3]];
        assert_eq!(all, expected);
        for stop_at in 0..=10 {
            let place = folder.path().join(stop_at.to_string());
            let (stopped, first) = run(&place, stop_at);
            let message = stopped.unwrap_err().to_string();
            assert!(message.starts_with("stopped; "), "{message}");
            let (resumed, second) = run(&place, 99);
            let resumed = resumed.unwrap();
            assert_eq!(resumed.data, whole.data, "{stop_at}");
            // Nothing that a stopped run has encoded is encoded again.
            assert_eq!(resumed.before, first.iter().map(Vec::len).sum::<usize>());
            assert!(stop_at == 0 || message.contains(&format!("{} of 10", resumed.before)));
            assert_eq!([first, second].concat(), all);
            resumed.written();
            assert!(!place.exists());
        }
    }

    #[test]
    fn the_same_words_in_another_form_are_other_records() {
        let pair = Input::Article {
            title: "",
            content: "a",
        };
        let key = |records: &[Input<'_>]| key_of(&[0; 32], "cpu", records);
        assert_ne!(key(&[pair]), key(&[Input::Query("a")]));
        assert_ne!(key(&[pair]), key(&[pair, pair]));
    }

    #[test]
    fn steps_hold_every_record_once_whatever_their_length() {
        let lengths = [0, 40, 3, 0, 0, 16, 0, 15, 1];
        let plan = Plan {
            lengths: &lengths,
            dim: 1,
            step: SMALL,
        };
        let order = plan.order();
        let (mut left, mut steps) = (order.as_slice(), Vec::new());
        while let Some((step, later)) = plan.next_step(left) {
            steps.push(step.to_vec());
            left = later;
        }
        // Longer than a step may be: alone.
        assert_eq!(steps[..3], [vec![1], vec![5], vec![7]]);
        assert!(steps.iter().all(|step| step.len() <= SMALL.records));
        assert_eq!(steps.concat(), order);
    }

    #[test]
    fn broken_numbers_are_an_error() {
        let fresh = |data: &[f32]| Fresh {
            positions: vec![7],
            data: data.to_vec(),
        };
        let message = check(&fresh(&[1.0, f32::NAN]), 2).unwrap_err().to_string();
        assert!(message.contains("record 8"), "{message}");
        assert!(check(&fresh(&[1.0]), 2).is_err());
    }
}
