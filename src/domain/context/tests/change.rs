//! Contexts changed on purpose.

use super::*;

fn changed_places(before: &Context, after: &Context) -> Vec<usize> {
    let pairs = before.documents.iter().zip(&after.documents);
    pairs
        .enumerate()
        .filter(|(_, (old, new))| {
            (&old.id, old.role, &old.content) != (&new.id, new.role, &new.content)
        })
        .map(|(at, _)| at)
        .collect()
}

/// What holds for every context, composed or changed.
fn assert_sound(context: &Context) {
    for (at, document) in context.documents.iter().enumerate() {
        assert_eq!(document.label, format!("DOC_{}", at + 1));
        assert_eq!(
            document.original_id.is_some(),
            document.role == Role::Adversarial
        );
    }
    let ids: HashSet<&str> = context.documents.iter().map(|d| d.id.as_str()).collect();
    assert_eq!(ids.len(), context.documents.len(), "a document twice");
    for sub in &context.sub_questions {
        let document = context.documents.iter().find(|d| d.label == sub.label);
        let document = document.unwrap();
        assert_eq!(sub.planted.is_some(), document.role == Role::Adversarial);
        assert!(sub.question.contains(&document.id), "{sub:?} {document:?}");
    }
    assert_eq!(context.docs, context.documents.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_swap_changes_one_place_and_leaving_out_takes_one(own in 1usize..9, others in 1usize..6, docs in 1usize..9, p in 0u32..=100, seed: u64) {
        let set = plain(own, others).with_versions(4);
        for scenario in Scenario::ALL {
            let condition = condition(scenario, docs, f64::from(p), seed);
            let Ok(context) = set.compose("q0", &condition) else { continue };
            let all = swaps(&question("q0"), set.pools("q0"), &condition, &context, None, None);
            for one in &all {
                assert_sound(&one.context);
                let Change::Swap { position, from, to } = one.change else { panic!("{one:?}") };
                prop_assert_eq!(changed_places(&context, &one.context), [position]);
                prop_assert_eq!(context.documents[position].role, from);
                prop_assert_eq!(one.context.documents[position].role, to);
                prop_assert!(one.context.variant.is_some());
            }
            let gone = left_out(&context);
            for one in &gone {
                assert_sound(&one.context);
                prop_assert_eq!(one.context.docs, context.docs - 1);
            }
            let orders = reorders(&context, &condition, 4);
            for one in &orders {
                assert_sound(&one.context);
                prop_assert_eq!(id_set(&one.context, Role::Signal), id_set(&context, Role::Signal));
                prop_assert_eq!(one.context.sub_questions.len(), context.sub_questions.len());
                prop_assert_eq!(one.context.p, context.p);
            }
            prop_assert_eq!(&orders, &reorders(&context, &condition, 4));
        }
    }
}

#[test]
fn every_possible_swap_is_made_once() {
    let set = plain(6, 4).with_versions(6);
    let condition = condition(Scenario::Robustness, 4, 50.0, 0);
    let context = set.compose("q0", &condition).unwrap();
    let make = |label, to| {
        swaps(
            &question("q0"),
            set.pools("q0"),
            &condition,
            &context,
            label,
            to,
        )
    };
    // Two originals and two adversarial ones: each to its other version and to noise.
    assert_eq!(make(None, None).len(), 8);
    assert_eq!(make(None, Some(Role::Noise)).len(), 4);
    let one = make(Some("DOC_2"), Some(Role::Noise));
    assert_eq!(one.len(), 1);
    // Noise answers no sub-question.
    assert_eq!(one[0].context.sub_questions.len(), 3);
    assert_eq!(one[0].change.describe(&context), "DOC_2 becomes noise");
    assert!(make(Some("DOC_9"), None).is_empty());
    let back = &make(None, Some(Role::Signal))[0];
    assert!(
        back.change
            .describe(&context)
            .ends_with("becomes its original")
    );
    assert!(
        back.context
            .sub_questions
            .iter()
            .all(|sub| sub.answer.starts_with("truth"))
    );
}

#[test]
fn nothing_is_left_out_where_nothing_would_be_asked() {
    let set = plain(1, 3).with_versions(4);
    let single = condition(Scenario::Integration, 1, 100.0, 0);
    assert!(left_out(&set.compose("q0", &single).unwrap()).is_empty());
    // One signal document among noise: only noise can go.
    let mixed = condition(Scenario::Integration, 4, 25.0, 0);
    let context = set.compose("q0", &mixed).unwrap();
    assert_eq!(left_out(&context).len(), 3);
}

#[test]
fn orders_are_other_orders_and_the_reverse_comes_first() {
    let set = plain(3, 1);
    let condition = condition(Scenario::Sufficiency, 3, 100.0, 5);
    let context = set.compose("q0", &condition).unwrap();
    let orders = reorders(&context, &condition, 20);
    // Of three documents there are five other orders.
    assert_eq!(orders.len(), 5);
    let Change::Reorder { order } = &orders[0].change else {
        panic!()
    };
    assert_eq!(order, &[2, 1, 0]);
    assert_eq!(orders[0].change.describe(&context), "order 3 2 1");
    assert!(
        reorders(
            &set.compose("q0", &super::condition(Scenario::Sufficiency, 1, 100.0, 5))
                .unwrap(),
            &condition,
            3
        )
        .is_empty()
    );
}
