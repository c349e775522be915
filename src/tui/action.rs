//! Everything a person can ask the screen to do: one table.
//!
//! The keymap, the help, the line of hints and the README's table of keys are made from
//! it, so that none of them can say something else. What an action does is in `update`.

mod command;

use std::fmt::Write as _;

use super::key::Key;

/// The columns of the table: the action, its name as a command, its keys (the first is the
/// one that is shown), what is typed with it, its word in the line of hints, and what it
/// does. Neighbours with one word share a place in the hints; without a word there is none.
macro_rules! actions {
    ($($category:ident {
        $($id:ident $name:literal $keys:literal $argument:ident $hint:literal $description:literal)+
    })+) => {
        /// Names an action.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ActionId {
            $($(#[doc = $description] $id,)+)+
        }

        /// The table. The order is the order of the help and of the line of hints.
        pub static ACTIONS: &[Action] = &[$($(Action {
            id: ActionId::$id,
            name: $name,
            keys: $keys,
            argument: Argument::$argument,
            hint: $hint,
            description: $description,
            category: Category::$category,
        },)+)+];
    };
}

actions! {
    Travel {
        StepBack        "step-back"        "h Left"   Count "step"    "One step back"
        StepForward     "step-forward"     "l Right"  Count "step"    "One step forward"
        NextFailure     "next-failure"     "e"        Count "failure" "To the next failure"
        PreviousFailure "previous-failure" "E"        Count "failure" "To the failure before"
        PreviousVersion "previous-version" "{"        Count "change of file"
            "The chosen file's change before"
        NextVersion     "next-version"     "}"        Count "change of file"
            "The chosen file's next change"
        Palette         "palette"          ":"        None  "go to"
            "Go to 41, fail, t:90s, b2:3; find any action"
        Play            "play"             "Space"    None  "play"
            "Play the run at its own pace, or stop"
        Faster          "faster"           "+"        Count ""        "Play twice as fast"
        Slower          "slower"           "-"        Count ""        "Play half as fast"
        EventBack       "event-back"       ", H"      Count ""        "One event back, inside the step"
        EventForward    "event-forward"    ". L"      Count ""        "One event forward, inside the step"
        PreviousEdge    "previous-edge"    "["        Count ""
            "The snapshot or transaction before"
        NextEdge        "next-edge"        "]"        Count ""
            "The next snapshot or transaction"
        NextDifference  "next-difference"  "Ctrl-n" Count "difference"
            "Of two runs: to the next difference"
        PreviousDifference "previous-difference" "Ctrl-p" Count "difference"
            "Of two runs: to the difference before"
        JumpBack        "jump-back"        "u"        Count ""        "Back to where the last jump began"
        NextBranch      "next-branch"      "b"        None  "branch"
            "To the next branch; in a file: who wrote it"
        Follow          "follow"           "F"        None  "follow"
            "Follow the run as it grows, or stop"
    }
    Marks {
        SetMark         "set-mark"         "m"        Letter ""       "Mark this place with a letter"
        GoToMark        "go-to-mark"       "'"        Letter ""       "To the place marked with a letter"
        Annotate        "annotate"         "a"        None  ""        "Write a note to this step"
        NextNote        "next-note"        ";"        None  ""        "To the next step with a note"
        DiffFromHere    "diff-from-here"   "d"        None  "diff from here"
            "Diff from here; again: step by step"
        DiffFrom        "diff-from"        "D"        None  ""
            "Diff from a place: 12, mark:a, 0"
    }
    Panes {
        Against         "against"          "A"        None  "one run"
            "Hold the run against another; or alone"
        Open            "open"             "Enter"    None  "open"    "Open the file, fold the directory"
        OpenNamed       "open-named"       "i"        None  "file of step"
            "The file that this step is about; the next such"
        Blame           "blame"            "W"        None  ""
            "Who wrote each line of the file; Enter: there"
        NextFile        "next-file"        "J"        Count "file"    "The next changed file"
        PreviousFile    "previous-file"    "K"        Count "file"    "The changed file before"
        NextView        "next-view"        "v"        None  "view"
            "The diff pane's next view: files, step, request, event"
        NextStateView   "next-state-view"  "V"        None  "view"
            "Files, conversation, context, environment, transaction …"
        Fold            "fold-agent"       "s"        None  "fold"    "Fold the sub-agent of this step, or unfold"
        FoldAll         "fold-all-agents"  "S"        None  "fold"    "Fold all sub-agents, or none"
        Sides           "sides"            "|"        None  ""
            "Side by side where there is room, or not"
        Context         "more-context"     "c"        None  "more lines"
            "More of what did not change; all; less"
        NextChange      "next-change"      ")"        Count ""
            "The file's next change; Enter unfolds"
        PreviousChange  "previous-change"  "("        Count ""        "The file's change before"
        ByPath          "by-path"          "p"        None  ""
            "JSON by paths; a step beside one like it"
        Blanks          "blanks"           "w"        None  ""
            "Blanks and line ends of a diff, seen or not"
        NextPane        "next-pane"        "Tab"      None  "pane"    "The next pane"
        PreviousPane    "previous-pane"    "Shift-Tab" None ""        "The pane before"
        TimelinePane    "timeline-pane"    "1"        None  ""        "The timeline"
        StatePane       "state-pane"       "2"        None  ""        "The files at this step"
        DiffPane        "diff-pane"        "3"        None  ""        "What the step did"
        Zoom            "zoom"             "z"        None  "zoom"    "This pane alone, or all again"
        Down            "down"             "j Down"   Count ""        "Down in the focused pane"
        Up              "up"               "k Up"     Count ""        "Up in the focused pane"
        PageDown        "page-down"        "Ctrl-d PgDn" Count ""    "Half a pane down"
        PageUp          "page-up"          "Ctrl-u PgUp" Count ""    "Half a pane up"
        Top             "top"              "g Home"   Count ""
            "To the top; of the timeline: step 1"
        Bottom          "bottom"           "G End"    Count ""
            "To the end; of the timeline: last step"
        ScrollLeft      "scroll-left"      "< Shift-Left"  Count ""   "Back to the start of long lines"
        ScrollRight     "scroll-right"     "> Shift-Right" Count ""   "Read on in long lines"
    }
    Transaction {
        Commit          "commit"           "C"        None  "commit…"
            "Commit the open transaction: shown first"
        RollBack        "roll-back"        "U"        None  "roll back…"
            "Roll the transaction back: shown first"
        Confirm         "confirm"          "Y"        None  "yes"
            "Yes: do what is asked and shown"
    }
    Forks {
        Fork            "fork"             "f"        None  "fork"
            "Fork: alter what the step gave, and see what follows"
        Export          "export"           "x"        None  "export"
            "Keep a failed call as a test case: shown first"
        ForkTree         "forks"            "T"        None  "forks"
            "The forks: open, compare, rename, delete"
    }
    Search {
        Search          "search"           "/"        None  "search"  "Search all events for words"
        NextHit         "next-hit"         "n"        Count "hit"     "To the next hit"
        PreviousHit     "previous-hit"     "N"        Count "hit"     "To the hit before"
        Bisect          "bisect"           "B"        None  ""
            "Find the step that broke it, by a command"
        OnlyHits        "only-hits"        "&"        None  "only hits" "Only the steps with a hit, or all"
    }
    Program {
        OpenInEditor    "open-in-editor"   "o"        None  ""        "Open the file or text in $EDITOR"
        Copy            "copy"             "y"        None  ""        "Copy what the focused pane shows"
        Notices         "notices"          "!"        None  "notices" "What to know before trusting this"
        Back            "back"             "Esc"      None  "back"    "Back out of what is open, never quit"
        Close           "close"            "q"        None  "quit"    "Close what is open, or quit"
        OtherRun        "other-run"        "R"        None  ""
            "Open another run: recent, demo, transcripts"
        Mouse           "mouse"            "M"        None  ""
            "The mouse for us, or for selecting text"
        Redraw          "redraw"           "Ctrl-l"   None  ""        "Draw the screen anew"
        Suspend         "suspend"          "Ctrl-z"   None  ""        "Stop; `fg` comes back"
        Quit            "quit"             "Ctrl-c"   None  ""        "Quit at once"
        Help            "help"             "? F1"     None  "help"    "All keys and signs"
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Action {
    /// Which one.
    pub id: ActionId,
    /// Its name, as a command.
    pub name: &'static str,
    /// Its keys, with spaces between them.
    keys: &'static str,
    /// What is typed with it.
    pub argument: Argument,
    /// Its word in the line of hints; empty where it has none.
    pub hint: &'static str,
    /// What it does, in one line.
    pub description: &'static str,
    /// Where it stands in the help.
    pub category: Category,
}

/// What is typed with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing; a count before it means nothing.
    None,
    /// A count before it: `12l`.
    Count,
    /// A letter after it: `ma`.
    Letter,
}

/// The groups of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Through time.
    Travel,
    /// Places and differences.
    Marks,
    /// Within the screen.
    Panes,
    /// The open transaction.
    Transaction,
    /// Other ways the run could have gone, and what is kept of how it went.
    Forks,
    /// Finding words.
    Search,
    /// The program.
    Program,
}

impl Category {
    /// Every group, in the order of the help.
    pub const ALL: [Self; 7] = [
        Self::Travel,
        Self::Marks,
        Self::Panes,
        Self::Transaction,
        Self::Forks,
        Self::Search,
        Self::Program,
    ];

    /// The heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Travel => "Travel",
            Self::Marks => "Marks, notes, differences",
            Self::Panes => "Panes",
            Self::Transaction => "Transaction",
            Self::Forks => "Forks, test cases",
            Self::Search => "Search",
            Self::Program => "Program",
        }
    }
}

impl ActionId {
    /// The key that is shown for it, for messages that name one.
    pub fn key(self) -> String {
        let action = ACTIONS.iter().find(|action| action.id == self);
        let keys = action.map(Action::shown_keys).unwrap_or_default();
        keys.into_iter().next().unwrap_or_default()
    }
}

impl Action {
    /// The keys of the action, the one that is shown first.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.keys.split(' ').filter_map(|key| key.parse().ok())
    }

    /// The keys as people read them: `m` with a letter is `m…`.
    pub fn shown_keys(&self) -> Vec<String> {
        let suffix = match self.argument {
            Argument::Letter => "…",
            Argument::None | Argument::Count => "",
        };
        self.keys().map(|key| format!("{key}{suffix}")).collect()
    }
}

/// The README's table of keys.
pub fn markdown() -> String {
    let mut table = String::from("| keys | does | on the command line |\n|---|---|---|\n");
    for category in Category::ALL {
        let _ = writeln!(table, "| **{}** | | |", category.title());
        for action in ACTIONS.iter().filter(|action| action.category == category) {
            let keys: Vec<String> = action
                .shown_keys()
                .iter()
                .map(|key| format!("`{}`", key.replace('|', "\\|")))
                .collect();
            let command = action.id.command();
            let command = command.map_or(String::new(), |command| format!("`{command}` "));
            let _ = writeln!(
                table,
                "| {} | {} | {command}|",
                keys.join(" "),
                action.description
            );
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_action_stands_once_and_every_key_does_one_thing() {
        let mut names = HashSet::new();
        let mut keys = HashSet::new();
        for action in ACTIONS {
            assert!(names.insert(action.name), "{}", action.name);
            let written = action.keys.split(' ').count();
            assert_eq!(action.keys().count(), written, "{}", action.name);
            for key in action.keys() {
                assert!(keys.insert(key), "{key} of {}", action.name);
            }
        }
    }

    #[test]
    fn the_table_of_the_readme_lists_every_action() {
        let table = markdown();
        for action in ACTIONS {
            assert!(table.contains(action.description), "{}", action.name);
        }
        assert!(table.contains("| `h` `←` | One step back | `jukebox show TAPE@12` |\n"));
        assert!(table.contains("| `\\|` | Side by side"));
        assert!(
            table.contains("| `m…` | Mark this place with a letter | `jukebox mark TAPE@12 a` |\n")
        );
    }
}
