//! Which model a name means: names of the config, `openai:MODEL`, `embedded`, `replay:RUN`.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::config::{Config, ModelConfig};
use crate::domain::text::short;
use crate::model::http::{HttpSettings, MaxTokensField, ResponseFormat, RetryPolicy, Secret};
use crate::model::presets::{self, ServerPreset};
use crate::model::{FailureKind, ModelError, Sampling};

/// The embedded model that is used when no name is given.
pub const DEFAULT_EMBEDDED: &str = "qwen2.5-coder-0.5b";

/// Most attempts after the first that a config may ask for.
pub(crate) const MOST_RETRIES: u32 = 100;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Selected {
    /// A model on an OpenAI-compatible server.
    Http(Box<HttpSettings>),
    /// A GGUF model in this process.
    Embedded(EmbeddedSpec),
    /// A recorded run.
    Replay(String),
}

/// Which embedded model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedSpec {
    /// The name shown and stored.
    pub name: String,
    /// A known model, or a file.
    pub source: EmbeddedSource,
    /// Context window in tokens, where the config sets one.
    pub window: Option<u32>,
}

/// Where an embedded model comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddedSource {
    /// A model that `medrgb models list` names.
    Known(String),
    /// A GGUF file of the user.
    File(PathBuf),
}

/// Finds out what `name` means. `base_url` is the flag; `env` reads a variable of the environment.
///
/// # Errors
/// [`FailureKind::NotFound`] for a name that means nothing, with the nearest known names;
/// [`FailureKind::BadRequest`] for a setting that can't be used.
pub fn resolve(
    name: &str,
    base_url: Option<&str>,
    config: &Config,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Selected, ModelError> {
    let selected = if let Some(model) = config.models.get(name) {
        from_config(name, model, base_url, env)?
    } else if name == "embedded" {
        Selected::Embedded(embedded(DEFAULT_EMBEDDED, None))
    } else {
        match name.split_once(':') {
            Some((prefix, "")) if is_prefix(prefix) => {
                return Err(refused(format!(
                    "the model \"{name}\" lacks what comes after the colon; write {}",
                    example(prefix),
                    name = short(name)
                )));
            }
            Some(("embedded", rest)) => Selected::Embedded(embedded(rest, None)),
            Some(("replay", run)) => Selected::Replay(run.to_owned()),
            Some((prefix, model)) => match presets::server(prefix) {
                Some(server) => {
                    Selected::Http(Box::new(on_server(name, model, server, base_url, env)))
                }
                None => return Err(unknown(name, config)),
            },
            None => return Err(unknown(name, config)),
        }
    };
    match (&selected, base_url) {
        (Selected::Http(_), _) | (_, None) => Ok(selected),
        (_, Some(_)) => Err(refused(format!(
            "--base-url has no meaning for \"{name}\", which is not reached over HTTP; leave it out or use openai:MODEL",
            name = short(name)
        ))),
    }
}

/// The sampling settings for a model: those of its config entry over the general ones.
pub fn sampling(name: &str, config: &Config) -> Sampling {
    let model = config.models.get(name).cloned().unwrap_or_default();
    Sampling {
        temperature: model.temperature.unwrap_or(config.temperature),
        top_p: model.top_p,
        seed: model.seed,
        max_tokens: model.max_tokens.unwrap_or(config.max_tokens),
    }
}

/// `openai:MODEL` and the other servers known by name.
fn on_server(
    name: &str,
    model: &str,
    server: &ServerPreset,
    base_url: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> HttpSettings {
    let address = base_url
        .map(str::to_owned)
        .or_else(|| openai_base_url(server, env))
        .unwrap_or_else(|| server.base_url.to_owned());
    let mut settings = HttpSettings::new(name, &address, model);
    settings.window = presets::window_of(model);
    apply_server(&mut settings, server, None, env);
    settings
}

/// A model of the config file.
fn from_config(
    name: &str,
    model: &ModelConfig,
    base_url: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Selected, ModelError> {
    if let Some(file) = &model.file {
        return Ok(Selected::Embedded(EmbeddedSpec {
            name: name.to_owned(),
            source: EmbeddedSource::File(file.clone()),
            window: model.window,
        }));
    }
    let (server, known) = preset(name, model)?;
    let id = model
        .model
        .as_deref()
        .or(known.map(|known| known.model))
        .ok_or_else(|| {
            refused(format!(
                "[models.{name}] does not say which model: add `model = \"…\"` as its server calls it, or `file = \"….gguf\"`"
            ))
        })?;
    let address = base_url
        .map(str::to_owned)
        .or_else(|| model.base_url.clone())
        .or_else(|| openai_base_url(server, env))
        .unwrap_or_else(|| server.base_url.to_owned());
    let mut settings = HttpSettings::new(name, &address, id);
    settings.window = model
        .window
        .or(known.map(|known| known.window))
        .or_else(|| presets::window_of(id));
    apply_server(&mut settings, server, model.api_key_env.as_deref(), env);
    if let Some(format) = &model.response_format {
        settings.response_format = format
            .parse::<ResponseFormat>()
            .map_err(|wrong| refused(format!("[models.{name}] response_format: {wrong}")))?;
    }
    if let Some(field) = &model.max_tokens_field {
        settings.max_tokens_field = field
            .parse::<MaxTokensField>()
            .map_err(|wrong| refused(format!("[models.{name}] max_tokens_field: {wrong}")))?;
    }
    if let Some(retries) = model.retries {
        settings.retry = RetryPolicy {
            retries: retries.min(MOST_RETRIES),
            ..settings.retry
        };
    }
    settings.top_logprobs = model.top_logprobs;
    settings.extra = extra(name, model)?;
    Ok(Selected::Http(Box::new(settings)))
}

/// The server and, where the preset names a model of the paper, that model.
fn preset(
    name: &str,
    model: &ModelConfig,
) -> Result<(&'static ServerPreset, Option<&'static presets::ModelPreset>), ModelError> {
    let openai = &presets::SERVERS[0];
    let Some(wanted) = model.preset.as_deref() else {
        return Ok((openai, None));
    };
    if let Some(server) = presets::server(wanted) {
        return Ok((server, None));
    }
    if let Some(known) = presets::model(wanted) {
        let server = known.server.and_then(presets::server);
        if server.is_none() && model.base_url.is_none() {
            return Err(refused(format!(
                "[models.{name}] preset \"{wanted}\" is an open model, so its server must be named: add `base_url = \"…\"`",
                wanted = short(wanted)
            )));
        }
        return Ok((server.unwrap_or(openai), Some(known)));
    }
    let names = presets::SERVERS
        .iter()
        .map(|server| server.name)
        .chain(presets::MODELS.iter().map(|known| known.name));
    Err(refused(format!(
        "[models.{name}] preset \"{wanted}\" is not known; {}",
        suggestion(wanted, names),
        wanted = short(wanted)
    )))
}

/// `OPENAI_BASE_URL`, which only stands in for OpenAI's own address.
fn openai_base_url(server: &ServerPreset, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    (server.name == "openai").then(|| variable(env, "OPENAI_BASE_URL"))?
}

/// Sets key and peculiarities by the server.
fn apply_server(
    settings: &mut HttpSettings,
    server: &ServerPreset,
    key_env: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) {
    // At another address the server is some other one, which may need no key.
    let own_address = settings.base_url.trim_end_matches('/') == server.base_url;
    settings.key_env = key_env.or(server.key_env).map(str::to_owned);
    settings.key = settings
        .key_env
        .as_deref()
        .and_then(|name| variable(env, name))
        .map(|key| Secret::new(&key));
    settings.key_required = key_env.is_some() || (server.key_required && own_address);
    if server.max_completion_tokens && own_address {
        settings.max_tokens_field = MaxTokensField::MaxCompletionTokens;
    }
}

/// A variable that is set and not blank.
fn variable(env: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    env(name).filter(|value| !value.trim().is_empty())
}

/// Further fields of the body as JSON.
fn extra(name: &str, model: &ModelConfig) -> Result<Map<String, Value>, ModelError> {
    model
        .extra
        .iter()
        .map(|(key, value)| match serde_json::to_value(value) {
            Ok(value) => Ok((key.clone(), value)),
            Err(wrong) => Err(refused(format!(
                "[models.{name}] extra.{key} can't be written as JSON: {wrong}"
            ))),
        })
        .collect()
}

/// An embedded model by name or file.
fn embedded(text: &str, window: Option<u32>) -> EmbeddedSpec {
    let is_file = text.to_lowercase().ends_with(".gguf");
    EmbeddedSpec {
        name: format!("embedded:{text}"),
        source: if is_file {
            EmbeddedSource::File(PathBuf::from(text))
        } else {
            EmbeddedSource::Known(text.to_owned())
        },
        window,
    }
}

fn is_prefix(prefix: &str) -> bool {
    prefix == "embedded" || prefix == "replay" || presets::server(prefix).is_some()
}

fn example(prefix: &str) -> String {
    match prefix {
        "embedded" => "embedded, embedded:NAME or embedded:FILE.gguf".to_owned(),
        "replay" => "replay:RUN with the name of a stored run".to_owned(),
        _ => format!("{prefix}:MODEL with the model's name on the server"),
    }
}

fn refused(message: String) -> ModelError {
    ModelError {
        attempts: 0,
        ..ModelError::new(FailureKind::BadRequest, message)
    }
}

fn unknown(name: &str, config: &Config) -> ModelError {
    let known = config
        .models
        .keys()
        .map(String::as_str)
        .chain(["embedded", "openai:MODEL", "replay:RUN"])
        .chain(presets::SERVERS.iter().map(|server| server.name));
    let message = format!(
        "no model is called \"{name}\"; {}; a name of the config file, openai:MODEL (with --base-url), embedded, embedded:FILE.gguf or replay:RUN is expected",
        suggestion(name, known),
        name = short(name)
    );
    ModelError {
        attempts: 0,
        ..ModelError::new(FailureKind::NotFound, message)
    }
}

/// "nearest known: a, b", at most three names.
fn suggestion<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<(usize, &str)> = known
        .map(|name| (distance(&wanted.to_lowercase(), &name.to_lowercase()), name))
        .collect();
    names.sort();
    names.dedup();
    let nearest: Vec<&str> = names.iter().take(3).map(|(_, name)| *name).collect();
    format!("nearest known: {}", nearest.join(", "))
}

/// Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn config(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    fn http(selected: Selected) -> HttpSettings {
        match selected {
            Selected::Http(settings) => *settings,
            other => panic!("{other:?} is not HTTP"),
        }
    }

    fn no_env(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn openai_takes_the_flag_then_the_environment_then_the_preset() {
        let env = |name: &str| match name {
            "OPENAI_BASE_URL" => Some("http://127.0.0.1:1/v1".to_owned()),
            "OPENAI_API_KEY" => Some("sk-test-key".to_owned()),
            _ => None,
        };
        let config = Config::default();
        let flag = http(resolve("openai:m", Some("http://127.0.0.1:2/v1"), &config, &env).unwrap());
        assert_eq!(flag.base_url, "http://127.0.0.1:2/v1");
        assert_eq!(flag.key, Some(Secret::new("sk-test-key")));
        assert!(!format!("{flag:?}").contains("sk-test-key"));
        let from_env = http(resolve("openai:m", None, &config, &env).unwrap());
        assert_eq!(from_env.base_url, "http://127.0.0.1:1/v1");
        assert!(!from_env.key_required);
        let preset = http(resolve("openai:gpt-4o", None, &config, &no_env).unwrap());
        assert_eq!(preset.base_url, "https://api.openai.com/v1");
        assert_eq!(preset.window, Some(128_000));
        assert!(preset.key_required && preset.key.is_none());
        assert_eq!(preset.max_tokens_field, MaxTokensField::MaxCompletionTokens);
    }

    #[test]
    fn a_model_name_may_hold_colons() {
        let settings =
            http(resolve("ollama:llama3:70b", None, &Config::default(), &no_env).unwrap());
        assert_eq!(settings.model, "llama3:70b");
        assert_eq!(settings.base_url, "http://localhost:11434/v1");
        assert_eq!(settings.key_env, None);
    }

    #[test]
    fn embedded_and_replay() {
        let config = Config::default();
        let named = |name: &str| resolve(name, None, &config, &no_env).unwrap();
        assert_eq!(
            named("embedded"),
            Selected::Embedded(EmbeddedSpec {
                name: "embedded:qwen2.5-coder-0.5b".into(),
                source: EmbeddedSource::Known(DEFAULT_EMBEDDED.into()),
                window: None,
            })
        );
        assert!(matches!(
            named("embedded:/tmp/A.GGUF"),
            Selected::Embedded(EmbeddedSpec { source: EmbeddedSource::File(path), .. }) if path.as_os_str() == "/tmp/A.GGUF"
        ));
        assert_eq!(
            named("replay:night run"),
            Selected::Replay("night run".into())
        );
        let wrong = resolve("embedded", Some("http://h"), &config, &no_env).unwrap_err();
        assert_eq!(wrong.kind, FailureKind::BadRequest);
        for bare in ["openai:", "embedded:", "replay:"] {
            let wrong = resolve(bare, None, &config, &no_env).unwrap_err();
            assert!(wrong.message.contains("after the colon"), "{wrong}");
        }
    }

    #[test]
    fn config_entries_override_presets() {
        let config = config(
            r#"
            temperature = 0.2
            max_tokens = 77
            [models.lab]
            preset = "vllm"
            model = "Qwen/Qwen3-8B"
            api_key_env = "LAB_KEY"
            response_format = "json_schema"
            max_tokens_field = "max_completion_tokens"
            retries = 0
            window = 9000
            top_p = 0.5
            extra = { chat_template_kwargs = { enable_thinking = false } }
            [models.old]
            preset = "gpt-3.5"
            temperature = 1.0
            [models.open]
            preset = "llama-3-70b"
            base_url = "http://127.0.0.1:9/v1"
            [models.disk]
            file = "m.gguf"
            window = 512
            "#,
        );
        let env = |name: &str| (name == "LAB_KEY").then(|| "k-123456".to_owned());
        let lab = http(resolve("lab", None, &config, &env).unwrap());
        assert_eq!(lab.base_url, "http://localhost:8000/v1");
        assert_eq!((lab.window, lab.retry.retries), (Some(9000), 0));
        assert_eq!(lab.key, Some(Secret::new("k-123456")));
        assert_eq!(lab.response_format, ResponseFormat::JsonSchema);
        assert_eq!(lab.max_tokens_field, MaxTokensField::MaxCompletionTokens);
        assert_eq!(lab.extra["chat_template_kwargs"]["enable_thinking"], false);
        assert_eq!(sampling("lab", &config).top_p, Some(0.5));
        assert_eq!(sampling("lab", &config).max_tokens, 77);
        assert_eq!(sampling("old", &config).temperature, 1.0);
        assert_eq!(sampling("openai:x", &config).temperature, 0.2);
        assert_eq!(
            http(resolve("old", None, &config, &env).unwrap()).model,
            "gpt-3.5-turbo"
        );
        assert_eq!(
            http(resolve("open", None, &config, &env).unwrap()).window,
            Some(8192)
        );
        assert!(matches!(
            resolve("disk", None, &config, &env).unwrap(),
            Selected::Embedded(EmbeddedSpec {
                window: Some(512),
                ..
            })
        ));
    }

    #[test]
    fn wrong_names_get_the_nearest_known_ones() {
        let config = config(
            "[models.meditron]\nmodel = \"m\"\n[models.bad]\npreset = \"olama\"\n[models.none]\n",
        );
        let wrong = resolve("meditrom", None, &config, &no_env).unwrap_err();
        assert_eq!(wrong.kind, FailureKind::NotFound);
        assert!(wrong.message.contains("nearest known: meditron"), "{wrong}");
        let wrong = resolve("bad", None, &config, &no_env).unwrap_err();
        assert!(wrong.message.contains("nearest known: ollama"), "{wrong}");
        let wrong = resolve("none", None, &config, &no_env).unwrap_err();
        assert!(wrong.message.contains("[models.none]"), "{wrong}");
    }
}
