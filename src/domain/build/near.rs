//! Documents that are nearly the same text.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::text::{document_key, text_key};

/// Words of a shingle.
const SHINGLE: usize = 4;
/// The smallest hashes that stand for a document when candidates are looked for.
const SKETCH: usize = 48;
/// Hashes that two sketches must share before their documents are compared.
const SHARED: usize = 8;
/// Documents that may share a hash; what more share is a phrase that everybody uses.
const MOST_SHARING: usize = 200;
/// The share of shingles in common (Jaccard) from which two documents are nearly the same.
const NEAR: f64 = 0.5;

/// Two documents that are nearly the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similar {
    /// Position of the first.
    pub first: usize,
    /// Position of the second, which is larger.
    pub second: usize,
    /// Shingles in common out of all: 0.5 to below 1.
    pub overlap: f64,
}

/// The pairs of texts that have at least half of their four-word shingles in common but are not the same text, in
/// order. Candidates are found by sketches (the smallest hashes of a document, after Broder 1997), so that time is
/// about linear in the number of texts.
pub fn near_duplicates(texts: &[&str]) -> Vec<Similar> {
    let shingles: Vec<Vec<u64>> = texts.iter().map(|text| shingles(text)).collect();
    let mut sharing: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, hashes) in shingles.iter().enumerate() {
        for hash in hashes.iter().take(SKETCH) {
            sharing.entry(*hash).or_default().push(at);
        }
    }
    let mut found = Vec::new();
    for (second, hashes) in shingles.iter().enumerate() {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for hash in hashes.iter().take(SKETCH) {
            let others = sharing.get(hash).filter(|all| all.len() <= MOST_SHARING);
            for first in others
                .into_iter()
                .flatten()
                .filter(|first| **first < second)
            {
                *shared.entry(*first).or_default() += 1;
            }
        }
        let enough = SHARED.min(hashes.len().div_ceil(4)).max(1);
        let mut candidates: Vec<usize> = shared
            .into_iter()
            .filter(|(_, count)| *count >= enough)
            .map(|(first, _)| first)
            .collect();
        candidates.sort_unstable();
        for first in candidates {
            let overlap = jaccard(&shingles[first], hashes);
            let same = || text_key(texts[first]) == text_key(texts[second]);
            if overlap >= NEAR && !same() {
                found.push(Similar {
                    first,
                    second,
                    overlap,
                });
            }
        }
    }
    found.sort_by_key(|pair| (pair.first, pair.second));
    found
}

/// The hashes of a text's shingles, rising, each once; a text of few words is one shingle.
fn shingles(text: &str) -> Vec<u64> {
    let key = document_key(text);
    let words: Vec<&str> = key
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut hashes: Vec<u64> = match words.len() {
        0 => Vec::new(),
        count if count < SHINGLE => vec![hash(&words)],
        _ => words.windows(SHINGLE).map(|window| hash(&window)).collect(),
    };
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn hash(words: &impl Hash) -> u64 {
    // Fixed keys: the same in every run.
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

fn jaccard(one: &[u64], other: &[u64]) -> f64 {
    let known: HashSet<&u64> = one.iter().collect();
    let common = other.iter().filter(|hash| known.contains(hash)).count();
    match one.len() + other.len() - common {
        0 => 0.0,
        all => common as f64 / all as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_but_not_equal_texts_are_found() {
        let base = "Ferritin stores iron in the liver, the spleen and the marrow, and releases it when the body needs more than it eats.";
        let near = base.replace("spleen", "kidney");
        let same = base.to_uppercase();
        let other = "The optic nerve carries signals from the retina to the lateral geniculate nucleus of the thalamus in both hemispheres.";
        let found = near_duplicates(&[base, other, &near, &same, ""]);
        let pairs: Vec<(usize, usize)> =
            found.iter().map(|pair| (pair.first, pair.second)).collect();
        assert_eq!(pairs, [(0, 2), (2, 3)]);
        assert!(found[0].overlap > 0.5 && found[0].overlap < 1.0);
    }

    #[test]
    fn a_phrase_that_many_share_makes_no_pair() {
        let texts: Vec<String> = (0..300)
            .map(|number| format!("The aim of this work was to find out about gene {number} alpha{number} beta{number} gamma{number} delta{number} epsilon{number} zeta{number} eta{number} theta{number}."))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(near_duplicates(&texts), []);
    }
}
