//! Text encoders of the BERT family: a Hugging Face folder in, embeddings out.

/// Which backend to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackendChoice {
    /// The first that works: CUDA, wgpu, CPU.
    #[default]
    Auto,
    /// NVIDIA.
    Cuda,
    /// Vulkan, Metal, DX12.
    Wgpu,
    /// The processor.
    Cpu,
}
