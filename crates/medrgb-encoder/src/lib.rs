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

impl std::str::FromStr for BackendChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(BackendChoice::Auto),
            "cuda" => Ok(BackendChoice::Cuda),
            "wgpu" => Ok(BackendChoice::Wgpu),
            "cpu" => Ok(BackendChoice::Cpu),
            _ => Err(format!(
                "\"{text}\" is not a backend; expected auto, cuda, wgpu or cpu"
            )),
        }
    }
}
