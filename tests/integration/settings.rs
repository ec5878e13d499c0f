//! Settings, keys, themes and labels that people write: every fixture through the loading that the program does.
//!
//! In `tests/fixtures/config/invalid` each file has the message beside it that it must bring (`NAME.expected`, a line per
//! sentence); the files in `valid` bring none. The beginning of a file's name says what it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use medrgb::cli::common::Environment;
use medrgb::cli::settings::{PROJECT_FILE, USER_FILE, load, paths};
use medrgb::domain::annotation::Taxonomy;
use medrgb::explore::DOOR;
use medrgb::tui::keymap::Keymap;
use medrgb::tui::theme::{self, ColorDepth};

use crate::sweep::{Place, finish};

/// The folder of the program in these tests, as it stands in the expected messages.
const HOME: &str = "HOME";

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/config")
        .join(kind)
}

/// The fixtures of a folder, by name.
fn fixtures(kind: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(kind)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext != "expected"));
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// What the program says of a fixture, a sentence per line; nothing where it is fine.
fn said(path: &Path) -> String {
    let home = tempfile::tempdir().unwrap();
    let name = stem(path);
    let (kind, _) = name.split_once('-').unwrap();
    let sentences = match kind {
        "config" | "model" => of_settings(home.path(), path, USER_FILE),
        "project" => of_settings(home.path(), path, PROJECT_FILE),
        "keys" | "look" => of_explorer(home.path(), path),
        "theme" => of_theme(home.path(), path),
        "env" => of_environment(home.path(), path),
        "taxonomy" => of_taxonomy(home.path(), path),
        _ => panic!("{name}: what is a fixture of the kind \"{kind}\"?"),
    };
    let home = home.path().display().to_string();
    let lines = sentences
        .iter()
        .map(|line| line.replace(&home, HOME) + "\n");
    lines.collect()
}

fn environment(home: &Path, variables: &BTreeMap<String, String>) -> Result<Environment, String> {
    let paths = paths(&|name| (name == "MEDRGB_HOME").then(|| home.display().to_string())).unwrap();
    let settings = load(&paths, &home.join("project"), &|name| {
        variables.get(name).cloned()
    });
    let settings = settings.map_err(|failure| failure.to_string())?;
    Ok(Environment {
        config: settings.config.clone(),
        paths,
        settings,
    })
}

fn put(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(from, to).unwrap();
}

fn of_settings(home: &Path, path: &Path, name: &str) -> Vec<String> {
    let place = if name == USER_FILE {
        "config"
    } else {
        "project"
    };
    put(path, &home.join(place).join(name));
    environment(home, &BTreeMap::new())
        .err()
        .into_iter()
        .collect()
}

/// What only the explorer uses; the themes of all fixtures are there.
fn of_explorer(home: &Path, path: &Path) -> Vec<String> {
    put(path, &home.join("config").join(USER_FILE));
    put_themes(home, path);
    let environment = environment(home, &BTreeMap::new()).unwrap();
    (DOOR.faults)(&environment)
}

fn put_themes(home: &Path, path: &Path) {
    let all = fixtures(&stem(path.parent().unwrap()));
    for theme in all.iter().filter(|path| stem(path).starts_with("theme-")) {
        let name = theme.file_name().unwrap();
        put(theme, &home.join("config/themes").join(name));
    }
}

fn of_theme(home: &Path, path: &Path) -> Vec<String> {
    put_themes(home, path);
    let folder = home.join("config/themes");
    let mut said: Vec<String> = [ColorDepth::True, ColorDepth::Cube, ColorDepth::Sixteen]
        .into_iter()
        .filter_map(|depth| theme::load(&stem(path), Some(&folder), depth).err())
        .map(|error| error.to_string())
        .collect();
    // However many colours there are, the message is the same.
    said.dedup();
    said
}

fn of_environment(home: &Path, path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let pair = |line: &str| {
        let (name, value) = line.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    };
    let variables = text.lines().map(pair).collect();
    environment(home, &variables).err().into_iter().collect()
}

fn of_taxonomy(home: &Path, path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let origin = home.join("taxonomy.toml").display().to_string();
    Taxonomy::parse(&origin, &text).err().into_iter().collect()
}

#[test]
fn every_invalid_fixture_brings_its_message() {
    let files = fixtures("invalid");
    assert!(files.len() >= 40, "only {} fixtures", files.len());
    let mut wrong = Vec::new();
    for path in &files {
        let expected = std::fs::read_to_string(path.with_extension("expected"));
        let said = said(path);
        match expected {
            Err(_) => wrong.push(format!(
                "{}: no .expected beside it; it brings\n{said}",
                stem(path)
            )),
            Ok(_) if said.is_empty() => wrong.push(format!("{}: is taken for valid", stem(path))),
            Ok(expected) if expected != said => {
                wrong.push(format!(
                    "{}: expected\n{expected}but it brings\n{said}",
                    stem(path)
                ));
            }
            Ok(_) => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{} fixtures:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn no_message_belongs_to_a_fixture_that_is_gone() {
    for entry in std::fs::read_dir(folder("invalid")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ext| ext == "expected") {
            let beside = ["toml", "env"].map(|ext| path.with_extension(ext).is_file());
            assert!(beside.contains(&true), "{} is left over", path.display());
        }
    }
}

/// Sentences: one line each, nothing that drives a terminal, and the place in front.
#[test]
fn every_message_is_one_line_that_names_its_place() {
    for path in fixtures("invalid") {
        let said = said(&path);
        for line in said.lines() {
            assert!(
                !line.chars().any(char::is_control),
                "{}: {line:?}",
                stem(&path)
            );
            let placed = line.starts_with(HOME) || line.starts_with("environment variable ");
            assert!(placed, "{}: {line}", stem(&path));
            for secret in ["sk-proj", "hunter2"] {
                assert!(!line.contains(secret), "{}: {line}", stem(&path));
            }
        }
    }
}

#[test]
fn every_valid_fixture_is_taken_without_a_word() {
    let files = fixtures("valid");
    assert!(files.len() >= 10, "only {} fixtures", files.len());
    for path in &files {
        assert_eq!(said(path), "", "{}", stem(path));
    }
}

/// What the program writes as a commented default changes nothing, and what its lines say is what is without them.
#[test]
fn the_written_default_is_as_no_file_at_all() {
    let place = Place::new();
    let without = settings_shown(&place);
    let (code, _, err) = finish(place.program(&["config", "init"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(settings_shown(&place), without);
    let file = place.path("home").join("config/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let uncommented: Vec<&str> = text
        .lines()
        .map(|line| line.strip_prefix("#= ").unwrap_or(line))
        .collect();
    std::fs::write(&file, uncommented.join("\n")).unwrap();
    let home = place.path("home");
    let environment = environment(&home, &BTreeMap::new()).unwrap();
    assert_eq!((DOOR.faults)(&environment), Vec::<String>::new());
    // Every command stands there with the keys that it has anyway.
    let rows = (DOOR.keys)();
    assert_eq!(environment.config.keys.len(), rows.len());
    assert!(rows.len() > 80);
    let written = Keymap::new(&environment.config.keys).unwrap();
    let built_in = Keymap::default();
    for row in medrgb::tui::command::COMMANDS {
        assert_eq!(
            written.keys(row.command),
            built_in.keys(row.command),
            "{}",
            row.name
        );
    }
}

/// The settings that `config show --json` shows, without where they come from.
fn settings_shown(place: &Place) -> BTreeMap<String, serde_json::Value> {
    let (code, shown, err) = finish(place.program(&["config", "show", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(shown["problems"], serde_json::json!([]));
    let settings = shown["settings"].as_object().unwrap();
    settings
        .iter()
        .map(|(key, value)| (key.clone(), value["value"].clone()))
        .collect()
}

#[test]
fn config_show_says_what_is_wrong_and_where_values_stand() {
    let place = Place::new();
    let folder = place.path("home").join("config");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "theme = \"drak\"\n\n[keys]\nstop = [\"a\"]\n";
    std::fs::write(folder.join("config.toml"), text).unwrap();
    let (code, out, err) = finish(place.program(&["config", "show"]));
    assert_eq!(code, Some(0), "{err}");
    let out = out.as_str().unwrap();
    for expected in [
        "config.toml, line 1\n",
        "config.toml, line 4: [keys] \"a\" is bound to both ask and stop on the instance screen",
        "line 1: there is no theme \"drak\"; did you mean \"dark\"?",
    ] {
        assert!(out.contains(expected), "{expected:?} is not in\n{out}");
    }
    let (code, shown, err) = finish(place.program(&["config", "show", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(shown["problems"].as_array().unwrap().len(), 2);
    assert_eq!(shown["settings"]["theme"]["line"], 1);
    assert_eq!(shown["settings"]["mouse"]["origin"], "default");
}

/// Names of entries and of files come from strangers: a folder that one works in is enough.
#[test]
fn no_name_in_the_settings_drives_the_terminal() {
    let place = Place::new();
    let folder = place.path("home").join("config");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "[keys]\n\"as\\u001b]0;PWNED\\u0007k\\u009b31m\" = [\"q\\u009b\"]\n[models.x]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\nextra = { \"a\\u001b]0;P\\u0007\" = \"\\u202e\" }\n";
    std::fs::write(folder.join(USER_FILE), text).unwrap();
    for args in [&["config", "show"][..], &["config", "show", "--json"]] {
        let output = place.program(args).output().unwrap();
        for stream in [&output.stdout, &output.stderr] {
            let said = String::from_utf8(stream.clone()).unwrap();
            let drives =
                |c: char| (c.is_control() && c != '\n') || c == '\u{202e}' && args.len() == 2;
            assert!(!said.contains(drives), "{said:?}");
        }
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            said.contains("PWNED"),
            "{said}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let odd = "ho\u{1b}]0;PWNED\u{7}\u{9b}me";
    for args in [
        &["config", "init"][..],
        &["config", "show"],
        &["doctor"],
        &["runs", "list"],
    ] {
        let mut command = place.program(args);
        let output = command
            .env("MEDRGB_HOME", place.path(odd))
            .output()
            .unwrap();
        for stream in [&output.stdout, &output.stderr] {
            let said = String::from_utf8_lossy(stream);
            let drives = |c: char| c.is_control() && c != '\n';
            assert!(!said.contains(drives), "{args:?}: {said:?}");
        }
    }
}

#[test]
fn a_wish_for_colours_that_is_none_is_said() {
    let place = Place::new();
    let mut command = place.program(&["config", "show"]);
    let output = command.env("MEDRGB_COLORS", "foo").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("MEDRGB_COLORS must be none, 16, 256 or truecolor, but is \"foo\""),
        "{said}"
    );
}
