//! Many sequences through one model: batches, threads, progress and cancelling.

mod cpu;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod gpu;

use std::ops::ControlFlow;

use crate::backend::{Device, Found};
use crate::config::Config;
use crate::error::EncoderError;
use crate::pooling::Pooling;
use crate::tokens::TokenIds;
use crate::weights::Weights;

/// Takes finished rows: which inputs they belong to, and their numbers one after the other.
///
/// Called on the caller's thread, also with nothing finished, so that it can ask to stop.
pub(crate) type Deliver<'a> = &'a mut dyn FnMut(&[usize], &[f32]) -> ControlFlow<()>;

/// A model on a device. One implementation per way of feeding devices; hides burn's types.
pub(crate) trait Runner: Send + Sync {
    /// Computes the pooled row of every entry of `tokens`, in any order.
    fn run(&self, tokens: &[TokenIds], deliver: Deliver<'_>) -> Result<(), EncoderError>;
}

/// Loads the model onto the device `found` and tries it out.
pub(crate) fn load(
    found: &Found,
    weights: &mut Weights,
    config: &Config,
    pooling: Pooling,
) -> Result<Box<dyn Runner>, EncoderError> {
    match &found.device {
        Device::Cpu => Ok(Box::new(cpu::Cpu::load(weights, config, pooling)?)),
        #[cfg(feature = "wgpu")]
        Device::Wgpu(device) => {
            type Wgpu = burn_wgpu::WebGpu;
            let gpu = gpu::Gpu::<Wgpu>::load(
                found.info.backend,
                weights,
                config,
                pooling,
                device.clone(),
            )?;
            Ok(Box::new(gpu))
        }
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => {
            type Cuda = burn_cuda::Cuda;
            let gpu = gpu::Gpu::<Cuda>::load(
                found.info.backend,
                weights,
                config,
                pooling,
                device.clone(),
            )?;
            Ok(Box::new(gpu))
        }
    }
}
