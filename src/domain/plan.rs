//! The plan of a sweep: the conditions of a grid in the order in which they are asked, and which of several
//! records of one instance counts.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::domain::answer::Outcome;
use crate::domain::context::{ComposeError, Condition, Mode, Scenario, SourceFilter, draw};

/// A grid of conditions as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Which tests; their order does not matter.
    pub scenarios: Vec<Scenario>,
    /// Documents per context; `None` takes the paper's for each scenario.
    pub docs: Option<Vec<usize>>,
    /// Per cent of signal documents, 0 to 100; `None` takes the paper's for each scenario.
    pub p: Option<Vec<f64>>,
    /// Seeds of the random draws: every context is there once for each.
    pub seeds: Vec<u64>,
    /// Nested or independent draws, or both one after the other.
    pub modes: Vec<Mode>,
    /// Which documents may be used: every context is there once for each. `None` takes the paper's: all of them, and
    /// in standard with the paper's n those of each source, where there are two.
    pub sources: Option<Vec<SourceFilter>>,
}

/// Instances that one grid may have over all datasets, models and repeats: seventy times the paper's. Beyond that a
/// list was mistyped, and composing would take days and fill the memory.
pub const MOST_INSTANCES: u64 = 10_000_000;

/// Whether so many conditions, questions, models and repeats are few enough to be planned.
///
/// # Errors
/// A sentence that says how many they would be.
pub fn check_size(factors: &[usize]) -> Result<(), String> {
    let product = factors.iter().fold(1u64, |product, &factor| {
        product.saturating_mul(factor as u64)
    });
    match product > MOST_INSTANCES {
        true => Err(format!(
            "the grid would have up to {product} instances, and {MOST_INSTANCES} are the most that one plan takes; take fewer seeds, documents, p, questions or repeats"
        )),
        false => Ok(()),
    }
}

/// The conditions of a grid.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// Those that are possible, each once: by mode, source and seed as given, then scenario, n and p, all rising, so
    /// that contexts that share most of their documents follow one another.
    pub kept: Vec<Condition>,
    /// Cells that are impossible for every question, with the reason: they are left out and said.
    pub left_out: Vec<(Condition, ComposeError)>,
}

/// How the contexts of one round of the grid are drawn.
struct Draw {
    seed: u64,
    mode: Mode,
    source: SourceFilter,
    /// Whether this is the first mode and source: contexts without documents are the same for all.
    first: bool,
    /// Whether standard has a condition for each source.
    split: bool,
}

/// Values in the order given, each once.
fn each_once<T: Copy + Eq + Hash>(values: &[T]) -> Vec<T> {
    let mut seen = HashSet::new();
    values
        .iter()
        .copied()
        .filter(|value| seen.insert(*value))
        .collect()
}

/// `n` of the paper's conditions (its section on the experiments; standard 0 is "no retrieval").
fn paper_docs(scenario: Scenario) -> &'static [usize] {
    match scenario {
        Scenario::Standard => &[0, 5, 20],
        Scenario::Sufficiency => &[5, 20],
        Scenario::Integration | Scenario::Robustness => &[5, 10],
    }
}

/// `p` of the paper's conditions in per cent; integration starts at 20, since it asks about signal documents.
fn paper_p(scenario: Scenario) -> &'static [f64] {
    match scenario {
        Scenario::Standard => &[100.0],
        Scenario::Integration => &[20.0, 40.0, 60.0, 80.0, 100.0],
        Scenario::Sufficiency | Scenario::Robustness => &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0],
    }
}

impl Grid {
    /// The paper's grid: 39 conditions for a dataset with documents of both sources, else 37, since the paper has
    /// standard with 5 and 20 documents for each source.
    pub fn paper() -> Grid {
        Grid {
            scenarios: Scenario::ALL.to_vec(),
            docs: None,
            p: None,
            seeds: vec![0],
            modes: vec![Mode::default()],
            sources: None,
        }
    }

    /// Conditions at most, by arithmetic alone.
    pub fn most_conditions(&self) -> usize {
        let length = |given: Option<usize>, paper: usize| given.unwrap_or(paper);
        let of_scenario = |scenario: &Scenario| {
            let docs = length(
                self.docs.as_ref().map(Vec::len),
                paper_docs(*scenario).len(),
            );
            let p = match scenario {
                Scenario::Standard => 1,
                _ => length(self.p.as_ref().map(Vec::len), paper_p(*scenario).len()),
            };
            docs.saturating_mul(p)
        };
        let cells = self
            .scenarios
            .iter()
            .map(of_scenario)
            .fold(0, usize::saturating_add);
        // Two sources at most where the paper's are taken.
        [
            self.seeds.len(),
            self.modes.len(),
            length(self.sources.as_ref().map(Vec::len), 2),
        ]
        .into_iter()
        .fold(cells, usize::saturating_mul)
    }

    /// The conditions; `both_sources` says whether the dataset has documents of both. Standard ignores p, so it is
    /// there once per n, and without documents nothing but the seed can be different, so that stands there once per
    /// seed. Integration without a signal document and other scenarios than standard without documents are left out.
    ///
    /// # Errors
    /// [`ComposeError`] for a p or n out of range, and where nothing would be left.
    pub fn conditions(&self, both_sources: bool) -> Result<Conditions, ComposeError> {
        let mut found = Conditions::default();
        let modes = each_once(&self.modes);
        let sources = match &self.sources {
            Some(sources) => each_once(sources),
            None => vec![SourceFilter::Any],
        };
        let mut first = true;
        for &mode in &modes {
            for &source in &sources {
                for seed in each_once(&self.seeds) {
                    let draw = Draw {
                        seed,
                        mode,
                        source,
                        first,
                        split: both_sources && self.sources.is_none() && self.docs.is_none(),
                    };
                    for scenario in Scenario::ALL {
                        if self.scenarios.contains(&scenario) {
                            self.add_scenario(scenario, &draw, &mut found)?;
                        }
                    }
                }
                first = false;
            }
        }
        match (found.kept.is_empty(), found.left_out.first()) {
            (true, Some((_, why))) => Err(why.clone()),
            _ => Ok(found),
        }
    }

    fn add_scenario(
        &self,
        scenario: Scenario,
        draw: &Draw,
        found: &mut Conditions,
    ) -> Result<(), ComposeError> {
        let mut docs = self
            .docs
            .clone()
            .unwrap_or_else(|| paper_docs(scenario).to_vec());
        docs.sort_unstable();
        docs.dedup();
        for &docs in &docs {
            let standard = scenario == Scenario::Standard;
            if standard && docs == 0 && !draw.first {
                continue;
            }
            let sources: &[SourceFilter] = match standard && docs > 0 && draw.split {
                true => &[SourceFilter::Offline, SourceFilter::Online],
                false => std::slice::from_ref(&draw.source),
            };
            for (p, &source) in self
                .p_of(scenario)?
                .into_iter()
                .flat_map(|p| sources.iter().map(move |source| (p, source)))
            {
                let condition = Condition {
                    scenario,
                    docs,
                    p,
                    seed: draw.seed,
                    mode: draw.mode,
                    source,
                };
                match condition.check() {
                    Ok(()) => found.kept.push(condition),
                    Err(
                        why
                        @ (ComposeError::NoSignalInIntegration { .. } | ComposeError::NoDocs(_)),
                    ) => found.left_out.push((condition, why)),
                    Err(wrong) => return Err(wrong),
                }
            }
        }
        Ok(())
    }

    /// Rising, each once. All given values are checked, also for standard, which does not use them.
    fn p_of(&self, scenario: Scenario) -> Result<Vec<f64>, ComposeError> {
        let Some(given) = &self.p else {
            return Ok(paper_p(scenario).to_vec());
        };
        if let Some(wrong) = given.iter().find(|p| !(0.0..=100.0).contains(*p)) {
            return Err(ComposeError::BadP(*wrong));
        }
        if scenario == Scenario::Standard {
            return Ok(paper_p(scenario).to_vec());
        }
        // Adding zero turns -0 into 0.
        let mut p: Vec<f64> = given.iter().map(|p| p + 0.0).collect();
        p.sort_by(f64::total_cmp);
        p.dedup();
        Ok(p)
    }
}

/// A sample of positions, rising: every stratum gets its share (largest remainders, ties to the stratum that
/// comes first), drawn within it by the seed. The same strata and seed give the same sample; `count` above
/// their number gives all.
pub fn stratified(strata: &[String], count: usize, seed: u64) -> Vec<usize> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for (position, stratum) in strata.iter().enumerate() {
        match groups.iter_mut().find(|(name, _)| name == stratum) {
            Some((_, group)) => group.push(position),
            None => groups.push((stratum, vec![position])),
        }
    }
    let count = count.min(strata.len());
    let mut chosen: Vec<usize> = groups
        .iter()
        .zip(shares(&groups, count))
        .flat_map(|((name, group), share)| {
            draw(&format!("sample {name}"), seed, group.len(), share)
                .into_iter()
                .map(|at| group[at])
        })
        .collect();
    chosen.sort_unstable();
    chosen
}

/// How many of `count` each group gets.
fn shares(groups: &[(&str, Vec<usize>)], count: usize) -> Vec<usize> {
    let total: usize = groups.iter().map(|(_, group)| group.len()).sum();
    let exact = |size: usize| size as f64 * count as f64 / total.max(1) as f64;
    let mut shares: Vec<usize> = groups
        .iter()
        .map(|(_, group)| exact(group.len()).floor() as usize)
        .collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    let remainder = |at: &usize| exact(groups[*at].1.len()).fract();
    order.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    let missing = count - shares.iter().sum::<usize>();
    for at in order.into_iter().cycle().take(missing.min(groups.len())) {
        shares[at] += 1;
    }
    shares
}

/// A condition as the key of a map. Conditions whose contexts are the same by definition have the same key:
/// standard ignores p.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConditionKey {
    scenario: Scenario,
    docs: usize,
    p_bits: u64,
    seed: u64,
    mode: Mode,
    source: SourceFilter,
}

impl ConditionKey {
    /// The key of a condition.
    pub fn of(condition: &Condition) -> ConditionKey {
        let p = match condition.scenario {
            Scenario::Standard => 100.0,
            _ => condition.p + 0.0,
        };
        ConditionKey {
            scenario: condition.scenario,
            docs: condition.docs,
            p_bits: p.to_bits(),
            seed: condition.seed,
            mode: condition.mode,
            source: condition.source,
        }
    }
}

/// Whether a record with this outcome is a reply that counts in rates; `None` stands for a failed call. An
/// instance without such a record is asked again when a sweep goes on.
pub fn is_counted_reply(outcome: Option<Outcome>) -> bool {
    outcome.is_some_and(Outcome::is_reply)
}

/// Positions of the records that count, one per instance, rising: its last reply, else its last record.
/// `records` gives, in stored order, the instance of each and whether it is a reply that counts.
pub fn counted<K: Eq + Hash>(records: impl IntoIterator<Item = (K, bool)>) -> Vec<usize> {
    let mut chosen: HashMap<K, (usize, bool)> = HashMap::new();
    for (at, (instance, is_reply)) in records.into_iter().enumerate() {
        chosen
            .entry(instance)
            .and_modify(|held| {
                if is_reply || !held.1 {
                    *held = (at, is_reply);
                }
            })
            .or_insert((at, is_reply));
    }
    let mut positions: Vec<usize> = chosen.into_values().map(|(at, _)| at).collect();
    positions.sort_unstable();
    positions
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn cells(conditions: &Conditions) -> Vec<(Scenario, usize, f64)> {
        let of = |c: &Condition| (c.scenario, c.docs, c.p);
        conditions.kept.iter().map(of).collect()
    }

    #[test]
    fn the_papers_grid_has_its_conditions() {
        let counts = |both| {
            let all = Grid::paper().conditions(both).unwrap();
            assert!(all.left_out.is_empty());
            let count = |scenario| all.kept.iter().filter(|c| c.scenario == scenario).count();
            Scenario::ALL.map(count)
        };
        // Standard: without retrieval, and 5 and 20 of each source.
        assert_eq!(counts(true), [5, 12, 10, 12]);
        assert_eq!(counts(false), [3, 12, 10, 12]);
        let standard = Grid {
            scenarios: vec![Scenario::Standard],
            ..Grid::paper()
        };
        let sources: Vec<(usize, SourceFilter)> = standard
            .conditions(true)
            .unwrap()
            .kept
            .iter()
            .map(|c| (c.docs, c.source))
            .collect();
        let (any, offline, online) = (
            SourceFilter::Any,
            SourceFilter::Offline,
            SourceFilter::Online,
        );
        assert_eq!(
            sources,
            [
                (0, any),
                (5, offline),
                (5, online),
                (20, offline),
                (20, online)
            ]
        );
        // Named documents are drawn from all sources unless these are named too.
        let named = Grid {
            docs: Some(vec![5]),
            ..standard
        };
        assert_eq!(named.conditions(true).unwrap().kept[0].source, any);
    }

    #[test]
    fn modes_and_sources_repeat_the_grid_and_no_documents_are_asked_once() {
        let grid = Grid {
            scenarios: vec![Scenario::Standard, Scenario::Sufficiency],
            docs: Some(vec![0, 5]),
            p: Some(vec![60.0]),
            modes: vec![Mode::Nested, Mode::Independent, Mode::Nested],
            sources: Some(vec![SourceFilter::Online, SourceFilter::Offline]),
            ..Grid::paper()
        };
        let found = grid.conditions(true).unwrap();
        assert_eq!(found.kept.len(), 1 + 4 + 4);
        let without: Vec<&Condition> = found.kept.iter().filter(|c| c.docs == 0).collect();
        assert_eq!(
            (without.len(), without[0].source, without[0].mode),
            (1, SourceFilter::Online, Mode::Nested)
        );
        let mut keys: Vec<ConditionKey> = found.kept.iter().map(ConditionKey::of).collect();
        keys.sort_by_key(|key| format!("{key:?}"));
        keys.dedup();
        assert_eq!(keys.len(), 9, "no condition is there twice");
        assert!(found.kept.len() <= grid.most_conditions());
    }

    #[test]
    fn a_huge_grid_is_refused_by_arithmetic() {
        let grid = Grid {
            docs: Some((1..400).collect()),
            seeds: (0..2_000).collect(),
            ..Grid::paper()
        };
        let most = grid.most_conditions();
        assert!(most >= 2_000 * 399 * 18, "{most}");
        let why = check_size(&[most]).unwrap_err();
        assert!(why.contains("10000000"), "{why}");
        assert!(check_size(&[usize::MAX, usize::MAX]).is_err());
        // Eight models of the paper, five repeats.
        assert_eq!(check_size(&[39, 3_480, 8, 5]), Ok(()));
    }

    #[test]
    fn a_grid_is_sorted_without_repeats_and_says_what_is_left_out() {
        let grid = Grid {
            scenarios: vec![
                Scenario::Integration,
                Scenario::Standard,
                Scenario::Standard,
            ],
            docs: Some(vec![5, 0, 5]),
            p: Some(vec![100.0, -0.0, 5.0, 0.0]),
            ..Grid::paper()
        };
        let found = grid.conditions(false).unwrap();
        assert_eq!(
            cells(&found),
            [
                (Scenario::Standard, 0, 100.0),
                (Scenario::Standard, 5, 100.0),
                (Scenario::Integration, 5, 100.0),
            ]
        );
        // n = 0 at three p, and n = 5 at 0 and 5 %.
        assert_eq!(found.left_out.len(), 5);
        assert!(found.left_out[0].1.to_string().contains("signal document"));
    }

    #[test]
    fn impossible_grids_are_refused() {
        let grid = |docs: usize, p: f64| Grid {
            scenarios: vec![Scenario::Integration],
            docs: Some(vec![docs]),
            p: Some(vec![p]),
            ..Grid::paper()
        };
        assert!(matches!(
            grid(5, 0.0).conditions(false),
            Err(ComposeError::NoSignalInIntegration { .. })
        ));
        assert_eq!(
            grid(5, 101.0).conditions(false).unwrap_err(),
            ComposeError::BadP(101.0)
        );
        assert!(grid(5, f64::NAN).conditions(false).is_err());
        assert_eq!(
            grid(1001, 100.0).conditions(false).unwrap_err(),
            ComposeError::TooManyDocs(1001)
        );
        let standard = Grid {
            scenarios: vec![Scenario::Standard],
            ..grid(5, -1.0)
        };
        assert_eq!(
            standard.conditions(false).unwrap_err(),
            ComposeError::BadP(-1.0)
        );
    }

    #[test]
    fn a_sample_gives_every_stratum_its_share() {
        let strata: Vec<String> = (0..100)
            .map(|at| if at % 10 < 7 { "yes" } else { "no" }.to_owned())
            .collect();
        let sample = stratified(&strata, 20, 3);
        assert_eq!(sample.len(), 20);
        assert!(sample.is_sorted() && sample.windows(2).all(|pair| pair[0] != pair[1]));
        let yes = sample.iter().filter(|at| strata[**at] == "yes").count();
        assert_eq!(yes, 14);
        assert_eq!(sample, stratified(&strata, 20, 3));
        assert_ne!(sample, stratified(&strata, 20, 4));
        // A larger sample of the same seed holds the smaller one's stratum prefixes.
        let larger = stratified(&strata, 40, 3);
        assert!(sample.iter().all(|at| larger.contains(at)));
        assert_eq!(stratified(&strata, 500, 0).len(), 100);
        assert_eq!(stratified(&strata, 1, 0).len(), 1);
        assert!(stratified(&[], 5, 0).is_empty());
    }

    #[test]
    fn seeds_repeat_the_grid() {
        let grid = Grid {
            scenarios: vec![Scenario::Sufficiency],
            docs: Some(vec![5]),
            p: Some(vec![0.0, 100.0]),
            seeds: vec![7, 3, 7],
            ..Grid::paper()
        };
        let seeds: Vec<u64> = grid
            .conditions(false)
            .unwrap()
            .kept
            .iter()
            .map(|c| c.seed)
            .collect();
        assert_eq!(seeds, [7, 7, 3, 3]);
    }

    #[test]
    fn keys_ignore_the_p_of_standard_only() {
        let at = |scenario, p| {
            ConditionKey::of(&Condition {
                scenario,
                p,
                ..Condition::default()
            })
        };
        assert_eq!(at(Scenario::Standard, 20.0), at(Scenario::Standard, 60.0));
        assert_ne!(
            at(Scenario::Robustness, 20.0),
            at(Scenario::Robustness, 60.0)
        );
        assert_eq!(
            at(Scenario::Robustness, -0.0),
            at(Scenario::Robustness, 0.0)
        );
    }

    #[test]
    fn the_last_reply_counts_and_a_failure_only_without_one() {
        let records = [
            ("a", false),
            ("b", true),
            ("a", true),
            ("b", false),
            ("c", false),
            ("b", true),
            ("c", false),
        ];
        assert_eq!(counted(records), [2, 5, 6]);
        assert!(counted(Vec::<((), bool)>::new()).is_empty());
    }
}
