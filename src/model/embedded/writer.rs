//! Writing one reply: which tokens come next, within the grammar and within the token budget.

use std::time::Instant;

use llama_cpp_2::token::LlamaToken;

use crate::model::embedded::grammar::{Cursor, Grammar, TextRole};
use crate::model::embedded::loaded::{LoadedModel, local, to_index, to_token};
use crate::model::embedded::sampling::{Picker, probabilities};
use crate::model::{ChatRequest, Delta, ModelError, ReplyForm, Timing, millis};

/// Most tokens of a sub-answer; the benchmark asks for short ones.
const SUB_ANSWER_TOKENS: usize = 48;
/// The most tokens of a sentence.
const SENTENCE_TOKENS: usize = 160;
/// Most tokens of the repeated main question, which no score reads.
const QUESTION_TOKENS: usize = 24;
/// Tokens kept free for a text that is still to come.
const LEAST_REASONING: usize = 48;
const LEAST_TEXT: usize = 8;
/// So near to the end of its budget a text is ended at the end of a sentence.
const SOFT_END: usize = 32;

/// A reply in the making.
pub struct Writer<'a> {
    loaded: &'a LoadedModel,
    cursor: Cursor<'a>,
    /// Tokens that each segment of the grammar needs at least, and all behind it.
    needed: Vec<usize>,
    picker: Picker,
    max_tokens: usize,
    letters: Vec<char>,
    started: Instant,
    /// Bytes of a character that is not whole yet.
    tail: Vec<u8>,
    /// Tokens of the free text at hand.
    in_text: usize,
    /// The text so far.
    pub text: String,
    /// Tokens so far.
    pub written: usize,
    /// When pieces came.
    pub timing: Timing,
    /// The model's own probability per option letter.
    pub option_probabilities: Option<Vec<(char, f64)>>,
}

impl<'a> Writer<'a> {
    /// Begins a reply to this request; `started` is when the call began.
    pub fn new(
        loaded: &'a LoadedModel,
        grammar: &'a Grammar,
        request: &ChatRequest,
        started: Instant,
    ) -> Self {
        Writer {
            loaded,
            cursor: grammar.start(),
            needed: needed(loaded, grammar),
            picker: Picker::new(&request.sampling),
            max_tokens: usize::try_from(request.sampling.max_tokens.max(1)).unwrap_or(usize::MAX),
            letters: match &request.form {
                ReplyForm::Instance(shape) => {
                    shape.options.iter().map(|(letter, _)| *letter).collect()
                }
                ReplyForm::Judgement | ReplyForm::Fields(_) => Vec::new(),
            },
            started,
            tail: Vec::new(),
            in_text: 0,
            text: String::new(),
            written: 0,
            timing: Timing::default(),
            option_probabilities: None,
        }
    }

    /// Whether the reply is complete.
    pub fn is_done(&self) -> bool {
        self.cursor.is_done()
    }

    /// Whether the budget is used up.
    pub fn is_used_up(&self) -> bool {
        self.written >= self.max_tokens
    }

    /// The tokens that come next, given the logits behind the last: several where there is no choice.
    pub fn next(&mut self, logits: &[f32]) -> Result<Vec<LlamaToken>, ModelError> {
        if self.cursor.at_answer() && self.option_probabilities.is_none() {
            self.option_probabilities = self.letter_probabilities(logits);
        }
        let forced = match self.must_close() {
            true => self
                .cursor
                .closing()
                .map(<[u8]>::to_vec)
                .unwrap_or_default(),
            false => self.cursor.forced(),
        };
        if let Some(tokens) = self.spell(&forced) {
            return Ok(tokens);
        }
        match self.choose(logits)? {
            Choice::Token(token) => Ok(vec![to_token(token)]),
            Choice::End => {
                let closing = self
                    .cursor
                    .closing()
                    .map(<[u8]>::to_vec)
                    .unwrap_or_default();
                self.spell(&closing)
                    .ok_or_else(|| local("the model's vocabulary has no quotation mark"))
            }
        }
    }

    /// Writes tokens down. `false` where nobody listens any more.
    pub fn take(&mut self, tokens: &[LlamaToken], emit: &mut dyn FnMut(Delta) -> bool) -> bool {
        for token in tokens {
            let loaded = self.loaded;
            let piece = loaded.piece(to_index(*token));
            let (segment, in_text) = (self.cursor.segment(), self.cursor.text_role().is_some());
            for byte in piece {
                self.cursor.push(*byte);
            }
            if in_text {
                self.picker.remember(to_index(*token));
            }
            self.in_text = match self.cursor.segment() == segment && in_text {
                true => self.in_text + 1,
                false => 0,
            };
            self.tail.extend(piece);
            self.written += 1;
        }
        let ready = whole_characters(&self.tail);
        let bytes: Vec<u8> = self.tail.drain(..ready).collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.is_empty() {
            return true;
        }
        let now = millis(self.started.elapsed());
        self.timing.first_token_ms.get_or_insert(now);
        let short = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        self.timing
            .timeline
            .push((short(now), short(text.len() as u64)));
        self.text.push_str(&text);
        emit(Delta::Text(text))
    }

    /// Tokens for bytes that must come; cut to the budget. `None` where they can't be spelled exactly.
    fn spell(&self, bytes: &[u8]) -> Option<Vec<LlamaToken>> {
        if bytes.is_empty() {
            return None;
        }
        let mut tokens = self.loaded.literal(bytes)?;
        tokens.truncate(self.max_tokens.saturating_sub(self.written));
        Some(tokens)
    }

    /// Whether the free text at hand has to end so that the rest still fits.
    fn must_close(&self) -> bool {
        let Some(role) = self.cursor.text_role().filter(|_| self.cursor.may_close()) else {
            return false;
        };
        let left = self.max_tokens.saturating_sub(self.written);
        let rest = self
            .needed
            .get(self.cursor.segment() + 1)
            .copied()
            .unwrap_or_default();
        let room = left.saturating_sub(rest);
        let cap = match role {
            TextRole::Reasoning => usize::MAX,
            TextRole::SubAnswer => SUB_ANSWER_TOKENS,
            TextRole::Sentence => SENTENCE_TOKENS,
            TextRole::Question => QUESTION_TOKENS,
        };
        room == 0
            || self.in_text >= cap
            || (role == TextRole::Reasoning
                && room <= SOFT_END
                && self.text.ends_with(['.', '!', '?']))
    }

    fn choose(&mut self, logits: &[f32]) -> Result<Choice, ModelError> {
        let (loaded, cursor) = (self.loaded, &self.cursor);
        let may_end = cursor.may_close();
        let penalise = cursor.text_role().is_some();
        let mut admits = |token: usize| {
            cursor.accepts(loaded.piece(token)) || (may_end && loaded.ends_reply(token))
        };
        let token = self
            .picker
            .pick(logits, penalise, &mut admits)
            .ok_or_else(|| local("no token of the model's vocabulary fits the reply's shape"))?;
        // A model that ends its turn inside a text has ended the text.
        Ok(match may_end && loaded.ends_reply(token) {
            true => Choice::End,
            false => Choice::Token(token),
        })
    }

    fn letter_probabilities(&self, logits: &[f32]) -> Option<Vec<(char, f64)>> {
        let tokens: Option<Vec<usize>> = self
            .letters
            .iter()
            .map(|letter| {
                let tokens = self.loaded.literal(letter.to_string().as_bytes())?;
                tokens.first().map(|token| to_index(*token))
            })
            .collect();
        let probabilities = probabilities(logits, &tokens?)?;
        Some(self.letters.iter().copied().zip(probabilities).collect())
    }
}

/// What was chosen.
enum Choice {
    Token(usize),
    /// The model wants to end its turn here.
    End,
}

/// For every segment the tokens that it and all behind it need at least.
fn needed(loaded: &LoadedModel, grammar: &Grammar) -> Vec<usize> {
    let mut sum = 0;
    let mut all: Vec<usize> = (0..grammar.len())
        .rev()
        .map(|segment| {
            let least = grammar.least(segment);
            sum += match grammar.text_role(segment) {
                Some(TextRole::Reasoning | TextRole::Sentence) => LEAST_REASONING,
                Some(_) => LEAST_TEXT,
                None => loaded
                    .literal(least)
                    .map_or(least.len(), |tokens| tokens.len()),
            };
            sum
        })
        .collect();
    all.reverse();
    all
}

/// How many bytes from the start are whole characters; the grammar lets only the last one be begun.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => bytes.len(),
    }
}
