//! What is exported can be imported again, and is the same.

use medrgb::data::csv_file::Records;
use medrgb::data::dataset::Dataset;
use medrgb::data::export::{self, Format};
use medrgb::data::import::Kind;
use medrgb::data::parquet_file::{Column, Rows, Writer};
use medrgb::data::store::{ReplyRecord, Store};
use medrgb::domain::answer::{Ending, parse};
use medrgb::domain::context::{Condition, Scenario};
use medrgb::domain::prompt::Templates;
use medrgb::domain::score::score;
use medrgb::engine::ask::result_of;
use medrgb::engine::instance::instance;
use medrgb::source::open;
use serde_json::{Value, json};

use super::{House, run};

/// Questions and everything that hangs on them.
fn content(dataset: &Dataset) -> Vec<Value> {
    let all = dataset.questions.iter().map(|question| {
        let pools = dataset.pools(&question.id);
        json!([
            question,
            pools.signal,
            pools.sub_questions,
            pools.counterfactuals
        ])
    });
    all.collect()
}

/// The sample, and a question with everything that could get lost on the way.
fn full(house: &House) -> Dataset {
    house.file(
        "set/qa.jsonl",
        "{\"question_id\":\"=q\",\"question\":\"-5 °C, \\\"or\\\" more?\\nSecond line\",\"options\":{\"A\":\"+1\",\"B\":\"@home\",\"C\":\"'=x\"},\"answer\":\"B\",\"topic\":{\"deep\":[1]},\"note\":\"=1+1\"}\n{\"question_id\":\"q2\",\"question\":\"Q2?\",\"options\":{\"A\":\"yes\",\"B\":\"no\"},\"answer\":\"B\"}\n",
    );
    house.file(
        "set/signal_docs.json",
        r#"{"=q": [{"id": "d1", "title": "=T", "content": "One.", "source": "online", "year": 2001}, {"id": "d2", "title": "", "content": "Two.", "source": "PubMed"}]}"#,
    );
    house.file(
        "set/subqa_pairs.json",
        r#"{"=q": [{"doc_id": "d2", "question": "S?", "answer": "Two", "kind": "x"}]}"#,
    );
    house.file(
        "set/counterfactual_docs.json",
        r#"{"=q": [{"original_id": "d1", "new_answer": "Uno", "edited_document": "Uno.", "by": "hand"}]}"#,
    );
    // Whose documents these are is kept with every question, under the name of the list of documents.
    house.file(
        "set/manifest.json",
        r#"{"documents": "medrgb", "name": "bioasq"}"#,
    );
    Dataset::open(&house.path("set")).unwrap()
}

#[test]
fn datasets_come_back_from_every_format() {
    let house = House::new();
    for dataset in [full(&house), Dataset::sample().unwrap()] {
        assert_eq!(dataset.problems, Vec::<String>::new());
        for (format, kind, name) in [
            (Format::Jsonl, Kind::Jsonl, "d.jsonl"),
            (Format::Csv, Kind::Csv, "d.csv"),
            (Format::Parquet, Kind::Parquet, "d.parquet"),
        ] {
            let file = house.path(name);
            export::dataset(&dataset, format, &file).unwrap();
            let (report, again) = house.set(kind, &file);
            assert_eq!(report.bad, 0, "{name}: {:?}", report.problems);
            assert_eq!(content(&again), content(&dataset), "{name}");
        }
    }
    let csv = std::fs::read_to_string(house.path("d.csv")).unwrap();
    assert!(csv.starts_with("question_id,question,options,answer,documents,"));
    let refused = export::dataset(&full(&house), Format::Inspect, &house.path("d.json"));
    assert!(refused.unwrap_err().to_string().contains("for runs"));
}

#[test]
fn no_cell_of_a_csv_is_a_formula() {
    let house = House::new();
    let file = house.path("d.csv");
    export::dataset(&full(&house), Format::Csv, &file).unwrap();
    let cells: Vec<String> = records_of(&file).into_iter().flatten().collect();
    for cell in &cells {
        assert!(
            !cell.starts_with(['=', '+', '-', '@', '\t', '\r']),
            "{cell:?}"
        );
    }
    assert_eq!(cells.len(), 3 * 8);
}

fn records_of(path: &std::path::Path) -> Vec<Vec<String>> {
    let mut records = Records::new(open(path).unwrap().0, b',');
    let mut all = Vec::new();
    while let Some((_, cells)) = records.next_record().unwrap() {
        all.push(cells.unwrap());
    }
    all
}

/// A run on the sample in all scenarios, with a failed call and a cut-off reply.
fn sample_run(house: &House, name: &str) -> Vec<ReplyRecord> {
    let dataset = Dataset::sample().unwrap();
    let templates = Templates::default();
    let store = Store::open(&house.path("runs.sqlite")).unwrap();
    let replies = [
        (
            Scenario::Standard,
            "{\"step_by_step_thinking\": \"=t\", \"answer_choice\": \"A\"}",
            Ending::Complete,
        ),
        (
            Scenario::Sufficiency,
            "{\"relevant_doc_id\": [1], \"irrelevant_doc_id\": [2], \"answer_choice\": \"B\"}",
            Ending::Complete,
        ),
        (
            Scenario::Integration,
            "{\"sub_1\": {\"answer\": \"x\"}, \"main\": {\"answer_choice\": \"C\"}}",
            Ending::Complete,
        ),
        (Scenario::Robustness, "I think", Ending::Length),
    ];
    for (at, (scenario, text, ending)) in replies.into_iter().enumerate() {
        let condition = Condition {
            scenario,
            p: 60.0,
            ..Condition::default()
        };
        let question = &dataset.questions[at];
        let instance = instance(&dataset, &templates, &question.id, &condition).unwrap();
        let parsed = parse(text, &instance.shape, ending);
        let scores = score(question, &instance.context, &parsed);
        let mut record = ReplyRecord {
            id: 0,
            run: name.to_owned(),
            dataset: dataset.name.clone(),
            dataset_fingerprint: dataset.fingerprint.clone(),
            question: question.clone(),
            condition,
            context: instance.context,
            prompt: instance.prompt,
            model: json!({"name": "m", "backend": "http", "detail": "d", "caution": null, "window": null}),
            model_name: "m".to_owned(),
            sampling: json!({"temperature": 0.0, "max_tokens": 16}),
            raw: text.to_owned(),
            reply: json!({
                "reasoning": if at == 1 { "hidden" } else { "" }, "ending": ending,
                "usage": {"prompt_tokens": 10, "completion_tokens": 2},
                "timing": {"first_token_ms": null, "total_ms": 1500, "timeline": []}, "attempts": 1,
            }),
            failure: Value::Null,
            parsed: Some(parsed),
            scores: Some(scores),
            created_at: format!("2025-01-02T03:04:0{at}Z"),
            request: None,
            origin: None,
        };
        if at == 2 {
            store.insert(&record).unwrap();
            record.raw = String::new();
            record.reply = Value::Null;
            record.failure =
                json!({"kind": "server", "message": "500 broken", "status": 500, "attempts": 3});
            (record.parsed, record.scores) = (None, None);
        }
        store.insert(&record).unwrap();
    }
    store.replies_of_run(name).unwrap()
}

fn export_run(
    records: &[ReplyRecord],
    format: Format,
    file: &std::path::Path,
) -> Result<(), export::ExportError> {
    let all = || -> export::Records<'_> { Box::new(records.iter().cloned().map(Ok)) };
    export::run(&all, format, file)
}

#[test]
fn a_stored_run_is_written_page_by_page_as_from_memory() {
    let house = House::new();
    let records = sample_run(&house, "own");
    let store = Store::open(&house.path("runs.sqlite")).unwrap();
    // More than one page.
    let many: Vec<ReplyRecord> = (0..450)
        .map(|at| ReplyRecord {
            run: "many".into(),
            id: 0,
            ..records[at % records.len()].clone()
        })
        .collect();
    for record in &many {
        store.insert(record).unwrap();
    }
    let from_memory = store.replies_of_run("many").unwrap();
    let stored = export::StoredRun::new(&store, "many");
    for format in [Format::Jsonl, Format::Csv, Format::Parquet, Format::Inspect] {
        let (paged, whole) = (house.path("paged"), house.path("whole"));
        export::run(&|| stored.records(), format, &paged).unwrap();
        export_run(&from_memory, format, &whole).unwrap();
        assert_eq!((stored.read(), stored.broken()), (450, 0));
        let read = |path| std::fs::read(path).unwrap();
        assert!(read(paged) == read(whole), "{format}");
    }
}

#[test]
fn runs_come_back_from_json_lines_as_they_were() {
    let house = House::new();
    let records = sample_run(&house, "own");
    let file = house.path("own.jsonl");
    export_run(&records, Format::Jsonl, &file).unwrap();
    let mut request = house.request(None, &[&file]);
    let error = run(&request).unwrap_err().to_string();
    assert!(error.contains("a run \"own\" already"), "{error}");
    request.run = Some("again".into());
    let report = run(&request).unwrap();
    assert_eq!((report.kind, report.bad), (Kind::Run, 0));
    assert_eq!((report.runs[0].replies, report.runs[0].failures), (4, 1));
    let same = |record: &ReplyRecord| ReplyRecord {
        id: 0,
        run: String::new(),
        ..record.clone()
    };
    let again: Vec<_> = house.records("again").iter().map(same).collect();
    assert_eq!(again, records.iter().map(same).collect::<Vec<_>>());

    let newer =
        std::fs::read_to_string(&file)
            .unwrap()
            .replacen("\"version\":1", "\"version\":99", 1);
    let newer = house.file("newer.jsonl", newer.lines().next().unwrap());
    let error = run(&house.request(Some(Kind::Run), &[&newer]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("version 99") && error.contains("update"),
        "{error}"
    );
}

#[test]
fn runs_come_back_from_inspect_logs_with_their_contexts() {
    let house = House::new();
    let records = sample_run(&house, "own");
    let file = house.path("log.json");
    export_run(&records, Format::Inspect, &file).unwrap();
    let report = run(&house.request(None, &[&file])).unwrap();
    assert_eq!(
        (report.kind, report.bad),
        (Kind::Inspect, 0),
        "{:?}",
        report.problems
    );
    assert_eq!(report.runs[0].contexts_known, 5);
    let again = house.records("inspect-log");
    assert_eq!(again.len(), records.len());
    for (again, record) in again.iter().zip(&records) {
        assert_eq!(again.question, record.question);
        assert_eq!(again.condition, record.condition);
        assert_eq!(again.context, record.context);
        assert_eq!(again.prompt, record.prompt);
        assert_eq!(again.raw, record.raw);
        assert_eq!(again.parsed, record.parsed);
        assert_eq!(again.scores, record.scores);
        assert_eq!(again.model_name, record.model_name);
        assert_eq!(again.created_at, record.created_at);
        match (result_of(again).unwrap(), result_of(record).unwrap()) {
            (Ok(again), Ok(reply)) => {
                assert_eq!(
                    (again.reasoning, again.ending, again.usage),
                    (reply.reasoning, reply.ending, reply.usage)
                );
            }
            (Err(again), Err(failure)) => assert_eq!(again.message, failure.message),
            other => panic!("{other:?}"),
        }
    }
}

/// Of a question that was asked at p = 0 first, all documents that any record shows as signal come back, each with its own
/// sub-question, and none that a record shows as noise.
#[test]
fn documents_of_a_run_s_table_are_collected_over_its_records() {
    let house = House::new();
    let dataset = Dataset::sample().unwrap();
    let base = sample_run(&house, "own").remove(0);
    let question = &dataset.questions[0];
    let asked = [
        (Scenario::Sufficiency, 0.0),
        (Scenario::Robustness, 0.0),
        (Scenario::Sufficiency, 40.0),
        (Scenario::Integration, 100.0),
    ];
    let records: Vec<ReplyRecord> = asked
        .map(|(scenario, p)| {
            let condition = Condition {
                scenario,
                p,
                ..Condition::default()
            };
            let context = instance(&dataset, &Templates::default(), &question.id, &condition)
                .unwrap()
                .context;
            ReplyRecord {
                question: question.clone(),
                condition,
                context,
                ..base.clone()
            }
        })
        .to_vec();
    let pools = dataset.pools(&question.id);
    for (format, name) in [(Format::Csv, "t.csv"), (Format::Parquet, "t.parquet")] {
        let file = house.path(name);
        export_run(&records, format, &file).unwrap();
        let mut request = house.request(None, &[&file]);
        let out = house.path(&format!("{name}-set"));
        request.out = Some(out.clone());
        request.run = Some(format!("again-{format}"));
        let report = run(&request).unwrap();
        assert_eq!(report.bad, 0, "{:?}", report.problems);
        let again = Dataset::open(&out).unwrap();
        assert_eq!(again.problems, Vec::<String>::new());
        let found = again.pools(&question.id);
        assert!(!found.signal.is_empty() && !found.sub_questions.is_empty());
        for document in found.signal {
            let own = pools.signal.iter().find(|own| own.id == document.id);
            let own = own.expect("a signal document of the question");
            assert_eq!(
                (&own.title, &own.content),
                (&document.title, &document.content)
            );
            assert!(document.extra.is_empty(), "{:?}", document.extra);
        }
        for sub in found.sub_questions {
            let own = pools
                .sub_questions
                .iter()
                .find(|own| own.question == sub.question);
            assert_eq!(own.unwrap().doc_id, sub.doc_id);
        }
    }
}

#[test]
fn runs_as_tables() {
    let house = House::new();
    let records = sample_run(&house, "own");
    let parquet = house.path("r.parquet");
    export_run(&records, Format::Parquet, &parquet).unwrap();
    // Without a kind it is a run, not a benchmark; the kind "medrgb" is refused.
    let report = run(&house.request(None, &[&parquet])).unwrap();
    assert_eq!((report.kind, report.sets.len()), (Kind::Parquet, 0));
    assert_eq!(report.runs[0].replies, 5, "{:?}", report.problems);
    for kind in [Kind::Medrgb, Kind::Run] {
        let error = run(&house.request(Some(kind), &[&parquet])).unwrap_err();
        assert!(
            error.to_string().contains("medrgb import parquet"),
            "{error}"
        );
    }
    let rows: Vec<_> = Rows::open(&parquet).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[1]["scenario"], "sufficiency");
    assert_eq!(rows[1]["docs"], json!(5));
    assert_eq!(
        rows[3]["outcome"],
        Value::Null,
        "a failed call has no outcome"
    );
    assert!(rows[3]["failure"].as_str().unwrap().contains("500 broken"));
    assert_eq!(rows[4]["outcome"], "truncated");
    let detected = records[1].scores.as_ref().unwrap().counts
        [&medrgb::domain::score::Metric::NoiseDetectionAccuracy]
        .value();
    assert_eq!(rows[1]["noise_detection_accuracy"], json!(detected));

    let csv = house.path("r.csv");
    export_run(&records, Format::Csv, &csv).unwrap();
    let mut read = records_of(&csv);
    let header = read.remove(0);
    let column = |name: &str| header.iter().position(|own| own == name).unwrap();
    assert_eq!(read.len(), 5);
    assert_eq!(read[1][column("p")], "60.0");
    assert_eq!(read[0][column("chosen")], "A");
    let accuracy: f64 = read[0][column("main_accuracy")].parse().unwrap();
    assert_eq!(
        Some(accuracy == 1.0),
        records[0].scores.as_ref().unwrap().main_correct
    );
}

#[test]
fn a_dataset_folder_may_be_parquet() {
    let house = House::new();
    let dataset = full(&house);
    let write = |name: &str, columns: &[(&str, Column)], rows: Vec<Vec<Value>>| {
        let path = house.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer = Writer::new(std::fs::File::create(path).unwrap(), columns).unwrap();
        for row in rows {
            writer.row(row).unwrap();
        }
        writer.finish().unwrap();
    };
    let text = |name| (name, Column::Text);
    write(
        "p/qa.parquet",
        &[
            text("question_id"),
            text("question"),
            text("options"),
            text("answer"),
            text("note"),
        ],
        dataset
            .questions
            .iter()
            .map(|q| {
                let options: serde_json::Map<_, _> = q
                    .options
                    .iter()
                    .map(|c| (c.letter.to_string(), json!(c.text)))
                    .collect();
                let note = q.extra.get("note").cloned().unwrap_or_default();
                vec![
                    json!(q.id),
                    json!(q.text),
                    Value::Object(options),
                    json!(q.answer),
                    note,
                ]
            })
            .collect(),
    );
    // A row per document, and a row per question with a list.
    write(
        "p/signal_docs.parquet",
        &[
            text("question_id"),
            text("id"),
            text("title"),
            text("content"),
            text("source"),
            ("year", Column::Whole),
        ],
        vec![
            vec![
                json!("=q"),
                json!("d1"),
                json!("=T"),
                json!("One."),
                json!("online"),
                json!(2001),
            ],
            vec![
                json!("=q"),
                json!("d2"),
                Value::Null,
                json!("Two."),
                json!("PubMed"),
                Value::Null,
            ],
        ],
    );
    write(
        "p/subqa_pairs.parquet",
        &[text("question_id"), text("subqa_pairs")],
        vec![vec![
            json!("=q"),
            json!([{"doc_id": "d2", "question": "S?", "answer": "Two", "kind": "x"}]),
        ]],
    );
    write(
        "p/counterfactual_docs.parquet",
        &[
            text("question_id"),
            text("original_id"),
            text("new_answer"),
            text("edited_document"),
            text("by"),
        ],
        vec![vec![
            json!("=q"),
            json!("d1"),
            json!("Uno"),
            json!("Uno."),
            json!("hand"),
        ]],
    );
    for path in ["p", "p/qa.parquet"] {
        let opened = Dataset::open(&house.path(path)).unwrap();
        assert_eq!(opened.problems, Vec::<String>::new());
        assert_eq!(opened.questions[0].extra["note"], "=1+1");
        let parts = |dataset: &Dataset| content(dataset)[0].as_array().unwrap()[1..].to_vec();
        assert_eq!(parts(&opened), parts(&dataset));
        // What the folder says of all questions at once stands with each of them there.
        let (one, other) = (&opened.questions[1], &dataset.questions[1]);
        assert_eq!((&one.id, &one.text), (&other.id, &other.text));
        assert_eq!((&one.options, one.answer), (&other.options, other.answer));
    }
    write(
        "bad/qa.parquet",
        &[text("question_id")],
        vec![vec![json!("q")]],
    );
    write(
        "bad/signal_docs.parquet",
        &[text("id")],
        vec![vec![json!("d")]],
    );
    let error = Dataset::open(&house.path("bad")).unwrap_err().to_string();
    assert!(
        error.contains("signal_docs.parquet, row 1") && error.contains("question_id"),
        "{error}"
    );
    house.file("broken/qa.parquet", "PAR1 and no more");
    house.file("broken/signal_docs.json", "{}");
    let error = Dataset::open(&house.path("broken"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("no Parquet file"), "{error}");
}
