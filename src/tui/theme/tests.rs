#![allow(clippy::unwrap_used, clippy::panic)]

use ratatui::style::{Color, Modifier};

use super::color::{NAMED, contrast};
use super::*;

/// The values that the sixteen colours have in common terminals, in the order of [`NAMED`].
const XTERM: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];
const CONSOLE: [[u8; 3]; 16] = [
    [0, 0, 0],
    [170, 0, 0],
    [0, 170, 0],
    [170, 85, 0],
    [0, 0, 170],
    [170, 0, 170],
    [0, 170, 170],
    [170, 170, 170],
    [85, 85, 85],
    [255, 85, 85],
    [85, 255, 85],
    [255, 255, 85],
    [85, 85, 255],
    [255, 85, 255],
    [85, 255, 255],
    [255, 255, 255],
];

fn ours() -> [[u8; 3]; 16] {
    NAMED.map(|(_, _, rgb)| rgb)
}

/// What a terminal with this palette shows for a colour; `None` for its own.
fn seen(color: Option<Color>, palette: &[[u8; 3]; 16]) -> Option<[u8; 3]> {
    match color? {
        Color::Reset => None,
        Color::Rgb(r, g, b) => Some([r, g, b]),
        Color::Indexed(index @ 16..=231) => {
            let level = |k: u8| [0, 95, 135, 175, 215, 255][usize::from(k % 6)];
            let n = index - 16;
            Some([level(n / 36), level(n / 6), level(n)])
        }
        Color::Indexed(index @ 232..) => Some([8 + 10 * (index - 232); 3]),
        other => {
            let at = NAMED.iter().position(|(_, named, _)| *named == other);
            Some(palette[at.unwrap()])
        }
    }
}

/// The least contrast of letters in a tone: WCAG's 4.5 for text where the colours are known, its 3 where only their
/// names are; borders are no text.
fn least(tone: Tone, depth: ColorDepth) -> f64 {
    match (tone, depth) {
        (Tone::Border, _) => 1.3,
        (_, ColorDepth::Sixteen) => 3.0,
        _ => 4.5,
    }
}

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
fn every_tone_is_read_on_the_background_that_a_theme_is_made_for() {
    for depth in [ColorDepth::True, ColorDepth::Cube, ColorDepth::Sixteen] {
        for (name, palette) in [("xterm", XTERM), ("console", CONSOLE), ("ours", ours())] {
            for (theme_name, _) in BUILT_IN {
                let theme = load(theme_name, None, depth).unwrap();
                let (paper, ink) = match theme.background {
                    Background::Dark => ([0; 3], [229; 3]),
                    Background::Light => ([255; 3], [0; 3]),
                };
                for (tone, tone_name) in TONES {
                    let style = theme.style(tone);
                    let fg = seen(style.fg, &palette).unwrap_or(ink);
                    let bg = seen(style.bg, &palette).unwrap_or(paper);
                    let found = contrast(fg, bg);
                    assert!(
                        found >= least(tone, depth),
                        "{theme_name} {depth:?} on {name}: {tone_name} has a contrast of {found:.2}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_tone_is_read_on_a_chosen_row() {
    for depth in [ColorDepth::True, ColorDepth::Cube] {
        for (name, _) in BUILT_IN {
            let theme = load(name, None, depth).unwrap();
            let Some(row) = seen(theme.style(Tone::Selection).bg, &ours()) else {
                let swapped = Modifier::REVERSED;
                assert!(theme.style(Tone::Selection).add_modifier.contains(swapped));
                continue;
            };
            for (tone, tone_name) in TONES.iter().filter(|(tone, _)| *tone != Tone::Border) {
                if let Some(fg) = seen(theme.style(*tone).fg, &ours()) {
                    let found = contrast(fg, row);
                    assert!(found >= 3.0, "{name} {depth:?}: {tone_name} has {found:.2}");
                }
            }
        }
    }
}

#[test]
fn a_chosen_row_and_the_bar_stay_visible_with_sixteen_colours() {
    for (name, _) in BUILT_IN {
        let theme = load(name, None, ColorDepth::Sixteen).unwrap();
        for tone in [Tone::Selection, Tone::Header] {
            let style = theme.style(tone);
            assert!(style.add_modifier.contains(Modifier::REVERSED), "{name}");
        }
    }
}

#[test]
fn a_truecolor_theme_of_ones_own_is_read_with_sixteen_colours() {
    let folder = tempfile::tempdir().unwrap();
    for background in ["dark", "light"] {
        // Any colour whatever: a theme without a word on the sixteen.
        let colors = (0..64u32).map(|n| [(n & 3) * 85, (n >> 2 & 3) * 85, (n >> 4 & 3) * 85]);
        for (at, [r, g, b]) in colors.enumerate() {
            let text = format!(
                "background = \"{background}\"\n[styles]\ntext = {{ fg = \"#{r:02x}{g:02x}{b:02x}\" }}\n"
            );
            std::fs::write(folder.path().join("own.toml"), text).unwrap();
            let theme = load("own", Some(folder.path()), ColorDepth::Sixteen).unwrap();
            let paper = if background == "dark" {
                [0; 3]
            } else {
                [255; 3]
            };
            for palette in [XTERM, ours()] {
                let fg = seen(theme.style(Tone::Text).fg, &palette).unwrap();
                let found = contrast(fg, paper);
                assert!(found >= 3.0, "{background} {at}: {r} {g} {b}: {found:.2}");
            }
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
    assert_ne!(theme.style(Tone::JsonKey), theme.style(Tone::JsonString));
    assert_ne!(theme.style(Tone::MdHeading), theme.style(Tone::Text));
}

#[test]
fn a_child_overrides_the_palette_of_its_parent() {
    let light = load("light", None, ColorDepth::True).unwrap();
    assert_eq!(
        light.style(Tone::Text).fg,
        Some(Color::Rgb(0x1f, 0x24, 0x30))
    );
    assert_eq!(light.background, Background::Light);
}

#[test]
fn what_a_parent_says_of_sixteen_colours_goes_with_its_own_colour() {
    let theme = load("high-contrast", None, ColorDepth::Sixteen).unwrap();
    assert_eq!(theme.style(Tone::Title).fg, Some(Color::LightCyan));
}

#[test]
fn a_theme_called_like_one_of_ours_changes_ours() {
    let folder = tempfile::tempdir().unwrap();
    let text = "inherits = \"dark\"\n[palette]\nink = \"#ffffff\"\n";
    std::fs::write(folder.path().join("dark.toml"), text).unwrap();
    let own = load("dark", Some(folder.path()), ColorDepth::True).unwrap();
    assert_eq!(own.style(Tone::Text).fg, Some(Color::Rgb(255, 255, 255)));
    let ours = load("dark", None, ColorDepth::True).unwrap();
    assert_eq!(own.style(Tone::Signal), ours.style(Tone::Signal));
    // One that inherits from it gets the changed one.
    let light = load("light", Some(folder.path()), ColorDepth::True).unwrap();
    assert_eq!(light.background, Background::Light);
    assert_eq!(names(Some(folder.path())).len(), BUILT_IN.len());
}

#[test]
fn colours_degrade() {
    let cube = load("dark", None, ColorDepth::Cube).unwrap();
    let signal = |theme: &Theme| theme.style(Tone::Signal).fg;
    assert!(matches!(signal(&cube), Some(Color::Indexed(_))));
    let sixteen = load("dark", None, ColorDepth::Sixteen).unwrap();
    assert_eq!(signal(&sixteen), Some(Color::LightGreen));
}
