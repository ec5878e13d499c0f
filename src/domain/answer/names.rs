//! The names of the documents of a context: labels, numbers, ids, ranges.

use super::phrases::{Pattern, compile};

/// "DOC_3", "doc 3", "Document #3", "[3]", "3" at the beginning of an item.
pub(super) static NUMBERED: Pattern = Pattern::new(|| {
    compile(
        r"(?i)^\W*(?:doc(?:ument)?s?|id|no|nr|number|snippet|passage|source|reference|ref)?[\s_\-#:.\[(]*0*(\d{1,9})\b",
    )
});

/// "DOC_1-DOC_3", "1 to 3", "DOC_1 through 3", "from document 1 to document 3".
pub(super) static RANGE: Pattern = Pattern::new(|| {
    compile(
        r"(?i)^\W*(?:from\s+)?(?:doc(?:ument)?s?)?[\s_#]*0*(\d{1,9})\s*(?:-|~|\u{2010}|\u{2011}|\u{2012}|\u{2013}|\u{2014}|\.{2,3}|\u{2026}|up\s+to|to|through|thru|until)\s*(?:doc(?:ument)?s?)?[\s_#]*0*(\d{1,9})\W*$",
    )
});

/// The names by which documents of a context can be called.
pub(super) struct Names {
    labels: Vec<String>,
    ids: Vec<String>,
    numbers: Vec<Option<u64>>,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// A document, by its label or id.
    Document(usize),
    /// A document, by a number without the label's form.
    Numbered(usize),
    /// Number 0.
    Zero,
    /// Nothing in the context.
    Unknown,
}

impl Names {
    pub(super) fn new(labels: &[String], ids: &[String]) -> Names {
        Names {
            labels: labels.iter().map(|label| folded(label)).collect(),
            ids: ids.iter().map(|id| folded(id)).collect(),
            numbers: labels
                .iter()
                .map(|label| label.rsplit('_').next()?.parse().ok())
                .collect(),
        }
    }

    fn by_number(&self, number: u64) -> Option<usize> {
        self.numbers.iter().position(|own| *own == Some(number))
    }

    /// One document. The label counts before the dataset's id, since only the label was shown.
    pub(super) fn name(&self, name: &str) -> Name {
        let key = folded(name);
        if key.is_empty() {
            return Name::Unknown;
        }
        let exact = |names: &[String]| names.iter().position(|own| *own == key);
        if let Some(at) = exact(&self.labels) {
            return Name::Document(at);
        }
        let numbered = self.whole_number(&key);
        if let Some(at) = numbered.and_then(|number| self.by_number(number)) {
            return Name::Numbered(at);
        }
        if let Some(at) = exact(&self.ids).or_else(|| self.leading(&key)) {
            return Name::Document(at);
        }
        match numbered {
            Some(0) if !key.starts_with("doc_") => Name::Zero,
            _ => Name::Unknown,
        }
    }

    /// The number of "3" and "DOC_3.", but not of an id such as "3f2a" or "doc3_2", nor of "-1".
    fn whole_number(&self, key: &str) -> Option<u64> {
        let negative = key
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if negative {
            return None;
        }
        let whole = NUMBERED.get()?.captures(key)?;
        let rest = &key[whole.get(0)?.end()..];
        let ends = rest.chars().all(|c| !c.is_alphanumeric() && c != '_');
        ends.then(|| whole.get(1)?.as_str().parse().ok())?
    }

    /// A name with text after it: "DOC_3 (about aspirin)", "DOC_3: relevant".
    fn leading(&self, key: &str) -> Option<usize> {
        let word_end = key
            .find(|c: char| c.is_whitespace() || "(:,;".contains(c))
            .filter(|&end| end > 0)?;
        let rest = key[word_end..].trim_start();
        let described = rest.starts_with(['(', ':']);
        if rest.contains("doc")
            || !described && (rest.contains([',', ';']) || rest.contains(" and "))
        {
            return None;
        }
        let word = key[..word_end].trim_matches(|c: char| !c.is_alphanumeric());
        // "DOC_2 to 4" and "docs 1 & 2" name more than one.
        let more = |text: &str| !described && text.contains(|c: char| c.is_ascii_digit());
        self.labels
            .iter()
            .chain(&self.ids)
            .position(|own| own == word && !more(rest))
            .map(|at| at % self.labels.len().max(1))
            .or_else(|| {
                let named = NUMBERED.get()?.captures(key)?;
                let after = &key[named.get(0)?.end()..];
                (key.trim_start_matches(|c: char| !c.is_alphanumeric())
                    .starts_with("doc")
                    && !after.starts_with('_')
                    && !after
                        .trim_start()
                        .starts_with(|c: char| c.is_ascii_digit() || "-\u{2013}&/+~".contains(c))
                    && (after.trim_start().starts_with(['(', ':'])
                        || !after.contains(|c: char| c.is_ascii_digit())))
                .then(|| self.by_number(named.get(1)?.as_str().parse().ok()?))?
            })
    }

    /// A range with both ends in the context.
    pub(super) fn range(&self, part: &str) -> Option<Vec<usize>> {
        let found = RANGE.get()?.captures(part)?;
        let end = |group: usize| self.by_number(found.get(group)?.as_str().parse().ok()?);
        let (from, to) = (end(1)?, end(2)?);
        (from <= to).then(|| (from..=to).collect())
    }

    /// The documents that are not among these.
    pub(super) fn others(&self, taken: &[usize]) -> Vec<usize> {
        (0..self.labels.len())
            .filter(|at| !taken.contains(at))
            .collect()
    }

    #[cfg(test)]
    pub(super) fn resolve(&self, name: &str) -> Option<usize> {
        match self.name(name) {
            Name::Document(at) | Name::Numbered(at) => Some(at),
            Name::Zero | Name::Unknown => None,
        }
    }
}

/// A name in its comparable form: without signs around it, in lower case, full-width signs as plain ones.
pub(super) fn folded(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| match u32::from(c) {
            code @ 0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(c),
            0x3000 => ' ',
            _ => c,
        })
        .collect();
    plain
        .trim()
        .trim_matches(|c: char| {
            matches!(
                c,
                '"' | '\'' | '[' | ']' | '(' | ')' | '<' | '>' | '*' | '`' | '{' | '}'
            ) || ('\u{2018}'..='\u{201f}').contains(&c)
        })
        .trim()
        .to_lowercase()
}
