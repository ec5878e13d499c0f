mod embedded;
mod models;
#[cfg(feature = "embedded")]
mod tiny_gguf;
