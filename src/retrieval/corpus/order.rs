//! The order in which PubMed's files are read.

use crate::retrieval::corpus::{CorpusFile, Format};

/// Puts files of PubMed that carry its own names (`pubmed26n0001.xml.gz`; baseline and update files of a year are
/// numbered on) in the order from the newest to the oldest, in the places that they have among the others: the first
/// version of a citation that is read counts, and deletions count for what is read after them. Says whether that
/// changed anything. Files of other names stay where they are, since nothing tells their age.
pub fn newest_first(files: &mut [CorpusFile]) -> bool {
    let places: Vec<usize> = (0..files.len())
        .filter(|&at| age(&files[at]).is_some())
        .collect();
    let mut dated: Vec<CorpusFile> = places.iter().map(|&at| files[at].clone()).collect();
    dated.sort_by_key(|file| std::cmp::Reverse(age(file)));
    let mut changed = false;
    for (&at, file) in places.iter().zip(dated) {
        changed |= files[at] != file;
        files[at] = file;
    }
    changed
}

/// Year and number in the name of one of PubMed's files.
fn age(file: &CorpusFile) -> Option<(u32, u32)> {
    if file.format != Format::PubMed {
        return None;
    }
    let name = file.name.rsplit('/').next()?.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let (year, number) = name
        .strip_suffix(".xml")?
        .strip_prefix("pubmed")?
        .split_once('n')?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match is_number(year) && is_number(number) {
        true => Some((year.parse().ok()?, number.parse().ok()?)),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<CorpusFile> {
        let file = |name: &&str| CorpusFile {
            path: name.into(),
            name: (*name).to_owned(),
            format: match name.contains("xml") {
                true => Format::PubMed,
                false => Format::Text,
            },
        };
        names.iter().map(file).collect()
    }

    #[test]
    fn files_with_pubmeds_names_come_newest_first_and_others_stay() {
        let mut found = files(&[
            "a/pubmed25n1400.xml.gz",
            "own.xml",
            "notes.txt",
            "a/pubmed26n0002.xml.gz",
            "a/pubmed26n0010.xml",
            "pubmed26nx.xml",
        ]);
        assert!(newest_first(&mut found));
        let names: Vec<&str> = found.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "a/pubmed26n0010.xml",
                "own.xml",
                "notes.txt",
                "a/pubmed26n0002.xml.gz",
                "a/pubmed25n1400.xml.gz",
                "pubmed26nx.xml",
            ]
        );
        assert!(!newest_first(&mut found), "already in order");
        assert!(!newest_first(&mut files(&["new.xml", "old.xml"])));
    }
}
