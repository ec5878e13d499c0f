//! The plan of a sweep: the conditions of a grid in the order in which they are asked, and which of several
//! records of one instance counts.

use std::collections::HashMap;
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
    /// Nested or independent draws.
    pub mode: Mode,
    /// Which documents may be used.
    pub source: SourceFilter,
}

/// The conditions of a grid.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// Those that are possible, each once: by seed as given, then scenario, n and p, all rising, so that
    /// contexts that share most of their documents follow one another.
    pub kept: Vec<Condition>,
    /// Cells that are impossible for every question, with the reason: they are left out and said.
    pub left_out: Vec<(Condition, ComposeError)>,
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
    /// The paper's grid for documents of one source: 37 conditions. (Its 39 have standard for both
    /// sources.)
    pub fn paper() -> Grid {
        Grid {
            scenarios: Scenario::ALL.to_vec(),
            docs: None,
            p: None,
            seeds: vec![0],
            mode: Mode::default(),
            source: SourceFilter::default(),
        }
    }

    /// The conditions. Standard ignores p, so it is there once per n. Integration without a signal document
    /// and other scenarios than standard without documents are left out.
    ///
    /// # Errors
    /// [`ComposeError`] for a p or n out of range, and where nothing would be left.
    pub fn conditions(&self) -> Result<Conditions, ComposeError> {
        let mut found = Conditions::default();
        for (at, &seed) in self.seeds.iter().enumerate() {
            if self.seeds[..at].contains(&seed) {
                continue;
            }
            for scenario in Scenario::ALL {
                if self.scenarios.contains(&scenario) {
                    self.add_scenario(scenario, seed, &mut found)?;
                }
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
        seed: u64,
        found: &mut Conditions,
    ) -> Result<(), ComposeError> {
        let mut docs = self
            .docs
            .clone()
            .unwrap_or_else(|| paper_docs(scenario).to_vec());
        docs.sort_unstable();
        docs.dedup();
        for &docs in &docs {
            for p in self.p_of(scenario)? {
                let condition = Condition {
                    scenario,
                    docs,
                    p,
                    seed,
                    mode: self.mode,
                    source: self.source,
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
        let all = Grid::paper().conditions().unwrap();
        assert!(all.left_out.is_empty());
        let count = |scenario| all.kept.iter().filter(|c| c.scenario == scenario).count();
        // Standard: without retrieval, 5 and 20 of one source; the paper has the last two for both sources.
        assert_eq!(Scenario::ALL.map(count), [3, 12, 10, 12]);
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
        let found = grid.conditions().unwrap();
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
            grid(5, 0.0).conditions(),
            Err(ComposeError::NoSignalInIntegration { .. })
        ));
        assert_eq!(
            grid(5, 101.0).conditions().unwrap_err(),
            ComposeError::BadP(101.0)
        );
        assert!(grid(5, f64::NAN).conditions().is_err());
        assert_eq!(
            grid(1001, 100.0).conditions().unwrap_err(),
            ComposeError::TooManyDocs(1001)
        );
        let standard = Grid {
            scenarios: vec![Scenario::Standard],
            ..grid(5, -1.0)
        };
        assert_eq!(standard.conditions().unwrap_err(), ComposeError::BadP(-1.0));
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
            .conditions()
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
