//! Tests of the choice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn options(texts: &[&str]) -> Options<'static> {
    let list: Vec<(char, String)> = ('A'..='Z')
        .zip(texts.iter().map(|text| (*text).to_owned()))
        .collect();
    Options::new(list.leak())
}

fn read(text: &str, options: &Options<'_>) -> (Choice, Vec<String>) {
    let mut notes = Vec::new();
    let read = read_text(text, options, &mut notes);
    (read.choice, notes)
}

#[test]
fn one_letter_in_every_dress() {
    let drugs = options(&["Give amoxicillin", "Clindamycin", "Vitamin D", "Rest"]);
    for text in [
        "B",
        "b",
        " B. ",
        "(B)",
        "[B]",
        "B)",
        "**B**",
        "\"B\"",
        "'B'",
        "Option B",
        "option (b)",
        "B. Clindamycin",
        "B: Clindamycin",
        "B) clindamycin",
        "B - Clindamycin",
        "B Clindamycin",
        "(B) Clindamycin",
        "Clindamycin",
        "clindamycin.",
        "The answer is B",
        "Answer: B",
        "Answer: (B) Clindamycin",
        "The correct option is B.",
        "B because it covers anaerobes",
        "\\boxed{B}",
        "$\\boxed{\\text{B}}$",
        "B. Clindamycin 300 mg",
        "Choice B",
        "B\nIt covers.",
        "B.",
        "<B>",
        "Clindamycin (covers anaerobes)",
        "B, B",
        "B (Clindamycin)",
    ] {
        assert_eq!(read(text, &drugs).0, Choice::Letter('B'), "{text}");
    }
    assert!(read("B", &drugs).1.is_empty());
    assert_eq!(read("Vitamin D", &drugs).0, Choice::Letter('C'));
    assert_eq!(read("A. amoxicillin", &drugs).0, Choice::Letter('A'));
}

#[test]
fn the_letter_decides_against_the_text() {
    let drugs = options(&["Give amoxicillin", "Clindamycin"]);
    let (choice, notes) = read("A. Clindamycin", &drugs);
    assert_eq!(choice, Choice::Letter('A'));
    assert!(notes[0].contains("option B"), "{notes:?}");
}

#[test]
fn several_options() {
    let drugs = options(&["Amoxicillin", "Clindamycin", "Vitamin D", "Rest"]);
    for text in [
        "A/B",
        "B, D",
        "A and C",
        "A or B",
        "C and D",
        "A/B/D",
        "(A) and (B)",
        "Options C and D",
        "Both A and B",
        "A & B",
        "ABD",
        "B. Clindamycin or C. Vitamin D",
        "Amoxicillin or rest",
        "A. Amoxicillin\nB. Clindamycin\nC. Vitamin D\nD. Rest",
        "All of the above",
        "A, B, C, or D",
        "A. Amoxicillin; D. Rest",
        "A/E",
    ] {
        assert_eq!(read(text, &drugs).0, Choice::Several, "{text}");
    }
    let groups = options(&["A and B", "AB", "All of the above", "A. or C. type"]);
    assert_eq!(read("A and B", &groups).0, Choice::Letter('A'));
    assert_eq!(read("AB", &groups).0, Choice::Letter('B'));
    assert_eq!(read("All of the above", &groups).0, Choice::Letter('C'));
    assert_eq!(read("D. A. or C. type", &groups).0, Choice::Letter('D'));
}

#[test]
fn what_is_not_offered_and_what_is_insufficient() {
    let two = options(&["yes", "no"]);
    for text in [
        "C",
        "E. Biopsy",
        "None of the above",
        "NONE",
        "N/A",
        "Not listed among the options",
        "Not provided in the given options",
        "Not provided",
        "none of these",
    ] {
        assert_eq!(read(text, &two).0, Choice::NotOffered, "{text}");
    }
    for text in [
        "Insufficient information",
        "insufficient information.",
        "Cannot be determined",
        "Unknown",
        "Not enough information to determine the range.",
        "E. Not enough information",
        "Cannot determine",
        "No definitive answer can be determined",
        "Not determinable",
        "A. Insufficient information",
    ] {
        assert_eq!(read(text, &two).0, Choice::Insufficient, "{text}");
    }
    for text in [
        "I cannot provide medical advice.",
        "I'm sorry, but I can't help with that.",
    ] {
        assert_eq!(read(text, &two).0, Choice::Refused, "{text}");
    }
    for text in [
        "",
        "  ",
        "156",
        "Furosemide",
        "Nosebleed",
        "A patient with fever",
        "No definitive test",
    ] {
        assert_eq!(read(text, &two).0, Choice::Nothing, "{text}");
    }
}

#[test]
fn words_where_they_are_the_options() {
    let three = options(&["yes", "no", "maybe"]);
    for (text, letter) in [
        ("Yes", 'A'),
        ("no.", 'B'),
        ("Maybe, it depends", 'C'),
        ("No - the trial failed", 'B'),
        ("Yes, A", 'A'),
        ("C. maybe", 'C'),
        ("yes (A)", 'A'),
    ] {
        assert_eq!(read(text, &three).0, Choice::Letter(letter), "{text}");
    }
    assert_eq!(read("yes or no", &three).0, Choice::Several);
    assert_eq!(read("Yes", &options(&["x", "z"])).0, Choice::Nothing);
}

#[test]
fn values_of_every_type() {
    let sizes = options(&["1500", "15", "yes", "no"]);
    let read = |value: Value| read_value(&value, &sizes, &mut Vec::new()).choice;
    assert_eq!(read(serde_json::json!(["B"])), Choice::Letter('B'));
    assert_eq!(read(serde_json::json!(["B", "D"])), Choice::Several);
    assert_eq!(read(serde_json::json!([])), Choice::Nothing);
    assert_eq!(read(serde_json::json!(1500)), Choice::Letter('A'));
    assert_eq!(read(serde_json::json!(1)), Choice::Nothing);
    assert_eq!(read(serde_json::json!(true)), Choice::Letter('C'));
    assert_eq!(
        read(serde_json::json!({"letter": "B", "text": "15"})),
        Choice::Letter('B')
    );
    assert_eq!(read(serde_json::json!({"B": "15"})), Choice::Letter('B'));
    assert_eq!(
        read(serde_json::json!({"A": true, "B": false})),
        Choice::Letter('A')
    );
    assert_eq!(read(Value::Null), Choice::Nothing);
}

#[test]
fn an_initial_that_abbreviates_is_no_letter() {
    let bugs = options(&[
        "Staphylococcus aureus",
        "Clostridioides difficile infection",
        "Streptococcus pneumoniae",
        "Candida albicans",
    ]);
    for (text, letter) in [
        ("C. difficile colitis", 'B'),
        ("C. difficile", 'B'),
        ("The answer is C. difficile.", 'B'),
        ("C. albicans", 'D'),
        ("S. aureus", 'A'),
        ("C. pneumoniae", 'C'),
        ("C. Streptococcus pneumoniae", 'C'),
        ("C. most likely pneumococcus", 'C'),
    ] {
        let (choice, notes) = read(text, &bugs);
        assert_eq!(choice, Choice::Letter(letter), "{text}");
        assert!(!notes.is_empty(), "{text}");
    }
    // Two options abbreviate alike: nothing is guessed, and S is not offered.
    let alike = options(&["Shigella sonnei", "Salmonella sonnei", "Other"]);
    assert_eq!(read("S. sonnei", &alike).0, Choice::NotOffered);
    // The letter's own option has the word.
    let own = options(&["Bacillus cereus", "Brucella cereus strain", "Other"]);
    assert_eq!(read("B. cereus", &own).0, Choice::Letter('B'));
}
