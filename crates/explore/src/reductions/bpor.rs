//! Bounded partial-order reduction (Coons, Musuvathi, McKinley, OOPSLA 2013; Coons 2013, chapters 5 to 7).
//!
//! Unbounded reduction may show a state by an execution that costs more than another one of its class. So the points at which
//! it explores a thread before a dependent step (algorithm 7) are not enough: *conservative* points are added where the same
//! happens-before order may be had for less (algorithms 9 to 13). Each bound has its own, see [`Form`]. What is explored from
//! a state is then local sufficient: every local state and every terminal state that is within the bound from there is seen.
//!
//! The optimisations of chapter 6: transitive reduction, alternative thread, release; the bound optimisation keeps conservative
//! points *pending* until a step below was refused, so that a search that refuses nothing is unbounded reduction exactly; a
//! branch sleeps only if nothing below it was refused, or if the bound is stable.
//!
//! Errata, all shown by tests: a thread that came asleep is no answer to a race (the authors' addendum to DPOR); whether a
//! dependence is transitive is asked at the release, not at the acquire to which its point moves; the alternative thread must
//! lead to a step that the other thread has taken; the rule of section 6.5 for sleep sets loses states; a block that
//! sleeps must be woken by what the last thread will do next, too.

use crate::bounds::{Bounds, Limits, Mistake, Optimisations};
use crate::explorer::{End, View};
use crate::ids::{ObjectId, ThreadId, ThreadSet};
use crate::op::{Access, Mode, Op, OpKind};
use crate::plan::BoundKind;
use crate::reductions::block_sleep::BlockSleep;
use crate::search::{Core, Promise, Reduction};
use crate::trace::strongest;

const NONE: usize = usize::MAX;

/// Which conservative points a search makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Algorithm 9: all enabled threads everywhere. With pending points it is for any bound and any number of them.
    Everything,
    /// Algorithm 10: the running thread alone, or all. Holds wherever it is free to go on with the running thread and each
    /// other choice costs what it cost before it ran on.
    Contexts,
    /// Algorithm 11: also where the block of the dependent step began, because there the switch may be free.
    Preemptions,
    /// Algorithm 12: also whoever is cheaper there; before a release, all.
    Delta,
    /// Algorithm 13: before a release, all. Begins with the thread that has yielded least.
    Fair,
    /// Algorithm 20, for bounds that are stable and extensible: none.
    Local,
}

impl Form {
    /// The one for these bounds, and which of them says who goes first.
    fn of(kinds: &[BoundKind], bounds: &Bounds) -> (Form, usize) {
        let fair = kinds.contains(&BoundKind::Fair);
        let main = kinds.iter().position(|k| *k != BoundKind::Fair).unwrap_or(0);
        let form = match kinds.get(main) {
            _ if bounds.all(|p| p.stable && p.extensible) => Form::Local,
            Some(BoundKind::Contexts | BoundKind::ThreadContexts) if kinds.len() == 1 + fair as usize => {
                Form::Contexts
            }
            Some(BoundKind::Preemptions) if kinds.len() == 1 + fair as usize => Form::Preemptions,
            Some(BoundKind::Delta | BoundKind::Delays) if kinds.len() == 1 + fair as usize => Form::Delta,
            Some(BoundKind::Fair) if kinds.len() == 1 => Form::Fair,
            _ => Form::Everything,
        };
        (form, main)
    }
}

/// What a node of the stack has besides.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// Threads to explore if something below was refused.
    pending: ThreadSet,
    /// Enabled threads whose step is over a bound.
    over: ThreadSet,
    /// Those that are over the first bound.
    over_first: ThreadSet,
    /// Those that are over the fair bound, if that is not the only one.
    held_back: ThreadSet,
    live: ThreadSet,
    /// Something was refused below the branch taken now.
    branch: bool,
    /// Or below any branch.
    any: bool,
    /// Threads that are to be explored here for the bound; only for the printed rule of sleep sets.
    for_bound: ThreadSet,
    /// Where the block of steps of one thread began that the step taken here belongs to.
    block: u32,
    /// Where its rows begin.
    row: u32,
}

/// Bounded partial-order reduction.
pub(crate) struct Bpor {
    bounds: Bounds,
    main: usize,
    form: Form,
    on: Optimisations,
    stable: bool,
    /// The fair bound is combined with one that prices enabled threads.
    holds_back: bool,
    mistake: Option<Mistake>,
    /// Points as the base algorithms print them.
    printed: bool,
    frames: Vec<Frame>,
    /// Who goes first, by thread, one row for each node.
    ranks: Vec<u32>,
    /// What each thread has announced, by thread, one row for each node.
    ops: Vec<(OpKind, ObjectId)>,
    blocks: BlockSleep,
    past: Vec<u32>,
    last: Vec<usize>,
    edges: Vec<usize>,
    /// Complete executions that cost as much as the first bound allows.
    pub(crate) dearest: u64,
    /// The first bound refused something.
    pub(crate) refused_first: bool,
}

impl Bpor {
    pub(crate) fn new(limits: &Limits, on: Optimisations, mistake: Option<Mistake>) -> Bpor {
        let bounds = Bounds::new(limits, mistake);
        let kinds: Vec<_> = bounds.kinds().collect();
        let (form, main) = Form::of(&kinds, &bounds);
        let form = if mistake == Some(Mistake::Naive) { Form::Local } else { form };
        Bpor {
            main,
            form,
            on,
            stable: bounds.all(|p| p.stable) && mistake != Some(Mistake::DepthAsUnstable),
            holds_back: kinds.len() > 1 && kinds.contains(&BoundKind::Fair) && form != Form::Everything,
            mistake,
            printed: mistake == Some(Mistake::PointsAsPrinted),
            bounds,
            frames: Vec::new(),
            ranks: Vec::new(),
            ops: Vec::new(),
            blocks: BlockSleep::new(mistake != Some(Mistake::NextDoesNotWake)),
            past: Vec::new(),
            last: Vec::new(),
            edges: Vec::new(),
            dearest: 0,
            refused_first: false,
        }
    }

    fn rank(&self, i: usize, t: ThreadId) -> u32 {
        self.ranks[self.frames[i].row as usize + t.index()]
    }

    /// Threads that can be explored at node `i`: one that came there asleep will not be, one that fairness holds back cannot be.
    fn usable(&self, core: &Core, i: usize) -> ThreadSet {
        let n = &core.nodes[i];
        let asleep = self.on.sleep && self.mistake != Some(Mistake::SleeperAnswers);
        let out = n.enabled.minus(&self.frames[i].held_back);
        if asleep { out.minus(&n.inherited) } else { out }
    }

    /// Adds threads at node `i`.
    fn add(&mut self, core: &mut Core, i: usize, threads: ThreadSet, conservative: bool) {
        if conservative {
            let new = threads.minus(&core.nodes[i].backtrack);
            self.frames[i].for_bound = self.frames[i].for_bound.or(&new);
        } else if self.mistake != Some(Mistake::SleepsAsPrintedForGood) {
            self.frames[i].for_bound = self.frames[i].for_bound.minus(&threads);
        }
        if conservative && self.on.bound {
            self.frames[i].pending = self.frames[i].pending.or(&threads);
        } else {
            core.nodes[i].backtrack = core.nodes[i].backtrack.or(&threads);
        }
    }

    /// Adds `t` at node `i`, or all threads if there is none or it cannot be explored there.
    fn point(&mut self, core: &mut Core, i: usize, t: Option<ThreadId>, conservative: bool) {
        let usable = self.usable(core, i);
        let threads = t.filter(|t| usable.contains(*t)).map_or(core.nodes[i].enabled, ThreadSet::single);
        self.add(core, i, threads, conservative);
    }

    /// The thread to explore at node `i` so that `u`'s next step may come before event `i`; `None`: all. `cheapest` takes the
    /// cheapest of those that lead to `u`; otherwise it is the one that a search without a bound takes.
    fn choose(&self, core: &Core, i: usize, u: ThreadId, cheapest: bool) -> Option<ThreadId> {
        let usable = self.usable(core, i);
        if !self.on.alternative {
            return usable.contains(u).then_some(u);
        }
        let trace = &core.trace;
        let dependent = trace.event(i).thread;
        let leads = |q: ThreadId| {
            q == u
                || (q != dependent
                    && self.past.get(q.index()).is_some_and(|seq| *seq > trace.seq_before(q, i + 1)))
        };
        let price = |q: ThreadId| if cheapest { self.rank(i, q) } else { 0 };
        usable.iter().filter(|q| leads(*q)).min_by_key(|q| (price(*q), *q != u))
    }

    /// Explores what a search without a bound would at node `i`, and the cheapest thread that leads to `u` there. Gives the
    /// latter; `None`: all threads are explored.
    fn cheapest(&mut self, core: &mut Core, i: usize, u: ThreadId, conservative: bool) -> Option<ThreadId> {
        let t = self.choose(core, i, u, true);
        if self.on.bound && !conservative {
            let plain = self.choose(core, i, u, false);
            self.point(core, i, plain, false);
            self.point(core, i, t, true);
        } else {
            self.point(core, i, t, conservative);
        }
        t
    }

    /// The conservative point of a preemption bound that goes with one at event `i`.
    fn block_point(&mut self, core: &mut Core, i: usize, t: ThreadId) {
        let mut j = self.frames[i].block as usize;
        if self.printed && j == i {
            match i.checked_sub(1) {
                Some(before) => j = self.frames[before].block as usize,
                None => return,
            }
        }
        if j != i {
            self.point(core, j, Some(t), true);
        }
    }

    /// Whether event `i` may enable a thread, so that others get dearer.
    fn is_release(&self, core: &Core, i: usize, u: ThreadId, op: &Op) -> bool {
        use OpKind::*;
        let data = |k: OpKind| matches!(k, Store | Rmw | CompareExchange | CompareExchangeWeak | TryLock);
        if self.printed {
            let (kind, object) = self.ops[self.frames[i].row as usize + u.index()];
            return Op::new(kind, object).releases() && !data(kind);
        }
        let earlier = &core.trace.event(i).op;
        (earlier.releases() && !data(earlier.kind)) || op.may_block()
    }

    /// `u`'s next step is dependent with event `i`, the last such one of its thread.
    fn answer(&mut self, core: &mut Core, view: &View<'_>, i: usize, u: ThreadId) {
        let op = &view.pending[u.index()].op;
        // Where the two steps could be turned round, if not at `i`.
        let mut at = Some(i);
        if self.on.release && !may_be_coenabled(&core.trace.event(i).op, op, self.mistake) {
            let v = core.trace.event(i).thread;
            at = core.trace.last_possible_conflict(u, op, view.awaited_by(u), i, |trace, e| {
                trace.event(e).thread == v
                    && op.kind != OpKind::Join
                    && may_be_coenabled(&trace.event(e).op, op, self.mistake)
            });
            if self.mistake == Some(Mistake::TransitiveAtAcquire)
                && at.is_some_and(|e| core.trace.happens_before(e, i))
            {
                at = None;
            }
        }
        let moved = at != Some(i);
        let keeps = moved && self.mistake != Some(Mistake::NoPointAtRelease);
        match self.form {
            Form::Everything | Form::Local => {
                if let Some(e) = at {
                    self.point(core, e, self.choose(core, e, u, false), false);
                }
            }
            Form::Contexts => {
                if let Some(e) = at {
                    self.point(core, e, self.choose(core, e, u, false), false);
                    self.add(core, e, core.nodes[e].enabled, true);
                }
                // A fair bound beside it does price enabled threads.
                if keeps && self.holds_back {
                    self.add(core, i, core.nodes[i].enabled, true);
                }
            }
            Form::Preemptions => {
                // Where points cannot be pending, the one before the release is as good as the one before the acquire.
                for (e, conservative) in [(at.filter(|_| !moved || self.on.bound), false), (Some(i), true)] {
                    let Some(e) = e else { continue };
                    if conservative && !keeps {
                        continue;
                    }
                    let t = self.cheapest(core, e, u, conservative);
                    self.block_point(core, e, t.unwrap_or(u));
                }
            }
            Form::Delta | Form::Fair => {
                if let Some(e) = at {
                    let t = self.cheapest(core, e, u, false);
                    if let Some(t) = t.filter(|_| self.form == Form::Delta) {
                        let price = self.rank(e, t);
                        let cheaper =
                            core.nodes[e].enabled.iter().filter(|q| self.rank(e, *q) < price).collect();
                        self.add(core, e, cheaper, true);
                    }
                }
                if keeps || (!moved && self.is_release(core, i, u, op)) {
                    self.add(core, i, core.nodes[i].enabled, true);
                }
            }
        }
    }

    /// Adds a point for every dependence of the next step of every thread on an earlier event.
    fn races(&mut self, core: &mut Core, view: &View<'_>) {
        let end = core.trace.len();
        let ran = end.checked_sub(1).map(|k| core.trace.event(k).thread);
        for u in view.live.iter() {
            let op = &view.pending[u.index()].op;
            core.trace.past_of_next(u, &mut self.past);
            self.last.clear();
            self.last.resize(core.trace.threads(), NONE);
            // A step that was announced before can be dependent on nothing new but the last event.
            let known = ran.is_some_and(|t| t != u)
                && self.frames[end - 1].live.contains(u)
                && self.ops[self.frames[end - 1].row as usize + u.index()] == (op.kind, op.object)
                && op.kind != OpKind::Wake;
            self.dependences(core, view, u, if known { end - 1 } else { 0 });
            for v in 0..self.last.len() {
                let i = self.last[v];
                if i == NONE {
                    continue;
                }
                let follows = |trace: &crate::trace::Trace| {
                    trace.in_past(i, &self.past)
                        || self.last.iter().any(|k| *k != NONE && *k > i && trace.happens_before(i, *k))
                };
                if self.on.transitive && follows(&core.trace) {
                    continue;
                }
                self.answer(core, view, i, u);
            }
            self.told(core, u);
        }
        debug_assert!(self.post_condition(core, view));
    }

    /// For each thread, its last event from `from` on that the next step of `u` may be dependent with in some state.
    fn dependences(&mut self, core: &Core, view: &View<'_>, u: ThreadId, from: usize) {
        let op = &view.pending[u.index()].op;
        let trace = &core.trace;
        let mut on_object = |object: ObjectId, access: Access| {
            for (e, a) in trace.history(object).take_while(|(e, _)| *e >= from) {
                let event = trace.event(e);
                let other = if event.op.object == object { strongest(&event.op) } else { a };
                let dependent = event.thread != u && other.conflicts(event.cause(), &access, 0);
                if dependent {
                    let last = &mut self.last[event.thread.index()];
                    *last = if *last == NONE { e } else { e.max(*last) };
                }
                // All earlier ones happen before this one.
                if self.on.transitive && a.is_total() && (dependent || event.thread == u) {
                    break;
                }
            }
        };
        if op.kind == OpKind::Await {
            view.awaited_by(u).iter().for_each(|(o, _)| on_object(*o, Access::new(Mode::Read)));
        } else if op.object.is_some() {
            on_object(op.object, strongest(op));
            if op.other.is_some() {
                on_object(op.other, Access::new(Mode::Write));
            }
        }
    }

    /// Spawns and joins that are told, not steps: they cannot be turned round, but the step that they come with enables a
    /// thread, which matters to bounds that price enabled threads.
    fn told(&mut self, core: &mut Core, u: ThreadId) {
        let prices_enabled = matches!(self.form, Form::Preemptions | Form::Delta | Form::Fair);
        if !prices_enabled && !self.holds_back {
            return;
        }
        let mut edges = std::mem::take(&mut self.edges);
        edges.clear();
        edges.extend(core.trace.waiting_edges_of(u));
        for e in edges.iter().copied() {
            if self.form == Form::Preemptions {
                self.point(core, e, Some(u), true);
                self.block_point(core, e, u);
            } else {
                self.add(core, e, core.nodes[e].enabled, true);
            }
        }
        self.edges = edges;
    }

    /// The post-condition of the search (definitions 5.2, 5.4, 5.6, 5.8, 5.10, 7.3), looked at anew, without what makes finding
    /// dependences cheap. Only for the base algorithms and short executions.
    fn post_condition(&mut self, core: &Core, view: &View<'_>) -> bool {
        let end = core.trace.len();
        if end > 10 || self.on.transitive || self.on.alternative || self.on.release || self.mistake.is_some()
        {
            return true;
        }
        view.live.iter().all(|u| {
            self.last.clear();
            self.last.resize(core.trace.threads(), NONE);
            self.dependences(core, view, u, 0);
            self.last.iter().filter(|i| **i != NONE).all(|i| {
                let there = |k: usize| core.nodes[k].backtrack.or(&self.frames[k].pending);
                let all = |k: usize| core.nodes[k].enabled.minus(&there(k)).is_empty();
                let one = |k: usize| there(k).contains(u) && self.usable(core, k).contains(u) || all(k);
                let cheaper = |k: usize| {
                    let price = self.rank(k, u);
                    core.nodes[k].enabled.iter().all(|q| self.rank(k, q) >= price || there(k).contains(q))
                };
                let op = &view.pending[u.index()].op;
                match self.form {
                    Form::Everything | Form::Contexts => all(*i),
                    Form::Local => one(*i),
                    Form::Preemptions => one(*i) && one(self.frames[*i].block as usize),
                    Form::Delta | Form::Fair if self.is_release(core, *i, u, op) => all(*i),
                    Form::Delta => all(*i) || one(*i) && cheaper(*i),
                    Form::Fair => one(*i),
                }
            })
        })
    }

    /// The execution ends at node `i`: every way on is over a bound.
    fn refuse(&mut self, core: &mut Core, i: usize) {
        (core.over_bound, core.refused) = (true, true);
        self.refused_first |= !self.frames[i].over_first.is_empty();
        if let Some(parent) = i.checked_sub(1) {
            self.frames[parent].branch = true;
        }
    }

    /// The thread to begin with, and what is to be explored besides.
    fn initialize(&mut self, core: &mut Core, i: usize) -> Option<ThreadId> {
        let frame = self.frames[i];
        let n = &core.nodes[i];
        let within = n.enabled.minus(&frame.over).minus(&n.asleep);
        if within.is_empty() {
            if n.enabled.minus(&n.asleep).is_empty() {
                return None;
            }
            // Every way on that is not seen elsewhere is over the bound.
            self.refuse(core, i);
            if self.holds_back {
                // A state from which two bounds leave no way may be had for less from anywhere further up.
                for k in 0..i {
                    self.add(core, k, core.nodes[k].enabled, true);
                }
            }
            return None;
        }
        if self.mistake == Some(Mistake::Naive) {
            let first = Core::ring_thread(n, n.enabled.minus(&n.asleep))?;
            core.nodes[i].backtrack.insert(first);
            if frame.over.contains(first) {
                self.refuse(core, i);
                return None;
            }
            return Some(first);
        }
        let running = n.current.filter(|t| within.contains(*t));
        let ring = |t: ThreadId| (n.current.is_some_and(|c| t < c), t);
        let by_rank = within.iter().min_by_key(|t| (self.rank(i, *t), Some(*t) != running, ring(*t)));
        let first = match self.form {
            Form::Delta => by_rank?,
            Form::Fair if self.mistake != Some(Mistake::AnyFairThread) => by_rank?,
            // As the fair bound alone begins: right, but it takes more executions.
            Form::Preemptions if self.holds_back && self.printed => {
                let yields = |t: ThreadId| {
                    let of_t = core.trace.events().iter().filter(|e| e.thread == t);
                    of_t.filter(|e| e.op.kind == OpKind::Yield).count()
                };
                let key = |t: &ThreadId| (self.rank(i, *t), yields(*t), Some(*t) != running, ring(*t));
                within.iter().min_by_key(key)?
            }
            Form::Preemptions if self.holds_back => by_rank?,
            _ => Core::ring_thread(n, within)?,
        };
        core.nodes[i].backtrack.insert(first);
        let all = match self.form {
            Form::Everything => true,
            Form::Contexts => running != Some(first),
            _ => false,
        };
        if all {
            self.add(core, i, core.nodes[i].enabled, true);
        }
        Some(first)
    }

    /// The thread that ran last may have come to the end of its block.
    fn note_run(&mut self, core: &Core, view: &View<'_>) {
        if let Some(k) = core.trace.len().checked_sub(1) {
            self.blocks.note_run(core, view, self.frames[k].block as usize);
        }
    }

    /// Whether blocks may sleep: a preemption bound alone.
    fn blocks_sleep(&self) -> bool {
        let printed = [Some(Mistake::SleepsAsPrinted), Some(Mistake::SleepsAsPrintedForGood)];
        self.on.sleep
            && self.form == Form::Preemptions
            && !self.holds_back
            && !printed.contains(&self.mistake)
    }
}

/// Whether an event and a later step could ever be enabled together. The steps of one thread's life never are.
fn may_be_coenabled(earlier: &Op, later: &Op, mistake: Option<Mistake>) -> bool {
    use OpKind::*;
    later.may_be_coenabled(earlier)
        && match (earlier.kind, later.kind) {
            (Spawn, Join | End) => false,
            (Start, Join) => mistake == Some(Mistake::StartMeetsJoin),
            _ => true,
        }
}

impl Reduction for Bpor {
    fn sleeps(&self) -> bool {
        self.on.sleep
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let i = core.trace.len();
        if let Some(f) = self.frames.get(i) {
            self.ranks.truncate(f.row as usize);
            self.ops.truncate(f.row as usize);
            self.frames.truncate(i);
        }
        let row = self.ranks.len();
        self.ranks.resize(row + view.pending.len(), 0);
        self.ops.extend(view.pending.iter().map(|p| (p.op.kind, p.op.object)));
        let over = self.bounds.enter(core, view, self.main, &mut self.ranks[row..]);
        self.frames.push(Frame {
            over: over.any,
            over_first: over.first,
            held_back: if self.holds_back { over.fair } else { ThreadSet::EMPTY },
            live: view.live,
            row: row as u32,
            ..Frame::default()
        });
        if self.blocks_sleep() {
            self.blocks.enter(core, view, i);
            self.note_run(core, view);
        }
        self.races(core, view);
        self.initialize(core, i)
    }

    fn ran(&mut self, core: &mut Core, f: usize) {
        let goes_on = f.checked_sub(1).is_some_and(|k| {
            let before = core.trace.event(k);
            before.thread == core.trace.event(f).thread
                && !(self.holds_back && before.op.kind == OpKind::Yield)
        });
        self.frames[f].block = if goes_on { self.frames[f - 1].block } else { f as u32 };
        if self.bounds.is_over_after(core, f) {
            (core.prune, core.over_bound, core.refused) = (true, true, true);
            (self.frames[f].branch, self.refused_first) = (true, true);
        }
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, end: End) {
        // A node without a step was looked at when it was entered; a step over the bound never took place.
        if core.nodes.len() > core.trace.len() || core.prune {
            return;
        }
        if self.blocks_sleep() {
            self.note_run(core, view);
        }
        self.races(core, view);
        self.dearest += (end == End::Complete && self.bounds.is_spent(core, view)) as u64;
    }

    fn finished(&mut self, core: &mut Core, i: usize) -> bool {
        let f = &mut self.frames[i];
        let n = &mut core.nodes[i];
        let branch = std::mem::take(&mut f.branch);
        f.any |= branch;
        loop {
            let refused = n.backtrack.and(&f.over).minus(&n.done).minus(&n.asleep);
            if !refused.is_empty() {
                n.done = n.done.or(&refused);
                f.any = true;
                core.refused = true;
                self.refused_first |= !refused.and(&f.over_first).is_empty();
            }
            let open = n.backtrack.and(&n.enabled).minus(&n.done).minus(&n.asleep);
            if !open.is_empty() || !f.any || f.pending.minus(&n.backtrack).is_empty() {
                break;
            }
            n.backtrack = n.backtrack.or(&f.pending);
        }
        let (any, for_bound) = (f.any, f.for_bound);
        if let Some(parent) = i.checked_sub(1).filter(|_| any) {
            self.frames[parent].branch = true;
        }
        let rule = match self.mistake {
            Some(Mistake::AlwaysSleeps) => true,
            Some(Mistake::SleepsAsPrinted | Mistake::SleepsAsPrintedForGood) => {
                !for_bound.contains(core.trace.event(i).thread)
            }
            _ => self.stable || !branch,
        };
        let sleeps = self.on.sleep && rule;
        if self.blocks_sleep() {
            self.blocks.finished(core, i, !sleeps);
        }
        sleeps
    }

    fn promise(&self, core: &Core) -> Promise {
        self.bounds.promise(core)
    }
}
