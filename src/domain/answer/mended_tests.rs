//! What a fresh tester found misread: rejected and quoted answers, cut replies, set phrases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::tests::shape;
use super::*;

fn read(raw: &str) -> ParsedReply {
    parse(raw, &shape(Scenario::Standard), Ending::Complete)
}

#[track_caller]
fn all_read(raws: &[&str], outcome: Outcome, answer: Option<char>) {
    let wrong: Vec<String> = raws
        .iter()
        .map(|raw| (raw, read(raw)))
        .filter(|(_, reply)| (reply.outcome, reply.answer) != (outcome, answer))
        .map(|(raw, reply)| {
            let rule = reply.evidence.map(|evidence| evidence.rule);
            format!("{raw:?} -> {:?} {:?} {rule:?}", reply.outcome, reply.answer)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rejected_quoted_and_possible_answers_are_none() {
    all_read(
        &[
            "Incorrect answer: A",
            "Wrong answer: A",
            "Rejected answer: A",
            "Previous answer: A",
            "Example answer: A",
            "Possible answer: A",
            "User's answer: A\nThis is not right.",
            "The only wrong answer is A.",
            "The most common wrong answer is A.",
            "The least likely answer is A.",
            "The worst answer is A.",
            "The least appropriate choice is A.",
            "The second best answer is A.",
            "The answer that can be excluded is A.",
            "A common misconception is that the answer is A.",
            "It's a mistake to think the answer is A.",
            "There's no way the answer is A.",
            "Nobody would say the answer is A.",
            "Hardly anyone would argue the answer is A.",
            "Someone told me the answer is A.",
            "My teacher says that the correct answer is A.",
            "The textbook claims the answer is A, which I think is outdated.",
            "The answer is A, which is false.",
            "Wrong: the answer is A.",
            "The answer is A if he smokes; otherwise the answer is B.",
            "Assuming he smokes, the answer is A; I can't tell whether he does.",
            "{\"answer_choice\": \"Wrong answer: A\"}",
            "Falsche Antwort: A",
        ],
        Outcome::Unreadable,
        None,
    );
    all_read(
        &[
            "The only possible answer is B.",
            "The best possible answer is B.",
            "Nobody would doubt that the answer is B.",
            "The question asks which is least likely. The least likely answer is B.",
            "Every one of these fits EXCEPT one. The worst answer is B.",
            "Assuming that there is no typo, the answer is B.",
            "I claim nothing else than this: the answer is B.",
            "The patient's best option is B.",
            "A is wrong: the answer is B.",
            "Correct answer: B\nIncorrect answers: A, C, D",
            "Answer: B\n\nWrong answer: A",
            "Student answer: A\nCorrect answer: B",
        ],
        Outcome::Answered,
        Some('B'),
    );
}

#[test]
fn insufficient_information_and_refusals_in_plain_sentences() {
    let sentences = [
        "The documents do not provide enough information to answer.",
        "The documents do not contain sufficient information to answer this question.",
        "The context does not contain the information needed to answer.",
        "It is not possible to answer the question with the information given.",
        "insufficient_information",
        "\u{4fe1}\u{606f}\u{4e0d}\u{8db3}",
        "Informaci\u{f3}n insuficiente",
    ];
    all_read(&sentences, Outcome::Insufficient, None);
    for sentence in sentences {
        let raw = serde_json::json!({"answer_choice": sentence}).to_string();
        all_read(&[&raw], Outcome::Insufficient, None);
    }
    all_read(
        &[
            "Lo siento, pero no puedo proporcionar consejos m\u{e9}dicos.",
            "\u{62b1}\u{6b49}\u{ff0c}\u{6211}\u{65e0}\u{6cd5}\u{63d0}\u{4f9b}\u{533b}\u{7597}\u{5efa}\u{8bae}\u{3002}",
        ],
        Outcome::Refused,
        None,
    );
}

#[test]
fn further_phrasings_name_an_option() {
    all_read(
        &[
            "The answer's B.",
            "The answer\u{2019}s B.",
            "not A, but B",
            "B?",
            "I lean towards B.",
            "I'm leaning toward option B.",
            "\u{41f}\u{440}\u{430}\u{432}\u{438}\u{43b}\u{44c}\u{43d}\u{44b}\u{439} \u{43e}\u{442}\u{432}\u{435}\u{442}: B",
            "\u{41e}\u{442}\u{432}\u{435}\u{442} \u{2014} B.",
            "\u{c815}\u{b2f5}\u{c740} B\u{c785}\u{b2c8}\u{b2e4}.",
            "\u{627}\u{644}\u{625}\u{62c}\u{627}\u{628}\u{629} \u{627}\u{644}\u{635}\u{62d}\u{64a}\u{62d}\u{629} \u{647}\u{64a} B",
            "[THINK]A[/THINK]B",
            "A. Aspirin\nB. Warfarin \u{2705}\nC. Vitamin K",
            "{\"answer_choice\": \"A\"}\nActually, I made an error above; the correct answer is B.",
        ],
        Outcome::Answered,
        Some('B'),
    );
    all_read(
        &["{\"answer_choice\": \"A\"}\nThe correct answer is B."],
        Outcome::Answered,
        Some('A'),
    );
    all_read(
        &[
            "{\"answer_choice\": \"A vitamin\"}",
            "Neither A nor B",
            "The answer is B?",
        ],
        Outcome::Unreadable,
        None,
    );
    all_read(
        &["upstream connect error or disconnect/reset before headers"],
        Outcome::ProviderError,
        None,
    );
    let twice = read("{\"answer_choice\": \"A\", \"answer_choice\": \"B\"}");
    assert!(twice.notes.iter().any(|note| note.contains("stands twice")));
}

#[test]
fn texts_of_options_that_are_nearly_alike() {
    for (texts, raw, outcome, answer) in [
        (
            ["Both B and C", "x"],
            "The answer is Both B and C.",
            Outcome::Answered,
            Some('A'),
        ),
        (
            ["aspirin", "aspirin"],
            "aspirin",
            Outcome::SeveralOptions,
            None,
        ),
        (
            ["aspirin", "aspirin"],
            "The answer is aspirin.",
            Outcome::SeveralOptions,
            None,
        ),
        ([">5%", "<5%"], "> 5%", Outcome::Answered, Some('A')),
        (["1.5 mg", "15 mg"], "1.5mg", Outcome::Answered, Some('A')),
        (["x", "y"], "Neither A nor B", Outcome::NotOffered, None),
    ] {
        let mut shape = shape(Scenario::Standard);
        shape.options = ('A'..).zip(texts.map(str::to_owned)).collect();
        let reply = parse(raw, &shape, Ending::Complete);
        assert_eq!(
            (reply.outcome, reply.answer),
            (outcome, answer),
            "{raw} of {texts:?}"
        );
    }
}

#[test]
fn a_reply_cut_anywhere_before_its_answer_is_truncated() {
    let shape = shape(Scenario::Integration);
    let whole = r#"{"sub_1": {"question": "Which dose of the drug was given?", "answer": "5 mg", "doc_id": "DOC_1"}, "sub_2": {"question": "How many patients had fever?", "answer": "12", "doc_id": "DOC_2"}, "main": {"question": "?", "step_by_step_thinking": "Warfarin.", "answer_choice": "B"}}"#;
    let answer = whole.find("B\"}}").unwrap();
    for end in 1..=answer {
        let reply = parse(&whole[..end], &shape, Ending::Complete);
        assert_eq!(reply.outcome, Outcome::Truncated, "{}", &whole[..end]);
        let false_note = |note: &&String| {
            ["echoes", "no document", "unescaped", "missing comma"]
                .iter()
                .any(|word| note.contains(word))
        };
        assert_eq!(
            reply.notes.iter().find(false_note),
            None,
            "{}",
            &whole[..end]
        );
    }
    for raw in [
        "{\"step_by_step_thinking\":\"Scurvy\",",
        "{\"step_by_step_thinking\":\"Scurvy\",\"answer_choice\":",
        "{\"step_by_step_thinking\":\"Scurvy\",\"answer_choice\":\"",
        "{\"step_by_step_thinking\":\"Scurvy\",\"answer_choice\":\"I",
        "<think>Let me see, A or B",
        "[THINK]Let me see",
    ] {
        all_read(&[raw], Outcome::Truncated, None);
    }
}

#[test]
fn lists_in_plain_lines_and_full_width_labels() {
    let shape = shape(Scenario::Sufficiency);
    for raw in [
        "relevant_doc_id: DOC_1, DOC_3\nirrelevant_doc_id: DOC_2\nanswer_choice: B",
        "**Relevant documents:**\n- DOC_1\n- DOC_3\n\nIrrelevant documents: DOC_2\n\nThe answer is B.",
        "{\"relevant_doc_id\": [\"DOC_\u{ff11}\", \"\u{ff13}\"], \"irrelevant_doc_id\": [\"\u{ff24}\u{ff2f}\u{ff23}\u{ff3f}\u{ff12}\"], \"answer_choice\": \"B\"}",
    ] {
        let reply = parse(raw, &shape, Ending::Complete);
        assert_eq!(reply.answer, Some('B'), "{raw}");
        assert_eq!(reply.relevant, [0, 2], "{raw}: {:?}", reply.notes);
        assert_eq!(reply.irrelevant, [1], "{raw}: {:?}", reply.notes);
    }
}
