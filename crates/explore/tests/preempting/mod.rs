//! Preemptions, counted where they happen, and what searches within a bound on them find.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use crate::support::{Program, Rng, Stmt::*, execute, random_program};
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

/// A random program of plain accesses and a few locks: more threads and more preemptions than the others.
pub fn plain(mut g: Rng, threads: usize) -> Program {
    let vars = 1 + g.below(3);
    let longest = 1 + g.below([0, 0, 6, 4, 3, 2][threads]);
    let locks = g.below(3) == 0;
    let statement = |g: &mut Rng| {
        let (x, r) = (g.below(vars) as u8, g.below(2) as u8);
        match g.below(9) {
            0 | 1 => Read(x, r),
            2 | 3 => Write(x, g.below(3)),
            4 => Cas(x, g.below(2), g.below(3), r),
            5 => Add(x),
            6 => If(r, g.below(2), vec![Write(x, 1)]),
            7 if locks => Critical(g.below(2) as u8, vec![Read(x, r)]),
            8 if locks => Critical(g.below(2) as u8, vec![Write(x, 2)]),
            _ => IfElse(r, g.below(2), vec![Read(x, 1)], vec![Write(x, 2)]),
        }
    };
    let mut body = |_| (0..1 + g.below(longest)).map(|_| statement(&mut g)).collect();
    Program::of((0..threads).map(&mut body).collect())
}

pub fn numbered(seed: u64) -> Program {
    Program { numbered: true, ..random_program(seed) }
}

/// Programs from these seeds whose interleavings are not too many; each with what all of them lead to, and how many executions
/// `optimal` has without a bound.
pub fn small(
    seeds: std::ops::Range<u64>,
    make: fn(u64) -> Program,
    too_many: u64,
) -> impl Iterator<Item = (u64, Program, Found, u64)> {
    seeds.filter_map(move |seed| {
        let p = make(seed);
        let oracle = explore(&p, "none", None, too_many);
        oracle.finished.then(|| {
            let unbounded = explore(&p, "optimal", None, 4 * too_many).explored();
            (seed, p, oracle, unbounded)
        })
    })
}
