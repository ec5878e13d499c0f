//! Facets: what a list can be narrowed by, with counts. Values of one facet are alternatives, facets add up.
//!
//! A row of a list has one or more cases: a question has one per stored reply, so that "wrong" and
//! "robustness" must hold of the same reply.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use crate::data::store::Brief;
use crate::domain::annotation::Annotation;
use crate::domain::build::IssueKind;
use crate::domain::context::Scenario;
use crate::domain::review::{Found, ItemKind, Verdict as Decided};
use crate::tui::app::reply::Verdict;
use crate::tui::widgets::line::one_line;

/// What a list can be narrowed by, in the order in which facets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FacetKind {
    /// The set that a question belongs to.
    Set,
    /// What was asked for.
    Scenario,
    /// The outcome of the reply.
    Outcome,
    /// Whether a planted answer was repeated.
    Misinformation,
    /// The model.
    Model,
    /// How far the annotator is with it.
    Annotated,
    /// The annotator's labels.
    Label,
    /// What an item of a benchmark is.
    Item,
    /// What the checks find in it.
    Finding,
    /// What the reviewer decided about it.
    Decision,
}

impl FacetKind {
    /// All of them.
    pub const ALL: [FacetKind; 10] = [
        FacetKind::Set,
        FacetKind::Scenario,
        FacetKind::Outcome,
        FacetKind::Misinformation,
        FacetKind::Model,
        FacetKind::Annotated,
        FacetKind::Label,
        FacetKind::Item,
        FacetKind::Finding,
        FacetKind::Decision,
    ];

    /// Its title on screen.
    pub fn title(self) -> &'static str {
        match self {
            FacetKind::Set => "set",
            FacetKind::Scenario => "scenario",
            FacetKind::Outcome => "outcome of the reply",
            FacetKind::Misinformation => "misinformation",
            FacetKind::Model => "model",
            FacetKind::Annotated => "annotated by you",
            FacetKind::Label => "your labels",
            FacetKind::Item => "kind of item",
            FacetKind::Finding => "what the checks find",
            FacetKind::Decision => "decided by you",
        }
    }

    /// Whether its values say what a reply came to, or whether documents were edited.
    pub fn tells_outcomes(self) -> bool {
        matches!(self, FacetKind::Outcome | FacetKind::Misinformation)
    }

    /// Its name in stored choices.
    fn name(self) -> &'static str {
        match self {
            FacetKind::Set => "set",
            FacetKind::Scenario => "scenario",
            FacetKind::Outcome => "outcome",
            FacetKind::Misinformation => "misinformation",
            FacetKind::Model => "model",
            FacetKind::Annotated => "annotated",
            FacetKind::Label => "label",
            FacetKind::Item => "item",
            FacetKind::Finding => "finding",
            FacetKind::Decision => "decision",
        }
    }

    /// Where a value stands among the others; values without a place come behind, by name.
    fn place(self, value: &str) -> usize {
        let among = |values: &[&str]| values.iter().position(|one| *one == value);
        match self {
            FacetKind::Scenario => among(&Scenario::ALL.map(Scenario::name)),
            FacetKind::Outcome => among(&Verdict::ALL.map(|verdict| verdict.words().1)),
            FacetKind::Misinformation => among(&MISINFORMATION),
            FacetKind::Annotated => among(&ANNOTATED),
            FacetKind::Item => among(&ItemKind::ALL.map(ItemKind::noun)),
            FacetKind::Finding => among(&IssueKind::ALL.map(IssueKind::single)),
            FacetKind::Decision => among(&DECIDED),
            _ => None,
        }
        .unwrap_or(usize::MAX)
    }
}

/// What a reply did with planted answers.
const MISINFORMATION: [&str; 3] = ["adopted", "not adopted", "none planted"];

/// How far an annotator is with a reply.
const ANNOTATED: [&str; 4] = ["done", "begun", "not yet", "no reply"];

/// How far a reviewer is with an item.
const DECIDED: [&str; 4] = ["undecided", "accepted", "edited", "rejected"];

/// The value of an item in which the checks find nothing.
const CLEAN: &str = "nothing";

/// The values of an item with what the reviewer decided about it.
pub fn case_of_item(found: &Found, verdict: Option<&Decided>) -> Case {
    let mut case = vec![
        (FacetKind::Item, found.item.kind().noun().to_owned()),
        (
            FacetKind::Decision,
            DECIDED[verdict.map_or(0, |verdict| verdict.place() + 1)].to_owned(),
        ),
    ];
    match found.issues.is_empty() {
        true => case.push((FacetKind::Finding, CLEAN.to_owned())),
        false => {
            let kinds: BTreeSet<IssueKind> = found.issues.iter().map(|issue| issue.kind).collect();
            let values = kinds.into_iter().map(|kind| kind.single().to_owned());
            case.extend(values.map(|value| (FacetKind::Finding, value)));
        }
    }
    case
}

/// The values of one case.
pub type Case = Vec<(FacetKind, String)>;

/// The values of a stored reply with what the annotator said of it.
pub fn case_of(brief: &Brief, annotation: Option<&Annotation>) -> Case {
    let said = annotation.filter(|annotation| !annotation.is_blank());
    let progress = match said {
        Some(annotation) if annotation.done => ANNOTATED[0],
        Some(_) => ANNOTATED[1],
        None => ANNOTATED[2],
    };
    let mut case = vec![
        (
            FacetKind::Scenario,
            brief.condition.scenario.name().to_owned(),
        ),
        (
            FacetKind::Outcome,
            Verdict::of_brief(brief).words().1.to_owned(),
        ),
        (
            FacetKind::Misinformation,
            MISINFORMATION[misinformation(brief)].to_owned(),
        ),
        (FacetKind::Model, one_line(&brief.model_name)),
        (FacetKind::Annotated, progress.to_owned()),
    ];
    if let Some(set) = brief
        .question
        .set
        .as_deref()
        .map(one_line)
        .filter(|set| !set.is_empty())
    {
        case.push((FacetKind::Set, set));
    }
    let labels = said.into_iter().flat_map(|annotation| &annotation.labels);
    case.extend(labels.map(|label| (FacetKind::Label, label.clone())));
    case
}

/// The place of what a reply did with planted answers among [`MISINFORMATION`].
fn misinformation(brief: &Brief) -> usize {
    match brief.adopted {
        (_, 0) => 2,
        (0, _) => 1,
        _ => 0,
    }
}

/// What decides the case of a reply of which nothing was said: model and set by where their names lie, since replies that
/// are read together share them.
type Unsaid = (Scenario, Verdict, usize, *const str, Option<*const str>);

/// The cases of many replies, each in memory once: a run of a hundred thousand replies has some dozens.
#[derive(Debug, Default)]
pub struct Cases {
    alike: HashMap<Case, Rc<Case>>,
    /// Valid as long as the replies live of which cases are taken.
    unsaid: HashMap<Unsaid, Rc<Case>>,
}

impl Cases {
    /// The values of a stored reply with what the annotator said of it, shared.
    pub fn of(&mut self, brief: &Brief, annotation: Option<&Annotation>) -> Rc<Case> {
        if annotation.is_some() {
            return self.share(case_of(brief, annotation));
        }
        let key = (
            brief.condition.scenario,
            Verdict::of_brief(brief),
            misinformation(brief),
            Arc::as_ptr(&brief.model_name),
            brief.question.set.as_ref().map(Arc::as_ptr),
        );
        if let Some(known) = self.unsaid.get(&key) {
            return known.clone();
        }
        let case = self.share(case_of(brief, None));
        self.unsaid.insert(key, case.clone());
        case
    }

    /// A case, shared.
    pub fn share(&mut self, case: Case) -> Rc<Case> {
        if let Some(known) = self.alike.get(&case) {
            return known.clone();
        }
        let shared = Rc::new(case.clone());
        self.alike.insert(case, shared.clone());
        shared
    }
}

/// What came of the reply of a case; `None` where there is no reply.
pub fn verdict_of(case: &Case) -> Option<Verdict> {
    let (_, word) = case.iter().find(|(kind, _)| *kind == FacetKind::Outcome)?;
    let mut verdicts = Verdict::ALL.into_iter();
    verdicts.find(|verdict| verdict.words().1 == word)
}

/// The value of a question without a stored reply.
pub fn without_reply() -> (FacetKind, String) {
    (FacetKind::Annotated, ANNOTATED[3].to_owned())
}

/// What was chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facets {
    chosen: BTreeMap<FacetKind, BTreeSet<String>>,
}

/// A value as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetValue {
    /// Its facet.
    pub kind: FacetKind,
    /// The value.
    pub value: String,
    /// Rows that the list would have with this value, as far as the other facets are.
    pub count: usize,
    /// Whether it is chosen.
    pub chosen: bool,
}

impl Facets {
    /// Whether nothing is chosen.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// Chooses a value, or no longer.
    pub fn toggle(&mut self, kind: FacetKind, value: &str) {
        let values = self.chosen.entry(kind).or_default();
        if !values.remove(value) {
            values.insert(value.to_owned());
        }
        if values.is_empty() {
            self.chosen.remove(&kind);
        }
    }

    /// Chooses nothing.
    pub fn clear(&mut self) {
        self.chosen.clear();
    }

    /// The same without what a reply came to.
    pub fn without_outcomes(&self) -> Facets {
        let chosen = self.chosen.iter();
        let chosen = chosen.filter(|(kind, _)| !kind.tells_outcomes());
        Facets {
            chosen: chosen
                .map(|(kind, values)| (*kind, values.clone()))
                .collect(),
        }
    }

    /// Whether a row with these cases passes.
    pub fn admit<C: Borrow<Case>>(&self, cases: &[C]) -> bool {
        cases.iter().any(|case| self.fits(case.borrow(), None))
    }

    /// Those of the cases that pass, in their order.
    pub fn passing<'a, C: Borrow<Case>>(
        &'a self,
        cases: &'a [C],
    ) -> impl DoubleEndedIterator<Item = &'a Case> + 'a {
        let cases = cases.iter().map(Borrow::<Case>::borrow);
        cases.filter(move |case| self.fits(case, None))
    }

    /// Whether a case has a chosen value of every facet, `except` left aside.
    fn fits(&self, case: &Case, except: Option<FacetKind>) -> bool {
        self.chosen
            .iter()
            .filter(|(kind, _)| Some(**kind) != except)
            .all(|(kind, values)| {
                case.iter()
                    .any(|(of, value)| of == kind && values.contains(value))
            })
    }

    /// All values of these rows with their counts; facets with a single value that is not chosen are left out,
    /// since they narrow nothing. A value that is chosen stays, even where no row has it. With each row comes how
    /// many there are of it.
    pub fn values<'a, C: Borrow<Case> + 'a>(
        &self,
        rows: impl Iterator<Item = (&'a [C], usize)>,
    ) -> Vec<FacetValue> {
        let mut counts: BTreeMap<(FacetKind, String), usize> = BTreeMap::new();
        for (kind, values) in &self.chosen {
            for value in values {
                counts.insert((*kind, value.clone()), 0);
            }
        }
        for (cases, rows) in rows {
            // A row counts once for a value, however many of its cases have it.
            let mut seen: BTreeSet<&(FacetKind, String)> = BTreeSet::new();
            for case in cases.iter().map(Borrow::<Case>::borrow) {
                for value in case {
                    if !counts.contains_key(value) {
                        counts.insert(value.clone(), 0);
                    }
                    if self.fits(case, Some(value.0)) {
                        seen.insert(value);
                    }
                }
            }
            for value in seen {
                if let Some(count) = counts.get_mut(value) {
                    *count += rows;
                }
            }
        }
        let mut values: Vec<FacetValue> = counts
            .into_iter()
            .map(|((kind, value), count)| FacetValue {
                chosen: self.has(kind, &value),
                kind,
                value,
                count,
            })
            .collect();
        let several = |kind: FacetKind, all: &[FacetValue]| {
            all.iter().filter(|one| one.kind == kind).count() > 1
                || all.iter().any(|one| one.kind == kind && one.chosen)
        };
        let kept: Vec<bool> = values
            .iter()
            .map(|one| several(one.kind, &values))
            .collect();
        let mut kept = kept.into_iter();
        values.retain(|_| kept.next().unwrap_or(true));
        values.sort_by_key(|one| (one.kind, one.kind.place(&one.value), one.value.clone()));
        values
    }

    /// Whether a value is chosen.
    pub fn has(&self, kind: FacetKind, value: &str) -> bool {
        self.chosen
            .get(&kind)
            .is_some_and(|values| values.contains(value))
    }

    /// What is chosen, in words; `name` gives a label's name.
    pub fn words(&self, name: impl Fn(&str) -> String) -> String {
        let facets: Vec<String> = self
            .chosen
            .iter()
            .map(|(kind, values)| {
                let values: Vec<String> = values
                    .iter()
                    .map(|value| match kind {
                        FacetKind::Misinformation if value != MISINFORMATION[2] => {
                            format!("misinformation {value}")
                        }
                        FacetKind::Annotated => format!("annotated: {value}"),
                        FacetKind::Finding if value == CLEAN => {
                            "the checks find nothing".to_owned()
                        }
                        FacetKind::Label => name(value),
                        _ => value.clone(),
                    })
                    .collect();
                values.join(" or ")
            })
            .collect();
        facets.join(" · ")
    }

    /// The choice as JSON, to be remembered.
    pub fn to_json(&self) -> String {
        let named: BTreeMap<&str, &BTreeSet<String>> = self
            .chosen
            .iter()
            .map(|(kind, values)| (kind.name(), values))
            .collect();
        serde_json::to_string(&named).unwrap_or_default()
    }

    /// A remembered choice; what is unknown in it is left out.
    pub fn from_json(text: &str) -> Facets {
        let named: BTreeMap<String, BTreeSet<String>> =
            serde_json::from_str(text).unwrap_or_default();
        let chosen = named.into_iter().filter_map(|(name, values)| {
            let kind = FacetKind::ALL
                .into_iter()
                .find(|kind| kind.name() == name)?;
            (!values.is_empty()).then_some((kind, values))
        });
        Facets {
            chosen: chosen.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(values: &[(FacetKind, &str)]) -> Case {
        values
            .iter()
            .map(|(kind, value)| (*kind, (*value).to_owned()))
            .collect()
    }

    fn count(values: &[FacetValue], value: &str) -> Option<usize> {
        values
            .iter()
            .find(|one| one.value == value)
            .map(|one| one.count)
    }

    #[test]
    fn counts_say_how_many_rows_a_value_would_leave() {
        use FacetKind::{Outcome, Scenario};
        // The first question was answered twice.
        let rows = [
            vec![
                case(&[(Scenario, "sufficiency"), (Outcome, "right")]),
                case(&[(Scenario, "robustness"), (Outcome, "wrong")]),
            ],
            vec![case(&[(Scenario, "robustness"), (Outcome, "right")])],
            vec![case(&[(Scenario, "sufficiency"), (Outcome, "wrong")])],
        ];
        let all = || rows.iter().map(|row| (row.as_slice(), 1));
        let mut facets = Facets::default();
        let values = facets.values(all());
        assert_eq!(count(&values, "robustness"), Some(2));
        assert_eq!(count(&values, "wrong"), Some(2));
        assert_eq!(values[0].value, "sufficiency", "in the paper's order");
        facets.toggle(Scenario, "robustness");
        facets.toggle(Outcome, "wrong");
        // Only the first question was answered wrong in robustness; the third was elsewhere.
        let passing: Vec<bool> = rows.iter().map(|row| facets.admit(row)).collect();
        assert_eq!(passing, [true, false, false]);
        let values = facets.values(all());
        assert_eq!(
            count(&values, "right"),
            Some(1),
            "of the robustness replies"
        );
        assert_eq!(count(&values, "sufficiency"), Some(1), "of the wrong ones");
        facets.toggle(Scenario, "sufficiency");
        assert!(
            facets.admit(&rows[2]),
            "values of one facet are alternatives"
        );
        assert_eq!(Facets::from_json(&facets.to_json()), facets);
        facets.clear();
        assert!(facets.is_empty() && facets.admit(&rows[1]));
    }

    #[test]
    fn what_narrows_nothing_is_left_out_but_what_is_chosen_stays() {
        use FacetKind::{Model, Outcome};
        let rows = [
            vec![case(&[(Model, "m"), (Outcome, "right")])],
            vec![case(&[(Model, "m"), (Outcome, "wrong")])],
        ];
        let mut facets = Facets::default();
        let values = facets.values(rows.iter().map(|row| (row.as_slice(), 1)));
        assert_eq!(count(&values, "m"), None);
        facets.toggle(Model, "gone");
        let values = facets.values(rows.iter().map(|row| (row.as_slice(), 1)));
        assert_eq!(
            (count(&values, "gone"), count(&values, "m")),
            (Some(0), Some(2))
        );
        assert_eq!(
            Facets::from_json("{\"shape\": [\"round\"]}"),
            Facets::default()
        );
        assert_eq!(Facets::from_json("no json"), Facets::default());
    }
}
