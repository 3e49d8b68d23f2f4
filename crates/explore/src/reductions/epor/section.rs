//! Sections and their trace constraint systems (Metzler 2020, section 3.2.2).
//!
//! A *section* is a set of next steps of some threads that are the same steps on the same objects in whatever order they run:
//! none can block, and after one whose value may decide what its thread does next there is no further step of that thread.
//! A *trace constraint system* gives each pair of conflicting steps of different threads a direction; program order is
//! fixed. Systems without a cycle are the traces of the section, one each.
//!
//! Systems are not enumerated here. Each trace has one lexicographically least order of its steps, and a sequence is such an
//! order iff no step could move to the left past a step of a thread with a higher number (Anisimov and Knuth, 1979). So the
//! least orders are grown step by step. A thread *rests* while its next step would have to move so, until a step that it
//! conflicts with runs. A prefix can be completed iff all that rests can be woken, which is a closure over what is left.

use crate::explorer::View;
use crate::ids::{ObjectId, ThreadId, ThreadSet};
use crate::op::{Decides, Op, OpKind};

/// The most steps of a section: they are kept as bits.
const MOST: usize = 64;

/// Sections with more traces than this are not counted.
const MOST_TRACES: u64 = 1 << 20;

/// A thread that takes part.
#[derive(Clone, Copy)]
struct Member {
    thread: ThreadId,
    /// Its steps.
    steps: u64,
}

/// What a step does to its objects wherever in the section it runs: the objects, whether it writes them, and how many there are.
type Touch = ([(ObjectId, bool); 2], usize);

/// An object, and the steps that read and write it.
struct Touched {
    object: ObjectId,
    readers: u64,
    writers: u64,
}

/// A set of steps that can be ordered without running them again.
#[derive(Default)]
pub(crate) struct Section {
    /// The node at which it starts.
    pub(crate) start: usize,
    /// More steps may be found.
    pub(crate) growing: bool,
    /// At most one step of each thread may be in conflict.
    short: bool,
    /// In the order of thread numbers.
    members: Vec<Member>,
    /// The first step of each, known before it runs; only short sections need them.
    heads: Vec<Touch>,
    /// The member whose steps are being found.
    at: usize,
    /// The most steps of one member.
    share: u32,
    /// The objects that steps read and write, with the steps that do.
    objects: Vec<Touched>,
    /// The member of each step.
    owner: Vec<u8>,
    /// The steps that each step conflicts with.
    conflicts: Vec<u64>,
    /// All pairs of steps of different threads, and those of them that conflict.
    pairs: (u64, u32),
    /// Steps whose value decides an address: nothing may join that conflicts with them.
    guarded: u64,
    /// Steps that conflict with one of the section, or with the first step of a member that is still to come.
    dependent: u64,
}

/// A prefix of an order of a section.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    /// The steps in it.
    done: u64,
    /// The members that rest.
    resting: u64,
}

/// Whether a step of this kind does the same wherever in the section it runs, and does not block.
pub(crate) fn is_fixed(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(kind, Fence | Load | Store | Rmw | CompareExchange | Assign)
}

/// Whether such a step gives its thread a value that may decide which steps come next.
pub(crate) fn decides_what_comes_next(op: &Op) -> bool {
    gives_value(op) && op.decides == Decides::Anything
}

fn gives_value(op: &Op) -> bool {
    !matches!(op.kind, OpKind::Store | OpKind::Fence)
}

/// What such a step does.
fn touch(op: &Op) -> Touch {
    let none = (ObjectId::NONE, false);
    match op.kind {
        OpKind::Fence => ([none; 2], 0),
        OpKind::Assign => ([(op.object, false), (op.other, true)], 2),
        // A compare-exchange may fail and be a read: to order it as a write is finer, and loses nothing.
        kind => ([(op.object, kind != OpKind::Load), none], op.object.is_some().into()),
    }
}

/// Whether two of them conflict.
fn conflict(a: &Touch, b: &Touch) -> bool {
    a.0[..a.1].iter().any(|(o, w)| b.0[..b.1].iter().any(|(p, v)| o == p && (*w || *v)))
}

fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let b = set.trailing_zeros() as usize;
            set &= set - 1;
            b
        })
    })
}

impl Section {
    /// Starts anew at a node: these threads may take part, as far as their next steps can.
    pub(crate) fn begin(&mut self, start: usize, short: bool, threads: ThreadSet, view: &View<'_>) {
        self.start = start;
        self.growing = true;
        self.short = short;
        self.at = 0;
        self.guarded = 0;
        self.dependent = 0;
        self.objects.clear();
        self.owner.clear();
        self.conflicts.clear();
        self.members.clear();
        self.heads.clear();
        self.pairs = (0, 0);
        for thread in threads.iter() {
            let op = &view.pending[thread.index()].op;
            if is_fixed(op.kind) && self.members.len() < MOST {
                self.members.push(Member { thread, steps: 0 });
                if short {
                    self.heads.push(touch(op));
                }
            }
        }
        self.share = (MOST / self.members.len().max(1)) as u32;
    }

    /// How many steps it has.
    pub(crate) fn len(&self) -> usize {
        self.owner.len()
    }

    /// The thread whose next step joins, in the order of thread numbers; `None` if the section is complete. `later` says whether
    /// the next step of a thread comes after a step of the section by a spawn or a join: then it may not be there in
    /// another order.
    pub(crate) fn grow(&mut self, view: &View<'_>, later: impl Fn(ThreadId) -> bool) -> Option<ThreadId> {
        while let Some(m) = self.members.get(self.at) {
            let (t, op) = (m.thread, &view.pending[m.thread.index()].op);
            let may_join = m.steps.count_ones() < self.share
                && view.enabled.contains(t)
                && is_fixed(op.kind)
                && !later(t);
            let last = if may_join { self.join(op) } else { None };
            if last != Some(false) {
                self.at += 1;
            }
            if last.is_some() {
                return Some(t);
            }
        }
        None
    }

    /// Adds a step of the member at hand if it may join; says whether it is the member's last one.
    fn join(&mut self, op: &Op) -> Option<bool> {
        let (k, mine) = (self.len(), self.members[self.at].steps);
        let step = touch(op);
        let (mut with, mut places) = (0, [None; 2]);
        for ((object, writes), place) in step.0[..step.1].iter().zip(&mut places) {
            *place = self.objects.iter().position(|t| t.object == *object);
            if let Some(t) = place.map(|at| &self.objects[at]) {
                with |= if *writes { t.readers | t.writers } else { t.writers };
            }
        }
        let with = with & !mine;
        // Short sections have room for the first step of every member.
        let to_come = self.short && self.heads[self.at + 1..].iter().any(|head| conflict(head, &step));
        if with & self.guarded != 0 {
            return None;
        }
        let mut dependent = self.dependent | with;
        if with != 0 || to_come {
            dependent |= 1 << k;
        }
        if self.short && mine != 0 {
            let crowded = |steps: u64| (steps & dependent).count_ones() > 1;
            if crowded(mine | 1 << k) || self.members.iter().any(|m| crowded(m.steps)) {
                return None;
            }
        }
        let alone = with == 0 && !to_come;
        let last = match op.decides {
            _ if !gives_value(op) => false,
            Decides::Nothing => false,
            Decides::Addresses if alone => {
                self.guarded |= 1 << k;
                false
            }
            Decides::Addresses | Decides::Anything => true,
        };
        self.dependent = dependent;
        self.members[self.at].steps |= 1 << k;
        self.pairs.0 += k as u64 - u64::from(mine.count_ones());
        self.pairs.1 += with.count_ones();
        for ((object, writes), place) in step.0[..step.1].iter().zip(places) {
            let bit = 1 << k;
            let (reads, writes) = if *writes { (0, bit) } else { (bit, 0) };
            match place {
                Some(at) => {
                    self.objects[at].readers |= reads;
                    self.objects[at].writers |= writes;
                }
                None => self.objects.push(Touched { object: *object, readers: reads, writers: writes }),
            }
        }
        self.owner.push(self.at as u8);
        self.conflicts.push(with);
        for i in bits(with) {
            self.conflicts[i] |= 1 << k;
        }
        Some(last)
    }

    /// All pairs of steps of different threads, and those of them that conflict.
    pub(crate) fn pairs(&self) -> (u64, u32) {
        self.pairs
    }

    fn all(&self) -> u64 {
        u64::MAX.checked_shr(64 - self.len() as u32).unwrap_or(0)
    }

    /// Whether the order is complete.
    pub(crate) fn complete(&self, place: Place) -> bool {
        place.done == self.all()
    }

    /// The next step of a member.
    fn next(&self, place: Place, member: usize) -> Option<usize> {
        let left = self.members[member].steps & !place.done;
        (left != 0).then(|| left.trailing_zeros() as usize)
    }

    fn member(&self, t: ThreadId) -> Option<usize> {
        self.members.binary_search_by_key(&t, |m| m.thread).ok()
    }

    /// The member whose step was found as the `k`-th.
    pub(crate) fn thread_of(&self, k: usize) -> ThreadId {
        self.members[self.owner[k] as usize].thread
    }

    /// How many steps of a thread come before node `f`, where the order stands at a place. While it is found, that is thread after thread.
    pub(crate) fn taken(&self, place: Place, f: usize, t: ThreadId) -> u32 {
        let done = if self.growing { (1 << (f - self.start)) - 1 } else { place.done };
        self.member(t).map_or(0, |m| (self.members[m].steps & done).count_ones())
    }

    /// The prefix with one more step.
    pub(crate) fn after(&self, place: Place, t: ThreadId) -> Place {
        match self.member(t) {
            Some(m) => self.step(place, m),
            None => place,
        }
    }

    fn step(&self, place: Place, member: usize) -> Place {
        let Some(k) = self.next(place, member) else { return place };
        let mut resting = 0;
        for p in 0..self.members.len() {
            let rests = p < member || place.resting >> p & 1 == 1;
            if p != member
                && rests
                && let Some(h) = self.next(place, p)
                && self.conflicts[k] >> h & 1 == 0
            {
                resting |= 1 << p;
            }
        }
        Place { done: place.done | 1 << k, resting }
    }

    /// Whether some order that begins so is the least of its trace: what rests can be woken by what is left.
    fn completable(&self, place: Place) -> bool {
        let mut resting = place.resting;
        if resting == 0 {
            return true;
        }
        let mut run = (0..self.members.len())
            .filter(|p| resting >> p & 1 == 0)
            .fold(0, |run, p| run | self.members[p].steps & !place.done);
        loop {
            let woken = bits(resting)
                .filter(|p| self.next(place, *p).is_some_and(|h| self.conflicts[h] & run != 0))
                .fold(0u64, |set, p| set | 1 << p);
            if woken == 0 {
                return resting == 0;
            }
            for p in bits(woken) {
                run |= self.members[p].steps & !place.done;
            }
            resting &= !woken;
        }
    }

    /// The threads that can go on: with each of them the order is still the beginning of a least one.
    pub(crate) fn successors(&self, place: Place) -> ThreadSet {
        self.successor_members(place).map(|m| self.members[m].thread).collect()
    }

    fn successor_members(&self, place: Place) -> impl Iterator<Item = usize> + '_ {
        let left = self.all() & !place.done;
        let mut last = false;
        (0..self.members.len()).filter(move |m| {
            if last || place.resting >> m & 1 == 1 {
                return false;
            }
            let Some(k) = self.next(place, *m) else { return false };
            // While a higher thread goes it would have to rest, and nothing is left to wake it.
            last = self.conflicts[k] & left == 0;
            self.completable(self.step(place, *m))
        })
    }

    /// What its traces depend on: whose steps are in conflict with which.
    pub(crate) fn shape(&self, out: &mut Vec<u64>) {
        out.clear();
        out.extend(self.members.iter().map(|m| m.steps));
        out.extend(&self.conflicts);
    }

    /// How many traces it has; `None` if they are too many to count.
    pub(crate) fn traces(&self) -> Option<u64> {
        let mut found = 0;
        self.count(Place::default(), &mut found).then_some(found)
    }

    fn count(&self, place: Place, found: &mut u64) -> bool {
        if self.complete(place) {
            *found += 1;
            return *found <= MOST_TRACES;
        }
        self.successor_members(place).all(|m| self.count(self.step(place, m), found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::Pending;
    use crate::ids::{ObjectId, Site};

    /// The section of threads that do these operations whatever they read, thread after thread.
    fn section(threads: &[Vec<Op>], short: bool) -> Section {
        let mut at = vec![0; threads.len()];
        let mut s = Section::default();
        loop {
            let live: ThreadSet =
                (0..at.len()).filter(|t| at[*t] < threads[*t].len()).map(|t| ThreadId(t as u16)).collect();
            let pending: Vec<Pending> = threads
                .iter()
                .zip(&at)
                .map(|(ops, k)| ops.get(*k).copied().unwrap_or(Op::local(OpKind::Yield)))
                .map(|op| Pending { op, site: Site(0), awaited: (0, 0) })
                .collect();
            let view = View {
                pending: &pending,
                live,
                enabled: live,
                current: None,
                yielded: ThreadSet::EMPTY,
                objects: u32::MAX,
                names: &[],
                awaited: &[],
            };
            if s.members.is_empty() {
                s.begin(0, short, live, &view);
            }
            match s.grow(&view, |_| false) {
                Some(t) => at[t.index()] += 1,
                None => return s,
            }
        }
    }

    fn read(x: u32, decides: Decides) -> Op {
        Op::new(OpKind::Load, ObjectId(x)).deciding(decides)
    }

    fn write(x: u32) -> Op {
        Op::new(OpKind::Store, ObjectId(x))
    }

    /// The threads of the steps in the order in which they were found.
    fn owners(s: &Section) -> Vec<u16> {
        (0..s.len()).map(|k| s.thread_of(k).0).collect()
    }

    #[test]
    fn a_writer_and_two_readers_have_four_systems_and_no_cycle() {
        let reader = vec![read(0, Decides::Nothing)];
        let s = section(&[vec![write(0)], reader.clone(), reader], false);
        assert_eq!((s.pairs(), s.traces()), ((3, 2), Some(4)));
    }

    #[test]
    fn a_value_that_may_decide_anything_is_the_last_of_its_thread() {
        let s = section(&[vec![write(0), read(1, Decides::Anything), write(2)], vec![write(1)]], false);
        assert_eq!(owners(&s), [0, 0, 1]);
    }

    /// Figure 3.2: `y := 0; t := y; x[t] := 1 || if x[0] == 0 then z := 1 || y := 1`.
    #[test]
    fn nothing_joins_that_would_decide_an_address() {
        let (x, y, z) = (0, 2, 3);
        let threads = [
            vec![write(y), read(y, Decides::Addresses), write(x)],
            vec![read(x, Decides::Anything), write(z)],
            vec![write(y)],
        ];
        let s = section(&threads, false);
        assert_eq!(owners(&s), [0, 0, 0, 1]);
        assert_eq!((s.pairs().1, s.traces()), (1, Some(2)));
    }

    #[test]
    fn an_address_that_is_contended_already_is_the_last_of_its_thread() {
        let threads = [vec![write(0)], vec![read(0, Decides::Addresses), write(1)]];
        assert_eq!(owners(&section(&threads, false)), [0, 1]);
    }

    #[test]
    fn short_sections_have_one_step_in_conflict_for_each_thread() {
        let threads = [vec![write(0), write(1), write(2)], vec![write(3), write(2), write(1)]];
        let (long, short) = (section(&threads, false), section(&threads, true));
        assert_eq!((owners(&long), long.traces()), (vec![0, 0, 0, 1, 1, 1], Some(3)));
        // The last of thread 1 would put a second one of thread 0 in conflict.
        assert_eq!((owners(&short), short.traces()), (vec![0, 0, 0, 1, 1], Some(2)));
    }

    #[test]
    fn what_may_block_or_has_outcomes_does_not_join() {
        for kind in [OpKind::Lock, OpKind::Recv, OpKind::Choose, OpKind::CompareExchangeWeak, OpKind::Yield] {
            let s = section(&[vec![write(0), Op::new(kind, ObjectId(1)), write(0)], vec![write(0)]], false);
            assert_eq!(owners(&s), [0, 1]);
        }
    }

    #[test]
    fn the_least_orders_are_those_of_the_systems_without_a_cycle() {
        // Every orientation of the conflicts of two threads with three steps each, tried one by one.
        let steps = [write(0), read(1, Decides::Nothing), write(1), read(0, Decides::Nothing)];
        for code in 0..4usize.pow(6) {
            let ops: Vec<Op> = (0..6).map(|k| steps[code / 4usize.pow(k) % 4]).collect();
            let s = section(&[ops[..3].to_vec(), ops[3..].to_vec()], false);
            assert_eq!(s.traces(), Some(acyclic(&s)), "{ops:?}");
        }
    }

    /// How many orientations of the conflicts have no cycle.
    fn acyclic(s: &Section) -> u64 {
        let n = s.len();
        let pairs: Vec<(usize, usize)> =
            (0..n).flat_map(|i| bits(s.conflicts[i]).map(move |j| (i, j))).filter(|(i, j)| i < j).collect();
        let no_cycle = |system: u64| {
            let mut before = vec![0u64; n];
            for m in &s.members {
                for k in bits(m.steps) {
                    before[k] |= m.steps & ((1 << k) - 1);
                }
            }
            for (k, (i, j)) in pairs.iter().enumerate() {
                let (i, j) = if system >> k & 1 == 0 { (*i, *j) } else { (*j, *i) };
                before[j] |= 1 << i;
            }
            let mut done = 0u64;
            while let Some(k) = (0..n).find(|k| done >> k & 1 == 0 && before[*k] & !done == 0) {
                done |= 1 << k;
            }
            done.count_ones() as usize == n
        };
        (0..1 << pairs.len()).filter(|system| no_cycle(*system)).count() as u64
    }
}
