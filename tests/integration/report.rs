//! `medrgb report` through the real program: runs of composed contexts with replies that are parsed and
//! scored for real.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use medrgb::data::dataset::Dataset;
use medrgb::data::store::{FILE_NAME, ReplyRecord, Store};
use medrgb::domain::answer::{Ending, parse};
use medrgb::domain::context::{Condition, Scenario, SourceFilter};
use medrgb::domain::passage::Role;
use medrgb::domain::prompt::Templates;
use medrgb::domain::score::score;
use medrgb::engine::instance::{Instance, instance};
use serde_json::{Map, Value, json};

/// How a reply is made.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Everything right.
    Perfect,
    /// Wrong option; all documents called relevant and correct; the first sub-question skipped.
    Poor,
    /// Text from which no answer can be read.
    Unreadable,
    /// No reply came.
    Failed,
}

/// A reply to an instance, in the scenario's own form.
fn reply(instance: &Instance, kind: Kind) -> String {
    let perfect = kind == Kind::Perfect;
    let gold = instance.question.answer;
    let wrong = instance
        .question
        .options
        .iter()
        .find(|choice| choice.letter != gold);
    let answer = if perfect { gold } else { wrong.unwrap().letter };
    let context = &instance.context;
    let labels = |noise: bool| -> Vec<&str> {
        let documents = context.documents.iter();
        documents
            .filter(|document| (perfect && document.role == Role::Noise) == noise)
            .map(|document| document.label.as_str())
            .collect()
    };
    match context.scenario {
        Scenario::Standard => json!({"step_by_step_thinking": "x", "answer_choice": answer}),
        Scenario::Sufficiency => {
            json!({"relevant_doc_id": labels(false), "irrelevant_doc_id": labels(true),
            "step_by_step_thinking": "x", "answer_choice": answer})
        }
        Scenario::Integration | Scenario::Robustness => {
            let mut fields = Map::new();
            for (at, sub) in context.sub_questions.iter().enumerate() {
                if !perfect && at == 0 {
                    continue;
                }
                let given = match (&sub.planted, perfect) {
                    (Some(planted), false) => planted,
                    _ => &sub.answer,
                };
                fields.insert(
                    format!("sub_{}", at + 1),
                    json!({"question": sub.question, "answer": given, "doc_id": sub.label,
                        "relevant_doc_id": sub.label,
                        "factual_correctness": !(perfect && sub.planted.is_some())}),
                );
            }
            let main =
                json!({"question": "q", "step_by_step_thinking": "x", "answer_choice": answer});
            fields.insert("main".into(), main);
            Value::Object(fields)
        }
    }
    .to_string()
}

/// A place of its own for store and settings.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn store(&self) -> Store {
        Store::open(&self.dir.path().join("home/data").join(FILE_NAME)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `medrgb report` and gives its output.
    fn report(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_medrgb"))
            .arg("report")
            .args(args)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("MEDRGB_HOME", self.path("home"))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn text(&self, args: &[&str]) -> String {
        let output = self.report(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[args, &["--json"]].concat())).unwrap()
    }

    fn failure(&self, args: &[&str]) -> (i32, String) {
        let output = self.report(args);
        assert!(output.stdout.is_empty());
        let code = output.status.code().unwrap();
        (code, String::from_utf8(output.stderr).unwrap())
    }
}

/// Stores a reply to every question of the dataset; `kind` says of which kind, by the question's position.
fn ask(
    store: &Store,
    dataset: &Dataset,
    (run, model): (&str, &str),
    condition: Condition,
    kind: impl Fn(usize) -> Kind,
) {
    let templates = Templates::default();
    for (at, question) in dataset.questions.iter().enumerate() {
        let instance = instance(dataset, &templates, &question.id, &condition).unwrap();
        let kind = kind(at);
        let raw = match kind {
            Kind::Failed => String::new(),
            Kind::Unreadable => "I have looked at this for a long time.".to_owned(),
            _ => reply(&instance, kind),
        };
        let parsed = (kind != Kind::Failed).then(|| parse(&raw, &instance.shape, Ending::Complete));
        let scores = parsed
            .as_ref()
            .map(|parsed| score(&instance.question, &instance.context, parsed));
        let record = ReplyRecord {
            id: 0,
            run: run.into(),
            dataset: dataset.name.clone(),
            dataset_fingerprint: dataset.fingerprint.clone(),
            question: instance.question,
            condition,
            context: instance.context,
            prompt: instance.prompt,
            model: json!({"name": model, "backend": "http", "detail": "https://example.org/v1", "caution": null, "window": null}),
            model_name: model.into(),
            sampling: json!({"temperature": 0.0, "max_tokens": 1024}),
            raw,
            reply: json!({"ending": "complete"}),
            failure: match kind {
                Kind::Failed => json!({"kind": "rate_limited", "message": "429"}),
                _ => Value::Null,
            },
            parsed,
            scores,
            created_at: "2026-11-30T04:00:00Z".into(),
            request: None,
            origin: None,
        };
        store.insert(&record).unwrap();
    }
}

fn condition(scenario: Scenario, docs: usize, p: f64) -> Condition {
    Condition {
        scenario,
        docs,
        p,
        ..Condition::default()
    }
}

/// Half of the questions perfect, half poor.
fn half(at: usize) -> Kind {
    if at.is_multiple_of(2) {
        Kind::Perfect
    } else {
        Kind::Poor
    }
}

/// A run with every scenario and two models.
fn full_run(store: &Store, dataset: &Dataset, run: &str) {
    for model in ["gpt-4o-mini", "other-model"] {
        let kind = |at: usize| {
            if model == "gpt-4o-mini" {
                half(at)
            } else {
                Kind::Perfect
            }
        };
        for docs in [0, 5] {
            ask(
                store,
                dataset,
                (run, model),
                condition(Scenario::Standard, docs, 100.0),
                kind,
            );
        }
        for p in [0.0, 20.0, 40.0, 60.0, 80.0, 100.0] {
            ask(
                store,
                dataset,
                (run, model),
                condition(Scenario::Sufficiency, 5, p),
                kind,
            );
            ask(
                store,
                dataset,
                (run, model),
                condition(Scenario::Robustness, 5, p),
                kind,
            );
            if p > 0.0 {
                ask(
                    store,
                    dataset,
                    (run, model),
                    condition(Scenario::Integration, 5, p),
                    kind,
                );
            }
        }
    }
}

/// The sample benchmark as a folder that declares MedRGB's own documents and a set.
fn declared(place: &Place, manifest: &str) -> Dataset {
    let folder = place.path("set");
    std::fs::create_dir(&folder).unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-data");
    for name in [
        "signal_docs.json",
        "subqa_pairs.json",
        "counterfactual_docs.json",
    ] {
        std::fs::copy(sample.join(name), folder.join(name)).unwrap();
    }
    // Without each question's own set, so that the manifest's holds.
    let questions = std::fs::read_to_string(sample.join("qa.jsonl")).unwrap();
    let lines = questions.lines().map(|line| {
        let mut question: Map<String, Value> = serde_json::from_str(line).unwrap();
        question.shift_remove("dataset");
        Value::Object(question).to_string()
    });
    std::fs::write(
        folder.join("qa.jsonl"),
        lines.collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    std::fs::write(folder.join("manifest.json"), manifest).unwrap();
    Dataset::open(&folder).unwrap()
}

/// The cells of a report as `(table, metric, model, p or retrieval) -> cell`.
fn cells(report: &Value) -> HashMap<(String, String, String, String), Value> {
    let mut found = HashMap::new();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    for table in list(&report["tables"]) {
        for panel in list(&table["panels"]) {
            for row in list(&panel["rows"]) {
                for (column, cell) in list(&panel["columns"]).iter().zip(list(&row["cells"])) {
                    let key = (
                        format!("{} {}", word(&table["id"]), word(&panel["scenario"])),
                        word(&panel["measure"]),
                        word(&row["model"]),
                        word(&column["label"]),
                    );
                    assert!(found.insert(key, cell).is_none(), "a cell stands twice");
                }
            }
        }
    }
    found
}

/// The first eight questions of the sample, so that figures by hand stay small.
fn eight() -> Dataset {
    let mut dataset = Dataset::sample().unwrap();
    dataset.questions.truncate(8);
    dataset
}

#[test]
fn a_whole_run_fills_the_papers_tables() {
    let place = Place::new();
    let dataset = eight();
    full_run(&place.store(), &dataset, "night");
    let report = place.json(&["--run", "night"]);
    let cells = cells(&report);
    let cell = |table: &str, metric: &str, model: &str, column: &str| {
        let key = (table.into(), metric.into(), model.into(), column.into());
        cells
            .get(&key)
            .unwrap_or_else(|| panic!("no {key:?}"))
            .clone()
    };
    let n = dataset.questions.len() as f64;
    assert_eq!(n, 8.0);
    for column in ["none", "any-5"] {
        let found = cell("table1 standard", "main_accuracy", "gpt-4o-mini", column);
        assert_eq!(
            (found["value"].as_f64(), found["n"].as_f64()),
            (Some(0.5), Some(n))
        );
        assert_eq!(found["interval"], "wilson");
    }
    for p in ["p=0", "p=20", "p=40", "p=60", "p=80", "p=100"] {
        for (table, metric) in [
            ("table4 sufficiency", "noise_detection_accuracy"),
            ("table6 robustness", "main_accuracy"),
            ("table6 robustness", "sub_exact_match"),
            ("table6 robustness", "factual_error_detection"),
            ("abstention robustness", "coverage"),
        ] {
            assert_eq!(
                cell(table, metric, "other-model", p)["value"],
                1.0,
                "{metric} {p}"
            );
        }
        let found = cell("table4 sufficiency", "insufficient_rate", "other-model", p);
        assert_eq!(found["value"], 0.0);
    }
    // p=0: the poor half calls every document relevant, and all are noise: 0 of 5 right; the others 5 of 5.
    let found = cell(
        "table4 sufficiency",
        "noise_detection_accuracy",
        "gpt-4o-mini",
        "p=0",
    );
    assert_eq!(
        (found["value"].as_f64(), found["n"].as_f64()),
        (Some(0.5), Some(5.0 * n))
    );
    assert_eq!(found["interval"], "bootstrap");
    // p=100: "all relevant" is right everywhere.
    let found = cell(
        "table4 sufficiency",
        "noise_detection_accuracy",
        "gpt-4o-mini",
        "p=100",
    );
    assert_eq!(found["value"], 1.0);
    let found = cell("classes sufficiency", "noise_recall", "gpt-4o-mini", "p=60");
    assert_eq!(found["value"], 0.5);
    // Four poor replies adopt all planted answers but the first sub-question's, which they skip.
    let found = cell(
        "classes robustness",
        "misinformation_adopted",
        "gpt-4o-mini",
        "p=0",
    );
    let share = found["value"].as_f64().unwrap();
    assert!(share > 0.3 && share < 0.5, "{share}");
    assert!(
        !report["tables"].as_array().unwrap().iter().any(|table| {
            table["panels"]
                .as_array()
                .unwrap()
                .iter()
                .any(|panel| panel["measure"] == "sub_judge_score")
        }),
        "no judge was asked"
    );
    assert_eq!(
        report["outcomes"].as_array().unwrap().len(),
        2 * (2 + 6 + 6 + 5)
    );
    assert_eq!(report["comparisons"], json!([]));
}

#[test]
fn failures_repairs_and_older_replies_are_counted() {
    let place = Place::new();
    let (store, dataset) = (place.store(), eight());
    let standard = condition(Scenario::Standard, 5, 100.0);
    ask(&store, &dataset, ("r", "m"), standard, |_| Kind::Poor);
    ask(&store, &dataset, ("r", "m"), standard, |at| match at {
        0 => Kind::Failed,
        1 => Kind::Unreadable,
        _ => Kind::Perfect,
    });
    let other = Condition {
        docs: 20,
        ..standard
    };
    ask(&store, &dataset, ("r", "m"), other, |at| {
        if at == 0 { Kind::Failed } else { Kind::Perfect }
    });
    let report = place.json(&["--run", "r"]);
    assert_eq!(report["runs"][0]["records"], 24);
    assert_eq!(report["runs"][0]["superseded"], 8);
    let cells = cells(&report);
    let key = |column: &str| {
        (
            "table1 standard".into(),
            "main_accuracy".into(),
            "m".into(),
            String::from(column),
        )
    };
    // Question 0 keeps its older, wrong reply; question 1 can't be read; six are right: 6 of 8.
    let five = &cells[&key("any-5")];
    assert_eq!(
        (five["value"].as_f64(), five["unreadable"].as_f64()),
        (Some(0.75), Some(0.125))
    );
    assert_eq!(five["unavailable"], 0);
    let twenty = &cells[&key("any-20")];
    assert_eq!(
        (twenty["value"].as_f64(), twenty["n"].as_f64()),
        (Some(1.0), Some(7.0))
    );
    assert_eq!(twenty["unavailable"], 1);
    // No question of the sample has 20 documents.
    assert_eq!(twenty["short"], 8);
    let full = place.json(&["--run", "r", "--full-contexts"]);
    assert_eq!(full["runs"][0]["short_left_out"], 8);
    let notes = report["notes"].as_array().unwrap();
    assert!(
        notes
            .iter()
            .any(|row| row["note"] == "no statement commits to an answer"),
        "{notes:?}"
    );
    let text = place.text(&["--run", "r"]);
    assert!(
        text.contains("short contexts") && text.contains("unreadable %"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));

    let only = place.failure(&["--run", "nothing"]);
    assert_eq!(only.0, 1);
    assert!(
        only.1.contains("no run \"nothing\"; it holds r"),
        "{}",
        only.1
    );
    ask(&store, &dataset, ("broken", "m"), other, |_| Kind::Failed);
    let (code, error) = place.failure(&["--run", "broken"]);
    assert!(
        code == 1 && error.contains("none of the 8 askings brought a reply"),
        "{error}"
    );
    let (code, error) = place.failure(&["--run", "broken", "--full-contexts"]);
    assert!(code == 1 && error.contains("are short"), "{error}");
}

#[test]
fn declared_documents_stand_beside_the_paper() {
    let place = Place::new();
    let dataset = declared(&place, r#"{"documents": "medrgb", "name": "bioasq"}"#);
    full_run(&place.store(), &dataset, "own");
    full_run(&place.store(), &eight(), "sample");
    let report = place.json(&["--run", "own", "--against", "paper"]);
    assert_eq!(report["comparisons"][0]["comparable"], true);
    let cells = cells(&report);
    let cell = |table: &str, metric: &str, model: &str, column: &str| {
        cells[&(table.into(), metric.into(), model.into(), column.into())].clone()
    };
    // The paper: GPT-4o-mini, BioASQ: 82.9 without retrieval; robustness, 5 documents, 60 %: 66.7.
    let found = cell("table1 standard", "main_accuracy", "gpt-4o-mini", "none");
    assert_eq!(found["published"], 0.829);
    assert!((found["difference"].as_f64().unwrap() + 0.329).abs() < 1e-9);
    let found = cell(
        "table6 robustness",
        "factual_error_detection",
        "gpt-4o-mini",
        "p=60",
    );
    assert_eq!(found["published"], 0.667);
    // All sources at once has no counterpart in Table 1, an unknown model none at all.
    assert_eq!(
        cell("table1 standard", "main_accuracy", "gpt-4o-mini", "any-5")["published"],
        Value::Null
    );
    assert_eq!(
        cell("table1 standard", "main_accuracy", "other-model", "none")["published"],
        Value::Null
    );
    let text = place.text(&[
        "--run",
        "own",
        "--against",
        "paper",
        "--paper-model",
        "other-model=gpt-4o",
    ]);
    assert!(
        text.contains("difference") && text.contains("+12.1"),
        "{text}"
    );

    let output = place.report(&["--run", "sample", "--against", "paper", "--json"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("different documents, not comparable"),
        "{error}"
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["comparisons"][0]["comparable"], false);
    assert!(!report["tables"].to_string().contains("\"published\":0."));
}

#[test]
fn the_published_figures_are_those_of_the_paper() {
    let shared = std::env::var_os("MEDRGB_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let file = shared.join("paper/results.json");
    let Ok(text) = std::fs::read_to_string(&file) else {
        eprintln!("SKIPPED: no {}; set MEDRGB_SHARED", file.display());
        return;
    };
    let source: Value = serde_json::from_str(&text).unwrap();
    let paper = medrgb::domain::report::Published::embedded().unwrap();
    let rows = source["rows"].as_array().unwrap();
    assert_eq!((rows.len(), paper.figures.len()), (1220, 1220));
    for row in rows {
        let (docs, source) = match row["retrieval"].as_str() {
            None => (row["docs"].as_u64().unwrap(), SourceFilter::Any),
            Some("none") => (0, SourceFilter::Any),
            Some(name) => {
                let (source, docs) = name.split_once('-').unwrap();
                (docs.parse().unwrap(), source.parse().unwrap())
            }
        };
        let found: Vec<f64> = paper
            .figures
            .iter()
            .filter(|figure| {
                u64::from(figure.table) == row["table"].as_u64().unwrap()
                    && figure.scenario.name() == row["scenario"]
                    && serde_json::to_value(figure.metric).unwrap() == row["metric"]
                    && figure.dataset == row["dataset"].as_str().unwrap()
                    && figure.model == row["model"].as_str().unwrap()
                    && (figure.docs as u64, figure.source) == (docs, source)
                    && figure.p == row["p"].as_f64()
            })
            .map(|figure| figure.value)
            .collect();
        let published = row["value"].as_f64().unwrap() / 100.0;
        assert!(
            found.len() == 1 && (found[0] - published).abs() < 1e-12,
            "{row}: {found:?}"
        );
    }
}

#[test]
fn the_paper_can_be_reported_without_a_store() {
    let place = Place::new();
    let text = place.text(&["--run", "paper"]);
    assert!(
        text.contains("Table 6: robustness") && text.contains("99.5"),
        "{text}"
    );
    assert!(text.contains("Published figures"));
    let (code, error) = place.failure(&["--run", "night"]);
    assert!(
        code == 1 && error.contains("nothing has been stored"),
        "{error}"
    );
    assert!(!place.path("home/data").join(FILE_NAME).exists());
    for (args, part) in [
        (vec![], "--run"),
        (vec!["--run", "paper", "--format", "pdf"], "possible values"),
        (vec!["--run", "paper", "--against", "me"], "possible values"),
        (vec!["--run", "paper", "--standalone"], "LaTeX"),
        (vec!["--run", "paper", "--paper-model", "x"], "MODEL=PAPER"),
        (
            vec!["--run", "paper", "--paper-model", "x=y"],
            "has no model \"y\"",
        ),
    ] {
        let (code, error) = place.failure(&args);
        assert!(code == 2 && error.contains(part), "{code} {error}");
    }
}

/// The fields of a CSV text, RFC 4180.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = vec![vec![String::new()]];
    let mut quoted = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let record = records.last_mut().unwrap();
        match c {
            '"' if quoted && rest.next_if_eq(&'"').is_some() => {
                record.last_mut().unwrap().push('"')
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(String::new()),
            '\r' if !quoted => {}
            '\n' if !quoted => records.push(vec![String::new()]),
            c => record.last_mut().unwrap().push(c),
        }
    }
    records.pop();
    records
}

#[test]
fn every_form_has_the_same_figures() {
    let place = Place::new();
    let dataset = declared(&place, r#"{"documents": "medrgb", "name": "bioasq"}"#);
    full_run(&place.store(), &dataset, "own");
    let args = ["--run", "own", "--run", "paper", "--against", "paper"];
    let with = |more: &[&str]| place.text(&[&args[..], more].concat());

    let records = records(&with(&["--format", "csv"]));
    let head = &records[0];
    for name in [
        "table",
        "dataset",
        "model",
        "scenario",
        "docs",
        "p",
        "source",
        "metric",
        "value",
        "low",
        "high",
        "n",
        "unreadable",
        "unavailable",
        "short",
        "published",
        "difference",
    ] {
        assert!(head.iter().any(|column| column == name), "{name}");
    }
    let at = |name: &str| head.iter().position(|column| column == name).unwrap();
    let report = place.json(&args);
    let all: usize = report["tables"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|table| table["panels"].as_array().unwrap())
        .flat_map(|panel| panel["rows"].as_array().unwrap())
        .map(|row| {
            row["cells"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|cell| !cell.is_null())
                .count()
        })
        .sum();
    assert_eq!(records.len(), all + 1);
    assert!(records.iter().all(|record| record.len() == head.len()));
    let wanted = |record: &&Vec<String>| {
        record[at("metric")] == "factual_error_detection"
            && record[at("model")] == "gpt-4o-mini"
            && record[at("p")] == "60"
    };
    let record = records.iter().find(wanted).unwrap();
    assert_eq!(record[at("published")], "0.667");
    assert_eq!(record[at("table")], "table6");
    let value: f64 = record[at("value")].parse().unwrap();
    let shown = format!("{:.1}", value * 100.0);

    for (form, part) in [
        ("text", shown.clone()),
        ("md", format!(" **{shown}** |")),
        ("latex", format!(" & {shown}")),
        ("html", format!("<td>{shown}</td>")),
    ] {
        let written = with(&["--format", form]);
        assert!(written.contains(&part), "{form}: no {part}");
        assert!(
            written.contains("66.7") && written.contains("99.5"),
            "{form}"
        );
    }
    let tex = with(&["--format", "latex", "--standalone"]);
    assert!(tex.starts_with("\\documentclass") && tex.trim_end().ends_with("\\end{document}"));
    let count = |part: &str| tex.matches(part).count();
    assert_eq!(count("\\begin{longtable}"), count("\\end{longtable}"));
    assert_eq!(count("{") - count("\\{"), count("}") - count("\\}"));

    // By the ending of the file, whole or not at all.
    let output = place.report(&[&args[..], &["--out", "r.html"]].concat());
    assert!(output.status.success() && output.stdout.is_empty());
    assert_eq!(
        std::fs::read_to_string(place.path("r.html")).unwrap(),
        with(&["--format", "html"])
    );
    let (code, error) = place.failure(&[&args[..], &["--out", "gone/r.html"]].concat());
    assert!(
        code == 1 && error.contains("gone/r.html can't be written"),
        "{error}"
    );
}

/// Checks that tags nest, and gives all attributes as `(tag, name, value)`.
fn markup(page: &str) -> Vec<(String, String, String)> {
    const VOID: [&str; 2] = ["meta", "link"];
    let mut open: Vec<String> = Vec::new();
    let mut attributes = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "a stray >: {}", &rest[..at]);
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed out of turn");
            continue;
        }
        let name: String = tag.split([' ', '/']).next().unwrap().to_owned();
        let mut inside = tag[name.len()..].trim().trim_end_matches('/');
        while let Some((key, value)) = inside.split_once("=\"") {
            let (value, after) = value.split_once('"').unwrap();
            attributes.push((name.clone(), key.trim().to_owned(), value.to_owned()));
            inside = after;
        }
        assert!(
            inside.trim().is_empty(),
            "an attribute without quotes: {tag}"
        );
        if name == "style" {
            // A style sheet is no markup.
            rest = &rest[rest.find("</style>").unwrap()..];
        }
        if !VOID.contains(&name.as_str()) && !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    attributes
}

#[test]
fn the_page_asks_the_network_for_nothing() {
    let place = Place::new();
    let dataset = declared(&place, r#"{"documents": "medrgb", "name": "bioasq"}"#);
    full_run(&place.store(), &dataset, "own");
    let hostile = "<img src=http://x.invalid/y onerror=alert(1)>\"'&";
    ask(
        &place.store(),
        &dataset,
        ("own", hostile),
        condition(Scenario::Sufficiency, 5, 60.0),
        half,
    );
    let page = place.text(&[
        "--run",
        "own",
        "--run",
        "paper",
        "--against",
        "paper",
        "--format",
        "html",
    ]);
    let attributes = markup(&page);
    for (tag, name, value) in &attributes {
        let known = [
            "svg", "a", "meta", "html", "section", "div", "table", "th", "tr", "td", "text",
            "line", "path", "polygon", "polyline", "g", "title", "desc", "ul", "h2", "h3", "p",
            "main", "nav",
        ];
        assert!(known.contains(&tag.as_str()), "{tag} {name}");
        assert!(
            !["src", "srcset", "action", "style", "xmlns"].contains(&name.as_str()),
            "{name}"
        );
        assert!(!name.starts_with("on"), "{name}");
        if name == "href" {
            assert!(value.starts_with('#'), "{value}");
        }
    }
    let lower = page
        .replace(&hostile.replace('&', "&amp;"), "")
        .to_lowercase();
    for part in [
        "url(",
        "@import",
        "<script",
        "<link",
        "<img",
        "<iframe",
        "javascript:",
    ] {
        assert!(!lower.contains(part), "{part}");
    }
    // Only the hostile name holds an address, as text.
    assert_eq!(
        page.matches("http:").count(),
        page.matches("src=http:").count()
    );
    let policy = attributes
        .iter()
        .find(|(tag, name, _)| tag == "meta" && name == "content");
    assert!(
        policy
            .unwrap()
            .2
            .starts_with("default-src 'none'; style-src 'sha256-")
    );
    // Ids are unique, and every chart has its text and a table beside it.
    let ids: Vec<&String> = attributes
        .iter()
        .filter(|(_, name, _)| name == "id")
        .map(|(_, _, id)| id)
        .collect();
    let different: std::collections::HashSet<&&String> = ids.iter().collect();
    assert_eq!(ids.len(), different.len());
    let charts = page.matches("class=\"chart\"").count();
    assert!(charts > 20, "{charts}");
    assert_eq!(charts, page.matches("<desc ").count());
    // The abstention curves show two tables against each other.
    let curves = page.matches("against coverage</h3>").count();
    assert!(curves > 0);
    assert_eq!(charts - curves, page.matches("<caption>").count());
    for (_, _, names) in attributes
        .iter()
        .filter(|(_, name, _)| name == "aria-labelledby")
    {
        assert!(
            names
                .split(' ')
                .all(|name| ids.iter().any(|id| *id == name)),
            "{names}"
        );
    }
}

#[test]
fn charts_are_written_as_drawings_and_images() {
    let place = Place::new();
    let dataset = declared(&place, "{}");
    ask(
        &place.store(),
        &dataset,
        ("own", "m"),
        condition(Scenario::Sufficiency, 5, 60.0),
        half,
    );
    let files = |folder: &str, ending: &str| -> Vec<PathBuf> {
        let all = std::fs::read_dir(place.path(folder)).unwrap();
        let mut found: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.extension().unwrap() == ending);
        found.sort();
        found
    };
    place.text(&["--run", "own", "--figures", "drawn"]);
    assert!(files("drawn", "png").is_empty());
    let drawn = files("drawn", "svg");
    assert!(!drawn.is_empty());
    let output = place.report(&[
        "--run",
        "own",
        "--figures",
        "both",
        "--figures-format",
        "svg,png",
    ]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!(files("both", "svg").len(), drawn.len());
    if said.contains("this system has no font") {
        eprintln!("SKIPPED: this system has no font");
        return;
    }
    let images = files("both", "png");
    assert_eq!(images.len(), drawn.len());
    for image in images {
        let bytes = std::fs::read(&image).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 5_000);
    }
    place.text(&[
        "--run",
        "own",
        "--figures",
        "images",
        "--figures-format",
        "png",
    ]);
    assert!(files("images", "svg").is_empty());
    assert_eq!(files("images", "png").len(), drawn.len());
}
