//! Made-up instances on which a user's templates are tried out before they are used.

use crate::domain::context::{
    Context, ContextDocument, ContextSubQuestion, Mode, Scenario, SourceFilter,
};
use crate::domain::passage::Role;
use crate::domain::question::{Choice, Question};

/// Every scenario with a titled and an untitled document; standard also without documents, integration
/// also without sub-questions.
pub(super) fn instances() -> Vec<(Question, Context)> {
    let mut contexts: Vec<Context> = Scenario::ALL.map(|scenario| context(scenario, true)).into();
    contexts.push(context(Scenario::Standard, false));
    contexts.push(context(Scenario::Integration, false));
    contexts
        .into_iter()
        .map(|context| (question(), context))
        .collect()
}

/// A question with two options.
pub(super) fn question() -> Question {
    let option = |letter, text: &str| Choice {
        letter,
        text: text.into(),
    };
    Question {
        id: "probe".into(),
        text: "Which?".into(),
        options: vec![option('A', "this"), option('B', "that")],
        answer: 'A',
        extra: serde_json::Map::new(),
    }
}

/// `full`: with documents (standard) or with sub-questions (others).
fn context(scenario: Scenario, full: bool) -> Context {
    let with_documents = full || scenario != Scenario::Standard;
    let documents: Vec<ContextDocument> = ["", "A title"]
        .iter()
        .enumerate()
        .filter(|_| with_documents)
        .map(|(at, title)| document(at, title))
        .collect();
    let asks = matches!(scenario, Scenario::Integration | Scenario::Robustness);
    let sub_questions = documents
        .iter()
        .filter(|_| full && asks)
        .map(|document| ContextSubQuestion {
            question: "What?".into(),
            answer: "That.".into(),
            label: document.label.clone(),
            planted: None,
        })
        .collect();
    Context {
        question_id: "probe".into(),
        scenario,
        docs_requested: documents.len(),
        docs: documents.len(),
        p_requested: 100.0,
        p: 100.0,
        seed: 0,
        mode: Mode::Nested,
        source: SourceFilter::Any,
        short: false,
        variant: None,
        documents,
        sub_questions,
    }
}

fn document(at: usize, title: &str) -> ContextDocument {
    ContextDocument {
        label: format!("DOC_{}", at + 1),
        id: format!("probe-{at}"),
        role: Role::Signal,
        original_id: None,
        source: None,
        title: title.into(),
        content: "Text.".into(),
        from_question: None,
    }
}
