//! What a reply itself says about why it answers as it does.

use crate::domain::answer::ParsedReply;
use crate::domain::context::{Context, ContextDocument};
use crate::domain::probe::{Stance, citations, trace};
use crate::domain::question::Question;
use crate::domain::text::{count, one_line, shortened};

/// Characters of a planted claim that are quoted.
const CLAIM: usize = 60;

/// Planted claims that a reply repeats, documents that it calls wrong, and citations that do not hold, a few
/// words each. Where `context` is a changed form of `composed`, a document that has another label there is named by both.
/// `original` is as in [`trace`].
pub fn reasons(
    question: &Question,
    (context, composed): (&Context, &Context),
    reply: &ParsedReply,
    original: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let found = trace(context, reply, original, &question_texts(question));
    let mut reasons: Vec<String> = found
        .planted
        .iter()
        .filter(|planted| planted.stance != Stance::Absent || planted.called_wrong == Some(true))
        .map(|planted| {
            let claim = match planted.planted.as_deref() {
                Some(claim) => format!("planted \"{}\"", shortened(&one_line(claim), CLAIM)),
                None => "edited text".to_owned(),
            };
            let called = match planted.called_wrong {
                Some(true) => "; its document is called wrong",
                Some(false) => "; its document is called correct",
                None => "",
            };
            let stance = planted.stance.describe();
            let label = label(&planted.label, context, composed);
            format!("{label}: {claim} {stance}{called}")
        })
        .collect();
    if found.partial {
        reasons.push("the reply ends before its answer".into());
    }
    let wrong = citations(context, reply).miscited();
    if wrong > 0 {
        let spans = count(wrong, "cited span");
        reasons.push(format!("{spans} not in the cited document"));
    }
    reasons
}

/// A label of a changed context: documents move up where one is left out, and change places in another order.
fn label(label: &str, context: &Context, composed: &Context) -> String {
    let here = context
        .documents
        .iter()
        .find(|document| document.label == label);
    let found = here.and_then(|here| {
        let same = |one: &&ContextDocument| one.id == here.id && one.role == here.role;
        composed.documents.iter().find(same)
    });
    match found {
        Some(composed) if composed.label != label => {
            format!("{} (here {label})", composed.label)
        }
        _ => label.to_owned(),
    }
}

/// Texts that a reply may repeat for other reasons than a document: the question and its options.
pub fn question_texts(question: &Question) -> Vec<&str> {
    let options = question.options.iter();
    std::iter::once(question.text.as_str())
        .chain(options.map(|option| option.text.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::context::left_out;
    use serde_json::json;

    #[test]
    fn documents_that_moved_up_are_named_by_the_label_of_the_list_too() {
        let document = |number: usize| {
            json!({"label": format!("DOC_{number}"), "id": format!("d{number}"), "role": "noise",
                "original_id": null, "source": null, "title": "", "content": format!("Text {number}.")})
        };
        let composed: Context = serde_json::from_value(json!({
            "question_id": "q", "scenario": "standard", "docs_requested": 3, "docs": 3, "p_requested": 0.0,
            "p": 0.0, "seed": 0, "mode": "nested", "short": false,
            "documents": [document(1), document(2), document(3)], "sub_questions": [],
        }))
        .unwrap();
        let without_first = &left_out(&composed)[0].context;
        assert_eq!(without_first.documents.len(), 2);
        assert_eq!(
            label("DOC_2", without_first, &composed),
            "DOC_3 (here DOC_2)"
        );
        assert_eq!(label("DOC_3", &composed, &composed), "DOC_3");
        let without_last = &left_out(&composed)[2].context;
        assert_eq!(label("DOC_2", without_last, &composed), "DOC_2");
        // What is not of the list keeps the label of its place.
        assert_eq!(label("DOC_1", &composed, without_first), "DOC_1");
    }
}
