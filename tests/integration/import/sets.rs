//! Datasets of other people become dataset folders.

use std::ops::ControlFlow;

use medrgb::data::dataset::Dataset;
use medrgb::data::export::{self, Format};
use medrgb::data::import::{ImportError, Kind, import};
use medrgb::data::parquet_file::{Column, Writer};
use medrgb::domain::passage::Source;

use super::{House, fixture, manifest, mapping, run};

#[test]
fn medrgb_parquet_with_nested_lists() {
    let house = House::new();
    let (report, dataset) = house.set(Kind::Medrgb, &fixture("nested-00000-of-00001.parquet"));
    assert_eq!(report.bad, 0, "{:?}", report.problems);
    let counts = report.sets[0].counts;
    assert_eq!(
        (
            counts.questions,
            counts.documents,
            counts.sub_questions,
            counts.counterfactuals
        ),
        (2, 3, 2, 1)
    );
    assert_eq!(report.mapped["documents"], "signal_documents");
    assert_eq!(report.mapped["sub_questions"], "sub_qa");
    assert_eq!(report.mapped["counterfactuals"], "counterfactual_documents");
    assert!(
        report.kept.contains(&"topics".to_owned()),
        "{:?}",
        report.kept
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("noise_documents")),
        "{:?}",
        report.notes
    );
    assert_eq!(manifest(&house.path("out"))["documents"], "medrgb");
    assert_eq!(report.sets[0].name, "nested");

    assert_eq!(
        dataset.questions[1].answer, 'B',
        "the answer may be an option's text"
    );
    assert_eq!(
        dataset.questions[0].extra["topics"],
        serde_json::json!(["heat", "vents"])
    );
    let pools = dataset.pools("q1");
    assert_eq!(pools.signal[0].title, "Vents");
    assert_eq!(pools.counterfactuals[0].new_answer, "cold water");
    assert_eq!(dataset.pools("q2").sub_questions[0].doc_id, "d3");
}

#[test]
fn only_published_files_count_as_medrgbs_own_without_being_said() {
    let house = House::new();
    let bytes = std::fs::read(fixture("nested-00000-of-00001.parquet")).unwrap();
    for (name, kind, documents) in [
        ("bioasq-00000-of-00001.parquet", Kind::Medrgb, "medrgb"),
        ("nested-00000-of-00001.parquet", Kind::Parquet, "other"),
        ("ds.parquet", Kind::Parquet, "other"),
    ] {
        let file = house.file(name, &bytes);
        let mut request = house.request(None, &[&file]);
        request.out = Some(house.path("set"));
        request.force = true;
        let report = run(&request).unwrap();
        assert_eq!(report.kind, kind, "{name}");
        assert_eq!(
            manifest(&house.path("set"))["documents"],
            documents,
            "{name}"
        );
    }
    // A dataset of ours, also under a published name.
    let dataset = Dataset::open(&house.path("set")).unwrap();
    let file = house.path("mmlu-00000-of-00001.parquet");
    export::dataset(&dataset, Format::Parquet, &file).unwrap();
    let mut request = house.request(None, &[&file]);
    request.out = Some(house.path("again"));
    assert_eq!(run(&request).unwrap().kind, Kind::Parquet);
    assert_eq!(manifest(&house.path("again"))["documents"], "other");
    request.kind = Some(Kind::Medrgb);
    request.force = true;
    let error = run(&request).unwrap_err().to_string();
    assert!(error.contains("that medrgb has exported"), "{error}");
}

#[test]
fn questions_without_options_are_left_out_and_said() {
    let house = House::new();
    let file = house.path("medlfqa-00000-of-00001.parquet");
    let columns = ["question_id", "question", "answer", "docs"].map(|name| (name, Column::Text));
    let mut writer = Writer::new(std::fs::File::create(&file).unwrap(), &columns).unwrap();
    let row = [
        "q1",
        "How?",
        "Like this.",
        "[{\"id\":\"d\",\"content\":\"c\"}]",
    ];
    writer
        .row(row.map(serde_json::Value::from).to_vec())
        .unwrap();
    writer.finish().unwrap();
    // The file names us as its writer: a foreign one is made by taking that name away.
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes
        .windows(7)
        .rposition(|part| part == b"medrgb ")
        .unwrap();
    bytes[at] = b'M';
    std::fs::write(&file, bytes).unwrap();
    let error = run(&house.request(None, &[&file])).unwrap_err().to_string();
    assert!(error.contains("has no options, as MedLFQA"), "{error}");
}

#[test]
fn changed_characters_are_said() {
    let house = House::new();
    let file = house.file(
        "q.jsonl",
        "{\"id\":\"a\",\"question\":\"Q\\tx?\",\"options\":[\"x\",\"y\"],\"answer\":\"x\"}\n{\"id\":\"b\",\"question\":\"Q?\",\"options\":[\"x\",\"y\"],\"answer\":\"x\"}\n",
    );
    let (report, dataset) = house.set(Kind::Jsonl, &file);
    assert_eq!(dataset.questions[0].text, "Q    x?");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("in 1 question tabs")),
        "{:?}",
        report.notes
    );
}

#[test]
fn medrgb_parquet_with_json_texts_offline_and_online() {
    let house = House::new();
    let (report, dataset) = house.set(Kind::Medrgb, &fixture("texts.parquet"));
    assert_eq!(report.bad, 0, "{:?}", report.problems);
    assert_eq!(report.mapped["documents (offline)"], "offline_docs");
    assert_eq!(report.mapped["documents (online)"], "online_docs");
    let sources: Vec<_> = dataset
        .pools("q1")
        .signal
        .iter()
        .map(|document| document.source)
        .collect();
    assert_eq!(
        sources,
        [
            Some(Source::Offline),
            Some(Source::Offline),
            Some(Source::Online)
        ]
    );
    assert_eq!(dataset.pools("q1").counterfactuals.len(), 1);
}

#[test]
fn a_mapping_file_overrules_what_is_found() {
    let house = House::new();
    let mut request = house.request(
        Some(Kind::Medrgb),
        &[&fixture("nested-00000-of-00001.parquet")],
    );
    request.out = Some(house.path("out"));
    request.mapping = Some(mapping(
        &house,
        "question = \"dataset\"\nignore = [\"topics\"]\n[[documents]]\nfield = \"noise_documents\"\n",
    ));
    let report = run(&request).unwrap();
    let dataset = Dataset::open(&house.path("out")).unwrap();
    assert_eq!(dataset.questions[0].text, "toy");
    assert_eq!(dataset.pools("q1").signal[0].content, "Noise.");
    assert!(!report.kept.contains(&"topics".to_owned()));
    assert_eq!(
        report.bad, 3,
        "sub-questions and versions of other documents are left out"
    );
}

#[test]
fn broken_mappings_are_refused_with_their_line() {
    let house = House::new();
    for (text, part) in [
        ("question = \"q\"\nquestoin_id = \"id\"\n", "line 2"),
        ("answer_start = 2\n", "answer_start is 0 or 1"),
        ("question = 7\n", "line 1"),
    ] {
        let path = house.file("m.toml", text);
        let error = medrgb::data::import::Mapping::read(&path).unwrap_err();
        assert!(
            matches!(&error, ImportError::Usage(why) if why.contains(part)),
            "{error}"
        );
    }
}

#[test]
fn rgb_passages_become_signal_and_counterfactuals() {
    let house = House::new();
    let path = house.file(
        "toy_fact.json",
        concat!(
            r#"{"id": 0, "query": "Where?", "answer": "Rome", "fakeanswer": "Oslo", "positive": ["In Rome."], "positive_wrong": ["In Oslo."], "negative": ["Elsewhere."]}"#,
            "\n",
            r#"{"id": 1, "query": "When", "answer": [["May 1 2020", "1 May 2020"]], "fakeanswer": "May 2 2021", "positive": ["It was 1 May 2020.", "So it was."], "positive_wrong": ["It was May 2 2021."], "negative": []}"#,
            "\n",
            r#"{"id": 2, "query": "What?", "answer": "x", "positive": ["x"]}"#,
            "\nnonsense\n",
        ),
    );
    let (report, dataset) = house.set(Kind::Rgb, &path);
    assert_eq!(report.bad, 3, "{:?}", report.problems);
    assert!(
        report
            .problems
            .iter()
            .any(|why| why.contains("line 3") && why.contains("fakeanswer"))
    );
    assert!(report.problems.iter().any(|why| why.contains("line 4")));
    assert_eq!(dataset.questions.len(), 2);
    let [first, second] = [&dataset.questions[0], &dataset.questions[1]];
    assert_eq!(
        (first.id.as_str(), first.answer, first.gold_text()),
        ("rgb-0", 'B', "Rome")
    );
    assert_eq!((second.answer, second.gold_text()), ('A', "May 1 2020"));
    let pools = dataset.pools("rgb-1");
    assert_eq!(
        pools.sub_questions[0].answer, "1 May 2020",
        "the alias that the passage has"
    );
    assert_eq!(
        pools.sub_questions[0].question,
        "According to the passage that begins \"It was 1 May 2020.\": When?"
    );
    assert_eq!((pools.signal.len(), pools.counterfactuals.len()), (2, 1));
    assert_eq!(first.extra["negative"], serde_json::json!(["Elsewhere."]));
}

#[test]
fn pubmedqa_sections_become_documents() {
    let house = House::new();
    let path = house.file(
        "ori_pqal.json",
        r#"{"111": {"QUESTION": "Does it help?", "CONTEXTS": ["We asked.", "It did."], "LABELS": ["BACKGROUND", "MAIN RESULTS"],
            "MESHES": ["Humans"], "YEAR": "2001", "final_decision": "maybe", "LONG_ANSWER": "It may."},
           "222": {"QUESTION": "Really?", "CONTEXTS": [], "final_decision": "perhaps"},
           "333": [1]}"#,
    );
    let (report, dataset) = house.set(Kind::Pubmedqa, &path);
    assert_eq!(
        (report.bad, dataset.questions.len()),
        (2, 1),
        "{:?}",
        report.problems
    );
    let question = &dataset.questions[0];
    assert_eq!((question.answer, question.gold_text()), ('C', "maybe"));
    assert_eq!(question.extra["long_answer"], "It may.");
    let signal = dataset.pools("111").signal;
    assert_eq!(
        (signal[1].id.as_str(), signal[1].title.as_str()),
        ("PMID:111_1", "Main results")
    );
    assert!(
        signal
            .iter()
            .all(|document| !document.content.contains("It may"))
    );
}

#[test]
fn mirage_sets_become_folders() {
    let house = House::new();
    let question =
        r#"{"question": "Q?", "options": {"A": "x", "B": "y"}, "answer": "B", "PMID": [1]}"#;
    let path = house.file(
        "benchmark.json",
        format!(r#"{{"mmlu": {{"m1": {question}, "m2": {question}, "m3": {{}}}}, "bioasq": {{"b1": {question}}}}}"#),
    );
    let mut request = house.request(Some(Kind::Mirage), &[&path]);
    request.out = Some(house.path("all"));
    let report = run(&request).unwrap();
    assert_eq!(report.bad, 1);
    let sizes: Vec<_> = report
        .sets
        .iter()
        .map(|set| (set.name.as_str(), set.counts.questions))
        .collect();
    assert_eq!(sizes, [("mmlu", 2), ("bioasq", 1)]);
    let dataset = Dataset::open(&house.path("all/mmlu")).unwrap();
    assert_eq!(dataset.questions[0].extra["PMID"], serde_json::json!([1]));
    assert_eq!(manifest(&house.path("all/bioasq"))["documents"], "none");

    let mut request = house.request(Some(Kind::Mirage), &[&path]);
    (request.out, request.set) = (Some(house.path("one")), Some("bioasq".into()));
    run(&request).unwrap();
    assert_eq!(
        Dataset::open(&house.path("one")).unwrap().questions.len(),
        1
    );
    (request.out, request.set) = (Some(house.path("none")), Some("medqa".into()));
    let error = run(&request).unwrap_err();
    assert!(
        matches!(&error, ImportError::Usage(why) if why.contains("mmlu, bioasq")),
        "{error}"
    );
    assert!(!house.path("none").exists());
}

#[test]
fn csv_and_jsonl_rows_with_a_mapping() {
    let house = House::new();
    let csv = house.file(
        "exam.csv",
        "nr,stem,opa,opb,opc,cop,remark\n1,\"Which, then?\",red,blue,green,2,\"'=SUM(A1)\"\n2,Short row,red\n3,Third?,a,b,c,9,\n",
    );
    let mut request = house.request(Some(Kind::Csv), &[&csv]);
    request.out = Some(house.path("out"));
    request.mapping = Some(mapping(&house, "question_id = \"nr\"\nanswer_start = 1\n"));
    let report = run(&request).unwrap();
    assert_eq!(report.bad, 2, "{:?}", report.problems);
    assert!(
        report.problems[0].contains("exam.csv, line 3") && report.problems[0].contains("3 cells")
    );
    assert!(report.problems[1].contains("position 9"));
    let dataset = Dataset::open(&house.path("out")).unwrap();
    let question = &dataset.questions[0];
    assert_eq!(
        (question.text.as_str(), question.gold_text()),
        ("Which, then?", "blue")
    );
    assert_eq!(question.extra["remark"], "=SUM(A1)");

    let jsonl = house.file(
        "q.jsonl",
        "{\"meta\":{\"id\":\"a\"},\"body\":{\"text\":\"Yes or no?\"},\"gold\":\"no\"}\n{\"meta\":{\"id\":\"a\"},\"body\":{\"text\":\"Other?\"},\"gold\":\"yes\"}\n{\"meta\":{\"id\":\"a\"},\"body\":{\"text\":\"Other?\"},\"gold\":\"yes\"}\n",
    );
    let mut request = house.request(Some(Kind::Jsonl), &[&jsonl]);
    request.out = Some(house.path("yn"));
    request.mapping = Some(mapping(
        &house,
        "question_id = \"meta.id\"\nquestion = \"body.text\"\nfixed_options = [\"yes\", \"no\"]\n",
    ));
    let report = run(&request).unwrap();
    let dataset = Dataset::open(&house.path("yn")).unwrap();
    let ids: Vec<_> = dataset
        .questions
        .iter()
        .map(|q| (q.id.as_str(), q.answer))
        .collect();
    assert_eq!(ids, [("a", 'B'), ("a-2", 'A')]);
    assert!(
        report
            .problems
            .iter()
            .any(|why| why.contains("is called \"a-2\"")),
        "{:?}",
        report.problems
    );
    assert_eq!(report.bad, 1, "the very same question stands once");
}

#[test]
fn the_reference_folder_is_read_with_its_own_names() {
    let house = House::new();
    house.file(
        "ref/bioasq_test.jsonl",
        "{\"question_id\":\"q1\",\"question\":\"Q1?\",\"options\":{\"A\":\"yes\",\"B\":\"no\"},\"answer\":\"A\"}\n{\"question_id\":\"q2\",\"question\":\"Q2?\",\"options\":{\"A\":\"yes\",\"B\":\"no\"},\"answer\":\"B\"}\n",
    );
    house.file(
        "ref/benchmark/signal_docs.json",
        r#"{"q1": [{"id": "a", "title": "T", "text": "Text under another name."}, {"id": "b", "content": "B."}], "q2": [{"id": "c", "content": "C."}], "q9": []}"#,
    );
    house.file("ref/benchmark/subqa_pairs.json", r#"{"q1": [{"doc_id": "a", "question": "S?", "answer": "s"}, {"doc_id": "zz", "question": "S?", "answer": "s"}]}"#);
    house.file(
        "ref/benchmark/counterfactual_docs.json",
        r#"{"q1": [{}, {"original_id": "a", "new_answer": "n", "edited_document": "E."}], "q2": "broken"}"#,
    );
    let (report, dataset) = house.set(Kind::Reference, &house.path("ref"));
    assert_eq!(report.bad, 2, "{:?}", report.problems);
    let pools = dataset.pools("q1");
    assert_eq!(pools.signal[0].content, "Text under another name.");
    assert_eq!(
        (pools.sub_questions.len(), pools.counterfactuals.len()),
        (1, 1)
    );
}

/// No reader trusts a file to be what its kind says.
#[test]
fn every_reader_refuses_documents_of_another_shape() {
    let texts = [
        "null",
        "7",
        "\"x\"",
        "true",
        "[]",
        "{}",
        "[null]",
        "[[]]",
        "{\"samples\":7}",
        "{\"samples\":[null]}",
        "{\"eval\":null}",
        "{\"results\":null}",
        "{\"x\":null}",
        "{\"x\":{\"y\":null}}",
        "",
        "\n",
    ];
    for kind in Kind::ALL {
        for text in texts {
            let house = House::new();
            let name = match kind {
                Kind::Csv => "x.csv",
                Kind::Medrgb | Kind::Parquet => "x.parquet",
                Kind::Jsonl | Kind::LmEval | Kind::Run => "x.jsonl",
                _ => "x.json",
            };
            let path = house.file(name, text);
            let mut request = house.request(Some(kind), &[&path]);
            request.out = Some(house.path("out"));
            let error = run(&request).expect_err(&format!("{kind}: {text}"));
            assert!(!error.to_string().is_empty());
            assert_eq!(
                house.others(&[name]),
                Vec::<String>::new(),
                "{kind}: {text}"
            );
        }
    }
}

#[test]
fn a_folder_in_which_nothing_can_be_made_is_said_to_be_so() {
    if !std::path::Path::new("/proc/self").exists() {
        eprintln!("skipped: there is no /proc here");
        return;
    }
    let house = House::new();
    let path = house.file(
        "q.jsonl",
        "{\"question\":\"Q?\",\"options\":[\"x\",\"y\"],\"answer\":\"x\"}\n",
    );
    let mut request = house.request(Some(Kind::Jsonl), &[&path]);
    request.out = Some("/proc/medrgb-x".into());
    let error = run(&request).unwrap_err().to_string();
    assert!(
        error.contains("no folder can be made there") && !error.contains("does not exist"),
        "{error}"
    );
}

#[test]
fn documents_of_a_context_that_are_noise_are_no_signal() {
    let house = House::new();
    let path = house.file(
        "q.jsonl",
        r#"{"id":"a","question":"Q?","options":["x","y"],"answer":"x","docs":[{"id":"d1","content":"One","role":"signal"},{"id":"d2","content":"Two","role":"noise","from_question":"b"},{"id":"d3","content":"Three","role":"adversarial"},{"id":"d4","content":"Four","from_question":"b"},{"id":"d5","content":"Five","role":"abstract"}]}"#,
    );
    let (report, dataset) = house.set(Kind::Jsonl, &path);
    let mut ids: Vec<&str> = dataset
        .documents()
        .iter()
        .map(|(document, _)| document.id.as_str())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, ["d1", "d5"]);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("3 documents of contexts")),
        "{:?}",
        report.notes
    );
}

#[test]
fn nothing_is_written_where_nothing_can_be_read_or_somebody_stops() {
    let house = House::new();
    let path = house.file(
        "q.jsonl",
        "{\"question\":\"Q?\",\"options\":[\"x\",\"y\"],\"answer\":\"z\"}\nnonsense\n",
    );
    let mut request = house.request(Some(Kind::Jsonl), &[&path]);
    request.out = Some(house.path("out"));
    let error = run(&request).unwrap_err();
    assert!(
        matches!(&error, ImportError::Failed(why) if why.contains("2 bad records, the first")),
        "{error}"
    );

    let good =
        "{\"question\":\"Q?\",\"options\":[\"x\",\"y\"],\"answer\":\"x\",\"response\":\"x\"}\n";
    let lines: String = (0..500)
        .map(|at| good.replace("Q?", &format!("Q{at}?")))
        .collect();
    let path = house.file("q.jsonl", lines);
    let mut request = house.request(Some(Kind::Jsonl), &[&path]);
    request.out = Some(house.path("out"));
    let mut looks = 0;
    let stopped = import(&request, &mut |_| {
        looks += 1;
        match looks {
            5 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert!(matches!(stopped, Err(ImportError::Stopped)));
    assert_eq!(house.others(&["q.jsonl"]), Vec::<String>::new());
    assert_eq!(house.records("jsonl-q"), []);
}

#[test]
fn a_folder_is_replaced_only_by_force_and_only_a_dataset() {
    let house = House::new();
    let path = house.file(
        "q.jsonl",
        "{\"question\":\"Q?\",\"options\":[\"x\",\"y\"],\"answer\":\"x\"}\n",
    );
    let mut request = house.request(Some(Kind::Jsonl), &[&path]);
    request.out = Some(house.path("out"));
    run(&request).unwrap();
    let error = run(&request).unwrap_err().to_string();
    assert!(
        error.contains("exists already") && error.contains("--force"),
        "{error}"
    );
    request.force = true;
    run(&request).unwrap();
    // Beside the files of the dataset: what a build paid for, what a person wrote.
    for name in ["ledger.jsonl", "notes/thesis.txt"] {
        let file = house.file(&format!("out/{name}"), "x");
        let error = run(&request).unwrap_err().to_string();
        let first = name.split('/').next().unwrap();
        assert!(
            error.contains(first) && error.contains("would be lost"),
            "{error}"
        );
        assert!(file.is_file());
        std::fs::remove_file(file).unwrap();
    }
    std::fs::remove_dir(house.path("out/notes")).unwrap();
    run(&request).unwrap();
    house.file("precious/thesis.txt", "x");
    request.out = Some(house.path("precious"));
    let error = run(&request).unwrap_err().to_string();
    assert!(error.contains("no dataset folder"), "{error}");
    assert!(house.path("precious/thesis.txt").is_file());
    assert_eq!(
        house.others(&["q.jsonl", "out", "precious"]),
        Vec::<String>::new()
    );
}

#[test]
fn the_content_says_what_a_file_is() {
    let house = House::new();
    let question = r#"{"question": "Q?", "options": {"A": "x", "B": "y"}, "answer": "B"}"#;
    let files = [
        ("a.json", r#"{"id":0,"query":"Q","answer":"a","fakeanswer":"b","positive":["a"]}"#.to_owned(), Kind::Rgb),
        ("b.json", format!("{{\"mmlu\": {{\"m1\": {question}}}}}"), Kind::Mirage),
        ("c.json", format!("{{\n \"mmlu\": {{\n \"m1\": {question}}}}}"), Kind::Mirage),
        (
            "d.json",
            r#"{"1": {"QUESTION": "Q?", "CONTEXTS": ["C"], "final_decision": "yes"}}"#.to_owned(),
            Kind::Pubmedqa,
        ),
        (
            "samples_x.jsonl",
            r#"{"doc_id":0,"doc":{"question":"Q?","choices":["x","y"]},"target":"0","arguments":{},"resps":[["A"]]}"#.to_owned(),
            Kind::LmEval,
        ),
        ("e.jsonl", r#"{"question":"Q?","options":["x","y"],"answer":"x"}"#.to_owned(), Kind::Jsonl),
        ("f.csv", "question,opa,opb,answer\nQ?,x,y,x\n".to_owned(), Kind::Csv),
    ];
    for (name, text, kind) in files {
        let path = house.file(name, text);
        let mut request = house.request(None, &[&path]);
        request.out = Some(house.path(&format!("out-{name}")));
        let report = run(&request).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((report.kind, report.guessed), (kind, true), "{name}");
        assert_eq!(report.sets.len(), 1, "{name}");
    }
    // Columns like MedRGB's are not enough: the name must be that of its files.
    let published = house.path("bioasq-00000-of-00001.parquet");
    std::fs::copy(fixture("texts.parquet"), &published).unwrap();
    for (path, kind) in [
        (fixture("texts.parquet"), Kind::Parquet),
        (published, Kind::Medrgb),
    ] {
        let mut request = house.request(None, &[&path]);
        request.out = Some(house.path(&format!("out-{kind:?}")));
        assert_eq!(run(&request).unwrap().kind, kind, "{}", path.display());
    }
    for (name, text) in [("x.txt", "hello"), ("y.json", "{\"a\": 1}"), ("z.json", "")] {
        let path = house.file(name, text);
        let error = run(&house.request(None, &[&path])).unwrap_err();
        assert!(
            matches!(&error, ImportError::Failed(why) if why.contains("the kinds are medrgb")),
            "{error}"
        );
    }
}

/// Every kind of text file with one question in whose text or options a tab stands.
#[test]
fn every_reader_says_what_became_of_tabs() {
    let files = [
        (
            "q.jsonl",
            Kind::Jsonl,
            r#"{"question": "Wh\tich?", "options": ["a", "b"], "answer": "A"}"#,
        ),
        (
            "q.csv",
            Kind::Csv,
            "question,A,B,answer\n\"Wh\tich?\",a,b,A\n",
        ),
        (
            "benchmark.json",
            Kind::Mirage,
            r#"{"mmlu": {"1": {"question": "Which?", "options": {"A": "a\tb", "B": "c"}, "answer": "A"}}}"#,
        ),
        (
            "fact.json",
            Kind::Rgb,
            r#"{"id": 1, "query": "Wh\tich?", "answer": ["a"], "fakeanswer": "b", "positive": ["It is a."], "positive_wrong": ["It is b."], "negative": []}"#,
        ),
        (
            "ori_pqal.json",
            Kind::Pubmedqa,
            r#"{"1": {"QUESTION": "Is\tit?", "CONTEXTS": ["It is."], "final_decision": "yes"}}"#,
        ),
        (
            "samples_t_1.jsonl",
            Kind::LmEval,
            r#"{"doc_id": 0, "doc": {"question": "Wh\tich?", "choices": ["a", "b"]}, "target": "0", "resps": [["A"]], "filtered_resps": ["A"]}"#,
        ),
        (
            "log.json",
            Kind::Inspect,
            r#"{"version": 2, "eval": {"task": "t", "model": "m"}, "samples": [
               {"id": 1, "epoch": 1, "input": "Wh\tich?", "choices": ["a", "b"], "target": "A", "output": {"completion": "A"}}]}"#,
        ),
        (
            "results.json",
            Kind::Promptfoo,
            r#"{"evalId": "e", "results": {"version": 3, "prompts": [], "results": [
               {"vars": {"question": "Wh\tich?", "A": "x", "B": "y", "answer": "A"}, "provider": {"id": "p"}, "prompt": {"raw": ""}, "response": {"output": "A"}}]}}"#,
        ),
    ];
    for (name, kind, text) in files {
        let house = House::new();
        let path = house.file(name, text);
        let mut request = house.request(Some(kind), &[&path]);
        request.out = Some(house.path("out"));
        let report = run(&request).unwrap_or_else(|error| panic!("{name}: {error}"));
        let said = report
            .notes
            .iter()
            .any(|note| note.contains("in 1 question tabs became spaces"));
        assert!(said, "{name}: {:?} {:?}", report.notes, report.problems);
    }
}
