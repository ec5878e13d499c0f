//! Reading replies: never fails, repairs what can be repaired, notes every repair, never guesses.

mod choice;
mod corrections;
mod documents;
mod evidence;
mod fields;
mod judgement;
mod letters;
mod marked;
mod meant;
#[cfg(test)]
mod mended_tests;
mod names;
mod objects;
mod options;
mod phrases;
#[cfg(test)]
mod phrasing_tests;
mod prose;
mod qualified;
mod reader;
#[cfg(test)]
mod round_trip_tests;
mod scan;
mod statements;
mod subs;
mod targets;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod time_tests;
mod tokens;
mod verdict;

use serde::{Deserialize, Serialize};

use crate::domain::context::Scenario;
use fields::Fields;
use options::Options;
use scan::Scan;
use verdict::{Verdict, absent, decide, nowhere, without_answer};

pub use evidence::{Evidence, Rule, Sources, Span};
pub use judgement::read_judgement;
pub use objects::{ReplyObject, objects};
pub use subs::echoes_another;

/// What a reply must look like and which names it may use: known before the call, needed to force a
/// grammar and to read the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyShape {
    /// Which test.
    pub scenario: Scenario,
    /// Labels of the context's documents, in order.
    pub labels: Vec<String>,
    /// The dataset's ids of the same documents, in the same order.
    pub ids: Vec<String>,
    /// Option letters and texts.
    pub options: Vec<(char, String)>,
    /// Sub-questions in the order asked.
    pub sub_questions: Vec<String>,
}

/// What became of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Chose exactly one offered option.
    Answered,
    /// Said that the information does not suffice.
    Insufficient,
    /// Declined to answer.
    Refused,
    /// Named several options as its answer.
    SeveralOptions,
    /// Named an option that is not offered, or none of them.
    NotOffered,
    /// Came, but no answer can be read from it.
    Unreadable,
    /// Stopped by the token limit before an answer.
    Truncated,
    /// The stream broke off before an answer.
    Interrupted,
    /// A provider's error message saved as a reply.
    ProviderError,
    /// Nothing but white space.
    Empty,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 10] = [
        Outcome::Answered,
        Outcome::Insufficient,
        Outcome::Refused,
        Outcome::SeveralOptions,
        Outcome::NotOffered,
        Outcome::Unreadable,
        Outcome::Truncated,
        Outcome::Interrupted,
        Outcome::ProviderError,
        Outcome::Empty,
    ];

    /// The outcome with this name.
    pub fn named(name: &str) -> Option<Outcome> {
        Outcome::ALL
            .into_iter()
            .find(|outcome| outcome.name() == name)
    }

    /// Whether this counts as a reply in rates (an unavailable one does not).
    pub fn is_reply(self) -> bool {
        !matches!(self, Outcome::Interrupted | Outcome::ProviderError)
    }

    /// Whether this is a reply from which no answer can be read: it counts as wrong, and its share is
    /// shown beside the rates.
    pub fn is_unreadable(self) -> bool {
        matches!(
            self,
            Outcome::Unreadable | Outcome::Truncated | Outcome::Empty
        )
    }

    /// The snake-case name used in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Answered => "answered",
            Outcome::Insufficient => "insufficient",
            Outcome::Refused => "refused",
            Outcome::SeveralOptions => "several_options",
            Outcome::NotOffered => "not_offered",
            Outcome::Unreadable => "unreadable",
            Outcome::Truncated => "truncated",
            Outcome::Interrupted => "interrupted",
            Outcome::ProviderError => "provider_error",
            Outcome::Empty => "empty",
        }
    }
}

/// How the transport ended, as far as it matters for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The model finished by itself.
    #[default]
    Complete,
    /// The token limit stopped it.
    Length,
    /// The stream broke off, or the user stopped it.
    Interrupted,
    /// Still running: for the live panels.
    Running,
}

/// A sub-answer (`sub_k`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SubAnswer {
    /// The echoed question.
    pub question: Option<String>,
    /// The short answer.
    pub answer: Option<String>,
    /// The named document's position in the context, 0-based, if it resolves.
    pub document: Option<usize>,
    /// What the reply called the document.
    pub document_raw: Option<String>,
    /// The verdict on the document (robustness): true means factually correct.
    pub factual: Option<bool>,
}

/// A reply as read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParsedReply {
    /// What became of it.
    pub outcome: Outcome,
    /// The chosen letter, only if [`Outcome::Answered`].
    pub answer: Option<char>,
    /// The reasoning text (`step_by_step_thinking`), plus a `<think>` block's text in `hidden`.
    pub reasoning: Option<String>,
    /// Text of `<think>` blocks.
    pub hidden: Option<String>,
    /// Positions (0-based) of documents called relevant, without duplicates.
    pub relevant: Vec<usize>,
    /// Positions of documents called irrelevant, without duplicates.
    pub irrelevant: Vec<usize>,
    /// Entry k answers sub-question k; `None` where it was skipped. As long as the shape's sub-questions.
    pub subs: Vec<Option<SubAnswer>>,
    /// Every repair and oddity, one short sentence each.
    pub notes: Vec<String>,
    /// Which rule decided the outcome, and the place in the raw reply; `None` only in records that are
    /// older than this field.
    #[serde(default)]
    pub evidence: Option<Evidence>,
    /// Where reasoning, lists and sub-answers stand in the raw reply.
    #[serde(default)]
    pub sources: Sources,
}

/// Reads a reply: never fails, repairs what can be repaired, notes every repair, never guesses.
///
/// `<think>` blocks go to `hidden` and are never searched for the answer. Of the objects in the rest the
/// last complete one counts; lists and sub-answers that it lacks come from an earlier one. Without an
/// answer field only a statement that commits to an answer is read. With [`Ending::Running`] lists,
/// sub-answers and reasoning are given as far as they have arrived, and the outcome is
/// [`Outcome::Unreadable`] until the answer field is complete.
///
/// Rules that the benchmark leaves open: in "B. text" the letter decides; "unknown" and "cannot be
/// determined" are insufficient information; "N/A", "none" and "not listed" are not offered; an empty
/// answer field is unreadable; an answer field that breaks off with the stream is no answer; a text that
/// ends inside an object or a hidden block before an answer is truncated, however the transport ended; text
/// after an object that commits to another option counts where it says that it corrects the object, and is
/// noted otherwise; sentences that commit to different options without one correcting the other are
/// several options; a wrong, earlier or merely possible answer is none, and the least likely one only where
/// the reply says that it is asked for.
pub fn parse(raw: &str, shape: &ReplyShape, ending: Ending) -> ParsedReply {
    if raw.trim().is_empty() {
        let outcome = without_answer(ending, Outcome::Empty);
        return ParsedReply {
            outcome,
            subs: vec![None; shape.sub_questions.len()],
            evidence: Some(nowhere(absent(outcome, Rule::EmptyReply), raw.len())),
            ..ParsedReply::blank()
        };
    }
    let scan = Scan::of(raw);
    let mut notes: Vec<String> = scan.notes.iter().map(|note| (*note).to_owned()).collect();
    let mut fields = Fields::gather(&scan, shape, ending, &mut notes);
    let options = Options::new(&shape.options);
    let verdict = decide(&scan, &fields, &options, ending, &mut notes);
    let Verdict {
        outcome, answer, ..
    } = verdict;
    if matches!(outcome, Outcome::Answered | Outcome::Insufficient) {
        match ending {
            Ending::Length => {
                notes.push("the token limit stopped the reply after its answer".into())
            }
            Ending::Interrupted => notes.push("the reply broke off after its answer".into()),
            Ending::Complete | Ending::Running => {}
        }
    }
    let reasoning = fields.reasoning.take();
    let reasoning = reasoning.or_else(|| prose_reasoning(&scan, answer.is_some(), ending));
    let sources = sources(&scan, &fields);
    ParsedReply {
        outcome,
        answer,
        reasoning,
        relevant: fields.relevant,
        irrelevant: fields.irrelevant,
        subs: fields.subs,
        notes,
        evidence: Some(within(raw, verdict.evidence)),
        sources: Sources {
            reasoning: sources.reasoning.map(|span| on_characters(raw, span)),
            relevant: sources.relevant.map(|span| on_characters(raw, span)),
            irrelevant: sources.irrelevant.map(|span| on_characters(raw, span)),
            subs: sources
                .subs
                .into_iter()
                .map(|span| span.map(|span| on_characters(raw, span)))
                .collect(),
        },
        hidden: scan.hidden,
    }
}

/// The prose outside of objects as the reasoning of a reply that has no field for it.
fn prose_reasoning(scan: &Scan<'_>, answered: bool, ending: Ending) -> Option<String> {
    let mut prose = scan.prose.text.trim();
    if ending == Ending::Running && scan.objects.is_empty() {
        // The beginning of an object whose first key has not arrived.
        prose = prose.split('{').next().unwrap_or_default().trim_end();
    }
    let only_answer = scan.objects.is_empty() && answered && prose.len() < 80;
    (!prose.is_empty() && !only_answer).then(|| prose.to_owned())
}

/// The places of the parts, in the raw reply.
fn sources(scan: &Scan<'_>, fields: &Fields) -> Sources {
    let raw = |span: Option<Span>| span.map(|span| scan.raw(span));
    Sources {
        reasoning: raw(fields.sources.reasoning),
        relevant: raw(fields.sources.relevant),
        irrelevant: raw(fields.sources.irrelevant),
        subs: fields.sources.subs.iter().map(|span| raw(*span)).collect(),
    }
}

/// A range on character boundaries of the raw reply.
fn on_characters(raw: &str, span: Span) -> Span {
    let start = raw.floor_char_boundary(span.start);
    let end = raw.ceil_char_boundary(span.end.max(start));
    Span { start, end }
}

fn within(raw: &str, evidence: Evidence) -> Evidence {
    let Span { start, end } = on_characters(raw, evidence.span());
    Evidence {
        start,
        end,
        ..evidence
    }
}

impl ParsedReply {
    /// A reply of which nothing could be read.
    fn blank() -> ParsedReply {
        ParsedReply {
            outcome: Outcome::Unreadable,
            answer: None,
            reasoning: None,
            hidden: None,
            relevant: Vec::new(),
            irrelevant: Vec::new(),
            subs: Vec::new(),
            notes: Vec::new(),
            evidence: None,
            sources: Sources::default(),
        }
    }
}
