//! Vectors of the records of a file, encoded in steps that are kept on disk until their file is written.
//!
//! Which records a step holds depends on the records alone, never on time: a run that was stopped or killed gives the
//! bytes of an undisturbed one.

use std::ops::ControlFlow;
use std::path::Path;

use medrgb_encoder::{Backend, Encoder, EncoderError, Input, Precision};

use crate::domain::text::count;
use crate::retrieval::RetrievalError;
use crate::retrieval::checkpoint::Checkpoint;
use crate::retrieval::encoders::fingerprint;
use crate::retrieval::sealed::{self, Hasher, Key};

/// How much goes through the encoder at a time, and is made durable then. Every step starts the tokenizer's threads
/// anew and waits for the disk: bounded by the number of records alone, steps of short ones would do little else.
#[derive(Debug, Clone, Copy)]
struct StepSize {
    /// Bytes of text; a longer record is a step of its own.
    bytes: usize,
    /// Records.
    records: usize,
}

/// On the processor: some 256 abstracts, which take seconds to half a minute, what a kill costs at most.
const STEP_CPU: StepSize = StepSize {
    bytes: 384 << 10,
    records: 4096,
};

/// On a GPU.
const STEP_GPU: StepSize = StepSize {
    bytes: 6 << 20,
    records: 32_768,
};

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
    let mut run = |positions: &[usize], tell: &mut dyn FnMut(usize) -> ControlFlow<()>| {
        let inputs: Vec<Input<'_>> = positions.iter().map(|&at| records[at]).collect();
        let result = encoder.encode(&inputs, &mut |at| tell(at.done));
        result.map(|(embeddings, _)| embeddings.data)
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

/// Encodes the records at these positions.
type Run<'a> = dyn FnMut(&[usize], &mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<Vec<f32>, EncoderError>
    + 'a;

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
        let mut data = vec![0.0; rows * self.dim];
        let mut done = vec![false; rows];
        let mut kept = match Checkpoint::open(place, key, self.dim, rows) {
            Ok((checkpoint, kept)) => {
                self.put(&mut data, &mut done, &kept.positions, &kept.data);
                Some(checkpoint)
            }
            Err(error) => {
                notes.push(not_kept(&error));
                None
            }
        };
        let before = done.iter().filter(|done| **done).count();
        let mut finished = before;
        let order = self.order();
        let mut left = order.as_slice();
        while let Some((positions, later)) = self.next_step(left) {
            left = later;
            if positions.iter().all(|&at| done[at]) {
                continue;
            }
            if progress(finished).is_break() {
                return Err(self.stopped(finished, kept.is_some()));
            }
            let fresh = positions.iter().filter(|&&at| !done[at]).count();
            let vectors = run(positions, &mut |at| progress(finished + at.min(fresh)));
            let vectors = match vectors {
                Ok(vectors) => vectors,
                Err(EncoderError::Cancelled) => {
                    return Err(self.stopped(finished, kept.is_some()));
                }
                Err(error) => return Err(RetrievalError(format!("encoding failed: {error}"))),
            };
            self.check(positions, &vectors)?;
            self.put(&mut data, &mut done, positions, &vectors);
            if let Some(open) = &mut kept
                && let Err(error) = open.append(positions, &vectors)
            {
                notes.push(not_kept(&error));
                kept = None;
            }
            finished += fresh;
        }
        Ok(Encoded { data, before, kept })
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

    fn put(&self, data: &mut [f32], done: &mut [bool], positions: &[usize], vectors: &[f32]) {
        for (&at, row) in positions.iter().zip(vectors.chunks_exact(self.dim.max(1))) {
            data[at * self.dim..][..self.dim].copy_from_slice(row);
            done[at] = true;
        }
    }

    fn check(&self, positions: &[usize], vectors: &[f32]) -> Result<(), RetrievalError> {
        if vectors.len() != positions.len() * self.dim {
            return Err(RetrievalError(format!(
                "the encoder gave {} numbers for {} of {} dimensions",
                vectors.len(),
                count(positions.len(), "record"),
                self.dim
            )));
        }
        match vectors.iter().position(|number| !number.is_finite()) {
            Some(at) => Err(RetrievalError(format!(
                "the encoder gave {} for record {}: its weights or the backend are broken; try --backend cpu",
                vectors[at],
                positions[at / self.dim] + 1
            ))),
            None => Ok(()),
        }
    }

    fn stopped(&self, finished: usize, kept: bool) -> RetrievalError {
        let all = count(self.lengths.len(), "record");
        RetrievalError(match kept && finished > 0 {
            true => format!(
                "stopped; {finished} of {all} are encoded and kept, the same command goes on from there"
            ),
            false => format!("stopped; none of {all} is kept, the same command starts anew"),
        })
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

    /// Encodes position p of a step as (p, how many records the step holds), and stops at so many records.
    fn run(place: &Path, stop_at: usize) -> (Result<Encoded, RetrievalError>, Vec<Vec<usize>>) {
        let plan = Plan {
            lengths: &LENGTHS,
            dim: 2,
            step: SMALL,
        };
        let mut steps = Vec::new();
        let mut notes = Vec::new();
        let result = plan.encode(
            place,
            &[1; 32],
            &mut |positions, tell| {
                if tell(positions.len()).is_break() {
                    return Err(EncoderError::Cancelled);
                }
                steps.push(positions.to_vec());
                let row = |&at: &usize| [at as f32, positions.len() as f32];
                Ok(positions.iter().flat_map(row).collect())
            },
            &mut |done| match done >= stop_at {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            },
            &mut notes,
        );
        assert_eq!(notes, Vec::<String>::new());
        (result, steps)
    }

    #[test]
    fn a_stopped_run_goes_on_and_gives_the_same_bytes_wherever_it_stops() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, all) = run(&folder.path().join("whole"), 99);
        let whole = whole.unwrap();
        assert_eq!(whole.before, 0);
        // Longest first; 9 + 6 bytes, 5 + 5 + 4, three records, the rest.
        let expected: [&[usize]; 4] = [&[5, 7], &[4, 8, 2], &[0, 9, 6], &[1, 3]];
        assert_eq!(all, expected);
        for stop_at in 0..10 {
            let place = folder.path().join(stop_at.to_string());
            let (stopped, first) = run(&place, stop_at);
            let message = stopped.unwrap_err().to_string();
            assert!(message.starts_with("stopped; "), "{message}");
            let (resumed, second) = run(&place, 99);
            let resumed = resumed.unwrap();
            assert_eq!(resumed.data, whole.data, "{stop_at}");
            assert_eq!(resumed.before, first.iter().map(Vec::len).sum::<usize>());
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
        let plan = Plan {
            lengths: &LENGTHS,
            dim: 2,
            step: SMALL,
        };
        let message = plan.check(&[7], &[1.0, f32::NAN]).unwrap_err().to_string();
        assert!(message.contains("record 8"), "{message}");
        assert!(plan.check(&[7], &[1.0]).is_err());
    }
}
