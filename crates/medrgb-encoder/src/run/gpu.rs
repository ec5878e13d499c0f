//! GPUs: one padded batch after the other, sized by how fast the device turned out to be.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use burn_tensor::backend::Backend as BurnBackend;
use burn_tensor::{DType, FloatDType, Tensor};

use super::{Deliver, Place, Runner};
use crate::backend::{BackendInfo, Precision};
use crate::batch::{Batch, is_known, longest_first, take_padded};
use crate::config::Config;
use crate::error::EncoderError;
use crate::model::Bert;
use crate::ops::{Half, Plain};
use crate::quiet;
use crate::tokens::TokenIds;
use crate::weights::Weights;

/// Sequences are padded to a multiple of this, so that few different shapes reach the device.
const WIDTH_STEP: usize = 8;

/// Rows in the first batch; later ones grow or shrink from there.
const FIRST_BUDGET: usize = 1024;
const SMALLEST_BUDGET: usize = 128;
/// Keeps the largest intermediate (rows, 4h) of a 768 wide model at 200 MB.
const LARGEST_BUDGET: usize = 16 * 1024;

/// Batches faster than this are doubled, slower ones than the second are halved: large enough to
/// keep a device busy, small enough for cancelling to be felt at once.
const FAST: Duration = Duration::from_millis(40);
const SLOW: Duration = Duration::from_millis(150);

/// A model on a GPU.
pub(super) struct Gpu<B: BurnBackend> {
    model: Bert<B, Plain>,
    info: BackendInfo,
    /// Longest sequence the model has positions for.
    positions: usize,
    /// Rows for the next batch; held while computing, since a second caller would only add memory.
    budget: Mutex<usize>,
}

impl<B: BurnBackend> Gpu<B> {
    /// Loads the weights and computes one small batch, so that a device that does not work shows now.
    pub(super) fn load(
        place: &Place,
        weights: &mut Weights,
        config: &Config,
        device: B::Device,
    ) -> Result<Self, EncoderError> {
        let (backend, pooling) = (place.found.info.backend, place.pooling);
        let failed = |reason| EncoderError::Device { backend, reason };
        start::<B>(&device).map_err(failed)?;
        let half = half::<B>(&device, place.precision).map_err(failed)?;
        let model = quiet::catch(|| Bert::load(weights, config, pooling, device, half))
            .map_err(failed)??;
        let mut info = place.found.info.clone();
        info.description += match half {
            Some(FloatDType::BF16) => ", bf16",
            Some(_) => ", f16",
            None => ", f32",
        };
        let gpu = Self {
            model,
            info,
            positions: config.positions,
            budget: Mutex::new(FIRST_BUDGET),
        };
        let token = TokenIds {
            ids: vec![0; 4],
            types: vec![0; 4],
        };
        gpu.forward(&[token], &[0])?;
        Ok(gpu)
    }

    fn forward(&self, tokens: &[TokenIds], which: &[usize]) -> Result<Vec<f32>, EncoderError> {
        let longest = which
            .iter()
            .map(|i| tokens[*i].ids.len())
            .max()
            .unwrap_or(1);
        let batch = Batch::padded(which.iter().map(|i| &tokens[*i]), self.width(longest));
        // Never set: a batch in flight on a device cannot be called back.
        let stop = AtomicBool::new(false);
        let rows = quiet::catch(|| self.model.forward(&batch, &stop)).and_then(|rows| rows);
        match rows {
            Ok(rows) => Ok(rows.unwrap_or_default()),
            Err(reason) => Err(EncoderError::Device {
                backend: self.info.backend,
                reason,
            }),
        }
    }

    fn width(&self, longest: usize) -> usize {
        longest
            .next_multiple_of(WIDTH_STEP)
            .min(self.positions)
            .max(longest)
    }
}

impl<B: BurnBackend> Runner for Gpu<B> {
    fn backend(&self) -> BackendInfo {
        self.info.clone()
    }

    fn run(
        &self,
        tokens: &[TokenIds],
        known: &[bool],
        deliver: Deliver<'_>,
    ) -> Result<(), EncoderError> {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let mut order = longest_first(tokens);
        order.retain(|at| !is_known(known, *at));
        let mut start = 0;
        while let Some(first) = order.get(start) {
            let range = take_padded(&order, start, *budget, self.width(tokens[*first].ids.len()));
            let began = Instant::now();
            let rows = self.forward(tokens, &order[range.clone()])?;
            *budget = next_budget(*budget, began.elapsed());
            start = range.end;
            if deliver(&order[range], &rows) == ControlFlow::Break(()) {
                return Err(EncoderError::Cancelled);
            }
        }
        Ok(())
    }
}

/// Starts the device, which is when drivers write what they have to say.
fn start<B: BurnBackend>(device: &B::Device) -> Result<(), String> {
    quiet::silently(|| Tensor::<B, 1>::from_data([0f32], device).try_into_data())?
        .map(drop)
        .map_err(|error| error.to_string())
}

/// What states are kept in on this device; the device must have been started.
fn half<B: BurnBackend>(device: &B::Device, precision: Precision) -> Result<Half, String> {
    let has = |dtype| quiet::catch(|| B::supports_dtype(device, dtype));
    let (f16, bf16) = (has(DType::F16)?, has(DType::BF16)?);
    match precision {
        Precision::Auto if f16 => Ok(Some(FloatDType::F16)),
        Precision::Auto if bf16 => Ok(Some(FloatDType::BF16)),
        Precision::Auto | Precision::F32 => Ok(None),
        Precision::F16 if f16 => Ok(Some(FloatDType::F16)),
        Precision::Bf16 if bf16 => Ok(Some(FloatDType::BF16)),
        Precision::F16 | Precision::Bf16 => Err(format!(
            "the device does not compute in {precision}; choose f32 or auto"
        )),
    }
}

/// The budget after a batch of `budget` rows took `time`.
fn next_budget(budget: usize, time: Duration) -> usize {
    let next = if time < FAST {
        budget * 2
    } else if time > SLOW {
        budget / 2
    } else {
        budget
    };
    next.clamp(SMALLEST_BUDGET, LARGEST_BUDGET)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_follows_the_device_within_bounds() {
        assert_eq!(next_budget(1024, Duration::from_millis(1)), 2048);
        assert_eq!(next_budget(1024, Duration::from_millis(80)), 1024);
        assert_eq!(next_budget(1024, Duration::from_millis(900)), 512);
        assert_eq!(next_budget(LARGEST_BUDGET, Duration::ZERO), LARGEST_BUDGET);
        assert_eq!(
            next_budget(SMALLEST_BUDGET, Duration::from_secs(9)),
            SMALLEST_BUDGET
        );
    }
}
