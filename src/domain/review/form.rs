//! An item as a text that a person edits, and reading what came back.

use crate::domain::review::{Content, Item};
use crate::domain::text::{clean, collapse, one_line, short};

/// The most bytes of an edited text that are read.
pub const LONGEST_FORM: usize = 256 << 10;

/// The most characters of a line of the form.
const LONGEST_LINE: usize = 4_000;

/// The text in which an item is edited; `truth` is the true answer of an adversarial version's document.
pub fn form_of(item: &Item, content: &Content, truth: Option<&str>) -> String {
    let head = format!(
        "# The {} of document {} at question {}.\n# Lines at the top that begin with # are left out. An empty file changes nothing.\n",
        item.kind().noun(),
        short(&item.doc_id),
        short(&item.question_id)
    );
    match content {
        Content::SubQuestion { question, answer } => format!(
            "{head}# The answer must stand in the document word for word.\n\nquestion: {}\nanswer: {}\n",
            one_line(question),
            one_line(answer)
        ),
        Content::Edit { planted, text } => {
            let truth = truth.map_or_else(String::new, |truth| {
                format!(
                    "# The true answer, which must not be left in the text: {}\n",
                    one_line(truth)
                )
            });
            format!(
                "{head}{truth}# The text stands below the empty line; change as little of it as possible.\n\nplanted: {}\n\n{}\n",
                one_line(planted),
                clean(text.trim())
            )
        }
    }
}

/// What a person has made of the form of an item; `None` where the file is empty.
///
/// # Errors
/// One sentence: the line, what is wrong and what was expected.
pub fn read_form(item: &Item, text: &str) -> Result<Option<Content>, String> {
    if text.len() > LONGEST_FORM {
        return Err(format!(
            "the edited text has {} bytes, but at most {LONGEST_FORM} are taken",
            text.len()
        ));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |line: &&&str| line.trim().is_empty() || line.starts_with('#');
    let first = lines.iter().take_while(is_head).count();
    let rest = &lines[first..];
    if rest.is_empty() {
        return Ok(None);
    }
    let content = match item.content {
        Content::SubQuestion { .. } => sub_question(rest, first),
        Content::Edit { .. } => edit(rest, first),
    };
    content.map(Some)
}

/// The value of a line "name: value".
fn field(lines: &[&str], at: usize, first: usize, name: &str) -> Result<String, String> {
    let number = first + at + 1;
    let line = lines.get(at).copied().unwrap_or_default();
    let value = line
        .split_once(':')
        .filter(|(key, _)| key.trim().eq_ignore_ascii_case(name))
        .map(|(_, value)| collapse(&clean(value)));
    match value {
        None => Err(format!(
            "line {number}: \"{name}: …\" was expected, but it is \"{}\"",
            short(line)
        )),
        Some(value) if value.is_empty() => {
            Err(format!("line {number}: nothing stands behind \"{name}:\""))
        }
        Some(value) if value.chars().count() > LONGEST_LINE => Err(format!(
            "line {number}: \"{name}\" has more than {LONGEST_LINE} characters"
        )),
        Some(value) => Ok(value),
    }
}

fn sub_question(lines: &[&str], first: usize) -> Result<Content, String> {
    let question = field(lines, 0, first, "question")?;
    let answer = field(lines, 1, first, "answer")?;
    let more = lines
        .iter()
        .skip(2)
        .position(|line| !line.trim().is_empty());
    match more {
        Some(at) => Err(format!(
            "line {}: nothing is expected below the answer; question and answer take a line each",
            first + at + 3
        )),
        None => Ok(Content::SubQuestion { question, answer }),
    }
}

fn edit(lines: &[&str], first: usize) -> Result<Content, String> {
    let planted = field(lines, 0, first, "planted")?;
    if lines.get(1).is_some_and(|line| !line.trim().is_empty()) {
        return Err(format!(
            "line {}: an empty line is expected between the planted answer and the text",
            first + 2
        ));
    }
    let text = lines.get(2..).unwrap_or_default().join("\n");
    let text = clean(text.trim());
    match text.is_empty() {
        true => Err("the text of the document is missing below the planted answer".to_owned()),
        false => Ok(Content::Edit { planted, text }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::review::tests::small;

    #[test]
    fn a_form_that_is_left_alone_gives_the_same_item() {
        for item in small().items() {
            let form = form_of(&item, &item.content, Some("liver"));
            assert_eq!(
                read_form(&item, &form).unwrap(),
                Some(item.content.clone()),
                "{form}"
            );
            assert_eq!(read_form(&item, "").unwrap(), None);
            assert_eq!(read_form(&item, "# only\n\n# comments\n").unwrap(), None);
        }
    }

    #[test]
    fn mistakes_are_said_with_their_line() {
        let items = small().items();
        let why = |at: usize, text: &str| read_form(&items[at], text).unwrap_err();
        assert!(
            why(0, "# x\n\nquestion:  \nanswer: a\n")
                .contains("line 3: nothing stands behind \"question:\"")
        );
        assert!(why(0, "question: a?\nanser: b\n").contains("line 2: \"answer: …\" was expected"));
        assert!(
            why(0, "question: a?\nanswer: b\n\nmore\n").contains("line 4: nothing is expected")
        );
        assert!(why(1, "planted: a\ntext\n").contains("line 2: an empty line"));
        assert!(why(1, "planted: a\n").contains("text of the document is missing"));
        assert!(why(1, &"x".repeat(LONGEST_FORM + 1)).contains("at most"));
    }

    #[test]
    fn paragraphs_stay_and_nothing_drives_a_terminal() {
        let items = small().items();
        let read = read_form(
            &items[1],
            "planted: the \u{1b}[31mspleen\n\n one\n\n# two\nthree \n\n",
        )
        .unwrap();
        let expected = Content::Edit {
            planted: "the spleen".into(),
            text: "one\n\n# two\nthree".into(),
        };
        assert_eq!(read, Some(expected));
    }
}
