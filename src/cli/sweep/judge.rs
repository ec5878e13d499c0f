//! The judge as a stage of a sweep: what it will cost, and asking it.

use serde_json::{Value, json};

use super::prepare::Part;
use super::{Args, CONCURRENCY};
use crate::cli::Failure;
use crate::cli::audit::prices;
use crate::cli::common::{Environment, model_failure, templates};
use crate::cli::rescore::{self, Judged};
use crate::data::store::Store;
use crate::domain::cost::Cost;
use crate::domain::text::{clean, count};
use crate::engine::models::{judge_name, open_model};
use crate::engine::sweep::{JudgeEstimate, estimate_judge};
use crate::model::FailureKind;
use crate::model::select::sampling;

/// What a judge will be asked at most: a skipped sub-answer needs no call.
pub(super) struct Estimate {
    found: JudgeEstimate,
    cost: Cost,
}

/// What the judge of the flags will be asked, over all parts; `None` without a judge.
///
/// # Errors
/// [`Failure`] where a template is broken or the store can't be read.
pub(super) fn estimate(
    args: &Args,
    parts: &[Part],
    store: Option<&Store>,
    environment: &Environment,
) -> Result<Option<Estimate>, Failure> {
    let Some(judge) = &args.judge else {
        return Ok(None);
    };
    let config = &environment.config;
    let base_url = args.judge_base_url.as_deref();
    let name = judge_name(judge, base_url, config).map_err(model_failure)?;
    let run = parts.first().map(|part| part.sweep.run.as_str());
    let found = estimate_judge(
        name,
        parts.iter().map(|part| &part.plan),
        &templates(config.prompts.as_ref())?,
        store.zip(run),
    )
    .map_err(Failure::Failed)?;
    let most = sampling(judge, config).max_tokens;
    Ok(Some(Estimate {
        cost: Cost::of(
            (found.calls, found.prompt_tokens),
            most,
            prices(config.models.get(judge)),
        ),
        found,
    }))
}

/// Sees to it that the judge can be had (its key, its file) before the sweep is asked, not hours later.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub(super) fn check(args: &Args, environment: &Environment) -> Result<(), Failure> {
    let Some(judge) = &args.judge else {
        return Ok(());
    };
    let (config, base_url) = (&environment.config, args.judge_base_url.as_deref());
    let opened = judge_name(judge, base_url, config)
        .and_then(|_| open_model(judge, base_url, config, &environment.paths));
    match opened {
        // A plan alone needs neither key nor model file.
        Err(error) if args.dry_run && error.kind != FailureKind::BadRequest => Ok(()),
        opened => opened.map(drop).map_err(model_failure),
    }
}

impl Estimate {
    /// Calls at most.
    pub(super) fn calls(&self) -> usize {
        self.found.calls
    }

    /// What they are predicted to cost.
    pub(super) fn cost(&self) -> Cost {
        self.cost
    }

    /// For `--json`.
    pub(super) fn json(&self) -> Value {
        json!({
            "model": self.found.judge,
            "done": self.found.done,
            "calls_at_most": self.found.calls,
            "prompt_tokens": self.found.prompt_tokens,
            "cost_usd": self.cost,
        })
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        clean(&format!(
            "judge {}: {} judged already, at most {} with about {} prompt tokens{}\n",
            self.found.judge,
            count(self.found.done, "sub-answer"),
            count(self.found.calls, "call"),
            self.found.prompt_tokens,
            self.cost.words()
        ))
    }
}

/// Has the sub-answers of the run judged and scores it again.
///
/// # Errors
/// [`Failure`] where the judge can't be had, gives up or is stopped.
pub(super) fn stage(
    judge: &str,
    args: &Args,
    run: &str,
    store: &Store,
    environment: &Environment,
) -> Result<Judged, Failure> {
    let stage = rescore::Args {
        run: run.to_owned(),
        judge: Some(judge.to_owned()),
        base_url: args.judge_base_url.clone(),
        concurrency: args.concurrency.unwrap_or(CONCURRENCY).min(64),
        rpm: args.rpm,
        tpm: args.tpm,
        judge_again: false,
        json: args.json,
    };
    rescore::judge(&stage, judge, store, environment)
}

/// What became of the stage, for `--json`: figures, or why there are none.
pub(super) fn json(judged: &Result<Judged, Failure>) -> Value {
    match judged {
        Ok(judged) => judged.object.clone(),
        Err(failure) => json!({"failure": failure.to_string()}),
    }
}

/// Fails where the stage did.
///
/// # Errors
/// That of the stage, or a sentence where no judgement can be read.
pub(super) fn verdict(judged: Result<Judged, Failure>) -> Result<(), Failure> {
    match judged?.trouble {
        Some(why) => Err(Failure::Failed(why)),
        None => Ok(()),
    }
}
