//! How far a reply has come: what of it can be judged, and the figures so far. What it has not reached is
//! neither right nor wrong.

use crate::domain::answer::Span;
use crate::domain::score::{Labelled, Metric, SubScore};
use crate::tui::app::reply::{ReplyState, Verdict};

/// Right ones and judged ones; nothing is judged where the second is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoFar {
    /// What counted.
    pub right: f64,
    /// Out of how many.
    pub judged: usize,
}

impl ReplyState {
    /// Whether something may be missing only because the reply still comes or was stopped.
    pub fn partial(&self) -> bool {
        let ended = self.scores.as_ref().map(|scores| scores.outcome);
        self.running() || ended.is_some_and(|outcome| !outcome.is_reply())
    }

    /// Whether it says something about the model: it came, and was not stopped before an answer.
    pub fn counts(&self) -> bool {
        self.verdict().is_some_and(Verdict::counts)
    }

    /// What stands for a part that is not there, in a word or two.
    pub fn missing_words(&self, left_out: &'static str) -> &'static str {
        match (self.running(), self.partial()) {
            (true, _) => "not yet",
            (false, true) => "not reached",
            (false, false) => left_out,
        }
    }

    /// Whether the list of relevant (true) or of irrelevant documents has come to its end.
    pub fn list_closed(&self, relevant: bool) -> bool {
        let place = self.parsed.as_ref().and_then(|parsed| {
            if relevant {
                parsed.sources.relevant
            } else {
                parsed.sources.irrelevant
            }
        });
        !self.partial() || place.is_some_and(|place| self.closed(place, ']'))
    }

    /// Whether a document's label can be judged: one in no list only once both lists have ended.
    pub fn document_reached(&self, said: Labelled) -> bool {
        said != Labelled::Neither || (self.list_closed(true) && self.list_closed(false))
    }

    /// Whether the answer to sub-question k can be judged: it has come to its end.
    pub fn sub_reached(&self, index: usize) -> bool {
        if !self.partial() {
            return true;
        }
        let Some(parsed) = &self.parsed else {
            return false;
        };
        let there = parsed.subs.get(index).is_some_and(Option::is_some);
        let place = parsed.sources.subs.get(index).copied().flatten();
        // Without a place (a reply in prose, an old record) nobody knows whether more follows.
        there && place.is_none_or(|place| self.closed(place, '}'))
    }

    /// Whether a part of the raw text is complete: it has its closing mark, or something follows it.
    fn closed(&self, place: Span, mark: char) -> bool {
        let ends = place.of(&self.raw).is_some_and(|text| text.ends_with(mark));
        let rest = self.raw.get(place.end..).unwrap_or_default();
        ends || !rest.trim().is_empty()
    }

    /// A figure over what can be judged already; `None` for metrics that need the whole reply.
    pub fn so_far(&self, metric: Metric) -> Option<SoFar> {
        let scores = self.scores.as_ref()?;
        let documents = || {
            let judged = scores.documents.iter();
            judged.filter(|row| self.document_reached(row.said))
        };
        let one = |fits: bool| f64::from(u8::from(fits));
        let subs = |applies: fn(&SubScore) -> bool, value: &dyn Fn(&SubScore) -> f64| {
            let rows = scores.subs.iter().enumerate();
            let reached = rows.filter(|(index, row)| self.sub_reached(*index) && applies(row));
            sum(reached.map(|(_, row)| value(row)))
        };
        Some(match metric {
            Metric::NoiseDetectionAccuracy => sum(documents().map(|row| one(row.right))),
            Metric::NoiseDetectionLabelled => {
                let labelled = documents().filter(|row| row.said != Labelled::Neither);
                sum(labelled.map(|row| one(row.right)))
            }
            Metric::SubExactMatch => subs(|_| true, &|row| one(row.exact)),
            Metric::SubTokenF1 => subs(|_| true, &|row| row.f1),
            Metric::AttributionAccuracy => subs(|_| true, &|row| one(row.attributed)),
            Metric::FactualErrorDetection => {
                subs(|_| true, &|row| one(row.verdict_right == Some(true)))
            }
            Metric::AdversarialRecall => subs(|row| row.planted.is_some(), &|row| {
                one(row.verdict == Some(false))
            }),
            Metric::FalseAlarmRate => subs(|row| row.planted.is_none(), &|row| {
                one(row.verdict == Some(false))
            }),
            Metric::MisinformationAdopted => {
                subs(|row| row.planted.is_some(), &|row| one(row.adopted))
            }
            _ => return None,
        })
    }
}

fn sum(values: impl Iterator<Item = f64>) -> SoFar {
    values.fold(
        SoFar {
            right: 0.0,
            judged: 0,
        },
        |so_far, value| SoFar {
            right: so_far.right + value,
            judged: so_far.judged + 1,
        },
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::data::dataset::Dataset;
    use crate::domain::context::{Condition, Scenario};
    use crate::domain::prompt::Templates;
    use crate::tui::app::Ticket;
    use crate::tui::app::instance::InstanceState;

    /// A reply of which this much has come.
    fn coming(scenario: Scenario, raw: &str) -> ReplyState {
        let dataset = Arc::new(Dataset::sample().unwrap());
        let condition = Condition {
            scenario,
            ..Condition::default()
        };
        let templates = Templates::default();
        let state = InstanceState::open(&dataset, &templates, 0, condition, false).unwrap();
        let context = state.context().unwrap().clone();
        let shape = crate::domain::prompt::reply_shape(&state.question, &context);
        let question = state.question.clone();
        let mut reply = ReplyState::asked(Ticket(1), question, context, shape, "m", Duration::ZERO);
        reply.add_text(raw, Duration::ZERO);
        reply.refresh();
        reply
    }

    fn labels(raw: &str) -> (bool, bool, SoFar) {
        let reply = coming(Scenario::Sufficiency, raw);
        let so_far = reply.so_far(Metric::NoiseDetectionAccuracy).unwrap();
        (reply.list_closed(true), reply.list_closed(false), so_far)
    }

    #[test]
    fn nothing_is_judged_before_it_is_said() {
        let (relevant, irrelevant, so_far) = labels("{\"relevant_doc_id\": [");
        assert!(!relevant && !irrelevant);
        assert_eq!(so_far.judged, 0);
        let (relevant, irrelevant, so_far) =
            labels("{\"relevant_doc_id\": [\"DOC_1\", \"DOC_2\"], \"irrelevant_doc_id\": [");
        assert!(relevant && !irrelevant);
        assert_eq!(so_far.judged, 2);
    }

    #[test]
    fn two_empty_lists_are_judged_as_soon_as_they_are_closed() {
        for raw in [
            "{\"relevant_doc_id\": [], \"irrelevant_doc_id\": []",
            "{\"relevant_doc_id\": [], \"irrelevant_doc_id\": [], \"step_by_step_thinking\": \"I",
        ] {
            let (relevant, irrelevant, so_far) = labels(raw);
            assert!(relevant && irrelevant, "{raw}");
            assert_eq!((so_far.right, so_far.judged), (0.0, 5), "{raw}");
        }
    }

    #[test]
    fn a_sub_answer_is_judged_at_its_end() {
        let first = "{\"sub_1\": {\"relevant_doc_id\": \"DOC_1\", \"factual_correctness\": true, \"answer\": \"hea";
        let reply = coming(Scenario::Robustness, first);
        assert!(reply.parsed.as_ref().unwrap().subs[0].is_some());
        assert_eq!(reply.so_far(Metric::SubExactMatch).unwrap().judged, 0);
        let reply = coming(Scenario::Robustness, &format!("{first}rt\"}}"));
        assert_eq!(reply.so_far(Metric::SubExactMatch).unwrap().judged, 1);
        let found = reply.so_far(Metric::AdversarialRecall).unwrap().judged
            + reply.so_far(Metric::FalseAlarmRate).unwrap().judged;
        assert_eq!(found, 1);
    }
}
