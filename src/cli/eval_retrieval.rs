//! `medrgb eval-retrieval`: how well a retriever finds what was judged relevant.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say_json, write_out};
use crate::cli::encoder::Backend;
use crate::cli::progress::Line;
use crate::cli::remote;
use crate::cli::search::{self, RetrieverKind};
use crate::cli::signals::stop_on_signal;
use crate::data::beir::{self, TestSet};
use crate::data::output;
use crate::domain::ranking::Measures;
use crate::domain::text::{clean, count};
use crate::engine::evaluate::{Evaluation, QueryOutcome, Reranking, evaluate};
use crate::retrieval::corpus::{self, CorpusFile, Format, Record};
use crate::retrieval::remote::Address;
use crate::retrieval::remote::collection::MOST_HITS;
use crate::retrieval::{CorpusDocument, EncoderSummary, Method, Search, rerank};

/// Problems that are shown one by one.
const PROBLEMS_SHOWN: usize = 5;

/// Arguments of `medrgb eval-retrieval`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
DIR is a set in BEIR's layout: corpus.jsonl (or .gz) with {\"_id\",\"title\",\"text\"}, queries.jsonl with
{\"_id\",\"text\"}, and qrels/test.tsv with query, document and grade.

Measures are those of trec_eval: nDCG@10 with linear gain, recall@10 and @100, MRR@10, and MAP over
the whole list of --depth documents; equal scores are ordered by id, also where they meet the end of the list. Queries for which nothing was
judged relevant are left out and counted; a query that finds nothing counts 0. The interval is a
bootstrap by query. As in BEIR a document with the query's own id is left out, unless it was judged for
that query, as in PubMedQA, whose questions were made from the documents. HNSW looks at more of its graph the deeper the list: with --depth 100 it works
about as it does for a person who searches.

Examples:
  medrgb eval-retrieval --beir scifact --retriever bm25
  medrgb eval-retrieval --beir scifact --retriever dense --encoder minilm-l6 --json
  medrgb eval-retrieval --beir scifact --retriever hybrid --per-query queries.jsonl --run-file run.trec")]
pub struct Args {
    /// Folder of the test set
    #[arg(long, value_name = "DIR")]
    pub beir: PathBuf,
    /// Index folder of this corpus that is searched instead of one made in memory, and may be given several times; or
    /// a collection of it on a Milvus server: milvus://HOST:PORT/COLLECTION, ?ef=N at its end sets the candidates
    #[arg(long, value_name = "DIR|URL")]
    pub index: Vec<String>,
    /// How to search
    #[arg(long, value_enum)]
    pub retriever: RetrieverKind,
    /// Encoder: a name or a folder; not needed for bm25
    #[arg(long, value_name = "NAME|FOLDER")]
    pub encoder: Option<String>,
    /// Let a cross-encoder read the first documents of each list anew: medcpt-cross, or a folder
    #[arg(long, value_name = "NAME|FOLDER")]
    pub rerank: Option<String>,
    /// How many it reads per query
    #[arg(long, value_name = "N", default_value_t = rerank::DEFAULT_DEPTH, requires = "rerank", value_parser = clap::value_parser!(u16).range(1..))]
    pub rerank_depth: u16,
    /// Where encoder and cross-encoder run
    #[arg(long, value_enum)]
    pub backend: Option<Backend>,
    /// Which judgements: qrels/SPLIT.tsv
    #[arg(long, value_name = "SPLIT", default_value = "test")]
    pub split: String,
    /// Documents per list
    #[arg(long, value_name = "K", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub depth: u32,
    /// Write the measures of each query to this file, one JSON object per line
    #[arg(long, value_name = "FILE.jsonl")]
    pub per_query: Option<PathBuf>,
    /// Write the lists to this file, in TREC's format
    #[arg(long, value_name = "FILE")]
    pub run_file: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The object of `--json`.
#[derive(Debug, Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    mean: Measures,
    queries: usize,
    documents: usize,
    #[serde(rename = "ndcg@10_interval")]
    ndcg_interval: Option<(f64, f64)>,
    /// Queries for which nothing was judged relevant.
    queries_without_relevant: usize,
    /// Queries with more equal scores at the end of their list than are looked at: which are in it is the index's
    /// order.
    queries_cut_in_ties: usize,
    /// Lines that can't be used.
    problems: usize,
    retriever: Method,
    depth: u32,
    split: &'a str,
    /// Null for bm25, which uses none.
    encoder: Option<EncoderSummary>,
    /// Null where nothing was reranked.
    rerank: Option<RerankedBy>,
    /// recall@10 of the index against the exact scan, measured when it was built.
    recall_at_10: Option<f64>,
    /// Per query, encoding included.
    milliseconds: Percentiles,
}

/// The cross-encoder that gave the order.
#[derive(Debug, Serialize)]
struct RerankedBy {
    model: String,
    weights_sha256: String,
    depth: u16,
}

/// What searches took.
#[derive(Debug, Serialize)]
struct Percentiles {
    p50: f64,
    p95: f64,
}

/// A line of `--per-query`.
#[derive(Serialize)]
struct QueryLine<'a> {
    query: &'a str,
    relevant: usize,
    #[serde(flatten)]
    measures: Measures,
    milliseconds: f64,
    /// Ids of the first 10.
    first: Vec<&'a str>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    for file in args.per_query.iter().chain(&args.run_file) {
        output::check(file).map_err(Failure::failed)?;
    }
    let inputs =
        ["corpus.jsonl", "queries.jsonl"].map(|name| beir::packed_or_not(&args.beir, name));
    let judged = args.beir.join("qrels").join(format!("{}.tsv", args.split));
    for file in args.per_query.iter().chain(&args.run_file) {
        for input in inputs.iter().chain([&judged]) {
            output::keep(file, input).map_err(Failure::failed)?;
        }
    }
    if let (Some(file), Some(other)) = (&args.per_query, &args.run_file) {
        output::keep(file, other).map_err(Failure::failed)?;
    }
    refuse_for_remote(&args)?;
    let set = beir::open(&args.beir, &args.split).map_err(Failure::failed)?;
    let wanted = args.rerank.as_deref();
    let cross = search::cross_encoder(wanted, args.backend, environment)?;
    let reranking = cross.as_ref().map(|cross| Reranking {
        cross,
        depth: args.rerank_depth.into(),
    });
    let (method, searched, problems) = searched(&args, environment)?;
    let problem_count = say_problems(&set, &problems);
    let result = {
        let line = Line::heeding(stop_on_signal());
        let total = set.queries.len();
        let depth = args.depth as usize;
        evaluate(&*searched, &set, method, depth, reranking, &mut |done| {
            line.at("searching", done, total)
        })
        .map_err(Failure::failed)?
    };
    if let Some(file) = &args.per_query {
        write_lines(file, result.queries.iter().map(query_line))?;
    }
    if let Some(file) = &args.run_file {
        write_lines(
            file,
            result.queries.iter().map(|one| Ok(trec_lines(one, method))),
        )?;
    }
    let info = searched.info();
    let output = Output {
        mean: result.mean,
        queries: result.queries.len(),
        documents: info.documents,
        ndcg_interval: result.ndcg_interval,
        queries_without_relevant: result.without_relevant,
        queries_cut_in_ties: result.queries.iter().filter(|one| one.cut_in_ties).count(),
        problems: problem_count,
        retriever: method,
        depth: args.depth,
        split: &args.split,
        encoder: info.encoder,
        rerank: cross.as_ref().map(|cross| RerankedBy {
            model: cross.info().name.clone(),
            weights_sha256: cross.info().weights_sha256.clone(),
            depth: args.rerank_depth,
        }),
        recall_at_10: info
            .recall_at_10
            .filter(|_| matches!(method, Method::Dense | Method::Hybrid)),
        milliseconds: percentiles(&result),
    };
    say_doubts(&result, &output);
    match args.json {
        true => say_json(&output),
        false => write_out(&text(&output)),
    }
}

/// Refuses what no server answers, before anything is read.
fn refuse_for_remote(args: &Args) -> Result<(), Failure> {
    if !args.index.iter().any(|name| Address::is_remote(name)) {
        return Ok(());
    }
    if args.retriever != RetrieverKind::Dense {
        return Err(Failure::Usage(
            "a collection on a server is searched by its vectors: use --retriever dense, or --index with a folder"
                .to_owned(),
        ));
    }
    // Two more are asked for, to see whether equal scores go on.
    let most = MOST_HITS - 2;
    match args.depth as usize > most {
        true => Err(Failure::Usage(format!(
            "a collection on a server gives lists of at most {most} documents: use a smaller --depth"
        ))),
        false => Ok(()),
    }
}

/// Says what makes the figures doubtful.
fn say_doubts(result: &Evaluation, output: &Output<'_>) {
    if output.queries_cut_in_ties > 0 {
        note(&format!(
            "{} found more equal scores at the end of the list than are looked at: which documents are in it depends on the order of the index",
            count(output.queries_cut_in_ties, "query")
        ));
    }
    let nothing = |one: &QueryOutcome| one.ranked.iter().all(|document| document.grade <= 0);
    if result.queries.iter().all(nothing) {
        note(
            "no query found a document that was judged relevant; check that what is searched is the corpus of the judgements",
        );
    }
}

/// Records of a corpus that can't be used.
#[derive(Debug, Default)]
struct Problems {
    count: usize,
    first: Vec<String>,
}

/// What is searched: the folder's corpus in memory, or an index of it.
fn searched(
    args: &Args,
    environment: &Environment,
) -> Result<(Method, Arc<dyn Search>, Problems), Failure> {
    let named = args.encoder.as_deref();
    if !args.index.is_empty() {
        for url in args.index.iter().filter(|name| Address::is_remote(name)) {
            remote::warn(url);
        }
        let method = Some(Method::from(args.retriever));
        let (opened, method) =
            search::open_index(&args.index, method, named, args.backend, environment)?;
        let info = opened.info();
        if let (Some(_), Some(notice)) = (info.encoder, info.notice) {
            note(&notice);
        }
        return Ok((method, opened, Problems::default()));
    }
    let (documents, problems) = corpus(&args.beir)?;
    let (method, folders) = search::plan(Some(args.retriever), named, environment)?;
    let retriever = search::build(documents, folders.as_ref(), args.backend, environment)?;
    Ok((method, retriever, problems))
}

/// The documents of a folder in BEIR's layout.
fn corpus(folder: &Path) -> Result<(Vec<CorpusDocument>, Problems), Failure> {
    let path = beir::packed_or_not(folder, "corpus.jsonl");
    let file = CorpusFile {
        name: path.display().to_string(),
        path,
        format: Format::Beir,
    };
    let mut documents = Vec::new();
    let mut problems = Problems::default();
    for record in corpus::open(&file).map_err(Failure::failed)?.records {
        match record.map_err(Failure::failed)? {
            Record::Document(document) => documents.push(document),
            // Only PubMed's files delete documents.
            Record::Deleted { .. } => {}
            Record::Bad(bad) => {
                problems.count += 1;
                if problems.first.len() < PROBLEMS_SHOWN {
                    problems.first.push(bad.to_string());
                }
            }
        }
    }
    Ok((documents, problems))
}

/// Says what can't be used and gives how much that is.
fn say_problems(set: &TestSet, corpus: &Problems) -> usize {
    let total = set.problem_count + corpus.count;
    let shown: Vec<&String> = set
        .problems
        .iter()
        .chain(&corpus.first)
        .take(PROBLEMS_SHOWN)
        .collect();
    for problem in &shown {
        note(&format!("note: {}", clean(problem)));
    }
    if total > shown.len() {
        let more = count(total - shown.len(), "more line");
        note(&format!("note: {more} can't be used"));
    }
    total
}

fn percentiles(result: &Evaluation) -> Percentiles {
    let mut took: Vec<f64> = result.queries.iter().map(|query| query.took_ms).collect();
    took.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (share * took.len() as f64).ceil() as usize;
        took.get(index.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    Percentiles {
        p50: at(0.5),
        p95: at(0.95),
    }
}

fn query_line(query: &QueryOutcome) -> Result<String, Failure> {
    let line = serde_json::to_string(&QueryLine {
        query: &query.id,
        relevant: query.relevant,
        measures: query.measures,
        milliseconds: query.took_ms,
        first: query
            .ranked
            .iter()
            .take(10)
            .map(|one| one.id.as_str())
            .collect(),
    });
    line.map(|line| line + "\n").map_err(Failure::failed)
}

/// `query Q0 document rank score name`. White space in ids, which TREC's tools can't read, becomes `_`.
fn trec_lines(query: &QueryOutcome, method: Method) -> String {
    let word = |id: &str| id.replace(char::is_whitespace, "_");
    let name = format!("{method:?}").to_lowercase();
    let mut lines = String::new();
    for (index, document) in query.ranked.iter().enumerate() {
        let (query, id) = (word(&query.id), word(&document.id));
        let (rank, score) = (index + 1, document.score);
        let _ = writeln!(lines, "{query} Q0 {id} {rank} {score} medrgb-{name}");
    }
    lines
}

fn write_lines(
    file: &Path,
    lines: impl Iterator<Item = Result<String, Failure>>,
) -> Result<(), Failure> {
    output::write(file, |out| {
        for line in lines {
            let line = line.map_err(|failure| failure.to_string())?;
            out.write_all(line.as_bytes())
                .map_err(|error| output::reason(&error))?;
        }
        Ok(())
    })
    .map_err(Failure::failed)
}

fn text(output: &Output<'_>) -> String {
    let mean = output.mean;
    let by = match &output.encoder {
        Some(encoder) => format!("{:?}, {}", output.retriever, encoder.name).to_lowercase(),
        None => format!("{:?}", output.retriever).to_lowercase(),
    };
    let by = match &output.rerank {
        Some(cross) => format!(
            "{by}, the first {} reranked by {}",
            cross.depth, cross.model
        ),
        None => by,
    };
    let mut out = format!(
        "{by}: {} on {}\n",
        count(output.queries, "query"),
        count(output.documents, "document"),
    );
    let interval = output
        .ndcg_interval
        .map_or_else(String::new, |(low, high)| {
            format!("  [{low:.4}, {high:.4}]")
        });
    for (name, value, more) in [
        ("nDCG@10", mean.ndcg_10, interval.as_str()),
        ("recall@10", mean.recall_10, ""),
        ("recall@100", mean.recall_100, ""),
        ("MRR@10", mean.mrr_10, ""),
        ("MAP", mean.map, ""),
    ] {
        let _ = writeln!(out, "  {name:<11} {value:.4}{more}");
    }
    if let Some(recall) = output.recall_at_10 {
        let _ = writeln!(
            out,
            "  the graph finds {:.1} % of the exact first 10: measured when it was built, not with these queries",
            recall * 100.0
        );
    }
    let Percentiles { p50, p95 } = output.milliseconds;
    let _ = writeln!(out, "  {p50:.1} ms per query (95 %: {p95:.1} ms)");
    if output.queries_without_relevant > 0 {
        let left = output.queries_without_relevant;
        let _ = writeln!(
            out,
            "  {left} left out: nothing was judged relevant for them"
        );
    }
    out
}
