//! The command table: every name, key and help line of the explorer, said once.
//!
//! The key map, the footer, the help overlay and the palette are all derived from it.

use crate::tui::app::Screen;

mod general;
mod label;
mod making;
mod places;
mod question;
mod runs;
mod search;
mod talk;

/// Everything a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the table says what each does
pub enum Command {
    Open,
    Filter,
    ClearFilter,
    Problems,
    Ask,
    Stop,
    LessSignal,
    MoreSignal,
    LessSignalFine,
    MoreSignalFine,
    MoreDocs,
    FewerDocs,
    NextScenario,
    PreviousScenario,
    NewSeed,
    NextMode,
    NextSource,
    NextQuestion,
    PreviousQuestion,
    ToggleGold,
    ToggleRaw,
    NextDiffView,
    ShowPrompt,
    Why,
    Zoom,
    FocusNext,
    FocusPrevious,
    NextDocument,
    PreviousDocument,
    NextChange,
    SearchDocuments,
    NextMatch,
    PreviousMatch,
    NextCited,
    LockColumns,
    Retrieval,
    NewQuery,
    EditQuery,
    ToggleMap,
    Rebuild,
    CancelBuild,
    Sweep,
    Compare,
    Probe,
    SweepChoose,
    SweepStart,
    SweepPause,
    SweepStop,
    SweepPage,
    ValueBack,
    ValueNext,
    NextMeasure,
    PreviousMeasure,
    NextCurveDocs,
    NextPaper,
    PreviousPaper,
    CompareChoose,
    NextList,
    PreviousList,
    NextCondition,
    ProbeRun,
    ProbeStop,
    Fresh,
    Talk,
    TalkNext,
    TalkBack,
    TalkAuto,
    TalkFaster,
    TalkSlower,
    Copy,
    View,
    Annotate,
    ChooseRun,
    Facets,
    FindText,
    Done,
    LabelNote,
    EditNote,
    Unsure,
    Undo,
    Redo,
    NextReply,
    PreviousReply,
    Blind,
    Adjudicate,
    ShowInstance,
    Review,
    Accept,
    Edit,
    Reject,
    Undecide,
    NextUndecided,
    NextItem,
    PreviousItem,
    Build,
    BuildChoose,
    BuildStart,
    BuildStop,
    BuildAgain,
    BuildRetry,
    BuildPage,
    BuildValueBack,
    BuildValueNext,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Help,
    Palette,
    Back,
    Leave,
    Quit,
    Suspend,
    Redraw,
    ToggleMouse,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct CommandInfo {
    /// What it is.
    pub command: Command,
    /// Its name in the config and the palette.
    pub name: &'static str,
    /// Keys unless the config says otherwise.
    pub keys: &'static [&'static str],
    /// Where it works.
    pub screens: &'static [Screen],
    /// One line for the help overlay.
    pub help: &'static str,
    /// Word in the footer; commands that share it stand together. Empty: not in the footer.
    pub footer: &'static str,
}

const fn row(
    command: Command,
    name: &'static str,
    keys: &'static [&'static str],
    screens: &'static [Screen],
    footer: &'static str,
    help: &'static str,
) -> CommandInfo {
    CommandInfo {
        command,
        name,
        keys,
        screens,
        help,
        footer,
    }
}

/// The parts of the table, in the order of help and footer.
const PARTS: &[&[CommandInfo]] = &[
    question::ROWS,
    search::ROWS,
    runs::ROWS,
    label::ROWS,
    making::ROWS,
    talk::ROWS,
    general::ROWS,
];

/// How many rows there are.
const ROWS: usize = {
    let (mut rows, mut part) = (0, 0);
    while part < PARTS.len() {
        rows += PARTS[part].len();
        part += 1;
    }
    rows
};

/// The parts one after the other; joined while the program is compiled.
const TABLE: [CommandInfo; ROWS] = {
    let mut table = [PARTS[0][0]; ROWS];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            table[at] = PARTS[part][row];
            at += 1;
            row += 1;
        }
        part += 1;
    }
    table
};

/// The table, in the order of help and footer.
pub const COMMANDS: &[CommandInfo] = &TABLE;

/// The row of a command.
pub fn info(command: Command) -> Option<&'static CommandInfo> {
    COMMANDS.iter().find(|row| row.command == command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, row) in COMMANDS.iter().enumerate() {
            assert!(
                COMMANDS[..index]
                    .iter()
                    .all(|other| other.name != row.name && other.command != row.command),
                "{} stands twice in the table",
                row.name
            );
        }
    }
}
