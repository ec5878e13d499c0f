//! Asking a model from the command line: its flags, and the runtime that calls need.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::cli::Failure;
use crate::cli::common::{Environment, model_failure};
use crate::config::HOTTEST;
use crate::engine::models::open_model;
use crate::model::select::sampling;
use crate::model::{ChatModel, Sampling};

/// The flags that say which model is asked, and how.
#[derive(Debug, Clone, clap::Args)]
pub struct ModelArgs {
    /// A name of the config, openai:MODEL, embedded[:NAME|:FILE.gguf] or replay:RUN
    #[arg(long, short = 'm', value_name = "MODEL")]
    pub model: Option<String>,

    /// Address of an OpenAI-compatible server, such as http://localhost:8000/v1
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// Most tokens of a reply
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tokens: Option<u32>,

    /// Sampling temperature; 0 is greedy
    #[arg(long, value_name = "T", value_parser = temperature, allow_negative_numbers = true)]
    pub temperature: Option<f64>,
}

fn temperature(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=HOTTEST).contains(&value) => Ok(value),
        _ => Err(format!("a number from 0 to {HOTTEST} is expected")),
    }
}

impl ModelArgs {
    /// The model's name: the flag's, else the config's.
    pub fn name<'a>(&'a self, environment: &'a Environment) -> &'a str {
        self.model.as_deref().unwrap_or(&environment.config.model)
    }

    /// Opens the model.
    ///
    /// # Errors
    /// [`Failure`] where there is no such model or it can't be used.
    pub fn open(&self, environment: &Environment) -> Result<Arc<dyn ChatModel>, Failure> {
        let (config, paths) = (&environment.config, &environment.paths);
        open_model(
            self.name(environment),
            self.base_url.as_deref(),
            config,
            paths,
        )
        .map_err(model_failure)
    }

    /// Sampling settings: the flags', else the config's for this model.
    pub fn sampling(&self, environment: &Environment) -> Sampling {
        let general = sampling(self.name(environment), &environment.config);
        Sampling {
            max_tokens: self.max_tokens.unwrap_or(general.max_tokens),
            temperature: self.temperature.unwrap_or(general.temperature),
            ..general
        }
    }
}

/// The runtime for calls of models.
///
/// # Errors
/// [`Failure`] where the system gives no threads.
pub fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("the runtime can't be started: {error}")))
}
