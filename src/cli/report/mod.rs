//! `medrgb report`: the paper's tables and figures for stored runs.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, variable, write_out};
use crate::data::output;
use crate::data::store::Store;
use crate::domain::nearest::hint;
use crate::domain::report::{
    CALIBRATION, Observation, Options, PAPER, Published, Report, RunFacts, build, csv, figures,
    html, latex, markdown, table_named, table_names, text,
};
use crate::domain::text::{clean, count, short};
use crate::engine::models::store_file;
use crate::engine::probe::PROBES;

mod png;

macro_rules! examples {
    () => {
        "Examples:
  medrgb report --run night
  medrgb report --run night --against paper --out night.html
  medrgb report --run night --figures charts/ --figures-format svg,png
  medrgb report --run paper --format md --table 4,6"
    };
}

/// What `--help` says below the flags: what counts, and what is compared with what.
const RULES: &str = concat!(
    "\
The report has the paper's Tables 1 (standard), 4 (sufficiency), 5 (integration) and 6 \
(robustness), then detection by class, sub-answers, abstention, calibration, replies by kind and the repairs noted. Rows and \
columns appear for what the runs hold; \"-\" is nothing. Several runs stand side by side. `--run paper` shows the \
published figures like a run.

What counts: a request is a question under a condition (scenario, n, p, seed, mode, source) put to a model with its \
settings, within a run. The newest reply to it counts (or its newest failure, where no reply came); older ones are left out \
and counted. Other seeds of the same question and condition all count, and intervals are then bootstrapped by question.

Beside the paper: figures are compared only on MedRGB's own documents. A dataset declares them in its manifest.json \
({\"documents\": \"medrgb\", \"name\": \"bioasq\"}, which `medrgb import medrgb` writes), or each question has \
\"documents\": \"medrgb\"; the declaration is stored with every reply, so it must be there before a model is asked. All \
other datasets are \"different documents, not comparable\", and no published figure is put beside them. A model \
corresponds by its name (gpt-4o-mini-2024-07-18, meta-llama/Meta-Llama-3-70B-Instruct); say so with --paper-model where \
its name does not tell. Numbers of documents, p and source must be the paper's too; its Tables 4 to 6 do not say where \
documents were retrieved and stand beside runs that use all sources.

",
    examples!()
);

/// Arguments of `medrgb report`.
#[derive(Debug, clap::Args)]
#[command(after_help = examples!(), after_long_help = RULES)]
pub struct Args {
    /// Run to report on, or "paper" for the published figures; may be given several times
    #[arg(long = "run", value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Form of the report; without it as the ending of --out says, else text
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Put the published figure and the difference beside each cell that has one
    #[arg(long, value_enum, value_name = "REFERENCE")]
    pub against: Option<Reference>,
    /// Only these tables: 1, 4, 5, 6, or by name (classes, subanswers, abstention, calibration)
    #[arg(long = "table", value_name = "TABLE", value_delimiter = ',', value_parser = table)]
    pub tables: Vec<&'static str>,
    /// Leave askings whose context has fewer documents than asked for out
    #[arg(long)]
    pub full_contexts: bool,
    /// Say which of the paper's models one of yours is, where its name does not tell
    #[arg(long = "paper-model", value_name = "MODEL=PAPER")]
    pub paper_models: Vec<String>,
    /// With latex: a document that compiles by itself
    #[arg(long)]
    pub standalone: bool,
    /// Also write every chart into this folder
    #[arg(long, value_name = "FOLDER")]
    pub figures: Option<PathBuf>,
    /// As what charts are written: svg, png or both with a comma; png needs a font of the system
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        value_delimiter = ',',
        default_value = "svg",
        requires = "figures"
    )]
    pub figures_format: Vec<FigureFormat>,
    /// Write to this file instead of standard output; it is replaced as a whole
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For the terminal
    Text,
    /// Markdown
    Md,
    /// One row per cell; rates from 0 to 1
    Csv,
    /// One object; rates from 0 to 1
    Json,
    /// Tables with booktabs and longtable
    Latex,
    /// One self-contained page with charts
    Html,
}

/// `--figures-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FigureFormat {
    /// Drawings that scale
    Svg,
    /// Images
    Png,
}

/// `--against`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reference {
    /// The paper's published figures
    Paper,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence: a run that is not there or holds nothing, a model that the paper
/// does not have, a file that can't be written.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let format = format(&args)?;
    let paper = Published::embedded().map_err(Failure::failed)?;
    let same_models = same_models(&args.paper_models, &paper)?;
    let store = store_file(&environment.paths);
    let mut names: Vec<&String> = Vec::new();
    for name in &args.runs {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let runs = names
        .into_iter()
        .map(|name| Ok((name.clone(), askings(name, &store)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    used_models(&same_models, &runs)?;
    let mut report = build(
        runs,
        &Options {
            against: args.against == Some(Reference::Paper),
            full_contexts: args.full_contexts,
            same_models: &same_models,
            ..Options::new(&paper)
        },
    );
    if !has_rates(&report) {
        return Err(nothing(&report));
    }
    keep_tables(&mut report, &args.tables)?;
    for one in report.comparisons.iter().filter(|one| !one.comparable) {
        note(&format!("note: {}: {}", one.dataset, one.reason));
    }
    if let Some(folder) = &args.figures {
        write_figures(&report, folder, &args.figures_format)?;
    }
    let written = render(&report, format, &args)?;
    match &args.out {
        Some(file) => write_file(file, &written),
        None => write_out(&written),
    }
}

/// Writes the charts; files of the same names are replaced.
fn write_figures(report: &Report, folder: &Path, forms: &[FigureFormat]) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::Failed(format!(
            "the folder {} can't be made: {error}",
            folder.display()
        ))
    })?;
    let files = figures(report);
    let painter = match forms.contains(&FigureFormat::Png) {
        true => png::Painter::new(),
        false => None,
    };
    let no_font = painter.is_none() && forms.contains(&FigureFormat::Png);
    if no_font {
        note(
            "note: this system has no font to write the labels of images with, so the charts are written as SVG only; install one (such as DejaVu Sans) for PNG",
        );
    }
    for (name, svg) in &files {
        if no_font || forms.contains(&FigureFormat::Svg) {
            output::write_text(&folder.join(name), svg).map_err(Failure::failed)?;
        }
        if let Some(painter) = &painter {
            write_png(painter, &folder.join(name), svg)?;
        }
    }
    note(&format!(
        "{} in {}",
        count(files.len(), "chart"),
        clean(&folder.display().to_string())
    ));
    Ok(())
}

/// Writes a chart as an image beside where its drawing would be.
fn write_png(painter: &png::Painter, drawing: &Path, svg: &str) -> Result<(), Failure> {
    let file = drawing.with_extension("png");
    let bytes = painter.paint(svg).map_err(|why| {
        Failure::Failed(format!(
            "the chart {} can't be drawn: {why}",
            clean(&file.display().to_string())
        ))
    })?;
    output::write(&file, |out| {
        out.write_all(&bytes)
            .map_err(|error| output::reason(&error))
    })
    .map_err(Failure::failed)
}

/// The short name of a table that a flag names.
fn table(flag: &str) -> Result<&'static str, String> {
    table_named(flag).ok_or_else(|| {
        let names: Vec<&str> = table_names().collect();
        format!(
            "no such table; there are 1, 4, 5, 6 and, by name, {}",
            names.join(", ")
        )
    })
}

/// Leaves only the tables that were asked for; all without names.
fn keep_tables(report: &mut Report, names: &[&str]) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    let mut there: Vec<&str> = report.tables.iter().map(|table| table.id).collect();
    if !report.calibration.is_empty() {
        there.push(CALIBRATION);
    }
    report.tables.retain(|table| names.contains(&table.id));
    if !names.contains(&CALIBRATION) {
        report.calibration.clear();
    }
    match report.tables.is_empty() && report.calibration.is_empty() {
        false => Ok(()),
        true => Err(Failure::Failed(format!(
            "these runs have nothing for {}; they fill {}",
            names.join(", "),
            there.join(", ")
        ))),
    }
}

fn has_rates(report: &Report) -> bool {
    let panels = report.tables.iter().flat_map(|table| &table.panels);
    let mut cells = panels.flat_map(|panel| panel.rows.iter().flat_map(|row| &row.cells));
    cells.any(|cell| cell.as_ref().is_some_and(|cell| cell.value.is_some()))
}

/// Why there is nothing to report.
fn nothing(report: &Report) -> Failure {
    let sum = |get: fn(&RunFacts) -> usize| report.runs.iter().map(get).sum::<usize>();
    let (counted, short) = (sum(|run| run.counted), sum(|run| run.short_left_out));
    Failure::Failed(match counted {
        0 => format!(
            "nothing is left to report: the contexts of all {short} askings are short; leave --full-contexts out"
        ),
        _ => format!(
            "nothing could be measured: none of the {counted} askings brought a reply; ask again"
        ),
    })
}

/// The form that flags and the ending of the file say.
fn format(args: &Args) -> Result<Format, Failure> {
    let ending = args.out.as_deref().and_then(Path::extension);
    let by_ending = match ending.and_then(|ending| ending.to_str()) {
        Some("md" | "markdown") => Format::Md,
        Some("csv") => Format::Csv,
        Some("json") => Format::Json,
        Some("tex") => Format::Latex,
        Some("html" | "htm") => Format::Html,
        _ => Format::Text,
    };
    if let (Format::Text, Some(ending), Some(file)) = (by_ending, ending, &args.out)
        && args.format.is_none()
        && !args.json
        && !["txt", "text"].contains(&ending.to_string_lossy().as_ref())
    {
        note(&format!(
            "note: the ending of {} names no form, so it holds text; --format or an ending .md, .csv, .json, .tex or .html says another",
            clean(&file.display().to_string())
        ));
    }
    let format = match args.json {
        true => Format::Json,
        false => args.format.unwrap_or(by_ending),
    };
    if args.standalone && format != Format::Latex {
        return Err(Failure::Usage(
            "--standalone makes a LaTeX document; give --format latex with it".to_owned(),
        ));
    }
    Ok(format)
}

/// The pairs of `--paper-model`, with the paper's own spelling.
fn same_models(flags: &[String], paper: &Published) -> Result<Vec<(String, String)>, Failure> {
    let pair = |flag: &String| {
        let (own, named) = flag.rsplit_once('=').ok_or_else(|| {
            Failure::Usage(format!(
                "--paper-model {flag}: expected MODEL=PAPER, such as my-llama=Llama-3-70b"
            ))
        })?;
        let models = paper.models();
        let known = models
            .iter()
            .find(|known| known.eq_ignore_ascii_case(named));
        let known = known.ok_or_else(|| {
            Failure::Usage(format!(
                "--paper-model {flag}: the paper has no model \"{named}\"; it has {}",
                models.join(", "),
                named = short(named)
            ))
        })?;
        Ok((own.to_owned(), (*known).to_owned()))
    };
    flags.iter().map(pair).collect()
}

/// Refuses a pair whose model no run has: it would change nothing, and a misspelt one would go unseen.
fn used_models(
    pairs: &[(String, String)],
    runs: &[(String, Vec<Observation>)],
) -> Result<(), Failure> {
    let askings = runs.iter().flat_map(|(_, askings)| askings);
    let mut models: Vec<&str> = askings.map(|asking| &*asking.model).collect();
    models.sort_unstable();
    models.dedup();
    match pairs
        .iter()
        .find(|(own, _)| !models.contains(&own.as_str()))
    {
        None => Ok(()),
        Some((own, paper)) => Err(Failure::Usage(format!(
            "--paper-model {}={paper}: no run of this report has the model \"{}\"; {}",
            short(own),
            short(own),
            hint(own, &models)
        ))),
    }
}

/// The askings of a run; none for the paper's.
fn askings(name: &str, store: &Path) -> Result<Vec<Observation>, Failure> {
    if name == PAPER {
        return Ok(Vec::new());
    }
    if !store.exists() {
        return Err(Failure::Failed(format!(
            "there is no run \"{name}\": nothing has been stored in {} yet; `medrgb ask` stores replies",
            store.display(),
            name = short(name)
        )));
    }
    let store = Store::open_for_reading(store).map_err(Failure::failed)?;
    let found = store.observations(name).map_err(Failure::failed)?;
    match found {
        Some(_) if name == PROBES => Err(Failure::Failed(format!(
            "the run \"{PROBES}\" holds replies to contexts that were changed by hand, which no table counts"
        ))),
        Some(askings) if askings.is_empty() => Err(Failure::Failed(format!(
            "the run \"{name}\" holds no replies yet, so there is nothing to report",
            name = short(name)
        ))),
        Some(askings) => Ok(askings),
        None => Err(unknown(name, &store)),
    }
}

fn unknown(name: &str, store: &Store) -> Failure {
    let known: Vec<String> = store
        .runs()
        .unwrap_or_default()
        .into_iter()
        .map(|run| short(&run.name))
        .take(5)
        .collect();
    let there = match known.is_empty() {
        true => "it holds no run".to_owned(),
        false => format!("it holds {}", known.join(", ")),
    };
    Failure::Failed(format!(
        "the store {} has no run \"{name}\"; {there}",
        store.path().display(),
        name = short(name)
    ))
}

fn render(report: &Report, format: Format, args: &Args) -> Result<String, Failure> {
    Ok(match format {
        Format::Text => text::render(report, style(args)),
        Format::Md => markdown::render(report),
        Format::Csv => csv::render(report),
        Format::Json => format!(
            "{}\n",
            serde_json::to_string(report).map_err(Failure::failed)?
        ),
        Format::Latex => latex::render(report, args.standalone),
        Format::Html => html::render(report),
    })
}

/// As wide as the terminal, and bold there unless `NO_COLOR` is set.
fn style(args: &Args) -> text::Style {
    let plain = text::Style::default();
    if args.out.is_some() || !std::io::stdout().is_terminal() {
        return plain;
    }
    let width = crossterm::terminal::size().map_or(plain.width, |(columns, _)| columns.into());
    text::Style {
        width,
        bold: variable("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// Writes the whole file or nothing.
fn write_file(file: &Path, text: &str) -> Result<(), Failure> {
    output::write_text(file, text).map_err(Failure::failed)?;
    note(&format!("wrote {}", file.display()));
    Ok(())
}
