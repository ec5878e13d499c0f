//! Found documents in a better order: a cross-encoder reads the query and each document together.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use medrgb_encoder::{BackendChoice, CrossEncoder, EncoderError, Pair};

use crate::retrieval::{Found, Hit, RetrievalError, encoders};

/// How many hits are read anew where nothing else is said.
pub const DEFAULT_DEPTH: u16 = 100;

/// Hits in the order of a cross-encoder.
#[derive(Debug, Clone, PartialEq)]
pub struct Reranked {
    /// Best first; scores are the cross-encoder's logits.
    pub found: Found,
    /// For each hit the rank it had before.
    pub ranks_before: Vec<usize>,
    /// Milliseconds that scoring took.
    pub ms: f64,
}

/// Opens a cross-encoder folder.
///
/// # Errors
/// When the folder holds no cross-encoder that can run on this backend.
pub fn open(folder: &Path, backend: BackendChoice) -> Result<CrossEncoder, RetrievalError> {
    CrossEncoder::open(folder, &encoders::options(backend))
        .map_err(|error| RetrievalError(format!("the cross-encoder can't be opened: {error}")))
}

/// What the cross-encoder reads of a document: "title. abstract", as MedCPT's was trained on.
pub fn text(title: &str, content: &str) -> String {
    let (title, content) = (title.trim(), content.trim());
    match (title, content) {
        ("", only) | (only, "") => only.to_owned(),
        _ if title.ends_with(['.', '?', '!']) => format!("{title} {content}"),
        _ => format!("{title}. {content}"),
    }
}

/// The `k` best of all hits of `found` by the cross-encoder's logits; equal ones keep their order.
/// `progress` tells how many are read and stops the work when it breaks.
///
/// # Errors
/// When the cross-encoder fails, gives numbers that are none, or the work is stopped.
pub fn rerank(
    found: Found,
    query: &str,
    cross: &CrossEncoder,
    k: usize,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Reranked, RetrievalError> {
    let began = Instant::now();
    let texts: Vec<String> = found
        .hits
        .iter()
        .map(|hit| text(&hit.title, &hit.content))
        .collect();
    let pairs: Vec<Pair<'_>> = texts.iter().map(|text| Pair { query, text }).collect();
    let (logits, _) = cross
        .score(&pairs, &mut |at| progress(at.done, at.total))
        .map_err(|error| match error {
            EncoderError::Cancelled => RetrievalError("reranking was cancelled".into()),
            other => RetrievalError(format!("reranking failed: {other}")),
        })?;
    if logits.iter().any(|logit| !logit.is_finite()) {
        return Err(RetrievalError(
            "the cross-encoder gave numbers that are not finite: its weights or the backend are broken; try --backend cpu".into(),
        ));
    }
    let (hits, ranks_before) = order(found.hits, &logits, k);
    Ok(Reranked {
        found: Found { hits, ..found },
        ranks_before,
        ms: began.elapsed().as_secs_f64() * 1e3,
    })
}

/// The `k` hits with the largest scores and the ranks they had.
fn order(hits: Vec<Hit>, scores: &[f32], k: usize) -> (Vec<Hit>, Vec<usize>) {
    let mut scored: Vec<(Hit, f32)> = hits.into_iter().zip(scores.iter().copied()).collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1));
    scored
        .into_iter()
        .take(k)
        .enumerate()
        .map(|(at, (hit, score))| {
            let before = hit.rank;
            let hit = Hit {
                score,
                rank: at + 1,
                ..hit
            };
            (hit, before)
        })
        .unzip()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn title_and_abstract_become_one_text() {
        for (title, content, wanted) in [
            (
                "Adipsic diabetes",
                "It is rare.",
                "Adipsic diabetes. It is rare.",
            ),
            ("Is it rare?", "It is.", "Is it rare? It is."),
            (" A title. ", " Text", "A title. Text"),
            ("", "Text", "Text"),
            ("A title", "", "A title"),
            ("", "", ""),
        ] {
            assert_eq!(text(title, content), wanted);
        }
    }

    #[test]
    fn the_largest_scores_come_first_and_equal_ones_keep_their_order() {
        let hits: Vec<Hit> = ["a", "b", "c", "d"]
            .iter()
            .enumerate()
            .map(|(position, id)| Hit {
                position,
                id: (*id).into(),
                title: String::new(),
                content: String::new(),
                score: 9.0 - position as f32,
                rank: position + 1,
            })
            .collect();
        let (hits, before) = order(hits, &[-3.0, 1.5, -3.0, 2.0], 3);
        let short: Vec<_> = hits
            .iter()
            .map(|hit| (hit.id.as_str(), hit.rank, hit.score))
            .collect();
        assert_eq!(short, [("d", 1, 2.0), ("b", 2, 1.5), ("a", 3, -3.0)]);
        assert_eq!(before, [4, 2, 1]);
    }
}
