//! Walking a grammar byte by byte.

use crate::model::embedded::grammar::utf8::Utf8;
use crate::model::embedded::grammar::{Grammar, Segment, TextRole};

/// Where inside a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListAt {
    /// Before the first label.
    Open,
    /// Behind a comma.
    Comma,
    /// Inside a label.
    Label,
    /// Behind a label's closing quote.
    After,
}

/// A place in a grammar: what has been written so far is the beginning of a reply.
#[derive(Debug, Clone)]
pub struct Cursor<'g> {
    grammar: &'g Grammar,
    at: usize,
    /// Bytes of this segment so far (literals and texts).
    offset: usize,
    /// Behind a backslash.
    escaped: bool,
    utf8: Utf8,
    /// Of a choice or label begun.
    prefix: Vec<u8>,
    list: ListAt,
    /// Labels of this list that are taken.
    used: Vec<usize>,
}

impl<'g> Cursor<'g> {
    /// Whether the reply is complete.
    pub fn is_done(&self) -> bool {
        self.at >= self.grammar.segments.len()
    }

    /// The segment at hand.
    pub fn segment(&self) -> usize {
        self.at
    }

    /// The role of the free text at hand.
    pub fn text_role(&self) -> Option<TextRole> {
        self.grammar.text_role(self.at)
    }

    /// Whether the main answer is about to begin.
    pub fn at_answer(&self) -> bool {
        let here = self.grammar.segments.get(self.at);
        self.prefix.is_empty() && matches!(here, Some(Segment::OneOf { answer: true, .. }))
    }

    /// Whether all of these bytes may come next. Nothing (a control token) may not.
    pub fn accepts(&self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return false;
        }
        let mut next = self.clone();
        bytes.iter().all(|byte| next.push(*byte))
    }

    /// Whether the free text at hand may be ended here.
    pub fn may_close(&self) -> bool {
        self.text_role().is_some() && self.offset > 0 && !self.escaped && self.utf8.is_whole()
    }

    /// What ends the free text at hand: the whole next literal.
    pub fn closing(&self) -> Option<&'g [u8]> {
        match self.grammar.segments.get(self.at + 1) {
            Some(Segment::Literal(bytes)) if self.may_close() => Some(bytes),
            _ => None,
        }
    }

    /// The bytes that must come next because there is no alternative; empty where there is a choice.
    pub fn forced(&self) -> Vec<u8> {
        match self.grammar.segments.get(self.at) {
            Some(Segment::Literal(bytes)) => bytes.get(self.offset..).unwrap_or_default().to_vec(),
            Some(Segment::OneOf { values, .. }) => common(values.iter(), &self.prefix),
            Some(Segment::List(labels)) => match self.list {
                ListAt::Comma => {
                    let mut bytes = b"\"".to_vec();
                    bytes.extend(common(self.free(labels), &[]));
                    bytes
                }
                ListAt::Label => common(self.free(labels), &self.prefix),
                ListAt::Open | ListAt::After => Vec::new(),
            },
            Some(Segment::Text(_)) | None => Vec::new(),
        }
    }

    /// Takes one byte. `false` if it may not come here; the cursor is of no more use then.
    pub fn push(&mut self, byte: u8) -> bool {
        let grammar = self.grammar;
        match grammar.segments.get(self.at) {
            None => false,
            Some(Segment::Literal(bytes)) => {
                let fits = bytes.get(self.offset) == Some(&byte);
                self.offset += 1;
                if self.offset == bytes.len() {
                    self.next_segment();
                }
                fits
            }
            Some(Segment::Text(_)) => self.push_text(byte),
            Some(Segment::OneOf { values, .. }) => self.push_choice(values, byte),
            Some(Segment::List(labels)) => self.push_list(labels, byte),
        }
    }

    fn next_segment(&mut self) {
        self.at += 1;
        self.offset = 0;
        self.escaped = false;
        self.utf8 = Utf8::default();
        self.prefix.clear();
        self.list = ListAt::Open;
        self.used.clear();
    }

    fn push_text(&mut self, byte: u8) -> bool {
        if self.escaped {
            self.escaped = false;
            self.offset += 1;
            return matches!(byte, b'"' | b'\\' | b'n');
        }
        if byte == b'"' && self.may_close() {
            self.next_segment();
            return self.push(byte);
        }
        self.offset += 1;
        match byte {
            b'"' => false,
            b'\\' => {
                self.escaped = true;
                self.utf8.is_whole()
            }
            byte => self.utf8.push(byte),
        }
    }

    fn push_choice(&mut self, values: &[Vec<u8>], byte: u8) -> bool {
        if self.extends(values.iter(), byte) {
            self.prefix.push(byte);
            let whole = values.contains(&self.prefix);
            let longer = values
                .iter()
                .any(|value| value.len() > self.prefix.len() && value.starts_with(&self.prefix));
            if whole && !longer {
                self.next_segment();
            }
            return true;
        }
        // The next literal begins: fine if what stands here is one of the values.
        let whole = values.contains(&self.prefix);
        self.next_segment();
        whole && self.push(byte)
    }

    fn push_list(&mut self, labels: &[Vec<u8>], byte: u8) -> bool {
        match (self.list, byte) {
            (ListAt::Open | ListAt::Comma, b'"') => {
                self.list = ListAt::Label;
                self.prefix.clear();
                true
            }
            (ListAt::After, b',') => {
                self.list = ListAt::Comma;
                true
            }
            (ListAt::Label, byte) => {
                if self.extends(self.free(labels), byte) {
                    self.prefix.push(byte);
                    return true;
                }
                let label = labels.iter().position(|label| *label == self.prefix);
                match label.filter(|index| byte == b'"' && !self.used.contains(index)) {
                    Some(index) => {
                        self.used.push(index);
                        self.list = ListAt::After;
                        if self.used.len() == labels.len() {
                            self.next_segment();
                        }
                        true
                    }
                    None => false,
                }
            }
            (ListAt::Open | ListAt::After, byte) => {
                self.next_segment();
                self.push(byte)
            }
            (ListAt::Comma, _) => false,
        }
    }

    /// Whether one of the values goes on with this byte behind the prefix.
    fn extends<'v>(&self, mut values: impl Iterator<Item = &'v Vec<u8>>, byte: u8) -> bool {
        values.any(|value| {
            value.starts_with(&self.prefix) && value.get(self.prefix.len()) == Some(&byte)
        })
    }

    /// Labels of a list that are not taken yet.
    fn free<'v>(&self, labels: &'v [Vec<u8>]) -> impl Iterator<Item = &'v Vec<u8>> {
        let used = self.used.clone();
        labels
            .iter()
            .enumerate()
            .filter(move |(index, _)| !used.contains(index))
            .map(|(_, label)| label)
    }
}

/// What all values that begin with the prefix have in common behind it.
fn common<'v>(values: impl Iterator<Item = &'v Vec<u8>>, prefix: &[u8]) -> Vec<u8> {
    let mut rests = values.filter_map(|value| value.strip_prefix(prefix));
    let Some(mut shared) = rests.next() else {
        return Vec::new();
    };
    for rest in rests {
        let length = shared.iter().zip(rest).take_while(|(a, b)| a == b).count();
        shared = shared.get(..length).unwrap_or_default();
    }
    shared.to_vec()
}

impl Grammar {
    /// A walk from the beginning.
    pub fn start(&self) -> Cursor<'_> {
        Cursor {
            grammar: self,
            at: 0,
            offset: 0,
            escaped: false,
            utf8: Utf8::default(),
            prefix: Vec::new(),
            list: ListAt::Open,
            used: Vec::new(),
        }
    }
}
