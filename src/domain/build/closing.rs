//! What came of a stage, in words: how many items were asked for, what became of them, and why some are missing.

use crate::domain::build::{Stage, StageReport, by_reason};
use crate::domain::text::{count, one_line, short, shortened};

/// Reasons that are named.
const NAMED: usize = 3;
/// The most characters of a reason.
const LONGEST: usize = 160;

/// How many items were asked for, and what became of them.
pub fn outcome(stage: Stage, report: &StageReport) -> String {
    let kept = report.made();
    let asked = report.asked();
    let how = [
        (report.repaired(), "after a repair"),
        (report.flawed(), "with a flaw"),
        (report.stayed(), "from before"),
    ];
    let how: Vec<String> = how
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{number} {words}"))
        .collect();
    let how = match how.is_empty() {
        true => String::new(),
        false => format!(" ({})", how.join(", ")),
    };
    let head = match stage {
        Stage::Topics => format!("asked for the topics of {}", count(asked, "question")),
        Stage::Retrieve => return found(report),
        Stage::SubQuestions => format!("asked for {}", count(asked, "sub-question")),
        Stage::Adversarial => format!("asked for {}", count(asked, "adversarial edit")),
    };
    let kept = match kept {
        0 => "none kept".to_owned(),
        _ if kept == asked => format!("all kept{how}"),
        _ => format!("{kept} kept{how}"),
    };
    let text = listed(
        format!("{head}: {kept}"),
        &[
            (report.dropped(), "dropped"),
            (report.failed(), "without a reply"),
        ],
    );
    match report.nothing() {
        0 => text,
        number => format!("{text}; nothing to make for {}", count(number, "question")),
    }
}

/// What a search has found: what it asks for are questions, what it makes are documents.
fn found(report: &StageReport) -> String {
    let all = report.questions.len();
    let with = report.questions.iter().filter(|(_, own)| own.made > 0);
    let documents = match report.stayed() {
        0 => count(report.made(), "document"),
        old => format!("{} ({old} from before)", count(report.made(), "document")),
    };
    let found = match with.count() {
        0 => "no document found".to_owned(),
        _ if report.fresh() == 0 => format!(
            "no document found, {} from before",
            count(report.made(), "document")
        ),
        with if with == all => format!("{documents} found, some for each"),
        with => format!("{documents} found, for {with} of them"),
    };
    // A question that was dropped is one without documents.
    let pages = report.losses(|one| &one.dropped);
    let pages = pages.filter(|(_, loss)| !loss.item.is_empty()).count();
    listed(
        format!("searched for {}: {found}", count(all, "question")),
        &[
            (
                pages,
                if pages == 1 {
                    "page dropped"
                } else {
                    "pages dropped"
                },
            ),
            (report.failed(), "without a reply"),
            (
                report.skipped(),
                if report.skipped() == 1 {
                    "page not read"
                } else {
                    "pages not read"
                },
            ),
        ],
    )
}

/// A text with those numbers that are not 0 behind it.
fn listed(mut text: String, numbers: &[(usize, &str)]) -> String {
    for (number, words) in numbers.iter().filter(|(number, _)| *number > 0) {
        text += &format!(", {number} {words}");
    }
    text
}

/// Why items are missing: the most frequent reasons, what differs between items left open; `None` where none is missing.
pub fn reasons(report: &StageReport) -> Option<String> {
    let nothings = report.nothings();
    let dropped = report.losses(|one| &one.dropped);
    let lost = dropped.chain(report.losses(|one| &one.failed));
    // Where something failed, that is why the rest stays.
    let lost = lost.chain(report.losses(|one| match one.failed.is_empty() {
        true => &one.stayed,
        false => &[],
    }));
    let groups = by_reason(lost.chain(nothings.iter().map(|(id, loss)| (*id, loss))));
    let named: Vec<String> = groups
        .iter()
        .take(NAMED)
        .map(|(reason, losses)| {
            let reason = shortened(&one_line(reason), LONGEST);
            format!("{} × {reason}", losses.len())
        })
        .collect();
    let rest: usize = groups.iter().skip(NAMED).map(|(_, all)| all.len()).sum();
    match (named.is_empty(), rest) {
        (true, _) => None,
        (false, 0) => Some(named.join("; ")),
        (false, rest) => Some(format!("{}; {rest} × something else", named.join("; "))),
    }
}

/// What a stage means for a later one that has been through: items of it that went, and that are to be made.
pub fn of_later(stage: Stage, gone: usize, due: usize) -> String {
    let noun = stage.noun();
    let mut said = Vec::new();
    if gone > 0 {
        let verb = if gone == 1 { "it rests" } else { "they rest" };
        said.push(format!(
            "{} went, since what {verb} on has changed",
            count(gone, noun)
        ));
    }
    match (stage, due) {
        (_, 0) => {}
        (Stage::Retrieve, due) => said.push(format!(
            "documents of {} are to be looked for anew",
            count(due, "question")
        )),
        (_, 1) => said.push(format!("1 {noun} is to be made")),
        (_, due) => said.push(format!("{} are to be made", count(due, noun))),
    }
    let then = match due {
        0 => String::new(),
        _ => format!(" (`medrgb build {}`)", stage.name()),
    };
    format!("{}: {}{then}", stage.words(), said.join("; "))
}

/// What is said of questions that read differently than when their items were made: `gone` are the records of the old
/// text by stage, `file` keeps them.
pub fn of_changed(questions: usize, gone: &[(Stage, usize)], file: &str) -> String {
    let head = match questions {
        1 => "1 question changed since it was built; its items are made again".to_owned(),
        more => {
            format!("{more} questions changed since they were built; their items are made again")
        }
    };
    let old: Vec<String> = gone
        .iter()
        .map(|(stage, number)| count(*number, stage.noun()))
        .collect();
    match old.is_empty() {
        true => head,
        false => format!(
            "{head} (of the old text, kept in {file}: {})",
            old.join(", ")
        ),
    }
}

/// Questions that are named.
const EXAMPLES: usize = 3;

/// What is said of questions of a folder that are not among those that were given; `file` holds its questions.
pub fn of_not_given(ids: &[String], file: &str) -> String {
    let named: Vec<String> = ids.iter().take(EXAMPLES).map(|id| short(id)).collect();
    let more = match ids.len().saturating_sub(EXAMPLES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (stay, lines) = match ids.len() {
        1 => (
            "is not in the questions that were given and stays",
            "its line",
        ),
        _ => (
            "are not in the questions that were given and stay",
            "their lines",
        ),
    };
    format!(
        "{} of the folder {stay} with what was made: {}{more}. To drop, take {lines} out of {file} and run `medrgb build all` again, which asks nothing twice",
        count(ids.len(), "question"),
        named.join(", ")
    )
}

/// What is said where people have decided about items of a text that has changed.
pub fn of_reviewed(items: usize, reviewers: &[String]) -> String {
    let verb = if items == 1 { "was" } else { "were" };
    format!(
        "{items} of these items {verb} decided by {}; what is made otherwise now is undecided, but where a model makes the very same again of the same document, the decision counts for it. `medrgb build review export` writes the decisions",
        reviewers.join(", ")
    )
}

/// What is said where nothing came of a stage; `rest` are the stages that were not run for that.
pub fn nothing_kept(stage: Stage, report: &StageReport, rest: &[Stage]) -> String {
    let mut text = format!(
        "nothing came of the stage {}: {}",
        stage.name(),
        outcome(stage, report)
    );
    if report.stayed() > 0 && stage != Stage::Retrieve {
        text += ". What was made before stays";
    }
    if let Some(reasons) = reasons(report) {
        text += &format!(". Why: {reasons}");
    }
    if !rest.is_empty() {
        let names: Vec<&str> = rest.iter().map(|stage| stage.name()).collect();
        text += &format!(". Not run, for want of it: {}", names.join(", "));
    }
    text
}

/// What can be done about a stage of which nothing came: one sentence.
pub fn remedy(stage: Stage, report: &StageReport) -> &'static str {
    match (stage, report.failed() > 0 && report.dropped() == 0) {
        (_, true) => "What got no reply is asked again the next time",
        (Stage::Retrieve, _) => {
            "Look whether the search topics (topics.json) are good ones and the index or the web holds documents about them"
        }
        _ => {
            "The same model would get the same replies from the ledger; another model, other prompts or more repairs ask anew"
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::build::QuestionReport;

    #[test]
    fn what_a_stage_means_for_a_later_one_is_said() {
        assert_eq!(
            of_later(Stage::Adversarial, 3, 1),
            "adversarial edits: 3 adversarial edits went, since what they rest on has changed; 1 adversarial edit is to be made (`medrgb build counterfactual`)"
        );
        assert_eq!(
            of_later(Stage::SubQuestions, 1, 0),
            "sub-questions: 1 sub-question went, since what it rests on has changed"
        );
    }

    #[test]
    fn changed_questions_and_what_was_decided_about_them_are_said() {
        let gone = [(Stage::SubQuestions, 2), (Stage::Adversarial, 1)];
        assert_eq!(
            of_changed(2, &gone, "set-aside.jsonl"),
            "2 questions changed since they were built; their items are made again (of the old text, kept in set-aside.jsonl: 2 sub-questions, 1 adversarial edit)"
        );
        assert_eq!(
            of_changed(1, &[], "set-aside.jsonl"),
            "1 question changed since it was built; its items are made again"
        );
        let names = ["anna".to_owned(), "ben".to_owned()];
        assert_eq!(
            of_reviewed(3, &names),
            "3 of these items were decided by anna, ben; what is made otherwise now is undecided, but where a model makes the very same again of the same document, the decision counts for it. `medrgb build review export` writes the decisions"
        );
    }

    #[test]
    fn what_stays_from_before_is_counted_apart() {
        let mut own = QuestionReport::default();
        own.fail("topic", "the search can't be reached");
        own.stay("a", "the search can't be reached", "");
        let some = report(&[own]);
        assert_eq!(
            outcome(Stage::Retrieve, &some),
            "searched for 1 question: no document found, 1 document from before, 1 without a reply"
        );
        assert_eq!(reasons(&some).unwrap(), "1 × the search can't be reached");
    }

    fn report(of: &[QuestionReport]) -> StageReport {
        let questions = of.iter().cloned().enumerate();
        StageReport {
            questions: questions.map(|(at, own)| (format!("q{at}"), own)).collect(),
        }
    }

    #[test]
    fn every_item_that_was_asked_for_is_accounted_for() {
        let mut own = QuestionReport::default();
        own.keep("a", 1, "");
        own.keep("b", 0, "long");
        own.drop("c", "the answer \"iron\" does not stand in the document");
        own.drop("d", "the answer \"zinc\" does not stand in the document");
        own.fail("e", "no reply came within 6 s");
        let some = report(&[own]);
        assert_eq!(
            outcome(Stage::SubQuestions, &some),
            "asked for 5 sub-questions: 2 kept (1 after a repair, 1 with a flaw), 2 dropped, 1 without a reply"
        );
        assert_eq!(
            reasons(&some).unwrap(),
            "2 × the answer \"…\" does not stand in the document; 1 × no reply came within 6 s"
        );
        let mut all = QuestionReport::default();
        all.keep("", 0, "");
        let all = report(&[all]);
        assert_eq!(
            outcome(Stage::Topics, &all),
            "asked for the topics of 1 question: all kept"
        );
        assert_eq!(reasons(&all), None);
    }

    #[test]
    fn documents_are_counted_with_the_questions_that_have_some() {
        let mut none = QuestionReport::default();
        none.drop("", "no document was found");
        let some = QuestionReport {
            made: 3,
            ..QuestionReport::default()
        };
        assert_eq!(
            outcome(Stage::Retrieve, &report(&[some, none.clone()])),
            "searched for 2 questions: 3 documents found, for 1 of them"
        );
        let text = nothing_kept(Stage::Retrieve, &report(&[none]), &[Stage::SubQuestions]);
        assert_eq!(
            text,
            "nothing came of the stage retrieve: searched for 1 question: no document found. Why: 1 × no document was found. Not run, for want of it: subqa"
        );
    }

    #[test]
    fn a_remedy_fits_what_is_missing() {
        let mut silent = QuestionReport::default();
        silent.fail("a", "no reply came within 6 s");
        let asks_again = remedy(Stage::SubQuestions, &report(&[silent.clone()]));
        assert!(asks_again.contains("asked again"));
        silent.drop("b", "the reply holds no JSON object");
        assert!(remedy(Stage::SubQuestions, &report(&[silent])).contains("another model"));
    }
}
