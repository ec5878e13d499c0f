//! `medrgb probe swap`: documents in another role.

use super::{Place, SwapArgs, ask_variants};
use crate::cli::Failure;
use crate::cli::common::Environment;
use crate::domain::context::{Change, Context, Variant, swaps};
use crate::domain::passage::Role;
use crate::domain::text::short;

/// Asks the composed context and the chosen swaps.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub(super) fn run(args: &SwapArgs, environment: &Environment) -> Result<(), Failure> {
    let place = Place::open(&args.ask, environment)?;
    let to = args.to.as_deref().map(|name| match name {
        "signal" => Role::Signal,
        "adversarial" => Role::Adversarial,
        _ => Role::Noise,
    });
    let context = &place.instance.context;
    let label = match args.doc.as_deref() {
        Some(flag) => Some(label(flag, context)?),
        None => None,
    };
    let variants = swaps(
        &place.instance.question,
        place.dataset.pools(&place.instance.question.id),
        &place.instance.condition,
        context,
        label.as_deref(),
        to,
    );
    if variants.is_empty()
        && let Some(why) = other_swaps(&place, label.as_deref(), to)
    {
        return Err(Failure::Failed(why));
    }
    let needs = "a swap needs a document of another role to swap in (noise of the question, an adversarial version, or the original of one)";
    ask_variants(place, (variants, needs), &args.ask, environment)
}

/// Where the chosen swaps are not possible but others are: which those are.
fn other_swaps(place: &Place, label: Option<&str>, to: Option<Role>) -> Option<String> {
    let to = to?;
    let instance = &place.instance;
    let (context, pools) = (
        &instance.context,
        place.dataset.pools(&instance.question.id),
    );
    let possible = swaps(
        &instance.question,
        pools,
        &instance.condition,
        context,
        label,
        None,
    );
    let others: Vec<&str> = [Role::Signal, Role::Adversarial, Role::Noise]
        .into_iter()
        .filter(|role| {
            let leads_there = |variant: &Variant| matches!(variant.change, Change::Swap { to, .. } if to == *role);
            possible.iter().any(leads_there)
        })
        .map(flag_of)
        .collect();
    let mut meant = context
        .documents
        .iter()
        .filter(|document| label.is_none_or(|label| label == document.label));
    let is_already = meant.all(|document| document.role == to);
    let what = label.unwrap_or("every document of this context");
    let why = match (is_already, to) {
        (true, Role::Signal) => format!("{what} is an original already"),
        (true, Role::Adversarial) => format!("{what} is adversarial already"),
        (true, _) => format!("{what} is noise already"),
        (false, _) => format!(
            "the dataset has nothing that could be swapped in for {} as --to {} asks",
            label.unwrap_or("a document of this context"),
            flag_of(to)
        ),
    };
    (!others.is_empty()).then(|| format!("{why}; possible is --to {}", others.join(" or ")))
}

/// A role as `--to` names it.
fn flag_of(role: Role) -> &'static str {
    match role {
        Role::Signal => "signal",
        Role::Adversarial => "adversarial",
        Role::Noise => "noise",
    }
}

/// The label that a flag means: `2`, `doc 2`, `DOC_2` and the dataset's id of that document are the same.
fn label(flag: &str, context: &Context) -> Result<String, Failure> {
    let documents = &context.documents;
    let name = flag.trim().to_lowercase();
    let rest = name.strip_prefix("document").or(name.strip_prefix("doc"));
    let number = match rest {
        Some(rest) => rest.trim_start_matches([' ', '_', '-', '#', '.']),
        None => name.as_str(),
    };
    let numbered = number
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| format!("DOC_{}", number.trim_start_matches('0')));
    let found = documents
        .iter()
        .find(|document| Some(&document.label) == numbered.as_ref())
        .or_else(|| documents.iter().find(|document| document.id == flag.trim()));
    found.map(|document| document.label.clone()).ok_or_else(|| {
        Failure::Usage(format!(
            "--doc {}: the context has {}",
            short(flag),
            match documents.len() {
                0 => "no documents".to_owned(),
                1 => "only DOC_1".to_owned(),
                count => format!("DOC_1 to DOC_{count}"),
            }
        ))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::data::dataset::Dataset;
    use crate::engine::instance::instance;

    #[test]
    fn a_document_is_named_as_one_writes_it() {
        let dataset = Dataset::sample().unwrap();
        let condition = crate::domain::context::Condition {
            scenario: crate::domain::context::Scenario::Robustness,
            docs: 5,
            p: 60.0,
            seed: 0,
            mode: crate::domain::context::Mode::Nested,
            source: crate::domain::context::SourceFilter::Any,
        };
        let templates = crate::domain::prompt::Templates::default();
        let context = instance(&dataset, &templates, "sample-bioasq-1", &condition)
            .unwrap()
            .context;
        let id = context.documents[3].id.clone();
        for flag in [
            "4",
            "doc 4",
            "DOC_4",
            "Doc-4",
            "document #4",
            " doc04 ",
            &id,
        ] {
            assert_eq!(label(flag, &context).unwrap(), "DOC_4", "{flag}");
        }
        for flag in ["", "doc", "6", "doc 0", "4 5", "DOC_4x", "-4", "dog 4"] {
            let said = label(flag, &context).unwrap_err().to_string();
            assert!(said.contains("DOC_1 to DOC_5"), "{flag}: {said}");
        }
    }
}
