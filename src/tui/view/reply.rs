//! The reply as it arrives: folded into its parts, or raw.

use std::rc::Rc;

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::answer::{Ending, Outcome, ParsedReply, SubAnswer};
use crate::domain::context::{Context, Scenario};
use crate::domain::passage::Role;
use crate::domain::text::count;
use crate::tui::app::instance::InstanceState;
use crate::tui::app::reply::{Phase, ReplyState, Verdict, Whose, caution};
use crate::tui::app::{App, ModelState, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::chrome::span;
use crate::tui::view::documents::role_mark;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{cut, fitting, one_line};
use crate::tui::widgets::text::Rich;

/// Width of the names of the parts.
const NAME: u16 = 12;

/// What the frame keeps of a title's width: corners, blanks, and the gap between the two ends.
const TITLE_MARGIN: usize = 10;

/// The same where the name is what must be seen.
const LEAST_OF_ANOTHER: usize = 10;

/// What stands before the name of a model that is not known to be the chosen one.
const NAMED_AS: &str = "Stored reply of ";

/// What the frame itself takes of a title's width.
const TITLE_FRAME: usize = 6;

/// Fewer columns than this of a model's name say nothing.
const LEAST_NAME: usize = 14;

pub(super) fn titles(
    app: &App,
    state: &InstanceState,
    width: usize,
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let theme = &app.theme;
    let mut left = vec![span(theme, "Reply", Tone::Title)];
    let Some(reply) = shown(app, state) else {
        return (left, Vec::new());
    };
    let mut answer = short_answer(app, state, reply);
    if state.raw {
        answer.push(span(theme, "  raw", Tone::Warning));
    }
    let room = width.saturating_sub(TITLE_FRAME);
    let taken: usize = answer.iter().map(Span::width).sum();
    let mut whose = whose_words(app, reply, room.saturating_sub(taken));
    let named = !whose.is_empty();
    if named && !whose.contains(NAMED_AS) {
        // Whose it is must be known; the answer stands below and beside it too.
        answer.clear();
        whose = whose_words(app, reply, room);
    }
    if named {
        left = vec![span(theme, whose, Tone::Warning)];
    }
    left.extend(answer);
    let mut facts = facts(app, reply);
    let used: usize = left.iter().map(Span::width).sum();
    let room = width.saturating_sub(used + TITLE_MARGIN);
    // The last facts are the least needed, and the model's name stands in the header too; whose reply this is says
    // more than any of them.
    let least = usize::from(!named);
    while facts.len() > least && facts.join(" · ").width() > room {
        facts.pop();
    }
    let facts = facts.join(" · ");
    let room = room.saturating_sub(facts.width() + 2);
    if room >= LEAST_NAME && !named {
        let model = cut(&one_line(&reply.model), room);
        left.push(span(theme, format!("  {model}"), Tone::Faint));
    }
    (left, vec![span(theme, facts, Tone::Faint)])
}

/// Whose a stored reply is that is not known to be the chosen model's, in at most `width` columns; the name is cut
/// before what is said of it.
pub(super) fn whose_words(app: &App, reply: &ReplyState, width: usize) -> String {
    let name = one_line(&reply.model);
    let not_chosen = match app.replies.whose(reply) {
        Whose::Chosen => return String::new(),
        Whose::Another => ", not of the chosen model",
        Whose::Unknown => "",
    };
    let room = width.saturating_sub(NAMED_AS.width() + not_chosen.width());
    let short = cut(&name, room.max(LEAST_OF_ANOTHER));
    let choices = [
        format!("{NAMED_AS}{name}{not_chosen}"),
        format!("{NAMED_AS}{short}{not_chosen}"),
        format!("Stored reply{}", not_chosen.trim_start_matches(',')),
    ];
    fitting(choices, width)
}

/// The answer and whether it is right, for the title.
fn short_answer(app: &App, state: &InstanceState, reply: &ReplyState) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let mut spans = Vec::new();
    if let Some(letter) = reply.parsed.as_ref().and_then(|parsed| parsed.answer) {
        spans.push(span(theme, format!("  {letter}"), Tone::Strong));
    }
    if let Some(verdict) = reply.verdict().filter(|_| state.gold) {
        let (mark, word) = verdict.words();
        spans.push(span(
            theme,
            format!("  {mark} {word}"),
            verdict_tone(verdict),
        ));
    }
    spans
}

/// Speed, size and times of a reply, the most needed first.
fn facts(app: &App, reply: &ReplyState) -> Vec<String> {
    let mut facts = Vec::new();
    let speed = app.playing_speed();
    let at_another_speed = (speed - 1.0).abs() > f64::EPSILON;
    if reply.running() && app.replays() && at_another_speed {
        facts.push(format!("×{speed}"));
        if reply.recording.is_none() {
            // Times measured while it plays are those of the playing.
            let (tokens, _) = reply.tokens();
            facts.push(format!("≈{}", count(tokens, "token")));
            return facts;
        }
    }
    if let Some(rate) = reply.rate(app.now) {
        facts.push(format!("{rate:.0} tok/s"));
    }
    let (tokens, estimated) = reply.tokens();
    if tokens > 0 {
        let about = if estimated { "≈" } else { "" };
        facts.push(format!("{about}{}", count(tokens, "token")));
    }
    if let Some(first) = reply.first_token {
        facts.push(format!("first token {:.1} s", first.as_secs_f64()));
    }
    if let Some(total) = reply.total {
        facts.push(format!("{:.1} s", total.as_secs_f64()));
    }
    if let Some(cached) = reply.usage.cached_tokens.filter(|count| *count > 0) {
        facts.push(format!("{cached} cached"));
    }
    facts
}

fn shown<'a>(app: &'a App, state: &InstanceState) -> Option<&'a ReplyState> {
    app.replies.shown(state.context()?)
}

pub(super) fn flow(app: &App, state: &InstanceState, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    match shown(app, state) {
        None => invitation(app, state, &mut flow),
        Some(reply) => {
            origin(app, reply, &mut flow);
            if state.raw {
                raw(app, reply, &mut flow);
            } else {
                let shown = Revealed {
                    gold: state.gold,
                    roles: true,
                };
                parts(app, shown, reply, &mut flow);
            }
            status(app, reply, &mut flow);
        }
    }
    flow
}

/// A stored reply apart from the question's screen: with the answer, the documents' roles, its parts or its raw
/// text.
pub(super) fn finished(app: &App, reply: &ReplyState, as_received: bool, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    origin(app, reply, &mut flow);
    if as_received {
        let plain = || Rc::new(Rich::plain(&reply.raw, Tone::Text));
        flow.text(
            &app.wraps,
            reply.highlighted.clone().unwrap_or_else(plain),
            0,
        );
        return flow;
    }
    let documents: Vec<(String, Tone)> = reply
        .context
        .documents
        .iter()
        .map(|document| {
            let (mark, tone) = role_mark(document.role);
            (format!("{}{mark}  ", document.label), tone)
        })
        .collect();
    if !documents.is_empty() {
        part(app, &mut flow, "documents", &documents);
    }
    let shown = Revealed {
        gold: true,
        roles: true,
    };
    parts(app, shown, reply, &mut flow);
    if let Some(parsed) = &reply.parsed {
        part(
            app,
            &mut flow,
            "outcome",
            &[(outcome_words(parsed.outcome).to_owned(), Tone::Faint)],
        );
    }
    if let Phase::Failed(message) = &reply.phase {
        flow.say(&app.wraps, &format!("No reply came: {message}"), Tone::Bad);
    }
    flow
}

fn invitation(app: &App, state: &InstanceState, flow: &mut Flow) {
    let ask = app.keymap.key(Command::Ask);
    if state.composed.is_err() {
        return flow.say(&app.wraps, "There is no context to ask about.", Tone::Faint);
    }
    if let ModelState::Failed(problem) = &app.model {
        flow.say(&app.wraps, problem, Tone::Bad);
        flow.gap();
        let text = format!("{ask} tries again.");
        return flow.say(&app.wraps, &text, Tone::Faint);
    }
    let model = match &app.model {
        ModelState::Ready(identity) => identity.name.as_str(),
        _ => app.settings.model.as_str(),
    };
    // The keys of a talk are others.
    if app.screen == Screen::Talk {
        return flow.say(&app.wraps, "No reply yet.", Tone::Faint);
    }
    let text = format!(
        "No reply for exactly this context yet. {ask} asks {}.",
        one_line(model)
    );
    flow.say(&app.wraps, &text, Tone::Text);
    if let Some(text) = stored_conditions(app, state) {
        flow.say(&app.wraps, &text, Tone::Faint);
    }
    if let Some(running) = &app.replies.running {
        flow.gap();
        let stop = app.keymap.key(Command::Stop);
        let text = format!(
            "The model is answering {} under another condition; {stop} stops it.",
            one_line(&running.question.id)
        );
        flow.say(&app.wraps, &text, Tone::Warning);
    }
    if let ModelState::Ready(identity) = &app.model
        && let Some(caution) = caution(identity)
    {
        flow.gap();
        flow.say(&app.wraps, &format!("Caution: {caution}"), Tone::Warning);
    }
    if let Some(problem) = &app.store_problem {
        flow.gap();
        let text = format!("New replies are kept in memory only: {problem}");
        flow.say(&app.wraps, &text, Tone::Warning);
    }
}

/// Most conditions named in one go.
const NAMED: usize = 8;

/// Under which conditions there are replies to the question on screen.
fn stored_conditions(app: &App, state: &InstanceState) -> Option<String> {
    let mut known: Vec<String> = Vec::new();
    for reply in app.replies.to(&state.question.id) {
        let words = condition_words(&reply.context);
        if !known.contains(&words) {
            known.push(words);
        }
    }
    known.sort();
    let more = known.len().saturating_sub(NAMED);
    known.truncate(NAMED);
    let more = if more > 0 {
        format!(", and {more} more")
    } else {
        String::new()
    };
    (!known.is_empty()).then(|| format!("There are replies under: {}{more}.", known.join("; ")))
}

/// A condition in a few words; what is as usual is left out.
fn condition_words(context: &Context) -> String {
    let mut words = format!("{} n {}", context.scenario, context.docs_requested);
    if context.scenario != Scenario::Standard {
        words += &format!(" p {}", context.p_requested);
    }
    if context.seed != 0 {
        words += &format!(" seed {}", context.seed);
    }
    words
}

/// Where the reply comes from, as far as it is not a plain live one.
fn origin(app: &App, reply: &ReplyState, flow: &mut Flow) {
    if let Some(at) = &reply.stored_at {
        let text = format!("stored reply of {}", short_time(&one_line(at)));
        flow.line(Line::from(span(&app.theme, text, Tone::Faint)));
    }
    if app.screen == Screen::Instance {
        other_models(app, reply, flow);
    }
    // While it runs, the header of its screen has the model with its caution.
    let headed = reply.running() && app.screen == Screen::Instance;
    if let Some(caution) = reply.caution.as_ref().filter(|_| !headed) {
        flow.say(&app.wraps, caution, Tone::Warning);
    }
    if let Some(later) = app.replies.failed_since(&reply.context) {
        let what = match &later.phase {
            Phase::Failed(message) => format!("brought no reply ({message})"),
            _ => "was stopped before an answer".to_owned(),
        };
        let text = match app.replies.whose(reply) {
            Whose::Another => format!("The chosen model's own last try {what}."),
            _ => format!("A later try {what}; this is the newest reply that counts."),
        };
        flow.say(&app.wraps, &text, Tone::Warning);
    }
}

/// That the reply is not the chosen model's and how to get one of it; that there are replies of other models, and the
/// way to them.
fn other_models(app: &App, reply: &ReplyState, flow: &mut Flow) {
    let models = app.replies.models(&reply.context);
    let compare = app.keymap.key(Command::Compare);
    if app.replies.whose(reply) == Whose::Another {
        let ask = app.keymap.key(Command::Ask);
        let chosen = match &app.model {
            ModelState::Ready(identity) => one_line(&identity.name),
            _ => one_line(&app.settings.model),
        };
        let text = format!(
            "The chosen model, {chosen}, has no stored reply to exactly these documents; {ask} asks it."
        );
        flow.say(&app.wraps, &text, Tone::Warning);
    }
    if models > 1 {
        let text = format!(
            "{models} models have replies to exactly these documents; {compare} puts two stored runs side by side."
        );
        flow.say(&app.wraps, &text, Tone::Faint);
    }
}

/// A time as it is stored (RFC 3339, UTC, with milliseconds) to the minute; any other text as it is.
pub(super) fn short_time(stored: &str) -> String {
    match (stored.split_once('T'), stored.ends_with('Z')) {
        (Some((date, time)), true) if date.len() == 10 => match time.get(..5) {
            Some(minute) => format!("{date} {minute} UTC"),
            None => stored.to_owned(),
        },
        _ => stored.to_owned(),
    }
}

pub(super) fn raw(app: &App, reply: &ReplyState, flow: &mut Flow) {
    match &reply.highlighted {
        Some(rich) if !reply.running() => flow.text(&app.wraps, rich.clone(), 0),
        _ => {
            let rich = Rc::new(Rich::plain(&reply.raw, Tone::Text));
            flow.live(&app.wraps, "raw", rich, 0);
        }
    }
}

/// A named part: the name at the left, wrapped text beside it.
pub(super) fn part(app: &App, flow: &mut Flow, name: &str, pieces: &[(String, Tone)]) {
    let pieces = pieces.iter().map(|(text, tone)| (text.as_str(), *tone));
    if flow.width() < 40 {
        // Too narrow for two columns: the name leads the text.
        let name = format!("{name}: ");
        let all = [(name.as_str(), Tone::Faint)].into_iter().chain(pieces);
        return flow.text(&app.wraps, Rc::new(Rich::build(all)), 0);
    }
    let head = Line::from(span(&app.theme, name.to_owned(), Tone::Faint));
    flow.beside(&app.wraps, head, NAME, Rc::new(Rich::build(pieces)));
}

/// A long text under its name.
fn long(app: &App, flow: &mut Flow, slot: &'static str, name: &str, text: &str, tone: Tone) {
    flow.line(Line::from(span(&app.theme, name.to_owned(), Tone::Faint)));
    let rich = Rc::new(Rich::plain(text.trim(), tone));
    flow.live(&app.wraps, slot, rich, 2);
}

/// What may be seen beside a reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Revealed {
    /// Whether the answer is right, and which is.
    pub(super) gold: bool,
    /// The roles of documents.
    pub(super) roles: bool,
}

/// A document's label, with the mark of its role where that may be seen.
fn labelled(label: &str, role: Role, shown: Revealed) -> (String, Tone) {
    let (mark, tone) = role_mark(role);
    match shown.roles {
        true => (format!("{label}{mark}"), tone),
        false => (label.to_owned(), Tone::Text),
    }
}

/// The reply folded into its parts.
pub(super) fn parts(app: &App, shown: Revealed, reply: &ReplyState, flow: &mut Flow) {
    if !reply.reasoning.trim().is_empty() {
        long(
            app,
            flow,
            "provider",
            "the model's reasoning field",
            &reply.reasoning,
            Tone::Faint,
        );
    }
    let Some(parsed) = &reply.parsed else {
        if !reply.raw.is_empty() {
            raw(app, reply, flow);
        }
        return;
    };
    if let Some(hidden) = parsed
        .hidden
        .as_deref()
        .filter(|text| !text.trim().is_empty())
    {
        long(
            app,
            flow,
            "hidden",
            "thinking aloud (<think>)",
            hidden,
            Tone::Faint,
        );
    }
    if reply.context.scenario == Scenario::Sufficiency {
        labels(app, reply, shown, true, &parsed.relevant, flow);
        labels(app, reply, shown, false, &parsed.irrelevant, flow);
    }
    for (index, sub) in parsed.subs.iter().enumerate() {
        if let Some(sub) = sub {
            sub_answer(app, reply, shown, (index, sub), flow);
        }
    }
    if let Some(text) = parsed
        .reasoning
        .as_deref()
        .filter(|text| !text.trim().is_empty())
    {
        long(app, flow, "thinking", "thinking", text, Tone::Text);
    }
    answer(app, shown, reply, parsed, flow);
    let nothing_read = parsed.reasoning.is_none()
        && parsed.relevant.is_empty()
        && parsed.irrelevant.is_empty()
        && parsed.subs.iter().all(Option::is_none)
        && parsed.answer.is_none();
    if nothing_read && !reply.raw.trim().is_empty() {
        flow.line(Line::from(span(&app.theme, "as received", Tone::Faint)));
        raw(app, reply, flow);
    }
}

fn labels(
    app: &App,
    reply: &ReplyState,
    shown: Revealed,
    relevant: bool,
    positions: &[usize],
    flow: &mut Flow,
) {
    let name = if relevant { "relevant" } else { "irrelevant" };
    if positions.is_empty() && !reply.list_closed(relevant) {
        if !reply.running() {
            part(app, flow, name, &[("not reached".into(), Tone::Faint)]);
        }
        return;
    }
    let mut pieces = Vec::new();
    for doc in positions
        .iter()
        .filter_map(|&at| reply.context.documents.get(at))
    {
        let (label, tone) = labelled(&doc.label, doc.role, shown);
        pieces.push((format!("{label}  "), tone));
    }
    if pieces.is_empty() {
        pieces.push(("none".into(), Tone::Faint));
    }
    part(app, flow, name, &pieces);
}

fn sub_answer(
    app: &App,
    reply: &ReplyState,
    shown: Revealed,
    (index, sub): (usize, &SubAnswer),
    flow: &mut Flow,
) {
    let mut pieces = Vec::new();
    if let Some(answer) = &sub.answer {
        let cut = if reply.sub_reached(index) { "" } else { "…" };
        pieces.push((format!("{}{cut}", one_line(answer)), Tone::Strong));
    }
    let named = sub.document.and_then(|at| reply.context.documents.get(at));
    match (named, &sub.document_raw) {
        (Some(doc), _) => {
            let (label, tone) = labelled(&doc.label, doc.role, shown);
            pieces.push((format!("  from {label}"), tone));
        }
        (None, Some(raw)) => {
            pieces.push((format!("  from {} (unknown)", one_line(raw)), Tone::Warning))
        }
        (None, None) => {}
    }
    match sub.factual {
        Some(true) => pieces.push(("  calls it correct".into(), Tone::Faint)),
        Some(false) => pieces.push(("  calls it wrong".into(), Tone::Faint)),
        None => {}
    }
    part(app, flow, &format!("sub {}", index + 1), &pieces);
}

fn answer(app: &App, shown: Revealed, reply: &ReplyState, parsed: &ParsedReply, flow: &mut Flow) {
    let ended = !reply.running();
    let mut pieces = Vec::new();
    match (parsed.outcome, parsed.answer) {
        (Outcome::Answered, Some(letter)) => {
            let text = reply.question.option(letter).unwrap_or_default();
            pieces.push((format!("{letter}  {}", one_line(text)), Tone::Strong));
        }
        (Outcome::Insufficient, _) => {
            pieces.push(("insufficient information".into(), Tone::Strong));
        }
        (outcome, _) if ended => {
            pieces.push((outcome_words(outcome).into(), Tone::Warning));
        }
        _ => return,
    }
    if let Some(verdict) = reply.verdict().filter(|_| shown.gold) {
        let (mark, word) = verdict.words();
        pieces.push((format!("   {mark} {word}"), verdict_tone(verdict)));
        if verdict != Verdict::Right {
            let gold = reply.question.answer;
            let text = format!(
                "   (gold: {gold}  {})",
                one_line(reply.question.gold_text())
            );
            pieces.push((text, Tone::Faint));
        }
    }
    part(app, flow, "answer", &pieces);
    if !reply.probabilities.is_empty() {
        let odds: Vec<String> = reply
            .probabilities
            .iter()
            .map(|(letter, p)| format!("{letter} {:.0} %", p * 100.0))
            .collect();
        // They are taken where the answer's letter is written, whatever came of it in the end.
        let what = if parsed.answer.is_some() {
            "   (the model's own probabilities of the options)"
        } else {
            "   (the model's own probabilities of the options; this reply chose none)"
        };
        let pieces = [(odds.join("   "), Tone::Text), (what.into(), Tone::Faint)];
        part(app, flow, "own odds", &pieces);
    }
    if ended {
        for note in &parsed.notes {
            part(app, flow, "note", &[(one_line(note), Tone::Faint)]);
        }
    }
}

/// An outcome in words.
pub(super) fn outcome_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Insufficient => "insufficient information",
        Outcome::Refused => "declined to answer",
        Outcome::SeveralOptions => "names several options",
        Outcome::NotOffered => "names an option that is not offered",
        Outcome::Unreadable => "no answer can be read from this reply",
        Outcome::Truncated => "cut off by the token limit before an answer",
        Outcome::Interrupted => "broke off before an answer",
        Outcome::ProviderError => "an error message instead of a reply",
        Outcome::Empty => "an empty reply",
    }
}

/// What is going on, at the end of the panel.
fn status(app: &App, reply: &ReplyState, flow: &mut Flow) {
    let ask = app.keymap.key(Command::Ask);
    match &reply.phase {
        Phase::Running => {
            let waited = app.now.saturating_sub(reply.started);
            let seconds = reply.recorded_so_far().unwrap_or(waited).as_secs();
            let what = if reply.stopping {
                "stopping"
            } else if !reply.status.is_empty() {
                reply.status.as_str()
            } else {
                "writing"
            };
            let text = format!("▌ {what} … {seconds} s");
            flow.say(&app.wraps, &text, Tone::Key);
            if app.replays() && app.screen == Screen::Instance {
                let key = |command| app.keymap.key(command);
                let text = format!(
                    "a recording, played ×{}: {} plays it faster, {} slower",
                    app.speed,
                    key(Command::TalkFaster),
                    key(Command::TalkSlower)
                );
                flow.say(&app.wraps, &text, Tone::Faint);
            }
            if app.sharing_processor() {
                let screen = app.keymap.key(Command::Retrieval);
                let text = format!(
                    "Documents are being encoded too ({screen} shows how far): both share the processor and are slower for it."
                );
                flow.say(&app.wraps, &text, Tone::Warning);
            }
        }
        Phase::Failed(message) => {
            flow.say(&app.wraps, &format!("No reply: {message}"), Tone::Bad);
            flow.say(&app.wraps, &format!("{ask} asks again."), Tone::Faint);
        }
        Phase::Done => match reply.ending {
            Ending::Length => flow.say(
                &app.wraps,
                "Cut off by the token limit (max_tokens).",
                Tone::Warning,
            ),
            Ending::Interrupted => {
                let text = format!("Stopped before the end; what came is kept. {ask} asks again.");
                flow.say(&app.wraps, &text, Tone::Warning);
            }
            _ => {}
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_time_is_shown_to_the_minute() {
        assert_eq!(
            short_time("2026-11-30T05:20:01.796Z"),
            "2026-11-30 05:20 UTC"
        );
        assert_eq!(
            short_time("2026-11-30T05:20:01+02:00"),
            "2026-11-30T05:20:01+02:00"
        );
        assert_eq!(short_time("yesterdayT"), "yesterdayT");
    }
}
