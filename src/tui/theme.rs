//! Themes: named tones, read from TOML files that may inherit from one another.

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::style::Style;

pub use crate::tui::theme::color::{Background, ColorDepth};

mod color;
mod file;

/// What a piece of text means; the theme decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the names say it
pub enum Tone {
    Text,
    Faint,
    Strong,
    Title,
    Border,
    BorderFocused,
    Selection,
    Header,
    Key,
    Signal,
    Noise,
    Adversarial,
    Good,
    Bad,
    Warning,
    Inserted,
    Deleted,
    Changed,
    Match,
    JsonKey,
    JsonString,
    JsonNumber,
    JsonConstant,
    JsonPunctuation,
    MdHeading,
    MdStrong,
    MdEmphasis,
    MdCode,
    MdMark,
    MdLink,
}

/// Every tone with its name in theme files.
const TONES: [(Tone, &str); 30] = [
    (Tone::Text, "text"),
    (Tone::Faint, "faint"),
    (Tone::Strong, "strong"),
    (Tone::Title, "title"),
    (Tone::Border, "border"),
    (Tone::BorderFocused, "border-focused"),
    (Tone::Selection, "selection"),
    (Tone::Header, "header"),
    (Tone::Key, "key"),
    (Tone::Signal, "signal"),
    (Tone::Noise, "noise"),
    (Tone::Adversarial, "adversarial"),
    (Tone::Good, "good"),
    (Tone::Bad, "bad"),
    (Tone::Warning, "warning"),
    (Tone::Inserted, "inserted"),
    (Tone::Deleted, "deleted"),
    (Tone::Changed, "changed"),
    (Tone::Match, "match"),
    (Tone::JsonKey, "json-key"),
    (Tone::JsonString, "json-string"),
    (Tone::JsonNumber, "json-number"),
    (Tone::JsonConstant, "json-constant"),
    (Tone::JsonPunctuation, "json-punctuation"),
    (Tone::MdHeading, "md-heading"),
    (Tone::MdStrong, "md-strong"),
    (Tone::MdEmphasis, "md-emphasis"),
    (Tone::MdCode, "md-code"),
    (Tone::MdMark, "md-mark"),
    (Tone::MdLink, "md-link"),
];

/// The name that stands for dark or light, as the terminal's background is.
pub const AUTO: &str = "auto";

/// The themes that come with the program.
const BUILT_IN: [(&str, &str); 5] = [
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    ("okabe-ito", include_str!("../../themes/okabe-ito.toml")),
    (
        "high-contrast",
        include_str!("../../themes/high-contrast.toml"),
    ),
    ("mono", include_str!("../../themes/mono.toml")),
];

/// A theme that can't be used: file, line, what is wrong, the nearest valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ThemeError(pub String);

/// How every tone looks on this terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Its name.
    pub name: String,
    /// Without colours: differences must be written out.
    pub mono: bool,
    /// The background of the terminals that it is made for.
    pub background: Background,
    styles: BTreeMap<Tone, Style>,
}

impl Theme {
    /// The style of a tone.
    pub fn style(&self, tone: Tone) -> Style {
        self.styles.get(&tone).copied().unwrap_or_default()
    }

    /// A theme that comes with the program, for this colour depth.
    pub fn built_in(name: &str, depth: ColorDepth) -> Theme {
        let name = if depth == ColorDepth::None {
            "mono"
        } else {
            name
        };
        load(name, None, depth).unwrap_or_else(|_| Theme {
            name: "plain".into(),
            mono: true,
            background: Background::Dark,
            styles: BTreeMap::new(),
        })
    }
}

/// Reads the theme `name` from `folder` or from those that come with the program.
///
/// # Errors
/// [`ThemeError`] for an unknown name, a file that can't be read, or a mistake in it.
pub fn load(name: &str, folder: Option<&Path>, depth: ColorDepth) -> Result<Theme, ThemeError> {
    file::load(name, folder, depth)
}

/// Names that can be asked for, those of the program first.
pub fn names(folder: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    let mut own: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let stem = path.file_stem()?.to_str()?;
            let fits = path.extension().is_some_and(|ext| ext == "toml") && path.is_file();
            (fits && !names.iter().any(|name| name == stem)).then(|| stem.to_owned())
        })
        .collect();
    own.sort();
    names.append(&mut own);
    names
}

#[cfg(test)]
mod tests;
