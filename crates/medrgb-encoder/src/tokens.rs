//! Texts to word pieces: tokenizer.json as it is, or a BERT tokenizer built from vocab.txt.

use std::path::Path;

use serde_json::{Map, Value};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, EncodeInput, Tokenizer, TruncationParams};

use crate::config::{Config, read_object};
use crate::encoder::Input;
use crate::error::EncoderError;
use crate::pooling::Recipe;

/// The word pieces of one input, special tokens included, without padding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenIds {
    /// Index of each token in the vocabulary.
    pub ids: Vec<u32>,
    /// Segment of each token: 0, or 1 in the second part of a pair.
    pub types: Vec<u32>,
}

/// A tokenizer with truncation set up, and the rule for articles.
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    pair_input: bool,
    vocab: usize,
    types: usize,
}

impl Tokens {
    /// Opens the tokenizer of the folder `recipe` stands for.
    pub(crate) fn open(recipe: &Recipe, config: &Config) -> Result<Self, EncoderError> {
        let json = recipe.base.join("tokenizer.json");
        let vocab = recipe.base.join("vocab.txt");
        let (file, mut tokenizer) = if json.is_file() {
            let tokenizer = Tokenizer::from_file(&json).map_err(|error| {
                EncoderError::invalid(
                    &json,
                    format!("not a tokenizer file ({error}); copy the file again"),
                )
            })?;
            (json, tokenizer)
        } else if vocab.is_file() {
            let tokenizer = from_vocab(&vocab, &recipe.base)?;
            (vocab, tokenizer)
        } else {
            return Err(EncoderError::Missing {
                folder: recipe.base.clone(),
                what: "tokenizer.json or vocab.txt",
            });
        };
        // Longest first, as transformers' `truncation=True`; batches are padded by this crate.
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(Some(TruncationParams {
                max_length: recipe.max_tokens,
                ..TruncationParams::default()
            }))
            .map_err(|error| EncoderError::invalid(&file, error.to_string()))?;
        let tokens = Self {
            tokenizer,
            pair_input: recipe.pair_input,
            vocab: config.vocab,
            types: config.types,
        };
        tokens.try_out(&file)?;
        Ok(tokens)
    }

    /// Word pieces of `inputs`, in their order.
    pub(crate) fn encode(&self, inputs: &[Input<'_>]) -> Result<Vec<TokenIds>, EncoderError> {
        let texts: Vec<EncodeInput<'_>> = inputs.iter().map(|input| self.text(*input)).collect();
        let encodings = self
            .tokenizer
            .encode_batch_fast(texts, true)
            .map_err(|error| EncoderError::Tokenize(error.to_string()))?;
        encodings
            .iter()
            .map(|encoding| {
                self.checked(TokenIds {
                    ids: encoding.get_ids().to_vec(),
                    types: encoding.get_type_ids().to_vec(),
                })
            })
            .collect()
    }

    /// The text or pair of texts that `input` stands for.
    fn text<'a>(&self, input: Input<'a>) -> EncodeInput<'a> {
        match input {
            Input::Query(text) => text.into(),
            Input::Article { title, content } if self.pair_input => (title, content).into(),
            // As BEIR does for encoders that know no pairs.
            Input::Article { title: "", content } => content.into(),
            Input::Article { title, content: "" } => title.into(),
            Input::Article { title, content } => format!("{title} {content}").into(),
        }
    }

    /// Refuses ids for which the model has no row, rather than reading past its tables.
    fn checked(&self, tokens: TokenIds) -> Result<TokenIds, EncoderError> {
        let fits = |ids: &[u32], size: usize| ids.iter().all(|id| (*id as usize) < size);
        if fits(&tokens.ids, self.vocab) && fits(&tokens.types, self.types) {
            Ok(tokens)
        } else {
            Err(EncoderError::Tokenize(format!(
                "it makes ids for which the model has no entry (config.json: vocab_size {}, type_vocab_size {}); \
                 take the tokenizer of this model",
                self.vocab, self.types
            )))
        }
    }

    /// Every input needs at least one token, else there is nothing to pool.
    fn try_out(&self, file: &Path) -> Result<(), EncoderError> {
        let empty = self.encode(&[Input::Query("")])?;
        if empty.iter().all(|tokens| tokens.ids.is_empty()) {
            return Err(EncoderError::unsupported(
                file,
                "it adds no [CLS] and [SEP] around a text, which BERT encoders need; \
                 take the tokenizer of this model",
            ));
        }
        Ok(())
    }
}

/// The tokenizer that transformers' `BertTokenizerFast` builds from a vocabulary file.
fn from_vocab(file: &Path, folder: &Path) -> Result<Tokenizer, EncoderError> {
    let bytes = std::fs::read(file).map_err(EncoderError::io(file))?;
    let invalid = |problem: String| EncoderError::invalid(file, problem);
    let vocab = WordPiece::read_bytes(&bytes).map_err(|error| {
        invalid(format!(
            "not a word-piece vocabulary ({error}); copy the file again"
        ))
    })?;
    let id = |token: &str| {
        let id = vocab.get(token).copied();
        id.map(|id| (token.to_owned(), id)).ok_or_else(|| {
            invalid(format!(
                "the token {token} is missing, which every BERT vocabulary has; copy the file again"
            ))
        })
    };
    id("[UNK]")?;
    let post = BertProcessing::new(id("[SEP]")?, id("[CLS]")?);
    let special: Vec<AddedToken> = ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"]
        .into_iter()
        .filter(|token| vocab.contains_key(*token))
        .map(|token| AddedToken::from(token, true))
        .collect();
    let model = WordPiece::builder()
        .vocab(vocab)
        .unk_token("[UNK]".to_owned())
        .build()
        .map_err(|error| invalid(error.to_string()))?;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer
        .with_normalizer(Some(normalizer(folder)?))
        .map_err(|error| invalid(error.to_string()))?
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_post_processor(Some(post));
    tokenizer
        .add_special_tokens(special)
        .map_err(|error| invalid(error.to_string()))?;
    Ok(tokenizer)
}

/// BERT's normaliser with the switches of tokenizer_config.json, if that file is there.
fn normalizer(folder: &Path) -> Result<BertNormalizer, EncoderError> {
    let file = folder.join("tokenizer_config.json");
    let settings = if file.is_file() {
        read_object(&file)?
    } else {
        Map::new()
    };
    let switch = |key: &str| settings.get(key).and_then(Value::as_bool);
    Ok(BertNormalizer::new(
        true,
        switch("tokenize_chinese_chars").unwrap_or(true),
        switch("strip_accents"),
        switch("do_lower_case").unwrap_or(true),
    ))
}
