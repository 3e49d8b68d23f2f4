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
use crate::traces::{Orders, dependence};
use model::{Accesses, Program, Terms, ThreadId, TransitionId};
use std::collections::{BTreeSet, HashMap};

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

/// A way through a schedule on which nothing is decided.
struct Way {
    from: usize,
    to: usize,
    steps: Vec<(ThreadId, TransitionId)>,
}

impl Sections {
    /// The sections of a schedule.
    pub fn of(program: &Program, schedule: &Schedule) -> Sections {
        // Besides the first node and branches some nodes have to begin sections: where nothing is decided all around.
        let (mut cut, meet) = (BTreeSet::from([0]), meeting(schedule));
        let (starts, ways) = loop {
            match Sections::ways(schedule, &cut) {
                Ok((_, ways)) if is_long(schedule, &ways) && !meet.is_subset(&cut) => {
                    // Ways that meet go on together then.
                    cut.extend(&meet);
                }
                Ok(found) => break found,
                Err(node) => {
                    cut.insert(node);
                }
            }
        };
        let begins =
            |node: usize| -> Vec<usize> { (0..ways.len()).filter(|w| ways[*w].from == node).collect() };
        let begins: HashMap<usize, Vec<usize>> =
            starts.into_iter().map(|node| (node, begins(node))).collect();
        let mut terms = program.terms.clone();
        let section = |w: &Way| Section {
            from: w.from,
            to: w.to,
            events: ordered(program, &mut terms, &w.steps),
            next: begins[&w.to].clone(),
        };
        Sections { all: ways.iter().map(section).collect(), first: begins[&0].clone() }
    }

    /// The nodes at which sections begin or end, and the ways between them; or a node at which a way goes round. Some nodes must begin
    /// sections; branches do.
    fn ways(schedule: &Schedule, cut: &BTreeSet<usize>) -> Result<(Vec<usize>, Vec<Way>), usize> {
        let (mut starts, mut known, mut ways) = (vec![0], BTreeSet::from([0]), Vec::new());
        let mut n = 0;
        while n < starts.len() {
            for (thread, transition, first) in chosen(schedule, starts[n]) {
                let (mut steps, mut seen, mut at) = (vec![(thread, transition)], BTreeSet::new(), first);
                while let [(thread, transition, to)] = chosen(schedule, at)[..]
                    && !cut.contains(&at)
                {
                    if !seen.insert(at) {
                        return Err(at);
                    }
                    steps.push((thread, transition));
                    at = to;
                }
                if known.insert(at) {
                    starts.push(at);
                }
                ways.push(Way { from: starts[n], to: at, steps });
            }
            n += 1;
        }
        Ok((starts, ways))
    }

    /// A run at its beginning.
    pub fn start(&self) -> InSections {
        self.after(None)
    }

    /// A run at the end of a section, or at its beginning. Where nothing is decided the next one begins.
    fn after(&self, last: Option<usize>) -> InSections {
        let mut run = InSections { last, section: None, done: Vec::new() };
        if let [next] = *self.next(&run) {
            run = InSections {
                last: None,
                section: Some(next),
                done: vec![false; self.all[next].events.len()],
            };
        }
        run
    }

    /// The sections of which one comes next.
    fn next(&self, run: &InSections) -> &[usize] {
        run.last.map_or(&self.first, |last| &self.all[last].next)
    }

    /// Who may go, and along which transition. Where a branch decides which section is next one thread may, along several. Nobody may
    /// when the program is over.
    pub fn free(&self, run: &InSections) -> Vec<(ThreadId, TransitionId)> {
        let Some(section) = run.section else {
            let first = |s: &usize| &self.all[*s].events[0];
            return self.next(run).iter().map(first).map(|e| (e.thread, e.transition)).collect();
        };
        let (mut seen, mut out) = (BTreeSet::new(), Vec::new());
        for (e, _) in self.all[section].events.iter().zip(&run.done).filter(|(_, done)| !**done) {
            if seen.insert(e.thread) && e.after.iter().all(|m| run.done[*m]) {
                out.push((e.thread, e.transition));
            }
        }
        out
    }

    /// A thread has taken a step that was free.
    pub fn went(&self, run: &mut InSections, thread: ThreadId, transition: TransitionId) {
        let begins = |s: &usize| self.all[*s].events[0].transition == transition;
        let next = || self.next(run).iter().copied().find(begins);
        let Some(section) = run.section.or_else(next) else {
            debug_assert!(false, "nobody may go, or not along this transition");
            return;
        };
        let events = &self.all[section].events;
        (run.last, run.section) = (None, Some(section));
        run.done.resize(events.len(), false);
        let next = events.iter().zip(&run.done).position(|(e, done)| e.thread == thread && !done);
        debug_assert!(next.is_some_and(|n| events[n].transition == transition), "it was free");
        if let Some(n) = next {
            run.done[n] = true;
        }
        if run.done.iter().all(|d| *d) {
            *run = self.after(Some(section));
        }
    }
}

/// Whether sections have many more steps than the schedule has: those of ways that have met are there for each of them.
fn is_long(schedule: &Schedule, ways: &[Way]) -> bool {
    ways.iter().map(|w| w.steps.len()).sum::<usize>() > 8 * schedule.nodes.len() + 1000
}

/// The nodes to which several steps lead.
fn meeting(schedule: &Schedule) -> BTreeSet<usize> {
    let mut into = vec![0; schedule.nodes.len()];
    for n in 0..schedule.nodes.len() {
        chosen(schedule, n).iter().for_each(|e| into[e.2] += 1);
    }
    (0..into.len()).filter(|n| into[*n] > 1).collect()
}

/// The steps of the thread that goes at a node: of several the first one.
fn chosen(schedule: &Schedule, node: usize) -> Vec<(ThreadId, TransitionId, usize)> {
    let next = &schedule.nodes[node].next;
    next.iter().filter(|e| e.0 == next[0].0).copied().collect()
}

/// Steps with the order that they have to keep.
fn ordered(program: &Program, terms: &mut Terms, steps: &[(ThreadId, TransitionId)]) -> Vec<SectionEvent> {
    let accesses: Vec<Accesses> =
        steps.iter().map(|(t, e)| program.accesses(program.thread(*t).transition(*e))).collect();
    let never = terms.boolean(false);
    let mut orders = Orders::new(program.threads.len());
    let mut out = Vec::new();
    for (n, (thread, transition)) in steps.iter().enumerate() {
        let mut after = Vec::new();
        // What is nearer first: what follows from it is left out.
        for m in orders.push(*thread, &accesses[n]) {
            if !orders.is_before(m, n) && dependence(terms, &accesses[m], &accesses[n]) != never {
                orders.add(m, n);
                after.push(m);
            }
        }
        after.reverse();
        out.push(SectionEvent { thread: *thread, transition: *transition, after });
    }
    out
}

/// Where a run is that keeps to [`Sections`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InSections {
    /// The section that was over last, if none has begun after it.
    last: Option<usize>,
    /// The one that has begun.
    section: Option<usize>,
    /// Which of its steps are over.
    done: Vec<bool>,
}
