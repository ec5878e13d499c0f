//! What stands beside a model's name: what is behind it, and what must be said with everything it says.

use unicode_width::UnicodeWidthStr;

use crate::data::store::ReplyRecord;
use crate::model::{BackendKind, ModelIdentity};
use crate::tui::widgets::line::{cut, one_line};

/// Caution to show beside the scores of a stored reply.
pub(super) fn caution_of(record: &ReplyRecord) -> Option<String> {
    let identity = record.model.get("identity").unwrap_or(&record.model);
    let identity: ModelIdentity = serde_json::from_value(identity.clone()).ok()?;
    caution(&identity)
}

/// What must be said beside everything this model says.
pub fn caution(identity: &ModelIdentity) -> Option<String> {
    match identity.backend {
        BackendKind::Replay => Some(match &identity.caution {
            Some(caution) => format!("{} · {caution}", identity.detail),
            None => identity.detail.clone(),
        }),
        _ => identity.caution.clone(),
    }
}

/// A model in at most `width` columns: name, what is behind it, caution. What lies between the name and the caution
/// is shortened first.
pub fn introduced(identity: &ModelIdentity, width: usize) -> (String, Option<String>) {
    const LEAST: usize = 12;
    let name = one_line(&identity.name);
    let room = width.saturating_sub(name.width());
    let behind = match identity.backend {
        BackendKind::Replay => Some(one_line(&identity.detail)),
        _ => None,
    };
    let caution = identity.caution.as_deref().map(one_line);
    let taken = caution.as_ref().map_or(0, |caution| caution.width() + 3);
    let middle = room.saturating_sub(taken + 3);
    let behind = behind
        .filter(|behind| middle >= LEAST.min(behind.width()))
        .map(|behind| cut(&behind, middle));
    let parts: Vec<String> = behind.into_iter().chain(caution).collect();
    (name, (!parts.is_empty()).then(|| parts.join(" · ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caution_is_cut_last() {
        let identity = ModelIdentity {
            name: "replay:night".into(),
            backend: BackendKind::Replay,
            detail: "embedded:small-model, recorded on 2026-11-30, replay of the run night".into(),
            caution: Some("demo model, not a serious score".into()),
            window: None,
            replayed: Vec::new(),
        };
        let at = |width| {
            let (name, rest) = introduced(&identity, width);
            format!("{name} · {}", rest.unwrap_or_default())
        };
        assert_eq!(
            at(200),
            "replay:night · embedded:small-model, recorded on 2026-11-30, replay of the run night · demo model, not a serious score"
        );
        assert_eq!(
            at(76),
            "replay:night · embedded:small-model, reco… · demo model, not a serious score"
        );
        assert_eq!(at(50), "replay:night · demo model, not a serious score");
    }
}
