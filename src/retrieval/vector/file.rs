//! A graph on disk: whole, or the beginning of one that is being built.
//!
//! Layout: a head of 256 bytes (magic, version, what the graph was built from and how, lengths, checksums and
//! last a checksum of the head), the smaller copy of the vectors where the graph has one, zeros up to a
//! multiple of 64, the graph. Numbers are little-endian. The graph's checksum is tested whenever a file is
//! opened: a wrong link would lead usearch outside of its memory. The copy's checksum is tested when it is loaded,
//! not when it is looked at in the file: it may be far larger than memory, and a wrong number in it costs a
//! place in the ranking before the rescoring and no more.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::codes::{Codes, Int8};
use super::graph::Graph;
use super::{GraphPrecision, HnswOptions};
use crate::retrieval::RetrievalError;
use crate::retrieval::exact::{Precision, Vectors};
use crate::retrieval::mapped::{Mapped, beside, write_reason};

const MAGIC: &[u8; 8] = b"MEDRGBHW";
const VERSION: u32 = 1;
const HEAD: usize = 256;
const SEAL: usize = 32;
/// Rows whose bytes tell one set of vectors from another.
const FINGERPRINT_ROWS: usize = 1024;

type Sum = [u8; SEAL];

/// What a graph belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    precision: GraphPrecision,
    dim: u64,
    vectors: u64,
    connectivity: u64,
    expansion_add: u64,
    fingerprint: Sum,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Head {
    origin: Origin,
    /// Vectors that are in the graph so far.
    added: u64,
    scale: f32,
    codes: u64,
    graph: u64,
    codes_sum: Sum,
    graph_sum: Sum,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// All of it is read into memory.
    Load,
    /// It stays in the file.
    View,
}

impl Origin {
    fn of(vectors: &Vectors, options: HnswOptions) -> Origin {
        Origin {
            precision: options.precision,
            dim: vectors.dim() as u64,
            vectors: vectors.len() as u64,
            connectivity: options.connectivity as u64,
            expansion_add: options.expansion_add as u64,
            fingerprint: fingerprint(vectors),
        }
    }

    /// Why a graph of this origin is none of the other; `None` where it is.
    fn differs(&self, wanted: &Origin) -> Option<String> {
        let (is, was) = (self, wanted);
        if (is.dim, is.vectors) != (was.dim, was.vectors) {
            return Some(format!(
                "it is of {} vectors of {} dimensions, not of {} of {}",
                is.vectors, is.dim, was.vectors, was.dim
            ));
        }
        if is.fingerprint != was.fingerprint {
            return Some("it is of other vectors".into());
        }
        (is != was).then(|| {
            format!(
                "it was built as {:?}, M {}, ef {}, not as {:?}, M {}, ef {}",
                is.precision,
                is.connectivity,
                is.expansion_add,
                was.precision,
                was.connectivity,
                was.expansion_add
            )
        })
    }
}

/// SHA-256 of shape, precision and some rows, evenly spread, with the last: a graph belongs to the very
/// vectors it was built from.
fn fingerprint(vectors: &Vectors) -> Sum {
    let mut hasher = Sha256::new();
    hasher.update((vectors.dim() as u64).to_le_bytes());
    hasher.update((vectors.len() as u64).to_le_bytes());
    hasher.update([vectors.precision().bytes() as u8]);
    let step = vectors.len().div_ceil(FINGERPRINT_ROWS).max(1);
    let last = vectors.len().saturating_sub(1);
    for row in (0..vectors.len()).step_by(step).chain([last]) {
        hasher.update(vectors.row_bytes(row..row + 1));
    }
    hasher.finalize().into()
}

/// Writes a graph and its copy of the vectors, whole or not at all.
pub(super) fn save(
    path: &Path,
    graph: &Graph,
    vectors: &Vectors,
    options: HnswOptions,
) -> Result<(), RetrievalError> {
    write(path, graph, vectors, options, true)
}

/// Writes the beginning of a graph. Its copy of the vectors is left out: it is made again from them.
pub(super) fn save_part(
    path: &Path,
    graph: &Graph,
    vectors: &Vectors,
    options: HnswOptions,
) -> Result<(), RetrievalError> {
    write(path, graph, vectors, options, false)
}

fn write(
    path: &Path,
    graph: &Graph,
    vectors: &Vectors,
    options: HnswOptions,
    with_codes: bool,
) -> Result<(), RetrievalError> {
    let bytes = graph.to_bytes()?;
    let copy = match graph.codes() {
        _ if !with_codes => (&[][..]).into(),
        Codes::Int8(rows) => bytemuck::cast_slice::<i8, u8>(rows.numbers()).into(),
        Codes::Rows(rows) if rows.precision() != vectors.precision() => {
            rows.row_bytes(0..rows.len())
        }
        Codes::Rows(_) => (&[][..]).into(),
    };
    let head = Head {
        origin: Origin::of(vectors, options),
        added: graph.len() as u64,
        scale: match graph.codes() {
            Codes::Int8(rows) => rows.scale(),
            Codes::Rows(_) => 1.0,
        },
        codes: copy.len() as u64,
        graph: bytes.len() as u64,
        codes_sum: Sha256::digest(&*copy).into(),
        graph_sum: Sha256::digest(&bytes).into(),
    };
    let place = || {
        let mut file = beside(path)?;
        file.write_all(&head.to_bytes())?;
        file.write_all(&copy)?;
        file.seek(SeekFrom::Start(graph_start(copy.len()) as u64))?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    };
    place().map(drop).map_err(|error| {
        RetrievalError(format!(
            "{} can't be written: {}",
            path.display(),
            write_reason(&error)
        ))
    })
}

fn graph_start(codes: usize) -> usize {
    (HEAD + codes).next_multiple_of(64)
}

/// Opens a graph of these vectors that is whole.
pub(super) fn open(
    path: &Path,
    vectors: &Vectors,
    options: HnswOptions,
    how: Open,
) -> Result<Graph, RetrievalError> {
    let file = Arc::new(Mapped::open_own(path)?);
    opened(&file, vectors, options, how).map_err(|why| refused(path, &why))
}

fn refused(path: &Path, why: &str) -> RetrievalError {
    RetrievalError(format!(
        "the vector index {} can't be used: {why}; build it again",
        path.display()
    ))
}

fn opened(
    file: &Arc<Mapped>,
    vectors: &Vectors,
    options: HnswOptions,
    how: Open,
) -> Result<Graph, String> {
    let head = Head::read(file.bytes())?;
    if let Some(why) = head.origin.differs(&Origin::of(vectors, options)) {
        return Err(why);
    }
    if head.added != head.origin.vectors {
        return Err(format!(
            "it is unfinished ({} of {} vectors)",
            head.added, head.origin.vectors
        ));
    }
    let codes = head.codes_in(file, vectors, how)?;
    let part = head.graph_in(file.bytes())?;
    let nodes = vectors.len();
    match how {
        Open::View => Graph::view(Arc::clone(file), part, codes, nodes, options),
        Open::Load => {
            let bytes = file.bytes().get(part).unwrap_or_default();
            Graph::load(bytes, codes, nodes, nodes, 1, options)
        }
    }
    .map_err(|error| error.0)
}

/// The beginning of a graph of these vectors, ready for more; `None` where there is no file or not of this
/// graph.
pub(super) fn resume(
    path: &Path,
    codes: &Codes,
    vectors: &Vectors,
    threads: usize,
    options: HnswOptions,
) -> Option<Graph> {
    let file = Mapped::open(path).ok()?;
    let head = Head::read(file.bytes()).ok()?;
    if head.origin != Origin::of(vectors, options) {
        return None;
    }
    let bytes = file.bytes().get(head.graph_in(file.bytes()).ok()?)?;
    let added = usize::try_from(head.added).ok()?;
    Graph::load(bytes, codes.clone(), added, vectors.len(), threads, options).ok()
}

impl Head {
    fn to_bytes(self) -> [u8; HEAD] {
        let origin = self.origin;
        let mut bytes = Vec::with_capacity(HEAD);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&precision_number(origin.precision).to_le_bytes());
        for number in [
            origin.dim,
            origin.vectors,
            origin.connectivity,
            origin.expansion_add,
            self.added,
            u64::from(self.scale.to_bits()),
            self.codes,
            self.graph,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for sum in [origin.fingerprint, self.codes_sum, self.graph_sum] {
            bytes.extend_from_slice(&sum);
        }
        bytes.resize(HEAD - SEAL, 0);
        let seal: Sum = Sha256::digest(&bytes).into();
        let mut head = [0; HEAD];
        head[..HEAD - SEAL].copy_from_slice(&bytes);
        head[HEAD - SEAL..].copy_from_slice(&seal);
        head
    }

    /// Reads the head and tests it and the file's length.
    fn read(bytes: &[u8]) -> Result<Head, String> {
        if !bytes.starts_with(MAGIC) {
            return Err("it is no vector index of this program".into());
        }
        let head = bytes.get(..HEAD).ok_or("it is cut off")?;
        let (fields, seal) = head.split_at(HEAD - SEAL);
        if u32_at(fields, 8) != VERSION {
            return Err("it is of another version of this program".into());
        }
        if *seal != Sha256::digest(fields)[..] {
            return Err("its head is damaged".into());
        }
        let number = |index: usize| u64_at(fields, 16 + 8 * index);
        let sum = |index: usize| -> Sum {
            std::array::from_fn(|at| fields[16 + 8 * 8 + SEAL * index + at])
        };
        let head = Head {
            origin: Origin {
                precision: precision_of(u32_at(fields, 12))
                    .ok_or("its precision is not known to this program")?,
                dim: number(0),
                vectors: number(1),
                connectivity: number(2),
                expansion_add: number(3),
                fingerprint: sum(0),
            },
            added: number(4),
            scale: f32::from_bits(number(5) as u32),
            codes: number(6),
            graph: number(7),
            codes_sum: sum(1),
            graph_sum: sum(2),
        };
        let wanted = (usize::try_from(head.codes).ok())
            .zip(usize::try_from(head.graph).ok())
            .and_then(|(codes, graph)| graph_start(codes).checked_add(graph));
        match wanted {
            Some(wanted) if wanted == bytes.len() => Ok(head),
            Some(wanted) if wanted > bytes.len() => Err("it is cut off".into()),
            _ => Err("it is longer than its head says".into()),
        }
    }

    /// Where the graph lies, its checksum tested.
    fn graph_in(&self, bytes: &[u8]) -> Result<std::ops::Range<usize>, String> {
        let start = graph_start(self.codes as usize);
        let part = start..start + self.graph as usize;
        let graph = bytes.get(part.clone()).ok_or("it is cut off")?;
        if Sha256::digest(graph)[..] != self.graph_sum {
            return Err("its checksum does not fit: it is damaged".into());
        }
        Ok(part)
    }

    /// The rows that the graph compares.
    fn codes_in(&self, file: &Arc<Mapped>, vectors: &Vectors, how: Open) -> Result<Codes, String> {
        if self.origin.precision == GraphPrecision::Stored
            || (self.origin.precision == GraphPrecision::Half
                && vectors.precision() == Precision::Half)
        {
            return Ok(Codes::Rows(vectors.clone()));
        }
        let part = HEAD..HEAD + self.codes as usize;
        let bytes = file.bytes().get(part.clone()).ok_or("it is cut off")?;
        let size = match self.origin.precision {
            GraphPrecision::Int8 => 1,
            _ => Precision::Half.bytes(),
        };
        if bytes.len() != vectors.len() * vectors.dim() * size {
            return Err("its copy of the vectors is not as long as they are".into());
        }
        if how == Open::Load && Sha256::digest(bytes)[..] != self.codes_sum {
            return Err("its checksum does not fit: it is damaged".into());
        }
        let dim = vectors.dim();
        if self.origin.precision == GraphPrecision::Int8 {
            let rows =
                Int8::mapped(Arc::clone(file), part, dim, self.scale).ok_or("it is cut off")?;
            return Ok(Codes::Int8(match how {
                Open::Load => rows.loaded(),
                Open::View => rows,
            }));
        }
        let rows = Vectors::mapped(Arc::clone(file), part, dim, Precision::Half);
        let rows = match how {
            Open::Load => rows.and_then(|rows| rows.loaded()),
            Open::View => rows,
        };
        rows.map(Codes::Rows).map_err(|error| error.0)
    }
}

fn precision_number(precision: GraphPrecision) -> u32 {
    match precision {
        GraphPrecision::Stored => 0,
        GraphPrecision::Half => 1,
        GraphPrecision::Int8 => 2,
    }
}

fn precision_of(number: u32) -> Option<GraphPrecision> {
    [
        GraphPrecision::Stored,
        GraphPrecision::Half,
        GraphPrecision::Int8,
    ]
    .into_iter()
    .find(|&precision| precision_number(precision) == number)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}
