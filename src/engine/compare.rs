//! Comparing two stored runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::data::store::{ReplyRecord, Store, StoreError, settings};
use crate::domain::compare::Observation;
use crate::domain::context::Context;
use crate::domain::question::Question;
use crate::domain::text::collapse;

/// A run as far as comparing needs it.
#[derive(Debug, Clone, Default)]
pub struct RunView {
    /// One observation per readable record, in stored order.
    pub observations: Vec<Observation>,
    /// Names of the models that were asked and are compared, sorted.
    pub models: BTreeSet<String>,
    /// Names of the models that were left out because another was named, sorted.
    pub other_models: BTreeSet<String>,
    /// Names of the judges whose scores are stored, sorted.
    pub judges: BTreeSet<String>,
    /// Records that can't be read.
    pub broken: usize,
    /// What is said beside the models' scores, sorted: replies of other programs have such a caution.
    pub cautions: BTreeSet<String>,
    /// Per observation a digest of its question's text, options and right answer.
    contents: Vec<u64>,
}

/// What became of questions whose datasets differ as wholes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Aligned {
    /// Questions that are the same in both runs, so that their replies are paired.
    pub same: usize,
    /// Questions of the same id with another text, other options or another right answer: never paired.
    pub different: usize,
}

impl RunView {
    /// A run by its stored scores; with `model` only what this model was asked.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't be read.
    pub fn of_run(store: &Store, run: &str, model: Option<&str>) -> Result<RunView, StoreError> {
        RunView::of_run_watched(store, run, model, &mut |_| {})
    }

    /// [`RunView::of_run`], which tells `read` how many records have been read.
    ///
    /// # Errors
    /// As [`RunView::of_run`].
    pub fn of_run_watched(
        store: &Store,
        run: &str,
        model: Option<&str>,
        read: &mut dyn FnMut(usize),
    ) -> Result<RunView, StoreError> {
        let mut view = RunView::default();
        let (mut after, mut seen) = (0, 0);
        loop {
            let page = store.page_of_run(run, after)?;
            let Some(last) = page.last else {
                return Ok(view);
            };
            after = last;
            view.broken += page.broken.len();
            seen += page.records.len() + page.broken.len();
            read(seen);
            for record in &page.records {
                match model.is_none_or(|model| record.model_name == model) {
                    true => view.add(record),
                    false => {
                        view.other_models.insert(record.model_name.clone());
                    }
                }
            }
        }
    }

    /// A run from records that are at hand, such as published ones.
    pub fn of_records<'a>(records: impl IntoIterator<Item = &'a ReplyRecord>) -> RunView {
        let mut view = RunView::default();
        for record in records {
            view.add(record);
        }
        view
    }

    fn add(&mut self, record: &ReplyRecord) {
        self.models.insert(record.model_name.clone());
        let scores = record.scores.as_ref();
        self.judges
            .extend(scores.and_then(|scores| scores.judge.clone()));
        self.cautions
            .extend(record.model["caution"].as_str().map(str::to_owned));
        self.contents.push(content(&record.question));
        let (settings, draw) = settings(&record.model, record.sampling.clone());
        self.observations.push(Observation {
            id: record.id,
            asker: format!("{} {settings}", record.model_name),
            draw,
            dataset: record.dataset_fingerprint.clone(),
            question: record.question.id.clone(),
            condition: record.condition,
            shown: shown(&record.context),
            counts: scores
                .filter(|scores| scores.outcome.is_reply())
                .map(|scores| scores.counts.clone()),
        });
    }
}

/// Brings the questions of two runs together whose datasets are not the same files: one may be imported with
/// documents, another without, or in another order. A question of `a` counts as one of `b` where the id, the text,
/// all options and the right answer are the same, and each run knows it from one dataset only. Whether the models
/// saw the same documents is another matter, and counted for every pair.
pub fn align(a: &mut RunView, b: &RunView) -> Aligned {
    let (renamed, aligned) = renamings(&a.questions(), &b.questions());
    for observation in &mut a.observations {
        let place = (observation.dataset.clone(), observation.question.clone());
        if let Some(name) = renamed.get(&place) {
            observation.dataset.clone_from(name);
        }
    }
    aligned
}

/// Question ids with the datasets that a run knows them from, and the question's content in each.
type Questions<'a> = BTreeMap<&'a str, BTreeMap<&'a str, u64>>;

/// Which dataset of `b` stands for which of `a`, by dataset and question.
fn renamings(
    in_a: &Questions<'_>,
    in_b: &Questions<'_>,
) -> (HashMap<(String, String), String>, Aligned) {
    let mut renamed = HashMap::new();
    let mut aligned = Aligned::default();
    for (id, datasets) in in_a {
        let Some(others) = in_b.get(id) else {
            continue;
        };
        // What both know from the same dataset is paired as it is.
        let (here, there) = (only_in(datasets, others), only_in(others, datasets));
        for (dataset, content) in &here {
            let same = |side: &[(String, u64)]| side.iter().filter(|one| one.1 == *content).count();
            let found = there.iter().find(|one| one.1 == *content);
            match found.filter(|_| same(&here) == 1 && same(&there) == 1) {
                Some((name, _)) => {
                    aligned.same += 1;
                    renamed.insert((dataset.clone(), (*id).to_owned()), name.clone());
                }
                None => aligned.different += usize::from(found.is_none() && !there.is_empty()),
            }
        }
    }
    (renamed, aligned)
}

/// The datasets that only `own` has.
fn only_in(own: &BTreeMap<&str, u64>, other: &BTreeMap<&str, u64>) -> Vec<(String, u64)> {
    own.iter()
        .filter(|(name, _)| !other.contains_key(*name))
        .map(|(name, content)| ((*name).to_owned(), *content))
        .collect()
}

impl RunView {
    /// Question ids with their datasets.
    fn questions(&self) -> Questions<'_> {
        let mut questions = Questions::new();
        for (observation, content) in self.observations.iter().zip(&self.contents) {
            questions
                .entry(&observation.question)
                .or_default()
                .insert(&observation.dataset, *content);
        }
        questions
    }
}

/// A digest of what makes a question this one; only compared within one process.
fn content(question: &Question) -> u64 {
    let mut hasher = DefaultHasher::new();
    collapse(&question.text).hash(&mut hasher);
    for choice in &question.options {
        (choice.letter, collapse(&choice.text)).hash(&mut hasher);
    }
    question.answer.hash(&mut hasher);
    hasher.finish()
}

/// A digest of what the model saw of the documents; only compared within one process.
fn shown(context: &Context) -> u64 {
    let mut hasher = DefaultHasher::new();
    for document in &context.documents {
        (&document.label, &document.title, &document.content).hash(&mut hasher);
    }
    for sub in &context.sub_questions {
        sub.question.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::domain::question::Choice;

    fn question(id: &str, text: &str, answer: char) -> Question {
        Question {
            id: id.into(),
            text: text.into(),
            options: [('A', "x"), ('B', "y")]
                .map(|(letter, text)| Choice {
                    letter,
                    text: text.into(),
                })
                .to_vec(),
            answer,
            extra: Map::new(),
        }
    }

    fn known<'a>(questions: &'a [(&'a str, Question)]) -> Questions<'a> {
        let mut known = Questions::new();
        for (dataset, question) in questions {
            let datasets = known.entry(&question.id).or_default();
            datasets.insert(dataset, content(question));
        }
        known
    }

    #[test]
    fn the_same_question_of_different_datasets_is_one() {
        let a = [
            ("f", question("same", "Q?", 'A')),
            ("f", question("spaced", "Q  of\nold?", 'A')),
            ("f", question("text", "Q?", 'A')),
            ("f", question("gold", "Q?", 'A')),
            ("f", question("only-a", "Q?", 'A')),
            ("both", question("shared", "Q?", 'A')),
            // The same question known from two datasets: which of them is meant can't be told.
            ("f", question("twice", "Q?", 'A')),
            ("g", question("twice", "Q?", 'A')),
        ];
        let b = [
            ("h", question("same", "Q?", 'A')),
            ("h", question("spaced", "Q of old?", 'A')),
            ("h", question("text", "Another?", 'A')),
            ("h", question("gold", "Q?", 'B')),
            ("both", question("shared", "Q?", 'A')),
            ("h", question("shared", "Q?", 'A')),
            ("h", question("twice", "Q?", 'A')),
        ];
        let (renamed, aligned) = renamings(&known(&a), &known(&b));
        let expected = Aligned {
            same: 2,
            different: 2,
        };
        assert_eq!(aligned, expected);
        let place = |id: &str| ("f".to_owned(), id.to_owned());
        let mut places: Vec<_> = renamed.into_iter().collect();
        places.sort();
        assert_eq!(
            places,
            [
                (place("same"), "h".to_owned()),
                (place("spaced"), "h".to_owned())
            ]
        );
    }
}
