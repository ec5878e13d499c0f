//! State of the list of questions.

use std::collections::HashMap;
use std::rc::Rc;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::data::dataset::Dataset;
use crate::data::store::Brief;
use crate::domain::annotation::Book;
use crate::tui::app::Ticket;
use crate::tui::app::facet::{Case, Cases, FacetKind, Facets, case_of, verdict_of, without_reply};
use crate::tui::app::input::Input;
use crate::tui::app::reply::{LastReply, Verdict};
use crate::tui::widgets::line::one_line;

/// A question as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Cleaned id.
    pub id: String,
    /// Cleaned text on one line.
    pub text: String,
    /// The `dataset` (or `source_dataset`, `subset`) field of the file, if there is one.
    pub part: String,
    /// Signal documents, sub-questions, adversarial documents.
    pub counts: (usize, usize, usize),
}

/// What is stored about a dataset: its replies, and what one annotator said of them.
#[derive(Debug, Default)]
pub struct StoredCases {
    /// The replies, oldest first.
    pub briefs: Vec<Brief>,
    /// The annotator's books by run.
    pub books: HashMap<String, Book>,
}

/// Whether the facets know the stored replies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CasesState {
    /// Not asked for.
    #[default]
    None,
    /// Being read.
    Loading(Ticket),
    /// Could not be read: one sentence.
    Failed(String),
    /// Known.
    Ready,
}

/// The list of questions.
#[derive(Debug, Default)]
pub struct Browse {
    /// All questions in file order.
    pub entries: Vec<Entry>,
    /// Positions of those that pass the filter, in file order or by fit.
    pub shown: Vec<usize>,
    /// Which of `shown` is chosen.
    pub selected: usize,
    /// First visible row.
    pub top: usize,
    /// The filter.
    pub filter: Input,
    /// Whether keys go to the filter.
    pub typing: bool,
    /// Last stored outcome per question id; with a run, its last outcome there.
    pub outcomes: HashMap<String, LastReply>,
    /// The run whose outcomes are shown; `None`: the newest of all runs.
    pub run: Option<String>,
    /// What the list is narrowed to.
    pub facets: Facets,
    /// The values of every question for the facets: a case per stored reply, in the order of `entries`.
    pub cases: Vec<Vec<Rc<Case>>>,
    /// Whether `cases` knows the stored replies.
    pub cases_state: CasesState,
    /// Replies or annotations have changed since `cases` were read.
    pub cases_stale: bool,
    /// Position of the question that shall be chosen once the stored replies are known.
    pub wanted: Option<usize>,
}

impl Browse {
    /// The list for a dataset.
    pub fn load(&mut self, dataset: &Dataset) {
        self.entries = dataset
            .questions
            .iter()
            .map(|question| {
                let pools = dataset.pools(&question.id);
                let part = ["dataset", "source_dataset", "subset"]
                    .iter()
                    .find_map(|key| question.extra.get(*key)?.as_str())
                    .map(one_line)
                    .unwrap_or_default();
                Entry {
                    id: one_line(&question.id),
                    text: one_line(&question.text),
                    part,
                    counts: (
                        pools.signal.len(),
                        pools.sub_questions.len(),
                        pools.counterfactuals.len(),
                    ),
                }
            })
            .collect();
        self.cases_state = CasesState::None;
        self.put_cases(dataset, &StoredCases::default());
    }

    /// Takes in what is stored about the questions.
    pub fn put_cases(&mut self, dataset: &Dataset, stored: &StoredCases) {
        let mut of_question: HashMap<&str, Vec<&Brief>> = HashMap::new();
        for brief in &stored.briefs {
            of_question
                .entry(&*brief.question.id)
                .or_default()
                .push(brief);
        }
        if self.run.is_some() {
            let newest = |briefs: &Vec<&Brief>| {
                LastReply::of(briefs.iter().rev().map(|brief| Verdict::of_brief(brief)))
            };
            let outcomes = of_question
                .iter()
                .filter_map(|(id, briefs)| Some(((*id).to_owned(), newest(briefs)?)));
            self.outcomes = outcomes.collect();
        }
        let rows = dataset.questions.iter().zip(&self.entries);
        let mut shared = Cases::default();
        self.cases = rows
            .map(|(question, entry)| {
                let set = (!entry.part.is_empty()).then(|| (FacetKind::Set, entry.part.clone()));
                let Some(briefs) = of_question.get(question.id.as_str()) else {
                    let case = set.into_iter().chain([without_reply()]);
                    return vec![shared.share(case.collect())];
                };
                let case = |brief: &&Brief| {
                    let book = stored.books.get(&*brief.run);
                    let said = book.and_then(|book| book.get(brief.reply_id.as_deref()?));
                    let mut case = case_of(brief, said);
                    case.retain(|(kind, _)| *kind != FacetKind::Set);
                    case.extend(set.clone());
                    shared.share(case)
                };
                briefs.iter().map(case).collect()
            })
            .collect();
        self.refilter();
    }

    /// Applies the filter; the chosen question stays chosen where it still passes.
    pub fn refilter(&mut self) {
        let chosen = self.current();
        let needle = self.filter.text().trim();
        self.shown = if needle.is_empty() {
            (0..self.entries.len()).collect()
        } else {
            matching(&self.entries, needle)
        };
        if !self.facets.is_empty() {
            let admitted = |index: &usize| {
                let cases = self.cases.get(*index);
                cases.is_some_and(|cases| self.facets.admit(cases))
            };
            self.shown.retain(admitted);
        }
        let still = chosen.and_then(|index| self.shown.iter().position(|&shown| shown == index));
        self.selected = if needle.is_empty() {
            still.unwrap_or(0)
        } else {
            0
        };
    }

    /// What the list says of the question at a position: what came of its last reply, of those that pass the
    /// facets.
    pub fn last(&self, index: usize, question_id: &str) -> Option<LastReply> {
        if self.facets.is_empty() {
            return self.outcomes.get(question_id).copied();
        }
        let cases = self.cases.get(index)?;
        LastReply::of(self.facets.passing(cases).rev().filter_map(verdict_of))
    }

    /// Position of the chosen question in the dataset.
    pub fn current(&self) -> Option<usize> {
        self.shown.get(self.selected).copied()
    }

    /// Chooses the question at this position of the dataset, if it is shown.
    pub fn choose(&mut self, index: usize) {
        if let Some(row) = self.shown.iter().position(|&shown| shown == index) {
            self.selected = row;
        }
    }
}

/// Positions of the entries that match, best first; equal ones in file order.
fn matching(entries: &[Entry], needle: &str) -> Vec<usize> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(needle, CaseMatching::Smart, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut found: Vec<(u32, usize)> = entries
        .iter()
        .enumerate()
        .filter_map(|(index, entry)| {
            let whole = format!("{} {} {}", entry.id, entry.part, entry.text);
            let score = pattern.score(Utf32Str::new(&whole, &mut buffer), &mut matcher)?;
            Some((score, index))
        })
        .collect();
    found.sort_by_key(|&(score, index)| (std::cmp::Reverse(score), index));
    found.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn browse(texts: &[&str]) -> Browse {
        let entries = texts
            .iter()
            .enumerate()
            .map(|(index, text)| Entry {
                id: format!("q{index}"),
                text: (*text).to_owned(),
                part: String::new(),
                counts: (0, 0, 0),
            })
            .collect();
        let mut browse = Browse {
            entries,
            ..Browse::default()
        };
        browse.refilter();
        browse
    }

    #[test]
    fn the_filter_narrows_and_the_choice_survives_clearing_it() {
        let mut list = browse(&["human milk", "gut flora", "breast milk bacteria"]);
        list.filter = Input::new("milk bact");
        list.refilter();
        assert_eq!(list.shown, [2]);
        assert_eq!(list.current(), Some(2));
        list.filter = Input::default();
        list.refilter();
        assert_eq!(list.shown.len(), 3);
        assert_eq!(list.current(), Some(2));
    }

    #[test]
    fn the_list_shows_the_reply_for_which_a_question_passes() {
        let case = |scenario: &str, outcome: &str| {
            vec![
                (FacetKind::Scenario, scenario.to_owned()),
                (FacetKind::Outcome, outcome.to_owned()),
            ]
            .into()
        };
        let mut list = browse(&["answered three times"]);
        list.cases = vec![vec![
            case("robustness", "wrong"),
            case("sufficiency", "insufficient"),
            case("standard", "right"),
        ]];
        let last = |verdict| LastReply {
            verdict,
            later_try: false,
        };
        list.outcomes.insert("q".into(), last(Verdict::Right));
        assert_eq!(list.last(0, "q"), Some(last(Verdict::Right)));
        list.facets.toggle(FacetKind::Outcome, "wrong");
        assert_eq!(list.last(0, "q"), Some(last(Verdict::Wrong)));
        list.facets.toggle(FacetKind::Scenario, "sufficiency");
        assert_eq!(list.last(0, "q"), None, "no reply passes");
        list.facets.toggle(FacetKind::Outcome, "wrong");
        assert_eq!(list.last(0, "q"), Some(last(Verdict::Insufficient)));
    }

    #[test]
    fn nothing_matches_is_no_choice() {
        let mut list = browse(&["a"]);
        list.filter = Input::new("zzz");
        list.refilter();
        assert_eq!(list.current(), None);
    }
}
