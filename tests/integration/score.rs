//! `medrgb score` on 6,960 real replies, and on small files of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use medrgb::cli::Failure;
use medrgb::cli::score::{Args, Report, evaluate, table};
use medrgb::domain::answer::Outcome;
use medrgb::domain::definition::Definition;

/// The folder with shared data, if this machine has it.
fn mirage() -> Option<PathBuf> {
    let shared = std::env::var_os("MEDRGB_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let folder = shared.join("data/mirage");
    if folder.join("benchmark.json.gz").is_file() && folder.join("predictions").is_dir() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: no MIRAGE data in {}; set MEDRGB_SHARED",
        folder.display()
    );
    None
}

fn scored(questions: &str, predictions: &Path, definition: Definition) -> Result<Report, Failure> {
    evaluate(&Args {
        questions: questions.to_owned(),
        predictions: predictions.to_owned(),
        definition,
        json: true,
    })
}

#[test]
fn real_replies_give_the_published_counts() {
    let Some(folder) = mirage() else { return };
    let benchmark = folder.join("benchmark.json.gz");
    let mut replies = 0;
    for (set, n, cot, retrieved) in [
        ("mmlu", 1089, 794, 822),
        ("medqa", 1273, 826, 848),
        ("pubmedqa", 500, 180, 337),
        ("bioasq", 618, 458, 558),
    ] {
        for (run, correct) in [("cot", cot), ("medrag32", retrieved)] {
            let predictions = folder.join(format!("predictions/{set}.gpt-3.5.{run}.jsonl"));
            let questions = format!("{}#{set}", benchmark.display());
            let report = scored(&questions, &predictions, Definition::Mirage).unwrap();
            assert_eq!((report.n, report.correct), (n, correct), "{set} {run}");
            assert_eq!(report.accuracy, Some(correct as f64 / n as f64));

            let report = scored(&questions, &predictions, Definition::Paper).unwrap();
            assert_eq!(
                report.kinds.values().sum::<usize>(),
                n,
                "every reply has a kind"
            );
            assert_eq!(report.missing, 0);
            let unreadable = report.kinds.get(&Outcome::Unreadable).copied().unwrap_or(0);
            assert!(unreadable <= 5, "{set} {run}: {unreadable} unreadable");
            assert!(
                report.kinds[&Outcome::Answered] * 100 >= n * 95,
                "{set} {run}"
            );
            replies += n;
        }
    }
    assert_eq!(replies, 6960);
}

#[test]
fn irregular_replies_get_the_kind_that_a_person_gave() {
    let Some(folder) = mirage() else { return };
    use medrgb::data::predictions::read_questions;
    use medrgb::domain::definition::{read, standard_shape};
    let mut questions = std::collections::HashMap::new();
    for set in ["mmlu", "medqa", "pubmedqa", "bioasq"] {
        for question in read_questions(&folder.join("benchmark.json.gz"), Some(set)).unwrap() {
            questions.insert((set.to_owned(), question.id.clone()), question);
        }
    }
    let text = std::fs::read_to_string(folder.join("irregular.gpt-3.5.jsonl")).unwrap();
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let question = &questions[&(field("dataset"), field("id"))];
        let reading = read(
            Definition::Paper,
            row["response"].as_str(),
            &standard_shape(question),
        );
        let kind = field("kind");
        use Outcome::*;
        let expected: &[Outcome] = match kind.split([' ', ':', '/', '-']).next().unwrap() {
            "none" | "N" => &[NotOffered],
            "refusal" => &[Insufficient, NotOffered, SeveralOptions, Unreadable],
            "several" => &[SeveralOptions],
            "letter" => &[NotOffered, Insufficient],
            "api" => &[ProviderError],
            "empty" => &[Empty],
            "truncated" => &[Truncated],
            "answer" if kind.contains("empty") => &[Unreadable],
            "a" => &[Answered, Unreadable],
            _ => &[Answered],
        };
        assert!(
            expected.contains(&reading.outcome),
            "{kind}: {:?} {line}",
            reading.outcome
        );
    }
}

/// The reasoning of a real reply, read as if it were the whole reply, must not name another option than
/// the answer field does. A few models do contradict themselves.
#[test]
fn reasoning_read_as_prose_agrees_with_the_answer_field() {
    let Some(folder) = mirage() else { return };
    use medrgb::data::predictions::{read_predictions, read_questions};
    use medrgb::domain::definition::{read, standard_shape};
    let (mut agree, mut differ) = (0, Vec::new());
    for set in ["mmlu", "medqa", "pubmedqa", "bioasq"] {
        let questions = read_questions(&folder.join("benchmark.json.gz"), Some(set)).unwrap();
        let shapes: std::collections::HashMap<String, _> = questions
            .iter()
            .map(|question| (question.id.clone(), standard_shape(question)))
            .collect();
        let file = folder.join(format!("predictions/{set}.gpt-3.5.medrag32.jsonl"));
        read_predictions(&file, &mut |line, prediction| {
            let raw = prediction.response.unwrap_or_default();
            let object: serde_json::Value = serde_json::from_str(&raw).unwrap_or_default();
            let thinking = object["step_by_step_thinking"].as_str();
            let Some(thinking) = thinking.filter(|_| line % 3 == 0) else {
                return Ok(());
            };
            let shape = &shapes[&prediction.id];
            let field = read(Definition::Paper, Some(&raw), shape).answer;
            let prose = read(Definition::Paper, Some(thinking), shape).answer;
            match (field, prose) {
                (Some(a), Some(b)) if a == b => agree += 1,
                (Some(_), Some(_)) => differ.push(prediction.id),
                _ => {}
            }
            Ok(())
        })
        .unwrap();
    }
    assert!(agree > 600, "{agree}");
    assert!(differ.len() <= 2, "{differ:?}");
}

const QUESTIONS: &str = r#"{"question_id":"q1","question":"Q1?","options":{"A":"yes","B":"no"},"answer":"A"}
{"question_id":"q2","question":"Q2?","options":{"A":"yes","B":"no"},"answer":"B"}
{"question_id":"q3","question":"Q3?","options":{"A":"yes","B":"no"},"answer":"A"}
{"question_id":"q4","question":"Q4?","options":{"A":"yes","B":"no"},"answer":"A"}
{"question_id":"q5","question":"Q5?","options":{"A":"yes","B":"no"},"answer":"A"}
"#;

#[test]
fn a_small_file_is_counted_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let (questions, predictions) = (
        folder.path().join("qa.jsonl"),
        folder.path().join("p.jsonl"),
    );
    std::fs::write(&questions, QUESTIONS).unwrap();
    let lines = [
        r#"{"id":"q1","response":"{\"step_by_step_thinking\": \"x\", \"answer_choice\": \"A\"}"}"#,
        r#"{"id":"q2","response":"The answer is no."}"#,
        r#"{"id":"q3","response":"503 Service Unavailable"}"#,
        r#"{"id":"q4","response":null}"#,
    ];
    std::fs::write(&predictions, lines.join("\r\n")).unwrap();
    let questions = questions.display().to_string();

    let paper = scored(&questions, &predictions, Definition::Paper).unwrap();
    assert_eq!((paper.n, paper.correct, paper.missing), (4, 2, 1));
    assert_eq!((paper.unavailable, paper.unreadable), (1, 1));
    assert_eq!(paper.accuracy, Some(2.0 / 3.0));
    assert_eq!(paper.kinds[&Outcome::Empty], 1);

    let strict = scored(&questions, &predictions, Definition::Strict).unwrap();
    assert_eq!((strict.correct, strict.kinds[&Outcome::Unreadable]), (1, 1));
    // MIRAGE's rule takes A where it finds nothing, also from an error message.
    let mirage = scored(&questions, &predictions, Definition::Mirage).unwrap();
    assert_eq!((mirage.correct, mirage.accuracy), (2, Some(0.5)));

    let json = serde_json::to_value(&paper).unwrap();
    for key in [
        "definition",
        "n",
        "correct",
        "accuracy",
        "insufficient",
        "unreadable",
        "unavailable",
        "missing",
        "kinds",
        "interval",
    ] {
        assert!(json.get(key).is_some(), "{key}");
    }
    assert_eq!(json["kinds"]["provider_error"], 1);
    assert_eq!(json["definition"], "paper");
    let text = table(&paper);
    assert!(
        text.contains("2 right of 3") && text.contains("provider_error"),
        "{text}"
    );
}

#[test]
fn wrong_files_are_refused_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let questions = folder.path().join("qa.jsonl");
    std::fs::write(&questions, QUESTIONS).unwrap();
    let questions = questions.display().to_string();
    let predictions = folder.path().join("p.jsonl");
    for (text, part) in [
        (
            "{\"id\":\"q1\",\"response\":\"A\"}\n{\"id\":\"q9\",\"response\":\"A\"}",
            "line 2: id \"q9\" is no question",
        ),
        (
            "{\"id\":\"q1\",\"response\":\"A\"}\n\n{\"id\":\"q1\",\"response\":\"A\"}",
            "line 3: id \"q1\" stands already in line 1",
        ),
        ("\n", "holds no reply"),
    ] {
        std::fs::write(&predictions, text).unwrap();
        let error = scored(&questions, &predictions, Definition::Paper).unwrap_err();
        assert!(
            matches!(&error, Failure::Failed(_)) && error.to_string().contains(part),
            "{error}"
        );
    }
    let error = scored(
        &format!("{questions}#mmlu"),
        &predictions,
        Definition::Paper,
    )
    .unwrap_err();
    assert!(matches!(error, Failure::Usage(_)), "{error}");
    let error = scored("/nowhere/qa.jsonl", &predictions, Definition::Paper).unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
    for bytes in [&b"\x1f\x8bnonsense"[..], b"\x1f\x8b\x08\0\0\0\0\0\0\x03cut"] {
        let file = folder.path().join("bad.jsonl.gz");
        std::fs::write(&file, bytes).unwrap();
        let error = scored(&questions, &file, Definition::Paper).unwrap_err();
        assert!(
            error.to_string().contains("gzip data can't be unpacked"),
            "{error}"
        );
    }
}
