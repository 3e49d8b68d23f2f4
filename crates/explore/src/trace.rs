//! The execution so far: events, happens-before as vector clocks, and the races between events.
//!
//! Happens-before is the transitive closure of program order and of dependence ([`Access::conflicts`]) in the order of the
//! execution. Event `e` of thread `t` has a number `seq` among `t`'s events, from 1, and a row of clocks: entry `u` says how
//! many events of thread `u` happen before it or are it. So `e` happens before `f` iff `clock(f)[t] >= seq(e)`.
//!
//! A *race* is a pair of events of different threads, dependent, with nothing in between in happens-before, that can be
//! turned round: the later one could have run without the earlier one. A lock acquire races with the previous acquire,
//! never with the release that let it in. Rows, object histories and races are undone by truncation, so a search that
//! replays a prefix pays nothing for it.

use crate::explorer::Executed;
use crate::ids::{EventIndex, ObjectId, Site, ThreadId};
use crate::op::{Access, Mode, Op, OpKind};
use crate::semantics;

const NONE: u32 = u32::MAX;

/// Clocks are kept eight at a time, so that joining two rows is a handful of vector instructions.
type Lane = [u32; 8];

/// The greater of each two clocks. Signed numbers, which clocks never are too great for, take fewer instructions.
#[inline]
fn join_lane(into: &mut Lane, other: &Lane) {
    for (a, b) in into.iter_mut().zip(other) {
        *a = (*a as i32).max(*b as i32) as u32;
    }
}

/// What one event did to one object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) object: ObjectId,
    pub(crate) access: Access,
    event: u32,
    /// The previous link on the same object.
    prev: u32,
    /// The last link before it that is not of its sort ([`sort`]), so that a run of reads is skipped in one step.
    skip: u32,
}

/// Accesses of one sort never conflict with each other: reads, and readers that come and go. `None` for all others.
#[inline]
fn sort(mode: Mode) -> Option<bool> {
    match mode {
        Mode::Read => Some(true),
        Mode::ReadTaken | Mode::ReadGiven => Some(false),
        _ => None,
    }
}

impl Link {
    /// The link to look at next for who is in conflict with an access.
    #[inline]
    fn before(&self, access: &Access) -> u32 {
        let of = sort(access.mode);
        if of.is_some() && of == sort(self.access.mode) { self.skip } else { self.prev }
    }
}

/// A step that has run.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// By whom.
    pub thread: ThreadId,
    /// Its number among that thread's events, from 1.
    pub seq: u32,
    /// What it was.
    pub op: Op,
    /// What it did to its object.
    pub access: Access,
    /// The object's word before.
    pub before: u64,
    /// The value the thread got.
    pub value: u64,
    /// Whether it succeeded.
    pub ok: bool,
    /// Where in the source.
    pub site: Site,
    /// The chosen outcome.
    pub option: u32,
    /// How many outcomes there were.
    pub options: u32,
    first_link: u32,
    links: u32,
    first_race: u32,
    first_edge: u32,
    prev_of_thread: u32,
}

impl Event {
    /// The stable name of the event.
    #[inline]
    pub fn cause(&self) -> u64 {
        Access::cause(self.thread, self.seq)
    }
}

/// Two events that are dependent, next to each other in happens-before, and can be turned round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The earlier one.
    pub first: EventIndex,
    /// The later one.
    pub second: EventIndex,
    /// For a search: there is nothing more to be done about it while both events stand.
    pub(crate) settled: bool,
}

/// Events with happens-before and races.
#[derive(Default)]
pub struct Trace {
    events: Vec<Event>,
    links: Vec<Link>,
    clocks: Vec<Lane>,
    /// How many lanes a row has.
    lanes: usize,
    /// The last link on each object.
    heads: Vec<u32>,
    /// The last event of each thread.
    last: Vec<u32>,
    races: Vec<Race>,
    /// Spawns and joins whose later thread has not taken a step since: that thread, and an event that it comes after.
    waiting_edges: Vec<(ThreadId, u32)>,
    /// The events that each event comes after by spawns and joins.
    edges: Vec<u32>,
    /// What an operation that can block comes after before it is ordered on its objects.
    past: Vec<u32>,
    /// Clocks for finding races of operations that can block: unlike the event's own row it leaves out what merely let
    /// the operation in.
    scratch: Vec<u32>,
    fold: Vec<u32>,
    /// What the await at hand waits on.
    awaited: Vec<(ObjectId, u64)>,
}

impl Trace {
    /// An empty trace.
    pub fn new() -> Trace {
        Trace { lanes: 1, ..Trace::default() }
    }

    /// Forgets everything but the memory.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.links.clear();
        self.clocks.clear();
        self.lanes = 1;
        self.heads.clear();
        self.last.clear();
        self.races.clear();
        self.waiting_edges.clear();
        self.edges.clear();
    }

    /// For how many events there is memory.
    pub(crate) fn capacity(&self) -> usize {
        self.events.capacity()
    }

    /// How many events.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether nothing has run.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events in order.
    #[inline]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Event `i`.
    #[inline]
    pub(crate) fn event(&self, i: usize) -> &Event {
        &self.events[i]
    }

    /// The links of event `i`.
    #[inline]
    pub(crate) fn links_of(&self, i: usize) -> &[Link] {
        let e = &self.events[i];
        &self.links[e.first_link as usize..(e.first_link + e.links) as usize]
    }

    /// The clocks of event `i`, by thread.
    #[inline]
    pub fn clock(&self, i: usize) -> &[u32] {
        self.clocks[i * self.lanes..(i + 1) * self.lanes].as_flattened()
    }

    /// How many threads the clocks have room for.
    pub(crate) fn width(&self) -> usize {
        self.lanes * Lane::default().len()
    }

    /// Whether event `e` happens before event `f` (or is it).
    #[inline]
    pub fn happens_before(&self, e: usize, f: usize) -> bool {
        let e = &self.events[e];
        self.clock(f)[e.thread.index()] >= e.seq
    }

    /// Whether all that came after event `e` and is not of thread `t` happens after `e`.
    #[inline]
    pub(crate) fn all_after(&self, e: usize, t: ThreadId) -> bool {
        let first = &self.events[e];
        let clocks = self.clocks[(e + 1) * self.lanes..].chunks_exact(self.lanes);
        let mut later = self.events[e + 1..].iter().zip(clocks);
        // Whatever its own thread did later is among that.
        later.all(|(g, clock)| g.thread == t || clock.as_flattened()[first.thread.index()] >= first.seq)
    }

    /// The last event of a thread.
    #[inline]
    pub(crate) fn last_of(&self, t: ThreadId) -> Option<usize> {
        self.last.get(t.index()).filter(|i| **i != NONE).map(|i| *i as usize)
    }

    /// The event of the same thread before event `f`.
    #[inline]
    pub(crate) fn previous(&self, f: usize) -> Option<usize> {
        let p = self.events[f].prev_of_thread;
        (p != NONE).then_some(p as usize)
    }

    /// What event `f` waited on, if it was an await.
    pub(crate) fn awaited_of(&self, f: usize, out: &mut Vec<(ObjectId, u64)>) {
        out.clear();
        if self.events[f].op.kind == OpKind::Await {
            out.extend(self.links_of(f).iter().map(|l| (l.object, l.access.aux)));
        }
    }

    /// The number that the next event of a thread will have.
    pub(crate) fn next_seq(&self, t: ThreadId) -> u32 {
        self.last_of(t).map_or(1, |i| self.events[i].seq + 1)
    }

    /// How many events of a thread come before event `e`.
    pub(crate) fn seq_before(&self, t: ThreadId, e: usize) -> u32 {
        let mut i = self.last_of(t);
        while let Some(k) = i.filter(|k| *k >= e) {
            i = self.previous(k);
        }
        i.map_or(0, |k| self.events[k].seq)
    }

    /// The event of a thread with this number.
    pub(crate) fn nth_of(&self, t: ThreadId, seq: u32) -> Option<usize> {
        let mut i = self.last_of(t);
        while let Some(k) = i {
            if self.events[k].seq <= seq {
                return (self.events[k].seq == seq).then_some(k);
            }
            i = self.previous(k);
        }
        None
    }

    /// The races whose later event is `f`, latest first.
    #[inline]
    pub(crate) fn races_of(&self, f: usize) -> &[Race] {
        let to = self.events.get(f + 1).map_or(self.races.len(), |e| e.first_race as usize);
        &self.races[self.events[f].first_race as usize..to]
    }

    /// Whether `f`, without `e`, can come directly before it for a plain reason: its thread has done nothing since, and both
    /// touch just one object, which `e` wrote, so that nothing independent of `e` touches it in between.
    #[inline]
    pub(crate) fn next_after(&self, e: usize, f: usize) -> bool {
        let (first, second) = (&self.events[e], &self.events[f]);
        let edges = self.events.get(f + 1).map_or(self.edges.len(), |n| n.first_edge as usize);
        (second.prev_of_thread == NONE || (second.prev_of_thread as usize) < e)
            && edges == second.first_edge as usize
            && first.access.is_total()
            && first.links == 1
            && second.links == 1
            && second.op.kind != OpKind::CompareExchangeWeak
    }

    /// Marks the `k`-th race.
    pub(crate) fn settle(&mut self, k: usize) {
        self.races[k].settled = true;
    }

    /// How many threads have run.
    pub(crate) fn threads(&self) -> usize {
        self.last.len()
    }

    /// How many threads have events.
    pub(crate) fn threads_that_ran(&self) -> usize {
        self.last.iter().filter(|e| **e != NONE).count()
    }

    /// How many races have their later event at `f` or after.
    pub(crate) fn races_since(&self, f: usize) -> usize {
        self.events.get(f).map_or(0, |e| self.races.len() - e.first_race as usize)
    }

    /// All races.
    pub fn races(&self) -> &[Race] {
        &self.races
    }

    /// Forgets all events from position `len` on.
    pub fn truncate(&mut self, len: usize) {
        for i in (len..self.events.len()).rev() {
            let e = &self.events[i];
            if e.links == 1 {
                let link = &self.links[e.first_link as usize];
                self.heads[link.object.index()] = link.prev;
            } else {
                for link in self.links[e.first_link as usize..][..e.links as usize].iter().rev() {
                    self.heads[link.object.index()] = link.prev;
                }
            }
            self.last[e.thread.index()] = e.prev_of_thread;
        }
        if let Some(e) = self.events.get(len) {
            self.links.truncate(e.first_link as usize);
            self.races.truncate(e.first_race as usize);
            self.edges.truncate(e.first_edge as usize);
            self.events.truncate(len);
            self.clocks.truncate(len * self.lanes);
        }
    }

    /// Makes room for more threads in the rows.
    #[cold]
    fn widen(&mut self, threads: usize) {
        let lanes = threads.div_ceil(Lane::default().len()).next_power_of_two();
        let mut clocks = vec![Lane::default(); self.events.len() * lanes];
        for i in 0..self.events.len() {
            let from = i * self.lanes;
            clocks[i * lanes..i * lanes + self.lanes].copy_from_slice(&self.clocks[from..from + self.lanes]);
        }
        self.clocks = clocks;
        self.lanes = lanes;
    }

    /// Adds an event: computes its clocks and finds its races.
    #[inline]
    pub fn push(&mut self, x: &Executed<'_>, option: u32, options: u32) {
        if !self.push_plain(x, option, options) {
            self.push_any(x, option, options);
        }
    }

    /// Adds an event if it is what most events are: of one of few threads, of a kind that is always enabled, on one object
    /// whose last access is all that it has to be ordered after. Says whether it was.
    #[inline(always)]
    fn push_plain(&mut self, x: &Executed<'_>, option: u32, options: u32) -> bool {
        let (t, object, mode) = (x.thread.index(), x.op.object.index(), x.access.mode);
        let told = self.waiting_edges.iter().any(|e| e.0 == x.thread);
        if self.lanes != 1 || told || x.op.kind.is_special() || mode == Mode::Local {
            return false;
        }
        let (Some(prev_of_thread), Some(head)) = (self.last.get(t).copied(), self.heads.get(object).copied())
        else {
            return false;
        };
        let mut after = NONE;
        if head != NONE {
            let h = &self.links[head as usize];
            // What is of another sort stands at the head, or is no write: then this is not the place for it.
            after = if mode == Mode::Read && h.access.mode == Mode::Read { h.skip } else { head };
            if after != NONE && !self.links[after as usize].access.is_total() {
                return false;
            }
        }
        let f = self.events.len() as u32;
        let (seq, mut row) = match self.events.get(prev_of_thread as usize) {
            Some(prev) => (prev.seq + 1, self.clocks[prev_of_thread as usize]),
            None => (1, Lane::default()),
        };
        row[t & 7] = seq;
        let first_race = self.races.len() as u32;
        if after != NONE {
            let e = self.links[after as usize].event;
            let earlier = &self.events[e as usize];
            if row[earlier.thread.index() & 7] < earlier.seq {
                let (first, second) = (EventIndex(e), EventIndex(f));
                self.races.push(Race { first, second, settled: false });
                join_lane(&mut row, &self.clocks[e as usize]);
            }
        }
        let first_link = self.links.len() as u32;
        self.clocks.push(row);
        self.links.push(Link { object: x.op.object, access: x.access, event: f, prev: head, skip: after });
        self.heads[object] = first_link;
        let event = Event { first_link, links: 1, first_race, ..self.entry(x, seq, (option, options)) };
        self.events.push(event);
        self.last[t] = f;
        true
    }

    /// The next event, before anything is known of its objects and races.
    #[inline(always)]
    fn entry(&self, x: &Executed<'_>, seq: u32, (option, options): (u32, u32)) -> Event {
        Event {
            thread: x.thread,
            seq,
            op: x.op,
            access: x.access,
            before: x.before,
            value: x.value,
            ok: x.ok,
            site: x.site,
            option,
            options,
            first_link: self.links.len() as u32,
            links: 0,
            first_race: self.races.len() as u32,
            first_edge: self.edges.len() as u32,
            prev_of_thread: self.last[x.thread.index()],
        }
    }

    fn push_any(&mut self, x: &Executed<'_>, option: u32, options: u32) {
        let t = x.thread.index();
        if t >= self.last.len() {
            if t >= self.width() {
                self.widen(t + 1);
            }
            self.last.resize(t + 1, NONE);
        }
        let f = self.events.len();
        let prev_of_thread = self.last[t];
        let seq = if prev_of_thread == NONE { 1 } else { self.events[prev_of_thread as usize].seq + 1 };
        let event = self.entry(x, seq, (option, options));
        self.events.push(event);
        let lanes = self.lanes;
        if prev_of_thread == NONE {
            self.clocks.resize((f + 1) * lanes, Lane::default());
        } else {
            for k in 0..lanes {
                let lane = self.clocks[prev_of_thread as usize * lanes + k];
                self.clocks.push(lane);
            }
        }
        self.clocks[f * lanes + t / 8][t % 8] = seq;
        if !self.waiting_edges.is_empty() {
            self.take_edges(x.thread, f);
        }
        if x.op.kind == OpKind::Await {
            self.awaited.clear();
            self.awaited.extend_from_slice(x.awaited);
            for (object, seen) in x.awaited {
                self.add_link(f, *object, Access { mode: Mode::Read, aux: *seen });
            }
        } else if x.op.object.is_some() && x.access.mode != Mode::Local {
            self.add_link(f, x.op.object, x.access);
            if x.op.writes_other() {
                self.add_link(f, x.op.other, Access::new(Mode::Write));
            }
        }
        let waits = matches!(x.op.kind, OpKind::Wake | OpKind::Park | OpKind::Await);
        if waits && x.op.a & Op::TIME_PASSES != 0 {
            // Nothing else could run: the step comes after everything, and races with nothing. A wait for words that differ may
            // also have ended before the last writes to these words.
            if x.op.kind != OpKind::Await {
                self.races.truncate(self.events[f].first_race as usize);
            }
            for u in 0..self.last.len() {
                if self.last[u] != NONE {
                    self.join_rows(f, self.last[u] as usize);
                }
            }
        }
        self.last[t] = f as u32;
    }

    /// A new execution starts: spawns and joins are to be told again.
    pub fn restart(&mut self) {
        self.waiting_edges.clear();
    }

    /// The next event of `after` comes after what `before` has done in the first `len` events: it was spawned by it, or has
    /// joined it. Neither is an event of its own.
    #[inline]
    pub fn order(&mut self, before: ThreadId, after: ThreadId, len: usize) {
        // A thread that only spawns others has nothing that they come after.
        if !self.waiting_edges.is_empty() || self.last_of(before).is_some() {
            self.add_waiting_edges(before, after, len);
        }
    }

    fn add_waiting_edges(&mut self, before: ThreadId, after: ThreadId, len: usize) {
        for k in 0..self.waiting_edges.len() {
            let (t, i) = self.waiting_edges[k];
            if t == before {
                self.waiting_edges.push((after, i));
            }
        }
        let Some(mut e) = self.last.get(before.index()).copied() else { return };
        while e != NONE && e as usize >= len {
            e = self.events[e as usize].prev_of_thread;
        }
        if e != NONE {
            self.waiting_edges.push((after, e));
        }
    }

    /// A thread took a step again that is in the trace already.
    #[inline]
    pub(crate) fn replayed(&mut self, t: ThreadId) {
        if !self.waiting_edges.is_empty() {
            self.waiting_edges.retain(|e| e.0 != t);
        }
    }

    fn take_edges(&mut self, t: ThreadId, f: usize) {
        for k in 0..self.waiting_edges.len() {
            let (u, e) = self.waiting_edges[k];
            if u == t {
                self.edges.push(e);
                self.join_rows(f, e as usize);
            }
        }
        self.waiting_edges.retain(|e| e.0 != t);
    }

    /// The clocks of what event `f` comes after in program order, by spawns and by joins.
    pub(crate) fn past_of(&self, f: usize, out: &mut Vec<u32>) {
        self.row_of(self.previous(f), out);
        for e in self.edges_of(f) {
            join_into(out, self.clock(e));
        }
    }

    /// The same for the next event of a thread.
    pub(crate) fn past_of_next(&self, t: ThreadId, out: &mut Vec<u32>) {
        self.row_of(self.last_of(t), out);
        for e in self.waiting_edges_of(t) {
            join_into(out, self.clock(e));
        }
    }

    /// What event `f` comes after by spawns and joins.
    pub(crate) fn edges_of(&self, f: usize) -> impl Iterator<Item = usize> + '_ {
        let to = self.events.get(f + 1).map_or(self.edges.len(), |e| e.first_edge as usize);
        self.edges[self.events[f].first_edge as usize..to].iter().map(|e| *e as usize)
    }

    /// The same for the next event of a thread.
    pub(crate) fn waiting_edges_of(&self, t: ThreadId) -> impl Iterator<Item = usize> + '_ {
        self.waiting_edges.iter().filter(move |e| e.0 == t).map(|e| e.1 as usize)
    }

    fn row_of(&self, e: Option<usize>, out: &mut Vec<u32>) {
        out.clear();
        match e {
            Some(e) => out.extend_from_slice(self.clock(e)),
            None => out.resize(self.width(), 0),
        }
    }

    /// Whether event `e` is in the past that these clocks tell.
    #[inline]
    pub(crate) fn in_past(&self, e: usize, past: &[u32]) -> bool {
        past[self.events[e].thread.index()] >= self.events[e].seq
    }

    /// Takes the clocks of event `from` into those of event `into`.
    #[inline]
    fn join_rows(&mut self, into: usize, from: usize) {
        debug_assert!(from < into);
        for k in 0..self.lanes {
            let other = self.clocks[from * self.lanes + k];
            join_lane(&mut self.clocks[into * self.lanes + k], &other);
        }
    }

    #[inline]
    fn add_link(&mut self, f: usize, object: ObjectId, access: Access) {
        if object.index() >= self.heads.len() {
            self.heads.resize(object.index() + 1, NONE);
        }
        let head = self.heads[object.index()];
        let (mut last_write, mut skip) = (NONE, NONE);
        if head != NONE {
            let h = &self.links[head as usize];
            last_write = if h.access.mode == Mode::Read { h.skip } else { head };
            let same = sort(access.mode).is_some() && sort(access.mode) == sort(h.access.mode);
            skip = if same { h.skip } else { head };
        }
        let op = &self.events[f].op;
        if matches!(op.kind, OpKind::Start | OpKind::Join) {
            // Ordered after the one step that lets it in, and in no race: it cannot run without it.
            if last_write != NONE {
                self.join_rows(f, self.links[last_write as usize].event as usize);
            }
        } else if op.may_block() {
            self.order_blocking(f, head, access);
        } else if access.mode == Mode::Read
            && (last_write == NONE || self.links[last_write as usize].access.is_total())
        {
            if last_write != NONE {
                self.order_after(f, last_write);
            }
        } else {
            self.order_plain(f, head, access);
        }
        let index = self.links.len() as u32;
        self.links.push(Link { object, access, event: f as u32, prev: head, skip });
        self.heads[object.index()] = index;
        self.events[f].links += 1;
    }

    /// Orders `f` after the event of a link it conflicts with, and notes the race if there is one.
    #[inline]
    fn order_after(&mut self, f: usize, link: u32) {
        let e = self.links[link as usize].event as usize;
        let (thread, seq) = (self.events[e].thread, self.events[e].seq);
        if self.clock(f)[thread.index()] < seq {
            self.races.push(Race {
                first: EventIndex(e as u32),
                second: EventIndex(f as u32),
                settled: false,
            });
            self.join_rows(f, e);
        }
    }

    /// For operations that are always enabled: every conflicting event that nothing later covers is in a race. Later
    /// ones come first, so the row, as it grows, says what is covered.
    fn order_plain(&mut self, f: usize, mut link: u32, access: Access) {
        let cause = self.events[f].cause();
        while link != NONE {
            let l = &self.links[link as usize];
            if l.access.is_total() {
                return self.order_after(f, link);
            }
            let prev = l.before(&access);
            if l.access.conflicts(self.events[l.event as usize].cause(), &access, cause) {
                self.order_after(f, link);
            }
            link = prev;
        }
    }

    /// For operations that can be disabled: an event that merely let `f` in orders it but is no race; behind it the
    /// event that shut it out may be one.
    fn order_blocking(&mut self, f: usize, head: u32, access: Access) {
        let (mut scratch, mut past) = (std::mem::take(&mut self.scratch), std::mem::take(&mut self.past));
        self.past_of(f, &mut past);
        scratch.clone_from(&past);
        let (thread, cause) = (self.events[f].thread, self.events[f].cause());
        let op = self.events[f].op;
        let mut link = head;
        while link != NONE {
            let l = self.links[link as usize];
            let e = l.event as usize;
            let (et, eseq) = (self.events[e].thread, self.events[e].seq);
            let conflicts = l.access.conflicts(self.events[e].cause(), &access, cause);
            if conflicts && self.clock(f)[et.index()] < eseq {
                self.join_rows(f, e);
            }
            let known = scratch[et.index()] >= eseq;
            let mut covered = known;
            if conflicts && !known && self.could_run_without(e, link, &op, thread, &past, f) {
                debug_assert!(
                    op.may_be_coenabled(&self.events[e].op),
                    "{:?} and then {op:?}",
                    self.events[e].op
                );
                self.races.push(Race {
                    first: EventIndex(e as u32),
                    second: EventIndex(f as u32),
                    settled: false,
                });
                join_into(&mut scratch, self.clock(e));
                covered = true;
            }
            if covered && l.access.is_total() {
                break;
            }
            link = l.before(&access);
        }
        (self.scratch, self.past) = (scratch, past);
    }

    /// The events that an operation which never ran (its thread is blocked at the end, or the execution was cut) is in a
    /// race with, latest first.
    pub(crate) fn races_of_pending(
        &mut self,
        thread: ThreadId,
        op: &Op,
        awaited: &[(ObjectId, u64)],
        out: &mut Vec<usize>,
    ) {
        let mut past = std::mem::take(&mut self.past);
        self.past_of_next(thread, &mut past);
        self.races_after(thread, op, awaited, &past, out);
        self.past = past;
    }

    /// The same for an operation that comes after what these clocks tell.
    pub(crate) fn races_after(
        &mut self,
        thread: ThreadId,
        op: &Op,
        awaited: &[(ObjectId, u64)],
        past: &[u32],
        out: &mut Vec<usize>,
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend_from_slice(past);
        let cause = Access::cause(thread, u32::MAX);
        self.awaited.clear();
        self.awaited.extend_from_slice(awaited);
        for k in 0.. {
            let Some(object) = nth_object(op, awaited, k) else { break };
            let mut link =
                if object.is_some() { self.heads.get(object.index()).copied().unwrap_or(NONE) } else { NONE };
            let access = if k == 1 && op.writes_other() { Access::new(Mode::Write) } else { strongest(op) };
            while link != NONE {
                let l = self.links[link as usize];
                let e = l.event as usize;
                let known = scratch[self.events[e].thread.index()] >= self.events[e].seq;
                let mut covered = known;
                if !known
                    && l.access.conflicts(self.events[e].cause(), &access, cause)
                    && self.could_run_without(e, link, op, thread, past, self.events.len())
                {
                    out.push(e);
                    join_into(&mut scratch, self.clock(e));
                    covered = true;
                }
                if covered && l.access.is_total() {
                    break;
                }
                link = l.prev;
            }
        }
        self.scratch = scratch;
    }

    /// Whether `op` of `thread` would be enabled if event `e` (seen through `link`) and all that happens after it were
    /// not there.
    fn could_run_without(
        &mut self,
        e: usize,
        link: u32,
        op: &Op,
        thread: ThreadId,
        past: &[u32],
        end: usize,
    ) -> bool {
        match op.kind {
            OpKind::Wake => return op.a & !Op::TIME_PASSES != 0,
            OpKind::Join | OpKind::Start | OpKind::Assume | OpKind::SendDone => return false,
            OpKind::Await => return self.change_without(e),
            _ if !op.may_block() => return true,
            _ => {}
        }
        let l = self.links[link as usize];
        if self.events[e].op.object != l.object {
            // The mutex that a wait gave back: it was held before.
            return false;
        }
        if op.kind == OpKind::WriteLock && op.a == 0 {
            let mut v = Vec::new();
            return self.reversal(e, thread, past, op, end, &mut v).is_some();
        }
        let word = self.fold_without(e, link);
        semantics::enabled(op, word, thread)
    }

    /// Whether a wait would be over without event `e` and what happens after it.
    fn change_without(&self, e: usize) -> bool {
        self.awaited.iter().any(|(object, seen)| {
            let mut word = None;
            // Changes that commute with others, such as those of counts, latest first.
            let mut changes = Vec::new();
            let mut g = self.heads.get(object.index()).copied().unwrap_or(NONE);
            while g != NONE {
                let l = self.links[g as usize];
                let i = l.event as usize;
                let before = self.word_met_by(i, *object);
                word = before.or(word);
                if l.access.mode != Mode::Read && !self.happens_before(e, i) {
                    changes.push(i);
                    if l.access.is_total() {
                        word = before;
                        break;
                    }
                }
                g = l.prev;
            }
            let change = |word, i: &usize| self.step_word(*i, *object, word);
            word.is_some_and(|word| changes.iter().rev().fold(word, change) != *seen)
        })
    }

    /// The word of the object of `link` after everything that does not happen after `e`, in the order of the trace.
    fn fold_without(&mut self, e: usize, link: u32) -> u64 {
        let l = self.links[link as usize];
        let mut word = self.events[e].before;
        let mut fold = std::mem::take(&mut self.fold);
        fold.clear();
        let mut g = self.heads[l.object.index()];
        while g != NONE && g > link {
            let k = self.links[g as usize];
            if !self.happens_before(e, k.event as usize) {
                fold.push(k.event);
            }
            g = k.prev;
        }
        for g in fold.iter().rev() {
            word = self.step_word(*g as usize, l.object, word);
        }
        self.fold = fold;
        word
    }

    /// The word of an object before event `i` touched it, where that is known.
    fn word_met_by(&self, i: usize, object: ObjectId) -> Option<u64> {
        let e = &self.events[i];
        if e.op.object == object { Some(e.before) } else { (e.op.kind == OpKind::Assign).then_some(e.op.b) }
    }

    fn step_word(&self, g: usize, object: ObjectId, word: u64) -> u64 {
        let g = &self.events[g];
        if g.op.object == object {
            semantics::apply(&g.op, word, g.thread, g.option).word
        } else {
            semantics::apply_other(&g.op, word)
        }
    }

    /// Turns a race round: fills `v` with the events after `e`, before `end`, that do not happen after `e`, and says what
    /// the later event (operation `op` of `thread`) becomes when it runs after them instead. `None` if it cannot run
    /// there.
    ///
    /// A write lock that comes before a reader needs the other readers out of the way: readers that came after `e` and do
    /// not leave without it are left out of `v`, with all that happens after them.
    pub(crate) fn reversal(
        &self,
        e: usize,
        thread: ThreadId,
        past: &[u32],
        op: &Op,
        end: usize,
        v: &mut Vec<u32>,
    ) -> Option<Access> {
        v.clear();
        let (et, eseq) = (self.events[e].thread.index(), self.events[e].seq);
        let (lanes, lane, slot) = (self.lanes, et / 8, et % 8);
        let rows = self.clocks[(e + 1) * lanes..end * lanes].chunks_exact(lanes);
        v.extend(rows.zip(e as u32 + 1..).filter(|(row, _)| row[lane][slot] < eseq).map(|(_, g)| g));
        if op.kind == OpKind::WriteLock && op.a == 0 && !self.drop_staying_readers(op.object, past, v) {
            return None;
        }
        let mut op = *op;
        if op.kind == OpKind::Wake && op.b == self.events[e].cause() {
            op.b = 0;
        }
        if op.kind == OpKind::Await {
            return Some(Access::new(Mode::Read));
        }
        if !op.object.is_some() {
            return Some(Access::LOCAL);
        }
        let mut word = if self.events[e].op.object == op.object {
            self.events[e].before
        } else {
            // The race is on the second object of one of the two; the state of `op`'s own object is that before `e`.
            self.word_before(op.object, e)
        };
        word = self.fold_events(op.object, word, v.iter().map(|g| *g as usize));
        if !semantics::enabled(&op, word, thread) {
            return None;
        }
        Some(semantics::apply(&op, word, thread, 0).access)
    }

    /// The word of an object before event `e`, and then after these events.
    pub(crate) fn word_after(&self, object: ObjectId, e: usize, events: impl Iterator<Item = usize>) -> u64 {
        self.fold_events(object, self.word_before(object, e), events)
    }

    fn fold_events(&self, object: ObjectId, word: u64, events: impl Iterator<Item = usize>) -> u64 {
        events
            .filter(|g| self.links_of(*g).iter().any(|l| l.object == object))
            .fold(word, |word, g| self.step_word(g, object, word))
    }

    fn word_before(&self, object: ObjectId, e: usize) -> u64 {
        let mut g = self.heads.get(object.index()).copied().unwrap_or(NONE);
        let mut after = 0;
        while g != NONE {
            let k = self.links[g as usize];
            if (k.event as usize) < e {
                let before = self.word_met_by(k.event as usize, object).unwrap_or(0);
                return self.step_word(k.event as usize, object, before);
            }
            after = self.word_met_by(k.event as usize, object).unwrap_or(after);
            g = k.prev;
        }
        after
    }

    /// Leaves out of `v` the readers that do not leave, and all that happens after them; `false` if `past` is among that.
    fn drop_staying_readers(&self, object: ObjectId, past: &[u32], v: &mut Vec<u32>) -> bool {
        loop {
            let staying = v.iter().position(|g| {
                let e = &self.events[*g as usize];
                e.op.object == object && e.access.mode == Mode::ReadTaken && {
                    let (mut taken, mut given) = (0, 0);
                    for h in v.iter().filter(|h| **h >= *g) {
                        let h = &self.events[*h as usize];
                        if h.thread == e.thread && h.op.object == object {
                            taken += (h.access.mode == Mode::ReadTaken) as i32;
                            given += (h.access.mode == Mode::ReadGiven) as i32;
                        }
                    }
                    taken > given
                }
            });
            let Some(i) = staying else { return true };
            let r = v[i] as usize;
            if self.in_past(r, past) {
                return false;
            }
            v.retain(|g| !self.happens_before(r, *g as usize));
        }
    }

    /// The last event before `end` that may conflict with `op` of `thread` in some state, and that passes `test`. Persistent
    /// sets must hold in every state, so what the operations did here does not matter.
    pub(crate) fn last_possible_conflict(
        &self,
        thread: ThreadId,
        op: &Op,
        awaited: &[(ObjectId, u64)],
        end: usize,
        test: impl Fn(&Trace, usize) -> bool,
    ) -> Option<usize> {
        let mut best = None;
        for k in 0.. {
            let Some(object) = nth_object(op, awaited, k) else { break };
            if !object.is_some() {
                continue;
            }
            let access = if k == 1 { Access::new(Mode::Write) } else { strongest(op) };
            let mut link = self.heads.get(object.index()).copied().unwrap_or(NONE);
            while link != NONE {
                let l = self.links[link as usize];
                let e = l.event as usize;
                if best.is_some_and(|b| e <= b) {
                    break;
                }
                let event = &self.events[e];
                let other = if event.op.object == l.object { strongest(&event.op) } else { l.access };
                if e < end
                    && event.thread != thread
                    && other.conflicts(event.cause(), &access, 0)
                    && test(self, e)
                {
                    best = Some(e);
                    break;
                }
                link = l.prev;
            }
        }
        best
    }

    /// What was done to an object, latest first: the event, and its access.
    pub(crate) fn history(&self, object: ObjectId) -> impl Iterator<Item = (usize, Access)> + '_ {
        let mut link = self.heads.get(object.index()).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let l = self.links.get(link as usize)?;
            link = l.prev;
            Some((l.event as usize, l.access))
        })
    }

    /// What a step that has not run does to the objects that it touches in the state at hand. A weak compare-exchange is taken
    /// to fail: whether it does is not known yet.
    pub(crate) fn accesses_of_next(
        &self,
        thread: ThreadId,
        op: &Op,
        awaited: &[(ObjectId, u64)],
        mut each: impl FnMut(ObjectId, Access),
    ) {
        match op.kind {
            OpKind::Await => {
                awaited.iter().for_each(|(o, seen)| each(*o, Access { mode: Mode::Read, aux: *seen }))
            }
            _ if !op.object.is_some() => {}
            OpKind::CompareExchangeWeak => each(op.object, Access::new(Mode::Read)),
            _ => {
                let word = self.word_before(op.object, self.len());
                each(op.object, semantics::apply(op, word, thread, 0).access);
                if op.kind == OpKind::Wait {
                    each(op.other, Access::new(Mode::Write));
                }
            }
        }
    }

    /// A hash of the happens-before order that is the same for all executions of one class.
    pub fn class(&self) -> u64 {
        (0..self.len()).fold(0u64, |h, i| h.wrapping_add(self.event_hash(i)))
    }

    /// A hash of one event and its happens-before past. The sum over a trace names its class.
    pub(crate) fn event_hash(&self, i: usize) -> u64 {
        let e = &self.events[i];
        let mut h =
            mix(e.cause() ^ ((e.op.kind as u64) << 48), ((e.option as u64) << 8) | e.access.mode as u64);
        for (t, c) in self.clock(i).iter().enumerate() {
            if *c != 0 {
                h = mix(h, ((t as u64) << 32) | *c as u64);
            }
        }
        h
    }
}

/// The k-th object that an operation touches.
fn nth_object(op: &Op, awaited: &[(ObjectId, u64)], k: usize) -> Option<ObjectId> {
    if op.kind == OpKind::Await { awaited.get(k).map(|a| a.0) } else { [op.object, op.other].get(k).copied() }
}

/// The strongest thing an operation that has not run can turn out to do.
pub(crate) fn strongest(op: &Op) -> Access {
    use OpKind::*;
    Access::new(match op.kind {
        Load | Join | IsFinished | CountRead | Await | Assign => Mode::Read,
        Yield | Choose | Fence | Assume => Mode::Local,
        ReadLock | TryReadLock if op.a == 0 => Mode::ReadTaken,
        ReadUnlock if op.a == 0 => Mode::ReadGiven,
        Wait => Mode::Waiting,
        Wake if op.b != 0 => return Access { mode: Mode::WokenBy, aux: op.b },
        Wake => Mode::WokenAlone,
        Unpark => Mode::TokenGiven,
        CountUp => Mode::CountedUp,
        AddSender => Mode::SenderCame,
        DropSender => Mode::SenderGone,
        _ => Mode::Write,
    })
}

#[inline]
fn join_into(into: &mut [u32], from: &[u32]) {
    for (a, b) in into.iter_mut().zip(from) {
        *a = (*a).max(*b);
    }
}

/// A strong mixing step: xorshift-multiply, after the finaliser of MurmurHash3.
#[inline]
pub(crate) fn mix(h: u64, x: u64) -> u64 {
    let mut z = h.rotate_left(23).wrapping_add(x).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}
