//! `medrgb config`: show the settings and their origin, write a commented default.

use crate::cli::common::{Environment, say, say_json};
use crate::cli::settings::USER_FILE;
use crate::cli::{Explorer, Failure, KeyRow, common};
use crate::data::output;
use crate::domain::text::{escaped, one_line};

/// The commented default that `config init` writes, without the keys.
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
pub fn run(args: Args, environment: &Environment, explorer: Explorer) -> Result<(), Failure> {
    match args.action {
        Action::Show { json } => show(environment, &(explorer.faults)(environment), json),
        Action::Init { force } => init(environment, &default_file(&(explorer.keys)()), force),
    }
}

fn show(environment: &Environment, faults: &[String], json: bool) -> Result<(), Failure> {
    let settings = &environment.settings;
    let values = serde_json::to_value(&environment.config).map_err(Failure::failed)?;
    let mut rows = Vec::new();
    flatten("", &values, &mut rows);
    let origin = |key: &str| settings.origins.get(key).map_or("default", String::as_str);
    if json {
        let rows: serde_json::Map<_, _> = rows
            .iter()
            .map(|(key, value)| {
                let line = settings.lines.get(key);
                (
                    key.clone(),
                    serde_json::json!({"value": value, "origin": origin(key), "line": line}),
                )
            })
            .collect();
        return say_json(&serde_json::json!({
            "settings": rows,
            "user_file": settings.user_file,
            "project_file": settings.project_file,
            "problems": faults,
        }));
    }
    // Names and places come from files too; an escape shows what is wrong with them.
    let lines: Vec<(String, String)> = rows
        .iter()
        .map(|(key, value)| {
            let place = settings.place(key).unwrap_or_else(|| "default".to_owned());
            (escaped(&format!("{key} = {value}")), escaped(&place))
        })
        .collect();
    let widths = lines.iter().map(|(set, _)| set.chars().count());
    let width = widths.max().unwrap_or(0) + 2;
    for (set, place) in &lines {
        say(&format!("{set:<width$}# {place}"))?;
    }
    let state = if settings.user_file.is_file() {
        ""
    } else {
        " (not there yet: `medrgb config init` writes it)"
    };
    say(&format!(
        "\nyour file: {}{state}",
        escaped(&settings.user_file.display().to_string())
    ))?;
    if !faults.is_empty() {
        say("\nwhat is wrong:")?;
    }
    for fault in faults {
        say(&format!("  {}", one_line(fault)))?;
    }
    Ok(())
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

/// The commented default with every key of the explorer.
fn default_file(keys: &[KeyRow]) -> String {
    let mut text = DEFAULT_FILE.to_owned();
    text.push_str(
        "\n# Keys of the explorer: a command's name and its keys. A key is one character, or enter, esc, tab, backspace, space,\n# up, down, left, right, home, end, pageup, pagedown, delete, insert, f1 … f12, with ctrl-, alt- or shift- before it.\n# [] takes a command its keys; it can still be chosen by name (`:` in the explorer).\n#= [keys]\n",
    );
    for row in keys {
        let names: Vec<String> = row.keys.iter().map(|key| quoted(key)).collect();
        let set = format!("#= {} = [{}]", row.name, names.join(", "));
        text.push_str(&format!("{set:<44} # {}\n", row.help));
    }
    text
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn init(environment: &Environment, text: &str, force: bool) -> Result<(), Failure> {
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
    output::write_text(&file, text).map_err(Failure::failed)?;
    let written = escaped(&file.display().to_string());
    common::note(&format!("wrote {written}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::{Config, ModelConfig};

    const KEYS: [KeyRow; 1] = [KeyRow {
        name: "ask",
        keys: &["a", "\\", "\""],
        help: "ask the model",
    }];

    fn uncommented(mark: &str) -> String {
        let file = default_file(&KEYS);
        let lines = file
            .lines()
            .map(|line| line.strip_prefix(mark).unwrap_or(line));
        lines.map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_default_file_says_the_defaults() {
        let untouched: Config = toml::from_str(&default_file(&KEYS)).unwrap();
        assert_eq!(untouched, Config::default());
        let mut parsed: Config = toml::from_str(&uncommented("#= ")).unwrap();
        let keys = parsed.keys.remove("ask").unwrap();
        assert_eq!(keys, KEYS[0].keys);
        assert_eq!(parsed, Config::default());
    }

    /// With the examples too, the file is valid and leaves no setting out.
    #[test]
    fn the_default_file_names_every_setting() {
        let file = default_file(&KEYS);
        let examples: String = file
            .lines()
            .map(|line| {
                line.strip_prefix("#= ")
                    .or(line.strip_prefix("#: "))
                    .unwrap_or(line)
            })
            .map(|line| format!("{line}\n"))
            .collect();
        let parsed: Config = toml::from_str(&examples).unwrap();
        assert_eq!(parsed.models.len(), 2);
        let set: toml::Table = toml::from_str(&examples).unwrap();
        let names = |value: serde_json::Value| -> Vec<String> {
            value.as_object().unwrap().keys().cloned().collect()
        };
        for name in names(serde_json::to_value(Config::default()).unwrap()) {
            assert!(set.contains_key(&name), "{name} is missing");
        }
        let models = set["models"].as_table().unwrap();
        for name in names(serde_json::to_value(ModelConfig::default()).unwrap()) {
            let found = models
                .values()
                .any(|model| model.as_table().unwrap().contains_key(&name));
            assert!(found, "models.….{name} is missing");
        }
        for (name, model) in &parsed.models {
            assert_eq!(crate::model::entry::fault(model), None, "{name}");
        }
    }
}
