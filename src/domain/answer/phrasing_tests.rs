//! Tests of kinds of phrasing that the whole reader must follow: corrections, what others say, control tokens,
//! marks and pictures, verdicts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::domain::context::Scenario;

fn read_with(text: &str, options: &[&str]) -> ParsedReply {
    let shape = ReplyShape {
        scenario: Scenario::Standard,
        labels: vec!["DOC_1".to_owned(), "DOC_2".to_owned()],
        ids: vec!["d1".to_owned(), "d2".to_owned()],
        options: ('A'..='Z')
            .zip(options.iter().map(|text| (*text).to_owned()))
            .collect(),
        sub_questions: Vec::new(),
    };
    let reply = parse(text, &shape, Ending::Complete);
    let evidence = reply.evidence.unwrap();
    assert!(text.get(evidence.start..evidence.end).is_some(), "{text}");
    reply
}

const DRUGS: [&str; 4] = ["Vitamin D", "Clindamycin", "Lumbar puncture", "Rest"];

#[track_caller]
fn all_are(texts: &[&str], outcome: Outcome, answer: Option<char>) {
    let wrong: Vec<String> = texts
        .iter()
        .map(|text| (text, read_with(text, &DRUGS)))
        .filter(|(_, reply)| (reply.outcome, reply.answer) != (outcome, answer))
        .map(|(text, reply)| {
            format!(
                "{text:?} -> {:?} {:?} {:?}",
                reply.outcome, reply.answer, reply.notes
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "expected {outcome:?} {answer:?}:\n{}",
        wrong.join("\n")
    );
}

#[track_caller]
fn all_answer(letter: char, texts: &[&str]) {
    all_are(texts, Outcome::Answered, Some(letter));
}

#[test]
fn a_correction_counts_without_another_announcement() {
    all_answer(
        'C',
        &[
            "The answer is D. On second thought, C.",
            "The answer is D. On reflection, C is better.",
            "The answer is D. Actually C is better.",
            "The answer is D. Actually, C.",
            "Answer: D. Wait, C.",
            "Answer: D. Sorry, I meant C.",
            "Answer: D. Sorry, C (lumbar puncture).",
            "My answer is D. Correction: C.",
            "My answer is D. Correction: option C",
            "Answer: D\n\nUpdate: C",
            "Answer: D\n\n**Edit:** C",
            "The answer is D. Let me reconsider: it may be risky. I change my answer to C.",
            "The answer is D. Changing my answer to C.",
            "The answer is D. I'd like to change my answer from D to C.",
            "The answer is D. I'd like to revise that: C.",
            "The answer is D. I need to correct my answer: C",
            "The answer is D. Oops, C.",
            "The answer is D. Make that C.",
            "The answer is D, or rather C.",
            "The answer is D. My apologies, I misread. It is C.",
            "Final answer: D\n\nOn rereading the vignette, there is no shock, so option C is right.",
            "D\n\nWait, no. C",
            "D, no, C",
            "D. Wait, C.",
            "D. Hold on, that is wrong: C.",
            "The answer is D. Wait, lumbar puncture.",
            "The answer is D. But D is wrong because of shock; C is right.",
            "The answer is D.\n\nVerification: rest fails in shock. So D is wrong. C is correct.",
            "Answer: D. My apologies, that is incorrect. The right answer is C.",
            "The answer is D. Strike that. The answer is C.",
            "The answer is D. On reflection, the answer is C.",
        ],
    );
    all_are(
        &[
            "The answer is D. Wait, that is wrong.",
            "The answer is D. But D is wrong.",
            "The answer is D. My apologies, that is incorrect.",
        ],
        Outcome::Unreadable,
        None,
    );
    let read = |text: &str| read_with(text, &["yes", "no", "maybe"]);
    for (text, letter) in [
        ("Yes, it is. No, wait: no.", 'B'),
        ("The answer is yes. Wait, no.", 'B'),
        ("The answer is no. Correction: maybe.", 'C'),
    ] {
        assert_eq!(read(text).answer, Some(letter), "{text}");
    }
}

#[test]
fn answers_for_different_patients_compete() {
    all_are(
        &[
            "For a stable patient the answer is D; for this one it is C.",
            "The answer is D in adults, but for this patient it is C.",
        ],
        Outcome::SeveralOptions,
        None,
    );
    all_answer(
        'C',
        &[
            "For this patient it is C.",
            "The answer is C. For this patient, it is C because of the shock.",
        ],
    );
    all_answer(
        'D',
        &["The answer is D. In this case it is important that C is not given."],
    );
}

#[test]
fn a_labels_the_answer_where_another_letter_follows_alone() {
    all_answer('C', &["A: C", "A: C.", "**A:** C", "A: (C)"]);
    assert_eq!(
        read_with("A: C", &["C", "B", "D", "E"]).outcome,
        Outcome::SeveralOptions,
        "option A reads so itself"
    );
}

#[test]
fn words_of_correction_alone_change_nothing() {
    all_answer(
        'D',
        &[
            "The answer is D. Wait, C is contraindicated in shock.",
            "The answer is D. Actually, C was tried before.",
            "The answer is D. Sorry for the length. A is used in children.",
            "The answer is D. Wait, is it C?",
            "The answer is D. A is wrong. B is wrong. C is wrong.",
            "Which statement is false? The answer is D. D is false: it does harm. A is right.",
            "The answer is D. A is correct. B is correct. C is correct. D is incorrect.",
            "I apologize for the delay. The answer is D.",
            "The answer is D. No, A and B play no role here.",
        ],
    );
}

#[test]
fn a_correction_after_an_object_counts() {
    let object = r#"{"step_by_step_thinking": "x", "answer_choice": "D"}"#;
    for after in [
        "Correction: C",
        "Actually, C.",
        "On second thought, C.",
        "Sorry, I meant C.",
        "**Corrected answer:** C",
        "I need to correct my answer: C",
        "Final answer: C",
        "**Final Answer: C**",
        "Wait. I misread. So the correct answer is C.",
    ] {
        let reply = read_with(&format!("{object}\n\n{after}"), &DRUGS);
        assert_eq!(reply.answer, Some('C'), "{after}");
    }
    for after in ["Scratch that.", "Wait, that is wrong."] {
        let reply = read_with(&format!("{object}\n\n{after}"), &DRUGS);
        assert_eq!(reply.outcome, Outcome::Unreadable, "{after}");
    }
    let reply = read_with(&format!("{object}\n\nTherefore the answer is C."), &DRUGS);
    assert_eq!(reply.outcome, Outcome::SeveralOptions);
    for after in [
        "Final answer: D",
        "Therefore the answer is D.",
        "The answer C is a distractor.",
        "Question: What next?\nFinal answer: C",
    ] {
        let reply = read_with(&format!("{object}\n\n{after}"), &DRUGS);
        assert_eq!(reply.answer, Some('D'), "{after}");
    }
}

#[test]
fn what_others_say_or_what_never_was_is_no_answer() {
    all_are(
        &[
            "DOC_2 says the answer is D.",
            "The documents say that the answer is D.",
            "The passage states that the answer is D.",
            "A colleague suggested the answer is D, but I am not sure.",
            "A colleague recommended option D as the answer.",
            "I was told that the answer is D.",
            "It is believed that the answer is D.",
            "According to my colleague, the answer is D.",
            "Experts have argued that the answer is D. Others said the answer is C.",
            "The answer is D, says the resident.",
            "The answer is D, or so the user claims.",
            "Had LP been safe, D would be the answer.",
            "Were the patient stable, the answer would be D.",
            "In a different patient, the answer would be D.",
            "Perhaps the answer is D.",
        ],
        Outcome::Unreadable,
        None,
    );
    all_answer(
        'D',
        &[
            "DOC_2 says the answer is C. It is wrong: the answer is D.",
            "The documents indicate that the answer is D.",
            "According to the documents, the answer is D.",
            "This suggests that the answer is D.",
            "I would say the answer is D.",
            "As I said, the answer is D.",
            "As stated above, the answer is D.",
            "It is safe to say that the answer is D.",
            "Had LP been safe, C would be the answer, but the answer is D.",
            "The patient had been ill, so the answer is D.",
        ],
    );
    let read = |text: &str| read_with(text, &["yes", "no", "maybe"]);
    assert_eq!(read("Maybe the answer is yes.").answer, None);
    assert_eq!(read("Maybe.").answer, Some('C'));
}

#[test]
fn pictures_marks_and_formulas_around_a_letter() {
    all_answer(
        'C',
        &[
            "Answer: C \u{2705}",
            "\u{2705} C",
            "C\u{2705}",
            "\u{1f449} **Answer: C** \u{2705}",
            "\u{1f449} C",
            "Answer \u{27a1}\u{fe0f} C",
            "**Answer:** C \u{1fa7a}",
            "C \u{1f44d}",
            "C \u{1f44d}\u{1f3fd}!",
            "\u{1f3af} Final Answer: **C**",
            "\\(C\\)",
            "The answer is \\(C\\).",
            "\\[ \\boxed{C} \\]",
            "$C$",
            "Answer: $C$",
            "Answer: $\\text{C}$.",
            "1. C",
            "1. C. Lumbar puncture",
            "Guess: C",
            "Confidence: 80%. Choice: C",
            r#"{"answer_choice": "C \u2705"}"#,
        ],
    );
    all_are(
        &["C \u{274c}", "\u{274c} C", "1. A\n2. B"],
        Outcome::Unreadable,
        None,
    );
}

#[test]
fn control_tokens_are_no_text() {
    all_answer(
        'C',
        &[
            "C</s>",
            "C</s></s></s>",
            "<s>C</s>",
            "C<|eot_id|>",
            "C<|endoftext|>",
            "Answer: C<|im_end|>",
            "C<|im_end|>\n<|im_start|>user\nAnd what about D? Answer: D",
            "<|im_start|>assistant\nC<|im_end|>",
            "<|start_header_id|>assistant<|end_header_id|>\n\nC<|eot_id|>",
            "<start_of_turn>model\nC<end_of_turn>",
            "C<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
            "C</s> D",
            "[INST] Which one? Answer: D [/INST] C</s>",
            "<|channel|>analysis<|message|>The answer is D?<|end|><|start|>assistant<|channel|>final<|message|>C<|return|>",
            "<|channel|>analysis<|message|>The answer is D.<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{\"answer_choice\": \"C\"}",
            "analysisWe think the answer is D.assistantfinalC",
            "{\"answer_choice\": \"C\"}<|im_end|>\n{\"answer_choice\": \"D\"}",
        ],
    );
    let reply = read_with(
        "<|channel|>analysis<|message|>Weigh D.<|end|><|start|>assistant<|channel|>final<|message|>C",
        &DRUGS,
    );
    assert_eq!(reply.hidden.as_deref(), Some("Weigh D."));
    let cut = read_with("<|channel|>analysis<|message|>The answer is D", &DRUGS);
    assert_eq!(cut.outcome, Outcome::Truncated);
}

#[test]
fn the_only_option_called_right() {
    all_answer(
        'C',
        &[
            "A: no\nB: no\nC: yes\nD: no",
            "1. A: incorrect\n2. B: incorrect\n3. C: correct\n4. D: incorrect",
            "A \u{2013} No. B \u{2013} No. C \u{2013} Yes. D \u{2013} No.",
            "1. A: false\n2. B: false\n3. C: true\n4. D: false",
        ],
    );
    all_are(
        &["A: no\nB: no\nC: yes", "A: no\nB: yes\nC: yes\nD: no"],
        Outcome::Unreadable,
        None,
    );
}

#[test]
fn a_decimal_point_is_read() {
    let doses = ["1 mg", "2 mg", "5 mg", "0.5 mg"];
    for text in [
        ".5 mg",
        r#"{"answer_choice": ".5 mg"}"#,
        "The answer is .5 mg.",
    ] {
        assert_eq!(read_with(text, &doses).answer, Some('D'), "{text}");
    }
    assert_eq!(read_with("5 mg.", &doses).answer, Some('C'));
}
