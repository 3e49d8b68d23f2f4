//! What threads may still do: the variables that the transitions from a location on read and write.

use model::{LocationId, Program, ThreadId, Transition, VarId};

/// Variables that are read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    reads: Vec<bool>,
    writes: Vec<bool>,
}

impl Touched {
    fn none(p: &Program) -> Touched {
        Touched { reads: vec![false; p.vars.len()], writes: vec![false; p.vars.len()] }
    }

    fn add(&mut self, other: &Touched) -> bool {
        let mut grown = false;
        let pairs = self.reads.iter_mut().zip(&other.reads).chain(self.writes.iter_mut().zip(&other.writes));
        for (a, b) in pairs {
            grown |= *b && !*a;
            *a |= *b;
        }
        grown
    }

    /// What one transition touches, shared or local.
    fn by(p: &Program, t: &Transition) -> Touched {
        let mut out = Touched::none(p);
        let mut read = |term| p.terms.places(term, &mut |q| out.reads[q.var.index()] = true);
        read(t.guard);
        t.assigns.iter().for_each(|a| read(a.value));
        let places = || t.assigns.iter().map(|a| &a.place).chain(&t.havoc);
        places().filter_map(|q| q.index).for_each(&mut read);
        places().for_each(|q| out.writes[q.var.index()] = true);
        out
    }

    /// Whether one writes what the other touches.
    pub(crate) fn conflicts(&self, other: &Touched) -> bool {
        let each = |a: &[bool], b: &[bool]| a.iter().zip(b).any(|(a, b)| *a && *b);
        each(&self.writes, &other.writes)
            || each(&self.writes, &other.reads)
            || each(&self.reads, &other.writes)
    }

    pub(crate) fn writes(&self, v: VarId) -> bool {
        self.writes[v.index()]
    }
}

/// For each location of each thread.
pub(crate) struct Futures {
    /// What the transitions from there touch.
    next: Vec<Vec<Touched>>,
    /// What all transitions that can follow touch.
    later: Vec<Vec<Touched>>,
}

impl Futures {
    pub(crate) fn new(p: &Program) -> Futures {
        let (mut next, mut later) = (Vec::new(), Vec::new());
        for thread in &p.threads {
            let mut here = vec![Touched::none(p); thread.locations.len()];
            for t in &thread.transitions {
                here[t.from.index()].add(&Touched::by(p, t));
            }
            let mut all = here.clone();
            loop {
                let mut grown = false;
                for t in &thread.transitions {
                    let after = all[t.to.index()].clone();
                    grown |= all[t.from.index()].add(&after);
                }
                if !grown {
                    break;
                }
            }
            next.push(here);
            later.push(all);
        }
        Futures { next, later }
    }

    /// Whether the next steps of a thread at a location commute with a step of another one.
    pub(crate) fn commutes_with(
        &self,
        p: &Program,
        thread: ThreadId,
        at: LocationId,
        step: &Transition,
    ) -> bool {
        !self.next[thread.index()][at.index()].conflicts(&Touched::by(p, step))
    }

    /// Whether the next steps of a thread commute with all that the others may do before them, in any number. `unborn` says that a
    /// thread is certainly not made yet.
    pub(crate) fn commutes(
        &self,
        p: &Program,
        at: &[LocationId],
        thread: ThreadId,
        mut unborn: impl FnMut(ThreadId) -> bool,
    ) -> bool {
        let next = &self.next[thread.index()][at[thread.index()].index()];
        let later = |u: ThreadId| &self.later[u.index()][at[u.index()].index()];
        p.thread_ids().filter(|u| *u != thread).all(|u| {
            // Who is not made yet does nothing before, if nobody else makes it.
            let made_by_others =
                |life: VarId| p.thread_ids().any(|w| w != thread && w != u && later(w).writes(life));
            let waits = p.thread(u).life.is_some_and(|life| !made_by_others(life)) && unborn(u);
            waits || !next.conflicts(later(u))
        })
    }
}
