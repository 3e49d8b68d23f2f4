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

use crate::explorer::{End, View};
use crate::ids::{ThreadId, ThreadSet};
use crate::reductions::source::SourceSets;
use crate::search::{Core, Reduction};
use section::{Place, Section, fixed_footprint};
use std::collections::HashMap;

/// How many sections are remembered with how many traces they have.
const REMEMBERED: usize = 1 << 12;

/// What the search knows of a node besides.
#[derive(Clone, Copy)]
struct Frame {
    /// Its section is the so many-th of those that are kept; `None` for a step that is a section of its own.
    section: Option<u32>,
    /// Where the section starts.
    start: usize,
    place: Place,
    /// What the section takes from here.
    planned: ThreadSet,
}

/// Sections, and source sets between them.
pub(crate) struct Eager {
    short: bool,
    source: SourceSets,
    /// One for each node.
    frames: Vec<Frame>,
    /// Those of the execution at hand, by where they start; the first `kept` are in use.
    sections: Vec<Section>,
    kept: usize,
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
            counted: HashMap::new(),
            shape: Vec::new(),
        }
    }

    /// A section starts at node `i`.
    fn begin(&mut self, core: &mut Core, view: &View<'_>, i: usize) -> Option<ThreadId> {
        let awake = view.enabled.minus(&core.nodes[i].asleep);
        let lead = Core::default_thread(view, awake)?;
        if fixed_footprint(lead, &view.pending[lead.index()].op).is_none() {
            let frame =
                Frame { section: None, start: i, place: Place::default(), planned: ThreadSet::single(lead) };
            return Some(self.plan(core, frame, lead));
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
        let section = &mut self.sections[self.kept - 1];
        let start = section.start;
        let t = section.grow(view, |t| core.trace.waiting_edges_of(t).any(|e| e >= start))?;
        let section = Some(self.kept as u32 - 1);
        let frame = Frame { section, start, place: Place::default(), planned: ThreadSet::single(t) };
        Some(self.plan(core, frame, t))
    }

    /// Node and frame are set up; `first` goes first.
    fn plan(&mut self, core: &mut Core, frame: Frame, first: ThreadId) -> ThreadId {
        if let Some(n) = core.nodes.last_mut() {
            n.backtrack = frame.planned;
            n.backtrack.insert(first);
        }
        self.frames.push(frame);
        first
    }

    /// The section that is being found is complete: from here on its other orders are known.
    fn complete(&mut self, core: &mut Core) {
        let Some(section) = self.sections[..self.kept].last_mut().filter(|s| s.growing) else { return };
        section.growing = false;
        let n = section.len() as u64;
        let (pairs, conflicts) = section.pairs();
        core.stats.race_checks += n * (n - 1) / 2;
        core.stats.dependency_checks += pairs;
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
        for k in 0..section.len() {
            let (i, t) = (section.start + k, section.thread_of(k));
            let frame = &mut self.frames[i];
            frame.place = place;
            frame.planned = section.successors(place);
            debug_assert_eq!(frame.planned.first(), Some(t), "a section is found along its least order");
            let node = &mut core.nodes[i];
            node.backtrack = node.backtrack.or(&frame.planned);
            place = section.after(place, t);
        }
    }

    /// The first event that event `f` need not be compared with: that of its section.
    fn compared_up_to(&self, core: &Core, f: usize) -> usize {
        let frame = &self.frames[f];
        if frame.planned.contains(core.nodes[f].chosen) { frame.start } else { f }
    }

    /// How many events of its own thread are between event `f` and the event that it is compared up to: those in its section.
    fn own_since(&self, core: &Core, end: usize, f: usize) -> u32 {
        match self.frames[f].section {
            Some(index) if end < f => {
                self.sections[index as usize].taken(self.frames[f].place, f, core.trace.event(f).thread)
            }
            _ => 0,
        }
    }

    /// Where node `i` stands in its parent's section, if it still is in it.
    fn inside(&self, core: &Core, i: usize) -> Option<u32> {
        let above = self.frames.get(i.checked_sub(1)?)?;
        above.section.filter(|_| above.planned.contains(core.nodes[i - 1].chosen))
    }
}

impl Reduction for Eager {
    fn sleeps(&self) -> bool {
        true
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let i = core.nodes.len() - 1;
        self.frames.truncate(i);
        while self.kept > 0 && self.sections[self.kept - 1].start >= i {
            self.kept -= 1;
        }
        if i > 0 {
            core.stats.dependency_checks += core.sleep(i - 1).len() as u64;
        }
        let Some(index) = self.inside(core, i) else { return self.begin(core, view, i) };
        let section = &self.sections[index as usize];
        if section.growing {
            if let Some(t) = self.grow(core, view) {
                return Some(t);
            }
            self.complete(core);
            return self.begin(core, view, i);
        }
        let place = section.after(self.frames[i - 1].place, core.nodes[i - 1].chosen);
        if section.complete(place) {
            return self.begin(core, view, i);
        }
        let frame =
            Frame { section: Some(index), start: section.start, place, planned: section.successors(place) };
        let awake = view.enabled.minus(&core.nodes[i].asleep);
        let first = frame.planned.and(&awake).first().or_else(|| Core::default_thread(view, awake))?;
        Some(self.plan(core, frame, first))
    }

    fn ran(&mut self, core: &mut Core, f: usize) {
        let end = self.compared_up_to(core, f);
        let own = core.trace.event(f).seq - 1 - self.own_since(core, end, f);
        debug_assert_eq!(own, core.trace.seq_before(core.trace.event(f).thread, end));
        core.stats.race_checks += end as u64;
        core.stats.dependency_checks += end as u64 - u64::from(own);
        self.source.answer(core, f, end);
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, end: End) {
        self.complete(core);
        let mut source = std::mem::take(&mut self.source);
        source.answer_rest(core, view, end, |core, e, f| e >= self.compared_up_to(core, f));
        self.source = source;
    }

    fn next_branch(&mut self, core: &mut Core) -> Option<ThreadId> {
        let node = core.nodes.last()?;
        self.frames.truncate(core.nodes.len());
        let open = node.backtrack.minus(&node.done).minus(&node.asleep).and(&node.enabled);
        let planned = self.frames[core.nodes.len() - 1].planned;
        planned.and(&open).first().or_else(|| Core::ring_thread(node, open))
    }
}
