//! Loops that may not end: fair cycles in the graph of all states.
//!
//! A cycle is *fair* if every thread that can take a step somewhere in it takes one in it (strong fairness), and if a thread that has a
//! choice in it has no choice that leads out of it. Spurious wake-ups are not steps here. A thread that runs in a fair cycle, inside a loop
//! that the source has a way out of, may never leave that loop. A loop without a way out, as servers have it, is meant to run for ever
//! and is not looked at.
//!
//! If no edge leads out of the strongly connected component of such a cycle, the loop does not end under any schedule: a livelock. Else
//! some fair schedules end it and others do not.
//!
//! Fair components are found as for Streett automata: states of a component that break fairness are removed, and what is left is
//! decomposed again.

use crate::budget::{Budget, Meter};
use crate::packed::StateSet;
use crate::races::locksets;
use model::{Action, LocationId, LocationKind, Program, Span, Stepper, Term, Thread, ThreadId, VarId};
use std::collections::BTreeSet;

/// The number of states up to which loops that look at nothing shared are followed.
const FEW_STATES: u64 = 20_000;

/// What is known about the end of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// From some reachable state on it does not end under any schedule.
    Never,
    /// Under some fair schedules it does not end.
    Sometimes,
    /// There are too many states to tell.
    Undecided,
}

/// A loop that may not end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndlessLoop {
    /// What is known about its end.
    pub end: End,
    /// Where the loop is.
    pub span: Span,
    /// The name of a thread that runs it.
    pub thread: String,
}

/// A natural loop of a thread.
struct Loop {
    head: LocationId,
    /// By location.
    body: Vec<bool>,
    size: usize,
    /// Whether an edge leads out of it to where the thread continues or ends, or the source has a way out that no run takes.
    has_exit: bool,
    /// The second of these.
    is_never_left: bool,
}

/// The loops of a program that may not end, each once.
pub fn endless_loops(p: &Program, budget: Budget) -> Vec<EndlessLoop> {
    let mut loops: Vec<Vec<Loop>> = p.threads.iter().map(natural_loops).collect();
    for known in &p.never_left {
        let t = known.thread;
        for l in &mut loops[t.index()] {
            let at = span_of(p, t, l);
            // The automaton has no way out where values decide it; the source has.
            l.is_never_left |= at.file == known.from.file && (known.from.line..=known.to).contains(&at.line);
            l.has_exit |= l.is_never_left;
        }
    }
    let looks = |t: ThreadId| loops[t.index()].iter().any(|l| l.has_exit && looks_at_others(p, t, l));
    let mut budget = budget;
    if p.never_left.is_empty() && !p.thread_ids().any(looks) {
        if !loops.iter().flatten().any(|l| l.has_exit) {
            return Vec::new();
        }
        // Loops over a thread's own data end in most programs: they are looked at where there are few states.
        budget.work = Some(budget.work.map_or(FEW_STATES, |w| w.min(FEW_STATES)));
    }
    let mut out = BTreeSet::new();
    match Graph::of(p, Meter::new(budget)) {
        Some(graph) => graph.fair_components(&mut |component, is_closed| {
            let end = if is_closed { End::Never } else { End::Sometimes };
            for t in p.thread_ids() {
                if let Some(l) = graph.loop_in(t, component, &loops[t.index()]) {
                    out.insert(EndlessLoop { end, span: span_of(p, t, l), thread: name_of(p, t) });
                }
            }
        }),
        None => {
            let shared = changed_by_others(p);
            for t in p.thread_ids() {
                for l in &loops[t.index()] {
                    let depends = || exit_depends_on(p, t, l, &shared) && !may_block(p, t, l);
                    if l.is_never_left || l.has_exit && depends() {
                        let (span, thread) = (span_of(p, t, l), name_of(p, t));
                        out.insert(EndlessLoop { end: End::Undecided, span, thread });
                    }
                }
            }
        }
    }
    // A loop once, with the strongest statement about it: several threads may run one function.
    let mut all: Vec<EndlessLoop> = Vec::new();
    for one in out {
        if !all.iter().any(|a| a.span == one.span) {
            all.push(one);
        }
    }
    all
}

fn name_of(p: &Program, t: ThreadId) -> String {
    let name = &p.thread(t).name;
    name.split('#').next().unwrap_or(name).to_owned()
}

fn span_of(p: &Program, t: ThreadId, l: &Loop) -> Span {
    let thread = p.thread(t);
    let steps = thread.from(l.head).map(|(_, e)| e.span).chain([thread.location(l.head).span]);
    steps.filter(|s| s.line > 0).min().unwrap_or_default()
}

/// The natural loops of an automaton: for each edge back to a location that dominates its source, all that reaches the source without
/// going through that location. Loops with one head are one loop.
fn natural_loops(thread: &Thread) -> Vec<Loop> {
    let n = thread.locations.len();
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut reached = vec![false; n];
    let mut open = vec![thread.entry];
    while let Some(l) = open.pop() {
        if !std::mem::replace(&mut reached[l.index()], true) {
            open.extend(thread.from(l).map(|(_, e)| e.to));
        }
    }
    for e in thread.transitions.iter().filter(|e| reached[e.from.index()]) {
        into[e.to.index()].push(e.from.index());
    }
    let mut loops: Vec<Loop> = Vec::new();
    for e in thread.transitions.iter().filter(|e| reached[e.from.index()]) {
        let (from, head) = (e.from.index(), e.to.index());
        if !thread.location(e.to).loop_head && from != head || !dominates(thread, e.to, e.from) {
            continue;
        }
        let mut body = vec![false; n];
        body[head] = true;
        let mut open = vec![from];
        while let Some(l) = open.pop() {
            if !std::mem::replace(&mut body[l], true) {
                open.extend(&into[l]);
            }
        }
        match loops.iter_mut().find(|l| l.head == e.to) {
            Some(known) => known.body.iter_mut().zip(body).for_each(|(a, b)| *a |= b),
            None => loops.push(Loop { head: e.to, body, size: 0, has_exit: false, is_never_left: false }),
        }
    }
    for l in &mut loops {
        l.size = l.body.iter().filter(|b| **b).count();
        let is_end = |at: LocationId| matches!(thread.location(at).kind, LocationKind::Error { .. });
        l.has_exit = thread
            .transitions
            .iter()
            .any(|e| l.body[e.from.index()] && !l.body[e.to.index()] && !is_end(e.to));
    }
    loops
}

/// Whether every path from the entry to `b` goes through `a`.
fn dominates(thread: &Thread, a: LocationId, b: LocationId) -> bool {
    if a == b || a == thread.entry {
        return true;
    }
    let mut seen = vec![false; thread.locations.len()];
    let mut open = vec![thread.entry];
    while let Some(l) = open.pop() {
        if l != a && !std::mem::replace(&mut seen[l.index()], true) {
            open.extend(thread.from(l).map(|(_, e)| e.to));
        }
    }
    !seen[b.index()]
}

fn steps_of<'p>(p: &'p Program, t: ThreadId, l: &Loop) -> impl Iterator<Item = &'p model::Transition> {
    let body = l.body.clone();
    p.thread(t).transitions.iter().filter(move |e| body[e.from.index()])
}

/// Whether a step of a loop reads what others may change.
fn looks_at_others(p: &Program, t: ThreadId, l: &Loop) -> bool {
    steps_of(p, t, l).any(|e| e.action != Action::Local)
}

/// Whether the thread may have to wait for another one inside of a loop.
fn may_block(p: &Program, t: ThreadId, l: &Loop) -> bool {
    let thread = p.thread(t);
    thread.location_ids().any(|at| l.body[at.index()] && thread.location(at).may_block)
}

/// Variables that one thread may change while another one reads them, and those of locks and the like.
fn changed_by_others(p: &Program) -> BTreeSet<VarId> {
    let data = locksets(p).concurrent.into_keys();
    let internal = (0..p.vars.len() as u32).map(VarId).filter(|v| {
        let var = p.var(*v);
        var.internal && var.is_shared()
    });
    data.chain(internal).collect()
}

/// Whether the way out of a loop depends on some shared variables: on their values, on locals that got these in the loop, or on locals
/// that were assigned where a condition on these holds.
fn exit_depends_on(p: &Program, t: ThreadId, l: &Loop, shared: &BTreeSet<VarId>) -> bool {
    let mut known: BTreeSet<VarId> = shared.clone();
    let reads = |term: Term, known: &BTreeSet<VarId>| {
        let mut found = false;
        p.terms.places(term, &mut |q| found |= known.contains(&q.var));
        found
    };
    let mut decided = vec![false; p.thread(t).locations.len()];
    loop {
        let before = (known.len(), decided.iter().filter(|d| **d).count());
        for e in steps_of(p, t, l) {
            let chosen = decided[e.from.index()] || reads(e.guard, &known);
            for a in &e.assigns {
                if chosen || reads(a.value, &known) {
                    known.insert(a.place.var);
                }
            }
            let only = p.thread(t).transitions.iter().filter(|f| f.to == e.to).count() == 1;
            decided[e.to.index()] |= chosen && only && l.body[e.to.index()];
        }
        if before == (known.len(), decided.iter().filter(|d| **d).count()) {
            break;
        }
    }
    let leaves = |e: &&model::Transition| {
        !l.body[e.to.index()] && !matches!(p.thread(t).location(e.to).kind, LocationKind::Error { .. })
    };
    let ways_out: BTreeSet<LocationId> = steps_of(p, t, l).filter(leaves).map(|e| e.from).collect();
    // A step out may be merged with one that reads something else: what counts is whether the loop goes on.
    steps_of(p, t, l).any(|e| {
        ways_out.contains(&e.from)
            && l.body[e.to.index()]
            && (decided[e.from.index()] || reads(e.guard, &known))
    })
}

/// A step between two states.
#[derive(Clone, Copy)]
struct Edge {
    to: u32,
    thread: u16,
}

/// All states of a program and the steps between them.
struct Graph {
    states: StateSet,
    threads: usize,
    edges: Vec<Edge>,
    /// By state: where its edges start; one more at the end.
    starts: Vec<u32>,
    /// States in which a thread waits for an assumption: executions that stay there do not count.
    assumes: Vec<bool>,
    form: model::State,
}

impl Graph {
    /// `None` if there are too many states, or an input has too many values.
    fn of(p: &Program, mut meter: Meter) -> Option<Graph> {
        let mut stepper = Stepper::new(p);
        let mut s = stepper.interpreter().initial();
        let mut states = StateSet::new(p);
        states.insert(&s);
        let (mut edges, mut starts, mut assumes) = (Vec::new(), Vec::new(), Vec::new());
        let mut n = 0;
        while n < states.len() {
            meter.step().ok()?;
            states.read(n, &mut s);
            starts.push(edges.len() as u32);
            let run = stepper.interpreter();
            let over = run.is_over(&s);
            let waits = |t: ThreadId| {
                let at = p.thread(t).location(s.locations[t.index()]);
                at.assumes && run.is_live(&s, t) && run.enabled(&s, t).next().is_none()
            };
            assumes.push(!over && p.thread_ids().any(waits));
            if !over {
                for t in p.thread_ids() {
                    let seen = stepper.successors(&s, t, |transition, _, next| {
                        if p.thread(t).transition(transition).action.is_spurious() {
                            states.insert(next);
                            return;
                        }
                        let to = states.number(next);
                        edges.push(Edge { to, thread: t.0 });
                    });
                    seen.ok()?;
                }
            }
            n += 1;
        }
        starts.push(edges.len() as u32);
        Some(Graph { states, threads: p.threads.len(), edges, starts, assumes, form: s })
    }

    fn from(&self, n: u32) -> &[Edge] {
        &self.edges[self.starts[n as usize] as usize..self.starts[n as usize + 1] as usize]
    }

    /// Calls `see` with each component of states whose cycles are fair, and whether no edge leads out of it.
    fn fair_components(&self, see: &mut dyn FnMut(&[u32], bool)) {
        let mut region = vec![0u32; self.states.len()];
        let mut regions = 0;
        let mut open: Vec<(Vec<u32>, u32)> = vec![((0..self.states.len() as u32).collect(), 0)];
        while let Some((nodes, within)) = open.pop() {
            for component in self.components(&nodes, &region, within) {
                regions += 1;
                component.iter().for_each(|n| region[*n as usize] = regions);
                let inside = |e: &Edge| region[e.to as usize] == regions;
                let (mut runs, mut enabled) = (vec![false; self.threads], vec![false; self.threads]);
                for e in component.iter().flat_map(|n| self.from(*n)) {
                    enabled[usize::from(e.thread)] = true;
                    runs[usize::from(e.thread)] |= inside(e);
                }
                let breaks = |n: &u32| {
                    let all = self.from(*n);
                    self.assumes[*n as usize]
                        || all.iter().any(|e| {
                            let t = usize::from(e.thread);
                            let chooses = || all.iter().filter(|f| f.thread == e.thread).count() > 1;
                            enabled[t] && !runs[t] || !inside(e) && chooses()
                        })
                };
                let (out, left): (Vec<u32>, Vec<u32>) = component.iter().partition(|n| breaks(n));
                if out.is_empty() {
                    let is_closed = component.iter().flat_map(|n| self.from(*n)).all(inside);
                    see(&component, is_closed);
                } else if !left.is_empty() {
                    regions += 1;
                    left.iter().for_each(|n| region[*n as usize] = regions);
                    open.push((left, regions));
                }
            }
        }
    }

    /// The strongly connected components with an edge of some states, by Tarjan's algorithm (1972) without recursion.
    fn components(&self, nodes: &[u32], region: &[u32], within: u32) -> Vec<Vec<u32>> {
        const NONE: u32 = u32::MAX;
        let at: std::collections::HashMap<u32, usize> =
            nodes.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        let mut index = vec![NONE; nodes.len()];
        let mut low = vec![0u32; nodes.len()];
        let mut on_stack = vec![false; nodes.len()];
        let (mut stack, mut count, mut out) = (Vec::new(), 0, Vec::new());
        for start in 0..nodes.len() {
            if index[start] != NONE {
                continue;
            }
            let mut path: Vec<(usize, usize)> = vec![(start, 0)];
            while let Some((i, next)) = path.last_mut() {
                let i = *i;
                if *next == 0 {
                    (index[i], low[i]) = (count, count);
                    count += 1;
                    stack.push(i);
                    on_stack[i] = true;
                }
                let edges = self.from(nodes[i]);
                let child = edges.get(*next).map(|e| e.to);
                *next += 1;
                match child {
                    Some(to) if region[to as usize] != within => {}
                    Some(to) => {
                        let j = at[&to];
                        if index[j] == NONE {
                            path.push((j, 0));
                        } else if on_stack[j] {
                            low[i] = low[i].min(index[j]);
                        }
                    }
                    None => {
                        path.pop();
                        if let Some((parent, _)) = path.last() {
                            low[*parent] = low[*parent].min(low[i]);
                        }
                        if low[i] == index[i] {
                            let mut component = Vec::new();
                            while let Some(j) = stack.pop() {
                                on_stack[j] = false;
                                component.push(nodes[j]);
                                if j == i {
                                    break;
                                }
                            }
                            let single = component.len() == 1;
                            if !single || self.from(component[0]).iter().any(|e| e.to == component[0]) {
                                out.push(component);
                            }
                        }
                    }
                }
            }
        }
        out
    }

    /// The innermost loop that a thread stays in within a component, if it runs there and the loop has a way out.
    fn loop_in<'l>(&self, t: ThreadId, component: &[u32], loops: &'l [Loop]) -> Option<&'l Loop> {
        let members: BTreeSet<u32> = component.iter().copied().collect();
        let mut s = self.form.clone();
        let mut places = BTreeSet::new();
        for n in component {
            if self.from(*n).iter().any(|e| e.thread == t.0 && members.contains(&e.to)) {
                self.states.read(*n as usize, &mut s);
                places.insert(s.locations[t.index()]);
            }
        }
        if places.is_empty() {
            return None;
        }
        let around = loops.iter().filter(|l| places.iter().all(|at| l.body[at.index()]));
        around.min_by_key(|l| l.size).filter(|l| l.has_exit)
    }
}
