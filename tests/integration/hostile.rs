//! Nothing from outside drives the terminal: a corpus of hostile texts, put wherever the program reads text, and a
//! scan of every byte that the real program writes. (`gallery` draws the same corpus on every screen.)

use std::path::Path;
use std::sync::Arc;

use medrgb::data::annotations::{Annotations, FILE_NAME as ANNOTATIONS, reply_id};
use medrgb::data::dataset::Dataset;
use medrgb::data::store::{FILE_NAME, Store};
use medrgb::domain::annotation::{Act, Change, Event, Hand, Part};
use serde_json::json;

use crate::annotate::night;
use crate::pty::Session;
use crate::sse_server::{Script, Server};

/// Texts that would do something to a terminal, or hide something from a person. `PWNED` stands where a terminal
/// would take it for a title, a link, a clipboard or the like; it must be seen nowhere.
pub const HOSTILE: [&str; 22] = [
    "\u{1b}]0;PWNED\u{7}title",
    "\u{1b}]0;PWNED\u{1b}\\title",
    "\u{1b}]52;c;UFdORUQ=\u{7}clipboard",
    "\u{1b}]8;;http://PWNED\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{9d}0;P\u{9c}eight bits",
    "\u{1b}[31337mcolour\u{1b}[0m",
    "\u{9b}31337mcolour",
    "\u{1b}[2J\u{1b}[31337;31337Hhome",
    "\u{1b}[31337n\u{1b}[?31337h\u{1b}[?31337lreport",
    "\u{1b}c\u{1b}#8\u{1b}(0\u{1b})0reset",
    "\u{1b}P1;1|PWNED\u{1b}\\device",
    "\u{1b}Ptmux;\u{1b}\u{1b}]0;PWNED\u{7}\u{1b}\\tmux",
    "\u{1b}_PWNED\u{1b}\\app \u{1b}^PWNED\u{1b}\\private \u{1b}XPWNED\u{1b}\\start",
    "\u{202e}desrever\u{202c} \u{2066}\u{2067}isolated\u{2069}\u{200f}\u{61c}",
    "zero\u{200b}width\u{feff}marks\u{2060}\u{e0041}\u{e0042}",
    "nul\0 bell\u{7} back\u{8}\u{8}space \u{7f}delete \u{e}shift\u{f}",
    "tab\tcr\rover lf\nvt\u{b}ff\u{c}nel\u{85}ls\u{2028}ps\u{2029}end",
    "\u{1b}[", // cut off
    "\u{1b}]0;never closed",
    "\u{1b}\u{1b}\u{1b}[\u{1b}]\u{1b}P",
    "z\u{334}\u{335}\u{336}\u{337}\u{338}\u{489}algo e\u{301}\u{302}\u{303}\u{304}",
    "\u{fff9}anchor\u{fffa}note\u{fffb} \u{180e}\u{ad}soft",
];

/// One of them, with a word before it that tells where it stands.
pub fn hostile(place: &str, at: usize) -> String {
    format!("{place} {}", HOSTILE[at % HOSTILE.len()])
}

/// Characters that no screen may show: controls, and those that reorder or hide what stands beside them.
pub fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{61c}' | '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What is wrong with what was written to a terminal: anything that is neither text nor a sequence that the program
/// has reason to write.
fn stray(written: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(written);
    let mut rest = text.as_ref();
    let around = |rest: &str| {
        rest.chars()
            .take(40)
            .collect::<String>()
            .escape_debug()
            .to_string()
    };
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\u{1b}' => match sequence(rest) {
                Some(length) => length,
                None => return Some(around(rest)),
            },
            '\r' | '\n' => 1,
            c if is_dangerous(c) => return Some(around(rest)),
            c => c.len_utf8(),
        };
        rest = &rest[taken..];
    }
    None
}

/// Bytes of the sequence that a text begins with, if the program writes such.
fn sequence(text: &str) -> Option<usize> {
    // The question for the background.
    const BACKGROUND: &str = "\u{1b}]11;?\u{7}";
    if text.starts_with(BACKGROUND) {
        return Some(BACKGROUND.len());
    }
    let body = text.strip_prefix("\u{1b}[")?;
    let end = body.find(|c: char| ('@'..='~').contains(&c))?;
    let (parameters, last) = (&body[..end], body[end..].chars().next()?);
    let numbers = parameters.trim_start_matches('?').split([';', ':']);
    let modest = numbers
        .clone()
        .all(|number| number.is_empty() || number.parse::<u16>().is_ok_and(|n| n < 3000));
    let known = match (parameters.starts_with('?'), last) {
        // Screens, cursor, paste, synchronised frames, mouse.
        (true, 'h' | 'l') => true,
        // What it is, asked behind the question for the background.
        (false, 'c') => parameters.is_empty(),
        (false, 'm' | 'H' | 'J' | 'K' | 'A' | 'B' | 'C' | 'D' | 'G') => true,
        _ => false,
    };
    (known && modest).then_some(2 + end + 1)
}

#[test]
fn the_scan_finds_what_it_should() {
    let fine = b"\x1b[?1049h\x1b[38;2;1;2;3mtext \xe4\xb8\xad\x1b[0m\r\n";
    assert_eq!(stray(fine), None);
    for text in HOSTILE {
        let cleaned = medrgb::domain::text::clean(text);
        assert_eq!(stray(cleaned.as_bytes()), None, "{text:?}");
        assert!(!cleaned.contains("PWNED"), "{cleaned:?}");
        // Accents and soft hyphens alone are no danger.
        let harmless = text.starts_with('z') && text.contains('\u{334}');
        assert_eq!(stray(text.as_bytes()).is_none(), harmless, "{text:?}");
    }
}

/// A dataset of hostile texts in a folder with a hostile name.
fn dataset(home: &Path) -> std::path::PathBuf {
    let folder = home.join("set \u{1b}]0;PWNED\u{7}\u{1b}[31337m\u{202e}x");
    std::fs::create_dir(&folder).unwrap();
    let mut questions = String::new();
    let (mut signal, mut subs, mut edits) = (json!({}), json!({}), json!({}));
    for number in 0..6 {
        let id = hostile(&format!("q{number}"), number);
        let question = json!({
            "question_id": id,
            "question": (0..HOSTILE.len()).map(|at| hostile("what", at)).collect::<Vec<_>>().join(" "),
            "options": {"A": hostile("yes", number), "B": hostile("no", number + 7)},
            "answer": "A",
            "dataset": hostile("part", number),
        });
        questions.push_str(&format!("{question}\n"));
        let documents: Vec<_> = (0..5)
            .map(|k| {
                let all = (0..HOSTILE.len()).map(|at| hostile("text", at + k));
                json!({"id": hostile(&format!("d{number}-{k}"), k), "title": hostile("title", number + k),
                    "content": all.collect::<Vec<_>>().join("\n")})
            })
            .collect();
        subs[&id] = (0..5)
            .map(|k| json!({"doc_id": hostile(&format!("d{number}-{k}"), k), "question": hostile("sub", k), "answer": hostile("gold", k)}))
            .collect();
        edits[&id] = (0..5)
            .map(|k| json!({"original_id": hostile(&format!("d{number}-{k}"), k), "new_answer": hostile("planted", k),
                "edited_document": hostile("edited", number + k)}))
            .collect();
        signal[&id] = documents.into();
    }
    // Half of a surrogate pair, as careless programs write it, and a line that is no JSON.
    questions.push_str("{\"question_id\": \"lone\", \"question\": \"half \\ud83d of \\udc00 it\", \"options\": {\"A\": \"a\", \"B\": \"b\"}, \"answer\": \"A\"}\n");
    questions.push_str("{\"question_id\": \"\u{1b}]0;PWNED\u{7}\", \u{1b}[31337m\n");
    std::fs::write(folder.join("qa.jsonl"), questions).unwrap();
    for (name, value) in [
        ("signal_docs.json", signal),
        ("subqa_pairs.json", subs),
        ("counterfactual_docs.json", edits),
    ] {
        std::fs::write(folder.join(name), value.to_string()).unwrap();
    }
    folder
}

/// Stores the run with a hostile name, models and notes.
fn stored(home: &Path, dataset: &Dataset) {
    let folder = home.join("data/medrgb");
    let (store, records) = night(&folder, dataset, 4);
    for (at, record) in records.iter().enumerate() {
        let mut record = record.clone();
        record.id = 0;
        record.run = hostile("dusk", 5);
        record.model_name = hostile("model", at);
        record.raw = HOSTILE.join(" and ") + &record.raw;
        store.insert(&record).unwrap();
    }
    let annotations = Annotations::open(&folder.join(ANNOTATIONS)).unwrap();
    let annotator = hostile("eve", 13);
    for who in ["ana", annotator.as_str()] {
        for change in [
            Change::Note(HOSTILE.join(" ")),
            Change::Done {
                done: true,
                blind: false,
            },
        ] {
            let event = Event {
                at: String::new(),
                taxonomy: hostile("mine", 2),
                act: Act::Change {
                    reply: reply_id(&records[0]),
                    question_id: records[0].question.id.clone(),
                    change,
                },
            };
            let hand = Hand {
                annotator: who.to_owned(),
                part: Part::Annotator,
            };
            annotations.add("night", &hand, &event).unwrap();
        }
    }
    drop(Store::open(&folder.join(FILE_NAME)));
}

/// Goes through the screens and scans what was written.
fn walk(session: &mut Session, steps: &[(&str, &str)]) {
    for (keys, wanted) in steps {
        session.press(keys);
        match wanted.strip_prefix('!') {
            Some(gone) => session.wait_without(gone),
            None => session.wait_for(wanted),
        }
    }
    session.press("\x03");
    session.wait_for_end();
    session.check_restored();
    let raw = session.raw();
    assert_eq!(stray(&raw), None);
    let text = String::from_utf8_lossy(&raw);
    assert!(
        !text.contains("PWNED") && !text.contains("31337"),
        "a payload was shown"
    );
}

#[test]
fn hostile_datasets_runs_notes_and_servers_do_not_reach_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let folder = dataset(home.path());
    let opened = Arc::new(Dataset::open(&folder).unwrap());
    assert_eq!(opened.questions.len(), 6, "{:?}", opened.problems);
    stored(home.path(), &opened);
    let text = HOSTILE.join(" ");
    // As a careless model writes it: control characters as they are, in what is hardly JSON.
    let reply = format!(
        "{{\"relevant_doc_id\": [\"DOC_1\"], \"step_by_step_thinking\": \"{text}\", \"answer_choice\": \"A\"}}"
    );
    let body = json!({"error": {"message": text}});
    let scripts = vec![
        Script::reply(&[&reply]),
        Script::json("400 Bad Request", &body),
    ];
    let server = Server::start(scripts);
    let url = server.base_url();
    let arguments = [
        folder.to_str().unwrap(),
        "--model",
        "openai:served\u{1b}]0;PWNED\u{7}",
        "--base-url",
        &url,
        "--annotator",
        "ana\u{1b}[31337m",
    ];
    let mut session = Session::start_at(home, "xterm-256color", (130, 45), &arguments);
    session.wait_for("questions");
    // After an escape what lay over the screen must be gone: with a letter behind it, it is another key.
    let steps = [
        ("!", "What could not be loaded"),
        ("\x1b", "!What could not be loaded"),
        ("f", "Which questions?"),
        ("\x1b", "!Which questions?"),
        ("o", "Whose outcomes"),
        ("\x1b", "!Whose outcomes"),
        ("\r", "Sufficiency"),
        ("p", "exactly as the model gets it"),
        ("\x1b", "!exactly as the model gets it"),
        ("a", "token"),
        ("v", "raw"),
        ("w", "Why the scores"),
        ("\x1b", "!Why the scores"),
        ("y", "What do you want to copy"),
        ("\x1b", "!What do you want to copy"),
        ("n", "n 6"),
        ("a", "No reply"),
        ("ss", "Robustness"),
        ("P", "leave each document out"),
        ("W", "plan a new sweep"),
        ("j\r", "dusk"),
        ("C", "Choose two runs"),
        ("q", "dusk"),
    ];
    walk(&mut session, &steps);

    // From here on the queue, with everything that was said.
    let arguments = [folder.to_str().unwrap(), "--annotator", "ana", "--fresh"];
    let home = session.home;
    let mut session = Session::start_at(home, "xterm-256color", (130, 45), &arguments);
    session.wait_for("questions");
    let steps = [
        ("l", "Choose a run"),
        ("\x1b", "!Choose a run"),
        ("t", "Find text"),
        ("colour", "best first"),
    ];
    walk(&mut session, &steps);
}

#[test]
fn hostile_names_on_the_command_line_and_in_the_settings_are_said_cleanly() {
    let theme = "dark\u{1b}]0;PWNED\u{7}\u{1b}[31337m";
    for arguments in [
        &["--theme", theme][..],
        &["/no/such\u{1b}]0;PWNED\u{7}\u{1b}[31337mfolder"],
        &["--model", "nobody\u{1b}]0;PWNED\u{7}\u{1b}[31337m"],
        &["--talk", "/no\u{1b}]0;PWNED\u{7}\u{1b}[31337mscript.toml"],
    ] {
        let mut session = Session::start(100, 30, arguments);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        session.press("\x03");
        session.wait_for_end();
        let raw = session.raw();
        assert_eq!(stray(&raw), None, "{arguments:?}");
        let text = String::from_utf8_lossy(&raw);
        assert!(
            !text.contains("\u{1b}]0;PWNED") && !text.contains("\u{1b}[31337"),
            "{arguments:?}: {text}"
        );
    }
    // A theme, keys and a taxonomy from files.
    for (file, text) in [
        (
            "config.toml",
            "theme = \"mine\"\n[keys]\n\"as\\u001b]0;PWNED\\u0007k\" = [\"\\u001b[31337m\"]\n",
        ),
        (
            "themes/mine.toml",
            "inherits = \"da\\u001b]0;PWNED\\u0007rk\"\n[tones]\n\"\\u001b[31337m\" = \"red\"\n",
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("config/medrgb");
        std::fs::create_dir_all(folder.join("themes")).unwrap();
        if file != "config.toml" {
            std::fs::write(folder.join("config.toml"), "theme = \"mine\"\n").unwrap();
        }
        std::fs::write(folder.join(file), text).unwrap();
        let mut session = Session::start_at(home, "xterm-256color", (100, 30), &[]);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        session.press("\x03");
        session.wait_for_end();
        let raw = session.raw();
        assert_eq!(stray(&raw), None, "{file}: {}", session.text());
        let text = String::from_utf8_lossy(&raw);
        // Spelled out it is harmless, and says what stands there.
        let text = text.replace(r"\u{1b}]0;PWNED\u{7}", "");
        assert!(
            !text.contains("PWNED") && !text.contains("31337"),
            "{file}: {text}"
        );
    }
}
