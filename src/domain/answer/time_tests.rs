//! Reading takes time linear in the length, whatever a reply is made of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use super::tests::shape;
use super::*;

/// A name and what makes a hostile text of about this many bytes.
type Hostile = (&'static str, fn(usize) -> String);

fn fill(piece: &str, size: usize) -> String {
    piece.repeat(size / piece.len() + 1)
}

const HOSTILE: &[Hostile] = &[
    ("braces", |n| fill("{", n)),
    ("opened objects", |n| fill("{\"a\":", n)),
    ("nested mains", |n| fill("{\"main\":", n)),
    ("nested subs", |n| fill("{\"sub_1\":{\"answer\":\"x\",", n)),
    ("open answers", |n| fill("{\"answer_choice\":\"", n)),
    ("whole answers", |n| fill("{\"answer_choice\":\"B\"}", n)),
    ("answers in one object", |n| {
        format!("{{{}}}", fill("\"answer_choice\":\"B\",", n))
    }),
    ("subs in one object", |n| {
        let members: Vec<String> = (0..n / 24)
            .map(|k| format!("\"sub_{k}\": {{\"answer\": 1}}"))
            .collect();
        format!("{{{}}}", members.join(","))
    }),
    ("brackets", |n| fill("[", n)),
    ("nested lists", |n| {
        format!("{{\"answer_choice\": {}", fill("[", n))
    }),
    ("ranges", |n| {
        format!("{{\"relevant_doc_id\": [{}", fill("\"1-4\",", n))
    }),
    ("unknown documents", |n| {
        let names: Vec<String> = (0..n / 10).map(|k| format!("\"x{k}\"")).collect();
        format!("{{\"relevant_doc_id\": [{}]}}", names.join(","))
    }),
    ("quotes", |n| fill("\"", n)),
    ("spaced quotes", |n| {
        format!("{{\"a\": \"{}", fill("\" ", n))
    }),
    ("quotes and commas", |n| {
        format!("{{\"answer_choice\": \"{}", fill("\", ", n))
    }),
    ("single quotes", |n| {
        format!("{{'answer_choice': '{}", fill("' ,", n))
    }),
    ("white space", |n| {
        format!("{{\"answer_choice\":{}", fill(" ", n))
    }),
    ("quotes and white space", |n| {
        format!("{{\"a\": \"{}", fill("\"\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t", n))
    }),
    ("opened thoughts", |n| fill("<think>", n)),
    ("closed thoughts", |n| fill("</think>", n)),
    ("broken thoughts", |n| fill("<think></", n)),
    ("announcements", |n| fill("the answer is ", n)),
    ("answers in prose", |n| fill("The answer is B. ", n)),
    ("competing answers", |n| {
        fill("the answer is A. Answer: B. ", n)
    }),
    ("options in a field", |n| {
        format!("{{\"answer_choice\": \"{}\"}}", fill("option ", n))
    }),
    ("answers in a field", |n| {
        format!("{{\"answer_choice\": \"{}\"}}", fill("B, ", n))
    }),
    ("angles", |n| {
        format!("{{\"answer_choice\": \"{}", fill("<", n))
    }),
    ("backslashes", |n| fill("\\", n)),
    ("escaped quotes", |n| fill("{\\\"", n)),
    ("letters", |n| fill("A ", n)),
    ("letters and dots", |n| fill("A. ", n)),
    ("labels", |n| fill("DOC_1, ", n)),
    ("options", |n| fill("option A is correct. ", n)),
    ("options without an end", |n| fill("(A) (", n)),
    ("lines", |n| fill("A\n", n)),
    ("bare keys", |n| fill("{x:", n)),
    ("digits", |n| fill("9", n)),
    ("digits in a list", |n| {
        format!("{{\"relevant_doc_id\": [{}]}}", fill("9", n))
    }),
    ("questions", |n| fill("\nQuestion: ", n)),
    ("fences", |n| fill("```\n", n)),
    ("stars", |n| fill("**", n)),
    ("ideographs", |n| fill("\u{7b54}\u{6848}\u{662f}B", n)),
    ("full-width letters", |n| fill("\u{ff22}\u{ff0c}", n)),
    ("worst answers", |n| fill("The worst answer is A. ", n)),
    ("answers called wrong", |n| {
        fill("The answer is A, which is false. ", n)
    }),
    ("filling words", |n| fill("the answer is both only the ", n)),
    ("marked lines", |n| fill("A. x \u{2705}\n", n)),
    ("bracketed thoughts", |n| fill("[THINK][/", n)),
    ("plain lists", |n| fill("relevant_doc_id: DOC_1\n", n)),
    ("not", |n| fill("the answer is not A but ", n)),
    ("corrections", |n| fill("Wait, no, ", n)),
    ("corrected answers", |n| fill("Wait, B. ", n)),
    ("verdicts", |n| fill("A: no\nB: yes\n", n)),
    ("letters and bars", |n| fill("A | ", n)),
    ("tokens", |n| fill("<|im_end|>", n)),
    ("turns of others", |n| fill("<|im_start|>user\n", n)),
    ("channels", |n| fill("<|channel|>analysis", n)),
    ("opened tokens", |n| fill("<|", n)),
    ("answers called wrong after", |n| {
        fill("The answer is B. But B is wrong. ", n)
    }),
    ("both", |n| fill("A, ", n) + "B and C are correct"),
];

/// The shortest of a few runs: what else the machine does only adds.
fn time(text: &str, scenario: Scenario, runs: usize) -> Duration {
    let shape = shape(scenario);
    let one = |_| {
        let start = Instant::now();
        parse(text, &shape, Ending::Complete);
        start.elapsed()
    };
    (0..runs).map(one).min().unwrap()
}

/// Twice the length may take up to three times as long (two, and room for noise).
fn grows_with_length(size: usize) {
    let mut slow = Vec::new();
    for (name, make) in HOSTILE {
        let scenario = match name.contains("sub") {
            true => Scenario::Robustness,
            false => Scenario::Sufficiency,
        };
        let (one, two) = (make(size), make(2 * size));
        let fits = (1..=6).any(|runs| {
            let (short, long) = (time(&one, scenario, runs), time(&two, scenario, runs));
            long < Duration::from_millis(20) || long < 3 * short
        });
        if !fits {
            let (short, long) = (time(&one, scenario, 1), time(&two, scenario, 1));
            slow.push(format!(
                "{name}: {short:?} for {size} bytes, {long:?} for twice as many"
            ));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn time_is_linear_in_the_length() {
    grows_with_length(32_000);
}

/// `cargo test --release -- --ignored a_megabyte`
#[test]
#[ignore = "takes minutes without optimisation"]
fn a_megabyte_of_anything_is_read_in_linear_time() {
    grows_with_length(500_000);
    for (name, make) in HOSTILE {
        let text = make(1_000_000);
        for scenario in Scenario::ALL {
            let took = time(&text, scenario, 1);
            assert!(took < Duration::from_secs(60), "{name}: {took:?}");
        }
    }
}
