//! What was found in one reply or in many, summed up in a few sentences.

use serde::Serialize;

use crate::domain::probe::citations::{Citations, Support};
use crate::domain::probe::trace::{Stance, Trace};
use crate::domain::text::count;

/// Sums of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Traced {
    /// Planted claims.
    pub claims: usize,
    /// Those given as the sub-answer: the numerator of "misinformation adopted".
    pub adopted: usize,
    /// Those contained in their sub-answer.
    pub contained: usize,
    /// Those repeated in the reasoning only.
    pub repeated: usize,
    /// Those only in answers to other sub-questions.
    pub elsewhere: usize,
    /// Those not in the reply.
    pub absent: usize,
    /// Their documents that are called wrong.
    pub called_wrong: usize,
    /// Those that are called correct.
    pub called_correct: usize,
    /// Those that get no verdict.
    pub no_verdict: usize,
    /// Documents whose original text is not known.
    pub original_unknown: usize,
    /// Replies that broke off or were cut off.
    pub partial: usize,
}

impl Traced {
    /// Sums up the traces of any number of replies.
    pub fn of<'a>(traces: impl IntoIterator<Item = &'a Trace>) -> Traced {
        let mut sum = Traced::default();
        for trace in traces {
            sum.claims += trace.planted.len();
            sum.adopted += trace.count(Stance::Adopted);
            sum.contained += trace.count(Stance::Contained);
            sum.repeated += trace.count(Stance::Repeated);
            sum.elsewhere += trace.count(Stance::Elsewhere);
            sum.absent += trace.count(Stance::Absent);
            sum.called_wrong += trace.verdicts(Some(true));
            sum.called_correct += trace.verdicts(Some(false));
            sum.no_verdict += trace.verdicts(None);
            let unknown = trace.planted.iter().filter(|one| !one.original_known);
            sum.original_unknown += unknown.count();
            sum.partial += usize::from(trace.partial);
        }
        sum
    }

    /// The finding in a few sentences.
    pub fn sentence(&self) -> String {
        if self.claims == 0 {
            return "The context has no adversarial document, so nothing was planted.".into();
        }
        let claims = listed([
            (
                self.adopted,
                "adopted (given as the sub-answer, as the score counts)",
            ),
            (self.contained, "contained in a longer sub-answer"),
            (self.repeated, "repeated in the reasoning"),
            (self.elsewhere, "only in answers to other sub-questions"),
            (self.absent, "not in the reply"),
        ]);
        let verdicts = listed([
            (self.called_wrong, "called wrong"),
            (self.called_correct, "called correct"),
            (self.no_verdict, "without a verdict"),
        ]);
        let claims_in_all = count(self.claims, "planted claim");
        let theirs = match self.claims {
            1 => "Its document",
            _ => "Their documents",
        };
        let mut said = format!("Of {claims_in_all}: {claims}. {theirs}: {verdicts}.");
        if self.original_unknown > 0 {
            said.push_str(&format!(
                " Edited wording was not looked for in {}: the original text is not known here.",
                count(self.original_unknown, "document")
            ));
        }
        said.push_str(&cut_short(self.partial));
        said
    }
}

/// Sums of audits of citations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Audited {
    /// Spans that the cited document contains.
    pub supported: usize,
    /// Spans of which it contains a part.
    pub partly: usize,
    /// Spans that stand elsewhere.
    pub elsewhere: usize,
    /// Spans without a citation.
    pub not_cited: usize,
    /// Spans that no document contains.
    pub nowhere: usize,
    /// Answers that can't be looked up.
    pub uncheckable: usize,
    /// Replies that broke off or were cut off.
    pub partial: usize,
}

impl Audited {
    /// Sums up the audits of any number of replies.
    pub fn of<'a>(audits: impl IntoIterator<Item = &'a Citations>) -> Audited {
        let mut sum = Audited::default();
        for audit in audits {
            sum.supported += audit.count(Support::Supported);
            sum.partly += audit.count(Support::Partly);
            sum.elsewhere += audit.count(Support::Elsewhere);
            sum.not_cited += audit.count(Support::NotCited);
            sum.nowhere += audit.count(Support::Nowhere);
            sum.uncheckable += audit.count(Support::Uncheckable);
            sum.partial += usize::from(audit.partial);
        }
        sum
    }

    /// The finding in a few sentences.
    pub fn sentence(&self) -> String {
        let checked = self.supported + self.partly + self.elsewhere + self.not_cited + self.nowhere;
        let mut said = match checked {
            0 => "The reply gives nothing whose source could be checked.".to_owned(),
            _ => format!(
                "Of {}: {}.",
                count(checked, "checked span"),
                listed([
                    (self.supported, "in the cited document"),
                    (self.partly, "in part there"),
                    (self.elsewhere, "elsewhere"),
                    (self.not_cited, "without a citation"),
                    (self.nowhere, "in no document in these words"),
                ])
            ),
        };
        said.push_str(&cut_short(self.partial));
        said
    }
}

/// "3 of this, 1 of that"; the first always stands, others where there are any.
fn listed<const N: usize>(parts: [(usize, &str); N]) -> String {
    let shown = parts.iter().enumerate();
    let shown: Vec<String> = shown
        .filter(|(at, (number, _))| *at == 0 || *number > 0)
        .map(|(_, (number, words))| format!("{number} {words}"))
        .collect();
    shown.join(", ")
}

fn cut_short(partial: usize) -> String {
    match partial {
        0 => String::new(),
        1 => " The reply ends before its answer, so what was to follow is not known.".into(),
        several => {
            format!(
                " {several} replies end before their answer, so what was to follow in them is not known."
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_name_what_there_is_and_always_what_matters_most() {
        let sum = Traced {
            claims: 5,
            contained: 3,
            absent: 2,
            called_wrong: 5,
            ..Traced::default()
        };
        assert_eq!(
            sum.sentence(),
            "Of 5 planted claims: 0 adopted (given as the sub-answer, as the score counts), 3 contained in a longer sub-answer, 2 not in the reply. Their documents: 5 called wrong."
        );
        let one = Traced {
            claims: 1,
            adopted: 1,
            no_verdict: 1,
            original_unknown: 1,
            partial: 1,
            ..Traced::default()
        };
        let said = one.sentence();
        assert!(
            said.contains("Its document: 0 called wrong, 1 without a verdict."),
            "{said}"
        );
        assert!(
            said.contains("not looked for in 1 document")
                && said.contains("ends before its answer"),
            "{said}"
        );
        assert!(
            Traced::default()
                .sentence()
                .contains("no adversarial document")
        );
        let audit = Audited {
            partly: 1,
            nowhere: 2,
            ..Audited::default()
        };
        assert_eq!(
            audit.sentence(),
            "Of 3 checked spans: 0 in the cited document, 1 in part there, 2 in no document in these words."
        );
        assert!(
            Audited::default()
                .sentence()
                .contains("nothing whose source")
        );
    }
}
