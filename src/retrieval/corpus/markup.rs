//! XML of one record as a row of pieces, and running text with inline markup (the only file that names
//! quick-xml types).
//!
//! Nothing is expanded but character references, the five entities of XML and the named ones of HTML, each to
//! one character: there is nothing that a hostile file could blow up.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::retrieval::corpus::entities;

/// How deep elements may lie in each other: real records stay below 30, and readers keep the path to where they are.
const DEEPEST: usize = 256;

/// A piece of a record, in order.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    /// An element begins: its name without prefix, its attributes.
    Open(&'a str, Vec<(String, String)>),
    /// Text.
    Text(&'a str),
    /// An element ends.
    Close(&'a str),
}

/// Hands the pieces of a record to `visit`. Names with the prefix of MathML begin with `mml:`, others have none.
///
/// # Errors
/// What is wrong with the XML; then some pieces have been visited already.
pub(super) fn each(xml: &str, visit: &mut dyn FnMut(Piece<'_>)) -> Result<(), String> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().allow_dangling_amp = true;
    let mut depth = 0usize;
    loop {
        let event = reader
            .read_event()
            .map_err(|error| format!("broken XML: {error}"))?;
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(format!(
                        "elements lie more than {DEEPEST} deep in each other"
                    ));
                }
                visit(Piece::Open(name(tag.name().into_inner()), attributes(&tag)));
            }
            Event::Empty(tag) => {
                visit(Piece::Open(name(tag.name().into_inner()), attributes(&tag)));
                visit(Piece::Close(name(tag.name().into_inner())));
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                visit(Piece::Close(name(tag.name().into_inner())));
            }
            Event::Text(text) => visit(Piece::Text(&text.xml_content(XmlVersion::Implicit1_0))),
            Event::CData(text) => visit(Piece::Text(&text.xml_content(XmlVersion::Implicit1_0))),
            Event::GeneralRef(reference) => {
                let resolved = match reference.resolve_char_ref() {
                    Ok(Some(c)) => c.to_string(),
                    _ => match entities::named(&reference) {
                        Some(c) => c.to_string(),
                        None => format!("&{};", &*reference),
                    },
                };
                visit(Piece::Text(&resolved));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof if depth > 0 => return Err("broken XML: it ends within an element".into()),
            Event::Eof => return Ok(()),
        }
    }
}

/// [`each`]; where that fails because of comparison signs that nobody escaped (`p < 0.05`), they are and it is
/// tried again. `start` begins anew.
///
/// # Errors
/// As [`each`].
pub(super) fn each_lenient<T>(
    xml: &str,
    start: impl Fn() -> T,
    visit: impl Fn(&mut T, Piece<'_>),
) -> Result<T, String> {
    let parse = |xml: &str| {
        let mut state = start();
        each(xml, &mut |piece| visit(&mut state, piece)).map(|()| state)
    };
    parse(xml).or_else(|why| match escaped(xml) {
        Some(escaped) => parse(&escaped).map_err(|_| why),
        None => Err(why),
    })
}

/// With `&lt;` for every `<` that can't begin a tag; `None` where there is none.
fn escaped(xml: &str) -> Option<String> {
    let bare = |rest: &str| {
        rest.chars()
            .nth(1)
            .is_none_or(|c| !(c.is_alphabetic() || matches!(c, '_' | ':' | '/' | '!' | '?')))
    };
    let mut out = String::with_capacity(xml.len() + 16);
    let (mut from, mut found) = (0, false);
    for (at, _) in xml.match_indices('<') {
        if bare(&xml[at..]) {
            out.push_str(&xml[from..at]);
            out.push_str("&lt;");
            (from, found) = (at + 1, true);
        }
    }
    out.push_str(&xml[from..]);
    found.then_some(out)
}

/// Without its prefix, unless that says that it is MathML.
fn name(qualified: &str) -> &str {
    match qualified.split_once(':') {
        Some(("mml", _)) | None => qualified,
        Some((_, local)) => local,
    }
}

fn attributes(tag: &BytesStart<'_>) -> Vec<(String, String)> {
    tag.attributes()
        .flatten()
        .map(|attribute| {
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .unwrap_or_else(|_| attribute.value.clone());
            (
                name(attribute.key.into_inner()).to_owned(),
                value.into_owned(),
            )
        })
        .collect()
}

/// The value of an attribute.
pub(super) fn attribute<'a>(attributes: &'a [(String, String)], name: &str) -> Option<&'a str> {
    attributes
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

/// Elements that stand within a word or a sentence; the text around any other is kept apart by a space.
const INLINE: [&str; 22] = [
    "sub",
    "sup",
    "i",
    "b",
    "u",
    "em",
    "strong",
    "italic",
    "bold",
    "underline",
    "sc",
    "monospace",
    "strike",
    "overline",
    "roman",
    "sans-serif",
    "named-content",
    "styled-content",
    "ext-link",
    "xref",
    "abbrev",
    "inline-formula",
];

/// Running text as it is gathered.
#[derive(Debug, Default)]
pub(super) struct Flow {
    text: String,
    /// A superscript has begun after a digit.
    raised: bool,
}

impl Flow {
    /// An element begins or ends within the text.
    pub(super) fn tag(&mut self, name: &str, opens: bool) {
        if !(INLINE.contains(&name) || name.starts_with("mml:")) {
            self.text.push(' ');
        }
        self.raised = opens && name == "sup" && self.text.ends_with(|c: char| c.is_ascii_digit());
    }

    /// Text. A raised number after a digit is a power: 10<sup>9</sup> reads 10^9, not 109.
    pub(super) fn push(&mut self, text: &str) {
        if self.raised && text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '−'))
        {
            self.text.push('^');
        }
        self.raised = false;
        self.text.push_str(text);
    }

    /// The text with single spaces; nothing is left.
    pub(super) fn take(&mut self) -> String {
        let text = crate::domain::text::collapse(&self.text);
        self.text.clear();
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn flow(xml: &str) -> Result<String, String> {
        let flow = each_lenient(xml, Flow::default, |flow, piece| match piece {
            Piece::Open(name, _) => flow.tag(name, true),
            Piece::Close(name) => flow.tag(name, false),
            Piece::Text(text) => flow.push(text),
        });
        flow.map(|mut flow| flow.take())
    }

    #[test]
    fn inline_markup_joins_and_blocks_part() {
        for (xml, text) in [
            ("<a>CO<sub>2</sub> and Ca<sup>2+</sup></a>", "CO2 and Ca2+"),
            (
                "<a>10<sup>9</sup>/L, 10<sup>&#8722;3</sup></a>",
                "10^9/L, 10^−3",
            ),
            (
                "<a><p>one</p><p>two</p>three<break/>four</a>",
                "one two three four",
            ),
            (
                "<a>p &lt; 0.05 &amp; q&#x3e;1 &alpha;&nosuch;</a>",
                "p < 0.05 & q>1 α&nosuch;",
            ),
            (
                "<a>p < 0.05, n <10, <i>r</i> <= 1</a>",
                "p < 0.05, n <10, r <= 1",
            ),
            ("<a>AT&T</a>", "AT&T"),
            ("<a><![CDATA[x < y]]><!-- no --></a>", "x < y"),
            (
                "<a><mml:math><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:math></a>",
                "x2",
            ),
        ] {
            assert_eq!(flow(xml).as_deref(), Ok(text), "{xml}");
        }
    }

    #[test]
    fn broken_xml_is_said() {
        for xml in ["<a><b></a>", "<a>", "<a b='></a>"] {
            assert!(flow(xml).unwrap_err().starts_with("broken XML"), "{xml}");
        }
    }

    #[test]
    fn entities_of_a_document_type_are_never_expanded() {
        let bomb = "<!DOCTYPE a [<!ENTITY x \"ha\"><!ENTITY y \"&x;&x;\">]><a>&y;</a>";
        assert_eq!(flow(bomb).as_deref(), Ok("&y;"));
    }
}
