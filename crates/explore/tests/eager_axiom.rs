//! Why a step may touch only what its thread knows before it runs: `x[y] := v` in one step, with `y` shared, is lost by reductions.
//!
//! Happens-before has to keep what depends on what when an independent step comes between (Metzler 2020, definition 17, the last axiom).
//! A step whose address comes from a shared variable breaks that. No operation of this crate can be such a step, so the search that
//! loses here is written in this file: source sets with sleep sets, over steps that say what they touch when they run. With the address
//! read in a step of its own it loses nothing, and neither do the searches of this crate.

mod models;

use models::{Model, address, assign, assign_address, look, search, store, straight};
use std::collections::BTreeSet;

/// A statement. Words 0 and 1 are the array.
#[derive(Clone, Copy)]
enum Step {
    Write(usize, u64),
    Assign {
        to: usize,
        from: usize,
    },
    Read(usize),
    /// `x[y % 2] := value`, all at once.
    Indexed {
        y: usize,
        value: u64,
    },
    /// Reads the address, and writes there in the next step.
    Fetch(usize),
    AtFetched(u64),
}
use Step::{Assign, AtFetched, Fetch, Indexed, Read, Write};

/// What a step reads and writes.
type Touched = (Option<usize>, Option<usize>);

fn conflict(a: Touched, b: Touched) -> bool {
    let hits = |w: Option<usize>, (r, v): Touched| w.is_some() && (w == r || w == v);
    hits(a.1, b) || hits(b.1, a)
}

#[derive(Clone, Default)]
struct State {
    memory: [u64; 4],
    fetched: Vec<u64>,
    at: Vec<usize>,
}

/// A step that ran: its thread, the how many-th of it, what it touched, and its clock.
#[derive(Clone)]
struct Ran {
    thread: usize,
    seq: usize,
    touched: Touched,
    clock: Vec<usize>,
}

impl Ran {
    fn before(&self, other: &Ran) -> bool {
        other.clock[self.thread] >= self.seq
    }
}

/// A class: its steps, and which of different threads that conflict came first.
type Class = (BTreeSet<(usize, usize, Touched)>, BTreeSet<[(usize, usize); 2]>);

fn class(steps: &[Ran]) -> Class {
    let event = |r: &Ran| (r.thread, r.seq);
    let mut order = BTreeSet::new();
    for (j, b) in steps.iter().enumerate() {
        let earlier = steps[..j].iter().filter(|a| a.thread != b.thread && conflict(a.touched, b.touched));
        order.extend(earlier.map(|a| [event(a), event(b)]));
    }
    (steps.iter().map(|r| (r.thread, r.seq, r.touched)).collect(), order)
}

struct Searching<'a> {
    program: &'a [Vec<Step>],
    reduced: bool,
    backtrack: Vec<Vec<usize>>,
    classes: BTreeSet<Class>,
    finals: BTreeSet<[u64; 4]>,
}

impl Searching<'_> {
    fn step(&self, s: &State, t: usize) -> (Touched, State) {
        let mut next = s.clone();
        next.at[t] += 1;
        let touched = match self.program[t][s.at[t]] {
            Write(x, v) => {
                next.memory[x] = v;
                (None, Some(x))
            }
            Assign { to, from } => {
                next.memory[to] = s.memory[from];
                (Some(from), Some(to))
            }
            Read(x) => (Some(x), None),
            Indexed { y, value } => {
                let cell = s.memory[y] as usize % 2;
                next.memory[cell] = value;
                (Some(y), Some(cell))
            }
            Fetch(y) => {
                next.fetched[t] = s.memory[y];
                (Some(y), None)
            }
            AtFetched(value) => {
                let cell = s.fetched[t] as usize % 2;
                next.memory[cell] = value;
                (None, Some(cell))
            }
        };
        (touched, next)
    }

    fn explore(&mut self, s: &State, steps: &mut Vec<Ran>, mut asleep: BTreeSet<usize>) {
        let enabled: Vec<usize> =
            (0..self.program.len()).filter(|t| s.at[*t] < self.program[*t].len()).collect();
        if enabled.is_empty() {
            self.classes.insert(class(steps));
            self.finals.insert(s.memory);
            return;
        }
        let d = steps.len();
        let first = enabled.iter().copied().filter(|t| !asleep.contains(t)).take(1);
        self.backtrack.push(if self.reduced { first.collect() } else { enabled });
        while let Some(t) = self.backtrack[d].iter().copied().find(|t| !asleep.contains(t)) {
            let (touched, next) = self.step(s, t);
            let mut clock = vec![0; self.program.len()];
            for r in steps.iter().filter(|r| r.thread == t || conflict(r.touched, touched)) {
                clock.iter_mut().zip(&r.clock).for_each(|(c, o)| *c = (*c).max(*o));
            }
            clock[t] = s.at[t] + 1;
            steps.push(Ran { thread: t, seq: s.at[t] + 1, touched, clock });
            if self.reduced {
                self.reverse_races(steps);
            }
            let independent = |q: &usize| self.reduced && !conflict(self.step(s, *q).0, touched);
            let still = asleep.iter().copied().filter(independent).collect();
            self.explore(&next, steps, still);
            steps.pop();
            asleep.insert(t);
        }
        self.backtrack.pop();
    }

    /// For each race of the last step, one of the threads that can begin its reversal is to be explored.
    fn reverse_races(&mut self, steps: &[Ran]) {
        let Some((f, earlier)) = steps.split_last() else { return };
        for (i, e) in earlier.iter().enumerate() {
            let between = &earlier[i + 1..];
            let direct = e.thread != f.thread && conflict(e.touched, f.touched);
            if !direct || between.iter().any(|k| e.before(k) && k.before(f)) {
                continue;
            }
            let later: Vec<&Ran> = between.iter().filter(|k| !e.before(k)).chain([f]).collect();
            let begins = |n: &usize| !later[..*n].iter().any(|k| k.before(later[*n]));
            let initials: Vec<usize> = (0..later.len()).filter(begins).map(|n| later[n].thread).collect();
            if !self.backtrack[i].iter().any(|t| initials.contains(t)) {
                let pick = if initials.contains(&f.thread) { f.thread } else { initials[0] };
                self.backtrack[i].push(pick);
            }
        }
    }
}

/// Classes and final states: all of them, or those that source sets come to.
fn count(program: &[Vec<Step>], reduced: bool) -> (usize, usize) {
    let n = program.len();
    let start = State { fetched: vec![0; n], at: vec![0; n], ..State::default() };
    let mut s = Searching {
        program,
        reduced,
        backtrack: Vec::new(),
        classes: BTreeSet::new(),
        finals: BTreeSet::new(),
    };
    s.explore(&start, &mut Vec::new(), BTreeSet::new());
    (s.classes.len(), s.finals.len())
}

/// The same with the address in a step of its own.
fn split(program: &[Vec<Step>]) -> Vec<Vec<Step>> {
    let apart = |s: &Step| match *s {
        Indexed { y, value } => vec![Fetch(y), AtFetched(value)],
        other => vec![other],
    };
    program.iter().map(|t| t.iter().flat_map(apart).collect()).collect()
}

/// `x[m3] := 2 || m3 := m1 || m1 := 1; m0 := 1`.
fn small() -> Vec<Vec<Step>> {
    vec![vec![Indexed { y: 3, value: 2 }], vec![Assign { to: 3, from: 1 }], vec![Write(1, 1), Write(0, 1)]]
}

/// `x[m2] := 1; m2 := m0 || m3 := m3; read m2; m2 := 1 || m0 := 2; read m0`.
fn large() -> Vec<Vec<Step>> {
    vec![
        vec![Indexed { y: 2, value: 1 }, Assign { to: 2, from: 0 }],
        vec![Assign { to: 3, from: 3 }, Read(2), Write(2, 1)],
        vec![Write(0, 2), Read(0)],
    ]
}

#[test]
fn an_address_that_is_read_in_the_step_that_uses_it_loses_states() {
    assert_eq!(count(&small(), false), (6, 5));
    assert_eq!(count(&small(), true), (5, 4), "a class and a state are lost");
    assert_eq!(count(&large(), false), (14, 5));
    assert_eq!(count(&large(), true), (8, 4), "six classes and a state are lost");
}

#[test]
fn an_address_that_is_read_in_a_step_of_its_own_loses_nothing() {
    for (program, classes) in [(small(), 7), (large(), 14)] {
        let apart = split(&program);
        assert_eq!(count(&apart, false), (classes, 5));
        assert_eq!(count(&apart, true), (classes, 5));
    }
}

#[test]
fn the_searches_of_this_crate_see_all_of_it() {
    let models = [
        (
            7,
            Model {
                memory: vec![0; 4],
                threads: vec![
                    Box::new(|got| match got.len() {
                        0 => Some(address(3)),
                        1 => Some(store(got[0] as usize % 2, 2)),
                        _ => None,
                    }),
                    straight(vec![assign_address(3, 1)]),
                    straight(vec![store(1, 1), store(0, 1)]),
                ],
            },
        ),
        (
            14,
            Model {
                memory: vec![0; 4],
                threads: vec![
                    Box::new(|got| match got.len() {
                        0 => Some(address(2)),
                        1 => Some(store(got[0] as usize % 2, 1)),
                        2 => Some(assign_address(2, 0)),
                        _ => None,
                    }),
                    straight(vec![assign(3, 3), look(2), store(2, 1)]),
                    straight(vec![store(0, 2), look(0)]),
                ],
            },
        ),
    ];
    for (classes, model) in models {
        for algorithm in ["source", "optimal", "epor", "epor-sh"] {
            let seen = search(&model, algorithm, true);
            assert_eq!(
                (seen.stats.executions, seen.classes.len()),
                (classes, classes as usize),
                "{algorithm}"
            );
            let finals: BTreeSet<&str> =
                seen.states.iter().map(|s| s.split(']').next().unwrap_or_default()).collect();
            assert_eq!(finals.len(), 5, "{algorithm}");
        }
    }
}
