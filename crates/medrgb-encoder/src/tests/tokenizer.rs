//! Word pieces: special tokens, pairs, truncation, lower case, the two kinds of tokenizer file.

use serde_json::json;

use super::cpu;
use super::folder::{self, VOCAB, put_json};
use crate::{Encoder, Input, OpenOptions, TokenIds};

fn pieces(tokens: &TokenIds) -> Vec<&'static str> {
    tokens.ids.iter().map(|id| VOCAB[*id as usize]).collect()
}

fn tokenize(encoder: &Encoder, input: Input<'_>) -> TokenIds {
    encoder.tokenize(&[input]).unwrap().remove(0)
}

#[test]
fn a_query_gets_special_tokens_lower_case_and_word_pieces() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let tokens = tokenize(&encoder, Input::Query("Aspirin REDUCES fever, naïve?"));
    assert_eq!(
        pieces(&tokens),
        [
            "[CLS]", "aspirin", "reduce", "##s", "fever", ",", "naive", "?", "[SEP]"
        ]
    );
    assert_eq!(tokens.types, [0; 9]);
}

#[test]
fn an_empty_text_is_two_special_tokens() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    assert_eq!(
        pieces(&tokenize(&encoder, Input::Query(""))),
        ["[CLS]", "[SEP]"]
    );
}

#[test]
fn a_special_token_in_a_text_stays_whole() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let tokens = tokenize(&encoder, Input::Query("a [SEP] trial"));
    assert_eq!(pieces(&tokens), ["[CLS]", "a", "[SEP]", "trial", "[SEP]"]);
}

#[test]
fn case_is_kept_where_the_folder_says_so() {
    let folder = folder::write();
    put_json(
        folder.path(),
        "tokenizer_config.json",
        &json!({"do_lower_case": false}),
    );
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let tokens = tokenize(&encoder, Input::Query("Aspirin aspirin"));
    assert_eq!(pieces(&tokens), ["[CLS]", "[UNK]", "aspirin", "[SEP]"]);
}

#[test]
fn medcpt_articles_are_pairs_cut_at_the_longer_side() {
    let folder = folder::write_medcpt();
    let options = OpenOptions {
        max_tokens: Some(10),
        ..cpu()
    };
    let encoder = Encoder::open(folder.path(), &options).unwrap();
    let article = Input::Article {
        title: "aspirin",
        content: "a trial of aspirin in patients with fever",
    };
    let tokens = tokenize(&encoder, article);
    assert_eq!(
        pieces(&tokens),
        [
            "[CLS]", "aspirin", "[SEP]", "a", "trial", "of", "aspirin", "in", "patients", "[SEP]"
        ]
    );
    assert_eq!(tokens.types, [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]);
    let empty = tokenize(
        &encoder,
        Input::Article {
            title: "",
            content: "",
        },
    );
    assert_eq!(pieces(&empty), ["[CLS]", "[SEP]", "[SEP]"]);
    assert_eq!(empty.types, [0, 0, 1]);
}

#[test]
fn other_articles_are_joined_by_a_space() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let join =
        |title, content| pieces(&tokenize(&encoder, Input::Article { title, content })).join(" ");
    assert_eq!(join("title", "content"), "[CLS] title content [SEP]");
    assert_eq!(join("", "content"), "[CLS] content [SEP]");
    assert_eq!(join("title", ""), "[CLS] title [SEP]");
    assert_eq!(join("", ""), "[CLS] [SEP]");
}

#[test]
fn a_long_text_is_cut_to_the_limit() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let long = "fever ".repeat(500);
    let tokens = tokenize(&encoder, Input::Query(&long));
    assert_eq!(tokens.ids.len(), 40);
    assert_eq!(tokens.ids.last(), Some(&3));
}

#[test]
fn tokenizer_json_comes_first_and_its_own_padding_and_limit_do_not_count() {
    let folder = folder::write();
    let vocab: serde_json::Map<_, _> = VOCAB
        .iter()
        .enumerate()
        .map(|(id, piece)| ((*piece).to_owned(), json!(id)))
        .collect();
    put_json(
        folder.path(),
        "tokenizer.json",
        &json!({
            "version": "1.0",
            "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
            "padding": {"strategy": {"Fixed": 30}, "direction": "Right", "pad_to_multiple_of": null,
                        "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
            "added_tokens": [],
            "normalizer": null,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "decoder": null,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": vocab},
        }),
    );
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let tokens = tokenize(&encoder, Input::Query("Aspirin aspirin in the trial"));
    assert_eq!(
        pieces(&tokens),
        ["[CLS]", "[UNK]", "aspirin", "in", "the", "trial", "[SEP]"]
    );
}
