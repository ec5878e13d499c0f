//! Whole replies: one case per kind of irregularity seen in real ones (own wording), every schema,
//! partial replies, hostile and random text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

pub(super) fn shape(scenario: Scenario) -> ReplyShape {
    let asked = match scenario {
        Scenario::Integration | Scenario::Robustness => vec![
            "Which dose of the drug was given?".to_owned(),
            "How many patients had fever?".to_owned(),
            "Where does the nerve leave the skull?".to_owned(),
        ],
        _ => Vec::new(),
    };
    ReplyShape {
        scenario,
        labels: (1..=4).map(|k| format!("DOC_{k}")).collect(),
        ids: (1..=4).map(|k| format!("pm{k}77")).collect(),
        options: [
            ('A', "Aspirin"),
            ('B', "Warfarin"),
            ('C', "Vitamin K"),
            ('D', "Watchful waiting"),
        ]
        .map(|(letter, text)| (letter, text.to_owned()))
        .to_vec(),
        sub_questions: asked,
    }
}

fn standard(raw: &str) -> ParsedReply {
    parse(raw, &shape(Scenario::Standard), Ending::Complete)
}

#[test]
fn one_case_of_every_kind() {
    use Outcome::*;
    let good = r#"{"step_by_step_thinking": "Because of x.", "answer_choice": "B"}"#;
    let cases: &[(&str, Outcome, Option<char>)] = &[
        (good, Answered, Some('B')),
        (
            "```json\n{\"step_by_step_thinking\": \"x\", \"answer_choice\": \"B\"}\n```",
            Answered,
            Some('B'),
        ),
        (
            "Here is my answer:\n{\"answer_choice\": \"B\"}\nI hope this helps.",
            Answered,
            Some('B'),
        ),
        (
            "<think>A? {\"answer_choice\": \"A\"}</think>{\"answer_choice\": \"B\"}",
            Answered,
            Some('B'),
        ),
        (
            "A seems right {\"answer_choice\": \"A\"}</think>\n{\"answer_choice\": \"B\"}",
            Answered,
            Some('B'),
        ),
        (
            "{\"answer_choice\": \"A\"}\nWait, I was wrong.\n{\"answer_choice\": \"B\"}",
            Answered,
            Some('B'),
        ),
        (
            "{\"answer_choice\": \"B\"}\n{\"step_by_step_thinking\": \"or A?\", \"answer_cho",
            Answered,
            Some('B'),
        ),
        (
            "{'step_by_step_thinking': 'the patient's INR', 'answer_choice': 'B', 'sure': True}",
            Answered,
            Some('B'),
        ),
        (
            "{\"step_by_step_thinking\": \"the so-called \"target\" INR\", \"answer_choice\": \"B\"}",
            Answered,
            Some('B'),
        ),
        (
            "{\"step_by_step_thinking\": \"first\nsecond\", \"answer_choice\": \"B\",}",
            Answered,
            Some('B'),
        ),
        (
            "{\"step_by_step_thinking\": \"x\" \"answer_choice\": \"B\"}",
            Answered,
            Some('B'),
        ),
        (
            "{\"step_by_step_thinking\": \"x\", \"answer_choice\": \"B",
            Answered,
            Some('B'),
        ),
        (
            "{{\"step_by_step_thinking\": \"x\", \"answer_choice\": \"B\"}}",
            Answered,
            Some('B'),
        ),
        (
            r#"{\"step_by_step_thinking\": \"x\", \"answer_choice\": \"B\"}"#,
            Answered,
            Some('B'),
        ),
        (
            "{\"response\": {\"answer_choice\": \"B\"}}",
            Answered,
            Some('B'),
        ),
        ("{\"Answer Choice\": \"b\"}", Answered, Some('B')),
        ("{\"answer\": \"(B)\"}", Answered, Some('B')),
        ("{\"answer_choice\": [\"B\"]}", Answered, Some('B')),
        ("{\"answer_choice\": \"Option B\"}", Answered, Some('B')),
        ("{\"answer_choice\": \"B. Warfarin\"}", Answered, Some('B')),
        (
            "{\"answer_choice\": \"B. Warfarin 5 mg\"}",
            Answered,
            Some('B'),
        ),
        ("{\"answer_choice\": \"warfarin\"}", Answered, Some('B')),
        ("{\"answer_choice\": \"B. Aspirin\"}", Answered, Some('B')),
        (
            "{\"step_by_step_thinking\": \"A is out. So the answer to the question is: B. Warfarin. It fits.\"}",
            Answered,
            Some('B'),
        ),
        (
            "{\"step_by_step_thinking\": \"x\"}\nAnswer: B",
            Answered,
            Some('B'),
        ),
        (
            "The set {1, 2} matters. The correct answer is B.",
            Answered,
            Some('B'),
        ),
        ("B", Answered, Some('B')),
        ("**B**", Answered, Some('B')),
        ("Vitamin K", Answered, Some('C')),
        ("{\"answer_choice\": \"A/B\"}", SeveralOptions, None),
        ("{\"answer_choice\": \"B, D\"}", SeveralOptions, None),
        ("{\"answer_choice\": \"A and C\"}", SeveralOptions, None),
        (
            "{\"answer_choice\": \"A. Aspirin or B. Warfarin\"}",
            SeveralOptions,
            None,
        ),
        ("{\"answer_choice\": [\"A\", \"B\"]}", SeveralOptions, None),
        ("{\"answer_choice\": \"E\"}", NotOffered, None),
        ("{\"answer_choice\": \"E. Heparin\"}", NotOffered, None),
        (
            "{\"answer_choice\": \"None of the above\"}",
            NotOffered,
            None,
        ),
        ("{\"answer_choice\": \"N/A\"}", NotOffered, None),
        (
            "{\"answer_choice\": \"Not listed among the options\"}",
            NotOffered,
            None,
        ),
        (
            "{\"answer_choice\": \"Insufficient information\"}",
            Insufficient,
            None,
        ),
        (
            "{\"answer_choice\": \"Cannot be determined\"}",
            Insufficient,
            None,
        ),
        ("{\"answer_choice\": \"Unknown\"}", Insufficient, None),
        (
            "I'm sorry, but I can't help with medical questions.",
            Refused,
            None,
        ),
        (
            "{\"answer_choice\": \"I cannot provide medical advice\"}",
            Refused,
            None,
        ),
        (
            "The response was filtered due to the prompt triggering a policy.",
            ProviderError,
            None,
        ),
        ("'content'", ProviderError, None),
        (
            "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
            ProviderError,
            None,
        ),
        (
            "{\"error\": {\"message\": \"overloaded\", \"type\": \"server_error\"}}",
            ProviderError,
            None,
        ),
        ("", Empty, None),
        (" \n\t", Empty, None),
        ("{\"answer_choice\": \"\"}", Unreadable, None),
        ("{\"answer_choice\": null}", Unreadable, None),
        (
            "{\"step_by_step_thinking\": \"Let us weigh A, B and vitamin D.\"}",
            Unreadable,
            None,
        ),
        ("{\"answer_choice\": \"7.5\"}", Unreadable, None),
        ("{}", Unreadable, None),
        ("<think>the answer is B", Truncated, None),
        (
            "A patient with vitamin D deficiency and hepatitis B.",
            Unreadable,
            None,
        ),
        (
            "{\"step_by_step_thinking\": \"Option A would mean",
            Truncated,
            None,
        ),
        (
            "{\"step_by_step_thinking\": \"The answer is B. But on the",
            Truncated,
            None,
        ),
    ];
    for (raw, outcome, answer) in cases {
        let reply = standard(raw);
        assert_eq!(
            (reply.outcome, reply.answer),
            (*outcome, *answer),
            "{raw}\n{:?}",
            reply.notes
        );
    }
    assert!(standard(good).notes.is_empty());
    let unrepaired = cases.iter().filter(|(raw, outcome, _)| {
        *outcome == Answered && standard(raw).notes.is_empty() && *raw != good && *raw != "B"
    });
    for (raw, ..) in unrepaired {
        // Without its reasoning an object is complete all the same.
        assert!(
            raw.contains("\"answer_choice\": \"B\"}") || raw.contains("think"),
            "no note for {raw}"
        );
    }
}

#[test]
fn reasoning_and_hidden_text_are_kept() {
    let reply = standard(
        "<think>hidden</think>{\"step_by_step_thinking\": \"open \\u00e9\", \"answer_choice\": \"B\"}",
    );
    assert_eq!(reply.hidden.as_deref(), Some("hidden"));
    assert_eq!(reply.reasoning.as_deref(), Some("open é"));
    let reply = standard("It is about clotting.\n{\"answer_choice\": \"B\"}");
    assert_eq!(reply.reasoning.as_deref(), Some("It is about clotting."));
    let reply =
        standard("{\"step_by_step_thinking\": \"a <think>b</think> c\", \"answer_choice\": \"B\"}");
    assert_eq!(reply.reasoning.as_deref(), Some("a <think>b</think> c"));
    assert_eq!(reply.hidden, None);
}

#[test]
fn endings_decide_where_there_is_no_answer() {
    let shape = shape(Scenario::Standard);
    let cut = "{\"step_by_step_thinking\": \"The answer is B, si";
    let outcome = |raw: &str, ending| parse(raw, &shape, ending).outcome;
    for raw in [
        cut,
        "",
        "Let us see",
        "{\"step_by_step_thinking\": \"x\", \"answer_choice\": \"B",
    ] {
        assert_eq!(outcome(raw, Ending::Length), Outcome::Truncated, "{raw}");
        assert_eq!(
            outcome(raw, Ending::Interrupted),
            Outcome::Interrupted,
            "{raw}"
        );
        assert_eq!(outcome(raw, Ending::Running), Outcome::Unreadable, "{raw}");
    }
    let answered = "{\"step_by_step_thinking\": \"x\", \"answer_choice\": \"B\"";
    for ending in [Ending::Length, Ending::Interrupted] {
        let reply = parse(answered, &shape, ending);
        assert_eq!(
            (reply.outcome, reply.answer),
            (Outcome::Answered, Some('B'))
        );
        assert!(reply.notes.last().unwrap().contains("after its answer"));
    }
    assert_eq!(outcome(answered, Ending::Running), Outcome::Answered);
    assert_eq!(
        outcome("{\"answer_choice\": \"A/B\"}", Ending::Length),
        Outcome::SeveralOptions
    );
}

#[test]
fn lists_of_documents() {
    let shape = shape(Scenario::Sufficiency);
    let reply = parse(
        r#"{"relevant_doc_id": ["DOC_1", "pm377", 1], "irrelevant_doc_id": "doc 2, DOC_4", "step_by_step_thinking": "x", "answer_choice": "insufficient information"}"#,
        &shape,
        Ending::Complete,
    );
    assert_eq!(reply.outcome, Outcome::Insufficient);
    assert_eq!((reply.relevant, reply.irrelevant), (vec![0, 2], vec![1, 3]));
    let reply = parse(
        "```\n{'relevant_doc_id': ['DOC_2',], 'irrelevant_doc_id': None, 'answer_choice': 'B',}\n```",
        &shape,
        Ending::Complete,
    );
    assert_eq!((reply.relevant, reply.answer), (vec![1], Some('B')));
    // A correction that repeats only the answer keeps the lists.
    let reply = parse(
        "{\"relevant_doc_id\": [\"DOC_2\"], \"answer_choice\": \"A\"} No: {\"answer_choice\": \"B\"}",
        &shape,
        Ending::Complete,
    );
    assert_eq!((reply.relevant, reply.answer), (vec![1], Some('B')));
}

#[test]
fn sub_answers_by_position() {
    let shape = shape(Scenario::Integration);
    let reply = parse(
        r#"{"sub_1": {"question": "Which dose of the drug was given?", "answer": "5 mg", "doc_id": "DOC_3"},
            "sub_2": null,
            "sub_3": {"question": "How many patients had fever?", "answer": "12", "doc_id": ["doc 1"]},
            "sub_4": {"answer": "surplus"},
            "main": {"question": "?", "step_by_step_thinking": "thus", "answer_choice": "B"}}"#,
        &shape,
        Ending::Complete,
    );
    assert_eq!(
        (reply.answer, reply.reasoning.as_deref()),
        (Some('B'), Some("thus"))
    );
    let first = reply.subs[0].as_ref().unwrap();
    assert_eq!(
        (first.answer.as_deref(), first.document),
        (Some("5 mg"), Some(2))
    );
    assert!(reply.subs[1].is_none());
    assert_eq!(reply.subs[2].as_ref().unwrap().document, Some(0));
    assert!(
        reply
            .notes
            .iter()
            .any(|note| note.contains("sub_3 echoes another")),
        "{:?}",
        reply.notes
    );
    assert!(reply.notes.iter().any(|note| note.contains("not asked")));
}

#[test]
fn sub_answers_in_other_shapes() {
    let shape = shape(Scenario::Robustness);
    let expect = |raw: &str| {
        let reply = parse(raw, &shape, Ending::Complete);
        assert_eq!(
            (reply.outcome, reply.answer),
            (Outcome::Answered, Some('B')),
            "{raw}"
        );
        let answers: Vec<Option<&str>> = reply
            .subs
            .iter()
            .map(|sub| sub.as_ref()?.answer.as_deref())
            .collect();
        assert_eq!(
            answers[..2],
            [Some("5 mg"), Some("12")],
            "{raw}\n{:?}",
            reply.notes
        );
        let verdicts: Vec<Option<bool>> =
            reply.subs.iter().map(|sub| sub.as_ref()?.factual).collect();
        assert_eq!(verdicts[..2], [Some(true), Some(false)], "{raw}");
        assert!(!reply.notes.is_empty(), "{raw}");
    };
    // A list, keys from zero, a missing brace that nests the rest, separate objects, other spellings.
    expect(
        r#"{"sub_questions": [{"answer": "5 mg", "factual_correctness": "yes"}, {"answer": "12", "factual_correctness": "not factual"}], "main": {"answer_choice": "B"}}"#,
    );
    expect(
        r#"{"sub_0": {"answer": "5 mg", "factual_correctness": true}, "sub_1": {"answer": "12", "factual_correctness": 0}, "sub_2": {"answer": "x"}, "main": {"answer_choice": "B"}}"#,
    );
    expect(
        r#"{"sub_1": {"answer": "5 mg", "factual_correctness": "correct", "sub_2": {"answer": "12", "factual_correctness": "False"}, "main": {"answer_choice": "B"}}}"#,
    );
    expect(
        "{\"sub_1\": {\"answer\": \"5 mg\", \"factual_correctness\": 1}}\n{\"sub_2\": {\"answer\": 12, \"factual_correctness\": \"incorrect\"}}\n{\"main\": {\"answer_choice\": \"B\"}}",
    );
    expect(
        "{'Sub 1': {'answer': '5 mg', 'factual_correctness': True}, 'Sub 2': {'answer': '12', 'factual_correctness': False}, 'main': 'B'}",
    );
    expect(
        r#"{"question": "q", "answer": "5 mg", "relevant_doc_id": "DOC_1", "factual_correctness": "yes"} {"question": "r", "answer": "12", "relevant_doc_id": "DOC_2", "factual_correctness": "no"} {"main": {"answer_choice": "B"}}"#,
    );
    expect(
        r#"{"sub_1": {"answer": "5 mg", "factual_correctness": "yes"}, "sub_2": {"answer": "12", "factual_correctness": "no"}, "answer_choice": "B"}"#,
    );
}

#[test]
fn a_reply_read_while_it_arrives() {
    let shape = shape(Scenario::Robustness);
    let whole = r#"{"sub_1": {"question": "Which dose of the drug was given?", "relevant_doc_id": "DOC_1", "factual_correctness": true, "answer": "5 mg"}, "sub_2": {"question": "How many patients had fever?", "relevant_doc_id": "DOC_2", "factual_correctness": false, "answer": "12"}, "main": {"question": "?", "step_by_step_thinking": "Warfarin it is.", "answer_choice": "B"}}"#;
    let mut reasoning = 0;
    for end in 0..=whole.len() {
        let reply = parse(&whole[..end], &shape, Ending::Running);
        let so_far = &whole[..end];
        if !so_far.contains("\"answer_choice\": \"B\"") {
            assert_eq!(
                (reply.outcome, reply.answer),
                (Outcome::Unreadable, None),
                "{so_far}"
            );
        } else {
            assert_eq!(reply.answer, Some('B'), "{so_far}");
        }
        let first = reply.subs[0].as_ref();
        assert_eq!(
            first.and_then(|sub| sub.document),
            so_far.contains("\"DOC_1\"").then_some(0),
            "{so_far}"
        );
        let length = reply.reasoning.map_or(0, |text| text.len());
        assert!(length >= reasoning, "{so_far}");
        reasoning = length;
    }
    assert_eq!(reasoning, "Warfarin it is.".len());
}

#[test]
fn partial_lists_hold_only_finished_entries() {
    let mut shape = shape(Scenario::Sufficiency);
    shape.labels = (1..=12).map(|k| format!("DOC_{k}")).collect();
    shape.ids = (1..=12).map(|k| format!("id{k}")).collect();
    let read = |raw: &str| parse(raw, &shape, Ending::Running).relevant;
    assert_eq!(read(r#"{"relevant_doc_id": ["DOC_2", "DOC_1"#), [1]);
    assert_eq!(read(r#"{"relevant_doc_id": ["DOC_2", "DOC_12""#), [1, 11]);
    assert_eq!(read(r#"{"relevant_doc_id": [2, 1"#), [1]);
    assert_eq!(read(r#"{"relevant_doc_id": ["#), [0; 0]);
}

/// A valid reply of a scenario.
fn valid(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Standard => {
            r#"{"step_by_step_thinking": "Fever – \"38.5 °C\"; so \\ B.", "answer_choice": "B"}"#
        }
        Scenario::Sufficiency => {
            r#"{"relevant_doc_id": ["DOC_1", "DOC_3"], "irrelevant_doc_id": ["DOC_2"], "step_by_step_thinking": "é", "answer_choice": "B"}"#
        }
        Scenario::Integration => {
            r#"<think>hm</think>{"sub_1": {"question": "Which dose of the drug was given?", "answer": "5 mg", "doc_id": "DOC_1"}, "sub_2": {"question": "q", "answer": "12", "doc_id": "DOC_2"}, "main": {"question": "?", "step_by_step_thinking": "x", "answer_choice": "B"}}"#
        }
        Scenario::Robustness => {
            r#"{"sub_1": {"question": "q", "relevant_doc_id": "DOC_1", "factual_correctness": true, "answer": "x"}, "main": {"question": "?", "step_by_step_thinking": "x", "answer_choice": "B"}}"#
        }
    }
}

fn endings() -> impl Strategy<Value = Ending> {
    prop::sample::select(vec![
        Ending::Complete,
        Ending::Length,
        Ending::Interrupted,
        Ending::Running,
    ])
}

/// What holds for every reply, whatever the text.
fn holds(raw: &str, scenario: Scenario, ending: Ending) {
    let shape = shape(scenario);
    let reply = parse(raw, &shape, ending);
    assert_eq!(reply.answer.is_some(), reply.outcome == Outcome::Answered);
    assert!(
        reply
            .answer
            .is_none_or(|letter| ('A'..='D').contains(&letter))
    );
    assert_eq!(reply.subs.len(), shape.sub_questions.len());
    for list in [&reply.relevant, &reply.irrelevant] {
        let mut unique = list.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), list.len());
        assert!(list.iter().all(|&at| at < shape.labels.len()));
    }
    for sub in reply.subs.iter().flatten() {
        assert!(sub.document.is_none_or(|at| at < shape.labels.len()));
    }
    if ending == Ending::Complete {
        assert_ne!(reply.outcome, Outcome::Interrupted);
    }
    let evidence = reply.evidence.expect("every reading says why");
    let sources = reply.sources;
    let parts = [
        Some(evidence.span()),
        sources.reasoning,
        sources.relevant,
        sources.irrelevant,
    ];
    for span in parts.into_iter().chain(sources.subs).flatten() {
        assert!(
            span.start <= span.end && span.of(raw).is_some(),
            "{span:?} of {raw:?}"
        );
    }
    if reply.answer.is_some() {
        assert!(evidence.start < evidence.end, "{evidence:?} of {raw:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read(raw in any::<String>(), scenario in 0..4_usize, ending in endings()) {
        holds(&raw, Scenario::ALL[scenario], ending);
    }

    #[test]
    fn any_mix_of_pieces_is_read(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", "\"", "'", ":", ",", "\\", "\n", "```", "<think>", "</think>", "“",
            "answer_choice", "\"answer_choice\": \"", "main", "sub_1", "\"sub_2\": {", "relevant_doc_id",
            "DOC_1", "DOC_1-DOC_3", "A", "B. ", " or ", "the answer is ", "None of the above", "é", "null", "True",
            "\\u12", "\\ud83d", "insufficient information", "vitamin D", "(", ")", "0", "1e999", "-",
        ]), 0..40),
        scenario in 0..4_usize,
        ending in endings(),
    ) {
        holds(&pieces.concat(), Scenario::ALL[scenario], ending);
    }

    #[test]
    fn mutated_replies_are_read(
        scenario in 0..4_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<char>()), 0..6),
        ending in endings(),
    ) {
        let scenario = Scenario::ALL[scenario];
        let mut text: Vec<char> = valid(scenario).chars().collect();
        for (index, what, c) in edits {
            let at = index.index(text.len().max(1)).min(text.len().saturating_sub(1));
            match what {
                0 => text.insert(at, c),
                1 if !text.is_empty() => { text.remove(at); }
                _ => text.truncate(at + 1),
            }
        }
        holds(&text.into_iter().collect::<String>(), scenario, ending);
    }

    #[test]
    fn one_lost_sign_outside_the_answer_keeps_it(index in any::<prop::sample::Index>()) {
        // Losing any single character of the reasoning, or any sign around it, must not lose the answer.
        let whole = valid(Scenario::Standard);
        let last = whole.find("\"answer_choice\"").unwrap();
        let signs: Vec<usize> = whole.char_indices().map(|(at, _)| at).filter(|at| (1..last).contains(at)).collect();
        let at = signs[index.index(signs.len())];
        let length = whole[at..].chars().next().unwrap().len_utf8();
        let raw = format!("{}{}", &whole[..at], &whole[at + length..]);
        prop_assert_eq!(standard(&raw).answer, Some('B'), "{}", raw);
    }
}
