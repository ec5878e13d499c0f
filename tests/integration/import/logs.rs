//! Logs of other evaluation programs become runs, read and scored like our own.

use medrgb::data::dataset::Dataset;
use medrgb::data::import::{ImportError, Kind};
use medrgb::domain::answer::{Ending, Outcome};
use medrgb::domain::context::Scenario;
use medrgb::domain::passage::Role;
use medrgb::engine::ask::{identity_of, result_of};

use super::{House, mapping, run};

/// A small dataset folder.
fn dataset(house: &House) -> Dataset {
    let path = house.file(
        "set/qa.jsonl",
        "{\"question_id\":\"q1\",\"question\":\"Q1?\",\"options\":{\"A\":\"yes\",\"B\":\"no\"},\"answer\":\"A\"}\n{\"question_id\":\"q2\",\"question\":\"Q2?\",\"options\":{\"A\":\"yes\",\"B\":\"no\"},\"answer\":\"B\"}\n",
    );
    house.file(
        "set/signal_docs.json",
        r#"{"q1": [{"id": "a", "content": "A."}, {"id": "b", "content": "B."}], "q2": [{"id": "c", "content": "C."}]}"#,
    );
    house.file(
        "set/subqa_pairs.json",
        r#"{"q1": [{"doc_id": "a", "question": "SA?", "answer": "sa"}, {"doc_id": "b", "question": "SB?", "answer": "sb"}]}"#,
    );
    Dataset::open(path.parent().unwrap()).unwrap()
}

#[test]
fn every_imported_record_reads_as_one_of_our_own() {
    let house = House::new();
    let set = dataset(&house);
    let path = house.file(
        "p.jsonl",
        "{\"id\":\"q1\",\"response\":\"{\\\"step_by_step_thinking\\\": \\\"t\\\", \\\"answer_choice\\\": \\\"A\\\"}\"}\n{\"id\":\"q2\",\"response\":\"The answer is yes.\"}\n{\"id\":\"q9\",\"response\":\"A\"}\n",
    );
    let mut request = house.request(Some(Kind::Jsonl), &[&path]);
    request.dataset = Some(&set);
    request.model = Some("gpt-x".into());
    let report = run(&request).unwrap();
    assert_eq!(report.bad, 1);
    assert!(report.problems[0].contains("line 3") && report.problems[0].contains("q9"));
    assert_eq!(
        (report.runs[0].replies, report.runs[0].models.as_slice()),
        (2, ["gpt-x".to_owned()].as_slice())
    );
    let records = house.records("jsonl-p");
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].dataset_fingerprint, set.fingerprint);
    assert_eq!(records[0].scores.as_ref().unwrap().main_correct, Some(true));
    assert_eq!(
        records[1].scores.as_ref().unwrap().main_correct,
        Some(false)
    );
    for record in &records {
        assert_eq!(
            (record.condition.scenario, record.context.docs),
            (Scenario::Standard, 0)
        );
        assert_eq!(record.reply["imported"]["context"], "unknown");
        let identity = identity_of(record).unwrap();
        assert!(identity.caution.unwrap().contains("not known"));
        let reply = result_of(record).unwrap().unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.ending),
            (record.raw.as_str(), Ending::Complete)
        );
    }
    let error = run(&request).unwrap_err().to_string();
    assert!(
        error.contains("already") && error.contains("--run"),
        "{error}"
    );
    request.dataset = None;
    assert!(matches!(run(&request), Err(ImportError::Usage(why)) if why.contains("--dataset")));
}

#[test]
fn lm_eval_repeats_are_all_kept() {
    let house = House::new();
    let doc = r#""doc":{"question":"Which?","choices":["red","blue"],"answer":1}"#;
    let path = house.file(
        "m/samples_med_2025-01-02T03-04-05.jsonl",
        format!(
            r#"{{"doc_id":0,{doc},"target":"1","resps":[["B","A","B"]],"filtered_resps":["B"]}}"#
        ),
    );
    let report = run(&house.request(Some(Kind::LmEval), &[&path])).unwrap();
    assert_eq!((report.bad, report.runs[0].replies), (0, 3));
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("2 replies of") && note.contains("repeats")),
        "{:?}",
        report.notes
    );
    let observations: Vec<_> = house
        .records("lm-eval-m-med")
        .into_iter()
        .map(|record| (record.raw, record.sampling["seed"].as_u64()))
        .collect();
    let expected = [("B", None), ("A", Some(1)), ("B", Some(2))];
    assert_eq!(
        observations,
        expected.map(|(raw, seed)| (raw.to_owned(), seed))
    );
}

#[test]
fn lm_eval_generations_and_likelihoods() {
    let house = House::new();
    let doc = r#""doc":{"question":"Which?","choices":["red","blue"],"answer":1}"#;
    let lines = [
        format!(r#"{{"doc_id":0,{doc},"target":"1","arguments":{{"gen_args_0":{{"arg_0":"the prompt","arg_1":{{}}}}}},"resps":[["The answer is B."]],"filtered_resps":["B"],"filter":"none","acc":1.0}}"#),
        format!(r#"{{"doc_id":0,{doc},"target":"1","resps":[["The answer is B."]],"filtered_resps":["B"],"filter":"strict"}}"#),
        format!(r#"{{"doc_id":1,{doc},"target":"1","arguments":{{"gen_args_0":{{"arg_0":"ctx","arg_1":" red"}},"gen_args_1":{{"arg_0":"ctx","arg_1":" blue"}}}},"resps":[[["-1.0","False"]],[["-3.0","False"]]],"acc":NaN}}"#),
        r#"{"doc_id":2,"doc":{"QUESTION":"Does it?","CONTEXTS":["C."],"LABELS":["AIM"],"final_decision":"no"},"target":"no","resps":[[[-3.0,false]],[[-1.0,false]],[[-2.0,false]]]}"#.to_owned(),
        format!(r#"{{"doc_id":3,{doc},"target":"7","resps":[["A"]]}}"#),
        r#"{"doc_id":4,"doc":{"sent1":"Case?","ending0":"x","ending1":"y","label":0},"target":"0","resps":[["A"]]}"#.to_owned(),
    ];
    let path = house.file(
        "org__model-7b/samples_med_task_2025-01-02T03-04-05.jsonl",
        lines.join("\n"),
    );
    let mut request = house.request(Some(Kind::LmEval), &[&path]);
    request.out = Some(house.path("out"));
    let report = run(&request).unwrap();
    assert_eq!(report.bad, 1, "{:?}", report.problems);
    assert!(report.problems[0].contains("line 5") && report.problems[0].contains("position 7"));
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("another filter"))
    );
    let records = house.records("lm-eval-org-model-7b-med_task");
    assert_eq!(records.len(), 4);
    assert!(
        records
            .iter()
            .all(|record| record.model_name == "org/model-7b")
    );
    assert_eq!(
        (records[0].raw.as_str(), records[0].prompt.user.as_str()),
        ("The answer is B.", "the prompt")
    );
    assert_eq!(records[0].scores.as_ref().unwrap().main_correct, Some(true));
    assert_eq!(records[1].raw, "A");
    assert_eq!(records[1].reply["imported"]["chosen_by"], "log-likelihood");
    let reply = result_of(&records[1]).unwrap().unwrap();
    let probabilities = reply.option_probabilities.unwrap();
    // e^-1 / (e^-1 + e^-3) = 1 / (1 + e^-2)
    assert!((probabilities[0].1 - 1.0 / (1.0 + (-2.0_f64).exp())).abs() < 1e-12);
    assert_eq!(
        (records[2].question.answer, records[2].raw.as_str()),
        ('B', "B")
    );
    assert_eq!(records[3].question.text, "Case?");

    // With --out the questions become a folder, and the run is on it.
    let set = Dataset::open(&house.path("out")).unwrap();
    assert_eq!(set.questions.len(), 4);
    assert!(
        records
            .iter()
            .all(|record| record.dataset_fingerprint == set.fingerprint && record.dataset == "out")
    );
    assert_eq!(set.pools(&records[2].question.id).signal.len(), 1);
}

const INSPECT: &str = r#"{"version": 2, "status": "success",
 "eval": {"task": "lib/toy", "model": "openai/gpt-x", "created": "2025-01-02T03:04:05+00:00", "config": {"k": NaN}},
 "results": {"scores": [{"metrics": {"accuracy": {"value": NaN}}}]},
 "samples": [
  {"id": 1, "epoch": 1, "input": "Which?", "choices": ["red", "blue"], "target": "B",
   "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which? A) red B) blue"}, {"role": "assistant", "content": "ANSWER: B"}],
   "output": {"model": "gpt-x-1", "choices": [{"message": {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "ANSWER: B"}]}, "stop_reason": "stop"}],
              "usage": {"input_tokens": 12, "output_tokens": 3}, "time": 1.5},
   "scores": {"choice": {"value": "C"}}},
  {"id": "two", "epoch": 2, "input": [{"role": "user", "content": "Then?"}], "choices": ["x", "y"], "target": ["A"],
   "output": {"choices": [{"message": {"content": "I think it is"}, "stop_reason": "max_tokens"}]}},
  {"id": "three", "epoch": 1, "input": "Q?", "choices": ["x", "y"], "target": "A", "error": {"message": "Rate limit reached"}, "output": {"choices": []}},
  {"id": "four", "epoch": 1, "input": "No choices", "target": "x", "output": {"completion": "x"}},
  {"id": "five", "epoch": 1, "input": "Meta?", "target": "B", "metadata": {"options": {"A": "x", "B": "y"}, "level": 3}, "output": {"completion": "B"}}
 ]}"#;

#[test]
fn inspect_logs() {
    let house = House::new();
    let path = house.file("log.json", INSPECT);
    let report = run(&house.request(None, &[&path])).unwrap();
    assert_eq!(report.kind, Kind::Inspect);
    assert_eq!(report.bad, 1, "{:?}", report.problems);
    assert!(report.problems[0].contains("sample 4") && report.problems[0].contains("choices"));
    let records = house.records("inspect-log");
    assert_eq!((report.runs[0].replies, report.runs[0].failures), (3, 1));
    let first = &records[0];
    assert_eq!(
        (first.question.id.as_str(), first.raw.as_str()),
        ("1", "ANSWER: B")
    );
    assert_eq!(
        (first.prompt.system.as_str(), first.prompt.user.as_str()),
        ("Be brief.", "Which? A) red B) blue")
    );
    assert_eq!(first.scores.as_ref().unwrap().main_correct, Some(true));
    assert_eq!(first.created_at, "2025-01-02T03:04:05Z");
    let reply = result_of(first).unwrap().unwrap();
    assert_eq!(
        (
            reply.reasoning.as_str(),
            reply.usage.prompt_tokens,
            reply.timing.total_ms
        ),
        ("hm", Some(12), 1500)
    );
    assert_eq!(
        records[1].parsed.as_ref().unwrap().outcome,
        Outcome::Truncated
    );
    assert_eq!(records[1].reply["imported"]["epoch"], 2);
    let failure = result_of(&records[2]).unwrap().unwrap_err();
    assert!(failure.message.contains("Rate limit"));
    assert_eq!(records[3].question.gold_text(), "y");
    assert_eq!(records[3].question.extra["level"], 3);
}

#[test]
fn an_inspect_sample_with_several_targets_names_the_field() {
    let house = House::new();
    for (target, said) in [
        (
            r#"["A", "B"]"#,
            "field \"target\": the answer is a list of 2 values",
        ),
        ("null", "field \"target\" is missing"),
    ] {
        let sample = format!(
            r#"{{"id": 1, "epoch": 1, "input": "Q?", "choices": ["x", "y"], "target": {target}, "output": {{"completion": "A"}}}}"#
        );
        let log = format!(
            r#"{{"version": 2, "status": "success", "eval": {{}}, "samples": [{sample}]}}"#
        );
        let path = house.file("log.json", log);
        let error = run(&house.request(Some(Kind::Inspect), &[&path])).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn a_log_that_breaks_off_keeps_what_came_before() {
    let house = House::new();
    let end = INSPECT.find("{\"id\": \"three\"").unwrap();
    let path = house.file("log.json", &INSPECT[..end + 20]);
    let report = run(&house.request(Some(Kind::Inspect), &[&path])).unwrap();
    assert_eq!((report.runs[0].replies, report.bad), (2, 1));
    assert!(
        report.problems[0].contains("too early"),
        "{:?}",
        report.problems
    );
}

const PROMPTFOO: &str = r#"{"evalId": "e", "results": {"version": 3, "prompts": [], "results": [
  {"promptIdx": 0, "testIdx": 0, "vars": {"question": "Which?", "options": ["red", "blue"], "answer": "blue"}, "provider": {"id": "openai:gpt-x", "label": ""},
   "prompt": {"raw": "[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\",\"content\":\"U\"}]"},
   "response": {"output": "B", "tokenUsage": {"prompt": 5, "completion": 1}}, "latencyMs": 321, "error": "Expected output to be A", "success": false},
  {"promptIdx": 0, "testIdx": 1, "vars": {"question": "And?", "A": "x", "B": "y"}, "provider": {"id": "openai:gpt-x"}, "testCase": {"assert": [{"type": "javascript", "value": "1"}, {"type": "icontains", "value": "x"}]},
   "prompt": {"raw": "And?"}, "response": {"output": {"answer_choice": "A"}}},
  {"testIdx": 2, "vars": {"question": "Q3?", "A": "x", "B": "y", "answer": "A"}, "provider": {"id": "p"}, "prompt": {"raw": ""}, "response": {}, "error": "401 invalid key sk-1234567890abcdef"},
  {"testIdx": 3, "vars": {"topic": "none"}, "provider": {"id": "p"}, "response": {"output": "x"}}
 ]}, "config": {"providers": [{"config": {"apiKey": "sk-secret"}}]}}"#;

#[test]
fn promptfoo_results() {
    let house = House::new();
    let path = house.file("results.json", PROMPTFOO);
    let report = run(&house.request(None, &[&path])).unwrap();
    assert_eq!(report.kind, Kind::Promptfoo);
    assert_eq!(report.bad, 1, "{:?}", report.problems);
    let records = house.records("promptfoo-results");
    assert_eq!(records.len(), 3);
    assert_eq!(
        (
            records[0].prompt.system.as_str(),
            records[0].prompt.user.as_str()
        ),
        ("S", "U")
    );
    assert_eq!(records[0].model_name, "openai:gpt-x");
    assert_eq!(records[0].scores.as_ref().unwrap().main_correct, Some(true));
    assert_eq!(records[1].raw, "{\"answer_choice\":\"A\"}");
    assert_eq!(records[1].scores.as_ref().unwrap().main_correct, Some(true));
    let failure = result_of(&records[2]).unwrap().unwrap_err();
    assert!(
        failure.message.contains("[key removed]"),
        "{}",
        failure.message
    );
    let stored = std::fs::read(house.path("runs.sqlite")).unwrap();
    let text = String::from_utf8_lossy(&stored);
    assert!(!text.contains("sk-secret") && !text.contains("sk-1234567890abcdef"));
}

#[test]
fn promptfoo_results_as_json_lines() {
    let house = House::new();
    let line = |output: &str| {
        format!(
            r#"{{"promptIdx":0,"testIdx":0,"vars":{{"question":"Q?","options":["x","y"],"answer":"x"}},"provider":{{"id":"p:m"}},"response":{{"output":"{output}"}}}}"#
        )
    };
    let text = format!("{}\n{{\"provider\": 1}}\n{}\n", line("A"), line("B"));
    let path = house.file("r.jsonl", text);
    let report = run(&house.request(None, &[&path])).unwrap();
    assert_eq!((report.kind, report.bad), (Kind::Promptfoo, 1));
    let records = house.records("promptfoo-r");
    let right: Vec<_> = records
        .iter()
        .map(|record| record.scores.as_ref().unwrap().main_correct)
        .collect();
    assert_eq!(right, [Some(true), Some(false)]);
    assert_eq!(records[0].model_name, "p:m");
    // One result is a line of its own too, also in a file called .json.
    let one = house.file("one.json", line("A"));
    assert_eq!(
        run(&house.request(None, &[&one])).unwrap().runs[0].replies,
        1
    );
}

#[test]
fn names_of_runs_are_seen_as_they_are() {
    let house = House::new();
    let file = house.file(
        "q.jsonl",
        r#"{"id":"a","question":"Q?","options":["x","y"],"answer":"x","response":"A"}"#,
    );
    for name in ["a\u{1b}[31mb", "a\nb", " ", "a\u{202e}b"] {
        let mut request = house.request(None, &[&file]);
        request.run = Some(name.into());
        let error = run(&request).unwrap_err().to_string();
        assert!(error.contains("can't be the name of a run"), "{error}");
        assert!(!error.contains('\u{1b}'));
    }
}

#[test]
fn a_promptfoo_result_may_answer_a_question_of_a_dataset() {
    let house = House::new();
    let set = dataset(&house);
    let path = house.file(
        "r.json",
        r#"{"results": [{"vars": {"qid": "q2"}, "response": {"output": "no"}}, {"vars": {"question": "Q1?"}, "response": {"output": "no"}}], "config": {}}"#,
    );
    let mut request = house.request(Some(Kind::Promptfoo), &[&path]);
    request.dataset = Some(&set);
    request.mapping = Some(mapping(&house, "question_id = \"vars.qid\"\n"));
    run(&request).unwrap();
    let records = house.records("promptfoo-r");
    let right: Vec<_> = records
        .iter()
        .map(|r| {
            (
                r.question.id.as_str(),
                r.scores.as_ref().unwrap().main_correct,
            )
        })
        .collect();
    assert_eq!(right, [("q2", Some(true)), ("q1", Some(false))]);
}

#[test]
fn mirage_predictions_in_both_layouts() {
    let house = House::new();
    let question = |gold: &str| {
        format!(r#"{{"question": "Q?", "options": {{"A": "x", "B": "y"}}, "answer": "{gold}"}}"#)
    };
    let benchmark = house.file(
        "benchmark.json",
        format!(
            r#"{{"mmlu": {{"m1": {}, "m2": {}}}, "medqa": {{"m1": {}}}}}"#,
            question("A"),
            question("B"),
            question("A")
        ),
    );
    house.file(
        "prediction/mmlu/cot/gpt-x/test_m1.json",
        r#"["{\"answer_choice\": \"A\"}", "later"]"#,
    );
    house.file("prediction/mmlu/cot/gpt-x/test_m2.json", "");
    house.file("prediction/mmlu/cot/gpt-x/test_zz.json", "[7]");
    let folder = house.path("prediction");
    let report = run(&house.request(None, &[&benchmark, &folder])).unwrap();
    assert_eq!(report.kind, Kind::Mirage);
    assert_eq!(
        (report.sets.len(), report.bad),
        (0, 1),
        "{:?}",
        report.problems
    );
    let records = house.records(&report.runs[0].name);
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].scores.as_ref().unwrap().main_correct, Some(true));
    assert_eq!(records[1].parsed.as_ref().unwrap().outcome, Outcome::Empty);

    let lines = house.file(
        "preds.jsonl",
        "{\"id\":\"m1\",\"response\":\"A\"}\n{\"id\":\"m2\",\"response\":null}\n",
    );
    let mut request = house.request(Some(Kind::Mirage), &[&benchmark, &lines]);
    let error = run(&request).unwrap_err();
    assert!(
        matches!(&error, ImportError::Usage(why) if why.contains("--set") && why.contains("medqa, mmlu")),
        "{error}"
    );
    request.set = Some("mmlu".into());
    request.run = Some("mine".into());
    assert_eq!(run(&request).unwrap().runs[0].replies, 2);
    assert_eq!(
        house.records("mine")[1].reply["imported"]["saved_as"],
        "null"
    );
}

#[test]
fn contexts_of_reference_predictions_are_composed_again() {
    let house = House::new();
    let set = dataset(&house);
    let sufficiency = house.file(
        "results/sufficiency_p60_predictions.json",
        r#"[{"question_id": "q1", "p_sig": 60, "response": "{\"relevant_doc_id\": [\"DOC_1\", \"b\"], \"irrelevant_doc_id\": [\"c\"], \"answer_choice\": \"A\"}", "noise_doc_ids": ["a", "c", "b"], "adversarial_doc_ids": []},
            {"question_id": "q2", "p_sig": 60, "response": "insufficient information", "noise_doc_ids": ["zz"]},
            {"question_id": "q7", "p_sig": 60, "response": "A"}, {"question_id": "q1", "response": 4}]"#,
    );
    house.file(
        "results/integration_p50_predictions.json",
        r#"[{"question_id": "q1", "p_sig": 50, "response": "{\"sub_1\": {\"question\": \"SB?\", \"answer\": \"sb\", \"doc_id\": \"DOC_2\"}, \"main\": {\"answer_choice\": \"A\"}}", "noise_doc_ids": ["c", "b"]}]"#,
    );
    house.file(
        "results/robustness_p0_predictions.json",
        r#"[{"question_id": "q1", "p_sig": 0, "response": "{\"main\": {\"answer_choice\": \"A\"}}", "noise_doc_ids": ["doc_0"]}]"#,
    );
    let mut request = house.request(Some(Kind::Reference), &[sufficiency.parent().unwrap()]);
    request.dataset = Some(&set);
    request.run = Some("ref".into());
    let report = run(&request).unwrap();
    assert_eq!(report.bad, 2, "{:?}", report.problems);
    assert_eq!(
        (report.runs[0].replies, report.runs[0].contexts_known),
        (4, 2)
    );
    let records = house.records("ref");
    let integration = &records[0];
    assert_eq!(
        (integration.condition.scenario, integration.condition.docs),
        (Scenario::Integration, 2)
    );
    let subs = &integration.scores.as_ref().unwrap().subs;
    assert_eq!(subs.len(), 1);
    assert!(subs[0].exact && subs[0].attributed);
    let robustness = &records[1];
    let condition = &robustness.condition;
    assert_eq!(
        (condition.scenario, condition.docs, condition.p),
        (Scenario::Robustness, 1, 0.0),
        "its condition is known, its context was not saved"
    );
    assert!(robustness.context.documents.is_empty());
    assert!(
        robustness.model["caution"]
            .as_str()
            .unwrap()
            .contains("only the main answer is scored")
    );
    assert_eq!(robustness.scores.as_ref().unwrap().main_correct, Some(true));
    let sufficiency = &records[2];
    let roles: Vec<_> = sufficiency
        .context
        .documents
        .iter()
        .map(|d| (d.id.as_str(), d.role))
        .collect();
    assert_eq!(
        roles,
        [("a", Role::Signal), ("c", Role::Noise), ("b", Role::Signal)]
    );
    assert!(
        sufficiency
            .scores
            .as_ref()
            .unwrap()
            .documents
            .iter()
            .all(|document| document.right)
    );
    assert_eq!(sufficiency.condition.p, 60.0);
    assert_eq!(
        records[3].parsed.as_ref().unwrap().outcome,
        Outcome::Insufficient
    );
    let condition = &records[3].condition;
    assert_eq!(
        (condition.scenario, condition.docs, condition.p),
        (Scenario::Sufficiency, 3, 60.0),
        "documents that nobody knows do not make it a reply without documents"
    );
}

#[test]
fn reference_predictions_of_several_p_stay_apart_and_none_counts_as_no_retrieval() {
    let house = House::new();
    let set = dataset(&house);
    for (p, answer) in [("p0", "B"), ("p40", "A"), ("p100", "A")] {
        let share = p[1..].parse::<f64>().unwrap() / 100.0;
        house.file(
            &format!("results/robustness_n5_{p}_predictions.json"),
            format!(
                r#"[{{"question_id": "q1", "p_sig": {share}, "response": "{{\"main\": {{\"answer_choice\": \"{answer}\"}}}}", "noise_doc_ids": [], "adversarial_doc_ids": ["a"]}},
                    {{"question_id": "q2", "p_sig": 7000, "response": "A"}}]"#
            ),
        );
    }
    let folder = house.file("results/x", "");
    let mut request = house.request(Some(Kind::Reference), &[folder.parent().unwrap()]);
    request.dataset = Some(&set);
    request.run = Some("ref".into());
    let report = run(&request).unwrap();
    assert_eq!(
        (report.bad, report.runs.len()),
        (3, 1),
        "{:?}",
        report.problems
    );
    assert!(
        report.problems[0].contains("p_sig is 7000"),
        "{:?}",
        report.problems
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("only the main answer")),
        "{:?}",
        report.notes
    );
    let records = house.records("ref");
    let mut found: Vec<_> = records
        .iter()
        .map(|record| {
            let condition = &record.condition;
            let right = record.scores.as_ref().unwrap().main_correct;
            (condition.scenario, condition.docs, condition.p, right)
        })
        .collect();
    found.sort_by(|a, b| a.2.total_cmp(&b.2));
    let at = |p, right| (Scenario::Robustness, 5, p, Some(right));
    assert_eq!(found, [at(0.0, false), at(40.0, true), at(100.0, true)]);
}
