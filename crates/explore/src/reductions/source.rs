//! Source-DPOR (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014; Sachinoglou, algorithm 3).
//!
//! For every race of a new step `f` with an earlier event `e`: let `v` be what ran after `e` and does not happen after it,
//! then `f`. If none of the threads that can begin `v` is explored before `e`, explore one of them there. The sets are source
//! sets: smaller than persistent sets, and enough. With sleep sets no class is completed twice, but executions may still
//! be cut when all enabled threads sleep; those are counted apart.

use crate::explorer::{End, View};
use crate::ids::{ObjectId, ThreadId, ThreadSet};
use crate::op::OpKind;
use crate::reductions::wakeup::{Later, Sequence};
use crate::search::{Core, Reduction};

/// Source sets with sleep sets.
#[derive(Default)]
pub(crate) struct SourceSets {
    sequence: Sequence,
    pending: Vec<usize>,
    awaited: Vec<(ObjectId, u64)>,
}

impl SourceSets {
    /// Answers the race of event `e` with a later step: one of the threads that can begin the reversal is explored before `e`.
    fn reverse(&mut self, core: &mut Core, e: usize, later: &Later<'_>, end: usize) {
        if !self.sequence.reverse(&core.trace, e, later, end) {
            return;
        }
        let initials: ThreadSet = self.sequence.initials(&core.trace);
        debug_assert!(!initials.is_empty());
        let node = &mut core.nodes[e];
        if node.backtrack.and(&initials).is_empty() {
            // Whether a thread that waits for a word to change may go on is not always told exactly beforehand.
            let waits = later.op.kind == OpKind::Await;
            let possible = initials.and(&node.enabled);
            debug_assert!(
                waits || possible == initials,
                "an initial of a reversed race is enabled before it"
            );
            let pick = if possible.contains(later.thread) { Some(later.thread) } else { possible.first() };
            match pick {
                Some(q) => {
                    node.backtrack.insert(q);
                }
                None => node.backtrack = node.backtrack.or(&node.enabled),
            }
        }
    }
}

impl SourceSets {
    /// A step that becomes another kind of access when it comes first may conflict with what came later in the execution:
    /// then the race is turned round once more, with all of it.
    fn reverse_what_changes(&mut self, core: &mut Core, answered: impl Fn(&Core, usize, usize) -> bool) {
        let end = core.trace.len();
        for k in 0..core.trace.races().len() {
            let (e, f) = (core.trace.races()[k].first.index(), core.trace.races()[k].second.index());
            let event = *core.trace.event(f);
            if core.trace.event(e).access.is_total() || answered(core, e, f) {
                continue;
            }
            core.trace.past_of(f, &mut self.sequence.past);
            let later = Later { thread: event.thread, seq: event.seq, op: &event.op, awaited: &[] };
            if event.op.kind != OpKind::Await
                && self.sequence.reverse(&core.trace, e, &later, end)
                && self.sequence.becomes_another(&core.trace, e, f)
            {
                self.reverse(core, e, &later, end);
            }
        }
    }

    /// Answers the races of the new event `f` with events before `end`.
    pub(crate) fn answer(&mut self, core: &mut Core, f: usize, end: usize) {
        for k in 0..core.trace.races_of(f).len() {
            let e = core.trace.races_of(f)[k].first.index();
            if e >= end {
                continue;
            }
            let event = *core.trace.event(f);
            let mut awaited = std::mem::take(&mut self.awaited);
            core.trace.awaited_of(f, &mut awaited);
            core.trace.past_of(f, &mut self.sequence.past);
            let later = Later { thread: event.thread, seq: event.seq, op: &event.op, awaited: &awaited };
            self.reverse(core, e, &later, f);
            self.awaited = awaited;
        }
    }

    /// Answers what is left at the end of an execution, but for races that are answered already.
    pub(crate) fn answer_rest(
        &mut self,
        core: &mut Core,
        view: &View<'_>,
        end: End,
        answered: impl Fn(&Core, usize, usize) -> bool,
    ) {
        self.reverse_what_changes(core, answered);
        for t in Core::stuck(view, end).iter() {
            let mut pending = std::mem::take(&mut self.pending);
            let later = self.sequence.stand_at(&mut core.trace, t, view, &mut pending);
            for e in &pending {
                self.reverse(core, *e, &later, core.trace.len());
            }
            self.pending = pending;
        }
    }
}

impl Reduction for SourceSets {
    fn sleeps(&self) -> bool {
        true
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        core.count_sleepers_above();
        let n = core.nodes.last_mut()?;
        let t = Core::default_thread(view, view.enabled.minus(&n.asleep))?;
        n.backtrack.insert(t);
        Some(t)
    }

    #[inline]
    fn ran(&mut self, core: &mut Core, f: usize) {
        core.stats.race_checks += f as u64;
        // Clocks answer for all of them at once; what is counted is what the algorithm asks.
        core.stats.dependency_checks += f as u64 + 1 - u64::from(core.trace.event(f).seq);
        if !core.trace.races_of(f).is_empty() {
            self.answer(core, f, f);
        }
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, end: End) {
        self.answer_rest(core, view, end, |_, _, _| false);
    }
}
