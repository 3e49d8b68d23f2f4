//! The searches that Sachinoglou built into Nidhugg (algorithms 5, 6, 8 and 9): source-DPOR's loop with other sets,
//! and within a bound on the preemptions of each execution.
//!
//! For every race of a new step `f` with an event `e`, `v` is what ran after `e` and does not happen after it, then `f`.
//! Source sets want one of the threads that can begin `v`, its *initials*, explored before `e`. *Nidhugg-DPOR* counts only
//! initials that happen before `f` (`CI`): what it explores are persistent sets. *Naive-BPOR* refuses steps that are
//! over the bound, and so loses executions whose equals cost less elsewhere. *Nidhugg-BPOR* and *Source-BPOR* add, by the
//! same rule with `CI`, a *conservative* branch where the block of `e` starts: where its thread was not yet running,
//! another one costs nothing. Nidhugg-BPOR has persistent sets for the other branches, Source-BPOR source sets.
//!
//! Errata. Lines 18 to 20 of algorithm 8, and 14 to 16 of algorithm 9, test and extend the set before `e`; they must mean the
//! one at the start of the block. Both put every branch that is not conservative to sleep; that loses executions that
//! were refused below it but cost less from another branch, so a branch sleeps only if nothing was refused below it
//! (Coons, rule 0). And a step that was refused never ran, so its races are looked for where it was refused: at the end of an
//! execution that is over the bound, and at a node that is left without the branch.
//!
//! Algorithm 9 lets any initial answer a race, as source sets do. Below that initial the race may be within the bound nowhere: to
//! come back from its thread costs a preemption that the execution with the later step first does not have; and the race may
//! not show there either, if what the two steps see decides whether they conflict. So an initial of `CI` is kept with it, and
//! explored if something was refused at the node or below: where nothing is, source sets are enough.

use crate::explorer::{End, View};
use crate::ids::{ObjectId, ThreadId, ThreadSet};
use crate::op::{Op, OpKind};
use crate::plan::BoundKind;
use crate::reductions::wakeup::{Later, Sequence};
use crate::search::{Core, Node, Promise, Reduction};
use crate::trace::Trace;

/// Which initials answer a race.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Any: source sets.
    Source,
    /// Those that happen before the later step: persistent sets.
    Persistent,
}

/// What is kept of a node besides.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Preemptions up to the node.
    cost: u32,
    conservative: ThreadSet,
    /// Threads that lead to a race which another initial answers: to be explored if something is refused.
    leading: ThreadSet,
    /// Something at the node or below was refused.
    refused: bool,
}

/// Sets of initials, within a bound or without.
pub(crate) struct Nidhugg {
    answer: Answer,
    conservative: bool,
    limit: Option<u32>,
    places: Vec<Place>,
    sequence: Sequence,
    pending: Vec<usize>,
    awaited: Vec<(ObjectId, u64)>,
    /// Steps that are to be taken from a node and are over the bound there.
    refused: Vec<Refused>,
}

/// A step that is over the bound at a node.
struct Refused {
    node: usize,
    thread: ThreadId,
    op: Op,
    /// What it waits on, if it is an await.
    awaited: Vec<(ObjectId, u64)>,
    /// The clocks of what it comes after.
    past: Vec<u32>,
}

impl Nidhugg {
    fn new(answer: Answer, limit: Option<u32>, conservative: bool) -> Nidhugg {
        Nidhugg {
            answer,
            conservative,
            limit,
            places: Vec::new(),
            sequence: Sequence::default(),
            pending: Vec::new(),
            awaited: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Nidhugg-DPOR: persistent sets, no bound (algorithm 5).
    pub(crate) fn dpor() -> Nidhugg {
        Nidhugg::new(Answer::Persistent, None, false)
    }

    /// Naive-BPOR: source sets, and a bound that is not made up for (algorithm 6).
    pub(crate) fn naive(limit: u32) -> Nidhugg {
        Nidhugg::new(Answer::Source, Some(limit), false)
    }

    /// Nidhugg-BPOR: persistent sets and conservative branches (algorithm 8).
    pub(crate) fn bpor(limit: u32) -> Nidhugg {
        Nidhugg::new(Answer::Persistent, Some(limit), true)
    }

    /// Source-BPOR: source sets and conservative branches (algorithm 9).
    pub(crate) fn source_bpor(limit: u32) -> Nidhugg {
        Nidhugg::new(Answer::Source, Some(limit), true)
    }

    /// What the execution costs with a step of `t` at node `i`.
    fn price(&self, node: &Node, i: usize, t: ThreadId) -> u32 {
        let preempts = node.current.is_some_and(|c| c != t && node.enabled.contains(c));
        self.places[i].cost + preempts as u32
    }

    fn refuses(&self, node: &Node, i: usize, t: ThreadId) -> bool {
        self.limit.is_some_and(|k| self.price(node, i, t) > k)
    }

    /// Answers the race of event `e` with a later step. `f` is that step if it ran.
    fn race(&mut self, core: &mut Core, e: usize, later: &Later<'_>, f: Option<usize>, end: usize) {
        if self.sequence.reverse(&core.trace, e, later, end) {
            let set = self.sequence.initials(&core.trace);
            let leading = self.leading(core, e, later, f, set);
            self.explore_one_of(core, e, set, leading, later, false);
        }
        if self.conservative
            && let Some(j) = block_start(&core.trace, e)
        {
            if !core.trace.in_past(j, &self.sequence.past)
                && self.sequence.reverse(&core.trace, j, later, end)
            {
                let set = self.sequence.initials(&core.trace);
                let leading = self.leading(core, j, later, f, set);
                self.explore_one_of(core, j, set, leading, later, true);
            } else {
                self.explore_before(core, j, later, f, end);
            }
        }
    }

    /// The later step, or the last one before it that can, comes before event `j`, which cannot be turned round with it: its
    /// thread, or one that leads to it, or all.
    fn explore_before(&mut self, core: &mut Core, j: usize, later: &Later<'_>, f: Option<usize>, end: usize) {
        let trace = &core.trace;
        let (node, thread) = (&core.nodes[j], trace.event(j).thread);
        let leads = |q: ThreadId| {
            q != thread
                && (q == later.thread
                    || (j + 1..end).any(|g| trace.event(g).thread == q && self.leads(core, g, f)))
        };
        let set: ThreadSet = node.enabled.iter().filter(|q| leads(*q)).collect();
        if set.is_empty() {
            let all = node.enabled;
            core.nodes[j].backtrack = all;
            self.places[j].conservative = self.places[j].conservative.or(&all);
        } else {
            self.explore_one_of(core, j, set, set, later, true);
        }
    }

    /// A thread that waits is left for nothing. So a step that can wait is also to come, with its thread waiting, before what
    /// lets it in, though the two are in no race.
    fn wait_longer(&mut self, core: &mut Core, later: &Later<'_>, f: Option<usize>, end: usize) {
        let mut lets_in = std::mem::take(&mut self.pending);
        lets_in.clear();
        for v in (0..core.trace.threads()).map(|v| ThreadId(v as u16)).filter(|v| *v != later.thread) {
            let last =
                core.trace.last_possible_conflict(later.thread, later.op, later.awaited, end, |trace, e| {
                    trace.event(e).thread == v
                });
            lets_in.extend(last.filter(|_| later.op.may_block()));
        }
        if let Some(f) = f.filter(|f| core.trace.event(*f).seq > 1) {
            lets_in.extend(core.trace.edges_of(f));
        }
        for e in &lets_in {
            self.explore_before(core, *e, later, f, end);
            if let Some(j) = block_start(&core.trace, *e) {
                self.explore_before(core, j, later, f, end);
            }
        }
        self.pending = lets_in;
    }

    /// Whether event `g` happens before the later step.
    fn leads(&self, core: &Core, g: usize, f: Option<usize>) -> bool {
        match f {
            Some(f) => core.trace.happens_before(g, f),
            None => core.trace.in_past(g, &self.sequence.past),
        }
    }

    /// `CI`: the initials that happen before the later step, itself among them.
    fn leading(
        &self,
        core: &Core,
        e: usize,
        later: &Later<'_>,
        f: Option<usize>,
        set: ThreadSet,
    ) -> ThreadSet {
        let trace = &core.trace;
        let end = f.unwrap_or(trace.len());
        let first = |q: ThreadId| (e + 1..end).find(|g| trace.event(*g).thread == q);
        set.iter()
            .filter(|q| *q == later.thread || first(*q).is_some_and(|g| self.leads(core, g, f)))
            .collect()
    }

    /// Explores one of the initials before event `e`, unless one that answers is explored there.
    fn explore_one_of(
        &mut self,
        core: &mut Core,
        e: usize,
        set: ThreadSet,
        leading: ThreadSet,
        later: &Later<'_>,
        conservative: bool,
    ) {
        let wanted = later.thread;
        let persistent = conservative || self.answer == Answer::Persistent;
        let node = &mut core.nodes[e];
        let set = set.and(&node.enabled);
        let leading = leading.and(&node.enabled);
        let answers = if persistent && !leading.is_empty() { leading } else { set };
        let explored = node.backtrack.and(&answers);
        let also = if leading.contains(wanted) { Some(wanted) } else { leading.first() };
        if let Some(q) = also.filter(|_| self.conservative && !persistent)
            && node.backtrack.and(&leading).is_empty()
        {
            self.places[e].leading.insert(q);
        }
        if !explored.is_empty() {
            // Where a thread is both, conservative wins.
            if conservative {
                let places = &mut self.places[e].conservative;
                *places = places.or(&explored);
            }
            return;
        }
        let pick = if answers.contains(wanted) { Some(wanted) } else { answers.first() };
        if let Some(q) = pick {
            node.backtrack.insert(q);
            if conservative {
                self.places[e].conservative.insert(q);
            }
            if self.conservative && self.refuses(&core.nodes[e], e, q) {
                self.note_refused(&core.trace, e, q, later);
            }
        }
    }

    /// Keeps the step that `q` would take at node `e`: its next one in the trace, or the later step of a race.
    fn note_refused(&mut self, trace: &Trace, e: usize, q: ThreadId, later: &Later<'_>) {
        let (mut awaited, mut past) = (Vec::new(), Vec::new());
        let op = match (e..trace.len()).find(|g| trace.event(*g).thread == q) {
            Some(g) => {
                trace.awaited_of(g, &mut awaited);
                trace.past_of(g, &mut past);
                trace.event(g).op
            }
            None if q == later.thread => {
                awaited.extend_from_slice(later.awaited);
                past.clone_from(&self.sequence.past);
                *later.op
            }
            None => return,
        };
        self.refused.push(Refused { node: e, thread: q, op, awaited, past });
    }

    /// Node `i`, the top one, is left without the branches that are over the bound: looks for the races of their steps.
    fn races_of_refused(&mut self, core: &mut Core, i: usize) {
        let (here, others): (Vec<_>, _) =
            std::mem::take(&mut self.refused).into_iter().partition(|r| r.node == i);
        self.refused = others;
        for step in here {
            let t = step.thread;
            let mut races = std::mem::take(&mut self.pending);
            races.clear();
            // Clocks may have been widened since.
            let mut past = step.past;
            past.resize(core.trace.width(), 0);
            core.trace.races_after(t, &step.op, &step.awaited, &past, &mut races);
            self.sequence.past = past;
            let seq = core.trace.next_seq(t);
            let later = Later { thread: t, seq, op: &step.op, awaited: &step.awaited };
            for e in &races {
                self.race(core, *e, &later, None, core.trace.len());
            }
            self.pending = races;
            self.wait_longer(core, &later, None, core.trace.len());
        }
    }

    /// Explores what leads to races from node `i`, if something was refused; says whether that is more than before.
    fn explore_leading(&self, core: &mut Core, i: usize) -> bool {
        let Place { leading, refused, .. } = self.places[i];
        let node = &mut core.nodes[i];
        let before = node.backtrack;
        if refused {
            node.backtrack = before.or(&leading);
        }
        node.backtrack != before
    }

    /// A step that becomes another kind of access when it comes first may conflict with what came later in the execution.
    fn reverse_what_changes(&mut self, core: &mut Core) {
        let end = core.trace.len();
        for k in 0..core.trace.races().len() {
            let (e, f) = (core.trace.races()[k].first.index(), core.trace.races()[k].second.index());
            let event = *core.trace.event(f);
            if core.trace.event(e).access.is_total() || event.op.kind == OpKind::Await {
                continue;
            }
            core.trace.past_of(f, &mut self.sequence.past);
            let later = Later { thread: event.thread, seq: event.seq, op: &event.op, awaited: &[] };
            if self.sequence.reverse(&core.trace, e, &later, end)
                && self.sequence.becomes_another(&core.trace, e, f)
            {
                self.race(core, e, &later, None, end);
            }
        }
    }
}

/// Where the block of an event starts, if not with it.
fn block_start(trace: &Trace, e: usize) -> Option<usize> {
    let thread = trace.event(e).thread;
    (0..e).rev().take_while(|j| trace.event(*j).thread == thread).last()
}

impl Reduction for Nidhugg {
    fn sleeps(&self) -> bool {
        true
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let i = core.nodes.len() - 1;
        self.places.truncate(i);
        let cost = i.checked_sub(1).map_or(0, |p| self.price(&core.nodes[p], p, core.nodes[p].chosen));
        self.places.push(Place { cost, ..Place::default() });
        let n = &core.nodes[i];
        let awake = view.enabled.minus(&n.asleep);
        // The running thread goes on, else the oldest goes (5.4): otherwise much is refused for nothing.
        let t = match view.current.filter(|c| awake.contains(*c)) {
            Some(c) => Some(c),
            None => awake.iter().find(|t| !self.refuses(n, i, *t)),
        };
        if t.is_none() && !awake.is_empty() {
            self.places[i].refused = true;
            core.over_bound = true;
        }
        core.nodes[i].backtrack.insert(t?);
        t
    }

    fn ran(&mut self, core: &mut Core, f: usize) {
        for k in 0..core.trace.races_of(f).len() {
            let e = core.trace.races_of(f)[k].first.index();
            let event = *core.trace.event(f);
            let mut awaited = std::mem::take(&mut self.awaited);
            core.trace.awaited_of(f, &mut awaited);
            core.trace.past_of(f, &mut self.sequence.past);
            let later = Later { thread: event.thread, seq: event.seq, op: &event.op, awaited: &awaited };
            self.race(core, e, &later, Some(f), f);
            self.awaited = awaited;
        }
        if self.conservative {
            let event = *core.trace.event(f);
            let mut awaited = std::mem::take(&mut self.awaited);
            core.trace.awaited_of(f, &mut awaited);
            core.trace.past_of(f, &mut self.sequence.past);
            let later = Later { thread: event.thread, seq: event.seq, op: &event.op, awaited: &awaited };
            self.wait_longer(core, &later, Some(f), f);
            self.awaited = awaited;
        }
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, end: End) {
        self.reverse_what_changes(core);
        let end = if core.over_bound { End::Cut } else { end };
        for t in Core::stuck(view, end).iter() {
            let mut pending = std::mem::take(&mut self.pending);
            let later = self.sequence.stand_at(&mut core.trace, t, view, &mut pending);
            for e in &pending {
                self.race(core, *e, &later, None, core.trace.len());
            }
            self.pending = pending;
            if self.conservative {
                self.wait_longer(core, &later, None, core.trace.len());
            }
        }
    }

    fn finished(&mut self, core: &mut Core, i: usize) -> bool {
        let refused = self.places.get(i + 1).is_some_and(|p| p.refused);
        self.places.truncate(i + 1);
        self.refused.retain(|r| r.node <= i);
        self.places[i].refused |= refused;
        self.explore_leading(core, i);
        let chosen = core.nodes[i].chosen;
        !(self.limit.is_some() && (self.places[i].conservative.contains(chosen) || refused))
    }

    fn next_branch(&mut self, core: &mut Core) -> Option<ThreadId> {
        let i = core.nodes.len() - 1;
        loop {
            let n = &core.nodes[i];
            let open = n.backtrack.minus(&n.done).minus(&n.asleep).and(&n.enabled);
            let t = open.iter().find(|t| !self.refuses(n, i, *t));
            if t.is_some() || open.is_empty() {
                return t;
            }
            self.places[i].refused = true;
            core.refused = true;
            if !self.explore_leading(core, i) {
                self.races_of_refused(core, i);
                return None;
            }
        }
    }

    fn promise(&self, core: &Core) -> Promise {
        match self.limit {
            Some(k) if self.conservative && core.refused => Promise::Within(BoundKind::Preemptions.say(k)),
            Some(k) if core.refused => Promise::Nothing(format!(
                "some executions with at most {}, not all of them",
                BoundKind::Preemptions.say(k)
            )),
            _ => Promise::Everything,
        }
    }
}
