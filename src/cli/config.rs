//! `medrgb config`: show the settings and their origin, write a commented default.

use crate::cli::common::{Environment, say, say_json};
use crate::cli::settings::USER_FILE;
use crate::cli::{Failure, common};
use crate::data::output;

/// The commented default that `config init` writes.
const DEFAULT_FILE: &str = include_str!("../../assets/config.toml");

/// Arguments of `medrgb config`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What `medrgb config` does.
#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Show every setting and where its value comes from.
    Show {
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Write a commented default into your configuration folder.
    Init {
        /// Replace an existing file.
        #[arg(long)]
        force: bool,
    },
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    match args.action {
        Action::Show { json } => show(environment, json),
        Action::Init { force } => init(environment, force),
    }
}

fn show(environment: &Environment, json: bool) -> Result<(), Failure> {
    let settings = &environment.settings;
    let values = serde_json::to_value(&environment.config).map_err(Failure::failed)?;
    let mut rows = Vec::new();
    flatten("", &values, &mut rows);
    let origin = |key: &str| settings.origins.get(key).map_or("default", String::as_str);
    if json {
        let rows: serde_json::Map<_, _> = rows
            .iter()
            .map(|(key, value)| {
                (
                    key.clone(),
                    serde_json::json!({"value": value, "origin": origin(key)}),
                )
            })
            .collect();
        return say_json(&serde_json::json!({
            "settings": rows,
            "user_file": settings.user_file,
            "project_file": settings.project_file,
        }));
    }
    let width = rows
        .iter()
        .map(|(key, value)| key.len() + value.to_string().len())
        .max()
        .unwrap_or(0)
        + 5;
    for (key, value) in &rows {
        say(&format!(
            "{:<width$}# {}",
            format!("{key} = {value}"),
            origin(key)
        ))?;
    }
    let state = if settings.user_file.is_file() {
        ""
    } else {
        " (not there yet: `medrgb config init` writes it)"
    };
    say(&format!(
        "\nyour file: {}{state}",
        settings.user_file.display()
    ))
}

/// Dotted keys of all leaves.
fn flatten(prefix: &str, value: &serde_json::Value, rows: &mut Vec<(String, serde_json::Value)>) {
    match value {
        serde_json::Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let path = if prefix.is_empty() {
                    key.clone()
                } else {
                    format!("{prefix}.{key}")
                };
                flatten(&path, value, rows);
            }
        }
        leaf => rows.push((prefix.to_owned(), leaf.clone())),
    }
}

fn init(environment: &Environment, force: bool) -> Result<(), Failure> {
    let file = environment.paths.config.join(USER_FILE);
    if file.exists() && !force {
        return Err(Failure::Failed(format!(
            "{} exists already; edit it, or give --force to replace it",
            file.display()
        )));
    }
    std::fs::create_dir_all(&environment.paths.config).map_err(|error| {
        Failure::Failed(format!(
            "{} can't be made: {}",
            environment.paths.config.display(),
            output::reason(&error)
        ))
    })?;
    output::write_text(&file, DEFAULT_FILE).map_err(Failure::failed)?;
    common::note(&format!("wrote {}", file.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::Config;

    /// The commented lines of the default file, uncommented, must be valid and equal the defaults.
    #[test]
    fn the_default_file_says_the_defaults() {
        let text: String = DEFAULT_FILE
            .lines()
            .map(|line| line.strip_prefix("#= ").unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        let parsed: Config = toml::from_str(&text).unwrap();
        assert_eq!(parsed, Config::default());
        assert_eq!(
            toml::from_str::<Config>(DEFAULT_FILE).unwrap(),
            Config::default()
        );
    }
}
