//! Checks schedules. This is what running under a schedule rests on, so it is small and shares no code with the engine that finds them.
//!
//! Every run under a schedule that passes is at a node whose label holds of its state: the first state is one of the first node, and a
//! step from a state of a node leads to one of the next. So it never goes wrong; where somebody is left a thread is allowed that can
//! go, in every state, so it never waits for ever; and a thread that can go again and again goes again and again, as no way round leaves
//! it out. Inputs and branches are never constrained: all steps of a thread that is allowed are.

use crate::budget::{Budget, Meter};
use crate::checker::{Formulas, Refuted, refuted};
use crate::outcome::Schedule;
use model::{LocationKind, Program, Term, Thread, ThreadId};
use std::collections::HashSet;

/// Whether every run of a program under a schedule is safe, without deadlock, and fair.
pub fn check_schedule(program: &Program, schedule: &Schedule) -> Result<(), Refuted> {
    schedule_within(program, schedule, false, Meter::new(Budget::default()))
}

/// The same within a time. Where `stuck` is asked for, no thread is left waiting for ever while others run on either.
pub(crate) fn schedule_within(
    program: &Program,
    schedule: &Schedule,
    stuck: bool,
    meter: Meter,
) -> Result<(), Refuted> {
    let mut f = Formulas::new(program, &schedule.terms, meter);
    f.continues()?;
    for n in &schedule.nodes {
        f.well_formed(&n.locations, n.label)?;
    }
    let Some(first) = schedule.nodes.first() else { return refuted("there is no first node") };
    if program.threads.iter().map(|t| t.entry).ne(first.locations.iter().copied())
        || !f.holds_first(first.label)
    {
        return refuted("the first state is not one of the first node");
    }
    for (number, n) in schedule.nodes.iter().enumerate() {
        let kind = |t: ThreadId| &program.thread(t).location(n.locations[t.index()]).kind;
        let error = program.thread_ids().any(|t| matches!(kind(t), LocationKind::Error { .. }));
        if error && f.can_hold(&[n.label])? {
            return refuted(format!("an error is reached at node {number}"));
        }
        if stuck && f.may_be_stuck(&n.locations, n.label)? {
            return refuted(format!("some threads may wait for ever at node {number}"));
        }
        let mut seen = HashSet::new();
        for (thread, transition, to) in &n.next {
            let Some(t) = program.threads.get(thread.index()) else {
                return refuted("there is no such thread");
            };
            let Some(e) = t.transitions.get(transition.index()) else {
                return refuted("there is no such transition");
            };
            let Some(w) = schedule.nodes.get(*to) else { return refuted("a step leads to no node") };
            let mut after = n.locations.clone();
            after[thread.index()] = e.to;
            if e.from != n.locations[thread.index()] || w.locations != after {
                return refuted(format!("a step of node {number} leads to another place"));
            }
            if !seen.insert((*thread, *transition)) {
                return refuted(format!("a step of node {number} leads to two nodes"));
            }
            if !f.leads_to(n.label, e, w.label)? {
                return refuted(format!(
                    "`{}` from node {number} leaves the label of node {to}",
                    program.show_transition(e)
                ));
            }
        }
        let allowed: HashSet<ThreadId> = n.next.iter().map(|e| e.0).collect();
        for thread in &allowed {
            let here = n.locations[thread.index()];
            for (id, e) in
                program.thread(*thread).from(here).filter(|(id, _)| !seen.contains(&(*thread, *id)))
            {
                let never = f.terms.boolean(false);
                if !f.leads_to(n.label, e, never)? {
                    return refuted(format!(
                        "transition {} of thread {thread} is constrained at node {number}",
                        id.0
                    ));
                }
            }
            let can = can_go(&mut f, program, *thread, n.locations[thread.index()]);
            if !f.implies(n.label, can)? {
                return refuted(format!("thread {thread} may have to wait at node {number}"));
            }
        }
        if allowed.is_empty() && !is_end(&mut f, program, schedule, number)? {
            return refuted(format!("nobody is allowed at node {number}"));
        }
    }
    fair(&mut f, program, schedule)
}

/// That a thread can go from a location; not that it could wake up for no reason.
fn can_go(f: &mut Formulas<'_>, p: &Program, thread: ThreadId, at: model::LocationId) -> Term {
    let edges = p.thread(thread).from(at).filter(|(_, e)| !e.action.is_spurious());
    let guards: Vec<Term> = edges.map(|(_, e)| e.guard).collect();
    f.terms.any(guards)
}

/// Whether nobody need be allowed: the program is over, nobody is left, or no run comes here.
fn is_end(f: &mut Formulas<'_>, p: &Program, s: &Schedule, number: usize) -> Result<bool, Refuted> {
    let n = &s.nodes[number];
    let kind = |t: ThreadId| &p.thread(t).location(n.locations[t.index()]).kind;
    if p.thread_ids().any(|t| matches!(kind(t), LocationKind::Exit | LocationKind::Halt)) {
        return Ok(true);
    }
    let mut live = Vec::new();
    for t in p.thread_ids().filter(|t| matches!(kind(*t), LocationKind::Normal)) {
        live.push(match p.thread(t).life {
            None => f.terms.boolean(true),
            Some(life) => {
                let ty = p.var(life).ty;
                let (now, unborn) = (f.terms.var(life, ty), f.terms.constant(Thread::UNBORN, ty));
                f.terms.ne(now, unborn)
            }
        });
    }
    let some = f.terms.any(live);
    Ok(!f.can_hold(&[n.label, some])?)
}

/// Whether no way round leaves out a thread that can go somewhere on it.
fn fair(f: &mut Formulas<'_>, p: &Program, s: &Schedule) -> Result<(), Refuted> {
    for thread in p.thread_ids() {
        for (number, n) in s.nodes.iter().enumerate() {
            let (mut seen, mut stack) = (HashSet::new(), vec![number]);
            let mut round = false;
            while let Some(m) = stack.pop() {
                for e in s.nodes[m].next.iter().filter(|e| e.0 != thread) {
                    round |= e.2 == number;
                    if seen.insert(e.2) {
                        stack.push(e.2);
                    }
                }
            }
            let can = can_go(f, p, thread, n.locations[thread.index()]);
            if round && f.can_hold(&[n.label, can])? {
                return refuted(format!("a way round from node {number} leaves out thread {thread}"));
            }
        }
    }
    Ok(())
}
