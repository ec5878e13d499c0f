//! Tests of prose: kinds of phrasing, each with what a careful reader takes from it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

/// A to D.
const FOUR: &[&str] = &["Vitamin D", "Clindamycin", "Hepatitis B", "Rest"];
/// A to J.
const TEN: &[&str] = &[
    "Renal artery",
    "Splenic artery",
    "Hepatic artery",
    "Gastric artery",
    "Coeliac trunk",
    "Iliac artery",
    "Femoral artery",
    "Radial artery",
    "Ulnar artery",
    "Carotid artery",
];
const YES_NO_MAYBE: &[&str] = &["yes", "no", "maybe"];

fn read_with(text: &str, texts: &[&str]) -> Read {
    let list: Vec<(char, String)> = ('A'..='Z')
        .zip(texts.iter().map(|text| (*text).to_owned()))
        .collect();
    read_reply(text, &Options::new(&list), &mut Vec::new())
}

fn read(text: &str) -> Choice {
    read_with(text, FOUR).choice
}

#[track_caller]
fn all_read(texts: &[&str], expected: Choice) {
    let wrong: Vec<String> = texts
        .iter()
        .filter(|text| read(text) != expected)
        .map(|text| format!("{text:?} -> {:?}", read_with(text, FOUR)))
        .collect();
    assert!(
        wrong.is_empty(),
        "expected {expected:?}:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn patterns_compile() {
    for pattern in [&NEXT_QUESTION, &ABOUT_THE_ANSWER, &ANNOUNCED] {
        assert!(pattern.get().is_some());
    }
}

#[test]
fn the_answer_is_announced() {
    all_read(
        &[
            "It covers anaerobes. The answer is B",
            "Weighing A and C, the correct answer is B.",
            "So the answer is (B).",
            "Answer: B",
            "Answer - B",
            "Answer \u{2013} B",
            "Answer = B",
            "Answer -> B",
            "ANSWER: B",
            "**Answer:** B",
            "**Answer**: **B**",
            "__Answer:__ _B_",
            "Final answer: **B. Clindamycin**",
            "Final answer: B.",
            "Final Answer\n\nB",
            "## Answer\nB\n\n## Explanation\nIt covers anaerobes, unlike A.",
            "### Final answer: `B`",
            "the correct option is B because it covers anaerobes",
            "The best choice is: B",
            "Therefore, the correct answer to the question is option B.",
            "the correct answer is therefore (B)",
            "the correct answer is therefore option (B)",
            "The correct answer, in my view, is B.",
            "The answer must be B.",
            "The answer has to be B.",
            "The answer can only be B.",
            "The answer appears to be B.",
            "The answer is clearly B.",
            "The answer is, of course, B.",
            "The answer is most likely B.",
            "The most likely answer is B.",
            "The only remaining option is B.",
            "The only option that fits best is B.",
            "The best answer among the choices given is B",
            "The answer choice is B.",
            "\"answer_choice\": \"B\"",
            "answer_choice: B",
            "Correct answer: B) Clindamycin",
            "Correct option: B",
            "answer is b.",
            "The answer is option b",
            "The answer is B - Clindamycin",
            "The answer is B: it covers anaerobes",
            "The answer is B, since it covers anaerobes.",
            "The answer is B by exclusion.",
            "The answer is B rather than C.",
            "The answer is B over C.",
            "The answer is B. The patient needs it.",
            "The answer is B, not C.",
            "The answer is B and not A.",
            "The answer is B, and A is wrong.",
            "The answer is B. A, C and D are wrong.",
            "The correct answer is B (clindamycin).",
            "The most appropriate choice is B.",
            "The answer is \"B\".",
            "The answer is \u{201c}B\u{201d}.",
            "<answer>B</answer>",
            "<final_answer> B </final_answer>",
            "The answer is <b>B</b>.",
            "We get \\boxed{B}",
            "We get $\\boxed{\\text{B}}$.",
            "\\boxed{\\textbf{B}}",
            "$$\\boxed{(B)}$$",
            "\\boxed{B. Clindamycin}",
            "Choice: B",
            "Option: B",
            "Conclusion: B",
            "Verdict: B.",
            "My final answer is B.",
            "My choice is B.",
            "My best guess is B.",
            "Ans: B",
            "Ans. B",
            "The answer is \u{ff22}.",
            "The answer is \u{24b7}",
            "Answer\u{ff1a}\u{ff08}\u{ff22}\u{ff09}",
        ],
        Choice::Letter('B'),
    );
}

#[test]
fn a_person_chooses() {
    all_read(
        &[
            "I would choose B.",
            "I would go with option b",
            "I would go with option B",
            "I'd go with B, since it covers anaerobes.",
            "I\u{2019}d pick B.",
            "I'll go with B.",
            "I will select option B.",
            "I choose (B).",
            "I am going with B.",
            "I'm going with B.",
            "I'd say B.",
            "I would say that the answer is B.",
            "We would therefore choose B.",
            "Let's go with B.",
            "So I pick B over D.",
            "If I had to choose, I would go with B.",
            "I think the answer is B.",
            "I believe B is the correct answer.",
        ],
        Choice::Letter('B'),
    );
}

#[test]
fn the_letter_comes_first() {
    all_read(
        &[
            "Therefore, option B is the correct answer.",
            "So B is the correct answer.",
            "(B) is the correct answer.",
            "Option A is wrong. Option B is correct.",
            "A is wrong; B is right",
            "A is wrong and B is right.",
            "Option (B) would be the best choice.",
            "option b is right",
            "B is correct because it covers anaerobes.",
            "B is my answer.",
            "B is the most appropriate option here.",
            "B is therefore the only viable option.",
            "B, because it covers anaerobes",
            "B (clindamycin) is the best option.",
            "Option B (it covers anaerobes) is the best answer.",
            "Option B, clindamycin, is the correct answer.",
            "B. Clindamycin is the correct answer.",
            "Clindamycin (option B) is the best choice.",
            "so B it is",
            "So B it is!",
            "Only B is correct.",
            "A and C are out, so only option B fits best.",
            "B best explains the findings.",
            "B seems right.",
            "B makes the most sense.",
            "I think that B is correct.",
            "It is B.",
            "It's B.",
            "It must be B.",
            "A, C and D can be ruled out, which leaves B.",
            "A, C and D can be ruled out, leaving only option B.",
            "By elimination, B.",
            "We are left with B.",
            "All of this points to B.",
            "Therefore, B.",
            "Therefore (B).",
            "Hence B.",
            "Thus: option B.",
            "\u{2234} B",
        ],
        Choice::Letter('B'),
    );
}

#[test]
fn the_text_instead_of_the_letter() {
    all_read(
        &[
            "The answer is clindamycin.",
            "Clindamycin is the best choice.",
            "Among these, clindamycin is the correct answer.",
            "Among these, the best choice is clindamycin (option B)",
            "Among these, the best choice is lincomycin (option B).",
            "I would go with clindamycin.",
            "The correct answer is **Clindamycin**, which covers anaerobes",
            "The most appropriate treatment for this patient is clindamycin.",
            "The best next step is coverage of anaerobes (option B).",
            "The most likely drug is B. Clindamycin.",
            "The option that covers anaerobes is B. Clindamycin.",
            "The answer to the question 'Which drug: and why?' is B.",
            "clindamycin",
            "Clindamycin.",
        ],
        Choice::Letter('B'),
    );
    assert_eq!(read("The answer is vitamin D."), Choice::Letter('A'));
    assert_eq!(
        read("Vitamin D is the correct answer."),
        Choice::Letter('A')
    );
    assert_eq!(read("The answer is hepatitis B."), Choice::Letter('C'));
    assert_eq!(
        read("Hepatitis B is the right answer."),
        Choice::Letter('C')
    );
    assert_eq!(
        read("The answer is hepatitis B, clearly."),
        Choice::Letter('C')
    );
}

#[test]
fn an_answer_on_its_own_line() {
    all_read(
        &[
            "B\n\nIt covers anaerobes, unlike A.",
            "It covers anaerobes, unlike A.\n\nB",
            "It covers anaerobes.\n\nB. Clindamycin",
            "It covers anaerobes.\n\n(B)",
            "It covers anaerobes.\n\n**B**",
            "Option B\nIt covers anaerobes.",
            "B. Clindamycin\n\nIt covers anaerobes, which vitamins do not.",
            "B\n\nQuestion: What next?\nAnswer: C",
            "Answer: B\n\nQuestion: Who found penicillin?\nAnswer: D",
            "A. Vitamin D\nB. Clindamycin\nC. Hepatitis B\nD. Rest\n\nAnswer: B",
        ],
        Choice::Letter('B'),
    );
}

#[test]
fn corrections_count() {
    all_read(
        &[
            "The answer is A. Wait, that is wrong: the answer is B.",
            "The answer is A. Wait, actually it is B.",
            "The answer is A. No, sorry, it's B.",
            "The answer is C. On second thought, the answer is B.",
            "At first I thought the answer is A, but the answer is B.",
            "Initially the answer seems to be A. However, the answer is B.",
            "The answer is either A or B. Anaerobes need coverage. The answer is B.",
            "The answer is A. Hmm, let me reconsider. The correct answer is B.",
            "The answer isn't A but B.",
            "The answer is not A; it is B.",
            "The answer is not A, but rather option B.",
            "I was wrong to say that the answer is A. The answer is B.",
        ],
        Choice::Letter('B'),
    );
    all_read(
        &[
            "The answer is A. Wait, that is wrong.",
            "The answer is B. Scratch that.",
            "The answer is A. Hmm, the answer is not A.",
        ],
        Choice::Nothing,
    );
}

#[test]
fn statements_that_compete_choose_nothing() {
    all_read(
        &[
            "The answer is A. The answer is B.",
            "Answer: A\nAnswer: B",
            "Option A is correct. Option B is incorrect. Option C is correct.",
            "A and B are both correct.",
            "The correct answers are A and B.",
            "Therefore the correct answer is either A. Vitamin D, B. Clindamycin, or D. Rest.",
            "The answer is A or B.",
            "The answer is A or B because both work.",
            "The answer is either option A (vitamin D) or option B (clindamycin).",
            "The answer is A and/or B.",
            "The answer is B/D",
            "The answer is (A) or (B).",
            "The answer is A, B, and C.",
            "The answer is both A and C.",
            "The correct answers are both fine, but the answer is A and C.",
            "\\boxed{A, C}",
        ],
        Choice::Several,
    );
}

#[test]
fn letters_on_the_way_are_no_answer() {
    all_read(
        &[
            "A patient with vitamin D deficiency and hepatitis B needs care.",
            "A careful history is the best option.",
            "The answer is a matter of debate.",
            "The answer is A matter of debate.",
            "The answer is a",
            "Option A is plausible, and option B is too. Let us weigh them.",
            "Option A is wrong and option B is plausible.",
            "The best answer is E. coli infection",
            "The answer is C. difficile colitis",
            "The answer is B cells",
            "The answer is B-cell lymphoma",
            "The answer is D-dimer",
            "The answer is type C fibres",
            "The answer is Group A streptococcus",
            "The answer is group B streptococci.",
            "This points to C fibres.",
            "It is A fibrillation of the atria.",
            "The answer is I think complicated",
            "Vitamin D is the correct supplement here.",
            "Vitamin C is right for scurvy",
            "A. Vitamin D\nB. Clindamycin\nC. Hepatitis B\nD. Rest",
            "A. Vitamin D\nB. Clindamycin\nC. Hepatitis B\nD. Rest\n\nLet us look at each of them in turn.",
            "Answer:\nA. Vitamin D\nB. Clindamycin\nC. Hepatitis B\nD. Rest",
            "If the answer is",
            "Blood group A is common. Group B is less so.",
            "Patients on plan A do better than those on plan B.",
            "We must choose between A and B.",
            "There are four options, A to D.",
            "Factor V, protein C and vitamin K interact.",
        ],
        Choice::Nothing,
    );
}

#[test]
fn what_is_denied_asked_or_supposed_is_no_answer() {
    all_read(
        &[
            "The answer is not A.",
            "The answer isn't A.",
            "The answer cannot be A.",
            "The answer can't be B.",
            "not A",
            "It is not B.",
            "B is not correct.",
            "B is incorrect.",
            "B is wrong.",
            "Option B is not the best answer.",
            "I don't think the answer is B.",
            "I do not believe that B is correct.",
            "I would not choose B.",
            "I wouldn't pick A.",
            "It is unlikely that the answer is B.",
            "I doubt that the answer is B.",
            "It is not true that the answer is B.",
            "Nobody can say whether the answer is B.",
            "Is the answer B?",
            "Could it be that the answer is B?",
            "The answer is B?",
            "If the patient were a child, the answer is B.",
            "The answer would be B if the patient were a child.",
            "Some would say the answer is B.",
            "Many students think the answer is B.",
            "It is tempting to say that the answer is B.",
            "One might think that B is correct.",
            "A, B and D can be ruled out.",
            "The answer could be B.",
            "The answer might be A or B.",
            "B is the least likely answer.",
            "The answer is not A, B, or C.",
            "Therefore, option B is unlikely.",
            "Considering A, B, and C, it is clear that they work.",
            "Therefore, options A (vitamin D) and B (clindamycin) are out.",
            "The patient is unable to provide consent and should consult a physician.",
            "If none of the options fits, look further.",
        ],
        Choice::Nothing,
    );
    all_read(
        &[
            "There is no doubt that the answer is B.",
            "Without a doubt, the answer is B.",
            "The answer cannot be anything but B.",
            "The answer is none other than B.",
            "I am not sure, but I think the answer is B.",
            "If we consider the anaerobes, the answer is B.",
            "I do not doubt that the answer is B.",
            "A is not correct, but B is correct.",
        ],
        Choice::Letter('B'),
    );
}

#[test]
fn none_insufficient_refused() {
    all_read(
        &[
            "Therefore, the correct answer is not listed among the options provided.",
            "The answer is none of the above.",
            "The answer is F.",
            "Option E is the correct answer.",
            "None of the options is correct.",
            "The answer is not A, B, C, or D.",
        ],
        Choice::NotOffered,
    );
    all_read(
        &[
            "The documents do not mention it. Therefore the answer cannot be determined.",
            "There is not enough information to answer.",
            "The answer is insufficient information.",
            "Based on the documents, it is impossible to determine the answer.",
        ],
        Choice::Insufficient,
    );
    all_read(
        &["I'm sorry, but I can't provide medical advice. Please see a physician."],
        Choice::Refused,
    );
    // A study's lack of evidence is a finding.
    all_read(
        &["There is a lack of evidence for a benefit of the drug in children."],
        Choice::Nothing,
    );
}

#[test]
fn other_languages_are_read_or_left() {
    all_read(
        &[
            "Die richtige Antwort ist B.",
            "Antwort: B",
            "Die Antwort lautet (B), weil es Anaerobier erfasst.",
            "La respuesta correcta es B.",
            "Respuesta: B",
            "La respuesta correcta es la opci\u{f3}n B.",
            "La bonne r\u{e9}ponse est B.",
            "R\u{e9}ponse : B",
            "La risposta corretta \u{e8} B.",
            "A resposta correta \u{e9} B.",
            "\u{7b54}\u{6848}\u{662f}B\u{3002}",
            "\u{7b54}\u{6848}\u{ff1a}B",
            "\u{56e0}\u{6b64}\u{9009}B\u{3002}",
            "\u{7b54}\u{6848}\u{662f}\u{ff22}\u{ff0c}\u{56e0}\u{4e3a}\u{5b83}\u{6709}\u{6548}\u{3002}",
            "\u{6b63}\u{89e3}\u{306f}B\u{3067}\u{3059}\u{3002}",
        ],
        Choice::Letter('B'),
    );
    all_read(
        &[
            "Die Antwort ist nicht B.",
            "Die Antwort A ist falsch.",
            "La respuesta no es B.",
            "No es la respuesta B.",
            "A resposta depende do paciente.",
            "La r\u{e9}ponse n'est pas B.",
            "\u{7b54}\u{6848}\u{4e0d}\u{662f}B\u{3002}",
            "\u{4e0d}\u{9009}B\u{3002}",
            "Ein Patient mit Hepatitis B und Vitamin D Mangel.",
        ],
        Choice::Nothing,
    );
}

#[test]
fn words_where_they_are_the_options() {
    let read = |text: &str| read_with(text, YES_NO_MAYBE).choice;
    for (text, letter) in [
        ("Yes, the trial showed it.", 'A'),
        ("The answer is yes.", 'A'),
        ("Therefore, yes.", 'A'),
        ("I would say no.", 'B'),
        ("So the answer is no, it does not.", 'B'),
        ("**No.** The trial failed.", 'B'),
        ("No evidence was found at first. The answer is yes.", 'A'),
        ("Answer: maybe", 'C'),
        ("The answer is B. no", 'B'),
        ("The answer is C (maybe).", 'C'),
        ("Maybe.", 'C'),
        ("Probably yes", 'A'),
    ] {
        assert_eq!(read(text), Choice::Letter(letter), "{text}");
    }
    for text in [
        "No evidence was found for it in the trial of this drug.",
        "There is no difference.",
        "The drug may be useful, maybe in children.",
    ] {
        assert_eq!(read(text), Choice::Nothing, "{text}");
    }
    assert_eq!(read("The answer is yes or no."), Choice::Several);
}

#[test]
fn letters_beyond_d() {
    let read = |text: &str| read_with(text, TEN).choice;
    for (text, letter) in [
        ("The answer is E.", 'E'),
        ("The answer is J because of its course.", 'J'),
        ("Option I is the correct answer.", 'I'),
        ("The answer is (I).", 'I'),
        ("I. Ulnar artery", 'I'),
        ("F", 'F'),
        ("The answer is E. Coeliac trunk", 'E'),
        ("I would go with G.", 'G'),
    ] {
        assert_eq!(read(text), Choice::Letter(letter), "{text}");
    }
    for text in [
        "I am not certain about it.",
        "The answer is I would say complicated",
        "The answer is E. coli",
    ] {
        assert_eq!(read(text), Choice::Nothing, "{text}");
    }
    assert_eq!(read("The answer is K."), Choice::NotOffered);
}

#[test]
fn evidence_points_at_the_words() {
    for (text, expected) in [
        (
            "It works. The correct answer is **B**. Indeed.",
            "answer is **B",
        ),
        ("So B is the correct answer.", "B is the correct answer"),
        ("Long text.\n\nB. Clindamycin", "B. Clindamycin"),
        ("We get \\boxed{B}", "\\boxed{B"),
        ("Thus the answer is \u{ff22}.", "answer is \u{ff22}"),
        ("A is out, which leaves B.", "leaves B"),
    ] {
        let (start, end) = read_with(text, FOUR).at.unwrap();
        assert_eq!(&text[start..end], expected, "{text}");
    }
}
