//! Themes: named tones, read from TOML files that may inherit from one another.

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

use crate::domain::text::{line_at, short};

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
}

/// Every tone with its name in theme files.
const TONES: [(Tone, &str); 24] = [
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
];

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

/// How many colours the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorDepth {
    /// Modifiers only (`NO_COLOR`).
    None,
    /// The sixteen named colours.
    Sixteen,
    /// The 256-colour cube.
    Cube,
    /// 24-bit colours.
    True,
}

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
            styles: BTreeMap::new(),
        })
    }
}

/// Reads the theme `name` from `folder` or from those that come with the program.
///
/// # Errors
/// [`ThemeError`] for an unknown name, a file that can't be read, or a mistake in it.
pub fn load(name: &str, folder: Option<&Path>, depth: ColorDepth) -> Result<Theme, ThemeError> {
    let mut layers = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(current) = next {
        if layers.len() >= 8 {
            return Err(ThemeError(format!(
                "theme \"{name}\" inherits from itself; remove one of the `inherits` lines"
            )));
        }
        let (origin, text) = source(&current, folder)?;
        let file = parse(&origin, &text)?;
        next = file.inherits.clone();
        layers.push((origin, text, file));
    }
    layers.reverse();
    build(name, &layers, depth)
}

/// Names that can be asked for.
pub fn names(folder: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ext| ext == "toml")
            && let Some(stem) = path.file_stem().and_then(|stem| stem.to_str())
            && !names.iter().any(|name| name == stem)
        {
            names.push(stem.to_owned());
        }
    }
    names
}

/// The valid name that looks most like a wrong one, as a half sentence.
pub(crate) fn nearest(word: &str, valid: &[&str]) -> String {
    match similar::get_close_matches(word, valid, 1, 0.5).first() {
        Some(best) => format!("did you mean \"{best}\"?"),
        None => format!("valid names: {}", valid.join(", ")),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    inherits: Option<String>,
    mono: Option<bool>,
    #[serde(default)]
    palette: BTreeMap<String, toml::Spanned<String>>,
    #[serde(default)]
    styles: BTreeMap<toml::Spanned<String>, Look>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    fg: Option<toml::Spanned<String>>,
    bg: Option<toml::Spanned<String>>,
    #[serde(default)]
    bold: bool,
    #[serde(default)]
    dim: bool,
    #[serde(default)]
    italic: bool,
    #[serde(default)]
    underline: bool,
    #[serde(default)]
    reverse: bool,
    #[serde(default)]
    strike: bool,
}

fn source(name: &str, folder: Option<&Path>) -> Result<(String, String), ThemeError> {
    if let Some(path) = folder.map(|folder| folder.join(format!("{name}.toml")))
        && path.is_file()
    {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| ThemeError(format!("{} can't be read: {error}", path.display())))?;
        return Ok((path.display().to_string(), text));
    }
    BUILT_IN
        .iter()
        .find(|(built_in, _)| *built_in == name)
        .map(|(_, text)| (format!("built-in theme {name}"), (*text).to_owned()))
        .ok_or_else(|| {
            let all = names(folder);
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            ThemeError(format!(
                "there is no theme \"{}\"; {}; there are auto, {}",
                short(name),
                nearest(name, &all),
                all.join(", ")
            ))
        })
}

fn parse(origin: &str, text: &str) -> Result<File, ThemeError> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        ThemeError(format!(
            "{origin}, line {line}: {}",
            error.message().trim().replace('\n', " ")
        ))
    })
}

fn build(
    name: &str,
    layers: &[(String, String, File)],
    depth: ColorDepth,
) -> Result<Theme, ThemeError> {
    let palette: BTreeMap<&str, &str> = layers
        .iter()
        .flat_map(|(_, _, file)| &file.palette)
        .map(|(name, value)| (name.as_str(), value.get_ref().as_str()))
        .collect();
    let mut styles = BTreeMap::new();
    let mut mono = depth == ColorDepth::None;
    for (origin, text, file) in layers {
        mono = file.mono.unwrap_or(mono);
        for value in file.palette.values() {
            color(value.get_ref(), &BTreeMap::new())
                .map_err(|wrong| at(origin, text, value.span().start, &wrong))?;
        }
        for (key, look) in &file.styles {
            let tone = TONES
                .iter()
                .find(|(_, name)| name == key.get_ref())
                .map(|(tone, _)| *tone)
                .ok_or_else(|| {
                    let valid: Vec<&str> = TONES.iter().map(|(_, name)| *name).collect();
                    let wrong = format!(
                        "there is no style \"{}\"; {}",
                        key.get_ref(),
                        nearest(key.get_ref(), &valid)
                    );
                    at(origin, text, key.span().start, &wrong)
                })?;
            let style = look_style(look, &palette, depth)
                .map_err(|(start, wrong)| at(origin, text, start, &wrong))?;
            styles.insert(tone, style);
        }
    }
    Ok(Theme {
        name: name.to_owned(),
        mono,
        styles,
    })
}

fn at(origin: &str, text: &str, start: usize, wrong: &str) -> ThemeError {
    ThemeError(format!("{origin}, line {}: {wrong}", line_at(text, start)))
}

fn look_style(
    look: &Look,
    palette: &BTreeMap<&str, &str>,
    depth: ColorDepth,
) -> Result<Style, (usize, String)> {
    let mut style = Style::default();
    if let Some(fg) = &look.fg {
        let color = color(fg.get_ref(), palette).map_err(|wrong| (fg.span().start, wrong))?;
        style = degrade(color, depth).map_or(style, |color| style.fg(color));
    }
    if let Some(bg) = &look.bg {
        let color = color(bg.get_ref(), palette).map_err(|wrong| (bg.span().start, wrong))?;
        style = degrade(color, depth).map_or(style, |color| style.bg(color));
    }
    let modifiers = [
        (look.bold, Modifier::BOLD),
        (look.dim, Modifier::DIM),
        (look.italic, Modifier::ITALIC),
        (look.underline, Modifier::UNDERLINED),
        (look.reverse, Modifier::REVERSED),
        (look.strike, Modifier::CROSSED_OUT),
    ];
    for (on, modifier) in modifiers {
        if on {
            style = style.add_modifier(modifier);
        }
    }
    Ok(style)
}

/// The sixteen named colours with the values they have in most terminals.
const NAMED: [(&str, Color, [u8; 3]); 16] = [
    ("black", Color::Black, [0, 0, 0]),
    ("red", Color::Red, [205, 49, 49]),
    ("green", Color::Green, [13, 188, 121]),
    ("yellow", Color::Yellow, [229, 181, 16]),
    ("blue", Color::Blue, [36, 114, 200]),
    ("magenta", Color::Magenta, [188, 63, 188]),
    ("cyan", Color::Cyan, [17, 168, 205]),
    ("white", Color::Gray, [200, 200, 200]),
    ("bright-black", Color::DarkGray, [102, 102, 102]),
    ("bright-red", Color::LightRed, [241, 76, 76]),
    ("bright-green", Color::LightGreen, [35, 209, 139]),
    ("bright-yellow", Color::LightYellow, [245, 245, 67]),
    ("bright-blue", Color::LightBlue, [59, 142, 234]),
    ("bright-magenta", Color::LightMagenta, [214, 112, 214]),
    ("bright-cyan", Color::LightCyan, [41, 184, 219]),
    ("bright-white", Color::White, [240, 240, 240]),
];

fn color(value: &str, palette: &BTreeMap<&str, &str>) -> Result<Color, String> {
    let resolved = palette.get(value).copied().unwrap_or(value);
    if let Some(hex) = resolved.strip_prefix('#') {
        let number = (hex.len() == 6)
            .then(|| u32::from_str_radix(hex, 16).ok())
            .flatten()
            .ok_or_else(|| format!("\"{resolved}\" is not a colour; expected #rrggbb"))?;
        let [_, r, g, b] = number.to_be_bytes();
        return Ok(Color::Rgb(r, g, b));
    }
    if resolved == "default" {
        return Ok(Color::Reset);
    }
    NAMED
        .iter()
        .find(|(name, _, _)| *name == resolved)
        .map(|(_, color, _)| *color)
        .ok_or_else(|| {
            let mut valid: Vec<&str> = palette.keys().copied().collect();
            valid.extend(NAMED.iter().map(|(name, _, _)| *name));
            format!("there is no colour \"{value}\"; {}", nearest(value, &valid))
        })
}

/// The nearest colour that the terminal can show; `None` where it shows none.
fn degrade(color: Color, depth: ColorDepth) -> Option<Color> {
    match (color, depth) {
        (_, ColorDepth::None) => None,
        (Color::Rgb(r, g, b), ColorDepth::Cube) => Some(Color::Indexed(cube([r, g, b]))),
        (Color::Rgb(r, g, b), ColorDepth::Sixteen) => NAMED
            .iter()
            .min_by_key(|(_, _, named)| distance(*named, [r, g, b]))
            .map(|(_, color, _)| *color),
        (other, _) => Some(other),
    }
}

fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
    a.iter()
        .zip(b)
        .map(|(&x, y)| u32::from(x.abs_diff(y)).pow(2))
        .sum()
}

fn cube(rgb: [u8; 3]) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let cubes = (0..216u8).map(|n| {
        let level = |k: u8| LEVELS[usize::from(k % 6)];
        (16 + n, [level(n / 36), level(n / 6), level(n)])
    });
    let greys = (0..24u8).map(|n| (232 + n, [8 + 10 * n; 3]));
    cubes
        .chain(greys)
        .min_by_key(|(_, candidate)| distance(*candidate, rgb))
        .map_or(7, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_built_in_theme_defines_every_tone() {
        for (name, _) in BUILT_IN {
            let theme = load(name, None, ColorDepth::True).unwrap();
            for (tone, tone_name) in TONES {
                assert!(theme.styles.contains_key(&tone), "{name} lacks {tone_name}");
            }
        }
    }

    #[test]
    fn mono_has_no_colour_and_tells_the_roles_apart() {
        let theme = Theme::built_in("dark", ColorDepth::None);
        assert!(theme.mono);
        for style in theme.styles.values() {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert_ne!(theme.style(Tone::Inserted), theme.style(Tone::Deleted));
    }

    #[test]
    fn mistakes_name_file_line_and_the_nearest_name() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
        };
        let load = |name: &str| {
            load(name, Some(folder.path()), ColorDepth::True)
                .unwrap_err()
                .to_string()
        };
        write(
            "a",
            "inherits = \"dark\"\n[styles]\nsignel = { fg = \"green\" }\n",
        );
        let error = load("a");
        assert!(
            error.contains("line 3") && error.contains("\"signal\""),
            "{error}"
        );
        write(
            "b",
            "inherits = \"dark\"\n[styles]\nsignal = { fg = \"gren\" }\n",
        );
        let error = load("b");
        assert!(
            error.contains("line 3") && error.contains("\"green\""),
            "{error}"
        );
        write("c", "inherits = \"c\"\n");
        assert!(load("c").contains("inherits from itself"));
        assert!(load("drak").contains("\"dark\""));
        write("d", "[palette]\nx = \"#12\"\n");
        assert!(load("d").contains("line 2"));
    }

    #[test]
    fn a_child_overrides_the_palette_of_its_parent() {
        let light = load("light", None, ColorDepth::True).unwrap();
        assert_eq!(
            light.style(Tone::Text).fg,
            Some(Color::Rgb(0x1f, 0x24, 0x30))
        );
    }

    #[test]
    fn colours_degrade() {
        let cube = load("dark", None, ColorDepth::Cube).unwrap();
        assert!(matches!(
            cube.style(Tone::Signal).fg,
            Some(Color::Indexed(_))
        ));
        let sixteen = load("dark", None, ColorDepth::Sixteen).unwrap();
        assert!(!matches!(
            sixteen.style(Tone::Signal).fg,
            Some(Color::Rgb(..) | Color::Indexed(_))
        ));
    }
}
