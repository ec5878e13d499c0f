//! The name of a run: what it may be, wherever one enters (flags, plans, files, the explorer's form).

use crate::domain::probe::PROBES;
use crate::domain::report::PAPER;
use crate::domain::text::{collapse, fault_of_name, short};

/// Why a run that comes from elsewhere can't have this name; `None` for one that can.
pub fn fault(name: &str) -> Option<&'static str> {
    match name {
        PAPER => Some("this name stands for the published figures; choose another"),
        _ => fault_of_name(name),
    }
}

/// The name that somebody gives a run: spaces around it and repeated ones are left out.
///
/// # Errors
/// Why it can't be one, without the name.
pub fn named(text: &str) -> Result<String, &'static str> {
    // Before spaces are put in order: a line break would count as one.
    if let Some(fault) = fault_of_name(text) {
        return Err(fault);
    }
    let name = collapse(text);
    match fault(&name) {
        Some(fault) => Err(fault),
        None if name == PROBES => {
            Err("this name is that of the run in which probes are kept; choose another")
        }
        None => Ok(name),
    }
}

/// The name of a run that got none: DATASET-MODELS, as in `bioasq-gpt-4o+llama`.
///
/// # Errors
/// A sentence where one of the names spoils it.
pub fn of_parts(dataset: &str, models: &[String]) -> Result<String, String> {
    let name = format!("{dataset}-{}", models.join("+"));
    named(&name).map_err(|why| {
        format!(
            "the run can't be named \"{}\" after dataset and model: {why}",
            short(&name)
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn names_are_put_in_order_or_refused() {
        assert_eq!(named("  a   b "), Ok("a b".to_owned()));
        for bad in [
            "",
            " ",
            "a\u{1b}[2Jb",
            "a\nb",
            "a\u{202e}b",
            "paper",
            " paper ",
            "probe",
        ] {
            assert!(named(bad).is_err(), "{bad:?}");
        }
        // Probes may come from another machine.
        assert_eq!((fault("probe"), fault("a")), (None, None));
        assert!(fault("paper").is_some() && fault("a\tb").is_some());
    }

    #[test]
    fn a_name_of_parts_is_checked_too() {
        let models = ["m".to_owned(), "n".to_owned()];
        assert_eq!(of_parts("set", &models), Ok("set-m+n".to_owned()));
        let said = of_parts("se\u{1b}[1mt", &models).unwrap_err();
        assert!(
            said.contains("control characters") && !said.contains('\u{1b}'),
            "{said}"
        );
    }
}
