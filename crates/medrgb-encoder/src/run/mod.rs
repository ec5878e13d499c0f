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
        #[cfg(all(feature = "wgpu", not(test)))]
        Device::Wgpu(device) => {
            on_gpu::<burn_wgpu::WebGpu>(found, device, weights, config, pooling)
        }
        #[cfg(all(feature = "cuda", not(test)))]
        Device::Cuda(device) => on_gpu::<burn_cuda::Cuda>(found, device, weights, config, pooling),
        // Compiling burn's generics for a GPU takes minutes: the unit tests, a second build of this
        // crate, run the GPU loop on a backend of burn's for the processor. The program's tests
        // try real GPUs.
        #[cfg(all(any(feature = "wgpu", feature = "cuda"), test))]
        _ => {
            let device = burn_flex::FlexDevice;
            on_gpu::<burn_flex::Flex>(found, &device, weights, config, pooling)
        }
    }
}

#[cfg(any(feature = "wgpu", feature = "cuda"))]
fn on_gpu<B: burn_tensor::backend::Backend>(
    found: &Found,
    device: &B::Device,
    weights: &mut Weights,
    config: &Config,
    pooling: Pooling,
) -> Result<Box<dyn Runner>, EncoderError> {
    let backend = found.info.backend;
    let gpu = gpu::Gpu::<B>::load(backend, weights, config, pooling, device.clone())?;
    Ok(Box::new(gpu))
}
