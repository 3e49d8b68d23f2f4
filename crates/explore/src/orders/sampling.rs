//! What orders that draw executions have in common.
//!
//! Each execution has a generator of its own, made from the seed and its number; a [`Policy`] says which thread goes
//! next, and outcomes of a step are all equally likely. No execution is a replay of another one, so nothing is
//! compared. Different happens-before classes are counted, so that a report can say how much of what was run was new.
//!
//! A sample never ends by itself: without a budget it stops after [`DEFAULT_EXECUTIONS`].

use super::portfolio::Member;
use super::rng::Rng;
use super::schedule_of;
use crate::budget::{Meter, Spent};
use crate::explorer::{Decision, End, Executed, Explorer, Options, View};
use crate::ids::ThreadId;
use crate::outcome::Stats;
use crate::schedule::Schedule;
use crate::search::{Progress, Promise};
use crate::trace::Trace;
use std::collections::HashSet;

/// How many executions are drawn where no budget is set.
pub(crate) const DEFAULT_EXECUTIONS: u64 = 10_000;

/// How a random order picks threads.
pub(crate) trait Policy {
    /// A new execution starts.
    fn begin(&mut self, _rng: &mut Rng) {}

    /// One of the enabled threads.
    fn pick(&mut self, view: &View<'_>, rng: &mut Rng) -> ThreadId;

    /// A step has run.
    fn ran(&mut self, _event: &Executed<'_>) {}

    /// The execution is over.
    fn ended(&mut self, _trace: &Trace, _view: &View<'_>) {}

    /// What is promised, in words. `executions` were drawn.
    fn says(&self, executions: u64) -> String;

    /// Forgets what it has learned.
    fn forget(&mut self);
}

/// Different things seen, up to a number at which it stops counting.
#[derive(Default)]
pub(crate) struct Classes(HashSet<u64>);

impl Classes {
    const MOST: usize = 1 << 20;

    /// Adds one; says whether it was new.
    pub(crate) fn add(&mut self, class: u64) -> bool {
        self.0.len() < Self::MOST && self.0.insert(class)
    }

    pub(crate) fn say(&self) -> String {
        let (n, or_more) = (self.0.len(), if self.0.len() == Self::MOST { " or more" } else { "" });
        format!("{n}{or_more} happens-before class{} seen", if n == 1 { "" } else { "es" })
    }
}

/// Draws executions by a policy.
pub(crate) struct Sampler<P> {
    policy: P,
    seed: u64,
    rng: Rng,
    runs: u64,
    trace: Trace,
    chosen_option: (u32, u32),
    classes: Classes,
    stats: Stats,
    meter: Meter,
    /// So many executions are drawn, as no budget was set.
    most: Option<u64>,
    /// They were.
    stopped: bool,
}

impl<P: Policy> Sampler<P> {
    pub(crate) fn new(policy: P, seed: u64, meter: Meter) -> Sampler<P> {
        let most = meter.is_unlimited().then_some(DEFAULT_EXECUTIONS);
        Sampler {
            policy,
            seed,
            rng: Rng::new(seed, 0),
            runs: 0,
            trace: Trace::new(),
            chosen_option: (0, 1),
            classes: Classes::default(),
            stats: Stats::default(),
            meter,
            most,
            stopped: false,
        }
    }

    /// One that goes on for as long as it is asked to.
    pub(crate) fn member(policy: P, seed: u64) -> Sampler<P> {
        Sampler { most: None, ..Sampler::new(policy, seed, Meter::unlimited()) }
    }
}

impl<P: Policy> Explorer for Sampler<P> {
    fn begin(&mut self) {
        self.rng = Rng::new(self.seed, self.runs);
        self.trace.restart();
        self.trace.truncate(0);
        self.policy.begin(&mut self.rng);
    }

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        self.chosen_option = (0, 1);
        Decision::Run(self.policy.pick(view, &mut self.rng))
    }

    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        let len = self.trace.len();
        self.trace.order(before, after, len);
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        let value = options.get(self.rng.below(options.len() as u64) as usize);
        self.chosen_option = (value, options.len() as u32);
        value
    }

    fn executed(&mut self, event: Executed<'_>) {
        let (option, options) = self.chosen_option;
        self.trace.push(&event, option, options);
        self.policy.ran(&event);
    }

    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        let (s, steps) = (&mut self.stats, self.trace.len() as u64);
        s.steps += steps;
        s.longest = s.longest.max(steps);
        s.threads = s.threads.max(view.pending.len() as u64);
        s.races += self.trace.races().len() as u64;
        match end {
            End::Assumed => s.assumed += 1,
            _ => s.executions += 1,
        }
        self.runs += 1;
        self.classes.add(self.trace.class());
        self.policy.ended(&self.trace, view);
        self.stopped = self.most.is_some_and(|n| self.runs >= n);
        self.meter.another() && !self.stopped
    }
}

impl<P: Policy> Progress for Sampler<P> {
    fn stats(&self) -> Stats {
        self.stats
    }

    fn finished(&self) -> bool {
        false
    }

    fn promise(&self) -> Promise {
        let budget = if self.stopped { "; as many as are drawn without a budget" } else { "" };
        Promise::Nothing(format!(
            "{}; from seed {}, {}{budget}",
            self.policy.says(self.runs),
            self.seed,
            self.classes.say()
        ))
    }

    fn restart(&mut self) {
        self.policy.forget();
        self.runs = 0;
        self.trace = Trace::new();
        self.classes = Classes::default();
        self.stats = Stats::default();
    }

    fn spent(&self) -> Option<Spent> {
        self.meter.spent().or(self.stopped.then_some(Spent::Executions(DEFAULT_EXECUTIONS)))
    }

    fn estimate(&self) -> Option<f64> {
        None
    }

    fn schedule(&self) -> Schedule {
        schedule_of(&self.trace, self.trace.len())
    }
}

impl<P: Policy> Member for Sampler<P> {
    fn class(&self) -> u64 {
        self.trace.class()
    }
}
