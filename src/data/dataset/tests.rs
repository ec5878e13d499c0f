#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use super::*;
use crate::domain::passage::Source;

const QA: &str = r#"{"question_id":"q1","question":"One?","options":{"A":"yes","B":"no"},"answer":"A"}
{"question_id":"q2","question":"Two?","options":{"A":"left","B":"right"},"answer":"B","topic":"sides"}
"#;
const DOCS: &str = r#"{"q1":[{"id":"d1","title":"T","content":"First.","source":"offline"},{"id":"d2","content":"Second.","year":2001}],
"q2":[{"id":"d3","title":null,"content":"Third.","source":"PubMed"},{"id":"d1","content":"First."}]}"#;
const SUBS: &str = r#"{"q1":[{"doc_id":"d1","question":"Which?","answer":"first"}]}"#;
const VERSIONS: &str =
    r#"{"q1":[{"original_id":"d1","new_answer":"last","edited_document":"Last."}]}"#;

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn open(files: &[(&str, &[u8])]) -> Result<Dataset, String> {
    let folder = folder(files);
    let here = folder.path().display().to_string();
    Dataset::open(folder.path())
        .map(|mut dataset| {
            for problem in &mut dataset.problems {
                *problem = problem.replace(&here, "DIR");
            }
            dataset
        })
        .map_err(|error| error.0.replace(&here, "DIR"))
}

/// Opens a set of these questions and the plain documents.
fn with_questions(lines: &str) -> Result<Dataset, String> {
    open(&[(QUESTIONS, lines.as_bytes()), (SIGNAL, DOCS.as_bytes())])
}

fn full() -> Vec<(&'static str, &'static [u8])> {
    vec![
        (QUESTIONS, QA.as_bytes()),
        (SIGNAL, DOCS.as_bytes()),
        (SUB_QUESTIONS, SUBS.as_bytes()),
        (COUNTERFACTUALS, VERSIONS.as_bytes()),
    ]
}

#[test]
fn a_complete_folder_is_read_with_everything_in_it() {
    let dataset = open(&full()).unwrap();
    assert_eq!(dataset.problems, Vec::<String>::new());
    assert_eq!(dataset.position("q2"), Some(1));
    assert_eq!(dataset.position("q3"), None);
    assert_eq!(dataset.questions[1].extra["topic"], "sides");
    let pools = dataset.pools("q1");
    assert_eq!(pools.signal[0].source, Some(Source::Offline));
    assert_eq!(pools.signal[1].extra["year"], 2001);
    assert_eq!(pools.sub_questions[0].answer, "first");
    assert_eq!(pools.counterfactuals[0].new_answer, "last");
    let third = &dataset.pools("q2").signal[0];
    assert_eq!(
        (third.source, third.extra["source"].as_str()),
        (None, Some("PubMed"))
    );
    let documents: Vec<(&str, Vec<&str>)> = dataset
        .documents()
        .into_iter()
        .map(|(document, questions)| (document.id.as_str(), questions))
        .collect();
    assert_eq!(
        documents,
        [
            ("d1", vec!["q1", "q2"]),
            ("d2", vec!["q1"]),
            ("d3", vec!["q2"])
        ]
    );
    assert_eq!(dataset.fingerprint.len(), 64);
}

#[test]
fn a_path_to_the_question_file_opens_its_folder() {
    let folder = folder(&full());
    let by_folder = Dataset::open(folder.path()).unwrap();
    let by_file = Dataset::open(&folder.path().join(QUESTIONS)).unwrap();
    assert_eq!(by_folder.fingerprint, by_file.fingerprint);
    assert_eq!(by_folder.name, by_file.name);
    assert_eq!(by_folder.pools("q1").signal, by_file.pools("q1").signal);
}

#[test]
fn the_fingerprint_follows_every_file() {
    let base = open(&full()).unwrap().fingerprint;
    for at in 0..4 {
        let mut files = full();
        let longer = [files[at].1, b"\n"].concat();
        files[at].1 = &longer;
        assert_ne!(open(&files).unwrap().fingerprint, base);
    }
    assert_ne!(open(&full()[..3]).unwrap().fingerprint, base);
}

#[test]
fn marks_line_ends_and_blank_lines_do_not_matter() {
    let files = full();
    let windows: Vec<(&str, Vec<u8>)> = files
        .iter()
        .map(|(name, bytes)| {
            let text = std::str::from_utf8(bytes).unwrap();
            let text = text.replace('\n', "\r\n\r\n  \r\n");
            (*name, [b"\xef\xbb\xbf", text.as_bytes()].concat())
        })
        .collect();
    let windows: Vec<(&str, &[u8])> = windows
        .iter()
        .map(|(name, bytes)| (*name, bytes.as_slice()))
        .collect();
    let (plain, windows) = (open(&files).unwrap(), open(&windows).unwrap());
    assert_eq!(windows.problems, Vec::<String>::new());
    assert_eq!(windows.questions, plain.questions);
    assert_eq!(windows.pools("q1").signal, plain.pools("q1").signal);
}

#[test]
fn options_and_answers_may_be_written_in_several_ways() {
    let lines = r#"{"question_id":"a","question":"?","options":{"b":"no","a":"yes"},"answer":"b"}
{"question_id":"b","question":"?","options":["red","green","blue"],"answer":"C"}
{"question_id":"c","question":"?","options":["red","Dark  green"],"answer":"dark green"}
{"question_id":"d","question":"?","options":{"A":"B","B":"A"},"answer":"A"}"#;
    let dataset = with_questions(lines).unwrap();
    let answers: Vec<(char, &str)> = dataset
        .questions
        .iter()
        .map(|q| (q.answer, q.gold_text()))
        .collect();
    assert_eq!(
        answers,
        [('B', "no"), ('C', "blue"), ('B', "Dark  green"), ('A', "B")]
    );
}

#[test]
fn a_bad_question_is_left_out_and_listed_with_its_line() {
    let good =
        r#"{"question_id":"q1","question":"One?","options":{"A":"yes","B":"no"},"answer":"A"}"#;
    let long = "x".repeat((1 << 20) + 1);
    let lines = [
        good,
        r#"{"question_id":"q2","question":"Two?","options":{"A":"yes","#,
        good,
        r#"{"question_id":"q3","question":"?","options":{"A":"yes","B":"no"},"answer":"E"}"#,
        r#"{"question_id":"q4","question":"?","options":{"A":"yes","B":"no"},"answer":"perhaps"}"#,
        r#"{"question_id":5,"question":"?","options":{"A":"yes","B":"no"},"answer":"A"}"#,
        r#"{"question_id":"q6","question":["?"],"options":{"A":"yes","B":"no"},"answer":"A"}"#,
        r#"{"question_id":"q7","question":"?","options":"yes or no","answer":"A"}"#,
        r#"{"question_id":"q8","question":"?","options":{"A":"yes","B":2},"answer":"A"}"#,
        r#"{"question_id":"q9","question":"?","options":{"1":"yes","B":"no"},"answer":"B"}"#,
        r#"{"question_id":"q10","question":"?","options":{"A":"yes","a":"no"},"answer":"A"}"#,
        r#"{"question_id":"q11","question":"?","options":{"A":"yes","A":"no"},"answer":"A"}"#,
        r#"{"question_id":"q12","question":"?","options":["yes"],"answer":"A"}"#,
        r#"{"question_id":"q13","question":"?","options":["yes","Yes"],"answer":"yes"}"#,
        r#"{"question_id":"q14","question":"  ","options":["yes","no"],"answer":"A"}"#,
        r#"{"question_id":"q15","question":"?","options":["yes","no"]}"#,
        r#"["q16"]"#,
        r#"{"question_id":"q17","question":"?","options":["yes","no"],"answer":"A"} trailing"#,
        &format!(
            r#"{{"question_id":"q18","question":"{long}","options":["yes","no"],"answer":"A"}}"#
        ),
    ]
    .join("\n");
    let dataset = with_questions(&lines).unwrap();
    assert_eq!(dataset.questions.len(), 1);
    let own: Vec<&str> = dataset
        .problems
        .iter()
        .map(String::as_str)
        .filter(|problem| problem.contains(QUESTIONS) && !problem.contains(SIGNAL))
        .collect();
    assert_eq!(own.len(), 18);
    insta::assert_snapshot!(own.join("\n"), @r#"
    DIR/qa.jsonl, line 2, column 59: the text ends where a value is expected; left out with its 2 records in other files
    DIR/qa.jsonl, line 3: question_id "q1" stands already in line 1; left out
    DIR/qa.jsonl, line 4: question "q3": answer "E" is none of the options A, B; left out
    DIR/qa.jsonl, line 5: question "q4": answer "perhaps" is none of the options A, B; left out
    DIR/qa.jsonl, line 6: field "question_id" is a number, but a text is expected; left out
    DIR/qa.jsonl, line 7: question "q6": field "question" is a list, but a text is expected; left out
    DIR/qa.jsonl, line 8: question "q7": field "options" is a text, but an object of letters and texts (or a list of texts) is expected; left out
    DIR/qa.jsonl, line 9: question "q8": option B is a number, but a text is expected; left out
    DIR/qa.jsonl, line 10: question "q9": option key "1" is not a single letter A to Z; left out
    DIR/qa.jsonl, line 11: question "q10": option A stands twice; left out
    DIR/qa.jsonl, line 12, column 66: field "A" stands twice; left out
    DIR/qa.jsonl, line 13: question "q12": field "options" has 1 option, but at least two are expected; left out
    DIR/qa.jsonl, line 14: question "q13": answer "yes" is the text of two options; left out
    DIR/qa.jsonl, line 15: question "q14": field "question" is empty; left out
    DIR/qa.jsonl, line 16: question "q15": field "answer" is missing; left out
    DIR/qa.jsonl, line 17: expected an object, found a list; left out
    DIR/qa.jsonl, line 18, column 74: more text after the end of the value; left out
    DIR/qa.jsonl, line 19: question "q18": field "question" has 1048577 bytes, but at most 1048576 are read; left out
    "#);
}

#[test]
fn a_line_that_is_not_utf8_is_left_out() {
    let lines = [QA.as_bytes(), b"{\"question_id\":\"q\xff\"}\n"].concat();
    let dataset = open(&[(QUESTIONS, &lines), (SIGNAL, DOCS.as_bytes())]).unwrap();
    assert_eq!(dataset.questions.len(), 2);
    insta::assert_snapshot!(dataset.problems.join("\n"), @r"
    DIR/qa.jsonl, line 3, column 18: a byte that is not UTF-8; left out
    ");
}

#[test]
fn bad_records_of_the_maps_are_left_out_and_listed() {
    let docs = r#"{"q1":[{"id":"d1","content":"First."},{"id":"d1","content":"Again."},{"id":"d2"},{"id":"d3","content":7},"d4",{"id":"d5","content":" "},{"id":"d6","content":"x","source":1}],
        "q2":{"id":"d7"},"q9":[{"id":"d8","content":"Lost."},{"id":"d9","content":"Lost."}],"q1":[{"id":"d0","content":"Late."}]}"#;
    let subs = r#"{"q1":[{"doc_id":"d1","question":"Which?"},{"doc_id":"d2","question":"?","answer":"x"}],"q8":[],"q9":[7],"q10":[1,2]}"#;
    let versions = r#"{"q1":[{"original_id":"d1","new_answer":null,"edited_document":"x"},{"original_id":"d1","new_answer":"y","edited_document":"z"}]}"#;
    let dataset = open(&[
        (QUESTIONS, QA.as_bytes()),
        (SIGNAL, docs.as_bytes()),
        (SUB_QUESTIONS, subs.as_bytes()),
        (COUNTERFACTUALS, versions.as_bytes()),
    ])
    .unwrap();
    assert_eq!(dataset.pools("q1").signal.len(), 1);
    assert_eq!(dataset.pools("q1").counterfactuals.len(), 1);
    assert!(dataset.pools("q1").sub_questions.is_empty());
    insta::assert_snapshot!(dataset.problems.join("\n"), @r#"
    DIR/signal_docs.json, question "q1", record 3: field "content" is missing; left out
    DIR/signal_docs.json, question "q1", record 4: field "content" is a number, but a text is expected; left out
    DIR/signal_docs.json, question "q1", record 5: expected an object, found a text; left out
    DIR/signal_docs.json, question "q1", record 6: field "content" is empty; left out
    DIR/signal_docs.json, question "q1", record 7: field "source" is a number, but "offline" or "online" is expected; left out
    DIR/signal_docs.json, question "q2": expected a list of records, found an object; left out
    DIR/signal_docs.json, question "q1": stands twice in the file; 1 record of the second left out
    DIR/signal_docs.json, question "q9": not among the questions read from qa.jsonl; 2 records left out
    DIR/signal_docs.json, question "q1": document id "d1" stands twice; the second is left out
    DIR/subqa_pairs.json, question "q1", record 1: field "answer" is missing; left out
    DIR/subqa_pairs.json, question "q1", record 2: doc_id "d2" is not the id of one of the question's documents in signal_docs.json; left out
    DIR/subqa_pairs.json, question "q9" (and 1 more of the file): not among the questions read from qa.jsonl; 3 records left out
    DIR/counterfactual_docs.json, question "q1", record 1: field "new_answer" is null, but a text is expected; left out
    "#);
}

#[test]
fn a_broken_file_is_an_error_with_its_place() {
    let qa = (QUESTIONS, QA.as_bytes());
    let error = |files: &[(&str, &[u8])]| open(files).unwrap_err();
    insta::assert_snapshot!([
        error(&[qa, (SIGNAL, &DOCS.as_bytes()[..DOCS.len() - 30])]),
        error(&[qa, (SIGNAL, b"[1, 2]")]),
        error(&[qa, (SIGNAL, b"")]),
        error(&[qa, (SIGNAL, b"{}\n{}")]),
        error(&[qa, (SIGNAL, b"{\n\"q1\": \"\xe9\"}")]),
        error(&[qa, (SIGNAL, b"\xff\xfe{\0}\0")]),
        error(&[qa, (SIGNAL, DOCS.as_bytes()), (SUB_QUESTIONS, b"{\"q1\":")]),
        error(&[qa]),
        error(&[(QUESTIONS, b"\n\n"), (SIGNAL, b"{}")]),
        error(&[(QUESTIONS, b"\xfe\xff\0{"), (SIGNAL, b"{}")]),
        error(&[(QUESTIONS, b"{\"question_id\":\"q1\"}\nnonsense"), (SIGNAL, b"{}")]),
    ].join("\n"), @r#"
    DIR/signal_docs.json, line 2, column 70: the text ends within a quoted text; the file ends too early, fetch or write it again
    DIR/signal_docs.json, line 1, column 1: found a list, expected one JSON object {"question_id": [records]}
    DIR/signal_docs.json, line 1, column 1: the text ends where a value is expected; the file ends too early, fetch or write it again
    DIR/signal_docs.json, line 2, column 1: more text after the end of the value; expected one JSON object {"question_id": [records]}
    DIR/signal_docs.json, line 2, column 8: a byte that is not UTF-8; save the file as UTF-8
    DIR/signal_docs.json is UTF-16, but UTF-8 is expected; save it as UTF-8
    DIR/subqa_pairs.json, line 1, column 6: the text ends where a value is expected; the file ends too early, fetch or write it again
    DIR/signal_docs.json is missing; it holds the documents of each question of qa.jsonl
    DIR/qa.jsonl holds no question that can be read: it is empty; expected lines such as {"question_id":…,"question":…,"options":{"A":…},"answer":"A"}
    DIR/qa.jsonl is UTF-16, but UTF-8 is expected; save it as UTF-8
    DIR/qa.jsonl holds no question that can be read: 2 bad records, the first: DIR/qa.jsonl, line 1: question "q1": field "question" is missing; left out; expected lines such as {"question_id":…,"question":…,"options":{"A":…},"answer":"A"}
    "#);
}

#[test]
fn a_wrong_path_says_what_was_expected_and_what_is_there() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path().display().to_string();
    let error = |path: &Path| Dataset::open(path).unwrap_err().0.replace(&here, "DIR");
    let mut said = vec![error(&root.path().join("none")), error(root.path())];
    fs::write(root.path().join("questions.jsonl"), QA).unwrap();
    said.push(error(root.path()));
    fs::write(root.path().join("notes.txt"), "x").unwrap();
    said.push(error(&root.path().join("notes.txt")));
    for name in ["b", "a"] {
        fs::create_dir(root.path().join(name)).unwrap();
        fs::write(root.path().join(name).join(QUESTIONS), QA).unwrap();
    }
    said.push(error(root.path()));
    insta::assert_snapshot!(said.join("\n"), @r"
    DIR/none does not exist; expected a dataset folder with qa.jsonl and signal_docs.json
    DIR has no qa.jsonl; expected a dataset folder with qa.jsonl and signal_docs.json; it has no JSON file at all
    DIR has no qa.jsonl; expected a dataset folder with qa.jsonl and signal_docs.json; it has DIR/questions.jsonl
    DIR/notes.txt is not a dataset; give the folder that holds qa.jsonl and signal_docs.json, or its qa.jsonl
    DIR has no qa.jsonl; expected a dataset folder with qa.jsonl and signal_docs.json; did you mean DIR/a, DIR/b?
    ");
}

#[test]
fn texts_are_cleaned_when_they_come_in() {
    let docs = r#"{"q1":[{"id":"d\u001b[31m1","title":"a\tb","content":"x\u001b]0;evil\u0007y\r\nz\u202e"}]}"#;
    let dataset = open(&[(QUESTIONS, QA.as_bytes()), (SIGNAL, docs.as_bytes())]).unwrap();
    let document = &dataset.pools("q1").signal[0];
    assert_eq!(
        (
            document.id.as_str(),
            document.title.as_str(),
            document.content.as_str()
        ),
        ("d1", "a    b", "xy\nz")
    );
}

#[test]
fn questions_alone_can_be_read_for_scoring() {
    let folder = folder(&[(QUESTIONS, QA.as_bytes())]);
    let (questions, problems) = read_questions(&folder.path().join(QUESTIONS)).unwrap();
    assert_eq!((questions.len(), problems.len()), (2, 0));
}

#[test]
fn the_sample_is_sound() {
    let sample = Dataset::sample().unwrap();
    assert_eq!(sample.problems, Vec::<String>::new());
    assert!(!sample.questions.is_empty());
    for question in &sample.questions {
        assert!(
            !sample.pools(&question.id).signal.is_empty(),
            "{}",
            question.id
        );
    }
}

/// Two questions with two documents each; the first has two sub-questions and two adversarial versions.
const COUNTED: [(&str, &str); 3] = [
    (
        SIGNAL,
        r#"{"q1":[{"id":"a","content":"A."},{"id":"b","content":"B."}],"q2":[{"id":"c","content":"C."},{"id":"d","content":"D."}]}"#,
    ),
    (
        SUB_QUESTIONS,
        r#"{"q1":[{"doc_id":"a","question":"?","answer":"x"},{"doc_id":"b","question":"?","answer":"x"}]}"#,
    ),
    (
        COUNTERFACTUALS,
        r#"{"q1":[{"original_id":"a","new_answer":"y","edited_document":"Y."},{"original_id":"b","new_answer":"y","edited_document":"Y."}]}"#,
    ),
];

fn counted(questions: &str) -> Dataset {
    let mut files = vec![(QUESTIONS, questions.as_bytes())];
    files.extend(COUNTED.iter().map(|(name, text)| (*name, text.as_bytes())));
    open(&files).unwrap()
}

#[test]
fn records_are_counted_and_not_the_sentences_about_them() {
    let all = counted(QA);
    assert_eq!((all.left_out, all.trouble()), (0, None));
    // The question, its two documents, two sub-questions and two versions: one sentence for all of them.
    let bad_letter = counted(&QA.replacen("\"answer\":\"A\"", "\"answer\":\"E\"", 1));
    assert_eq!(bad_letter.problems.len(), 1, "{:?}", bad_letter.problems);
    let said = &bad_letter.problems[0];
    assert!(said.contains("qa.jsonl, line 1"), "{said}");
    assert!(
        said.ends_with("left out with its 6 records in other files"),
        "{said}"
    );
    assert_eq!(bad_letter.left_out, 7);
    assert_eq!(bad_letter.trouble().as_deref(), Some("7 records"));
    // The second line is cut off: the question and its two documents.
    let cut = counted(&QA[..QA.len() - 20]);
    assert_eq!((cut.problems.len(), cut.left_out), (1, 3));
    // No id can be made out: its documents are of a question that nobody knows.
    let torn = counted(&QA.replacen("{\"question_id\"", "{\"question_", 1));
    assert_eq!(
        (torn.problems.len(), torn.left_out),
        (4, 7),
        "{:?}",
        torn.problems
    );
    let mut manifest = full();
    manifest.push((MANIFEST, b"[]"));
    let dataset = open(&manifest).unwrap();
    assert_eq!(dataset.trouble().as_deref(), Some("1 problem"));
}

#[test]
fn a_huge_id_does_not_hide_the_reason() {
    let id = "x".repeat(5000);
    let bad = format!(
        "{QA}{{\"question_id\":\"{id}\",\"question\":\"?\",\"options\":[\"a\",\"b\"],\"answer\":\"{id}\"}}"
    );
    let dataset = with_questions(&bad).unwrap();
    let said = &dataset.problems[0];
    assert!(said.chars().count() < 250, "{said}");
    assert!(said.contains("xx…\" is none of the options"), "{said}");
    let documents = format!("{{\"{id}\":[{{}}],\"q1\":[{{\"id\":\"{id}\"}}]}}");
    let files = [(QUESTIONS, QA.as_bytes()), (SIGNAL, documents.as_bytes())];
    for said in open(&files).unwrap().problems {
        assert!(said.chars().count() < 250, "{said}");
    }
}

#[test]
fn what_is_no_regular_file_is_said_to_be_none() {
    let folder = folder(&full());
    let path = folder.path().join(QUESTIONS);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let said = Dataset::open(folder.path()).unwrap_err().0;
    assert!(
        said.contains("is not a regular file but a folder"),
        "{said}"
    );
    #[cfg(unix)]
    {
        fs::remove_dir(&path).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let said = Dataset::open(folder.path()).unwrap_err().0;
        assert!(said.contains("is not a regular file but a pipe"), "{said}");
        let said = Dataset::open(&path).unwrap_err().0;
        assert!(
            said.contains("neither a folder nor a regular file"),
            "{said}"
        );
    }
}
