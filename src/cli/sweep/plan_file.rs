//! `--plan FILE.toml`: the flags of a sweep in a file, so that it can be kept, shared and repeated.

use std::fmt::Display;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use toml::de::{DeTable, DeValue};

use super::Args;
use crate::cli::Failure;
use crate::cli::ask::run_name;
use crate::domain::context::MAX_DOCS;
use crate::domain::text::{line_at, number};
use crate::domain::toml_file::explain;
use crate::source::{LARGEST_PLAN, small_text};

/// A text, or a list of them.
#[derive(Debug, Default)]
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Texts;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Texts(texts))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

/// A number, or a list of them.
fn numbers<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct OneOrMany<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a number or a list of numbers")
        }

        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Vec<T>, E> {
            Ok(vec![T::deserialize(number.into_deserializer())?])
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Vec<T>, E> {
            Ok(vec![T::deserialize(number.into_deserializer())?])
        }

        fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Vec<T>, E> {
            Ok(vec![T::deserialize(number.into_deserializer())?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut numbers = Vec::new();
            while let Some(number) = list.next_element()? {
                numbers.push(number);
            }
            Ok(numbers)
        }
    }
    deserializer.deserialize_any(OneOrMany(PhantomData))
}

/// Every key is a flag of `medrgb sweep`; what is about one call only (dry_run, json, batch files) is none.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PlanFile {
    dataset: Texts,
    scenario: Texts,
    #[serde(deserialize_with = "numbers")]
    docs: Vec<usize>,
    #[serde(deserialize_with = "numbers")]
    p: Vec<f64>,
    seed: Option<u64>,
    #[serde(deserialize_with = "numbers")]
    seeds: Vec<u64>,
    mode: Texts,
    source: Texts,
    question: Texts,
    limit: Option<usize>,
    sample: Option<usize>,
    model: Texts,
    models: Texts,
    base_url: Option<String>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    repeats: Option<u8>,
    concurrency: Option<u16>,
    rpm: Option<u32>,
    tpm: Option<u32>,
    run: Option<String>,
    only_failed: bool,
    append: bool,
    reuse: bool,
    judge: Option<String>,
    judge_base_url: Option<String>,
}

/// A plan as it was read, for messages.
struct Read<'a> {
    path: &'a Path,
    text: String,
}

impl Read<'_> {
    /// The failure for a value, with its line.
    fn wrong(&self, key: &str, why: impl Display) -> Failure {
        let line = DeTable::parse(&self.text).ok().and_then(|table| {
            let found = table
                .get_ref()
                .iter()
                .find(|(name, _)| **name.get_ref() == *key);
            found.map(|(name, _)| line_at(&self.text, name.span().start))
        });
        Failure::Usage(format!(
            "{} line {}: {key}: {why}",
            self.path.display(),
            line.unwrap_or(1)
        ))
    }

    /// Values of a list of names.
    fn named<T: FromStr<Err = String>>(&self, key: &str, texts: &Texts) -> Result<Vec<T>, Failure> {
        let read = |text: &String| {
            text.to_ascii_lowercase()
                .parse::<T>()
                .map_err(|why| self.wrong(key, why))
        };
        texts.0.iter().map(read).collect()
    }
}

/// Fills what the flags leave open from the plan file, if one is given.
///
/// # Errors
/// [`Failure::Usage`] for a file that can't be read, an unknown key or a value out of range, with its line.
pub(super) fn fill(mut args: Args) -> Result<Args, Failure> {
    let Some(path) = args.plan.clone() else {
        return Ok(args);
    };
    let (read, file) = read(&path)?;
    refuse_empty(&read)?;
    check(&read, &file)?;
    let grid = &mut args.grid;
    // A relative folder is meant from where the plan lies.
    let beside = |folder: &String| path.parent().unwrap_or(Path::new("")).join(folder);
    fill_list(
        &mut grid.dataset,
        file.dataset.0.iter().map(beside).collect::<Vec<PathBuf>>(),
    );
    fill_list(&mut grid.scenario, read.named("scenario", &file.scenario)?);
    fill_list(&mut grid.docs, file.docs);
    fill_list(&mut grid.p, file.p);
    fill_list(&mut grid.mode, read.named("mode", &file.mode)?);
    fill_list(&mut grid.source, read.named("source", &file.source)?);
    // The flag of the seed has a default: the file counts where the flag says that.
    if grid.seed == 0 && grid.seeds.is_empty() {
        grid.seed = file.seed.unwrap_or(0);
        grid.seeds = file.seeds;
    }
    if grid.limit.is_none() && grid.sample.is_none() {
        fill_list(&mut grid.question, file.question.0);
    }
    if grid.question.is_empty() {
        grid.limit = grid.limit.or(file.limit);
        grid.sample = grid.sample.or(file.sample);
    }
    let chat = &mut args.chat;
    let models = [file.model.0, file.models.0].concat();
    if chat.model.is_none() && !models.is_empty() {
        chat.model = Some(models.join(","));
    }
    chat.base_url = chat.base_url.take().or(file.base_url);
    chat.max_tokens = chat.max_tokens.or(file.max_tokens);
    chat.temperature = chat.temperature.or(file.temperature);
    args.repeats = args.repeats.or(file.repeats);
    args.concurrency = args.concurrency.or(file.concurrency);
    args.rpm = args.rpm.or(file.rpm);
    args.tpm = args.tpm.or(file.tpm);
    if args.run.is_none()
        && let Some(name) = file.run
    {
        args.run = Some(run_name(&name).map_err(|why| read.wrong("run", why))?);
    }
    args.only_failed |= file.only_failed;
    args.append |= file.append;
    args.reuse |= file.reuse;
    args.judge = args.judge.take().or(file.judge);
    if file.judge_base_url.is_some() && args.judge.is_none() {
        return Err(read.wrong("judge_base_url", "there is no judge beside it"));
    }
    args.judge_base_url = args.judge_base_url.take().or(file.judge_base_url);
    Ok(args)
}

/// An empty list would silently mean "as if the key were missing", which is the whole of what can be had.
fn refuse_empty(read: &Read<'_>) -> Result<(), Failure> {
    // What is no TOML was refused before.
    let Ok(table) = DeTable::parse(&read.text) else {
        return Ok(());
    };
    for (key, value) in table.get_ref() {
        let is_blank =
            |value: &DeValue<'_>| value.as_str().is_some_and(|text| text.trim().is_empty());
        let value = value.get_ref();
        let what = match value.as_array() {
            Some(list) if list.is_empty() => "the list is empty",
            Some(list) if list.iter().any(|one| is_blank(one.get_ref())) => "a text in it is empty",
            None if is_blank(value) => "the text is empty",
            _ => continue,
        };
        let key = key.get_ref();
        let why = format!("{what}; write what is meant, or leave {key} out");
        return Err(read.wrong(key, why));
    }
    Ok(())
}

/// Checks what a flag's own reader would check.
fn check(read: &Read<'_>, file: &PlanFile) -> Result<(), Failure> {
    for (key, range, value) in [
        ("limit", 1..=u64::MAX, file.limit.map(|n| n as u64)),
        ("sample", 1..=u64::MAX, file.sample.map(|n| n as u64)),
        ("concurrency", 1..=4096, file.concurrency.map(u64::from)),
        ("repeats", 1..=100, file.repeats.map(u64::from)),
        ("rpm", 1..=u64::MAX, file.rpm.map(u64::from)),
        ("tpm", 1..=u64::MAX, file.tpm.map(u64::from)),
        ("max_tokens", 1..=u64::MAX, file.max_tokens.map(u64::from)),
    ] {
        if let Some(value) = value.filter(|value| !range.contains(value)) {
            let upper = match *range.end() {
                u64::MAX => "up".to_owned(),
                end => format!("to {end}"),
            };
            let start = range.start();
            let why = format!("{value} is not a whole number from {start} {upper}");
            return Err(read.wrong(key, why));
        }
    }
    if let Some(value) = file.p.iter().find(|p| !(0.0..=100.0).contains(*p)) {
        return Err(read.wrong(
            "p",
            format!("{} is not a number from 0 to 100", number(*value)),
        ));
    }
    if let Some(value) = file.docs.iter().find(|docs| **docs > MAX_DOCS) {
        let why = format!("{value} is not a whole number from 0 to {MAX_DOCS}");
        return Err(read.wrong("docs", why));
    }
    let hottest = crate::config::HOTTEST;
    if let Some(value) = file.temperature.filter(|t| !(0.0..=hottest).contains(t)) {
        let why = format!("{value} is not a number from 0 to {hottest}");
        return Err(read.wrong("temperature", why));
    }
    if !file.question.0.is_empty() && (file.limit.is_some() || file.sample.is_some()) {
        let why = "these name the questions, so there can be no limit and no sample beside them";
        return Err(read.wrong("question", why));
    }
    for (one, many, both) in [
        (
            "seed",
            "seeds",
            file.seed.is_some() && !file.seeds.is_empty(),
        ),
        (
            "model",
            "models",
            !file.model.0.is_empty() && !file.models.0.is_empty(),
        ),
    ] {
        if both {
            let why = format!("\"{many}\" says the same; leave one of the two out");
            return Err(read.wrong(one, why));
        }
    }
    Ok(())
}

fn fill_list<T>(flag: &mut Vec<T>, file: Vec<T>) {
    if flag.is_empty() {
        *flag = file;
    }
}

fn read(path: &Path) -> Result<(Read<'_>, PlanFile), Failure> {
    let text = small_text(path, LARGEST_PLAN)
        .map_err(|error| Failure::Usage(format!("the plan {error}")))?;
    let file = toml::from_str(&text).map_err(|error| {
        // "line N: …", as of every other file that people write.
        let said = explain("", &text, &error);
        Failure::Usage(format!(
            "{} {}",
            path.display(),
            said.trim_start_matches(", ")
        ))
    })?;
    Ok((Read { path, text }, file))
}
