//! Chat templates: Jinja texts inside model files, rendered as their authors expect.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, Value, context};
use minijinja_contrib::pycompat;

use crate::domain::prompt::Prompt;

/// What most small models were trained with; used where a file brings no template that works. Its last line
/// end is an expression, since Jinja drops one that ends a template.
const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant{{ '\\n' }}";

/// A prompt as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The whole text, special tokens written out.
    pub text: String,
    /// What had to be done differently, if anything.
    pub note: Option<String>,
}

/// Renders a prompt with a model's template. `bos` and `eos` are the texts of its special tokens.
///
/// Templates that refuse a system message get both messages as one; a template that fails
/// altogether is replaced by ChatML. Both are noted.
pub fn render(template: Option<&str>, bos: &str, eos: &str, prompt: &Prompt) -> Rendered {
    let Some(template) = template else {
        return Rendered {
            text: chatml(prompt),
            note: Some("the file has no chat template; ChatML was used".into()),
        };
    };
    let (system, user) = (prompt.system.as_str(), prompt.user.as_str());
    let both = [("system", system), ("user", user)];
    match fill(template, bos, eos, &both) {
        // A template that drops the system message without a word is as bad as one that refuses it.
        Ok(text) if text.contains(system.trim()) => Rendered { text, note: None },
        first => {
            let joined = format!("{system}\n\n{user}");
            match fill(template, bos, eos, &[("user", &joined)]) {
                Ok(text) => Rendered {
                    text,
                    note: Some(
                        "the chat template takes no system message; it was put before the question"
                            .into(),
                    ),
                },
                Err(error) => Rendered {
                    text: chatml(prompt),
                    note: Some(format!(
                        "the chat template failed ({}); ChatML was used",
                        first.err().unwrap_or(error)
                    )),
                },
            }
        }
    }
}

fn chatml(prompt: &Prompt) -> String {
    let messages = [
        ("system", prompt.system.as_str()),
        ("user", prompt.user.as_str()),
    ];
    fill(CHATML, "", "", &messages)
        .unwrap_or_else(|_| format!("{}\n\n{}\n", prompt.system, prompt.user))
}

fn fill(template: &str, bos: &str, eos: &str, messages: &[(&str, &str)]) -> Result<String, Error> {
    let mut environment = Environment::new();
    // As the Python library sets its Jinja up for chat templates.
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    environment.set_syntax(syntax.build()?);
    environment.set_unknown_method_callback(pycompat::unknown_method_callback);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    // Templates come with files of unknown origin: an endless loop must end.
    environment.set_fuel(Some(1_000_000));
    environment.add_template("chat", template)?;
    let messages: Vec<Value> = messages
        .iter()
        .map(|(role, content)| context! { role => *role, content => *content })
        .collect();
    environment.get_template("chat")?.render(context! {
        messages => messages,
        bos_token => bos,
        eos_token => eos,
        add_generation_prompt => true,
        enable_thinking => false,
    })
}

fn raise_exception(message: String) -> Result<String, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

fn strftime_now(format: String) -> Result<String, Error> {
    // In UTC: the same request must not change with the machine's zone.
    jiff::fmt::strtime::format(&format, jiff::Timestamp::now())
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn prompt() -> Prompt {
        Prompt {
            system: "You answer.".into(),
            user: "Which?".into(),
        }
    }

    #[test]
    fn a_template_with_python_methods_renders() {
        let template = "{{ bos_token }}{% for m in messages %}\n{% if not loop.first and m.role.upper() == 'X' %}{% break %}{% endif %}[{{ m['role'].strip() }}]{{ m.content.strip() }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
        let rendered = render(Some(template), "<s>", "</s>", &prompt());
        assert_eq!(rendered.note, None);
        assert_eq!(
            rendered.text,
            "<s>[system]You answer.[user]Which?[assistant]"
        );
    }

    #[test]
    fn a_refused_system_message_is_put_before_the_question() {
        let template = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}U:{{ messages[0].content }}";
        let rendered = render(Some(template), "", "", &prompt());
        assert_eq!(rendered.text, "U:You answer.\n\nWhich?");
        assert!(rendered.note.unwrap().contains("no system message"));
        let silent = "{% for m in messages %}{% if m.role == 'user' %}U:{{ m.content }}{% endif %}{% endfor %}";
        assert!(
            render(Some(silent), "", "", &prompt())
                .text
                .contains("You answer.")
        );
    }

    #[test]
    fn chatml_steps_in_for_missing_broken_and_endless_templates() {
        let expected = "<|im_start|>system\nYou answer.<|im_end|>\n<|im_start|>user\nWhich?<|im_end|>\n<|im_start|>assistant\n";
        let endless =
            "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        for template in [
            None,
            Some("{% if %}"),
            Some("{{ raise_exception('x') }}"),
            Some(endless),
        ] {
            let rendered = render(template, "", "", &prompt());
            assert_eq!(rendered.text, expected, "{template:?}");
            assert!(rendered.note.is_some());
        }
    }

    #[test]
    fn the_date_is_there_for_templates_that_show_it() {
        let rendered = render(
            Some("{{ strftime_now('%Y') }} {{ messages[0].content }}"),
            "",
            "",
            &prompt(),
        );
        assert!(rendered.text.starts_with("20"), "{}", rendered.text);
    }
}
