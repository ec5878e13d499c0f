//! Theme files: read layer by layer, child over parent, every mistake with its place.

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
use toml::Spanned;

use crate::domain::nearest::hint;
use crate::domain::text::{line_at, short, visible};
use crate::domain::toml_file::explain;
use crate::source::small_text;
use crate::tui::theme::color::{self, Background, ColorDepth, NAMED};
use crate::tui::theme::{AUTO, BUILT_IN, TONES, Theme, ThemeError, names};

/// Most themes that inherit from one another in a row.
const DEEPEST: usize = 8;

/// Most bytes of a theme file.
const LARGEST_FILE: u64 = 1 << 18;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    inherits: Option<Spanned<String>>,
    background: Option<Spanned<String>>,
    mono: Option<bool>,
    #[serde(default)]
    palette: BTreeMap<String, Spanned<String>>,
    /// What stands for colours of the palette where the terminal has only sixteen.
    #[serde(default)]
    sixteen: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    styles: BTreeMap<Spanned<String>, Look>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    fg: Option<Spanned<String>>,
    bg: Option<Spanned<String>>,
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

/// One file of a theme and those that it inherits from.
struct Layer {
    name: String,
    /// The file, or that it comes with the program.
    origin: String,
    built_in: bool,
    text: String,
    file: File,
}

impl Layer {
    /// A mistake at a byte of the file.
    fn wrong(&self, at: usize, what: &str) -> ThemeError {
        ThemeError(format!(
            "{}, line {}: {what}",
            self.origin,
            line_at(&self.text, at)
        ))
    }
}

pub(super) fn load(
    name: &str,
    folder: Option<&Path>,
    depth: ColorDepth,
) -> Result<Theme, ThemeError> {
    let mut layers = layers(name, folder)?;
    layers.reverse();
    build(name, &layers, depth)
}

/// The theme's file and those that it inherits from, the youngest first.
fn layers(name: &str, folder: Option<&Path>) -> Result<Vec<Layer>, ThemeError> {
    let first = source(name, folder, false)?.ok_or_else(|| {
        ThemeError(match is_name(name) {
            true => format!(
                "there is no theme \"{}\"; {}",
                visible(name),
                known(name, folder)
            ),
            false => format!(
                "\"{}\" is no name of a theme; write the name of a file in your themes folder, without folder and .toml",
                visible(name)
            ),
        })
    })?;
    let mut layers = vec![first];
    loop {
        let child = &layers[layers.len() - 1];
        let Some(parent) = &child.file.inherits else {
            return Ok(layers);
        };
        let (at, parent) = (parent.span().start, parent.get_ref());
        // A theme of one's own that is called like ours changes ours.
        let exists = BUILT_IN.iter().any(|(name, _)| name == parent);
        let ours = *parent == child.name && !child.built_in && exists;
        if let Some(why) = circle(&layers, parent, ours) {
            return Err(child.wrong(at, &why));
        }
        let next = source(parent, folder, ours)?.ok_or_else(|| {
            let what = format!(
                "it inherits from \"{}\", which does not exist; {}",
                visible(parent),
                known(parent, folder)
            );
            child.wrong(at, &what)
        })?;
        layers.push(next);
    }
}

/// Why the next parent would lead nowhere, if it would.
fn circle(layers: &[Layer], parent: &str, ours: bool) -> Option<String> {
    let comes_again = |layer: &Layer| layer.name == parent && (!ours || layer.built_in);
    if let Some(first) = layers.iter().position(comes_again) {
        let names = layers[first..].iter().map(|layer| short(&layer.name));
        let chain: Vec<String> = names.chain([short(parent)]).collect();
        return Some(format!(
            "the themes inherit in a circle ({}); remove one of their inherits lines",
            chain.join(" from ")
        ));
    }
    (layers.len() >= DEEPEST).then(|| {
        format!("more than {DEEPEST} themes inherit from one another; remove some of them")
    })
}

/// The nearest name of a theme, or all of them.
fn known(name: &str, folder: Option<&Path>) -> String {
    let mut all = vec![AUTO.to_owned()];
    all.extend(names(folder));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    hint(name, &all)
}

/// Whether a theme can be called this: a theme is never looked for outside its folder.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// The file of a theme, the user's before ours; `None` where there is none of this name.
fn source(name: &str, folder: Option<&Path>, only_ours: bool) -> Result<Option<Layer>, ThemeError> {
    if !is_name(name) {
        return Ok(None);
    }
    let own = folder.filter(|_| !only_ours);
    let own = own.map(|folder| folder.join(format!("{name}.toml")));
    if let Some(path) = own.as_ref().filter(|path| path.is_dir()) {
        return Err(ThemeError(format!(
            "{} is a folder, but a theme is a file; move the folder away, or name another theme",
            path.display()
        )));
    }
    let (origin, text, built_in) = match own.filter(|path| path.is_file()) {
        Some(path) => {
            let text =
                small_text(&path, LARGEST_FILE).map_err(|error| ThemeError(error.to_string()))?;
            (path.display().to_string(), text, false)
        }
        None => match BUILT_IN.iter().find(|(ours, _)| *ours == name) {
            Some((_, text)) => {
                let origin = format!("the built-in theme {name}");
                (origin, (*text).to_owned(), true)
            }
            None => return Ok(None),
        },
    };
    let file: File =
        toml::from_str(&text).map_err(|error| ThemeError(explain(&origin, &text, &error)))?;
    Ok(Some(Layer {
        name: name.to_owned(),
        origin,
        built_in,
        text,
        file,
    }))
}

/// What the layers define together.
#[derive(Default)]
struct Palette<'a> {
    colors: BTreeMap<&'a str, &'a str>,
    sixteen: BTreeMap<&'a str, &'a str>,
    background: Background,
}

fn build(name: &str, layers: &[Layer], depth: ColorDepth) -> Result<Theme, ThemeError> {
    let mut palette = Palette::default();
    for layer in layers {
        palette.add(layer)?;
    }
    let mut styles = BTreeMap::new();
    let mut mono = depth == ColorDepth::None;
    for layer in layers {
        mono = layer.file.mono.unwrap_or(mono);
        for (key, look) in &layer.file.styles {
            let found = TONES.iter().find(|(_, name)| name == key.get_ref());
            let (tone, _) = found.ok_or_else(|| {
                let valid: Vec<&str> = TONES.iter().map(|(_, name)| *name).collect();
                let name = key.get_ref();
                let what = format!(
                    "there is no style \"{}\"; {}",
                    short(name),
                    hint(name, &valid)
                );
                layer.wrong(key.span().start, &what)
            })?;
            let style = palette.style(layer, key.get_ref(), look, depth)?;
            styles.insert(*tone, style);
        }
    }
    Ok(Theme {
        name: name.to_owned(),
        mono,
        background: palette.background,
        styles,
    })
}

impl<'a> Palette<'a> {
    /// Puts a layer over what is there.
    fn add(&mut self, layer: &'a Layer) -> Result<(), ThemeError> {
        if let Some(background) = &layer.file.background {
            self.background = match background.get_ref().as_str() {
                "dark" => Background::Dark,
                "light" => Background::Light,
                other => {
                    let what = format!(
                        "background must be \"dark\" or \"light\", but is \"{}\"",
                        short(other)
                    );
                    return Err(layer.wrong(background.span().start, &what));
                }
            };
        }
        for (name, value) in &layer.file.palette {
            if color::parse(value.get_ref()).is_none() {
                let what = format!("palette.{}: {}", short(name), not_a_color(value.get_ref()));
                return Err(layer.wrong(value.span().start, &what));
            }
            self.colors.insert(name, value.get_ref());
            // What a parent says of the sixteen colours fits its own colour only.
            self.sixteen.remove(name.as_str());
        }
        for (name, value) in &layer.file.sixteen {
            if !self.colors.contains_key(name.get_ref().as_str()) {
                let valid: Vec<&str> = self.colors.keys().copied().collect();
                let what = format!(
                    "sixteen.{0}: the palette has no colour \"{0}\"; {1}",
                    short(name.get_ref()),
                    hint(name.get_ref(), &valid)
                );
                return Err(layer.wrong(name.span().start, &what));
            }
            if color::named(value.get_ref()).is_none() {
                let what = format!(
                    "sixteen.{}: \"{}\" is none of the sixteen colours; {}",
                    short(name.get_ref()),
                    short(value.get_ref()),
                    hint(value.get_ref(), &names_of_colors())
                );
                return Err(layer.wrong(value.span().start, &what));
            }
            self.sixteen.insert(name.get_ref(), value.get_ref());
        }
        Ok(())
    }

    fn style(
        &self,
        layer: &Layer,
        name: &str,
        look: &Look,
        depth: ColorDepth,
    ) -> Result<Style, ThemeError> {
        let mut style = Style::default();
        if let Some(fg) = &look.fg {
            let color = self.color(layer, name, fg)?;
            let color = self.shown(fg.get_ref(), color, depth);
            style = color.map_or(style, |color| style.fg(color));
        }
        let mut reverse = look.reverse;
        if let Some(bg) = &look.bg {
            let color = self.color(layer, name, bg)?;
            let named = self.sixteen.get(bg.get_ref().as_str());
            // A shade of the background is none of the sixteen colours; it is told by swapping both.
            if depth == ColorDepth::Sixteen && named.is_none() && matches!(color, Color::Rgb(..)) {
                reverse = true;
            } else {
                let color = self.shown(bg.get_ref(), color, depth);
                style = color.map_or(style, |color| style.bg(color));
            }
        }
        let modifiers = [
            (look.bold, Modifier::BOLD),
            (look.dim, Modifier::DIM),
            (look.italic, Modifier::ITALIC),
            (look.underline, Modifier::UNDERLINED),
            (reverse, Modifier::REVERSED),
            (look.strike, Modifier::CROSSED_OUT),
        ];
        for (_, modifier) in modifiers.iter().filter(|(on, _)| *on) {
            style = style.add_modifier(*modifier);
        }
        Ok(style)
    }

    /// The colour that the style `of` names.
    fn color(&self, layer: &Layer, of: &str, value: &Spanned<String>) -> Result<Color, ThemeError> {
        let name = value.get_ref().as_str();
        let text = self.colors.get(name).copied().unwrap_or(name);
        color::parse(text).ok_or_else(|| {
            let what = match text.starts_with('#') {
                true => not_a_color(text),
                false => {
                    let mut valid: Vec<&str> = self.colors.keys().copied().collect();
                    valid.extend(names_of_colors());
                    format!(
                        "there is no colour \"{}\"; {}",
                        short(name),
                        hint(name, &valid)
                    )
                }
            };
            layer.wrong(value.span().start, &format!("styles.{of}: {what}"))
        })
    }

    /// What letters of this colour look like on this terminal.
    fn shown(&self, name: &str, color: Color, depth: ColorDepth) -> Option<Color> {
        let own = self
            .sixteen
            .get(name)
            .filter(|_| depth == ColorDepth::Sixteen);
        match own.and_then(|own| color::named(own)) {
            Some(own) => Some(own),
            None => color::reduced(color, depth, self.background),
        }
    }
}

fn names_of_colors() -> Vec<&'static str> {
    let names = NAMED.iter().map(|(name, ..)| *name);
    names.chain([color::DEFAULT]).collect()
}

fn not_a_color(value: &str) -> String {
    match value.starts_with('#') {
        true => format!(
            "\"{}\" is not a colour; # and six digits 0-9, a-f are expected, such as #7aa2f7",
            short(value)
        ),
        false => format!(
            "\"{}\" is not a colour; write #rrggbb or one of the sixteen names; {}",
            short(value),
            hint(value, &names_of_colors())
        ),
    }
}
