//! A budget shared out among orders that draw executions.
//!
//! Rounds, each twice as long as the one before. Half of a round is split evenly, so that nobody is written off; the
//! other half goes by how many happens-before classes that nobody had seen before each member found in the last round.
//! All of that follows from the seed. One member is `random-coverage`, which runs nothing twice and ends: when it does,
//! everything was seen.

use super::best_first::BestFirst;
use super::sampling::{Classes, DEFAULT_EXECUTIONS, Sampler};
use super::{Order, PCT_DEPTH, pct, pos, random, urw};
use crate::budget::{Meter, Spent};
use crate::explorer::{Decision, Divergence, End, Executed, Explorer, Options, View};
use crate::ids::ThreadId;
use crate::outcome::Stats;
use crate::plan::{BadPlan, Plan};
use crate::schedule::Schedule;
use crate::search::{Progress, Promise};
use crate::trace::mix;

/// A search that can be part of a portfolio.
pub(crate) trait Member: Progress {
    /// The happens-before class of the execution that ended last.
    fn class(&self) -> u64;
}

impl Member for BestFirst {
    fn class(&self) -> u64 {
        BestFirst::class(self)
    }
}

struct Share {
    name: String,
    search: Box<dyn Member>,
    /// Executions left to it in this round.
    left: u64,
    /// Executions so far, and classes that it was the first to see: in all, and in this round.
    runs: u64,
    found: u64,
    found_now: u64,
}

/// Executions of the first round for each member.
const FIRST_ROUND: u64 = 8;

/// Several searches in turn.
pub(crate) struct Portfolio {
    shares: Vec<Share>,
    at: usize,
    round: u32,
    seed: u64,
    runs: u64,
    classes: Classes,
    meter: Meter,
    stopped: bool,
    finished: bool,
}

impl Portfolio {
    pub(crate) fn new(plan: &Plan, meter: Meter) -> Result<Portfolio, BadPlan> {
        let seed = |k: u64| mix(plan.seed, k);
        let coverage = Plan { order: Order::RandomCoverage, algorithm: None, seed: seed(4), ..plan.clone() };
        let members: [(Order, Box<dyn Member>); 5] = [
            (Order::Random, Box::new(Sampler::member(random::Walk, seed(0)))),
            (Order::Urw, Box::new(Sampler::member(urw::Urw::default(), seed(1)))),
            (Order::Pct(PCT_DEPTH), Box::new(Sampler::member(pct::Pct::new(PCT_DEPTH), seed(2)))),
            (Order::Pos, Box::new(Sampler::member(pos::Pos::default(), seed(3)))),
            (Order::RandomCoverage, Box::new(BestFirst::new(&coverage, Meter::unlimited())?)),
        ];
        let share = |(order, search): (Order, Box<dyn Member>)| Share {
            name: order.to_string(),
            search,
            left: FIRST_ROUND,
            runs: 0,
            found: 0,
            found_now: 0,
        };
        Ok(Portfolio {
            shares: members.into_iter().map(share).collect(),
            at: 0,
            round: 0,
            seed: plan.seed,
            runs: 0,
            classes: Classes::default(),
            meter,
            stopped: false,
            finished: false,
        })
    }

    fn search(&mut self) -> &mut dyn Member {
        &mut *self.shares[self.at].search
    }

    /// Shares the next round out.
    fn next_round(&mut self) {
        self.round = (self.round + 1).min(40);
        let even = FIRST_ROUND << self.round;
        let extra = even / 2 * self.shares.len() as u64;
        let found: u64 = self.shares.iter().map(|s| s.found_now).sum();
        for s in &mut self.shares {
            s.left = match found {
                0 => even,
                _ => even / 2 + (extra as u128 * s.found_now as u128 / found as u128) as u64,
            };
            s.found_now = 0;
        }
    }

    /// Turns to the member whose turn it is.
    fn turn(&mut self) {
        loop {
            if let Some(k) = self.shares.iter().position(|s| s.left > 0) {
                self.at = k;
                return;
            }
            self.next_round();
        }
    }
}

impl Explorer for Portfolio {
    fn begin(&mut self) {
        self.turn();
        self.search().begin();
    }

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        self.search().next_thread(view)
    }

    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        self.search().ordered(before, after);
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        self.search().next_option(options)
    }

    fn executed(&mut self, event: Executed<'_>) {
        self.search().executed(event);
    }

    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        let share = &mut self.shares[self.at];
        let more = share.search.end(end, view);
        self.runs += 1;
        share.runs += 1;
        share.left -= 1;
        if self.classes.add(share.search.class()) {
            share.found += 1;
            share.found_now += 1;
        }
        if !more {
            self.finished = share.search.finished();
            return false;
        }
        self.stopped = self.meter.is_unlimited() && self.runs >= DEFAULT_EXECUTIONS;
        self.meter.another() && !self.stopped
    }

    fn divergence(&self) -> Option<&Divergence> {
        self.shares.iter().find_map(|s| s.search.divergence())
    }
}

impl Progress for Portfolio {
    fn stats(&self) -> Stats {
        let mut all = Stats::default();
        for s in self.shares.iter().map(|s| s.search.stats()) {
            all.executions += s.executions;
            all.blocked += s.blocked;
            all.assumed += s.assumed;
            all.pruned += s.pruned;
            all.steps += s.steps;
            all.races += s.races;
            all.longest = all.longest.max(s.longest);
            all.threads = all.threads.max(s.threads);
        }
        all
    }

    fn finished(&self) -> bool {
        self.finished
    }

    fn promise(&self) -> Promise {
        if self.finished {
            return Promise::Everything;
        }
        let shares: Vec<String> =
            self.shares.iter().map(|s| format!("{} found {} in {}", s.name, s.found, s.runs)).collect();
        let budget = if self.stopped { "; as many as are drawn without a budget" } else { "" };
        Promise::Nothing(format!(
            "portfolio from seed {}: {}, new ones by executions: {}; what was not drawn is not known{budget}",
            self.seed,
            self.classes.say(),
            shares.join(", ")
        ))
    }

    fn restart(&mut self) {
        for s in &mut self.shares {
            s.search.restart();
            (s.left, s.runs, s.found, s.found_now) = (FIRST_ROUND, 0, 0, 0);
        }
        (self.at, self.round, self.runs) = (0, 0, 0);
        self.classes = Classes::default();
    }

    fn spent(&self) -> Option<Spent> {
        self.meter.spent().or(self.stopped.then_some(Spent::Executions(DEFAULT_EXECUTIONS)))
    }

    fn estimate(&self) -> Option<f64> {
        None
    }

    fn schedule(&self) -> Schedule {
        self.shares[self.at].search.schedule()
    }
}
