//! Source-DPOR that counts what it would ask without clocks (Metzler 2020, section 3.1 and appendix A).
//!
//! The search is [`SourceSets`]; only `dependency_checks` is another number. An implementation that keeps no clocks asks of pairs of
//! steps whether they depend on each other, again each time: whether a step happens before another one, it finds by following
//! dependent pairs from the first. Two steps are asked for by
//!
//! - each new step with each earlier one of another thread, and each sleeper with the step that is taken;
//! - for each such pair that is dependent, each step between them in turn until one is after the first and before the second: that
//!   would be no race;
//! - for each race, each step between once more: which are before the second (those must run for it to be enabled), and which are not
//!   after the first (those come before it when the race is reversed);
//! - and each first step of a thread in that reversal: whether another one there is before it, or its thread may begin.
//!
//! That two steps of one thread are ordered is known without asking. What is found last is followed first. The thesis does not say what
//! it follows first: where there is no choice the numbers are the same, else it may have others.

use crate::explorer::{End, View};
use crate::footprint::Footprint;
use crate::ids::{ThreadId, ThreadSet};
use crate::reductions::source::SourceSets;
use crate::search::{Core, Reduction};

/// Source sets, counted pair by pair.
#[derive(Default)]
pub(crate) struct Pairwise {
    source: SourceSets,
    steps: Steps,
    reversal: Vec<usize>,
}

/// The steps of the execution at hand, and what was asked of them.
#[derive(Default)]
struct Steps {
    steps: Vec<Footprint>,
    all: Vec<usize>,
    found: Vec<usize>,
    seen: Vec<bool>,
    asked: u64,
}

impl Steps {
    /// A step that was just run as the so many-th.
    fn put(&mut self, at: usize, step: Footprint) {
        self.steps.truncate(at);
        self.steps.push(step);
        self.all.clear();
        self.all.extend(0..=at);
    }

    fn thread(&self, x: usize) -> ThreadId {
        self.steps[x].thread
    }

    /// Whether two steps of different threads depend on each other.
    fn depend(&mut self, x: usize, y: usize) -> bool {
        self.asked += 1;
        self.steps[x].conflicts(&self.steps[y])
    }

    /// Whether `x` happens before `y`, in the whole execution.
    fn before(&mut self, x: usize, y: usize) -> bool {
        let all = std::mem::take(&mut self.all);
        let before = self.before_in(&all[..=y], x, y);
        self.all = all;
        before
    }

    /// The same in a part of it.
    fn before_in(&mut self, part: &[usize], x: usize, y: usize) -> bool {
        if self.thread(x) == self.thread(y) {
            return true;
        }
        self.seen.clear();
        self.seen.resize(y + 1, false);
        self.found.clear();
        self.found.push(x);
        while let Some(from) = self.found.pop() {
            for &to in part.iter().filter(|to| (from + 1..=y).contains(to)) {
                let related =
                    !self.seen[to] && (self.thread(from) == self.thread(to) || self.depend(from, to));
                if related && to == y {
                    return true;
                }
                if related {
                    self.seen[to] = true;
                    self.found.push(to);
                }
            }
        }
        false
    }
}

impl Pairwise {
    /// Asks all that there is to ask when the step with number `f` has run. What a new step and an earlier one are asked first is
    /// counted by [`SourceSets`].
    fn ask(&mut self, f: usize) {
        let s = &mut self.steps;
        for e in 0..f {
            if s.thread(e) == s.thread(f) || !s.steps[e].conflicts(&s.steps[f]) {
                continue;
            }
            if (e + 1..f).any(|k| s.before(e, k) && s.before(k, f)) {
                continue;
            }
            self.reversal.clear();
            for k in e + 1..f {
                s.before(k, f);
                if !s.before(e, k) {
                    self.reversal.push(k);
                }
            }
            self.reversal.push(f);
            let mut threads = ThreadSet::EMPTY;
            for (n, &k) in self.reversal.iter().enumerate() {
                if threads.insert(s.thread(k)) {
                    self.reversal[..n].iter().any(|&j| s.before_in(&self.reversal, j, k));
                }
            }
        }
    }
}

impl Reduction for Pairwise {
    fn sleeps(&self) -> bool {
        self.source.sleeps()
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        self.source.enter(core, view)
    }

    fn ran(&mut self, core: &mut Core, f: usize) {
        self.steps.put(f, Footprint::of(&core.trace, f));
        self.ask(f);
        core.stats.dependency_checks += std::mem::take(&mut self.steps.asked);
        self.source.ran(core, f);
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, end: End) {
        self.source.ended(core, view, end);
    }
}
