//! Preemptions, counted where they happen, and what searches within a bound on them find.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use crate::support::{Program, execute};
use explore::{
    BoundKind, Decision, Divergence, End, Executed, Explorer, Limit, Meter, Options, Plan, Progress, Promise,
    Stats, ThreadId, View,
};
use std::collections::{BTreeMap, BTreeSet};

/// Drives a search and counts preemptions: changes of the running thread while it could have gone on.
struct Counting<'a> {
    search: &'a mut dyn Explorer,
    preemptions: u32,
}

impl Explorer for Counting<'_> {
    fn begin(&mut self) {
        self.preemptions = 0;
        self.search.begin();
    }

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        let decision = self.search.next_thread(view);
        if let (Decision::Run(t), Some(c)) = (decision, view.current) {
            self.preemptions += (t != c && view.enabled.contains(c)) as u32;
        }
        decision
    }

    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        self.search.ordered(before, after);
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        self.search.next_option(options)
    }

    fn executed(&mut self, event: Executed<'_>) {
        self.search.executed(event);
    }

    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        self.search.end(end, view)
    }

    fn divergence(&self) -> Option<&Divergence> {
        self.search.divergence()
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// Classes completed within the bound, and how often.
    pub classes: BTreeMap<u64, u64>,
    /// The least preemptions that were seen of each class, those over the bound included.
    pub least: BTreeMap<u64, u32>,
    /// Final states within the bound.
    pub states: BTreeSet<String>,
    /// The least preemptions that were seen of each final state.
    pub least_of_state: BTreeMap<String, u32>,
    pub stats: Stats,
    pub finished: bool,
    pub promise: Option<Promise>,
}

impl Found {
    /// Executions, whatever became of them.
    pub fn explored(&self) -> u64 {
        self.stats.executions + self.stats.blocked + self.stats.over_bound
    }

    /// How many preemptions there is a use for.
    pub fn saturation(&self) -> u32 {
        self.least.values().max().copied().unwrap_or(0)
    }

    /// The classes that have an execution with at most `k` preemptions.
    pub fn within(&self, k: u32) -> BTreeSet<u64> {
        self.least.iter().filter(|c| *c.1 <= k).map(|c| *c.0).collect()
    }

    /// The final states that have one.
    pub fn states_within(&self, k: u32) -> BTreeSet<String> {
        self.least_of_state.iter().filter(|c| *c.1 <= k).map(|c| c.0.clone()).collect()
    }
}

/// A plan with a bound on preemptions, or none.
pub fn plan(algorithm: &str, preemptions: Option<u32>) -> Plan {
    let mut plan = Plan::of(algorithm).unwrap();
    plan.bounds.extend(preemptions.map(|k| Limit::at(BoundKind::Preemptions, k)));
    plan
}

/// Searches a program to the end, or for at most `limit` executions.
pub fn explore(p: &Program, algorithm: &str, preemptions: Option<u32>, limit: u64) -> Found {
    let mut search: Box<dyn Progress> = plan(algorithm, preemptions).search(Meter::unlimited()).unwrap();
    let mut found = Found::default();
    loop {
        let before = search.stats().executions;
        let mut counting = Counting { search: &mut *search, preemptions: 0 };
        let (shown, again) = execute(p, &mut counting);
        let preemptions = counting.preemptions;
        if let Some(shown) = shown {
            let least = found.least.entry(shown.class).or_insert(u32::MAX);
            *least = preemptions.min(*least);
            let least = found.least_of_state.entry(shown.state.clone()).or_insert(u32::MAX);
            *least = preemptions.min(*least);
            if search.stats().executions > before {
                *found.classes.entry(shown.class).or_default() += 1;
                found.states.insert(shown.state);
            }
        }
        found.stats = search.stats();
        if !again || found.explored() >= limit {
            found.finished = search.finished();
            found.promise = Some(search.promise());
            return found;
        }
    }
}
