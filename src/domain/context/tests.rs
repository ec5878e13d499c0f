#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::domain::question::{Choice, Question};
use crate::domain::text::document_key;

mod change;

/// A small dataset held as the loader would hold it.
#[derive(Debug, Clone)]
struct Set {
    groups: Vec<(String, Vec<Document>)>,
    sub_questions: BTreeMap<String, Vec<SubQuestion>>,
    counterfactuals: BTreeMap<String, Vec<Counterfactual>>,
    noise: NoisePool,
}

impl Set {
    fn new(groups: Vec<(String, Vec<Document>)>) -> Set {
        Set {
            noise: NoisePool::build(groups.clone()),
            groups,
            sub_questions: BTreeMap::new(),
            counterfactuals: BTreeMap::new(),
        }
    }

    /// Gives every document whose number is not divisible by `step` a sub-question and an adversarial version.
    fn with_versions(mut self, step: usize) -> Set {
        for (question, documents) in &self.groups {
            for (at, document) in documents.iter().enumerate() {
                if at % step == step - 1 {
                    continue;
                }
                self.sub_questions
                    .entry(question.clone())
                    .or_default()
                    .push(sub_question(&document.id));
                self.counterfactuals
                    .entry(question.clone())
                    .or_default()
                    .push(version(
                        &document.id,
                        &format!("edited {}", document.content),
                    ));
            }
        }
        self
    }

    fn pools(&self, id: &str) -> Pools<'_> {
        Pools {
            signal: self.noise.signal(id),
            sub_questions: self.sub_questions.get(id).map_or(&[], Vec::as_slice),
            counterfactuals: self.counterfactuals.get(id).map_or(&[], Vec::as_slice),
            noise: &self.noise,
        }
    }

    fn compose(&self, id: &str, condition: &Condition) -> Result<Context, ComposeError> {
        compose(&question(id), self.pools(id), condition)
    }
}

fn question(id: &str) -> Question {
    Question {
        id: id.into(),
        text: format!("What about {id}?"),
        options: vec![
            Choice {
                letter: 'A',
                text: "this".into(),
            },
            Choice {
                letter: 'B',
                text: "that".into(),
            },
        ],
        answer: 'A',
        extra: serde_json::Map::new(),
    }
}

fn document(id: &str, content: &str) -> Document {
    Document {
        id: id.into(),
        title: String::new(),
        content: content.into(),
        source: None,
        extra: serde_json::Map::new(),
    }
}

fn sub_question(doc_id: &str) -> SubQuestion {
    SubQuestion {
        doc_id: doc_id.into(),
        question: format!("What does {doc_id} say?"),
        answer: format!("truth of {doc_id}"),
        extra: serde_json::Map::new(),
    }
}

fn version(original_id: &str, text: &str) -> Counterfactual {
    Counterfactual {
        original_id: original_id.into(),
        new_answer: format!("planted in {original_id}"),
        edited_document: text.into(),
        extra: serde_json::Map::new(),
    }
}

/// Question `q0` with `own` documents, `others` further questions with three each.
fn plain(own: usize, others: usize) -> Set {
    let group = |question: usize, size: usize| {
        let documents = (0..size)
            .map(|at| {
                document(
                    &format!("q{question}-d{at}"),
                    &format!("Text {at} of {question}."),
                )
            })
            .collect();
        (format!("q{question}"), documents)
    };
    let mut groups = vec![group(0, own)];
    groups.extend((1..=others).map(|question| group(question, 3)));
    Set::new(groups)
}

fn condition(scenario: Scenario, docs: usize, p: f64, seed: u64) -> Condition {
    Condition {
        scenario,
        docs,
        p,
        seed,
        ..Condition::default()
    }
}

fn ids(context: &Context, role: Role) -> Vec<&str> {
    context
        .documents
        .iter()
        .filter(|document| document.role == role)
        .map(|document| document.id.as_str())
        .collect()
}

fn id_set(context: &Context, role: Role) -> HashSet<&str> {
    ids(context, role).into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counts_follow_the_rules(own in 0usize..12, others in 0usize..12, docs in 0usize..14, p in 0u32..=100, seed: u64, independent: bool) {
        let set = plain(own, others).with_versions(4);
        let mode = if independent { Mode::Independent } else { Mode::Nested };
        let p = f64::from(p);
        let share = (docs as f64 * p / 100.0 + 0.5).floor() as usize;
        for scenario in [Scenario::Sufficiency, Scenario::Integration] {
            let Ok(context) = set.compose("q0", &Condition { mode, ..condition(scenario, docs, p, seed) }) else {
                let nothing = share.min(own) + (docs - share).min(others * 3) == 0;
                prop_assert!(nothing || (scenario == Scenario::Integration && share.min(own) == 0));
                continue;
            };
            let signal = ids(&context, Role::Signal).len();
            let noise = ids(&context, Role::Noise).len();
            prop_assert_eq!(signal, share.min(own));
            prop_assert_eq!(noise, (docs - share).min(others * 3));
            prop_assert_eq!(context.docs, signal + noise);
            prop_assert_eq!(context.short, context.docs < docs);
            prop_assert!((context.p - 100.0 * signal as f64 / context.docs as f64).abs() < 1e-9);
        }
        let eligible = own - own / 4;
        let m = docs.min(eligible);
        if let Ok(context) = set.compose("q0", &Condition { mode, ..condition(Scenario::Robustness, docs, p, seed) }) {
            let original = (m as f64 * p / 100.0 + 0.5).floor() as usize;
            prop_assert_eq!(context.docs, m);
            prop_assert_eq!(ids(&context, Role::Signal).len(), original);
            prop_assert_eq!(ids(&context, Role::Adversarial).len(), m - original);
            prop_assert_eq!(context.sub_questions.len(), m);
        } else {
            prop_assert_eq!(m, 0);
        }
        if let Ok(context) = set.compose("q0", &Condition { mode, ..condition(Scenario::Standard, docs, p, seed) }) {
            prop_assert_eq!(context.docs, docs.min(own));
            prop_assert!(context.sub_questions.is_empty());
        } else {
            prop_assert!(own == 0 && docs > 0);
        }
    }

    #[test]
    fn nested_contexts_are_prefixes_and_slots_are_stable(own in 1usize..10, docs in 1usize..12, seed: u64) {
        let set = plain(own, 8).with_versions(50);
        for scenario in [Scenario::Sufficiency, Scenario::Robustness] {
            let steps: Vec<Context> = (0..=20)
                .map(|step| set.compose("q0", &condition(scenario, docs, f64::from(step) * 5.0, seed)).unwrap())
                .collect();
            for pair in steps.windows(2) {
                let (less, more) = (&pair[0], &pair[1]);
                prop_assert!(id_set(less, Role::Signal).is_subset(&id_set(more, Role::Signal)));
                prop_assert!(id_set(more, Role::Noise).is_subset(&id_set(less, Role::Noise)));
                prop_assert!(id_set(more, Role::Adversarial).is_subset(&id_set(less, Role::Adversarial)));
                // Where no slot is empty, position by position only slots that turn signal change.
                if !less.short && !more.short {
                    for (a, b) in less.documents.iter().zip(&more.documents) {
                        prop_assert!(a == b || (a.role != Role::Signal && b.role == Role::Signal));
                    }
                }
            }
        }
    }

    #[test]
    fn a_larger_n_keeps_the_documents_and_their_order(own in 1usize..10, docs in 1usize..10, p in 0u32..=100, seed: u64) {
        let set = plain(own, 8).with_versions(50);
        for scenario in [Scenario::Standard, Scenario::Sufficiency] {
            let small = set.compose("q0", &condition(scenario, docs, f64::from(p), seed)).unwrap();
            let large = set.compose("q0", &condition(scenario, docs + 1, f64::from(p), seed)).unwrap();
            prop_assert!(id_set(&small, Role::Signal).is_subset(&id_set(&large, Role::Signal)));
            prop_assert!(id_set(&small, Role::Noise).is_subset(&id_set(&large, Role::Noise)));
        }
    }

    #[test]
    fn scenarios_are_paired(own in 1usize..10, docs in 1usize..10, p in 0u32..=100, seed: u64) {
        let set = plain(own, 8).with_versions(50);
        let of = |scenario, p| set.compose("q0", &condition(scenario, docs, p, seed));
        let p = f64::from(p);
        let sufficiency = of(Scenario::Sufficiency, p).unwrap();
        if let Ok(integration) = of(Scenario::Integration, p) {
            prop_assert_eq!(&integration.documents, &sufficiency.documents);
        }
        prop_assert_eq!(of(Scenario::Standard, 0.0).unwrap().documents, of(Scenario::Sufficiency, 100.0).unwrap().documents);
        let standard = of(Scenario::Standard, 7.0).unwrap();
        let robustness = of(Scenario::Robustness, p).unwrap();
        let all: HashSet<&str> = robustness.documents.iter().map(|d| d.id.as_str()).collect();
        prop_assert_eq!(all, id_set(&standard, Role::Signal));
    }

    #[test]
    fn nothing_repeats_and_own_documents_are_never_noise(docs in 1usize..30, p in 0u32..=100, seed: u64) {
        let mut groups = plain(6, 6).groups;
        // Own documents under other ids, in other spellings, and an own id with another text.
        groups[1].1.push(document("x1", "  TEXT 0\u{a0}of 0. "));
        groups[2].1.push(document("q0-d1", "something else"));
        groups[3].1.push(document("x3", "Edited text 2 of 0."));
        // Noise that repeats itself.
        groups[4].1.push(document("x4", "TEXT 0 of 5."));
        groups[4].1.push(document("q6-d0", "Text 0 of 6."));
        // An own document twice.
        groups[0].1.push(document("q0-d9", "text 3 OF 0."));
        let set = Set::new(groups).with_versions(50);
        let own_ids: HashSet<&str> = set.noise.signal("q0").iter().map(|d| d.id.as_str()).collect();
        let own_texts: HashSet<String> = set.noise.signal("q0").iter().map(|d| document_key(&d.content))
            .chain(set.pools("q0").counterfactuals.iter().map(|c| document_key(&c.edited_document))).collect();
        for scenario in Scenario::ALL {
            for mode in [Mode::Nested, Mode::Independent] {
                let Ok(context) = set.compose("q0", &Condition { mode, ..condition(scenario, docs, f64::from(p), seed) }) else {
                    prop_assert!(scenario == Scenario::Integration);
                    continue;
                };
                let mut seen_ids = HashSet::new();
                let mut seen_texts = HashSet::new();
                for document in &context.documents {
                    prop_assert!(seen_ids.insert(document.id.clone()), "{} repeats", document.id);
                    prop_assert!(seen_texts.insert(document_key(&document.content)), "{} repeats a text", document.id);
                    if document.role == Role::Noise {
                        prop_assert!(!own_ids.contains(document.id.as_str()));
                        prop_assert!(!own_texts.contains(&document_key(&document.content)));
                        prop_assert!(document.from_question.as_deref() != Some("q0"));
                    } else {
                        prop_assert!(own_ids.contains(document.id.as_str()));
                    }
                }
            }
        }
    }

    #[test]
    fn neither_calls_nor_file_order_matter(order in Just((0..9usize).collect::<Vec<_>>()).prop_shuffle(), seed: u64, docs in 1usize..9, p in 0u32..=100) {
        let set = plain(5, 8).with_versions(4);
        let mut shuffled = Set::new(order.iter().map(|&at| {
            let (id, mut documents) = set.groups[at].clone();
            documents.reverse();
            (id, documents)
        }).collect());
        shuffled.sub_questions = set.sub_questions.clone();
        shuffled.counterfactuals = set.counterfactuals.clone();
        for at in order {
            for scenario in Scenario::ALL {
                for mode in [Mode::Nested, Mode::Independent] {
                    let condition = Condition { mode, ..condition(scenario, docs, f64::from(p), seed) };
                    let id = format!("q{at}");
                    prop_assert_eq!(set.compose(&id, &condition), shuffled.compose(&id, &condition));
                }
            }
        }
    }

    #[test]
    fn any_condition_gives_a_context_or_an_error(docs: usize, p: f64, seed: u64, small in 0usize..1001) {
        let set = plain(3, 3).with_versions(4);
        for scenario in Scenario::ALL {
            let _ = set.compose("q0", &condition(scenario, docs, p, seed));
            let _ = set.compose("q0", &condition(scenario, small, p.abs() % 101.0, seed));
            let _ = set.compose("unknown", &condition(scenario, small, 50.0, seed));
        }
    }
}

/// Which slot holds signal is uniform: with n = 4 and one signal document every position is hit equally
/// often (chi-square with 3 degrees of freedom, p = 0.001 at 16.3), and so is every document.
#[test]
fn at_a_single_p_the_context_is_a_uniform_draw() {
    let set = plain(5, 5);
    let mut positions = [0.0f64; 4];
    let mut documents: BTreeMap<String, f64> = BTreeMap::new();
    for seed in 0..4000 {
        let context = set
            .compose("q0", &condition(Scenario::Sufficiency, 4, 25.0, seed))
            .unwrap();
        let at = context
            .documents
            .iter()
            .position(|d| d.role == Role::Signal)
            .unwrap();
        positions[at] += 1.0;
        *documents
            .entry(context.documents[at].id.clone())
            .or_default() += 1.0;
    }
    let chi: f64 = positions
        .iter()
        .map(|n| (n - 1000.0).powi(2) / 1000.0)
        .sum();
    assert!(chi < 16.3, "{positions:?}");
    let chi: f64 = documents
        .values()
        .map(|n| (n - 800.0).powi(2) / 800.0)
        .sum();
    assert!(documents.len() == 5 && chi < 18.5, "{documents:?}");
}

/// If this fails, contexts are no longer those of earlier versions: recorded runs can't be continued.
#[test]
fn the_streams_have_not_changed() {
    let set = plain(6, 6).with_versions(50);
    let line = |scenario, mode| {
        let condition = Condition {
            mode,
            ..condition(scenario, 5, 60.0, 0)
        };
        let context = set.compose("q0", &condition).unwrap();
        let shown: Vec<String> = context
            .documents
            .iter()
            .map(|d| format!("{}:{:?}:{}", d.label, d.role, d.id))
            .collect();
        shown.join(" ")
    };
    insta::assert_snapshot!([
        line(Scenario::Sufficiency, Mode::Nested),
        line(Scenario::Robustness, Mode::Nested),
        line(Scenario::Sufficiency, Mode::Independent),
        line(Scenario::Standard, Mode::Independent),
    ].join("\n"), @r"
    DOC_1:Signal:q0-d0 DOC_2:Signal:q0-d3 DOC_3:Noise:q6-d2 DOC_4:Noise:q4-d1 DOC_5:Signal:q0-d4
    DOC_1:Signal:q0-d0 DOC_2:Signal:q0-d3 DOC_3:Adversarial:q0-d1 DOC_4:Adversarial:q0-d5 DOC_5:Signal:q0-d4
    DOC_1:Signal:q0-d0 DOC_2:Noise:q4-d2 DOC_3:Noise:q5-d0 DOC_4:Signal:q0-d5 DOC_5:Signal:q0-d3
    DOC_1:Signal:q0-d5 DOC_2:Signal:q0-d4 DOC_3:Signal:q0-d0 DOC_4:Signal:q0-d2 DOC_5:Signal:q0-d1
    ");
}

#[test]
fn independent_draws_differ_between_conditions() {
    let set = plain(10, 10);
    let of = |p| {
        let condition = Condition {
            mode: Mode::Independent,
            ..condition(Scenario::Sufficiency, 5, p, 0)
        };
        set.compose("q0", &condition).unwrap()
    };
    let nested_everywhere = (0..5).all(|step| {
        let (less, more) = (of(f64::from(step) * 20.0), of(f64::from(step + 1) * 20.0));
        id_set(&less, Role::Signal).is_subset(&id_set(&more, Role::Signal))
    });
    assert!(!nested_everywhere);
}

#[test]
fn the_source_filter_holds_for_signal_and_noise() {
    let mut groups = plain(6, 6).groups;
    for (_, documents) in &mut groups {
        for (at, document) in documents.iter_mut().enumerate() {
            document.source = [Some(Source::Offline), Some(Source::Online), None][at % 3];
        }
    }
    // The same text was found offline and online: either filter may use it.
    groups[0].1[1].content = groups[0].1[0].content.clone();
    let set = Set::new(groups);
    let base = condition(Scenario::Sufficiency, 8, 50.0, 3);
    for (filter, source) in [
        (SourceFilter::Offline, Source::Offline),
        (SourceFilter::Online, Source::Online),
    ] {
        let context = set
            .compose(
                "q0",
                &Condition {
                    source: filter,
                    ..base
                },
            )
            .unwrap();
        assert!(context.documents.iter().all(|d| d.source == Some(source)));
        assert_eq!(ids(&context, Role::Signal).len(), 2);
        assert_eq!(ids(&context, Role::Noise).len(), 4);
        assert!(context.short);
    }
}

#[test]
fn of_two_documents_with_one_text_the_more_useful_stays() {
    let mut set = Set::new(vec![(
        "q0".into(),
        vec![document("a", "Same."), document("b", "same.")],
    )]);
    set.sub_questions
        .insert("q0".into(), vec![sub_question("b")]);
    let context = set
        .compose("q0", &condition(Scenario::Integration, 2, 100.0, 0))
        .unwrap();
    assert_eq!(ids(&context, Role::Signal), ["b"]);
    assert_eq!(context.sub_questions[0].label, "DOC_1");
}

#[test]
fn adversarial_documents_keep_their_id_and_carry_the_planted_answer() {
    let set = plain(3, 2).with_versions(50);
    let context = set
        .compose("q0", &condition(Scenario::Robustness, 3, 0.0, 0))
        .unwrap();
    for (document, sub) in context.documents.iter().zip(&context.sub_questions) {
        assert_eq!(document.role, Role::Adversarial);
        assert_eq!(document.original_id.as_ref(), Some(&document.id));
        assert!(document.content.starts_with("edited Text"));
        assert_eq!(sub.label, document.label);
        assert_eq!(sub.answer, format!("truth of {}", document.id));
        assert_eq!(sub.planted, Some(format!("planted in {}", document.id)));
    }
}

#[test]
fn impossible_conditions_say_what_is_wrong() {
    let set = plain(2, 0);
    let error = |scenario, docs, p| {
        set.compose("q0", &condition(scenario, docs, p, 0))
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!([
        error(Scenario::Sufficiency, 5, f64::NAN),
        error(Scenario::Sufficiency, 5, -1.0),
        error(Scenario::Standard, 5, 100.5),
        error(Scenario::Sufficiency, 0, 50.0),
        error(Scenario::Integration, 5, 9.0),
        error(Scenario::Standard, usize::MAX, 0.0),
        error(Scenario::Robustness, 5, 0.0),
        error(Scenario::Sufficiency, 5, 0.0),
        set.compose("none", &condition(Scenario::Standard, 5, 0.0, 0)).unwrap_err().to_string(),
    ].join("\n"), @r"
    p is NaN, but it must be a number from 0 to 100
    p is -1, but it must be a number from 0 to 100
    p is 100.5, but it must be a number from 0 to 100
    sufficiency needs at least one document, but n is 0; only standard can go without documents
    integration needs at least one signal document, but n = 5 at p = 9 % gives none; raise n or p
    n is 18446744073709551615, but at most 1000 documents fit into one context
    question q0 has no document that robustness can use: none of its documents has both a sub-question and an adversarial version
    question q0 has no document that sufficiency can use: neither a signal document nor noise passes the source filter
    question none has no document that standard can use: it has no signal document that passes the source filter
    ");
    let without = set
        .compose("none", &condition(Scenario::Standard, 0, 0.0, 0))
        .unwrap();
    assert!(without.documents.is_empty() && !without.short);
}

#[test]
fn changed_documents_are_the_new_ones_and_those_with_another_role() {
    let set = plain(6, 6).with_versions(50);
    let of = |scenario, p| set.compose("q0", &condition(scenario, 5, p, 0)).unwrap();
    let (before, after) = (
        of(Scenario::Sufficiency, 60.0),
        of(Scenario::Sufficiency, 80.0),
    );
    assert_eq!(
        changed_documents(&before, &before),
        [false, false, false, false, false]
    );
    let changed = changed_documents(&before, &after);
    assert_eq!(changed.iter().filter(|&&c| c).count(), 1);
    let at = changed.iter().position(|&c| c).unwrap();
    assert_eq!(after.documents[at].role, Role::Signal);
    assert_eq!(before.documents[at].role, Role::Noise);
    let (before, after) = (
        of(Scenario::Robustness, 60.0),
        of(Scenario::Robustness, 40.0),
    );
    let changed = changed_documents(&before, &after);
    assert_eq!(changed.iter().filter(|&&c| c).count(), 1);
}
