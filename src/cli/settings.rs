//! Where settings come from: the built-in defaults, the user's file, the project's file, the
//! environment. Flags are applied by the commands themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::Failure;
use crate::config::{Config, HOTTEST, Paths};
use crate::domain::annotation::annotator_name;
use crate::domain::plain::plain;
use crate::domain::text::line_at;

/// File name of the user's settings in the configuration folder.
pub const USER_FILE: &str = "config.toml";
/// File name of a project's settings, looked for in the working folder and its parents.
pub const PROJECT_FILE: &str = "medrgb.toml";
/// Environment variables that set one value each: variable, key.
pub const VARIABLES: [(&str, &str); 7] = [
    ("MEDRGB_MODEL", "model"),
    ("MEDRGB_THEME", "theme"),
    ("MEDRGB_PROMPTS", "prompts"),
    ("MEDRGB_ANNOTATOR", "annotator"),
    ("MEDRGB_TAXONOMY", "taxonomy"),
    ("MEDRGB_ENCODER", "retrieval.encoder"),
    ("MEDRGB_BACKEND", "retrieval.backend"),
];

/// Settings with the origin of every value that is not a default.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The merged settings.
    pub config: Config,
    /// Dotted key → file or variable that set it last.
    pub origins: BTreeMap<String, String>,
    /// The user's file, whether or not it exists.
    pub user_file: PathBuf,
    /// The project's file, if there is one.
    pub project_file: Option<PathBuf>,
}

/// One source of settings.
struct Layer {
    origin: String,
    table: toml::Table,
}

/// The folders of this program: XDG on Linux, the platform's habit elsewhere. `MEDRGB_HOME` puts all of
/// them under one folder.
///
/// # Errors
/// When no home folder is known.
pub fn paths(env: &dyn Fn(&str) -> Option<String>) -> Result<Paths, Failure> {
    if let Some(home) = env("MEDRGB_HOME").filter(|home| !home.is_empty()) {
        let home = PathBuf::from(home);
        return Ok(Paths {
            config: home.join("config"),
            data: home.join("data"),
            cache: home.join("cache"),
            state: home.join("state"),
        });
    }
    let dirs = directories::ProjectDirs::from("", "", "medrgb").ok_or_else(|| {
        Failure::Failed(
            "no home folder is known; set HOME, or MEDRGB_HOME to a folder of your choice".into(),
        )
    })?;
    Ok(Paths {
        config: dirs.config_dir().to_owned(),
        data: dirs.data_dir().to_owned(),
        cache: dirs.cache_dir().to_owned(),
        state: dirs
            .state_dir()
            .unwrap_or_else(|| dirs.data_local_dir())
            .to_owned(),
    })
}

/// Reads and merges all sources.
///
/// # Errors
/// A file that can't be read or has a wrong field: file, line and what was expected.
pub fn load(
    paths: &Paths,
    folder: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, Failure> {
    let user_file = paths.config.join(USER_FILE);
    let project_file = folder
        .ancestors()
        .map(|dir| dir.join(PROJECT_FILE))
        .find(|file| file.is_file());
    let mut layers = Vec::new();
    if user_file.is_file() {
        layers.push(read_layer(&user_file)?);
    }
    if let Some(file) = &project_file {
        layers.push(read_project(file)?);
    }
    layers.extend(environment(env)?);
    let (config, origins) = merge(layers)?;
    check(&config, &origins)?;
    Ok(Settings {
        config,
        origins,
        user_file,
        project_file,
    })
}

/// A project's file may not say where keys are sent.
fn read_project(file: &Path) -> Result<Layer, Failure> {
    let layer = read_layer(file)?;
    if layer.table.contains_key("models") {
        return Err(Failure::Usage(format!(
            "{}: a project's file may not define models, since they decide where keys are sent; put [models] into your own {USER_FILE} (`medrgb config show` says where it is)",
            file.display()
        )));
    }
    Ok(layer)
}

fn read_layer(file: &Path) -> Result<Layer, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::Failed(format!("{} can't be read: {error}", file.display())))?;
    // Typed first: its errors carry line and column.
    toml::from_str::<Config>(&text)
        .map_err(|error| Failure::Usage(explain(file, &text, &error)))?;
    let mut table: toml::Table =
        toml::from_str(&text).map_err(|error| Failure::Usage(explain(file, &text, &error)))?;
    resolve_paths(&mut table, file);
    Ok(Layer {
        origin: file.display().to_string(),
        table,
    })
}

/// A relative path in a file means relative to that file.
fn resolve_paths(table: &mut toml::Table, file: &Path) {
    for key in ["prompts", "taxonomy"] {
        if let (Some(toml::Value::String(path)), Some(parent)) = (table.get_mut(key), file.parent())
        {
            *path = parent.join(&*path).display().to_string();
        }
    }
}

fn environment(env: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Layer>, Failure> {
    let mut layers = Vec::new();
    for (variable, key) in VARIABLES {
        let Some(value) = env(variable).filter(|value| !value.is_empty()) else {
            continue;
        };
        let mut table = toml::Table::new();
        match key.split_once('.') {
            Some((group, name)) => {
                let mut inner = toml::Table::new();
                inner.insert(name.into(), toml::Value::String(value));
                table.insert(group.into(), toml::Value::Table(inner));
            }
            None => {
                table.insert(key.into(), toml::Value::String(value));
            }
        }
        layers.push(Layer {
            origin: format!("environment variable {variable}"),
            table,
        });
    }
    Ok(layers)
}

fn merge(layers: Vec<Layer>) -> Result<(Config, BTreeMap<String, String>), Failure> {
    let mut merged = toml::Table::new();
    let mut origins = BTreeMap::new();
    for layer in layers {
        overlay(&mut merged, layer.table, "", &layer.origin, &mut origins);
    }
    let config = toml::Value::Table(merged)
        .try_into()
        .map_err(Failure::usage)?;
    Ok((config, origins))
}

/// Puts `above` over `below`, key by key, noting where each value came from.
fn overlay(
    below: &mut toml::Table,
    above: toml::Table,
    prefix: &str,
    origin: &str,
    origins: &mut BTreeMap<String, String>,
) {
    for (key, value) in above {
        let path = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(table)) => {
                overlay(inner, table, &path, origin, origins);
            }
            (_, toml::Value::Table(table)) => {
                let mut inner = toml::Table::new();
                overlay(&mut inner, table, &path, origin, origins);
                below.insert(key, toml::Value::Table(inner));
            }
            (_, value) => {
                origins.insert(path, origin.to_owned());
                below.insert(key, value);
            }
        }
    }
}

/// Values that have the right type but make no sense.
fn check(config: &Config, origins: &BTreeMap<String, String>) -> Result<(), Failure> {
    let wrong = |key: &str, expected: &str| {
        let origin = origins.get(key).map_or("the defaults", String::as_str);
        Err(Failure::Usage(format!(
            "{origin}: {key} must be {expected}"
        )))
    };
    let hot = |temperature: f64| !(0.0..=HOTTEST).contains(&temperature);
    let range = format!("a number from 0 to {HOTTEST}");
    if hot(config.temperature) {
        return wrong("temperature", &range);
    }
    for (name, model) in &config.models {
        if model.temperature.is_some_and(hot) {
            return wrong(&format!("models.{name}.temperature"), &range);
        }
        for (key, limit) in [("rpm", model.rpm), ("tpm", model.tpm)] {
            if limit == Some(0) {
                return wrong(&format!("models.{name}.{key}"), "at least 1");
            }
        }
        if model
            .top_logprobs
            .is_some_and(|most| !(1..=20).contains(&most))
        {
            return wrong(&format!("models.{name}.top_logprobs"), "from 1 to 20");
        }
    }
    if config.max_tokens == 0 {
        return wrong("max_tokens", "at least 1");
    }
    if let Some(name) = &config.annotator
        && annotator_name(name).is_none()
    {
        return wrong("annotator", "a name");
    }
    if config.retrieval.k == 0 || config.retrieval.k > 1000 {
        return wrong("retrieval.k", "from 1 to 1000");
    }
    if config
        .retrieval
        .backend
        .parse::<medrgb_encoder::BackendChoice>()
        .is_err()
    {
        return wrong("retrieval.backend", "auto, cuda, wgpu or cpu");
    }
    Ok(())
}

/// One sentence for a TOML error: file, line, what is wrong, the nearest valid name.
fn explain(file: &Path, text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| line_at(text, span.start));
    let message = plain(&error.message().trim().replace('\n', "; "));
    let hint = nearest_in(&message)
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default();
    format!("{}, line {line}: {message}{hint}", file.display())
}

/// serde names the unknown field and the valid ones in back quotes: the closest of them.
fn nearest_in(message: &str) -> Option<String> {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    nearest(unknown, names)
}

/// The candidate most like `name`, if any is like it at all.
fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn folders(root: &Path) -> Paths {
        paths(&|name| (name == "MEDRGB_HOME").then(|| root.display().to_string())).unwrap()
    }

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn later_sources_win_and_say_where_a_value_came_from() {
        let root = tempfile::tempdir().unwrap();
        let paths = folders(root.path());
        std::fs::create_dir_all(&paths.config).unwrap();
        std::fs::write(
            paths.config.join(USER_FILE),
            "theme = \"dark\"\nmodel = \"a\"\n[retrieval]\nk = 7\n",
        )
        .unwrap();
        std::fs::write(
            root.path().join(PROJECT_FILE),
            "model = \"b\"\nprompts = \"mine\"\n",
        )
        .unwrap();
        let env = |name: &str| (name == "MEDRGB_ENCODER").then(|| "minilm-l6".to_owned());
        let settings = load(&paths, root.path(), &env).unwrap();
        assert_eq!(settings.config.theme, "dark");
        assert_eq!(settings.config.model, "b");
        assert_eq!(settings.config.retrieval.k, 7);
        assert_eq!(settings.config.retrieval.encoder, "minilm-l6");
        assert_eq!(settings.config.prompts, Some(root.path().join("mine")));
        assert!(settings.origins["model"].ends_with(PROJECT_FILE));
        assert!(settings.origins["retrieval.k"].ends_with(USER_FILE));
        assert_eq!(
            settings.origins["retrieval.encoder"],
            "environment variable MEDRGB_ENCODER"
        );
        assert!(!settings.origins.contains_key("mouse"));
    }

    #[test]
    fn an_unknown_key_names_file_line_and_the_nearest_valid_one() {
        let root = tempfile::tempdir().unwrap();
        let paths = folders(root.path());
        std::fs::create_dir_all(&paths.config).unwrap();
        std::fs::write(
            paths.config.join(USER_FILE),
            "mouse = true\nteme = \"dark\"\n",
        )
        .unwrap();
        let message = load(&paths, root.path(), &nothing).unwrap_err().to_string();
        assert!(message.contains("config.toml, line 2"), "{message}");
        assert!(message.contains("did you mean `theme`?"), "{message}");
    }

    #[test]
    fn a_project_may_not_say_where_keys_go() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(
            root.path().join(PROJECT_FILE),
            "[models.x]\nbase_url = \"http://example\"\n",
        )
        .unwrap();
        let message = load(&folders(root.path()), root.path(), &nothing)
            .unwrap_err()
            .to_string();
        assert!(message.contains("may not define models"), "{message}");
    }

    #[test]
    fn senseless_values_are_refused_with_their_origin() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(PROJECT_FILE), "temperature = 9.0\n").unwrap();
        let message = load(&folders(root.path()), root.path(), &nothing)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("medrgb.toml: temperature must be"),
            "{message}"
        );
        let env = |name: &str| (name == "MEDRGB_BACKEND").then(|| "tpu".to_owned());
        std::fs::remove_file(root.path().join(PROJECT_FILE)).unwrap();
        let message = load(&folders(root.path()), root.path(), &env)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("MEDRGB_BACKEND: retrieval.backend must be"),
            "{message}"
        );
    }
}
