//! Building an index folder, stage by stage: read, index text, encode, build the graph. Every stage leaves a durable
//! record, so that the same command goes on after a kill.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use medrgb_encoder::Backend;

use crate::domain::text::{count, hex};
use crate::retrieval::encoders::{self, Pair};
use crate::retrieval::index::embeddings::{self, EmbeddingFile};
use crate::retrieval::index::state::{
    self, EncoderId, Lock, MANIFEST, Manifest, Request, SCHEMA, STATE, Shard, State,
};
use crate::retrieval::index::store::Store;
use crate::retrieval::index::{Input, read, stopped, text, vectors};
use crate::retrieval::vector::GraphPrecision;
use crate::retrieval::{BuildProgress, EncoderFolders, Progress, RetrievalError};

/// Documents that an encoder on the processor gets at a time.
const STEP_CPU: usize = 64;
/// Documents that an encoder on a GPU gets at a time.
const STEP_GPU: usize = 4096;

/// What to build.
pub struct Build<'a> {
    /// The index folder; made where it is not there.
    pub out: &'a Path,
    /// The corpus.
    pub inputs: Vec<Input>,
    /// Where vectors come from.
    pub vectors: BuildVectors,
    /// Which part of the corpus.
    pub shard: Shard,
    /// What the graph compares.
    pub graph: GraphPrecision,
}

/// Where the vectors of an index come from.
pub enum BuildVectors {
    /// Nowhere: BM25 only.
    None,
    /// The documents are encoded.
    Encoder(Box<BuildEncoder>),
    /// They are there already.
    Imported(Imported),
}

/// Vectors that are there already.
pub struct Imported {
    /// The files.
    pub files: Vec<EmbeddingFile>,
    /// The encoder that made them, where it is here.
    pub encoder: Option<Box<BuildEncoder>>,
}

impl BuildVectors {
    fn encoder(&self) -> Option<&BuildEncoder> {
        match self {
            BuildVectors::None => None,
            BuildVectors::Encoder(encoder) => Some(encoder),
            BuildVectors::Imported(imported) => imported.encoder.as_deref(),
        }
    }

    fn files(&self) -> &[EmbeddingFile] {
        match self {
            BuildVectors::Imported(imported) => &imported.files,
            _ => &[],
        }
    }

    /// What is known of the encoder that made the vectors; `None` without vectors.
    fn id(&self) -> Result<Option<EncoderId>, RetrievalError> {
        match (self.encoder(), self.files()) {
            (Some(encoder), _) => Ok(Some(encoder.id.clone())),
            (None, []) => Ok(None),
            (None, [first, ..]) => Ok(Some(EncoderId::unknown(first.dim()?))),
        }
    }
}

/// The encoder of an index that is built.
pub struct BuildEncoder {
    pair: Pair,
    id: EncoderId,
    /// Where the query encoder lies on this machine.
    folder: PathBuf,
}

impl BuildEncoder {
    /// Takes an opened pair of encoders.
    pub fn new(pair: Pair, folders: &EncoderFolders) -> BuildEncoder {
        let info = pair.article.info();
        let id = EncoderId {
            name: folders.name.clone(),
            dim: info.dim,
            stand_in: folders.stand_in,
            weights_sha256: info.weights_sha256.clone(),
            article: hex(&encoders::fingerprint(info)),
            query: hex(&encoders::fingerprint(pair.query.info())),
            pooling: format!("{:?}", info.pooling).to_lowercase(),
            normalized: info.normalized,
            max_tokens: info.max_tokens,
        };
        BuildEncoder {
            pair,
            id,
            // Absolute: what is typed from one folder says nothing in another.
            folder: std::fs::canonicalize(&folders.query).unwrap_or_else(|_| folders.query.clone()),
        }
    }

    fn step(&self) -> usize {
        match self.pair.article.backend().backend {
            Backend::Cpu => STEP_CPU,
            _ => STEP_GPU,
        }
    }
}

/// A built index.
#[derive(Debug, Clone, PartialEq)]
pub struct Built {
    /// What it is.
    pub manifest: Manifest,
    /// It was there already, made from the same.
    pub already: bool,
}

/// Builds an index, or goes on building it. Blocking.
///
/// # Errors
/// When the folder holds something else or is being built by another process, a file can't be read or written,
/// no document is found, encoding fails, or `progress` breaks.
pub fn build(build: &Build<'_>, progress: &mut Progress<'_>) -> Result<Built, RetrievalError> {
    let hint = build
        .vectors
        .encoder()
        .map(|encoder| encoder.folder.clone());
    run(
        build.out,
        request(build)?,
        hint,
        progress,
        |state, progress| stages(build, state, progress),
    )
}

/// Opens the folder for what is to be made of `request`, goes through the stages and writes the manifest.
pub(super) fn run(
    folder: &Path,
    request: Request,
    encoder_folder: Option<PathBuf>,
    progress: &mut Progress<'_>,
    stages: impl FnOnce(&mut State, &mut Progress<'_>) -> Result<(), RetrievalError>,
) -> Result<Built, RetrievalError> {
    refuse_foreign(folder)?;
    let _lock = Lock::take(folder)?;
    if let Some(manifest) = state::read::<Manifest>(folder, MANIFEST)? {
        refuse_other(folder, &manifest.request, &request)?;
        return Ok(Built {
            manifest,
            already: true,
        });
    }
    let mut state = match state::read::<State>(folder, STATE)? {
        Some(mut state) => {
            change_vectors(folder, &mut state, &request);
            refuse_other(folder, &state.request, &request)?;
            state
        }
        None => State::new(request),
    };
    state::write(folder, STATE, &state)?;
    let mut broke = false;
    let mut progress = |at: BuildProgress| {
        let flow = progress(at);
        broke |= flow.is_break();
        flow
    };
    match stages(&mut state, &mut progress) {
        Ok(()) => {}
        Err(_) if broke => return Err(stopped()),
        Err(error) => return Err(error),
    }
    let manifest = finish(folder, encoder_folder, &state)?;
    Ok(Built {
        manifest,
        already: false,
    })
}

fn request(build: &Build<'_>) -> Result<Request, RetrievalError> {
    let corpus = build
        .inputs
        .iter()
        .map(Input::id)
        .collect::<Result<_, _>>()?;
    let embeddings = build.vectors.files().iter().map(EmbeddingFile::id);
    Ok(Request {
        corpus,
        encoder: build.vectors.id()?,
        embeddings: embeddings.collect::<Result<_, _>>()?,
        shard: build.shard,
        step: build.vectors.encoder().map_or(0, BuildEncoder::step),
        graph: build.graph,
    })
}

/// Refuses a folder with files in it that is no index.
fn refuse_foreign(folder: &Path) -> Result<(), RetrievalError> {
    let ours = [MANIFEST, STATE]
        .iter()
        .any(|name| folder.join(name).is_file());
    let Ok(mut entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    let foreign = entries.any(|entry| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // What a build left that found no document.
            name != "lock" && name != state::PROBLEMS && !name.starts_with(".writing-")
        })
    });
    match foreign && !ours {
        true => Err(RetrievalError(format!(
            "{} holds files and is no index; give the name of a new folder",
            folder.display()
        ))),
        false => Ok(()),
    }
}

fn refuse_other(folder: &Path, there: &Request, wanted: &Request) -> Result<(), RetrievalError> {
    match there.differs(wanted) {
        Some(why) => Err(RetrievalError(format!(
            "{} holds an index made from {why}; choose another folder, or remove this one",
            folder.display()
        ))),
        None => Ok(()),
    }
}

/// An unfinished index of the same documents takes other vectors or another precision of its graph, so that a file that
/// was refused, or a graph that could not be made, costs no reading of the corpus again. Work of an encoder is not
/// thrown away like that: then the difference stays, to be refused.
fn change_vectors(folder: &Path, state: &mut State, wanted: &Request) {
    let there = &state.request;
    if there.corpus != wanted.corpus || there.shard != wanted.shard {
        return;
    }
    let same_vectors = there.encoder == wanted.encoder && there.embeddings == wanted.embeddings;
    let encoded = there.embeddings.is_empty() && (state.steps > 0 || vectors::finished(folder));
    if same_vectors {
        state.graph &= there.graph == wanted.graph;
        state.request.graph = wanted.graph;
    } else if !encoded {
        vectors::forget(folder);
        state.request = wanted.clone();
        (state.steps, state.vectors, state.graph) = (0, false, false);
        state.recall_at_10 = None;
    }
}

fn stages(
    build: &Build<'_>,
    state: &mut State,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    let folder = build.out;
    // What is wrong with vectors that are there already is found before the corpus is read, which takes longer.
    let looked_at = !state.read.done;
    if looked_at && let BuildVectors::Imported(imported) = &build.vectors {
        embeddings::look(&imported.files, &state.request, progress)?;
    }
    if !state.read.done {
        read::read(folder, &build.inputs, state, progress)?;
    }
    let documents = some_documents(folder, state)?;
    let store = Store::open(folder, documents, state.read.bytes)?;
    index_text(folder, &store, state, progress)?;
    let Some(dim) = state.request.encoder.as_ref().map(|encoder| encoder.dim) else {
        return Ok(());
    };
    if !(state.vectors || vectors::finished(folder)) {
        match &build.vectors {
            BuildVectors::None => return Ok(()),
            BuildVectors::Encoder(encoder) => {
                let article = &encoder.pair.article;
                let mut encode =
                    |texts: &[(&str, &str)], tell: &mut dyn FnMut(usize) -> ControlFlow<()>| {
                        encoders::encode_articles(article, texts, tell)
                    };
                vectors::encode(folder, &store, dim, state, &mut encode, progress)?;
            }
            BuildVectors::Imported(imported) => {
                let files = &imported.files;
                embeddings::import(folder, &store, dim, files, looked_at, state, progress)?;
            }
        }
    }
    graph(folder, dim, state, progress)
}

/// Builds the BM25 index, if it is not there yet.
pub(super) fn index_text(
    folder: &Path,
    store: &Store,
    state: &mut State,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    if !state.text {
        text::build(folder, store, progress)?;
        state.text = true;
        state::write(folder, STATE, state)?;
    }
    text::clean_up(folder)
}

/// The documents that were read; none is an error, and leaves nothing to go on from.
fn some_documents(folder: &Path, state: &State) -> Result<usize, RetrievalError> {
    if state.read.documents > 0 {
        return usize::try_from(state.read.documents).map_err(|_| {
            RetrievalError("there are more documents than this machine can count".into())
        });
    }
    if state.read.accepted > 0 {
        return Err(RetrievalError(empty_shard(state)));
    }
    let bad: u64 = state.read.files.iter().map(|file| file.bad).sum();
    let unread = state.read.files.iter().find(|file| file.bytes > 0);
    let unread =
        unread.map(|file| format!("nothing in {} can be read as {}", file.name, file.format));
    // The next try reads anew, also another corpus.
    read::forget(folder);
    let why = match bad {
        0 => unread.unwrap_or_else(|| "the files of the corpus are empty".to_owned()),
        _ => format!(
            "{} could not be read, see {}",
            count(usize::try_from(bad).unwrap_or(usize::MAX), "record"),
            folder.join(state::PROBLEMS).display()
        ),
    };
    Err(RetrievalError(format!("no document was found: {why}")))
}

/// What is said of a shard without documents, by the build and by what needs the shard.
pub(super) fn empty_shard(state: &State) -> String {
    let documents = state.read.accepted;
    format!(
        "shard {} of {} holds no document, since the whole corpus has only {}: build all shards anew, in new folders and in at most {documents} parts",
        state.request.shard.part,
        state.request.shard.of,
        count(usize::try_from(documents).unwrap_or(usize::MAX), "document")
    )
}

/// Builds the graph, if it is not there yet.
pub(super) fn graph(
    folder: &Path,
    dim: usize,
    state: &mut State,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    if state.graph {
        return Ok(());
    }
    let rows = usize::try_from(state.read.documents).unwrap_or(usize::MAX);
    let vectors = vectors::load(folder, rows, dim)?;
    state.recall_at_10 = vectors::build_graph(folder, &vectors, state.request.graph, progress)?;
    state.graph = true;
    state::write(folder, STATE, state)
}

/// Writes the manifest, which makes the index one, and removes what only building needed.
fn finish(
    folder: &Path,
    encoder_folder: Option<PathBuf>,
    state: &State,
) -> Result<Manifest, RetrievalError> {
    let encoder = state.request.encoder.clone();
    let manifest = Manifest {
        schema: SCHEMA,
        tool: concat!("medrgb ", env!("CARGO_PKG_VERSION")).to_owned(),
        documents: usize::try_from(state.read.documents).unwrap_or(usize::MAX),
        corpus_documents: state.read.accepted,
        text_bytes: state.read.bytes,
        bad_records: state.read.files.iter().map(|file| file.bad).sum(),
        dtype: encoder.as_ref().map(|_| "f32".to_owned()),
        metric: encoder.as_ref().map(|_| "inner product".to_owned()),
        encoder,
        encoder_folder,
        recall_at_10: state.recall_at_10,
        shard: Some(state.request.shard).filter(|shard| *shard != Shard::WHOLE),
        corpus: state.read.files.clone(),
        request: state.request.clone(),
    };
    state::write(folder, MANIFEST, &manifest)?;
    let _ = std::fs::remove_file(folder.join(STATE));
    read::clean_up(folder);
    Ok(manifest)
}
