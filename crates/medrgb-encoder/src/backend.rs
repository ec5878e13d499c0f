//! Which processors and GPUs can be used, found out without starting burn on any of them.
//!
//! GPU libraries panic on threads of their own and print into the terminal when they are started on a
//! machine that lacks something, so everything they need is looked for first.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::error::EncoderError;

/// Lets software Vulkan (lavapipe) pass for a GPU: for tests, since the CPU backend is faster.
#[cfg(feature = "wgpu")]
const ALLOW_SOFTWARE: &str = "MEDRGB_ALLOW_SOFTWARE_GPU";

/// The backend a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackendChoice {
    /// CUDA, else a hardware GPU through wgpu, else the CPU; a few texts go to the CPU until the GPU is
    /// ready.
    #[default]
    Auto,
    /// NVIDIA GPUs through CUDA, or an error.
    Cuda,
    /// GPUs through Vulkan, Metal or DX12, or an error.
    Wgpu,
    /// The processor.
    Cpu,
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
            Self::Cpu => "cpu",
        })
    }
}

impl FromStr for BackendChoice {
    type Err = EncoderError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "cuda" => Ok(Self::Cuda),
            "wgpu" => Ok(Self::Wgpu),
            "cpu" => Ok(Self::Cpu),
            other => Err(EncoderError::Option(format!(
                "\"{other}\" is no backend; choose auto, cuda, wgpu or cpu"
            ))),
        }
    }
}

/// How numbers are kept on a GPU. The processor always computes in `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Half precision where the GPU has it: 16-bit floats, else bfloat16, else 32 bits.
    #[default]
    Auto,
    /// 32 bits.
    F32,
    /// IEEE half precision: 11 bits of precision, up to 65,504.
    F16,
    /// bfloat16: 8 bits of precision, range of `f32`.
    Bf16,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        })
    }
}

impl FromStr for Precision {
    type Err = EncoderError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "f32" => Ok(Self::F32),
            "f16" => Ok(Self::F16),
            "bf16" => Ok(Self::Bf16),
            other => Err(EncoderError::Option(format!(
                "\"{other}\" is no precision; choose auto, f32, f16 or bf16"
            ))),
        }
    }
}

/// A backend that computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// NVIDIA GPUs through CUDA.
    Cuda,
    /// GPUs through Vulkan, Metal or DX12.
    Wgpu,
    /// The processor.
    Cpu,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
            Self::Cpu => "cpu",
        })
    }
}

/// A backend that can be used here, and the device it would use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackendInfo {
    /// The backend.
    pub backend: Backend,
    /// The device in words.
    pub description: String,
}

/// What was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Usable devices, in the order in which [`BackendChoice::Auto`] prefers them.
    pub available: Vec<BackendInfo>,
    /// Backends without a usable device, each with the reason in one sentence.
    pub unavailable: Vec<(Backend, String)>,
}

/// Looks for usable backends; never panics and prints nothing.
///
/// Software Vulkan adapters (lavapipe) are left out unless the environment variable
/// `MEDRGB_ALLOW_SOFTWARE_GPU` is `1`, and even then only used when wgpu is asked for by name.
pub fn probe() -> Probe {
    let (found, unavailable) = find();
    Probe {
        available: found.into_iter().map(|found| found.info).collect(),
        unavailable,
    }
}

/// A usable device.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub info: BackendInfo,
    pub device: Device,
    /// A GPU that is really the processor; never chosen by itself.
    pub software: bool,
}

/// A device as its backend addresses it.
#[derive(Debug, Clone)]
// Unit tests are built without GPUs, see `run`.
#[cfg_attr(test, allow(dead_code))]
pub(crate) enum Device {
    #[cfg(feature = "cuda")]
    Cuda(burn_cuda::CudaDevice),
    #[cfg(feature = "wgpu")]
    Wgpu(burn_wgpu::WgpuDevice),
    Cpu,
}

/// The devices to try for `choice`, best first.
pub(crate) fn candidates(choice: BackendChoice) -> Result<Vec<Found>, EncoderError> {
    let wanted = match choice {
        BackendChoice::Cpu => return Ok(vec![cpu()]),
        BackendChoice::Auto => {
            let (mut found, _) = find();
            found.retain(|found| !found.software);
            return Ok(found);
        }
        BackendChoice::Cuda => Backend::Cuda,
        BackendChoice::Wgpu => Backend::Wgpu,
    };
    let (mut found, unavailable) = find();
    found.retain(|found| found.info.backend == wanted);
    if found.is_empty() {
        let reason = unavailable
            .into_iter()
            .find(|(backend, _)| *backend == wanted);
        return Err(EncoderError::Unavailable {
            backend: wanted,
            reason: reason.map_or_else(|| "no device was found".to_owned(), |(_, reason)| reason),
        });
    }
    found.truncate(1);
    Ok(found)
}

fn find() -> (Vec<Found>, Vec<(Backend, String)>) {
    let mut found = Vec::new();
    let mut unavailable = Vec::new();
    for (backend, result) in [(Backend::Cuda, cuda()), (Backend::Wgpu, wgpu())] {
        match result {
            Ok(device) => found.push(device),
            Err(reason) => unavailable.push((backend, reason)),
        }
    }
    found.push(cpu());
    (found, unavailable)
}

/// Number of processor cores this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn cpu() -> Found {
    let cores = cores();
    Found {
        info: BackendInfo {
            backend: Backend::Cpu,
            description: format!(
                "processor, {cores} {}, {}",
                if cores == 1 { "core" } else { "cores" },
                crate::kernels::instruction_set().name()
            ),
        },
        device: Device::Cpu,
        software: false,
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Found, String> {
    Err("this program was built without CUDA; build it with the cargo feature cuda".to_owned())
}

/// Everything that cubecl's CUDA runtime needs: it panics if one part is missing.
#[cfg(feature = "cuda")]
fn cuda() -> Result<Found, String> {
    use cudarc::driver::CudaContext;

    // Both libraries are loaded on first use, with a panic if they are not there.
    let count = crate::quiet::catch(CudaContext::device_count)
        .map_err(|_| "no NVIDIA driver library (libcuda) was found; install the NVIDIA driver")?
        .map_err(|error| {
            format!("the NVIDIA driver does not answer ({error}); check it with nvidia-smi")
        })?;
    if count == 0 {
        return Err("the NVIDIA driver sees no GPU; check CUDA_VISIBLE_DEVICES".to_owned());
    }
    crate::quiet::catch(|| cudarc::nvrtc::compile_ptx("extern \"C\" __global__ void probe() {}"))
        .map_err(
            |_| "NVIDIA's compiler library (libnvrtc) was not found; install the CUDA toolkit",
        )?
        .map_err(|error| {
            format!("NVIDIA's compiler library (libnvrtc) does not work: {error:?}")
        })?;
    cuda_headers()?;
    let name = crate::quiet::catch(|| CudaContext::new(0).and_then(|context| context.name()))?
        .map_err(|error| format!("the first NVIDIA GPU cannot be opened: {error}"))?;
    Ok(Found {
        info: BackendInfo {
            backend: Backend::Cuda,
            description: name,
        },
        device: Device::Cuda(burn_cuda::CudaDevice::new(0)),
        software: false,
    })
}

/// cubecl compiles kernels against the CUDA headers, which it looks for in `CUDA_PATH` alone if that
/// is set, else in the first of these folders that exists.
#[cfg(feature = "cuda")]
fn cuda_headers() -> Result<(), String> {
    let folder = match std::env::var_os("CUDA_PATH") {
        Some(folder) => Some(std::path::PathBuf::from(folder)),
        None => ["/usr/local/cuda", "/opt/cuda", "/usr"]
            .into_iter()
            .map(std::path::PathBuf::from)
            .find(|folder| folder.exists()),
    };
    match folder {
        Some(folder) if folder.join("include/cuda_runtime.h").is_file() => Ok(()),
        Some(folder) => Err(format!(
            "the CUDA headers (include/cuda_runtime.h) are not under {}; set CUDA_PATH to the CUDA toolkit",
            folder.display()
        )),
        None => {
            Err("the CUDA headers were not found; set CUDA_PATH to the CUDA toolkit".to_owned())
        }
    }
}

#[cfg(not(feature = "wgpu"))]
fn wgpu() -> Result<Found, String> {
    Err("this program was built without wgpu; build it with the cargo feature wgpu".to_owned())
}

/// The best adapter by kind: discrete, then integrated, then virtual, then software if allowed.
#[cfg(feature = "wgpu")]
fn wgpu() -> Result<Found, String> {
    use burn_wgpu::WgpuDevice;
    use wgpu::DeviceType;

    let software = std::env::var_os(ALLOW_SOFTWARE).is_some_and(|value| value == "1");
    let infos = crate::quiet::silently(adapters)?;
    let rank = |kind| match kind {
        DeviceType::DiscreteGpu => Some((0, WgpuDevice::DiscreteGpu(0))),
        DeviceType::IntegratedGpu => Some((1, WgpuDevice::IntegratedGpu(0))),
        DeviceType::VirtualGpu => Some((2, WgpuDevice::VirtualGpu(0))),
        DeviceType::Cpu if software => Some((3, WgpuDevice::Cpu)),
        DeviceType::Cpu | DeviceType::Other => None,
    };
    let best = infos
        .iter()
        .filter_map(|info| rank(info.device_type).map(|(rank, device)| (rank, device, info)))
        .min_by_key(|(rank, ..)| *rank);
    match best {
        Some((rank, device, info)) => Ok(Found {
            info: BackendInfo {
                backend: Backend::Wgpu,
                description: format!("{} ({:?})", info.name, info.backend),
            },
            device: Device::Wgpu(device),
            software: rank == 3,
        }),
        None if infos.iter().any(|info| info.device_type == DeviceType::Cpu) => Err(format!(
            "only a software adapter was found, which is slower than the cpu backend; \
             set {ALLOW_SOFTWARE}=1 to use it all the same"
        )),
        None => Err("no GPU answers through Vulkan, Metal or DX12; install its driver".to_owned()),
    }
}

#[cfg(feature = "wgpu")]
fn adapters() -> Vec<wgpu::AdapterInfo> {
    // No GL: it is no use for computing, and its loaders talk to the display.
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let instance = wgpu::Instance::new(descriptor);
    let adapters = block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    adapters.iter().map(wgpu::Adapter::get_info).collect()
}

/// Waits for a future of wgpu, which on native platforms is ready at once.
#[cfg(feature = "wgpu")]
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn choices_read_as_they_are_written() {
        for choice in [
            BackendChoice::Auto,
            BackendChoice::Cuda,
            BackendChoice::Wgpu,
            BackendChoice::Cpu,
        ] {
            assert_eq!(choice.to_string().parse::<BackendChoice>().unwrap(), choice);
        }
        for precision in [
            Precision::Auto,
            Precision::F32,
            Precision::F16,
            Precision::Bf16,
        ] {
            assert_eq!(
                precision.to_string().parse::<Precision>().unwrap(),
                precision
            );
        }
        assert!("f8".parse::<Precision>().is_err());
        let error = "tpu".parse::<BackendChoice>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"tpu\" is no backend; choose auto, cuda, wgpu or cpu"
        );
    }

    #[test]
    fn the_processor_is_always_available_and_last() {
        let probe = probe();
        assert_eq!(probe.available.last().unwrap().backend, Backend::Cpu);
        assert_eq!(probe.available.len() + probe.unavailable.len(), 3);
        assert!(
            probe
                .unavailable
                .iter()
                .all(|(_, reason)| !reason.is_empty())
        );
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_backend_that_was_not_built_says_how_to_get_it() {
        let error = candidates(BackendChoice::Cuda).unwrap_err().to_string();
        assert!(error.contains("cargo feature cuda"), "{error}");
    }
}
