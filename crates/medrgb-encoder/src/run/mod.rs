//! Many sequences through one model: batches, threads, progress and cancelling.

mod cpu;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod gpu;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod kernel_cache;
mod warming;

use std::ops::ControlFlow;

use crate::backend::{BackendChoice, BackendInfo, Device, Found, Precision, candidates};
use crate::config::Config;
use crate::encoder::OpenOptions;
use crate::error::EncoderError;
use crate::pooling::{Pooling, Recipe};
use crate::tokens::TokenIds;
use crate::weights::Weights;

use warming::Warming;

/// Takes finished rows: which inputs they belong to, and their numbers one after the other.
///
/// Called on the caller's thread, also with nothing finished, so that it can ask to stop.
pub(crate) type Deliver<'a> = &'a mut dyn FnMut(&[usize], &[f32]) -> ControlFlow<()>;

/// A model on a device. One implementation per way of feeding devices; hides burn's types.
pub(crate) trait Runner: Send + Sync {
    /// Computes the pooled row of every entry of `tokens`, in any order; entries that `known` marks have theirs
    /// already and may be left out. Where batches do not depend on time, the others' rows keep their last bits.
    fn run(
        &self,
        tokens: &[TokenIds],
        known: &[bool],
        deliver: Deliver<'_>,
    ) -> Result<(), EncoderError>;

    /// Where the next call computes.
    fn backend(&self) -> BackendInfo;
}

/// Opens the model where `options` say. For [`BackendChoice::Auto`] that is the processor, and a GPU as soon
/// as it is ready, if there is one.
pub(crate) fn open(
    weights: &mut Weights,
    config: &Config,
    recipe: &Recipe,
    options: &OpenOptions,
    notes: &mut Vec<String>,
) -> Result<Box<dyn Runner>, EncoderError> {
    if options.backend == BackendChoice::Cpu
        && matches!(options.precision, Precision::F16 | Precision::Bf16)
    {
        return Err(EncoderError::Option(format!(
            "the processor computes in f32 only; leave the precision {} out or choose a GPU",
            options.precision
        )));
    }
    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    if let Some(folder) = &options.kernel_cache {
        kernel_cache::keep_under(folder);
    }
    let mut found = candidates(options.backend)?;
    let at = |found: &Found| Place {
        found: found.clone(),
        precision: options.precision,
        threads: options.threads,
        pooling: recipe.pooling,
    };
    if options.backend != BackendChoice::Auto {
        let Some(found) = found.first() else {
            return Err(EncoderError::Option("no backend is left to try".to_owned()));
        };
        return load(&at(found), weights, config);
    }
    let Some(processor) = found.pop() else {
        return Err(EncoderError::Option("no backend is left to try".to_owned()));
    };
    let cpu = load(&at(&processor), weights, config)?;
    if found.is_empty() {
        return Ok(cpu);
    }
    let names: Vec<&str> = found
        .iter()
        .map(|found| found.info.description.as_str())
        .collect();
    notes.push(format!(
        "{} is made ready in the background; until then the processor answers queries",
        names.join(", else ")
    ));
    let places: Vec<Place> = found.iter().map(at).collect();
    let (config, folder) = (config.clone(), recipe.base.clone());
    Warming::start(cpu, move || {
        let first = |place| load(place, &mut Weights::open(&folder).ok()?, &config).ok();
        places.iter().find_map(first)
    })
}

/// Where and how a model is to be loaded.
pub(crate) struct Place {
    pub found: Found,
    #[cfg_attr(not(any(feature = "wgpu", feature = "cuda")), allow(dead_code))]
    pub precision: Precision,
    pub threads: Option<usize>,
    pub pooling: Pooling,
}

/// Loads the model onto a device and tries it out.
fn load(
    place: &Place,
    weights: &mut Weights,
    config: &Config,
) -> Result<Box<dyn Runner>, EncoderError> {
    match &place.found.device {
        Device::Cpu => Ok(Box::new(cpu::Cpu::load(place, weights, config)?)),
        #[cfg(all(feature = "wgpu", not(test)))]
        Device::Wgpu(device) => on_gpu::<burn_wgpu::WebGpu>(place, device, weights, config),
        #[cfg(all(feature = "cuda", not(test)))]
        Device::Cuda(device) => on_gpu::<burn_cuda::Cuda>(place, device, weights, config),
        // Compiling burn's generics for a GPU takes minutes: the unit tests, a second build of this
        // crate, run the GPU loop on a backend of burn's for the processor. The program's tests
        // try real GPUs.
        #[cfg(all(any(feature = "wgpu", feature = "cuda"), test))]
        _ => on_gpu::<burn_flex::Flex>(place, &burn_flex::FlexDevice, weights, config),
    }
}

#[cfg(any(feature = "wgpu", feature = "cuda"))]
fn on_gpu<B: burn_tensor::backend::Backend>(
    place: &Place,
    device: &B::Device,
    weights: &mut Weights,
    config: &Config,
) -> Result<Box<dyn Runner>, EncoderError> {
    let gpu = gpu::Gpu::<B>::load(place, weights, config, device.clone())?;
    Ok(Box::new(gpu))
}
