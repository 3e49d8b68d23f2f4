//! Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010).
//!
//! Every thread has a random priority, and the enabled thread with the highest one runs. At `d - 1` random steps the
//! thread that has just run gets a priority below all of these, the `i`-th change the priority `i`. A bug of depth `d`
//! is one that `d` orderings between steps make certain; in a program of at most `n` threads and `k` steps an execution
//! finds it with probability at least `1 / (n k^(d-1))`. `n` and `k` are those of the longest execution so far, the
//! first of which has no changes.
//!
//! A thread that yields goes below all others, so that one that waits for another by yielding gets somewhere: the bound
//! is that of programs that do not.

use super::rng::Rng;
use super::sampling::Policy;
use crate::explorer::{Executed, View};
use crate::ids::ThreadId;
use crate::op::OpKind;
use crate::trace::Trace;

/// Where random priorities begin; those below are given by changes and yields.
const BASE: i64 = 1 << 32;

/// Picks by priorities that change a few times.
pub(crate) struct Pct {
    depth: u32,
    /// By thread; 0 has not been drawn yet.
    priorities: Vec<i64>,
    /// The steps after which priorities change, and to which each changes is its index plus one.
    changes: Vec<u64>,
    step: u64,
    yields: i64,
    threads: u64,
    steps: u64,
}

impl Pct {
    pub(crate) fn new(depth: u32) -> Pct {
        Pct { depth, priorities: vec![], changes: vec![], step: 0, yields: 0, threads: 0, steps: 0 }
    }

    /// The least probability of finding a bug of this depth in one execution.
    fn bound(&self) -> f64 {
        (self.threads.max(1) as f64 * (self.steps.max(1) as f64).powi(self.depth as i32 - 1)).recip()
    }

    fn priority(&mut self, t: ThreadId) -> &mut i64 {
        if t.index() >= self.priorities.len() {
            self.priorities.resize(t.index() + 1, 0);
        }
        &mut self.priorities[t.index()]
    }
}

impl Policy for Pct {
    fn begin(&mut self, rng: &mut Rng) {
        self.priorities.clear();
        self.changes.clear();
        if self.steps > 0 {
            let steps = self.steps;
            self.changes.extend((1..self.depth).map(|_| 1 + rng.below(steps)));
        }
        (self.step, self.yields) = (0, 0);
    }

    fn pick(&mut self, view: &View<'_>, rng: &mut Rng) -> ThreadId {
        for t in view.live.iter() {
            let p = self.priority(t);
            if *p == 0 {
                *p = BASE + (rng.next() >> 2) as i64;
            }
        }
        let best = view.enabled.iter().max_by_key(|t| self.priorities[t.index()]);
        best.unwrap_or(ThreadId::MAIN)
    }

    fn ran(&mut self, event: &Executed<'_>) {
        self.step += 1;
        if event.op.kind == OpKind::Yield {
            self.yields -= 1;
            *self.priority(event.thread) = self.yields;
        }
        for i in 0..self.changes.len() {
            if self.changes[i] == self.step {
                *self.priority(event.thread) = i as i64 + 1;
            }
        }
    }

    fn ended(&mut self, trace: &Trace, view: &View<'_>) {
        self.steps = self.steps.max(trace.len() as u64);
        self.threads = self.threads.max(view.pending.len() as u64);
    }

    fn says(&self, executions: u64) -> String {
        let (d, n, k, p) = (self.depth, self.threads, self.steps, self.bound());
        // The first execution has no changes: it only measures.
        let seen = -f64::exp_m1(executions.saturating_sub(1) as f64 * f64::ln_1p(-p.min(1.0 - 1e-12)));
        format!(
            "pct: a bug of depth {d} shows in each execution with probability at least 1/(n k^{}) = {}, in all of \
             them together with {}, if no execution has more than n = {n} threads and k = {k} steps, the most so far, \
             and no thread yields",
            d - 1,
            short(p),
            short(seen)
        )
    }

    fn forget(&mut self) {
        *self = Pct::new(self.depth);
    }
}

/// A probability in few digits, never more than it is.
fn short(p: f64) -> String {
    if p >= 0.01 || p <= 0.0 {
        return format!("{:.3}", (p * 1000.0).floor() / 1000.0);
    }
    let exponent = p.log10().floor() as i32;
    let digits = (p * 10f64.powi(1 - exponent)).floor() / 10.0;
    format!("{digits:.1}e{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_stated_as_a_number() {
        let pct = Pct { threads: 3, steps: 20, ..Pct::new(3) };
        let says = pct.says(1_201);
        assert!(says.contains("1/(n k^2) = 8.3e-4"), "{says}");
        // 1 - (1 - 1/1200)^1200
        assert!(says.contains("together with 0.632"), "{says}");
        assert!(says.contains("n = 3 threads and k = 20 steps"), "{says}");
    }
}
