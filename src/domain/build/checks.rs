//! What is wrong with a sub-question, and with an adversarial version.

use crate::domain::build::{
    EditSize, Issue, IssueKind, MOST_ANSWER_WORDS, MOST_CHANGED, MOST_LENGTH_CHANGE, alike, leaked,
    why_not_alone,
};
use crate::domain::mention::{Searchable, is_telling};
use crate::domain::text::short;

/// What is wrong with a sub-question and its answer, given the document that it belongs to.
pub fn sub_question(title: &str, content: &str, question: &str, answer: &str) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut add = |kind, detail: String| issues.push(Issue::new(kind, detail));
    let wanted = Searchable::new(answer);
    let shown = short(answer);
    if !is_telling(answer) {
        add(
            IssueKind::AnswerSaysNothing,
            format!("the answer \"{shown}\" is no fact that stands in the document"),
        );
    } else if !Searchable::new(content).mentions(&wanted) {
        add(
            IssueKind::AnswerNotInDocument,
            format!("the answer \"{shown}\" does not stand in the document word for word"),
        );
    }
    let words = answer.split_whitespace().count();
    if words > MOST_ANSWER_WORDS {
        add(
            IssueKind::LongAnswer,
            format!("the answer has {words} words, but at most {MOST_ANSWER_WORDS} are wanted"),
        );
    }
    if let Some(why) = why_not_alone(question) {
        add(
            IssueKind::QuestionNotAlone,
            format!(
                "the sub-question \"{}\" can't be understood alone: {why}",
                short(question)
            ),
        );
    }
    if is_telling(answer) && Searchable::new(question).mentions(&wanted) {
        add(
            IssueKind::QuestionGivesAnswer,
            format!("the sub-question contains its answer \"{shown}\""),
        );
    }
    if is_telling(answer) && Searchable::new(title).mentions(&wanted) {
        add(
            IssueKind::AnswerInTitle,
            format!(
                "the document's title \"{}\" states the answer \"{shown}\"",
                short(title)
            ),
        );
    }
    issues
}

/// What is wrong with an adversarial version of a document: `truth` is the true answer to the document's
/// sub-question, `None` where it has none.
pub fn adversarial(original: &str, truth: Option<&str>, planted: &str, edited: &str) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut add = |kind, detail: String| issues.push(Issue::new(kind, detail));
    let (before, after) = (Searchable::new(original), Searchable::new(edited));
    let wrong = Searchable::new(planted);
    let shown = short(planted);
    if before == after {
        add(
            IssueKind::Unchanged,
            "the edited text is the same as the original".to_owned(),
        );
    }
    if is_telling(planted) && !after.mentions(&wrong) {
        add(
            IssueKind::PlantedMissing,
            format!("the edited text does not contain the wrong answer \"{shown}\" word for word"),
        );
    } else if is_telling(planted) && before.mentions(&wrong) && before != after {
        add(
            IssueKind::PlantedStoodBefore,
            format!("the wrong answer \"{shown}\" stands in the original too"),
        );
    }
    match truth {
        None => add(
            IssueKind::WithoutSubQuestion,
            "its document has no sub-question".to_owned(),
        ),
        Some(truth) => issues.extend(against_truth(truth, planted, &after)),
    }
    issues.extend(form(original, edited));
    issues
}

/// What is wrong between the planted and the true answer.
fn against_truth(truth: &str, planted: &str, after: &Searchable) -> Vec<Issue> {
    let (right, wrong) = (Searchable::new(truth), Searchable::new(planted));
    let (shown, true_shown) = (short(planted), short(truth));
    if let Some(why) = alike(truth, planted) {
        return vec![Issue::new(
            IssueKind::PlantedIsTrue,
            format!("the wrong answer \"{shown}\" means the same as the true one: {why}"),
        )];
    }
    let mut issues = Vec::new();
    if is_telling(truth) && after.mentions(&right) {
        issues.push(Issue::new(
            IssueKind::TrueAnswerLeft,
            format!("the edited text still contains the true answer \"{true_shown}\""),
        ));
    }
    if right.mentions(&wrong) {
        issues.push(Issue::new(
            IssueKind::PlantedOverlapsTrue,
            format!(
                "the wrong answer \"{shown}\" is a part of the true one \"{true_shown}\", so both may hold"
            ),
        ));
    }
    issues
}

/// What is wrong with the edit whatever it says.
fn form(original: &str, edited: &str) -> Vec<Issue> {
    let mut issues = Vec::new();
    if let Some(marker) = leaked(original, edited) {
        issues.push(Issue::new(
            IssueKind::LeakedMarker,
            format!("\"{marker}\" in the edited text gives the edit away"),
        ));
    }
    let ratio = EditSize::of(original, edited).ratio();
    if ratio > MOST_CHANGED {
        issues.push(Issue::new(
            IssueKind::LargeEdit,
            format!(
                "{:.1} % of the words are changed, but at most {:.0} % are wanted",
                ratio * 100.0,
                MOST_CHANGED * 100.0
            ),
        ));
    }
    let (before, after) = (original.chars().count(), edited.chars().count());
    let change = (after as f64 - before as f64) / before.max(1) as f64;
    if change.abs() > MOST_LENGTH_CHANGE {
        issues.push(Issue::new(
            IssueKind::LengthChanged,
            format!(
                "the edited text has {after} characters, the original {before}; the length should stay"
            ),
        ));
    }
    issues
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(issues: &[Issue]) -> Vec<IssueKind> {
        issues.iter().map(|issue| issue.kind).collect()
    }

    const TEXT: &str = "The liver stores vitamin A for months. It takes up retinol from the blood after a meal, and \
        gives it back when little is eaten. Stores last long in adults and shorter in small children.";

    #[test]
    fn a_good_sub_question_has_no_issue() {
        let asked = "Which vitamin does the liver store for months?";
        assert_eq!(sub_question("Liver", TEXT, asked, "Vitamin A"), []);
    }

    #[test]
    fn every_rule_for_sub_questions_is_seen() {
        let of = |title: &str, asked: &str, answer: &str| {
            kinds(&sub_question(title, TEXT, asked, answer))
        };
        let asked = "Which vitamin does the liver store?";
        assert_eq!(of("", asked, "vitamin K"), [IssueKind::AnswerNotInDocument]);
        assert_eq!(of("", asked, "yes"), [IssueKind::AnswerSaysNothing]);
        assert_eq!(
            of("", "What does it store?", "vitamin A"),
            [IssueKind::QuestionNotAlone]
        );
        assert_eq!(
            of("", "Does the liver store vitamin A?", "vitamin A"),
            [IssueKind::QuestionGivesAnswer]
        );
        assert_eq!(
            of("On vitamin A", asked, "vitamin A"),
            [IssueKind::AnswerInTitle]
        );
        let long = "It takes up retinol from the blood after a meal, and gives it back";
        assert_eq!(of("", asked, long), [IssueKind::LongAnswer]);
    }

    #[test]
    fn every_rule_for_adversarial_versions_is_seen() {
        let of = |planted: &str, edited: &str| {
            kinds(&adversarial(TEXT, Some("vitamin A"), planted, edited))
        };
        let good = TEXT.replace("vitamin A", "vitamin K");
        assert_eq!(of("vitamin K", &good), []);
        assert_eq!(
            of("vitamin K", TEXT),
            [
                IssueKind::Unchanged,
                IssueKind::PlantedMissing,
                IssueKind::TrueAnswerLeft
            ]
        );
        assert_eq!(
            of("vitamin K", &TEXT.replace("vitamin A", "zinc")),
            [IssueKind::PlantedMissing]
        );
        assert_eq!(
            of("Vitamin  A.", &good),
            [IssueKind::PlantedMissing, IssueKind::PlantedIsTrue]
        );
        assert_eq!(
            of("vitamin", &TEXT.replace("vitamin A", "a vitamin")),
            [
                IssueKind::PlantedStoodBefore,
                IssueKind::PlantedOverlapsTrue
            ]
        );
        assert_eq!(
            of("vitamin K", &good.replace("retinol", "retinol (edited)")),
            [IssueKind::LeakedMarker]
        );
        assert_eq!(
            of("zinc", "Zinc stays."),
            [IssueKind::LargeEdit, IssueKind::LengthChanged]
        );
        assert_eq!(
            kinds(&adversarial(TEXT, None, "vitamin K", &good)),
            [IssueKind::WithoutSubQuestion]
        );
    }
}
