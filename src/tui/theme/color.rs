//! Colours: their names, how a terminal with fewer of them shows them, and whether one can be read on another.

use ratatui::style::Color;

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

/// The background of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// Light letters are read on it.
    #[default]
    Dark,
    /// Dark letters are read on it.
    Light,
}

impl Background {
    /// Its name in theme files.
    pub fn name(self) -> &'static str {
        match self {
            Background::Dark => "dark",
            Background::Light => "light",
        }
    }

    /// What a background of this colour is: light where black letters stand out more than white ones.
    pub fn of(rgb: [u8; 3]) -> Background {
        match contrast(rgb, [0; 3]) > contrast(rgb, [255; 3]) {
            true => Background::Light,
            false => Background::Dark,
        }
    }
}

/// The sixteen named colours with the values they have in most terminals.
pub(super) const NAMED: [(&str, Color, [u8; 3]); 16] = [
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

/// The terminal's own colour, whichever that is.
pub(super) const DEFAULT: &str = "default";

/// A colour as theme files write it: `#rrggbb`, one of the sixteen names, or `default`; `None` for anything else.
pub(super) fn parse(text: &str) -> Option<Color> {
    if let Some(hex) = text.strip_prefix('#') {
        let digits = hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(hex, 16).ok().filter(|_| digits)?;
        let [_, r, g, b] = number.to_be_bytes();
        return Some(Color::Rgb(r, g, b));
    }
    named(text)
}

/// One of the sixteen names, or `default`.
pub(super) fn named(text: &str) -> Option<Color> {
    if text == DEFAULT {
        return Some(Color::Reset);
    }
    let found = NAMED.iter().find(|(name, ..)| *name == text);
    found.map(|(_, color, _)| *color)
}

/// The nearest colour that the terminal can show; `None` where it shows none. With sixteen colours letters keep
/// their hue as far as it can be read on `background`, whose exact shade and palette nobody knows.
pub(super) fn reduced(color: Color, depth: ColorDepth, background: Background) -> Option<Color> {
    match (color, depth) {
        (_, ColorDepth::None) => None,
        (Color::Rgb(r, g, b), ColorDepth::Cube) => Some(Color::Indexed(cube([r, g, b]))),
        (Color::Rgb(r, g, b), ColorDepth::Sixteen) => Some(sixteen([r, g, b], background)),
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

/// A chroma below which a colour is a grey, of 255.
const GREY: u8 = 40;

/// One of sixteen colours for letters. Bright ones are read on dark backgrounds; on light ones yellow, green and
/// cyan are not read in the palettes of common terminals, so that their neighbours stand in.
fn sixteen(rgb: [u8; 3], background: Background) -> Color {
    let [r, g, b] = rgb;
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let light = luminance(rgb);
    let dark = background == Background::Dark;
    if most - least < GREY {
        return match (dark, light) {
            (true, ..0.1) => Color::DarkGray,
            (true, _) => Color::Gray,
            (false, 0.1..) => Color::DarkGray,
            (false, _) => Color::Black,
        };
    }
    match (hue(rgb), dark) {
        (15.0..75.0, true) => Color::LightYellow,
        (75.0..165.0, true) => Color::LightGreen,
        (165.0..200.0, true) => Color::LightCyan,
        (200.0..265.0, true) => Color::LightBlue,
        (265.0..345.0, true) => Color::LightMagenta,
        (_, true) => Color::LightRed,
        (75.0..265.0, false) => Color::Blue,
        (15.0..75.0 | 265.0..345.0, false) => Color::Magenta,
        (_, false) => Color::Red,
    }
}

/// The hue in degrees, 0 (red) to 360.
fn hue(rgb: [u8; 3]) -> f64 {
    let [r, g, b] = rgb.map(f64::from);
    let most = r.max(g).max(b);
    let chroma = (most - r.min(g).min(b)).max(1.0);
    let sector = if most == r {
        (g - b) / chroma
    } else if most == g {
        (b - r) / chroma + 2.0
    } else {
        (r - g) / chroma + 4.0
    };
    (sector * 60.0).rem_euclid(360.0)
}

/// Relative luminance, 0 (black) to 1 (white), as WCAG 2 defines it for sRGB.
fn luminance(rgb: [u8; 3]) -> f64 {
    let [r, g, b] = rgb.map(|value| {
        let value = f64::from(value) / 255.0;
        match value <= 0.040_45 {
            true => value / 12.92,
            false => ((value + 0.055) / 1.055).powf(2.4),
        }
    });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// How well one colour is read on another: WCAG's contrast ratio, 1 (the same) to 21 (black on white).
pub(super) fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_the_guidelines() {
        assert!((contrast([0; 3], [255; 3]) - 21.0).abs() < 1e-9);
        // #777777 on white: the guidelines' example of what just fails 4.5.
        let grey = contrast([0x77; 3], [255; 3]);
        assert!((grey - 4.48).abs() < 0.005, "{grey}");
    }

    #[test]
    fn backgrounds_are_told_apart() {
        for (rgb, expected) in [
            ([0, 0, 0], Background::Dark),
            ([0x1e, 0x1e, 0x2e], Background::Dark),
            ([0x00, 0x2b, 0x36], Background::Dark),
            ([0xfd, 0xf6, 0xe3], Background::Light),
            ([255, 255, 255], Background::Light),
        ] {
            assert_eq!(Background::of(rgb), expected, "{rgb:?}");
        }
    }

    #[test]
    fn hues_survive_where_few_colours_are_left() {
        let on_dark = |rgb| sixteen(rgb, Background::Dark);
        assert_eq!(on_dark([0x9e, 0xce, 0x6a]), Color::LightGreen);
        assert_eq!(on_dark([0xff, 0x9e, 0x64]), Color::LightYellow);
        assert_eq!(on_dark([0xf7, 0x76, 0x8e]), Color::LightRed);
        assert_eq!(on_dark([0x7a, 0xa2, 0xf7]), Color::LightBlue);
        assert_eq!(on_dark([0x8b, 0x94, 0xa3]), Color::Gray);
        assert_eq!(sixteen([0x1f, 0x24, 0x30], Background::Light), Color::Black);
        assert_eq!(sixteen([0x2d, 0x7a, 0x1f], Background::Light), Color::Blue);
    }
}
