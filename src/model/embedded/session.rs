//! A model with its context: reads prompts, writes replies, remembers what it has read.

use std::num::NonZeroU32;
use std::time::Instant;

use llama_cpp_2::DecodeError;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;
use tokio_util::sync::CancellationToken;

use crate::domain::answer::Ending;
use crate::model::embedded::grammar::Grammar;
use crate::model::embedded::loaded::{LoadedModel, backend, local};
use crate::model::embedded::writer::Writer;
use crate::model::{ChatRequest, Delta, FailureKind, ModelError, Reply, Timing, Usage, millis};

/// Tokens read between two looks at the cancellation flag. Always the same and always from a multiple of
/// itself: how many are read at once decides how sums are rounded, and the same request has to give the
/// same reply however busy the machine is and whatever was asked before. From 64 tokens on llama.cpp takes its
/// tiled products (a quarter faster on a processor with AVX2), and more than that makes stopping slow.
const CHUNK: usize = 64;
/// Contexts grow in steps of this many tokens.
const CONTEXT_STEP: u32 = 2048;

/// Settings of a session that do not change.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most tokens of prompt and reply together.
    pub window: u32,
    /// Threads to compute with.
    pub threads: i32,
}

/// A model with its context.
pub struct Session<'m> {
    loaded: &'m LoadedModel,
    limits: Limits,
    context: Option<LlamaContext<'m>>,
    /// The tokens that the context holds, in order.
    held: Vec<LlamaToken>,
    /// How many of them were read as whole chunks of a prompt.
    whole: usize,
}

/// Why a reply could not go on.
pub enum Stop {
    /// The user stopped it.
    Cancelled,
    /// It failed.
    Failed(ModelError),
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Self {
        Stop::Failed(error)
    }
}

impl<'m> Session<'m> {
    /// A session without a context yet.
    pub fn new(loaded: &'m LoadedModel, limits: Limits) -> Self {
        let trained = loaded.model.n_ctx_train().max(1);
        let limits = Limits {
            window: limits.window.min(trained),
            ..limits
        };
        Session {
            loaded,
            limits,
            context: None,
            held: Vec::new(),
            whole: 0,
        }
    }

    /// Answers one request. Deltas go to `emit`; what it returns `false` for ends the reply.
    pub fn reply(
        &mut self,
        request: &ChatRequest,
        cancel: &CancellationToken,
        started: Instant,
        emit: &mut dyn FnMut(Delta) -> bool,
    ) -> Result<Reply, ModelError> {
        let (rendered, tokens) = self.loaded.prompt(&request.prompt);
        if let Some(note) = rendered.note {
            emit(Delta::Status(note));
        }
        let max_tokens = request.sampling.max_tokens.max(1);
        self.make_room(tokens.len(), max_tokens)?;
        let cached = self.keep_common(&tokens)?;
        match self.read_prompt(&tokens, cached, cancel, emit) {
            Ok(()) => {}
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Cancelled) => {
                return Err(ModelError::new(
                    FailureKind::Cancelled,
                    "the reply was stopped before it began",
                ));
            }
        }
        let grammar = Grammar::of(&request.form);
        let mut writer = Writer::new(self.loaded, &grammar, request, started);
        let ending = self.write(&mut writer, cancel, emit)?;
        let timing = Timing {
            total_ms: millis(started.elapsed()),
            ..writer.timing
        };
        let count = |n: usize| u32::try_from(n).ok();
        Ok(Reply {
            text: writer.text,
            reasoning: String::new(),
            ending,
            usage: Usage {
                prompt_tokens: count(tokens.len()),
                completion_tokens: count(writer.written),
                cached_tokens: count(cached),
            },
            timing,
            option_probabilities: writer.option_probabilities,
            reported_model: None,
            system_fingerprint: None,
            attempts: 1,
            broke_off: None,
        })
    }

    /// Makes sure the context is large enough; says so if none can be.
    fn make_room(&mut self, prompt: usize, max_tokens: u32) -> Result<(), ModelError> {
        let prompt = u32::try_from(prompt).unwrap_or(u32::MAX);
        let needed = prompt.saturating_add(max_tokens);
        let window = self.limits.window;
        if needed > window {
            return Err(ModelError::new(
                FailureKind::Overflow,
                format!(
                    "the prompt has {prompt} tokens and the reply may have {max_tokens}, but the model's window holds {window}; use fewer documents or a smaller max_tokens"
                ),
            ));
        }
        if self
            .context
            .as_ref()
            .is_some_and(|context| context.n_ctx() >= needed)
        {
            return Ok(());
        }
        let size = needed
            .next_multiple_of(CONTEXT_STEP)
            .min(window.max(needed));
        self.forget();
        // The old one first: two at once may not fit into memory.
        self.context = None;
        let batch = CHUNK as u32;
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(size))
            .with_n_batch(batch)
            .with_n_ubatch(batch)
            .with_n_threads(self.limits.threads)
            .with_n_threads_batch(self.limits.threads);
        let context = self
            .loaded
            .model
            .new_context(backend()?, parameters)
            .map_err(|error| {
                local(format!(
                    "there is no memory for a window of {size} tokens ({error})"
                ))
            })?;
        self.context = Some(context);
        Ok(())
    }

    fn context(&mut self) -> Result<&mut LlamaContext<'m>, ModelError> {
        self.context
            .as_mut()
            .ok_or_else(|| local("the model has no context"))
    }

    /// Keeps what the context already holds of these tokens and drops the rest: whole chunks of a prompt
    /// only, see [`CHUNK`]. The last token is always read again, since the first token of the reply is
    /// chosen by what comes out of it.
    fn keep_common(&mut self, tokens: &[LlamaToken]) -> Result<usize, ModelError> {
        let most = tokens.len().saturating_sub(1).min(self.whole);
        let pairs = self.held.iter().zip(tokens).take(most);
        let same = pairs.take_while(|(held, token)| held == token).count();
        let mut common = same / CHUNK * CHUNK;
        if common < self.held.len() {
            let from = u32::try_from(common).unwrap_or(0);
            let context = self.context()?;
            let removed = context.clear_kv_cache_seq(Some(0), Some(from), None);
            if !matches!(removed, Ok(true)) {
                // Models with recurrent state can't go back: read everything again.
                context.clear_kv_cache();
                common = 0;
            }
        }
        self.held.truncate(common);
        self.whole = common;
        Ok(common)
    }

    fn read_prompt(
        &mut self,
        tokens: &[LlamaToken],
        cached: usize,
        cancel: &CancellationToken,
        emit: &mut dyn FnMut(Delta) -> bool,
    ) -> Result<(), Stop> {
        let total = tokens.len();
        while self.held.len() < total {
            let (done, all) = (self.held.len() - cached, total - cached);
            let heard = emit(Delta::Status(format!("reading prompt {done}/{all}")));
            if cancel.is_cancelled() || !heard {
                return Err(Stop::Cancelled);
            }
            let at = self.held.len();
            let end = total.min(at + CHUNK);
            self.decode(tokens.get(at..end).unwrap_or_default(), end == total)?;
            if end - at == CHUNK {
                self.whole = end;
            }
        }
        Ok(())
    }

    /// Lets the model read tokens; afterwards the logits behind the last are there if `logits`.
    fn decode(&mut self, tokens: &[LlamaToken], logits: bool) -> Result<(), ModelError> {
        let mut batch = LlamaBatch::new(tokens.len().max(1), 1);
        for (index, token) in tokens.iter().enumerate() {
            let position = i32::try_from(self.held.len() + index).unwrap_or(i32::MAX);
            let last = index + 1 == tokens.len();
            batch
                .add(*token, position, &[0], logits && last)
                .map_err(|error| local(format!("llama.cpp refused a token: {error}")))?;
        }
        let result = self.context()?.decode(&mut batch);
        match result {
            Ok(()) => {
                self.held.extend(tokens);
                Ok(())
            }
            Err(error) => {
                self.forget();
                Err(match error {
                    DecodeError::NoKvCacheSlot => ModelError::new(
                        FailureKind::Overflow,
                        "the model's window is full; use fewer documents or a smaller max_tokens",
                    ),
                    error => local(format!("llama.cpp could not compute: {error}")),
                })
            }
        }
    }

    /// Starts from an empty context, after a failure that may have left anything in it.
    fn forget(&mut self) {
        self.held.clear();
        self.whole = 0;
        if let Some(context) = &mut self.context {
            context.clear_kv_cache();
        }
    }

    /// Writes until the reply is complete, the budget is used up, or the user stops it.
    fn write(
        &mut self,
        writer: &mut Writer<'_>,
        cancel: &CancellationToken,
        emit: &mut dyn FnMut(Delta) -> bool,
    ) -> Result<Ending, ModelError> {
        loop {
            if cancel.is_cancelled() {
                return Ok(Ending::Interrupted);
            }
            if writer.is_done() {
                return Ok(Ending::Complete);
            }
            if writer.is_used_up() {
                return Ok(Ending::Length);
            }
            let context = self.context()?;
            let tokens = writer.next(context.get_logits_ith(-1))?;
            if !writer.take(&tokens, emit) {
                return Ok(Ending::Interrupted);
            }
            if writer.is_done() || writer.is_used_up() {
                continue;
            }
            for chunk in tokens.chunks(CHUNK) {
                if cancel.is_cancelled() {
                    return Ok(Ending::Interrupted);
                }
                self.decode(chunk, true)?;
            }
        }
    }
}
