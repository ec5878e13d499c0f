//! `medrgb index push`, `index info URL` and `index drop`: collections on a Milvus server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use serde::Serialize;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json, variable};
use crate::cli::encoder::{self, Backend};
use crate::cli::progress::Line;
use crate::cli::signals::stop_on_signal;
use crate::domain::text::{count, one_line};
use crate::model::registry;
use crate::retrieval::remote::push::{self, Push, Pushed};
use crate::retrieval::remote::record::{IndexKind, Precision, Record};
use crate::retrieval::remote::shape::Facts;
use crate::retrieval::remote::{Address, Collection, Remote, TOKEN_VARIABLE, Token, missing};
use crate::retrieval::{EncoderFolders, EncoderSummary, NO_ENCODER};

mod source;

use source::Source;

/// Arguments of `medrgb index push`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The token of a server that wants one is read from the environment variable MILVUS_TOKEN (an API key, or USER:PASSWORD).\nA push that was stopped or killed goes on where it was: how far it is stands in the collection, so that it may go on from another machine too. Run again after it is done, it writes all documents anew, and replaces those that are there.\n\nExample:\n  medrgb index push --dataset my-set --to milvus://localhost:19530/my_set"
)]
pub struct PushArgs {
    /// Where to: milvus://HOST:PORT/[DATABASE/]COLLECTION, or milvus+tls://…; made where it is not there.
    #[arg(long, value_name = "URL")]
    pub to: String,
    /// Dataset folder whose documents are encoded and written; without it the sample benchmark.
    #[arg(long, value_name = "FOLDER")]
    pub dataset: Option<PathBuf>,
    /// Index folder whose documents and vectors are written instead.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dataset", "encoder", "backend"])]
    pub index: Option<PathBuf>,
    /// Encoder: a name or a folder.
    #[arg(long, value_name = "NAME|FOLDER")]
    pub encoder: Option<String>,
    /// Where the encoder runs.
    #[arg(long, value_enum)]
    pub backend: Option<Backend>,
    /// Keep vectors in half precision: half the memory (clusters only, not milvus-lite).
    #[arg(long)]
    pub float16: bool,
    /// The index of a new collection.
    #[arg(long, value_enum, default_value = "hnsw")]
    pub index_type: IndexType,
    /// Neighbours of a vector in the HNSW graph.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=2048))]
    pub m: u16,
    /// Candidates while the HNSW graph is built.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(8..=4096))]
    pub ef_construction: u16,
    /// Shards of a new collection; without it the server's default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub shards: Option<u16>,
    /// Copies in memory that answer searches.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub replicas: u16,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `--index-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IndexType {
    /// A graph in memory
    Hnsw,
    /// A graph on disk (Milvus servers only; milvus-lite is refused)
    Diskann,
    /// A scan of all vectors
    Flat,
}

/// The object of `index push --json`.
#[derive(Debug, Serialize)]
struct PushOutput<'a> {
    url: String,
    /// Whether the collection was made by this command.
    created: bool,
    /// Documents in the collection now.
    documents: usize,
    #[serde(flatten)]
    pushed: &'a Pushed,
    seconds: f64,
}

/// The object of `index info URL --json`.
#[derive(Debug, Serialize)]
struct InfoOutput<'a> {
    url: String,
    #[serde(flatten)]
    facts: &'a Facts,
}

fn token() -> Option<Token> {
    variable(TOKEN_VARIABLE).and_then(|text| Token::new(&text))
}

/// Says where a token would travel readable.
pub(super) fn warn(url: &str) {
    let Ok(address) = Address::parse(url) else {
        return;
    };
    if token().is_some() && !address.tls && !address.is_local() {
        note(&format!(
            "{TOKEN_VARIABLE} travels unencrypted to {}; use milvus+tls:// where the server speaks TLS",
            address.server()
        ));
    }
}

/// A collection for anything but a search.
fn collection(url: &str) -> Result<(Address, Collection), Failure> {
    let address = Address::parse(url).map_err(Failure::usage)?;
    if let Some(ef) = address.ef {
        return Err(Failure::Usage(format!(
            "?ef={ef} at the end of the address is about searches and means nothing here; leave it out"
        )));
    }
    warn(url);
    let collection = Collection::new(&address, token().as_ref()).map_err(Failure::failed)?;
    Ok((address, collection))
}

/// Opens the collection at a URL for searching.
///
/// # Errors
/// [`Failure`] when the address is wrong, the server can't be reached, or the encoder does not belong.
pub fn open(
    url: &str,
    encoder_flag: Option<&str>,
    backend: Option<Backend>,
    environment: &Environment,
) -> Result<Arc<Remote>, Failure> {
    let address = Address::parse(url).map_err(Failure::usage)?;
    let token = token();
    let folders = match encoder_flag {
        Some(_) => None,
        None => named_by(&address, token.as_ref(), environment)?,
    };
    let folders = match folders {
        Some(folders) => folders,
        None => {
            encoder::folders(encoder_flag, environment)?.ok_or_else(|| no_encoder("searched"))?
        }
    };
    let backend = encoder::backend(backend, environment)?;
    Remote::open(&address, token.as_ref(), &folders, backend).map_err(Failure::failed)
}

/// The encoder whose name the collection records, where this machine has it by that name.
fn named_by(
    address: &Address,
    token: Option<&Token>,
    environment: &Environment,
) -> Result<Option<EncoderFolders>, Failure> {
    let collection = Collection::new(address, token).map_err(Failure::failed)?;
    let record = collection.record().map_err(Failure::failed)?;
    let record = record.ok_or_else(|| Failure::failed(missing(&collection)))?;
    let found = registry::encoder_folders(&record.encoder, &environment.paths.cache);
    // A name of the registry, not a folder that happens to lie here under that name.
    Ok(found
        .filter(|_| registry::is_encoder(&record.encoder))
        .map(|found| EncoderFolders {
            name: found.name,
            query: found.query,
            article: found.article,
            stand_in: found.caution.is_some(),
        }))
}

fn no_encoder(what: &str) -> Failure {
    Failure::Failed(format!(
        "without an encoder a remote index can't be {what}: {NO_ENCODER}"
    ))
}

/// Runs `medrgb index push`.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run_push(args: &PushArgs, environment: &Environment) -> Result<(), Failure> {
    let started = Instant::now();
    let (address, collection) = collection(&args.to)?;
    // Asked before anything is encoded: a server that is not there should be known at once.
    let existing = collection.record().map_err(Failure::failed)?;
    let belongs = existing
        .as_ref()
        .map(|record| |encoder: &EncoderSummary| record.belongs(encoder, &collection.place()));
    let source = Source::open(args, environment, belongs)?;
    let created = existing.is_none();
    let record = prepare(args, &collection, existing, &source.encoder()?)?;
    let pushed = write(&collection, &record, &source)?;
    load(&collection, args.replicas)?;
    let documents = collection.count().map_err(Failure::failed)?;
    if documents < pushed.already + pushed.written {
        note(&format!(
            "{} holds fewer documents than were written to it: it has lost some, or somebody removed them meanwhile; run the same command again, which writes all of them",
            collection.place()
        ));
    }
    for reason in &pushed.reasons {
        note(&format!("not written: {reason}"));
    }
    if args.json {
        return say_json(&PushOutput {
            url: address.to_string(),
            created,
            documents,
            pushed: &pushed,
            seconds: started.elapsed().as_secs_f64(),
        });
    }
    say(&summary(&pushed, documents, &address))
}

/// Makes the collection, or checks that the one that is there takes these vectors.
fn prepare(
    args: &PushArgs,
    collection: &Collection,
    existing: Option<Record>,
    encoder: &EncoderSummary,
) -> Result<Record, Failure> {
    let precision = if args.float16 {
        Precision::Float16
    } else {
        Precision::Float32
    };
    let Some(record) = existing else {
        let index = match args.index_type {
            IndexType::Hnsw => IndexKind::Hnsw {
                m: args.m.into(),
                ef_construction: args.ef_construction.into(),
            },
            IndexType::Diskann => IndexKind::Diskann,
            IndexType::Flat => IndexKind::Flat,
        };
        refuse_on_lite(args, collection)?;
        let record = Record::new(encoder, precision, index);
        collection
            .create(&record, args.shards)
            .map_err(Failure::failed)?;
        return Ok(record);
    };
    record
        .belongs(encoder, &collection.place())
        .map_err(Failure::failed)?;
    if args.float16 && record.precision != precision {
        return Err(Failure::Failed(format!(
            "{} keeps its vectors in single precision: leave --float16 out, or push to a new collection",
            collection.place()
        )));
    }
    collection.ensure_index(&record).map_err(Failure::failed)?;
    note(&format!(
        "{} exists: documents are added or replaced, its index stays as it is",
        collection.place()
    ));
    Ok(record)
}

/// Refuses what `milvus-lite` takes without doing it.
fn refuse_on_lite(args: &PushArgs, collection: &Collection) -> Result<(), Failure> {
    let asked = match args.index_type {
        IndexType::Diskann => "--index-type diskann",
        IndexType::Hnsw | IndexType::Flat if args.replicas > 1 => "--replicas",
        IndexType::Hnsw | IndexType::Flat if args.shards.is_some_and(|shards| shards > 1) => {
            "--shards"
        }
        IndexType::Hnsw | IndexType::Flat => return Ok(()),
    };
    // A server that does not say what it is is no milvus-lite.
    let version = collection.server_version().unwrap_or_default();
    match version.to_lowercase().contains("lite") {
        true => Err(Failure::Failed(format!(
            "{} is a milvus-lite ({}), which takes {asked} but does nothing of the kind; leave it out, or push to a Milvus server",
            collection.address().server(),
            one_line(&version)
        ))),
        false => Ok(()),
    }
}

fn write(collection: &Collection, record: &Record, source: &Source) -> Result<Pushed, Failure> {
    let line = Line::heeding(stop_on_signal());
    let total = source.len();
    let rows = push::Source {
        id: source.id()?,
        count: total,
        row: &|position| source.row(position),
    };
    let push = Push::begin(collection, record, &rows).map_err(Failure::failed)?;
    if push.already() > 0 {
        note(&format!(
            "{} of {} already there, from a push that was stopped; writing the rest",
            push.already(),
            count(total, "document")
        ));
    }
    push.run(&mut |done| line.at("writing", done, total))
        .map_err(Failure::failed)
}

/// Waits without a limit: a large collection takes long, and the line shows that it is being waited for.
fn load(collection: &Collection, replicas: u16) -> Result<(), Failure> {
    let line = Line::heeding(stop_on_signal());
    collection
        .load(replicas, &mut |waited| {
            line.at("loading (seconds)", waited.as_secs() as usize, 0)
        })
        .map_err(Failure::failed)
}

fn summary(pushed: &Pushed, documents: usize, address: &Address) -> String {
    let mut text = format!(
        "{} written to {address}, which holds {documents} now",
        count(pushed.written, "document")
    );
    if pushed.already > 0 {
        text.push_str(&format!("; {} were there already", pushed.already));
    }
    if pushed.refused > 0 {
        text.push_str(&format!("; {} refused", pushed.refused));
    }
    if pushed.cut > 0 {
        text.push_str(&format!(
            "; {} cut to a field's 65,535 bytes",
            count(pushed.cut, "text")
        ));
    }
    text
}

/// Runs `medrgb index info URL`.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run_info(url: &str, json: bool) -> Result<(), Failure> {
    let (address, collection) = collection(url)?;
    let facts = collection
        .facts()
        .map_err(Failure::failed)?
        .ok_or_else(|| Failure::failed(missing(&collection)))?;
    if json {
        return say_json(&InfoOutput {
            url: address.to_string(),
            facts: &facts,
        });
    }
    let precision = match facts.precision {
        Precision::Float32 => "float32",
        Precision::Float16 => "float16",
    };
    for (name, value) in [
        ("index", address.to_string()),
        ("documents", facts.documents.to_string()),
        (
            "encoder",
            format!("{} ({})", facts.encoder, facts.weights_sha256),
        ),
        ("vectors", format!("{} dimensions, {precision}", facts.dim)),
        ("metric", facts.metric),
        (
            "graph",
            format!("{} {}", facts.index_type, facts.index_params),
        ),
        ("shards", facts.shards.to_string()),
        ("loaded", if facts.loaded { "yes" } else { "no" }.to_owned()),
        ("made by", facts.tool),
    ] {
        say(&format!("{name:<10} {}", one_line(&value)))?;
    }
    for standing in &facts.unfinished {
        say(&format!("unfinished {standing}"))?;
    }
    Ok(())
}

/// Runs `medrgb index drop URL`.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run_drop(url: &str, json: bool) -> Result<(), Failure> {
    let (address, collection) = collection(url)?;
    if !collection.drop_collection().map_err(Failure::failed)? {
        return Err(Failure::failed(missing(&collection)));
    }
    if json {
        return say_json(&serde_json::json!({"url": address.to_string(), "dropped": true}));
    }
    say(&format!("{address} is dropped"))
}
