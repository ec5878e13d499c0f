//! A model's table of the configuration: what can't be meant is found when the file is read, not at the first call.

use url::Url;

use crate::config::{HOTTEST, ModelConfig};
use crate::domain::nearest::hint;
use crate::domain::text::short;
use crate::model::http::{MaxTokensField, ResponseFormat};
use crate::model::presets;
use crate::model::select::MOST_RETRIES;

/// The first field that can't be meant, and why: the rest of a sentence that begins with its name. The field is empty
/// where the table as a whole lacks something.
pub fn fault(model: &ModelConfig) -> Option<(&'static str, String)> {
    of_kind(model)
        .or_else(|| of_server(model))
        .or_else(|| of_numbers(model))
        .or_else(|| of_form(model))
}

/// A file or a server: which of them the model is, and whether it is said.
fn of_kind(model: &ModelConfig) -> Option<(&'static str, String)> {
    let lacks_name = || {
        let text = "does not say which model: add model = \"…\" as its server calls it, or file = \"….gguf\"";
        Some(("", text.to_owned()))
    };
    if model.file.is_some() {
        let beside = [
            ("preset", model.preset.is_some()),
            ("model", model.model.is_some()),
            ("base_url", model.base_url.is_some()),
            ("api_key_env", model.api_key_env.is_some()),
        ];
        let (field, _) = beside.into_iter().find(|(_, set)| *set)?;
        let text = "can't stand beside file, since a model from a file is not reached over HTTP; remove one of the two";
        return Some((field, text.to_owned()));
    }
    let Some(preset) = model.preset.as_deref() else {
        return match model.model {
            Some(_) => None,
            None => lacks_name(),
        };
    };
    if presets::server(preset).is_some() {
        return match model.model {
            Some(_) => None,
            None => lacks_name(),
        };
    }
    match presets::model(preset) {
        Some(known) if known.server.is_none() && model.base_url.is_none() => Some((
            "preset",
            format!(
                "is the open model \"{}\", so its server must be named: add base_url = \"…\"",
                short(preset)
            ),
        )),
        Some(_) => None,
        None => {
            let servers = presets::SERVERS.iter().map(|server| server.name);
            let models = presets::MODELS.iter().map(|model| model.name);
            let names: Vec<&str> = servers.chain(models).collect();
            let text = format!(
                "\"{}\" is not known; {}",
                short(preset),
                hint(preset, &names)
            );
            Some(("preset", text))
        }
    }
}

/// Address and key. Neither is quoted: either may hold a password.
fn of_server(model: &ModelConfig) -> Option<(&'static str, String)> {
    if model
        .model
        .as_deref()
        .is_some_and(|id| id.trim().is_empty())
    {
        let text = "must be the name that the server gives the model, but is empty";
        return Some(("model", text.to_owned()));
    }
    if let Some(wrong) = model.base_url.as_deref().and_then(wrong_address) {
        return Some(("base_url", wrong.to_owned()));
    }
    let key = model.api_key_env.as_deref()?;
    (!is_variable(key)).then(|| {
        let text = "must be the name of an environment variable, such as MY_SERVER_KEY, and never the key itself";
        ("api_key_env", text.to_owned())
    })
}

fn wrong_address(address: &str) -> Option<&'static str> {
    let Ok(url) = Url::parse(address.trim()) else {
        return Some("must be an address such as http://localhost:8000/v1");
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Some("must begin with http:// or https:// and name a host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some(
            "must not hold a name or a password; put the key into an environment variable and its name into api_key_env",
        );
    }
    None
}

/// Whether this can be the name of an environment variable (and is not a key, which holds other characters or
/// begins like one).
fn is_variable(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    starts && plain && name.len() <= 64
}

fn of_numbers(model: &ModelConfig) -> Option<(&'static str, String)> {
    let counts = [
        ("window", model.window),
        ("max_tokens", model.max_tokens),
        ("rpm", model.rpm),
        ("tpm", model.tpm),
    ];
    if let Some((field, _)) = counts.iter().find(|(_, count)| *count == Some(0)) {
        return Some((field, "must be at least 1, but is 0".to_owned()));
    }
    let outside = |range: std::ops::RangeInclusive<f64>, value: Option<f64>| {
        value.filter(|value| !range.contains(value))
    };
    if let Some(found) = outside(0.0..=HOTTEST, model.temperature) {
        let text = format!("must be a number from 0 to {HOTTEST}, but is {found}");
        return Some(("temperature", text));
    }
    if let Some(found) = model.top_p.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
        let text = format!("must be more than 0 and at most 1, but is {found}");
        return Some(("top_p", text));
    }
    for (field, price) in [("price_in", model.price_in), ("price_out", model.price_out)] {
        if let Some(found) = outside(0.0..=f64::MAX, price) {
            let text = format!("must be dollars per million tokens, 0 or more, but is {found}");
            return Some((field, text));
        }
    }
    if let Some(found) = model.retries.filter(|count| *count > MOST_RETRIES) {
        let text = format!("must be from 0 to {MOST_RETRIES}, but is {found}");
        return Some(("retries", text));
    }
    let most = model.top_logprobs.filter(|most| !(1..=20).contains(most))?;
    let text = format!("must be from 1 to 20, but is {most}");
    Some(("top_logprobs", text))
}

fn of_form(model: &ModelConfig) -> Option<(&'static str, String)> {
    if let Some(found) = model.response_format.as_deref()
        && found.parse::<ResponseFormat>().is_err()
    {
        let valid = ["none", "json_object", "json_schema"];
        return Some(("response_format", not_one_of(found, &valid)));
    }
    if let Some(found) = model.max_tokens_field.as_deref()
        && found.parse::<MaxTokensField>().is_err()
    {
        let valid = ["max_tokens", "max_completion_tokens"];
        return Some(("max_tokens_field", not_one_of(found, &valid)));
    }
    None
}

fn not_one_of(found: &str, valid: &[&str]) -> String {
    let (last, others) = valid.split_last().unwrap_or((&"", &[]));
    format!(
        "must be {} or {last}, but is \"{}\"; {}",
        others.join(", "),
        short(found),
        hint(found, valid)
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn said(text: &str) -> Option<(&'static str, String)> {
        fault(&toml::from_str::<ModelConfig>(text).unwrap())
    }

    #[test]
    fn what_can_be_meant_passes() {
        for text in [
            "model = \"m\"",
            "preset = \"vllm\"\nmodel = \"m\"\nbase_url = \"https://host/v1\"\napi_key_env = \"LAB_KEY\"\nretries = 0",
            "preset = \"gpt-4o\"\ntop_p = 1.0\nprice_in = 0.0\ntop_logprobs = 20",
            "preset = \"llama-3-70b\"\nbase_url = \"http://127.0.0.1:9/v1\"",
            "file = \"m.gguf\"\nwindow = 512\nresponse_format = \"none\"",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_in_the_place_of_its_variable_is_never_quoted() {
        for key in ["sk-proj-abc123", "Bearer 1234", ""] {
            let (field, why) = said(&format!("model = \"m\"\napi_key_env = \"{key}\"")).unwrap();
            assert_eq!(field, "api_key_env");
            assert!(key.is_empty() || !why.contains(key), "{why}");
        }
        let (field, why) = said("model = \"m\"\nbase_url = \"http://me:secret@host/v1\"").unwrap();
        assert_eq!(field, "base_url");
        assert!(!why.contains("secret"), "{why}");
    }
}
