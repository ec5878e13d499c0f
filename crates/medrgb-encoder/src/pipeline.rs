//! Texts through tokenizer and model: what an encoder and a cross-encoder have in common.
//!
//! Many texts go through in windows, longest first, so that batches pad little; windows are made into word
//! pieces on another thread, two ahead of the model.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use crate::backend::BackendInfo;
use crate::batch::is_known;
use crate::config::Config;
use crate::encoder::{Input, OpenOptions, Progress, Timing};
use crate::error::EncoderError;
use crate::pooling::Recipe;
use crate::run::{self, Runner};
use crate::tokens::{TokenIds, Tokens};
use crate::weights::{Weights, sha256};

/// Texts per window: many enough that sorting them by length leaves little padding and that the wait for
/// the last batch of a window does not count, few enough that the first vectors come soon.
const WINDOW: usize = 2048;
/// Texts of one call to the tokenizer, between which the caller is asked whether to go on.
const TOKENIZE_AT_ONCE: usize = 256;
/// Windows of word pieces that may wait for the model.
const AHEAD: usize = 2;
/// How often the caller is asked whether to go on while word pieces are waited for.
const TICK: Duration = Duration::from_millis(50);

/// A tokenizer and a model on a device.
pub(crate) struct Pipeline {
    pub tokens: Tokens,
    runner: Box<dyn Runner>,
    /// Numbers per row that the model gives.
    dim: usize,
}

/// What opening gives besides the pipeline.
pub(crate) struct Opened {
    pub pipeline: Pipeline,
    /// SHA-256 of the weights file.
    pub sha256: String,
    /// What a reader should know about the device chosen.
    pub notes: Vec<String>,
}

/// Finished rows go here, each with the index of its input.
type Take<'a> = &'a mut dyn FnMut(usize, &[f32]);

impl Pipeline {
    /// Loads the model onto the device that `options` ask for.
    pub(crate) fn open(
        tokens: Tokens,
        weights: &mut Weights,
        config: &Config,
        recipe: &Recipe,
        options: &OpenOptions,
    ) -> Result<Opened, EncoderError> {
        let path = weights.path().to_path_buf();
        let mut notes = Vec::new();
        // Hashing takes as long as loading: do both at once.
        let (runner, hash) = std::thread::scope(|scope| {
            let hash = scope.spawn(|| sha256(&path));
            let runner = run::open(weights, config, recipe, options, &mut notes);
            (runner, hash.join())
        });
        Ok(Opened {
            pipeline: Self {
                tokens,
                runner: runner?,
                dim: config.hidden,
            },
            sha256: hash.unwrap_or_else(|_| sha256(Path::new(&path)))?,
            notes,
        })
    }

    /// Where the model computes now.
    pub(crate) fn backend(&self) -> BackendInfo {
        self.runner.backend()
    }

    /// The model's row for each of `inputs`, in any order, but for those that `known` marks; an empty one marks none.
    /// A batch that is computed for some of its rows gives all of them.
    pub(crate) fn rows(
        &self,
        inputs: &[Input<'_>],
        known: &[bool],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        take: Take<'_>,
    ) -> Result<Timing, EncoderError> {
        let mut run = Run {
            pipeline: self,
            known,
            done: known.iter().filter(|known| **known).count(),
            total: inputs.len(),
            timing: Timing::default(),
            progress,
            take,
        };
        if inputs.len() <= WINDOW {
            run.at_once(inputs)?;
        } else {
            run.in_windows(inputs)?;
        }
        if run.done == run.total {
            return Ok(run.timing);
        }
        let (done, total) = (run.done, run.total);
        Err(EncoderError::Device {
            backend: self.backend().backend,
            reason: format!("{done} of {total} vectors came back"),
        })
    }
}

/// Word pieces of some inputs, whose indices come first.
type Window = (Vec<usize>, Vec<TokenIds>);

/// One call's work.
struct Run<'a> {
    pipeline: &'a Pipeline,
    /// Inputs whose rows are there already.
    known: &'a [bool],
    done: usize,
    total: usize,
    timing: Timing,
    progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    take: Take<'a>,
}

impl Run<'_> {
    fn at_once(&mut self, inputs: &[Input<'_>]) -> Result<(), EncoderError> {
        let began = Instant::now();
        let mut tokens = Vec::with_capacity(inputs.len());
        for some in inputs.chunks(TOKENIZE_AT_ONCE) {
            self.ask()?;
            tokens.extend(self.pipeline.tokens.encode(some)?);
        }
        self.timing.tokenize = began.elapsed();
        let all: Vec<usize> = (0..inputs.len()).collect();
        self.window(&all, &tokens)
    }

    fn in_windows(&mut self, inputs: &[Input<'_>]) -> Result<(), EncoderError> {
        let mut order: Vec<usize> = (0..inputs.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(inputs[*at].bytes()));
        let tokenizer = &self.pipeline.tokens;
        std::thread::scope(|scope| {
            // The thread ends when the receiver is gone.
            let (sender, receiver) = mpsc::sync_channel(AHEAD);
            let order = &order;
            scope.spawn(move || make_windows(tokenizer, inputs, order, &sender));
            while let Some((which, tokens)) = self.next(&receiver)? {
                self.window(&which, &tokens)?;
            }
            Ok(())
        })
    }

    /// The next window, or `None` after the last one.
    fn next(
        &mut self,
        receiver: &Receiver<Result<Window, EncoderError>>,
    ) -> Result<Option<Window>, EncoderError> {
        let began = Instant::now();
        loop {
            self.ask()?;
            match receiver.recv_timeout(TICK) {
                Ok(window) => {
                    self.timing.tokenize += began.elapsed();
                    return window.map(Some);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Runs the model over one window.
    fn window(&mut self, which: &[usize], tokens: &[TokenIds]) -> Result<(), EncoderError> {
        let began = Instant::now();
        let dim = self.pipeline.dim;
        let Self {
            known,
            done,
            total,
            progress,
            take,
            ..
        } = self;
        let here: Vec<bool> = which.iter().map(|at| is_known(known, *at)).collect();
        self.pipeline
            .runner
            .run(tokens, &here, &mut |places, rows| {
                for (place, row) in places.iter().zip(rows.chunks_exact(dim)) {
                    take(which[*place], row);
                    *done += usize::from(!here[*place]);
                }
                progress(Progress {
                    done: *done,
                    total: *total,
                })
            })?;
        self.timing.encode += began.elapsed();
        Ok(())
    }

    fn ask(&mut self) -> Result<(), EncoderError> {
        let (done, total) = (self.done, self.total);
        match (self.progress)(Progress { done, total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(EncoderError::Cancelled),
        }
    }
}

/// Makes word pieces of `inputs` in this order and hands them on, window by window.
fn make_windows(
    tokenizer: &Tokens,
    inputs: &[Input<'_>],
    order: &[usize],
    sender: &SyncSender<Result<Window, EncoderError>>,
) {
    for which in order.chunks(WINDOW) {
        let some: Vec<Input<'_>> = which.iter().map(|at| inputs[*at]).collect();
        let window = tokenizer
            .encode(&some)
            .map(|tokens| (which.to_vec(), tokens));
        if sender.send(window).is_err() {
            return;
        }
    }
}
