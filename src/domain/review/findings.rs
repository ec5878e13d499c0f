//! What the checks of `build` find in the items of a question, as they are by what was decided so far.

use std::collections::HashMap;

use crate::domain::build::{Issue, IssueKind, adversarial, sub_question};
use crate::domain::context::Pools;
use crate::domain::passage::Document;
use crate::domain::question::Question;
use crate::domain::review::{Content, Item, ItemKind, Verdict, items};
use crate::domain::text::{document_key, short};

/// An item with what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The item.
    pub item: Item,
    /// What the checks find.
    pub issues: Vec<Issue>,
}

/// The items of a question with what the checks find in each: as edited, where it was edited; beside what else is
/// there, where something was rejected. A rejected item is looked at as it stands in the dataset.
pub fn findings<'a>(
    question: &Question,
    pools: &Pools<'_>,
    decided: impl Fn(&Item) -> Option<&'a Verdict>,
) -> Vec<Found> {
    let items = items(question, pools);
    let states: Vec<Option<Content>> = items
        .iter()
        .map(|item| match decided(item) {
            None => Some(item.content.clone()),
            Some(verdict) => verdict.content(&item.content).cloned(),
        })
        .collect();
    let around = Around {
        items: &items,
        states: &states,
    };
    let issues: Vec<Vec<Issue>> = items
        .iter()
        .zip(&states)
        .map(|(item, state)| {
            let document = pools.signal.iter().find(|one| one.id == item.doc_id);
            let content = state.as_ref().unwrap_or(&item.content);
            document.map_or_else(Vec::new, |document| around.issues(item, content, document))
        })
        .collect();
    let pairs = items.into_iter().zip(issues);
    pairs.map(|(item, issues)| Found { item, issues }).collect()
}

/// The items of a question as they are now.
struct Around<'a> {
    items: &'a [Item],
    /// What each says; `None` where it was rejected.
    states: &'a [Option<Content>],
}

impl Around<'_> {
    fn issues(&self, item: &Item, content: &Content, document: &Document) -> Vec<Issue> {
        match content {
            Content::SubQuestion { question, answer } => {
                let mut issues = sub_question(&document.title, &document.content, question, answer);
                // A title matters only where an adversarial text stands below it.
                let matters = self.present(&item.doc_id, ItemKind::Edit).next().is_some();
                issues.retain(|issue| matters || issue.kind != IssueKind::AnswerInTitle);
                issues.extend(self.repeated(item, question));
                issues
            }
            Content::Edit { planted, text } => {
                let truth = self.present(&item.doc_id, ItemKind::SubQuestion).next();
                let truth = truth.map(|content| content.texts().1);
                adversarial(&document.content, truth, planted, text)
            }
        }
    }

    /// The items of a kind that a document has now.
    fn present(&self, doc_id: &str, kind: ItemKind) -> impl Iterator<Item = &Content> {
        let all = self.items.iter().zip(self.states);
        all.filter(move |(item, _)| item.doc_id == doc_id && item.kind() == kind)
            .filter_map(|(_, state)| state.as_ref())
    }

    /// Whether another document is asked the same before.
    fn repeated(&self, item: &Item, question: &str) -> Option<Issue> {
        let mut asked: HashMap<String, &str> = HashMap::new();
        for (other, state) in self.items.iter().zip(self.states) {
            if other.kind() == ItemKind::SubQuestion
                && other.at < item.at
                && let Some(state) = state
            {
                asked.insert(document_key(state.texts().0), &other.doc_id);
            }
        }
        let first = asked.get(&document_key(question))?;
        Some(Issue {
            kind: IssueKind::RepeatedSubQuestion,
            detail: format!("the same sub-question is asked of {}", short(first)),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::review::Reason;
    use crate::domain::review::tests::small;

    fn kinds(found: &[Found], at: usize) -> Vec<IssueKind> {
        found[at].issues.iter().map(|issue| issue.kind).collect()
    }

    #[test]
    fn an_edited_item_is_checked_as_a_built_one() {
        let small = small();
        let clean = findings(&small.question, &small.pools(), |_| None);
        assert!(clean.iter().all(|one| one.issues.is_empty()), "{clean:?}");
        let bad = Verdict::Edited(Content::SubQuestion {
            question: "Where is it kept?".into(),
            answer: "the pancreas".into(),
        });
        let edited = |item: &Item| {
            (item.doc_id == "d1" && item.kind() == ItemKind::SubQuestion).then_some(&bad)
        };
        let found = findings(&small.question, &small.pools(), edited);
        assert_eq!(
            kinds(&found, 0),
            [IssueKind::AnswerNotInDocument, IssueKind::QuestionNotAlone]
        );
        // What is planted must contradict the answer that is true now.
        let same = Verdict::Edited(Content::SubQuestion {
            question: "Where does the iron of mammals lie?".into(),
            answer: "spleen".into(),
        });
        let edited = |item: &Item| {
            (item.doc_id == "d1" && item.kind() == ItemKind::SubQuestion).then_some(&same)
        };
        let found = findings(&small.question, &small.pools(), edited);
        assert_eq!(kinds(&found, 1), [IssueKind::PlantedIsTrue]);
    }

    #[test]
    fn what_is_rejected_is_missed_by_what_hangs_on_it() {
        let mut small = small();
        small.subs[1].question = small.subs[0].question.clone();
        let found = findings(&small.question, &small.pools(), |_| None);
        assert_eq!(kinds(&found, 2), [IssueKind::RepeatedSubQuestion]);
        let out = Verdict::Rejected {
            reason: Reason::Ambiguous,
            words: String::new(),
        };
        let rejected =
            |item: &Item| (item.at == 0 && item.kind() == ItemKind::SubQuestion).then_some(&out);
        let found = findings(&small.question, &small.pools(), rejected);
        assert_eq!(kinds(&found, 1), [IssueKind::WithoutSubQuestion]);
        assert!(kinds(&found, 2).is_empty(), "asked once now");
    }
}
