//! Best-first search on an execution tree (Gambit: Coons, Musuvathi, Burckhardt, PPoPP 2010; Coons 2013, chapter 3,
//! algorithm 4).
//!
//! The fringe holds alternatives: *run as that execution did up to step `i`, then thread `u`, then by default* (the
//! running thread goes on; when it cannot, the next one on the ring). The best one is run next, by priorities that are
//! compared one after the other; each execution adds the alternatives that it shows. Which alternatives there are is
//! the affair of the base:
//!
//! - *reduced*: those in the backtrack sets of Flanagan and Godefroid, or of Coons' algorithm 7. Such sets only grow,
//!   to a fixpoint at which each is persistent, whatever the order; so no sleep sets here, which do depend on it
//!   (section 3.6). A race may ask for an alternative at a step before the one at which this execution left its parent:
//!   it is made from the ancestor that answers for that step, which lives as long as something below it does, and which
//!   knows what it has made (erratum: the printed algorithm makes it again each time).
//! - *all*: every enabled thread within the bound, at the steps after the one at which this execution left its parent.
//!
//! Invariant: each alternative is made once, and the search ends when none is left; so what it has seen by then does
//! not depend on the priorities. (Section 3.5.1 says of `dpor` that it prefers what is *not* in the backtrack set; what
//! is meant, as in the list above it, is what is.)

use super::names::Names;
use super::rng::Rng;
use super::tree::{Delta, Key, Leaf, MOST_PRIORITIES, Tree};
use super::{Order, Priority, may_conflict, schedule_of};
use crate::budget::{Meter, Spent};
use crate::explorer::{Decision, Divergence, End, Executed, Explorer, Options, View};
use crate::ids::{ObjectId, Site, ThreadId, ThreadSet};
use crate::op::{Op, OpKind};
use crate::outcome::Stats;
use crate::plan::{BadPlan, BoundKind, Plan};
use crate::schedule::Schedule;
use crate::search::{Core, Progress, Promise};
use crate::trace::{Trace, mix};
use std::collections::HashMap;
use std::sync::Arc;

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// Backtrack sets: of the last race of each thread, or of the last dependent event of each thread.
    Reduced { per_thread: bool },
    /// Every interleaving, within so many preemptions.
    All { preemptions: Option<u32> },
}

/// A state of the execution at hand.
#[derive(Clone, Copy, Debug)]
struct Frame {
    enabled: ThreadSet,
    /// What is to be explored from here as far as races tell.
    backtrack: ThreadSet,
    /// The part of it that was known before this execution, the thread taken included.
    known: ThreadSet,
    asleep: ThreadSet,
    chosen: ThreadId,
    /// The thread that another one would preempt.
    running: Option<ThreadId>,
    /// Preemptions before this state.
    preemptions: u32,
    /// A hash of all events before this state.
    hash: u64,
    /// What the enabled threads want to do: from here.
    wants: u32,
    /// The outcomes of the step taken: from here, so many.
    options: (u32, u32),
}

impl Frame {
    /// How many preemptions there are when `t` goes next.
    fn preemptions_with(&self, t: ThreadId) -> u32 {
        self.preemptions + self.running.is_some_and(|r| r != t) as u32
    }
}

/// A step that was run from a state on the way and need not be run again until something conflicts with it.
#[derive(Clone, Copy, Debug)]
struct Sleeping {
    thread: ThreadId,
    op: Op,
}

/// A best-first search; see [`Priority`].
///
/// [`Plan::search`] makes one for the orders `best-first` and `random-coverage`; made by hand it also shows its tree.
pub struct BestFirst {
    plan: Plan,
    order: Order,
    base: Base,
    priorities: Vec<Priority>,
    names: Option<Arc<dyn Names>>,
    tree: Tree,
    trace: Trace,
    frames: Vec<Frame>,
    wants: Vec<(ThreadId, Op, Site)>,
    options: Vec<u32>,
    /// Threads whose step bears a name that is looked for: one set for each such priority, for each state.
    named: Vec<ThreadSet>,
    named_sites: HashMap<(usize, Site), bool>,
    /// The same for objects, which have other numbers in the next execution.
    named_objects: HashMap<(usize, ObjectId), bool>,
    /// The node at hand, its ancestors from the root to itself, and their deltas.
    node: u32,
    path: Vec<u32>,
    deltas: Vec<Delta>,
    /// The deltas of the execution before, whose trace is still here.
    last: Vec<Delta>,
    next_delta: usize,
    from: usize,
    pos: usize,
    hash: u64,
    preemptions: u32,
    chosen_option: (u32, u32),
    sleeping: Vec<Sleeping>,
    past: Vec<u32>,
    rng: Rng,
    stats: Stats,
    meter: Meter,
    divergence: Option<Divergence>,
    prune: bool,
    refused: bool,
    finished: bool,
}

impl BestFirst {
    /// The search of a plan whose order is `best-first` or `random-coverage`.
    pub fn new(plan: &Plan, meter: Meter) -> Result<BestFirst, BadPlan> {
        let priorities = match &plan.order {
            Order::BestFirst(priorities) => priorities.clone(),
            Order::RandomCoverage => vec![Priority::Random],
            other => return Err(BadPlan(format!("`{other}` is not a best-first order"))),
        };
        if priorities.is_empty() || priorities.len() > MOST_PRIORITIES {
            return Err(BadPlan(format!("`{}`: combine one to {MOST_PRIORITIES} priorities", plan.order)));
        }
        let base = base(plan, &priorities)?;
        if plan.names.is_none() && priorities.iter().any(Priority::needs_names) {
            return Err(BadPlan(format!(
                "`{}`: names of places and objects are known to the front end alone; set Plan::names",
                plan.order
            )));
        }
        Ok(BestFirst {
            order: plan.order.clone(),
            base,
            names: plan.names.clone(),
            tree: make_tree(plan, base, &priorities),
            priorities,
            trace: Trace::new(),
            frames: Vec::new(),
            wants: Vec::new(),
            options: Vec::new(),
            named: Vec::new(),
            named_sites: HashMap::new(),
            named_objects: HashMap::new(),
            node: Tree::ROOT,
            path: vec![Tree::ROOT],
            deltas: Vec::new(),
            last: Vec::new(),
            next_delta: 0,
            from: 0,
            pos: 0,
            hash: 0,
            preemptions: 0,
            chosen_option: (0, 1),
            sleeping: Vec::new(),
            past: Vec::new(),
            rng: Rng::new(plan.seed, 0),
            stats: Stats::default(),
            meter,
            divergence: None,
            prune: false,
            refused: false,
            finished: false,
            plan: plan.clone(),
        })
    }

    /// How many nodes of the execution tree are in memory: those that wait, those that have been run and have something
    /// below them that waits, and the root.
    pub fn nodes(&self) -> usize {
        self.tree.alive()
    }

    /// The most there ever were.
    pub fn most_nodes(&self) -> usize {
        self.tree.most()
    }

    /// Where the execution at hand, or the next one, leaves the default, step by step.
    pub fn deltas(&self) -> &[Delta] {
        &self.deltas
    }

    /// The happens-before class of the execution that ended last.
    pub(super) fn class(&self) -> u64 {
        self.trace.class()
    }

    fn has(&self, p: &Priority) -> bool {
        self.priorities.contains(p)
    }

    /// The node that answers for a step of the execution at hand.
    fn owner(&self, step: usize) -> u32 {
        let k = self.path.partition_point(|n| self.tree.from(*n) as usize <= step);
        self.path[k - 1]
    }

    /// The threads that the bound lets run from here.
    fn within(&self, frame: &Frame) -> ThreadSet {
        match self.base {
            Base::All { preemptions: Some(most) } => {
                frame.enabled.iter().filter(|t| frame.preemptions_with(*t) <= most).collect()
            }
            _ => frame.enabled,
        }
    }

    fn push_frame(&mut self, view: &View<'_>) {
        // A bound counts every change away from a thread that could go on; without one, a yield asks for it.
        let bounded = matches!(self.base, Base::All { preemptions: Some(_) });
        let could_go_on = |c: &ThreadId| view.enabled.contains(*c) && (bounded || !view.yielded.contains(*c));
        let running = view.current.filter(could_go_on);
        let wants = self.wants.len() as u32;
        for t in view.enabled.iter() {
            let p = &view.pending[t.index()];
            self.wants.push((t, p.op, p.site));
        }
        self.note_names(view);
        self.frames.push(Frame {
            enabled: view.enabled,
            backtrack: ThreadSet::EMPTY,
            known: ThreadSet::EMPTY,
            asleep: self.sleeping.iter().map(|s| s.thread).collect(),
            chosen: ThreadId::MAIN,
            running,
            preemptions: self.preemptions,
            hash: self.hash,
            wants,
            options: (self.options.len() as u32, 0),
        });
    }

    /// Notes which enabled threads are about to do something whose place or object bears a name that is looked for.
    fn note_names(&mut self, view: &View<'_>) {
        let Some(names) = &self.names else { return };
        let (sites, objects) = (&mut self.named_sites, &mut self.named_objects);
        for (k, p) in self.priorities.iter().enumerate() {
            let mut bears = |t: &ThreadId| {
                let next = &view.pending[t.index()];
                match p {
                    Priority::Method(name) => *sites.entry((k, next.site)).or_insert_with(|| {
                        names.site(next.site).is_some_and(|text| text.contains(name.as_str()))
                    }),
                    Priority::Variable(name) => [next.op.object, next.op.other].iter().any(|o| {
                        o.is_some()
                            && *objects.entry((k, *o)).or_insert_with(|| {
                                names.object(*o).is_some_and(|text| text.contains(name.as_str()))
                            })
                    }),
                    _ => false,
                }
            };
            if p.needs_names() {
                self.named.push(view.enabled.iter().filter(|t| bears(t)).collect());
            }
        }
    }

    /// What a thread wanted to do in a state.
    fn announced(&self, step: usize, t: ThreadId) -> Option<(Op, Site)> {
        let from = self.frames[step].wants as usize;
        let n = self.frames[step].enabled.len();
        self.wants[from..from + n].iter().find(|w| w.0 == t).map(|w| (w.1, w.2))
    }

    /// Finds the events that the next steps of all threads may be in conflict with, and notes what is to be explored
    /// before them.
    fn races(&mut self, view: &View<'_>) {
        let per_thread = matches!(self.base, Base::Reduced { per_thread: true });
        let end = self.pos;
        for p in view.live.iter() {
            let op = view.pending[p.index()].op;
            if per_thread {
                for v in (0..self.trace.threads()).map(|v| ThreadId(v as u16)).filter(|v| *v != p) {
                    let i = self.trace.last_possible_conflict(p, &op, view.awaited_by(p), end, |trace, e| {
                        trace.event(e).thread == v
                    });
                    if let Some(i) = i {
                        let frame = &mut self.frames[i];
                        if frame.enabled.contains(p) {
                            frame.backtrack.insert(p);
                        } else {
                            frame.backtrack = frame.enabled;
                        }
                    }
                }
                continue;
            }
            self.trace.past_of_next(p, &mut self.past);
            let past = &self.past;
            let last = self.trace.last_possible_conflict(p, &op, view.awaited_by(p), end, |trace, e| {
                !trace.in_past(e, past) && op.may_be_coenabled(&trace.event(e).op)
            });
            if let Some(i) = last {
                self.answer(i, p);
            }
        }
    }

    /// A step of `p` races with event `i`: `p`, or a thread that leads to it, or all are to be explored before it.
    fn answer(&mut self, i: usize, p: ThreadId) {
        let (trace, past) = (&self.trace, &self.past);
        let leads_to_p = |q: ThreadId| {
            q == p || (i + 1..trace.len()).any(|j| trace.event(j).thread == q && trace.in_past(j, past))
        };
        let frame = &mut self.frames[i];
        let mut pick = None;
        for q in frame.enabled.iter().filter(|q| leads_to_p(*q)) {
            if frame.backtrack.contains(q) {
                return;
            }
            if pick.is_none() || q == p {
                pick = Some(q);
            }
        }
        match pick {
            Some(q) => {
                frame.backtrack.insert(q);
            }
            None => frame.backtrack = frame.enabled,
        }
    }

    /// Whether backtrack sets are worked out at all.
    fn finds_races(&self) -> bool {
        matches!(self.base, Base::Reduced { .. }) || self.has(&Priority::Dpor)
    }

    /// The key of an alternative: thread `t` from the state before `step`.
    fn key(&mut self, step: usize, t: ThreadId) -> Key {
        let mut key = Key::default();
        let frame = self.frames[step];
        let stride = self.priorities.iter().filter(|p| p.needs_names()).count();
        let mut name = step * stride;
        for (k, p) in key.iter_mut().zip(&self.priorities) {
            *k = match p {
                Priority::Preemptions => u32::MAX - frame.preemptions_with(t),
                Priority::Dpor => frame.backtrack.contains(t) as u32,
                Priority::Sleep => !frame.asleep.contains(t) as u32,
                Priority::Random => (self.rng.next() >> 32) as u32,
                Priority::Method(_) | Priority::Variable(_) => {
                    name += 1;
                    self.named[name - 1].contains(t) as u32
                }
            };
        }
        key
    }

    fn make(&mut self, owner: u32, step: usize, thread: ThreadId, outcome: Option<u32>) {
        let key = self.key(step, thread);
        let frame = self.frames[step];
        let (mut expected, mut check) = (u32::MAX, 0);
        if let Some((op, site)) = self.announced(step, thread) {
            expected = self.tree.name_step(&op, site);
            check = check_of(frame.hash, thread, &op, site);
        }
        let delta = Delta { step: step as u32, thread, outcome };
        let wanted = matches!(self.base, Base::Reduced { .. }) || frame.backtrack.contains(thread);
        self.tree.add(owner, frame.chosen, &Leaf { delta, key, check, expected, wanted });
    }

    /// Adds the alternatives that this execution has shown.
    fn expand(&mut self) {
        let all = matches!(self.base, Base::All { .. });
        for step in 0..self.pos {
            let frame = self.frames[step];
            let new = step >= self.from;
            let owner = self.owner(step);
            let alternatives = if all {
                if new { self.within(&frame) } else { ThreadSet::EMPTY }
            } else {
                frame.backtrack.and(&frame.enabled)
            };
            let known = if all { ThreadSet::single(frame.chosen) } else { frame.known };
            for t in alternatives.minus(&known).iter() {
                self.make(owner, step, t, None);
            }
            if all && !new && frame.backtrack != frame.known {
                let at = self.priorities.iter().position(|p| *p == Priority::Dpor);
                for t in frame.backtrack.minus(&frame.known).iter() {
                    self.tree.want(owner, step as u32, t, |key| {
                        if let Some(at) = at {
                            key[at] = 1;
                        }
                    });
                }
            }
            // The step at which this execution left its parent is run for the first time too, but for a delta that says
            // with which outcome: its siblings were made with it.
            let first =
                new || (step + 1 == self.from && self.deltas.last().is_some_and(|d| d.outcome.is_none()));
            if first && frame.options.1 > 0 {
                let taken = self.trace.event(step).option;
                for k in frame.options.0..frame.options.0 + frame.options.1 {
                    let o = self.options[k as usize];
                    if o != taken {
                        self.make(owner, step, frame.chosen, Some(o));
                    }
                }
            }
        }
    }

    /// Turns to the best node of the fringe; says whether there is one.
    fn turn(&mut self) -> bool {
        std::mem::swap(&mut self.last, &mut self.deltas);
        match self.tree.pop() {
            Some(node) => {
                self.node = node;
                self.tree.path(node, &mut self.path, &mut self.deltas);
                self.from = self.tree.from(node) as usize;
                true
            }
            None => {
                self.deltas.clear();
                self.finished = true;
                false
            }
        }
    }

    /// How many steps the execution at hand has in common with the last one.
    fn common(&self) -> usize {
        let same = self.last.iter().zip(&self.deltas).take_while(|(a, b)| a == b).count();
        let step = |deltas: &[Delta]| deltas.get(same).map_or(usize::MAX, |d| d.step as usize);
        step(&self.last).min(step(&self.deltas))
    }

    #[cold]
    fn diverge(&mut self, thread: ThreadId, expected: Option<(Op, Site)>, view: &View<'_>) -> Decision {
        let pending = view.pending.get(thread.index()).filter(|_| view.live.contains(thread));
        self.divergence = Some(Divergence {
            step: self.pos,
            thread,
            expected,
            found: pending.map(|p| (p.op, p.site)),
            ended: false,
        });
        Decision::Stop
    }

    /// What was run from this state before sleeps below it.
    fn put_siblings_to_sleep(&mut self, owner: u32, view: &View<'_>, chosen: ThreadId) {
        for m in self.tree.made(owner, self.pos as u32) {
            let t = m.thread;
            if t != chosen
                && m.is_run()
                && view.enabled.contains(t)
                && self.sleeping.iter().all(|s| s.thread != t)
            {
                self.sleeping.push(Sleeping { thread: t, op: view.pending[t.index()].op });
            }
        }
    }
}

/// Names what comes before a step, and the step.
fn check_of(before: u64, thread: ThreadId, op: &Op, site: Site) -> u64 {
    use OpKind::*;
    let operands = if matches!(op.kind, Rmw | Wake | Park) { (0, 0) } else { (op.a, op.b) };
    let h = mix(before, (thread.0 as u64) << 8 | op.kind as u64);
    let h = mix(h, (op.object.0 as u64) << 32 | op.other.0 as u64);
    mix(mix(mix(h, operands.0), operands.1), site.0 as u64)
}

/// Which alternatives there are.
fn base(plan: &Plan, priorities: &[Priority]) -> Result<Base, BadPlan> {
    let order = &plan.order;
    let preemptions = match plan.bounds[..] {
        [] => None,
        [limit] if limit.kind == BoundKind::Preemptions && !limit.is_iterative() => Some(limit.first),
        [limit] if limit.kind == BoundKind::Preemptions => {
            return Err(BadPlan(format!(
                "`{order}` searches within one bound, not `{limit}`: leave it out, as best-first=preemptions takes \
                 executions with fewer preemptions first; or say preemptions=N; or leave the order out, as the depth-first \
                 one goes from bound to bound"
            )));
        }
        _ => {
            let bounds: Vec<String> = plan.bounds.iter().map(|b| b.to_string()).collect();
            return Err(BadPlan(format!(
                "`{order}` knows no bound but preemptions=N: leave `{}` out, or search depth-first",
                bounds.join(",")
            )));
        }
    };
    let name = plan.algorithm().name;
    match name {
        "none" => Ok(Base::All { preemptions }),
        "dpor-no-sleep" | "dpor-per-thread" if preemptions.is_some() => Err(BadPlan(format!(
            "`{order}` within a bound searches every interleaving: leave the algorithm `{name}` out"
        ))),
        "dpor-no-sleep" | "dpor-per-thread" if priorities.contains(&Priority::Dpor) => Err(BadPlan(format!(
            "`{order}`: with `{name}` every alternative is in a backtrack set, so the priority `dpor` tells nothing \
             apart; use it with the algorithm `none` or within preemptions=N"
        ))),
        "dpor-no-sleep" => Ok(Base::Reduced { per_thread: false }),
        "dpor-per-thread" => Ok(Base::Reduced { per_thread: true }),
        _ => Err(BadPlan(format!(
            "the algorithm `{name}` needs the depth-first order; with `{order}` say dpor-no-sleep, dpor-per-thread \
             or none"
        ))),
    }
}

fn make_tree(plan: &Plan, base: Base, priorities: &[Priority]) -> Tree {
    let keeps = matches!(base, Base::Reduced { .. })
        || priorities.contains(&Priority::Dpor)
        || priorities.contains(&Priority::Sleep);
    Tree::new(keeps, plan.fringe_limit, plan.spill.clone())
}

impl Explorer for BestFirst {
    fn begin(&mut self) {
        self.trace.restart();
        let common = self.common();
        self.trace.truncate(common);
        self.frames.clear();
        self.wants.clear();
        self.options.clear();
        self.named.clear();
        self.named_objects.clear();
        self.sleeping.clear();
        (self.pos, self.next_delta, self.hash, self.preemptions) = (0, 0, 0, 0);
        self.prune = false;
    }

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        self.chosen_option = (0, 1);
        if self.prune {
            return Decision::Stop;
        }
        let new = self.pos >= self.from;
        self.push_frame(view);
        if new && self.finds_races() {
            self.races(view);
        }
        let frame = self.frames[self.pos];
        let delta = self.deltas.get(self.next_delta).filter(|d| d.step as usize == self.pos).copied();
        let within = self.within(&frame);
        self.refused |= new && within != frame.enabled;
        let Some(t) = delta.map(|d| d.thread).or_else(|| Core::default_thread(view, within)) else {
            return Decision::Stop;
        };
        if let Some(e) = self.trace.events().get(self.pos) {
            let now = &view.pending[t.index()];
            let same = e.thread == t && e.op.same_step(&now.op) && e.site == now.site;
            if !same || !view.enabled.contains(t) {
                let expected = Some((e.op, e.site));
                return self.diverge(t, expected, view);
            }
        }
        if let Some(d) = delta {
            let (expected, check) = self.tree.expected(self.path[self.next_delta + 1]);
            let found = self.announced(self.pos, d.thread);
            if found.is_none_or(|(op, site)| check_of(frame.hash, d.thread, &op, site) != check) {
                return self.diverge(t, expected, view);
            }
        }
        let frame = &mut self.frames[self.pos];
        frame.chosen = t;
        frame.known = ThreadSet::single(t);
        if !new {
            let owner = self.owner(self.pos);
            for m in self.tree.made(owner, self.pos as u32).iter().filter(|m| m.wanted) {
                self.frames[self.pos].known.insert(m.thread);
            }
            if delta.is_some() && self.has(&Priority::Sleep) {
                self.put_siblings_to_sleep(owner, view, t);
            }
        }
        let frame = &mut self.frames[self.pos];
        frame.backtrack = frame.known;
        self.preemptions = frame.preemptions_with(t);
        Decision::Run(t)
    }

    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        self.trace.order(before, after, self.pos);
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        let from = self.options.len() as u32;
        self.options.extend((0..options.len()).map(|k| options.get(k)));
        self.frames[self.pos].options = (from, options.len() as u32);
        let delta = self.deltas.get(self.next_delta).filter(|d| d.step as usize == self.pos);
        let value = delta.and_then(|d| d.outcome).unwrap_or_else(|| options.get(0));
        self.chosen_option = (value, options.len() as u32);
        value
    }

    fn executed(&mut self, event: Executed<'_>) {
        let (option, options) = self.chosen_option;
        if let Some(e) = self.trace.events().get(self.pos) {
            let same = e.value == event.value || !e.op.has_fixed_value();
            if !same || (e.access, e.options) != (event.access, options) {
                self.divergence = Some(Divergence {
                    step: self.pos,
                    thread: event.thread,
                    expected: Some((e.op, e.site)),
                    found: Some((event.op, event.site)),
                    ended: false,
                });
                self.prune = true;
            }
            self.trace.replayed(event.thread);
        } else {
            self.trace.push(&event, option, options);
        }
        let h = check_of(self.hash, event.thread, &event.op, event.site);
        let h = mix(mix(h, event.value), (event.access.mode as u64) << 32 | event.ok as u64);
        self.hash = mix(mix(h, event.access.aux), (option as u64) << 32 | options as u64);
        if !self.sleeping.is_empty() {
            self.sleeping
                .retain(|s| s.thread != event.thread && !may_conflict(&s.op, &event.op, &event.access));
        }
        let at_delta = self.deltas.get(self.next_delta).is_some_and(|d| d.step as usize == self.pos);
        self.next_delta += at_delta as usize;
        self.pos += 1;
    }

    fn differs_in_outcome(&self) -> bool {
        let last = self.deltas.last();
        self.next_delta == self.deltas.len()
            && last.is_some_and(|d| d.outcome.is_some() && d.step as usize + 1 == self.pos)
    }

    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        let s = &mut self.stats;
        s.steps += self.pos as u64;
        s.longest = s.longest.max(self.pos as u64);
        s.threads = s.threads.max(view.pending.len() as u64);
        if self.divergence.is_none() && self.next_delta < self.deltas.len() {
            // It was over before it came to the step at which it was to leave its parent.
            let (thread, node) = (self.deltas[self.next_delta].thread, self.path[self.next_delta + 1]);
            let expected = self.tree.expected(node).0;
            self.divergence = Some(Divergence { step: self.pos, thread, expected, found: None, ended: true });
        }
        if self.divergence.is_some() {
            return false;
        }
        match end {
            End::Assumed => s.assumed += 1,
            End::Pruned | End::Undone => s.pruned += 1,
            _ => s.executions += 1,
        }
        s.races += self.trace.races_since(self.from) as u64;
        if self.finds_races() && end != End::Undone {
            self.races(view);
        }
        self.expand();
        self.tree.close(self.node);
        let more = self.turn();
        self.stats.open = self.tree.open() as u64 + more as u64;
        more && self.meter.another()
    }

    fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }
}

impl Progress for BestFirst {
    fn stats(&self) -> Stats {
        self.stats
    }

    fn finished(&self) -> bool {
        self.finished
    }

    fn promise(&self) -> Promise {
        if let Some(why) = &self.tree.lost {
            return Promise::Nothing(format!("{}: a part of the fringe is lost, as {why}", self.order));
        }
        if !self.finished && self.has(&Priority::Random) {
            return Promise::Nothing(format!(
                "{} from seed {}: {} executions are open, each with those below it; run to its end it leaves nothing \
                 out",
                self.order, self.plan.seed, self.stats.open
            ));
        }
        match self.base {
            Base::All { preemptions: Some(n) } if self.refused => {
                Promise::Within(BoundKind::Preemptions.say(n))
            }
            _ => Promise::Everything,
        }
    }

    fn restart(&mut self) {
        self.tree = make_tree(&self.plan, self.base, &self.priorities);
        self.rng = Rng::new(self.plan.seed, 0);
        self.trace = Trace::new();
        self.stats = Stats::default();
        self.path = vec![Tree::ROOT];
        (self.node, self.from) = (Tree::ROOT, 0);
        self.deltas.clear();
        self.last.clear();
        self.divergence = None;
        self.refused = false;
        self.finished = false;
    }

    fn spent(&self) -> Option<Spent> {
        self.meter.spent()
    }

    fn estimate(&self) -> Option<f64> {
        self.finished.then_some((self.stats.executions + self.stats.assumed + self.stats.pruned) as f64)
    }

    fn schedule(&self) -> Schedule {
        schedule_of(&self.trace, self.pos)
    }
}
