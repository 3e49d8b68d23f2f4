//! Small programs with everything that may end spuriously: waits, timed waits, parks and weak compare-exchanges, in loops that write, count and
//! take locks. [`brute_force`] interprets them in all interleavings with all choices and keeps every state; [`explored`] runs them under the search.

use raddle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, MutexGuard};
use raddle::{Config, FailureKind, Verdict, thread};
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc as StdArc, OnceLock};
use std::time::Duration;

pub(crate) const WORDS: usize = 3;

/// One instruction of a thread. `r` is one of its two registers, targets are indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ins {
    Load(usize, usize),
    Store(usize, u64),
    /// Changes 0 to 1 and 1 to 0. The register receives the value before.
    Toggle(usize, usize),
    /// Writes a value. The register receives the value before.
    Swap(usize, usize, u64),
    /// The register says whether it succeeded.
    WeakCas(usize, usize, u64, u64),
    Lock,
    Unlock,
    /// The register says whether it succeeded. The next instruction is a jump that depends on it.
    TryLock(usize),
    Wait,
    /// The register says whether it timed out.
    WaitTimed(usize),
    /// Notifies all waiters, or one.
    Notify(bool),
    /// Parks, with a time limit or without.
    Park(bool),
    Unpark(usize),
    Yield,
    Count(usize),
    Set(usize, u64),
    /// Jumps if the register has this value.
    If(usize, u64, usize),
    /// Jumps if the register has another value.
    IfNot(usize, u64, usize),
    Jump(usize),
}
use Ins::*;

/// The code of each thread.
pub(crate) type Program = Vec<Vec<Ins>>;

/// A generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// Adds a statement to a thread.
fn statement(out: &mut Vec<Ins>, threads: usize, random: &mut Random) {
    let x = random.below(WORDS);
    let y = (x + 1 + random.below(WORDS - 1)) % WORDS;
    let v = random.below(2) as u64;
    let most = 1 + random.below(3) as u64;
    let at = out.len();
    match random.below(30) {
        0 | 1 => out.push(Store(x, 1)),
        2 => out.push(Store(x, 0)),
        3 => out.extend([Load(0, x), If(0, 0, at + 3), Store(y, 2)]),
        // Loops that only look, with a yield or not.
        4 if v == 0 => out.extend([Load(0, x), If(0, 0, at)]),
        4 => out.extend([Load(0, x), IfNot(0, 0, at + 4), Yield, Jump(at)]),
        // Tries until it succeeds,
        5 => out.extend([WeakCas(0, x, 0, 1), If(0, 0, at)]),
        // until it has failed so often,
        6 => {
            let end = at + 6;
            out.extend([
                Set(1, 0),
                WeakCas(0, x, v, 1),
                IfNot(0, 0, end),
                Count(1),
                If(1, most, end),
                Jump(at + 1),
            ]);
        }
        // or until another word is set.
        7 => out.extend([WeakCas(0, x, 0, 1), IfNot(0, 0, at + 5), Load(0, y), If(0, 0, at), Store(y, 2)]),
        // Writes, looks, and takes the write back.
        8 => out.extend([Store(x, 1), Load(0, y), IfNot(0, 0, at + 5), Store(x, 0), Jump(at)]),
        9 => out.extend([Load(0, y), IfNot(0, 0, at + 4), Toggle(1, x), Jump(at)]),
        10 => {
            let end = at + 6;
            out.extend([Store(x, 1), TryLock(0), IfNot(0, 0, end - 1), Store(x, 0), Jump(at), Unlock]);
        }
        // Waits for a word,
        11 | 12 => out.extend([Lock, Load(0, x), IfNot(0, 0, at + 5), Wait, Jump(at + 1), Unlock]),
        // so many times,
        13 => {
            let done = at + 8;
            out.extend([
                Lock,
                Set(1, 0),
                Load(0, x),
                IfNot(0, 0, done),
                If(1, most, done),
                Wait,
                Count(1),
                Jump(at + 2),
                Unlock,
            ]);
        }
        14 => {
            let done = at + 8;
            out.extend([
                Lock,
                Set(1, 0),
                Load(0, x),
                IfNot(0, 0, done),
                If(1, most, done),
                WaitTimed(0),
                Count(1),
                Jump(at + 2),
                Unlock,
            ]);
        }
        // with a time limit, once or in a loop.
        15 => out.extend([Lock, WaitTimed(0), Unlock, If(0, 0, at + 5), Store(x, 1)]),
        16 => {
            out.extend([Lock, Load(0, x), IfNot(0, 0, at + 5), WaitTimed(v as usize), Jump(at + 1), Unlock])
        }
        // A wait that says that it waits.
        17 => out.extend([Lock, Store(y, 1), Load(0, x), IfNot(0, 0, at + 6), Wait, Jump(at + 2), Unlock]),
        18 if v == 0 => out.push(Park(random.below(2) == 0)),
        18 | 19 => out.extend([Load(0, x), IfNot(0, 0, at + 4), Park(random.below(2) == 0), Jump(at)]),
        20 => {
            let end = at + 7;
            out.extend([
                Set(1, 0),
                Load(0, x),
                IfNot(0, 0, end),
                If(1, most, end),
                Park(v == 0),
                Count(1),
                Jump(at + 1),
            ]);
        }
        21 => out.extend([TryLock(0), If(0, 0, at + 5), Store(x, 1), Unlock, Jump(at + 6), Store(y, 2)]),
        // Tries the lock until it is free.
        22 => out.extend([TryLock(0), If(0, 0, at), Store(x, 1), Unlock]),
        // Polls under the lock.
        23 => out.extend([Lock, Load(0, x), Unlock, If(0, 0, at)]),
        24 | 25 => out.extend([Lock, Store(x, 1), Notify(v == 0), Unlock]),
        // The notification that may be lost.
        26 => out.extend([Load(0, y), If(0, 0, at), Lock, Unlock, Store(x, 1), Notify(v == 0)]),
        27 | 28 => out.extend([Store(x, 1), Unpark(random.below(threads))]),
        _ => out.push(Notify(v == 0)),
    }
}

/// The program of a number.
pub(crate) fn program(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1));
    let threads = 2 + (random.below(3) == 0) as usize;
    let thread = |random: &mut Random| {
        let mut code = Vec::new();
        for _ in 0..1 + random.below(if threads == 2 { 3 } else { 2 }) {
            statement(&mut code, threads, random);
        }
        code
    };
    (0..threads).map(|_| thread(&mut random)).collect()
}

/// Takes the spin lock in word 0.
fn spin_lock(out: &mut Vec<Ins>, random: &mut Random) {
    let at = out.len();
    match random.below(5) {
        0 => out.extend([Swap(0, 0, 1), If(0, 1, at)]),
        1 => out.extend([Swap(0, 0, 1), If(0, 0, at + 4), Yield, Jump(at)]),
        2 => out.extend([Load(0, 0), If(0, 1, at), Swap(0, 0, 1), If(0, 1, at)]),
        3 => out.extend([WeakCas(0, 0, 0, 1), If(0, 0, at)]),
        _ => out.extend([WeakCas(0, 0, 0, 1), IfNot(0, 0, at + 4), Yield, Jump(at)]),
    }
}

/// Adds a statement about what a spin lock guards.
fn spin_statement(out: &mut Vec<Ins>, random: &mut Random) {
    let x = 1 + random.below(2);
    let y = 3 - x;
    let at = out.len();
    match random.below(9) {
        // Polls under the lock.
        0..=2 => {
            spin_lock(out, random);
            out.extend([Load(1, x), Store(0, 0), If(1, 0, at)]);
        }
        3 => {
            spin_lock(out, random);
            let end = out.len() + 5;
            out.extend([Load(1, x), Store(0, 0), IfNot(1, 0, end), Yield, Jump(at)]);
        }
        4 | 5 => {
            spin_lock(out, random);
            out.extend([Store(x, 1), Store(0, 0)]);
        }
        6 => {
            spin_lock(out, random);
            let end = out.len() + 3;
            out.extend([Load(1, x), If(1, 0, end), Store(y, 2), Store(0, 0)]);
        }
        // Tries the lock once,
        7 => {
            out.extend([Swap(0, 0, 1), If(0, 1, at + 5), Store(x, 1), Store(0, 0), Jump(at + 6), Store(y, 2)])
        }
        // or looks whether it is taken.
        _ => out.extend([Load(0, 0), If(0, 0, at + 3), Store(y, 2)]),
    }
}

/// The program of a number, with threads that poll under a spin lock.
pub(crate) fn spin_program(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(7));
    let threads = 2 + (random.below(4) == 0) as usize;
    let thread = |random: &mut Random| {
        let mut code = Vec::new();
        for _ in 0..1 + random.below(if threads == 2 { 2 } else { 1 }) {
            spin_statement(&mut code, random);
        }
        code
    };
    (0..threads).map(|_| thread(&mut random)).collect()
}

/// The program of a number, with two threads of one statement each, or of one and two.
pub(crate) fn small_program(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(13));
    let spins = random.below(2) == 0;
    let thread = |random: &mut Random, statements: usize| {
        let mut code = Vec::new();
        for _ in 0..statements {
            if spins {
                spin_statement(&mut code, random);
            } else {
                statement(&mut code, 2, random);
            }
        }
        code
    };
    let more = 1 + random.below(2);
    vec![thread(&mut random, more), thread(&mut random, 1)]
}

/// Adds a statement in which a thread takes something, finds that it cannot have the rest, and steps back.
fn retry_statement(out: &mut Vec<Ins>, random: &mut Random) {
    let a = random.below(2);
    let b = 1 - a;
    let at = out.len();
    match random.below(9) {
        // Takes two spin locks, or none.
        0 | 1 => {
            let done = at + 6;
            out.extend([Swap(0, a, 1), If(0, 1, at), Swap(0, b, 1), If(0, 0, done), Store(a, 0), Jump(at)]);
            out.extend([Store(2, 1 + a as u64), Store(b, 0), Store(a, 0)]);
        }
        // The same, and begins with the other one after a failure, as `std::lock` does.
        2 => {
            let (second, done) = (at + 5, at + 11);
            out.extend([Swap(0, a, 1), If(0, 1, at), Swap(0, b, 1), If(0, 0, done), Store(a, 0)]);
            out.extend([Swap(0, b, 1), If(0, 1, second), Swap(0, a, 1), If(0, 0, done)]);
            out.extend([Store(b, 0), Jump(at), Store(a, 0), Store(b, 0)]);
        }
        // Says that it wants to enter, and steps back while the other one wants to.
        3 => out.extend([Store(a, 1), Load(0, b), If(0, 0, at + 5), Store(a, 0), Jump(at), Store(a, 0)]),
        // Looks before it takes the lock.
        4 => out.extend([Load(0, a), If(0, 1, at), Swap(0, a, 1), If(0, 1, at), Store(a, 0)]),
        // Holds a mutex, or a spin lock, and tries the other.
        5 => out.extend([Lock, Swap(0, a, 1), If(0, 0, at + 5), Unlock, Jump(at), Store(a, 0), Unlock]),
        6 => {
            let done = at + 6;
            out.extend([Swap(0, a, 1), If(0, 1, at), TryLock(0), IfNot(0, 0, done), Store(a, 0), Jump(at)]);
            out.extend([Unlock, Store(a, 0)]);
        }
        7 => out.extend([Load(1, a), Store(2, 2)]),
        _ => out.extend([Toggle(1, a), Toggle(0, a)]),
    }
}

/// The program of a number, with threads that step back from each other.
pub(crate) fn retry_program(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(11));
    let thread = |random: &mut Random| {
        let mut code = Vec::new();
        for _ in 0..1 + (random.below(4) == 0) as usize {
            retry_statement(&mut code, random);
        }
        code
    };
    (0..2).map(|_| thread(&mut random)).collect()
}

/// Whether each thread takes the mutex only where it does not hold it, waits and releases it only where it holds it, and ends
/// without it.
pub(crate) fn is_well_formed(program: &Program) -> bool {
    program.iter().all(|code| {
        let mut held = vec![None; code.len() + 1];
        let mut open = vec![(0, false)];
        while let Some((at, holds)) = open.pop() {
            if at > code.len() || held[at] == Some(!holds) || at == code.len() && holds {
                return false;
            }
            if held[at].replace(holds).is_some() || at == code.len() {
                continue;
            }
            match code[at] {
                Lock if holds => return false,
                Lock => open.push((at + 1, true)),
                Unlock | Wait | WaitTimed(_) if !holds => return false,
                Unlock => open.push((at + 1, false)),
                TryLock(r) => match code.get(at + 1) {
                    _ if holds => return false,
                    Some(If(s, 0, to)) if *s == r => open.extend([(*to, false), (at + 2, true)]),
                    Some(IfNot(s, 0, to)) if *s == r => open.extend([(*to, true), (at + 2, false)]),
                    _ => return false,
                },
                If(_, _, to) | IfNot(_, _, to) => open.extend([(to, holds), (at + 1, holds)]),
                Jump(to) => open.push((to, holds)),
                _ => open.push((at + 1, holds)),
            }
        }
        // The instruction after a try is in one of two states, so nothing else may lead there.
        let jumps = |i: &Ins| match *i {
            If(_, _, to) | IfNot(_, _, to) | Jump(to) => Some(to),
            _ => None,
        };
        code.iter()
            .enumerate()
            .all(|(at, i)| !matches!(i, TryLock(_)) || code.iter().filter_map(jumps).all(|to| to != at + 1))
    })
}

/// The smallest program found by leaving out threads and instructions for which `fails` still holds.
pub(crate) fn shrunk(program: &Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let start = std::time::Instant::now();
    loop {
        let in_time = |_: &Program| start.elapsed() < Duration::from_secs(20);
        let smaller = candidates(&best).take_while(in_time).find(|p| is_well_formed(p) && fails(p));
        match smaller {
            Some(p) => best = p,
            None => return best,
        }
    }
}

fn candidates(program: &Program) -> impl Iterator<Item = Program> + '_ {
    let threads = (0..program.len()).filter(|_| program.len() > 1).map(|t| {
        let mut p = program.clone();
        p.remove(t);
        for i in p.iter_mut().flatten() {
            if let Unpark(u) = i {
                *u -= (*u > t || *u == p_len(program) - 1) as usize;
            }
        }
        p
    });
    let runs = [5, 4, 3, 2, 1].into_iter().flat_map(move |n| {
        program.iter().enumerate().flat_map(move |(t, code)| {
            (0..(code.len() + 1).saturating_sub(n)).map(move |from| {
                let mut p = program.clone();
                p[t].drain(from..from + n);
                for i in &mut p[t] {
                    if let If(_, _, to) | IfNot(_, _, to) | Jump(to) = i {
                        *to = if *to >= from + n { *to - n } else { (*to).min(from) };
                    }
                }
                p
            })
        })
    });
    threads.chain(runs)
}

fn p_len(program: &Program) -> usize {
    program.len()
}

/// What is compared.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Words and registers when all threads have ended.
    pub(crate) ends: BTreeSet<(Vec<u64>, Vec<[u64; 2]>)>,
    /// Thread, next instruction, registers.
    pub(crate) locals: BTreeSet<(usize, usize, [u64; 2])>,
    pub(crate) deadlock: bool,
}

impl Seen {
    /// What `self` has and `other` has not, as text; empty if there is nothing.
    pub(crate) fn without(&self, other: &Seen) -> String {
        let mut text = String::new();
        for end in self.ends.difference(&other.ends) {
            text += &format!("  end {end:?}\n");
        }
        for local in self.locals.difference(&other.locals) {
            text += &format!("  local state {local:?}\n");
        }
        if self.deadlock && !other.deadlock {
            text += "  deadlock\n";
        }
        text
    }
}

// ---------------------------------------------------------------------------------------------------------------------------
// Brute force.

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Ready,
    InQueue,
    /// Takes the mutex again, with this result for its register.
    Relocks(u64),
    /// It was decided that the wait ends by a notification, or by the token.
    Relies,
    /// It was decided that the wait ends otherwise, with this result.
    Leaves(u64),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    words: [u64; WORDS],
    owner: Option<usize>,
    tokens: Vec<bool>,
    threads: Vec<(usize, [u64; 2], Phase)>,
}

const MOST_STATES: usize = 100_000;

/// All that a program can do, with threads that wake at any time while they wait; `None` if that is too much.
pub(crate) fn brute_force(program: &Program) -> Option<Seen> {
    let n = program.len();
    let threads = vec![(0, [0; 2], Phase::Ready); n];
    let first = State { words: [0; WORDS], owner: None, tokens: vec![false; n], threads };
    let (mut known, mut open) = (HashSet::from([first.clone()]), vec![first]);
    let mut seen = Seen::default();
    while let Some(state) = open.pop() {
        if known.len() > MOST_STATES {
            return None;
        }
        for (t, (pc, regs, phase)) in state.threads.iter().enumerate() {
            if *phase == Phase::Ready && is_shared(program[t].get(*pc)) {
                seen.locals.insert((t, *pc, *regs));
            }
        }
        let (mut relied, mut timed, mut ended) = (false, false, true);
        for t in 0..n {
            let (pc, _, phase) = state.threads[t];
            ended &= pc >= program[t].len();
            timed |= phase == Phase::InQueue && matches!(program[t][pc], WaitTimed(_));
            timed |= matches!(program[t].get(pc), Some(Park(true))) && !state.tokens[t];
            for (next, reliable) in steps(program, &state, t) {
                relied |= reliable;
                if known.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        if ended {
            seen.ends.insert((state.words.to_vec(), state.threads.iter().map(|t| t.1).collect()));
        } else if !relied && !timed {
            seen.deadlock = true;
        }
    }
    Some(seen)
}

/// The same within a number of preemptions, where waits decide how they end when they are called. A preemption is a step of another thread
/// although the last one could have gone on.
pub(crate) fn brute_force_within(program: &Program, preemptions: u32) -> Option<Seen> {
    let n = program.len();
    let threads = vec![(0, [0; 2], Phase::Ready); n];
    let first = State { words: [0; WORDS], owner: None, tokens: vec![false; n], threads };
    let first = (first, None::<usize>, 0);
    let (mut known, mut open) = (HashSet::from([first.clone()]), vec![first]);
    let mut seen = Seen::default();
    while let Some((state, last, used)) = open.pop() {
        if known.len() > MOST_STATES {
            return None;
        }
        for (t, (pc, regs, phase)) in state.threads.iter().enumerate() {
            if *phase == Phase::Ready && is_shared(program[t].get(*pc)) {
                seen.locals.insert((t, *pc, *regs));
            }
        }
        // Local instructions belong to the step before them.
        let local = (0..n).find(|t| {
            let (pc, _, _) = state.threads[*t];
            pc < program[*t].len() && !is_shared(program[*t].get(pc))
        });
        if let Some(t) = local {
            for (next, _) in steps(program, &state, t) {
                let next = (next, last, used);
                if known.insert(next.clone()) {
                    open.push(next);
                }
            }
            continue;
        }
        let all: Vec<Vec<State>> = (0..n).map(|t| decided_steps(program, &state, t)).collect();
        if state.threads.iter().enumerate().all(|(t, s)| s.0 >= program[t].len()) {
            seen.ends.insert((state.words.to_vec(), state.threads.iter().map(|t| t.1).collect()));
        }
        for (t, to) in all.iter().enumerate() {
            let cost = last.is_some_and(|l| l != t && !all[l].is_empty()) as u32;
            if used + cost > preemptions {
                continue;
            }
            for next in to {
                let next = (next.clone(), Some(t), used + cost);
                if known.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }
    Some(seen)
}

/// The states to which a step of a thread leads, where waits decide how they end when they are called.
fn decided_steps(program: &Program, state: &State, t: usize) -> Vec<State> {
    let (pc, _, phase) = state.threads[t];
    let Some(ins) = program[t].get(pc) else { return Vec::new() };
    let to = |phase: Phase| {
        let mut next = state.clone();
        next.threads[t].2 = phase;
        next
    };
    let over = |mut next: State| {
        next.threads[t].0 += 1;
        next.threads[t].2 = Phase::Ready;
        next
    };
    let options = match ins {
        Wait | Park(_) => vec![Phase::Relies, Phase::Leaves(0)],
        WaitTimed(_) => vec![Phase::Relies, Phase::Leaves(0), Phase::Leaves(1)],
        _ => Vec::new(),
    };
    match (phase, ins) {
        (Phase::Ready, Wait | WaitTimed(_)) => options.into_iter().map(to).collect(),
        // The choice is the last step of a park that relies on nothing.
        (Phase::Ready, Park(_)) => vec![to(Phase::Relies), over(to(Phase::Ready))],
        (Phase::Relies, Park(_)) if state.tokens[t] => {
            let mut next = to(Phase::Ready);
            next.tokens[t] = false;
            vec![over(next)]
        }
        (Phase::Relies, Park(_)) | (Phase::InQueue, _) => Vec::new(),
        (Phase::Relies, _) => vec![State { owner: None, ..to(Phase::InQueue) }],
        (Phase::Leaves(v), _) => vec![State { owner: None, ..to(Phase::Relocks(v)) }],
        _ => steps(program, state, t).into_iter().map(|s| s.0).collect(),
    }
}

/// Whether other threads can notice an instruction: local states are compared there.
fn is_shared(ins: Option<&Ins>) -> bool {
    !matches!(ins, None | Some(Count(_) | Set(..) | If(..) | IfNot(..) | Jump(_)))
}

/// The states to which a thread can lead, and whether it can rely on that step.
fn steps(program: &Program, state: &State, t: usize) -> Vec<(State, bool)> {
    let (pc, regs, phase) = state.threads[t];
    let Some(ins) = program[t].get(pc) else { return Vec::new() };
    let mut out = Vec::new();
    // The change says where the thread continues.
    let mut go = |reliable: bool, change: &dyn Fn(&mut State) -> usize| {
        let mut next = state.clone();
        next.threads[t].2 = Phase::Ready;
        next.threads[t].0 = change(&mut next);
        out.push((next, reliable));
    };
    let on = pc + 1;
    let set = |s: &mut State, r: usize, v: u64| s.threads[t].1[r] = v;
    match phase {
        Phase::InQueue => {
            let wakes = |v: u64| {
                move |s: &mut State| {
                    s.threads[t].2 = Phase::Relocks(v);
                    pc
                }
            };
            go(false, &wakes(0));
            if matches!(ins, WaitTimed(_)) {
                go(false, &wakes(1));
            }
            return out;
        }
        Phase::Relocks(v) => {
            if state.owner.is_none() {
                go(true, &|s| {
                    s.owner = Some(t);
                    if let WaitTimed(r) = *ins {
                        set(s, r, v);
                    }
                    on
                });
            }
            return out;
        }
        Phase::Ready => {}
        Phase::Relies | Phase::Leaves(_) => return out,
    }
    match *ins {
        Load(r, x) => go(true, &|s| {
            set(s, r, s.words[x]);
            on
        }),
        Store(x, v) => go(true, &|s| {
            s.words[x] = v;
            on
        }),
        Toggle(r, x) => go(true, &|s| {
            set(s, r, s.words[x]);
            s.words[x] ^= 1;
            on
        }),
        Swap(r, x, v) => go(true, &|s| {
            set(s, r, s.words[x]);
            s.words[x] = v;
            on
        }),
        WeakCas(r, x, a, b) => {
            if state.words[x] == a {
                go(true, &|s| {
                    s.words[x] = b;
                    set(s, r, 1);
                    on
                });
            }
            go(state.words[x] != a, &|s| {
                set(s, r, 0);
                on
            });
        }
        Lock if state.owner.is_some() => {}
        Lock => go(true, &|s| {
            s.owner = Some(t);
            on
        }),
        Unlock => go(true, &|s| {
            s.owner = None;
            on
        }),
        TryLock(r) => go(true, &|s| {
            let free = s.owner.is_none();
            if free {
                s.owner = Some(t);
            }
            set(s, r, free as u64);
            on
        }),
        Wait | WaitTimed(_) => go(true, &|s| {
            s.owner = None;
            s.threads[t].2 = Phase::InQueue;
            pc
        }),
        Notify(all) => {
            let waiting: Vec<usize> =
                (0..program.len()).filter(|u| state.threads[*u].2 == Phase::InQueue).collect();
            if all || waiting.is_empty() {
                go(true, &|s| {
                    waiting.iter().for_each(|u| s.threads[*u].2 = Phase::Relocks(0));
                    on
                });
            } else {
                for u in waiting {
                    go(true, &|s| {
                        s.threads[u].2 = Phase::Relocks(0);
                        on
                    });
                }
            }
        }
        Park(_) => {
            if state.tokens[t] {
                go(true, &|s| {
                    s.tokens[t] = false;
                    on
                });
            }
            go(false, &|_| on);
        }
        Unpark(u) => go(true, &|s| {
            s.tokens[u] = true;
            on
        }),
        Yield => go(true, &|_| on),
        Count(r) => go(true, &|s| {
            set(s, r, regs[r] + 1);
            on
        }),
        Set(r, v) => go(true, &|s| {
            set(s, r, v);
            on
        }),
        If(r, v, to) => go(true, &|_| if regs[r] == v { to } else { on }),
        IfNot(r, v, to) => go(true, &|_| if regs[r] != v { to } else { on }),
        Jump(to) => go(true, &|_| to),
    }
    out
}

// ---------------------------------------------------------------------------------------------------------------------------
// The same under the search.

struct Shared {
    words: [AtomicU64; WORDS],
    mutex: Mutex<()>,
    condvar: Condvar,
}

/// The local states that were seen, one bit for each. To note one must leave the same on the stack each time.
struct Locals(Vec<AtomicBool>);

/// More than there are threads, instructions of one, and values of a register.
const MOST: [usize; 4] = [4, 64, 4, 4];

impl Locals {
    fn new() -> Locals {
        Locals((0..MOST.iter().product()).map(|_| AtomicBool::new(false)).collect())
    }

    #[inline(always)]
    fn note(&self, t: usize, pc: usize, regs: [u64; 2]) {
        let [_, n, m, k] = MOST;
        debug_assert!(pc < n && regs[0] < m as u64 && regs[1] < k as u64);
        self.0[((t * n + pc) * m + regs[0] as usize) * k + regs[1] as usize].store(true, Relaxed);
    }

    fn all(&self) -> BTreeSet<(usize, usize, [u64; 2])> {
        let [_, n, m, k] = MOST;
        let of = |i: usize| (i / k / m / n, i / k / m % n, [(i / k % m) as u64, (i % k) as u64]);
        let noted = self.0.iter().enumerate().filter(|(_, n)| n.load(Relaxed));
        noted.map(|(i, _)| of(i)).collect()
    }
}

/// Runs one thread; returns its registers.
fn run(
    code: &[Ins],
    t: usize,
    shared: &Shared,
    threads: &OnceLock<Vec<thread::Thread>>,
    locals: &Locals,
) -> [u64; 2] {
    let (mut pc, mut regs) = (0, [0u64; 2]);
    let mut guard: Option<MutexGuard<'_, ()>> = None;
    while let Some(ins) = code.get(pc) {
        if is_shared(Some(ins)) {
            locals.note(t, pc, regs);
        }
        pc += 1;
        match *ins {
            Load(r, x) => regs[r] = shared.words[x].load(SeqCst),
            Store(x, v) => shared.words[x].store(v, SeqCst),
            Toggle(r, x) => regs[r] = shared.words[x].fetch_xor(1, SeqCst),
            Swap(r, x, v) => regs[r] = shared.words[x].swap(v, SeqCst),
            WeakCas(r, x, a, b) => {
                regs[r] = shared.words[x].compare_exchange_weak(a, b, SeqCst, SeqCst).is_ok() as u64;
            }
            Lock => guard = Some(shared.mutex.lock().unwrap()),
            Unlock => guard = None,
            TryLock(r) => {
                guard = shared.mutex.try_lock().ok();
                regs[r] = guard.is_some() as u64;
            }
            Wait => guard = guard.take().map(|g| shared.condvar.wait(g).unwrap()),
            WaitTimed(r) => {
                let held = guard.take().unwrap();
                let (held, result) = shared.condvar.wait_timeout(held, Duration::from_secs(1)).unwrap();
                regs[r] = result.timed_out() as u64;
                guard = Some(held);
            }
            Notify(true) => shared.condvar.notify_all(),
            Notify(false) => shared.condvar.notify_one(),
            Park(true) => thread::park_timeout(Duration::from_secs(1)),
            Park(false) => thread::park(),
            Unpark(u) => threads.get().unwrap()[u].unpark(),
            Yield => thread::yield_now(),
            Count(r) => regs[r] += 1,
            Set(r, v) => regs[r] = v,
            If(r, v, to) => pc = if regs[r] == v { to } else { pc },
            IfNot(r, v, to) => pc = if regs[r] != v { to } else { pc },
            Jump(to) => pc = to,
        }
    }
    regs
}

/// How a search came out.
pub(crate) struct Explored {
    pub(crate) seen: Seen,
    /// The search came to its end.
    pub(crate) complete: bool,
    /// Something that no program of these does.
    pub(crate) failure: Option<String>,
    pub(crate) report: raddle::Report,
}

/// What the search sees.
pub(crate) fn explored(program: &Program, config: Config) -> Explored {
    let locals = StdArc::new(Locals::new());
    let ends = Box::new(std::sync::Mutex::new(BTreeSet::new()));
    let program: StdArc<Program> = StdArc::new(program.clone());
    let unparks = program.iter().flatten().any(|i| matches!(i, Unpark(_)));
    let config = config.quiet(true).scan(false).keep_going(true).shrink(false);
    let report = config.run(|| {
        let shared = Arc::new(Shared {
            words: [const { AtomicU64::new(0) }; WORDS],
            mutex: Mutex::new(()),
            condvar: Condvar::new(),
        });
        // A thread that is to unpark others starts when all have been spawned. There is one gate each, so nobody waits for the others.
        let threads = StdArc::new(OnceLock::new());
        let gates: Vec<Arc<Mutex<()>>> = (0..program.len()).map(|_| Arc::new(Mutex::new(()))).collect();
        let held: Vec<_> = gates.iter().filter(|_| unparks).map(|g| g.lock().unwrap()).collect();
        let spawn = |t: usize| {
            let (shared, threads, gate) = (shared.clone(), threads.clone(), gates[t].clone());
            let (program, locals) = (program.clone(), locals.clone());
            thread::spawn(move || {
                if unparks {
                    drop(gate.lock().unwrap());
                }
                run(&program[t], t, &shared, &threads, &locals)
            })
        };
        let handles: Vec<_> = (0..program.len()).map(spawn).collect();
        let _ = threads.set(handles.iter().map(|h| h.thread().clone()).collect());
        drop(held);
        let regs: Vec<[u64; 2]> = handles.into_iter().map(|h| h.join().unwrap()).collect();
        let words = shared.words.iter().map(|w| w.load(SeqCst)).collect();
        ends.lock().unwrap().insert((words, regs));
    });
    let mut deadlock = false;
    let mut failure = None;
    for found in &report.failures {
        match found.kind {
            FailureKind::Deadlock => deadlock = true,
            FailureKind::Livelock | FailureKind::Leak => {}
            _ => failure = Some(format!("{}: {}", found.kind.name(), found.message)),
        }
    }
    let complete = report.verdict != Verdict::Incomplete && report.stopped.is_none();
    let seen = Seen { ends: ends.into_inner().unwrap(), locals: locals.all(), deadlock };
    Explored { seen, complete, failure, report }
}
