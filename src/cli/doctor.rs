//! `medrgb doctor`: what works on this machine, one line each.

use std::io::IsTerminal;
use std::path::Path;

use serde::Serialize;

use crate::cli::Failure;
use crate::cli::common::{Environment, say, say_json, variable};
use crate::cli::models::{Listed, listed};
use crate::data::output;
use crate::data::store::Store;
use crate::engine::models::store_file;
use crate::model::fetch::HubSettings;
use crate::model::registry::{self, MEDCPT, STAND_IN_ENCODER};
use crate::model::select::{EmbeddedSource, Selected, resolve};

/// Arguments of `medrgb doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Also ask whether the Hugging Face hub can be reached.
    #[arg(long)]
    online: bool,
}

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// Works.
    Ok,
    /// Is not there; the program works without it.
    Missing,
    /// Is there or needed and does not work.
    Failed,
}

/// One line of the report.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    state: State,
    detail: String,
    /// What to do about it.
    advice: Option<String>,
}

impl Check {
    fn new(name: impl Into<String>, state: State, detail: impl Into<String>) -> Self {
        Check {
            name: name.into(),
            state,
            detail: detail.into(),
            advice: None,
        }
    }

    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Check::new(name, State::Ok, detail)
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence; a check that failed makes exit code 1.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let mut checks = vec![version()];
    checks.extend(folders(environment));
    checks.push(terminal());
    checks.extend(backends());
    let models = listed(&registry::models_dir(&environment.paths.cache));
    checks.extend(local_models(&models));
    checks.push(chat_model(environment, &models));
    checks.push(encoder(&models));
    checks.push(store(&store_file(&environment.paths)));
    if args.online {
        checks.push(hub());
    }
    let failed: Vec<&str> = checks
        .iter()
        .filter(|check| check.state == State::Failed)
        .map(|check| check.name.as_str())
        .collect();
    if args.json {
        say_json(&serde_json::json!({ "ok": failed.is_empty(), "checks": checks }))?;
    } else {
        for check in &checks {
            show(check)?;
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(format!(
            "does not work: {}",
            failed.join(", ")
        ))),
    }
}

fn show(check: &Check) -> Result<(), Failure> {
    let state = match check.state {
        State::Ok => "ok",
        State::Missing => "missing",
        State::Failed => "FAILED",
    };
    let advice = check
        .advice
        .as_ref()
        .map_or_else(String::new, |advice| format!(" -> {advice}"));
    say(&format!(
        "{state:<8} {:<20} {}{advice}",
        check.name, check.detail
    ))
}

fn version() -> Check {
    let features = [
        (cfg!(feature = "embedded"), "embedded models"),
        (cfg!(feature = "llama-cuda"), "embedded models on CUDA"),
        (cfg!(feature = "llama-vulkan"), "embedded models on Vulkan"),
        (cfg!(feature = "llama-metal"), "embedded models on Metal"),
        (cfg!(feature = "wgpu"), "encoder on wgpu"),
        (cfg!(feature = "cuda"), "encoder on CUDA"),
    ];
    let built: Vec<&str> = features
        .iter()
        .filter(|(on, _)| *on)
        .map(|(_, name)| *name)
        .collect();
    let built = if built.is_empty() {
        "nothing optional".to_owned()
    } else {
        built.join(", ")
    };
    Check::ok(
        "version",
        format!("{}; built in: {built}", env!("CARGO_PKG_VERSION")),
    )
}

fn folders(environment: &Environment) -> Vec<Check> {
    let paths = &environment.paths;
    [
        ("config", &paths.config),
        ("data", &paths.data),
        ("cache", &paths.cache),
        ("state", &paths.state),
    ]
    .into_iter()
    .map(|(name, path)| folder(name, path))
    .collect()
}

/// Whether files can be made in a folder, or the folder itself where it is not there yet.
fn folder(name: &str, path: &Path) -> Check {
    let name = format!("{name} folder");
    let shown = path.display();
    let Some(nearest) = path.ancestors().find(|folder| folder.exists()) else {
        return Check::new(name, State::Failed, format!("{shown} can't be made"));
    };
    match tempfile::tempfile_in(nearest) {
        Ok(_) if nearest == path => Check::ok(name, format!("{shown}, writable")),
        Ok(_) => Check::ok(name, format!("{shown}, made when needed")),
        Err(error) => Check::new(
            name,
            State::Failed,
            format!("{shown} can't be written: {}", output::reason(&error)),
        )
        .advise(format!(
            "give yourself the right to write {}",
            nearest.display()
        )),
    }
}

fn terminal() -> Check {
    if !std::io::stdout().is_terminal() {
        return Check::new(
            "terminal",
            State::Missing,
            "standard output is not a terminal",
        )
        .advise("the explorer needs one; commands do not");
    }
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let term = variable("TERM");
    let colours = match (variable("COLORTERM").as_str(), term.as_str()) {
        ("truecolor" | "24bit", _) => "true colour",
        (_, "" | "dumb") => "no colours",
        (_, term) if term.contains("direct") => "true colour",
        (_, term) if term.contains("256color") => "256 colours",
        _ => "16 colours",
    };
    let no_color = match variable("NO_COLOR").is_empty() {
        true => "",
        false => ", NO_COLOR is set",
    };
    match crossterm::terminal::size() {
        Ok((width, height)) => {
            let detail = format!("{width}x{height}, {colours} (TERM={term}){no_color}");
            let check = Check::ok("terminal", detail);
            match width < 80 || height < 24 {
                true => check.advise("enlarge it to 80x24 or more for all panels"),
                false => check,
            }
        }
        Err(error) => Check::new(
            "terminal",
            State::Failed,
            format!("its size is unknown: {error}"),
        ),
    }
}

fn backends() -> Vec<Check> {
    let probe = medrgb_encoder::probe();
    let available = probe
        .available
        .into_iter()
        .map(|found| Check::ok(format!("encoder on {}", found.backend), found.description));
    let unavailable = probe
        .unavailable
        .into_iter()
        .map(|(backend, why)| Check::new(format!("encoder on {backend}"), State::Missing, why));
    available.chain(unavailable).collect()
}

fn local_models(models: &[Listed]) -> Vec<Check> {
    models
        .iter()
        .filter(|model| model.present)
        .map(|model| {
            let path = model.path.as_deref().map(|path| path.display().to_string());
            let detail = format!(
                "{} ({})",
                path.unwrap_or_default(),
                model.source.as_deref().unwrap_or("own cache")
            );
            Check::ok(format!("model {}", model.name), detail)
        })
        .collect()
}

fn is_here(models: &[Listed], name: &str) -> bool {
    models
        .iter()
        .any(|model| model.name == name && model.present)
}

/// Which model `ask` and the explorer would use.
fn chat_model(environment: &Environment, models: &[Listed]) -> Check {
    let wanted = environment.config.model.as_str();
    let name = "chat model";
    let spec = match resolve(wanted, None, &environment.config, &variable) {
        Ok(Selected::Embedded(spec)) => spec,
        Ok(Selected::Http(_)) => {
            return Check::ok(name, format!("{wanted}, on a server (not asked here)"));
        }
        Ok(Selected::Replay(run)) => return Check::ok(name, format!("replay of the run {run}")),
        Err(error) => return Check::new(name, State::Failed, error.to_string()),
    };
    let server = "or name a model on a server with --model or `model` in the configuration";
    if !cfg!(feature = "embedded") {
        let detail = format!("{wanted}, but this program was built without embedded models");
        return Check::new(name, State::Missing, detail)
            .advise(format!("build with the feature \"embedded\", {server}"));
    }
    match &spec.source {
        EmbeddedSource::File(path) if path.is_file() => Check::ok(name, path.display().to_string()),
        EmbeddedSource::File(path) => Check::new(
            name,
            State::Failed,
            format!("{} is not there", path.display()),
        ),
        EmbeddedSource::Known(known) if is_here(models, known) => {
            Check::ok(name, format!("{known}, embedded"))
        }
        EmbeddedSource::Known(known) => Check::new(
            name,
            State::Missing,
            format!("{known} is not on this machine"),
        )
        .advise(format!("`medrgb models pull {known}`, {server}")),
    }
}

/// Which encoder `auto` means.
fn encoder(models: &[Listed]) -> Check {
    if MEDCPT.iter().all(|name| is_here(models, name)) {
        return Check::ok("encoder", "MedCPT");
    }
    let pull = "`medrgb models pull medcpt` where the hub can be reached";
    if is_here(models, STAND_IN_ENCODER) {
        return Check::ok(
            "encoder",
            format!("{STAND_IN_ENCODER}, the stand-in for MedCPT"),
        )
        .advise(pull);
    }
    Check::new(
        "encoder",
        State::Missing,
        "no encoder is on this machine; search finds words only",
    )
    .advise("`medrgb models pull auto-encoder`")
}

/// Opens the run store if there is one.
fn store(path: &Path) -> Check {
    if !path.exists() {
        let folder = folder("data", path.parent().unwrap_or(Path::new(".")));
        return match folder.state {
            State::Failed => Check::new(
                "run store",
                State::Failed,
                format!("{} can't be made in its folder", path.display()),
            )
            .advise("mend the data folder, or ask with --no-store"),
            _ => Check::ok("run store", format!("{}, made when needed", path.display())),
        };
    }
    match Store::open(path) {
        Ok(_) => Check::ok("run store", path.display().to_string()),
        Err(error) => Check::new("run store", State::Failed, error.to_string()),
    }
}

fn hub() -> Check {
    let Some(hub) = HubSettings::from_environment() else {
        return Check::new("hub", State::Missing, "not set up");
    };
    match hub.probe() {
        Ok(()) => Check::ok("hub", format!("{} answers", hub.endpoint)),
        Err(why) => Check::new("hub", State::Missing, why)
            .advise("models come from wheels where possible; HF_ENDPOINT names a mirror"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_yet_is_fine_and_a_blocked_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        assert!(folder("data", dir.path()).detail.ends_with("writable"));
        let check = folder("data", &dir.path().join("a/b"));
        assert_eq!(check.state, State::Ok);
        assert!(
            !dir.path().join("a").exists(),
            "the check itself made a folder"
        );
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(folder("data", &file.join("x")).state, State::Failed);
        let blocked = store(&file.join("x/runs.sqlite"));
        assert_eq!(blocked.state, State::Failed, "{}", blocked.detail);
        let free = store(&dir.path().join("a/runs.sqlite"));
        assert_eq!(free.state, State::Ok, "{}", free.detail);
    }

    #[test]
    fn the_encoder_line_tells_medcpt_from_its_stand_in() {
        let dir = tempfile::tempdir().unwrap();
        let mut models = listed(dir.path());
        for model in &mut models {
            model.present = false;
        }
        assert_eq!(encoder(&models).state, State::Missing);
        let set = |models: &mut Vec<Listed>, name: &str| {
            models
                .iter_mut()
                .find(|model| model.name == name)
                .unwrap()
                .present = true;
        };
        set(&mut models, STAND_IN_ENCODER);
        assert!(encoder(&models).detail.contains("stand-in"));
        for part in MEDCPT {
            set(&mut models, part);
        }
        assert_eq!(encoder(&models).detail, "MedCPT");
    }
}
