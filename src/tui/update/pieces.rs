//! Copying pieces of the screen, and opening them in a pager: what there is on each screen, and the keys of the list.

use std::fmt::Write as _;

use crossterm::event::{KeyCode, KeyEvent};

use crate::data::dataset::Dataset;
use crate::domain::context::{Condition, Context, ContextDocument, Scenario};
use crate::domain::question::Question;
use crate::domain::text::one_line;
use crate::tui::app::compare;
use crate::tui::app::instance::{InstanceState, Panel};
use crate::tui::app::pieces::{Destination, MOST_COPIED, Piece, size};
use crate::tui::app::plan::quoted;
use crate::tui::app::sweep::Page;
use crate::tui::app::{App, Overlay, Screen};
use crate::tui::command::Command;
use crate::tui::editor::{Outside, Program, Purpose};
use crate::tui::effects::Effect;
use crate::tui::view;
use crate::tui::widgets::diff::DiffView;

/// Opens the list of what can be taken from this screen.
pub(super) fn open(app: &mut App, to: Destination) -> Vec<Effect> {
    let (pieces, selected) = of_screen(app);
    if pieces.is_empty() {
        app.say(match to {
            Destination::Clipboard => "there is nothing to copy here yet",
            Destination::Pager => "there is nothing here yet to open in a pager",
        });
        return Vec::new();
    }
    app.overlay = Some(Overlay::Pieces {
        selected,
        to,
        pieces,
    });
    Vec::new()
}

/// Keys of the list: a piece's own key takes it at once.
pub(super) fn on_key(app: &mut App, key: KeyEvent, command: Option<Command>) -> Vec<Effect> {
    let Some(Overlay::Pieces {
        selected,
        to,
        pieces,
    }) = &mut app.overlay
    else {
        return Vec::new();
    };
    let last = pieces.len().saturating_sub(1);
    let own = match key.code {
        KeyCode::Char(letter) => pieces.iter().position(|piece| piece.key == letter),
        _ => None,
    };
    // The key that opened the list takes what stands chosen, so that pressing it twice does the likeliest.
    let again = match to {
        Destination::Clipboard => command == Some(Command::Copy),
        Destination::Pager => command == Some(Command::View),
    };
    let taken = match key.code {
        _ if own.is_some() => own,
        KeyCode::Enter => Some(*selected),
        _ if again => Some(*selected),
        KeyCode::Up => {
            *selected = selected.saturating_sub(1);
            None
        }
        KeyCode::Down => {
            *selected = (*selected + 1).min(last);
            None
        }
        KeyCode::Esc | KeyCode::Char('q') => {
            app.overlay = None;
            return Vec::new();
        }
        _ => None,
    };
    let Some(piece) = taken.and_then(|at| pieces.get(at)).cloned() else {
        return Vec::new();
    };
    let to = *to;
    app.overlay = None;
    match to {
        Destination::Clipboard => copy(app, piece),
        Destination::Pager => show(piece),
    }
}

fn copy(app: &mut App, piece: Piece) -> Vec<Effect> {
    if piece.text.len() > MOST_COPIED {
        let view = app.keymap.key(Command::View);
        app.complain(format!(
            "Not copied: {} has {}, more than terminals take ({}); {view} opens it in your pager",
            piece.name,
            piece.size(),
            size(MOST_COPIED)
        ));
        return Vec::new();
    }
    app.say(format!(
        "copied {}, {} (the terminal decides whether its clipboard takes it)",
        piece.name,
        piece.size()
    ));
    vec![Effect::Copy(piece.text)]
}

fn show(piece: Piece) -> Vec<Effect> {
    vec![Effect::OpenOutside(Box::new(Outside {
        program: Program::Pager,
        text: piece.text,
        file: "medrgb.txt",
        purpose: Purpose::Read,
    }))]
}

/// What can be taken from this screen, and which of it is likeliest to be meant.
fn of_screen(app: &App) -> (Vec<Piece>, usize) {
    match app.screen {
        Screen::Browse => (of_list(app), 0),
        Screen::Instance | Screen::Probe => of_instance(app),
        Screen::Retrieval => (of_retrieval(app), 0),
        Screen::Sweep => (of_sweep(app), 0),
        Screen::Compare => (of_pair(app), 0),
        Screen::Queue => (of_queue(app), 0),
        Screen::Annotate => (of_reply(app), 0),
        Screen::Find => (of_find(app), 0),
        Screen::Review | Screen::ReviewItem | Screen::Build | Screen::Talk => (Vec::new(), 0),
    }
}

fn of_list(app: &App) -> Vec<Piece> {
    let found = app.browse.current();
    let Some((dataset, question)) = app
        .data()
        .and_then(|data| Some((data, data.questions.get(found?)?)))
    else {
        return Vec::new();
    };
    let condition = app
        .instance
        .as_ref()
        .map_or_else(Condition::default, |state| state.condition);
    vec![
        question_piece(question, true),
        Piece::new(
            'c',
            "the command that shows its documents",
            &command("compose", dataset, &question.id, &condition),
        ),
    ]
}

fn of_instance(app: &App) -> (Vec<Piece>, usize) {
    let Some(state) = &app.instance else {
        return (Vec::new(), 0);
    };
    let mut pieces = documents_in_sight(app, state);
    pieces.push(question_piece(&state.question, state.gold));
    let composed = state.composed.as_ref().ok();
    if let Some(composed) = composed {
        if !composed.context.documents.is_empty() {
            pieces.push(Piece::new(
                'D',
                "all documents, as the model gets them",
                &all_documents(&composed.context),
            ));
        }
        if let Ok(prompt) = &composed.prompt {
            let text = format!("{}\n\n{}", prompt.system, prompt.user);
            pieces.push(Piece::new('p', "the prompt", text.trim_start()));
        }
        let reply = app.replies.shown(&composed.context);
        if let Some(reply) = reply.filter(|reply| !reply.raw.is_empty()) {
            pieces.push(Piece::new('r', "the raw reply", &reply.raw));
        }
    }
    if let Some(dataset) = app.data() {
        let of = |verb| command(verb, dataset, &state.question.id, &state.condition);
        pieces.push(Piece::new(
            'c',
            "the command that shows this context",
            &of("compose"),
        ));
        let mut ask = format!("{} --model {}", of("ask"), quoted(&app.settings.model));
        for word in &app.sweep.flags {
            let _ = write!(ask, " {}", quoted(word));
        }
        pieces.push(Piece::new('a', "the command that asks it", &ask));
    }
    let likely = match state.focus {
        Panel::Question => 'q',
        Panel::Reply | Panel::Scores => 'r',
        Panel::Signal | Panel::Noise | Panel::Adversarial => 'd',
    };
    let at = pieces.iter().position(|piece| piece.key == likely);
    (pieces, at.unwrap_or(0))
}

/// The document that stands at the top of the focused column, and what was changed in it.
fn documents_in_sight(app: &App, state: &InstanceState) -> Vec<Piece> {
    let Ok(composed) = &state.composed else {
        return Vec::new();
    };
    let columns = [Panel::Signal, Panel::Noise, Panel::Adversarial];
    let panel = match state.focus.role() {
        Some(_) => Some(state.focus),
        None => columns
            .into_iter()
            .find(|panel| panel.role().is_some_and(|role| state.count(role) > 0)),
    };
    let Some((panel, role)) = panel.and_then(|panel| Some((panel, panel.role()?))) else {
        return Vec::new();
    };
    let sight = view::instance::sight(app, panel);
    let row = sight.and_then(|sight| {
        let anchors = sight.anchors.iter();
        anchors.clone().rposition(|&anchor| anchor <= sight.at)
    });
    let mut of_role = composed
        .context
        .documents
        .iter()
        .zip(&composed.docs)
        .filter(|(document, _)| document.role == role);
    let Some((document, drawn)) = of_role.nth(row.unwrap_or(0)) else {
        return Vec::new();
    };
    let name = format!("document {} {}", document.label, drawn.title);
    let mut pieces = vec![Piece::new('d', name, &document_text(document))];
    if let Some(diff) = &drawn.diff {
        let text = format!(
            "{}\n\nold words [-so-], new ones {{+so+}}:\n\n{}\n\nas the model gets it:\n\n{}\n\nthe original:\n\n{}",
            one_line(&document.title),
            marked(diff.view(DiffView::Both)),
            document.content.trim(),
            diff.view(DiffView::Deleted).text()
        );
        let name = format!("what was changed in {}", document.label);
        pieces.push(Piece::new('x', name, &text));
    }
    pieces
}

/// A difference with marks that need no colour: `[-old-]` and `{+new+}`.
fn marked(rich: &crate::tui::widgets::text::Rich) -> String {
    use crate::tui::theme::Tone;
    let text = rich.text();
    let mut out = String::with_capacity(text.len() + 32);
    for (piece, tone) in rich.pieces(0..text.len()) {
        // Without colours the marks are in the text already.
        let _ = match tone {
            Tone::Deleted if !piece.starts_with("[-") => write!(out, "[-{piece}-]"),
            Tone::Inserted if !piece.starts_with("{+") => write!(out, "{{+{piece}+}}"),
            _ => write!(out, "{piece}"),
        };
    }
    out
}

fn of_retrieval(app: &App) -> Vec<Piece> {
    let retrieval = &app.retrieval;
    let list = retrieval.lists.get(retrieval.focus);
    let found = list.and_then(|list| list.as_ref()?.as_ref().ok());
    let at = retrieval.selected.get(retrieval.focus);
    let hit = found.and_then(|found| found.hits.get(*at?));
    let mut pieces: Vec<Piece> = hit
        .map(|hit| {
            let text = format!("{}\n\n{}", one_line(&hit.title), hit.content);
            Piece::new('d', format!("document {}", hit.id), text.trim_start())
        })
        .into_iter()
        .collect();
    let query = retrieval.query.text();
    if !query.is_empty() {
        pieces.push(Piece::new('q', "the query", query));
    }
    pieces
}

fn of_sweep(app: &App) -> Vec<Piece> {
    let sweep = &app.sweep;
    let running = sweep.running.as_ref();
    let planned = match (&app.dataset, sweep.page) {
        (crate::tui::app::DatasetState::Ready(dataset), Page::Plan) => sweep
            .estimated
            .as_ref()
            .map(|request| request.command(dataset, &sweep.flags)),
        _ => None,
    };
    let command = match sweep.page {
        Page::Plan => planned,
        _ => running.map(|running| running.command.clone()),
    };
    let run = match sweep.page {
        Page::Runs => sweep.run().map(|run| run.name.clone()),
        Page::Curves => sweep.curves.as_ref().map(|curves| curves.run.clone()),
        _ => None,
    };
    let mut pieces = Vec::new();
    if let Some(run) = run {
        let text = format!("medrgb report --run {}", quoted(&run));
        pieces.push(Piece::new(
            't',
            "the command that reports on this run",
            &text,
        ));
    }
    if let Some(command) = command {
        pieces.push(Piece::new('c', "the command of this sweep", &command));
    }
    pieces
}

fn of_pair(app: &App) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if let (compare::Page::Pair, Some(pair)) = (app.compare.page, app.compare.pair.ready()) {
        let (a, b) = &**pair;
        pieces.push(Piece::new('a', "the raw reply of A", &a.raw));
        pieces.push(Piece::new('b', "the raw reply of B", &b.raw));
        pieces.push(question_piece(&a.question, true));
    }
    if let (Some(a), Some(b)) = (&app.compare.a, &app.compare.b) {
        let text = format!(
            "medrgb compare {} {} --model-a {} --model-b {}",
            quoted(&a.run),
            quoted(&b.run),
            quoted(&a.model),
            quoted(&b.model)
        );
        pieces.push(Piece::new('c', "the command that compares the two", &text));
    }
    pieces
}

fn of_queue(app: &App) -> Vec<Piece> {
    let Some(queue) = &app.annotate.queue else {
        return Vec::new();
    };
    let mut pieces = Vec::new();
    if let Some(item) = queue.item() {
        pieces.push(Piece::new('q', "the question", &item.brief.question.text));
        let note = queue.said().note;
        if !note.is_empty() {
            pieces.push(Piece::new('n', "your note", &note));
        }
    }
    let text = format!("medrgb annotate export --run {}", quoted(&queue.run));
    pieces.push(Piece::new(
        'c',
        "the command that exports what was said",
        &text,
    ));
    pieces
}

/// The reply that is labelled; what is hidden from its annotator is not among the pieces.
fn of_reply(app: &App) -> Vec<Piece> {
    let Some(queue) = &app.annotate.queue else {
        return Vec::new();
    };
    let mut pieces = Vec::new();
    let hidden = app.annotate.hidden();
    if let Some((_, Ok(open))) = &queue.open {
        let reply = &open.state;
        if !reply.raw.is_empty() {
            pieces.push(Piece::new('r', "the raw reply", &reply.raw));
        }
        pieces.push(question_piece(&reply.question, !hidden));
        if !reply.context.documents.is_empty() {
            let text = all_documents(&reply.context);
            pieces.push(Piece::new('D', "all documents", &text));
        }
    }
    let note = queue.said().note;
    if !note.is_empty() {
        pieces.push(Piece::new('n', "your note", &note));
    }
    if let (Some(item), Some(dataset), false) = (queue.item(), app.data(), hidden)
        && dataset.fingerprint == *item.brief.question.dataset_fingerprint
    {
        let brief = &item.brief;
        let text = command("compose", dataset, &brief.question.id, &brief.condition);
        pieces.push(Piece::new(
            'c',
            "the command that shows this context",
            &text,
        ));
    }
    pieces
}

fn of_find(app: &App) -> Vec<Piece> {
    let hit = app.find.hits.get(app.find.selected);
    let hit = hit.map(|hit| Piece::new('e', "the words around the match", &hit.excerpt));
    let words = app.find.input.text();
    let words = (!words.is_empty()).then(|| Piece::new('w', "what you look for", words));
    hit.into_iter().chain(words).collect()
}

/// A question with its options, the right one only where it is on screen.
fn question_piece(question: &Question, gold: bool) -> Piece {
    let mut text = format!("{}\n", question.text.trim());
    for option in &question.options {
        let _ = write!(text, "\n{}  {}", option.letter, option.text.trim());
    }
    if gold {
        let _ = write!(text, "\n\nright: {}", question.answer);
    }
    Piece::new('q', "the question with its options", &text)
}

fn document_text(document: &ContextDocument) -> String {
    let text = format!(
        "{}\n\n{}",
        one_line(&document.title),
        document.content.trim()
    );
    text.trim_start().to_owned()
}

fn all_documents(context: &Context) -> String {
    let texts = context
        .documents
        .iter()
        .map(|document| format!("{}  {}", document.label, document_text(document)));
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The command that makes a condition: flags that say what goes without saying are left out.
fn command(verb: &str, dataset: &Dataset, question: &str, condition: &Condition) -> String {
    let usual = Condition::default();
    let mut text = format!("medrgb {verb}");
    let mut flag = |name: &str, value: &str| {
        // A value that begins like a flag is none only behind an equals sign.
        let between = if value.starts_with('-') { '=' } else { ' ' };
        let _ = write!(text, " {name}{between}{}", quoted(value));
    };
    if !dataset.path.as_os_str().is_empty() {
        flag("--dataset", &dataset.path.display().to_string());
    }
    flag("--question", question);
    flag("--scenario", condition.scenario.name());
    flag("--docs", &condition.docs.to_string());
    if condition.scenario != Scenario::Standard {
        flag("--p", &condition.p.to_string());
    }
    if condition.seed != usual.seed {
        flag("--seed", &condition.seed.to_string());
    }
    if condition.mode != usual.mode {
        flag("--mode", condition.mode.name());
    }
    if condition.source != usual.source {
        flag("--source", condition.source.name());
    }
    text
}
