//! Blocks that are atomic become single steps (Lipton 1975; Qadeer's lectures: "tackling annotation explosion").
//!
//! A location can go, and each way through it become one step, if no thread needs to be interrupted there:
//! - *all steps into it are right movers*: each of them can be put off until the step after it. In a run that ends before that step, it
//!   can be left out: nothing that others did depends on it;
//! - or *all steps out of it are left movers, and one of them can always be taken*: each can be done right after the step before it.
//!   In a run that ends before that, it can be added, and moved there.
//!
//! So every error that some thread can reach is reached in a run without interruptions there, and what is done in one step was possible
//! in several. A deadlock in which a thread waits at the location would be lost (two locks taken the other way round are both right
//! movers), so where deadlocks count, a location at which a thread may wait stays.
//!
//! **Invariant:** a location goes only if one of the two rules holds of the steps as they are by then, and steps that were joined move
//! as their parts do ([`Mover::then`]). [`Merged::again`] checks a list of locations in the same way, and searches for nothing.

use crate::certificate::Certificate;
use crate::engines::Engine;
use crate::movers::{Mover, Movers};
use crate::outcome::{Options, Outcome, Trace, Unknown, Verdict};
use crate::races::{Locksets, locksets};
use model::{
    Action, Interpreter, LocationId, LocationKind, Program, Step, SyncId, SyncKind, ThreadId, Transition,
    TransitionId,
};
use std::collections::BTreeSet;

/// Steps of a thread that are one.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) from: LocationId,
    pub(crate) to: LocationId,
    pub(crate) mover: Mover,
    /// What it is made of, in order.
    pub(crate) parts: Vec<TransitionId>,
    /// Whether it touches nothing shared.
    local: bool,
    /// Whether it is about threads and not about data: others look for it by what it is.
    special: bool,
}

/// The steps of a thread while locations go.
pub(crate) struct Reducer<'p> {
    p: &'p Program,
    t: ThreadId,
    pub(crate) runs: Vec<Run>,
    /// Where the thread may wait.
    blocks: Vec<bool>,
}

impl<'p> Reducer<'p> {
    pub(crate) fn new(p: &'p Program, movers: &Movers, t: ThreadId) -> Reducer<'p> {
        let thread = p.thread(t);
        let run = |(n, e): (usize, &Transition)| {
            let id = TransitionId(n as u32);
            let local = e.action == Action::Local;
            let special = !matches!(
                e.action,
                Action::Local
                    | Action::Read
                    | Action::Write
                    | Action::Update
                    | Action::CompareExchange { .. }
                    | Action::Atomic
                    | Action::Lock(_)
                    | Action::Unlock(_)
                    | Action::ReadLock(_)
                    | Action::ReadUnlock(_)
                    | Action::WriteLock(_)
                    | Action::WriteUnlock(_)
            );
            Run { from: e.from, to: e.to, mover: movers.step(t, id), parts: vec![id], local, special }
        };
        Reducer {
            p,
            t,
            runs: thread.transitions.iter().enumerate().map(run).collect(),
            blocks: thread.locations.iter().map(|l| l.may_block).collect(),
        }
    }

    /// How many runs lead into a location, and out of it.
    pub(crate) fn degree(&self, l: LocationId) -> (usize, usize) {
        (self.runs.iter().filter(|r| r.to == l).count(), self.runs.iter().filter(|r| r.from == l).count())
    }

    /// Whether a location can go.
    pub(crate) fn may_go(&self, l: LocationId, deadlocks: bool) -> bool {
        let thread = self.p.thread(self.t);
        let (into, out) = self.degree(l);
        if l == thread.entry
            || l.index() >= thread.locations.len()
            || thread.location(l).kind != LocationKind::Normal
            || into == 0
            || out == 0
            || self.runs.iter().any(|r| r.from == l && r.to == l)
        {
            return false;
        }
        let special = |f: &dyn Fn(&Run) -> bool| self.runs.iter().any(|r| f(r) && r.special);
        let local = |f: &dyn Fn(&Run) -> bool| self.runs.iter().filter(|r| f(r)).all(|r| r.local);
        let (into, out) = (|r: &Run| r.to == l, |r: &Run| r.from == l);
        if special(&into) && !local(&out) || special(&out) && !local(&into) {
            return false;
        }
        let blocks = self.blocks[l.index()];
        let right =
            self.runs.iter().filter(|r| r.to == l).all(|r| matches!(r.mover, Mover::Both | Mover::Right));
        let left =
            self.runs.iter().filter(|r| r.from == l).all(|r| matches!(r.mover, Mover::Both | Mover::Left));
        right && !(deadlocks && blocks) || left && !blocks
    }

    /// Lets a location go; the runs that come of it, each with the two that it is made of.
    pub(crate) fn let_go(&mut self, l: LocationId) -> Vec<(usize, usize)> {
        let of = |f: &dyn Fn(&Run) -> bool| -> Vec<usize> {
            (0..self.runs.len()).filter(|n| f(&self.runs[*n])).collect()
        };
        let (into, out) = (of(&|r| r.to == l), of(&|r| r.from == l));
        let mut pairs = Vec::new();
        let mut made = Vec::new();
        for a in &into {
            for b in &out {
                let (x, y) = (&self.runs[*a], &self.runs[*b]);
                let parts = x.parts.iter().chain(&y.parts).copied().collect();
                made.push(Run {
                    from: x.from,
                    to: y.to,
                    mover: x.mover.then(y.mover),
                    parts,
                    local: x.local && y.local,
                    special: x.special || y.special,
                });
                pairs.push((*a, *b));
                if self.blocks[l.index()] {
                    self.blocks[x.from.index()] = true;
                }
            }
        }
        let mut n = 0;
        self.runs.retain(|_| {
            n += 1;
            !into.contains(&(n - 1)) && !out.contains(&(n - 1))
        });
        self.runs.extend(made);
        pairs
    }
}

/// Whether locks are only given back by who has them, so that what is known of who holds what is true.
pub(crate) fn locks_follow_rules(p: &Program, locks: &Locksets) -> bool {
    p.thread_ids().all(|t| {
        p.thread(t).transitions.iter().all(|e| {
            if matches!(p.thread(t).location(e.to).kind, LocationKind::Error { .. }) {
                return true;
            }
            let held = |s: SyncId| locks.held(t, e.from).contains_key(&s);
            let asked = |s: SyncId| match p.sync(s).kind {
                SyncKind::Mutex { owner } => p.terms.mentions(e.guard, owner),
                SyncKind::RwLock { writer, .. } => {
                    matches!(e.action, Action::WriteUnlock(_)) && p.terms.mentions(e.guard, writer)
                }
                _ => false,
            };
            match e.action {
                Action::Unlock(s) | Action::WriteUnlock(s) | Action::ReadUnlock(s) => held(s) || asked(s),
                Action::Wait { mutex, .. } => held(mutex) || asked(mutex),
                // Who sets a lock up again takes it away from whoever has it.
                Action::SyncInit(s)
                    if matches!(p.sync(s).kind, SyncKind::Mutex { .. } | SyncKind::RwLock { .. }) =>
                {
                    t == ThreadId(0) && !may_have_company(p, t, e.from)
                }
                _ => true,
            }
        })
    })
}

/// Whether there may be other threads when one is at a location.
fn may_have_company(p: &Program, t: ThreadId, at: LocationId) -> bool {
    if p.thread_ids().any(|u| u != t && p.thread(u).life.is_none()) {
        return true;
    }
    let thread = p.thread(t);
    let creates = |e: &&Transition| matches!(e.action, Action::Create(_));
    let mut open: Vec<LocationId> = thread.transitions.iter().filter(creates).map(|e| e.to).collect();
    let mut seen: BTreeSet<LocationId> = open.iter().copied().collect();
    while let Some(l) = open.pop() {
        open.extend(thread.from(l).map(|(_, e)| e.to).filter(|l| seen.insert(*l)));
    }
    seen.contains(&at)
}

/// A program with blocks in one step, and the way back.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The program. Its threads have the same locations, some of which nothing leads to.
    pub program: Program,
    /// The locations that went, in order.
    pub gone: Vec<(ThreadId, LocationId)>,
    /// By thread and transition: what it is made of.
    parts: Vec<Vec<Vec<TransitionId>>>,
}

/// Not more than so many transitions for each that there was.
const GROWTH: usize = 2;

impl Merged {
    /// The program with as many locations gone as may go.
    ///
    /// ```
    /// let text = "typedef struct { int d; } pthread_mutex_t; typedef unsigned long pthread_t; int x; pthread_mutex_t m;
    ///     void *f(void *p) { pthread_mutex_lock(&m); x = x + 1; pthread_mutex_unlock(&m); return 0; }
    ///     int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, f, 0); return 0; }";
    /// let program = model::read_text("f.c", text, &model::Options::default()).unwrap();
    /// let merged = verify::Merged::of(&program, false);
    /// let steps = |p: &model::Program| p.threads[1].transitions.len();
    /// assert!(steps(&merged.program) < steps(&program));
    /// ```
    pub fn of(p: &Program, deadlocks: bool) -> Merged {
        let found = Merged::make(p, deadlocks, None);
        // Made again from the list alone, so that it is the same program, term by term, for who checks it.
        let again = found.and_then(|m| Merged::make(p, deadlocks, Some(&m.gone)));
        again.unwrap_or_else(|_| Merged::unchanged(p))
    }

    /// The program with these locations gone, if they may go in this order.
    pub fn again(p: &Program, deadlocks: bool, gone: &[(ThreadId, LocationId)]) -> Result<Merged, String> {
        Merged::make(p, deadlocks, Some(gone))
    }

    fn unchanged(p: &Program) -> Merged {
        let one =
            |t: &model::Thread| (0..t.transitions.len() as u32).map(|n| vec![TransitionId(n)]).collect();
        Merged { program: p.clone(), gone: Vec::new(), parts: p.threads.iter().map(one).collect() }
    }

    fn make(
        p: &Program,
        deadlocks: bool,
        given: Option<&[(ThreadId, LocationId)]>,
    ) -> Result<Merged, String> {
        let mut out = Merged::unchanged(p);
        let locks = locksets(p);
        if given.is_some_and(|g| g.is_empty()) {
            return Ok(out);
        }
        if !locks_follow_rules(p, &locks) {
            return Err("locks are given back by those who may not have them".to_owned());
        }
        let movers = Movers::of(p, &locks);
        for t in p.thread_ids() {
            let mut reducer = Reducer::new(p, &movers, t);
            let mut edges: Vec<Transition> = p.thread(t).transitions.clone();
            let most = GROWTH * edges.len().max(4);
            let mut stay = vec![false; p.thread(t).locations.len()];
            let mut listed = given.map(|g| g.iter().filter(|g| g.0 == t).map(|g| g.1));
            loop {
                let next = match &mut listed {
                    Some(list) => list.next(),
                    None => {
                        let fits = |l: &LocationId| {
                            let (into, out) = reducer.degree(*l);
                            !stay[l.index()]
                                && (into <= 1 || out <= 1 || into * out <= into + out)
                                && edges.len() + into * out <= most + into + out
                                && reducer.may_go(*l, deadlocks)
                        };
                        let cost = |l: &LocationId| {
                            let (into, out) = reducer.degree(*l);
                            (p.thread(t).location(*l).loop_head, into * out)
                        };
                        p.thread(t).location_ids().filter(fits).min_by_key(cost)
                    }
                };
                let Some(l) = next else { break };
                if !reducer.may_go(l, deadlocks) {
                    return Err(format!(
                        "location {} of `{}` is one at which others may come",
                        l.0,
                        p.thread(t).name
                    ));
                }
                match joined(&mut out.program, &reducer, &edges, l) {
                    Some(made) => {
                        reducer.let_go(l);
                        edges.retain(|e| e.from != l && e.to != l);
                        edges.extend(made);
                        out.gone.push((t, l));
                    }
                    None if listed.is_some() => {
                        return Err(format!(
                            "the steps through location {} of `{}` are not one",
                            l.0,
                            p.thread(t).name
                        ));
                    }
                    None => stay[l.index()] = true,
                }
            }
            let blocks: Vec<LocationId> =
                p.thread(t).location_ids().filter(|l| reducer.blocks[l.index()]).collect();
            let mut both: Vec<(Transition, Vec<TransitionId>)> =
                edges.into_iter().zip(reducer.runs.into_iter().map(|r| r.parts)).collect();
            both.retain(|(e, _)| out.program.terms.as_const(e.guard) != Some(0));
            let (edges, parts) = both.into_iter().unzip();
            out.program.with_transitions(t, edges, &blocks);
            out.parts[t.index()] = parts;
        }
        Ok(out)
    }

    /// A run of the program as one of the program as it was.
    pub fn expanded(&self, original: &Program, steps: &[Step]) -> Result<Vec<Step>, String> {
        let run = Interpreter::new(&self.program);
        let own = Interpreter::new(original);
        let states = run.replay(steps).map_err(|e| e.to_string())?;
        let mut out = Vec::new();
        for (n, step) in steps.iter().enumerate() {
            let mut state = states[n].clone();
            for part in &self.parts[step.thread.index()][step.transition.index()] {
                let e = original.thread(step.thread).transition(*part);
                // An input that nothing in the block reads again is what it is in the end, or does not matter.
                let inputs = e
                    .havoc
                    .iter()
                    .map(|h| own.place_cell(&state, *h).map_or(0, |c| states[n + 1].values[c]))
                    .collect();
                let small = Step { thread: step.thread, transition: *part, inputs };
                if !own.holds(&state, e) {
                    return Err("a step of a block cannot be taken".to_owned());
                }
                state = own.take(&state, &small);
                out.push(small);
            }
            if state != states[n + 1] {
                return Err("a block does not lead where its steps do".to_owned());
            }
        }
        Ok(out)
    }
}

/// The transitions that come of a location that goes, in the order of [`Reducer::let_go`].
fn joined(
    p: &mut Program,
    reducer: &Reducer<'_>,
    edges: &[Transition],
    l: LocationId,
) -> Option<Vec<Transition>> {
    let mut made = Vec::new();
    debug_assert!(edges.len() == reducer.runs.len());
    for a in edges.iter().filter(|e| e.to == l) {
        for b in edges.iter().filter(|e| e.from == l) {
            made.push(p.in_one(a, b)?);
        }
    }
    Some(made)
}

/// An engine on the program with blocks in one step.
pub struct Merging(pub Box<dyn Engine>);

impl Engine for Merging {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let merged = Merged::of(program, options.deadlocks);
        // Schedules are about the steps of the program itself, so whoever makes them gets those.
        if merged.gone.is_empty() || self.0.name() == "imc" {
            return self.0.verify(program, options);
        }
        let mut out = self.0.verify(&merged.program, options);
        let back = |trace: &Trace| match merged.expanded(program, &trace.steps) {
            Ok(steps) => Verdict::of_trace(program, steps),
            Err(why) => Verdict::Unknown(Unknown::Mistake(why)),
        };
        out.verdict = match out.verdict {
            Verdict::Safe(inner) => {
                Verdict::Safe(Certificate::Merged { gone: merged.gone.clone(), inner: Box::new(inner) })
            }
            Verdict::Unsafe(trace) => back(&trace),
            Verdict::Unknown(Unknown::Bound(trace)) => back(&trace),
            Verdict::PartiallySafe { .. } => return self.0.verify(program, options),
            unknown => unknown,
        };
        out
    }
}
