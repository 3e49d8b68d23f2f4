//! Random programs with signals, compared with brute force: an interpreter that goes through all interleavings, all places at which a
//! signal can arrive, and all threads that can take it, and keeps every state.
//!
//! Compared are all end states, and whether there is a deadlock, both ways.
//!
//! `RADDLE_TEST_PROGRAMS=2000 cargo test -p raddle-native --test interrupts_random` compares more of them.

mod common;

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::path::Path;

const WORDS: usize = 2;
/// SIGUSR1 and SIGUSR2.
const SIGNALS: usize = 2;
const NAMES: [&str; SIGNALS] = ["SIGUSR1", "SIGUSR2"];
const JOINED: usize = 99;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ins {
    Store(usize, u64),
    Add(usize),
    /// Copies a word to another one, in two steps.
    Copy(usize, usize),
    /// Sends a signal to a thread, or to the process.
    Send(usize, usize),
    SendAll(usize),
    Raise(usize),
    Block(usize),
    Unblock(usize),
    Lock,
    Unlock,
    Post,
    /// Waits for the semaphore; the word counts how often that is interrupted.
    SemWait(usize),
    /// Waits for a signal, which is blocked.
    SigWait(usize),
    Join(usize),
}

/// Threads, the first of which makes and joins the others, and what handlers do.
#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<Ins>>,
    handlers: [Vec<Ins>; SIGNALS],
    /// Signals that are sent.
    sent: [bool; SIGNALS],
    /// The handler asks for another attempt.
    restarts: [bool; SIGNALS],
    /// A handler blocks the other signal, too.
    both: bool,
    /// Threads start with both signals blocked.
    blocked: bool,
}

/// A small generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

fn thread(t: usize, count: usize, random: &mut Random) -> Vec<Ins> {
    use Ins::*;
    let mut out = Vec::new();
    let mut sent = 0;
    let length = 1 + random.below(if count == 2 { 3 } else { 2 });
    for _ in 0..length {
        let (w, v, s) = (random.below(WORDS), random.below(3) as u64, random.below(SIGNALS));
        match random.below(14) {
            0 => out.push(Store(w, v)),
            1 => out.push(Add(w)),
            2 => out.push(Copy(w, 1 - w)),
            // Only threads that are made already can be named.
            3..=5 if sent < 2 && t == 0 => {
                sent += 1;
                out.push(Send(random.below(count), s));
            }
            3..=5 if sent < 2 => {
                sent += 1;
                out.push(Send(random.below(t), s));
            }
            6..=7 if sent < 2 => {
                sent += 1;
                out.push(SendAll(s));
            }
            8 => out.push(Raise(s)),
            9 => out.extend([Block(s), Add(w), Unblock(s)]),
            10 => out.extend([Lock, Copy(w, 1 - w), Unlock]),
            11 => out.push(Post),
            12 => out.push(SemWait(w)),
            13 if t != 0 => out.extend([Block(s), SigWait(s)]),
            _ => out.push(Unblock(s)),
        }
    }
    out
}

fn program(random: &mut Random) -> Program {
    use Ins::*;
    let count = 2 + (random.below(4) == 0) as usize;
    let mut threads: Vec<Vec<Ins>> = (0..count).map(|t| thread(t, count, random)).collect();
    // A signal that nobody sends would come from outside.
    let sends = |s: usize, i: &Ins| matches!(i, Send(_, n) | SendAll(n) | Raise(n) if *n == s);
    let sent = [0, 1].map(|s| threads.iter().flatten().any(|i| sends(s, i)));
    threads.iter_mut().for_each(|t| t.retain(|i| !matches!(i, SigWait(s) if !sent[*s])));
    // The latest first: a thread signals those before it, whose handles must still be valid.
    threads[0].extend((1..count).rev().map(Join).chain([Block(0), Block(1)]));
    let handler = |random: &mut Random| {
        let w = random.below(WORDS);
        match random.below(8) {
            0 => vec![Lock, Add(w), Unlock],
            1 => vec![Post],
            2 => vec![Store(w, 2)],
            3 => vec![Copy(w, 1 - w)],
            4 => vec![Add(0), Add(1)],
            _ => vec![Add(w)],
        }
    };
    let handlers = [handler(random), handler(random)];
    let mut flag = || random.below(2) == 0;
    Program {
        threads,
        handlers,
        sent,
        restarts: [flag(), flag()],
        both: flag(),
        blocked: random.below(4) == 0,
    }
}

/// A thread of the interpreter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    /// What it runs, the innermost handler last: the handler (or `SIGNALS` for its own code), the next instruction, and half of a copy.
    frames: Vec<(usize, usize, Option<u64>)>,
    /// The masks to go back to.
    masks: Vec<u8>,
    mask: u8,
    pending: u8,
    /// Signals that were pending when it stopped to block them: it takes one before it does anything else, if it can.
    must: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Thread>,
    words: [u64; WORDS],
    process: u8,
    owner: Option<usize>,
    semaphore: u32,
}

impl Program {
    fn code(&self, t: usize, what: usize) -> &[Ins] {
        if what < SIGNALS { &self.handlers[what] } else { &self.threads[t] }
    }

    /// Whether another thread than `t` may have the signal unblocked at some time.
    fn others_take(&self, t: usize, s: usize) -> bool {
        (0..self.threads.len())
            .filter(|u| *u != t)
            .any(|u| !self.blocked || self.threads[u].contains(&Ins::Unblock(s)))
    }

    fn is_due(&self, state: &State, t: usize) -> bool {
        let thread = &state.threads[t];
        thread.must & (thread.pending | state.process) & !thread.mask != 0
    }

    /// The thread takes a signal that is pending.
    fn take(&self, state: &State, t: usize) -> Option<(usize, State)> {
        let mut next = state.clone();
        let thread = &mut next.threads[t];
        let mask = thread.mask;
        let queue = if thread.pending & !mask != 0 { &mut thread.pending } else { &mut next.process };
        let here = *queue & !mask;
        if here == 0 {
            return None;
        }
        let s = here.trailing_zeros() as usize;
        *queue &= !(1 << s);
        self.handle(&mut next, t, s);
        Some((s, next))
    }

    fn handle(&self, state: &mut State, t: usize, s: usize) {
        let thread = &mut state.threads[t];
        thread.masks.push(thread.mask);
        thread.mask |= if self.both { 3 } else { 1 << s };
        thread.frames.push((s, 0, None));
        self.leave(state, t);
    }

    /// A handler that is done is left.
    fn leave(&self, state: &mut State, t: usize) {
        let thread = &mut state.threads[t];
        while let Some((what, at, _)) = thread.frames.last().copied()
            && what < SIGNALS
            && at >= self.handlers[what].len()
        {
            thread.frames.pop();
            thread.mask = thread.masks.pop().unwrap_or_default();
            thread.must = (thread.pending | state.process) & !thread.mask;
        }
    }

    fn next_states(&self, state: &State, out: &mut Vec<State>) {
        use Ins::*;
        for t in 0..state.threads.len() {
            let (what, at, half) = *state.threads[t].frames.last().expect("its own code");
            let code = self.code(t, what);
            let is_over = what == SIGNALS && at >= code.len();
            // A thread may be interrupted right before it ends.
            let taken = self.take(state, t).filter(|_| !is_over || !self.is_gone(state, t));
            if let Some((s, next)) = &taken {
                out.push(next.clone());
                if let Some(SemWait(w)) = code.get(at).copied()
                    && state.semaphore == 0
                    && !self.is_due(state, t)
                    && !self.restarts[*s]
                {
                    // The call fails after the handler.
                    let mut next = next.clone();
                    let depth = state.threads[t].frames.len() - 1;
                    next.threads[t].frames[depth].1 += 1;
                    next.threads[t].frames[depth].2 = Some(INTERRUPTED + w as u64);
                    out.push(next);
                }
            }
            if self.is_due(state, t) || is_over && half.is_none() {
                if is_over && !self.is_due(state, t) && !self.is_gone(state, t) {
                    let mut next = state.clone();
                    next.threads[t].frames[0].1 = JOINED;
                    out.push(next);
                }
                continue;
            }
            let mut next = state.clone();
            next.threads[t].must = 0;
            let depth = state.threads[t].frames.len() - 1;
            if let Some(half) = half.filter(|h| *h >= INTERRUPTED) {
                // What is counted when a wait was interrupted.
                next.words[(half - INTERRUPTED) as usize] += 10;
                next.threads[t].frames[depth].2 = None;
                self.leave(&mut next, t);
                out.push(next);
                continue;
            }
            let mut done = true;
            match code[at] {
                Store(w, v) => next.words[w] = v,
                Add(w) => next.words[w] += 1,
                Copy(a, b) => match half {
                    None => {
                        next.threads[t].frames[depth].2 = Some(state.words[a]);
                        done = false;
                    }
                    Some(v) => {
                        next.words[b] = v;
                        next.threads[t].frames[depth].2 = None;
                    }
                },
                Send(u, s) if u != t => next.threads[u].pending |= 1 << s,
                Send(_, s) | Raise(s) => {
                    next.threads[t].frames[depth].1 += 1;
                    if next.threads[t].mask >> s & 1 == 0 {
                        self.handle(&mut next, t, s);
                    } else {
                        next.threads[t].pending |= 1 << s;
                        self.leave(&mut next, t);
                    }
                    out.push(next);
                    continue;
                }
                SendAll(s) => {
                    next.threads[t].frames[depth].1 += 1;
                    if next.threads[t].mask >> s & 1 == 0 && !self.others_take(t, s) {
                        self.handle(&mut next, t, s);
                    } else {
                        next.process |= 1 << s;
                        self.leave(&mut next, t);
                    }
                    out.push(next);
                    continue;
                }
                Block(s) | Unblock(s) => {
                    let mask = &mut next.threads[t].mask;
                    if matches!(code[at], Block(_)) {
                        *mask |= 1 << s;
                    } else {
                        *mask &= !(1 << s);
                    }
                    next.threads[t].must = (next.threads[t].pending | next.process) & !next.threads[t].mask;
                }
                Lock if state.owner.is_none() => next.owner = Some(t),
                Unlock => next.owner = None,
                Post => next.semaphore += 1,
                SemWait(_) if state.semaphore > 0 => next.semaphore -= 1,
                SigWait(s) if state.threads[t].pending >> s & 1 != 0 => next.threads[t].pending &= !(1 << s),
                SigWait(s) if state.process >> s & 1 != 0 => next.process &= !(1 << s),
                Join(u) if self.is_gone(state, u) => {}
                _ => continue,
            }
            if done {
                next.threads[t].frames[depth].1 += 1;
            }
            self.leave(&mut next, t);
            out.push(next);
        }
    }

    fn is_gone(&self, state: &State, t: usize) -> bool {
        state.threads[t].frames[0].1 == JOINED
    }

    /// All end states, and whether there is a deadlock. `None` if there are too many states.
    fn brute_force(&self) -> Option<(BTreeSet<[u64; WORDS]>, bool)> {
        let mask = if self.blocked { 3 } else { 0 };
        let thread =
            Thread { frames: vec![(SIGNALS, 0, None)], masks: Vec::new(), mask, pending: 0, must: 0 };
        let start = State {
            threads: vec![thread; self.threads.len()],
            words: [0; WORDS],
            process: 0,
            owner: None,
            semaphore: 0,
        };
        let mut seen = HashSet::from([start.clone()]);
        let mut open = vec![start];
        let (mut ends, mut deadlock) = (BTreeSet::new(), false);
        let mut next = Vec::new();
        while let Some(state) = open.pop() {
            if self.is_gone(&state, 0) {
                // The first thread blocks all signals, and nobody else is there.
                ends.insert(state.words);
                continue;
            }
            next.clear();
            self.next_states(&state, &mut next);
            deadlock |= next.is_empty();
            for n in next.drain(..) {
                if seen.insert(n.clone()) {
                    open.push(n);
                }
            }
            if seen.len() > 4_000 {
                return None;
            }
        }
        Some((ends, deadlock))
    }

    /// C for it; functions end with its number.
    fn c(&self, number: usize, out: &mut String) {
        let mut line = |text: String| writeln!(out, "{text}").expect("a string grows");
        let statement = |ins: &Ins| match *ins {
            Ins::Store(w, v) => format!("x[{w}] = {v};"),
            Ins::Add(w) => format!("x[{w}]++;"),
            Ins::Copy(a, b) => format!("x[{b}] = x[{a}];"),
            Ins::Send(t, s) => format!("pthread_kill(threads[{t}], {});", NAMES[s]),
            Ins::SendAll(s) => format!("kill(getpid(), {});", NAMES[s]),
            Ins::Raise(s) => format!("raise({});", NAMES[s]),
            Ins::Block(s) => format!("mask(SIG_BLOCK, {});", NAMES[s]),
            Ins::Unblock(s) => format!("mask(SIG_UNBLOCK, {});", NAMES[s]),
            Ins::Lock => "pthread_mutex_lock(&m);".to_owned(),
            Ins::Unlock => "pthread_mutex_unlock(&m);".to_owned(),
            Ins::Post => "sem_post(&sem);".to_owned(),
            Ins::SemWait(w) => format!("if (sem_wait(&sem)) x[{w}] += 10;"),
            Ins::SigWait(s) => format!("receive({});", NAMES[s]),
            Ins::Join(t) => format!("pthread_join(threads[{t}], 0);"),
        };
        for (s, code) in self.handlers.iter().enumerate() {
            line(format!("static void h{number}_{s}(int signal) {{"));
            code.iter().for_each(|i| line(statement(i)));
            line("}".to_owned());
        }
        for (t, code) in self.threads.iter().enumerate().skip(1) {
            line(format!("static void *w{number}_{t}(void *u) {{"));
            code.iter().for_each(|i| line(statement(i)));
            line("return 0; }".to_owned());
        }
        line(format!("static void p{number}(void) {{"));
        for s in (0..SIGNALS).filter(|s| self.sent[*s]) {
            let (restarts, both) = (self.restarts[s] as u8, self.both as u8);
            line(format!("handle({}, h{number}_{s}, {restarts}, {both});", NAMES[s]));
        }
        if self.blocked {
            NAMES.iter().for_each(|n| line(format!("mask(SIG_BLOCK, {n});")));
        }
        for t in 1..self.threads.len() {
            line(format!("pthread_create(&threads[{t}], 0, w{number}_{t}, 0);"));
        }
        self.threads[0].iter().for_each(|i| line(statement(i)));
        line("}".to_owned());
    }
}

/// A wait that was interrupted, with the word that counts it.
const INTERRUPTED: u64 = 1000;

const FIRST: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_ulong x[2];
static pthread_t threads[3];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sem_t sem;
static void mask(int how, int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(how, &set, 0);
}
static void receive(int signal) {
    sigset_t set;
    int got;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigwait(&set, &got);
}
static void handle(int signal, void (*handler)(int), int restarts, int both) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = handler;
    a.sa_flags = restarts ? SA_RESTART : 0;
    if (both) {
        sigaddset(&a.sa_mask, SIGUSR1);
        sigaddset(&a.sa_mask, SIGUSR2);
    }
    sigaction(signal, &a, 0);
}
"#;

/// The end state leaves the process by system calls that raddle does not see: files that it sees are restored after each execution.
const LAST: &str = r#"
static long system_call(long number, long a, long b, long c) {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
int main(int n, char **arguments) {
    char text[64];
    sem_init(&sem, 0, 0);
    threads[0] = pthread_self();
    programs[atoi(arguments[1])]();
    sprintf(text, "%lu %lu\n", x[0], x[1]);
    long file = system_call(SYS_open, (long)arguments[2], O_WRONLY | O_APPEND | O_CREAT, 0600);
    system_call(SYS_write, file, (long)text, strlen(text));
    system_call(SYS_close, file, 0, 0);
    return 0;
}
"#;

/// Compares this many programs; says how many there were that were small enough.
fn compare(seed: u64, count: usize) -> usize {
    let mut random = Random(seed);
    let mut programs = Vec::new();
    let mut source = FIRST.to_owned();
    for _ in 0..count {
        let program = program(&mut random);
        if let Some(right) = program.brute_force() {
            program.c(programs.len(), &mut source);
            programs.push((program, right));
        }
    }
    source += "static void (*programs[])(void) = {";
    (0..programs.len()).for_each(|i| write!(source, "p{i}, ").expect("a string grows"));
    source += "};\n";
    source += LAST;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("signals-{seed}.c"));
    std::fs::write(&file, &source).expect("the source is written");
    let compiled = common::compile(file.to_str().expect("a path"), &["-w"], &format!("signals {seed}"));
    for (i, (program, (ends, deadlock))) in programs.iter().enumerate() {
        let found = folder.join(format!("signals-{seed}-{i}.txt"));
        let _ = std::fs::remove_file(&found);
        let (number, path) = (i.to_string(), found.to_str().expect("a path"));
        let variables = ["RADDLE_KEEP_GOING=1", "RADDLE_SPURIOUS_WAKEUPS=0"];
        let what = format!("program {i} of seed {seed}");
        let ran = common::execute(&compiled, &variables, &[&number, path], None, what);
        let text = std::fs::read_to_string(&found).unwrap_or_default();
        let _ = std::fs::remove_file(&found);
        let words = |l: &str| {
            let mut all = l.split(' ').filter_map(|n| n.parse().ok());
            [all.next().unwrap_or(0), all.next().unwrap_or(0)]
        };
        let found: BTreeSet<[u64; WORDS]> = text.lines().map(words).collect();
        let failures = ran.report["failures"].as_array().cloned().unwrap_or_default();
        let is_deadlock = failures.iter().any(|f| f["kind"] == "deadlock");
        if std::env::var_os("RADDLE_TEST_PROGRAMS").is_some() {
            let (seconds, pruned) = (&ran.report["seconds"], &ran.report["pruned"]);
            println!("{i}: {} executions, {pruned} pruned, {seconds} s", ran.executions());
        }
        assert!(
            failures.iter().all(|f| f["kind"] == "deadlock") && ran.verdict() != "incomplete",
            "{}: {}\n{program:#?}",
            ran.what,
            ran.report
        );
        if ran.report["caveats"].to_string().contains("from outside") {
            // What would send it is never reached, so it is taken to come from outside.
            continue;
        }
        assert_eq!((&found, is_deadlock), (ends, *deadlock), "{}: found, right\n{program:?}", ran.what);
    }
    programs.len()
}

#[test]
fn end_states_are_those_of_brute_force() {
    let wanted = std::env::var("RADDLE_TEST_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(80);
    let compared: usize = (0..wanted / 40).map(|seed| compare(seed as u64, 40)).sum();
    assert!(compared * 2 > wanted, "only {compared} of {wanted} programs were small enough");
}
