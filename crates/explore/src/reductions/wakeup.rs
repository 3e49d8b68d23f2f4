//! Reversed races as sequences, and wakeup trees: ordered trees of sequences that are still to be explored from a node.
//!
//! A tree keeps steps by thread. Steps of one thread with the same past are the same step, so most comparisons need no object
//! at all. Where one does, mind that objects are numbered per execution: a step kept in a tree is looked up again in the
//! execution at hand (`resolve`) before its objects are compared.

use crate::explorer::View;
use crate::footprint::Footprint;
use crate::ids::{ObjectId, ThreadId, ThreadSet};
use crate::op::{Access, Mode, Op, OpKind};
use crate::search::{ANY, Core, Sleeper};
use crate::semantics;
use crate::trace::Trace;

const NONE: u32 = u32::MAX;

/// The later step of a race.
#[derive(Clone, Copy)]
pub(crate) struct Later<'a> {
    pub(crate) thread: ThreadId,
    /// Its number among the thread's events.
    pub(crate) seq: u32,
    pub(crate) op: &'a Op,
    /// What it waits on, if it is an await.
    pub(crate) awaited: &'a [(ObjectId, u64)],
}

/// Whether all that a sequence leads to is seen elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Covered {
    /// It is not, as far as is known.
    No,
    /// It is; but for another execution with the same race it may not be.
    Now,
    /// It is in every execution that has the race.
    ForGood,
}

/// `v`: what ran after event `e` and does not happen after it, then the step `f` that raced with `e`.
///
/// Steps can be taken from its front as long as nothing in it happens before them.
#[derive(Clone, Default)]
pub(crate) struct Sequence {
    events: Vec<u32>,
    /// For each event, the position of the next one of the same thread.
    next: Vec<u32>,
    /// By thread: the position of its first event that is left.
    first: Vec<u32>,
    threads: ThreadSet,
    f: Option<Footprint>,
    /// The outcome that `f` is to have.
    f_option: u32,
    /// Whether `f` is left.
    f_left: bool,
    /// The clocks of what `f` comes after.
    pub(crate) past: Vec<u32>,
    left: usize,
    e: usize,
    /// By thread: how many events were taken. A thread without an entry has had none taken: trees have steps of threads that
    /// took none in the execution at hand, for which its clocks have no room.
    taken: Vec<u32>,
    /// Threads of which a step was taken that is not in the sequence, and may have shown its thread something else in the
    /// execution at hand: what they do next is not known from it.
    strayed: ThreadSet,
    /// Where `f` ran. What came later may be otherwise in another execution that has the race.
    f_at: usize,
    /// Outcomes of steps of threads that are not in the sequence for which it is seen below another branch.
    elsewhere: Vec<(ThreadId, u32)>,
}

impl Sequence {
    /// Turns the race of event `e` with a later step round; `past` is set. Says whether that can be done.
    pub(crate) fn reverse(&mut self, trace: &Trace, e: usize, later: &Later<'_>, end: usize) -> bool {
        let Later { thread, seq, op, awaited } = *later;
        let Some(access) = trace.reversal(e, thread, &self.past, op, end, &mut self.events) else {
            return false;
        };
        let mut f = Footprint::nothing(thread, Access::cause(thread, seq), *op);
        if op.kind == OpKind::Await {
            awaited.iter().for_each(|(o, _)| f.add(*o, access));
        } else {
            f.add(op.object, access);
            if op.writes_other() {
                f.add(op.other, Access::new(Mode::Write));
            }
        }
        let n = self.events.len();
        let width = trace.width();
        self.first.clear();
        self.first.resize(width, NONE);
        self.taken.clear();
        self.taken.resize(width, 0);
        self.next.clear();
        self.next.resize(n, NONE);
        self.threads = ThreadSet::EMPTY;
        self.strayed = ThreadSet::EMPTY;
        self.f_at = usize::MAX;
        self.elsewhere.clear();
        for k in (0..n).rev() {
            let t = trace.event(self.events[k] as usize).thread;
            self.next[k] = self.first[t.index()];
            self.first[t.index()] = k as u32;
            self.threads.insert(t);
        }
        self.f = Some(f);
        self.f_option = ANY;
        self.f_left = true;
        self.left = n + 1;
        self.e = e;
        true
    }

    /// Whether `f` is another access here than it was as event `f`, and may conflict with what is independent of `e`. It may
    /// not if `e` wrote the object: then nothing on it is independent of `e`.
    pub(crate) fn becomes_another(&self, trace: &Trace, e: usize, f: usize) -> bool {
        !trace.event(e).access.is_total()
            && self.f.is_some_and(|now| now.links().first().is_some_and(|l| l.1 != trace.event(f).access))
    }

    /// If `f` is a weak compare-exchange that would succeed, fixes its outcome. Says whether it is one.
    pub(crate) fn split_spurious(&mut self, fail: bool) -> bool {
        let Some(f) = self.f.as_mut().filter(|f| f.can_fail_spuriously()) else { return false };
        self.f_option = fail as u32;
        if fail {
            f.fail_spuriously();
        }
        true
    }

    /// Whether `f`, as it is now, conflicts with the event before which it comes.
    pub(crate) fn conflicts_with(&self, trace: &Trace, e: usize) -> bool {
        self.f.is_some_and(|f| f.woken_by(trace, e))
    }

    /// The next event of a thread that is left.
    fn head(&self, t: ThreadId) -> Option<usize> {
        self.first.get(t.index()).filter(|k| **k != NONE).map(|k| self.events[*k as usize] as usize)
    }

    fn is_f(&self, t: ThreadId) -> bool {
        self.f_left && self.f.is_some_and(|f| f.thread == t) && self.head(t).is_none()
    }

    /// Whether an event with these clocks, of thread `t`, comes after something that is left.
    fn has_past(&self, trace: &Trace, clock: &[u32], t: ThreadId) -> bool {
        self.threads
            .iter()
            .any(|u| u != t && self.head(u).is_some_and(|h| clock[u.index()] >= trace.event(h).seq))
    }

    /// Whether the next step of `t` in the sequence can come first: nothing that is left happens before it.
    fn can_begin(&self, trace: &Trace, t: ThreadId) -> bool {
        if let Some(g) = self.head(t) {
            return !self.has_past(trace, trace.clock(g), t);
        }
        let Some(f) = self.f.filter(|f| self.f_left && f.thread == t) else { return false };
        !self.has_past(trace, &self.past, t)
            && !self.remaining().any(|g| f.conflicts_with(trace.links_of(g), trace.event(g).cause()))
    }

    /// The events that are left, without `f`.
    fn remaining(&self) -> impl Iterator<Item = usize> + '_ {
        self.events.iter().enumerate().filter_map(|(k, g)| {
            // An event is left iff it is not before its thread's first one.
            (self.next[k] != TAKEN).then_some(*g as usize)
        })
    }

    /// The threads that can begin it.
    pub(crate) fn initials(&self, trace: &Trace) -> ThreadSet {
        let f = self.f.map(|f| f.thread);
        self.threads.iter().chain(f).filter(|t| self.can_begin(trace, *t)).collect()
    }

    /// Whether a step of a thread that is not in the sequence is independent of all that is left.
    fn independent(&self, trace: &Trace, step: &Footprint) -> bool {
        let f = self.f.filter(|_| self.f_left);
        !f.is_some_and(|f| f.conflicts(step))
            && !self.remaining().any(|g| step.conflicts_with(trace.links_of(g), trace.event(g).cause()))
            && step.depends_on_count().is_none_or(|(object, mode)| {
                let touched = self.remaining().any(|g| trace.links_of(g).iter().any(|l| l.object == object))
                    || self.f.is_some_and(|f| self.f_left && f.links().iter().any(|l| l.0 == object));
                if !touched {
                    return true;
                }
                let word = trace.word_after(object, self.e, self.remaining());
                let word = self.f.filter(|_| self.f_left).map_or(word, |f| f.word_after(object, word));
                step.mode_at(word) == mode
            })
    }

    /// Whether a step from another execution is independent of all that is left, when its thread's state is not that of the
    /// execution at hand. Objects that were numbered after the node are compared by name; where they have none, they are
    /// taken to be one, which can cost an execution but loses none.
    fn independent_of_stray(&self, core: &Core, step: &Footprint, names: [u64; 2], view: &View<'_>) -> bool {
        let known = core.nodes[self.e].objects;
        let clash = |(o, a): (ObjectId, Access), cause: u64| {
            step.links().iter().zip(names).any(|((p, b), name)| {
                let one = match (o.0 < known, p.0 < known) {
                    (true, true) => o == *p,
                    (false, false) => {
                        let mine = view.name(o);
                        mine == 0 || name == 0 || mine == name
                    }
                    _ => false,
                };
                one && a.conflicts(cause, b, step.cause)
            })
        };
        let f = self.f.filter(|_| self.f_left);
        !self.remaining().any(|g| {
            let cause = core.trace.event(g).cause();
            core.trace.links_of(g).iter().any(|l| clash((l.object, l.access), cause))
        }) && !f.is_some_and(|f| f.links().iter().any(|l| clash(*l, f.cause)))
            && (step.depends_on_count().is_none() || self.independent(&core.trace, step))
    }

    /// Makes ready to turn the races round of the step that a thread stands at and never took; puts what it is in a race with into
    /// `races`.
    pub(crate) fn stand_at<'a>(
        &mut self,
        trace: &mut Trace,
        t: ThreadId,
        view: &'a View<'_>,
        races: &mut Vec<usize>,
    ) -> Later<'a> {
        let (op, awaited) = (&view.pending[t.index()].op, view.awaited_by(t));
        races.clear();
        trace.races_of_pending(t, op, awaited, races);
        trace.past_of_next(t, &mut self.past);
        Later { thread: t, seq: trace.next_seq(t), op, awaited }
    }

    /// Says where `f` ran.
    pub(crate) fn ran_at(&mut self, f: usize) {
        self.f_at = f;
    }

    /// Whether the next step of a thread in the sequence is there in every execution that has the race.
    fn stays(&self, t: ThreadId) -> bool {
        self.head(t).map_or(self.is_f(t), |g| g < self.f_at)
    }

    /// Whether a thread has no step in what is left.
    fn absent(&self, t: ThreadId) -> bool {
        self.head(t).is_none() && !self.is_f(t)
    }

    /// Goes below a branch that fits.
    fn pass(&mut self, b: &Branch) {
        let t = b.step.thread;
        if self.is_f(t) {
            self.take(t);
            self.strayed.insert(t);
        } else if self.head(t).is_some() {
            self.take(t);
        } else {
            if !b.step.teaches_nothing() {
                self.strayed.insert(t);
            }
            self.count(t);
        }
    }

    /// One more event of a thread is taken.
    #[inline]
    fn count(&mut self, t: ThreadId) {
        match self.taken.get_mut(t.index()) {
            Some(n) => *n += 1,
            None => self.count_first(t),
        }
    }

    #[cold]
    fn count_first(&mut self, t: ThreadId) {
        self.taken.resize(t.index(), 0);
        self.taken.push(1);
    }

    /// How many events of a thread were taken.
    #[inline]
    fn taken_of(&self, t: ThreadId) -> u32 {
        self.taken.get(t.index()).copied().unwrap_or(0)
    }

    /// How many outcomes of a step of a thread that is not in the sequence are seen elsewhere: below another branch, or asleep
    /// before the race and still after the steps of `path` and what is left.
    fn outcomes_elsewhere(&self, core: &Core, t: ThreadId, path: &[Footprint]) -> u32 {
        let sleeps = |s: &&Sleeper| {
            s.step.thread == t
                && !self.elsewhere.contains(&(t, s.option))
                && path.iter().all(|p| p.thread != t && !p.conflicts(&s.step))
                && self.independent(&core.trace, &s.step)
        };
        let asleep = core.sleep(self.e).iter().filter(|s| s.settled).filter(sleeps).count();
        (asleep + self.elsewhere.iter().filter(|o| o.0 == t).count()) as u32
    }

    fn take(&mut self, t: ThreadId) {
        self.left -= 1;
        self.count(t);
        let k = self.first.get(t.index()).copied().unwrap_or(NONE);
        if k == NONE {
            self.f_left = false;
        } else {
            self.first[t.index()] = self.next[k as usize];
            self.next[k as usize] = TAKEN;
            if self.first[t.index()] == NONE {
                self.threads.remove(t);
            }
        }
    }

    /// Whether a sleeping step is a weak initial of the sequence: all that the sequence leads to is seen from it.
    fn sleeper_covers(&self, trace: &Trace, s: &Sleeper, all_asleep: bool, sleep: &[Sleeper]) -> bool {
        let t = s.step.thread;
        if let Some(g) = self.head(t) {
            return (s.options == 1 || s.option == trace.event(g).option) && self.can_begin(trace, t);
        }
        if self.is_f(t) {
            return (all_asleep || s.option == self.f_option) && self.can_begin(trace, t);
        }
        if !all_asleep {
            return false;
        }
        sleep.iter().filter(|o| o.step.thread == t).all(|o| self.independent(trace, &o.step))
    }

    /// Whether the sleep set of the node before `e` covers the sequence.
    ///
    /// A step that is not in the sequence covers it if it is independent of all of it: what comes later and conflicts with
    /// the step is found from where the step was explored, and leads back here along a branch that wakes it. Past the end of
    /// such a branch nothing that was inherited should sleep any more. Something may, where a branch was added that was not
    /// needed (objects without names, steps with several outcomes); it covers nothing there.
    ///
    /// That holds only if all such steps are settled. What is put off below one leads back when branches that were begun since are
    /// finished, also branches that the sequence could begin with. And what is found below a step that is settled may lead back along
    /// one that is not: a sequence that was turned round has steps at its beginning that have nothing to do with it.
    pub(crate) fn covered_by_sleep(&self, core: &Core) -> Covered {
        let sleep = core.sleep(self.e);
        let node = &core.nodes[self.e];
        let covers =
            |s: &Sleeper| self.sleeper_covers(&core.trace, s, node.asleep.contains(s.step.thread), sleep);
        // A step of the sequence from before `f` is better, or `f` itself: that will not change.
        if sleep.iter().any(|s| self.stays(s.step.thread) && covers(s)) {
            return Covered::ForGood;
        }
        let (inherited, own) = sleep.split_at(node.sleep_inherited as usize);
        let settled = || {
            let put_off = |s: &&Sleeper| !s.settled && self.absent(s.step.thread);
            !sleep.iter().filter(put_off).any(|s| self.independent(&core.trace, &s.step))
        };
        let absent = |s: &Sleeper| self.absent(s.step.thread) && covers(s);
        let now = sleep.iter().any(|s| !self.absent(s.step.thread) && covers(s))
            || (own.iter().any(absent) || node.guided && inherited.iter().any(absent)) && settled();
        if now { Covered::Now } else { Covered::No }
    }
}

/// Marks a taken event in [`Sequence::next`].
const TAKEN: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct Branch {
    step: Footprint,
    /// The names of its objects.
    names: [u64; 2],
    option: u32,
    options: u32,
    next: u32,
    child: u32,
}

/// A step taken out of a tree.
pub(crate) struct Taken {
    pub(crate) thread: ThreadId,
    /// The outcome to take, or [`ANY`].
    pub(crate) fixed: u32,
    /// What is to be explored after it.
    pub(crate) below: u32,
}

/// All wakeup trees of a search, in one pool. A tree is named by its first branch.
#[derive(Default)]
pub(crate) struct Forest {
    branches: Vec<Branch>,
    free: Vec<u32>,
    /// Branches may be put off: a sequence does not go below a step that it does not have, for the reasons for which such a step
    /// does not cover it when it sleeps.
    put_off: bool,
}

impl Forest {
    /// For a search in which branches may be put off.
    pub(crate) fn with_some_put_off() -> Forest {
        Forest { put_off: true, ..Forest::default() }
    }

    fn new_branch(&mut self, step: Footprint, option: u32, options: u32, view: &View<'_>) -> u32 {
        let mut names = [0; 2];
        step.links().iter().zip(&mut names).for_each(|((o, _), name)| *name = view.name(*o));
        let b = Branch { step, names, option, options, next: NONE, child: NONE };
        match self.free.pop() {
            Some(i) => {
                self.branches[i as usize] = b;
                i
            }
            None => {
                self.branches.push(b);
                self.branches.len() as u32 - 1
            }
        }
    }

    /// How many branches begin at `tree`.
    pub(crate) fn width(&self, mut tree: u32) -> u64 {
        let mut n = 0;
        while tree != NONE {
            n += 1;
            tree = self.branches[tree as usize].next;
        }
        n
    }

    /// Takes the first branch out of `tree`.
    pub(crate) fn take_first(&mut self, tree: &mut u32) -> Option<Taken> {
        if *tree == NONE {
            return None;
        }
        let b = self.branches[*tree as usize];
        self.free.push(*tree);
        *tree = b.next;
        Some(Taken { thread: b.step.thread, fixed: b.option, below: b.child })
    }

    /// Throws a whole tree away.
    pub(crate) fn discard(&mut self, mut tree: u32) {
        while tree != NONE {
            let b = self.branches[tree as usize];
            self.discard(b.child);
            self.free.push(tree);
            tree = b.next;
        }
    }

    /// Adds the sequence to the tree of the node before its race, unless a branch covers it.
    pub(crate) fn insert(&mut self, core: &mut Core, sequence: &mut Sequence, view: &View<'_>) {
        let first = core.nodes[sequence.e].tree;
        let mut path = Vec::new();
        if let Some((parent, last)) = self.find_place(core, sequence, NONE, first, view, &mut path) {
            let branch = self.plant(core, sequence, view);
            if last != NONE {
                self.branches[last as usize].next = branch;
            } else if parent != NONE {
                self.branches[parent as usize].child = branch;
            } else {
                core.nodes[sequence.e].tree = branch;
            }
        }
    }

    /// The same for the plainest race, whose `f` can come directly before `e` and is all there is of the sequence, where the first
    /// branch begins with it, or there is no branch yet and no sleeping step that could cover it. Says whether it is one.
    pub(crate) fn plant_alone(&mut self, core: &mut Core, e: usize, f: usize, view: &View<'_>) -> bool {
        let trace = &core.trace;
        let (first, second) = (trace.event(e), trace.event(f));
        let tree = core.nodes[e].tree;
        let covered = match self.branches.get(tree as usize) {
            Some(b) if b.step.thread == second.thread && b.option == ANY => true,
            None if core.sleep(e).is_empty() => false,
            _ => return false,
        };
        if second.options != 1 || second.op.may_block() {
            return false;
        }
        let alone = trace.all_after(e, second.thread);
        if alone && !covered {
            let mut step = Footprint::nothing(second.thread, second.cause(), second.op);
            let access = semantics::apply(&second.op, first.before, second.thread, 0).access;
            step.add(second.op.object, access);
            core.nodes[e].tree = self.new_branch(step, ANY, 1, view);
        }
        alone
    }

    /// Goes down the branches that the sequence fits. Gives the parent and the last child behind which what is left of it is
    /// to be added, or `None` if it is covered.
    ///
    /// A branch may be for one outcome of a step whose thread is not in the sequence. Then the sequence belongs below it as
    /// far as that outcome goes; it is covered here only if all outcomes are, below such branches or asleep.
    fn find_place(
        &mut self,
        core: &Core,
        sequence: &mut Sequence,
        mut parent: u32,
        mut child: u32,
        view: &View<'_>,
        path: &mut Vec<Footprint>,
    ) -> Option<(u32, u32)> {
        let mut last = NONE;
        while child != NONE {
            let b = self.branches[child as usize];
            let t = b.step.thread;
            let fits = !(self.put_off && sequence.absent(t)) && self.fits(core, sequence, &b, view);
            if fits && b.option != ANY && sequence.absent(t) {
                let mut below = sequence.clone();
                below.pass(&b);
                path.push(b.step);
                if b.child != NONE
                    && let Some((parent, last)) =
                        self.find_place(core, &mut below, child, b.child, view, path)
                {
                    let branch = self.plant(core, &below, view);
                    let at = if last != NONE { last } else { parent };
                    let at = &mut self.branches[at as usize];
                    *(if last != NONE { &mut at.next } else { &mut at.child }) = branch;
                }
                path.pop();
                // That holds further down as well: the step can come first there too.
                sequence.elsewhere.push((t, b.option));
                if sequence.outcomes_elsewhere(core, t, path) >= b.options {
                    return None;
                }
            } else if fits {
                sequence.pass(&b);
                if sequence.left == 0 || b.child == NONE {
                    return None;
                }
                path.push(b.step);
                parent = child;
                child = b.child;
                last = NONE;
                continue;
            }
            last = child;
            child = b.next;
        }
        Some((parent, last))
    }

    /// What is left of the sequence, as a new branch.
    fn plant(&mut self, core: &Core, sequence: &Sequence, view: &View<'_>) -> u32 {
        let mut above = NONE;
        let mut first = NONE;
        for k in 0..sequence.events.len() {
            if sequence.next[k] == TAKEN {
                continue;
            }
            let g = sequence.events[k] as usize;
            let e = core.trace.event(g);
            let option = if e.options == 1 { ANY } else { e.option };
            let b = self.new_branch(Footprint::of(&core.trace, g), option, e.options, view);
            self.chain(&mut above, &mut first, b);
        }
        if let Some(f) = sequence.f.filter(|_| sequence.f_left) {
            let b = self.new_branch(f, sequence.f_option, if sequence.f_option == ANY { 1 } else { 2 }, view);
            self.chain(&mut above, &mut first, b);
        }
        first
    }

    fn chain(&mut self, above: &mut u32, first: &mut u32, b: u32) {
        if *above == NONE {
            *first = b;
        } else {
            self.branches[*above as usize].child = b;
        }
        *above = b;
    }

    /// Whether the step of a branch is a weak initial of what is left of the sequence.
    fn fits(&self, core: &Core, sequence: &Sequence, b: &Branch, view: &View<'_>) -> bool {
        let t = b.step.thread;
        if sequence.strayed.contains(t) {
            return sequence.independent_of_stray(core, &b.step, b.names, view);
        }
        if let Some(g) = sequence.head(t) {
            let e = core.trace.event(g);
            return (b.option == ANY || e.options == 1 || b.option == e.option)
                && sequence.can_begin(&core.trace, t);
        }
        if sequence.is_f(t) {
            return (b.option == ANY || b.option == sequence.f_option) && sequence.can_begin(&core.trace, t);
        }
        match resolve(core, sequence, b, view) {
            Some(step) => sequence.independent(&core.trace, &step),
            None => sequence.independent_of_stray(core, &b.step, b.names, view),
        }
    }
}

/// The step of a branch with the object numbers of the execution at hand: the thread is in the same state there, so it is
/// the next step the thread took, or the one it stands at. `None` if the execution was cut before the thread came so far.
fn resolve(core: &Core, sequence: &Sequence, b: &Branch, view: &View<'_>) -> Option<Footprint> {
    let t = b.step.thread;
    let seq = core.trace.seq_before(t, sequence.e) + sequence.taken_of(t) + 1;
    if let Some(i) = core.trace.nth_of(t, seq) {
        return Some(b.step.renamed(core.trace.links_of(i).iter().map(|l| l.object)));
    }
    if core.trace.next_seq(t) != seq || seq == 1 && !view.live.contains(t) {
        return None;
    }
    if view.live.contains(t) {
        let op = &view.pending[t.index()].op;
        if op.kind != OpKind::Await {
            return Some(b.step.renamed([op.object, op.other].into_iter()));
        }
    }
    Some(b.step)
}
