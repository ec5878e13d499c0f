//! `medrgb annotate`: what people said of replies.

use std::path::{Path, PathBuf};

use crate::cli::Failure;
use crate::cli::common::{Environment, note, variable};
use crate::config::Config;
use crate::data::annotations::{Annotations, Shelf, beside, open_taxonomy};
use crate::domain::annotation::{Taxonomy, annotator_name};
use crate::domain::text::{count, short};
use crate::engine::models::store_file;

mod agreement;
mod export;
mod import;
mod list;

/// Arguments of `medrgb annotate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with annotations.
#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the runs that have annotations, and how far each annotator is.
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Write annotations with their replies: a row per reply and annotator.
    Export(export::Args),
    /// How far annotators agree: kappa per label, over the replies that all of them finished.
    Agreement(agreement::Args),
    /// Read annotations that `export` has written, for example on another machine.
    Import(import::Args),
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    match args.action {
        Action::List { json } => list::run(json, environment),
        Action::Export(args) => export::run(args, environment),
        Action::Agreement(args) => agreement::run(args, environment),
        Action::Import(args) => import::run(args, environment),
    }
}

/// Under which name somebody labels: the flag's, the config's, the login name.
///
/// # Errors
/// A name of a flag that is none.
pub fn annotator(flag: Option<&str>, config: &Config) -> Result<String, Failure> {
    if let Some(name) = flag {
        return annotator_name(name)
            .ok_or_else(|| Failure::Usage("--annotator must be a name".to_owned()));
    }
    let login = ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .filter_map(variable);
    let names = config.annotator.clone().into_iter().chain(login);
    let names = names.chain(std::iter::once_with(login_name).flatten());
    let found = names.filter_map(|name| annotator_name(&name)).next();
    Ok(found.unwrap_or_else(|| "me".to_owned()))
}

/// The login name by the system's list of users, where the environment does not say it (cron, containers).
#[cfg(unix)]
fn login_name() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    // On Linux the folder of a process belongs to its user.
    let own = std::fs::metadata("/proc/self").ok()?.uid();
    let users = crate::source::small_text(Path::new("/etc/passwd"), crate::source::LARGEST_PLAN);
    user_of(&users.ok()?, own)
}

#[cfg(not(unix))]
fn login_name() -> Option<String> {
    None
}

/// The name of a user in lines `name:password:number:…`.
#[cfg(unix)]
fn user_of(users: &str, number: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, own) = (fields.next()?, fields.nth(1)?);
        (own.parse::<u32>().ok() == Some(number) && !name.is_empty()).then(|| name.to_owned())
    })
}

/// The failures that replies are labelled with: those of the flag's file, of the config's, ours.
///
/// # Errors
/// A file that can't be read or used: file, line, what is wrong.
pub fn taxonomy(flag: Option<&Path>, config: &Config) -> Result<Taxonomy, Failure> {
    match flag.or(config.taxonomy.as_deref()) {
        Some(file) => open_taxonomy(file).map_err(Failure::usage),
        None => Ok(Taxonomy::default()),
    }
}

/// The annotations, to read them, without making a file where none is.
fn open(environment: &Environment) -> Result<Option<Annotations>, Failure> {
    let file = beside(&store_file(&environment.paths));
    match file.exists() {
        true => Annotations::open_for_reading(&file)
            .map(Some)
            .map_err(Failure::failed),
        false => Ok(None),
    }
}

/// What was said of the named runs, or of all that were annotated; acts that can't be read are said.
fn shelves(runs: &[String], environment: &Environment) -> Result<Vec<(String, Shelf)>, Failure> {
    let nothing = || {
        Failure::Failed(
            "nothing has been annotated yet; open the explorer with `medrgb`, press l and choose a run"
                .to_owned(),
        )
    };
    let annotations = open(environment)?.ok_or_else(nothing)?;
    let known = annotations.runs().map_err(Failure::failed)?;
    if known.is_empty() {
        return Err(nothing());
    }
    if let Some(unknown) = runs.iter().find(|run| !known.contains(run)) {
        let names: Vec<String> = known
            .iter()
            .take(5)
            .map(|run| format!("\"{}\"", short(run)))
            .collect();
        return Err(Failure::Failed(format!(
            "the run \"{}\" has no annotations; {} has some",
            short(unknown),
            names.join(", ")
        )));
    }
    let wanted = if runs.is_empty() { &known[..] } else { runs };
    wanted
        .iter()
        .map(|run| {
            let shelf = annotations.of_run(run).map_err(Failure::failed)?;
            if shelf.broken > 0 {
                note(&format!(
                    "note: {} of the run \"{}\" can't be read and left out",
                    count(shelf.broken, "act"),
                    short(run)
                ));
            }
            Ok((run.clone(), shelf))
        })
        .collect()
}

/// The flag that names taxonomies.
#[derive(Debug, Clone, clap::Args)]
pub struct TaxonomyFlag {
    /// Failures of your own, with their names (TOML); without it those of the config, else ours
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_login_name_is_that_of_the_user_s_number() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\n+::::::\nanna:x:1000:1000::/home/anna:/bin/sh\n";
        assert_eq!(user_of(users, 1000).as_deref(), Some("anna"));
        assert_eq!(user_of(users, 0).as_deref(), Some("root"));
        assert_eq!(user_of(users, 7), None);
    }
}
