//! Why the scores are what they are: the rule, the words it was read from, the right answer.

use ratatui::text::Line;

use crate::domain::answer::{ParsedReply, Span};
use crate::domain::context::Scenario;
use crate::domain::normalize::headline;
use crate::domain::passage::Role;
use crate::domain::probe::{PlantedTrace, Trace};
use crate::domain::report::Measure;
use crate::domain::score::{DocumentScore, Labelled, Scores, SubScore};
use crate::domain::text::collapse;
use crate::tui::app::App;
use crate::tui::app::reply::{Phase, ReplyState};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::audit;
use crate::tui::view::chrome::span;
use crate::tui::view::documents::{right_mark, role_mark};
use crate::tui::view::reply::{outcome_words, part};
use crate::tui::view::scores::so_far_words;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;

/// Bytes of the raw reply shown before and after the words that decided.
const AROUND: usize = 60;

/// Longest excerpt of the words themselves, in bytes.
const LONGEST: usize = 600;

pub(super) fn flow(app: &App, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let context = app.instance.as_ref().and_then(|state| state.context());
    let reply = context.and_then(|context| app.replies.shown(context));
    let gold = app.instance.as_ref().is_some_and(|state| state.gold);
    match reply.and_then(|reply| Some((reply, reply.parsed.as_ref()?, reply.scores.as_ref()?))) {
        Some((reply, parsed, scores)) => {
            let page = Page { app, reply, gold };
            page.main_answer(parsed, scores, &mut flow);
            page.notes(parsed, &mut flow);
            page.documents(parsed, scores, &mut flow);
            let trace = reply.audit.as_ref().map(|audit| &audit.trace);
            for (index, sub) in scores.subs.iter().enumerate() {
                page.sub(index, parsed, sub, &mut flow);
                if page.gold && contains_only(trace, index) {
                    let text = "the planted answer stands in it, but it is not the planted answer: not counted as adopted";
                    page.row(&mut flow, "adopted", &[(text.to_owned(), Tone::Warning)]);
                }
            }
            page.metrics(scores, &mut flow);
            if let Some(found) = &reply.audit {
                flow.gap();
                audit::write(app, reply, found, gold, &mut flow);
            }
        }
        None => {
            let text = no_scores(app, reply);
            flow.say(&app.wraps, &text, Tone::Text);
        }
    }
    flow
}

/// Why there is nothing to explain, and what to do.
fn no_scores(app: &App, reply: Option<&ReplyState>) -> String {
    let ask = app.keymap.key(Command::Ask);
    match reply.map(|reply| &reply.phase) {
        None => format!(
            "There is no reply to exactly this context yet, so there is nothing to explain. {ask} asks the model."
        ),
        Some(Phase::Running) => "Nothing of the reply can be read yet.".to_owned(),
        Some(Phase::Failed(problem)) => format!(
            "The model gave no reply, so there is nothing to explain: {}. {ask} asks it again.",
            one_line(problem).trim_end_matches('.')
        ),
        Some(Phase::Done) => format!(
            "The reply has no scores, so there is nothing to explain. {ask} asks the model again."
        ),
    }
}

/// Whether the window says that the model can be asked: no reply is there, and none is coming.
pub fn has_no_reply(app: &App) -> bool {
    let context = app.instance.as_ref().and_then(|state| state.context());
    let reply = context.and_then(|context| app.replies.shown(context));
    reply.is_none_or(|reply| !reply.running() && reply.scores.is_none())
}

/// Whether a sub-answer only contains what was planted for it, as the trace below says.
fn contains_only(trace: Option<&Trace>, index: usize) -> bool {
    let planted = trace.into_iter().flat_map(|trace| &trace.planted);
    let mut own = planted.filter_map(PlantedTrace::own);
    own.any(|given| given.at == index && !given.whole)
}

/// What every part of the page needs.
struct Page<'a> {
    app: &'a App,
    reply: &'a ReplyState,
    gold: bool,
}

impl Page<'_> {
    fn heading(&self, flow: &mut Flow, text: &str) {
        flow.gap();
        flow.line(Line::from(span(
            &self.app.theme,
            text.to_owned(),
            Tone::Title,
        )));
    }

    /// A name and what belongs to it.
    fn row(&self, flow: &mut Flow, name: &str, pieces: &[(String, Tone)]) {
        part(self.app, flow, name, pieces);
    }

    /// The words of the raw reply at a place, with some of what stands around them.
    fn words(&self, flow: &mut Flow, place: Option<Span>) {
        let pieces = match place.and_then(|place| excerpt(&self.reply.raw, place)) {
            Some(pieces) => pieces,
            None => vec![("no words of the reply".to_owned(), Tone::Faint)],
        };
        self.row(flow, "read from", &pieces);
    }

    fn main_answer(&self, parsed: &ParsedReply, scores: &Scores, flow: &mut Flow) {
        let theme = &self.app.theme;
        flow.line(Line::from(span(theme, "Main answer", Tone::Title)));
        let read = match parsed.answer {
            Some(letter) => {
                let text = self.reply.question.option(letter).unwrap_or_default();
                format!("{letter}  {}", one_line(text))
            }
            None => outcome_words(scores.outcome).to_owned(),
        };
        self.row(flow, "read as", &[(read, Tone::Strong)]);
        match parsed.evidence {
            Some(evidence) => {
                let rule = evidence.rule.sentence().to_owned();
                self.row(flow, "rule", &[(rule, Tone::Text)]);
                self.words(flow, Some(evidence.span()));
            }
            None => {
                let text = "not kept by the older version that stored this reply; `medrgb rescore` adds it";
                self.row(flow, "rule", &[(text.to_owned(), Tone::Faint)]);
            }
        }
        if self.gold {
            let question = &self.reply.question;
            let text = format!("{}  {}", question.answer, one_line(question.gold_text()));
            self.row(flow, "gold", &[(text, Tone::Good)]);
        }
        let (text, tone) = match scores.main_correct {
            Some(true) => ("✓ the same option: 1 of 1", Tone::Good),
            Some(false) if parsed.answer.is_some() => ("✗ another option: 0 of 1", Tone::Bad),
            Some(false) => ("✗ not the right option: 0 of 1", Tone::Bad),
            None => (
                "not an answer of the model: it counts in no rate",
                Tone::Warning,
            ),
        };
        if self.gold && !self.reply.running() {
            self.row(flow, "so", &[(text.to_owned(), tone)]);
        }
    }

    fn notes(&self, parsed: &ParsedReply, flow: &mut Flow) {
        for note in &parsed.notes {
            self.row(flow, "note", &[(one_line(note), Tone::Warning)]);
        }
    }

    fn documents(&self, parsed: &ParsedReply, scores: &Scores, flow: &mut Flow) {
        if scores.documents.is_empty() {
            return;
        }
        self.heading(flow, "Relevant or not");
        let rule = "A signal document is right in the relevant list alone, a noise document in the irrelevant list alone; in both lists or in none it is wrong.";
        self.row(flow, "rule", &[(rule.to_owned(), Tone::Text)]);
        for (name, place) in [
            ("relevant", parsed.sources.relevant),
            ("irrelevant", parsed.sources.irrelevant),
        ] {
            let pieces = place.and_then(|place| excerpt(&self.reply.raw, place));
            let none = || vec![("no such list in the reply".to_owned(), Tone::Faint)];
            // Without evidence no place was kept either.
            if parsed.evidence.is_some() {
                self.row(flow, name, &pieces.unwrap_or_else(none));
            }
        }
        for document in &scores.documents {
            self.document(document, flow);
        }
    }

    fn document(&self, document: &DocumentScore, flow: &mut Flow) {
        let (mark, tone) = role_mark(document.role);
        let reached = self.reply.document_reached(document.said);
        let (right, right_tone) = match reached {
            true => right_mark(document.right),
            false => ("·", Tone::Faint),
        };
        let said = match document.said {
            Labelled::Relevant => "in the relevant list",
            Labelled::Irrelevant => "in the irrelevant list",
            Labelled::Both => "in both lists",
            Labelled::Neither if reached => "in no list",
            Labelled::Neither => self.reply.missing_words("in no list"),
        };
        let role = if document.role == Role::Noise {
            "noise"
        } else {
            "signal"
        };
        let pieces = [
            (format!("{mark} {role:<7}"), tone),
            (format!("{said}  "), Tone::Text),
            (right.to_owned(), right_tone),
        ];
        self.row(flow, &document.label, &pieces);
    }

    fn sub(&self, index: usize, parsed: &ParsedReply, sub: &SubScore, flow: &mut Flow) {
        self.heading(flow, &format!("Sub-question {}", index + 1));
        self.row(flow, "asked", &[(one_line(&sub.question), Tone::Text)]);
        if parsed.evidence.is_some() {
            self.words(flow, parsed.sources.subs.get(index).copied().flatten());
        }
        let reached = self.reply.sub_reached(index);
        let given = match &sub.given {
            Some(given) if reached => (one_line(given), Tone::Strong),
            Some(given) => (format!("{}…", one_line(given)), Tone::Text),
            None if reached => ("skipped: it counts as wrong".to_owned(), Tone::Bad),
            None => (self.reply.missing_words("skipped").to_owned(), Tone::Faint),
        };
        self.row(flow, "given", &[given]);
        if sub.echo_differs {
            let text = "the reply repeats another question here; the position decides";
            self.row(flow, "note", &[(text.to_owned(), Tone::Warning)]);
        }
        if self.gold {
            self.row(flow, "true", &[(one_line(&sub.gold), Tone::Good)]);
            if let Some(planted) = &sub.planted {
                self.row(flow, "planted", &[(one_line(planted), Tone::Adversarial)]);
            }
            if let Some(given) = sub.given.as_ref().filter(|_| reached) {
                self.match_of(given, sub, flow);
            }
        }
        if reached {
            self.attribution(sub, flow);
        }
        let robust = self.reply.context.scenario == Scenario::Robustness;
        if robust && (reached || sub.verdict.is_some()) {
            self.verdict(sub, flow);
        }
    }

    /// Exact match and overlap, with the forms that were compared.
    fn match_of(&self, given: &str, sub: &SubScore, flow: &mut Flow) {
        let (mark, tone) = right_mark(sub.exact);
        let sign = if sub.exact { "=" } else { "≠" };
        let compared = format!(
            "“{}” {sign} “{}”  ",
            one_line(&headline(given)),
            one_line(&headline(&sub.gold))
        );
        let pieces = [
            (compared, Tone::Text),
            (format!("{mark} exact match, after normalisation"), tone),
        ];
        self.row(flow, "match", &pieces);
        let squad = if sub.exact_squad {
            "equal"
        } else {
            "not equal"
        };
        let text = format!(
            "token F1 {:.2}; {squad} under SQuAD's normalisation",
            sub.f1
        );
        self.row(flow, "overlap", &[(text, Tone::Text)]);
        if sub.adopted {
            let text = "✗ it is the planted answer, and not the true one: adopted".to_owned();
            self.row(flow, "adopted", &[(text, Tone::Bad)]);
        }
        if let Some(judge) = sub.judge {
            let text = format!("the judge model gives {judge} of 1");
            self.row(flow, "judge", &[(text, Tone::Text)]);
        }
    }

    fn attribution(&self, sub: &SubScore, flow: &mut Flow) {
        let (mark, tone) = right_mark(sub.attributed);
        let named = sub.named.as_deref().unwrap_or("no document");
        let pieces = [
            (
                format!("names {}, belongs to {}  ", one_line(named), sub.label),
                Tone::Text,
            ),
            (mark.to_owned(), tone),
        ];
        self.row(flow, "document", &pieces);
    }

    fn verdict(&self, sub: &SubScore, flow: &mut Flow) {
        let said = match sub.verdict {
            Some(true) => "called factually correct",
            Some(false) => "called factually wrong",
            None => "no verdict: it counts as wrong",
        };
        let is = if sub.planted.is_some() {
            "edited"
        } else {
            "original"
        };
        let (mark, tone) = right_mark(sub.verdict_right == Some(true));
        let pieces = if self.gold {
            vec![
                (format!("{said}; the document is {is}  "), Tone::Text),
                (mark.to_owned(), tone),
            ]
        } else {
            vec![(said.to_owned(), Tone::Text)]
        };
        self.row(flow, "verdict", &pieces);
    }

    fn metrics(&self, scores: &Scores, flow: &mut Flow) {
        if scores.counts.is_empty() || !self.gold {
            return;
        }
        if self.reply.running() {
            return self.metrics_so_far(scores, flow);
        }
        self.heading(flow, "Metrics of this reply");
        for (metric, ratio) in &scores.counts {
            let Some(value) = ratio.value() else { continue };
            let title = Measure::Of(*metric).title();
            let text = format!("{title} = {} / {}", number(ratio.num), number(ratio.den));
            let pieces = [
                (format!("{:>5.1} %  ", value * 100.0), Tone::Strong),
                (text, Tone::Text),
            ];
            self.row(flow, "", &pieces);
        }
    }

    /// Figures over what has come, which are no rates yet.
    fn metrics_so_far(&self, scores: &Scores, flow: &mut Flow) {
        self.heading(flow, "So far");
        for metric in scores.counts.keys() {
            if self.reply.so_far(*metric).is_none() {
                continue;
            }
            let (value, _) = so_far_words(self.reply, *metric);
            let title = Measure::Of(*metric).title();
            let pieces = [
                (format!("{value}  "), Tone::Strong),
                (title.to_owned(), Tone::Text),
            ];
            self.row(flow, "", &pieces);
        }
        let text = "The reply is still coming; only what it has said is judged here.";
        flow.say(&self.app.wraps, text, Tone::Warning);
    }
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// The words at a place of the raw reply, marked, between what stands around them; `None` where the place
/// is empty or not of this text.
fn excerpt(raw: &str, place: Span) -> Option<Vec<(String, Tone)>> {
    let words = place.of(raw).filter(|words| !words.is_empty())?;
    let before = &raw[..place.start];
    let after = &raw[place.end..];
    let from = before.ceil_char_boundary(before.len().saturating_sub(AROUND));
    let dots = |cut: bool| if cut { "…" } else { "" };
    let shown = &words[..words.floor_char_boundary(LONGEST)];
    let rest = &after[..after.floor_char_boundary(AROUND)];
    Some(vec![
        (
            format!(
                "{}{}",
                dots(from > 0),
                collapse_keeping_ends(&before[from..])
            ),
            Tone::Faint,
        ),
        (
            format!("{}{}", collapse(shown), dots(shown.len() < words.len())),
            Tone::Match,
        ),
        (
            format!(
                "{}{}",
                collapse_keeping_ends(rest),
                dots(rest.len() < after.len())
            ),
            Tone::Faint,
        ),
    ])
}

/// White space collapsed, with one space kept at the ends where there was some.
fn collapse_keeping_ends(text: &str) -> String {
    let space = |is: bool| if is { " " } else { "" };
    let starts = space(text.starts_with(char::is_whitespace));
    let ends = space(text.ends_with(char::is_whitespace) && !text.trim().is_empty());
    format!("{starts}{}{ends}", collapse(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn excerpts_mark_the_words() {
        let raw = format!("{} é\n\n\"B\" {}", "ü".repeat(50), "x".repeat(90));
        let start = raw.find('B').unwrap();
        let place = Span {
            start,
            end: start + 1,
        };
        let pieces = excerpt(&raw, place).unwrap();
        assert_eq!(pieces[1], ("B".to_owned(), Tone::Match));
        assert!(pieces[0].0.starts_with('…') && pieces[0].0.ends_with("é \""));
        assert!(pieces[2].0.starts_with("\" x") && pieces[2].0.ends_with('…'));
        let empty = Span { start: 3, end: 3 };
        assert_eq!(excerpt(&raw, empty), None);
        let elsewhere = Span {
            start: 0,
            end: 9999,
        };
        assert_eq!(excerpt(&raw, elsewhere), None);
    }
}
