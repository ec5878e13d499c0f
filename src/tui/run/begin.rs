//! The state before the first frame, made of the settings.

use crate::domain::annotation::Taxonomy;
use crate::tui::app::talk::Talk;
use crate::tui::app::{App, Looks, Screen, Settings};
use crate::tui::keymap::{Chord, Keymap};
use crate::tui::terminal::background;
use crate::tui::theme::{self, Background, ColorDepth, Theme};
use crate::tui::{Setup, Source, command, terminal};

/// The state before the first frame; mistakes in theme and keys are shown, not fatal.
pub(super) fn app_of(setup: &Setup, size: (u16, u16)) -> App {
    let variable = |name: &str| std::env::var(name).ok();
    let depth = setup
        .colors
        .unwrap_or_else(|| terminal::color_depth(variable));
    let mut complaints: Vec<String> = terminal::wrong_colors(variable).into_iter().collect();
    let (theme, looks) = theme_of(setup, depth, background::told(variable), &mut complaints);
    let keymap = Keymap::new(&setup.keys).unwrap_or_else(|mistakes| {
        let said: Vec<String> = mistakes
            .iter()
            .map(|mistake| mistake.said(&setup.key_places))
            .collect();
        complaints.push(format!("{} (using the built-in keys)", said.join("; ")));
        Keymap::default()
    });
    let settings = Settings {
        model: setup.model.name.clone(),
        dataset: match &setup.dataset {
            Source::Folder(path) => path.display().to_string(),
            Source::Sample => "the sample benchmark".into(),
        },
        k: setup.hits.clamp(1, 100),
        templates: setup.templates.clone(),
    };
    let mut app = App::new(settings, keymap, theme, size);
    app.mouse = setup.mouse;
    app.looks = looks;
    app.talk = setup.talk.clone().map(Talk::new);
    app.braille = terminal::has_braille(variable);
    app.sweep.models.clone_from(&setup.shelf.names);
    app.sweep.flags.clone_from(&setup.shelf.flags);
    app.annotate.annotator.clone_from(&setup.annotator);
    app.comeback.on = setup.session.is_some();
    app.comeback.annotator_named = setup.annotator_named;
    app.annotate.taxonomy = taxonomy_of(setup, &app.keymap, &mut complaints);
    if !complaints.is_empty() {
        let again = app.keymap.key(command::Command::Problems);
        app.complain(format!(
            "{} ({again} on the list of questions shows this again)",
            complaints.join(" · ")
        ));
    }
    app.faults = complaints;
    app
}

/// The theme to begin with and, where the terminal's background decides, both that it may come to. What is asked for
/// and can't be had is said.
fn theme_of(
    setup: &Setup,
    depth: ColorDepth,
    told: Option<Background>,
    complaints: &mut Vec<String>,
) -> (Theme, Option<Looks>) {
    if depth == ColorDepth::None {
        return (Theme::built_in("mono", depth), None);
    }
    let folder = setup.themes.as_deref();
    let mut wrong = None;
    if setup.theme != theme::AUTO && !setup.theme.is_empty() {
        match theme::load(&setup.theme, folder, depth) {
            Ok(theme) => return (theme, None),
            Err(error) => wrong = Some(error),
        }
    }
    let begin = told.unwrap_or_default();
    if let Some(error) = wrong {
        let place = setup.theme_place.as_deref();
        let place = place.map_or_else(String::new, |place| format!("{place}: "));
        let name = begin.name();
        complaints.push(format!("{place}{error} (using the theme \"{name}\")"));
    }
    let mut look = |name: &str| {
        theme::load(name, folder, depth).unwrap_or_else(|error| {
            complaints.push(format!("{error} (using the built-in theme \"{name}\")"));
            Theme::built_in(name, depth)
        })
    };
    let looks = Looks::new(look("dark"), look("light"));
    (looks.on(begin).as_ref().clone(), Some(looks))
}

/// The labels; where their keys clash with the annotate screen's own, that is said and ours are taken.
fn taxonomy_of(setup: &Setup, keymap: &Keymap, complaints: &mut Vec<String>) -> Taxonomy {
    let clash = setup.taxonomy.labels.iter().find_map(|label| {
        let chord = Chord::parse(&label.key.to_string())?;
        let command = keymap.command(Screen::Annotate, chord)?;
        Some((label, command))
    });
    let Some((label, command)) = clash else {
        return setup.taxonomy.clone();
    };
    let name = command::info(command).map_or("", |row| row.name);
    complaints.push(format!(
        "the key \"{}\" of the label {} runs the command {name} on the annotate screen; change one of them (the taxonomy's key, or [keys] in config.toml); using the built-in labels",
        label.key, label.id
    ));
    Taxonomy::default()
}
