//! The main loop: a depth-first search over schedules by replay, parameterised by a [`Reduction`].
//!
//! The search tree is a stack of [`Node`]s, one for each step of the execution at hand. Between executions the stack is cut
//! at the deepest node that has another branch; the next execution replays what is left of it, checks that the program does
//! the same again, and goes on from there. Nothing is allocated for a step once the stack has grown.

use crate::bounds::Round;
use crate::budget::{Meter, Spent};
use crate::explorer::{Decision, Divergence, End, Executed, Explorer, Options, Pending, View};
use crate::footprint::Footprint;
use crate::ids::{Site, ThreadId, ThreadSet};
use crate::outcome::Stats;
use crate::schedule::Schedule;
use crate::trace::{Event, Trace};
use std::cell::Cell;

/// The outcome of a step that may have any outcome.
pub(crate) const ANY: u32 = u32::MAX;

/// A step that need not be taken from a node: all that begins with it is seen elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleeper {
    pub(crate) step: Footprint,
    /// The outcome that was taken.
    pub(crate) option: u32,
    /// Of how many.
    pub(crate) options: u32,
    /// All below it was seen before what sleeps because of it was begun; nothing was put off.
    pub(crate) settled: bool,
}

/// A state of the execution at hand: what can be done from it and what was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) enabled: ThreadSet,
    /// Threads to explore from here.
    pub(crate) backtrack: ThreadSet,
    /// Threads that were explored, or are being explored.
    pub(crate) done: ThreadSet,
    /// Threads all of whose outcomes sleep.
    pub(crate) asleep: ThreadSet,
    /// The same when the node was made: what it inherited.
    pub(crate) inherited: ThreadSet,
    /// How many branches were taken, the one taken now included.
    pub(crate) taken: u32,
    /// The thread taken now.
    pub(crate) chosen: ThreadId,
    /// The thread that ran before this node.
    pub(crate) current: Option<ThreadId>,
    /// Objects with lower numbers than this are the same in every execution that comes here.
    pub(crate) objects: u32,
    sleep: u32,
    sleep_end: u32,
    /// How many of the sleepers it inherited.
    pub(crate) sleep_inherited: u32,
    /// Its first step was given by a wakeup tree.
    pub(crate) guided: bool,
    options: u32,
    options_end: u32,
    option: u32,
    /// Only this outcome is to be taken, or [`ANY`].
    pub(crate) fixed: u32,
    /// The wakeup tree of this node: its first pending branch (used by the optimal search).
    pub(crate) tree: u32,
}

impl Node {
    /// One of which nothing is known yet.
    const NEW: Node = Node {
        enabled: ThreadSet::EMPTY,
        backtrack: ThreadSet::EMPTY,
        done: ThreadSet::EMPTY,
        asleep: ThreadSet::EMPTY,
        inherited: ThreadSet::EMPTY,
        taken: 1,
        chosen: ThreadId::MAIN,
        current: None,
        objects: 0,
        sleep: 0,
        sleep_end: 0,
        sleep_inherited: 0,
        guided: false,
        options: 0,
        options_end: 0,
        option: 0,
        fixed: ANY,
        tree: u32::MAX,
    };
}

// A new node is copied from one that is empty, which takes a call if it is any larger.
const _: () = assert!(size_of::<Node>() <= 128);

/// What all reductions share: the stack, the trace, the numbers.
pub(crate) struct Core {
    pub(crate) trace: Trace,
    pub(crate) nodes: Vec<Node>,
    pub(crate) sleepers: Vec<Sleeper>,
    options: Vec<u32>,
    pub(crate) stats: Stats,
    /// The first event of this execution that is new.
    pub(crate) fresh: usize,
    pos: usize,
    chosen_option: (u32, u32),
    pub(crate) prune: bool,
    /// This execution ends here because every way on is over the bound.
    pub(crate) over_bound: bool,
    /// Some step was refused because it is over the bound: what was seen is not everything.
    pub(crate) refused: bool,
    /// How many sleepers at the end of the top node's list cover sequences there, and do not sleep below.
    begun_later: usize,
    /// Something below the branch that was finished last was put off.
    pub(crate) put_off: bool,
    /// A step that was to be taken again is not there.
    pub(crate) strayed: Option<Divergence>,
}

thread_local! {
    /// What the last search on this OS thread used: a test of a few microseconds would pay for its memory each time.
    static LAST: Cell<Option<Core>> = const { Cell::new(None) };
}

impl Core {
    /// An empty one, with the memory of the last.
    fn new() -> Core {
        LAST.take().map_or_else(Core::default, Core::emptied)
    }

    /// The same with nothing but the memory.
    fn emptied(mut self) -> Core {
        let Core {
            trace,
            nodes,
            sleepers,
            options,
            stats,
            fresh,
            pos,
            chosen_option,
            prune,
            over_bound,
            refused,
            begun_later,
            put_off,
            strayed,
        } = &mut self;
        trace.clear();
        nodes.clear();
        sleepers.clear();
        options.clear();
        *stats = Stats::default();
        (*fresh, *pos, *begun_later) = (0, 0, 0);
        *chosen_option = (0, 1);
        (*prune, *over_bound, *refused, *put_off) = (false, false, false, false);
        *strayed = None;
        self
    }

    fn default() -> Core {
        Core {
            trace: Trace::new(),
            nodes: Vec::new(),
            sleepers: Vec::new(),
            options: Vec::new(),
            stats: Stats::default(),
            fresh: 0,
            pos: 0,
            chosen_option: (0, 1),
            prune: false,
            over_bound: false,
            refused: false,
            begun_later: 0,
            put_off: false,
            strayed: None,
        }
    }

    /// Branches were taken from the top node before: those begun before the one that is taken now sleep below it; those begun
    /// later only cover sequences at the node.
    pub(crate) fn sleep_as_before(
        &mut self,
        earlier: impl Iterator<Item = Sleeper>,
        later: impl Iterator<Item = Sleeper>,
    ) {
        self.sleepers.extend(earlier);
        let begun_later = self.sleepers.len();
        self.sleepers.extend(later);
        self.begun_later = self.sleepers.len() - begun_later;
        let Some(n) = self.nodes.last_mut() else { return };
        n.sleep_end = self.sleepers.len() as u32;
        n.asleep = fully_asleep(&self.sleepers[n.sleep as usize..]);
    }

    /// The sleep set of a node.
    pub(crate) fn sleep(&self, node: usize) -> &[Sleeper] {
        let n = &self.nodes[node];
        &self.sleepers[n.sleep as usize..n.sleep_end as usize]
    }

    /// What sleeps at the node above the top one was asked whether it sleeps on.
    #[inline]
    pub(crate) fn count_sleepers_above(&mut self) {
        if let [.., above, _] = &self.nodes[..] {
            self.stats.dependency_checks += u64::from(above.sleep_end - above.sleep);
        }
    }

    /// Those in it that did not come from the node before.
    pub(crate) fn own_sleep_mut(&mut self, node: usize) -> &mut [Sleeper] {
        let n = &self.nodes[node];
        &mut self.sleepers[(n.sleep + n.sleep_inherited) as usize..n.sleep_end as usize]
    }

    /// Whether one outcome of a thread's step sleeps.
    fn option_sleeps(&self, node: usize, thread: ThreadId, option: u32) -> bool {
        self.sleep(node).iter().any(|s| s.step.thread == thread && s.option == option)
    }

    /// Where this execution leaves the last one: a thread that sleeps stands where it stood, so it must want to do what it did.
    fn sleeper_that_changed(&self, view: &View<'_>) -> Option<Divergence> {
        self.sleep(self.pos).iter().find_map(|s| {
            let thread = s.step.thread;
            let now = view.pending.get(thread.index()).filter(|_| view.live.contains(thread))?;
            (!s.step.op().same_step(&now.op)).then(|| Divergence {
                step: self.pos,
                thread,
                expected: Some((*s.step.op(), Site::default())),
                found: Some((now.op, now.site)),
                ended: false,
            })
        })
    }

    /// A new node where these threads can run and this one ran last, with the sleep set it inherits.
    #[inline(always)]
    fn push_node(&mut self, enabled: ThreadSet, current: Option<ThreadId>, objects: u32, use_sleep: bool) {
        let start = self.sleepers.len();
        let mut asleep = ThreadSet::EMPTY;
        if use_sleep && let Some(parent) = self.nodes.last() {
            let last = self.trace.len() - 1;
            let thread = self.trace.event(last).thread;
            let end = parent.sleep_end as usize - std::mem::take(&mut self.begun_later);
            for i in parent.sleep as usize..end {
                let s = &self.sleepers[i];
                if s.step.thread != thread && !s.step.woken_by(&self.trace, last) {
                    self.sleepers.extend_from_within(i..i + 1);
                }
            }
            if start < self.sleepers.len() {
                asleep = fully_asleep(&self.sleepers[start..]);
            }
        }
        let options = self.options.len() as u32;
        let sleep_end = self.sleepers.len() as u32;
        // Filled in where it lies: a node is large, and would be built elsewhere and copied.
        self.nodes.push(Node::NEW);
        let Some(n) = self.nodes.last_mut() else { return };
        n.enabled = enabled;
        (n.asleep, n.inherited) = (asleep, asleep);
        n.current = current;
        n.objects = objects;
        (n.sleep, n.sleep_end, n.sleep_inherited) = (start as u32, sleep_end, sleep_end - start as u32);
        (n.options, n.options_end) = (options, options);
    }

    /// The thread that goes on by default: the running one unless it yielded, else the next on the ring.
    #[inline(always)]
    pub(crate) fn default_thread(view: &View<'_>, among: ThreadSet) -> Option<ThreadId> {
        match view.current {
            Some(c) if among.contains(c) && !view.yielded.contains(c) => Some(c),
            _ => Self::other_thread(view, among),
        }
    }

    fn other_thread(view: &View<'_>, among: ThreadSet) -> Option<ThreadId> {
        let eager = among.minus(&view.yielded);
        let among = if eager.is_empty() { among } else { eager };
        match view.current {
            Some(c) if among.contains(c) => Some(c),
            Some(c) => among.next_on_ring(c),
            None => among.first(),
        }
    }

    /// The next thread of `among` in ring order from the one that ran before the node.
    pub(crate) fn ring_thread(node: &Node, among: ThreadSet) -> Option<ThreadId> {
        match node.current {
            Some(c) if among.contains(c) => Some(c),
            Some(c) => among.next_on_ring(c),
            None => among.first(),
        }
    }

    /// The threads whose next step was never run and is not seen elsewhere either: those that are blocked, and all of them
    /// when the execution was cut.
    pub(crate) fn stuck(view: &View<'_>, end: End) -> ThreadSet {
        if end == End::Cut { view.live } else { view.live.minus(&view.enabled) }
    }

    /// Puts the step just finished at the top node to sleep, one entry for the outcome it took.
    fn put_to_sleep(&mut self) {
        let i = self.nodes.len() - 1;
        let e = self.trace.event(i);
        let settled = !std::mem::take(&mut self.put_off);
        let s =
            Sleeper { step: Footprint::of(&self.trace, i), option: e.option, options: e.options, settled };
        let n = &mut self.nodes[i];
        debug_assert_eq!(n.sleep_end as usize, self.sleepers.len());
        self.sleepers.push(s);
        n.sleep_end += 1;
        let own = &self.sleepers[n.sleep as usize..];
        // Of many outcomes only the last one makes a difference.
        if own.len() >= s.options as usize && is_fully_asleep(own, &s) {
            n.asleep.insert(s.step.thread);
        }
    }

    /// Cuts everything below node `i`, but leaves its event.
    fn cut_below(&mut self, i: usize) {
        self.nodes.truncate(i + 1);
        self.trace.truncate(i + 1);
        let n = &self.nodes[i];
        self.sleepers.truncate(n.sleep_end as usize);
        self.options.truncate(n.options_end as usize);
    }

    /// The choices of the execution at hand.
    fn schedule(&self) -> Schedule {
        let events = &self.trace.events()[..self.pos.min(self.trace.len())];
        Schedule::new(
            events.iter().map(|e| e.thread).collect(),
            events.iter().filter(|e| e.options > 1).map(|e| e.option).collect(),
        )
    }
}

/// Whether all outcomes of the thread of an entry are in the sleep set.
fn is_fully_asleep(sleep: &[Sleeper], s: &Sleeper) -> bool {
    s.options == 1 || sleep.iter().filter(|o| o.step.thread == s.step.thread).count() as u32 == s.options
}

/// The threads all of whose outcomes are in the sleep set.
fn fully_asleep(sleep: &[Sleeper]) -> ThreadSet {
    let (mut set, mut met) = (ThreadSet::EMPTY, ThreadSet::EMPTY);
    for s in sleep {
        // All entries of a thread are of one step.
        if !met.contains(s.step.thread) && is_fully_asleep(sleep, s) {
            set.insert(s.step.thread);
        }
        met.insert(s.step.thread);
    }
    set
}

/// How a search leaves branches out. One file each under `reductions`.
pub(crate) trait Reduction {
    /// Whether finished branches sleep.
    fn sleeps(&self) -> bool;

    /// The top node is new: says which thread goes first, and marks in `backtrack` what is to be explored from there.
    /// `None` if every enabled thread is asleep.
    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId>;

    /// The thread of the last event has come to this step: whether it takes it, whoever else can run. Asked before there is a node
    /// for it, at which nothing but this is to be explored so far.
    #[inline]
    fn goes_on(&mut self, _core: &mut Core, _next: &Pending) -> bool {
        false
    }

    /// Event `f` has just run for the first time.
    fn ran(&mut self, _core: &mut Core, _f: usize) {}

    /// The execution is over: whether it is over the bound. Asked before it is counted.
    fn over_bound(&mut self, core: &Core, _view: &View<'_>, _end: End) -> bool {
        core.over_bound
    }

    /// The execution is over, or all enabled threads sleep: all that is left to learn from it. Steps that never ran, because
    /// their threads are blocked, may still be in a race ([`Core::stuck`]).
    fn ended(&mut self, _core: &mut Core, _view: &View<'_>, _end: End) {}

    /// All below the branch taken at node `i` is explored. Called from the last node up to the one at which the search goes
    /// on, once for each. Says whether the branch may sleep from now on.
    #[inline]
    fn finished(&mut self, _core: &mut Core, _i: usize) -> bool {
        self.sleeps()
    }

    /// What the search promises once it has ended.
    fn promise(&self, _core: &Core) -> Promise {
        Promise::Everything
    }

    /// The branch of the top node is finished: the next thread to take there, if any.
    fn next_branch(&mut self, core: &mut Core) -> Option<ThreadId> {
        let node = core.nodes.last()?;
        Core::ring_thread(node, node.backtrack.minus(&node.done).minus(&node.asleep).and(&node.enabled))
    }

    /// Whether a branch of a node may wait to be explored; cheaper than to count them.
    #[inline]
    fn has_open(&self, node: &Node) -> bool {
        node.backtrack != node.done
    }

    /// How many branches of a node wait to be explored.
    fn open(&self, _core: &Core, node: &Node) -> u64 {
        node.backtrack.minus(&node.done).minus(&node.asleep).and(&node.enabled).len() as u64
    }
}

/// A depth-first search with a reduction.
pub(crate) struct Search<R> {
    core: Core,
    reduction: R,
    make: Box<dyn Fn() -> R>,
    meter: Meter,
    divergence: Option<Divergence>,
    /// Branches in which a thread does something else than expected are left out; see [`Progress::tolerate`].
    tolerant: bool,
    /// The next execution has a branch to take.
    ready: bool,
    finished: bool,
}

/// What a search that ran to its end promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Every behaviour was seen.
    Everything,
    /// Every behaviour within this was seen: `2 preemptions`.
    Within(String),
    /// Nothing, but for what this says.
    Nothing(String),
}

/// A search that can be driven, and asked how it is doing.
pub trait Progress: Explorer {
    /// The numbers so far.
    fn stats(&self) -> Stats;

    /// Whether everything was explored.
    fn finished(&self) -> bool;

    /// What it promises, if it is finished.
    fn promise(&self) -> Promise;

    /// Forgets everything: the program is run in another way from now on.
    fn restart(&mut self);

    /// Goes on where threads do something else than before: what they do depends on something that is not part of the search. Says whether this
    /// search can. It must start again.
    fn tolerate(&mut self) -> bool {
        false
    }

    /// Which limit stopped it.
    fn spent(&self) -> Option<Spent>;

    /// How many executions the whole search may take: an estimate from the shape of the tree so far, low when branches
    /// are still to be found. `None` while there is nothing to go by.
    fn estimate(&self) -> Option<f64>;

    /// The choices of the execution at hand so far.
    fn schedule(&self) -> Schedule;

    /// What was done within each limit, for a search within one limit after the other.
    fn rounds(&self) -> &[Round] {
        &[]
    }
}

impl<R> Drop for Search<R> {
    fn drop(&mut self) {
        // A search that was very large gives its memory back.
        const MOST: usize = 1 << 16;
        if self.core.trace.capacity() <= MOST && self.core.nodes.capacity() <= MOST {
            let core = std::mem::replace(&mut self.core, Core::default());
            // An OS thread that ends has no more use for it.
            let _ = LAST.try_with(|last| last.set(Some(core)));
        }
    }
}

impl<R: Reduction> Search<R> {
    /// A search that stops when `meter` says so.
    pub(crate) fn new(make: impl Fn() -> R + 'static, meter: Meter) -> Self {
        let (core, reduction) = (Core::new(), make());
        Search {
            core,
            reduction,
            make: Box::new(make),
            meter,
            divergence: None,
            tolerant: false,
            ready: false,
            finished: false,
        }
    }

    /// How it leaves branches out.
    pub(crate) fn reduction(&self) -> &R {
        &self.reduction
    }

    /// The same, to be changed between executions.
    pub(crate) fn reduction_mut(&mut self) -> &mut R {
        &mut self.reduction
    }

    /// The search is finished; begins another one, and keeps the numbers.
    pub(crate) fn go_on(&mut self, change: impl FnOnce(&mut R)) {
        let stats = self.core.stats;
        let core = std::mem::replace(&mut self.core, Core::default());
        self.core = Core { stats, ..core.emptied() };
        self.finished = false;
        change(&mut self.reduction);
    }

    #[cold]
    fn diverge(&mut self, thread: ThreadId, view: &View<'_>) -> Decision {
        if self.tolerant {
            self.core.prune = true;
            return Decision::Stop;
        }
        let pos = self.core.pos;
        let e = self.core.trace.events().get(pos);
        let pending = view.pending.get(thread.index()).filter(|_| view.live.contains(thread));
        self.divergence = Some(Divergence {
            step: pos,
            thread,
            expected: e.map(|e| (e.op, e.site)),
            found: pending.map(|p| (p.op, p.site)),
            ended: false,
        });
        Decision::Stop
    }

    /// Moves to the next branch; says whether there is one.
    fn backtrack(&mut self) -> bool {
        let core = &mut self.core;
        for i in (0..core.nodes.len()).rev() {
            // A node is left without an event only when the execution was cut there.
            if core.trace.len() <= i {
                continue;
            }
            let sleeps = self.reduction.finished(core, i);
            let n = &core.nodes[i];
            let option = (n.options < n.options_end && n.fixed == ANY)
                .then(|| {
                    (n.option + 1..n.options_end - n.options)
                        .find(|k| !core.option_sleeps(i, n.chosen, core.options[(n.options + k) as usize]))
                })
                .flatten();
            if option.is_none() && !self.reduction.has_open(n) {
                continue;
            }
            core.cut_below(i);
            // What is finished sleeps.
            if sleeps {
                core.put_to_sleep();
            }
            core.trace.truncate(i);
            let n = &mut core.nodes[i];
            if let Some(k) = option {
                n.option = k;
                return true;
            }
            core.options.truncate(n.options as usize);
            n.options_end = n.options;
            n.option = 0;
            n.fixed = ANY;
            if let Some(t) = self.reduction.next_branch(core) {
                let n = &mut core.nodes[i];
                n.chosen = t;
                n.done.insert(t);
                n.taken += 1;
                return true;
            }
        }
        core.nodes.clear();
        self.finished = true;
        false
    }
}

impl<R: Reduction> Explorer for Search<R> {
    fn begin(&mut self) {
        self.core.pos = 0;
        self.core.trace.restart();
        self.core.fresh = self.core.trace.len();
        self.core.prune = false;
        self.core.over_bound = false;
    }

    #[inline]
    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        let core = &mut self.core;
        core.chosen_option = (0, 1);
        if core.prune {
            return Decision::Stop;
        }
        if let Some(n) = core.nodes.get(core.pos) {
            let t = n.chosen;
            let same = match core.trace.events().get(core.pos) {
                Some(e) => {
                    let p = &view.pending[t.index()];
                    e.op.same_step(&p.op) && e.site == p.site
                }
                None => true,
            };
            if same && view.enabled.contains(t) {
                if core.pos == core.trace.len()
                    && !self.tolerant
                    && let Some(d) = core.sleeper_that_changed(view)
                {
                    self.divergence = Some(d);
                    return Decision::Stop;
                }
                return Decision::Run(t);
            }
            return self.diverge(t, view);
        }
        core.push_node(view.enabled, view.current, view.objects, self.reduction.sleeps());
        match self.reduction.enter(core, view) {
            Some(t) => {
                debug_assert!(view.enabled.contains(t));
                let n = core.nodes.last_mut().expect("just pushed");
                n.chosen = t;
                n.done.insert(t);
                Decision::Run(t)
            }
            None => {
                let strayed = core.strayed.take();
                if strayed.is_some() && !self.tolerant {
                    self.divergence = strayed;
                }
                Decision::Stop
            }
        }
    }

    #[inline]
    fn goes_on(&mut self, next: &Pending) -> bool {
        let core = &mut self.core;
        if core.pos != core.nodes.len() || core.prune || !self.reduction.goes_on(core, next) {
            return false;
        }
        let Some(last) = core.nodes.last() else { return false };
        let (enabled, t, objects) = (last.enabled, last.chosen, last.objects);
        debug_assert!(enabled.contains(t));
        core.chosen_option = (0, 1);
        core.push_node(enabled, Some(t), objects, self.reduction.sleeps());
        core.count_sleepers_above();
        if let Some(n) = core.nodes.last_mut() {
            n.chosen = t;
            n.backtrack.insert(t);
            n.done.insert(t);
        }
        true
    }

    fn script(&self) -> &[Event] {
        self.core.trace.events()
    }

    fn differs_in_outcome(&self) -> bool {
        let core = &self.core;
        core.pos == core.fresh + 1
            && core.pos == core.nodes.len()
            && core.nodes.last().is_some_and(|n| n.fixed == ANY && n.option > 0)
    }

    fn skip(&mut self, steps: usize) {
        let core = &mut self.core;
        debug_assert!(core.pos + steps <= core.trace.len());
        core.chosen_option = (0, 1);
        for _ in 0..steps {
            let thread = core.trace.event(core.pos).thread;
            core.trace.replayed(thread);
            core.pos += 1;
        }
    }

    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        let len = self.core.pos;
        self.core.trace.order(before, after, len);
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        let core = &mut self.core;
        let (i, count) = (core.pos, options.len() as u32);
        if let Some(e) = core.trace.events().get(i) {
            core.chosen_option = (e.option, count);
            return e.option;
        }
        let n = core.nodes[i];
        let value = if n.fixed != ANY {
            n.fixed
        } else {
            if n.options == n.options_end {
                core.options.extend((0..options.wanted()).map(|k| options.get(k)));
                core.nodes[i].options_end = core.options.len() as u32;
                let first = (0..options.wanted() as u32)
                    .find(|k| !core.option_sleeps(i, n.chosen, options.get(*k as usize)));
                core.nodes[i].option = first.unwrap_or(0);
            }
            core.options[(core.nodes[i].options + core.nodes[i].option) as usize]
        };
        core.chosen_option = (value, count);
        value
    }

    #[inline]
    fn executed(&mut self, event: Executed<'_>) {
        let core = &mut self.core;
        if core.pos < core.trace.len() {
            let e = core.trace.event(core.pos);
            let same = e.value == event.value || !e.op.has_fixed_value();
            if !same || (e.access, e.options) != (event.access, core.chosen_option.1) {
                if !self.tolerant {
                    self.divergence = Some(Divergence {
                        step: core.pos,
                        thread: event.thread,
                        expected: Some((e.op, e.site)),
                        found: Some((event.op, event.site)),
                        ended: false,
                    });
                }
                core.prune = true;
            }
            core.trace.replayed(event.thread);
            core.pos += 1;
            return;
        }
        let (option, options) = core.chosen_option;
        core.trace.push(&event, option, options);
        core.pos += 1;
        let f = core.trace.len() - 1;
        self.reduction.ran(core, f);
    }

    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        let core = &mut self.core;
        let s = &mut core.stats;
        s.steps += core.pos as u64;
        s.longest = s.longest.max(core.pos as u64);
        s.threads = s.threads.max(view.pending.len() as u64);
        let ran_to_its_end = matches!(end, End::Complete | End::Assumed | End::Pruned);
        if let Some(n) = core.nodes.get(core.pos).filter(|_| ran_to_its_end && !core.prune) {
            // It was over before it came to the step at which it was to leave the last one.
            if !self.tolerant && self.divergence.is_none() {
                let expected = core.trace.events().get(core.pos).map(|e| (e.op, e.site));
                self.divergence =
                    Some(Divergence { step: core.pos, thread: n.chosen, expected, found: None, ended: true });
            }
            core.prune = true;
        }
        if self.divergence.is_some() {
            return false;
        }
        // What a bound cut after its last step is complete, if the bound says so.
        let redundant = end == End::Stopped || core.prune && !core.over_bound;
        core.over_bound = self.reduction.over_bound(core, view, end);
        core.refused |= core.over_bound;
        let s = &mut core.stats;
        match end {
            _ if core.over_bound => s.over_bound += 1,
            _ if redundant => s.blocked += 1,
            End::Assumed => s.assumed += 1,
            End::Pruned | End::Undone => s.pruned += 1,
            _ => s.executions += 1,
        }
        s.races += core.trace.races_since(core.fresh) as u64;
        if end != End::Undone {
            self.reduction.ended(core, view, end);
        }
        self.ready = self.backtrack();
        self.ready && self.meter.another()
    }

    fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }
}

impl<R: Reduction> Progress for Search<R> {
    fn stats(&self) -> Stats {
        let open = self.core.nodes.iter().filter(|n| self.reduction.has_open(n));
        let open: u64 = open.map(|n| self.reduction.open(&self.core, n)).sum();
        Stats { open: open + self.ready as u64, ..self.core.stats }
    }

    fn finished(&self) -> bool {
        self.finished
    }

    fn promise(&self) -> Promise {
        self.reduction.promise(&self.core)
    }

    fn restart(&mut self) {
        self.core = Core::default();
        self.reduction = (self.make)();
        self.divergence = None;
        self.ready = false;
        self.finished = false;
    }

    fn tolerate(&mut self) -> bool {
        self.tolerant = true;
        true
    }

    fn spent(&self) -> Option<Spent> {
        self.meter.spent()
    }

    fn estimate(&self) -> Option<f64> {
        crate::estimate::total(&self.core, &self.reduction, self.finished)
    }

    fn schedule(&self) -> Schedule {
        self.core.schedule()
    }
}
