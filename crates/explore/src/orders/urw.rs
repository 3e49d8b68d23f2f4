//! A uniform random walk over interleavings (Zhao et al., *Selectively Uniform Concurrency Testing*, ASPLOS 2025, the
//! part called URW).
//!
//! Where each thread `t` has `k(t)` steps left and none blocks, the interleavings that begin with `t` are a share `k(t)
//! / sum of all k` of those that are left. So threads are picked with these weights, and then all interleavings are
//! equally likely. How many steps a thread will take is not known: it is estimated by the mean over the executions
//! before, and a thread that will spawn others counts with theirs until it has. Blocking and data make it an estimate,
//! and it is called one.

use super::random::any_of;
use super::rng::Rng;
use super::sampling::Policy;
use crate::explorer::{Executed, View};
use crate::ids::{ThreadId, ThreadSet};
use crate::trace::Trace;

/// What is known of a thread.
#[derive(Clone, Copy, Default)]
struct Thread {
    /// Its steps in all executions before, and in how many it took part.
    steps: u64,
    executions: u64,
    /// Its steps in this one.
    done: u64,
    /// Who spawned it.
    parent: Option<ThreadId>,
}

impl Thread {
    fn expected(&self) -> u64 {
        (self.steps + self.executions / 2).checked_div(self.executions).unwrap_or(0)
    }
}

/// Picks threads by the number of steps that they seem to have left.
#[derive(Default)]
pub(crate) struct Urw {
    threads: Vec<Thread>,
    /// Threads that have been there in this execution.
    met: ThreadSet,
    weights: Vec<u64>,
    /// Executions to learn from.
    learned: u64,
}

impl Urw {
    fn thread(&mut self, t: ThreadId) -> &mut Thread {
        if t.index() >= self.threads.len() {
            self.threads.resize(t.index() + 1, Thread::default());
        }
        &mut self.threads[t.index()]
    }

    /// Threads that were not here at the last step were spawned by the thread that took it.
    fn meet(&mut self, view: &View<'_>) {
        for t in view.live.minus(&self.met).iter() {
            self.met.insert(t);
            let parent = view.current.filter(|c| *c != t);
            self.thread(t).parent = parent;
        }
    }

    /// The steps that a thread has left, and those of threads that it has yet to spawn, as far as is known; at least
    /// the one that it is about to take.
    fn weigh(&mut self) {
        self.weights.clear();
        self.weights.extend(self.threads.iter().map(|t| t.expected().saturating_sub(t.done).max(1)));
        for t in 0..self.threads.len() {
            if self.met.contains(ThreadId(t as u16)) {
                continue;
            }
            // Counted with the nearest ancestor that is here.
            let mut at = self.threads[t].parent;
            while let Some(p) = at {
                if self.met.contains(p) {
                    self.weights[p.index()] += self.threads[t].expected();
                    break;
                }
                at = self.threads[p.index()].parent;
            }
        }
    }
}

impl Policy for Urw {
    fn begin(&mut self, _rng: &mut Rng) {
        self.met = ThreadSet::EMPTY;
        self.threads.iter_mut().for_each(|t| t.done = 0);
    }

    fn pick(&mut self, view: &View<'_>, rng: &mut Rng) -> ThreadId {
        self.meet(view);
        if self.learned == 0 {
            return any_of(&view.enabled, rng);
        }
        self.weigh();
        let total = view.enabled.iter().map(|t| self.weights[t.index()]).sum();
        let mut at = rng.below(total);
        for t in view.enabled.iter() {
            let weight = self.weights[t.index()];
            if at < weight {
                return t;
            }
            at -= weight;
        }
        any_of(&view.enabled, rng)
    }

    fn ran(&mut self, event: &Executed<'_>) {
        self.thread(event.thread).done += 1;
    }

    fn ended(&mut self, _trace: &Trace, view: &View<'_>) {
        self.meet(view);
        for t in self.met.iter() {
            let thread = self.thread(t);
            thread.steps += thread.done;
            thread.executions += 1;
        }
        self.learned += 1;
    }

    fn says(&self, _executions: u64) -> String {
        "a random walk that aims at all interleavings being equally likely, by an estimate of the steps that each \
         thread has left; what was not drawn is not known"
            .into()
    }

    fn forget(&mut self) {
        *self = Urw::default();
    }
}
