#![allow(clippy::unwrap_used)]
//! All decisions here are made up.

use serde_json::Value;

use super::*;
use crate::data::dataset::Dataset;
use crate::domain::review::{
    Act, Change, Content, Decision, Item, ItemKind, Reason, Verdict, findings, items,
};

fn hand(name: &str) -> Hand {
    Hand {
        annotator: name.to_owned(),
        part: Part::Annotator,
    }
}

fn sample() -> (Dataset, Vec<Item>) {
    let dataset = Dataset::sample().unwrap();
    let question = &dataset.questions[0];
    let items = items(question, &dataset.pools(&question.id));
    (dataset, items)
}

fn event(item: &Item, change: Change) -> Event {
    Event {
        at: String::new(),
        act: Act::on(item, change),
    }
}

fn verdicts(items: &[Item]) -> [(usize, Verdict); 4] {
    let edit = items.iter().position(|item| item.kind() == ItemKind::Edit);
    [
        (0, Verdict::Accepted),
        (
            edit.unwrap(),
            Verdict::Edited(Content::Edit {
                planted: "é\u{0} 中".into(),
                text: "one\n\ntwo".into(),
            }),
        ),
        (
            2,
            Verdict::Edited(Content::SubQuestion {
                question: "Which?".into(),
                answer: "that".into(),
            }),
        ),
        (
            3,
            Verdict::Rejected {
                reason: Reason::Other,
                words: "=1+1".into(),
            },
        ),
    ]
}

#[test]
fn decisions_come_back_after_a_restart_and_undo_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep").join(FILE_NAME);
    let (_, items) = sample();
    let reviews = Reviews::open(&path).unwrap();
    let ana = hand("ana");
    for (at, verdict) in verdicts(&items) {
        let change = Change::Verdict(Some(verdict));
        reviews
            .add("set", &ana, &event(&items[at], change))
            .unwrap();
    }
    let note = Change::Note("see below".into());
    let at = reviews.add("set", &ana, &event(&items[3], note)).unwrap();
    assert!(at.ends_with('Z'), "{at}");
    let whole = Decision {
        verdict: Some(Verdict::Accepted),
        note: "from a file".into(),
        updated_at: "2026-01-01T00:00:00Z".into(),
        ..Decision::blank(&items[5])
    };
    let put = Change::Put(Box::new(whole.clone()));
    reviews
        .add("set", &hand("ben"), &event(&items[5], put))
        .unwrap();
    drop(reviews);
    let reviews = Reviews::open(&path).unwrap();
    let shelf = reviews.of_dataset("set").unwrap();
    assert_eq!((shelf.books.len(), shelf.broken), (2, 0));
    let book = &shelf.books[&ana];
    for (at, verdict) in verdicts(&items) {
        assert_eq!(book.verdict(&items[at].id), Some(&verdict));
    }
    assert_eq!(book.get(&items[3].id).unwrap().note, "see below");
    assert_eq!(shelf.books[&hand("ben")].get(&items[5].id), Some(&whole));
    let undo = Event {
        at: String::new(),
        act: Act::Undo,
    };
    reviews.add("set", &ana, &undo).unwrap();
    reviews.add("set", &ana, &undo).unwrap();
    drop(reviews);
    let reviews = Reviews::open(&path).unwrap();
    let book = &reviews.of_dataset("set").unwrap().books[&ana];
    assert_eq!(book.get(&items[3].id), None);
    assert!(book.can_redo());
    assert_eq!(reviews.datasets().unwrap(), ["set"]);
    // No database of annotations, whatever the two have in common.
    let said = crate::data::annotations::Annotations::open(&path)
        .unwrap_err()
        .0;
    assert!(said.contains("holds no annotations"), "{said}");
}

#[test]
fn rows_of_a_file_come_back_and_bad_ones_say_what_is_wrong() {
    let (dataset, items) = sample();
    let question = &dataset.questions[0];
    let pools = dataset.pools(&question.id);
    let found = findings(question, &pools, |_| None);
    let mut rows = Vec::new();
    for (at, verdict) in verdicts(&items) {
        let decision = Decision {
            verdict: Some(verdict),
            note: "a \"note\"".into(),
            first_at: "2026-11-30T10:00:00Z".into(),
            updated_at: "2026-11-30T10:00:05Z".into(),
            ..Decision::blank(&items[at])
        };
        let mut row = ReviewRow::new("set", &items[at].id, &hand("ana"), &decision);
        row.facts = facts(question, &pools, &found[at]);
        assert_eq!(row.clone().parts().unwrap(), (hand("ana"), decision));
        rows.push(row);
    }
    let mut text = Vec::new();
    write_jsonl(&rows, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for (line, row) in text.lines().zip(&rows) {
        let back = read_row(line).unwrap();
        assert_eq!(back.parts(), row.clone().parts());
    }
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["in_dataset"], true);
    assert_eq!(first["question"], question.text);
    assert_eq!(first["answer"], items[0].content.texts().1);
    // Every column of a row is in both forms, in the same order.
    let mut csv = Vec::new();
    write_csv(&rows, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(header, keys);
    assert!(csv.contains(",'=1+1,"), "no formula: {csv}");
    for (line, expected) in [
        ("[1]", "is missing"),
        ("{", "no JSON object"),
        ("{\"version\": 7}", "version 7"),
        ("{\"version\": 1, \"item_kind\": \"edit\"}", "no decision"),
    ] {
        let said = read_row(line).unwrap_err();
        assert!(said.contains(expected), "{said}");
    }
    let why = |change: fn(&mut ReviewRow)| {
        let mut row = rows[3].clone();
        change(&mut row);
        row.parts().unwrap_err()
    };
    assert!(why(|row| row.item = "x".into()).contains("24 hexadecimal digits"));
    assert!(why(|row| row.kind = "guess".into()).contains("\"guess\""));
    assert!(why(|row| row.reason = None).contains("expected one of wrong"));
    assert!(why(|row| row.decision = Some("edited".into())).contains("nothing says into what"));
    assert!(why(|row| row.decision = Some("burnt".into())).contains("\"burnt\""));
}
