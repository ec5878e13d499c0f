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
    let mut keymap = Keymap::new(&setup.keys).unwrap_or_else(|mistakes| {
        let said: Vec<String> = mistakes
            .iter()
            .map(|mistake| mistake.said(&setup.key_places))
            .collect();
        complaints.push(format!("{} (using the built-in keys)", said.join("; ")));
        Keymap::default()
    });
    let taxonomy = labels_of(setup, &mut keymap, &mut complaints);
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
    app.annotate.taxonomy = taxonomy;
    if !complaints.is_empty() {
        let again = app.keymap.key(command::Command::Problems);
        app.complain(format!(
            "{} ({again} on the list shows this again)",
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

/// The labels and the keys. Where both give a key to something on the annotate screen, that is said: our labels stay and
/// keys of the settings go, labels of a file give way to ours.
fn labels_of(setup: &Setup, keymap: &mut Keymap, complaints: &mut Vec<String>) -> Taxonomy {
    let found = clashes(&setup.taxonomy, keymap);
    if found.is_empty() {
        return setup.taxonomy.clone();
    }
    let ours = Taxonomy::default();
    if setup.taxonomy == ours {
        complaints.push(format!(
            "[keys] in config.toml: {}; choose other keys (using the built-in keys)",
            found.join("; ")
        ));
        *keymap = Keymap::default();
        return ours;
    }
    let mut text = format!(
        "{}; change the label's key, or [keys] in config.toml (using the built-in labels)",
        found.join("; ")
    );
    let left = clashes(&ours, keymap);
    if !left.is_empty() {
        text.push_str(&format!(
            " and, since with those {} (using the built-in keys)",
            left.join("; ")
        ));
        *keymap = Keymap::default();
    }
    complaints.push(text);
    ours
}

/// Keys of labels that run commands on the annotate screen, a sentence each.
fn clashes(taxonomy: &Taxonomy, keymap: &Keymap) -> Vec<String> {
    let labels = taxonomy.labels.iter();
    labels
        .filter_map(|label| {
            let chord = Chord::parse(&label.key.to_string())?;
            let command = keymap.command(Screen::Annotate, chord)?;
            let name = command::info(command).map_or("", |row| row.name);
            Some(format!(
                "the key \"{}\" of the label {} runs the command {name} on the annotate screen",
                label.key, label.id
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_key_that_is_a_label_is_named() {
        let keys = BTreeMap::from([
            ("unsure".to_owned(), vec!["1".to_owned()]),
            ("done".to_owned(), vec!["2".to_owned()]),
        ]);
        let keymap = Keymap::new(&keys).unwrap();
        let found = clashes(&Taxonomy::default(), &keymap).join("; ");
        assert!(found.contains("\"1\"") && found.contains("runs the command unsure"));
        assert!(found.contains("\"2\"") && found.contains("runs the command done"));
        assert!(clashes(&Taxonomy::default(), &Keymap::default()).is_empty());
    }
}
