//! Charts as PNG, drawn from their SVG with the fonts of the system, with their title and description as text.

use flate2::Crc;
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
        let png = image.encode_png().map_err(|error| error.to_string())?;
        Ok(described(&png, svg))
    }
}

/// Bytes of a PNG before the chunk after its header: signature, and IHDR with its 13 bytes.
const HEAD: usize = 8 + 12 + 13;

/// The image with what the drawing says in words, where programs for those who do not see it look for that: iTXt
/// chunks of the PNG specification, section 11.3.3.4.
fn described(png: &[u8], svg: &str) -> Vec<u8> {
    let Some((head, rest)) = png.split_at_checked(HEAD) else {
        return png.to_vec();
    };
    let mut out = head.to_vec();
    for (keyword, element) in [("Title", "title"), ("Description", "desc")] {
        if let Some(text) = element_text(svg, element) {
            out.extend(text_chunk(keyword, &text));
        }
    }
    out.extend_from_slice(rest);
    out
}

/// The text of the first element of this name.
fn element_text(svg: &str, name: &str) -> Option<String> {
    let (_, rest) = svg.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    let mut text = text.to_owned();
    for (written, meant) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ] {
        text = text.replace(written, meant);
    }
    Some(text)
}

/// An iTXt chunk with English text.
fn text_chunk(keyword: &str, text: &str) -> Vec<u8> {
    let mut body = b"iTXt".to_vec();
    body.extend_from_slice(keyword.as_bytes());
    // End of the keyword; not compressed, method 0; language; no translated keyword.
    body.extend_from_slice(b"\0\0\0en\0\0");
    body.extend_from_slice(text.as_bytes());
    let mut sum = Crc::new();
    sum.update(&body);
    let length = u32::try_from(body.len() - 4).unwrap_or(0);
    let mut chunk = length.to_be_bytes().to_vec();
    chunk.extend_from_slice(&body);
    chunk.extend_from_slice(&sum.sum().to_be_bytes());
    chunk
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
        // A described image is still one, and says what it shows.
        let titled = svg("MMM").replace(
            "<style>",
            "<title>A &lt; B</title><desc>p=0: 20 %</desc><style>",
        );
        let png = painter.paint(&titled).unwrap();
        assert!(has(&png, (0x00, 0x72, 0xb2)), "the image can be read");
        for wanted in [
            &b"iTXtTitle\0\0\0en\0\0A < B"[..],
            b"iTXtDescription\0\0\0en\0\0p=0: 20 %",
        ] {
            assert!(png.windows(wanted.len()).any(|bytes| bytes == wanted));
        }
    }

    #[test]
    fn a_text_chunk_is_as_the_specification_has_it() {
        let chunk = text_chunk("Title", "é");
        assert_eq!(chunk[..4], [0, 0, 0, 14]);
        assert_eq!(&chunk[4..8], b"iTXt");
        // CRC-32 of type and data, worked out by Python's zlib.crc32.
        assert_eq!(chunk[chunk.len() - 4..], 0xbacd0126_u32.to_be_bytes());
    }
}
