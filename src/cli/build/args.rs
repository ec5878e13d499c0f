//! The flags of the stages, and which of them have no effect in a stage.

use std::path::PathBuf;

use crate::cli::chat::ModelArgs;
use crate::cli::encoder::Backend;
use crate::cli::search::RetrieverKind;
use crate::domain::build::Stage;
use crate::domain::build::settings::{
    CALL_TIMEOUT, CONCURRENCY, LIMIT, MODEL_CHECKS, PAGES as WEB_PAGES, PER_TOPIC, REPAIRS, TOPICS,
};
use crate::engine::build::asks_model;

/// The most bytes of a web page where nothing is said.
const PAGE_BYTES: u32 = 2 << 20;
/// The longest time of a web page where nothing is said, in seconds.
const PAGE_TIMEOUT: u16 = 20;
/// The pause between two requests to a site where nothing is said, in milliseconds.
const PAGE_PAUSE: u32 = 500;

/// The flags of the stages.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct StageArgs {
    /// Questions: a qa.jsonl, a dataset folder, or a MIRAGE benchmark.json with #SET; from the second stage on those
    /// of DIR
    #[arg(long, short = 'q', value_name = "FILE[#SET]|FOLDER")]
    pub questions: Option<String>,

    /// The folder that is made
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: PathBuf,

    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help = LIMIT)]
    pub limit: Option<u32>,

    /// Work on these questions only; those of DIR that are not named stay as they are
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub only: Vec<String>,

    /// Ask anew for the questions of --only, whatever was answered before
    #[arg(long, requires = "only")]
    pub again: bool,

    /// Which model is asked, and how.
    #[command(flatten)]
    pub chat: ModelArgs,

    #[arg(long, short = 'c', value_name = "C", default_value_t = CONCURRENCY.usual, value_parser = clap::value_parser!(u16).range(CONCURRENCY.range()), help = CONCURRENCY.about)]
    pub concurrency: u16,

    /// The longest time of a call, in seconds
    #[arg(long, value_name = "S", default_value_t = CALL_TIMEOUT, value_parser = clap::value_parser!(u32).range(1..))]
    pub call_timeout: u32,

    #[arg(long, value_name = "N", default_value_t = REPAIRS.usual, value_parser = clap::value_parser!(u16).range(REPAIRS.range()), help = REPAIRS.about)]
    pub repairs: u16,

    #[arg(long, help = MODEL_CHECKS)]
    pub model_checks: bool,

    #[arg(long, value_name = "N", default_value_t = TOPICS.usual, value_parser = clap::value_parser!(u16).range(TOPICS.range()), help = TOPICS.about)]
    pub topics: u16,

    /// Where documents come from.
    #[command(flatten)]
    pub sources: SourceArgs,

    /// Print what would be asked, with calls, tokens, cost and time, and ask nothing
    #[arg(long)]
    pub plan: bool,

    /// Print one JSON object at the end and nothing else
    #[arg(long)]
    pub json: bool,
}

/// The flags of retrieval.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct SourceArgs {
    /// Index folder (several are searched together), or milvus://HOST:PORT/COLLECTION
    #[arg(long, value_name = "DIR|URL", num_args = 1..)]
    pub index: Vec<String>,

    /// How the index is searched; without it dense where it has vectors, else bm25
    #[arg(long, value_enum, requires = "index")]
    pub retriever: Option<RetrieverKind>,

    #[arg(long, value_name = "K", requires = "index", default_value_t = PER_TOPIC.usual, value_parser = clap::value_parser!(u16).range(PER_TOPIC.range()), help = PER_TOPIC.about)]
    pub per_topic: u16,

    /// The index's encoder: a name or a folder
    #[arg(long, value_name = "NAME|FOLDER", requires = "index")]
    pub encoder: Option<String>,

    /// Where the encoder runs
    #[arg(long, value_enum, requires = "index")]
    pub backend: Option<Backend>,

    /// Search the web with this SearXNG instance, which must allow the format json
    #[arg(long, value_name = "URL", group = "web")]
    pub searxng: Option<String>,

    /// Search the web with Google's Custom Search JSON API: GOOGLE_API_KEY and GOOGLE_CSE_ID
    #[arg(long, group = "web")]
    pub google: bool,

    #[arg(long, value_name = "N", requires = "web", default_value_t = WEB_PAGES.usual, value_parser = clap::value_parser!(u16).range(WEB_PAGES.range()), help = WEB_PAGES.about)]
    pub pages: u16,

    /// The most bytes of a web page
    #[arg(long, value_name = "BYTES", requires = "web", default_value_t = PAGE_BYTES, value_parser = clap::value_parser!(u32).range(1..=64 << 20))]
    pub page_bytes: u32,

    /// The longest time of a web page, in seconds
    #[arg(long, value_name = "S", requires = "web", default_value_t = PAGE_TIMEOUT, value_parser = clap::value_parser!(u16).range(1..=600))]
    pub page_timeout: u16,

    /// The pause between two requests to the same site, in milliseconds
    #[arg(long, value_name = "MS", requires = "web", default_value_t = PAGE_PAUSE)]
    pub page_pause: u32,

    /// Read web pages at private addresses too: for an intranet
    #[arg(long, requires = "web")]
    pub allow_private: bool,

    /// Read web pages at this private address too, and at no other
    #[arg(long, value_name = "IP", num_args = 1.., conflicts_with = "allow_private", requires = "web")]
    pub allow_address: Vec<std::net::IpAddr>,
}

impl StageArgs {
    /// Whether the web is searched in these stages.
    pub(super) fn searches_web(&self, stages: &[Stage]) -> bool {
        let sources = &self.sources;
        stages.contains(&Stage::Retrieve) && (sources.google || sources.searxng.is_some())
    }

    /// The flags that were given, but change nothing in these stages. One that says what would be so anyway is not
    /// told from one that was not given.
    pub(super) fn idle(&self, stages: &[Stage]) -> Vec<&'static str> {
        let topics = stages.contains(&Stage::Topics);
        let checked = [Stage::SubQuestions, Stage::Adversarial];
        let checked = checked.iter().any(|stage| stages.contains(stage));
        let asks = asks_model(stages, self.searches_web(stages));
        let chat = &self.chat;
        let mut idle: Vec<&str> = [
            ("--topics", self.topics != TOPICS.usual && !topics),
            ("--model-checks", self.model_checks && !checked),
            ("--repairs", self.repairs != REPAIRS.usual && !asks),
            ("--call-timeout", self.call_timeout != CALL_TIMEOUT && !asks),
            ("--model", chat.model.is_some() && !asks),
            ("--base-url", chat.base_url.is_some() && !asks),
            ("--max-tokens", chat.max_tokens.is_some() && !asks),
            ("--temperature", chat.temperature.is_some() && !asks),
        ]
        .iter()
        .filter_map(|(flag, is_idle)| is_idle.then_some(*flag))
        .collect();
        if !stages.contains(&Stage::Retrieve) {
            idle.extend(self.sources.given());
        }
        idle
    }
}

impl SourceArgs {
    /// The flags that were given.
    fn given(&self) -> Vec<&'static str> {
        [
            ("--index", !self.index.is_empty()),
            ("--retriever", self.retriever.is_some()),
            ("--per-topic", self.per_topic != PER_TOPIC.usual),
            ("--encoder", self.encoder.is_some()),
            ("--backend", self.backend.is_some()),
            ("--searxng", self.searxng.is_some()),
            ("--google", self.google),
            ("--pages", self.pages != WEB_PAGES.usual),
            ("--page-bytes", self.page_bytes != PAGE_BYTES),
            ("--page-timeout", self.page_timeout != PAGE_TIMEOUT),
            ("--page-pause", self.page_pause != PAGE_PAUSE),
            ("--allow-private", self.allow_private),
            ("--allow-address", !self.allow_address.is_empty()),
        ]
        .iter()
        .filter_map(|(flag, given)| given.then_some(*flag))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: StageArgs,
    }

    fn idle(stages: &[Stage], flags: &str) -> String {
        let line = ["build", "--out", "x"].into_iter().chain(flags.split(' '));
        let line = Line::try_parse_from(line.filter(|flag| !flag.is_empty())).unwrap();
        line.args.idle(stages).join(" ")
    }

    #[test]
    fn flags_without_effect_are_named() {
        let sources = "--index i --per-topic 2 --retriever bm25 --searxng http://h --pages 3";
        assert_eq!(idle(&Stage::ALL, sources), "");
        assert_eq!(idle(&[Stage::Retrieve], sources), "");
        assert_eq!(
            idle(&[Stage::SubQuestions], sources),
            "--index --retriever --per-topic --searxng --pages"
        );
        let asking = "--topics 2 --model-checks --repairs 1 --model m --call-timeout 5";
        assert_eq!(idle(&Stage::ALL, asking), "");
        assert_eq!(
            idle(&[Stage::Retrieve], &format!("--index i {asking}")),
            "--topics --model-checks --repairs --call-timeout --model"
        );
        assert_eq!(
            idle(&[Stage::Retrieve], &format!("--google {asking}")),
            "--topics --model-checks"
        );
        assert_eq!(idle(&[Stage::Topics], "--model-checks"), "--model-checks");
        assert_eq!(idle(&[Stage::Adversarial], ""), "");
    }
}
