//! Schedules in sections: of the order in which a schedule lets threads go, only what matters (Metzler 2020, section 5.2).
//!
//! A [`Schedule`] allows one step after the other, and mostly one thread at a time. Steps that commute need not wait for each other. A
//! *section* is a way through the nodes of a schedule on which nothing is decided; its steps keep the order of those that depend on
//! each other, and of each thread, and no other. Where a way ends, a branch of one thread decides which section comes next, after all
//! steps of this one.
//!
//! Every run that keeps to sections is one of the schedule, up to the order of steps that commute. So it is safe as well. Fair it is too:
//! where a schedule allows several threads one is chosen, and ways round are fewer.

use crate::outcome::Schedule;
use crate::traces::dependence;
use model::{Program, ThreadId, TransitionId};
use std::collections::BTreeSet;

/// A schedule in sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sections {
    /// The sections.
    pub all: Vec<Section>,
    /// Those that a run can begin with. They differ in the transition by which one thread begins.
    pub first: Vec<usize>,
}

/// A part of a schedule within which nothing is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The node of the schedule from which it leads.
    pub from: usize,
    /// The node to which it leads.
    pub to: usize,
    /// Its steps, in the order of the schedule. The first one tells it from others that begin at the same node.
    pub events: Vec<SectionEvent>,
    /// Those that can come next. Nothing comes after the end of the program.
    pub next: Vec<usize>,
}

/// A step of a [`Section`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionEvent {
    /// Whose.
    pub thread: ThreadId,
    /// Along which transition.
    pub transition: TransitionId,
    /// The steps of other threads that it has to wait for, as indices, but for those that follow from others. Its own thread's steps
    /// before it come before it anyway.
    pub after: Vec<usize>,
}

impl Sections {
    /// The sections of a schedule.
    pub fn of(program: &Program, schedule: &Schedule) -> Sections {
        // Besides the first node and branches some nodes have to begin sections: where nothing is decided all around.
        let mut cut = BTreeSet::from([0]);
        loop {
            match Sections::between(program, schedule, &cut) {
                Ok(sections) => return sections,
                Err(node) => cut.insert(node),
            };
        }
    }

    /// The sections between these nodes and branches; or a node at which one goes round.
    fn between(program: &Program, schedule: &Schedule, cut: &BTreeSet<usize>) -> Result<Sections, usize> {
        let mut starts = vec![0];
        let (mut all, mut begins): (Vec<Section>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
        let mut n = 0;
        while n < starts.len() {
            let mut here = Vec::new();
            for step in chosen(schedule, starts[n]) {
                let (mut steps, mut seen) = (vec![(step.0, step.1)], BTreeSet::from([starts[n]]));
                let mut at = step.2;
                while let [(thread, transition, to)] = chosen(schedule, at)[..]
                    && !cut.contains(&at)
                {
                    if !seen.insert(at) {
                        return Err(at);
                    }
                    steps.push((thread, transition));
                    at = to;
                }
                if !starts.contains(&at) {
                    starts.push(at);
                }
                here.push(all.len());
                let events = ordered(program, &steps);
                all.push(Section { from: starts[n], to: at, events, next: Vec::new() });
            }
            begins.push(here);
            n += 1;
        }
        for s in &mut all {
            let at = starts.iter().position(|n| *n == s.to);
            s.next = at.map(|n| begins[n].clone()).unwrap_or_default();
        }
        Ok(Sections { all, first: begins.swap_remove(0) })
    }

    /// The sections that can come next, if the one before is over: the one whose first step the program takes does.
    pub fn choices(&self, run: &InSections) -> &[usize] {
        match (run.section, run.last) {
            (Some(_), _) => &[],
            (None, Some(last)) => &self.all[last].next,
            (None, None) => &self.first,
        }
    }

    /// A section begins.
    pub fn begin(&self, run: &mut InSections, section: usize) {
        debug_assert!(self.choices(run).contains(&section), "it can come next");
        run.section = Some(section);
        run.done = vec![false; self.all[section].events.len()];
    }

    /// Who may go, and along which transition.
    pub fn free(&self, run: &InSections) -> Vec<(ThreadId, TransitionId)> {
        let events = run.section.map_or(&[][..], |s| &self.all[s].events);
        let mut seen = BTreeSet::new();
        let mut out = Vec::new();
        for (_, e) in events.iter().enumerate().filter(|(n, _)| !run.done[*n]) {
            if seen.insert(e.thread) && e.after.iter().all(|m| run.done[*m]) {
                out.push((e.thread, e.transition));
            }
        }
        out
    }

    /// A thread has taken its next step.
    pub fn went(&self, run: &mut InSections, thread: ThreadId) {
        let Some(section) = run.section else { return };
        let events = self.all[section].events.iter();
        if let Some(n) = events.zip(&run.done).position(|(e, done)| e.thread == thread && !done) {
            run.done[n] = true;
        }
        if run.done.iter().all(|d| *d) {
            *run = InSections { last: Some(section), ..InSections::default() };
        }
    }
}

/// The steps of the thread that goes at a node: of several the first one.
fn chosen(schedule: &Schedule, node: usize) -> Vec<(ThreadId, TransitionId, usize)> {
    let next = &schedule.nodes[node].next;
    next.iter().filter(|e| e.0 == next[0].0).copied().collect()
}

/// Steps with the order that they have to keep.
fn ordered(program: &Program, steps: &[(ThreadId, TransitionId)]) -> Vec<SectionEvent> {
    let mut terms = program.terms.clone();
    let never = terms.boolean(false);
    let step = |n: usize| program.thread(steps[n].0).transition(steps[n].1);
    let mut before: Vec<Vec<bool>> = Vec::new();
    let mut out = Vec::new();
    for (n, (thread, transition)) in steps.iter().enumerate() {
        let (mut all, mut after) = (vec![false; steps.len()], Vec::new());
        // The own step before it first, then what is nearer: what follows from these is left out.
        let own = (0..n).rev().find(|m| steps[*m].0 == *thread);
        for m in own.into_iter().chain((0..n).rev()) {
            let waits = steps[m].0 == *thread || dependence(program, &mut terms, step(m), step(n)) != never;
            if !waits || all[m] {
                continue;
            }
            if steps[m].0 != *thread {
                after.push(m);
            }
            all[m] = true;
            all.iter_mut().zip(&before[m]).for_each(|(a, b)| *a |= b);
        }
        after.reverse();
        out.push(SectionEvent { thread: *thread, transition: *transition, after });
        before.push(all);
    }
    out
}

/// Where a run is that keeps to [`Sections`]; at first at its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InSections {
    /// The section that was over last.
    last: Option<usize>,
    /// The one that has begun.
    section: Option<usize>,
    /// Which of its steps are over.
    done: Vec<bool>,
}
