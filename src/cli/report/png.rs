//! Charts as PNG, drawn from their SVG with the fonts of the system.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels for each unit of the drawing, which is itself twice as large as in a page: sharp in print.
const SCALE: f32 = 2.0;

/// Families without serifs that systems have, the first that is there stands for all that a chart asks for.
const FAMILIES: [&str; 7] = [
    "Noto Sans",
    "DejaVu Sans",
    "Liberation Sans",
    "Roboto",
    "Segoe UI",
    "Helvetica",
    "Arial",
];

/// Draws charts. Reading the fonts of the system takes a moment, so one does for all charts.
pub(super) struct Painter {
    options: Options<'static>,
}

impl Painter {
    /// A painter; `None` where the system has no font to write labels with.
    pub(super) fn new() -> Option<Painter> {
        let mut options = Options::default();
        let fonts = options.fontdb_mut();
        fonts.load_system_fonts();
        let families: Vec<String> = fonts
            .faces()
            .filter_map(|face| face.families.first().map(|(name, _)| name.clone()))
            .collect();
        let known = FAMILIES
            .iter()
            .find(|name| families.iter().any(|family| family == *name));
        let family = known
            .map(|name| (*name).to_owned())
            .or_else(|| families.first().cloned())?;
        fonts.set_sans_serif_family(family.clone());
        options.font_family = family;
        Some(Painter { options })
    }

    /// The PNG of a chart.
    ///
    /// # Errors
    /// A few words for a drawing that can't be read or is too large.
    pub(super) fn paint(&self, svg: &str) -> Result<Vec<u8>, String> {
        let tree = Tree::from_str(svg, &self.options).map_err(|error| error.to_string())?;
        let size = tree.size().to_int_size();
        let size = size.scale_by(SCALE).ok_or("it has no size")?;
        let mut image =
            Pixmap::new(size.width(), size.height()).ok_or("it is too large for an image")?;
        resvg::render(
            &tree,
            Transform::from_scale(SCALE, SCALE),
            &mut image.as_mut(),
        );
        image.encode_png().map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stderr
    )]
    use super::*;

    /// Whether some pixel of the image has this colour.
    fn has(png: &[u8], colour: (u8, u8, u8)) -> bool {
        let image = Pixmap::decode_png(png).unwrap();
        image
            .pixels()
            .iter()
            .any(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == colour)
    }

    #[test]
    fn styles_and_labels_are_drawn() {
        let Some(painter) = Painter::new() else {
            eprintln!("SKIPPED: this system has no font");
            return;
        };
        let svg = |text: &str| {
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 40 20\" width=\"80\" height=\"40\"><style>.chart text{{fill:#3a3a3a;font-family:system-ui,sans-serif;font-size:12px}}.curve{{stroke:currentColor;stroke-width:2}}.s0{{color:#0072b2}}</style><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/><g class=\"s0\"><line class=\"curve\" x1=\"2\" x2=\"38\" y1=\"18\" y2=\"18\"/></g><text x=\"2\" y=\"12\">{text}</text></svg>"
            )
        };
        let png = painter.paint(&svg("MMM")).unwrap();
        let image = Pixmap::decode_png(&png).unwrap();
        assert_eq!((image.width(), image.height()), (160, 80));
        assert!(has(&png, (0x00, 0x72, 0xb2)) && has(&png, (0xff, 0xff, 0xff)));
        assert!(has(&png, (0x3a, 0x3a, 0x3a)), "the label is there");
        assert!(!has(&painter.paint(&svg("")).unwrap(), (0x3a, 0x3a, 0x3a)));
        assert!(painter.paint("<svg").is_err());
    }
}
