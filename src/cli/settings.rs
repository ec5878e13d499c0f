//! Where settings come from: the built-in defaults, the user's file, the project's file, the
//! environment. Flags are applied by the commands themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::Failure;
use crate::config::{Config, HOTTEST, Paths};
use crate::domain::annotation::annotator_name;
use crate::domain::text::{fault_of_name, short, visible};
use crate::domain::toml_file;
use crate::model::entry;
use crate::source::small_text;

/// File name of the user's settings in the configuration folder.
pub const USER_FILE: &str = "config.toml";
/// File name of a project's settings, looked for in the working folder and its parents.
pub const PROJECT_FILE: &str = "medrgb.toml";
/// Environment variables that set one value each: variable, key.
pub const VARIABLES: [(&str, &str); 8] = [
    ("MEDRGB_MODEL", "model"),
    ("MEDRGB_THEME", "theme"),
    ("MEDRGB_PROMPTS", "prompts"),
    ("MEDRGB_ANNOTATOR", "annotator"),
    ("MEDRGB_TAXONOMY", "taxonomy"),
    ("MEDRGB_REDUCED_MOTION", "reduced_motion"),
    ("MEDRGB_ENCODER", "retrieval.encoder"),
    ("MEDRGB_BACKEND", "retrieval.backend"),
];
/// Those of them that are switches.
const SWITCHES: [&str; 1] = ["reduced_motion"];
/// Most bytes of a file with settings; what is larger was named by mistake.
const LARGEST_FILE: u64 = 1 << 18;

/// Settings with the origin of every value that is not a default.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The merged settings.
    pub config: Config,
    /// Dotted key → file or variable that set it last.
    pub origins: BTreeMap<String, String>,
    /// Dotted key → its line in the file that set it last.
    pub lines: BTreeMap<String, usize>,
    /// The user's file, whether or not it exists.
    pub user_file: PathBuf,
    /// The project's file, if there is one.
    pub project_file: Option<PathBuf>,
}

impl Settings {
    /// Where a value was set: file and line, or the variable; `None` for a default.
    pub fn place(&self, key: &str) -> Option<String> {
        place(key, &self.origins, &self.lines)
    }
}

/// One source of settings.
struct Layer {
    origin: String,
    table: toml::Table,
    /// Dotted key → line.
    lines: BTreeMap<String, usize>,
}

/// What all sources make together.
#[derive(Default)]
struct Merged {
    table: toml::Table,
    origins: BTreeMap<String, String>,
    lines: BTreeMap<String, usize>,
}

/// The folders of this program: XDG on Linux, the platform's habit elsewhere. `MEDRGB_HOME` puts all of
/// them under one folder.
///
/// # Errors
/// When no home folder is known, or `MEDRGB_HOME` names something that is no folder.
pub fn paths(env: &dyn Fn(&str) -> Option<String>) -> Result<Paths, Failure> {
    if let Some(home) = env("MEDRGB_HOME").filter(|home| !home.is_empty()) {
        let home = PathBuf::from(home);
        if home.exists() && !home.is_dir() {
            return Err(Failure::Usage(format!(
                "MEDRGB_HOME is {}, which is no folder; set it to a folder, which is made where there is none",
                home.display()
            )));
        }
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
    } else if user_file.exists() {
        return Err(Failure::Usage(format!(
            "{} is not a file; move it away, and `medrgb config init` writes one with settings",
            user_file.display()
        )));
    }
    if let Some(file) = &project_file {
        layers.push(read_project(file)?);
    }
    layers.extend(environment(env)?);
    let merged = merge(layers);
    let config: Config = toml::Value::Table(merged.table)
        .try_into()
        .map_err(Failure::usage)?;
    if let Some((key, why)) = fault(&config) {
        let place = place(&key, &merged.origins, &merged.lines);
        let place = place.as_deref().unwrap_or("the defaults");
        return Err(Failure::Usage(format!("{place}: {} {why}", visible(&key))));
    }
    Ok(Settings {
        config,
        origins: merged.origins,
        lines: merged.lines,
        user_file,
        project_file,
    })
}

/// Where a key was set; of one that stands nowhere itself (`models.x.model` is missing) where its table does.
fn place(
    key: &str,
    origins: &BTreeMap<String, String>,
    lines: &BTreeMap<String, usize>,
) -> Option<String> {
    let mut name = key;
    loop {
        match (origins.get(name), lines.get(name)) {
            (Some(origin), Some(line)) => return Some(format!("{origin}, line {line}")),
            (Some(origin), None) => return Some(origin.clone()),
            _ => name = name.rsplit_once('.')?.0,
        }
    }
}

/// A project's file may not say where keys are sent.
fn read_project(file: &Path) -> Result<Layer, Failure> {
    let layer = read_layer(file)?;
    if layer.table.contains_key("models") {
        let line = layer.lines.get("models").copied().unwrap_or(1);
        return Err(Failure::Usage(format!(
            "{}, line {line}: a project's file may not define models, since they decide where keys are sent; put [models] into your own {USER_FILE} (`medrgb config show` says where it is)",
            file.display()
        )));
    }
    Ok(layer)
}

fn read_layer(file: &Path) -> Result<Layer, Failure> {
    let text = read_text(file)?;
    let origin = file.display().to_string();
    let wrong = |error: toml::de::Error| Failure::Usage(toml_file::explain(&origin, &text, &error));
    // Typed first: its errors carry the place.
    toml::from_str::<Config>(&text).map_err(wrong)?;
    let mut table: toml::Table = toml::from_str(&text).map_err(wrong)?;
    resolve_paths(&mut table, file);
    Ok(Layer {
        lines: toml_file::lines(&text),
        origin,
        table,
    })
}

/// The text of a file with settings.
fn read_text(file: &Path) -> Result<String, Failure> {
    small_text(file, LARGEST_FILE).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => Failure::usage(error),
        _ => Failure::failed(error),
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
        let value = match SWITCHES.contains(&key) {
            true => toml::Value::Boolean(switch(variable, &value)?),
            false => toml::Value::String(value),
        };
        let mut table = toml::Table::new();
        match key.split_once('.') {
            Some((group, name)) => {
                let mut inner = toml::Table::new();
                inner.insert(name.into(), value);
                table.insert(group.into(), toml::Value::Table(inner));
            }
            None => {
                table.insert(key.into(), value);
            }
        }
        layers.push(Layer {
            origin: format!("environment variable {variable}"),
            table,
            lines: BTreeMap::new(),
        });
    }
    Ok(layers)
}

/// A variable that is on or off.
fn switch(variable: &str, value: &str) -> Result<bool, Failure> {
    match value.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(Failure::Usage(format!(
            "environment variable {variable} must be 1 or 0, but is \"{}\"",
            short(value)
        ))),
    }
}

fn merge(layers: Vec<Layer>) -> Merged {
    let mut merged = Merged::default();
    for layer in layers {
        let Layer {
            origin,
            table,
            lines,
        } = layer;
        let mut set = |path: &str| {
            merged.origins.insert(path.to_owned(), origin.clone());
            match lines.get(path) {
                Some(line) => merged.lines.insert(path.to_owned(), *line),
                None => merged.lines.remove(path),
            };
        };
        overlay(&mut merged.table, table, "", &mut set);
    }
    merged
}

/// Puts `above` over `below`, key by key, and tells the dotted name of each value and table that was set.
fn overlay(below: &mut toml::Table, above: toml::Table, prefix: &str, set: &mut dyn FnMut(&str)) {
    for (key, value) in above {
        let path = match prefix {
            "" => key.clone(),
            _ => format!("{prefix}.{key}"),
        };
        set(&path);
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(table)) => {
                overlay(inner, table, &path, set);
            }
            (_, toml::Value::Table(table)) => {
                let mut inner = toml::Table::new();
                overlay(&mut inner, table, &path, set);
                below.insert(key, toml::Value::Table(inner));
            }
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// The first value of the right type that makes no sense: its key and what it must be.
fn fault(config: &Config) -> Option<(String, String)> {
    general(config)
        .map(|(key, why)| (key.to_owned(), why))
        .or_else(|| config.models.iter().find_map(model_fault))
}

fn model_fault((name, model): (&String, &crate::config::ModelConfig)) -> Option<(String, String)> {
    if let Some(why) = fault_of_name(name) {
        return Some((format!("models.{name}"), format!("is no name: {why}")));
    }
    let (field, why) = entry::fault(model)?;
    let key = match field {
        "" => format!("models.{name}"),
        _ => format!("models.{name}.{field}"),
    };
    Some((key, why))
}

fn general(config: &Config) -> Option<(&'static str, String)> {
    let retrieval = &config.retrieval;
    let backend = retrieval.backend.parse::<medrgb_encoder::BackendChoice>();
    let named = |text: &str| !text.trim().is_empty();
    let rules = [
        (
            named(&config.model),
            "model",
            "the name of a model, such as embedded".to_owned(),
            "empty".to_owned(),
        ),
        (
            (0.0..=HOTTEST).contains(&config.temperature),
            "temperature",
            format!("a number from 0 to {HOTTEST}"),
            config.temperature.to_string(),
        ),
        (
            config.max_tokens > 0,
            "max_tokens",
            "at least 1".to_owned(),
            config.max_tokens.to_string(),
        ),
        (
            config
                .annotator
                .as_deref()
                .is_none_or(|name| annotator_name(name).is_some()),
            "annotator",
            "a name".to_owned(),
            "empty".to_owned(),
        ),
        (
            (1..=1000).contains(&retrieval.k),
            "retrieval.k",
            "from 1 to 1000".to_owned(),
            retrieval.k.to_string(),
        ),
        (
            named(&retrieval.encoder),
            "retrieval.encoder",
            "auto, the name of an encoder or a folder".to_owned(),
            "empty".to_owned(),
        ),
        (
            backend.is_ok(),
            "retrieval.backend",
            "auto, cuda, wgpu or cpu".to_owned(),
            format!("\"{}\"", short(&retrieval.backend)),
        ),
    ];
    let broken = rules.into_iter().find(|(fine, ..)| !fine);
    broken.map(|(_, key, expected, found)| (key, format!("must be {expected}, but is {found}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_home_that_is_no_folder_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let home = file.path().display().to_string();
        let Err(Failure::Usage(why)) = paths(&|name| (name == "MEDRGB_HOME").then(|| home.clone()))
        else {
            panic!("a file is no home");
        };
        assert!(why.contains("no folder") && why.contains(&home), "{why}");
    }

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
        let place = settings.place("retrieval.k").unwrap();
        assert!(place.ends_with("config.toml, line 4"), "{place}");
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
        assert!(message.contains("did you mean \"theme\"?"), "{message}");
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
            message.contains("medrgb.toml, line 1: temperature must be"),
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
