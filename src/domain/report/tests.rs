//! Reports on askings made by hand, every figure worked out in comments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use super::*;
use crate::domain::answer::Outcome;
use crate::domain::context::Condition;
use crate::domain::score::{Metric, Ratio};

fn asking(id: i64, question: &str, right: bool) -> Observation {
    let one = |num: f64, den: f64| Ratio { num, den };
    Observation {
        id,
        run: Arc::from("night"),
        dataset: Arc::from("bioasq"),
        fingerprint: Arc::from("f1f1f1f1f1"),
        own_documents: false,
        set: None,
        question: Arc::from(question),
        model: Arc::from("gpt-4o-mini"),
        caution: None,
        settings: Arc::from("{}"),
        sampling_seed: None,
        condition: Condition::default(),
        short: false,
        outcome: Some(Outcome::Answered),
        counts: [
            (Metric::MainAccuracy, one(f64::from(u8::from(right)), 1.0)),
            (
                Metric::NoiseDetectionAccuracy,
                one(if right { 4.0 } else { 1.0 }, 5.0),
            ),
        ]
        .into(),
        judge: None,
        notes: Vec::new(),
        forecast: None,
    }
}

fn at_p(mut asking: Observation, p: f64) -> Observation {
    asking.condition.p = p;
    asking
}

fn failed(id: i64, question: &str) -> Observation {
    Observation {
        outcome: None,
        counts: Default::default(),
        ..asking(id, question, false)
    }
}

fn report(askings: Vec<Observation>, change: impl Fn(&mut Options<'_>)) -> Report {
    let paper = Published::embedded().unwrap();
    let mut options = Options::new(&paper);
    change(&mut options);
    build(vec![("night".to_owned(), askings)], &options)
}

fn panel<'a>(report: &'a Report, table: &str, metric: Metric) -> &'a Panel {
    let table = report
        .tables
        .iter()
        .find(|found| found.id == table)
        .unwrap();
    let wanted = Measure::Of(metric);
    let found = table.panels.iter().find(|panel| panel.measure == wanted);
    found.unwrap()
}

fn close(a: Option<f64>, b: f64) {
    let a = a.unwrap();
    assert!((a - b).abs() < 1e-9, "{a} {b}");
}

#[test]
fn a_cell_has_all_that_belongs_to_it() {
    let mut unreadable = asking(4, "q4", false);
    unreadable.outcome = Some(Outcome::Unreadable);
    unreadable.short = true;
    let report = report(
        vec![
            asking(1, "q1", true),
            asking(2, "q2", true),
            asking(3, "q3", false),
            unreadable,
            failed(5, "q5"),
        ],
        |_| {},
    );
    let accuracy = panel(&report, "table4", Metric::MainAccuracy);
    assert_eq!(accuracy.columns[0].label, "p=60");
    let cell = accuracy.rows[0].cells[0].as_ref().unwrap();
    // 2 of 4 replies; the failed call is in no rate.
    close(cell.value, 0.5);
    close(cell.n, 4.0);
    assert_eq!(
        (cell.questions, cell.unavailable, cell.short),
        (Some(4), Some(1), Some(1))
    );
    close(cell.unreadable, 0.25);
    assert_eq!(cell.interval, Some(IntervalKind::Wilson));
    // R: prop.test(2, 4, correct = FALSE)$conf.int: 0.1500390 0.8499610
    assert!((cell.low.unwrap() - 0.150_039_0).abs() < 1e-6);
    assert!((cell.high.unwrap() - 0.849_961_0).abs() < 1e-6);
    // Documents: 4 + 4 + 1 + 1 of 20; the mean over questions is the same, since all have five.
    let noise = panel(&report, "table4", Metric::NoiseDetectionAccuracy);
    let cell = noise.rows[0].cells[0].as_ref().unwrap();
    close(cell.value, 0.5);
    close(cell.n, 20.0);
    close(cell.question_mean, 0.5);
    assert_eq!(cell.interval, Some(IntervalKind::Bootstrap));
    // Bootstrap of four clusters, two at 0.8 and two at 0.2: the ends have 1/16 each.
    assert_eq!((cell.low, cell.high), (Some(0.2), Some(0.8)));
    assert_eq!(report.outcomes[0].kinds["unreadable"], 1);
    assert_eq!(
        (report.outcomes[0].failed, report.outcomes[0].total),
        (1, 5)
    );
    assert_eq!((cell.published, cell.difference), (None, None));
}

#[test]
fn one_reply_per_request_counts() {
    let mut other_seed = asking(9, "q1", false);
    other_seed.condition.seed = 1;
    let report = report(
        vec![
            asking(1, "q1", false),
            asking(2, "q1", true),
            failed(3, "q1"),
            failed(4, "q2"),
            failed(5, "q2"),
            failed(6, "q3"),
            asking(7, "q3", true),
            other_seed,
        ],
        |_| {},
    );
    // q1 seed 0: the newest reply (2), not the later failure; q2: one failure; q3: the reply; q1 seed 1.
    let run = &report.runs[0];
    assert_eq!((run.records, run.superseded, run.counted), (8, 4, 4));
    assert_eq!(run.seeds, [0, 1]);
    let cell = panel(&report, "table4", Metric::MainAccuracy).rows[0].cells[0]
        .clone()
        .unwrap();
    // Right: q1 seed 0, q3. Wrong: q1 seed 1. Repeats of q1 hang together: bootstrap by question.
    close(cell.value, 2.0 / 3.0);
    assert_eq!((cell.questions, cell.unavailable), (Some(2), Some(1)));
    assert_eq!(cell.interval, Some(IntervalKind::Bootstrap));
    // Mean over questions: (1/2 + 1) / 2.
    close(cell.question_mean, 0.75);
    assert!(
        report
            .remarks
            .iter()
            .any(|remark| remark.contains("several times"))
    );
}

#[test]
fn short_contexts_are_counted_or_left_out() {
    let mut short = asking(2, "q2", false);
    short.short = true;
    let askings = vec![asking(1, "q1", true), short];
    let all = report(askings.clone(), |_| {});
    let cell = panel(&all, "table4", Metric::MainAccuracy).rows[0].cells[0]
        .clone()
        .unwrap();
    assert_eq!((cell.value, cell.short), (Some(0.5), Some(1)));
    let full = report(askings, |options| options.full_contexts = true);
    let cell = panel(&full, "table4", Metric::MainAccuracy).rows[0].cells[0]
        .clone()
        .unwrap();
    assert_eq!((cell.value, cell.short), (Some(1.0), Some(0)));
    assert_eq!(full.runs[0].short_left_out, 1);
}

#[test]
fn only_own_documents_stand_beside_the_paper() {
    let askings = |own: bool, dataset: &str, set: Option<&str>| {
        let mut askings = vec![asking(1, "q1", true), at_p(asking(2, "q1", false), 55.0)];
        for asking in &mut askings {
            asking.own_documents = own;
            asking.dataset = Arc::from(dataset);
            asking.set = set.map(Arc::from);
        }
        askings
    };
    let against = |options: &mut Options<'_>| options.against = true;
    let compared = report(askings(true, "medrgb-bioasq", None), against);
    let row = &panel(&compared, "table4", Metric::MainAccuracy).rows[0];
    // Columns p=55 and p=60; the paper has GPT-4o-mini, BioASQ, 5 documents, 60 %: 76.5.
    assert_eq!(row.cells[0].as_ref().unwrap().published, None);
    close(row.cells[1].as_ref().unwrap().published, 0.765);
    close(row.cells[1].as_ref().unwrap().difference, 0.235);
    assert_eq!(compared.tables[0].panels[0].dataset, "BioASQ");
    // The set may be said by the questions.
    let compared = report(askings(true, "mine", Some("mmlu")), against);
    let row = &panel(&compared, "table4", Metric::MainAccuracy).rows[0];
    close(row.cells[1].as_ref().unwrap().published, 0.759);

    for (own, dataset) in [(false, "bioasq"), (true, "mine")] {
        let other = report(askings(own, dataset, None), against);
        assert!(!other.comparisons[0].comparable);
        let cells = other.tables.iter().flat_map(|table| &table.panels);
        let mut cells = cells.flat_map(|panel| panel.rows.iter().flat_map(|row| row.cells.iter()));
        assert!(cells.all(|cell| cell.as_ref().is_none_or(|cell| cell.published.is_none())));
        assert_eq!(other.published, None);
    }
    let other = report(askings(false, "bioasq", None), against);
    assert!(other.comparisons[0].reason.starts_with(NOT_COMPARABLE));
    assert!(text::render(&other, text::Style::default()).contains("different documents, not"));
    // Nothing is compared unasked.
    let quiet = report(askings(true, "bioasq", None), |_| {});
    assert!(quiet.comparisons.is_empty());
    assert!(
        panel(&quiet, "table4", Metric::MainAccuracy).rows[0].cells[1]
            .as_ref()
            .unwrap()
            .published
            .is_none()
    );
}

#[test]
fn models_correspond_by_name_or_by_word() {
    let mut own = asking(1, "q1", true);
    own.own_documents = true;
    own.model = Arc::from("my-llama");
    let against = |options: &mut Options<'_>| options.against = true;
    let unknown = report(vec![own.clone()], against);
    let cell = |report: &Report| {
        panel(report, "table4", Metric::MainAccuracy).rows[0].cells[0]
            .clone()
            .unwrap()
    };
    assert_eq!(cell(&unknown).published, None);
    assert!(
        unknown
            .remarks
            .iter()
            .any(|remark| remark.contains("no figures of my-llama"))
    );
    let same = [("my-llama".to_owned(), "Llama-3-70b".to_owned())];
    let paper = Published::embedded().unwrap();
    let options = Options {
        against: true,
        same_models: &same,
        ..Options::new(&paper)
    };
    let said = build(vec![("night".to_owned(), vec![own])], &options);
    close(cell(&said).published, 0.743);
}

#[test]
fn the_paper_is_a_run_of_its_own() {
    let paper = Published::embedded().unwrap();
    let report = build(vec![(PAPER.to_owned(), Vec::new())], &Options::new(&paper));
    let ids: Vec<&str> = report.tables.iter().map(|table| table.id).collect();
    assert_eq!(ids, ["table1", "table4", "table5", "table6"]);
    let cells: Vec<&Cell> = report
        .tables
        .iter()
        .flat_map(|table| &table.panels)
        .flat_map(|panel| panel.rows.iter().flat_map(|row| row.cells.iter().flatten()))
        .collect();
    assert_eq!(cells.len(), paper.figures.len(), "every figure, once");
    assert!(
        cells
            .iter()
            .all(|cell| cell.n.is_none() && cell.low.is_none())
    );
    let sum = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>();
    let shown = sum(&mut cells.iter().filter_map(|cell| cell.value));
    let published = sum(&mut paper.figures.iter().map(|figure| figure.value));
    assert!((shown - published).abs() < 1e-9);
    let standard = panel(&report, "table1", Metric::MainAccuracy);
    let labels: Vec<&str> = standard
        .columns
        .iter()
        .map(|column| &*column.label)
        .collect();
    assert_eq!(
        labels,
        ["none", "offline-5", "offline-20", "online-5", "online-20"]
    );
    assert!(report.published.as_deref().unwrap().contains("2411.09213"));
}

#[test]
fn the_paper_shares_a_panel_with_own_documents_only() {
    let paper = Published::embedded().unwrap();
    let options = Options::new(&paper);
    for (own, shared) in [(true, true), (false, false)] {
        let mut asking = asking(1, "q1", true);
        asking.own_documents = own;
        let runs = vec![
            ("night".to_owned(), vec![asking]),
            (PAPER.to_owned(), Vec::new()),
        ];
        let report = build(runs, &options);
        let panels = &report
            .tables
            .iter()
            .find(|table| table.id == "table4")
            .unwrap()
            .panels;
        let mixed = panels.iter().any(|panel| {
            panel.rows.iter().any(|row| row.published)
                && panel.rows.iter().any(|row| !row.published)
        });
        assert_eq!(mixed, shared);
        let said = report
            .remarks
            .iter()
            .any(|remark| remark.contains(NOT_COMPARABLE));
        assert_eq!(said, !shared);
        let labels: Vec<&str> = panels
            .iter()
            .flat_map(|panel| panel.rows.iter().map(|row| &*row.label))
            .collect();
        assert!(labels.contains(&"gpt-4o-mini (night)") && labels.contains(&"GPT-3.5 (paper)"));
    }
}

#[test]
fn what_differs_is_never_pooled() {
    let mut other_set = asking(2, "q1", false);
    other_set.fingerprint = Arc::from("e2e2e2e2e2");
    let mut other_settings = asking(3, "q1", false);
    other_settings.settings = Arc::from("{\"temperature\":1.0}");
    let mut other_mode = asking(4, "q1", false);
    other_mode.condition.mode = Mode::Independent;
    let mut other_source = asking(5, "q1", false);
    other_source.condition.source = SourceFilter::Online;
    let report = report(
        vec![
            asking(1, "q1", true),
            other_set,
            other_settings,
            other_mode,
            other_source,
        ],
        |_| {},
    );
    let table = report
        .tables
        .iter()
        .find(|table| table.id == "table4")
        .unwrap();
    let accuracy: Vec<&Panel> = table
        .panels
        .iter()
        .filter(|panel| panel.measure == Measure::Of(Metric::MainAccuracy))
        .collect();
    let subjects: Vec<String> = accuracy.iter().map(|panel| panel.subject()).collect();
    assert_eq!(
        subjects,
        [
            "bioasq (f1f1f1f1), sufficiency, 5 documents",
            "bioasq (e2e2e2e2), sufficiency, 5 documents",
            "bioasq (f1f1f1f1), sufficiency, 5 documents, online",
            "bioasq (f1f1f1f1), sufficiency, 5 documents, independent draws",
        ]
    );
    let labels: Vec<&str> = accuracy[0].rows.iter().map(|row| &*row.label).collect();
    assert_eq!(labels, ["gpt-4o-mini #1", "gpt-4o-mini #2"]);
    assert!(
        report
            .remarks
            .iter()
            .any(|remark| remark.contains("temperature"))
    );
    for cell in accuracy
        .iter()
        .flat_map(|panel| panel.rows.iter().flat_map(|row| &row.cells))
    {
        assert_eq!(cell.as_ref().unwrap().n, Some(1.0));
    }
}

#[test]
fn notes_and_cautions_are_told() {
    let mut first = asking(1, "q1", true);
    first.notes = vec![
        "code fences".into(),
        "code fences".into(),
        "trailing comma".into(),
    ];
    first.caution = Some(Arc::from("demo model"));
    first.judge = Some(Arc::from("judge-1"));
    first
        .counts
        .insert(Metric::SubJudgeScore, Ratio { num: 1.5, den: 2.0 });
    first
        .counts
        .insert(Metric::SubExactMatch, Ratio { num: 1.0, den: 3.0 });
    let mut second = asking(2, "q2", true);
    second.notes = vec!["code fences".into()];
    second
        .counts
        .insert(Metric::SubExactMatch, Ratio { num: 1.0, den: 4.0 });
    let report = report(vec![first, second], |_| {});
    let notes: Vec<(&str, usize)> = report
        .notes
        .iter()
        .map(|row| (&*row.note, row.replies))
        .collect();
    assert_eq!(notes, [("code fences", 2), ("trailing comma", 1)]);
    assert_eq!(report.remarks[0], "Caution, gpt-4o-mini: demo model.");
    assert!(report.remarks.iter().any(|remark| remark.starts_with(
        "Sub-answers of night were judged by judge-1. The judge score is about 2 of 7:"
    )));
}

/// A reply whose model gave its choice this probability, of two options.
fn confident(id: i64, right: bool, confidence: f64) -> Observation {
    let gold = if right { 'A' } else { 'B' };
    Observation {
        forecast: Forecast::of(&[('A', confidence), ('B', 1.0 - confidence)], 'A', gold),
        ..asking(id, &format!("q{id}"), right)
    }
}

#[test]
fn calibration_pools_what_chose_an_option_and_every_form_shows_it() {
    let mut several = confident(5, false, 0.9);
    several.outcome = Some(Outcome::SeveralOptions);
    let report = report(
        vec![
            confident(1, true, 0.95),
            confident(2, false, 0.95),
            at_p(confident(3, true, 0.65), 20.0),
            asking(4, "q4", true),
            several,
        ],
        |_| {},
    );
    let [row] = &report.calibration[..] else {
        panic!("{:?}", report.calibration);
    };
    assert_eq!((row.n, row.bins.len(), &*row.label), (3, 2, "gpt-4o-mini"));
    // Two of 95 % with one right, one of 65 % that is right.
    let error = (2.0 * 0.45 + 0.35) / 3.0;
    assert!((row.expected_calibration_error - error).abs() < 1e-9);
    // 2 × 0.05², 2 × 0.95², 2 × 0.35²
    let brier = (0.005 + 1.805 + 0.245) / 3.0;
    assert!((row.brier_score - brier).abs() < 1e-9);
    assert!(
        !report
            .remarks
            .iter()
            .any(|remark| remark.contains("No calibration"))
    );
    let plain = text::render(&report, text::Style::default());
    for (form, shown) in [
        ("text", plain.clone()),
        ("markdown", markdown::render(&report)),
        ("latex", latex::render(&report, false)),
        ("html", html::render(&report)),
    ] {
        for wanted in ["Calibration", "0.417", "0.685", "90 to 100", "60 to 70"] {
            assert!(shown.contains(wanted), "{form}: {wanted}: {shown}");
        }
    }
    let table = csv::render(&report);
    assert!(
        table.contains("expected_calibration_error,0.416667"),
        "{table}"
    );
    assert!(table.contains("bin_accuracy,0.5,"), "{table}");
    let columns = csv::COLUMNS.len();
    let plain_lines = table.lines().filter(|line| !line.contains('"'));
    assert!(plain_lines.clone().count() > 4);
    assert!(
        plain_lines
            .clone()
            .all(|line| line.split(',').count() == columns),
        "{table}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["calibration"][0]["bins"][1]["n"], 2);
    let drawn = figures(&report);
    let (_, svg) = drawn
        .iter()
        .find(|(name, _)| name == "calibration-1.svg")
        .unwrap();
    assert!(svg.contains("as often right as confident") && svg.contains("gpt-4o-mini"));
    for width in [40, 80] {
        let narrow = text::render(&report, text::Style { width, bold: false });
        let fits = |line: &str| unicode_width::UnicodeWidthStr::width(line) <= width;
        assert!(narrow.lines().all(fits), "{narrow}");
    }
}

#[test]
fn a_report_says_why_it_has_no_calibration() {
    let report = report(vec![asking(1, "q1", true)], |_| {});
    assert!(report.calibration.is_empty());
    let shown = text::render(&report, text::Style::default());
    assert!(
        shown.contains("No calibration: no counted reply"),
        "{shown}"
    );
    assert!(!shown.lines().any(|line| line == "Calibration"));
}

#[test]
fn hostile_names_stay_in_their_place() {
    let mut bad = asking(1, "q1", true);
    bad.model =
        Arc::from("=1+1,\"x\"</title><script src=\"http://e/\">|`\u{1b}[31m\n\\end{document}$x_y");
    bad.dataset = Arc::from("@set\u{202e}<img src=x>");
    bad.notes = vec!["<b onclick='x'>&".into()];
    let report = report(vec![bad], |_| {});
    let page = html::render(&report);
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<b "));
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    let table = csv::render(&report);
    let record = table.lines().nth(1).unwrap();
    assert!(
        record.starts_with("table4,'@set<img src=x>,night,\"'=1+1,\"\"x\"\"<"),
        "{record}"
    );
    let tex = latex::render(&report, true);
    assert_eq!(tex.matches("\\end{document}").count(), 1);
    assert!(tex.contains("\\textbackslash{}end\\{document\\}\\$x\\_y"));
    let page = markdown::render(&report);
    assert!(!page.contains("<script") && page.contains("\\|\\`"));
    let plain = text::render(&report, text::Style::default());
    assert!(!plain.contains('\u{1b}') && !plain.contains('\u{202e}'));
}

#[test]
fn text_keeps_within_the_width() {
    let mut askings = Vec::new();
    for (at, p) in [0.0, 20.0, 40.0, 60.0, 80.0, 100.0].into_iter().enumerate() {
        for question in 0..3 {
            let id = (at * 3 + question) as i64;
            askings.push(at_p(asking(id, &format!("q{question}"), question > 0), p));
        }
    }
    let report = report(askings, |_| {});
    for width in [40, 80, 120] {
        let style = text::Style { width, bold: false };
        let plain = text::render(&report, style);
        for line in plain.lines() {
            assert!(
                unicode_width::UnicodeWidthStr::width(line) <= width,
                "{width}: {line}"
            );
        }
        let bold = text::render(&report, text::Style { width, bold: true });
        assert_eq!(
            bold.replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""),
            plain
        );
    }
    let plain = text::render(&report, text::Style::default());
    assert!(plain.contains("  rate"), "{plain}");
    assert!(plain.contains("66.7"));
}

#[test]
fn charts_show_every_point() {
    let report = report(
        vec![
            asking(1, "q1", true),
            asking(2, "q2", false),
            at_p(asking(3, "q1", true), 100.0),
            at_p(asking(4, "q2", true), 100.0),
        ],
        |_| {},
    );
    let figure = chart::figure(panel(&report, "table4", Metric::MainAccuracy), "c1");
    // Inner width 348 from 38, so p=60 is at 246.8 and p=100 at 386; inner height 188 from 24, so 50 % is at
    // 118 and 100 % at 24.
    assert!(
        figure.contains("points=\"246.8,118.0 386.0,24.0\""),
        "{figure}"
    );
    assert!(figure.contains("class=\"band\""));
    assert_eq!(
        figure.matches("class=\"dot\"").count(),
        3,
        "two points and the key"
    );
    assert!(figure.contains("<title>gpt-4o-mini, p=60: 50.0 % ("));
    assert!(figure.contains("role=\"img\"") && figure.contains("id=\"c1-t\""));
}

#[test]
fn figures_stand_alone_and_the_abstention_curve_joins_two_panels() {
    let answered = |id, question: &str, p, right| {
        let mut one = at_p(asking(id, question, right), p);
        let value = f64::from(u8::from(right));
        one.counts.insert(
            Metric::AccuracyWhenAnswered,
            Ratio {
                num: value,
                den: 1.0,
            },
        );
        one
    };
    let mut silent = at_p(asking(4, "q2", false), 20.0);
    silent.outcome = Some(Outcome::Insufficient);
    silent.model = Arc::from("gpt-4o-mini");
    let report = report(
        vec![
            answered(1, "q1", 60.0, true),
            answered(2, "q2", 60.0, false),
            answered(3, "q1", 20.0, true),
            silent,
        ],
        |_| {},
    );
    let files = figures(&report);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"table4-1.svg"), "{names:?}");
    let (_, curve) = files
        .iter()
        .find(|(name, _)| name == "abstention-curve-1.svg")
        .unwrap();
    // At p = 20 one of two replies chose an option, and it was right; at p = 60 both did, one was right.
    assert!(
        curve.contains("p=20: 100.0 % right of the 50.0 % answered"),
        "{curve}"
    );
    assert!(
        curve.contains("p=60: 50.0 % right of the 100.0 % answered"),
        "{curve}"
    );
    // Each point says at which p it is, and no name of an axis is wider than the drawing.
    assert!(
        curve.contains(">p=20</text>") && curve.contains(">p=60</text>"),
        "{curve}"
    );
    assert!(
        curve.contains(">coverage: % of the replies that chose an option</text>"),
        "{curve}"
    );
    for (name, svg) in &files {
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""),
            "{name}"
        );
        assert!(svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("http").count(), 1, "{name} refers to nothing");
        assert!(svg.contains("gpt-4o-mini"));
    }
    assert!(html::render(&report).contains("accuracy when answered against coverage"));
}
