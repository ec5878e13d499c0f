//! Composition over real sets: every rule, for every question.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::PathBuf;

use medrgb::data::dataset::Dataset;
use medrgb::domain::context::{
    Condition, Context, Mode, Scenario, SourceFilter, compose, signal_count,
};
use medrgb::domain::passage::Role;
use medrgb::domain::question::Question;
use medrgb::domain::text::document_key;

/// A set of the shared data, or `None` with a loud message.
fn shared_set(name: &str) -> Option<Dataset> {
    let root = std::env::var_os("MEDRGB_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let folder = root.join("data/medrgb-format").join(name);
    if !folder.is_dir() {
        // Not eprintln, which the test harness keeps to itself.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: {} is not there",
            folder.display()
        );
        return None;
    }
    let dataset = Dataset::open(&folder).unwrap();
    assert!(dataset.problems.is_empty(), "{:?}", dataset.problems);
    Some(dataset)
}

fn condition(scenario: Scenario, docs: usize, p: f64, mode: Mode) -> Condition {
    Condition {
        scenario,
        docs,
        p,
        seed: 0,
        mode,
        source: SourceFilter::Any,
    }
}

/// Documents of a question that robustness can use, by the definition: distinct texts, a sub-question and
/// an adversarial version.
fn eligible(dataset: &Dataset, question: &Question) -> usize {
    let pools = dataset.pools(&question.id);
    let mut texts = HashSet::new();
    pools
        .signal
        .iter()
        .filter(|d| pools.sub_questions.iter().any(|s| s.doc_id == d.id))
        .filter(|d| pools.counterfactuals.iter().any(|c| c.original_id == d.id))
        .filter(|d| texts.insert(document_key(&d.content)))
        .count()
}

fn of_role(context: &Context, role: Role) -> HashSet<&str> {
    context
        .documents
        .iter()
        .filter(|document| document.role == role)
        .map(|document| document.id.as_str())
        .collect()
}

/// The normalised form of every document's text, made once: normalising thousands of times takes minutes.
struct Keys(HashMap<String, String>);

impl Keys {
    fn new(dataset: &Dataset) -> Keys {
        let versions = dataset
            .questions
            .iter()
            .flat_map(|question| dataset.pools(&question.id).counterfactuals)
            .map(|version| &version.edited_document);
        let originals = dataset.documents().into_iter().map(|(d, _)| &d.content);
        Keys(
            originals
                .chain(versions)
                .map(|text| (text.clone(), document_key(text)))
                .collect(),
        )
    }

    fn of<'a>(&'a self, text: &str) -> &'a str {
        &self.0[text]
    }
}

/// Labels run from DOC_1; nothing repeats; counts are as said.
fn check_common(context: &Context, keys: &Keys) {
    let mut ids = HashSet::new();
    let mut texts = HashSet::new();
    for (at, document) in context.documents.iter().enumerate() {
        assert_eq!(document.label, format!("DOC_{}", at + 1));
        assert!(ids.insert(&document.id), "{} repeats", document.id);
        assert!(
            texts.insert(keys.of(&document.content)),
            "{} repeats a text",
            document.id
        );
        assert_eq!(
            document.original_id.is_some(),
            document.role == Role::Adversarial
        );
    }
    assert_eq!(context.docs, context.documents.len());
    assert_eq!(context.short, context.docs < context.docs_requested);
    let signal = of_role(context, Role::Signal).len() as f64;
    assert!((context.p - 100.0 * signal / context.docs as f64).abs() < 1e-9);
}

#[test]
fn robustness_follows_every_rule_on_a_real_set() {
    let Some(dataset) = shared_set("rgb-en-fact") else {
        return;
    };
    assert_eq!(dataset.questions.len(), 100);
    let keys = Keys::new(&dataset);
    for question in &dataset.questions {
        let pools = dataset.pools(&question.id);
        let eligible = eligible(&dataset, question);
        for mode in [Mode::Nested, Mode::Independent] {
            let mut before: Option<Context> = None;
            for p in 0..=100 {
                let asked = condition(Scenario::Robustness, 5, f64::from(p), mode);
                let context = compose(question, pools, &asked).unwrap();
                check_common(&context, &keys);
                let m = eligible.min(5);
                assert_eq!(context.docs, m, "{}", question.id);
                let original = signal_count(m, f64::from(p));
                assert_eq!(of_role(&context, Role::Signal).len(), original);
                assert_eq!(of_role(&context, Role::Adversarial).len(), m - original);
                assert_eq!(context.sub_questions.len(), m);
                for (document, sub) in context.documents.iter().zip(&context.sub_questions) {
                    let version = pools
                        .counterfactuals
                        .iter()
                        .find(|version| version.original_id == document.id)
                        .unwrap();
                    let gold = pools
                        .sub_questions
                        .iter()
                        .find(|gold| gold.doc_id == document.id)
                        .unwrap();
                    assert_eq!(sub.label, document.label);
                    assert_eq!(sub.answer, gold.answer);
                    if document.role == Role::Adversarial {
                        assert_eq!(document.content, version.edited_document);
                        assert_eq!(sub.planted.as_ref(), Some(&version.new_answer));
                    } else {
                        assert_eq!(sub.planted, None);
                    }
                }
                if let (Mode::Nested, Some(before)) = (mode, &before) {
                    for (a, b) in before.documents.iter().zip(&context.documents) {
                        assert_eq!(a.id, b.id, "a slot keeps its document");
                        assert!(a.role == b.role || b.role == Role::Signal);
                    }
                }
                before = Some(context);
            }
        }
    }
}

#[test]
fn sufficiency_and_integration_follow_every_rule_on_a_real_set() {
    let Some(dataset) = shared_set("bioasq") else {
        return;
    };
    assert_eq!(dataset.questions.len(), 618);
    let keys = Keys::new(&dataset);
    for question in &dataset.questions {
        let pools = dataset.pools(&question.id);
        let own_ids: HashSet<&str> = pools.signal.iter().map(|d| d.id.as_str()).collect();
        let own_texts: HashSet<&str> = pools.signal.iter().map(|d| keys.of(&d.content)).collect();
        for mode in [Mode::Nested, Mode::Independent] {
            for docs in [5, 20] {
                let mut before: Option<Context> = None;
                for p in [0.0, 20.0, 40.0, 60.0, 80.0, 100.0] {
                    let share = signal_count(docs, p);
                    let sufficiency = compose(
                        question,
                        pools,
                        &condition(Scenario::Sufficiency, docs, p, mode),
                    )
                    .unwrap();
                    check_common(&sufficiency, &keys);
                    let signal = of_role(&sufficiency, Role::Signal);
                    assert_eq!(signal.len(), share.min(own_texts.len()));
                    assert!(signal.is_subset(&own_ids));
                    let noise: Vec<_> = sufficiency
                        .documents
                        .iter()
                        .filter(|d| d.role == Role::Noise)
                        .collect();
                    assert_eq!(noise.len(), docs - share);
                    for document in noise {
                        assert!(!own_ids.contains(document.id.as_str()));
                        assert!(!own_texts.contains(keys.of(&document.content)));
                        let from = document.from_question.as_deref().unwrap();
                        assert!(
                            dataset
                                .pools(from)
                                .signal
                                .iter()
                                .any(|d| d.id == document.id)
                        );
                    }
                    let integration = compose(
                        question,
                        pools,
                        &condition(Scenario::Integration, docs, p, mode),
                    );
                    match (share, mode) {
                        (0, _) => assert!(integration.is_err()),
                        (_, Mode::Nested) => {
                            assert_eq!(integration.unwrap().documents, sufficiency.documents);
                        }
                        _ => check_common(&integration.unwrap(), &keys),
                    }
                    if let (Mode::Nested, Some(before)) = (mode, &before) {
                        assert!(of_role(before, Role::Signal).is_subset(&signal));
                        let noise = of_role(&sufficiency, Role::Noise);
                        assert!(noise.is_subset(&of_role(before, Role::Noise)));
                    }
                    before = Some(sufficiency);
                }
            }
        }
    }
}

#[test]
fn contexts_are_the_same_bytes_in_any_order_of_calls() {
    for name in ["rgb-en-fact", "bioasq"] {
        let Some(dataset) = shared_set(name) else {
            return;
        };
        let mut calls: Vec<(usize, Condition)> = Vec::new();
        for at in (0..dataset.questions.len()).step_by(7) {
            for scenario in Scenario::ALL {
                for mode in [Mode::Nested, Mode::Independent] {
                    for p in [20.0, 60.0] {
                        calls.push((at, condition(scenario, 5, p, mode)));
                    }
                }
            }
        }
        let run = |dataset: &Dataset, (at, condition): &(usize, Condition)| {
            let question = &dataset.questions[*at];
            let context = compose(question, dataset.pools(&question.id), condition);
            context.map_or_else(
                |error| error.to_string(),
                |context| serde_json::to_string(&context).unwrap(),
            )
        };
        let forward: Vec<String> = calls.iter().map(|call| run(&dataset, call)).collect();
        // Another loading of the files, and an order that jumps about: 7919 is prime to the number of calls.
        let again = shared_set(name).unwrap();
        assert_ne!(calls.len() % 7919, 0);
        for step in 0..calls.len() {
            let at = step * 7919 % calls.len();
            assert_eq!(run(&again, &calls[at]), forward[at]);
        }
    }
}
