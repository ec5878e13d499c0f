//! `manifest.json` of a dataset folder: what the dataset says of itself.
//!
//! Its field `documents` says whose documents these are; `"medrgb"` declares MedRGB's own, as published.
//! Its field `name` names the question set (`bioasq`, `medqa` …). Both go onto the questions as the fields
//! `documents` and `dataset`, unless a question has its own, and so into every stored reply: a report sets
//! only such replies beside the paper's figures.

use std::path::Path;

use serde_json::Value;

use crate::data::dataset::Dataset;
use crate::data::dataset::record::reason;
use crate::domain::report::MEDRGB_DOCUMENTS;

/// The file's name.
pub const MANIFEST: &str = "manifest.json";

/// Puts what the manifest of the dataset's folder declares onto its questions. A manifest that can't be
/// read is a problem of the dataset, and declares nothing.
pub(super) fn declare(dataset: &mut Dataset) {
    let file = dataset.path.join(MANIFEST);
    match read(&file) {
        Ok(Some(manifest)) => apply(dataset, &manifest),
        Ok(None) => {}
        Err(problem) => dataset.problems.push(format!(
            "{} is not used: {problem}; expected a JSON object such as {{\"documents\": \"{MEDRGB_DOCUMENTS}\"}}",
            file.display()
        )),
    }
}

fn read(file: &Path) -> Result<Option<Value>, String> {
    if !file.exists() {
        return Ok(None);
    }
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let manifest: Value = serde_json::from_slice(&bytes).map_err(|error| reason(&error))?;
    match manifest.is_object() {
        true => Ok(Some(manifest)),
        false => Err("it holds no object".to_owned()),
    }
}

fn apply(dataset: &mut Dataset, manifest: &Value) {
    let own = manifest.get("documents").and_then(Value::as_str) == Some(MEDRGB_DOCUMENTS);
    if !own {
        return;
    }
    let set = manifest.get("name").filter(|name| name.is_string());
    for question in &mut dataset.questions {
        let mut put = |name: &str, value: &Value| {
            if !question.extra.contains_key(name) {
                question.extra.insert(name.to_owned(), value.clone());
            }
        };
        put("documents", &Value::from(MEDRGB_DOCUMENTS));
        if let Some(set) = set {
            put("dataset", set);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn opened(manifest: Option<&str>) -> Dataset {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write(
            "qa.jsonl",
            r#"{"question_id":"q","question":"?","options":{"A":"yes","B":"no"},"answer":"A","dataset":"own"}
{"question_id":"r","question":"?","options":{"A":"yes","B":"no"},"answer":"A"}"#,
        )
        .unwrap();
        write("signal_docs.json", r#"{"q":[{"id":"d","content":"x"}]}"#).unwrap();
        if let Some(text) = manifest {
            write(MANIFEST, text).unwrap();
        }
        Dataset::open(folder.path()).unwrap()
    }

    #[test]
    fn a_declaration_goes_onto_the_questions() {
        let plain = opened(None);
        let marked = opened(Some(r#"{"documents":"medrgb","name":"bioasq"}"#));
        assert_eq!(marked.problems, Vec::<String>::new());
        assert_eq!(plain.fingerprint, marked.fingerprint);
        let field = |at: usize, name: &str| marked.questions[at].extra[name].clone();
        assert_eq!(field(0, "documents"), "medrgb");
        assert_eq!(field(1, "documents"), "medrgb");
        assert_eq!(
            (field(0, "dataset"), field(1, "dataset")),
            ("own".into(), "bioasq".into())
        );
        let other = opened(Some(r#"{"documents":"rgb","name":"bioasq"}"#));
        assert_eq!(other.questions, plain.questions);
    }

    #[test]
    fn a_broken_manifest_is_a_problem_and_declares_nothing() {
        for text in ["{", "[]", "\"medrgb\""] {
            let dataset = opened(Some(text));
            assert!(!dataset.questions[1].extra.contains_key("documents"));
            let [problem] = &dataset.problems[..] else {
                panic!("{:?}", dataset.problems)
            };
            assert!(problem.contains("manifest.json is not used"), "{problem}");
        }
    }
}
