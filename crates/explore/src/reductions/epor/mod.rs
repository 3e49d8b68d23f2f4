//! Eager partial-order reduction (Metzler 2020, chapter 3, algorithm 1), in a repaired form.
//!
//! Steps that are the same in every order form a [`Section`]. Its conflicts are found once, and all its traces are explored
//! along one order each, without looking for races inside. A step races only with steps before its section; those races are
//! answered as source-DPOR does, and a thread that is explored for one starts a section of its own. A section is found by
//! running it: thread after thread in the order of their numbers, which is the least of all its orders. A step that may block,
//! or that has several outcomes, is a section of its own: there the search is source-DPOR.
//!
//! Printed, the algorithm loses traces and repeats others. What is needed: (1) the order that stands for a trace is the
//! lexicographically least; (2) sleeping threads are not taken; (3) where all that the section would take sleep, some other
//! thread is taken. Then what the section takes, with what sleeps, is a source set for the rest of the section: a trace that
//! does not begin so begins with a lower thread, which was explored further up and sleeps.
//!
//! The short form (`epor-sh`, section 3.3) lets at most one step of each thread be in conflict: with program order, dense
//! conflicts have few traces among many orientations, and long sections gain nothing.

mod section;

use crate::explorer::{End, Pending, View};
use crate::ids::{ThreadId, ThreadSet};
use crate::op::Op;
use crate::reductions::source::SourceSets;
use crate::search::{Core, Reduction};
use section::{Place, Section, decides_what_comes_next, is_fixed};
use std::collections::HashMap;

/// How many sections are remembered with how many traces they have.
const REMEMBERED: usize = 1 << 12;

/// What the search knows of a node in a section besides. A step that is a section of its own has none.
#[derive(Clone, Copy)]
struct Frame {
    /// The node.
    node: u32,
    /// Its section is the so many-th of those that are kept.
    section: u32,
    /// How far the order of the section is there.
    place: Place,
    /// What the section takes from here.
    planned: ThreadSet,
}

/// A section of one thread, the others being asleep or not there: it has one order, and its steps race with none of each other. So
/// nothing has to be known of it but where it ends.
struct Alone {
    thread: ThreadId,
    /// Its first node.
    start: usize,
    /// More steps may join; not when the top node is in no such section.
    open: bool,
}

impl Frame {
    /// Whether what is run at the node is a step of its section.
    #[inline]
    fn takes(&self, core: &Core) -> bool {
        self.planned.contains(core.nodes[self.node as usize].chosen)
    }
}

impl Alone {
    const NONE: Alone = Alone { thread: ThreadId::MAIN, start: 0, open: false };

    /// Takes one more step.
    #[inline]
    fn put(&mut self, op: &Op) {
        self.open = !decides_what_comes_next(op);
    }

    /// Whether a step of its thread joins.
    #[inline]
    fn takes(&self, core: &Core, op: &Op) -> bool {
        is_fixed(op.kind) && !core.trace.waiting_edges_of(self.thread).any(|e| e >= self.start)
    }
}

/// Sections, and source sets between them.
pub(crate) struct Eager {
    short: bool,
    source: SourceSets,
    /// Those of the nodes that are in sections, in the order of nodes.
    frames: Vec<Frame>,
    /// Those of the execution at hand, by where they start; the first `kept` are in use.
    sections: Vec<Section>,
    kept: usize,
    /// The one that the top node is in, if it is of one thread. None outlives an execution.
    alone: Alone,
    /// The node whose step runs next, or has just run, is in one of `sections`.
    inside: bool,
    /// How many traces sections have that conflict in this way; the same ones come again and again.
    counted: HashMap<Box<[u64]>, Option<u64>>,
    shape: Vec<u64>,
}

impl Eager {
    /// With sections as long as they get, or with short ones.
    pub(crate) fn new(short: bool) -> Eager {
        Eager {
            short,
            source: SourceSets::default(),
            frames: Vec::new(),
            sections: Vec::new(),
            kept: 0,
            alone: Alone::NONE,
            inside: false,
            counted: HashMap::new(),
            shape: Vec::new(),
        }
    }

    /// A section starts at node `i`.
    fn begin(&mut self, core: &mut Core, view: &View<'_>, i: usize) -> Option<ThreadId> {
        let node = &mut core.nodes[i];
        let awake = view.enabled.minus(&node.asleep);
        let lead = Core::default_thread(view, awake)?;
        let fixed = is_fixed(view.pending[lead.index()].op.kind);
        if !fixed || awake == ThreadSet::single(lead) {
            node.backtrack.insert(lead);
            if fixed {
                self.alone = Alone { thread: lead, start: i, open: true };
                self.alone.put(&view.pending[lead.index()].op);
            }
            return Some(lead);
        }
        let patient = if view.yielded.contains(lead) { ThreadSet::EMPTY } else { view.yielded };
        if self.kept == self.sections.len() {
            self.sections.push(Section::default());
        }
        self.sections[self.kept].begin(i, self.short, awake.minus(&patient), view);
        self.kept += 1;
        let t = self.grow(core, view);
        debug_assert!(t.is_some(), "the first step of a section joins it");
        t
    }

    /// Takes one more step into the section that is being found.
    fn grow(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let section = self.kept - 1;
        let found = &mut self.sections[section];
        let start = found.start;
        let t = found.grow(view, |t| core.trace.waiting_edges_of(t).any(|e| e >= start))?;
        Some(self.plan(core, section, Place::default(), ThreadSet::single(t), t))
    }

    /// The top node is in a section: `planned` is what that takes from there, and `first` goes first.
    fn plan(
        &mut self,
        core: &mut Core,
        section: usize,
        place: Place,
        planned: ThreadSet,
        first: ThreadId,
    ) -> ThreadId {
        let node = core.nodes.len() as u32 - 1;
        if let Some(n) = core.nodes.last_mut() {
            n.backtrack = planned;
            n.backtrack.insert(first);
        }
        self.frames.push(Frame { node, section: section as u32, place, planned });
        self.inside = true;
        first
    }

    /// The frame of a node, if it is the last that is in a section.
    #[inline]
    fn top(&self, node: usize) -> Option<&Frame> {
        self.frames.last().filter(|f| f.node as usize == node)
    }

    /// The section that is being found is complete: from here on its other orders are known.
    fn complete(&mut self, core: &mut Core) {
        let Some(section) = self.sections[..self.kept].last_mut().filter(|s| s.growing) else { return };
        section.growing = false;
        let n = section.len() as u64;
        let (pairs, conflicts) = section.pairs();
        core.stats.race_checks += n * (n - 1) / 2;
        core.stats.dependency_checks += pairs;
        if conflicts == 0 {
            // There is no other order, so nobody asks where an order of it stands.
            return;
        }
        if conflicts > 1 {
            section.shape(&mut self.shape);
            if self.counted.len() == REMEMBERED {
                self.counted.clear();
            }
            let traces = match self.counted.get(self.shape.as_slice()) {
                Some(known) => *known,
                None => *self.counted.entry(self.shape.as_slice().into()).or_insert(section.traces()),
            };
            let systems = 1u64.checked_shl(conflicts).unwrap_or(u64::MAX);
            let cycles = traces.map_or(0, |t| systems - t);
            core.stats.unsatisfiable = core.stats.unsatisfiable.saturating_add(cycles);
        }
        let mut place = Place::default();
        // Its nodes are the last that are in a section.
        let frames = self.frames.len() - section.len()..;
        for (k, frame) in self.frames[frames].iter_mut().enumerate() {
            let (i, t) = (section.start + k, section.thread_of(k));
            debug_assert_eq!(frame.node as usize, i);
            frame.place = place;
            frame.planned = section.successors(place);
            debug_assert_eq!(frame.planned.first(), Some(t), "a section is found along its least order");
            let node = &mut core.nodes[i];
            node.backtrack = node.backtrack.or(&frame.planned);
            place = section.after(place, t);
        }
    }
}

/// The first event that event `f` need not be compared with: that of its section, if it was run as a step of one.
fn compared_up_to(frames: &[Frame], sections: &[Section], core: &Core, f: usize) -> usize {
    let frame = frames.binary_search_by_key(&(f as u32), |f| f.node).map(|at| &frames[at]);
    match frame {
        Ok(frame) if frame.takes(core) => sections[frame.section as usize].start,
        _ => f,
    }
}

impl Eager {
    /// The top node is new, and in no section of one thread that was there before.
    fn enter_section(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let i = core.nodes.len() - 1;
        self.inside = false;
        while self.frames.last().is_some_and(|f| f.node as usize >= i) {
            self.frames.pop();
        }
        while self.kept > 0 && self.sections[self.kept - 1].start >= i {
            self.kept -= 1;
        }
        let Some(above) = i.checked_sub(1) else { return self.begin(core, view, i) };
        if self.top(above).is_none() { self.begin(core, view, i) } else { self.go_on(core, view, i) }
    }

    /// Event `f`, whose node is in a section, has just run.
    fn ran_inside(&mut self, core: &mut Core, f: usize) {
        let Some(frame) = self.top(f).filter(|f| f.takes(core)) else { return self.source.ran(core, f) };
        let section = &self.sections[frame.section as usize];
        let (end, event) = (section.start, core.trace.event(f));
        let own = event.seq - 1 - section.taken(frame.place, f, event.thread);
        debug_assert_eq!(own, core.trace.seq_before(event.thread, end));
        core.stats.race_checks += end as u64;
        core.stats.dependency_checks += end as u64 - u64::from(own);
        self.source.answer(core, f, end);
    }

    /// Node `i` comes after one that is in a section.
    fn go_on(&mut self, core: &mut Core, view: &View<'_>, i: usize) -> Option<ThreadId> {
        let chosen = core.nodes[i - 1].chosen;
        let Some(&above) = self.top(i - 1).filter(|f| f.takes(core)) else {
            return self.begin(core, view, i);
        };
        let section = &self.sections[above.section as usize];
        if section.growing {
            if let Some(t) = self.grow(core, view) {
                return Some(t);
            }
            self.complete(core);
            return self.begin(core, view, i);
        }
        let place = section.after(above.place, chosen);
        if section.complete(place) {
            return self.begin(core, view, i);
        }
        let planned = section.successors(place);
        let awake = view.enabled.minus(&core.nodes[i].asleep);
        let first = planned.and(&awake).first().or_else(|| Core::default_thread(view, awake))?;
        Some(self.plan(core, above.section as usize, place, planned, first))
    }
}

impl Reduction for Eager {
    fn sleeps(&self) -> bool {
        true
    }

    #[inline]
    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        core.count_sleepers_above();
        if self.alone.open {
            let t = self.alone.thread;
            let op = &view.pending[t.index()].op;
            if view.enabled.contains(t)
                && self.alone.takes(core, op)
                && let Some(n) = core.nodes.last_mut()
            {
                self.alone.put(op);
                n.backtrack.insert(t);
                return Some(t);
            }
            self.alone = Alone::NONE;
        }
        self.enter_section(core, view)
    }

    #[inline]
    fn goes_on(&mut self, core: &mut Core, next: &Pending) -> bool {
        let goes_on = self.alone.open && self.alone.takes(core, &next.op);
        if goes_on {
            debug_assert_eq!(core.nodes.last().map(|n| n.chosen), Some(self.alone.thread));
            self.alone.put(&next.op);
        }
        goes_on
    }

    #[inline]
    fn ran(&mut self, core: &mut Core, f: usize) {
        if !self.inside {
            return self.source.ran(core, f);
        }
        self.ran_inside(core, f);
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, end: End) {
        self.alone = Alone::NONE;
        self.inside = false;
        self.complete(core);
        let Eager { source, frames, sections, .. } = self;
        source.answer_rest(core, view, end, |core, e, f| e >= compared_up_to(frames, sections, core, f));
    }

    fn next_branch(&mut self, core: &mut Core) -> Option<ThreadId> {
        let node = core.nodes.last()?;
        let at = core.nodes.len() - 1;
        while self.frames.last().is_some_and(|f| f.node as usize > at) {
            self.frames.pop();
        }
        let open = node.backtrack.minus(&node.done).minus(&node.asleep).and(&node.enabled);
        let planned = self.top(at).map(|f| f.planned);
        self.inside = planned.is_some();
        let planned = planned.unwrap_or(ThreadSet::EMPTY);
        planned.and(&open).first().or_else(|| Core::ring_thread(node, open))
    }
}
