//! The vectors and logits that MedCPT's authors publish for a few texts, and whether a model gives the same.
//!
//! Source: the README of the repository `ncbi/MedCPT` (first and last three numbers per vector, or the
//! logits, four decimals). Texts and numbers are facts about the model, quoted as such.

use std::ops::ControlFlow;
use std::path::Path;

use medrgb_encoder::{BackendChoice, CrossEncoder, Encoder, Input, OpenOptions, Pair};

use crate::retrieval::rerank;

/// How far a number may lie from the published one: half a unit of its last decimal, and rounding.
const TOLERANCE: f64 = 2e-4;

struct Example {
    text: (&'static str, &'static str),
    first: [f64; 3],
    last: [f64; 3],
}

const QUERIES: &[Example] = &[
    Example {
        text: ("", "diabetes treatment"),
        first: [0.0413, 0.0084, -0.0491],
        last: [-0.4963, -0.3830, -0.3593],
    },
    Example {
        text: ("", "How to treat diabetes?"),
        first: [0.0801, 0.1193, -0.0905],
        last: [-0.5380, -0.5059, -0.2944],
    },
    Example {
        text: (
            "",
            "A 45-year-old man presents with increased thirst and frequent urination over the past 3 months.",
        ),
        first: [-0.3412, 0.1521, -0.0946],
        last: [0.0952, 0.1660, -0.0902],
    },
];

const ARTICLES: &[Example] = &[
    Example {
        text: (
            "Diagnosis and Management of Central Diabetes Insipidus in Adults",
            "Central diabetes insipidus (CDI) is a clinical syndrome which results from loss or impaired function of vasopressinergic neurons in the hypothalamus/posterior pituitary, resulting in impaired synthesis and/or secretion of arginine vasopressin (AVP). [...]",
        ),
        first: [-0.0189, 0.0115, 0.0988],
        last: [-0.0655, 0.3155, -0.0357],
    },
    Example {
        text: (
            "Adipsic diabetes insipidus",
            "Adipsic diabetes insipidus (ADI) is a rare but devastating disorder of water balance with significant associated morbidity and mortality. Most patients develop the disease as a result of hypothalamic destruction from a variety of underlying etiologies. [...]",
        ),
        first: [-0.3402, -0.3064, -0.0749],
        last: [-0.0799, 0.3332, 0.1263],
    },
    Example {
        text: (
            "Nephrogenic diabetes insipidus: a comprehensive overview",
            "Nephrogenic diabetes insipidus (NDI) is characterized by the inability to concentrate urine that results in polyuria and polydipsia, despite having normal or elevated plasma concentrations of arginine vasopressin (AVP). [...]",
        ),
        first: [-0.2764, -0.0506, -0.0608],
        last: [0.0389, 0.2532, 0.1580],
    },
];

/// What the cross-encoder's articles are scored against.
const CROSS_QUERY: &str = "diabetes treatment";

/// Title, abstract and logit; the articles that are not among [`ARTICLES`].
const CROSS: [(&str, &str, f64); 3] = [
    (
        "Type 1 and 2 diabetes mellitus: A review on current treatment approach and gene therapy as potential intervention",
        "Type 1 and type 2 diabetes mellitus is a serious and lifelong condition commonly characterised by abnormally elevated blood glucose levels due to a failure in insulin production or a decrease in insulin sensitivity and function. [...]",
        6.9363,
    ),
    (
        "Diabetes mellitus and its chronic complications",
        "Diabetes mellitus is a major cause of morbidity and mortality, and it is a major risk factor for early onset of coronary heart disease. Complications of diabetes are retinopathy, nephropathy, and peripheral neuropathy. [...]",
        -8.2063,
    ),
    (
        "Impact of Salt Intake on the Pathogenesis and Treatment of Hypertension",
        "Excessive dietary salt (sodium chloride) intake is associated with an increased risk for hypertension, which in turn is especially a major risk factor for stroke and other cardiovascular pathologies, but also kidney diseases. Besides, high salt intake or preference for salty food is discussed to be positive associated with stomach cancer, and according to recent studies probably also obesity risk. [...]",
        -15.8475,
    ),
];

/// The logits of [`ARTICLES`].
const CROSS_OF_ARTICLES: [f64; 3] = [-8.7692, -12.3450, -10.4416];

/// How a model's numbers compare with the published ones.
pub(super) struct Outcome {
    pub(super) passed: bool,
    pub(super) largest_difference: f64,
    texts: usize,
    /// `vectors` or `logits`.
    what: &'static str,
}

impl Outcome {
    pub(super) fn words(&self) -> String {
        let (texts, difference, what) = (self.texts, self.largest_difference, self.what);
        match self.passed {
            true => {
                format!("the {what} of {texts} published examples agree within {difference:.1e}")
            }
            false => format!(
                "the {what} of {texts} published examples are off by up to {difference:.1e}; {TOLERANCE:.0e} is allowed"
            ),
        }
    }
}

/// Computes the published examples of this model on the processor and compares.
///
/// # Errors
/// Why it could not be done, in one sentence.
pub(super) fn check(name: &str, folder: &Path) -> Result<Outcome, String> {
    let options = OpenOptions {
        backend: BackendChoice::Cpu,
        ..OpenOptions::default()
    };
    if name.ends_with("-cross") {
        return check_cross(folder, &options);
    }
    let is_query = name.ends_with("-query");
    let examples = if is_query { QUERIES } else { ARTICLES };
    let encoder = Encoder::open(folder, &options)
        .map_err(|error| format!("the encoder can't be opened: {error}"))?;
    let inputs: Vec<Input<'_>> = examples
        .iter()
        .map(|example| match (is_query, example.text) {
            (true, (_, text)) => Input::Query(text),
            (false, (title, content)) => Input::Article { title, content },
        })
        .collect();
    let (vectors, _) = encoder
        .encode(&inputs, &mut |_| ControlFlow::Continue(()))
        .map_err(|error| format!("the examples can't be encoded: {error}"))?;
    Ok(compare(examples, vectors.rows()))
}

fn check_cross(folder: &Path, options: &OpenOptions) -> Result<Outcome, String> {
    let cross = CrossEncoder::open(folder, options)
        .map_err(|error| format!("the cross-encoder can't be opened: {error}"))?;
    let (texts, published) = cross_examples();
    let pairs: Vec<Pair<'_>> = texts
        .iter()
        .map(|text| Pair {
            query: CROSS_QUERY,
            text,
        })
        .collect();
    let (logits, _) = cross
        .score(&pairs, &mut |_| ControlFlow::Continue(()))
        .map_err(|error| format!("the examples can't be scored: {error}"))?;
    Ok(compare_logits(&published, &logits))
}

/// Texts and published logits.
fn cross_examples() -> (Vec<String>, Vec<f64>) {
    let articles = ARTICLES.iter().zip(CROSS_OF_ARTICLES);
    articles
        .map(|(example, logit)| (example.text.0, example.text.1, logit))
        .chain(CROSS)
        .map(|(title, content, logit)| (rerank::text(title, content), logit))
        .unzip()
}

fn compare_logits(published: &[f64], logits: &[f32]) -> Outcome {
    let largest_difference = published
        .iter()
        .zip(logits)
        .fold(0.0, |worst, (published, got)| {
            widest(worst, *published, *got)
        });
    Outcome {
        passed: published.len() == logits.len() && largest_difference <= TOLERANCE,
        largest_difference,
        texts: logits.len(),
        what: "logits",
    }
}

/// The larger of `worst` and the distance of two numbers; one that is none must not pass for a small one.
fn widest(worst: f64, published: f64, got: f32) -> f64 {
    let apart = (published - f64::from(got)).abs();
    if apart.is_nan() {
        f64::INFINITY
    } else {
        worst.max(apart)
    }
}

fn compare<'v>(examples: &[Example], vectors: impl Iterator<Item = &'v [f32]>) -> Outcome {
    let mut largest_difference = 0f64;
    let mut texts = 0;
    for (example, vector) in examples.iter().zip(vectors) {
        let ends = vector.first_chunk::<3>().zip(vector.last_chunk::<3>());
        let difference = ends.map_or(f64::INFINITY, |(first, last)| {
            let pairs = example
                .first
                .iter()
                .zip(first)
                .chain(example.last.iter().zip(last));
            pairs.fold(0.0, |worst, (published, got)| {
                widest(worst, *published, *got)
            })
        });
        largest_difference = largest_difference.max(difference);
        texts += 1;
    }
    Outcome {
        passed: texts == examples.len() && largest_difference <= TOLERANCE,
        largest_difference,
        texts,
        what: "vectors",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(shift: f32) -> Vec<Vec<f32>> {
        QUERIES
            .iter()
            .map(|example| {
                let numbers = example.first.iter().chain(&example.last);
                numbers.map(|number| *number as f32 + shift).collect()
            })
            .collect()
    }

    fn outcome(vectors: &[Vec<f32>]) -> Outcome {
        compare(QUERIES, vectors.iter().map(Vec::as_slice))
    }

    #[test]
    fn only_all_published_vectors_pass() {
        assert!(outcome(&vectors(5e-5)).passed);
        assert!(!outcome(&vectors(1e-3)).passed);
        assert!(!outcome(&vectors(f32::NAN)).passed);
        assert!(!outcome(&vectors(0.0)[..2]).passed);
        assert!(!outcome(&[vec![0.0], vec![0.0], vec![0.0]]).passed);
        assert!(outcome(&vectors(1e-3)).words().contains("off by"));
    }

    #[test]
    fn only_all_published_logits_pass() {
        let (texts, published) = cross_examples();
        assert!(
            texts[1].starts_with("Adipsic diabetes insipidus. Adipsic diabetes insipidus (ADI)")
        );
        let shifted = |by: f64| -> Vec<f32> { published.iter().map(|x| (x + by) as f32).collect() };
        assert!(compare_logits(&published, &shifted(5e-5)).passed);
        assert!(!compare_logits(&published, &shifted(1e-3)).passed);
        assert!(!compare_logits(&published, &shifted(f64::NAN)).passed);
        assert!(!compare_logits(&published, &shifted(0.0)[..5]).passed);
        let words = compare_logits(&published, &shifted(1.0)).words();
        assert!(words.contains("the logits of 6"), "{words}");
    }
}
