//! What a reply itself says about why it answers as it does.

use crate::domain::answer::ParsedReply;
use crate::domain::context::Context;
use crate::domain::probe::{Stance, citations, trace};
use crate::domain::question::Question;
use crate::domain::text::{count, one_line, shortened};

/// Characters of a planted claim that are quoted.
const CLAIM: usize = 60;

/// Planted claims that a reply repeats, documents that it calls wrong, and citations that do not hold, a few
/// words each. `original` is as in [`trace`].
pub fn reasons(
    question: &Question,
    context: &Context,
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
            format!("{}: {claim} {stance}{called}", planted.label)
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

/// Texts that a reply may repeat for other reasons than a document: the question and its options.
pub fn question_texts(question: &Question) -> Vec<&str> {
    let options = question.options.iter();
    std::iter::once(question.text.as_str())
        .chain(options.map(|option| option.text.as_str()))
        .collect()
}
