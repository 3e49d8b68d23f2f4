//! Brute force: all interleavings and all choices of the environment, with every state kept. The rules are those of C11 and POSIX; no
//! code of raddle is used.
//!
//! Data races are found with vector clocks. Threads are ordered by locks, semaphores, sequentially consistent atomic operations on the
//! same bytes, and by memory that is freed and allocated again. Where plain accesses are not steps, a thread performs them together
//! with the operation before: a program without races has no other behaviour, and a race is one in every order.

use crate::effects::{Effect, Layout, effect, number, value};
use crate::program::{At, Program, Stmt};
use std::collections::{BTreeSet, HashMap};

/// How a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Races are failures.
    Report,
    /// Races are failures, and volatile accesses are relaxed atomic operations.
    VolatileAtomic,
    /// Plain accesses are steps: all that is read at once, then all that is written at once.
    Sync,
    /// Plain accesses are steps, member by member in any order.
    SyncMembers,
}

/// Rules of the environment. Each can be turned off, which the comparison must notice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) timeouts: bool,
    /// Spurious events of a thread in a row.
    pub(crate) spurious: u8,
    pub(crate) reuse: bool,
    pub(crate) arguments_are_read: bool,
    pub(crate) results_are_written: bool,
    pub(crate) calls_read: bool,
    pub(crate) calls_write: bool,
    /// Library functions access what they need not access.
    pub(crate) calls_access_more: bool,
    /// A small store leaves the rest of the word.
    pub(crate) small_stores: bool,
    /// A weak compare-exchange of a part of a word may fail spuriously.
    pub(crate) parts_fail: bool,
    /// Volatile accesses do not order other accesses.
    pub(crate) volatile_is_relaxed: bool,
    /// A loop may look more often than once before something changes.
    pub(crate) fruitless_turns: bool,
    /// An assignment of a structure is two steps.
    pub(crate) copies_are_torn: bool,
}

pub(crate) const RIGHT: Rules = Rules {
    timeouts: true,
    spurious: u8::MAX,
    reuse: true,
    arguments_are_read: true,
    results_are_written: true,
    calls_read: true,
    calls_write: true,
    calls_access_more: false,
    small_stores: true,
    parts_fail: true,
    volatile_is_relaxed: true,
    fruitless_turns: true,
    copies_are_torn: true,
};

/// Everything that a program can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    /// A data race, or a use of freed memory, also to free it again. Nothing else counts then.
    pub(crate) race: bool,
    /// The sums at the end.
    pub(crate) ends: BTreeSet<u64>,
    /// Assertions that can fail.
    pub(crate) failed: BTreeSet<u32>,
    /// A deadlock, or a state from which no end is reachable without spurious events.
    pub(crate) stuck: bool,
    /// The same, if a failed assertion is not an end.
    pub(crate) stuck_but_for_failures: bool,
    /// The number of states.
    pub(crate) states: usize,
}

/// One instruction of a thread.
#[derive(Clone, Debug)]
enum Op {
    Set(u8, u64),
    Increment(u8),
    Jump(usize),
    /// Jumps if the register has the value, or if it has not.
    JumpIf(u8, u64, usize),
    JumpUnless(u8, u64, usize),
    /// Loads, stores, exchanges, ...; compare-exchanges leave whether they succeeded in register 4.
    Atomic(Stmt),
    /// A weak compare-exchange from register 3 to the sum of register 3 and this number.
    WeakAdd(At, u64),
    Plain(Stmt),
    Lock(u8),
    LockTimed(u8, u8),
    Unlock(u8),
    Wait(bool, u8),
    Other(Stmt),
    /// The first look of a loop, for a wrong rule.
    Turn,
}

/// Registers of the program, and two that loops use.
const REGISTERS: usize = 5;

fn lower(block: &[Stmt], out: &mut Vec<Op>) {
    // Jumps to the end of a loop or a branch are filled in when it is known.
    const LATER: usize = usize::MAX;
    let end = |out: &mut Vec<Op>, from: usize| {
        let to = out.len();
        for op in &mut out[from..] {
            match op {
                Op::Jump(t) | Op::JumpIf(_, _, t) | Op::JumpUnless(_, _, t) if *t == LATER => *t = to,
                _ => {}
            }
        }
    };
    for s in block {
        let start = out.len();
        match s {
            Stmt::Load(..) | Stmt::Store(..) | Stmt::Add(..) | Stmt::Exchange(..) => {
                out.push(Op::Atomic(s.clone()))
            }
            Stmt::Cas { .. } => out.push(Op::Atomic(s.clone())),
            Stmt::CasCounted { at, from, to, most, r } => {
                out.push(Op::Set(*r, 0));
                let again = out.len();
                out.push(Op::Atomic(Stmt::Cas { at: *at, from: *from, to: *to, weak: true, r: 4 }));
                out.extend([
                    Op::JumpIf(4, 1, LATER),
                    Op::Increment(*r),
                    Op::JumpIf(*r, *most, LATER),
                    Op::Turn,
                ]);
                out.push(Op::Jump(again));
            }
            Stmt::CasAdd(at, n) => {
                out.push(Op::Atomic(Stmt::Load(*at, 3)));
                let again = out.len();
                out.extend([Op::WeakAdd(*at, *n), Op::JumpIf(4, 0, again), Op::Set(3, 0)]);
            }
            Stmt::Critical(m, b) => {
                out.push(Op::Lock(*m));
                lower(b, out);
                out.push(Op::Unlock(*m));
            }
            Stmt::TimedCritical(m, r, b) => {
                out.extend([Op::LockTimed(*m, 4), Op::JumpIf(4, 0, LATER)]);
                lower(b, out);
                out.push(Op::Unlock(*m));
                end(out, start);
                // Whether it was taken, in the register that the body may have changed.
                out.extend([Op::Set(*r, 0), Op::JumpIf(4, 0, LATER), Op::Set(*r, 1)]);
            }
            Stmt::Wait { timed, r } => out.push(Op::Wait(*timed, *r)),
            Stmt::WaitWhile { variable, value, timed, most, r } => {
                if *most > 0 {
                    out.push(Op::Set(*r, 0));
                }
                let again = out.len();
                out.extend([Op::Plain(Stmt::Read(*variable, 3)), Op::JumpUnless(3, *value, LATER)]);
                out.push(Op::Wait(*timed, 4));
                if *most > 0 {
                    out.extend([Op::Increment(*r), Op::JumpIf(*r, *most, LATER)]);
                }
                out.push(Op::Jump(again));
            }
            Stmt::DownCounted(most, r) => {
                out.push(Op::Set(*r, 0));
                let again = out.len();
                out.extend([Op::Other(Stmt::DownTimed(4)), Op::JumpIf(4, 0, LATER), Op::Increment(*r)]);
                out.extend([Op::JumpIf(*r, *most, LATER), Op::Jump(again)]);
            }
            Stmt::Poll(at, v, _) => {
                out.extend([Op::Atomic(Stmt::Load(*at, 3)), Op::JumpIf(3, *v, LATER), Op::Jump(start)]);
            }
            Stmt::PollCounted { at, value, most, r } => {
                out.push(Op::Set(*r, 0));
                let again = out.len();
                out.extend([Op::Atomic(Stmt::Load(*at, 3)), Op::JumpIf(3, *value, LATER), Op::Increment(*r)]);
                out.extend([Op::JumpIf(*r, *most, LATER), Op::Turn, Op::Jump(again)]);
            }
            Stmt::PollFlag(f, v) => {
                out.extend([Op::Plain(Stmt::ReadFlag(*f, 3)), Op::JumpIf(3, *v, LATER), Op::Jump(start)]);
            }
            Stmt::If(r, v, b) => {
                out.push(Op::JumpUnless(*r, *v, LATER));
                lower(b, out);
            }
            Stmt::Read(..) | Stmt::Write(..) | Stmt::Bump(_) | Stmt::ReadFlag(..) | Stmt::WriteFlag(..) => {
                out.push(Op::Plain(s.clone()));
            }
            Stmt::Fill(..) | Stmt::Init(..) | Stmt::Sum(..) | Stmt::Copy(..) | Stmt::Pass(..) => {
                out.push(Op::Plain(s.clone()));
            }
            Stmt::Member(..) | Stmt::SetMember(..) | Stmt::Call(_) => out.push(Op::Plain(s.clone())),
            other => out.push(Op::Other(other.clone())),
        }
        end(out, start);
    }
}

/// At most this many threads.
const THREADS: usize = 3;

type Clock = [u8; THREADS];

fn join(a: &mut Clock, b: Clock) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a = (*a).max(b));
}

/// When each thread last read and last wrote a byte.
type Cell = [Clock; 2];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Ready,
    /// In the queue of the condition variable.
    Waiting(bool, u8),
    /// Waits for mutex 0, with the result of the wait.
    Woken(u64, u8),
    /// Has read these parts of what a plain access reads.
    Reading(Vec<u8>, u128),
    /// Has written these parts.
    Writing(Vec<u8>, u128),
    /// Before the end of the process by a failed assertion. The thread may be late with it, so the others continue.
    Failed,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    at: usize,
    phase: Phase,
    registers: [u64; REGISTERS],
    pointers: [u8; 2],
    own: Vec<u8>,
    clock: Clock,
    /// Spurious events in a row, where a wrong rule counts them.
    spurious: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    words: [u8; 16],
    plain: Vec<u8>,
    owners: [Option<u8>; 2],
    semaphore: u8,
    pointers: [u8; 2],
    /// The contents of blocks, by address; nothing for those that are free.
    heap: Vec<Option<u64>>,
    threads: Vec<Thread>,
    word_clocks: [Clock; 16],
    lock_clocks: [Clock; 2],
    semaphore_clock: Clock,
    pointer_clocks: [Clock; 2],
    flag_clocks: [Clock; 2],
    free_clocks: Vec<Clock>,
    cells: Vec<Cell>,
    heap_cells: Vec<Cell>,
}

impl State {
    /// Makes states equal that differ in the numbers of clocks only. Clocks are only compared, so ranks do; and an access that every
    /// other thread is ordered after is as none.
    fn renumber(&mut self) {
        for u in 0..self.threads.len() {
            let others = self.threads.iter().enumerate().filter(|(t, _)| *t != u);
            let known = others.map(|(_, t)| t.clock[u]).min().unwrap_or(u8::MAX);
            for access in self.cells.iter_mut().chain(&mut self.heap_cells).flatten() {
                if access[u] <= known {
                    access[u] = 0;
                }
            }
            let mut used = [false; 256];
            self.each_clock(|c| used[c[u] as usize] = true);
            let mut ranks = [0; 256];
            let mut next = 1;
            for n in 1..256 {
                if used[n] {
                    ranks[n] = next;
                    next += 1;
                }
            }
            self.each_clock(|c| c[u] = ranks[c[u] as usize]);
        }
    }

    fn each_clock(&mut self, mut f: impl FnMut(&mut Clock)) {
        self.threads.iter_mut().for_each(|t| f(&mut t.clock));
        let fixed = self.word_clocks.iter_mut().chain(&mut self.lock_clocks).chain(&mut self.pointer_clocks);
        fixed.chain(&mut self.flag_clocks).chain(&mut self.free_clocks).for_each(&mut f);
        f(&mut self.semaphore_clock);
        self.cells.iter_mut().chain(&mut self.heap_cells).flatten().for_each(f);
    }
}

/// Why a program is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    TooLarge,
    Undefined,
}

struct Interpreter {
    code: Vec<Vec<Op>>,
    layout: Layout,
    mode: Mode,
    rules: Rules,
    race: bool,
    undefined: bool,
    failed: BTreeSet<u32>,
}

/// A following state, and whether a spurious event leads there.
type Next = (State, bool);

impl Interpreter {
    fn races(&self) -> bool {
        matches!(self.mode, Mode::Report | Mode::VolatileAtomic)
    }

    /// A thread has released something: what it does from now on is not ordered by that.
    fn released(&self, s: &mut State, t: usize) {
        if self.races() {
            s.threads[t].clock[t] += 1;
        }
    }

    fn acquire(s: &mut State, t: usize, clock: Clock) {
        join(&mut s.threads[t].clock, clock);
    }

    fn access(&mut self, cell: &mut Cell, clock: Clock, t: usize, write: bool) {
        if !self.races() {
            return;
        }
        let later = |seen: Clock| (0..THREADS).any(|u| u != t && seen[u] > clock[u]);
        self.race |= later(cell[1]) || write && later(cell[0]);
        cell[write as usize][t] = clock[t];
    }

    /// Notes the accesses of a statement.
    fn accesses(&mut self, s: &mut State, t: usize, stmt: &Stmt, e: &Effect) {
        if !self.races() {
            return;
        }
        let clock = s.threads[t].clock;
        let more = self.rules.calls_access_more;
        let (mut reads, mut writes) = (true, true);
        match stmt {
            Stmt::Sum(..) => reads = self.rules.arguments_are_read,
            Stmt::Pass(..) => {
                reads = self.rules.arguments_are_read;
                writes = self.rules.results_are_written;
            }
            Stmt::Fill(..) => writes = self.rules.results_are_written,
            Stmt::Call(_) => (reads, writes) = (self.rules.calls_read, self.rules.calls_write),
            Stmt::ReadFlag(..) | Stmt::WriteFlag(..) if self.mode == Mode::VolatileAtomic => return,
            _ => {}
        }
        let reads = e.reads.iter().filter(|_| reads).map(|(start, n, certain)| (*start, *n, *certain, false));
        let writes =
            e.writes.iter().filter(|_| writes).map(|(start, b, certain)| (*start, b.len(), *certain, true));
        for (start, length, certain, write) in reads.chain(writes) {
            if start >= self.layout.shared() || !certain && !more {
                continue;
            }
            for at in start..start + length {
                let mut cell = s.cells[at];
                self.access(&mut cell, clock, t, write);
                s.cells[at] = cell;
            }
        }
    }

    fn view(s: &State, t: usize) -> Vec<u8> {
        [&s.plain[..], &s.threads[t].own[..]].concat()
    }

    fn write(&self, s: &mut State, t: usize, start: usize, bytes: &[u8]) {
        let shared = self.layout.shared();
        let into =
            if start < shared { &mut s.plain[start..] } else { &mut s.threads[t].own[start - shared..] };
        into[..bytes.len()].copy_from_slice(bytes);
    }

    fn effect(&mut self, stmt: &Stmt, view: &[u8], s: &State, t: usize) -> Effect {
        let found = effect(stmt, self.layout, view, &s.threads[t].registers);
        self.undefined |= found.is_none();
        found.unwrap_or_default()
    }

    fn finish(s: &mut State, t: usize, e: &Effect) {
        if let Some((r, v)) = e.result {
            s.threads[t].registers[r as usize] = v;
        }
        s.threads[t].phase = Phase::Ready;
        s.threads[t].at += 1;
    }

    /// The whole statement at once.
    fn plain_at_once(&mut self, s: &mut State, t: usize, stmt: &Stmt) {
        let e = self.effect(stmt, &Self::view(s, t), s, t);
        self.accesses(s, t, stmt, &e);
        for (start, bytes, _) in &e.writes {
            self.write(s, t, *start, bytes);
        }
        // Volatile flags order nothing, except by a wrong rule.
        if self.mode == Mode::VolatileAtomic && !self.rules.volatile_is_relaxed {
            match stmt {
                Stmt::ReadFlag(f, _) => Self::acquire(s, t, s.flag_clocks[*f as usize]),
                Stmt::WriteFlag(f, _) => {
                    s.flag_clocks[*f as usize] = s.threads[t].clock;
                    self.released(s, t);
                }
                _ => {}
            }
        }
        Self::finish(s, t, &e);
    }

    /// The parts of the ranges that are shared, as start and length.
    fn parts(&self, ranges: impl Iterator<Item = (usize, usize)>) -> Vec<(usize, usize)> {
        let shared = ranges.filter(|(start, _)| *start < self.layout.shared());
        let unit = crate::program::member_size(self.layout.size);
        let cut = |(start, length): (usize, usize)| -> Vec<(usize, usize)> {
            if self.mode == Mode::Sync || start < 32 {
                return vec![(start, length)];
            }
            (0..length / unit).map(|i| (start + i * unit, unit)).collect()
        };
        shared.flat_map(cut).collect()
    }

    /// Plain accesses as steps.
    fn plain_steps(&mut self, s: &State, t: usize, stmt: &Stmt, out: &mut Vec<Next>) {
        let (temporary, done, writing) = match &s.threads[t].phase {
            Phase::Reading(view, done) => (view.clone(), *done, false),
            Phase::Writing(view, done) => (view.clone(), *done, true),
            _ => {
                // Its own bytes are there; shared ones have to be read.
                let mut view = vec![0; self.layout.shared()];
                view.extend(&s.threads[t].own);
                (view, 0, false)
            }
        };
        // Which bytes are read does not depend on what they are, except for library calls, which see all of them at once.
        let whole = matches!(stmt, Stmt::Call(_));
        let now = if writing { Effect::default() } else { self.effect(stmt, &Self::view(s, t), s, t) };
        let reads = if whole && now.reads.iter().any(|r| r.0 < self.layout.shared()) && !writing {
            vec![(0, self.layout.shared())]
        } else if writing {
            vec![]
        } else {
            self.parts(now.reads.iter().map(|(start, n, _)| (*start, *n)))
        };
        if !writing && !reads.is_empty() {
            let atomic = !self.rules.copies_are_torn && matches!(stmt, Stmt::Copy(..) | Stmt::Pass(..));
            if atomic {
                let mut n = s.clone();
                self.plain_at_once(&mut n, t, stmt);
                return out.push((n, false));
            }
            for (i, (start, length)) in reads.iter().enumerate().filter(|(i, _)| done >> i & 1 == 0) {
                let mut view = temporary.clone();
                view[*start..start + length].copy_from_slice(&s.plain[*start..start + length]);
                let mut n = s.clone();
                let done = done | 1 << i;
                if done.count_ones() as usize == reads.len() {
                    self.after_reading(&mut n, t, stmt, view);
                } else {
                    n.threads[t].phase = Phase::Reading(view, done);
                }
                out.push((n, false));
            }
            return;
        }
        let e = self.effect(stmt, &temporary, s, t);
        let writes = self.parts(e.writes.iter().map(|(start, b, _)| (*start, b.len())));
        let new = |start: usize| {
            let (from, bytes, _) = e
                .writes
                .iter()
                .find(|(f, b, _)| (*f..f + b.len()).contains(&start))
                .expect("a part of a write");
            &bytes[start - from..]
        };
        for (i, (start, length)) in writes.iter().enumerate().filter(|(i, _)| done >> i & 1 == 0) {
            let mut n = s.clone();
            self.write(&mut n, t, *start, &new(*start)[..*length]);
            let done = done | 1 << i;
            if done.count_ones() as usize == writes.len() {
                self.own_writes(&mut n, t, &e);
                Self::finish(&mut n, t, &e);
            } else {
                n.threads[t].phase = Phase::Writing(temporary.clone(), done);
            }
            out.push((n, false));
        }
    }

    /// Everything is read: writes follow, or the statement is over.
    fn after_reading(&mut self, s: &mut State, t: usize, stmt: &Stmt, view: Vec<u8>) {
        let e = self.effect(stmt, &view, s, t);
        if e.writes.iter().any(|(start, ..)| *start < self.layout.shared()) {
            s.threads[t].phase = Phase::Writing(view, 0);
            return;
        }
        self.own_writes(s, t, &e);
        Self::finish(s, t, &e);
    }

    fn own_writes(&self, s: &mut State, t: usize, e: &Effect) {
        for (start, bytes, _) in e.writes.iter().filter(|(start, ..)| *start >= self.layout.shared()) {
            self.write(s, t, *start, bytes);
        }
    }

    /// Whether a plain access is a step of its own.
    fn is_step(&self, s: &State, t: usize, stmt: &Stmt) -> bool {
        if matches!(stmt, Stmt::ReadFlag(..) | Stmt::WriteFlag(..)) {
            return true;
        }
        if self.races() {
            return false;
        }
        let e = effect(stmt, self.layout, &Self::view(s, t), &s.threads[t].registers);
        let shared = self.layout.shared();
        e.is_some_and(|e| e.reads.iter().any(|r| r.0 < shared) || e.writes.iter().any(|w| w.0 < shared))
    }

    /// Runs a thread on to its next step.
    fn run(&mut self, s: &mut State, t: usize) {
        loop {
            let thread = &mut s.threads[t];
            if thread.phase != Phase::Ready {
                return;
            }
            let Some(op) = self.code[t].get(thread.at).cloned() else {
                thread.phase = Phase::Done;
                return;
            };
            let registers = &mut thread.registers;
            let next = thread.at + 1;
            thread.at = match op {
                Op::Set(r, v) => {
                    registers[r as usize] = v;
                    next
                }
                Op::Increment(r) => {
                    registers[r as usize] += 1;
                    next
                }
                Op::Jump(to) => to,
                Op::JumpIf(r, v, to) if registers[r as usize] == v => to,
                Op::JumpUnless(r, v, to) if registers[r as usize] != v => to,
                Op::JumpIf(..) | Op::JumpUnless(..) => next,
                Op::Turn if self.rules.fruitless_turns => next,
                Op::Other(Stmt::Equal(p, q, r)) => {
                    registers[r as usize] =
                        (thread.pointers[p as usize] == thread.pointers[q as usize]) as u64;
                    next
                }
                Op::Other(Stmt::Assert(r, v, number)) => {
                    if registers[r as usize] == v {
                        self.failed.insert(number);
                        thread.phase = Phase::Failed;
                        return;
                    }
                    next
                }
                Op::Other(Stmt::Peek(p, _) | Stmt::Poke(p, _) | Stmt::Free(p))
                    if thread.pointers[p as usize] == 0 =>
                {
                    next
                }
                Op::Other(Stmt::Peek(..) | Stmt::Poke(..)) if self.races() => {
                    self.block_access(s, t, &op);
                    continue;
                }
                Op::Plain(stmt) if !self.is_step(s, t, &stmt) => {
                    self.plain_at_once(s, t, &stmt);
                    continue;
                }
                _ => return,
            };
            if self.undefined {
                return;
            }
        }
    }

    fn block_access(&mut self, s: &mut State, t: usize, op: &Op) {
        let (p, write) = match op {
            Op::Other(Stmt::Poke(p, _)) => (*p, true),
            Op::Other(Stmt::Peek(p, _)) => (*p, false),
            other => unreachable!("{other:?} does not access a block"),
        };
        let address = s.threads[t].pointers[p as usize] as usize - 1;
        s.threads[t].at += 1;
        let Some(content) = s.heap[address] else {
            self.race = true;
            return;
        };
        let mut cell = s.heap_cells[address];
        self.access(&mut cell, s.threads[t].clock, t, write);
        s.heap_cells[address] = cell;
        match op {
            Op::Other(Stmt::Poke(_, v)) => s.heap[address] = Some(*v as u64),
            Op::Other(Stmt::Peek(_, r)) => s.threads[t].registers[*r as usize] = content,
            _ => {}
        }
    }

    fn bytes_of(at: At) -> std::ops::Range<usize> {
        let start = 8 * at.word as usize + at.size as usize * at.index as usize;
        start..start + at.size as usize
    }

    /// A load of a part of a word, with the order that it gives.
    fn load(&self, s: &mut State, t: usize, at: At) -> u64 {
        let bytes = Self::bytes_of(at);
        if self.races() {
            for b in bytes.clone() {
                Self::acquire(s, t, s.word_clocks[b]);
            }
        }
        number(&s.words[bytes])
    }

    fn store(&self, s: &mut State, t: usize, at: At, v: u64) {
        let bytes = Self::bytes_of(at);
        let length = bytes.len();
        if !self.rules.small_stores {
            let start = bytes.start & !7;
            s.words[start..start + 8].fill(0);
        }
        s.words[bytes.clone()].copy_from_slice(&v.to_le_bytes()[..length]);
        if self.races() {
            s.word_clocks[bytes].fill(s.threads[t].clock);
        }
        self.released(s, t);
    }

    fn masked(at: At, v: u64) -> u64 {
        if at.size == 8 { v } else { v & ((1 << (8 * at.size as u64)) - 1) }
    }

    fn unlock(&self, s: &mut State, t: usize, m: u8) {
        s.owners[m as usize] = None;
        if self.races() {
            s.lock_clocks[m as usize] = s.threads[t].clock;
        }
        self.released(s, t);
    }

    fn lock(s: &mut State, t: usize, m: u8) {
        s.owners[m as usize] = Some(t as u8);
        Self::acquire(s, t, s.lock_clocks[m as usize]);
    }

    /// Every state that one step of the thread leads to.
    fn steps(&mut self, s: &State, t: usize, out: &mut Vec<Next>) {
        let first = out.len();
        let mut n = s.clone();
        let thread = &s.threads[t];
        match &thread.phase {
            Phase::Done | Phase::Failed => return,
            Phase::Waiting(timed, r) => {
                if thread.spurious < self.rules.spurious {
                    n.threads[t].phase = Phase::Woken(0, *r);
                    n.threads[t].spurious += (self.rules.spurious != u8::MAX) as u8;
                    // A timed wait ends by itself. To end it spuriously is not needed for that.
                    out.push((n, true));
                }
                if *timed && self.rules.timeouts {
                    let mut n = s.clone();
                    n.threads[t].phase = Phase::Woken(1, *r);
                    out.push((n, false));
                }
            }
            Phase::Woken(result, r) => {
                if s.owners[0].is_none() {
                    Self::lock(&mut n, t, 0);
                    n.threads[t].registers[*r as usize] = *result;
                    n.threads[t].phase = Phase::Ready;
                    n.threads[t].at += 1;
                    out.push((n, false));
                }
            }
            _ => {
                let op = self.code[t][thread.at].clone();
                self.operation(s, t, &op, out);
            }
        }
        for (n, _) in &mut out[first..] {
            self.run(n, t);
            if self.races() {
                n.renumber();
            }
        }
    }

    fn operation(&mut self, s: &State, t: usize, op: &Op, out: &mut Vec<Next>) {
        let mut n = s.clone();
        n.threads[t].at += 1;
        let set = |n: &mut State, r: u8, v: u64| n.threads[t].registers[r as usize] = v;
        match op {
            Op::Plain(stmt) if self.races() => {
                n.threads[t].at -= 1;
                self.plain_at_once(&mut n, t, stmt);
            }
            Op::Plain(stmt) => return self.plain_steps(s, t, stmt, out),
            Op::Turn => return,
            Op::Atomic(Stmt::Load(at, r)) => {
                let v = self.load(&mut n, t, *at);
                set(&mut n, *r, v);
            }
            Op::Atomic(Stmt::Store(at, v)) => {
                let v = value(*v, &s.threads[t].registers);
                self.store(&mut n, t, *at, v);
            }
            Op::Atomic(Stmt::Add(at, k, r)) => {
                let old = self.load(&mut n, t, *at);
                self.store(&mut n, t, *at, old.wrapping_add(*k));
                set(&mut n, *r, old);
            }
            Op::Atomic(Stmt::Exchange(at, v, r)) => {
                let old = self.load(&mut n, t, *at);
                self.store(&mut n, t, *at, value(*v, &s.threads[t].registers));
                set(&mut n, *r, old);
            }
            Op::Atomic(Stmt::Cas { at, from, to, weak, r }) => {
                let old = self.load(&mut n, t, *at);
                if old == Self::masked(*at, *from) {
                    let weak = *weak && (at.size == 8 || self.rules.parts_fail);
                    self.spurious_failure(&n, t, weak, *r, out);
                    self.store(&mut n, t, *at, *to);
                    n.threads[t].spurious = 0;
                    set(&mut n, *r, 1);
                } else {
                    set(&mut n, *r, 0);
                }
            }
            Op::WeakAdd(at, k) => {
                let old = self.load(&mut n, t, *at);
                if old == s.threads[t].registers[3] {
                    self.spurious_failure(&n, t, true, 4, out);
                    self.store(&mut n, t, *at, old.wrapping_add(*k));
                    n.threads[t].spurious = 0;
                    set(&mut n, 4, 1);
                } else {
                    set(&mut n, 3, old);
                    set(&mut n, 4, 0);
                }
            }
            Op::Lock(m) => {
                if s.owners[*m as usize].is_some() {
                    return;
                }
                Self::lock(&mut n, t, *m);
            }
            Op::LockTimed(m, r) => {
                let free = s.owners[*m as usize].is_none();
                if free {
                    Self::lock(&mut n, t, *m);
                } else if !self.rules.timeouts {
                    return;
                }
                set(&mut n, *r, free as u64);
            }
            Op::Unlock(m) => self.unlock(&mut n, t, *m),
            Op::Wait(timed, r) => {
                self.undefined |= s.owners[0] != Some(t as u8);
                n.threads[t].at -= 1;
                self.unlock(&mut n, t, 0);
                n.threads[t].phase = Phase::Waiting(*timed, *r);
            }
            Op::Other(stmt) => return self.other(n, t, stmt, out),
            local => unreachable!("{local:?} is not a step"),
        }
        out.push((n, false));
    }

    fn spurious_failure(&self, n: &State, t: usize, weak: bool, r: u8, out: &mut Vec<Next>) {
        if weak && n.threads[t].spurious < self.rules.spurious {
            let mut n = n.clone();
            n.threads[t].spurious += (self.rules.spurious != u8::MAX) as u8;
            n.threads[t].registers[r as usize] = 0;
            out.push((n, true));
        }
    }

    fn other(&mut self, mut n: State, t: usize, stmt: &Stmt, out: &mut Vec<Next>) {
        let pointer = |n: &State, p: Option<u8>| p.map_or(0, |p| n.threads[t].pointers[p as usize]);
        match stmt {
            Stmt::Signal | Stmt::Broadcast => {
                let waiting: Vec<usize> = (0..n.threads.len())
                    .filter(|u| matches!(n.threads[*u].phase, Phase::Waiting(..)))
                    .collect();
                let wake = |n: &mut State, u: usize| {
                    if let Phase::Waiting(_, r) = n.threads[u].phase {
                        n.threads[u].phase = Phase::Woken(0, r);
                        n.threads[u].spurious = 0;
                    }
                };
                if *stmt == Stmt::Signal && !waiting.is_empty() {
                    for u in waiting {
                        let mut n = n.clone();
                        wake(&mut n, u);
                        out.push((n, false));
                    }
                    return;
                }
                waiting.into_iter().for_each(|u| wake(&mut n, u));
            }
            Stmt::Post => {
                n.semaphore += 1;
                if self.races() {
                    let clock = n.threads[t].clock;
                    join(&mut n.semaphore_clock, clock);
                }
                self.released(&mut n, t);
            }
            Stmt::Down | Stmt::DownTimed(_) => {
                let there = n.semaphore > 0;
                if there {
                    n.semaphore -= 1;
                    let clock = n.semaphore_clock;
                    Self::acquire(&mut n, t, clock);
                }
                match stmt {
                    Stmt::DownTimed(r) if there || self.rules.timeouts => {
                        n.threads[t].registers[*r as usize] = !there as u64;
                    }
                    _ if there => {}
                    _ => return,
                }
            }
            Stmt::New(p) => {
                // A fresh address, or one that was freed.
                let reuse = self.rules.reuse;
                let free: Vec<usize> = (0..n.heap.len()).filter(|a| reuse && n.heap[*a].is_none()).collect();
                for a in free {
                    let mut n = n.clone();
                    let clock = n.free_clocks[a];
                    Self::acquire(&mut n, t, clock);
                    self.give(&mut n, t, *p, a);
                    out.push((n, false));
                }
                let fresh = n.heap.len();
                n.heap.push(None);
                n.free_clocks.push([0; THREADS]);
                n.heap_cells.push([[0; THREADS]; 2]);
                self.give(&mut n, t, *p, fresh);
            }
            Stmt::Free(p) => {
                let a = pointer(&n, Some(*p)) as usize - 1;
                // A block that is freed twice is an error as a use of it is.
                self.race |= n.heap[a].is_none();
                let mut cell = n.heap_cells[a];
                self.access(&mut cell, n.threads[t].clock, t, true);
                n.heap_cells[a] = cell;
                n.heap[a] = None;
                if self.races() {
                    n.free_clocks[a] = n.threads[t].clock;
                }
                self.released(&mut n, t);
            }
            Stmt::PointerLoad(x, p) => {
                self.pointer_order(&mut n, t, *x, false);
                n.threads[t].pointers[*p as usize] = n.pointers[*x as usize];
            }
            Stmt::PointerStore(x, p) => {
                n.pointers[*x as usize] = pointer(&n, *p);
                if self.races() {
                    n.pointer_clocks[*x as usize] = n.threads[t].clock;
                }
                self.released(&mut n, t);
            }
            Stmt::PointerExchange(x, p, q) => {
                let new = pointer(&n, *p);
                n.threads[t].pointers[*q as usize] = n.pointers[*x as usize];
                n.pointers[*x as usize] = new;
                self.pointer_order(&mut n, t, *x, true);
            }
            Stmt::PointerCas(x, expected, new, r) => {
                let same = n.pointers[*x as usize] == pointer(&n, Some(*expected));
                if same {
                    n.pointers[*x as usize] = pointer(&n, *new);
                }
                self.pointer_order(&mut n, t, *x, same);
                n.threads[t].registers[*r as usize] = same as u64;
            }
            Stmt::Peek(..) | Stmt::Poke(..) => {
                n.threads[t].at -= 1;
                self.block_access(&mut n, t, &Op::Other(stmt.clone()));
            }
            other => unreachable!("{other:?} is not a step"),
        }
        out.push((n, false));
    }

    fn pointer_order(&self, n: &mut State, t: usize, x: u8, write: bool) {
        Self::acquire(n, t, n.pointer_clocks[x as usize]);
        if write {
            if self.races() {
                n.pointer_clocks[x as usize] = n.threads[t].clock;
            }
            self.released(n, t);
        }
    }

    /// Gives out a block, and writes its first content.
    fn give(&mut self, n: &mut State, t: usize, p: u8, address: usize) {
        n.heap[address] = Some(7);
        n.heap_cells[address] = [[0; THREADS]; 2];
        if self.races() {
            n.heap_cells[address][1][t] = n.threads[t].clock[t];
        }
        n.threads[t].pointers[p as usize] = address as u8 + 1;
    }
}

/// The sum that `main` computes at the end.
fn sum(s: &State) -> u64 {
    let add = |sum: u64, v: u64| sum.wrapping_mul(31).wrapping_add(v);
    let words = s.words.chunks(8).chain(s.plain[..32].chunks(8)).map(number).fold(0, add);
    let bytes = s.plain[32..].iter().map(|b| *b as u64).fold(words, add);
    s.threads.iter().map(|t| t.registers[..3].iter().copied().fold(0, add)).fold(bytes, add)
}

/// Everything that the program can do, if that is at most this many states.
pub(crate) fn outcomes(p: &Program, mode: Mode, rules: Rules, most: usize) -> Result<Outcomes, Unfit> {
    let layout = Layout { size: p.size };
    let code = p.threads.iter().map(|b| {
        let mut code = vec![];
        lower(b, &mut code);
        code
    });
    let code: Vec<Vec<Op>> = code.collect();
    let mut it =
        Interpreter { code, layout, mode, rules, race: false, undefined: false, failed: BTreeSet::new() };
    let thread = |t: usize| Thread {
        at: 0,
        phase: Phase::Ready,
        registers: [0; REGISTERS],
        pointers: [0; 2],
        own: vec![0; layout.own()],
        clock: std::array::from_fn(|u| (u == t && it.races()) as u8),
        spurious: 0,
    };
    let zero = [0; THREADS];
    let mut start = State {
        words: [0; 16],
        plain: vec![0; layout.shared()],
        owners: [None; 2],
        semaphore: 0,
        pointers: [0; 2],
        heap: vec![],
        threads: (0..p.threads.len()).map(thread).collect(),
        word_clocks: [zero; 16],
        lock_clocks: [zero; 2],
        semaphore_clock: zero,
        pointer_clocks: [zero; 2],
        flag_clocks: [zero; 2],
        free_clocks: vec![],
        cells: if it.races() { vec![[zero; 2]; layout.shared()] } else { vec![] },
        heap_cells: vec![],
    };
    let mut out = Outcomes::default();
    for t in 0..start.threads.len() {
        it.run(&mut start, t);
    }
    let mut numbers = HashMap::from([(start.clone(), 0usize)]);
    let mut open = vec![start];
    let mut edges: Vec<(usize, usize)> = vec![];
    let (mut ends, mut failures) = (vec![], vec![]);
    let mut next = vec![];
    while let Some(state) = open.pop() {
        if it.race || it.undefined {
            break;
        }
        let from = numbers[&state];
        if state.threads.iter().all(|t| t.phase == Phase::Done) {
            ends.push(from);
            out.ends.insert(sum(&state));
            continue;
        }
        if state.threads.iter().any(|t| t.phase == Phase::Failed) {
            failures.push(from);
        }
        next.clear();
        for t in 0..state.threads.len() {
            it.steps(&state, t, &mut next);
        }
        for (n, spurious) in next.drain(..) {
            let count = numbers.len();
            let to = *numbers.entry(n.clone()).or_insert_with(|| {
                open.push(n);
                count
            });
            if !spurious {
                edges.push((to, from));
            }
        }
        if numbers.len() > most {
            return Err(Unfit::TooLarge);
        }
    }
    if it.undefined {
        return Err(Unfit::Undefined);
    }
    if it.race {
        return Ok(Outcomes { race: true, states: numbers.len(), ..Outcomes::default() });
    }
    // States from which an end is reachable.
    let mut back: Vec<Vec<usize>> = vec![vec![]; numbers.len()];
    edges.iter().for_each(|(to, from)| back[*to].push(*from));
    let all_reach = |mut queue: Vec<usize>| {
        let mut good = vec![false; back.len()];
        while let Some(n) = queue.pop() {
            if !std::mem::replace(&mut good[n], true) {
                queue.extend(&back[n]);
            }
        }
        good.iter().all(|g| *g)
    };
    out.stuck_but_for_failures = !all_reach(ends.clone());
    out.stuck = !all_reach([ends, failures].concat());
    out.failed = it.failed;
    out.states = numbers.len();
    Ok(out)
}

/// Whether the statement, or one inside it, satisfies the condition.
pub(crate) fn has(block: &[Stmt], what: &dyn Fn(&Stmt) -> bool) -> bool {
    block.iter().any(|s| {
        what(s)
            || match s {
                Stmt::Critical(_, b) | Stmt::TimedCritical(_, _, b) | Stmt::If(_, _, b) => has(b, what),
                _ => false,
            }
    })
}
