//! A model in memory: its vocabulary as bytes, its chat template, its tokenisation.

use std::path::Path;
use std::sync::OnceLock;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::{LogOptions, send_logs_to_tracing};
use tokio_util::sync::CancellationToken;

use crate::domain::prompt::Prompt;
use crate::model::embedded::gguf;
use crate::model::embedded::template::{self, Rendered};
use crate::model::{FailureKind, ModelError};

/// The library, started once per process and never stopped: contexts may outlive any owner.
pub fn backend() -> Result<&'static LlamaBackend, ModelError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    BACKEND
        .get_or_init(|| {
            processor()?;
            // Before anything else: one load writes 1,773 lines into the terminal otherwise.
            send_logs_to_tracing(LogOptions::default().with_logs_enabled(false));
            LlamaBackend::init().map_err(|error| error.to_string())
        })
        .as_ref()
        .map_err(|error| local(format!("llama.cpp can't be started: {error}")))
}

/// llama.cpp is compiled for these instructions on x86, and dies of an illegal one without them.
fn processor() -> Result<(), String> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if !(has!("avx2") && has!("fma") && has!("f16c") && has!("bmi2")) {
            return Err(
                "this processor has no AVX2, FMA, F16C or BMI2, which it needs; \
                        use a model on a server instead"
                    .to_owned(),
            );
        }
    }
    Ok(())
}

/// A failure on this machine.
pub fn local(message: impl Into<String>) -> ModelError {
    ModelError::new(FailureKind::Local, message)
}

/// A model in memory.
pub struct LoadedModel {
    pub model: LlamaModel,
    template: Option<String>,
    bos: String,
    eos: String,
    /// Bytes of all tokens, one after another; control tokens have none.
    pieces: Vec<u8>,
    /// Where each token's bytes end.
    ends: Vec<u32>,
}

impl LoadedModel {
    /// Loads a file; a few hundred milliseconds for a small one.
    pub fn load(path: &Path, cancel: &CancellationToken) -> Result<LoadedModel, ModelError> {
        gguf::read_header(path).map_err(|error| local(error.to_string()))?;
        let backend = backend()?;
        let stop = cancel.clone();
        let parameters =
            LlamaModelParams::default().with_progress_callback(move |_| !stop.is_cancelled());
        let model = LlamaModel::load_from_file(backend, path, &parameters).map_err(|error| {
            if cancel.is_cancelled() {
                return ModelError::new(FailureKind::Cancelled, "loading the model was stopped");
            }
            local(format!(
                "{} can't be loaded by llama.cpp ({error}): its architecture may be unknown to this version, or memory too small; try another GGUF file",
                path.display()
            ))
        })?;
        let vocab = model.vocab();
        if vocab.n_tokens() <= 0 {
            return Err(local(format!("{} has no vocabulary", path.display())));
        }
        let special = |token: LlamaToken| {
            // -1 stands for "has none".
            let bytes = match token.0 {
                0.. => vocab.token_to_piece(token, true, None),
                _ => Vec::new(),
            };
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (bos, eos) = (special(vocab.bos()), special(vocab.eos()));
        let (mut pieces, mut ends) = (Vec::new(), Vec::new());
        for token in vocab.tokens() {
            pieces.extend(vocab.token_to_piece(token, false, None));
            ends.push(u32::try_from(pieces.len()).unwrap_or(u32::MAX));
        }
        let template = model.meta_val_str("tokenizer.chat_template").ok();
        Ok(LoadedModel {
            model,
            template,
            bos,
            eos,
            pieces,
            ends,
        })
    }

    /// The bytes of a token; none for control tokens.
    pub fn piece(&self, token: usize) -> &[u8] {
        let end = self.ends.get(token).copied().unwrap_or_default() as usize;
        let start = match token {
            0 => 0,
            token => self.ends.get(token - 1).copied().unwrap_or_default() as usize,
        };
        self.pieces.get(start..end).unwrap_or_default()
    }

    /// Whether this token ends a reply.
    pub fn ends_reply(&self, token: usize) -> bool {
        self.model.vocab().is_eog(to_token(token))
    }

    /// The prompt as text and as tokens.
    pub fn prompt(&self, prompt: &Prompt) -> (Rendered, Vec<LlamaToken>) {
        let rendered = template::render(self.template.as_deref(), &self.bos, &self.eos, prompt);
        let tokens = self.prompt_tokens(&rendered.text, prompt);
        (rendered, tokens)
    }

    fn prompt_tokens(&self, text: &str, prompt: &Prompt) -> Vec<LlamaToken> {
        let vocab = self.model.vocab();
        // The template may have written the first token itself.
        let add_bos =
            vocab.should_add_bos() && (self.bos.is_empty() || !text.starts_with(&self.bos));
        let contents = [prompt.system.trim(), prompt.user.trim()];
        if !contents
            .iter()
            .any(|content| self.holds_control_tokens(content))
        {
            return vocab.tokenize(text.as_bytes(), add_bos, true);
        }
        // A document that spells out a control token must not end the message: only the template's
        // own parts may hold such tokens.
        let mut tokens = Vec::new();
        let mut rest = text;
        for content in contents {
            if let Some((before, after)) = rest.split_once(content).filter(|_| !content.is_empty())
            {
                let first = add_bos && tokens.is_empty();
                tokens.extend(vocab.tokenize(before.as_bytes(), first, true));
                tokens.extend(vocab.tokenize(content.as_bytes(), false, false));
                rest = after;
            }
        }
        tokens.extend(vocab.tokenize(rest.as_bytes(), false, true));
        tokens
    }

    fn holds_control_tokens(&self, content: &str) -> bool {
        let vocab = self.model.vocab();
        vocab
            .tokenize(content.as_bytes(), false, true)
            .into_iter()
            .any(|token| vocab.is_control(token))
    }

    /// Tokens whose bytes are exactly this text; `None` where the vocabulary can't spell it so.
    pub fn literal(&self, text: &[u8]) -> Option<Vec<LlamaToken>> {
        let vocab = self.model.vocab();
        let direct = vocab.tokenize(text, false, false);
        if self.spells(&direct, text) {
            return Some(direct);
        }
        // Some vocabularies put a space before every text: let a line break take it.
        let mut padded = b"\n".to_vec();
        padded.extend(text);
        let tokens = vocab.tokenize(&padded, false, false);
        (1..tokens.len())
            .filter_map(|start| tokens.get(start..))
            .find(|rest| self.spells(rest, text))
            .map(<[LlamaToken]>::to_vec)
    }

    fn spells(&self, tokens: &[LlamaToken], text: &[u8]) -> bool {
        let mut rest = text;
        for token in tokens {
            match rest.strip_prefix(self.piece(to_index(*token))) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty() && !tokens.is_empty()
    }
}

/// The token with this number.
pub fn to_token(index: usize) -> LlamaToken {
    LlamaToken(i32::try_from(index).unwrap_or(-1))
}

/// The number of a token.
pub fn to_index(token: LlamaToken) -> usize {
    usize::try_from(token.0).unwrap_or(usize::MAX)
}
