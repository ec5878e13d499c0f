//! Writes a tiny GGUF model (llama architecture, random weights, all 256 byte tokens), so that
//! everything around a model can be tested without fetching one.

use std::path::Path;

/// What a tiny model is made with.
pub struct Tiny {
    /// Seed of the weights.
    pub seed: u64,
    /// Context window it claims.
    pub context: u32,
    /// Chat template; `None` leaves it out.
    pub template: Option<&'static str>,
    /// Whether texts are tokenised with a space in front, as by Llama 2.
    pub space_prefix: bool,
}

impl Default for Tiny {
    fn default() -> Self {
        Tiny {
            seed: 1,
            context: 4096,
            template: Some(
                "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content.strip() }}<end>{% endfor %}[assistant] ",
            ),
            space_prefix: true,
        }
    }
}

const WIDTH: usize = 32;
const HIDDEN: usize = 64;
const HEADS: u32 = 2;
const LAYERS: usize = 2;

/// Whole words beside the bytes: multi-byte tokens that cross the borders of JSON.
const WORDS: &[&str] = &[
    "\u{2581}",
    "e",
    "t",
    "\",",
    "\"",
    "the",
    "\u{2581}the",
    "A",
    "yes",
    ".",
    "\u{2581}DOC",
    "é",
];

impl Tiny {
    /// Writes the model.
    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.bytes()).unwrap();
    }

    /// The bytes of the model file.
    pub fn bytes(&self) -> Vec<u8> {
        let vocabulary = vocabulary();
        let mut meta = Meta::default();
        meta.text("general.architecture", "llama");
        meta.text("general.name", "tiny");
        meta.u32("llama.context_length", self.context);
        meta.u32("llama.embedding_length", WIDTH as u32);
        meta.u32("llama.block_count", LAYERS as u32);
        meta.u32("llama.feed_forward_length", HIDDEN as u32);
        meta.u32("llama.attention.head_count", HEADS);
        meta.u32("llama.attention.head_count_kv", HEADS);
        meta.f32("llama.attention.layer_norm_rms_epsilon", 1e-5);
        meta.u32("llama.rope.dimension_count", WIDTH as u32 / HEADS);
        meta.u32("llama.vocab_size", vocabulary.len() as u32);
        meta.text("tokenizer.ggml.model", "llama");
        meta.texts(
            "tokenizer.ggml.tokens",
            vocabulary.iter().map(|token| token.0.as_str()),
        );
        meta.list(
            "tokenizer.ggml.scores",
            6,
            vocabulary.len(),
            |index, out| {
                out.extend((-(index as f32)).to_le_bytes());
            },
        );
        meta.list(
            "tokenizer.ggml.token_type",
            5,
            vocabulary.len(),
            |index, out| {
                out.extend(vocabulary[index].1.to_le_bytes());
            },
        );
        meta.u32("tokenizer.ggml.bos_token_id", 1);
        meta.u32("tokenizer.ggml.eos_token_id", 2);
        meta.u32("tokenizer.ggml.unknown_token_id", 0);
        meta.bool("tokenizer.ggml.add_bos_token", true);
        meta.bool("tokenizer.ggml.add_space_prefix", self.space_prefix);
        if let Some(template) = self.template {
            meta.text("tokenizer.chat_template", template);
        }
        assemble(&meta, &self.tensors(vocabulary.len()))
    }

    fn tensors(&self, tokens: usize) -> Vec<Tensor> {
        let mut random = Random(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut tensors = Vec::new();
        let mut add = |name: String, shape: &[usize], scale: f32| {
            let count = shape.iter().product();
            let data = (0..count)
                .map(|_| {
                    if scale == 0.0 {
                        1.0
                    } else {
                        random.next() * scale
                    }
                })
                .collect();
            tensors.push(Tensor {
                name,
                shape: shape.to_vec(),
                data,
            });
        };
        add("token_embd.weight".into(), &[WIDTH, tokens], 1.0);
        for layer in 0..LAYERS {
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            add(name("attn_norm"), &[WIDTH], 0.0);
            for part in ["attn_q", "attn_k", "attn_v", "attn_output"] {
                add(name(part), &[WIDTH, WIDTH], 0.4);
            }
            add(name("ffn_norm"), &[WIDTH], 0.0);
            add(name("ffn_gate"), &[WIDTH, HIDDEN], 0.4);
            add(name("ffn_up"), &[WIDTH, HIDDEN], 0.4);
            add(name("ffn_down"), &[HIDDEN, WIDTH], 0.4);
        }
        add("output_norm.weight".into(), &[WIDTH], 0.0);
        add("output.weight".into(), &[WIDTH, tokens], 1.0);
        tensors
    }
}

/// Token texts and their types (1 normal, 2 unknown, 3 control, 6 byte).
fn vocabulary() -> Vec<(String, i32)> {
    let special = [("<unk>", 2), ("<s>", 3), ("</s>", 3), ("<end>", 3)];
    let mut all: Vec<(String, i32)> = special.iter().map(|(t, k)| ((*t).to_owned(), *k)).collect();
    all.extend((0..256).map(|byte| (format!("<0x{byte:02X}>"), 6)));
    all.extend(WORDS.iter().map(|word| ((*word).to_owned(), 1)));
    all
}

/// xorshift64*: seeded, the same everywhere.
struct Random(u64);

impl Random {
    /// From -1 to 1.
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 40;
        bits as f32 / (1u64 << 23) as f32 - 1.0
    }
}

struct Tensor {
    name: String,
    shape: Vec<usize>,
    data: Vec<f32>,
}

#[derive(Default)]
struct Meta {
    bytes: Vec<u8>,
    count: u64,
}

impl Meta {
    fn key(&mut self, key: &str, kind: u32) {
        put_text(&mut self.bytes, key);
        self.bytes.extend(kind.to_le_bytes());
        self.count += 1;
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key, 8);
        put_text(&mut self.bytes, value);
    }

    fn u32(&mut self, key: &str, value: u32) {
        self.key(key, 4);
        self.bytes.extend(value.to_le_bytes());
    }

    fn f32(&mut self, key: &str, value: f32) {
        self.key(key, 6);
        self.bytes.extend(value.to_le_bytes());
    }

    fn bool(&mut self, key: &str, value: bool) {
        self.key(key, 7);
        self.bytes.push(u8::from(value));
    }

    fn texts<'a>(&mut self, key: &str, values: impl ExactSizeIterator<Item = &'a str>) {
        self.key(key, 9);
        self.bytes.extend(8u32.to_le_bytes());
        self.bytes.extend((values.len() as u64).to_le_bytes());
        for value in values {
            put_text(&mut self.bytes, value);
        }
    }

    fn list(&mut self, key: &str, kind: u32, count: usize, put: impl Fn(usize, &mut Vec<u8>)) {
        self.key(key, 9);
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend((count as u64).to_le_bytes());
        for index in 0..count {
            put(index, &mut self.bytes);
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

const ALIGNMENT: usize = 32;

fn assemble(meta: &Meta, tensors: &[Tensor]) -> Vec<u8> {
    let mut out = b"GGUF".to_vec();
    out.extend(3u32.to_le_bytes());
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend(meta.count.to_le_bytes());
    out.extend(&meta.bytes);
    let mut offset = 0u64;
    for tensor in tensors {
        put_text(&mut out, &tensor.name);
        out.extend((tensor.shape.len() as u32).to_le_bytes());
        for size in &tensor.shape {
            out.extend((*size as u64).to_le_bytes());
        }
        out.extend(0u32.to_le_bytes());
        out.extend(offset.to_le_bytes());
        offset += (tensor.data.len() * 4).next_multiple_of(ALIGNMENT) as u64;
    }
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    for tensor in tensors {
        for value in &tensor.data {
            out.extend(value.to_le_bytes());
        }
        out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    }
    out
}
