//! The real files, where this machine has them.

use medrgb::data::dataset::Dataset;
use medrgb::data::import::Kind;
use medrgb::data::predictions::{read_predictions, read_questions};
use medrgb::domain::answer::Outcome;
use medrgb::domain::definition::{Definition, read, standard_shape};

use super::{House, run, shared};

#[test]
fn mirage_is_read_whole() {
    let Some(folder) = shared("mirage") else {
        return;
    };
    let house = House::new();
    let mut request = house.request(None, &[&folder.join("benchmark.json.gz")]);
    request.out = Some(house.path("mirage"));
    let report = run(&request).unwrap();
    assert_eq!(
        (report.kind, report.bad),
        (Kind::Mirage, 0),
        "{:?}",
        report.problems
    );
    for (name, questions) in [
        ("mmlu", 1089),
        ("medqa", 1273),
        ("pubmedqa", 500),
        ("bioasq", 618),
    ] {
        let set = report.sets.iter().find(|set| set.name == name).unwrap();
        assert_eq!(set.counts.questions, questions, "{name}");
        let dataset = Dataset::open(&set.folder).unwrap();
        assert_eq!(dataset.problems, Vec::<String>::new());
        let own = read_questions(&folder.join("benchmark.json.gz"), Some(name)).unwrap();
        assert_eq!(dataset.questions, own);
    }
}

#[test]
fn mirage_predictions_are_scored_as_score_does() {
    let Some(folder) = shared("mirage") else {
        return;
    };
    let house = House::new();
    let benchmark = folder.join("benchmark.json.gz");
    let predictions = folder.join("predictions/bioasq.gpt-3.5.cot.jsonl");
    let mut request = house.request(None, &[&benchmark, &predictions]);
    request.run = Some("cot".into());
    let report = run(&request).unwrap();
    assert_eq!(
        (report.runs[0].replies, report.bad),
        (618, 0),
        "{:?}",
        report.problems
    );
    let questions = read_questions(&benchmark, Some("bioasq")).unwrap();
    let mut right = 0;
    read_predictions(&predictions, &mut |_, prediction| {
        let question = questions
            .iter()
            .find(|question| question.id == prediction.id)
            .unwrap();
        let reading = read(
            Definition::Paper,
            prediction.response.as_deref(),
            &standard_shape(question),
        );
        right += usize::from(reading.answer == Some(question.answer));
        Ok(())
    })
    .unwrap();
    let records = house.records("cot");
    let scored = |record: &&medrgb::data::store::ReplyRecord| {
        record.scores.as_ref().unwrap().main_correct == Some(true)
    };
    assert_eq!(records.iter().filter(scored).count(), right);
    let answered = |record: &&medrgb::data::store::ReplyRecord| {
        record.parsed.as_ref().unwrap().outcome == Outcome::Answered
    };
    assert!(records.iter().filter(answered).count() * 100 > 618 * 95);
}

#[test]
fn rgb_gives_our_reading_of_it() {
    let (Some(file), Some(reading)) = (
        shared("rgb/en_fact.json"),
        shared("medrgb-format/rgb-en-fact"),
    ) else {
        return;
    };
    let house = House::new();
    let (report, dataset) = house.set(Kind::Rgb, &file);
    assert_eq!(report.bad, 0, "{:?}", report.problems);
    let counts = report.sets[0].counts;
    assert_eq!(
        (
            counts.questions,
            counts.documents,
            counts.sub_questions,
            counts.counterfactuals
        ),
        (100, 395, 395, 395)
    );
    let reading = Dataset::open(&reading).unwrap();
    for (own, other) in dataset.questions.iter().zip(&reading.questions) {
        assert_eq!(
            (&own.id, &own.text, &own.options, own.answer),
            (&other.id, &other.text, &other.options, other.answer)
        );
        let (own, other) = (dataset.pools(&own.id), reading.pools(&other.id));
        assert_eq!(own.signal, other.signal);
        assert_eq!(own.sub_questions, other.sub_questions);
        assert_eq!(own.counterfactuals, other.counterfactuals);
    }
}
