//! Servers and models that are known by name, so that a config needs few lines.

/// A kind of server with its usual address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerPreset {
    /// The name used in `preset = "…"` and as `NAME:MODEL`.
    pub name: &'static str,
    /// The usual base URL.
    pub base_url: &'static str,
    /// The environment variable of the key; `None` where the server usually wants none.
    pub key_env: Option<&'static str>,
    /// Whether nothing works without a key.
    pub key_required: bool,
    /// Whether the server takes `max_completion_tokens` in the place of `max_tokens`.
    pub max_completion_tokens: bool,
}

/// The servers known by name.
pub const SERVERS: [ServerPreset; 7] = [
    ServerPreset {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        key_required: true,
        max_completion_tokens: true,
    },
    ServerPreset {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        key_env: Some("OPENROUTER_API_KEY"),
        key_required: true,
        max_completion_tokens: false,
    },
    // Ollama cuts long prompts without a word: set `window` to its `num_ctx`.
    local("ollama", "http://localhost:11434/v1"),
    local("vllm", "http://localhost:8000/v1"),
    local("sglang", "http://localhost:30000/v1"),
    local("llama.cpp", "http://localhost:8080/v1"),
    local("lm-studio", "http://localhost:1234/v1"),
];

const fn local(name: &'static str, base_url: &'static str) -> ServerPreset {
    ServerPreset {
        name,
        base_url,
        key_env: None,
        key_required: false,
        max_completion_tokens: false,
    }
}

/// A model that the paper evaluated, with the context length of its Table 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelPreset {
    /// The name used in `preset = "…"`.
    pub name: &'static str,
    /// The name that servers use.
    pub model: &'static str,
    /// Context window in tokens.
    pub window: u32,
    /// The server it is reached at unless said otherwise; `None` for open models.
    pub server: Option<&'static str>,
}

/// The seven models of the paper.
pub const MODELS: [ModelPreset; 7] = [
    ModelPreset {
        name: "gpt-3.5",
        model: "gpt-3.5-turbo",
        window: 16_384,
        server: Some("openai"),
    },
    ModelPreset {
        name: "gpt-4o-mini",
        model: "gpt-4o-mini",
        window: 128_000,
        server: Some("openai"),
    },
    ModelPreset {
        name: "gpt-4o",
        model: "gpt-4o",
        window: 128_000,
        server: Some("openai"),
    },
    ModelPreset {
        name: "pmc-llama-13b",
        model: "axiong/PMC_LLaMA_13B",
        window: 2_048,
        server: None,
    },
    ModelPreset {
        name: "meditron-70b",
        model: "epfl-llm/meditron-70b",
        window: 4_096,
        server: None,
    },
    ModelPreset {
        name: "gemma-2-27b",
        model: "google/gemma-2-27b-it",
        window: 4_096,
        server: None,
    },
    ModelPreset {
        name: "llama-3-70b",
        model: "meta-llama/Meta-Llama-3-70B-Instruct",
        window: 8_192,
        server: None,
    },
];

/// The server with this name.
pub fn server(name: &str) -> Option<&'static ServerPreset> {
    SERVERS.iter().find(|preset| preset.name == name)
}

/// The model preset with this name.
pub fn model(name: &str) -> Option<&'static ModelPreset> {
    MODELS.iter().find(|preset| preset.name == name)
}

/// The context window of a model by the name servers use, dated versions (`gpt-4o-2024-08-06`) included.
pub fn window_of(model: &str) -> Option<u32> {
    let model = model.to_lowercase();
    MODELS.iter().find_map(|preset| {
        let rest = model.strip_prefix(&preset.model.to_lowercase())?;
        is_version(rest).then_some(preset.window)
    })
}

/// Whether the rest of a model's name is a date of its own family's window.
fn is_version(rest: &str) -> bool {
    // The first gpt-3.5-turbo versions had a quarter of the window.
    if ["-0301", "-0613"].contains(&rest) {
        return false;
    }
    rest.is_empty()
        || rest.strip_prefix('-').is_some_and(|date| {
            date.len() >= 4 && date.chars().all(|c| c.is_ascii_digit() || c == '-')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_table_3_and_dated_names() {
        assert_eq!(window_of("gpt-3.5-turbo"), Some(16_384));
        assert_eq!(window_of("gpt-4o-2024-08-06"), Some(128_000));
        assert_eq!(window_of("gpt-4o-mini-2024-07-18"), Some(128_000));
        assert_eq!(window_of("axiong/pmc_llama_13b"), Some(2_048));
        assert_eq!(window_of("gpt-3.5-turbo-0613"), None);
        assert_eq!(window_of("gpt-4o-audio-preview"), None);
        assert_eq!(window_of("gpt-4"), None);
    }

    #[test]
    fn model_presets_name_existing_servers() {
        for preset in MODELS {
            if let Some(name) = preset.server {
                assert!(server(name).is_some(), "{name}");
            }
        }
    }
}
